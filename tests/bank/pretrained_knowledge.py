"""Answers to 8.1 and 8.2: right ones of different form, and the known mistakes."""

import random

import numpy as np

from attn_course.knowledge.examples import MASK, PAD, corrupt_span, finetuning_pair
from attn_course.knowledge.findings import score


def corruption(
    *,
    cut=lambda rng, block: int(rng.integers(4, 7 * block // 8 + 1)),
    span=lambda rng, n: min(n, max(1, round(rng.uniform(0, n / 2)))),
    place=lambda rng, room: int(rng.integers(room + 1)),
    join=lambda prefix, span, suffix: f"{prefix}{MASK}{suffix}{MASK}{span}",
    pad=lambda text, block: text.ljust(block, PAD),
):
    """A right `corrupt_span`, any piece of which can be replaced by a wrong one."""

    def corrupt_span(document, rng, block_size):
        kept = document[: cut(rng, block_size)]
        size = span(rng, len(kept))
        start = place(rng, len(kept) - size)
        text = join(kept[:start], kept[start : start + size], kept[start + size :])
        return pad(text, block_size)

    return corrupt_span


def gaussian(document, rng, block_size):
    """The length of the span is a rounded normal number, brought back into range."""
    n = min(len(document), rng.integers(4, 1 + int(block_size * 7 / 8)))
    m = int(np.clip(np.rint(rng.normal(n / 4, n / 8)), 1, n))
    start = rng.choice(n - m + 1)
    pieces = [document[:start], MASK, document[start + m : n], MASK, document[start : start + m]]
    return "".join(pieces) + PAD * (block_size - n - 2)


def character_by_character(document, rng, block_size):
    """Three lists that are filled in one pass; each further character is masked by a coin."""
    n = min(len(document), int(np.floor(rng.random() * (7 * block_size // 8 - 3))) + 4)
    m = 1 + int(rng.binomial(n - 1, rng.uniform(0, 0.5)))
    start = int(rng.random() * (n - m + 1))
    places = range(n)
    span = [document[t] for t in places if start <= t < start + m]
    before, after = list(document[:start]), [document[t] for t in places if t >= start + m]
    out = [*before, MASK, *after, MASK, *span]
    while len(out) < block_size:
        out.append(PAD)
    return "".join(out)


def two_cut_points(document, rng, block_size):
    """A standard-library generator seeded by rng; the span from its first character to its last."""
    chance = random.Random(int(rng.integers(2**60)))
    kept = document[: chance.randint(4, 7 * block_size // 8)]
    length = min(max(1, int(chance.triangular(0, len(kept) / 2) + 0.5)), len(kept))
    first = chance.randint(0, len(kept) - length)
    last = first + length
    whole = kept[:first] + MASK + kept[last:] + MASK + kept[first:last]
    return whole + "".join(PAD for _ in range(block_size - len(whole)))


def of_its_own(document, rng, block_size):
    return corrupt_span(document, np.random.default_rng(), block_size)


def seeded_inside(document, rng, block_size):
    return corrupt_span(document, np.random.default_rng(0), block_size)


def span_still_there(document, rng, block_size):
    n = min(len(document), int(rng.integers(4, 7 * block_size // 8 - 20)))
    m = max(1, n // 4)
    start = int(rng.integers(n - m + 1))
    whole = f"{document[:start]}{MASK}{document[start:n]}{MASK}{document[start : start + m]}"
    return whole.ljust(block_size, PAD)


def cut_within_document(document, rng, block_size):
    longest = max(4, min(len(document), 7 * block_size // 8))
    return corruption(cut=lambda rng, block: int(rng.integers(4, longest + 1)))(
        document, rng, block_size
    )


def whole_if_short(document, rng, block_size):
    if len(document) > 7 * block_size // 8:
        return corrupt_span(document, rng, block_size)
    return corruption(cut=lambda rng, block: len(document))(document, rng, block_size)


def from_the_middle(document, rng, block_size):
    start = int(rng.integers(max(1, len(document) - 50)))
    return corrupt_span(document[start:], rng, block_size)


def seam(document, rng, block_size):
    n = min(len(document), int(rng.integers(4, 7 * block_size // 8 + 1)))
    m = min(n, max(1, round(rng.uniform(0, n / 2))))
    start = int(rng.integers(n - m + 1))
    whole = (
        f"{document[:start]}{MASK}{document[start + m + 1 : n]}{MASK}{document[start : start + m]}"
    )
    return whole.ljust(block_size, PAD)


def by_slices(question, answer, block_size):
    whole = [*question, MASK, *answer, MASK]
    whole += [PAD] * (block_size - len(whole))
    y = [s if t >= len(question) else PAD for t, s in enumerate(whole[1:])]
    return "".join(whole[:-1]), "".join(y)


def opening_mask_too(question, answer, block_size):
    whole = (question + MASK + answer + MASK).ljust(block_size, PAD)
    return whole[:-1], PAD * (len(question) - 1) + whole[len(question) :]


def position_by_position(question, answer, block_size):
    x = question + MASK + answer + MASK
    y = PAD * len(question) + answer + MASK
    return x + PAD * (block_size - 1 - len(x)), y + PAD * (block_size - 1 - len(y))


def with_targets(change):
    """The right x, and `change(whole, number of symbols in the question and in the answer)` as y."""

    def pair(question, answer, block_size):
        x, _ = finetuning_pair(question, answer, block_size)
        whole = x + PAD
        y = change(whole, len(question), len(answer))
        return x, y.ljust(block_size - 1, PAD)[: block_size - 1]

    return pair


def unclosed(question, answer, block_size):
    x, y = finetuning_pair(question, answer, block_size)
    text = question + MASK + answer
    return text.ljust(len(x), PAD), y


def matching(rule):
    """A `score` that takes for right what a rule of its own allows."""

    def own_score(answers, truths):
        return score(
            [t if rule(a, t) else None for a, t in zip(answers, truths, strict=True)], truths
        )

    return own_score


def interval(make):
    """A `score` whose interval is make(right, n)."""

    def score(answers, truths):
        right = sum(a == b for a, b in zip(answers, truths, strict=True))
        return (right / len(truths), *make(right, len(truths)))

    return score


def around(z, *, clip=True):
    """Share plus or minus z standard errors."""

    def make(right, n):
        share = right / n
        half = z * np.sqrt(share * (1 - share) / n)
        return (
            (max(0, share - half), min(1, share + half)) if clip else (share - half, share + half)
        )

    return interval(make)


def plus_four(right, n):
    """Two right and two wrong answers are added before the usual interval is taken."""
    share = (right + 2) / (n + 4)
    half = 1.96 * np.sqrt(share * (1 - share) / (n + 4))
    return max(0.0, share - half), min(1.0, share + half)


def exact(right, n):
    """Every chance under which neither tail is rarer than 2.5%, on a fine grid."""
    from math import comb

    grid = np.linspace(0, 1, 2001)
    law = np.array([comb(n, k) * grid**k * (1 - grid) ** (n - k) for k in range(n + 1)])
    held = (law[: right + 1].sum(0) >= 0.025) & (law[right:].sum(0) >= 0.025)
    return grid[held].min(), grid[held].max()


def likelihood(right, n):
    """Every chance whose log-likelihood is within 1.92 of the best, on a fine grid."""
    grid = np.linspace(1e-6, 1 - 1e-6, 4001)
    fit = right * np.log(grid) + (n - right) * np.log(1 - grid)
    held = grid[fit >= fit.max() - 1.9207]
    share = right / n
    return min(held.min(), share), max(held.max(), share)


def small(words):
    return [word.lower() for word in words]


def wilson(z):
    def make(right, n):
        share, extra = right / n, z**2 / n
        half = z * np.sqrt(share * (1 - share) / n + extra / (4 * n))
        return (share + extra / 2 - half) / (1 + extra), (share + extra / 2 + half) / (1 + extra)

    return interval(make)


def scaled(factor):
    return lambda answers, truths: [factor(len(truths)) * value for value in score(answers, truths)]


def overlap(answers, truths):
    return len(set(answers) & set(truths)) / len(set(truths)), 0.0, 1.0


RIGHT = {
    "8.1": {
        "the course's own": (corrupt_span,),
        "a normal length": (gaussian,),
        "character by character": (character_by_character,),
        "two cut points": (two_cut_points,),
    },
    "8.2": {
        "the course's own": (finetuning_pair, score),
        "by slices, two added": (by_slices, interval(plus_four)),
        "the opening MASK too, exact": (opening_mask_too, interval(exact)),
        "position by position, likelihood": (position_by_position, interval(likelihood)),
    },
}
WRONG = {
    "8.1": {
        "empty span on short documents": (
            corruption(span=lambda rng, n: int(n / 4)),
            "span was empty",
        ),
        "nothing comes back": (lambda document, rng, block_size: None, "is a `return` missing"),
        "read from the end": (
            lambda document, rng, block_size: corrupt_span(document[::-1], rng, block_size),
            "is not the beginning of the document",
        ),
        "chance of its own": (of_its_own, "two different strings"),
        "seeded inside": (seeded_inside, "one and the same string"),
        "x and y already cut": (
            corruption(pad=lambda text, block: (text.ljust(block, PAD)[:-1], text[1:])),
            "return the one string",
        ),
        "not padded": (corruption(pad=lambda text, block: text), "pad or cut to block_size"),
        "padded in front": (
            corruption(pad=lambda text, block: text.rjust(block, PAD)),
            "in front of text",
        ),
        "one MASK": (corruption(join=lambda a, b, c: f"{a}{MASK}{c}{b}"), "1 MASK came back"),
        "span in its old place": (
            corruption(join=lambda a, b, c: f"{a}{MASK}{b}{MASK}{c}"),
            "in its old place",
        ),
        "span still readable": (span_still_there, "nothing left to predict"),
        "a character lost at the seam": (seam, "lost where the pieces meet"),
        "cut from the middle": (from_the_middle, "not the first ones"),
        "never truncated": (corruption(cut=lambda rng, block: 7 * block // 8), "cut to the same"),
        "cut to the block": (
            corruption(cut=lambda rng, block: int(rng.integers(4, block - 1))),
            "at most 7/8",
        ),
        "cut to anything": (
            corruption(cut=lambda rng, block: int(rng.integers(1, 7 * block // 8 + 1))),
            "at least 4 characters stay",
        ),
        "cut within the document": (
            cut_within_document,
            "the length of the document is no limit",
        ),
        "short documents never cut": (
            whole_if_short,
            "cut it where the n that was drawn is smaller",
        ),
        "mostly long cuts": (
            corruption(cut=lambda rng, block: int(rng.integers(block // 2, 7 * block // 8 + 1))),
            "should be equally likely.",
        ),
        "never all of 7/8": (
            corruption(cut=lambda rng, block: int(rng.integers(4, 7 * block // 8))),
            "never to 14; every length",
        ),
        "very short and very long cuts": (
            corruption(cut=lambda rng, block: 4 + int(rng.beta(0.5, 0.5) * (7 * block // 8 - 3))),
            "on average; every length from 4 to 112",
        ),
        "half is masked": (
            corruption(span=lambda rng, n: int(rng.integers(1, n + 1))),
            "a quarter of what was kept is asked for",
        ),
        "always exactly a quarter": (
            corruption(span=lambda rng, n: max(1, n // 4)),
            "its length should be drawn",
        ),
        "always at the start": (
            corruption(place=lambda rng, room: 0),
            "the span starts 2% of the way",
        ),
        "the end is never masked": (
            corruption(place=lambda rng, room: int(rng.integers(max(1, room)))),
            "the last character was never masked",
        ),
        "the end is hardly ever masked": (
            corruption(
                span=lambda rng, n: 1 + int(rng.binomial(n - 1, rng.uniform(0, 0.5))),
                place=lambda rng, room: int(rng.integers(room + (rng.random() < 0.1) or 1)),
            ),
            "should be equally likely, the first and the last too",
        ),
        "the start is never masked": (
            corruption(place=lambda rng, room: int(rng.integers(min(1, room), room + 1))),
            "the first character was never masked",
        ),
    },
    "8.2": {
        "one string": ((lambda q, a, b: q + a, score), "should return two strings"),
        "as long as the block": (
            (lambda q, a, b: tuple(s + PAD for s in finetuning_pair(q, a, b)), score),
            "both should have",
        ),
        "the answer is not read": (
            (lambda q, a, b: ((q + MASK).ljust(b - 1, PAD), finetuning_pair(q, a, b)[1]), score),
            "x ends at the first MASK",
        ),
        "no MASK in between": (
            (lambda q, a, b: ((q + a + MASK).ljust(b - 1, PAD),) * 2, score),
            "no MASK between question and answer",
        ),
        "answer first": (
            (lambda q, a, b: ((a + MASK + q + MASK).ljust(b - 1, PAD),) * 2, score),
            "x should read question, MASK, answer, MASK",
        ),
        "nothing to learn": ((with_targets(lambda w, q, a: ""), score), "PAD everywhere"),
        "not shifted": (
            (with_targets(lambda w, q, a: PAD * (q + 1) + w[q + 1 :]), score),
            "y repeats x",
        ),
        "shifted twice": (
            (with_targets(lambda w, q, a: PAD * (q - 1) + w[q + 1 :]), score),
            "not always the symbol that comes after",
        ),
        "loss on the question": (
            (with_targets(lambda w, q, a: w[1:]), score),
            "names are given, not learnt",
        ),
        "first symbol left out": (
            (with_targets(lambda w, q, a: PAD * (q + 1) + w[q + 2 :]), score),
            "the first symbol of the answer",
        ),
        "end left out": (
            (with_targets(lambda w, q, a: PAD * q + w[q + 1 : q + 1 + a]), score),
            "never learns to stop",
        ),
        "closing MASK not read": (
            (unclosed, score),
            "the MASK that closes the answer is missing",
        ),
        "a part of the truth": ((finetuning_pair, matching(lambda a, t: a in t)), "is a part of"),
        "the beginning of the truth": (
            (finetuning_pair, matching(lambda a, t: t.startswith(a))),
            "with which the truth begins",
        ),
        "more than the truth": (
            (finetuning_pair, matching(lambda a, t: t in a)),
            "and more counts",
        ),
        "the first letter": (
            (finetuning_pair, matching(lambda a, t: a[:1] == t[:1])),
            "only the first letters",
        ),
        "an empty answer": (
            (finetuning_pair, matching(lambda a, t: a in ("", t))),
            "an empty answer counts as right",
        ),
        "percentages": ((finetuning_pair, scaled(lambda n: 100)), "is a percentage"),
        "counts": ((finetuning_pair, scaled(lambda n: n)), "counts the right answers"),
        "sets compared": ((finetuning_pair, overlap), "the share came out as"),
        "share, high, low": (
            (finetuning_pair, lambda a, t: (score(a, t)[0], score(a, t)[2], score(a, t)[1])),
            "low <= share <= high",
        ),
        "two standard errors": ((finetuning_pair, around(1.96)), "width zero"),
        "beyond a share": (
            (finetuning_pair, interval(lambda k, n: (k / n - 0.2, k / n + 0.2))),
            "a share lies between 0 and 1",
        ),
        "capitals ignored": (
            (finetuning_pair, lambda answers, truths: score(*map(small, (answers, truths)))),
            "capitals are ignored",
        ),
        "one standard error": ((finetuning_pair, wilson(1.0)), "contains the true share in 68"),
        "an interval of 99%": ((finetuning_pair, wilson(2.576)), "contains the true share in 9"),
    },
}


def of_documents(belongs):
    """Of a call of 8.1: the number of characters of its documents, and the longest cut."""
    return lambda rows, seeds, block: belongs(len(rows[0][0]), 7 * block // 8)


def some_wrong(belongs):
    """Whether a wrong answer of a call of 8.2 is of this kind."""

    def of_rows(rows):
        return any(
            a != t and belongs(a, t)
            for answers, truths in rows
            for a, t in zip(answers, truths, strict=True)
        )

    return of_rows


REGIMES = {
    "8.1": {
        "corrupt_span": {
            "one character": of_documents(lambda size, longest: size == 1),
            "fewer than four": of_documents(lambda size, longest: 1 < size < 4),
            "four": of_documents(lambda size, longest: size == 4),
            "a document that fits": of_documents(lambda size, longest: 4 < size < longest),
            "a document that does not fit": of_documents(lambda size, longest: size > longest),
        },
    },
    "8.2": {
        "finetuning_pair": {
            "an answer of one character": lambda question, answer, block: len(answer) == 1,
            "no room for padding": lambda q, answer, block: len(q) + len(answer) + 2 == block - 1,
            "room for padding": lambda q, answer, block: len(q) + len(answer) + 2 < block - 1,
        },
        "score": {
            "all right": lambda rows: any(answers == truths for answers, truths in rows),
            "none right": lambda rows: not any(a == t for a, t in zip(*rows[0], strict=True)),
            "an empty answer": some_wrong(lambda answer, truth: not answer),
            "the beginning of the truth": some_wrong(lambda a, truth: a and truth.startswith(a)),
            "another part of the truth": some_wrong(lambda a, t: a in t and not t.startswith(a)),
            "more than the truth": some_wrong(lambda answer, truth: truth in answer),
            "another answer that begins alike": some_wrong(
                lambda a, t: a[:1] == t[:1] and a not in t
            ),
        },
    },
}
