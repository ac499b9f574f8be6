"""Judge of 13.6, what a head does to letters, read off its weights."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, array, asked, number, shuffled
from attn_course.answers.mistakes import Trials

FIRST = (5, 7, 3)  # letters, width, width of a head
SIZES = ((6, 6, 6), (4, 9, 2))


def circuits_are_read(rng: Generator, ov: Caller, matching: Caller, copying: Caller) -> str:
    """13.6: both circuits as matrices from letter to letter, and how far one of them copies."""
    settings = [_drawn(rng, *sizes) for sizes in (FIRST, *shuffled(rng, SIZES))]
    for name, answer, right, wrong, given in (
        ("ov_circuit", ov, _ov, _wrong_ov, ("E", "W_v", "W_o", "U")),
        (
            "matching_circuit",
            matching,
            _matching,
            _wrong_matching,
            ("E", "W_q", "W_k", "W_v1", "W_o1"),
        ),
    ):
        trials = Trials(wrong)
        for drawn in settings:
            args = [drawn[key] for key in given]
            found = array(answer(*args), f"{name}(...)")
            wanted = right(*args)
            if found.shape != wanted.shape:
                fact = f"{name}(...) has shape {found.shape}, where letters by letters is {wanted.shape}"
            else:
                fact = f"{name}(...) is off by up to {np.abs(found - wanted).max():.2g}"
            trials.judge(found, wanted, fact, *args)

    trials = Trials(_wrong_copying)
    circuits = _circuits(rng)
    for (C,), answer in asked(rng, copying, [(C,) for C in circuits.values()]):
        name = next(name for name, one in circuits.items() if one is C)
        score = number(answer, f"copying_score of {name}")
        trials.add(score, _copying(C), f"copying_score of {name} is {score:.3g}", C)
    trials.settle()
    return (
        f"both circuits in {len(settings)} sizes, and the copying score of {len(trials)} matrices."
    )


def _drawn(rng, num_letters, D, d):
    """Random weights by name."""
    shapes = {
        "E": (num_letters, D),
        "U": (D, num_letters),
        "W_q": (D, d),
        "W_k": (D, d),
        "W_v": (D, d),
        "W_o": (d, D),
        "W_v1": (D, d),
        "W_o1": (d, D),
    }
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


def _circuits(rng):
    """{what it is: a matrix (n, n) from letter to letter}."""
    n = 5
    return {
        "a random matrix": rng.normal(size=(n, n)),
        "the identity": np.eye(n),
        "minus the identity": -np.eye(n),
        "a cycle": np.roll(np.eye(n), 1, 0) + 0.1 * np.eye(n),
        "three times the identity with noise": 3 * np.eye(n) + 0.3 * rng.normal(size=(n, n)),
        "diag(9, 1, 1, -1, -1, -1)": np.diag([9.0, 1, 1, -1, -1, -1]),
    }


def _ov(E, W_v, W_o, U):
    written = E @ W_v @ W_o
    return written @ U


def _wrong_ov(E, W_v, W_o, U):
    """{sentence: the matrix that this mistake gives}."""
    right = _ov(E, W_v, W_o, U)
    d = W_v.shape[1]
    table = {
        "rows and columns are exchanged: a row is the letter that is attended to": right.T,
        "E is missing: rows are letters, not features": W_v @ W_o @ U,
        "U is missing: columns are letters, not features": E @ W_v @ W_o,
        "E and U are missing: both sides are letters": W_v @ W_o,
        "values are not divided by the root of d; only scores are": right / d**0.5,
        "the direct path E U is added; the head alone is asked for": right + E @ U,
        "E is used in place of the read-out U": E @ W_v @ W_o @ E.T,
    }
    if W_v.shape[0] == d:
        table["W_o comes before W_v; a head first reads values, then writes"] = E @ W_o @ W_v @ U
    return table


def _matching(E, W_q, W_k, W_v1, W_o1):
    return E @ W_q @ (E @ W_v1 @ W_o1 @ W_k).T / W_q.shape[1] ** 0.5


def _wrong_matching(E, W_q, W_k, W_v1, W_o1):
    """{sentence: the matrix that this mistake gives}."""
    right = _matching(E, W_q, W_k, W_v1, W_o1)
    d = W_q.shape[1]
    first = E @ W_v1 @ W_o1
    return {
        "rows and columns are exchanged: a row is the letter of the query": right.T,
        "the root of d is missing in the scores": right * d**0.5,
        "scores are divided by the root of d, not by d": right / d**0.5,
        "head 1 writes into the keys here, and you let it write into the queries": (
            first @ W_q @ (E @ W_k).T / d**0.5
        ),
        "head 1 is missing: the key knows what stood before it only from head 1": (
            E @ W_q @ (E @ W_k).T / d**0.5
        ),
        "head 1 is on both sides; the query is the letter itself": first
        @ W_q
        @ (first @ W_k).T
        / d**0.5,
        "W_q and W_k are exchanged": E @ W_k @ (first @ W_q).T / d**0.5,
        "the letter's own embedding is added to what head 1 wrote; that alone is asked for": (
            E @ W_q @ ((E + first) @ W_k).T / d**0.5
        ),
        "the root is that of D, the width of the stream; it is the root of d, the width of a head": (
            right * d**0.5 / E.shape[1] ** 0.5
        ),
    }


def _copying(C):
    values = np.linalg.eigvals(C)
    return values.real.sum() / np.abs(values).sum()


def _wrong_copying(C):
    """{sentence: the score that this mistake gives}."""
    values = np.linalg.eigvals(C)
    singular = np.linalg.svd(C, compute_uv=False)
    lower = np.linalg.eigvalsh(C)
    symmetric = np.linalg.eigvalsh((C + C.T) / 2)
    return {
        "singular values are never negative, so a head that inverts letters would pass": (
            singular.sum() / np.abs(singular).sum()
        ),
        "that is the share of eigenvalues with a positive real part; their sizes count": (
            (values.real > 0).mean()
        ),
        "the sum of the eigenvalues is not divided by the sum of their sizes": values.real.sum(),
        "the sum of the eigenvalues is divided by itself; the sum of their sizes belongs below": 1.0,
        "the size of the sum stands below; the sum of the sizes is meant": np.sign(
            values.real.sum()
        ),
        "the sign is lost, so a head that inverts letters would pass": abs(_copying(C)),
        "the score is moved to between 0 and 1; it lies between -1 and 1": (_copying(C) + 1) / 2,
        "the trace is divided by the number of letters, not by the sizes of the eigenvalues": (
            np.trace(C) / len(C)
        ),
        "these are the entries on the diagonal; eigenvalues are meant": (
            np.trace(C) / np.abs(np.diag(C)).sum()
        ),
        "that is the mean over eigenvalues; large ones count more": (
            (values.real / np.abs(values)).mean()
        ),
        "the sizes below are those of the real parts; the size of a complex number is its modulus": (
            values.real.sum() / np.abs(values.real).sum()
        ),
        "the trace is divided by the sum of all entries' sizes; eigenvalues are meant": (
            np.trace(C) / np.abs(C).sum()
        ),
        "`eigvalsh` sees the lower triangle alone, as if the matrix were symmetric": (
            lower.sum() / np.abs(lower).sum()
        ),
        "these are the eigenvalues of the symmetric part, (C + C^T) / 2": (
            symmetric.sum() / np.abs(symmetric).sum()
        ),
        "that is how often the largest entry of a row is on the diagonal": (
            (C.argmax(1) == np.arange(len(C))).mean()
        ),
        "that is the trace over the singular values; the sizes of the eigenvalues belong below": (
            np.trace(C) / singular.sum()
        ),
    }
