"""The colour scales of maps: ColorBrewer's Blues, Purples and PuOr."""

import numpy as np
from numpy.typing import ArrayLike

_SCALES = {
    "blues": "f7fbff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b",
    "purples": "fcfbfd efedf5 dadaeb bcbddc 9e9ac8 807dba 6a51a3 54278f 3f007d",
    "orange to purple": "7f3b08 b35806 e08214 fdb863 fee0b6 f7f7f7 d8daeb b2abd2 8073ac 542788 2d004b",
}


def _rgb(codes: str) -> np.ndarray:
    """Colours written as hexadecimal digits -> (n, 3), from 0 to 1."""
    numbers = [list(bytes.fromhex(code)) for code in codes.split()]
    return np.array(numbers) / 255


_STOPS = {name: _rgb(codes) for name, codes in _SCALES.items()}


def scale_colours(shares: ArrayLike, scale: str) -> np.ndarray:
    """Colours (..., 3), from 0 to 1, of places on a scale. shares: (...), 0 and 1 are its ends."""
    stops = _STOPS[scale]
    places = np.clip(np.asarray(shares, float), 0, 1) * (len(stops) - 1)
    numbers = range(len(stops))
    channels = [np.interp(places, numbers, channel) for channel in stops.T]
    return np.stack(channels, axis=-1)


def colour_rgb(code: str) -> np.ndarray:
    """A colour "#rrggbb" as (3,), from 0 to 1."""
    return _rgb(code.removeprefix("#"))[0]
