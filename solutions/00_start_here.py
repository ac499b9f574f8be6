# %% [markdown]
# # Start here
#
# > How a notebook of this course works: read, predict, answer, check.
#
# *25 min, needs nothing*
#
# After this notebook you can
#
# - **read** an attention map and a verdict on your answer, and ask for a hint,
# - **write** a derivation that the computer checks line by line,
# - **hand in** your work, and know which answers a person will read.

# %% [markdown]
# ## The imports
#
# From the course itself you mostly need four names: `check` judges an answer, `hint` gives one more hint at each call,
# `derive` checks a derivation line by line, and `plots` draws the figures. `attend` is attention, the function that the course
# is about.

# %%
import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots, progress, solution
from attn_course.translation.sentence_maps import recorded_map
from attn_utils import attend

# %% [markdown]
# ## What the course is about
#
# A translation model reads a German sentence and writes an English one, word by word. Before it writes a word, it *looks*
# at the German words, at some of them more than at others. The map below was recorded from the model that is bundled with
# this course. Each row belongs to one English word and shows how its attention was divided among the German words.
# *Predict* which rows have one dark cell, and which rows have several pale cells.

# %%
# my prediction: ...
found = recorded_map("hat")
print(found.sentence, "->", found.translation)
axes = {"xlabel": "German, read", "ylabel": "English, written", "numbers": False}
plots.attention_map(found.weights, found.english, found.german, title="who looks where", **axes)

# %% [markdown]
# An English word with a clear counterpart (*hat*) has one dark cell; the attention of the first word and of the full stop is
# spread over several cells. Nobody told the model which words belong together: it learnt this in training. In
# [09](09_seq2seq.ipynb) a model translates with attention that you wrote.
#
# *Attention* is a look-up that returns a blend instead of a single entry. A **query** is compared with several **keys**.
# Each comparison gives a **score**, the inner product of the two. The scores are turned into **weights**, positive numbers
# that sum to one; a larger score gets a larger weight. The output, called the **context**, is the average of the **values**
# under these weights.

# %% [markdown]
# Now an example with numbers that you can check by hand. Here are four keys in the plane, key 0 to key 3, whose values are
# the numbers 1 to 4. Every point of the plane is a possible query, and its colour shows the keys to which that query attends.
# *Predict* where the query must be so that key 3 gets almost all of the weight, and where all four keys get the same weight.
# Then drag the query there (if the page is interactive).

# %%
# my prediction: ...
keys = np.array([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0], [-1.0, 0.0]])  # (S, d)
values = np.array([[1.0], [2.0], [3.0], [4.0]])  # (S, dv)
plots.query_plane(keys, values, query=(3.0, 1.0), limit=4.0, title="whom a query attends to")

# %% [markdown]
# The direction of the query decides *which* keys it prefers, its length decides *how strongly*: colours are mixed near the
# middle and become purer further out. (Key 1 has near neighbours on both sides, so its colour stays mixed longest.) On a
# dashed border two keys have the same weight. At the origin every score is zero and all four keys have the same weight;
# there is no other such point. For key 3 the query must be far out on the left. You will meet this figure again in 01 to
# 04.
#
# Here is the same query in numbers, computed with `attend`:

# %%
query = np.array([[3.0, 1.0]])  # (T, d)
context, weights = attend(query, keys, values, scale=1.0)  # scale=1.0: scores as they are
print("scores ", (query @ keys.T)[0].round(2))
print("weights", weights[0].round(2))
print("context", context[0].round(2))

# %% [markdown]
# Keys 0 and 1 point roughly in the direction of the query: they score about 3 and share 93% of the weight. Key 3 points the
# other way and gets almost nothing. The context, 1.56, is therefore close to the middle of the values 1 and 2. It is a blend;
# no single value has been picked.
#
# Several queries give a table of weights, drawn like the map above: one row for each query, one column for each key.
# *Predict* the darkest cell of each row.

# %%
# my prediction, a key for each row: ...
queries = np.array([[3.0, 1.0], [-6.0, 0.0], [0.0, 0.0]])  # (T, d)
names = ["(3, 1)", "(-6, 0)", "(0, 0)"]
plots.attention_map(attend(queries, keys, values, scale=1.0)[1], names, title="three queries")

# %% [markdown]
# Each row sums to one; columns need not. The first row is the query from above, the second row attends to key 3, and the
# third row belongs to the zero vector, which gives every key the same weight.

# %% [markdown]
# ## Questions come in three kinds
#
# Every question has a card like the one below, with its kind, its points and the time it should take. You write your answer
# where the cell says *your answer here*. **Before** you run a cell, predict its result and write the prediction where a line
# says `# my prediction: ...`. Nobody marks it, but you learn most where your prediction was wrong.

# %% [markdown]
# ### 0.1
#
# **Given** a list of numbers. **Compute** their mean. **Form:** a function `mean(values)` that returns one number.
#
# Every correct function passes: `check` measures what a function *does*, not how it is written.


# %% answer="0.1"
def mean(values):
    """The mean of a non-empty list of numbers."""
    # BEGIN SOLUTION
    return sum(values) / len(values)
    # END SOLUTION


# %% check="0.1"
check("0.1", mean)

# %% [markdown]
# There are three verdicts: **correct**, **not yet** (it says what was measured), and **not attempted**. A wrong answer never
# stops the notebook. This is what two wrong answers look like:

# %%
check("0.1", lambda values: sum(values))

# %%
check("0.1", lambda values: 1 / 0)

# %% [markdown]
# If you are stuck, ask for a hint. Each time you run the cell again, it shows one more hint. No hint gives the answer away.
# Where a question has several parts, `hint("1.1 derive")` gives the hints of one part alone (`derive`, `code` or
# `written`).

# %%
hint("0.1")

# %% [markdown]
# Once an answer is correct, `solution` shows the reference beside your own answer, with the lines that differ marked.
# Before that, `solution` tells you how many hints are left, and how you can see the reference all the same.

# %% tags=["spoiler", "nbval-ignore-output"]
solution("0.1")

# %% [markdown]
# `progress` shows how far you are in every notebook, and which question is next. The last cell of each notebook calls it.

# %% tags=["nbval-ignore-output"]
progress()

# %% [markdown]
# ### 0.2
#
# **Given** $\frac{1}{1+x} + \frac{1}{1-x}$ for $0 < x < 1$. **Write** it as one fraction in which $x$ occurs once. **Form:**
# `derive(...)` with one `(expression, reason)` for each line, in SymPy, and as many lines as you like.
# The first line is given, and `where={x: (0, 1)}` says that $x$ lies between 0 and 1. Put formulas in a reason between dollar
# signs, as in `"divide by $1 + x$"`.
#
# Each line is compared with the line before it, and algebra must prove that the two are equal. The first line that does not
# follow is marked, together with a value of $x$ at which it differs from the line before.

# %% answer="0.2"
x = sp.Symbol("x", positive=True)
total = 1 / (1 + x) + 1 / (1 - x)

one_fraction = derive(
    (total, "what is given"),
    # BEGIN SOLUTION
    (((1 - x) + (1 + x)) / ((1 + x) * (1 - x)), "a common denominator"),
    (2 / (1 - x**2), "$x$ cancels above; below, $(1+x)(1-x) = 1 - x^2$"),
    # END SOLUTION
    where={x: (0, 1)},
)
one_fraction

# %% check="0.2"
check("0.2", one_fraction)

# %% [markdown]
# And this is what a false step looks like: the wrong line stands in a box. (SymPy may order the terms of a line differently
# from the way you typed them.) If a step is true but cannot be proved here, the verdict says so; write it as two smaller steps.

# %%
derive((total, "what is given"), (2 / (2 - x**2), "adding denominators"), where={x: (0, 1)})

# %% [markdown]
# ### How to write it in SymPy
#
# | on paper | in SymPy |
# |---|---|
# | $x^2$, $\sqrt x$, $e^x$, $\log x$ | `x**2` (in Python `^` is no power), `sp.sqrt(x)`, `sp.exp(x)`, `sp.log(x)` |
# | $\frac13$ | `sp.Rational(1, 3)`; Python would round `1 / 3` |
# | a whole number $n \ge 1$ | `n = sp.Symbol("n", integer=True, positive=True)` |
# | numbers $a_1, a_2, \dots$ | `a = sp.IndexedBase("a")`, then `a[k]` |
# | $\sum_{k=1}^n e^{a_k}$ | `sp.Sum(sp.exp(a[k]), (k, 1, n))` |
#
# The sign between two lines need not be an equals sign. For `>`, `>=`, `<` or `<=`, write `(">", expression, reason)`. The
# argument `where` says what a letter stands for: below, `where={T: powers}` says that $T$ is the sum of all $e^{a_k}$. You
# may use a letter of your own if `where` gives it a value.

# %%
k, n = sp.symbols("k n", integer=True, positive=True)
a, T = sp.IndexedBase("a"), sp.Symbol("T", positive=True)
powers = sp.Sum(sp.exp(a[k]), (k, 1, n))

derive(
    (sp.Sum(sp.exp(a[k]) + 1, (k, 1, n)), "what is given"),
    (powers + n, "two sums; the second one has $n$ terms, and each of them is 1"),
    (T + n, "$T$ is the first sum"),
    (">", n, "$T$ is above 0, because an exponential is"),
    where={T: powers},
)

# %% [markdown]
# Read the chain from top to bottom: the first line equals the second and the third, and the third is greater than the last. So
# the first line is greater than the last, and this is what the sentence below the chain says.

# %% [markdown]
# ### 0.3
#
# **Given** the four keys and the query $(3, 1)$ above. **Say** in two sentences which value the context would approach if
# the query grew longer and longer in the same direction, and why. **Form:** replace the line in the cell below.
#
# Written answers are read by a person, who has a reference answer and a list of the ideas that earn points. If you study
# alone, write your answer first; then `solution("0.3")` shows your answer beside the reference, and you can mark yourself.

# %% [markdown] written="0.3"
# It approaches 1, the value of key 0, which has the largest score (3, against 2.8 for key 1). Making the query longer
# multiplies every score by the same factor, so the difference between the largest score and the next one grows without
# bound, and the weight of key 0 tends to one.

# %% [markdown] rubric="0.3"
# **Rubric.** Names the value of key 0, the number 1 · says that all scores are multiplied by the same factor · says that the
# *difference* to the next score grows. Not needed: a formula. Common wrong reason: "because key 0 is closest in angle"
# (a longer key at a larger angle could win).

# %% [markdown]
# ## Handing in
#
# 1. Restart the kernel and run all cells. This shows whether an answer still depends on a cell that you have deleted.
# 2. Read your verdicts once more. A *not yet* costs only the points of that question, so hand in what you have.
# 3. Save, and hand in the `.ipynb` files of the notebooks you worked on, under their own names. You may add cells: your
#    answers are found by the hidden ids of their cells and by the names of your functions.
#
# The grader measures the same things as `check`, but draws other inputs. An answer that is right for every input passes both.

# %% [markdown]
# ## What is next
#
# [01, copying](01_copying.ipynb), asks when attention returns one value unchanged. Work through the notebooks in the order
# of their numbers: [02](02_average_of_two.ipynb), [03](03_one_noisy_head.ipynb), [04](04_two_heads.ipynb) and
# [05](05_keys_queries_values.ipynb) need no PyTorch. From [06](06_transformer_attention.ipynb) on you need PyTorch. In
# [09](09_seq2seq.ipynb) your attention translates German; a GPU makes it faster, but is not required.

# %% [markdown]
# **If you have 90 minutes** and want one result: after this notebook, go through 01 and answer only the code of 1.1, then 1.3,
# 1.4 and 1.7. Drag the query in each coloured plane on the way. You will then be able to write a query that copies any value you
# choose, and to say why it does.
