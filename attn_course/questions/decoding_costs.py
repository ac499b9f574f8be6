"""Judge of 14.2, scores and bytes of writing a text token by token. It counts, and runs nothing."""

import math

from numpy.random import Generator

from attn_course.answers import Caller, number, shuffled
from attn_course.answers.mistakes import AnyOf, Trials

FIRST_LENGTH = 10
LENGTHS = (1, 5, 1024)
FIRST_CACHE = (3, 24, 7, 64, 1001, 4)  # batch, layers, groups, d, T and size
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
    right = count_scores(T, cached)
    num_pairs = T * (T + 1) // 2
    table = {}
    for sentence, counts in {  # counts: with a cache, without
        "leading order: 1 + 2 + ... + T is T (T + 1) / 2, not half of T squared": (
            T**2 / 2,
            T**3 / 3,
        ),
        "the steps are counted from 0 to T - 1; the first token attends to itself, at t = 1": (
            count_scores(T - 1, True),
            count_scores(T - 1, False),
        ),
        "every step is charged for all T tokens; step t has t of them": (T**2, T**3),
        "that is the last step, or one pass over all T tokens; all T steps are asked for": (
            T,
            T**2,
        ),
    }.items():
        wrong = counts[0] if cached else counts[1]
        table[sentence] = wrong
        table[f"with a cache: {sentence}"] = wrong if cached else right
        table[f"without a cache: {sentence}"] = right if cached else wrong
    return table | {
        "`cached` makes no difference in your count: both numbers are those with a cache, where only the "
        "newest query attends; without one all t of them do": count_scores(T, True),
        "`cached` makes no difference in your count: both numbers are those without a cache": (
            count_scores(T, False)
        ),
        "with and without a cache have changed places": count_scores(T, not cached),
        "hidden scores are left out; this count has all t squared of them": (
            right if cached else num_pairs * (T + 2) // 3
        ),
        "the sum of all t is squared; the squares are added": right if cached else num_pairs**2,
        "every score is counted twice, as a multiplication and an addition; scores are asked for": 2
        * right,
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
        "that is one number for each key; it has d of them": right // d,
        "that is one token; all T of them are kept": right // T,
        "these are bits; eight of them are a byte": right * 8,
        "these are kilobytes; bytes are asked for": AnyOf((right / 1000, right / 1024)),
        "queries are counted too; only keys and values are kept": (
            AnyOf((right * 3 // 2, right + right // (2 * groups)))
        ),
        "keys *and* values are kept, and each number takes `size` bytes": right // (2 * size),
    }
