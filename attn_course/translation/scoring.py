"""Knows how good a translation is and how sure we are of it; knows no search and no training."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU, CHRF

from attn_course.translation.batches import collate
from attn_course.translation.vocabulary import PAD


def score(hypotheses, references):
    """BLEU (cased, 13a) and chrF of detokenised text, with the signatures that make them comparable."""
    bleu, chrf = BLEU(), CHRF()
    result = {
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
    }
    return result | {"signature": f"{bleu.get_signature()}; {chrf.get_signature()}"}


def counts(hypotheses, references):
    """What BLEU needs of each sentence (n, 10): matches and totals of 1- to 4-grams, both lengths.

    The corpus score is a function of their sum alone, so a recorded run can be scored again, on any
    choice of sentences, without the references.
    """
    bleu = BLEU(effective_order=True)  # silences advice; the counts do not depend on it
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        one = bleu.sentence_score(hypothesis, [reference])
        rows.append([*one.counts, *one.totals, one.sys_len, one.ref_len])
    return np.array(rows)


def bleu_of_counts(counts):
    """BLEU of summed counts (..., 10), equal to sacrebleu's for a corpus with every n-gram order matched."""
    matches, totals = counts[..., :4], counts[..., 4:8]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(totals > 0, matches / totals, 0.0)
        brevity = np.minimum(0.0, 1.0 - counts[..., 9] / counts[..., 8])
        return 100 * np.exp(brevity + np.log(precision).mean(-1))


def bootstrap(worse, better, rng, num_samples):
    """Paired bootstrap of two systems' counts (n, 10) on the same n sentences: (gain, low, high, p).

    The difference in BLEU, its central 95% interval, and p: how often, among resampled test sets, the
    better system did not win (never reported below 1 / num_samples).
    """
    n = len(worse)
    picks = rng.multinomial(n, np.full(n, 1 / n), num_samples)  # (samples, n)
    gains = bleu_of_counts(picks @ better) - bleu_of_counts(picks @ worse)
    low, high = np.quantile(gains, [0.025, 0.975])
    gain = bleu_of_counts(better.sum(0)) - bleu_of_counts(worse.sum(0))
    return gain, low, high, max((gains <= 0).mean(), 1 / num_samples)


def alignment_error_rate(found, gold):
    """1 - 2 |found and gold| / (|found| + |gold|) over sets of (target word, source word) links.

    found, gold: one set for each sentence; 0 is perfect.
    """
    common = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 1 - 2 * common / max(sum(map(len, found)) + sum(map(len, gold)), 1)


@torch.inference_mode()
def subword_losses(model, batch, *, teacher_forcing=True):
    """The loss (B, T) of every true target subword of a Batch, padding included.

    Each is predicted after the true ones before it; with teacher forcing off, after those that the
    model itself would have written.
    """
    model.eval()
    memory, inputs = model.encode(batch.source, batch.lengths), batch.inputs.clone()
    if not teacher_forcing:
        state = None
        for t in range(inputs.shape[1] - 1):
            logits, _, state = model.decode(inputs[:, t : t + 1], memory, state)
            inputs[:, t + 1] = logits[:, -1].argmax(-1)
    logits, targets = model.decode(inputs, memory)[0].float(), batch.targets
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    return losses.view_as(targets)


def perplexity(model, pairs, *, batch_size=100):
    """exp of the mean negative log-likelihood per target subword, end mark included, start mark not.

    Teacher forcing is on: each subword is predicted after the true ones before it.
    """
    device, total, count = next(model.parameters()).device, 0.0, 0
    pairs = sorted(pairs, key=lambda pair: len(pair[1]))
    for first in range(0, len(pairs), batch_size):
        batch = collate(pairs[first : first + batch_size], device)
        losses = subword_losses(model, batch)[batch.targets != PAD]
        total, count = total + losses.sum().item(), count + len(losses)
    return math.exp(total / count)
