"""Answers to 5.1-5.5 that must pass in whatever form they come, and mistakes that must not."""

import numpy as np
import sympy as sp

from attn_course import derive
from attn_utils import attend


def unit(x, y):
    """The matrix that sends y to x, for x and y of equal length."""
    return np.outer(x, y) / (y @ y)


def tokens(a, b, c, d, added=None):
    return np.array([d + b, a + {None: 0, "c": c, "d": d}[added], c + b])


# 5.1


def exact_softmax(a, b, c, d, added):
    x = tokens(a, b, c, d, added)
    return attend(x, x, x, scale=1.0)[0][1]


def limit(a, b, c, d, added):
    return a + (0 if added is None else d if added == "d" else c)


def as_a_list(a, b, c, d, added):
    return [list(limit(a, b, c, d, added))]


# 5.3: values v_1 = u_b and v_3 = u_b - u_c, and a query for each of the two tokens that matter


def standard_v(a, b, c, d):
    return unit(b, b) - unit(c, c)


def standard_q(a, b, c, d):
    return unit(d, a) + unit(c, d)


def standard(a, b, c, d):
    return np.eye(len(a)), standard_q(a, b, c, d), standard_v(a, b, c, d)


def with_parts(K=None, Q=None, V=None):
    """The standard triple with some of its matrices replaced by functions of the u's."""

    def triple(*u):
        parts = zip((K, Q, V), standard(*u), strict=True)
        return tuple(part if new is None else new(*u) for new, part in parts)

    return triple


def relabelled_by_v(a, b, c, d):
    """Every token looks at itself; V turns what it holds into what is wanted."""
    return np.eye(len(a)), np.eye(len(a)), unit(b, b) - unit(c, d) + unit(b, a)


def exact_for_any_weights(a, b, c, d):
    """Blurred weights that differ from row to row, and the V that makes both outputs exact."""
    K = Q = np.eye(len(a)) / np.linalg.norm(a)
    x = tokens(a, b, c, d)
    mixed = attend(x @ Q.T, x @ K.T, x, scale=1.0)[0][:2]
    return K, Q, np.array([b - c, b]).T @ np.linalg.pinv(mixed.T)


def random_keys_and_queries(a, b, c, d):
    rng = np.random.default_rng(5)
    K, Q = rng.normal(size=(2, len(a), len(a))) / (a @ a)
    x = tokens(a, b, c, d)
    mixed = attend(x @ Q.T, x @ K.T, x, scale=1.0)[0][:2]
    return K, Q, np.array([b - c, b]).T @ np.linalg.pinv(mixed.T)


def pushes_the_others_down(a, b, c, d):
    """Query 2 is opposed by x_2 and x_3, query 1 by x_1 and x_2."""
    Q = -unit(a, a) - unit(c, a) - unit(b, d) - unit(d, d) - 2 * unit(a, d)
    return np.eye(len(a)), 2 * Q, standard_v(a, b, c, d)


# 5.4

rho = sp.Symbol("rho", positive=True)
E = sp.exp(rho**2)
near, far = E / (E + 2), 1 / (E + 2)
START_2 = rho * sp.sqrt((near + far - 1) ** 2 + far**2)
START_1 = rho * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2)


def chain(start, *steps):
    return derive((start, "definition"), *((step, "algebra") for step in steps))


SHORT_2 = chain(
    START_2, rho * sp.sqrt(((E + 1) / (E + 2) - 1) ** 2 + far**2), sp.sqrt(2) * rho * far
)
SHORT_1 = chain(START_1, rho * sp.sqrt(far**2 + (near - 1) ** 2), sp.sqrt(5) * rho * far)
LONG_2 = chain(
    START_2,
    rho * sp.sqrt((1 - near - far) ** 2 + far**2),
    rho * sp.sqrt((1 - (E + 1) / (E + 2)) ** 2 + far**2),
    rho * sp.sqrt(2) / (E + 2),
)
LONG_1 = chain(
    START_1,
    rho * sp.sqrt((far + near - 1) ** 2 + (2 / (E + 2)) ** 2),
    rho * sp.sqrt(5 / (E + 2) ** 2),
    sp.sqrt(5) * rho / (2 + E),
)


# 5.5


def route(a, c, d, content):
    return np.eye(len(a)), unit(d, a) + unit(c, d), content @ content.T


def route_by_addresses(a, c, d, content):
    """Keys hold the addresses only, and V drops them only."""
    K = unit(a, a) + unit(c, c) + unit(d, d)
    return 3 * K, unit(d, a) + unit(c, d), np.eye(len(a)) - K


def route_with_turned_signs(a, c, d, content):
    K, Q, V = route(a, c, d, content)
    return -K, -5 * Q, V + 7 * unit(content[:, 0] * np.linalg.norm(a), a)


def self_looking(a, c, d, content):
    return np.eye(len(a)), np.eye(len(a)), content @ content.T


def leaking(a, c, d, content):
    K, Q, V = route(a, c, d, content)
    return K, Q + V, V


RIGHT = {
    "5.1": {
        "the limit": (limit,),
        "the exact mixture": (exact_softmax,),
        "a nested list": (as_a_list,),
    },
    "5.3": {
        "look up by address": (standard,),
        "look at yourself, relabel by V": (relabelled_by_v,),
        "blurred weights, exact V": (exact_for_any_weights,),
        "random keys and queries, exact V": (random_keys_and_queries,),
        "push the others down": (pushes_the_others_down,),
        "everything in K instead of Q": (
            lambda *u: (standard_q(*u).T, np.eye(len(u[0])), standard_v(*u)),
        ),
        "v_2 is anything": (with_parts(V=lambda *u: standard_v(*u) + 9 * unit(u[3], u[0])),),
        "a list of lists, very large": (
            lambda *u: [(1e6 * standard(*u)[0]).tolist(), *standard(*u)[1:]],
        ),
    },
    "5.4": {
        "as short as possible": (SHORT_2, SHORT_1),
        "longer, in other words": (LONG_2, LONG_1),
        "one of each": (SHORT_2, LONG_1),
    },
    "5.5": {
        "look up by address": (route,),
        "keys without contents": (route_by_addresses,),
        "other signs, scales and v_2": (route_with_turned_signs,),
        "token 3 asks as well": (
            lambda a, c, d, content: (
                np.eye(len(a)),
                unit(d, a) + unit(c, d) + unit(a, c),
                content @ content.T,
            ),
        ),
    },
}

WRONG = {
    "5.1": {
        "u_b after all": (lambda a, b, c, d, added: b, "away from every mixture"),
        "x_1": (lambda a, b, c, d, added: d + b, "than with x_1, also with u_d added"),
        "the token that holds what was added": (
            lambda a, b, c, d, added: {None: a, "d": d + b, "c": c + b}[added],
            "than with the token that holds what was added",
        ),
        "u_b once something is added": (
            lambda a, b, c, d, added: b if added else a,
            "from every mixture of the inputs: you said 1.00 u_b (added = 'd'",
        ),
        "x_3 when u_c is added": (
            lambda a, b, c, d, added: c + b if added == "c" else limit(a, b, c, d, added),
            "than with x_3, also with u_c added",
        ),
        "still u_a (004-7)": (lambda a, b, c, d, added: a, "changed its value too"),
        "u_b and u_d grow together (000-8)": (
            lambda a, b, c, d, added: (
                a if added is None else 0.5 * tokens(a, b, c, d, added)[:2].sum(0)
            ),
            "do not share the weight",
        ),
        "the plain mean": (lambda *u: tokens(*u).mean(0), "far from equal"),
        "the sum": (lambda *u: tokens(*u).sum(0), "averaged, not added up"),
        "two scores": (lambda a, *u: a @ a, "where 6 are expected"),
        "u_d and u_c exchanged": (
            lambda a, b, c, d, added: limit(a, b, d, c, added),
            "u_d and u_c are exchanged: you said 1.00 u_a + 1.00 u_c",
        ),
    },
    "5.3": {
        "V forgets u_c": (with_parts(V=lambda a, b, c, d: unit(b, b)), "lost its u_c"),
        "sign of u_c": (
            with_parts(V=lambda a, b, c, d: unit(b, b) + unit(c, c)),
            "sign of u_c in c_1",
        ),
        "V not normalised": (
            with_parts(V=lambda *u: standard_v(*u) * (u[0] @ u[0])),
            "|v|^2 times too large",
        ),
        "V normalised by the length once": (
            with_parts(V=lambda *u: standard_v(*u) * np.linalg.norm(u[0])),
            "V is |v| times too large",
        ),
        "half of V": (with_parts(V=lambda *u: standard_v(*u) / 2), "hands over half"),
        "minus V": (with_parts(V=lambda *u: -standard_v(*u)), "sign of V is turned round"),
        "minus Q": (with_parts(Q=lambda *u: -standard_q(*u)), "sign of K or Q is turned round"),
        "V = 0": (with_parts(V=lambda *u: 0 * standard_v(*u)), "sends all three tokens to zero"),
        "token 1 asks for nothing": (
            with_parts(Q=lambda a, b, c, d: unit(d, a)),
            "query 1 scores all tokens alike",
        ),
        "V is the identity": (with_parts(V=lambda a, *u: np.eye(len(a))), "u_d through"),
        "K = Q = I with the V of the handout's hint": (
            with_parts(Q=lambda a, *u: np.eye(len(a))),
            "looks at itself",
        ),
        "Q transposed": (
            with_parts(Q=lambda *u: standard_q(*u).T),
            "and also with Q transposed",
        ),
        "another order": (
            lambda *u: (standard(*u)[1], standard(*u)[0], standard(*u)[2]),
            "in the order (Q, K, V)",
        ),
        "yet another order": (
            lambda *u: (standard(*u)[2], standard(*u)[0], standard(*u)[1]),
            "in the order (V, K, Q)",
        ),
        "V transposed": (
            lambda *u: (*relabelled_by_v(*u)[:2], relabelled_by_v(*u)[2].T),
            "with V transposed",
        ),
        "q_2 = u_b": (
            with_parts(Q=lambda a, b, c, d: unit(b, a) + unit(c, d)),
            "scores x_1 and x_3 alike",
        ),
        "rows exchanged": (
            with_parts(Q=lambda a, b, c, d: unit(c, a) + unit(d, d)),
            "outputs are exchanged",
        ),
        "unit gap": (with_parts(K=lambda a, *u: np.eye(len(a)) / (a @ a)), "differ by too little"),
        "unit gap and V not normalised": (
            lambda *u: (
                np.eye(len(u[0])) / (u[0] @ u[0]),
                standard_q(*u),
                standard_v(*u) * (u[0] @ u[0]),
            ),
            "neither V nor the gap",
        ),
        "K = 0": (with_parts(K=lambda a, *u: np.zeros((len(a),) * 2)), "every token gets 1/3"),
        "products entry by entry (000-10)": (
            with_parts(V=lambda a, b, c, d: (b * b - c * c) / (a @ a)),
            "V is a vector",
        ),
        "only V": (lambda *u: standard_v(*u), "three matrices are expected"),
        "overflow": (
            with_parts(
                K=lambda a, *u: 1e200 * np.eye(len(a)), Q=lambda a, *u: 1e200 * np.eye(len(a))
            ),
            "too large for a computer",
        ),
    },
    "5.4": {
        "weights (1, 0, 1) (000-9)": (
            (
                chain(START_2, rho * sp.sqrt((2 * near - 1) ** 2 + near**2), sp.sqrt(2) * rho),
                SHORT_1,
            ),
            "step 1 of `error_2` does not follow",
        ),
        "the same error twice": ((SHORT_2, SHORT_2), "`error_1` must start at the definition"),
        "a root of a sum taken term by term": (
            (SHORT_2, chain(START_1, rho * sp.sqrt(far**2 + (near - 1) ** 2), 3 * rho * far)),
            "step 2 of `error_1` does not follow",
        ),
        "not simplified": (
            (
                chain(
                    START_2,
                    rho * sp.sqrt((far + near - 1) ** 2 + (1 - near - far + far) ** 2 / 4),
                    rho * sp.sqrt((far + near - 1) ** 2 + (1 - near) ** 2 / 4),
                ),
                SHORT_1,
            ),
            "rho in two places is asked for",
        ),
    },
    "5.5": {
        "K = Q = I (001-5)": (self_looking, "cannot depend on what x_1 carries"),
        "V is the identity": (
            lambda *u: (*route(*u)[:2], np.eye(len(u[0]))),
            "lets u_c or u_d through",
        ),
        "a part of the content": (
            lambda *u: (*route(*u)[:2], np.outer(u[3][:, 0], u[3][:, 0])),
            "does not hand over all",
        ),
        "token 1 asks for nothing": (
            lambda a, c, d, content: (np.eye(len(a)), unit(d, a), content @ content.T),
            "query 1 scores all tokens alike: ",
        ),
        "Q transposed": (
            lambda *u: (route(*u)[0], route(*u)[1].T, route(*u)[2]),
            "with Q transposed",
        ),
        "another order": (
            lambda *u: (route(*u)[1], route(*u)[0], route(*u)[2]),
            "in the order (Q, K, V)",
        ),
        "unit gap": (
            lambda *u: (route(*u)[0] / (u[0] @ u[0]), *route(*u)[1:]),
            "differ by too little",
        ),
        "contents leak into the scores": (leaking, "leak into the scores"),
        "a part of a content leaks into the query of token 2": (
            lambda a, c, d, content: (
                np.eye(len(a)),
                route(a, c, d, content)[1] + unit(content[:, 0], a),
                content @ content.T,
            ),
            "e-13 from x_3's; the weights of query 1 are (0.00, 0.00, 1.00), of query 2 (0.00, 0.00, 1.00)",
        ),
        "exchanged": (
            lambda a, c, d, content: (np.eye(len(a)), unit(c, a) + unit(d, d), content @ content.T),
            "contents are exchanged",
        ),
        "token 1 keeps its own content": (
            lambda a, c, d, content: (np.eye(len(a)), unit(d, a) + unit(d, d), content @ content.T),
            "returns its own content",
        ),
        "uniform": (lambda *u: (0 * route(*u)[0], *route(*u)[1:]), "all scores are equal"),
        "content instead of its projector": (
            lambda *u: (*route(*u)[:2], u[3].T),
            "the shape of V is (3, 9), expected (9, 9)",
        ),
    },
}


REGIMES = {
    "5.1": {
        "limit_of_c2": {
            "nothing added": lambda a, b, c, d, added: added is None,
            "u_d added": lambda a, b, c, d, added: added == "d",
            "u_c added": lambda a, b, c, d, added: added == "c",
            "four dimensions": lambda a, b, c, d, added: len(a) == 4,
            "more dimensions": lambda a, b, c, d, added: len(a) > 4,
            "very long u's": lambda a, b, c, d, added: np.linalg.norm(a) > 30,
            "u's of moderate length": lambda a, b, c, d, added: np.linalg.norm(a) < 5,
        },
    },
    "5.3": {
        "projections": {
            "four dimensions": lambda a, b, c, d: len(a) == 4,
            "more dimensions": lambda a, b, c, d: len(a) > 4,
            "u's of length 10": lambda a, b, c, d: abs(np.linalg.norm(a) - 10) < 1e-9,
            "u's of length 20": lambda a, b, c, d: abs(np.linalg.norm(a) - 20) < 1e-9,
        },
    },
    "5.5": {
        "routing_projections": {
            "one number carried": lambda a, c, d, content: content.shape[1] == 1,
            "several numbers carried": lambda a, c, d, content: content.shape[1] > 1,
            "no dimension to spare": lambda a, c, d, content: 3 + content.shape[1] == len(a),
            "dimensions to spare": lambda a, c, d, content: 3 + content.shape[1] < len(a),
            "addresses of another length": lambda a, c, d, content: np.linalg.norm(a) > 15,
        },
    },
}
