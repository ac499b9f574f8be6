# %% [markdown]
# <!-- Made by "attn build" from solutions/02_average_of_two.py. Instructors edit that file. -->
# # The average of two
#
# > When does one query return the average of two chosen values?
#
# *80 min, 5 questions, 7 points, needs 01; a pause is marked in the middle*
#
# After this notebook you can
#
# - **prove** that one matrix recovers one of two vectors from their sum, and **design** a query that averages two values,
# - **derive** the scores of that query and the weight of two tied keys, and **compute** this weight for any score,
# - **predict** how high the two scores must be when there are more keys, or when scores are divided by $\sqrt d$.

# %%
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )
from attn_course import progress, solution

# %%
import math

import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_utils import attend, softmax

rng = np.random.default_rng(2)

# %% [markdown]
# ## Notation
#
# <!-- notation -->
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $a$, $b$ | the two items whose values are averaged | integers | `a`, `b` |
# | $r$ | the leftover: the weight on neither $a$ nor $b$ | number | `leftover` |
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $q_i$ | a query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what the query is compared with | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $n$ | the number of items, each with a key and a value | number | `n` |
# | $d$, $d_v$ | the width of queries and keys, and of values | numbers | `d` |
# | $s_i = k_i^\top q$ | the score of item $i$ | $(n,)$ | `scores` |
# | $\alpha_i$ | the weight of item $i$, or of several items together | $(n,)$ | `weights` |
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
# | $t$ | the size of a query, as in $q = t\,k_j$ or $q = t(k_a + k_b)$ | number | `t` |
# | $\varepsilon$ | the share of the weight that the other keys may have | number | `epsilon` |
#
# </details>
#
# Keys are *orthonormal* if $k_i^\top k_j = 0$ for $i \ne j$ and $k_i^\top k_i = 1$. The target is the average
# $v_{ab} = \frac12(v_a + v_b)$. Two keys are *tied* if their scores are equal.

# %% [markdown]
# ## The definition, and what can go wrong
#
# The output is $c = \sum_i \alpha_i v_i$, and we want $c \approx v_{ab}$. Split the weight into the part on $a$ and $b$ and
# the leftover $r$ on all other keys, and let $\bar v_{\text{rest}}$ be the weighted mean of the other values. If $a$ and $b$
# have equal weight, then $c = (1 - r)\,v_{ab} + r\,\bar v_{\text{rest}}$ without any approximation, and therefore
#
# $$c - v_{ab} = r\,(\bar v_{\text{rest}} - v_{ab}). \tag{1}$$
#
# So two things are needed: *a tie* between $a$ and $b$, and *little leftover*. In the cell below the keys are the four
# unit vectors, so the entries of a query are its scores. *Predict* which of the three attempts comes closest to the target,
# 0.5, and which is furthest from it.

# %%
# my prediction, closest and furthest: ...
values = np.array([[0.0], [1.0], [8.0], [8.0]])  # the target for a, b = 0, 1 is 0.5
tries = {
    "no tie": [6.0, 4.0, 0.0, 0.0],
    "low tie": [1.0, 1.0, 0.0, 0.0],
    "high tie": [8.0, 8.0, 0.0, 0.0],
}
groups = {}
for name, scores in tries.items():
    context, groups[name] = attend(np.array(scores), np.eye(4), values, scale=1.0)
    print(f"{name:8}  c = {context[0]:.3f}")
plots.bars(groups, title="three ways to look at items 0 and 1")

# %% [markdown]
# Without a tie the output is closer to one of the two values. With a low tie the two weights are equal, but about a quarter
# of the weight is on the values 8 and moves the output far away. A tie alone is not enough: the two scores must also be *high*
# above all others.
#
# In the coloured plane of [01](01_copying.ipynb), ties are borders. *Predict* where the query must be so that $a$ and $b$ get
# the same weight and the third key gets almost none. Then drag the query there.

# %%
# my prediction, where the query must be: ...
trio = np.array([[1.0, 0.0], [0.0, 1.0], [-0.7, -0.7]])
names = ["key a", "key b", "key 3"]
plots.query_plane(trio, query=(2.2, 1.2), names=names, limit=4.5, title="borders are ties")

# %% [markdown]
# Everywhere on the dashed border between their two sectors, the keys $a$ and $b$ have the same weight. Near the origin the
# third key has some weight as well; further out along the border it has almost none. As soon as the query leaves the
# border, one of the two keys wins, and it wins more clearly the longer the query is.
#
# Does an average lose information? Twice the average of two values is their sum. Suppose that the value of $a$ always
# lies in one subspace and the value of $b$ in another. Can each of the two be recovered from the sum?

# %% [markdown]
# ### 2.1 Take a sum apart
#
# *code + written · 1.5 points · 16 min*
#
# **Given** two matrices $A$ and $B$ with $d$ rows and orthonormal columns ($A^\top A = I$, $B^\top B = I$) and
# $A^\top B = 0$. **Find** a matrix $M$ with $M(v_a + v_b) = v_a$ for *every* $v_a$ in the span of the columns of $A$ and
# *every* $v_b$ in the span of the columns of $B$. **Prove** that your matrix does so, and say where you use $A^\top A = I$
# and where you use $A^\top B = 0$. **Form:** `projection(A, B)`, returning a $(d, d)$ array; the proof in words and
# formulas.
#
# *Predict:* is there only one such matrix?


# %% answer="2.1 code"
# my prediction: ...
def projection(A, B):
    """M with M (v_a + v_b) = v_a. A: (d, m), B: (d, p) -> (d, d)."""
    raise NotImplementedError("your answer here")


# %% check="2.1 code"
check("2.1", projection)

# %% [markdown] written="2.1"
# *Your answer to 2.1: replace this line.*

# %% [markdown]
# Now drop the assumption $A^\top B = 0$. Let $A$ and $B$ have one column each, $v_a$ and $v_b$, both of length one; the angle
# between the two varies. Once your matrix has passed, the cell draws how far $M(v_a + v_b)$ is from $v_a$. *Predict* at which
# angle the error is half as long as $v_b$. (If you are still working on the matrix: `hint("2.1")`.)

# %%
# my prediction, in degrees: ...
angles = np.linspace(5, 90, 86)
if check("2.1", projection):
    v_a, distance = np.array([[1.0], [0.0], [0.0]]), []
    for angle in np.radians(angles):
        v_b = np.array([[np.cos(angle)], [np.sin(angle)], [0.0]])
        distance.append(np.linalg.norm(projection(v_a, v_b) @ (v_a + v_b) - v_a))
    label = {"xlabel": "angle between v_a and v_b (degrees)", "ylabel": "distance from v_a"}
    plots.curves(angles, {"M (v_a + v_b)": distance}, title="what orthogonality is for", **label)

# %% [markdown]
# At a right angle the error is zero. At any other angle $v_b$ has a part along $v_a$, its projection, and most matrices
# that are right in 2.1 leave this part in the result. At 60° the projection is half as long as $v_b$. If your curve is flat,
# your $M$ works for *any* two independent subspaces, which is more than was asked.
#
# Is there only one such matrix? Two right answers may differ in what they do to vectors orthogonal to both subspaces.

# %% [markdown]
# ### 2.2 A query that averages
#
# *code · 1.5 points · 10 min*
#
# **Given** between 2 and 100 orthonormal keys and two different indices $a$, $b$, in either order. **Find** a query for which
# the output is almost the average of the values of $a$ and $b$, whatever the values are: by (1), the two keys must have
# equal weights, and at most 1% of the weight may be on other keys. **Form:** `average_query(keys, a, b)`, returning $d$
# numbers.
#
# *Predict:* is one length of the query enough for all these numbers of keys? The sliders below show the answer.


# %% answer="2.2"
# my prediction: ...
def average_query(keys, a, b):
    """A query that averages values a and b. keys: (n, d), orthonormal -> (d,)."""
    raise NotImplementedError("your answer here")


# %% check="2.2"
check("2.2", average_query)


# %%
def draw(t, n):
    """A tie at height t, all other scores 0: how high must it be?"""
    left, right = plots.panels(2)
    heights = np.linspace(0, 14, 113)
    counts = {"n = 3": 3, "n = 12": 12, "n = 102": 102, "n = 1002": 1002, "your n": n}
    series = {}
    for name, count in counts.items():
        scores = np.c_[heights, heights, np.zeros((113, count - 2))]  # (113, n)
        series[name] = softmax(scores)[:, 0]
    label = {"xlabel": "height t", "ylabel": "weight of key a", "title": "each of the two"}
    plots.curves(heights, series, marks={"your t": t}, strong="your n", ax=left, **label)
    weights = softmax(np.r_[t, t, np.zeros(n - 2)])
    shares, names = [*weights[:2], weights[2:].sum()], ["a", "b", "rest"]
    plots.bars(shares, names, title=f"t = {t:g}, n = {n}", ax=right)


plots.explore(draw, t=(0.0, 14.0, 4.0), n=(2, 200, 30))

# %% [markdown]
# The curves rise from $1/n$ towards one half. Each of the four fixed curves is the same number of units to the right of the
# one before it: ten times as many *other* keys always need the same additional height. The height $t$ that is needed for
# $n$ keys therefore grows like $\log n$. A query that is long enough for the largest number of keys is long enough for
# every smaller number. Set $n = 2$ on the slider: with no other key, every height gives the average.
#
# **A good place for a pause.** You can build a query that averages two values. The second half derives the weights exactly,
# and asks how long the query must be.

# %% [markdown]
# ### 2.3 The weight, from its definition
#
# *derive · 2.5 points · 13 min*
#
# **Given** orthonormal keys and the query $q = t(k_a + k_b)$. Write $g_{aa} = k_a^\top k_a$, $g_{ab} = k_a^\top k_b$, and
# so on, so that $s_a = k_a^\top q = t(g_{aa} + g_{ab})$. **Find** the score $s_a$ (the score $s_b$ is found in the same
# way) and the score $s_i$ of any other key. Then **find** the weight $\alpha_a$ from the definition of the softmax, as a
# function of $t$ and $n$ alone. **Form:** three derivations, `score_a`, `score_i` and `two_tied`. The first lines and the
# values of the symbols are given: the dictionary `query` holds the scores, `orthonormal` holds the products, and
# `where=query | orthonormal` joins the two.

# %%
t, s_a, s_b, s_i = sp.symbols("t s_a s_b s_i", real=True)
g_aa, g_ab, g_bb, g_ia, g_ib = sp.symbols("g_aa g_ab g_bb g_ia g_ib", real=True)
n, i = sp.symbols("n i", integer=True, positive=True)
query = {s_a: t * (g_aa + g_ab), s_b: t * (g_ab + g_bb), s_i: t * (g_ia + g_ib)}
orthonormal = {g_aa: 1, g_bb: 1, g_ab: 0, g_ia: 0, g_ib: 0}
others = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
tie = {s_a: t, s_b: t, s_i: 0}  # what the scores are

# %% answer="2.3"
score_a = derive(
    (s_a, "definition"),
    # your steps here
    where=query | orthonormal,
)
score_i = derive(
    (s_i, "definition"),
    # your steps here
    where=query | orthonormal,
)
two_tied = derive(
    (sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + others), "definition"),
    # your steps here
    where=tie,
)
display(score_a, score_i, two_tied)

# %% check="2.3"
check("2.3", score_a, score_i, two_tied)

# %% [markdown]
# ### 2.4 The weight, for any t
#
# *code · 0.5 points · 7 min*
#
# **Given** any real number $t$ and any $n \ge 2$. **Compute** the weight $\alpha_a$ of 2.3 without overflow and without a
# warning. **Form:** `average_weight(t, n)`, returning a float.
#
# *Predict* from which $t$ on the definition of the softmax, computed as it is written, overflows. The last line under
# *Common mistakes* tries it.


# %% answer="2.4"
# my prediction: ...
def average_weight(t, n):
    """The weight of each of two keys tied at height t above n - 2 others."""
    raise NotImplementedError("your answer here")


# %% check="2.4"
check("2.4", average_weight)

# %% [markdown]
# ### 2.5 How high the tie must be
#
# *code · 1 point · 7 min*
#
# In 1.6 you found the size of a query that copies *one* value. **Given** $n > 2$ orthonormal keys of width $d$ and the query
# $t(k_a + k_b)$; if `scaled` is true, all scores are divided by $\sqrt d$, otherwise not. **Change** your formula of 1.6 so that
# it gives the smallest $t$ for which at most a share $\varepsilon < \frac{n-2}{n}$ of the weight stays on the other keys.
# **Form:** `average_sharpness(n, d, epsilon, scaled)`, returning a float.
#
# *Predict:* is the $t$ for two values larger or smaller than the $t$ for a single value? The cell after the check compares
# the two.


# %% answer="2.5"
# my prediction: ...
def average_sharpness(n, d, epsilon, scaled):
    """The smallest height t with leftover at most epsilon."""
    raise NotImplementedError("your answer here")


# %% check="2.5"
check("2.5", average_sharpness)

# %%
if check("2.5", average_sharpness):
    for size in (10, 100, 1000):
        plain, divided = (average_sharpness(size, 1024, 0.01, scaled) for scaled in (False, True))
        low, high = np.ravel(plain)[0], np.ravel(divided)[0]
        print(f"{size:5} keys, d = 1024: t = {low:5.2f}; scores divided by 32: {high:6.2f}")
heights = np.linspace(0, 15, 1501)
left = softmax(np.c_[heights, np.zeros((1501, 9))])[:, 1:].sum(-1)  # one key at height t, nine at 0
print(f"a single value of 10 needs t = {heights[np.argmax(left <= 0.01)]:.2f}")

# %% [markdown]
# Ten times as many keys always need about the same additional height, the logarithm of ten. A moderately large $t$ is
# therefore enough for very many keys. If scores are divided by $\sqrt d$, the same query is too short: at $d = 1024$ it must
# be 32 times as long.
#
# **Attention is kernel smoothing.** If keys have length one, then $\lVert k_i - k_0\rVert^2 = 2 - 2\,k_i^\top k_0$. The
# weights of the query $t\,k_0$ are therefore proportional to $e^{-t\lVert k_i - k_0\rVert^2/2}$, a bell curve of the distance.
# An average with such weights is called kernel smoothing, or kernel regression (Nadaraya and Watson, 1964). The cell compares
# the weights of attention with those of the bell curve for $t = 7$.

# %%
keys = rng.normal(size=(6, 3))
keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
bell = np.exp(-7 * ((keys - keys[0]) ** 2).sum(-1) / 2)
difference = np.abs(softmax(7 * keys @ keys[0]) - bell / bell.sum()).max()
print(f"attention and kernel regression differ by less than 1e-12: {difference < 1e-12}")

# %% [markdown]
# ## Common mistakes
#
# The cell prints five statements that are often made, each with a number that refutes it. "Softmax never averages exactly" is
# not true either: if there are only two keys, a tie at any height gives the exact average. With more keys the two weights are
# still exactly equal, and only the leftover changes the output.
#
# The last two lines are about computing: a tiny leftover is lost to rounding if it is found by subtraction, and exponentials
# overflow if the scores are not shifted first.

# %%
low, divided = softmax(np.r_[1, 1, np.zeros(8)]), softmax(np.r_[10, 10, np.zeros(8)] / 8)
share = softmax(np.array([20, 20.5]))[0]
print(f"'a tie is enough': at height 1, 10 keys, {low[2:].sum():.2f} is left over")
print(f"'the other keys oppose the query': they score 0, not less, and get {low[2]:.3f} each")
print(f"'k_i · k_j = 0 for all i, j': for i = j it is {np.eye(10)[5] @ np.eye(10)[5]:.0f}")
print(f"'the score is the weight': 10 / sqrt(64) gives {divided[0]:.3f}, others {divided[2]:.3f}")
print(f"'nearly tied is nearly averaged': scores 20 and 20.5 give key a {share:.3f}")
forty, eight_hundred = np.r_[40.0, 40.0, np.zeros(8)], np.r_[800.0, 800.0, np.zeros(8)]
weights = softmax(forty)
print(f"t = 40: left over {1 - weights[0] - weights[1]:.1e}, added up {weights[2:].sum():.1e}")
with np.errstate(all="ignore"):
    powers = np.exp(eight_hundred)
    print(f"t = 800: weight {powers[0] / powers.sum()}, shifted {softmax(eight_hundred)[0]}")

# %% [markdown]
# ## Summary
#
# 1. If two subspaces are orthogonal, one matrix recovers $v_a$ from every sum $v_a + v_b$ (2.1).
# 2. A query averages two values when their keys are *tied* and score higher than all others; the error comes from the
#    leftover alone (1).
# 3. The height needed grows like the logarithm of the number of keys; dividing scores by $\sqrt d$ multiplies it by $\sqrt d$.

# %% [markdown]
# ## Without notes
#
# 1. Which weights change when the same vector is added to every key?
# 2. Why does the check of 2.2 not need to look at any values?
# 3. When is the average of two exact?
# 4. Two of ten keys are tied at height 10. If all scores are divided by $\sqrt{64}$, is the output still close to the average?
# 5. Which two numbers must be small for $c \approx v_{ab}$, and which of them becomes smaller when $t$ grows?

# %% [markdown]
# <details><summary>Short answers to these questions</summary>
#
# 1. No weight changes, because every score changes by the same number.
# 2. The check looks at the weights, which decide the output for all values at once.
# 3. The two keys must be tied, and there are no other keys, or the weighted mean of the other values is the average itself.
# 4. No: the height becomes ten eighths, which leaves more than half of the weight on the other eight keys.
# 5. The difference of the two tied scores, and the leftover; a larger $t$ makes the leftover smaller.
#
# </details>

# %% [markdown]
# **Next:** [03, one noisy head](03_one_noisy_head.ipynb), adds noise to the keys and asks whether the average survives.
#
# **References.** Vaswani et al. (2017), [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), scaled scores; Nadaraya (1964),
# [doi:10.1137/1109020](https://doi.org/10.1137/1109020), weighted averages by distance.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
