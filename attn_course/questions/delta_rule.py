"""Judge of the code of 16.5, a memory that is overwritten by the delta rule.

It looks at what `delta_read` makes of a state, and never into the state.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.random import Generator

from attn_course.answers import Caller, NotAttempted, NotYet, shuffled, vector
from attn_course.answers.mistakes import AnyOf
from attn_course.answers.tensors import distance, tensor_trials
from attn_course.drivers import keep_result, read_kept
from attn_course.questions.attention_mistakes import NOT_HERE
from attn_utils.kernels import softmax

NUM_QUERIES = 5


def memory_is_overwritten(rng: Generator, delta_step: Caller, delta_read: Caller) -> str:
    """16.5: what five queries read after every write of six texts."""
    try:
        return _readings_are_right(rng, delta_step, delta_read)
    except NotAttempted:
        _refuse_empty(delta_step, delta_read)
        raise


def _readings_are_right(rng, delta_step, delta_read):
    trials = tensor_trials(_wrong_readings)
    for text, (setting, start, writes) in enumerate(_texts(rng)):
        d, dv = start.shape
        state = start
        for num_writes, (key, value, eta, keep) in enumerate(writes, 1):
            name = f"text {text}, write {num_writes}"
            delta_step.run_driver(keep_result, name, [state, key, value, eta, keep])
            state = name
            queries = rng.normal(size=(NUM_QUERIES, d))
            queries[0] = key
            readings = delta_read.run_driver(read_kept, name, queries)
            output = np.array([vector(one, dv, "what delta_read returns") for one in readings])
            done = writes[:num_writes]
            right = queries @ _written(_delta, start, done)
            fact = distance(output, right, f"{setting}, after write {num_writes}")
            trials.require(output, right, fact, start, done, queries)
    return f"every reading is right after {len(trials)} writes, fading and overwritten keys among them."


def _refuse_empty(delta_step, delta_read):
    """Raise NotYet with the name of the empty function if only one of them is empty."""
    state, key = np.zeros((1, 1)), np.ones(1)
    write = "a write", [state, key, key, 1.0, 1.0]
    empty = []
    for name, answer, driver, inputs in (
        ("delta_step", delta_step, keep_result, write),
        ("delta_read", delta_read, read_kept, (state, key[None])),
    ):
        try:
            answer.run_driver(driver, *inputs)
        except NotAttempted:
            empty.append(name)
        except NotYet:  # such as a state of another form; a text decides
            pass
    if len(empty) == 1:
        raise NotYet(f"{empty[0]} is still empty. The two functions are judged together.")


def _texts(rng):
    """Draw [(setting, start (d, dv), [(key, value, eta, keep) of each write]), ...]; the first tells most."""
    first = _text(rng, "a state that is not empty", (4, 4), [(0.3, 0.9), (0.8, 0.4), (0.8, 0.9)])
    first[1][:] = rng.normal(size=(4, 4))
    others = [
        _text(rng, "nothing fades", (5, 3), [(eta, 1.0) for eta in (0.3, 0.8, 1.0, 1.6, 0.0)]),
        _text(rng, "the state fades", (3, 5), [(0.8, 0.9), (1.0, 0.4), (1.6, 0.9), (0.0, 0.4)]),
        _text(rng, "one row, one column", (1, 1), [(0.8, 1.0), (0.3, 0.9), (1.0, 1.0)]),
        _text(rng, "full strength", (4, 2), [(1.0, 1.0)] * 4),
        _overwritten(rng),
    ]
    return [first, *shuffled(rng, others)]


def _text(rng, setting, shape, numbers):
    """Draw writes with random keys of length one into an empty state of this shape."""
    d, dv = shape
    keys = rng.normal(size=(len(numbers), d))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    values = rng.normal(size=(len(numbers), dv))
    writes = [(k, v, *pair) for k, v, pair in zip(keys, values, numbers, strict=True)]
    return setting, np.zeros(shape), writes


def _overwritten(rng):
    """Draw three orthonormal keys, each written three times at full strength."""
    keys, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    order = np.tile(range(3), 3)
    writes = [(keys[i], rng.normal(size=3), 1.0, 1.0) for i in order]
    return "orthonormal keys that are overwritten", np.zeros((4, 3)), writes


def _delta(state, key, value, eta, keep):
    kept = keep * state
    return kept + eta * np.outer(key, value - key @ kept)


def _written(step: Callable, start: np.ndarray, writes: list) -> np.ndarray:
    """Return the state after all these writes."""
    state = start
    for write in writes:
        state = step(state, *write)
    return state


STEPS: dict[str, tuple[Callable, ...]] = {  # F state, k key, v value, e strength, w what is kept
    "the old value is not taken out: this adds, as linear attention does": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v),
        lambda F, k, v, e, w: w * F + np.outer(k, v),
        lambda F, k, v, e, w: F + e * np.outer(k, v),
    ),
    "everything fades by 1 - eta; only what this key holds is to be replaced": (
        lambda F, k, v, e, w: (1 - e) * w * F + e * np.outer(k, v),
        lambda F, k, v, e, w: (1 - e) * F + e * np.outer(k, v),
        lambda F, k, v, e, w: (1 - e) * w * F + e * np.outer(k, v - w * k @ F),
    ),
    "the old value is taken out whole, and only the new one is multiplied by eta": (
        lambda F, k, v, e, w: w * F + np.outer(k, e * v - w * k @ F),
    ),
    "the new value is written whole, and only the old one is multiplied by eta": (
        lambda F, k, v, e, w: w * F + np.outer(k, v - e * w * k @ F),
    ),
    "the sign is turned round: the state moves away from the new value": (
        lambda F, k, v, e, w: w * F - e * np.outer(k, v - w * k @ F),
    ),
    "the old value is added to the new one; it is subtracted": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v + w * k @ F),
    ),
    "eta is multiplied in twice": (
        lambda F, k, v, e, w: w * F + e * e * np.outer(k, v - w * k @ F),
    ),
    "eta is missing": (lambda F, k, v, e, w: w * F + np.outer(k, v - w * k @ F),),
    "the state fades last, the new value too; it fades first, and the value is written into what is left": (
        lambda F, k, v, e, w: w * (F + e * np.outer(k, v - k @ F)),
        lambda F, k, v, e, w: w * (F + e * np.outer(k, v - w * k @ F)),
    ),
    "the old value is read before the state fades, and taken out of the state after it": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v - k @ F),
    ),
    "the old value is read from the faded state, and taken out of the state before it fades": (
        lambda F, k, v, e, w: F + e * np.outer(k, v - w * k @ F),
    ),
    "`keep` is missing: the state does not fade": (
        lambda F, k, v, e, w: F + e * np.outer(k, v - k @ F),
    ),
    "`keep` is multiplied in twice": (lambda F, k, v, e, w: _delta(F, k, v, e, w * w),),
    "`keep` is the share that stays; here 1 - keep stays": (
        lambda F, k, v, e, w: _delta(F, k, v, e, 1 - w),
    ),
    "the state is thrown away: only the newest write is left": (
        lambda F, k, v, e, w: e * np.outer(k, v),
        lambda F, k, v, e, w: e * np.outer(k, v - w * k @ F),
        lambda F, k, v, e, w: np.outer(k, v),
    ),
    "the write is missing: the state only fades": (lambda F, k, v, e, w: w * F,),
    "the old value is taken out, and the new one is not written": (
        lambda F, k, v, e, w: w * F - e * np.outer(k, w * k @ F),
    ),
    "eta is cut off at 1; it may be larger": (lambda F, k, v, e, w: _delta(F, k, v, min(e, 1), w),),
    "the old value is the mean of all rows; it is what the key reads": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v - w * F.mean(0)),
    ),
    "the old value is the sum of all rows; it is what the key reads": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v - w * F.sum(0)),
    ),
}
SQUARE_STEPS: dict[str, Callable] = {
    "the outer product is turned round: rows of the state belong to the key, columns to the value": (
        lambda F, k, v, e, w: w * F + e * np.outer(v - w * k @ F, k)
    ),
    "the outer product is turned round, and the old value is read from the other side: rows of the state "
    "belong to the key, columns to the value": (
        lambda F, k, v, e, w: w * F + e * np.outer(v - w * F @ k, k)
    ),
    "the old value is read from the wrong side: it is `key @ state`": (
        lambda F, k, v, e, w: w * F + e * np.outer(k, v - w * F @ k)
    ),
}
READINGS: dict[str, Callable] = {
    "the reading is divided by the sum of the query; nothing is normalised here": (
        lambda q, F: q @ F / q.sum(-1, keepdims=True)
    ),
    "the query is scaled to length one; it is used as it is": (
        lambda q, F: q @ F / np.linalg.norm(q, axis=-1, keepdims=True)
    ),
    "a softmax is taken of the query; it is used as it is": lambda q, F: softmax(q) @ F,
    "the reading is divided by the root of d; nothing is scaled here": (
        lambda q, F: q @ F / q.shape[-1] ** 0.5
    ),
    "the sign of the reading is turned round": lambda q, F: -q @ F,
}


def _wrong_readings(start, writes, queries):
    d, dv = start.shape
    write = partial(_written, start=start, writes=writes)
    table: dict[str, object] = {
        sentence: AnyOf(tuple(queries @ write(step) for step in steps))
        for sentence, steps in STEPS.items()
    }
    right = write(_delta)
    table |= {sentence: read(queries, right) for sentence, read in READINGS.items()}
    for sentence, step in SQUARE_STEPS.items():
        table[sentence] = queries @ write(step) if d == dv else NOT_HERE
    table["the state is read from the wrong side: a reading is `query @ state`"] = (
        queries @ right.T if d == dv else NOT_HERE
    )
    return table
