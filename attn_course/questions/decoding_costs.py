"""Judge of 12.4, operations and bytes of writing a text token by token. It counts, and runs nothing."""

import math

from numpy.random import Generator

from attn_course.answers import Caller, number, shuffled
from attn_course.answers.mistakes import Trials

MULTIPLY_ADDS = " You count multiply-adds as one operation; torch's counter says twice as much."
FIRST_WORK = (10, 16)  # T and D
WORKS = ((1, 4), (5, 7), (1024, 512))
FIRST_CACHE = (3, 24, 8, 64, 1001, 4)  # batch, layers, groups, d, T and size
SMALLEST_CACHE = (1, 1, 1, 1, 1, 4)


def costs_are_exact(rng: Generator, decode_flops: Caller, cache_bytes: Caller) -> str:
    """12.4: operations of T steps with and without a cache, and what the cache holds; exact."""
    T = int(rng.integers(3, 40))
    D = int(rng.integers(3, 60))
    others = shuffled(rng, [*WORKS, (T, D)])
    flops, halved = _judge_operations(decode_flops, [FIRST_WORK, *others])

    drawn = rng.integers(2, 50, 6)
    caches = shuffled(rng, [SMALLEST_CACHE, tuple(drawn.tolist())])
    sizes = _judge_bytes(cache_bytes, [FIRST_CACHE, *caches])

    without = count_operations(1024, 512, False)
    ratio = without / count_operations(1024, 512, True)
    return (
        f"exact in {len(flops)} and {len(sizes)} settings; at T = 1024, D = 512 a cache saves a factor of "
        f"{ratio:.0f}.{MULTIPLY_ADDS if halved else ''}"
    )


def _judge_operations(decode_flops, settings):
    """The trials, and whether a multiply-add is counted once, as the first answer says."""
    trials = Trials(_wrong_operations)
    halved = None
    for T, D in settings:
        for cached in (True, False):
            call = f"decode_flops({T}, {D}, {cached})"
            said = number(decode_flops(T, D, cached), call)
            right = count_operations(T, D, cached)
            if halved is None:
                halved = said == right / 2

            wanted = right / 2 if halved else right
            fact = f"{call} is {said:,.0f}, which is {said / right:.4g} of what the products cost"
            trials.judge(said, wanted, fact, T, D, cached)

    return trials, halved


def _judge_bytes(cache_bytes, settings):
    """The trials of all settings."""
    trials = Trials(_wrong_bytes)
    for setting in settings:
        call = f"cache_bytes{setting}"
        said = number(cache_bytes(*setting), call)
        right = _count_bytes(*setting)
        trials.judge(said, right, f"{call} is {said:,.0f}", *setting)

    return trials


def count_operations(T: int, D: int, cached: bool) -> int:
    """Of T steps, one token at a time; without a cache each step runs the whole prefix again."""
    total = 0
    for projections, pairs in _steps(T, D, cached):
        total += projections + pairs
    return total


def _steps(T, D, cached):
    """[(operations of the four projections, of the two products over pairs), ...] for T steps."""
    steps = []
    for t in range(1, T + 1):
        new = 1 if cached else t
        projections = 8 * new * D * D
        pairs = 4 * new * t * D
        steps.append((projections, pairs))

    return steps


def _wrong_operations(T, D, cached):
    """{sentence: operations}, each mistake also with a multiply-add counted once."""
    wrong = _wrong_sums(T, D, cached)
    wrong |= _with_parts_missing(T, D, cached)
    halved = {}
    for sentence, value in wrong.items():
        once = None if value is None else value / 2
        halved[f"{sentence} (a multiply-add counted once)"] = once

    return wrong | halved


def _wrong_sums(T, D, cached):
    """Where steps or their tokens are counted wrongly."""
    num_pairs = T * (T + 1) // 2
    last_projections, last_pairs = _steps(T, D, cached)[-1]
    tokens = T if cached else T**2 / 2
    scores = T**2 / 2 if cached else T**3 / 3
    leading = 8 * tokens * D**2 + 4 * scores * D

    return {
        "leading order: 1 + 2 + ... + T is T (T + 1) / 2, not half of T squared": leading,
        "the steps are counted from 0 to T - 1; the first token attends to itself, at t = 1": (
            count_operations(T - 1, D, cached) + (8 * D * D if cached else 0)
        ),
        "every step is charged for all T tokens; step t has t of them": (
            T * (last_projections + last_pairs)
        ),
        "the projections of old tokens are counted again, which a cache saves": (
            num_pairs * (8 * D * D + 4 * D) if cached else None
        ),
        "with and without a cache have changed places": count_operations(T, D, not cached),
    }


def _with_parts_missing(T, D, cached):
    """Where some of the products are left out."""
    steps = _steps(T, D, cached)
    projections = sum(step[0] for step in steps)
    pairs = sum(step[1] for step in steps)
    right = projections + pairs

    num_pairs = T * (T + 1) // 2
    newest_alone = None
    triangle = None
    if not cached:
        newest_alone = projections + 4 * num_pairs * D
        tetrahedron = num_pairs * (T + 2) // 3  # 1 + 3 + 6 + ..., the pairs of every step
        triangle = projections + 4 * tetrahedron * D
    return {
        "half of the work on pairs is missing: scores and context are two products": (
            right - pairs // 2
        ),
        "only the newest query attends in your count; without a cache all t of them do": (
            newest_alone
        ),
        "the projections are missing": pairs,
        "the products over pairs of tokens are missing": projections,
        "one projection is missing: there are four": right - projections // 4,
        "hidden scores are left out; this count has all t squared of them": triangle,
    }


def _count_bytes(batch, layers, groups, d, T, size):
    """Of keys and values of T tokens."""
    return math.prod((2, batch, layers, groups, d, T, size))


def _wrong_bytes(batch, layers, groups, d, T, size):
    """{sentence: bytes}."""
    right = _count_bytes(batch, layers, groups, d, T, size)
    return {
        "keys *and* values are kept: a factor 2": right // 2,
        "these are numbers, not bytes; each takes `size` bytes": right // size,
        "that is one group of heads; all of them keep keys and values": right // groups,
        "the cache grows with T, not with its square: no score is kept": right * T,
        "that is one layer; each has a cache of its own": right // layers,
        "that is one sequence; each of the batch has a cache of its own": right // batch,
    }
