# %% [markdown]
# # Copying
#
# > When does a soft look-up return one value, as if it had been picked by hand?
#
# *56 min, needs 00*
#
# After this notebook you can
#
# - **prove** that attention weights are a distribution, and **implement** them for scores far beyond what `exp` can take,
# - **derive** how much weight a key gets from its lead over the others, and how far the output is from a copy,
# - **design** a query that copies a chosen value, and say how large it must be.

# %%
import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_utils import attend, softmax

rng = np.random.default_rng(1)

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$ | the query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what it offers | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $s_i = k_i^\top q$ | the score of item $i$ | $(n,)$ | `scores` |
# | $\alpha_i$ | the weight of item $i$ | $(n,)$ | `weights` |
# | $c$ | the context: the output | $(d_v,)$ | `context` |
# | $\Delta = s_j - \max_{i \ne j} s_i$ | the gap: the lead of item $j$ | number | `gap` |
# | $Z = \sum_h e^{s_h}$ | what the exponentials are divided by | number | `Z` |
# | $t$ | how many times $k_j$ a query is | number | |
# | $\varepsilon$ | a share of the weight, allowed on other keys | number | `epsilon` |
#
# You met all of this in [00](00_start_here.ipynb); now it gets letters.

# %% [markdown]
# ## The definition
#
# Attention turns scores into weights with the *softmax* and returns the weighted average of the values:
#
# $$\alpha_i = \frac{e^{s_i}}{\sum_{h=1}^{n} e^{s_h}}, \qquad c = \sum_{i=1}^{n} \alpha_i v_i . \tag{1}$$
#
# Here it is on four keys, the scores left as they are (`scale=1.0`); later notebooks divide them by $\sqrt d$.
# The query points along key 0, whose value is 1. *Predict* the context when the query is 1, 4 and 16 times that key,
# and write it into the first line of the cell.

# %%
# my prediction for 1, 4, 16 times key 0: ...
keys = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
values = np.array([[1.0], [2.0], [3.0], [4.0]])
groups = {}
for length in (1, 4, 16):
    context, weights = attend(length * keys[:1], keys, values, scale=1.0)
    groups[f"query {length} k₀"] = weights[0]
    print(f"query {length:2d} times key 0: context {context[0, 0]:.4f}")
plots.bars(groups, title="the same direction, three lengths")

# %% [markdown]
# The direction never changes, and yet the output moves from a blend of everything almost to the first value. The
# length of the query decides how sharply it looks; key 1, which leans towards key 0, is the last to let go. If you
# predicted 1.0000 for the longest query, you were nearly right: what is missing is the share of key 1.
#
# Length and direction together are a place in the plane, and every place can be coloured by the key that wins there.
# Here are five other keys: four point to the sides, and key 4 lies *between* them. *Predict* how much land key 4 owns;
# then drag the query, and that key.

# %%
# my prediction, the land of key 4: ...
land = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.3, 0.2]])
plots.query_plane(land, query=(2.6, -1.0), hull=True, land=True, title="who wins where")

# %% [markdown]
# None. A key inside the *hull* of the others, the dotted outline, never wins: some other key reaches further in the
# direction of the query. Pull it out across the outline, and a sector opens for it. A long query in that sector copies
# its value; a query on a dashed border never decides.

# %% [markdown]
# ### 1.1
#
# **Given** scores $s_1, \dots, s_n$, the number $Z = \sum_h e^{s_h}$, and the weights $\alpha_i = e^{s_i}/Z$. **Prove** that
# they are a distribution: all together 1, each above 0. **Form:** two chains. `sum_of_weights` goes from $\sum_i \alpha_i$
# to 1. `one_weight` goes from $\alpha_j$ to 0, with `(">", expression, reason)`; one line may do. $s_i$ is `s[i]`.

# %% answer="1.1 derive"
s = sp.IndexedBase("s")
h, i, j, n = sp.symbols("h i j n", integer=True, positive=True)
Z = sp.Symbol("Z", positive=True)
all_powers = sp.Sum(sp.exp(s[h]), (h, 1, n))

sum_of_weights = derive(
    (sp.Sum(sp.exp(s[i]) / Z, (i, 1, n)), "definition"),
    # BEGIN SOLUTION
    (sp.Sum(sp.exp(s[i]), (i, 1, n)) / Z, "Z is the same in every term"),
    (1, "that sum is Z, whatever its index is called"),
    # END SOLUTION
    where={Z: all_powers},  # Z is the sum
)
one_weight = derive(
    (sp.exp(s[j]) / Z, "definition"),
    # BEGIN SOLUTION
    (">", 0, "an exponential is positive, and so is a sum of them"),
    # END SOLUTION
    where={Z: all_powers, j: (1, n)},
)
display(sum_of_weights, one_weight)

# %% check="1.1 derive"
check("1.1", sum_of_weights, one_weight)

# %% [markdown]
# Now compute them. **Given** a query, keys, and a number `scale` that multiplies every score. **Compute** the weights of
# equation (1), for scores up to 10,000 in size, without overflow and without a warning. **Form:**
# `attention_weights(query, keys, scale=1.0)`, returning $n$ numbers.
#
# *Predict:* from which score on does `np.exp` give infinity? And can a computed weight be exactly zero, although your
# second chain says that none is? The last cell of the common mistakes answers both.


# %% answer="1.1 code"
# my prediction, np.exp is infinite from: ...
def attention_weights(query, keys, scale=1.0):
    """The weight of every key. query: (d,), keys: (n, d) -> (n,)."""
    # 1. the scores, (n,)
    # 2. weights that sum to one, computed so that nothing overflows
    # BEGIN SOLUTION
    scores = scale * (keys @ query)
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()
    # END SOLUTION


# %% check="1.1 code"
check("1.1", attention_weights)

# %% [markdown]
# ### 1.2
#
# **Given** that key $j$ scores $s$ (short for $s_j$), and that the best of its $n-1$ rivals scores exactly $\Delta$ less. The sum of the
# rivals' exponentials, $R = \sum_{i\ne j} e^{s_i}$, is at most $(n-1)\,e^{s-\Delta}$ (all rivals at the gap) and at least
# $e^{s-\Delta}$ (nearly reached when all but one are far below). **Find** the best lower and the best upper bound on the
# weight of key $j$ in terms of $\Delta$ and $n$ alone.
# **Form:** two chains, `at_least` and `at_most`, each from the definition, with an inequality written as
# `(">=", expression, reason)` or `("<=", expression, reason)`.

# %% answer="1.2"
s, gap, R = sp.symbols("s gap R", positive=True)
n = sp.Symbol("n", integer=True, positive=True)
weight = sp.exp(s) / (sp.exp(s) + R)
rivals = {R: (sp.exp(s - gap), (n - 1) * sp.exp(s - gap))}  # where R lies

at_least = derive(
    (weight, "definition"),
    # BEGIN SOLUTION
    (1 / (1 + R * sp.exp(-s)), "divide above and below by $e^s$"),
    (">=", 1 / (1 + (n - 1) * sp.exp(-gap)), "R is largest when every rival is at the gap"),
    # END SOLUTION
    where=rivals,
)
at_most = derive(
    (weight, "definition"),
    # BEGIN SOLUTION
    (1 / (1 + R * sp.exp(-s)), "divide above and below by $e^s$"),
    ("<=", 1 / (1 + sp.exp(-gap)), "R is smallest when only one rival is at the gap"),
    # END SOLUTION
    where=rivals,
)
display(at_least, at_most)

# %% check="1.2"
check("1.2", at_least, at_most)

# %% [markdown]
# The picture draws the weight by brute force, with all rivals exactly at the gap. *Predict* how the curves for 1, 10, 100
# and 1000 rivals differ: in shape, in steepness, in place?

# %%
# my prediction: ...
gaps = np.linspace(0, 14, 141)
series = {}
for count in (1, 10, 100, 1000):
    weights = softmax(np.c_[gaps, np.zeros((len(gaps), count))])  # (141, 1 + count)
    series[f"rivals: {count}"] = weights[:, 0]
label = {"xlabel": "gap", "ylabel": "weight of key j", "title": "the lead that copying needs"}
plots.curves(gaps, series, **label)

# %% [markdown]
# All curves have the same shape, moved to the right: each factor of ten in the number of rivals costs the same extra
# lead. A gap of 5 copies against one rival and fails against a thousand. With some rivals further below, the weight is
# between the curves for their number and for one.
#
# ### 1.3
#
# **Given** the scores of all keys and an index $j$. **Decide** whether attention returns (almost) $v_j$.
# **Form:** `copies(scores, j)`, returning `True` or `False`. No case is near the border: any sensible threshold passes.
#
# *Predict:* do scores $(0.02, 0.0001, 0.0001)$ copy the first value? Do $(1000, 990, 990)$? Does a 9 against one
# rival at 0? Against a thousand?


# %% answer="1.3"
# my predictions, yes or no: ...
def copies(scores, j):
    """Whether the output is almost exactly the value of item j. scores: (n,)."""
    # BEGIN SOLUTION
    rest = np.exp(np.delete(scores, j) - scores[j]).sum()
    return bool(rest < 0.01)
    # END SOLUTION


# %% check="1.3"
check("1.3", copies)

# %%
settings = {
    "0.02 against 2 rivals at 0.0001": [0.02] + [0.0001] * 2,
    "1000 against 2 rivals at 990": [1000.0] + [990.0] * 2,
    "9 against 1 rival at 0": [9.0, 0.0],
    "9 against 1,000 rivals at 0": [9.0] + [0.0] * 1000,
    "9 against 50,000 rivals at 0": [9.0] + [0.0] * 50_000,
}
found = [softmax(np.array(scores))[0] for scores in settings.values()]
for number, name in enumerate(settings, 1):
    print(f"{number}: {name}")
plots.bars(found, range(1, 6), xlabel="setting", ylabel="weight of the first value")

# %% [markdown]
# A ratio of 200 to one is nothing, a lead of ten out of a thousand is everything: the softmax sees *differences*. And the
# same lead of 9 copies against one rival, wavers against a thousand and is lost in a crowd of fifty thousand.
#
# ### 1.4
#
# **Given** keys that are linearly independent, and nothing more: they may lean on each other and differ in length.
# **Find** a query that puts at least 99% of the weight on key $j$. **Form:** `copy_query(keys, j)`, returning $d$
# numbers.
#
# *Predict:* does a long query in the direction of $k_j$ do it? The figure after the check answers.


# %% answer="1.4"
# my prediction: ...
def copy_query(keys, j):
    """A query that copies item j. keys: (n, d), linearly independent -> (d,)."""
    # 1. choose the scores you want, (n,)
    # 2. find a query that has them
    # BEGIN SOLUTION
    wanted = np.zeros(len(keys))
    wanted[j] = 10 + np.log(len(keys))
    return np.linalg.lstsq(keys, wanted, rcond=None)[0]
    # END SOLUTION


# %% check="1.4"
check("1.4", copy_query)


# %%
def draw(angle, length):
    """Key 1 turns and stretches; the query stays along key 0."""
    turned = length * np.array([np.sin(np.radians(angle)), np.cos(np.radians(angle))])
    pair = np.array([[0.0, 1.0], turned])
    shadow = turned * [0.0, 1.0]  # what of key 1 lies along the query
    left, right = plots.panels(2)
    named = {"query / 2": 4 * pair[0], "its shadow": shadow, "key 0": pair[0], "key 1": turned}
    colours = {"key 0": 0, "key 1": 1, "its shadow": 3}
    plots.arrows(named, limit=4.6, colours=colours, dashed=[(turned, shadow)], ax=left)
    left.limits(x=(-1.6, 4.6))  # key 1 never turns to the left
    plots.bars(softmax(pair @ (8 * pair[0])), title="weights of the query 8 k₀", ax=right)


plots.explore(draw, angle=(0, 180, 60), length=(0.2, 4.0, 3.0))

# %% [markdown]
# The query points exactly along key 0, and key 1, three times as long and 60° away, takes almost everything. A score is the
# length of the key's *shadow* on the query, times the length of the query. Turn key 1 until its shadow is shorter than
# key 0, and key 0 wins again.
#
# ### 1.5
#
# **Given** that every other score is at least `gap` below $s_j$, that there are $n$ items, and that no value is
# further than `diameter` from $v_j$. **Find** the tight bound on $\lVert c - v_j \rVert$: never exceeded, and reached
# by some choice of scores and values. **Form:** `copy_error_bound(gap, n, diameter)`, returning a number.


# %% answer="1.5"
def copy_error_bound(gap, n, diameter):
    """The largest possible distance of the output from v_j."""
    # BEGIN SOLUTION
    rest = (n - 1) * np.exp(-gap)
    return diameter * rest / (1 + rest)
    # END SOLUTION


# %% check="1.5"
check("1.5", copy_error_bound)

# %% [markdown]
# Fifteen hundred random settings with ten items, every other value at distance 1 from $v_j$; your bound joins in once
# it is right. *Predict:* do the points touch it?

# %%
# my prediction: ...
spread = rng.uniform(0, 12, 1500)  # the gap of each random trial
scores = np.c_[spread, np.zeros(1500), -rng.exponential(2, (1500, 8))]  # (1500, 10)
points = rng.normal(size=(1500, 10, 3))
points /= np.linalg.norm(points, axis=-1, keepdims=True)
points[:, 0] = 0  # v_j is the origin
distance = np.linalg.norm(np.einsum("bn,bnd->bd", softmax(scores), points), axis=-1)
label = {"xlabel": "gap", "ylabel": "distance of c from v_j"}
ax = plots.scatter(np.c_[spread, distance], label="random settings", colour=5, log="y", **label)
ax.limits(y=(1e-6, 3))
if check("1.5", copy_error_bound):
    bound = np.ravel([copy_error_bound(gap, 10, 1.0) for gap in gaps])
    plots.curves(gaps, {"your bound": bound}, ax=ax, **label)

# %% [markdown]
# Points and bound fall together, but no point gets there: most rivals are lower than they may be, and values pull in
# different directions. Tight means that *some* setting does: which?
#
# ### 1.6
#
# **Given** $n \ge 2$ orthonormal keys in $d$ dimensions (at right angles, each of length one), scores *divided by*
# $\sqrt d$, and the query $t\,k_j$. **Find** the smallest $t$ that leaves at most a share $\varepsilon < \frac{n-1}{n}$ of the
# weight on the other keys. **Form:** `copy_sharpness(n, d, epsilon)`, returning a number.
#
# *Predict:* with a hundredth left elsewhere, going from 100 keys to 10,000, does $t$ grow by a factor of 100, of 10, or of
# less than 2?


# %% answer="1.6"
# my prediction: ...
def copy_sharpness(n, d, epsilon):
    """The smallest t for which the query t k_j copies up to epsilon."""
    # BEGIN SOLUTION
    return np.sqrt(d) * np.log((n - 1) * (1 - epsilon) / epsilon)
    # END SOLUTION


# %% check="1.6"
check("1.6", copy_sharpness)

# %%
multiples = np.linspace(0, 120, 121)
series = {}
for d in (16, 64, 256):
    scores = np.c_[multiples / np.sqrt(d), np.zeros((121, 15))]  # (121, 16)
    series[f"d = {d}"] = softmax(scores)[:, 1:].sum(-1)
label = {"xlabel": "multiple t", "ylabel": "weight left elsewhere", "title": "16 orthonormal keys"}
plots.curves(multiples, series, **label)
if check("1.6", copy_sharpness):
    few, many = (np.ravel(copy_sharpness(n, 16, 0.01))[0] for n in (100, 10_000))
    print(f"100 keys: t = {few:.1f}; 10,000 keys: t = {many:.1f}, {many / few:.2f} times as much")

# %% [markdown]
# The same query is sharp in 16 dimensions and blurred in 256; each curve is the one before, stretched twofold. Division
# by the root of the width keeps random scores in range (notebook 06 measures why), and a copy has to pay it back. The
# printed line answers your prediction.
#
# ### 1.7
#
# **Given** all of the above. **Say** in three or four sentences what must hold of the query and the keys for the output to
# be almost $v_j$, what (if anything) must hold of the values, and why this is called copying. **Form:** words; a formula is
# welcome, not needed.

# %% [markdown] written="1.7"
# The score of key $j$ must exceed **every** other score by a clear **difference**: $\log n + \log\frac1\varepsilon$ is
# enough to leave a share $\varepsilon$ elsewhere, less if there are few serious rivals. Then $\alpha_j$ is almost one
# and the others together almost nothing, so $c = \sum_i \alpha_i v_i$ is almost $v_j$: off by at most the leftover
# times the distance of the farthest value. Nothing else is asked of the values. It is called copying because the output
# is the stored value itself, unchanged by the others, as if it had been read at an address.

# %% [markdown] rubric="1.7"
# **Rubric.** ⅓ the score of $j$ leads all others by a *difference* (not a ratio, sign or angle) · ⅓ therefore its weight
# is near one, the rest *together* near zero (or: the lead must grow with $\log n$) · ⅓ the output is then that value,
# whatever the other values are (*bounded* values are fine). Not needed: proofs, the converse (a
# $v_j$ that is a mixture of others can come out without its weight). "Much larger" counts as a difference unless a ratio is
# meant. Common wrong reasons: the query is aligned with $k_j$ (length counts too); the other keys oppose the query (neither
# needed nor enough); the *key* is higher (its score is); the *data* are concentrated (the weights are).

# %% [markdown]
# ## Common mistakes
#
# Each of the first four is often written down as the condition for copying; the number refutes it. Nor are such conditions
# *needed*: in the last three every key agrees with the query, or every key opposes it, or the ratio of the scores is next to
# one, and the first value is copied all the same.

# %%
claims = {
    "a score 200 times the others": [0.02, 0.0001, 0.0001],
    "the others oppose the query": [0.1, -0.1, -0.1],
    "a positive score, the others negative": [1.0, -0.5, -0.5, -0.5, -0.5],
    "a lead of 5, whatever the number": [5.0] + [0.0] * 2000,
}
for claim, scores in claims.items():
    print(f"{claim:40} weight {softmax(np.array(scores))[0]:.3f}")
for scores in ([300.0, 100.0, 100.0], [-100.0, -200.0, -200.0], [1000.0, 990.0, 990.0]):
    print(f"scores {scores!s:25} weight {softmax(np.array(scores))[0]:.5f}")

# %% [markdown]
# "The query is aligned with the key" fails twice: a short aligned query hardly looks at all, and an aligned key loses
# to a longer one at an angle. And one key can never be copied, whatever the query: one that lies between others.
#
# Last, "weights lie between 0 and 1, ends included": $e^s$ is *positive*, so with two keys or more no weight is ever 0
# or 1: your second chain. What prints as 0 or 1 has been rounded.

# %%
short = softmax(np.eye(3) @ (0.001 * np.eye(3)[0]))[0]
longer = softmax(np.array([1.0, 10 * np.cos(np.pi / 3)]))[0]  # a rival at 60°, ten times as long
between = max(softmax(q * np.array([1.0, -1.0, 0.0]))[2] for q in np.linspace(-50, 50, 2001))
print(f"aligned, short: {short:.4f}   aligned, rival longer: {longer:.3f}   between: {between:.4f}")
print("scores 0, -40, -800:", softmax(np.array([0.0, -40.0, -800.0])))
with np.errstate(over="ignore"):
    print("exp(709) is finite:", np.isfinite(np.exp(709.0)), " exp(710):", np.exp(710.0))

# %% [markdown]
# ## Summary
#
# 1. Weights are a distribution, each above zero, fixed by score *differences* (1).
# 2. A lead well above the logarithm of the number of rivals is always enough to take nearly all the weight.
# 3. The output is then within a known distance of that key's value, wherever the other values are.

# %% [markdown]
# ## Without notes
#
# 1. Why does adding 100 to every score change nothing?
# 2. Which is sharper: scores $(3, 1)$ or $(103, 102)$?
# 3. How does the lead that is always enough change when the number of keys is squared?
# 4. Can the output equal $v_j$ although $\alpha_j$ is almost zero?
# 5. What must be true of $k_j$ for *some* query to copy it?
#
# **Next:** [02, the average of two](02_average_of_two.ipynb), asks one query to look at two things at once.
#
# **References.** Bahdanau, Cho and Bengio (2015), the first attention of this kind; Vaswani et al. (2017), the
# division by $\sqrt d$; Graves, Wayne and Danihelka (2014), addressing a memory by content.
