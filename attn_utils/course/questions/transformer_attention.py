"""Questions 6.1-6.7, causal multi-head attention in torch; judges measure, they hold no answer."""

from functools import partial
from itertools import permutations

import numpy as np

from ...kernels import attend as reference_attend
from ...kernels import softmax
from ..drivers import run_function
from ..layer_mistakes import (
    WRONG_CUTS,
    WRONG_GLUES,
    cut,
    finish,
    glue,
    judge_layer,
    linear,
    masked_weights,
)
from ..reading import array, number
from ..register import Part, Question
from ..tensors import (
    TOLERANCE,
    leaves_of,
    match,
    match_gradients,
    only_tensors,
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
    if not isinstance(said, dict):
        raise NotYet(f"a dictionary is expected, but this is a {type(said).__name__}.")
    if all(shape is None for shape in said.values()):
        raise NotAttempted
    for name, shape in right.items():
        if said.get(name) is None:
            raise NotYet(f"there is no prediction for {name} yet.")
        found = tuple(map(_whole, array(said[name], name).reshape(-1)))
        if found != shape:
            raise NotYet(f"{name}: {_why_not_shape(found, shape, **SHAPES)}.")
    return f"all {len(right)} shapes are those of the computation."


def _whole(size):
    return int(size) if size == int(size) else float(size)


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
    sizes = (
        f"{len(shape)} axes and {np.prod(shape)} numbers, not {len(found)} and {np.prod(found):g}"
    )
    return f"{said}; the tensor has {sizes}"


def _scores_known(q, k, found):
    d, T = q.shape[-1], q.shape[-2]
    plain, root, bounds = q @ k.mT, d**0.5, (found.min(), found.max())
    known = {
        "the scores are not scaled": plain,
        "the scores are divided by d, where sqrt(d) is asked for": plain / d,
        "the scores are multiplied by sqrt(d), where they are to be divided": plain * root,
        "rows and columns are swapped: row t should hold the scores of query t": plain.mT / root,
        "this is already a softmax; the scores themselves are asked for": softmax(plain / root),
    }
    if q.shape[0] == T == d:
        reversed_axes = q @ k.transpose(2, 1, 0)
        sentence = "`.T` turns all three axes round, the batch included; only the last two may swap"
        known |= {sentence: reversed_axes / root, sentence + " (nor is it scaled)": reversed_axes}
    elif T > 1:
        known["the scores are divided by the root of the length, not of d"] = plain / T**0.5
    if np.ptp(bounds):
        sentence = (
            "the scores are clipped to {:.3g} .. {:.3g}, so that some that differ become equal"
        )
        known[sentence.format(*bounds)] = plain.clip(*bounds)
        known[sentence.format(*bounds) + " after scaling"] = (plain / root).clip(*bounds)
    return known


def scores_are_scaled_products(rng, scores):
    """6.2: q k^T / sqrt(d) for every sequence of the batch, with gradients, on odd sizes."""
    for B, T, d in ((4, 4, 4), (2, 5, 3), (1, 1, 4), (3, 7, 8)):
        q, k = rng.normal(size=(2, B, T, d))
        setting, leaves = f"(B, T, d) = {(B, T, d)}", leaves_of({"q": q, "k": k})
        result = scores.via(run_function, [q, k])
        (found,) = only_tensors(result, "scores", 1)
        right = leaves["q"] @ leaves["k"].mT / d**0.5
        match(found, right, setting, partial(_scores_known, q, k, found))
        match_gradients(result["gradients"], right, leaves, setting)
    return "equal to the scaled products on four shapes, gradients included."


def _attend_cases(rng):
    """(shape of q's leading axes, T, S, mask): random, causal, open, one row without any key."""
    for lead, T, S in (((2,), 3, 5), ((2,), 5, 5), ((2, 3), 4, 6), ((1,), 1, 1), ((2, 3), 4, 4)):
        some = rng.random((*lead, T, S)) < 0.5
        some[..., 0] = True
        yield lead, T, S, some
        yield lead, T, S, np.tri(T, S, dtype=bool)
        yield lead, T, S, np.ones((T, S), bool)
    closed = np.array(some)
    closed[0, ..., 2, :] = False
    yield lead, T, S, closed


def _attend_known(leaves, mask):
    """Weights of the mistakes this course has met."""
    q, k, root = leaves["q"], leaves["k"], leaves["q"].shape[-1] ** 0.5
    scores, look = q @ k.mT / root, q.new_tensor(mask).bool()
    hidden, slips = scores.where(look, -np.inf), masked_weights(scores, look)
    return {
        "the softmax runs over the queries, so that columns sum to one": slips["queries"],
        "the softmax runs over the first axis, the batch": softmax(hidden, 0),
        "the scores are not scaled": softmax(hidden * root),
        "the scores are divided by d, not by sqrt(d)": softmax(hidden / root),
        "the mask comes after the softmax: hidden keys still count in the denominator": (
            slips["after"]
        ),
        "the mask is read the other way round; True means may look": slips["polarity"],
        "hidden scores are set to 0, and exp(0) = 1 is not nothing": slips["zero"],
        "the mask is not used": slips["none"],
        "a row that may look at nothing comes out as nan; it should be zero": hidden.softmax(-1),
        "a row that may look at nothing shares its weight out equally; it should be zero": (
            scores.where(look, -1e9).softmax(-1)
        ),
    }


def attend_is_masked_softmax(rng, attend):
    """6.3: context and weights under any boolean mask, rows without a key zero, gradients finite."""
    num_cases, d, dv = 0, 3, 7
    for lead, T, S, mask in _attend_cases(rng):
        q, k = rng.normal(size=(*lead, T, d)) * 2, rng.normal(size=(*lead, S, d))
        v = rng.normal(size=(*lead, S, dv))
        closed = "" if mask.any(-1).all() else ", a row without any key"
        setting, leaves = f"q {q.shape}, k {k.shape}{closed}", leaves_of({"q": q, "k": k, "v": v})
        result = attend.via(run_function, [q, k, v, mask])
        context, weights = only_tensors(result, "attend", 2)
        if context.shape == (*lead, T, S) and weights.shape == (*lead, T, dv):
            raise NotYet("context and weights have changed places; the context comes first.")
        right, right_weights = reference_attend(**leaves, mask=mask)
        known = partial(_attend_known, leaves, mask)
        match(weights, right_weights, f"weights, {setting}", known)
        if (leak := np.where(mask, 0, weights).max()) > 0:
            raise NotYet(
                f"a hidden key still has a weight of {leak:.2g}, not exactly 0 ({setting})."
            )
        match(context, right, f"context, {setting}")
        match_gradients(result["gradients"], right, leaves, setting)
        num_cases += 1
    return f"weights, context and gradients agree in {num_cases} cases, one with a row without any key."


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
    for T in (7, 2, 1, 4, int(rng.integers(8, 40))):
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
    return f"no query sees a later key, on five lengths (yours is read as: {meaning}).{note}"


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
    leaks = [np.where(look, 0, weights).sum(-1).max() for weights in readings.values()]
    if min(leaks) < TOLERANCE:
        return f"no later key is seen, but some earlier ones are hidden too (length {T})."
    return f"a query puts {leaks[0]:.2g} of its weight on later keys (length {T})."


HEAD_SIZES = ((2, 5, 12, 3), (1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8), (2, 3, 8, 2))


def heads_split_and_merge(rng, split_heads, merge_heads):
    """6.5: head i owns a block of neighbouring features of every token, and merging undoes it."""
    for B, T, D, H in HEAD_SIZES:
        x, heads = rng.normal(size=(B, T, D)), rng.normal(size=(B, H, T, D // H))
        setting = f"(B, T, D, H) = {(B, T, D, H)}"
        _judge_move(split_heads, f"split_heads, {setting}", cut, MOVES["split"], x, H)
        _judge_move(merge_heads, f"merge_heads, {setting}", glue, MOVES["merge"], heads)
    return f"head and feature are where they belong on {len(HEAD_SIZES)} shapes, there and back."


def _judge_move(answer, setting, move, wrong_moves, x, *others):
    """Equal to `move(x, *others)`, gradients included."""
    leaves, result = leaves_of({"x": x}), answer.via(run_function, [x], *others)
    (found,) = only_tensors(result, setting.partition(",")[0], 1)
    right = move(leaves["x"], *others)

    def known():
        return {sentence: way(leaves["x"], *others) for sentence, way in wrong_moves.items()}

    match(found, right, setting, known)
    match_gradients(result["gradients"], right, leaves, setting)


MOVES = {  # the wrong ones, by sentence
    "split": WRONG_CUTS
    | {
        "the heads stand after the tokens, (B, T, H, d); matmul needs them before": (
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1))
        ),
        "the heads come in reverse order": lambda x, num_heads: cut(x, num_heads).flip(1),
        "width and number of heads have changed places": (
            lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).transpose(1, 2)
        ),
    },
    "merge": WRONG_GLUES
    | {"the heads are averaged, where they stand side by side": lambda x: x.mean(1)}
    | {"the heads are summed, where they stand side by side": lambda x: x.sum(1)},
}
NAMES = ("query", "key", "value", "out")
LAYER_SIZES = ((2, 5, 12, 3), (1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8))


def _layer_shapes(D, H):
    return {f"{n}.{kind}": s for n in NAMES for kind, s in (("weight", (D, D)), ("bias", (D,)))}


def _multi_head(leaves, num_heads, *, scale=None, order=NAMES[:3], split=cut, **steps):
    """Causal multi-head attention, or with one step of it replaced by a mistake."""
    q, k, v = (split(linear(leaves, leaves["x"], name), num_heads) for name in order)
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return finish(leaves, scores, v, **steps)


def _layer_known(leaves, num_heads):
    run, x = partial(_multi_head, leaves, num_heads), leaves["x"]
    turned = {name: leaf.mT if leaf.ndim == 2 else leaf for name, leaf in leaves.items()}
    across = _multi_head(leaves | {"x": x.transpose(0, 1)}, num_heads).transpose(0, 1)
    known = {
        "the scores are not scaled": run(scale=1.0),
        "the scores are divided by d, not by sqrt(d)": run(scale=num_heads / x.shape[-1]),
        "the scores are divided by sqrt(D); each head has its own width d": (
            run(scale=x.shape[-1] ** -0.5)
        ),
        "the projections multiply by W, where nn.Linear multiplies by its transpose": (
            _multi_head(turned, num_heads)
        ),
        "batch and time have changed places, so that sequences see each other": across,
    }
    for order in list(permutations(NAMES[:3]))[1:]:
        used = f"{', '.join(order)} for {', '.join(NAMES[:3])}"
        known[f"the projections are used in the wrong order, {used}"] = run(order=order)
    return known


def layer_is_causal_attention(rng, layer_class):
    """6.6: equal to causal multi-head attention with given weights; both dropouts where they belong."""
    return judge_layer(
        rng, layer_class, LAYER_SIZES, shapes=_layer_shapes, compute=_multi_head, known=_layer_known
    )


def _products(T, D, H):
    """(m, k, n, how often) of each matrix product of one layer on one sequence."""
    d = D // H
    return {"projections": (T, D, D, 4), "scores": (T, d, T, H), "context": (T, T, d, H)}


def counts_are_exact(rng, num_parameters, num_flops):
    """6.7: entries of the four projections; two operations for each multiply-add of each product."""
    note, shares = "", []
    length, width, num_heads = map(int, rng.integers(3, 30, 3))
    unseen = (length, width * num_heads, num_heads)
    for T, D, H in ((100, 256, 8), (5, 12, 3), (7, 8, 1), unseen, (128, 64, 4)):
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
        shares.append(f"{1 - flops['projections'] / right:.0%} at {setting}")
    pairs = f"the products over pairs of tokens take {shares[0]} and {shares[-1]}"
    return f"parameters and operations are exact in five settings; {pairs}.{note}"


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
        "half of the work on pairs of tokens is missing; there are two products, and a plain one "
        "computes hidden scores too": total - flops["scores"],
        "every head is counted with the full width": flops["projections"] + H * pairs,
        "one projection is missing": total - flops["projections"] / 4,
    }
    for sentence, wrong in known.items():
        if said in (wrong, wrong / 2):
            return f"{sentence}: {said:,.0f} at {setting}."
    return f"{said:,.0f} at {setting}; that is {said / total:.4g} of what the products cost."


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
