"""The options of the commands that judge, collect, grade and pack; the work is imported when they run."""

import os
import sys
from pathlib import Path

import click

from attn_course.command_line import (
    SETTINGS,
    Command,
    PositiveNumber,
    Several,
    WholeNumber,
    log,
    require_fork,
)
from attn_course.errors import UserError
from attn_grader.lms import LMS
from attn_grader.sandbox import Limits

ROOT = Path(__file__).resolve().parents[1]
PATH = click.Path(path_type=Path)
DAY = 24 * 60 * 60  # seconds


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("download", type=PATH)
@click.option(
    "--from", "lms", type=click.Choice(list(LMS)), required=True, help="Whose download it is."
)
@click.option("--out", type=PATH, required=True, help="Folder with a folder for each student.")
@click.option(
    "--roster", type=PATH, metavar="CSV", help="Which names and ids of the LMS are which student."
)
@click.option(
    "--worksheet",
    type=PATH,
    metavar="CSV",
    help="Moodle's grading worksheet, which tells e-mails and times of handing in.",
)
@click.option("--dry-run", is_flag=True, help="Print the table, and write nothing.")
def collect(
    download: Path, lms: str, out: Path, roster: Path | None, worksheet: Path | None, dry_run: bool
) -> int:
    """Sort the download of an LMS into folders.

    DOWNLOAD is the zip archive of all submissions, or the folder that a browser has unpacked it to.
    Nothing is overwritten, and the same command again goes on where it was stopped. OUT/collected.csv
    holds the times of handing in, for attn grade.
    """
    from attn_grader import roster as rosters
    from attn_grader.collect import collect as sort_download

    if worksheet and lms != "moodle":
        raise UserError("--worksheet is Moodle's; it goes with --from moodle.")
    people = rosters.load(roster) if roster else rosters.Roster()
    return sort_download(download, lms, out, roster=people, worksheet=worksheet, dry_run=dry_run)


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("submissions", type=PATH)
@click.option("--out", type=PATH, help="Folder for gradebook, feedback and pages.")
@click.option(
    "--notebooks",
    cls=Several,
    metavar="NN...",
    help="Grade these; without it, all that anyone handed in.",
)
@click.option(
    "--written",
    cls=Several,
    type=PATH,
    metavar="CSV...",
    help="Points given by a person: one file or several.",
)
@click.option(
    "--roster",
    type=PATH,
    metavar="CSV",
    help="Names, ids, due dates, penalties; everyone in it gets a row.",
)
@click.option(
    "--export",
    cls=Several,
    type=click.Choice(list(LMS)),
    help="Write OUT/<name>.csv for an LMS; what awaits a person stays blank, and the exit status is 1.",
)
@click.option(
    "--final", is_flag=True, help="Export points so far where an answer still awaits a person."
)
@click.option("--anonymous", is_flag=True, help="No names on the pages of written answers.")
@click.option(
    "--regrade",
    cls=Several,
    is_flag=False,
    flag_value="",
    metavar="[QUESTION...]",
    help="Run again the files with these questions, or all files.",
)
@click.option(
    "--jobs",
    type=WholeNumber(1, 1024),
    default=2,
    show_default=True,
    help="How many submissions run at once.",
)
@click.option(
    "--dask",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Use the workers of this Dask scheduler, or of one started here with --jobs workers.",
)
@click.option(
    "--timeout",
    type=PositiveNumber(DAY),
    default=Limits.total,
    show_default=True,
    help="Seconds that a submission may take.",
)
@click.option(
    "--memory",
    type=WholeNumber(1, 1 << 20),
    default=Limits.memory >> 20,
    show_default=True,
    help="Megabytes that a submission may use, beyond what its imports take.",
)
@click.option("--all-cells", is_flag=True, help="Run figures and training, too.")
@click.option("--no-sandbox", is_flag=True, help="Run submissions unprotected; every page says so.")
@click.option(
    "--seed",
    type=WholeNumber(1, 1 << 128),
    help="Repeat a batch; without it, fresh and secret.",
)
def grade(**options: object) -> int:
    """Grade a folder of submissions, or one file.

    SUBMISSIONS holds <student>/NN_name.ipynb, or is nbgrader's folder submitted/. The same command
    again goes on where it was stopped, and grades anew what has changed. Of one file, the verdicts are
    printed, and nothing is written.
    """
    require_fork()
    from attn_grader.grade_class import Options, grade_class, grade_single_file

    chosen = Options(**options)  # type: ignore[arg-type]
    path, out = chosen.submissions, chosen.out
    if out is not None and not os.path.isfile(path):
        return grade_class(chosen, out)
    if os.path.isdir(path):
        raise UserError("--out is missing: the folder for gradebook, feedback and pages.")
    return grade_single_file(chosen)


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("out", type=PATH)
@click.option(
    "--for", "lms", type=click.Choice(list(LMS)), required=True, help="Which LMS takes it back."
)
@click.option(
    "--notebooks",
    cls=Several,
    metavar="NN...",
    help="Those of the assignment that it goes back to; without it, all.",
)
def feedback(out: Path, lms: str, notebooks: tuple[str, ...]) -> int:
    """Pack the students' pages for their LMS.

    OUT is the folder of attn grade. OUT/feedback-LMS.zip holds a page a student, under the names of the
    download that attn collect sorted.
    """
    from attn_grader.feedback import pack_feedback
    from attn_grader.grade_class import notebooks_of

    return pack_feedback(out, lms, notebooks_of(notebooks) if notebooks else ())


@click.command(cls=Command, context_settings=SETTINGS)
@click.argument("submission", type=PATH)
@click.option("--html", type=PATH, metavar="FILE", help="Write a page, side by side.")
def diff(submission: Path, html: Path | None) -> None:
    """Show answers beside the solution's.

    SUBMISSION is NN_name.ipynb or NN_name.py. Cells that hold no answer are left out.
    """
    from attn_course.atomic_file import write_atomically
    from attn_course.course_files import solution_source
    from attn_grader import solution_diff
    from attn_grader.references import ABSENT
    from attn_grader.submissions import single_file

    name = single_file(submission).notebook
    solution = solution_source(name)
    if solution is None:
        raise UserError(ABSENT)
    pairs = list(solution_diff.answer_pairs(submission, name, solution))
    if html:
        title = "/".join(submission.parts[-2:])
        write_atomically(html, solution_diff.as_page(title, pairs))
    else:
        text = solution_diff.as_text(pairs, colour=sys.stdout.isatty())
        print(text, end="")


def _zip_file(context, param, path):
    """Return the path of an archive if its name ends in .zip and its folder is there."""
    if path.suffix.lower() != ".zip":
        raise UserError(f"--out must end in .zip, such as {path.name or 'course'}.zip.")
    if not path.parent.is_dir():
        raise UserError(f"there is no folder {path.parent} for {path.name}.")
    return path


zip_option = click.option(
    "--out", type=PATH, required=True, metavar="FILE.zip", callback=_zip_file, help="The archive."
)


@click.command(cls=Command, context_settings=SETTINGS)
@zip_option
@click.option(
    "--notebooks", cls=Several, metavar="NN...", help="Those of this week; without it, all."
)
@click.option(
    "--nbgrader", is_flag=True, help="Instead, nbgrader's folder source/, with solutions."
)
def release(out: Path, notebooks: tuple[str, ...], nbgrader: bool) -> None:
    """Pack the student edition.

    It holds notebooks, package and set-up, and no solution, rubric or reference. A later archive may be
    unpacked over an earlier one: the students' own folder work/ is not part of it.
    """
    from attn_grader import release_archive
    from attn_grader.grade_class import notebooks_of

    names = notebooks_of(notebooks) if notebooks else ()

    if nbgrader:
        files = release_archive.nbgrader_files(ROOT, names)
        num_files = release_archive.write_zip(out, files)
    else:
        num_files = release_archive.pack(ROOT, out, names)
    log.info(f"{out}: {num_files} files.")


@click.command(cls=Command, context_settings=SETTINGS)
@click.option("--notebooks", cls=Several, required=True, metavar="NN...", help="Those it grades.")
@zip_option
def gradescope(notebooks: tuple[str, ...], out: Path) -> None:
    """Pack an autograder for Gradescope.

    It holds the judges and their set-up, and no solution.
    """
    from attn_grader.grade_class import notebooks_of
    from attn_grader.release_archive import autograder_files, write_zip

    names = notebooks_of(notebooks)
    num_files = write_zip(out, autograder_files(ROOT, names))
    log.info(f"{out}: {num_files} files that grade {', '.join(names)}.")
