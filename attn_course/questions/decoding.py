"""Questions 15.1-15.7, what a decoder keeps: judges of 15.2 and 15.3, titles, minutes and hints."""

import math

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, judge_separately, number, shuffled
from attn_course.answers.mistakes import AnyOf, Trials
from attn_course.answers.tensors import distance, only_tensors, tensor_trials
from attn_course.drivers import run_tensors
from attn_course.questions.attention_mistakes import far_below, wrong_contexts
from attn_course.questions.caching import cache_is_exact
from attn_course.questions.latent_attention import latents_are_enough
from attn_course.questions.linear_states import linear_attention_is_causal, values_are_invisible
from attn_course.questions.windows import window_moves
from attn_course.register import Part, Question
from attn_utils.kernels import attend

# 15.2

FIRST_LENGTH = 10
LENGTHS = (1, 5, 1024)
FIRST_CACHE = (3, 24, 7, 64, 1001, 4)  # batch, layers, groups, d, T and size
SMALLEST_CACHE = (1, 1, 1, 1, 1, 4)


def costs_are_exact(rng: Generator, decode_scores: Caller, cache_bytes: Caller) -> str:
    """15.2: scores of T steps with and without a cache, and what the cache holds; exact."""

    def judge_scores() -> str:
        trials = Trials(_wrong_counts)
        drawn = int(rng.integers(20, 40))
        for T in [FIRST_LENGTH, *shuffled(rng, [*LENGTHS, drawn])]:
            for cached in (True, False):
                call = f"decode_scores({T}, {cached})"
                count = number(decode_scores(T, cached), call)
                trials.add(count, count_scores(T, cached), f"{call} is {count:,.0f}", T, cached)
            trials.settle()
        ratio = count_scores(1024, False) / count_scores(1024, True)
        return f"For 1024 tokens a cache saves a factor of {ratio:.0f}."

    def judge_bytes() -> str:
        trials = Trials(_wrong_bytes)
        drawn = tuple(rng.integers(2, 50, 6).tolist())
        for setting in [FIRST_CACHE, *shuffled(rng, [SMALLEST_CACHE, drawn])]:
            call = f"cache_bytes{setting}"
            count = number(cache_bytes(*setting), call)
            trials.require(count, 2 * math.prod(setting), f"{call} is {count:,.0f}", *setting)
        return f"Its bytes are exact in {len(trials)} settings."

    return judge_separately({"decode_scores": judge_scores, "cache_bytes": judge_bytes})


def count_scores(T: int, cached: bool) -> int:
    """Return how many scores T steps compute, one token each; without a cache step t computes t * t again."""
    return sum(t if cached else t * t for t in range(1, T + 1))


def _wrong_counts(T, cached):
    right = count_scores(T, cached)
    num_pairs = T * (T + 1) // 2
    table = {}
    for sentence, counts in {  # counts: with a cache, without
        "that is the leading order; lower powers of T count too": (
            AnyOf((T**2 / 2, T**2 // 2)),
            AnyOf((T**3 / 3, T**3 // 3)),
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
        "every score is counted twice, as a multiplication and an addition; scores are asked for": (
            2 * right
        ),
    }


def _wrong_bytes(batch, layers, groups, d, T, size):
    right = 2 * batch * layers * groups * d * T * size
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
        "these are megabytes; bytes are asked for": AnyOf((right / 1e6, right / 2**20)),
        "queries are counted too; only keys and values are kept": (
            AnyOf((right * 3 // 2, right + right // (2 * groups)))
        ),
        "keys *and* values are kept, and each number takes `size` bytes": right // (2 * size),
    }


# 15.3

GROUPS = ((4, 6, 2), (3, 4, 4), (2, 4, 1), (1, 6, 3), (4, 6, 2))  # B, H, G; B is never G
LOW_GROUPS = (3, 4, 2)  # with all scores far below zero
HEAD_WIDTH = 5  # so that no two wrong scales agree


def heads_share_groups(rng: Generator, grouped: Caller) -> str:
    """15.3: causal attention in which neighbouring heads share the keys and values of a group."""
    trials = tensor_trials(_wrong_groups)
    T = int(rng.integers(6, 9))
    for B, H, G in [GROUPS[0], *shuffled(rng, GROUPS[1:]), LOW_GROUPS]:
        inputs = [rng.normal(size=(B, heads, T, HEAD_WIDTH)) for heads in (H, G, G)]
        setting = f"{H} heads, {G} groups, {T} tokens"
        if (B, H, G) == LOW_GROUPS:
            inputs[:2] = far_below(rng, *inputs[:2])
            setting += ", all scores far below zero"

        result = grouped.run_driver(run_tensors, inputs)
        (output,) = only_tensors(result, "grouped", 1)
        right = _grouped(*inputs)
        trials.require(output, right, distance(output, right, setting), *inputs)

    return "equal to attention with repeated keys and values for (H, G) = (6, 2), (4, 4), (4, 1), (6, 3)."


def _grouped(q, k, v, *, keys=None, values=None, scale=None):
    """Return attention (B, H, T, d) in which head h uses keys[h] and values[h], its own group if None."""
    H = q.shape[1]
    own = np.arange(H) * k.shape[1] // H
    k = k[:, own if keys is None else keys]
    v = v[:, own if values is None else values]
    return attend(q, k, v, causal=True, scale=scale)[0]


def _wrong_groups(q, k, v):
    B, H, T, d = q.shape
    G = k.shape[1]
    heads = np.arange(H)
    own = heads * G // H
    in_turn = heads % G
    first = np.zeros(H, int)
    up_to_last = np.minimum(heads, G - 1)
    queries = q.reshape(B, G, H // G, T, d).mean(2)
    by_queries, _ = attend(queries, k, v, causal=True)
    by_groups, _ = attend(q, k.mean(1, keepdims=True), v.mean(1, keepdims=True), causal=True)
    one_each, _ = attend(q[:, :: H // G], k, v, causal=True)
    return wrong_contexts(q, k[:, own], v[:, own], np.tri(T, dtype=bool)) | {
        "head 1 got group 1: neighbours share a group, and `repeat` or `%` deals groups out in turn": (
            _grouped(q, k, v, keys=in_turn, values=in_turn)
        ),
        "keys and values of a head come from different groups; only the keys are dealt out in turn": (
            _grouped(q, k, v, keys=in_turn)
        ),
        "keys and values of a head come from different groups; only the values are dealt out in turn": (
            _grouped(q, k, v, values=in_turn)
        ),
        "all heads use group 0; the group of head h is h * G // H": (
            _grouped(q, k, v, keys=first, values=first)
        ),
        "the groups are dealt out in reverse order": _grouped(q, k[:, ::-1], v[:, ::-1]),
        "the last group serves all heads from number G on; neighbours share a group": (
            _grouped(q, k, v, keys=up_to_last, values=up_to_last)
        ),
        "the groups are averaged; each head has its own group": by_groups,
        "the queries of a group are averaged; queries stay H": by_queries,
        "the queries of a group are averaged and their result repeated; queries stay H": (
            np.repeat(by_queries, H // G, 1)
        ),
        "H heads come out, and you return one for each group": one_each,
        "the scale is that of a whole group; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * H / G) ** -0.5)
        ),
        "the scale is that of all heads together; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * H) ** -0.5)
        ),
        "the scale has the number of groups in it; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * G) ** -0.5)
        ),
    }


# The questions

QUESTIONS = (
    Question(
        id="15.1",
        title="What need not be computed again",
        minutes=7,
        parts=(Part("code", ("Cache",), cache_is_exact, points=1),),
        hints=(
            "Which of q, k and v of an old token does a new token still need?",
            "Count the tokens seen so far: the new ones stand at that number and after it.",
            "Several new tokens need a causal mask among themselves, and all of them see all old tokens.",
            "What is appended to `self.keys`: keys before or after their rotation?",
        ),
    ),
    Question(
        id="15.2",
        title="What it costs",
        minutes=4,
        parts=(Part("code", ("decode_scores", "cache_bytes"), costs_are_exact, points=1),),
        hints=(
            "Write down step t alone: how many queries meet how many keys?",
            "A loop over the steps is as good as a closed form.",
            "For the bytes: which tensors are kept for each token, and how many numbers do they have?",
        ),
    ),
    Question(
        id="15.3",
        title="Fewer keys than queries",
        minutes=4,
        parts=(Part("code", ("grouped",), heads_share_groups, points=1),),
        hints=(
            "Write down the formula for the group of head h as a line of Python, and index keys and values "
            "with it.",
            "torch has two functions that repeat; one of them repeats each entry in its place.",
            "Or give the queries an axis more, (B, G, H / G, T, d), and let broadcasting do it.",
        ),
    ),
    Question(
        id="15.4",
        title="A window and its sinks",
        minutes=8,
        parts=(Part("code", ("window_mask", "Ring"), window_moves, points=2),),
        hints=(
            "For the mask: how far is token t behind token j? Compare that number with 0 and with `window`, "
            "and j with `sinks`.",
            "A ring keeps the first tokens for ever, and of the others only the newest.",
            "A token must not be kept twice: to which of the two lists does it go while the text is short?",
        ),
    ),
    Question(
        id="15.5",
        title="Latent keys",
        minutes=9,
        parts=(
            Part("code", ("latent_attention", "absorbed_matrix"), latents_are_enough, points=2),
        ),
        hints=(
            "Let the query of each head absorb its W_k. What comes out is compared with the latents.",
            "The context is a weighted sum of latent @ W_v. What is left to do if latents are summed first?",
            "For the second function: if both vectors of a dot product are rotated back by p, it stays the "
            "same. What is then left of the two rotations?",
        ),
    ),
    Question(
        id="15.6",
        title="No softmax, no cache",
        minutes=4,
        parts=(Part("code", ("linear_attention",), linear_attention_is_causal, points=1),),
        hints=(
            "Write the context of token t as a fraction. Which sums over earlier tokens stand in it?",
            "The query of token t is the same in all terms of both sums: take it out of them.",
            "A token sees itself: first add its key and value, then read.",
        ),
    ),
    Question(
        id="15.7",
        title="What a state cannot recall",
        minutes=8,
        parts=(
            Part("code", ("invisible",), values_are_invisible, points=1),
            Part("written", points=1),
        ),
        hints=(
            "Write the final state as a matrix product of the features and the values.",
            "n unknowns, d < n equations, right side zero: how many solutions are there?",
            "`torch.linalg.svd` gives a basis of what a matrix sends to zero, if you ask for all of it.",
            "In words: what is the rank of the matrix that takes the values to what is read?",
        ),
    ),
)
