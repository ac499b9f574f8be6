# %% [markdown]
# # A fair comparison
#
# > Two numbers differ. Is one translator better, or was it the tokeniser, the seed, or luck?
#
# *108 min, needs 10; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** BLEU and get the same number as the standard tool, to the last digit,
# - **explain** how one file gets several scores, and which mistakes perplexity invites,
# - **decide** with a paired test which differences between five kinds of attention are real.

# %%
from collections import Counter
from functools import reduce

import numpy as np
import torch
from sacrebleu import BLEU

from attn_course import check, hint, plots
from attn_course.translation import (
    Trainer,
    ablation,
    bleu_of_counts,
    captions,
    expected_time,
    recorder,
    scoring,
    setting,
    tables,
    two_settings,
)

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run

# %% [markdown]
# ## The score
#
# A *hypothesis* is what the translator wrote; an *n-gram* is a run of $n$ words. $h_n$ is the number of n-grams in
# the hypotheses, and $m_n$ the number of those that match the reference. Matches are **clipped**: an n-gram that
# occurs twice in the reference can match at most twice. $c$ and $r$ are the lengths of hypotheses and references.
# All are sums over the **whole** test set. Then
#
# $$\mathrm{BLEU} = 100 \cdot \min\!\big(1, e^{1 - r/c}\big) \cdot
# \Big(\prod_{n=1}^{4} \frac{m_n}{h_n}\Big)^{1/4}. \tag{1}$$
#
# A fixed tokeniser, called 13a, cuts the text into words. The next cell prints these counts, as the standard tool
# sacrebleu finds them, for one hypothesis and its reference. *Predict* from these two sentences by how much $m_1$
# would be larger without clipping.

# %%
# my prediction: ...
tokenise = BLEU().tokenizer  # sacrebleu's default, 13a
reference = "Two dogs are waiting in the garden, and a boy is watching the dogs."
hypothesis = "The dogs are waiting in the garden, the dogs and the boy is watching."
print(tokenise(hypothesis).split())
(row,) = scoring.counts([hypothesis], [reference])
print("m", row[:4], " h", row[4:8], " c", row[8], " r", row[9])
counted, known = Counter(tokenise(hypothesis).split()), set(tokenise(reference).split())
print("m_1 without clipping:", sum(count for word, count in counted.items() if word in known))

# %% [markdown]
# ### 11.1
#
# **Given** hypotheses, lists of tokens, and for each a list of one or more references. **Compute** (1); if some
# $m_n$ is 0, BLEU is 0 too. With several references an n-gram can match as often as it occurs in the reference that
# contains it most often, and $r$ adds the length of the reference that is nearest in length to the hypothesis (the shorter
# one if two are equally near). A hypothesis may be
# empty or shorter than four tokens. **Form:** `bleu(hypotheses, references)` → a number from 0 to 100, equal to
# sacrebleu's with `smooth_method="none"`. (By default sacrebleu replaces an $m_n$ of 0 by a small number.)
#
# *Predict:* a test set is one sentence of three words, and the hypothesis is *equal* to its reference. What is the
# BLEU? The answer is under *Common mistakes*.


# %% answer="11.1"
# my prediction: ...
def bleu(hypotheses, references):
    """hypotheses: token lists; references: for each a list of token lists -> corpus BLEU, 0 to 100."""
    # 1. clipped matches and totals of each order, over all sentences
    # 2. the two lengths and the penalty, 3. the geometric mean
    # BEGIN SOLUTION
    matches, totals, c, r = np.zeros(4), np.zeros(4), 0, 0
    for mine, several in zip(hypotheses, references, strict=True):
        c += len(mine)
        r += min((abs(len(text) - len(mine)), len(text)) for text in several)[1]
        for n in range(4):
            counts, *others = (
                Counter(zip(*(text[k:] for k in range(n + 1)), strict=False))
                for text in (mine, *several)
            )
            matches[n] += (counts & reduce(Counter.__or__, others)).total()
            totals[n] += counts.total()
    if not matches.all():
        return 0.0
    return 100 * min(1, np.exp(1 - r / c)) * np.exp(np.log(matches / totals).mean())
    # END SOLUTION


# %% check="11.1"
check("11.1", bleu)

# %% [markdown]
# ## One file, many scores
#
# We score a recorded file: what a small *dot* translator wrote for the 500 test sentences of the *embedded* corpus,
# the invented one of 10. First we print your number for it beside sacrebleu's. Then the translations stay the same,
# and only the way of scoring changes: the second cell draws a bar for each of five ways, four in `ways` and the mean
# of the sentences' own scores. *Predict:* which bar is highest, and which lowest?

# %%
from attn_course.translation import corpora

references = [english for _, english in corpora.embedded().test]
embedded = recorder.recorded("embedded")
hypotheses = embedded["dot"][0]["hypotheses"]
if check("11.1", bleu):
    mine, theirs = ([tokenise(text).split() for text in side] for side in (hypotheses, references))
    standard = BLEU().corpus_score(hypotheses, [references]).score
    yours = np.squeeze(bleu(mine, [[text] for text in theirs]))
    print(f"yours {yours:.4f}, sacrebleu {standard:.4f}")
    others = embedded["additive"][0]["hypotheses"]  # as if they were a second translation
    several = [[one, tokenise(other).split()] for one, other in zip(theirs, others, strict=True)]
    print(f"with a second reference {np.squeeze(bleu(mine, several)):.4f}")

# %%
# my prediction, highest and lowest: ...
ways = {
    "13a, cased\n(standard)": {},
    "lower-cased": {"lowercase": True},
    "split at\nblanks": {"tokenize": "none"},
    "letters as\nwords": {"tokenize": "char"},
}
scores = {k: BLEU(**way).corpus_score(hypotheses, [references]).score for k, way in ways.items()}
sentence, pairs = BLEU(effective_order=True), zip(hypotheses, references, strict=True)
scores["mean of\nsentences"] = np.mean([sentence.sentence_score(h, [r]).score for h, r in pairs])
ax = plots.panels(1, width=8.5)[0]
plots.bars(list(scores.values()), list(scores), ylabel="BLEU", xlabel="", top=70, ax=ax)

# %% [markdown]
# The scores of this one file differ by more than eleven points. Tokenisation alone moves the score in both
# directions, and the mean of sentence scores is a different quantity under the same name. That is why a score is
# published with its *signature*, a list of the settings: two scores may be compared only if their signatures agree. It
# names the number of references too (`nrefs`), because a second reference can only add matches. **chrF** is a mean of precision
# and recall of runs of one to six letters: it needs no tokeniser, and gives credit for a word that is nearly right.
# Here are the signatures of the first bar, the third and the last, and the chrF of the file:

# %%
for way in ({}, {"tokenize": "none"}, {"effective_order": True}):
    metric = BLEU(**way)
    metric.corpus_score(hypotheses, [references])
    print(metric.get_signature())
print(f"chrF {scoring.score(hypotheses, references)['chrf']:.1f}")

# %% [markdown]
# **A good place for a pause.** The second half asks what a difference of two scores means.
#
# ### 11.2
#
# Another test set gives another score. **Given** two systems' counts on the *same* $N$ sentences, arrays (N, 10) of
# $m_1..m_4, h_1..h_4, c, r$, and a numpy Generator. **Draw** `num_samples` test sets of $N$ sentences, with
# replacement. **Form:** `paired_bootstrap(one, other, rng, num_samples)` → `(gain, low, high, p)`: the BLEU gain of
# `other` over `one` on all sentences, the ends of the central 95% of resampled gains, and the share $p$ of samples
# where `other` is *not* better. `bleu_of_counts(sums)`, sums (..., 10), is given.
#
# *Predict:* if each system is resampled separately, is the interval narrower or wider?


# %% answer="11.2"
# my prediction: ...
def paired_bootstrap(one, other, rng, num_samples):
    """one, other: counts (N, 10) -> gain, low, high, p."""
    # BEGIN SOLUTION
    picks = rng.integers(len(one), size=(num_samples, len(one)))
    gains = bleu_of_counts(other[picks].sum(1)) - bleu_of_counts(one[picks].sum(1))
    gain = bleu_of_counts(other.sum(0)) - bleu_of_counts(one.sum(0))
    return gain, *np.quantile(gains, [0.025, 0.975]), np.mean(gains <= 0)
    # END SOLUTION


# %% check="11.2"
check("11.2", paired_bootstrap)

# %% [markdown]
# ## Five slots, two of them live
#
# In notebook 10 the slot of the translator was filled in three ways: *none*, *mean* and *dot*. Two more ways are
# *additive* attention, which you wrote in [9.4](09_seq2seq.ipynb), and *multi-head* attention with four heads. From
# here on we call each of the five ways a slot. Two of them are trained here; in the default preset this takes
# 120,000 subwords and about a quarter of a minute each. *Predict* by how much their test BLEU differs. (The preset
# `"full"` does the same on Multi30k, for a GPU.)
#
# Do not expect the 87 of *dot* in [10](10_translation.ipynb). There *dot* read 162,000 subwords, here it reads 120,000; there
# it read 2,700 scenes several times each, here it reads 8,000 at most once. *Predict* which difference matters; the
# recorded table below the scores has all four cases.

# %% tags=["nbval-ignore-output"]
PRESET = "default"  # or "tiny"; on Multi30k "ladder" or "full"
corpus, configs = setting(PRESET, tokens=120_000)
live = ("none", "dot")  # and, if you have the time: "mean", "additive", "multihead"
print(expected_time(PRESET, configs, num_runs=len(live)))

# %% tags=["nbval-ignore-output"]
# my prediction: ...
german, english = (list(side) for side in zip(*corpus.test, strict=True))
runs = {name: Trainer(corpus, configs[name]).fit() for name in live}
for name, run in runs.items():
    print(f"{name:10} test BLEU {scoring.score(run.translate(german), english)['bleu']:5.1f}")
print(two_settings.recorded_table())

# %% [markdown]
# *Dot* has 55 here and 87 in 10 because of the budget: with 120,000 subwords it has about 55 on either number of
# scenes, with 162,000 about 87. At this point of the training its curve is steep. The score of a model that is not
# trained to its end is a score of its budget, too.
#
# ## Perplexity and its traps
#
# Perplexity ([10](10_translation.ipynb)) is $e^{\text{mean loss}}$, where the mean is taken over all predicted
# tokens. Here are four ways to get another number from the same *dot* model: count the start mark as if it had been
# predicted; count padding; divide by the number of words, although the model predicts subwords; and switch
# **teacher forcing** off, so that the model reads its own words while it is scored on the true ones. *Predict* for
# each whether the number falls or rises.

# %% tags=["nbval-ignore-output"]
# my predictions, falls or rises: ...
some = corpus.test[:200]
taught, real = runs["dot"].losses(some)  # of each true subword (B, T); which are no padding
alone, _ = runs["dot"].losses(some, teacher_forcing=False)
total, count = taught[real].sum(), real.sum()
words = sum(len(tokenise(text).split()) + 1 for _, text in some)  # and the end mark
mean_losses = {
    "as it should be": total / count,
    "start mark counted": total / (count + len(some)),
    "padding counted": taught.mean(),
    "per word": total / words,
    "teacher forcing off": alone[real].mean(),
}
for name, value in mean_losses.items():
    print(f"{name:20} {value.exp():9.2f}")

# %% [markdown]
# The start mark lowers the perplexity a little, because it adds a token without any loss. The model was never
# trained on padding, so the number with padding means nothing at all. Without teacher forcing we ask a different
# question: after the first word that differs from the reference, the "true" next word is no longer the right one.
# And the row *per word* shows that the number depends on the unit: only models with the *same* vocabulary may be
# compared.

# %% [markdown]
# ## Three seeds, recorded
#
# One seed proves little. Here are three for each slot. The first table is for the embedded corpus. Its runs have the
# same budget as the two that you trained above, and your two used the first of the three seeds. The second table is
# for real text, 400,000 subwords of Multi30k. Above each table is a command that makes one of its runs. No
# decision was based on these test sets; the spread is the sample standard deviation. *Predict:* are the
# five slots in the same order on both?

# %%
# my prediction: ...
print(embedded["dot"][0]["command"])
print(recorder.table(embedded))
multi30k = recorder.recorded("translation")
print("\n" + multi30k["dot"][0]["command"])
print(recorder.table(multi30k))

# %% [markdown]
# ## Recurrent network or Transformer?
#
# Both budgets were small, so that we could train three seeds for every slot. Now we use more text, and compare the GRU
# with another architecture, the Transformer. It has no GRUs: the attention of [06](06_transformer_attention.ipynb)
# takes their place in encoder and decoder. Each point is a validation score of a recorded run, against the number of
# subwords it had seen by then. *Predict:* which of the two learns more from little text, and does the other catch up?

# %%
# my prediction: ...
kinds = {"GRU, dot": "translation*_dot_[0-9]", "Transformer": "translation*_transformer_[0-9]"}
compared = {name: recorder.records(pattern) for name, pattern in kinds.items()}
ax = plots.panels(1, width=8.5)[0]
ax.limits(y=(0, 45))
axis = {"xlabel": "subwords seen, millions", "ylabel": "validation BLEU (greedy)", "ax": ax}
for colour, (name, records) in enumerate(compared.items()):
    for record in records:
        seen = [row["tokens"] / 1e6 for row in record["metrics"]]
        scores_seen = [row["bleu"] for row in record["metrics"]]
        label = name if record is records[0] else f"_{name}"  # one line of the legend each
        plots.curves(seen, {label: scores_seen}, colours={label: colour}, dots=True, **axis)
print(tables.of_architectures(compared))

# %% [markdown]
# After 0.4 million subwords the GRU has about twice the Transformer's test BLEU: the order of words is built into a
# GRU, but a Transformer has to learn it. After 4 million, at nearly equal size and time, both are near 39 with a
# beam: the gap closes with more text. The longest runs end at different budgets, the GRU's at 8 million with 40.0 and
# the Transformer's at 10 million with 41.6 and 41.9, so they do not settle which is better. (Compare only the *ends*
# of two curves: scores also rise because the learning rate falls towards the end of each run.) The last row, made by the
# command above the table, is the bundled translator of 10.

# %% [markdown]
# ## Taken out after training
#
# The Transformer of the last row, bundled with the course in half precision, was trained with a causal mask, with
# $1/\sqrt{d}$ and with all of its heads. For each line below we take one of these away *after* training and translate the
# test set again, with a beam of 5. *Predict* which costs most BLEU: no causal mask, no scale, or one head of the decoder off.

# %%
# my prediction: ...
without = {
    "intact": "",
    "no causal mask": "-causal",
    "no 1/sqrt(d) anywhere": "encoder-scale decoder-scale cross-scale",
    "decoder head 2.4 off": "decoder-2.4",
    "decoder head 2.1 off": "decoder-2.1",
}
print(ablation.recorded_table(without))

# %% [markdown]
# Without the causal mask the model loses 0.5 BLEU, and the interval contains 0: a word that is being written has
# only earlier words to look at, with or without a mask. In *training* all target words are there at once, and
# without a mask every place could copy the word that it has to predict ([6.4](06_transformer_attention.ipynb)).
# Without the scale it loses 3.3: the weights are sharper but still point at the same words. Head 1 of layer 2 alone
# (2.1) costs 8.3, head 2.4 hardly anything. The table says what *this* model relies on; what training needs, we
# have not measured. With `attn playground` you can take out more.

# %% [markdown]
# ## Which differences are real?
#
# Now your function compares two slots (the course's, if yours has not passed). It gets the counts of each sentence,
# added up over the three seeds. With 2,000 samples $p$ is known only roughly. If the second slot is better in *every*
# sample, we write "p below 0.0015" and not "p = 0": if the true $p$ were 0.0015, there would still be a chance of 5% that none
# of 2,000 samples shows it ($0.9985^{2000} \approx 0.05$). If the second slot is better in *no* sample, we write
# "p above 0.9985" for the same reason.

# %%
resample = paired_bootstrap if check("11.2", paired_bootstrap) else scoring.bootstrap


def compare(one, other):
    """(gain, low, high) of two lists of records, and the same with p as text."""
    counts = [sum(record["counts"] for record in records) for records in (one, other)]
    gain, low, high, p = np.ravel(resample(*counts, np.random.default_rng(0), 2000))
    text = f"{gain:+6.2f} ({low:+.2f} to {high:+.2f}), {scoring.p_value(round(2000 * p), 2000)}"
    return (gain, low, high), text


# %%
steps = [("none", "mean"), ("mean", "dot"), ("additive", "multihead"), ("multihead", "dot")]
ladders = {"embedded": embedded, "Multi30k": multi30k}
axis = {"xlabel": "gain in BLEU, 95% of resampled test sets", "marks": {"no gain": 0}}
for (title, ladder), ax in zip(ladders.items(), plots.panels(2, width=9, height=2.6), strict=True):
    rows = {}
    for one, other in steps:
        rows[f"{one} to {other}"], text = compare(ladder[one], ladder[other])
        print(f"{title}: {one:9} to {other:9} {text}")
    plots.intervals(rows, **axis, title=title, ax=ax)

# %% [markdown]
# The bootstrap measures the luck of the *test set*, not the luck of *training*. To see this, we let it compare the
# best and the worst of the three seeds of one slot, which differ in nothing but the seed. *Predict:* for how many
# of the five slots is $p$ below 0.05?

# %%
# my prediction: ...
for name, records in embedded.items():
    worst, *_, best = sorted(records, key=lambda record: record["test"]["greedy"]["bleu"])
    print(f"{name:10} best seed over worst: {compare([worst], [best])[1]}")

# %% [markdown]
# It is below 0.05 for all five: a small $p$ does not replace several training runs.
#
# ## By sentence length
#
# One number does not show on which sentences a model does well. Here the test sentences are divided into four
# groups by the length of the source; the curves show the BLEU of each group, the mean over three seeds. *Predict*
# which curves fall, and which fall fastest. Below are two test captions of Multi30k, German and reference, and what
# the five slots wrote, seed 1. What do the five outputs agree on, and what does each invent that the German does not say?

# %%
# my prediction: ...
for title, ax in zip(ladders, plots.panels(2, width=9, height=4), strict=True):
    words, series = recorder.by_length(ladders[title])
    plots.curves(words, series, xlabel="German words", ylabel="test BLEU", title=title, ax=ax)
    ax.limits(y=(0, min(100, 1.5 * max(map(max, series.values())))))  # room for the legend
    for name, values in series.items():
        print(f"{title} {name:10} {np.round(values, 1)}")
for caption in captions.recorded()["captions"][:2]:
    print(f"\n{'German':10} {caption['german']}\n{'reference':10} {caption['reference']}")
    for name in multi30k:
        print(f"{name:10} {multi30k[name][0]['hypotheses'][caption['number']]}")

# %% [markdown]
# ### 11.3
#
# **Given** everything above. **Decide** (a) which differences between slots you would claim, on which corpus, with gain, interval
# and spread over seeds; (b) which you would *not* claim, and what you would do to find out; (c) where each of *none*,
# *mean* and *dot* fails, by sentence length, with a reason; (d) which other scores can be compared with ours, and which not.
# **Form:** a paragraph for each part.

# %% [markdown] written="11.3"
# (a) On Multi30k *none* to *mean*, +4.8 (4.1 to 5.3), and *mean* to *dot*, +13.7 (12.6 to 14.8): one-sided p below
# 0.0015, spreads 0.4 to 0.5. Embedded agrees.
#
# (b) Not *multi-head* over *additive*: its +3.4 (embedded) is within their spread, three of nine pairs disagree,
# Multi30k says -1.3 (-1.8 to -0.9). More seeds and longer training would tell.
#
# (c) With length *none* falls to 1.9, *mean* to 4.5 (embedded): one state or average must hold any length. *Dot*
# falls there from 76.6 to 43.9, being unfinished, and holds on Multi30k.
#
# (d) With runs of this signature, test set, search and budget.


# %% [markdown] rubric="11.3"
# **Rubric.** 1 none < mean < dot claimed with gain and interval or p, spread over seeds beside it · 1 refuses a claim that
# the data do not carry (the order of additive and multi-head, which the other corpus reverses; any order at another
# budget), and says what would settle it (more seeds, longer or tuned training) · 1 by length: none and mean fall or start
# low, with a reason (one state or one average for any length), dot falls less; where it fails · ½ signature, test set,
# search and budget stated; no comparison with tokenised or lower-cased scores. Wrong: a bootstrap taken for
# reproducibility over seeds; perplexities of different vocabularies compared.

# %% [markdown]
# ## Common mistakes
#
# Here are five claims: *the mean of sentence scores is the same as BLEU*; *a translator that says little makes no errors*; *a perfect
# translation scores 100*; *a small p means that another training run would agree*; *two systems may be resampled separately*.

# %%
cased, *_, averaged = scores.values()
print(f"mean of sentence scores {averaged:.1f}, BLEU {cased:.1f}")
cut = [" ".join(text.split()[:4]) for text in references]  # the first four words, all of them right
short = BLEU().corpus_score(cut, [references])
print(f"four words, {short.precisions[0]:.0f}% of them right: BLEU {short.score:.1f}")
three = BLEU(smooth_method="none").corpus_score(["two dogs play"], [["two dogs play"]])
print(f"a perfect sentence of three words, no 4-gram in it: BLEU {three.score:.1f}")
pair = [embedded["additive"], embedded["multihead"]]
seeds = [[record["test"]["greedy"]["bleu"] for record in records] for records in pair]
wins = [b > a for a in seeds[0] for b in seeds[1]]
print(
    f"multi-head over additive: {compare(*pair)[1]}, better in {sum(wins)} of {len(wins)} pairs of runs"
)
(_, low, high), _ = compare(*pair)
counts = [sum(record["counts"] for record in records) for records in pair]
apart = tables.width_apart(*counts)
print(f"width of its interval: paired {high - low:.1f}, resampled separately {apart:.1f}")

# %% [markdown]
# ## Summary
#
# 1. BLEU (1) is a function of ten sums; its signature says which words they count.
# 2. A paired bootstrap says whether another *test set* would agree, and several seeds say whether another *training
#    run* would.
# 3. Perplexities can be compared only for the same vocabulary, the same tokens counted, and teacher forcing on both
#    sides.
#
# **References.** [Papineni et al. (2002)](https://aclanthology.org/P02-1040/), BLEU;
# [Post (2018)](https://arxiv.org/abs/1804.08771), sacrebleu and its signature;
# [Popović (2015)](https://aclanthology.org/W15-3049/), chrF;
# [Koehn (2004)](https://aclanthology.org/W04-3250/), bootstrap for BLEU;
# [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473), translation quality by sentence length;
# [Vaswani et al. (2017)](https://arxiv.org/abs/1706.03762), the Transformer;
# [Clopper and Pearson (1934)](https://doi.org/10.1093/biomet/26.4.404), the bound on $p$.

# %% [markdown]
# ## Without notes
#
# 1. Why are the counts added up before the precisions are taken?
# 2. What does clipping prevent, and what does the first factor of (1), the brevity penalty, prevent?
# 3. Why is the interval wider if the two systems are resampled separately?
# 4. Why does the perplexity fall if the start mark is counted?
# 5. Which slots cannot prefer one German word, and what does this cost on long sentences?
#
# <details><summary>Answers</summary>
#
# 1. A sentence may have no 4-gram that matches; a mean of its scores would be another quantity. 2. Clipping: that a
# repeated word matches again and again. The penalty: that short output scores high. 3. The luck of hard and easy
# sentences, which both systems share, no longer cancels. 4. It adds a token without loss to the mean. 5. *None* and
# *mean*: their BLEU falls, because one vector must hold more and more words.
#
# </details>
#
# **Next:** the 100 points end here. [12](12_position.ipynb) to [16](16_gates_and_memory.ipynb) are for those who want more.
# `attn translate train --architecture transformer --preset large --tokens 10000000 --data DIR --out RUN` trains the
# best of these translators, in about an hour on one core.
