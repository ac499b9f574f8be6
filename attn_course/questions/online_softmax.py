"""Judges of 13.1, blocks of a softmax that are summed up apart and then merged.

They look at what `finish` makes of a state, and never into the state.
"""

from itertools import permutations

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotAttempted, NotYet, number, shuffled
from attn_course.answers.mistakes import Seen
from attn_course.answers.tensors import close, distance, tensor_trials
from attn_course.answers.wording import counted
from attn_course.drivers import call_on_kept, keep_result
from attn_course.register import Claim, Claims, chains_prove
from attn_utils.kernels import softmax

# The chain


@chains_prove("the weight of a block is the sigmoid of the difference of the two log-sum-exps.")
def share_is_a_sigmoid() -> Claims:
    """Return the claim of 13.1: block one's share of all exponentials."""
    import sympy as sp

    from attn_course.proofs.required_form import one_exponential

    M1, M2, l1, l2 = sp.symbols("M_1 M_2 l_1 l_2", real=True)
    Z1, Z2 = sp.symbols("Z_1 Z_2", positive=True)
    ours = sp.exp(M1) * Z1
    theirs = sp.exp(M2) * Z2
    share = Claim(
        name="`share`",
        start=ours / (ours + theirs),
        goal=1 / (1 + sp.exp(l2 - l1)),
        symbols=(M1, M2, Z1, Z2, l1, l2),
        where={M1: l1 - sp.log(Z1), M2: l2 - sp.log(Z2)},
        only=(l1, l2),
        forms=(one_exponential("a form with one and the same exponential everywhere"),),
        slips={
            "that is the share of the other block: the sign in the exponent is turned round": (
                1 / (1 + sp.exp(l1 - l2))
            ),
            "the maxima are compared and the sums are lost": 1 / (1 + sp.exp(M2 - M1)),
            "the sums are compared and the maxima are lost": Z1 / (Z1 + Z2),
            "the log-sum-exps themselves are compared; their exponentials count": l1 / (l1 + l2),
            "1 and the exponential are subtracted, not added": 1 / (1 - sp.exp(l2 - l1)),
            "Z_1 is lost below": ours / (sp.exp(M1) + theirs),
            "the exponential of M_1 is lost below": ours / (Z1 + theirs),
        },
    )
    return (share,)


# The code: a block is (scores (n,), values (n, dv)); a plan is the number of a block, or a pair of plans.

WIDTH = 3  # of the values
MOST_NUMBERS = 4 * WIDTH + 16  # numbers that a state may hold
NUM_MERGES = 6


def blocks_are_merged(rng: Generator, summary: Caller, merge: Caller, finish: Caller) -> str:
    """13.1: through `finish` alone, in every order and bracketing, at any size; the state stays small."""
    merging = _Merging(summary, merge, finish)
    try:
        for group in _merging_cases(rng):
            for case in group:
                merging.try_plans(*case)
            merging.trials.settle()
    except NotAttempted:
        merging.refuse_empty()
        raise

    num_keys = int(rng.integers(300, 500))
    size = merging.size_of_state(_block(rng, num_keys))
    if not size <= MOST_NUMBERS:
        raise NotYet(
            f"right, but a state holds {size:,} numbers, of {num_keys} keys or after {NUM_MERGES} merges; it "
            "must grow neither with the keys nor with the merges."
        )

    return (
        f"equal to one softmax over all keys in {len(merging.trials)} merges; a state of {num_keys} keys "
        f"holds {counted(size, 'number')}."
    )


class _Merging:
    """The three functions of an answer, put together as a plan says.

    A state is kept beside the student, under a name made of the setting and its plan.
    """

    def __init__(self, summary, merge, finish):
        self.summary = summary
        self.merge = merge
        self.finish = finish
        self.trials = tensor_trials(wrong_merges)

    def refuse_empty(self) -> None:
        """Raise NotYet with the names of empty functions; NotAttempted if both own functions are empty."""
        functions = {"summary": self.summary, "merge": self.merge, "finish": self.finish}
        empty = []
        for name, function in functions.items():
            inputs = [np.zeros(1)] * (1 if name == "finish" else 2)
            try:
                function.run_driver(keep_result, "any", inputs)
            except NotAttempted:
                empty.append(name)
            except NotYet:
                pass
        if {"merge", "finish"} <= set(empty):  # `summary` is given
            raise NotAttempted
        if empty:
            verb = "is" if len(empty) == 1 else "are"
            names = " and ".join(empty)
            raise NotYet(f"{names} {verb} still empty. The three functions are judged together.")

    def try_plans(self, setting: str, blocks: list, plans: list) -> None:
        """Put these blocks together by each plan; each should give what all keys at once give."""
        for k, block in enumerate(blocks):
            self._keep(self.summary, f"{setting}: {k}", list(block), setting)

        scores, values = map(np.concatenate, zip(*blocks, strict=True))
        right = softmax(scores) @ values
        for plan in plans:
            context = self._context(self._put_together(plan, setting), setting)
            fact = distance(context, right, setting)
            if context.shape != right.shape:
                raise NotYet(f"{fact}.")
            self.trials.add(context, right, fact, blocks, plan, context)

    def size_of_state(self, block: tuple[np.ndarray, np.ndarray]) -> int:
        """Return the size of a state of this block, or of the block merged with itself again and again."""
        scores, values = block
        setting = f"{len(scores)} keys"
        one = self._keep(self.summary, "one", list(block), setting)
        last = "one"
        for k in range(NUM_MERGES):
            many = self._keep(self.merge, f"merged {k}", [last, "one"], setting)
            last = f"merged {k}"
        right = softmax(scores) @ values
        for name in ("one", last):  # equally many copies of every key change nothing
            context = self._context(name, setting)
            if not close(context, right):
                raise NotYet(f"{distance(context, right, setting)}.")
        return max(one, many)

    def _put_together(self, plan, setting):
        """Return the name under which the state of a plan is kept."""
        name = f"{setting}: {plan}"
        if isinstance(plan, tuple):
            parts = [self._put_together(part, setting) for part in plan]
            self._keep(self.merge, name, parts, setting)
        return name

    def _keep(self, function, name, inputs, setting):
        """Keep what comes out beside the student, and return how many numbers it holds."""
        try:
            return int(number(function.run_driver(keep_result, name, inputs)))
        except NotYet as error:
            raise NotYet(f"{setting}: {error}") from None

    def _context(self, name, setting):
        """Return what `finish` makes of a state; nan is allowed, because a mistake explains it."""
        value = self.finish.run_driver(call_on_kept, name)
        if value is None:
            raise NotYet("finish returned None: is a `return` missing?")
        try:
            return np.asarray(value, float)
        except (TypeError, ValueError):
            raise NotYet(f"finish returned no vector of numbers ({setting}).") from None


BOTH = [(0, 1), (1, 0)]
ORDERS = [(((a, b), c), d) for a, b, c, d in permutations(range(4))]
TREES = [((0, 1), (2, 3)), (0, (1, (2, 3))), ((3, (0, 1)), 2)]
AROUND_ANOTHER = [((0, 2), 1), (0, (1, 2))]


def _merging_cases(rng):
    """Draw groups of (setting, blocks, plans) that are judged together; those that tell most come first."""
    low = _block(rng, 2)
    high = _block(rng, 5, around=4.0)
    around = 2 * rng.normal(size=4)
    four = [_block(rng, n, around=shift) for n, shift in enumerate(around, 1)]
    part_hidden = _block(rng, 4)
    part_hidden[0][1] = -np.inf
    single = _block(rng, 1)
    dominated = (np.array([60.0, 0.0, 1.0]), _block(rng, 3)[1])  # e^-60 beside 1 is nothing
    first: list = [
        [("one block", [low], [0])],
        [("one block of one key", [single], [0])],
        [("one block with a key far above the others", [dominated], [0])],
        [
            ("two blocks, the second with higher scores", [low, high], BOTH),
            ("two blocks, the first with higher scores", [high, low], BOTH),
        ],
        [
            ("four blocks in every order", four, shuffled(rng, ORDERS)),
            ("four blocks, bracketed in other ways", four, TREES),
        ],
    ]

    far_alone: list = []
    three_far: list = []
    others = [[("one key of a block hidden", [part_hidden, high], BOTH)]]
    for size in (1e4, -1e4, 1e5, -1e5):
        far = _block(rng, 4, scale=2.0, around=size)
        opposite = _block(rng, 3, around=-size)
        far_alone.append((f"one block with scores near {size:,.0f}", [far], [0]))
        setting = f"scores near {size:,.0f} and {-size:,.0f}"
        others.append([(setting, [far, opposite], BOTH)])
        if abs(size) == 1e5:
            near = [_block(rng, n, scale=2.0, around=size) for n in (4, 2, 3)]
            three_far.append((f"three blocks with scores near {size:,.0f}", near, AROUND_ANOTHER))

    others = shuffled(rng, others)  # before blocks without keys, which tell less

    empties = {
        "no keys": _block(rng, 0),
        "all keys hidden": (np.full(2, -np.inf), rng.normal(size=(2, WIDTH))),
    }
    without_keys: list = []
    for name, empty in empties.items():
        without_keys.append([(f"a block with {name} beside another", [low, empty], BOTH)])
        setting = f"two blocks with {name} and another"
        without_keys.append([(setting, [empty, low, empty], AROUND_ANOTHER)])

    setting = "a block with no keys beside scores near -10,000,000,000"
    last = [(setting, [_block(rng, 3, around=-1e10), _block(rng, 0)], BOTH)]
    return [*first, far_alone, *others, *shuffled(rng, without_keys), last, three_far]


def _block(rng, n, scale=1.0, around=0.0):
    """Draw (scores (n,), values (n, WIDTH))."""
    scores = around + scale * rng.normal(size=n)
    return scores, rng.normal(size=(n, WIDTH))


# The mistakes: summaries are (maximum, sum, output), or (maximum, number of keys, context).

OVERFLOW = (
    "an exponential overflows, as that of a score above 710 does: take away the largest score of all keys so "
    "far, neither none nor another"
)
START = "a maximum that starts at a finite number; start at minus infinity, for a true score may lie below"
EMPTY = "minus infinity minus minus infinity is no number; a block without keys must change nothing"
LARGE = 700  # a score whose exponential is at the edge of what a float holds


def wrong_merges(blocks: list, plan: int | tuple, found: np.ndarray) -> dict:
    """Return {sentence: the context (dv,) that this mistake gives for the plan}."""
    table: dict = {}
    for sentence, (summary, merge, finish) in WRONG_MERGES.items():
        context = finish(_follow(plan, blocks, summary, merge))
        table[sentence] = Seen(np.isnan(found).all()) if np.isnan(context).all() else context

    largest = [scores.max(initial=-np.inf) for scores, _ in blocks]
    is_lost = not np.abs(found).max() > 0  # nan, or nothing
    top = max(largest)
    too_low = top < -LARGE
    stays_near = isinstance(plan, int) and not is_lost  # one block may be in a unit of its own
    empty = -np.inf in largest
    return table | {
        START: Seen(True) if is_lost and too_low else None,
        OVERFLOW: Seen(is_lost) if abs(top) > LARGE and not stays_near else None,
        EMPTY: Seen(True) if is_lost and empty and not too_low else None,
    }


def _follow(plan, blocks, summary, merge):
    if isinstance(plan, int):
        return summary(*blocks[plan])
    return merge(*(_follow(part, blocks, summary, merge) for part in plan))


def _summary(scores, values):
    """Return (maximum, sum, output) of one block."""
    largest = scores.max(initial=-np.inf)
    unit = largest if np.isfinite(largest) else 0
    exps = np.exp(scores - unit)
    return largest, exps.sum(), exps @ values


def _summary_above_smallest(scores, values):
    """Return (smallest score, sum, output) of one block."""
    smallest = scores.min(initial=np.inf)
    exps = np.exp(scores - smallest)
    return smallest, exps.sum(), exps @ values


def _merge_above_smallest(one, other):
    smallest = min(one[0], other[0])
    factors = [np.exp(state[0] - smallest) for state in (one, other)]
    total, output = (
        sum(f * s[k] for f, s in zip(factors, (one, other), strict=True)) for k in (1, 2)
    )
    return smallest, total, output


def _context_summary(scores, values):
    """Return (maximum, number of keys, context) of one block."""
    largest, total, output = _summary(scores, values)
    return largest, len(scores), output / max(total, 1)


def _lse_summary(scores, values):
    """Return (log-sum-exp, number of keys, context) of one block."""
    largest, total, output = _summary(scores, values)
    return largest + np.log(total), len(scores), output / max(total, 1e-300)


def _third(state):
    """Return the output as it is, which is the context in a summary (maximum, number of keys, context)."""
    return state[2]


def _of_sums(merge, finish=lambda state: state[2] / state[1]):
    """Return three functions: a summary of one block, a merge of two, and the context of a state."""
    return _summary, merge, finish


def _rescaled(sums, outputs):
    """Return a merge of (maximum, sum, output), with powers of the factors that bring each block to one unit.

    sums, outputs: for either block 1 where it is brought there, 0 where it is not, -1 upside down.
    """

    def merge(*blocks: tuple) -> tuple:
        largest = max(block[0] for block in blocks)
        total = 0.0
        output = 0.0
        for k, (maximum, its_sum, its_output) in enumerate(blocks):
            factor = np.exp(maximum - largest) if np.isfinite(largest) else 1.0
            total = total + factor ** sums[k] * its_sum
            output = output + factor ** outputs[k] * its_output

        return largest, total, output

    return merge


RIGHT_MERGE = _rescaled(sums=(1, 1), outputs=(1, 1))


def _unit_of_first(one, other):
    """Return a merge of (maximum, sum, output) that brings both blocks to the unit of the first."""
    factor = np.exp(other[0] - one[0])
    return one[0], one[1] + factor * other[1], one[2] + factor * other[2]


def _lse_mixed(unit, kept):
    """Return what `_of_sums` does, of (log-sum-exp, number of keys, context); kept(l_1, l_2) is passed on."""

    def merge(one: tuple, other: tuple) -> tuple:
        common = unit(one[0], other[0])
        context = np.exp(one[0] - common) * one[2] + np.exp(other[0] - common) * other[2]
        return kept(one[0], other[0]), one[1] + other[1], context

    return _lse_summary, merge, _third


def _mixed(weight):
    """Return what `_of_sums` does, of (maximum, number of keys, context), mixed by weight(one, other)."""

    def merge(one: tuple, other: tuple) -> tuple:
        share = weight(one, other)
        context = share * one[2] + (1 - share) * other[2]
        return max(one[0], other[0]), one[1] + other[1], context

    return _context_summary, merge, _third


WRONG_MERGES = {
    "the sums are added as they are, one block in units of e to its own maximum, the other in another "
    "unit; bring both to the larger maximum": _of_sums(_rescaled(sums=(0, 0), outputs=(0, 0))),
    "the contexts are averaged, so a block with little mass counts as much as the other": (
        _mixed(lambda one, other: 0.5)
    ),
    "the blocks are weighted by their number of keys; scores decide, not counts": (
        _mixed(lambda one, other: one[1] / max(one[1] + other[1], 1))
    ),
    "the blocks are weighted by a softmax of their maxima, but two keys at 0 weigh 2 e^0; use "
    "log-sum-exp, not the maximum": (
        _mixed(lambda one, other: softmax(np.array([one[0], other[0]]))[0])
    ),
    "only the new block is rescaled, which fails when the new block has the larger maximum": (
        _of_sums(_rescaled(sums=(0, 1), outputs=(0, 1)))
    ),
    "only the old block is rescaled, which fails when the old block has the larger maximum": (
        _of_sums(_rescaled(sums=(1, 0), outputs=(1, 0)))
    ),
    "the sum is rescaled and the output is not; both must be in the same unit": (
        _of_sums(_rescaled(sums=(1, 1), outputs=(0, 0)))
    ),
    "the output is rescaled and the sum is not; both must be in the same unit": (
        _of_sums(_rescaled(sums=(0, 0), outputs=(1, 1)))
    ),
    "the output is not divided by the sum at the end": _of_sums(RIGHT_MERGE, _third),
    "the output is multiplied by the sum at the end; divide by it": (
        _of_sums(RIGHT_MERGE, lambda state: state[2] * state[1])
    ),
    "the merged block keeps the maximum of its first part; it is the larger of the two": (
        _of_sums(lambda one, other: (one[0], *RIGHT_MERGE(one, other)[1:]))
    ),
    "both blocks are brought to the unit of the first, which overflows when the second lies far above it; "
    "take the larger maximum": _of_sums(_unit_of_first),
    "the smallest score is taken away, not the largest, so that exponentials overflow": (
        _summary_above_smallest,
        _merge_above_smallest,
        lambda state: state[2] / state[1],
    ),
    "only the block with the larger maximum is kept; the other one counts too": (
        _of_sums(lambda one, other: one if one[0] >= other[0] else other)
    ),
    "only the second block is kept": _of_sums(lambda one, other: other),
    "the log-sum-exp of both blocks is taken for their sum; it is log(e^l_1 + e^l_2)": (
        _lse_mixed(np.logaddexp, np.add)
    ),
    "the log-sum-exp of both blocks is taken for the larger of the two; it is log(e^l_1 + e^l_2)": (
        _lse_mixed(np.maximum, np.maximum)
    ),
    "the factors are the wrong way round (a sign in the exponent, or the two exchanged); the block with the "
    "smaller maximum gets a factor below 1, the other one the factor 1": _of_sums(
        _rescaled(sums=(-1, -1), outputs=(-1, -1))
    ),
}
