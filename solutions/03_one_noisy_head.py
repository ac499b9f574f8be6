# %% [markdown]
# # One noisy head
#
# > Does one query still return the average of two values when the keys are noisy?
#
# *112 min, needs 02; a pause is marked in the middle*
#
# After this notebook you can
#
# - **design** a query that gives the average although the keys are drawn at random after the query is chosen, and say how
#   small the noise must be,
# - **derive** the exact distribution of a weight when its key has a random length,
# - **predict** how the output differs from one draw to the next, and measure it for a query of your own.

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
# ### 3.1
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
    # BEGIN SOLUTION
    return 12 * (means[a] + means[b])
    # END SOLUTION


# %% check="3.1"
check("3.1", robust_query)

# %% [markdown] written="3.1"
# If all keys are at their means, this is 2.2: $q = t(\mu_a + \mu_b)$ scores $t$ on $a$ and $b$ and $0$ on the others, so with
# $t$ well above $\log n$ the two share the weight. A score is linear in its key, so the noise adds an independent
# $\mathcal N(0, \nu\lVert q\rVert^2) = \mathcal N(0, 2\nu t^2)$ to each score. The two weights stay equal if the variance
# of the *gap* between the two scores, $4\nu t^2$, is far below 1; then the lead $t$ is safe as well. So
# $\nu$ must be small compared with $1/t^2$, and since $t$ exceeds $\log n$, also compared with $1/\log^2 n$; the dimension
# does not matter. If instead $t \to \infty$ at a fixed $\nu$, the output is one of the two values at random.

# %% [markdown] rubric="3.1"
# **Rubric (1 point).** ⅓ with $k_i \approx \mu_i$ it is the tie of 02: equal scores on $a$, $b$, a margin over the rest ·
# ⅓ noise enters each score in proportion to the query's length · ⅓ hence $\nu$ small *relative to* $1/t^2$ (or
# $1/\lVert q\rVert^2$), while $t \gg \log n$. Not needed: constants, probabilities. For a push-down query the same with
# $\lVert q\rVert^2 = (n-2)t^2$. Common wrong reasons: "noise averages out"; "$\nu$ is small, so keys equal their means"
# with no word on $t$.

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
# ### 3.2
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
    # BEGIN SOLUTION
    (own / (own + rest), "the scores on the means; equal terms are counted"),
    (1 / (1 + rest / own), "divide above and below by $e^{t \\ell}$"),
    # END SOLUTION
    where=heights,
)
log_odds = derive(
    (sp.log(w / (1 - w)), "definition"),
    # BEGIN SOLUTION
    (sp.log(own / rest), "a against all the rest together"),
    (t * ell - sp.log(rest), "logarithm of a ratio"),
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
# weight of $a$ is at most $w$, for the query of 3.2, any $0 < w < 1$, any $t > 0$ (also $t = 1000$) and any $n \ge 2$.
# **Form:** `weight_cdf(w, t, n)`, returning a number with an error of at most 0.005. A normal variable is at most $x$ with
# probability $\frac12\big(1 + \text{erf}\frac{x - \text{mean}}{\sqrt{2 \cdot \text{variance}}}\big)$; in code, `math.erf`.
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
        print(f"t = {height:g}, n = {count}: yours and 20,000 draws differ by {distance:.4f}")
    print(
        "if the formula is right, chance alone makes them differ by more than 0.0138 once in 1,000 times"
    )
    halves = [round(float(np.ravel(weight_cdf(0.5, t, 2))[0]), 6) for t in (0.5, 5.0, 50.0)]
    print(f"weight_cdf(0.5, t, 2) at t = 0.5, 5, 50: {halves}")

# %% [markdown]
# ### 3.4
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
# BEGIN SOLUTION
behaviour = "B"
# END SOLUTION

# %% check="3.4"
check("3.4", behaviour, robust_query)

# %% [markdown] written="3.4"
# With $q = t(\mu_a + \mu_b)$ only the score of $k_a$ is random: it is $t\ell$, while the score of $k_b$, which is not random,
# is $t$ and the others are $0$. The gap $t(\ell - 1) \sim \mathcal N(0, t^2/2)$ has a standard deviation of about $0.7\,t$,
# and a gap of a few units already gives nearly all of the weight to one of the two. So for $\ell > 1$ the output is almost
# $v_a$ and for $\ell < 1$ almost $v_b$, in half of the draws each; it is a real mixture only if $|\ell - 1|$ is about $1/t$ or
# less. (A query that scores 0 on both means and negative on all others multiplies $\ell$ by zero; for such a query the answer
# is A.)

# %% [markdown] rubric="3.4"
# **Rubric (1 point).** ⅓ the score of $k_a$ varies with its length and that of $k_b$ does not · ⅓ the variation is
# multiplied by $t$ and the softmax saturates: a small difference in length decides · ⅓ where the output is: near $v_a$ or
# near $v_b$, in about half of the draws each (or, for a query tied at height 0: why nothing changes). Common wrong reasons: both
# keys are random; the *longer* key wins ($\ell = -1.5$ is longer and loses); the output grows with $k_a$; it is one of the
# "other values".

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

# %% [markdown] only="solution"
# ## Can one head do better?
#
# Some published solutions call one head "not practical" against such noise. That is true of a query that scores $t$ on two
# means and 0 on all others, but not of every query. Take the scores $x$, $x$ on the means of $a$ and $b$, and $x - 12$ on six
# others: the weights on the means are the same for every $x$, but noise multiplies the score $x$. At $x = 0$ it multiplies
# zero, and every draw gives the average; at $x = \pm 1$ only a minority of the draws do. Such a query needs *all* other means,
# and it fails when other keys change their sign, as they can in 3.5.

# %% only="solution"
shifts = np.linspace(-12, 12, 49)
near = [np.mean(np.abs(drawn_weight(lengths, x, 8, x - 12) - 0.5) < 0.05) for x in shifts]
label = {"xlabel": "score x of the two tied means", "ylabel": "draws within 0.05 of one half"}
plots.curves(shifts, {"20,000 draws a point": near}, title="k_a of random length", **label)

# %% [markdown]
# ### 3.5
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
    # BEGIN SOLUTION
    (t * lambda_a * (g_aa + g_ab) / sp.sqrt(d), "key and query put in"),
    (t * lambda_a / sp.sqrt(d), "orthonormal means: one and zero"),
    # END SOLUTION
    where=products | orthonormal,
)
score_b = derive(
    (p_b / sp.sqrt(d), "definition"),
    # BEGIN SOLUTION
    (t * lambda_b * (g_ab + g_bb) / sp.sqrt(d), "key and query put in"),
    (t * lambda_b / sp.sqrt(d), "orthonormal means: zero and one"),
    # END SOLUTION
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
    # BEGIN SOLUTION
    return 2 * beta * t**2 / d
    # END SOLUTION


def share_decided(beta, t, d, w):
    """The share of the draws in which a or b has more than w of the weight of both."""
    # BEGIN SOLUTION
    lead = math.log(w / (1 - w))  # the gap at which a has exactly w
    return math.erfc(lead / math.sqrt(2 * noisy_gap_variance(beta, t, d)))
    # END SOLUTION


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
# The mean of the output over many draws is $\frac12(v_a + v_b)$ (apart from the small weight on other keys), because $a$ and
# $b$ play the same role and the gap is symmetric about zero. A single draw is very different. The gap is
# $\frac t{\sqrt d}(\lambda_a - \lambda_b)$, with variance $2\beta t^2/d$, and as soon as it is several units large, the
# softmax gives nearly all of the weight to the key with the larger $\lambda$: the output is close to $v_a$ in half of the draws,
# close to $v_b$ in the other half, and seldom between them. A larger $t$, which makes the other keys negligible, makes this
# worse, because it multiplies the gap.

# %% [markdown] rubric="3.5"
# **Rubric (½ point).** ⅓ the mean over draws is the average of $v_a$ and $v_b$ · ⅓ a typical draw is close to one of the two,
# about half of the draws each · ⅓ because the gap of the scores is $\frac{t}{\sqrt d}(\lambda_a - \lambda_b)$, large compared
# with 1, and the softmax saturates. For small $\beta t^2/d$ "stays near the average" is right if that condition is stated.
# Not needed: numbers. Common wrong reasons: "the noise averages out" (over draws, not within one); one key is random only.

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
