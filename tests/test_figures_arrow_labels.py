"""Names of arrows stand apart: no name on another name or on an arrow, none outside the panel."""

from itertools import combinations

import numpy as np
import pytest

from attn_course.figures.arrow_labels import shifts_of_names

POINTS = 193 / 2  # from the middle of a panel to its edge
CROWDS = {
    "four keys and a query": ([(3, 1), (1, 0), (0.7, 0.7), (0, 1), (-1, 0)], 4.0),
    "a short key beside a long query": (
        [(2.6, -1), (1, 0), (0, 1), (-1, 0), (0, -1), (0.3, 0.2)],
        3.3,
    ),
    "three arrows along one line": ([(0, 4), (0, 1), (2.6, 1.5), (0, 1.5)], 4.6),
}


def boxes(ends, limit):
    """(left, right, low, high) of each name, a letter taken as narrower than it is."""
    names = [f"key {k}" for k in range(len(ends))]
    middles = np.array(ends) * POINTS / limit + shifts_of_names(names, ends, limit)
    half = 2.5 * len(names[0])
    return [(x - half, x + half, y - 4, y + 4) for x, y in middles]


@pytest.mark.parametrize(("ends", "limit"), CROWDS.values(), ids=CROWDS)
def test_no_name_stands_on_another_or_leaves_the_panel(ends, limit):
    found = boxes(ends, limit)
    for one, other in combinations(found, 2):
        aside = one[1] <= other[0] or other[1] <= one[0]
        assert aside or one[3] <= other[2] or other[3] <= one[2]
    assert np.abs(found).max() <= POINTS


@pytest.mark.parametrize(("ends", "limit"), CROWDS.values(), ids=CROWDS)
def test_no_name_hides_the_tip_of_an_arrow(ends, limit):
    tips = np.array(ends) * POINTS / limit
    for left, right, low, high in boxes(ends, limit):
        assert not any(left < x < right and low < y < high for x, y in tips)
