"""Packs the students' pages into the archive that their LMS takes back."""

import base64
import re
from collections import Counter
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from attn_course.command_line import ATTENTION, DONE, log
from attn_course.errors import UserError
from attn_grader.collect import COLLECTED, Collected, read_collected
from attn_grader.lms import LMS
from attn_grader.pages import PICTURES, file_name
from attn_grader.release_archive import write_zip
from attn_grader.submissions import notebook_of

PICTURE = re.compile(rf'src="\.\./{PICTURES}/([0-9a-f]+)\.(png|jpeg|gif|webp)"')


def pack_feedback(out: Path, lms: str, notebooks: Collection[str] = ()) -> int:
    """Write OUT/feedback-<lms>.zip, a page a student, and return the exit status.

    notebooks: those of the assignment to which the archive goes back, all if there are none.
    """
    collected = read_collected(out)
    if not collected:
        raise UserError(
            f"{out} has no {COLLECTED}: sort the download with attn collect, then run attn grade."
        )
    places, without = _places(collected.values(), lms, notebooks)
    if not places:
        raise UserError(f"no file in {out / COLLECTED} is named as {lms.title()} names files.")
    shared = Counter(places.values())
    pages = {}
    for student, place in places.items():
        path = out / "students" / f"{file_name(student)}.html"
        if not path.is_file():
            without.append(student)
            continue
        if shared[place] > 1:  # of a group, each member has a page
            place = str(PurePosixPath(place).with_stem(f"feedback-{file_name(student)}"))
        pages[place] = _self_contained(path).encode()
    target = out / f"feedback-{lms}.zip"
    write_zip(target, pages)
    for student in without:
        print(
            f"no page for {student}: attn grade has made none, or no file of theirs is known to belong here."
        )
    log.info(f"{target}: {len(pages)} pages, {len(without)} students without one.")
    return ATTENTION if without else DONE


def _places(rows, lms, notebooks):
    """Return {student: where the page belongs}, by a file of theirs that counts, and who has none."""
    places: dict[str, str] = {}
    students = set()
    for row in sorted(rows, key=_is_other):
        notebook = notebook_of(PurePosixPath(row.file))
        if not row.counts or (notebook and notebooks and notebook not in notebooks):
            continue
        students.add(row.student)
        if notebooks and not notebook:  # it may belong to another assignment
            continue
        place = LMS[lms].feedback(row.source)
        if place:
            places.setdefault(row.student, place)
    return dict(sorted(places.items())), sorted(students - places.keys())


def _is_other(row: Collected) -> tuple[bool, str]:
    """Sort notebooks before whatever else was handed in."""
    return not notebook_of(PurePosixPath(row.file)), row.file


def _self_contained(path: Path) -> str:
    """Return a page with its pictures inside."""

    def inside(match: re.Match[str]) -> str:
        data = (path.parent.parent / PICTURES / f"{match[1]}.{match[2]}").read_bytes()
        return f'src="data:image/{match[2]};base64,{base64.b64encode(data).decode()}"'

    return PICTURE.sub(inside, path.read_text("utf-8"))
