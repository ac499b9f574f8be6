"""Judge of 14.2, scores and bytes of writing a text token by token. It counts, and runs nothing."""

import math

from numpy.random import Generator

from attn_course.answers import Caller, number, shuffled
from attn_course.answers.mistakes import Trials

FIRST_LENGTH = 10
LENGTHS = (1, 5, 1024)
FIRST_CACHE = (3, 24, 8, 64, 1001, 4)  # batch, layers, groups, d, T and size
SMALLEST_CACHE = (1, 1, 1, 1, 1, 4)


def costs_are_exact(rng: Generator, decode_scores: Caller, cache_bytes: Caller) -> str:
    """14.2: scores of T steps with and without a cache, and what the cache holds; exact."""
    scores = Trials(_wrong_counts)
    drawn = int(rng.integers(20, 40))
    for T in [FIRST_LENGTH, *shuffled(rng, [*LENGTHS, drawn])]:
        for cached in (True, False):
            call = f"decode_scores({T}, {cached})"
            said = number(decode_scores(T, cached), call)
            scores.add(said, count_scores(T, cached), f"{call} is {said:,.0f}", T, cached)
        scores.settle()

    sizes = Trials(_wrong_bytes)
    drawn_cache = tuple(rng.integers(2, 50, 6).tolist())
    for setting in [FIRST_CACHE, *shuffled(rng, [SMALLEST_CACHE, drawn_cache])]:
        call = f"cache_bytes{setting}"
        said = number(cache_bytes(*setting), call)
        sizes.judge(said, _count_bytes(*setting), f"{call} is {said:,.0f}", *setting)

    ratio = count_scores(1024, False) / count_scores(1024, True)
    return (
        f"exact in {len(scores)} and {len(sizes)} settings; for 1024 tokens a cache saves a factor of "
        f"{ratio:.0f}."
    )


def count_scores(T: int, cached: bool) -> int:
    """Of T steps, one token at a time; without a cache step t computes all t * t scores again."""
    return sum(t if cached else t * t for t in range(1, T + 1))


def _wrong_counts(T, cached):
    """{sentence: the number of scores}."""
    num_pairs = T * (T + 1) // 2
    with_cache = count_scores(T, True)
    without = count_scores(T, False)
    return {
        "leading order: 1 + 2 + ... + T is T (T + 1) / 2, not half of T squared": (
            T**2 / 2 if cached else T**3 / 3
        ),
        "the steps are counted from 0 to T - 1; the first token attends to itself, at t = 1": (
            count_scores(T - 1, cached)
        ),
        "every step is charged for all T tokens; step t has t of them": T * (T if cached else T**2),
        "without a cache every step is charged for T squared scores; step t has t squared": (
            with_cache if cached else T**3
        ),
        "`cached` makes no difference in your count: both numbers are those with a cache": with_cache,
        "`cached` makes no difference in your count: both numbers are those without a cache": without,
        "with and without a cache have changed places": count_scores(T, not cached),
        "only the newest query attends in your count; without a cache all t of them do": num_pairs,
        "hidden scores are left out; this count has all t squared of them": (
            with_cache if cached else num_pairs * (T + 2) // 3
        ),
        "that is the last step alone; all T steps are asked for": T if cached else T**2,
        "without a cache, one pass over all T tokens is counted; every step runs the whole prefix again": (
            with_cache if cached else T**2
        ),
        "every score is counted twice, as a multiplication and an addition; scores are asked for": (
            2 * count_scores(T, cached)
        ),
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
