"""Questions 9.1-9.4, translation with a slot for attention; judges measure, they hold no answer."""

import numpy as np

from ..reading import array, matrix, number
from ..register import Part, Question
from ..tensors import run_function
from ..verdict import NotYet

PAD, BOS, EOS = 0, 1, 2  # as in attn_utils.translation.vocabulary
SIZES = ((3, 4, 6, 8), (4, 1, 5, 4), (2, 3, 2, 12))  # B, T, S, D
CLOSE = 1e-4  # the slots run in float32, as they do in the model


def run_slot(slot_class, width, queries, memory, mask):
    """Driver: build the slot and run it on tensors of these arrays."""
    import torch

    if slot_class is None:
        raise NotImplementedError
    slot = slot_class(width).eval()
    inputs = [torch.as_tensor(value, dtype=torch.float32) for value in (queries, memory)]
    return run_function(slot, [*inputs, torch.as_tensor(mask)])


def slots_fit(rng, no_attention, mean_attention, dot_attention):
    """9.1: three slots, equal to their definition whatever stands in the padding."""
    slots = {
        "NoAttention": (no_attention, _none, _none_slips),
        "MeanAttention": (mean_attention, _mean, _mean_slips),
        "DotAttention": (dot_attention, _dot, _dot_slips),
    }
    for B, T, S, D in SIZES:
        queries, memory, mask = _draw(rng, B, T, S, D)
        for name, (answer, right, slips) in slots.items():
            run = _runner(name, answer, D)
            found = run(queries, memory, mask)
            setting = f"{name}, (B, T, S, D) = {(B, T, S, D)}"
            _judge(found, right(queries, memory, mask), slips(queries, memory, mask), setting)
            _judge_invariance(run, found, queries, memory, mask, name)
    _judge_gradients(dot_attention, queries, memory, mask)
    return f"all three hold on {len(SIZES)} shapes; neither padding nor company changes a sentence."


def _draw(rng, B, T, S, D):
    """Queries, memory with junk in the padding, mask; the first sentence fills its row."""
    lengths = np.array([S, *rng.integers(1, S, size=B - 1)])
    mask = np.arange(S) < lengths[:, None]
    memory = np.where(mask[..., None], rng.normal(size=(B, S, D)), 7 + rng.normal(size=(B, S, D)))
    return rng.normal(size=(B, T, D)), memory, mask


def _runner(name, answer, width):
    """queries, memory, mask -> [context, weights] of the student's slot, as arrays of the right shape."""

    def run(queries, memory, mask):
        result = answer.via(run_slot, width, queries, memory, mask)
        if result["outputs"] is None or len(result["outputs"]) != 2:
            raise NotYet(f"{name} should return two tensors, (context, weights).")
        shapes = [queries.shape, (*queries.shape[:2], memory.shape[1])]
        shown = [output.shape for output in result["outputs"]]
        if shown == shapes[::-1] and shown != shapes:
            raise NotYet(f"{name} returns (weights, context); the context comes first.")
        return [
            matrix(output, shape, f"the {part} of {name}")
            for output, shape, part in zip(
                result["outputs"], shapes, ("context", "weights"), strict=True
            )
        ]

    return run


def _near(one, other):
    return all(np.allclose(a, b, atol=CLOSE, rtol=1e-4) for a, b in zip(one, other, strict=True))


def _judge(found, right, slips, setting):
    """Pass if equal; name a known mistake; else say which of the two is off, and by how much."""
    if _near(found, right):
        return
    for sentence, wrong in slips.items():
        if _near(found, wrong):
            far = np.abs(found[0] - right[0]).max()
            raise NotYet(f"{sentence} ({setting}; the context is off by {far:.2g}).")
    for part, have, want in zip(("weights", "context"), found[::-1], right[::-1], strict=True):
        if not _near([have], [want]):
            far = np.abs(have - want).max()
            raise NotYet(f"the {part} are off by up to {far:.2g} ({setting}).")


def _judge_invariance(run, found, queries, memory, mask, name):
    """More padding at the end, or other sentences beside it, must not change a sentence's context."""
    more = [np.pad(x, ((0, 0), (0, 2)) + ((0, 0),) * (x.ndim - 2)) for x in (memory, mask)]
    longer = run(queries, *more)[0]
    alone = run(queries[-1:], memory[-1:], mask[-1:])[0]
    for what, moved in (("two more places of padding", longer[-1:]), ("being alone", alone)):
        far = np.abs(moved - found[0][-1:]).max()
        if far > CLOSE:
            raise NotYet(f"{name}: {what} changed the context of a sentence by {far:.2g}.")


def _judge_gradients(dot_attention, *inputs):
    gradients = dot_attention.via(run_slot, inputs[0].shape[-1], *inputs)["gradients"]
    if gradients is None or not all(np.abs(gradient).max() > 1e-8 for gradient in gradients):
        raise NotYet("DotAttention is right, but no gradient flows back to queries and memory.")


def _softmax(scores, axis=-1):
    high = scores.max(axis, keepdims=True)
    raised = np.exp(scores - np.where(np.isfinite(high), high, 0))
    return raised / np.maximum(raised.sum(axis, keepdims=True), 1e-30)


def _apply(weights, memory):
    return weights @ memory, weights


def _none(queries, memory, mask):
    return np.zeros_like(queries), np.zeros((*queries.shape[:2], mask.shape[1]))


def _none_slips(queries, memory, mask):
    places = {
        "the context is memory[:, -1], which is padding in every shorter sentence; "
        "and an empty slot hands over nothing": np.full(len(mask), mask.shape[1] - 1),
        "the context is the last real state; the decoder has it already, "
        "and an empty slot hands over nothing": mask.sum(1) - 1,
    }
    slips = {}
    for sentence, place in places.items():
        one_hot = np.eye(mask.shape[1])[place][:, None].repeat(queries.shape[1], 1)
        context = one_hot @ memory
        slips[sentence] = context, one_hot
        slips[f"{sentence}, while the weights say zero"] = context, 0 * one_hot
    slips["the context repeats the queries; an empty slot hands over nothing"] = (
        queries,
        0 * one_hot,
    )
    return slips


def _spread(weights, queries):
    return np.broadcast_to(weights[:, None], (*queries.shape[:2], weights.shape[-1]))


def _mean(queries, memory, mask):
    return _apply(_spread(mask / mask.sum(1, keepdims=True), queries), memory)


def _mean_slips(queries, memory, mask):
    def of(weights):
        return _apply(_spread(weights, queries), memory)

    S, right = mask.shape[1], _mean(queries, memory, mask)
    return {
        "padding is averaged in: every place counts the same": of(np.full(mask.shape, 1 / S)),
        "padding is left out of the sum but still counted: divide by the number of real places": (
            of(mask / S)
        ),
        "the mask is the wrong way round: only padding is averaged": of(
            ~mask / np.maximum((~mask).sum(1, keepdims=True), 1)
        ),
        "the sum is not divided by anything": of(mask.astype(float)),
        "the context leaves padding out, but the weights shown do not": (
            right[0],
            _spread(np.full(mask.shape, 1 / S), queries),
        ),
        "the average runs over the batch, not over the places of a sentence": of(
            mask / np.maximum(mask.sum(0), 1)
        ),
    }


def _scores(queries, memory):
    return queries @ memory.swapaxes(1, 2) / queries.shape[-1] ** 0.5


def _hide(scores, mask, *, with_value=-np.inf):
    return np.where(mask[:, None], scores, with_value)


def _dot(queries, memory, mask):
    return _apply(_softmax(_hide(_scores(queries, memory), mask)), memory)


def _dot_slips(queries, memory, mask):
    scores, root = _scores(queries, memory), queries.shape[-1] ** 0.5
    weights = {
        "padding is not masked": _softmax(scores),
        "the softmax runs over the batch, so sentences share their weight": _softmax(
            _hide(scores, mask), 0
        ),
        "the softmax runs over the queries, not over the keys": _softmax(_hide(scores, mask), 1),
        "the scores are not scaled by sqrt(D)": _softmax(_hide(scores * root, mask)),
        "the scores are divided by D, not by its root": _softmax(_hide(scores / root, mask)),
        "the mask is the wrong way round: True means may look": _softmax(_hide(scores, ~mask)),
        "hidden scores are set to 0, and exp(0) = 1": _softmax(_hide(scores, mask, with_value=0)),
        "padding is zeroed after the softmax, so rows no longer sum to one": (
            _softmax(scores) * mask[:, None]
        ),
        "no softmax is taken": _hide(scores, mask, with_value=0),
    }
    return {sentence: _apply(w, memory) for sentence, w in weights.items()}


def counts_alignment_errors(rng, alignment_error_rate):
    """9.2: on weights that hit a known share of known links."""
    for sizes in (((5, 6), (2, 3), (9, 7), (13, 11), (6, 4), (8, 8)), ((1, 1), (12, 4)), ((3, 3),)):
        weights, gold = zip(*(_aligned(rng, T, S) for T, S in sizes), strict=True)
        rate = number(
            alignment_error_rate.via(_with_sets, list(weights), list(gold)),
            "alignment_error_rate(...)",
        )
        _judge_rate(rate, weights, gold)
    return (
        "the error rate is that of the links, over all sentences at once, and silence makes none."
    )


def _with_sets(function, weights, gold):
    return function(weights, [{tuple(link) for link in links} for links in gold])


def _aligned(rng, T, S):
    """Weights (T, S) with one silent row where there are several, and some links right, some wrong."""
    weights = rng.dirichlet(np.full(S, 0.3), size=T)
    best = weights.argmax(1).tolist()
    if T > 1:
        weights[int(rng.integers(T))] = 0
    gold = {(t, s if rng.random() < 0.6 else int(rng.integers(S))) for t, s in enumerate(best)}
    gold |= {(int(rng.integers(T)), int(rng.integers(S))) for _ in range(T // 2)}
    return weights, sorted(gold)


def _links(weights, *, silent=False, down=False):
    """Each row with its heaviest key; silent: rows without weight too; down: each column instead."""
    if down:
        return {(int(t), s) for s, t in enumerate(weights.argmax(0)) if weights[:, s].any()}
    return {(t, int(s)) for t, s in enumerate(weights.argmax(1)) if silent or weights[t].any()}


def _rates(found, gold):
    common, have, want = (
        np.array([len(a & b) for a, b in zip(found, gold, strict=True)], float),
        np.array([len(a) for a in found], float),
        np.array([len(b) for b in gold], float),
    )
    return {
        "": 1 - 2 * common.sum() / (have + want).sum(),
        "this is the share of right links; the error rate is one minus it": (
            2 * common.sum() / (have + want).sum()
        ),
        "this is the mean over sentences; count the links of all sentences first": (
            1 - 2 * common / (have + want)
        ).mean(),
        "this is one minus precision: gold links that were never found cost nothing": (
            1 - common.sum() / max(have.sum(), 1)
        ),
        "this is one minus recall: links found too many cost nothing": 1
        - common.sum() / want.sum(),
        "links in both are divided by links in either": 1
        - common.sum() / (have + want - common).sum(),
        "the links in both count once above and twice below": 1
        - common.sum() / (have + want).sum(),
    }


def _judge_rate(rate, weights, gold):
    gold = [set(map(tuple, links)) for links in gold]
    found = [_links(w) for w in weights]
    known = _rates(found, gold)
    right = known.pop("")
    if abs(rate - right) < 1e-9:
        return
    variants = {
        "a row without any weight was linked to the first word; it should link to nothing": (
            [_links(w, silent=True) for w in weights]
        ),
        "links are (target, source), and here they stand the other way round": (
            [{(s, t) for t, s in links} for links in found]
        ),
        "each source word was given its heaviest target word; ask each target word": (
            [_links(w, down=True) for w in weights]
        ),
    }
    known |= {sentence: _rates(links, gold)[""] for sentence, links in variants.items()}
    for sentence, wrong in known.items():
        if abs(rate - wrong) < 1e-9 and abs(wrong - right) > 1e-6:
            raise NotYet(f"{sentence} (you: {rate:.3f}, expected {right:.3f}).")
    raise NotYet(f"{len(gold)} sentences gave {rate:.3f}, expected {right:.3f}.")


def run_search(greedy_search, chances, max_length):
    """Driver: search with a step function made of a table (B, steps, V, V) of logits by the last token.

    The state counts the calls; what was fed in and how often is returned with the tokens.
    """
    import torch

    if greedy_search is None:
        raise NotImplementedError
    table, seen = torch.as_tensor(chances, dtype=torch.float32), []

    def step(last, state):
        t = 0 if state is None else state
        if t >= table.shape[1]:
            raise ValueError(f"step was called {t + 1} times for max_length {max_length}")
        last = torch.as_tensor(last).reshape(len(table))
        seen.append((t, last.tolist()))
        return table[torch.arange(len(table)), t, last], t + 1

    tokens = greedy_search(step, len(table), max_length)
    kind = type(tokens).__name__
    return {
        "tokens": tokens if isinstance(tokens, torch.Tensor | list) else None,
        "kind": kind,
        "seen": seen,
    }


def searches_greedily(rng, greedy_search):
    """9.4: the likeliest token at every step, each row until its own end mark."""
    for B, V, longest, max_length in ((4, 9, 8, 20), (3, 7, 30, 6), (1, 5, 3, 9), (5, 8, 1, 4)):
        table, right = _table(rng, B, V, longest, max_length)
        result = greedy_search.via(run_search, table, max_length)
        if result["tokens"] is None:
            raise NotYet(f"a {result['kind']} came back; return the tokens, shape (B, T).")
        tokens = array(result["tokens"], "the result").astype(int)
        _judge_feeding(result["seen"])
        _judge_tokens(tokens, right, max_length)
        if len(result["seen"]) > right.shape[1]:
            raise NotYet(
                f"`step` was called {len(result['seen'])} times, where all sentences had ended "
                f"after {right.shape[1]}."
            )
        for row in range(B if B < 4 else 0):
            alone = greedy_search.via(run_search, table[row : row + 1], max_length)["tokens"]
            if _trimmed(np.array(alone, int)) != _trimmed(tokens[row : row + 1]):
                raise NotYet(f"sentence {row} alone gives other tokens than in a batch of {B}.")
    return "each sentence ends at its own end mark, alone or in company, and no step is wasted."


def _table(rng, B, V, longest, max_length):
    """Logits that make row b end after a length of its own, and the tokens that follow from them."""
    table = rng.normal(size=(B, max_length + 2, V, V))
    table[..., [PAD, BOS]] = -1e9
    lengths = 1 + rng.permutation(longest)[:B] if longest >= B else np.ones(B, int)
    right = np.zeros((B, max_length), int)
    for b in range(B):
        table[b, : lengths[b] - 1, :, EOS] = -1e9
        table[b, lengths[b] - 1 : lengths[b], :, EOS] = 1e2
        last = BOS
        for t in range(min(lengths[b], max_length)):
            last = right[b, t] = int(table[b, t, last].argmax())
    steps = min(int(lengths.max()), max_length)
    return table, right[:, :steps]


def _trimmed(tokens):
    return [row[: np.flatnonzero(row != PAD).max(initial=-1) + 1].tolist() for row in tokens]


def _judge_tokens(tokens, right, max_length):
    B, steps = right.shape
    if tokens.ndim != 2 or len(tokens) != B:
        raise NotYet(
            f"the result has shape {tokens.shape}; {B} sentences need (B, T), T <= max_length."
        )
    if (tokens[:, :1] == BOS).all():
        raise NotYet("the start mark is fed in, but it is no part of the translation.")
    if tokens.shape[1] > max_length:
        raise NotYet(f"{tokens.shape[1]} tokens came back, where max_length is {max_length}.")
    if tokens.shape[1] < steps:
        raise NotYet(_too_short(tokens, right, max_length))
    tokens, extra = tokens[:, :steps], tokens[:, steps:]
    wrong = np.argwhere(tokens != right)
    if not len(wrong) and not (extra != PAD).any():
        return
    if not len(wrong):
        raise NotYet("tokens follow after every sentence has ended; fill up with PAD.")
    b, t = wrong[0]
    if right[b, t] == EOS:
        raise NotYet("the end mark itself is missing: it is the last token of a sentence.")
    if t and EOS in right[b, :t]:
        raise NotYet(
            f"sentence {b} ended at step {right[b].tolist().index(EOS)}, and then token "
            f"{tokens[b, t]} follows; a finished row gets PAD while the others go on."
        )
    raise NotYet(
        f"step {t} of sentence {b} chose token {tokens[b, t]}, the likeliest after what was "
        f"written is {right[b, t]}."
    )


def _too_short(tokens, right, max_length):
    steps, got = right.shape[1], tokens.shape[1]
    first_end = min(row.index(EOS) + 1 if EOS in row else steps for row in right.tolist())
    if got == first_end < steps:
        return (
            f"the search stopped after {got} steps, when the first sentence ended; others went on."
        )
    return (
        f"the search stopped after {got} steps; max_length is {max_length} and {steps} were needed."
    )


def _judge_feeding(seen):
    """What went into `step`: start marks, then the tokens just chosen, each time with the state."""
    if not seen:
        raise NotYet("`step` was never called.")
    calls, fed = [t for t, _ in seen], [last for _, last in seen]
    if set(fed[0]) != {BOS}:
        raise NotYet(f"the first tokens fed in are {fed[0]}; every sentence starts with BOS.")
    if calls != list(range(len(calls))):
        raise NotYet("the state that `step` returned was not handed to the next step.")
    if len(fed) > 1 and set(fed[1]) == {BOS}:
        raise NotYet("BOS was fed in again at the second step, in place of the tokens just chosen.")


QUESTIONS = (
    Question(
        id="9.1",
        title="What goes into the slot",
        minutes=15,
        parts=(Part("code", 5, ("NoAttention", "MeanAttention", "DotAttention"), slots_fit),),
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
        title="Training, watched",
        minutes=15,
        parts=(
            Part("code", 2, ("alignment_error_rate",), counts_alignment_errors),
            Part("written", 1),
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
        parts=(Part("written", 3),),
        covers=("003 2",),
    ),
    Question(
        id="9.4",
        title="Greedy search for a whole batch",
        minutes=12,
        parts=(Part("code", 3, ("greedy_search",), searches_greedily),),
        covers=("003 2",),
        hints=(
            "Keep a boolean `done` for each sentence, and look at it after every step.",
            "A finished row still takes part in `step`; overwrite what it chose.",
            "The loop ends for one of two reasons. Which?",
        ),
    ),
)
