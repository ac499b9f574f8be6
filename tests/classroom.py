"""Makes submissions with known scores out of the notebooks, their solutions and the banks of answers."""

import copy
import json
import random
import re
import struct
import zlib
from functools import cache

from course import ROOT, bank

from attn_course import register
from attn_course.derivation import Derivation
from attn_course.verdict import State
from attn_grader.record import PartRecord, Record

BROKEN = {
    "a syntax error": "def {0}(:",
    "a missing import": "import nonsense\ndef {0}(*args):\n    return args",
    "an exception": "def {0}(*args, **kwargs):\n    return {{}}['key']",
    "an error in the cell": "1 / 0\n\ndef {0}(*args):\n    return args",
}


@cache
def _stored(folder, name):
    return json.loads((ROOT / folder / f"{name}.ipynb").read_text("utf-8"))


def notebook(name, folder="notebooks"):
    """A notebook as plain data, for a test to change."""
    return copy.deepcopy(_stored(folder, name))


def cell(found, cell_id):
    return next(cell for cell in found["cells"] if cell.get("id") == cell_id)


def cell_id(question, part):
    return f"q{question.id.replace('.', '-')}-{part.kind}"


def parts_of(name):
    return [(question, part) for question in register.questions_of(name) for part in question.parts]


def filled(name, choices):
    """The student's notebook, its answer cells as `choices` says: (question, kind) -> source."""
    found = notebook(name)
    for question, part in parts_of(name):
        if (question.id, part.kind) in choices:
            cell(found, cell_id(question, part))["source"] = choices[question.id, part.kind]
    return found


def right(name, question, part):
    """The solution's cell, as a student would have it: without the marks of the region."""
    source = "".join(cell(notebook(name, "solutions"), cell_id(question, part))["source"])
    return re.sub(r"^ *# (BEGIN|END) SOLUTION\n?", "", source, flags=re.M)


def all_right(name):
    """The student's notebook with every answer of the solution's."""
    return filled(name, {(q.id, part.kind): right(name, q, part) for q, part in parts_of(name)})


def wrong(part):
    """A cell with an answer of the right form that nobody would call right."""
    if part.kind == "written":
        return "Because."
    false = 'derive((sp.Integer(1), "so"), (sp.Integer(2), "and so"))'
    value = false if part.kind == "derive" else "lambda *args, **kwargs: 0.0"
    return "\n".join(f"{name} = {value}" for name in part.answers)


def broken(part, rng):
    if part.kind == "written":
        return ""
    return "\n".join(rng.choice(list(BROKEN.values())).format(name) for name in part.answers)


def student(name, kind, rng):
    """(notebook, points of the machine, written answers): all right, all wrong, mixed or broken."""
    choices, points, waiting = {}, 0, 0
    for question, part in parts_of(name):
        how = rng.choice(["right", "wrong", "broken", "stub"]) if kind == "mixed" else kind
        if how != "stub":
            make = {"right": lambda p: right(name, question, p), "wrong": wrong}  # noqa: B023
            make["broken"] = lambda p: broken(p, rng)
            choices[question.id, part.kind] = make[how](part)
        points += part.points if how == "right" and part.judge else 0
        waiting += how in ("right", "wrong") and part.judge is None
    return filled(name, choices), points, waiting


def classroom(folder, names, size, seed=0):
    """Write a class of `size` students; return {student: (points, written answers that wait)}."""
    rng, expected = random.Random(seed), {}
    for number in range(size):
        kind = ("right", "wrong", "mixed", "broken")[number % 4]
        who, name = f"student {number:03}", names[number // 4 % len(names)]
        found, *expected[who] = student(name, kind, rng)
        save(folder / who / f"{name}.ipynb", found)
    return expected


def save(path, found):
    """Write a notebook, or its text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(found if isinstance(found, str) else json.dumps(found), "utf-8")


def png(width=2, height=2, noise=b""):
    """A picture, with some bytes that make it another."""

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = zlib.compress(b"\0" * (width + 1) * height) if width * height < 1000 else b""
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + chunk(b"tEXt", noise)
        + chunk(b"IDAT", rows)
        + chunk(b"IEND", b"")
    )


def bank_entries(name):
    """Every answer on record for a notebook: (question, part, kind, its name, fragment or None)."""
    for question in dict.fromkeys(question for question, part in parts_of(name) if part.judge):
        for kind in ("RIGHT", "WRONG"):
            for entry, found in bank(question, kind).items():
                answers, fragment = found if kind == "WRONG" else (found, None)
                first = answers[0] if isinstance(answers, tuple) else answers
                judged = [part for part in question.parts if part.judge]
                wanted = "derive" if isinstance(first, Derivation) else "code"
                part = next((p for p in judged if p.kind == wanted), judged[0])
                yield question, part, kind, entry, fragment


def bank_submissions(name, wanted):
    """Pack the wanted answers into few notebooks: (notebook, entries), no name defined twice in one."""
    packs = []
    for entry in filter(wanted, bank_entries(name)):
        names = set(entry[1].answers)
        pack = next((p for p in packs if not names & p[0]), None)
        if pack is None:
            packs.append(pack := (set(), []))
        pack[0].update(names)
        pack[1].append(entry)
    return [(_with_bank(name, entries), entries) for _, entries in packs]


def _with_bank(name, entries):
    """The notebook with these entries as answers, and the bank in a module of its own on top."""
    has_chains = any(part.kind == "derive" for _, part, *_ in entries)
    source = "\n".join([*_bank_source("__init__"), *_bank_source(name[3:], has_chains)])
    lines = [
        "import linecache, sys, types",
        f"source = {source!r}",
        "bank = sys.modules['bank'] = types.ModuleType('bank')",
        "bank.__file__ = 'bank.py'",  # `edited` reads the source of functions and classes
        "linecache.cache['bank.py'] = len(source), None, source.splitlines(True), 'bank.py'",
        "exec(compile(source, 'bank.py', 'exec'), vars(bank))",
    ]
    found = filled(
        name, {(q.id, part.kind): _from_bank(q, part, *e[:2]) for q, part, *e in entries}
    )
    found["cells"].insert(0, {"cell_type": "code", "metadata": {}, "source": "\n".join(lines)})
    return found


def _from_bank(question, part, kind, entry):
    place = f"bank.{kind}[{question.id!r}][{entry!r}]" + "[0]" * (kind == "WRONG")
    names = ", ".join(part.answers)
    return f"found = {place}\n{names}, = found if isinstance(found, tuple) else (found,)"


def _bank_source(module, has_chains=True):
    """The text of a bank, after that of the banks it imports from.

    Making all chains takes a second, of which a notebook without one has nothing.
    """
    if module == "chains" and not has_chains:
        return ["right = wrong = lambda question: {}"]
    text = (ROOT / "tests" / "bank" / f"{module}.py").read_text("utf-8")
    pattern = r"^from (?:bank)?\.(\w+) import (?:\([^)]*\)|.*)$"
    above = [
        source
        for other in re.findall(pattern, text, re.M)
        for source in _bank_source(other, has_chains)
    ]
    return [*above, re.sub(pattern, "", text, flags=re.M)]


def full_record(key, answer="", message="", **known):
    """Stands in for a line of results.jsonl: every part judged is right, every other awaits a person."""
    parts = [
        PartRecord(
            question=question.id,
            kind=part.kind,
            status=State.CORRECT if part.judge else State.WAITING,
            points=part.points if part.judge else 0,
            out_of=part.points,
            message=message,
            answer=answer,
        )
        for question, part in parts_of(key[1])
    ]
    return Record(*key, "", parts=tuple(parts), **known)
