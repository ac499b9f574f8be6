"""Questions 6.1-6.7, causal multi-head attention in torch. Judges measure, they hold no answer."""

import math
from functools import partial
from itertools import permutations

import numpy as np

from attn_course.drivers import run_function
from attn_course.explaining import Seen, Trials
from attn_course.layer_mistakes import (
    WRONG_CUTS,
    WRONG_GLUES,
    cut,
    finish,
    glue,
    judge_layer,
    linear,
    masked_weights,
)
from attn_course.register import Part, Question
from attn_course.tensors import (
    close,
    difference,
    judge_gradients,
    leaves_of,
    only_tensors,
    tensor_trials,
)
from attn_course.values import array, number
from attn_course.verdict import NotAttempted, NotYet
from attn_utils.kernels import attend as reference_attend
from attn_utils.kernels import softmax
from attn_utils.masks import causal_mask as reference_mask

B, T, D, H = 2, 5, 12, 3  # the sizes for which 6.1 asks for shapes


def _measured_shapes():
    """Run the computation on zeros and look."""
    x = np.zeros((B, T, D))
    W = np.zeros((D, D))
    q = x @ W
    scores = q @ q.mT
    heads = q.reshape(B, T, H, D // H).swapaxes(1, 2)
    scores_heads = heads @ heads.mT
    context_heads = scores_heads @ heads
    merged = context_heads.swapaxes(1, 2).reshape(B, T, D)
    measured = {
        "q": q,
        "scores": scores,
        "context": scores @ q,
        "q_heads": heads,
        "scores_heads": scores_heads,
        "context_heads": context_heads,
        "y": merged @ W,
    }
    return {name: value.shape for name, value in measured.items()}


def shapes_are_predicted(rng, shapes):
    """6.1: the shape of every tensor of the batched computation."""
    said = shapes.value()
    right = _measured_shapes()
    if not isinstance(said, dict):
        raise NotYet(f"a dictionary is expected, but this is a {type(said).__name__}.")
    if all(shape is None for shape in said.values()):
        raise NotAttempted
    for name, shape in right.items():
        if said.get(name) is None:
            raise NotYet(f"there is no prediction for {name} yet.")
        found = tuple(map(_whole, array(said[name], name).reshape(-1)))
        if found != shape:
            raise NotYet(f"{name}: you predicted {found}; {_why_not_shape(found, shape)}.")
    return f"all {len(right)} shapes are those of the computation."


def _whole(size):
    return int(size) if size == int(size) else float(size)


def _why_not_shape(found, shape):
    d = D // H
    swapped = tuple({H: d, d: H}.get(size, size) for size in found)
    if found == shape[1:]:
        return "that is one sequence, and the batch axis is missing"
    if found == (B, T, D) and shape == (B, T, T):
        return "the shape of the input; a score belongs to a pair of tokens, not to a feature"
    if swapped == shape:
        return f"there are {H} heads of width {d}, not {d} heads of width {H}"
    if sorted(found) == sorted(shape):
        return "the sizes are right, their order is not: matmul works on the last two axes"
    if found == (B, H, T, D) and shape == (B, H, T, d):
        return "each head has its share of the width, not all of it"
    have = f"{len(found)} and {np.prod(found):g}"
    return f"the tensor has {len(shape)} axes and {np.prod(shape)} numbers, not {have}"


def scores_are_scaled_products(rng, scores):
    """6.2: q k^T / sqrt(d) for every sequence of the batch, with gradients, on odd sizes."""
    trials = tensor_trials(_wrong_scores)
    for size in _score_sizes(rng):
        q, k = rng.normal(size=(2, *size))
        leaves = leaves_of({"q": q, "k": k})
        setting = f"(B, T, d) = {size}"
        result = scores.via(run_function, [q, k])
        (found,) = only_tensors(result, "scores", 1)
        right = leaves["q"] @ leaves["k"].mT / size[-1] ** 0.5
        trials.judge(found, right, difference(found, right, setting), q, k, found)
        judge_gradients(result["gradients"], right, leaves, setting)
    return "equal to the scaled products on four shapes, gradients included."


def _score_sizes(rng):
    """A cube first, on which `.T` goes wrong without an error; then others in any order."""
    side = int(rng.integers(4, 6))
    length = int(rng.integers(6, 9))
    others = [(2, 5, 3), (1, 1, 4), (3, length, 8)]
    return [(side, side, side), *(others[k] for k in rng.permutation(3))]


def _wrong_scores(q, k, found):
    d = q.shape[-1]
    plain = q @ k.mT
    scaled = plain / d**0.5
    low = found.min(initial=0)
    high = found.max(initial=0)
    cube = len(set(q.shape)) == 1
    turned = q @ k.transpose(2, 1, 0) if cube else np.full((1,), np.nan)
    return {
        "the scores are not scaled": plain,
        "the scores are divided by d, where sqrt(d) is asked for": plain / d,
        "the scores are multiplied by sqrt(d), where they are to be divided": plain * d**0.5,
        "rows and columns are swapped, where row t should hold the scores of query t": scaled.mT,
        "this is already a softmax; the scores themselves are asked for": softmax(scaled),
        "`.T` turns all three axes round, the batch included; only the last two may swap": (
            turned / d**0.5
        ),
        "`.T` turns all three axes round, the batch included (nor is it scaled)": turned,
        "the scores are divided by the root of the length, not of d": plain / q.shape[1] ** 0.5,
        "the scores are clipped, so that some that differ become equal": (
            plain.clip(low, high) if low < high else None
        ),
        "the scores are clipped after scaling, so that some that differ become equal": (
            scaled.clip(low, high) if low < high else None
        ),
    }


def attend_is_masked_softmax(rng, attend):
    """6.3: context and weights under any boolean mask, rows without a key zero, gradients finite.

    Scores may be large; in float32, hidden ones may lie so far above the others that a softmax over
    all keys leaves nothing to renormalise.
    """
    trials = tensor_trials(_wrong_weights)
    for arrays, mask, what in _attend_cases(rng):
        q, k, v = arrays.values()
        setting = f"q {q.shape}, k {k.shape}{what}"
        result = attend.via(run_function, [q, k, v, mask])
        context, weights = only_tensors(result, "attend", 2)
        leaves = leaves_of({name: values.astype(float) for name, values in arrays.items()})
        right, right_weights = reference_attend(**leaves, mask=mask)
        if weights.shape == right.shape and context.shape == right_weights.shape:
            raise NotYet("context and weights have changed places; the context comes first.")
        fact = difference(weights, right_weights, f"weights, {setting}")
        trials.judge(weights, right_weights, fact, leaves, mask, weights)
        _judge_hidden(weights, mask, setting)
        if not close(context, right):
            raise NotYet(f"{difference(context, right, f'context, {setting}')}.")
        judge_gradients(result["gradients"], right, leaves, setting)
    return f"weights, context and gradients agree in {len(trials)} cases, one with a row without any key."


LEADS = (((2,), 3, 5), ((1,), 1, 1), ((2, 3), 4, 6), ((2, 3), 4, 4))


def _attend_cases(rng):
    """({name: array}, mask, what is special): a usual one, others in any order, the sharpest last."""
    cases = []
    for lead, T, S in LEADS:
        some = rng.random((*lead, T, S)) < 0.5
        some[..., 0] = True
        cases.append((_drawn(rng, lead, T, S), some, ""))
        cases.append((_drawn(rng, lead, T, S), np.tri(T, S, dtype=bool), ""))
        cases.append((_drawn(rng, lead, T, S), np.ones((T, S), bool), ""))
    cases.append((_drawn(rng, (2,), 5, 5), np.tri(5, dtype=bool), ""))
    closed = some.copy()
    closed[0, ..., 2, :] = False
    cases.append((_drawn(rng, lead, T, S), closed, ", a row without any key"))
    large = _drawn(rng, lead, T, S)
    large["q"] *= 1000
    cases.append((large, np.ones((T, S), bool), ", scores in the thousands"))
    order = 1 + rng.permutation(len(cases) - 1)
    return [cases[0], *(cases[k] for k in order), _far_above(rng)]


def _drawn(rng, lead, T, S, d=3, dv=7):
    return {
        "q": 2 * rng.normal(size=(*lead, T, d)),
        "k": rng.normal(size=(*lead, S, d)),
        "v": rng.normal(size=(*lead, S, dv)),
    }


def _far_above(rng):
    """In float32, one hidden score about 120 above all others."""
    arrays = _drawn(rng, (2,), 3, 5)
    arrays["q"][..., 0] = 12
    arrays["k"][..., 0] = 0
    arrays["k"][:, 3, 0] = 10 * 3**0.5
    mask = np.ones((3, 5), bool)
    mask[:, 3] = False
    single = {name: values.astype(np.float32) for name, values in arrays.items()}
    return single, mask, ", float32, a hidden score 120 above the others"


def _judge_hidden(weights, mask, setting):
    leak = np.where(mask, 0, np.abs(weights)).max()
    if not leak <= 0:
        raise NotYet(f"a hidden key still has a weight of {leak:.2g}, not exactly 0 ({setting}).")


def _wrong_weights(leaves, mask, found):
    """Weights of the mistakes this course has met."""
    q, k, _ = leaves.values()
    root = q.shape[-1] ** 0.5
    scores = q @ k.mT / root
    look = q.new_tensor(mask).bool()
    hidden = scores.where(look, -np.inf)
    slips = masked_weights(scores, look)
    large = scores.where(look, 0).abs().max() > 700
    far_above = scores.max() > 100 + hidden.max()
    broken = not close(found.sum(-1), slips[""].sum(-1))
    return {
        "the softmax runs over the queries, so that columns sum to one": slips["queries"],
        "the softmax runs over the first axis, the batch": softmax(hidden, 0),
        "the scores are not scaled": softmax(hidden * root),
        "the scores are divided by d, not by sqrt(d)": softmax(hidden / root),
        "the mask comes after the softmax, so that hidden keys still count in the denominator": (
            slips["after"]
        ),
        "the mask is read the other way round; True means may look": slips["polarity"],
        "hidden scores are set to 0, and exp(0) = 1 is not nothing": slips["zero"],
        "the mask is not used": slips["none"],
        "a row that may look at nothing comes out as nan; it should be zero": hidden.softmax(-1),
        "a row that may look at nothing shares its weight out equally; it should be zero": (
            scores.where(look, -1e9).softmax(-1)
        ),
        "the exponential of a large score is infinite; a softmax first takes the largest away": (
            Seen(broken) if large else None
        ),
        "a hidden score far above the others takes all the weight before it is hidden, and nothing "
        "is left to share out; hide it before the softmax": Seen(broken) if far_above else None,
    }


def mask_is_causal(rng, causal_mask):
    """6.4: under one convention, the weights are those of a query that sees itself and its past."""
    fits = None
    odd = int(rng.integers(4, 20)) * 2 + 1
    for T in (int(rng.integers(5, 9)), *rng.permutation((1, 2, odd, odd + 3)).tolist()):
        (mask,) = only_tensors(causal_mask.via(run_function, [], T), "causal_mask", 1)
        if mask.squeeze().shape != np.zeros((T, T)).squeeze().shape:
            raise NotYet(f"causal_mask({T}) has shape {mask.shape}, expected {(T, T)}.")
        mask = mask.reshape(T, T)
        _judge_kind(mask, T)
        scores = rng.normal(size=(T, T))
        right = softmax(np.where(reference_mask(T), scores, -np.inf))
        readings = _mask_readings(mask, scores)
        now = {name for name, weights in readings.items() if close(weights, right)}
        if not now:
            raise NotYet(_why_not_causal(readings, scores, T))
        fits = now if fits is None else fits & now
        if not fits:
            raise NotYet(f"what True and False mean is not the same at every length ({T}).")
    (meaning,) = fits
    note = "" if meaning == LOOK else " Mind that `attend` expects True = may look."
    return f"no query sees a later key, on five lengths (yours is read as: {meaning}).{note}"


LOOK = "True = may look"


def _judge_kind(mask, T):
    if np.isnan(mask).any():
        raise NotYet("the mask contains nan: 0 times infinity is not 0.")
    if mask.dtype.kind != "b" and T > 1 and set(np.unique(mask)) <= {0, 1}:
        raise NotYet(
            "the mask holds the numbers 0 and 1: added to the scores they hide nothing, and they are no "
            "True and False. Make it boolean."
        )


def _mask_readings(mask, scores):
    """Weights under each convention the mask could follow: {what True or 0 means: weights}."""
    if mask.dtype.kind != "b":
        return {"added to the scores": softmax(scores + mask)}
    return {
        LOOK: softmax(np.where(mask, scores, -np.inf)),
        "True = hidden": softmax(np.where(mask, -np.inf, scores)),
    }


def _why_not_causal(readings, scores, T):
    look = reference_mask(T)
    known = {
        "a query cannot see itself": look & ~np.eye(T, dtype=bool),
        "it hides the past and shows the future": look.T,
        "it hides nothing": np.ones((T, T), bool),
        "it also lets a query see the key just after it": look | np.eye(T, k=1, dtype=bool),
    }
    for name, weights in readings.items():
        for sentence, seen in known.items():
            if close(weights, softmax(np.where(seen, scores, -np.inf))):
                return f"{sentence} (length {T}, read as: {name})."
    leaks = [np.where(look, 0, weights).sum(-1).max() for weights in readings.values()]
    if min(leaks) <= 1e-5:
        return f"no later key is seen, but some earlier ones are hidden too (length {T})."
    return f"a query puts {leaks[0]:.2g} of its weight on later keys (length {T})."


def heads_split_and_merge(rng, split_heads, merge_heads):
    """6.5: head i owns a block of neighbouring features of every token, and merging undoes it."""
    splits = tensor_trials(partial(_moved, WRONG_SPLITS))
    merges = tensor_trials(partial(_moved, WRONG_MERGES))
    for B, T, D, H in _head_sizes(rng):
        setting = f"(B, T, D, H) = {(B, T, D, H)}"
        x = rng.normal(size=(B, T, D))
        _judge_move(splits, split_heads, f"split_heads, {setting}", cut, x, H)
        heads = rng.normal(size=(B, H, T, D // H))
        _judge_move(merges, merge_heads, f"merge_heads, {setting}", glue, heads)
    return f"head and feature are where they belong on {len(splits)} shapes, there and back."


def _head_sizes(rng):
    """All axes different first; then a single token, one head, heads of width one, in any order."""
    T = int(rng.integers(5, 9))
    others = [(1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8), (2, 3, 8, 2)]
    return [(2, T, 12, 3), *(others[k] for k in rng.permutation(4))]


def _judge_move(trials, answer, setting, move, x, *others):
    """Equal to `move(x, *others)`, gradients included."""
    leaves = leaves_of({"x": x})
    result = answer.via(run_function, [x], *others)
    (found,) = only_tensors(result, setting.partition(",")[0], 1)
    right = move(leaves["x"], *others)
    trials.judge(found, right, difference(found, right, setting), leaves["x"], *others)
    judge_gradients(result["gradients"], right, leaves, setting)


def _moved(moves, *inputs):
    return {sentence: move(*inputs) for sentence, move in moves.items()}


def _heads_last(x, num_heads):
    return x.unflatten(-1, (num_heads, -1))


def _heads_reversed(x, num_heads):
    return cut(x, num_heads).flip(1)


def _heads_for_width(x, num_heads):
    return x.unflatten(-1, (-1, num_heads)).transpose(1, 2)


def _heads_averaged(x):
    return x.mean(1)


def _heads_summed(x):
    return x.sum(1)


WRONG_SPLITS = WRONG_CUTS | {
    "the heads stand after the tokens, (B, T, H, d); matmul needs them before": _heads_last,
    "the heads come in reverse order": _heads_reversed,
    "width and number of heads have changed places": _heads_for_width,
}
WRONG_MERGES = WRONG_GLUES | {
    "the heads are averaged, where they stand side by side": _heads_averaged,
    "the heads are summed, where they stand side by side": _heads_summed,
}
NAMES = ("query", "key", "value", "out")


def layer_is_causal_attention(rng, layer_class):
    """6.6: equal to causal multi-head attention with given weights; both dropouts where they belong."""
    T = int(rng.integers(5, 8))
    others = [(1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8)]
    cases = [(2, T, 12, 3), *(others[k] for k in rng.permutation(3))]
    return judge_layer(
        rng, layer_class, cases, shapes=_layer_shapes, compute=_multi_head, known=_layer_known
    )


def _layer_shapes(D, H):
    shapes = {}
    for name in NAMES:
        shapes[f"{name}.weight"] = (D, D)
        shapes[f"{name}.bias"] = (D,)
    return shapes


def _multi_head(leaves, num_heads, *, scale=None, order=NAMES[:3], split=cut, **steps):
    """Causal multi-head attention, or with one step of it replaced by a mistake."""
    q, k, v = (split(linear(leaves, leaves["x"], name), num_heads) for name in order)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return finish(leaves, q @ k.mT * scale, v, **steps)


def _layer_known(leaves, num_heads):
    run = partial(_multi_head, leaves, num_heads)
    D = leaves["x"].shape[-1]
    turned = {name: leaf.mT if leaf.ndim == 2 else leaf for name, leaf in leaves.items()}
    across = leaves | {"x": leaves["x"].transpose(0, 1)}
    known = {
        "the scores are not scaled": run(scale=1.0),
        "the scores are divided by d, not by sqrt(d)": run(scale=num_heads / D),
        "the scores are divided by sqrt(D); each head has its own width d": run(scale=D**-0.5),
        "the projections multiply by W, where nn.Linear multiplies by its transpose": (
            _multi_head(turned, num_heads)
        ),
        "batch and time have changed places, so that sequences see each other": (
            _multi_head(across, num_heads).transpose(0, 1)
        ),
    }
    for order in list(permutations(NAMES[:3]))[1:]:
        used = f"{', '.join(order)} for {', '.join(NAMES[:3])}"
        known[f"the projections are used in the wrong order, {used}"] = run(order=order)
    return known


def counts_are_exact(rng, num_parameters, num_flops):
    """6.7: entries of the four projections; two operations for each multiply-add of each product."""
    parameters = Trials(_wrong_parameters)
    flops = Trials(_wrong_flops)
    halved = None
    for T, D, H in _count_settings(rng):
        said = number(num_parameters(D, H), "num_parameters(D, num_heads)")
        right = sum(math.prod(shape) for shape in _layer_shapes(D, H).values())
        parameters.judge(said, right, f"{said:,.0f} at D = {D}, {H} heads", D, H)
        said = number(num_flops(T, D, H), "num_flops(T, D, num_heads)")
        right = sum(_flops(T, D, H).values())
        halved = said == right / 2 if halved is None else halved
        part = f"which is {said / right:.4g} of what the products cost"
        fact = f"{said:,.0f} at T = {T}, D = {D}, {H} heads, {part}"
        flops.judge(said, right / 2 if halved else right, fact, T, D, H)
    note = " You count multiply-adds as one operation; torch's counter says twice as much."
    shares = " and ".join(map(_share_of_pairs, ((100, 256, 8), (128, 64, 4))))
    return (
        "parameters and operations are exact in five settings; the products over pairs of tokens take "
        f"{shares}.{note if halved else ''}"
    )


def _count_settings(rng):
    """Rows of (T, D, H): a usual one, then others in any order."""
    T, d, H = map(int, rng.integers(3, 30, 3))
    others = [(5, 15, 3), (7, 8, 1), (T, d * H, H), (128, 64, 4)]
    return [(100, 256, 8), *(others[k] for k in rng.permutation(4))]


def _share_of_pairs(sizes):
    flops = _flops(*sizes)
    T, D, H = sizes
    share = 1 - flops["projections"] / sum(flops.values())
    return f"{share:.0%} at T = {T}, D = {D}, {H} heads"


def _products(T, D, H):
    """(m, k, n, how often) of each matrix product of one layer on one sequence."""
    d = D // H
    return {"projections": (T, D, D, 4), "scores": (T, d, T, H), "context": (T, T, d, H)}


def _flops(T, D, H):
    products = _products(T, D, H).items()
    return {name: 2 * math.prod(product) for name, product in products}


def _wrong_parameters(D, H):
    return {
        "the biases are missing": 4 * D * D,
        "one projection is missing": 3 * (D * D + D),
        "one projection and the biases are missing": 3 * D * D,
        "each head gets matrices of the full width": H * 4 * (D * D + D),
        "each head sees only its chunk of the input; a head reads all D features": (
            4 * (D * D // H + D)
        ),
        "each head sees only its chunk of the input, and biases are missing": 4 * D * D // H,
    }


def _wrong_flops(T, D, H):
    flops = _flops(T, D, H)
    total = sum(flops.values())
    pairs = flops["scores"] + flops["context"]
    sums = sum(m * n * often for m, _, n, often in _products(T, D, H).values())
    wrong = {
        "the products of all pairs of tokens are missing": flops["projections"],
        "the projections are missing": pairs,
        "half of the work on pairs of tokens is missing; there are two products, and a plain one "
        "computes hidden scores too": total - flops["scores"],
        "every head is counted with the full width": flops["projections"] + H * pairs,
        "one projection is missing": total - flops["projections"] / 4,
        "k products take k - 1 additions, which you counted; here, as in torch's counter, each "
        "multiplication counts with one addition, 2 k in all": total - sums,
    }
    once = {f"{sentence} (a multiply-add counted once)": n / 2 for sentence, n in wrong.items()}
    return wrong | once


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
