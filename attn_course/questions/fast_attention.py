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
        minutes=14,
        parts=(
            Part("derive", ("share",), share_is_a_sigmoid),
            Part("code", ("summary", "merge", "finish"), blocks_are_merged),
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
        minutes=10,
        parts=(Part("code", ("stream",), stream_is_exact_and_small),),
        hints=(
            "Your three functions of 12.1 do most of it, once every query has a row of its own.",
            "The maximum belongs to a row; keep an axis for it, so that it broadcasts against the block.",
            "`range(0, S, block)` and slices: what does a slice do that reaches beyond the end?",
        ),
        seconds=20.0,
    ),
    Question(
        id="12.3",
        title="The gradient of attention",
        minutes=15,
        parts=(
            Part("derive", ("pull",), pull_is_towards_the_value),
            Part("code", ("attention_backward",), gradients_are_exact),
        ),
        hints=(
            "For the chain: factor out the exponential over the sum of exponentials. What is left in the "
            "bracket?",
            "In code: the weights P, then the gradient dP of the weights. From which product does dP come?",
            "dS is P times dP minus one number for each row. The chain says which: the row of d_out times "
            "what?",
            "The three gradients are three products. Their shapes are those of q, k and v: which axes must "
            "be summed "
            "over?",
        ),
    ),
    Question(
        id="12.4",
        title="The gradient, block by block",
        minutes=10,
        parts=(Part("code", ("stream_backward",), gradients_are_streamed),),
        hints=(
            "How do a score and the saved log-sum-exp of its row give the weight back, without a sum over "
            "keys?",
            "The number that is subtracted in each row of dS needs no keys at all: look at the chain of "
            "12.3.",
            "The keys of a block get their gradient from this block alone; a query gets a part from every "
            "block.",
        ),
        seconds=20.0,
    ),
)
