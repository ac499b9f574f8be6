"""How many small changes of a module its tests notice. Runs for minutes, so it is no part of `make test`.

python tests/mutation.py kernels layers --sample 30       rows of the table below

A mutant of a judge is put to the tests of its questions, one of the grader to those of its module; of
these to the ones that reach the changed line or start a process, which might, or to all if none does.
"""

import argparse
import ast
import contextlib
import copy
import glob
import importlib
import inspect
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import types
from pathlib import Path

import hypothesis  # noqa: F401  imported once here, not once in every child
import pytest
import torch
from _pytest.runner import runtestprotocol
from course import JUDGED

OPTIONS = ["-q", "-s", "--tb=line", "-p", "no:cacheprovider", "-p", "no:nbval", "-p", "no:xdist"]
ROOT = Path(__file__).resolve().parent.parent
CPU_SECONDS = 120  # a mutant that works longer than all tests do has been noticed
SECONDS = 900  # so has one that waits for ever
COURSE = ("attn_course", "attn_utils")
KERNELS = ["tests/test_attn_utils_*.py", "tests/test_translation_model.py"]
CHAINS = ["tests/test_top_derivation.py"]
TABLE = {  # name: modules, tests
    "arrays": ("attn_utils/arrays.py", KERNELS),
    "masks": ("attn_utils/masks.py", KERNELS),
    "kernels": ("attn_utils/kernels.py", KERNELS),
    "layers": ("attn_utils/layers.py", KERNELS),
    "judges": ("attn_course/questions/*.py", ["tests/test_questions.py"]),
    "mistakes": (
        "attn_course/answers/*.py",
        ["tests/test_top_mistakes.py", "tests/test_top_checking.py"],
    ),
    "forms": ("attn_course/proofs/forms.py", CHAINS),
    "comparing": ("attn_course/proofs/compare_lines.py", CHAINS),
    "proving": ("attn_course/proofs/positivity.py", CHAINS),
    "algebra": ("attn_course/proofs/modular.py", CHAINS),
    "trees": ("attn_course/proofs/trees.py", CHAINS),
    "domains": ("attn_course/proofs/domains.py", CHAINS),
    "intervals": ("attn_course/proofs/intervals.py", CHAINS),
    "grading": ("attn_course/grading/*.py", ["tests/test_grading_*.py"]),
}
LIKELY = {  # a module of grading: the tests/test_grading_*.py that should notice
    "answer_diff": "matching class",
    "autograder": "class",
    "check_notebook": "check_notebook",
    "collect": "collect",
    "collected": "collect",
    "command": "class",
    "course_code_use": "course_code_use",
    "dask_backend": "dask",
    "digests": "book batch",
    "exports": "book class",
    "find_cells": "matching cells",
    "grade_class": "class",
    "grade_many": "batch",
    "grade_one": "batch hostile_judge",
    "gradebook": "book",
    "lms_downloads": "collect",
    "markdown_html": "markdown_html",
    "render": "pages",
    "pages": "pages",
    "pasted_images": "pasted_images",
    "read_submission": "reading",
    "record": "batch book",
    "references": "book pages",
    "release_archive": "release",
    "report": "pages",
    "results": "batch",
    "roster": "book",
    "similarity": "book class",
    "spreadsheet": "book class",
    "submissions": "matching",
    "untrusted_text": "wire reading",
    "written_marks": "book",
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
    """(lines at work, source line, what was changed into what, mutated text) of the change at one site."""
    fresh = ast.parse(text)
    node = sites(fresh)[index]
    new = changed(node)
    was = ast.unparse(node).splitlines()[0]
    became = ast.unparse(ast.fix_missing_locations(copy.deepcopy(new))).splitlines()[0]
    statements = [each for each in ast.walk(fresh) if isinstance(each, ast.stmt)]
    first = max(each.lineno for each in statements if each.lineno <= node.lineno)
    lines = range(first, node.end_lineno + 1)
    mutated = ast.fix_missing_locations(Replace(node, new).visit(fresh))
    line = text.splitlines()[node.lineno - 1].strip()
    return lines, f"{node.lineno}: {line}", f"{was} -> {became}", ast.unparse(mutated)


class Watch:
    """Notes how long each test takes, which of our lines it reaches, and whether it starts a process."""

    def __init__(self, paths):
        self.lines = {str(Path(path).resolve()): set() for path in paths}
        self.starts_process = False
        self.seen = {}
        sys.addaudithook(self.hear)

    def hear(self, event, args):
        self.starts_process |= event in ("os.fork", "subprocess.Popen")

    def trace(self, frame, event, arg):
        lines = self.lines.get(frame.f_code.co_filename)
        if lines is not None:
            lines.add(frame.f_lineno)
            return self.trace

    def begin(self):
        clear_caches()
        self.starts_process = False
        for lines in self.lines.values():
            lines.clear()
        self.start = sum(os.times()[:4])  # of a processor, children included
        sys.settrace(self.trace)

    def note(self, name):
        sys.settrace(None)
        seconds = sum(os.times()[:4]) - self.start
        reached = {file: sorted(lines) for file, lines in self.lines.items()}
        self.seen[name] = seconds, self.starts_process, reached


class Plugin:
    """A plugin of pytest that hands the collected tests to somebody instead of running them."""

    def __init__(self, work):
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        self.work(session.items)
        return True


def quickest_first(items, seen):
    """Tests of one file stay together, as they share what was prepared for them."""
    seconds = {item: seen[item.nodeid][0] for item in items}
    files = {item.path: 0.0 for item in items}
    for item in items:
        files[item.path] += seconds[item]
    return sorted(items, key=lambda item: (files[item.path], item.path, seconds[item]))


def reaching(items, seen, path, changed_lines):
    """The tests that reach one of the lines or start a process."""
    file = str(Path(path).resolve())
    chosen = []
    for item in items:
        _, starts_process, reached = seen[item.nodeid]
        if starts_process or not set(reached[file]).isdisjoint(changed_lines):
            chosen.append(item)
    return chosen


def likely(path):
    """What pytest is asked about a file of many: the tests of its module, or of its questions."""
    stem = Path(path).stem
    if "questions" in path:
        ids = [question.id for question, part in JUDGED if part.judge.__module__.endswith(stem)]
        return ["tests/test_questions.py", "-k", " or ".join([*ids, "notebook"])] if ids else []
    if "grading" in path:
        return [f"tests/test_grading_{name}.py" for name in LIKELY.get(stem, "").split()]
    return []


def said_by_child(work):
    """What a child of this process writes while it works: nothing if all is well, else what failed."""
    said = Path("said.txt")
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, resource.RLIM_INFINITY))
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        status = 1
        try:
            status = work()
        except BaseException as error:
            os.write(1, f"\nERROR {error!r}".encode())
        finally:
            os._exit(status)
    if not os.waitpid(child, 0)[1]:
        return ""
    lines = said.read_text("utf-8", "replace").splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else "it ended its process or took too long"


def run(items, watch=None):
    """Run tests until one fails; 1 if one does."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if watch:
            watch.begin()
        reports = runtestprotocol(item, log=False, nextitem=following)
        if watch:
            watch.note(item.nodeid)
        if any(report.failed for report in reports):
            os.write(1, f"\nFAILED {item.nodeid}".encode())
            return 1
    return 0


def noticed_by(path, text, items, tests):
    """What fails once the module at path has this text, or nothing.

    Without items the changed lines ran while modules were imported: all are, anew, and all tests run.
    """

    def changed_in_place():
        try:
            change_in_place(path, text)
        except ValueError:  # a function that takes other names from outside
            return imported_anew()
        return run(items)

    def imported_anew():
        forget_all_below(Path.cwd())
        return pytest.main([*OPTIONS, "-x", *tests])

    original = Path(path).read_text("utf-8")
    Path(path).write_text(text, "utf-8")
    found = said_by_child(changed_in_place if items else imported_anew)
    Path(path).write_text(original, "utf-8")
    return found


def forget_all_below(folder):
    """Have the modules in a folder imported anew by whoever asks for them."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        inside = file and Path(file).is_relative_to(folder) and not file.startswith(sys.prefix)
        if inside or name.partition(".")[0] in COURSE:  # an installed course is not the one meant
            del sys.modules[name]


def change_in_place(path, text):
    """Give the functions of a module that is imported the code of another text, whoever holds them."""
    module = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    new = types.ModuleType(module.__name__)
    new.__file__ = module.__file__
    exec(compile(text, module.__file__, "exec"), vars(new))
    renew(module, vars(new))
    clear_caches()


def clear_caches():
    """Have the functions of the course forget what they found."""
    for name, one in list(sys.modules.items()):
        if name.partition(".")[0] in COURSE:
            for value in list(vars(one).values()):
                getattr(value, "cache_clear", lambda: None)()


def renew(owner, names):
    """Give the functions of a module or class, its own alone, the code that they have among other names."""
    home = getattr(owner, "__module__", owner.__name__)
    for name, value in names.items():
        old = vars(owner).get(name)
        function = function_in(old)
        fresh = function_in(value)
        if function and fresh and fresh.__module__ == home:
            function.__code__ = fresh.__code__
            function.__defaults__ = fresh.__defaults__
            function.__kwdefaults__ = fresh.__kwdefaults__
        elif inspect.isclass(old) and inspect.isclass(value) and value.__module__ == home:
            renew(old, dict(vars(value)))


def function_in(value):
    """The function in a function, method, property or cache, or None."""
    for part in ("fget", "func", "__func__"):
        value = getattr(value, part, value)
    found = inspect.unwrap(value) if callable(value) else None
    return found if inspect.isfunction(found) else None


def expand(patterns):
    """The files of the project that match, relative to it."""
    return sorted(path for p in patterns for path in glob.glob(p, root_dir=ROOT))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="+", choices=TABLE, metavar="row", help=", ".join(TABLE))
    parser.add_argument("--sample", type=int, default=30, help="mutants of a row at most")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn")
    args = parser.parse_args()
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # two mutants may be made within one second
    sys.dont_write_bytecode = True
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        away = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", ".hypothesis")
        shutil.copytree(ROOT, project, ignore=away)
        forget_all_below(ROOT)
        os.chdir(project)
        os.environ["PYTHONPATH"] = str(project)
        sys.path[:0] = [str(project), str(project / "tests")]
        for row in args.rows:
            report(row, args)


def report(row, args):
    """Print each mutant of a row that no test noticed, and the score of the row."""
    paths = expand([TABLE[row][0]])
    texts = {path: Path(path).read_text("utf-8") for path in paths}
    places = [(path, k) for path in paths for k in range(len(sites(ast.parse(texts[path]))))]
    rng = random.Random(args.seed)
    chosen = {}  # tests: places, in the order in which they are drawn: half a run is a sample too
    for path, index in rng.sample(places, min(args.sample, len(places))):
        tests = tuple(likely(path) or expand(TABLE[row][1]))
        chosen.setdefault(tests, []).append((path, index))
    noticed = []

    def work(items):
        ours = chosen[tests]
        seen = seen_of(items, {path for path, _ in ours})
        ordered = quickest_first(items, seen)
        for path, index in ours:
            lines, line, change, mutated = mutant(texts[path], index)
            found = noticed_by(path, mutated, reaching(ordered, seen, path, lines), tests)
            noticed.append(bool(found))
            said = f"noticed by {found}" if found else "survives"
            out = sys.stderr if found else stdout
            print(f"  {path}:{line}\n      {change}: {said}", file=out, flush=True)

    stdout = sys.stdout
    for tests in chosen:
        with contextlib.redirect_stdout(io.StringIO()):
            pytest.main([*OPTIONS, *tests], plugins=[Plugin(work)])
    print(
        f"{row}: {sum(noticed)} of {len(noticed)} mutants noticed, "
        f"drawn from the {len(places)} that can be made",
        flush=True,
    )


def seen_of(items, paths):
    """What is seen of each test while nothing is changed."""
    kept = Path("seen.json")

    def work():
        for path in paths:
            change_in_place(path, Path(path).read_text("utf-8"))
        watch = Watch(paths)
        status = run(items, watch)
        kept.write_text(json.dumps(watch.seen), "utf-8")
        return status

    if found := said_by_child(work):
        sys.exit(f"before anything is changed: {found}")
    return json.loads(kept.read_text("utf-8"))


if __name__ == "__main__":
    main()
