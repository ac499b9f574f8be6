"""Knows German to English translation with a slot for attention: text, model, training, search, scores."""

from attn_course.translation import corpora, recording, scoring
from attn_course.translation.config import setting
from attn_course.translation.scoring import bleu_of_counts
from attn_course.translation.training import Trainer
from attn_course.translation.vocabulary import BOS, EOS, PAD

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "Trainer",
    "bleu_of_counts",
    "corpora",
    "recording",
    "scoring",
    "setting",
]
