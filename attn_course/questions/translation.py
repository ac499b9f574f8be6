"""Questions 9.1-9.4, translation with a slot for attention."""

from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, largest_gap, number, shuffled
from attn_course.answers.mistakes import Seen, Trials, same
from attn_course.answers.tensors import leaves_of
from attn_course.drivers import (
    call_with_links,
    gradients_of,
    run_search,
    run_slot,
    run_slot_elsewhere,
)
from attn_course.questions.attention_mistakes import (
    LOW_FILL,
    SCORES,
    TOO_LATE,
    WEIGHTS,
    after,
    masked_softmax,
    scaled_products,
)
from attn_course.register import Part, Question
from attn_utils.kernels import attend

PAD = 0  # as in attn_course.translation
BOS = 1
EOS = 2
CLOSE = 1e-4  # the slots run in float32, as they do in the model


def slots_fit(
    rng: Generator, no_attention: Caller, mean_attention: Caller, dot_attention: Caller
) -> str:
    """9.1: three slots, equal to their definition whatever stands in the padding, on any device."""
    slots = {
        "NoAttention": (no_attention, Trials(_wrong_none, absolute=CLOSE)),
        "MeanAttention": (mean_attention, Trials(_wrong_mean, absolute=CLOSE)),
        "DotAttention": (dot_attention, Trials(_wrong_dot, absolute=CLOSE)),
    }
    S = int(rng.integers(5, 8))
    sizes = [(3, 4, S, 8), *shuffled(rng, [(4, 1, 5, 4), (2, 3, 2, 12)])]  # (B, T, S, D)
    for size in sizes:
        inputs = _sentences(rng, *size)
        for name, (answer, trials) in slots.items():
            result = _run(name, answer, *inputs)
            found = result["outputs"]
            right = _right(name, *inputs)
            fact = _how_far(found, right, f"{name}, (B, T, S, D) = {size}")
            trials.judge(found, right, fact, *inputs, found, result["parameters"])
            _judge_company(name, answer, found, *inputs)
            if name != "NoAttention":
                _judge_gradients(name, result["gradients"], *inputs)

    _judge_leaks(rng, "MeanAttention", mean_attention)
    _judge_leaks(rng, "DotAttention", dot_attention)
    for name, (answer, _) in slots.items():
        _judge_device(name, answer, *inputs)
    return (
        f"all three are right for {len(sizes)} shapes; neither padding nor the other sentences of a batch "
        "change a result."
    )


def _sentences(rng, B, T, S, D):
    """Queries (B, T, D), memory (B, S, D) with junk in the padding, mask (B, S) whose first row is full."""
    shorter = rng.integers(1, S, size=B - 1)
    lengths = np.array([S, *shorter])
    mask = np.arange(S) < lengths[:, None]

    junk = 7 * ~mask[..., None]
    memory = rng.normal(size=(B, S, D)) + junk
    queries = rng.normal(size=(B, T, D))
    return queries, memory, mask


def _run(name, answer, queries, memory, mask):
    """The slot's outcome, its outputs (context, weights) numbers of the right shapes."""
    B, T, D = queries.shape
    S = memory.shape[1]
    result = answer.via(run_slot, D, queries, memory, mask)
    outputs = result["outputs"]
    if outputs is None or len(outputs) != 2:
        raise NotYet(f"{name} should return two tensors, (context, weights).")

    context, weights = outputs
    shapes = (weights.shape, context.shape)
    if shapes == ((B, T, D), (B, T, S)) and S != D:
        raise NotYet(f"{name} returns (weights, context); the context comes first.")

    if context.shape != (B, T, D):
        raise NotYet(f"the context of {name} has shape {context.shape}, expected {(B, T, D)}.")
    if weights.shape != (B, T, S):
        raise NotYet(f"the weights of {name} have shape {weights.shape}, expected {(B, T, S)}.")
    return result


def _right(name, queries, memory, mask):
    """[context (B, T, D), weights (B, T, S)] of arrays or tensors."""
    if name == "NoAttention":
        return [0 * queries, 0 * (queries @ memory.mT)]

    scale = 0.0 if name == "MeanAttention" else None  # equal scores give equal weights
    return list(attend(queries, memory, memory, mask=mask[:, None], scale=scale))


def _how_far(found, right, setting):
    """A clause on how far [context, weights] are from what is right."""
    context, weights = map(largest_gap, found, right)
    if np.isnan([context, weights]).any():
        return f"the result contains nan ({setting})"
    if weights <= CLOSE:
        return f"the weights are right, but the context is off by {context:.2g} ({setting})"
    return (
        f"the weights are off by up to {weights:.2g} and the context by {context:.2g} ({setting})"
    )


def _judge_company(name, answer, found, queries, memory, mask):
    """More padding at the end, or other sentences beside it, must not change the last sentence's context."""
    before = found[0][-1]
    longer_memory = np.pad(memory, ((0, 0), (0, 2), (0, 0)))
    longer_mask = np.pad(mask, ((0, 0), (0, 2)))
    companies = {
        "two more places of padding": (queries, longer_memory, longer_mask),
        "a batch without the other sentences": (queries[-1:], memory[-1:], mask[-1:]),
    }
    for what, inputs in companies.items():
        context, _ = _run(name, answer, *inputs)["outputs"]
        far = largest_gap(context[-1], before)
        if not far <= CLOSE:
            raise NotYet(f"{name}: {what} changed the context of a sentence by {far:.2g}.")


def _judge_gradients(name, found, queries, memory, mask):
    """What flows back to queries and memory must be what flows back through the definition."""
    leaves = leaves_of({"queries": queries, "memory": memory})
    context, _ = _right(name, leaves["queries"], leaves["memory"], mask)
    wanted = gradients_of(context, list(leaves.values())) or []
    if not found:
        found = [0 * gradient for gradient in wanted]

    for what, have, want in zip(leaves, found, wanted, strict=True):
        if same(have, want, 1e-3, 1e-3):
            continue
        if have.shape != want.shape:
            raise NotYet(f"{name}: the gradient of the {what} has shape {have.shape}.")
        how = "only part of the" if np.abs(have).max() > 1e-8 else "no"
        if np.isnan(have).any():
            how = "nan and no"
        raise NotYet(f"{name} is right, but {how} gradient flows back to the {what}.")


def _judge_leaks(rng, name, answer):
    """NotYet where padding reaches the context, though its scores are far above those of all words."""
    S = int(rng.integers(4, 8))
    T, D = 3, 8
    length = int(rng.integers(1, S))
    mask = np.arange(S) < length
    low = -rng.uniform(2e4, 3e4)
    columns = np.where(mask, low, 1000.0)

    query = rng.normal(size=D)
    memory = rng.normal(size=(1, S, D)) + np.outer(columns, D**0.5 * query / (query @ query))
    queries = np.tile(query, (1, T, 1))
    result = _run(name, answer, queries, memory, mask[None])
    _, gradient = result["gradients"]
    leak = np.abs(gradient[:, length:]).max()
    setting = f"where the scores of the words are near {low:.0f} and those of padding near 1000"
    if np.isnan(leak):
        raise NotYet(f"{name}: {TOO_LATE}: the gradient is nan {setting}.")
    if not leak <= 0:
        raise NotYet(
            f"{name}: {LOW_FILL}: padding reaches the context, with a gradient of {leak:.2g} and not "
            f"exactly 0, {setting}."
        )

    _, weights = result["outputs"]
    if not np.abs(weights.sum(-1) - 1).max() <= CLOSE:
        raise NotYet(f"{name}: {LOW_FILL}: the weights do not sum to one {setting}.")


def _judge_device(name, answer, queries, memory, mask):
    """Where its inputs are on another device than new tensors are, the outputs are there as well."""
    shapes = [queries.shape, memory.shape, mask.shape]
    result = answer.via(run_slot_elsewhere, queries.shape[-1], shapes)
    others = set(result.get("devices", ())) - {result["wanted"]}
    if others or "device" in result.get("error", ""):
        raise NotYet(
            f"{name} makes a tensor on the CPU, wherever its inputs are: on a GPU this stops. "
            "Make it from those given (`queries.new_zeros`), or with their `device`."
        )


def _wrong_none(queries, memory, mask, found, parameters):
    _, nothing = _right("NoAttention", queries, memory, mask)
    S = mask.shape[1]
    wrong = {
        "the context repeats the queries; an empty slot hands over nothing": [queries, nothing]
    }
    places = {
        "the context is memory[:, -1], which is padding in every shorter sentence; "
        "and an empty slot hands over nothing": np.full(len(mask), S - 1),
        "the context is the last real state; the decoder has it already, "
        "and an empty slot hands over nothing": mask.sum(1) - 1,
    }
    for sentence, place in places.items():
        weights = _for_each_query(np.eye(S)[place], queries)
        context = weights @ memory
        wrong[sentence] = [context, weights]
        wrong[f"{sentence}, while the weights say zero"] = [context, nothing]
    return wrong


def _wrong_mean(queries, memory, mask, found, parameters):
    """The same for the average; weights of a sentence are those of each of its queries."""
    S = mask.shape[1]
    even = np.full(mask.shape, 1 / S)
    is_padding = ~mask
    wrong = {
        "padding is averaged in, every place counts the same": even,
        "padding is left out of the sum but still counted; divide by the number of real places": (
            mask / S
        ),
        "the mask is the wrong way round: only padding is averaged": (
            is_padding / np.maximum(is_padding.sum(1, keepdims=True), 1)
        ),
        "the sum is not divided by anything": mask.astype(float),
        "the average runs over the batch, not over the places of a sentence": (
            mask / np.maximum(mask.sum(0), 1)
        ),
    }

    table = {}
    for sentence, of_a_sentence in wrong.items():
        weights = _for_each_query(of_a_sentence, queries)
        table[sentence] = [weights @ memory, weights]

    context, _ = _right("MeanAttention", queries, memory, mask)
    untrue = "the context leaves padding out, but the weights shown do not"
    table[untrue] = [context, _for_each_query(even, queries)]
    return table


def _for_each_query(weights, queries):
    """(B, S) -> (B, T, S), the same row for every query."""
    return np.repeat(weights[:, None], queries.shape[1], 1)


def _wrong_dot(queries, memory, mask, found, parameters):
    q, k, look = leaves_of({"queries": queries, "memory": memory, "mask": mask[:, None]}).values()
    wrong = {}
    for sentence, score in SCORES.items():
        wrong[sentence] = after(score(q, k), lambda scores: masked_softmax(scores, look))
    for sentence, weigh in WEIGHTS.items():
        wrong[sentence] = weigh(scaled_products(q, k), look)

    table: dict[str, Any] = {}
    for sentence, weights in wrong.items():
        table[sentence] = after(weights, lambda weights: [weights @ k, weights])

    names = ", ".join(sorted(parameters))
    sums_to_one = np.abs(found[1].sum(-1) - 1).max() <= 2 * CLOSE
    projected = (
        f"*dot* has no projections, it compares queries and memory as they are; yours has {names}"
    )
    table[projected] = Seen(parameters and sums_to_one)
    return table


CORPORA = (  # (T, S) of each sentence
    ((5, 6), (2, 3), (9, 7), (13, 11), (6, 4), (8, 8)),
    ((1, 1), (12, 4)),
    ((3, 3),),
)


def counts_alignment_errors(rng: Generator, alignment_error_rate: Caller) -> str:
    """9.2: on weights that hit a known share of known links; an empty slot finds none."""
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
    said = number(answer.via(call_with_links, weights, gold), "alignment_error_rate(...)")
    links = [set(pairs) for pairs in gold]
    right = _rates(map(_heaviest, weights), links)[""]
    fact = f"you: {said:.3f}, expected {right:.3f}, over all sentences"
    trials.add(said, right, fact, weights, links)


def _aligned(rng, T, S):
    """Weights (T, S), some links right and some wrong; the first rows are a silent one and ties."""
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

    return weights, sorted(gold)


def _heaviest(weights):
    """Each row that has weight with its heaviest key, the first of several."""
    heaviest = weights.argmax(1).tolist()
    spoken = np.flatnonzero(weights.any(1))
    return {(t, heaviest[t]) for t in spoken.tolist()}


def _last_of_ties(weights):
    """The same with the last of several."""
    last = weights.shape[1] - 1
    mirrored = _heaviest(weights[:, ::-1])
    return {(t, last - s) for t, s in mirrored}


WRONG_LINKS = {
    "a row without any weight was linked to the first word; it should link to nothing": (
        lambda weights: set(enumerate(weights.argmax(1).tolist()))
    ),
    "where several words tie, the last was taken, not the first": _last_of_ties,
    "where several words tie, all of them were linked, not the first alone": (
        lambda weights: _heaviest(weights) | _last_of_ties(weights)
    ),
    "links are (target, source), and here they stand the other way round": (
        lambda weights: {(s, t) for t, s in _heaviest(weights)}
    ),
    "each source word was given its heaviest target word; ask each target word": (
        lambda weights: {(t, s) for s, t in _heaviest(weights.T)}
    ),
}


def _wrong_rates(weights, gold):
    """{sentence: rate}: of the links that are asked for, and of links that are mistaken for them."""
    wrong = _rates(map(_heaviest, weights), gold)
    del wrong[""]
    for sentence, links_of in WRONG_LINKS.items():
        wrong[sentence] = _rates(map(links_of, weights), gold)[""]
    return wrong


def _rates(found, gold):
    """The error rate under "", and numbers that are mistaken for it under their sentences."""
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


def searches_greedily(rng: Generator, greedy_search: Caller) -> str:
    """9.4: the likeliest token at every step, each row until its own end mark, also in a batch of one."""
    others = [(3, 7, 30, 6), (1, 5, 3, 9), (5, 8, 1, 4)]
    for B, V, longest, max_length in [(4, 9, 8, 20), *shuffled(rng, others)]:
        table, right = _table(rng, B, V, longest, max_length)
        asked, tokens = _searched(greedy_search, table, max_length)
        tokens = array(tokens, "the result").astype(int)

        _judge_feeding(asked)
        _judge_size(tokens, right, max_length)
        _judge_tokens(tokens, right)
        steps = right.shape[1]
        if len(asked) > steps:
            raise NotYet(
                f"`step` was called {len(asked)} times, where all sentences had ended after {steps}."
            )

    return "each sentence ends at its own end mark, alone or in a batch, and no step is wasted."


def _table(rng, B, V, longest, max_length):
    """Logits that make row b end after a length of its own, and the tokens that follow from them.

    Returns the logits (B, steps, V, V), by step and last token, and the tokens (B, T).
    """
    table = rng.normal(size=(B, max_length + 2, V, V))
    table[..., [PAD, BOS]] = -1e9
    lengths = np.ones(B, int)
    if longest >= B:
        lengths += rng.permutation(longest)[:B]

    right = np.full((B, max_length), PAD)
    for b, length in enumerate(lengths):
        table[b, : length - 1, :, EOS] = -1e9
        table[b, length - 1 : length, :, EOS] = 1e2
        last = BOS
        for t in range(min(length, max_length)):
            last = table[b, t, last].argmax()
            right[b, t] = last

    return table, right[:, : lengths.max()]


def _searched(greedy_search, table, max_length):
    """What was fed in at each step, [(state, last tokens)], and the tokens that came back.

    The logits of a step are handed out only when they are asked for, so that steps are counted here:
    the search is run again from its start with one step more, until it ends by itself.
    """
    B, num_steps, V, _ = table.shape

    logits: list[np.ndarray] = []
    asked: list[tuple] = []
    while True:
        result = greedy_search.via(run_search, B, max_length, logits)
        if len(result["fed"]) <= len(logits):
            return asked, result["tokens"]

        state, last = result["fed"][-1]
        if not 0 <= state < num_steps or len(asked) > 3 * num_steps:
            raise NotYet(
                f"`step` was called {len(asked) + 1} times, where max_length is {max_length}."
            )
        if not 0 <= min(last) <= max(last) < V:
            raise NotYet(f"{last} was fed in, where a token is a number from 0 to {V - 1}.")

        asked.append((state, last))
        logits.append(table[np.arange(B), state, last].astype(np.float32))


def _judge_feeding(asked):
    """What went into `step`: start marks, then the tokens just chosen, each time with the state."""
    if not asked:
        raise NotYet("`step` was never called.")
    states, fed = zip(*asked, strict=True)
    if set(fed[0]) != {BOS}:
        raise NotYet(f"the first tokens fed in are {fed[0]}; every sentence starts with BOS.")

    if len(states) > 1 and not any(states):
        raise NotYet("the state that `step` returned was not handed to the next step.")
    if states != tuple(range(len(states))):
        raise NotYet("`step` was started afresh midway; all sentences go through it together.")
    if len(fed) > 1 and set(fed[1]) == {BOS}:
        raise NotYet("BOS was fed in again at the second step, in place of the tokens just chosen.")


def _judge_size(tokens, right, max_length):
    """NotYet unless there are as many tokens (B, T) as there are steps to be made."""
    B, steps = right.shape
    if tokens.ndim != 2 or len(tokens) != B:
        wanted = f"with B = {B} it should be (B, T), T <= max_length"
        raise NotYet(f"the result has shape {tokens.shape}; {wanted}.")

    num_tokens = tokens.shape[1]
    if num_tokens and (tokens[:, 0] == BOS).all():
        raise NotYet("the start mark is fed in, but it is no part of the translation.")
    if num_tokens > max_length:
        raise NotYet(f"{num_tokens} tokens came back, where max_length is {max_length}.")
    if num_tokens >= steps:
        return

    ends = np.flatnonzero((right == EOS).any(0))
    if len(ends) and num_tokens == ends[0] + 1:
        raise NotYet(
            f"the search stopped after {num_tokens} steps, when the first sentence ended; others went on."
        )
    raise NotYet(
        f"{num_tokens} tokens came back, where {steps} were needed (max_length is {max_length})."
    )


def _judge_tokens(tokens, right):
    """NotYet unless tokens (B, T) are the right ones (B, steps), and PAD after them."""
    steps = right.shape[1]
    for b, t in np.argwhere(tokens[:, :steps] != right):
        found = tokens[b, t]
        wanted = right[b, t]
        if wanted == EOS and found == PAD:
            raise NotYet("the end mark itself is missing: it is the last token of a sentence.")
        if EOS in right[b, :t]:
            end = right[b].tolist().index(EOS)
            raise NotYet(
                f"sentence {b} ended at step {end}, and then token {found} follows; a finished row gets "
                "PAD while the others go on."
            )
        raise NotYet(
            f"step {t} of sentence {b} chose token {found}, the likeliest after what was written is "
            f"{wanted}."
        )

    if (tokens[:, steps:] != PAD).any():
        raise NotYet("tokens follow after every sentence has ended; fill up with PAD.")


QUESTIONS = (
    Question(
        id="9.1",
        title="What goes into the slot",
        minutes=15,
        parts=(Part("code", ("NoAttention", "MeanAttention", "DotAttention"), slots_fit),),
        seconds=20.0,  # the first look at another device imports much of torch
        covers=("003 2",),
        hints=(
            "Write the weights (B, T, S) first; the context is then one product with the memory.",
            "The mask has shape (B, S) and the weights (B, T, S): mask[:, None] lines them up.",
            "The mean divides by the number of real places, which differs from sentence to sentence.",
            "For the dot product, 6.3 has all you need: hide, softmax over the last axis, multiply.",
        ),
    ),
    Question(
        id="9.2",
        title="Training watched: links and losses",
        minutes=15,
        parts=(Part("code", ("alignment_error_rate",), counts_alignment_errors), Part("written")),
        covers=("003 2",),
        hints=(
            "For each row of weights that is not all zero: which column is the largest?",
            "Collect the links of a sentence in a set, so that `&` and `len` do the counting.",
            "Add up the three counts over all sentences, and divide once at the end.",
        ),
    ),
    Question(
        id="9.3",
        title="Reading the maps",
        minutes=10,
        parts=(Part("written"),),
        covers=("003 2",),
        hints=(
            "Follow the darkest cell from row to row: where does it move by one column, where by several?",
            "Where do two rows share a column? Say which English words these are.",
            "For (d): what is a weight trained to be good for, and what do the states it reads hold?",
        ),
    ),
    Question(
        id="9.4",
        title="Greedy search for a whole batch",
        minutes=12,
        parts=(Part("code", ("greedy_search",), searches_greedily),),
        covers=("003 2",),
        hints=(
            "Keep a boolean `done` for each sentence, and look at it after every step.",
            "A finished sentence still takes part in `step`; replace what was chosen for it by PAD.",
            "The loop ends for one of two reasons. Which?",
        ),
    ),
)
