"""The references, the stubs, and answers found wrong in print, handed in for every notebook.

tests/test_questions.py puts every answer of the banks to the judges; here some take the grader's way.
"""

import re

import pytest
from classroom import bank_submissions, save
from course import ROOT, WRITTEN, bank

from attn_utils.grading import batch, marking, sandbox
from attn_utils.grading.session import Limits, Zygote
from attn_utils.grading.submissions import File

MISSING = sandbox.missing_mechanisms()
needs_sandbox = pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")
BUILT = [name for name in WRITTEN if (ROOT / "notebooks" / f"{name}.ipynb").exists()]


@pytest.fixture(scope="module")
def verdicts():
    """A function that marks a file: (question, kind) -> what the record says."""
    modules = batch.modules_for(BUILT)
    batch.warm_up(modules)
    with Zygote(modules) as zygote:

        def verdicts(path):
            file = File("someone", path.stem, path, path.name)
            record = marking.mark(file, seed=None, zygote=zygote, limits=Limits())
            return {(part["question"], part["kind"]): part for part in record["parts"]}

        yield verdicts


@needs_sandbox
@pytest.mark.parametrize("name", BUILT)
def test_the_reference_earns_every_point_that_a_machine_gives_and_the_stub_none(verdicts, name):
    reference = verdicts(ROOT / "solutions" / f"{name}.ipynb").values()
    assert {part["status"] for part in reference} <= {"correct", marking.WAITING}
    untouched = verdicts(ROOT / "notebooks" / f"{name}.ipynb").values()
    assert {part["status"] for part in untouched} == {"not attempted"}


@needs_sandbox
@pytest.mark.parametrize("name", BUILT)
def test_answers_found_in_print_get_their_verdicts_and_reasons(verdicts, name, tmp_path):
    for number, (notebook, entries) in enumerate(bank_submissions(name, in_print)):
        path = tmp_path / str(number) / f"{name}.ipynb"
        save(path, notebook)
        found = verdicts(path)
        assert [entry[:4] for entry in entries if not as_expected(found, *entry)] == [], found


def in_print(entry):
    """Whether an answer is a mistake with a number such as (003-3), or one of two right ones."""
    question, _, kind, name, _ = entry
    right = list(bank(question, "RIGHT"))[:2] if kind == "RIGHT" else []
    return re.search(r"\d{3}-\d+", name) or name in right


def as_expected(found, question, part, kind, name, fragment):
    verdict = found[question.id, part.kind]
    if kind == "RIGHT":
        return verdict["status"] == "correct" and verdict["points"] == part.points
    return verdict["status"] == "not yet" and fragment in verdict["message"]
