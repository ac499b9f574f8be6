"""Questions 11.1-11.3, BLEU and what a difference of it means."""

import functools
import operator
from collections import Counter
from itertools import chain

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, number, shuffled, vector
from attn_course.answers.mistakes import Trials, same
from attn_course.drivers import call_with_seeds
from attn_course.register import Part, Question

ORDERS = (1, 2, 3, 4)
CLOSE = 1e-4  # an answer may count in float32
WITHOUT_FOUR = {
    "two and three words right in a row, but never four": (
        [list("abxcdy"), list("efg")],
        [list("abzcdw"), list("efh")],
    ),
    "one empty hypothesis": ([[]], [list("abcde")]),
    "three words, all of them right": ([list("abc")], [list("abc")]),
}


def bleu_agrees(rng: Generator, bleu: Caller) -> str:
    """11.1: equal to sacrebleu's number, with one and with several references; 0 where no 4-gram matches."""
    trials = Trials(_wrong_scores, absolute=CLOSE)
    corpora = _corpora(rng)
    for kind in shuffled(rng, list(corpora)):
        hypotheses, references = corpora[kind]
        score = _score_of(bleu, kind, hypotheses, [[text] for text in references])
        right, _ = _sacrebleu(hypotheses, references)
        fact = f"{score:.4f}, not {right:.4f} ({kind})"
        trials.add(score, right, fact, hypotheses, references)
    trials.settle()

    with_several = Trials(_wrong_with_several, absolute=CLOSE)
    sizes = {"two references for each": (2, 3), "one to three references for each": (1, 4)}
    for kind, numbers in shuffled(rng, list(sizes.items())):
        corpus = _several(rng, *numbers)
        score = _score_of(bleu, kind, *corpus)
        right = _sacrebleu_of_several(*corpus)
        with_several.add(score, right, f"{score:.4f}, not {right:.4f} ({kind})", *corpus)
    with_several.settle()

    for kind in shuffled(rng, list(WITHOUT_FOUR)):
        hypotheses, references = WITHOUT_FOUR[kind]
        score = _score_of(bleu, kind, hypotheses, [[text] for text in references])
        if not abs(score) <= 1e-9:
            raise NotYet(
                f"{kind}: no 4-gram matches, which makes BLEU 0 by (1), and yet it is {score:.2f}."
            )

    return (
        f"equal to sacrebleu's number on {len(corpora) + len(sizes)} corpora, two of them with several "
        "references; where no 4-gram matches it is 0."
    )


def _score_of(bleu, kind, hypotheses, references):
    """Return the number for this corpus; where the answer stops, the sentence names the corpus."""
    try:
        return number(bleu(hypotheses, references), "bleu(...)")
    except NotYet as error:
        sentence = str(error).rstrip(".")
        raise NotYet(f"{sentence}; what it was given: {kind}.") from None


def _corpora(rng):
    """Draw corpora of token lists that tell the known mistakes apart: usual, too short, too long, odd."""
    return {
        "the usual": _corpus(rng, 30, keep=0.8),
        "capitals and punctuation": _with_capitals(rng),
        "hypotheses that are too long": _corpus(rng, 25, keep=0.85, extra=0.3),
        "hypotheses that are too short": _corpus(rng, 25, keep=0.6, drop=0.35),
        "words said again and again": (
            [["the"] * 9, list("abcdef")],
            [list("xytheab"), list("abcdefg")],
        ),
        "words that look alike when they are joined": (
            [["a", "bc", "d", "e", "f", "g", "h"], ["x", "yz", "u", "v", "w"]],
            [["ab", "c", "d", "e", "f", "g", "h"], ["xy", "z", "u", "v", "w"]],
        ),
        "an empty hypothesis and short ones": (
            [[], ["a"], ["a", "b"], list("abcdefgh")],
            [list("ab"), ["a"], list("abc"), list("abcdeghi")],
        ),
    }


def _corpus(rng, num_sentences, *, keep, extra=0.0, drop=0.0):
    """Draw (hypotheses, references): references of a small vocabulary, hypotheses with words changed."""
    references = []
    hypotheses = []
    for size in rng.integers(5, 16, size=num_sentences):
        reference = _words(rng, size)
        num_kept = max(1, round(size * (1 - drop)))
        other = _words(rng, num_kept)
        same_word = rng.random(num_kept) < keep
        chosen = np.where(same_word, reference[:num_kept], other).tolist()

        references.append(reference)
        hypotheses.append(chosen + _words(rng, round(size * extra)))

    return hypotheses, references


def _several(rng, fewest, most):
    """Draw (hypotheses, a list of references for each); the nearest in length is mostly the longer one."""
    hypotheses, references = _corpus(rng, 30, keep=0.8, drop=0.2)
    several = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        texts = [reference]
        for _ in range(int(rng.integers(fewest, most)) - 1):
            size = max(1, len(hypothesis) + int(rng.choice([-5, -4, 5, 6])))
            words = (reference + _words(rng, size))[:size]
            is_kept = rng.random(size) < 0.6
            texts.append(np.where(is_kept, words, _words(rng, size)).tolist())
        several.append([texts[k] for k in rng.permutation(len(texts))])

    for k in range(
        3
    ):  # one is as much shorter as the other is longer; the shorter one is first but once
        shorter, longer = hypotheses[k][1:], [*hypotheses[k], "w0"]
        several[k] = [longer, shorter] if k else [shorter, longer]
    hypotheses[3] = ["w1", "w1", "w1", "w2", "w3"]  # w1 three times in all references, twice in one
    several[3] = [["w1", "w1", "w4", "w2", "w3", "w6"], ["w5", "w1", "w7"]]
    return hypotheses, several


def _with_capitals(rng):
    """Draw (hypotheses, references) in which capitals, full stops and commas decide what matches."""
    hypotheses, references = _corpus(rng, 25, keep=0.8)
    for tokens in (*hypotheses, *references):
        capital = rng.random(len(tokens)) < 0.15
        tokens[:] = np.where(capital, np.char.upper(tokens), tokens).tolist()
        tokens.insert(int(rng.integers(len(tokens) + 1)), ",")
        tokens.append(str(rng.choice([".", "!", "?"])))

    return hypotheses, references


def _words(rng, size):
    """Draw words of a small vocabulary, so that n-grams come more than once."""
    return [f"w{k}" for k in rng.integers(12, size=size)]


def _sacrebleu(hypotheses, references):
    """Return the number to agree with: sacrebleu's, its tokeniser and smoothing off, and its statistics."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    mine = [" ".join(tokens) for tokens in hypotheses]
    theirs = [" ".join(tokens) for tokens in references]
    result = metric.corpus_score(mine, [theirs])
    stats = [*result.counts, *result.totals, result.sys_len, result.ref_len]
    return result.score, np.array(stats)


def _sacrebleu_of_several(hypotheses, references):
    """Return the same number where each hypothesis has a list of references."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    most = max(map(len, references))
    texts = [[" ".join(tokens) for tokens in several] for several in references]
    streams: list = [[of[k] if k < len(of) else None for of in texts] for k in range(most)]
    return metric.corpus_score([" ".join(tokens) for tokens in hypotheses], streams).score


def _most_often(counters):
    """Return each n-gram as often as it stands in the reference that has it most often."""
    return functools.reduce(operator.or_, counters)


def _nearest(size, sizes):
    return min(sizes, key=lambda other: (abs(other - size), other))


def _bleu_with(hypotheses, references, allowed=_most_often, length=_nearest):
    """Return BLEU, where `allowed` joins the references' Counters and `length` chooses a length."""
    matches = np.zeros(4)
    totals = np.zeros(4)
    c = r = 0
    for mine, theirs in zip(hypotheses, references, strict=True):
        c += len(mine)
        r += length(len(mine), [len(text) for text in theirs])
        for n in ORDERS:
            grams = _grams(mine, n)
            counters = [_grams(text, n) for text in theirs]
            matches[n - 1] += (grams & allowed(counters)).total()
            totals[n - 1] += grams.total()
    return 100 * _geometric(matches / np.maximum(totals, 1)) * _brevity(c, r)


def _wrong_with_several(hypotheses, references):
    corpus = (hypotheses, references)
    best = []
    for mine, theirs in zip(*corpus, strict=True):
        shared = [(_grams(mine, 1) & _grams(text, 1)).total() for text in theirs]
        best.append([theirs[int(np.argmax(shared))]])
    return {
        "only the first reference of each hypothesis is used": _bleu_with(
            hypotheses, [several[:1] for several in references]
        ),
        "only the last reference of each hypothesis is used": _bleu_with(
            hypotheses, [several[-1:] for several in references]
        ),
        "the references' counts are added up; an n-gram may match as often as in the one reference that "
        "has it most often": _bleu_with(*corpus, allowed=lambda counters: sum(counters, Counter())),
        "an n-gram counts only if all references have it; one is enough": _bleu_with(
            *corpus, allowed=lambda counters: functools.reduce(operator.and_, counters)
        ),
        "the matches are those of a single best reference; each n-gram has its own": _bleu_with(
            hypotheses, best
        ),
        "r takes the shortest reference; the one nearest in length is asked for": _bleu_with(
            *corpus, length=lambda size, sizes: min(sizes)
        ),
        "r takes the longest reference; the one nearest in length is asked for": _bleu_with(
            *corpus, length=lambda size, sizes: max(sizes)
        ),
        "r takes the first reference; the one nearest in length is asked for": _bleu_with(
            *corpus, length=lambda size, sizes: sizes[0]
        ),
        "where two references are equally near in length, r takes the first of them; the shorter is asked "
        "for": _bleu_with(
            *corpus, length=lambda size, sizes: min(sizes, key=lambda other: abs(other - size))
        ),
        "r takes the mean length of the references; the nearest in length is asked for": _bleu_with(
            *corpus, length=lambda size, sizes: np.mean(sizes)
        ),
        "r adds up all references; one length for each hypothesis is asked for": _bleu_with(
            *corpus, length=lambda size, sizes: sum(sizes)
        ),
        "where two references are equally near in length, r takes the longer one; the shorter is asked for": (
            _bleu_with(
                *corpus,
                length=lambda size, sizes: min(
                    sizes, key=lambda other: (abs(other - size), -other)
                ),
            )
        ),
    }


def _geometric(shares):
    return np.prod(shares) ** (1 / len(shares))


def _brevity(c, r):
    """Return the penalty of equation (1) for c words where the references have r."""
    return np.exp(min(0.0, 1 - r / max(c, 1)))


def _wrong_scores(hypotheses, references):
    _, stats = _sacrebleu(hypotheses, references)
    matches = stats[:4]
    totals = stats[4:8]
    c, r = stats[8:]
    pairs = list(zip(hypotheses, references, strict=True))
    longer = sum(max(len(mine), len(theirs)) for mine, theirs in pairs)
    shares = matches / np.maximum(totals, 1)
    mean = _geometric(shares)
    brevity = _brevity(c, r)
    penalties = {
        "there is no brevity penalty": 1.0,
        "the brevity penalty is the wrong way round, it punishes length": _brevity(r, c),
        "the brevity penalty also rewards length; it may not exceed 1": np.exp(1 - r / max(c, 1)),
        "the brevity penalty is the ratio of the lengths; it is exp(1 - r / c)": min(1.0, c / r),
        "the reference length is wrong; a sentence that is too long may make up for one that is too "
        "short": _brevity(c, longer),
    }
    means = {
        "this is a share; BLEU is written from 0 to 100": mean / 100,
        "this is the arithmetic mean of the precisions; the geometric one is asked for": (
            shares.mean()
        ),
        "the precisions are multiplied, but the fourth root is missing": np.prod(shares),
        "4-grams are left out": _geometric(shares[:3]),
    }
    for sentence, (numerators, denominators) in _wrong_counts(matches, totals, pairs).items():
        means[sentence] = _geometric(numerators / np.maximum(denominators, 1))

    wrong = {sentence: 100 * mean * penalty for sentence, penalty in penalties.items()}
    wrong |= {sentence: 100 * wrong_mean * brevity for sentence, wrong_mean in means.items()}
    return wrong | _misunderstood(hypotheses, references)


def _wrong_counts(matches, totals, pairs):
    """Return {sentence: (matches, totals)}; pairs: of a hypothesis and its reference."""
    one = np.array([0, 1, 1, 1])
    all_mine, all_theirs = zip(*pairs, strict=True)
    pooled = [(_all_grams(all_mine, n) & _all_grams(all_theirs, n)).total() for n in ORDERS]
    return {
        "matches are not clipped; a word said again and again counts each time": (
            _summed(pairs, lambda mine, theirs: sum(mine[gram] for gram in mine & theirs)),
            totals,
        ),
        "each n-gram is counted once a sentence, however often it occurs": (
            _summed(pairs, lambda mine, theirs: len(mine & theirs)),
            _summed(pairs, lambda mine, theirs: len(mine)),
        ),
        "this is a recall; divide by the n-grams of the hypothesis, not of the reference": (
            matches,
            _summed(pairs, lambda mine, theirs: theirs.total()),
        ),
        "a match may come from any reference; each hypothesis has its own": (
            np.array(pooled),
            totals,
        ),
        "one is added to the counts of longer n-grams, which (1) does not do": (
            matches + one,
            totals + one,
        ),
    }


def _misunderstood(hypotheses, references):
    """Return {sentence: a score of something else}."""
    sides = (hypotheses, references)
    alone = [_sacrebleu([mine], [theirs])[0] for mine, theirs in zip(*sides, strict=True)]
    wrong = {
        "capitals are taken for small letters; tokens are compared as they are": [
            [[word.lower() for word in text] for text in side] for side in sides
        ],
        "punctuation is left out; a full stop is a token like any other": [
            [[word for word in text if word.isalnum()] for text in side] for side in sides
        ],
        "n-grams run from one sentence into the next": [[[*chain(*side)]] for side in sides],
        "hypotheses and references have changed places": sides[::-1],
    }
    return {
        "the words of an n-gram are joined without a mark between them, so that different ones look alike": (
            _joined(hypotheses, references)
        ),
        "this is the mean of the sentences' BLEU scores; add up the counts of all sentences first": (
            np.mean(alone)
        ),
    } | {sentence: _sacrebleu(*corpus)[0] for sentence, corpus in wrong.items()}


def _joined(hypotheses, references):
    """Return BLEU of n-grams that are text without marks between the words."""
    pairs = list(zip(hypotheses, references, strict=True))
    joined = [
        [Counter("".join(gram) for gram in _grams(text, n).elements()) for text in pair]
        for n in ORDERS
        for pair in pairs
    ]
    matches = np.array([(mine & theirs).total() for mine, theirs in joined]).reshape(4, -1).sum(1)
    totals = np.array([mine.total() for mine, _ in joined]).reshape(4, -1).sum(1)
    c, r = (sum(map(len, side)) for side in (hypotheses, references))
    return 100 * _geometric(matches / np.maximum(totals, 1)) * _brevity(c, r)


def _grams(tokens, n):
    starts = [tokens[k:] for k in range(n)]
    return Counter(zip(*starts, strict=False))


def _all_grams(texts, n):
    grams: Counter = Counter()
    for tokens in texts:
        grams += _grams(tokens, n)
    return grams


def _summed(pairs, count):
    """Return count(n-grams of hypothesis and reference), summed over all pairs, for each order: (4,)."""
    counts = [[count(_grams(mine, n), _grams(theirs, n)) for n in ORDERS] for mine, theirs in pairs]
    return np.sum(counts, 0)


def bootstraps_in_pairs(rng: Generator, paired_bootstrap: Caller) -> str:
    """11.2: the gain to the digit, interval and p within what the samples of both sides allow.

    Interval and p are means over two seeds of 1,000 samples and are compared with 10,000 of our own:
    limits are more than four standard errors away for what is right.
    """
    n = int(rng.integers(140, 160))
    for low, high in ((0.6, 1.2), (4, 99)):  # unclear, then clear
        n += 1
        one, other = _pair(rng, n, low, high)
        seeds = rng.integers(2**31, size=2).tolist()
        rows = [_resampled_by(paired_bootstrap, one, other, seed) for seed in seeds]
        if low < 1:
            again = _resampled_by(paired_bootstrap, one, other, seeds[0])
            if not np.array_equal(rows[0], again):
                raise NotYet(
                    "the same generator in the same state gave two results: use `rng` alone."
                )

        gains = _gains(rng, one, other)
        _, *ends, p = np.mean(rows, 0)
        for row in rows:
            _judge_gain(row[0], one, other, gains)
        _judge_interval(ends, one, other, gains, rng)
        _judge_p(p, gains)
        if np.array_equal(rows[0], rows[1]):
            raise NotYet(
                "two generators with different seeds gave one result: draw the sentences with the generator "
                "that is given."
            )

    for place, name in ((-1, "last"), (0, "first")):
        _judge_single(paired_bootstrap, one, place, name, int(rng.integers(2**31)))
    return (
        "the gain is that of the whole set; interval and p agree with 10,000 samples of the check, for two "
        "systems that clearly differ and for two that hardly do."
    )


def _resampled_by(paired_bootstrap, one, other, seed, num_samples=1000):
    """Return (gain, low, high, p) of samples drawn with this seed."""
    (result,) = paired_bootstrap.run_driver(call_with_seeds, [(one, other)], [seed], num_samples)
    return vector(result, 4, "(gain, low, high, p)")


def _pair(rng, n, low, high):
    """Draw counts (n, 10) of two systems whose gain is `low` to `high` of its standard deviations."""
    gap = 0.02 if low < 1 else 0.16
    while True:
        one, other = _systems(rng, n, gap)
        gains = _gains(rng, one, other, num_samples=400)
        if low < gains.mean() / gains.std() < high:
            return one, other


def _systems(rng, n, gap):
    """Draw counts (n, 10) of two systems on sentences that are equally hard for both."""
    length = rng.integers(6, 25, size=(n, 1))
    totals = length - np.arange(4)
    skill = rng.beta(1.2, 1.2, size=(n, 1))
    common = rng.binomial(totals, skill ** np.array(ORDERS))

    systems = []
    for luck in (0.15, 0.15 + gap):
        more = rng.binomial(2, luck, totals.shape)
        fewer = rng.binomial(2, 0.15, totals.shape)
        matches = np.clip(common + more - fewer, 0, totals)
        systems.append(np.hstack([matches, totals, length, length]))

    return systems


def _gains(rng, one, other, *, paired=True, num_samples=10_000):
    """Return gains (num_samples,) on test sets drawn with replacement, the same for both systems or not."""
    n = len(one)
    picks = _picks(rng, n, num_samples)
    others = picks if paired else _picks(rng, n, num_samples)
    return _bleu(picks @ other) - _bleu(others @ one)


def _picks(rng, n, num_samples):
    """Draw how often each of n sentences is in each sample, (num_samples, n)."""
    drawn = rng.integers(n, size=(num_samples, n))
    drawn += n * np.arange(num_samples)[:, None]  # a range of numbers for each sample
    counts = np.bincount(drawn.ravel(), minlength=drawn.size)
    return counts.reshape(num_samples, n).astype(float)


def _bleu(counts):
    """Return BLEU (...) of summed counts (..., 10): four of matches, four of n-grams, two lengths."""
    shares = counts[..., :4] / np.maximum(counts[..., 4:8], 1)
    with np.errstate(divide="ignore"):
        logs = np.log(shares)
    ratio = counts[..., 9] / np.maximum(counts[..., 8], 1)
    return 100 * np.exp(logs.mean(-1) + np.minimum(0, 1 - ratio))


def _judge_gain(gain, one, other, gains):
    """Raise NotYet unless the gain is that of the whole test set, to the digit."""
    right = _bleu(other.sum(0)) - _bleu(one.sum(0))
    if same(gain, right, absolute=CLOSE):
        return
    by_sentence = _bleu(other) - _bleu(one)
    noise = gains.std() / 1000**0.5  # of a mean over the answer's samples
    fact = f"the gain is {gain:.4f}, where the scores of the whole test set differ by {right:.4f}"
    mistakes = {
        "it is the mean over sentences": (by_sentence.mean(), CLOSE),
        "it should be that of `other` over `one`": (-right, CLOSE),
        "BLEU is written from 0 to 100": (right / 100, CLOSE),
        "it looks like the mean of the resampled gains; the gain is known without drawing": (
            gains.mean(),
            5 * noise,
        ),
    }
    for what, (wrong, limit) in mistakes.items():
        if abs(gain - wrong) <= limit:
            raise NotYet(f"{fact}; {what}.")
    raise NotYet(f"{fact}.")


def _judge_interval(ends, one, other, gains, rng):
    """Raise NotYet unless the ends are near those of our own samples, and hold 95% of them."""
    low, high = ends
    if not low <= high:
        raise NotYet(f"low {low:.2f} is above high {high:.2f}.")
    right = np.quantile(gains, [0.025, 0.975])
    is_near = largest_gap(ends, right) <= 0.5 * gains.std()
    holds = ((low <= gains) & (gains <= high)).mean()
    if abs(holds - 0.95) <= 0.025 and is_near:
        return

    width = high - low
    right_width = np.ptp(right)
    unpaired = _gains(rng, one, other, paired=False)
    apart = np.ptp(np.quantile(unpaired, [0.025, 0.975]))
    if width <= 0.02 * right_width:
        raise NotYet(
            f"the interval has width {width:.2g}: drawn without replacement, or divided by the number "
            "of samples, every resampled test set is the same."
        )
    mistakes = {
        "as if each system had been given test sets of its own; draw the sentences once for both": apart,
        "as if each test set had half of the sentences; draw as many as there are": 2**0.5
        * right_width,
    }
    below = (gains < low).mean()
    above = (gains > high).mean()
    fits = [what for what, wrong in mistakes.items() if abs(width - wrong) <= 0.15 * wrong]
    if fits and width > 1.2 * right_width and max(below, above) <= 0.02:  # too wide on both sides
        raise NotYet(
            f"the interval is {width / right_width:.1f} times too wide, {', or '.join(fits)}."
        )

    raise NotYet(
        f"the interval ({low:.2f}, {high:.2f}) holds {holds:.0%} of resampled gains, not 95%: {below:.1%} "
        f"are below and {above:.1%} above, where 2.5% should be on each side."
    )


def _judge_p(p, gains):
    """Raise NotYet unless p is the share of samples in which `other` does not win."""
    right = (gains <= 0).mean()
    if abs(p - right) <= 0.06 and 0 <= p <= 1:
        return
    if abs(p - (1 - right)) <= 0.06:
        raise NotYet(
            f"p is {p:.2f}, the share in which `other` wins; the share in which it does not is asked."
        )
    if abs(p - 2 * min(right, 1 - right)) <= 0.06:
        raise NotYet(
            f"p is {p:.2f}, which counts both sides; only `other` not winning is asked for."
        )

    raise NotYet(f"p is {p:.2f}; `other` did not win on {right:.1%} of resampled test sets.")


def _judge_single(paired_bootstrap, one, place, name, seed):
    """Raise NotYet unless p and low are right for two systems that differ in a single sentence."""
    none = one.copy()
    none[place, :4] = 0
    all_of_it = one.copy()
    all_of_it[place, :4] = one[place, 4:8]
    num_samples = 997  # a prime: p shows how many samples were drawn
    _, low, _, p = _resampled_by(paired_bootstrap, none, all_of_it, seed, num_samples)

    n = len(one)
    right = (1 - 1 / n) ** n
    if abs(p - right) <= 0.08:
        if (
            min(abs(p * count - round(p * count)) for count in (num_samples, num_samples + 1))
            > CLOSE
        ):
            raise NotYet(
                f"p = {p:.4f} is no share of {num_samples} samples: draw `num_samples` of them."
            )
        if abs(low) > CLOSE:
            raise NotYet(
                f"low = {low:.2f} where no resampled gain is below 0: take both ends from the resampled "
                "gains themselves, which need not be normally distributed."
            )
        return
    measured = (
        f"p = {p:.2f} where `other` wins by the {name} sentence, which {right:.0%} of samples lack"
    )
    mistakes = {
        f"the {name} sentence is never drawn": 1.0,
        "a tie is not a win for `other`": 0.0,
        "half of the sentences are drawn, each at most once; draw N of them with replacement": 0.5,
    }
    for sentence, wrong in mistakes.items():
        if abs(p - wrong) <= 0.05:
            raise NotYet(f"{measured}: {sentence}.")
    raise NotYet(f"{measured}.")


QUESTIONS = (
    Question(
        id="11.1",
        title="BLEU from counts",
        minutes=18,
        parts=(Part("code", ("bleu",), bleu_agrees, points=3.5),),
        covers=("003 3",),
        hints=(
            "For each order n you need two sums over all sentences: matches, and n-grams of the hypothesis.",
            "A Counter of the n-grams of each text: `&` keeps the smaller of two counts, `|` the larger.",
            "zip(tokens, tokens[1:], tokens[2:]) runs over the 3-grams.",
            "The brevity penalty looks at two lengths only, those of all hypotheses and of all references.",
        ),
    ),
    Question(
        id="11.2",
        title="Is the difference real?",
        minutes=15,
        seconds=15,  # a loop over the samples is a right answer
        parts=(Part("code", ("paired_bootstrap",), bootstraps_in_pairs, points=4),),
        covers=("003 3",),
        hints=(
            "A resampled test set is N sentences drawn with replacement from the N there are.",
            "Sum the counts of the drawn sentences first; `bleu_of_counts` takes (num_samples, 10) at once.",
            "Both systems translate the same sentences. What must they share in every sample?",
            "np.quantile gives both ends; p is a share of the samples.",
        ),
    ),
    Question(
        id="11.3",
        title="The conclusion",
        minutes=12,
        parts=(Part("written", points=3.5),),
        covers=("003 3",),
        hints=(
            "A claim needs three numbers beside each other: the gain, its interval, the spread over seeds.",
            "Does every pair of seeds, and does the other corpus, say the same?",
            "For (c): how many numbers does each slot keep of a long sentence?",
        ),
    ),
)
