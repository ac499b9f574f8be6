"""Knows German to English translation with a slot for attention: text, model, training, search, scores."""
