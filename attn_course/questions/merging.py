"""Judges of 12.1, blocks of a softmax that are summed up apart and then merged.

They look at what `finish` makes of a state, and never into the state.
"""

from functools import cache, partial
from itertools import permutations

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, number, shuffled
from attn_course.answers.mistakes import Seen
from attn_course.answers.tensors import close, distance, tensor_trials
from attn_course.answers.wording import counted
from attn_course.drivers import call_on_kept, keep_result
from attn_course.register import Claim, Claims, chains_prove
from attn_utils.kernels import softmax

# The chain


@cache
def claims_of_12_1() -> Claims:
    """The claim of 12.1: block one's share of all exponentials."""
    import sympy as sp

    from attn_course.proofs.forms import one_exponential

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
    )
    return (share,)


share_is_a_sigmoid = chains_prove(
    claims_of_12_1,
    "the weight of a block is the sigmoid of the difference of the two log-sum-exps.",
)

# The code: a block is (scores (n,), values (n, dv)); a plan is the number of a block, or a pair of plans.

WIDTH = 3  # of the values
MOST_NUMBERS = 4 * WIDTH + 16  # numbers that a state may hold


def blocks_are_merged(rng: Generator, summary: Caller, merge: Caller, finish: Caller) -> str:
    """12.1: through `finish` alone, in every order and bracketing, at any size; the state stays small."""
    merging = _Merging(summary, merge, finish)
    for group in _merging_cases(rng):
        for case in group:
            merging.try_plans(*case)
        merging.trials.settle()

    num_keys = int(rng.integers(300, 500))
    size = merging.size_of_state(_block(rng, num_keys))
    if not size <= MOST_NUMBERS:
        raise NotYet(
            f"right, but a state of {num_keys} keys holds {size:,} numbers; the state must not grow with "
            "the keys."
        )

    return (
        f"equal to one softmax over all keys in {len(merging.trials)} merges; a state of {num_keys} keys "
        f"holds {counted(size, 'number')}."
    )


class _Merging:
    """The three functions of an answer, put together as a plan says."""

    def __init__(self, summary, merge, finish):
        self.summary = summary
        self.merge = merge
        self.finish = finish
        self.trials = tensor_trials(wrong_merges)
        self.case = 0  # so that no state is kept under the name of an earlier one

    def try_plans(self, setting: str, blocks: list, plans: list) -> None:
        """Put these blocks together by each plan; each should give what all keys at once give."""
        self.case += 1
        for k, block in enumerate(blocks):
            name = self._name(k)
            self._keep(self.summary, name, list(block), setting)

        scores, values = map(np.concatenate, zip(*blocks, strict=True))
        right = softmax(scores) @ values

        for plan in plans:
            name = self._put_together(plan, setting)
            found = self._context(name, setting)
            fact = distance(found, right, setting)
            if found.shape != right.shape:
                raise NotYet(f"{fact}.")
            self.trials.add(found, right, fact, blocks, plan, found)

    def size_of_state(self, block: tuple[np.ndarray, np.ndarray]) -> int:
        """How many numbers a state holds, of this block once or twice; both are finished and compared."""
        scores, _ = block
        setting = f"{len(scores)} keys"

        one = self._keep(self.summary, "one", list(block), setting)
        two = self._keep(self.merge, "two", ["one", "one"], setting)
        right = softmax(scores) @ block[1]
        for name in ("one", "two"):  # all keys twice change nothing
            found = self._context(name, setting)
            if not close(found, right):
                raise NotYet(f"{distance(found, right, setting)}.")
        return max(one, two)

    def _name(self, plan):
        """Under which the state of a plan is kept beside the student."""
        return f"case {self.case}: {plan}"

    def _put_together(self, plan, setting):
        """The name under which the state of a plan is kept."""
        if isinstance(plan, tuple):
            names = [self._put_together(part, setting) for part in plan]
            self._keep(self.merge, self._name(plan), names, setting)
        return self._name(plan)

    def _keep(self, function, name, inputs, setting):
        """Keep what comes out beside the student, and return how many numbers it holds."""
        try:
            size = function.via(keep_result, name, inputs)
        except NotYet as error:
            raise NotYet(f"{setting}: {error}") from None

        return int(number(size))

    def _context(self, name, setting):
        """What `finish` makes of a state; it may be nan, which a mistake explains."""
        value = self.finish.via(call_on_kept, name)
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
    """Groups of (setting, blocks, plans) that are judged together; those that tell most come first."""
    block = partial(_block, rng)
    low = block(2)
    high = block(5, around=4.0)
    around = 2 * rng.normal(size=4)
    four = [block(n, around=shift) for n, shift in enumerate(around, 1)]
    part_hidden = block(4)
    part_hidden[0][1] = -np.inf
    first = [
        [("one block", [low], [0])],
        [
            ("two blocks, the second with higher scores", [low, high], BOTH),
            ("two blocks, the first with higher scores", [high, low], BOTH),
        ],
        [
            ("four blocks in every order", four, shuffled(rng, ORDERS)),
            ("four blocks, bracketed in other ways", four, TREES),
        ],
    ]
    others = [
        [("one key of a block hidden", [part_hidden, high], BOTH)],
        *_far_cases(block),
        *_empty_cases(rng, low),
    ]
    far_below = block(3, around=-1e10)
    nothing = block(0)
    last = [
        [("a block with no keys beside scores near -10,000,000,000", [far_below, nothing], BOTH)],
    ]
    return first + shuffled(rng, others) + last


def _far_cases(block):
    """Groups with scores far from zero: every size alone in the first of them, then beside its opposite."""
    alone = []
    beside = []
    for size in (1e4, -1e4, 1e5, -1e5):
        far = block(4, scale=2.0, around=size)
        opposite = block(3, around=-size)

        setting = f"one block with scores near {size:,.0f}"
        alone.append((setting, [far], [0]))
        setting = f"scores near {size:,.0f} and {-size:,.0f}"
        beside.append([(setting, [far, opposite], BOTH)])

    return [alone, *beside]


def _empty_cases(rng, low):
    """Groups in which a block has nothing to see."""
    hidden_scores = np.full(2, -np.inf)
    empties = {
        "no keys": _block(rng, 0),
        "all keys hidden": (hidden_scores, rng.normal(size=(2, WIDTH))),
    }
    groups = []
    for name, empty in empties.items():
        one = (f"a block with {name} beside another", [low, empty], BOTH)
        two = (f"two blocks with {name} and another", [empty, low, empty], AROUND_ANOTHER)
        groups += [[one], [two]]

    return groups


def _block(rng, n, scale=1.0, around=0.0):
    """(scores (n,), values (n, WIDTH))."""
    scores = around + scale * rng.normal(size=n)
    values = rng.normal(size=(n, WIDTH))
    return scores, values


# The mistakes: summaries are (maximum, sum, output), or (maximum, number of keys, context).

OVERFLOW = (
    "an exponential overflows, as that of a score above 710 does: take away the largest score of all keys so "
    "far, neither none nor another"
)
START = "a maximum that starts at a finite number; start at minus infinity, for a true score may lie below"
EMPTY = "minus infinity minus minus infinity is no number; a block without keys must change nothing"
LARGE = 700  # a score whose exponential is at the edge of what a float holds


def wrong_merges(blocks: list, plan: int | tuple, found: np.ndarray) -> dict:
    """{sentence: the context (dv,) that this mistake gives for the plan}."""
    table = {}
    for sentence, (summary, merge, finish) in WRONG_MERGES.items():
        state = _follow(plan, blocks, summary, merge)
        context = finish(state)
        is_lost = np.isnan(context).all()
        table[sentence] = Seen(np.isnan(found).all()) if is_lost else context

    largest = [scores.max(initial=-np.inf) for scores, _ in blocks]
    is_lost = not np.abs(found).max() > 0  # nan, or nothing
    return table | _lost_numbers(largest, is_lost)


def _lost_numbers(largest, is_lost):
    """{sentence: whether it tells why a context is lost}, for blocks with these largest scores."""
    top = max(largest)
    too_low = top < -LARGE
    empty = -np.inf in largest
    return {
        OVERFLOW: Seen(is_lost) if abs(top) > LARGE else None,
        START: Seen(True) if is_lost and too_low else None,
        EMPTY: Seen(True) if is_lost and empty and not too_low else None,
    }


def _follow(plan, blocks, summary, merge):
    """The state of a plan."""
    if isinstance(plan, int):
        return summary(*blocks[plan])
    one, other = (_follow(part, blocks, summary, merge) for part in plan)
    return merge(one, other)


def _summary(scores, values):
    """(maximum, sum, output) of one block."""
    largest = scores.max(initial=-np.inf)
    unit = largest if np.isfinite(largest) else 0
    exps = np.exp(scores - unit)
    total = exps.sum()
    output = exps @ values
    return largest, total, output


def _context_summary(scores, values):
    """(maximum, number of keys, context) of one block."""
    largest, total, output = _summary(scores, values)
    return largest, len(scores), output / max(total, 1)


def _divided(state):
    """The context, of a summary (maximum, sum, output)."""
    return state[2] / state[1]


def _third(state):
    """The output as it is, which is the context in a summary (maximum, number of keys, context)."""
    return state[2]


def _rescaled(sums, outputs):
    """A merge of (maximum, sum, output), with powers of the factors that bring each block to one unit.

    sums, outputs: for either block 1 where it is brought there, 0 where it is not, -1 upside down.
    """

    def merge(*blocks: tuple) -> tuple:
        """Two summaries -> one."""
        largest = max(block[0] for block in blocks)
        total = 0.0
        output = 0.0
        for k, (maximum, its_sum, its_output) in enumerate(blocks):
            factor = 1.0
            if np.isfinite(largest):
                factor = np.exp(maximum - largest)
            total = total + factor ** sums[k] * its_sum
            output = output + factor ** outputs[k] * its_output

        return largest, total, output

    return merge


def _unit_of_first(one, other):
    """A merge of (maximum, sum, output) that brings both blocks to the unit of the first."""
    factor = np.exp(other[0] - one[0])
    return one[0], one[1] + factor * other[1], one[2] + factor * other[2]


def _maximum_of_first(one, other):
    """A merge of (maximum, sum, output) that is right but for the maximum that it hands on."""
    _, total, output = _rescaled(sums=(1, 1), outputs=(1, 1))(one, other)
    return one[0], total, output


def _lse_summary(scores, values):
    """(log-sum-exp, number of keys, context) of one block."""
    largest, total, output = _summary(scores, values)
    return largest + np.log(total), len(scores), output / max(total, 1e-300)


def _lse_mixed(unit, kept):
    """A merge of (log-sum-exp, number of keys, context) in this unit, which hands on kept(l_1, l_2)."""

    def merge(one: tuple, other: tuple) -> tuple:
        """Two summaries -> one."""
        common = unit(one[0], other[0])
        context = np.exp(one[0] - common) * one[2] + np.exp(other[0] - common) * other[2]
        return kept(one[0], other[0]), one[1] + other[1], context

    return merge


def _mixed(weight):
    """A merge of (maximum, number of keys, context), block one with weight(one, other)."""

    def merge(one: tuple, other: tuple) -> tuple:
        """Two summaries -> one."""
        share = weight(one, other)
        largest = max(one[0], other[0])
        num_keys = one[1] + other[1]
        rest = 1 - share
        context = share * one[2] + rest * other[2]
        return largest, num_keys, context

    return merge


def _by_number(one, other):
    """The weight of block one, as many keys as it has."""
    num_keys = one[1] + other[1]
    return one[1] / max(num_keys, 1)


def _by_maxima(one, other):
    """The weight of block one, by the largest scores."""
    maxima = np.array([one[0], other[0]])
    return softmax(maxima)[0]


# What a block is summed up by, how two are merged, and what is read off in the end.
WRONG_MERGES = {
    "the sums are added as they are, one block in units of e to its own maximum, the other in another "
    "unit; bring both to the larger maximum": (
        _summary,
        _rescaled(sums=(0, 0), outputs=(0, 0)),
        _divided,
    ),
    "the contexts are averaged, so a block with little mass counts as much as the other": (
        _context_summary,
        _mixed(lambda one, other: 0.5),
        _third,
    ),
    "the blocks are weighted by their number of keys; scores decide, not counts": (
        _context_summary,
        _mixed(_by_number),
        _third,
    ),
    "the blocks are weighted by a softmax of their maxima, but two keys at 0 weigh 2 e^0; use "
    "log-sum-exp, not the maximum": (
        _context_summary,
        _mixed(_by_maxima),
        _third,
    ),
    "only the new block is rescaled, which fails when the new block has the larger maximum": (
        _summary,
        _rescaled(sums=(0, 1), outputs=(0, 1)),
        _divided,
    ),
    "only the old block is rescaled, which fails when the old block has the larger maximum": (
        _summary,
        _rescaled(sums=(1, 0), outputs=(1, 0)),
        _divided,
    ),
    "the sum is rescaled and the output is not; both must be in the same unit": (
        _summary,
        _rescaled(sums=(1, 1), outputs=(0, 0)),
        _divided,
    ),
    "the output is rescaled and the sum is not; both must be in the same unit": (
        _summary,
        _rescaled(sums=(0, 0), outputs=(1, 1)),
        _divided,
    ),
    "the output is not divided by the sum at the end": (
        _summary,
        _rescaled(sums=(1, 1), outputs=(1, 1)),
        _third,
    ),
    "the output is multiplied by the sum at the end; divide by it": (
        _summary,
        _rescaled(sums=(1, 1), outputs=(1, 1)),
        lambda state: state[2] * state[1],
    ),
    "the merged block keeps the maximum of its first part; it is the larger of the two": (
        _summary,
        _maximum_of_first,
        _divided,
    ),
    "both blocks are brought to the unit of the first, which overflows when the second lies far above it; "
    "take the larger maximum": (_summary, _unit_of_first, _divided),
    "only the block with the larger maximum is kept; the other one counts too": (
        _summary,
        lambda one, other: one if one[0] >= other[0] else other,
        _divided,
    ),
    "only the second block is kept": (_summary, lambda one, other: other, _divided),
    "the log-sum-exp of both blocks is taken for their sum; it is log(e^l_1 + e^l_2)": (
        _lse_summary,
        _lse_mixed(np.logaddexp, np.add),
        _third,
    ),
    "the log-sum-exp of both blocks is taken for the larger of the two; it is log(e^l_1 + e^l_2)": (
        _lse_summary,
        _lse_mixed(np.maximum, np.maximum),
        _third,
    ),
    "the factors are the wrong way round (a sign in the exponent, or the two exchanged): the block with the "
    "smaller maximum is made smaller": (
        _summary,
        _rescaled(sums=(-1, -1), outputs=(-1, -1)),
        _divided,
    ),
}
