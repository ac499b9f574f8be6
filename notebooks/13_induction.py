# %% [markdown]
# <!-- Made by "attn build" from solutions/13_induction.py. Instructors edit that file. -->
# # Induction heads
#
# > A head that finds what came next: built by hand, trained in seconds, found again in the trained weights, and cut out.
#
# *96 min, 7 questions, 10 bonus points, needs 06, and 12.1 for its log-sum-exp; a pause is marked in the middle*
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
# | $W_{QK}$ | $x W_{QK} x^\top$ are the scores; rows belong to the query, columns to the key | $(D, D)$ | `W_QK` |
# | $W_{OV}$ | a head adds $\text{weights} \cdot x W_{OV}$; rows read, columns write | $(D, D)$ | `W_OV` |
# | $n_1$, $n_0$ | how many keys match, and how many do not | numbers | `num_matches`, $n - n_1$ |
# | $b_1$, $b_0$ | how many of them are the letter B | numbers | `b_1`, `b_0` |
# | $s$ | the score of a match; all others have score 0 | number | `s` |
# | $\alpha$ | the weight on all matches together | number | `alpha` |
# | $\varepsilon$ | the weight that other keys may keep | number | `epsilon` |
# | $E$, $U$ | embedding of the letters, and read-out | $(n, D)$, $(D, n)$ | `E`, `U` |

# %% [markdown]
# ## The definition
#
# A head is two matrices. With causal weights $A$, it changes the stream to
#
# $$x + A\,x\,W_{OV}, \qquad A = \operatorname{softmax}(x W_{QK} x^\top) . \tag{1}$$
#
# Our stream has four *subspaces*. At the start each is one-hot or empty: `token` is the letter; `before` and `after` are
# empty; `place` is the position. Each of the first three has `num_letters` features, `place` has `length`. We do not divide
# by $\sqrt d$ here; you may think of that factor as a part of $W_{QK}$.


# %%
def subspaces(num_letters, length):
    """Where the subspaces of the stream lie: {name: slice}."""
    names = ("token", "before", "after", "place")
    ends = num_letters * np.arange(4)
    stops = [*ends[1:], 3 * num_letters + length]
    return {name: slice(a, b) for name, a, b in zip(names, ends, stops, strict=True)}


def stream_of(text, num_letters=26, length=20):
    """The stream (T, D) of a word in small letters."""
    x = np.zeros((len(text), 3 * num_letters + length))
    for t, letter in enumerate(text):
        x[t, ord(letter) - ord("a")] = 1
        x[t, 3 * num_letters + t] = 1
    return x


def head(x, W_QK, W_OV):
    """What a head writes (T, D), and its causal weights (T, T)."""
    return attend(x @ W_QK, x, x @ W_OV, causal=True, scale=1.0)


# %% [markdown]
# ### 13.1 A head that looks one back
#
# *code · 1 bonus point · 6 min*
#
# **Find** two matrices with which every token from place 1 on puts at least 99% of its weight on the place before it, and
# copies the letter there into its own `before`. Nothing else in the stream may change. **Form:**
# `previous_token_head(num_letters, length)`, which returns `(W_QK, W_OV)`, both $(D, D)$ with $D$ = 3 `num_letters` +
# `length`. Sequences may be shorter than `length`.
#
# *Predict:* where does token 0 look?


# %% answer="13.1"
# my prediction: ...
def previous_token_head(num_letters, length):
    """(W_QK, W_OV), each (D, D): look one place back and copy the letter into `before`."""
    D = 3 * num_letters + length
    W_QK, W_OV = np.zeros((D, D)), np.zeros((D, D))
    at = subspaces(num_letters, length)
    raise NotImplementedError("your answer here")


# %% check="13.1"
check("13.1", previous_token_head)

# %% [markdown]
# ### 13.2 A head that finds what came next
#
# *code · 2 bonus points · 9 min*
#
# Token 0 can look only at itself, so it writes its *own* letter into its `before`. That is a trap for the next head.
#
# **Given** the stream after head 1. **Find** the second head: the token at place $t$ looks
# with equal weight at all places $j$ in $1 \dots t$ that stand right after an earlier occurrence of its letter (the letter at
# $j - 1$ equals that at $t$), and writes the letters there into `after`, as shares that add up to one. Nothing else changes.
# A token that has no such place may look anywhere. **Form:** `induction_head(num_letters, length)`, as in 13.1.


# %% answer="13.2"
def induction_head(num_letters, length):
    """(W_QK, W_OV), each (D, D): find what came next and write it into `after`."""
    D = 3 * num_letters + length
    W_QK, W_OV = np.zeros((D, D)), np.zeros((D, D))
    at = subspaces(num_letters, length)
    raise NotImplementedError("your answer here")


# %% check="13.2"
check("13.2", induction_head)

# %%
if check("13.1", previous_token_head) and check("13.2", induction_head):
    text = "abracadabra"
    first, one_back = head(stream_of(text), *previous_token_head(26, 20))
    found, matches = head(stream_of(text) + first, *induction_head(26, 20))
    maps = {"head 1 looks one back": one_back, "head 2 finds what came next": matches}
    for (name, weights), ax in zip(maps.items(), plots.panels(2, height=4), strict=True):
        look = np.tri(len(text), dtype=bool)
        options = {"mask": look, "numbers": False, "xlabel": "key", "ylabel": "query"}
        plots.attention_map(weights, text, text, title=name, colour_bar=False, **options, ax=ax)
    said = found[:, 52:78]
    print(
        *(f"{text[: t + 1]} -> {chr(97 + said[t].argmax())} {said[t].max():.2f}" for t in (7, 8, 9))
    )

# %% [markdown]
# Head 1 gives a stripe below the diagonal for any letters. Head 2 looks one to the right of each earlier occurrence: at the
# second *b* it finds *r* and says it; at the *a* before it, *b*, *c* and *d*, a third each. It works for every word.
#
# ### 13.3 Counting pairs in the context
#
# *derive + code · 2 bonus points · 9 min*
#
# **Given** $n_1$ matches with score $s$ and $n_0$ other keys with score 0; $b_1$ and $b_0$ of them are the letter B.
# **Prove** that the share of B is a mixture of two counted shares. **Form:** the chain `share`; its last line has only
# $n_0, n_1, b_0, b_1$ and $\alpha$, the weight on all matches.

# %%
s, alpha = sp.Symbol("s", real=True), sp.Symbol("alpha", positive=True)
n_0, n_1, b_0, b_1 = sp.symbols("n_0 n_1 b_0 b_1", positive=True)
share_of_B = (b_1 * sp.exp(s) + b_0) / (n_1 * sp.exp(s) + n_0)
score = sp.log(alpha * n_0 / (n_1 * (1 - alpha)))
known = {s: score, alpha: (0, 1)}

# %% answer="13.3 derive"
share = derive(
    (share_of_B, "exponentials of B over all exponentials"),
    # your steps here
    where=known,
)
share

# %% check="13.3 derive"
check("13.3", share)

# %% [markdown]
# For a sharp head $\alpha \to 1$, and what it says is $b_1/n_1$: a table of pairs, *counted in the context*. A higher
# score gives no more than that: if three of four followers were B, the share tends to 3/4. The proof is the merging of
# [12.1](12_fast_attention.ipynb), with the matches and the other keys as the two blocks.
#
# **The code of 13.3** (1 point). **Find** the smallest score $s$ with which the matches keep $1 - \varepsilon$ of the
# weight. **Form:** `sharpness(n, num_matches, epsilon)`, a number, for $n$ keys in all.
#
# *Predict:* if a text is a thousand times as long, by how much must the score grow?


# %% answer="13.3 code"
# my prediction: ...
def sharpness(n: int, num_matches: int, epsilon: float) -> float:
    """The smallest score of a match that leaves epsilon of the weight to the n - num_matches other keys."""
    raise NotImplementedError("your answer here")


# %% check="13.3 code"
check("13.3", sharpness)


# %%
is_sharp = check("13.3", sharpness)


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
# The needed score grows with the *logarithm* of the length: a thousand times as many keys raise it by
# $\log 1000$, the difference between the last two printed numbers.
#
# **A good place for a pause.** You have built and derived the two heads. The second half trains a model and looks for them
# in its weights.
#
# ### 13.4 One head of one layer is not enough
#
# *written · 1 bonus point · 7 min*
#
# **Given** four rows: $ABCD\,A \to B$, $ADCB\,A \to D$, $CBAD\,A \to D$, $CDAB\,A \to B$. **Prove** that no layer with *one*
# head, however wide and whatever it knows about places, followed by the residual and a linear read-out, gets all four right.
# What could two heads do, and what does a second layer do instead? The cell below trains one, two and three heads from 60
# random starts, with a free score and value for each letter at each place.

# %%
for H in (1, 2, 3):
    right = induction.rows_right(H)
    counts = {f"{k} rows": int((right == k).sum()) for k in range(5) if (right == k).any()}
    print(f"{H} heads: right, of 60 starts: {counts}")

# %% [markdown] written="13.4"
# *Your answer to 13.4: replace this line.*

# %% [markdown]
# ## The experiment: songs
#
# Does training find the two heads? A *song* has 4 to 24 different letters. It is sung once, then short pieces of it follow:
# after each letter it goes on with probability 3/4, else it jumps. Models must say the next letter wherever the song goes on.
# The models have embeddings, learned places and two heads in each layer, nothing else. They are tested on ten letters
# *said twice* in the same order, a kind of text on which they were never trained.
#
# *Predict:* which of the two heads appears first?

# %%
# my prediction: ...
two = induction.train()
one = induction.train(induction.replace(induction.Setting(), num_layers=1))
left, right = plots.panels(2, height=3.4)
losses = {"two layers": two.losses, "one layer": one.losses}
plots.curves(range(400), losses, xlabel="step", ylabel="loss", ax=left)
steps, *_ = measured = two.measured.values()
names = ("letters said twice", "head 1: one back", "head 2: what came next")
shown = dict(zip(names, list(measured)[1:], strict=True))
plots.curves(steps, shown, xlabel="step", ylabel="share, weight", ax=right).limits(y=(0, 1.05))
twice = induction.said_twice(induction.Setting(), 100, seed=10**6)
for name, run in {"two layers": two, "one layer": one}.items():
    print(f"{name}: {induction.accuracy(run.model, twice):.0%} of ten letters said twice")

# %%
recorded = induction.recorded()  # full runs, ten seeds
for name, runs in recorded["runs"].items():
    songs, ten = ([run[test] for run in runs] for test in ("songs", "ten twice"))
    print(
        f"{name}: songs {min(songs):.2f}-{max(songs):.2f}, ten twice {min(ten):.2f}-{max(ten):.2f}"
    )

# %% [markdown]
# The loss stays level, then falls within a few steps. Both heads appear together, because neither helps without the other.
# One layer learns which letters belong to the song, but not which comes next; the recorded seeds agree.
#
# ### 13.5 Find the heads
#
# *code · 1 bonus point · 7 min*
#
# **Given** weights (H, T, T), causal, rows are queries, and tokens (T,). **Compute** for each head (i) the mean over
# $t \ge 1$ of the weight on $t - 1$; (ii) the mean, over the places $t$ whose letter has occurred before, of the *total*
# weight on all $j$ in $1 \dots t$ for which token $j - 1$ equals token $t$. **Form:** `previous_token_score(weights)` and
# `induction_score(weights, tokens)`, shape (H,) each.


# %% answer="13.5"
def previous_token_score(weights):
    """weights (H, T, T) -> the mean weight on the place before, (H,)."""
    raise NotImplementedError("your answer here")


def induction_score(weights, tokens):
    """weights (H, T, T), tokens (T,) -> the mean weight on what came next, (H,)."""
    raise NotImplementedError("your answer here")


# %% check="13.5"
check("13.5", previous_token_score, induction_score)

# %% [markdown]
# ### 13.6 Read the weights
#
# *code · 1 bonus point · 7 min*
#
# Attention weights show where a head looks. What it does with what it finds can be read from its matrices, letter by letter.
#
# **Given** $E$ (letters, D), $W_q, W_k, W_v$ (D, d), $W_o$ (d, D), read-out $U$ (D, letters), and $W_{v1}, W_{o1}$ of the
# previous-token head. **Compute** `ov_circuit(E, W_v, W_o, U)`: rows are letters attended to, columns letters said;
# `matching_circuit(E, W_q, W_k, W_v1, W_o1)`: the score of a query letter (row) with a key that comes *right after*
# a given letter (column), using only what head 1 wrote about that letter, divided by $\sqrt d$; and
# `copying_score(C)` $= \sum \operatorname{Re} \lambda_i / \sum |\lambda_i|$ over the eigenvalues of $C$, in $[-1, 1]$.


# %% answer="13.6"
def ov_circuit(E, W_v, W_o, U):
    """From the letter attended to (rows) to the letter said (columns)."""
    raise NotImplementedError("your answer here")


def matching_circuit(E, W_q, W_k, W_v1, W_o1):
    """Scores of a letter (rows) with keys that have another letter before them (columns)."""
    raise NotImplementedError("your answer here")


def copying_score(C):
    """1 where every letter is mapped to itself, -1 where every letter is turned into its opposite."""
    raise NotImplementedError("your answer here")


# %% check="13.6"
check("13.6", ov_circuit, matching_circuit, copying_score)

# %%
model, trace = two.model, two.model.trace(twice.letters[:1])
alphabet = "abcdefghijklmnopqrstuvwx"
E, U = (x.detach().numpy() for x in (model.embedding, model.read_out))
maps = [layer[0].detach().numpy() for layer in trace.weights]  # (H, T, T) of each layer
if check("13.5", previous_token_score, induction_score) and check(
    "13.6", ov_circuit, matching_circuit, copying_score
):
    first = int(previous_token_score(maps[0]).argmax())
    last = int(induction_score(maps[1], twice.letters[0].numpy()).argmax())
    _, _, W_v1, W_o1 = model.weights_of(0, first)
    W_q, W_k, W_v, W_o = model.weights_of(1, last)
    C = {"matching": matching_circuit(E, W_q, W_k, W_v1, W_o1), "OV": ov_circuit(E, W_v, W_o, U)}
    for (name, table), ax in zip(C.items(), plots.panels(2, height=3.6), strict=True):
        title = f"{name}: copying score {copying_score(table):.2f}"
        plots.matrix(table, rows=alphabet, columns=alphabet, title=title, numbers=False, ax=ax)

# %% [markdown]
# In both tables the diagonal stands out, as in the hand-made heads.
#
# ### 13.7 Cut one path
#
# *code + written · 2 bonus points · 10 min*
#
# **Given** the stream x (T, D) before layer 2, the part of x that layer 1 has `written`, what replaces that part, `instead`
# (its mean over many sequences), and the matrices `weights` $(W_q, W_k, W_v, W_o)$ of one head. **Compute** what this causal
# head writes if *one* of its three inputs, `path` in "q", "k", "v", sees `instead` in place of `written`. **Form:**
# `patched(x, written, instead, weights, path)`, shape (T, D), scores divided by $\sqrt d$; do not change the arguments.
#
# *Predict:* which of the three cuts destroys the answer?


# %% answer="13.7 code"
# my prediction: ...
def patched(x, written, instead, weights, path):
    """What the head writes, (T, D), where the input named by `path` sees `instead` of `written`."""
    raise NotImplementedError("your answer here")


# %% check="13.7 code"
check("13.7", patched)

# %%
trace = model.trace(twice.letters)
streams = trace.streams[1].detach().numpy()  # (B, T, D)
written = trace.written[0].sum(1).detach().numpy()  # by both heads of layer 1
x, other = streams[0], streams[0] - written[0] + written.mean(0)
W_q, W_k, *_ = model.weights_of(1, 0)
tokens = twice.letters[0].numpy()
said = [alphabet[token] for token in tokens]
done = check("13.5", previous_token_score, induction_score)
keys = {"before": x, "after k is cut": other}
for (name, inputs), ax in zip(keys.items(), plots.panels(2, height=3.8), strict=True):
    _, weights = attend(x @ W_q, inputs @ W_k, x, causal=True)
    score = induction_score(weights[None], tokens)[0] if done else 0
    title = f"{name}: induction score {score:.2f}"
    plots.attention_map(weights, said, said, numbers=False, colour_bar=False, title=title, ax=ax)

# %% [markdown]
# One number tests the claim: the induction score of head 2.0, before and after its keys lose what layer 1 wrote. How much
# of the *answer* is lost? The bars show what remains when one path or one head is cut (a head that is cut writes its mean).
# Below them is a model with one layer that was trained only on ten letters said twice, never on another number.

# %%
bars = {"no cut": induction.accuracy(model, twice)}
for path in "qkv" if check("13.7", patched) else "":
    said = []
    for x, w in zip(streams, written, strict=True):
        heads = [patched(x, w, written.mean(0), model.weights_of(1, h), path) for h in (0, 1)]
        said.append(((x + sum(heads)) @ U).argmax(-1))
    bars[f"{path} cut"] = (np.array(said)[:, 10:19] == twice.letters.numpy()[:, 11:20]).mean()
for layer, h in ((0, 0), (0, 1), (1, 0), (1, 1)):
    bars[f"head {layer + 1}.{h}"] = induction.ablated(model, twice, [(layer, h)])
bars["2.0, 2.1"] = induction.ablated(model, twice, [(1, 0), (1, 1)])
plots.bars(list(bars.values()), list(bars), xlabel="what is cut", ylabel="letters said right")

# %%
fooled = induction.train(induction.fooled_setting(), draw=induction.said_twice).model
for size in (10, 8):
    rows = induction.said_twice(induction.Setting(), 100, 10**6, size)
    print(f"one layer: {size} letters twice, {induction.accuracy(fooled, rows):.0%} right")
with torch.no_grad():
    _, scores = induction.head_scores(fooled.trace(twice.letters), twice)
print(f"its induction score: {scores.item():.2f}")

# %% [markdown]
# Queries and values can do without layer 1, but keys cannot. Cutting only one head of layer 2 changes little, because the
# other head does the same; cutting both destroys the answer.
#
# **The written part of 13.7** (1 point). What evidence would convince you that a head "does induction"? Give two ways in
# which the evidence in this notebook could fool you. Use the printed lines.

# %% [markdown] written="13.7"
# *Your answer to 13.7: replace this line.*

# %% [markdown]
# ## Summary
#
# 1. A head is two matrices (1): where it looks, and what it writes.
# 2. Two heads in two layers make a table of pairs, counted in the context; one head of one layer cannot.
# 3. A claim about a head needs a score, a circuit and a cut: each of them alone can fool you.

# %% [markdown]
# ## Without notes
#
# 1. Which subspace of the keys does head 2 compare with the query, and which head wrote it?
# 2. Why must head 2 be kept from looking at place 0?
# 3. By how much must a score grow for a text ten times as long?
# 4. Which sum is the same for rows 1 and 4 as for rows 2 and 3?
# 5. Which of the three cuts shows that head 2 needs head 1?
#
# **Next:** [14](14_decoding.ipynb), what a decoder keeps. **References.** Elhage et al. (2021), circuits; Olsson et al.
# (2022), induction heads; Sanford, Hsu and Telgarsky (2024), one layer; Wang et al. (2022), path patching.
