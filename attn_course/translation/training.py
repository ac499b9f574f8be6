"""How a translator is trained, judged and stopped early."""

import hashlib
import sys
import tempfile
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from attn_course.errors import UserError
from attn_course.recorded_runs import write_json
from attn_course.training.devices import DeviceLike, best_device
from attn_course.training.progress import Bar
from attn_course.training.trainer import BaseTrainer, Stopped, Update, write_tensors
from attn_course.translation import scoring
from attn_course.translation.batches import Batch, bucket, collate
from attn_course.translation.config import Config
from attn_course.translation.corpora import Corpus
from attn_course.translation.known_words import KnownWords
from attn_course.translation.models import build
from attn_course.translation.trained_translator import Run
from attn_course.translation.vocabulary import PAD, encode_corpus

SEED_BITS = 2**63


def rate_at(step: int, fraction: float, config: Config) -> float:
    """Return the learning rate: linear warm-up, plateau, linear fall to zero over the last `cooldown`.

    step: counted from 1. fraction: of the budget, from 0 to 1.
    """
    rising = step / config.warmup
    falling = max(1.0 - fraction, 0.0) / config.cooldown
    return config.rate * min(rising, 1.0, falling)


def loss_sum(model: nn.Module, batch: Batch, *, smoothing: float = 0.0) -> torch.Tensor:
    """Return the summed cross-entropy of the real target subwords of a batch, a scalar.

    smoothing: the share of the target's mass that is spread over all subwords.
    """
    logits = model(batch).flatten(0, 1).float()  # (B * T, V)
    targets = batch.targets.flatten()
    return F.cross_entropy(
        logits, targets, ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )


def _digest(corpus):
    """Return a short text that differs where the pairs to train on or to validate with differ."""
    return hashlib.sha256(repr((corpus.train, corpus.val)).encode()).hexdigest()


class Trainer(BaseTrainer):
    """One run in one folder: `fit` starts it, or carries it on exactly where it was stopped.

    Without a folder it has one of its own, which is gone when `fit` returns. A module given as `slot`
    takes the place of the configured attention. Data order and dropout are functions of seed, epoch
    and step, so no generator needs saving.
    """

    def __init__(
        self,
        corpus: Corpus,
        config: Config,
        folder: str | Path | None = None,
        *,
        slot: nn.Module | None = None,
        device: DeviceLike = None,
        progress: bool = True,
        save_every: int = 200,
    ) -> None:
        self.clock = time.process_time()
        self.corpus = corpus
        self.config = config
        self.slot = slot
        device = best_device(device)
        self.temporary = None
        if folder is None:
            self.temporary = tempfile.TemporaryDirectory(prefix="attn-")
            folder = self.temporary.name
        self.folder = Path(folder)
        self.encoded = encode_corpus(corpus, size=config.vocabulary)
        self.vocabulary = self.encoded.vocabulary
        torch.manual_seed(config.seed)
        model = build(config, len(self.vocabulary), slot=slot)
        super().__init__(
            model.to(device),
            partial(loss_sum, smoothing=config.smoothing),
            settings=asdict(config) | {"text": _digest(corpus)},
            decay=config.decay,
            clip=config.clip,
            checkpoint=self.folder / "last.pt",
            save_every=save_every,
        )
        self.counters = {
            "epoch": 0,
            "position": 0,  # batches of the open epoch that are done
            "tokens": 0,
            "cpu_seconds": 0.0,
            "stale": 0,  # epochs since the best one
            "best": -1.0,
            "metrics": [],
        }
        self.progress = progress
        self._count_time()

    @property
    def metrics(self) -> list[dict[str, float]]:
        """One row an epoch."""
        return self.counters["metrics"]

    @property
    def spent(self) -> bool:
        return self.counters["tokens"] >= self.config.tokens

    @property
    def ended(self) -> bool:
        """True if the budget is spent or validation BLEU has stopped rising."""
        return self.spent or self.counters["stale"] >= self.config.patience

    def fit(self) -> Run:
        """Train until the budget is spent or validation BLEU has stopped rising; the best model as a Run."""
        self.clock = time.process_time()
        self._open()
        bar = Bar(
            "training",
            self.config.tokens,
            done=self.counters["tokens"],
            unit="tok",
            shown=self.progress,
        )
        try:
            while self.counters["position"] or not self.ended:
                self.run(self._plan(), bar)
                self._evaluate(bar)
                self.save()
        except KeyboardInterrupt as interrupt:
            if not isinstance(interrupt, Stopped):  # it came between two epochs
                self.save()
            kept = "all of it is kept: the same command goes on from there"
            if self.temporary:
                kept = "without a folder nothing is kept"
            done = f"{self.counters['tokens']:,} of {self.config.tokens:,} subwords"
            raise Stopped(f"stopped after {done}; {kept}.") from None
        finally:
            bar.close()
        if self.progress and not self.spent:
            print(self.why_early(), file=sys.stderr, flush=True)
        run = Run.load(self.folder, device=self.device, slot=self.slot)
        if self.temporary:
            self.temporary.cleanup()
        return run

    def why_early(self) -> str:
        """Return the sentence about a run that ended before its budget."""
        best = max(self.metrics, key=lambda row: row["bleu"])
        return (
            f"stopped early after {self.counters['tokens']:,} of {self.config.tokens:,} subwords: validation "
            f"BLEU has not risen for {self.counters['stale']} epochs; the best, {best['bleu']:.2f} in epoch "
            f"{best['epoch']}, is kept."
        )

    def _plan(self):
        config = self.config
        seed = (config.seed << 20) + self.counters["epoch"]
        order = torch.Generator().manual_seed(seed % SEED_BITS)
        groups = bucket(self.encoded.train, max_tokens=config.batch_tokens, generator=order)
        number = self.num_steps
        tokens = self.counters["tokens"]
        for group in groups[self.counters["position"] :]:
            if tokens >= config.tokens:
                return
            number += 1
            yield partial(self._step, group, number, tokens)
            tokens += self._size(group)

    def _size(self, group):
        """Count the target subwords of the pairs in a group, end marks included."""
        targets = (self.encoded.train[i][1] for i in group)
        return sum(len(target) + 1 for target in targets)

    def _step(self, group, number, tokens):
        """Step `number`, taken after `tokens` target subwords, on a group of pairs."""
        seed = (self.config.seed << 40) + (number << 8)
        return Update(
            batch=collate([self.encoded.train[i] for i in group]),
            size=self._size(group),
            rate=rate_at(number, tokens / self.config.tokens, self.config),
            seed=seed % SEED_BITS,
        )

    def count(self, step: Update) -> None:
        """Count batches, tokens and seconds so far."""
        self.counters["position"] += 1
        self.counters["tokens"] += step.size
        self._count_time()

    def _evaluate(self, bar):
        """Close the epoch: a row of metrics, the best model kept, the count towards early stopping."""
        score = self.validate()
        num_steps = self.counters["position"]
        self._count_time()
        self.counters["epoch"] += 1
        self.counters["position"] = 0
        self.counters["stale"] += 1
        row = {
            "epoch": self.counters["epoch"],
            "steps": self.num_steps,
            "tokens": self.counters["tokens"],
            "loss": sum(self.losses[-num_steps:]) / num_steps,
            "cpu_seconds": self.counters["cpu_seconds"],
            **score,
        }
        self.metrics.append(row)
        bar.note(loss=row["loss"], bleu=row["bleu"])
        if score["bleu"] > self.counters["best"]:
            self.counters["best"] = score["bleu"]
            self.counters["stale"] = 0
            write_tensors(self.folder / "best.pt", self.model.state_dict())

    def validate(self) -> dict[str, float]:
        """Return validation BLEU of greedy search, and perplexity per subword with teacher forcing."""
        run = Run(self.model.eval(), self.vocabulary)
        sources, references = zip(*self.corpus.val, strict=True)
        scores = scoring.score(run.translate(sources), references)
        return {
            "bleu": scores["bleu"],
            "perplexity": scoring.perplexity(self.model, self.encoded.val),
        }

    def _count_time(self):
        now = time.process_time()
        self.counters["cpu_seconds"] += now - self.clock
        self.clock = now

    def _open(self):
        """Start the folder, or resume the run that was left in it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if self.resume():
                return
            self.vocabulary.save(self.folder / "vocabulary.json")
            write_json(self.folder / "config.json", asdict(self.config))
            KnownWords.of(self.corpus.train).save(self.folder)
        except OSError as error:
            kind = type(error).__name__
            raise UserError(f"{self.folder} cannot be used ({kind}).") from error

    def save(self) -> None:
        """Keep everything in the checkpoint, and the metrics in a file of their own."""
        self._count_time()
        super().save()
        write_json(self.folder / "metrics.json", self.metrics)
