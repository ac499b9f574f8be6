"""Questions 12.1-12.7, attention made fast: titles, minutes, hints and judges."""

from attn_course.questions.caching import cache_is_exact
from attn_course.questions.decoding_costs import costs_are_exact
from attn_course.questions.grouped_heads import heads_share_groups
from attn_course.questions.linear_states import linear_attention_is_causal, values_are_invisible
from attn_course.questions.merging import blocks_are_merged, share_is_a_sigmoid
from attn_course.questions.streaming import stream_is_exact_and_small
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        id="12.1",
        title="Two halves of a softmax",
        minutes=12,
        parts=(
            Part("derive", 1, ("share",), share_is_a_sigmoid),
            Part("code", 1, ("summary", "merge", "finish"), blocks_are_merged),
        ),
        hints=(
            "For the chain: what is e to the power of l_1? Then divide above and below.",
            "Each block counts in units of e to its own maximum. Which unit can both take without overflow?",
            "Sum and output of a block are in the same unit, so they take the same factor, at most 1.",
            "What should a block without keys be, so that merging it changes nothing? Mind what "
            "infinity minus infinity is.",
        ),
    ),
    Question(
        id="12.2",
        title="One block at a time",
        minutes=8,
        parts=(Part("code", 1, ("stream",), stream_is_exact_and_small),),
        hints=(
            "Your three functions of 12.1 do most of it, once every query has a row of its own.",
            "The maximum belongs to a row; keep an axis for it, so that it broadcasts against the block.",
            "`range(0, S, block)` and slices: what does a slice do that reaches beyond the end?",
        ),
        seconds=20.0,
    ),
    Question(
        id="12.3",
        title="What need not be computed again",
        minutes=12,
        parts=(Part("code", 2, ("Cache",), cache_is_exact),),
        hints=(
            "Which of q, k and v of an old token does a new token still need?",
            "Count the tokens seen so far: the new ones stand at that number and after it.",
            "A piece of several tokens needs a triangle at its end; `causal_mask(n, total)` is aligned "
            "bottom-right.",
            "Where do the lists live: in the class, or in each instance?",
        ),
    ),
    Question(
        id="12.4",
        title="What it costs",
        minutes=6,
        parts=(Part("code", 1, ("decode_flops", "cache_bytes"), costs_are_exact),),
        hints=(
            "Write down step t alone: how many tokens are projected, how many queries meet how many keys?",
            "Four projections of (D, D) for each token; two products over each pair.",
            "Sums of t and of t squared have closed forms, and a loop is as good.",
        ),
    ),
    Question(
        id="12.5",
        title="Fewer keys than queries",
        minutes=5,
        parts=(Part("code", 1, ("grouped",), heads_share_groups),),
        hints=(
            "Write down the group of each head for H = 6, G = 2: 0, 0, 0, 1, ...",
            "torch has two functions that repeat; one of them repeats each entry in its place.",
            "Or give the queries an axis more, (B, G, H / G, T, d), and let broadcasting do it.",
        ),
    ),
    Question(
        id="12.6",
        title="No softmax, no cache",
        minutes=8,
        parts=(Part("code", 1, ("linear_attention",), linear_attention_is_causal),),
        hints=(
            "The weights of a row are products of features, made to add up to one over its past.",
            "Step by step: a state (d, dv) that collects, and a sum of features for the normaliser.",
            "At each token: first write, then read, then divide.",
        ),
    ),
    Question(
        id="12.7",
        title="What a state cannot recall",
        minutes=9,
        parts=(Part("code", 1, ("invisible",), values_are_invisible), Part("written", 1)),
        hints=(
            "Write the final state as a matrix product of the features and the values.",
            "n unknowns, d < n equations, right side zero: how many solutions are there?",
            "`torch.linalg.svd` gives a basis of what a matrix sends to zero, if you ask for all of it.",
            "In words: what is the rank of the matrix that takes the values to what is read?",
        ),
    ),
)
