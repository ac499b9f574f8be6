"""One file per notebook: its questions, hints and judges; no file here holds an answer."""
