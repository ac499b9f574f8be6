"""One file per notebook: its questions, hints and judges. No file here holds an answer."""
