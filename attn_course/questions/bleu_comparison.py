"""Questions 10.1-10.3, BLEU and what a difference of it means; judges measure, they hold no answer."""

from collections import Counter
from itertools import chain

import numpy as np

from attn_course.drivers import call_with_seeds
from attn_course.register import Part, Question
from attn_course.values import number, vector
from attn_course.verdict import NotYet

ORDERS = (1, 2, 3, 4)
CLOSE = 1e-4  # an answer may count in float32
# Some words right in a row, but never four; nothing at all; three words, all of them right.
WITHOUT_FOUR = (
    ([list("abxcdy"), list("efg")], [list("abzcdw"), list("efh")]),
    ([[]], [list("abcde")]),
    ([list("abc")], [list("abc")]),
)


def _corpora(rng):
    """Corpora of token lists that tell the known mistakes apart: usual, too short, too long, odd."""
    return {
        "the usual": _corpus(rng, 30, keep=0.8, extra=0.0),
        "hypotheses that are too long": _corpus(rng, 25, keep=0.85, extra=0.3),
        "hypotheses that are too short": _corpus(rng, 25, keep=0.6, extra=0.0, drop=0.35),
        "words said again and again": (
            [["the"] * 9, list("abcdef")],
            [list("xytheab"), list("abcdefg")],
        ),
        "an empty hypothesis and short ones": (
            [[], ["a"], ["a", "b"], list("abcdefgh")],
            [list("ab"), ["a"], list("abc"), list("abcdeghi")],
        ),
    }


def _corpus(rng, num_sentences, *, keep, extra, drop=0.0):
    """(hypotheses, references): references of a small vocabulary, hypotheses with words changed."""
    words = [f"w{k}" for k in range(12)]
    references, hypotheses = [], []
    for size in rng.integers(5, 16, size=num_sentences):
        reference = [words[k] for k in rng.integers(12, size=size)]
        kept = reference[: max(1, round(size * (1 - drop)))]
        chosen = [w if rng.random() < keep else words[rng.integers(12)] for w in kept]
        chosen += [words[k] for k in rng.integers(12, size=round(size * extra))]
        references.append(reference)
        hypotheses.append(chosen)
    return hypotheses, references


def _sacrebleu(hypotheses, references):
    """The number to agree with: sacrebleu's, its tokeniser and smoothing off, and its statistics."""
    from sacrebleu.metrics import BLEU

    texts = [[" ".join(tokens) for tokens in side] for side in (hypotheses, references)]
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    result = metric.corpus_score(texts[0], [texts[1]])
    return result.score, np.array([*result.counts, *result.totals, result.sys_len, result.ref_len])


def bleu_agrees(rng, bleu):
    """10.1: equal to sacrebleu on several corpora; zero where no 4-gram matches."""
    for kind, (hypotheses, references) in _corpora(rng).items():
        found = number(bleu(hypotheses, references), "bleu(...)")
        right, _ = _sacrebleu(hypotheses, references)
        if abs(found - right) > CLOSE:
            raise NotYet(
                f"{_why(found, hypotheses, references)} ({kind}: {found:.4f}, not {right:.4f})."
            )
    for hypotheses, references in WITHOUT_FOUR:
        found = number(bleu(hypotheses, references), "bleu(...)")
        if found > 1e-9:
            raise NotYet(
                f"no 4-gram matches, which makes BLEU 0, and yet it is {found:.2f}: smoothing is not "
                "asked for."
            )
    return "equal to sacrebleu's number on five corpora; where no 4-gram matches it is 0."


def _why(found, hypotheses, references):
    """The known mistake that gives this number on this corpus, or that none does."""
    right, stats = _sacrebleu(hypotheses, references)
    for sentence, wrong in _slips(stats, hypotheses, references).items():
        if abs(found - wrong) < CLOSE < abs(wrong - right):
            return sentence
    return "this is not sacrebleu's number"


def _geometric(shares):
    return np.prod(shares) ** (1 / len(shares))


def _brevity(c, r):
    return np.exp(min(0.0, 1 - r / max(c, 1)))


def _combine(matches, totals, c, r):
    return 100 * _brevity(c, r) * _geometric(matches / np.maximum(totals, 1))


def _slips(stats, hypotheses, references):
    """Known mistakes: sentence -> the number it makes of this corpus."""
    matches, totals, (c, r) = stats[:4], stats[4:8], stats[8:]
    pairs, shares = list(zip(hypotheses, references, strict=True)), matches / np.maximum(totals, 1)
    longer = sum(max(len(h), len(ref)) for h, ref in pairs)
    penalties = {
        "there is no brevity penalty": 1.0,
        "the brevity penalty is the wrong way round: it punishes length": _brevity(r, c),
        "the brevity penalty also rewards length: it may not exceed 1": np.exp(1 - r / max(c, 1)),
        "the brevity penalty is the ratio of the lengths; it is exp(1 - r / c)": min(1.0, c / r),
        "the reference length is wrong: a sentence that is too long may make up for one that is too "
        "short": _brevity(c, longer),
    }
    means = {
        "this is a share; BLEU is written from 0 to 100": _geometric(shares) / 100,
        "this is the arithmetic mean of the precisions; the geometric one is asked for": (
            shares.mean()
        ),
        "the precisions are multiplied, but the fourth root is missing": np.prod(shares),
        "4-grams are left out": _geometric(shares[:3]),
    }
    slips = {sentence: 100 * _geometric(shares) * wrong for sentence, wrong in penalties.items()}
    slips |= {sentence: 100 * _brevity(c, r) * wrong for sentence, wrong in means.items()}
    slips |= _miscounted(matches, totals, hypotheses, references)
    return slips | _misunderstood(hypotheses, references)


def _miscounted(matches, totals, hypotheses, references):
    """The same for wrong counts."""
    pairs, one = list(zip(hypotheses, references, strict=True)), np.array([0, 1, 1, 1])
    counts = {
        "matches are not clipped: a word said again and again counts each time": (
            (_unclipped(pairs), totals)
        ),
        "each n-gram is counted once a sentence, however often it occurs": _as_sets(pairs),
        "this is a recall: divide by the n-grams of the hypothesis, not of the reference": (
            (matches, _totals(references))
        ),
        "a match may come from any reference; each hypothesis has its own": (
            (_pooled(hypotheses, references), totals)
        ),
        "one is added to the counts: smoothing is not asked for, and not used": (
            (matches + one, totals + one)
        ),
    }
    c, r = (sum(map(len, side)) for side in (hypotheses, references))
    return {sentence: _combine(*wrong, c, r) for sentence, wrong in counts.items()}


def _misunderstood(hypotheses, references):
    """The same for scores of something else."""
    pairs = zip(hypotheses, references, strict=True)
    return {
        "this is the mean of the sentences' BLEU scores; add up the counts of all sentences first": (
            np.mean([_sacrebleu([h], [ref])[0] for h, ref in pairs])
        ),
        "n-grams run from one sentence into the next": (
            _sacrebleu([[*chain(*hypotheses)]], [[*chain(*references)]])[0]
        ),
        "hypotheses and references have changed places": _sacrebleu(references, hypotheses)[0],
    }


def _grams(tokens, n):
    return Counter(zip(*(tokens[k:] for k in range(n)), strict=False))


def _totals(side):
    return np.array([sum(max(len(tokens) - n + 1, 0) for tokens in side) for n in ORDERS])


def _unclipped(pairs):
    counts = [
        sum(v for gram, v in _grams(h, n).items() if gram in _grams(ref, n))
        for n in ORDERS
        for h, ref in pairs
    ]
    return np.array(counts).reshape(4, -1).sum(1)


def _pooled(hypotheses, references):
    sides = [
        [sum((_grams(tokens, n) for tokens in side), Counter()) for n in ORDERS]
        for side in (hypotheses, references)
    ]
    return np.array([(mine & theirs).total() for mine, theirs in zip(*sides, strict=True)])


def _as_sets(pairs):
    both = [sum(len(set(_grams(h, n)) & set(_grams(ref, n))) for h, ref in pairs) for n in ORDERS]
    return np.array(both), np.array([sum(len(_grams(h, n)) for h, _ in pairs) for n in ORDERS])


def _bleu(counts):
    """BLEU of summed counts (..., 10)."""
    with np.errstate(divide="ignore"):
        logs = np.log(counts[..., :4] / np.maximum(counts[..., 4:8], 1)).mean(-1)
    return 100 * np.exp(logs + np.minimum(0, 1 - counts[..., 9] / np.maximum(counts[..., 8], 1)))


def _systems(rng, gap, n=150):
    """Counts (n, 10) of two systems on sentences that are equally hard for both."""
    length = rng.integers(6, 25, size=n)
    totals = length[:, None] - np.arange(4)
    skill = rng.beta(1.2, 1.2, size=n)[:, None] ** np.arange(1, 5)
    common, sides = rng.binomial(totals, skill), []
    for luck in (0.15, 0.15 + gap):
        moved = rng.binomial(2, luck, totals.shape) - rng.binomial(2, 0.15, totals.shape)
        matches = np.clip(common + moved, 0, totals)
        sides.append(np.hstack([matches, totals, length[:, None], length[:, None]]))
    return sides


def _resampled(one, other, rng, *, paired=True, num_samples=4000):
    n = len(one)
    picks, others = (rng.multinomial(n, np.full(n, 1 / n), num_samples) for _ in range(2))
    return _bleu(picks @ other) - _bleu((picks if paired else others) @ one)


def _with_seed(paired_bootstrap, one, other, seed):
    (result,) = paired_bootstrap.via(call_with_seeds, [(one, other)], [seed], 1000)
    return vector(result, 4, "(gain, low, high, p)")


def bootstraps_in_pairs(rng, paired_bootstrap):
    """10.2: gain, interval and p of the paired bootstrap, within what a thousand samples allow."""
    for gap, low, high in ((0.02, 0.5, 1.5), (0.16, 4, 99)):  # unclear, then clear
        one, other = _pair(rng, gap, low, high)
        seeds = [int(seed) for seed in rng.integers(2**31, size=2)]
        rows = [_with_seed(paired_bootstrap, one, other, seed) for seed in (*seeds, seeds[0])]
        if not np.array_equal(rows[0], rows[2]):
            raise NotYet("the same generator in the same state gave two results: use `rng` alone.")
        gains = _resampled(one, other, rng)
        _judge_gain(rows[0][0], one, other, gains)
        _judge_interval((rows[0] + rows[1])[1:3] / 2, one, other, gains, rng)
        _judge_p(rows[0][3], gains)
        if np.array_equal(rows[0], rows[1]):
            raise NotYet("two generators with different seeds gave one result: nothing was drawn.")
    _judge_last(paired_bootstrap, one)
    return (
        "gain, interval and p agree with 4,000 samples of our own, on a clear and an unclear pair."
    )


def _judge_last(paired_bootstrap, one):
    """Two systems that differ in the last sentence alone: a test set without it is a tie."""
    other = one.copy()
    one[-1, :4], other[-1, :4] = 0, other[-1, 4:8]
    p, right = _with_seed(paired_bootstrap, one, other, 0)[3], (1 - 1 / len(one)) ** len(one)
    measured = f"p = {p:.2f} where `other` wins by the last sentence alone, which {right:.0%} of samples lack"
    if p > 0.9:
        raise NotYet(f"{measured}: the last sentence is never drawn.")
    if abs(p - right) > 0.1:
        raise NotYet(f"{measured}: a tie is not a win for `other`.")


def _pair(rng, gap, low, high):
    """Two systems whose gain is between `low` and `high` of its standard deviations."""
    while True:
        one, other = _systems(rng, gap)
        gains = _resampled(one, other, rng, num_samples=400)
        if low < gains.mean() / gains.std() < high:
            return one, other


def _judge_gain(gain, one, other, gains):
    right, spread = _bleu(other.sum(0)) - _bleu(one.sum(0)), gains.std()
    if abs(gain - right) < 0.3 * spread:
        return
    sentences = (_bleu(other) - _bleu(one)).mean()
    if abs(gain - sentences) < 1e-6:
        raise NotYet(
            f"the gain is {gain:.2f}, the mean over sentences; that of the whole test set is {right:.2f}."
        )
    if abs(gain + right) < 0.3 * spread:
        raise NotYet(
            f"the gain is {gain:.2f}: it should be that of `other` over `one`, {right:.2f}."
        )
    if abs(gain - right / 100) < 1e-3:
        raise NotYet(f"the gain is {gain:.4f}; BLEU is written from 0 to 100.")
    raise NotYet(
        f"the gain is {gain:.2f}, where the scores of the whole test set differ by {right:.2f}."
    )


def _judge_interval(ends, one, other, gains, rng):
    low, high = ends
    right, spread = np.quantile(gains, [0.025, 0.975]), gains.std()
    if low > high:
        raise NotYet(f"low {low:.2f} is above high {high:.2f}.")
    holds = ((low <= gains) & (gains <= high)).mean()
    if abs(holds - 0.95) < 0.025 and np.abs(ends - right).max() < 0.5 * spread:
        return
    width, wanted = high - low, right[1] - right[0]
    apart = np.diff(np.quantile(_resampled(one, other, rng, paired=False), [0.025, 0.975]))[0]
    if width < 0.02 * wanted:
        raise NotYet(
            f"the interval has width {width:.2g}: drawn without replacement, or divided by the number "
            "of samples, every resampled test set is the same."
        )
    if abs(width - apart) < 0.15 * apart and apart > 1.3 * wanted:
        raise NotYet(
            f"the interval is {width / wanted:.1f} times too wide, as if each system had been given "
            "test sets of its own: draw the sentences once for both."
        )
    raise NotYet(
        f"the interval ({low:.2f}, {high:.2f}) holds {holds:.0%} of resampled gains, not 95%."
    )


def _judge_p(p, gains):
    right = (gains <= 0).mean()
    if abs(p - right) < 0.05 and 0 <= p <= 1:
        return
    if abs(p - (1 - right)) < 0.05:
        raise NotYet(
            f"p is {p:.2f}, the share in which `other` wins; the share in which it does not is asked."
        )
    if abs(p - 2 * min(right, 1 - right)) < 0.05:
        raise NotYet(
            f"p is {p:.2f}, which counts both sides; only `other` not winning is asked for."
        )
    raise NotYet(f"p is {p:.2f}; `other` did not win on {right:.1%} of resampled test sets.")


QUESTIONS = (
    Question(
        id="10.1",
        title="BLEU from counts",
        minutes=18,
        parts=(Part("code", 4, ("bleu",), bleu_agrees),),
        covers=("003 3",),
        hints=(
            "For each order n you need two sums over all sentences: matches, and n-grams of the hypothesis.",
            "A Counter of the n-grams of each side; `&` of two Counters keeps the smaller count.",
            "zip(tokens, tokens[1:], tokens[2:]) runs over the 3-grams.",
            "The brevity penalty looks at two lengths only, those of all hypotheses and of all references.",
        ),
    ),
    Question(
        id="10.2",
        title="Is the difference real?",
        minutes=15,
        parts=(Part("code", 4, ("paired_bootstrap",), bootstraps_in_pairs),),
        covers=("003 3",),
        hints=(
            "A resampled test set is n sentences drawn with replacement from the n there are.",
            "Sum the counts of the drawn sentences first; `bleu_of_counts` takes (num_samples, 10) at once.",
            "Both systems translate the same sentences. What must they share in every sample?",
            "np.quantile gives both ends; p is a share of the samples.",
        ),
    ),
    Question(
        id="10.3",
        title="The conclusion",
        minutes=12,
        parts=(Part("written", 4),),
        covers=("003 3",),
        hints=(
            "A claim needs three numbers beside each other: the gain, its interval, the spread over seeds.",
            "Does every pair of seeds, and does the other corpus, say the same?",
            "For the lengths: how many numbers does each slot have to hold a long sentence in?",
        ),
    ),
)
