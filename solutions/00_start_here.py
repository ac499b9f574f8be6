# %% [markdown]
# # Start here
#
# > How a notebook of this course works: read, predict, answer, check.
#
# *10 min, needs nothing*
#
# After this notebook you can
#
# - **read** an attention map and a verdict on your answer, and ask for a hint,
# - **write** a derivation that the computer checks line by line,
# - **hand in** your work, and know what a person will read.

# %% [markdown]
# ## The imports
#
# From the course itself you need four names: `check` judges an answer, `hint` gives one hint more at each call, `derive`
# checks a chain of algebra, `plots` draws. `attend` is attention, the function that the course is about.

# %%
import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_course.translation.sentence_maps import recorded_map
from attn_utils import attend

# %% [markdown]
# ## What the course is about
#
# A translator reads a German sentence and writes an English one, word by word. Before each word it *looks* at the German
# words, at some more than at others. Below is one such translation, recorded from the model that comes with this course;
# each row says how the look of one English word was divided. *Predict* where the darkest cells lie: in which rows do you
# expect one dark cell, and in which several pale ones?

# %%
# my prediction: ...
found = recorded_map("hat")
print(found.sentence, "->", found.translation)
axes = {"xlabel": "German, read", "ylabel": "English, written", "numbers": False}
plots.attention_map(found.weights, found.english, found.german, title="who looks where", **axes)

# %% [markdown]
# Words with a counterpart, such as *hat*, have one dark cell; the look of the first word and of the full stop is spread
# over several. Nobody told the model which words belong together: training found it. You will build this. By
# [05](05_keys_queries_values.ipynb) you can say how such a row comes about, and in [09](09_translation.ipynb) your own
# attention translates.
#
# *Attention* looks things up softly. A **query** is compared with some **keys**; each comparison gives a **score**,
# the inner product of the two; the scores become **weights**, positive numbers that sum to one, the larger score the
# larger weight; the output, the **context**, is the average of the **values** under those weights.

# %% [markdown]
# Now with numbers you can check by hand. Here are four keys in the plane, key 0 to key 3, whose values are the numbers 1 to
# 4. Every place of the plane is a query; it is coloured by the keys that such a query attends to. *Predict* where a query
# must stand for key 3 to get almost all of the weight, and where for all four to get the same. Then drag the query there
# (where the page can run it).

# %%
# my prediction: ...
keys = np.array([[1.0, 0.0], [0.7, 0.7], [0.0, 1.0], [-1.0, 0.0]])  # (S, d)
values = np.array([[1.0], [2.0], [3.0], [4.0]])  # (S, dv)
plots.query_plane(keys, values, query=(3.0, 1.0), limit=4.0, title="whom a query attends to")

# %% [markdown]
# Turning the query changes *which* keys it prefers, stretching it changes *how much*: colours are pure far out and mixed
# near the middle. On a dashed border two keys tie. At the origin every score is zero and all keys weigh the same; this is
# the only place where these four do. For key 3 you have to go left. You will come back to this map in 01, 02, 03 and 04.
#
# The same query in numbers, with the function that the rest of the course is about:

# %%
query = np.array([[3.0, 1.0]])  # (T, d)
context, weights = attend(query, keys, values, scale=1.0)  # scale=1.0: scores as they are
print("scores ", (query @ keys.T)[0].round(2))
print("weights", weights[0].round(2))
print("context", context[0].round(2))

# %% [markdown]
# Keys 0 and 1 point roughly where the query points, score about 3 and share 93% of the weight; key 3 points the other
# way and gets next to none. The context, 1.56, is therefore close to the middle of the values 1 and 2. It is a blend:
# nothing has been picked yet.
#
# Several queries make a table, and it is drawn like the translation above: queries down, keys across. *Predict* the
# darkest cell of each row.

# %%
# my prediction, a key for each row: ...
queries = np.array([[3.0, 1.0], [-6.0, 0.0], [0.0, 0.0]])  # (T, d)
names = ["(3, 1)", "(-6, 0)", "(0, 0)"]
plots.attention_map(attend(queries, keys, values, scale=1.0)[1], names, title="three queries")

# %% [markdown]
# Each row sums to one, columns need not. The first row is the query from above, the second has found key 3, and the
# third, the zero vector, cannot tell the keys apart.

# %% [markdown]
# ## Questions come in three kinds
#
# Every question has a card like the one below: its kind, what it is worth, and how long it should take. You write
# where the cell says *your answer here*. **Before** you run anything, predict the result, and write it down where a line
# says `# my prediction: ...`: nobody marks it, but a surprise that was written down is a lesson.

# %% [markdown]
# ### 0.1
#
# **Given** a list of numbers. **Compute** their mean. **Form:** a function `mean(values)` that returns one number.
#
# Any right way of writing it passes: judges measure what a function *does*, never how it looks.


# %% answer="0.1"
def mean(values):
    """The mean of a non-empty list of numbers."""
    # BEGIN SOLUTION
    return sum(values) / len(values)
    # END SOLUTION


# %% check="0.1"
check("0.1", mean)

# %% [markdown]
# A verdict is one of three: **correct**, **not yet** (with what was measured), or **not attempted**. A wrong answer
# never stops the notebook. This is what a slip looks like:

# %%
check("0.1", lambda values: sum(values))

# %%
check("0.1", lambda values: 1 / 0)

# %% [markdown]
# Stuck? Ask for a hint. Run the cell again and you get the next one as well. No hint gives the answer away.

# %%
hint("0.1")

# %% [markdown]
# ### 0.2
#
# **Given** $\frac{1}{1+x} + \frac{1}{1-x}$ for $0 < x < 1$. **Find** it as one fraction with $x$ in one place. **Form:**
# `derive(...)` with one `(expression, reason)` per line, in SymPy, and at least one line between the first and the last. The
# first line is given; `where={x: (0, 1)}` says between which numbers $x$ lies, and `where={x: 2 * y}` would say what $x$ is.
# Formulas in a reason stand between dollars, as in `"divide by $1 + x$"`.
#
# Each line is compared with the line before it: algebra can prove it, numbers at a dozen points only refute it. The first
# line that does not follow is marked, with a point where the two sides differ.

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
# And this is what a false step looks like. The chain is shown as you wrote it, with the line to mend in a box.

# %%
derive((total, "what is given"), (2 / (2 - x**2), "adding denominators"), where={x: (0, 1)})

# %% [markdown]
# ### 0.3
#
# **Given** the four keys and the query $(3, 1)$ above. **Say** in two sentences which value the context would approach if
# the query grew ever longer in the same direction, and why. **Form:** replace the line in the cell below.
#
# Written answers are read by a person, who has a reference answer and a list of ideas with points.

# %% [markdown] written="0.3"
# It approaches 1, the value of key 0, which has the largest score (3, against 2.8 for key 1). Making the query longer
# multiplies every score by the same factor, so the difference between the largest and the next grows without end, and
# the weight of key 0 tends to one.

# %% [markdown] rubric="0.3"
# **Rubric.** Names the value of key 0, the number 1 · says that all scores are stretched together · says that the
# *difference* to the next score grows. Not needed: a formula. Common wrong reason: "because key 0 is closest in angle"
# (a longer key further away could win).

# %% [markdown]
# ## Handing in
#
# 1. Restart the kernel and run all cells: an answer that needs a deleted cell shows itself now.
# 2. Read your verdicts once more. A *not yet* costs nothing but its points; hand in what you have.
# 3. Save, and hand in the `.ipynb` files of the notebooks you worked on. Keep their names. Cells you add are welcome;
#    your answers are found by the hidden ids of their cells, and by the names of your functions.
#
# `check` in your notebook and the grader use the same judges, with inputs of their own. What passes here for the
# right reason passes there.

# %% [markdown]
# ## What is next
#
# [01, copying](01_copying.ipynb), asks when attention returns one value unchanged. After it the order is the number:
# [02](02_average_of_two.ipynb), [03](03_one_noisy_head.ipynb), [04](04_two_heads.ipynb) and
# [05](05_keys_queries_values.ipynb) with NumPy alone. From [06](06_transformer_attention.ipynb) on you need PyTorch; in
# [09](09_translation.ipynb) your attention translates German, and a GPU helps and is not required.
