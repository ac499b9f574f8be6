# %% [markdown]
# # Position
#
# > Attention is a sum over a set. How does it know that one word came before another?
#
# *130 min, needs 06; a pause is marked in the middle*
#
# After this notebook you can
#
# - **decide** by experiment whether a layer sees the order of its tokens, and **prove** that attention without a
#   mask does not,
# - **implement** sinusoids and rotations, and **derive** that a rotated score depends on position only through the
#   distance,
# - **predict** which model fails at positions it never saw and which at distances it never saw, and **extend**
#   RoPE.

# %%
from itertools import permutations

import numpy as np
import sympy as sp
import torch

import attn_utils
from attn_course import check, derive, hint, plots
from attn_course.experiments import (
    delayed_copy,
    sinusoid_distance,
)

rng = np.random.default_rng(11)

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $X$, $Y$ | tokens and outputs, one a row | $(T, d)$ | `x`, `layer(x)` |
# | $P$ | a permutation matrix | $(T, T)$ | `x[order]` is $PX$ |
# | $\theta_i = \text{base}^{-2i/d}$ | the frequency of pair $i$ | $i = 0 \dots \frac d2 - 1$ | `base` |
# | $e(p)$ | the embedding of position $p$ | $(d,)$ | `sinusoid` |
# | $R(p)$ | the rotation of all pairs by $p\,\theta_i$ | $(d, d)$ | `rotate` |
# | $p_q$, $p_k$ | positions of a query $q$ and of a key $k$, from 0 | integers | `p_q`, `p_k` |
# | $\delta = p_q - p_k$ | how many positions the query looks back | integer | `delta` |
#
# <!-- notation -->
#
# This is attention without a mask, as in [06](06_transformer_attention.ipynb), with one head; biases are left out:
#
# $$Y = \operatorname{softmax}\!\big(XW_q (XW_k)^\top / \sqrt d\big)\, XW_v . \tag{1}$$
#
# Here it runs on four tokens, and on the same four in reverse. *Predict* the outputs of the reversed sequence.

# %%
# my prediction: ...
x = rng.normal(size=(4, 3))
for name, tokens in (("as they are", x), ("in reverse", x[::-1])):
    context, _ = attn_utils.attend(tokens, tokens, tokens)
    print(f"{name}:", *context.round(2).tolist())

# %% [markdown]
# Every token gets what it got before, and the four outputs are in reverse order. So no stack of such layers can
# tell a sentence from its mirror image.
#
# ### 12.1
#
# **Given** a `layer`, a function from (T, d) to (T, d), and tokens x, both NumPy. **Decide** whether the layer is
# *equivariant*: if the tokens are permuted, in any way, the outputs are permuted in the same way and do not change
# otherwise. **Form:** `is_equivariant(layer, x)`, returning `True` or `False`; and a paragraph below.
#
# *Predict:* which masks keep attention equivariant: causal, padding, or a ring, where each place sees itself and two
# neighbours?


# %% answer="12.1"
# my prediction, of the three masks: ...
def is_equivariant(layer, x):
    """Whether permuting tokens only permutes outputs. layer: (T, d) -> (T, d), x: (T, d)."""
    # BEGIN SOLUTION
    source = np.random.default_rng(0)
    orders = [source.permutation(len(x)) for _ in range(20)]
    return all(np.allclose(layer(x[order]), layer(x)[order], atol=1e-6) for order in orders)
    # END SOLUTION


# %% check="12.1"
check("12.1", is_equivariant)

# %%
tokens = np.r_[rng.normal(size=(5, 4)), np.zeros((1, 4))]  # the last is empty: padding
ring = np.isin(np.subtract.outer(range(6), range(6)) % 6, (0, 1, 5))  # itself and its neighbours
layers = {
    "no mask": lambda z: attn_utils.attend(z, z, z)[0],
    "causal": lambda z: attn_utils.attend(z, z, z, causal=True)[0],
    "ring": lambda z: attn_utils.attend(z, z, z, mask=ring)[0],
    "padding": lambda z: attn_utils.attend(z, z, z, mask=z.any(-1))[0],
}
orders = [list(order) for order in permutations(range(6))]
for name, layer in layers.items():
    moved = [np.allclose(layer(tokens[p]), layer(tokens)[p]) for p in orders]
    print(f"{name}: {sum(moved)} of {len(orders)} orders only move the outputs")

# %% [markdown]
# The padding mask is computed from the tokens, so it moves along with them. The causal triangle and the ring stay
# where they are while the tokens move, so the outputs change. With the ring twelve orders still pass the test,
# namely turns of the circle and mirror images. So one permutation that passes may be luck, and proves nothing.
#
# **The written part of 12.1** (1 point). For attention without a mask, explain why the outputs of $PX$ are $PY$:
# follow $P$ through equation (1) to the end. Then say what a causal mask changes.

# %% [markdown] written="12.1"
# Queries, keys and values are computed token by token, so they become $PQ$, $PK$, $PV$. The scores become
# $PQ(PK)^\top = P\,QK^\top P^\top$: rows *and* columns move. The softmax works along a row; the order of the columns
# reorders the terms of its sum, so the weights are $P A P^\top$ with $A$ the old ones. Multiplied by $PV$ this is
# $P A P^\top P V = P A V = PY$, since $P^\top P = I$. Whatever works on each token alone commutes with $P$ too, and so do
# whole stacks. A causal mask is tied to places, not to tokens: it is not permuted along, other scores are hidden, and
# the equality fails for every $P$ but the identity.

# %% [markdown] rubric="12.1"
# **Rubric (1 point).** ⅓ scores (or weights) become $PAP^\top$, both sides · ⅓ $P^\top P = I$ where the weights meet
# $PV$ · ⅓ the triangle is not permuted along, so equality fails. The column convention ($XP$, $YP$) is equally right.
# No point for "invariant" used where equivariant is meant. Not needed: that per-token parts commute, other masks.

# %% [markdown]
# ### 12.2
#
# **Given** tokens 0 to 5 with random embeddings and no positions, and layers with residual connections. **Find**
# three pairs of different sequences, at most twelve tokens long. **Form:** the dictionary `blind_pairs`; each entry
# is a pair of tuples.
#
# - `"unmasked"`: the mean output is the same for a stack of any depth without a mask.
# - `"one layer"`: the *last* output of one causal layer is the same, but that of two layers is not.
# - `"any depth"`: sequences of *different lengths* with the same last output of a causal stack of any depth.
#
# *Predict:* can a causal layer without positions count how often a word occurred?

# %% answer="12.2"
# my prediction: ...
blind_pairs = {
    "unmasked": None,  # such as ((0, 1), (2, 3))
    "one layer": None,
    "any depth": None,
}
# BEGIN SOLUTION
blind_pairs["unmasked"] = (0, 1, 2), (2, 1, 0)
blind_pairs["one layer"] = (0, 1, 2), (1, 0, 2)
blind_pairs["any depth"] = (3,), (3, 3, 3)
# END SOLUTION

# %% check="12.2"
check("12.2", blind_pairs)

# %%
embeddings, weights = rng.normal(size=(6, 4)), rng.normal(size=(2, 3, 4, 4)) / 2


def last(tokens, depth):
    # the last output (d,) of causal layers with residuals
    z = embeddings[list(tokens)]
    for query, key, value in weights[:depth]:
        z = z + attn_utils.attend(z @ query, z @ key, z @ value, causal=True)[0]
    return z[-1]


axes = plots.panels(2)
for depth, ax in zip((1, 2), axes, strict=True):
    ends = [last((*order, 4), depth)[:2] for order in permutations(range(4))]
    title = f"depth {depth}: 24 orders, up to {np.ptp(ends, 0).max():.2f} apart"
    plots.scatter(ends, xlabel="coordinate 0", ylabel="coordinate 1", size=40, title=title, ax=ax)
plots.same_scale(axes)
for one, two in (((1, 3), (1, 1, 3, 3)), ((3,), (3, 3, 3))):
    gaps = [np.abs(last(one, depth) - last(two, depth)).max() for depth in (1, 2)]
    print(f"{one} and {two}: one layer {gaps[0]:.3f}, two layers {gaps[1]:.3f}")

# %% [markdown]
# With one layer all 24 orders give the same point. The last token knows only the *proportions* of words: with counts
# $N_w$, scores $s_w$ and values $v_w$, $\sum_w N_w e^{s_w} v_w / \sum_w N_w e^{s_w}$ stays the same if all counts
# double. Two layers tell orders apart, and *ab* from *aabb*, printed above as (1, 3) and (1, 1, 3, 3). In a
# constant sequence all outputs are equal at any depth.
#
# ### 12.3
#
# **Compute** an embedding of integer positions: a sine and a cosine of $p\,\theta_i$ for each frequency $\theta_i =
# \text{base}^{-2i/d}$, in any order. **Form:** `sinusoid(positions, d, base)`, shape (T, d); and a paragraph below.
#
# Each pair is a clock's hand that turns by $\theta_i$ a step. *Predict:* do two positions ever agree?


# %% answer="12.3"
# my prediction: ...
def sinusoid(positions, d, base):
    """One row for each position. positions: (T,) integers, any order -> (T, d)."""
    # 1. angles, (T, d/2)
    # 2. their sines and cosines
    # BEGIN SOLUTION
    angles = np.outer(positions, base ** (-np.arange(0, d, 2) / d))
    return np.stack([np.sin(angles), np.cos(angles)], -1).reshape(len(angles), d)
    # END SOLUTION


# %% check="12.3"
check("12.3", sinusoid)


# %%
def draw(pair, position):
    clock = sinusoid_distance.hand(range(100), pair, d=8)  # sine and cosine, (100, 2)
    left, right = plots.panels(2, height=3.8)
    plots.scatter(clock, xlabel="", ylabel="", colour=5, size=14, ax=left)
    plots.scatter(clock[:1], xlabel="", ylabel="", colour=1, size=90, ax=left)  # at 0
    label = {"xlabel": "sine", "ylabel": "cosine", "title": f"pair {pair}; the dot is at 0"}
    plots.arrows({f"at {position}": clock[position]}, limit=1.5, **label, ax=left)
    series = {f"d = {d}": sinusoid_distance.distance(range(100), d) for d in (2, 8, 64)}
    label = {"xlabel": "position", "ylabel": "distance from e(0)", "title": "all pairs together"}
    plots.curves(range(100), series, marks={"here": position}, **label, ax=right).limits(
        y=(-0.3, 11)
    )


plots.explore(draw, pair=(0, 3, 0), position=(0, 99, 44))
for d in (2, 4, 8, 64):
    print(
        "d = {}: nearest to 0 is {}, {:.5f} away".format(d, *sinusoid_distance.closest(d, 10_000))
    )
print("ever closer returns of pair 0, in steps:", *sinusoid_distance.closer_and_closer(10_000))
print(f"sine of 355: {np.sin(355):.5f}, cosine {np.cos(355):.5f}; 355 / 113 is {355 / 113:.6f}")

# %% [markdown]
# Pair 0 at position 44 is almost where it was at position 0, and at $d = 2$ there is no other pair. Slower hands tell
# the two positions apart: with $d = 64$ no position is as close to 0 as position 1 is. Position 355 is printed
# because $355 / 113$ is nearly $\pi$. Its sine is almost 0, as at position 0, but its cosine is almost $-1$, so the
# hand points the opposite way.
#
# **The written part of 12.3** (1 point). Can two different integer positions have the same embedding? Can they
# agree in one pair of coordinates? Give a proof or an example, for base 10,000. Then say what *does* follow from
# the fact that every hand goes round again and again.

# %% [markdown] written="12.3"
# No. Take the first pair, $\theta_0 = 1$ for every base. It agrees for $p$ and $p'$ only if $p - p' = 2\pi z$ for an
# integer $z$. With integers $p \ne p'$ this would make $\pi = (p - p') / 2z$ a fraction, and $\pi$ is irrational. Nor does
# any other pair: $\theta_i$ is a root of a fraction, hence algebraic, and $\theta_i (p-p') = 2\pi z$ would make $\pi$
# algebraic, which it is not. Because every hand comes back again and again, there are positions that nearly agree in one
# pair, wherever a fraction is close to $2\pi$: the first pair of $p$ and $p + 710$ differs by 0.00006, and other pairs
# tell them apart. Positions that are not integers, or are rounded to few bits, can have equal embeddings.

# %% [markdown] rubric="12.3"
# **Rubric (1 point).** ⅓ reduces to one pair and $\theta\,(p-p') = 2\pi z$ · ⅓ irrationality of $\pi$ with *integer*
# positions · ⅓ says what follows from periodicity: positions that nearly agree, or equal embeddings of real positions, or of
# rounded ones (any one). For the other pairs transcendence is welcome; "each pair has its own period" is accepted. No point
# for "periodic, hence two positions repeat". Position 355 is no example: its sine agrees with that of 0, its cosine is opposite.

# %% [markdown]
# ### 12.4
#
# **Given** the layout $e(p) = (\sin\theta_0 p, \cos\theta_0 p, \sin\theta_1 p, \cos\theta_1 p, \dots)$ with base 10,000.
# **Find** the matrix with $M\,e(p) = e(p + j)$ for all $p$. **Form:** `shift_matrix(j, d)`, shape (d, d), which
# multiplies a column vector from the left.
#
# *Predict:* is the score $e(p)^\top W e(p')$ a function of $p' - p$ for every matrix $W$?


# %% answer="12.4"
# my prediction: ...
def shift_matrix(j, d):
    """M with M e(p) = e(p + j) for every position p -> (d, d)."""
    # BEGIN SOLUTION
    M = np.zeros((d, d))
    for i, angle in enumerate(j * 10_000.0 ** (-np.arange(0, d, 2) / d)):
        pair = slice(2 * i, 2 * i + 2)
        M[pair, pair] = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    return M
    # END SOLUTION


# %% check="12.4"
check("12.4", shift_matrix)

# %%
blocks = np.kron(np.diag(np.linspace(1, 0.3, 8)), [[1.0, 0.5], [-0.5, 1.0]])  # xI + yJ
forms = {"W = I": np.eye(16), "blocks": blocks, "random": rng.normal(size=(16, 16)) / 2}
ticks = [p if p % 5 == 0 else "" for p in range(20)]


def draw(hands):
    upright = np.tile([0.0, 1.0], (20, hands))  # (sin 0, cos 0) for every hand
    e = attn_utils.rotate(upright, -np.arange(20))  # (20, d)
    found = [e @ form[: 2 * hands, : 2 * hands] @ e.T for form in forms.values()]
    label = {"xlabel": "position p′", "ylabel": "position p", "rows": ticks, "columns": ticks}
    for name, values, ax in zip(forms, found, plots.panels(3, height=3.1), strict=True):
        title = f"{name}: varies by {np.ptp(values.diagonal(1)):.1f}"
        plots.matrix(values, **label, top=np.abs(found).max(), signed=True, title=title, ax=ax)


plots.explore(draw, hands=(1, 8, 4))
step = attn_utils.rotate(np.eye(16), np.full(16, -1)).T  # M for one step
asks = np.kron(step, np.eye(16)) - np.kron(np.eye(16), step.T)  # W with MW - WM = 0
print(f"W that commute with M: {256 - np.linalg.matrix_rank(asks)} of 256 dimensions")

# %% [markdown]
# Stripes mean that scores depend on the distance alone. The inner product ($W = I$) has them, and so has every $W$
# made of blocks $xI + yJ$, where $J$ is a quarter turn. These are the few matrices that commute with $M$ (counted
# above). So a model that adds $e(p)$ to its tokens *can* attend by distance, if training finds such matrices.
#
# **A good place for a pause.** Next, queries and keys are *rotated*.
#
# ### 12.5
#
# **Given** one pair of coordinates of a query at $p_q$ and one of a key at $p_k$, each turned by its position times
# $\theta$. **Prove** that their inner product depends on position only through $\delta = p_q - p_k$. **Form:** the
# chain `score`, which ends without $p_q$ and $p_k$. All lines are real: sines and cosines, not Euler's formula.

# %% answer="12.5 derive"
q1, q2, k1, k2 = sp.symbols("q_1 q_2 k_1 k_2", real=True)
theta, p_q, p_k, delta = sp.symbols("theta p_q p_k delta", real=True)
turn_q, turn_k = p_q * theta, p_k * theta  # the two angles
query = q1 * sp.cos(turn_q) - q2 * sp.sin(turn_q), q1 * sp.sin(turn_q) + q2 * sp.cos(turn_q)
key = k1 * sp.cos(turn_k) - k2 * sp.sin(turn_k), k1 * sp.sin(turn_k) + k2 * sp.cos(turn_k)
product = query[0] * key[0] + query[1] * key[1]

# BEGIN SOLUTION
inner, cross = q1 * k1 + q2 * k2, q1 * k2 - q2 * k1
cosines = sp.cos(turn_q) * sp.cos(turn_k) + sp.sin(turn_q) * sp.sin(turn_k)
sines = sp.sin(turn_q) * sp.cos(turn_k) - sp.cos(turn_q) * sp.sin(turn_k)
# END SOLUTION
score = derive(
    (product, "both turned"),
    # BEGIN SOLUTION
    (inner * cosines + cross * sines, "multiply out, collect"),
    (inner * sp.cos(turn_q - turn_k) + cross * sp.sin(turn_q - turn_k), "addition theorems"),
    (inner * sp.cos(delta * theta) + cross * sp.sin(delta * theta), "their difference is delta"),
    # END SOLUTION
    where={p_q: p_k + delta},
)
score

# %% check="12.5 derive"
check("12.5", score)

# %% [markdown]
# Now for all pairs. **Compute** the rotation of many vectors at once: a vector at position 0 stays as it is,
# lengths are kept, turning by $j$ and then by $j'$ is the same as turning by $j + j'$, and pair $i$ turns by
# $\theta_i = \text{base}^{-2i/d}$ at each step. **Form:** `rotate(x, positions, base)` with x (..., T, d), which
# returns the same shape. Which coordinates you pair, and in which direction they turn, is up to you. *Predict:*
# must the values be rotated too?


# %% answer="12.5 code"
# my prediction: ...
def rotate(x, positions, base):
    """Row t turned by positions[t]. x: (..., T, d), positions: (T,) -> (..., T, d)."""
    # 1. angles, (T, d/2)
    # 2. two new coordinates from each old pair
    # BEGIN SOLUTION
    angles = np.outer(positions, base ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    cos, sin = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.stack([even * cos - odd * sin, even * sin + odd * cos], -1)  # (..., T, d/2, 2)
    return turned.reshape(x.shape)
    # END SOLUTION


# %% check="12.5 code"
check("12.5", rotate)


# %%
def draw(query, key):
    left, right = plots.panels(2, height=3.6)
    turns = {f"query at {query}": 0.4 + 0.3 * query, f"key at {key}": 1.2 + 0.3 * key}
    turned = {name: (np.cos(angle), np.sin(angle)) for name, angle in turns.items()}
    title = f"one pair: score {np.cos(0.3 * (query - key) - 0.8):.2f}"
    plots.arrows(turned, limit=1.3, title=title, ax=left)
    far, ones = np.arange(-10, 31), np.ones((41, 16))  # below, a leading minus means dashed
    ways = {"q = k": attn_utils.rotate(ones, far), "-another key": attn_utils.rotate(ones, far - 9)}
    series = {name: way.sum(-1) for name, way in ways.items()}
    label = {"xlabel": "distance δ", "ylabel": "score", "title": "16 features"}
    plots.curves(far, series, marks={"δ": query - key}, **label, ax=right)


plots.explore(draw, query=(0, 20, 9), key=(0, 10, 4))
distances = np.arange(61)
peak = attn_utils.rotate(np.ones((61, 16)), distances - 9).sum(-1).argmax()
print(f"the dashed key has its largest score at distance {peak}")

# %% [markdown]
# Move both sliders by the same amount: the score stays the same. The dashed key scores highest at distance nine.
# Values are not compared, so not rotated.
#
# ### 12.6
#
# **Given** $r$ and `rotate(x, p)`, which turns x (d,) by position p. Its pairs of coordinates, their speeds and their
# directions are unknown. **Find** one query and one key, the same at every position, so that with a causal mask each
# of 24 tokens puts 99% of its weight on the token $r$ back, where there is one. Scores are divided by $\sqrt d$.
# **Form:** `look_back(r, rotate, d)` returns `(q, k)`; and a paragraph below.


# %% answer="12.6"
def look_back(r, rotate, d):
    """One query and one key (d,) each; rotate(x, p) turns x (d,) by position p."""
    # BEGIN SOLUTION
    k = np.ones(d)
    return 40 * rotate(k, -r), k
    # END SOLUTION


# %% check="12.6"
check("12.6", look_back)

# %% [markdown]
# ## Say the letter three back
#
# You found such vectors by hand. What does *training* find? We draw random sequences from an alphabet of 8 letters.
# A model of one causal layer with one head must say, at each place, the letter three places back. Four models are
# trained on sequences of length 16 and tested on length 128: without positions, with a learned table of positions,
# with added sinusoids, and with rotation (RoPE). *Predict* the accuracy of each up to position 15, and beyond.
#
# Without positions a model knows at best how often each earlier letter occurred. All orders are equally likely, so
# its best guess is the commonest letter. The dashed line is its exact chance to be right.

# %% tags=["nbval-ignore-output"]
# my prediction, none / learned / sinusoid / RoPE: ...
torch.set_num_threads(1)
models = {way: delayed_copy.train(way) for way in delayed_copy.WAYS}
places = np.arange(3, 128)
series = {way: delayed_copy.accuracy(model)[3:] for way, model in models.items()}
series["-best without order"] = delayed_copy.bound_by_position()[3:]
upper, lower = plots.panels(2, height=2.6, width=8.5, columns=1)
label = {"xlabel": "position of the query", "ylabel": "share right", "title": "seed 0"}
trained = {"trained up to here": 15}
plots.curves(places, series, marks=trained, **label, ax=upper).limits(y=(0, 1.05)).legend_outside()
kernel = [delayed_copy.score_at_distance(models["RoPE"], 100, 127, back) for back in range(120)]
label = {"xlabel": "distance δ", "ylabel": "mean score", "title": "RoPE, queries 100 to 127"}
plots.curves(range(120), {"score": kernel}, marks=trained, **label, ax=lower).legend_outside()
found = delayed_copy.recorded()  # the same, recorded for seeds 0 / 1 / 2
print(found["command"], "|", found["cpu_seconds"], "CPU seconds,", found["machine"])
print(delayed_copy.table(found))
print(delayed_copy.remarks(found))

# %% [markdown]
# The model without positions reaches its bound. The others are perfect up to position 15 and then fail in two ways;
# how badly RoPE fails depends on the seed. In the last two printed lines, *trained at random offsets* means that
# sequences start at a random position in training, not always at 0.
#
# **The written part of 12.6** (1 point). Which models fail at once beyond position 15, which one stays right for a
# while, and what had each of them never seen in training? Use the numbers above.

# %% [markdown] written="12.6"
# The learned table falls to chance (one in eight) at once: its rows from 16 on are the random vectors they began
# as. The sinusoid falls to about a half, later a quarter: its vectors exist everywhere, but the matrices were
# fitted to 16 of them, and few matrices score them by distance (12.4). Both met *positions* never seen before. RoPE
# at 16 to 31 still says nearly every token, since scores depend on distances and the distance that matters was
# trained. It fails later, when there are many tokens at *distances* above 15: their scores were never trained, and
# some are nearly as high as that of the token three back. Random offsets help against the first failure only.

# %% [markdown] rubric="12.6"
# **Rubric (1 point).** ⅓ learned and sinusoid fail because *positions* from 16 on were never trained (random rows;
# matrices fitted to 16 vectors) · ⅓ RoPE sees known distances at new positions, so it holds at first · ⅓ until
# *distances* above 15 come in, whose scores may be as high. "RoPE extrapolates" or "sinusoids extend to any length"
# alone: no point. Not needed: offsets, interpolation, the bound.

# %% [markdown]
# ### 12.7
#
# A model with RoPE was trained on 16 tokens and should now read 64, which is 4 times as many: the `factor` is 4. Two
# ways to do this change only its frequencies:
#
# - **Position interpolation** divides every position by the factor: every pair turns `factor` times slower.
# - The **NTK-aware** way (after the *neural tangent kernel*) takes a larger base, so that the slowest pair turns
#   exactly `factor` times slower and the fastest as before.
#
# **Given** $d \ge 4$, the old base and the factor. **Compute** the new frequencies $(\theta_0, \dots,
# \theta_{d/2-1})$. **Form:** the two functions below, each returning an array (d/2,).
#
# *Predict:* which way still finds the letter three back without further training?


# %% answer="12.7"
# my prediction: ...
def interpolated(d, base, factor):
    """Frequencies (d/2,) that are all `factor` times slower than base ** (-2i / d)."""
    # BEGIN SOLUTION
    return base ** (-np.arange(0, d, 2) / d) / factor
    # END SOLUTION


def ntk_aware(d, base, factor):
    """Frequencies (d/2,) of a larger base: the first as before, the last `factor` times slower."""
    # BEGIN SOLUTION
    larger = base * factor ** (d / (d - 2))
    return larger ** (-np.arange(0, d, 2) / d)
    # END SOLUTION


# %% check="12.7"
check("12.7", interpolated, ntk_aware)

# %% tags=["nbval-ignore-output"]
ways = delayed_copy.ways_to_extend(4)
if check("12.7", interpolated, ntk_aware):
    ways |= {"interpolated": interpolated(32, 1e4, 4), "NTK-aware": ntk_aware(32, 1e4, 4)}
longer = {name: delayed_copy.extend(models["RoPE"], new) for name, new in ways.items()}
label = {"xlabel": "distance δ", "ylabel": "mean score", "title": "queries 16 to 63"}
curves = {
    name: [delayed_copy.score_at_distance(model, 16, 63, back) for back in range(40)]
    for name, model in longer.items()
}
plots.curves(range(40), curves, marks={"three back": 3}, **label).limits(x=(0, 50))
found = delayed_copy.recorded("longer")
print(found["command"], "|", found["cpu_seconds"], "CPU seconds,", found["machine"])
print(delayed_copy.table_of_longer(found))

# %% [markdown]
# Interpolation stretches the whole curve of scores: the peak moves from distance 3 to 12, and the model most often
# says the letter twelve back. Even 100 steps of further training are not enough to repair this. The NTK-aware base
# keeps the fast pairs, which decide between neighbours: the peak stays at 3. On this task neither way is better than
# leaving RoPE alone; both are made for large models that also use the slow pairs.
#
# ## Common mistakes
#
# 1. "Attention is permutation *invariant*." The mean over tokens is; one output is not.
# 2. "Without positions nothing can count." A causal head that looks at all $t$ tokens equally gives a start mark the
#    weight $1/t$, and so knows $t$.

# %%
context, moved = (attn_utils.attend(z, z, z)[0] for z in (tokens, tokens[::-1]))
gaps = np.abs(moved.mean(0) - context.mean(0)).max(), np.abs(moved - context)[0].max()
print("1. reversed: mean differs by {:.2f}, place 0 by {:.2f}".format(*gaps))
same = [attn_utils.attend(np.zeros((1, 1)), np.zeros((t, 1)), np.eye(t)) for t in (2, 5, 10)]
print("2. weight on the first of 2, 5, 10 tokens:", *(f"{w[0, 0]:.2f}" for _, w in same))

# %% [markdown]
# ## Summary
#
# 1. Attention (1) is equivariant; a causal layer is not. The last output of *one* causal layer depends on
#    proportions of words, not on order or counts.
# 2. Sinusoids never repeat. Their scores depend on distance alone only for special $W$; rotated scores do so for
#    every $W$.
# 3. Unseen positions and unseen distances are two ways to fail.
#
# **Without notes:** Why can one causal layer not tell *ab* from *aabb*? For which $W$ do sinusoids score by
# distance? Which failure do random offsets cure?
#
# <details><summary>Short answers</summary>
#
# 1. Its output depends on the proportions of the words alone, and they are equal.
# 2. For those that commute with the step from one position to the next: blocks $xI + yJ$.
# 3. That of positions never seen, not that of distances never seen.
#
# </details>
#
# **Next:** [13](13_fast_attention.ipynb) saves memory. **References.** [Vaswani et al.
# (2017)](https://arxiv.org/abs/1706.03762), sinusoids; [Su et al. (2021)](https://arxiv.org/abs/2104.09864),
# rotations; [Haviv et al. (2022)](https://arxiv.org/abs/2203.16634), no positions; [Chen et al.
# (2023)](https://arxiv.org/abs/2306.15595), interpolation; [Peng et al. (2023)](https://arxiv.org/abs/2309.00071), YaRN.
