"""Right and wrong answers to 11.1 and 11.2, each wrong one with a fragment of the message it must get."""

import functools
import math
from collections import Counter
from functools import partial
from itertools import chain

import numpy as np
import torch
from sacrebleu.metrics import BLEU

from attn_course.translation.scoring import bleu_of_counts, bootstrap
from bank import edited

# Helpers such as resampled("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 11.1


def grams(tokens, n):
    return [tuple(tokens[k : k + n]) for k in range(len(tokens) - n + 1)]


def clipped(hypothesis, references, n, merge=Counter.__or__, join=tuple):
    mine, *theirs = (Counter(map(join, grams(text, n))) for text in (hypothesis, *references))
    return sum((mine & functools.reduce(merge, theirs)).values())


def nearest(hypothesis, references):
    """The length of the reference that is nearest in length, the shorter of two."""
    return min((abs(len(r) - len(hypothesis)), len(r)) for r in references)[1]


def bleu(hypotheses, references):
    pairs = list(zip(hypotheses, references, strict=True))
    shares = []
    for n in (1, 2, 3, 4):
        hits = sum(clipped(h, r, n) for h, r in pairs)
        total = sum(len(grams(h, n)) for h, r in pairs)
        shares.append(hits / total if total else 0.0)
    c, r = sum(len(h) for h, _ in pairs), sum(nearest(h, r) for h, r in pairs)
    penalty = 1.0 if c >= r else math.exp(1 - r / max(c, 1))
    return 100 * penalty * math.prod(shares) ** 0.25


bleu_with = partial(edited, bleu)
penalty = partial(bleu_with, "1.0 if c >= r else math.exp(1 - r / max(c, 1))")
mean = partial(bleu_with, "math.prod(shares) ** 0.25")


def by_loops(hypotheses, references):
    """Lists and index arithmetic, no Counter."""
    log_sum, c, r = 0.0, sum(map(len, hypotheses)), 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        lengths = sorted(map(len, several))
        r += min(lengths, key=lambda length: abs(length - len(hypothesis)))  # the first of two
    for n in range(1, 5):
        hit = total = 0
        for hypothesis, several in zip(hypotheses, references, strict=True):
            mine = grams(hypothesis, n)
            total += len(mine)
            for gram in set(mine):
                hit += min(mine.count(gram), max(grams(text, n).count(gram) for text in several))
        if hit == 0:
            return 0
        log_sum += math.log(hit / total) / 4
    return 100 * math.exp(min(0, 1 - r / c) + log_sum)


def by_sacrebleu(hypotheses, references):
    most = max(map(len, references))
    rows = [[" ".join(text) for text in several] for several in references]
    streams = [[row[k] if k < len(row) else None for row in rows] for k in range(most)]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    return metric.corpus_score([" ".join(tokens) for tokens in hypotheses], streams).score


def by_positions(hypotheses, references):
    """Sets of the places at which each n-gram stands."""
    matches, totals, r = np.zeros(4), np.zeros(4), 0
    for hypothesis, several in zip(hypotheses, references, strict=True):
        gaps = [(abs(len(text) - len(hypothesis)), len(text)) for text in several]
        r += min(gaps)[1]
        for n in range(4):
            places_of = []
            for text in (hypothesis, *several):
                places = {}
                for k in range(len(text) - n):
                    places.setdefault(" ".join(text[k : k + n + 1]), set()).add(k)
                places_of.append(places)
            mine, *theirs = places_of
            for gram, places in mine.items():
                matches[n] += min(len(places), max(len(p.get(gram, ())) for p in theirs))
                totals[n] += len(places)
    ratio = r / max(sum(map(len, hypotheses)), 1)
    return 100 * min(1, np.exp(1 - ratio)) * np.prod(matches / np.maximum(totals, 1)) ** 0.25


def grams_of_all(side, n):
    return Counter(chain(*(grams(text, n) for text in side)))


def on_tokens(change):
    """BLEU after a change of every text."""
    return lambda hypotheses, references: bleu(
        [change(text) for text in hypotheses],
        [[change(text) for text in several] for several in references],
    )


def shared(hypothesis, reference):
    return clipped(hypothesis, [reference], 1)


def firsts(references):
    """The first reference of each hypothesis."""
    return [several[0] for several in references]


RIGHT["11.1"] = {
    "counters": bleu,
    "lists": by_loops,
    "sacrebleu": by_sacrebleu,
    "torch": lambda h, r: torch.tensor(bleu(h, r), dtype=torch.float64),
    "sets of places": by_positions,
    "float32": lambda h, r: np.float32(bleu(h, r)),
}
WRONG["11.1"] = {
    "lower-cased": (on_tokens(lambda text: [w.lower() for w in text]), "capitals are taken"),
    "punctuation dropped": (
        on_tokens(lambda text: [w for w in text if w.isalnum()]),
        "punctuation is left out",
    ),
    "a share": (bleu_with("100 * ", ""), "from 0 to 100"),
    "mean of sentences": (
        lambda h, r: np.mean([bleu([x], [y]) for x, y in zip(h, r, strict=True)]),
        "the mean of the sentences' BLEU",
    ),
    "unclipped": (
        bleu_with("clipped(h, r, n)", "sum(any(g in grams(x, n) for x in r) for g in grams(h, n))"),
        "not clipped",
    ),
    "sets": (
        bleu_with(
            "clipped(h, r, n)",
            "len({*grams(h, n)} & {*chain(*(grams(x, n) for x in r))})",
            "len(grams(h, n))",
            "len({*grams(h, n)})",
        ),
        "counted once a sentence",
    ),
    "no penalty": (penalty("1.0"), "no brevity penalty"),
    "penalty turned": (penalty("math.exp(min(0, 1 - c / r))"), "the wrong way round"),
    "penalty unlimited": (penalty("math.exp(1 - r / c)"), "may not exceed 1"),
    "penalty a ratio": (penalty("min(1, c / r)"), "the ratio of the lengths"),
    "penalty by sentence": (
        bleu_with("nearest(h, r) for", "max(len(h), nearest(h, r)) for"),
        "the reference length is wrong",
    ),
    "arithmetic": (mean("sum(shares) / 4"), "arithmetic mean"),
    "no root": (mean("math.prod(shares)"), "the fourth root"),
    "recall": (bleu_with("len(grams(h, n))", "len(grams(r[0], n))"), "this is a recall"),
    "one long sentence": (
        lambda h, r: bleu([[*chain(*h)]], [[[*chain(*firsts(r))]]]),
        "from one sentence into the next",
    ),
    "any reference": (
        bleu_with(
            "sum(clipped(h, r, n) for h, r in pairs)",
            "(grams_of_all(hypotheses, n) & grams_of_all(firsts(references), n)).total()",
        ),
        "each hypothesis has its own",
    ),
    "three orders": (mean("math.prod(shares[:3]) ** (1 / 3)"), "4-grams are left out"),
    "places changed": (lambda h, r: bleu(firsts(r), [[x] for x in h]), "have changed places"),
    "nothing to divide by": (
        bleu_with(" if total else 0.0", ""),
        "ZeroDivisionError: division by zero; what it was given",
    ),
    "a logarithm of nothing": (mean("math.exp(sum(map(math.log, shares)) / 4)"), "ValueError"),
    "rounded": (lambda h, r: round(bleu(h, r), 1), "00, not "),
    "add one": (
        bleu_with("r in pairs)\n        ", "r in pairs) + (n > 1)\n        "),
        "which (1) does not do",
    ),
    "smoothed where zero": (  # sacrebleu's default: ever smaller numbers for zero counts
        edited(by_sacrebleu, 'smooth_method="none", ', ""),
        "no 4-gram matches",
    ),
    "a constant": (lambda h, r: 42.0, "42.0000, not"),
    "n-grams joined": (
        bleu_with("clipped(h, r, n)", 'clipped(h, r, n, join="".join)'),
        "joined without a mark",
    ),
    "first reference alone": (lambda h, r: bleu(h, [x[:1] for x in r]), "only the first reference"),
    "last reference alone": (lambda h, r: bleu(h, [x[-1:] for x in r]), "only the last reference"),
    "references added up": (
        bleu_with("clipped(h, r, n)", "clipped(h, r, n, Counter.__add__)"),
        "the references' counts are added up",
    ),
    "in all references": (
        bleu_with("clipped(h, r, n)", "clipped(h, r, n, Counter.__and__)"),
        "only if all references have it",
    ),
    "the best reference": (
        lambda h, r: bleu(h, [[max(x, key=partial(shared, y))] for y, x in zip(h, r, strict=True)]),
        "of a single best reference",
    ),
    "shortest reference": (bleu_with("nearest(h, r) for", "min(map(len, r)) for"), "the shortest"),
    "longest reference": (bleu_with("nearest(h, r) for", "max(map(len, r)) for"), "the longest"),
    "length of the first": (bleu_with("nearest(h, r) for", "len(r[0]) for"), "r takes the first"),
    "mean length": (
        bleu_with("nearest(h, r) for", "np.mean([*map(len, r)]) for"),
        "the mean length",
    ),
    "all lengths": (bleu_with("nearest(h, r) for", "sum(map(len, r)) for"), "r adds up all"),
    "the longer of two": (
        bleu_with("nearest(h, r) for", "-min((abs(len(x) - len(h)), -len(x)) for x in r)[1] for"),
        "r takes the longer one",
    ),
    "the first of two": (
        bleu_with("nearest(h, r) for", "len(min(r, key=lambda x: abs(len(x) - len(h)))) for"),
        "r takes the first of them",
    ),
}


def words_of(texts):
    return list(chain(*texts))


INPUT_KINDS["11.1"] = {
    "bleu": {
        "an empty hypothesis": lambda hypotheses, references: [] in hypotheses,
        "fewer than four words": lambda hypotheses, references: any(len(h) < 4 for h in hypotheses),
        "one sentence": lambda hypotheses, references: len(hypotheses) == 1,
        "too long": lambda h, r: len(words_of(h)) > len(words_of(firsts(r))),
        "too short": lambda h, r: 0 < len(words_of(h)) < len(words_of(firsts(r))),
        "capitals that matter": lambda h, r: any(w.isupper() for w in words_of(h)),
        "punctuation": lambda h, r: "," in words_of(h) and "." in words_of(firsts(r)),
        "a word said again and again": lambda hypotheses, references: ["the"] * 9 in hypotheses,
        "several references": lambda h, r: min(map(len, r)) > 1,
        "another number of references for each": lambda h, r: len({*map(len, r)}) > 1,
    },
}

# 11.2


def paired_bootstrap(one, other, rng, num_samples):
    n = len(one)
    picks = rng.integers(n, size=(num_samples, n))
    gains = bleu_of_counts(other[picks].sum(1)) - bleu_of_counts(one[picks].sum(1))
    gain = bleu_of_counts(other.sum(0)) - bleu_of_counts(one.sum(0))
    low, high = np.quantile(gains, [0.025, 0.975])
    p = (gains <= 0).mean()
    return gain, low, high, p


resampled = partial(edited, paired_bootstrap)
picks = partial(resampled, "rng.integers(n, size=(num_samples, n))")


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


def of_sentences(one, other, rng, num_samples):
    gains = bleu_of_counts(other) - bleu_of_counts(one)
    drawn = gains[rng.integers(len(gains), size=(num_samples, len(gains)))].mean(1)
    return gains.mean(), *np.quantile(drawn, [0.025, 0.975]), (drawn <= 0).mean()


def shuffled(rng, n, num_samples):
    return rng.permuted(np.tile(np.arange(n), (num_samples, 1)), axis=1)


RIGHT["11.2"] = {
    "indices": paired_bootstrap,
    "a loop": in_a_loop,
    "multinomial counts": bootstrap,
    "bincount": by_bincount,
    "sorted gains": resampled(
        "np.quantile(gains, [0.025, 0.975])",
        "np.sort(gains)[[num_samples // 40, -1 - num_samples // 40]]",
    ),
}
WRONG["11.2"] = {
    "a normal interval": (
        resampled(
            "np.quantile(gains, [0.025, 0.975])", "gain + gains.std() * np.array([-1.96, 1.96])"
        ),
        "which need not be normally distributed",
    ),
    "always 100 samples": (
        resampled("n = len(one)", "n, num_samples = len(one), 100"),
        "draw `num_samples` of them",
    ),
    "not paired": (
        resampled("one[picks]", "one[rng.integers(n, size=(num_samples, n))]"),
        "test sets of its own",
    ),
    "mean of the samples as the gain": (
        resampled("return gain,", "return gains.mean(),"),
        "the mean of the resampled gains",
    ),
    "without replacement": (picks("shuffled(rng, n, num_samples)"), "has width"),
    "turned round": (resampled("(one, other,", "(other, one,"), "that of `other` over `one`"),
    "sentences averaged": (of_sentences, "the mean over sentences"),
    "shares": (resampled("bleu_of", "0.01 * bleu_of"), "BLEU is written from 0 to 100"),
    "quartiles": (resampled("0.025, 0.975", "0.25, 0.75"), "of resampled gains, not 95%"),
    "ninety percent": (resampled("0.025, 0.975", "0.05, 0.95"), "resampled gains, not 95%"),
    "half a test set": (resampled("samples, n)", "samples, n // 2)"), "had half of the sentences"),
    "half a test set, each sentence once": (
        picks("shuffled(rng, n, num_samples)[:, : n // 2]"),
        "drawn, each at most once",
    ),
    "first sentence never drawn": (
        picks("rng.integers(1, n, size=(num_samples, n))"),
        "the first sentence is never drawn",
    ),
    "one end at the edge": (
        resampled("0.025, 0.975", "0.05, 1.0"),
        "above, where 2.5% should be on each side",
    ),
    "last sentence never drawn": (
        picks("rng.integers(n - 1, size=(num_samples, n))"),
        "the last sentence is never drawn",
    ),
    "ends swapped": (resampled("0.025, 0.975", "0.975, 0.025"), "is above high"),
    "the share of wins": (resampled("<= 0", "> 0"), "in which `other` wins"),
    "two-sided": (
        resampled("(gains <= 0).mean()", "2 * min((gains <= 0).mean(), (gains > 0).mean())"),
        "counts both sides",
    ),
    "a tie wins": (resampled("<= 0", "< 0"), "a tie is not a win"),
    "a generator of its own": (resampled("rng.", "np.random.default_rng()."), "use `rng` alone"),
    "a fixed seed": (
        resampled("rng.", "np.random.default_rng(0)."),
        "draw the sentences with the generator that is given",
    ),
}
INPUT_KINDS["11.2"] = {
    "paired_bootstrap": {
        "another system that gains": lambda rows, seeds, n: (
            bleu_of_counts(rows[0][1].sum(0)) > bleu_of_counts(rows[0][0].sum(0))
        ),
        "systems that differ in the last sentence alone": lambda rows, seeds, n: np.array_equal(
            rows[0][0][:-1], rows[0][1][:-1]
        ),
    },
}
