# %% [markdown]
# <!-- Made by "attn build" from solutions/06_transformer_attention.py. Instructors edit that file. -->
# # Attention in a transformer
#
# > From one query in a loop to causal multi-head attention, each step predicted, written and judged.
#
# *60 min, 8 questions, 16 points, needs 05*
#
# After this notebook you can
#
# - **predict** the shape of every tensor in a batched attention layer before it runs,
# - **implement** that layer so that its outputs and gradients equal those of PyTorch's own,
# - **find** by a gradient whether a mask leaks, and **explain** what several heads are for.

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
from attn_course.experiments import dependence, heads, pronouns
from attn_utils import kernels, layers, masks, softmax

torch.set_num_threads(1)  # the tensors here are small: a second core costs more than it brings
torch.set_default_dtype(torch.float64)  # so that "equal" means equal to twelve digits

# %% [markdown]
# ## Letters
#
# | letter | meaning | here |
# |---|---|---|
# | $B$ | sequences computed together, a *batch* (not the data set) | 2 |
# | $T$ | tokens in a sequence, as queries; shorter ones are padded ([09](09_translation.ipynb) hides that) | 5 |
# | $S$ | the same tokens as keys and values | 5 |
# | $D$ | features of a token, the *width* | 12 |
# | $H$ | heads, side by side | 3 |
# | $d = D / H$ | features a head works with | 4 |
#
# $$q = xW_q^\top + b_q, \quad k = xW_k^\top + b_k, \quad v = xW_v^\top + b_v, \qquad
# c = \operatorname{softmax}\!\big(qk^\top / \sqrt d\big)\, v \tag{1}$$
#
# Rows are tokens, as in [05](05_keys_queries_values.ipynb). Masks are boolean and True means *may look*.
#
# ## One query in a loop
#
# Equation (1) for a single query, as slowly as possible: a score for each key, a softmax, a weighted sum. Every
# batched line below must agree with it.


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
# These are the weights of sequence 0. Each row is one query and sums to one; the diagonal is mostly the largest, because a
# token resembles itself. The loop made $B \cdot T \cdot S$ products of two short vectors, one after the other. Matrix
# products do the same work at once, if every axis is where it should be.
#
# ### 6.1 Shapes first
#
# *code · 1 point · 4 min*
#
# **Given** $B = 2$, $T = 5$, $D = 12$, $H = 3$. **Find** the shape of each tensor, with one head of width $D$ and with
# three. **Form:** the dictionary `shapes`, a tuple for each name. Nothing here runs: predict.

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
# **Form:** `scores(q, k)`, shape (B, T, T), row = query, column = key. No loop is needed; any right way passes.
#
# *Predict:* the habit from linear algebra is `q @ k.T`. What is the shape of `k.T` if `k` is (2, 3, 4)? The text below the
# check answers.


# %% answer="6.2"
# my prediction, the shape of k.T: ...
def scores(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    """q (B, T, d), k (B, T, d) -> scaled scores (B, T, T)."""
    raise NotImplementedError("your answer here")


# %% check="6.2"
check("6.2", scores)

# %% [markdown]
# `.T` reverses *all* axes: the shape is (4, 3, 2). Where $B = T = d$ no error tells you so, and the sequences mix (the
# first common mistake below).
#
# ### 6.3 Attention under a mask
#
# *code · 2.5 points · 10 min*
#
# **Given** q (..., T, d), k (..., S, d), v (..., S, dv) and a boolean `mask` (..., T, S). **Compute** context and weights,
# a softmax over the keys in which hidden ones have weight 0. **Form:** `attend(q, k, v, mask)` returns
# `(context, weights)`.
#
# Scores in the thousands are tried too, and hidden ones far above the others. *Predict:* what is the softmax of a row
# where *nothing* may be seen? Make it zero, with finite gradients. (The traps below print PyTorch's two answers.)


# %% answer="6.3"
# my prediction, the softmax of nothing: ...
def attend(q, k, v, mask):
    """q (..., T, d), k (..., S, d), v (..., S, dv), mask (..., T, S) -> (..., T, dv), (..., T, S)."""
    # 1. scores of every query with every key, scaled
    # 2. hide what the mask forbids, softmax over the keys, zero for rows that see nothing
    # 3. weights times values
    raise NotImplementedError("your answer here")


# %% check="6.3"
check("6.3", attend)

# %% [markdown]
# ### 6.4 No look ahead
#
# *code · 1 point · 4 min*
#
# **Given** a length. **Decide** which query may look at which key when a token sees itself and what came before.
# **Form:** `causal_mask(length)`, shape (length, length). We judge the weights it leads to: either polarity of a boolean
# mask passes, and so does a mask that is added to the scores; numbers 0 and 1 do not.
#
# *Predict:* the cell after the check makes two leaks on purpose: zeros put in **after** the softmax, and hidden scores
# multiplied by zero **before** it. Which outputs $c_t$ does each let depend on later inputs $x_s$?


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
shown = {"mask": ~past, "top": 0.6, "colour_bar": False}  # what may be seen is hatched
shown |= {"rows": [f"$c_{t}$" for t in range(5)], "columns": [f"$x_{s}$" for s in range(5)]}
for (name, layer), ax in zip(ways.items(), plots.panels(3, height=3.0), strict=True):
    plots.matrix(dependence.reach(layer, x[0]), **shown, title=name, ax=ax)

# %% [markdown]
# ## A laboratory for masks
#
# Does a mask leak? The gradient tells: entry (t, s) above is the size of $\partial c_t / \partial x_s$. Hatched cells are
# left out, since a token may see its past; every number beside them but 0 is a leak. On the left there is none. In the
# middle, later tokens still count in the denominator: their *values* are hidden, their *scores* are not. On the right a
# hidden score of 0 still weighs $e^0 = 1$. The middle has a cure where scores are moderate: divide each row by its new
# sum. In float32 a hidden score far above the others leaves 0/0 there.

# %% [markdown]
# ### 6.5 Cut into heads, and back
#
# *code · 1.5 points · 7 min*
#
# **Given** x of shape (B, T, D) and the number of heads. **Arrange** it as (B, H, T, d), where head $i$ holds the features
# $i d, \dots, (i+1)d - 1$ of every token, and the way back. **Form:** `split_heads(x, num_heads)` and
# `merge_heads(x)`.
#
# *Predict:* `x.view(B, H, T, d)` has the right shape and raises no error. Six words have eight features each; which words
# does head 0 of 2 then hold? The figure after the check answers.


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
# Left, row $t$ holds word $t$. Right, the shape is the same, but head 0 has the first three words twice and never sees the
# last three.
#
# ### 6.6 The layer
#
# *code · 4 points · 13 min*
#
# **Given** the steps above. **Build** causal self-attention with $H$ heads: project, split, attend, merge, project; dropout
# on the weights and on the output. **Form:** the class below. The judge copies weights into `query`, `key`, `value`,
# `out` (or into one `nn.MultiheadAttention`), and compares outputs and gradients.
#
# *Predict:* in the mask of PyTorch's own module True means *hidden*, and the batch comes first only with
# `batch_first=True`. Get one of the two wrong: is there an error? The cell after the check tries.


# %% answer="6.6"
# my prediction: ...
class CausalSelfAttention(nn.Module):
    """x (B, T, D) -> (B, T, D): every token looks at itself and at what came before."""

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
# With equal parameters both modules agree. Four silent traps: (1) True *hides* in the module's mask and *shows* in that
# of `scaled_dot_product_attention`; (2) without `batch_first=True` batch is taken for time; (3) `is_causal` aligns the
# triangle top-left: the newest query sees key 0 alone; (4) a query that sees nothing gets nan, but only where its weights
# are asked for.
#
# ### 6.7 What it costs, and why the root
#
# *code + written · 3 points · 11 min*
#
# **Given** a layer with biases. **Count** its parameters, and the operations of its matrix products (a multiply-add is
# two). **Form:** the functions below.
#
# *Predict:* at which $T$ do scores and context cost as much as the projections? The verdict has two examples.


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
# Draw queries and keys with independent standard normal entries, 128 keys for each query, and measure two things for
# growing $d$: the variance of a score, and the size of the softmax's Jacobian $\partial \alpha / \partial s$ (weights by
# scores), through which all learning of queries and keys must pass. *Predict* both for $d = 64$, without the root. The
# figure has the median over 200 queries, and the 5% quantile: one query in twenty is below it.
#
# Below that, one query and five of its keys, with $d$ on a slider. Every $d$ uses the first $d$ coordinates of the same
# draw, so that nothing changes but the width.


# %%
# my predictions, variance and small or large: ...
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
ax = plots.curves(widths, sizes, **label, log="x", dots=True)
ax.set_ylim(0, 0.5)
ax.set_xticks(widths, widths)
ax.set_xticks([], minor=True)
print("variance of a score:", {d: f"{s.var():.1f}" for d, s in products.items()})


# %%
def draw(d):
    s = q[0, 0, :d] @ k[0, :d, :5]
    ways = {"unscaled": s, "divided by sqrt(d)": s / d**0.5, "clipped to ±1": s.clip(-1, 1)}
    found = {name: softmax(way.numpy()) for name, way in ways.items()}
    plots.bars(found, title=f"d = {d}, five keys", ax=plots.panels(1, width=9)[0])


plots.explore(draw, d=(1, 512, 64))

# %% [markdown]
# **The written part of 6.7** (2 points). From these measurements and a short calculation, explain in four or five
# sentences what dividing by $\sqrt d$ achieves. Derive the variance of a score; say what happens to the softmax and its
# gradient without the root, with 128 keys, at $d = 64$ *and* at $d = 512$; and say why it is not the same as clipping the
# scores.

# %% [markdown] written="6.7"
# *Your answer to 6.7: replace this line.*

# %% [markdown]
# ## Heads on a sentence
#
# The layer at work: *yours* if 6.6 passed, else the course's, both from the same first parameters. A model learns 192
# sentences such as *the dogs near the cat said they like it*. It reads `z = word + place`, a learnt vector
# for each word and each **position**; without the second, *the dogs near the cat* and *the cat near the dogs* would be
# one bag of words. It predicts from `z + attention(z)`, a **residual**: a token keeps what it is, the layer adds what it
# found elsewhere.
#
# *Predict:* from which word must *said* fetch something to choose between *they* and *it*? And *like*, between *it* and
# *them*? Read both rows in the maps.


# %%
# my predictions: ...
torch.manual_seed(2)
model = pronouns.NextWord(layers.CausalSelfAttention(32, 4), 32)
if check("6.6", CausalSelfAttention):
    model.attention = heads.start_from(model.attention, CausalSelfAttention(32, 4))
everything = model.ids(pronouns.sentences())  # (192, 9)
model.fit(everything, steps=80, rate=0.02)
layer = heads.twin(model.attention, num_heads=4)  # its parameters, where weights are shown
sentence = "the dogs near the cat said they like it".split()
asked = model.ids([sentence])  # (1, 9)
weights = layer.weights(model.embed(asked))[0].detach()  # (H, T, T)
shown = {"mask": masks.causal_mask(9), "xlabel": "looked at", "ylabel": "who looks"}
shown |= {"colour_bar": False, "numbers": False, "height": 3.6, "width": 9}
plots.head_maps(weights, sentence, sentence, **shown)
print("weight of 'said' on 'dogs' in each head:", weights[:, 5, 1].numpy().round(1))
print("weight of 'like' on 'cat' in each head: ", weights[:, 7, 4].numpy().round(1))

# %% [markdown]
# Nothing is above the diagonal. In the row *said* one head goes back to *dogs*, in the row *like* others to *cat*, in the
# same layer and at once. Does the model need them? Switch heads off: what a head hands on becomes zero, all else stays.
# *Predict* for each head which word of *the dogs near the cats said they like them* loses its probability, then try. (*dogs*,
# *near* and *cats* cannot be known in advance: there are eight nouns and three prepositions.)


# %%
# my prediction, head by head: ...
plurals = "the dogs near the cats said they like them".split()
told = model.ids([plurals])  # (1, 9)


def draw(head_0, head_1, head_2, head_3):
    is_on = (head_0, head_1, head_2, head_3)
    some = heads.switch_off(layer, [head for head in range(4) if not is_on[head]])
    ways = {"all heads": layer, "your choice": some}
    chances = {name: model.chances(told, way)[0].detach().numpy() for name, way in ways.items()}
    axis = {"xlabel": "the word that comes", "ylabel": "its probability"}
    ax = plots.panels(1, width=9)[0]
    plots.bars(chances, plurals[1:], **axis, title="which word breaks?", ax=ax)


plots.explore(draw, head_0=True, head_1=True, head_2=True, head_3=True)
print("right in all 192 sentences:     they or it   it or them")
for off in ([], [0], [1], [2], [3], [0, 1, 2, 3]):
    right = model.share_right(everything, heads.switch_off(layer, off))  # (T - 1,)
    print(f"  without heads {off!s:14} {right[5]:11.0%} {right[7]:12.0%}")

# %% [markdown]
# A broken pronoun is right in half of the sentences, as if its noun were unread; the figure shows one of the other half.
# From *like* several heads look at *cat*, yet only one is missed: a map shows where a head looks, not whether what it
# found is used. The seed was chosen for so clean a split: try another.
#
# ### 6.8 Why several heads
#
# *written · 1.5 points · 6 min*
#
# **Given** the maps, the switches and the table. **Explain** what several heads can do that one head of the same total
# width cannot. **Form:** two different reasons, two sentences each, one about *where* a token looks and one about *what*
# is compared and carried; tie each to a figure of this notebook, naming rows and words.

# %% [markdown] written="6.8"
# *Your answer to 6.8: replace this line.*

# %% [markdown]
# ## Common mistakes
#
# Each claim, and the number that refutes it:
#
# 1. "`k.T` turns the keys." On three axes it mixes sequences.
# 2. "The softmax runs over the second dimension." Then a causal layer sees the future.
# 3. "Scores are clipped." Then 30 and 31 become the same score.
# 4. "Heads are layers on top of each other." Then head 1 would change when head 0 is switched off.
# 5. "Each head has its own chunk of the input." Then there would be far fewer weights.
# 6. "$B$ is the size of the data set." Then no sentence could be computed alone.
# 7. "Tokens 2 and 3 have the score $W_q x_2^\top W_k x_3$." A transposed product turns round: $x_2^\top W_q^\top W_k x_3$.


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
same = torch.allclose(wide(z)[:1], wide(z[:1]), atol=1e-9)
print(f"6. a sentence alone and in a batch gives the same: {same}")
product = whole * (z[0, 2] @ wide.key.weight @ z[0, 3])  # W_q times a number
print(f"7. shape {tuple(product.shape)}, where a score is one number")

# %% [markdown]
# ## Summary
#
# 1. Equation (1) is one matrix product, a masked softmax over the *last* axis, and another product.
# 2. A mask is right when the gradient to what it hides is exactly zero.
# 3. Heads regroup features and run side by side.
#
# **Without notes:** Which axis does the softmax run over? When does softmax, `tril`, renormalise end in nan? What does True
# mean in PyTorch's two functions? Why does `view` alone not split heads? How do you see whether a layer leaks?
#
# **Next:** [07, attention without comparisons](07_synthesizer.ipynb), removes keys and queries from this layer and asks
# what is lost.
#
# **References:** Vaswani and others (2017), *Attention is all you need*; Dao and others (2022), *FlashAttention*.
