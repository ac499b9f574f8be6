"""Sorts the download of an LMS into a folder for each student, with the times of handing in."""

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from attn_course.command_line import ATTENTION, DONE, log
from attn_course.errors import UserError
from attn_course.grading.collected_csv import COLLECTED, Collected, dump, read_collected
from attn_course.grading.digests import digest
from attn_course.grading.lms_downloads import READERS, Copy, Student, entries_of, unpacked
from attn_course.grading.report import save
from attn_course.grading.roster import Person, Roster
from attn_course.grading.submissions import UNSEEN, canonical, notebook_of

UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*]+')
MOST_PROBLEMS = 20  # that are told; the others are counted
EARLIER = "earlier"  # the folder of copies that a newer one has replaced


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

    No file is overwritten, and the same command again goes on where it was stopped: the newest copy of a
    notebook is <student>/NN_name.ipynb, and one that was there before moves to <student>/earlier/.
    """
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out is a folder.")
    with entries_of(download) as entries:
        problems: list[str] = []
        found = list(READERS[lms](entries, problems, worksheet))
        copies = list(unpacked(found, problems))
        if not copies:
            problem = problems[0] if problems else "it holds no notebook."
            raise UserError(f"{download} is not a download of {lms.title()}: {problem}")
        known = dict.fromkeys(copy.student for copy in copies)
        students = sorted(known, key=lambda student: student.lms_id)
        folders = folder_names(students, roster)
        place = Folder(out, read_collected(out), dry_run)
        lines: list[tuple[str, ...]] = []
        try:
            for folder, file, copy in _in_order(copies, folders):
                moment = f"{copy.handed_in:%Y-%m-%d %H:%M}" if copy.handed_in else ""
                late = "late" if copy.is_late else ""
                said = place.add(folder, file, copy)
                lines.append((folder, file, f"{moment} {late}".strip(), said))
        finally:
            place.save()
    strangers = [name for name in folders.values() if roster.people and name not in roster.people]
    return _report(lines, problems, strangers, dry_run)


def _report(lines, problems, strangers, dry_run):
    """Print the table and what needs a person."""
    rows = [("student", "file", "handed in", ""), *lines]
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
    students = len({student for student, _, _, _ in lines})
    conflicts = sum(said.startswith("NOT") for _, _, _, said in lines)
    log.info(
        f"{len(lines)} files of {students} students, {len(problems)} passed over, "
        f"{conflicts} not collected, {len(strangers)} students not in the roster."
        + (" Nothing was written (--dry-run)." if dry_run else "")
    )
    return ATTENTION if problems or strangers or conflicts else DONE


class Folder:
    """The folder submissions/, to which copies are added and nothing is lost."""

    def __init__(self, out: Path, rows: dict[tuple[str, str], Collected], dry_run: bool):
        self.out = out
        self.rows = rows
        self.dry_run = dry_run

    def add(self, student: str, file: str, copy: Copy) -> str:
        """Add a copy of one file of one student; return what became of it."""
        try:
            data = copy.entry.read()
        except UserError as error:
            return f"NOT collected: {error}"
        sha256 = hashlib.sha256(data).hexdigest()
        target = self.out / student / file
        if target.parent.is_symlink() or target.is_symlink():
            return f"NOT collected: {target} is a link."
        spare = f"{EARLIER}/{sha256[:12]}/{file}"
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
            old = f"{EARLIER}/{there[:12]}/{file}"
            if not self.dry_run:
                kept = self.out / student / old
                kept.parent.mkdir(parents=True, exist_ok=True)
                os.replace(target, kept)
            self.rows[student, old] = replace(before, file=old, counts=False)
            self.write(target, data)
            self._note(student, file, copy, sha256, counts=True)
            return f"newer; the copy before is {old}"
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
            source=copy.entry.path,
        )

    def write(self, target: Path, data: bytes) -> None:
        """Write a whole file, where none is."""
        if not self.dry_run:
            save(target, data)

    def save(self) -> None:
        """Write collected.csv."""
        if not self.dry_run:
            rows = [row for _, row in sorted(self.rows.items())]
            save(self.out / COLLECTED, dump(rows))


def _sha256(path):
    """Of what is in a file, "" where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _in_order(copies, folders):
    """(folder, file, copy) by their names; of the copies of one file the newest comes last."""
    found = []
    for copy in copies:
        notebook = notebook_of(copy.file)
        suffix = copy.file.suffix.lower()
        file = f"{notebook}{suffix}" if notebook else _safe(copy.file.name)
        # Of equally new ones the one with the plain name counts, then the one nearest to the top.
        nearness = max(0, 9 - len(copy.file.parts))
        version = f"{copy.version} {int(copy.file.stem == notebook)}{nearness}"
        found.append((folders[copy.student], file, replace(copy, version=version)))
    return sorted(found, key=lambda one: (one[0], one[1], one[2].version))


def folder_names(students: Sequence[Student], roster: Roster) -> dict[Student, str]:
    """Return {student: name of the folder}, which is the roster's where it knows the student.

    Others get the name that the LMS has, with their number where two have the same. Who have one number
    are one student.
    """
    names = {}
    for student in students:
        person = _person(student, roster)
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


def _person(student: Student, roster: Roster) -> Person | None:
    """The row of the roster for a student of the LMS: by number, e-mail or name, if only one fits."""
    for fits in (_has_number, _has_email, _has_name):
        people = [person for person in roster.people.values() if fits(person, student)]
        if people:
            return people[0] if len(people) == 1 else None
    return None


def _has_number(person, student):
    is_its_own = student.lms_id == person.lms_id
    return is_its_own or (bool(student.id) and student.id in (person.id, person.student))


def _has_email(person, student):
    known = {canonical(person.email), canonical(person.student)}
    return bool(student.email) and canonical(student.email) in known


def _has_name(person, student):
    """Whether the names agree; Canvas squeezes "Lovelace, Ada" into "lovelaceada"."""
    wanted = _squeezed(student.name)
    words = re.split(r"[,\s]+", person.name or person.student)
    turned = {_squeezed("".join(words[k:] + words[:k])) for k in range(len(words))}
    return bool(wanted) and wanted in turned


def _squeezed(name):
    return re.sub(r"[\W_]", "", canonical(name))


def _safe(name):
    """A name that is a file's on every system, and leads nowhere else."""
    seen = UNSEEN.sub("", UNSAFE.sub("_", name))
    plain = unicodedata.normalize("NFC", seen).strip(". ")
    return plain.encode()[:120].decode("utf-8", "ignore") or "_"
