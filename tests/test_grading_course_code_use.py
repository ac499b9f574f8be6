"""When an answer is the course's own code under the name asked for, as its text tells."""

import time

import pytest
from classroom import cell, notebook, save
from course import ROOT, WRITTEN, all_parts
from sandbox_sessions import needs_sandbox

from attn_course.grading.course_code_use import reused_objects
from attn_course.grading.grade_one import Settings, grade_one
from attn_course.grading.read_submission import Cell, read_submission
from attn_course.grading.record import State
from attn_course.grading.sandbox import tiers
from attn_course.grading.sandbox.fork_server import Limits
from attn_course.grading.submissions import File

# A title, a line for each cell, and what each answer hands over.
LAYERS = """
# assigned
from attn_utils import layers
CausalSelfAttention = layers.CausalSelfAttention
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# inherited
import attn_utils.layers as l
class CausalSelfAttention(l.CausalSelfAttention): pass
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# imported
from attn_utils.layers import CausalSelfAttention
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# imported with all
from attn_utils.layers import *
-> CausalSelfAttention: attn_utils.layers.*
-> attend: attn_utils.layers.*

# called
import attn_utils
def CausalSelfAttention(*a): return attn_utils.layers.CausalSelfAttention(*a)
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# under another name
from attn_utils.layers import CausalSelfAttention as A
B = A
CausalSelfAttention = B
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# by way of a helper
import attn_utils.layers as l
made = l.CausalSelfAttention
def make(): return made
def CausalSelfAttention(*sizes): return make()(*sizes)
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# kept in a list
import attn_utils.layers as l
kept = [None]
kept[0] = l.CausalSelfAttention
CausalSelfAttention = kept[0]
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# wrapped under its own name
from attn_utils.layers import CausalSelfAttention
CausalSelfAttention = str(CausalSelfAttention)
-> CausalSelfAttention: attn_utils.layers.CausalSelfAttention

# a class of one's own
from attn_utils.layers import *
class CausalSelfAttention: pass
-> attend: attn_utils.layers.*

# a class with other help
from attn_utils import attend
class CausalSelfAttention: forward = lambda *a: attend(*a)
-> attend: attn_utils.attend

# a class that is compared below
from attn_utils import layers
class CausalSelfAttention: pass
print(layers.CausalSelfAttention, CausalSelfAttention)

# not python
from attn_utils.layers import CausalSelfAttention(
"""
LIBRARIES = """
# sacrebleu's score
from sacrebleu import BLEU
def bleu(h, r): return BLEU().corpus_score(h, r).score
-> bleu: sacrebleu.BLEU

# sacrebleu whole
import sacrebleu as s
def bleu(h, r): return s.corpus_bleu(h, r).score
-> bleu: sacrebleu.corpus_bleu

# the course's bootstrap
from attn_course.translation import scoring
paired_bootstrap = scoring.bootstrap
-> paired_bootstrap: attn_course.translation.scoring.bootstrap

# the course's bootstrap, called
from attn_course.translation.scoring import bootstrap as b
def paired_bootstrap(*a): return b(*a)
-> paired_bootstrap: attn_course.translation.scoring.bootstrap

# the course's counts
from attn_course.translation import bleu_of_counts, scoring
def bleu(h, r): return bleu_of_counts(scoring.counts(h, r).sum(0))
-> bleu: attn_course.translation.bleu_of_counts attn_course.translation.scoring.counts

# all that another module has, below an answer of one's own
def bleu(h, r): return 0
from attn_course.translation.scoring import *
-> paired_bootstrap: attn_course.translation.scoring.*

# a tokenizer, for something else
from sacrebleu import BLEU
tokenise = BLEU().tokenizer
def bleu(h, r): return 0

# what is given
from attn_course.translation import bleu_of_counts
def paired_bootstrap(*a): return bleu_of_counts(a)
"""
CASES = [
    pytest.param(lines, asked.split(), id=title)
    for asked, text in (
        ("CausalSelfAttention attend", LAYERS),
        ("bleu paired_bootstrap", LIBRARIES),
    )
    for title, *lines in map(str.splitlines, text.strip().split("\n\n"))
]


def reused(sources, asked=("CausalSelfAttention",)):
    cells = [Cell(number, "code", source) for number, source in enumerate(sources, 1)]
    return reused_objects(cells, asked)


@pytest.mark.parametrize(("lines", "asked"), CASES)
def test_an_answer_of_the_courses_or_a_librarys_is_seen_and_one_of_ones_own_is_not(lines, asked):
    expected = {}
    for line in lines:
        if line.startswith("-> "):
            name, _, paths = line[3:].partition(": ")
            expected[name] = paths.split()
    assert reused([line for line in lines if not line.startswith("-> ")], asked) == expected


def test_thousands_of_names_that_mention_each_other_are_followed_soon():
    names = ",".join(f"a{k}" for k in range(12_000))
    sources = [f"from attn_utils.layers import {names}", f"b = ({names})", "b = (b, c)\n" * 10_000]
    start = time.process_time()
    assert reused([*sources, "CausalSelfAttention = b"]) == {}
    assert time.process_time() - start < 3.0


def test_what_is_too_deep_to_be_read_is_no_obstacle():
    assert reused(["x." + "y." * 9_999 + "z = 1"]) == {}


@pytest.mark.parametrize("name", WRITTEN)
def test_no_reference_is_the_courses_own_code(name):
    answers = [answer for part in all_parts(name) for answer in part.answers]
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
