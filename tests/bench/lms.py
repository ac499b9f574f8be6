"""A class from the archive of Canvas to points and feedback in Canvas's form, marked in a browser, and timed.

`python tests/bench/lms.py [SIZE [FOLDER]]`; FOLDER keeps what was made. A test runs it with a few students.
"""

import csv
import os
import random
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chromium import Browser
from classroom import bank_submissions, save, student
from jupyter import wait_for

from attn_course import cli

NOTEBOOKS = ("01_copying", "02_average_of_two")
KINDS = ("right", "wrong", "mixed", "broken")
BANK_EVERY = 3  # students; each such one hands in mistakes that the judges know by name


def archive_of(folder, size):
    """Write a class as Canvas packs it, and its roster; return {student: points of the machine}."""
    rng = random.Random(0)
    expected = {}
    mistaken = {name: [pack for pack, _ in bank_submissions(name, _is_wrong)] for name in NOTEBOOKS}
    people = ["student;name;email;id;lms_id"]
    with zipfile.ZipFile(folder / "submissions.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(size):
            who = f"s{number:03}"
            people.append(f"{who};Ann{number} Lee;{who}@x.edu;{9000 + number};{100 + number}")
            expected[who] = 0.0
            for name in NOTEBOOKS:
                made, points, _ = student(name, KINDS[number % 4], rng)
                if number % BANK_EVERY == BANK_EVERY - 1:
                    made, points = rng.choice(mistaken[name]), 0
                expected[who] += points
                save(folder / "made.ipynb", made)
                late = "LATE_" if number % 10 == 9 else ""
                file = f"leeann{number}_{late}{100 + number}_{rng.randrange(10**6)}_{name}-1.ipynb"
                archive.write(folder / "made.ipynb", file)
    (folder / "roster.csv").write_text("\n".join(people) + "\n", "utf-8")
    return expected


def _is_wrong(entry):
    *_, kind, _, _ = entry
    return kind == "WRONG"


def mark_all(browser, out):
    """Give every written answer points by keys, and download them; return (files, num answers)."""
    files = []
    num_answers = 0
    for page in sorted((out / "questions").glob("*.html")):
        browser.open(page)
        number = browser.run("cards.length")
        browser.run("grader.value = 'Eve'; grader.dispatchEvent(new Event('input'))")
        for card in range(number):
            browser.press("j", ord("J"))
            key = "f" if card % 2 else "0"
            browser.press(key, ord(key.upper()))
        if number:
            browser.run("document.getElementById('save').click()")
            files.append(browser.folder / f"written-{page.stem}.csv")
            wait_for(files[-1].exists, "the download")
        num_answers += number
    return files, num_answers


def used():
    """Return the time by the clock, and the CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return time.monotonic(), times.user + times.system + times.children_user + times.children_system


def day(folder, size):
    """Take a class all the way; return (rows of canvas.csv, expected points, seconds of each step)."""
    expected = archive_of(folder, size)
    seconds = {}
    start = used()

    def done(step):
        nonlocal start
        seconds[step] = [now - before for now, before in zip(used(), start, strict=True)]
        start = used()

    submissions, graded = folder / "submissions", folder / "graded"
    roster = ["--roster", str(folder / "roster.csv")]
    collect = ["collect", str(folder / "submissions.zip"), "--from", "canvas", *roster]
    assert cli.main([*collect, "--out", str(submissions), "--dry-run"]) == 0
    assert cli.main([*collect, "--out", str(submissions)]) == 0
    done("collect, with a dry run first")
    grade = ["grade", str(submissions), "--out", str(graded), *roster, "--export", "canvas"]
    assert cli.main(grade) == 1  # what awaits a person is blank
    done("grade, first export")
    browser = Browser(folder)
    try:
        files, num_answers = mark_all(browser, graded)
    finally:
        browser.close()
    done(f"mark {num_answers} answers by keys (no thinking)")
    assert cli.main([*grade, "--written", *map(str, files)]) == 0
    done("merge marks, export")
    assert cli.main(["feedback", str(graded), "--for", "canvas"]) == 0
    done("feedback archive")
    with open(graded / "canvas.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return rows, expected, seconds


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    with tempfile.TemporaryDirectory() as made:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(made)
        rows, _, seconds = day(folder, size)
    print(f"\n{size} students, {len(NOTEBOOKS)} notebooks each; canvas.csv has {len(rows)} rows")
    for step, (taken, cpu) in seconds.items():
        print(f"{taken:8.1f} s  {cpu:8.1f} CPU s  {step}")


if __name__ == "__main__":
    main()
