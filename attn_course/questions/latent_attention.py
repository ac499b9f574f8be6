"""Judges of 15.5, keys and values that are made of one latent vector for each token.

Contexts decide; the largest tensor on the way is measured besides, in a run whose result is compared too.
"""

from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, judge_separately, number, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.answers.tensors import close, distance, only_tensors, tensor_trials
from attn_course.drivers import call_with_rotation, make_rotation, run_tensors, run_watched
from attn_course.questions.peak_memory import largest_tensor
from attn_utils.kernels import attend, softmax

FIRST = (3, 7, 5, 4)  # H, T, width of a latent, d
SIZES = ((2, 4, 4, 4), (1, 1, 3, 2), (4, 9, 2, 6), (5, 5, 5, 5), FIRST)


def latents_are_enough(rng: Generator, latent_attention: Caller, absorbed_matrix: Caller) -> str:
    """15.5: the contexts of full keys and values from the latents, then what a rotation does to that."""
    return judge_separately(
        {
            "latent_attention": partial(_judge_contexts, rng, latent_attention),
            "absorbed_matrix": partial(_judge_rotation, rng, absorbed_matrix),
        }
    )


def _judge_contexts(rng, latent_attention):
    """Return a sentence on the contexts and on how they were computed."""
    trials = tensor_trials(_wrong_contexts)
    for sizes in [FIRST, *shuffled(rng, SIZES)]:
        inputs = _drawn(rng, *sizes)
        result = latent_attention.run_driver(run_tensors, inputs)
        (output,) = only_tensors(result, "latent_attention", 1)
        right = _context(*inputs)
        setting = "H = {}, T = {}, latents of {} numbers, d = {}".format(*sizes)
        trials.require(output, right, distance(output, right, setting), *inputs)

    memory = _judge_memory(rng, latent_attention)
    return f"Equal to full keys and values in {len(trials)} sizes; {memory}."


def _drawn(rng, H, T, width, d):
    """Return [q (H, d), latents (T, width), W_k and W_v (H, width, d)]."""
    shapes = ((H, d), (T, width), (H, width, d), (H, width, d))
    return [rng.normal(size=shape) for shape in shapes]


def _context(q, latents, W_k, W_v, *, scale=None):
    """Return the context (H, d) by full keys and values."""
    context, _ = attend(q[:, None], latents @ W_k, latents @ W_v, scale=scale)
    return context[:, 0]


def _wrong_contexts(q, latents, W_k, W_v):
    H, d = q.shape
    width = latents.shape[-1]
    values = latents @ W_v  # (H, T, d)
    scores = np.einsum("hd,hrd,tr->ht", q, W_k, latents) / d**0.5
    mixed = softmax(scores) @ latents  # (H, width)

    def context(W_k=W_k, W_v=W_v, **options):
        return _context(q, latents, W_k, W_v, **options)

    table = {
        "the root is that of the latent's width; it is the root of d, the width of a head": (
            context(scale=width**-0.5)
        ),
        "the root of d is missing in the scores": context(scale=1.0),
        "the scores are divided by d, not by its root": context(scale=1 / d),
        "the mixture of latents is returned as it is: W_v is missing": mixed,
        "W_k is used for the values too": np.einsum("hr,hrd->hd", mixed, W_k),
        "W_v is used for the keys too": context(W_k=W_v),
        "W_k and W_v have changed places": context(W_k=W_v, W_v=W_k),
        "all heads use the keys of head 0; each has a W_k of its own": context(W_k=W_k[[0] * H]),
        "all heads use the values of head 0; each has a W_v of its own": context(W_v=W_v[[0] * H]),
        "the softmax runs over the heads; it runs over the tokens": (
            np.einsum("ht,htd->hd", softmax(scores, 0), values)
        ),
        "there is no softmax: scores are used as weights": np.einsum("ht,htd->hd", scores, values),
        "the heads are averaged; one context for each head is asked for": (
            np.broadcast_to(context().mean(0), q.shape)
        ),
        "every token has the same weight: the query plays no part": latents.mean(0) @ W_v,
    }
    if width == d:
        table["W_k is transposed: a key is latent @ W_k"] = context(W_k=W_k.mT)
        table["W_v is transposed: a value is latent @ W_v"] = context(W_v=W_v.mT)
        table["the query is compared with the latents themselves: W_k is missing"] = context(
            W_k=np.eye(d)
        )
    return table


def _judge_memory(rng, latent_attention):
    """Return a clause on the largest tensor at a length drawn now; the result of that run is compared too."""
    H, width, d = 4, 12, 64  # the keys of one head alone are larger than all scores
    T = int(rng.integers(500, 700))
    inputs = _drawn(rng, H, T, width, d)
    seen = latent_attention.run_driver(run_watched, inputs)
    (output,) = only_tensors(seen, "latent_attention", 1)
    right = _context(*inputs)
    if not close(output, right):
        raise NotYet(f"{distance(output, right, f'H = {H}, T = {T}, d = {d}')}.")

    largest = largest_tensor(seen)
    if not largest < T * d:
        raise NotYet(
            f"right, but at H = {H}, T = {T}, d = {d} a tensor of {largest:,} numbers is made, and the keys "
            f"of one head have {T * d:,}: bring W_k to the query and W_v to the mixture, so that no key "
            "or value is made."
        )
    made = int(number(seen["made"]))
    if not made < H * T * d:
        raise NotYet(
            f"right, but at H = {H}, T = {T}, d = {d} {made:,} numbers are made in all, and the keys of all "
            f"heads have {H * T * d:,}: keys or values are computed after all, a few at a time. Bring W_k to "
            "the query and W_v to the mixture."
        )
    return (
        f"at {T} tokens its largest tensor has {largest:,} numbers, where keys have {H * T * d:,}"
    )


# The rotation

ROTATIONS = ((4, 6, 3), (6, 4, 1), (5, 8, 0), (4, 4, 7))  # width of a latent, d, distance


def _judge_rotation(rng, absorbed_matrix):
    """Return a sentence; raise NotYet unless the matrix gives the rotated scores at every distance."""
    trials = Trials(_wrong_matrices)
    drawn = (4, 6, int(rng.integers(2, 40)))
    for width, d, far in [ROTATIONS[0], *shuffled(rng, [*ROTATIONS[1:], drawn])]:
        W_k = rng.normal(size=(width, d))
        pairs = rng.permutation(d).reshape(-1, 2)
        base = float(rng.uniform(50, 200))
        answer = absorbed_matrix.run_driver(call_with_rotation, W_k, far, pairs, base, last=True)
        call = f"absorbed_matrix of W_k {W_k.shape} at distance {far}"
        absorbed = array(answer, call)
        rotate = make_rotation(pairs, base)
        right = rotate(W_k, -far)
        if absorbed.shape != right.shape and absorbed.shape != right.T.shape:
            raise NotYet(f"{call} has shape {absorbed.shape}, expected {right.shape}.")
        fact = f"{call} gives other scores than the rotated query and key"
        trials.require(absorbed, right, fact, W_k, far, rotate)
    return "The matrix is right at every distance."


def _wrong_matrices(W_k, far, rotate):
    width, d = W_k.shape
    return {
        "the rotation is left out, which is right at distance 0 alone": W_k,
        "the sense of the rotation is turned round: the key is `distance` *before* the query": (
            rotate(W_k, far)
        ),
        "the distance counts twice": rotate(W_k, -2 * far),
        "rows and columns are exchanged: the matrix takes a latent to a vector of d numbers": (
            rotate(W_k, -far).T
        ),
        "the rotation acts on the latent; it acts on the d features of the key": (
            rotate(W_k.T, -far).T if width % 2 == 0 and width == d else None
        ),
        "the root of d is not part of this matrix": rotate(W_k, -far) / d**0.5,
        "only the key is rotated by 1; the distance decides": rotate(W_k, -1),
        "the rotation goes one position too far": rotate(W_k, -far - 1),
        "the rotation stops one position too early": rotate(W_k, 1 - far),
    }
