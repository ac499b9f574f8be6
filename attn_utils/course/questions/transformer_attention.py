"""Questions 6.1-6.7, causal multi-head attention in torch; judges measure, they hold no answer.

A wrong answer is compared with simulated mistakes, made with NumPy, before anything is said about it.
"""

from functools import partial

import numpy as np

from ...kernels import attend as reference_attend
from ...kernels import softmax
from ..reading import array, number
from ..register import Part, Question
from ..tensors import (
    TOLERANCE,
    gradients_of,
    match,
    match_gradients,
    only_tensors,
    probe,
    run_function,
    run_layer,
    sound,
)
from ..verdict import NotAttempted, NotYet

SHAPES = {"B": 2, "T": 5, "D": 12, "H": 3}


def _measured_shapes(B, T, D, H):
    """Run the computation on zeros and look."""
    d, x, W = D // H, np.zeros((B, T, D)), np.zeros((D, D))
    q, heads = x @ W, np.zeros((B, H, T, d))
    many = heads @ heads.mT
    context = many @ heads
    merged = np.concatenate([context[:, head] for head in range(H)], -1)
    measured = {"q": q, "scores": q @ q.mT, "context": (q @ q.mT) @ q, "q_heads": heads}
    measured |= {"scores_heads": many, "context_heads": context, "y": merged @ W}
    return {name: value.shape for name, value in measured.items()}


def shapes_are_predicted(rng, shapes):
    """6.1: the shape of every tensor of the batched computation."""
    said, right = shapes.value(), _measured_shapes(**SHAPES)
    if isinstance(said, dict) and not any(said.values()):
        raise NotAttempted
    if not isinstance(said, dict):
        raise NotYet(f"a dictionary is expected, but this is a {type(said).__name__}.")
    for name, shape in right.items():
        if said.get(name) is None:
            raise NotYet(f"there is no prediction for {name} yet.")
        found = tuple(int(size) for size in array(said[name], name).reshape(-1))
        if found != shape:
            raise NotYet(f"{name}: {_why_not_shape(found, shape, **SHAPES)}.")
    return f"all {len(right)} shapes are those of the computation."


def _why_not_shape(found, shape, B, T, D, H):
    d, said = D // H, f"you predicted {found}"
    if found == shape[1:]:
        return f"{said}; that is one sequence, and the batch axis is missing"
    if found == (B, T, D) and shape == (B, T, T):
        return (
            f"{said}, the shape of the input; a score belongs to a pair of tokens, not to a feature"
        )
    swapped = tuple({H: d, d: H}.get(size, size) for size in found)
    if swapped == shape:
        return f"{said}; there are {H} heads of width {d}, not {d} heads of width {H}"
    if sorted(found) == sorted(shape):
        return f"{said}; the sizes are right, their order is not: matmul works on the last two axes"
    if len(shape) == 4 and shape[-1] == d and tuple(found) == (B, H, T, D):
        return f"{said}; each head has its share of the width, not all of it"
    return f"{said}, {np.prod(found)} numbers in {len(found)} axes; the tensor has {np.prod(shape)}"


def _scores_known(q, k):
    d, T = q.shape[-1], q.shape[-2]
    plain = q @ k.mT
    known = {
        "the scores are not scaled": plain,
        "the scores are divided by d, where sqrt(d) is asked for": plain / d,
        "the scores are multiplied by sqrt(d), where they are to be divided": plain * d**0.5,
        "rows and columns are swapped: row t should hold the scores of query t": plain.mT / d**0.5,
        "this is already a softmax; the scores themselves are asked for": softmax(plain / d**0.5),
    }
    if q.shape[0] == T == d:
        reversed_axes = q @ k.transpose(2, 1, 0)
        sentence = "`.T` turns all three axes round, the batch included; only the last two may swap"
        known |= {sentence: reversed_axes / d**0.5, sentence + " (nor is it scaled)": reversed_axes}
    elif T > 1:
        known["the scores are divided by the root of the length, not of d"] = plain / T**0.5
    return known


def scores_are_scaled_products(rng, scores):
    """6.2: q k^T / sqrt(d) for every sequence of the batch, with gradients, on odd sizes."""
    for B, T, d in ((4, 4, 4), (2, 5, 3), (1, 1, 4), (3, 7, 8)):
        q, k = rng.normal(size=(2, B, T, d))
        setting = f"(B, T, d) = {(B, T, d)}"
        result = scores.via(run_function, [q, k])
        (found,) = only_tensors(result, "scores", 1)
        match(found, q @ k.mT / d**0.5, _scores_known(q, k), setting)
        cotangent = probe((B, T, T)) / d**0.5
        right = {"q": cotangent @ k, "k": cotangent.mT @ q}
        match_gradients(_named(result, "qk"), right, setting)
    return "equal to the scaled products on four shapes, gradients included."


def _named(result, names):
    gradients = result["gradients"]
    return gradients and dict(zip(names, gradients, strict=True))


def _attend_cases(rng):
    """(shape of q's leading axes, T, S, mask): open, random, causal, one row without any key."""
    for lead, T, S in (((2,), 3, 5), ((2,), 5, 5), ((2, 3), 4, 6), ((1,), 1, 1), ((2, 3), 4, 4)):
        some = rng.random((*lead, T, S)) < 0.5
        some[..., 0] = True
        yield lead, T, S, np.ones((T, S), bool)
        yield lead, T, S, some
        yield lead, T, S, np.tri(T, S, dtype=bool)
    closed = np.array(some)
    closed[0, ..., 2, :] = False
    yield lead, T, S, closed


def _attend_known(q, k, mask):
    """Weights of the mistakes this course has met."""
    d, scores = q.shape[-1], q @ k.mT / q.shape[-1] ** 0.5
    mask = np.broadcast_to(mask, scores.shape)
    hidden, after = np.where(mask, scores, -np.inf), np.where(mask, softmax(scores), 0)
    with np.errstate(invalid="ignore"):
        renormalised = after / after.sum(-1, keepdims=True)
    return {
        "the softmax runs over the queries, so that columns sum to one": softmax(hidden, axis=-2),
        "the softmax runs over the first axis, the batch": softmax(hidden, axis=0),
        "the scores are not scaled": softmax(hidden * d**0.5),
        "the scores are divided by d, not by sqrt(d)": softmax(hidden / d**0.5),
        "the mask comes after the softmax: hidden keys still count in the denominator": after,
        "the mask is read the other way round; True means may look": (
            softmax(np.where(mask, -np.inf, scores))
        ),
        "hidden scores are set to 0, and exp(0) = 1 is not nothing": softmax(
            np.where(mask, scores, 0)
        ),
        "the mask is not used": softmax(scores),
        "a row that may look at nothing shares its weight out equally; it should be zero": (
            softmax(np.where(mask, scores, -1e9))
        ),
        "a row that may look at nothing comes out as nan; it should be zero": renormalised,
    }


def attend_is_masked_softmax(rng, attend):
    """6.3: context and weights under any boolean mask, rows without a key zero, gradients finite."""
    num_cases = 0
    for lead, T, S, mask in _attend_cases(rng):
        d, dv = 3, 7
        q, k = rng.normal(size=(*lead, T, d)) * 2, rng.normal(size=(*lead, S, d))
        v = rng.normal(size=(*lead, S, dv))
        closed = "" if mask.any(-1).all() else ", a row without any key"
        setting = f"q {q.shape}, k {k.shape}{closed}"
        result = attend.via(run_function, [q, k, v, mask])
        context, weights = only_tensors(result, "attend", 2)
        if context.shape == (*lead, T, S) and weights.shape == (*lead, T, dv):
            raise NotYet("context and weights have changed places; the context comes first.")
        right_context, right_weights = reference_attend(q, k, v, mask=mask)
        match(weights, right_weights, _attend_known(q, k, mask), f"weights, {setting}")
        match(context, right_context, {}, f"context, {setting}")
        match_gradients(_named(result, "qkv"), _attend_gradients(q, k, v, mask), setting)
        num_cases += 1
    return f"weights, context and gradients agree in {num_cases} cases, one with a row without any key."


def _attend_gradients(q, k, v, mask):
    import torch

    leaves = [torch.tensor(value, requires_grad=True) for value in (q, k, v)]
    context, _ = reference_attend(*leaves, mask=torch.tensor(mask))
    gradients = gradients_of(context, leaves)
    return dict(zip("qkv", gradients, strict=True))


def _mask_readings(mask, scores):
    """Weights under each convention the mask could follow: {what True or 0 means: weights}."""
    kind = mask.dtype.kind
    if kind == "b" or set(np.unique(mask)) <= {0, 1}:
        look = mask.astype(bool)
        return {
            "True = may look": softmax(np.where(look, scores, -np.inf)),
            "True = hidden": softmax(np.where(look, -np.inf, scores)),
        }
    return {"added to the scores": softmax(scores + mask)}


def mask_is_causal(rng, causal_mask):
    """6.4: under some convention, the weights are those of a query that sees itself and its past."""
    meaning = ""
    for T in (7, 2, 1, 4):
        (mask,) = only_tensors(causal_mask.via(run_function, [], T), "causal_mask", 1)
        if mask.squeeze().shape != np.zeros((T, T)).squeeze().shape:
            raise NotYet(f"causal_mask({T}) has shape {mask.shape}, expected {(T, T)}.")
        mask, scores = mask.reshape(T, T), rng.normal(size=(T, T))
        look = np.arange(T)[:, None] >= np.arange(T)
        right = softmax(np.where(look, scores, -np.inf))
        if np.isnan(mask).any():
            raise NotYet("the mask contains nan: 0 times infinity is not 0.")
        readings = _mask_readings(mask, scores)
        fits = [name for name, w in readings.items() if np.allclose(w, right, atol=TOLERANCE)]
        if not fits:
            raise NotYet(_why_not_causal(readings, scores, look, T))
        meaning = meaning or fits[0]
    note = "" if meaning == "True = may look" else " Mind that `attend` expects True = may look."
    return f"no query sees a later key, on four lengths (yours is read as: {meaning}).{note}"


def _why_not_causal(readings, scores, look, T):
    strict, all_of_it = look & ~np.eye(T, dtype=bool), np.ones((T, T), bool)
    known = {
        "a query cannot see itself": strict,
        "it hides the past and shows the future": look.T,
        "it hides nothing": all_of_it,
        "it also lets a query see the key just after it": look | np.eye(T, k=1, dtype=bool),
    }
    for name, weights in readings.items():
        for sentence, seen in known.items():
            wrong = softmax(np.where(seen, scores, -np.inf))
            if np.allclose(weights, wrong, atol=TOLERANCE):
                return f"{sentence} (length {T}, read as: {name})."
    weights = next(iter(readings.values()))
    leak = np.where(look, 0, weights).sum(-1).max()
    return f"a query puts {leak:.2g} of its weight on later keys (length {T})."


HEAD_SIZES = ((2, 5, 12, 3), (1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8), (2, 3, 8, 2))


def split_blocks(x, num_heads):
    return np.stack(np.split(x, num_heads, -1), -3)


def merge_blocks(heads):
    return np.concatenate([heads[..., head, :, :] for head in range(heads.shape[-3])], -1)


def heads_split_and_merge(rng, split_heads, merge_heads):
    """6.5: head i owns a block of neighbouring features of every token, and merging undoes it."""
    for B, T, D, H in HEAD_SIZES:
        d, x = D // H, rng.normal(size=(B, T, D))
        setting = f"(B, T, D, H) = {(B, T, D, H)}"
        result = split_heads.via(run_function, [x], H)
        (found,) = only_tensors(result, "split_heads", 1)
        match(found, split_blocks(x, H), _split_known(x, B, T, D, H), f"split_heads, {setting}")
        match_gradients(_named(result, "x"), {"x": merge_blocks(probe((B, H, T, d)))}, setting)
        heads = rng.normal(size=(B, H, T, d))
        result = merge_heads.via(run_function, [heads])
        (found,) = only_tensors(result, "merge_heads", 1)
        match(found, merge_blocks(heads), _merge_known(heads, B, T, D), f"merge_heads, {setting}")
        match_gradients(_named(result, "x"), {"x": split_blocks(probe((B, T, D)), H)}, setting)
    return f"head and feature are where they belong on {len(HEAD_SIZES)} shapes, there and back."


def _split_known(x, B, T, D, H):
    d = D // H
    return {
        "the memory is cut up without moving an axis, so a head mixes several tokens": (
            x.reshape(B, H, T, d)
        ),
        "the heads stand after the tokens, (B, T, H, d); matmul needs them before": (
            x.reshape(B, T, H, d)
        ),
        "every H-th feature goes to a head, where neighbours belong together": (
            x.reshape(B, T, d, H).transpose(0, 3, 1, 2)
        ),
        "the heads come in reverse order": split_blocks(x, H)[:, ::-1],
        "width and number of heads have changed places": (
            x.reshape(B, T, d, H).transpose(0, 2, 1, 3)
        ),
    }


def _merge_known(heads, B, T, D):
    return {
        "the memory is glued together without moving an axis, so features of several tokens mix": (
            heads.reshape(B, T, D)
        ),
        "the features of different heads are interleaved, where each head is one block": (
            heads.transpose(0, 2, 3, 1).reshape(B, T, D)
        ),
        "the heads are merged in reverse order": merge_blocks(heads[:, ::-1]),
        "the heads are averaged or summed, where they stand side by side": heads.mean(1),
    }


NAMES = ("query", "key", "value", "out")
LAYER_SIZES = ((2, 5, 12, 3), (1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8))


def draw_parameters(rng, shapes):
    """Random arrays by parameter name; large enough for weights that are far from uniform."""
    return {name: rng.normal(size=shape) / shape[-1] ** 0.5 * 1.5 for name, shape in shapes.items()}


def _projections(rng, D):
    shapes = {f"{n}.{kind}": s for n in NAMES for kind, s in (("weight", (D, D)), ("bias", (D,)))}
    return draw_parameters(rng, shapes)


def project(x, parameters, name):
    """x W^T + b, as nn.Linear stores it."""
    return x @ parameters[f"{name}.weight"].T + parameters[f"{name}.bias"]


def causal_weights(scores, *, slip=""):
    """Weights of the causal mask, or of one `slip` in making them; scores (..., T, T)."""
    look = np.tri(scores.shape[-1], dtype=bool)
    hidden = np.where(look, scores, -np.inf)
    return {
        "": lambda: softmax(hidden),
        "queries": lambda: softmax(hidden, axis=-2),
        "heads": lambda: softmax(hidden, axis=1),
        "after": lambda: np.where(look, softmax(scores), 0),
        "polarity": lambda: softmax(np.where(look, -np.inf, scores)),
        "future": lambda: softmax(np.where(look.T, scores, -np.inf)),
        "strict": lambda: softmax(np.where(look & ~np.eye(len(look), dtype=bool), scores, -np.inf)),
        "zero": lambda: softmax(np.where(look, scores, 0)),
        "none": lambda: softmax(scores),
    }[slip]()


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


def multi_head(x, parameters, num_heads, *, scale=None, slip="", order="qkvo", **steps):
    """Causal multi-head attention from arrays, or with one step of it replaced by a mistake."""
    split, merge = steps.get("split", split_blocks), steps.get("merge", merge_blocks)
    names = [next(n for n in NAMES if n[0] == letter) for letter in order]
    q, k, v = (split(project(x, parameters, name), num_heads) for name in names[:3])
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    context = merge(causal_weights(scores, slip=slip) @ v)
    return project(context, parameters, "out") if len(names) > 3 else context


def head_slips(run, B, T, D, H):
    """Outputs of `run(split=..., merge=...)` with heads cut or glued the wrong way."""
    d = D // H
    cut = "the heads are cut without moving an axis, so a head mixes several tokens"
    glued = "the heads are glued without moving an axis, so features of several tokens mix"
    return {
        cut: run(split=lambda x, _: x.reshape(B, H, T, d)),
        glued: run(merge=lambda x: x.reshape(B, T, D)),
        "the heads are cut and glued without moving an axis, so heads mix several tokens": run(
            split=lambda x, _: x.reshape(B, H, T, d), merge=lambda x: x.reshape(B, T, D)
        ),
        "the heads are merged in the wrong order: their features are interleaved": run(
            merge=lambda x: x.transpose(0, 2, 3, 1).reshape(B, T, D)
        ),
        "the heads are merged in the wrong order: the last comes first": run(
            merge=lambda x: merge_blocks(x[:, ::-1])
        ),
        "every H-th feature goes to a head, where neighbours belong together": run(
            split=lambda x, _: x.reshape(B, T, d, H).transpose(0, 3, 1, 2)
        ),
    }


def _layer_known(x, parameters, sizes):
    *_, D, H = sizes
    run = partial(multi_head, x, parameters, H)
    known = {sentence: run(slip=slip) for slip, sentence in MASK_SLIPS.items()}
    known |= head_slips(run, *sizes)
    known |= {
        "the scores are not scaled": run(scale=1.0),
        "the scores are divided by d, not by sqrt(d)": run(scale=H / D),
        "the scores are divided by sqrt(D); each head has its own width d": run(scale=D**-0.5),
        "the last projection, `out`, is missing": run(order="qkv"),
    }
    for order in ("kqvo", "kvqo", "qvko", "vkqo", "vqko"):
        used = ", ".join(next(n for n in NAMES if n[0] == letter) for letter in order[:3])
        known[f"the projections are used in the wrong order, {used} for query, key, value"] = run(
            order=order
        )
    stored = {n: p.T for n, p in parameters.items()}
    known["the projections multiply by W, where nn.Linear multiplies by its transpose"] = (
        multi_head(x, stored, H)
    )
    return known


def layer_is_causal_attention(rng, layer_class):
    """6.6: equal to causal multi-head attention with given weights; both dropouts where they belong."""
    for sizes in LAYER_SIZES:
        B, T, D, H = sizes
        x, parameters = rng.normal(size=(B, T, D)), _projections(rng, D)
        setting = f"(B, T, D, H) = {sizes}"
        run = partial(layer_class.via, run_layer, (D, H), parameters, x)
        result = sound(run())
        known = _layer_known(x, parameters, sizes)
        match(result["outputs"][0], multi_head(x, parameters, H), known, setting)
        match_gradients(result["gradients"], _layer_gradients(x, parameters, H), setting)
    x, parameters = rng.normal(size=(40, 1, 6)), _projections(rng, 6)
    judge_dropouts(partial(layer_class.via, run_layer, (6, 1), parameters, x), parameters)
    return f"outputs and gradients agree on {len(LAYER_SIZES)} shapes, and both dropouts do their work."


def _layer_gradients(x, parameters, num_heads):
    """The same computation in torch, for its gradients."""
    import torch

    leaves = {n: torch.tensor(v, requires_grad=True) for n, v in {"x": x, **parameters}.items()}

    def heads(name):
        weight, bias = leaves[f"{name}.weight"], leaves[f"{name}.bias"]
        return (leaves["x"] @ weight.mT + bias).unflatten(-1, (num_heads, -1)).transpose(1, 2)

    context, _ = reference_attend(heads("query"), heads("key"), heads("value"), causal=True)
    context = context.transpose(1, 2).flatten(-2)
    y = context @ leaves["out.weight"].mT + leaves["out.bias"]
    return dict(zip(leaves, gradients_of(y, list(leaves.values())), strict=True))


def judge_dropouts(run, parameters):
    """With one token and one head each dropout leaves exact traces; off in eval, on in training."""
    calm = sound(run())["outputs"][0]
    for option in ("attention_dropout", "residual_dropout"):
        still = sound(run(repeats=2, **{option: 0.5}))["outputs"]
        if not np.allclose(still, calm, atol=TOLERANCE):
            far = np.abs(np.array(still) - calm).max()
            raise NotYet(f"{option} is left on in eval mode: the output moves by up to {far:.2g}.")
    if not np.allclose(sound(run(train=True))["outputs"], calm, atol=TOLERANCE):
        raise NotYet("with both dropouts at 0, training mode should change nothing.")
    bias = parameters["out.bias"]
    attention = sound(run(train=True, attention_dropout=0.5))["outputs"][0]
    residual = sound(run(train=True, residual_dropout=0.5))["outputs"][0]
    kept = np.isclose(attention, 2 * (calm - bias) + bias).all(-1)
    lost = np.isclose(attention, bias).all(-1)
    features_kept = np.isclose(residual, 2 * calm)
    features_lost = np.isclose(residual, 0)
    _judge_attention_dropout(attention, calm, kept, lost)
    _judge_residual_dropout(residual, calm, features_kept, features_lost)


def _judge_attention_dropout(found, calm, kept, lost):
    """A single weight of 1 is either dropped, leaving the bias, or doubled."""
    if (kept | lost).all() and 0.15 < lost.mean() < 0.85:
        return
    if np.allclose(found, calm):
        raise NotYet(
            "attention_dropout changes nothing in training: it should drop weights after the softmax."
        )
    if np.isclose(np.where(np.isclose(found, 0), 2 * calm, found), 2 * calm).all():
        raise NotYet("attention_dropout acts on the output; the two dropouts have changed places.")
    raise NotYet("attention_dropout does not drop whole weights: it acts somewhere else.")


def _judge_residual_dropout(found, calm, kept, lost):
    if (kept | lost).all() and 0.25 < lost.mean() < 0.75:
        return
    if np.allclose(found, calm):
        raise NotYet(
            "residual_dropout changes nothing in training: it should drop output features."
        )
    raise NotYet("residual_dropout does not drop features of the final output: it acts too early.")


def _products(T, D, H):
    """(m, k, n, how often) of each matrix product of one layer on one sequence."""
    d = D // H
    return {"projections": (T, D, D, 4), "scores": (T, d, T, H), "context": (T, T, d, H)}


def counts_are_exact(rng, num_parameters, num_flops):
    """6.7: entries of the four projections; two operations for each multiply-add of each product."""
    note = ""
    for T, D, H in ((128, 256, 8), (5, 12, 3), (7, 8, 1), (300, 64, 4)):
        setting = f"T = {T}, D = {D}, {H} heads"
        said = number(num_parameters(D, H), "num_parameters(D, num_heads)")
        right = sum(np.zeros(s).size for _ in NAMES for s in ((D, D), (D,)))
        if said != right:
            raise NotYet(_why_not_parameters(said, D, H))
        said = number(num_flops(T, D, H), "num_flops(T, D, num_heads)")
        flops = {n: 2 * m * k * c * often for n, (m, k, c, often) in _products(T, D, H).items()}
        right = sum(flops.values())
        if said == right / 2:
            note = " You count multiply-adds as one operation; torch's counter says twice as much."
        elif said != right:
            raise NotYet(_why_not_flops(said, flops, H, setting))
    return f"parameters and operations are exact in four settings.{note}"


def _why_not_parameters(said, D, H):
    known = {
        "the biases are missing": 4 * D * D,
        "one projection is missing": 3 * (D * D + D),
        "one projection and the biases are missing": 3 * D * D,
        "each head gets matrices of the full width": H * 4 * (D * D + D),
        "each head sees only its chunk of the input; a head reads all D features": 4
        * (D * D // H + D),
        "each head sees only its chunk of the input, and biases are missing": 4 * D * D // H,
    }
    for sentence, wrong in known.items():
        if said == wrong:
            return f"{sentence}: {said:,.0f} at D = {D}, {H} heads."
    return f"{said:,.0f} at D = {D}, {H} heads is not the number of entries of the projections."


def _why_not_flops(said, flops, H, setting):
    total, pairs = sum(flops.values()), flops["scores"] + flops["context"]
    known = {
        "the products of all pairs of tokens are missing": flops["projections"],
        "the projections are missing": pairs,
        "one of the two products over pairs of tokens is missing": total - flops["scores"],
        "every head is counted with the full width": flops["projections"] + H * pairs,
        "one projection is missing": total - flops["projections"] / 4,
        "half of the pairs are left out; a plain product computes hidden scores too": (
            total - pairs / 2
        ),
    }
    for sentence, wrong in known.items():
        if said in (wrong, wrong / 2):
            return f"{sentence}: {said:,.0f} at {setting}."
    return f"{said:,.0f} at {setting}; that is {said / total:.3g} of what the products cost."


QUESTIONS = (
    Question(
        id="6.1",
        title="Shapes first",
        minutes=4,
        parts=(Part("code", 1, ("shapes",), shapes_are_predicted),),
        covers=("004 review",),
        hints=(
            "A matrix product works on the last two axes and leaves the ones before them alone.",
            "How many pairs of tokens does one sequence have? And how many heads look at each pair?",
            "H heads share the D features equally.",
        ),
    ),
    Question(
        id="6.2",
        title="Scores of a whole batch",
        minutes=6,
        parts=(Part("code", 2, ("scores",), scores_are_scaled_products),),
        covers=("004 review",),
        hints=(
            "Write down the shapes of q and k; which axis has to disappear, and which one must move?",
            "`transpose` takes the two axes you name; count them from the end.",
            "The d of the root is the length of one query.",
        ),
    ),
    Question(
        id="6.3",
        title="Attention under a mask",
        minutes=10,
        parts=(Part("code", 2, ("attend",), attend_is_masked_softmax),),
        covers=("004 review",),
        hints=(
            "Which axis of the scores runs over the keys?",
            "What must a score be, so that its exponential is exactly nothing?",
            "A row of nothing but hidden keys has no softmax: decide what it is before, or mend it after.",
            "`masked_fill` and `torch.where` pass no gradient to the entries they replace; adding does.",
        ),
    ),
    Question(
        id="6.4",
        title="No look ahead",
        minutes=4,
        parts=(Part("code", 1, ("causal_mask",), mask_is_causal),),
        covers=("004 review",),
        hints=(
            "Row t belongs to query t. Which keys were written when it was its turn? Is t one of them?",
            "torch can keep one triangle of a matrix, with or without its diagonal.",
        ),
    ),
    Question(
        id="6.5",
        title="Cut into heads, and back",
        minutes=7,
        parts=(Part("code", 2, ("split_heads", "merge_heads"), heads_split_and_merge),),
        covers=("004 review",),
        hints=(
            "First give the features two axes, head and feature; then move one axis.",
            "Cutting an axis never moves memory; only exchanging axes does.",
            "Merging is the same two moves backwards. `view` wants memory in order; `reshape` copies.",
        ),
    ),
    Question(
        id="6.6",
        title="The layer",
        minutes=14,
        parts=(Part("code", 5, ("CausalSelfAttention",), layer_is_causal_attention),),
        covers=("004 review",),
        hints=(
            "You have written every step above: project, split, attend, merge, project.",
            "The scale belongs to the width of a head, not to the width of the layer.",
            "One dropout thins out the weights before they meet the values, the other the final output.",
            "`nn.Dropout` knows whether the layer is training; `F.dropout` has to be told.",
        ),
    ),
    Question(
        id="6.7",
        title="What it costs, and why the root",
        minutes=12,
        parts=(
            Part("code", 1, ("num_parameters", "num_flops"), counts_are_exact),
            Part("written", 2),
        ),
        covers=("004 review",),
        hints=(
            "List the matrix products of one layer with their shapes; everything else is small.",
            "(m, k) times (k, n) makes m n numbers, each of k multiplications and as many additions.",
            "Do heads change how many numbers there are, or only how they are grouped?",
            "For the root: what is the variance of one term q_i k_i, and of the sum of d of them?",
        ),
    ),
)
