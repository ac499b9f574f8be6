"""Scores against sacrebleu, and how sure we are of them."""

import doctest
import importlib
import math

import numpy as np
import pytest
import torch
from sacrebleu.metrics import BLEU

from attn_course.translation import scoring
from attn_course.translation.batches import collate
from attn_course.translation.config import Config
from attn_course.translation.models import build
from attn_course.translation.scenes import draw
from attn_course.translation.vocabulary import BOS, EOS

REFERENCES = [scene.english for scene in draw(60, seed=2)]


def worsen(sentences, every):
    """Leave out every n-th word."""
    return [
        " ".join(word for i, word in enumerate(sentence.split()) if i % every != every - 1)
        for sentence in sentences
    ]


def test_a_perfect_translation_scores_one_hundred():
    scores = scoring.score(REFERENCES, REFERENCES)
    assert scores["bleu"] == pytest.approx(100) and scores["chrf"] == pytest.approx(100)
    assert "tok:13a" in scores["signature"] and "case:mixed" in scores["signature"]


@pytest.mark.parametrize("every", [5, 6, 8])
def test_counts_of_sentences_give_sacrebleu_s_corpus_score(every):
    hypotheses = worsen(REFERENCES, every)
    total = scoring.counts(hypotheses, REFERENCES).sum(0)
    expected = BLEU().corpus_score(hypotheses, [REFERENCES]).score
    assert total.dtype == np.int64
    assert scoring.bleu_of_counts(total) == pytest.approx(expected, abs=1e-9)


def test_a_corpus_without_a_common_four_gram_scores_zero():
    total = scoring.counts(["a b"], ["c d e f g"]).sum(0)
    assert scoring.bleu_of_counts(total) == 0


def test_the_bootstrap_sees_a_clear_difference():
    worse, better = (scoring.counts(worsen(REFERENCES, n), REFERENCES) for n in (3, 8))
    gain, low, high, p = scoring.bootstrap(worse, better, np.random.default_rng(0), 500)
    assert p == 0 and 0 < low < gain < high


def test_the_bootstrap_sees_no_difference_between_equals():
    counts = scoring.counts(worsen(REFERENCES, 4), REFERENCES)
    assert scoring.bootstrap(counts, counts, np.random.default_rng(0), 100) == (0, 0, 0, 1)


def test_perplexity_is_per_subword_with_the_end_mark_and_without_padding():
    torch.manual_seed(0)
    model = build(Config(embedding=8, width=8, dropout=0.3), 12)
    pairs = [([5, 6], [7, 8, 9]), ([5], [10])]
    total, count = 0.0, 0
    model.eval()
    for source, target in pairs:
        memory = model.encode(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1]))
        logits, _, _ = model.decode(torch.tensor([[BOS, *target]]), memory)
        ids = [*target, EOS]
        total -= logits.log_softmax(-1)[0, range(len(ids)), ids].sum().item()
        count += len(ids)
    model.train()  # perplexity must switch dropout off by itself
    assert scoring.perplexity(model, pairs, batch_size=2) == pytest.approx(
        math.exp(total / count), rel=1e-5
    )


def test_without_teacher_forcing_each_subword_follows_the_models_own():
    torch.manual_seed(0)
    model = build(Config(embedding=8, width=8, dropout=0.3), 12)
    batch = collate([([5, 6], [7, 8, 9]), ([5], [10])])
    memory, own, state = model.eval().encode(batch.source, batch.lengths), [], None
    last = batch.inputs[:, :1]
    for _ in range(4):
        logits, _, state = model.decode(last, memory, state)
        own.append(logits[:, 0])
        last = logits.argmax(-1)
    expected = torch.nn.functional.cross_entropy(
        torch.stack(own, 2), batch.targets, reduction="none"
    )
    found = scoring.subword_losses(model.train(), batch, teacher_forcing=False)
    torch.testing.assert_close(found, expected.detach())
    taught = scoring.subword_losses(model, batch)
    torch.testing.assert_close(taught[:, 0], found[:, 0])  # the first word follows the start mark
    assert not torch.allclose(taught, found)


@pytest.mark.parametrize("name", ["ablation", "known_words", "recorder", "scoring", "vocabulary"])
def test_the_calls_shown_in_docstrings_give_what_they_show(name):
    module = importlib.import_module(f"attn_course.translation.{name}")
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0
