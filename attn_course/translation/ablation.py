"""Attention changed at test time, and what each change costs in BLEU.

A setting is a text of words. `cross*0.25` multiplies the scores of the cross-attention by 0.25 (0 is the
mean of all keys), `cross-scale` leaves 1/sqrt(d) out, `cross-heads` switches all heads off and `cross-1.2`
the second head of the first layer, `encoder-positions` leaves the rotation out, `-causal` removes the causal
mask, `pads=5` appends five PAD to each source and `-padding` removes the mask over them. The empty text
changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attn_course import recorded_runs
from attn_course.errors import UserError
from attn_course.recorded_runs import read_json, write_json
from attn_course.translation import scoring
from attn_course.translation.bundled import FOLDER, open_run
from attn_course.translation.config import BEAM
from attn_course.translation.corpora import load
from attn_course.translation.trained_translator import Run
from attn_course.translation.transformer import CrossMemory, TransformerTranslator, state_of
from attn_course.translation.vocabulary import PAD
from attn_utils import attend, rotate
from attn_utils.layers import Cache, merge_heads, split_heads

PLACES = ("encoder", "decoder", "cross")
CHANGES = ("*0", "*0.25", "*0.5", "*2", "*4", "-scale", "*16", "-heads")
NUM_PADS = (1, 5, 20)
NUM_SAMPLES = 2000  # of the bootstrap
SEED = 0  # of the bootstrap


def settings_of(model: TransformerTranslator) -> list[str]:
    """Return the settings whose BLEU is recorded: one change at a time, in one place or in all of them.

    Of single heads those of the decoder are recorded, where one head matters, and of cross-attention.
    """
    settings = [""]
    for change in CHANGES:
        settings += [place + change for place in PLACES]
        settings.append(" ".join(place + change for place in PLACES))
    settings += ["encoder-positions", "decoder-positions", "encoder-positions decoder-positions"]
    settings.append("-causal")
    settings += [f"pads={number} -padding" for number in NUM_PADS]
    settings.append(f"pads={NUM_PADS[-1]}")
    for place in ("decoder", "cross"):
        for number, layer in enumerate(model.decoder, 1):
            heads = range(1, layer.attention.num_heads + 1)
            settings += [f"{place}-{number}.{head}" for head in heads]
    return settings


@dataclass
class Change:
    """What is changed in one place. off: heads as "layer.head", counted from 1, or "heads" for all."""

    factor: float = 1.0
    scale: bool = True
    positions: bool = True
    off: set[str] = field(default_factory=set)


@dataclass
class AblationSetting:
    """A setting, read from its text."""

    encoder: Change = field(default_factory=Change)
    decoder: Change = field(default_factory=Change)
    cross: Change = field(default_factory=Change)
    causal: bool = True
    padding_mask: bool = True
    num_pads: int = 0

    @classmethod
    def parse(cls, text: str) -> "AblationSetting":
        """Return the setting that a text describes.

        >>> AblationSetting.parse("cross*0 -causal").cross.factor
        0.0
        """
        setting = cls()
        for word in text.split():
            try:
                setting._read(word)
            except (ValueError, AttributeError):
                raise UserError(f"{word!r} is not a change of attention that is known.") from None
        return setting

    def _read(self, word):
        if word == "-causal":
            self.causal = False
        elif word == "-padding":
            self.padding_mask = False
        elif word.startswith("pads="):
            self.num_pads = int(word.removeprefix("pads="))
        elif "*" in word:
            heads, factor = word.split("*")
            getattr(self, heads).factor = float(factor)
        else:
            heads, part = word.split("-")
            change = getattr(self, heads)
            if part in ("scale", "positions"):
                setattr(change, part, False)
            else:
                change.off.add(part)


class AblatedTranslator(nn.Module):
    """A trained Transformer whose attention follows a setting; searches call it as they call the model."""

    def __init__(self, model: TransformerTranslator, setting: str = "") -> None:
        super().__init__()
        self.model = model
        self.setting = AblationSetting.parse(setting)

    def encode(self, source: Tensor, lengths: Tensor) -> CrossMemory:
        """source (B, S), lengths (B,) -> CrossMemory of S + num_pads keys."""
        model = self.model
        num_pads = self.setting.num_pads
        source = nn.functional.pad(source, (0, num_pads), value=PAD)
        seen = lengths + (0 if self.setting.padding_mask else num_pads)
        positions = torch.arange(source.shape[1], device=source.device)
        mask = positions < seen[:, None].to(source.device)
        x = model._embedded(source)
        for number, layer in enumerate(model.encoder, 1):
            x = x + self._self_attention("encoder", number, layer, x, Cache(), mask[:, None, None])
            x = x + layer.mlp(layer.before_mlp(x))
        states = model.memory_norm(x)
        pairs = [layer.cross_attention.keys_and_values(states) for layer in model.decoder]
        return CrossMemory(torch.cat(pairs), mask)

    def decode(
        self, inputs: Tensor, memory: CrossMemory, state: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Read one more target token, (B, 1) -> logits (B, 1, V), weights (B, 1, S) and the new state.

        The weights of added PAD are left out. With the causal mask the state is the keys and values so far,
        (2L, B, H, t, d). Without it a new token changes what all earlier ones see: the state is the tokens,
        (1, B, t), and all of them are computed again.
        """
        model = self.model
        if not self.setting.causal:
            inputs = inputs if state is None else torch.cat([state[0], inputs], 1)
            state = None
        x = model._embedded(inputs)
        caches = model.caches_of(state)
        crosses = memory.cross.split(2)
        for number, layer in enumerate(model.decoder, 1):
            x = x + self._self_attention("decoder", number, layer, x, caches[number - 1], None)
            cross = layer.cross_attention
            q = split_heads(cross.query(layer.before_cross(x)), cross.num_heads)
            keys, values = crosses[number - 1]
            context = self._attend("cross", number, q, keys, values, memory.mask[:, None, None])
            x = x + cross.out(merge_heads(context))
            x = x + layer.mlp(layer.before_mlp(x))
        x = model.output_norm(x[:, -1:])
        logits = nn.functional.linear(x, model.embed.weight, model.bias)
        new = state_of(caches) if self.setting.causal else inputs[None]
        num_words = memory.mask.shape[1] - self.setting.num_pads
        return logits, self._weights[:, :, -1:, :num_words].mean(1), new

    def _self_attention(self, place, number, layer, x, cache, mask):
        """Return the vector that the self-attention of a layer adds to x (B, T, D)."""
        attention = layer.attention
        x = layer.before_attention(x)
        projections = (attention.query, attention.key, attention.value)
        new = [split_heads(project(x), attention.num_heads) for project in projections]
        cache.rotate = rotate if getattr(self.setting, place).positions else None
        q, k, v = cache.extend(*new)
        context = self._attend(place, number, q, k, v, mask)
        return attention.out(merge_heads(context))

    def _attend(self, place, layer, q, k, v, mask):
        """Return the context of every head, zero for those that are off."""
        change = getattr(self.setting, place)
        H, d = q.shape[1], q.shape[-1]
        scale = change.factor * (d**-0.5 if change.scale else 1.0)
        context, weights = attend(q, k, v, mask=mask, scale=scale)
        on = [
            "heads" not in change.off and f"{layer}.{head}" not in change.off
            for head in range(1, H + 1)
        ]
        gates = torch.tensor(on, dtype=q.dtype, device=q.device)[:, None, None]
        self._weights = weights * gates
        return context * gates


def record(folder: Path, data: str | None = None) -> dict[str, Any]:
    """Record how much each setting costs the bundled model on Multi30k's test set, with a beam of 5.

    folder: where the translations under each setting are kept; those that are there are not made again.
    data: the folder of Multi30k's raw files, if it is not to be downloaded.
    """
    run = open_run(device="cpu")
    sources, references = zip(*load("multi30k", data=data).test, strict=True)
    assert isinstance(run.model, TransformerTranslator)
    settings = settings_of(run.model)
    num_kept = 0
    for setting in settings:
        path = folder / f"{setting or 'intact'}.json"
        if path.exists():
            num_kept += 1
            continue
        changed = Run(AblatedTranslator(run.model, setting), run.vocabulary)
        hypotheses = changed.translate(sources, beam_size=BEAM)
        counts = scoring.counts(hypotheses, references)
        write_json(path, {"hypotheses": hypotheses, "counts": counts.tolist()})
    return {
        "model": read_json(FOLDER / "record.json")["command"],
        "test": f"{len(sources):,} sentences of Multi30k, test 2016",
        "beam": BEAM,
        "made by an earlier start of the command": num_kept,  # not in its CPU seconds
        "bootstrap": {"samples": NUM_SAMPLES, "seed": SEED},
        "settings": summarise(folder, settings),
    }


def summarise(folder: Path, settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return {setting: BLEU, its 95% interval, its loss against the intact model, ...} of what `record` kept.

    The intervals are those of a bootstrap over sentences, the second one paired.
    """
    intact = read_json(folder / "intact.json")
    whole = np.array(intact["counts"])
    evenly = np.full(len(whole), 1 / len(whole))
    picks = np.random.default_rng(SEED).multinomial(len(whole), evenly, NUM_SAMPLES)
    table = {}
    for setting in settings:
        kept = read_json(folder / f"{setting or 'intact'}.json")
        counts = np.array(kept["counts"])
        lost = scoring.bootstrap(counts, whole, np.random.default_rng(SEED), NUM_SAMPLES)
        interval = np.quantile(scoring.bleu_of_counts(picks @ counts), [0.025, 0.975])
        pairs = zip(kept["hypotheses"], intact["hypotheses"], strict=True)
        table[setting] = {
            "bleu": round(float(scoring.bleu_of_counts(counts.sum(0))), 2),
            "interval": interval.round(2).tolist(),
            "lost": round(float(lost[0]), 2),
            "lost interval": [round(float(end), 2) for end in lost[1:3]],
            "changed": sum(one != other for one, other in pairs),
        }
    return table


def recorded_table(names: Mapping[str, str]) -> str:
    """Return the command, and a line for each of some recorded settings, {its name here: setting}."""
    recorded = recorded_runs.read("ablation")
    heading = f"{'test BLEU, beam of 5':36} 95% interval     lost    95% interval     changed"
    lines = [recorded["command"], heading]
    for name, setting in names.items():
        row = recorded["settings"][setting]
        bleu = "{:5.1f}  {:5.1f} to {:4.1f}".format(row["bleu"], *row["interval"])
        lost = "{:5.1f}   {:5.1f} to {:4.1f}".format(row["lost"], *row["lost interval"])
        lines.append(f"{name:30} {bleu}   {lost} {row['changed']:10}")
    return "\n".join(lines)
