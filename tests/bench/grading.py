"""Grade generated classes: beside nbgrader in one run, killed on the way, and ten thousand at once.

nbgrader is installed into a throw-away environment; --nbgrader takes one that is there already.
"""

import argparse
import csv
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from classroom import classroom  # noqa: E402

NAMES = ("01_copying", "02_average_of_two")
NEEDED = ("ipywidgets", "jupytext", "matplotlib", "numpy", "sympy", "tqdm")
ATTN = [sys.executable, "-c", "import sys, attn_course.cli as c; sys.exit(c.main())"]
# The grader is its command, a worker, and the worker's warm process with the one that waits for it
# outside its namespaces; below is the submission.
LEVELS = (4, 99)
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
CONFIG = """c = get_config()
c.CourseDirectory.course_id = "bench"
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}
"""


def cpu_seconds():
    """CPU seconds of all processes that were waited for, and of those that they waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(command, **options):
    """Run a command; return its CPU seconds and its peak memory in MB: (grader's own, with a submission)."""
    before, peak = cpu_seconds(), (0, 0)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
        while process.poll() is None:
            peak = tuple(map(max, peak, (memory_of(process.pid, levels) for levels in LEVELS)))
            time.sleep(0.1)
        if process.returncode not in (0, 1):
            output.seek(0)
            said = output.read().decode()[-2000:]
            raise SystemExit(f"{command} ended with {process.returncode}:\n{said}")
    return cpu_seconds() - before, tuple(size >> 10 for size in peak)


def memory_of(pid, levels):
    """Kilobytes of a process and its descendants now; a page they share is counted once."""
    if not levels:
        return 0
    try:
        shares = Path(f"/proc/{pid}/smaps_rollup").read_text()
        threads = Path(f"/proc/{pid}/task").iterdir()
        below = [child for t in threads for child in (t / "children").read_text().split()]
    except OSError:  # it has ended meanwhile
        return 0
    own = next(line.split()[1] for line in shares.splitlines() if line.startswith("Pss:"))
    return int(own) + sum(memory_of(child, levels - 1) for child in below)


def attn_grade(folder, out, jobs=1, seed=1, *more):
    return run([*_command(folder, out, seed), "--jobs", str(jobs), *more])


def attn_scores(out):
    with open(out / "gradebook.csv", encoding="utf-8") as file:
        return {row["student"]: float(row["total"]) for row in csv.DictReader(file)}


def nbgrader_environment(folder):
    """Install nbgrader and what the first notebooks need; return the folder of its programs."""
    print("installing nbgrader into a throw-away environment ...", flush=True)
    lock = (ROOT / "requirements/lock.txt").read_text("utf-8").splitlines()
    wanted = [line for line in lock if line.partition("==")[0] in NEEDED]
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    run([*pip, "nbgrader==0.9.6", *wanted])
    run([*pip, "--no-deps", "-e", ROOT])
    return folder / "bin"


class Nbgrader:
    """A course folder of nbgrader with the first `size` of the same submissions."""

    def __init__(self, programs, course, submissions, size):
        path = f"{programs}:{os.environ['PATH']}"
        self.program = programs / "nbgrader"
        self.options = {"cwd": course, "env": {**os.environ, "PATH": path}}
        self.course = course
        course.mkdir()
        (course / "nbgrader_config.py").write_text(CONFIG)
        run([*ATTN, "release", "--nbgrader", "--out", course / "source.zip"])
        with zipfile.ZipFile(course / "source.zip") as archive:
            archive.extractall(course)
        for path in sorted(submissions.glob("*/*.ipynb"))[:size]:
            student = path.parent.name.replace(" ", "-")
            shutil.copytree(path.parent, course / "submitted" / student / path.stem)
        for name in NAMES:
            self.run("generate_assignment", name)

    def run(self, *command):
        """Run a command of nbgrader; return its CPU seconds."""
        return run([self.program, *command], **self.options)[0]

    def scores(self):
        """Return {student: score}."""
        self.run("export")
        scores = {}
        with open(self.course / "grades.csv", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["timestamp"] or float(row["score"] or 0):
                    who = row["student_id"].replace("-", " ")
                    scores[who] = scores.get(who, 0.0) + float(row["score"] or 0)
        return scores


def beside_nbgrader(options, scratch):
    """Print scores, CPU and memory of a class, with nbgrader's on the same notebooks.

    Whole commands take turns. nbgrader runs every cell of a notebook in a kernel and saves it with its
    outputs; pages for students are a command of their own, `generate_feedback`. attn grade runs the cells
    that answers need (all of them in the last run), in a sandbox, judges on inputs of its own, and writes
    gradebook, results for Gradescope and pages for students and graders.
    """
    programs = options.nbgrader or nbgrader_environment(scratch / "environment")
    many = scratch / "many"
    expected = classroom(many, NAMES, options.size)
    start_up, small = attn_grade(_one(many, scratch / "one"), scratch / "one-out")
    number = min(options.theirs, options.size)
    theirs = Nbgrader(programs, scratch / "course", many, number)
    steps = [("autograde", name) for name in NAMES] + [
        ("generate_feedback", name) for name in NAMES
    ]
    seconds = dict.fromkeys(("autograde", "generate_feedback"), 0.0)
    ours = []
    for turn, step in enumerate(steps):
        whole, large = attn_grade(many, scratch / f"many-{turn}")
        ours.append(whole / options.size)
        seconds[step[0]] += theirs.run(*step) / number
        print(f"attn grade {ours[-1]:.4f} CPU s each; then nbgrader {' '.join(step)}", flush=True)
    all_cells, _ = attn_grade(many, scratch / "all-cells", 1, 1, "--all-cells")
    scores = attn_scores(scratch / "many-0")
    right = sum(scores[who] == points for who, (points, _) in expected.items())
    mean = sum(ours) / len(ours)
    each = (mean * options.size - start_up) / (options.size - 1)
    print(f"{options.size} submissions of {', '.join(NAMES)}: {right} scores as expected")
    print(f"attn grade, whole command: {mean:.4f} CPU s each ({min(ours):.4f} to {max(ours):.4f})")
    print(f"  {start_up:.2f} for one alone, then {each:.4f} each")
    print(f"  with --all-cells: {all_cells / options.size:.4f} each")
    for size, (own, in_all) in ((1, small), (options.size, large)):
        print(f"peak memory for {size} submissions: {own} MB, {in_all} MB with the one in hand")
    their_scores = theirs.scores()
    agree = sum(scores[who] == their_scores.get(who, 0.0) for who in sorted(scores)[:number])
    print(f"nbgrader 0.9.6, the first {number} of them; {agree} scores equal attn's:")
    autograde, feedback = seconds.values()
    print(f"  autograde {autograde:.3f} CPU s each: ratio {autograde / mean:.1f}")
    print(
        f"  with generate_feedback {autograde + feedback:.3f}: ratio {(autograde + feedback) / mean:.1f}"
    )
    print(
        f"  autograde, beside --all-cells: ratio {autograde * options.size / all_cells:.1f}",
        flush=True,
    )


def _one(folder, target):
    """A class of one: the first of a class."""
    first = min(folder.iterdir())
    shutil.copytree(first, target / first.name)
    return target


def survive_kills(options, scratch, seed=2):
    """Kill a batch again and again, half of the times while records come in, and finish it.

    Prints the number of lines in results.jsonl at each kill, and whether the gradebook is the same,
    to the byte, as that of a run that nothing stopped.
    """
    folder = scratch / "killed"
    classroom(folder, NAMES, options.kill_size)
    whole = scratch / "whole"
    start = time.monotonic()
    attn_grade(folder, whole, jobs=2, seed=seed)
    seconds = time.monotonic() - start
    rng = random.Random(seed)
    torn = scratch / "torn"
    command = _command(folder, torn, seed)
    lines = []
    for number in range(options.kills):
        process = subprocess.Popen([*command, "--jobs", "2"], **QUIET)
        if number % 2:
            time.sleep(rng.uniform(0, seconds / 4))
        else:
            _until_more(process, torn)
            time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.wait()
        lines.append(count_lines(torn))
    run(command)
    same = _same_book(whole, torn)
    print(f"{len(lines)} kills (lines of results.jsonl at each: {lines}); same gradebook: {same}")
    survive_dead_workers(options, folder, whole, scratch / "far", seed)


def survive_dead_workers(options, folder, whole, far, seed):
    """The same on a Dask cluster: a worker is killed, or all of them, or the command, or everything.

    A worker that was killed comes back by itself; the command finds it, or the one that is left, or
    says after a minute that there is none.
    """
    from distributed import Client, LocalCluster

    kinds = ["worker", "command", "workers", "everything"]
    plan = (kinds * options.kills)[: options.kills]
    lines = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        command = [*_command(folder, far, seed), "--dask", cluster.scheduler_address]
        with Client(cluster) as client:
            for kind in plan:
                _until_somebody_works(cluster, client)
                process = subprocess.Popen(command, **QUIET)
                _until_more(process, far)
                _kill(kind, process, client, far)
                lines.append(count_lines(far))
                print(f"Dask: {kind} killed at {lines[-1]} lines", flush=True)
            status = 2
            while status == 2:  # the scheduler may not know yet that its workers are dead
                _until_somebody_works(cluster, client)
                status = subprocess.run(command, **QUIET).returncode
    same = _same_book(whole, far)
    print(f"Dask, {len(plan)} kills (lines: {lines}); same gradebook: {same}", flush=True)


def _until_somebody_works(cluster, client):
    """Wait for a worker; where none comes back by itself, have new ones started."""
    while not client.nthreads():
        cluster.scale(2)
        time.sleep(1)


def _kill(kind, process, client, out):
    """Kill one worker, all, the command or everything; end the command once it has gone on."""
    pids = list(client.run(os.getpid, on_error="ignore").values())
    victims = {"worker": pids[:1], "command": []}.get(kind, pids)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    if kind in ("worker", "workers"):
        _until_more(process, out)
    process.kill()
    process.wait()


def _command(folder, out, seed):
    numbers = [name[:2] for name in NAMES]
    return [*ATTN, "grade", folder, "--out", out, "--seed", str(seed), "--notebooks", *numbers]


def _until_more(process, out):
    """Wait until results come in, or nothing is left to do."""
    before = count_lines(out)
    while process.poll() is None and count_lines(out) == before:
        time.sleep(0.02)


def _same_book(one, other):
    return (one / "gradebook.csv").read_bytes() == (other / "gradebook.csv").read_bytes()


def count_lines(out):
    results = out / "results.jsonl"
    return results.read_bytes().count(b"\n") if results.exists() else 0


def soak(options, scratch):
    """Grade very many submissions, most of them copies; print CPU, what was lost, and a memory curve.

    With --keep, the same command goes on where it was stopped.
    """
    scratch = options.keep or scratch
    expected = many_copies(scratch, options.soak)
    out = scratch / "soaked"
    already = graded(out)
    before = cpu_seconds()
    process = subprocess.Popen([*_command(scratch / "soak", out, 3), "--jobs", "2"], **QUIET)
    tenths = Curve(options.soak)
    while process.poll() is None:
        tenths.look(process.pid, graded(out))
        time.sleep(1)
    cpu = cpu_seconds() - before
    scores = attn_scores(out)
    right = sum(
        points == expected[student.partition(" copy ")[0]][0] for student, points in scores.items()
    )
    now = max(options.soak - already, 1)
    print(f"soak: {options.soak} submissions, {right} scores as expected, {cpu:.0f} CPU s", end="")
    print(f" for {now} of them ({cpu / now:.3f} each)")
    print(f"memory in MB of the command (and of all its processes): {tenths}", flush=True)


def many_copies(scratch, size):
    """Lay out a class of copies of few submissions; return the points of those."""
    few = scratch / "originals"
    expected = classroom(few, NAMES, 40)
    originals = sorted(few.glob("*/*.ipynb"))
    for number in range(size):
        source = originals[number % len(originals)]
        target = scratch / "soak" / f"{source.parent.name} copy {number:05}" / source.name
        if not target.exists():
            target.parent.mkdir(parents=True)
            os.link(source, target)
    return expected


class Curve:
    """Memory at each tenth of a batch, told as soon as it is reached."""

    def __init__(self, size):
        self.size = size
        self.points = {}

    def look(self, pid, done):
        """Measure once a tenth; what is left after the last one is the pages."""
        tenth = done * 10 // self.size
        if tenth not in self.points:
            own = resident(pid) >> 10
            in_all = memory_of(pid, LEVELS[-1]) >> 10
            self.points[tenth] = f"{tenth * 10}%: {own} ({in_all})"
            print(f"soak: {done} of {self.size} graded, {own} MB", flush=True)

    def __str__(self):
        return ", ".join(self.points.values())


def graded(out):
    """How many files have a result: the first line holds the seed."""
    return max(count_lines(out) - 1, 0)


def resident(pid):
    """Kilobytes of a process in memory now; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(sizes[0]) if sizes else 0


PARTS = {"nbgrader": beside_nbgrader, "kills": survive_kills, "soak": soak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="students in the class")
    parser.add_argument("--theirs", type=int, default=200, help="of these nbgrader grades so many")
    parser.add_argument("--kills", type=int, default=20, help="how often a batch is killed")
    parser.add_argument("--kill-size", type=int, default=40, help="students in that batch")
    parser.add_argument("--soak", type=int, default=10_000, help="submissions of the soak")
    parser.add_argument("--keep", type=Path, help="folder of the soak, to go on with it later")
    parser.add_argument("--nbgrader", type=Path, help="bin folder of an environment with nbgrader")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.only:
            PARTS[name](options, Path(scratch))


if __name__ == "__main__":
    main()
