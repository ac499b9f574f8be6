# %% [markdown]
# # Fast attention
#
# > The same attention with less memory and less work, and one that is different: what is exact, what is lost?
#
# *60 min, needs 06, and 11 for its rotations*
#
# After this notebook you can
#
# - **derive** how two halves of a softmax become one, and **implement** attention that never holds all scores,
# - **implement** a cache that is exact, and **compute** what it saves and what it costs,
# - **prove** what a state of fixed size cannot recall, and **predict** by how much it fails.

# %%
import numpy as np
import sympy as sp
import torch

import attn_utils
from attn_course import check, derive, drivers, hint, plots
from attn_course.experiments import associative_recall
from attn_utils import layers

torch.set_num_threads(1)  # the tensors here are small
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $T$, $S$ | numbers of queries, of keys | | |
# | $q$, $k$, $v$ | queries, keys, values: tensors | $(T, d)$, $(S, d)$, $(S, d_v)$ | `q`, `k`, `v` |
# | $c$, $c_j$, $\alpha$ | context, of block $j$, share of block 1 | $(d_v,)$, $(d_v,)$, number | |
# | $m_j$ | largest score of block $j$ | number | `m1` |
# | $s_j$, $l_j$ | its sum of $e^{\text{score} - m_j}$, log-sum-exp $m_j + \log s_j$ | numbers | `s1`, `l1` |
# | $H$, $G$, $D$ | heads, groups, width of a layer | | |
# | $\varphi$, $\Phi$ | feature map, features of $n$ keys | $(n, d)$ | `phi`, `features` |
#
# ## The definition
#
# Two blocks of the keys of one query, with a softmax each, give together
#
# $$c = \alpha\, c_1 + (1-\alpha)\, c_2, \qquad \alpha = \frac{e^{m_1} s_1}{e^{m_1} s_1 + e^{m_2} s_2} . \tag{1}$$
#
# *Predict:* block 1 has two keys with score 0, block 2 one key with score 1. Which has the larger share?


# %%
# my prediction: ...
def draw(lead):
    common = np.array([2.0, np.exp(lead)]) / max(1.0, np.exp(lead))
    groups = {"sum in its own unit": [2, 1], "in the unit of the larger maximum": common}
    groups["shares {:.2f} and {:.2f}".format(*common / common.sum())] = common / common.sum()
    plots.bars(groups, ["block 1: 0, 0", f"block 2: {lead:.1f}"], ylabel="", xlabel="", top=2.6)


plots.explore(draw, lead=(-3.0, 3.0, 1.0, 0.1))

# %% [markdown]
# In its own unit, $e^{m_j}$, each block looks larger or smaller than it is. In a common unit the single key is ahead,
# though by less than its score suggests: two keys weigh twice. Move the slider to where both shares are one half: the
# lead there is $\log 2$, not 0.
#
# ### 12.1
#
# **Given** equation (1). **Prove** that $\alpha$ is a sigmoid of $l_1 - l_2$. **Form:** the chain `share` from the
# definition to a line in $l_1$ and $l_2$ alone with one exponential, which may stand twice.

# %%
m1, m2, l1, l2 = sp.symbols("m_1 m_2 l_1 l_2", real=True)
s1, s2 = sp.symbols("s_1 s_2", positive=True)
definition = sp.exp(m1) * s1 / (sp.exp(m1) * s1 + sp.exp(m2) * s2)
log_sums = {m1: l1 - sp.log(s1), m2: l2 - sp.log(s2)}  # l_j = m_j + log s_j

# %% answer="12.1 derive"
share = derive(
    (definition, "definition"),
    # BEGIN SOLUTION
    (sp.exp(l1) / (sp.exp(l1) + sp.exp(l2)), "exp(m_j) s_j is exp(l_j)"),
    (1 / (1 + sp.exp(l2 - l1)), "divide above and below by exp(l_1)"),
    # END SOLUTION
    where=log_sums,
)
share

# %% check="12.1 derive"
check("12.1", share)

# %% [markdown]
# This is the tie of [02](02_average_of_two.ipynb): a block acts as one key with score $l_j$ and value $c_j$. Blocks merge
# exactly, in any order, one after the other or on many processors. FlashAttention merges blocks that fit into fast memory.
#
# **The code of 12.1** (1 point). **Given** the scores $(S,)$ of one query and values $(S, d_v)$, tensors, block by block.
# **Find** what must be kept of a block. **Form:** `summary(scores, values)` makes a *state*, anything you like of fixed
# size; `merge(a, b)` makes one state of two; `finish(state)` gives the context $(d_v,)$. Blocks may be empty, keys hidden
# (score $-\infty$), scores as large as $\pm 10^5$.


# %% answer="12.1 code"
def summary(scores, values):
    """What is kept of a block. scores (S,), S >= 0, values (S, dv) -> a state."""
    # BEGIN SOLUTION
    no_key = torch.tensor([-torch.inf])
    largest = torch.cat([no_key, scores]).max()
    unit = largest if largest > -torch.inf else torch.tensor(0.0)
    masses = (scores - unit).exp()
    return largest, masses.sum(), masses @ values
    # END SOLUTION


def merge(a, b):
    """The state of the keys of both blocks together."""
    # BEGIN SOLUTION
    if a[0] < b[0]:
        a, b = b, a
    factor = (b[0] - a[0]).exp() if b[0] > -torch.inf else torch.tensor(0.0)
    return a[0], a[1] + factor * b[1], a[2] + factor * b[2]
    # END SOLUTION


def finish(state):
    """The context (dv,) of all keys that the state has seen."""
    # BEGIN SOLUTION
    _, total, output = state
    return output / total
    # END SOLUTION


# %% check="12.1 code"
check("12.1", summary, merge, finish)

# %% [markdown]
# ### 12.2
#
# **Given** q (..., T, d), k (..., S, d), v (..., S, $d_v$) and a block size that need not divide $S$. **Compute** softmax
# attention without a mask, never holding all $T \times S$ scores. **Form:** `stream(q, k, v, block)`, shape
# (..., T, $d_v$). Use torch's basic operations, not ready-made attention: we watch the largest tensor on the way, and
# all that is held at a time. Smaller blocks, or one query after another, pass too.
#
# *Predict:* does it take fewer multiplications? How does the largest tensor grow with the length?


# %% answer="12.2"
# my predictions: ...
def stream(q, k, v, block):
    """q (..., T, d), k (..., S, d), v (..., S, dv) -> context (..., T, dv), `block` keys at a time."""
    # 1. a maximum, a sum and an output for each row, as if there were no key yet
    # 2. for each block: its scores, the new maximum, everything in its unit
    # 3. divide once, at the end
    # BEGIN SOLUTION
    largest = q.new_full((*q.shape[:-1], 1), -torch.inf)  # (..., T, 1)
    total, output = 0, 0
    for start in range(0, k.shape[-2], block):
        keys, values = (x[..., start : start + block, :] for x in (k, v))
        scores = q @ keys.mT / q.shape[-1] ** 0.5  # (..., T, block)
        larger = torch.maximum(largest, scores.amax(-1, keepdim=True))
        factor, masses = (largest - larger).exp(), (scores - larger).exp()
        total = factor * total + masses.sum(-1, keepdim=True)
        output = factor * output + masses @ values
        largest = larger
    return output / total
    # END SOLUTION


# %% check="12.2"
check("12.2", stream)


# %%
from torch.utils.flop_counter import FlopCounterMode

ways = {"all scores at once": lambda q, k, v: (q @ k.mT / 4).softmax(-1) @ v}
if check("12.2", stream):
    ways["your stream, blocks of 64"] = lambda q, k, v: stream(q, k, v, 64)
lengths = [64, 128, 256, 512, 1024, 2048]
sizes = {}
for name, way in ways.items():
    with FlopCounterMode(display=False) as counter:
        way(*torch.zeros(3, 1024, 16))
    sizes[name] = [drivers.run_watched(way, np.zeros((3, T, 16)))["largest"] for T in lengths]
    print(f"{name}: {counter.get_total_flops():,} operations at T = S = 1024;", end=" ")
    print(f"at 2048 the largest tensor is {sizes[name][-1] / sizes[name][-2]:g} times as large")
label = {"xlabel": "T = S", "ylabel": "numbers in the largest tensor", "log": "xy"}
plots.curves(lengths, sizes, title="d = 16", **label)

# %% [markdown]
# Twice the length means four times as many scores: a line of slope 2. The stream has slope 1. It is exact and takes
# as many operations, $4TSd$ as printed; what is saved is memory, and the time to move it.

# %% [markdown]
# ### 12.3
#
# A model that writes attends with each new token to all before it. **Given** `rotate` at construction
# (`rotate(x, positions)` of 11, or one that changes nothing), then q, k, v of the *new* tokens, (B, T, d), T ≥ 1, up to
# 16 tokens in all. **Compute** what the full causal pass gives for them alone: the work for one token may grow with the
# number of tokens before it, not with its square.
# **Form:** the class `Cache`; values are not rotated, the first position is 0.
#
# *Predict:* what would change without the causal mask?


# %% answer="12.3"
# my prediction: ...
class Cache:
    """Keys and values of the tokens so far."""

    def __init__(self, rotate):
        # BEGIN SOLUTION
        self.rotate = rotate
        self.keys, self.values = None, None  # (B, S, d), (B, S, dv)
        # END SOLUTION

    def step(self, q, k, v):
        """q, k (B, T, d), v (B, T, dv) of T new tokens -> their contexts (B, T, dv)."""
        # 1. the positions of the new tokens; rotate
        # 2. append before you attend
        # 3. attention of the new queries over all keys, causal
        # BEGIN SOLUTION
        old = 0 if self.keys is None else self.keys.shape[1]
        positions = torch.arange(old, old + k.shape[1])
        q, k = self.rotate(q, positions), self.rotate(k, positions)
        self.keys = k if old == 0 else torch.cat([self.keys, k], 1)
        self.values = v if old == 0 else torch.cat([self.values, v], 1)
        context, _ = attn_utils.attend(q, self.keys, self.values, causal=True)
        return context
        # END SOLUTION


# %% check="12.3"
check("12.3", Cache)

# %%
first_step = np.maximum.outer(range(8), range(8))  # at which a score is first computed
counts = {"without a cache": 8 - first_step, "with a cache": attn_utils.causal_mask(8).astype(int)}
for (name, count), ax in zip(counts.items(), plots.panels(2, height=3.4), strict=True):
    label = {"xlabel": "key", "ylabel": "query", "title": f"{name}: {count.sum()} scores"}
    plots.matrix(count, numbers=True, top=8, **label, ax=ax)

torch.manual_seed(0)
layer, x = layers.CausalSelfAttention(16, 2), torch.randn(1, 40, 16)
cache = layers.Cache(attn_utils.rotate)
one_by_one = torch.cat([layer(token, cache) for token in x.split(1, dim=1)], 1)
at_once = layer(x, layers.Cache(attn_utils.rotate))
print("40 tokens, one by one and at once: equal,", torch.allclose(one_by_one, at_once, atol=1e-12))

# %% [markdown]
# Each cell counts how often its score is computed while eight tokens are written. Nothing is approximated: under a causal
# mask keys and values of a prefix do not depend on what follows. Without it each new token would change all contexts.
#
# ### 12.4
#
# **Given** one attention layer of 06, with its four projections, that writes $T$ tokens one at a time (biases and softmax
# are free, a multiply-add counts 2). Without a cache, step $t$ runs the whole prefix again, all $t^2$ scores. **Compute**
# all operations, and the bytes of a cache at length $T$. **Form:** the two functions.
#
# *Predict* the factor that a cache saves for $T = 1024$, $D = 512$.


# %% answer="12.4"
# my prediction: ...
def decode_flops(T: int, D: int, cached: bool) -> int:
    """Operations of one layer of width D that writes T tokens one at a time."""
    # BEGIN SOLUTION
    if cached:
        return 8 * T * D**2 + 2 * T * (T + 1) * D
    return 4 * T * (T + 1) * D**2 + 2 * T * (T + 1) * (2 * T + 1) * D // 3
    # END SOLUTION


def cache_bytes(batch: int, layers: int, groups: int, d: int, T: int, size: int) -> int:
    """Bytes of all caches: `groups` key-value heads of width d in each layer, `size` bytes a number."""
    # BEGIN SOLUTION
    return 2 * batch * layers * groups * d * T * size
    # END SOLUTION


# %% check="12.4"
check("12.4", decode_flops, cache_bytes)


# %%
def draw(length, groups):
    """A model of 32 layers, heads of width 128, two bytes a number, one sequence."""
    lengths = np.linspace(0, 131_072, 65)
    series = {}
    for name, G in ((f"{groups} groups", groups), ("-32 heads, a group each", 32)):
        series[name] = [cache_bytes(1, 32, G, 128, int(T), 2) / 2**30 for T in lengths]
    here = cache_bytes(1, 32, groups, 128, 1024 * length, 2) / 2**30
    label = {"xlabel": "tokens", "ylabel": "GiB", "title": f"{length} Ki tokens: {here:.2f} GiB"}
    plots.curves(lengths, series, marks={"your length": 1024 * length}, **label).limits(y=(0, 70))


if check("12.4", decode_flops, cache_bytes):
    plots.explore(draw, length=(1, 128, 8), groups=(1, 32, 8))
    without, cached = (decode_flops(1024, 512, cached) for cached in (False, True))
    print(f"operations without a cache / with one: {without / cached:.0f}")

# %% [markdown]
# A cache saves operations (the printed ratio) and pays with memory, which grows with every token of every sequence. A step
# at length $t$ does $4tHd$ operations on $2tGd$ numbers: two for each number read if every head has its own keys. Writing a
# text waits for memory, not for arithmetic, and the way out is fewer keys.
#
# ### 12.5
#
# **Given** q (B, H, T, d) and k, v (B, G, T, d), $H$ a multiple of $G$: head $h$ uses group $\lfloor hG/H \rfloor$.
# **Compute** causal attention. **Form:** `grouped(q, k, v)`, shape (B, H, T, d).
#
# *Predict:* which heads share a group for $H = 6$, $G = 2$?


# %% answer="12.5"
# my prediction, two lists of heads: ...
def grouped(q, k, v):
    """q (B, H, T, d), k, v (B, G, T, d) -> context (B, H, T, d)."""
    # BEGIN SOLUTION
    heads_per_group = q.shape[1] // k.shape[1]
    keys = k.repeat_interleave(heads_per_group, 1)
    values = v.repeat_interleave(heads_per_group, 1)
    return attn_utils.attend(q, keys, values, causal=True)[0]
    # END SOLUTION


# %% check="12.5"
check("12.5", grouped)

# %%
print("neighbours share, ⌊hG/H⌋: heads 0 to 5 use groups", *(h * 2 // 6 for h in range(6)))
print("dealt out in turn, h mod G: heads 0 to 5 use groups", *(h % 2 for h in range(6)))
torch.manual_seed(0)
one, other = torch.randn(2, 4, 8)  # the key projections of two heads, (d, D)
ranks = [torch.linalg.matrix_rank(keys).item() for keys in (one, torch.cat([one, other]))]
print("rank of one key projection {}, of two {}".format(*ranks))

# %% [markdown]
# Trained weights expect that neighbours share; $G = 1$ leaves one set of keys. Two heads tie without loss only if one
# key projection is an invertible matrix times the other. The printed ranks deny it: averaging them is not exact.
#
# ### 12.6
#
# **Given** a map `phi` that turns each query and key into positive features. **Compute** causal attention whose weights
# are proportional to $\varphi(q)^\top \varphi(k)$ and add up to one. **Form:** `linear_attention(q, k, v, phi)`, q and k
# (T, d), v (T, $d_v$), all at once or token by token.
#
# *Predict* the rank of such weights for 16 queries that come after 16 keys, so that no mask is needed, $d = 4$.


# %% answer="12.6"
# my prediction: ...
def linear_attention(q, k, v, phi):
    """q, k (T, d), v (T, dv), phi: (T, d) -> (T, d), positive -> context (T, dv)."""
    # BEGIN SOLUTION
    queries, keys = phi(q), phi(k)
    state, total, contexts = 0, 0, []
    for t in range(len(q)):
        state = state + torch.outer(keys[t], v[t])  # (d, dv)
        total = total + keys[t]  # (d,)
        contexts.append(queries[t] @ state / (queries[t] @ total))
    return torch.stack(contexts)
    # END SOLUTION


# %% check="12.6"
check("12.6", linear_attention)

# %%
torch.manual_seed(1)
q, k = torch.randn(2, 16, 4)  # 16 queries that come after 16 keys, d = 4
weights = {"softmax": (q @ k.T).softmax(-1), "φ = exp": associative_recall.linear_weights(q, k)}
axes = plots.panels(3, height=3.2)
for (name, W), ax in zip(weights.items(), axes, strict=False):
    plots.attention_map(W, [""] * 16, [""] * 16, title=name, colour_bar=False, ax=ax)
spectra = {name: torch.linalg.svdvals(W).clamp(min=1e-17) for name, W in weights.items()}
label = {"xlabel": "number", "ylabel": "singular value", "log": "y"}
plots.curves(range(1, 17), spectra, ax=axes[2], **label).limits(y=(1e-10, 10))
print({name: int(torch.linalg.matrix_rank(W)) for name, W in weights.items()})
print(f"the two differ by up to {torch.sub(*weights.values()).abs().max():.2f}")

# %% [markdown]
# Both have positive rows that add up to one, and they are different weights: linear attention is no cheap softmax. Its
# state has $d \times d_v$ numbers however long the text. The price is in the spectrum: of 16 rows only
# $d = 4$ singular values are no rounding error. The softmax has all 16.
#
# ### 12.7
#
# **Given** the features $\Phi$ of $n$ keys, (n, d), $n > d$. The state after all of them is $\Phi^\top V$, the sum of
# $\varphi(k_i) v_i^\top$. **Find** values, not all zero, after which it is exactly what it would be had all values been
# zero. **Form:** `invisible(features)`, a tensor to a tensor or an array, shape (n, any).


# %% answer="12.7"
def invisible(features):
    """features (n, d), n > d -> values (n, any), not all zero, that leave no trace."""
    # BEGIN SOLUTION
    _, _, rows = torch.linalg.svd(features.T)  # (n, n): the last n - d are sent to zero
    return rows[-1:].T
    # END SOLUTION


# %% check="12.7"
check("12.7", invisible)

# %% [markdown]
# So some values are lost. How many? Store $n$ values of mean 0 and variance 1 and read each with a query of its own. If
# $W$ is the matrix of weights, the mean squared error is $\lVert W - I\rVert^2 / n$ on average over values. Train queries
# and keys of linear attention, $\varphi = \exp$ with its normaliser, to make it small; then the same with features of
# any sign and no normaliser. *Predict* the error for $n = 10$, $d = 4$.


# %%
# my prediction: ...
runs = [
    associative_recall.train(10, 4, associative_recall.linear_weights, seed) for seed in range(3)
]
print(
    "positive features, 10 keys, d = 4:",
    *(f"{associative_recall.squared_error(W):.4f}" for W in runs),
)
print("different rows of these weights:", *(len(W.round(decimals=2).unique(dim=0)) for W in runs))
smallest = associative_recall.softmax_on_a_circle(100).diag().min()
print(f"softmax, 100 keys, d = 2: smallest weight of a query on its own key {smallest:.5f}")
counts = [2, 4, 6, 8, 10, 12, 16, 20, 24]
left, right = plots.panels(2, height=3.4)
label = {"xlabel": "keys n", "ylabel": "squared error"}
bounds = {f"-1 - {d}/n": [max(0, 1 - d / n) for n in counts] for d in (4, 8)}
plots.curves(counts, bounds, **label, ax=left)
for colour, (name, errors) in enumerate(associative_recall.errors_by_count(counts).items()):
    plots.scatter(np.c_[counts, errors], colour=colour, label=name, size=40, **label, ax=left)
    print(f"{name}, errors for n = {counts[0]} to {counts[-1]}:", *np.round(errors, 3))
left.limits(y=(-0.05, 1.9))  # room for the legend
plots.attention_map(runs[0], numbers=False, title="positive features, trained", ax=right)

# %% [markdown]
# Training finds $1 - d/n$ and nothing below. The map shows how: linear attention sorts its keys into $d$ drawers and
# returns the average of a drawer. Softmax reads every key, if its queries are long enough.
#
# **The written part of 12.7** (1 point). How well can $n$ values be recalled from a state of $d$ rows, by *any* rule that
# writes it? Why does softmax escape, and what does it pay? Compare with [07](07_synthesizer.ipynb).

# %% [markdown] written="12.7"
# What is read is $\Phi_Q S$, where $\Phi_Q$ (n, d) does not know the values and the state $S$ is any function of them. So
# the outputs lie in a space of dimension at most $d$, whatever rule writes $S$; for a sum it is a linear map from $n$ numbers
# to $d$, and its kernel holds the values of `invisible`. The best state projects onto that space, which leaves $n - d$ of
# $n$ parts of the variance: the error is at least $1 - d/n$, and zero only for $n \le d$. It is 07's bound with $d$ in
# place of heads. Softmax escapes because its weights may have rank $n$ even for $d = 2$; it pays with a memory that grows
# with $n$.

# %% [markdown] rubric="12.7"
# **Rubric (1 point).** ⅓ a linear map from $n$ numbers to $d$ has a kernel, or: outputs have rank at most $d$ · ⅓ the
# amount: error at least $1 - d/n$, or exact only for $n \le d$ · ⅓ why softmax escapes: its weights may have rank $n$, and
# it pays with memory. "The state forgets old keys" alone: no point, for the order plays no part. Not needed: 07, proofs for
# rules other than the sum, bits.

# %% [markdown]
# ## Common mistakes
#
# Each claim, and the number that refutes it:
#
# 1. "A running sum may be kept in the type of the inputs." It stops growing: in half precision at 2048.
# 2. "Any number may be subtracted." The maximum of the whole tensor is too high for a low row, whose sum is 0; the mean
#    is too low, and the sum infinite.
# 3. "$-10^4$ hides a key." A true score may lie below.
# 4. "Merged blocks and caches approximate." They differ in the last digits at most.
# 5. "Linear attention always saves memory." Only for more keys than half of $d$, and it recalls up to $d$ of them.

# %%
stops = {}
for dtype in (torch.float16, torch.bfloat16, torch.float32):
    powers = [2**power for power in range(60)]
    stuck = [whole for whole in powers if torch.tensor(1.0 * whole, dtype=dtype) + 1 == whole]
    stops[str(dtype).removeprefix("torch.")] = stuck[0]
running = np.cumsum(np.ones(4096, np.float16))[-1]
print("1. adding ones stops at", stops, f"and 4096 equal weights add up to {4096 / running:.0f}")
low_row = torch.tensor([-800.0, -801.0])  # beside a row with scores 0 and 1
steep = torch.tensor([0.0] * 9 + [1e4])
sums = [(low_row - 1).exp().sum().item(), (steep - steep.mean()).exp().sum().item()]
print("2. sums in the unit of the tensor's maximum {}, of the mean {}".format(*sums))
low = torch.tensor([-2e4, -1e4])  # the second key is hidden by -10,000
print(f"3. weight of the hidden key {low.softmax(0)[1]:.0f}, hidden by -inf 0")

# %%
q, k, v = torch.randn(3, 5, 8)
parts = [attn_utils.summary(q @ k[piece].T, v[piece]) for piece in (slice(3), slice(3, 5))]
apart = attn_utils.finish(attn_utils.merge(*parts)) - (q @ k.T).softmax(-1) @ v
print(f"4. two blocks, merged: off by less than 1e-12: {bool(apart.abs().max() < 1e-12)}")
print(f"5. d = 64: state {64 * 64}, cache of 32 keys {32 * 2 * 64}, of 64 keys {64 * 2 * 64}")

# %% [markdown]
# ## Summary
#
# 1. A block of keys acts as one key with score log-sum-exp (1); blocks merge exactly, in any order.
# 2. A cache is exact under a causal mask; it turns operations into memory, and groups of heads take some of it back.
# 3. A state of $d$ rows recalls $n$ values with an error of at least $1 - d/n$; softmax pays in memory instead.

# %% [markdown]
# ## Without notes
#
# 1. What is the state of an empty block, and why must it be that?
# 2. Which tensor does streaming never hold, and which operations does it save?
# 3. Where does the next token stand after 5 tokens? And if the oldest was dropped?
# 4. Why does writing a text wait for memory?
# 5. Which values does a sum of $\varphi(k)v^\top$ not see?
#
# **Next:** this is the end of the course. The translator of [09](09_translation.ipynb) decodes with this cache.
#
# **References.** Milakov and Gimelshein (2018), the online softmax; Dao et al. (2022), FlashAttention; Shazeer (2019) and
# Ainslie et al. (2023), fewer key heads; Katharopoulos et al. (2020), linear attention; Arora et al. (2024), recall.
