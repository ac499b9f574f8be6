"""The invented world is as described, the model is causal, and training can be stopped and resumed."""

import json
from dataclasses import replace

import jupytext
import numpy as np
import pytest
import torch
from course import ROOT

from attn_course.knowledge import (
    CITIES,
    GROUPS,
    MASK,
    PAD,
    PRESETS,
    Alphabet,
    Lab,
    World,
    findings,
    tables,
    train,
)
from attn_course.knowledge.training import rate_at
from attn_course.questions import pretrained_knowledge as questions
from attn_course.runs.__main__ import RECORDINGS, main

TINY = replace(
    PRESETS["default"],
    num_people=(6, 4, 4),
    num_names=8,
    D=16,
    batch_size=8,
    pretrain_steps=12,
    finetune_steps=3,
    scratch_steps=3,
)


@pytest.fixture(scope="module")
def lab():
    torch.set_num_threads(1)
    return Lab(TINY, device=torch.device("cpu"))


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def test_the_marks_are_those_the_judges_know():
    assert (questions.MASK, questions.PAD) == (MASK, PAD)


@pytest.mark.parametrize("seed", range(4))
def test_strangers_are_in_no_text_and_every_word_of_their_names_is(seed):
    world = World(seed=seed)
    text = " ".join(world.text)
    words = set(text.split())
    for person in world.group("strangers"):
        assert person.name not in text and {person.first, person.family} <= words
    for person in world.group("told") + world.group("held"):
        assert sum(person.name in t and person.city in t for t in world.text) == 4


def test_no_two_people_share_a_name():
    names = [person.name for person in World().people]
    assert len(set(names)) == len(names) == 150


@pytest.mark.parametrize("group", GROUPS)
def test_the_first_city_is_the_most_common_in_every_group(group):
    cities = [person.city for person in World(seed=5).group(group)]
    counts = [cities.count(city) for city in CITIES]
    assert counts[0] == 7 and max(counts[1:]) == 5 and min(counts) == 4


def test_a_world_is_decided_by_its_seed():
    assert World(seed=3).people == World(seed=3).people != World(seed=4).people


def test_an_unknown_group_and_too_few_names_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="there is no group 'dev'"):
        World().group("dev")
    with pytest.raises(ValueError, match="strangers, not 2000"):
        World(num_people=(5, 5, 2000))


@pytest.mark.parametrize("level", ["word", "character"])
def test_spelling_and_reading_are_inverse(level):
    text = "Where was Mina Zellorn born ?"
    alphabet = Alphabet([text], level=level)
    spelt = alphabet.spell(text)
    assert len(spelt) == (6 if level == "word" else len(text))
    assert alphabet.read(alphabet.string(alphabet.numbers([spelt])[0])) == text
    assert alphabet.numbers([PAD + MASK]).tolist() == [[0, 1]]


def test_a_word_outside_the_alphabet_and_an_unknown_level_are_named():
    with pytest.raises(ValueError, match="'Paris' is not in the alphabet"):
        Alphabet(["Wynd"], level="word").spell("Paris")
    with pytest.raises(ValueError, match="'letter'"):
        Alphabet([], level="letter")


@pytest.mark.parametrize("attention", ["causal", "synthesizer"])
def test_a_prediction_does_not_depend_on_later_symbols(attention):
    lab = Lab(replace(TINY, attention=attention), device=torch.device("cpu"))
    model = lab.model().eval()
    x = torch.randint(len(lab.alphabet), (2, 10), generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, 6:] = 1
    assert torch.equal(model(x)[:, :6], model(changed)[:, :6])
    assert not torch.equal(model(x)[:, 6:], model(changed)[:, 6:])


def test_what_is_longer_than_the_block_is_refused_with_both_lengths(lab):
    with pytest.raises(ValueError, match=r"\(1, 17\) is longer than the block of 16"):
        lab.model()(torch.zeros(1, 17, dtype=torch.long))
    with pytest.raises(ValueError, match="'recurrent'"):
        Lab(replace(TINY, attention="recurrent")).model()


def test_held_people_and_strangers_are_never_in_a_fine_tuning_batch(lab):
    told = {lab.alphabet.read(question) for question, _ in lab.told}
    assert told == {person.question for person in lab.world.group("told")}


def test_training_lowers_the_loss(lab):
    losses = lab.pretrain(lab.model())
    assert len(losses) == 12 and losses[-1] < losses[0] - 0.1


def test_fine_tuning_leaves_the_pretrained_model_as_it_was(lab):
    model = lab.model()
    before = weights(model)
    tuned = lab.finetune(model)
    assert torch.equal(weights(model), before) and not torch.equal(weights(tuned), before)


def test_no_loss_is_taken_where_the_target_is_padding(lab):
    model = lab.model()
    x = np.array([[2, 3, 4, 5]])
    half = train(model, lambda step: (x, np.array([[3, 4, 0, 0]])), steps=1, rate=0.0)
    other = train(
        model, lambda step: (x * [1, 1, 0, 0], np.array([[3, 4, 0, 0]])), steps=1, rate=0.0
    )
    assert half == pytest.approx(other)


class Interrupted:
    """Batches of a lab's pretraining that press Ctrl-C before step `at`."""

    def __init__(self, lab, at):
        self.lab, self.at = lab, at

    def __call__(self, step):
        if step == self.at:
            raise KeyboardInterrupt
        return self.lab.pretraining_batch(step)


def test_an_interrupted_recording_writes_nothing_and_carries_on_when_run_again(
    tmp_path, monkeypatch, capsys
):
    preset = TINY
    monkeypatch.setitem(
        RECORDINGS,
        "knowledge",
        lambda options: findings.record(
            preset, (3,), folder=options.folder, watch_forgetting=False, device="cpu"
        ),
    )
    file = tmp_path / "run.json"
    calls = []
    batch = Lab.pretraining_batch

    def impatient(lab, step):
        calls.append(step)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return batch(lab, step)

    monkeypatch.setattr(Lab, "pretraining_batch", impatient)
    arguments = ["knowledge", "--folder", str(tmp_path), "--out", str(file)]
    assert main(arguments) == 130 and not file.exists()
    assert "stopped after 5 of 12 steps" in capsys.readouterr().err
    preset = replace(TINY, pretrain_steps=6)
    assert main(arguments) == 2 and "other settings" in capsys.readouterr().err
    preset = TINY
    main(arguments)
    found = json.loads(file.read_text("utf-8"))
    assert found["command"] == "python -m attn_course.runs knowledge --folder DIR --out DIR"
    assert found["preset"]["D"] == 16 and (tmp_path / "causal-3.pt").exists()
    (run,) = found["runs"]
    assert run["seed"] == 3 and len(run["pretrained"]["held"]) == len(run["swapped"]) == 4
    straight = tmp_path / "straight.json"
    main(["knowledge", "--out", str(straight)])
    (whole,) = json.loads(straight.read_text("utf-8"))["runs"]
    assert {**run, "cpu_seconds": 0} == {**whole, "cpu_seconds": 0}


@pytest.mark.parametrize("option", [["--threads", "0"], ["--threads", "x"], ["--seeds", "1"]])
def test_a_bad_option_of_the_recorder_gets_one_sentence(option, capsys):
    assert main(["knowledge", *option]) == 2
    (sentence,) = capsys.readouterr().err.splitlines()
    assert option[0] in sentence


def test_forgetting_is_watched_from_before_the_first_step(lab):
    found = findings.forgetting(lab, lab.model(), "gentle")
    usual = lab.preset.finetune_steps
    assert found["steps"][0] == 0 and found["steps"][-1] == 10 * usual
    assert usual in found["steps"]
    assert len(found["told"]) == len(found["held"]) == len(found["steps"])


def test_ctrl_c_keeps_what_was_trained(lab):
    stopped, whole = lab.model(), lab.model()
    with pytest.warns(UserWarning, match="training was stopped after 5 of 12 steps"):
        losses = train(stopped, Interrupted(lab, 5), steps=12, rate=1e-2)
    assert len(losses) == 5
    assert losses == train(whole, Interrupted(lab, None), steps=12, rate=1e-2)[:5]
    assert not torch.equal(weights(stopped), weights(lab.model()))


@pytest.mark.filterwarnings("ignore:training was stopped")
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(dropout, tmp_path):
    lab = Lab(replace(TINY, dropout=dropout), device="cpu")
    options = {"steps": 12, "rate": 1e-2}
    whole = lab.model()
    expected = train(whole, Interrupted(lab, None), **options)
    for at in (5, 9, None):
        resumed = lab.model()  # a new process starts from nothing but the file
        losses = train(resumed, Interrupted(lab, at), checkpoint=tmp_path / "run.pt", **options)
    assert losses == expected and torch.equal(weights(resumed), weights(whole))


def test_the_rate_warms_up_and_falls_to_a_tenth():
    rates = [rate_at(step, 100, 1.0) for step in range(100)]
    assert rates[0] == pytest.approx(0.2) and max(rates) == pytest.approx(rates[4])
    assert rates[-1] == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("level", ["word", "character"])
def test_a_model_taught_one_answer_gives_it_and_is_sure(level):
    block = 16 if level == "word" else 48
    lab = Lab(replace(TINY, level=level, block_size=block), device=torch.device("cpu"))
    lab.told = [(question, lab.alphabet.spell("Wynd")) for question, _ in lab.told]
    model = lab.finetune(lab.model(), steps=60, rate=1e-2)
    replies = lab.ask(model, [person.question for person in lab.world.people])
    assert {reply.text for reply in replies} == {"Wynd"}
    assert all(0.5 < reply.confidence <= 1 for reply in replies)


def test_confidence_is_the_probability_of_the_whole_answer(lab):
    model = lab.finetune(lab.model(), steps=30, rate=1e-2)
    question = lab.world.people[0].question
    (reply,) = lab.ask(model, [question])
    whole = lab.alphabet.spell(question) + MASK + lab.alphabet.spell(reply.text) + MASK
    x = torch.tensor(lab.alphabet.numbers([whole]))
    chances = model(x).softmax(-1)[0, torch.arange(x.shape[1] - 1), x[0, 1:]]
    assert reply.confidence == pytest.approx(chances[6 + 1 - 1 :].prod().item(), rel=1e-4)


def test_answers_do_not_depend_on_who_else_is_asked(lab):
    model = lab.finetune(lab.model(), steps=20, rate=1e-2)
    questions = [person.question for person in lab.world.people]
    alone = [lab.ask(model, [question])[0].text for question in questions]
    assert alone == [reply.text for reply in lab.ask(model, questions)]


def test_a_strangers_namesakes_are_known_people_with_one_of_the_names():
    world = World()
    known = world.group("told") + world.group("held")
    for person, cities in zip(
        world.group("strangers"), findings.cities_of_namesakes(world), strict=True
    ):
        shared = [k for k in known if k.first == person.first or k.family == person.family]
        assert cities == {k.city for k in shared}


def test_the_table_of_models_scores_every_group_by_the_function_given(lab):
    asked = []

    def score(answers, truths):
        asked.append((tuple(answers), tuple(truths)))
        return 0.5, 0.25, 0.75

    lines = tables.of_models(lab, {"mine": lab.model()}, score).splitlines()
    assert [line.split()[:2] for line in lines[::2]] == [[group, "majority"] for group in GROUPS]
    assert [line.split()[1] for line in lines[1::2]] == ["mine"] * 3
    assert all(line.endswith("50%   (25% to 75%)") for line in lines)
    truths = tuple(person.city for person in lab.world.group("held"))
    assert asked[2] == ((findings.majority(lab.world),) * len(truths), truths)


def test_calibration_is_the_share_right_at_each_level_and_nothing_where_answers_are_few():
    sure = [findings.Recall("Wynd", "Wynd", 0.9)] * 6 + [findings.Recall("Wynd", "Orvane", 0.9)] * 2
    unsure = [findings.Recall("Wynd", "Orvane", 0.1)] * 5
    few = [findings.Recall("Wynd", "Wynd", 0.5)] * 4
    levels, shares = tables.calibration(sure + unsure + few)
    np.testing.assert_allclose(levels, [0.1, 0.3, 0.5, 0.7, 0.9])
    np.testing.assert_array_equal(shares, [0, np.nan, np.nan, np.nan, 0.75])


def test_the_seeds_of_a_recorded_run_have_a_line_for_each_model():
    runs = findings.recorded("knowledge")["runs"]
    lines = tables.of_seeds(runs).splitlines()
    assert len(lines) == 2 * len(runs)
    share, _, _ = findings.score_of(runs[0]["pretrained"]["held"])
    assert f"held {share:4.0%}" in lines[1]


def test_namesakes_of_a_recorded_run_are_named_far_more_often_than_by_chance():
    for run in findings.recorded("knowledge")["runs"]:
        share, chance = tables.namesakes(run, num_deals=20)
        assert share > chance + 0.3


def test_every_answer_about_a_stranger_is_a_city_or_is_listed():
    runs = findings.recorded("knowledge")["runs"]
    strangers = findings.pooled(runs, "pretrained", "strangers")
    num_cities = sum(recall.answer in CITIES for recall in strangers)
    assert num_cities + len(tables.no_cities(runs)) == len(strangers)


@pytest.mark.parametrize("wrong", ["return 0.0", "return None", "return 'x', 'y'"])
def test_notebook_08_full_of_wrong_answers_runs_to_the_end(wrong, monkeypatch, capsys):
    short = {"pretrain_steps": 2, "finetune_steps": 1, "scratch_steps": 1}
    monkeypatch.setitem(PRESETS, "default", replace(PRESETS["default"], **short))
    space = {"__name__": "__main__"}
    for cell in jupytext.read(
        ROOT / "notebooks/08_pretrained_knowledge.py", fmt="py:percent"
    ).cells:
        if cell.cell_type == "code":
            source = cell.source.replace('raise NotImplementedError("your answer here")', wrong)
            exec(compile(source, "<cell>", "exec"), space)


RECORDED = sorted((ROOT / "attn_course" / "runs").glob("knowledge*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded_runs_are_of_the_world_as_it_is_now(path):
    found = json.loads(path.read_text("utf-8"))
    people = tuple(found["preset"]["num_people"])
    for run in found["runs"]:
        world = World(seed=run["seed"], num_people=people, num_names=found["preset"]["num_names"])
        for group in GROUPS:
            cities = [truth for truth, *_ in run["pretrained"][group]]
            assert cities == [person.city for person in world.group(group)]
