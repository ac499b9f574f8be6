"""Questions 11.1-11.7, position: titles, minutes, hints and judges."""

from attn_course.questions.rotations import (
    each_looks_back,
    frequencies_are_extended,
    rotations_are_by_position,
    score_is_relative,
)
from attn_course.questions.sinusoids import distances_are_those_of_a_clock, shift_is_a_matrix
from attn_course.questions.token_order import order_is_noticed, pairs_are_blind
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        "11.1",
        "Does it see the order?",
        8,
        (
            Part("code", ("is_equivariant",), order_is_noticed),
            Part("written"),
        ),
        hints=(
            "Permute the rows of x, run the layer, and ask what should have happened to its outputs.",
            "With an index array p, compare the layer of x[p] with the layer's output of x, indexed by p.",
            "Some layers commute with a few permutations, so try several: random ones, or all swaps of "
            "neighbours. Compare up to rounding.",
            "In words: replace X by PX in every factor of equation (1), and look for products of P and its "
            "transpose.",
        ),
        seconds=20.0,
    ),
    Question(
        "11.2",
        "Sentences it cannot tell apart",
        8,
        (Part("code", ("blind_pairs",), pairs_are_blind),),
        hints=(
            "Without a mask nothing but the proportions of the tokens reaches the mean.",
            "The last token of one causal layer sees all the others, but not in which order they came.",
            "For any depth: think of a sequence in which every token has the same past, whatever its length.",
        ),
    ),
    Question(
        "11.3",
        "A clock with many hands",
        9,
        (
            Part("code", ("sinusoid",), distances_are_those_of_a_clock),
            Part("written"),
        ),
        hints=(
            "First the d/2 frequencies, then an outer product of positions and frequencies, (T, d/2).",
            "Each angle gives two coordinates, its sine and its cosine.",
            "In words: when do two angles have the same sine and the same cosine?",
        ),
    ),
    Question(
        "11.4",
        "Moving on is a matrix",
        6,
        (Part("code", ("shift_matrix",), shift_is_a_matrix),),
        hints=(
            "Write out sin(a + b) and cos(a + b): both are sums of sin(a) and cos(a) with fixed factors.",
            "Each pair of coordinates has a block of its own, two by two; nothing else is mixed.",
        ),
    ),
    Question(
        "11.5",
        "Rotate instead of add",
        12,
        (
            Part("derive", ("score",), score_is_relative),
            Part("code", ("rotate",), rotations_are_by_position),
        ),
        hints=(
            "Multiply out, and collect what stands with q₁k₁ + q₂k₂ and with q₁k₂ - q₂k₁.",
            "cos a cos b + sin a sin b and sin a cos b - cos a sin b are a cosine and a sine of one angle.",
            "In code: angles (T, d/2) as in 11.3, then two new coordinates from each pair of old ones.",
        ),
    ),
    Question(
        "11.6",
        "Look r tokens back, and beyond the length",
        12,
        (
            Part("code", ("look_back",), each_looks_back),
            Part("written"),
        ),
        hints=(
            "If query and key are the same vector, where is the score largest? Move that place.",
            "The rotation may be asked for any position, a negative one too.",
            "If the peak is in the right place but too flat: a longer query makes every difference larger.",
            "In words: up to 15, which positions and which distances occurred in training? Which are new "
            "at position 20, and which at 100?",
        ),
    ),
    Question(
        "11.7",
        "Longer than it was trained for",
        12,
        (Part("code", ("interpolated", "ntk_aware"), frequencies_are_extended),),
        hints=(
            "Interpolation by 2: position 2p takes the old angle of p. What happens to each frequency?",
            "NTK-aware: put the slowest pair, i = d/2 - 1, into base ** (-2i / d). Which base slows it down?",
            "Solve new ** (-(d - 2) / d) = old ** (-(d - 2) / d) / factor for the new base.",
        ),
    ),
)
