"""Reads the archive of all submissions that an LMS lets one download: whose each file is, and its time.

Canvas names files `lovelaceada_LATE_1234_5678_01_copying.ipynb`: name, whether it was late, the number of
the student, the number of the file. Moodle has a folder `Ada Lovelace_1234_assignsubmission_file` for each
student, or this in front of each file's name. Gradescope has a folder `submission_1234` for each submission
and tells names, ids and times in `submission_metadata.yml`.
"""

import contextlib
import io
import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

from attn_course.command_line import log
from attn_course.errors import UserError
from attn_course.grading.spreadsheet import read_rows
from attn_course.grading.submissions import UNSEEN

KEPT = (".ipynb", ".py")  # what can be graded; other files stay in the archive
MAX_FILE = 100 << 20  # bytes of one file, unpacked
MAX_INNER_ARCHIVE = 20 << 20  # bytes of an archive that a student handed in
MAX_DIRECTORY = 1 << 20  # bytes of the list of files in such an archive, about 10,000 files
MAX_UNPACKED = 200 << 20  # bytes that one such archive may unpack to
MAX_NOTEBOOKS = 100  # in one such archive
CLUTTER = frozenset({"__MACOSX", ".DS_Store", ".ipynb_checkpoints"})
METADATA = "submission_metadata.yml"  # of Gradescope
END_OF_ARCHIVE = b"PK\x05\x06"
CANVAS = re.compile(
    r"(?:(?P<name>\w+?)_)??(?P<late>LATE_)?(?P<id>\d+|anon_\w+?)_(?P<version>\d+)_(?P<file>.+)",
    re.S,
)
# A further number where the name of a file should begin: the numbers before may be parts of a name.
NUMBER = re.compile(r"\d{3,}_")
MOODLE = re.compile(
    r"(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<file>.*)", re.S
)
TWO_WAYS = "can be read as the file of one student or of another; sort it by hand."
WORKSHEET_DATE = "%A, %d %B %Y, %I:%M %p"  # as Moodle writes it in English


@dataclass(frozen=True)
class Student:
    """Whom an LMS names. `lms_id` is its own number, `id` that of the institution."""

    lms_id: str
    name: str = ""
    email: str = ""
    id: str = ""


@dataclass(frozen=True)
class Entry:
    """A file of the download. `read` returns its bytes, or raises UserError."""

    path: str
    read: Callable[[], bytes]
    modified: str = ""  # as the archive has it


@dataclass(frozen=True)
class Copy:
    """A file that a student handed in, by the name that they gave it."""

    student: Student
    file: PurePosixPath
    entry: Entry
    version: str  # of two copies the newer one has the greater
    handed_in: datetime | None = None
    is_late: bool = False


def canvas(entries: Sequence[Entry], problems: list[str], worksheet: Path | None) -> Iterator[Copy]:
    """Read the names of Canvas: of each student only the last attempt is there, without its time."""
    for entry in entries:
        name = PurePosixPath(entry.path).name
        match = CANVAS.fullmatch(name)
        if match is None:
            said = "was typed into Canvas." if re.search(r"_(text|link)\.html$", name) else ""
            problems.append(f"{entry.path} {said or 'is not named as Canvas names files.'}")
        elif NUMBER.match(match["file"]):
            problems.append(f"{entry.path} {TWO_WAYS}")
        else:
            yield Copy(
                student=Student(match["id"], match["name"] or ""),
                file=PurePosixPath(match["file"]),
                entry=entry,
                version=match["version"].zfill(20),
                is_late=bool(match["late"]),
            )


def moodle(entries: Sequence[Entry], problems: list[str], worksheet: Path | None) -> Iterator[Copy]:
    """Read the names of Moodle; its grading worksheet, if given, tells ids, e-mails and times."""
    people = _worksheet(worksheet, problems) if worksheet else {}
    for entry in entries:
        parts = PurePosixPath(entry.path).parts
        match = next(filter(None, map(MOODLE.fullmatch, parts)), None)
        if match is None:
            problems.append(f"{entry.path} is not named as Moodle names files.")
        elif match[0].count("_assignsubmission_") > 1:
            problems.append(f"{entry.path} {TWO_WAYS}")
        elif match["kind"] == "onlinetext":
            problems.append(f"{entry.path} was typed into Moodle.")
        else:
            below = parts[parts.index(match[0]) + 1 :]
            student, moment = people.get(match["id"], (Student(match["id"], match["name"]), None))
            yield Copy(
                student=student,
                file=PurePosixPath(match["file"], *below),
                entry=entry,
                version=_version(moment, entry),
                handed_in=moment,
            )


def _worksheet(path, problems):
    """{participant's number: (student, time of handing in)} of Moodle's grading worksheet."""
    people = {}
    for where, row in read_rows(path, ("identifier", "full name")):
        digits = re.search(r"\d+$", row["identifier"])
        if not digits:
            problems.append(f"{where}: identifier is {row['identifier']!r}, without a number.")
            continue
        text = row.get("last modified (submission)", "").replace("\u202f", " ")
        moment = None
        if text.strip(" -"):
            try:
                moment = datetime.strptime(text, WORKSHEET_DATE).astimezone()
            except ValueError:
                problems.append(f"{where}: the time {text!r} is not in Moodle's English form.")
        email = row.get("email address", "")
        student = Student(digits[0], row["full name"], email, row.get("id number", ""))
        people[digits[0]] = student, moment
    return people


def gradescope(
    entries: Sequence[Entry], problems: list[str], worksheet: Path | None
) -> Iterator[Copy]:
    """Read the export of Gradescope; what a group handed in is each member's."""
    tables = [entry for entry in entries if PurePosixPath(entry.path).name == METADATA]
    if not tables:
        problems.append(f"there is no {METADATA} in it.")
        return
    depth = [len(PurePosixPath(table.path).parts) for table in tables]
    known = _metadata(tables[depth.index(min(depth))])  # students may hand in others
    for entry in entries:
        parts = PurePosixPath(entry.path).parts
        folder = next((part for part in parts[:-1] if part in known), None)
        if folder is None:
            continue
        about = known[folder]
        moment = about.get(":created_at")
        moment = moment.astimezone() if isinstance(moment, datetime) else None
        for submitter in about.get(":submitters") or [{}]:
            email = str(submitter.get(":email") or "")
            name = str(submitter.get(":name") or "")
            number = str(submitter.get(":sid") or "")
            yield Copy(
                student=Student(number or email or name or folder, name, email, number),
                file=PurePosixPath(*parts[parts.index(folder) + 1 :]),
                entry=entry,
                version=_version(moment, entry),
                handed_in=moment,
            )


def _metadata(entry):
    import yaml

    try:
        known = yaml.load(entry.read(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        raise UserError(f"{entry.path} cannot be read: it is not YAML.") from None
    if not isinstance(known, dict):
        raise UserError(f"{entry.path} cannot be read: it lists no submissions.")
    return {name: about for name, about in known.items() if isinstance(about, dict)}


def _version(moment, entry):
    """A text that grows with the time of handing in or, where that is not told, with the archive's."""
    return moment.astimezone(UTC).isoformat() if moment else entry.modified


# Each yields what students handed in, and adds sentences on what is passed over to `problems`.
READERS: dict[str, Callable[[Sequence[Entry], list[str], Path | None], Iterator[Copy]]] = {
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope,
}


@contextlib.contextmanager
def entries_of(path: Path) -> Iterator[list[Entry]]:
    """The files of a zip archive or, where a browser has unpacked it, of a folder."""
    if path.is_dir():
        yield list(_entries_of_folder(path))
        return
    if not path.exists():
        raise UserError(f"there is no file {path}.")
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise UserError(f"{path} is not a zip archive.") from None
    with archive:
        yield list(_entries_of_archive(archive))


def _entries_of_folder(folder):
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not path.is_symlink() and not _is_clutter(inner):
            date = datetime.fromtimestamp(path.stat().st_mtime).isoformat()
            yield Entry(_shown(inner.as_posix()), path.read_bytes, date)


def _entries_of_archive(archive):
    for info in archive.infolist():
        name = _decoded(info)
        if not info.is_dir() and not _is_clutter(PurePosixPath(name)):
            date = "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*info.date_time)
            yield Entry(name, partial(_read, archive, info), date)


def _is_clutter(path):
    """Whether a system or Jupyter has made a file, and no student."""
    return not CLUTTER.isdisjoint(path.parts) or path.name.startswith("._")


def _decoded(info):
    """A name as it was meant: some archives hold UTF-8 and do not say so."""
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            return _shown(info.filename.encode("cp437").decode("utf-8"))
    return _shown(info.filename)


def _shown(name):
    """A name that steers no terminal and breaks no line."""
    return UNSEEN.sub("\ufffd", name)


def _read(archive, info):
    """The bytes of a file in an archive, of no more than it may have; raise UserError."""
    if stat.S_ISLNK(info.external_attr >> 16):
        raise UserError("it is a link.")
    if info.flag_bits & 1:
        raise UserError("it is encrypted.")
    if info.file_size > MAX_FILE:  # no more than this is ever unpacked
        raise UserError(f"it is larger than {MAX_FILE >> 20} MB.")
    try:
        return archive.read(info)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, ValueError):
        raise UserError("it is damaged.") from None


def unpacked(copies: Iterable[Copy], problems: list[str]) -> Iterator[Copy]:
    """Yield the copies that can be graded; a student's own archive is unpacked, one level deep."""
    others: Counter[str] = Counter()
    for copy in copies:
        suffix = copy.file.suffix.lower()
        if suffix == ".zip":
            try:
                yield from _inner(copy)
            except UserError as error:
                problems.append(f"{copy.entry.path}: {error}")
        elif suffix in KEPT:
            yield copy
        else:
            others[suffix or "no ending"] += 1
    if others:
        counts = ", ".join(f"{number} {suffix}" for suffix, number in sorted(others.items()))
        log.info(f"left in the archive, since nobody grades them: {counts}.")


def _inner(copy):
    """The notebooks in an archive that a student handed in."""
    archive = _inner_archive(copy)
    paths = [entry.path for entry in _entries_of_archive(archive)]
    kept = [path for path in paths if PurePosixPath(path).suffix.lower() in KEPT]
    if not kept:
        raise UserError("this archive holds no notebook.")
    if len(kept) > MAX_NOTEBOOKS:
        raise UserError(f"this archive holds more than {MAX_NOTEBOOKS} notebooks and scripts.")
    if sum(info.file_size for info in archive.infolist()) > MAX_UNPACKED:
        raise UserError(f"this archive unpacks to more than {MAX_UNPACKED >> 20} MB.")
    for path in kept:
        read = partial(_read_inner, copy, path)
        entry = replace(copy.entry, path=f"{copy.entry.path}/{path}", read=read)
        yield replace(copy, file=PurePosixPath(path), entry=entry)


def _read_inner(copy, path):
    """A file of a student's archive, which is unpacked anew: not all of them are kept in memory."""
    for entry in _entries_of_archive(_inner_archive(copy)):
        if entry.path == path:
            return entry.read()
    raise UserError("it is damaged.")


def _inner_archive(copy):
    """An archive that a student handed in; raise UserError where it is too large or none at all."""
    data = copy.entry.read()
    if len(data) > MAX_INNER_ARCHIVE:
        raise UserError(f"this archive is larger than {MAX_INNER_ARCHIVE >> 20} MB.")
    end = data.rfind(END_OF_ARCHIVE)
    tail = data[end : end + 22]
    if end < 0 or len(tail) < 22:
        raise UserError("this is not a zip archive.")
    size_of_directory = struct.unpack("<4s4H2LH", tail)[5]
    if size_of_directory > MAX_DIRECTORY:
        raise UserError("this archive holds too many files.")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error):
        raise UserError("this archive is damaged.") from None
