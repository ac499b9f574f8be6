"""Questions 16.1-16.6, gates, bounds, keys that are not read, and a memory: titles, minutes and hints."""

from attn_course.questions.bounded_scores import bounds_hold
from attn_course.questions.delta_rule import memory_is_overwritten
from attn_course.questions.gate_chains import (
    bounded_scores_bound_the_weight,
    dropped_weight_times_difference,
    sink_is_a_gate,
    write_changes_a_reading,
)
from attn_course.questions.sinks import sink_takes_weight
from attn_course.questions.sparse_attention import bound_is_smallest, few_keys_are_read
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        id="16.1",
        title="A sink is a gate",
        minutes=14,
        parts=(
            Part("derive", ("gate", "sink_pull"), sink_is_a_gate, points=1),
            Part("code", ("attend_with_sink",), sink_takes_weight, points=1),
        ),
        hints=(
            "For `gate`: put C = c Z in first. Then write Z as an exponential, and divide above and below by "
            "it.",
            "For `sink_pull`: look for two fractions, one for the weight of all keys and one for the weight "
            "of the sink. They add up to one.",
            "In code: the sink is one score more in every row, and `expand` gives it the shape of a column.",
            "The weights of the keys alone need not add up to one. Which value does the rest of the weight "
            "have?",
        ),
    ),
    Question(
        id="16.2",
        title="Bounded scores",
        minutes=13,
        parts=(
            Part("derive", ("at_most",), bounded_scores_bound_the_weight, points=1),
            Part(
                "code", ("normed_scores", "capped_weights", "needed_bound"), bounds_hold, points=1
            ),
        ),
        hints=(
            "For the chain: does the fraction grow or fall if A grows, and if R grows? Write each step with "
            '("<=", line, reason).',
            "The last step divides above and below by the exponential of t.",
            "In code: `torch.nn.functional.normalize` scales rows to length one, if you name the right axis.",
            "What does tanh make of minus infinity? That tells what comes first, the cap or the mask.",
            "For `needed_bound`: set the bound of the chain equal to 1 - epsilon, and solve for t.",
        ),
    ),
    Question(
        id="16.3",
        title="Keys that are never read",
        minutes=15,
        parts=(
            Part("derive", ("error",), dropped_weight_times_difference, points=1),
            Part("code", ("sparse_attend", "error_of_dropping"), few_keys_are_read, points=1),
        ),
        hints=(
            "For the chain: put C_1 = c_1 Z_1 and C_0 = c_0 Z_0 in, and bring both fractions to one "
            "denominator.",
            "In code: indexing an array of rows with a matrix of numbers gives three axes. Which ones?",
            "For the error: the two halves are the two blocks of 13.1. Which sigmoid is the weight of the "
            "dropped one?",
            "A tiny number cannot be found as the difference of two large ones. The formula of the chain has "
            "no such difference.",
        ),
    ),
    Question(
        id="16.4",
        title="The best that a block may hold",
        minutes=7,
        parts=(Part("code", ("block_bound",), bound_is_smallest, points=1),),
        hints=(
            "Take one entry of the query. Which end of the box makes its product with the key largest, if "
            "the entry is positive, and which if it is negative?",
            "How large is the log-sum-exp of several keys that all have the same score?",
        ),
    ),
    Question(
        id="16.5",
        title="The delta rule",
        minutes=12,
        parts=(
            Part("derive", ("reading",), write_changes_a_reading, points=1),
            Part("code", ("delta_step", "delta_read"), memory_is_overwritten, points=1),
        ),
        hints=(
            "For the chain: split the sum in two, and take what does not depend on i out of the second.",
            "The sums are `of_query`, `of_key` and `score`; in the last line r_q, r_k and s replace them.",
            "In code: what does the key itself read from the state that is left after fading?",
            "Which outer product changes a reading along the key alone?",
        ),
    ),
    Question(
        id="16.6",
        title="Which memory?",
        minutes=9,
        parts=(Part("written", points=1),),
        hints=(
            "Which of the four memories know in what order values were written?",
            "Compare the numbers of column 4 with 1 - 1/4.",
            "What must each memory keep after T tokens?",
        ),
    ),
)
