"""`attn new`: the files of a new question or notebook, valid and to be filled in."""

import re
from collections.abc import Callable
from pathlib import Path
from string import Template

from attn_course import register
from attn_course.errors import UserError

REGISTER = "attn_course/register.py"
TEMPLATES = Path(__file__).parent / "scaffold"
KINDS = ("code", "derive")
MINUTES = 5  # of a new question, until its author knows better
POINTS = 0.5
NOTEBOOK = re.compile(r"(?P<number>\d\d)_(?P<module>[a-z][a-z0-9_]*)")
HEAD = re.compile(r"^# \*(\d+) min,", re.M)


def new_question(root: Path, question: str, kind: str = "code") -> list[Path]:
    """Add the next question to its notebook; returns the files that were changed."""
    found = re.fullmatch(r"(\d+)\.(\d+)", question)
    if found is None:
        raise UserError(f'"{question}" is no question; write its number as 1.8.')
    stem = register.notebook_numbered(found[1])
    if stem is None:
        raise UserError(f"there is no notebook {found[1].zfill(2)}; attn new notebook makes one.")
    wanted = f"{found[1]}.{len(register.questions_of(stem)) + 1}"
    if question != wanted:
        raise UserError(f"the next question of {stem} is {wanted}.")

    words = _words(question, stem, kind)
    source = root / "solutions" / f"{stem}.py"
    module = root / words["module"]
    bank = root / "tests" / "bank" / f"{stem[3:]}.py"
    changes: dict[Path, Callable[[str], str]] = {
        source: lambda text: _with_cells(text, _filled(_cells(kind), words)),
        module: lambda text: _with_judge(text, words),
        bank: lambda text: text + _answers(kind, words),
        root / REGISTER: lambda text: _with_points(text, words),
        root / "CHANGELOG.md": lambda text: _with_line(text, f"- {question}: a new question."),
    }
    return _write({path: change(_text(path)) for path, change in changes.items()})


def _answers(kind, words):
    """What a bank gains: right and wrong answers, and the inputs that a judge of code must draw."""
    regimes = _filled("regimes", words) if kind == "code" else ""
    return _filled("bank", words) + regimes


def new_notebook(root: Path, stem: str) -> list[Path]:
    """Write a notebook with one question and register it; returns the files that were written."""
    found = NOTEBOOK.fullmatch(stem)
    if found is None:
        raise UserError(f'"{stem}" is no name of a notebook; write it as 15_name.')
    number = f"{len(register.NOTEBOOKS):02}"
    if found["number"] != number:
        raise UserError(f"the next notebook is {number}_{found['module']}.")

    question = f"{int(number)}.1"
    words = _words(question, stem, "code")
    words["title"] = found["module"].replace("_", " ").capitalize()
    words["number"] = str(int(number))
    words["question"] = _filled("question", words)
    words["judge"] = _filled("judge", words)
    words["entry"] = _filled("entry", words)
    places = {
        root / "solutions" / f"{stem}.py": _filled("notebook", words),
        root / words["module"]: _filled("notebook_module", words),
        root / "tests" / "bank" / f"{stem[3:]}.py": _filled("notebook_bank", words)
        + _answers("code", words),
    }
    for path in places:
        if path.exists():
            raise UserError(f"{path.relative_to(root)} is there already.")

    registered = root / REGISTER
    log = root / "CHANGELOG.md"
    places[registered] = _with_points(_with_notebook(_text(registered), stem), words)
    places[log] = _with_line(_text(log), f"- {stem}: a new notebook.")
    return _write(places)


def _words(question, stem, kind):
    """What the templates leave open."""
    if kind not in KINDS:
        raise UserError(f"a question is of the kind {' or '.join(KINDS)}, not {kind}.")
    return {
        "id": question,
        "kind": kind,
        "stem": stem,
        "name": f"answer_{question.replace('.', '_')}",
        "module": f"attn_course/questions/{stem[3:]}.py",
        "minutes": str(MINUTES),
        "points": str(0 if stem == register.NOTEBOOKS[0] else POINTS),
    }


def _cells(kind):
    return "question" if kind == "code" else "derivation"


def _filled(template, words):
    text = (TEMPLATES / f"{template}.txt").read_text("utf-8")
    return Template(text).substitute(words)


def _text(path):
    if not path.exists():
        raise UserError(f"there is no {path.name} here; run attn new in the folder of the project.")
    return path.read_text("utf-8")


def _with_cells(text, cells):
    """A source with `cells` behind its last question, and more minutes in its head line."""
    last = text.rfind('\n# %% check="')
    last = max(last, text.rfind('rubric="'))
    end = text.find("\n# %% [markdown]\n# ## ", last) + 1
    before, after = (text[:end], text[end:]) if end else (f"{text}\n", "")
    before = HEAD.sub(lambda found: f"# *{int(found[1]) + MINUTES} min,", before, count=1)
    return before + cells + after


def _with_judge(text, words):
    """A module of questions with one more judge, and its entry at the end of QUESTIONS."""
    start = text.index("\nQUESTIONS = (") + 1
    end = text.index("\n)\n", start) + 1
    judge = _filled("judge", words)
    entry = _filled("entry", words)
    text = text[:start] + judge + text[start:end] + entry + text[end:]
    needed = {
        "Generator": "numpy.random",
        "Caller": "attn_course.answers",
        "NotYet": "attn_course.answers",
    }
    for name, place in needed.items():
        if not re.search(rf"^(from .*\b|    ){name}\b", text[:start], re.M):
            first = text.index("\nfrom attn_course") + 1
            text = f"{text[:first]}from {place} import {name}\n{text[first:]}"
    return text


def _with_notebook(text, stem):
    """The register with a notebook at the end of its last part."""
    end = text.index("    ),\n}\n", text.index("\nPARTS = {"))
    return f'{text[:end]}        "{stem}",\n{text[end:]}'


def _with_points(text, words):
    """The register with a row of points behind those of the same notebook, or behind all."""
    start = text.index("\nPOINTS")
    end = text.index("\n}\n", start) + 1
    row = f'    "{words["id"]}": {{"{words["kind"]}": {words["points"]}}},\n'
    heading = f"    # {words['stem']}\n"
    found = text.find(heading, start, end)
    if found < 0:
        return f"{text[:end]}{heading}{row}{text[end:]}"
    after = text.find("\n    # ", found, end)
    place = after + 1 if after >= 0 else end
    return text[:place] + row + text[place:]


def _with_line(text, line):
    """The changelog with a line under what is not released yet."""
    heading = "## Unreleased\n\n"
    if heading not in text:
        first = text.index("\n## ") + 1
        return f"{text[:first]}{heading}{line}\n\n{text[first:]}"
    return text.replace(heading, f"{heading}{line}\n", 1)


def _write(files):
    for path, text in files.items():
        path.write_text(text, "utf-8")
    return list(files)
