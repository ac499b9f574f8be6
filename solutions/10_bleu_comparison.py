# %% [markdown]
# # A fair comparison
#
# > Two numbers differ. Is one translator better, or was it the tokeniser, the seed, or luck?
#
# *60 min, 3 questions, 12 points, needs 09*
#
# After this notebook you can
#
# - **implement** BLEU and reach the standard tool's number to the last digit,
# - **show** how one file gets several scores, and which traps perplexity has,
# - **decide** by a paired test which differences between five kinds of attention are real.

# %%
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from attn_utils import layers, plots
from attn_utils.course import check, hint
from attn_utils.translation import corpora, recording, scoring
from attn_utils.translation.batches import collate
from attn_utils.translation.config import PRESETS
from attn_utils.translation.scoring import bleu_of_counts
from attn_utils.translation.training import Trainer
from attn_utils.translation.vocabulary import PAD

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run

# %% [markdown]
# ## The score
#
# Let $m_n$ be the number of n-grams of the hypotheses that also stand in their reference, each counted at most as often as
# it stands *there* (**clipped**), and $h_n$ the number of all n-grams of the hypotheses; $c$ and $r$ the lengths of all
# hypotheses and of all references. Every one is a sum over the **whole** test set. Then
#
# $$\mathrm{BLEU} = 100 \cdot \min\!\big(1, e^{1 - r/c}\big) \cdot
# \Big(\prod_{n=1}^{4} \frac{m_n}{h_n}\Big)^{1/4}. \tag{1}$$
#
# Words come from a fixed tokeniser, called 13a, so that everyone counts the same ones. Here are the counts of one
# sentence, by the tool. *Predict:* which of them would be larger without clipping?

# %%
tokenise = Tokenizer13a()
reference = "Two dogs are waiting in the garden, and a boy is watching the dogs."
hypothesis = "The dogs are waiting in the garden, the dogs and the boy is watching."
print(tokenise(hypothesis).split())
(row,) = scoring.counts([hypothesis], [reference])
print("m", row[:4], " h", row[4:8], " c", row[8], " r", row[9])

# %% [markdown]
# ### 10.1 BLEU from counts
#
# *code · 4 points · 18 min*
#
# **Given** hypotheses and references as lists of token lists, one reference for each. **Show** (1), without smoothing:
# where some $m_n$ is 0, so is BLEU. A hypothesis may be empty or shorter than four tokens. **Form:**
# `bleu(hypotheses, references)` → a number from 0 to 100, equal to sacrebleu's.
#
# *Predict:* what is the BLEU of a *perfect* one-sentence test set with three words in it?


# %% answer="10.1"
def bleu(hypotheses, references):
    """Corpus BLEU of token lists, 0 to 100."""
    # 1. clipped matches and totals of each order, over all sentences
    # 2. the two lengths and the penalty, 3. the geometric mean
    # BEGIN SOLUTION
    matches, totals = np.zeros(4), np.zeros(4)
    for pair in zip(hypotheses, references, strict=True):
        for n in range(4):
            mine, theirs = (
                Counter(zip(*(side[k:] for k in range(n + 1)), strict=False))
                for side in pair
            )
            matches[n] += (mine & theirs).total()
            totals[n] += mine.total()
    if not matches.all():
        return 0.0
    c, r = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * min(1, np.exp(1 - r / c)) * np.exp(np.log(matches / totals).mean())
    # END SOLUTION


# %% check="10.1"
check("10.1", bleu)

# %% [markdown]
# ## One file, many scores
#
# The file is recorded: what a small *dot* translator wrote for the 500 test sentences of the embedded corpus. Nothing about
# the translations changes below, only the way they are scored. *Predict* the order of the bars.

# %%
corpus = corpora.embedded()
references = [english for _, english in corpus.test]
embedded = recording.recorded("embedded")
hypotheses = embedded["dot"][0]["hypotheses"]
standard = BLEU().corpus_score(hypotheses, [references]).score
if check("10.1", bleu):
    tokens = [[tokenise(text).split() for text in side] for side in (hypotheses, references)]
    print(f"yours {bleu(*tokens):.6f}, sacrebleu {standard:.6f}")

# %%
lower = [[text.lower() for text in side] for side in (hypotheses, references)]
letters = BLEU(tokenize="char").corpus_score(hypotheses, [references]).score
glued = BLEU(tokenize="none").corpus_score(hypotheses, [references]).score
sentence = BLEU(effective_order=True)
pairs = list(zip(hypotheses, references, strict=True))
averaged = np.mean([sentence.sentence_score(h, [r]).score for h, r in pairs])
scores = {
    "13a, cased\n(standard)": standard,
    "lower-cased": BLEU().corpus_score(lower[0], [lower[1]]).score,
    "split at\nblanks": glued,
    "letters as\nwords": letters,
    "mean of\nsentences": averaged,
}
ax = plots.panels(1, width=8.5)[0]
plots.bars(list(scores.values()), list(scores), ylabel="BLEU", xlabel="", top=70, ax=ax)

# %% [markdown]
# One file, and more than eleven points between its scores. Tokenisation alone moves it in both directions, and the mean of sentence scores is a different quantity under the same name. That is why a score needs its
# *signature*; a comparison of two papers without it compares settings.

# %%
print(embedded["dot"][0]["test"]["greedy"]["signature"].partition(";")[0])
print({name.replace("\n", " "): round(float(value), 1) for name, value in scores.items()})

# %% [markdown]
# ### 10.2 Is the difference real?
#
# *code · 4 points · 15 min*
#
# A test set is a sample: with other sentences the scores would differ. **Given** the counts of two systems on the *same*
# $n$ sentences, arrays (n, 10) with columns $m_1..m_4, h_1..h_4, c, r$; a numpy Generator; a number of samples. **Show** how
# the gain in BLEU varies over test sets of $n$ sentences drawn with replacement. **Form:**
# `paired_bootstrap(one, other, rng, num_samples)` → `(gain, low, high, p)`: the gain of `other` over `one` on the whole
# set, the central 95% of resampled gains, and the share of samples on which `other` is *not* better.
# `bleu_of_counts(sums)` is given, for sums of shape (..., 10).
#
# *Predict:* why *paired*?


# %% answer="10.2"
def paired_bootstrap(one, other, rng, num_samples):
    """one, other: counts (n, 10) -> gain, low, high, p."""
    # BEGIN SOLUTION
    picks = rng.integers(len(one), size=(num_samples, len(one)))
    gains = bleu_of_counts(other[picks].sum(1)) - bleu_of_counts(one[picks].sum(1))
    gain = bleu_of_counts(other.sum(0)) - bleu_of_counts(one.sum(0))
    return gain, *np.quantile(gains, [0.025, 0.975]), np.mean(gains <= 0)
    # END SOLUTION


# %% check="10.2"
check("10.2", paired_bootstrap)

# %% [markdown]
# ## Five slots, live
#
# Besides the three of notebook 09 there are *additive* attention, a small network for each pair of query and key, and
# *multi-head* attention with four heads. Same text, same budget of 120,000 subwords, one seed, about a quarter of a
# minute each. *Predict* the order. (`PRESET = "full"` is the same on Multi30k, for a GPU.)

# %% tags=["nbval-ignore-output"]
PRESET = "default"  # "ladder" or "full": Multi30k
config, runs = replace(PRESETS["default"], tokens=120_000), {}
if PRESET != "default":
    corpus, config = corpora.load("multi30k"), PRESETS[PRESET]
german, english = (list(side) for side in zip(*corpus.test, strict=True))
folder = Path(tempfile.mkdtemp())
for name in layers.SLOTS:
    runs[name] = Trainer(corpus, replace(config, attention=name), folder / name).fit()
    encoded = [tuple(map(runs[name].vocabulary.encode, pair)) for pair in corpus.test]
    live = scoring.score(runs[name].translate(german), english)["bleu"]
    print(f"{name:10} BLEU {live:5.1f}   ", end="")
    print(f"perplexity {scoring.perplexity(runs[name].model, encoded):5.2f}")

# %% [markdown]
# ## Perplexity and its traps
#
# Perplexity is $e^{\text{mean loss}}$ per *something*, after *some* words. Four ways to get another number from the same
# *dot* model: count the start mark as a word that was predicted; count padding; count words where the model predicts
# subwords; and switch **teacher forcing** off, so that the model reads its own words while it is scored on the true ones.
# *Predict* for each whether the number falls or rises.

# %% tags=["nbval-ignore-output"]
model, some = runs["dot"].model.eval(), corpus.test[:200]
encoded = [tuple(map(runs["dot"].vocabulary.encode, pair)) for pair in some]
batch = collate(encoded, next(model.parameters()).device)
memory = model.encode(batch.source, batch.lengths)


def losses(inputs):
    """The loss of each true target subword when these are read."""
    logits = model.decode(inputs, memory)[0].flatten(0, 1)
    return F.cross_entropy(logits, batch.targets.flatten(), reduction="none").view_as(batch.targets)


with torch.inference_mode():
    taught, written, state = losses(batch.inputs), batch.inputs.clone(), None
    for t in range(written.shape[1] - 1):  # what the model would have written itself
        logits, _, state = model.decode(written[:, t : t + 1], memory, state)
        written[:, t + 1] = logits[:, -1].argmax(-1)
    alone = losses(written)

# %% tags=["nbval-ignore-output"]
real = batch.targets != PAD
total, count = taught[real].sum(), real.sum()
words = sum(len(tokenise(text).split()) + 1 for _, text in some)  # and the end mark
perplexities = {
    "as it should be": total / count,
    "start mark counted": total / (count + len(some)),
    "padding counted": taught.mean(),
    "per word": total / words,
    "teacher forcing off": alone[real].mean(),
}
for name, value in perplexities.items():
    print(f"{name:20} {torch.exp(value):9.2f}")

# %% [markdown]
# Without teacher forcing the number is that of another question: after the model's first deviation, the "true" next word is
# no longer the right one. Counting the start mark is cheating in small change. Padding was never
# trained on, so that number means nothing at all; and a vocabulary with longer subwords has a higher perplexity for the
# same text, which is why only models with *one* vocabulary may be compared.

# %% [markdown]
# ## The ladder, recorded
#
# One seed is one draw. These are three for each slot, on the embedded corpus at the budget of the live cell (whose seed is
# the first), with the command that makes each one. The spread is the sample standard deviation.

# %%
print(embedded["dot"][0]["command"])
print("CPU seconds:", sum(round(r["cpu_seconds"]) for found in embedded.values() for r in found))
for name, records in embedded.items():
    scores = np.array([record["test"]["greedy"]["bleu"] for record in records])
    perplexity = np.mean([record["test"]["perplexity"] for record in records])
    print(f"{name:10} BLEU {scores.round(1)}   mean {scores.mean():4.1f}", end="   ")
    print(f"spread {scores.std(ddof=1):4.1f}   perplexity {perplexity:.2f}")

# %% [markdown]
# And on real text, with 400,000 subwords of Multi30k; the score is on test 2016, which no decision looked at.

# %%
multi30k = recording.recorded("translation")
print(multi30k["dot"][0]["command"])
print({key: value for key, value in multi30k["dot"][0]["config"].items() if key != "seed"})
for name, records in multi30k.items():
    scores = np.array([record["test"]["greedy"]["bleu"] for record in records])
    perplexity = np.mean([record["test"]["perplexity"] for record in records])
    print(f"{name:10} BLEU {scores.round(1)}   mean {scores.mean():4.1f}", end="   ")
    print(f"spread {scores.std(ddof=1):4.1f}   perplexity {perplexity:.1f}")

# %% [markdown]
# ## Which steps are real?
#
# Counts of a sentence are added over the three seeds, so that sentences alone are resampled; yours if it passed, else
# the course's own. A $p$ of 0 out of 2,000 samples is reported as below 0.0005.


# %%
def compare(one, other):
    """Gain, low and high of two lists of records, and p in words."""
    counts = [sum(record["counts"] for record in records) for records in (one, other)]
    if own:
        *found, p = paired_bootstrap(*counts, np.random.default_rng(0), 2000)
    else:
        *found, p = scoring.bootstrap(*counts, num_samples=2000).values()
    return *found, "p < 0.0005" if p < 0.0005 else f"p = {p:.4f}"


own, rows = check("10.2", paired_bootstrap), {}
steps = [("none", "mean"), ("mean", "dot"), ("additive", "multihead"), ("multihead", "dot")]
for title, ladder in {"embedded": embedded, "Multi30k": multi30k}.items():
    for one, other in (step for step in steps if set(step) <= set(ladder)):
        gain, low, high, p = compare(ladder[one], ladder[other])
        rows[f"{title}: {one} to {other}"] = (gain, low, high)
        print(f"{title}: {one:9} to {other:9} {gain:+6.2f} ({low:+.2f} to {high:+.2f})  {p}")
ax = plots.panels(1, width=8.5)[0]
plots.intervals(
    rows, xlabel="gain in BLEU, 95% of resampled test sets", marks={"no gain": 0}, ax=ax
)

# %% [markdown]
# The bootstrap knows the luck of the *test set* and nothing of the luck of *training*. Here it compares two seeds of the
# same slot, the best and the worst of three, which differ in nothing that anybody would publish.

# %%
for name, records in embedded.items():
    first, second = sorted(records, key=lambda record: record["test"]["greedy"]["bleu"])[
        :: len(records) - 1
    ]
    gain, low, high, p = compare([first], [second])
    print(f"{name:10} best seed over worst: {gain:+5.2f} ({low:+.2f} to {high:+.2f}), {p}")

# %% [markdown]
# ## By sentence length
#
# One number hides where it comes from. Here is BLEU for four groups of source length, the mean over three seeds.
# *Predict* which curves fall, and which fall fastest.


# %%
def by_length(records, edges):
    """Mean over seeds of BLEU within each group of source lengths."""
    groups = np.digitize(records[0]["source_words"], edges)
    return [
        np.mean([bleu_of_counts(record["counts"][groups == k].sum(0)) for record in records])
        for k in range(len(edges) + 1)
    ]


for (title, ladder), ax in zip(
    {"embedded": embedded, "Multi30k": multi30k}.items(), plots.panels(2, width=9), strict=True
):
    lengths = ladder["dot"][0]["source_words"]
    edges = np.quantile(lengths, [0.25, 0.5, 0.75])
    middles = [lengths[np.digitize(lengths, edges) == k].mean() for k in range(4)]
    series = {name: by_length(records, edges) for name, records in ladder.items()}
    plots.curves(middles, series, xlabel="German words", ylabel="BLEU", title=title, ax=ax)
    for name, values in series.items():
        print(f"{title} {name:10} {np.round(values, 1)}")

# %% [markdown]
# What that means in words: the Multi30k models' own outputs for three test captions, seed 1.

# %%
for k in (12, 40, 77):
    for name in multi30k:
        print(f"{name:5} {multi30k[name][0]['hypotheses'][k]}")
    print()

# %% [markdown]
# ### 10.3 The conclusion
#
# *written · 4 points · 12 min*
#
# **Given** everything above. **Show** (a) which steps of the ladder you would claim, on which corpus, with gain, interval
# and spread over seeds; (b) which you would *not* claim, and what you would do to find out; (c) where each of *none*,
# *mean* and *dot* fails, by sentence length, with a reason; (d) what the scores can be compared with, and what not.
# **Form:** a paragraph each.

# %% [markdown] written="10.3"
# (a) *none* to *mean* and *mean* to *dot*, on both corpora: +4.7 (4.1 to 5.4) and +45.0 (43.3 to 46.6) on the embedded one,
# +4.8 (4.1 to 5.3) and +13.7 (12.6 to 14.8) on Multi30k, p < 0.0005 each. The gaps are several times the spread over seeds,
# and no run of a lower rung beats one of a higher.
#
# (b) Not *multi-head* over *additive*: +3.4 (2.1 to 4.7), but each spreads by about as much over seeds, and three of nine pairs
# go the other way. Nor *dot* over *multi-head*, +6.0: the best of one beats the worst of the other, and in a training this short
# slots with parameters have more to learn. More seeds, a longer budget and Multi30k would tell.
#
# (c) From the shortest to the longest quarter *none* falls from 8.5 to 1.9 and *mean* from 20.5 to 4.5 (embedded): one fixed
# state, or one average, must hold any number of words. On Multi30k *none* writes the same fluent caption for many sources. *dot* falls too
# where training is unfinished, 76.6 to 43.9, and not on Multi30k, 26.0 to 26.3; its failures are rare words.
#
# (d) With runs of this signature, test set, search and budget; not with lower-cased or tokenised scores, nor 54 here with
# 28 there; perplexities within one corpus only, where the vocabulary is one.

# %% [markdown] rubric="10.3"
# **Rubric.** 1 none < mean < dot claimed with gain and interval or p, and spread over seeds beside it · 1 refuses a claim that
# the data do not carry (order among dot, additive, multi-head: one budget, three seeds, spread as large as the
# gap; "additive is better" in general), and says what would settle it (more seeds, tuned or longer training) · 1 by length: none and mean fall or start low,
# with a reason (one fixed state or one average for any length), dot falls less; where dot fails (rare words, unfinished training) ·
# 1 signature, test set, search and budget stated; no comparison with other papers' tokenised or lower-cased scores. Wrong:
# significance by bootstrap taken for reproducibility over seeds; perplexities of different vocabularies compared.

# %% [markdown]
# ## Common mistakes
#
# Three claims: *average the sentence scores, it comes to the same*; *a translator that says little makes no errors*;
# *a small p means that another training run would show it too*.

# %%
print(f"mean of sentence scores {averaged:.1f}, BLEU {standard:.1f}")
cut = [" ".join(text.split()[:4]) for text in references]  # the first four words, all of them right
short = BLEU().corpus_score(cut, [references])
print(f"four words, {short.precisions[0]:.0f}% of them right: BLEU {short.score:.1f}")
pair = [embedded["additive"], embedded["multihead"]]
seeds = [[record["test"]["greedy"]["bleu"] for record in records] for records in pair]
wins = sum(b > a for a in seeds[0] for b in seeds[1])
print(f"multi-head over additive: {compare(*pair)[3]},", end=" ")
print(f"but it wins in {wins} of {len(seeds[0]) * len(seeds[1])} pairs of single runs")

# %% [markdown]
# ## Summary
#
# 1. BLEU (1) is a function of ten sums; its signature says which words they count.
# 2. A paired bootstrap says whether another *test set* would agree, several seeds whether another *training run* would.
# 3. Perplexities can be compared per the same unit, after the same words, over the same vocabulary, or not at all.

# %% [markdown]
# ## Without notes
#
# 1. Why are the counts added up before the precisions are taken?
# 2. What does clipping stop, and what the brevity penalty?
# 3. Why does drawing separate test sets for two systems make the interval wider?
# 4. Which perplexity falls when the start mark is scored, and why?
# 5. Which of the five slots cannot tell one German word from another, and what does it cost on long sentences?
#
# **Next:** nothing; this is the last notebook. The full preset, `attn translate train --preset full`, is where to go on.
#
# **References.** Papineni et al. (2002), BLEU; Post (2018), sacrebleu and its signature; Koehn (2004), bootstrap for BLEU;
# Bahdanau et al. (2015), translation quality by sentence length; Vaswani et al. (2017), multi-head attention.
