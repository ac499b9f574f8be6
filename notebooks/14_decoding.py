# %% [markdown]
# <!-- Made by "attn build" from solutions/14_decoding.py. Instructors edit that file. -->
# # Decoding
#
# > What must a model keep of the text that it has written: all keys, fewer keys, the newest keys, shorter keys, or none?
#
# *84 min, 7 questions, 10 bonus points, needs 06, and 11 for its rotations; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** a cache that is exact, and **compute** what it saves and what it costs,
# - **implement** four ways to keep less, and **show** which of them change the result,
# - **prove** what a state of fixed size cannot recall, and **predict** by how much it fails.

# %%
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )

# %%
import numpy as np
import torch

import attn_utils
from attn_course import check, hint, plots
from attn_course.experiments import associative_recall, attention_sink

torch.set_num_threads(1)  # the tensors here are small
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $T$ | tokens so far | | `T` |
# | $q$, $k$, $v$ | queries, keys, values: tensors | $(T, d)$, $(T, d)$, $(T, d_v)$ | `q`, `k`, `v` |
# | $H$, $G$ | heads, groups of heads that share keys and values | | `groups` |
# | $z_t$, $d_z$ | the latent of token $t$, and its width | $(d_z,)$ | `latents` |
# | $R(p)$ | the rotation by position $p$, as in 11 | $(d, d)$ | `rotate` |
# | $\varphi$, $\Phi$ | feature map, features of $n$ keys | $(n, d)$ | `phi`, `features` |
#
# ## The definition
#
# When a model writes a text, each new token attends to itself and to all tokens before it,
#
# $$c_t = \sum_{j \le t} \alpha_{tj}\, v_j , \qquad \alpha_{tj} \propto e^{q_t^\top k_j / \sqrt d} , \tag{1}$$
#
# so the keys and values of old tokens are needed again at every step, but their queries never are.

# %% [markdown]
# ### 14.1 What need not be computed again
#
# *code · 1 bonus point · 10 min*
#
# **Given** first `rotate` (`rotate(x, positions)` of 11, or a function that changes nothing), then at each step q, k, v of T
# *new* tokens in a batch of B texts, (B, T, d), T ≥ 1, up to 16 tokens in all. **Compute** only their contexts, as the full
# causal pass gives them. The work for one token may grow with the number of tokens before it, but not with the square of
# that number. **Form:** the class `Cache`; values are not rotated, and the first position is 0.
#
# *Predict:* what would change without the causal mask?


# %% answer="14.1"
# my prediction: ...
class Cache:
    """Keys and values of the tokens so far."""

    def __init__(self, rotate):
        raise NotImplementedError("your answer here")

    def step(self, q, k, v):
        """q, k (B, T, d), v (B, T, dv) of T new tokens -> their contexts (B, T, dv)."""
        # 1. the positions of the new tokens; rotate
        # 2. append before you attend
        # 3. attention of the new queries over all keys, causal
        raise NotImplementedError("your answer here")


# %% check="14.1"
check("14.1", Cache)

# %%
first_step = np.maximum.outer(range(8), range(8))  # at which a score is first computed
counts = {"without a cache": 8 - first_step, "with a cache": attn_utils.causal_mask(8).astype(int)}
for (name, count), ax in zip(counts.items(), plots.panels(2, height=3.4), strict=True):
    label = {"xlabel": "key", "ylabel": "query", "title": f"{name}: {count.sum()} scores"}
    plots.matrix(count, numbers=True, top=8, **label, ax=ax)

# %% [markdown]
# Each cell counts how often its score is computed while eight tokens are written. Nothing is approximated: under a causal
# mask, keys and values of a prefix do not depend on what follows. Without the mask each new token would change all contexts.
#
# ### 14.2 What it costs
#
# *code · 1 bonus point · 4 min*
#
# **Compute** (i) how many scores one head computes while it writes $T$ tokens one at a time; without a cache, step $t$
# computes all $t^2$ scores of the prefix, hidden ones too; (ii) the bytes of all caches at length $T$, with `groups` sets
# of keys and values of width $d$ in each layer, and `size` bytes for each number. **Form:** the two functions below.


# %% answer="14.2"
def decode_scores(T: int, cached: bool) -> int:
    """Scores of one head that writes T tokens one at a time."""
    raise NotImplementedError("your answer here")


def cache_bytes(batch: int, layers: int, groups: int, d: int, T: int, size: int) -> int:
    """Bytes of all caches: `groups` key-value heads of width d in each layer, `size` bytes a number."""
    raise NotImplementedError("your answer here")


# %% check="14.2"
check("14.2", decode_scores, cache_bytes)

# %% [markdown]
# A cache turns about $\frac13 T^3$ scores into $\frac12 T^2$, and pays with memory that grows with every token. One step
# reads the whole cache and does only two operations for each number in it: writing a text waits for memory, not for
# arithmetic. So the rest of this notebook is about keeping less.
#
# ### 14.3 Fewer keys than queries
#
# *code · 1 bonus point · 5 min*
#
# **Fewer sets of keys.** **Given** q (B, H, T, d) and k, v (B, G, T, d), $H$ a multiple of $G$: head $h$ uses group
# $\lfloor hG/H \rfloor$. **Compute** causal attention. **Form:** `grouped(q, k, v)`, shape (B, H, T, d).
#
# *Predict:* which heads share a group for $H = 6$, $G = 2$?


# %% answer="14.3"
# my prediction, two lists of heads: ...
def grouped(q, k, v):
    """q (B, H, T, d), k, v (B, G, T, d) -> context (B, H, T, d)."""
    raise NotImplementedError("your answer here")


# %% check="14.3"
check("14.3", grouped)

# %% [markdown]
# Neighbours share: heads 0, 1, 2 and heads 3, 4, 5. This is another model, and it must be trained that way. Two trained
# heads could share one set of keys with the same result only if one key projection were the other times an invertible
# matrix, which is practically never so for random or trained projections.
#
# **A good place for a pause.** You have counted what a decoder keeps. The second half keeps less: a window, latents, one
# state.

# %% [markdown]
# ### 14.4 A window and its sinks
#
# *code · 2 bonus points · 10 min*
#
# **Fewer tokens.** A token sees the last `window` tokens, itself included, and also the first `sinks` tokens of the
# text, but never the future. **Form:** `window_mask(T, window, sinks)`, boolean (T, T), True = may look; and the class `Ring`
# with `step(q, k, v)` for *one* token, q, k (B, d), v (B, $d_v$), which returns the same contexts (B, $d_v$) as the mask,
# without rotation, and holds at most `window` + `sinks` tokens after each step.
#
# *Predict:* how far back does the output of layer 4 reach if each layer has a window of 8?


# %% answer="14.4"
# my prediction: ...
def window_mask(T, window, sinks):
    """(T, T), True where row t may look at column j."""
    raise NotImplementedError("your answer here")


class Ring:
    """The first `sinks` tokens and the newest `window`."""

    def __init__(self, window, sinks):
        raise NotImplementedError("your answer here")

    def step(self, q, k, v):
        """q, k (B, d), v (B, dv) of the next token -> its context (B, dv)."""
        raise NotImplementedError("your answer here")


# %% check="14.4"
check("14.4", window_mask, Ring)

# %% [markdown]
# What is lost? A softmax must give its weight to *something*. The cell below trains one head. Each token carries a letter
# and a number between 1 and 2; the head must return the number of the *partner* of the token's letter, or 0 if the text so
# far has no partner. In that case it learns to put its weight on the start token, whose number is 0. Then it reads texts of
# 96 tokens through a window of 16. The slider chooses the token that looks for its partner.

# %%
sink, T = attention_sink.train(), 96
done = check("14.4", window_mask, Ring)
masks = {"all tokens": np.tri(T, dtype=bool)}
if done:
    masks |= {"window": window_mask(T, 16, 0), "window and sink": window_mask(T, 16, 1)}
text = attention_sink.texts(attention_sink.Setting(), 1, T, 4)
maps = {name: sink.weights(text, torch.tensor(mask))[0].detach() for name, mask in masks.items()}


def draw(token):
    rows = np.array([weights[token, :48] for weights in maps.values()])
    look = np.array([mask[token, :48] for mask in masks.values()])
    label = {"xlabel": "key, start token first", "ylabel": "", "title": f"weights of token {token}"}
    plots.attention_map(rows, list(maps), [""] * 48, mask=look, numbers=False, **label)


plots.explore(draw, token=(2, 47, 37))

# %%
for name, mask in masks.items():
    found = attention_sink.errors(sink, mask)
    print(
        f"{name}: mean error", ", ".join(f"{where} {error:.2f}" for where, error in found.items())
    )
seeds = attention_sink.recorded()["errors"]
lost, kept = ([run[name]["none"] for run in seeds] for name in ("window", "window and start token"))
print(f"ten recorded seeds, no partner: window {min(lost):.2f}, with the sink {max(kept):.3f}")
reach = np.linalg.matrix_power(masks.get("window", masks["all tokens"]).astype(float), 4) > 0
print("four layers with a window of 16 reach", 95 - reach[95].argmax(), "tokens back")

# %% [markdown]
# As long as there is a partner in the window, nothing is lost. If the text has none, the weight that lay on the start token
# falls on the tokens that are left, and the head says about 1.5 where 0 is right. Keeping *one* token, the first, repairs
# this. Several layers reach further back than one window: each adds `window` - 1 tokens, as printed, but only step by step.

# %% [markdown]
# ### 14.5 Latent keys
#
# *code · 2 bonus points · 11 min*
#
# **Shorter keys.** Keep one *latent* $z_t$ for each token; all heads make their keys $z_t W_k$ and values $z_t W_v$ from it.
# **Given** the newest token's q (H, d), `latents` (T, $d_z$), `W_k` and `W_v` (H, $d_z$, d). **Compute** its context
# (H, d), exactly as full keys and values would give it, *without computing either of them*. **Form:** `latent_attention`.

# %% [markdown]
# Then with rotations: **given** `W_k` ($d_z$, d) of one head, an array, and `rotate(x, position)`, which rotates the last
# axis. **Find** the matrix $M$ ($d_z$, d) with $(zM) \cdot q = R(m)q \cdot R(n)(zW_k)$ for every latent $z$, query $q$ and
# positions $m$, $n$ with $m - n$ = `distance`. **Form:** `absorbed_matrix(W_k, distance, rotate)`.
#
# *Predict:* does one matrix $M$ serve all tokens, so that it can be multiplied into (*absorbed* by) the query once?


# %% answer="14.5"
# my prediction: ...
def latent_attention(q, latents, W_k, W_v):
    """q (H, d), latents (T, d_z), W_k, W_v (H, d_z, d) -> context (H, d)."""
    raise NotImplementedError("your answer here")


def absorbed_matrix(W_k, distance, rotate):
    """W_k (d_z, d) -> what has to stand in its place, (d_z, d)."""
    raise NotImplementedError("your answer here")


# %% check="14.5"
check("14.5", latent_attention, absorbed_matrix)

# %%
H, d = 32, 128  # numbers kept in each layer, for a text of this many tokens
kept = {
    "multi-head": 2 * H * d,
    "8 groups": 2 * 8 * d,
    "1 group": 2 * d,
    "latent 512 + 64": 512 + 64,
}
totals = {name: [n * T / 1e6 for T in (4096, 32_768)] for name, n in kept.items()}
totals["multi-head, window 4096"] = [2 * H * d * 4096 / 1e6] * 2
label = {"xlabel": "", "ylabel": "million numbers", "top": 268}
plots.bars(totals, ["4096 tokens", "32,768 tokens"], **label)
if check("14.5", latent_attention, absorbed_matrix):
    W_k = np.random.default_rng(0).normal(size=(4, 8))
    needed = [absorbed_matrix(W_k, far, attn_utils.rotate).ravel() for far in range(20)]
    print("dimensions spanned by the matrices of 20 distances:", np.linalg.matrix_rank(needed))

# %% [markdown]
# Without rotations one matrix serves all tokens, so latents are exact and full keys are never made. With rotations every
# distance needs a matrix of its own: the rotation of the *key* stands between $W_k$ and the query and cannot be absorbed. So
# each token also keeps a few rotated features, which all heads share: the 64 in the bars.

# %% [markdown]
# ### 14.6 No softmax, no cache
#
# *code · 1 bonus point · 6 min*
#
# **No keys at all.** **Given** a map `phi` that turns each query and key into positive features. **Compute** causal
# attention whose weights are proportional to $\varphi(q)^\top \varphi(k)$ and add up to one. **Form:**
# `linear_attention(q, k, v, phi)`, q and k (T, d), v (T, $d_v$), all at once or token by token.
#
# *Predict* the rank of the matrix of such weights for 16 queries that come after 16 keys, with $d = 4$.


# %% answer="14.6"
# my prediction: ...
def linear_attention(q, k, v, phi):
    """q, k (T, d), v (T, dv), phi: (T, d) -> (T, d), positive -> context (T, dv)."""
    raise NotImplementedError("your answer here")


# %% check="14.6"
check("14.6", linear_attention)

# %%
torch.manual_seed(1)
q, k = torch.randn(2, 16, 4)  # 16 queries that come after 16 keys, d = 4
weights = {"softmax": (q @ k.T).softmax(-1), "φ = exp": associative_recall.linear_weights(q, k)}
print("ranks:", {name: int(torch.linalg.matrix_rank(W)) for name, W in weights.items()})
print(f"the two differ by up to {torch.sub(*weights.values()).abs().max():.2f}")

# %% [markdown]
# Token by token, only a *state* must be kept: $d \times d_v$ numbers, and $d$ for the sum that normalises, however long the
# text is. The weights differ from those of the softmax, and their rank, as printed, is only $d = 4$.
#
# ### 14.7 What a state cannot recall
#
# *code + written · 2 bonus points · 8 min*
#
# **Given** the features $\Phi$ of $n$ keys, (n, d), $n > d$. The state after all of them is $\Phi^\top V$, the sum of
# $\varphi(k_i) v_i^\top$. **Find** values, not all zero, that leave the state exactly as if all values were
# zero. **Form:** `invisible(features)`, which takes a tensor and returns a tensor or an array of shape (n, any).


# %% answer="14.7"
def invisible(features):
    """features (n, d), n > d -> values (n, any), not all zero, that leave no trace."""
    raise NotImplementedError("your answer here")


# %% check="14.7"
check("14.7", invisible)

# %% [markdown]
# So some values are lost. How many? Store $n$ independent values of mean 0 and variance 1 and read each with its own query.
# If $W$ is the matrix of weights, the expected squared error of a value is $\lVert W - I\rVert^2 / n$. The cell below trains
# queries and keys of linear attention to make this error small. *Predict* the error for $n = 10$, $d = 4$.

# %%
# my prediction: ...
trained = associative_recall.train(10, 4, associative_recall.linear_weights)
print(f"10 keys, d = 4: error {associative_recall.squared_error(trained):.4f}")
counts = [2, 4, 6, 8, 10, 12, 16, 20, 24]
left, right = plots.panels(2, height=3.4)
label = {"xlabel": "keys n", "ylabel": "squared error"}
bounds = {f"-1 - {d}/n": [max(0, 1 - d / n) for n in counts] for d in (4, 8)}
plots.curves(counts, bounds, **label, ax=left).limits(y=(-0.05, 1.9))
for colour, (name, errors) in enumerate(associative_recall.errors_by_count(counts).items()):
    plots.scatter(np.c_[counts, errors], colour=colour, label=name, size=40, **label, ax=left)
plots.attention_map(trained, numbers=False, title="trained, 10 keys, d = 4", ax=right)

# %% [markdown]
# Training reaches $1 - d/n$ and never goes below it. The map shows how: linear attention sorts its keys into $d$ drawers
# and returns the average of a drawer. Softmax can read every key even with $d = 2$, if its queries have a large enough norm.
#
# **The written part of 14.7** (1 point). How well can $n$ values be recalled from a state of $d$ rows read with fixed
# queries, by *any* rule that writes it? Why does softmax escape, and what does it pay? Compare with [07](07_synthesizer.ipynb).

# %% [markdown] written="14.7"
# *Your answer to 14.7: replace this line.*

# %% [markdown]
# ## Summary
#
# 1. A cache is exact under a causal mask (1); it saves operations and costs memory.
# 2. Groups and latents keep less for each token, a window keeps fewer tokens and needs its sink.
# 3. A state of $d$ rows, read with fixed queries, recalls $n$ values with error at least $1 - d/n$; softmax pays with memory.

# %% [markdown]
# ## Without notes
#
# 1. After 5 tokens, what is the position of the next one? And what is it if the oldest key was dropped?
# 2. Why does writing a text wait for memory?
# 3. Where does a head put its weight when it has nothing to say, and why does a window disturb this?
# 4. Which part of a rotated key cannot be absorbed, and why?
# 5. Which values does a sum of $\varphi(k)v^\top$ not see?

# %% [markdown]
# ## Where this goes
#
# - *Packed masks and FlexAttention*: a mask written as a function and compiled; Dong et al. (2024).
# - *Paged caches*: keys are stored in pages, as an operating system manages memory; Kwon et al. (2023).
# - *Speculative decoding*: a small model proposes tokens, the large one checks several at once; Leviathan et al. (2023).
# - *QK-norm*: queries and keys are scaled to length one before their product, so that scores stay small; Henry et al. (2020).
# - *The delta rule*: before a value is written, the state's old value for that key is taken out; Yang et al. (2024).

# %% [markdown]
# **References.** Shazeer (2019) and Ainslie et al. (2023), fewer key heads; Beltagy et al. (2020), windows; Xiao et al.
# (2024), sinks; DeepSeek-AI (2024), latent keys; Katharopoulos et al. (2020), linear attention; Arora et al. (2024), recall.
#
# This is the end of the course. The translator of [09](09_translation.ipynb) decodes with the cache of 14.1.
