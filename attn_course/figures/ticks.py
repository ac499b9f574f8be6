"""Ticks of an axis: round numbers, and how they are written."""

import numpy as np

_STEPS = (1, 2, 2.5, 5, 10)  # times a power of ten
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Ticks = tuple[list[float], list[str]]  # places and labels


def linear_ticks(low: float, high: float, most: int) -> Ticks:
    """Multiples of the smallest round step of which at most `most` + 1 are between low and high."""
    power = 10.0 ** np.floor(np.log10((high - low) / most))
    for factor in _STEPS:
        step = power * factor
        first = np.ceil(low / step - 1e-9)
        last = np.floor(high / step + 1e-9)
        if last - first <= most:
            break
    places = step * np.arange(first, last + 1) + 0.0  # no -0
    return places.tolist(), _same_digits(places, step)


def log_ticks(low: float, high: float, most: int) -> Ticks:
    """Powers of ten, or 1, 2, 5 times these where the axis spans fewer than two."""
    first = int(np.ceil(np.log10(low) - 1e-9))
    last = int(np.floor(np.log10(high) + 1e-9))
    if last - first >= 1:
        stride = (last - first) // most + 1
        exponents = range(first, last + 1, stride)
        places = [10.0**exponent for exponent in exponents]
        return places, [f"10{str(exponent).translate(_SUPERSCRIPTS)}" for exponent in exponents]

    places = []
    for exponent in range(first - 1, last + 1):
        for step in (1, 2, 5):
            place = step * 10.0**exponent
            if low * (1 - 1e-9) <= place <= high * (1 + 1e-9):
                places.append(place)
    return places, [written(place) for place in places]


def written(number: float) -> str:
    """A number without digits that say nothing."""
    return f"{number:g}".replace("-", "−")


def _same_digits(places, step):
    """Multiples of a step, all with the digits after the point that the step needs."""
    if step >= 1e6 or step < 1e-4:
        return [written(place) for place in places]
    digits = next(count for count in range(8) if np.isclose(step, round(step, count), rtol=1e-6))
    labels = [f"{place:.{digits}f}" for place in places]
    return [label.replace("-", "−") for label in labels]
