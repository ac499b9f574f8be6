# %% [markdown]
# # Translation
#
# > A translator with a slot for attention: what you put into it decides what it can learn.
#
# *60 min, 4 questions, 14 points, needs 06*
#
# After this notebook you can
#
# - **implement** three fillings of the slot so that padding and company change nothing,
# - **measure** what a trained translator looks at, against alignments that are known,
# - **implement** greedy search for a whole batch, and **predict** what a beam adds.

# %%
import re
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from attn_utils import layers, plots
from attn_utils.course import check, hint
from attn_utils.translation import corpora, recording, scoring
from attn_utils.translation.batches import pad_source
from attn_utils.translation.config import PRESETS
from attn_utils.translation.training import Trainer
from attn_utils.translation.vocabulary import BOS, EOS, PAD

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run

# %% [markdown]
# ## One setting
#
# With `"default"` everything below runs offline in about a minute and a half of one core: the text is an invented
# corpus of German scenes with their English, and with **gold alignments**, since whoever makes up a sentence knows which
# word became which. With `"full"` the same cells train on Multi30k, 29,000 real captions; a GPU is found by itself. The
# files are downloaded, or taken from the folder that the environment variable `ATTN_DATA` names.

# %%
PRESET = "default"  # "ladder" or "full": Multi30k
if PRESET == "default":
    corpus = corpora.embedded(num_train=2700, num_test=200)
    config = replace(PRESETS["default"], tokens=162_000)
else:
    corpus, config = corpora.load("multi30k"), PRESETS[PRESET]
for german, english in corpus.test[3:7]:
    print(f"{german}\n    {english}")

# %% [markdown]
# Look at the verbs. *schalten ... ein* stands apart in German and together in English; after *weil* or *während* the verb
# comes last; an adverb in front pushes the subject behind the verb. Word order really differs.

# %% [markdown]
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
# The English GRU *starts* from the encoder's last state, and that is all it ever has when the slot is empty.
# All teacher-forced steps go through the slot at once. Here is its shape problem on a batch of two. *Predict:* how many
# of the numbers in this memory are about padding?

# %%
torch.manual_seed(9)
mask = torch.tensor([[True] * 7, [True] * 3 + [False] * 4])  # (B, S)
memory = torch.where(mask[..., None], torch.randn(2, 7, 16), 2.0)  # junk after the end
queries = torch.randn(2, 4, 16)  # (B, T, D)
maps = {
    "mean": layers.MeanAttention(16)(queries, memory, mask)[1],
    "dot": layers.DotAttention(16)(queries, memory, mask)[1],
    "dot, mask forgotten": layers.DotAttention(16)(queries, memory, torch.ones_like(mask))[1],
}
for (name, weights), ax in zip(maps.items(), plots.panels(3, height=2.6), strict=True):
    look = mask[1].expand(4, 7) if "forgotten" not in name else None
    plots.attention_map(weights[1], mask=look, title=name, numbers=False, ax=ax)
lost = maps["dot, mask forgotten"][1, :, 3:].sum(1)
print("weight on padding if the mask is forgotten:", lost.numpy().round(2))

# %% [markdown]
# The figure shows the second sentence, which has three real places. Hatched cells are padding. On the right nothing
# fails, no error is raised, and each query spends weight on places that hold no word.

# %% [markdown]
# ### 9.1 What goes into the slot
#
# *code · 5 points · 15 min*
#
# **Given** queries (B, T, D), memory (B, S, D) and a mask (B, S), True = real. **Show** three fillings: *none* hands over
# zeros, context and weights; *mean* gives every query the average of the real places of its sentence; *dot* weighs them
# by a softmax of scaled dot products. **Form:** three modules with one signature, each returning `(context, weights)` of
# shapes (B, T, D) and (B, T, S).
#
# *Predict:* which of the three could translate a sentence of one word, and which a sentence of twenty?


# %% answer="9.1"
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
# ### 9.2 Training, watched
#
# *code + written · 3 points · 15 min*
#
# A score for attention is needed before there is attention to score. **Given** for each sentence its weights
# (target words, source words) and a set of gold links `(target, source)`. Each target word is linked to its heaviest source
# word, the first if several tie; a row without any weight links to nothing. With $A$ the links found and $G$ the gold ones, of *all* sentences,
#
# $$\mathrm{AER} = 1 - \frac{2\,|A \cap G|}{|A| + |G|}.\tag{1}$$
#
# **Show** (1). **Form:** `alignment_error_rate(weights, gold)` → float. *Predict* it for an empty slot.


# %% answer="9.2 code"
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
# many runs of one to four words agree with the reference; notebook 10 builds it). A killed run would go on where it
# stopped.

# %% tags=["nbval-ignore-output"]
own = {"none": NoAttention, "mean": MeanAttention, "dot": DotAttention}
passed = check("9.1", *own.values())
folder, trainers, runs = Path(tempfile.mkdtemp()), {}, {}
for name, slot in own.items():
    trainers[name] = Trainer(corpus, replace(config, attention=name), folder / name)
    if passed:  # these slots have no parameters, so one can stand in for the other
        trainers[name].model.slot = slot(config.width)
    runs[name] = trainers[name].fit()

# %% tags=["nbval-ignore-output"]
left, right = plots.panels(2, width=9)
blocks = {name: np.array(t.losses)[: len(t.losses) // 20 * 20] for name, t in trainers.items()}
series = {name: losses.reshape(-1, 20).mean(1) for name, losses in blocks.items()}
steps = 20 * np.arange(1, len(series["dot"]) + 1)
plots.curves(steps, series, xlabel="step", ylabel="training loss per subword", ax=left)
bleu = {name: [row["bleu"] for row in t.metrics] for name, t in trainers.items()}
seen = [row["tokens"] / 1000 for row in trainers["dot"].metrics]
labels = {"xlabel": "thousand subwords seen", "ylabel": "BLEU, validation"}
plots.curves(seen, bleu, **labels, ax=right)

# %% tags=["nbval-ignore-output"]
measured = bool(corpus.links and check("9.2", alignment_error_rate))
for name, run in runs.items():
    last = trainers[name].metrics[-1]
    row = f"{name:5} loss {last['loss']:.2f}   perplexity {last['perplexity']:5.2f}   "
    row += f"BLEU {last['bleu']:5.1f}"
    if measured:
        weights = run.word_weights(corpus.test)
        row += f"   AER {alignment_error_rate(weights, corpus.links):.2f}"
    print(row, f"  {last['cpu_seconds']:.0f} CPU seconds")

# %% [markdown]
# Loss and perplexity are measured with *teacher forcing*: at each step the model reads the true words so far. BLEU is
# measured on what it writes by itself.
#
# Write one or two sentences: how large is the gap between *none* and *dot* in loss, how large in BLEU, and why is it so
# much wider in one of them?

# %% [markdown] written="9.2"
# In the last epoch the training losses of *none* and *dot* differ by less than a factor of two, their BLEU by more than a factor of ten. Most
# subwords are easy after a true prefix (articles, word endings, *is ...-ing*, the full stop), and every slot gets
# those right; the few that need the source, nouns, verbs and adjectives, carry little of the average loss. BLEU asks for four
# words right in a row, without help.

# %% [markdown] rubric="9.2"
# **Rubric.** ½ both gaps stated with numbers from the table · ½ teacher forcing hides the errors (true prefix, easy
# function words) or errors add up when the model reads its own words. Wrong: "the loss is not converged", or "BLEU is
# noisy" as the only reason.

# %% [markdown]
# ## The same on real text, recorded
#
# Multi30k, 400,000 subwords, less than one pass over its training text, three seeds for each slot; scores are of the test set of
# 2016. The command that made each run is stored with it. Notebook 10 takes these runs apart.

# %%
ladder = recording.recorded("translation")
first = ladder["dot"][0]
print(first["command"])
print(f"{first['num_parameters']:,} parameters, {first['machine']}; ", end="")
print(first["test"]["greedy"]["signature"].partition(";")[0])
for name, records in ladder.items():
    scores = [f"{record['test']['greedy']['bleu']:5.1f}" for record in records]
    perplexities = [f"{record['test']['perplexity']:5.1f}" for record in records]
    seconds = np.mean([record["cpu_seconds"] for record in records])
    print(f"{name:5} BLEU {' '.join(scores)}   perplexity {' '.join(perplexities)}", end="   ")
    print(f"{seconds / 60:.0f} CPU minutes each")

# %% [markdown]
# ## What it looks at
#
# Maps of the live *dot* translator: English words down, German words across; subwords of one German word are added up,
# those of one English word averaged. On the right the gold links. *Predict:* where does *switching* look, and where *on*?

# %%
pairs = [
    (
        "Heute schalten vier freundliche Jungen eine Lampe ein.",
        "Today four friendly boys are switching on a lamp.",
    ),
    (
        "Weil ein Mädchen die Bücher liest, muss ein Nachbar einen schweren Fernseher ausschalten.",
        "Because a girl is reading the books, a neighbour must switch off a heavy television.",
    ),
]
gold = dict(zip(corpus.test, corpus.links, strict=False))


def show(pair):
    german, english = (re.findall(r"\w+|[^\w\s]", text) for text in pair)
    links = np.zeros((len(english), len(german)))
    links[tuple(np.array(sorted(gold.get(pair, ())), int).reshape(-1, 2).T)] = 1
    drawn = {"dot": runs["dot"].word_weights([pair])[0], "gold links": links}
    for (name, weights), ax in zip(
        drawn.items(), plots.panels(2, height=4.6, width=11), strict=True
    ):
        plots.attention_map(weights, english, german, numbers=False, title=name, ax=ax)


# %% tags=["nbval-ignore-output"]
show(pairs[0])

# %% tags=["nbval-ignore-output"]
show(pairs[1])

# %% [markdown]
# And two failures: what each translator writes for the second sentence, and the test sentence whose *dot* weights
# agree least with the gold links.

# %% tags=["nbval-ignore-output"]
for name, run in runs.items():
    print(f"{name:5}", run.translate([pairs[1][0]])[0])
print("wanted", pairs[1][1])
if measured:
    weights = runs["dot"].word_weights(corpus.test)
    single = [alignment_error_rate([w], [g]) for w, g in zip(weights, corpus.links, strict=True)]
    show(corpus.test[int(np.argmax(single))])

# %% [markdown]
# ### 9.3 Reading the maps
#
# *written · 3 points · 10 min*
#
# **Given** the maps, the error rates and the outputs above. **Show** one example each, naming the words, of (a) a
# *monotone* run, (b) *re-ordering*, (c) one word against several; and (d) one way in which the maps are *not* alignments,
# or one failure of a slot, with a reason. **Form:** four short items; quote your error rates.

# %% [markdown] written="9.3"
# (a) *four friendly boys* follows *vier freundliche Jungen* down a diagonal; noun phrases keep their inner order.
#
# (b) *switching* stands before *a lamp*, its particle *ein* after *eine Lampe*; after *weil* the row *reading* jumps
# over *die Bücher* to *liest* at the end of the clause, and *switch off* reaches the last word, over the whole object.
#
# (c) *is reading* both rest on *liest*, and *switch off* both on *ausschalten*: one German verb, two English words.
#
# (d) Weights serve to *predict* a word, and the states they read already mix in neighbours. *are* looks at *Jungen*, with
# whom it must agree, and not at *schalten*, where the gold link is. So *dot* has an error rate of 0.14, far below
# that of *mean*, 0.90, and not zero. *Mean* has the same row everywhere, so it cannot point at all (its links are
# an accident of subword counts), and an empty slot links nothing, error rate 1; both lose the second half of the long
# sentence.

# %% [markdown] rubric="9.3"
# **Rubric.** ½ a monotone run, ½ a re-ordering (verb or particle), ½ a one-to-many link, each with the words · ½ error
# rates quoted and ordered dot < mean < none · 1 a reason for (d): weights serve prediction and states mix neighbours, or
# end marks and punctuation as resting places, or mean cannot point, or a fixed state forgets long sentences. Any wording.
# Wrong: "attention *is* the alignment"; "the map shows what the encoder reads"; rows read as German.

# %% [markdown]
# ### 9.4 Greedy search for a whole batch
#
# *code · 3 points · 12 min*
#
# **Given** `step(last, state)` → `(logits, state)`: the tokens just chosen, shape (B,), and the state (None at first) give
# logits (B, V) of the next one. **Show** the likeliest token at every step, for all sentences at once: start from `BOS`; a sentence ends with
# its own `EOS` and then holds `PAD`; stop when all have ended or at `max_length` tokens, and call `step` no more often
# than that takes. **Form:** `greedy_search(step, num_sentences, max_length)` → long tensor (B, T), `EOS` included, `BOS` not.
#
# *Predict:* which of these rules does a batch of one never test?


# %% answer="9.4"
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

# %% [markdown]
# Your search with the trained model behind `step`, against the course's, on the whole test set in one batch.


# %%
def stepper(run, sentences):
    """The step function of a trained translator for these sentences."""
    device = next(run.model.parameters()).device
    source, lengths = pad_source([run.vocabulary.encode(s) for s in sentences], device)
    memory = run.model.encode(source, lengths)

    def step(last, state):
        logits, _, state = run.model.decode(last[:, None].to(device), memory, state)
        logits[..., [PAD, BOS]] = -torch.inf  # never part of a translation
        return logits[:, -1].cpu(), state

    return step


# %% tags=["nbval-ignore-output"]
german, english = (list(side) for side in zip(*corpus.test, strict=True))
if check("9.4", greedy_search):
    with torch.inference_mode():
        tokens = greedy_search(stepper(runs["dot"], german), len(german), 100)
    written = [runs["dot"].vocabulary.decode(row) for row in tokens.tolist()]
    same = sum(a == b for a, b in zip(written, runs["dot"].translate(german), strict=True))
    print(f"equal to the course's search for {same} of {len(german)} sentences")

# %% [markdown]
# ## A beam
#
# Greedy search cannot take a word back. A *beam* of $K$ keeps the $K$ best beginnings of each sentence and compares
# log-probabilities divided by length, or else the shortest would win. It is given. *Predict:* what does $K = 5$ gain
# here, what does it cost, and does $K = 20$ gain as much again?

# %% tags=["nbval-ignore-output"]
for size in (1, 2, 5, 20):
    started = time.process_time()
    hypotheses = runs["dot"].translate(german, beam_size=size)
    speed = len(german) / (time.process_time() - started)
    result = scoring.score(hypotheses, english)["bleu"]
    print(f"beam {size:2}: BLEU {result:.1f}, {speed:4.0f} sentences per CPU second")
short = runs["dot"].translate(german, beam_size=5, length_penalty=0.0)
ratio = sum(map(len, short)) / sum(map(len, english))
result = scoring.score(short, english)["bleu"]
print(f"beam  5, not divided by length: BLEU {result:.1f}, {ratio:.0%} of the references' length")

# %%
for name, records in ladder.items():
    tests = [record["test"] for record in records]
    gains = [f"{test['beam 5']['bleu'] - test['greedy']['bleu']:+.1f}" for test in tests]
    print(f"Multi30k, {name:5} beam 5 against greedy, three seeds: {' '.join(gains)} BLEU")

# %% [markdown]
# A beam helps where the model is unsure and the better sentence is within reach: on Multi30k it adds more than a point to *dot*, and next to
# nothing to *none*, whose other candidates are as far from the source as its first. From 5 to 20 you pay four times
# as much or more, for little or nothing.

# %% [markdown]
# ## Common mistakes
#
# Three claims, each with the number that answers it: *padding does no harm, its states are zero*; *a softmax is a
# softmax, whatever its axis*; *a good perplexity means a good translation*.

# %%
silent = torch.where(mask[..., None], memory, 0.0)
real, all_places = (layers.MeanAttention(16)(queries, silent, m)[0][1] for m in (mask, mask | True))
print(f"zeros averaged in: the mean keeps {all_places.norm() / real.norm():.0%} of its length")
scores = torch.randn(2, 4, 7)  # (B, T, S)
over_batch, alone = scores.softmax(0), scores[:1].softmax(0)
print(f"softmax over the batch: a row sums to {over_batch[0, 0].sum():.1f}", end=", ")
print(f"and to {alone[0, 0].sum():.1f} when its sentence is alone")
worst, best = (ladder[name][0]["test"] for name in ("none", "dot"))
print(f"perplexity {worst['perplexity']:.1f} and {best['perplexity']:.1f}: a factor of", end=" ")
print(f"{worst['perplexity'] / best['perplexity']:.1f};", end=" ")
print(f"BLEU a factor of {best['greedy']['bleu'] / worst['greedy']['bleu']:.1f}")

# %% [markdown]
# ## Summary
#
# 1. One slot, one signature; the mask goes in before the softmax, or before the count.
# 2. Loss is taken after true words, BLEU on the model's own; AER (1) says what it looks at, not why.
# 3. Greedy search keeps one beginning per sentence and each sentence's own end; a beam keeps a few.

# %% [markdown]
# ## Without notes
#
# 1. Why must the mean divide by a different number for each sentence of a batch?
# 2. What does the decoder know about the source when the slot is empty?
# 3. Which axis does the softmax run over, and what would you see if it were the batch?
# 4. Why is the error rate of an empty slot exactly 1?
# 5. Why does a beam need a length penalty?
#
# **Next:** notebook 10 builds BLEU and asks which of these differences are real.
#
# **References.** Sutskever et al. (2014), sequence to sequence; Bahdanau et al. (2015), additive attention; Luong et al.
# (2015), dot products; Elliott et al. (2016), Multi30k; Och and Ney (2003), alignment error rate; Jain and Wallace (2019),
# attention is not explanation.
