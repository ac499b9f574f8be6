"""Questions 14.1-14.7, what a decoder keeps: titles, minutes, hints and judges."""

from attn_course.questions.caching import cache_is_exact
from attn_course.questions.decoding_costs import costs_are_exact
from attn_course.questions.grouped_heads import heads_share_groups
from attn_course.questions.latent_keys import latents_are_enough
from attn_course.questions.linear_states import linear_attention_is_causal, values_are_invisible
from attn_course.questions.windows import window_moves
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        id="14.1",
        title="What need not be computed again",
        minutes=10,
        parts=(Part("code", ("Cache",), cache_is_exact),),
        hints=(
            "Which of q, k and v of an old token does a new token still need?",
            "Count the tokens seen so far: the new ones stand at that number and after it.",
            "A piece of several tokens needs a triangle at its end; `causal_mask(n, total)` is aligned "
            "bottom-right.",
            "Where do the lists live: in the class, or in each instance?",
        ),
    ),
    Question(
        id="14.2",
        title="What it costs",
        minutes=4,
        parts=(Part("code", ("decode_scores", "cache_bytes"), costs_are_exact),),
        hints=(
            "Write down step t alone: how many queries meet how many keys?",
            "A loop is as good as a closed form.",
            "For the bytes: two tensors, and a product over everything that has a cache of its own.",
        ),
    ),
    Question(
        id="14.3",
        title="Fewer keys than queries",
        minutes=5,
        parts=(Part("code", ("grouped",), heads_share_groups),),
        hints=(
            "Write down the formula for the group of head h as a line of Python, and index keys and values "
            "with it.",
            "torch has two functions that repeat; one of them repeats each entry in its place.",
            "Or give the queries an axis more, (B, G, H / G, T, d), and let broadcasting do it.",
        ),
    ),
    Question(
        id="14.4",
        title="A window and its sinks",
        minutes=10,
        parts=(Part("code", ("window_mask", "Ring"), window_moves),),
        hints=(
            "How far back is token j, seen from token t? Three conditions on that number and on j make the "
            "mask.",
            "A ring keeps two things: the first tokens for ever, and the newest ones.",
            "A sink that is still inside the window must not be kept twice: which tokens go where while "
            "the text is "
            "short?",
        ),
    ),
    Question(
        id="14.5",
        title="Latent keys",
        minutes=11,
        parts=(Part("code", ("latent_attention", "absorbed_matrix"), latents_are_enough),),
        hints=(
            "A score is q @ (latent @ W_k). Which product can be made once, before any token is looked at?",
            "The context is a weighted sum of latent @ W_v. Move the sum inside.",
            "For the second function: R(m)q times R(n)k is q times R(n - m)k. What is k made of?",
        ),
    ),
    Question(
        id="14.6",
        title="No softmax, no cache",
        minutes=6,
        parts=(Part("code", ("linear_attention",), linear_attention_is_causal),),
        hints=(
            "The weights of a row are products of features, made to add up to one over its past.",
            "Step by step: a state (d, dv) that collects, and a sum of features for the normaliser.",
            "At each token: first write, then read, then divide.",
        ),
    ),
    Question(
        id="14.7",
        title="What a state cannot recall",
        minutes=8,
        parts=(Part("code", ("invisible",), values_are_invisible), Part("written")),
        hints=(
            "Write the final state as a matrix product of the features and the values.",
            "n unknowns, d < n equations, right side zero: how many solutions are there?",
            "`torch.linalg.svd` gives a basis of what a matrix sends to zero, if you ask for all of it.",
            "In words: what is the rank of the matrix that takes the values to what is read?",
        ),
    ),
)
