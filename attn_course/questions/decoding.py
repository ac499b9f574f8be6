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
        minutes=7,
        parts=(Part("code", 1, ("Cache",), cache_is_exact),),
        hints=(
            "Which of q, k and v of an old token does a new token still need?",
            "Count the tokens seen so far: the new ones stand at that number and after it.",
            "Several new tokens need a causal mask among themselves, and all of them see all old tokens.",
            "What is appended to `self.keys`: keys before or after their rotation?",
        ),
    ),
    Question(
        id="14.2",
        title="What it costs",
        minutes=4,
        parts=(Part("code", 1, ("decode_scores", "cache_bytes"), costs_are_exact),),
        hints=(
            "Write down step t alone: how many queries meet how many keys?",
            "A loop over the steps is as good as a closed form.",
            "For the bytes: which tensors are kept for each token, and how many numbers do they have?",
        ),
    ),
    Question(
        id="14.3",
        title="Fewer keys than queries",
        minutes=4,
        parts=(Part("code", 1, ("grouped",), heads_share_groups),),
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
        minutes=8,
        parts=(Part("code", 2, ("window_mask", "Ring"), window_moves),),
        hints=(
            "For the mask: how far is token t behind token j? Compare that number with 0 and with `window`, "
            "and j with `sinks`.",
            "A ring keeps the first tokens for ever, and of the others only the newest.",
            "A token must not be kept twice: to which of the two lists does it go while the text is short?",
        ),
    ),
    Question(
        id="14.5",
        title="Latent keys",
        minutes=9,
        parts=(Part("code", 2, ("latent_attention", "absorbed_matrix"), latents_are_enough),),
        hints=(
            "Let the query of each head absorb its W_k. What comes out is compared with the latents.",
            "The context is a weighted sum of latent @ W_v. What is left to do if latents are summed first?",
            "For the second function: if both vectors of a dot product are rotated back by p, it stays the "
            "same. What is then left of the two rotations?",
        ),
    ),
    Question(
        id="14.6",
        title="No softmax, no cache",
        minutes=4,
        parts=(Part("code", 1, ("linear_attention",), linear_attention_is_causal),),
        hints=(
            "Write the context of token t as a fraction. Which sums over earlier tokens stand in it?",
            "The query of token t is the same in all terms of both sums: take it out of them.",
            "A token sees itself: first add its key and value, then read.",
        ),
    ),
    Question(
        id="14.7",
        title="What a state cannot recall",
        minutes=8,
        parts=(Part("code", 1, ("invisible",), values_are_invisible), Part("written", 1)),
        hints=(
            "Write the final state as a matrix product of the features and the values.",
            "n unknowns, d < n equations, right side zero: how many solutions are there?",
            "`torch.linalg.svd` gives a basis of what a matrix sends to zero, if you ask for all of it.",
            "In words: what is the rank of the matrix that takes the values to what is read?",
        ),
    ),
)
