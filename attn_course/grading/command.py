"""`attn grade / check / diff / release` on the command line: options, progress, sentences, statuses."""

import argparse
import contextlib
import sys
from pathlib import Path

from attn_course import register
from attn_course.grading import comparing, gradebook, releasing, report, written
from attn_course.grading.grade_many import grade_many
from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.read_submission import Unreadable, read_bytes, read_submission
from attn_course.grading.record import State
from attn_course.grading.sandbox.bench import Lost
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.tiers import Nothing, best_tier, missing_mechanisms
from attn_course.grading.submissions import File, Refused, find, notebook_of
from attn_course.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
SPEED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{rate_noinv_fmt}, {remaining} left]"


def _sentences(command):
    """Have a command end in one sentence and status 2 where it cannot do what was asked."""

    def run(argv):
        with contextlib.suppress(AttributeError):  # not every stream can
            sys.stdout.reconfigure(errors="replace")  # a name or mark that the terminal lacks
        try:
            return command(argv)
        except (Refused, OSError) as error:
            print(f"attn {command.__name__}: {error}", file=sys.stderr)
            return 2

    run.__doc__ = command.__doc__
    return run


@_sentences
def grade(argv):
    """Grade a folder of submissions, one folder per student; the same command again resumes."""
    options = _grade_options(argv)
    notebooks = _notebooks(options.notebooks)
    students, files = find(options.submissions, notebooks)
    _refuse(options)
    options.out.mkdir(parents=True, exist_ok=True)
    results = gradebook.Results(options.out / "results.jsonl", options.seed)
    given = _given(options, set(students))
    todo = [file for file in files if not results.has(file)]
    _run(todo, _settings(options, todo, results.seed), options.jobs, results)
    book = gradebook.Gradebook(students, notebooks, files, results, given)
    bad = sum(bool(results.get(file.key)["problem"]) for file in files)
    counts = {"students": len(students), "graded": len(files) - bad, "not_graded": bad}
    shown = {"solutions": ROOT / "solutions", "counts": counts, "sandboxed": not options.no_sandbox}
    waiting = report.write(book, options.out, **shown)
    print(
        f"{len(files) - bad} notebooks of {len(students)} students graded, {bad} could not be, "
        f"{waiting} written answers await a person. Open {options.out / 'index.html'}."
    )
    return 1 if bad else 0


def _grade_options(argv):
    parser = argparse.ArgumentParser(prog="attn grade", description=grade.__doc__)
    add = parser.add_argument
    add("submissions", type=Path, help="holds <student>/NN_name.ipynb, or nbgrader's submitted/")
    add("--out", type=Path, required=True, help="folder for gradebook, feedback and pages")
    add("--notebooks", nargs="+", metavar="NN", default=[], help="only these; all that have points")
    add("--written", type=Path, action="append", default=[], help="points given by a person (CSV)")
    add("--jobs", type=_positive(int), default=2, help="how many at once (2)")
    add("--timeout", type=_positive(float), default=120.0, help="seconds a submission has (120)")
    add("--memory", type=_positive(int), default=2048, help="megabytes a submission has (2048)")
    add("--all-cells", action="store_true", help="run figures and training too")
    add("--no-sandbox", action="store_true", help="run submissions unprotected, and say so")
    add("--seed", type=_positive(int, 1 << 128), help="repeat a batch; by default fresh and secret")
    return parser.parse_args(argv)


def _positive(kind, most=1 << 32):
    def number(text):
        found = kind(text)
        if not 0 < found < most:
            raise argparse.ArgumentTypeError(f"{text} is not above 0 and below {most:g}")
        return found

    return number


def _notebooks(numbers):
    """Return the names of the notebooks to grade: those asked for, else all that have points."""
    known = {name[:2]: name for name in register.NOTEBOOKS if register.questions_of(name)}
    wanted = [number[:2].zfill(2) if "_" in number else number.zfill(2) for number in numbers]
    unknown = [number for number in wanted if number not in known]
    if unknown:
        raise Refused(f"there is no notebook {', '.join(unknown)}; there are {', '.join(known)}.")
    return [known[n] for n in sorted(wanted)] or [
        n for n in known.values() if register.points_of(n)
    ]


def _refuse(options):
    """Refuse what would go wrong: results among the submissions, or code that nothing keeps in."""
    if options.out.resolve().is_relative_to(options.submissions.resolve()):
        raise Refused(f"{options.out} lies among the submissions; choose another --out.")
    missing = [] if options.no_sandbox else missing_mechanisms()
    if missing:
        raise Refused(
            f"this machine lacks {', '.join(missing)}; without a sandbox a submission can read and "
            "change your files. To run all the same: --no-sandbox."
        )


def _settings(options, files, seed):
    memory, total = options.memory << 20, options.timeout
    limits = Limits(cell=min(Limits.cell, total), total=total, memory=memory)
    notebooks = tuple(sorted({file.notebook for file in files if file.notebook}))
    tier = Nothing.name if options.no_sandbox else best_tier()
    return Settings(seed, limits, notebooks, tier, options.all_cells)


def _given(options, students):
    """Return all points given by a person so far; new ones win, and are kept for the next time."""
    kept = options.out / "written.csv"
    given = written.load(kept, students, strict=False) if kept.exists() else {}
    for path in options.written:
        given |= written.load(path, students)
    if options.written:
        report.save(kept, written.dump(given))
    return given


def _run(files, settings, jobs, results):
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # its thread would be alive while workers are forked
    with (
        contextlib.closing(grade_many(files, settings, jobs)) as records,
        tqdm(total=len(files), unit=" notebooks", bar_format=SPEED, disable=not files) as bar,
    ):
        for record in records:
            results.add(record.as_data())
            bar.update()


@_sentences
def check(argv):
    """Judge every answer of a notebook at once: the verdicts of its check cells, and no points lost."""
    parser = argparse.ArgumentParser(prog="attn check", description=check.__doc__)
    parser.add_argument("notebook", type=Path, help="NN_name.ipynb or NN_name.py")
    path = parser.parse_args(argv).notebook
    name = _name_of(path, read_bytes)
    settings = Settings(None, Limits(), (name,), best_tier() or Nothing.name)
    with settings.bench() as bench:
        try:
            record = grade_one(File("you", name, path, path.name), bench, settings)
        except (Lost, RuntimeError) as error:
            raise Refused(f"{path}: {error}") from None
    if record.problem:
        raise Refused(f"{path}: {record.problem}")
    for part in record.parts:
        if part.status == State.WAITING:
            print(f"✎ {part.question} written: {part.message}")
        else:
            print(Verdict(part.question, part.status, part.message, part.points, part.out_of))
    print("\n".join(record.remarks))
    return 0


def _name_of(path, read=read_submission):
    """Return which notebook a file is, once it is known to be one that can be read."""
    name = notebook_of(Path(path.name))
    if not name:
        raise Refused(f"{path.name} is no notebook of the course, such as 01_copying.ipynb.")
    try:
        read(path)
    except Unreadable as error:
        raise Refused(f"{path}: {error}") from None
    return name


@_sentences
def diff(argv):
    """Show a submission's answers beside the solution's, and nothing but the answers."""
    parser = argparse.ArgumentParser(prog="attn diff", description=diff.__doc__)
    parser.add_argument("submission", type=Path, help="NN_name.ipynb or NN_name.py")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page, side by side")
    options = parser.parse_args(argv)
    name = _name_of(options.submission)
    if not (ROOT / "solutions" / f"{name}.py").is_file():
        raise Refused("the solutions are not on this machine.")
    pairs = list(comparing.answer_pairs(options.submission, name, ROOT / "solutions"))
    if options.html:
        report.save(options.html, comparing.as_page("/".join(options.submission.parts[-2:]), pairs))
    else:
        print(comparing.as_text(pairs, colour=sys.stdout.isatty()), end="")
    return 0


@_sentences
def release(argv):
    """Pack the student edition: notebooks, package, set-up; no solution, rubric or reference."""
    parser = argparse.ArgumentParser(prog="attn release", description=release.__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.zip")
    target = parser.parse_args(argv).out
    print(f"{target}: {releasing.pack(ROOT, target)} files.")
    return 0
