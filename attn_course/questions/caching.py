"""Judge of 15.1, keys and values that are kept while a sequence grows.

It measures contexts and how the work grows, and never looks into a cache.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from attn_course.answers import STOPPED, Caller, NotYet, number, shuffled
from attn_course.answers.mistakes import AnyOf, Seen, Trials
from attn_course.answers.tensors import TOLERANCE, close, distance, tensor_trials
from attn_course.drivers import step_caches, work_of_next_step
from attn_course.questions.attention_mistakes import INVERTED, LOW_FILL, far_below, wrong_contexts
from attn_utils.kernels import attend, rotate, softmax

Cuts = tuple[int, ...]  # new tokens of each step
Case = tuple[float | None, Cuts]  # the base of the rotation, if there is one
NUM_TOKENS = 16  # as many as the card says
CUTS: tuple[Cuts, ...] = ((1,) * 16, (4, 1, 1, 6, 3, 1), (2, 9, 1, 1, 3))
IN_ONE_PIECE: Case = (None, (NUM_TOKENS,))  # without rotation
LOW: Case = (None, (5, 1, 10))  # with all scores far below zero
PAST = np.tri(NUM_TOKENS, dtype=bool)


def cache_is_exact(rng: Generator, cache_class: Caller) -> str:
    """15.1: the contexts of the full causal pass, in whatever pieces two caches are fed by turns.

    What a cache is for is measured too: a new token costs in proportion to the tokens before it.
    """
    trials = tensor_trials(_wrong_caches)
    turned = float(rng.uniform(50, 200))
    usual: list[Case] = [(base, cuts) for base in (turned, None) for cuts in CUTS]
    cases = [IN_ONE_PIECE, *shuffled(rng, usual), LOW]
    for case in cases:
        base, cuts = case
        shape = (2, 3, 2, NUM_TOKENS, 6)  # two sequences of q, k, v (B, T, d)
        sequences = [list(sequence) for sequence in rng.normal(size=shape)]
        setting = f"pieces of {', '.join(map(str, cuts))} tokens"
        if case is IN_ONE_PIECE:
            setting = "both sequences in one piece"
        setting += ", no rotation" if base is None else ", with rotation"
        if case is LOW:
            sequences = [[*far_below(rng, q, k), v] for q, k, v in sequences]
            setting += ", all scores far below zero"
        try:
            contexts = _stepped(cache_class, base, sequences, cuts, setting)
        except NotYet as error:
            if case is IN_ONE_PIECE or STOPPED not in str(error):
                raise
            raise NotYet(
                f"one piece goes well, several do not; are keys and values both kept? {error}"
            ) from None

        for sequence, context in zip(sequences, contexts, strict=True):
            right = _look(sequence, base, PAST)
            fact = distance(context, right, setting)
            trials.add(context, right, fact, sequence, base, cuts, context, right)

    short = [list(sequence) for sequence in rng.normal(size=(2, 3, 2, 2, 6))]
    settle_apart(
        trials, "caches", lambda x: cache_class.run_driver(step_caches, None, x, [1, 1]), short
    )
    _judge_work(rng, cache_class)
    return f"equal to the full causal pass of 16 tokens in {len(cases)} ways to cut, two caches by turns."


def _stepped(cache_class, base, sequences, cuts, setting):
    """Return [contexts (B, T, dv) of each of two caches], the steps side by side."""
    B, _, dv = sequences[0][2].shape
    contexts = []
    for steps in cache_class.run_driver(step_caches, base, sequences, list(cuts)):
        refuse_types(steps)
        for cut, so_far, context in zip(cuts, np.cumsum(cuts), steps, strict=True):
            expected = (B, cut, dv)
            if context.shape == (B, so_far, dv) != expected:
                raise NotYet(
                    f"step returned the contexts of all {so_far} tokens so far; those of the {cut} new ones "
                    f"alone are asked for ({setting})."
                )
            if context.shape != expected:
                raise NotYet(
                    f"step returned shape {context.shape}, expected {expected} ({setting})."
                )

        contexts.append(np.concatenate(steps, 1))

    return contexts


def refuse_types(steps: list) -> None:
    """Raise NotYet if a step returned no tensor; `steps` then holds the name of a type in its place."""
    for context in steps:
        if isinstance(context, str):
            missing = ": is a `return` missing?" if context == "NoneType" else "."
            raise NotYet(f"step returned {context}, where a tensor is expected{missing}")


def settle_apart(
    trials: Trials, stores: str, step: Callable[[list], list], sequences: list
) -> None:
    """Settle; if a trial is wrong since a store shares its tokens with another, let the message say so.

    stores: what they are called. step: sequences -> for each, what every step of a new store gives.
    """
    try:
        trials.settle()
    except NotYet as error:
        alone = step(sequences[:1])[0]
        together = step(sequences)[0]
        if not close(np.nan_to_num(alone), np.nan_to_num(together)):  # nan twice is no difference
            mistake = (
                f"two {stores} share their tokens: a store belongs to an instance, not to the class"
            )
            raise NotYet(f"{mistake}: {error}", mistake=mistake) from None
        raise


FEW = 4
GROWTH = 5  # four times the tokens: four times the work with a cache, six to sixteen times without


def _judge_work(rng, cache_class):
    """Raise NotYet if one more token costs more and more, as if all tokens were new."""
    pair = rng.normal(size=(3, 2, NUM_TOKENS, 2))  # q, k, v (B, T, d); scores outweigh copies
    few = _work_a_sequence(cache_class, pair, FEW)
    many = _work_a_sequence(cache_class, pair, NUM_TOKENS)
    if not many <= GROWTH * few:
        raise NotYet(
            f"right, but old rows are computed again: token {FEW} makes {few:,.0f} new numbers and token "
            f"{NUM_TOKENS} makes {many:,.0f}. With a cache, token {NUM_TOKENS} makes about "
            f"{NUM_TOKENS // FEW} times as many as token {FEW}."
        )


def _work_a_sequence(cache_class, pair, num_tokens):
    """Return the work that the second sequence of a batch adds; a mask serves both, so it is free.

    What comes out is compared again.
    """
    sequence = pair[:, :, :num_tokens]
    right = _look(list(sequence), None, PAST[:num_tokens, :num_tokens])[:, -1:]
    works = []
    for size in (2, 1):
        batch = [x[:size] for x in sequence]
        context, work, left_torch = cache_class.run_driver(work_of_next_step, batch, num_tokens - 1)
        if not close(context, right[:size]):
            raise NotYet(
                f"token {num_tokens} of a new sequence comes out wrong when it is written after the others."
            )
        if left_torch:
            raise NotYet(
                "right, but not computed with torch, so its work is not seen: use no NumPy."
            )
        works.append(number(work))
    return works[0] - works[1]


# The mistakes


class _Steps:
    """The step in which each token comes, and where that step starts and ends; all (T,)."""

    def __init__(self, cuts):
        ends = np.cumsum(cuts)
        starts = ends - cuts
        steps = np.arange(len(cuts))
        self.number = np.repeat(steps, cuts)
        self.start = starts[self.number]
        self.end = ends[self.number]
        self.place = np.arange(len(self.number))


def _wrong_caches(sequence, base, cuts, context, right):
    steps = _Steps(cuts)

    def look(see=PAST, base=base, **positions):
        return _look(sequence, base, see, **positions)

    q, k, v = sequence
    if base is not None:
        q, k = (rotate(x, steps.place, base) for x in (q, k))
    zero = np.zeros(NUM_TOKENS)
    own = steps.place - steps.start  # the number within a piece
    key = steps.place
    query = key[:, None]
    start = steps.start[:, None]
    so_far = key < steps.end[:, None]
    later = so_far & ~PAST
    scores = q @ k.mT / q.shape[-1] ** 0.5
    filled = [np.where(PAST, scores, fill) for fill in (-20.0, -1e4)]
    return {
        **wrong_contexts(q, k, v, PAST),
        LOW_FILL: AnyOf(tuple(softmax(np.where(so_far, low, -np.inf)) @ v for low in filled)),
        INVERTED: look(later) if later.any() else Seen(not np.nan_to_num(context).any()),
        "right without rotation, wrong with it: each step starts again at position 0, where the new token "
        "stands at the number of cached tokens": look(queries=own, keys=own),
        "query and key of one token must have one position; your query is one ahead": (
            look(queries=steps.place + 1)
        ),
        "query and key of one token must have one position; your counter moves on between the two": (
            look(queries=steps.end + own)
        ),
        "the position counts steps; it counts tokens": (
            look(queries=steps.number + own, keys=steps.number + own)
        ),
        "all tokens of a piece stand at one position; each has its own": (
            look(queries=steps.start, keys=steps.start)
        ),
        "both query and key are rotated, or the difference is lost; you rotate the query alone": (
            look(keys=zero)
        ),
        "both query and key are rotated, or the difference is lost; you rotate the key alone": (
            look(queries=zero)
        ),
        "the rotation is not used": look(base=None),
        "the triangle is aligned top-left, so that a new query sees key 0 and not its own; see 06": (
            look(key <= query - start)
        ),
        "the first tokens of a piece see later ones: a piece of several tokens needs its mask": (
            look(so_far)
        ),
        "the mask is shifted by one, so that a token also sees the one just after it in its piece": (
            look((key <= query + 1) & so_far)
        ),
        "the new tokens do not see themselves: append before you attend": look(key < start),
        "tokens after the first piece do not see themselves: append before you attend": look(
            np.where(start == 0, PAST, key < start)
        ),
        "earlier tokens are not there: keep keys and values": look(PAST & (key >= start)),
        "a key is rotated once, by its own position; yours are rotated again at every step": (
            _turned_again(sequence, base, steps)
        ),
        "values are rotated too; they are never compared and stay as they are": (
            look(values=steps.place)
        ),
        "only the newest tokens are kept; a cache keeps all of them, up to 16": (
            Seen(_are_newest_tokens(look, steps, context))
        ),
        "keep values too, not the newest alone": (
            v[:, steps.end - 1] if (steps.end - steps.start == 1).all() else Seen(True)
        ),
        "empty slots are attended: a zero key has score 0 and weight e^0; cut the cache at its length": (
            Seen(_is_shrunk(context, right))
        ),
    }


def _are_newest_tokens(look, steps, context):
    """Return True if these are the contexts of a cache that keeps only some of the newest tokens."""
    key = steps.place
    for size in range(2, NUM_TOKENS):
        for oldest in (steps.place + 1, steps.start, steps.end):
            see = PAST & (key >= oldest[:, None] - size)
            if see.any(-1).all() and close(context, look(see)):
                return True
    return False


def _look(sequence, base, see, *, queries=None, keys=None, values=None):
    """Return attention of a sequence [q, k, v] under the mask `see` (T, T) and at these positions (T,)."""
    q, k, v = sequence
    if base is not None:
        places = np.arange(q.shape[-2])
        q = rotate(q, places if queries is None else queries, base)
        k = rotate(k, places if keys is None else keys, base)
        v = v if values is None else rotate(v, values, base)

    context, _ = attend(q, k, v, mask=see)
    return context


def _turned_again(sequence, base, steps):
    """Return contexts (B, T, dv) where cached keys are turned once more at every later step."""
    rows = []
    for t in steps.place:
        times = steps.number[t] - steps.number + 1
        positions = np.where(steps.place <= t, steps.place * times, 0)
        rows.append(_look(sequence, base, PAST, keys=positions)[:, t])
    return np.stack(rows, 1)


def _is_shrunk(context, right):
    """Return True if each context is the right one times a number between 0 and 1."""
    products = (context * right).sum(-1, keepdims=True)
    squares = (right * right).sum(-1, keepdims=True)
    share = products / squares
    is_share = (share >= 0) & (share <= 1 + TOLERANCE)
    return is_share.all() and share.any() and close(context, share * right)
