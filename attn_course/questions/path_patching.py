"""Judge of 13.7, what a head writes if one of its three inputs had not seen the layer before."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.drivers import call_and_keep_inputs
from attn_utils.kernels import attend

FIRST = (5, 6, 3)  # T, D, d
SIZES = ((4, 4, 4), (1, 5, 2), (7, 8, 2))
PATHS = ("q", "k", "v")


def one_path_is_cut(rng: Generator, patched: Caller) -> str:
    """13.7: the other two inputs see the stream as it is, and nothing given is changed."""
    trials = Trials(_wrong_cuts)
    cases = [(sizes, path) for sizes in SIZES for path in PATHS]
    first = [(FIRST, path) for path in PATHS]
    for (T, D, d), path in first + shuffled(rng, cases):
        x, written, instead = rng.normal(size=(3, T, D))
        weights = [rng.normal(size=shape) for shape in ((D, d), (D, d), (D, d), (d, D))]
        inputs = [x, written, instead, weights, path]

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
        trials.judge(found, right, fact, *inputs)

    return f"each path alone is cut, in {len(trials)} cases; the inputs stay as they are."


def _cut(x, written, instead, weights, path, *, other=None, **options):
    """What the head writes, where `path` names the inputs that see the other stream."""
    stream = x - written + instead if other is None else other(x, written, instead)
    inputs = {name: stream if name in path else x for name in PATHS}
    return _head(inputs, weights, **options)


def _head(inputs, weights, *, causal=True, scale=None):
    *projections, W_o = weights
    q, k, v = (inputs[name] @ W for name, W in zip(PATHS, projections, strict=True))
    return attend(q, k, v, causal=causal, scale=scale)[0] @ W_o


def _wrong_cuts(x, written, instead, weights, path):
    """{sentence: what a head with this mistake writes}."""
    given = (x, written, instead, weights)
    others = "".join(name for name in PATHS if name != path)
    exchanged = {"q": "k", "k": "q"}.get(path, path)
    return {
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
        "q and k have changed places": _cut(*given, exchanged) if path != "v" else None,
        "the two other paths are cut; only the one named by `path` is": _cut(*given, others),
        "there is no causal mask: a token sees the future": _cut(*given, path, causal=False),
        "the root of d is missing in the scores": _cut(*given, path, scale=1.0),
        "the stream is added to the result; what the head writes is asked for, without it": (
            x + _cut(*given, path)
        ),
    }
