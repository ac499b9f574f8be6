"""The project's own promises: one set of packages, allowed imports, nothing of one machine."""

import ast
import graphlib
import re
import subprocess
import symtable
import sys
import tomllib

import mutation
import pytest
from course import ROOT, WRITTEN
from packaging.requirements import Requirement

from attn_course import register

PACKAGES = ("attn_utils", "attn_course", "attn_grader")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def allowed_imports():
    """{package: the packages it may import}, as docs/architecture.md lists them.

    "top" is every module right below attn_course, and `answers`.
    """
    found = {}
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    for place, imports in re.findall(r"^\| `(attn_[\w/.]+)`.*\|([^|]*)\|$", text, re.M):
        name = place.removeprefix("attn_course/").removesuffix(".py").strip("/")
        found[name or "top"] = set(re.findall(r"`(\w+)`", imports))
    return found


ALLOWED_IMPORTS = allowed_imports()
# Every question of the documents the course grew from, and no other.
SEEDS = {
    "000": "preface, a, b, c.i, c.ii, d.i, d.ii, e.i, e.ii",
    "001": "a, b, c.i, c.ii, d.i, d.ii, e.i, e.ii",
    "002": "a.i, a.ii, a.iii, a.iv, b.i, b.ii, c.i, c.ii, d.i, d.ii",
    "003": "1.1, 1.2, 1.3, 1.4, 2, 3",
    "004": "a, b, c.i, c.ii, d.i, d.ii, e.i, review, 2.i, 2.ii, 3 (setting), 3.a, 3.b, 3.c",
}


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def versions_in(name):
    """What a lock file pins, by names in small letters."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    pins = [line.split("==") for line in lines if "==" in line]
    return {package.lower(): version for package, version in pins}


LOCK = versions_in("requirements/lock.txt")
CONDA = {"matplotlib-base": "matplotlib", "pytorch": "torch"}  # names on conda-forge: on PyPI


def test_environment_yml_and_pyproject_name_the_same_packages():
    extras = [package for name in ("torch", "lab", "grade", "dask") for package in EXTRAS[name]]
    wanted = {*PROJECT["dependencies"], *extras}
    text = (ROOT / "environment.yml").read_text("utf-8")
    found = dict(re.findall(r"^  - ([\w-]+)(>=\S+) +# used for: \S+", text, re.M))
    assert {CONDA.get(name, name) + floor for name, floor in found.items()} == wanted
    for package in EXTRAS["dev"]:
        name = re.split(r"[>=\[]", package)[0]
        assert name == PROJECT["name"] or re.search(rf"\b{name}\b", text), name


def test_the_lock_holds_a_version_of_every_package_inside_its_range():
    for extra, packages in EXTRAS.items():
        lock = versions_in("requirements/docs.txt") if extra == "docs" else LOCK
        for package in packages:
            if not package.startswith(PROJECT["name"]):
                wanted = Requirement(package)
                assert wanted.specifier.contains(lock[wanted.name.lower()]), package
    assert LOCK["torch"] == "2.13.0"


def test_changelog_and_citation_have_the_version_and_its_date():
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    version, date = re.search(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", text, re.M).groups()
    assert version == PROJECT["version"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


def test_the_floors_that_ci_runs_are_those_of_the_core():
    floors = (ROOT / "requirements/minimum.txt").read_text("utf-8")
    pinned = re.findall(r"^(\w+)==([\d.]+)$", floors, re.M)
    promised = [re.fullmatch(r"(\w+)>=([\d.]+)", package) for package in PROJECT["dependencies"]]
    assert pinned == [(found[1], f"{found[2]}.0") for found in promised]


def test_the_core_imports_nothing_else_at_start():
    script = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in sys.argv[1:]: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from attn_course import check, derive, hint, plots, progress, solution\n"
        "import attn_utils\n"
        "assert check('1.1', None).status == 'not attempted'\n"
    )
    extras = [Requirement(p).name for e in ("torch", "lab", "grade") for p in EXTRAS[e]]
    subprocess.run([sys.executable, "-c", script, *extras, "IPython"], check=True)


# What Python in a browser has no code for, or has but cannot use (Pyodide's list).
NOT_IN_A_BROWSER = set(
    "curses dbm ensurepip fcntl grp idlelib lib2to3 msvcrt multiprocessing pty pwd resource "
    "socket ssl subprocess syslog termios tkinter tty turtle venv winreg winsound".split()
)
LOADED = """
import sys
from attn_course import check, derive, hint, plots, register
for name in register.NOTEBOOKS:
    if not register.needs_torch(name):
        register.questions_of(name)
print(*(module for module in sys.modules if module.startswith(("attn_utils", "attn_course"))))
"""


def imported_at_once(path):
    """The top-level names of what a module imports when it is imported itself."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)


def test_the_core_imports_nothing_that_python_in_a_browser_lacks():
    printed = subprocess.check_output([sys.executable, "-c", LOADED], text=True)
    loaded = {name.replace(".", "/") for name in printed.split()}
    core = [path for path in MODULES if place_of(path).replace(".", "/") in loaded]
    assert len(core) > 20
    has = set(sys.stdlib_module_names) - NOT_IN_A_BROWSER
    has |= {"numpy", "matplotlib", "sympy", "mpmath", *PACKAGES}
    for path in core:
        assert set(imported_at_once(path)) <= has, path


def package_of(module):
    """Return the package of a dotted name: attn_utils, attn_grader, a package of attn_course, or its top."""
    first, *inside = module.split(".")
    if first != "attn_course":
        return first
    return inside[0] if inside and inside[0] in ALLOWED_IMPORTS else "top"


def imports_of(path):
    """The dotted names of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} has a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] in PACKAGES)


def place_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def test_every_import_between_packages_is_an_allowed_one():
    folders = {path.parent.name for path in (ROOT / "attn_course").glob("*/__init__.py")}
    assert folders - {"answers"} <= set(ALLOWED_IMPORTS)
    for path in MODULES:
        package = package_of(place_of(path))
        for name in imports_of(path):
            allowed = {package, *ALLOWED_IMPORTS[package]}
            assert package_of(name) in allowed, f"{path} ({package}) imports {name}"


def module_names():
    """{dotted name: file} of every module of ours."""
    names = {}
    for path in MODULES:
        name = place_of(path)
        names[name.removesuffix(".__init__")] = path
    return names


def in_order(graph):
    """The nodes, each after what it needs; an AssertionError that shows the circle if there is one."""
    try:
        return list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None


def test_no_package_and_no_module_imports_itself():
    assert in_order(ALLOWED_IMPORTS)[0] in ("attn_utils", "figures", "proofs", "errors")
    names = module_names()
    graph = {}
    for name, path in names.items():
        wanted = {n if n in names else n.rpartition(".")[0] for n in imports_of(path)}
        graph[name] = (wanted & set(names)) - {name}
    assert len(in_order(graph)) == len(names)


def test_every_test_is_named_by_its_package_or_module():
    modules = [path.stem for path in (ROOT / "attn_course").glob("*.py")]
    packages = "|".join([*ALLOWED_IMPORTS, *modules, "answers", "project"])
    for path in (ROOT / "tests").glob("test_*.py"):
        assert re.fullmatch(rf"test_({packages})(_\w+)?", path.stem), path.name


# What is written when the course is used, and stands in the text by its name.
MADE = {"nbgrader_config.py", "submission_metadata.yml"}
# How a path of ours begins.
OURS = {*PACKAGES, *ALLOWED_IMPORTS, ".ci", "docs", "notebooks", "solutions", "tests"}
QUOTED = re.compile(r"`([^`\n]+)`")
LIKE_A_PATH = re.compile(r"\.?[\w-][\w.-]*(/[\w.-]+)*/?")
PLACEHOLDER = re.compile(r"NN_|/name\.(py|md)|\d/\d")  # stands for a path
ENDINGS = (".cfg", ".lock", ".md", ".py", ".sh", ".toml", ".yml")
TEXTS = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("**/*.md"),
    *(ROOT / "solutions").glob("*.py"),
    *MODULES,
]


def parts_of_paths():
    """Every run of folders and files in the project's paths: how a text may name a place."""
    skipped = {".git", ".venv", "__pycache__"}
    found = set()
    for path in ROOT.rglob("*"):
        parts = path.relative_to(ROOT).parts
        if not skipped & set(parts):
            found |= {"/".join(parts[k:]) for k in range(len(parts))}
    return found


def named_paths(text):
    """What stands in back quotes and looks like a file or folder of ours."""
    for quoted in QUOTED.findall(text):
        first, *inside = quoted.split("/")
        is_path = quoted.endswith(ENDINGS) or (inside and first in OURS)
        if is_path and LIKE_A_PATH.fullmatch(quoted) and not PLACEHOLDER.search(quoted):
            yield quoted


def test_every_file_that_a_text_names_is_there():
    known = parts_of_paths() | MADE
    for text in TEXTS:
        for path in named_paths(text.read_text("utf-8")):
            is_ending = path.startswith(".") and path in ENDINGS
            assert is_ending or path.rstrip("/") in known, f"{text.relative_to(ROOT)}: {path}"


def test_every_file_that_a_diagram_names_is_there():
    known = parts_of_paths()
    diagrams = sorted((ROOT / "docs" / "images").glob("flow-*.svg"))
    assert diagrams
    for diagram in diagrams:
        named = re.findall(r">([\w/]+(?:\.py|/))<", diagram.read_text("utf-8"))
        assert named
        for path in named:
            assert path.rstrip("/") in known, f"docs/images/{diagram.name}: {path}"


def test_the_link_for_a_hub_opens_the_first_notebook():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    (opened,) = re.findall(r"git-pull\?\S*urlpath=lab/tree/NAME/(\S+)`", page)
    assert opened == f"notebooks/{register.NOTEBOOKS[0]}.ipynb"


def test_every_module_that_a_text_names_is_there():
    names = module_names()
    ours = re.compile(r"\battn_(?:utils|course)(?:\.[a-z]\w*)+")
    for text in [*TEXTS, ROOT / "Makefile", ROOT / ".ci" / "run"]:
        for dotted in ours.findall(text.read_text("utf-8")):
            module = dotted
            while module not in names:
                module, _, inside = module.rpartition(".")
            if module != dotted:
                assert inside in names[module].read_text("utf-8"), f"{text.name}: {dotted}"


def test_every_module_and_test_that_mutants_are_made_for_is_there():
    for modules, tests in mutation.TABLE.items():
        for pattern in (modules, *tests):
            assert list(ROOT.glob(pattern)), f"tests/mutation.py: {pattern}"


TEST_FILES = sorted((ROOT / "tests").rglob("*.py"))


@pytest.mark.parametrize("path", TEST_FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_test_uses_a_private_name_of_ours(path):
    tree = ast.parse(path.read_text("utf-8"))
    ours = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGES):
            ours |= {alias.asname or alias.name for alias in node.names}
    private = {name for name in ours if name.startswith("_")}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in ours:
                private |= {attribute} if re.match("_[a-z]", attribute) else set()
            case ast.Call(args=[ast.Name(id=name), ast.Constant(value=str(attribute)), *_]):
                private |= {attribute} if name in ours and attribute.startswith("_") else set()
    assert not private


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_opens_with_a_sentence(path):
    docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    assert len(re.findall(r"[.?](?=\s|$)", docstring)) >= 1, path


def test_every_seed_question_is_answered_and_no_other_is_claimed():
    covered = {seed for name in WRITTEN for q in register.questions_of(name) for seed in q.covers}
    assert covered == {
        f"{seed} {item}" for seed, items in SEEDS.items() for item in items.split(", ")
    }


def test_importing_the_judges_of_numpy_notebooks_does_not_import_torch():
    script = "import sys, attn_course as c; c.check('1.1', None); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_hints_are_at_hand_in_every_notebook():
    for name in WRITTEN:
        text = (ROOT / "solutions" / f"{name}.py").read_text("utf-8")
        assert re.search(r"^from attn_course import .*\bhint\b", text, re.M), name


def used_by(table):
    """The names that a statement's functions take from the notebook."""
    own = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
    return own.union(*map(used_by, table.get_children()))


def reached_from(name, functions):
    """What a function draws with, and what the notebook's functions draw with that it calls."""
    found, new = set(), {name}
    while new:
        found |= new
        new = set().union(*(functions.get(each, ()) for each in new)) - found
    return found - {name}


def explored_in(statement):
    """The names of the functions that a statement puts on sliders."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return [call.args[0].id for call in calls if ast.unparse(call.func) == "plots.explore"]


@pytest.mark.parametrize("name", WRITTEN)
def test_no_cell_changes_what_a_slider_above_it_draws_with(name):
    functions, drawing = {}, set()
    for statement in ast.parse((ROOT / "solutions" / f"{name}.py").read_text("utf-8")).body:
        table = symtable.symtable(ast.unparse(statement), name, "exec")
        given = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
        assert not given & drawing, f"line {statement.lineno}"
        if isinstance(statement, ast.FunctionDef):
            functions[statement.name] = used_by(table.get_children()[0])
        for drawn in explored_in(statement):
            drawing |= reached_from(drawn, functions)
