# %% [markdown]
# <!-- Made by "attn build" from solutions/06_transformer_attention.py. Instructors edit that file. -->
# # Attention in a transformer
#
# > From one query in a loop to causal multi-head attention, each step predicted, written and judged.
#
# *120 min, 8 questions, 16 points, needs 05; a pause is marked in the middle*
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

# %%
import torch
from torch import nn

from attn_course import check, hint, plots
from attn_course.experiments import dependence, heads, two_nouns
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
# | $k_i = K x_i$ | $k = x W_k^\top + b_k$ | rows are tokens, so the matrix stands on the right; `nn.Linear` adds a bias |
# | $n$ tokens | $T$ queries, $S$ keys | in translation ([09](09_translation.ipynb)) their numbers differ |
# | scores $k_i^\top q$ | scores $q k^\top / \sqrt d$ | 6.7 explains the root |

# %% [markdown]
# | letter | meaning | here |
# |---|---|---|
# | $B$ | number of sequences that are computed together, a *batch* | 2 |
# | $T$ | number of tokens in a sequence, as queries | 5 |
# | $S$ | number of tokens that are looked at, as keys and values; here the same tokens | 5 |
# | $D$ | number of features of a token, the *width* | 12 |
# | $H$ | number of heads | 3 |
# | $d = D / H$ | number of features that one head works with | 4 |
#
# $$q = xW_q^\top + b_q, \quad k = xW_k^\top + b_k, \quad v = xW_v^\top + b_v, \qquad
# c = \operatorname{softmax}\!\big(qk^\top / \sqrt d\big)\, v \tag{1}$$
#
# Masks are boolean, and True means *may look*.

# %% [markdown]
# ## One query in a loop
#
# Here is equation (1) for a single query, one step at a time: a score for each key, a softmax, a weighted sum. Every
# batched computation below must agree with this loop.


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

# %% [markdown]
# These are the weights of sequence 0. Each row belongs to one query and sums to one. The largest weight of a row is mostly
# on the diagonal, because a token resembles itself. The loop computed $B \cdot T \cdot S$ products of two short vectors, one
# after the other. A matrix product computes all of them at once, provided that the axes are in the right order.
#
# ### 6.1 Shapes first
#
# *code · 1 point · 5 min*
#
# **Given** $B = 2$, $T = 5$, $D = 12$, $H = 3$. **Find** the shape of each tensor, first with one head of width $D$, then
# with three heads. **Form:** the dictionary `shapes`, with a tuple for each name. Answer without running any code.

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
# *Predict:* in linear algebra one writes `q @ k.T`. What is the shape of `k.T` if `k` has the shape (2, 3, 4)? The text below
# the check answers.


# %% answer="6.2"
# my prediction, the shape of k.T: ...
def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """q (B, T, d), k (B, T, d) -> scaled scores (B, T, T)."""
    raise NotImplementedError("your answer here")


# %% check="6.2"
check("6.2", scores)

# %% [markdown]
# `.T` reverses *all* axes, so the shape is (4, 3, 2). If $B = T = d$, there is no error message, and the scores of one
# sequence depend on the other sequences (the first common mistake below).

# %% [markdown]
# ### 6.3 Attention under a mask
#
# *code · 2.5 points · 12 min*
#
# **Given** q (..., T, d), k (..., S, d), v (..., S, dv) and a boolean `mask` (..., T, S). **Compute** context and weights.
# The weights are a softmax over the keys, and a hidden key has weight exactly 0. In a row where every key is hidden, all
# weights are 0 and the gradients stay finite. **Form:** `attend(q, k, v, mask)` returns `(context, weights)`.
#
# The check also tries scores of size 25,000, hidden scores far above and far below the others, and float32.
# *Predict:* what does `softmax` give for a row in which every score is $-\infty$? The text after 6.6 says what PyTorch's own
# module gives.


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
# **Form:** `causal_mask(length)`, shape (length, length). The check judges the weights that follow from your mask: a boolean mask
# passes whether True means *may look* or *hidden*, and so does a mask of numbers that is added to the scores.
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
# A gradient shows it. The number in row $t$ and column $s$ above is the size of $\partial c_t / \partial x_s$. Below and on the
# diagonal it may be anything, since a token may see itself and its past. The hatched entries should be zero: any other number in
# them is a leak. On the left there is no leak. In the middle, later tokens still count in the denominator of the softmax: their *values*
# are hidden, but their *scores* are not. On the right a hidden score is 0, so it still adds $e^0 = 1$ to that
# denominator.

# %% [markdown]
# The middle version can be repaired by dividing each row by its new sum. That works for moderate scores; but if a hidden score
# is far above the others, it has taken all the weight, and the row becomes 0/0. So hide scores *before* the softmax.

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
halves = {"head 0 should hold": token[:, :4], "after view alone": token.reshape(2, 6, 4)[0]}
shown = {"top": 5, "colour_bar": False, "xlabel": "feature of head 0", "ylabel": "row of head 0"}
for ax, (title, whose) in zip(plots.panels(2, height=2.8), halves.items(), strict=True):
    plots.matrix(whose, words=[[six[t] for t in row] for row in whose], **shown, title=title, ax=ax)

# %% [markdown]
# On the left, row $t$ holds word $t$. On the right the shape is the same, but head 0 holds the first three words twice and
# none of the last three.

# %% [markdown]
# **A good place for a pause.** You have written every step of the layer: scores, mask, softmax, heads. The second half puts
# these steps together and asks why we divide by a root and why we need several heads.

# %% [markdown]
# ### 6.6 The layer
#
# *code · 4 points · 15 min*
#
# **Given** the steps above. **Build** causal self-attention with $H$ heads: project, split, attend, merge, project. Apply
# dropout to the weights and to the output. **Form:** the class below. The check copies parameters into `query`, `key`, `value`
# and `out` (or into one `nn.MultiheadAttention`) and compares outputs and gradients. The gradient with respect to a later token must be
# exactly 0, however large its score is.
#
# *Predict:* in the mask of PyTorch's own module True means *hidden*, and the batch is the first axis only with
# `batch_first=True`. If you get one of the two wrong, does PyTorch raise an error? The cell after the check tries both.


# %% answer="6.6"
# my prediction: ...
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

# %% tags=["nbval-ignore-output"]
ours = layers.CausalSelfAttention(4, 2)  # the course's twin of your class
theirs = heads.in_torch(ours)  # nn.MultiheadAttention(4, 2, batch_first=True) with its parameters
same = torch.allclose(theirs(x, x, x, attn_mask=~past)[0], ours(x))
print("PyTorch's module equals the course's:", same)
print("the kernel equals the loop:", torch.allclose(kernels.attend(x, x, x)[0], slow))
later = torch.cat([x[:, :1], -x[:, 1:]], 1)  # another future after the same first token
first, moved = (theirs(z, z, z, attn_mask=past)[0][0, 0] for z in (x, later))
print(f"1. a mask with True = may look: token 0 sees the future, {(first - moved).norm():.2f}")
swapped = nn.MultiheadAttention(4, 2)
first, moved = (swapped(z, z, z)[0][0] for z in (x, torch.stack([x[0], -x[1]])))
print(f"2. batch_first forgotten: sequence 0 sees sequence 1, {(first - moved).norm():.2f}")
newest = nn.functional.scaled_dot_product_attention(x[:, -1:], x, x, is_causal=True)
print("3. one query, five keys, is_causal: it sees key 0 only,", torch.allclose(newest, x[:, :1]))
shut = torch.ones(5, 5, dtype=torch.bool)
rows = [theirs(x, x, x, attn_mask=shut, need_weights=need)[0] for need in (True, False)]
print("4. no key to see, nan with weights and without:", [bool(y.isnan().any()) for y in rows])

# %% [markdown]
# ## Beside PyTorch's own
#
# With equal parameters both modules agree. PyTorch has four traps that raise no error: (1) True *hides* in the mask of the
# module and *shows* in that of `scaled_dot_product_attention`; (2) without `batch_first=True` the batch axis is read as the token axis;
# (3) `is_causal` aligns the triangle with the top left corner, so that the newest query, given alone, sees only key 0; (4) a query
# from which every key is hidden gets nan, but only if the module is asked to return the weights.

# %% [markdown]
# ### 6.7 What it costs, and why the root
#
# *code + written · 3 points · 14 min*
#
# **Given** a layer with biases. **Count** its parameters and the operations in its matrix products, where a multiplication and
# the addition that follows it are two operations. **Form:** the functions below.
#
# *Predict:* at which $T$ do the scores and the context cost as much as the projections? The verdict of the check gives two examples.


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
# We draw queries and keys with independent standard normal entries, 128 keys for each query. For growing $d$ we measure the
# variance of a score, and the size of the Jacobian of the softmax, $\partial \alpha / \partial s$ (weights $\alpha$, scores $s$): every
# gradient that reaches queries and keys passes through it. *Predict* both for $d = 64$ without the root. The figure shows
# the median over 200 queries and the 5% quantile, below which one query in twenty lies.
#
# The second figure shows one query and five of its keys, with $d$ on a slider. Every $d$ uses the first $d$ coordinates of the same draw,
# so that nothing but the width changes.


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


# %%
def draw(d):
    s = q[0, 0, :d] @ k[0, :d, :5]
    ways = {"unscaled": s, "divided by sqrt(d)": s / d**0.5, "clipped to ±1": s.clip(-1, 1)}
    found = {name: softmax(way.numpy()) for name, way in ways.items()}
    plots.bars(found, title=f"d = {d}, five keys", ax=plots.panels(1, width=9)[0])


plots.explore(draw, d=(1, 512, 64))

# %% [markdown]
# **The written part of 6.7** (2 points). Explain in four or five sentences what dividing by $\sqrt d$ achieves, from these
# measurements and a short calculation. Derive the variance of a score. Say what happens to the softmax and to its gradient
# without the root, with 128 keys, at $d = 64$ *and* at $d = 512$. Say why dividing is not the same as clipping the scores.

# %% [markdown] written="6.7"
# *Your answer to 6.7: replace this line.*

# %% [markdown]
# ## Two words at once
#
# What can several heads do that one head of the same total width cannot? Here is a language of 192 sentences in which one
# token needs two words at once: *the dogs near the cat look different*, *the dog near the cat look alike*. The last word is
# *alike* if both nouns are singular or both are plural, and *different* otherwise; each of the two ends half of the sentences.

# %% [markdown]
# A model reads `z = word + position`, a learnt vector for each word and one for each position. It predicts the last word from
# `z + attention(z)` at the token *look*. Adding `z` itself is called a **residual connection**. The layer is *yours*
# if 6.6 passed, otherwise the course's. It has 4,224 parameters, whatever the number of heads (6.7).
#
# *Predict:* what share of the 192 last words can one head get right, and what share two?


# %%
# my prediction, one head and two heads: ...
def train(num_heads):
    torch.manual_seed(4)
    model = two_nouns.LastWord(layers.CausalSelfAttention(32, num_heads), 32)
    if is_right:
        model.attention = heads.start_from(model.attention, CausalSelfAttention(32, num_heads))
    model.fit(model.ids(two_nouns.sentences()), steps=300, rate=0.02)
    return model


is_right = bool(check("6.6", CausalSelfAttention))
models = {num_heads: train(num_heads) for num_heads in (1, 2)}
everything = models[2].ids(two_nouns.sentences())  # (192, 7)
for num_heads, trained in models.items():
    print(f"number of heads {num_heads}: {trained.share_right(everything):.1%} right")

# %% [markdown]
# ## One head cannot
#
# In one head every weight is $e^{\text{score}} / Z$ with the same $Z > 0$. So the model's output for *different* minus
# its output for *alike* is $\frac1Z$ times a sum with one term for each word: $e^{\text{score}}$ times what the value of this word adds. (A
# constant $b$, from the residual or a bias, is $\frac1Z \sum e^{\text{score}}\, b$, of the same form.) Let $f$ and $g$ be the
# terms of the two nouns and $h$ the rest. Then
#
# $$\big[f(\text{dog}) + g(\text{cat}) + h\big] + \big[f(\text{dogs}) + g(\text{cats}) + h\big] =
# \big[f(\text{dog}) + g(\text{cats}) + h\big] + \big[f(\text{dogs}) + g(\text{cat}) + h\big]. \tag{2}$$

# %% [markdown]
# The two brackets on the left should be negative (*alike*) and the two on the right positive (*different*). That is impossible:
# of any four such sentences the model gets at least one wrong. **One head gets at most 75% right, at any width and after any training.**

# %% [markdown]
# ## Two heads can
#
# The maps show where each head looks. Choose a sentence and switch heads off: a head that is off contributes nothing, and its
# map is hatched. *Predict* before you switch: what does each head look for? Which sentences go wrong without it?

# %%
# my prediction, what heads 0 and 1 look for: ...
model = models[2]
layer = heads.twin(
    model.attention, num_heads=2
)  # the same parameters, in a layer that shows its weights
pairs = [("dog", "cat"), ("dog", "cats"), ("dogs", "cat"), ("dogs", "cats")]
four = [f"the {one} near the {other} look".split() for one, other in pairs]
asked = model.ids(four)  # (4, 6)
maps = layer.weights(model.embed(asked)).detach()  # (4, H, T, S)


# %%
def draw(sentence, head_0, head_1):
    *places, last = plots.panels(3, height=3.4, width=11)
    is_on = (bool(head_0), bool(head_1))
    axis = {"xlabel": "looked at", "ylabel": "who looks", "colour_bar": False, "numbers": False}
    for head, ax in enumerate(places):
        seen = masks.causal_mask(6) & is_on[head]
        shown = maps[sentence, head].numpy() * is_on[head]
        name = f"head {head}" if is_on[head] else f"head {head}, off"
        plots.attention_map(
            shown, four[sentence], four[sentence], mask=seen, **axis, title=name, ax=ax
        )
    some = heads.switch_off(layer, [head for head in (0, 1) if not is_on[head]])
    chances = model(asked, some)[:, model.vocabulary.index("different")].detach().numpy()
    names = [f"{one}\n{other}" for one, other in pairs]
    label = {"xlabel": "the two nouns", "ylabel": "probability of different"}
    plots.bars(chances, names, colours=[sentence == k for k in range(4)], **label, ax=last)


plots.explore(draw, sentence=(0, 3, 2), head_0=True, head_1=True)

# %%
print("weight of 'look' on the first and on the second noun:")
for pair, weights in zip(pairs, maps[:, :, 5].numpy().round(2), strict=True):
    print(
        f"  {pair[0]:5} {pair[1]:5}",
        *(f"head {h}: {row[1]:.2f} {row[4]:.2f}  " for h, row in enumerate(weights)),
    )
for off in ([], [0], [1], [0, 1]):
    right = model.share_right(everything, heads.switch_off(layer, off))
    print(f"right without heads {off!s:7} {right:.0%}")

# %% [markdown]
# With both heads all sentences are right. With only one of them, whichever it is, the model is back at 75%, the bound for one
# head. We chose this seed because training succeeds with it and its maps are easy to read. Here are ten seeds, recorded, with
# 600 steps each; they start from other parameters, so their seed 4 is another run than the one above:

# %%
found = two_nouns.recorded()
print(found["command"], "|", found["cpu_seconds"], "CPU seconds,", found["machine"])
print(two_nouns.table(found))

# %% [markdown]
# No seed with one head exceeds 75%, as (2) says. Two heads *can* do it, but training finds the solution in only two runs of ten;
# with four heads it does so in six, and with eight in all ten. So the second head adds an ability, and further heads make it easier to learn.

# %% [markdown]
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
# Each claim is refuted by a number that the cell prints.
#
# 1. "`k.T` transposes the keys." On three axes it also mixes sequences.
# 2. "The softmax runs over the queries." Then a causal layer sees the future.
# 3. "Dividing the scores is a way of clipping them." Clipped, 30 and 31 become the same score.
# 4. "Heads are layers on top of each other." Then head 1 would change when head 0 is changed.
# 5. "Each head reads its own chunk of the input." Then a projection would have far fewer entries.
# 6. "Tokens 2 and 3 have the score $W_q x_2^\top W_k x_3$." Transposing a product reverses its order:
#    $(W_q x_2)^\top W_k x_3 = x_2^\top W_q^\top W_k x_3$.


# %%
cube = torch.randn(4, 4, 4, requires_grad=True)  # B = T = d: every product fits
turned = cube @ cube.permute(2, 1, 0)  # what `.T` does to three axes
others = torch.autograd.grad(turned[0].sum(), cube)[0][1:]
print(f"1. gradient of the scores of sequence 0 by other sequences: {others.abs().max():.1f}")
columns = dependence.reach(lambda z: compare(z).masked_fill(~past, -torch.inf).softmax(0) @ z, x[0])
print(f"2. largest gradient to the future: {columns.triu(1).max():.2f}")
far = torch.tensor([0.0, 30.0, 31.0])
for name, way in (("clipped to ±5", far.clip(-5, 5)), ("divided by 8", far / 8)):
    print(f"3. {name}: {softmax(way).numpy().round(3)}")
wide, z = layers.CausalSelfAttention(256, 8), torch.randn(2, 7, 256)
before = wide.weights(z)
wide.query.weight.data[:32] = 0  # head 0 compares nothing any more
print(f"4. weights of heads 1 to 7 move by {(wide.weights(z) - before)[:, 1:].abs().max():g}")
whole, chunk = wide.query.weight, wide.query.weight[:32, :32]
print(f"5. entries of one projection: {whole.numel():,}, of 8 chunks: {8 * chunk.numel():,}")
product = whole * (z[0, 2] @ wide.key.weight @ z[0, 3])  # W_q times a number
print(f"6. shape {tuple(product.shape)}, where a score is one number")

# %% [markdown]
# ## Summary
#
# 1. Equation (1) is one matrix product, a masked softmax over the *last* axis, and another product.
# 2. A mask is right if the gradient with respect to every hidden token is exactly zero.
# 3. Heads regroup features. Each has its own normalisation, so two heads can decide what one head cannot (2).
#
# **Without notes:** Which axis does the softmax run over? When does the order softmax, `tril`, renormalise give nan? What does True
# mean in the masks of PyTorch's module and function? Why does `view` alone not split heads? Why can one head not tell *alike* from *different*?

# %% [markdown]
# **To play with:** `attn playground` opens a page on which you can switch off heads, masks, positions and the scale of a trained model.
#
# **Next:** [07, attention without comparisons](07_synthesizer.ipynb), removes keys and queries from this layer and asks
# what is lost.
#
# **References:** Vaswani and others (2017), *Attention is all you need*; Dao and others (2022), *FlashAttention*.
