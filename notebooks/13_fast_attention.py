# %% [markdown]
# <!-- Made by "attn build" from solutions/13_fast_attention.py. Instructors edit that file. -->
# # Fast attention
#
# > The same attention, and the same gradient, with far less memory: what must be kept, and what can be computed again?
#
# *75 min, 4 questions, 10 bonus points, needs 06*
#
# After this notebook you can
#
# - **derive** how two halves of a softmax become one, and **implement** attention that never holds all scores,
# - **derive** the gradient for one score, and **implement** the gradient of attention without autograd,
# - **predict** what a training step must keep, and **compute** the rest again, block by block.

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
import numpy as np
import sympy as sp
import torch

import attn_utils
from attn_course import check, derive, drivers, hint, plots

torch.set_num_threads(1)  # the tensors here are small
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $M_j$ | the largest score of block $j$ | number | `M1` |
# | $Z_j$, $l_j$ | its sum of $e^{\text{score} - M_j}$, and its log-sum-exp $M_j + \log Z_j$ | numbers | `Z1`, `lse` |
# | $g$ | the gradient of the loss with respect to the context | $(T, d_v)$ | `d_out` |
# | $Z_0$, $C_0$ | sums over all *other* keys: of $e^{\text{score}}$, and of that times the value | numbers | `Z_0`, `C_0` |
#
# <!-- notation -->
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $q_i$ | a query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what the query is compared with | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $d$, $d_v$ | the width of queries and keys, and of values | numbers | `d` |
# | $\alpha_i$ | the weight of item $i$, or of several items together | $(n,)$ | `weights` |
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
# | $T$ | the number of queries, which is that of the tokens in self-attention | number | `T` |
# | $S$ | the number of keys | number | `S` |
# | $D$ | the width of a token | number | `D` |
# | $H$ | the number of heads | number | `num_heads` |
#
# </details>
#
# Queries, keys and values are tensors: `q` $(T, d)$, `k` $(S, d)$, `v` $(S, d_v)$; `P` has all weights and `out` all contexts.
# $c_j$ is the context of block $j$ alone, and $\alpha$ can be the weight of a whole block.

# %% [markdown]
# ## The definition
#
# Split the keys of one query into two blocks. Each block computes its own softmax and its own context $c_j$, and subtracts
# its own largest score $M_j$ first, so that no exponential overflows. The exponentials of the block then add up to $Z_j$;
# without the subtraction they would add up to $e^{M_j} Z_j$. The context of all keys together is
#
# $$c = \alpha\, c_1 + (1-\alpha)\, c_2, \qquad \alpha = \frac{e^{M_1} Z_1}{e^{M_1} Z_1 + e^{M_2} Z_2} . \tag{1}$$
#
# *Predict:* block 1 has two keys with score 0, block 2 has one key with score 1. Which block has the larger weight?


# %%
# my prediction: ...
def draw(lead):
    common = np.array([2.0, np.exp(lead)]) / max(1.0, np.exp(lead))
    groups = {"own maximum subtracted": [2, 1], "larger maximum subtracted": common}
    groups["weights {:.2f} and {:.2f}".format(*common / common.sum())] = common / common.sum()
    plots.bars(groups, ["block 1: 0, 0", f"block 2: {lead:.1f}"], ylabel="", xlabel="", top=2.6)


plots.explore(draw, lead=(-3.0, 3.0, 1.0, 0.1))

# %% [markdown]
# $Z_1 = 2$ and $Z_2 = 1$ cannot be compared, because each block has subtracted its own maximum. Once both subtract the
# larger one, the single key is ahead, though the other block has two keys. Move the slider until both weights are one half:
# the score of block 2 is then $\log 2$, not 0.
#
# ### 13.1 Two halves of a softmax
#
# *derive + code · 3 bonus points · 12 min*
#
# **Given** equation (1). **Prove** that $\alpha$ is a sigmoid of $l_1 - l_2$. **Form:** the chain `share`, which starts at
# the definition. Its last line contains only $l_1$ and $l_2$, both in the same exponential.

# %%
M1, M2, l1, l2 = sp.symbols("M_1 M_2 l_1 l_2", real=True)
Z1, Z2 = sp.symbols("Z_1 Z_2", positive=True)
definition = sp.exp(M1) * Z1 / (sp.exp(M1) * Z1 + sp.exp(M2) * Z2)
log_sums = {M1: l1 - sp.log(Z1), M2: l2 - sp.log(Z2)}  # l_j = M_j + log Z_j

# %% answer="13.1 derive"
share = derive(
    (definition, "definition"),
    # your steps here
    where=log_sums,
)
share

# %% check="13.1 derive"
check("13.1", share)

# %% [markdown]
# So a whole block acts as one key with score $l_j$ and value $c_j$. Blocks merge exactly, in any order, one by one or on
# many processors. FlashAttention merges blocks that fit into fast memory.
#
# **The code of 13.1** (2 points). **Given** `summary`: from the scores $(S,)$ of one query and the values $(S, d_v)$ of a
# block it makes a *state*, the three things that are kept. **Form:** `merge(a, b)` makes one state out of two, and
# `finish(state)` returns the context $(d_v,)$. A block may be empty, its keys may be hidden (score $-\infty$), and scores may
# be as large as $\pm 10^5$. You may change `summary`, as long as the size of a state is fixed.


# %% answer="13.1 code"
def summary(scores, values):
    """What is kept of a block. scores (S,), S >= 0, values (S, dv) -> a state."""
    largest = torch.cat([torch.tensor([-torch.inf]), scores]).max()  # -inf where nothing is seen
    exps = (scores - largest).exp().nan_to_num(0.0)  # -inf minus -inf is nan: no weight
    return largest, exps.sum(), exps @ values


def merge(a, b):
    """The state of the keys of both blocks together."""
    raise NotImplementedError("your answer here")


def finish(state):
    """The context (dv,) of all keys that the state has seen."""
    raise NotImplementedError("your answer here")


# %% check="13.1 code"
check("13.1", summary, merge, finish)

# %% [markdown]
# ### 13.2 One block at a time
#
# *code · 2 bonus points · 8 min*
#
# **Given** q (..., T, d), k (..., S, d), v (..., S, $d_v$) and a block size that need not divide $S$. **Compute** softmax
# attention without a mask, never holding all $T \times S$ scores. **Form:** `stream(q, k, v, block)`, shape
# (..., T, $d_v$). Use torch's basic operations, not ready-made attention: the check watches the largest tensor that
# you make, and how many numbers you hold at a time. You may use another loop than the given one.
#
# *Predict:* does `stream` need fewer multiplications? How does its largest tensor grow with the length?


# %% answer="13.2"
# my predictions: ...
def stream(q, k, v, block):
    """q (..., T, d), k (..., S, d), v (..., S, dv) -> context (..., T, dv), `block` keys at a time."""
    largest = q.new_full((*q.shape[:-1], 1), -torch.inf)  # of each row, no key seen yet
    total, output = 0, 0
    for start in range(0, k.shape[-2], block):
        keys, values = (x[..., start : start + block, :] for x in (k, v))
        # 1. the scaled scores of this block, and the new maximum of each row
        # 2. rescale total and output to the new maximum, and add the block
        raise NotImplementedError("your answer here")
    return output / total


# %% check="13.2"
check("13.2", stream)


# %%
from torch.utils.flop_counter import FlopCounterMode

ways = {"all scores at once": lambda q, k, v: (q @ k.mT / 4).softmax(-1) @ v}
if check("13.2", stream):
    ways["your stream, blocks of 64"] = lambda q, k, v: stream(q, k, v, 64)
lengths = [64, 128, 256, 512, 1024, 2048]
sizes = {}
for name, way in ways.items():
    with FlopCounterMode(display=False) as counter:
        way(*torch.zeros(3, 1024, 16))
    sizes[name] = [drivers.run_watched(way, np.zeros((3, T, 16)))["largest"] for T in lengths]
    print(f"{name}: {counter.get_total_flops():,} operations at T = S = 1024;", end=" ")
    print(f"at 2048 the largest tensor is {sizes[name][-1] / sizes[name][-2]:g} times as large")
label_of_sizes = {"xlabel": "T = S", "ylabel": "numbers in the largest tensor", "log": "xy"}
plots.curves(lengths, sizes, title="the way there, d = 16", **label_of_sizes)

# %% [markdown]
# Twice the length means four times as many scores: a line of slope 2. The stream has slope 1. It is exact and takes just as
# many operations, the printed $4TSd$. What it saves is memory, and the time that it takes to move numbers to and from the
# memory. The second half of this notebook does the same for the gradient.

# %% [markdown]
# ### 13.3 The gradient of attention
#
# *derive + code · 3 bonus points · 12 min*
#
# Training needs the way back: from $g$, the gradient of the loss with respect to the context, to the gradients of q, k, v.
#
# **Given** one query and one key with score $s$, whose value $v$ is one number. All other keys enter through $Z_0$ and
# $C_0$: $c = (e^s v + C_0)/(e^s + Z_0)$. The quotient rule gives the first line. **Prove** that the derivative of the loss
# with respect to $s$ is $g\,\alpha\,(v - c)$. **Form:** the chain `pull`; its last line has only $g$, $\alpha$, $v$ and $c$.

# %%
s, v, c, g, C_0 = sp.symbols("s v c g C_0", real=True)
Z_0, alpha = sp.symbols("Z_0 alpha", positive=True)
total = sp.exp(s) + Z_0
quotient_rule = (g * v * sp.exp(s) * total - g * (sp.exp(s) * v + C_0) * sp.exp(s)) / total**2
known = {c: (sp.exp(s) * v + C_0) / total, alpha: sp.exp(s) / total}  # the two definitions

# %% answer="13.3 derive"
pull = derive(
    (quotient_rule, "quotient rule"),
    # your steps here
    where=known,
)
pull

# %% check="13.3 derive"
check("13.3", pull)

# %% [markdown]
# The derivative compares the value of the key with the context. For vectors, $g\,(v - c)$ is a dot product. Let $P$ be the
# matrix of all weights, and $dP = g\,v^\top$ the gradient with respect to it. The gradient with respect to the scores is
#
# $$dS = P \odot (dP - g \cdot c) , \tag{2}$$
#
# where $g \cdot c$ is one number for each query, $g_t \cdot c_t$, subtracted from its whole row.
#
# **The code of 13.3** (2 points). **Given** q (..., T, d), k (..., S, d), v (..., S, $d_v$) and `d_out` of the context's
# shape, for attention without a mask. **Compute** the gradients of q, k and v. **Form:**
# `attention_backward(q, k, v, d_out)`, three tensors. The check compares them with the exact gradients. Meanwhile
# `torch.autograd` and `torch.func` refuse to differentiate, so write the three products yourself.


# %% answer="13.3 code"
def attention_backward(q, k, v, d_out):
    """q (..., T, d), k (..., S, d), v (..., S, dv), d_out (..., T, dv) -> dq, dk, dv, shaped as q, k, v."""
    scale = q.shape[-1] ** -0.5
    P = (scale * q @ k.mT).softmax(-1)  # (..., T, S)
    # 1. dP, then dS by (2): one number for each query is subtracted, so keep its axis
    # 2. three products; two of them are multiplied by the scale
    raise NotImplementedError("your answer here")


# %% check="13.3 code"
check("13.3", attention_backward)

# %%
torch.manual_seed(3)
q, k, v, d_out = torch.randn(4, 4, 4)
scores = (q @ k.T / 2).requires_grad_()
P = scores.softmax(-1)
dP = d_out @ v.T
(dS,) = torch.autograd.grad(P, scores, dP)
tables = {"weights P": P.detach(), "dP = g v": dP, "dS = P (dP - g c)": dS}
for (name, table), ax in zip(tables.items(), plots.panels(3, height=3.2), strict=True):
    label = {"xlabel": "key", "ylabel": "query", "colour_bar": False}
    plots.matrix(table, title=name, numbers=True, top=3, signed=True, **label, ax=ax)
print("rows of dS add up to", *(abs(round(total, 12)) for total in dS.sum(1).tolist()))

# %% [markdown]
# Each row of $dS$ adds up to 0, as printed: raising all scores of a query by the same amount changes nothing, so the
# gradient has no part in that direction. Where the weight is small, even a large entry of $dP$ gives a small one in $dS$.

# %% [markdown]
# ### 13.4 The gradient, block by block
#
# *code · 2 bonus points · 8 min*
#
# There are as many weights as scores, so a stream cannot keep them for the way back. It keeps two things for each query:
# its context `out`, and `lse`, the log-sum-exp of its *scaled* scores.
#
# **Given** q (T, d), k (S, d), v (S, $d_v$), `out` (T, $d_v$), `lse` (T,), `d_out` (T, $d_v$), `block`. **Compute** the
# same three gradients, but never hold $T \times S$ numbers. **Form:** `stream_backward`, in torch's basic operations.
#
# *Predict:* the number $g \cdot c$ in (2) belongs to a whole row. Can it be known before any block is looked at?


# %% answer="13.4"
# my prediction: ...
def stream_backward(q, k, v, out, lse, d_out, block):
    """The gradients of q, k and v, `block` keys at a time; shapes as above."""
    scale = q.shape[-1] ** -0.5
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    # 1. what is subtracted in (2), one number for each query
    raise NotImplementedError("your answer here")
    for start in range(0, len(k), block):
        part = slice(start, start + block)
        # 2. the weights of this block again, from its scores and lse; then dP and dS
        # 3. dk[part] and dv[part] come from this block alone; dq gets a part from every block
        raise NotImplementedError("your answer here")
    return dq, dk, dv


# %% check="13.4"
check("13.4", stream_backward)


# %%
ways = {"weights kept": lambda q, k, v, out, lse, d_out: attention_backward(q, k, v, d_out)}
ways["weights computed again, blocks of 64"] = lambda *saved: stream_backward(*saved, 64)
done = bool(check("13.3", attention_backward)) and bool(check("13.4", stream_backward))
sizes = {}
for name, way in ways.items() if done else ():
    found = []
    for T in lengths:
        saved = [np.zeros((T, 16))] * 4 + [np.zeros(T), np.zeros((T, 16))]
        found.append(drivers.run_without_autograd(way, saved, watched=True)["largest"])
    sizes[name] = found
    print(f"{name}: the largest tensor at T = S = 2048 holds {found[-1]:,} numbers")
if sizes:
    plots.curves(lengths, sizes, title="the way back, d = 16", **label_of_sizes)

# %% [markdown]
# The way back has the same two slopes as the way there. Blocks are independent of each other, because $g \cdot c$ can be
# computed without the keys: the context already contains the sum over all of them. Count the products in your loop: the
# weights again, dP, dq, dk and dv. With kept weights the first would not be needed, so the price is a quarter more
# operations. In return, no $T \times S$ tensor waits in memory between the way there and the way back.

# %% [markdown]
# ## Common mistakes
#
# 1. "A running sum may have the precision of the inputs." In float16 a sum of ones stops growing at 2048. So 4096 equal
#    scores have weights 1/2048: their sum is 2.
# 2. "Any number may be subtracted from the scores." The maximum of the whole tensor is too large for a row whose scores
#    lie 800 below it: the sum of that row is then 0.
# 3. "Merged blocks are an approximation." They differ from one softmax over all keys in the last digits at most.
# 4. "A score changes only its own weight." It also changes the other weights of its row. Line 4 below prints the error of
#    leaving them out, which is what the others contribute.

# %%
running = np.cumsum(np.ones(4096, np.float16))[-1]
print(f"1. 4096 ones in float16 add up to {running:.0f}, the weights to {4096 / running:.0f}")
low_row = torch.tensor([-800.0, -801.0])  # beside a row whose maximum is 0
print("2. the sum of a low row, the tensor's maximum subtracted:", low_row.exp().sum().item())
parts = [attn_utils.summary(q @ k[piece].T, v[piece]) for piece in (slice(1), slice(1, 4))]
apart = attn_utils.finish(attn_utils.merge(*parts)) - (q @ k.T).softmax(-1) @ v
print(f"3. two blocks, merged: off by less than 1e-12: {bool(apart.abs().max() < 1e-12)}")
print(f"4. without the other weights dS is off by up to {(P * (1 - P) * dP - dS).abs().max():.2f}")

# %% [markdown]
# ## Summary
#
# 1. A block of keys acts as one key whose score is the log-sum-exp of the block (1); blocks merge exactly, in any order.
# 2. The gradient of a score compares the value of its key with the context (2); it needs the inputs, `out` and `lse`.
# 3. Neither pass needs all weights at once: memory grows with the length, not with its square.

# %% [markdown]
# ## Without notes
#
# 1. What is the state of an empty block, and why?
# 2. Which tensor does streaming never hold, and how many operations does it save?
# 3. Why does a row of $dS$ add up to zero?
# 4. Which two things are kept for the way back?
# 5. Why is $dq$ a sum over blocks, and $dk$ not?
#
# <details><summary>Short answers</summary>
#
# 1. Its maximum is $-\infty$, its sum and its output are 0, so that merging it changes nothing.
# 2. The matrix of all scores, $T \times S$; it saves memory and no operation.
# 3. Raising all scores of a query by the same amount changes no weight.
# 4. The context and the log-sum-exp of each query.
# 5. A query looks at the keys of every block; a key belongs to one block and gets all its gradient there.
#
# </details>
#
# **Next:** [14](14_induction.ipynb) looks at what heads learn, [15](15_decoding.ipynb) at what a decoder keeps.
#
# **References.** [Milakov and Gimelshein (2018)](https://arxiv.org/abs/1805.02867), the online softmax; [Dao et al.
# (2022)](https://arxiv.org/abs/2205.14135), FlashAttention; [Dao (2023)](https://arxiv.org/abs/2307.08691),
# FlashAttention-2.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
