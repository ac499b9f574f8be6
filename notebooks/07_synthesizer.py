# %% [markdown]
# <!-- Made by "attn build" from solutions/07_synthesizer.py. Instructors edit that file. -->
# # Attention without comparisons
#
# > Remove keys and queries, let each token compute its own row of weights, and find out what is lost.
#
# *74 min, 2 questions, 9 points, needs 06*
#
# After this notebook you can
#
# - **implement** a synthesizer layer and **find** with a gradient what its weights depend on,
# - **prove** that it cannot compute the OR of two tokens, with any number of heads,
# - **predict**, before training runs, the loss below which it cannot go.

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
from attn_course.experiments import (
    dependence,
    synthesizer_tasks,
)
from attn_utils import layers

torch.set_num_threads(1)  # the tensors here are small
torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $X$ | a sequence, one token a row | $(T, D)$ | `x`, with a batch in front |
# | $A_i, b_1$ | head $i$'s first map and its bias | $(D, d)$, $(d,)$ | columns of `A`, an `nn.Linear` |
# | $B_i$ | head $i$'s second map, a column per position | $(d, L)$ | `B[i]` |
# | $b_2$ | its bias, shared by the heads | $(L,)$ | `b2` |
# | $V_i$, $W_O$ | values and the last projection | as in 06 | `value`, `out` |
# | $L$ | the longest sequence allowed | number | `max_length` |

# %% [markdown]
# ## The definition
#
# In [06](06_transformer_attention.ipynb) the scores of a head were $q k^\top/\sqrt d$: every token was compared with
# every other. A *synthesizer* computes each row of scores from one token alone, by a small network with a hidden layer:
#
# $$Y_i = \operatorname{softmax}\big(\operatorname{ReLU}(X A_i + b_1)\, B_i + b_2\big)\, X V_i . \tag{1}$$
#
# A sequence of $T \le L$ tokens uses the first $T$ columns of $B_i$ and $b_2$; the causal mask, the merging of heads
# and both dropouts are as before. Here are the weights of two heads on six random tokens.

# %%
torch.manual_seed(7)
synthesizer = layers.SynthesizerAttention(8, 2, 6)  # D, heads, longest sequence
x = torch.randn(1, 6, 8)
past = torch.ones(6, 6, dtype=torch.bool).tril()
axis = {"xlabel": "position looked at", "ylabel": "who looks"}
plots.head_maps(synthesizer.weights(x)[0].detach(), mask=past, **axis)

# %% [markdown]
# They look like any other attention maps: rows sum to one, and the future is hidden (hatched). The difference lies in what the
# numbers depend on, and no single map can show that.
#
# ### 7.1 Attention that compares nothing
#
# *code · 5 points · 15 min*
#
# **Given** equation (1) and your layer of 06. **Build** a causal synthesizer with $H$ heads. **Form:** the class below.
# The check copies parameters into `A`, `B`, `b2`, `value` and `out`, and compares outputs and gradients. As in 6.6, the gradient
# with respect to a later token must be exactly 0, however large its score is.
#
# *Predict* two shapes, with the batch in front: that of the hidden features of all heads, and that of the scores. Step 4 answers.


# %% answer="7.1"
# my predictions, hidden features and scores: ...
class SynthesizerAttention(nn.Module):
    """x (batch, T, D) -> (batch, T, D): every token writes its own weights over itself and its past."""

    def __init__(self, D, num_heads, max_length, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        # 1. A, value, out: an nn.Linear(D, D) each, with bias; the bias of A is b1
        # 2. B: an nn.Parameter (H, d, max_length); b2: an nn.Parameter (max_length,)
        # 3. an nn.Dropout for the weights and one for the final output
        raise NotImplementedError("your answer here")

    def forward(self, x):
        # 4. hidden features, split into heads: (batch, H, T, d); scores (batch, H, T, T)
        # 5. the causal mask, the softmax, dropout on the weights
        # 6. times the values, merged, projected, dropout: (batch, T, D)
        raise NotImplementedError("your answer here")


# %% check="7.1"
check("7.1", SynthesizerAttention)

# %% [markdown]
# ## What a row of weights depends on
#
# A gradient shows it. The number in row $t$ and column $s$ below is the size of $\partial\,(\text{row } t \text{ of the weights}) /
# \partial x_s$, for the layer of 06 and for the synthesizer, both with random parameters. *Predict* which entries are
# exactly zero in each of the two figures.


# %%
# my prediction: ...
found = {
    "keys and queries": dependence.reach_of_weights(layers.CausalSelfAttention(8, 2), x[0]),
    "synthesizer": dependence.reach_of_weights(synthesizer, x[0]),
}
names = {"rows": [f"row {t}" for t in range(6)], "columns": "x₀ x₁ x₂ x₃ x₄ x₅".split()}
top = max(float(sizes.max()) for sizes in found.values())  # one scale for both
for (title, sizes), ax in zip(found.items(), plots.panels(2, height=3.0), strict=True):
    plots.matrix(sizes, **names, top=top, colour_bar=False, title=title, ax=ax)
print(f"synthesizer, largest off the diagonal: {found['synthesizer'].fill_diagonal_(0).max():g}")

# %% [markdown]
# With keys and queries, row $t$ depends on every token up to $t$. In the synthesizer only the diagonal differs from zero, and all
# other entries are exactly zero: row $t$ depends on $x_t$ alone. (The first row is constant in both: it has one weight, equal
# to one.) The columns of each $B_i$ stand for *positions*, not for contents, so there are no weights for a sequence longer than $L$.
#
# ## What it saves
#
# A synthesizer has three projections instead of four, and in addition the $B_i$. We count the parameters of both layers, and let PyTorch
# count the operations for one sequence of $T = L$ tokens.

# %%
from torch.utils.flop_counter import FlopCounterMode


def cost(layer, *inputs):
    """(parameters, floating-point operations) of one call."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer(*inputs)
    return sum(p.numel() for p in layer.parameters()), counter.get_total_flops()


# %%
for D, length in ((256, 128), (512, 1024)):
    z = torch.zeros(1, length, D)
    print(f"D = {D}, length {length}: parameters, operations")
    numbers = cost(layers.SynthesizerAttention(D, 8, length), z)
    print("  synthesizer      {:9,} {:13,}".format(*numbers))
    numbers = cost(nn.MultiheadAttention(D, 8, batch_first=True), z, z, z)
    print("  keys and queries {:9,} {:13,}".format(*numbers))

# %% [markdown]
# The $(D+1)\,L$ parameters of all $B_i$ and $b_2$ replace the $D(D+1)$ of a projection, so the synthesizer is the smaller layer
# only if $L < D$. It saves the operations of one projection, but none of the products over all pairs of tokens.
#
# ## A tempting argument that fails
#
# "One token of the sequence is marked; report it. Without comparing contents, a synthesizer cannot find it." We build a
# layer by hand: all scores are zero, so that at the last token every weight is $1/T$; values that are zero unless the token is marked; and an
# output projection that multiplies by $T$. *Predict* how often this layer is wrong.

# %%
# my prediction, wrong in so many of 1000: ...
T, symbols = 6, 4
finder = layers.SynthesizerAttention(2 * symbols, 1, T)  # tokens: one-hot (symbol, marked or not)
for parameter in finder.parameters():
    parameter.data.zero_()
finder.value.weight.data[:symbols, symbols:] = torch.eye(symbols)  # only a marked symbol passes
finder.out.weight.data = T * torch.eye(2 * symbols)

# %%
content, marked = torch.randint(symbols, (1000, T)), torch.randint(T, (1000, 1))
tokens = content + symbols * (torch.arange(T) == marked)
found = finder(nn.functional.one_hot(tokens, 2 * symbols) * 1.0)[:, -1].argmax(-1)
print(f"wrong in {(found != content.gather(1, marked)[:, 0]).sum()} of 1000 sequences")

# %% [markdown]
# It is never wrong: the weights did not have to find the token, because all other values are zero. A sound proof needs a target
# that no choice of values can reach.
#
# ### 7.2 What it cannot do
#
# *written + code · 4 points · 20 min*
#
# **Given** one layer whose output at the last token is read by a linear map, and two tasks. **OR:** two tokens, each 0 or 1, then a fixed query
# token; report whether either is 1. **Recall:** three key-value pairs in random order, then a token naming a key;
# report its value. **Explain** why the synthesizer fails and keys and queries do not.
#
# First we measure: each layer is trained three times on all sequences, by the optimiser L-BFGS, until the loss no longer falls.
# *Predict* the *worst* error over the four sequences that the best synthesizer makes at OR, with one head and with four.

# %%
# my predictions, one head and four: ...
or_task = synthesizer_tasks.or_of_two()
print(or_task.inputs.argmax(-1).tolist(), "want", or_task.targets.tolist())
steps = 150  # of L-BFGS
found = synthesizer_tasks.contest(or_task, num_heads=(1, 2, 4), steps=steps)
print(synthesizer_tasks.report(found))
axis = {"xlabel": "evaluations", "ylabel": "mean squared error", "log": "y", "nested": True}
curves = synthesizer_tasks.curves(found, {"1/16": 1 / 16})
plots.curves(range(200), curves, **axis, title="OR of two tokens")

# %% [markdown]
# With one head, two or four, the synthesizer ends at a mean squared error of 1/16 from every start, with a worst error of
# 0.25. With keys and queries one head reaches $10^{-6}$, where the curves end. The next task is recall: *predict* what a
# second and a third head will change.

# %%
# my predictions, two heads and three: ...
recall_task = synthesizer_tasks.recall_of_three()
found = synthesizer_tasks.contest(recall_task, num_heads=(1, 2, 3), steps=steps)
print(synthesizer_tasks.report(found))
curves = synthesizer_tasks.curves(found, {"2/12": 2 / 12, "1/12": 1 / 12})
plots.curves(range(200), curves, **axis, title="recall of three keys")

# %% [markdown]
# Each further head of the synthesizer lowers the error by one step: 2/12, then 1/12. With three heads the error is as low as with one head
# that compares keys and queries.
#
# **The written part** (3 points). (a) Hold the last token fixed. What is the output of a synthesizer at that position, as
# a function of the other tokens? (b) Conclude that at OR the worst error is at least 1/4, for any number of heads.
# (c) Describe one head with keys and queries whose error is as small as you like. A sentence on recall is welcome.

# %% [markdown] written="7.2"
# *Your answer to 7.2: replace this line.*

# %% [markdown]
# **The code part** (1 point). **Given** $T$, $D$ and a position $t \ge 1$. **Find** two inputs that are equal at position
# $t$ but for which row $t$ of the weights of a layer with keys and queries differs. In a synthesizer this row cannot differ.
# **Form:** `two_inputs(T, D, t)` returns two arrays of shape (T, D); the judge tries them on random layers of both kinds.


# %% answer="7.2"
def two_inputs(T: int, D: int, t: int):
    """-> x, other, both (T, D), equal at position t."""
    raise NotImplementedError("your answer here")


# %% check="7.2"
check("7.2", two_inputs)

# %% [markdown]
# Now we look at the same for recall. The question is always *which value has key 0?*, and the three pairs come in three orders. We train both
# layers once more and draw the weights of their last token on the three positions. *Predict* what changes from row to row.

# %%
# my prediction, left and right: ...
torch.manual_seed(0)
contestants = {
    "keys and queries": layers.CausalSelfAttention(12, 1),
    "synthesizer": layers.SynthesizerAttention(12, 1, 4),
}
orders = [0, 1, 2], [1, 0, 2], [2, 1, 0]
asked = synthesizer_tasks.one_hot([[2 * key + 1 for key in order] + [6] for order in orders])
labels = [" ".join(f"k{key}" for key in order) for order in orders], ["first", "second", "third"]
axis = {"xlabel": "position of the pair", "ylabel": "order of the keys", "colour_bar": False}
for (kind, layer), ax in zip(contestants.items(), plots.panels(2, height=2.8), strict=True):
    synthesizer_tasks.fit(layer, recall_task, steps=steps)
    weights = layer.weights(asked)[:, 0, -1, :3].detach()  # (orders, positions)
    plots.attention_map(weights, *labels, **axis, title=kind, ax=ax)

# %% [markdown]
# On the left, the largest weight follows key 0 wherever it is. On the right, all three orders get the same row (a quarter of it is
# on the asking token itself): the layer has to choose positions without knowing what is there.
#
# ## Common mistakes
#
# 1. "More heads will solve it." At OR four heads end at the same error as one.
# 2. "It is a convolution." The weights of a convolution depend only on the distance between two positions; these do not.
# 3. "It takes any length." It has $L$ columns, one for each position.

# %%
torch.manual_seed(0)
four_heads = synthesizer_tasks.fit(layers.SynthesizerAttention(12, 4, 3), or_task, steps=steps)
print(f"1. mean squared error at OR, 4 heads: {four_heads.losses[-1]:.4f}")
same = torch.randn(1, 1, 8).expand(1, 6, 8)  # one token, six times
row = synthesizer.weights(same)[0, 0].detach()
for t in (5, 4):
    ratio = row[t, t - 1] / row[t, t - 2]
    print(f"2. from token {t}, one step back weighs {ratio:.2f} times two steps")
try:
    synthesizer(torch.zeros(1, 7, 8))
except ValueError as error:
    print(f"3. {error}")

# %% [markdown]
# ## Summary
#
# 1. In (1) row $t$ of the weights is a function of $x_t$ alone: every other gradient is exactly zero.
# 2. At OR a synthesizer stops at a worst error of 1/4, with any number of heads; at recall it needs one head for each key.
# 3. One head with keys and queries solves both.
#
# **Without notes:** What do the columns of $B$ stand for? Why does the task of the marked token prove nothing? Why do more heads
# not help at OR? Why do they help at recall? When is a synthesizer the larger layer?
#
# **Next:** [08, pretrained knowledge](08_pretrained_knowledge.ipynb), builds a language model from such layers and asks where
# its facts come from.
#
# **References:** Tay and others (2021), *Synthesizer: rethinking self-attention for transformer models*.
