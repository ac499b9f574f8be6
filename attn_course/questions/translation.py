"""Questions 9.1-9.4, translation with a slot for attention."""

from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotYet, array, largest_gap, number, shuffled
from attn_course.answers.mistakes import (
    Seen,
    Trials,
    same,
)
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
        "NoAttention": no_attention,
        "MeanAttention": mean_attention,
        "DotAttention": dot_attention,
    }
    trials = {
        "NoAttention": Trials(_wrong_none, absolute=CLOSE),
        "MeanAttention": Trials(_wrong_mean, absolute=CLOSE),
        "DotAttention": Trials(_wrong_dot, absolute=CLOSE),
    }
    sizes = _slot_sizes(rng)
    for size in sizes:
        inputs = _sentences(rng, *size)
        for name, answer in slots.items():
            result = _run(name, answer, *inputs)
            found = result["outputs"]
            parameters = result["parameters"]

            right = _right(name, *inputs)
            setting = f"{name}, (B, T, S, D) = {size}"
            fact = _how_far(found, right, setting)
            trials[name].judge(found, right, fact, *inputs, found, parameters)
            _judge_company(name, answer, found, *inputs)
            _judge_gradients(name, result["gradients"], *inputs)

    for name in ("MeanAttention", "DotAttention"):
        _judge_leaks(rng, name, slots[name])
    for name, answer in slots.items():
        _judge_device(name, answer, *inputs)
    return (
        f"all three are right for {len(sizes)} shapes; neither padding nor the other sentences of a batch "
        "change a result."
    )


def _slot_sizes(rng):
    """(B, T, S, D): all axes different first, then a single step and few places, in any order."""
    S = int(rng.integers(5, 8))
    others = [
        (4, 1, 5, 4),
        (2, 3, 2, 12),
    ]
    return [(3, 4, S, 8), *shuffled(rng, others)]


def _sentences(rng, B, T, S, D):
    """Queries, memory with junk in the padding, mask; the first sentence fills its row.

    Returns (B, T, D), (B, S, D) and (B, S).
    """
    shorter = rng.integers(1, S, size=B - 1)
    lengths = np.array([S, *shorter])
    mask = np.arange(S) < lengths[:, None]

    junk = 7 * ~mask[..., None]
    memory = rng.normal(size=(B, S, D)) + junk
    queries = rng.normal(size=(B, T, D))
    return queries, memory, mask


def _run(name, answer, queries, memory, mask):
    """The slot's outcome, its outputs (context, weights) numbers of the right shapes.

    queries: (B, T, D). memory: (B, S, D). mask: (B, S), True where there is a word.
    """
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
        scores = queries @ memory.mT
        return [0 * queries, 0 * scores]

    scale = 0.0 if name == "MeanAttention" else None  # equal scores give equal weights
    see = mask[:, None]
    context, weights = attend(queries, memory, memory, mask=see, scale=scale)
    return [context, weights]


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
    """More padding at the end, or other sentences beside it, must not change a sentence's context.

    found: (context, weights) of the whole batch; the last sentence is looked at.
    """
    before = found[0][-1]
    longer_memory = np.pad(memory, ((0, 0), (0, 2), (0, 0)))
    longer_mask = np.pad(mask, ((0, 0), (0, 2)))
    companies = {
        "two more places of padding": (queries, longer_memory, longer_mask),
        "a batch without the other sentences": (queries[-1:], memory[-1:], mask[-1:]),
    }
    for what, inputs in companies.items():
        result = _run(name, answer, *inputs)
        context, _ = result["outputs"]
        far = largest_gap(context[-1], before)
        if not far <= CLOSE:
            raise NotYet(f"{name}: {what} changed the context of a sentence by {far:.2g}.")


def _judge_gradients(name, found, queries, memory, mask):
    """What flows back to queries and memory must be what flows back through the definition."""
    if name == "NoAttention":
        return

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
        how = _how_much_flows(have)
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
    sums = weights.sum(-1)
    if not largest_gap(sums, np.ones(sums.shape)) <= CLOSE:
        raise NotYet(f"{name}: {LOW_FILL}: the weights do not sum to one {setting}.")


def _how_much_flows(gradient):
    """A word for a gradient that is not what it should be."""
    if np.isnan(gradient).any():
        return "nan and no"
    if np.abs(gradient).max() > 1e-8:
        return "only part of the"
    return "no"


def _judge_device(name, answer, queries, memory, mask):
    """Where its inputs are on another device than new tensors are, the outputs are there as well."""
    width = queries.shape[-1]
    shapes = [queries.shape, memory.shape, mask.shape]
    result = answer.via(run_slot_elsewhere, width, shapes)

    error = result.get("error", "")
    others = set(result.get("devices", ())) - {result["wanted"]}
    if others or "device" in error:
        raise NotYet(
            f"{name} makes a tensor on the CPU, wherever its inputs are: on a GPU this stops. "
            "Make it from those given (`queries.new_zeros`), or with their `device`."
        )


def _wrong_none(queries, memory, mask, found, parameters):
    """{sentence: [context, weights]}."""
    B, T, _ = queries.shape
    S = mask.shape[1]
    nothing = np.zeros((B, T, S))
    places = {
        "the context is memory[:, -1], which is padding in every shorter sentence; "
        "and an empty slot hands over nothing": np.full(B, S - 1),
        "the context is the last real state; the decoder has it already, "
        "and an empty slot hands over nothing": mask.sum(1) - 1,
    }
    wrong = {
        "the context repeats the queries; an empty slot hands over nothing": [queries, nothing],
    }
    for sentence, place in places.items():
        one_hot = np.eye(S)[place]  # (B, S)
        weights = _for_each_query(one_hot, queries)
        context = weights @ memory
        wrong[sentence] = [context, weights]
        wrong[f"{sentence}, while the weights say zero"] = [context, nothing]

    return wrong


def _wrong_mean(queries, memory, mask, found, parameters):
    """The same for the average; weights of a sentence are those of each of its queries."""
    S = mask.shape[1]
    even = np.full(mask.shape, 1 / S)
    is_padding = ~mask
    num_padding = is_padding.sum(1, keepdims=True)
    in_batch = mask.sum(0)
    wrong = {
        "padding is averaged in, every place counts the same": even,
        "padding is left out of the sum but still counted; divide by the number of real places": (
            mask / S
        ),
        "the mask is the wrong way round: only padding is averaged": (
            is_padding / np.maximum(num_padding, 1)
        ),
        "the sum is not divided by anything": mask.astype(float),
        "the average runs over the batch, not over the places of a sentence": (
            mask / np.maximum(in_batch, 1)
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
    """The same for scaled dot products."""
    tensors = leaves_of({"queries": queries, "memory": memory, "mask": mask})
    q = tensors["queries"]
    k = tensors["memory"]
    look = tensors["mask"][:, None]
    scores = scaled_products(q, k)

    wrong = {}
    for sentence, score in SCORES.items():
        wrong[sentence] = after(score(q, k), lambda scores: masked_softmax(scores, look))
    for sentence, weigh in WEIGHTS.items():
        wrong[sentence] = weigh(scores, look)

    table: dict[str, Any] = {}
    for sentence, weights in wrong.items():
        table[sentence] = after(weights, lambda weights: [weights @ k, weights])

    names = ", ".join(sorted(parameters))
    row_sums = found[1].sum(-1)
    sums_to_one = same(row_sums, np.ones(row_sums.shape), CLOSE, CLOSE)
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
    many, few, one = (_corpus(rng, sizes) for sizes in CORPORA)
    for weights, gold in shuffled(rng, [many, few, one]):
        _add_corpus(trials, alignment_error_rate, weights, gold)
    trials.settle()

    weights, gold = many
    silent = [0 * of_a_sentence for of_a_sentence in weights]
    _add_corpus(trials, alignment_error_rate, silent, gold)
    trials.settle()
    return "the links of all sentences are counted together, and a row without weight is linked to nothing."


def _corpus(rng, shapes):
    """(weights, gold): one array (T, S) and one list of links a sentence."""
    weights = []
    gold = []
    for T, S in shapes:
        in_sentence, links = _aligned(rng, T, S)
        weights.append(in_sentence)
        gold.append(links)

    return weights, gold


def _add_corpus(trials, answer, weights, gold):
    """Ask for the rate of this corpus, and keep the trial."""
    result = answer.via(call_with_links, weights, gold)
    said = number(result, "alignment_error_rate(...)")

    links = [set(pairs) for pairs in gold]
    heaviest = [_heaviest(in_sentence) for in_sentence in weights]
    rates = _rates(heaviest, links)
    right = rates[""]
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


def _all_rows(weights):
    """Each row with its heaviest key, those without weight too."""
    return set(enumerate(weights.argmax(1).tolist()))


def _turned(weights):
    """As `_heaviest`, (source, target)."""
    return {(s, t) for t, s in _heaviest(weights)}


def _down_the_columns(weights):
    """The heaviest row of each key."""
    return {(t, s) for s, t in _heaviest(weights.T)}


def _both_ties(weights):
    """All that tie for the heaviest."""
    return _heaviest(weights) | _last_of_ties(weights)


WRONG_LINKS = {
    "a row without any weight was linked to the first word; it should link to nothing": _all_rows,
    "where several words tie, the last was taken, not the first": _last_of_ties,
    "where several words tie, all of them were linked, not the first alone": _both_ties,
    "links are (target, source), and here they stand the other way round": _turned,
    "each source word was given its heaviest target word; ask each target word": _down_the_columns,
}


def _wrong_rates(weights, gold):
    """{sentence: rate}: of the links that are asked for, and of links that are mistaken for them."""
    heaviest = [_heaviest(in_sentence) for in_sentence in weights]
    wrong = _rates(heaviest, gold)
    wrong.pop("")
    for sentence, links_of in WRONG_LINKS.items():
        links = [links_of(in_sentence) for in_sentence in weights]
        wrong[sentence] = _rates(links, gold)[""]

    return wrong


def _rates(found, gold):
    """The error rate under "", and numbers that are mistaken for it under their sentences."""
    in_both = np.array([len(a & b) for a, b in zip(found, gold, strict=True)])  # a sentence each
    num_found = np.array([len(links) for links in found])
    num_gold = np.array([len(links) for links in gold])
    by_sentence = 1 - 2 * in_both / (num_found + num_gold)

    both = in_both.sum()
    have = max(num_found.sum(), 1e-9)
    want = num_gold.sum()
    right = 1 - 2 * both / (have + want)

    return {
        "": right,
        "this is the share of right links; the error rate is one minus it": 1 - right,
        "this is a percentage; the rate goes from 0 to 1": 100 * right,
        "this is the mean over sentences; count the links of all sentences first": (
            by_sentence.mean()
        ),
        "this is one minus precision; gold links that were never found cost nothing": (
            1 - both / have
        ),
        "this is one minus recall; links that were found but are wrong cost nothing": 1
        - both / want,
        "links in both are divided by links in either": 1 - both / (have + want - both),
        "the factor 2 of (1) is missing": 1 - both / (have + want),
    }


def searches_greedily(rng: Generator, greedy_search: Caller) -> str:
    """9.4: the likeliest token at every step, each row until its own end mark, also in a batch of one."""
    others = [
        (3, 7, 30, 6),
        (1, 5, 3, 9),
        (5, 8, 1, 4),
    ]
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
            logits = table[b, t, last]
            last = int(logits.argmax())
            right[b, t] = last

    longest = int(lengths.max())
    steps = min(longest, max_length)
    return table, right[:, :steps]


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
    states = [state for state, _ in asked]
    fed = [set(last) for _, last in asked]
    if fed[0] != {BOS}:
        first = asked[0][1]
        raise NotYet(f"the first tokens fed in are {first}; every sentence starts with BOS.")

    if len(states) > 1 and not any(states):
        raise NotYet("the state that `step` returned was not handed to the next step.")
    if states != list(range(len(states))):
        raise NotYet("`step` was started afresh midway; all sentences go through it together.")
    if len(fed) > 1 and fed[1] == {BOS}:
        raise NotYet("BOS was fed in again at the second step, in place of the tokens just chosen.")


def _judge_size(tokens, right, max_length):
    """NotYet unless there are as many tokens (B, T) as there are steps to be made."""
    B, steps = right.shape
    if tokens.ndim != 2 or len(tokens) != B:
        wanted = f"with B = {B} it should be (B, T), T <= max_length"
        raise NotYet(f"the result has shape {tokens.shape}; {wanted}.")

    num_tokens = tokens.shape[1]
    starts = tokens[:, :1] == BOS
    if num_tokens and starts.all():
        raise NotYet("the start mark is fed in, but it is no part of the translation.")
    if num_tokens > max_length:
        raise NotYet(f"{num_tokens} tokens came back, where max_length is {max_length}.")
    if num_tokens < steps:
        raise NotYet(_too_short(num_tokens, right, max_length))


def _too_short(num_tokens, right, max_length):
    """A sentence for a search that gave up before its time."""
    steps = right.shape[1]
    some_end = (right == EOS).any(0)  # (steps,)
    ends = np.flatnonzero(some_end)
    if len(ends) and num_tokens == ends[0] + 1 < steps:
        return f"the search stopped after {num_tokens} steps, when the first sentence ended; others went on."
    return f"{num_tokens} tokens came back, where {steps} were needed (max_length is {max_length})."


def _judge_tokens(tokens, right):
    """NotYet unless tokens (B, T) are the right ones (B, steps), and PAD after them."""
    steps = right.shape[1]
    differs = tokens[:, :steps] != right
    if differs.any():
        place = np.argwhere(differs)[0]
        raise NotYet(_why_not_token(tokens, right, *place))

    after = tokens[:, steps:]
    if (after != PAD).any():
        raise NotYet("tokens follow after every sentence has ended; fill up with PAD.")


def _why_not_token(tokens, right, b, t):
    """A sentence on the first wrong token of sentence b, at step t."""
    found = tokens[b, t]
    wanted = right[b, t]
    if wanted == EOS and found == PAD:
        return "the end mark itself is missing: it is the last token of a sentence."
    if EOS in right[b, :t]:
        end = right[b].tolist().index(EOS)
        return (
            f"sentence {b} ended at step {end}, and then token {found} follows; a finished row gets "
            "PAD while the others go on."
        )

    return (
        f"step {t} of sentence {b} chose token {found}, the likeliest after what was written is "
        f"{wanted}."
    )


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
        parts=(
            Part("code", ("alignment_error_rate",), counts_alignment_errors),
            Part("written"),
        ),
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
