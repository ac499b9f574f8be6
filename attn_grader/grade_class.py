"""Grades a class: finds the files, has each judged, and writes gradebook, feedback and pages."""

import contextlib
import logging
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from attn_course import register
from attn_course.answers.wording import agree, counted
from attn_course.atomic_file import write_atomically
from attn_course.command_line import ATTENTION, DONE, log, missing_package
from attn_course.errors import UserError
from attn_course.verdict import State
from attn_grader import exports, pages, written_marks
from attn_grader.collect import COLLECTED, dump, read_collected
from attn_grader.grade import Settings
from attn_grader.gradebook import Gradebook
from attn_grader.record import Results
from attn_grader.references import references
from attn_grader.roster import Roster
from attn_grader.roster import load as load_roster
from attn_grader.sandbox import Limits
from attn_grader.sandbox.policy import NoSandbox, best_tier, missing_mechanisms
from attn_grader.spreadsheet import two_decimals
from attn_grader.submissions import find, single_file
from attn_grader.workers import Worker, grade_file, grade_many, grade_on_dask

ROOT = Path(__file__).resolve().parents[1]
MOST_MISTAKES = 5  # that are printed
PACKAGES = ("jinja2", "latex2mathml", "markdown_it", "mdit_py_plugins", "tqdm")  # for the pages
# Options that mean nothing where one file is graded, of which only the verdicts are printed.
OF_A_CLASS = ("out", "notebooks", "written", "roster", "export", "final", "anonymous", "regrade")
SPEED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{rate_noinv_fmt}, {remaining} left]"


@dataclass(frozen=True)
class Options:
    """What `attn grade` was asked for; its help says what each means."""

    submissions: Path
    out: Path | None
    notebooks: tuple[str, ...]
    written: tuple[Path, ...]
    roster: Path | None
    export: tuple[str, ...]
    final: bool
    anonymous: bool
    regrade: tuple[str, ...]
    jobs: int
    dask: str | None
    timeout: float
    memory: int
    all_cells: bool
    no_sandbox: bool
    seed: int | None


def grade_class(options: Options, out: Path) -> int:
    """Grade what is not graded yet and write all files; return the exit status."""
    for package in PACKAGES:  # what is missing is noticed before a file is graded
        import_module(package)
    notebooks = notebooks_of(options.notebooks)
    students, files = find(options.submissions, notebooks)
    if not options.notebooks:
        # A stray file has no name; the first notebook has no points.
        files = [file for file in files if not file.notebook or register.points_of(file.notebook)]
    collected = read_collected(options.submissions)
    roster = load_roster(options.roster, students) if options.roster else Roster()
    _refuse(options, out, roster)
    out.mkdir(parents=True, exist_ok=True)
    results = Results(out / "results.jsonl", options.seed)
    students = sorted({*students, *roster.people})
    codes = written_marks.codes(results.seed, students)
    marks = _marks(options, out, codes)
    results.forget(_regraded(options.regrade, files))
    todo = [file for file in files if not results.has(file)]
    settings = _settings(options, todo)
    if options.dask is None:
        _require_torch(settings.notebooks)
        records = grade_many(todo, settings, results.seed, options.jobs)
    else:
        records = grade_on_dask(todo, settings, results.seed, options.dask, options.jobs)
    _run(records, len(todo), results)
    handed_in = {file.notebook for file in files}
    in_total = [name for name in notebooks if options.notebooks or name in handed_in]
    book = Gradebook(
        students,
        in_total,
        files,
        results.get,
        marks=marks,
        references=references(in_total),
        roster=roster,
        collected=collected,
    )
    if collected:  # `attn feedback` reads in it under which names files came
        write_atomically(out / COLLECTED, dump(collected.values()))
    if marks:
        write_atomically(out / "written.csv", written_marks.dump(book.stamped_marks()))
    bad = sum(bool(results.get(file.key).problem) for file in files)
    good = len(files) - bad
    written = pages.write(
        book,
        out,
        counts={"students": len(students), "notebooks graded": good, "files not graded": bad},
        codes=codes if options.anonymous else None,
    )
    is_unfinished = False
    if options.export:
        number = exports.export(book, out, options.export, final=options.final)
        is_unfinished = number > 0 and not options.final
        files_of_lms = " and ".join(f"{name}.csv" for name in options.export)
        unfinished = counted(number, "notebook")
        if is_unfinished:
            log.warning(
                f"{files_of_lms}: {agree(unfinished, 'is', 'are')} left blank, since answers await a "
                "person. --final writes the points so far."
            )
        elif number:
            log.warning(
                f"{files_of_lms}: {agree(unfinished, 'has', 'have')} the points so far, though answers "
                "await a person."
            )
    graded = f"{counted(good, 'notebook')} of {counted(len(students), 'student')}"
    awaiting = agree(counted(written.num_waiting, "answer"), "awaits", "await")
    if written.mistakes:
        print("The most frequent mistakes:")
    for mistake in written.mistakes[:MOST_MISTAKES]:
        print(f"{mistake.count:4} of {len(students)}  {mistake.question.id}: {mistake.sentence}")
    log.info(
        f"{graded} graded, {bad} could not be, {awaiting} a person. Open {out / 'index.html'}."
    )
    return ATTENTION if bad or is_unfinished else DONE


def grade_single_file(options: Options) -> int:
    """Print the verdicts on one file, which is graded as those of a class are; return the exit status."""
    for name in OF_A_CLASS:
        if getattr(options, name):
            raise UserError(f"--{name} goes with a folder of submissions, not with one file.")
    file = single_file(options.submissions)
    _require_sandbox(options)
    settings = _settings(options, [file])
    _require_torch(settings.notebooks)
    worker = Worker(settings)
    record = grade_file(file, worker, options.seed or secrets.randbits(128))
    worker.close()
    if record.problem:
        raise UserError(f"{file.path}: {record.problem}")
    num_parts = Counter(part.question for part in record.parts)
    for part in record.parts:
        is_alone = num_parts[part.question] == 1
        print(part if is_alone else replace(part, question=f"{part.question} {part.kind}"))
    for remark in record.remarks:
        print(remark)
    points = sum(part.points for part in record.parts)
    out_of = sum(part.out_of for part in record.parts)
    waiting = sum(part.status == State.WAITING for part in record.parts)
    awaiting = agree(counted(waiting, "answer"), "awaits", "await")
    print(f"{two_decimals(points)} of {two_decimals(out_of)} points, {awaiting} a person.")
    return DONE


def notebooks_of(numbers: Sequence[str]) -> list[str]:
    """Return the names of the notebooks to look for: those asked for, else all."""
    names = {name[:2]: name for name in register.NOTEBOOKS}
    if not numbers:
        return list(names.values())
    chosen = {number: number.partition("_")[0].zfill(2) for number in numbers}
    unknown = [number for number, key in chosen.items() if key not in names]
    if unknown:
        raise UserError(f"there is no notebook {', '.join(unknown)}; there are {', '.join(names)}.")
    return [names[key] for key in sorted(set(chosen.values()))]


def _refuse(options, out, roster):
    """Refuse what would go wrong: results among the submissions, or code that nothing keeps in."""
    if out.resolve().is_relative_to(options.submissions.resolve()):
        raise UserError(f"{out} lies among the submissions; choose another --out.")
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file; --out is a folder.")
    people = roster.people.values()
    if options.export and not any(person.id or person.email for person in people):
        raise UserError(
            "--export needs a --roster with the column id or email, to know who is who."
        )
    _require_sandbox(options)


def _require_sandbox(options):
    missing = [] if options.no_sandbox or options.dask else missing_mechanisms()
    if missing:
        raise UserError(
            f"this machine lacks {', '.join(missing)}; without a sandbox a submission can read and "
            "change your files. To run all the same: --no-sandbox."
        )


def _settings(options, files):
    limits = Limits(
        cell=min(Limits.cell, options.timeout),
        total=options.timeout,
        memory=options.memory << 20,
    )
    notebooks = {file.notebook for file in files if file.notebook}
    return Settings(
        limits=limits,
        notebooks=tuple(sorted(notebooks)),
        tier=NoSandbox.name if options.no_sandbox else best_tier(),
        everything=options.all_cells,
    )


def _require_torch(notebooks):
    needing = [name for name in notebooks if register.needs_torch(name)]
    if needing and find_spec("torch") is None:
        raise UserError(f"{needing[0]} cannot be graded: {missing_package('torch', 'torch')}")


def _marks(options, out, codes):
    """Return all points given by a person so far, those of --written among them."""
    students = codes.keys()
    hidden = {code: student for student, code in codes.items()}
    path = out / "written.csv"
    kept = written_marks.load(path, students, strict=False) if path.exists() else {}
    arrived = {}
    for path in options.written:
        arrived[str(path)] = written_marks.load(path, students, hidden=hidden)
    return written_marks.merged(kept, arrived)


def _regraded(questions, files):
    """Return the files to run again; questions: none for no file, an empty one for all."""
    if "" in questions:
        return list(files)
    try:
        notebooks = {register.find(question_id).notebook for question_id in questions}
    except KeyError as error:
        raise UserError(f"--regrade: {error.args[0]}") from None
    return [file for file in files if file.notebook in notebooks]


def _run(records, number, results):
    from tqdm import tqdm

    is_quiet = not number or not log.isEnabledFor(logging.INFO)
    tqdm.monitor_interval = 0  # its thread would be alive while workers are forked
    with (
        contextlib.closing(records),
        tqdm(total=number, unit=" notebooks", bar_format=SPEED, disable=is_quiet) as bar,
    ):
        for record in records:
            results.add(record)
            bar.update()
            log.debug(f"{record.student}/{record.file}: {record.problem or 'graded.'}")
