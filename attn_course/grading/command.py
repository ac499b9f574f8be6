"""`attn grade / diff / release` on the command line: options, progress, statuses."""

import argparse
import contextlib
import sys
from pathlib import Path

from attn_course import register
from attn_course.errors import UserError
from attn_course.grading import (
    report,
    written_marks,
)
from attn_course.grading.dask_backend import grade_on_dask
from attn_course.grading.grade_many import grade_many
from attn_course.grading.grade_one import Settings
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.messages import in_a_sentence
from attn_course.grading.options import grade_options
from attn_course.grading.read_submission import read_submission
from attn_course.grading.references import references
from attn_course.grading.results import Results
from attn_course.grading.roster import Roster
from attn_course.grading.roster import load as load_roster
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.tiers import Nothing, best_tier, missing_mechanisms
from attn_course.grading.self_check import name_of
from attn_course.grading.submissions import find

ROOT = Path(__file__).resolve().parents[2]
SPEED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{rate_noinv_fmt}, {remaining} left]"


@in_a_sentence
def grade(argv: list[str]) -> int:
    """Grade a folder of submissions, one folder per student; the same command again resumes."""
    options = grade_options(argv, grade.__doc__)
    notebooks = _notebooks(options.notebooks)
    students, files = find(options.submissions, notebooks)
    if not options.notebooks:
        files = [file for file in files if _counts(file.notebook)]
    roster = load_roster(options.roster) if options.roster else Roster()
    _refuse(options, roster)
    options.out.mkdir(parents=True, exist_ok=True)
    results = Results(options.out / "results.jsonl", options.seed)
    students = sorted({*students, *roster.people})
    codes = written_marks.codes(results.seed, students)
    marks = _marks(options, codes)
    results.forget(_regraded(options.regrade, files))
    todo = [file for file in files if not results.has(file)]
    settings = _settings(options, todo, results.seed)
    if options.dask is None:
        records = grade_many(todo, settings, options.jobs)
    else:
        records = grade_on_dask(todo, settings, options.dask, options.jobs)
    _run(records, len(todo), results)
    handed_in = {file.notebook for file in files}
    counted = [name for name in notebooks if options.notebooks or name in handed_in]
    book = Gradebook(
        students,
        counted,
        files,
        results,
        marks=marks,
        references=references(counted, ROOT / "solutions"),
        roster=roster,
    )
    if marks:
        text = written_marks.dump(book.stamped_marks())
        report.save(options.out / "written.csv", text)
    bad = sum(bool(results.get(file.key).problem) for file in files)
    good = len(files) - bad
    waiting = report.write(
        book,
        options.out,
        counts={
            "students": len(students),
            "notebooks graded": good,
            "files not graded": bad,
        },
        codes=codes if options.anonymous else None,
        formats=options.export,
    )
    print(
        f"{good} notebooks of {len(students)} students graded, {bad} could not be, "
        f"{waiting} written answers await a person. Open {options.out / 'index.html'}."
    )
    return 1 if bad else 0


def _notebooks(numbers):
    """Return the names of the notebooks to look for: those asked for, else all."""
    known = {name[:2]: name for name in register.NOTEBOOKS}
    wanted = [number.partition("_")[0].zfill(2) for number in numbers]
    unknown = [said for said, number in zip(numbers, wanted, strict=True) if number not in known]
    if unknown:
        raise UserError(f"there is no notebook {', '.join(unknown)}; there are {', '.join(known)}.")
    if wanted:
        return [known[number] for number in sorted(set(wanted))]
    return list(known.values())


def _counts(notebook):
    """Whether a notebook is graded unasked: the first one has no points, and a stray file has no name."""
    return not notebook or register.points_of(notebook) > 0


def _refuse(options, roster):
    """Refuse what would go wrong: results among the submissions, or code that nothing keeps in."""
    submissions = options.submissions.resolve()
    if options.out.resolve().is_relative_to(submissions):
        raise UserError(f"{options.out} lies among the submissions; choose another --out.")
    if options.out.exists() and not options.out.is_dir():
        raise UserError(f"{options.out} is a file; --out is a folder.")
    people = roster.people.values()
    if options.export and not any(person.id or person.email for person in people):
        raise UserError(
            "--export needs a --roster with the column id or email, to know who is who."
        )
    is_not_needed = options.no_sandbox or options.dask
    missing = [] if is_not_needed else missing_mechanisms()
    if missing:
        raise UserError(
            f"this machine lacks {', '.join(missing)}; without a sandbox a submission can read and "
            "change your files. To run all the same: --no-sandbox."
        )


def _settings(options, files, seed):
    limits = Limits(
        cell=min(Limits.cell, options.timeout),
        total=options.timeout,
        memory=options.memory << 20,
    )
    notebooks = {file.notebook for file in files if file.notebook}
    return Settings(
        seed=seed,
        limits=limits,
        notebooks=tuple(sorted(notebooks)),
        tier=Nothing.name if options.no_sandbox else best_tier(),
        everything=options.all_cells,
    )


def _marks(options, codes):
    """Return all points given by a person so far, those of --written among them."""
    students = codes.keys()
    hidden = {code: student for student, code in codes.items()}
    place = options.out / "written.csv"
    kept = {}
    if place.exists():
        kept = written_marks.load(place, students, strict=False)
    arrived = {}
    for path in options.written:
        arrived[str(path)] = written_marks.load(path, students, hidden=hidden)
    return written_marks.merged(kept, arrived)


def _regraded(questions, files):
    """Return the files to run again; questions: None for no file, [] for all."""
    if questions is None:
        return []
    try:
        found = [register.find(question_id) for question_id in questions]
    except KeyError as error:
        raise UserError(f"--regrade: {error.args[0]}") from None
    if not questions:
        return list(files)
    notebooks = {question.notebook for question in found}
    return [file for file in files if file.notebook in notebooks]


def _run(records, number, results):
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be alive while workers are forked
    with (
        contextlib.closing(records),
        tqdm(total=number, unit=" notebooks", bar_format=SPEED, disable=not number) as bar,
    ):
        for record in records:
            results.add(record)
            bar.update()


@in_a_sentence
def diff(argv: list[str]) -> int:
    """Show a submission's answers beside the solution's, and nothing but the answers."""
    parser = argparse.ArgumentParser(prog="attn diff", description=diff.__doc__)
    parser.add_argument("submission", type=Path, help="NN_name.ipynb or NN_name.py")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page, side by side")
    options = parser.parse_args(argv)
    from attn_course.grading import answer_diff

    name = name_of(options.submission, read_submission)
    solutions = ROOT / "solutions"
    if not (solutions / f"{name}.py").is_file():
        raise UserError("the solutions are not on this machine.")
    pairs = list(answer_diff.answer_pairs(options.submission, name, solutions))
    if options.html:
        title = "/".join(options.submission.parts[-2:])
        page = answer_diff.as_page(title, pairs)
        report.save(options.html, page)
    else:
        text = answer_diff.as_text(pairs, colour=sys.stdout.isatty())
        print(text, end="")
    return 0


@in_a_sentence
def release(argv: list[str]) -> int:
    """Pack the student edition: notebooks, package, set-up; no solution, rubric or reference."""
    parser = argparse.ArgumentParser(prog="attn release", description=release.__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    parser.add_argument(
        "--nbgrader", action="store_true", help="instead, nbgrader's folder source/, with solutions"
    )
    options = parser.parse_args(argv)
    from attn_course.grading import release_archive

    pack = release_archive.pack_for_nbgrader if options.nbgrader else release_archive.pack
    num_files = pack(ROOT, options.out)
    print(f"{options.out}: {num_files} files.")
    return 0


@in_a_sentence
def gradescope(argv: list[str]) -> int:
    """Pack an autograder that Gradescope runs: the judges and their set-up, and no solution."""
    parser = argparse.ArgumentParser(prog="attn gradescope", description=gradescope.__doc__)
    parser.add_argument("--notebooks", nargs="+", required=True, metavar="NN")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    options = parser.parse_args(argv)
    notebooks = _notebooks(options.notebooks)
    from attn_course.grading import release_archive

    num_files = release_archive.pack_autograder(ROOT, notebooks, options.out)
    print(f"{options.out}: {num_files} files that grade {', '.join(notebooks)}.")
    return 0
