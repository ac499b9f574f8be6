"""Training: it learns, stops, and survives a kill."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from attn_course.errors import UserError
from attn_course.training.trainer import Stopped
from attn_course.translation.config import Config
from attn_course.translation.corpora import embedded
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer, rate_at
from attn_course.translation.vocabulary import BOS, Vocabulary, encode_corpus
from attn_utils.layers import MeanAttention

torch.set_num_threads(1)  # a run and its twin in another process must add in the same order
CONFIG = Config(
    vocabulary=150,
    embedding=16,
    width=16,
    batch_tokens=150,
    tokens=2000,
    warmup=3,
    rate=1e-2,
    dropout=0.2,
)
CORPUS = embedded(num_train=40, num_val=2, num_test=3)


def train(folder, config=CONFIG, **options):
    trainer = Trainer(CORPUS, config, folder, device="cpu", progress=False, **options)
    trainer.fit()
    return trainer


def test_the_loss_falls(tmp_path):
    losses = train(tmp_path, replace(CONFIG, tokens=5000, dropout=0.0)).losses
    assert sum(losses[-3:]) < 0.9 * sum(losses[:3])


def test_the_rate_rises_stays_and_falls_to_zero():
    config = Config(rate=1.0, warmup=10, cooldown=0.4)
    steps = [(5, 0.1), (10, 0.2), (50, 0.6), (80, 0.8), (100, 1.0)]
    assert [rate_at(*at, config) for at in steps] == pytest.approx([0.5, 1, 1, 0.5, 0])


def test_the_same_seed_gives_the_same_losses_and_another_seed_others(tmp_path):
    one, same = (train(tmp_path / name).losses for name in ("one", "same"))
    other = train(tmp_path / "other", replace(CONFIG, seed=2)).losses
    assert one == same and one[:5] != other[:5]


def test_a_run_stops_when_nothing_improves_keeps_the_best_model_and_says_why(
    tmp_path, monkeypatch, capsys
):
    scores, weights = iter([1.0, 3.0, 2.0, 2.0, 2.0]), []

    def validate(trainer):
        weights.append({name: value.clone() for name, value in trainer.model.state_dict().items()})
        return {"bleu": next(scores), "perplexity": 1.0}

    monkeypatch.setattr(Trainer, "validate", validate)
    config = replace(CONFIG, patience=2, tokens=100_000)
    trainer = Trainer(CORPUS, config, tmp_path, device="cpu")
    trainer.fit()
    sentence = capsys.readouterr().err.strip().splitlines()[-1]
    assert "has not risen for 2 epochs" in sentence and "3.00 in epoch 2, is kept." in sentence
    assert [row["bleu"] for row in trainer.metrics] == [1.0, 3.0, 2.0, 2.0]
    best = Run.load(tmp_path, device="cpu").model.state_dict()
    assert all(torch.equal(best[name], weights[1][name]) for name in best)


def start(folder, body, *args):
    """A process that runs `body` with this module's `train` at hand."""
    script = folder / "script.py"
    here = os.path.dirname(__file__)
    script.write_text(f"import sys; sys.path.insert(0, {here!r})\nfrom {__name__} import *\n{body}")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, script, *args]
    return subprocess.Popen(list(map(str, command)), env=environment)


def test_a_killed_run_goes_on_with_the_same_losses(tmp_path):
    straight = train(tmp_path / "straight")
    process = start(tmp_path, "train(sys.argv[1], save_every=2)", tmp_path / "killed")
    while not (tmp_path / "killed" / "last.pt").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    saved = torch.load(tmp_path / "killed" / "last.pt", weights_only=True)
    assert 0 < len(saved["losses"]) < len(straight.losses)
    resumed = train(tmp_path / "killed")
    assert resumed.losses == straight.losses
    keep = ("epoch", "tokens", "loss", "bleu", "perplexity")
    rows = [[[row[key] for key in keep] for row in run.metrics] for run in (straight, resumed)]
    assert rows[0] == rows[1]
    ours = resumed.model.state_dict()
    for name, weights in straight.model.state_dict().items():
        assert torch.equal(weights, ours[name])


def test_ctrl_c_is_heard_between_two_steps_and_nothing_is_lost(tmp_path, monkeypatch):
    straight = train(tmp_path / "straight")
    take = Trainer.take

    def pressed(trainer, step):
        if trainer.num_steps == 4:
            os.kill(os.getpid(), signal.SIGINT)
        take(trainer, step)

    monkeypatch.setattr(Trainer, "take", pressed)
    with pytest.raises(Stopped, match=r"stopped after \d+ of 2,000 subwords; all of it is kept"):
        train(tmp_path / "stopped")
    monkeypatch.setattr(Trainer, "take", take)
    saved = torch.load(tmp_path / "stopped" / "last.pt", weights_only=True)
    assert saved["losses"] == straight.losses[:5]
    assert train(tmp_path / "stopped").losses == straight.losses


def test_a_corpus_is_encoded_once_in_a_process(monkeypatch):
    first = encode_corpus(CORPUS, size=120)
    monkeypatch.setattr(Vocabulary, "learn", None)
    assert encode_corpus(CORPUS, size=120) is first
    with pytest.raises(TypeError):  # another size has to be learnt
        encode_corpus(CORPUS, size=121)


class Learnt(MeanAttention):
    """A slot that the course does not know, with a parameter and a buffer of its own."""

    def __init__(self, width):
        super().__init__(width)
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.register_buffer("sign", torch.ones(()))

    def forward(self, queries, memory, mask):
        context, weights = super().forward(queries, memory, mask)
        return self.sign * self.scale * context, weights


def test_a_slot_of_ones_own_is_trained_and_comes_back(tmp_path):
    slot = Learnt(CONFIG.width)
    run = Trainer(CORPUS, CONFIG, tmp_path, slot=slot, device="cpu", progress=False).fit()
    assert run.model.slot is slot and slot.scale.item() != 1
    assert len(run.translate(["Ein Hund."])) == 1


def test_a_trainer_without_a_folder_leaves_nothing_behind():
    trainer = Trainer(CORPUS, replace(CONFIG, tokens=200), device="cpu", progress=False)
    assert trainer.folder.exists()
    run = trainer.fit()
    assert not trainer.folder.exists() and len(run.translate(["Ein Hund."])) == 1


@pytest.fixture(scope="module")
def run():
    return Trainer(CORPUS, CONFIG, device="cpu", progress=False).fit()


def test_a_stepper_leads_greedy_search_step_by_step(run):
    sources = [source for source, _ in CORPUS.test]
    step = run.stepper(sources)
    last, state, rows = [BOS] * 3, None, []
    for _ in range(5):
        logits, state = step(last, state)
        last = logits.argmax(-1)
        rows.append(last.tolist())
    found = run.search(sources)
    for tokens, row in zip(found, zip(*rows, strict=True), strict=True):
        assert tokens[:5] == list(row)[: len(tokens)]


def test_word_weights_have_a_row_for_each_english_word(run):
    for (german, english), weights in zip(CORPUS.test, run.word_weights(CORPUS.test), strict=True):
        rows, columns = map(run.vocabulary.words, (english, german))
        assert weights.shape == (len(rows), len(columns))
        assert (weights.sum(-1) <= 1 + 1e-5).all()


def test_a_line_of_two_thousand_words_is_refused_by_number(run):
    with pytest.raises(UserError, match=r"line 2 has \d+ subwords"):
        run.translate(["Ein Hund.", "Hund " * 2000])
