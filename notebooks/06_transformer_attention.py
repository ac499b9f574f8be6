# %% [markdown]
# <!-- Made by "attn build" from solutions/06_transformer_attention.py. Instructors edit that file. -->
# # Attention in a transformer
#
# > From one query in a loop to causal multi-head attention, each step predicted, written and judged.
#
# *122 min, 8 questions, 14.5 points, needs 05; a pause is marked in the middle*
#
# After this notebook you can
#
# - **predict** the shape of every tensor in a batched attention layer before it runs,
# - **implement** that layer so that its outputs and gradients equal those of PyTorch's own,
# - **find** with a gradient whether a mask leaks, and **prove** what one head cannot do and two heads can.

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
import torch
from torch import nn

from attn_course import check, hint, plots
from attn_course.experiments import dependence, heads, multi_head_task
from attn_utils import kernels, layers, masks, softmax

torch.set_num_threads(1)  # the tensors here are small: a second core costs more than it brings
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## From 05 to here
#
# The attention is that of [05](05_keys_queries_values.ipynb); only the notation changes:
#
# | in 05 | from now on | why |
# |---|---|---|
# | NumPy arrays | PyTorch tensors | gradients are computed for us |
# | $k_i = K x_i$ | $k = x W_k^\top + \gamma_k$ | rows are tokens, so the matrix stands on the right; `nn.Linear` adds a bias $\gamma$ |
# | $n$ tokens | $T$ queries, $S$ keys | in translation ([10](10_translation.ipynb)) their numbers differ |
# | scores $k_i^\top q$ | scores $q k^\top / \sqrt d$ | 6.7 explains the root |
#
# | letter | meaning | here |
# |---|---|---|
# | $B$ | number of sequences that are computed together, a *batch* | 2 |
# | $T$ | number of queries: each token of a sequence has one | 5 |
# | $S$ | number of keys and values; here those of the same tokens | 5 |
# | $D$ | number of features of a token, the *width* | 12 |
# | $H$ | number of heads | 3 |
# | $d = D / H$ | width of the queries, keys and values of one head | 4 |
# | $W$, $\gamma$ | the weight matrix and the bias of a linear map | $12 \times 12$, 12 |
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
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
# | $Z = \sum_h e^{s_h}$ | the sum of the exponentials, by which each of them is divided | number | `Z` |
#
# </details>
#
# $$q = xW_q^\top + \gamma_q, \quad k = xW_k^\top + \gamma_k, \quad v = xW_v^\top + \gamma_v, \qquad
# c = \operatorname{softmax}\!\big(qk^\top / \sqrt d\big)\, v \tag{1}$$
#
# Masks are boolean, and True means *may look*. The next cell computes the context of (1) for one query at a time: a score for
# each key, a softmax, a weighted sum. Every batched computation below must agree with this loop.


# %%
def attend_one(query, keys, values):
    """query (d,), keys (S, d), values (S, dv) -> context (dv,), weights (S,)."""
    scores = torch.stack([query @ key for key in keys]) / len(query) ** 0.5
    weights = scores.softmax(0)
    return sum(weight * value for weight, value in zip(weights, values, strict=True)), weights


torch.manual_seed(6)
x = torch.randn(2, 5, 4)  # (B, T, d): two sequences of five tokens
slow = torch.stack([torch.stack([attend_one(q, s, s)[0] for q in s]) for s in x])  # (B, T, d)
for query in x[0]:
    print(attend_one(query, x[0], x[0])[1].numpy().round(2))
print("the course's kernel agrees with the loop:", torch.allclose(kernels.attend(x, x, x)[0], slow))

# %% [markdown]
# These are the weights of sequence 0, one row for each query. The largest weight of a row is mostly on the diagonal, because a
# token resembles itself. The loop computed $B \cdot T \cdot S$ products, one after the other. A matrix product computes all of
# them at once if the axes are in the right order.
#
# ### 6.1 Shapes first
#
# *code · 1 point · 5 min*
#
# **Given** $B = 2$, $T = 5$, $D = 12$, $H = 3$. **Find** the shape of each tensor, first with one head of width $D$, then
# with three heads. **Form:** the dictionary `shapes`, with a tuple for each name. The axes come in the order batch, head (if
# there is one), query, then key or feature. Answer without running any code.

# %% answer="6.1"
B, T, D, H = 2, 5, 12, 3
shapes = {
    "q": None,  # the queries of the whole batch
    "scores": None,  # one head: every query with every key
    "context": None,  # one head: weights times values
    "q_heads": None,  # the queries, cut into heads
    "scores_heads": None,  # the scores of every head
    "context_heads": None,  # the context of every head
    "y": None,  # heads side by side again, then the last projection
}
# your answer here

# %% check="6.1"
check("6.1", shapes)

# %% [markdown]
# ### 6.2 Scores of a whole batch
#
# *code · 1.5 points · 5 min*
#
# **Given** queries and keys of a batch, both of shape (B, T, d). **Compute** all scores of (1), scaled.
# **Form:** `scores(q, k)`, shape (B, T, T), with a row for each query and a column for each key. No loop is needed.
#
# *Predict:* in linear algebra one writes `q @ k.T`. What is the shape of `k.T` if `k` has the shape (2, 3, 4)?


# %% answer="6.2"
# my prediction, the shape of k.T: ...
def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """q (B, T, d), k (B, T, d) -> scaled scores (B, T, T)."""
    raise NotImplementedError("your answer here")


# %% check="6.2"
check("6.2", scores)

# %% [markdown]
# `.T` reverses *all* axes, so the shape of `k.T` is (4, 3, 2). If $B = T = d$, this mistake raises no error.
#
# ### 6.3 Attention under a mask
#
# *code · 2 points · 12 min*
#
# **Given** q (..., T, d), k (..., S, d), v (..., S, dv), boolean `mask` (..., T, S). **Compute** context and weights, a
# softmax over the keys. A hidden key has weight exactly 0. In a row where every key is hidden, all
# weights are 0 and gradients stay finite. **Form:** `attend(q, k, v, mask)` returns `(context, weights)`.
#
# The check also tries scores of size 25,000, hidden scores far above the others, and float32. *Predict:* what does `softmax`
# give for a row in which every score is $-\infty$?


# %% answer="6.3"
# my prediction, the softmax of a row of -inf: ...
def attend(q, k, v, mask):
    """q (..., T, d), k (..., S, d), v (..., S, dv), mask (..., T, S) -> (..., T, dv), (..., T, S)."""
    # 1. scores of every query with every key, scaled
    # 2. hide what the mask does not show, softmax over the keys, zero for rows in which all is hidden
    # 3. weights times values
    raise NotImplementedError("your answer here")


# %% check="6.3"
check("6.3", attend)

# %% [markdown]
# ### 6.4 No look ahead
#
# *code · 1 point · 5 min*
#
# **Given** a length. **Decide** which query may look at which key, if each token sees itself and all tokens before it.
# **Form:** `causal_mask(length)`, shape (length, length). The mask may be boolean, with True for *may look* or for *hidden*, or
# a mask of numbers that are added to the scores.
#
# *Predict:* the cell after the check makes two mistakes on purpose. One sets weights to zero **after** the softmax, the other
# multiplies hidden scores by zero **before** it. In each case, which outputs $c_t$ depend on later inputs $x_s$?


# %% answer="6.4"
# my prediction, after and before: ...
def causal_mask(length: int) -> torch.Tensor:
    """-> (length, length), row = query, column = key."""
    raise NotImplementedError("your answer here")


# %% check="6.4"
check("6.4", causal_mask)


# %%
def compare(z):
    return torch.stack([z @ key for key in z], 1) / 2  # scores (T, S) of one sequence


past = masks.causal_mask(5, like=x)
ways = {
    "hidden before the softmax": lambda z: kernels.attend(z, z, z, causal=True)[0],
    "zeroed after the softmax": lambda z: (compare(z).softmax(-1) * past) @ z,
    "scores multiplied by zero": lambda z: (compare(z) * past).softmax(-1) @ z,
}
shown = {"mask": past, "top": 0.6, "colour_bar": False}  # what must stay hidden is hatched
shown |= {"rows": "c₀ c₁ c₂ c₃ c₄".split(), "columns": "x₀ x₁ x₂ x₃ x₄".split()}
for (name, layer), ax in zip(ways.items(), plots.panels(3, height=3.0), strict=True):
    plots.matrix(dependence.reach(layer, x[0]), **shown, title=name, ax=ax)

# %% [markdown]
# ## Does the mask leak?
#
# A gradient shows it. The number in row $t$ and column $s$ is the size of $\partial c_t / \partial x_s$. In the hatched cells
# it should be zero, because token $t$ must not see token $s$; any other number is a leak. On the left there is no leak. In
# the middle the *values* of later tokens are hidden, but their *scores* still count in the denominator of the softmax. On the
# right hidden scores are 0, so later values enter with the weight $e^0 / \text{denominator}$.
#
# In the middle, dividing the remaining weights by their row sum does not always help: if a hidden score is very high, the
# visible weights are rounded to 0. Hide scores *before* the softmax.

# %% [markdown]
# ### 6.5 Split into heads, and merge
#
# *code · 1.5 points · 7 min*
#
# **Given** x of shape (B, T, D) and the number of heads. **Rearrange** it as (B, H, T, d), where head $i$ holds the features
# $i d, \dots, (i+1)d - 1$ of every token, and write the inverse. **Form:** `split_heads(x, num_heads)` and `merge_heads(x)`.
#
# *Predict:* `x.view(B, H, T, d)` has the right shape and raises no error. Suppose that six words have eight features each.
# Which words does the first of two heads then hold? The figure after the check answers.


# %% answer="6.5"
# my prediction, the words in head 0: ...
def split_heads(x: torch.Tensor, num_heads: int) -> torch.Tensor:
    """x (B, T, D) -> (B, H, T, d)."""
    raise NotImplementedError("your answer here")


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    """x (B, H, T, d) -> (B, T, D)."""
    raise NotImplementedError("your answer here")


# %% check="6.5"
check("6.5", split_heads, merge_heads)

# %%
six = "the cat near the dogs said".split()
token = torch.arange(6)[:, None].expand(6, 8)  # (T, D): every feature says whose it is
halves = {
    "head 0 should hold six words": token[:, :4],
    "after view alone: three words, twice": token.reshape(2, 6, 4)[0],
}
shown = {"top": 5, "colour_bar": False, "xlabel": "feature of head 0", "ylabel": "row of head 0"}
for ax, (title, whose) in zip(plots.panels(2, height=2.8), halves.items(), strict=True):
    plots.matrix(whose, words=[[six[t] for t in row] for row in whose], **shown, title=title, ax=ax)

# %% [markdown]
# On the left, row $t$ holds word $t$. On the right the shape is the same, but head 0 holds the first three words twice and
# none of the last three.
#
# **A good place for a pause.** You have written every step of the layer: scores, mask, softmax, heads. The second half puts
# these steps together and asks why we divide by a root and why we need several heads.

# %% [markdown]
# ### 6.6 The layer
#
# *code · 3.5 points · 15 min*
#
# **Given** the steps above. **Build** causal self-attention with $H$ heads: project, split, attend, merge, project. Apply
# dropout to the weights and to the output. **Form:** the class below. The check copies parameters into `query`, `key`, `value`
# and `out` (or into one `nn.MultiheadAttention`) and compares outputs and gradients. It calls one layer several times, with up
# to 64 tokens. The gradient with respect to a later token must be exactly 0, however large its score is.


# %% answer="6.6"
class CausalSelfAttention(nn.Module):
    """x (B, T, D) -> (B, T, D): every token looks at itself and at the tokens before it."""

    def __init__(self, D, num_heads, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        # 1. query, key, value, out: an nn.Linear(D, D) each, with bias
        # 2. an nn.Dropout for the weights and one for the final output
        raise NotImplementedError("your answer here")

    def forward(self, x):
        # 3. project and split: q, k, v (B, H, T, d)
        # 4. weights (B, H, T, T) under the causal mask; dropout; context (B, H, T, d)
        # 5. merge, project, dropout: (B, T, D)
        raise NotImplementedError("your answer here")


# %% check="6.6"
check("6.6", CausalSelfAttention)

# %% [markdown]
# ### 6.7 What it costs, and why the root
#
# *code + written · 2.5 points · 14 min*
#
# **Given** a layer with biases. **Count** its parameters and the operations in its matrix products, where a multiplication and
# the addition that follows it are two operations. **Form:** the functions below.
#
# *Predict:* at which $T$ do the scores and the context cost as much as the projections? The verdict gives two examples.


# %% answer="6.7 code"
# my prediction: ...
def num_parameters(D: int, num_heads: int) -> int:
    """Parameters of CausalSelfAttention(D, num_heads), biases included."""
    raise NotImplementedError("your answer here")


def num_flops(T: int, D: int, num_heads: int) -> int:
    """Operations of all matrix products for one sequence of T tokens."""
    raise NotImplementedError("your answer here")


# %% check="6.7 code"
check("6.7", num_parameters, num_flops)

# %% [markdown]
# ## Why divide by the root of d
#
# We draw 200 queries, each with 128 keys, all standard normal. For growing $d$ we measure the variance of a score and the
# norm of the softmax's Jacobian $\partial \alpha / \partial s$, which multiplies every gradient for queries and keys. The
# figure shows its median and 5% quantile (5% of queries lie below). *Predict* variance and norm for $d = 64$ without the
# root.
#
# **The written part of 6.7** (1.5 points). Explain in five sentences what dividing by $\sqrt d$ achieves. Derive the
# variance of a score; say what happens to the softmax and its gradient without the root, at $d = 64$ *and* at $d = 512$;
# and why *clipping* scores (at a fixed limit) is not the same.


# %%
# my predictions, the variance, and whether the Jacobian is small or large: ...
torch.manual_seed(0)
q, k = torch.randn(200, 1, 512), torch.randn(200, 512, 128)  # 200 queries, 128 keys each
widths = [1, 4, 16, 64, 256, 512]
products = {d: (q[..., :d] @ k[:, :d])[:, 0] for d in widths}  # the first d coordinates
sizes = {}
for name, power in (("unscaled", 0), ("scaled", 0.5)):
    norms = [dependence.softmax_slope(s / d**power) for d, s in products.items()]
    sizes[f"{name}, median"] = [norm.median() for norm in norms]
    sizes[f"{name}, 5% quantile"] = [norm.quantile(0.05) for norm in norms]
label = {"xlabel": "d", "ylabel": "norm of the Jacobian", "title": "128 keys"}
plots.curves(widths, sizes, **label, log="x", dots=True).limits(y=(0, 0.5)).ticks(x=widths)
print("variance of a score:", {d: f"{s.var():.1f}" for d, s in products.items()})


# %% [markdown] written="6.7"
# *Your answer to 6.7: replace this line.*

# %% [markdown]
# ## Two words at once
#
# What can several heads do that one head of the same width cannot? In a language of 192 sentences, one token needs two words
# at once: *the dogs near the cat look different*, *the dog near the cat look alike*. The last word is *alike* if both nouns are
# singular or both are plural, otherwise *different*.
#
# For each word, `z` is its learnt vector plus another vector for its position. A model predicts the last word from
# `z + attention(z)` at *look*. (Adding `z` is a **residual connection**.) The layer is *yours* if 6.6 passed, and has 4,224
# parameters. *Predict:* what share of the sentences can one head get right, and what share two?

# %%
# my prediction, one head and two heads: ...
own = CausalSelfAttention if check("6.6", CausalSelfAttention) else None
models = {num_heads: multi_head_task.train(num_heads, seed=4, layer=own) for num_heads in (1, 2)}
model = models[2]
everything = model.ids(multi_head_task.sentences())  # (192, 7)
for num_heads, trained in models.items():
    print(f"number of heads {num_heads}: {trained.share_right(everything):.1%} right")
found = multi_head_task.recorded()
print("recorded, 600 steps:", found["command"], "|", found["cpu_seconds"], "CPU seconds")
print(multi_head_task.table(found))

# %% [markdown]
# The two models above start from seed 4, with which two heads succeed. The table holds ten recorded runs for each number of
# heads. In its column 4 two heads end at 49%, although the seed is the same: the recorded runs compute in float32, the cells
# of this notebook in float64, and one seed draws different starting numbers in the two types. (The recorded runs also
# take twice as many steps. That is not the reason.)
#
# No recorded run with one head exceeds 75%. Two heads *can* do better, but training finds the solution in only two runs of
# ten; with four heads it does so in six, and with eight in all ten.

# %% [markdown]
# ## One head cannot
#
# In one head every weight is $e^{\text{score}} / Z$ with the same $Z > 0$. The model compares one output for *different* with
# one for *alike*. The difference is $\frac1Z$ times a sum: a word adds $e^{\text{score}}$ times what its value
# contributes. (The biases and the residual connection add the same number in every sentence. As the weights add up
# to one, it can be counted as a part of every value.) Call the terms of the two nouns *first* and *second*, and the
# sum of all other terms *rest*. Then
#
# $$\begin{aligned} &\big[\text{first(dog)} + \text{second(cat)} + \text{rest}\big] + \big[\text{first(dogs)} + \text{second(cats)} +
# \text{rest}\big] \\ = {} &\big[\text{first(dog)} + \text{second(cats)} + \text{rest}\big] + \big[\text{first(dogs)} +
# \text{second(cat)} + \text{rest}\big]. \end{aligned} \qquad \text{(2)}$$

# %% [markdown]
# Each bracket belongs to one sentence, and the model answers *different* if the bracket is positive. Both brackets of
# the first line should be negative and both of the second positive, but the two lines are equal. So at least one of
# the four answers is wrong: **one head gets at most 75% right, at any width, after any training.**

# %% [markdown]
# ## Two heads can
#
# The maps show where each head looks. Choose a sentence (its bar is orange) and switch heads off: a head that is off adds
# nothing, and its map is hatched. The printed lines say how many of all sentences are right without some heads.
# *Predict:* what does each head look for?

# %%
# my prediction, what heads 0 and 1 look for: ...
layer = heads.twin(model.attention, num_heads=2)  # the same layer; it shows its weights
pairs = [("dog", "cat"), ("dog", "cats"), ("dogs", "cat"), ("dogs", "cats")]
four = [f"the {one} near the {other} look".split() for one, other in pairs]
asked = model.ids(four)  # (4, 6)
maps = layer.weights(model.embed(asked)).detach().numpy()  # (4, H, T, S)
answer = model.vocabulary.index("different")
for off in ([], [0], [1], [0, 1]):
    right = model.share_right(everything, heads.switch_off(layer, off))
    print(f"right without heads {off!s:7} {right:.0%}")


def draw(sentence, head_0, head_1):
    *places, last = plots.panels(3, height=3.4, width=11)
    words, is_on = four[sentence], (bool(head_0), bool(head_1))
    axis = {"xlabel": "looked at", "ylabel": "who looks", "colour_bar": False}
    for head, ax in enumerate(places):
        seen = {"mask": masks.causal_mask(6) & is_on[head], "title": f"head {head}"}
        plots.attention_map(maps[sentence, head] * is_on[head], words, words, **seen, **axis, ax=ax)
    some = heads.switch_off(layer, [head for head in (0, 1) if not is_on[head]])
    chances = model(asked, some)[:, answer].detach().numpy()
    names = [f"{one}\n{other}" for one, other in pairs]
    colours = [sentence == k for k in range(4)]  # the chosen one is orange
    label = {"xlabel": "the two nouns", "ylabel": "probability of different"}
    plots.bars(chances, names, colours=colours, **label, ax=last)


plots.explore(draw, sentence=(0, 3, 2), head_0=True, head_1=True)

# %% [markdown]
# With only one of the two heads, whichever it is, the model is back at 75%.
#
# ### 6.8 Why several heads
#
# *written · 1.5 points · 12 min*
#
# **Given** the proof (2), the maps, the switches and the tables. **Explain** in four to six sentences (a) why one head
# fails: which property of a row of weights does the proof use? (b) what each of the two heads looks for, with the rows and
# words of the maps that show it, and how the last projection turns what they found into *alike* or *different*; (c) why more
# parameters are not the explanation. **Form:** text.

# %% [markdown] written="6.8"
# *Your answer to 6.8: replace this line.*

# %% [markdown]
# ## Common mistakes
#
# With equal parameters your layer, the course's and PyTorch's `nn.MultiheadAttention` agree. Four facts about PyTorch lead to
# mistakes. *Predict* which of these mistakes raise an error.
#
# 1. In the mask of `nn.MultiheadAttention` True means *hidden*; in that of `scaled_dot_product_attention` it means *may look*.
# 2. Without `batch_first=True` the module reads the batch axis as the token axis.
# 3. `is_causal` counts queries and keys from the same start. So a single query, such as that of the newest token, sees
#    only key 0.
# 4. If every key of a query is hidden, the module returns nan, but only if it also returns its weights.


# %% tags=["nbval-ignore-output"]
# my prediction, those that raise an error: ...
ours = layers.CausalSelfAttention(4, 2)
theirs = heads.in_torch(ours)  # nn.MultiheadAttention(4, 2, batch_first=True), same parameters
print("equal with equal parameters:", torch.allclose(theirs(x, x, x, attn_mask=~past)[0], ours(x)))
later = torch.cat([x[:, :1], -x[:, 1:]], 1)  # another future after the same first token
first, moved = (theirs(z, z, z, attn_mask=past)[0][0, 0] for z in (x, later))
print(f"1. True taken for may look: the future moves token 0 by {(first - moved).norm():.2f}")
swapped = nn.MultiheadAttention(4, 2)
first, moved = (swapped(z, z, z)[0][0] for z in (x, torch.stack([x[0], -x[1]])))
print(f"2. batch_first forgotten: sequence 1 moves sequence 0 by {(first - moved).norm():.2f}")
newest = nn.functional.scaled_dot_product_attention(x[:, -1:], x, x, is_causal=True)
print("3. the newest query alone sees key 0 only:", torch.allclose(newest, x[:, :1]))
shut = torch.ones(5, 5, dtype=torch.bool)
rows = [theirs(x, x, x, attn_mask=shut, need_weights=need)[0] for need in (True, False)]
print("4. nan with weights and without:", [bool(y.isnan().any()) for y in rows])

# %% [markdown]
# None of these mistakes raises an error.
#
# ## Summary
#
# 1. Equation (1) is a matrix product, a masked softmax over the *last* axis, and another product.
# 2. A mask is right if the gradient with respect to every hidden token is exactly zero.
# 3. Each head has a denominator of its own, so two heads can decide what one head cannot (2).

# %% [markdown]
# **Without notes:** Which axis does the softmax run over? Why hide scores before the softmax? Why does `view` alone not split
# heads? Why can one head not tell *alike* from *different*?
#
# <details><summary>Short answers</summary>
#
# 1. Over the keys, the last axis: each query shares out a weight of one.
# 2. Hidden afterwards, a key still counts in the denominator, and a large hidden score leaves nothing for the others.
# 3. `view` keeps the numbers in their order in memory, so a head would get all features of some tokens.
# 4. Its words share one denominator, so its decision is the sign of a sum over words, and no such sum fits all four
#    cases.
#
# </details>

# %% [markdown]
# **Next:** [07](07_synthesizer.ipynb) removes keys and queries from this layer. To switch off heads of a trained model, try `attn
# playground`. **References:** [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762), the layer; [Dao et al. (2022)](https://arxiv.org/abs/2205.14135),
# FlashAttention.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
