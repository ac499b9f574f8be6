"""Questions 5.1-5.5, self-attention with and without projections; judges read the outputs alone."""

from functools import cache
from itertools import combinations

import numpy as np

from attn_course.chain_rules import in_places
from attn_course.frames import frame
from attn_course.judge_derivation import Claim, judge_derivation
from attn_course.reading import array, matrix, vector
from attn_course.register import Part, Question
from attn_course.verdict import NotYet
from attn_utils.kernels import attend

NAMES = ("u_a", "u_b", "u_c", "u_d")
CLOSE = 1e-2  # how far from its target an output may be, in units of the length of the u's


def _tokens(u, added=None):
    """The three inputs (3, d) made of u_a, u_b, u_c, u_d, with u_c or u_d added to the second."""
    a, b, c, d = u
    return np.array([d + b, a + {None: 0, "c": c, "d": d}[added], c + b])


def _contexts(tokens, K, Q, V):
    """Self-attention of tokens (n, d) under three projections: context (n, dv), weights (n, n)."""
    with np.errstate(over="ignore", invalid="ignore"):
        context, weights = attend(tokens @ Q.T, tokens @ K.T, tokens @ V.T, scale=1.0)
    if not np.isfinite(context).all():
        raise NotYet("the scores are too large for a computer: give the matrices a smaller scale.")
    return context, weights


def _in_words(u, vector):
    """A vector by its coefficients on the u's, as "1.00 u_b - 0.50 u_c"."""
    shares = u @ vector / np.sum(u * u, axis=1)
    terms = [f"{share:+.2f} {name}" for name, share in zip(NAMES, shares, strict=True)]
    kept = [term for term, share in zip(terms, shares, strict=True) if abs(share) >= 0.005]
    return " ".join(kept).replace("+", "+ ").replace("-", "- ").removeprefix("+ ") or "zero"


def limit_is_reached(rng, limit_of_c2):
    """5.1: close to what attention returns for large u's, with nothing, u_d or u_c added."""
    for size, d in ((4.0, 6), (6.0, 4), (5.0, 9)):
        u = size * frame(rng, 4, d)
        for added in (None, "d", "c"):
            said = vector(limit_of_c2(*u, added), d, "c_2")
            tokens = _tokens(u, added)
            context, weights = attend(tokens, tokens, tokens, scale=1.0)
            if np.linalg.norm(said - context[1]) > CLOSE * size:
                raise NotYet(_why_not_the_limit(u, added, tokens, said, weights[1]))
    return "within 1% of what attention returns, in three spaces, for each of the three inputs."


def _why_not_the_limit(u, added, tokens, said, weights):
    a, b = u[:2]
    size = np.linalg.norm(a)
    setting = f"added = {added!r}, length {size:g}"
    far = _distance_to_mixtures(tokens, b)
    shares = ", ".join(f"{weight:.2g}" for weight in weights)
    near, other = (0, 2) if added != "c" else (2, 0)
    scores = (tokens @ tokens[1]).round(9)
    known = {
        f"u_b is at least {far / size:.2f} lengths away from every mixture of the inputs": b,
        f"x_2 scores {scores[1]:.3g} with itself and {abs(scores[near]):.3g} with x_{near + 1}, so it "
        "does not look there": tokens[near],
        "this is the token at the other end, whose score is lowest": tokens[other],
        "what was added to x_2 has changed its value too, not only its scores": a,
        "x_1 and x_2 do not share the weight: a difference of scores decides, and it is large": (
            0.5 * (tokens[near] + tokens[1])
        ),
        "the weights are far from equal": tokens.mean(0),
        "weights sum to one: tokens are averaged, not added up": tokens.sum(0),
    }
    for sentence, wrong in known.items():
        if np.linalg.norm(said - wrong) <= CLOSE * size:
            return f"{sentence} ({setting}; the weights of x_2 are {shares})."
    return f"you said {_in_words(u, said)} ({setting}), but the weights of x_2 are {shares}."


def _distance_to_mixtures(tokens, target):
    """How near any weighted average of three tokens comes to the target, by trying many."""
    grid = np.linspace(0, 1, 41)
    shares = np.array([(p, q, 1 - p - q) for p in grid for q in grid if p + q <= 1 + 1e-9])
    return np.linalg.norm(shares @ tokens - target, axis=1).min()


def _read_triple(value, d):
    """Three (d, d) matrices out of what came back."""
    if value is None:
        array(value, "the answer")
    if not isinstance(value, list | tuple | np.ndarray) or len(value) != 3:
        raise NotYet("three matrices are expected: return K, Q, V.")
    for name, part in zip("KQV", value, strict=True):
        if array(part, name).shape in ((d,), (d, 1), (1, d)):
            raise NotYet(
                f"{name} is a vector; `x * y` multiplies entry by entry, np.outer(x, y) does not."
            )
    return [matrix(part, (d, d), name) for name, part in zip("KQV", value, strict=True)]


def triple_is_right(rng, projections):
    """5.3: c_2 is u_b and c_1 is u_b - u_c, to 1%; how the triple does it is not looked at."""
    worst = 0.0
    for size, d in ((10.0, 7), (10.0, 4), (20.0, 7), (20.0, 4)):
        u = size * frame(rng, 4, d)
        triple = _read_triple(projections(*u), d)
        error = _miss(u, triple)
        if error > CLOSE:
            raise NotYet(_why_not_right(u, triple))
        worst = max(worst, error)
    return f"both outputs are where they should be, to {_upto(worst)} of the length of the u's."


def _upto(error):
    return "rounding" if error < 1e-12 else f"{error:.1e}"


def _miss(u, triple):
    """The larger distance of c_1 and c_2 from their targets, in units of the length of the u's."""
    context, _ = _contexts(_tokens(u), *triple)
    targets = np.array([u[1] - u[2], u[1]])
    return np.linalg.norm(context[:2] - targets, axis=1).max() / np.linalg.norm(u[0])


def _mended(triple, misses, size):
    """The sentence of the first simple repair of the triple that makes it right, or None."""
    K, Q, V = triple
    repairs = {
        "right directions, but the scores differ by too little: their gap must grow with the "
        "length of the u's, and 400 times Q is enough here": (K, 400 * Q, V),
        f"V is {size**2:g} times too large: (u v^T) v = u |v|^2, and |v|^2 = {size**2:g}": (
            (K, Q, V / size**2)
        ),
        f"V is {size:g} times too large: |v|^2 is the length times itself": (K, Q, V / size),
        "V hands over half of what it should": (K, Q, 2 * V),
        "right directions, but neither V nor the gap of the scores has the right size": (
            (K, 400 * Q, V / size**2)
        ),
    }
    repairs = _transposes(triple) | repairs
    return next((why for why, repair in repairs.items() if misses(repair) <= CLOSE), None)


def _transposes(triple):
    repairs = {}
    for count in (1, 2, 3):
        for turned in combinations(range(3), count):
            names = " and ".join("KQV"[k] for k in turned)
            why = f"it works after transposing {names}: k = Kx, so a matrix meets a column x"
            repairs[why] = [part.T if k in turned else part for k, part in enumerate(triple)]
    return repairs


_PATTERNS = (  # (which output, its coefficients on the u's, what it means)
    (1, (0, 1, -0.5, 0), "query 2 scores x_1 and x_3 alike (both hold u_b): c_2 is their middle"),
    (1, (0, 1, 0, 1), "token 2 looks at x_1, but V lets u_d through with u_b"),
    (1, (0, 0, 0, 0), "token 2 looks at itself, and V sends u_a to zero"),
    (0, (0, 1, 0, 0), "c_1 has lost its u_c: V keeps nothing of x_3 but u_b"),
    (0, (0, 1, 1, 0), "the sign of u_c in c_1 is turned round"),
)


def _why_not_right(u, triple):
    tokens, size = _tokens(u), np.linalg.norm(u[0])
    context, weights = _contexts(tokens, *triple)
    fact = f"c_1 is {_in_words(u, context[0])}, c_2 is {_in_words(u, context[1])}"
    mended = _mended(triple, lambda repair: _miss(u, repair), size)
    if mended:
        return f"{mended} (now {fact})."
    if np.allclose(weights, 1 / 3):
        return f"all scores are equal, so every token gets 1/3: {fact}."
    if np.linalg.norm(context[[1, 0]] - (u[1] - u[2], u[1]), axis=1).max() <= CLOSE * size:
        return f"the two outputs are exchanged: {fact}."
    for k, shares, sentence in _PATTERNS:
        if np.linalg.norm(context[k] - np.array(shares) @ u) <= CLOSE * size:
            return f"{sentence} ({fact})."
    return (
        f"{fact}; the weights of query 1 are {_list(weights[0])}, of query 2 {_list(weights[1])}."
    )


def _list(weights):
    return "(" + ", ".join(f"{weight:.2f}" for weight in weights) + ")"


@cache
def _errors():
    """The claims of 5.4: how far c_2 and c_1 are from what they should be."""
    import sympy as sp

    beta = sp.Symbol("beta", positive=True)
    E = sp.exp(beta**2)
    near = E / (E + 2)
    far = 1 / (E + 2)
    starts = {
        "`error_2`": beta * sp.sqrt((near + far - 1) ** 2 + far**2),
        "`error_1`": beta * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2),
    }
    short = in_places("beta in two places", 2, "beta")
    return [
        Claim(name=name, start=start, goal=start, to_do=(short,), symbols=(beta,))
        for name, start in starts.items()
    ]


def errors_are_exact(rng, error_2, error_1):
    """5.4: two chains from the length of the difference to a form that can be read off."""
    for chain, claim in zip((error_2, error_1), _errors(), strict=True):
        judge_derivation(chain, claim)
    return "both chains hold, from the length of the difference to its closed form."


def routing_works(rng, routing_projections):
    """5.5: c_2 is whatever x_1 carries and c_1 whatever x_3 carries, for contents of any size."""
    worst = 0.0
    for size, d, m in ((10.0, 9, 3), (10.0, 5, 2), (20.0, 4, 1)):
        basis = frame(rng, 3 + m, d)
        addresses, content = size * basis[:3], basis[3:].T
        triple = _read_triple(routing_projections(*addresses, content), d)
        for scale in (1.0, size, 10 * size, 0.0):
            carried = scale * rng.normal(size=(2, m)) @ content.T
            error = _lost(addresses, carried, triple)
            if error > CLOSE:
                raise NotYet(_why_not_routed(addresses, content, carried, triple, scale / size))
            worst = max(worst, error)
    return f"contents of every size arrive where they should, to {_upto(worst)} of their length."


def _carriers(addresses, carried):
    """x_1 = u_d + y, x_2 = u_a, x_3 = u_c + z, from (u_a, u_c, u_d) and (y, z)."""
    a, c, d = addresses
    return np.array([d + carried[0], a, c + carried[1]])


def _lost(addresses, carried, triple):
    """The larger distance of c_2 from y and of c_1 from z, in units of the longest vector."""
    context, _ = _contexts(_carriers(addresses, carried), *triple)
    longest = np.linalg.norm(np.vstack([addresses, carried]), axis=1).max()
    return np.linalg.norm(context[[1, 0]] - carried, axis=1).max() / longest


def _why_not_routed(addresses, content, carried, triple, relative):
    y, z = carried
    context, weights = _contexts(_carriers(addresses, carried), *triple)
    rows = f"the weights of query 1 are {_list(weights[0])}, of query 2 {_list(weights[1])}"
    mended = _mended(triple, lambda t: _lost(addresses, carried, t), np.linalg.norm(addresses[0]))
    if mended:
        return f"{mended} ({rows})."
    empty = _contexts(_carriers(addresses, 0 * carried), *triple)[1]
    if min(empty[0, 2], empty[1, 0]) > 0.99 > min(weights[0, 2], weights[1, 0]):
        return (
            f"without contents the tokens look where they should, but contents {relative:g} times as "
            f"long as the u's leak into the scores: {rows}."
        )
    if weights[1, 1] > 0.99:
        return f"token 2 looks at itself, so c_2 cannot depend on what x_1 carries: {rows}."
    if np.linalg.norm(context[1] - z) + np.linalg.norm(context[0] - y) < 1e-6:
        return f"the two contents are exchanged: {rows}."
    if weights[0, 0] > 0.99:
        return f"token 1 looks at itself and returns its own content, not that of x_3: {rows}."
    if np.allclose(weights, 1 / 3):
        return f"all scores are equal, so every output is the same mixture: {rows}."
    through = np.linalg.norm(addresses @ triple[2].T, axis=1)[1:].max()
    if min(weights[0, 2], weights[1, 0]) > 0.99:
        what = (
            "lets u_c or u_d through" if through > 1e-6 else "does not hand over all of a content"
        )
        return f"the tokens look where they should, but V {what}: {rows}."
    off_2, off_1 = np.linalg.norm(context[[1, 0]] - carried, axis=1)
    return f"c_2 is {off_2:.3g} away from what x_1 carries, c_1 {off_1:.3g} from x_3's: {rows}."


QUESTIONS = (
    Question(
        id="5.1",
        title="Three tokens, no projections",
        minutes=8,
        parts=(Part("code", 2, ("limit_of_c2",), limit_is_reached),),
        covers=("000 e.i", "001 e.i", "004 e.i"),
        hints=(
            "Write down the three scores of x_2. Which inner products of the u's are not zero?",
            "The scores are multiples of the squared length, which is large: what does softmax do?",
            "Adding a vector to x_2 changes its query, its key and its value at once.",
        ),
    ),
    Question(
        id="5.2",
        title="Why not u_b",
        minutes=7,
        parts=(Part("written", 2),),
        covers=("000 e.i", "001 e.i", "004 e.i"),
        hints=(
            "There are two separate obstacles: where x_2 looks, and what looking can return.",
            "Whatever the weights, the output is a mixture. Which coefficients of u_b, u_c and u_d "
            "does a mixture of x_1, x_2 and x_3 have?",
        ),
    ),
    Question(
        id="5.3",
        title="Three matrices",
        minutes=15,
        parts=(Part("code", 3, ("projections",), triple_is_right),),
        covers=("000 e.ii", "001 e.ii"),
        hints=(
            "(x y^T) z = x (y . z): an outer product asks how much of y there is, and answers with x.",
            "Choose V first, so that two of the values are exactly the two outputs wanted.",
            "Then decide which token each query should find, and what only that token's key has.",
            "Divide by the squared length where an outer product would otherwise blow a vector up.",
        ),
    ),
    Question(
        id="5.4",
        title="How exact",
        minutes=8,
        parts=(Part("derive", 1, ("error_2", "error_1"), errors_are_exact),),
        covers=("000 e.ii",),
        hints=(
            "Put each bracket under the root over the common denominator first.",
            "The large terms cancel in every bracket. What is left is a small whole number.",
        ),
    ),
    Question(
        id="5.5",
        title="Contents nobody knows",
        minutes=7,
        parts=(Part("code", 1, ("routing_projections",), routing_works),),
        hints=(
            "Scores must not depend on the contents: which part of a token may K and Q look at?",
            "V must keep every content and drop every address: 2.1 built such a matrix.",
        ),
    ),
)
