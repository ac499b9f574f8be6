"""Answers to 5.1-5.5 that must pass in whatever form they come, and mistakes that must not."""

from functools import partial

import numpy as np

from attn_utils import attend
from bank import edited
from bank.chains import right, wrong


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


# 5.3: values v_1 = u_b and v_3 = u_b - u_c, and a query for each of the two tokens that matter


def standard(a, b, c, d):
    K = np.eye(len(a))
    Q = unit(d, a) + unit(c, d)
    V = unit(b, b) - unit(c, c)
    return K, Q, V


standard_with = partial(edited, standard)
giving = partial(standard_with, "K, Q, V")


def relabelled_by_v(a, b, c, d):
    """Every token looks at itself; V turns what it holds into what is wanted."""
    return np.eye(len(a)), np.eye(len(a)), unit(b, b) - unit(c, d) + unit(b, a)


def exact_for_any_weights(a, b, c, d):
    """Blurred weights that differ from row to row, and the V that makes both outputs exact."""
    K = Q = np.eye(len(a)) / np.linalg.norm(a)
    x = tokens(a, b, c, d)
    mixed = attend(x @ Q.T, x @ K.T, x, scale=1.0)[0][:2]
    return K, Q, np.array([b - c, b]).T @ np.linalg.pinv(mixed.T)


def pushes_the_others_down(a, b, c, d):
    """Query 2 is opposed by x_2 and x_3, query 1 by x_1 and x_2."""
    K, _, V = standard(a, b, c, d)
    return K, -2 * (unit(a + c, a) + unit(b + d, d) + 2 * unit(a, d)), V


# 5.5


def route(a, c, d, content):
    K = np.eye(len(a))
    Q = unit(d, a) + unit(c, d)
    V = content @ content.T
    return K, Q, V


route_with = partial(edited, route)
routing = partial(route_with, "K, Q, V")


def route_by_addresses(a, c, d, content):
    """Keys hold the addresses only, and V drops them only."""
    K = unit(a, a) + unit(c, c) + unit(d, d)
    return 3 * K, unit(d, a) + unit(c, d), np.eye(len(a)) - K


RIGHT = {}
WRONG = {}
INPUT_KINDS = {}

RIGHT["5.1"] = {
    "the limit": (limit,),
    "the exact mixture": (exact_softmax,),
    "a nested list": (lambda *u: [list(limit(*u))],),
}
WRONG["5.1"] = {
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
}
INPUT_KINDS["5.1"] = {
    "limit_of_c2": {
        "nothing added": lambda a, b, c, d, added: added is None,
        "u_d added": lambda a, b, c, d, added: added == "d",
        "u_c added": lambda a, b, c, d, added: added == "c",
        "four dimensions": lambda a, b, c, d, added: len(a) == 4,
        "more dimensions": lambda a, b, c, d, added: len(a) > 4,
        "very long u's": lambda a, b, c, d, added: np.linalg.norm(a) > 30,
        "u's of moderate length": lambda a, b, c, d, added: np.linalg.norm(a) < 5,
    },
}

RIGHT["5.3"] = {
    "look up by address": (standard,),
    "look at yourself, relabel by V": (relabelled_by_v,),
    "blurred weights, exact V": (exact_for_any_weights,),
    "random keys and queries, exact V": (
        edited(
            exact_for_any_weights,
            "K = Q = np.eye(len(a)) / np.linalg.norm(a)",
            "K, Q = np.random.default_rng(5).normal(size=(2, len(a), len(a))) / (a @ a)",
        ),
    ),
    "push the others down": (pushes_the_others_down,),
    "everything in K instead of Q": (giving("Q.T, K, V"),),
    "v_2 is anything": (giving("K, Q, V + 9 * unit(d, a)"),),
    "a list of lists, very large": (giving("[(1e6 * K).tolist(), Q, V]"),),
}
WRONG["5.3"] = {
    "V forgets u_c": (standard_with(" - unit(c, c)", ""), "lost its u_c"),
    "sign of u_c": (standard_with("- unit(c", "+ unit(c"), "sign of u_c in c_1"),
    "V not normalised": (giving("K, Q, V * (a @ a)"), "|v|^2 times too large"),
    "V normalised by the length once": (
        giving("K, Q, V * np.linalg.norm(a)"),
        "V is |v| times too large",
    ),
    "half of V": (giving("K, Q, V / 2"), "hands over half"),
    "minus V": (giving("K, Q, -V"), "sign of V is turned round"),
    "minus Q": (giving("K, -Q, V"), "sign of K or Q is turned round"),
    "V = 0": (giving("K, Q, 0 * V"), "sends all three tokens to zero"),
    "token 1 asks for nothing": (
        standard_with(" + unit(c, d)", ""),
        "query 1 scores all tokens alike",
    ),
    "V is the identity": (giving("K, Q, np.eye(len(a))"), "u_d through"),
    "K = Q = I with the V of the handout's hint": (giving("K, K, V"), "looks at itself"),
    "Q transposed": (giving("K, Q.T, V"), "and also with Q transposed"),
    "another order": (giving("Q, K, V"), "in the order (Q, K, V)"),
    "yet another order": (giving("V, K, Q"), "in the order (V, K, Q)"),
    "V transposed": (
        lambda *u: (*relabelled_by_v(*u)[:2], relabelled_by_v(*u)[2].T),
        "with V transposed",
    ),
    "q_2 = u_b": (standard_with("unit(d, a)", "unit(b, a)"), "scores x_1 and x_3 alike"),
    "rows exchanged": (
        standard_with("unit(d, a) + unit(c, d)", "unit(c, a) + unit(d, d)"),
        "outputs are exchanged",
    ),
    "unit gap": (giving("K / (a @ a), Q, V"), "differ by too little"),
    "unit gap and V not normalised": (
        giving("K / (a @ a), Q, V * (a @ a)"),
        "neither V nor the gap",
    ),
    "K = 0": (giving("0 * K, Q, V"), "every token gets 1/3"),
    "products entry by entry (000-10)": (
        giving("K, Q, (b * b - c * c) / (a @ a)"),
        "V is a vector",
    ),
    "only V": (giving("V"), "three matrices are expected"),
    "overflow": (giving("1e200 * K, 1e200 * K, V"), "too large for a computer"),
}
INPUT_KINDS["5.3"] = {
    "projections": {
        "four dimensions": lambda a, b, c, d: len(a) == 4,
        "more dimensions": lambda a, b, c, d: len(a) > 4,
        "u's of length 10": lambda a, b, c, d: abs(np.linalg.norm(a) - 10) < 1e-9,
        "u's of length 20": lambda a, b, c, d: abs(np.linalg.norm(a) - 20) < 1e-9,
    },
}

RIGHT["5.4"] = right("5.4")
WRONG["5.4"] = wrong("5.4")

RIGHT["5.5"] = {
    "look up by address": (route,),
    "keys without contents": (route_by_addresses,),
    "other signs, scales and v_2": (
        routing("-K, -5 * Q, V + 7 * unit(content[:, 0] * np.linalg.norm(a), a)"),
    ),
    "token 3 asks as well": (routing("K, Q + unit(a, c), V"),),
}
WRONG["5.5"] = {
    "K = Q = I (001-5)": (routing("K, K, V"), "cannot depend on what x_1 carries"),
    "V is the identity": (routing("K, Q, np.eye(len(a))"), "lets u_c or u_d through"),
    "a part of the content": (
        routing("K, Q, np.outer(content[:, 0], content[:, 0])"),
        "does not hand over all",
    ),
    "token 1 asks for nothing": (
        route_with(" + unit(c, d)", ""),
        "query 1 scores all tokens alike: ",
    ),
    "Q transposed": (routing("K, Q.T, V"), "with Q transposed"),
    "another order": (routing("Q, K, V"), "in the order (Q, K, V)"),
    "unit gap": (routing("K / (a @ a), Q, V"), "differ by too little"),
    "contents leak into the scores": (routing("K, Q + V, V"), "leak into the scores"),
    "a part of a content leaks into the query of token 2": (
        routing("K, Q + unit(content[:, 0], a), V"),
        "e-13 from x_3's; the weights of query 1 are (0.00, 0.00, 1.00), of query 2 (0.00, 0.00, 1.00)",
    ),
    "exchanged": (
        route_with("unit(d, a) + unit(c, d)", "unit(c, a) + unit(d, d)"),
        "contents are exchanged",
    ),
    "token 1 keeps its own content": (
        route_with("unit(c, d)", "unit(d, d)"),
        "returns its own content",
    ),
    "uniform": (routing("0 * K, Q, V"), "all scores are equal"),
    "content instead of its projector": (
        routing("K, Q, content.T"),
        "the shape of V is (3, 9), expected (9, 9)",
    ),
}
INPUT_KINDS["5.5"] = {
    "routing_projections": {
        "one number carried": lambda a, c, d, content: content.shape[1] == 1,
        "several numbers carried": lambda a, c, d, content: content.shape[1] > 1,
        "no dimension to spare": lambda a, c, d, content: 3 + content.shape[1] == len(a),
        "dimensions to spare": lambda a, c, d, content: 3 + content.shape[1] < len(a),
        "addresses of another length": lambda a, c, d, content: np.linalg.norm(a) > 15,
    },
}
