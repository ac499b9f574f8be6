"""The parts of a translator that 09 builds, as the course would write them, and what joins them.

Shapes: B sentences, S German and T English subwords, D the width, V = num_tokens. Masks are boolean,
True = a real place.
"""

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from attn_course.atomic_file import replaced
from attn_course.errors import UserError
from attn_course.recorded_runs import read_json, write_json
from attn_course.translation import scoring
from attn_course.translation.corpora import embedded, multi30k
from attn_course.translation.vocabulary import BOS, EOS, PAD, Pair, Vocabulary, encode_corpus
from attn_utils.layers import (
    SLOTS,
    AdditiveAttention,
    BilinearAttention,
    DotAttention,
    MeanAttention,
    NoAttention,
)

__all__ = [
    "AdditiveAttention",
    "BilinearAttention",
    "Decoder",
    "DotAttention",
    "Encoder",
    "MeanAttention",
    "NoAttention",
    "Translator",
    "batches_of",
    "collate",
    "fit",
    "greedy_search",
    "masked_loss",
    "pad_batch",
    "record",
    "train",
    "translate",
]
State = tuple[Tensor, ...]  # of the decoder, each tensor with the batch first
LONGEST = 100  # subwords of a translation


def pad_batch(sentences: Sequence[Sequence[int]], pad: int) -> tuple[Tensor, Tensor]:
    """Lists of ids -> ids (B, S), filled up with `pad`, and their mask (B, S)."""
    rows = [torch.tensor(sentence) for sentence in sentences]
    lengths = torch.tensor([len(row) for row in rows])
    ids = pad_sequence(rows, batch_first=True, padding_value=pad)
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


class Encoder(nn.Module):
    """A GRU in each direction; neither padding nor the other sentences change what it returns."""

    def __init__(self, num_tokens: int, width: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.embed = nn.Embedding(num_tokens, width)
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """ids (B, S), mask (B, S) -> memory (B, S, D) and the decoder's first state (B, D)."""
        lengths = mask.sum(1).cpu()  # packing reads them there
        embedded = self.dropout(self.embed(ids))  # (B, S, D)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = self.gru(packed)  # last: (2, B, D / 2)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=ids.shape[1])
        ends = torch.cat([last[0], last[1]], -1)  # (B, D)
        return self.norm(self.dropout(memory)), self.bridge(ends).tanh()


class Decoder(nn.Module):
    """A GRU that reads the last word and the vector it was fed by the step before (input feeding)."""

    def __init__(
        self, num_tokens: int, width: int, attention: nn.Module, *, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(num_tokens, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.attention = attention
        self.combine = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, num_tokens)
        self.dropout = nn.Dropout(dropout)

    def step(
        self, tokens: Tensor, state: State, memory: Tensor, mask: Tensor
    ) -> tuple[Tensor, State, Tensor]:
        """tokens (B,), state, memory (B, S, D), mask (B, S) -> logits (B, V), state, weights (B, S)."""
        hidden, fed = state
        word = self.dropout(self.embed(tokens))  # (B, D)
        hidden = self.cell(torch.cat([word, fed], -1), hidden)
        query = self.norm(hidden)
        context, weights = self.attention(query.unsqueeze(1), memory, mask)
        joined = torch.cat([query, context[:, 0]], -1)  # (B, 2D)
        fed = self.dropout(self.combine(joined).tanh())
        return self.out(fed), (hidden, fed), weights[:, 0]

    def forward(self, inputs: Tensor, state: State, memory: Tensor, mask: Tensor) -> Tensor:
        """inputs (B, T), state, memory (B, S, D), mask (B, S) -> logits (B, T, V)."""
        rows = []
        for tokens in inputs.unbind(1):
            logits, state, _ = self.step(tokens, state, memory, mask)
            rows.append(logits)
        return torch.stack(rows, 1)


def masked_loss(logits: Tensor, targets: Tensor, pad: int, smoothing: float = 0.0) -> Tensor:
    """logits (B, T, V), targets (B, T) -> the mean cross-entropy of all targets that are not `pad`."""
    return F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad, label_smoothing=smoothing
    )


def train(
    model: nn.Module,
    batches: Iterable[Any],
    loss_of: Callable[[nn.Module, Any], Tensor],
    optimiser: torch.optim.Optimizer,
    clip: float,
) -> list[float]:
    """Make one update for each batch; return the loss of each."""
    model.train()
    losses = []
    for batch in batches:
        optimiser.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimiser.step()
        losses.append(loss.item())
    return losses


def greedy_search(
    step: Callable[[Tensor, Any], tuple[Tensor, Any]], num_sentences: int, max_length: int
) -> Tensor:
    """step(last (B,), state) -> logits (B, V), state. Returns tokens (B, T), T <= max_length."""
    last = torch.full((num_sentences,), BOS)
    done = torch.zeros(num_sentences, dtype=torch.bool)
    state = None
    columns: list[Tensor] = []
    while len(columns) < max_length and not done.all():
        logits, state = step(last, state)
        last = logits.argmax(-1).masked_fill(done, PAD)
        done = done | (last == EOS)
        columns.append(last)
    return torch.stack(columns, 1)


class Translator(nn.Module):
    """An encoder and a decoder, joined."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    def start(self, source: Tensor, mask: Tensor) -> tuple[Tensor, State]:
        """source (B, S), mask (B, S) -> memory (B, S, D) and (hidden (B, D), nothing fed yet)."""
        memory, state = self.encoder(source, mask)
        return memory, (state, torch.zeros_like(state))

    def forward(self, source: Tensor, mask: Tensor, inputs: Tensor) -> Tensor:
        """source (B, S), mask (B, S), inputs (B, T) -> logits (B, T, V), with teacher forcing."""
        memory, state = self.start(source, mask)
        return self.decoder(inputs, state, memory, mask)


def collate(
    pairs: Sequence[Pair], pad_batch: Callable[..., tuple[Tensor, Tensor]] = pad_batch
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pairs of ids -> source (B, S), mask (B, S), inputs (B, T) from BOS on, targets (B, T) up to EOS."""
    source, mask = pad_batch([[*german, EOS] for german, _ in pairs], PAD)
    inputs, _ = pad_batch([[BOS, *english] for _, english in pairs], PAD)
    targets, _ = pad_batch([[*english, EOS] for _, english in pairs], PAD)
    return source, mask, inputs, targets


def batches_of(
    pairs: Sequence[Pair], size: int, generator: torch.Generator
) -> Iterator[list[Pair]]:
    """Yield batches of `size` pairs of similar length, in random order, without end."""
    while True:
        shuffled = [pairs[i] for i in torch.randperm(len(pairs), generator=generator).tolist()]
        shuffled.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        groups = [shuffled[i : i + size] for i in range(0, len(shuffled), size)]
        for i in torch.randperm(len(groups), generator=generator).tolist():
            yield groups[i]


@torch.inference_mode()
def translate(
    model: Any,
    sentences: Sequence[str],
    vocabulary: Vocabulary,
    *,
    pad_batch: Callable[..., tuple[Tensor, Tensor]] = pad_batch,
    search: Callable[..., Tensor] = greedy_search,
) -> list[str]:
    """Translate sentences in one batch, by a search that calls one step of the decoder after another."""
    model.eval()
    device = next(model.parameters()).device
    ids, mask = pad_batch([[*vocabulary.encode(text), EOS] for text in sentences], PAD)
    mask = mask.to(device)
    memory, first = model.start(ids.to(device), mask)

    def step(last: Tensor, state: State | None) -> tuple[Tensor, State]:
        """Run a step of the model, wherever it is, for a search on the CPU."""
        state = first if state is None else state
        last = torch.as_tensor(last).flatten().to(device)
        logits, state, _ = model.decoder.step(last, state, memory, mask)
        return logits.float().cpu(), state

    tokens = torch.as_tensor(search(step, len(sentences), LONGEST)).long()
    return [vocabulary.decode(row) for row in tokens.tolist()]


def fit(
    name: str,
    model: nn.Module,
    pairs: Sequence[Pair],
    loss_of: Callable[[nn.Module, Any], Tensor],
    optimiser: torch.optim.Optimizer,
    *,
    steps: int,
    batch_size: int = 32,
    seed: int = 1,
    train: Callable[..., list[float]] = train,
    pad_batch: Callable[..., tuple[Tensor, Tensor]] = pad_batch,
    clip: float = 1.0,
    pieces: int = 4,
    folder: str | Path | None = None,
) -> list[float]:
    """Train in a few pieces, and say before the first one how long it may take.

    folder: keeps model, optimiser and losses of the pieces that are done, in NAME.pt; the same call then
    goes on behind them.
    """

    def batches() -> Iterator[Any]:
        groups = batches_of(pairs, batch_size, torch.Generator().manual_seed(seed))
        return (collate(group, pad_batch) for group in groups)

    path = Path(folder) / f"{name}.pt" if folder else None
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
    losses: list[float] = []
    text = hashlib.sha256(repr((list(pairs), batch_size, seed)).encode()).hexdigest()
    if path and path.exists():
        losses = _restored(path, model, optimiser, text)
    stream = islice(batches(), len(losses), None)
    if len(losses) < steps:
        per_step = _seconds_of_step(model, loss_of, list(islice(batches(), 3)))
        left = steps - len(losses)
        print(f"{name}: {left} steps, about {1.1 * left * per_step:.0f} s on this machine")
    while len(losses) < steps:
        count = min(-(-steps // pieces), steps - len(losses))
        new_losses = train(model, islice(stream, count), loss_of, optimiser, clip)
        losses = [*losses, *map(float, new_losses)]
        if path:
            kept = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "text": text}
            with replaced(path) as new:
                torch.save(kept | {"losses": losses, "random": torch.get_rng_state()}, new)
    return losses


def _restored(path, model, optimiser, text):
    """Load model, optimiser and random state from a file of `fit`; return the losses so far."""
    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
        if kept["text"] != text:
            raise ValueError("other text")
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        torch.set_rng_state(kept["random"])
        losses: list[float] = kept["losses"]
    except Exception as error:  # each part of a broken file fails in its own way
        kind = type(error).__name__
        raise UserError(
            f"{path} is damaged, or belongs to another model or other text ({kind}): delete it, or name "
            "another folder."
        ) from error
    return losses


def _seconds_of_step(model, loss_of, batches):
    """Return how long the loss of a batch and its gradient take; nothing is changed."""
    with torch.random.fork_rng():
        loss_of(model, batches[0]).backward()  # the first one is slower
        start = time.perf_counter()
        for batch in batches:
            loss_of(model, batch).backward()
        elapsed = time.perf_counter() - start
    model.zero_grad()
    return elapsed / len(batches)


SETTINGS: dict[str, dict[str, Any]] = {  # of the runs that are recorded
    "embedded": {"vocabulary": 1000, "width": 128, "batch": 32, "steps": 340, "rate": 3e-3},
    "multi30k": {"vocabulary": 3000, "width": 128, "batch": 32, "steps": 700, "rate": 3e-3},
}
SEEDS = {"none": (1, 2, 3), "mean": (1,), "dot": (1, 2, 3), "additive": (1, 2, 3)}
CAPTION = "Ein Mann mit einem orangefarbenen Hut, der etwas anstarrt."
LONGEST_PAIR = 40  # subwords, of the captions that are trained on


def record(options: SimpleNamespace) -> dict[str, Any]:
    """Train and score: the invented scenes with three seeds and with three mistakes, Multi30k with one seed.

    options: data, the folder of Multi30k's raw files; folder, which keeps what is done.
    """
    scenes = embedded(num_train=2700, num_val=200, num_test=200)
    captions = multi30k(options.data)

    def kept(name: str, *job: Any, **changes: Any) -> dict[str, Any]:
        path = options.folder / f"{name}.json"
        if not path.exists():
            write_json(path, _trained(*job, **changes))
        result: dict[str, Any] = read_json(path)
        return result

    def of_scenes(name: str, slot: type, seed: int = 1, **changes: Any) -> dict[str, Any]:
        return kept(f"{name} {seed}", "embedded", scenes, slot, seed, **changes)

    scored = {
        name: [of_scenes(name, SLOTS[name], seed) for seed in seeds]
        for name, seeds in SEEDS.items()
    }
    mistakes = {
        "additive without tanh": of_scenes("no tanh", WithoutTanh),
        "inputs one ahead": of_scenes("ahead", SLOTS["dot"], collate=_one_ahead),
        "padding not masked": of_scenes("unmasked", SLOTS["dot"], pad_batch=_without_mask),
    }
    real = {
        name: kept(f"multi30k {name}", "multi30k", captions, SLOTS[name], 1)
        for name in ("none", "dot", "additive")
    }
    runs = [*chain(*scored.values()), *mistakes.values(), *real.values()]
    return {
        "cpu_seconds": round(sum(run["cpu_seconds"] for run in runs), 1),
        "settings": SETTINGS,
        "embedded": scored,
        "mistakes": mistakes,
        "multi30k": real,
    }


class WithoutTanh(AdditiveAttention):
    """Additive attention without tanh, a mistake that is recorded."""

    def forward(self, queries: Tensor, memory: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """queries (B, T, D), memory (B, S, D), mask (B, S) -> context (B, T, D), weights (B, T, S)."""
        pairs = self.query(queries)[:, :, None] + self.key(memory)[:, None]
        scores = self.score(pairs).squeeze(-1)  # (B, T, S)
        weights = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
        return weights @ memory, weights


def _one_ahead(pairs, pad_batch):
    """Return a batch whose decoder reads the very word that it has to predict, a mistake that is recorded."""
    source, mask, _, targets = collate(pairs, pad_batch)
    return source, mask, targets, targets


def _without_mask(sentences, pad):
    """Return a batch whose mask shows the padding, a mistake that is recorded."""
    ids, mask = pad_batch(sentences, pad)
    return ids, torch.ones_like(mask)


def _trained(corpus_name, corpus, slot, seed, *, collate=collate, pad_batch=pad_batch):
    """Return the scores of one translator, and the CPU seconds of its training."""
    setting = SETTINGS[corpus_name]
    vocabulary, pairs, validation = encode_corpus(corpus, size=setting["vocabulary"])
    pairs = [pair for pair in pairs if max(map(len, pair)) <= LONGEST_PAIR]
    V, D = len(vocabulary), setting["width"]
    attention = slot(D)
    torch.manual_seed(seed)
    for layer in attention.children():
        layer.reset_parameters()  # to torch's own start, from which a student's layers begin
    model = Translator(Encoder(V, D), Decoder(V, D, attention))
    optimiser = torch.optim.Adam(model.parameters(), lr=setting["rate"])
    generator = torch.Generator().manual_seed(seed)
    batches = batches_of(pairs, setting["batch"], generator)
    stream = (collate(batch, pad_batch) for batch in islice(batches, setting["steps"]))
    start = time.process_time()
    losses = train(model, stream, _loss_of, optimiser, 1.0)
    seconds = time.process_time() - start

    sources, references = map(list, zip(*corpus.test, strict=True))
    written = translate(model, sources, vocabulary, pad_batch=pad_batch)
    scores = scoring.score(written, references)
    validation_batches = [
        collate(validation[i : i + 100], pad_batch) for i in range(0, len(validation), 100)
    ]
    result = {
        "seed": seed,
        "num_parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(seconds, 1),
        "loss": round(sum(losses[-20:]) / 20, 3),
        "validation_loss": round(_mean_loss(model, validation_batches), 3),
        "bleu": round(scores["bleu"], 1),
        "signature": scores["signature"].partition(";")[0],
    }
    if corpus_name == "multi30k":
        result["caption"] = CAPTION
        result["translation"] = translate(model, [CAPTION], vocabulary)[0]
    return result


def _loss_of(model, batch):
    source, mask, inputs, targets = batch
    return masked_loss(model(source, mask, inputs), targets, PAD)


@torch.inference_mode()
def _mean_loss(model, batches):
    """Return the mean cross-entropy of all subwords of these batches."""
    model.eval()
    counts = [int((targets != PAD).sum()) for *_, targets in batches]
    losses = [_loss_of(model, batch).item() for batch in batches]
    return sum(n * loss for n, loss in zip(counts, losses, strict=True)) / sum(counts)
