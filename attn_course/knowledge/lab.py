"""The experiment: pretrain, fine-tune, ask. What it costs to run is decided by a preset."""

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from attn_course.knowledge import examples
from attn_course.knowledge.examples import MASK, PAD, Alphabet
from attn_course.knowledge.model import LanguageModel
from attn_course.knowledge.presets import PRESETS, Preset
from attn_course.knowledge.training import Arrays, Watch, train
from attn_course.knowledge.world import CITIES, World
from attn_course.training.devices import DeviceLike, best_device

LONGEST_REPLY = 16  # symbols; no city has as many letters

Strings = tuple[str, str]


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
        preset: Preset | None = None,
        *,
        seed: int = 0,
        device: DeviceLike = None,
        corrupt: Callable[..., str] = examples.corrupt_span,
        pair: Callable[..., Strings] = examples.finetuning_pair,
    ) -> None:
        self.preset = preset or PRESETS["default"]
        self.seed = seed
        self.device = best_device(device)
        self.corrupt = corrupt
        self.pair = pair
        self.world = World(
            seed=seed, num_people=self.preset.num_people, num_names=self.preset.num_names
        )
        questions = [person.question for person in self.world.people]
        texts = [*self.world.text, *questions, *CITIES]
        self.alphabet = Alphabet(texts, level=self.preset.level)
        spell = self.alphabet.spell
        self.documents = [spell(text) for text in self.world.text]
        self.told = [(spell(p.question), spell(p.city)) for p in self.world.group("told")]

    def model(self) -> LanguageModel:
        """A fresh model, the same for the same seed."""
        preset = self.preset
        torch.manual_seed(self.seed)
        model = LanguageModel(
            len(self.alphabet),
            preset.block_size,
            D=preset.D,
            num_layers=preset.num_layers,
            num_heads=preset.num_heads,
            attention=preset.attention,
            dropout=preset.dropout,
        )
        return model.to(self.device)

    def pretrain(self, model: LanguageModel, *, checkpoint: Path | None = None) -> list[float]:
        """Train on corrupted biographies; the losses. The model is changed in place."""

        def batch(step: int) -> Arrays:
            rng = np.random.default_rng((self.seed, 0, step))
            return self._numbers(self._corrupted(rng, self.preset.batch_size))

        return train(
            model,
            batch,
            steps=self.preset.pretrain_steps,
            rate=self.preset.pretrain_rate,
            label="pretraining",
            checkpoint=checkpoint,
        )

    def finetune(
        self,
        model: LanguageModel,
        *,
        steps: int | None = None,
        rate: float | None = None,
        rehearse: int = 0,
        watch: Watch | None = None,
    ) -> LanguageModel:
        """A copy of the model, trained on questions about the people told.

        rehearse: how many corrupted biographies go into each batch of questions.
        """
        model = copy.deepcopy(model)
        size = min(self.preset.batch_size, len(self.told))

        def batch(step: int) -> Arrays:
            rng = np.random.default_rng((self.seed, 1, step))
            chosen = rng.choice(len(self.told), size, replace=False)
            pairs = [self.pair(*self.told[i], self.preset.block_size) for i in chosen]
            return self._numbers(pairs + self._corrupted(rng, rehearse))

        train(
            model,
            batch,
            steps=steps or self.preset.finetune_steps,
            rate=rate or self.preset.finetune_rate,
            label="fine-tuning",
            watch=watch,
        )
        return model

    def from_scratch(self) -> LanguageModel:
        """A model that is trained on the questions alone, for longer and faster."""
        return self.finetune(
            self.model(), steps=self.preset.scratch_steps, rate=self.preset.scratch_rate
        )

    def _corrupted(self, rng: np.random.Generator, count: int) -> list[Strings]:
        pairs = []
        for i in rng.integers(0, len(self.documents), count):
            string = self.corrupt(self.documents[i], rng, self.preset.block_size)
            pairs.append(examples.pretraining_pair(string))
        return pairs

    def _numbers(self, pairs: Sequence[Strings]) -> Arrays:
        """Pairs of strings -> x, y (B, T), without the columns at the end that only pad."""
        x = self.alphabet.numbers(x for x, _ in pairs)
        y = self.alphabet.numbers(y for _, y in pairs)
        used = (y != 0).any(0)  # (T,)
        T = used.nonzero()[0].max() + 1
        return x[:, :T], y[:, :T]

    def ask(self, model: LanguageModel, questions: Sequence[str]) -> list[Reply]:
        """The most probable continuation of each question, symbol by symbol, as a list of Reply."""
        prompts = [self.alphabet.spell(question) + MASK for question in questions]
        padded = [prompt.ljust(self.preset.block_size - 1, PAD) for prompt in prompts]
        x = torch.as_tensor(self.alphabet.numbers(padded), device=self.device)  # (B, T)
        ends = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        confidence = _continue(model, x, ends)
        replies = []
        for numbers, chance in zip(x.cpu().tolist(), confidence.cpu().tolist(), strict=True):
            string = self.alphabet.string(numbers)
            answer = string.split(MASK)[1].rstrip(PAD)
            replies.append(Reply(self.alphabet.read(answer), chance))
        return replies


@torch.no_grad()
def _continue(model: LanguageModel, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Write the likeliest symbols into x (B, T) from ends (B,) on, until MASK; their probability (B,)."""
    last = (ends + LONGEST_REPLY).clamp(max=x.shape[1])
    rows = torch.arange(len(x), device=x.device)  # of those who are still being answered
    confidence = torch.ones(len(x), device=x.device)
    model.eval()
    while len(rows):
        here = ends[rows]
        logits = model(x[rows, : ends.max()])  # (B, T, V)
        place = (here - 1)[:, None, None].expand(-1, 1, logits.shape[-1])
        next_logits = logits.gather(1, place)[:, 0]  # (B, V)
        chance, symbol = next_logits.softmax(-1).max(-1)  # (B,), (B,)
        x[rows, here] = symbol
        confidence[rows] *= chance
        ends[rows] += 1
        unfinished = (symbol != 1) & (ends[rows] < last[rows])
        rows = rows[unfinished]
    return confidence
