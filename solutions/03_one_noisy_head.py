# %% [markdown]
# # One noisy head
#
# > The keys tremble, and one of them grows and shrinks: what is left of the average of two?
#
# *58 min, needs 02*
#
# After this notebook you can
#
# - **design** a query that keeps an average although it never sees the keys themselves, and say how small the noise
#   must be,
# - **derive** the exact law of a weight when its key has a random length,
# - **predict** what the output does from one draw to the next, and measure it for a query of your own.

# %%
import math

import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_utils import softmax

rng = np.random.default_rng(3)

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $\mu_i$ | mean of key $i$; known, orthonormal | rows of $(n, d)$ | `means` |
# | $k_i$ | key $i$, drawn anew | rows of $(n, d)$ | `keys` |
# | $\nu$ | noise: variance of each coordinate of a key | number | `noise` |
# | $\ell = \mu_a^\top k_a$ | length of $k_a$ along its mean | number | `length` |
# | $q_i = \mu_i^\top q$ | score of the query on mean $i$ | number | `q_a`, ... |
# | $t$ | height of the tie: $q_a = q_b = t$, other $q_i = 0$ | number | `t` |
# | $\lambda_i$, $\beta$ | length of key $i$ in 3.5, its variance | numbers | `beta` |
# | $c$ | the multiple of $\mu_a + \mu_b$ in 3.5, where scores are divided by $\sqrt d$ | number | `c` |
#
# In $\mathcal N(m, V)$ the second number is a *variance*. Scores, weights $\alpha_i$ and values as in
# [02](02_average_of_two.ipynb); the output has no letter here.

# %% [markdown]
# ## Two kinds of noise
#
# The query is chosen first and knows only the means. Then the keys are drawn:
#
# $$k_i \sim \mathcal N(\mu_i, \Sigma_i), \qquad \Sigma_i = \nu I \quad\text{or, for item } a \text{ alone,}\quad
# \Sigma_a = \nu I + \tfrac12 \mu_a \mu_a^\top. \tag{1}$$
#
# The first kind blurs every key a little. The second makes one key long in some draws and short in others.

# %%
lengths = 1 + np.sqrt(0.5) * rng.normal(size=20_000)
axis = {"xlabel": "along the mean of a", "ylabel": "along the mean of b"}
kinds = {"blurred keys": np.ones(500), "k_a of random length": lengths[:500]}
for ax, (title, stretch) in zip(plots.panels(2), kinds.items(), strict=True):
    blur = 0.05 * rng.normal(size=(2, 500, 2))
    cloud_a, cloud_b = blur[0] + np.c_[stretch, 0 * stretch], blur[1] + [0, 1]
    plots.scatter(cloud_a, **axis, title=title, colour=0, label="k_a", ax=ax)
    plots.scatter(cloud_b, **axis, title=title, colour=1, label="k_b", ax=ax)
    ax.limits(x=(-1.5, 3.5), y=(-0.5, 2)).equal()
backwards = np.mean(lengths < 0), math.erfc(1) / 2
print("k_a points backwards: drawn {:.4f}, exactly {:.4f} ± 0.0063 (99.9%)".format(*backwards))

# %% [markdown]
# On the right $k_b$ is where it was: only $k_a$ is stretched. This is often described as a key that "keeps its direction and
# changes its length". But a normal length can be negative: in almost 8% of the draws the key points *backwards*.
#
# What does noise do to the map of [02](02_average_of_two.ipynb)? The query below stands where $a$ and $b$ tie if all keys
# are at their means; the picture shows one noisy draw. *Predict* what happens to the border when the keys are drawn anew;
# then press the button, and slide the noise down to nothing.

# %%
# my prediction: ...
trio = np.array([[1.0, 0.0], [0.0, 1.0], [-0.7, -0.7]])
named = {"names": ["key a", "key b", "key 3"], "title": "borders jump with noise"}
plots.query_plane(trio, query=(3.0, 3.0), limit=5.0, noise=0.4, **named)

# %% [markdown]
# The border turns a little with every draw, and the query, which stays, is now on this side, now on that. Drag the query
# towards the middle: there the colours mix, and a turn of the border changes little. Far out it changes everything.

# %% [markdown]
# ### 3.1
#
# **Given** orthonormal means and the first kind of noise, $\Sigma_i = \nu I$ for every key, $\nu$ very small. **Find** a
# query, made from the means alone, whose output is the average of values $a$ and $b$: at most 1% of the weight out of
# place if every key is at its mean, at most 2% in 95% of the draws. **Form:** `robust_query(means, a, b)`, returning $d$
# numbers; and in words, **why it works**: what the noise does to the scores, and how small $\nu$ must be.
#
# The check fits the noise to *your* query: whatever its length, each score trembles by about 0.001 (standard deviation).


# %% answer="3.1"
def robust_query(means, a, b):
    """A query that averages values a and b for keys near their means. means: (n, d) -> (d,)."""
    # BEGIN SOLUTION
    return 12 * (means[a] + means[b])
    # END SOLUTION


# %% check="3.1"
check("3.1", robust_query)

# %% [markdown] written="3.1"
# On the means this is 02: $q = t(\mu_a + \mu_b)$ scores $t$ on $a$ and $b$ and $0$ elsewhere, so with $t$ well above
# $\log n$ the two share the weight. A score is linear in its key: noise adds an independent
# $\mathcal N(0, \nu\lVert q\rVert^2) = \mathcal N(0, 2\nu t^2)$ to each. The tie is kept if the noise of the *gap*,
# variance $4\nu t^2$, is far below 1, and then the margin $t$ is safe as well. So $\nu$ must be small compared with
# $1/t^2$, and since $t$ exceeds $\log n$, also with $1/\log^2 n$; the dimension does not matter. For *any* query the gap
# has variance $2\nu\lVert q\rVert^2$: first $\nu \to 0$, then $t \to \infty$ gives an average; $t \to \infty$ at a
# fixed $\nu$ gives a coin toss.

# %% [markdown] rubric="3.1"
# **Rubric (1 point).** ⅓ with $k_i \approx \mu_i$ it is the tie of 02: equal scores on $a$, $b$, a margin over the rest ·
# ⅓ noise enters each score in proportion to the query's length · ⅓ hence $\nu$ small *relative to* $1/t^2$ (or
# $1/\lVert q\rVert^2$), while $t \gg \log n$. Not needed: constants, probabilities. For a push-down query the same with
# $\lVert q\rVert^2 = (n-2)t^2$. Common wrong reasons: "noise averages out"; "$\nu$ is small, so keys equal their means"
# with no word on $t$.

# %% [markdown]
# ## How small is vanishingly small?
#
# "Vanishingly small" noise is a common way to state 3.1. Small compared with what? Two means are tied exactly, by a query
# of length 10, 100 or 1000; then the two keys are drawn 5000 times, and the panels show $a$'s share of their weight.
# *Predict* whether the same noise, $\nu = 10^{-4}$, harms a long query more or less than a short one, and which of the three
# still gives an average. Then slide the noise (its logarithm, base ten) until all three do.

# %%
# my prediction: ...
blur = rng.normal(size=(2, 5000, 12))  # the noise of k_a and of k_b
direction = rng.normal(size=12)
direction /= np.linalg.norm(direction)


def draw(log_noise):
    for ax, length in zip(plots.panels(3, height=2.8, width=11.5), (10, 100, 1000), strict=True):
        gap = np.sqrt(10.0**log_noise) * (blur[0] - blur[1]) @ (length * direction)
        share = {f"gap: variance {gap.var():.3g}": 1 / (1 + np.exp(-gap))}
        label = {"xlabel": "share of a", "title": f"query of length {length}", "bins": 20}
        plots.histogram(share, limits=(0, 1), **label, ax=ax)
        ax.limits(y=(0, 25))  # one scale for all three, and for every noise


plots.explore(draw, log_noise=(-8.0, -2.0, -4.0))

# %% [markdown]
# One noise, three fates: the short query keeps its tie, the middle one smears it over everything, the long one tosses a
# coin. So "small" has no meaning without the query. Compared with what must $\nu$ be small? That is for 3.1 to say.

# %% [markdown]
# ### 3.2
#
# Now the second kind of noise, with $\nu \to 0$: $k_a = \ell\,\mu_a$, every other key *equal* to its mean. **Given** a
# query that scores $q_a = q_b = t$ on two means and $q_i = 0$ on the others. **Find** (i) the weight of $a$ from
# $t$, $n$, $\ell$; (ii) its log-odds $\log\frac{w}{1-w}$ as a straight line in $\ell$. **Form:** two chains,
# `weight_of_a` and `log_odds`; the first lines are given, and $w$ stands for the weight in (i).
#
# *Predict* what multiplies $\ell$ in (ii); your own last line answers.

# %% answer="3.2"
# my prediction: ...
t = sp.Symbol("t", positive=True)
ell, q_a, q_b, q_i, w = sp.symbols("ell q_a q_b q_i w", real=True)
n, i = sp.symbols("n i", integer=True, positive=True)
others = sp.Sum(sp.exp(q_i), (i, 1, n - 2))
definition = sp.exp(ell * q_a) / (sp.exp(ell * q_a) + sp.exp(q_b) + others)
heights = {q_a: t, q_b: t, q_i: 0}
own = sp.exp(t * ell)  # what a adds to the sum; short for your lines

weight_of_a = derive(
    (definition, "definition"),
    # BEGIN SOLUTION
    (own / (own + sp.exp(t) + sp.Sum(1, (i, 1, n - 2))), "the scores on the means"),
    (own / (own + sp.exp(t) + n - 2), "count the equal terms"),
    (1 / (1 + (sp.exp(t) + n - 2) * sp.exp(-t * ell)), "divide above and below by $e^{t \\ell}$"),
    # END SOLUTION
    where=heights,
)
log_odds = derive(
    (sp.log(w / (1 - w)), "definition"),
    # BEGIN SOLUTION
    (sp.log(own / (sp.exp(t) + n - 2)), "a against all the rest together"),
    (t * ell - sp.log(sp.exp(t) + n - 2), "logarithm of a ratio"),
    # END SOLUTION
    where=heights | {w: definition},
)
display(weight_of_a, log_odds)

# %% check="3.2"
check("3.2", weight_of_a, log_odds)

# %% [markdown]
# ### 3.3
#
# **Given** that $\ell \sim \mathcal N(1, \frac12)$ and that nothing else is random. **Find** the probability that the
# weight of $a$ is at most $w$, $0 < w < 1$, for the query of 3.2, exactly for every $n \ge 2$ and any $t > 0$ (try 1000).
# **Form:** `weight_cdf(w, t, n)`, returning a number that is right to 0.005. A normal variable of mean $m$ and variance $V$
# is at most $x$ with probability $\frac12\big(1 + \text{erf}\frac{x - m}{\sqrt{2V}}\big)$, in code `math.erf`.
#
# *Predict* `weight_cdf(0.5, t, 2)` for every `t`: with two keys, how often is the weight below one half?


# %% answer="3.3"
# my prediction: ...
def weight_cdf(w, t, n):
    """The probability that the weight of a is at most w."""
    # BEGIN SOLUTION
    crowd = t + math.log1p((n - 2) * math.exp(-t))  # log(exp(t) + n - 2)
    length = (math.log(w / (1 - w)) + crowd) / t  # at most this long
    return (1 + math.erf(length - 1)) / 2  # the deviation is 1/sqrt(2), which erf divides by
    # END SOLUTION


# %% check="3.3"
check("3.3", weight_cdf)


# %%
def drawn_weight(lengths, t, n, rest=0.0):
    """The weight of a: scores t times its length, t for b, `rest` for the others. (N,) -> (N,)."""
    others = np.full((len(lengths), n - 2), rest)
    return softmax(np.c_[t * np.array(lengths), np.full(len(lengths), t), others])[:, 0]


points = np.linspace(0.01, 0.99, 99)
if check("3.3", weight_cdf):
    for height, count in ((1.0, 6), (5.0, 2), (10.0, 100)):
        drawn = drawn_weight(rng.normal(1, np.sqrt(0.5), 20_000), height, count)
        law = np.ravel([weight_cdf(w, height, count) for w in points])
        distance = np.abs(law - (drawn[:, None] <= points).mean(0)).max()
        print(f"t = {height:g}, n = {count}: your law and 20,000 draws differ by {distance:.4f}")
    print("99.9% of runs stay below 0.0138, whatever the law (Dvoretzky, Kiefer and Wolfowitz)")
    halves = [round(float(np.ravel(weight_cdf(0.5, t, 2))[0]), 6) for t in (0.5, 5.0, 50.0)]
    print(f"weight_cdf(0.5, t, 2) at t = 0.5, 5, 50: {halves}")

# %% [markdown]
# ### 3.4
#
# **Given** your own query of 3.1, and $k_a$ of random length. **Decide** what the output does from draw to draw: which line
# describes *your* query? **Form:** `behaviour`, a letter; and in words, **why**: which scores move, what the softmax
# makes of it.
#
# - **A** it stays close to the average in almost every draw
# - **B** it jumps: almost $v_a$ in some draws, almost $v_b$ in others, seldom between
# - **C** it wanders about the average, mostly close to it
# - **D** it jumps between $v_a$ and the mean of all other values
# - **E** it grows along $v_a$ with the length of $k_a$
# - **F** it is almost always $v_a$

# %% answer="3.4"
behaviour = None  # one of "A".."F"
# BEGIN SOLUTION
behaviour = "B"
# END SOLUTION

# %% check="3.4"
check("3.4", behaviour, robust_query)

# %% [markdown] written="3.4"
# With $q = t(\mu_a + \mu_b)$ only the score of $k_a$ moves: it is $t\ell$, while $k_b$, which is not random, stays at
# $t$ and the others at $0$. The gap $t(\ell - 1) \sim \mathcal N(0, t^2/2)$ has a spread of about $0.7\,t$, and a
# gap of a few units already gives nearly all of the weight to one side. So when $\ell > 1$ the output is
# almost $v_a$, when $\ell < 1$ almost $v_b$, half of the draws each; a mixture needs $|\ell - 1|$ of order $1/t$.
# The mean over draws is still the average, but hardly any single draw is. (A query with $q_a = q_b = 0$ that pushes the
# others down multiplies $\ell$ by zero and answers A.)

# %% [markdown] rubric="3.4"
# **Rubric (1 point).** ⅓ the score of $k_a$ varies with its length and that of $k_b$ does not · ⅓ the variation is
# multiplied by $t$ and the softmax saturates: a small difference in length decides · ⅓ where the output goes: $v_a$ and
# $v_b$, about half each (or, for a query tied at height 0: why nothing moves). Common wrong reasons: both keys are
# random; the *longer* key wins ($\ell = -1.5$ is longer and loses); the output grows with $k_a$; it ends at "other values".

# %% [markdown]
# Once 3.4 passes, your own query meets both kinds of noise: four values in the plane, 500 outputs each, spread a little
# across the segment from $v_a$ to $v_b$ to show how many there are.
#
# Below them comes the density of the weight, the slope of *your* law of 3.3. *Predict* at which $t$ one hill becomes two,
# for $n = 2$; then slide $t$. Then slide $n$: which of the two hills grows, and why?

# %%
# my prediction, the t at which one hill becomes two: ...
if check("3.4", behaviour, robust_query):
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.2, 1.2]])
    query = np.ravel(robust_query(np.eye(4), 0, 1))
    for ax, (title, stretch) in zip(plots.panels(2), kinds.items(), strict=True):
        keys = np.eye(4) + 0.01 / np.linalg.norm(query) * rng.normal(size=(500, 4, 4))
        keys[:, 0, 0] *= stretch
        outputs = softmax(keys @ query) @ values + 0.03 * rng.normal(size=(500, 1))
        axis = {"xlabel": "first coordinate", "ylabel": "second coordinate", "ax": ax}
        named = ["v_a", "v_b", "another", "another"]
        plots.scatter(outputs, colour=1, label="500 outputs", title=title, **axis)
        plots.scatter(values, size=60, colour=6, label="four values", names=named, **axis)
        ax.limits(x=(-0.3, 2.2), y=(-0.3, 2.2)).equal()


# %%
def density(t, n):
    left, right = plots.panels(2)
    grid, heights = np.linspace(0.004, 0.996, 125), (1.0, 2.0, 3.0, t)
    slope = {h: np.gradient(np.ravel([weight_cdf(w, h, n) for w in grid]), grid) for h in heights}
    label = {"xlabel": "weight of a", "ylabel": "density", "title": f"n = {n}"}
    plots.curves(grid, {f"t = {h:g}": slope[h] for h in heights[:3]}, **label, ax=left)
    label = {"xlabel": "weight of a", "title": f"t = {t:g}", "limits": (0, 1)}
    drawn = {"20,000 draws": drawn_weight(lengths, t, n)}
    plots.histogram(drawn, curve=(grid, slope[t]), **label, ax=right)
    right.limits(y=(0, 12))  # the same for every t


if check("3.3", weight_cdf) and check("3.4", behaviour, robust_query):
    plots.explore(density, t=(0.5, 8.0, 5.0), n=(2, 40, 2))

# %% [markdown]
# Up to $t = 2$ there is one hill around one half, beyond it there are two, and they move to the ends. More keys lower the
# weight of $a$ at every length, so the hill near 0 grows.
#
# ## Is one head hopeless?
#
# You may read that one head is "not practical" against such noise. That is a statement about the tie at height $t$ over
# zeros, not about every query. The softmax ignores a common shift of the scores on the *means*; the noise does not.
# So move the whole picture: scores $h$, $h$ on the means of $a$, $b$ and $h - 12$ on six others. *Predict* the best $h$.

# %%
# my prediction, the best h: ...
shifts = np.linspace(-12, 12, 49)
near = [np.mean(np.abs(drawn_weight(lengths, h, 8, h - 12) - 0.5) < 0.05) for h in shifts]
label = {"xlabel": "height h of the tie", "ylabel": "draws within 0.05 of one half"}
plots.curves(shifts, {"20,000 draws a point": near}, title="k_a of random length", **label)

# %% [markdown]
# At height zero the length of $k_a$ is multiplied by zero, and every draw is an average; one unit away most are not. The
# price: it needs *all* other means, and fails when those keys change sign, as they may now.
#
# ### 3.5
#
# **Given** keys $k_i = \lambda_i\mu_i$, independent $\lambda_i \sim \mathcal N(1, \beta)$, scores divided by $\sqrt d$, and
# $q = c(\mu_a + \mu_b)$. Write $g_{ab} = \mu_a^\top\mu_b$ and so on, $p_a = k_a^\top q$. **Find** the scores of $k_a$
# and $k_b$. **Form:** two chains, `score_a` and `score_b`; what $p_a$ and $p_b$ are is given.
#
# *Predict:* is their gap more or less noisy than with one random key?

# %% answer="3.5 derive"
# my prediction: ...
c, d = sp.symbols("c d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
g_aa, g_ab, g_bb = sp.symbols("g_aa g_ab g_bb", real=True)
products = {p_a: c * lambda_a * (g_aa + g_ab), p_b: c * lambda_b * (g_ab + g_bb)}
orthonormal = {g_aa: 1, g_ab: 0, g_bb: 1}

score_a = derive(
    (p_a / sp.sqrt(d), "definition"),
    # BEGIN SOLUTION
    (c * lambda_a * (g_aa + g_ab) / sp.sqrt(d), "key and query put in"),
    (c * lambda_a / sp.sqrt(d), "orthonormal means: one and zero"),
    # END SOLUTION
    where=products | orthonormal,
)
score_b = derive(
    (p_b / sp.sqrt(d), "definition"),
    # BEGIN SOLUTION
    (c * lambda_b * (g_ab + g_bb) / sp.sqrt(d), "key and query put in"),
    (c * lambda_b / sp.sqrt(d), "orthonormal means: zero and one"),
    # END SOLUTION
    where=products | orthonormal,
)
display(score_a, score_b)

# %% check="3.5 derive"
check("3.5", score_a, score_b)

# %% [markdown]
# How does the output vary over draws of the keys? **Find** the variance of the gap of the two scores, and the share of the
# draws in which *one of the two*, $a$ or $b$, has more than $w > \frac12$ of the weight that they have together. **Form:**
# `noisy_gap_variance(beta, c, d)` and `share_decided(beta, c, d, w)`, numbers; the second meets a simulation, to 0.01.
# **In words**, below the figure: what is the output on average over the draws, what in a single draw, why do they differ?
#
# *Predict*, for eight keys with $\beta = \frac14$, $c = 80$, $d = 16$, the mean of the weight of $a$ over 40,000 draws, and in
# how many it is within a tenth of one half.


# %% answer="3.5 code"
# my prediction, mean and share: ...
def noisy_gap_variance(beta, c, d):
    """The variance of the score of k_a minus the score of k_b."""
    # BEGIN SOLUTION
    return 2 * beta * c**2 / d
    # END SOLUTION


def share_decided(beta, c, d, w):
    """How often a or b has more than w of the weight of both."""
    # BEGIN SOLUTION
    lead = math.log(w / (1 - w))  # the gap at which a has exactly w
    return math.erfc(lead / math.sqrt(2 * noisy_gap_variance(beta, c, d)))
    # END SOLUTION


# %% check="3.5 code"
check("3.5", noisy_gap_variance, share_decided)

# %%
scale = 80 / np.sqrt(16)
factors = 1 + 0.5 * rng.normal(size=(40_000, 2))
weights = softmax(np.c_[scale * factors, np.zeros((40_000, 6))])
near_half, decided = np.abs(weights[:, 0] - 0.5) < 0.1, weights[:, :2].max(-1) > 0.9
print(f"mean weights of a and b: {weights[:, 0].mean():.2f} and {weights[:, 1].mean():.2f}")
print(f"the weight of a is within 0.1 of one half in {near_half.mean():.3f} of the draws")
print(f"a or b has more than 0.9 in {decided.mean():.3f} of the draws")
if check("3.5", noisy_gap_variance, share_decided):
    variance = np.asarray(noisy_gap_variance(0.25, 80, 16)).item()
    ratio = (scale * (factors[:, 0] - factors[:, 1])).var() / variance
    print(f"variance of the gap: {variance:.0f}; with one random key: {scale**2 / 4:.0f}")
    print(f"measured variance over yours: {ratio:.3f}, within 1 ± 0.023 in 99.9% of runs")
    print(f"your share for 0.9: {np.asarray(share_decided(0.25, 80, 16, 0.9)).item():.3f}")
plots.histogram({"40,000 draws": weights[:, 0]}, xlabel="weight of a", limits=(0, 1))

# %% [markdown] written="3.5"
# Over many draws the output averages to $\frac12(v_a + v_b)$ (but for the little weight on other keys), because $a$ and $b$
# play the same part and the gap is symmetric about zero. A single draw is nothing like that. The gap is
# $\frac c{\sqrt d}(\lambda_a - \lambda_b)$, of variance $2\beta c^2/d$, and as soon as its size is several units, the softmax
# gives nearly everything to the key that happened to be longer: the output is close to $v_a$ in half of the draws, close to
# $v_b$ in the other half, and seldom between. A larger $c$, which makes the other keys negligible, makes this worse, because
# it multiplies the gap.

# %% [markdown] rubric="3.5"
# **Rubric (½ point).** ⅓ the mean over draws is the average of $v_a$ and $v_b$ · ⅓ a typical draw is close to one of the two,
# about half of the draws each · ⅓ because the gap of the scores is $\frac{c}{\sqrt d}(\lambda_a - \lambda_b)$, large compared
# with 1, and the softmax saturates. For small $\beta c^2/d$ "stays near the average" is right if that condition is stated.
# Not needed: numbers. Common wrong reasons: "the noise averages out" (over draws, not within one); one key is random only.

# %% [markdown]
# A mean says little about a typical draw: the second printed line tells how rare one near one half is.
#
# ## Common mistakes
#
# Each is often written down; its number refutes it.
#
# 1. "In 3.4 $k_b$ is random too." Then $a$ would win more often.
# 2. "The longer key wins." One of length $-1.5$ loses to one of length 1.
# 3. "The output follows the length of $k_a$." It saturates.
# 4. "The other keys do not count." At a low tie they do.
# 5. "$\lambda_a$ must be much larger than $\lambda_b$." 5% are enough.
# 6. "A query made of drawn keys scores $c$ on average." It scores $c\lambda^2$.
# 7. "Normalised keys (*QK-norm*) are safe." A length becomes a sign.

# %%
alone = drawn_weight(lengths, 5.0, 2) > 0.9
both = drawn_weight(1 + lengths - rng.permutation(lengths), 5.0, 2) > 0.9
print(
    f"1. a has over 0.9 in {alone.mean():.2f} of the draws; were k_b random too, in {both.mean():.2f}"
)
print(f"2. weight of a key of length -1.5: {drawn_weight([-1.5], 10.0, 2)[0]:.0e}")
print(f"3. weights at lengths 1, 2, 4, 8: {drawn_weight([1.0, 2.0, 4.0, 8.0], 10.0, 2).round(5)}")
print(f"4. six keys, a tie at height 1: mean weight {drawn_weight(lengths, 1.0, 6).mean():.2f}")
print(f"5. lengths 1.05 and 1, c = 1000, d = 16: weight {drawn_weight([1.05], 250.0, 2)[0]:.6f}")
print(f"6. mean score for β = 0.5: {np.mean(lengths**2):.2f} c")
signs = drawn_weight(np.sign(lengths), 12.0, 2)
print(f"7. the average in {np.mean(signs > 0.4):.3f} of the draws, those with a positive length")

# %% [markdown]
# ## Summary
#
# 1. Keys near their means keep the average if the noise is small; compared with what, 3.1 says.
# 2. With one key of random length the law of its weight is exact, for any $n$.
# 3. What the output does depends on the height of the tie.
#
# **Without notes:** What becomes of a tie when the query grows? Why does the dimension not matter for blurred keys? Why
# do outputs of 3.4 lie on one line? At which $t$ does the density change its shape? Of what use is "right on average"?
#
# **Next:** [04](04_two_heads.ipynb) gives the job to two queries.
#
# **References.** Aitchison and Shen (1980), the logit-normal law; Henry et al. (2020), normalised keys.
