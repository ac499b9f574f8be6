# %% [markdown]
# # A translator, built
#
# > Every part of a German-English translator, written by you in plain PyTorch. Training then shows what attention adds.
#
# *115 min, needs 06; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** encoder, attention, decoder, loss, training loop and search, so that padding changes none of their
#   results,
# - **show** why a decoder must give the same logits in two ways: one step at a time, and all steps in one call,
# - **predict** which kind of attention lets a translator learn long sentences.

# %%
import time
from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from attn_course import check, hint, plots, recorded_runs, register
from attn_course.translation import BOS, EOS, PAD, corpora, parts, scoring, vocabulary
from attn_utils import layers

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run


def working(question, **mine):
    """My answers if the check passes, otherwise the course's parts of the same names."""
    passed = check(question, *mine.values())
    if not passed:
        print(f"{question}: the course's own {', '.join(mine)} will be used")
    return [mine[name] if passed else getattr(parts, name) for name in mine]


# %% [markdown]
# ## Text and model
#
# A program invents German scenes and their English translations, and words are cut into **subwords**. The **encoder**
# reads German with a GRU (gated recurrent unit: it updates a vector, its state, word by word) in each direction; all
# its states together are the *memory*. The **decoder** writes English, one subword a step. At each step its state is a
# query to the **slot**, the place for one of several kinds of attention. The slot returns a *context*, an average of
# the memory. You build the boxes of the diagram. (A part that you have not written is replaced by the course's, so the
# notebook always runs.)
#
# <!-- notation -->

# %%
corpus = corpora.embedded(num_train=2700, num_val=200, num_test=200)
subwords, pairs, _ = vocabulary.encode_corpus(corpus, size=1000)
num_tokens = len(subwords)
for german, english in corpus.test[3:6]:
    print(f"{german}\n    {english}")
print(subwords.pieces(subwords.encode(corpus.test[3][0])))
boxes = {
    "German subwords\n(B, S)": (0, 0),
    "encoder, 9.2": (0, 1),
    "memory\n(B, S, D)": (0, 2),
    "last subword\n(B,)": (5, 0),
    "decoder, 9.5": (5, 1),
    "query\n(B, 1, D)": (5, 2),
    "slot, 9.3 and 9.4": (2.5, 2),
    "context\n(B, 1, D)": (2.5, 3),
    "logits of the next\nsubword (B, num_tokens)": (5, 3),
}
source, encoder, memory, target, decoder, query, slot, context, logits = boxes
arrows = [(source, encoder), (encoder, memory), (memory, slot), (target, decoder)]
arrows += [(encoder, decoder), (decoder, query), (query, slot), (slot, context)]
arrows += [(context, logits), (query, logits)]
plots.diagram(boxes, arrows, strong=[slot], ax=plots.panels(1, width=9, height=3.6)[0])

# %% [markdown]
# ### 9.1
#
# A batch is a rectangle, and sentences are not equally long: shorter ones are filled up with **padding**.
#
# **Given** a list of sentences, which are lists of ids (none is empty, none contains `pad`). **Write**
# `pad_batch(sentences, pad)` → `(ids, mask)`: ids (B, S) of type `torch.long`, and mask (B, S), boolean, True = a real
# subword. S is the length of the longest sentence of *this* batch. Row i is sentence i, and padding comes at the end.
# Leave the lists as they are.
#
# *Predict:* if 32 sentences are drawn at random, what share of the batch is padding? And if they are of similar length?


# %% answer="9.1"
# my predictions: ...
def pad_batch(sentences, pad):
    # BEGIN SOLUTION
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    rows = [torch.tensor(sentence) for sentence in sentences]
    ids = pad_sequence(rows, batch_first=True, padding_value=pad)
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]
    # END SOLUTION


# %% check="9.1"
check("9.1", pad_batch)

# %%
[padded] = working("9.1", pad_batch=pad_batch)
generator = torch.Generator().manual_seed(1)
order = [pairs[i] for i in torch.randperm(len(pairs), generator=generator)]
batches = {
    "at random": [order[i : i + 32] for i in range(0, len(pairs), 32)],
    "of similar length": islice(parts.batches_of(pairs, 32, generator), len(pairs) // 32),
}
for (name, groups), ax in zip(batches.items(), plots.panels(2, height=3), strict=True):
    masks = [padded([german for german, _ in group], PAD)[1].float() for group in groups]
    real = sum(mask.sum() for mask in masks) / sum(mask.numel() for mask in masks)
    mask = sorted(masks, key=torch.mean)[len(masks) // 2]  # a typical batch
    title = f"{name}: {1 - real:.0%} padding in a pass"
    rows, columns = ([i if i % 5 == 0 else "" for i in range(size)] for size in mask.shape)
    axis = {"xlabel": "place", "ylabel": "sentence", "numbers": False, "colour_bar": False}
    plots.matrix(mask, rows=rows, columns=columns, title=title, **axis, ax=ax)

# %% [markdown]
# Each map shows a batch with a typical amount of padding. Its title gives the share of padding in all batches of one
# pass over the training sentences. Training sorts by the English length, so some padding remains in the German half.
# In a batch of similar lengths a mistake with padding hardly shows.
#
# ### 9.2
#
# **Given** ids (B, S) and mask (B, S). **Write** an embedding and a GRU in each direction, each with half of the
# width; the joined states, normalised by `nn.LayerNorm`, are the **memory** (B, S, D). The last states of *both*
# directions make the decoder's first state (B, D), through `nn.Linear` and tanh. **Form:**
# `Encoder(num_tokens, width)`, whose `forward(ids, mask)` returns `(memory, state)`. The result of a sentence must
# depend neither on padding nor on the other sentences (`pack_padded_sequence` helps). At padding the memory may hold
# any finite numbers. You may add dropout; 0.1 is usual.
#
# *Predict:* padding stands at the end; which direction does it disturb?


# %% answer="9.2"
# my prediction: ...
class Encoder(nn.Module):
    def __init__(self, num_tokens, width):
        super().__init__()
        # BEGIN SOLUTION
        self.embed = nn.Embedding(num_tokens, width)
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.bridge, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)
        # END SOLUTION

    def forward(self, ids, mask):
        # BEGIN SOLUTION
        x, lengths = self.dropout(self.embed(ids)), mask.sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        state = self.bridge(torch.cat([last[0], last[1]], -1)).tanh()
        return self.norm(self.dropout(memory)), state
        # END SOLUTION


# %% check="9.2"
check("9.2", Encoder)

# %%
torch.manual_seed(1)
reader = parts.Encoder(1000, 128).eval()
ids = torch.tensor([pairs[0][0]])  # one sentence
moved = {"packed": [], "not packed": []}
for count in range(9):
    longer = F.pad(ids, (0, count), value=PAD)
    _, state = reader(longer, torch.arange(longer.shape[1])[None] < ids.shape[1])
    _, last = reader.gru(reader.embed(longer))
    unpacked = reader.bridge(torch.cat([last[0], last[1]], -1)).tanh()
    moved["packed"].append(state[0])
    moved["not packed"].append(unpacked[0])
distance = {
    name: [(s - s0).norm().item() for s in (s0, *rest)] for name, (s0, *rest) in moved.items()
}
axis = {"xlabel": "places of padding", "ylabel": "distance of the first state", "dots": True}
plots.curves(range(9), distance, **axis)

# %% [markdown]
# If the batch is not packed, the backward GRU starts in the padding, and the decoder's first state changes with the
# amount of padding.
#
# ## The slot
#
# The slot takes queries (B, T, D), the memory (B, S, D) and the mask: **cross-attention**, with English queries and the
# German memory as keys and values.
#
# ### 9.3
#
# **Write** three modules: *none* returns zeros as context and as weights; *mean* averages the real places of each
# sentence, for every query alike; *dot* averages the real places with weights, a softmax of dot products divided by
# $\sqrt D$, without projections. **Form:** each returns `(context, weights)`, (B, T, D) and (B, T, S). Padding must
# have no influence. Make new tensors by `queries.new_zeros`, so that a GPU works too.
#
# *Predict:* which of the three could translate a sentence of three words, and which could translate one of twenty
# words?


# %% answer="9.3"
# my prediction: ...
class NoAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        # BEGIN SOLUTION
        nothing = queries.new_zeros(*queries.shape[:2], memory.shape[1])
        return torch.zeros_like(queries), nothing
        # END SOLUTION


class MeanAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        # BEGIN SOLUTION
        share = mask / mask.sum(-1, keepdim=True)  # (B, S)
        weights = share[:, None].expand(-1, queries.shape[1], -1)
        return torch.bmm(weights, memory), weights
        # END SOLUTION


class DotAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        # BEGIN SOLUTION
        scores = queries @ memory.mT / queries.shape[-1] ** 0.5  # (B, T, S)
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return torch.bmm(weights, memory), weights
        # END SOLUTION


# %% check="9.3"
check("9.3", NoAttention, MeanAttention, DotAttention)

# %%
mean, dot = (
    slot(16)
    for slot in working(
        "9.3", NoAttention=NoAttention, MeanAttention=MeanAttention, DotAttention=DotAttention
    )[1:]
)
torch.manual_seed(9)
mask = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])  # (B, S)
memory = torch.where(mask[..., None], torch.randn(2, 7, 16), 2.0)  # junk after the end
queries, all_true = torch.randn(2, 4, 16), torch.ones_like(mask)
maps = {"mean": (mean, mask), "dot": (dot, mask), "dot, mask forgotten": (dot, all_true)}
axis = {"xlabel": "place in memory", "ylabel": "English step", "numbers": False}
for (name, (slot, look)), ax in zip(maps.items(), plots.panels(3, height=2.6), strict=True):
    weights = slot(queries, memory, look)[1][1]  # (T, S) of the second sentence
    plots.attention_map(
        weights, mask=look[1].expand(4, 7), title=name, **axis, colour_bar=False, ax=ax
    )

# %% [markdown]
# On the right the mask was forgotten: no error is raised, and yet padding gets weight.
#
# ### 9.4
#
# Scores can be learnt. **Write** two slots with the signature of 9.3. *Additive* attention gives each pair of a query
# $q$ and a key $k$ (a vector of the memory) to a small network; *bilinear* attention compares them by a matrix. The
# scores are
#
# $$s = W_S \tanh(W_Q q + W_K k)\tag{1}$$
# $$s = q^\top W_K k / \sqrt D\tag{2}$$
#
# **Form:** `AdditiveAttention(width)` has linear layers `query` and `key` (D to A, any A) and `score` (A to 1), with
# biases or without; `BilinearAttention(width)` has one layer `key` (D to D) without bias. The values are the memory
# itself, as in *dot*.
#
# *Predict:* what is left of additive attention if tanh is forgotten?


# %% answer="9.4"
# my prediction: ...
class AdditiveAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        # BEGIN SOLUTION
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        # END SOLUTION

    def forward(self, queries, memory, mask):
        # BEGIN SOLUTION
        pairs = (self.query(queries)[:, :, None] + self.key(memory)[:, None]).tanh()
        scores = self.score(pairs).squeeze(-1)  # (B, T, S)
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return torch.bmm(weights, memory), weights
        # END SOLUTION


class BilinearAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        # BEGIN SOLUTION
        self.key = nn.Linear(width, width, bias=False)
        # END SOLUTION

    def forward(self, queries, memory, mask):
        # BEGIN SOLUTION
        scores = queries @ self.key(memory).mT / queries.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return torch.bmm(weights, memory), weights
        # END SOLUTION


# %% check="9.4"
check("9.4", AdditiveAttention, BilinearAttention)

# %%
torch.manual_seed(2)
sheet, plane = parts.AdditiveAttention(2), parts.BilinearAttention(2)
k, x = torch.tensor([1.0, -0.5]), torch.linspace(-3, 3, 61)
lines = {"additive (1)": {}, "bilinear (2)": {}}
with torch.no_grad():
    for y in (-2.0, 0.0, 2.0):
        q = torch.stack([x, torch.full_like(x, y)], 1)
        bent = sheet.score((sheet.query(q) + sheet.key(k)).tanh())[:, 0]
        lines["additive (1)"][f"second feature {y:g}"] = bent
        lines["bilinear (2)"][f"second feature {y:g}"] = q @ plane.key(k) / 2**0.5
for (name, series), ax in zip(lines.items(), plots.panels(2, height=3), strict=True):
    plots.curves(x, series, xlabel="first feature of q", ylabel="score", title=name, ax=ax)

# %% [markdown]
# Both panels show the scores of one key for many queries. The bilinear score changes along straight lines, the
# additive score along curves.
#
# **A good place for a pause.**
#
# ### 9.5
#
# One **step** joins the embedded last word with a vector from the step before (**input feeding**) and calls
# `nn.GRUCell` once. The new hidden state, normalised, is the query to the slot. Hidden state and context go through
# `nn.Linear` and tanh: this vector (B, D) gives the logits and is *fed* to the next step. In training the decoder
# reads the true words, not its own: **teacher forcing**.
#
# **Write** `step(tokens (B,), state, memory, mask)` → `(logits (B, num_tokens), state, weights (B, S))` and
# `forward(inputs (B, T), state, memory, mask)` → logits (B, T, num_tokens). A state is a tuple of tensors,
# batch first. Before the first step it is (hidden, zeros): the encoder's state, and zeros of the same shape.
#
# *Predict:* which of the two, teacher forcing or input feeding, forbids computing all T steps at once?


# %% answer="9.5"
# my prediction: ...
class Decoder(nn.Module):
    def __init__(self, num_tokens, width, attention):
        super().__init__()
        # BEGIN SOLUTION
        self.embed = nn.Embedding(num_tokens, width)
        self.cell, self.norm = nn.GRUCell(2 * width, width), nn.LayerNorm(width)
        self.attention = attention
        self.combine, self.out = nn.Linear(2 * width, width), nn.Linear(width, num_tokens)
        self.dropout = nn.Dropout(0.1)
        # END SOLUTION

    def step(self, tokens, state, memory, mask):
        # BEGIN SOLUTION
        hidden, fed = state
        hidden = self.cell(torch.cat([self.dropout(self.embed(tokens)), fed], -1), hidden)
        query = self.norm(hidden)
        context, weights = self.attention(query[:, None], memory, mask)
        fed = self.combine(torch.cat([query, context[:, 0]], -1)).tanh()
        fed = self.dropout(fed)
        return self.out(fed), (hidden, fed), weights[:, 0]
        # END SOLUTION

    def forward(self, inputs, state, memory, mask):
        # BEGIN SOLUTION
        rows = []
        for tokens in inputs.unbind(1):
            logits, state, _ = self.step(tokens, state, memory, mask)
            rows.append(logits)
        return torch.stack(rows, 1)
        # END SOLUTION


# %% check="9.5"
check("9.5", Decoder)

# %% tags=["nbval-ignore-output"]
cell, gru, x = nn.GRUCell(256, 128), nn.GRU(256, 128, batch_first=True), torch.randn(32, 17, 256)


def one_by_one():
    states = [torch.zeros(32, 128)]
    for word in x.unbind(1):
        states.append(cell(word, states[-1]))
    return torch.stack(states)


for name, run in {"a step at a time": one_by_one, "all at once": lambda: gru(x)[0]}.items():
    start = time.process_time()
    for _ in range(30):
        run().sum().backward()
    print(f"{name}: {1000 * (time.process_time() - start) / 30:.1f} ms forward and back")

# %% [markdown]
# Input feeding forbids it: the vector that is fed exists only when the step before is done. A GRU without input feeding
# reads all words in one call, which is faster.
#
# ### 9.6
#
# **Given** logits (B, T, num_tokens) and targets (B, T). **Write** `masked_loss(logits, targets, pad, smoothing=0.0)`, the mean
# cross-entropy of all *real* words of the batch. With label smoothing $\kappa$ a word costs
#
# $$-(1-\kappa)\log \mathrm{prob}_{\text{right}} - \kappa\,\overline{\log \mathrm{prob}},\tag{3}$$
#
# where the bar is the mean over all `num_tokens` subwords. You may use `F.cross_entropy`.
#
# *Predict:* of two sentences with 2 and 20 words, which one counts more?


# %% answer="9.6"
# my prediction: ...
def masked_loss(logits, targets, pad, smoothing=0.0):
    # BEGIN SOLUTION
    options = {"ignore_index": pad, "label_smoothing": smoothing}
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)
    # END SOLUTION


# %% check="9.6"
check("9.6", masked_loss)

# %%
[counted] = working("9.6", masked_loss=masked_loss)
torch.manual_seed(4)
logits, targets = torch.randn(4, 6, 9), torch.randint(1, 9, (4, 6))
series = {"real words": [], "padding counted": [], "divided by all places": []}
for count in range(13):
    longer = F.pad(targets, (0, count), value=PAD)
    at_padding = torch.zeros(4, count, 9).index_fill(-1, torch.tensor([PAD]), 4.0)
    rows = torch.cat([logits, at_padding], 1)  # the model has learnt to write padding
    right = counted(rows, longer, PAD).item()
    series["real words"].append(right)
    series["padding counted"].append(F.cross_entropy(rows.mT, longer).item())
    series["divided by all places"].append(right * targets.numel() / longer.numel())
plots.curves(range(13), series, xlabel="columns of padding", ylabel="loss of one batch", dots=True)

# %% [markdown]
# The more padding there is, the better the loss looks with either of the two mistakes. A sentence of 20 words counts
# ten times as much as one of 2: each *word* counts alike.
#
# ### 9.7
#
# **Given** a stream of batches, a function `loss_of(model, batch)` and an optimiser. **Write**
# `train(model, batches, loss_of, optimiser, clip)`. For each batch, clear the gradients, compute the loss, go
# backward, clip the norm of the *whole* gradient to `clip` (a shorter one stays as it is), and take a step. Put the
# model into training mode. **Form:** the list of all losses, as numbers.
#
# *Predict:* what happens if the gradients are never cleared?


# %% answer="9.7"
# my prediction: ...
def train(model, batches, loss_of, optimiser, clip):
    # BEGIN SOLUTION
    model.train()
    losses = []
    for batch in batches:
        optimiser.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        losses.append(loss.item())
    return losses
    # END SOLUTION


# %% check="9.7"
check("9.7", train)

# %% [markdown]
# ### 9.8
#
# **Given** a function `step(last, state)` → `(logits, state)`. `last` (B,) holds the tokens just chosen. The state is
# None at first. The logits (B, num_tokens) are those of the next token. **Choose** the likeliest token at every step,
# for all sentences at once. Start from `BOS`. A sentence ends with its own `EOS` and is filled with `PAD` after it.
# Stop when all sentences have ended or at `max_length` tokens, and do not call `step` more often than necessary.
# **Form:** `greedy_search(step, num_sentences, max_length)` → long tensor (B, T), with `EOS` and without `BOS`.
#
# *Predict:* which rule is never tested by a batch of one?


# %% answer="9.8"
# my prediction: ...
def greedy_search(step, num_sentences, max_length):
    """-> tokens (B, T), T <= max_length."""
    # BEGIN SOLUTION
    last, state = torch.full((num_sentences,), BOS), None
    done, chosen = torch.zeros(num_sentences, dtype=torch.bool), []
    while not done.all() and len(chosen) < max_length:
        logits, state = step(last, state)
        last = logits.argmax(-1).masked_fill(done, PAD)
        done = done | (last == EOS)
        chosen.append(last)
    return torch.stack(chosen, 1)
    # END SOLUTION


# %% check="9.8"
check("9.8", greedy_search)

# %% [markdown]
# ## Learning by heart
#
# The next cell joins the parts, and uses a GPU where there is one. The device and the numbers are chosen for you. If
# you have a GPU, change the other values to those in the right-hand column. They could not be measured here:
#
# | | on a CPU | on a GPU |
# |---|---|---|
# | device | `"cpu"` | `"cuda"`, found automatically |
# | numbers | float32 | bfloat16 in the model, where the GPU has it; the loss in float32 |
# | `BATCH` | 32 | 256: a call costs time mostly because it is made, and hardly more for a larger batch |
# | `corpus` and `size`, second cell | invented scenes, 1000 | `corpora.multi30k()`, 4000 |
# | `width` of `fit`, `STEPS` | 128, 340 (four passes) | 384, 2300 (twenty passes) |
# | `FOLDER` | `None` | a folder that is kept when the session ends: the same cell then goes on where it stopped (empty the folder when you change a part) |
#
# First the models see only 64 sentences, again and again. *Predict:* can the model with the slot *none*, which has no
# attention, learn them by heart?

# %% tags=["nbval-ignore-output"]
# my prediction: ...
STEPS, BY_HEART = 340, 150
BATCH, FOLDER, device = 32, None, "cuda" if torch.cuda.is_available() else "cpu"
short = device == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
built = {}
for question in register.questions_of("09_seq2seq"):
    names = question.parts[0].answers
    mine = {name: globals()[name] for name in names}
    built |= dict(zip(names, working(question.id, **mine), strict=True))


def loss_of(model, batch):
    source, mask, inputs, targets = (x.to(device, non_blocking=True) for x in batch)
    with torch.autocast(device, torch.bfloat16, enabled=short):
        logits = model(source, mask, inputs)
    return built["masked_loss"](logits.float(), targets, PAD)


def fit(slot, pairs, steps, width=128):
    """A translator with this slot after so many steps, and its losses."""
    torch.manual_seed(1)
    attention = built[slot](width)
    encoder, decoder = (
        built["Encoder"](num_tokens, width),
        built["Decoder"](num_tokens, width, attention),
    )
    model = parts.Translator(encoder, decoder).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.003)
    options = {"train": built["train"], "pad_batch": built["pad_batch"], "folder": FOLDER}
    options |= {"steps": steps, "batch_size": BATCH}
    return model, parts.fit(f"{slot}-{steps}", model, pairs, loss_of, optimiser, **options)


# %% tags=["nbval-ignore-output"]
def translate(model, german):
    options = {"pad_batch": built["pad_batch"], "search": built["greedy_search"]}
    return parts.translate(model, german, subwords, **options)


def bleu_of(model, pairs):
    """BLEU of the translations, and how many of them are exactly the reference."""
    german, english = (list(side) for side in zip(*pairs, strict=True))
    written = translate(model, german)
    exact = sum(one == other for one, other in zip(written, english, strict=True))
    return scoring.score(written, english)["bleu"], exact


curves = {}
for name, slot in {"none": "NoAttention", "dot": "DotAttention"}.items():
    model, curves[name] = fit(slot, pairs[:64], BY_HEART)
    bleu, exact = bleu_of(model, corpus.train[:64])
    other, _ = bleu_of(model, corpus.test)
    print(f"{name}: {exact} of 64 exact, BLEU {bleu:.1f}; on new sentences BLEU {other:.1f}")
plots.curves(range(len(curves["dot"])), curves, xlabel="step", ylabel="loss, 64 sentences")

# %% [markdown]
# **BLEU** goes from 0 to 100 and measures how many runs of one to four words also stand in the reference
# ([11](11_bleu_comparison.ipynb) builds it). Both models learn the sentences by heart, and both fail on new ones.
# Overfitting a few sentences tests the loop, not the slot.
#
# ## Three translators
#
# The next cell trains two models of your own, with the slots *none* and *dot*, in four passes over all sentences. It
# first prints how long each may take. Below your results it prints the recorded runs of the course's own parts, with
# three seeds for each slot. *Predict* the order of the BLEU scores on new sentences, and the difference between *none*
# and *dot*.

# %% tags=["nbval-ignore-output"]
# my prediction: ...
live = ("none", "dot")  # and, if you have the time: "additive"
chosen = {"none": "NoAttention", "dot": "DotAttention", "additive": "AdditiveAttention"}
models = {}
for name in live:
    models[name], _ = fit(chosen[name], pairs, STEPS)
    print(f"{name:9} live: test BLEU {bleu_of(models[name], corpus.test)[0]:.1f}")
recorded = recorded_runs.read("seq2seq")
print(recorded["command"])
for name, runs in recorded["embedded"].items():
    cost = np.mean([run["cpu_seconds"] for run in runs])
    bleu = " ".join(f"{run['bleu']:5.1f}" for run in runs)
    print(f"{name:9} test BLEU of each seed {bleu:18} {cost:4.0f} CPU seconds each")
heights = {
    f"seed {seed + 1}": [recorded["embedded"][name][seed]["bleu"] for name in chosen]
    for seed in range(3)
}
plots.bars(heights, list(chosen), ylabel="test BLEU", xlabel="slot", top=100)

# %% [markdown]
# Without attention one vector must carry a whole German sentence. If your own *dot* stays below 60, look at 9.2 and
# 9.5: did you normalise? Without `nn.LayerNorm` a model learns only late in training where to attend.
#
# The next cell shows what your translators write for four test sentences. The map shows where the last translator in
# `live` looks in the third sentence. *Predict* which mistakes the translator with the slot *none* makes in a long
# sentence.

# %% tags=["nbval-ignore-output"]
# my predictions: ...
if models:
    german, english = zip(*corpus.test[10:14], strict=True)
    written = {name: translate(model, german) for name, model in models.items()}
    for k, text in enumerate(german):
        print(text, f"    wanted    {english[k]}", sep="\n")
        for name in models:
            print(f"    {name:9} {written[name][k]}")
    ids = [subwords.encode(text) for text in (german[2], english[2])]
    source, mask, inputs, _ = (x.to(device) for x in parts.collate([ids], built["pad_batch"]))
    model, rows = models[live[-1]], []
    with torch.inference_mode():
        memory, state = model.start(source, mask)
        for t in range(inputs.shape[1]):
            _, state, weights = model.decoder.step(inputs[:, t], state, memory, mask)
            rows.append(weights[0].float().cpu())
    words = [[*map(str, subwords.pieces(row)), "end"] for row in ids]
    axis = {"xlabel": "German", "ylabel": "English, written next", "numbers": False}
    plots.attention_map(torch.stack(rows), words[1], words[0], **axis, title=live[-1])

# %% [markdown]
# ## Real text, and common mistakes
#
# Two more experiments are recorded. In the first, the same parts were trained on Multi30k, real captions, for three
# quarters of a pass and with one seed, which is not enough to tell *dot* from *additive*
# ([11](11_bleu_comparison.ipynb) says why). In the second, models with three mistakes were trained on the invented
# text: *additive attention without tanh*, *inputs one ahead* (the decoder reads the very word that it has to predict),
# and *padding not masked*.
#
# *Predict:* which mistake has the lowest loss? Which one can you not see in BLEU?

# %%
# my predictions: ...
print(recorded["multi30k"]["additive"]["caption"])
for name, run in recorded["multi30k"].items():
    print(
        f"{name:9} test BLEU {run['bleu']:4.1f}, {run['cpu_seconds']:3.0f} s: {run['translation']}"
    )
for name, run in recorded["mistakes"].items():
    print(f"{name:22} validation loss {run['validation_loss']:.3f}, test BLEU {run['bleu']:4.1f}")

torch.manual_seed(0)
layer, memory = layers.AdditiveAttention(8), torch.randn(1, 5, 8)
first, second = (layer.query(torch.randn(1, 1, 8)) + layer.key(memory) for _ in range(2))
weights = [
    layer.score(pairs_of_words).squeeze(-1).softmax(-1) for pairs_of_words in (first, second)
]
print(f"without tanh, two queries: weights differ by {(weights[0] - weights[1]).abs().max():.0e}")
print("~ of a mask of integers:", (~torch.tensor([1, 0])).tolist())
terms = torch.tensor([[4.0, 4.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])  # losses, 2 and 4 real words
print(f"mean of words {terms.sum() / 6:.1f}, mean of the sentences' means {(4 + 1) / 2:.1f}")

# %% [markdown]
# The lowest loss belongs to a model that cannot translate at all: it copies the answer that it is shown. Without tanh
# the query cancels in (1), and additive attention is no better than a mean. A forgotten mask lowers BLEU less than a
# change of seed can, so **training does not reveal it; a test must.**
#
# ## Summary
#
# 1. Neither encoder nor slot nor loss (3) may see padding; the mask tells them what is real.
# 2. `step` and `forward` give the same logits; because of input feeding, `forward` needs a loop over the steps.
# 3. Without tanh an additive score (1) forgets its query; a bilinear score (2) needs no tanh, because it multiplies.
# 4. Learning a few sentences by heart proves that the loop works, not that the model can translate.

# %% [markdown]
# **Without notes**
#
# 1. Why does only the backward GRU need to know where a sentence ends?
# 2. Why is a state a tuple with the batch first?
# 3. What does a decoder with the slot *none* know about a long German sentence?
# 4. Why can a loss near zero mean that the model is useless?
# 5. Which mistakes does a batch of sentences of equal length hide?
#
# <details><summary>Answers</summary>
#
# 1. It starts at the end, in the padding; the forward GRU reaches padding last.
# 2. A search can then pick rows of every tensor.
# 3. One vector, the encoder's last states.
# 4. The decoder may read the word that it predicts.
# 5. All mistakes with padding and masks.
#
# </details>
#
# **Next:** [10, translation](10_translation.ipynb), measures what trained translators look at.
#
# **References.** [Sutskever et al. (2014)](https://arxiv.org/abs/1409.3215), sequence to sequence;
# [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473), additive attention;
# [Luong et al. (2015)](https://arxiv.org/abs/1508.04025), bilinear scores and input feeding;
# [Williams and Zipser (1989)](https://doi.org/10.1162/neco.1989.1.2.270), teacher forcing;
# [Pascanu et al. (2013)](https://arxiv.org/abs/1211.5063), clipping;
# [Szegedy et al. (2016)](https://arxiv.org/abs/1512.00567), label smoothing;
# [Elliott et al. (2016)](https://arxiv.org/abs/1605.00459), Multi30k.
