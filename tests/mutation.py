"""How many small changes of a module its tests notice. Runs for minutes, so it is no part of `make test`.

python tests/mutation.py kernels --sample 60       a row of the table below
python tests/mutation.py attn_utils/masks.py tests/test_attn_utils_kernels.py

A mutant of a judge is put to the tests of its questions, one of the grader to those of its module.
"""

import argparse
import ast
import copy
import glob
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import hypothesis  # noqa: F401  imported once here, not once in every child
import pytest
import torch
from course import JUDGED

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300  # a mutant that takes longer has been noticed
KERNELS = ["tests/test_attn_utils_kernels.py", "tests/test_attn_utils_layers.py"]
CHAINS = ["tests/test_top_derivation.py"]
TABLE = {  # name: modules, tests
    "arrays": ("attn_utils/arrays.py", KERNELS),
    "masks": ("attn_utils/masks.py", KERNELS),
    "kernels": ("attn_utils/kernels.py", KERNELS),
    "layers": ("attn_utils/layers.py", [*KERNELS[::-1], "tests/test_translation_model.py"]),
    "judges": ("attn_course/questions/*.py", ["tests/test_questions.py"]),
    "chains": ("attn_course/chain_rules.py", CHAINS),
    "comparing": ("attn_course/compare_lines.py", CHAINS),
    "proving": ("attn_course/positivity.py", CHAINS),
    "grading": ("attn_course/grading/*.py", ["tests/test_grading_*.py"]),
}
LIKELY = {  # a module of grading: the tests that should notice
    "borrowing": ["test_grading_borrowing"],
    "comparing": ["test_grading_matching", "test_grading_class"],
    "digests": ["test_grading_book", "test_grading_batch"],
    "find_cells": ["test_grading_matching", "test_grading_cells"],
    "grade_many": ["test_grading_batch"],
    "gradebook": ["test_grading_book"],
    "magics": ["test_grading_cells"],
    "page": ["test_grading_pages"],
    "pages": ["test_grading_pages"],
    "prose": ["test_grading_prose"],
    "read_submission": ["test_grading_reading"],
    "report": ["test_grading_pages"],
    "results": ["test_grading_batch"],
    "roster": ["test_grading_book"],
    "similar": ["test_grading_class"],
    "spreadsheet": ["test_grading_book"],
    "submissions": ["test_grading_reading"],
    "tables": ["test_grading_book", "test_grading_class"],
    "written": ["test_grading_book"],
}
SWAPS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
ANNOTATIONS = {"annotation", "returns", "decorator_list", "bases"}


def sites(tree):
    """Every node that can be changed, in a fixed order; types and docstrings cannot."""
    found = []
    for field, value in ast.iter_fields(tree):
        if field in ANNOTATIONS:
            continue
        for node in value if isinstance(value, list) else [value]:
            if isinstance(node, ast.AST):
                if changed(node) is not None:
                    found.append(node)
                found += sites(node)
    return found


def changed(node):
    """A node to stand in place of this one, or None if it is left alone."""
    other = copy.copy(node)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        other.ops = [SWAPS[type(node.ops[0])](), *node.ops[1:]]
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign) and type(node.op) in SWAPS:
        other.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        other.value = not node.value
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        other.value = node.value + 1
    elif isinstance(node, ast.If | ast.IfExp):
        other.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and is_call(node.value)):
        other = ast.copy_location(ast.Pass(), node)
    else:
        return None
    return other


def is_call(node):
    return isinstance(node, ast.Call)


class Replace(ast.NodeTransformer):
    """Puts another node in place of one."""

    def __init__(self, old, new):
        self.old = old
        self.new = new

    def visit(self, node):
        return self.new if node is self.old else super().visit(node)


def mutant(text, index):
    """(line number, source line, what it became, mutated text) of the change at one site."""
    fresh = ast.parse(text)
    node = sites(fresh)[index]
    new = changed(node)
    became = ast.unparse(ast.fix_missing_locations(copy.deepcopy(new))).splitlines()[0]
    mutated = ast.fix_missing_locations(Replace(node, new).visit(fresh))
    return node.lineno, text.splitlines()[node.lineno - 1].strip(), became, ast.unparse(mutated)


def likely(path):
    """What pytest is asked about a file of many: the tests of its module, or of its questions."""
    stem = Path(path).stem
    if "questions" in path:
        ids = [question.id for question, part in JUDGED if part.judge.__module__.endswith(stem)]
        return ["tests/test_questions.py", "-k", " or ".join(ids)] if ids else []
    if "grading" in path:
        return [f"tests/{name}.py" for name in LIKELY.get(stem, [])]
    return []


def is_killed(folder, tests):
    """Whether a test fails in the copy of the project in folder, run by a child of this process."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)  # ends the child, which then counts as noticed
        forget_the_course()
        os.chdir(folder)
        os.environ["PYTHONPATH"] = str(folder)
        sys.path.insert(0, str(folder))
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os._exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    return os.waitpid(child, 0)[1] != 0


def forget_the_course():
    """Let the modules of the copy be imported, not those that this process has."""
    for name in list(sys.modules):
        if name.partition(".")[0] in ("attn_course", "attn_utils"):
            del sys.modules[name]


def expand(patterns):
    """The files of the project that match, relative to it."""
    return sorted(path for p in patterns for path in glob.glob(p, root_dir=ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("module", help=f"a file, or one of {', '.join(TABLE)}")
    parser.add_argument("tests", nargs="*", help="test files, where the module is a file")
    parser.add_argument("--sample", type=int, default=60, help="mutants at most")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    args = parser.parse_args()
    module, tests = TABLE.get(args.module, (args.module, args.tests))
    tests = expand(tests)
    if not tests:
        parser.error("name the test files that should notice")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # two mutants may be made within one second
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        away = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, project, ignore=away)
        report(expand([module]), project, tests, args)


def report(paths, project, tests, args):
    """Print each mutant that no test noticed, and the score of the row."""
    texts = {path: (ROOT / path).read_text("utf-8") for path in paths}
    places = [(path, k) for path in paths for k in range(len(sites(ast.parse(texts[path]))))]
    rng = random.Random(args.seed)
    chosen = sorted(rng.sample(places, min(args.sample, len(places))))
    for asked in {tuple(likely(path) or tests) for path, _ in chosen}:
        if is_killed(project, list(asked)):
            sys.exit(f"{' '.join(asked)} fails before anything is changed.")
    num_noticed = 0
    for path, index in chosen:
        number, line, became, mutated = mutant(texts[path], index)
        (project / path).write_text(mutated, "utf-8")
        if is_killed(project, likely(path) or tests):
            num_noticed += 1
        else:
            print(f"  {path}:{number}: {line}\n      survives as: {became}", flush=True)
        (project / path).write_text(texts[path], "utf-8")
    print(
        f"{args.module}: {num_noticed} of {len(chosen)} mutants noticed, "
        f"drawn from the {len(places)} that can be made",
        flush=True,
    )


if __name__ == "__main__":
    main()
