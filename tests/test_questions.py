"""Every question: the reference and other right answers pass, known mistakes are named."""

import pickle
import re

import numpy as np
import pytest
from bank import chains
from course import JUDGED, ROOT, SOURCES, WRITTEN, answers_in, bank
from seed_stability import draw_pairs, surprises

from attn_course import check, checking, hint, register
from attn_course.answers import Answer
from attn_course.checking import listening, run_judge, within
from attn_course.markers import solution_lines

QUESTIONS = [question for name in WRITTEN for question in register.questions_of(name)]
IDS = [f"{question.id} {part.kind}" for question, part in JUDGED]


@pytest.fixture(autouse=True)
def _a_busy_machine_decides_no_verdict(monkeypatch):
    """An answer on record may take 20 times the seconds of its question."""
    monkeypatch.setattr(checking, "within", lambda seconds, work: within(20 * seconds, work))


def entries(kind):
    return [
        pytest.param(question, entry, id=f"{question.id} {name}")
        for question in dict.fromkeys(question for question, _ in JUDGED)
        for name, entry in bank(question, kind).items()
    ]


def verdict_on(question, entry):
    answers = entry if isinstance(entry, tuple) else (entry,)
    return check(question.id, *answers)


@pytest.mark.parametrize(("question", "part"), JUDGED, ids=IDS)
def test_reference_is_correct(question, part):
    space = answers_in("solutions", question.notebook)
    verdict = check(question.id, *(space[name] for name in part.answers))
    assert verdict.status == "correct", verdict
    assert verdict.points == part.points


@pytest.mark.parametrize(("question", "part"), JUDGED, ids=IDS)
def test_stub_is_not_attempted(question, part):
    space = answers_in("notebooks", question.notebook)
    verdict = check(question.id, *(space[name] for name in part.answers))
    assert verdict.status == "not attempted", verdict


class Table:
    """Learns a function's answers, then recites them and knows no other."""

    def __init__(self, function):
        self.function, self.known = function, {}

    def learn(self, *args, **kwargs):
        key = pickle.dumps((args, kwargs))  # before the call, which may change its arguments
        return self.known.setdefault(key, self.function(*args, **kwargs))

    def recite(self, *args, **kwargs):
        return self.known.get(pickle.dumps((args, kwargs)))


WITH_FUNCTIONS = [
    pytest.param(question, part, id=question.id)
    for question, part in JUDGED
    if part.kind == "code"
    and part.answers[0].islower()
    and question.id
    not in ("3.4", "6.1", "9.7", "9.8", "10.3", "12.1", "12.2", "12.6", "15.4", "15.5")
]  # three are asked for a letter, for shapes, for pairs; the others are handed a function, or have a class


@pytest.mark.parametrize(("question", "part"), WITH_FUNCTIONS)
def test_a_table_of_the_answers_that_check_asks_for_earns_nothing(question, part):
    space = answers_in("solutions", question.notebook)
    tables = [Table(space[name]) for name in part.answers]
    assert check(question.id, *(table.learn for table in tables))
    with listening() as caught:
        callers = [Answer(table.recite, caught) for table in tables]
        assert not run_judge(question, part, np.random.default_rng(7), callers)


@pytest.mark.parametrize(("question", "answers"), entries("RIGHT"))
def test_right_answers_of_other_forms_pass(question, answers):
    verdict = verdict_on(question, answers)
    assert verdict.status == "correct", verdict


@pytest.mark.parametrize(("question", "entry"), entries("WRONG"))
def test_known_mistakes_are_refused_with_their_own_sentence(question, entry):
    answers, fragment = entry
    verdict = verdict_on(question, answers)
    assert verdict.status == "not yet", verdict
    assert fragment in verdict.message, verdict
    assert "could not read" not in verdict.message, verdict


@pytest.mark.parametrize(("question", "part", "seed"), draw_pairs(12, np.random.default_rng(2)))
def test_no_verdict_depends_on_the_seed(question, part, seed):
    assert not list(surprises(question, part, seed))


@pytest.mark.parametrize(("question", "part"), JUDGED, ids=IDS)
def test_a_question_has_three_other_right_answers_and_known_mistakes(question, part):
    for kind in ("RIGHT", "WRONG"):
        place = f"tests/bank/{question.notebook[3:]}.py"
        assert len(bank(question, kind)) >= 3, f"{question.id}: add to {kind} in {place}"


@pytest.mark.parametrize("question", dict.fromkeys(q for q, _ in JUDGED), ids=lambda q: q.id)
def test_different_mistakes_get_different_fragments(question):
    fragments = [fragment for _, fragment in bank(question, "WRONG").values()]
    repeated = {f for f in fragments if fragments.count(f) > 1}
    # The numbers of one case, where nothing more is known of a mistake.
    generic = {"so the weight on key j", "and you said True", "an exponential overflowed"}
    of_chains = {said for found in chains.FALSE.values() for _, said in found.values()}
    assert not repeated - generic - of_chains


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_every_question_has_hints_that_come_one_at_a_time_and_hold_no_solution_line(question):
    secret = solution_lines((ROOT / "solutions" / f"{question.notebook}.py").read_text("utf-8"))
    place = f"attn_course/questions/{question.notebook[3:]}.py"
    assert len(question.hints) >= 2, f"{question.id}: write two hints in {place}"
    shown = [hint(question.id).lines for _ in range(len(question.hints) + 1)]
    assert [len(lines) for lines in shown[-2:]] == [len(question.hints)] * 2
    assert not any(line in text for line in secret for text in question.hints)


# The weights of the handouts, on the questions that they ask.
HANDOUTS = {
    "01_copying": (2, ("1.3", "1.4", "1.7")),
    "02_average_of_two": (4, ("2.2", "2.3")),
    "03_one_noisy_head": (5, ("3.1", "3.2", "3.4")),
    "04_two_heads": (3, ("4.1", "4.2", "4.3")),
    "05_keys_queries_values": (7, ("5.1", "5.2", "5.3")),
}
# What else the course was published with. A question that is added later gets points of its own.
ADDED = (14, "1.1 1.2 1.5 1.6 2.1 2.4 2.5 3.3 3.5 4.4 4.5 5.4 5.5".split())
LATER = {  # notebook: (points, its questions)
    "06_transformer_attention": (14.5, 8),
    "07_synthesizer": (8, 2),
    "08_pretrained_knowledge": (13, 5),
    "09_seq2seq": (12.5, 8),
    "10_translation": (6, 3),
    "11_bleu_comparison": (11, 3),
}
BONUS = {
    "12_position": 7,
    "13_fast_attention": 4,
    "14_induction": 7,
    "15_decoding": 7,
    "16_gates_and_memory": 6,
}
IN_POINTS = "see points= in attn_course/questions/"


def points_of(questions):
    return sum(register.find(question).points for question in questions)


def first_questions(notebook, count):
    return [question.id for question in register.questions_of(notebook)[:count]]


@pytest.mark.parametrize("notebook", HANDOUTS)
def test_the_questions_of_the_handouts_keep_their_weight(notebook):
    points, questions = HANDOUTS[notebook]
    assert points_of(questions) == points, f"{notebook}: {IN_POINTS}"


def test_the_questions_that_the_course_was_published_with_are_worth_100_points():
    total, questions = ADDED
    assert points_of(questions) == total, f"questions beside the handouts': {IN_POINTS}"
    for notebook, (points, count) in LATER.items():
        assert points_of(first_questions(notebook, count)) == points, f"{notebook}: {IN_POINTS}"
    for weights in (HANDOUTS, LATER):
        total += sum(points for points, _ in weights.values())
    assert total == 100


@pytest.mark.parametrize("notebook", BONUS)
def test_the_bonus_notebooks_were_published_with_ten_points_each(notebook):
    assert points_of(first_questions(notebook, BONUS[notebook])) == 10, f"{notebook}: {IN_POINTS}"


def test_a_notebook_takes_at_least_the_minutes_of_its_questions():
    for source in SOURCES:
        minutes = int(re.search(r"^# \*(\d+) min, ", source.read_text("utf-8"), re.M)[1])
        questions = register.questions_of(source.stem)
        needed = sum(question.minutes for question in questions)
        assert minutes >= needed, (
            f"solutions/{source.name}: its head line says less than {needed} min"
        )


def test_a_notebook_of_more_than_75_minutes_marks_a_pause():
    for source in SOURCES:
        text = source.read_text("utf-8")
        minutes = int(re.search(r"^# \*(\d+) min, ", text, re.M)[1])
        assert minutes <= 75 or re.search(r"\*\*(?:A good place for a pause|Pause)\.\*\*", text), (
            source.name
        )
