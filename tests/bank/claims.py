"""Claims of other shapes than those of today's questions, each with honest chains and shams.

CLAIMS[name] is (claim, honest chains, {part of what must be said: sham}).
"""

import sympy as sp

from attn_course import derive
from attn_course.chain_rules import (
    LOGS,
    PLAIN,
    TURNS,
    at_most,
    gone,
)
from attn_course.judge_derivation import Claim


def chain(claim, *lines):
    steps = [line if isinstance(line, tuple) else (line,) for line in lines]
    return derive((claim.start, "given"), *((*step, "so") for step in steps), where=claim.where)


<<<<<<< HEAD
=======
def _is_outside(line):
    """No Z and no sum inside a sum, and no sum but over Z."""
    inner = [set(walk(node[4])) for node in walk(line) if node[0] == "Sum"]
    nested = any(part[0] == "Sum" or part == ("Symbol", "Z") for parts in inner for part in parts)
    return not nested and (not inner or "Z" in symbols(line))


scores = sp.IndexedBase("s")
Z = sp.Symbol("Z", positive=True)
total = sp.Sum(sp.exp(scores[k]), (k, 1, n))
WEIGHTS = Claim(
    name="`total`",
    start=sp.Sum(sp.exp(scores[i]) / Z, (i, 1, n)),
    goal=sp.Integer(1),
    to_do=(Task("the denominator taken out", _is_outside), gone("Z put in", "Z")),
    symbols=(scores, Z, n),
    where={Z: (total, total)},
    heads=PLAIN | SUMS,
)
over_one = sp.Sum(sp.exp(scores[i]), (i, 1, n)) / Z
nested = sp.Sum(sp.exp(scores[i]) / total, (i, 1, n))

t, p_a = sp.symbols("t p_a", real=True)
g_aa, g_ab = sp.symbols("g_aa g_ab", real=True)
PRODUCT = Claim(
    name="`score_a`",
    start=p_a,
    goal=t,
    to_do=(
        gone("the query put in", "p_a"),
        both("orthonormality", present("t", "t"), gone("products", "g_aa", "g_ab")),
    ),
    symbols=(t, p_a, g_aa, g_ab),
    where={p_a: (t * (g_aa + g_ab),) * 2, g_aa: (1, 1), g_ab: (0, 0)},
    only=(t,),
)

c, d = sp.symbols("c d", positive=True)
lambda_a = sp.Symbol("lambda_a", real=True)
scaled = lambda_a * c * (g_aa + g_ab)
LENGTH = Claim(
    name="`score_a`",
    start=p_a / sp.sqrt(d),
    goal=lambda_a * c / sp.sqrt(d),
    to_do=(
        gone("the query and the key put in", "p_a"),
        both("orthonormality", present("c", "c"), gone("products", "g_aa", "g_ab")),
    ),
    symbols=(lambda_a, c, d, p_a, g_aa, g_ab),
    where={p_a: (scaled, scaled), g_aa: (1, 1), g_ab: (0, 0)},
    only=(lambda_a, c, d),
)

>>>>>>> prove
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
    to_do=(at_most("one angle", 2, "sin", "cos"), gone("m and j gone", "m", "j")),
    symbols=(m, j, theta, delta, q_1, q_2, k_1, k_2),
    where={m: (j + delta, j + delta)},
    heads=PLAIN | TURNS,
    only=(theta, delta, q_1, q_2, k_1, k_2),
)

m_1, m_2, l_1, l_2 = sp.symbols("m_1 m_2 l_1 l_2", real=True)
s_1, s_2 = sp.symbols("s_1 s_2", positive=True)
SHARE = Claim(
    name="`share`",
    start=sp.exp(m_1) * s_1 / (sp.exp(m_1) * s_1 + sp.exp(m_2) * s_2),
    goal=1 / (1 + sp.exp(l_2 - l_1)),
    to_do=(
        gone("both logarithms put in", "m_1", "m_2", "s_1", "s_2"),
        at_most("one exponential", 1, "exp"),
    ),
    symbols=(m_1, m_2, l_1, l_2, s_1, s_2),
    where={m_1: (l_1 - sp.log(s_1),) * 2, m_2: (l_2 - sp.log(s_2),) * 2},
    heads=PLAIN | LOGS,
    only=(l_1, l_2),
)

CLAIMS = {
<<<<<<< HEAD
=======
    "the weights sum to one": (
        WEIGHTS,
        [chain(WEIGHTS, over_one, 1), chain(WEIGHTS, nested, 1)],
        {
            "two things at once": chain(WEIGHTS, 1),
            "does not follow": chain(WEIGHTS, over_one, 2),
            "not what is asked for": chain(WEIGHTS, over_one),
        },
    ),
    "a score from orthonormality": (
        PRODUCT,
        [chain(PRODUCT, t * (g_aa + g_ab), t), chain(PRODUCT, t * g_aa + t * g_ab, t * g_aa, t)],
        {
            "two things at once": chain(PRODUCT, t),
            "still contains g_ab": chain(PRODUCT, t * (g_aa + g_ab), t + t * g_ab),
            "does not follow": chain(PRODUCT, t * (g_aa + g_ab), 2 * t),
        },
    ),
    "a score of a key of any length from orthonormality": (
        LENGTH,
        [
            chain(LENGTH, scaled / sp.sqrt(d), LENGTH.goal),
            chain(
                LENGTH,
                lambda_a * (c * g_aa + c * g_ab) / sp.sqrt(d),
                lambda_a * c * g_aa / sp.sqrt(d),
                c / sp.sqrt(d) * lambda_a,
            ),
        ],
        {
            "two things at once": chain(LENGTH, LENGTH.goal),
            "still contains g_aa": chain(LENGTH, scaled / sp.sqrt(d), g_aa * LENGTH.goal),
            "step 2 of `score_a` does not follow": chain(
                LENGTH, scaled / sp.sqrt(d), 2 * LENGTH.goal
            ),
            "step 1 of `score_a` does not follow": chain(LENGTH, scaled / d, LENGTH.goal),
        },
    ),
>>>>>>> prove
    "a rotation sees the distance": (
        ROTATION,
        [chain(ROTATION, turned(m - j), turned(delta))],
        {
            "step 2 of `score` does not follow": chain(ROTATION, turned(m - j), turned(delta, -1)),
            "step 1 of `score` does not follow": chain(ROTATION, turned(m + j), turned(delta)),
            "two things at once": chain(ROTATION, turned(delta)),
        },
    ),
    "the share of a block": (
        SHARE,
        [
            chain(SHARE, sp.exp(l_1) / (sp.exp(l_1) + sp.exp(l_2)), SHARE.goal),
            chain(SHARE, 1 / (1 + s_2 / s_1 * sp.exp(m_2 - m_1)), SHARE.goal),
        ],
        {
            "step 1 of `share` does not follow": chain(SHARE, l_1 / (l_1 + l_2), SHARE.goal),
            "step 2 of `share` does not follow": chain(
                SHARE, sp.exp(l_1) / (sp.exp(l_1) + sp.exp(l_2)), 1 / (1 + sp.exp(l_1 - l_2))
            ),
            "two things at once": chain(SHARE, SHARE.goal),
        },
    ),
}
