"""How good a translation is and how sure we are of it.

sacrebleu is imported where it counts, for it takes its time and a translation does not need it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attn_course.translation.batches import Batch, collate
from attn_course.translation.vocabulary import BOS, PAD, Pair


def score(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, Any]:
    """Return BLEU (cased, 13a) and chrF of detokenised text.

    Returns {"bleu", "chrf", "signature"}; the signature makes them comparable.
    """
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    bleu = BLEU()
    chrf = CHRF()
    return {
        "bleu": bleu.corpus_score(hypotheses, [references]).score,
        "chrf": chrf.corpus_score(hypotheses, [references]).score,
        "signature": f"{bleu.get_signature()}; {chrf.get_signature()}",
    }


def counts(hypotheses: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Return the counts (n, 10) that BLEU needs: matches and totals of 1- to 4-grams, and both lengths.

    The corpus score is a function of their sum alone, so a recorded run can be scored again, on any
    choice of sentences, without the references.
    """
    from sacrebleu.metrics.bleu import BLEU

    bleu = BLEU(effective_order=True)  # silences advice; the counts do not depend on it
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        one = bleu.sentence_score(hypothesis, [reference])
        rows.append([*one.counts, *one.totals, one.sys_len, one.ref_len])
    return np.array(rows)


def bleu_of_counts(counts: np.ndarray) -> np.ndarray:
    """Return BLEU of summed counts, equal to sacrebleu's if every n-gram order has a match.

    counts: (..., 10) as `counts` gives them, added up over sentences. Returns (...).
    """
    matches = counts[..., :4]
    totals = counts[..., 4:8]
    our_length = counts[..., 8]
    their_length = counts[..., 9]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(totals > 0, matches / totals, 0.0)  # (..., 4)
        mean = np.log(precision).mean(-1)
        brevity = np.minimum(0.0, 1.0 - their_length / our_length)
        return 100 * np.exp(brevity + mean)


def bootstrap(
    worse: np.ndarray, better: np.ndarray, rng: np.random.Generator, num_samples: int
) -> tuple[float, float, float, float]:
    """Resample two systems' counts (n, 10) on the same n sentences in pairs: (gain, low, high, p).

    worse, better: what `counts` gives for each system.
    The difference in BLEU, its central 95% interval, and the one-sided p: how often, among resampled
    test sets, the better system did not win. `p_value` puts it into words.
    """
    n = len(worse)
    chances = np.full(n, 1 / n)
    picks = rng.multinomial(n, chances, num_samples)  # (samples, n)
    gains = bleu_of_counts(picks @ better) - bleu_of_counts(picks @ worse)
    gain = bleu_of_counts(better.sum(0)) - bleu_of_counts(worse.sum(0))
    low, high = np.quantile(gains, [0.025, 0.975])
    p = (gains <= 0).mean()
    return gain, low, high, p


def p_value(count: int, num_samples: int) -> str:
    """Say which share of samples goes the other way, in words that are also true for none and for all.

    A chance below 1 - 0.05 ** (1 / num_samples) leaves no trace in so many samples more than once in twenty
    times; so neither 0 nor 1 is written.

    >>> p_value(0, 2000), p_value(64, 2000), p_value(2000, 2000)
    ('p below 0.0015', 'p = 0.0320', 'p above 0.9985')
    """
    least = 1 - 0.05 ** (1 / num_samples)
    if count == 0:
        return f"p below {least:.4f}"
    if count == num_samples:
        return f"p above {1 - least:.4f}"
    return f"p = {count / num_samples:.4f}"


@torch.inference_mode()
def subword_losses(model: Any, batch: Batch, *, teacher_forcing: bool = True) -> Tensor:
    """Return the loss (B, T) of every true target subword of a Batch, padding included.

    Each is predicted after the true ones before it; with teacher forcing off, after those that the
    model itself would have written.
    """
    model.eval()
    memory = model.encode(batch.source, batch.lengths)
    inputs = batch.inputs
    if not teacher_forcing:
        inputs = _own_inputs(model, memory, inputs)
    logits, _, _ = model.decode(inputs, memory)
    flat = logits.float().flatten(0, 1)
    losses = F.cross_entropy(flat, batch.targets.flatten(), reduction="none")
    return losses.view_as(batch.targets)


def _own_inputs(model, memory, inputs):
    """inputs (B, T) -> as many, start marks followed by the model's own likeliest subwords."""
    B, T = inputs.shape
    last = inputs.new_full((B, 1), BOS)
    own = [last]
    state = None
    for _ in range(T - 1):
        logits, _, state = model.decode(last, memory, state)
        last = logits.argmax(-1)
        own.append(last)
    return torch.cat(own, 1)


def perplexity(model: Any, pairs: Sequence[Pair], *, batch_size: int = 100) -> float:
    """Return exp of the mean negative log-likelihood per target subword, the end mark among them.

    pairs: ids of source and target, without marks.
    Teacher forcing is on: each subword is predicted after the true ones before it.
    """
    device = next(model.parameters()).device
    by_length = sorted(pairs, key=lambda pair: len(pair[1]))
    total = 0.0
    count = 0
    for first in range(0, len(by_length), batch_size):
        batch = collate(by_length[first : first + batch_size], device)
        losses = subword_losses(model, batch)[batch.targets != PAD]
        total += losses.sum().item()
        count += len(losses)
    return math.exp(total / count)
