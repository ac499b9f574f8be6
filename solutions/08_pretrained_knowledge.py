# %% [markdown]
# # Pretrained knowledge
#
# > Where does a language model's answer come from, and how would you know?
#
# *105 min, needs 06 and 07; a pause is marked in the middle*
#
# After this notebook you can
#
# - **implement** the training examples of pretraining and of fine-tuning,
# - **measure** what a model knows, with an interval and beside a baseline,
# - **tell** what it recalls from what it invents, and **predict** when it forgets.

# %%
from collections import Counter

import numpy as np
import torch

from attn_course import check, hint, knowledge, plots
from attn_course.knowledge import CITIES, GROUPS, MASK, PAD, findings, tables

torch.set_num_threads(1)  # one thread adds in one order: the same numbers at every run

# %% [markdown]
# ## The question
#
# A model is *pretrained* on plain text, then *fine-tuned* on a few questions with answers. Asked about a person who
# is in none of these questions, it is often right. Did it know, or did it guess?
#
# For real text nobody can say which fact was in which document. So here is an invented world of 150 people and ten
# cities, in which everything is known:
#
# | group | in the pretraining text | in the fine-tuning questions |
# |---|---|---|
# | `told` | yes | yes |
# | `held` | yes | no |
# | `strangers` | no | no |
#
# *Predict* the share of right answers in each group. The section *Three ways to answer* measures it.

# %%
# my predictions, told, held, strangers: ...
world = knowledge.World(seed=0)
for group in GROUPS:
    person = world.group(group)[0]
    print(f"{group:10} {person.name}, born in {person.city}; documents: {len(person.biographies)}")
print("", *world.group("held")[0].biographies, world.group("told")[0].question, sep="\n  ")

# %% [markdown]
# A person who is named in the text has four short biographies. First and family names are shared between people, so
# each *word* of a stranger's name is familiar and only the person is new. One city is more common than the others.
# Always naming this city is the **majority** baseline: nobody can do better without looking at the name.

# %% [markdown]
# ### 8.1
#
# **Given** a document, a numpy Generator `rng` and a `block_size` ≥ 16. **Make** a training string. *Cut:* draw $n$
# uniformly from 4 to ⌊7/8 `block_size`⌋, both included, whatever the length of the document; keep its first $n$
# characters (all, if it has fewer). *Span:* take out a run of characters, at least one and on average a quarter of
# what was kept; its length is random, and all places where it fits are equally likely. *Join:* prefix, MASK,
# suffix, MASK, span, then PAD up to `block_size` characters. **Form:** `corrupt_span(document, rng, block_size)` →
# string.
#
# *Predict:* if only three characters are kept, how long is your span?


# %% answer="8.1"
# my prediction, the span of three characters: ...
def corrupt_span(document, rng, block_size):
    """A string of `block_size` characters: prefix MASK suffix MASK span PAD ... PAD."""
    # 1. cut the document, 2. draw the span's length and start, 3. join the pieces and pad
    # BEGIN SOLUTION
    longest = 7 * block_size // 8
    kept = document[: rng.integers(4, longest + 1)]
    n = len(kept)
    m = min(n, max(1, round(rng.normal(n / 4, n / 8))))
    start = rng.integers(n - m, endpoint=True)
    pieces = (kept[:start], MASK, kept[start + m :], MASK, kept[start : start + m])
    return "".join(pieces).ljust(block_size, PAD)
    # END SOLUTION


# %% check="8.1"
check("8.1", corrupt_span)

# %% [markdown]
# The span has at least one character, even if only three were kept. (A quarter of three, rounded down, is 0, but the
# check refuses an empty span.) This way of training is called *span corruption*.
#
# Learning from letters is slow, because a model has to learn to spell first. So in the default preset each *word*
# is written as one character of its own, and the same function works on words. Below are four draws from one
# biography, made by your function if it passed; ▒ is MASK and · is PAD. If the span is the city, the model has to
# find the city from the name, as it must when it answers a question.


# %%
options = {"corrupt": corrupt_span} if check("8.1", corrupt_span) else {}
lab = knowledge.Lab(seed=0, **options)
spelt, rng = lab.documents[1], np.random.default_rng(13)
for _ in range(4):
    print(lab.alphabet.read(lab.corrupt(spelt, rng, 16)))

# %% [markdown]
# ### 8.2
#
# **Given** a question and its answer. **Make** two strings of `block_size` − 1 characters. The model reads $x$:
# question, MASK, answer, MASK, PAD. At each place it predicts the next character of $x$. Only some of these predictions
# are trained: the characters of the answer and the MASK after it. $y$ has these characters, each one place earlier than
# $x$, and PAD everywhere else, which means *no loss here*. (The MASK before the answer may be trained or not.)
#
# **Given** a model's answers and the true ones. **Compute** the share of answers that equal the truth, and a 95%
# interval within $[0, 1]$ that is valid even if nearly all or nearly none are right. **Form:** the functions below;
# NumPy is enough.
#
# *Predict* the interval for 20 right of 20.


# %% answer="8.2"
# my prediction, the interval for 20 of 20: ...
def finetuning_pair(question, answer, block_size):
    """What is read and what is predicted, (x, y): two strings of block_size - 1 characters."""
    # BEGIN SOLUTION
    whole = (question + MASK + answer + MASK).ljust(block_size, PAD)
    y = PAD * len(question) + whole[len(question) + 1 :]
    return whole[:-1], y
    # END SOLUTION


def score(answers, truths):
    """The share of right answers, and a 95% interval for it: (share, low, high)."""
    # BEGIN SOLUTION
    n, z = len(truths), 1.96
    share = sum(a == b for a, b in zip(answers, truths, strict=True)) / n
    centre, spread = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + (z / n / 2) ** 2)
    return share, (centre - spread) / (1 + z**2 / n), (centre + spread) / (1 + z**2 / n)
    # END SOLUTION


# %% check="8.2"
check("8.2", finetuning_pair, score)

# %% [markdown]
# ## Three ways to answer
#
# *Majority* always names the most common city. *No pretraining* is trained only on the 50 questions about `told`
# people, until it answers all of them correctly. *Pretrained* first reads the corrupted biographies of `told` and
# `held` people, for 900 steps, and then sees the same questions for 20 steps at a low learning rate. Both models
# have two layers of the `CausalSelfAttention` of [06](06_transformer_attention.ipynb).
#
# The next cell trains both models, in less than a minute on one core, with your functions if they passed. Look at
# your predictions once more: would you change them?

# %% tags=["nbval-ignore-output"]
own_score = findings.score
if check("8.2", finetuning_pair, score):
    lab.pair, own_score = finetuning_pair, score
no_pretraining = lab.from_scratch()
pretrained = lab.model()
losses = lab.pretrain(pretrained)
tuned = lab.finetune(pretrained)
plots.curves(np.arange(len(losses)), {"this run": losses}, xlabel="step", ylabel="pretraining loss")

# %% tags=["nbval-ignore-output"]
models = {"no pretraining": no_pretraining, "pretrained": tuned}
print(tables.of_models(lab, models, own_score))
print("20 right of 20: {:.0%}   ({:.0%} to {:.0%})".format(*own_score(["yes"] * 20, ["yes"] * 20)))

# %% [markdown]
# ## The same, three times, recorded
#
# One run proves little. The file below holds three seeds, each with a world of its own, with all settings and all
# answers; the command stored in it makes the file again. In a second file the synthesizer of 07 takes the place of
# the attention, and nothing else changes. In the figure each group has 3 · 50 people; *guess by frequency* names a
# city at random, and the probability of each city is its share of the people.

# %%
recorded = findings.recorded("knowledge")
runs = recorded["runs"]
print(recorded["command"])
print(recorded["machine"], "| CPU seconds:", [run["cpu_seconds"] for run in runs])
print(tables.of_seeds(runs))

# %%
other = findings.recorded("knowledge_synthesizer")["runs"]
sources = {name: (runs, name) for name in ("no pretraining", "pretrained")}
sources["synthesizer"] = other, "pretrained"
rows = {}
for label, (found, model) in sources.items():
    for group in ("strangers", "held"):
        rows[f"{label}, {group}"] = findings.score_of(findings.pooled(found, model, group))
born = Counter(person.city for person in world.group("told"))
shares = np.array([born[city] for city in CITIES]) / 50
marks = {"majority": shares.max(), "guess by frequency": (shares**2).sum()}
ax = plots.intervals(rows, xlabel="share of right answers", title="three seeds", marks=marks)
ax.limits(x=(0, 1))
for label, row in rows.items():
    print(f"{label:26} %.3f (%.3f to %.3f)" % row)

# %% [markdown]
# With pretraining the share of right answers for `held` people rises from 9% to 97%. For strangers it goes from 11%
# to 15%, which may be chance. Only *pretrained, held* and *synthesizer, held* are clearly above the majority's 14%;
# the intervals of all other rows contain 14%. The model without pretraining is not too small: it is right about every
# `told` person. Three seeds show no difference between the two kinds of attention: in these texts a name stands at
# one of a few positions, so weights that choose positions without knowing what is there may be enough to find it.

# %% [markdown]
# **A good place for a pause.** You have measured *that* the model knows. The second half asks how one would notice
# that it does not know, and how it forgets.
#
# ### 8.3
#
# **Given** the table and the figure. **Explain** in three or four sentences why the pretrained model is right about
# `held` people and the other is not, although both saw the same questions; what fine-tuning taught the pretrained
# model; and which rows show that "it read more text" is not the explanation. **Form:** words, with numbers from
# above.

# %% [markdown] written="8.3"
# The birth places of `held` people stand in the pretraining text and nowhere else. Filling gaps in the biographies made
# the model store, for each name, the place that goes with it; the 50 fine-tuning questions are about other people, and
# taught it only the form of the question and that the answer is a city. The model without pretraining has never met the
# facts, so for an unknown name it cannot beat the best guess from frequencies and name cues, and it does not. "More text"
# is not the reason: for `strangers` the *same* pretrained model, having read just as much, is no better than
# the baseline. What counts is whether this fact was in the text.

# %% [markdown] rubric="8.3"
# **Rubric.** 1 the facts about the people asked for are in the pretraining text, not in the fine-tuning pairs · ½
# fine-tuning teaches format and access, not the facts · ½ strangers, or `held` without pretraining, as the control.
# "It understands language better" or "it saw more data" alone: ½ at most; size is secondary, the same model fails on
# strangers. Wrong: the names were in the fine-tuning set; it was trained longer.

# %% [markdown]
# ## Recall or invention?
#
# Here are eight answers from the recorded run with seed 0, in random order: four right ones about `held` people and
# four wrong ones about `strangers`, with the probability that the model gave to each. *Predict:* which four are the
# right ones? The cell after the list prints the solution.
#
# The figure of that cell shows all answers. The first panel shows the probabilities of *right recalls* and of
# *inventions*, the second the share of correct answers at each level of probability. A model is *calibrated* if, of
# all answers that it gives with probability 0.8, eight in ten are right, and so on at every level.

# %%
# my prediction, the four recalls: ...
recalled = [r for r in runs[0]["pretrained"]["held"] if r.right]
invented = [r for r in runs[0]["pretrained"]["strangers"] if not r.right and r.answer]
eight = recalled[:4] + invented[:4]
order = np.random.default_rng(5).permutation(8)
for number, place in enumerate(order, 1):
    print(f"{number}. born in {eight[place].answer:10} probability {eight[place].confidence:.2f}")

# %%
held, strangers = (findings.pooled(runs, "pretrained", group) for group in ("held", "strangers"))
samples = {"right recalls": [r.confidence for r in held if r.right]}
samples["inventions"] = [r.confidence for r in strangers if not r.right]
left, right = plots.panels(2, width=9)
plots.histogram(samples, xlabel="probability of the answer", bins=20, limits=(0, 1), ax=left)
levels, shares_held = tables.calibration(held)
_, shares_strangers = tables.calibration(strangers)
series = {"held": shares_held, "strangers": shares_strangers, "-calibrated": levels}
plots.curves(levels, series, xlabel="probability of the answer", ylabel="share right", ax=right)
right.limits(x=(0, 1), y=(0, 1.05))
print("recalled:", *(number for number, place in enumerate(order, 1) if place < 4))
surer = np.greater.outer(*samples.values()).mean()
print(
    f"of a recall and an invention, the recall has the higher probability in {surer:.0%} of pairs"
)

# %% [markdown]
# Nothing in the words distinguishes recalls from inventions. The probability, which a reader does not see, would help
# little: an invention is more probable than a recall in about a quarter of pairs. About `held` people the
# probabilities are, if anything, too low. About strangers they mean next to nothing: a model that is calibrated for
# one kind of people need not be so for another.
#
# ### 8.4
#
# **Given** that nothing in an answer shows whether it was recalled or invented. **Give** two *different* reasons
# why this is a concern where people use such a system, each with an example of who is harmed and how. **Form:** two
# short paragraphs.

# %% [markdown] written="8.4"
# *Readers do not know what to trust.* Both kinds of answer are equally fluent, so a reader believes all or none; someone
# who acts on an invented dosage or a false account of a person's past is harmed without any warning.
#
# *Errors cannot be found from inside.* Without an outside source neither the maker nor a monitor can tell which answers
# are wrong, so the system cannot abstain, warn or be audited; the false statements are copied into other texts, and the
# next model is trained on them.

# %% [markdown] rubric="8.4"
# **Rubric.** 1 one concern, with who is harmed and how · 1 a second, *distinct* one. Such are: users cannot calibrate
# trust, and act on falsehoods; errors undetectable without outside verification, so no abstention or monitoring; harm or
# liability in high-stakes use (defamation, medicine, law); false content spreads and contaminates data; bias reproduced
# as if it were fact. Two wordings of one concern: 1. "Accuracy is low" alone: 0, that is not the indeterminacy.

# %% [markdown]
# ## First failure: a name it never saw
#
# The model answers for strangers as well. The figure compares the cities that it names with how common they are;
# answers that are no city are printed last.
#
# Each printed line then tests a suspicion: does the model name the birthplace of somebody in its text who has the
# same first or family name? ("By chance" is the share we get if the same answers are dealt out to the strangers at
# random.) Last, we ask about `held` people with their two names *swapped*. In this world Zerrith Jari is not Jari
# Zerrith, and the text contains only one of them. *Predict:* does the model notice?


# %%
# my prediction: ...
named = Counter(r.answer for r in strangers)
both = {"people told": shares, "answers for strangers": [named[city] / 150 for city in CITIES]}
ax = plots.panels(1, width=9)[0]
plots.bars(both, CITIES, ylabel="share", xlabel="city", top=0.22, ax=ax)
for run in runs:
    share, chance = tables.namesakes(run)
    swapped, _, _ = findings.score_of(run["swapped"])
    print(f"seed {run['seed']}: a namesake's city {share:.0%}, by chance {chance:.0%}", end="")
    print(f"; with swapped names {swapped:.0%} still get the city of the unswapped name")
print("answers that are no city:", *tables.no_cities(runs), sep="\n  ")

# %% [markdown]
# Seven answers are empty, and one is a piece of a biography. Both would be right in pretraining: there the *suffix*
# stands between the two MASKs, where a question has its answer. It is empty if the span was at the end of the
# document, and otherwise a piece of a biography. For these eight names the habit from pretraining is stronger than
# what fine-tuning taught.
#
# ### 8.5
#
# **Given** the figure and the printed lines. **Explain** what the model does for a stranger, with the numbers that
# show it, and give one reason why that is a concern if the system is used on real people. **Form:** four or five
# sentences.

# %% [markdown] written="8.5"
# It puts an answer together from parts of the name: 80% to 94% of its answers are the birth place of somebody in its
# text with the same first or family name, against 32% to 42% by chance. It does not fall back on the most common city,
# which it names less often than most others. Swapped names say the same: the words decide, not the person, and 90% to
# 94% get the facts of somebody else. The concern: names go with family, origin and religion, so people unknown to the
# system would be told what is typical of those called like them; a stereotype, wrong in most cases (15% right here), and
# stated as firmly as a fact.

# %% [markdown] rubric="8.5"
# **Rubric.** 1 the strategy: what goes with parts of the name in its text (or frequent places, argued from the figure),
# with a number; ½ for "it guesses" alone · ½ the concern: systematically wrong, stereotyping answers by names, hence
# by guessed origin, given with full confidence. Wrong: "it looks the person up", "it asks a database below a
# threshold", "it refuses": a designer may add that, this model has no such step.

# %% [markdown]
# ## Second failure: forgetting
#
# What if fine-tuning goes on after every `told` person is answered correctly? We take ten times the usual number of
# steps, in three ways: at the usual rate (*gentle*), at six times that rate (*harsh*), and at that high rate with
# 64 biographies mixed into each batch (*rehearsal*). The curves are recorded means of the same three seeds. At step
# 0 the model is pretrained but has never been asked a question. *Predict* where the curves start, and which of them
# fall later.

# %%
# my predictions: ...
axis = {"xlabel": "steps of fine-tuning", "ylabel": "share right", "marks": {"usual end": 20}}
for ax, group in zip(plots.panels(2, width=9), ("told", "held"), strict=True):
    found = {way: [run["forgetting"][way] for run in runs] for way in findings.WAYS}
    steps = found["gentle"][0]["steps"]
    series = {way: np.mean([run[group] for run in ways], axis=0) for way, ways in found.items()}
    plots.curves(steps, series, **axis, nested=True, title=group, ax=ax)
for way in findings.WAYS:
    shares = [run["forgetting"][way]["held"] for run in runs]
    print(f"{way:22} held: best {[max(share) for share in shares]}", end=", ")
    print(f"after 200 steps {[share[-1] for share in shares]}")

# %% [markdown]
# At step 0 no answer is right: the facts are stored, but the model has not learnt what a question is. Later it stays
# right about every `told` person (left), so nothing seems wrong. On the right, the gentle way loses a few of the
# other people, and the harsh one about three in ten. Rehearsal prevents this at the same rate, because each batch
# also trains on what was stored. The other remedy is a small rate and an early stop.
#
# At step 20 the gentle model is not yet the model of the table above. In every run the learning rate falls slowly to a
# tenth; these runs are ten times as long, so at step 20 their rate has hardly fallen. For seed 2 the gentle curve never
# reaches the 92% of the table.


# %% [markdown]
# ## The full preset
#
# With letters in place of words and the classic sizes (4 layers, 8 heads, width 256, blocks of 128, 2,000 people)
# the same experiment needs a GPU. One line starts it, and the same line resumes it after an interruption:
#
# `python -m attn_course.runs knowledge_gpu --folder runs --out full.json`
#
# Nobody has run it to its end yet. The recorded run below has the model of this preset, but a world of 80 people
# and a quarter of the batch, and it took only the printed number of steps, on one core.

# %%
full = findings.recorded("knowledge_full")
(run,) = full["runs"]
done, whole = full["preset"]["pretrain_steps"], knowledge.PRESETS["full"].pretrain_steps
print(full["command"])
print(f"{done:,} of {whole:,} steps, {run['cpu_seconds'] / 60:.0f} CPU minutes")
for group in GROUPS:
    shares = [findings.score_of(run[name][group])[0] for name in ("no pretraining", "pretrained")]
    print(f"{group:10} right without pretraining {shares[0]:4.0%}, pretrained {shares[1]:4.0%}")

# %% [markdown]
# With letters the result is the same: 75% of the answers for `held` people are right, 15% without pretraining, and
# for strangers pretraining does little. With 20 people in a group the intervals are wide.
#
# ## Common mistakes
#
# Four claims are common: *it is right because it read more text*; *the people asked about were in the fine-tuning
# questions*; *it says nothing when it does not know*; *where it is unsure, it could look the person up*. Each line
# below prints a number that speaks against one of them.

# %%
told, asked = ({person.name for person in world.group(group)} for group in ("told", "held"))
kept, passed = ([r.right for r in found if r.confidence > 0.9] for found in (held, strangers))
print(f"right about strangers: {sum(r.right for r in strangers)} of {len(strangers)}")
print(f"held people named in a fine-tuning question: {len(asked & told)}")
print(f"strangers answered with a city: {sum(r.answer in CITIES for r in strangers)} of 150")
print(f"above 0.9: {sum(kept)} of {len(held)} held people right, {passed.count(0)} strangers wrong")

# %% [markdown]
# ## Summary
#
# 1. Pretraining fills gaps, fine-tuning answers questions: one model and one loss, but two kinds of string.
# 2. A share means little without an interval and a baseline. For people in none of the fine-tuning questions, the
#    share is above the baseline in one case only: `held` people after pretraining.
# 3. Fine-tuning too long or too fast loses what was stored; rehearsal keeps it.
#
# **References.** [Raffel et al. (2020)](https://arxiv.org/abs/1910.10683), span corruption; [Petroni et al.
# (2019)](https://arxiv.org/abs/1909.01066), language models as knowledge bases; [Allen-Zhu and Li
# (2024)](https://arxiv.org/abs/2309.14316), where facts are stored; [McCloskey and Cohen
# (1989)](https://doi.org/10.1016/S0079-7421(08)60536-8), catastrophic interference; [Wilson
# (1927)](https://doi.org/10.1080/01621459.1927.10502953), the interval; [Tay et al.
# (2021)](https://arxiv.org/abs/2005.00743), the synthesizer.

# %% [markdown]
# ## Without notes
#
# 1. Why is the majority baseline, and not one in ten, the number to beat?
# 2. Which of the three groups shows whether the model has learnt a fact in pretraining?
# 3. What does PAD mean in $x$, and what in $y$?
# 4. What would change if the span could never touch the end of a document?
# 5. Name two ways of fine-tuning that keep what pretraining stored.
#
# <details><summary>Short answers</summary>
#
# 1. Cities are not equally common: who always names the most common one is right more often than one time in ten.
# 2. `held`: their facts are in the pretraining text and in no fine-tuning question.
# 3. In $x$ it fills the block after the text; in $y$ it marks the places without a loss.
# 4. The last characters would never be asked for; a city that ends a document would not be learnt.
# 5. A small rate with an early stop, and rehearsal.
#
# </details>
#
# **Next:** [09, a translator, built](09_seq2seq.ipynb), puts attention between two languages.
