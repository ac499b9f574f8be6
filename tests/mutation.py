"""How many small changes of a module its tests notice. Runs for minutes, so it is no part of `make test`.

    python tests/mutation.py attn_utils/kernels.py "attn_course/proofs/*.py" --sample 30

A mutant of a judge is put to the tests of its questions, one of the grader to those that import its module.
"""

import argparse
import ast
import copy
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from course import JUDGED, ROOT

PYTEST = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=line", "-p", "no:nbval"]
SECONDS = 900  # a mutant that keeps the tests busy for longer has been noticed
TABLE = {  # modules: their tests
    "attn_utils/*.py": ["tests/test_attn_utils_*.py", "tests/test_translation_model.py"],
    "attn_course/questions/*.py": ["tests/test_questions.py"],
    "attn_course/answers/*.py": [
        "tests/test_answers_*.py",
        "tests/test_checking.py",
        "tests/test_derivation.py",
        "tests/test_questions.py",
    ],
    "attn_course/proofs/*.py": ["tests/test_derivation.py"],
    "attn_grader/*.py": ["tests/test_attn_grader_*.py"],
}
PAIRS = [
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.And, ast.Or),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitAnd, ast.BitOr),
]
SWAPS = dict(PAIRS) | {new: old for old, new in PAIRS}
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
    match node:
        case ast.Compare(ops=[operator, *rest]) if type(operator) in SWAPS:
            other.ops = [SWAPS[type(operator)](), *rest]
        case ast.BoolOp() | ast.BinOp() | ast.AugAssign() if type(node.op) in SWAPS:
            other.op = SWAPS[type(node.op)]()
        case ast.Constant(value=bool()):
            other.value = not node.value
        case ast.Constant(value=int() | float()):
            other.value = node.value + 1
        case ast.If() | ast.IfExp():
            other.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.Raise() | ast.Expr(value=ast.Call()):
            other = ast.copy_location(ast.Pass(), node)
        case _:
            return None
    return other


class Replace(ast.NodeTransformer):
    """Puts another node in place of one."""

    def __init__(self, old, new):
        self.old = old
        self.new = new

    def visit(self, node):
        return self.new if node is self.old else super().visit(node)


def mutant(text, index):
    """(source line, what was changed into what, mutated text) of the change at one site."""
    tree = ast.parse(text)
    node = sites(tree)[index]
    new = ast.fix_missing_locations(changed(node))
    was, became = (ast.unparse(each).splitlines()[0] for each in (node, new))
    line = text.splitlines()[node.lineno - 1].strip()
    mutated = ast.unparse(Replace(node, new).visit(tree))
    return f"{node.lineno}: {line}", f"{was} -> {became}", mutated


def expand(pattern):
    """The files of the project that match, relative to it."""
    return sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))


def tests_of(path):
    """What pytest is asked about a module: all tests of its row, or of many its own."""
    stem = Path(path).stem
    patterns = next(tests for modules, tests in TABLE.items() if fnmatch(path, modules))
    tests = [test for pattern in patterns for test in expand(pattern)]
    if "/questions/" in path:
        ids = [question.id for question, part in JUDGED if part.judge.__module__.endswith(stem)]
        return [*tests, "-k", " or ".join([*ids, "notebook"])] if ids else tests
    if path.startswith("attn_grader/"):
        imports = re.compile(rf"^(from|import) .*\b{stem}\b", re.M)
        own = [test for test in tests if imports.search((ROOT / test).read_text("utf-8"))]
        return own or tests
    return tests


def failure(project, tests):
    """The first test that fails in the project as it is there, or ""."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(project),
        "PYTHONDONTWRITEBYTECODE": "1",  # two mutants may be made within one second
        "OMP_NUM_THREADS": "1",
    }
    try:
        done = subprocess.run(
            [*PYTEST, *tests],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "the clock"
    if not done.returncode:
        return ""
    failed = re.search(r"^(FAILED|ERROR) .*$", done.stdout, re.M)
    return failed[0] if failed else "the end of its process"


def report(modules, project, args):
    """Print each mutant of these modules that no test noticed, and their score."""
    texts = {path: (ROOT / path).read_text("utf-8") for path in expand(modules)}
    places = [(path, k) for path in texts for k in range(len(sites(ast.parse(texts[path]))))]
    chosen = random.Random(args.seed).sample(places, min(args.sample, len(places)))
    for tests in {tuple(tests_of(path)) for path, _ in chosen}:
        if found := failure(project, tests):
            sys.exit(f"before anything is changed: {found}")

    num_noticed = 0
    for path, index in chosen:
        line, change, mutated = mutant(texts[path], index)
        (project / path).write_text(mutated, "utf-8")
        found = failure(project, tests_of(path))
        (project / path).write_text(texts[path], "utf-8")
        num_noticed += bool(found)
        said = f"noticed by {found}" if found else "survives"
        out = sys.stderr if found else sys.stdout
        print(f"  {path}:{line}\n      {change}: {said}", file=out, flush=True)
    print(
        f"{modules}: {num_noticed} of {len(chosen)} mutants noticed, "
        f"drawn from the {len(places)} that can be made",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="+", help=f"files or patterns within {', '.join(TABLE)}")
    parser.add_argument("--sample", type=int, default=30, help="mutants of a pattern at most")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        away = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, project, ignore=away)
        for modules in args.modules:
            report(modules, project, args)


if __name__ == "__main__":
    main()
