"""The project's own promises: one set of packages, one-way doors, nothing of one machine."""

import ast
import re
import subprocess
import sys
import tomllib

import pytest
from course import ROOT, WRITTEN

from attn_utils.course import register

PACKAGE = ROOT / "attn_utils"
# Which rooms a room may import: doors are one-way.
DOORS = {
    "arrays": set(),
    "masks": {"arrays"},
    "kernels": {"arrays", "masks"},
    "plots": set(),
    "layers": {"kernels", "masks"},
    "course": {"kernels", "masks"},
    "knowledge": {"kernels", "masks", "layers"},
    "translation": {"kernels", "masks", "layers"},
    "grading": {"kernels", "masks", "course", "plots"},
}
# Every question of the documents the course grew from, and no other.
SEEDS = {
    "000": "a, b, c.i, c.ii, d.i, d.ii, e.i, e.ii",
    "001": "a, b, c.i, c.ii, d.i, d.ii, e.i, e.ii",
    "002": "a.i, a.ii, a.iii, a.iv, b.i, b.ii, c.i, c.ii, d.i, d.ii",
    "003": "1.1, 1.2, 1.3, 1.4, 2, 3",
    "004": "a, b, c.i, c.ii, d.i, d.ii, e.i, review, 2.i, 2.ii, 3 (setting), 3.a, 3.b, 3.c",
}


def test_environment_yml_and_pyproject_name_the_same_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    lines = (ROOT / "environment.yml").read_text("utf-8").splitlines()
    found = re.findall(r"- (\S+==\S+) +# used for: \S+", "\n".join(lines))
    assert sorted(found) == sorted(wanted)
    assert "torch==2.13.0" in wanted and all("==" in package for package in wanted)


def imports_of(path):
    """The rooms of attn_utils that a file imports."""
    place = path.relative_to(PACKAGE).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            inside = ("attn_utils", *place)[: -node.level] if node.level else ()
            full = (*inside, *(node.module or "").split("."))
            full = tuple(part for part in full if part)
            if full[:1] == ("attn_utils",):
                names = full[1:2] or tuple(alias.name for alias in node.names)
                yield from names
        elif isinstance(node, ast.Import):
            yield from (
                a.name.split(".")[1] for a in node.names if a.name.startswith("attn_utils.")
            )


def test_doors_between_rooms_are_one_way():
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if room in DOORS:
            wrong = set(imports_of(path)) - DOORS[room] - {room}
            assert not wrong & set(DOORS), f"{path.relative_to(ROOT)} imports {wrong}"


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_every_module_opens_with_a_door_sign(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


def test_every_seed_question_is_answered_and_no_other_is_claimed():
    covered = {seed for name in WRITTEN for q in register.questions_of(name) for seed in q.covers}
    assert covered == {
        f"{seed} {item}" for seed, items in SEEDS.items() for item in items.split(", ")
    }


def test_importing_the_judges_of_numpy_notebooks_does_not_import_torch():
    script = "import sys, attn_utils.course as c; c.check('1.1', None); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_notebooks_before_06_never_import_torch():
    for name in WRITTEN:
        text = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
        assert int(name[:2]) >= 6 or "import torch" not in text, name


def test_hints_are_at_hand_in_every_notebook():
    for name in WRITTEN:
        text = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
        assert re.search(r"^from attn_utils\.course import .*\bhint\b", text, re.M), name
