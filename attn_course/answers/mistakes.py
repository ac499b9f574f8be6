"""Compare answers with what is right and with known mistakes, and explain.

A judge reads as inputs it draws, a property, and a table of mistakes:

    trials = Trials(lambda values: {"that is the sum": values.sum()})
    for size in rng.permutation((1, 2, 5, 40)):
        values = rng.normal(size=size)
        answer = number(mean(values))
        trials.require(answer, values.mean(), f"the mean of {size} numbers came out as {answer:.4g}", values)

A mistake is named only where it explains every trial made so far, the right ones too. Where two give
the same numbers, both are named; where more do, none is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import wraps
from typing import Any

import numpy as np

from attn_course.answers import NotYet

Fact = str | Callable[..., str]  # a clause, or what makes it of a trial's inputs, where that costs
Mistakes = Callable[..., Mapping[str, Any]]
RELATIVE = 1e-6
ABSOLUTE = 1e-12


def same(answer: Any, target: Any, relative: float = RELATIVE, absolute: float = ABSOLUTE) -> bool:
    """Return True if two answers agree in shape and in every number; nan agrees with nothing.

    answer, target: numbers, booleans, text, arrays or tensors of any shape, or (nested) tuples, lists
    and dictionaries of them.
    """
    return _agree(answer, target, lambda one, two: _near(one, two, relative, absolute).all())


def resembles(
    answer: Any, mistake: Any, relative: float = RELATIVE, absolute: float = ABSOLUTE
) -> bool:
    """Return True if two answers agree, where a nan in the first may stand for any number.

    One and the same mistake gives some people nan and others zero. Earns nothing, only explains.
    """

    def near(one: np.ndarray, two: np.ndarray) -> np.bool_:
        lost = np.isnan(one)
        return ~lost.all() & (_near(one, two, relative, absolute) | lost).all()

    return _agree(answer, mistake, near)


def _agree(answer, target, near):
    """Compare two answers part by part; `near` compares two arrays of one shape."""
    if isinstance(target, Mapping):
        if not isinstance(answer, Mapping) or set(answer) != set(target):
            return False
        return all(_agree(answer[name], target[name], near) for name in target)

    if isinstance(target, list | tuple):
        if not isinstance(answer, list | tuple) or len(answer) != len(target):
            return False
        return all(_agree(one, two, near) for one, two in zip(answer, target, strict=True))

    if isinstance(target, str) or isinstance(answer, str | Mapping):
        return type(answer) is type(target) and answer == target
    answer = _array(answer)
    target = _array(target)
    return answer.shape == target.shape and bool(near(answer, target))


def _near(answer, target, relative, absolute):
    """Return an array that is True where a number is within the limit."""
    with np.errstate(invalid="ignore"):
        return np.abs(answer - target) <= absolute + relative * np.abs(target)


def round_up(value: float, digits: int = 2) -> str:
    """Return a positive number in this many digits, rounded up, so that following the advice is enough."""
    exact = Decimal(value)
    step = Decimal(10) ** (exact.adjusted() - digits + 1)
    num_steps = (exact / step).to_integral_value(ROUND_CEILING)
    return f"{float(num_steps * step):g}"


def distinct_texts(one: float, other: float, digits: int = 3) -> tuple[str, str]:
    """Return two different numbers in as many digits as show that they differ."""
    while f"{one:.{digits}g}" == f"{other:.{digits}g}" and digits < 17:
        digits += 1
    return f"{one:.{digits}g}", f"{other:.{digits}g}"


def _array(value):
    """Return the floats of a number, an array or a tensor."""
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    return np.asarray(value, dtype=float)


@dataclass(frozen=True)
class Seen:
    """An entry in a table of mistakes: True if the sentence describes this trial."""

    fits: Any


def seen(mistakes: Mistakes) -> Mistakes:
    """Decorate a table in which each value says whether the sentence describes the trial."""

    @wraps(mistakes)
    def table(*inputs: Any) -> Mapping[str, Seen]:
        return {sentence: Seen(fits) for sentence, fits in mistakes(*inputs).items()}

    return table


@dataclass(frozen=True)
class AnyOf:
    """An entry in a table of mistakes: the same mistake may give any of these values."""

    values: tuple


@dataclass(frozen=True)
class Trial:
    """The result of an answer, the right result, a clause on the measurement, and the inputs."""

    answer: Any
    right: Any
    fact: Fact
    inputs: tuple


class Trials:
    """The results of one answer so far, and the mistakes that they are compared with.

    mistakes: called with the inputs of a trial, once something is wrong -> {sentence: what this
    mistake would give}. The same sentences for every input; None where a mistake does no harm there;
    `Seen(...)` where the judge has looked for itself.
    """

    def __init__(
        self,
        mistakes: Mistakes | None = None,
        *,
        relative: float = RELATIVE,
        absolute: float = ABSOLUTE,
    ) -> None:
        self._mistakes = mistakes
        self._tolerance = (relative, absolute)
        self._trials: list[Trial] = []
        self._num_right = 0  # trials that are known to hold, the first ones

    def __len__(self) -> int:
        return len(self._trials)

    def add(self, answer: Any, right: Any, fact: Fact, *inputs: Any) -> None:
        """Keep one trial, and judge it later.

        right: what `answer` should be; True where the judge has tested a property and `answer` says
        whether it holds. fact: a clause without a full stop, or a function of the inputs that makes it.
        """
        self._trials.append(Trial(answer, right, fact, inputs))

    def settle(self) -> None:
        """Raise NotYet for the first wrong trial, with the mistake that explains all trials, if any does."""
        for trial in self._trials[self._num_right :]:
            if not self._holds(trial):
                fact = trial.fact if isinstance(trial.fact, str) else trial.fact(*trial.inputs)
                mistake = self._explanation(trial)
                raise NotYet(f"{mistake}: {fact}." if mistake else f"{fact}.", mistake=mistake)
            self._num_right += 1

    def require(self, answer: Any, right: Any, fact: Fact, *inputs: Any) -> None:
        """Add one trial and settle at once, where a single answer already says much."""
        self.add(answer, right, fact, *inputs)
        self.settle()

    def _holds(self, trial):
        return same(trial.answer, trial.right, *self._tolerance)

    def _explanation(self, wrong):
        """Return the sentence that explains every trial: one mistake, or two that give the same; or ""."""
        if self._mistakes is None:
            return ""
        is_seen = dict.fromkeys(self._table(wrong), False)  # of the sentences that fit so far
        for trial in (wrong, *self._trials):
            table = self._table(trial)
            fitting = [name for name in is_seen if self._fits(trial, table.get(name))]
            is_seen = {name: is_seen[name] or isinstance(table.get(name), Seen) for name in fitting}
            if not is_seen:
                return ""

        computed = [sentence for sentence, seen in is_seen.items() if not seen]
        if len(computed) == 2:
            return f"either {computed[0]}, or {computed[1]}"
        named = computed or list(is_seen)[:1]
        return named[0] if len(named) == 1 else ""

    def _table(self, trial):
        assert self._mistakes
        with np.errstate(all="ignore"):
            return self._mistakes(*trial.inputs)

    def _fits(self, trial, mistake):
        """Return True if a trial has the result of this mistake."""
        if mistake is None:
            return self._holds(trial)
        if isinstance(mistake, Seen):
            return bool(mistake.fits)
        if isinstance(mistake, AnyOf):
            return any(self._fits(trial, value) for value in mistake.values)
        return resembles(trial.answer, mistake, *self._tolerance)
