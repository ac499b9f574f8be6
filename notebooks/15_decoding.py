# %% [markdown]
# <!-- Made by "attn build" from solutions/15_decoding.py. Instructors edit that file. -->
# # Decoding
#
# > What must a model keep of the text that it has written: all keys, fewer keys, the newest keys, shorter keys, or none?
#
# *80 min, 7 questions, 10 bonus points, needs 06, and 12 for its rotations; a pause is marked in the middle*
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
from attn_course import progress, solution

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
# | $z_t$, $d_z$ | the latent of token $t$, and its width | $(d_z,)$ | `latents` |
#
# <!-- notation -->
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $G$ | the number of groups of heads that share keys and values | number | `groups` |
# | $\varphi$, $\Phi$ | a feature map, and the features of all keys | $(n, d)$ | `phi`, `features` |
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $q_i$ | a query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what the query is compared with | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $n$ | the number of items, each with a key and a value | number | `n` |
# | $\alpha_i$ | the weight of item $i$, or of several items together | $(n,)$ | `weights` |
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
# | $T$ | the number of queries, which is that of the tokens in self-attention | number | `T` |
# | $H$ | the number of heads | number | `num_heads` |
# | $W$, $W_A$, $W_B$, $W_Q$, $W_K$, $W_S$, $W_V$, $W_O$, $W_{QK}$, $W_{OV}$ | weight matrices of a layer: projections, maps, and their products, which give scores or what a head adds | $(D, D)$, or $(D, d)$ for a head | `A`, `B`, `W_QK`, ... |
# | $p$, $p_q$, $p_k$ | a position, counted from 0; that of a query and of a key | integers | `positions`, `p_q`, `p_k` |
# | $R(p)$ | the rotation of all pairs by $p\,\theta_i$ | $(d, d)$ | `rotate` |
#
# </details>
#
# $T$ is the number of tokens so far. Queries, keys and values are tensors: `q` and `k` $(T, d)$, `v` $(T, d_v)$.
#
# ## The definition
#
# When a model writes a text, each new token attends to itself and to all tokens before it,
#
# $$c_t = \sum_{j \le t} \alpha_{tj}\, v_j , \qquad \alpha_{tj} \propto e^{q_t^\top k_j / \sqrt d} , \tag{1}$$
#
# so the keys and values of old tokens are needed again at every step, but their queries never are.

# %% [markdown]
# ### 15.1 What need not be computed again
#
# *code · 1 bonus point · 7 min*
#
# **Given** at each step q, k, v (B, T, d) of T *new* tokens, T ≥ 1, up to 16 tokens in all, and `rotate(x, positions)` as in
# 12. Queries and keys are rotated by their positions, values are not. **Compute** the contexts of the new tokens, as full
# causal attention over the whole text gives them. Old contexts must not be computed again. **Form:** the class `Cache`.
#
# *Predict:* what would change without the causal mask?


# %% answer="15.1"
# my prediction: ...
class Cache:
    """Keys and values of the tokens so far."""

    def __init__(self, rotate):
        self.rotate = rotate
        self.keys, self.values = None, None  # (B, S, d), (B, S, dv) after the first step

    def step(self, q, k, v):
        """q, k (B, T, d), v (B, T, dv) of T new tokens -> their contexts (B, T, dv)."""
        old = 0 if self.keys is None else self.keys.shape[1]
        # 1. the positions of the new tokens; rotate
        # 2. append before you attend
        # 3. attention of the new queries over all keys: attn_utils.attend(..., causal=True)
        raise NotImplementedError("your answer here")


# %% check="15.1"
check("15.1", Cache)

# %%
first_step = np.maximum.outer(range(8), range(8))  # at which a score is first computed
counts = {"without a cache": 8 - first_step, "with a cache": attn_utils.causal_mask(8).astype(int)}
for (name, count), ax in zip(counts.items(), plots.panels(2, height=3.4), strict=True):
    label = {"xlabel": "key", "ylabel": "query", "title": f"{name}: {count.sum()} scores"}
    plots.matrix(count, numbers=True, top=8, **label, ax=ax)

# %% [markdown]
# Each cell says how often its score is computed while eight tokens are written. The cache is exact: under a causal mask, old
# tokens do not see new ones, so their keys and values stay. Without a mask, new tokens would change all contexts.
#
# ### 15.2 What it costs
#
# *code · 1 bonus point · 4 min*
#
# **Compute** (i) how many scores one head computes while $T$ tokens are written one at a time; without a cache, step $t$
# computes all $t^2$ scores of its $t$ tokens, hidden ones too; (ii) the bytes of all caches after $T$ tokens, with `groups`
# sets of keys and values of width $d$ in each layer, and `size` bytes for each number. **Form:** two functions.


# %% answer="15.2"
def decode_scores(T: int, cached: bool) -> int:
    """Scores of one head that writes T tokens one at a time."""
    raise NotImplementedError("your answer here")


def cache_bytes(batch: int, layers: int, groups: int, d: int, T: int, size: int) -> int:
    """Bytes of all caches: `groups` key-value heads of width d in each layer, `size` bytes a number."""
    raise NotImplementedError("your answer here")


# %% check="15.2"
check("15.2", decode_scores, cache_bytes)

# %% [markdown]
# A cache turns about $\frac13 T^3$ scores into $\frac12 T^2$, and pays with memory that grows with every token. Each step
# reads the whole cache, and uses each number in it for one multiplication and one addition. So the step waits for memory,
# not for arithmetic. The rest of this notebook is about keeping less.
#
# ### 15.3 Fewer keys than queries
#
# *code · 1 bonus point · 4 min*
#
# **Fewer sets of keys.** **Given** q (B, H, T, d) and k, v (B, G, T, d), $H$ a multiple of $G$: head $h$ uses group
# $\lfloor hG/H \rfloor$. **Compute** causal attention. **Form:** `grouped(q, k, v)`, shape (B, H, T, d).
#
# *Predict:* which heads share a group for $H = 6$, $G = 2$?


# %% answer="15.3"
# my prediction, two lists of heads: ...
def grouped(q, k, v):
    """q (B, H, T, d), k, v (B, G, T, d) -> context (B, H, T, d)."""
    raise NotImplementedError("your answer here")


# %% check="15.3"
check("15.3", grouped)

# %% [markdown]
# Neighbours share: heads 0, 1, 2 and heads 3, 4, 5. This is another model, and it must be trained that way: heads that were
# trained with keys of their own have different keys, and dropping any set of keys changes the result.

# %% [markdown]
# ### 15.4 A window and its sinks
#
# *code · 2 bonus points · 8 min*
#
# **Fewer tokens.** A token sees the last `window` tokens, itself included, and the first `sinks` tokens of the text, but
# never the future. **Form:** `window_mask(T, window, sinks)`, boolean (T, T), True = may look; and the class `Ring`. Its
# `step(q, k, v)` takes *one* token, q, k (B, d), v (B, $d_v$), and returns the context (B, $d_v$) that the mask would give.
# It holds at most `window` + `sinks` tokens after each step, and rotates nothing.
#
# *Predict:* how far back does the output of layer 4 reach if each layer has a window of 16?


# %% answer="15.4"
# my prediction: ...
def window_mask(T, window, sinks):
    """(T, T), True where row t may look at column j."""
    raise NotImplementedError("your answer here")


class Ring:
    """The first `sinks` tokens and the newest `window`."""

    def __init__(self, window, sinks):
        self.window, self.sinks = window, sinks
        self.first, self.newest = [], []  # pairs (k, v)

    def step(self, q, k, v):
        """q, k (B, d), v (B, dv) of the next token -> its context (B, dv)."""
        raise NotImplementedError("your answer here")
        keys, values = (torch.stack(x, 1) for x in zip(*self.first, *self.newest, strict=True))
        return attn_utils.attend(q[:, None], keys, values)[0][:, 0]


# %% check="15.4"
check("15.4", window_mask, Ring)

# %% [markdown]
# What does a window lose? A softmax must give its weight to *something*. The cell below trains one head on texts in which
# each token is a letter with a number between 1 and 2. The letters *a* and *b* are *partners*, and so are *c* and *d*, and so
# on. At an *a* the head must return the mean number of all earlier *b*, and 0 if there are none. In that case it learns to
# put its weight on the start token, whose number is 0. Then the head reads texts of 96 tokens through a window of 16. The
# slider moves the token and its window over the text.

# %%
sink, T = attention_sink.train(), 96
done = check("15.4", window_mask, Ring)
masks = {"all tokens": np.tri(T, dtype=bool)}
if done:
    for name, sinks in {"window": 0, "window and sink": 1}.items():
        masks[name] = np.asarray(window_mask(T, 16, sinks), dtype=bool)
text = attention_sink.texts(1, T, 4)
maps = {name: sink.weights(text, torch.tensor(mask))[0].detach() for name, mask in masks.items()}
letters = text.letters[0, :40].tolist()
names = ["*"] + [chr(97 + letter) for letter in letters[1:]]  # * is the start token


def draw(token):
    rows = np.array([weights[token, :40] for weights in maps.values()])
    look = np.array([mask[token, :40] for mask in masks.values()])
    title = f"token {token} is {names[token]} and looks for {chr(97 + (letters[token] ^ 1))}"
    label = {"xlabel": "key: the text, after the start token *", "ylabel": "", "title": title}
    (ax,) = plots.panels(1, width=9, height=2.4)
    plots.attention_map(rows, list(maps), names, mask=look, numbers=False, **label, ax=ax)


plots.explore(draw, token=(2, 39, 37))

# %%
for name, mask in masks.items():
    seen, none = attention_sink.errors(sink, mask).values()
    print(f"{name}: mean error {seen:.2f} with a partner in sight, {none:.2f} without")
seeds = attention_sink.recorded()["errors"]
lost, kept = ([run[name]["none"] for run in seeds] for name in ("window", "window and start token"))
print(f"ten recorded seeds, no partner: window {min(lost):.2f} or more, ", end="")
print(f"with the sink {max(kept):.3f} or less")
if done:
    reach = np.linalg.matrix_power(masks["window"].astype(float), 4) > 0
    print("four layers with a window of 16 reach", 95 - reach[95].argmax(), "tokens back")

# %% [markdown]
# With a partner in the window the head is right. With none, it needs the start token, which has left the window. The weight
# falls on the tokens in the window, and the head says about 1.5 where 0 is right. Keeping *one* token, the first, repairs
# this. Several layers reach further back than one window: each layer adds `window` - 1 tokens, and the last printed line
# says how far back four layers reach.

# %% [markdown]
# **A good place for a pause.** So far fewer keys were kept; the second half makes the keys themselves smaller.
#
# ### 15.5 Latent keys
#
# *code · 2 bonus points · 9 min*
#
# **Shorter keys.** Keep one *latent* $z_t$ for each token, from which each head makes its key $z_t W_k$ and its value
# $z_t W_v$. **Given** q (H, d) of the newest token, `latents` (T, $d_z$), `W_k` and `W_v` (H, $d_z$, d). **Compute** its
# context (H, d), exactly as full keys and values would give it, *without computing keys or values*: since
# $q \cdot (z W_k) = (q W_k^\top) \cdot z$, the query can *absorb* $W_k$ once for all tokens. **Form:** `latent_attention`.
# The check counts all numbers that you make, so it also notices keys that are computed one token at a time.

# %% [markdown]
# Now with rotations. The query stands at position $p$, and the key `distance` tokens before it. **Given** `W_k` ($d_z$, d) of
# one head, an array, and `rotate(x, position)`, which rotates the last axis. **Find** the matrix that takes the place of
# $W_k$: for every latent $z$ and query $q$,
#
# $$q \cdot (z \cdot \text{matrix}) = R(p)\,q \cdot R(p - \text{distance})\,(z W_k) .$$
#
# **Form:** `absorbed_matrix(W_k, distance, rotate)`. *Predict:* can the query absorb *one* matrix for all tokens?


# %% answer="15.5"
# my prediction: ...
def latent_attention(q, latents, W_k, W_v):
    """q (H, d), latents (T, d_z), W_k, W_v (H, d_z, d) -> context (H, d)."""
    raise NotImplementedError("your answer here")


def absorbed_matrix(W_k, distance, rotate):
    """W_k (d_z, d) -> the matrix that takes its place at this distance, (d_z, d)."""
    raise NotImplementedError("your answer here")


# %% check="15.5"
check("15.5", latent_attention, absorbed_matrix)

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
totals["linear state (15.6)"] = [H * d * (d + 1) / 1e6] * 2
label = {"xlabel": "", "ylabel": "million numbers", "top": 268}
plots.bars(totals, ["4096 tokens", "32,768 tokens"], **label)
if check("15.5", latent_attention, absorbed_matrix):
    W_k = np.random.default_rng(0).normal(size=(4, 8))
    needed = [np.ravel(absorbed_matrix(W_k, far, attn_utils.rotate)) for far in range(20)]
    print("dimensions spanned by the matrices of 20 distances:", np.linalg.matrix_rank(needed))

# %% [markdown]
# Without rotations the query absorbs one matrix for all tokens, so latents are exact and full keys are never made. With
# rotations one matrix is not enough (otherwise the printed number would be 1): every distance needs a matrix of its own,
# because the key is rotated *after* $W_k$, by another angle for each token. So each token also keeps a few rotated
# features, which all heads share: the 64 in the bars.

# %% [markdown]
# ### 15.6 No softmax, no cache
#
# *code · 1 bonus point · 4 min*
#
# **No keys at all.** **Given** a map `phi` that turns each query and key into positive features. **Compute** causal
# attention whose weights are proportional to $\varphi(q)^\top \varphi(k)$ and add up to one. **Form:**
# `linear_attention(q, k, v, phi)`, q and k (T, d), v (T, $d_v$). You may replace the loop.
#
# *Predict:* 16 queries come after 16 keys, and $d = 4$. What is the rank of the matrix of such weights?


# %% answer="15.6"
# my prediction: ...
def linear_attention(q, k, v, phi):
    """q, k (T, d), v (T, dv), phi: (T, d) -> (T, d), positive -> context (T, dv)."""
    queries, keys = phi(q), phi(k)
    state, total, contexts = 0, 0, []  # sums so far, (d, dv) and (d,), and what was read
    for t in range(len(q)):
        raise NotImplementedError("your answer here")
    return torch.stack(contexts)


# %% check="15.6"
check("15.6", linear_attention)

# %%
torch.manual_seed(1)
q, k = torch.randn(2, 16, 4)  # 16 queries that come after 16 keys, d = 4
weights = {"softmax": (q @ k.T).softmax(-1), "φ = exp": associative_recall.linear_weights(q, k)}
print("ranks:", {name: int(torch.linalg.matrix_rank(W)) for name, W in weights.items()})
print(f"the two differ by up to {torch.sub(*weights.values()).abs().max():.2f}")

# %% [markdown]
# However long the text is, only a *state* is kept: $d \times d_v$ numbers, and $d$ more for the sum of the weights. The
# weights differ from those of the softmax, and their rank, as printed, is only $d = 4$.
#
# ### 15.7 What a state cannot recall
#
# *code + written · 2 bonus points · 8 min*
#
# **Given** the features $\Phi$ (n, d) of $n$ keys, $n > d$. After all of them the state is the sum of
# $\varphi(k_i) v_i^\top$, which is $\Phi^\top$ times the matrix of all values. **Find** values, not all zero, for which this
# state is zero. **Form:** `invisible(features)`, which takes a tensor and returns a tensor or an array of shape (n, any).


# %% answer="15.7"
def invisible(features):
    """features (n, d), n > d -> values (n, any), not all zero, that leave no trace."""
    raise NotImplementedError("your answer here")


# %% check="15.7"
check("15.7", invisible)

# %% [markdown]
# So some values are lost. How much is that? Store $n$ independent values of mean 0 and variance 1, and read each with a
# query of its own. If $W$ is the matrix of weights, what is read is $W$ times the values. So the expected squared error of
# a value is $\lVert W - I\rVert^2 / n$, where the norm takes all entries together. The cell below trains the queries and
# keys of linear attention until this error is small. *Predict* the error for $n = 10$, $d = 4$.

# %%
# my prediction: ...
linear = associative_recall.linear_weights
seeds = [associative_recall.train(10, 4, linear, seed) for seed in range(10)]
errors = [associative_recall.squared_error(weights) for weights in seeds]
print(f"10 keys, d = 4, ten seeds: error {min(errors):.4f} to {max(errors):.4f}")
counts = [2, 4, 6, 8, 10, 12, 16, 20, 24]
left, right = plots.panels(2, height=3.4)
label = {"xlabel": "keys n", "ylabel": "squared error"}
bounds = {f"-1 - {d}/n": [max(0, 1 - d / n) for n in counts] for d in (4, 8)}
plots.curves(counts, bounds, **label, ax=left).limits(y=(-0.05, 1.6))
for colour, (name, errors) in enumerate(associative_recall.errors_by_count(counts).items()):
    plots.scatter(np.c_[counts, errors], colour=colour, label=name, size=40, **label, ax=left)
plots.attention_map(seeds[0], numbers=False, title="trained, 10 keys, d = 4", ax=right)

# %% [markdown]
# Training reaches $1 - d/n$ and never goes below it, even if features may be negative, as they may for the dots of *any
# sign*. The map shows what linear attention does: it sorts its keys into $d$ drawers and returns the average of a drawer.
# Softmax can read every key even with $d = 2$, if its queries have a large enough norm.
#
# **The written part of 15.7** (1 point). A state of $d$ rows is written by *any* rule. It is read by $n$ queries, which do
# not depend on the values. How large is the error at least, and why? Why does softmax escape, and what does it pay for
# that?

# %% [markdown] written="15.7"
# *Your answer to 15.7: replace this line.*

# %% [markdown]
# ## Summary
#
# 1. A cache is exact under a causal mask (1); it saves operations and costs memory.
# 2. Groups and latents keep less for each token, a window keeps fewer tokens and needs its sink.
# 3. A state of $d$ rows recalls $n$ values with an error of at least $1 - d/n$; softmax has no such bound and needs memory.

# %% [markdown]
# ## Without notes
#
# 1. After 5 tokens, what is the position of the next one? And what is it if the oldest key was dropped?
# 2. Why does a decoding step wait for memory and not for arithmetic?
# 3. Where does a head put its weight when it has nothing to say, and why does a window disturb this?
# 4. Which part of a rotated key cannot be absorbed, and why?
# 5. Which values leave no trace in the sum of all $\varphi(k_i) v_i^\top$?
#
# <details><summary>Short answers</summary>
#
# 1. It is 5, the number of tokens so far, and it stays 5 if the oldest key was dropped.
# 2. It reads the whole cache and uses each number for one multiplication and one addition.
# 3. On the first token, which a window leaves behind.
# 4. The rotation: it comes after $W_k$ and differs for every distance.
# 5. Those in the kernel of $\Phi^\top$; for $n > d$ there always are some.
#
# </details>

# %% [markdown]
# ## Where this goes
#
# - *Packed masks and FlexAttention*: several texts share one sequence, and a mask keeps them apart; the mask is written as
#   a function, which is then compiled; [Dong et al. (2024)](https://arxiv.org/abs/2412.05496).
# - *Paged caches*: keys and values are stored in pages, as an operating system manages memory; [Kwon et al. (2023)](https://arxiv.org/abs/2309.06180).
# - *Speculative decoding*: a small model proposes tokens, the large one checks several at once; [Leviathan et al.
#   (2023)](https://arxiv.org/abs/2211.17192).
# - *QK-norm*: queries and keys are scaled to length one before their product, so that scores are bounded; [Henry et al.
#   (2020)](https://arxiv.org/abs/2010.04245), and 16.2.
# - *The delta rule*: before a value is written, the state's old value for that key is taken out; [Yang et al.
#   (2024)](https://arxiv.org/abs/2406.06484), and 16.5.

# %% [markdown]
# **References.** [Shazeer (2019)](https://arxiv.org/abs/1911.02150) and [Ainslie et al. (2023)](https://arxiv.org/abs/2305.13245), fewer
# key heads; [Beltagy et al. (2020)](https://arxiv.org/abs/2004.05150), windows; [Xiao et al. (2024)](https://arxiv.org/abs/2309.17453),
# sinks; [DeepSeek-AI (2024)](https://arxiv.org/abs/2405.04434), latent keys; [Katharopoulos et al.
# (2020)](https://arxiv.org/abs/2006.16236), linear attention; [Arora et al. (2024)](https://arxiv.org/abs/2402.18668), recall.
#
# **Next:** [16](16_gates_and_memory.ipynb), gates and memory. The bundled translator of [10](10_translation.ipynb) decodes
# with the cache of 15.1.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
