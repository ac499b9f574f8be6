# %% [markdown]
# <!-- Made by "attn build" from solutions/09_translation.py. Instructors edit that file. -->
# # Translation
#
# > A translator with a slot for cross-attention: what you put into the slot decides what the translator can learn.
#
# *118 min, 4 questions, 14 points, needs 06; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** three modules for the slot whose results depend neither on padding nor on the other sentences of a
#   batch,
# - **measure** what a trained translator looks at, against alignments that are known,
# - **implement** greedy search for a whole batch, and **predict** what a beam adds.

# %%
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )

# %%
import time

import numpy as np
import torch
from torch import nn

from attn_course import check, hint, plots
from attn_course.translation import (
    BOS,
    EOS,
    PAD,
    Trainer,
    ablation,
    expected_time,
    recorder,
    scoring,
    setting,
    tables,
)
from attn_utils import layers

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run

# %% [markdown]
# ## One setting
#
# With `"default"` everything below runs offline on one core, on an invented corpus: a program makes German scenes and
# their English translations, and keeps the **gold alignments**, that is, which word was translated by which. With
# `"full"` the same cells train on Multi30k, 29,000 real captions, which are downloaded or read from the folder that
# the environment variable `ATTN_DATA` names. A GPU is found automatically. (`"tiny"` shows within seconds whether
# every cell runs; its scores mean nothing.) The next cell prints what will be used and how long it may take.

# %% tags=["nbval-ignore-output"]
PRESET = "default"  # or "tiny"; on Multi30k "ladder" or "full"
corpus, configs = setting(PRESET, tokens=162_000, num_train=2700, num_test=200)
print(expected_time(PRESET, configs, num_runs=3))
for german, english in corpus.test[3:7]:
    print(f"{german}\n    {english}")

# %% [markdown]
# Look at the verbs of the invented corpus: *schalten ... ein* has two parts, far apart in German and together in
# English; after *weil* or *während* the verb comes last. Real captions have such differences too, though less
# often.
#
# ## The model
#
# - The text is cut into **subwords**: a frequent word is one piece, a rare one several, so that no word is unknown.
# - The **encoder** reads German with a **GRU** (gated recurrent unit) in each direction. A GRU goes from subword to
#   subword and updates a vector, its state. All states together are the *memory*.
# - The **decoder**, another GRU, writes English. It starts from the encoder's last state.
# - The **slot** between them decides what the decoder sees of the memory.

# %%
boxes = {
    "German subwords\n(B, S)": (0, 0),
    "encoder: a GRU\nin each direction": (0, 1),
    "memory\n(B, S, D)": (0, 2),
    "English so far\n(B, T)": (5, 0),
    "decoder: a GRU": (5, 1),
    "queries\n(B, T, D)": (5, 2),
    "slot:\ncross-attention": (2.5, 2),
    "context\n(B, T, D)": (2.5, 3),
    "logits of the next\nsubword (B, T, num_tokens)": (5, 3),
}
source, encoder, memory, target, decoder, queries, slot, context, logits = boxes
arrows = [(source, encoder), (encoder, memory), (memory, slot), (target, decoder)]
arrows += [(encoder, decoder), (decoder, queries), (queries, slot), (slot, context)]
arrows += [(context, logits), (queries, logits)]
plots.diagram(boxes, arrows, strong=[slot], ax=plots.panels(1, width=9, height=3.6)[0])

# %% [markdown]
# In training the decoder reads the *true* English words so far, whatever it would have written itself: **teacher
# forcing**. Then all $T$ steps can be computed at once.
#
# Attention in the slot is **cross-attention**: queries come from English, keys and values are both the German
# memory. (In [06](06_transformer_attention.ipynb) all came from one sequence: *self*-attention.) If the slot is
# empty, only one vector gets from German to English.
#
# Shorter sentences of a batch are filled up with **padding**; a mask (B, S) is True at real places. Below are two
# sentences with seven and three places. *Predict:* how much weight does *dot*, attention by dot products, give to
# padding if the mask is forgotten?

# %%
# my prediction: ...
torch.manual_seed(9)
mask = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])  # (B, S)
memory = torch.where(mask[..., None], torch.randn(2, 7, 16), 2.0)  # junk after the end
queries = torch.randn(2, 4, 16)  # (B, T, D)
mean, dot, all_true = layers.MeanAttention(16), layers.DotAttention(16), torch.ones_like(mask)
maps = {"mean": (mean, mask), "dot": (dot, mask), "dot, mask forgotten": (dot, all_true)}
axis = {"xlabel": "place in memory", "ylabel": "English step", "numbers": False}
for (name, (slot, look)), ax in zip(maps.items(), plots.panels(3, height=2.6), strict=True):
    weights = slot(queries, memory, look)[1][1]  # (T, S) of the second sentence
    plots.attention_map(
        weights, mask=look[1].expand(4, 7), title=name, **axis, colour_bar=False, ax=ax
    )
print("weight on padding if the mask is forgotten:", weights[:, 3:].sum(1).numpy().round(2))

# %% [markdown]
# On the right no error is raised, and yet padding gets weight.
#
# ### 9.1 What goes into the slot
#
# *code · 5 points · 15 min*
#
# **Given** queries (B, T, D), memory (B, S, D) and a mask (B, S), True = real. **Write** three modules: *none*
# returns zeros as context and as weights; *mean* averages the real places of each sentence, for every query alike;
# *dot* weights them by a softmax of dot products divided by $\sqrt D$, without projections. **Form:** each returns
# `(context, weights)`, (B, T, D) and (B, T, S). Padding must have no influence. Make new tensors by
# `queries.new_zeros`, so that a GPU works too.
#
# *Predict:* which of the three could translate three words, and which could translate twenty?


# %% answer="9.1"
# my prediction: ...
class NoAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        raise NotImplementedError("your answer here")


class MeanAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        raise NotImplementedError("your answer here")


class DotAttention(nn.Module):
    def __init__(self, width):
        super().__init__()

    def forward(self, queries, memory, mask):
        raise NotImplementedError("your answer here")


# %% check="9.1"
check("9.1", NoAttention, MeanAttention, DotAttention)

# %% [markdown]
# ### 9.2 Training watched: links and losses
#
# *code + written · 3 points · 15 min*
#
# How well do weights agree with alignments? **Given** for each sentence its weights (target words, source words)
# and a set $G$ of right links $(t, s)$. Each target word is linked to the source word with the largest weight, the
# first of them if several tie; a row without any weight is linked to nothing. Let $A$ be the links found. With both
# sets counted over *all* sentences, the **alignment error rate** is
#
# $$\mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|}.\tag{1}$$
#
# **Compute** (1). **Form:** `alignment_error_rate(weights, gold)` → float. *Predict* its value for an empty slot,
# and whether it can be 0 if some target word has *two* right links.


# %% answer="9.2 code"
# my predictions: ...
def alignment_error_rate(weights, gold):
    """weights: list of arrays (T, S); gold: list of sets of (t, s) -> a number from 0 to 1."""
    # 1. the links of each sentence, 2. three counts over all sentences, 3. one division
    raise NotImplementedError("your answer here")


# %% check="9.2 code"
check("9.2", alignment_error_rate)

# %% [markdown]
# ## Three translators
#
# Text, seed and number of parameters are the same; only the slot differs. It is yours if 9.1 passed, otherwise the
# course's. *Predict* two rankings before you run the cell: that of the three losses, and that of the three **BLEU**
# scores. BLEU goes from 0 to 100 and measures how many runs of one to four words also stand in the *reference*, the
# English sentence of the corpus; [10](10_bleu_comparison.ipynb) builds it. **Perplexity** is
# $e^{\text{cross-entropy}}$: a model with perplexity 5 is as unsure about the next subword as if it had to guess
# among 5 equally likely ones.

# %% tags=["nbval-ignore-output"]
# my predictions, loss and BLEU: ...
own = {"none": NoAttention, "mean": MeanAttention, "dot": DotAttention}
slots = own if check("9.1", *own.values()) else layers.SLOTS
trainers = {
    name: Trainer(corpus, configs[name], slot=slots[name](configs[name].width)) for name in own
}
runs = {name: trainer.fit() for name, trainer in trainers.items()}

# %% tags=["nbval-ignore-output"]
left, right = plots.panels(2, width=9)
for name, trainer in trainers.items():
    steps, losses = tables.running_mean(trainer.losses, 20)
    plots.curves(steps, {name: losses}, xlabel="step", ylabel="loss, last 20 steps", ax=left)
    seen, bleu = zip(*((row["tokens"] / 1000, row["bleu"]) for row in trainer.metrics), strict=True)
    axis = {"xlabel": "thousand subwords", "ylabel": "validation BLEU", "dots": True}
    plots.curves(seen, {name: bleu}, **axis, ax=right)

# %% tags=["nbval-ignore-output"]
german, english = (list(side) for side in zip(*corpus.test, strict=True))
print(tables.of_trainers(trainers, runs, corpus.test))
vocabulary = runs["dot"].vocabulary
floor = tables.smallest_loss(len(vocabulary), configs["dot"].smoothing)
print(f"smallest possible loss: {floor:.2f}")

# %% [markdown]
# The loss of this table is that of the last epoch of *training*; perplexity, cross-entropy and BLEU are those of the
# *validation* set; the four *precisions* (shares of right runs) are those of the *test* set. All but BLEU and the
# precisions are measured with teacher forcing. The loss uses *smoothed* labels, which spread 0.1 of their weight
# equally over all subwords, so it cannot reach zero; the cross-entropy can.
#
# **The written part** (1 point). In two or three sentences: how large is the gap between *none* and *dot* in
# cross-entropy, and how large in validation BLEU? Why should one not compare the raw losses? Why is the gap, taken as
# a ratio, wider in BLEU?

# %% [markdown] written="9.2"
# *Your answer to 9.2: replace this line.*

# %% [markdown]
# ## The same on real text, recorded
#
# These runs were trained on 400,000 subwords of Multi30k, less than one pass over its training text, with three
# seeds for each slot; BLEU is that of the test set of 2016. The command that made each run is stored with it.
# *Predict:* are the differences as large as above? Notebook [10](10_bleu_comparison.ipynb) compares these runs in
# detail.

# %%
# my prediction: ...
recorded = recorder.recorded("translation")
ladder = {name: recorded[name] for name in own}
first = ladder["dot"][0]
print(first["command"])
print(f"{first['num_parameters']:,} parameters; {first['machine']}")
print(recorder.table(ladder))

# %% [markdown]
# **A good place for a pause.** The second half looks at what the translators attend to, and at how they write.
#
# ## What it looks at
#
# First comes your error rate (1) for the three translators. The smallest possible rate is above 0, since (1) finds
# one link for each English word, and a word may have two gold links or none. (Real captions have no gold links.
# There the links of the *bundled model*, introduced below, take their place: another model's opinion, not the
# truth.)
#
# Then maps show *dot* on two sentences, beside the links. A German word gets the sum of the weights of its
# subwords. *Predict:* which German words do the English verbs look at?

# %% tags=["nbval-ignore-output"]
# my prediction, the words of the verb: ...
for k in (10, 12):
    print(german[k], english[k], sep="\n    ")
links, kind = tables.links_of(corpus)
looked = {name: run.word_weights(corpus.test) for name, run in runs.items()}
measured = bool(check("9.2", alignment_error_rate))
if measured:
    for name, weights in looked.items():
        rate = alignment_error_rate(weights, links)
        print(f"{name:5} alignment error rate against the {kind}: {np.squeeze(rate):.2f}")
if corpus.links:
    print(f"smallest possible: {tables.smallest_error_rate(corpus, vocabulary):.2f}")


# %% tags=["nbval-ignore-output"]
def draw_map(run, pair, weights, title, ax):
    """weights (English words, German words) of a pair of sentences, with its words."""
    across, down = map(run.vocabulary.words, pair)
    axis = {"xlabel": "German", "ylabel": "English", "numbers": False, "colour_bar": False}
    plots.attention_map(weights, down, across, **axis, title=title, ax=ax)


def show(*numbers):
    """The weights of dot on test sentences, and beside each the links that they are compared with."""
    axes = plots.panels(2 * len(numbers), height=4.2, width=9, columns=2)
    for k, left, right in zip(numbers, axes[::2], axes[1::2], strict=True):
        gold = np.zeros_like(looked["dot"][k])
        for t, s in links[k]:
            gold[t, s] = 1
        draw_map(runs["dot"], corpus.test[k], looked["dot"][k], "dot", left)
        draw_map(runs["dot"], corpus.test[k], gold, kind, right)


show(10, 12)

# %% [markdown]
# The next cell shows two failures: what each translator writes for the second of these sentences, and the maps of the
# test sentence in which the weights of *dot* agree least with the links.

# %% tags=["nbval-ignore-output"]
for name, run in runs.items():
    print(f"{name:6} {run.translate([german[12]])[0]}")
print(f"wanted {english[12]}")
if measured:
    both = zip(looked["dot"], links, strict=True)
    show(int(np.argmax([alignment_error_rate([weights], [pairs]) for weights, pairs in both])))

# %% [markdown]
# ## Real captions
#
# The course comes with a *bundled* translator, so that this section works offline: a Transformer (more about it
# below) that was trained on 10 million subwords of Multi30k. Here it translates two captions that are not in its
# training text, with a beam of 5 (explained below). The maps show its last layer of cross-attention, averaged over
# four heads.
#
# *Predict:* which German word do *sand* and *castle* look at? What does *wearing* look at?

# %% tags=["nbval-ignore-output"]
# my predictions: ...
from attn_course.translation import bundled

translator = bundled.open_run()
captions = [
    "Zwei Kinder bauen am Strand eine Sandburg.",
    "Eine alte Frau, die ein blaues Kleid trägt, sitzt auf einer Bank.",
]
written = translator.translate(captions, beam_size=5)
pairs = list(zip(captions, written, strict=True))
for pair, ax in zip(pairs, plots.panels(2, height=4.2, width=9), strict=True):
    draw_map(translator, pair, translator.word_weights([pair])[0], "", ax)
    print(pair[0], pair[1], sep="\n    ")

# %% [markdown]
# ### 9.3 Reading the maps
#
# *written · 3 points · 10 min*
#
# **Given** the maps, the error rates and the outputs above. **Find** one example each, naming the words, of (a) a
# *monotone* run, where both languages proceed word by word, (b) *re-ordering*, (c) one word in one language that corresponds to
# several in the other; and (d) one way in which the maps are *not* alignments, or one failure of a slot, with a reason.
# **Form:** four short items; quote your error rates.

# %% [markdown] written="9.3"
# *Your answer to 9.3: replace this line.*

# %% [markdown]
# ### 9.4 Greedy search for a whole batch
#
# *code · 3 points · 12 min*
#
# **Given** a function `step(last, state)` → `(logits, state)`. `last` (B,) holds the tokens just chosen. The state is
# None at first. The logits (B, num_tokens) are those of the next token. **Choose** the likeliest token at every step,
# for all sentences at once. Start from `BOS`. A sentence ends with its own `EOS` and is filled with `PAD` after it.
# Stop when all sentences have ended or at `max_length` tokens, and do not call `step` more often than necessary.
# **Form:** `greedy_search(step, num_sentences, max_length)` → long tensor (B, T), with `EOS` and without `BOS`.
#
# *Predict:* which rule is never tested by a batch of one?


# %% answer="9.4"
# my prediction: ...
def greedy_search(step, num_sentences, max_length):
    """-> tokens (B, T), T <= max_length."""
    raise NotImplementedError("your answer here")


# %% check="9.4"
check("9.4", greedy_search)

# %% tags=["nbval-ignore-output"]
if check("9.4", greedy_search):  # yours against the course's, the whole test set in one batch
    tokens = greedy_search(runs["dot"].stepper(german), len(german), 100)
    written = [runs["dot"].vocabulary.decode(map(int, row)) for row in tokens]
    pairs = zip(written, runs["dot"].translate(german), strict=True)
    same = sum(yours.startswith(courses) for yours, courses in pairs)
    print(f"the same translation for {same} of {len(german)} sentences")

# %% [markdown]
# A batch of one sentence stops at its `EOS`, so the rule never tested is that a sentence is filled with `PAD` while
# others go on. (If a translation never ends, the course's search cuts it at about twice the length of its source.
# Yours counts as the same if it begins with the part that is left.)
#
# ## A beam
#
# Greedy search cannot take a word back. *Beam search* keeps several beginnings of each sentence, say the best five.
# It compares log-probabilities divided by length, because otherwise short sentences would win. *Predict:* how much
# test BLEU does a beam of 5 gain here, what does it cost, and does a beam of 20 gain as much again?

# %% tags=["nbval-ignore-output"]
# my predictions: ...
for size in (1, 2, 5, 20):
    started = time.process_time()
    hypotheses = runs["dot"].translate(german, beam_size=size)
    speed = len(german) / (time.process_time() - started)
    result = scoring.score(hypotheses, english)["bleu"]
    print(f"beam {size:2}: test BLEU {result:.1f}, {speed:4.0f} sentences per CPU second")
short = runs["dot"].translate(german, beam_size=5, length_penalty=0.0)
result, share = scoring.score(short, english)["bleu"], len("".join(short)) / len("".join(english))
print(
    f"beam  5, not divided by length: test BLEU {result:.1f}, {share:.0%} of the references' letters"
)
for name, records in ladder.items():
    tests = [record["test"] for record in records]
    gains = [f"{test['beam 5']['bleu'] - test['greedy']['bleu']:+.1f}" for test in tests]
    print(f"Multi30k, {name:5} beam 5 against greedy, three seeds: {' '.join(gains)} test BLEU")

# %% [markdown]
# On Multi30k a beam of 5 adds more than a point of test BLEU to *dot*, and next to nothing to *none*. A beam of 20
# costs at least four times as much as one of 5, and gains little or nothing. (The beam of 1 is greedy search. Its
# *test* BLEU is not the *validation* BLEU of the table above.)
#
# ## From here to a Transformer
#
# A Transformer keeps this cross-attention, with several heads and in every layer of its decoder. In place of GRUs
# it uses the self-attention of [06](06_transformer_attention.ipynb), in which every word reaches every other in one
# step. In exchange it has to learn what positions mean. [10](10_bleu_comparison.ipynb) compares the two.

# %% [markdown]
# ## Trained as a mean, or made a mean afterwards
#
# The slot *mean* was trained as a mean. The bundled Transformer was trained with cross-attention, on far more text.
# Suppose that its cross-attention is changed *after* training: it gives every German subword the same weight, or it
# returns zeros. *Predict* the two scores, in test BLEU on Multi30k. Are they above or below those of the slots *mean*
# and *none* in the recorded runs?

# %%
# my prediction: ...
afterwards = {"intact": "", "mean afterwards": "cross*0", "none afterwards": "cross-heads"}
print(ablation.recorded_table(afterwards))
for name in ("mean", "none"):
    seeds = [record["test"]["beam 5"]["bleu"] for record in ladder[name]]
    print(f"{name} in training, beam of 5, each seed:", *(f"{bleu:.1f}" for bleu in seeds))

# %% [markdown]
# Both are far below. A translator that was trained with a mean has learnt to work with it; this one has learnt to
# rely on its attention weights. In `attn playground` you can type a sentence and take out more of its attention.
#
# ## Common mistakes
#
# Here are three claims, and the cell prints a number against each: *padding does no harm if its states are zero*;
# *the axis of a softmax does not matter*; *perplexity and BLEU say the same*.

# %%
silent = torch.where(mask[..., None], memory, 0.0)
real, padded = (mean(queries, silent, look)[0][1].norm() for look in (mask, all_true))
print(f"zeros averaged in: the mean shrinks to {padded / real:.0%} of its length")
scores = torch.randn(2, 4, 7)  # (B, T, S)
sums = [scores[:B].softmax(0)[0, 0].sum() for B in (2, 1)]
print(f"softmax over a batch of 2: a row of weights sums to {sums[0]:.1f}, of 1: to {sums[1]:.1f}")
worst, best = (ladder[name][0]["test"] for name in ("none", "dot"))
print(f"perplexity differs by a factor of {worst['perplexity'] / best['perplexity']:.1f}", end=", ")
print(f"test BLEU by a factor of {best['greedy']['bleu'] / worst['greedy']['bleu']:.1f}")

# %% [markdown]
# ## Summary
#
# 1. The slot for cross-attention takes queries, memory and a mask; the mask acts before the softmax or the mean.
# 2. The loss is computed with the true words as input, BLEU on what the model writes; AER (1) says where it looks,
#    not why.
# 3. Greedy search keeps one beginning of each sentence; a beam keeps several.
#
# **Without notes:** Why must the mean divide by a different number for each sentence? What does the decoder know
# about the source when the slot is empty? What would you see if the softmax ran over the batch? Why is the error
# rate of an empty slot exactly 1? Why does a beam divide by the length?

# %% [markdown]
# **Next:** [10, a fair comparison](10_bleu_comparison.ipynb), builds BLEU and asks which of these differences are real.
#
# **References.** Sutskever et al. (2014), sequence to sequence; Bahdanau et al. (2015), additive attention; Luong et al.
# (2015), dot products; Vaswani et al. (2017), scaled dot products and the Transformer; Elliott et al. (2016), Multi30k; Och
# and Ney (2003), alignment error rate; Jain and Wallace (2019), attention is not explanation.
