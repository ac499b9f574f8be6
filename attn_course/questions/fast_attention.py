"""Questions 12.1-12.4, attention and its gradient in little memory: titles, minutes, hints and judges."""

from attn_course.questions.attention_gradient import (
    gradients_are_exact,
    gradients_are_streamed,
    pull_is_towards_the_value,
)
from attn_course.questions.merging import blocks_are_merged, share_is_a_sigmoid
from attn_course.questions.streaming import stream_is_exact_and_small
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        id="12.1",
        title="Two halves of a softmax",
        minutes=12,
        parts=(
            Part("derive", ("share",), share_is_a_sigmoid),
            Part("code", ("summary", "merge", "finish"), blocks_are_merged),
        ),
        hints=(
            "For the chain: what is e to the power of l_1? Then divide above and below.",
            "In code: each block has subtracted its own maximum. Which maximum can both subtract without "
            "overflow?",
            "The sum and the output of a block are multiplied by the same factor, which is at most 1.",
            "What is the factor of a block without keys, whose maximum is minus infinity, and what is it "
            "if both blocks have none?",
        ),
    ),
    Question(
        id="12.2",
        title="One block at a time",
        minutes=8,
        parts=(Part("code", ("stream",), stream_is_exact_and_small),),
        hints=(
            "A step of the loop is the `merge` of 12.1, for all queries at once.",
            "The maximum belongs to a row; keep an axis for it, so that it broadcasts against the block.",
            "By which factor does a sum change if a larger maximum is subtracted from its scores?",
        ),
        seconds=20.0,
    ),
    Question(
        id="12.3",
        title="The gradient of attention",
        minutes=12,
        parts=(
            Part("derive", ("pull",), pull_is_towards_the_value),
            Part("code", ("attention_backward",), gradients_are_exact),
        ),
        hints=(
            "For the chain: factor out the exponential over the sum of exponentials. What is left in the "
            "bracket?",
            "In code: the context is P @ v. Which product gives dP, the gradient with respect to P?",
            "dS is P times (dP minus one number for each row). Which two vectors of a query give it?",
            "The three gradients are three products. Their shapes are those of q, k and v: which axes must "
            "be summed over?",
        ),
    ),
    Question(
        id="12.4",
        title="The gradient, block by block",
        minutes=8,
        parts=(Part("code", ("stream_backward",), gradients_are_streamed),),
        hints=(
            "How do a score and the saved log-sum-exp of its row give the weight back, without a sum over "
            "keys?",
            "The number that is subtracted in each row of dS needs no keys at all: see equation (2).",
            "The keys of a block get their gradient from this block alone; a query gets a part from every "
            "block.",
        ),
        seconds=20.0,
    ),
)
