"""Questions 11.1-11.6, position; judges measure properties, and accept every layout that has them."""

from fractions import Fraction
from functools import cache

import numpy as np

from attn_course.chain_rules import PLAIN, TURNS, Task, gone, occurrences
from attn_course.drivers import (
    call_with_layer,
    call_with_rotation,
    make_layer,
    make_rotation,
)
from attn_course.explaining import Seen, Trials
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.register import Part, Question
from attn_course.trees import children, walk
from attn_course.values import array, matrix, truth, vector
from attn_course.verdict import NotAttempted, NotYet
from attn_utils.kernels import softmax

BASE = 10_000.0
NEAR = 1e-4  # angles taken in float32 still pass


def frequencies(d, base, power=1.0):
    """base ** (-2i / d) for i = 0 .. d/2 - 1, raised to a power."""
    return float(base) ** (-power * np.arange(0, d, 2) / d)


def clock(positions, d, base=BASE):
    """Sine and cosine by turns, (T, d)."""
    angles = np.multiply.outer(np.asarray(positions, float), frequencies(d, base))
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(len(angles), d)


def _off(one, two):
    return not np.abs(one - two).max() <= NEAR


# 11.1


def _layers(rng, T, d):
    """{what it is: (the layer as data, whether it is equivariant)}, in a random order."""
    projections = rng.normal(size=(3, d, d)) / d**0.5
    positions = rng.normal(size=(T, d))
    places = np.arange(T)
    mean = np.full((T, T), 1 / T)
    around = np.eye(T) + np.roll(np.eye(T), 1, 0) + np.roll(np.eye(T), -1, 0)
    attention = {"projections": projections}
    pairs = places[:, None] // 2 == places // 2
    found = {
        "attention": (attention, True),
        "a network on each token alone": ({"features": projections[0]}, True),
        "every token minus the mean": ({"mixture": np.eye(T) - mean}, True),
        "the mean in place of every token": ({"mixture": mean}, True),
        "the layer that changes nothing": ({}, True),
        "attention with small outputs": ({**attention, "factor": 1e-3}, True),
        "causal attention": ({**attention, "mask": np.tri(T, dtype=bool)}, False),
        "attention with positions added": ({**attention, "positions": positions}, False),
        "a running sum": ({"mixture": np.tri(T)}, False),
        "ring (each token averaged with its neighbours on a circle)": (
            {"mixture": around / 3},
            False,
        ),
        "pairs (attention within tokens 0 and 1, 2 and 3, ...)": (
            {**attention, "mask": pairs},
            False,
        ),
        "tokens in reverse": ({"mixture": np.eye(T)[::-1]}, False),
        "tokens sorted": ({"order": True}, False),
        "a first token that counts double": ({"mixture": np.diag(1.0 + (places == 0))}, False),
        "a last token that counts double": ({"mixture": np.diag(1.0 + (places == T - 1))}, False),
        "attention with faint positions added": (
            {**attention, "positions": positions / 100},
            False,
        ),
    }
    names = list(found)
    return {names[k]: found[names[k]] for k in rng.permutation(len(names))}


def _commutes(layer, x, orders, limit=1e-9):
    return all(np.abs(layer(x[p]) - layer(x)[p]).max() <= limit for p in orders)


def _testers(layer, x, right):
    """{sentence: what a tester with this mistake may say}."""
    T, d = x.shape
    places = np.arange(T)
    rolls = [np.roll(places, k) for k in range(T)]
    swap = np.r_[1, 0, places[2:]]
    mixed = [np.r_[1, 2, 0, places[3:]], rolls[1], np.r_[places[2:], 1, 0]]
    features = np.roll(np.arange(d), 1)
    whole = layer(x)
    every = [*rolls, *mixed, swap, places[::-1]]

    def differs(found, wanted, limit=1e-9):
        return not np.abs(found - wanted).max() <= limit

    once = {not differs(layer(x[p]), whole) for p in mixed}
    twice = {not differs(layer(x[p])[p], whole) for p in mixed}
    sums = {not differs(layer(x[p]).sum(0), whole.sum(0)) for p in mixed}
    coarse = _commutes(layer, x, every, 0.1)
    unsure = {right, False} if differs(layer(x), x) else {right}
    return {
        "you say yes every time": {True},
        "you say no every time": {False},
        "that is invariance, whatever the order the same; outputs should move along with tokens": once,
        "your permutation is applied twice, which is right only if it is its own inverse": twice,
        "permute the tokens, axis 0, not the features": {
            not differs(layer(x[:, features]), whole[:, features])
        },
        "ring commutes with the permutations you tried and not with others; try random ones": {
            _commutes(layer, x, [places[::-1]])
        },
        "ring commutes with all rolls and not with others; try random permutations": {
            _commutes(layer, x, rolls)
        },
        "swapping tokens 0 and 1 is not enough: pairs survives it": {_commutes(layer, x, [swap])},
        "too coarse: positions of size 0.01 go unnoticed": {coarse},
        "equal sums over tokens are not equal tokens": sums,
        "sums in another order differ in the last digit; compare with a tolerance": unsure,
    }


def order_is_noticed(rng, is_equivariant):
    """11.1: whether a layer commutes with every permutation, for sixteen layers and three lengths."""

    def mistakes(told, x, right, found):
        said = _testers(make_layer(told), x, right)
        return {sentence: Seen(found in answers) for sentence, answers in said.items()}

    trials = Trials(mistakes)
    for T in rng.permutation((4, 5, 6)):
        x = rng.normal(size=(T, 5))
        for name, (told, right) in _layers(rng, T, 5).items():
            found = truth(is_equivariant.via(call_with_layer, told, x))
            said = f"for {name} on {T} tokens you say {found}"
            trials.add(found, right, said, told, x, right, found)
    trials.settle()
    return "right about sixteen layers, six of them equivariant, on 4, 5 and 6 tokens."


# 11.2

NUM_TOKENS = 6
LONGEST = 12
SAME = 1e-9
APART = 1e-7


def _model(rng, depth, d=8):
    """Embeddings and, for each layer, query, key, value and a network on each token."""
    scale = np.array([0.4, 0.4, 1.0, 1.0])[:, None, None]  # weights that do not saturate
    return rng.normal(size=(NUM_TOKENS, d)), rng.normal(size=(depth, 4, d, d)) * scale / d**0.5


def _run(model, tokens, depth, causal):
    """Outputs (T, d) after so many layers, each with residuals."""
    embeddings, layers = model
    x = embeddings[list(tokens)]
    for query, key, value, network in layers[:depth]:
        scores = (x @ query) @ (x @ key).T / x.shape[-1] ** 0.5
        if causal:
            scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        x = x + softmax(scores) @ (x @ value)
        x = x + np.tanh(x @ network)
    return x


def _gap(models, pair, depth, causal):
    """How far the model that tells a pair best apart does: by the mean, or causally by the last."""
    gaps = []
    for model in models:
        one, two = (_run(model, tokens, depth, causal) for tokens in pair)
        ends = (one[-1], two[-1]) if causal else (one.mean(0), two.mean(0))
        gaps.append(np.abs(ends[0] - ends[1]).max())
    return max(gaps)


def _sequence(value, name):
    found = array(value, name)
    if found.ndim != 1 or not 1 <= len(found) <= LONGEST:
        raise NotYet(f"{name} should be a sequence of 1 to {LONGEST} tokens.")
    if not np.isin(found, np.arange(NUM_TOKENS)).all():
        raise NotYet(f"{name}: the tokens are the whole numbers 0 to {NUM_TOKENS - 1}.")
    return tuple(int(token) for token in found)


def _pair(value, name):
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise NotYet(f'"{name}" should be a pair of sequences, such as ((0, 1), (2, 3)).')
    one, two = (_sequence(part, f'sequence {k} of "{name}"') for k, part in enumerate(value, 1))
    if one == two:
        raise NotYet(f'"{name}": that is the same sequence twice.')
    return one, two


def _contents_differ(pair):
    """How the tokens of two sequences differ beyond their order and length, or nothing."""
    one, other = pair
    for a, b in ((one, other), (other, one)):
        strange = sorted(set(a) - set(b))
        if strange:
            return f"token {strange[0]} is not in the other"
    for token in sorted(set(one)):
        shares = [Fraction(tokens.count(token), len(tokens)) for tokens in pair]
        if shares[0] != shares[1]:
            return f"proportions differ: token {token} is {shares[0]} of one and {shares[1]} of the other"
    return ""


def _judge_unmasked(models, pair):
    for depth in (1, 2, 3):
        if not _gap(models, pair, depth, causal=False) <= SAME:
            raise NotYet(f'"unmasked": {_contents_differ(pair)}.')


def _judge_one_layer(models, pair):
    if pair[0][-1] != pair[1][-1]:
        raise NotYet('"one layer": the last token differs, and its output starts from itself.')
    if not _gap(models, pair, 1, causal=True) <= SAME:
        raise NotYet(f'"one layer": {_contents_differ(pair)}.')
    if not _gap(models, pair, 2, causal=True) > APART:
        raise NotYet('"one layer": two layers cannot tell these apart either.')


def _judge_any_depth(models, pair):
    lengths = [len(tokens) for tokens in pair]
    if lengths[0] == lengths[1]:
        raise NotYet(
            f'"any depth": both have {lengths[0]} tokens; different lengths are asked for.'
        )
    for depth, layers in enumerate(("one layer tells", "two layers tell", "three layers tell"), 1):
        gap = _gap(models, pair, depth, causal=True)
        if not gap <= SAME:
            raise NotYet(f'"any depth": {layers} them apart by {gap:.2g}.')


BLIND = {
    "unmasked": _judge_unmasked,
    "one layer": _judge_one_layer,
    "any depth": _judge_any_depth,
}


def pairs_are_blind(rng, blind_pairs):
    """11.2: each pair is run through three random models; nothing is compared with a reference."""
    said = blind_pairs.value()
    if not isinstance(said, dict):
        raise NotYet(f"a dictionary is expected, but this is a {type(said).__name__}.")
    if all(pair is None for pair in said.values()):
        raise NotAttempted
    models = [_model(rng, 3) for _ in range(3)]
    for name, judge in BLIND.items():
        if said.get(name) is None:
            raise NotYet(f'there is no pair for "{name}" yet.')
        judge(models, _pair(said[name], name))
    return "three random models are blind where they should be, and two layers see what one cannot."


# 11.3

ANOTHER_LADDER = (
    "Your last wavelength is exactly 2π times the base; the formula above stops one step earlier."
)
ANOTHER_START = "Your hands start elsewhere, a turn common to all positions: no distance notices."


def _gram(sines, cosines):
    """Inner products (T, T) of embeddings made of the sines and cosines of these angles (T, d/2)."""
    return np.sin(sines) @ np.sin(sines).T + np.cos(cosines) @ np.cos(cosines).T


def _turning(positions, rates):
    """The inner products where hands turn at these rates."""
    angles = np.multiply.outer(np.asarray(positions, float), rates)
    return _gram(angles, angles)


def _gram_mistakes(positions, d, base, found):
    theta = frequencies(d, base)
    steps = np.arange(0, d, 2)
    angles = np.multiply.outer(np.asarray(positions, float), theta)
    floored = positions[:, None] // (1 / theta)
    return {
        "the exponent is doubled, so that at d = 8 the last hand moves 1000 times too slowly": (
            _turning(positions, theta**2)
        ),
        "the exponent is halved: only half of the range of wavelengths is used": (
            _turning(positions, theta**0.5)
        ),
        "sign of the exponent: hands should slow down, these speed up": (
            _turning(positions, 1 / theta)
        ),
        "without its cosine a hand cannot tell forwards from backwards": (
            2 * np.sin(angles) @ np.sin(angles).T
        ),
        "use the given positions: two that are equal must have equal embeddings": (
            _turning(np.arange(len(positions)), theta)
        ),
        "floor division makes the angles integers": _gram(floored, floored),
        "floor division rounds the exponent: `a / d // 2` is (a / d) // 2": (
            _turning(positions, np.exp(steps * (-np.log(base) / d // 2)))
        ),
        "sine and cosine of a pair need one frequency, else length depends on position": (
            Seen(not np.ptp(np.diag(found)) <= 1e-3)
        ),
    }


def _embedding(sinusoid, positions, d, base):
    """What sinusoid gives, (T, d)."""
    found = array(sinusoid(positions, d, base), f"sinusoid(positions, {d}, {base:g})")
    if found.shape == (len(positions), d // 2):
        raise NotYet(
            f"d/2 columns, {found.shape}: without its cosine a hand cannot tell forwards from backwards."
        )
    if found.shape != (len(positions), d):
        raise NotYet(f"the shape is {found.shape}, expected {(len(positions), d)}.")
    return found


def _has_other_ladder(embedding, positions, d, base):
    """Whether its rates go from 1 to 1 / base in equal steps of their logarithm."""
    rates = float(base) ** -np.linspace(0, 1, d // 2)
    return not _off(embedding @ embedding.T, _turning(positions, rates))


def _cases(rng):
    """(positions, d, base) for the judge of 11.3: positions in order, and some that repeat."""
    early, late = rng.integers([3, 60], [9, 99])
    in_order = np.arange(41)
    mixed = np.array([early, late, early, 0])
    sizes = rng.permutation([(8, BASE), (6, 100.0)])
    return [(positions, int(d), base) for d, base in sizes for positions in (in_order, mixed)]


def distances_are_those_of_a_clock(rng, sinusoid):
    """11.3: the Gram matrix is that of the formula, so any order, sign or start of the hands passes."""
    cases = _cases(rng)
    found = [_embedding(sinusoid, *case) for case in cases]
    if all(_has_other_ladder(e, *case) for e, case in zip(found, cases, strict=True)):
        return f"inner products depend on the distance alone. {ANOTHER_LADDER}"
    one_hand = (cases[1][0], 2, BASE)
    cases.append(one_hand)
    found.append(_embedding(sinusoid, *one_hand))
    trials = Trials(_gram_mistakes, relative=0, absolute=NEAR)
    for (positions, d, base), embedding in zip(cases, found, strict=True):
        gram = embedding @ embedding.T
        right = _turning(positions, frequencies(d, base))
        off = np.abs(gram - right).max()
        fact = f"inner products are off by up to {off:.2g} at d = {d}, base = {base:g}"
        trials.judge(gram, right, fact, positions, d, base, gram)
    at_zero = np.sort(np.abs(found[-1][-1]))
    starts_elsewhere = _off(at_zero, np.array([0.0, 1.0]))
    remark = f" {ANOTHER_START}" if starts_elsewhere else ""
    return f"inner products depend on the distance as they should, for d = 8, 6 and 2.{remark}"


# 11.4


def _pairings(d):
    """{layout: pairs (d/2, 2)}: neighbours, the same turning the other way, first half with second."""
    neighbours = np.arange(d).reshape(-1, 2)
    halves = np.arange(d).reshape(2, -1).T
    return {"neighbours": neighbours, "clockwise": neighbours[:, ::-1], "halves": halves}


def _blocks(k, d, base=BASE, sign=1.0, layout="neighbours"):
    """The matrix (d, d) that turns each (sine, cosine) by k times its frequency."""
    angles = k * frequencies(d, base)
    found = np.zeros((d, d))
    for pair, angle in zip(_pairings(d)[layout], angles, strict=True):
        cos = np.cos(angle)
        sin = np.sin(angle)
        found[np.ix_(pair, pair)] = [[cos, sin], [-sign * sin, cos]]
    return found


def _shift_mistakes(k, d, now, found):
    """What each mistake makes of the embeddings `now` (d, T)."""
    right = _blocks(k, d)
    wrong = {
        "it moves back, M e(p) = e(p - k), as the transpose of M does": right.T,
        "right for the other layout; here sine and cosine alternate": _blocks(
            k, d, layout="halves"
        ),
        "this shifts by one, whatever k": _blocks(1, d),
        "a diagonal of e(k) stretches coordinates; sine and cosine have to be mixed": np.diag(
            clock([k], d)[0]
        ),
        "`eye` with an offset shifts coordinates, not positions": np.eye(d, k=k),
        "a rotation needs its minus: one of the two sines": _blocks(k, d, sign=-1.0),
        "both sines have lost their sign": np.abs(right),
    }
    table = {sentence: way @ now for sentence, way in wrong.items()}
    slow = "the first hand moves as it should and slower ones do not, as with another base"
    return table | {slow: Seen(_first_hand_alone(found, right @ now))}


def _first_hand_alone(found, right):
    """Whether embeddings (d, T) have the first pair right and every pair of length one."""
    lengths = np.linalg.norm(found.reshape(-1, 2, found.shape[1]), axis=1)
    return not _off(found[:2], right[:2]) and not _off(lengths, np.ones_like(lengths))


def _shift(shift_matrix, k, d):
    """What shift_matrix gives, (d, d)."""
    name = f"shift_matrix({k}, {d})"
    value = array(shift_matrix(k, d), name)
    if value.shape == (d,):
        raise NotYet(f"{name} is a vector, such as e({k}): a position, not a map of shape (d, d).")
    return matrix(value, (d, d), name)


def shift_is_a_matrix(rng, shift_matrix):
    """11.4: M e(p) = e(p + k) at positions 20 to 59."""
    trials = Trials(_shift_mistakes, relative=0, absolute=NEAR)
    drawn = int(rng.integers(4, 11))
    settings = rng.permutation([(3, 8), (-2, 6), (0, 4), (11, 2), (drawn, 8)])
    positions = np.arange(20, 60)
    for k, d in settings.tolist():
        now = clock(positions, d).T
        right = clock(positions + k, d).T
        found = _shift(shift_matrix, k, d) @ now
        off = np.abs(found - right).max()
        fact = f"M e(p) and e(p + k) differ by up to {off:.2g} (k = {k}, d = {d})"
        trials.add(found, right, fact, k, d, now, found)
    trials.settle()
    return f"M e(p) = e(p + k) for {len(trials)} shifts, forwards, backwards and by nothing."


# 11.5


def _turns(node):
    return occurrences(node, "cos", "sin") > 0


def _is_free_of_products(line):
    """No factor that turns meets another one, and none is squared."""
    for node in walk(line):
        turning = [part for part in children(node) if _turns(part)]
        if node[0] == "Pow" and turning:
            return False
        if node[0] == "Mul" and len(turning) > 1:
            return False
    return True


@cache
def _relative_score():
    import sympy as sp

    names = "q_1 q_2 k_1 k_2 theta m n delta"
    q1, q2, k1, k2, theta, m, n, delta = symbols = sp.symbols(names, real=True)
    a = m * theta
    b = n * theta
    first = (q1 * sp.cos(a) - q2 * sp.sin(a)) * (k1 * sp.cos(b) - k2 * sp.sin(b))
    second = (q1 * sp.sin(a) + q2 * sp.cos(a)) * (k1 * sp.sin(b) + k2 * sp.cos(b))
    cosine = (q1 * k1 + q2 * k2) * sp.cos(delta * theta)
    sine = (q1 * k2 - q2 * k1) * sp.sin(delta * theta)
    return Claim(
        name="`score`",
        start=first + second,
        goal=cosine + sine,
        to_do=(
            Task("no product of two turns is left, by the addition theorems", _is_free_of_products),
            gone("delta put in for m - n", "m"),
        ),
        symbols=symbols,
        where={m: (n + delta, n + delta)},
        heads=PLAIN | TURNS,
        only=(q1, q2, k1, k2, theta, delta),
    )


def score_is_relative(rng, score):
    """11.5: from the two turned pairs to a line that knows the distance alone."""
    judge_derivation(score, _relative_score())
    return "the score depends on m and n through their difference alone."


def _turned(rotate, x, positions, base):
    """What rotate gives, of the shape of x."""
    name = f"rotate of an array {x.shape}"
    return matrix(rotate(x, np.asarray(positions), base), x.shape, name)


def _matrix_at(rotate, position, d, base):
    """The matrix by which a column is turned at this position, measured on unit vectors."""
    return _turned(rotate, np.eye(d)[:, None], [position], base)[:, 0].T


def _why_lengths_change(found, theta):
    sizes = np.linalg.svd(found, compute_uv=False)
    cos = np.cos(theta)
    sin = np.sin(theta)
    known = {
        "that is no rotation: one sine needs a minus": np.r_[cos + sin, cos - sin],
        "half of the rotation is missing: there is a cosine and no sine": np.r_[cos, cos],
        "half of the rotation is missing: there is a sine and no cosine": np.r_[sin, sin],
    }
    for sentence, wrong in known.items():
        if not _off(np.sort(np.abs(wrong)), np.sort(sizes)):
            return sentence
    return "lengths change: the two coordinates of a pair are turned by different angles"


ROW = "row i must be turned by positions[i]"


def _judge_matrices(at, theta):
    """at: {position: matrix} for 0 to 3; a rotation by position times some frequencies."""
    still = np.eye(len(at[0]))
    if not _off(at[1], at[0]):
        raise NotYet(f"{ROW}: position 1 turns no more than position 0.")
    if _off(at[1].T @ at[1], still):
        why = _why_lengths_change(at[1], theta)
        sizes = np.linalg.svd(at[1], compute_uv=False)
        raise NotYet(f"{why}: at position 1 by {sizes.min():.2f} to {sizes.max():.2f}.")
    if _off(at[0], still):
        raise NotYet(
            "scores are right if only differences count; but position 0 must stay as it is. Do yours "
            "start at 1?"
        )
    if _off(at[1] @ at[2], at[3]):
        raise NotYet("turning by 1 and then by 2 is not turning by 3.")


def _judge_frequencies(turned_by_one, theta):
    angles = np.angle(np.linalg.eigvals(turned_by_one))
    found = np.sort(np.abs(angles))
    if _off(found, np.sort(np.repeat(theta, 2))):
        said = ", ".join(f"{value:.3g}" for value in found[::-2])
        right = ", ".join(f"{value:.3g}" for value in theta)
        raise NotYet(f"frequencies are {said}, expected {right}.")


def _judge_rotation(rng, rotate, d, base):
    """All that makes it a rotation by position times frequency, in any pairing and sense."""
    theta = frequencies(d, base)
    late = int(rng.integers(20, 40))
    positions = (0, 1, 7, 2, late)
    x = rng.normal(size=(5, d))
    once = _turned(rotate, x, positions, base)
    twice = _turned(rotate, 2 * x, positions, base)
    if _off(twice, 2 * once):
        raise NotYet("twice the vector should turn into twice the result: you add; multiply.")
    at = {p: _matrix_at(rotate, p, d, base) for p in (0, 1, 2, 3, 7, late)}
    _judge_matrices(at, theta)
    batch = rng.normal(size=(3, 5, 5, d))
    turned = _turned(rotate, batch, positions, base)
    for i, p in enumerate(positions):
        if _off(turned[:, :, i], batch[:, :, i] @ at[p].T):
            raise NotYet(f"{ROW}, counted along the last axis but one.")
    _judge_frequencies(at[1], theta)


def rotations_are_by_position(rng, rotate):
    """11.5: linear, keeps lengths, composes, leaves position 0, has the frequencies."""
    settings = rng.permutation([(8, BASE), (6, 100.0), (2, BASE)])
    for d, base in settings.tolist():
        try:
            _judge_rotation(rng, rotate, int(d), base)
        except NotYet as error:
            raise NotYet(f"{error} (d = {d:g}, base = {base:g})") from None
    return "a rotation by position times frequency, for d = 8, 6 and 2, in a pairing of your own."


# 11.6

LENGTH = 24
ENOUGH = 0.99


def _why_not_back(q, k, rotate, r):
    """Where the last query looks, if it is not the token r back."""
    ahead = np.arange(2 * LENGTH)
    query = rotate(q, LENGTH - 1)
    scores = rotate(k, ahead) @ query / len(q) ** 0.5
    seen = scores[:LENGTH]
    looks = LENGTH - 1 - int(seen.argmax())
    if not np.ptp(seen) > 1e-9:
        return "the query or the key is zero, and every token is seen equally: uniform weights"
    if r > 0 and int(scores.argmax()) == LENGTH - 1 + r:
        return f"it looks {looks} back: its peak is {r} ahead, which the mask hides"
    if looks == r:
        return f"right token, weight {softmax(seen).max():.3f}: a longer query makes it sharper"
    if LENGTH - 1 - int(seen.argmin()) == r:
        return f"it flees the token {r} back, which scores least of all; mind the sign"
    if looks == 2 * r:
        return f"it looks {looks} back, twice too far: turn the query or the key, not both"
    return f"it looks {looks} back, where {r} back is asked for"


def _query_and_key(pair, d):
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise NotYet("look_back should return a query and a key.")
    return vector(pair[0], d, "the query"), vector(pair[1], d, "the key")


def _least_weight(q, k, rotate, r):
    """The smallest weight that any token puts on the token r back."""
    positions = np.arange(LENGTH)
    scores = rotate(q, positions) @ rotate(k, positions).T / len(q) ** 0.5
    weights = softmax(np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf))
    return weights.diagonal(-r).min()


def each_looks_back(rng, look_back):
    """11.6: in any layout, every token puts 99% of its causal attention on the token r back."""
    settings = (("neighbours", 16, BASE), ("halves", 16, BASE), ("clockwise", 8, 100.0))
    distances = (0, 1, 3, 7, int(rng.integers(8, 13)))
    cases = [(*setting, r) for setting in settings for r in distances]
    for place in rng.permutation(len(cases)):
        layout, d, base, r = cases[place]
        pairs = _pairings(d)[layout]
        q, k = _query_and_key(look_back.via(call_with_rotation, r, d, pairs, base), d)
        rotate = make_rotation(pairs, base)
        least = _least_weight(q, k, rotate, r)
        if not least >= ENOUGH:
            why = _why_not_back(q, k, rotate, r)
            setting = f"r = {r}, d = {d}, base = {base:g}; the least weight is {least:.3f}"
            raise NotYet(f"{why} ({setting}).")
    return (
        f"at least 99% on the token r back at every position, in {len(cases)} cases, three layouts."
    )


QUESTIONS = (
    Question(
        "11.1",
        "Does it see the order?",
        8,
        (
            Part("code", 1, ("is_equivariant",), order_is_noticed),
            Part("written", 1),
        ),
        hints=(
            "Permute the rows of x, run the layer, and ask what should have happened to its outputs.",
            "With an index array p, compare the layer of x[p] with the layer's output of x, indexed by p.",
            "Some layers commute with a few permutations. Random ones, or all swaps of neighbours, find them "
            "out; compare up to rounding.",
        ),
        seconds=20.0,
    ),
    Question(
        "11.2",
        "Sentences it cannot tell apart",
        8,
        (Part("code", 1, ("blind_pairs",), pairs_are_blind),),
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
            Part("code", 1, ("sinusoid",), distances_are_those_of_a_clock),
            Part("written", 1),
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
        (Part("code", 1, ("shift_matrix",), shift_is_a_matrix),),
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
            Part("derive", 1, ("score",), score_is_relative),
            Part("code", 1, ("rotate",), rotations_are_by_position),
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
            Part("code", 1, ("look_back",), each_looks_back),
            Part("written", 1),
        ),
        hints=(
            "If query and key are the same vector, where is the score largest? Move that place.",
            "The rotation may be asked for any position, a negative one too.",
            "The peak is in the right place and too blunt? A longer query sharpens every difference.",
        ),
    ),
)
