"""Answers to 8.1 and 8.2: right ones of different form, and the known mistakes."""

import random
from functools import partial
from math import comb

import numpy as np

from attn_course.knowledge.examples import MASK, PAD, corrupt_span, finetuning_pair
from attn_course.knowledge.findings import score
from bank import edited

# Helpers such as corrupted("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 8.1


def corrupt(document, rng, block_size):
    longest = 7 * block_size // 8
    kept = document[: int(rng.integers(4, longest + 1))]
    n = len(kept)
    size = min(n, max(1, round(rng.uniform(0, n / 2))))
    room = n - size
    start = int(rng.integers(room + 1))
    prefix, span, suffix = kept[:start], kept[start : start + size], kept[start + size :]
    text = f"{prefix}{MASK}{suffix}{MASK}{span}"
    return text.ljust(block_size, PAD)


corrupted = partial(edited, corrupt)
cut = partial(corrupted, "int(rng.integers(4, longest + 1))")
size = partial(corrupted, "min(n, max(1, round(rng.uniform(0, n / 2))))")
start = partial(corrupted, "int(rng.integers(room + 1))")


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


RIGHT["8.1"] = {
    "the course's own": corrupt_span,
    "a normal length": gaussian,
    "character by character": character_by_character,
    "two cut points": two_cut_points,
}
WRONG["8.1"] = {
    "empty span on short documents": (size("int(n / 4)"), "span was empty"),
    "a quarter, rounded by chance": (
        size("max(1, int(n / 4 + rng.random()))"),
        "should be drawn from a wider range",
    ),
    "stripped": (corrupted("document[", "document.strip()["), "the space at the beginning is lost"),
    "spaces at the cut lost": (
        corrupted(
            "kept = document[: int(rng.integers(4, longest + 1))]",
            "kept = document[: int(rng.integers(4, longest + 1))].rstrip()",
        ),
        "4 characters stay.",
    ),
    "fails on short documents": (
        size("int(rng.integers(1, 2 * (n // 4)))"),
        "character and block_size 16, your code stopped",
    ),
    "nothing comes back": (corrupted("return ", ""), "is a `return` missing"),
    "read from the end": (
        corrupted("document[", "document[::-1]["),
        "is not the beginning of the document",
    ),
    "chance of its own": (
        lambda document, rng, block_size: corrupt(document, np.random.default_rng(), block_size),
        "two different strings",
    ),
    "seeded inside": (
        lambda document, rng, block_size: corrupt(document, np.random.default_rng(0), block_size),
        "one and the same string",
    ),
    "x and y already cut": (corrupted("PAD)", "PAD)[:-1], text[1:]"), "return the one string"),
    "not padded": (corrupted(".ljust(block_size, PAD)", ""), "pad or cut to block_size"),
    "padded in front": (corrupted("ljust", "rjust"), "in front of text"),
    "one MASK": (corrupted("{suffix}{MASK}", "{suffix}"), "1 MASK came back"),
    "span in its old place": (
        corrupted("{suffix}{MASK}{span}", "{span}{MASK}{suffix}"),
        "in its old place",
    ),
    "span still readable": (
        cut("int(rng.integers(4, block_size // 2))", "{suffix}", "{span}{suffix}"),
        "nothing left to predict",
    ),
    "a character lost at the seam": (
        corrupted("start + size :]", "start + size + 1 :]"),
        "lost where the pieces meet",
    ),
    "cut from the middle": (
        corrupted("document[", "document[int(rng.integers(max(1, len(document) - 50))) :]["),
        "not the first ones",
    ),
    "never truncated": (cut("longest"), "cut to the same"),
    "cut to the block": (corrupted("longest + 1", "block_size - 1"), "at most 7/8"),
    "cut to anything": (corrupted("(4,", "(1,"), "at least 4 characters stay"),
    "cut within the document": (
        corrupted("longest + 1", "max(4, min(len(document), longest)) + 1"),
        "the length of the document is no limit",
    ),
    "short documents never cut": (
        corrupted("(4,", "(len(document) if len(document) <= longest else 4,"),
        "cut it where the n that was drawn is smaller",
    ),
    "mostly long cuts": (corrupted("(4,", "(block_size // 2,"), "should be equally likely."),
    "never all of 7/8": (corrupted("longest + 1", "longest"), "never to 14; every length"),
    "very short and very long cuts": (
        cut("4 + int(rng.beta(0.5, 0.5) * (longest - 3))"),
        "on average; every length from 4 to 112",
    ),
    "half is masked": (size("rng.integers(1, n + 1)"), "a quarter of what was kept is asked for"),
    "always exactly a quarter": (size("max(1, n // 4)"), "its length should be drawn"),
    "always at the start": (start("0"), "the span starts 2% of the way"),
    "the end is never masked": (
        start("int(rng.integers(max(1, room)))"),
        "the last character was never masked",
    ),
    "the end is hardly ever masked": (
        size(
            "1 + int(rng.binomial(n - 1, rng.uniform(0, 0.5)))",
            "rng.integers(room + 1)",
            "rng.integers(room + (rng.random() < 0.1) or 1)",
        ),
        "should be equally likely, the first and the last too",
    ),
    "the start is never masked": (
        start("int(rng.integers(min(1, room), room + 1))"),
        "the first character was never masked",
    ),
}


def of_documents(belongs):
    """Of a call of 8.1: the number of characters of its documents, and the longest cut."""
    return lambda rows, seeds, block: belongs(len(rows[0][0]), 7 * block // 8)


INPUT_KINDS["8.1"] = {
    "corrupt_span": {
        "one character": of_documents(lambda size, longest: size == 1),
        "fewer than four": of_documents(lambda size, longest: 1 < size < 4),
        "four": of_documents(lambda size, longest: size == 4),
        "a document that fits": of_documents(lambda size, longest: 4 < size < longest),
        "a document that does not fit": of_documents(lambda size, longest: size > longest),
    },
}

# 8.2


def pair(question, answer, block_size):
    whole = (question + MASK + answer + MASK).ljust(block_size, PAD)
    q = len(question)
    y = PAD * q + whole[q + 1 :]
    return whole[:-1], y.ljust(block_size - 1, PAD)[: block_size - 1]


def by_slices(question, answer, block_size):
    whole = [*question, MASK, *answer, MASK]
    whole += [PAD] * (block_size - len(whole))
    y = [s if t >= len(question) else PAD for t, s in enumerate(whole[1:])]
    return "".join(whole[:-1]), "".join(y)


def position_by_position(question, answer, block_size):
    x = question + MASK + answer + MASK
    y = PAD * len(question) + answer + MASK
    return x + PAD * (block_size - 1 - len(x)), y + PAD * (block_size - 1 - len(y))


def wilson(answers, truths):
    right, n = sum(a == t for a, t in zip(answers, truths, strict=True)), len(truths)
    z = 1.96
    share, extra = right / n, z**2 / n
    half = z * np.sqrt(share * (1 - share) / n + extra / (4 * n))
    return share, (share + extra / 2 - half) / (1 + extra), (share + extra / 2 + half) / (1 + extra)


def interval(make):
    """A `score` whose interval is make(right, n)."""

    def score(answers, truths):
        right = sum(a == b for a, b in zip(answers, truths, strict=True))
        return (right / len(truths), *make(right, len(truths)))

    return score


def standard_errors(right, n):
    """Share plus or minus 1.96 standard errors."""
    half = 1.96 * np.sqrt(right / n * (1 - right / n) / n)
    return max(0.0, right / n - half), min(1.0, right / n + half)


def plus_four(right, n):
    """Two right and two wrong answers are added before the usual interval is taken."""
    return standard_errors(right + 2, n + 4)


def exact(right, n):
    """Every chance under which neither tail is rarer than 2.5%, on a fine grid."""
    grid = np.linspace(0, 1, 2001)
    law = np.array([comb(n, k) * grid**k * (1 - grid) ** (n - k) for k in range(n + 1)])
    held = (law[: right + 1].sum(0) >= 0.025) & (law[right:].sum(0) >= 0.025)
    return grid[held].min(), grid[held].max()


def rule_of_three(right, n):
    """Share plus or minus two standard errors, and 3 / n where all or none are right."""
    low, high = standard_errors(right, n)
    if right == 0:
        return 0.0, 3 / n
    return (1 - 3 / n, 1.0) if right == n else (max(0, low), min(1, high))


def corrected(right, n):
    share = right / n
    far = 1.96 * np.sqrt(share * (1 - share) / n) + 0.5 / n
    return max(0, share - far), min(1, share + far)


def likelihood(right, n):
    """Every chance whose log-likelihood is within 1.92 of the best, on a fine grid."""
    grid = np.linspace(1e-6, 1 - 1e-6, 4001)
    fit = right * np.log(grid) + (n - right) * np.log(1 - grid)
    held = grid[fit >= fit.max() - 1.9207]
    share = right / n
    return min(held.min(), share), max(held.max(), share)


def pair_with(*edits):
    return edited(pair, *edits), score


def score_with(*edits):
    return finetuning_pair, edited(wilson, *edits)


x_is = partial(pair_with, "whole[:-1]")
right_if = partial(score_with, "a == t")
y_is = partial(pair_with, "PAD * q + whole[q + 1 :]")

RIGHT["8.2"] = {
    "the course's own": (finetuning_pair, score),
    "by slices, two added": (by_slices, interval(plus_four)),
    "the opening MASK too, exact": (y_is("PAD * (q - 1) + whole[q:]")[0], interval(exact)),
    "position by position, likelihood": (position_by_position, interval(likelihood)),
}
WRONG["8.2"] = {
    "one string": ((lambda q, a, b: q + a, score), "should return two strings"),
    "as long as the block": (x_is("whole", "block_size - 1", "block_size"), "both should have"),
    "the answer is not read": (
        x_is("(question + MASK).ljust(block_size - 1, PAD)"),
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
    "nothing to learn": (y_is('""'), "PAD everywhere"),
    "not shifted": (y_is("PAD * (q + 1) + whole[q + 1 :]"), "y repeats x"),
    "shifted twice": (pair_with("* q", "* (q - 1)"), "not always the symbol that comes after"),
    "loss on the question": (y_is("whole[1:]"), "names are given, not learnt"),
    "first symbol left out": (
        y_is("PAD * (q + 1) + whole[q + 2 :]"),
        "the first symbol of the answer",
    ),
    "end left out": (y_is("PAD * q + answer"), "never learns to stop"),
    "closing MASK not read": (
        x_is("(question + MASK + answer).ljust(block_size - 1, PAD)"),
        "the MASK that closes the answer is missing",
    ),
    "a part of the truth": (right_if("a in t"), "is a part of"),
    "the truth and more behind it": (
        right_if("a.startswith(t)"),
        "begins with the truth and goes on",
    ),
    "the beginning of the truth": (right_if("t.startswith(a)"), "with which the truth begins"),
    "more than the truth": (right_if("t in a"), "and more counts"),
    "the first letter": (right_if("a[:1] == t[:1]"), "only the first letters"),
    "an empty answer": (right_if('a in ("", t)'), "an empty answer counts as right"),
    "percentages": ((finetuning_pair, lambda *x: [100 * y for y in score(*x)]), "is a percentage"),
    "counts": (
        (finetuning_pair, lambda a, truths: [len(truths) * value for value in score(a, truths)]),
        "counts the right answers",
    ),
    "sets compared": (
        (finetuning_pair, lambda a, t: (len(set(a) & set(t)) / len(set(t)), 0.0, 1.0)),
        "the share came out as",
    ),
    "share, high, low": (
        (finetuning_pair, lambda a, t: (score(a, t)[0], score(a, t)[2], score(a, t)[1])),
        "low <= share <= high",
    ),
    "two standard errors": ((finetuning_pair, interval(standard_errors)), "width zero"),
    "beyond a share": (
        (finetuning_pair, interval(lambda k, n: (k / n - 0.2, k / n + 0.2))),
        "a share lies between 0 and 1",
    ),
    "capitals ignored": (right_if("a.lower() == t.lower()"), "capitals are ignored"),
    "one standard error": (score_with("1.96", "1.0"), "contains the true share in 68"),
    "spaces ignored": (right_if("a.strip() == t.strip()"), "spaces around an answer are ignored"),
    "the rule of three at the ends": (
        (finetuning_pair, interval(rule_of_three)),
        "of whom 3 to 8 are expected",
    ),
    "a continuity correction instead": (
        (finetuning_pair, interval(corrected)),
        "of whom 1 to 4 are expected",
    ),
    "no score": ((finetuning_pair, None), "score is still empty"),
    "an interval of 99%": (score_with("1.96", "2.576"), "contains the true share in 9"),
}


def some_wrong(belongs):
    """Whether a wrong answer of a call of 8.2 is of this kind."""

    def of_rows(rows):
        return any(
            a != t and belongs(a, t)
            for answers, truths in rows
            for a, t in zip(answers, truths, strict=True)
        )

    return of_rows


INPUT_KINDS["8.2"] = {
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
        "another answer that begins alike": some_wrong(lambda a, t: a[:1] == t[:1] and a not in t),
    },
}
