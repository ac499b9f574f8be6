"""What each LMS dictates: the names in its download, the table it imports, and the names it takes back.

Canvas names files `lovelaceada_LATE_1234_5678_01_copying.ipynb`: name, whether it was late, the number of
the student, the number of the file. Moodle has a folder `Ada Lovelace_1234_assignsubmission_file` for each
student, or this in front of each file's name. Gradescope has a folder `submission_1234` for each submission
and lists names, ids and times in `submission_metadata.yml`.

Another LMS is one more entry of `LMS`: the three functions that `Lms` describes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from attn_course import register
from attn_course.errors import UserError
from attn_grader.roster import RosterRow
from attn_grader.spreadsheet import guarded, number, read_rows

# Students with {notebook: points}; blank where the points are not known.
Rows = Sequence[tuple[RosterRow, dict[str, str]]]
Table = list[dict[str, str]]  # rows by their columns
METADATA = "submission_metadata.yml"  # of Gradescope
CANVAS = re.compile(
    r"(?:(?P<name>\w*?)_)??(?P<late>LATE_)?(?P<id>\d+|anon_\w+?)_(?P<version>\d+)_(?P<file>.+)",
    re.S,
)
# What was typed into Canvas itself.
TYPED = re.compile(
    r"(?:(?P<name>\w*?)_)??(?P<late>LATE_)?(?P<id>\d+|anon_\w+?)_(?P<file>(text|link)\.html)"
)
# Further numbers where the name of a file should begin: the numbers before may be parts of a name.
NUMBERS = re.compile(r"LATE_|\d{3,}_|\d+_\d+_")
MOODLE = re.compile(
    r"(?P<name>.*)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<file>.*)", re.S
)
TWO_WAYS = "can be read as the file of one student or of another; sort it by hand."
WORKSHEET_DATE = "%A, %d %B %Y, %I:%M %p"  # as Moodle writes it in English
PAGE = "feedback.html"


@dataclass(frozen=True)
class Student:
    """A student as an LMS names them. `lms_id` is the LMS's own number, `id` that of the institution."""

    lms_id: str
    name: str = ""
    email: str = ""
    id: str = ""


@dataclass(frozen=True)
class DownloadedFile:
    """A file of the download. `read` returns its bytes, or raises UserError."""

    path: str
    read: Callable[[], bytes]
    modified: str = ""  # as the archive has it


@dataclass(frozen=True)
class Copy:
    """A file that a student handed in, by the name that they gave it."""

    student: Student
    file: PurePosixPath
    source: DownloadedFile
    version: str  # of two copies the newer one has the greater
    handed_in: datetime | None = None
    is_late: bool = False


def _canvas_copies(
    sources: Sequence[DownloadedFile], problems: list[str], worksheet: Path | None
) -> Iterator[Copy]:
    """Read the names of Canvas: of each student only the last attempt is there, without its time."""
    for source in sources:
        name = PurePosixPath(source.path).name
        uploaded, typed = CANVAS.fullmatch(name), TYPED.fullmatch(name)
        match = uploaded or typed
        if match is None:
            problems.append(f"{source.path} is not named as Canvas names files.")
        elif NUMBERS.match(match["file"]) or (uploaded and typed):
            problems.append(f"{source.path} {TWO_WAYS}")
        else:
            yield Copy(
                student=Student(match["id"], match["name"] or ""),
                file=PurePosixPath(match["file"]),
                source=source,
                version=match.groupdict().get("version", "").zfill(20),
                is_late=bool(match["late"]),
            )


def _moodle_copies(
    sources: Sequence[DownloadedFile], problems: list[str], worksheet: Path | None
) -> Iterator[Copy]:
    """Read the names of Moodle; its grading worksheet, if there is one, has ids, e-mails and times."""
    people = _worksheet(worksheet, problems) if worksheet else {}
    for source in sources:
        parts = PurePosixPath(source.path).parts
        match = next(filter(None, map(MOODLE.fullmatch, parts)), None)
        if match is None:
            problems.append(f"{source.path} is not named as Moodle names files.")
        elif match[0].count("_assignsubmission_") > 1:
            problems.append(f"{source.path} {TWO_WAYS}")
        else:
            below = parts[parts.index(match[0]) + 1 :]
            student, moment = people.get(match["id"], (Student(match["id"], match["name"]), None))
            yield Copy(
                student=student,
                file=PurePosixPath(match["file"], *below),
                source=source,
                version=_version(moment, source),
                handed_in=moment,
            )


def _worksheet(path, problems):
    """Return {participant's number: (student, time of handing in)} of Moodle's grading worksheet."""
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
            except (ValueError, OverflowError):
                problems.append(f"{where}: the time {text!r} is not in Moodle's English form.")
        email = row.get("email address", "")
        student = Student(digits[0], row["full name"], email, row.get("id number", ""))
        people[digits[0]] = student, moment
    return people


def _gradescope_copies(
    sources: Sequence[DownloadedFile], problems: list[str], worksheet: Path | None
) -> Iterator[Copy]:
    """Read the export of Gradescope; what a group handed in is each member's."""
    tables = [source for source in sources if PurePosixPath(source.path).name == METADATA]
    if not tables:
        problems.append(f"there is no {METADATA} in it.")
        return
    depth = [len(PurePosixPath(table.path).parts) for table in tables]
    submissions = _metadata(tables[depth.index(min(depth))])  # students may hand in others
    for source in sources:
        parts = PurePosixPath(source.path).parts
        folder = next((part for part in parts[:-1] if part in submissions), None)
        if folder is None:
            continue
        moment = submissions[folder].get(":created_at")
        try:
            moment = moment.astimezone() if isinstance(moment, datetime) else None
        except (ValueError, OverflowError):  # before the first year of a time zone
            moment = None
        submitters = submissions[folder].get(":submitters")
        if not (isinstance(submitters, list) and submitters):
            submitters = [{}]
        for submitter in submitters:
            if not isinstance(submitter, dict):
                submitter = {}
            email = str(submitter.get(":email") or "")
            name = str(submitter.get(":name") or "")
            sid = str(submitter.get(":sid") or "")
            yield Copy(
                student=Student(sid or email or name or folder, name, email, sid),
                file=PurePosixPath(*parts[parts.index(folder) + 1 :]),
                source=source,
                version=_version(moment, source),
                handed_in=moment,
            )


def _metadata(source):
    """Return {folder: its dictionary} of Gradescope's list of submissions."""
    import yaml

    try:
        submissions = yaml.load(source.read(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        raise UserError(f"{source.path} cannot be read: it is not YAML.") from None
    if not isinstance(submissions, dict):
        raise UserError(f"{source.path} cannot be read: it lists no submissions.")
    return {name: about for name, about in submissions.items() if isinstance(about, dict)}


def _version(moment, source):
    """Return a text that grows with the time of handing in, or with the archive's where none is known."""
    return moment.astimezone(UTC).isoformat() if moment else source.modified


def _canvas_table(rows: Rows) -> Table:
    """Return what Canvas imports: ids, a column a notebook, a row of points possible.

    Its column ID holds the numbers that Canvas gave its users, the roster's `lms_id`.
    """
    possible = {name: number(register.points_of(name)) for name in _notebooks(rows)}
    table = [_canvas_row(RosterRow("", name="    Points Possible")) | possible]
    return table + [_canvas_row(person) | points for person, points in rows]


def _canvas_row(person):
    ids = {"ID": person.lms_id, "SIS User ID": person.id, "SIS Login ID": person.email}
    return {"Student": guarded(person.name), **ids, "Section": ""}


def _moodle_table(rows: Rows) -> Table:
    """Return what Moodle imports: ID number, e-mail, a column a notebook.

    Moodle finds a student by one column, and takes a row where that is empty for the student above:
    each of the two is there only if all have it, and who has neither is left out.
    """
    table = []
    for person, points in rows:
        if person.id or person.email:
            ids = {"ID number": person.id, "Full name": guarded(person.name)}
            table.append({**ids, "Email address": person.email, **points})
    lacking = [key for key in ("ID number", "Email address") if not all(row[key] for row in table)]
    if len(lacking) == 2:
        raise UserError("moodle.csv needs a roster in which all have an id, or all have an email.")
    for row in table:
        for key in lacking:
            del row[key]
    return table


def _gradescope_table(rows: Rows) -> Table:
    """Return Gradescope's table of grades: points and points possible of each notebook."""
    table = []
    for person, points in rows:
        first, last = _first_and_last(person.name)
        row = {"First Name": guarded(first), "Last Name": guarded(last)}
        row |= {"SID": person.id, "Email": person.email, "Sections": ""}
        for name in points:
            row[name] = points[name]
            row[f"{name} - Max Points"] = number(register.points_of(name))
        table.append(row)
    return table


def _first_and_last(name):
    """Return ("Ada", "Lovelace") for "Ada Lovelace" and for "Lovelace, Ada"."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    return first.strip(), last.strip()


def _notebooks(rows):
    return next((list(points) for _, points in rows), [])


def _canvas_feedback(source: str) -> str:
    """Return the name of a page for Canvas, which reads the numbers of student and file in it."""
    name = next(filter(CANVAS.fullmatch, PurePosixPath(source).parts), "")
    return str(PurePosixPath(name).with_suffix(".html")) if name else ""


def _moodle_feedback(source: str) -> str:
    """Return the path of a page for Moodle, which reads whose it is in front of the file's name."""
    match = next(filter(None, map(MOODLE.fullmatch, PurePosixPath(source).parts)), None)
    if match is None:
        return ""
    return f"{match[0][: match.start('file')]}{PAGE}" if match["file"] else f"{match[0]}/{PAGE}"


def _gradescope_feedback(source: str) -> str:
    """Return the path of a page in the folder of the submission."""
    is_submission = re.compile(r"submission_\d+").fullmatch
    folder = next(filter(is_submission, PurePosixPath(source).parts), "")
    return f"{folder}/{PAGE}" if folder else ""


@dataclass(frozen=True)
class Lms:
    """What is particular to one LMS.

    copies: yields what students handed in, and adds a sentence on whatever it passes over to `problems`.
    table: makes the table that it imports. feedback: where a page belongs in the archive that it takes
    back, by the path of a file in its download; "" where that path is not of this LMS.
    has_user_ids: True if a student's number is that of the user, which the roster's column lms_id holds.
    """

    copies: Callable[[Sequence[DownloadedFile], list[str], Path | None], Iterator[Copy]]
    table: Callable[[Rows], Table]
    feedback: Callable[[str], str]
    has_user_ids: bool = False


LMS: dict[str, Lms] = {
    "canvas": Lms(_canvas_copies, _canvas_table, _canvas_feedback, has_user_ids=True),
    "moodle": Lms(_moodle_copies, _moodle_table, _moodle_feedback),
    "gradescope": Lms(_gradescope_copies, _gradescope_table, _gradescope_feedback),
}
