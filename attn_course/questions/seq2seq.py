"""Questions 9.1-9.8, a translator built from parts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotAttempted, NotYet, array, largest_gap, shuffled
from attn_course.answers.mistakes import Seen, Trials, same
from attn_course.answers.tensors import leaves_of
from attn_course.answers.wording import listed
from attn_course.drivers import (
    gradients_of,
    run_padding,
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
from attn_course.questions.seq2seq_network import (
    decoder_steps_are_the_sequence,
    encoder_reads_both_ways,
)
from attn_course.questions.seq2seq_scores import judge_scores
from attn_course.questions.seq2seq_training import loop_trains, loss_counts_real_words
from attn_course.register import Part, Question
from attn_utils.kernels import attend

PAD = 0  # as in attn_course.translation
BOS = 1
EOS = 2
CLOSE = 1e-4  # the slots run in float32, as they do in the model


Judges = dict[str, Callable[[], None]]  # by the name of what they judge


def judge_each(judges: Judges, about_all: str) -> str:
    """Judge several functions or classes of one answer; each that is right earns its share.

    The message names those that are empty, and what is wrong with the first that is wrong.
    """
    empty: list[str] = []
    wrong: list[NotYet] = []
    for name, judge in judges.items():
        try:
            judge()
        except NotAttempted:
            empty.append(name)
        except NotYet as error:
            wrong.append(error)
    if len(empty) == len(judges):
        raise NotAttempted
    if not empty and not wrong:
        return about_all

    message = str(wrong[0]) if wrong else "what is there is right."
    if empty:
        verb = "is" if len(empty) == 1 else "are"
        message += f" {listed(empty)} {verb} still empty."
    share = 1 - (len(empty) + len(wrong)) / len(judges)
    raise NotYet(message, share, mistake=wrong[0].mistake if wrong else "")


BATCHES = (((3, 5, 2), 7), ((1,), 0), ((4, 4), 3), ((2, 6, 1, 6), 0))  # lengths, pad


def pads(rng: Generator, pad_batch: Caller) -> str:
    """9.1: exactly the ids in rows, padding behind them, and a boolean mask."""
    for lengths, pad in shuffled(rng, BATCHES):
        words = [word for word in range(1, 30) if word != pad]
        sentences = [rng.choice(words, length).tolist() for length in lengths]
        result = pad_batch.run_driver(run_padding, sentences, pad)
        _judge_padded(result, sentences, pad)
    return f"{len(BATCHES)} batches: every sentence in its row, padding behind it and False in the mask."


def _judge_padded(result, sentences, pad):
    outputs = result["outputs"]
    if outputs is None or len(outputs) != 2:
        what = result.get("kinds", "one tensor")
        raise NotYet(f"two tensors are expected, (ids, mask), and {what} came back.")
    ids, mask = outputs
    if ids.dtype == bool and mask.dtype != bool:
        raise NotYet("the mask came first; return (ids, mask).")

    B, S = len(sentences), max(map(len, sentences))
    if ids.shape == (S, B) != (B, S):
        raise NotYet(
            f"the ids have shape {ids.shape}, expected {(B, S)}: a sentence must be a row; pad_sequence has "
            "batch_first=True."
        )
    if ids.shape != (B, S):
        hints = {
            min(map(len, sentences)): ": words of longer sentences are cut off",
        }
        hint = hints.get(ids.shape[-1], "; S is the longest sentence of this batch")
        raise NotYet(f"the ids have shape {ids.shape}, expected {(B, S)}{hint}.")
    if ids.dtype.kind == "f":
        raise NotYet("the ids are floats; an embedding needs whole numbers, torch.long.")
    if ids.dtype != np.int64:
        raise NotYet(f"the ids are of type {ids.dtype}; the loss needs targets of type torch.long.")

    real = np.arange(S) < np.array([len(sentence) for sentence in sentences])[:, None]
    expected = np.full((B, S), pad)
    expected[real] = np.concatenate(sentences)
    _judge_ids(ids, expected, real, sentences, pad)
    if mask.shape != (B, S):
        raise NotYet(
            f"the mask has shape {mask.shape}, expected {(B, S)}: one True or False for each "
            "place, not lengths."
        )
    if mask.dtype != bool:
        raise NotYet(
            f"the mask is of type {mask.dtype}; make it boolean, because `~mask` and "
            "`masked_fill` need it (~1 "
            "is -2)."
        )
    if (mask == ~real).all() and not real.all():
        raise NotYet("the mask is the wrong way round: True means a real word.")
    if mask.all() and not real.all():
        raise NotYet("the mask is True everywhere, also at padding.")
    if (mask != real).any():
        raise NotYet(f"the mask is wrong in {int((mask != real).sum())} places of {mask.size}.")


def _judge_ids(ids, expected, real, sentences, pad):
    if (ids == expected).all():
        return
    B, S = ids.shape
    front = np.full((B, S), pad)
    for row, sentence in zip(front, sentences, strict=True):
        row[S - len(sentence) :] = sentence
    if (ids == front).all():
        raise NotYet("padding stands before the words; it belongs behind them.")
    if sorted(ids.tolist()) == sorted(expected.tolist()):
        raise NotYet("row i must be sentence i, and here the rows are in another order.")
    if (ids[real] == expected[real]).all():
        raise NotYet(f"the padding is {int(ids[~real][0])}, whatever `pad` is; here it is {pad}.")
    raise NotYet(f"{int((ids != expected).sum())} ids of {ids.size} are wrong.")


def slots_fit(
    rng: Generator, no_attention: Caller, mean_attention: Caller, dot_attention: Caller
) -> str:
    """9.3: three slots, equal to their definition whatever stands in the padding, on any device."""
    S = int(rng.integers(5, 8))
    sizes = [(3, 4, S, 8), *shuffled(rng, [(4, 1, 5, 4), (2, 3, 2, 12)])]  # (B, T, S, D)
    batches = [(size, _sentences(rng, *size)) for size in sizes]
    slots = {
        "NoAttention": (no_attention, _wrong_none),
        "MeanAttention": (mean_attention, _wrong_mean),
        "DotAttention": (dot_attention, _wrong_dot),
    }
    judges: Judges = {
        name: partial(_judge_slot, rng, name, answer, mistakes, batches)
        for name, (answer, mistakes) in slots.items()
    }
    return judge_each(
        judges,
        f"all three are right for {len(sizes)} shapes; neither padding nor the other sentences of a batch "
        "change a result.",
    )


def _judge_slot(rng, name, answer, mistakes, batches):
    trials = Trials(mistakes, absolute=CLOSE)
    for size, inputs in batches:
        result = _run(name, answer, *inputs)
        found = result["outputs"]
        right = _right(name, *inputs)
        fact = _how_far(found, right, f"{name}, (B, T, S, D) = {size}")
        trials.require(found, right, fact, *inputs, found, result["parameters"])
        _judge_company(name, answer, found, *inputs)
        if name != "NoAttention":
            _judge_gradients(name, result["gradients"], *inputs)
        _judge_second_call(name, answer, right, *inputs)
    if name != "NoAttention":
        _judge_leaks(rng, name, answer)
    _judge_device(name, answer, *inputs)


def _judge_second_call(name, answer, right, queries, memory, mask):
    """Raise NotYet unless a slot that was called before gives what a new one gives."""
    others = (queries[::-1] + 1).astype(np.float32), (memory[::-1] - 1).astype(np.float32)
    before = [*others, mask[::-1].copy()]
    found = _run(name, answer, queries, memory, mask, before=before)["outputs"]
    if not max(map(largest_gap, found, right)) <= CLOSE:
        raise NotYet(
            f"{name}: called a second time, with other sentences, the slot still gives what belongs to the "
            "first call; keep nothing between calls."
        )


def learnt_scores_fit(rng: Generator, additive: Caller, bilinear: Caller) -> str:
    """9.4: both slots equal their formulas with parameters that the judge fills in."""
    judges: Judges = {
        name: partial(judge_scores, name, rng, answer)
        for name, answer in (("AdditiveAttention", additive), ("BilinearAttention", bilinear))
    }
    return judge_each(
        judges,
        "both are right for four shapes, with parameters that the check has filled in; padding "
        "has no influence.",
    )


def _sentences(rng, B, T, S, D):
    """Draw queries (B, T, D), memory (B, S, D) with junk in the padding, mask (B, S) with a full row 0."""
    shorter = rng.integers(1, S, size=B - 1)
    lengths = np.array([S, *shorter])
    mask = np.arange(S) < lengths[:, None]

    junk = 7 * ~mask[..., None]
    memory = rng.normal(size=(B, S, D)) + junk
    queries = rng.normal(size=(B, T, D))
    return queries, memory, mask


def _run(name, answer, queries, memory, mask, before=None):
    """Return the slot's outcome; raise NotYet unless its outputs (context, weights) have the right shapes."""
    B, T, D = queries.shape
    S = memory.shape[1]
    result = answer.run_driver(run_slot, D, queries, memory, mask, before=before)
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
    """Return [context (B, T, D), weights (B, T, S)] of arrays or tensors."""
    if name == "NoAttention":
        return [0 * queries, 0 * (queries @ memory.mT)]

    scale = 0.0 if name == "MeanAttention" else None  # equal scores give equal weights
    return list(attend(queries, memory, memory, mask=mask[:, None], scale=scale))


def _how_far(found, right, setting):
    """Return a clause on how far [context, weights] are from what is right."""
    context, weights = map(largest_gap, found, right)
    if np.isnan([context, weights]).any():
        return f"the result contains nan ({setting})"
    if weights <= CLOSE:
        return f"the weights are right, but the context is off by {context:.2g} ({setting})"
    return (
        f"the weights are off by up to {weights:.2g} and the context by {context:.2g} ({setting})"
    )


def _judge_company(name, answer, found, queries, memory, mask):
    """Raise NotYet if more padding, or other sentences beside it, change the last sentence's context."""
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


def _judge_gradients(name, gradients, queries, memory, mask):
    """Raise NotYet unless the gradients of queries and memory are those of the definition."""
    leaves = leaves_of({"queries": queries, "memory": memory})
    context, _ = _right(name, leaves["queries"], leaves["memory"], mask)
    targets = gradients_of(context, list(leaves.values())) or []
    if not gradients:
        gradients = [0 * gradient for gradient in targets]

    for what, have, want in zip(leaves, gradients, targets, strict=True):
        if same(have, want, 1e-3, 1e-3):
            continue
        if have.shape != want.shape:
            raise NotYet(f"{name}: the gradient of the {what} has shape {have.shape}.")
        how = "only part of the" if np.abs(have).max() > 1e-8 else "no"
        if np.isnan(have).any():
            how = "nan and no"
        raise NotYet(f"{name} is right, but {how} gradient flows back to the {what}.")


def _judge_leaks(rng, name, answer):
    """Raise NotYet if padding reaches the context, though its scores are far above those of all words."""
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
    """Raise NotYet unless the outputs are on the device of the inputs, where new tensors are on another."""
    shapes = [queries.shape, memory.shape, mask.shape]
    result = answer.run_driver(run_slot_elsewhere, queries.shape[-1], shapes)
    others = set(result.get("devices", ())) - {result["wanted"]}
    if others or result.get("names_device"):
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
    """Return the same for the average; weights of a sentence are those of each of its queries."""
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


def searches_greedily(rng: Generator, greedy_search: Caller) -> str:
    """9.8: the likeliest token at every step, each row until its own end mark, also in a batch of one."""
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
    """Return logits that make row b end after a length of its own, and the tokens that follow from them.

    Returns the logits (B, steps, V, V), by step and last token, and the tokens (B, T).
    """
    table = rng.normal(size=(B, max_length + 2, V, V))
    table[..., [PAD, BOS]] = -1e9
    lengths = np.ones(B, int)
    if longest >= B:
        lengths += rng.permutation(longest)[:B]
    if longest > max_length:  # one sentence at least reaches the limit
        lengths[0] = max(lengths[0], max_length + 2)

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
    """Return what was fed in at each step, [(state, last tokens)], and the tokens that came back.

    The logits of a step are handed out only when they are asked for, so that steps are counted here:
    the search is run again from its start with one step more, until it ends by itself.
    """
    B, num_steps, V, _ = table.shape

    logits: list[np.ndarray] = []
    asked: list[tuple] = []
    while True:
        result = greedy_search.run_driver(run_search, B, max_length, logits)
        if "shape" in result:
            raise NotYet(
                f"the last tokens were fed in with shape {tuple(result['shape'])}, expected {(B,)}: `step` "
                "wants the token written last of each sentence."
            )
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
    """Raise NotYet unless `step` got start marks, then the tokens just chosen, each time with the state."""
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
    """Raise NotYet unless there are as many tokens (B, T) as there are steps to be made."""
    B, steps = right.shape
    if tokens.ndim != 2 or len(tokens) != B:
        shape = f"with B = {B} it should be (B, T), T <= max_length"
        raise NotYet(f"the result has shape {tokens.shape}; {shape}.")

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
    """Raise NotYet unless tokens (B, T) are the right ones (B, steps), and PAD after them."""
    steps = right.shape[1]
    for b, t in np.argwhere(tokens[:, :steps] != right):
        token = tokens[b, t]
        expected = right[b, t]
        if expected == EOS and token == PAD:
            raise NotYet("the end mark itself is missing: it is the last token of a sentence.")
        if EOS in right[b, :t]:
            end = right[b].tolist().index(EOS)
            raise NotYet(
                f"sentence {b} ended at step {end}, and then token {token} follows; a finished row gets "
                "PAD while the others go on."
            )
        raise NotYet(
            f"step {t} of sentence {b} chose token {token}, the likeliest after what was written is "
            f"{expected}."
        )

    if (tokens[:, steps:] != PAD).any():
        raise NotYet("tokens follow after every sentence has ended; fill up with PAD.")


QUESTIONS = (
    Question(
        id="9.1",
        title="A padded batch",
        minutes=5,
        parts=(Part("code", ("pad_batch",), pads, points=0.5),),
        hints=(
            "How long is each sentence, and how long is the longest of this batch?",
            "A mask compares two things: the number of a place, and the length of its sentence.",
            "torch.arange(S) has shape (S,), the lengths as a column have shape (B, 1); "
            "comparing them gives (B, S).",
        ),
    ),
    Question(
        id="9.2",
        title="The encoder",
        minutes=17,
        parts=(Part("code", ("Encoder",), encoder_reads_both_ways, points=3),),
        seconds=20.0,
        hints=(
            "nn.GRU with bidirectional=True returns the states of both directions joined, and "
            "the last state of each.",
            "pack_padded_sequence tells the GRU where each sentence ends. It wants the lengths on the CPU.",
            "Unpack with pad_packed_sequence; its total_length makes the memory as long as the batch, S.",
            "last has shape (2, B, D / 2): its two parts belong side by side along the features, "
            "not one below the other.",
        ),
    ),
    Question(
        id="9.3",
        title="Three slots for attention",
        minutes=13,
        parts=(
            Part("code", ("NoAttention", "MeanAttention", "DotAttention"), slots_fit, points=2),
        ),
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
        id="9.4",
        title="Learnt scores",
        minutes=11,
        parts=(
            Part("code", ("AdditiveAttention", "BilinearAttention"), learnt_scores_fit, points=1),
        ),
        seconds=20.0,
        covers=("003 2",),
        hints=(
            "Additive: which shape has a number for each query, each key and each of A features?",
            "An axis of size 1 in the projected queries, and one in the projected keys, lets + "
            "make all pairs.",
            "The layer score turns the last axis into size 1; take it away before the softmax.",
            "Bilinear: project the memory, and go on as in *dot*. The values stay the memory as it was.",
        ),
    ),
    Question(
        id="9.5",
        title="The decoder",
        minutes=22,
        parts=(Part("code", ("Decoder",), decoder_steps_are_the_sequence, points=4),),
        seconds=20.0,
        covers=("003 2",),
        hints=(
            "The cell is nn.GRUCell: it reads the word and the vector fed, joined, and the old hidden state.",
            "The attention wants queries (B, T, D); a step has one query for each sentence, T = 1.",
            "What the step hands on is a pair: the hidden state, and the vector that also gives the logits.",
            "forward has no rule of its own: it calls step for each column of inputs and stacks the logits.",
        ),
    ),
    Question(
        id="9.6",
        title="The loss of real words",
        minutes=8,
        parts=(Part("code", ("masked_loss",), loss_counts_real_words, points=0.5),),
        covers=("003 2",),
        hints=(
            "torch's cross_entropy has an option for what it leaves out, and one for smoothing.",
            "It expects the classes on axis 1: make the batch and the words one axis first.",
        ),
    ),
    Question(
        id="9.7",
        title="The training loop",
        minutes=7,
        parts=(Part("code", ("train",), loop_trains, points=0.5),),
        covers=("003 2",),
        hints=(
            "Five lines for each batch: clear, loss, backward, clip, step. Which of them belongs "
            "before backward?",
            "nn.utils has a function that clips the norm of all gradients together, in place.",
            "A loss that is stored as a tensor keeps its whole graph; store the number.",
        ),
    ),
    Question(
        id="9.8",
        title="Greedy search for a whole batch",
        minutes=10,
        parts=(Part("code", ("greedy_search",), searches_greedily, points=1),),
        covers=("003 2",),
        hints=(
            "Keep a boolean `done` for each sentence, and look at it after every step.",
            "A finished sentence still takes part in `step`; replace what was chosen for it by PAD.",
            "The loop ends for one of two reasons. Which?",
        ),
    ),
)
