# %% [markdown]
# # Translation
#
# > A translator with a slot for cross-attention: what you put into the slot decides what the translator can learn.
#
# *108 min, needs 09; a pause is marked in the middle*
#
# After this notebook you can
#
# - **measure** what a trained translator looks at, against alignments that are known,
# - **explain** why a small difference in loss can be a large one in BLEU,
# - **implement** beam search for a whole batch, and **predict** when it loses to greedy search,
# - **name** what a translator loses and what it invents on real captions.

# %%
import time

import numpy as np
import torch

from attn_course import check, hint, plots
from attn_course.translation import (
    BOS,
    EOS,
    PAD,
    Trainer,
    ablation,
    captions,
    expected_time,
    recorder,
    scoring,
    setting,
    tables,
)

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
# `Trainer` has the parts that you built in [09](09_seq2seq.ipynb), and around them what a longer training needs:
# checkpoints in `folder=`, from which the same call goes on after a disconnection, early stopping, a schedule for the
# learning rate, 16-bit numbers on a GPU. Two things differ from 09. The decoder is not fed its own context, so that
# all $T$ steps of a training batch are computed at once; and German, English and the output share one embedding.
# What stands in the slot decides what the decoder sees of the German memory; with an empty slot only one vector
# gets from German to English.

# %% [markdown]
# ### 10.1
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


# %% answer="10.1 code"
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


# %% check="10.1 code"
check("10.1", alignment_error_rate)

# %% [markdown]
# ## Three translators
#
# Text, seed and number of parameters are the same; only the slot differs. *Predict* two rankings before you run the
# cell: that of the three losses, and that of the three **BLEU** scores. BLEU goes from 0 to 100 and measures how many runs of one to four words also stand in the *reference*, the
# English sentence of the corpus; [11](11_bleu_comparison.ipynb) builds it. **Perplexity** is
# $e^{\text{cross-entropy}}$: a model with perplexity 5 is as unsure about the next subword as if it had to guess
# among 5 equally likely ones.

# %% tags=["nbval-ignore-output"]
# my predictions, loss and BLEU: ...
names = ("none", "mean", "dot")
trainers = {name: Trainer(corpus, configs[name]) for name in names}
runs = {name: trainer.fit() for name, trainer in trainers.items()}

# %% tags=["nbval-ignore-output"]
left, right = plots.panels(2, width=9)
for name, trainer in trainers.items():
    steps, losses = tables.running_mean(trainer.losses, 20)
    plots.curves(steps, {name: losses}, xlabel="step", ylabel="loss, last 20 steps", ax=left)
    seen, bleu = zip(*((row["tokens"] / 1000, row["bleu"]) for row in trainer.metrics), strict=True)
    axis = {"xlabel": "thousand subwords", "ylabel": "validation BLEU", "dots": True}
    plots.curves(seen, {name: bleu}, **axis, ax=right)
german, english = (list(side) for side in zip(*corpus.test, strict=True))
print(tables.of_trainers(trainers, runs, corpus.test))
vocabulary = runs["dot"].vocabulary
floor = tables.smallest_loss(len(vocabulary), configs["dot"].smoothing)
print(f"smallest possible loss: {floor:.2f}")

# %% [markdown]
# The table shows three sets of sentences: the loss is that of the last epoch of *training*; perplexity, cross-entropy and
# BLEU are those of the *validation* set; the four *precisions* (shares of right runs of one to four words) are those of
# the *test* set. Loss, perplexity and cross-entropy are measured with teacher forcing. The loss uses *smoothed* labels,
# which spread 0.1 of their weight equally over all subwords, so it cannot reach zero; the cross-entropy can.
#
# **The written part** (1 point). In two or three sentences: how large is the gap between *none* and *dot* in
# cross-entropy, and how large in validation BLEU? Why should one not compare the raw losses? Why is the gap, taken as
# a ratio, wider in BLEU?

# %% [markdown] written="10.1"
# The cross-entropies of *none* and *dot* are 1.53 and 0.26, a factor of six; their validation BLEU is 7.6 and 83.6,
# a factor of eleven. The raw losses, 2.34 and 1.32, look closer than they are: with labels smoothed by 0.1 no loss
# can fall below 0.96, so most of 1.32 is no error. The gap in BLEU is the wider one because BLEU multiplies four
# precisions: on the test set *none* has 0.53 of its words right but only 0.05 of its runs of four, *dot* 0.96 and
# 0.85. And there the model reads its own words, so one mistake leads to others.

# %% [markdown] rubric="10.1"
# **Rubric (1 point).** ⅓ both gaps stated as ratios, the first from cross-entropies or perplexities (or the floor of the
# smoothed loss taken off), not from raw losses · ⅓ the smoothed loss has a floor that is no error, so ratios of losses
# look too small · ⅓ BLEU multiplies four precisions, which all suffer from one wrong word, and is taken on the model's
# own words, where teacher forcing no longer mends a wrong one. Wrong: "the loss is not converged", or "BLEU is noisy" as
# the only reason.

# %% [markdown]
# ## The same on real text, recorded
#
# These runs were trained on 400,000 subwords of Multi30k, less than one pass over its training text, with three
# seeds for each slot; BLEU is that of the test set of 2016. The command that made each run is stored with it.
# *Predict:* are the differences as large as above? Notebook [11](11_bleu_comparison.ipynb) compares these runs in
# detail.

# %%
# my prediction: ...
recorded = recorder.recorded("translation")
ladder = {name: recorded[name] for name in names}
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
# one link for each English word, and a word may have two gold links or none. (Real captions have no gold links. With
# `"full"` the links of the *bundled model*, introduced below, take their place: another model's opinion, not the truth.)
#
# Then maps show *dot* on two sentences, beside the links. A German word gets the sum of the weights of its
# subwords. *Predict:* which German words do the English verbs look at?

# %% tags=["nbval-ignore-output"]
# my prediction, the words of the verb: ...
for k in (10, 12):
    print(german[k], english[k], sep="\n    ")
links, kind = tables.links_of(corpus)
looked = {name: run.word_weights(corpus.test) for name, run in runs.items()}
measured = bool(check("10.1", alignment_error_rate))
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
print(f"{'true':6} {english[12]}")
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
sentences = [
    "Zwei Kinder bauen am Strand eine Sandburg.",
    "Eine alte Frau, die ein blaues Kleid trägt, sitzt auf einer Bank.",
]
written = translator.translate(sentences, beam_size=5)
pairs = list(zip(sentences, written, strict=True))
for pair, ax in zip(pairs, plots.panels(2, height=4.2, width=9), strict=True):
    draw_map(translator, pair, translator.word_weights([pair])[0], "", ax)
    print(pair[0], pair[1], sep="\n    ")

# %% [markdown]
# ## What is lost, and what is invented
#
# BLEU does not say *which* words are wrong. Here is what recorded translators wrote for the 1,000 test captions of
# 2016. A colour or a number is *kept* if German, reference and output have it, *invented* if the output has it and the
# German does not. The last three columns are the BLEU of captions without a *new* German word, with one, and with more;
# new are words that never occur in the training text.
#
# Six captions follow. Notebook 11 comes back to the first two. To choose the other four, all captions were ordered by the
# chrF of *dot* (a score of matching runs of letters), and those at 5%, 25%, 50% and 75% of the way were taken. *Predict:* who invents most colours, and why colours?
# Read the German first; look for words that are missing, added, repeated, or not English.

# %%
# my prediction: ...
print(captions.recorded()["command"])
print(captions.recorded_table())
for caption in captions.recorded()["captions"]:
    new = f"   (new: {', '.join(caption['unseen'])})" if caption["unseen"] else ""
    print(
        f"\n{caption['number']:4}  {caption['german']}{new}\n{'true':>12}  {caption['reference']}"
    )
    for name, text in caption["written"].items():
        print(f"{name:>12}  {text}")

# %% [markdown]
# ### 10.2
#
# **Given** the maps, the error rates, and the captions above. **Find**, naming the words, (a) a *monotone* run, where
# both languages proceed word by word, and a *re-ordering*; (b) one word in one language that corresponds to several in the
# other; (c) one way in which the maps are *not* alignments, or one failure of a slot, with a reason; (d) in the captions
# a detail that the slot *none* invents, and a wrong word of *dot* with the German word that it stands for. Why does an empty slot
# invent so many colours, and hardly any numbers? **Form:** four short items; quote your error rates in (c).

# %% [markdown] written="10.2"
# (a) *four friendly boys* follows *vier freundliche Jungen* down a diagonal; after *weil* the row *reading* jumps
# over *die Bücher* to *liest*.
#
# (b) *is reading* both rest on *liest*: one German verb, two English words.
#
# (c) Weights serve to *predict*, and the states already mix in neighbours: *are* looks at *Heute* and *Jungen* more than
# at *schalten*. So *dot* has 0.14, above the possible 0.01 and below the 0.90 of *mean*, which cannot point; *none* links nothing: 1.00.
#
# (d) *none* gives the girl in the life vest *a blue shirt*; *dot* writes *clele* for *Kettensäge*, spelt from pieces. Captions are
# full of coloured shirts, so a colour is a likely guess; a number mostly comes first, and survives in the one state.

# %% [markdown] rubric="10.2"
# **Rubric (2 points).** ½ a monotone run, a re-ordering (verb or particle) and a one-to-many link, each with its words · ½ (c)
# with a reason: weights serve prediction and states mix neighbours, or end marks as resting places, or mean cannot point, or a fixed
# state forgets; error rates quoted and ordered dot < mean < none · ½ an invention of *none* and an error of *dot*, each with the German
# beside it · ½ why colours: without the source the decoder writes what captions often say, a shirt and its colour; the number
# comes early and fits into one state. Any wording. Wrong: "attention *is* the alignment"; "the map shows what the encoder reads"; rows
# read as German; an invention that stands in the German.

# %% [markdown]
# ## A beam
#
# Greedy search cannot take a word back. *Beam search* keeps several beginnings of each sentence, *hypotheses*, say
# the best five, and compares them by log-probability divided by length, because otherwise short ones would win.
#
# ### 10.3
#
# **Given** `step(last, state)` → `(log_probs, state)` for any N hypotheses: `last` (N,) holds the tokens written last,
# `log_probs` (N, V) belong to the next token ($-\infty$ for PAD and BOS). `state` has a row for each hypothesis: at first
# one for each of B sentences, `len(state)`; `state[rows]` picks rows, also repeatedly.
#
# **Compute** for each sentence the best hypothesis that a beam of `size` ends with. At each step every unfinished
# hypothesis is extended by every token, and a finished one stays as it is and keeps its place. Of all these, the
# `size` best by log-probability / length are kept (EOS counts in the length). Stop when all are finished, or at `max_length` tokens; hypotheses
# that are cut there compete too.

# %% [markdown]
# **Form:** `beam_search(step, state, size, max_length)` → long tensor (B, T) with EOS, without BOS, filled with PAD.
# `step` gets at most $B\cdot$`size` rows at a time. After the check your function searches with the *dot* model,
# all 200 test sentences in one batch. Its beam of 1 is compared with the course's own greedy search, its beam of 5 with
# the course's own beam.
#
# *Predict:* can a beam of 2 end with a less likely sentence than greedy search?


# %% answer="10.3"
# my prediction: ...
def beam_search(step, state, size, max_length):
    """step, state: see the card -> tokens (B, T), T <= max_length."""
    # hypothesis k of sentence b has row b * K + k; totals, lengths, done (B, K)
    # BEGIN SOLUTION
    B, K = len(state), size
    first = K * torch.arange(B)[:, None]  # (B, 1), the first row of each sentence
    state, last = state[torch.arange(B).repeat_interleave(K)], torch.full((B * K,), BOS)
    totals, lengths = torch.full((B, K), -torch.inf), torch.zeros(B, K)
    totals[:, 0] = 0  # a single hypothesis is alive, or the beam would hold K copies
    done, tokens = lengths > 0, last.new_zeros(B * K, 0)
    while not done.all() and tokens.shape[1] < max_length:
        log_probs, state = step(last, state)
        stay = torch.full_like(log_probs[0], -torch.inf)  # (V,), of a finished hypothesis
        stay[PAD] = 0
        steps = torch.where(done[..., None], stay, log_probs.view(B, K, -1))
        grown, lengths = totals[..., None] + steps, lengths + ~done  # (B, K, V), (B, K)
        best = (grown / lengths[..., None]).flatten(1).topk(K).indices  # (B, K)
        parents, last = best // len(stay), (best % len(stay)).flatten()
        rows = (first + parents).flatten()
        totals, lengths = grown.flatten(1).gather(1, best), lengths.gather(1, parents)
        done = done.gather(1, parents) | (last.view(B, K) == EOS)
        tokens, state = torch.cat([tokens[rows], last[:, None]], 1), state[rows]
    winners = (totals / lengths).argmax(1, keepdim=True)
    return tokens[(first + winners).flatten()]
    # END SOLUTION


# %% check="10.3"
check("10.3", beam_search)

# %% tags=["nbval-ignore-output"]
if check("10.3", beam_search):
    for size in (1, 5):
        own = beam_search(*runs["dot"].start_of_search(german), size, 60)
        courses = runs["dot"].search(german, beam_size=size, max_length=60)
        pairs = zip(torch.as_tensor(own), courses, strict=True)
        same = sum(row[row != PAD].tolist() == ids for row, ids in pairs)
        print(f"beam {size}: the same translation for {same} of {len(german)} sentences")

# %% [markdown]
# A beam keeps more than greedy search does, and may still end with less. In the next cell a language has the words a,
# b and c, and the table says how likely each follows a beginning. After *aa* the sentence ends for certain. *Follow*
# a beam of 2 by hand: which two beginnings are kept after two words?

# %%
# my answer: ...
CHANCES = {"": {"a": 0.5, "b": 0.4, "c": 0.1}, "a": {"a": 0.34, "b": 0.335, "c": 0.325}}
CHANCES |= {"b": {"a": 0.51, "b": 0.49}, "aa": {".": 1.0}}
OTHERWISE = {"a": 0.28, "b": 0.26, "c": 0.24, ".": 0.22}
NAMES = {PAD: "", BOS: "", EOS: ".", 3: "a", 4: "b", 5: "c"}


class Beginnings(list):
    """What has been written so far, a text for each hypothesis; [rows] picks rows."""

    def __getitem__(self, rows):
        rows = torch.arange(len(self))[rows].reshape(-1).tolist()
        return Beginnings(list.__getitem__(self, row) for row in rows)


def step(last, state):
    texts = [text + NAMES[int(token)] for text, token in zip(state, last, strict=True)]
    rows = [
        [CHANCES.get(text, OTHERWISE).get(name, 0) for name in NAMES.values()] for text in texts
    ]
    return torch.tensor(rows).log(), Beginnings(texts)


# %%
def chance(text):
    """The probability of a text in this language."""
    tables = [CHANCES.get(text[:t], OTHERWISE) for t in range(len(text))]
    return float(np.prod([table[name] for table, name in zip(tables, text, strict=True)]))


if check("10.3", beam_search):
    for size in (1, 2, 3):
        row = np.ravel(beam_search(step, Beginnings([""]), size, 3))
        text = "".join(NAMES[int(token)] for token in row)
        print(f"beam {size}: {text} with probability {chance(text):.3f}")

# %% [markdown]
# After two words *ba* (0.204) and *bb* (0.196) are kept, and *aa* (0.170), with which greedy search goes on, is
# dropped; the beginnings that are left end with less. A third place would have saved *aa*. So a wider beam promises
# nothing, though on real models it mostly helps. *Predict:* how much test BLEU does a beam of 5 gain here, what does it cost, and does a
# beam of 20 gain as much again?

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
# step. In exchange it has to learn what positions mean. [11](11_bleu_comparison.ipynb) compares the two.

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
# Both scores are far below those of the recorded runs. A translator that was trained with a mean has learnt to work with it; this one has learnt to
# rely on its attention weights. In `attn playground` you can type a sentence and take out more of its attention.
#
# ## Common mistakes
#
# Here are three claims, and the cell prints a number against each: *a search that adds up log-probabilities finds the
# best translation*; *a likelier translation is a better one*; *perplexity and BLEU say the same*.

# %% tags=["nbval-ignore-output"]
sums = runs["dot"].translate(german, beam_size=20, length_penalty=0.0)
words = [sum(len(text.split()) for text in texts) for texts in (sums, english)]
print(f"largest sum, beam 20: {words[0] / words[1]:.0%} of the references' words")
wide, narrow = (runs["none"].translate(german, beam_size=size) for size in (20, 1))
bleu = [scoring.score(texts, english)["bleu"] for texts in (wide, narrow)]
print(f"none, beam 20: test BLEU {bleu[0]:.1f}, greedy {bleu[1]:.1f}")
worst, best = (ladder[name][0]["test"] for name in ("none", "dot"))
print(
    f"Multi30k: perplexity differs by a factor of {worst['perplexity'] / best['perplexity']:.1f}",
    end=", ",
)
print(f"test BLEU by a factor of {best['greedy']['bleu'] / worst['greedy']['bleu']:.1f}")

# %% [markdown]
# ## Summary
#
# 1. The loss is computed with the true words as input, BLEU on what the model writes; AER (1) says where the model
#    looks, not why.
# 2. With attention a translator invents less, because it can look up the words of the source.
# 3. Greedy search keeps one hypothesis of each sentence, a beam several; one that a beam drops might have become the best.
#
# **Without notes:** What does the decoder know about the source when the slot is empty? Why is the error rate of an
# empty slot exactly 1? Why do four recorded translators all write worse where a word is new? Which rows of the state
# does a beam need after a step? Why does it divide by the length, and why at every step?
#
# <details><summary>Answers</summary>
#
# One vector, made of the encoder's last states. It has no links, so none of them is right. No English word was ever
# learnt for its subwords in this order. The rows of the parents, each as often as it has children in the beam. A sum
# favours short sentences, and hypotheses of different lengths compete at every step.
#
# </details>

# %% [markdown]
# **Next:** [11, a fair comparison](11_bleu_comparison.ipynb), builds BLEU and asks which of these differences are real.
#
# **References.** [Sutskever et al. (2014)](https://arxiv.org/abs/1409.3215), sequence to sequence;
# [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473), additive attention;
# [Luong et al. (2015)](https://arxiv.org/abs/1508.04025), dot products;
# [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762), scaled dot products and the Transformer;
# [Elliott et al. (2016)](https://arxiv.org/abs/1605.00459), Multi30k;
# [Och and Ney (2003)](https://aclanthology.org/J03-1002/), alignment error rate;
# [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186), attention is not explanation;
# [Freitag and Al-Onaizan (2017)](https://arxiv.org/abs/1702.01806) and
# [Stahlberg and Byrne (2019)](https://arxiv.org/abs/1908.10090), beams.
