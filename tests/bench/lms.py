"""A class from the archive of an LMS to points and feedback in its form, marked in a browser, and timed.

`python tests/bench/lms.py [SIZE] [--lms NAME] [--photos BYTES] [--folder FOLDER]`. With --photos each
student pastes three pictures of so many bytes into a written answer of 01. FOLDER keeps what was made. A test
runs it with a few students.
"""

import argparse
import base64
import csv
import os
import random
import resource
import sys
import tempfile
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from chromium import Browser
from classroom import bank_submissions, cell, parts_of, png, save, student
from jupyter import wait_for

from attn_course import cli
from attn_grader.lms import LMS, METADATA

NOTEBOOKS = ("01_copying", "02_average_of_two")
KINDS = ("right", "wrong", "mixed", "broken")
BANK_EVERY = 3  # students; each such one hands in mistakes that the judges know by name
NUM_PHOTOS = 3
MEGABYTE = 1 << 20


def archive_of(folder, size, lms="canvas", photo=0):
    """Write a class as an LMS packs it, and its roster; return {student: points of the machine}."""
    rng = random.Random(0)
    expected = {}
    mistaken = {name: [pack for pack, _ in bank_submissions(name, _is_wrong)] for name in NOTEBOOKS}
    people = ["student;name;email;id;lms_id"]
    submissions = []  # of Gradescope's list
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
                _in_own_words(made, name, number)
                if photo and name == NOTEBOOKS[0]:
                    _paste_photos(made, photo, rng)
                save(folder / "made.ipynb", made)
                late = "LATE_" if number % 10 == 9 else ""
                file = f"leeann{number}_{late}{100 + number}_{rng.randrange(10**6)}_{name}-1.ipynb"
                if lms == "moodle":
                    file = f"Ann{number} Lee_{100 + number}_assignsubmission_file/{name}.ipynb"
                if lms == "gradescope":
                    file = f"assignment_1_export/submission_{100 + number}/{name}.ipynb"
                archive.write(folder / "made.ipynb", file)
            submissions.append(
                f"submission_{100 + number}:\n  :submitters:\n  - :name: Ann{number} Lee\n"
                f"    :sid: '{9000 + number}'\n    :email: {who}@x.edu\n"
            )
        if lms == "gradescope":
            archive.writestr(f"assignment_1_export/{METADATA}", "".join(submissions))
    (folder / "roster.csv").write_text("\n".join(people) + "\n", "utf-8")
    return expected


def _is_wrong(entry):
    _, part, kind, *_ = entry
    return part.kind == "code" and kind == "WRONG"


def _in_own_words(made, name, number):
    """Make two of three written answers that of one student alone."""
    for question, part in parts_of(name):
        answer = cell(made, f"q{question.id.replace('.', '-')}-{part.kind}")
        if answer["source"] == "Because." and number % 3:
            answer["source"] = f"Because the score of key {number} leads all others."


def _paste_photos(made, photo, rng):
    answer = cell(made, "q1-7-written")
    names = [f"photo{number}.png" for number in range(NUM_PHOTOS)]
    answer["source"] = "\n\n".join(f"![page](attachment:{name})" for name in names)
    pictures = [base64.b64encode(png(20, 20, rng.randbytes(photo))).decode() for _ in names]
    answer["attachments"] = {
        name: {"image/png": picture} for name, picture in zip(names, pictures, strict=True)
    }


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


def day(folder, size, lms="canvas", photo=0):
    """Take a class all the way; return (rows of the LMS's file, expected points, seconds of each step)."""
    expected = archive_of(folder, size, lms, photo)
    seconds = {}
    start = used()

    def done(step):
        nonlocal start
        seconds[step] = [now - before for now, before in zip(used(), start, strict=True)]
        start = used()

    submissions, graded = folder / "submissions", folder / "graded"
    roster = ["--roster", str(folder / "roster.csv")]
    collect = ["collect", str(folder / "submissions.zip"), "--from", lms, *roster]
    assert cli.main([*collect, "--out", str(submissions), "--dry-run"]) == 0
    assert cli.main([*collect, "--out", str(submissions)]) == 0
    done("collect, with a dry run first")
    grade = ["grade", str(submissions), "--out", str(graded), *roster, "--export", lms]
    assert cli.main(grade) == 1  # what awaits a person is blank
    done("grade, first export")
    browser = Browser(folder)
    try:
        files, num_answers = mark_all(browser, graded)
    finally:
        browser.close()
    done(f"mark {num_answers} cards by keys (no thinking)")
    assert cli.main([*grade, "--written", *map(str, files)]) == 0
    done("merge marks, export")
    assert cli.main(["feedback", str(graded), "--for", lms]) == 0
    done("feedback archive")
    with zipfile.ZipFile(folder / "submissions.zip") as archive:
        names = [name for name in archive.namelist() if not name.endswith(METADATA)]
        handed_in = {_owner(name, lms) for name in names}
    with zipfile.ZipFile(graded / f"feedback-{lms}.zip") as archive:
        assert {_owner(name, lms) for name in archive.namelist()} == handed_in
    with open(graded / f"{lms}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return rows, expected, seconds


def _owner(name, lms):
    """Return the part of a name in an archive that says whose a file is."""
    if lms == "canvas":
        return name.split("_")[0]
    return name.split("/")[-2]  # the folder


def sizes(graded):
    """Return {what: megabytes} of what a batch leaves behind."""
    paths = {
        "the largest page": max(graded.glob("*/*.html"), key=lambda path: path.stat().st_size),
        "feedback archive": next(graded.glob("feedback-*.zip")),
        "results.jsonl": graded / "results.jsonl",
    }
    megabytes = {name: path.stat().st_size / MEGABYTE for name, path in paths.items()}
    pictures = sum(path.stat().st_size for path in graded.glob("pictures/*"))
    return megabytes | {"pictures": pictures / MEGABYTE}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("size", nargs="?", type=int, default=30)
    parser.add_argument("--lms", choices=list(LMS), default="canvas")
    parser.add_argument("--photos", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        rows, _, seconds = day(folder, options.size, options.lms, options.photos)
        megabytes = sizes(folder / "graded")
    print(
        f"\n{options.size} students, {len(NOTEBOOKS)} notebooks each; the LMS's file has {len(rows)} rows"
    )
    for step, (taken, cpu) in seconds.items():
        print(f"{taken:8.1f} s  {cpu:8.1f} CPU s  {step}")
    for name, size in megabytes.items():
        print(f"{size:8.2f} MB  {name}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:8.0f} MB  the most memory that the command used")


if __name__ == "__main__":
    main()
