"""How `make nbval` runs the notebooks of both folders in one pool, the slow ones first.

Solutions are compared with their outputs. Students' editions have none to compare: there every cell must
run, with sliders that move and with the experiments cut short. A plugin of pytest.
"""

import os
from itertools import groupby
from pathlib import Path

import pytest
from nbval.plugin import IPyNbCell, IPyNbFile

from tests.course import SHORTER, shortened

# Measured; the others take seconds.
SLOWEST = ("11", "10", "09", "08", "14", "12", "07", "06", "15", "16", "13")


def is_students(item):
    return item.path.parent.name == "notebooks"


def pytest_collectstart(collector):
    if isinstance(collector, IPyNbFile) and is_students(collector):
        collector.compare_outputs = False


def pytest_collection_modifyitems(items):
    items.sort(key=_place)
    for path, cells in groupby(items, key=lambda item: item.path):
        cells = list(cells)
        if is_students(cells[0]):
            _cut_short(path, cells)


def _place(item):
    """When a notebook's turn is; its cells keep their order."""
    number = item.path.name[:2]
    is_cut = is_students(item) and item.path.stem in SHORTER
    is_slow = number in SLOWEST and not is_cut
    turn = SLOWEST.index(number) if is_slow else len(SLOWEST)
    return turn, is_students(item), item.path


def _cut_short(path: Path, cells: list[IPyNbCell]):
    sources = [item.cell.source for item in cells]
    for item, source in zip(cells, shortened(path.stem, sources), strict=True):
        item.cell.source = source


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """The kernel of a notebook is started after this, with this environment."""
    if is_students(item):
        os.environ.pop("ATTN_FIGURES", None)
    else:
        os.environ["ATTN_FIGURES"] = "still"
