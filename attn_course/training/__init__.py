"""One trainer for every model of the course: steps, devices, progress."""
