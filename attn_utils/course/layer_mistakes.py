"""What judges know of causal layers with several heads: the mistakes they invite; knows no question.

One computation on tensors is the reference and, with one of its steps replaced, each known mistake.
"""

from functools import partial

import numpy as np

from ..kernels import softmax
from ..masks import causal_mask
from .drivers import run_layer
from .tensors import TOLERANCE, leaves_of, match, match_gradients, sound
from .verdict import NotYet

AXES = ("B", "T", "D", "H", "max_length")


def judge_layer(rng, layer_class, cases, *, shapes, compute, known):
    """Equal to `compute` under given parameters, gradients included; both dropouts do their work.

    cases: rows of (B, T, *sizes); the layer is made as layer_class(*sizes), with D and H the first two.
    shapes: sizes -> {parameter: shape}. compute: (leaves, H, **steps) -> output, where leaves holds
    the tensors by name, x among them. known: (leaves, H) -> {sentence: output}, its own mistakes.
    """
    for case in cases:
        B, T, *sizes = case
        D, H = sizes[:2]
        x, parameters = rng.normal(size=(B, T, D)), _draw(rng, shapes(*sizes))
        setting = f"({', '.join(AXES[: len(case)])}) = {case}"
        result = sound(layer_class.via(run_layer, sizes, parameters, x), parameters)
        leaves = leaves_of({"x": x, **parameters})
        right = compute(leaves, H)
        mistakes = partial(_mistakes, leaves, H, compute, known)
        match(result["outputs"][0], right, setting, mistakes)
        match_gradients(result["gradients"], right, leaves, setting)
    _judge_dropouts(rng, layer_class, [6, 1, *sizes[2:]], shapes)
    return f"outputs and gradients agree on {len(cases)} shapes, and both dropouts do their work."


def _draw(rng, shapes):
    """Random arrays by parameter name; large enough for weights that are far from uniform."""
    return {name: rng.normal(size=shape) / shape[-1] ** 0.5 * 1.5 for name, shape in shapes.items()}


def linear(leaves, x, name):
    """x W^T + b, as nn.Linear stores it."""
    return x @ leaves[f"{name}.weight"].mT + leaves[f"{name}.bias"]


def cut(x, num_heads):
    """(B, T, D) -> (B, H, T, d), neighbouring features together."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def glue(x):
    """(B, H, T, d) -> (B, T, D), one head after the other."""
    return x.transpose(1, 2).flatten(2)


def finish(leaves, scores, values, *, slip="", merge=glue):
    """From scores (B, H, T, T) and values (B, H, T, d) to the output (B, T, D)."""
    return linear(leaves, merge(causal_weights(scores)[slip] @ values), "out")


def masked_weights(scores, look):
    """{slip: weights (..., T, S)} under the mask `look`; the slip "" is none."""
    hidden = scores.where(look, -np.inf)
    return {
        "": softmax(hidden),
        "queries": softmax(hidden, -2),
        "after": softmax(scores) * look,
        "polarity": softmax(scores.where(~look, -np.inf)),
        "zero": softmax(scores.where(look, 0)),
        "none": softmax(scores),
    }


def causal_weights(scores):
    """The same under the causal mask, and what else may go wrong with that; scores (B, H, T, T)."""
    look = causal_mask(scores.shape[-1], like=scores)
    return masked_weights(scores, look) | {
        "heads": softmax(scores.where(look, -np.inf), 1),
        "future": softmax(scores.where(look.mT, -np.inf)),
        "strict": softmax(scores.where(look.tril(-1), -np.inf)),
    }


MASK_SLIPS = {
    "queries": "the softmax runs over the queries: columns sum to one, and the future leaks in",
    "heads": "the softmax runs over the heads, where each row of keys should sum to one",
    "after": "the mask comes after the softmax: later keys still count in the denominator",
    "polarity": "the mask is the wrong way round: a query sees only what comes after it",
    "future": "the mask is transposed: a query sees itself and the future, not the past",
    "strict": "a token cannot see itself: the diagonal is hidden too",
    "zero": "hidden scores are set to 0, and exp(0) = 1 is not nothing",
    "none": "there is no causal mask: a token sees the future",
}


def _flat_cut(x, num_heads):
    return x.reshape(len(x), num_heads, x.shape[1], -1)


def _flat_glue(x):
    return x.reshape(len(x), x.shape[2], -1)


WRONG_CUTS = {
    "the heads are cut without moving an axis, so a head mixes several tokens": _flat_cut,
    "every H-th feature goes to a head, where neighbours belong together": (
        lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)
    ),
}
WRONG_GLUES = {
    "the heads are glued without moving an axis, so features of several tokens mix": _flat_glue,
    "the heads are merged in the wrong order: their features are interleaved": (
        lambda x: x.permute(0, 2, 3, 1).flatten(2)
    ),
    "the heads are merged in the wrong order: the last comes first": lambda x: glue(x.flip(1)),
}


def _without(leaves, name):
    """The leaves with a projection that changes nothing."""
    bias = leaves[f"{name}.bias"]
    return leaves | {f"{name}.weight": bias.new_ones(len(bias)).diag(), f"{name}.bias": 0}


def _mistakes(leaves, num_heads, compute, known):
    """{sentence: output}: the layer's own mistakes, then those that any such layer invites."""
    run, x = partial(compute, leaves, num_heads), leaves["x"]
    both = "the heads are cut and glued without moving an axis, so heads mix several tokens"
    return known(leaves, num_heads) | {
        **{sentence: run(slip=slip) for slip, sentence in MASK_SLIPS.items()},
        **{sentence: run(split=split) for sentence, split in WRONG_CUTS.items()},
        **{sentence: run(merge=merge) for sentence, merge in WRONG_GLUES.items()},
        both: run(split=_flat_cut, merge=_flat_glue),
        "the last projection, `out`, is missing": compute(_without(leaves, "out"), num_heads),
        "the projection `value` is missing": compute(_without(leaves, "value"), num_heads),
        "the input is added to the output; that is the work of whoever calls the layer": run() + x,
    }


def _judge_dropouts(rng, layer_class, sizes, shapes):
    """With one token and one head each dropout leaves exact traces; off in eval, on in training."""
    x, parameters = rng.normal(size=(40, 1, sizes[0])), _draw(rng, shapes(*sizes))

    def outputs(**options):
        return np.array(
            sound(layer_class.via(run_layer, sizes, parameters, x, **options), parameters)[
                "outputs"
            ]
        )

    (calm,) = outputs()
    for option in ("attention_dropout", "residual_dropout"):
        far = np.abs(outputs(repeats=2, **{option: 0.5}) - calm).max()
        if far > TOLERANCE:
            raise NotYet(f"{option} is left on in eval mode: the output moves by up to {far:.2g}.")
    if not np.allclose(outputs(train=True), calm, atol=TOLERANCE):
        raise NotYet("with both dropouts at 0, training mode should change nothing.")
    bias = parameters["out.bias"]
    _judge_attention_dropout(*outputs(train=True, attention_dropout=0.5), calm, bias)
    _judge_residual_dropout(*outputs(train=True, residual_dropout=0.5), calm)


def _judge_attention_dropout(found, calm, bias):
    """A single weight of 1 is either dropped, leaving the bias, or doubled."""
    kept, lost = (np.isclose(found, y).all(-1) for y in (2 * (calm - bias) + bias, bias))
    if (kept | lost).all() and 0.15 < lost.mean() < 0.85:
        return
    if np.allclose(found, calm):
        raise NotYet(
            "attention_dropout changes nothing in training: it should drop weights after the softmax."
        )
    if (np.isclose(found, 0) | np.isclose(found, 2 * calm)).all():
        raise NotYet("attention_dropout acts on the output; the two dropouts have changed places.")
    raise NotYet("attention_dropout does not drop whole weights: it acts somewhere else.")


def _judge_residual_dropout(found, calm):
    """A feature of the output is either dropped or doubled."""
    kept, lost = np.isclose(found, 2 * calm), np.isclose(found, 0)
    if (kept | lost).all() and 0.25 < lost.mean() < 0.75:
        return
    if np.allclose(found, calm):
        raise NotYet(
            "residual_dropout changes nothing in training: it should drop output features."
        )
    raise NotYet("residual_dropout does not drop features of the final output: it acts too early.")
