# %% [markdown]
# <!-- Made by "attn build" from solutions/14_induction.py. Instructors edit that file. -->
# # Induction heads
#
# > A head that finds what came next: built by hand, trained in seconds, found again in the trained weights, and cut out.
#
# *85 min, 7 questions, 10 bonus points, needs 06; a pause is marked in the middle*
#
# After this notebook you can
#
# - **build** two heads that continue any sequence they have seen once, and **show** why one head is not enough,
# - **compute** how sharp such a head must be, and **find** it in a trained model by its weights,
# - **test** a claim about a head by cutting one path, and **name** what could fool you.

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

from attn_course import check, derive, hint, plots
from attn_course.experiments import induction
from attn_utils import attend

torch.set_num_threads(1)  # the models here are small

# %% [markdown]
# ## Notation
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $x$ | the *stream*: one row for each token, to which heads add | $(T, D)$ | `x` |
# | $W_{QK}$ | gives the scores $x W_{QK} x^\top$; rows: query, columns: key | $(D, D)$ | `W_QK` |
# | $W_{OV}$ | gives what is added, $\text{weights} \cdot x W_{OV}$; rows read, columns write | $(D, D)$ | `W_OV` |
# | $n$, $n_1$, $n_0$ | numbers of all keys, of matches, of others | | `n`, `num_matches` |
# | $f_1$, $f_0$ | how often B is found among the matches, among the others | | `f_1`, `f_0` |
# | $E$, $U$ | embedding of the letters, and read-out | (letters, $D$), ($D$, letters) | `E`, `U` |
#
# <!-- notation -->
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $d$, $d_v$ | the width of queries and keys, and of values | numbers | `d` |
# | $s_i = k_i^\top q$ | the score of item $i$ | $(n,)$ | `scores` |
# | $\alpha_i$ | the weight of item $i$, or of several items together | $(n,)$ | `weights` |
# | $\varepsilon$ | the share of the weight that the other keys may have | number | `epsilon` |
# | $T$ | the number of queries, which is that of the tokens in self-attention | number | `T` |
# | $D$ | the width of a token | number | `D` |
#
# </details>
#
# In this notebook $s$ is the score of each match, all other keys have score 0, and $\alpha$ is the weight on all matches
# together.

# %% [markdown]
# ## The definition
#
# A head is two matrices. It changes the stream to
#
# $$x + \text{weights} \cdot x\,W_{OV}, \qquad \text{weights} = \operatorname{softmax}(x W_{QK} x^\top) , \tag{1}$$
#
# where the softmax is causal.
#
# Our stream has four *subspaces*. `token` holds the letter and `place` the position, both one-hot; `before` and `after` are
# empty at the start. `place` has `length` features, each of the other three has `num_letters`. Here $W_{QK}$ contains the
# factor $1/\sqrt d$, so scores are not divided again.


# %%
def subspaces(num_letters, length):
    """Where the subspaces of the stream lie: {name: slice}."""
    n = num_letters
    letters = {"token": slice(0, n), "before": slice(n, 2 * n), "after": slice(2 * n, 3 * n)}
    return letters | {"place": slice(3 * n, 3 * n + length)}


def stream_of(text, num_letters=26, length=20):
    """The stream (T, D) of a word in small letters."""
    x = np.zeros((len(text), 3 * num_letters + length))
    for t, letter in enumerate(text):
        x[t, ord(letter) - ord("a")] = 1
        x[t, 3 * num_letters + t] = 1
    return x


def head(x, W_QK, W_OV):
    """What a head writes (T, D), and its causal weights (T, T)."""
    W_QK, W_OV = np.asarray(W_QK), np.asarray(W_OV)
    return attend(x @ W_QK, x, x @ W_OV, causal=True, scale=1.0)


# %% [markdown]
# ### 14.1 A head that looks one back
#
# *code · 1 bonus point · 4 min*
#
# **Find** two matrices with which every token from place 1 on puts at least 99% of its weight on the place before it, and
# copies the letter there into its own `before`. Nothing else in the stream may change. **Form:**
# `previous_token_head(num_letters, length)`, which returns `(W_QK, W_OV)`; the second is given. Sequences may be shorter than
# `length`.


# %% answer="14.1"
def previous_token_head(num_letters, length):
    """(W_QK, W_OV), each (D, D): look one place back and copy the letter into `before`."""
    D = 3 * num_letters + length
    W_QK, W_OV = np.zeros((D, D)), np.zeros((D, D))
    at = subspaces(num_letters, length)
    W_OV[at["token"], at["before"]] = np.eye(num_letters)  # read the letter, write it into `before`
    raise NotImplementedError("your answer here")
    return W_QK, W_OV


# %% check="14.1"
check("14.1", previous_token_head)

# %% [markdown]
# ### 14.2 A head that finds what came next
#
# *code · 2 bonus points · 7 min*
#
# Token 0 can look only at itself, so it writes its *own* letter into its `before`: a trap for the next head.
#
# **Given** the stream after head 1. **Find** the second head. A *match* of the token at place $t$ is a place $j$ from 1 to
# $t$ that comes right after the same letter: the letter at $j - 1$ equals the letter at $t$. Each token looks at all its
# matches with equal weight, and writes their letters into `after`, as shares that add up to one. Nothing else changes. A
# token without a match may look anywhere. **Form:** `induction_head`, as in 14.1.


# %% answer="14.2"
def induction_head(num_letters, length):
    """(W_QK, W_OV), each (D, D): find what came next and write it into `after`."""
    D = 3 * num_letters + length
    W_QK, W_OV = np.zeros((D, D)), np.zeros((D, D))
    at = subspaces(num_letters, length)
    raise NotImplementedError("your answer here")
    return W_QK, W_OV


# %% check="14.2"
check("14.2", induction_head)

# %%
if check("14.1", previous_token_head) and check("14.2", induction_head):
    text = "abracadabra"
    first, one_back = head(stream_of(text), *previous_token_head(26, 20))
    second, matches = head(stream_of(text) + first, *induction_head(26, 20))
    maps = {"head 1 looks one back": one_back, "head 2 finds what came next": matches}
    for (name, weights), ax in zip(maps.items(), plots.panels(2, height=4), strict=True):
        look = np.tri(len(text), dtype=bool)
        options = {"mask": look, "numbers": False, "xlabel": "key", "ylabel": "query"}
        plots.attention_map(weights, text, text, title=name, colour_bar=False, **options, ax=ax)
    shares = second[:, subspaces(26, 20)["after"]]
    for t, row in list(enumerate(shares))[7:10]:
        print(f"{text[: t + 1]} -> {chr(97 + row.argmax())} {row.max():.2f}", end=" ")

# %% [markdown]
# Head 1 looks one back. Head 2 looks one to the right of each earlier occurrence of its letter: the second *b* finds *r*;
# the fourth *a* finds *b*, *c* and *d*, and gives each a third.
#
# ### 14.3 Counting pairs in the context
#
# *derive + code · 2 bonus points · 8 min*
#
# **Given** $n_1$ matches with score $s$ and $n_0$ other keys with score 0. The letter B is found at $f_1$ of the matches and
# at $f_0$ of the others. **Prove** that the share of B in what the head writes is a mixture of B's share of the matches and
# B's share of the others. **Form:** the chain `share`; its last line has only $n_0, n_1, f_0, f_1$ and $\alpha$.

# %% answer="14.3 derive"
s, alpha = sp.Symbol("s", real=True), sp.Symbol("alpha", positive=True)
n_0, n_1, f_0, f_1 = sp.symbols("n_0 n_1 f_0 f_1", positive=True)
share_of_B = (f_1 * sp.exp(s) + f_0) / (n_1 * sp.exp(s) + n_0)
score = sp.log(alpha * n_0 / (n_1 * (1 - alpha)))  # from the definition of alpha
share = derive(
    (share_of_B, "exponentials of B over all exponentials"),
    # your steps here
    where={s: score, alpha: (0, 1)},
)
share

# %% check="14.3 derive"
check("14.3", share)

# %% [markdown]
# If the score is large, $\alpha$ is near 1 and the head says $f_1/n_1$: how often this letter was followed by B *in this
# text*. A larger score cannot give more: if B followed three times out of four, the share tends to 3/4. The proof merges two
# blocks of keys, as [13.1](13_fast_attention.ipynb) does.
#
# **The code of 14.3** (1 point). **Find** the smallest score $s$ with which the matches keep $1 - \varepsilon$ of the
# weight; it may lie below 0. **Form:** `sharpness(n, num_matches, epsilon)`, a number, for $n$ keys in all.
#
# *Predict:* if a text is a thousand times as long, by how much must the score grow?


# %% answer="14.3 code"
# my prediction: ...
def sharpness(n: int, num_matches: int, epsilon: float) -> float:
    """The smallest score of a match that leaves epsilon of the weight to the n - num_matches other keys."""
    raise NotImplementedError("your answer here")


# %% check="14.3 code"
check("14.3", sharpness)


# %%
is_sharp = check("14.3", sharpness)


def draw(matches, followed):
    """16 keys; B follows some of the matches and 2 of the other keys."""
    scores, right = np.linspace(0, 10, 101), min(followed, matches)
    shares = (right * np.exp(scores) + 2) / (matches * np.exp(scores) + 16 - matches)
    series = {"share of B": shares, "-among the matches": np.full(101, right / matches)}
    series["-among the others"] = np.full(101, 2 / (16 - matches))
    label = {"xlabel": "score of a match", "ylabel": "share"}
    enough = {"99% on matches": sharpness(16, matches, 0.01)} if is_sharp else {}
    plots.curves(scores, series, marks=enough, **label).limits(y=(0, 1.05))


plots.explore(draw, matches=(1, 8, 4), followed=(0, 8, 3))
if is_sharp:
    print(*(f"n = {n:,}: {sharpness(n, 1, 0.01):.2f}" for n in (32, 1000, 1_000_000)), sep="; ")

# %% [markdown]
# The needed score grows with the *logarithm* of the length: a thousand times as many keys raise it by $\log 1000$, the
# difference between the last two printed numbers.
#
# ### 14.4 One head of one layer is not enough
#
# *written · 1 bonus point · 6 min*
#
# **Given** four rows: $ABCD\,A \to B$, $ADCB\,A \to D$, $CBAD\,A \to D$, $CDAB\,A \to B$. At the last A, one layer's linear
# read-out says B or D. **Prove** that *one* head cannot get all four right, even if every pair of a letter and a place has
# a score and a value of its own. Begin with the margin, logit(B) − logit(D), and multiply it by the sum of the exponentials.
# What could two heads do, and what does a second layer do instead? Below, up to three heads train.

# %%
for H in (1, 2, 3):
    right = induction.rows_right(H)
    counts = {f"{k} rows": int((right == k).sum()) for k in range(5) if (right == k).any()}
    print(
        f"{H} {'head' if H == 1 else 'heads'}, how many of 60 starts get this many right: {counts}"
    )

# %% [markdown] written="14.4"
# *Your answer to 14.4: replace this line.*

# %% [markdown]
# **A good place for a pause.** Both heads are built. Next, training looks for them.
#
# ## The experiment: songs
#
# Does training find the two heads? A *song* has 4 to 24 different letters. A text is a song followed by short pieces of it:
# after each letter, the next letter of the song follows with probability 3/4; otherwise the text jumps to a random place of
# the song. The loss counts only letters in the pieces, and of these only the ones that continue the song, not those after
# a jump. A model has embeddings, learned places and two heads in each layer, nothing else. It is tested on ten letters
# *said twice* in the same order, a kind of text on which it was never trained.
#
# *Predict:* which of the two heads appears first?

# %%
# my prediction: ...
two = induction.train()
one = induction.train(induction.Setting(num_layers=1))
left, right = plots.panels(2, height=3.4)
losses = {"two layers": two.losses, "one layer": one.losses}
plots.curves(range(400), losses, xlabel="step", ylabel="loss", ax=left)
names = ("letters said right", "layer 1: weight one back", "layer 2: weight on what came next")
measured = dict(zip(names, two.measured.values(), strict=True))
plots.curves(two.steps, measured, xlabel="step", ylabel="share", ax=right).limits(y=(0, 1.05))
twice = induction.said_twice(100, seed=10**6)
for name, run in {"two layers": two, "one layer": one}.items():
    print(f"{name}: {induction.accuracy(run.model, twice):.0%} of ten letters said twice")
for name, runs in induction.recorded()["runs"].items():
    songs, ten = ([run[test] for run in runs] for test in ("songs", "ten twice"))
    print(f"{name}, ten seeds: songs {min(songs):.2f}-{max(songs):.2f}", end=", ")
    print(f"ten letters twice {min(ten):.2f}-{max(ten):.2f}")

# %% [markdown]
# The loss of two layers stays level, then falls within a few steps. Both heads appear together, because neither helps
# without the other. One layer learns which letters belong to the song, but not which comes next; the recorded seeds agree.
#
# ### 14.5 Find the heads
#
# *code · 1 bonus point · 4 min*
#
# **Given** causal weights (H, T, T), one row for each query, tokens (T,), and `previous_token_score`: the mean weight on
# the place before, for each head. The *total* of a token is its weight on all its matches together, as 14.2 defines them.
# **Compute** for each head the mean of this total over the tokens that have a match. **Form:**
# `induction_score(weights, tokens)`, shape (H,).


# %% answer="14.5"
def previous_token_score(weights):
    """weights (H, T, T) -> the mean weight on the place before, (H,)."""
    return np.diagonal(weights, -1, 1, 2).mean(-1)


def induction_score(weights, tokens):
    """weights (H, T, T), tokens (T,) -> the mean weight on what came next, (H,)."""
    before = np.r_[-1, tokens[:-1]]  # the letter before each place; place 0 has none
    raise NotImplementedError("your answer here")


# %% check="14.5"
check("14.5", previous_token_score, induction_score)

# %% [markdown]
# ### 14.6 Read the weights
#
# *code · 1 bonus point · 5 min*
#
# **Given** $E$ and $U$, $W_q, W_k, W_v$ (D, d) and $W_o$ (d, D) of head 2, and $W_{v1}, W_{o1}$ of head 1. **Compute** two
# tables with a row and a column for each letter. `ov_circuit`: how much head 2 adds to the logit of one letter (column) if
# it looks at a letter (row). `matching_circuit`: the score, divided by $\sqrt d$, of a query with a key. The query is made
# from the embedding of a letter (row). Head 1 looks at a letter (column), and the key is made from what head 1 writes, without
# the embedding of the key's own letter. Given is `copying_score(C)`: the sum of the eigenvalues' real parts, divided by the
# sum of their sizes. It is 1 if each letter maps to itself.


# %% answer="14.6"
def ov_circuit(E, W_v, W_o, U):
    """From the letter attended to (rows) to the letter said (columns)."""
    raise NotImplementedError("your answer here")


def matching_circuit(E, W_q, W_k, W_v1, W_o1):
    """Scores of a query letter (rows) with keys that come right after a letter (columns)."""
    raise NotImplementedError("your answer here")


def copying_score(C):
    """Between -1 and 1; 1 where every letter is mapped to itself. Given."""
    eigenvalues = np.linalg.eigvals(C)
    return eigenvalues.real.sum() / np.abs(eigenvalues).sum()


# %% check="14.6"
check("14.6", ov_circuit, matching_circuit, copying_score)

# %%
model, trace = two.model, two.model.trace(twice.letters[:1])
alphabet = "abcdefghijklmnopqrstuvwx"
E, U = (x.detach().numpy() for x in (model.embedding, model.read_out))
maps = [layer[0].detach().numpy() for layer in trace.weights]  # (H, T, T) of each layer
has_scores = check("14.5", previous_token_score, induction_score)
if has_scores and check("14.6", ov_circuit, matching_circuit, copying_score):
    first = int(np.asarray(previous_token_score(maps[0])).argmax())
    last = int(np.asarray(induction_score(maps[1], twice.letters[0].numpy())).argmax())
    _, _, W_v1, W_o1 = model.weights_of(0, first)
    W_q, W_k, W_v, W_o = model.weights_of(1, last)
    C = {"matching": matching_circuit(E, W_q, W_k, W_v1, W_o1), "OV": ov_circuit(E, W_v, W_o, U)}
    labels = [("letter before the key", "query letter"), ("letter said", "letter looked at")]
    panels = plots.panels(2, height=4.4)
    for (name, table), (x, y), ax in zip(C.items(), labels, panels, strict=True):
        title = f"{name}: copying score {copying_score(table):.2f}"
        label = {"title": title, "xlabel": x, "ylabel": y, "numbers": False}
        plots.matrix(table, rows=alphabet, columns=alphabet, **label, ax=ax)

# %% [markdown]
# In both tables the diagonal stands out: head 2 matches equal letters and says what it finds.
#
# ### 14.7 Cut one path
#
# *code + written · 2 bonus points · 8 min*
#
# **Given** the stream x (T, D) before layer 2; `written`, the part of x that layer 1 wrote; `instead`, the mean of that part
# over many sequences; and `weights`, the matrices $(W_q, W_k, W_v, W_o)$ of one head. The head makes queries, keys and
# values from x. **Compute** what it writes if *one* of the three, named by `path` ("q", "k" or "v"), is made from x with
# `instead` in place of `written`. **Form:** `patched`, shape (T, D); do not change the arguments.
#
# *Predict:* which of the three cuts destroys the answer?


# %% answer="14.7 code"
# my prediction: ...
def patched(x, written, instead, weights, path):
    """What the head writes, (T, D), where the input named by `path` sees `instead` of `written`."""
    W_q, W_k, W_v, W_o = weights
    raise NotImplementedError("your answer here")
    context, _ = attend(q, k, v, causal=True)  # divides by the root of d
    return context @ W_o


# %% check="14.7 code"
check("14.7", patched)

# %%
trace = model.trace(twice.letters)
streams = trace.streams[1].detach().numpy()  # (B, T, D)
written = trace.written[0].sum(1).detach().numpy()  # by both heads of layer 1
x, cut = streams[0], streams[0] - written[0] + written.mean(0)
W_q, W_k, *_ = model.weights_of(1, 0)
tokens = twice.letters[0].numpy()
text = [alphabet[token] for token in tokens]
pictures = {"a head of layer 1": max(maps[0], key=lambda head: np.trace(head, -1))}
for name, keys in {"a head of layer 2": x, "the same, k cut": cut}.items():
    _, pictures[name] = attend(x @ W_q, keys @ W_k, x, causal=True)
done = check("14.5", previous_token_score, induction_score)
for (name, weights), ax in zip(pictures.items(), plots.panels(3, height=4), strict=True):
    title = f"{name}: {induction_score(weights[None], tokens)[0]:.2f}" if done else name
    options = {"mask": np.tri(20, dtype=bool), "numbers": False, "colour_bar": False}
    plots.attention_map(weights, text, text, title=title, **options, ax=ax)

# %% [markdown]
# The trained heads on ten letters said twice: layer 1 looks one back, layer 2 finds what came next. The number in a title
# is the induction score. The third map tests the claim that layer 2 needs layer 1: if the keys are made without what layer
# 1 wrote, the stripe is gone. How much of the *answer* is lost? The bars below show which share of the letters is still
# right when one path is cut, or when a head writes its mean instead. The cell after the bars trains another model, with one
# layer, on letters said twice; its training texts always have ten different letters.

# %%
bars = {"no cut": induction.accuracy(model, twice)}
for path in "qkv" if check("14.7", patched) else "":
    letters = []
    for x, w in zip(streams, written, strict=True):
        heads = [patched(x, w, written.mean(0), model.weights_of(1, h), path) for h in (0, 1)]
        letters.append(((x + np.sum(heads, 0)) @ U).argmax(-1))
    bars[f"{path} cut"] = (np.array(letters)[:, 10:19] == twice.letters.numpy()[:, 11:20]).mean()
for layer, h in ((0, 0), (0, 1), (1, 0), (1, 1)):
    bars[f"layer {layer + 1}, head {h}"] = induction.ablated(model, twice, [(layer, h)])
bars["layer 2, both"] = induction.ablated(model, twice, [(1, 0), (1, 1)])
plots.bars(list(bars.values()), list(bars), xlabel="what is cut", ylabel="letters said right")

# %%
fooled = induction.train(induction.FOOLED, draw=induction.said_twice).model
for size in (10, 8):
    rows = induction.said_twice(100, 10**6, size)
    print(f"one layer: {size} letters twice, {induction.accuracy(fooled, rows):.0%} right")
with torch.no_grad():
    _, scores = induction.head_scores(fooled.trace(twice.letters), twice)
print(f"its induction score: {scores.item():.2f}")

# %% [markdown]
# Queries and values can do without layer 1, but keys cannot. Cutting one head of layer 2 changes little, because the other
# head does the same; cutting both destroys the answer.
#
# **The written part of 14.7** (1 point). What evidence would convince you that a head "does induction"? Give two ways in
# which the evidence in this notebook could fool you. Use the printed lines.

# %% [markdown] written="14.7"
# *Your answer to 14.7: replace this line.*

# %% [markdown]
# ## Summary
#
# 1. A head is two matrices (1): where it looks, and what it writes.
# 2. Two heads in two layers count what followed a letter in this text; one head of one layer cannot.
# 3. A claim about a head needs a score, a circuit and a cut: each of them alone can fool you.
#
# ## Without notes
#
# 1. Which subspace of the keys does head 2 compare with the query, and which head wrote it?
# 2. Why must head 2 be kept from looking at place 0?
# 3. By how much must a score grow for a text ten times as long?
# 4. In 14.4, which sum is the same for rows 1 and 4 together as for rows 2 and 3 together?
# 5. Which of the three cuts shows that head 2 needs head 1?
#
# <details><summary>Short answers</summary>
#
# 1. `before`, written by head 1; the query asks with its own letter.
# 2. Token 0 saw itself alone, so its `before` holds its own letter, as if that letter had followed itself.
# 3. By $\log 10$.
# 4. The sum over pairs (letter, place) of exponential times value: both use the same eight pairs.
# 5. The one that cuts the keys.
#
# </details>
#
# **Next:** [15](15_decoding.ipynb), what a decoder keeps. **References.** [Elhage et al.
# (2021)](https://transformer-circuits.pub/2021/framework/index.html), circuits; [Olsson et al.
# (2022)](https://arxiv.org/abs/2209.11895), induction heads; [Sanford, Hsu and Telgarsky
# (2024)](https://arxiv.org/abs/2408.14332), one layer; [Wang et al. (2022)](https://arxiv.org/abs/2211.00593), path patching.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
