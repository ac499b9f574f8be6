"""Questions 9.1-9.4, translation with a slot for attention; judges measure, they hold no answer."""

import numpy as np

from attn_course.drivers import call_with_links, gradients_of, run_search, run_slot
from attn_course.register import Part, Question
from attn_course.tensors import leaves_of
from attn_course.values import array, matrix, number
from attn_course.verdict import NotYet
from attn_utils.kernels import softmax

PAD, BOS, EOS = 0, 1, 2  # as in attn_course.translation.vocabulary
SIZES = ((3, 4, 6, 8), (4, 1, 5, 4), (2, 3, 2, 12))  # B, T, S, D
POLARITY = "the mask is the wrong way round: True means may look"
CLOSE = 1e-4  # the slots run in float32, as they do in the model


def slots_fit(rng, no_attention, mean_attention, dot_attention):
    """9.1: three slots, equal to their definition whatever stands in the padding."""
    slots = {
        "NoAttention": (no_attention, _none),
        "MeanAttention": (mean_attention, _mean),
        "DotAttention": (dot_attention, _dot),
    }
    for sizes in SIZES:
        inputs = _draw(rng, *sizes)
        for name, (answer, cases) in slots.items():
            run = _runner(name, answer, sizes[-1])
            found = run(*inputs)
            _judge(found, cases(*inputs), f"{name}, (B, T, S, D) = {sizes}")
            _judge_invariance(run, found, *inputs, name)
            if name != "NoAttention":
                _judge_gradients(answer, *inputs, name)
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
        outputs = answer.via(run_slot, width, queries, memory, mask)["outputs"]
        if outputs is None or len(outputs) != 2:
            raise NotYet(f"{name} should return two tensors, (context, weights).")
        shapes = [queries.shape, (*queries.shape[:2], memory.shape[1])]
        shown = [output.shape for output in outputs]
        if shown == shapes[::-1] and shown != shapes:
            raise NotYet(f"{name} returns (weights, context); the context comes first.")
        hidden = np.isnan(outputs[1]).reshape(len(mask), -1).all(1)
        if hidden.any() and np.array_equal(hidden, mask.all(1)):
            raise NotYet(f"{name} gives nan where a sentence has no padding: {POLARITY}.")
        parts = [f"the {part} of {name}" for part in ("context", "weights")]
        return [matrix(*output) for output in zip(outputs, shapes, parts, strict=True)]

    return run


def _near(one, other):
    return all(np.allclose(a, b, atol=CLOSE, rtol=1e-4) for a, b in zip(one, other, strict=True))


def _judge(found, cases, setting):
    """Pass if equal to the first case; name a known mistake; else say what is off, and by how much."""
    right = cases.pop("")
    if _near(found, right):
        return
    far = [np.abs(have - want).max() for have, want in zip(found, right, strict=True)]
    for sentence, wrong in cases.items():
        if _near(found, wrong):
            raise NotYet(f"{sentence} ({setting}; the context is off by {far[0]:.2g}).")
    if _near(found[1:], right[1:]):
        raise NotYet(f"the weights are right, but the context is off by {far[0]:.2g} ({setting}).")
    raise NotYet(f"the weights are off by up to {far[1]:.2g} ({setting}).")


def _judge_invariance(run, found, queries, memory, mask, name):
    """More padding at the end, or other sentences beside it, must not change a sentence's context."""
    more = [np.pad(x, ((0, 0), (0, 2)) + ((0, 0),) * (x.ndim - 2)) for x in (memory, mask)]
    longer = run(queries, *more)[0]
    alone = run(queries[-1:], memory[-1:], mask[-1:])[0]
    for what, moved in (("two more places of padding", longer[-1:]), ("being alone", alone)):
        far = np.abs(moved - found[0][-1:]).max()
        if far > CLOSE:
            raise NotYet(f"{name}: {what} changed the context of a sentence by {far:.2g}.")


def _judge_gradients(answer, queries, memory, mask, name):
    """What flows back to queries and memory must be what flows back through the definition."""
    arrays = {"queries": queries, "memory": memory}
    found = answer.via(run_slot, queries.shape[-1], queries, memory, mask)["gradients"]
    if found is None:
        raise NotYet(f"{name} is right, but no gradient flows back to the {_first_used(name)}.")
    leaves = leaves_of(arrays)
    look = leaves["memory"].new_tensor(mask[:, None]).bool()
    scores = leaves["queries"] @ leaves["memory"].mT / queries.shape[-1] ** 0.5
    scores = scores if name == "DotAttention" else 0 * scores
    right = gradients_of(
        softmax(scores.where(look, -np.inf)) @ leaves["memory"], list(leaves.values())
    )
    for (what, values), have, want in zip(arrays.items(), found, right, strict=True):
        if have.shape != values.shape:
            raise NotYet(f"the gradient of the {what} has shape {have.shape}, not {values.shape}.")
        if not np.abs(have - want).max() <= 1e-3 * (1 + np.abs(want).max()):
            how = "only part of the" if np.abs(have).max() > 1e-8 else "no"
            how = "nan instead of a" if np.isnan(have).any() else how
            raise NotYet(f"{name} is right, but {how} gradient flows back to the {what}.")


def _first_used(name):
    return "queries" if name == "DotAttention" else "memory"


def _softmax(scores, axis=-1):
    high = scores.max(axis, keepdims=True)
    raised = np.exp(scores - np.where(np.isfinite(high), high, 0))
    return raised / np.maximum(raised.sum(axis, keepdims=True), 1e-30)


def _none(queries, memory, mask):
    """The right (context, weights) under "", and known mistakes under their sentences."""
    nothing = np.zeros((*queries.shape[:2], mask.shape[1]))
    places = {
        "the context is memory[:, -1], which is padding in every shorter sentence; "
        "and an empty slot hands over nothing": np.full(len(mask), mask.shape[1] - 1),
        "the context is the last real state; the decoder has it already, "
        "and an empty slot hands over nothing": mask.sum(1) - 1,
    }
    cases = {
        "": (0 * queries, nothing),
        "the context repeats the queries; an empty slot hands over nothing": (queries, nothing),
    }
    for sentence, place in places.items():
        one_hot = np.eye(mask.shape[1])[place][:, None] + nothing
        cases[sentence] = one_hot @ memory, one_hot
        cases[f"{sentence}, while the weights say zero"] = one_hot @ memory, nothing
    return cases


def _mean(queries, memory, mask):
    """The same for the average; weights of a sentence are those of each of its queries."""
    S, even = mask.shape[1], "padding is averaged in: every place counts the same"
    counted = (
        "padding is left out of the sum but still counted: divide by the number of real places"
    )
    weights = {
        "": mask / mask.sum(1, keepdims=True),
        even: np.full(mask.shape, 1 / S),
        counted: mask / S,
        "the mask is the wrong way round: only padding is averaged": (
            ~mask / np.maximum((~mask).sum(1, keepdims=True), 1)
        ),
        "the sum is not divided by anything": mask.astype(float),
        "the average runs over the batch, not over the places of a sentence": (
            mask / np.maximum(mask.sum(0), 1)
        ),
    }
    spread = {name: np.repeat(w[:, None], queries.shape[1], 1) for name, w in weights.items()}
    cases = {sentence: (w @ memory, w) for sentence, w in spread.items()}
    untrue = "the context leaves padding out, but the weights shown do not"
    return cases | {untrue: (cases[""][0], spread[even])}


def _dot(queries, memory, mask):
    """The same for scaled dot products."""
    root = queries.shape[-1] ** 0.5
    scores = queries @ memory.swapaxes(1, 2) / root

    def hide(scores, mask=mask, value=-np.inf):
        return np.where(mask[:, None], scores, value)

    weights = {
        "": _softmax(hide(scores)),
        "padding is not masked": _softmax(scores),
        "the softmax runs over the batch, so sentences share their weight": _softmax(
            hide(scores), 0
        ),
        "the softmax runs over the queries, not over the keys": _softmax(hide(scores), 1),
        "the scores are not scaled by sqrt(D)": _softmax(hide(scores * root)),
        "the scores are divided by D, not by its root": _softmax(hide(scores / root)),
        POLARITY: _softmax(hide(scores, ~mask)),
        "hidden scores are set to 0, and exp(0) = 1": _softmax(hide(scores, value=0)),
        "padding is zeroed after the softmax, so rows no longer sum to one": (
            _softmax(scores) * mask[:, None]
        ),
        "no softmax is taken": hide(scores, value=0),
    }
    return {sentence: (w @ memory, w) for sentence, w in weights.items()}


def counts_alignment_errors(rng, alignment_error_rate):
    """9.2: on weights that hit a known share of known links; an empty slot finds none."""

    def judge(*corpora):
        """A mistake is named if it explains every number."""
        rates = [alignment_error_rate.via(call_with_links, *corpus) for corpus in corpora]
        rates = [number(rate, "alignment_error_rate(...)") for rate in rates]
        known = [_known_rates(*corpus) for corpus in corpora]
        _judge_rates(rates, {name: [k[name] for k in known] for name in known[0]})

    sizes = (((5, 6), (2, 3), (9, 7), (13, 11), (6, 4), (8, 8)), ((1, 1), (12, 4)), ((3, 3),))
    drawn = [tuple(zip(*(_aligned(rng, T, S) for T, S in shapes), strict=True)) for shapes in sizes]
    judge(*drawn)
    judge(([0 * weights for weights in drawn[0][0]], drawn[0][1]))
    return (
        "the error rate is that of the links, over all sentences at once, and silence makes none."
    )


def _aligned(rng, T, S):
    """Weights (T, S), some links right and some wrong; the first rows are a silent one and ties."""
    weights = rng.dirichlet(np.full(S, 0.3), size=T)
    gold = {(t, int(s)) for t, s in enumerate(weights.argmax(1)) if rng.random() < 0.6}
    gold |= {(int(rng.integers(T)), int(rng.integers(S))) for _ in range(1 + T // 2)}
    if T > 1:
        weights[0], weights[1:3, [0, -1]] = 0, 1  # as heavy as a word can be, twice
        gold.add((1, 0))
    return weights, sorted(gold)


def _links(weights, *, silent=False, last=False, down=False):
    """Each row with its heaviest key; silent: rows without weight too; last: the last of several that
    tie; down: each column with its heaviest row instead."""
    if down:
        return {(int(t), s) for s, t in enumerate(weights.argmax(0)) if weights[:, s].any()}
    S = weights.shape[1]
    best = S - 1 - weights[:, ::-1].argmax(1) if last else weights.argmax(1)
    return {(t, int(s)) for t, s in enumerate(best) if silent or weights[t].any()}


def _rates(found, gold):
    """The error rate under "", and numbers that are mistaken for it under their sentences."""
    both, have, want = (
        np.array([len(links) for links in side], float)
        for side in ([a & b for a, b in zip(found, gold, strict=True)], found, gold)
    )
    b, h, w = both.sum(), max(have.sum(), 1e-9), want.sum()
    right = 1 - 2 * b / (h + w)
    return {
        "": right,
        "this is the share of right links; the error rate is one minus it": 1 - right,
        "this is a percentage; the rate goes from 0 to 1": 100 * right,
        "this is the mean over sentences; count the links of all sentences first": (
            1 - 2 * both / (have + want)
        ).mean(),
        "this is one minus precision: gold links that were never found cost nothing": 1 - b / h,
        "this is one minus recall: links found too many cost nothing": 1 - b / w,
        "links in both are divided by links in either": 1 - b / (h + w - b),
        "the links in both count once above and twice below": 1 - b / (h + w),
    }


def _known_rates(weights, gold):
    """`_rates` of the links that are asked for, and the error rate of links that are mistaken for them."""
    gold = [set(map(tuple, links)) for links in gold]
    found = [_links(w) for w in weights]
    variants = {
        "a row without any weight was linked to the first word; it should link to nothing": (
            [_links(w, silent=True) for w in weights]
        ),
        "where several words tie, the last was taken, not the first": (
            [_links(w, last=True) for w in weights]
        ),
        "where several words tie, all of them were linked, not the first alone": (
            [_links(w) | _links(w, last=True) for w in weights]
        ),
        "links are (target, source), and here they stand the other way round": (
            [{(s, t) for t, s in links} for links in found]
        ),
        "each source word was given its heaviest target word; ask each target word": (
            [_links(w, down=True) for w in weights]
        ),
    }
    known = {sentence: _rates(links, gold)[""] for sentence, links in variants.items()}
    return _rates(found, gold) | known


def _judge_rates(rates, known):
    right = known.pop("")
    if np.allclose(rates, right, rtol=0, atol=1e-6):
        return
    k = int(np.abs(np.subtract(rates, right)).argmax())
    said = f"you: {rates[k]:.3f}, expected {right[k]:.3f}"
    for sentence, wrong in known.items():
        if np.allclose(rates, wrong, rtol=0, atol=1e-6):
            raise NotYet(f"{sentence} ({said}).")
    raise NotYet(f"this is not (1), over all sentences ({said}).")


def searches_greedily(rng, greedy_search):
    """9.4: the likeliest token at every step, each row until its own end mark, also in a batch of one."""
    for B, V, longest, max_length in ((4, 9, 8, 20), (3, 7, 30, 6), (1, 5, 3, 9), (5, 8, 1, 4)):
        table, right = _table(rng, B, V, longest, max_length)
        fed, tokens = _searched(greedy_search, table, max_length)
        tokens = array(tokens, "the result").astype(int)
        _judge_feeding(fed)
        _judge_size(tokens, right, max_length)
        _judge_tokens(tokens, right)
        if len(fed) > right.shape[1]:
            raise NotYet(
                f"`step` was called {len(fed)} times, where all sentences had ended "
                f"after {right.shape[1]}."
            )
    return "each sentence ends at its own end mark, alone or in company, and no step is wasted."


def _searched(greedy_search, table, max_length):
    """What was fed in at each step, and the tokens that came back.

    The logits of a step are handed out only when it is asked for, so that the steps are counted here.
    """
    B, longest, V, _ = table.shape
    logits = []
    asked = []
    while True:
        result = greedy_search.via(run_search, B, max_length, logits)
        if result["tokens"] is not None or len(result["fed"]) <= len(logits):
            return asked, result["tokens"]
        t, last = result["fed"][-1]
        if not 0 <= t < longest or len(asked) > 3 * longest:
            raise NotYet(
                f"step was called {len(asked) + 1} times, where max_length is {max_length}."
            )
        if not 0 <= min(last) <= max(last) < V:
            raise NotYet(f"{last} was fed in, where a token is a number from 0 to {V - 1}.")
        asked.append((t, last))
        logits.append(table[np.arange(B), t, last].astype(np.float32))


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


def _judge_size(tokens, right, max_length):
    B, steps = right.shape
    if tokens.ndim != 2 or len(tokens) != B:
        raise NotYet(
            f"the result has shape {tokens.shape}; with B = {B} it should be (B, T), T <= max_length."
        )
    if (tokens[:, :1] == BOS).all():
        raise NotYet("the start mark is fed in, but it is no part of the translation.")
    if tokens.shape[1] > max_length:
        raise NotYet(f"{tokens.shape[1]} tokens came back, where max_length is {max_length}.")
    if tokens.shape[1] < steps:
        raise NotYet(_too_short(tokens, right, max_length))


def _judge_tokens(tokens, right):
    steps = right.shape[1]
    wrong = np.argwhere(tokens[:, :steps] != right)
    if not len(wrong) and (tokens[:, steps:] != PAD).any():
        raise NotYet("tokens follow after every sentence has ended; fill up with PAD.")
    for b, t in wrong[:1]:
        if right[b, t] == EOS and tokens[b, t] == PAD:
            raise NotYet("the end mark itself is missing: it is the last token of a sentence.")
        if EOS in right[b, :t]:
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
    if not any(calls[1:]) and len(calls) > 1:
        raise NotYet("the state that `step` returned was not handed to the next step.")
    if calls != list(range(len(calls))):
        raise NotYet("`step` was started afresh midway; all sentences go through it together.")
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
        hints=(
            "Follow the darkest cell from row to row: where does it step by one, where does it jump?",
            "Where do two rows share a column? Say which English words these are.",
            "For (d): what is a weight trained to be good for, and what do the states it reads hold?",
        ),
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
