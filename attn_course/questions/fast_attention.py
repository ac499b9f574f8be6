"""Questions 12.1-12.7, attention made fast; judges measure what comes out, not how it was computed."""

import math
from functools import cache, partial
from itertools import accumulate, permutations

import numpy as np

from attn_course.chain_rules import LOGS, PLAIN, Task, gone
from attn_course.drivers import (
    call_on_kept,
    keep_result,
    run_tensors,
    run_watched,
    run_with_features,
    step_caches,
)
from attn_course.explaining import Seen, Trials, same
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.register import Part, Question
from attn_course.tensors import TOLERANCE, only_tensors, tensor_trials
from attn_course.trees import walk
from attn_course.values import array, number
from attn_course.verdict import NotYet
from attn_utils.kernels import attend, rotate, softmax

READY_MADE = "scaled_dot_product_attention"


def _has_one_exponential(line):
    """Whether all that is exponential in a line is one and the same, wherever it stands."""
    found = {node for node in walk(line) if node[0] in ("exp", "tanh")}
    return len(found) <= 1


def _distance(found, right, setting):
    """A clause on how two arrays differ: in shape, by nan, or by how much."""
    if found.shape != right.shape:
        return f"the shape is {found.shape}, expected {right.shape} ({setting})"
    if np.isnan(found).any():
        return f"the result contains nan, not a number ({setting})"
    return f"it is off by up to {np.abs(found - right).max(initial=0):.2g} ({setting})"


def _one_tensor(result, name):
    (found,) = only_tensors(result, name, 1)
    return found


# 12.1


@cache
def _share():
    import sympy as sp

    m1, m2, l1, l2 = sp.symbols("m_1 m_2 l_1 l_2", real=True)
    s1, s2 = sp.symbols("s_1 s_2", positive=True)
    ours = sp.exp(m1) * s1
    theirs = sp.exp(m2) * s2
    put_in = "l_1 and l_2 put in for the maxima and sums"
    return Claim(
        name="`share`",
        start=ours / (ours + theirs),
        goal=1 / (1 + sp.exp(l2 - l1)),
        to_do=(
            gone(put_in, "m_1", "m_2", "s_1", "s_2"),
            Task("the same exponential everywhere", _has_one_exponential),
        ),
        symbols=(m1, m2, s1, s2, l1, l2),
        where={m1: (l1 - sp.log(s1),) * 2, m2: (l2 - sp.log(s2),) * 2},
        heads=PLAIN | LOGS | {"tanh"},
        only=(l1, l2),
    )


def share_is_a_sigmoid(rng, share):
    """12.1: from maxima and sums to a sigmoid of the difference of two log-sum-exps."""
    judge_derivation(share, _share())
    return "a block's share is the sigmoid of its lead in log-sum-exp, whatever the scores in it."


def _summary(scores, values):
    """(maximum, sum, output) of one block, for the mistakes below; at least one score is finite."""
    largest = scores.max(initial=-np.inf)
    exps = np.exp(scores - (largest if np.isfinite(largest) else 0))
    return largest, exps.sum(), exps @ values


def _rescaled(one, other):
    """Both summaries in the unit of the larger maximum, and the factors that bring them there."""
    largest = max(one[0], other[0])
    factors = [
        np.exp(state[0] - largest) if np.isfinite(largest) else 1.0 for state in (one, other)
    ]
    return largest, *factors


def _unscaled(one, other):
    return max(one[0], other[0]), one[1] + other[1], one[2] + other[2]


def _new_alone(one, other):
    largest, _, b = _rescaled(one, other)
    return largest, one[1] + b * other[1], one[2] + b * other[2]


def _old_alone(one, other):
    largest, a, _ = _rescaled(one, other)
    return largest, a * one[1] + other[1], a * one[2] + other[2]


def _output_forgotten(one, other):
    largest, a, b = _rescaled(one, other)
    return largest, a * one[1] + b * other[1], one[2] + other[2]


def _sum_forgotten(one, other):
    largest, a, b = _rescaled(one, other)
    return largest, one[1] + other[1], a * one[2] + b * other[2]


def _upside_down(one, other):
    largest, a, b = _rescaled(one, other)
    return largest, one[1] / a + other[1] / b, one[2] / a + other[2] / b


def _mixed(weight):
    """A merge of (maximum, number of keys, context), block one with weight(one, other)."""

    def merge(one, other):
        a = weight(one, other)
        context = a * one[2] + (1 - a) * other[2]
        return max(one[0], other[0]), one[1] + other[1], context

    return merge


def _softmax_of_maxima(one, other):
    return softmax(np.array([one[0], other[0]]))[0]


def _half(one, other):
    return 0.5


def _by_number(one, other):
    return one[1] / max(one[1] + other[1], 1)


def _context_summary(scores, values):
    largest, total, output = _summary(scores, values)
    return largest, len(scores), output / max(total, 1)


def _divided(state):
    return state[2] / state[1]


def _third(state):
    return state[2]


WRONG_MERGES = {
    "the sums are added as they are, one block in units of e to its own maximum, the other in another "
    "unit; bring both to the larger maximum": (_summary, _unscaled, _divided),
    "the contexts are averaged, so a block with little mass counts as much as the other": (
        _context_summary,
        _mixed(_half),
        _third,
    ),
    "the blocks are weighted by their number of keys; scores decide, not counts": (
        _context_summary,
        _mixed(_by_number),
        _third,
    ),
    "the blocks are weighted by a softmax of their maxima, but two keys at 0 weigh 2 e^0; use "
    "log-sum-exp, not the maximum": (_context_summary, _mixed(_softmax_of_maxima), _third),
    "only the new block is rescaled, which fails when the new block has the larger maximum": (
        _summary,
        _new_alone,
        _divided,
    ),
    "only the old block is rescaled, which fails when the old block has the larger maximum": (
        _summary,
        _old_alone,
        _divided,
    ),
    "the sum is rescaled and the output is not; both must be in the same unit": (
        _summary,
        _output_forgotten,
        _divided,
    ),
    "the output is rescaled and the sum is not; both must be in the same unit": (
        _summary,
        _sum_forgotten,
        _divided,
    ),
    "the sign in the exponent: a factor that rescales a block is at most 1": (
        _summary,
        _upside_down,
        _divided,
    ),
}
OVERFLOW = "no maximum is taken away, and the exponential of a score above 710 is infinite"
START = "a maximum that starts at a finite number; start at minus infinity, for a true score may lie below"
EMPTY = "minus infinity minus minus infinity is no number; a block without keys must change nothing"


def _wrong_merges(blocks, plan, found):
    """What each known mistake gives for the plan, a nested pair of numbers of blocks."""
    table = {}
    for sentence, (summary, merge, finish) in WRONG_MERGES.items():
        state = _follow(plan, blocks, summary, merge)
        table[sentence] = finish(state)
    largest = [scores.max(initial=-np.inf) for scores, _ in blocks]
    top = max(largest)
    lost = np.isnan(found).any() or not np.abs(found).max() > 0
    empty = -np.inf in largest
    table[OVERFLOW] = Seen(lost) if abs(top) > 700 else None
    table[START] = Seen(True) if top < -700 and lost else None
    table[EMPTY] = Seen(True) if empty and lost else None
    return table


def _follow(plan, blocks, summary, merge):
    if isinstance(plan, int):
        return summary(*blocks[plan])
    one, other = (_follow(part, blocks, summary, merge) for part in plan)
    return merge(one, other)


class _Merging:
    """The three functions of an answer, put together as a plan says."""

    def __init__(self, summary, merge, finish):
        self.summary = summary
        self.merge = merge
        self.finish = finish
        self.trials = tensor_trials(_wrong_merges)
        self.case = 0  # so that no state is kept under the name of an earlier one

    def try_plans(self, setting, blocks, plans):
        """Put these blocks, (scores (n,), values (n, dv)), together by each plan, as all keys at once."""
        self.case += 1
        for k, block in enumerate(blocks):
            self._keep(self.summary, self._name(k), list(block), setting)
        scores = np.concatenate([scores for scores, _ in blocks])
        values = np.concatenate([values for _, values in blocks])
        right = softmax(scores) @ values
        for plan in plans:
            found = self._context(self._put_together(plan, setting), setting)
            fact = _distance(found, right, setting)
            if found.shape != right.shape:
                raise NotYet(f"{fact}.")
            self.trials.add(found, right, fact, blocks, plan, found)

    def size_of_state(self, scores, values):
        """How many numbers a state holds, of these keys or of these keys twice."""
        setting = f"{len(scores)} keys"
        one = self._keep(self.summary, "one", [scores, values], setting)
        two = self._keep(self.merge, "two", ["one", "one"], setting)
        return max(one, two)

    def _name(self, plan):
        return f"case {self.case}: {plan}"

    def _put_together(self, plan, setting):
        """The name under which the state of a plan is kept."""
        if isinstance(plan, tuple):
            names = [self._put_together(part, setting) for part in plan]
            self._keep(self.merge, self._name(plan), names, setting)
        return self._name(plan)

    def _keep(self, function, name, inputs, setting):
        try:
            size = function.via(keep_result, name, inputs)
        except NotYet as error:
            raise NotYet(f"{setting}: {error}") from None
        return int(number(size))

    def _context(self, name, setting):
        value = self.finish.via(call_on_kept, name)
        if value is None:
            raise NotYet("finish returned None: is a `return` missing?")
        try:
            return np.asarray(value, float)
        except (TypeError, ValueError):
            raise NotYet(f"finish returned no vector of numbers ({setting}).") from None


def _block(rng, n, dv=3, scale=1.0, around=0.0):
    return around + scale * rng.normal(size=n), rng.normal(size=(n, dv))


def _hidden(rng, n):
    return np.full(n, -np.inf), rng.normal(size=(n, 3))


def _merging_cases(rng):
    """Groups of (setting, blocks, plans) that are judged together; those that tell most come first."""
    block = partial(_block, rng)
    low = block(2)
    high = block(5, around=4.0)
    both = [(0, 1), (1, 0)]
    around = 2 * rng.normal(size=4)
    four = [block(n, around=shift) for n, shift in zip((1, 2, 3, 4), around, strict=True)]
    orders = [(((a, b), c), d) for a, b, c, d in permutations(range(4))]
    trees = [((0, 1), (2, 3)), (0, (1, (2, 3))), ((3, (0, 1)), 2)]
    part_hidden = block(4)
    part_hidden[0][1] = -np.inf
    first = [
        [("one block", [low], [0])],
        [
            ("two blocks, the second with higher scores", [low, high], both),
            ("two blocks, the first with higher scores", [high, low], both),
        ],
    ]
    alone = []
    others = [
        [("four blocks in every order", four, [orders[k] for k in rng.permutation(24)])],
        [("four blocks, bracketed in other ways", four, trees)],
        [("one key of a block hidden", [part_hidden, high], both)],
        alone,
    ]
    for size in (1e4, -1e4, 1e5, -1e5):
        far = block(4, scale=2.0, around=size)
        opposite = block(3, around=-size)
        alone.append((f"one block with scores near {size:,.0f}", [far], [0]))
        others.append([(f"scores near {size:,.0f} and {-size:,.0f}", [far, opposite], both)])
    for name, empty in (("no keys", block(0)), ("all keys hidden", _hidden(rng, 2))):
        twice = [((0, 2), 1), (0, (1, 2))]
        others.append([(f"a block with {name} beside another", [low, empty], both)])
        others.append([(f"two blocks with {name} and another", [empty, low, empty], twice)])
    return [*first, *(others[k] for k in rng.permutation(len(others)))]


ROOM = 4 * 3 + 16  # numbers that a state of values of width 3 may hold


def blocks_are_merged(rng, summary, merge, finish):
    """12.1: through `finish` alone, in every order and bracketing, at any size; the state stays small."""
    merging = _Merging(summary, merge, finish)
    for group in _merging_cases(rng):
        for case in group:
            merging.try_plans(*case)
        merging.trials.settle()
    size = merging.size_of_state(*_block(rng, 400))
    if not size <= ROOM:
        raise NotYet(
            f"right, but a state of 400 keys holds {size:,} numbers; the state must not grow with the keys."
        )
    return (
        f"equal to one softmax over all keys in {len(merging.trials)} merges; a state of 400 keys holds "
        f"{size} numbers."
    )


# 12.2

# Leading axes, T, S, d, dv, block: ragged, exact, larger than S, one of each, ragged.
STREAMS = (
    ((), 3, 7, 4, 5, 3),
    ((2,), 4, 8, 3, 3, 4),
    ((2, 3), 5, 6, 2, 7, 10),
    ((), 1, 1, 1, 2, 1),
    ((2,), 6, 9, 5, 4, 2),
)
LARGE = (256, 1024, 8, 16)  # T, S, d and block of the run in which memory is measured


def _streamed(q, k, v, block, *, old=True, total=True, rows=True, ragged=True, scale=None):
    """The streaming loop of the mistakes below; flags say which step is done right.

    old: the running output is rescaled; total: the running sum too; rows: each row has its own maximum;
    ragged: the last short block counts.
    """
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    S = k.shape[-2]
    stop = S if ragged else S - S % block
    largest = np.full((*q.shape[:-1], 1), -np.inf)
    sums = np.zeros_like(largest)
    output = np.zeros((*q.shape[:-1], v.shape[-1]))
    for start in range(0, stop, block):
        scores = scale * q @ k[..., start : start + block, :].mT
        top = scores.max(-1, keepdims=True) if rows else np.full_like(largest, scores.max())
        new = np.maximum(largest, top)
        factor = np.exp(largest - new)
        exps = np.exp(scores - new)
        sums = (factor if total else 1) * sums + exps.sum(-1, keepdims=True)
        output = (factor if old else 1) * output + exps @ v[..., start : start + block, :]
        largest = new
    return output / sums


def _averaged_blocks(q, k, v, block):
    contexts = []
    num_keys = k.shape[-2]
    for start in range(0, num_keys, block):
        piece = slice(start, start + block)
        contexts.append(attend(q, k[..., piece, :], v[..., piece, :])[0])
    return np.mean(contexts, 0)


def _wrong_streams(q, k, v, block, found):
    large = np.abs(q).max() > 50
    lost = not np.isfinite(found).all()
    too_short = k.shape[-2] < block
    return {
        "the softmax is taken block by block and the results averaged; a block with little mass counts as "
        "much as the others": _averaged_blocks(q, k, v, block),
        "sum and output of earlier blocks are not rescaled when the maximum grows": _streamed(
            q, k, v, block, old=False, total=False
        ),
        "the output is rescaled and the sum is not": _streamed(q, k, v, block, total=False),
        "the sum is rescaled and the output is not": _streamed(q, k, v, block, old=False),
        "one maximum for all rows: a row far below it has nothing left, 0 / 0": _streamed(
            q, k, v, block, rows=False
        ),
        "the last, shorter block is dropped: right only when block divides S": (
            Seen(True) if too_short else _streamed(q, k, v, block, ragged=False)
        ),
        "the root of d is missing in the scores": _streamed(q, k, v, block, scale=1.0),
        "the exponential of a large score is infinite; take a maximum away first": (
            Seen(lost) if large else None
        ),
    }


def _stream_inputs(rng, shape, factor):
    """q (..., T, d), k (..., S, d), v (..., S, dv), and what is special about them in words."""
    lead, T, S, d, dv, block = shape
    q = factor * rng.normal(size=(*lead, T, d))
    k = rng.normal(size=(*lead, S, d))
    v = rng.normal(size=(*lead, S, dv))
    size = ", large scores" if factor > 1 else ""
    return q, k, v, f"q {q.shape}, k {k.shape}, block {block}{size}"


def _judge_memory(rng, stream):
    """A clause on the largest tensor on the way; NotYet where it has room for a quarter of all scores."""
    T, S, d, block = LARGE
    q = rng.normal(size=(T, d))
    k = rng.normal(size=(S, d))
    v = rng.normal(size=(S, d))
    seen = stream.via(run_watched, [q, k, v], block)
    if READY_MADE in seen["used"]:
        raise NotYet(f"right, but torch's {READY_MADE} did the work: write the stream yourself.")
    largest = int(number(seen["largest"]))
    if largest == 0:
        raise NotYet(
            "right, but not one tensor was seen on the way: compute with torch, not NumPy."
        )
    fact = f"at T = {T}, S = {S}, block {block} its largest tensor holds {largest:,} numbers"
    if not largest <= T * S / 4:
        raise NotYet(f"right, but {fact}, where all scores together are {T * S:,}.")
    return f"{fact} instead of {T * S:,}"


def stream_is_exact_and_small(rng, stream):
    """12.2: softmax attention for ragged and oversized blocks, without a tensor of T times S numbers."""
    trials = tensor_trials(_wrong_streams)
    cases = [(shape, factor) for shape in STREAMS for factor in (1.0, 2000.0)]
    others = 1 + rng.permutation(len(cases) - 1)
    for place in (0, *others):
        shape, factor = cases[place]
        block = shape[-1]
        q, k, v, setting = _stream_inputs(rng, shape, factor)
        result = stream.via(run_tensors, [q, k, v], block)
        found = _one_tensor(result, "stream")
        right, _ = attend(q, k, v)
        trials.judge(found, right, _distance(found, right, setting), q, k, v, block, found)
    return f"exact in {len(trials)} cases; {_judge_memory(rng, stream)}."


# 12.3

NUM_TOKENS = 6
CUTS = ((1,) * 6, (4, 1, 1), (2, 3, 1))


class _Steps:
    """Which step a token comes in, and where that step starts and ends."""

    def __init__(self, cuts):
        self.number = np.repeat(np.arange(len(cuts)), cuts)  # (T,)
        ends = np.array(list(accumulate(cuts)))
        self.start = (ends - np.array(cuts))[self.number]  # (T,)
        self.end = ends[self.number]
        self.place = np.arange(len(self.number))


def _turned(x, positions, base):
    """x (B, T, d) turned by positions (T,), or as it is."""
    return x if base is None else rotate(x, positions, base)


def _look(sequence, base, see, *, queries=None, keys=None):
    """Attention of a sequence [q, k, v] under the mask `see` (T, T) and at these positions (T,)."""
    q, k, v = sequence
    places = np.arange(q.shape[-2])
    q = _turned(q, places if queries is None else queries, base)
    k = _turned(k, places if keys is None else keys, base)
    return attend(q, k, v, mask=see)[0]


def _turned_again(sequence, base, steps):
    """Cached keys are turned once more at every later step."""
    rows = []
    for t in steps.place:
        times = steps.number[t] - steps.number[: t + 1] + 1
        positions = np.zeros(NUM_TOKENS)
        positions[: t + 1] = steps.place[: t + 1] * times
        see = np.tri(NUM_TOKENS, dtype=bool)
        rows.append(_look(sequence, base, see, keys=positions)[:, t])
    return np.stack(rows, 1)


def _in_one_store(sequences, base, cuts):
    """Both caches write into one store, by turns."""
    steps = _Steps(cuts)
    owner = np.repeat([0, 1], NUM_TOKENS)
    token = np.tile(steps.place, 2)
    order = np.lexsort((token, owner, np.tile(steps.number, 2)))
    joined = [np.concatenate(parts, 1)[:, order] for parts in zip(*sequences, strict=True)]
    found = _look(joined, base, np.tri(2 * NUM_TOKENS, dtype=bool))
    back = np.argsort(order)
    return np.stack(np.split(found[:, back], 2, axis=1))


def _newest_value(sequence, steps):
    """Only the values of the newest step are there, and its last one serves every key."""
    return sequence[2][:, np.minimum(steps.end, NUM_TOKENS) - 1]


def _wrong_caches(sequences, base, cuts, found, right):
    steps = _Steps(cuts)
    t = steps.place
    past = t[:, None] >= t

    def each(way):
        return np.stack([way(sequence) for sequence in sequences])

    def look(see=past, **positions):
        return each(lambda sequence: _look(sequence, base, see, **positions))

    own = t - steps.start
    single = all(cut == 1 for cut in cuts)
    return {
        "right without rotation, wrong with it: each step starts again at position 0, where the new token "
        "stands at the number of cached tokens": look(queries=own, keys=own),
        "query and key of one token must have one position; your query is one ahead": look(
            queries=t + 1
        ),
        "query and key of one token must have one position; your counter moves on between the two": look(
            queries=steps.end + own
        ),
        "a key is rotated once, by its own position; yours are rotated again at every step": each(
            lambda sequence: _turned_again(sequence, base, steps)
        ),
        "both query and key are rotated, or the difference is lost; you rotate the query alone": look(
            keys=np.zeros(NUM_TOKENS)
        ),
        "both query and key are rotated, or the difference is lost; you rotate the key alone": look(
            queries=np.zeros(NUM_TOKENS)
        ),
        "the rotation is not used": each(lambda sequence: _look(sequence, None, past)),
        "the triangle is aligned top-left, so that a new query sees key 0 and not its own; see 06": look(
            own[:, None] >= t
        ),
        "the first tokens of a piece see later ones: a piece of several tokens needs its mask": look(
            t < steps.end[:, None]
        ),
        "a token does not see itself: append before you attend": look(t[:, None] > t),
        "the new tokens do not see themselves: append before you attend": look(
            t < steps.start[:, None]
        ),
        "earlier tokens are not there: keep keys and values": look(
            past & (t >= steps.start[:, None])
        ),
        "two caches share their tokens: a store belongs to an instance, not to the class": _in_one_store(
            sequences, base, cuts
        ),
        "keep values too, not the newest alone": (
            each(lambda sequence: _newest_value(sequence, steps)) if single else Seen(True)
        ),
        "empty slots are attended: a zero key has score 0 and weight e^0; cut the cache at its length": (
            Seen(_is_shrunk(found, right))
        ),
    }


def _is_shrunk(found, right):
    """Whether each context found is the right one times a number between 0 and 1."""
    share = (found * right).sum(-1, keepdims=True) / (right * right).sum(-1, keepdims=True)
    within = (share > 0) & (share <= 1 + TOLERANCE)
    return bool(within.all()) and same(found, share * right, TOLERANCE, TOLERANCE)


def _stepped(cache_class, base, sequences, cuts, setting):
    """Contexts (2, B, T, dv) of two caches, the steps of each side by side."""
    shape = sequences[0][2].shape
    contexts = []
    for steps in cache_class.via(step_caches, base, sequences, list(cuts)):
        for cut, context in zip(cuts, steps, strict=True):
            if isinstance(context, str):
                missing = ": is a `return` missing?" if context == "NoneType" else "."
                raise NotYet(f"step returned {context}, where a tensor is expected{missing}")
            wanted = (shape[0], cut, shape[2])
            if context.shape != wanted:
                raise NotYet(f"step returned shape {context.shape}, expected {wanted} ({setting}).")
        contexts.append(np.concatenate(steps, 1))
    return np.stack(contexts)


def cache_is_exact(rng, cache_class):
    """12.3: the contexts of the full causal pass, in whatever pieces two caches are fed by turns."""
    trials = tensor_trials(_wrong_caches)
    T = NUM_TOKENS
    turned = float(rng.uniform(50, 200))
    cases = [(base, cuts) for base in (turned, None) for cuts in CUTS]
    whole = "both sequences in one piece, no rotation"
    for place in (-1, *rng.permutation(len(cases))):
        base, cuts = cases[place] if place >= 0 else (None, (T,))
        arrays = rng.normal(size=(2, 3, 2, T, 4))  # two sequences of q, k, v (B, T, d)
        sequences = [list(sequence) for sequence in arrays]
        kind = "no rotation" if base is None else "with rotation"
        setting = whole if place < 0 else f"pieces of {', '.join(map(str, cuts))} tokens, {kind}"
        try:
            found = _stepped(cache_class, base, sequences, cuts, setting)
        except NotYet as error:
            if place < 0:
                raise
            raise NotYet(
                f"one piece goes well, several do not; are keys and values both kept? {error}"
            ) from None
        see = np.tri(T, dtype=bool)
        right = np.stack([_look(sequence, base, see) for sequence in sequences])
        trials.add(
            found, right, _distance(found, right, setting), sequences, base, cuts, found, right
        )
    trials.settle()
    return f"equal to the full causal pass in {len(trials)} ways to cut, two caches by turns."


# 12.4


def _step_flops(t, D, new):
    """Operations of one step: `new` tokens projected, `new` queries against t keys."""
    return {"projections": 8 * new * D * D, "pairs": 4 * new * t * D}


def _decode_flops(T, D, cached):
    total = 0
    for t in range(1, T + 1):
        total += sum(_step_flops(t, D, 1 if cached else t).values())
    return total


def _wrong_flops(T, D, cached):
    right = _decode_flops(T, D, cached)
    ts = range(1, T + 1)
    steps = [_step_flops(t, D, 1 if cached else t) for t in ts]
    projections = sum(step["projections"] for step in steps)
    pairs = sum(step["pairs"] for step in steps)
    leading = 8 * T * D**2 + 2 * T**2 * D if cached else 4 * T**2 * D**2 + 4 * T**3 * D / 3
    wrong = {
        "leading order: 1 + 2 + ... + T is T (T + 1) / 2, not half of T squared": leading,
        "every step is charged for all T tokens; step t has t of them": T
        * sum(_step_flops(T, D, 1 if cached else T).values()),
        "the projections of old tokens are counted again, which a cache saves": (
            sum(8 * t * D * D + 4 * t * D for t in ts) if cached else None
        ),
        "with and without a cache have changed places": _decode_flops(T, D, not cached),
        "half of the work on pairs is missing: scores and context are two products": (
            right - pairs // 2
        ),
        "only the newest query attends in your count; without a cache all t of them do": (
            None if cached else projections + sum(4 * t * D for t in ts)
        ),
        "the projections are missing": pairs,
        "the products over pairs of tokens are missing": projections,
        "one projection is missing: there are four": right - projections // 4,
        "hidden scores are left out; this count has all t squared of them": (
            None if cached else projections + sum(2 * t * (t + 1) * D for t in ts)
        ),
    }
    return wrong | {
        f"{sentence} (a multiply-add counted once)": None if value is None else value / 2
        for sentence, value in wrong.items()
    }


def _cache_bytes(batch, layers, groups, d, T, size):
    return math.prod((2, batch, layers, groups, d, T, size))


def _wrong_bytes(batch, layers, groups, d, T, size):
    right = _cache_bytes(batch, layers, groups, d, T, size)
    return {
        "keys *and* values are kept: a factor 2": right // 2,
        "these are numbers, not bytes; each takes `size` bytes": right // size,
        "that is one group of heads; all of them keep keys and values": right // groups,
        "the cache grows with T, not with its square: no score is kept": right * T,
        "that is one layer; each has a cache of its own": right // layers,
        "that is one sequence; each of the batch has a cache of its own": right // batch,
    }


def costs_are_exact(rng, decode_flops, cache_bytes):
    """12.4: operations of T steps with and without a cache, and what the cache holds; exact."""
    flops = Trials(_wrong_flops)
    halved = None
    drawn = (int(rng.integers(3, 40)), int(rng.integers(3, 60)))
    settings = [(10, 16), (1, 4), (5, 7), (1024, 512), drawn]
    for place in (0, *(1 + rng.permutation(4))):
        T, D = settings[place]
        for cached in (True, False):
            call = f"decode_flops({T}, {D}, {cached})"
            said = number(decode_flops(T, D, cached), call)
            right = _decode_flops(T, D, cached)
            halved = said == right / 2 if halved is None else halved
            fact = f"{call} is {said:,.0f}, which is {said / right:.4g} of what the products cost"
            flops.judge(said, right / 2 if halved else right, fact, T, D, cached)
    sizes = Trials(_wrong_bytes)
    settings = [
        (3, 24, 8, 64, 1001, 4),
        (1, 1, 1, 1, 1, 4),
        tuple(map(int, rng.integers(2, 50, 6))),
    ]
    for place in (0, *(1 + rng.permutation(2))):
        call = f"cache_bytes{settings[place]}"
        said = number(cache_bytes(*settings[place]), call)
        right = _cache_bytes(*settings[place])
        sizes.judge(said, right, f"{call} is {said:,.0f}", *settings[place])
    note = " You count multiply-adds as one operation; torch's counter says twice as much."
    ratio = _decode_flops(1024, 512, False) / _decode_flops(1024, 512, True)
    return (
        f"exact in {len(flops)} and {len(sizes)} settings; at T = 1024, D = 512 a cache saves a factor of "
        f"{ratio:.0f}.{note if halved else ''}"
    )


# 12.5


def _grouped(q, k, v, *, keys=None, values=None, causal=True, scale=None):
    """Attention in which head h uses keys[h] and values[h], numbers of groups."""
    H = q.shape[1]
    G = k.shape[1]
    own = np.arange(H) * G // H
    k = k[:, own if keys is None else keys]
    v = v[:, own if values is None else values]
    return attend(q, k, v, causal=causal, scale=scale)[0]


def _wrong_groups(q, k, v):
    _, H, _, d = q.shape
    G = k.shape[1]
    tiled = np.arange(H) % G
    k_mean = k.mean(1, keepdims=True)
    v_mean = v.mean(1, keepdims=True)
    q_mean = q.reshape(len(q), G, H // G, *q.shape[2:]).mean(2)
    few = attend(q_mean, k, v, causal=True)[0]
    return {
        "head 1 got group 1: neighbours share a group, and `repeat` or `%` deals groups out in turn": (
            _grouped(q, k, v, keys=tiled, values=tiled)
        ),
        "keys and values of a head come from different groups; only the keys are dealt out in turn": (
            _grouped(q, k, v, keys=tiled)
        ),
        "keys and values of a head come from different groups; only the values are dealt out in turn": (
            _grouped(q, k, v, values=tiled)
        ),
        "the groups are averaged; each head has its own group": attend(
            q, k_mean, v_mean, causal=True
        )[0],
        "the queries of a group are averaged; queries stay H": few,
        "the queries of a group are averaged and their result repeated; queries stay H": np.repeat(
            few, H // G, 1
        ),
        "there is no mask: a token sees later ones": _grouped(q, k, v, causal=False),
        "the scores are not scaled": _grouped(q, k, v, scale=1.0),
        "the scale is that of a whole group; it is the root of d, the width of one head": _grouped(
            q, k, v, scale=(d * H / G) ** -0.5
        ),
        "the scale has the number of groups in it; it is the root of d, the width of one head": (
            _grouped(q, k, v, scale=(d * G) ** -0.5)
        ),
        "H heads come out, and you return one for each group": _grouped(
            q[:, :: H // G], k, v, keys=np.arange(G), values=np.arange(G)
        ),
    }


def heads_share_groups(rng, grouped):
    """12.5: causal attention in which neighbouring heads share the keys and values of a group."""
    trials = tensor_trials(_wrong_groups)
    cases = [(2, 6, 2), (3, 4, 4), (1, 4, 1), (3, 6, 3)]
    for place in (0, *(1 + rng.permutation(3))):
        B, H, G = cases[place]
        T = int(rng.integers(4, 8))
        q = rng.normal(size=(B, H, T, 3))
        k, v = rng.normal(size=(2, B, G, T, 3))
        found = _one_tensor(grouped.via(run_tensors, [q, k, v]), "grouped")
        right = _grouped(q, k, v)
        fact = _distance(found, right, f"{H} heads, {G} groups, {T} tokens")
        trials.judge(found, right, fact, q, k, v)
    return "equal to attention with repeated keys and values for (H, G) = (6, 2), (4, 4), (4, 1), (6, 3)."


# 12.6

MAPS = (("elu", 0.0), ("exp", 0.0), ("relu", 0.1))


def _features(kind, shift, x):
    """The map of the driver, in NumPy."""
    maps = {"elu": np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))), "exp": np.exp(x)}
    return maps.get(kind, np.maximum(x, 0)) + shift


def _normalised(weights, v):
    return weights / weights.sum(-1, keepdims=True) @ v


def _wrong_linear(q, k, v, kind, shift, found):
    """Contexts of the known mistakes."""
    fq = _features(kind, shift, q)  # (T, d)
    fk = _features(kind, shift, k)
    products = fq @ fk.T
    past = np.tril(products)
    sums = past.sum(-1, keepdims=True)
    states = np.cumsum(fk[:, :, None] * v[:, None], 0)  # (T, d, dv)
    key_sums = np.cumsum(fk, 0)[..., None]  # (T, d, 1)
    later = _normalised(np.tril(products, -1), v)[1:]  # the first token has nothing to read
    return {
        "there is no normaliser: weights add up to one": past @ v,
        "the normaliser runs over all keys, so it sees the future": past
        / products.sum(-1, keepdims=True)
        @ v,
        "there is no mask: a token sees later ones": _normalised(products, v),
        "the result is multiplied by the normaliser, not divided": sums * (past @ v),
        "this is softmax attention; the weights asked for are products of features": attend(
            q, k, v, causal=True
        )[0],
        "this is softmax attention without the root; the weights asked for are products of features": (
            attend(q, k, v, causal=True, scale=1.0)[0]
        ),
        "it reads before it writes, where a token sees itself": Seen(
            same(found[1:], later, TOLERANCE, TOLERANCE)
        ),
        "the features are taken of the keys alone": _normalised(np.tril(q @ fk.T), v),
        "the features are taken of the queries alone": _normalised(np.tril(fq @ k.T), v),
        "no features are taken": _normalised(np.tril(q @ k.T), v),
        "each token gets its own value back: the running sum has to go over tokens, not features": v,
        "the state is divided by the sum of keys before the query reads it; read both, then divide": (
            np.einsum("td,tde->te", fq, states / key_sums)
        ),
    }


def linear_attention_is_causal(rng, linear_attention):
    """12.6: causal weights proportional to products of features, for three maps and three lengths."""
    trials = tensor_trials(_wrong_linear)
    cases = [(8, *MAPS[0])] + [(T, *features) for T in (1, 2, 8) for features in MAPS]
    for place in (0, *(1 + rng.permutation(len(cases) - 1))):
        T, kind, shift = cases[place]
        q, k = rng.normal(size=(2, T, 3))
        v = rng.normal(size=(T, 5))
        found = _one_tensor(
            linear_attention.via(run_with_features, [q, k, v], kind, shift), "linear_attention"
        )
        weights = _features(kind, shift, q) @ _features(kind, shift, k).T
        right = _normalised(np.tril(weights), v)
        fact = _distance(found, right, f"{T} tokens, features {kind}")
        if found.shape != right.shape:
            raise NotYet(f"{fact}.")
        trials.judge(found, right, fact, q, k, v, kind, shift, found)
    return f"weights are products of features, past only, in {len(trials)} cases with three maps."


# 12.7


def _why_seen(features, V):
    """The known mistake that values which are seen come from, or nothing."""
    n = len(features)
    first = np.linalg.svd(features, full_matrices=False)[0]
    seen = features @ np.linalg.pinv(features)
    direction = V / np.linalg.norm(V)
    if V.shape == features.shape and same(V, features):
        return "these are the features themselves"
    if np.ptp(V) <= 1e-9 * np.abs(V).max():
        return "equal values add up to a sum of features, which is not zero"
    if (np.abs(V).sum(1) > 0).sum() == 1:
        return "a single value is always seen: its key's features are not zero"
    if V.shape == (n, n) and same(V, seen):
        return "that is what *is* seen: the projection onto the features"
    if V.shape[1] == 1 and np.abs(first.T @ direction[:, 0]).max() > 1 - 1e-9:
        return "a singular vector with a singular value that is not zero is seen"
    return ""


def _invisible_values(value, features):
    n, d = features.shape
    V = array(value, "invisible(features)")
    V = V[:, None] if V.ndim == 1 else V
    if V.ndim != 2 or len(V) != n:
        also = " (that is one row for each feature)" if len(V) == d else ""
        raise NotYet(f"one row for each of the {n} keys is expected; the shape is {V.shape}{also}.")
    return V


def values_are_invisible(rng, invisible):
    """12.7: values, not all zero, that leave the state where zeros would leave it."""
    sizes = [(5, 3), (9, 8), (4, 1), (12, 4)]
    for place in rng.permutation(4):
        n, d = sizes[place]
        features = np.exp(rng.normal(size=(n, d)))
        (value,) = only_tensors(invisible.via(run_tensors, [features]), "invisible", 1)
        V = _invisible_values(value, features)
        largest = np.abs(V).max(initial=0)
        if not largest > 1e-12:
            raise NotYet(
                "all values are zero: that is the zero you should imitate, not what is asked for."
            )
        state = np.abs(features.T @ V).max()
        if not state <= 1e-7 * n * largest:
            why = _why_seen(features, V)
            colon = ": " if why else ""
            raise NotYet(
                f"{why}{colon}with {n} keys and {d} features the state holds {state:.2g}, not 0."
            )
    return "four times values that leave no trace in the state, for up to 12 keys."


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
