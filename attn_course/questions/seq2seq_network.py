"""The judges of 9.2 and 9.5: the encoder and the decoder of the translator.

Both are judged by what they do. No name or shape of a parameter is asked for.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotAttempted, NotYet, largest_gap, shuffled
from attn_course.answers.wording import listed
from attn_course.drivers import run_decoder, run_encoder

V = 11  # tokens of the small networks that are judged
D = 8
CLOSE = 1e-4  # they run in float32
MOVED = 1e-6  # a number that changes by less may have changed by rounding
FIRST_WORD = 3  # the ids below are marks
NOT_PACKED = (
    "the backward GRU starts in the padding; pack the batch, or keep the old state where the mask is "
    "False"
)


def _judge_registered(result):
    """Raise NotYet if something is trained that is no parameter of the module."""
    if result["unknown"]:
        raise NotYet(
            f"a layer with a weight of shape {tuple(result['unknown'][0])} is no submodule, so an optimiser "
            "would never change it: make each layer in `__init__` and keep it as an attribute, or several in "
            "an nn.ModuleList."
        )


# The encoder


def encoder_reads_both_ways(rng: Generator, encoder_class: Caller) -> str:
    """9.2: memory and state depend on all words of a sentence, and on nothing else."""
    for lengths in shuffled(rng, [(4, 7, 2, 5), (3, 6, 4)]):
        _judge_encoder(encoder_class, *_encoder_batches(rng, lengths))
    return (
        "each place knows the words before and behind it; neither padding nor the other sentences of a "
        "batch change a result."
    )


def _encoder_batches(rng, lengths):
    """Draw lengths, and {name: (ids, mask)} of a batch and of changes of it; the longest is sentence 1."""
    S = max(lengths)
    mask = np.arange(S) < np.array(lengths)[:, None]
    ids = np.where(mask, rng.integers(FIRST_WORD, V, mask.shape), 0)
    ids[1] = rng.permutation(np.arange(FIRST_WORD, V))[:S]  # all different

    def changed(place, value):
        copy = ids.copy()
        copy[1, place] = value
        return copy, mask

    another = ids[1, 2]
    batches = {
        "batch": (ids, mask),
        "again": (ids, mask),
        "more padding": (np.pad(ids, ((0, 0), (0, 3))), np.pad(mask, ((0, 0), (0, 3)))),
        "other ids": (np.where(mask, ids, rng.integers(FIRST_WORD, V, mask.shape)), mask),
        "first word": changed(0, another),
        "last word": changed(S - 1, another),
        "exchanged": changed([2, 3], ids[1, [3, 2]]),
    }
    for b, length in enumerate(lengths):
        batches[f"alone {b}"] = (ids[b : b + 1, :length], mask[b : b + 1, :length])
    return lengths, batches


def _judge_encoder(encoder_class, lengths, batches):
    result = _run_encoder(encoder_class, list(map(list, batches.values())))
    outputs = dict(zip(batches, result["outputs"], strict=True))
    for name, (ids, _) in batches.items():
        _judge_encoder_shapes(name, outputs[name], *ids.shape)

    memory, state = outputs["batch"]
    mask = batches["batch"][1]
    _judge_registered(result)
    if not max(map(largest_gap, outputs["again"], (memory, state))) <= MOVED:
        raise NotYet(
            "two runs on the same batch in eval() differ: dropout must be off there, as that of "
            "nn.Dropout is."
        )
    _judge_padding(outputs, mask)
    _judge_neighbours(outputs, lengths)
    _judge_other_ids(outputs, mask)
    _judge_words(outputs, lengths[1])

    reached = set().union(*result["reached"])
    missing = sorted(set(result["names"]) - reached)
    _judge_both_ways(result)
    for name, names in zip(("memory", "state"), result["reached"], strict=True):
        if not names:
            raise NotYet(f"no gradient flows back from the {name}: it leaves the graph on the way.")
    if missing:
        raise NotYet(f"no gradient reaches {listed(missing)}, so training would never change it.")


def _judge_both_ways(result):
    """Raise NotYet if the state is made of one direction of a layer that reads in both."""
    of_state = set(result["reached"][1])
    for names in result["both ways"]:
        left_out = sorted(set(names) - of_state)
        if left_out and len(left_out) < len(names):
            raise NotYet(
                f"no gradient flows from the state to {listed(left_out)}: the state is made of one direction "
                "alone; join the last states of both."
            )


def _run_encoder(encoder_class, batches):
    try:
        result = encoder_class.run_driver(run_encoder, V, D, batches)
    except NotYet as error:
        text = str(error)
        if "enforce_sorted" in text:
            message = "the lengths of a batch are not sorted: pack with enforce_sorted=False."
            raise NotYet(message) from None
        raise
    if "kind" in result:
        raise NotYet(f"an nn.Module is expected, but this is of type {result['kind']}.")
    if "kinds" in result or any(len(outputs) != 2 for outputs in result["outputs"]):
        raise NotYet("forward should return two tensors, (memory, state).")
    return result


def _judge_encoder_shapes(name, outputs, B, S):
    memory, state = outputs
    if state.shape == (2, B, D // 2):
        raise NotYet(
            f"the state has shape {state.shape}, expected {(B, D)}: join the last states of both directions."
        )
    if (memory.shape, state.shape) == ((B, D), (B, S, D)):
        raise NotYet("forward returns (state, memory); the memory comes first.")
    if memory.shape == (B, S, 2 * D):
        raise NotYet(
            f"the memory has shape {memory.shape}, expected {(B, S, D)}: each direction gets half "
            "of the width."
        )
    if name == "more padding" and memory.shape == (B, S - 3, D):
        raise NotYet(
            f"with more padding, S = {S}, the memory still has the {S - 3} places of the longest sentence: "
            "give pad_packed_sequence a total_length."
        )
    for what, found, expected in (("memory", memory, (B, S, D)), ("state", state, (B, D))):
        if found.shape != expected:
            raise NotYet(f"the {what} has shape {found.shape}, expected {expected}.")
        if not np.isfinite(found).all():
            raise NotYet(
                f"the {what} has numbers that are not finite, also padding must have some."
            )


def _judge_padding(outputs, mask):
    """Raise NotYet if more padding at the end changes the outputs for real words."""
    memory, state = outputs["batch"]
    S = mask.shape[1]
    padded_memory, padded_state = outputs["more padding"]
    far = largest_gap(padded_memory[:, :S][mask], memory[mask])
    if not far <= CLOSE:
        raise NotYet(
            f"padding changes the memory at real places by {far:.2g}: {NOT_PACKED}. (A mean or a norm over "
            "the places would mix padding in, too.)"
        )
    far = largest_gap(padded_state, state)
    if not far <= CLOSE:
        shorter = state[~mask[:, -1]]
        if len(shorter) > 1 and np.ptp(shorter, axis=0).max() <= MOVED:
            raise NotYet(
                "the state of a shorter sentence does not depend on its words: the last place of its row "
                "is padding."
            )
        raise NotYet(
            f"padding changes the state by {far:.2g}, and the memory not: the state is made of padding, too; "
            "make it of the last real states."
        )


def _judge_other_ids(outputs, mask):
    """Raise NotYet if other ids in the padding change the outputs for real words."""
    memory, state = outputs["batch"]
    other_memory, other_state = outputs["other ids"]
    far = max(largest_gap(other_memory[mask], memory[mask]), largest_gap(other_state, state))
    if not far <= CLOSE:
        raise NotYet(
            f"other ids in the padding change a result by {far:.2g}: the mask says what is real, not the id."
        )


def _judge_neighbours(outputs, lengths):
    """Raise NotYet unless a sentence alone gives what it gives in its batch."""
    memory, state = outputs["batch"]
    for b, length in enumerate(lengths):
        alone_memory, alone_state = outputs[f"alone {b}"]
        far = largest_gap(alone_memory[0], memory[b, :length])
        if not far <= CLOSE:
            _judge_order(outputs, lengths)
            raise NotYet(
                f"a sentence changes by {far:.2g} with its neighbours: the GRU reads along the batch, where "
                "batch_first=True is missing, or something else mixes the rows."
            )
        far = largest_gap(alone_state[0], state[b])
        if not far <= CLOSE:
            _judge_order(outputs, lengths)
            raise NotYet(
                f"the state mixes the sentences of a batch, it is off by {far:.2g}: join last[0] and last[1] "
                "along the features."
            )


def _judge_order(outputs, lengths):
    """Raise NotYet if the rows came back in the order of their lengths."""
    memory, state = outputs["batch"]
    order = np.argsort(lengths)[::-1]
    alone_states = [outputs[f"alone {b}"][1][0] for b in order]
    alone_memories = [outputs[f"alone {b}"][0][0] for b in order]
    has_moved = largest_gap(np.stack(alone_states), state) <= CLOSE or all(
        largest_gap(alone, row[: len(alone)]) <= CLOSE
        for alone, row in zip(alone_memories, memory, strict=True)
    )
    if has_moved:
        raise NotYet("row i is no longer sentence i: undo the sorting.")


def _judge_words(outputs, length):
    """Raise NotYet unless the ends of sentence 1 and the order of its words change memory and state."""
    memory, state = (output[1] for output in outputs["batch"])
    if np.ptp(memory[:length], axis=0).max() <= MOVED:
        raise NotYet(
            "the memory is the same at all places of a sentence; each place should hold the two states that "
            "belong to it."
        )
    moved = {
        name: [
            np.abs(outputs[name][0][1] - memory).max(1) > MOVED,
            _moves(outputs[name][1][1], state),
        ]
        for name in ("first word", "last word", "exchanged")
    }
    at_last = moved["first word"][0][length - 1]
    at_first = moved["last word"][0][0]
    if not at_last and not at_first:
        raise NotYet(
            "a place of the memory knows its own word alone: the first place does not change with the last "
            "word, nor the last with the first."
        )
    if not at_first:
        raise NotYet(
            "the first place of the memory does not change with the last word: read in both directions."
        )
    if not at_last:
        raise NotYet(
            "the last place of the memory does not change with the first word: read in both directions."
        )
    for name in ("first word", "last word"):
        if not moved[name][1]:
            raise NotYet(
                f"the state does not change with the {name} of a sentence: make it of the last states of "
                "both directions."
            )
    if not moved["exchanged"][0][0]:
        raise NotYet(
            "two words that change places leave the first place of the memory as it was: the order is lost."
        )


def _moves(one, other):
    return bool(largest_gap(one, other) > MOVED)


# The decoder


def decoder_steps_are_the_sequence(rng: Generator, decoder_class: Caller) -> str:
    """9.5: a step asks the attention once and feeds what it read; `forward` is T such steps."""
    for T, lengths in shuffled(rng, [(4, (5, 3, 4)), (6, (2, 3))]):
        setting = _decoder_setting(rng, T, lengths)
        steps = _run_decoder(decoder_class, setting, _STEPS)
        _judge_step(setting, steps)
        try:
            both = _run_decoder(decoder_class, setting, _STEPS | _SEQUENCES)
        except NotAttempted:
            raise NotYet("`step` is right, and `forward` is still empty.", share=0.5) from None
        try:
            _judge_sequence(setting, both)
        except NotYet as error:
            error.share = 0.5
            error.args = (f"`step` is right, but {error}",)
            raise
    return (
        "each step asks the attention once and feeds what it read to the next; a sequence gives what its "
        "steps give, whatever stands in the padding."
    )


def _decoder_setting(rng, T, lengths):
    """Draw {name: array} of a batch: tokens (B, T), the first hidden state, memory and mask."""
    B = len(lengths)
    S = max(lengths)
    mask = np.arange(S) < np.array(lengths)[:, None]
    return {
        "tokens": rng.integers(FIRST_WORD, V, (B, T)),
        "hidden": rng.uniform(-0.9, 0.9, (B, D)).astype(np.float32),
        "memory": rng.normal(size=(B, S, D)).astype(np.float32),
        "mask": mask,
    }


def _with(setting, **changes):
    return setting | changes


def _other_tokens(tokens, places):
    """Return the tokens with other words at some places of each row."""
    changed = tokens.copy()
    changed[:, places] = FIRST_WORD + (tokens[:, places] - FIRST_WORD + 1) % (V - FIRST_WORD)
    return changed


def _more_padding(setting):
    memory = np.pad(setting["memory"], ((0, 0), (0, 2), (0, 0)), constant_values=50.0)
    return _with(setting, memory=memory, mask=np.pad(setting["mask"], ((0, 0), (0, 2))))


def _last_alone(setting):
    length = setting["mask"][-1].sum()
    alone = {name: values[-1:] for name, values in setting.items()}
    return alone | {"memory": alone["memory"][:, :length], "mask": alone["mask"][:, :length]}


# What is run, {name: (what is changed in the setting, whether at once, the shift of a context)}
Change = Callable[[dict], dict]
_STEPS: dict[str, tuple[Change, bool, Any]] = {
    "steps": (dict, False, None),
    "again": (dict, False, None),
    "other word": (lambda one: _with(one, tokens=_other_tokens(one["tokens"], [0])), False, None),
    "other hidden": (lambda one: _with(one, hidden=-one["hidden"]), False, None),
    "shifted": (dict, False, (0, 3.0)),
    "empty": (dict, False, (0, None)),
    "empty, other word": (
        lambda one: _with(one, tokens=_other_tokens(one["tokens"], [0])),
        False,
        (0, None),
    ),
    "alone": (_last_alone, False, None),
    "padded": (_more_padding, False, None),
}
_SEQUENCES: dict[str, tuple[Change, bool, Any]] = {
    "sequence": (dict, True, None),
    "sequence, other first": (
        lambda one: _with(one, tokens=_other_tokens(one["tokens"], [0])),
        True,
        None,
    ),
    "sequence, other later": (
        lambda one: _with(one, tokens=_other_tokens(one["tokens"], slice(1, None))),
        True,
        None,
    ),
    "sequence, other last": (
        lambda one: _with(one, tokens=_other_tokens(one["tokens"], [-1])),
        True,
        None,
    ),
    "sequence, alone": (_last_alone, True, None),
    "sequence, padded": (_more_padding, True, None),
}


def _run_decoder(decoder_class, setting, table):
    """Return the result of the driver, with its runs by name."""
    runs = [
        change(setting) | {"forward": at_once, "shift": shift}
        for change, at_once, shift in table.values()
    ]
    result = decoder_class.run_driver(run_decoder, V, D, runs)
    if "kind" in result:
        raise NotYet(f"an nn.Module is expected, but this is of type {result['kind']}.")
    if "returned" in result:
        raise NotYet(f"{result['returned']}.")
    if not result["registered"]:
        raise NotYet(
            "the attention that was given is no submodule: keep it as an attribute of the decoder, or its "
            "parameters will not be trained."
        )
    _judge_registered(result)
    return result | {"runs": dict(zip(table, result["runs"], strict=True))}


def _judge_step(setting, result):
    runs = result["runs"]
    first = runs["steps"]
    _judge_step_shapes(setting, first)
    if largest_gap(np.stack(runs["again"]["logits"]), np.stack(first["logits"])) > MOVED:
        raise NotYet(
            "two runs on the same words in eval() differ: dropout must be off there, as that of "
            "nn.Dropout is."
        )
    _judge_questions(setting, first)
    _judge_moves(runs)
    if any(np.abs(row.sum(-1) - 1).max() <= CLOSE and row.min() >= 0 for row in first["logits"]):
        raise NotYet(
            "the logits of a step are positive and sum to one: leave out the softmax, the loss "
            "takes it itself."
        )
    _judge_feeding(setting, runs)
    for name, rows, what in (
        ("alone", slice(-1, None), "the other sentences of the batch change"),
        ("padded", slice(None), "more padding changes"),
    ):
        far = largest_gap(np.stack(runs[name]["logits"]), np.stack(first["logits"])[:, rows])
        if not far <= CLOSE:
            raise NotYet(f"{what} the logits of a sentence by {far:.2g}.")


def _judge_step_shapes(setting, run):
    B, S = setting["mask"].shape
    logits = run["logits"][0]
    weights = run["weights"][0]
    if logits.shape != (B, V):
        hint = ": a step is about one word, without an axis T" if logits.ndim == 3 else ""
        raise NotYet(f"the logits of a step have shape {logits.shape}, expected {(B, V)}{hint}.")
    if weights.shape != (B, S):
        hint = ": take away the axis of the one query" if weights.ndim == 3 else ""
        raise NotYet(f"the weights of a step have shape {weights.shape}, expected {(B, S)}{hint}.")
    for part in run["state"][0]:
        if part.ndim < 1 or len(part) != B:
            raise NotYet(
                f"a tensor of the state has shape {part.shape}; its first axis must be the batch, {B}."
            )
    if not all(np.isfinite(part).all() for part in (logits, weights, *run["state"][0])):
        raise NotYet("a step gives numbers that are not finite.")


def _judge_questions(setting, run):
    """Raise NotYet unless the attention was asked rightly, and once in every step."""
    B, S = setting["mask"].shape
    T = setting["tokens"].shape[1]
    asked = run["asked"]
    if len(asked) != T:
        times = f"{len(asked)} times in {T} steps" if asked else "never"
        raise NotYet(f"the attention was asked {times}; ask once in each step.")
    for (queries, memory, mask), weights in zip(asked, run["weights"], strict=True):
        if queries.shape != (B, 1, D):
            hint = ": one query for each sentence, hidden[:, None]"
            raise NotYet(
                f"the attention was asked with queries {queries.shape}, expected {(B, 1, D)}{hint}."
            )
        if mask is None or mask.shape != (B, S) or (mask != setting["mask"]).any():
            raise NotYet("the mask that the attention is asked with is not the one that was given.")
        if memory.shape != (B, S, D) or largest_gap(memory, setting["memory"]) > CLOSE:
            raise NotYet(
                "the memory that the attention is asked with is not the one that was given."
            )
        scores = queries @ memory.mT / D**0.5
        scores = np.where(mask[:, None], scores, -np.inf)
        expected = np.exp(scores - scores.max(-1, keepdims=True))
        expected /= expected.sum(-1, keepdims=True)
        if not largest_gap(weights, expected[:, 0]) <= CLOSE:
            raise NotYet("the weights that a step returns are not those that the attention gave.")


def _judge_moves(runs):
    first = runs["steps"]
    if not _moves(runs["other hidden"]["asked"][0][0], first["asked"][0][0]):
        raise NotYet(
            "the query does not change with the hidden state: the hidden state asks, not the word."
        )
    reasons = {
        "other word": "the logits do not change with the word that was read",
        "other hidden": "the logits do not change with the hidden state",
        "shifted": "the logits do not change with the context: what the attention read is not used",
    }
    for name, sentence in reasons.items():
        if not _moves(runs[name]["logits"][0], first["logits"][0]):
            raise NotYet(f"{sentence}.")
    if not _moves(runs["empty, other word"]["logits"][0], runs["empty"]["logits"][0]):
        raise NotYet(
            "where the slot gives a context of zeros, as *none* does, the logits do not change with the "
            "word: the hidden state itself belongs beside the context."
        )


def _judge_feeding(setting, runs):
    """Raise NotYet unless what step 1 read is known to the hidden state of step 2."""
    first = runs["steps"]
    shifted = runs["shifted"]
    word = runs["other word"]
    same_shapes = [part.shape for part in first["state"][0]] == [
        part.shape for part in shifted["state"][0]
    ]
    if not same_shapes:
        raise NotYet("the tensors of the state change their shapes from call to call.")

    def any_moves(one, other):
        return any(_moves(a, b) for a, b in zip(one, other, strict=True))

    if not any_moves(word["state"][0], first["state"][0]):
        raise NotYet("the state that comes back is the one that was given: return the new one.")
    hidden = first["state"][0][0]
    if hidden.shape == setting["hidden"].shape and not _moves(hidden, setting["hidden"]):
        raise NotYet(
            "the hidden state that comes back is the one that was given: the next step starts from the new "
            "one."
        )
    if _moves(shifted["asked"][1][0], first["asked"][1][0]):
        return
    if not any_moves(shifted["state"][0], first["state"][0]):
        raise NotYet(
            "the state that comes back holds nothing of what the step has read: hand on the new vector that "
            "is fed."
        )
    raise NotYet(
        "the hidden state of the next step does not know what this step has read: feed it the vector of the "
        "step before, beside the word."
    )


def _judge_sequence(setting, result):
    runs = result["runs"]
    steps = np.stack(runs["steps"]["logits"], 1)  # (B, T, V)
    sequence = runs["sequence"]["logits"]
    _judge_sequence_shape(sequence, steps)
    asked = len(runs["sequence"]["asked"])
    T = steps.shape[1]
    if asked != T:
        raise NotYet(
            f"`forward` asks the attention {asked} times for {T} words; ask once for each."
        )

    far = largest_gap(sequence, steps)
    if not far <= CLOSE:
        _explain_sequence(result, sequence)
        raise NotYet(f"`forward` differs from {T} steps by {far:.2g}.")
    for name, rows in (("sequence, alone", slice(-1, None)), ("sequence, padded", slice(None))):
        if not largest_gap(runs[name]["logits"], sequence[rows]) <= CLOSE:
            raise NotYet("`forward` changes with padding or with the other sentences of the batch.")
    if not all(result["flows"]):
        what = "first state" if not result["flows"][0] else "memory"
        raise NotYet(f"in `forward` the loss of the last step does not flow back to the {what}.")
    missing = sorted(set(result["names"]) - set(result["reached"]))
    if missing:
        raise NotYet(f"no gradient reaches {listed(missing)}, so training would never change it.")


def _judge_sequence_shape(sequence, steps):
    B, T, _ = steps.shape
    hints = {
        (B, V): ": only the last row came back",
        (T, B, V): ": the batch comes first, stack along axis 1",
        (B, T - 1, V): ": the last word is read too",
        (B, T, 1, V): ": a step is about one word",
    }
    if sequence.shape != (B, T, V):
        hint = hints.get(sequence.shape, "")
        raise NotYet(f"`forward` gives the shape {sequence.shape}, expected {(B, T, V)}{hint}.")


def _explain_sequence(result, sequence):
    """Raise NotYet with the mistake, if the other runs show one."""
    runs = result["runs"]
    if np.abs(sequence.sum(-1) - 1).max() <= CLOSE and sequence.min() >= 0:
        raise NotYet("`forward` takes a softmax; leave it out, the loss takes it itself.")
    if not result["flows"][0]:
        raise NotYet("`forward` does not begin with the state that it is given.")
    if _moves(runs["sequence, other later"]["logits"][:, 0], sequence[:, 0]):
        raise NotYet(
            "the logits of step 0 change with later words: a translator does not know them yet."
        )
    if not _moves(runs["sequence, other later"]["logits"], sequence):
        raise NotYet(
            "`forward` does not change with the words after the first: with teacher forcing it reads the "
            "words of `inputs`, not its own."
        )
    if not _moves(runs["sequence, other first"]["logits"][:, 1:], sequence[:, 1:]):
        raise NotYet(
            "in `forward` the state is not handed on: later steps do not know the first word."
        )
