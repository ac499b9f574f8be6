# %% [markdown]
# <!-- Made by "attn build" from solutions/02_average_of_two.py. Instructors edit that file. -->
# # The average of two
#
# > One query, two things to look at: when is the output the average of two chosen values?
#
# *48 min, 5 questions, 7 points, needs 01*
#
# After this notebook you can
#
# - **implement** a matrix that takes a sum of two vectors apart, and a query that averages two values,
# - **derive** the weight of each of two tied keys from the definition, and compute it for any score,
# - **predict** how high a tie must be when there are more keys, or when scores are divided by $\sqrt d$.

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
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $k_i$, $v_i$ | query, keys, values as in 01 | $(d,)$, rows of $(n, d)$, rows of $(n, d_v)$ | `query`, `keys`, `values` |
# | orthonormal | $k_i^\top k_j = 0$ for $i \ne j$, and $k_i^\top k_i = 1$ | | |
# | $s_i = k_i^\top q$, $\alpha_i$ | scores and weights | $(n,)$ | `scores`, `weights` |
# | $a$, $b$ | the two items to average | integers | `a`, `b` |
# | $m = \frac12(v_a + v_b)$ | the target | $(d_v,)$ | `target` |
# | $t$ | the height of a tie: $s_a = s_b = t$, all other scores $0$ | number | `t` |
# | $r$ | the leftover: weight on neither $a$ nor $b$ | number | `leftover` |
# | $A$, $B$ | orthonormal columns, $A^\top B = 0$ | $(d, m)$, $(d, p)$ | `A`, `B` |

# %% [markdown]
# ## The definition, and what can go wrong
#
# The output is $c = \sum_i \alpha_i v_i$, and we want $c \approx m$. Split the weight into what $a$ and $b$ have and
# the leftover. If $a$ and $b$ have equal weight, then exactly
#
# $$c - m = r\,(\bar v_{\text{rest}} - m), \tag{1}$$
#
# where $\bar v_{\text{rest}}$ is the weighted mean of the other values. So two things are needed: *a tie* between $a$
# and $b$, and *little leftover*. Here are the four unit vectors as keys, so that a query is its own list of scores.
# *Predict:* which of the three attempts below comes closest to the target, 0.5, and which is furthest off?

# %%
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
# Without a tie the output leans to one of the two. With a low tie the two are equal, but about a quarter of the weight
# is on the values 8 and pulls the output far away: equal is not enough, the tie must also stand *high* above the rest.

# %% [markdown]
# ### 2.1 Take a sum apart
#
# *code · 1 point · 8 min*
#
# One context can hold two values at once, as a sum. Can they be had back?
#
# **Given** $A$ and $B$ with orthonormal columns and $A^\top B = 0$. **Show** a matrix $M$ with $M(v_a + v_b) = v_a$ for
# *every* $v_a$ in the span of $A$'s columns and *every* $v_b$ in the span of $B$'s. **Form:** `projection(A, B)`,
# returning a $(d, d)$ array.
#
# *Predict:* is there only one such matrix?


# %% answer="2.1"
def projection(A, B):
    """M with M (v_a + v_b) = v_a. A: (d, m), B: (d, p) -> (d, d)."""
    raise NotImplementedError("your answer here")


# %% check="2.1"
check("2.1", projection)

# %% [markdown]
# Now break the assumption: a single vector $v_b$ leans towards a single $v_a$, both of length one. If your matrix
# passed, the cell draws how far $M(v_a + v_b)$ is from $v_a$. *Predict:* at which angle is the error half as long as
# $v_b$? (Stuck before that? `hint("2.1")`.)

# %%
angles = np.linspace(5, 90, 86)
if check("2.1", projection):
    v_a, distance = np.array([[1.0], [0.0], [0.0]]), []
    for angle in np.radians(angles):
        v_b = np.array([[np.cos(angle)], [np.sin(angle)], [0.0]])
        distance.append(np.linalg.norm(projection(v_a, v_b) @ (v_a + v_b) - v_a))
    label = {"xlabel": "angle between v_a and v_b (degrees)", "ylabel": "distance from v_a"}
    plots.curves(angles, {"M (v_a + v_b)": distance}, title="what orthogonality is for", **label)

# %% [markdown]
# At a right angle the curve is at zero, as it must be. Elsewhere most answers take the shadow of one vector on the other
# for a part of it, and the smaller the angle the longer the shadow. A flat line? Then your $M$ works for *any* two
# independent subspaces, which is more than was asked.

# %% [markdown]
# ### 2.2 A query that averages
#
# *code · 2 points · 8 min*
#
# **Given** orthonormal keys and two different indices $a$, $b$, in either order. **Show** a query for which the output
# is the average of values $a$ and $b$ up to 1% of the largest distance between two values, whatever the values.
# **Form:** `average_query(keys, a, b)`, returning $d$ numbers.
#
# The check looks at weights, not at values: half on each of the two, and at most 1% of the weight out of place. There
# are from 2 to 20 keys. *Predict:* is one length of the query enough for all of these numbers of keys?


# %% answer="2.2"
def average_query(keys, a, b):
    """A query that averages values a and b. keys: (n, d), orthonormal -> (d,)."""
    raise NotImplementedError("your answer here")


# %% check="2.2"
check("2.2", average_query)

# %% [markdown]
# How high must the tie be? Slide $t$ and $n$. The curves are for a tie at height $t$, every other score $0$.


# %%
def draw(t, n):
    left, right = plots.panels(2)
    heights = np.linspace(0, 14, 113)
    series = {}
    for count in sorted({3, 12, 102, 1002, n}):
        scores = np.c_[heights, heights, np.zeros((113, count - 2))]  # (113, n)
        series[f"n = {count}"] = softmax(scores)[:, 0]
    label = {"xlabel": "height t", "ylabel": "weight of key a", "title": "each of the two"}
    plots.curves(heights, series, marks={"your t": t}, ax=left, **label)
    weights = softmax(np.r_[t, t, np.zeros(n - 2)])
    shares, names = [*weights[:2], weights[2:].sum()], ["a", "b", "rest"]
    plots.bars(shares, names, title=f"t = {t:g}, n = {n}", ax=right)


plots.explore(draw, t=(0.0, 14.0, 4.0), n=(2, 200, 30))

# %% [markdown]
# The curves climb from $1/n$ towards one half, and each is the one before moved to the right: from 1 to 10, 100 and 1000
# *other* keys, every factor of ten costs the same extra height. Find $n = 2$ on the slider: what is special about it?

# %% [markdown]
# ### 2.3 The weight, from its definition
#
# *derive · 2 points · 8 min*
#
# **Given** scores $s_a = s_b = t$, and $s_i = 0$ for the other $n - 2$ keys. **Find** $\alpha_a$ as a function of $t$ and
# $n$ alone, from the definition of the softmax. **Form:** one chain, `two_tied`; the first line and the values of the
# scores (`tie`) are given. One thing a line: put the scores in, count the sum, in either order. A score is put in when
# its symbol goes.

# %% answer="2.3"
t, s_a, s_b, s_i = sp.symbols("t s_a s_b s_i", real=True)
n, i = sp.symbols("n i", integer=True, positive=True)
others = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
tie = {s_a: (t, t), s_b: (t, t), s_i: (0, 0)}  # each lies between these two ends

two_tied = derive(
    (sp.exp(s_a) / (sp.exp(s_a) + sp.exp(s_b) + others), "definition"),
    # your steps here
    where=tie,
)
two_tied

# %% check="2.3"
check("2.3", two_tied)

# %% [markdown]
# ### 2.4 The weight, for any t
#
# *code · 1 point · 5 min*
#
# **Given** the height $t$, any real number, and $n \ge 2$. **Show** the weight of 2.3 as a number, without overflow and
# without a warning. **Form:** `average_weight(t, n)`, returning a float.
#
# *Predict:* which of the equal forms in your chain fails first, and at which $t$?


# %% answer="2.4"
def average_weight(t, n):
    """The weight of each of two keys tied at height t above n - 2 others."""
    raise NotImplementedError("your answer here")


# %% check="2.4"
check("2.4", average_weight)

# %% [markdown]
# ### 2.5 How high the tie must be
#
# *code · 1 point · 8 min*
#
# **Given** $n > 2$ orthonormal keys of width $d$ and a query that scores $t$ on $a$ and $b$ and $0$ elsewhere; if
# `scaled`, all scores are then divided by $\sqrt d$. **Show** the smallest $t$ that leaves at most a share
# $\varepsilon < \frac{n-2}{n}$ of the weight elsewhere. **Form:** `average_sharpness(n, d, epsilon, scaled)`, returning a
# float.
#
# *Predict:* with ten times as many keys, is $t$ ten times as large?


# %% answer="2.5"
def average_sharpness(n, d, epsilon, scaled):
    """The smallest height t with leftover at most epsilon."""
    raise NotImplementedError("your answer here")


# %% check="2.5"
check("2.5", average_sharpness)

# %% [markdown]
# If it passed, your law is drawn, and checked against weights measured at the height it gives.

# %%
sizes = [10, 30, 100, 300, 1000, 3000, 10_000]
if check("2.5", average_sharpness):
    for d in (16, 64, 1024):
        height, top = (np.ravel(average_sharpness(10, d, 0.01, s))[0] for s in (False, True))
        left = softmax(np.r_[top, top, np.zeros(8)] / np.sqrt(d))[2:].sum()
        print(f"10 keys, d = {d:4}: {height:.2f}; scaled {top:6.2f}, which leaves {left:.4f}")
    law = {
        f"leftover {e:g}": np.ravel([average_sharpness(n, n, e, False) for n in sizes])
        for e in (0.01, 0.001)
    }
    label = {"xlabel": "number of keys n", "ylabel": "height t needed"}
    plots.curves(sizes, law, log="x", title="scores not divided", **label)

# %% [markdown]
# Almost straight lines on a logarithmic axis: each factor of ten in $n$, or in accuracy, costs about the same again, 2.3,
# the logarithm of ten. "A large constant" therefore goes a long way against many keys. Against division by $\sqrt d$ it
# does not: at $d = 64$ eight times the height is needed.

# %% [markdown]
# ## Going further
#
# Optional; nothing here is asked. **How many keys does the query see?** The exponential of the entropy of the weights
# counts them: $n$ equal weights count as $n$. *Predict* the two ends of the curve for 50 keys.

# %%
heights = np.linspace(0, 15, 1501)
weights = softmax(np.c_[heights, heights, np.zeros((1501, 48))])
seen = np.exp(-(weights * np.log(weights)).sum(-1))
crossing = heights[np.argmax(weights[:, 2:].sum(-1) < 0.5)]
label = {"xlabel": "height t", "ylabel": "exp(entropy)", "title": "50 keys, two of them tied"}
marks = {f"half the weight left over, t = {crossing:.2f}": crossing}
plots.curves(heights, {"keys seen": seen}, marks=marks, **label)

# %% [markdown]
# From all fifty to two, most of the way within a few units of height, around the $t$ at which half of the weight is left
# over. It stops at two, not at one: no height breaks a tie.

# %% [markdown]
# **Attention is kernel smoothing.** For unit keys and a query of length $t$, the weights are those of a Gaussian bump of
# width (standard deviation) $1/\sqrt t$ around the direction of the query: the regression of Nadaraya and Watson (1964).

# %%
keys = rng.normal(size=(6, 3))
keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
bumps = np.exp(-((keys - keys[0]) ** 2).sum(-1) * 7 / 2)  # width 1/sqrt(7)
difference = np.abs(softmax(7 * keys @ keys[0]) - bumps / bumps.sum()).max()
print(f"the two kinds of weight differ by less than 1e-12: {difference < 1e-12}")

# %% [markdown]
# ## Common mistakes
#
# Each claim is often written down; each is run here, and the number refutes it.

# %%
low, divided = softmax(np.r_[1, 1, np.zeros(8)]), softmax(np.r_[10, 10, np.zeros(8)] / 8)
length = np.linalg.norm(np.eye(10)[5])
share = softmax(np.array([20, 20.5]))[0]
print(f"'a tie is enough': at height 1, 10 keys, {low[2:].sum():.2f} is left over")
print(f"'the other keys oppose the query': they score 0, not less, and get {low[2]:.3f} each")
print(f"'the other keys are zero': their length is {length:.0f}; it is the score that vanishes")
print(f"'k_i · k_j = 0 for all i, j': not for i = j, there it is {length**2:.0f}")
print(f"'the score is the weight': 10 / sqrt(64) gives {divided[0]:.3f}, others {divided[2]:.3f}")
print(f"'nearly tied is nearly averaged': scores 20 and 20.5 give key a {share:.3f}")

# %% [markdown]
# "Softmax never averages exactly": with two keys it does, at every height. With more the two weights are still exactly
# equal; only the leftover is not zero. Two more are about computing: the leftover by subtraction, and the softmax as it
# is printed in books.

# %%
for n in (2, 5, 50):
    weights = softmax(np.r_[3.0, 3.0, np.zeros(n - 2)])
    print(f"n = {n:2}: equal weights {weights[0] == weights[1]}, leftover {weights[2:].sum():.4f}")
forty, eight_hundred = np.r_[40.0, 40.0, np.zeros(8)], np.r_[800.0, 800.0, np.zeros(8)]
weights = softmax(forty)
print(f"t = 40: left over {1 - weights[0] - weights[1]:.1e}, added up {weights[2:].sum():.1e}")
with np.errstate(all="ignore"):
    powers = np.exp(eight_hundred)
    print(f"t = 800: weight {powers[0] / powers.sum()}, shifted {softmax(eight_hundred)[0]}")

# %% [markdown]
# ## Summary
#
# 1. A sum of vectors from orthogonal subspaces can be taken apart again by one matrix.
# 2. A query averages two values when it *ties* their keys and lifts the tie above all others; the leftover is the
#    whole error (1).
# 3. The height needed grows like the logarithm of the number of keys, and by the factor $\sqrt d$ under scaling.

# %% [markdown]
# ## Without notes
#
# 1. Which weights change when the same vector is added to every key?
# 2. Why does the check of 2.2 not need to look at any values?
# 3. When is the average of two exact?
# 4. A tie at height 10 is divided by $\sqrt{64}$: with 10 keys, is it still an average?
# 5. Which two numbers must be small for $c \approx m$, and which of them does a larger $t$ help?
#
# **Next:** `03_one_noisy_head` lets the keys tremble, and asks what is left of the average.
#
# **References.** Vaswani et al. (2017), scaled scores; Nadaraya (1964) and Watson (1964), kernel regression.
