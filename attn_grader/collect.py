"""Sorts the download of an LMS into folders of students; collected.csv keeps names, numbers and times."""

import contextlib
import hashlib
import io
import os
import re
import stat
import struct
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from attn_course.atomic_file import write_atomically
from attn_course.command_line import ATTENTION, DONE, log
from attn_course.errors import UserError
from attn_grader.lms import LMS, Copy, DownloadedFile, Student
from attn_grader.record import digest
from attn_grader.roster import Roster, RosterRow
from attn_grader.spreadsheet import csv_text, guarded, read_rows, unguarded
from attn_grader.submissions import EARLIER, UNSEEN, canonical, notebook_by_cells, notebook_of

COLLECTED = "collected.csv"
COPIES = "copies"  # the folder of a second file for a notebook, which came with the first
MOST_PROBLEMS = 20  # that are printed; the others are counted
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
GRADED = (".ipynb", ".py")
MAX_FILE = 100 << 20  # bytes of one file, unpacked
MAX_INNER_ARCHIVE = 20 << 20  # bytes of an archive that a student handed in
MAX_UNPACKED = 200 << 20  # bytes that one such archive may unpack to
MAX_NOTEBOOKS = 100  # in one such archive
MAX_DIRECTORY = 1 << 20  # bytes of the list of files in such an archive, about 10,000 files
TOO_LARGE = f"it is larger than {MAX_FILE >> 20} MB."
DAMAGED_ARCHIVE = "this archive is damaged."
KEPT = "It is kept as it is."
CLUTTER = frozenset({"__MACOSX", ".DS_Store", ".ipynb_checkpoints"})
# The records with which a zip archive ends: the common one, and the one of archives beyond 4 GB.
END_OF_ARCHIVE = b"PK\x05\x06"
END_OF_ZIP64 = b"PK\x06\x06"


@dataclass(frozen=True)
class Collected:
    """A row of collected.csv: a file below submissions/, and what the LMS says about it."""

    student: str
    file: str  # below the student's folder
    handed_in: datetime | None
    late: bool
    counts: bool  # True for the newest copy
    name: str
    email: str
    lms_id: str
    id: str
    version: str
    sha256: str
    source: str


COLUMNS = [field.name for field in fields(Collected)]


def read_collected(folder: Path) -> dict[tuple[str, str], Collected]:
    """Return {(student, file): row} of the collected.csv in a folder; {} where there is none."""
    path = folder / COLLECTED
    if not path.exists():
        return {}
    collected = {}
    for where, row in read_rows(path, COLUMNS):
        cells: dict[str, Any] = {name: unguarded(row[name]) for name in COLUMNS}
        try:
            moment = datetime.fromisoformat(row["handed_in"]) if row["handed_in"] else None
        except ValueError:
            raise UserError(
                f"{where}: handed_in is {row['handed_in']!r}, not a date such as 2026-11-20T18:00."
            ) from None
        cells["handed_in"] = moment.astimezone() if moment else None
        for name in ("late", "counts"):
            cells[name] = row[name] == "yes"
        collected[cells["student"], cells["file"]] = Collected(**cells)
    return collected


def dump(rows: Iterable[Collected]) -> str:
    """Return the rows as the text of a collected.csv."""
    return csv_text([_cells(row) for row in rows], COLUMNS)


def _cells(row):
    cells = asdict(row)
    cells["handed_in"] = row.handed_in.isoformat(timespec="seconds") if row.handed_in else ""
    for name in ("late", "counts"):
        cells[name] = "yes" if cells[name] else ""
    return {name: guarded(cell) for name, cell in cells.items()}


def collect(
    download: Path,
    lms: str,
    out: Path,
    *,
    roster: Roster,
    worksheet: Path | None = None,
    dry_run: bool = False,
) -> int:
    """Sort a download of an LMS into `out`, print the table of what is where, return the exit status.

    No file is overwritten, and the same command again goes on where it was stopped. The newest copy of a
    notebook is <student>/NN_name.ipynb. One from an earlier download moves to <student>/earlier/, and one
    from the same download to <student>/copies/, since a student may have meant either. A file that is no
    notebook of the course is kept under its own name, so that nothing handed in looks missing.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out is a folder.")
    with files_of_download(download) as sources:
        problems: list[str] = []
        copies = list(unpacked(LMS[lms].copies(sources, problems, worksheet), problems))
        if not copies:
            problem = problems[0] if problems else "it holds no file of a student."
            raise UserError(f"{download} is not a download of {lms.title()}: {problem}")
        students = sorted({copy.student for copy in copies}, key=lambda student: student.lms_id)
        folders = folder_names(students, roster, has_user_ids=LMS[lms].has_user_ids)
        folder = Folder(out, read_collected(out), dry_run)
        lines = []
        try:
            for student, file, copy in _in_order(copies, folders):
                lines.append((student, file, copy, folder.add(student, file, copy)))
        finally:
            folder.save()
    strangers = [name for name in folders.values() if roster.people and name not in roster.people]
    return _report(lines, problems, strangers, dry_run)


def _report(lines, problems, strangers, dry_run):
    """Print the table and what needs a person; return the exit status.

    lines: (student, file, copy, outcome) of everything that was handed in.
    """
    rows = [("student", "file", "handed in", "")]
    num_others = 0  # files that are no notebook of the course
    for student, file, copy, outcome in lines:
        moment = f"{copy.handed_in:%Y-%m-%d %H:%M}" if copy.handed_in else ""
        late = "late" if copy.is_late else ""
        if not notebook_of(PurePosixPath(file)):
            num_others += 1
            outcome += "; no notebook of the course"
        rows.append((student, file, f"{moment} {late}".strip(), outcome))
    widths = [max(len(row[number]) for row in rows) for number in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print("  ".join([*cells, row[3]]).rstrip())
    for problem in problems[:MOST_PROBLEMS]:
        print(f"passed over: {problem}")
    if len(problems) > MOST_PROBLEMS:
        print(f"passed over: {len(problems) - MOST_PROBLEMS:,} more.")
    for name in strangers:
        print(f"not in the roster: {name}")
    num_students = len({student for student, *_ in lines})
    num_refused = sum(outcome.startswith("NOT") for *_, outcome in lines)
    log.info(
        f"{len(lines)} files of {num_students} students, {num_others} of them no notebook of the course, "
        f"{len(problems)} passed over, {num_refused} not collected, "
        f"{len(strangers)} students not in the roster."
        + (" Nothing was written (--dry-run)." if dry_run else "")
    )
    return ATTENTION if problems or strangers or num_refused or num_others else DONE


class Folder:
    """The folder submissions/, to which copies are added and nothing is lost."""

    def __init__(self, out: Path, rows: dict[tuple[str, str], Collected], dry_run: bool):
        self.out = out
        self.rows = rows
        self.dry_run = dry_run
        self.added: set[tuple[str, str]] = set()  # by this command

    def add(self, student: str, file: str, copy: Copy) -> str:
        """Add a copy of one file of one student; return what became of it."""
        try:
            data = copy.source.read()
        except UserError as error:
            return f"NOT collected: {error}"
        except Exception:  # of a library, on the bytes of a stranger: this file's alone
            return "NOT collected: it is damaged."
        try:
            return self._add_data(student, file, copy, data)
        except OSError as error:
            return f"NOT collected: it cannot be written ({error.strerror})."

    def _add_data(self, student, file, copy, data):
        sha256 = hashlib.sha256(data).hexdigest()
        is_twin = (student, file) in self.added
        self.added.add((student, file))
        target = self.out / student / file
        if target.parent.is_symlink() or target.is_symlink():
            return f"NOT collected: {target} is a link."
        before = self.rows.get((student, file))
        there = _sha256(target) or (before.sha256 if before and self.dry_run else "")
        if there == sha256:
            if before is None or copy.version > before.version:
                self._note(student, file, copy, sha256, counts=True)
            return "already there"
        if not there:
            self.write(target, data)
            self._note(student, file, copy, sha256, counts=True)
            return "new"
        if before is None or before.sha256 != there:
            return "NOT collected: another file is there that attn collect did not write."
        if copy.version > before.version:
            old = f"{COPIES if is_twin else EARLIER}/{there[:12]}/{file}"
            if not self.dry_run:
                (self.out / student / old).parent.mkdir(parents=True, exist_ok=True)
                os.replace(target, self.out / student / old)
            self.rows[student, old] = replace(before, file=old, counts=False)
            self.write(target, data)
            self._note(student, file, copy, sha256, counts=True)
            return f"newer; the copy before is {old}"
        twin, spare = (f"{name}/{sha256[:12]}/{file}" for name in (COPIES, EARLIER))
        if _sha256(self.out / student / twin) == sha256:
            return f"already there, as {twin}"
        if _sha256(self.out / student / spare) != sha256:
            self.write(self.out / student / spare, data)
        self._note(student, spare, copy, sha256, counts=False)
        return f"older; kept as {spare}"

    def _note(self, student, file, copy, sha256, *, counts):
        self.rows[student, file] = Collected(
            student=student,
            file=file,
            handed_in=copy.handed_in,
            late=copy.is_late,
            counts=counts,
            **asdict(copy.student),
            version=copy.version,
            sha256=sha256,
            source=copy.source.path,
        )

    def write(self, target: Path, data: bytes) -> None:
        """Write a whole file, where none is."""
        if not self.dry_run:
            write_atomically(target, data)

    def save(self) -> None:
        """Write collected.csv."""
        if not self.dry_run:
            rows = [row for _, row in sorted(self.rows.items())]
            write_atomically(self.out / COLLECTED, dump(rows))


def _sha256(path):
    """Return the digest of what is in a file, "" where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _in_order(copies, folders):
    """Return (folder, file, copy) by their names; of the copies of one file the newest comes last."""
    rows = []
    for copy in copies:
        suffix = copy.file.suffix.lower()
        notebook = notebook_of(copy.file) or _notebook_by_cells(copy)
        file = f"{notebook}{suffix}" if notebook else _safe(copy.file.name)
        if file in (COPIES, EARLIER):  # our folders
            file += "_"
        # Of equally new ones the one with the plain name counts, then the one nearest to the top.
        nearness = max(0, 9 - len(copy.file.parts))
        version = f"{copy.version} {int(copy.file.stem == notebook)}{nearness}"
        rows.append((folders[copy.student], file, replace(copy, version=version)))
    return sorted(rows, key=lambda row: (row[0], row[1], row[2].version))


def _notebook_by_cells(copy):
    """Return the notebook that a file is by its cells, "" where that cannot be told."""
    if copy.file.suffix.lower() not in GRADED:
        return ""
    try:
        return notebook_by_cells(copy.source.read(), copy.file.name)
    except Exception:  # `Folder.add` says what is wrong with the file
        return ""


def folder_names(
    students: Sequence[Student], roster: Roster, *, has_user_ids: bool = False
) -> dict[Student, str]:
    """Return {student: name of the folder}, which is the roster's where it knows the student.

    Others get the name that the LMS has, with their number where two have the same. Who have one number
    are one student. has_user_ids: of the LMS, see `Lms`.
    """
    names = {}
    for student in students:
        person = _person(student, roster, has_user_ids)
        name = person.student if person else student.email or student.name or student.lms_id
        names[student] = _safe(name)
    suffix = _safe
    while True:  # a name with its number may be the name of yet another one
        owners = {(canonical(name), student.lms_id) for student, name in names.items()}
        taken = Counter([COLLECTED, *(name for name, _ in owners)])
        shared = [student for student, name in names.items() if taken[canonical(name)] > 1]
        if not shared:
            return names
        for student in shared:
            names[student] += f"-{suffix(student.lms_id)}"
        suffix = digest  # two numbers may be made safe alike, and never have one digest


def _person(student: Student, roster: Roster, has_user_ids: bool) -> RosterRow | None:
    """Return the row of the roster for a student of the LMS: by number, e-mail or name, if only one fits."""
    for fits in (_has_number, _has_email, _has_name):
        people = [person for person in roster.people.values() if fits(person, student)]
        people = [person for person in people if not _is_another(person, student, has_user_ids)]
        if people:
            return people[0] if len(people) == 1 else None
    return None


def _has_number(person, student):
    """Return True if the numbers of the LMS or of the institution agree."""
    is_its_own = student.lms_id == person.lms_id
    return is_its_own or (bool(student.id) and student.id in (person.id, person.student))


def _has_email(person, student):
    """Return True if the e-mails agree."""
    emails = {canonical(person.email), canonical(person.student)}
    return bool(student.email) and canonical(student.email) in emails


def _is_another(person, student, has_user_ids):
    """Return True if two e-mails or numbers of users differ: these are two people, whatever else agrees."""
    if person.email and student.email:
        return not _has_email(person, student)
    if has_user_ids and person.lms_id:
        return person.lms_id != student.lms_id
    return False


def _has_name(person, student):
    """Return True if the names agree; Canvas squeezes "Lovelace, Ada" into "lovelaceada"."""
    name = _squeezed(student.name)
    words = re.split(r"[,\s]+", person.name or person.student)
    turned = {_squeezed("".join(words[k:] + words[:k])) for k in range(len(words))}
    return bool(name) and name in turned


def _squeezed(name):
    return re.sub(r"[\W_]", "", canonical(name))


def _safe(name):
    """Return a name that a file can have on every system, and that leads to no other folder."""
    printable = UNSEEN.sub("", UNSAFE.sub("_", name))
    composed = unicodedata.normalize("NFC", printable).strip(". ")
    return composed.encode()[:120].decode("utf-8", "ignore") or "_"


@contextlib.contextmanager
def files_of_download(path: Path) -> Iterator[list[DownloadedFile]]:
    """Give the files of a zip archive or, where a browser has unpacked it, of a folder."""
    if path.is_dir():
        yield list(_files_of_folder(path))
        return
    if not path.exists():
        raise UserError(f"there is no file {path}.")
    try:
        archive = zipfile.ZipFile(path)
        sources = list(_files_of_archive(archive))
    except Exception:
        raise UserError(f"{path} is not a zip archive.") from None
    with archive:
        yield sources


def _files_of_folder(folder):
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not _is_clutter(inner):
            date = datetime.fromtimestamp(path.stat().st_mtime).isoformat()
            yield DownloadedFile(_printable(inner.as_posix()), partial(_read_file, path), date)


def _files_of_archive(archive):
    for info in archive.infolist():
        name = _decoded(info)
        is_folder = name.endswith("/")
        if not is_folder and not _is_clutter(PurePosixPath(name)):
            date = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*info.date_time)
            yield DownloadedFile(name, partial(_read, archive, info), date)


def _is_clutter(path):
    """Return True if a system or Jupyter has made a file, and no student."""
    return not CLUTTER.isdisjoint(path.parts) or path.name.startswith("._")


def _decoded(info):
    """Return a name as it was meant: some archives hold UTF-8 and do not say so."""
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return _printable(info.filename.encode("cp437").decode("utf-8"))
    return _printable(info.filename)


def _printable(name):
    """Return a name that steers no terminal and breaks no line."""
    return UNSEEN.sub("\ufffd", name) or "(a file without a name)"


def _read_file(path):
    """Return the bytes of a file in a folder; raise UserError."""
    if path.stat().st_size > MAX_FILE:
        raise UserError(TOO_LARGE)
    return path.read_bytes()


def _read(archive, info):
    """Return the bytes of a file in an archive; raise UserError."""
    if stat.S_ISLNK(info.external_attr >> 16):
        raise UserError("it is a link.")
    if info.flag_bits & 1:
        raise UserError("it is encrypted.")
    if info.file_size > MAX_FILE:  # no more than this is ever unpacked
        raise UserError(TOO_LARGE)
    try:
        return archive.read(info)
    except Exception:  # each way of packing has errors of its own
        raise UserError("it is damaged.") from None


def unpacked(copies: Iterable[Copy], problems: list[str]) -> Iterator[Copy]:
    """Yield the copies one by one; of a student's own archive the notebooks, from one level deep.

    An archive without a notebook that can be unpacked is kept as it is.
    """
    for copy in copies:
        if copy.file.suffix.lower() != ".zip":
            yield copy
            continue
        try:
            notebooks = list(_inner(copy))
        except UserError as error:
            problems.append(f"{copy.source.path}: {error} {KEPT}")
            notebooks = [copy]
        except Exception:
            problems.append(f"{copy.source.path}: {DAMAGED_ARCHIVE} {KEPT}")
            notebooks = [copy]
        yield from notebooks


def _inner(copy):
    """Yield the notebooks in an archive that a student handed in."""
    archive = _inner_archive(copy)
    paths = [source.path for source in _files_of_archive(archive)]
    notebooks = [path for path in paths if PurePosixPath(path).suffix.lower() in GRADED]
    if not notebooks:
        raise UserError("this archive holds no notebook.")
    if len(notebooks) > MAX_NOTEBOOKS:
        raise UserError(f"this archive holds more than {MAX_NOTEBOOKS} notebooks and scripts.")
    if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED:
        raise UserError(f"this archive unpacks to more than {MAX_UNPACKED >> 20} MB.")
    for number, path in enumerate(paths):  # two members may have one name
        if path not in notebooks:
            continue
        read = partial(_read_inner, copy, number)
        source = replace(copy.source, path=f"{copy.source.path}/{path}", read=read)
        yield replace(copy, file=PurePosixPath(path), source=source)


def _read_inner(copy, number):
    """Return a file of a student's archive, which is unpacked anew: not all of them are kept in memory."""
    return list(_files_of_archive(_inner_archive(copy)))[number].read()


def _inner_archive(copy):
    """Return an archive that a student handed in; raise UserError where it is too large or none at all."""
    data = copy.source.read()
    if len(data) > MAX_INNER_ARCHIVE:
        raise UserError(f"this archive is larger than {MAX_INNER_ARCHIVE >> 20} MB.")
    if _size_of_directory(data) > MAX_DIRECTORY:
        raise UserError("this archive holds too many files.")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except Exception:
        raise UserError(DAMAGED_ARCHIVE) from None


def _size_of_directory(data):
    """Return the size in bytes of an archive's list of files, the larger one if two records differ."""
    end = data.rfind(END_OF_ARCHIVE)
    tail = data[end : end + 22]
    if end < 0 or len(tail) < 22:
        raise UserError("this is not a zip archive.")
    size = struct.unpack("<4s4H2LH", tail)[5]
    start = data.rfind(END_OF_ZIP64, 0, end)
    record = data[start : start + 56]
    if start >= 0 and len(record) == 56:
        size = max(size, struct.unpack("<4sQ2H2L4Q", record)[8])
    return size
