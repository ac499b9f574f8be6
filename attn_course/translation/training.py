"""Knows how a translator is trained, stopped, killed and resumed; does not know where its text came from."""

import os
import tempfile
import time
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from tqdm.auto import tqdm

from attn_course.translation import scoring
from attn_course.translation.batches import bucket, collate
from attn_course.translation.corpora import DataError
from attn_course.translation.model import build
from attn_course.translation.runs import Run, best_device, write_json
from attn_course.translation.vocabulary import PAD, Vocabulary


def rate_at(step, fraction, config):
    """Learning rate: linear warm-up, plateau, linear fall to zero over the last `cooldown` of the budget."""
    return config.rate * min(step / config.warmup, 1.0, max(1.0 - fraction, 0.0) / config.cooldown)


def loss_sum(model, batch, *, smoothing=0.0):
    """Summed cross-entropy of the real target subwords of a batch, a scalar."""
    logits = model(batch).flatten(0, 1).float()  # (B * T, V)
    targets = batch.targets.flatten()
    options = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": "sum"}
    return F.cross_entropy(logits, targets, **options)


def _place():
    """The rank of this process and how many there are."""
    return (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else (0, 1)


class Trainer:
    """One run in one folder: `fit` starts it, or carries it on exactly where it was killed.

    Without a folder it has one of its own, which is gone when `fit` returns. A module given as `slot`
    takes the place of the configured attention. Data order and dropout are functions of seed, epoch,
    step and rank, so no generator needs saving. Under torchrun each process takes its share of every
    batch, and the loss is that of one process.
    """

    def __init__(
        self, corpus, config, folder=None, *, slot=None, device=None, progress=True, save_every=200
    ):
        self.clock = time.process_time()
        self.corpus, self.config, self.slot = corpus, config, slot
        self.temporary = None if folder else tempfile.TemporaryDirectory(prefix="attn-")
        self.folder = Path(folder or self.temporary.name)
        self.device, self.save_every = best_device(device), save_every
        self.rank, self.world = _place()
        self.progress = progress and self.rank == 0
        self.vocabulary = Vocabulary.learn(chain(*corpus.train), size=config.vocabulary)
        self.train, self.val = map(self._encode, (corpus.train, corpus.val))
        torch.manual_seed(config.seed)
        self.model = self.parallel = build(config, len(self.vocabulary), slot=slot).to(self.device)
        if self.world > 1:  # without attention the memory's norm has no gradient
            self.parallel = DistributedDataParallel(self.model, find_unused_parameters=True)
        options = {"betas": (0.9, 0.98), "weight_decay": config.decay}
        self.optimiser = torch.optim.AdamW(self.model.parameters(), **options)
        self.at = dict.fromkeys(["epoch", "position", "tokens", "cpu_seconds", "stale"], 0)
        self.at["best"] = -1.0
        self.losses, self.metrics = [], []  # one loss a step, one row of metrics an epoch
        self._count_time()

    def _encode(self, pairs):
        return [tuple(map(self.vocabulary.encode, pair)) for pair in pairs]

    @property
    def finished(self):
        return self.at["tokens"] >= self.config.tokens or self.at["stale"] >= self.config.patience

    def fit(self):
        """Train until the budget is spent or validation BLEU has stopped rising; the best model as a Run."""
        self.clock = time.process_time()
        self._open()
        options = {"unit": "tok", "unit_scale": True, "leave": False, "disable": not self.progress}
        options["mininterval"] = 2.0  # seconds; a reader of notebooks may lose messages that crowd
        with tqdm(total=self.config.tokens, initial=self.at["tokens"], **options) as bar:
            while not self.finished or self.at["position"]:  # an open epoch is still to be judged
                self._epoch(bar)
                self._evaluate(bar)
                self._save()
        if self.world > 1:
            dist.barrier()  # the best model is on disk before any process reads it
        run = Run.load(self.folder, device=self.device, slot=self.slot)
        if self.temporary:
            self.temporary.cleanup()
        return run

    def _epoch(self, bar):
        """Every batch of the epoch that is still to come, or as many as the budget allows."""
        order = torch.Generator().manual_seed(((self.config.seed << 20) + self.at["epoch"]) % 2**63)
        groups = bucket(self.train, max_tokens=self.config.batch_tokens, generator=order)
        for group in groups[self.at["position"] :]:
            if self.finished:
                break
            tokens = sum(len(self.train[i][1]) + 1 for i in group)
            self.losses.append(self._step(group, tokens))
            self.at["position"] += 1
            self.at["tokens"] += tokens
            bar.update(tokens)
            bar.set_postfix(loss=f"{self.losses[-1]:.2f}", refresh=False)
            if len(self.losses) % self.save_every == 0:
                self._save()

    def _step(self, group, tokens):
        """One update on the pairs in group, which hold `tokens` target subwords; loss per subword."""
        step, config = len(self.losses) + 1, self.config
        self.model.train()
        torch.manual_seed(((config.seed << 40) + (step << 8) + self.rank) % 2**63)
        mine = group[self.rank :: self.world]
        batch = collate([self.train[i] for i in mine or group[:1]], self.device)
        with torch.autocast("cuda", torch.bfloat16, enabled=self.device.type == "cuda"):
            total = loss_sum(self.parallel, batch, smoothing=config.smoothing) * bool(mine)
        self.optimiser.zero_grad()
        (total * self.world / tokens).backward()  # processes average their gradients: undo it
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        for part in self.optimiser.param_groups:
            part["lr"] = rate_at(step, self.at["tokens"] / config.tokens, config)
        self.optimiser.step()
        total = total.detach()
        if self.world > 1:
            dist.all_reduce(total)
        return total.item() / tokens

    def _evaluate(self, bar):
        """Close the epoch: a row of metrics, the best model kept, the count towards early stopping."""
        scores = [self._validate() if self.rank == 0 else None]
        if self.world > 1:
            dist.broadcast_object_list(scores)
        steps = self.at["position"]
        self.at.update(epoch=self.at["epoch"] + 1, position=0, stale=self.at["stale"] + 1)
        loss = sum(self.losses[-steps:]) / steps
        self._count_time()
        self.metrics.append(
            {"epoch": self.at["epoch"], "steps": len(self.losses), "tokens": self.at["tokens"]}
            | {"loss": loss, "cpu_seconds": self.at["cpu_seconds"], **scores[0]}
        )
        bar.set_postfix(loss=f"{loss:.2f}", bleu=f"{scores[0]['bleu']:.1f}")
        if scores[0]["bleu"] > self.at["best"]:
            self.at.update(best=scores[0]["bleu"], stale=0)
            self._write("best.pt", self.model.state_dict())

    def _validate(self):
        """Validation BLEU of greedy search, and perplexity per subword with teacher forcing."""
        run = Run(self.model.eval(), self.vocabulary)
        hypotheses = run.translate([source for source, _ in self.corpus.val])
        bleu = scoring.score(hypotheses, [target for _, target in self.corpus.val])["bleu"]
        return {"bleu": bleu, "perplexity": scoring.perplexity(self.model, self.val)}

    def _count_time(self):
        now = time.process_time()
        self.at["cpu_seconds"] += now - self.clock
        self.clock = now

    def _open(self):
        """Start the folder, or take up the run that was left in it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if (self.folder / "last.pt").exists():
                return self._take_up(self.folder / "last.pt")
            if self.rank == 0:
                self.vocabulary.save(self.folder / "vocabulary.json")
                write_json(self.folder / "config.json", asdict(self.config))
        except OSError as error:
            raise DataError(f"{self.folder} cannot be used ({type(error).__name__}).") from error

    def _take_up(self, path):
        try:
            saved = torch.load(path, map_location=self.device, weights_only=True)
            if saved["config"] == asdict(self.config):
                self.model.load_state_dict(saved["model"])
                self.optimiser.load_state_dict(saved["optimiser"])
                self.at, self.losses, self.metrics = saved["at"], saved["losses"], saved["metrics"]
                return
        except Exception as error:  # a damaged file fails in many ways
            raise DataError(
                f"{path} is damaged ({type(error).__name__}): delete it to start the run again."
            ) from error
        raise DataError(f"{self.folder} holds a run with other settings: choose another folder.")

    def _save(self):
        self._count_time()
        state = {"config": asdict(self.config), "model": self.model.state_dict()}
        state |= {"optimiser": self.optimiser.state_dict(), "at": self.at}
        self._write("last.pt", state | {"losses": self.losses, "metrics": self.metrics})
        if self.rank == 0:
            write_json(self.folder / "metrics.json", self.metrics)

    def _write(self, name, state):
        """Only one process writes, aside first: a kill leaves the old file or the new one."""
        if self.rank == 0:
            torch.save(state, self.folder / "aside.pt")
            os.replace(self.folder / "aside.pt", self.folder / name)
