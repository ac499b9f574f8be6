"""The references, the stubs, and the documents the course grew from, handed in to the grader.

tests/test_questions.py puts every answer of the banks to the judges; here some take the grader's way.
"""

import pytest
from classroom import bank_submissions, save
from course import ROOT, WRITTEN, bank
from sandbox_sessions import needs_sandbox

from attn_course.verdict import State
from attn_grader.grade import Settings
from attn_grader.sandbox import Limits, policy
from attn_grader.submissions import File
from attn_grader.workers import Worker, grade_file

BUILT = [name for name in WRITTEN if (ROOT / "notebooks" / f"{name}.ipynb").exists()]


@pytest.fixture(scope="module")
def verdicts():
    """A function that marks a file: (question, kind) -> what the record says."""
    worker = Worker(Settings(Limits(), tuple(BUILT), policy.best_tier()))

    def verdicts(path):
        record = grade_file(File("someone", path.stem, path, path.name), worker, None)
        verdicts.remarks = record.remarks
        return {(part.question, part.kind): part for part in record.parts}

    yield verdicts
    worker.close()


@needs_sandbox
@pytest.mark.parametrize("name", BUILT)
def test_the_reference_earns_every_point_that_a_machine_gives_and_the_stub_none(verdicts, name):
    reference = verdicts(ROOT / "solutions" / f"{name}.ipynb").values()
    assert {part.status for part in reference} <= {"correct", State.WAITING}
    assert not [remark for remark in verdicts.remarks if "the answer may be" in remark]
    untouched = verdicts(ROOT / "notebooks" / f"{name}.ipynb").values()
    assert {part.status for part in untouched} == {"not attempted"}


# What each solved document has right, by the names these answers have in the banks. What it has wrong is
# in the banks under its number: "ratio (000-1)".
RIGHT_IN_PRINT = {
    "000": {
        ("1.3", "softmax above .99"),
        ("2.2", "the sum, high"),
        ("3.1", "the sum, high"),
        ("3.4", "jumps, the sum"),
        ("4.1", "one head each"),
        ("4.2", "one head each"),
        ("5.3", "look up by address"),
    },
    "001": set(),  # a handout: questions without answers, some with a slip
    "002": {
        ("1.1", "log-sum-exp"),
        ("2.1", "sum of outer products"),
        ("2.2", "the sum, high"),
        ("2.3", "shortest"),
        ("2.4", "softmax itself"),
        ("3.1", "the sum, high"),
        ("4.1", "equal queries (002-7)"),
    },
    "003": {
        ("1.3", "sum of exponentials"),
        ("2.2", "the sum, high"),
        ("4.4", "one head each"),
    },
    "004": {
        ("2.2", "the sum, high"),
        ("3.1", "the sum, high"),
        ("4.1", "one head each"),
        ("4.2", "one head each"),
        ("6.2", "bmm"),
        ("6.4", "boolean, True = may look"),
        ("6.6", "in steps"),
    },
}


def said_by(document):
    """Whether an answer of a bank is the document's own."""

    def said(entry):
        question, _, kind, name, _ = entry
        right = (question.id, name) in RIGHT_IN_PRINT[document]
        return right if kind == "RIGHT" else f"({document}-" in name or f" {document}-" in name

    return said


@needs_sandbox
@pytest.mark.parametrize("document", RIGHT_IN_PRINT)
def test_a_document_handed_in_gets_points_where_it_is_right_and_reasons_where_not(
    verdicts, document, tmp_path
):
    seen = set()
    for name in BUILT:
        seen |= hand_in(verdicts, name, said_by(document), tmp_path)
    assert RIGHT_IN_PRINT[document] <= seen and len(seen) > len(RIGHT_IN_PRINT[document])


@needs_sandbox
@pytest.mark.parametrize("name", BUILT)
def test_right_answers_of_another_form_earn_the_same_points(verdicts, name, tmp_path):
    assert hand_in(verdicts, name, is_another_form, tmp_path)


def is_another_form(entry):
    """Whether an answer is the first right one on record besides the reference."""
    question, _, kind, name, _ = entry
    return kind == "RIGHT" and name == next(iter(bank(question, "RIGHT")))


def hand_in(verdicts, name, wanted, folder):
    """Grade the wanted answers of a notebook's bank; return those that were tried."""
    tried = set()
    for number, (notebook, entries) in enumerate(bank_submissions(name, wanted)):
        path = folder / f"{name} {number}" / f"{name}.ipynb"
        save(path, notebook)
        found = verdicts(path)
        assert [entry[:4] for entry in entries if not as_expected(found, *entry)] == [], found
        tried |= {(question.id, entry) for question, _, _, entry, _ in entries}
    return tried


def as_expected(found, question, part, kind, name, fragment):
    verdict = found[question.id, part.kind]
    if kind == "RIGHT":
        return verdict.status == "correct" and verdict.points == part.points
    return verdict.status == "not yet" and fragment in verdict.message
