"""The experiment: pretrain, fine-tune, ask. A preset decides how long that takes."""

import copy
from collections.abc import Callable, Sequence
from functools import partial
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
MASK_NUMBER = 1  # in every Alphabet


class Reply(NamedTuple):
    """The answer of a model and the probability that the model gave to it."""

    text: str
    confidence: float


class Lab:
    """One world, one alphabet, one preset, one seed; makes models and trains and questions them.

    corrupt: makes a training string of a document; the attribute `pair` makes a training pair of a question.
    A student's own functions may stand for both.
    """

    def __init__(
        self,
        preset: Preset | None = None,
        *,
        seed: int = 0,
        device: DeviceLike = None,
        corrupt: Callable[..., str] = examples.corrupt_span,
    ) -> None:
        self.preset = preset or PRESETS["default"]
        self.seed = seed
        self.device = best_device(device)
        self.corrupt = corrupt
        self.pair: Callable[..., tuple[str, str]] = examples.finetuning_pair
        self.world = World(
            seed=seed,
            num_people=self.preset.num_people,
            num_names=self.preset.num_names,
        )
        questions = [person.question for person in self.world.people]
        texts = [*self.world.text, *questions, *CITIES]
        self.alphabet = Alphabet(texts, level=self.preset.level)
        spell = self.alphabet.spell
        self.documents = [spell(text) for text in self.world.text]
        people = self.world.group("told")
        self.told = [(spell(person.question), spell(person.city)) for person in people]

    def model(self) -> LanguageModel:
        """Return a fresh model, the same for the same seed."""
        torch.manual_seed(self.seed)
        return LanguageModel(self.preset, len(self.alphabet)).to(self.device)

    def pretrain(self, model: LanguageModel, *, checkpoint: Path | None = None) -> list[float]:
        """Train on corrupted biographies; the model is changed in place.

        checkpoint: a file to keep and to resume from. Returns the loss of each step.
        """
        return train(
            model,
            self.pretraining_batch,
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
        """Return a copy of the model, trained on questions about the people told.

        steps, rate: those of the preset if not given.
        rehearse: how many corrupted biographies go into each batch of questions.
        watch: called with (steps taken, model) before the first step and after each.
        """
        model = copy.deepcopy(model)
        train(
            model,
            partial(self.finetuning_batch, rehearse=rehearse),
            steps=steps or self.preset.finetune_steps,
            rate=rate or self.preset.finetune_rate,
            label="fine-tuning",
            watch=watch,
        )
        return model

    def from_scratch(self) -> LanguageModel:
        """Return a model that is trained on the questions alone, for longer and faster."""
        return self.finetune(
            self.model(),
            steps=self.preset.scratch_steps,
            rate=self.preset.scratch_rate,
        )

    def pretraining_batch(self, step: int) -> Arrays:
        """Return corrupted biographies x and what follows each of their symbols, y; both (B, T)."""
        rng = np.random.default_rng((self.seed, 0, step))
        pairs = self._corrupted(rng, self.preset.batch_size)
        return self._numbers(pairs)

    def finetuning_batch(self, step: int, rehearse: int = 0) -> Arrays:
        """Return questions with their answers, and `rehearse` corrupted biographies, as x and y (B, T)."""
        rng = np.random.default_rng((self.seed, 1, step))
        size = min(self.preset.batch_size, len(self.told))
        pairs = []
        for i in rng.choice(len(self.told), size, replace=False):
            question, answer = self.told[i]
            pairs.append(self.pair(question, answer, self.preset.block_size))
        pairs += self._corrupted(rng, rehearse)
        return self._numbers(pairs)

    def _corrupted(self, rng, count):
        """Return `count` pairs of corrupted documents as `self.pair` makes them: all but PAD is predicted."""
        pairs = []
        for i in rng.integers(0, len(self.documents), count):
            document = self.documents[i]
            string = self.corrupt(document, rng, self.preset.block_size)
            pairs.append((string[:-1], string[1:]))
        return pairs

    def _numbers(self, pairs):
        """Return pairs of strings as x, y (B, T), without the last columns in which nothing is predicted."""
        read, predicted = zip(*pairs, strict=True)
        x = self.alphabet.numbers(read)
        y = self.alphabet.numbers(predicted)
        used = (y != 0).any(0)  # (T,)
        (columns,) = used.nonzero()
        T = columns.max() + 1
        return x[:, :T], y[:, :T]

    def ask(self, model: LanguageModel, questions: Sequence[str]) -> list[Reply]:
        """Return the most probable continuation of each question, symbol by symbol.

        questions: text of the world, in which every word is known.
        Returns one Reply for each; what is never ended is cut after LONGEST_REPLY symbols.
        """
        T = self.preset.block_size - 1
        prompts = [self.alphabet.spell(question) + MASK for question in questions]
        numbers = self.alphabet.numbers(prompt.ljust(T, PAD) for prompt in prompts)
        x = torch.as_tensor(numbers, device=self.device)  # (B, T)
        ends = torch.tensor([len(prompt) for prompt in prompts], device=self.device)
        confidence = _continue(model, x, ends)
        replies = []
        for row, chance in zip(x.cpu().tolist(), confidence.cpu().tolist(), strict=True):
            answer = self.alphabet.string(row).split(MASK)[1]  # between the first MASK and the next
            replies.append(Reply(self.alphabet.read(answer.rstrip(PAD)), chance))
        return replies


@torch.no_grad()
def _continue(model, x, ends):
    """Write the likeliest symbols into x, one after another, until MASK.

    x: (B, T), changed in place. ends: (B,), where each row goes on, changed too.
    Returns the probability (B,) of all that was written in a row.
    """
    B, T = x.shape
    last = (ends + LONGEST_REPLY).clamp(max=T)
    rows = torch.arange(B, device=x.device)  # of those who are still being answered
    confidence = torch.ones(B, device=x.device)
    model.eval()
    while len(rows):
        here = ends[rows]
        logits = model(x[rows, : ends.max()])  # (rows, T, V)
        index = (here - 1)[:, None, None].expand(-1, 1, logits.shape[-1])
        following = logits.gather(1, index)[:, 0]  # (rows, V)
        chance, symbol = following.softmax(-1).max(-1)
        x[rows, here] = symbol
        confidence[rows] *= chance
        ends[rows] += 1
        going_on = symbol != MASK_NUMBER
        going_on &= ends[rows] < last[rows]
        rows = rows[going_on]
    return confidence
