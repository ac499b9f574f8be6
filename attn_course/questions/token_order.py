"""Judges of 11.1 and 11.2, what attention without positions knows of the order of its tokens.

They run layers and models on sequences, and know nothing of how positions are made.
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotAttempted,
    NotYet,
    array,
    largest_gap,
    shuffled,
    truth,
    two,
)
from attn_course.answers.mistakes import (
    Seen,
    Trials,
)
from attn_course.drivers import call_with_outputs
from attn_utils.kernels import softmax

SAME = 1e-9

# 11.1

WIDTH = 5
FAINT = 0.01  # of the positions that are easily overlooked
COARSE = 0.1  # a tolerance that overlooks them
MOST_ASKED = 60  # inputs of its own on which an answer may try a layer


def order_is_noticed(rng: Generator, is_equivariant: Caller) -> str:
    """11.1: whether a layer commutes with every permutation, for sixteen layers and two lengths.

    The layers stay in the judge: the answer is handed their outputs for x in every order, and those for
    other inputs when it asks for them.
    """
    trials = Trials(_wrong_testers)
    for T in rng.permutation((4, 5)):
        x = rng.normal(size=(T, WIDTH))
        for name, told, right in _layers(rng, T):
            found = _said_of(is_equivariant, make_layer(told), x)
            fact = f"for {name} on {T} tokens you say {found}"
            if right and not found:
                fact += ", and both sides agree up to rounding"
            trials.add(found, right, fact, told, x, right, found)

    trials.settle()
    return "right about sixteen layers, six of them equivariant, on 4 and 5 tokens."


def _said_of(is_equivariant, layer, x):
    """What the answer says of a layer; it is run again with one output more as long as it asks for one."""
    T = len(x)
    inputs = [x[list(order)] for order in permutations(range(T))]
    for _ in range(MOST_ASKED):
        outputs = [layer(tokens) for tokens in inputs]
        result = is_equivariant.via(call_with_outputs, x, inputs, outputs)
        if "asked" not in result:
            return truth(result["said"])

        asked = array(result["asked"], "what the layer was given")
        if asked.ndim != 2 or asked.shape[1] != WIDTH or not 1 <= len(asked) <= T:
            raise NotYet(f"the layer was given an array of shape {asked.shape}; x has {x.shape}.")
        inputs.append(asked)

    if asked.shape == x.shape and np.array_equal(np.sort(asked), np.sort(x)):
        raise NotYet("permute the tokens, axis 0, not the features.")
    raise NotYet(
        f"the layer was given more than {MOST_ASKED} inputs that are not x in another order; permute the "
        "rows of x."
    )


def make_layer(told: dict) -> Callable:
    """A layer from tokens (T, d) to (T, d), made of arrays that are told, in this order.

    "positions" (T, d) are added; three "projections" (3, d, d) attend, under a "mask" (T, T) if there is
    one; a "mixture" (T, T) mixes tokens; "features" (d, d) change each token alone; "order" sorts each
    feature; a "factor" multiplies all.
    """

    def layer(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, float)
        T = len(x)
        if "positions" in told:
            x = x + told["positions"][:T]
        if "projections" in told:
            x = _attended(x, told["projections"], told.get("mask"))
        if "mixture" in told:
            mixture = told["mixture"]
            x = mixture[:T, :T] @ x
        if "features" in told:
            x = np.tanh(x @ told["features"])
        if "order" in told:
            x = np.sort(x, axis=0)
        return x * told.get("factor", 1.0)

    return layer


def _attended(x, projections, mask):
    """Attention (T, d) of tokens (T, d), under a mask (at least (T, T)) if there is one."""
    T, d = x.shape
    q, k, v = (x @ projection for projection in projections)
    scores = q @ k.T / d**0.5
    if mask is not None:
        look = mask[:T, :T]
        scores = np.where(look, scores, -np.inf)
    weights = softmax(scores)
    return weights @ v


def _layers(rng, T):
    """[(what it is, the layer as data, whether it is equivariant), ...], in a random order.

    T: the number of tokens that they are run on.
    """
    projections = rng.normal(size=(3, WIDTH, WIDTH))
    projections /= WIDTH**0.5
    positions = rng.normal(size=(T, WIDTH))

    layers = []
    for name, told in _equivariant_layers(projections, T).items():
        layers.append((name, told, True))
    for name, told in _other_layers(projections, positions).items():
        layers.append((name, told, False))
    return shuffled(rng, layers)


def _equivariant_layers(projections, T):
    """{what it is: the layer as data}."""
    attention = {"projections": projections}
    mean = np.full((T, T), 1 / T)
    return {
        "attention": attention,
        "a network on each token alone": {"features": projections[0]},
        "every token minus the mean": {"mixture": np.eye(T) - mean},
        "the mean in place of every token": {"mixture": mean},
        "the layer that changes nothing": {},
        "attention with small outputs": {**attention, "factor": 1e-3},
    }


def _other_layers(projections, positions):
    """{what it is: the layer as data}; several commute with some permutations."""
    attention = {"projections": projections}
    T = len(positions)
    places = np.arange(T)
    same_pair = places[:, None] // 2 == places // 2
    is_first = places == 0
    is_last = places == T - 1
    return {
        "causal attention": {**attention, "mask": np.tri(T, dtype=bool)},
        "attention with positions added": {**attention, "positions": positions},
        "a running sum": {"mixture": np.tri(T)},
        "ring (each token averaged with its neighbours on a circle)": {"mixture": _ring(T)},
        "pairs (attention within tokens 0 and 1, 2 and 3, ...)": {**attention, "mask": same_pair},
        "tokens in reverse": {"mixture": np.eye(T)[::-1]},
        "tokens sorted": {"order": True},
        "a first token that counts double": {"mixture": np.diag(1.0 + is_first)},
        "a last token that counts double": {"mixture": np.diag(1.0 + is_last)},
        "attention with faint positions added": {**attention, "positions": FAINT * positions},
    }


def _ring(T):
    """The matrix (T, T) that averages each token with its two neighbours on a circle."""
    own = np.eye(T)
    before = np.roll(own, 1, 0)
    after = np.roll(own, -1, 0)
    return (own + before + after) / 3


def _wrong_testers(told, x, right, found):
    """{sentence: whether a tester with this mistake may say what was found}."""
    layer = make_layer(told)
    rounds = _is_off(layer(x), x)
    tables = (
        _comparisons(layer, x),
        _too_few_permutations(layer, x),
        {
            "sums in another order differ in the last digit; compare with a tolerance": (
                {right, False} if rounds else {right}
            )
        },
    )
    seen = {}
    for table in tables:
        for sentence, answers in table.items():
            seen[sentence] = Seen(found in answers)

    return seen


def _comparisons(layer, x):
    """{sentence: what one may say who compares the wrong things}."""
    T, d = x.shape
    whole = layer(x)
    orders = _mixed_orders(T)
    turned = np.roll(np.arange(d), 1)
    return {
        "you say yes every time": {True},
        "you say no every time": {False},
        "that is invariance, whatever the order the same; outputs should move along with tokens": {
            not _is_off(layer(x[p]), whole) for p in orders
        },
        "the permutation is applied twice, which is right only if it is its own inverse": {
            not _is_off(layer(x[p])[p], whole) for p in orders
        },
        "permute the tokens, axis 0, not the features": {
            not _is_off(layer(x[:, turned]), whole[:, turned])
        },
    }


def _too_few_permutations(layer, x):
    """{sentence: what one may say who tries few permutations, or is too coarse}."""
    T = len(x)
    places = np.arange(T)
    backwards = places[::-1]
    swap = np.r_[1, 0, places[2:]]
    rolls = [np.roll(places, k) for k in range(T)]
    mixed = _mixed_orders(T)
    every = [*rolls, *mixed, swap, backwards]
    neighbours = [np.r_[places[:t], t + 1, t, places[t + 2 :]] for t in range(T - 1)]
    lucky = any(_commutes(layer, x, [p]) for p in [*every, *neighbours][1:])
    sums = layer(x).sum(0)
    return {
        "ring commutes with the permutations you tried and not with others; try random ones": {
            _commutes(layer, x, [backwards])
        },
        "ring commutes with all rolls and not with others; try random permutations": {
            _commutes(layer, x, rolls)
        },
        "swapping tokens 0 and 1 is not enough: some layers commute with it, such as pairs": {
            _commutes(layer, x, [swap])
        },
        "too coarse: positions of size 0.01 go unnoticed": {_commutes(layer, x, every, COARSE)},
        "equal sums over tokens are not equal tokens": {
            not _is_off(layer(x[p]).sum(0), sums) for p in mixed
        },
        "one permutation is not enough, since some layers commute with it; try many": (
            {True, _commutes(layer, x, every)} if lucky else {False}
        ),
    }


def _mixed_orders(T):
    """Three orders of T tokens, none of which is its own inverse where there are enough tokens."""
    places = np.arange(T)
    return [
        np.r_[1, 2, 0, places[3:]],
        np.roll(places, 1),
        np.r_[places[2:], 1, 0],
    ]


def _commutes(layer, x, orders, limit=SAME):
    """Whether permuting tokens first or last is the same for all of these orders."""
    whole = layer(x)
    moved = [_is_off(layer(x[p]), whole[p], limit) for p in orders]
    return not any(moved)


def _is_off(found, wanted, limit=SAME):
    """Whether two arrays differ by more than the limit, or hold a nan."""
    return not largest_gap(found, wanted) <= limit


# 11.2

NUM_TOKENS = 6
LONGEST = 12
APART = 1e-7
TELL = ("one layer tells", "two layers tell", "three layers tell")
SCALES = np.array([0.4, 0.4, 1.0, 1.0])[:, None, None]  # of weights that do not saturate


def pairs_are_blind(rng: Generator, blind_pairs: Caller) -> str:
    """11.2: each pair is run through three random models; nothing is compared with a reference."""
    said = blind_pairs.value()
    if not isinstance(said, dict):
        raise NotYet(f"a dictionary is expected, but this is of type {type(said).__name__}.")
    if all(pair is None for pair in said.values()):
        raise NotAttempted

    models = [_model(rng, 3) for _ in range(3)]
    for name, judge in BLIND.items():
        if said.get(name) is None:
            raise NotYet(f'there is no pair for "{name}" yet.')
        pair = _pair(said[name], name)
        judge(models, pair)

    return "three random models are blind where they should be, and two layers see what one cannot."


def _judge_unmasked(models, pair):
    """The mean output is the same at every depth."""
    for depth in (1, 2, 3):
        gap = _gap(models, pair, depth, causal=False)
        if not gap <= SAME:
            raise NotYet(f'"unmasked": {_how_contents_differ(pair)}.')


def _judge_one_layer(models, pair):
    """The last output is the same after one causal layer, and not after two."""
    one, two = pair
    if one[-1] != two[-1]:
        raise NotYet('"one layer": the last token differs, and its output starts from itself.')

    after_one = _gap(models, pair, 1, causal=True)
    if not after_one <= SAME:
        raise NotYet(f'"one layer": {_how_contents_differ(pair)}.')

    after_two = _gap(models, pair, 2, causal=True)
    if not after_two > APART:
        raise NotYet('"one layer": two layers cannot tell these apart either.')


def _judge_any_depth(models, pair):
    """Sequences of different lengths have the same last output at every depth, causally."""
    one, two = pair
    if len(one) == len(two):
        raise NotYet(f'"any depth": both have {len(one)} tokens; different lengths are asked for.')

    for depth, tell in enumerate(TELL, 1):
        gap = _gap(models, pair, depth, causal=True)
        if not gap <= SAME:
            raise NotYet(f'"any depth": {tell} them apart by {gap:.2g}.')


BLIND = {
    "unmasked": _judge_unmasked,
    "one layer": _judge_one_layer,
    "any depth": _judge_any_depth,
}


def _model(rng, depth, d=8):
    """Embeddings and, for each layer, query, key, value and a network on each token."""
    embeddings = rng.normal(size=(NUM_TOKENS, d))
    layers = rng.normal(size=(depth, 4, d, d))
    layers *= SCALES / d**0.5
    return embeddings, layers


def _run(model, tokens, depth, causal):
    """Outputs (T, d) after so many layers, each with residuals."""
    embeddings, layers = model
    x = embeddings[list(tokens)]
    T, d = x.shape
    hidden = ~np.tri(T, dtype=bool)
    for query, key, value, network in layers[:depth]:
        q = x @ query
        k = x @ key
        v = x @ value
        scores = q @ k.T / d**0.5
        if causal:
            scores[hidden] = -np.inf
        weights = softmax(scores)
        x = x + weights @ v
        x = x + np.tanh(x @ network)

    return x


def _gap(models, pair, depth, *, causal):
    """How far apart what comes out for a pair is, for the model that tells them apart best."""
    gaps = []
    for model in models:
        one = _result(model, pair[0], depth, causal)
        other = _result(model, pair[1], depth, causal)
        gaps.append(largest_gap(one, other))

    return max(gaps)


def _result(model, tokens, depth, causal):
    """The last output under a causal mask, the mean of all without, (d,)."""
    outputs = _run(model, tokens, depth, causal)
    return outputs[-1] if causal else outputs.mean(0)


def _pair(value, name):
    """Two different sequences of tokens."""
    expected = f'"{name}" should be a pair of sequences, such as ((0, 1), (2, 3)).'
    first, second = two(value, expected)
    one = _sequence(first, f'sequence 1 of "{name}"')
    other = _sequence(second, f'sequence 2 of "{name}"')
    if one == other:
        raise NotYet(f'"{name}": that is the same sequence twice.')
    return one, other


def _sequence(value, name):
    """A tuple of tokens."""
    found = array(value, name)
    if found.ndim != 1 or not 1 <= len(found) <= LONGEST:
        raise NotYet(f"{name} should be a sequence of 1 to {LONGEST} tokens.")

    tokens = range(NUM_TOKENS)
    if not np.isin(found, tokens).all():
        raise NotYet(f"{name}: the tokens are the whole numbers 0 to {NUM_TOKENS - 1}.")
    return tuple(int(token) for token in found)


def _how_contents_differ(pair):
    """How the tokens of two sequences differ beyond their order and length, or nothing."""
    one, two = pair
    in_both = set(one) & set(two)
    for tokens in pair:
        strange = set(tokens) - in_both
        if strange:
            return f"token {min(strange)} is not in the other"

    for token in sorted(in_both):
        share = _share(token, one)
        other = _share(token, two)
        if share != other:
            return f"proportions differ: token {token} is {share} of one and {other} of the other"

    return ""


def _share(token, sequence):
    """How much of a sequence is this token, exactly."""
    return Fraction(sequence.count(token), len(sequence))
