"""Knows how verdicts and a person's points add up, are kept on disk and written down; judges nothing."""

import contextlib
import csv
import io
import json
import os
import secrets
import zlib
from dataclasses import dataclass

from attn_course import register
from attn_course.grading.record import State
from attn_course.grading.submissions import Refused
from attn_course.verdict import CORRECT

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins so


class Results:
    """results.jsonl: the batch's seed, then a record for each file as soon as it is graded.

    Only offsets are kept in memory. A line cut short by a kill is dropped when the file is opened.
    """

    def __init__(self, path, seed=None):
        self.file = open(path, "a+b")  # noqa: SIM115  held, and locked, as long as the batch lasts
        self.where, self.stamps = {}, {}
        _lock(self.file)
        self.file.seek(0)
        self.seed, end = None, 0
        while (line := self.file.readline()).endswith(b"\n"):
            self._index(_unsealed(line, path), end)
            end = self.file.tell()
        self.file.truncate(end)
        if self.seed is None:
            self.seed = secrets.randbits(128) if seed is None else seed
            self._append({"seed": f"{self.seed:x}"})
        elif seed not in (None, self.seed):
            raise Refused(f"{path} holds a batch with another seed; choose another --out.")

    def _index(self, record, offset):
        if "seed" in record:
            self.seed = int(record["seed"], 16)
        else:
            key = record["student"], record["notebook"], record["file"]
            self.where[key], self.stamps[key] = offset, record["stamp"]

    def _append(self, record):
        offset = self.file.seek(0, os.SEEK_END)
        self.file.write(json.dumps({**record, "seal": _seal(record)}).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        return offset

    def add(self, record):
        self._index(record, self._append(record))

    def has(self, file):
        return self.stamps.get(file.key) == file.stamp

    def get(self, key):
        self.file.seek(self.where[key])
        return json.loads(self.file.readline())


def _seal(record):
    return zlib.crc32(json.dumps(record).encode())


def _unsealed(line, path):
    """Return the record in a line of results, if it is as it was written."""
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        record = json.loads(line)
        if record.pop("seal") == _seal(record):
            return record
    raise Refused(f"{path} was changed by hand; choose another --out.")


def _lock(file):
    """Refuse to write where another process writes; where there are no locks, trust the grader."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(f"another attn grade is at work on {file.name}.") from None


@dataclass
class Sheet:
    """One student's results: every part of every question, and remarks on the files."""

    student: str
    parts: list
    remarks: list
    problems: list

    def points(self, question_id=None, notebook=None):
        chosen = (
            part["points"]
            for part in self.parts
            if question_id in (None, part["question"]) and notebook in (None, part["notebook"])
        )
        return sum(chosen)

    def total(self):
        """Return the points that count towards the 100."""
        return self.points() - self.bonus()

    def bonus(self):
        """Return the points of notebooks beyond the course, which count on their own."""
        return sum(part["points"] for part in self.parts if part["notebook"] in register.BONUS)

    def by_notebook(self):
        """Return the points of each notebook, None for one that was not handed in."""
        names = dict.fromkeys(part["notebook"] for part in self.parts)
        seen = {part["notebook"] for part in self.parts if part["status"] != State.ABSENT}
        return [self.points(notebook=name) if name in seen else None for name in names]

    @property
    def num_waiting(self):
        return sum(part["status"] == State.WAITING for part in self.parts)


class Gradebook:
    """The batch as a person sees it: students x questions, machine's and person's points together."""

    def __init__(self, students, notebooks, files, results, given):
        self.students, self.notebooks, self.results, self.given = (
            students,
            notebooks,
            results,
            given,
        )
        self.questions = [q for name in notebooks for q in register.questions_of(name)]
        self.has_bonus = not register.BONUS.isdisjoint(notebooks)
        self.keys = {student: [] for student in students}
        for file in files:
            self.keys[file.student].append(file.key)

    def sheet(self, student):
        records = [self.results.get(key) for key in self.keys[student]]
        by_notebook = {record["notebook"]: record for record in records}
        parts = [
            self._part(student, question, part, by_notebook.get(question.notebook))
            for question in self.questions
            for part in question.parts
        ]
        bad = [f"{record['file']}: {record['problem']}" for record in records if record["problem"]]
        odd = [f"{record['file']}: {text}" for record in records for text in record["remarks"]]
        return Sheet(student, parts, odd, bad or ([] if records else ["nothing was handed in."]))

    def _part(self, student, question, part, record):
        found = {"question": question.id, "kind": part.kind, "points": 0, "out_of": part.points}
        found |= {
            "status": State.ABSENT,
            "message": "this notebook was not handed in.",
            "answer": "",
        }
        if record:
            found |= {"status": State.FAILED, "message": record["problem"]}
            judged = [p for p in record["parts"] if _same(p, found)]
            found |= judged[0] if judged else {}
        found |= {"notebook": question.notebook, "title": question.title, "comment": ""}
        if (student, question.id, part.kind) in self.given:
            points, comment = self.given[student, question.id, part.kind]
            found |= {"points": points, "comment": comment, "status": State.READ}
        return found


def _same(one, other):
    return (one["question"], one["kind"]) == (other["question"], other["kind"])


def csv_header(book):
    columns = ["student"]
    for name in book.notebooks:
        columns += [question.id for question in register.questions_of(name)] + [name]
    totals = ["total", "bonus"] if book.has_bonus else ["total"]
    return [*columns, *totals, "awaiting", "problems"]


def csv_row(book, sheet):
    """Return a student's row: points, sub-totals, total, bonus, written answers that await a person."""
    row = [guarded(sheet.student)]
    for name in book.notebooks:
        row += [f"{sheet.points(q.id):g}" for q in register.questions_of(name)]
        row.append(f"{sheet.points(notebook=name):g}")
    problems = guarded(" ".join(sheet.problems))
    row.append(f"{sheet.total():g}")
    if book.has_bonus:
        row.append(f"{sheet.bonus():g}")
    return [*row, str(sheet.num_waiting), problems]


def guarded(text):
    """Return `text` so that no spreadsheet takes it for a formula; `unguarded` takes it back."""
    return f"'{text}" if text.startswith(FORMULA) else text


def unguarded(text):
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA) else text


def csv_text(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def gradescope(sheet):
    """Return a student's results in the schema of Gradescope's results.json; the score has no bonus."""
    tests = [
        {
            "name": f"{part['question']} {part['title']} ({part['kind']})",
            "number": part["question"],
            "score": part["points"],
            "max_score": part["out_of"],
            "status": "passed" if _passed(part) else "failed",
            "output": " ".join(filter(None, [part["message"], part["comment"]])),
            "visibility": "visible",
        }
        for part in sheet.parts
    ]
    notes = "\n".join(sheet.problems + sheet.remarks)
    found = {"score": sheet.total(), "output": notes, "visibility": "visible", "tests": tests}
    return found | {"extra_data": {"bonus": sheet.bonus()}}


def _passed(part):
    return part["status"] == CORRECT or (part["status"] == State.READ and part["points"] > 0)
