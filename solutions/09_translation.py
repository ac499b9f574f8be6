# %% [markdown]
# # Translation
#
# > A translator with a slot for cross-attention: what you put into it decides what it can learn.
#
# *60 min, needs 06*
#
# After this notebook you can
#
# - **implement** three fillings of the slot that neither padding nor the other sentences of a batch disturb,
# - **measure** what a trained translator looks at, against alignments that are known,
# - **implement** greedy search for a whole batch, and **predict** what a beam adds.

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
# With `"default"` everything below runs offline in about a minute and a half of one core: the text is an invented
# corpus of German scenes with their English and **gold alignments**, since whoever makes up a sentence knows which word
# became which. With `"full"` the same cells train on Multi30k, 29,000 real captions, downloaded or from the folder in
# the environment variable `ATTN_DATA`. A GPU is found by itself. (`"tiny"` shows within seconds whether every cell
# runs; its scores mean nothing.)
#
# **An estimate, not a measurement:** `"full"` takes about 4,600 updates, each perhaps 20 to 50 ms on a T4. Expect two
# to four minutes for each slot. We had no GPU to try it on.

# %%
PRESET = "default"  # or "tiny"; on Multi30k "ladder" or "full"
corpus, configs = setting(PRESET, tokens=162_000, num_train=2700, num_test=200)
for german, english in corpus.test[3:7]:
    print(f"{german}\n    {english}")

# %% [markdown]
# Look at the verbs. *schalten ... ein* stands apart in German and together in English; after *weil* or *während* the verb
# comes last; an adverb in front pushes the subject behind the verb. Word order really differs.
#
# ## The model, one line per tensor
#
# | tensor | what it is | shape |
# |---|---|---|
# | source | German subwords, padded to the longest | (B, S) |
# | memory | a GRU in each direction over them, normalised | (B, S, D) |
# | mask | True at real places, False at padding | (B, S) |
# | queries | a GRU over the English so far, normalised | (B, T, D) |
# | **context** | **what the slot makes of queries and memory** | (B, T, D) |
# | logits | of the next subword, from queries and context | (B, T, V) |

# %% [markdown]
# What stands in the slot is called **cross-attention**: the queries come from one sequence, English, keys and values from
# another, German. (In [06](06_transformer_attention.ipynb) both were the same sequence: *self*-attention.)
#
# The English GRU *starts* from the encoder's last state, and that is all it ever has when the slot is empty. All
# teacher-forced steps go through the slot at once. Here it works on a batch of two sentences, of seven and of three
# places, the second one padded. *Predict:* how much weight does *dot* give to padding if the mask is forgotten?

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
# The figure shows the second sentence, which has three real places. Hatched cells are padding. On the right nothing
# fails, no error is raised, and each query spends weight on places that hold no word.

# %% [markdown]
# ### 9.1
#
# **Given** queries (B, T, D), memory (B, S, D) and a mask (B, S), True = real. **Write** three fillings of the slot: *none*
# returns zeros, for context and weights; *mean* averages the real places of each sentence, alike for every query;
# *dot* weighs them by a softmax of dot products divided by $\sqrt D$ (as in Vaswani and others), without projections.
# **Form:** three modules that return `(context, weights)`, (B, T, D) and (B, T, S). Gradients must pass; make new
# tensors from those given (`queries.new_zeros`), so that a GPU works.
#
# *Predict:* which could translate three words, and which twenty? [10](10_bleu_comparison.ipynb) draws the score over
# length.


# %% answer="9.1"
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


# %% check="9.1"
check("9.1", NoAttention, MeanAttention, DotAttention)

# %% [markdown]
# ### 9.2
#
# A score for attention is needed before there is attention to score. **Given** for each sentence its weights
# (target words, source words) and a set of gold links $(t, s)$. Each target word is linked to its heaviest source word,
# the first if several tie; a row without any weight links to nothing. With $A$ the links found and $G$ the gold ones, of
# *all* sentences,
#
# $$\mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|}.\tag{1}$$
#
# **Compute** (1). **Form:** `alignment_error_rate(weights, gold)` → float. *Predict* it for an empty slot, and whether 0 can
# be reached where a target word has *two* gold links. The numbers under *What it looks at* answer both.


# %% answer="9.2 code"
# my predictions: ...
def alignment_error_rate(weights, gold):
    """weights: list of arrays (T, S); gold: list of sets of (t, s) -> a number from 0 to 1."""
    # 1. the links of each sentence, 2. three counts over all sentences, 3. one division
    # BEGIN SOLUTION
    both = found = 0
    for w, links in zip(weights, gold, strict=True):
        mine = {(t, int(row.argmax())) for t, row in enumerate(w) if row.any()}
        both, found = both + len(mine & links), found + len(mine)
    return 1 - 2 * both / (found + sum(map(len, gold)))
    # END SOLUTION


# %% check="9.2 code"
check("9.2", alignment_error_rate)

# %% [markdown]
# ## Three translators
#
# Same text, same seed, same number of parameters; only the slot differs. It is yours if it passed, else the course's.
# *Predict* two orders before you run the cell: that of the three losses, and that of the three BLEU scores (0 to 100, how
# many runs of one to four words agree with the reference; notebook [10](10_bleu_comparison.ipynb) builds it). Given a
# folder, a killed run would go on where it stopped; here each trainer has a temporary one.

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
    plots.curves(seen, {name: bleu}, xlabel="thousand subwords", ylabel="validation BLEU", ax=right)

# %% tags=["nbval-ignore-output"]
german, english = (list(side) for side in zip(*corpus.test, strict=True))
print(tables.of_trainers(trainers, runs, corpus.test))
vocabulary = runs["dot"].vocabulary
floor = tables.smallest_loss(len(vocabulary), configs["dot"].smoothing)
print(f"smallest possible loss: {floor:.2f}")

# %% [markdown]
# Loss and perplexity are measured with *teacher forcing*: at each step the model reads the true words so far. The loss is
# that of *smoothed* labels, which give 0.1 of their weight to all subwords alike, so its floor is not zero; the
# cross-entropy, the logarithm of the validation perplexity, has no such floor. BLEU is measured on what the model writes
# by itself.
#
# **The written part** (1 point). In two or three sentences: how large is the gap between *none* and *dot* in
# cross-entropy, how large in BLEU, why are the raw losses the wrong numbers for this, and why is the gap in BLEU the wider
# one?

# %% [markdown] written="9.2"
# The cross-entropies of *none* and *dot* are 1.53 and 0.26, a factor of six; their BLEU is 7.6 and 83.6, a factor of
# eleven. The raw losses, 2.34 and 1.32, look closer than they are: with labels smoothed by 0.1 no loss can fall below
# 0.96, so most of 1.32 is no error. The gap in BLEU is the wider one because BLEU multiplies four precisions: on the test set *none*
# has 0.53 of its words right but only 0.05 of its runs of four, *dot* 0.96 and 0.85. And the model reads its own words
# there, whereas with teacher forcing the true ones put it right after each mistake.

# %% [markdown] rubric="9.2"
# **Rubric (1 point).** ⅓ both gaps stated as ratios, the first from cross-entropies or perplexities (or the floor of the
# smoothed loss taken off), not from raw losses · ⅓ the smoothed loss has a floor that is no error, so ratios of losses
# look too small · ⅓ BLEU multiplies four precisions, which all suffer from one wrong word, and is taken on the model's
# own words, where teacher forcing no longer mends a wrong one. Wrong: "the loss is not converged", or "BLEU is noisy" as
# the only reason.

# %% [markdown]
# ## The same on real text, recorded
#
# Multi30k, 400,000 subwords, less than one pass over its training text, three seeds for each slot; scores are of the
# test set of 2016. The command that made each run is stored with it. *Predict:* is the ladder as steep as above? Notebook
# [10](10_bleu_comparison.ipynb) takes these runs apart.

# %%
# my prediction: ...
recorded = recorder.recorded("translation")
ladder = {name: recorded[name] for name in own}
first = ladder["dot"][0]
print(first["command"])
print(f"{first['num_parameters']:,} parameters; {first['machine']}")
print(recorder.table(ladder))

# %% [markdown]
# ## What it looks at
#
# First your error rate (1) of the live translators, beside its floor: (1) takes one link for each English word, the
# gold may have two or none, so that even the best choice misses some. Then maps of *dot* for two sentences: English
# words down, German words across; subwords of one German word are added up, those of one English word averaged. On the
# right the gold links. Last, two failures: what each translator writes for the second sentence, and the test sentence
# whose *dot* weights agree least with the gold links. *Predict:* where does *switching* look, and where *on*? The first
# map answers.


# %% tags=["nbval-ignore-output"]
# my predictions, switching and on: ...
measured = bool(corpus.links and check("9.2", alignment_error_rate))
looked = {name: run.word_weights(corpus.test) for name, run in runs.items()}
if measured:
    for name, weights in looked.items():
        rate = alignment_error_rate(weights, corpus.links)
        print(f"{name:5} alignment error rate {np.squeeze(rate):.2f}")
    print(f"floor {tables.smallest_error_rate(corpus, vocabulary):.2f}")
else:
    print("Error rates need gold links and a correct 9.2.")


# %% tags=["nbval-ignore-output"]
def draw_map(run, pair, weights, title, ax):
    """weights (English words, German words) of a pair of sentences, with its words."""
    across, down = map(run.vocabulary.words, pair)
    axis = {"xlabel": "German", "ylabel": "English", "numbers": False, "colour_bar": False}
    plots.attention_map(weights, down, across, **axis, title=title, ax=ax)


def show(*numbers):
    """The weights of dot on test sentences, and beside each its gold links if there are any."""
    axes = plots.panels(2 * len(numbers), height=4.2, width=9, columns=2)
    for k, left, right in zip(numbers, axes[::2], axes[1::2], strict=True):
        gold = np.zeros_like(looked["dot"][k])
        for t, s in corpus.links[k] if corpus.links else ():
            gold[t, s] = 1
        draw_map(runs["dot"], corpus.test[k], looked["dot"][k], "dot", left)
        draw_map(runs["dot"], corpus.test[k], gold, "gold links", right)


show(10, 12)

# %% tags=["nbval-ignore-output"]
for name, run in runs.items():
    print(f"{name:6} {run.translate([german[12]])[0]}")
print(f"wanted {english[12]}")
if measured:
    both = zip(looked["dot"], corpus.links, strict=True)
    show(int(np.argmax([alignment_error_rate([weights], [links]) for weights, links in both])))

# %% [markdown]
# ## Real captions
#
# The course brings a translator along, so that this works offline: a Transformer (more of that below) that read 10 million
# subwords of Multi30k, kept in half precision. Notebook [10](10_bleu_comparison.ipynb) has its score, in the last row of a
# table. Here it translates two captions that are not in its text, with a beam of 5; the maps are its last
# cross-attention, the mean of four heads.
#
# *Predict:* in which column do the rows *sand* and *castle* meet? What does *wearing* look at?

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
# ### 9.3
#
# **Given** the maps, the error rates and the outputs above. **Find** one example each, naming the words, of (a) a
# *monotone* run, (b) *re-ordering*, (c) one word against several; and (d) one way in which the maps are *not* alignments,
# or one failure of a slot, with a reason. **Form:** four short items; quote your error rates.

# %% [markdown] written="9.3"
# (a) *four friendly boys* follows *vier freundliche Jungen* down a diagonal.
#
# (b) After *weil* the row *reading* jumps over *die Bücher* to *liest*, and *switch off* over the whole object to the
# last word.
#
# (c) *is reading* both rest on *liest*: one German verb, two English words.
#
# (d) Weights serve to *predict* a word, and the states they read already mix in neighbours: *are* looks at *Heute* and
# *Jungen* more than at *schalten*, its gold link. So *dot* has an error rate of 0.14, above the floor of 0.01, and far
# below the 0.90 of *mean*, whose rows are all alike and cannot point; an empty slot links nothing, 1.00. Both lose the
# second clause.

# %% [markdown] rubric="9.3"
# **Rubric.** ½ a monotone run, with its words · ½ a re-ordering (verb or particle), with its words · ½ a one-to-many link,
# with its words · ½ error rates quoted and ordered dot < mean < none · 1 a reason for (d): weights serve prediction and
# states mix neighbours, or end marks and punctuation as resting places, or mean cannot point, or a fixed state forgets
# long sentences. Any wording.
# Wrong: "attention *is* the alignment"; "the map shows what the encoder reads"; rows read as German.

# %% [markdown]
# ### 9.4
#
# **Given** `step(last, state)` → `(logits, state)`: the tokens just chosen, shape (B,), and the state (None at first)
# give logits (B, V) of the next one. **Choose** the likeliest token at every step, for all sentences at once: start from
# `BOS`; a sentence ends with its own `EOS` and then holds `PAD`; stop when all have ended or at `max_length` tokens, and
# call `step` no more often than that takes. **Form:** `greedy_search(step, num_sentences, max_length)` → long tensor
# (B, T), `EOS` included, `BOS` not.
#
# *Predict:* which of these rules does a batch of one never test? The text below the check answers.


# %% answer="9.4"
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


# %% check="9.4"
check("9.4", greedy_search)

# %% tags=["nbval-ignore-output"]
if check("9.4", greedy_search):  # yours against the course's, the whole test set in one batch
    tokens = greedy_search(runs["dot"].stepper(german), len(german), 100)
    written = [runs["dot"].vocabulary.decode(map(int, row)) for row in tokens]
    same = sum(a == b for a, b in zip(written, runs["dot"].translate(german), strict=True))
    print(f"equal to the course's search for {same} of {len(german)} sentences")

# %% [markdown]
# A batch of one ends with its own `EOS`, so it never has to hold `PAD` while others go on.
#
# ## A beam
#
# Greedy search cannot take a word back. A *beam* of $K$ keeps the $K$ best beginnings of each sentence and compares
# log-probabilities divided by length, or else the shortest would win. It is given. *Predict:* what does $K = 5$ gain
# here, what does it cost, and does $K = 20$ gain as much again?

# %% tags=["nbval-ignore-output"]
# my predictions: ...
for size in (1, 2, 5, 20):
    started = time.process_time()
    hypotheses = runs["dot"].translate(german, beam_size=size)
    speed = len(german) / (time.process_time() - started)
    result = scoring.score(hypotheses, english)["bleu"]
    print(f"beam {size:2}: BLEU {result:.1f}, {speed:4.0f} sentences per CPU second")
short = runs["dot"].translate(german, beam_size=5, length_penalty=0.0)
result, share = scoring.score(short, english)["bleu"], len("".join(short)) / len("".join(english))
print(f"beam  5, not divided by length: BLEU {result:.1f}, {share:.0%} of the references' letters")

# %%
for name, records in ladder.items():
    tests = [record["test"] for record in records]
    gains = [f"{test['beam 5']['bleu'] - test['greedy']['bleu']:+.1f}" for test in tests]
    print(f"Multi30k, {name:5} beam 5 against greedy, three seeds: {' '.join(gains)} BLEU")

# %% [markdown]
# A beam helps where a better sentence is within reach: on Multi30k it adds more than a point to *dot*, next to nothing to
# *none*. From 5 to 20 you pay four times as much or more, for little or nothing.
#
# ## From here to a Transformer
#
# A Transformer keeps this cross-attention, with several heads and in every layer of its decoder. What goes is the
# recurrence: where a GRU hands the sentence on from word to word, the self-attention of
# [06](06_transformer_attention.ipynb) reaches every word at once. Positions must then be added to the words, as 06 did.
#
# The figure counts the steps that a German word takes to another one *within* the encoder. *Predict* both patterns.


# %%
# my prediction: ...
words = "Zwei Kinder bauen am Strand eine Sandburg .".split()
place = np.arange(len(words))
steps = {"GRU, one each way": np.abs(place[:, None] - place), "Transformer": 1 - np.eye(len(words))}
axis = {"rows": words, "columns": words, "xlabel": "from", "ylabel": "to", "numbers": True}
for ax, (title, counted) in zip(plots.panels(2, height=3.8, width=9), steps.items(), strict=True):
    plots.matrix(counted, **axis, top=7, colour_bar=False, title=title, ax=ax)

# %% [markdown]
# Left, far words have a long way, and each step may lose something. Right, every way has length one: order is no longer
# built in, it has to be learnt. Notebook [10](10_bleu_comparison.ipynb) compares the two on the same text.
#
# ## Trained as a mean, or made a mean afterwards
#
# The slot *mean* above was trained as a mean. The bundled Transformer was trained with cross-attention, on far more
# text. *Predict* its test BLEU on Multi30k if, *after* training, its cross-attention gives every German subword the same
# weight, and if it returns nothing. Do these two stay above the slots *mean* and *none* of the table?

# %%
# my prediction: ...
afterwards = {"intact": "", "mean afterwards": "cross*0", "none afterwards": "cross-heads"}
print(ablation.recorded_table(afterwards))
for name in ("mean", "none"):
    seeds = [record["test"]["beam 5"]["bleu"] for record in ladder[name]]
    print(f"{name} in training, beam of 5, each seed:", *(f"{bleu:.1f}" for bleu in seeds))

# %% [markdown]
# They fall far below. A translator that was trained with a mean has learnt to work with it; this one has learnt to rely on
# its weights. Type a sentence and take more of its attention out with `attn playground`.
#
# ## Common mistakes
#
# Three claims, each with the number that answers it: *padding does no harm, its states are zero*; *a softmax is a
# softmax, whatever its axis*; *a good perplexity means a good translation*.

# %%
silent = torch.where(mask[..., None], memory, 0.0)
real, padded = (mean(queries, silent, look)[0][1].norm() for look in (mask, all_true))
print(f"zeros averaged in: the mean keeps {padded / real:.0%} of its length")
scores = torch.randn(2, 4, 7)  # (B, T, S)
sums = [scores[:B].softmax(0)[0, 0].sum() for B in (2, 1)]
print(f"softmax over the batch: a row sums to {sums[0]:.1f}, and to {sums[1]:.1f} alone")
worst, best = (ladder[name][0]["test"] for name in ("none", "dot"))
print(f"perplexity differs by a factor of {worst['perplexity'] / best['perplexity']:.1f}", end=", ")
print(f"BLEU by a factor of {best['greedy']['bleu'] / worst['greedy']['bleu']:.1f}")

# %% [markdown]
# ## Summary
#
# 1. One slot for cross-attention, one signature; the mask goes in before the softmax or the count.
# 2. Loss is taken after true words, BLEU on the model's own; AER (1) says what it looks at, not why.
# 3. Greedy search keeps one beginning and its own end per sentence; a beam keeps a few.
#
# ## Without notes
#
# 1. Why must the mean divide by a different number for each sentence?
# 2. What does the decoder know about the source when the slot is empty?
# 3. What would you see if the softmax ran over the batch?
# 4. Why is the error rate of an empty slot exactly 1?
# 5. Why does a beam need a length penalty?

# %% [markdown]
# **Next:** [10, a fair comparison](10_bleu_comparison.ipynb), builds BLEU and asks which of these differences are real.
#
# **References.** Sutskever et al. (2014), sequence to sequence; Bahdanau et al. (2015), additive attention; Luong et al.
# (2015), dot products; Vaswani et al. (2017), scaled dot products and the Transformer; Elliott et al. (2016), Multi30k; Och
# and Ney (2003), alignment error rate; Jain and Wallace (2019), attention is not explanation.
