"""What Gradescope runs for each submission: one folder in, one results.json out."""

import sys
from pathlib import Path

from attn_course.grading.exports import gradescope_json
from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.report import save
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.tiers import best_tier, missing_mechanisms
from attn_course.grading.submissions import files_of

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
    settings = Settings(
        seed=int((base / "source" / "seed").read_text("ascii"), 16),
        limits=Limits(),
        notebooks=tuple(notebooks),
        tier=tier,
    )
    with settings.supervisor() as supervisor:
        records = {file.key: grade_one(file, supervisor, settings) for file in files}
    book = Gradebook([STUDENT], notebooks, files, records.__getitem__)
    save(base / "results" / "results.json", gradescope_json(book.sheet(STUDENT)))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
