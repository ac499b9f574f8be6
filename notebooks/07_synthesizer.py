# %% [markdown]
# <!-- Made by "attn build" from solutions/07_synthesizer.py. Instructors edit that file. -->
# # Attention without comparisons
#
# > Remove keys and queries, let each token compute its own row of weights, and find out what is lost.
#
# *78 min, 2 questions, 8 points, needs 06; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** a synthesizer layer and **find** with a gradient what its weights depend on,
# - **prove** that it cannot compute the OR of two tokens, with any number of heads,
# - **predict**, before any training, the loss below which it cannot go.

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
# | $W_A^{(i)}$, $\gamma_A$ | the first map of head $i$ and its bias | $(D, d)$, $(d,)$ | columns of `A`, an `nn.Linear` |
# | $W_B^{(i)}$ | the second map of head $i$, one column for each position | $(d, L)$ | `B[i]` |
# | $\gamma_B$ | the bias of the second map, the same for all heads | $(L,)$ | `b2` |
# | $W_V^{(i)}$, $W_O$ | the value projection of head $i$ and the last projection, as in 06 | $(D, d)$, $(D, D)$ | `value`, `out` |
# | $L$ | the length of the longest sequence allowed | number | `max_length` |
#
# <!-- notation -->
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $d$, $d_v$ | the width of queries and keys, and of values | numbers | `d` |
# | $T$ | the number of queries, which is that of the tokens in self-attention | number | `T` |
# | $D$ | the width of a token | number | `D` |
# | $H$ | the number of heads | number | `num_heads` |
#
# </details>

# %% [markdown]
# ## The definition
#
# In [06](06_transformer_attention.ipynb) the scores of a head were $q k^\top/\sqrt d$: every token was compared
# with every other. A *synthesizer* computes each row of scores from one token alone, by a small network with one
# hidden layer:
#
# $$Y_i = \operatorname{softmax}\big(\operatorname{ReLU}(X W_A^{(i)} + \gamma_A)\, W_B^{(i)} + \gamma_B\big)\, X W_V^{(i)} . \tag{1}$$
#
# A sequence of $T \le L$ tokens uses the first $T$ columns of $W_B^{(i)}$ and $\gamma_B$. The causal mask, the
# merging of the heads by $W_O$ and both dropouts are as before. Here are the weights of two heads on six random
# tokens.

# %%
torch.manual_seed(7)
synthesizer = layers.SynthesizerAttention(8, 2, 6)  # D, heads, longest sequence
x = torch.randn(1, 6, 8)
past = torch.ones(6, 6, dtype=torch.bool).tril()
axis = {"xlabel": "position looked at", "ylabel": "position that looks"}
plots.head_maps(synthesizer.weights(x)[0].detach(), mask=past, **axis)

# %% [markdown]
# They look like any other attention maps. The difference is what the numbers depend on, and no single map can show
# that.
#
# ### 7.1 Attention that compares nothing
#
# *code · 4.5 points · 15 min*
#
# **Given** equation (1) and your layer of 06. **Build** a causal synthesizer with $H$ heads. **Form:** the class
# below. The check copies parameters into `A`, `B`, `b2`, `value` and `out`, and compares outputs and gradients. It calls
# one layer several times, with up to `max_length` tokens. As in 6.6, the gradient with respect to a later token must be exactly 0, however large its score is.
#
# *Predict* two shapes, with the batch in front: that of the hidden features of all heads, and that of the scores.
# The text below the check answers.


# %% answer="7.1"
# my predictions, the two shapes: ...
class SynthesizerAttention(nn.Module):
    """x (batch, T, D) -> (batch, T, D): every token writes its own weights over itself and its past."""

    def __init__(self, D, num_heads, max_length, *, attention_dropout=0.0, residual_dropout=0.0):
        super().__init__()
        # 1. A, value, out: an nn.Linear(D, D) each, with bias
        # 2. B: an nn.Parameter (H, d, max_length); b2: an nn.Parameter (max_length,)
        # 3. an nn.Dropout for the weights and one for the final output
        raise NotImplementedError("your answer here")

    def forward(self, x):
        # 4. the hidden features, split into heads, and from them the scores
        # 5. the causal mask, the softmax, the dropout of the weights
        # 6. the context: split into heads, merged, projected, with dropout (batch, T, D)
        raise NotImplementedError("your answer here")


# %% check="7.1"
check("7.1", SynthesizerAttention)

# %% [markdown]
# The hidden features have shape (batch, H, T, d), and the scores (batch, H, T, T): one row for each token and head.
#
# ## What a row of weights depends on
#
# Gradients can tell. The number in row $t$ and column $s$ below is the size of the derivative of row $t$ of the
# weights with respect to token $x_s$. One panel shows the layer of 06 and the other a synthesizer, both with random
# parameters. *Predict* for each panel which entries are exactly zero.


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
off_diagonal = found["synthesizer"][~torch.eye(6, dtype=torch.bool)]
print(f"synthesizer, largest off the diagonal: {off_diagonal.max():g}")

# %% [markdown]
# With keys and queries, row $t$ depends on every token up to $t$. In the synthesizer only the diagonal differs from
# zero, and all other entries are exactly zero: row $t$ depends on $x_t$ alone. (The first row is zero in both
# panels, because its only weight is always 1.) The columns of $W_B^{(i)}$ stand for *positions*, not for contents, so
# there are no weights for a sequence longer than $L$.
#
# ## What it saves
#
# A synthesizer has three projections instead of four, and the matrices $W_B^{(i)}$ in addition. We count the
# parameters of both layers, and let PyTorch count the operations for one sequence of $T = L$ tokens.

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
# All $W_B^{(i)}$ and $\gamma_B$ together have $(D+1)\,L$ parameters, and they replace one projection, which has
# $D(D+1)$. So the synthesizer is the smaller layer only if $L < D$. It saves the operations of one projection, but
# the products over all pairs of tokens cost as much as before.
#
# **Pause.** This is about the middle of the notebook. You have built the layer; the second half asks what it cannot do.

# %% [markdown]
# ## A tempting argument that fails
#
# "One token of the sequence is marked; report it. Without comparing contents, a synthesizer cannot find it." We build
# a synthesizer for this task by hand. All its scores are zero, so at the last token every weight is $1/T$. Its values
# are zero unless the token is marked, and its output projection multiplies by $T$. *Predict* how often it is wrong.

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
# It is never wrong: the weights need not find the token, because all other values are zero. A proof needs a task
# that no choice of the values can solve.
#
# ### 7.2 What it cannot do
#
# *written + code · 3.5 points · 20 min*
#
# **Given** one layer, followed by a linear map of the last token's output, and two tasks. **OR:** two tokens, each 0 or 1, then a
# fixed third; report whether at least one is 1. **Recall:** three tokens, each a key with its value, in random order,
# then a key alone; report its value. **Explain** why the synthesizer fails and keys and queries do not.
#
# *Predict* a trained synthesizer's worst error over all sequences of OR, with one head and four.

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
# With one head, two or four, the synthesizer ends at a mean squared error of 1/16 from every start, and its worst
# error is 0.25. With keys and queries one head reaches $10^{-6}$, where the curves are cut off. The next task is
# recall: *predict* what a second and a third head will change.

# %%
# my predictions, two heads and three: ...
recall_task = synthesizer_tasks.recall_of_three()
found = synthesizer_tasks.contest(recall_task, num_heads=(1, 2, 3), steps=steps)
print(synthesizer_tasks.report(found))
curves = synthesizer_tasks.curves(found, {"2/12": 2 / 12, "1/12": 1 / 12})
plots.curves(range(200), curves, **axis, title="recall of three keys")

# %% [markdown]
# At recall, more heads help: a synthesizer with one head ends at 2/12, with two heads at 1/12, and with three heads
# it is as good as one head with keys and queries.
#
# **The written part** (2.5 points). (a) Hold the last token fixed. What is the output of a synthesizer at that
# position, as a function of the other tokens? (b) Conclude that at OR the worst error is at least 1/4, for any
# number of heads. (c) Describe one head with keys and queries whose error is as small as you like. A sentence on
# recall is welcome.

# %% [markdown] written="7.2"
# *Your answer to 7.2: replace this line.*

# %% [markdown]
# **The code part** (1 point). **Given** $T$, $D$ and a position $t \ge 1$. **Find** two inputs that have the same
# token at position $t$, and yet a layer with keys and queries gives them different weights in row $t$. (A
# synthesizer cannot.) **Form:** `two_inputs(T, D, t)` returns two arrays of shape (T, D); the check tries them on
# random layers of both kinds.


# %% answer="7.2"
def two_inputs(T: int, D: int, t: int):
    """-> x, other, both (T, D), equal at position t."""
    raise NotImplementedError("your answer here")


# %% check="7.2"
check("7.2", two_inputs)

# %% [markdown]
# At recall, the weights of the last token show the same difference between the two kinds of layer. The sequences
# below all ask *which value has key 0?*, but their three pairs come in three different orders. We train both layers
# once more, and draw how much weight their last token puts on each of the three positions. *Predict* what changes
# from row to row.

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
# On the left, the largest weight follows key 0 wherever it is. On the right, all three orders get the same row: the
# layer has to choose positions without knowing what is there. (A quarter of the weight is on the asking token
# itself, which is not drawn.)
#
# ## Common mistakes
#
# 1. "More heads will solve it." At OR four heads end at the same error as one.
# 2. "It is a convolution." In a convolution a weight depends only on the distance between two positions. Here it
#    does not.
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
# 1. In (1) row $t$ of the weights depends on $x_t$ alone: all other gradients are exactly zero.
# 2. At OR a synthesizer has a worst error of at least 1/4, with any number of heads; at recall it needs one head
#    for each key.
# 3. One head with keys and queries solves both.
#
# **Without notes:** What do the columns of $W_B^{(i)}$ stand for? Why does the task of the marked token prove
# nothing? Why do more heads help at recall and not at OR? When is a synthesizer the larger layer?
#
# <details><summary>Short answers</summary>
#
# 1. Positions: column $s$ gives the score of whatever token stands at position $s$.
# 2. Its values can be zero for all tokens but the marked one, so the weights need not find it.
# 3. At recall each head can serve one key. At OR a sum of any number of heads is still a sum of functions of one token
#    each.
# 4. If $L > D$: its $(D + 1) L$ numbers replace a projection of $D (D + 1)$.
#
# </details>
#
# **Next:** [08, pretrained knowledge](08_pretrained_knowledge.ipynb), asks where a language model's facts come
# from.
#
# **Reference:** [Tay et al. (2021)](https://arxiv.org/abs/2005.00743), the synthesizer.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
