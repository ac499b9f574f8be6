# %% [markdown]
# <!-- Made by "attn build" from solutions/04_two_heads.py. Instructors edit that file. -->
# # Two heads
#
# > Two heads, whose outputs are averaged, can resist noise that one head cannot.
#
# *82 min, 5 questions, 5 points, needs 03; a pause is marked in the middle*
#
# After this notebook you can
#
# - **design** two queries whose outputs average to the mean of two values, even when a key is noisy,
# - **predict** in how many draws such a design still fails,
# - **derive** how much smaller the variance of the output is than with one head.

# %%
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )

# %%
from math import erf, sqrt

import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_utils import softmax

rng = np.random.default_rng(4)

# %% [markdown]
# ## Notation
#
# <!-- notation -->
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $q_i$ | a query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what the query is compared with | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $n$ | the number of items, each with a key and a value | number | `n` |
# | $d$, $d_v$ | the width of queries and keys, and of values; from 06 on those of one head | numbers | `d` |
# | $s_i = k_i^\top q$ | the score of item $i$ | $(n,)$ | `scores` |
# | $\alpha_i$ | the weight of item $i$, or of a group of items | $(n,)$ | `weights` |
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
# | $t$ | the size of a query, as in $q = t\,k_j$ or $q = t(k_a + k_b)$ | number | `t` |
# | $a$, $b$ | the two items whose values are averaged | integers | `a`, `b` |
# | $\mu_i$ | the mean of key $i$; known, and orthonormal to the other means | rows of $(n, d)$ | `means` |
# | $\ell = \mu_a^\top k_a$ | the length of $k_a$ along its mean | number | `length`, `ell` |
# | $w$ | a given weight, with which $\alpha_a$ is compared | number | `w` |
# | $\lambda_i$ | the length of key $i$, where every key has a random one | number | `lengths` |
# | $\beta$ | the variance of a length | number | `beta` |
#
# With two heads, $q_1$ and $q_2$ are their queries, $c_1$ and $c_2$ what they return, and $c$ is the average of $c_1$ and $c_2$.

# %% [markdown]
# ## The definition
#
# In [03](03_one_noisy_head.ipynb) one query attended to two keys, and the noise decided between them. Now there are two heads.
# They have the same keys and values, but head $h$ has its own query $q_h$, and the output is the average of what they return:
#
# $$c = \tfrac12 (c_1 + c_2), \qquad c_h = \sum_i \alpha^{(h)}_i v_i, \quad \alpha^{(h)}_i = \frac{e^{k_i^\top q_h}}{\sum_j e^{k_j^\top q_h}}. \tag{1}$$
#
# Both heads have the same values, so averaging the outputs is the same as averaging the *weights*. Each head has its own
# softmax over all $n$ keys.

# %%
first, second = softmax(np.array([3.0, 3, 0, 0])), softmax(np.array([0.0, 0, -3, 1]))
groups = {"head 1": first, "head 2": second, "output": (first + second) / 2}
plots.bars(groups, title="weights of two heads, and of their average")

# %% [markdown]
# For each key the bar of the output is halfway between the bars of the two heads. A single head can have these weights too,
# if its scores are the logarithms of the weights. So two heads are useful not because they can reach other weights, but
# because noise affects them differently. Below is the plane of 03 with noisy keys and two queries, one for each head.
# *Predict* what another draw of the keys does to each head. Press the button; then drag a query to a border, where the single
# query of 03 was, and press again.

# %%
# my prediction: ...
trio = np.array([[1.0, 0.0], [0.0, 1.0], [-0.7, -0.7]])
named = {"names": ["key a", "key b", "key 3"], "title": "two queries, each in a sector of its own"}
plots.query_plane(
    trio, [0.0, 1.0, 2.0], query=[(4.0, 0.0), (0.0, 4.0)], limit=5.0, noise=0.4, **named
)

# %% [markdown]
# Far inside a sector the weights hardly change when a border moves. The average of the two heads stays close to one half for
# each of $a$ and $b$, while the weights of a query on the border change with every draw.
#
# ### 4.1 Two queries
#
# *code · 1 point · 8 min*
#
# **Given** orthonormal means, and keys so close to them that you may take $k_i = \mu_i$; there are between 2 and 100 keys.
# **Find** two queries for which $c$ is $\frac12(v_a + v_b)$, with at most 1% of the weight in the wrong place. **Form:**
# `two_head_queries(means, a, b)`, returning `(q1, q2)`.
#
# *Predict:* how many essentially different pairs of weights $\alpha^{(1)}, \alpha^{(2)}$ are solutions: one, two, or more?


# %% answer="4.1"
# my prediction: ...
def two_head_queries(means, a, b):
    """Two queries whose heads average to (v_a + v_b) / 2. means: (n, d) -> (d,), (d,)."""
    raise NotImplementedError("your answer here")


# %% check="4.1"
check("4.1", two_head_queries)

# %% [markdown]
# More than two: infinitely many pairs of weights average to one half on $a$ and one half on $b$. The questions *without notes*
# at the end ask which pairs these are. Question 4.2 accepts fewer of them.
#
# ## One key of random length
#
# As in notebook 03, let $k_a = \ell\mu_a$ with $\ell \sim \mathcal N(1, \frac12)$, while every other key stays at its mean.
# When $\ell < 0$ the key points the *other way*. A common rule leaves out the draws with $q^\top k_a < 0$, where $q$ is the
# query in question. *Predict* how many draws this rule leaves out for a query along $\mu_a$, and how many for a query that is
# orthogonal to $\mu_a$, if all keys also have a very small noise.

# %%
# my prediction, two shares: ...
a, b, n = 2, 7, 10
means = np.linalg.qr(rng.normal(size=(16, n)))[0].T  # (10, 16)
ell = 1 + sqrt(1 / 2) * rng.normal(size=20_000)
found, p = (ell < 0).mean(), (1 - erf(1)) / 2  # √2 standard deviations below the mean
error = 2.58 * sqrt(p * (1 - p) / len(ell))
print(
    f"P(ℓ < 0) is {p:.4f}, one draw in {1 / p:.0f}; simulated {found:.4f} ± {error:.4f} (99% confidence)"
)
trace = ell[:, None] * means[a] + 1e-3 * rng.normal(size=(len(ell), 16))
print(f"for q along another mean, q·k_a < 0 in {(trace @ means[b] < 0).mean():.2f} of the draws")

# %% [markdown]
# The first share is the same for every length of the query. But the rule depends on its direction: for a query orthogonal to
# $\mu_a$ it leaves out half of all draws, for no good reason. So we use a rule that does not mention the query: **4.2 and 4.3
# are about the draws with $\ell > 0$**, and the other draws are counted separately.

# %% [markdown]
# ### 4.2 Two queries that survive
#
# *code · 1 point · 9 min*
#
# **Given** $k_a = \ell\mu_a$ as above, and all other keys at their means, apart from a very small noise. **Design** the two
# queries so that the output stays at the average: in at least 85% of the draws with $\ell > 0$ the averaged weights must be
# within 0.1 (sum of absolute differences) of one half on $a$ and one half on $b$. **Form:** the same
# `two_head_queries(means, a, b)`, which is given the means only.
#
# *Predict:* does every pair that is right in 4.1 pass here too?

# %% answer="4.2"
# my prediction: ...
# Write two_head_queries again here if the one of 4.1 does not pass.
# If it does, leave this cell as it is.
# your answer here

# %% check="4.2"
check("4.2", two_head_queries)

# %% [markdown]
# Not every pair passes: two *equal* queries are right in 4.1 and fail here, as a single head does. For comparison the next
# cells draw that single head, which scores $t$ on the means of $a$ and $b$ and 0 on all others. Your own pair is drawn as well
# once 4.1 is right, with each query scaled to length $t$. *Predict* for both where in the plane the outputs lie, if
# $v_a = (-2, 0)$ and $v_b = (2, 0)$.


# %%
# my prediction: ...
def weights_over(ell, scores):
    """Averaged weights in each draw, from scores on the means. (draws,), (H, n) -> (draws, n)."""
    scores = np.tile(scores, (len(ell), 1, 1))  # (draws, H, n)
    scores[:, :, a] *= ell[:, None]
    return softmax(scores).mean(1)


designs = {"one head": np.isin(np.arange(n), [a, b])[None].astype(float)}  # scores (H, n) at t = 1
if check("4.1", two_head_queries):
    pair = np.array([np.ravel(query) for query in two_head_queries(means, a, b)])
    designs["your two heads"] = pair / np.linalg.norm(pair, axis=1, keepdims=True) @ means.T

# %%
values = rng.normal((0, 2), 1, (n, 2))
values[[a, b]] = [-2, 0], [2, 0]
*panes, last = plots.panels(len(designs) + 1, width=11.5)
positive = ell[ell > 0][:2000]
kept = {name: weights_over(positive, 20 * scores) for name, scores in designs.items()}
axes = {"xlabel": "first coordinate", "ylabel": "second coordinate"}
for ax, (name, weights) in zip(panes, kept.items(), strict=True):
    plots.scatter(weights @ values, colour=1, label="2,000 outputs", title=name, ax=ax, **axes)
    plots.scatter(values, colour=6, size=20, label="ten values", ax=ax, **axes)
    ax.limits(y=(-1, 4.5))
last.limits(y=(0, 32))  # room for the legend
on_a = {name: weights[:, a] for name, weights in kept.items()}
plots.histogram(on_a, xlabel="weight on v_a", limits=(0, 1), title="how often", ax=last)

# %% [markdown]
# The figure is drawn for $t = 20$. All outputs of the single head lie almost exactly on the segment from $v_a$ to $v_b$; the
# histogram shows how often they are near the middle of this segment. If some outputs of your pair lie away from the average,
# which draws are these?
#
# ### 4.3 What the output looks like
#
# *written · 1 point · 9 min*
#
# **Given** your queries of 4.2. **Describe** in four to six sentences how $c$ behaves over many draws of $k_a$, and why: how
# each head depends on $\ell$, why this differs from one head, and what happens in the draws with $\ell < 0$ that were
# counted separately. **Form:** words, with scores where they help. Describe *your* queries, whatever they are.

# %% [markdown] written="4.3"
# *Your answer to 4.3: replace this line.*

# %% [markdown]
# The next figure counts all draws, including those with $\ell < 0$; for a design that is otherwise right, the draws
# with $\ell < 0$ are in the bars on the left. *Predict* whether longer queries help the single head; then change $t$ and the variance.

# %%
# my prediction: ...
noise = rng.normal(size=4000)


def draw(t, variance):
    ell = 1 + sqrt(variance) * noise
    samples = {name: weights_over(ell, t * scores)[:, a] for name, scores in designs.items()}
    label = {"xlabel": "weight on v_a", "title": f"t = {t:g}", "bins": 20}
    plots.histogram(samples, limits=(0, 1), **label).limits(y=(0, 25))  # one scale for all settings


plots.explore(draw, t=(1.0, 60.0, 20.0), variance=(0.0, 1.0, 0.5))

# %% [markdown]
# Longer queries make the single head *more* sensitive to noise: the bars at both ends grow, and hardly any draws are left in
# the middle. A weight $w$ whose score is $t\ell$ changes with $\ell$ at the rate $t\,w(1-w)$, which is largest in a tie of two.
#
# **A good place for a pause.** You have seen why two heads are steady where one is not. The second half adds the scale
# $\sqrt d$ and counts what the second head gains.

# %% [markdown]
# ### 4.4 Every key of random length
#
# *code · 1 point · 11 min*
#
# **Given** that now *every* key $k_i = \lambda_i\mu_i$ has its own random length $\lambda_i \sim \mathcal N(1, \frac14)$, and
# that scores are **divided by $\sqrt d$**. **Find** two queries with $c \approx \frac12(v_a + v_b)$: at most 1% of the weight
# may be in the wrong place when all lengths are 1, and in at least 85% of the draws with $\lambda_a, \lambda_b > 0$ the
# weights must be within 0.1 of one half each, as in 4.2. **Form:** `scaled_two_head_queries(means, a, b)`, returning
# `(q1, q2)`. The function is given the means, not the lengths.

# %% [markdown]
# A right design whose queries are a little short still passes: it is tried as it is, and once more with both queries ten times
# as long. *Predict:* now the *other* keys can change their sign, too. Which design suffers more from that: heads that give their
# own key a high score and all others zero, or heads that give their own key zero and all others a very negative score?


# %% answer="4.4"
# my prediction: ...
def scaled_two_head_queries(means, a, b):
    """The same under division by sqrt(d), every key of random length. means: (n, d)."""
    raise NotImplementedError("your answer here")


# %% check="4.4"
check("4.4", scaled_two_head_queries)


# %%
stretches = rng.normal(size=(4000, 1, n))  # the same draw for every variance


def share_near(scores, variance):
    """How often the weights are within 0.1 of one half each; scores on the means, (H, n)."""
    lengths = 1 + sqrt(variance) * stretches
    weights = softmax(lengths * scores).mean(1)  # (4000, n)
    return (np.abs(weights - designs["one head"] / 2).sum(-1) < 0.1).mean()


variances = np.array([0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 1.0])
scaled = {"one head": 30 * designs["one head"]}
if check("4.4", scaled_two_head_queries):
    pair = np.array([np.ravel(query) for query in scaled_two_head_queries(means, a, b)])
    scaled["your two heads"] = pair @ means.T / sqrt(16)  # d = 16
scaled["two heads, others pushed down"] = 30 * (np.eye(n)[[a, b]] - 1)  # 0 on its own key, else -30
series = {name: [share_near(scores, v) for v in variances] for name, scores in scaled.items()}
label = {"xlabel": "variance of the lengths", "ylabel": "share of good draws"}
plots.curves(variances, series, log="x", **label)

# %% [markdown]
# This figure counts all draws, including those with negative lengths. One head, which scores 30 on both keys after the
# division, fails as soon as the lengths differ by a few per cent, because two random lengths are hardly ever equal. It is
# sometimes claimed that one head gives the average here too; the curve shows that it does not. Two heads that give all other
# keys a negative score do well as long as no length is negative. At larger variances they lose more draws than heads that give
# their own key a high score: if the length of any *other* key is negative, that key gets a high score and all the weight.

# %% [markdown]
# ### 4.5 How far the variance falls
#
# *derive · 1 point · 10 min*
#
# **Given** orthonormal values, a length $\ell \sim \mathcal N(1, \beta)$, and very long queries. One head returns $v_a$ or $v_b$
# with probability $\frac12$ each, so its variance is that of a fair coin, $\frac14$, times $\lVert v_a - v_b\rVert^2 = 2$. In a
# pair, one head is constant; the other returns $v_a$ if $\ell > 0$, that is, with probability
# $P = \frac12\big(1 + \text{erf}\frac1{\sqrt{2\beta}}\big)$, and otherwise the mean of the $n - 1$ other values. **Find** the
# ratio of the variance of $c$ with two heads to that with one. **Form:** a derivation `ratio` from the definition of a variance to
# a form in $n$ and $\beta$ in which erf occurs once; $P$ is a symbol, and its value is given.

# %% [markdown]
# Where these numbers come from: the variance of a random vector is the sum of the variances of its coordinates, which equals
# its mean squared distance from its mean. The mean of $n - 1$ orthonormal values has squared length $\frac1{n-1}$ and is
# orthogonal to $v_a$, so by Pythagoras the squared distance of the two is $1 + \frac1{n-1} = \frac n{n-1}$. Each head enters
# $c$ with the factor $\frac12$, so a quarter of its variance remains.

# %% answer="4.5"
n_ = sp.Symbol("n", integer=True, positive=True)
beta, P = sp.symbols("beta P", positive=True)
one_head = sp.Rational(1, 4) * 2
two_heads = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n_ / (n_ - 1)

ratio = derive(
    (two_heads / one_head, "mean squared distances"),
    # your steps here
    where={P: (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2},
)
ratio

# %% check="4.5"
check("4.5", ratio)

# %% [markdown]
# That was the limit for very long queries. For a finite $t$ the variance of the weight on $v_a$ is an integral over $\ell$.
# This variance is drawn below for one head, together with simulations of 400 draws; 99% of such simulations lie in the grey
# band. *Predict:* does the variance fall as $t$ grows?

# %%
# my prediction: ...
lengths, grid = np.geomspace(2, 200, 14), np.linspace(-4, 6, 20_001)
density = np.exp(-((grid - 1) ** 2))  # of ℓ, up to a factor
law = [weights_over(grid, t * designs["one head"])[:, a] for t in lengths]
exact = np.array([np.cov(w, aweights=density, ddof=0) for w in law])
runs = {}
for name, scores in designs.items():
    runs[name] = [weights_over(ell, t * scores)[:, a] for t in lengths]
spread = {f"-{name}, 400 draws": [w[:400].var() for w in found] for name, found in runs.items()}
error = [2.58 * ((w - w.mean()) ** 2).std() / sqrt(400) for w in runs["one head"]]

# %%
left, right = plots.panels(2, width=11)
label = {"xlabel": "length t", "ylabel": "variance of the weight on v_a"}
series = {"one head, exact": exact} | spread | {"one quarter": np.full(14, 0.25)}
plots.curves(lengths, series, band=(exact - error, exact + error), log="x", ax=left, **label)
fails = {}
for name, found in runs.items():
    fails[name] = [(np.abs(w[ell > 0] - 0.5) > 0.05).mean() for w in found]
label["ylabel"] = "share of draws (ℓ > 0) off by 0.05"
plots.curves(lengths, fails | {"-one over t": 1 / lengths}, log="xy", ax=right, **label)

# %% [markdown]
# With one head the variance tends to one quarter, the variance of a fair coin: one head does no better than copying one of the
# two values at random, and longer queries make its variance *larger*. On the right, one head misses the average in nearly
# every draw. A design that passes 4.2 misses it less often the longer its queries are; but its share of misses only falls like
# $1/t$, as the dashed line shows.
#
# ## Common mistakes
#
# "It works because the fluctuations of the two heads partly cancel in the average." Two heads with *independent*
# fluctuations would have half the variance of one. The cell measures yours at $t = 20$:

# %%
one = 20 * designs["one head"]
for name, scores in designs.items():
    share = weights_over(ell, 20 * scores)[:, a].var() / weights_over(ell, one)[:, a].var()
    print(f"{name}: {share:.3f} times the variance of one head; cancelling would give 0.5")

# %% [markdown]
# "A longer $k_a$ moves the output towards $v_a$, and averaging reduces the effect": a longer $k_a$ moves only the single head.
# "With two heads the output is always the average": the cell counts how often it is. "A head that copies gives its key weight
# one, whatever $t$ is": the cell takes the copying query of notebook 01 with $t = 20$, $d = 64$ and eight keys, where the
# copied key has length $\lambda$.

# %%
for name, scores in designs.items():
    stretched = weights_over(np.array([0.5, 1, 2, 4]), 20 * scores)[:, a].round(3)
    good = (np.abs(weights_over(ell, 20 * scores)[:, a] - 0.5) < 0.05).mean()
    print(f"{name}: weight on v_a at ℓ = 0.5, 1, 2, 4 {stretched}; one half in {good:.3f} of draws")
for length in (1.0, 0.1, -0.5):
    print(f"copy at λ = {length:4}: weight {softmax(np.r_[20 * length / 8, np.zeros(7)])[0]:.3f}")

# %% [markdown]
# ## Summary
#
# 1. Averaging the outputs of two heads averages their weights (1); many pairs of weights average to one half each on $a$ and $b$.
# 2. Noise that breaks a *tie* hardly changes a head in which one key has a *lead*; averaging itself cancels nothing.
# 3. The share of draws that fail falls like $1/t$, except for the draws in which the key points backwards.

# %% [markdown]
# ## Without notes
#
# 1. Why does averaging two outputs average the weights?
# 2. Which pairs of weights solve 4.1, and which of them also pass 4.2?
# 3. At which value does a weight change most when its score changes?
# 4. Which draws fail however long the queries are, and what share of all draws are they?
# 5. How large would the variance be for two heads with the same tie and independent noise?
#
# **Next:** [05, keys, queries, values](05_keys_queries_values.ipynb), makes keys, queries and values from the same tokens.
#
# **References.** Vaswani et al. (2017), many heads; Michel, Levy and Neubig (2019), how many are needed;
# Voita et al. (2019), what single heads specialise in.
