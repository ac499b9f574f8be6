"""One file per notebook: its questions, hints and judges."""
