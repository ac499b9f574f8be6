"""Questions, hints and judges: those of NN_name are in name.py; long judges have files of their own."""
