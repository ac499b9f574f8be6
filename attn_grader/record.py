"""The record of a file, and results.jsonl, which holds what was graded so far."""

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import IO, Any

from attn_course.command_line import log
from attn_course.errors import UserError
from attn_course.verdict import State, Verdict
from attn_grader.submissions import File

Key = tuple[str, str, str]
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("attn_utils", "attn_course")
DIGEST_LETTERS = 16
MOST_NAMED = 10  # unreadable lines whose numbers are told
IMPORT = re.compile(r"^[ \t]*import ([\w., ]+)", re.M)
FROM_IMPORT = re.compile(r"^[ \t]*from ([\w.]+) import (\([^)]*\)|.*)", re.M)
NAME = re.compile(r"\w+")


@dataclass(frozen=True, repr=False)
class PartRecord(Verdict):
    """The verdict on one part of a question, with the text of the answer and the pictures in it."""

    answer: str = ""
    images: dict[str, str] = field(default_factory=dict)  # address in the answer: data of a picture
    borrowed: str = ""  # the course's own objects that a right answer may be


@dataclass(frozen=True)
class Record:
    """One file. `problem` is a sentence if it has no grade: then all its parts await a person.

    `stamp` is the SHA-256 of the bytes that were judged; without one it is graded again.
    """

    student: str
    notebook: str
    file: str
    stamp: str
    problem: str = ""
    remarks: tuple[str, ...] = ()
    tier: str = ""
    cpu: float = 0.0
    parts: tuple[PartRecord, ...] = ()

    @classmethod
    def of(cls, file: File, stamp: str, **more: Any) -> "Record":
        """Return the record of a file, of which nothing else need be known yet."""
        return cls(*file.key, stamp, **more)

    def for_file(self, file: File) -> "Record":
        """Return this record, which a worker made of bytes alone, as that of the file they are from."""
        student, notebook, name = file.key
        parts = list(self.parts)
        for number, part in enumerate(parts):
            if file.copies and part.status in (State.NOT_YET, State.NOT_ATTEMPTED):
                others = " and ".join(file.copies[:5])
                verb = "was" if len(file.copies) == 1 else "were"
                message = f"{part.message} {others} {verb} handed in too; a person looks at it."
                parts[number] = replace(part, status=State.WAITING, message=message)
        return replace(
            self,
            student=student,
            notebook=notebook,
            file=name,
            stamp=file.stamped(self.stamp),
            remarks=(*file.remarks, *self.remarks),
            parts=tuple(parts),
        )

    @classmethod
    def from_data(cls, data: dict) -> "Record":
        """Return the record in a line of results.jsonl; raise ValueError where it is none."""
        values = {each.name: data[each.name] for each in fields(cls)}
        _require(values, str, "student", "notebook", "file", "stamp", "problem", "tier")
        _require(values, float, "cpu")
        values["remarks"] = tuple(values["remarks"])
        if not all(isinstance(text, str) for text in values["remarks"]):
            raise ValueError("a remark is no text")
        values["parts"] = tuple(map(_part, values["parts"]))
        return cls(**values)


def _part(data):
    values = {each.name: data[each.name] for each in fields(PartRecord)}
    _require(values, str, "question", "kind", "message", "answer", "mistake", "borrowed")
    _require(values, float, "points", "out_of")
    if not isinstance(values["needs_person"], bool) or not isinstance(values["images"], dict):
        raise ValueError("a part has fields of another type")
    if not 0 <= values["points"] <= values["out_of"]:
        raise ValueError("points are out of range")
    _require(values["images"], str, *values["images"])
    return PartRecord(**{**values, "status": State(values["status"])})


def _require(values, kind, *names):
    """Raise ValueError unless these values are of a kind, and numbers finite."""
    for name in names:
        value = values[name]
        is_fine = isinstance(value, str) if kind is str else type(value) in (int, float)
        if not is_fine or (kind is float and not math.isfinite(value)):
            raise ValueError(f"{name} is {value!r:.40}")


class Results:
    """results.jsonl: the batch's seed, then a record for each file as soon as it is graded.

    Only offsets are kept in memory. A line that cannot be read, as after a kill, a full disk or an
    edit, is skipped and named, and its file is graded again.
    """

    def __init__(self, path: Path, seed: int | None = None):
        self.file = open(path, "a+b")  # noqa: SIM115  held, and locked, as long as the batch lasts
        self.where: dict[Key, int] = {}
        self.versions: dict[Key, tuple[str, str]] = {}
        _lock(self.file)
        old_seed, unreadable = self._read()
        if unreadable:
            lines = ", ".join(map(str, unreadable[:MOST_NAMED]))
            more = " and others" if len(unreadable) > MOST_NAMED else ""
            log.warning(
                f"{path}: skipped what cannot be read (line {lines}{more}); what it held is graded again."
            )
        if seed not in (None, old_seed) and self.where:
            log.warning(f"{path} was graded with another seed; every file is graded again.")
            self.versions.clear()
        self.seed: int = seed or old_seed or secrets.randbits(128)
        if self.seed != old_seed:
            self._append({"seed": f"{self.seed:x}"})

    def _read(self):
        """Index the lines; return (the seed if there is one, the numbers of lines that cannot be read)."""
        seed = None
        unreadable = []
        offset = self.file.seek(0)
        line = b"\n"
        for number, line in enumerate(self.file, 1):
            try:
                data = json.loads(line)
                if "seed" in data:
                    seed = int(data["seed"], 16)
                else:
                    Record.from_data(data)
                    self._index(data, offset)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                unreadable.append(number)
            offset += len(line)
        if not line.endswith(b"\n"):
            self.file.write(b"\n")  # the next record begins a line of its own
        return seed, unreadable

    def _index(self, data, offset):
        key = data["student"], data["notebook"], data["file"]
        self.where[key] = offset
        self.versions[key] = data["stamp"], data["judge"]

    def _append(self, data):
        """Write a line, and see that it is on the disk; return where it begins."""
        offset = self.file.seek(0, os.SEEK_END)
        self.file.write(json.dumps(data).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        return offset

    def add(self, record: Record) -> None:
        """Keep a record, together with the judge that it is from."""
        data = {**asdict(record), "judge": judge_digest(record.notebook)}
        self._index(data, self._append(data))

    def has(self, file: File) -> bool:
        """Return True if the file as it is now was graded by this very judge."""
        return self.versions.get(file.key) == (file.stamp, judge_digest(file.notebook))

    def forget(self, files: Iterable[File]) -> None:
        """Have these files graded again."""
        for file in files:
            self.versions.pop(file.key, None)

    def get(self, key: Key) -> Record:
        """Return the newest record of a file."""
        self.file.seek(self.where[key])
        return Record.from_data(json.loads(self.file.readline()))


def _lock(file: IO[bytes]) -> None:
    """Refuse to write where another process writes; where there are no locks, trust the grader."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"another attn grade is at work on {file.name}.") from None


def digest(*texts: str) -> str:
    """Return sixteen letters that are others as soon as one of the texts is another."""
    whole = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        whole.update(b"%d:" % len(data))
        whole.update(data)
    return whole.hexdigest()[:DIGEST_LETTERS]


@cache
def judge_digest(notebook: str) -> str:
    """Return the digest of all our code that judges a notebook, its imports and theirs too."""
    if not notebook:
        return ""
    sources: dict[Path, str] = {}
    name = notebook[3:]
    waiting = [ROOT / "attn_course" / "questions" / f"{name}.py"]
    while waiting:
        path = waiting.pop()
        if path not in sources:
            sources[path] = path.read_text("utf-8")
            waiting += _imported(path)
    texts = [sources[path] for path in sorted(sources)]
    return digest(*texts)


@cache
def _imported(path):
    """Return the files of ours that a file names in its imports; our own code has them in plain lines.

    A dotted name is a module, or something of that name in one.
    """
    text = path.read_text("utf-8")
    names = []
    for line in IMPORT.findall(text):
        names += line.split(", ")
    for module, things in FROM_IMPORT.findall(text):
        names += [f"{module}.{thing}" for thing in NAME.findall(things)]
    paths = []
    for name in names:
        parts = name.split(".")
        if parts[0] in PACKAGES:
            stems = (ROOT.joinpath(*parts), ROOT.joinpath(*parts[:-1]))
            files = [
                file for stem in stems for file in (stem.with_suffix(".py"), stem / "__init__.py")
            ]
            paths += [file for file in files if file.is_file()][:1]
    return paths
