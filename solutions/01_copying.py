# %% [markdown]
# # Copying
#
# > When does attention return one single value, as if it had been picked by hand?
#
# *97 min, needs 00; a pause is marked in the middle*
#
# After this notebook you can
#
# - **prove** that attention weights are a distribution, and **compute** them for scores so large that `exp` overflows,
# - **derive** how much weight a key gets from its lead over the others, and how far the output is from a copy,
# - **design** a query that copies a chosen value, and say how long it must be.

# %%
import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_course.translation.sentence_maps import recorded_map
from attn_utils import attend, softmax

# %% [markdown]
# ## Which row copies?
#
# Here is the map of [00](00_start_here.ipynb) once more. Each row shows how one English word divided its attention among
# the German words. If a row gave all of its weight to one German word, the output of that row would be the value of that
# word, unchanged: attention would *copy* it. *Predict* which row comes closest to copying, and which is furthest from it.
# (If you follow the path of 90 minutes that 00 describes, answer only the code of 1.1, then 1.3, 1.4 and 1.7.)

# %%
# my prediction, the closest and the furthest row: ...
found = recorded_map("hat")
axes = {"xlabel": "German, read", "ylabel": "English, written", "numbers": False}
plots.attention_map(found.weights, found.english, found.german, title="which row copies?", **axes)
for word, german, weight in found.strongest():
    print(f"{word:10} gives {weight:.2f} of its weight to {german}")

# %% [markdown]
# No row copies exactly, but some come close. This notebook asks which queries and keys make one weight almost 1, and how far
# the output is then from a copy.
#
# ## Notation
#
# <!-- notation -->
#
# The new letters are explained again at their first use.
#
# ## The definition
#
# Attention turns scores into weights with the *softmax* and returns the weighted average of the values:
#
# $$\alpha_i = \frac{e^{s_i}}{\sum_{h=1}^{n} e^{s_h}}, \qquad c = \sum_{i=1}^{n} \alpha_i v_i . \tag{1}$$
#
# The cell below computes both for four keys. The scores are left as they are (`scale=1.0`); later notebooks divide them by
# $\sqrt d$. The query points along key 0, whose value is 1. *Predict* the context when the query is 1, 4 and 16 times key
# 0.

# %%
# my prediction for 1, 4, 16 times key 0: ...
keys = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
values = np.array([[1.0], [2.0], [3.0], [4.0]])
for length in (1, 4, 16):
    context, weights = attend(length * keys[0], keys, values, scale=1.0)
    print(f"query {length:2d} times key 0: context {context[0]:.4f}, weights {weights.round(3)}")

# %% [markdown]
# The direction never changes, and yet the output moves from a blend of all values almost to the first value: the longer the
# query, the more sharply it distinguishes the keys. Key 1, which points nearly in the direction of key 0, keeps its weight
# longest.
#
# A query with two coordinates is a point of the plane. In the next figure each point has the colour of the key that gets the
# largest weight there. The figure has five new keys: keys 0 to 3 point to the four sides, and key 4 lies *between* them.
# *Predict* in which part of the plane key 4 wins; then drag the query, and drag key 4.

# %%
# my prediction, where key 4 wins: ...
land = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0], [0.3, 0.2]])
plots.query_plane(land, query=(2.6, -1.0), hull=True, land=True, title="who wins where")

# %% [markdown]
# Nowhere. A key inside the *convex hull* of the others (the dotted outline) never wins: whatever the direction of the query
# is, some other key has a larger score. Pull key 4 out across the outline, and a sector opens in which it wins. A long
# query inside that sector copies the value of key 4; a query on a dashed border never copies, however long it is.

# %% [markdown]
# ### 1.1
#
# **Given** scores $s_1, \dots, s_n$, the sum $Z = \sum_h e^{s_h}$, and the weights $\alpha_i = e^{s_i}/Z$. **Prove** that the
# weights are a distribution: their sum is 1, and each is above 0. **Form:** two derivations. `sum_of_weights` goes from
# $\sum_i \alpha_i$ to 1. `one_weight` goes from $\alpha_j$ to 0. A line `(">", expression, reason)` says that the line before
# it is greater than this expression; one such line is enough here. In code, $s_i$ is `s[i]`, and `where={Z: all_powers}` says
# that $Z$ is the sum of all exponentials.

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
# Now compute the weights. **Given** a query, keys, and a positive number `scale` that multiplies every score. **Compute**
# the weights of equation (1) without overflow and without a warning. The scores may be any numbers from -10,000 to 10,000.
# **Form:** `attention_weights(query, keys, scale=1.0)`, returning $n$ numbers.
#
# *Predict:* from which score on does `np.exp` return infinity? And can a computed weight be exactly zero, although you have
# just proved that every weight is above zero? The last lines under *Common mistakes* show both answers.


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
# **Given** that key $j$ has the score $s$ (short for $s_j$), and that the best of its $n-1$ rivals scores exactly $\Delta$ less.
# Let $R = \sum_{i\ne j} e^{s_i}$ be the sum of the rivals' exponentials. The best rival alone contributes $e^{s-\Delta}$, so
# $R$ is at least $e^{s-\Delta}$. No rival contributes more, so $R$ is at most $(n-1)\,e^{s-\Delta}$. **Find** the best lower
# bound and the best upper bound on the weight of key $j$ that contain only $\Delta$ and $n$. **Form:** two derivations,
# `at_least` and `at_most`, each from the definition, with a line `(">=", expression, reason)` or `("<=", expression, reason)`.
# The range of $R$ stands in `where`.

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
# In the figure all rivals score exactly $\Delta$ less than key $j$. This gap is also called the *lead* of key $j$.
# *Predict* how the curves for 1, 10, 100 and 1000 rivals differ: in shape, in steepness, or only in position?

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
# All curves have the same shape and are only shifted to the right: ten times as many rivals always need the same additional
# lead. A gap of 5 is enough against one rival, but not against a thousand.

# %% [markdown]
# ### 1.3
#
# **Given** the scores of one or more keys and an index $j$. **Decide** whether attention returns almost exactly $v_j$, that is,
# whether the weight of key $j$ is almost 1. **Form:** `copies(scores, j)`, returning `True` or `False`. In the cases that the
# check tries, this weight is either at most 0.8 or at least 0.9999, so the exact threshold does not matter.
#
# *Predict* whether the first value is copied in each of four cases: the scores are $(0.02, 0.0001, 0.0001)$; they are
# $(1000, 990, 990)$; the first score is 9 and one rival scores 0; the first score is 9 and a thousand rivals score 0.


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
    "0.02 against\n2 rivals\nat 0.0001": [0.02] + [0.0001] * 2,
    "1000 against\n2 rivals\nat 990": [1000.0] + [990.0] * 2,
    "9 against\n1 rival\nat 0": [9.0, 0.0],
    "9 against\n1,000 rivals\nat 0": [9.0] + [0.0] * 1000,
    "9 against\n50,000 rivals\nat 0": [9.0] + [0.0] * 50_000,
}
found = [softmax(np.array(scores))[0] for scores in settings.values()]
plots.bars(found, list(settings), xlabel="score of the first item", ylabel="weight of its value")

# %% [markdown]
# The softmax depends only on *differences* of scores. A score of 0.02 is 200 times as large as its rivals, and yet it
# copies nothing. A score of 1000 has a lead of 10 over rivals at 990, and it copies almost perfectly. A lead of 9 copies
# against one rival; against a thousand rivals it gets most of the weight, and against fifty thousand only a small part of
# it.
#
# **Pause.** This is about the middle of the notebook and a good place to stop for a break. From here on you need two results:
# weights depend on differences of scores, and a key copies when its lead is large enough for the number of its rivals.

# %% [markdown]
# ### 1.4
#
# **Given** linearly independent keys, which need not be orthogonal and may differ in length; there are between 1 and 100 of
# them. **Find** a query that puts at least 99% of the weight on key $j$. **Form:** `copy_query(keys, j)`, returning $d$
# numbers.
#
# *Predict:* is a long query in the direction of $k_j$ enough? The figure after the check shows the answer.


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
    shadow = turned * [0.0, 1.0]  # the projection of key 1 onto the query
    left, right = plots.panels(2)
    named = {"query / 2": 4 * pair[0], "projection": shadow, "key 0": pair[0], "key 1": turned}
    colours = {"key 0": 0, "key 1": 1, "projection": 3}
    plots.arrows(named, limit=4.6, colours=colours, dashed=[(turned, shadow)], ax=left)
    left.limits(x=(-3.2, 4.6))  # key 1 never turns to the left
    plots.bars(softmax(pair @ (8 * pair[0])), title="weights of the query 8 k₀", ax=right)


plots.explore(draw, angle=(0, 180, 60), length=(0.2, 4.0, 3.0))

# %% [markdown]
# The query points along key 0, and yet key 1, three times as long and 60° away, gets almost all of the
# weight. A score is the signed length of the key's *projection* onto the query, times the length of the query. Turn key 1
# until its projection is shorter than key 0, and key 0 wins again.
#
# ### 1.5
#
# **Given** $n \ge 2$ items, where every other score is at least `gap` below $s_j$, and every value lies within the distance
# `diameter` of $v_j$. **Find** the tight bound on $\lVert c - v_j \rVert$: the distance never exceeds it, and some scores and values
# reach it. **Form:** `copy_error_bound(gap, n, diameter)`, returning a number.


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
# ### 1.6
#
# **Given** $n \ge 2$ orthonormal keys in $d$ dimensions (at right angles, each of length one), scores *divided by*
# $\sqrt d$, and the query $q = t\,k_j$. **Find** the smallest $t$ for which at most the share $\varepsilon$ of the weight
# stays on the other keys together. (At $t = 0$ their share is $\frac{n-1}{n}$, and $\varepsilon$ is smaller than that.)
# **Form:** `copy_sharpness(n, d, epsilon)`, returning a number.
#
# *Predict* for $\varepsilon = 0.01$: if there are 10,000 keys instead of 100, must $t$ be 100 times as large, 10 times, or
# less than twice? The cell after the check prints the answer.


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
if check("1.6", copy_sharpness):
    for size, width in ((100, 10_000), (10_000, 10_000), (100, 40_000)):
        length = np.ravel(copy_sharpness(size, width, 0.01))[0]
        print(f"{size:6,} keys, d = {width:,}: t = {length:7,.1f}")

# %% [markdown]
# Four times the width $d$ doubles the length that a copying query needs, because every score is divided by $\sqrt d$. Notebook
# 06 explains why scores are divided at all.
#
# ### 1.7
#
# **Given** all of the above. **Say** in three or four sentences what must be true of the query and the keys so that the output
# is almost $v_j$, what (if anything) must be true of the values, and why this is called copying. **Form:** words; you may
# use a formula, but need not.

# %% [markdown] written="1.7"
# The score of key $j$ must exceed **every** other score by a clear **difference**: $\log n + \log\frac1\varepsilon$ is
# enough to leave at most a share $\varepsilon$ on the others, and less is enough if only a few keys score nearly as high.
# Then $\alpha_j$ is almost one and all other weights together are almost zero, so $c = \sum_i \alpha_i v_i$ is almost
# $v_j$: the distance is at most the remaining weight times the distance of the farthest value. Nothing else is required of
# the values. It is called copying because the output is the stored value itself, unchanged by the others, as if it had been
# read from memory at an address.

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
# People often believe that one of the first six conditions printed below is enough for copying. The number beside each
# condition is the weight of a key that satisfies the condition. The weight is well below 1, so the value is not copied. In
# the next two lines a value is copied: in the first of them all scores are positive, in the second all are negative.
#
# The last line but one is about another mistake: "a weight can be exactly 0 or 1". By 1.1 this is false for two keys or
# more; a weight printed as 0 or 1 has been rounded. The last line shows where `np.exp` overflows.

# %%
claims = {
    "its score is 200 times the others": [0.02, 0.0001, 0.0001],
    "the other keys oppose the query": [0.1, -0.1, -0.1],
    "only its score is positive": [1.0, -0.5, -0.5, -0.5, -0.5],
    "its lead is 5, here over 2,000 rivals": [5.0] + [0.0] * 2000,
    "the query points along it, but is short": [0.001, 0.0, 0.0],
    "the query points along it, a rival is long": [1.0, 10 * np.cos(np.pi / 3)],  # 60° away
    "copied, all scores positive": [300.0, 100.0, 100.0],
    "copied, all scores negative": [-100.0, -200.0, -200.0],
}
for claim, scores in claims.items():
    print(f"{claim:43} weight {softmax(np.array(scores))[0]:.3f}")
print("scores 0, -40, -800:", softmax(np.array([0.0, -40.0, -800.0])))
with np.errstate(over="ignore"):
    print("exp(709) is finite:", np.isfinite(np.exp(709.0)), " exp(710):", np.exp(710.0))

# %% [markdown]
# ## Summary
#
# 1. The weights are a distribution; each is above zero, and they depend only on *differences* of scores (1).
# 2. If the lead of a key is well above the logarithm of the number of its rivals, the key gets almost all of the weight.
# 3. The output is then within a known distance of that key's value; this distance also depends on how far the other values
#    may be from that key's value.

# %% [markdown]
# ## Without notes
#
# 1. Why does adding 100 to every score change nothing?
# 2. Which scores give the first key more weight: $(3, 1)$ or $(103, 102)$?
# 3. How much larger must the lead of a key be when the number of its rivals is squared?
# 4. Can the output equal $v_j$ although $\alpha_j$ is almost zero?
# 5. What must be true of $k_j$ so that *some* query copies $v_j$?

# %% [markdown]
# <details><summary>Short answers to these questions</summary>
#
# 1. Every exponential is multiplied by the same factor, which cancels.
# 2. The scores $(3, 1)$: their difference is 2, and the difference of $(103, 102)$ is 1.
# 3. By $\log m$ for $m$ rivals, since $\log m^2 = 2 \log m$.
# 4. Yes, if $v_j$ is a mixture of the other values.
# 5. It must lie outside the convex hull of the other keys.
#
# </details>
#
# **Next:** [02, the average of two](02_average_of_two.ipynb), asks one query to look at two things at once.
#
# **References.** Bahdanau, Cho and Bengio (2015), [arXiv:1409.0473](https://arxiv.org/abs/1409.0473), the first attention;
# Vaswani et al. (2017), [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), the division by $\sqrt d$.
