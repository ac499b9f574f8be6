"""When an answer is the course's own code under the name asked for, as its text tells."""

import pytest
from course import ROOT, WRITTEN

from attn_course import register
from attn_course.grading.borrowing import borrowed
from attn_course.grading.reading import Cell, read_submission

LAYER = "attn_utils.layers.CausalSelfAttention"
LENT = {
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
    "imported with all": (["from attn_utils.layers import *"], LAYER),
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
    "out of a judge by way of a helper": (
        [
            "from attn_course.questions.copying import something",
            "def make():\n    return something",
            "made = make()",
            "def CausalSelfAttention():\n    return made",
        ],
        "attn_course.questions.copying.something",
    ),
    "out of a judge": (
        [
            "from attn_course.questions.copying import something",
            "CausalSelfAttention = something",
        ],
        "attn_course.questions.copying.something",
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
    return borrowed(cells, ["CausalSelfAttention", "attend"]).get("CausalSelfAttention", [])


@pytest.mark.parametrize("name", LENT)
def test_an_answer_that_is_the_courses_own_is_seen(name):
    sources, path = LENT[name]
    assert found(sources) == [path]


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
    assert borrowed(read_submission(ROOT / "solutions" / f"{name}.py").cells, answers) == {}
