"""Judge of 13.7, what a head writes if one of its three inputs had not seen the layer before."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.drivers import call_and_keep_inputs
from attn_course.questions.attention_mistakes import after, far_below, wrong_contexts
from attn_utils.kernels import attend

FIRST = (5, 6, 3)  # T, D, d
SIZES = ((4, 4, 4), (1, 5, 2), (7, 8, 2))
LOW = (6, 5, 3)  # with all scores far below zero
PATHS = ("q", "k", "v")


def one_path_is_cut(rng: Generator, patched: Caller) -> str:
    """13.7: the other two inputs see the stream as it is, and nothing given is changed."""
    trials = Trials(_wrong_cuts)
    cases = [(sizes, path) for sizes in SIZES for path in PATHS]
    first = [(FIRST, path) for path in PATHS]
    for sizes, path in [*first, *shuffled(rng, cases), (LOW, "v")]:
        T, D, d = sizes
        inputs = [*_drawn(rng, *sizes), path]

        found, is_unchanged = patched.via(call_and_keep_inputs, inputs)
        found = array(found, "patched(...)")
        right = _cut(*inputs)
        setting = f"{T} tokens, D = {D}, d = {d}, path {path}"
        if found.shape != right.shape:
            raise NotYet(
                f"patched(...) has shape {found.shape}, expected {right.shape} ({setting})."
            )
        if not is_unchanged:
            raise NotYet(
                "the stream that you were given is changed in place, so the next path would start from "
                "another "
                "stream; make a new array."
            )
        fact = f"it is off by up to {np.abs(found - right).max():.2g} ({setting})"
        trials.add(found, right, fact, *inputs)
        if len(trials) >= len(PATHS):  # one path alone does not tell which others are cut
            trials.settle()

    return f"each path alone is cut, in {len(trials)} cases; the inputs stay as they are."


def _drawn(rng, T, D, d):
    """x, written and instead (T, D), and the four matrices of a head."""
    x, written, instead = rng.normal(size=(3, T, D))
    W_q, W_k, W_v = rng.normal(size=(3, D, d))
    W_o = rng.normal(size=(d, D))
    if (T, D, d) == LOW:  # features 0 and 1 make queries and keys, and layer 1 does not write there
        W_q[:] = 0
        W_k[:] = 0
        q, k = far_below(rng, x @ W_q, x @ W_k)
        x[:, 0], x[:, 1] = q[:, 0], k[:, 0]
        W_q[0], W_k[1] = 1, 1
        written[:, :2], instead[:, :2] = 0, 0
    return x, written, instead, [W_q, W_k, W_v, W_o]


def _cut(x, written, instead, weights, path, *, other=None, scale=None):
    """What the head writes, where `path` names the inputs that see the other stream."""
    stream = x - written + instead if other is None else other(x, written, instead)
    *projections, W_o = weights
    q, k, v = (
        (stream if name in path else x) @ W for name, W in zip(PATHS, projections, strict=True)
    )
    return attend(q, k, v, causal=True, scale=scale)[0] @ W_o


def _wrong_cuts(x, written, instead, weights, path):
    """{sentence: what a head with this mistake writes}."""
    given = (x, written, instead, weights)
    others = "".join(name for name in PATHS if name != path)
    stream = x - written + instead
    *projections, W_o = weights
    q, k, v = (
        (stream if name == path else x) @ W for name, W in zip(PATHS, projections, strict=True)
    )
    attended = wrong_contexts(q, k, v, np.tri(len(x), dtype=bool))
    table = {
        sentence: after(context, lambda found: found @ W_o)
        for sentence, context in attended.items()
    }
    for one, two in ("qk", "qv", "kv"):
        exchanged = {one: two, two: one}.get(path)
        table[f"{one} and {two} have changed places"] = (
            _cut(*given, exchanged) if exchanged else None
        )
    for name in PATHS:
        table[f"{name} is cut whatever `path` says"] = _cut(*given, name)
    return table | {
        "all three inputs are cut; only the one named by `path` is": _cut(*given, "qkv"),
        "nothing is cut: the head still sees what layer 1 wrote": _cut(*given, ""),
        "zero stands in place of what layer 1 wrote; `instead` is to stand there": (
            _cut(*given, path, other=lambda x, written, instead: x - written)
        ),
        "`instead` is put in beside what layer 1 wrote; take `written` out first": (
            _cut(*given, path, other=lambda x, written, instead: x + instead)
        ),
        "the whole stream is replaced by `instead`, and the letters with it; take out `written` alone": (
            _cut(*given, path, other=lambda x, written, instead: instead)
        ),
        "the sign is turned round: `written` goes out and `instead` comes in": (
            _cut(*given, path, other=lambda x, written, instead: x + written - instead)
        ),
        "the two other paths are cut; only the one named by `path` is": _cut(*given, others),
        "the root is that of D, the width of the stream; it is the root of d, the width of a head": (
            _cut(*given, path, scale=x.shape[-1] ** -0.5)
        ),
        "the other stream is added to the result; what the head writes is asked for, without it": (
            stream + _cut(*given, path)
        ),
        "that is by how much the cut changes what the head writes; what it writes is asked for": (
            _cut(*given, path) - _cut(*given, "")
        ),
        "the stream is added to the result; what the head writes is asked for, without it": (
            x + _cut(*given, path)
        ),
    }
