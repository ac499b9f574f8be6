"""Without a GPU: nothing mixes devices, and nothing waits for one that need not."""

import threading
from dataclasses import replace
from functools import partial
from unittest.mock import Mock

import pytest
import torch
from fake_device import FAR, FarDevice, FarTensor

from attn_course.training import devices
from attn_course.training import trainer as trainer_module
from attn_course.training.devices import half_precision
from attn_course.training.progress import Bar
from attn_course.training.trainer import Update, prefetched
from attn_course.translation import config as translation_config
from attn_course.translation.batches import collate, pad_source
from attn_course.translation.config import PRESETS, Config, for_gpu, transformer
from attn_course.translation.corpora import embedded
from attn_course.translation.decoding import beam, greedy
from attn_course.translation.models import build
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer
from attn_course.translation.vocabulary import Vocabulary
from attn_utils.layers import SLOTS

PAIRS = [([5, 6, 7, 8, 9], [10, 11]), ([6], [12, 13, 14, 5]), ([7, 8, 5], [9])]
CORPUS = embedded(num_train=200, num_val=2, num_test=3)
BRIEF = sorted(CORPUS.train, key=lambda pair: len("".join(pair)))[:60]
SHORT = [("Der Hund schläft.", "The dog is sleeping.")]
SMALL = Config(vocabulary=150, embedding=16, width=16, batch_tokens=30, tokens=5000, warmup=3)
KINDS = {name: replace(SMALL, attention=name) for name in SLOTS}
KINDS["transformer"] = replace(transformer(SMALL), width=16, embedding=16)


@pytest.fixture(params=KINDS)
def config(request):
    return KINDS[request.param]


@pytest.fixture(autouse=True)
def parameters_may_change_their_type():
    torch.set_num_threads(1)
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    yield
    torch.__future__.set_overwrite_module_params_on_conversion(False)


def seeded(config, num_tokens=150):
    torch.manual_seed(3)
    return build(config, num_tokens)


def test_a_mixture_of_devices_is_refused_and_a_wait_is_counted():
    with FarDevice() as device:
        far = torch.ones(3, device=FAR)
        assert isinstance(far, FarTensor) and device.waits == []
        with pytest.raises(RuntimeError, match="mixes"):
            far + torch.ones(3)
        assert far.sum().item() == 3 and bool((far > 0).all()) and far[far > 0].cpu().tolist()
        assert len(device.waits) == 4  # the sum, the truth, the size of a choice, the copy
        torch.ones(3).to(FAR, non_blocking=True)
        assert len(device.waits) == 4
        torch.ones(3).to(FAR)
        assert len(device.waits) == 5


def test_a_forward_and_a_backward_pass_wait_for_nothing(config):
    with FarDevice() as device:
        model = seeded(config).to(FAR)
        batch = collate(PAIRS, FAR)
        device.waits.clear()
        model(batch).sum().backward()
    assert device.waits == []


def steps_of(trainer, count):
    """Updates on the first pairs of the corpus, three at a time."""
    steps = []
    for number in range(count):
        pairs = trainer.encoded.train[3 * number : 3 * number + 3]
        size = sum(len(target) + 1 for _, target in pairs)
        steps.append(partial(Update, collate(pairs), size, trainer.config.rate, seed=number))
    return steps


def test_losses_are_fetched_every_few_steps_and_nothing_else_waits(config, monkeypatch):
    monkeypatch.setattr(trainer_module, "FETCH_EVERY", 2)
    corpus = CORPUS._replace(train=BRIEF)  # every operation passes through Python here
    with FarDevice() as device:
        trainer = Trainer(corpus, config, device=FAR, progress=False)
        bar = Bar("", 1, done=0, unit="", shown=False)
        device.waits.clear()
        first, second = steps_of(trainer, 2)
        trainer.run([first], bar)
        assert device.waits == []
        trainer.run([second], bar)
        assert len(device.waits) == 1 and trainer.num_steps == 2
        found = trainer.losses
    near = Trainer(corpus, config, device="cpu", progress=False)
    near.run(steps_of(near, 2), bar)
    assert found == pytest.approx(near.losses, rel=1e-4)


@pytest.mark.parametrize("search", [greedy, beam])
def test_a_search_waits_once_a_token(config, search):
    sources = [source for source, _ in PAIRS]
    expected = search(seeded(config).eval(), *pad_source(sources), max_length=5)
    with FarDevice() as device:
        model = seeded(config).to(FAR).eval()
        source = pad_source(sources, FAR)
        decode = Mock(wraps=model.decode)
        model.decode = decode
        device.waits.clear()
        found = search(model, *source, max_length=5)
    assert found == expected
    assert len(device.waits) == decode.call_count + 1  # and the tokens at the end


def test_losses_maps_and_hypotheses_come_from_the_device(config):
    vocabulary = Vocabulary.learn([text for pair in CORPUS.train for text in pair], size=150)
    near = Run(seeded(config, len(vocabulary)).eval(), vocabulary)
    with FarDevice():
        far = Run(seeded(config, len(vocabulary)).to(FAR).eval(), vocabulary)
        losses, real = far.losses(SHORT)
        own, _ = far.losses(SHORT, teacher_forcing=False)
        maps = far.word_weights(SHORT)
        best = far.n_best(SHORT[0][0], beam_size=3)
    torch.testing.assert_close((losses, real), near.losses(SHORT))
    torch.testing.assert_close(own, near.losses(SHORT, teacher_forcing=False)[0])
    for one, other in zip(maps, near.word_weights(SHORT), strict=True):
        assert one == pytest.approx(other, abs=1e-5)
    assert [h.tokens for h in best] == [h.tokens for h in near.n_best(SHORT[0][0], beam_size=3)]


def test_short_numbers_are_those_the_gpu_has(monkeypatch):
    for supported, dtype in ((True, torch.bfloat16), (False, torch.float16)):
        monkeypatch.setattr(
            torch.cuda, "is_bf16_supported", lambda including_emulation, yes=supported: yes
        )
        assert half_precision(torch.device("cuda")) is dtype
    assert half_precision(torch.device("cpu")) is half_precision(torch.device("mps")) is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["dot", "transformer"])
def test_short_numbers_lower_the_loss_and_only_float16_needs_a_scale(name, dtype, monkeypatch):
    monkeypatch.setattr(trainer_module, "half_precision", lambda device: dtype)
    config = replace(KINDS[name], dropout=0.0, rate=1e-2)
    trainer = Trainer(CORPUS, config, device="cpu", progress=False)
    assert trainer.scaler.is_enabled() == (dtype is torch.float16)
    bar = Bar("", 1, done=0, unit="", shown=False)
    trainer.run(steps_of(trainer, 30), bar)
    assert sum(trainer.losses[-3:]) < 0.9 * sum(trainer.losses[:3])


def test_a_gpu_gets_as_many_updates_on_four_times_the_text():
    full = for_gpu(PRESETS["full"])
    assert full.batch_tokens == 4000 and full.tokens == 16_000_000
    for name in ("tiny", "default", "ladder"):
        assert for_gpu(PRESETS[name]) == PRESETS[name]


def test_a_notebook_on_a_gpu_trains_with_the_settings_that_it_prints(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(translation_config, "load", lambda name: None)
    _, configs = translation_config.setting("full", tokens=1)
    assert configs["dot"] == for_gpu(PRESETS["full"])


def test_batches_are_made_ahead_on_another_thread_and_come_in_order():
    made = []

    def make(number):
        made.append(threading.current_thread())
        return number

    numbers = prefetched(make, range(20))
    assert next(numbers) == 0 and list(numbers) == list(range(1, 20))
    assert threading.current_thread() not in made


def test_a_gpu_is_taken_if_there_is_one_and_may_be_chosen_by_number(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert devices.best_device() == devices.best_device("cuda") == torch.device("cuda")
    assert devices.best_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(devices.UserError, match="no device 'cuda:4'"):
        devices.best_device("cuda:4")
