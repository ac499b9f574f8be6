"""What Gradescope runs for each submission: one folder in, one results.json out."""

import sys
from pathlib import Path

from attn_course.atomic_file import write_atomically
from attn_grader.exports import gradescope_json
from attn_grader.grade import Settings
from attn_grader.gradebook import Gradebook
from attn_grader.sandbox import Limits
from attn_grader.sandbox.policy import best_tier, missing_mechanisms
from attn_grader.submissions import files_of
from attn_grader.workers import Worker, grade_file

STUDENT = "you"
REFUSAL = (
    "Nothing was graded: this container lacks {lacking}, and without a sandbox a submission could "
    "write its own results. Instructors: download the submissions and run `attn grade` on a Linux "
    "machine that has a sandbox."
)


def run(base: Path, notebooks: list[str]) -> None:
    """Grade base/submission and write base/results/results.json.

    Inputs are drawn from the seed of the archive and the bytes of each file, as `attn grade` does: the
    same file gets the same points however often it is run.
    Where there is no sandbox, end with a sentence and without results, which Gradescope reports as a
    failure of the autograder, not as zero points.
    """
    tier = best_tier()
    if not tier:
        sys.exit(REFUSAL.format(lacking=", ".join(missing_mechanisms())))
    files = files_of(STUDENT, base / "submission", notebooks)
    seed = int((base / "source" / "seed").read_text("ascii"), 16)
    worker = Worker(Settings(Limits(), tuple(notebooks), tier))
    records = {file.key: grade_file(file, worker, seed) for file in files}
    worker.close()
    book = Gradebook([STUDENT], notebooks, files, records.__getitem__)
    write_atomically(base / "results" / "results.json", gradescope_json(book.sheet(STUDENT)))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
