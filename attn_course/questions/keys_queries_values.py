"""Questions 5.1-5.5, self-attention with and without projections."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, answers_to, array, matrix, vector
from attn_course.answers.mistakes import AnyOf, Trials, seen
from attn_course.questions.random_keys import orthonormal_rows
from attn_course.register import Claim, Claims, Part, Question, chains_prove
from attn_utils.kernels import attend

NAMES = ("u_a", "u_b", "u_c", "u_d")
CLOSE = 1e-2  # how far from its target an output may be, in units of the length of the u's
MATRICES = "KQV"


def _tokens(u_a, u_b, u_c, u_d, *, added=None):
    """Return the three inputs (3, d), with u_c or u_d added to the second."""
    second = u_a + {"c": u_c, "d": u_d}.get(added, 0)
    return np.array([u_d + u_b, second, u_c + u_b])


def _in_words(u, vector):
    """Return the coefficients of a vector on the u's (4, d), as "1.00 u_b - 0.50 u_c"."""
    words = []
    for name, one in zip(NAMES, u, strict=True):
        share = one @ vector / (one @ one)
        sign = "-" if share < 0 else "+"
        if not abs(share) < 0.005:
            words.append(f"{sign} {abs(share):.2f} {name}")
    return " ".join(words).removeprefix("+ ") or "zero"


def _row(weights):
    """Return weights as text, such as "(0.00, 1.00, 0.00)"."""
    return f"({', '.join(f'{weight:.2f}' for weight in weights)})"


def limit_is_reached(rng: Generator, limit_of_c2: Caller) -> str:
    """5.1: close to what attention returns for large u's, with nothing, u_d or u_c added."""
    settings: list[tuple] = []
    for length, d in ((4.0, 6), (6.0, 4), (5.0, 9), (40.0, 12)):
        four = length * orthonormal_rows(rng, 4, d)
        settings += [(*four, added) for added in (None, "d", "c")]

    trials = Trials(_limit_mistakes, relative=0, absolute=CLOSE)
    for (*u, added), answer in answers_to(rng, limit_of_c2, settings):
        size = np.linalg.norm(u[0])
        limit = vector(answer, len(u[0]), "c_2")
        tokens = _tokens(*u, added=added)
        context, weights = attend(tokens, tokens, tokens, scale=1.0)
        fact = (
            f"you said {_in_words(u, limit)} (added = {added!r}, u's of length {size:g}), "
            f"but the weights of x_2 are {_row(weights[1])}"
        )
        trials.add(limit / size, context[1] / size, fact, *u, added)

    trials.settle()
    return "within 1% of what attention returns, in four spaces, for each of the three inputs."


def _limit_mistakes(u_a, u_b, u_c, u_d, added):
    """In units of the length of the u's, as the answers are."""
    u = np.array([u_a, u_b, u_c, u_d]) / np.linalg.norm(u_a)
    tokens = _tokens(*u, added=added)
    first, second, third = tokens
    alike = {"d": first, "c": third}.get(added)  # the token that holds what was added
    mixed = AnyOf(((first + second) / 2, (third + second) / 2)) if added else None
    exchanged = {"d": "c", "c": "d"}.get(added)
    return {
        "u_b is at least 0.63 lengths away from every mixture of the inputs": AnyOf((u[1], second)),
        "x_2 scores higher with itself than with x_1, also with u_d added, so it does not look there": (
            AnyOf((first, second))
        ),
        "x_2 scores higher with itself than with x_3, also with u_c added, so it does not look there": (
            AnyOf((third, second))
        ),
        "x_2 scores higher with itself than with the token that holds what was added": alike,
        "what was added to x_2 has changed its value too, not only its scores": u[0],
        "x_1 and x_2 do not share the weight: a difference of scores decides, and it is large": mixed,
        "u_d and u_c are exchanged": _tokens(*u, added=exchanged)[1],
        "the weights are far from equal": tokens.mean(0),
        "weights sum to one: tokens are averaged, not added up": tokens.sum(0),
    }


@dataclass(frozen=True)
class Task:
    """A task for three projections: three tokens (3, d) and the outputs that are asked for.

    wanted: c_1 and c_2, (2, d). size: the length of the u's. unit: the length that errors are measured in.
    """

    tokens: np.ndarray
    wanted: np.ndarray
    size: float
    unit: float

    def attend(self, triple: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the context (3, d) and weights (3, 3); where the scores overflow the context is nan."""
        K, Q, V = triple
        with np.errstate(over="ignore", invalid="ignore"):
            return attend(self.tokens @ Q.T, self.tokens @ K.T, self.tokens @ V.T, scale=1.0)

    def distances(self, triple: Sequence[np.ndarray]) -> np.ndarray:
        """Return the distances of c_1 and of c_2 from what is asked for."""
        context, _ = self.attend(triple)
        return np.linalg.norm(context[:2] - self.wanted, axis=1)

    def error(self, triple: Sequence[np.ndarray]) -> float:
        """Return the larger of the two distances, in its unit."""
        return self.distances(triple).max() / self.unit

    def is_done_by(self, triple: Sequence[np.ndarray]) -> bool:
        """Return True if these three projections are right."""
        return self.error(triple) <= CLOSE


def _read_triple(answer, d):
    """Return the three (d, d) matrices that came back; raise NotYet if there are others."""
    if answer is None:
        array(answer, "the answer")
    several = isinstance(answer, list | tuple | np.ndarray)
    if not several or len(answer) != 3:
        raise NotYet("three matrices are expected: return K, Q, V.")

    triple = []
    for name, part in zip(MATRICES, answer, strict=True):
        part = array(part, name)
        if part.shape in ((d,), (d, 1), (1, d)):
            raise NotYet(
                f"{name} is a vector; `x * y` multiplies entry by entry, np.outer(x, y) does not."
            )
        triple.append(matrix(part, (d, d), name))
    return triple


def _judge_task(trials, task, triple, fact, *inputs):
    """Keep one trial of a triple, and return its error."""
    context, _ = task.attend(triple)
    if not np.isfinite(context).all():
        raise NotYet("the scores are too large for a computer: give the matrices a smaller scale.")
    trials.add(task.is_done_by(triple), True, fact, task, triple, *inputs)
    return task.error(triple)


def triple_is_right(rng: Generator, projections: Caller) -> str:
    """5.3: c_2 is u_b and c_1 is u_b - u_c, to 1%; how the triple does it is not looked at."""
    spaces = product((10, 20), (7, 4))
    settings = [tuple(length * orthonormal_rows(rng, 4, d)) for length, d in spaces]
    trials = Trials(_triple_mistakes)
    errors = []
    for u, answer in answers_to(rng, projections, settings):
        _, u_b, u_c, _ = u
        triple = _read_triple(answer, len(u_b))
        size = float(np.linalg.norm(u_b))
        task = Task(_tokens(*u), np.array([u_b - u_c, u_b]), size, unit=size)
        errors.append(_judge_task(trials, task, triple, _triple_fact, u))

    trials.settle()
    return f"both outputs are where they should be, to {_upto(errors)} of the length of the u's."


def _upto(errors):
    """Return the largest error in words."""
    return "rounding" if max(errors) < 1e-12 else f"{max(errors):.1e}"


def _triple_fact(task, triple, u):
    (c_1, c_2, _), weights = task.attend(triple)
    return f"c_1 is {_in_words(u, c_1)}, c_2 is {_in_words(u, c_2)}; {_rows(weights)}"


def _rows(weights):
    """Return the two rows of weights (3, 3) that matter, as a clause."""
    return f"the weights of query 1 are {_row(weights[0])}, of query 2 {_row(weights[1])}"


@seen
def _triple_mistakes(task, triple, u):
    if task.is_done_by(triple):  # nothing that is wrong shows here
        return {}
    context, weights = task.attend(triple)
    c_1, c_2, _ = context

    def near(output: np.ndarray, *shares: float) -> bool:
        """Return True if an output is this mixture of the u's."""
        off = np.linalg.norm(output - np.array(shares) @ u)
        return off <= CLOSE * task.size

    exchanged = near(c_1, 0, 1, 0, 0) and near(c_2, 0, 1, -1, 0)
    return {
        **_repairs(task, triple),
        "all scores are equal, so every token gets 1/3": np.allclose(weights, 1 / 3),
        "the two outputs are exchanged": exchanged,
        "query 2 scores x_1 and x_3 alike (both hold u_b), and c_2 is their middle": (
            near(c_2, 0, 1, -0.5, 0)
        ),
        "token 2 looks at x_1, but V lets u_d through with u_b": near(c_2, 0, 1, 0, 1),
        "V sends all three tokens to zero": not np.abs(context).max() > CLOSE,
        "token 2 looks at itself, and V sends u_a to zero": near(c_2, 0, 0, 0, 0),
        **_alike(weights),
        "c_1 has lost its u_c: V keeps nothing of x_3 but u_b": near(c_1, 0, 1, 0, 0),
        "the sign of u_c in c_1 is turned round": near(c_1, 0, 1, 1, 0),
    }


def _alike(weights):
    """Return {sentence: whether one query scores all tokens alike}. weights: (3, 3)."""
    return {
        f"query {k} scores all tokens alike": np.allclose(weights[k - 1], 1 / 3) for k in (1, 2)
    }


def _repairs(task, triple):
    """Return {sentence: whether this simple repair makes the triple right}, the simplest first."""
    K, Q, V = triple
    size = task.size
    repairs = {
        "right directions, but the scores differ by too little: their gap must grow with the "
        "length of the u's, and 400 times Q is enough here": (K, 400 * Q, V),
        "V is |v|^2 times too large, for (u v^T) v = u |v|^2": (K, Q, V / size**2),
        "V is |v| times too large; |v|^2 is the length times itself": (K, Q, V / size),
        "V hands over half of what it should": (K, Q, 2 * V),
        "the sign of V is turned round": (K, Q, -V),
        "the sign of K or Q is turned round, so every query avoids the token it should attend to": (
            (K, -Q, V)
        ),
        "right directions, but neither V nor the gap of the scores has the right size": (
            (K, 400 * Q, V / size**2)
        ),
    }
    table = {sentence: task.is_done_by(repaired) for sentence, repaired in repairs.items()}
    readings = _readings(task, triple)
    if not readings:
        return table
    return {f"the three matrices would be right {', and also '.join(readings)}": True} | table


def _readings(task, triple):
    """In which other order the matrices would be right, and with which of them transposed, as clauses."""
    readings = []
    for names in ("QKV", "KVQ", "VQK", "QVK", "VKQ"):
        given = dict(zip(names, triple, strict=True))
        if task.is_done_by([given[name] for name in MATRICES]):
            order = ", ".join(names)
            readings.append(f"in the order ({order}), where (K, Q, V) is asked for")
            break
    for turned in ("K", "Q", "V", "KQ", "KV", "QV", "KQV"):
        named = zip(MATRICES, triple, strict=True)
        if task.is_done_by([part.T if name in turned else part for name, part in named]):
            names = " and ".join(turned)
            readings.append(f"with {names} transposed (k = Kx: a matrix multiplies a column x)")
            break
    return readings


@chains_prove("both chains hold, from the length of the difference to its closed form.")
def errors_are_exact() -> Claims:
    """Return the claims of 5.4: how far c_2 and c_1 are from what they should be."""
    import sympy as sp

    from attn_course.proofs.required_form import in_places

    rho = sp.Symbol("rho", positive=True)
    E = sp.exp(rho**2)
    near = E / (E + 2)
    far = 1 / (E + 2)
    starts = {
        "`error_2`": rho * sp.sqrt((near + far - 1) ** 2 + far**2),
        "`error_1`": rho * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2),
    }
    slips = {
        "the root of a sum is not the sum of the roots": (2, 3),
        "the factor rho is lost": (sp.sqrt(2) / rho, sp.sqrt(5) / rho),
        "the three weights sum to one, near and two times far": (1, 2),
        "a bracket that is minus two times far has the square 4 far**2": (1, sp.sqrt(3)),
        "the root is lost": (2 * far, 5 * far),
    }
    return tuple(
        Claim(
            name=name,
            start=start,
            goal=start,
            symbols=(rho,),
            slips={sentence: rho * far * factors[k] for sentence, factors in slips.items()},
            forms=(in_places("a form with rho in two places", 2, "rho"),),
        )
        for k, (name, start) in enumerate(starts.items())
    )


ROUTES = ((10, 9, 3), (10, 5, 2), (20, 4, 1))  # length of the addresses, d, numbers carried


def routing_works(rng: Generator, routing_projections: Caller) -> str:
    """5.5: c_2 is whatever x_1 carries and c_1 whatever x_3 carries, for contents of any size."""
    settings = []
    for length, d, m in ROUTES:
        basis = orthonormal_rows(rng, 3 + m, d)
        settings.append((*(length * basis[:3]), basis[3:].T))

    trials = Trials(_routing_mistakes)
    errors = []
    for (*addresses, content), answer in answers_to(rng, routing_projections, settings):
        d, m = content.shape
        triple = _read_triple(answer, d)
        size = float(np.linalg.norm(addresses[0]))
        coefficients = rng.normal(size=(2, m))
        for scale in rng.permutation((0.0, 1.0, size, 100 * size, -100 * size)):
            carried = scale * coefficients @ content.T
            task = _routing(addresses, carried)
            error = _judge_task(trials, task, triple, _routing_fact, addresses, carried)
            errors.append(error)

    trials.settle()
    return f"contents of every size arrive where they should, to {_upto(errors)} of their length."


def _routing(addresses, carried):
    """Return x_1 = u_d + y, x_2 = u_a, x_3 = u_c + z, from (u_a, u_c, u_d) and (y, z)."""
    u_a, u_c, u_d = addresses
    y, z = carried
    lengths = np.linalg.norm([*addresses, y, z], axis=1)
    return Task(np.array([u_d + y, u_a, u_c + z]), np.array([z, y]), lengths[0], lengths.max())


def _routing_fact(task, triple, addresses, carried):
    _, weights = task.attend(triple)
    off_1, off_2 = task.distances(triple)
    longest = np.linalg.norm(carried, axis=1).max()
    times = f"with contents up to {longest / task.size:.3g} times as long as the u's"
    return (
        f"{times if longest else 'without contents'} "
        f"c_2 is {off_2:.3g} away from what x_1 carries, c_1 {off_1:.3g} from x_3's; "
        f"{_rows(weights)}"
    )


def _is_routed(weights):
    """Return True if token 1 looks at token 3, and token 2 at token 1."""
    return min(weights[0, 2], weights[1, 0]) > 0.99


@seen
def _routing_mistakes(task, triple, addresses, carried):
    """Return the table of mistakes of 5.5. addresses: u_a, u_c, u_d; carried: (2, d)."""
    if task.is_done_by(triple):  # nothing that is wrong shows here
        return {}
    context, weights = task.attend(triple)
    _, empty = _routing(addresses, 0 * carried).attend(triple)
    routed = _is_routed(weights)
    leaks = triple[2] @ np.transpose(addresses[1:])
    return {
        **_repairs(task, triple),
        "without contents the tokens look where they should, but contents leak into the scores": (
            _is_routed(empty) and not routed
        ),
        "all scores are equal, so every output is the same mixture": np.allclose(weights, 1 / 3),
        "token 2 looks at itself, so c_2 cannot depend on what x_1 carries": (weights[1, 1] > 0.99),
        **_alike(weights),
        "the two contents are exchanged": np.allclose(context[:2], carried),
        "token 1 looks at itself and returns its own content, not that of x_3": (
            weights[0, 0] > 0.99
        ),
        "the tokens look where they should, but V lets u_c or u_d through": (
            routed and np.abs(leaks).max() > 1e-6
        ),
        "the tokens look where they should, but V does not hand over all of a content": routed,
    }


QUESTIONS = (
    Question(
        id="5.1",
        title="Three tokens, no projections",
        minutes=10,
        parts=(Part("code", ("limit_of_c2",), limit_is_reached, points=2),),
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
        minutes=9,
        parts=(Part("written", points=2),),
        covers=("000 e.i", "001 e.i", "004 e.i"),
        hints=(
            "There are two separate obstacles: to which token x_2 attends, and which outputs are "
            "possible at all.",
            "Whatever the weights, the output is a mixture. Which coefficients of u_b, u_c and u_d "
            "does a mixture of x_1, x_2 and x_3 have?",
        ),
    ),
    Question(
        id="5.3",
        title="Three matrices",
        minutes=17,
        parts=(Part("code", ("projections",), triple_is_right, points=3),),
        covers=("000 e.ii", "001 e.ii"),
        hints=(
            "(x y^T) z = x (y . z): an outer product measures how much of y is in z, and returns "
            "that multiple of x.",
            "Choose V first, so that two of the values are exactly the two outputs wanted.",
            "Then decide to which token each query should attend, and which part only the key of "
            "that token has.",
            "Divide by the squared length where an outer product would otherwise make a vector too long.",
        ),
    ),
    Question(
        id="5.4",
        title="How exact",
        minutes=10,
        parts=(Part("derive", ("error_2", "error_1"), errors_are_exact, points=1),),
        covers=("000 e.ii",),
        hints=(
            "The three weights, one `near` and two `far`, sum to one. What does each bracket become?",
            "Every term under the root, `sp.sqrt(...)`, is then a multiple of the same square. How many are "
            "there? `near` and `far` may stand in your lines.",
        ),
    ),
    Question(
        id="5.5",
        title="Contents nobody knows",
        minutes=9,
        parts=(Part("code", ("routing_projections",), routing_works, points=1),),
        hints=(
            "Scores must not depend on the contents. Which part of a token may K and Q use?",
            "V must keep every content and remove every address. You found such a matrix in 2.1.",
        ),
    ),
)
