"""A student notebook full of wrong answers still runs from top to bottom without an error."""

import contextlib
import io

import jupytext
import matplotlib.pyplot as plt
import pytest
from course import ROOT, WRITTEN

STUB, STEPS = 'raise NotImplementedError("your answer here")', "# your steps here"


@pytest.mark.parametrize("wrong", ["return 0.0", "return None", "return [[1.0], 'x']"])
@pytest.mark.parametrize("name", [name for name in WRITTEN if int(name[:2]) < 8])
def test_a_notebook_full_of_wrong_answers_runs_to_the_end(name, wrong):
    space = {"__name__": "__main__"}
    path = ROOT / "notebooks" / f"{name}.py"
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in jupytext.read(path, fmt="py:percent").cells:
            if cell.cell_type == "code":
                source = cell.source.replace(STUB, wrong).replace(STEPS, '(0, "a false step"),')
                exec(compile(source, f"<cell {name}>", "exec"), space)
                plt.close("all")
