"""Questions 13.1-13.7, a head that finds what came next: titles, minutes, hints and judges."""

from attn_course.questions.context_counts import share_is_a_mixture, sharpness_is_smallest
from attn_course.questions.hand_built_heads import finds_what_came_next, looks_one_back
from attn_course.questions.head_circuits import circuits_are_read
from attn_course.questions.head_scores import heads_are_found
from attn_course.questions.path_patching import one_path_is_cut
from attn_course.register import Part, Question

QUESTIONS = (
    Question(
        id="13.1",
        title="A head that looks one back",
        minutes=4,
        parts=(Part("code", 1, ("previous_token_head",), looks_one_back),),
        hints=(
            "Only the subspace `place` decides where this head looks: which block of W_QK is that?",
            "Row t of that block belongs to a query at place t. In which column should its large number "
            "stand?",
            "How large must a score be to keep 99% of the weight, if all other scores are 0?",
        ),
    ),
    Question(
        id="13.2",
        title="A head that finds what came next",
        minutes=7,
        parts=(Part("code", 2, ("induction_head",), finds_what_came_next),),
        hints=(
            "The query asks with its letter. In which subspace does a key say what stood before it?",
            "The value is the letter at the place that was found, and it goes into `after`.",
            "What does `before` hold at place 0? Make sure that place 0 is never found.",
        ),
    ),
    Question(
        id="13.3",
        title="Counting pairs in the context",
        minutes=8,
        parts=(
            Part("derive", 1, ("share",), share_is_a_mixture),
            Part("code", 1, ("sharpness",), sharpness_is_smallest),
        ),
        hints=(
            "For the chain: split the fraction into one for the matches and one for the other keys.",
            "Each of the two fractions is a weight times a count among its own keys.",
            "In code: write down the weight of all matches together, and set it to 1 - epsilon.",
        ),
    ),
    Question(
        id="13.4",
        title="One head of one layer is not enough",
        minutes=6,
        parts=(Part("written", 1),),
        hints=(
            "Times the sum of the exponentials, which is positive, the margin is itself a sum: over what?",
            "Which pairs (letter, place) occur in rows 1 and 4 together, and which in rows 2 and 3?",
        ),
    ),
    Question(
        id="13.5",
        title="Find the heads",
        minutes=4,
        parts=(Part("code", 1, ("previous_token_score", "induction_score"), heads_are_found),),
        hints=(
            "Make a boolean matrix: where is the letter *before* key j equal to the letter of query t, with "
            "j at most t?",
            "Only rows in which that matrix has a True belong to the mean.",
        ),
    ),
    Question(
        id="13.6",
        title="Read the weights",
        minutes=5,
        parts=(
            Part("code", 1, ("ov_circuit", "matching_circuit", "copying_score"), circuits_are_read),
        ),
        hints=(
            "Follow a letter through the head: embedded, read as a value, written, read out.",
            "For the second: the query is made from a letter itself, the key from what head 1 writes about "
            "a letter.",
            "What does head 1 write about a letter? Its W_v1 and W_o1 act on a row of E.",
        ),
    ),
    Question(
        id="13.7",
        title="Cut one path",
        minutes=8,
        parts=(Part("code", 1, ("patched",), one_path_is_cut), Part("written", 1)),
        hints=(
            "Make the other stream first: what is taken out of x, and what is put in?",
            "Queries, keys and values are made from x, except for the one that `path` names.",
            "In words: which of your tests would the last model, with one layer, have passed?",
        ),
    ),
)
