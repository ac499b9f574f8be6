"""Right and wrong answers to 12.1-12.7, each wrong one with a fragment of the message it must get."""

import math
from functools import partial
from itertools import permutations

import numpy as np
import sympy as sp
import torch

from attn_course import derive
from bank import edited

SOURCE = np.random.default_rng(11)
# Helpers such as tester("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 12.1


def random_orders(T):
    return [SOURCE.permutation(T) for _ in range(20)]


def neighbour_swaps(T):
    swaps = []
    for t in range(T - 1):
        order = np.arange(T)
        order[[t, t + 1]] = t + 1, t
        swaps.append(order)
    return swaps


close = partial(np.allclose, rtol=0, atol=1e-6)


def is_equivariant(layer, x):
    T, y = len(x), layer(x)
    return all(close(layer(x[p]), y[p]) for p in random_orders(T))


tester = partial(edited, is_equivariant)
tries = partial(tester, "random_orders(T)")


def by_matrices(layer, x):
    matrices = [np.eye(len(x))[order] for order in random_orders(len(x))]
    return bool(max(np.abs(layer(P @ x) - P @ layer(x)).max() for P in matrices) < 1e-9)


def reads_closure(layer, x):
    """Looks for what the layer is made of, and never calls it."""
    told = [cell.cell_contents for cell in layer.__closure__ or ()]
    names = set().union(*(thing for thing in told if isinstance(thing, dict)))
    return not names & {"mask", "positions", "mixture", "order"}


RIGHT["12.1"] = {
    "random permutations": is_equivariant,
    "swaps of neighbours": tries("neighbour_swaps(T)"),
    "a swap and a roll": tries("[neighbour_swaps(T)[0], np.roll(np.arange(T), 1)]"),
    "all permutations": lambda layer, x: all(
        np.allclose(layer(x[list(p)]), layer(x)[list(p)]) for p in permutations(range(len(x)))
    ),
    "matrices": by_matrices,
    "a tolerance of 1e-4": tester("y[p]", "y[p], atol=1e-4"),
    "an input of its own": tries(
        "neighbour_swaps(T)", "T, y", "x = np.random.default_rng(5).normal(size=x.shape)\n    T, y"
    ),
}
WRONG["12.1"] = {
    "equal to the last bit": (tester("close", "np.array_equal"), "agree up to rounding"),
    "reversal only": (tries("[range(T)[::-1]]"), "ring commutes with the permutations you tried"),
    "rolls only": (tries("[np.roll(np.arange(T), k) for k in range(T)]"), "ring commutes with"),
    "one swap": (
        tries("neighbour_swaps(T)[:1]"),
        "is not enough: some layers commute with it, such as pairs",
    ),
    "invariance": (tester("y[p]", "y"), "that is invariance"),
    "applied twice": (tester("layer(x[p]), y[p]", "layer(x[p])[p], y"), "applied twice"),
    "exact": (
        tester("close(layer(x[p]), y[p])", "(layer(x[p]) == y[p]).all()"),
        "compare with a tolerance",
    ),
    "another swap": (tries("neighbour_swaps(T)[1:2]"), "since some layers commute with it"),
    "tolerance 0.1": (tester("y[p]", "y[p], atol=0.1"), "too coarse"),
    "sums": (tester("layer(x[p]), y[p]", "layer(x[p]).sum(0), y.sum(0)"), "equal sums"),
    "features": (tester("len(x)", "x.shape[1]", "[p]", "[:, p]"), "permute the tokens, axis 0"),
    "the closure read, the layer never called": (reads_closure, "you say yes every time"),
    "inputs of its own at every run": (
        tester("T, y", "x = np.random.default_rng().normal(size=x.shape)\n    T, y"),
        "that are not x in another order",
    ),
    "another shape": (lambda layer, x: layer(x.T) is None, "was given an array of shape (5, "),
    "always": (lambda layer, x: True, "yes every time: for"),
    "never": (lambda layer, x: False, "no every time"),
    "tokens shuffled in place": (
        lambda layer, x: (
            np.random.default_rng(0).shuffle(x) or bool(np.allclose(layer(x), layer(x)))
        ),
        "changes its argument x in place",
    ),
}
INPUT_KINDS["12.1"] = {
    "is_equivariant": {
        "four tokens": lambda x, inputs, outputs: len(x) == 4,
        "five tokens": lambda x, inputs, outputs: len(x) == 5,
        "a layer that changes nothing": lambda x, inputs, outputs: np.array_equal(outputs[0], x),
        "small outputs": lambda x, inputs, outputs: np.abs(outputs).max() < 0.01,
    },
}

# 12.2

PAIRS = {
    "unmasked": ((0, 1, 2), (2, 1, 0)),
    "one layer": ((0, 1, 2), (1, 0, 2)),
    "any depth": ((3,), (3, 3, 3)),
}


def pairs(**changed):
    """The pairs, some replaced: names with _ for a space."""
    return PAIRS | {name.replace("_", " "): pair for name, pair in changed.items()}


RIGHT["12.2"] = {
    "doubled": pairs(unmasked=((0, 1), (0, 1, 0, 1))),
    "proportions": pairs(one_layer=((0, 1), (0, 0, 1, 1))),
    "other constants": pairs(any_depth=((5, 5), (5, 5, 5, 5, 5))),
    "lists and arrays": pairs(unmasked=[[4, 4, 2], np.array([4, 2, 4])]),
}
WRONG["12.2"] = {
    "twice the same": (pairs(unmasked=((0, 1), (0, 1))), "same sequence twice"),
    "another token": (pairs(unmasked=((0, 1, 2), (0, 1, 3))), "is not in the other"),
    "other counts": (pairs(unmasked=((0, 1, 1), (0, 0, 1))), "proportions differ: token 0"),
    "other counts, one layer": (
        pairs(one_layer=((0, 1, 1), (0, 0, 1))),
        '"one layer": proportions differ',
    ),
    "another last token": (pairs(one_layer=((0, 1, 2), (0, 2, 1))), "the last token differs"),
    "constants for one layer": (pairs(one_layer=((3,), (3, 3))), "two layers cannot"),
    "swapped prefix at any depth": (
        pairs(any_depth=((0, 1, 2), (1, 0, 2))),
        "different lengths are asked for",
    ),
    "aabb at any depth": (pairs(any_depth=((0, 1), (0, 0, 1, 1))), "two layers tell them apart"),
    "swapped and doubled prefix at any depth": (
        pairs(any_depth=((0, 1, 2), (1, 1, 0, 0, 2, 2))),
        '"any depth": two layers tell them apart',
    ),
    "not a pair": (pairs(unmasked=(0, 1, 2)), "a pair of sequences"),
    "no such token": (pairs(unmasked=((0, 7), (7, 0))), "whole numbers 0 to 5"),
    "one missing": (pairs(any_depth=None), 'no pair for "any depth"'),
    "a list": ([1, 2], "a dictionary is expected"),
}

# 12.3


def thetas(d, base):
    return base ** (-np.arange(0, d, 2) / d)


def halves(positions, d, base):
    p, rates = np.asarray(positions)[:, None], thetas(d, base)
    return np.concatenate([np.sin(p * rates), np.cos(p * rates)], -1)


sinusoid = partial(edited, halves)
rates_of = partial(sinusoid, "thetas(d, base)")
other_ladder = rates_of("base ** (-np.arange(d // 2) / max(d // 2 - 1, 1))")  # as in tensor2tensor


def interleaved(positions, d, base):
    found = np.zeros((len(positions), d))
    found[:, 0::2], found[:, 1::2] = np.split(halves(positions, d, base), 2, -1)
    return found


def in_bfloat16(positions):
    return torch.tensor(np.asarray(positions)).bfloat16().double().numpy()


def single(positions, d, base):
    a = np.asarray(positions, np.float32)[:, None] * thetas(d, base).astype(np.float32)
    return np.concatenate([np.cos(a), np.sin(a)], -1)


RIGHT["12.3"] = {
    "by turns": interleaved,
    "in halves": halves,
    "cosine first, float32": single,
    "reversed": lambda p, d, b: interleaved(p, d, b)[:, ::-1],
    "negated": lambda p, d, b: -halves(p, d, b),
    "from one": sinusoid("[:, None]", "[:, None] + 1"),
    "another ladder": other_ladder,
}
EMBEDDINGS = {}


def kept_by_length(positions, d, base):
    case = len(positions), d, base
    if case not in EMBEDDINGS:
        EMBEDDINGS[case] = interleaved(positions, d, base)
    return EMBEDDINGS[case]


WRONG["12.3"] = {
    "exponent doubled": (rates_of("thetas(d, base) ** 2"), "exponent is doubled"),
    "cosine with its own exponent": (
        sinusoid("cos(p * rates)", "cos(p * rates * base ** (-1 / d))"),
        "need one frequency",
    ),
    "both of these": (
        rates_of("thetas(d, base) ** 2", "cos(p * rates)", "cos(p * rates * base ** (-2 / d))"),
        "else length depends on position",
    ),
    "exponent halved": (rates_of("thetas(d, base) ** 0.5"), "exponent is halved"),
    "sign of the exponent": (rates_of("1 / thetas(d, base)"), "hands should slow"),
    "two sines": (
        sinusoid("np.cos", "np.sin"),
        "without its cosine a hand cannot tell forwards from backwards: inner",
    ),
    "sines alone": (sinusoid(", np.cos(p * rates)", ""), "d/2 columns"),
    "arange": (sinusoid("asarray(positions)", "arange(len(positions))"), "use the given positions"),
    "floored angles": (sinusoid("p * rates", "p // (1 / rates)"), "makes the angles integers"),
    "precedence": (
        rates_of("np.exp(np.arange(0, d, 2) * (-np.log(base) / d // 2))"),
        "rounds the exponent",
    ),
    "base ignored": (rates_of("thetas(d, 10_000.0)"), "use the base that is given"),
    "transposed": (sinusoid("-1)", "-1).T"), "the shape is"),
    "positions in bfloat16": (
        sinusoid("np.asarray(positions)", "in_bfloat16(positions)"),
        "bfloat16 holds no odd number",
    ),
    "positions in float16": (
        sinusoid("np.asarray(positions)", "np.float64(np.float16(positions))"),
        "float16 holds no odd number",
    ),
    "kept for as many positions": (kept_by_length, "off by up to"),
    "a table of 512 positions": (
        sinusoid("np.asarray(positions)", "np.mod(positions, 512)"),
        "inner products are off by up to",
    ),
    "two cosines": (sinusoid("np.sin", "np.cos"), "without its sine a hand"),
    "angles in float16": (
        sinusoid("p * rates", "np.float64(np.float16(p) * np.float16(rates))"),
        "base = 1",
    ),
}
INPUT_KINDS["12.3"] = {
    "sinusoid": {
        "one pair": lambda positions, d, base: d == 2,
        "another base": lambda positions, d, base: base != 10_000,
        "positions out of order": lambda positions, d, base: (np.diff(positions) < 0).any(),
        "an odd position above 512": lambda positions, d, base: (
            (positions[2:3] > 512).all() and positions[2] % 2
        ),
    },
}

# 12.4


def blocks(k, d, base=10_000.0):
    """M for (sine, cosine) by turns."""
    M = np.zeros((d, d))
    for i, theta in enumerate(thetas(d, base)):
        c, s = np.cos(k * theta), np.sin(k * theta)
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, s], [-s, c]]
    return M


def least_squares(k, d):
    places = np.arange(200)
    now, later = (interleaved(p, d, 10_000.0) for p in (places, places + k))
    return np.linalg.lstsq(now, later, rcond=None)[0].T


def kronecker(k, d):
    c, s = np.cos(k * thetas(d, 10_000.0)), np.sin(k * thetas(d, 10_000.0))
    return np.kron(np.diag(c), np.eye(2)) + np.kron(np.diag(s), [[0, 1], [-1, 0]])


def half_blocks(k, d):
    order = np.arange(d).reshape(-1, 2).T.ravel()
    return blocks(k, d)[np.ix_(order, order)]


RIGHT["12.4"] = {
    "blocks": blocks,
    "least squares": least_squares,
    "inverse on d positions": edited(
        least_squares,
        "np.arange(200)",
        "np.arange(0, 40 * d, 40)",
        "np.linalg.lstsq(now, later, rcond=None)[0].T",
        "later.T @ np.linalg.inv(now.T)",
    ),
    "Kronecker": kronecker,
}
WRONG["12.4"] = {
    "transposed": (lambda k, d: blocks(k, d).T, "it moves back"),
    "half-split": (half_blocks, "the other layout"),
    "k ignored": (lambda k, d: blocks(1, d), "this shifts by one"),
    "diagonal": (lambda k, d: np.diag(interleaved([k], d, 10_000.0)[0]), "a diagonal of e(j)"),
    "eye": (lambda k, d: np.eye(d, k=k), "shifts coordinates"),
    "another base": (lambda k, d: blocks(k, d, 100.0), "slower ones do not"),
    "absolute values": (lambda k, d: np.abs(blocks(k, d)), "have lost their sign"),
    "minus lost": (edited(blocks, "-s", "s"), "a rotation needs its minus"),
    "a vector": (lambda k, d: interleaved([k], d, 10_000.0)[0], "not a map"),
}
INPUT_KINDS["12.4"] = {
    "shift_matrix": {
        "backwards": lambda j, d: j < 0,
        "by nothing": lambda j, d: j == 0,
        "by several": lambda j, d: j > 1,
        "one pair": lambda j, d: d == 2,
    },
}

# 12.5, the chain

names = "q_1 q_2 k_1 k_2 theta p_q p_k delta"
q1, q2, k1, k2, theta, m, n, delta = sp.symbols(names, real=True)
a, b = m * theta, n * theta
given = (q1 * sp.cos(a) - q2 * sp.sin(a)) * (k1 * sp.cos(b) - k2 * sp.sin(b)) + (
    q1 * sp.sin(a) + q2 * sp.cos(a)
) * (k1 * sp.sin(b) + k2 * sp.cos(b))
inner, cross = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1
collected = (
    inner * (sp.cos(a) * sp.cos(b) + sp.sin(a) * sp.sin(b))
    + cross * (sp.sin(a) * sp.cos(b) - sp.cos(a) * sp.sin(b)),
    "multiply out and collect",
)
d_turn = delta * theta
far = (m - n) * theta
added = (inner * sp.cos(far) + cross * sp.sin(far), "addition theorems")
end = (inner * sp.cos(d_turn) + cross * sp.sin(d_turn), "m - n = delta")
where = {m: (n + delta, n + delta)}
n_is = {n: (m - delta, m - delta)}


def chain(*steps):
    return derive((given, "both turned"), *steps, where=where)


substituted = (given.subs(m, n + delta), "m = n + delta")
apart = (sp.expand(given), "multiply out")

# 12.5, the function


def rotate_pairs(x, positions, base):
    d = x.shape[-1]
    a = np.asarray(positions)[:, None] * thetas(d, base)
    even, odd = x[..., 0::2], x[..., 1::2]
    out = np.empty_like(x)
    out[..., 0::2] = even * np.cos(a) - odd * np.sin(a)
    out[..., 1::2] = even * np.sin(a) + odd * np.cos(a)
    return out


def with_twos(x, positions, base):
    d = x.shape[-1]
    a = np.repeat(np.asarray(positions)[:, None] * thetas(d, base), 2, -1)
    other = np.stack([-x[..., 1::2], x[..., 0::2]], -1).reshape(x.shape)
    return x * np.cos(a) + other * np.sin(a)


def with_halves(x, positions, base):
    d = x.shape[-1]
    a = np.asarray(positions)[:, None] * thetas(d, base)
    a = np.concatenate([a, a], -1)
    other = np.concatenate([-x[..., d // 2 :], x[..., : d // 2]], -1)
    return x * np.cos(a) + other * np.sin(a)


def halves_by_hand(x, positions, base):
    d = x.shape[-1]
    a = np.asarray(positions)[:, None] * thetas(d, base)
    one, other = x[..., : d // 2], x[..., d // 2 :]
    new_one = one * np.cos(a) - other * np.sin(a)
    new_other = one * np.sin(a) + other * np.cos(a)
    return np.concatenate([new_one, new_other], -1)


def complex_numbers(x, positions, base):
    d = x.shape[-1]
    z = x[..., : d // 2] + 1j * x[..., d // 2 :]
    z = z * np.exp(1j * np.asarray(positions)[:, None] * thetas(d, base))
    return np.concatenate([z.real, z.imag], -1)


def explicit(x, positions, base):
    d = x.shape[-1]
    rows = [x[..., t, :] @ blocks(p, d, base) for t, p in enumerate(positions)]
    return np.stack(rows, -2)


def single_rotation(x, positions, base):
    positions = np.asarray(positions, np.float32)
    return with_halves(x.astype(np.float32), positions, np.float32(base))


def from_pairs_to_halves(x, positions, base):
    """Reads neighbours and writes halves."""
    turned = rotate_pairs(x, positions, base)
    return np.concatenate([turned[..., 0::2], turned[..., 1::2]], -1)


def heads_for_time(x, positions, base):
    if x.ndim < 4:
        return rotate_pairs(x, positions, base)
    return rotate_pairs(x.swapaxes(-2, -3), positions, base).swapaxes(-2, -3)


rotated = partial(edited, with_twos)
angles_by = partial(rotated, "thetas(d, base)")

RIGHT["12.5"] = {
    "addition theorems": chain(collected, added, end),
    "all terms first": chain(apart, collected, added, end),
    "n for m": chain((given.subs(n, m - delta), ""), end),
    "n for m, said so": derive((given, ""), (given.subs(n, m - delta), ""), end, where=n_is),
    "delta first": chain(substituted, (collected[0].subs(m, n + delta), ""), end),
    "neighbours": rotate_pairs,
    "halves": with_halves,
    "halves by hand": halves_by_hand,
    "every two": with_twos,
    "complex numbers": complex_numbers,
    "clockwise": lambda x, p, b: rotate_pairs(x, -np.asarray(p), b),
    "matrices": explicit,
    "pairs reversed": lambda x, p, b: rotate_pairs(x[..., ::-1].copy(), p, b)[..., ::-1],
    "float32": single_rotation,
}
WRONG["12.5"] = {
    "chain: sign of the sine": (
        chain(collected, (inner * sp.cos(far) - cross * sp.sin(far), ""), end),
        "the sine has the wrong sign",
    ),
    "chain: second term dropped": (
        chain(collected, added, (inner * sp.cos(d_turn), "")),
        "the term with the sine is missing",
    ),
    "chain: m + n": (
        chain((inner * sp.cos(a + b) + cross * sp.sin(a + b), ""), end),
        "the angles are added, but their difference counts",
    ),
    "chain: angle forgotten": (
        chain(collected, (sp.sqrt((q1**2 + q2**2) * (k1**2 + k2**2)) * sp.cos(d_turn), ""), end),
        "of `score`",
    ),
    "chain: q1 k1 - q2 k2": (
        chain(((q1 * k1 - q2 * k2) * sp.cos(far) + cross * sp.sin(far), ""), end),
        "q_1 k_1 and q_2 k_2 are added",
    ),
    "chain: q1 k2 + q2 k1": (
        chain(collected, (inner * sp.cos(far) + (q1 * k2 + q2 * k1) * sp.sin(far), ""), end),
        "q_2 k_1 is subtracted, not added",
    ),
    "chain: n for m, sign of the sine": (
        chain((given.subs(n, m - delta), ""), (end[0].subs(delta, -delta), "")),
        "step 2 of `score` does not follow",
    ),
    "chain: n is left": (chain(collected, added), "still contains"),
    "mixed pairings": (
        edited(with_halves, "np.concatenate([a, a], -1)", "np.repeat(a, 2, -1)"),
        "turned by different angles",
    ),
    "minus lost": (rotated("[-x[", "[x["), "one sine needs a minus"),
    "mirrored": (
        lambda x, p, b: rotate_pairs(x, p, b) * np.resize([1, -1], x.shape[-1]),
        "to one of the two sines, and to no cosine",
    ),
    "rounded to float16": (
        lambda x, p, b: rotate_pairs(x, p, b).astype(np.float16),
        "use floats of 32 or 64 bits",
    ),
    "chain: without the given line": (
        derive((end[0], ""), where=where),
        "must start at the definition, which is given",
    ),
    "cosine only": (rotated(" + other * np.sin(a)", ""), "half of the rotation is missing"),
    "written as halves": (from_pairs_to_halves, "come out in another order"),
    "from one": (
        rotated("asarray(positions)", "add(positions, 1)"),
        "position 0 must stay as it is",
    ),
    "exponent doubled": (angles_by("thetas(d, base) ** 2"), "1e-06, expected 1, 0.1"),
    "another base": (angles_by("thetas(d, 500.0)"), "frequencies are 1, 0.2"),
    "one angle for all": (angles_by("np.ones(d // 2)"), "frequencies are 1, 1"),
    "adds": (lambda x, p, b: x + interleaved(p, x.shape[-1], b), "adds nothing"),
    "positions in bfloat16": (
        rotated("np.asarray(positions)", "in_bfloat16(positions)"),
        "bfloat16 holds no odd number",
    ),
    "a table of 512 positions": (
        rotated("np.asarray(positions)", "np.mod(positions, 512)"),
        "turns by 1: are large positions rounded?",
    ),
    "halved": (lambda x, p, b: rotate_pairs(x, p, b) / 2, "stretched or shrunk alike"),
    "the second of each pair left out": (
        rotated(
            "return x", "x = x * (np.arange(d) % 2 < 1)\n    return x", "other * np.sin(a)", "0"
        ),
        "some coordinates are lost",
    ),
    "arange": (
        lambda x, p, b: rotate_pairs(x, np.arange(x.shape[-2]), b),
        "position 1 turns no more than",
    ),
    "heads for time": (heads_for_time, "along the last axis but one"),
    "columns": (lambda x, p, b: x[..., 0], "the shape of"),
}
INPUT_KINDS["12.5"] = {
    "rotate": {
        "one pair": lambda x, positions, base: x.shape[-1] == 2,
        "another base": lambda x, positions, base: base == 100,
        "more axes": lambda x, positions, base: x.ndim == 4,
        "an odd position above 512": lambda x, positions, base: (
            max(positions) > 512 and max(positions) % 2
        ),
        "positions out of order": lambda x, positions, base: (np.diff(positions) < 0).any(),
    },
}

# 12.6


def look_back(r, rotate, d):
    k = np.ones(d)
    return 40 * rotate(k, -r), k


back = partial(edited, look_back)
queries = partial(back, "40 * rotate(k, -r)")

RIGHT["12.6"] = {
    "turned query": back("40", "30"),
    "just enough": back("40", "21"),
    "turned key": back("40 * rotate(k, -r), k", "30 * k, rotate(k, r)"),
    "a random key": back("ones(d)", "random.default_rng(0).normal(size=d)", "40", "2000"),
    "four coordinates": back("ones(d)", "float64(np.arange(d) % (d // 2) < 2)", "40", "4e4"),
    "both turned": back("-r), k", "5 - r), rotate(k, 5)"),
}
WRONG["12.6"] = {
    "one coordinate": (
        back("ones(d)", "eye(d)[0]", "40", "4e4"),
        "only coordinates that turn slowly are used",
    ),
    "one coordinate, turned twice": (
        lambda r, rotate, d: (100 * np.eye(d)[0], 100 * rotate(np.eye(d)[0], r)),
        "which ones turn fast",
    ),
    "too short": (back("40", "3"), "a longer query makes it sharper"),
    "too short, by chance with little in the pair that turns fastest": (
        back("ones(d)", "random.default_rng(0).normal(size=d)", "40", "360"),
        "right token, weight",
    ),
    "not turned": (queries("40 * k"), "it looks 0 back, where"),
    "turned the other way": (back("-r", "r"), "ahead, which the mask hides"),
    "minus": (back("40", "-40"), "has the lowest score of all"),
    "twice r": (back("-r", "-2 * r"), "twice too far"),
    "one too far": (back("-r", "-r - 1"), "it looks 4 back, where 3 back is asked for"),
    "zero": (queries("0 * k"), "uniform weights"),
    "one vector": (queries("k", "k, k", "k"), "a query and a key"),
    "shapes": (queries("np.ones((d, d))"), "the shape of the query"),
}
INPUT_KINDS["12.6"] = {
    "look_back": {
        "the token itself": lambda r, d, pairs, base: r == 0,
        "far back": lambda r, d, pairs, base: r > 7,
        "neighbours": lambda r, d, pairs, base: tuple(pairs[0]) == (0, 1),
        "halves": lambda r, d, pairs, base: tuple(pairs[0]) == (0, d // 2),
        "the other sense": lambda r, d, pairs, base: tuple(pairs[0]) == (1, 0),
        "slow first coordinates": lambda r, d, pairs, base: 0 in pairs[-1] and d > 2,
    },
}

# 12.7


def exponents(d):
    return np.arange(0, d, 2) / d


def slowed(d, base, factor):
    return base ** -exponents(d) / factor


def new_base(d, base, factor):
    return base * factor ** (d / (d - 2))


def ntk_aware(d, base, factor):
    return new_base(d, base, factor) ** -exponents(d)


def slowing(*edits):
    return edited(slowed, *edits), ntk_aware


def new_base_is(other):
    return slowed, edited(ntk_aware, "new_base(d, base, factor)", other)


RIGHT["12.7"] = {
    "powers": (slowed, ntk_aware),
    "through rates at position 1": new_base_is("(base * factor ** (d / (d - 2)))"),
    "a geometric ladder": (slowed, lambda d, b, s: np.geomspace(1, b ** (2 / d - 1) / s, d // 2)),
    "logarithms, as lists": (
        lambda d, b, s: [math.exp(-e * math.log(b)) / s for e in exponents(d)],
        lambda d, b, s: [math.exp(-e * math.log(new_base(d, b, s))) for e in exponents(d)],
    ),
}
WRONG["12.7"] = {
    "one of two": ((slowed, None), "ntk_aware is still empty"),
    "faster": (slowing("/ factor", "* factor"), "every pair turns faster, not slower"),
    "interpolation of nothing": (slowing(" / factor", ""), "interpolated(32, 10000, 4)"),
    "the two changed places": ((ntk_aware, slowed), "what the other function should return"),
    "base times factor": (new_base_is("(base * factor)"), "multiplied by the factor itself"),
    "exponent upside down": (new_base_is("(base * factor ** ((d - 2) / d))"), "upside down"),
    "a smaller base": (new_base_is("(base / factor ** (d / (d - 2)))"), "the base became smaller"),
    "to the power of d / 2": (new_base_is("(base * factor ** (d / 2))"), "far too large"),
    "the base as it was": (new_base_is("base"), "ntk_aware(32, 10000, 4)"),
    "interpolation twice": ((slowed, slowed), "of ntk_aware(32, 10000, 4) is"),
    "a frequency for each feature": (slowing("(d)", "(d).repeat(2)"), "the shape of"),
}
INPUT_KINDS["12.7"] = {
    name: {
        "a factor of one": lambda d, base, factor: factor == 1,
        "two pairs": lambda d, base, factor: d == 4,
        "a factor that is not whole": lambda d, base, factor: factor % 1,
        "another base": lambda d, base, factor: base != 10_000,
    }
    for name in ("interpolated", "ntk_aware")
}
