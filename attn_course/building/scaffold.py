"""`attn new`: the files of a new question or notebook, valid and to be filled in."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template

from attn_course import register
from attn_course.errors import UserError

REGISTER = "attn_course/register.py"
TEMPLATES = Path(__file__).parent / "scaffold"
KINDS = ("code", "derive", "written")
MINUTES = 5  # of a new question, until its author knows better
POINTS = 0.5  # of each part
NOTEBOOK = re.compile(r"(?P<number>\d\d)_(?P<module>[a-z][a-z0-9_]*)")
QUERY = re.compile(r"^\| \$q\$.*(?= \|$)", re.M)  # the first row of docs/notation.md
HEAD = re.compile(r"^# \*(\d+) min,", re.M)
IMPORTS = {  # what a judge needs: name -> where it comes from
    "code": {
        "Generator": "numpy.random",
        "Caller": "attn_course.answers",
        "NotYet": "attn_course.answers",
    },
    "derive": {
        "Claim": "attn_course.register",
        "Claims": "attn_course.register",
        "chains_prove": "attn_course.register",
    },
    "written": {},
}


def new_question(root: Path, question: str, kinds: Sequence[str] = ("code",)) -> list[Path]:
    """Add the next question, with a part of each kind, to its notebook; returns the changed files."""
    found = re.fullmatch(r"(\d+)\.(\d+)", question)
    if found is None:
        raise UserError(f'"{question}" is no question; write its number as 1.8.')
    stem = register.notebook_numbered(found[1])
    if stem is None:
        raise UserError(f"there is no notebook {found[1].zfill(2)}; attn new notebook makes one.")
    wanted = f"{found[1]}.{len(register.questions_of(stem)) + 1}"
    if question != wanted:
        raise UserError(f"the next question of {stem} is {wanted}.")
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise UserError(f"a question has one part of each kind; {kind} was given twice.")

    words = _words(question, stem, kinds)
    source = root / "solutions" / f"{stem}.py"
    module = root / words["module"]
    bank = root / "tests" / "bank" / f"{stem[3:]}.py"
    changes: dict[Path, Callable[[str], str]] = {
        source: lambda text: _with_cells(text, words, kinds),
        module: lambda text: _with_judge(text, words, kinds),
        root / REGISTER: lambda text: _with_points(text, words),
        root / "CHANGELOG.md": lambda text: _with_line(text, f"- {question}: a new question."),
    }
    if answers := _answers(words, kinds):
        changes[bank] = lambda text: text + answers
    return _write({path: change(_text(path)) for path, change in changes.items()})


def new_notebook(root: Path, stem: str) -> list[Path]:
    """Write a notebook with one question and register it; returns the files that were written."""
    found = NOTEBOOK.fullmatch(stem)
    if found is None:
        raise UserError(f'"{stem}" is no name of a notebook; write it as 15_name.')
    number = f"{len(register.NOTEBOOKS):02}"
    if found["number"] != number:
        raise UserError(f"the next notebook is {number}_{found['module']}.")

    kinds = ("code",)
    words = _words(f"{int(number)}.1", stem, kinds)
    words["title"] = found["module"].replace("_", " ").capitalize()
    words["seed"] = str(int(number))
    words["question"] = _cells(words, kinds)
    words["judge"] = _judges(words, kinds)
    words["entry"] = _filled("entry", words)
    places = {
        root / "solutions" / f"{stem}.py": _filled("notebook", words),
        root / words["module"]: _filled("notebook_module", words),
        root / "tests" / "bank" / f"{stem[3:]}.py": _filled("notebook_bank", words)
        + _answers(words, kinds),
    }
    for path in places:
        if path.exists():
            raise UserError(f"{path.relative_to(root)} is there already.")

    registered = root / REGISTER
    symbols = root / "docs" / "notation.md"
    log = root / "CHANGELOG.md"
    places[symbols] = QUERY.sub(rf"\g<0>, {number}", _text(symbols), count=1)
    places[registered] = _with_points(_with_notebook(_text(registered), stem), words)
    places[log] = _with_line(_text(log), f"- {stem}: a new notebook.")
    return _write(places)


def _words(question, stem, kinds):
    """What the templates leave open."""
    number = question.replace(".", "_")
    points = 0 if stem == register.NOTEBOOKS[0] else POINTS
    judged = [kind for kind in kinds if kind != "written"]
    words = {
        "id": question,
        "number": number,
        "stem": stem,
        "module": f"attn_course/questions/{stem[3:]}.py",
        "minutes": str(MINUTES),
        "points": ", ".join(f'"{kind}": {points}' for kind in kinds),
        "code": f"answer_{number}",
        "derive": f"chain_{number}",
    }
    parts = []
    for kind in kinds:
        words[f"{kind} marker"] = question if judged == [kind] else f"{question} {kind}"
        judge = f', ("{words[kind]}",), judge_{words[kind]}' if kind in judged else ""
        parts.append(f'Part("{kind}"{judge}),')
    words["parts"] = " ".join(parts)
    return words


def _of_kind(words, kind):
    """The words of one part."""
    return words | {"name": words.get(kind, ""), "marker": words[f"{kind} marker"]}


def _cells(words, kinds):
    """What a source gains: the card, and for each part its answer and check."""
    return _filled("question", words) + "".join(
        _filled(kind, _of_kind(words, kind)) for kind in kinds
    )


def _judges(words, kinds):
    """What a module of questions gains."""
    judged = [kind for kind in kinds if kind != "written"]
    return "".join(_filled(f"judge_{kind}", _of_kind(words, kind)) for kind in judged)


def _answers(words, kinds):
    """What a bank gains: right and wrong answers, and the inputs that a judge of code must draw."""
    if set(kinds) == {"written"}:
        return ""
    input_kinds = _filled("input_kinds", _of_kind(words, "code")) if "code" in kinds else ""
    return _filled("bank", words) + input_kinds


def _filled(template, words):
    text = (TEMPLATES / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(words)


def _text(path):
    if not path.exists():
        raise UserError(f"there is no {path.name} here; run attn new in the folder of the project.")
    return path.read_text("utf-8")


def _with_cells(text, words, kinds):
    """A source with the cells of a question behind its last one, and more minutes in its head line."""
    last = max(text.rfind('\n# %% check="'), text.rfind('rubric="'))
    section = re.compile(r"\n(# %% .*\n)?# ## ").search(text, last)
    if section is None:
        before, after = f"{text}\n", ""
    elif section[1]:
        before, after = text[: section.start() + 1], text[section.start() + 1 :]
    else:  # a section that begins inside a cell begins one of its own now
        before = text[: section.start()].removesuffix("\n#") + "\n\n"
        after = f"# %% [markdown]{text[section.start() :]}"
    before = HEAD.sub(lambda found: f"# *{int(found[1]) + MINUTES} min,", before, count=1)
    if "derive" in kinds:
        before = _with_imports(before, {"sp": "sympy", "derive": "attn_course"})
    return before + _cells(words, kinds) + after


def _with_judge(text, words, kinds):
    """A module of questions with one more judge, and its entry at the end of QUESTIONS."""
    start = text.index("\nQUESTIONS = (") + 1
    end = text.index("\n)\n", start) + 1
    text = (
        text[:start]
        + _judges(words, kinds)
        + text[start:end]
        + _filled("entry", words)
        + text[end:]
    )
    for kind in kinds:
        text = _with_imports(text, IMPORTS[kind])
    return text


def _with_imports(text, needed):
    """A file that imports what is needed; ruff puts the lines in order. needed: {name: where it is}."""
    for name, place in needed.items():
        if not re.search(rf"^(import|from) .*\b{name}\b|^    {name},$", text, re.M):
            line = f"import {place} as {name}" if name == "sp" else f"from {place} import {name}"
            first = text.index("\nfrom attn_course") + 1
            text = f"{text[:first]}{line}\n{text[first:]}"
    return text


def _with_notebook(text, stem):
    """The register with a notebook at the end of its last part."""
    end = text.index("    ),\n}\n", text.index("\nPARTS = {"))
    return f'{text[:end]}        "{stem}",\n{text[end:]}'


def _with_points(text, words):
    """The register with a row of points behind those of the same notebook, or behind all."""
    start = text.index("\nPOINTS")
    end = text.index("\n}\n", start) + 1
    row = f'    "{words["id"]}": {{{words["points"]}}},\n'
    heading = f"    # {words['stem']}\n"
    found = text.find(heading, start, end)
    if found < 0:
        return f"{text[:end]}{heading}{row}{text[end:]}"
    after = text.find("\n    # ", found, end)
    place = after + 1 if after >= 0 else end
    return text[:place] + row + text[place:]


def _with_line(text, line):
    """The changelog with a line under what is not released yet."""
    heading = "## Unreleased\n\n### Notebooks\n\n"
    if heading not in text:
        first = text.index("\n## ") + 1
        return f"{text[:first]}{heading}{line}\n\n{text[first:]}"
    return text.replace(heading, f"{heading}{line}\n", 1)


def _write(files):
    for path, text in files.items():
        path.write_text(text, "utf-8")
    return list(files)
