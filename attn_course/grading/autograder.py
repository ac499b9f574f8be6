"""What Gradescope runs for each submission: one folder in, one results.json out."""

import json
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from attn_course.grading.exports import gradescope_json
from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.gradebook import Gradebook
from attn_course.grading.record import Record
from attn_course.grading.report import save
from attn_course.grading.results import Key
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.sandbox.supervisor import (
    NotGraded,
    Supervisor,
)
from attn_course.grading.sandbox.tiers import NoSandbox, best_tier
from attn_course.grading.submissions import File, files_of

STUDENT = "you"
UNBOXED = "This machine has no sandbox: the submission was run unprotected."


@dataclass(frozen=True)
class Graded:
    """The records of one submission, as a gradebook asks for them."""

    records: dict[Key, Record]

    def get(self, key: Key) -> Record:
        """Return the record of a file."""
        return self.records[key]


def run(base: Path, notebooks: list[str]) -> dict:
    """Grade base/submission, write base/results/results.json and return what is in it."""
    files = files_of(STUDENT, base / "submission", notebooks)
    settings = Settings(
        seed=secrets.randbits(128),
        limits=Limits(),
        notebooks=tuple(notebooks),
        tier=best_tier() or NoSandbox.name,
    )
    with settings.supervisor() as supervisor:
        records = {file.key: _graded(file, supervisor, settings) for file in files}
    book = Gradebook([STUDENT], notebooks, files, Graded(records))
    found = gradescope_json(book.sheet(STUDENT))
    if settings.tier == NoSandbox.name:
        found["output"] = f"{UNBOXED}\n{found['output']}"
    text = json.dumps(found, indent=1, ensure_ascii=False)
    save(base / "results" / "results.json", text)
    return found


def _graded(file: File, supervisor: Supervisor, settings: Settings) -> Record:
    try:
        return grade_one(file, supervisor, settings)
    except (NotGraded, RuntimeError) as error:
        return Record.failed(file, f"grading it failed ({error})")


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2:])
