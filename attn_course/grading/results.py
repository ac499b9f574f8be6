"""results.jsonl: what was graded so far, safe against a kill at any moment."""

import contextlib
import json
import os
import secrets
import zlib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import IO

from attn_course.errors import UserError
from attn_course.grading.digests import judge_digest
from attn_course.grading.record import Record
from attn_course.grading.submissions import File

VERSION = 3  # of the lines in the file; a higher one is for later versions of the course
Key = tuple[str, str, str]


class Results:
    """The version and the batch's seed, then a record for each file as soon as it is graded.

    Only offsets are kept in memory. A line cut short by a kill is dropped when the file is opened.
    """

    def __init__(self, path: Path, seed: int | None = None):
        self.file = open(path, "a+b")  # noqa: SIM115  held, and locked, as long as the batch lasts
        self.where: dict[Key, int] = {}
        self.versions: dict[Key, tuple[str, str]] = {}
        _lock(self.file)
        known = self._read(path)
        if known is not None and seed not in (None, known):
            raise UserError(f"{path} holds a batch with another seed; choose another --out.")
        if known is None:
            known = secrets.randbits(128) if seed is None else seed
            self._append({"version": VERSION, "seed": f"{known:x}"})
        self.seed: int = known

    def _read(self, path):
        """Index the lines that are whole, cut the rest, and return the seed if there is one."""
        seed = None
        end = 0
        self.file.seek(0)
        while (line := self.file.readline()).endswith(b"\n"):
            data = _checked(line, path)
            if end == 0:
                _check_version(data, path)
                seed = int(data["seed"], 16)
            else:
                self._index(data, end)
            end = self.file.tell()
        self.file.truncate(end)
        return seed

    def _index(self, data, offset):
        key = data["student"], data["notebook"], data["file"]
        self.where[key] = offset
        self.versions[key] = data["stamp"], data["judge"]

    def _append(self, data):
        """Write a line, and see that it is on the disk; return where it begins."""
        offset = self.file.seek(0, os.SEEK_END)
        line = json.dumps({**data, "checksum": _checksum(data)})
        self.file.write(line.encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())
        return offset

    def add(self, record: Record) -> None:
        """Keep a record, together with the judge that it is from."""
        data = {**asdict(record), "judge": judge_digest(record.notebook)}
        self._index(data, self._append(data))

    def has(self, file: File) -> bool:
        """Whether what is in the file now was graded by this very judge."""
        return self.versions.get(file.key) == (file.stamp, judge_digest(file.notebook))

    def forget(self, files: Iterable[File]) -> None:
        """Have these files graded again."""
        for file in files:
            self.versions.pop(file.key, None)

    def get(self, key: Key) -> Record:
        """Return the newest record of a file."""
        self.file.seek(self.where[key])
        return Record.from_data(json.loads(self.file.readline()))


def _check_version(data, path):
    found = data.get("version", 1)
    if found != VERSION:
        raise UserError(
            f"{path} was written by another version of attn grade "
            f"(format {found}; this one reads {VERSION}); choose another --out."
        )


def _checksum(data):
    return zlib.crc32(json.dumps(data).encode())


def _checked(line, path):
    """Return the data in a line of results, if it is as it was written."""
    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        data = json.loads(line)
        if data.pop("checksum") == _checksum(data):
            return data
    raise UserError(f"{path} was changed by hand; choose another --out.")


def _lock(file: IO[bytes]) -> None:
    """Refuse to write where another process writes; where there are no locks, trust the grader."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(f"another attn grade is at work on {file.name}.") from None
