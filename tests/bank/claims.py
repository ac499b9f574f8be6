"""Claims of other shapes than those of today's questions, each with honest chains and shams.

CLAIMS[name] is (claim, honest chains, {part of what must be said: sham}).
"""

import sympy as sp

from attn_course import derive
from attn_course.proofs.forms import occurs_at_most
from attn_course.register import Claim


def chain(claim, *lines):
    steps = [line if isinstance(line, tuple) else (line,) for line in lines]
    return derive((claim.start, "given"), *((*step, "so") for step in steps), where=claim.where)


m, j, theta, delta, q_1, q_2, k_1, k_2 = sp.symbols("m j theta delta q_1 q_2 k_1 k_2", real=True)
turned_query = (q_1 * sp.cos(m * theta) - q_2 * sp.sin(m * theta)) * (
    k_1 * sp.cos(j * theta) - k_2 * sp.sin(j * theta)
)
turned_key = (q_1 * sp.sin(m * theta) + q_2 * sp.cos(m * theta)) * (
    k_1 * sp.sin(j * theta) + k_2 * sp.cos(j * theta)
)


def turned(angle, sign=1):
    straight = (q_1 * k_1 + q_2 * k_2) * sp.cos(angle * theta)
    return straight + sign * (q_1 * k_2 - q_2 * k_1) * sp.sin(angle * theta)


ROTATION = Claim(
    name="`score`",
    start=turned_query + turned_key,
    goal=turned(delta),
    symbols=(m, j, theta, delta, q_1, q_2, k_1, k_2),
    where={m: j + delta},
    only=(theta, delta, q_1, q_2, k_1, k_2),
    forms=(occurs_at_most("one angle", 2, "sin", "cos"),),
)

M_1, M_2, l_1, l_2 = sp.symbols("M_1 M_2 l_1 l_2", real=True)
Z_1, Z_2 = sp.symbols("Z_1 Z_2", positive=True)
SHARE = Claim(
    name="`share`",
    start=sp.exp(M_1) * Z_1 / (sp.exp(M_1) * Z_1 + sp.exp(M_2) * Z_2),
    goal=1 / (1 + sp.exp(l_2 - l_1)),
    symbols=(M_1, M_2, l_1, l_2, Z_1, Z_2),
    where={M_1: l_1 - sp.log(Z_1), M_2: l_2 - sp.log(Z_2)},
    only=(l_1, l_2),
    forms=(occurs_at_most("one exponential", 1, "exp"),),
)

CLAIMS = {
    "a rotation sees the distance": (
        ROTATION,
        [chain(ROTATION, turned(m - j), turned(delta))],
        {
            "step 2 of `score` does not follow": chain(ROTATION, turned(m - j), turned(delta, -1)),
            "step 1 of `score` does not follow": chain(ROTATION, turned(m + j), turned(delta)),
            "show at least one line": chain(ROTATION, turned(delta)),
        },
    ),
    "the share of a block": (
        SHARE,
        [
            chain(SHARE, sp.exp(l_1) / (sp.exp(l_1) + sp.exp(l_2)), SHARE.goal),
            chain(SHARE, 1 / (1 + Z_2 / Z_1 * sp.exp(M_2 - M_1)), SHARE.goal),
        ],
        {
            "step 1 of `share` does not follow": chain(SHARE, l_1 / (l_1 + l_2), SHARE.goal),
            "step 2 of `share` does not follow": chain(
                SHARE, sp.exp(l_1) / (sp.exp(l_1) + sp.exp(l_2)), 1 / (1 + sp.exp(l_1 - l_2))
            ),
            "show at least one line": chain(SHARE, SHARE.goal),
        },
    ),
}
