"""Knows a run folder and the trained translator in it, which takes text and gives text; trains nothing."""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from attn_course.translation.batches import collate, pad_source
from attn_course.translation.config import Config
from attn_course.translation.corpora import DataError
from attn_course.translation.decoding import advance, beam, greedy
from attn_course.translation.model import Translator, build
from attn_course.translation.scoring import subword_losses
from attn_course.translation.vocabulary import PAD, Vocabulary

MAX_SOURCE = 500  # subwords; a longer line is a mistake in the file, not a sentence


def best_device(wanted=None):
    """The device that is wanted, else cuda, else mps, else cpu."""
    if wanted and torch.device(wanted).type == "cuda" and not torch.cuda.is_available():
        raise DataError(f"torch finds no GPU for device {str(wanted)!r}: leave it out, or say cpu.")
    if wanted:
        return torch.device(wanted)
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


def write_json(path, value):
    """Written aside and moved in, so that a reader never meets half a file."""
    aside = path.with_suffix(".tmp")
    aside.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(aside, path)


class Run(NamedTuple):
    """A translator and its vocabulary."""

    model: Translator
    vocabulary: Vocabulary

    @classmethod
    def load(cls, folder, *, device=None, slot=None):
        """The best model of a run folder; with `slot` if it was trained with a module of its own there."""
        folder, device = Path(folder), best_device(device)
        try:
            config = Config(**json.loads((folder / "config.json").read_text(encoding="utf-8")))
            vocabulary = Vocabulary.load(folder / "vocabulary.json")
            weights = torch.load(folder / "best.pt", map_location=device, weights_only=True)
            model = build(config, len(vocabulary), slot=slot).to(device)
            model.load_state_dict(weights)
        except Exception as error:  # each part of a broken folder fails in its own way
            raise DataError(
                f"{folder} holds no finished run ({type(error).__name__}): train one first."
            ) from error
        return cls(model.eval(), vocabulary)

    @property
    def device(self):
        return next(self.model.parameters()).device

    def search(self, sentences, *, beam_size=1, length_penalty=1.0):
        """One batch of sentences -> Decoded; a beam of one is greedy search."""
        source, lengths = self._padded(sentences)
        options = {"max_length": 2 * source.shape[1] + 10}
        if beam_size == 1:
            return greedy(self.model, source, lengths, **options)
        return beam(
            self.model, source, lengths, size=beam_size, length_penalty=length_penalty, **options
        )

    def _padded(self, sentences):
        return pad_source([self.vocabulary.encode(s) for s in sentences], self.device)

    @torch.no_grad()
    def stepper(self, sentences):
        """What a search calls: step(last (B,), state) -> (logits (B, V) on the CPU, state), None at first."""
        memory = self.model.eval().encode(*self._padded(sentences))

        @torch.no_grad()
        def step(last, state):
            last = torch.as_tensor(last, device=self.device).reshape(-1, 1)
            logits, _, state = advance(self.model, last, memory, state)
            return logits.cpu(), state

        return step

    def translate(self, sentences, *, batch_size=100, **options):
        """Sentences -> their translations, in the same order; options as for `search`."""
        sizes = [len(self.vocabulary.encode(sentence)) for sentence in sentences]
        for line, size in enumerate(sizes, 1):
            if size > MAX_SOURCE:
                raise DataError(
                    f"line {line} has {size} subwords, more than the {MAX_SOURCE} allowed."
                )
        order, results = sorted(range(len(sizes)), key=sizes.__getitem__), [""] * len(sizes)
        self.model.eval()
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            decoded = self.search([sentences[i] for i in rows], **options)
            for i, ids in zip(rows, decoded.tokens, strict=True):
                results[i] = self.vocabulary.decode(ids)
        return results

    def losses(self, pairs, *, teacher_forcing=True):
        """Pairs in one batch -> the loss (B, T) of each true target subword, and which are no padding."""
        encoded = [tuple(map(self.vocabulary.encode, pair)) for pair in pairs]
        batch = collate(encoded, self.device)
        losses = subword_losses(self.model, batch, teacher_forcing=teacher_forcing)
        return losses.cpu(), (batch.targets != PAD).cpu()

    @torch.inference_mode()
    def word_weights(self, pairs):
        """Teacher-forced attention from word to word: for each pair an array (target words, source words).

        Subwords of one source word add up, those of one target word are averaged; end marks are left out.
        """
        encoded = [tuple(map(self.vocabulary.encode, pair)) for pair in pairs]
        batch = collate(encoded, self.device)
        self.model.eval()
        memory = self.model.encode(batch.source, batch.lengths)
        _, weights, _ = self.model.decode(batch.inputs, memory)
        return [
            self._membership(target, average=True).T
            @ w[: len(target), : len(source)].cpu().numpy()
            @ self._membership(source)
            for (source, target), w in zip(encoded, weights, strict=True)
        ]

    def _membership(self, ids, *, average=False):
        """(pieces, words), 1 where the piece belongs to the word; with average, columns sum to one."""
        numbers = self.vocabulary.word_numbers(ids)
        member = np.eye(numbers[-1] + 1)[numbers]
        return member / member.sum(0) if average else member
