"""Knows German to English translation with a slot for attention: text, model, training, search, scores."""

from attn_utils.translation import corpora, recording, scoring
from attn_utils.translation.config import setting
from attn_utils.translation.scoring import bleu_of_counts
from attn_utils.translation.training import Trainer
from attn_utils.translation.vocabulary import BOS, EOS, PAD

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
