"""Knows the experiment: pretrain, fine-tune, ask; what it costs to run is decided by a preset."""

import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from attn_course.knowledge import examples
from attn_course.knowledge.examples import MASK, PAD, Alphabet
from attn_course.knowledge.model import LanguageModel, best_device
from attn_course.knowledge.training import train
from attn_course.knowledge.world import CITIES, World

LONGEST_REPLY = 16  # symbols; no city has as many letters


@dataclass(frozen=True)
class Preset:
    """All settings of a run but its seed. num_people: told, held, strangers."""

    level: str = "word"
    num_people: tuple[int, int, int] = (50, 50, 50)
    num_names: int = 50
    block_size: int = 16
    D: int = 64
    num_layers: int = 2
    num_heads: int = 4
    attention: str = "causal"
    dropout: float = 0.0
    batch_size: int = 128
    pretrain_steps: int = 900
    pretrain_rate: float = 1e-2
    finetune_steps: int = 20
    finetune_rate: float = 5e-4
    scratch_steps: int = 100  # without pretraining there is more to learn
    scratch_rate: float = 1e-3


PRESETS = {
    "default": Preset(),
    "full": Preset(
        level="character",
        num_people=(1000, 500, 500),
        num_names=250,
        block_size=128,
        D=256,
        num_layers=4,
        num_heads=8,
        dropout=0.1,
        pretrain_steps=20_000,
        pretrain_rate=6e-4,
        finetune_steps=100,
        finetune_rate=2e-4,
        scratch_steps=1000,
        scratch_rate=6e-4,
    ),
}


class Reply(NamedTuple):
    """What a model answered, and the probability it gave to that answer."""

    text: str
    confidence: float


class Lab:
    """One world, one alphabet, one preset, one seed; makes models and trains and questions them.

    corrupt and pair: how a document becomes a training string and a question a training pair; a
    student's own functions fit here.
    """

    def __init__(
        self,
        preset=None,
        *,
        seed=0,
        device=None,
        corrupt=examples.corrupt_span,
        pair=examples.finetuning_pair,
    ):
        preset = preset or PRESETS["default"]
        self.preset, self.seed, self.device = preset, seed, device or best_device()
        self.corrupt, self.pair = corrupt, pair
        self.world = World(seed=seed, num_people=preset.num_people, num_names=preset.num_names)
        questions = [person.question for person in self.world.people]
        self.alphabet = Alphabet([*self.world.text, *questions, *CITIES], level=preset.level)
        self.documents = [self.alphabet.spell(text) for text in self.world.text]
        spell = self.alphabet.spell
        self.told = [(spell(p.question), spell(p.city)) for p in self.world.group("told")]

    def model(self):
        """A fresh model, the same for the same seed."""
        preset = self.preset
        torch.manual_seed(self.seed)
        return LanguageModel(
            len(self.alphabet),
            preset.block_size,
            D=preset.D,
            num_layers=preset.num_layers,
            num_heads=preset.num_heads,
            attention=preset.attention,
            dropout=preset.dropout,
        ).to(self.device)

    def pretrain(self, model, *, checkpoint=None):
        """Train on corrupted biographies; the losses. The model is changed in place."""

        def batch(step):
            rng = np.random.default_rng((self.seed, 0, step))
            return self._numbers(self._corrupted(rng, self.preset.batch_size))

        steps, rate = self.preset.pretrain_steps, self.preset.pretrain_rate
        return train(
            model, batch, steps=steps, rate=rate, label="pretraining", checkpoint=checkpoint
        )

    def finetune(self, model, *, steps=None, rate=None, rehearse=0, watch=None):
        """A copy of the model, trained on questions about the people told.

        rehearse: how many corrupted biographies go into each batch of questions.
        """
        model, size = copy.deepcopy(model), min(self.preset.batch_size, len(self.told))
        steps, rate = steps or self.preset.finetune_steps, rate or self.preset.finetune_rate

        def batch(step):
            rng = np.random.default_rng((self.seed, 1, step))
            chosen = rng.choice(len(self.told), size, replace=False)
            pairs = [self.pair(*self.told[i], self.preset.block_size) for i in chosen]
            return self._numbers(pairs + self._corrupted(rng, rehearse))

        train(model, batch, steps=steps, rate=rate, label="fine-tuning", watch=watch)
        return model

    def from_scratch(self):
        """A model that is trained on the questions alone, for longer and faster."""
        return self.finetune(
            self.model(), steps=self.preset.scratch_steps, rate=self.preset.scratch_rate
        )

    def _corrupted(self, rng, count):
        chosen = rng.integers(0, len(self.documents), count)
        strings = (self.corrupt(self.documents[i], rng, self.preset.block_size) for i in chosen)
        return [examples.pretraining_pair(string) for string in strings]

    def _numbers(self, pairs):
        """Pairs of strings -> x, y (B, T), without the columns at the end that only pad."""
        x, y = (self.alphabet.numbers(strings) for strings in zip(*pairs, strict=True))
        T = (y != 0).any(0).nonzero()[0].max() + 1
        return x[:, :T], y[:, :T]

    @torch.no_grad()
    def ask(self, model, questions):
        """The most probable continuation of each question, symbol by symbol, as a list of Reply."""
        prompts = [self.alphabet.spell(question) + MASK for question in questions]
        padded = [prompt.ljust(self.preset.block_size - 1, PAD) for prompt in prompts]
        x = torch.as_tensor(self.alphabet.numbers(padded), device=self.device)  # (B, T)
        ends = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        last = (ends + LONGEST_REPLY).clamp(max=x.shape[1])
        rows = torch.arange(len(x), device=self.device)  # of those who are still being answered
        confidence = torch.ones(len(x), device=self.device)
        model.eval()
        while len(rows):
            logits = model(x[rows, : ends.max()])  # (B, T, V)
            here = (ends[rows] - 1)[:, None, None].expand(-1, 1, logits.shape[-1])
            chance, symbol = logits.gather(1, here)[:, 0].softmax(-1).max(-1)  # (B,), (B,)
            x[rows, ends[rows]], confidence[rows] = symbol, confidence[rows] * chance
            ends[rows] += 1
            rows = rows[(symbol != 1) & (ends[rows] < last[rows])]
        strings = map(self.alphabet.string, x.tolist())
        texts = (self.alphabet.read(string.split(MASK)[1].rstrip(PAD)) for string in strings)
        return [Reply(*reply) for reply in zip(texts, confidence.tolist(), strict=True)]
