"""From one source per notebook to all that is made of it, and the check for drift."""
