"""Questions 10.1-10.3, what trained translators look at, and how they search."""

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, number, shuffled
from attn_course.answers.mistakes import Trials
from attn_course.drivers import call_with_links
from attn_course.questions.beam_search import searches_with_a_beam
from attn_course.register import Part, Question

CORPORA = (  # (T, S) of each sentence
    ((5, 6), (2, 3), (9, 7), (13, 11), (6, 4), (8, 8)),
    ((1, 1), (12, 4)),
    ((3, 3),),
    ((6, 120), (4, 15)),  # the even weights of a long sentence are small
)


def counts_alignment_errors(rng: Generator, alignment_error_rate: Caller) -> str:
    """10.1: on weights that hit a known share of known links; an empty slot finds none."""
    trials = Trials(_wrong_rates, absolute=1e-6)
    corpora = [[_aligned(rng, T, S) for T, S in sizes] for sizes in CORPORA]
    for corpus in shuffled(rng, corpora):
        _add_corpus(trials, alignment_error_rate, corpus)
    trials.settle()

    silent = [(0 * weights, gold) for weights, gold in corpora[0]]
    _add_corpus(trials, alignment_error_rate, silent)
    trials.settle()
    return "the links of all sentences are counted together, and a row without weight is linked to nothing."


def _add_corpus(trials, answer, corpus):
    """Ask for the rate of [(weights, gold links) of a sentence, ...], and keep the trial."""
    weights, gold = map(list, zip(*corpus, strict=True))
    rate = number(answer.run_driver(call_with_links, weights, gold), "alignment_error_rate(...)")
    links = [set(pairs) for pairs in gold]
    right = _rates(map(_heaviest, weights), links)[""]
    fact = f"you: {rate:.3f}, expected {right:.3f}, over all sentences"
    trials.add(rate, right, fact, weights, links)


def _aligned(rng, T, S):
    """Draw weights (T, S), some links right and some wrong; first a silent row and ties, last an even row."""
    weights = rng.dirichlet(np.full(S, 0.3), size=T)

    gold = set()
    for t, heaviest in enumerate(weights.argmax(1)):
        if rng.random() < 0.6:
            gold.add((t, int(heaviest)))

    for _ in range(1 + T // 2):
        t = int(rng.integers(T))
        s = int(rng.integers(S))
        gold.add((t, s))

    if T > 1:
        weights[0] = 0
        weights[1:3, [0, -1]] = 1  # as heavy as a word can be, twice
        gold.add((1, 0))

    if T > 3:
        weights[-1] = 1 / S
        gold.add((T - 1, 0))

    return weights, sorted(gold)


def _heaviest(weights):
    """Return a link for each row that has weight: to its heaviest key, the first of several."""
    heaviest = weights.argmax(1).tolist()
    spoken = np.flatnonzero(weights.any(1))
    return {(t, heaviest[t]) for t in spoken.tolist()}


def _last_of_ties(weights):
    """Return the same with the last of several."""
    last = weights.shape[1] - 1
    mirrored = _heaviest(weights[:, ::-1])
    return {(t, last - s) for t, s in mirrored}


WRONG_LINKS = {
    "a row without any weight was linked to the first word; it should link to nothing": (
        lambda weights: set(enumerate(weights.argmax(1).tolist()))
    ),
    "a row of small weights, such as those of *mean* in a long sentence, was linked to nothing": (
        lambda weights: {(t, s) for t, s in _heaviest(weights) if weights[t, s] >= 0.1}
    ),
    "where several words tie, the last was taken, not the first": _last_of_ties,
    "where several words tie, all of them were linked, not the first alone": (
        lambda weights: {
            (t, int(s))
            for t, _ in _heaviest(weights)
            for s in np.flatnonzero(weights[t] == weights[t].max())
        }
    ),
    "links are (target, source), and here they stand the other way round": (
        lambda weights: {(s, t) for t, s in _heaviest(weights)}
    ),
    "each source word was given its heaviest target word; ask each target word": (
        lambda weights: {(t, s) for s, t in _heaviest(weights.T)}
    ),
}


def _wrong_rates(weights, gold):
    """Return {sentence: rate} of the links that are asked for, and of links that are mistaken for them."""
    wrong = _rates(map(_heaviest, weights), gold)
    del wrong[""]
    for sentence, links_of in WRONG_LINKS.items():
        wrong[sentence] = _rates(map(links_of, weights), gold)[""]
    return wrong


def _rates(found, gold):
    """Return the error rate under "", and numbers that are mistaken for it under their sentences."""
    found = list(found)
    in_both = np.array([len(a & b) for a, b in zip(found, gold, strict=True)])  # a sentence each
    num_found = np.array([len(links) for links in found])
    num_gold = np.array([len(links) for links in gold])
    by_sentence = 1 - 2 * in_both / (num_found + num_gold)

    both = in_both.sum()
    have = max(num_found.sum(), 1e-9)
    want = num_gold.sum()
    right = 1 - 2 * both / (have + want)
    precision = both / have
    recall = both / want
    return {
        "": right,
        "this is the share of right links; the error rate is one minus it": 1 - right,
        "this is a percentage; the rate goes from 0 to 1": 100 * right,
        "this is the mean over sentences; count the links of all sentences first": (
            by_sentence.mean()
        ),
        "this is one minus precision; gold links that were never found cost nothing": 1 - precision,
        "this is one minus recall; links that were found but are wrong cost nothing": 1 - recall,
        "links in both are divided by links in either": 1 - both / (have + want - both),
        "the factor 2 of (1) is missing": 1 - both / (have + want),
    }


QUESTIONS = (
    Question(
        id="10.1",
        title="Training watched: links and losses",
        minutes=15,
        parts=(
            Part("code", ("alignment_error_rate",), counts_alignment_errors, points=1),
            Part("written", points=1),
        ),
        covers=("003 2",),
        hints=(
            "For each row of weights that is not all zero: which column is the largest?",
            "Collect the links of a sentence in a set, so that `&` and `len` do the counting.",
            "Add up the three counts over all sentences, and divide once at the end.",
        ),
    ),
    Question(
        id="10.2",
        title="Reading the maps",
        minutes=10,
        parts=(Part("written", points=2),),
        covers=("003 2",),
        hints=(
            "Follow the darkest cell from row to row: where does it move by one column, where by several?",
            "Where do two rows share a column? Say which English words these are.",
            "For (d): what is a weight trained to be good for, and what do the states it reads hold?",
        ),
    ),
    Question(
        id="10.3",
        title="Beam search",
        minutes=18,
        parts=(Part("code", ("beam_search",), searches_with_a_beam, points=2),),
        covers=("003 2",),
        hints=(
            "Keep three numbers of each hypothesis: its log-probability, its length, whether it is done.",
            "In a tensor (B, size, V) of grown log-probabilities, topk over the last two axes together "
            "chooses parents and tokens at once: the parent is the number // V, the token the number % V.",
            "Whatever belongs to a hypothesis follows it: tokens, length, done and the state come from the "
            "parent.",
            "Before the first step a sentence has one hypothesis, not `size` equal ones: which "
            "log-probability lets the others lose against every real one?",
        ),
    ),
)
