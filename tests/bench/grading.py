"""Grade one generated class with attn and with nbgrader in the same run: scores, CPU, memory, kills.

nbgrader is installed into a throw-away environment; --nbgrader takes one that is there already.
"""

import argparse
import csv
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from classroom import classroom  # noqa: E402

NAMES = ("01_copying", "02_average_of_two")
NEEDED = ("ipywidgets", "jupytext", "matplotlib", "numpy", "sympy", "tqdm")
ATTN = [sys.executable, "-c", "import sys, attn_course.cli as c; sys.exit(c.main())"]
# The grader is its command, what its fork servers share, and two processes of each; below are
# submission and judge.
LEVELS = (4, 99)
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


def attn_grade(folder, out, jobs=1, seed=1):
    command = ["grade", folder, "--out", out, "--jobs", str(jobs), "--seed", str(seed)]
    return run([*ATTN, *command, "--notebooks", *(name[:2] for name in NAMES)])


def attn_scores(out):
    with open(out / "gradebook.csv", encoding="utf-8") as file:
        return {row["student"]: float(row["total"]) for row in csv.DictReader(file)}


def nbgrader_environment(folder):
    """Install nbgrader and what the first notebooks need; return the folder of its programs."""
    print("installing nbgrader into a throw-away environment ...", flush=True)
    pins = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    wanted = [pin for pin in pins if pin.partition("==")[0] in NEEDED]
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
    run([*pip, "nbgrader==0.9.6", *wanted])
    run([*pip, "--no-deps", "-e", ROOT])
    return folder / "bin"


def nbgrader_grade(programs, course, submissions):
    """Autograde the same notebooks; return CPU seconds and {student: score}."""
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    options = {"cwd": course, "env": environment}
    (course / "nbgrader_config.py").write_text(CONFIG)
    cpu = 0.0
    for path in sorted(submissions.glob("*/*.ipynb")):
        target = course / "submitted" / path.parent.name.replace(" ", "-") / path.stem
        shutil.copytree(path.parent, target)
    for name in NAMES:
        (course / "source" / name).mkdir(parents=True)
        shutil.copy(ROOT / "solutions" / f"{name}.ipynb", course / "source" / name)
        run([programs / "nbgrader", "generate_assignment", name], **options)
        cpu += run([programs / "nbgrader", "autograde", name], **options)[0]
    run([programs / "nbgrader", "export"], **options)
    with open(course / "grades.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["timestamp"] or float(row["score"] or 0)]
    scores = {}
    for row in rows:
        who = row["student_id"].replace("-", " ")
        scores[who] = scores.get(who, 0.0) + float(row["score"] or 0)
    return cpu, scores


def survive_kills(folder, scratch, times=20, seed=2):
    """Kill a batch `times` times, half of them while records come in, and finish it.

    Returns the number of lines in results.jsonl at each kill, and whether the gradebook is the same,
    to the byte, as that of a run that nothing stopped.
    """
    whole, torn, start = scratch / "whole", scratch / "torn", time.monotonic()
    attn_grade(folder, whole, jobs=2, seed=seed)
    rng, seconds, lines = random.Random(seed), time.monotonic() - start, []
    command = [*ATTN, "grade", folder, "--out", torn, "--jobs", "2", "--seed", str(seed)]
    command += ["--notebooks", *(name[:2] for name in NAMES)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    for number in range(times):
        process = subprocess.Popen(command, **quiet)
        if number % 2:
            time.sleep(rng.uniform(0, seconds / 4))
        else:
            while process.poll() is None and count_lines(torn) == (lines or [0])[-1]:
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.2))
        process.kill()
        process.wait()
        lines.append(count_lines(torn))
    run(command)
    return lines, (whole / "gradebook.csv").read_bytes() == (torn / "gradebook.csv").read_bytes()


def count_lines(out):
    results = out / "results.jsonl"
    return results.read_bytes().count(b"\n") if results.exists() else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=200, help="students in the class")
    parser.add_argument("--nbgrader", type=Path, help="bin folder of an environment with nbgrader")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench(options, Path(scratch))


def bench(options, scratch):
    programs = options.nbgrader or nbgrader_environment(scratch / "environment")
    few, many, course = scratch / "few", scratch / "many", scratch / "course"
    course.mkdir()
    some = classroom(few, NAMES, max(options.size // 5, 4))
    _, small = attn_grade(few, scratch / "few-out")
    expected = classroom(many, NAMES, options.size)
    cpu, large = attn_grade(many, scratch / "many-out")
    cpu, scores = cpu / options.size, attn_scores(scratch / "many-out")
    right = sum(scores[who] == points for who, (points, _) in expected.items())
    print(f"{options.size} submissions of {', '.join(NAMES)}: {right} scores as expected")
    print(f"attn grade: {cpu:.3f} CPU s each")
    for size, (own, whole) in ((len(some), small), (options.size, large)):
        print(f"peak memory for {size} submissions: {own} MB, {whole} MB with the one in hand")
    sys.stdout.flush()
    theirs, their_scores = nbgrader_grade(programs, course, many)
    agree = sum(their_scores.get(who, 0.0) == points for who, points in scores.items())
    print(f"nbgrader 0.9.6: {theirs / options.size:.3f} CPU s each; {agree} scores equal attn's")
    print(f"ratio: {theirs / options.size / cpu:.1f}", flush=True)
    lines, same = survive_kills(few, scratch)
    print(f"{len(lines)} kills (lines of results.jsonl at each: {lines}); same gradebook: {same}")


if __name__ == "__main__":
    main()
