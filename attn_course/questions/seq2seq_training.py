"""The judges of 9.6 and 9.7: the loss over real words, and the training loop."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, largest_gap, shuffled
from attn_course.answers.mistakes import Trials, same
from attn_course.drivers import run_function, run_training, small_network, squared_error

CLOSE = 1e-4
LOSSES = (  # B, T, V, pad, smoothing, size of the logits
    (3, 5, 7, 0, 0.0, 1),
    (3, 5, 7, 6, 0.1, 1),
    (1, 1, 5, 0, 0.1, 1),
    (2, 6, 4, 0, 0.3, 300),
    (4, 3, 9, 0, 0.0, 300),
)


def loss_counts_real_words(rng: Generator, masked_loss: Caller) -> str:
    """9.6: the mean over all real words, whatever the logits at padding are; and its gradient."""

    import torch

    trials = Trials(_wrong_losses, relative=CLOSE, absolute=CLOSE)
    for setting in [
        *shuffled(rng, LOSSES[:3]),
        *shuffled(rng, LOSSES[3:]),
    ]:  # ordinary logits first
        logits, targets = _draw_logits(rng, *setting)
        _, _, _, pad, smoothing, size = setting
        options = [smoothing] if smoothing or size > 1 else []  # once 0 is left to be the default
        result = masked_loss.run_driver(run_function, [logits, targets], pad, *options)
        found = _scalar(result, logits, targets, pad)
        terms = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
        right = _loss_of(terms, torch.tensor(targets), pad, smoothing)
        where = f"(B, T, V) = {logits.shape}, pad = {pad}, smoothing = {smoothing}"
        if not np.isfinite(found):
            raise NotYet(
                f"nan or infinity where logits are as large as {size}: take log_softmax of the logits, "
                "not the log of a "
                "softmax."
            )
        fact = f"you: {found:.4f}, expected {right.item():.4f} ({where})"
        trials.require(found, right.item(), fact, logits, targets, pad, smoothing)
        (wanted,) = torch.autograd.grad(right, terms)
        _judge_gradient(result["gradients"], wanted.numpy(), targets == pad)
    return f"{len(LOSSES)} batches: each real word counts alike, padding not at all."


def _draw_logits(rng, B, T, V, pad, smoothing, size):
    """Draw logits (B, T, V) in float32, and targets (B, T) with padding behind words, which may be 0 too."""
    lengths = np.minimum(T, 1 + rng.permutation(B * 2)[:B])
    lengths[0] = T
    if B > 1:
        lengths[-1] = max(1, T - 2)
    words = np.array([word for word in range(V) if word != pad])
    targets = rng.choice(words, (B, T))
    targets[0, 0] = words[0]
    mask = np.arange(T) < lengths[:, None]
    logits = size * rng.normal(size=(B, T, V))
    logits[~mask] += 5 * rng.normal(size=(int((~mask).sum()), V))  # what stands there is free
    return logits.astype(np.float32), np.where(mask, targets, pad)


def _scalar(result, logits, targets, pad):
    outputs = result["outputs"]
    if outputs is None:
        if result["kinds"] in ("float", "int"):
            raise NotYet(
                "a plain number came back, not a tensor: `.item()` leaves nothing to differentiate."
            )
        ending = ": is a `return` missing?" if result["kinds"] == "NoneType" else "."
        raise NotYet(f"a {result['kinds']} came back, where one tensor is expected{ending}")
    if len(outputs) != 1 or outputs[0].size != 1:
        shape = outputs[0].shape
        raise NotYet(
            f"the loss has shape {shape}, where one number is expected: it is not reduced."
        )
    if result["gradients"] is None:
        raise NotYet(
            "the number is not connected with the logits: no gradient flows back, something is detached."
        )
    return float(outputs[0].reshape(()))


def _judge_gradient(gradients, wanted, is_padding):
    (gradient,) = gradients
    if np.abs(gradient[is_padding]).max(initial=0) > 0:
        raise NotYet("the value is right, but a gradient flows into the logits of padding.")
    if not same(gradient, wanted, 1e-3, 1e-5):
        far = largest_gap(gradient, wanted)
        raise NotYet(
            f"the value is right, but the gradient is off by {far:.2g}: something is detached."
        )


def _terms(logits, targets, smoothing, others_only=False, summed=False):
    """Return the loss (B, T) of every place."""
    log_probs = logits.log_softmax(-1)
    right = log_probs.gather(-1, targets[..., None])[..., 0]
    spread = log_probs.sum(-1)
    V = logits.shape[-1]
    if others_only:
        return -(1 - smoothing) * right - smoothing * (spread - right) / max(V - 1, 1)
    return -(1 - smoothing) * right - smoothing * (spread if summed else spread / V)


def _loss_of(logits, targets, pad, smoothing):
    return _terms(logits, targets, smoothing)[targets != pad].mean()


def _wrong_losses(logits, targets, pad, smoothing):
    import torch

    logits = torch.tensor(logits, dtype=torch.float64)
    targets = torch.tensor(targets)
    real = targets != pad
    terms = _terms(logits, targets, smoothing)
    total = terms[real].sum()
    mean = total / real.sum()
    B = len(targets)
    by_sentence = torch.stack([t[r].mean() for t, r in zip(terms, real, strict=True)])
    twice = _terms(logits.softmax(-1), targets, smoothing)[real].mean()
    wrong: dict[str, Any] = {
        "padding is counted as if it were words": terms.mean(),
        "padding is left out of the sum but still counted; divide by the number of real words": (
            total / targets.numel()
        ),
        "this is the mean of the means of the sentences, in which a word of a short sentence weighs more": (
            by_sentence.mean()
        ),
        "this is the sum over all real words, not their mean": total,
        "the sum is divided by the number of sentences, not of words": total / B,
        "the sign is wrong: the loss is minus the logarithm": -mean,
        "the logarithm has base 2": mean / np.log(2),
        "the exponential of the mean is a perplexity; the loss is the mean itself": mean.exp(),
        "the sum is divided by the number of steps, not of words": total / targets.shape[1],
        "the softmax is taken twice: hand the logits to the cross-entropy as they are": twice,
        "only padding is counted: the mask is the wrong way round": (
            terms[~real].mean() if (~real).any() else torch.tensor(float("nan"))
        ),
        "padding is looked for under the number 0, and here it is `pad`": (
            terms[targets != 0].mean() if (targets != 0).any() else 0 * mean
        ),
    }
    shares = {
        "the smoothing is missing": _loss_of(logits, targets, pad, 0.0),
        "the two shares are exchanged: 1 - smoothing belongs to the right word": (
            _loss_of(logits, targets, pad, 1 - smoothing)
        ),
        "the smoothing is spread over the other subwords alone, and here over all, the right one too": (
            _terms(logits, targets, smoothing, others_only=True)[real].mean()
        ),
        "the smoothing takes the sum over all subwords where it is their mean": (
            _terms(logits, targets, smoothing, summed=True)[real].mean()
        ),
    }
    default = {
        "the labels are smoothed where `smoothing` is 0, its default": _loss_of(
            logits, targets, pad, 0.1
        )
    }
    if smoothing:
        return wrong | shares | dict.fromkeys(default)
    return wrong | dict.fromkeys(shares) | default


# The loop


SIZES = (3, 4, 2)  # features of the small network that is trained
SCALES = (0.05, 3.0, 0.4, 12.0, 1.0)  # of the batches: some gradients are short, some long


def loop_trains(rng: Generator, train: Caller) -> str:
    """9.7: the parameters, losses and mode of a small network after five updates, as they should be."""
    settings = [("SGD", 0.1), ("Adam", 0.05)]
    trials = Trials(_wrong_updates, relative=CLOSE, absolute=1e-5)
    for optimiser, rate in shuffled(rng, settings):
        layers = [
            [rng.normal(size=(n, m)).astype(np.float32), rng.normal(size=n).astype(np.float32)]
            for m, n in pairwise(SIZES)
        ]
        batches = [_draw_batch(rng, scale) for scale in SCALES]
        clip = _middle_norm(layers, batches)
        setting = (layers, batches, optimiser, rate, clip)
        result = _run_training(train, setting)
        if not all(result["modes"]):
            raise NotYet(
                "the model is still in eval() while it is trained: dropout stays off there. Call "
                "model.train()."
            )
        right, losses = _updates(*setting)
        parameters = [np.asarray(values) for values in result["parameters"]]
        far = max(map(largest_gap, parameters, right))
        fact = f"after {len(SCALES)} batches with {optimiser} and clip {clip} a parameter is off by {far:.2g}"
        trials.require(parameters, right, fact, *setting)
        _judge_losses(result, losses)
    return "the same parameters and losses with two optimisers; short gradients stay as they are."


def _middle_norm(layers, batches):
    """Return the median norm of the batches' gradients: a limit that shortens some of them alone."""

    import torch

    model = small_network(layers)
    norms = []
    for x, y in batches:
        loss = squared_error(model, torch.tensor(x), torch.tensor(y))
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        norms.append(torch.cat([gradient.flatten() for gradient in gradients]).norm().item())
    return round(float(np.median(norms)), 2)


def _draw_batch(rng, scale):
    size = int(rng.integers(2, 9))
    x = rng.normal(size=(size, SIZES[0])).astype(np.float32)
    return [x, (scale * rng.normal(size=(size, SIZES[-1]))).astype(np.float32)]


def _run_training(train, setting):
    try:
        return train.run_driver(run_training, *setting)
    except NotYet as error:
        if "has no len()" in str(error) or "not subscriptable" in str(error):
            raise NotYet(
                "`batches` is a stream: it has no length and no places, and is read once, batch by batch."
            ) from None
        raise


def _judge_losses(result, losses):
    found = result["losses"]
    if found is None:
        raise NotYet("the parameters are right, but no losses came back: is a `return` missing?")
    if "Tensor" in result["kinds"]:
        raise NotYet(
            "the losses are tensors, where numbers are asked for: store loss.item(). (A tensor that is not "
            "detached keeps the graph of its batch in memory.)"
        )
    if not isinstance(found, list | tuple | np.ndarray) or np.ndim(found) != 1:
        raise NotYet("the parameters are right; return the list of all losses, one for each batch.")
    if len(found) != len(losses):
        raise NotYet(
            f"the parameters are right, but {len(found)} losses came back for {len(losses)} batches."
        )
    if not same(np.array(found, float), np.array(losses), 1e-3, 1e-4):
        raise NotYet(
            "the parameters are right, but the losses are not those of the batches before each update."
        )


def _updates(
    layers, batches, optimiser, rate, clip, *, rule=None, clearing="before", how_many=None
):
    """Return the parameters after training, and the losses.

    rule: what is done to the gradients, in place of clipping the norm of them all.
    clearing: "before" each batch, "once" before the first, "after" each update, or "never".
    """

    import torch

    model = small_network(layers)
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    steps = getattr(torch.optim, optimiser)(parameters, lr=rate)
    losses = []
    for number, (x, y) in enumerate(batches[:how_many]):
        if clearing == "before" or (clearing == "once" and number == 0):
            steps.zero_grad()
        loss = squared_error(model, torch.tensor(x), torch.tensor(y))
        loss.backward()
        if rule:
            rule(parameters, clip)
        else:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        if clearing != "one step":
            steps.step()
        if clearing == "after":
            steps.zero_grad()
        losses.append(loss.item())
    if clearing == "one step":
        steps.step()
    return [parameter.detach().double().numpy() for parameter in parameters], losses


def _leave(parameters, clip):
    """Clip nothing."""


def _clip_values(parameters, clip):
    import torch

    torch.nn.utils.clip_grad_value_(parameters, clip)


def _clip_each(parameters, clip):
    import torch

    for parameter in parameters:
        torch.nn.utils.clip_grad_norm_([parameter], clip)


def _always_scale(parameters, clip):
    import torch

    norm = torch.cat([parameter.grad.flatten() for parameter in parameters]).norm()
    for parameter in parameters:
        parameter.grad *= clip / norm


def _clip_to_one(parameters, clip):
    import torch

    torch.nn.utils.clip_grad_norm_(parameters, 1.0)


def _wrong_updates(*setting):
    before = [values.astype(float) for layer in setting[0] for values in layer]
    kinds: dict[str, dict] = {
        "the gradients are never cleared, so each batch adds to those before it": {
            "clearing": "never"
        },
        "the gradients are cleared once, before the first batch, and each batch adds to those before it": {
            "clearing": "once"
        },
        "gradients left over from before the call are used: clear them before the first loss": {
            "clearing": "after"
        },
        "the gradient is not clipped, or only after the step": {"rule": _leave},
        "each entry of the gradient is clipped by value, which turns it: clip the norm of the whole": {
            "rule": _clip_values
        },
        "each parameter is clipped alone: clip the norm of all gradients together": {
            "rule": _clip_each
        },
        "short gradients are made longer: only those longer than `clip` are changed": {
            "rule": _always_scale
        },
        "the norm is clipped to 1, whatever `clip` is": {"rule": _clip_to_one},
        "only the first batch is used": {"how_many": 1},
        "one step is taken at the end, where each batch needs one": {"clearing": "one step"},
    }
    wrong: dict[str, Any] = {name: _updates(*setting, **kind)[0] for name, kind in kinds.items()}
    wrong["one step is taken at the end, with the gradient of the last batch alone"] = _last_only(
        setting
    )
    sentence = (
        "no parameter has changed: `backward` or the step is missing, they stand in the wrong order, or the "
        "gradients are cleared between them"
    )
    wrong[sentence] = before
    return wrong


def _last_only(setting):
    layers, batches, *others = setting
    return _updates(layers, batches[-1:], *others)[0]
