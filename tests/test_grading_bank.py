"""Answers on record, right ones and those found wrong in print, handed in as notebooks.

tests/test_questions.py puts every answer of the banks to the judges; here they take the grader's way.
"""

import json
import re

import pytest
from classroom import bank_submissions, save
from course import ROOT, WRITTEN, bank

from attn_utils.grading import batch, marking, sandbox
from attn_utils.grading.session import Limits, Zygote
from attn_utils.grading.submissions import File

MISSING = sandbox.missing_mechanisms()
BUILT = [name for name in WRITTEN if (ROOT / "notebooks" / f"{name}.ipynb").exists()]


@pytest.mark.skipif(bool(MISSING), reason=f"this machine lacks {', '.join(MISSING)}")
@pytest.mark.parametrize("name", BUILT)
def test_an_answer_found_in_print_gets_its_verdict_and_reason(name, tmp_path):
    wrong = []
    if "torch" in batch.modules_for([name]):
        pytest.importorskip("torch").set_num_threads(1)
    with Zygote(batch.modules_for([name])) as zygote:
        for number, (notebook, entries) in enumerate(bank_submissions(name, in_print)):
            path = tmp_path / str(number) / f"{name}.ipynb"
            save(path, notebook)
            file = File("someone", name, path, path.name)
            record = marking.mark(file, seed=None, zygote=zygote, limits=Limits())
            wrong += [str(entry[3]) for entry in entries if not as_expected(record, *entry)]
    assert not wrong


def in_print(entry):
    """Whether an answer is a mistake with a number such as (003-3), or one of two right ones."""
    question, _, kind, name, _ = entry
    return (
        re.search(r"\d{3}-\d+", name) or name in list(bank(question, kind))[: 2 * (kind == "RIGHT")]
    )


def as_expected(record, question, part, kind, entry, fragment):
    found = next(
        p for p in record["parts"] if (p["question"], p["kind"]) == (question.id, part.kind)
    )
    if kind == "RIGHT":
        expected = found["status"] == "correct" and found["points"] == part.points
    else:
        expected = found["status"] == "not yet" and fragment in found["message"]
    if not expected:
        print(question.id, part.kind, kind, entry, json.dumps(found)[:600], record["remarks"])
    return expected
