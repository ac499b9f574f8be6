"""A trained translator, loaded from the folder of a run: text in, text out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attn_course.errors import UserError
from attn_course.recorded_runs import read_json
from attn_course.training.devices import DeviceLike, best_device
from attn_course.translation.batches import Ids, collate, pad_source
from attn_course.translation.config import Config
from attn_course.translation.corpora import TextPair
from attn_course.translation.decoding import Hypothesis, SearchState, advance, beam, greedy, n_best
from attn_course.translation.models import Translator, build
from attn_course.translation.scoring import subword_losses
from attn_course.translation.vocabulary import PAD, Vocabulary

AT_A_TIME = 100  # sentences of similar length that are translated together
MAX_SOURCE = 500  # subwords; a longer line is a mistake in the file, not a sentence

Stepper = Callable[..., tuple[Tensor, Tensor]]


class Run(NamedTuple):
    """A translator and its vocabulary."""

    model: Translator
    vocabulary: Vocabulary

    @classmethod
    def load(
        cls, folder: str | Path, *, device: DeviceLike = None, slot: nn.Module | None = None
    ) -> "Run":
        """Return the best model of a run folder.

        slot: the module in the place of attention, if the run was trained with one of its own.
        """
        folder = Path(folder)
        device = best_device(device)
        try:
            settings = read_json(folder / "config.json")
            vocabulary = Vocabulary.load(folder / "vocabulary.json")
            weights = torch.load(folder / "best.pt", map_location=device, weights_only=True)
            model = build(Config(**settings), len(vocabulary), slot=slot).to(device)
            model.load_state_dict(weights)
        except Exception as error:  # each part of a broken folder fails in its own way
            kind = type(error).__name__
            raise UserError(f"{folder} holds no finished run ({kind}): train one first.") from error
        return cls(model.eval(), vocabulary)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def search(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float = 1.0,
        max_length: int | None = None,
    ) -> list[Ids]:
        """Translate one batch of sentences into subwords.

        beam_size: hypotheses kept; a beam of one is greedy search. length_penalty: the exponent of the
        length that a log-probability is divided by. max_length: of all translations, in subwords; None
        goes by the length of each source.
        """
        source, lengths = self._padded(sentences)
        limits = max_length or longest_of(lengths)
        if beam_size == 1:
            return greedy(self.model, source, lengths, max_length=limits)
        return beam(
            self.model,
            source,
            lengths,
            max_length=limits,
            size=beam_size,
            length_penalty=length_penalty,
        )

    def n_best(self, sentence: str, *, beam_size: int = 5) -> list[Hypothesis]:
        """Return the hypotheses of the last beam for one sentence, best first.

        Their scores are log-probabilities per subword.
        """
        self._refuse_long([sentence])
        self.model.eval()
        source, lengths = self._padded([sentence])
        hypotheses = n_best(
            self.model, source, lengths, max_length=longest_of(lengths), size=beam_size
        )
        return hypotheses[0]

    def _padded(self, sentences):
        """source (B, S) on the device, lengths (B,) on the CPU."""
        encoded = [self.vocabulary.encode(sentence) for sentence in sentences]
        return pad_source(encoded, self.device)

    @torch.no_grad()
    def stepper(self, sentences: Sequence[str]) -> Stepper:
        """Return the function that a search calls for B sentences: step(last, state) -> (logits, state).

        last: (B,), the tokens written last. state: what the step before returned, None at first.
        logits: (B, V) on the CPU.
        """
        memory = self.model.eval().encode(*self._padded(sentences))

        @torch.no_grad()
        def step(last: Any, state: Any) -> tuple[torch.Tensor, Any]:
            tokens = torch.as_tensor(last, device=self.device)
            tokens = tokens.reshape(-1, 1)
            logits, state = advance(self.model, tokens, memory, state)
            return logits.cpu(), state

        return step

    @torch.no_grad()
    def start_of_search(
        self, sentences: Sequence[str]
    ) -> tuple[Callable[[Any, SearchState], tuple[Tensor, SearchState]], SearchState]:
        """Return what a beam search of B sentences begins with: step, and a state of B rows.

        step(last, state) -> (log-probabilities (N, V) on the CPU, the new state), for any N rows of states:
        state[rows] picks rows, also repeatedly. last: (N,), the tokens written last.
        """

        @torch.no_grad()
        def step(last: Any, state: SearchState) -> tuple[Tensor, SearchState]:
            tokens = torch.as_tensor(last, device=self.device).reshape(-1, 1)
            log_probs, after = advance(self.model, tokens, state.memory, state.state)
            return log_probs.cpu(), SearchState(state.memory, after)

        return step, SearchState(self.model.eval().encode(*self._padded(sentences)))

    def _refuse_long(self, sentences):
        """Return the sizes of the sentences in subwords, none above the limit."""
        sizes = [len(self.vocabulary.encode(sentence)) for sentence in sentences]
        for line, size in enumerate(sizes, 1):
            if size > MAX_SOURCE:
                raise UserError(
                    f"line {line} has {size} subwords, more than the {MAX_SOURCE} allowed."
                )
        return sizes

    def translate(
        self,
        sentences: Sequence[str],
        *,
        beam_size: int = 1,
        length_penalty: float = 1.0,
    ) -> list[str]:
        """Sentences -> their translations, in the same order; the options are those of `search`.

        An empty line stays one.
        """
        sizes = self._refuse_long(sentences)
        full = [i for i, size in enumerate(sizes) if size]
        order = sorted(full, key=sizes.__getitem__)
        results = [""] * len(sizes)
        self.model.eval()
        for first in range(0, len(order), AT_A_TIME):
            rows = order[first : first + AT_A_TIME]
            batch = [sentences[i] for i in rows]
            hypotheses = self.search(batch, beam_size=beam_size, length_penalty=length_penalty)
            for i, ids in zip(rows, hypotheses, strict=True):
                results[i] = self.vocabulary.decode(ids)
        return results

    def losses(
        self, pairs: Sequence[TextPair], *, teacher_forcing: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Return the loss of each true target subword of some pairs, in one batch.

        Returns losses (B, T), and (B, T), True where there is no padding, both on the CPU.
        """
        encoded = [self.vocabulary.encode_pair(pair) for pair in pairs]
        batch = collate(encoded, self.device)
        losses = subword_losses(self.model, batch, teacher_forcing=teacher_forcing)
        return losses.cpu(), (batch.targets != PAD).cpu()

    @torch.inference_mode()
    def word_weights(self, pairs: Sequence[TextPair]) -> list[np.ndarray]:
        """Return teacher-forced attention from word to word, an array (target words, source words) a pair.

        Subwords of one source word add up, those of one target word are averaged; end marks are left out.
        """
        encoded = [self.vocabulary.encode_pair(pair) for pair in pairs]
        batch = collate(encoded, self.device)
        self.model.eval()
        model: Any = self.model
        memory = model.encode(batch.source, batch.lengths)
        _, weights, _ = model.decode(batch.inputs, memory)
        found = []
        for (source, target), array in zip(encoded, weights.float().cpu().numpy(), strict=True):
            real = array[: len(target), : len(source)]
            members = self._membership(target)
            averaged = (members / members.sum(0)).T @ real
            found.append(averaged @ self._membership(source))
        return found

    def _membership(self, ids):
        """Return an array (pieces, words), 1 where the piece belongs to the word."""
        numbers = self.vocabulary.word_numbers(ids)
        return np.eye(numbers[-1] + 1)[numbers]


def longest_of(lengths: Tensor) -> Tensor:
    """Return how many subwords a translation may have, by the length of its source: (B,) -> (B,)."""
    return 2 * lengths + 10
