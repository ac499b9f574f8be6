# %% [markdown]
# <!-- Made by "attn build" from solutions/05_keys_queries_values.py. Instructors edit that file. -->
# # Keys, queries, values
#
# > Three matrices decide which tokens a token attends to, and what it receives from them.
#
# *92 min, 5 questions, 9 points, needs 04; a pause is marked in the middle*
#
# After this notebook you can
#
# - **predict** what self-attention returns when each token is its own key, query and value, and what it can never return,
# - **design** three projections that move chosen contents from one token to another,
# - **derive** the exact error of such a design.

# %%
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )
from attn_course import progress, solution

# %%
import numpy as np
import sympy as sp

from attn_course import check, derive, hint, plots
from attn_course.translation.sentence_maps import recorded_map
from attn_utils import attend, softmax

rng = np.random.default_rng(5)

# %% [markdown]
# ## Notation
#
# <!-- notation -->
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $x_i$, $x$ | token $i$, and all tokens | rows of $(n, d)$ | `tokens`, `x` |
# | $K$, $Q$, $V$ | the projections: $k_i = Kx_i$, $q_i = Qx_i$, $v_i = Vx_i$ | $(d, d)$ | `K`, `Q`, `V` |
# | $u_a$, $u_b$, $u_c$, $u_d$ | orthogonal vectors, all of length $\rho$ | $(d,)$ | `u_a`, ..., `u_d` |
# | $\rho$ | the length of the $u$'s | number | `rho` |
#
# <details><summary>Known from earlier notebooks</summary>
#
# | symbol | meaning | shape | in code |
# |---|---|---|---|
# | $q$, $q_i$ | a query: what is looked for | $(d,)$ | `query` |
# | $k_i$ | the key of item $i$: what the query is compared with | rows of $(n, d)$ | `keys` |
# | $v_i$ | the value of item $i$: what it returns | rows of $(n, d_v)$ | `values` |
# | $n$ | the number of items, each with a key and a value | number | `n` |
# | $d$, $d_v$ | the width of queries and keys, and of values | numbers | `d` |
# | $\alpha_i$ | the weight of item $i$, or of several items together | $(n,)$ | `weights` |
# | $c$, $c_i$ | the context: the output of attention | $(d_v,)$ | `context` |
#
# </details>
#
# Every token now has its own query $q_i$ and its own context $c_i$; $\alpha_{ij}$ is the weight that query $i$ gives to token
# $j$. The *outer product* $xy^\top$, in code `np.outer(x, y)`, is the matrix with $(xy^\top)z = x\,(y^\top z)$.

# %% [markdown]
# ## The definition
#
# Up to [04](04_two_heads.ipynb) the keys and values were given, and we chose the query. In **self-attention** the keys, queries
# and values are all computed from the same vectors, the *tokens*, by three matrices:
#
# $$k_i = Kx_i,\quad q_i = Qx_i,\quad v_i = Vx_i,\qquad c_i = \sum_j \alpha_{ij} v_j,\quad
# \alpha_{ij} = \frac{e^{k_j^\top q_i}}{\sum_l e^{k_l^\top q_i}} . \tag{1}$$
#
# Below, four tokens of equal length in the plane attend to each other, first without projections, then with a $Q$ that turns
# every query by 90°. *Predict* to which token the one at 30° attends most in each case.


# %%
# my prediction, without and with the turn: ...
def self_attention(tokens, K, Q, V):
    """Equation (1). tokens: (n, d), matrices (d, d) -> context (n, d), weights (n, n)."""
    keys, queries, values = (tokens @ np.transpose(M) for M in (K, Q, V))  # row x @ M.T is Mx
    return attend(queries, keys, values, scale=1.0)


angles = np.radians([0, 30, 120, 210])
plane = 2 * np.c_[np.cos(angles), np.sin(angles)]  # (4, 2)
same, turn = np.eye(2), np.array([[0.0, -1.0], [1.0, 0.0]])
names, titled = ["0°", "30°", "120°", "210°"], {"no projections": same, "Q turns by 90°": turn}
for ax, (title, Q) in zip(plots.panels(2), titled.items(), strict=True):
    plots.attention_map(self_attention(plane, same, Q, same)[1], names, names, title=title, ax=ax)

# %% [markdown]
# Without projections a token attends to itself and its neighbours, because its score is highest with tokens that resemble it.
# With the turned query the token at 30° attends to the one at 120°, although the two are orthogonal. The values have not
# changed: $Q$ decides which tokens are attended to, not what they return.
#
# ## Three tokens
#
# For the rest of this notebook $u_a, u_b, u_c, u_d$ are orthogonal vectors, all of the same large length $\rho$, and
#
# $$x_1 = u_d + u_b, \qquad x_2 = u_a, \qquad x_3 = u_c + u_b . \tag{2}$$
#
# Think of $u_a, u_c, u_d$ as *names* of tokens, and of $u_b$ as a piece of information that tokens 1 and 3 both carry.


# %%
def three_tokens(u_a, u_b, u_c, u_d, added=None):
    """The tokens of (2), (3, d), with u_d or u_c added to the second if `added` says so."""
    extra = {None: 0, "d": u_d, "c": u_c}[added]
    return np.array([u_d + u_b, u_a + extra, u_c + u_b])


# %% [markdown]
# ### 5.1 Three tokens, no projections
#
# *code · 2 points · 10 min*
#
# **Given** the tokens (2), used as their own keys, queries and values. **Find** the combination of the $u$'s that the output
# $c_2$ approaches as $\rho$ grows: for the tokens as they are (`added=None`), after $u_d$ is added to $x_2$ (`added="d"`), and
# after $u_c$ is added to $x_2$ (`added="c"`). **Form:** `limit_of_c2(u_a, u_b, u_c, u_d, added)`, returning $d$ numbers;
# both the limit and the exact output for the given $u$'s are accepted.
#
# *Predict:* adding $u_d$ makes token 2 resemble token 1, which carries $u_b$. Does $c_2$ then contain more of $u_b$?


# %% answer="5.1"
# my prediction: ...
def limit_of_c2(u_a, u_b, u_c, u_d, added):
    """What c_2 tends to when the u's are long; added: None, "d" or "c"."""
    raise NotImplementedError("your answer here")


# %% check="5.1"
check("5.1", limit_of_c2)

# %% tags=["spoiler"]
if check("5.1", limit_of_c2):
    for added in (None, "d", "c"):
        tokens = three_tokens(*(3 * np.eye(4)), added)
        shares = self_attention(tokens, *[np.eye(4)] * 3)[0][1] / 3
        print(f"added {added!s:4}  share of u_b in c_2 at ρ = 3: {shares[1]:.6f}")

# %% [markdown]
# Once your answer is right, the printed shares show whether $c_2$ contains more of $u_b$. Did you predict this?
#
# ### 5.2 Why not u_b
#
# *written · 2 points · 9 min*
#
# **Given** 5.1. **Decide** whether $c_2$ can approach $u_b$ if $u_d$ or $u_c$ is added to $x_2$, and say why or why not. There
# are two independent reasons, one about *which token* token 2 attends to, and one about *which outputs are possible at all*;
# give both. **Form:** four to six sentences, with inner products where they help. Answer before you run the cell below.

# %% [markdown] written="5.2"
# *Your answer to 5.2: replace this line.*

# %%
mixtures = rng.dirichlet(np.ones(3), 4000)  # every way to weigh three tokens
tokens, u_b = three_tokens(*np.eye(4)), np.eye(4)[1]
across, along = tokens[2] - tokens[0], tokens[[0, 2]].mean(0) - tokens[1]
off = u_b - tokens[1] - (u_b - tokens[1]) @ along / (along @ along) * along
view = np.array([axis / np.linalg.norm(axis) for axis in (across, along, off)]).T  # (4, 3)
label = ("across", "from x₂ to the others", "off the triangle")
clouds = {"mixtures": (mixtures @ tokens, 5, 8), "x₁, x₂, x₃": (tokens, 0, 50)}
clouds["u_b"] = (u_b[None], 1, 80)
sides = {"from the front": (0, 1), "from the edge": (1, 2)}
for ax, (title, (i, j)) in zip(plots.panels(2, height=3.9), sides.items(), strict=True):
    for name, (points, colour, size) in clouds.items():
        places = (points - tokens[1]) @ view[:, [i, j]]
        style = {"xlabel": label[i], "ylabel": label[j], "title": title, "label": name}
        plots.scatter(places, colour=colour, size=size, ax=ax, **style)
    ax.limits(y=(-0.15, 1.75)).equal()
for added in (None, "d"):
    gaps = np.linalg.norm(mixtures @ three_tokens(*np.eye(4), added) - u_b, axis=1)
    print(f"added {added!s:4}  the nearest of 4,000 mixtures is {gaps.min():.2f} ρ away from u_b")

# %% [markdown]
# The mixtures of the three tokens fill a triangle: whatever the weights are, the output lies on it. Seen from the front,
# $u_b$ seems to lie on it as well; seen from the edge, it does not. Does adding $u_d$ to $x_2$ bring the triangle nearer to
# $u_b$? The two printed distances show it.
#
# **A good place for a pause.** You have seen what attention without matrices cannot do. In the second half three matrices
# decide what each token attends to and what it passes on.

# %% [markdown]
# ### 5.3 Three matrices
#
# *code · 3 points · 17 min*
#
# **Given** the same tokens (2), and now all three matrices of equation (1). **Design** them so that $c_2 \to u_b$ and
# $c_1 \to u_b - u_c$ as $\rho$ grows. **Form:** `projections(u_a, u_b, u_c, u_d)`, returning `(K, Q, V)`, each $(d, d)$,
# where $d \ge 4$ and the $u$'s point in any four orthogonal directions.
#
# The check measures only $c_1$ and $c_2$, at $\rho = 10$ and $20$. Each may miss its limit by 1% of $\rho$. First find a
# $V$ that makes two of the values equal to the wanted outputs; then decide which token should attend to which.
#
# *Predict:* at which $\rho$ does token 2 give nine tenths of its weight to one token? The slider shows the answer.


# %% answer="5.3"
# my prediction, from ρ = ...
def projections(u_a, u_b, u_c, u_d):
    """K, Q, V, each (d, d), that bring u_b to token 2 and u_b - u_c to token 1."""
    # 1. V: what each token passes on
    # 2. K and Q: to which token each token attends
    raise NotImplementedError("your answer here")


# %% check="5.3"
check("5.3", projections)


# %% tags=["spoiler"]
def draw(rho):
    """The three matrices at this length of the u's, and the weights they give."""
    u, names = rho * np.eye(4), ["u_a", "u_b", "u_c", "u_d"]
    triple = [np.asarray(matrix, float) for matrix in projections(*u)]
    *panes, last = plots.panels(4, height=2.7, width=11.5)
    scale = {"top": max(np.abs(triple).max(), 1e-9), "signed": True, "colour_bar": False}
    for ax, values, title in zip(panes, triple, "KQV", strict=True):
        plots.matrix(values, rows=names, columns=names, title=title, **scale, ax=ax)
    weights, tokens = self_attention(three_tokens(*u), *triple)[1], ["x₁", "x₂", "x₃"]
    plots.attention_map(weights, tokens, tokens, title=f"ρ = {rho:g}", colour_bar=False, ax=last)


if check("5.3", projections):
    plots.explore(draw, rho=(0.2, 3.0, 2.0, 0.1))

# %% [markdown]
# In the three matrices columns stand for what goes in and rows for what comes out; purple entries are positive, orange ones
# negative. The map on the right shows the weights of your own design. Move $\rho$ to where the largest number in its second
# row is 0.90. If your scores are inner products of the $u$'s, they differ by $\rho^2$: at $\rho = 1$ this lead is only one,
# and the weights are spread out.

# %% [markdown]
# ### 5.4 How exact
#
# *derive · 1 point · 10 min*
#
# **Given** a design for 5.3 in which one token has the value $u_b$, another the value $u_b - u_c$ and the last the value
# zero, and in which queries 1 and 2 score $\rho^2$ on the token that they should attend to and 0 on the two others. Then
# the large weight is `near` $= e^{\rho^2}/(e^{\rho^2} + 2)$, and the other two are `far` $= 1/(e^{\rho^2} + 2)$. **Find**
# the distance of $c_2$ from $u_b$ and that of $c_1$ from $u_b - u_c$ in closed form. **Form:** two derivations, `error_2`
# and `error_1`, each from the given distance to a form in which $\rho$ occurs twice. One line of your own is enough for
# each.

# %% [markdown]
# Where the given distances come from: in $c_2 = \text{near}\, u_b + \text{far}\,(u_b - u_c) + \text{far}\cdot 0$ the
# coefficient of $u_b$ is near + far where it should be 1, and that of $u_c$ is −far where it should be 0. Likewise
# $c_1 = \text{near}\,(u_b - u_c) + \text{far}\, u_b$ is wrong by far + near − 1 along $u_b$ and by 1 − near along $u_c$.
# The $u$'s are orthogonal and have length $\rho$, so the distance is $\rho$ times the root of the sum of the squares of
# these two numbers.

# %% answer="5.4"
rho = sp.Symbol("rho", positive=True)
near = sp.exp(rho**2) / (sp.exp(rho**2) + 2)
far = 1 / (sp.exp(rho**2) + 2)
error_2 = derive(
    (rho * sp.sqrt((near + far - 1) ** 2 + far**2), "length of c_2 - u_b"),
    # your steps here
)
error_1 = derive(
    (rho * sp.sqrt((far + near - 1) ** 2 + (near - 1) ** 2), "length of c_1 - (u_b - u_c)"),
    # your steps here
)
display(error_2, error_1)

# %% check="5.4"
check("5.4", error_2, error_1)

# %%
if check("5.4", error_2, error_1):
    lengths = np.linspace(0.1, 4, 40)
    wanted = np.array([[1, 0], [1, -1], [0, 0]])  # wanted by token 2, by token 1, by neither
    series = {}
    for token, (name, chain) in enumerate({"c₂": error_2, "c₁": error_1}.items()):
        outputs = softmax(np.outer(lengths**2, np.eye(3)[token])) @ wanted  # (40, 2)
        series[f"{name} measured"] = lengths * np.linalg.norm(outputs - wanted[token], axis=1)
        series[f"-{name} closed form"] = [float(chain.end.subs(rho, length)) for length in lengths]
    plots.curves(lengths, series, xlabel="length ρ", ylabel="distance from the target", log="y")

# %% [markdown]
# Once both derivations are right, their results are drawn together with the measured distances. The distance first grows with
# $\rho$, because all vectors get longer, and then falls like $\rho e^{-\rho^2}$, faster than $e^{-\rho}$.

# %% [markdown]
# ### 5.5 Contents nobody knows
#
# *code · 1 point · 9 min*
#
# In 5.3 you know both outputs before you choose the matrices. You may then choose nearly any $K$ and $Q$, and there is a
# $V$ that gives these outputs. Here the contents are not known in advance.
#
# **Given** $x_1 = u_d + y$, $x_2 = u_a$, $x_3 = u_c + z$, where $y$ and $z$ are any vectors of a subspace orthogonal to the
# $u$'s. The columns of the array `content` are an orthonormal basis of this subspace. **Design** matrices with $c_2 \to y$
# and $c_1 \to z$ for **all** $y, z$. **Form:** `routing_projections(u_a, u_c, u_d, content)`, returning `(K, Q, V)`.
#
# *Predict:* can a suitable $V$ still give these outputs if every token attends to itself?


# %% answer="5.5"
# my prediction, can V alone do it: ...
def routing_projections(u_a, u_c, u_d, content):
    """K, Q, V that carry y to token 2 and z to token 1, whatever they are."""
    raise NotImplementedError("your answer here")


# %% check="5.5"
check("5.5", routing_projections)


# %%
def returned(carried, K, Q, V):
    """How much content arrives in c_2 when x_1 carries this much."""
    u = 3 * np.eye(4)
    tokens = np.array([u[3] + carried * np.eye(4)[1], u[0], u[2]])
    return self_attention(tokens, K, Q, V)[0][1, 1]


carried = np.linspace(-6, 6, 49)
designs = {"every token looks at itself": [np.eye(4)] * 3}
if check("5.5", routing_projections):
    designs["your projections"] = routing_projections(
        *(3 * np.eye(4))[[0, 2, 3]], np.eye(4)[:, 1:2]
    )
found = {name: [returned(y, *triple) for y in carried] for name, triple in designs.items()}
found["-what is wanted"] = carried
plots.curves(carried, found, xlabel="content of x₁", ylabel="content of c₂")

# %% [markdown]
# If every token attends only to itself, the content of $c_2$ does not depend on the content of token 1: the line is flat.
# No $V$ can change this, because the content of token 1 never reaches token 2. With your projections the content of $c_2$
# is what token 1 carries. Equation (1) allows a division of labour: $K$ and $Q$ read *addresses*, and $V$ reads *contents*.
# The scores depend on $K$ and $Q$ only through one product, since $k_j^\top q_i = x_j^\top (K^\top Q)\, x_i$.

# %% [markdown]
# ## Common mistakes
#
# "If $u_d$ is added to $x_2$, token 2 attends to $x_1$, and $c_2$ receives both $u_d$ and $u_b$." "It works if *enough* of $u_d$ is
# added." The first two lines that the next cell prints refute both claims, at $\rho = 3$. "The matrix $uv^\top$ maps $v$ to
# $u$" is true only after a division by $v^\top v$, as the last line shows.

# %%
u, one = 3 * np.eye(4), [np.eye(4)] * 3
before, after = (self_attention(three_tokens(*u, added), *one) for added in (None, "d"))
gain, share = after[1][1, 0] / before[1][1, 0], after[0][1, 1] / before[0][1, 1]
print(f"u_d added multiplies the weight on x_1 by {gain:.5f} and u_b in c_2 by {share:.4f}")
more = (three_tokens(*u) + np.outer([0, 1, 0], times * u[3]) for times in np.linspace(0, 5, 501))
most = max(self_attention(tokens, *one)[1][1, 0] for tokens in more)
print(f"with 0 to 5 times u_d added, the weight on x_1 is at most {most:.4f}")
print(
    f"u and v are 3 long; u v^T maps v to a vector of length {np.linalg.norm(np.outer(u[0], u[1]) @ u[1]):.0f}"
)

# %% [markdown]
# ## A real sentence
#
# In the translation model of [00](00_start_here.ipynb) the queries are computed from the English words written so far, the keys
# and values from the German words. You found $K$, $Q$ and $V$ by hand; the model learnt its matrices in training. *Predict* for
# each English word to which German word it attends most: do the dark cells lie on a diagonal?

# %%
# my prediction: ...
found = recorded_map("street")
print(found.sentence, "->", found.translation)
print("looks most at:", ", ".join(f"{word} → {german}" for word, german, _ in found.strongest()))
axes = {"xlabel": "German: keys and values", "ylabel": "English: queries", "numbers": False}
plots.attention_map(found.weights, found.english, found.german, title="recorded", **axes)

# %% [markdown]
# Where the two languages put their words in a different order, the dark cells leave the diagonal. A pale row belongs to a word
# that attends to several German words. The map is the mean of the four heads in the last layer of the model. The translation
# is not perfect: it leaves out the verb *is*.

# %% [markdown]
# ## Summary
#
# 1. In 5.1 a token that is its own key, query and value attends to itself, and every output is a mixture of the tokens (1).
# 2. $Q$ decides what a token asks for, $K$ which tokens match, and $V$ what they return; outer products build such matrices.
# 3. If the scores differ by $\rho^2$, the error falls like $\rho e^{-\rho^2}$; keys and queries are really needed only when the
#    contents are unknown.

# %% [markdown]
# ## Without notes
#
# 1. Why is no mixture of $x_1, x_2, x_3$ equal to $u_b$, whatever the weights are?
# 2. What does $uv^\top$ do to $v$, and to a vector orthogonal to $v$?
# 3. Which product of matrices decides the scores, and can different pairs $K, Q$ have the same product?
# 4. Why must the differences of the scores grow with $\rho$ in 5.3?
# 5. One of $V$ and the product $K^\top Q$ must respond to the contents in 5.5, and the other must not. Which is which?

# %% [markdown]
# <details><summary>Short answers to these questions</summary>
#
# 1. In each token the coefficient of $u_b$ is the sum of those of $u_c$ and $u_d$, so the same is true of every mixture; it
#    is not true of $u_b$.
# 2. It gives $u\,|v|^2$, and zero.
# 3. $K^\top Q$; yes, many pairs have the same product.
# 4. The distance from the target is $\rho$ times a weight that is left over, and only a growing difference makes this
#    product small.
# 5. $V$ must respond to the contents. $K^\top Q$ must not: no score may depend on a content.
#
# </details>

# %% [markdown]
# **Next:** [06, attention in a transformer](06_transformer_attention.ipynb), does all of this in PyTorch, with batches, several
# heads and masks.
#
# **References.** Vaswani et al. (2017), [arXiv:1706.03762](https://arxiv.org/abs/1706.03762), self-attention; Elhage et al. (2021),
# [A mathematical framework](https://transformer-circuits.pub/2021/framework/index.html), where a head looks and what it moves.

# %% tags=["nbval-ignore-output"]
progress()  # how far you are, and what is next
