"""Questions 12.1-12.7, position: judges of 12.1 and 12.2, titles, minutes and hints.

The judges run layers and models on sequences, and know nothing of how positions are made.
"""

from fractions import Fraction
from itertools import permutations

import numpy as np
from numpy.random import Generator

from attn_course.answers import (
    Caller,
    NotAttempted,
    NotYet,
    array,
    as_bool,
    as_pair,
    largest_gap,
    shuffled,
)
from attn_course.answers.mistakes import Seen, Trials
from attn_course.drivers import call_with_outputs
from attn_course.questions.rotations import (
    distances_are_those_of_a_clock,
    each_looks_back,
    frequencies_are_extended,
    rotations_are_by_position,
    score_is_relative,
    shift_is_a_matrix,
)
from attn_course.register import Part, Question
from attn_utils.kernels import attend

SAME = 1e-9

# 12.1

WIDTH = 5
FAINT = 0.01  # of the positions that are easily overlooked
COARSE = 0.1  # a tolerance that overlooks them
MOST_ASKED = 60  # inputs of its own on which an answer may try a layer


def order_is_noticed(rng: Generator, is_equivariant: Caller) -> str:
    """12.1: whether a layer commutes with every permutation, for sixteen layers and two lengths.

    The layers stay in the judge: the answer is handed their outputs for x in every order, and those for
    other inputs when it asks for them.
    """
    trials = Trials(_wrong_testers)
    for T in rng.permutation((4, 5)):
        x = rng.normal(size=(T, WIDTH))
        for name, layer, right in _layers(rng, T):
            says_yes = _calls_equivariant(is_equivariant, layer, x)
            fact = f"for {name} on {T} tokens you say {says_yes}"
            if right and not says_yes:
                fact += ", and both sides agree up to rounding"
            trials.add(says_yes, right, fact, layer, x, right, says_yes)

    trials.settle()
    return "right about sixteen layers, six of them equivariant, on 4 and 5 tokens."


def _calls_equivariant(is_equivariant, layer, x):
    """Return True if the answer calls a layer equivariant; it runs again if it asks for more outputs."""
    T = len(x)
    inputs = [x[list(order)] for order in permutations(range(T))]
    outputs = [layer(tokens) for tokens in inputs]
    for _ in range(MOST_ASKED):
        result = is_equivariant.run_driver(call_with_outputs, x, inputs, outputs)
        if "asked" not in result:
            return as_bool(result["said"])

        asked = array(result["asked"], "what the layer was given")
        if asked.ndim != 2 or asked.shape[1] != WIDTH or not 1 <= len(asked) <= T:
            raise NotYet(f"the layer was given an array of shape {asked.shape}; x has {x.shape}.")
        inputs.append(asked)
        outputs.append(layer(asked))

    if asked.shape == x.shape and np.array_equal(np.sort(asked), np.sort(x)):
        raise NotYet("permute the tokens, axis 0, not the features.")
    raise NotYet(
        f"the layer was given more than {MOST_ASKED} inputs that are not x in another order; permute the "
        "rows of x."
    )


def _layers(rng, T):
    """Return [(what it is, the layer, whether it is equivariant), ...], in a random order.

    A layer takes tokens (n, d) to (n, d), for any n up to T.
    """
    projections = rng.normal(size=(3, WIDTH, WIDTH)) / WIDTH**0.5
    positions = rng.normal(size=(T, WIDTH))
    places = np.arange(T)
    own = np.eye(T)
    mean = np.full((T, T), 1 / T)
    ring = (own + np.roll(own, 1, 0) + np.roll(own, -1, 0)) / 3
    everywhere = np.ones((T, T), bool)

    def attention(x, mask=everywhere):
        context, _ = attend(*(x @ projections), mask=mask[: len(x), : len(x)])
        return context

    def mixture(weights):
        return lambda x: weights[: len(x), : len(x)] @ x

    equivariant = {
        "attention": attention,
        "a network on each token alone": lambda x: np.tanh(x @ projections[0]),
        "every token minus the mean": mixture(own - mean),
        "the mean in place of every token": mixture(mean),
        "the layer that changes nothing": lambda x: x,
        "attention with small outputs": lambda x: 1e-3 * attention(x),
    }
    others = {  # several commute with some permutations
        "causal attention": lambda x: attention(x, np.tri(T, dtype=bool)),
        "attention with positions added": lambda x: attention(x + positions[: len(x)]),
        "a running sum": mixture(np.tri(T)),
        "ring (each token averaged with its neighbours on a circle)": mixture(ring),
        "pairs (attention within tokens 0 and 1, 2 and 3, ...)": (
            lambda x: attention(x, places[:, None] // 2 == places // 2)
        ),
        "tokens in reverse": mixture(own[::-1]),
        "tokens sorted": lambda x: np.sort(x, axis=0),
        "a first token that counts double": mixture(np.diag(1.0 + (places == 0))),
        "a last token that counts double": mixture(np.diag(1.0 + (places == T - 1))),
        "attention with faint positions added": (
            lambda x: attention(x + FAINT * positions[: len(x)])
        ),
    }
    layers = [(*layer, True) for layer in equivariant.items()]
    layers += [(*layer, False) for layer in others.items()]
    return shuffled(rng, layers)


def _wrong_testers(layer, x, right, found):
    T, d = x.shape
    whole = layer(x)
    places = np.arange(T)
    backwards = places[::-1]
    swap = np.r_[1, 0, places[2:]]
    rolls = [np.roll(places, k) for k in range(T)]
    mixed = [  # none is its own inverse
        np.r_[1, 2, 0, places[3:]],
        np.roll(places, 1),
        np.r_[places[2:], 1, 0],
    ]
    every = [*rolls, *mixed, swap, backwards]
    neighbours = [np.r_[places[:t], t + 1, t, places[t + 2 :]] for t in range(T - 1)]
    turned = np.roll(np.arange(d), 1)

    def agree(one, other, limit=SAME):
        return largest_gap(one, other) <= limit

    def commutes(orders, limit=SAME):
        return all(agree(layer(x[p]), whole[p], limit) for p in orders)

    lucky = any(commutes([p]) for p in [*every, *neighbours][1:])
    may_say = {
        "you say yes every time": {True},
        "you say no every time": {False},
        "that is invariance, whatever the order the same; outputs should move along with tokens": {
            agree(layer(x[p]), whole) for p in mixed
        },
        "the permutation is applied twice, which is right only if it is its own inverse": {
            agree(layer(x[p])[p], whole) for p in mixed
        },
        "permute the tokens, axis 0, not the features": {
            agree(layer(x[:, turned]), whole[:, turned])
        },
        "ring commutes with the permutations you tried and not with others; try random ones": {
            commutes([backwards])
        },
        "ring commutes with all rolls and not with others; try random permutations": {
            commutes(rolls)
        },
        "swapping tokens 0 and 1 is not enough: some layers commute with it, such as pairs": {
            commutes([swap])
        },
        "too coarse: positions of size 0.01 go unnoticed": {commutes(every, COARSE)},
        "equal sums over tokens are not equal tokens": {
            agree(layer(x[p]).sum(0), whole.sum(0)) for p in mixed
        },
        "one permutation is not enough, since some layers commute with it; try many": (
            {True, commutes(every)} if lucky else {False}
        ),
        "sums in another order differ in the last digit; compare with a tolerance": (
            {right} if agree(whole, x) else {right, False}
        ),
    }
    return {sentence: Seen(found in answers) for sentence, answers in may_say.items()}


# 12.2

NUM_TOKENS = 6
LONGEST = 12
APART = 1e-7
TELL = ("one layer tells", "two layers tell", "three layers tell")
SCALES = np.array([0.4, 0.4, 1.0, 1.0])[:, None, None]  # of weights that do not saturate


def pairs_are_blind(rng: Generator, blind_pairs: Caller) -> str:
    """12.2: each pair is run through three random models; nothing is compared with a reference."""
    pairs = blind_pairs.value()
    if not isinstance(pairs, dict):
        raise NotYet(f"a dictionary is expected, but this is of type {type(pairs).__name__}.")
    if all(pair is None for pair in pairs.values()):
        raise NotAttempted

    models = [_model(rng) for _ in range(3)]
    for name in ("unmasked", "one layer", "any depth"):
        if pairs.get(name) is None:
            raise NotYet(f'there is no pair for "{name}" yet.')
        why = _why_not_blind(name, models, _pair(pairs[name], name))
        if why is not None:
            raise NotYet(f'"{name}": {why}.')

    return "three random models are blind where they should be, and two layers see what one cannot."


def _why_not_blind(name, models, pair):
    """Return a clause on a pair that models tell apart, or that two layers do not; None if all is well."""
    one, two = pair
    if name == "one layer" and one[-1] != two[-1]:
        return "the last token differs, and its output starts from itself"
    if name == "any depth" and len(one) == len(two):
        return f"both have {len(one)} tokens; different lengths are asked for"

    gaps = [_gap(models, pair, depth, causal=name != "unmasked") for depth in (1, 2, 3)]
    if name == "one layer" and gaps[0] <= SAME:
        return None if gaps[1] > APART else "two layers cannot tell these apart either"
    for tell, gap in zip(TELL, gaps, strict=True):
        if not gap <= SAME:
            in_depth = f"{tell} them apart by {gap:.2g}"
            return in_depth if name == "any depth" else _how_contents_differ(pair)
    return None


def _model(rng, d=8):
    """Draw embeddings and, for each of three layers, query, key, value and a network on each token."""
    embeddings = rng.normal(size=(NUM_TOKENS, d))
    layers = rng.normal(size=(len(TELL), 4, d, d))
    return embeddings, layers * SCALES / d**0.5


def _gap(models, pair, depth, *, causal):
    """Return the distance of the two outputs for a pair, in the model where it is largest."""
    gaps = []
    for model in models:
        one, other = (_run(model, tokens, depth, causal) for tokens in pair)
        gaps.append(largest_gap(one, other))
    return max(gaps)


def _run(model, tokens, depth, causal):
    """Return the last output under a causal mask, or the mean of all, (d,), after `depth` layers."""
    embeddings, layers = model
    x = embeddings[list(tokens)]
    for query, key, value, network in layers[:depth]:
        context, _ = attend(x @ query, x @ key, x @ value, causal=causal)
        x = x + context
        x = x + np.tanh(x @ network)
    return x[-1] if causal else x.mean(0)


def _pair(value, name):
    expected = f'"{name}" should be a pair of sequences, such as ((0, 1), (2, 3)).'
    first, second = as_pair(value, expected)
    one = _sequence(first, f'sequence 1 of "{name}"')
    other = _sequence(second, f'sequence 2 of "{name}"')
    if one == other:
        raise NotYet(f'"{name}": that is the same sequence twice.')
    return one, other


def _sequence(value, name):
    tokens = array(value, name)
    if tokens.ndim != 1 or not 1 <= len(tokens) <= LONGEST:
        raise NotYet(f"{name} should be a sequence of 1 to {LONGEST} tokens.")
    if not np.isin(tokens, range(NUM_TOKENS)).all():
        raise NotYet(f"{name}: the tokens are the whole numbers 0 to {NUM_TOKENS - 1}.")
    return tuple(int(token) for token in tokens)


def _how_contents_differ(pair):
    """Return a clause on how two sequences differ beyond order and length; "" if they do not."""
    one, two = map(set, pair)
    for strange in (one - two, two - one):
        if strange:
            return f"token {min(strange)} is not in the other"

    for token in sorted(one):
        share, other = (Fraction(tokens.count(token), len(tokens)) for tokens in pair)
        if share != other:
            return f"proportions differ: token {token} is {share} of one and {other} of the other"
    return ""


# The questions

QUESTIONS = (
    Question(
        "12.1",
        "Does it see the order?",
        8,
        (Part("code", ("is_equivariant",), order_is_noticed, points=1), Part("written", points=1)),
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
        "12.2",
        "Sentences it cannot tell apart",
        8,
        (Part("code", ("blind_pairs",), pairs_are_blind, points=0.5),),
        hints=(
            "Without a mask nothing but the proportions of the tokens reaches the mean.",
            "The last token of one causal layer sees all the others, but not in which order they came.",
            "For any depth: think of a sequence in which every token has the same past, whatever its length.",
        ),
    ),
    Question(
        "12.3",
        "A clock with many hands",
        9,
        (
            Part("code", ("sinusoid",), distances_are_those_of_a_clock, points=1),
            Part("written", points=1),
        ),
        hints=(
            "First the d/2 frequencies, then an outer product of positions and frequencies, (T, d/2).",
            "Each angle gives two coordinates, its sine and its cosine.",
            "In words: when do two angles have the same sine and the same cosine?",
        ),
    ),
    Question(
        "12.4",
        "Moving on is a matrix",
        6,
        (Part("code", ("shift_matrix",), shift_is_a_matrix, points=0.5),),
        hints=(
            "Write out sin(a + b) and cos(a + b): both are sums of sin(a) and cos(a) with fixed factors.",
            "Each pair of coordinates has a block of its own, two by two; nothing else is mixed.",
        ),
    ),
    Question(
        "12.5",
        "Rotate instead of add",
        12,
        (
            Part("derive", ("score",), score_is_relative, points=1),
            Part("code", ("rotate",), rotations_are_by_position, points=1),
        ),
        hints=(
            "Multiply out, and collect what stands with q₁k₁ + q₂k₂ and with q₁k₂ - q₂k₁.",
            "cos a cos b + sin a sin b and sin a cos b - cos a sin b are a cosine and a sine of one angle.",
            "In code: angles (T, d/2) as in 12.3, then two new coordinates from each pair of old ones.",
        ),
    ),
    Question(
        "12.6",
        "Look r tokens back, and beyond the length",
        12,
        (Part("code", ("look_back",), each_looks_back, points=1), Part("written", points=1)),
        hints=(
            "If query and key are the same vector, where is the score largest? Move that place.",
            "The rotation may be asked for any position, a negative one too.",
            "If the peak is in the right place but too flat: a longer query makes every difference larger.",
            "In words: up to 15, which positions and which distances occurred in training? Which are new "
            "at position 20, and which at 100?",
        ),
    ),
    Question(
        "12.7",
        "Longer than it was trained for",
        12,
        (Part("code", ("interpolated", "ntk_aware"), frequencies_are_extended, points=1),),
        hints=(
            "Interpolation by 2: position 2p takes the old angle of p. What happens to each frequency?",
            "NTK-aware: put the slowest pair, i = d/2 - 1, into base ** (-2i / d). Which base slows it down?",
            "Solve new ** (-(d - 2) / d) = old ** (-(d - 2) / d) / factor for the new base.",
        ),
    ),
)
