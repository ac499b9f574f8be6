# %% [markdown]
# # Gates and memory
#
# > The newest models change attention: a head may stay silent, scores are bounded, few keys are read, a memory is overwritten.
#
# *85 min, needs 13 and 15; a pause is marked in the middle*
#
# After this notebook you can
#
# - **show** that a sink is a gate which sees the keys, and **prove** what a bound on scores costs in a long text,
# - **compute** the error of reading a few keys only, and the best score that a block of unread keys may hold,
# - **implement** the delta rule, and **predict** which memory returns the newest value of a key.

# %%
import itertools
import math

import numpy as np
import sympy as sp
import torch

import attn_utils
from attn_course import check, derive, hint, plots
from attn_course.experiments import overwriting, silent_head

torch.set_num_threads(1)  # the tensors here are small
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## Notation
#
# <!-- notation -->
#
# ## The definition
#
# A softmax gives all of its weight away, even if no key matches. Many models of today add one more score to each row, the
# *sink* $s_0$. It is learned, one number for each head, and its value is zero. With $Z = \sum_i e^{s_i}$ and
# $C = \sum_i e^{s_i} v_i$ over all keys, the output of the head is
#
# $$\frac{C}{Z + e^{s_0}} , \qquad\text{whereas without a sink it is}\qquad c = \frac CZ . \tag{1}$$
#
# *Predict:* five keys have scores 2, 1, 0, 0 and -1. Which $s_0$ gives half of the weight to the sink?

# %%
# my prediction: ...
five_scores = np.array([2.0, 1.0, 0.0, 0.0, -1.0])
log_sum = np.log(np.exp(five_scores).sum())
sinks = np.linspace(-4, 6, 101)


def draw(s_0):
    left, right = plots.panels(2, height=3.2)
    weights = attn_utils.softmax(np.append(five_scores, s_0))
    title = f"the five keys keep {weights[:5].sum():.2f} of the weight"
    bars = {"colours": [0, 1, 2, 3, 4, 6], "xlabel": "key, or the sink", "title": title}
    plots.bars(weights, [*range(5), "sink"], **bars, ax=left)
    sigmoid = {"sigmoid of l - s_0": 1 / (1 + np.exp(sinks - log_sum))}
    label = {"xlabel": "score s_0 of the sink", "ylabel": "weight of all keys"}
    plots.curves(sinks, sigmoid, marks={"your s_0": s_0}, **label, ax=right)


plots.explore(draw, s_0=(-4.0, 6.0, 0.0, 0.25))
print(f"the log-sum-exp of the five scores is {log_sum:.2f}")

# %% [markdown]
# The keys together keep one half of the weight where $s_0$ equals $l$, the log-sum-exp of all scores, which is 2.52 here.
#
# ### 16.1
#
# **Given** a head with a sink, as in (1). **Prove** in the chain `gate` that its output is $c$ times a sigmoid of $l - s_0$.
# The last line has only $c$, $l$ and $s_0$; if it has several exponentials, they are all the same. **Prove** in the chain
# `sink_pull` what the gradient of $s_0$ is; $g$ is the gradient of the loss with respect to the output. The quotient rule gives the first
# line; the last has only $g$, $c$ and $\alpha = Z/(Z + e^{s_0})$, the weight of all keys.

# %% answer="16.1 derive"
C, c, lse, s_0, g = sp.symbols("C c l s_0 g", real=True)
Z, alpha = sp.symbols("Z alpha", positive=True)
gate = derive(
    (C / (Z + sp.exp(s_0)), "definition"),
    # BEGIN SOLUTION
    (c * Z / (Z + sp.exp(s_0)), "$C = cZ$"),
    (c / (1 + sp.exp(s_0 - lse)), "divide above and below by $Z = e^l$"),
    # END SOLUTION
    where={C: c * Z, Z: sp.exp(lse)},
)
sink_pull = derive(
    (-g * C * sp.exp(s_0) / (Z + sp.exp(s_0)) ** 2, "quotient rule"),
    # BEGIN SOLUTION
    (-g * c * (Z / (Z + sp.exp(s_0))) * (sp.exp(s_0) / (Z + sp.exp(s_0))), "$C = cZ$"),
    (-g * alpha * (1 - alpha) * c, "the weights of all keys and of the sink"),
    # END SOLUTION
    # the value of s_0 follows from the definition of alpha
    where={C: c * Z, s_0: sp.log(Z * (1 - alpha) / alpha), alpha: (0, 1)},
)
display(gate, sink_pull)

# %% check="16.1 derive"
check("16.1", gate, sink_pull)

# %% [markdown]
# $s_0$ belongs to a head, but $l$ belongs to a query and all its keys. So the gate differs from token to token, and it opens
# when something matches. The gradient vanishes at both ends, so the sink learns as long as the gate is neither fully open nor
# fully closed.
#
# **The code of 16.1** (1 point). **Given** q (H, T, d), k (H, S, d), v (H, S, $d_v$), `sink` (H,) and a boolean mask (T, S),
# True = may look. **Compute** attention with a sink, for scores of any size. **Form:** `attend_with_sink`, (H, T, $d_v$).
#
# *Predict:* what comes out of a row that sees no key?


# %% answer="16.1 code"
# my prediction: ...
def attend_with_sink(q, k, v, sink, mask):
    """q (H, T, d), k (H, S, d), v (H, S, dv), sink (H,), mask (T, S) -> context (H, T, dv)."""
    T = q.shape[1]
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf)  # (H, T, S)
    # BEGIN SOLUTION
    column = sink[:, None, None].expand(-1, T, 1)
    weights = torch.cat([scores, column], -1).softmax(-1)
    return weights[..., :-1] @ v
    # END SOLUTION


# %% check="16.1 code"
check("16.1", attend_with_sink)

# %% [markdown]
# What is a gate good for? In 15.4 a head had to return the mean number of the partners of its letter, and 0 if there was
# none. If there was none, it put its weight on the start token, until a window hid that token. Here four heads are trained
# for the same task *behind* a window of 16, in texts without a start token:
#
# - *nothing* follows the softmax,
# - *gate of the token*: the output is multiplied by a sigmoid of one learned number for each letter. Such a gate depends on
#   the token alone, as in gated attention,
# - *sink, learned*, and *sink at 0*: a sink as in (1).
#
# *Predict:* which of the four can return 0 where no partner is in sight?

# %%
# my prediction: ...
heads = {kind: silent_head.train(kind) for kind in silent_head.KINDS}
errors = {kind: silent_head.errors(head) for kind, head in heads.items()}
names = {"a partner in sight": "a partner in sight", "none": "no partner in sight"}
groups = {names[where]: [error[where] for error in errors.values()] for where in names}
plots.bars(groups, list(heads), xlabel="", ylabel="mean error", top=1.6)
for kind, runs in silent_head.recorded()["errors"].items():
    silent = [run["window"]["none"] for run in runs]
    print(f"{kind}: without a partner {min(silent):.3f} to {max(silent):.3f} in ten recorded seeds")
print("learned sink, no match among", end=" ")
for count in silent_head.NUM_KEYS:
    print(f"{count:,} keys: {silent_head.error_among(heads['sink, learned'], count):.2f}", end="; ")

# %% [markdown]
# Without a gate the head returns about 1.5 where 0 is right. A gate of the token cannot know whether a partner is in sight,
# so it is wrong in both cases. A sink is right in both cases, even if it is fixed at 0: queries and keys can move all other
# scores. But the exponentials of keys that do not match add up. The more of them there are, the further the gate opens, as
# the last line shows. A window bounds their number.
#
# ### 16.2
#
# **Given** $n$ keys whose scores lie between $-t$ and $t$. One of them has the exponential $A = e^s$, and those of the others
# add up to $R$. **Prove** that its weight is at most $1/(1 + (n-1)e^{-2t})$. **Form:** the chain `at_most`; a line with a relation is written
# `("<=", line, reason)`.

# %% answer="16.2 derive"
A, R, t = sp.symbols("A R t", positive=True)
n = sp.Symbol("n", integer=True, positive=True)
low, high = sp.exp(-t), sp.exp(t)
at_most = derive(
    (A / (A + R), "the weight of the key"),
    # BEGIN SOLUTION
    ("<=", high / (high + R), "its own score is at most t"),
    ("<=", high / (high + (n - 1) * low), "the others have at least -t each"),
    (1 / (1 + (n - 1) * sp.exp(-2 * t)), "divide above and below by $e^t$"),
    # END SOLUTION
    where={A: (low, high), R: ((n - 1) * low, (n - 1) * high)},
)
at_most

# %% check="16.2 derive"
check("16.2", at_most)

# %% [markdown]
# Scores are bounded in two ways. *QK-norm* scales queries and keys to length one and multiplies by $t$. So $t$ is still the
# size of a query, and now it bounds the scores too. A *soft cap* replaces a score $s$ by $t \tanh(s/t)$.
#
# **The code of 16.2** (1 point). `normed_scores(q, k, t)`: q (..., T, d), k (..., S, d) -> (..., T, S). `capped_weights`:
# scores (T, S) and a mask in which every row sees a key -> the softmax weights of the capped scores.
# `needed_bound(n, epsilon)`: the smallest $t$ that allows one of $n$ keys the weight $1 - \varepsilon$.
#
# *Predict:* a hidden score is $-\infty$. What does a soft cap make of it?


# %% answer="16.2 code"
# my prediction: ...
def normed_scores(q, k, t):
    """q (..., T, d), k (..., S, d) -> t times the cosine of each query and key, (..., T, S)."""
    # BEGIN SOLUTION
    q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
    return t * q @ k.mT
    # END SOLUTION


def capped_weights(scores, t, mask):
    """scores (T, S), mask (T, S), True = may look -> weights (T, S)."""
    # BEGIN SOLUTION
    capped = t * torch.tanh(scores / t)
    return capped.masked_fill(~mask, -torch.inf).softmax(-1)
    # END SOLUTION


def needed_bound(n: int, epsilon: float) -> float:
    """The smallest t at which n - 1 rivals can be left with epsilon of the weight."""
    # BEGIN SOLUTION
    return 0.5 * math.log((n - 1) * (1 - epsilon) / epsilon)
    # END SOLUTION


# %% check="16.2 code"
check("16.2", normed_scores, capped_weights, needed_bound)

# %%
lengths = np.geomspace(2, 1e6, 100)
largest = {f"t = {t}": 1 / (1 + (lengths - 1) * np.exp(-2 * t)) for t in (2, 5, 8)}
largest["-t = log n"] = 1 / (1 + (lengths - 1) / lengths**2)
left, right = plots.panels(2, height=3.4)
plots.curves(lengths, largest, xlabel="keys n", ylabel="largest weight", log="x", ax=left)
s = np.linspace(-6, 6, 101)
cap = {"s, capped at 2": 2 * np.tanh(s / 2), "-its slope": 1 - np.tanh(s / 2) ** 2}
plots.curves(s, cap, xlabel="score s", ylabel="", ax=right)
for t in (2, 5):
    weights = {n: 1 / (1 + (n - 1) * np.exp(-2 * t)) for n in (10, 1000)}
    print(f"t = {t}: one of 10 keys has at most {weights[10]:.4f}, one of 1000 {weights[1000]:.4f}")
if check("16.2", normed_scores, capped_weights, needed_bound):
    bounds = [f"{needed_bound(n, 0.01):.2f} for {n:,} keys" for n in (32, 1000, 10**6)]
    print("the bound that allows a weight of 99%:", ", ".join(bounds))

# %% [markdown]
# With $t = 2$ one of ten keys may have the weight 0.8585, but one of a thousand at most 0.0518: copying fails in long texts. The
# needed bound grows with $\log n$, so models learn $t$ or multiply scores by $\log n$ (dashed). Under QK-norm the bound is
# reached only if all rivals point *opposite* to the query. A soft cap has another price: near its ends the slope is almost
# zero, and little gradient comes through.
#
# **A good place for a pause.** The second half is about keys that are not read, and about memories without keys.
#
# ### 16.3
#
# **Given** a query that reads some keys (index 1) and drops the others (index 0), which have the weight $\varepsilon$ in full
# attention. For part $j$ alone, $Z_j$ and $C_j$ are the sums in (1), and $c_j = C_j/Z_j$ is its context. **Prove** what
# *sparse minus full* is. **Form:** the chain `error`; its last line has only $\varepsilon$, $c_1$ and $c_0$.

# %% answer="16.3 derive"
C_1, C_0, c_1, c_0 = sp.symbols("C_1 C_0 c_1 c_0", real=True)
Z_1, Z_0, epsilon = sp.symbols("Z_1 Z_0 epsilon", positive=True)
contexts = {C_1: c_1 * Z_1, C_0: c_0 * Z_0}  # each part has a context of its own
share = {Z_0: Z_1 * epsilon / (1 - epsilon), epsilon: (0, 1)}  # from the definition of epsilon
error = derive(
    (C_1 / Z_1 - (C_1 + C_0) / (Z_1 + Z_0), "sparse minus full"),
    # BEGIN SOLUTION
    (c_1 - (c_1 * Z_1 + c_0 * Z_0) / (Z_1 + Z_0), "put in both contexts"),
    (Z_0 * (c_1 - c_0) / (Z_1 + Z_0), "one fraction"),
    (epsilon * (c_1 - c_0), "$Z_0$ over the sum of both is the dropped weight"),
    # END SOLUTION
    where=contexts | share,
)
error

# %% check="16.3 derive"
check("16.3", error)

# %% [markdown]
# **The code of 16.3** (1 point). **Given** q (T, d), k (S, d), v (S, $d_v$) and `kept` (T, K), the numbers of the keys that
# each query reads, all different in a row, in any order. **Compute** (i) the contexts, (T, $d_v$), for scores of any size. Keys
# that no query keeps must not be read: their rows may hold nan, as in a page of a cache that was never filled. (ii)
# $\varepsilon$ (T,) and the error *sparse minus full* (T, $d_v$). Here every query drops a key, and six digits must be right
# even if the error is $10^{-25}$. **Form:** two functions.
#
# *Predict:* can `sparse - full`, computed as a difference, have six right digits there?


# %% answer="16.3 code"
# my prediction: ...
def sparse_attend(q, k, v, kept):
    """q (T, d), k (S, d), v (S, dv), kept (T, K) -> context (T, dv) over the kept keys of each query."""
    # BEGIN SOLUTION
    keys, values = k[kept], v[kept]  # (T, K, d), (T, K, dv)
    weights = (torch.einsum("td,tkd->tk", q, keys) / q.shape[-1] ** 0.5).softmax(-1)
    return torch.einsum("tk,tkv->tv", weights, values)
    # END SOLUTION


def error_of_dropping(q, k, v, kept):
    """The same shapes -> the dropped weight epsilon (T,), and sparse minus full (T, dv)."""
    scores = q @ k.T / q.shape[-1] ** 0.5
    is_kept = torch.zeros(scores.shape, dtype=torch.bool).scatter(1, kept, True)  # (T, S)
    # BEGIN SOLUTION
    ours = scores.masked_fill(~is_kept, -torch.inf)
    others = scores.masked_fill(is_kept, -torch.inf)
    epsilon = torch.sigmoid(others.logsumexp(-1) - ours.logsumexp(-1))
    return epsilon, epsilon[:, None] * (ours.softmax(-1) @ v - others.softmax(-1) @ v)
    # END SOLUTION


# %% check="16.3 code"
check("16.3", sparse_attend, error_of_dropping)

# %%
rng = np.random.default_rng(5)
left, right = plots.panels(2, height=3.8)
normal = np.sort(rng.normal(size=4096))[::-1]
kept_share = np.arange(1, 4097) / 4096
dropped = {f"spread {x}": 1 - np.cumsum(attn_utils.softmax(x * normal)) for x in (1, 2, 3)}
label = {"xlabel": "share of the keys that are kept", "ylabel": "dropped weight", "log": "x"}
shown = np.unique(np.geomspace(1, 4096, 200).astype(int)) - 1
lines = {name: y[shown] for name, y in dropped.items()}
plots.curves(kept_share[shown], lines, **label, ax=left)
scores, values = rng.normal(size=10), rng.normal(size=(10, 2))
weights = attn_utils.softmax(scores)
points = []  # of every set of four keys: dropped weight, and the length of the error
for kept in map(list, itertools.combinations(np.argsort(-scores), 4)):
    sparse = attn_utils.softmax(scores[kept]) @ values[kept]
    points.append([1 - weights[kept].sum(), np.linalg.norm(sparse - weights @ values)])
label = {"xlabel": "dropped weight", "ylabel": "length of the error"}
better = [point for point in points if point[1] < points[0][1]]
plots.scatter(points, size=12, label="sets of four keys", **label, ax=right)
plots.scatter(better, size=14, colour=2, label="a smaller error", **label, ax=right)
plots.scatter(points[:1], colour=1, size=90, label="top four", **label, ax=right)
best = ", ".join(f"{1 - y[63]:.2f}" for y in dropped.values())
print(f"the best 64th of the keys holds {best} of the weight for spread 1, 2, 3")
print(f"{len(better)} of {len(points)} sets of four have a smaller error than the top four")

# %% [markdown]
# The first picture: if scores are spread little, the best 64th of the keys holds little of the weight, so few keys are not
# enough. The second: the top four of ten keys drop the least weight of all sets of four. But the error also depends on the
# values, through $c_1 - c_0$, and some sets that drop more weight have a smaller error (green).
#
# ### 16.4
#
# Which keys have high scores, if they may not be read? *Quest* stores, for each block of keys, the least and the greatest value
# of each coordinate.
#
# **Given** q (T, d), and `low`, `high` (N, d): every coordinate of the `size` keys of block $i$ lies between `low[i]` and
# `high[i]`, and nothing else is known. **Compute** the smallest number that the log-sum-exp of the block's scores
# $q \cdot k / \sqrt d$ never exceeds. **Form:** `block_bound`, (T, N).


# %% answer="16.4"
def block_bound(q, low, high, size):
    """q (T, d), low, high (N, d), `size` keys in each block -> bounds (T, N)."""
    # BEGIN SOLUTION
    best = q.clamp(min=0) @ high.T + q.clamp(max=0) @ low.T
    return best / q.shape[-1] ** 0.5 + math.log(size)
    # END SOLUTION


# %% check="16.4"
check("16.4", block_bound)

# %% [markdown]
# A block whose bound is low can be left out safely, because none of its keys has a high score. The reverse does not hold:
# the corner that gives the bound may hold no key, so a block with a high bound need not be worth reading.
#
# ### 16.5
#
# The linear attention of 15.6 only ever *adds* to its state. The **delta rule** overwrites: the state $F$ fades to
# $\omega F$, and then becomes $F + \eta\, k\,(v - F^\top k)^\top$, where the key has length one. A query reads $F^\top q$.
#
# **Given** values that are numbers, $\omega = 1$, the readings $r_q = \sum_i q_i F_i$ and $r_k = \sum_i k_i F_i$ of query and
# key before the write, and their score $s = \sum_i q_i k_i$. **Prove** what $q$ reads after the write. **Form:** the chain
# `reading`; its last line has no sum.

# %% answer="16.5 derive"
F, k, q = (sp.IndexedBase(name) for name in "Fkq")
i, d = sp.symbols("i d", integer=True, positive=True)
r_q, r_k, s, v, eta = sp.symbols("r_q r_k s v eta", real=True)
of_query, of_key, score = (sp.Sum(x, (i, 1, d)) for x in (q[i] * F[i], k[i] * F[i], q[i] * k[i]))
reading = derive(
    (sp.Sum(q[i] * F[i] + eta * (v - r_k) * q[i] * k[i], (i, 1, d)), "multiplied out"),
    # BEGIN SOLUTION
    (of_query + eta * (v - r_k) * score, "two sums; take out what does not depend on $i$"),
    (r_q + eta * s * (v - r_k), "the names of the sums"),
    # END SOLUTION
    where={r_q: of_query, r_k: of_key, s: score},
)
reading

# %% check="16.5 derive"
check("16.5", reading)

# %% [markdown]
# The change is the strength $\eta$ times the score times the surprise, $v - r_k$. A query at right angles to the key notices
# nothing. The key itself reads $(1 - \eta)\, r_k + \eta v$ after the write, so at $\eta = 1$ the old value is gone.
#
# **The code of 16.5** (1 point). **Form:** `delta_step(state, key, value, eta, keep)`, which returns the new state, and
# `delta_read(state, query)`, ($d_v$,). Keys have length one. The first state is a tensor (d, $d_v$); what your function
# returns may be of any form that `delta_read` understands. $\eta$ is `eta` and $\omega$ is `keep`. The old state must not
# be changed.
#
# *Predict:* which comes first, fading or reading the old value?


# %% answer="16.5 code"
# my prediction: ...
def delta_step(state, key, value, eta, keep):
    """state (d, dv), key (d,) of length one, value (dv,), numbers eta and keep -> the new state."""
    # BEGIN SOLUTION
    state = keep * state
    return state + eta * torch.outer(key, value - key @ state)
    # END SOLUTION


def delta_read(state, query):
    """What a query (d,) reads, (dv,)."""
    # BEGIN SOLUTION
    return query @ state
    # END SOLUTION


# %% check="16.5 code"
check("16.5", delta_step, delta_read)


# %%
values = torch.tensor([1.0, 0.8, -0.6, -1.0, 0.5, 0.9])  # of key a and key b in turn
newest = values[::2].repeat_interleave(2).numpy()  # what key a should read after each write
done = bool(check("16.5", delta_step, delta_read))


def draw(angle, eta):
    turn = math.radians(angle)
    a, b = torch.tensor([1.0, 0.0]), torch.tensor([math.cos(turn), math.sin(turn)])
    adding, state, series = torch.zeros(2, 1), torch.zeros(2, 1), {"linear": [], "delta rule": []}
    for step, value in enumerate(values):
        key = b if step % 2 else a
        adding = adding + torch.outer(key, value[None])
        state = delta_step(state, key, value[None], eta, 1.0) if done else adding
        series["linear"].append((a @ adding).item())
        series["delta rule"].append(delta_read(state, a).item() if done else 0.0)
    for (name, read), ax in zip(series.items(), plots.panels(2, height=3.2), strict=True):
        both = {"newest value of key a": newest, name: read}
        label = {"xlabel": "writes", "ylabel": "read by key a", "dots": True}
        plots.curves(range(1, 7), both, nested=True, **label, ax=ax).limits(y=(-2, 2.6))


plots.explore(draw, angle=(30, 90, 90, 15), eta=(0.25, 1.75, 1.0, 0.25))

# %% [markdown]
# Keys *a* and *b* are written in turn. At right angles and full strength the delta rule reads the newest value of *a* exactly,
# and linear attention the sum of all its values. With oblique keys a write of *b* disturbs what *a* reads; a smaller $\eta$
# disturbs less and learns more slowly.
#
# ### 16.6
#
# Now memories are trained. At each of 32 steps one of six letters gets a new value (four numbers of variance 1), and the
# *newest* value of some letter is asked for. Queries and keys are learned, and in three of the four memories one number
# more: how much the state fades, how much scores fall with distance, or $\eta$. *Predict* the squared error of linear
# attention for a letter written four times.
#
# **Explain** the column "4" of the bars for all four memories, and say what each memory pays (1 point). The second figure
# has one of the prices: the error of the delta rule if there are more letters.

# %%
# my prediction: ...
memories = {kind: overwriting.train(kind) for kind in overwriting.KINDS}
times = [str(m) for m in overwriting.TIMES_WRITTEN]
bars = {}
for kind, memory in memories.items():
    errors = overwriting.errors(memory, overwriting.TEST_LENGTH)
    bars[kind] = [errors[m] for m in times]
    seeds = [run["96"]["4"] for run in overwriting.recorded()["errors"][kind]]
    print(f"{kind}, four writes: {errors['4']:.3f}", end=", ")
    print(f"in ten recorded seeds {min(seeds):.3f} to {max(seeds):.3f}")
label = {"xlabel": "how often the letter was written", "ylabel": "squared error"}
plots.bars(bars, times, **label, ax=plots.panels(1, width=8.4, height=3.4)[0])
by_letters = overwriting.recorded()["delta_rule_by_letters"]
counts = [int(n) for n in by_letters]
series = {"delta rule, d = 8, mean of three seeds": [np.mean(x) for x in by_letters.values()]}
series["-lower bound 1 - d/n"] = [max(0, 1 - 8 / n) for n in counts]
plots.curves(counts, series, xlabel="letters n", ylabel="squared error", dots=True)
print(f"eta learned: {memories['delta rule'].strength:.3f}")

# %% [markdown] written="16.6"
# Linear attention weighs all writes of a letter alike, so at best it returns their mean, and the mean of four values misses the
# newest one by $1 - \frac14 = \frac34$. A state that fades favours new values, but it forgets *all* letters with time, the old
# and the useful ones, so it has to compromise. Softmax with a slope puts its weight on the newest key of the letter, and is
# nearly right. The delta rule replaces what this key holds, and leaves other keys alone: its error is zero. Linear and fading
# memories and the delta rule keep a state of fixed size, $d\, d_v$ numbers; softmax keeps all keys and values, which grow with
# the text. The delta rule pays too: it has room for $d$ keys only, and more letters come back with an error of at least
# $1 - d/n$.

# %% [markdown] rubric="16.6"
# **Rubric (1 point).** ⅓ linear attention weighs all writes of a letter alike, so it returns their mean: $1 - \frac1m = \frac34$ ·
# ⅓ fading forgets all letters with time, where the delta rule replaces what *this* key holds · ⅓ the price: softmax a memory
# that grows with the text, the delta rule room for $d$ keys only. "The delta rule has a better optimiser" or "it forgets
# faster": no point. Not needed: the number for fading, bits, $d\,d_v$ exactly.

# %% [markdown]
# ## Summary
#
# 1. A sink multiplies the context by a sigmoid of $l - s_0$ (1): a gate that sees the keys.
# 2. Scores between $-t$ and $t$ allow one of $n$ keys at most the weight $1/(1 + (n-1)e^{-2t})$. Dropping keys costs their weight
#    times the difference of two contexts.
# 3. The delta rule is exact for up to $d$ orthogonal keys, whatever was written before; a sum of writes returns a mean at best.
#
# ## Common mistakes
#
# 1. "A sink with score 0 does nothing." Among five keys of score 0 it takes one sixth of the weight.
# 2. "First hide, then cap." The cap turns minus infinity into $-t$, and the hidden key has weight again.
# 3. "A mask keeps unread rows out." A weight of 0 times nan is nan.
# 4. "The delta rule is decay." Decay by $1 - \eta$ also loses what an orthogonal key holds.
# 5. "The mean of its keys tells what a block holds." One key along the query hides among the 64 of its block. The cell
#    below counts how often that block is not among the four, of 32, whose mean keys score highest.

# %%
five = torch.zeros(6).softmax(-1)
print(f"1. the sink's weight: {five[-1]:.3f}")
hidden_first = 2 * torch.tanh(torch.tensor([0.0, -torch.inf]) / 2)
print(f"2. weight of the hidden key, t = 2: {hidden_first.softmax(-1)[1]:.3f}")
print("3. 0 times nan is", (torch.tensor([1.0, 0.0]) @ torch.tensor([5.0, torch.nan])).item())
state, a = torch.eye(2), torch.tensor([1.0, 0.0])  # key b, at right angles, holds [0, 1]
decayed, delta = 0.5 * state, state + 0.5 * torch.outer(a, 0 - a @ state)
rng, missed = np.random.default_rng(6), 0
for _ in range(200):
    q, keys = rng.normal(size=64), rng.normal(size=(32, 64, 64))  # 32 blocks of 64 keys
    keys[7, 0] = 16 * q / np.linalg.norm(q)  # in block 7
    missed += 7 not in np.argsort(-keys.mean(1) @ q)[:4]
print(f"4. key b keeps {decayed[1, 1]:.1f} under decay, {delta[1, 1]:.1f} under the delta rule")
print(f"5. the block of the best key is missed in {missed} of 200 draws")

# %% [markdown]
# ## Without notes
#
# 1. On what does the gate of a sink depend, and on what does gated attention?
#    <details><summary>Answer</summary>On the query and all its keys; on the token alone.</details>
# 2. Why must a bound on scores grow with the length?
#    <details><summary>Answer</summary>The lead is at most 2t, and against n rivals it must grow with log n.</details>
# 3. Why is top-k not always the best set?
#    <details><summary>Answer</summary>The error is the dropped weight times a difference of contexts, which depends on values.</details>
# 4. Which corner of a box has the highest score?
#    <details><summary>Answer</summary>High where the query is positive, low where it is negative.</details>
# 5. What does a query at right angles to the key notice of a write?
#    <details><summary>Answer</summary>Nothing: the score is zero.</details>
#
# ## Where this goes
#
# - *Gated attention*: the output of each head times a sigmoid of the token; [Qiu et al. (2025)](https://arxiv.org/abs/2505.06708).
# - *Differential attention*: one softmax minus another, to cancel noise; [Ye et al. (2024)](https://arxiv.org/abs/2410.05258). Two
#   readers could not reproduce its gain ([one](https://github.com/microsoft/unilm/issues/1637),
#   [the other](https://github.com/microsoft/unilm/issues/1663)).
# - *Native sparse attention*: blocks are compressed, chosen and read, from the start of training;
#   [Yuan et al. (2025)](https://arxiv.org/abs/2502.11089).
# - *Gated delta nets*: fading and the delta rule together, in parallel form;
#   [Yang, Kautz and Hatamizadeh (2025)](https://arxiv.org/abs/2412.06464).
# - *Scalable softmax*: scores times $\log n$; [Nakanishi (2025)](https://arxiv.org/abs/2501.19399).
#
# **References.** [Xiao et al. (2024)](https://arxiv.org/abs/2309.17453), sinks;
# [Henry et al. (2020)](https://arxiv.org/abs/2010.04245), QK-norm; [Gemma Team (2024)](https://arxiv.org/abs/2408.00118), soft caps;
# [Tang et al. (2024)](https://arxiv.org/abs/2406.10774), Quest; [Schlag et al. (2021)](https://arxiv.org/abs/2102.11174), the delta rule.
#
# This is the end of the course.
