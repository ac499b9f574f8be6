# %% [markdown]
# <!-- Made by "attn build" from solutions/03_one_noisy_head.py. Instructors edit that file. -->
# # One noisy head
#
# > Does one query still return the average of two values when the keys are noisy?
#
# *112 min, 5 questions, 8 points, needs 02; a pause is marked in the middle*
#
# After this notebook you can
#
# - **design** a query that gives the average although the keys are drawn at random after the query is chosen, and say how
#   small the noise must be,
# - **derive** the exact distribution of a weight when its key has a random length,
# - **predict** how the output differs from one draw to the next, and measure it for a query of your own.

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
from attn_utils import softmax

rng = np.random.default_rng(3)

# %% [markdown]
# ## Notation
#
# <!-- notation -->
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $\mu_i$ | the mean of key $i$, which is known; the means are orthonormal | rows of $(n, d)$ | `means` |
# | $\nu$ | the noise: the variance of each coordinate of a key | number | `noise` |
# | $\ell = \mu_a^\top k_a$ | the length of $k_a$ along its mean | number | `length`, `ell` |
# | $w$ | a value of the weight $\alpha_a$ | number | `w` |
# | $\lambda_i$ | the length of key $i$, if every key has a random length | number | `lengths` |
# | $\beta$ | the variance of a length | number | `beta` |
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
# | $t$ | the size of a query, as in $q = t\,k_j$ or $q = t(k_a + k_b)$ | number | `t` |
# | $a$, $b$ | the two items whose values are averaged | integers | `a`, `b` |
#
# </details>
#
# In $\mathcal N(\text{mean}, \text{variance})$ the second number is a *variance*, not a standard deviation. The keys are
# random now: a *draw* is one random choice of all keys. The *score on a mean*, $\mu_i^\top q$, is the score that key $i$ would
# have if it were equal to its mean.

# %% [markdown]
# ## Two kinds of noise
#
# In this notebook there is one *head*: one query with its keys and values. The query is chosen first, from the means alone.
# Then the keys are drawn around their means, $k_i \sim \mathcal N(\mu_i, \Sigma_i)$, where the covariance matrix $\Sigma_i$
# says how much key $i$ varies in each direction. There are two kinds of noise:
#
# $$\text{(i)}\ \ \Sigma_i = \nu I \ \text{ for every item } i; \qquad
# \text{(ii)}\ \text{ the same, except that } \Sigma_a = \nu I + \tfrac12 \mu_a \mu_a^\top. \tag{1}$$
#
# The first kind of noise moves every key a little, equally in all directions. The second adds the variance $\frac12$ in the
# direction of $\mu_a$, so that the key $k_a$ is also long in some draws and short in others.

# %%
lengths = 1 + np.sqrt(0.5) * rng.normal(size=20_000)
axis = {"xlabel": "along the mean of a", "ylabel": "along the mean of b"}
kinds = {"blurred keys": np.ones(500), "k_a of random length": lengths[:500]}
for ax, (title, stretch) in zip(plots.panels(2, height=2.4), kinds.items(), strict=True):
    blur = 0.05 * rng.normal(size=(2, 500, 2))
    cloud_a, cloud_b = blur[0] + np.c_[stretch, 0 * stretch], blur[1] + [0, 1]
    plots.scatter(cloud_a, **axis, title=title, colour=0, label="k_a", ax=ax)
    plots.scatter(cloud_b, **axis, title=title, colour=1, label="k_b", ax=ax)
    ax.limits(x=(-1.5, 3.5), y=(-0.5, 2)).equal()
print(f"k_a points backwards in {np.mean(lengths < 0):.3f} of 20,000 draws")

# %% [markdown]
# On the right $k_b$ is drawn as before; only $k_a$ is stretched. This is often described as a key that "keeps its direction and
# changes its length". But a normally distributed length can be negative: in almost 8% of the draws the key points *backwards*.

# %% [markdown]
# ### 3.1 A query that sees only the means
#
# *code + written · 2 points · 10 min*
#
# **Given** orthonormal means and the first kind of noise with small $\nu$. **Find** a query, made from the means alone,
# whose output is the average of the values of $a$ and $b$; you may adapt 2.2. **Form:** `robust_query(means, a, b)`,
# returning $d$ numbers. And **in words**: what does the noise do to the scores, and how small must $\nu$ be?

# %% [markdown]
# What the check of 3.1 measures: the wanted weights are one half on $a$, one half on $b$ and 0 elsewhere. The check adds up
# how far each weight is from its wanted value. Without noise this sum may be at most 0.02. With noise that changes each score
# by about 0.001, the sum may be at most 0.04 in 95% of the draws.


# %% answer="3.1"
def robust_query(means, a, b):
    """A query that averages values a and b for keys near their means. means: (n, d) -> (d,)."""
    raise NotImplementedError("your answer here")


# %% check="3.1"
check("3.1", robust_query)

# %% [markdown] written="3.1"
# *Your answer to 3.1: replace this line.*

# %% [markdown]
# ## How small is vanishingly small?
#
# Question 3.1 is often stated with "vanishingly small" noise. Small compared with what? Below are three queries, of length
# 10, 100 and 1000. Each has equal scores on the means of $a$ and $b$. The two keys are drawn 5,000 times around these
# means, and each panel shows how the weight is divided: if the share is 1, all weight is on $a$; if it is 0, all weight is
# on $b$. *Predict* which of the three queries still gives the average at $\nu = 10^{-4}$. Then lower the noise (the slider
# shows its base-ten logarithm) until all three do.

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
# The same noise has three effects: with the short query the two weights stay almost equal; with the middle one the share
# takes every value between 0 and 1; with the long one it is almost always near 0 or 1, like the toss of a coin. So noise is
# small or large only in comparison with the query. Does your answer to 3.1 compare the noise with the length of the query?

# %% [markdown]
# ### 3.2 The weight, given the length
#
# *derive · 1 point · 10 min*
#
# Now take the second kind of noise with $\nu \to 0$: $k_a = \ell\,\mu_a$, and every other key is *equal* to its mean.
# **Given** a query whose scores on the means are $s_a = s_b = t$ and $s_i = 0$ for all others. Since $s_a$ is the score on
# the mean of $a$, the key $k_a$ itself scores $\ell s_a$. **Find** (i) the weight $w$ of $a$ as a function of $t$, $n$ and
# $\ell$; (ii) its log-odds $\log\frac{w}{1-w}$, as a linear function of $\ell$. **Form:** two derivations, `weight_of_a`
# and `log_odds`; the first lines are given.
#
# *Predict* the factor of $\ell$ in (ii); the last line of your derivation shows it.

# %% answer="3.2"
# my prediction: ...
t = sp.Symbol("t", positive=True)
ell, s_a, s_b, s_i, w = sp.symbols("ell s_a s_b s_i w", real=True)
n, i = sp.symbols("n i", integer=True, positive=True)
others = sp.Sum(sp.exp(s_i), (i, 1, n - 2))
definition = sp.exp(ell * s_a) / (sp.exp(ell * s_a) + sp.exp(s_b) + others)
heights = {s_a: t, s_b: t, s_i: 0}
own = sp.exp(t * ell)  # what a adds to the sum of exponentials; you may write `own` in your lines
rest = sp.exp(t) + n - 2  # what b and the others add, counted as in 2.3

weight_of_a = derive(
    (definition, "definition"),
    # your steps here
    where=heights,
)
log_odds = derive(
    (sp.log(w / (1 - w)), "definition"),
    # your steps here
    where=heights | {w: definition},
)
display(weight_of_a, log_odds)

# %% check="3.2"
check("3.2", weight_of_a, log_odds)

# %% [markdown]
# ### 3.3 The law of the weight
#
# *code · 1 point · 14 min*
#
# **Given** that $\ell \sim \mathcal N(1, \frac12)$ and that nothing else is random. **Find** the probability that the
# weight of $a$ is at most $w$, for the query of 3.2, any $0 < w < 1$, any $t > 0$ (also $t = 1000$) and any $n \ge 2$.
# **Form:** `weight_cdf(w, t, n)`, returning a number with an error of at most 0.005. A normal variable is at most $x$ with
# probability $\frac12\big(1 + \text{erf}\frac{x - \text{mean}}{\sqrt{2 \cdot \text{variance}}}\big)$; in code, `math.erf`.
#
# *Predict* `weight_cdf(0.5, t, 2)` for every `t`: with two keys, how often is the weight below one half?


# %% answer="3.3"
# my prediction: ...
def weight_cdf(w, t, n):
    """The probability that the weight of a is at most w."""
    raise NotImplementedError("your answer here")


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
        print(f"t = {height:g}, n = {count}: yours and 20,000 draws differ by {distance:.4f}")
    print(
        "if the formula is right, chance alone makes them differ by more than 0.0138 once in 1,000 times"
    )
    halves = [round(float(np.ravel(weight_cdf(0.5, t, 2))[0]), 6) for t in (0.5, 5.0, 50.0)]
    print(f"weight_cdf(0.5, t, 2) at t = 0.5, 5, 50: {halves}")

# %% [markdown]
# ### 3.4 What the output does
#
# *code + written · 2 points · 13 min*
#
# **Given** your own query of 3.1, and $k_a$ of random length. **Decide** which line describes the output. **Form:**
# `behaviour`, a letter; and in words, **why**: which scores change from draw to draw, and what does the softmax do with that
# change? The output is
#
# - **A** close to the average in almost every draw
# - **B** almost $v_a$ in some draws, almost $v_b$ in others, and seldom between them
# - **C** spread around the average, and mostly close to it
# - **D** $v_a$ in some draws and the mean of all other values in others
# - **E** a multiple of $v_a$ that grows with the length of $k_a$
# - **F** almost always $v_a$

# %% answer="3.4"
behaviour = None  # one of "A".."F"
# your answer here

# %% check="3.4"
check("3.4", behaviour, robust_query)

# %% [markdown] written="3.4"
# *Your answer to 3.4: replace this line.*

# %% [markdown]
# Once 3.4 passes, the next cell tries your own query with both kinds of noise. It plots four values in the plane and 500
# outputs for each kind; the plotted outputs are moved a little at random, so that you can see how many lie at the same point.
#
# The cell after that plots the density of the weight, the slope of *your* function of 3.3. *Predict* its shape for a small
# and for a large $t$, if $n = 2$; then move the slider.

# %%
# my prediction, small t and large t: ...
if check("3.4", behaviour, robust_query):
    values = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.2, 1.2]])
    query = np.ravel(robust_query(np.eye(4), 0, 1))
    for ax, (title, stretch) in zip(plots.panels(2), kinds.items(), strict=True):
        keys = np.eye(4) + 0.01 / np.linalg.norm(query) * rng.normal(size=(500, 4, 4))
        keys[:, 0, 0] *= stretch
        outputs = softmax(keys @ query) @ values + 0.02 * rng.normal(size=(500, 2))
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
# With $n = 2$ and $t$ up to 2 the density has one maximum, at one half. For a larger $t$ it has two maxima, and they move
# towards 0 and 1 as $t$ grows. More keys lower the weight of $a$ at every length, so the maximum near 0 grows.
#
# **Pause.** This is a good place to stop for a break. For 3.5 you need to remember only that a gap of a few units
# between two scores decides which key gets the weight.

# %% [markdown]
# ### 3.5 Every key of random length
#
# *derive + code + written · 2 points · 22 min*
#
# **Given** keys $k_i = \lambda_i\mu_i$ with independent random lengths $\lambda_i \sim \mathcal N(1, \beta)$, scores divided by
# $\sqrt d$, and the query $q = t(\mu_a + \mu_b)$. Write $g_{ab} = \mu_a^\top\mu_b$ and so on, and $p_a = k_a^\top q$. **Find**
# the scores of $k_a$ and $k_b$. **Form:** two derivations, `score_a` and `score_b`; the products $p_a$ and $p_b$ are given.
#
# *Predict:* does the gap between the two scores have a larger or a smaller variance than with one random key?

# %% answer="3.5 derive"
# my prediction: ...
t, d = sp.symbols("t d", positive=True)
lambda_a, lambda_b, p_a, p_b = sp.symbols("lambda_a lambda_b p_a p_b", real=True)
g_aa, g_ab, g_bb = sp.symbols("g_aa g_ab g_bb", real=True)
products = {p_a: t * lambda_a * (g_aa + g_ab), p_b: t * lambda_b * (g_ab + g_bb)}
orthonormal = {g_aa: 1, g_ab: 0, g_bb: 1}

score_a = derive(
    (p_a / sp.sqrt(d), "definition"),
    # your steps here
    where=products | orthonormal,
)
score_b = derive(
    (p_b / sp.sqrt(d), "definition"),
    # your steps here
    where=products | orthonormal,
)
display(score_a, score_b)

# %% check="3.5 derive"
check("3.5", score_a, score_b)

# %% [markdown]
# How does the output vary? **Find** the variance of the gap between the two scores. Add the weights of $a$ and $b$. A draw
# is *decided* if one of the two keys has more than the share $w$ of this sum, where $w \ge \frac12$. **Find** the share of
# decided draws. **Form:** `noisy_gap_variance(beta, t, d)` and `share_decided(beta, t, d, w)`, with an error of at most
# 0.01. **In words**, below the figure: what is the output on average over many draws, what is it in a single draw, and why
# do the two differ?
#
# *Predict* for the figure: in what share of the draws is the weight of $a$ between 0.4 and 0.6?


# %% answer="3.5 code"
# my prediction: ...
def noisy_gap_variance(beta, t, d):
    """The variance of the score of k_a minus the score of k_b."""
    raise NotImplementedError("your answer here")


def share_decided(beta, t, d, w):
    """The share of the draws in which a or b has more than w of the weight of both."""
    raise NotImplementedError("your answer here")


# %% check="3.5 code"
check("3.5", noisy_gap_variance, share_decided)

# %%
scale = 80 / np.sqrt(16)  # eight keys, β = 1/4, t = 80, d = 16
factors = 1 + 0.5 * rng.normal(size=(40_000, 2))
weights = softmax(np.c_[scale * factors, np.zeros((40_000, 6))])
near_half, decided = np.abs(weights[:, 0] - 0.5) < 0.1, weights[:, :2].max(-1) > 0.9
print(f"mean weights of a and b: {weights[:, 0].mean():.2f} and {weights[:, 1].mean():.2f}")
print(f"the weight of a is within 0.1 of one half in {near_half.mean():.3f} of the draws")
print(f"a or b has more than 0.9 in {decided.mean():.3f} of the draws")
if check("3.5", noisy_gap_variance, share_decided):
    variance = np.asarray(noisy_gap_variance(0.25, 80, 16)).item()
    ratio = (scale * (factors[:, 0] - factors[:, 1])).var() / variance
    one_random = (scale * factors[:, 0]).var()
    print(f"variance of the gap: {variance:.0f}; measured with one random key: {one_random:.0f}")
    print(f"measured variance over yours: {ratio:.3f}, by chance within 1 ± 0.023")
    print(f"your share for 0.9: {np.asarray(share_decided(0.25, 80, 16, 0.9)).item():.3f}")
plots.histogram({"40,000 draws": weights[:, 0]}, xlabel="weight of a", limits=(0, 1))

# %% [markdown] written="3.5"
# *Your answer to 3.5: replace this line.*

# %% [markdown]
# The second line printed with the figure shows how rarely the weight of $a$ is near one half.

# %% [markdown]
# ## Common mistakes
#
# Each of these statements is often made. The cell prints a number that refutes it.
#
# 1. "The longer key wins." A key of length $-1.5$ loses to a key of length 1.
# 2. "The output follows the length of $k_a$." Once the length is above 1, the output soon stops moving.
# 3. "The other keys do not count." If the tied scores are low, the other keys get much of the weight.
# 4. "$\lambda_a$ must be much larger than $\lambda_b$." If the query is long, a difference of 5% is enough.
# 5. "Keys that are scaled to length one (*QK-norm*) are safe." A key of negative length still points backwards.

# %%
print(f"1. weight of a key of length -1.5: {drawn_weight([-1.5], 10.0, 2)[0]:.0e}")
print(f"2. weights at lengths 1, 2, 4, 8: {drawn_weight([1.0, 2.0, 4.0, 8.0], 10.0, 2).round(5)}")
print(f"3. six keys, a tie at height 1: mean weight {drawn_weight(lengths, 1.0, 6).mean():.2f}")
print(f"4. lengths 1.05 and 1, t = 1000, d = 16: weight {drawn_weight([1.05], 250.0, 2)[0]:.6f}")
signs = drawn_weight(np.sign(lengths), 12.0, 2)
print(f"5. the average in {np.mean(signs > 0.4):.3f} of the draws, those with a positive length")

# %% [markdown]
# ## Summary
#
# 1. The output is still the average if all keys are close to their means; how close they must be depends on the length of the
#    query (3.1).
# 2. If one key has a random length, the distribution of its weight has a closed form (3.3).
# 3. How much the output varies from draw to draw depends on the common score of the two tied means (3.4).
#
# **Without notes:** What happens to a tie between noisy keys when the query grows? At which $t$ does the density change its
# shape, if $n = 2$? When is "right on average" not enough?

# %% [markdown]
# <details><summary>Short answers to these questions</summary>
#
# A longer query breaks the tie more clearly: one of the two keys wins. At $t = 2$ the density changes from one hill to two. When a
# single draw matters: the mean over draws is the average, and hardly any draw is near it.
#
# </details>

# %% [markdown]
# **Next:** [04](04_two_heads.ipynb) uses two queries instead of one.
#
# **References.** Aitchison and Shen (1980), [doi:10.1093/biomet/67.2.261](https://doi.org/10.1093/biomet/67.2.261), the
# logit-normal law; Henry et al. (2020), [arXiv:2010.04245](https://arxiv.org/abs/2010.04245), keys of length one.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
