"""Packs the students' pages into the archive that their LMS takes back."""

import base64
import re
from collections import Counter, defaultdict
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from attn_course.command_line import ATTENTION, DONE, log
from attn_course.errors import UserError
from attn_grader.collect import COLLECTED, Collected, read_collected
from attn_grader.lms import LMS
from attn_grader.pages import PICTURES, file_name
from attn_grader.release_archive import write_entries
from attn_grader.submissions import notebook_of

PICTURE = re.compile(rf'src="\.\./{PICTURES}/([0-9a-f]+)\.(png|jpeg)"')


def pack_feedback(out: Path, lms: str, notebooks: Collection[str] = ()) -> int:
    """Write OUT/feedback-<lms>.zip, a page a student, and return the exit status.

    notebooks: those of the assignment to which the archive goes back, all if there are none.
    """
    rows = read_collected(out)
    if not rows:
        raise UserError(
            f"{out} has no {COLLECTED}: sort the download with attn collect, then run attn grade."
        )
    paths, others = _paths(rows.values(), lms, notebooks)
    if not paths:
        raise UserError(f"no file in {out / COLLECTED} is named as {lms.title()} names files.")
    without = []
    for student, names in others.items():
        files = " and ".join(names)
        why = (
            "no notebook of this assignment is among it"
            if notebooks
            else f"{lms.title()} takes none back for that"
        )
        without.append(f"no page for {student}, who handed in {files}: {why}.")
    num_owners = Counter(paths.values())
    pages = {}
    for student, path in paths.items():
        page = out / "students" / f"{file_name(student)}.html"
        if not page.is_file():
            without.append(f"no page for {student}: attn grade has written none.")
            continue
        if num_owners[path] > 1:  # of a group, each member has a page
            path = str(PurePosixPath(path).with_stem(f"feedback-{file_name(student)}"))
        pages[path] = page
    if not pages:
        raise UserError(f"{out} holds no page of a student; name the folder that attn grade wrote.")
    target = out / f"feedback-{lms}.zip"
    write_entries(target, ((path, self_contained(page)) for path, page in pages.items()))
    for sentence in without:
        print(sentence)
    log.info(f"{target}: {len(pages)} pages, {len(without)} students without one.")
    return ATTENTION if without else DONE


def _paths(rows, lms, notebooks):
    """Return ({student: path of the page in the archive}, {student who has none: names of their files}).

    The path follows the name of a file that counts, of a notebook if the student handed in one.
    """
    paths: dict[str, str] = {}
    files = defaultdict(list)
    for row in sorted(rows, key=_is_other):
        notebook = notebook_of(PurePosixPath(row.file))
        if not row.counts or (notebook and notebooks and notebook not in notebooks):
            continue
        files[row.student].append(row.file)
        if notebooks and not notebook:  # it may belong to another assignment
            continue
        path = LMS[lms].feedback(row.source)
        if path:
            paths.setdefault(row.student, path)
    others = {student: names for student, names in sorted(files.items()) if student not in paths}
    return dict(sorted(paths.items())), others


def _is_other(row: Collected) -> tuple[bool, str]:
    """Return a key that sorts notebooks before whatever else was handed in."""
    return not notebook_of(PurePosixPath(row.file)), row.file


def self_contained(page: Path) -> bytes:
    """Return a page with its pictures inside."""

    def inside(match: re.Match[str]) -> str:
        data = (page.parent.parent / PICTURES / f"{match[1]}.{match[2]}").read_bytes()
        return f'src="data:image/{match[2]};base64,{base64.b64encode(data).decode()}"'

    return PICTURE.sub(inside, page.read_text("utf-8")).encode()
