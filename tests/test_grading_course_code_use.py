"""When an answer is the course's own code under the name asked for, as its text tells."""

import time

import pytest
from classroom import cell, notebook, save
from course import ROOT, WRITTEN
from sandbox_sessions import needs_sandbox

from attn_course import register
from attn_course.grading.course_code_use import reused_objects
from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.read_submission import Cell, read_submission
from attn_course.grading.record import State
from attn_course.grading.sandbox import tiers
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.submissions import File

LAYER = "attn_utils.layers.CausalSelfAttention"
REUSED = {
    "assigned": (
        ["from attn_utils import layers", "CausalSelfAttention = layers.CausalSelfAttention"],
        LAYER,
    ),
    "inherited": (
        [
            "import attn_utils.layers as l",
            "class CausalSelfAttention(l.CausalSelfAttention):\n    pass",
        ],
        LAYER,
    ),
    "imported": (["from attn_utils.layers import CausalSelfAttention"], LAYER),
    "imported with all": (["from attn_utils.layers import *"], "attn_utils.layers.*"),
    "called": (
        [
            "import attn_utils",
            "def CausalSelfAttention(*a):\n    return attn_utils.layers.CausalSelfAttention(*a)",
        ],
        LAYER,
    ),
    "under another name": (
        [
            "from attn_utils.layers import CausalSelfAttention as A",
            "B = A",
            "CausalSelfAttention = B",
        ],
        LAYER,
    ),
    "by way of a helper": (
        [
            "import attn_utils.layers as l",
            "made = l.CausalSelfAttention",
            "def make():\n    return made",
            "def CausalSelfAttention(*sizes):\n    return make()(*sizes)",
        ],
        LAYER,
    ),
    "kept in a list": (
        [
            "import attn_utils.layers as l",
            "kept = [None]",
            "kept[0] = l.CausalSelfAttention",
            "CausalSelfAttention = kept[0]",
        ],
        LAYER,
    ),
    "wrapped under its own name": (
        [
            "from attn_utils.layers import CausalSelfAttention",
            "CausalSelfAttention = str(CausalSelfAttention)",
        ],
        LAYER,
    ),
}
LIBRARIES = {
    "sacrebleu's score": (
        [
            "from sacrebleu import BLEU",
            "def bleu(h, r):\n    return BLEU().corpus_score(h, r).score",
        ],
        {"bleu": ["sacrebleu.BLEU"]},
    ),
    "sacrebleu whole": (
        ["import sacrebleu as s", "def bleu(h, r):\n    return s.corpus_bleu(h, r).score"],
        {"bleu": ["sacrebleu.corpus_bleu"]},
    ),
    "the course's bootstrap": (
        ["from attn_course.translation import scoring", "paired_bootstrap = scoring.bootstrap"],
        {"paired_bootstrap": ["attn_course.translation.scoring.bootstrap"]},
    ),
    "the course's bootstrap, called": (
        [
            "from attn_course.translation.scoring import bootstrap as b",
            "def paired_bootstrap(*a):\n    return b(*a)",
        ],
        {"paired_bootstrap": ["attn_course.translation.scoring.bootstrap"]},
    ),
    "the course's counts": (
        [
            "from attn_course.translation import bleu_of_counts, scoring",
            "def bleu(h, r):\n    return bleu_of_counts(scoring.counts(h, r).sum(0))",
        ],
        {
            "bleu": [
                "attn_course.translation.bleu_of_counts",
                "attn_course.translation.scoring.counts",
            ]
        },
    ),
    "all that another module has, below an answer of one's own": (
        ["def bleu(h, r):\n    return 0", "from attn_course.translation.scoring import *"],
        {"paired_bootstrap": ["attn_course.translation.scoring.*"]},
    ),
    "a tokenizer, for something else": (
        [
            "from sacrebleu import BLEU",
            "tokenise = BLEU().tokenizer",
            "def bleu(h, r):\n    return 0",
        ],
        {},
    ),
    "what is given": (
        [
            "from attn_course.translation import bleu_of_counts",
            "def paired_bootstrap(*a):\n    return bleu_of_counts(a)",
        ],
        {},
    ),
}
OWN = {
    "a class": ["from attn_utils.layers import *", "class CausalSelfAttention:\n    pass"],
    "with other help": [
        "from attn_utils import attend",
        "class CausalSelfAttention:\n    forward = lambda *a: attend(*a)",
    ],
    "compared below": [
        "from attn_utils import layers\nclass CausalSelfAttention:\n    pass",
        "print(layers.CausalSelfAttention, CausalSelfAttention)",
    ],
    "not python": [
        "from attn_utils.layers import CausalSelfAttention(",
        "x." + "y." * 9_999 + "z = 1",
    ],
}


def found(sources):
    cells = [Cell(number, "code", source) for number, source in enumerate(sources, 1)]
    return reused_objects(cells, ["CausalSelfAttention", "attend"]).get("CausalSelfAttention", [])


@pytest.mark.parametrize("name", REUSED)
def test_an_answer_that_is_the_courses_own_is_seen(name):
    sources, path = REUSED[name]
    assert found(sources) == [path]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_librarys_own_answer_is_seen_and_its_other_help_is_not(name):
    sources, expected = LIBRARIES[name]
    cells = [Cell(number, "code", source) for number, source in enumerate(sources, 1)]
    assert reused_objects(cells, ["bleu", "paired_bootstrap"]) == expected


def test_thousands_of_names_that_mention_each_other_are_followed_soon():
    names = ",".join(f"a{k}" for k in range(12_000))
    sources = [f"from attn_utils.layers import {names}", f"b = ({names})", "b = (b, c)\n" * 10_000]
    start = time.process_time()
    assert found([*sources, "CausalSelfAttention = b"]) == []
    assert time.process_time() - start < 3.0


@pytest.mark.parametrize("name", OWN)
def test_an_answer_of_ones_own_is_not_taken_for_the_courses(name):
    assert found(OWN[name]) == []


@pytest.mark.parametrize("name", WRITTEN)
def test_no_reference_is_the_courses_own_code(name):
    answers = [
        a
        for question in register.questions_of(name)
        for part in question.parts
        for a in part.answers
    ]
    assert reused_objects(read_submission(ROOT / "solutions" / f"{name}.py").cells, answers) == {}


@needs_sandbox
def test_a_grader_is_told_of_an_answer_that_a_library_gave(tmp_path):
    found = notebook("10_bleu_comparison")
    source = """
def bleu(hypotheses, references):
    scorer = BLEU(tokenize="none", smooth_method="none", force=True)
    texts = [[" ".join(words) for words in side] for side in (hypotheses, references)]
    return scorer.corpus_score(texts[0], [texts[1]]).score
"""
    cell(found, "q10-1-code")["source"] = source
    path = tmp_path / "10_bleu_comparison.ipynb"
    save(path, found)
    settings = Settings(None, Limits(), (path.stem,), tiers.best_tier())
    with settings.supervisor() as supervisor:
        record = grade_one(File("ann", path.stem, path, path.name), supervisor, settings)
    assert record.parts[0].status == State.CORRECT
    assert "10.1: the answer hands over sacrebleu.BLEU." in record.remarks
