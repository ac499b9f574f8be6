"""Judges of 14.1 and 14.2, two heads that are written down by hand.

They run the matrices of an answer on sequences of letters, and look at weights and at what is written.
The stream of a token has four subspaces: its letter, `before` and `after`, which start empty, and its place.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, as_pair, shuffled
from attn_course.answers.mistakes import Seen, Trials
from attn_utils.kernels import attend

ENOUGH = 0.99  # of a row's weight
NEAR = 0.02  # how far a written letter or share may be off
SILENT = 0.01  # what may arrive in a subspace that is to stay as it is
NAMES = ("token", "before", "after", "place")


@dataclass(frozen=True)
class Sizes:
    """Of an alphabet and the longest sequence: where the subspaces of the stream lie."""

    num_letters: int
    length: int

    @property
    def width(self) -> int:
        return 3 * self.num_letters + self.length

    def subspace(self, name: str) -> slice:
        start = NAMES.index(name) * self.num_letters
        return slice(start, self.width if name == "place" else start + self.num_letters)

    def stream(self, letters: np.ndarray, *, before: np.ndarray | None = None) -> np.ndarray:
        """Return (T, D): one-hot letters (T,) and places; `before` (T,) holds letters if it is filled."""
        T = len(letters)
        x = np.zeros((T, self.width))
        one = np.eye(self.num_letters)
        x[:, self.subspace("token")] = one[letters]
        x[:, self.subspace("place")] = np.eye(self.length)[:T]
        if before is not None:
            x[:, self.subspace("before")] = one[before]
        return x


@dataclass(frozen=True)
class Looked:
    """One head on one sequence: weights and scores without a mask (T, T), and its output (T, D)."""

    letters: np.ndarray
    sizes: Sizes
    weights: np.ndarray
    scores: np.ndarray
    written: np.ndarray

    @property
    def one_back(self) -> np.ndarray:
        """The weights (T - 1,) on the place before, from place 1 on."""
        return np.diagonal(self.weights, -1)

    def part(self, name: str) -> np.ndarray:
        """Return what the head wrote into a subspace."""
        return self.written[:, self.sizes.subspace(name)]


def _matrices(answer, name, sizes):
    """Return (W_QK, W_OV) of an answer, both (D, D) and finite."""
    value = answer(sizes.num_letters, sizes.length)
    pair = as_pair(value, f"{name} returns two matrices, (W_QK, W_OV).")
    D = sizes.width
    matrices = []
    for which, matrix in zip(("W_QK", "W_OV"), pair, strict=True):
        try:
            matrix = array(matrix, which)
        except NotYet as error:
            if "infinity" not in str(error) and "nan" not in str(error):
                raise
            raise NotYet(
                f"{which} contains an infinity or nan: 0 times infinity is not a number, so use a large "
                "number instead."
            ) from None
        if matrix.shape != (D, D):
            raise NotYet(
                f"{which} has shape {matrix.shape}, and ({D}, {D}) is expected for {sizes.num_letters} "
                f"letters and {sizes.length} places: a head reads the whole stream, not one subspace of "
                "it."
            )
        matrices.append(matrix)
    return matrices


EXCHANGED = "The two matrices are in the wrong order: return (W_QK, W_OV)."


def _run(x, letters, sizes, matrices):
    W_qk, W_ov = matrices
    q = x @ W_qk
    written, weights = attend(q, x, x @ W_ov, causal=True, scale=1.0)
    return Looked(letters, sizes, weights, q @ x.T, written)


# 14.1

# Letters, places, tokens; one text is longer than those of the notebook.
SIZES = ((6, 9, 9), (3, 5, 4), (4, 12, 12), (5, 24, 24), (2, 3, 2))
ROWS = 3  # sequences of each size


def looks_one_back(rng: Generator, previous_token_head: Caller) -> str:
    """14.1: weight on the place before, its letter in `before`, all else in the stream untouched."""
    seen = []
    exchanged = []
    length = int(rng.integers(6, 16))
    drawn = (int(rng.integers(3, 9)), length, int(rng.integers(4, length + 1)))
    for num_letters, length, T in shuffled(rng, [*SIZES, drawn]):
        sizes = Sizes(num_letters, length)
        matrices = _matrices(previous_token_head, "previous_token_head", sizes)
        for _ in range(ROWS):
            letters = rng.integers(num_letters, size=T)
            x = sizes.stream(letters)
            seen.append(_run(x, letters, sizes, matrices))
            exchanged.append(_run(x, letters, sizes, matrices[::-1]))

    least = min(seen, key=lambda one: one.one_back.min())
    on = least.one_back
    if on.min() < ENOUGH <= min(one.one_back.min() for one in exchanged):
        raise NotYet(EXCHANGED, mistake=EXCHANGED)
    if on.min() < ENOUGH:
        mistake = _where_it_looks(seen)
        raise NotYet(
            f"{mistake} The token at place {on.argmin() + 1} puts {on.min():.2f} of its weight "
            f"on the place before (length {least.sizes.length}), and {ENOUGH} is asked for.",
            mistake=mistake,
        )
    _judge_letter(seen)
    return f"in {len(seen)} sequences every token looks one back, with at least {on.min():.1%} of its weight."


def _where_it_looks(seen):
    """Return a sentence on where the weight goes instead."""
    if all(np.ptp(one.scores, axis=1).max() <= 1e-9 for one in seen):
        return "All places get the same weight: no score depends on the place."
    if all((one.scores[:-1].argmax(1) == np.arange(1, len(one.scores))).all() for one in seen):
        return (
            "Each token asks for the place after its own, which the mask hides: rows of W_QK belong to the "
            "token that asks, columns to the token that answers."
        )
    for offset, where in ((0, "itself"), (-2, "the token two places back")):
        on = [np.diagonal(one.weights, offset) for one in seen if len(one.weights) > 2]
        if min(weights.min() for weights in on) > 0.9:
            return f"Each token looks at {where}, not at the place before it."
    places = [np.arange(1, len(one.scores)) for one in seen]
    if all((one.scores[p].argmin(1) == p - 1).all() for one, p in zip(seen, places, strict=True)):
        return "The place before has the lowest score of all: the sign is turned round."
    if all((one.weights[p].argmax(1) == p - 1).all() for one, p in zip(seen, places, strict=True)):
        return "It looks at the right place, but not sharply enough: make the scores larger."
    first: dict = {}
    for one in seen:
        other = first.setdefault((one.sizes, len(one.letters)), one)
        if np.abs(other.weights - one.weights).max() > 0.01:
            return "Where a token looks depends on the letters: ask by place."
    return "The weight goes elsewhere."


def _judge_letter(seen):
    """Raise NotYet unless the letter before arrives in `before`, and nothing anywhere else."""
    for one in seen:
        right = np.eye(one.sizes.num_letters)[one.letters[:-1]]
        written = one.part("before")[1:]
        _judge_subspaces(one, "before", written)
        if np.abs(written - right).max() <= NEAR:
            continue
        factor = (written * right).sum() / right.sum()
        if np.abs(written - factor * right).max() <= NEAR * abs(factor):
            raise NotYet(f"The letter arrives in `before` {factor:.2g} times instead of once.")
        raise NotYet("What arrives in `before` is not the letter of the place before.")


def _judge_subspaces(one, meant, written):
    """Raise NotYet if the head writes into another subspace than `meant`, or if `written` is empty."""
    moved = [name for name in NAMES if name != meant and np.abs(one.part(name)).max() > SILENT]
    names = " and ".join(f"`{name}`" for name in moved)
    if moved and np.abs(one.part(meant)).max() <= SILENT:
        raise NotYet(f"The head writes into {names}, and nothing arrives in `{meant}`.")
    if moved:
        raise NotYet(f"The head also writes into {names}; leave these subspaces as they are.")
    if np.abs(written).max() <= SILENT:
        raise NotYet(f"Nothing arrives in `{meant}`: rows of W_OV read, columns write.")


# 14.2

MOST_LETTERS = 9
LONGEST = 14
FIXED = (
    (0, 1, 2, 0, 3, 0),  # the first letter returns
    (1, 2, 1, 3, 1, 2, 1),  # one letter with followers 2, 3, 2
    (4, 4, 4, 1, 4),  # a doubled letter: s = t counts
    (2, 0, 5, 1, 3, 2, 0, 5, 1, 3),  # said twice
    (0, 0, 1, 0, 2, 3, 3, 5, 0, 1, 3, 4, 2, 2),
    (5, 1, 0, 1, 5, 0, 1),
)
RANDOM_ROWS = 6


def finds_what_came_next(rng: Generator, induction_head: Caller) -> str:
    """14.2: equal weight on every place after an earlier occurrence, its letters as shares in `after`."""
    rows = [np.array(row) for row in FIXED]
    for _ in range(RANDOM_ROWS):
        rows.append(rng.integers(4, size=int(rng.integers(6, LONGEST + 1))))

    seen = []
    exchanged = []
    drawn = int(rng.integers(LONGEST + 2, 2 * LONGEST))
    for length in shuffled(rng, (LONGEST, LONGEST + 1, drawn)):
        sizes = Sizes(int(rng.integers(6, MOST_LETTERS + 1)), length)
        matrices = _matrices(induction_head, "induction_head", sizes)
        for letters in shuffled(rng, rows):
            before = np.r_[letters[0], letters[:-1]]  # token 0 saw itself alone
            x = sizes.stream(letters, before=before)
            seen.append(_run(x, letters, sizes, matrices))
            exchanged.append(_run(x, letters, sizes, matrices[::-1]))

    try:
        num_found = _judge_matches(seen)
    except NotYet as error:
        if _all_matches_found(exchanged):
            raise NotYet(EXCHANGED, mistake=EXCHANGED) from None
        raise error from None
    _judge_followers(seen)
    return f"in {len(seen)} sequences the head finds what came next, at {num_found} places."


def matches(letters: np.ndarray, t: int) -> list[int]:
    """Return the places s in 1..t after an earlier occurrence of letter t."""
    return [s for s in range(1, t + 1) if letters[s - 1] == letters[t]]


def _judge_matches(seen):
    """Return the number of rows judged; NotYet unless each has equal weight on its matches."""
    trials = Trials(_wrong_places, relative=0, absolute=NEAR)
    for one in seen:
        letters = one.letters
        for t in range(len(letters)):
            places = matches(letters, t)
            if places:
                text = "".join("ABCDEF"[letter] for letter in letters[: t + 1])
                row = one.weights[t, : t + 1]
                on = row[places].sum()
                fact = f"after {text} the places that follow an earlier {text[-1]} get {on:.2f} of the weight"
                if on >= ENOUGH:
                    weights = ", ".join(f"{weight:.2f}" for weight in row[places])
                    fact += f", but not in equal parts: {weights}"
                trials.add(row, _on(places, t), fact, letters, t, row)
    trials.settle()
    return len(trials)


def _all_matches_found(seen):
    try:
        return _judge_matches(seen) > 0
    except NotYet:
        return False


def _on(keys, t):
    """Return equal weights (t + 1,) on these places."""
    row = np.zeros(t + 1)
    row[list(keys)] = 1 / len(keys)
    return row


def _wrong_places(letters, t, weights):
    right = matches(letters, t)
    before = np.r_[letters[0], letters[:-1]]
    past = range(t + 1)
    itself = [s for s in past if letters[s] == letters[t]]
    twice = [s for s in right if s in itself]  # after the letter, and the letter itself
    inside = weights[right]
    outside = np.delete(weights, right)
    is_soft = inside.min() > outside.max(initial=0) and np.ptp(inside) <= NEAR
    sentences = {
        "it finds the letter itself and says it again; look for the place *after* it": itself,
        "it looks for the letter before yours; the query asks with its letter, and a key answers with what "
        "stood before it": [s for s in past if letters[s] == before[t]],
        "what stood before you is compared with what stood before the key; the query asks with its own "
        "letter": [s for s in past if before[s] == before[t]],
        "place 0 sees itself alone, so `before` there holds its own letter; when that letter returns, weight "
        "goes to place 0": [s for s in past if before[s] == letters[t]],
        "everything goes to place 0: the sign of what you add there is turned round": [0],
        "the latest occurrence gets all the weight; every match should get an equal part": [
            right[-1]
        ],
        "the first occurrence gets all the weight; every match should get an equal part": [
            right[0]
        ],
        "all places get the same weight: no score depends on the letters": list(past),
        "it looks one place back, whatever the letters are: that is the head of 14.1": [t - 1],
        "it finds the letter itself too; the places *after* it alone are meant": (
            twice or sorted({*right, *itself})
        ),
        "a place that matches is avoided: the sign of the scores is turned round": (
            [s for s in past if before[s] != letters[t]]
        ),
    }
    hidden = {  # the places that are found, and the one that is not
        "what stood at place 1 is never found; only place 0 has no predecessor": (right, 1),
        "place 1 is hidden in place of place 0, which has no predecessor": (
            [s for s in past if before[s] == letters[t]],
            1,
        ),
        "a token does not see itself, but in a doubled letter place t is the one to be found": (
            right,
            t,
        ),
    }
    table: dict = {sentence: _fitting(keys, weights, t) for sentence, keys in sentences.items()}
    for sentence, (keys, place) in hidden.items():
        others = [s for s in keys if s != place]
        table[sentence] = _on(others, t) if others else Seen(weights[place] < 0.6)
    table["the right places, but too soft: make the scores larger"] = Seen(is_soft)
    return table


def _fitting(keys, weights, t):
    """Return equal weights (t + 1,) on these places, or without place 0, whichever is nearer to `weights`."""
    without_first = [s for s in keys if s > 0]
    rows = [_on(some, t) for some in (keys, without_first) if some]
    if not rows:
        return Seen(True)  # where the mistake finds no place, the weight may go anywhere
    return min(rows, key=lambda row: np.abs(row - weights).max())


def _judge_followers(seen):
    """Raise NotYet unless the letters at the matches arrive in `after` as shares."""
    for one in seen:
        letters = one.letters
        one_hot = np.eye(one.sizes.num_letters)
        places = [t for t in range(len(letters)) if matches(letters, t)]
        shares = np.array([one_hot[letters[matches(letters, t)]].mean(0) for t in places])
        written = one.part("after")[places]
        _judge_subspaces(one, "after", written)
        if np.abs(written - shares).max() <= NEAR:
            continue
        if np.abs(written - one_hot[letters[places]]).max() <= NEAR:
            raise NotYet(
                "The right places are found, but W_OV reads `before` there, which is the letter you had."
            )
        totals = written.sum(1)
        total = totals[0]
        off = np.abs(written - total * shares).max()
        if np.ptp(totals) <= NEAR and off <= NEAR * abs(total):
            raise NotYet(f"The shares in `after` add up to {total:.2g}, where 1 is expected.")
        raise NotYet("What arrives in `after` is not the letters at the places found.")
