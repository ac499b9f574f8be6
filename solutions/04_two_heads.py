# %% [markdown]
# # Two heads
#
# > Two heads, whose outputs are averaged, can resist noise that one head cannot.
#
# *75 min, needs 03; a pause is marked in the middle*
#
# After this notebook you can
#
# - **design** two queries whose outputs average to the mean of two values, even when a key is noisy,
# - **predict** in how many draws such a design still fails,
# - **derive** how much smaller the variance of the output is with two heads than with one head.

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
#
# $q_1$ and $q_2$ are the queries of the two heads, $c_1$ and $c_2$ are what the heads return.

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
# if its scores are the logarithms of the weights. So two heads cannot reach more weights than one head. They are useful for
# another reason: noise affects them differently.

# %% [markdown]
# ### 4.1
#
# **Given** orthonormal means, and keys so close to them that you may take $k_i = \mu_i$; there are between 2 and 100 keys.
# **Find** two queries for which $c$ is $\frac12(v_a + v_b)$, with at most 1% of the weight in the wrong place. (Add up what
# $a$ and $b$ lack of one half each: this weight is in the wrong place.) **Form:** `two_head_queries(means, a, b)`,
# returning `(q1, q2)`.
#
# *Predict:* how many essentially different pairs of weights $\alpha^{(1)}, \alpha^{(2)}$ are solutions: one, two, or more?


# %% answer="4.1"
# my prediction: ...
def two_head_queries(means, a, b):
    """Two queries whose heads average to (v_a + v_b) / 2. means: (n, d) -> (d,), (d,)."""
    # BEGIN SOLUTION
    return 20 * means[a], 20 * means[b]
    # END SOLUTION


# %% check="4.1"
check("4.1", two_head_queries)

# %% [markdown]
# More than two: infinitely many pairs of weights average to one half on $a$ and one half on $b$. Question 4.2 accepts fewer
# of them.
#
# The plane of [02](02_average_of_two.ipynb) shows why 4.2 accepts fewer. The keys are noisy now, and each head has a query.
# Both queries start where $a$ and $b$ would be tied if the keys were at their means. Press the button for another draw of the
# keys and watch the weights of each head. *Predict* where the two queries must be so that another draw hardly changes the
# average of the two heads; then drag them there.

# %%
# my prediction: ...
trio = np.array([[1.0, 0.0], [0.0, 1.0], [-0.7, -0.7]])
named = {"names": ["key a", "key b", "key 3"], "title": "two queries and noisy keys"}
start = [(3.0, 3.0), (2.0, 2.0)]
plots.query_plane(trio, [0.0, 1.0, 2.0], query=start, limit=5.0, noise=0.4, **named)

# %% [markdown]
# ## One key of random length
#
# As in notebook 03, let $k_a = \ell\mu_a$ with $\ell \sim \mathcal N(1, \frac12)$, while every other key stays at its mean.
# When $\ell < 0$, the key points the *other way*. Questions 4.2 and 4.3 are about the draws with $\ell > 0$; the other draws are
# counted separately.

# %%
a, b, n = 2, 7, 10
means = np.linalg.qr(rng.normal(size=(16, n)))[0].T  # (10, 16)
ell = 1 + sqrt(1 / 2) * rng.normal(size=20_000)
exact = (1 - erf(1)) / 2  # ℓ = 0 is √2 standard deviations below the mean
print(f"ℓ < 0 in {(ell < 0).mean():.4f} of 20,000 draws; its probability is {exact:.4f}")

# %% [markdown]
# ### 4.2
#
# **Given** $k_a = \ell\mu_a$ as above, and all other keys at their means, apart from a very small noise. **Design** the two
# queries so that the output stays near the average in at least 85% of the draws with $\ell > 0$. The wanted weights are one
# half on $a$, one half on $b$ and 0 elsewhere. A draw is a success if the differences between the averaged weights and the
# wanted weights add up to less than 0.1. **Form:** the same `two_head_queries(means, a, b)`; the function gets only the
# means, not the keys.
#
# *Predict:* does every pair that is right in 4.1 pass here too?

# %% answer="4.2"
# my prediction: ...
# Write two_head_queries again here if the one of 4.1 does not pass.
# If it does, leave this cell as it is.
# BEGIN SOLUTION
# The one of 4.1 passes: in each head one key has a clear lead, so there is no tie that noise could break.
# END SOLUTION

# %% check="4.2"
check("4.2", two_head_queries)

# %% [markdown]
# Not every pair passes: two *equal* queries that tie $a$ and $b$ above all others are right in 4.1 and fail here, as a
# single head does. (Two equal queries that score 0 on $a$ and on $b$, and far below 0 on all others, do pass: $\ell$ then
# multiplies 0.) The next two cells draw the outputs of a single head that scores $t = 20$ on the means of $a$ and $b$ and 0
# on all others. Once 4.1 is right, they also draw the outputs of your own pair, with each query scaled to length 20.
# *Predict* where in the plane the outputs of the single head and of your pair lie, if $v_a = (-2, 0)$ and $v_b = (2, 0)$.


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
# All outputs of the single head lie almost exactly on the segment from $v_a$ to $v_b$; the histogram shows how often they are
# near the middle. If some outputs of your pair lie away from the average, which draws are these?

# %% [markdown]
# ### 4.3
#
# **Given** your queries of 4.2. **Describe** in four to six sentences how $c$ behaves over many draws of $k_a$, and why: how
# each head depends on $\ell$, why this differs from one head, and what happens in the draws with $\ell < 0$ that were
# counted separately. **Form:** words, with scores where they help. Describe *your* queries, whatever they are.

# %% [markdown] written="4.3"
# With $q_1 = t\mu_a$ and $q_2 = t\mu_b$ the output is close to $\frac12(v_a + v_b)$ in almost every draw. Head 2 does not
# depend on $\ell$, because $\mu_b^\top k_a = 0$: it returns $v_b$ in every draw. Head 1 scores $t\ell$ on $a$ and 0
# on all others, so it returns $v_a$ whenever $t\ell$ is well above $\log(n-1)$: it needs a *lead*, not a tie, and
# a longer $k_a$ only increases the lead. One head alone needs $s_a = t\ell$ and $s_b = t$ to be equal, and a
# change of $\ell$ by a few times $1/t$ decides for one of them. When $\ell < 0$ (7.86% of all draws), head 1 gives $a$ almost
# no weight and returns the mean of the other values, however long the query is.

# %% [markdown] rubric="4.3"
# **Rubric.** ⅓ close to the average in nearly every draw with $\ell > 0$, not "always", and for $\ell < 0$ the head that
# attends to $a$ no longer does · ⅓ one head does not depend on $\ell$, the other only needs a lead · ⅓ a single head fails
# because any change breaks a tie. **Other designs.** Queries orthogonal to $\mu_a$ multiply $\ell$ by zero, so
# nothing changes: the first two thirds. If the query for $b$ scores $a$ negatively, both heads return $v_a$ for $\ell < 0$.
# *Equal* queries, described truthfully: full points. Common wrong reasons, each costs its third: fluctuations cancel on
# averaging; the vector is split among the heads; each head attends to both keys; a longer $k_a$ moves the output towards $v_a$.

# %% [markdown]
# The next figure counts all draws, also those with $\ell < 0$. *Predict* whether longer queries help the single head; then
# change $t$ and the variance of $\ell$.

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
# the middle. The reason is a derivative: a weight $w$ with the score $t\ell$ changes with $\ell$ at the rate $t\,w(1-w)$. This
# rate grows with $t$; it is largest at $w = \frac12$, in a tie, and small where one key has nearly all of the weight.
#
# **A good place for a pause.** The second half divides scores by $\sqrt d$, makes every key random, and computes what the second
# head gains.

# %% [markdown]
# ### 4.4
#
# **Given** that now *every* key $k_i = \lambda_i\mu_i$ has its own random length $\lambda_i \sim \mathcal N(1, \frac14)$,
# and that scores are **divided by $\sqrt d$**. **Find** two queries with $c \approx \frac12(v_a + v_b)$. When all lengths
# are 1, at most 1% of the weight may be in the wrong place. In at least 85% of the draws with $\lambda_a, \lambda_b > 0$,
# this share may be at most 5%. **Form:** `scaled_two_head_queries(means, a, b)`, returning `(q1, q2)`. If your queries fail
# in the random draws, the check tries them once more, ten times as long.
#
# *Predict:* now the *other* keys can change their sign, too. Do you need another design than in 4.2, or only other lengths?


# %% answer="4.4"
# my prediction: ...
def scaled_two_head_queries(means, a, b):
    """The same under division by sqrt(d), every key of random length. means: (n, d)."""
    # BEGIN SOLUTION
    length = 30 * np.sqrt(means.shape[1])
    return length * means[a], length * means[b]
    # END SOLUTION


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
    scaled["two heads, negative scores"] = 30 * (
        np.eye(n)[[a, b]] - 1
    )  # 0 on one key, -30 on others
series = {name: [share_near(scores, v) for v in variances] for name, scores in scaled.items()}
label = {"xlabel": "variance of the lengths", "ylabel": "share of good draws"}
plots.curves(variances, series, log="x", **label)

# %% [markdown]
# This figure counts all draws, also those with negative lengths. The single head, which scores 30 on both keys, fails as
# soon as the lengths differ by a few per cent, because two random lengths are hardly ever equal. (Some published solutions
# claim that one head still gives the average here.) The third curve belongs to heads that score 0 on one key and $-30$ on
# all others. They fail in more draws at larger variances: if the length of any *other* key is negative, that key scores
# high and gets all the weight.

# %% [markdown]
# ### 4.5
#
# **Given** orthonormal values, a length $\ell \sim \mathcal N(1, \beta)$, and very long queries. One head returns $v_a$ or
# $v_b$ with probability $\frac12$ each. In a pair with one query for each key, one head always returns $v_b$. The other
# head returns $v_a$ if $\ell > 0$, and the mean of the $n - 1$ other values if $\ell < 0$. The probability of $\ell > 0$ is
# $P = \frac12\big(1 + \text{erf}\frac1{\sqrt{2\beta}}\big)$. **Find** the variance of $c$ with two heads, divided by the
# variance of $c$ with one head. **Form:** a derivation `ratio`. Its first line and the value of the symbol $P$ are given.
# Its last line contains only $n$ and $\beta$, and erf occurs there once.

# %% [markdown]
# Where the first line comes from: the variance of a random vector is its mean squared distance from its mean. If a vector
# takes one of two values with probabilities $P$ and $1 - P$, this is $P(1-P)^2 + (1-P)P^2$ times the squared distance of
# the two values. For one head $P = \frac12$, so its variance is $\frac14$ of the squared distance
# $\lVert v_a - v_b\rVert^2$, which is 2. In a pair the two values are $v_a$ and the mean of $n - 1$ other values, which is
# orthogonal to $v_a$ and has the squared length $\frac1{n-1}$; so by Pythagoras their squared distance is
# $1 + \frac1{n-1} = \frac n{n-1}$. The head that always returns $v_b$ adds no variance. The other head enters $c$ with the
# factor $\frac12$, so a quarter of its variance remains.

# %% answer="4.5"
n_ = sp.Symbol("n", integer=True, positive=True)
beta, P = sp.symbols("beta P", positive=True)
one_head = sp.Rational(1, 4) * 2
two_heads = sp.Rational(1, 4) * (P * (1 - P) ** 2 + (1 - P) * P**2) * n_ / (n_ - 1)

ratio = derive(
    (two_heads / one_head, "mean squared distances"),
    # BEGIN SOLUTION
    (n_ / (2 * (n_ - 1)) * P * (1 - P), "$P (1 - P)$ is common, and the rest is one"),
    (
        n_ / (8 * (n_ - 1)) * (1 - sp.erf(1 / sp.sqrt(2 * beta)) ** 2),
        "$P$ put in: sum times difference",
    ),
    # END SOLUTION
    where={P: (1 + sp.erf(1 / sp.sqrt(2 * beta))) / 2},
)
ratio

# %% check="4.5"
check("4.5", ratio)

# %% [markdown]
# The ratio holds for very long queries. The cell compares it with the ratio that your own queries have at $t = 200$, and counts
# how often the output misses the average at several lengths. *Predict:* do the misses become fewer with longer queries, for
# one head and for two?

# %%
# my prediction, one head and two heads: ...
found = [weights_over(ell, 200 * scores).var(0).sum() for scores in designs.values()]
if check("4.5", ratio) and "your two heads" in designs:
    exact = float(ratio.end.subs({n_: n, beta: 1 / 2}))
    print(
        f"variance of two heads over one: derived {exact:.4f}, simulated {found[-1] / found[0]:.4f}"
    )
    if abs(found[-1] / found[0] - exact) > 0.2 * exact:
        print(
            "the derived ratio is that of one query for each key; your pair depends less on ℓ, or more"
        )
for t in (10, 20, 40, 80):
    misses = []
    for name, scores in designs.items():
        off = np.abs(weights_over(ell[ell > 0], t * scores)[:, a] - 0.5) > 0.05
        misses.append(f"{name} {off.mean():.3f}")
    print(f"t = {t}: misses among the draws with ℓ > 0:", ", ".join(misses))

# %% [markdown]
# A single head misses the average almost always, and longer queries make it worse. A pair with one query for each key
# misses the average about half as often if its queries are twice as long. Other pairs that pass 4.2 may never miss it once
# they are long enough.

# %% [markdown]
# ## Common mistakes
#
# - "The fluctuations of the two heads partly cancel in the average." Two heads that fluctuate *independently* would have half
#   the variance of one. The next cell prints the variance of your pair.
# - "A longer $k_a$ moves the output towards $v_a$." A longer $k_a$ moves only the output of the single head.
# - "A copying head gives its key weight one, whatever the key's length." The last line of the cell uses the query of
#   notebook 01 with $t = 20$, $d = 64$ and eight keys: a copied key of length $\lambda$ has the score
#   $20\lambda/\sqrt{64}$.

# %%
one = 20 * designs["one head"]
for name, scores in designs.items():
    share = weights_over(ell, 20 * scores)[:, a].var() / weights_over(ell, one)[:, a].var()
    stretched = weights_over(np.array([0.5, 1, 2, 4]), 20 * scores)[:, a].round(3)
    print(f"{name}: {share:.3f} times the variance; weight on v_a at ℓ = 0.5, 1, 2, 4 {stretched}")
copied = [softmax(np.r_[20 * length / 8, np.zeros(7)])[0].round(3) for length in (1.0, 0.1, -0.5)]
print("copying at λ = 1, 0.1, -0.5: weights", *copied)

# %% [markdown] only="solution"
# ## The exact law of two heads
#
# In head 1 the log-odds of $a$ are $t\ell - \log(n-1)$, which are normal with variance $t^2/2$. The weight of $a$ is below 0.9
# when $\ell < (\log(n-1) + \log 9)/t$. Among the draws with $\ell > 0$ the probability of this falls like $1/t$, so the
# last column tends to a constant. Of *all* draws, 7.86% always fail. And *equal* queries, which are right in 4.1, have the same
# fluctuation in both heads, so their average has all of it, as the last two lines show.


# %% only="solution"
def below(x):
    """Probability that ell is below x."""
    return (1 + erf(x - 1)) / 2


many = 1 + sqrt(1 / 2) * rng.normal(size=200_000)
for t in (10, 20, 50, 100, 1000):
    exactly = 1 - (1 - below((np.log(n - 1) + np.log(9)) / t)) / (1 - below(0))
    weight = weights_over(many[many > 0], t * np.eye(n)[[a]])[:, a]
    width = 2.58 * sqrt(exactly * (1 - exactly) / len(weight))
    found = f"{(weight < 0.9).mean():.4f} ± {width:.4f} (99%)"
    print(f"t = {t:4}  fails {exactly:.4f}, simulated {found}, t times exact {t * exactly:.3f}")
double = weights_over(ell, np.repeat(one, 2, axis=0))[:, a]
print(f"equal queries: {double.var() / weights_over(ell, one)[:, a].var():.3f} times the variance")
print(f"within 0.05 of one half in {(np.abs(double - 0.5) < 0.05).mean():.3f} of the draws")

# %% [markdown]
# ## Summary
#
# 1. Averaging the outputs of two heads averages their weights (1); many pairs of weights have the average that 4.1 asks for.
# 2. Noise that breaks a *tie* hardly changes a head in which one key has a *lead*. This lead makes the output stable; the
#    averaging alone does not.
# 3. With one query for each key, the share of draws that fail falls like $1/t$, except for the draws in which the key points
#    backwards.

# %% [markdown]
# ## Without notes
#
# 1. Why does averaging two outputs average the weights?
# 2. Which pairs of weights solve 4.1, and which of them also pass 4.2?
# 3. At which value does a weight change most when its score changes?
# 4. Which draws fail however long the queries are, and what share of all draws are they?
# 5. How large would the variance be for two heads with the same tie and independent noise?

# %% [markdown]
# <details><summary>Short answers to these questions</summary>
#
# 1. The output is linear in the weights.
# 2. Every pair whose average is one half on $a$ and on $b$; 4.2 accepts those of them whose weights hardly change with
#    $\ell$: in each head one key has a clear lead, or $a$ scores 0.
# 3. At one half.
# 4. Those with $\ell < 0$, almost 8% of all draws, if one head looks at $a$ and the other at $b$.
# 5. Half of the variance of a single head.
#
# </details>

# %% [markdown]
# **Next:** [05, keys, queries, values](05_keys_queries_values.ipynb), makes keys, queries and values from the same tokens.
#
# **References.** Vaswani et al. (2017), [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), many heads; Michel, Levy and Neubig
# (2019), [arXiv:1905.10650](https://arxiv.org/abs/1905.10650), how many are needed; Voita et al. (2019),
# [arXiv:1905.09418](https://arxiv.org/abs/1905.09418), what single heads specialise in.
