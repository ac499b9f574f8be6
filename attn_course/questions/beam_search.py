"""Judge of 10.3, beam search.

The tables are trees: every beginning of a sentence has a row of its own, so that a state which does not
follow its hypothesis shows. Sentences are chosen so that every known mistake changes some of them.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, shuffled
from attn_course.answers.mistakes import AnyOf, Trials
from attn_course.drivers import run_beam_search

PAD = 0  # as in attn_course.translation
BOS = 1
EOS = 2
FIRST_WORD = 3
NUM_TOKENS = 6  # with three words
SIZE = 2  # of the beam, and
LENGTH = 4  # of the longest translation, where nothing else is said
MARGIN = 1e-3  # between what is kept and what is dropped, so that rounding decides nothing
MOST_SENTENCES = 400  # that are drawn to choose from

Tokens = tuple[int, ...]


def searches_with_a_beam(rng: Generator, beam_search: Caller) -> str:
    """10.3: the best hypothesis that a beam ends with, for each sentence of a batch."""
    chosen = _telling_sentences(rng)
    batches = {
        "sentences of different kinds": (chosen, SIZE, LENGTH),
        "a beam that loses what greedy search finds": (_trap(), 2, 3),
    }
    others = list(_other_batches(rng, chosen).items())
    trials = Trials(_wrong_tokens)
    for name, batch in [*batches.items(), *shuffled(rng, others)]:
        tokens = _searched(beam_search, *batch)
        right = _tokens_of(batch, Search())
        fact = partial(_fact, name, tokens, right)
        trials.require(tokens, right, fact, *batch)

    ties = _uniform()
    _judge_ties(_searched(beam_search, *ties), *ties)
    return (
        f"the beam's best for {len(chosen)} chosen sentences and "
        f"{len(others) + 2} other batches, with a beam of 1, of 60, and where a beam loses to greedy search."
    )


def _searched(beam_search, tables, size, max_length):
    """Return the tokens of an answer (B, max_length), filled up with PAD, if `step` was used well."""
    B = len(tables)
    result = beam_search.run_driver(run_beam_search, tables, size, max_length)
    if result["steps"] == 0:
        raise NotYet("`step` was never called.")
    if BOS not in result["first"]:
        raise NotYet(
            f"token {result['first'][0]} was fed in at the first step; every sentence starts with BOS."
        )
    if len(result["first"]) > 1:
        raise NotYet("the state that `step` returned was not handed to the next step.")
    values = array(result["tokens"], "the result")
    if not np.isin(values, range(NUM_TOKENS)).all():
        raise NotYet(f"the result holds numbers that are no token from 0 to {NUM_TOKENS - 1}.")
    tokens = values.astype(int)
    if tokens.ndim != 2 or len(tokens) != B:
        raise NotYet(
            f"the result has shape {tokens.shape}; with B = {B} it should be (B, T), a row for each sentence."
        )
    if tokens.size and (tokens[:, 0] == BOS).all():
        raise NotYet("the start mark is fed in, but it is no part of the translation.")
    if tokens.shape[1] > max_length:
        raise NotYet(f"{tokens.shape[1]} tokens came back, where max_length is {max_length}.")
    most_rows = B * size * max_length
    if result["rows"] > most_rows:
        raise NotYet(
            f"`step` was called {result['steps']} times, where max_length is {max_length}, with "
            f"{result['rows']} rows in all; a beam needs at most B · size · max_length = {most_rows}."
        )
    return np.pad(tokens, ((0, 0), (0, max_length - tokens.shape[1])), constant_values=PAD)


def _fact(name, tokens, right, *batch):
    """Return a clause on the first sentence whose tokens are not the right ones."""
    for row in tokens.tolist():
        after_end = [token for token in row[row.index(EOS) + 1 :] if token] if EOS in row else []
        if after_end:
            return (
                f"a hypothesis ended with its end mark, and then token {after_end[0]} follows; after its "
                "end mark it is filled with PAD"
            )
    tables, size, max_length = batch
    b = int((tokens != right).any(1).argmax())
    return (
        f"{name}, size = {size}, max_length = {max_length}: for sentence {b} you return "
        f"{_trimmed(tokens[b])}, with a log-probability / length of {_score(tables[b], tokens[b]):.3f}; the "
        f"beam ends with {_trimmed(right[b])}, {_score(tables[b], right[b]):.3f}"
    )


def _trimmed(row):
    return [token for token in row.tolist() if token != PAD]


def _score(table, row):
    """Return the log-probability of the tokens of a row, divided by their number."""
    tokens = _trimmed(row)
    node = 0
    total = 0.0
    for token in tokens:
        total += table[node, token] if 0 <= node < len(table) else -np.inf
        node = child(node, token)
    return total / max(len(tokens), 1)


def child(node: int, token: int, num_tokens: int = NUM_TOKENS) -> int:
    """Return the node that a token leads to; node 0 has read BOS alone."""
    return num_tokens * node + token + 1


# Tables of log-probabilities (nodes, V)


def _num_nodes(max_length, num_tokens=NUM_TOKENS):
    """Return how many beginnings have fewer than max_length tokens."""
    return sum(num_tokens**length for length in range(max_length))


def _table(rng, max_length, *, end=0.0, scale=0.7, impossible=()):
    """Draw log-probabilities; `end` is added to the logit of EOS, and some tokens never come."""
    logits = scale * rng.normal(size=(_num_nodes(max_length), NUM_TOKENS))
    logits[:, EOS] += end
    logits[:, [PAD, BOS, *impossible]] = -np.inf
    return logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)


def _trap():
    """Return a table in which a beam of two drops a beginning that greedy search keeps, and loses by it."""
    a, b, c = FIRST_WORD, FIRST_WORD + 1, FIRST_WORD + 2
    table = np.full((_num_nodes(3), NUM_TOKENS), -np.inf)
    table[:, [EOS, a, b, c]] = np.log([0.22, 0.28, 0.26, 0.24])
    table[0] = _log({a: 0.5, b: 0.4, c: 0.1})
    table[child(0, a)] = _log({a: 0.34, b: 0.335, c: 0.325})
    table[child(0, b)] = _log({a: 0.51, b: 0.49})
    table[child(child(0, a), a)] = _log({EOS: 1.0})
    return table[None]


def _log(chances):
    row = np.full(NUM_TOKENS, -np.inf)
    for token, chance in chances.items():
        row[token] = np.log(chance)
    return row


def _uniform():
    table = np.full((1, _num_nodes(3), NUM_TOKENS), -np.log(4))
    table[..., [PAD, BOS]] = -np.inf
    return table, 2, 3


def _judge_ties(tokens, tables, size, max_length):
    """Raise NotYet unless tokens that are all equally good have an end or the full length."""
    row = _trimmed(tokens[0])
    is_whole = row and (row[-1] == EOS or len(row) == max_length)
    if not is_whole or not set(row) <= {EOS, *range(FIRST_WORD, NUM_TOKENS)}:
        raise NotYet(
            f"all words equally likely: {row} is no hypothesis that a beam of {size} can end with."
        )


def _other_batches(rng, chosen):
    """Return batches of which each has one thing that the chosen sentences lack."""
    short = partial(_clear, rng, size=SIZE, max_length=3)
    scales = [0.3, 3.0, 0.5, 2.0]
    mixed = [short(scale=scale, end=1.0) for scale in scales]
    alone = rng.choice(len(chosen), size=2, replace=False)
    return {
        "a beam of one": (chosen, 1, LENGTH),
        "a beam that drops nothing": (_stack([short(size=60) for _ in range(4)]), 60, 3),
        "the end mark likely": (_stack([short(end=2.0) for _ in range(4)]), SIZE, 3),
        "the end mark impossible": (_stack([short(impossible=(EOS,)) for _ in range(3)]), SIZE, 3),
        "likelier and less likely sentences": (_stack(mixed), SIZE, 3),
        "two of the three words impossible": (
            _stack([short(impossible=(FIRST_WORD, FIRST_WORD + 2)) for _ in range(3)]),
            SIZE,
            3,
        ),
        "first words that cost much": (_stack([_costly(rng) for _ in range(3)]), SIZE, 3),
        "one step": (_stack([_clear(rng, size=SIZE, max_length=1) for _ in range(4)]), SIZE, 1),
        **{f"sentence {b} alone": (chosen[b : b + 1], SIZE, LENGTH) for b in alone.tolist()},
    }


def _stack(tables):
    return np.stack(tables)


def _clear(rng, *, size, max_length, **options):
    """Return a random table in which no two hypotheses that matter are nearly equal."""
    while True:
        table = _table(rng, max_length, **options)
        hypotheses = Search().run(table, size, max_length)
        if hypotheses.margin > MARGIN:
            return table


def _costly(rng):
    """Return a clear table in which one first word is certain, and after the others the end is."""
    while True:
        table = _table(rng, 3)
        words = rng.permutation(range(FIRST_WORD, NUM_TOKENS))
        table[0] = _log({int(words[0]): 1 - 3e-6, int(words[1]): 2e-6, int(words[2]): 1e-6})
        for word in words[1:]:
            table[child(0, int(word))] = _log({EOS: 1.0})
        if Search().run(table, SIZE, 3).margin > MARGIN:
            return table


# Searches, right and wrong


@dataclass(frozen=True)
class TreeHypothesis:
    """tokens: as they are returned. path: the node that its next step reads."""

    tokens: Tokens = ()
    total: float = 0.0
    length: int = 0
    path: int = 0
    is_done: bool = False


@dataclass(frozen=True)
class Beam:
    """The best hypothesis of a beam, and by how much the nearest decision was clear."""

    tokens: Tokens
    margin: float


def _mean(hypothesis, step):
    return hypothesis.total / max(hypothesis.length, 1)


def _total(hypothesis, step):
    return hypothesis.total


def _without_end_mark(hypothesis, step):
    return hypothesis.total / max(hypothesis.length - hypothesis.is_done, 1)


@dataclass(frozen=True)
class Search:
    """Beam search in lists; each field but the first names a mistake.

    rank, last_rank: what decides at a step, and at the end.
    """

    rank: Callable = _mean
    last_rank: Callable = _mean
    size: int = 0  # instead of the size that is asked for
    own_state: bool = False  # the state of a place in the beam stays at that place
    own_tokens: bool = False  # so do its tokens
    finished: str = "stay"  # or "lost", "go on", "leave"
    stop: str = "all"  # or "first", "best"
    adds_chances: bool = False
    best_child_each: bool = False

    def run(self, table: np.ndarray, size: int, max_length: int) -> Beam:
        """Return the search through the tree of one sentence."""
        size = self.size or size
        beam = [TreeHypothesis()]
        left: list[TreeHypothesis] = []  # finished ones that gave up their place
        margin = np.inf
        for step in range(max_length):
            grown = [self._grown(table, hypothesis) for hypothesis in beam]
            if self.best_child_each and step:
                grown = [[max(children, key=partial(self._rank, step))] for children in grown]
            places = {id(h): place for place, children in enumerate(grown) for h in children}
            pool = [h for children in grown for h in children]
            pool.sort(key=partial(self._rank, step), reverse=True)
            ranks = [self._rank(step, h) for h in pool]
            if len(pool) > size:
                margin = min(margin, ranks[size - 1] - ranks[size])
            kept = pool[:size]
            beam = [self._moved(h, k, beam, places[id(h)]) for k, h in enumerate(kept)]
            if self.finished == "leave":
                left += [h for h in beam if h.is_done]
                beam = [h for h in beam if not h.is_done]
            if self._is_over(beam, step):
                break
        beam += left
        beam.sort(key=lambda h: self.last_rank(h, max_length), reverse=True)
        ends = [self.last_rank(h, max_length) for h in beam[:2]]
        margin = min([margin, *-np.diff(ends)])
        tokens = _ended(beam[0].tokens) if self.finished == "go on" else beam[0].tokens
        return Beam(tokens, float(margin))

    def _rank(self, step, hypothesis):
        return self.rank(hypothesis, step)

    def _grown(self, table, hypothesis):
        """Return all hypotheses that one becomes at a step."""
        if hypothesis.is_done and self.finished != "go on":
            return [] if self.finished == "lost" else [hypothesis]
        row = table[hypothesis.path % len(table)]
        tokens = range(len(row)) if self.adds_chances else np.flatnonzero(row > -np.inf).tolist()
        return [
            TreeHypothesis(
                tokens=(*hypothesis.tokens, token),
                total=hypothesis.total + (np.exp(row[token]) if self.adds_chances else row[token]),
                length=hypothesis.length + 1,
                path=child(hypothesis.path, token),
                is_done=hypothesis.is_done or token == EOS,
            )
            for token in tokens
        ]

    def _moved(self, hypothesis, place, beam, parent):
        """Return the hypothesis as it stands at a place of the beam that may not be its parent's."""
        before = beam[min(place, len(beam) - 1)]
        if not self.own_state and not self.own_tokens:
            return hypothesis
        last = PAD if beam[parent].is_done else hypothesis.tokens[-1]
        path = child(before.path, last) if self.own_state else hypothesis.path
        tokens = hypothesis.tokens
        if self.own_tokens:
            tokens = (*before.tokens, last)
        return TreeHypothesis(tokens, hypothesis.total, hypothesis.length, path, hypothesis.is_done)

    def _is_over(self, beam, step):
        if self.finished == "go on":
            return False
        if self.stop == "first":
            return any(h.is_done for h in beam)
        if self.stop == "best":
            return max(beam, key=partial(self._rank, step)).is_done
        return all(h.is_done for h in beam)


def _length(hypothesis, step):
    return hypothesis.length + 1e-3 * _mean(hypothesis, step)


def _worst(hypothesis, step):
    return -_mean(hypothesis, step)


def _finished_first(hypothesis, step):
    return _mean(hypothesis, step) + 1e6 * hypothesis.is_done


def _root(hypothesis, step):
    return hypothesis.total / max(hypothesis.length, 1) ** 0.6


def _google(hypothesis, step):
    return hypothesis.total / (5 + hypothesis.length)


_OTHER_PENALTIES = (_root, _google)


WRONG = {
    "the result is that of greedy search: either `size` is not used, or all hypotheses start alive and "
    "stay equal": Search(size=1),
    "`step` continues from the wrong state: the state of a hypothesis is that of its parent, `state[rows]`": (
        Search(own_state=True)
    ),
    "a hypothesis goes on with the tokens of its parent; here those of its place in the beam are kept": (
        Search(own_tokens=True)
    ),
    "log-probabilities are not divided by the length of each hypothesis, or all by the number of steps, so "
    "that short ones win": Search(rank=_total, last_rank=_total),
    "the length is taken into account at the end alone; hypotheses of different lengths are compared at "
    "every step": Search(rank=_total),
    "the length is not taken into account at the end: the best is the one with the largest log-probability "
    "/ length": Search(last_rank=_total),
    "the end mark does not count for the length, and it should": (
        Search(rank=_without_end_mark, last_rank=_without_end_mark)
    ),
    "a finished hypothesis is lost; it keeps its place in the beam, at no further cost": (
        Search(finished="lost")
    ),
    "a finished hypothesis is extended by further words; it stays as it is, at no further cost": (
        Search(finished="go on")
    ),
    "finished hypotheses leave the beam and make room for others; they keep their places in the beam": (
        Search(finished="leave")
    ),
    "the search stops with the first finished hypothesis; longer ones may overtake it": (
        Search(stop="first")
    ),
    "the search stops when the best hypothesis is finished; others may still overtake it": (
        Search(stop="best")
    ),
    "probabilities are added; their logarithms are to be added": Search(adds_chances=True),
    "the longest of the hypotheses is returned, not the best": Search(last_rank=_length),
    "the last of the hypotheses is returned, not the best": Search(last_rank=_worst),
    "each hypothesis keeps its own best child; all children of a sentence compete for its places": (
        Search(best_child_each=True)
    ),
}


def _tokens_of(batch, search):
    """Return the tokens (B, max_length) that a search returns."""
    tables, size, max_length = batch
    rows = [search.run(table, size, max_length).tokens for table in tables]
    return np.array([[*row, *[PAD] * (max_length - len(row))] for row in rows])


def _ended(tokens):
    """Return the tokens up to the first end mark."""
    return tokens[: tokens.index(EOS) + 1] if EOS in tokens else tokens


def _wrong_tokens(tables: np.ndarray, size: int, max_length: int) -> dict[str, np.ndarray]:
    """Return {sentence: tokens (B, max_length)} of each mistake."""
    batch = (tables, size, max_length)
    wrong = {sentence: _tokens_of(batch, search) for sentence, search in WRONG.items()}
    right = _tokens_of(batch, Search())
    return wrong | {
        "the end mark is left out of the result": np.where(right == EOS, PAD, right),
        "a hypothesis that is cut at max_length is not returned where another is finished; those cut there "
        "compete too": _tokens_of(batch, Search(last_rank=_finished_first)),
        "log-probabilities are divided by a power of the length or by (5 + length) / 6, not by the length": (
            AnyOf(tuple(_tokens_of(batch, Search(rank, rank)) for rank in _OTHER_PENALTIES))
        ),
        "the places go to the best of the whole batch; each sentence has places of its own": (
            _best_of_batch(*batch)
        ),
    }


def _best_of_batch(tables, size, max_length):
    """Return tokens (B, max_length) if all sentences compete for all B * size places, best first."""
    B = len(tables)
    beam = [(b, TreeHypothesis()) for b in range(B)]
    search = Search()
    for step in range(max_length):
        pool = [(b, h) for b, parent in beam for h in search._grown(tables[b], parent)]
        pool.sort(key=lambda entry: _mean(entry[1], step), reverse=True)
        beam = pool[: B * size]
    rows = [beam[first : first + size] for first in range(0, B * size, size)]
    tokens = [
        max(row, key=lambda entry: _mean(entry[1], 0))[1].tokens if row else () for row in rows
    ]
    return np.array([[*row, *[PAD] * (max_length - len(row))] for row in tokens])


def _telling_sentences(rng):
    """Return tables (B, nodes, V) on which each mistake shows twice, and each two mistakes differ once."""
    missing: dict[tuple[str, ...], int] = {(name,): 2 for name in WRONG} | dict.fromkeys(
        itertools.combinations(WRONG, 2), 1
    )
    chosen = []
    for _ in range(MOST_SENTENCES):
        table = _clear(rng, size=SIZE, max_length=LENGTH)
        right = Search().run(table, SIZE, LENGTH).tokens
        results = {
            name: WRONG[name].run(table, SIZE, LENGTH).tokens
            for name in {name for names in missing for name in names}
        }
        helps = [
            names
            for names in missing
            if results[names[0]] != (results[names[1]] if names[1:] else right)
        ]
        if helps:
            chosen.append(table)
        for names in helps:
            missing[names] -= 1
        missing = {names: count for names, count in missing.items() if count}
        if not missing:
            break
    return np.stack(chosen)
