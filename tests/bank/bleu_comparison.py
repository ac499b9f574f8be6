"""Right and wrong answers to 10.1 and 10.2, each wrong one with a fragment of the message it must get."""

import math
from collections import Counter
from itertools import chain

import numpy as np
import torch
from sacrebleu.metrics import BLEU

from attn_course.translation.scoring import bleu_of_counts, bootstrap


def grams(tokens, n):
    return [tuple(tokens[k : k + n]) for k in range(len(tokens) - n + 1)]


def clipped(hypothesis, reference, n):
    return sum((Counter(grams(hypothesis, n)) & Counter(grams(reference, n))).values())


def geometric(precisions):
    return math.prod(precisions) ** 0.25


def penalty(c, r):
    return 1.0 if c >= r else math.exp(1 - r / max(c, 1))


def bleu(
    *,
    matches=clipped,
    totals=lambda h, r, n: len(grams(h, n)),
    mean=geometric,
    penalty=penalty,
    ref_len=lambda pairs: sum(len(r) for _, r in pairs),
    add=0,
    scale=100,
):
    """A right `bleu`, any piece of which can be replaced by a wrong one."""

    def function(hypotheses, references):
        pairs = list(zip(hypotheses, references, strict=True))
        precisions = []
        for n in (1, 2, 3, 4):
            extra = add if n > 1 else 0
            hit = sum(matches(h, r, n) for h, r in pairs) + extra
            of = sum(totals(h, r, n) for h, r in pairs) + extra
            precisions.append(hit / of if of else 0.0)
        c = sum(len(h) for h in hypotheses)
        return scale * penalty(c, ref_len(pairs)) * mean(precisions)

    return function


def by_loops(hypotheses, references):
    """Lists and index arithmetic, no Counter; a match takes its reference n-gram away."""
    log_sum, c, r = 0.0, sum(map(len, hypotheses)), sum(map(len, references))
    for n in range(1, 5):
        hit = total = 0
        for hypothesis, reference in zip(hypotheses, references, strict=True):
            left = grams(reference, n)
            for gram in grams(hypothesis, n):
                total += 1
                if gram in left:
                    left.remove(gram)
                    hit += 1
        if hit == 0:
            return 0
        log_sum += math.log(hit / total) / 4
    return 100 * math.exp(min(0, 1 - r / c) + log_sum)


def by_sacrebleu(hypotheses, references):
    texts = [[" ".join(tokens) for tokens in side] for side in (hypotheses, references)]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score(texts[0], [texts[1]]).score


def by_torch(hypotheses, references):
    return torch.tensor(bleu()(hypotheses, references), dtype=torch.float64)


def by_positions(hypotheses, references):
    """Sets of the places at which each n-gram stands."""
    matches, totals = np.zeros(4), np.zeros(4)
    for n in range(4):
        for pair in zip(hypotheses, references, strict=True):
            mine, theirs = {}, {}
            for side, places in zip(pair, (mine, theirs), strict=True):
                for k in range(len(side) - n):
                    places.setdefault(" ".join(side[k : k + n + 1]), set()).add(k)
            matches[n] += sum(min(len(p), len(theirs.get(g, ()))) for g, p in mine.items())
            totals[n] += sum(map(len, mine.values()))
    ratio = sum(map(len, references)) / max(sum(map(len, hypotheses)), 1)
    return 100 * min(1, np.exp(1 - ratio)) * np.prod(matches / np.maximum(totals, 1)) ** 0.25


def in_float32(hypotheses, references):
    return np.float32(bleu()(hypotheses, references))


def pooled(hypotheses, references):
    """Clipped by the n-grams of all references together."""
    precisions = []
    for n in range(1, 5):
        mine, theirs = (
            Counter(chain(*(grams(t, n) for t in side))) for side in (hypotheses, references)
        )
        precisions.append((mine & theirs).total() / max(mine.total(), 1))
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * penalty(c, r) * geometric(precisions)


def undefined(hypotheses, references):
    """Divides by the number of 4-grams, though there may be none."""
    pairs = list(zip(hypotheses, references, strict=True))
    shares = [
        sum(clipped(h, r, n) for h, r in pairs) / sum(len(grams(h, n)) for h in hypotheses)
        for n in (1, 2, 3, 4)
    ]
    return 100 * penalty(sum(map(len, hypotheses)), sum(map(len, references))) * geometric(shares)


def logarithms(hypotheses, references):
    """Takes the logarithm of each precision, though one may be 0."""
    return bleu(mean=lambda shares: math.exp(sum(map(math.log, shares)) / 4))(
        hypotheses, references
    )


def averaged(hypotheses, references):
    pairs = zip(hypotheses, references, strict=True)
    return sum(bleu()([h], [r]) for h, r in pairs) / len(references)


def smoothed_where_zero(hypotheses, references):
    """sacrebleu's default: a zero count is replaced by ever smaller numbers."""
    texts = [[" ".join(tokens) for tokens in side] for side in (hypotheses, references)]
    return BLEU(tokenize="none", force=True).corpus_score(texts[0], [texts[1]]).score


def resample(
    *,
    pick=lambda rng, n, m: rng.integers(n, size=(m, n)),
    same=True,
    sides=(0.025, 0.975),
    sign=1,
    p=lambda gains: (gains <= 0).mean(),
    score=bleu_of_counts,
    width=1.0,
    whole=lambda gains, gain: gain,
):
    """A right `paired_bootstrap`, any piece of which can be replaced by a wrong one."""

    def paired_bootstrap(one, other, rng, num_samples):
        n = len(one)
        picks = pick(rng, n, num_samples)
        again = picks if same else pick(rng, n, num_samples)
        gains = sign * (score(other[picks].sum(1)) - score(one[again].sum(1)))
        gain = whole(gains, sign * (score(other.sum(0)) - score(one.sum(0))))
        low, high = np.quantile(gains, sides)
        return gain, gain + width * (low - gain), gain + width * (high - gain), p(gains)

    return paired_bootstrap


def in_a_loop(one, other, rng, num_samples):
    gains = []
    for _ in range(num_samples):
        rows = rng.choice(len(one), len(one))
        gains.append(bleu_of_counts(other[rows].sum(0)) - bleu_of_counts(one[rows].sum(0)))
    gains.sort()
    k = int(0.025 * num_samples)
    gain = bleu_of_counts(other.sum(0)) - bleu_of_counts(one.sum(0))
    return [gain, gains[k], gains[-k - 1], sum(g <= 0 for g in gains) / num_samples]


def by_bincount(one, other, rng, num_samples):
    """Percentiles and a p that counts the sample that was seen, too."""
    n = len(one)
    picks = np.stack(
        [np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(num_samples)]
    )
    gains = bleu_of_counts(picks @ other) - bleu_of_counts(picks @ one)
    gain = bleu_of_counts(other.sum(0)) - bleu_of_counts(one.sum(0))
    p = (1 + np.sum(gains <= 0)) / (1 + num_samples)
    return np.array([gain, *np.percentile(gains, [2.5, 97.5]), p])


def normal(one, other, rng, num_samples):
    """The interval of a normal law with the samples' deviation."""
    gain, _, _, p = resample()(one, other, rng, num_samples)
    picks = rng.integers(len(one), size=(num_samples, len(one)))
    gains = bleu_of_counts(other[picks].sum(1)) - bleu_of_counts(one[picks].sum(1))
    return gain, gain - 1.96 * gains.std(), gain + 1.96 * gains.std(), p


def of_sentences(one, other, rng, num_samples):
    gains = bleu_of_counts(other) - bleu_of_counts(one)
    drawn = gains[rng.integers(len(gains), size=(num_samples, len(gains)))].mean(1)
    return gains.mean(), *np.quantile(drawn, [0.025, 0.975]), (drawn <= 0).mean()


def on_tokens(change):
    """BLEU after a change of every text."""

    def function(hypotheses, references):
        return bleu()([change(text) for text in hypotheses], [change(text) for text in references])

    return function


def half_once(rng, n, num_samples):
    orders = rng.permuted(np.tile(np.arange(n), (num_samples, 1)), axis=1)
    return orders[:, : n // 2]


RIGHT = {
    "10.1": {
        "counters": (bleu(),),
        "lists": (by_loops,),
        "sacrebleu": (by_sacrebleu,),
        "torch": (by_torch,),
        "sets of places": (by_positions,),
        "float32": (in_float32,),
    },
    "10.2": {
        "indices": (resample(),),
        "a loop": (in_a_loop,),
        "multinomial counts": (bootstrap,),
        "bincount": (by_bincount,),
        "a normal interval": (normal,),
    },
}

WRONG = {
    "10.1": {
        "lower-cased": ((on_tokens(lambda text: [w.lower() for w in text]),), "capitals are taken"),
        "punctuation dropped": (
            (on_tokens(lambda text: [w for w in text if w.isalnum()]),),
            "punctuation is left out",
        ),
        "a share": ((bleu(scale=1),), "from 0 to 100"),
        "mean of sentences": ((averaged,), "the mean of the sentences' BLEU"),
        "unclipped": (
            (bleu(matches=lambda h, r, n: sum(g in grams(r, n) for g in grams(h, n))),),
            "not clipped",
        ),
        "sets": (
            (
                bleu(
                    matches=lambda h, r, n: len(set(grams(h, n)) & set(grams(r, n))),
                    totals=lambda h, r, n: len(set(grams(h, n))),
                ),
            ),
            "counted once a sentence",
        ),
        "no penalty": ((bleu(penalty=lambda c, r: 1.0),), "no brevity penalty"),
        "penalty turned": (
            (bleu(penalty=lambda c, r: math.exp(min(0, 1 - c / r))),),
            "the wrong way round",
        ),
        "penalty unlimited": (
            (bleu(penalty=lambda c, r: math.exp(1 - r / c)),),
            "may not exceed 1",
        ),
        "penalty a ratio": (
            (bleu(penalty=lambda c, r: min(1, c / r)),),
            "the ratio of the lengths",
        ),
        "penalty by sentence": (
            (bleu(ref_len=lambda pairs: sum(max(len(h), len(r)) for h, r in pairs)),),
            "the reference length is wrong",
        ),
        "arithmetic": ((bleu(mean=lambda p: sum(p) / 4),), "arithmetic mean"),
        "no root": ((bleu(mean=math.prod),), "the fourth root"),
        "recall": ((bleu(totals=lambda h, r, n: len(grams(r, n))),), "this is a recall"),
        "one long sentence": (
            (lambda h, r: bleu()([[*chain(*h)]], [[*chain(*r)]]),),
            "from one sentence into the next",
        ),
        "any reference": ((pooled,), "each hypothesis has its own"),
        "three orders": (
            (bleu(mean=lambda p: math.prod(p[:3]) ** (1 / 3)),),
            "4-grams are left out",
        ),
        "places changed": ((lambda h, r: bleu()(r, h),), "have changed places"),
        "nothing to divide by": (
            (undefined,),
            "ZeroDivisionError: division by zero; what it was given",
        ),
        "a logarithm of nothing": ((logarithms,), "ValueError"),
        "rounded": ((lambda h, r: round(bleu()(h, r), 1),), "00, not "),
        "add one": ((bleu(add=1),), "which (1) does not do"),
        "smoothed where zero": ((smoothed_where_zero,), "no 4-gram matches"),
        "a constant": ((lambda h, r: 42.0,), "42.0000, not"),
    },
    "10.2": {
        "not paired": ((resample(same=False),), "test sets of its own"),
        "mean of the samples as the gain": (
            (resample(whole=lambda gains, gain: gains.mean()),),
            "the mean of the resampled gains",
        ),
        "without replacement": (
            (resample(pick=lambda rng, n, m: rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)),),
            "has width",
        ),
        "turned round": ((resample(sign=-1),), "that of `other` over `one`"),
        "sentences averaged": ((of_sentences,), "the mean over sentences"),
        "shares": (
            (resample(score=lambda counts: bleu_of_counts(counts) / 100),),
            "BLEU is written from 0 to 100",
        ),
        "quartiles": ((resample(sides=(0.25, 0.75)),), "of resampled gains, not 95%"),
        "ninety percent": ((resample(sides=(0.05, 0.95)),), "resampled gains, not 95%"),
        "half a test set": (
            (resample(pick=lambda rng, n, m: rng.integers(n, size=(m, n // 2))),),
            "had half of the sentences",
        ),
        "half a test set, each sentence once": (
            (resample(pick=half_once),),
            "drawn, each at most once",
        ),
        "last sentence never drawn": (
            (resample(pick=lambda rng, n, m: rng.integers(n - 1, size=(m, n))),),
            "the last sentence is never drawn",
        ),
        "ends swapped": ((resample(sides=(0.975, 0.025)),), "is above high"),
        "the share of wins": ((resample(p=lambda g: (g > 0).mean()),), "in which `other` wins"),
        "two-sided": (
            (resample(p=lambda g: 2 * min((g <= 0).mean(), (g > 0).mean())),),
            "counts both sides",
        ),
        "a tie wins": ((resample(p=lambda g: (g < 0).mean()),), "a tie is not a win"),
        "a generator of its own": (
            (resample(pick=lambda rng, n, m: np.random.default_rng().integers(n, size=(m, n))),),
            "use `rng` alone",
        ),
        "a fixed seed": (
            (resample(pick=lambda rng, n, m: np.random.default_rng(0).integers(n, size=(m, n))),),
            "nothing was drawn",
        ),
    },
}


def words_of(texts):
    return list(chain(*texts))


REGIMES = {
    "10.1": {
        "bleu": {
            "an empty hypothesis": lambda hypotheses, references: [] in hypotheses,
            "fewer than four words": lambda hypotheses, references: any(
                len(h) < 4 for h in hypotheses
            ),
            "one sentence": lambda hypotheses, references: len(hypotheses) == 1,
            "too long": lambda h, r: len(words_of(h)) > len(words_of(r)),
            "too short": lambda h, r: 0 < len(words_of(h)) < len(words_of(r)),
            "capitals that matter": lambda h, r: any(w.isupper() for w in words_of(h)),
            "punctuation": lambda h, r: "," in words_of(h) and "." in words_of(r),
            "a word said again and again": lambda hypotheses, references: ["the"] * 9 in hypotheses,
        },
    },
    "10.2": {
        "paired_bootstrap": {
            "another system that gains": lambda rows, seeds, n: (
                bleu_of_counts(rows[0][1].sum(0)) > bleu_of_counts(rows[0][0].sum(0))
            ),
            "systems that differ in the last sentence alone": lambda rows, seeds, n: np.array_equal(
                rows[0][0][:-1], rows[0][1][:-1]
            ),
        },
    },
}
