"""Right and wrong answers to 9.1-9.8, each wrong one with a fragment of the message it must get."""

from functools import partial
from itertools import zip_longest

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from attn_course.translation.vocabulary import BOS, EOS, PAD
from attn_utils.layers import DotAttention, MeanAttention, NoAttention
from bank import edited

INF = torch.inf
# Helpers such as search("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 9.1


def pad_batch(sentences, pad):
    S = max(map(len, sentences))
    ids = torch.tensor([[*sentence, *[pad] * (S - len(sentence))] for sentence in sentences])
    mask = torch.tensor([[s < len(sentence) for s in range(S)] for sentence in sentences])
    return ids, mask


def padded_in_a_loop(sentences, pad):
    ids = torch.full((len(sentences), max(map(len, sentences))), pad)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = torch.tensor(sentence)
    mask = torch.zeros_like(ids, dtype=torch.bool)
    for row, sentence in zip(mask, sentences, strict=True):
        row[: len(sentence)] = True
    return ids, mask


def padded_by_torch(sentences, pad):
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    ids = pad_sequence([torch.tensor(s) for s in sentences], batch_first=True, padding_value=pad)
    return ids, torch.arange(ids.shape[1]) < lengths[:, None]


def padded_by_numpy(sentences, pad):
    ids = np.full((len(sentences), max(map(len, sentences))), pad)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(ids), torch.from_numpy(ids != pad)


def padded_by_zip(sentences, pad):
    ids = torch.tensor(list(zip_longest(*sentences, fillvalue=pad))).T
    return ids, ids != pad


def padded_in_place(sentences, pad):
    S = max(map(len, sentences))
    lengths = [len(sentence) for sentence in sentences]
    for sentence in sentences:
        while len(sentence) < S:
            sentence += [pad]
    return torch.tensor(sentences), torch.arange(S) < torch.tensor(lengths)[:, None]


rows_with = partial(edited, pad_batch)
RIGHT["9.1"] = {
    "lists": pad_batch,
    "a loop into full": padded_in_a_loop,
    "pad_sequence": padded_by_torch,
    "ids != pad": edited(
        padded_by_torch, "torch.arange(ids.shape[1]) < lengths[:, None]", "ids != pad"
    ),
    "numpy": padded_by_numpy,
    "zip_longest": padded_by_zip,
}
WRONG["9.1"] = {
    "the lists grow": (padded_in_place, "changes its argument sentences in place"),
    "time first": (
        edited(
            padded_by_torch, "batch_first=True, ", "", "return ids,", "return ids,", "[1]", "[0]"
        ),
        "pad_sequence has batch_first=True",
    ),
    "mask inverted": (rows_with("s < len", "s >= len"), "the wrong way round"),
    "padding before the words": (
        rows_with(
            "[*sentence, *[pad] * (S - len(sentence))]", "[*[pad] * (S - len(sentence)), *sentence]"
        ),
        "padding stands before the words",
    ),
    "always 0": (rows_with("[pad]", "[0]"), "the padding is 0, whatever `pad` is"),
    "cut to the shortest": (
        edited(
            padded_by_zip, "zip_longest(*sentences, fillvalue=pad)", "zip(*sentences, strict=False)"
        ),
        "words of longer sentences are cut off",
    ),
    "a fixed length": (
        rows_with("max(map(len, sentences))", "12"),
        "the longest sentence of this batch",
    ),
    "a mask of integers": (
        edited(
            padded_by_torch,
            "< lengths[:, None]",
            "< lengths[:, None]).long()",
            "torch.arange",
            "(torch.arange",
        ),
        "`~mask` and `masked_fill` need it",
    ),
    "lengths for a mask": (
        edited(padded_by_torch, "torch.arange(ids.shape[1]) < lengths[:, None]", "lengths"),
        "not lengths",
    ),
    "all True": (rows_with("s < len(sentence) for", "True for"), "True everywhere"),
    "sorted": (
        rows_with("S = max", "sentences = sorted(sentences, key=len)[::-1]\n    S = max"),
        "row i must be sentence i",
    ),
    "floats": (rows_with("return ids,", "return ids.float(),"), "the ids are floats"),
    "short integers": (rows_with("return ids,", "return ids.int(),"), "of type int32"),
    "mask first": (rows_with("return ids, mask", "return mask, ids"), "the mask came first"),
    "ids only": (rows_with("return ids, mask", "return ids"), "two tensors are expected"),
}
INPUT_KINDS["9.1"] = {
    "pad_batch": {
        "one word": lambda sentences, pad: sentences == [sentences[0][:1]],
        "no padding": lambda sentences, pad: len({*map(len, sentences)}) == 1 < len(sentences),
        "padding of another number than 0": lambda sentences, pad: pad != 0,
        "lengths that are not sorted": lambda sentences, pad: (
            sorted(map(len, sentences)) != [*map(len, sentences)]
        ),
    },
}

# 9.2


class Encoder(nn.Module):
    def __init__(self, num_tokens, width):
        super().__init__()
        self.embed = nn.Embedding(num_tokens, width)
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids, mask):
        x = self.dropout(self.embed(ids))
        packed = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
        states, last = self.gru(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        ends = torch.cat([last[0], last[1]], -1)
        return self.norm(memory), self.bridge(ends).tanh()


class SortedEncoder(Encoder):
    """Sorts by length, and puts back."""

    def forward(self, ids, mask):
        lengths, order = mask.sum(1).sort(descending=True)
        back = order.argsort()
        packed = pack_padded_sequence(self.embed(ids[order]), lengths, batch_first=True)
        states, last = self.gru(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        memory, last = memory[back], last[:, back]
        return self.norm(memory), self.bridge(torch.cat([last[0], last[1]], -1)).tanh()


class OneByOne(Encoder):
    """Each sentence alone, without norm and bridge."""

    def __init__(self, num_tokens, width):
        nn.Module.__init__(self)
        self.embed = nn.Embedding(num_tokens, width)
        self.gru = nn.GRU(width, width // 2, bidirectional=True)

    def forward(self, ids, mask):
        rows, ends = [], []
        for row, look in zip(ids, mask, strict=True):
            states, last = self.gru(self.embed(row[look]))
            rows.append(F.pad(states, (0, 0, 0, len(row) - len(states))))
            ends.append(last.flatten())
        return torch.stack(rows), torch.stack(ends)


class TwoCells(nn.Module):
    """A cell for each direction, which keeps its old state at padding."""

    def __init__(self, num_tokens, width):
        super().__init__()
        self.embed = nn.Embedding(num_tokens, width)
        self.cells = nn.ModuleList(nn.GRUCell(width, width // 2) for _ in range(2))

    def forward(self, ids, mask):
        x = self.embed(ids)
        places = range(ids.shape[1])
        states, ends = [], []
        for cell, order in zip(self.cells, (places, reversed(places)), strict=True):
            h = x.new_zeros(len(ids), cell.hidden_size)
            row = {}
            for s in order:
                h = torch.where(mask[:, s, None], cell(x[:, s], h), h)
                row[s] = h
            states.append(torch.stack([row[s] for s in places], 1))
            ends.append(h)
        return torch.cat(states, -1), torch.cat(ends, -1)


class TwoLayers(Encoder):
    """A packed LSTM of two layers."""

    def __init__(self, num_tokens, width):
        super().__init__(num_tokens, width)
        self.gru = nn.LSTM(width, width // 2, 2, batch_first=True, bidirectional=True)

    def forward(self, ids, mask):
        packed = pack_padded_sequence(
            self.embed(ids), mask.sum(1), batch_first=True, enforce_sorted=False
        )
        states, (last, _) = self.gru(packed)
        memory, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        return self.norm(memory), self.bridge(torch.cat([last[-2], last[-1]], -1)).tanh()


class Flipped(Encoder):
    """A forward GRU reads the words, another one reads them flipped in front of the padding."""

    def __init__(self, num_tokens, width):
        super().__init__(num_tokens, width)
        self.gru, self.back = (nn.GRU(width, width // 2, batch_first=True) for _ in range(2))

    def forward(self, ids, mask):
        x, lengths = self.embed(ids), mask.sum(1)
        places = torch.arange(ids.shape[1]).expand_as(ids)
        flip = torch.where(mask, lengths[:, None] - 1 - places, places)[..., None]
        forward, _ = self.gru(x)
        flipped, _ = self.back(x.gather(1, flip.expand_as(x)))
        ends = torch.cat([forward, flipped], -1)[torch.arange(len(ids)), lengths - 1]
        memory = torch.cat([forward, flipped.gather(1, flip.expand_as(flipped))], -1)
        return self.norm(memory), self.bridge(ends).tanh()


class ForwardOnly(Encoder):
    def __init__(self, num_tokens, width):
        super().__init__(num_tokens, width)
        self.gru = nn.GRU(width, width, batch_first=True)

    def forward(self, ids, mask):
        states, _ = self.gru(self.embed(ids))
        last = states[torch.arange(len(ids)), mask.sum(1) - 1]
        return self.norm(states), self.bridge(last).tanh()


class WordsAlone(Encoder):
    def forward(self, ids, mask):
        x = self.embed(ids)
        _, state = Encoder.forward(self, ids, mask)
        return self.norm(x), state


class TimeFirst(Encoder):
    """The GRU reads along the batch."""

    def __init__(self, num_tokens, width):
        super().__init__(num_tokens, width)
        self.gru = nn.GRU(width, width // 2, bidirectional=True)

    def forward(self, ids, mask):
        states, _ = self.gru(self.embed(ids))
        memory = self.norm(states)
        state = (memory * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return memory, self.bridge(state).tanh()


encoder = partial(edited, Encoder)
PACKED = (
    "packed = pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)",
    "memory, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])",
)
unpacked = partial(encoder, PACKED[0], "packed = x", PACKED[1])
RIGHT["9.2"] = {
    "packed": Encoder,
    "sorted and put back": SortedEncoder,
    "sentence by sentence": OneByOne,
    "two cells": TwoCells,
    "an LSTM of two layers": TwoLayers,
    "flipped for a second GRU": Flipped,
    "the state is the maximum of the memory": encoder(
        "ends = torch.cat([last[0], last[1]], -1)",
        "ends = memory.masked_fill(~mask[..., None], -INF).amax(1)",
    ),
    "the state is the mean of the memory": encoder(
        "ends = torch.cat([last[0], last[1]], -1)",
        "ends = (memory * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)",
    ),
}
WRONG["9.2"] = {
    "not packed": (unpacked("memory = states"), "padding changes the memory at real places by"),
    "inputs times mask": (
        unpacked("memory = states", "self.embed(ids))", "self.embed(ids)) * mask[..., None]"),
        "the backward GRU starts in the padding",
    ),
    "outputs times mask": (
        unpacked("memory = states * mask[..., None]"),
        "keep the old state where the mask is False",
    ),
    "forward only": (
        ForwardOnly,
        "the first place of the memory does not change with the last word",
    ),
    "words alone": (WordsAlone, "a place of the memory knows its own word alone"),
    "sorted, not put back": (
        edited(SortedEncoder, "memory[back], last[:, back]", "memory, last"),
        "undo the sorting",
    ),
    "enforce_sorted": (encoder(", enforce_sorted=False", ""), "enforce_sorted=False"),
    "the state reshaped": (
        encoder("torch.cat([last[0], last[1]], -1)", "last.reshape(len(ids), -1)"),
        "join last[0] and last[1] along the features",
    ),
    "the last place": (
        encoder("torch.cat([last[0], last[1]], -1)", "memory[:, -1]"),
        "the state of a shorter sentence does not depend on its words",
    ),
    "no total_length": (encoder(", total_length=ids.shape[1]", ""), "a total_length"),
    "no batch_first": (TimeFirst, "reads along the batch"),
    "F.dropout": (
        encoder("self.dropout(self.embed(ids))", "F.dropout(self.embed(ids), 0.1)"),
        "two runs on the same batch in eval() differ",
    ),
    "two states": (
        encoder(
            "return self.norm(memory), self.bridge(ends).tanh()", "return self.norm(memory), last"
        ),
        "join the last states of both directions",
    ),
    "twice the width": (
        encoder(
            "width // 2",
            "width",
            "nn.Linear(width, width)",
            "nn.Linear(2 * width, width)",
            "nn.LayerNorm(width)",
            "nn.LayerNorm(2 * width)",
        ),
        "each direction gets half of the width",
    ),
    "the memory detached": (
        encoder("return self.norm(memory)", "return self.norm(memory).detach()"),
        "no gradient flows back from the memory",
    ),
    "the state of the backward direction": (
        encoder("torch.cat([last[0], last[1]], -1)", "torch.cat([last[1], last[1]], -1)"),
        "the state is made of one direction alone",
    ),
    "the state of one word": (
        encoder("self.bridge(ends)", "self.bridge(x[:, 0])"),
        "the state does not change with the last word",
    ),
    "ids for a mask": (
        encoder("mask.sum(1)", "(ids != 0).sum(1)"),
        "the mask says what is real, not the id",
    ),
    "a layer in a list": (
        encoder(
            "self.norm = nn.LayerNorm(width)",
            "self.norms = [nn.LayerNorm(width)]",
            "self.norm(memory)",
            "self.norms[0](memory)",
        ),
        "a layer with a weight of shape (8,) is no submodule",
    ),
    "a layer made in forward": (
        encoder("self.bridge(ends)", "nn.Linear(ends.shape[1], ends.shape[1])(ends)"),
        "make each layer in `__init__`",
    ),
    "a frozen embedding": (
        encoder(
            "self.norm = nn.LayerNorm(width)",
            "self.norm = nn.LayerNorm(width)\n        self.embed.requires_grad_(False)",
        ),
        "no gradient reaches embed.weight",
    ),
    "the state at every place": (
        encoder("self.norm(memory)", "self.norm(ends[:, None].expand_as(memory))"),
        "the memory is the same at all places",
    ),
    "the state is the mean of all places": (
        encoder("ends = torch.cat([last[0], last[1]], -1)", "ends = memory.mean(1)"),
        "the state is made of padding, too",
    ),
    "a norm over places": (
        encoder("self.norm(memory)", "F.layer_norm(memory, memory.shape[1:]) + self.norm(memory)"),
        "A mean or a norm over the places",
    ),
}


def of_batches(belongs):
    """Of one of the batches (ids, mask) that an encoder is run on."""
    return lambda num_tokens, width, batches: any(belongs(ids, mask) for ids, mask in batches)


INPUT_KINDS["9.2"] = {
    "Encoder": {
        "one sentence": of_batches(lambda ids, mask: len(ids) == 1),
        "lengths that are not sorted": of_batches(
            lambda ids, mask: (np.diff(mask.sum(1)) > 0).any()
        ),
        "no sentence as long as the batch": of_batches(lambda ids, mask: not mask.all(1).any()),
        "words in the padding": of_batches(lambda ids, mask: (ids[~mask] > 2).any()),
    }
}

# 9.3


def slot(forward):
    """A slot class with this function as its forward."""

    class Slot(nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, queries, memory, mask):
            return forward(queries, memory, mask)

    return Slot


def nothing(queries, memory, mask):
    B, T, D = queries.shape
    context = queries.new_zeros(B, T, D)
    return context, queries.new_zeros(B, T, mask.shape[1])


def mean(queries, memory, mask):
    weights = mask / mask.sum(1, keepdim=True)
    weights = weights[:, None].expand(-1, queries.shape[1], -1)
    return weights @ memory, weights


def dot(queries, memory, mask):
    scores = queries @ memory.mT / queries.shape[-1] ** 0.5
    weights = scores.masked_fill(~mask[:, None], -INF).softmax(-1)
    return weights @ memory, weights


def gathered_mean(queries, memory, mask):
    rows = [m[look].mean(0) for m, look in zip(memory, mask, strict=True)]
    context = torch.stack(rows)[:, None].expand_as(queries)
    weights = torch.stack([look / look.sum() for look in mask])
    return context, weights[:, None].repeat(1, queries.shape[1], 1)


def summed_mean(queries, memory, mask):
    count = mask.sum(1, keepdim=True)
    context = torch.where(mask[..., None], memory, 0.0).sum(1) / count
    weights = torch.where(mask, 1 / count, 0.0)[:, None].expand(-1, queries.shape[1], -1)
    return context[:, None].expand_as(queries), weights


def fused(queries, memory, mask):
    eye = torch.eye(memory.shape[1], device=memory.device).expand(len(memory), -1, -1)
    look = {"attn_mask": mask[:, None]}
    weights = F.scaled_dot_product_attention(queries, memory, eye, **look)
    return F.scaled_dot_product_attention(queries, memory, memory, **look), weights


def loop(queries, memory, mask):
    contexts, weights = [], []
    for q, m, look in zip(queries, memory, mask, strict=True):
        w = q.new_zeros(len(q), len(m))
        w[:, look] = (q @ m[look].T / q.shape[-1] ** 0.5).softmax(-1)
        contexts.append(w @ m)
        weights.append(w)
    return torch.stack(contexts), torch.stack(weights)


class ScaledByABuffer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("scale", torch.tensor(width**-0.5))

    def forward(self, queries, memory, mask):
        scores = (queries @ memory.mT * self.scale).masked_fill(~mask[:, None], -INF)
        return scores.softmax(-1) @ memory, scores.softmax(-1)


class Projected(nn.Module):
    """As in a transformer: queries and memory go through projections first."""

    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)

    def forward(self, queries, memory, mask):
        _, weights = dot(self.query(queries), self.key(memory), mask)
        return weights @ memory, weights


def none_with(*edits):
    return slot(edited(nothing, *edits)), MeanAttention, DotAttention


def mean_with(*edits):
    return NoAttention, slot(edited(mean, *edits)), DotAttention


def dot_with(*edits):
    return NoAttention, MeanAttention, slot(edited(dot, *edits))


means = partial(mean_with, "mask / mask.sum(1, keepdim=True)")
dot_softmax = partial(dot_with, "softmax(-1)")

RIGHT["9.3"] = {
    "the course's own": (NoAttention, MeanAttention, DotAttention),
    "softmax of equal scores": (
        slot(nothing),
        slot(edited(dot, "queries @ memory.mT", "torch.zeros_like(queries @ memory.mT)")),
        slot(loop),
    ),
    "boolean indexing, fused kernel": (
        slot(lambda queries, memory, mask: (0 * queries, 0 * (queries @ memory.mT))),
        slot(gathered_mean),
        slot(fused),
    ),
    "-1e9": dot_with("-INF", "-1e9"),
    "sums, and what is hidden below all others": (
        slot(nothing),
        slot(summed_mean),
        slot(edited(dot, "-INF", "torch.finfo(queries.dtype).min")),
    ),
    "a buffer": (NoAttention, MeanAttention, ScaledByABuffer),
    "mask as numbers": mean_with("mask / mask", "mask.float() / mask.float()"),
}
WRONG["9.3"] = {
    "last place of the row": (
        none_with("return context", "return memory[:, -1:].expand_as(queries)"),
        "memory[:, -1], which is padding",
    ),
    "last real state": (
        (means("F.one_hot(mask.sum(1) - 1).float()")[1], MeanAttention, DotAttention),
        "the last real state",
    ),
    "queries handed through": (none_with("context,", "queries,"), "repeats the queries"),
    "pads averaged": (means("torch.ones_like(mask) / mask.shape[1]"), "padding is averaged in"),
    "pads counted": (means("mask / mask.shape[1]"), "still counted"),
    "only pads": (means("~mask / (~mask).sum(1, True).clamp(1)"), "only padding is averaged"),
    "a sum": (means("mask.float()"), "not divided by anything"),
    "mean over the batch": (means("mask / mask.sum(0).clip(1)"), "the average runs over the batch"),
    "no mask": (dot_with(".masked_fill(~mask[:, None], -INF)", ""), "no key is hidden"),
    "softmax over the batch": (
        dot_softmax("softmax(0).nan_to_num(0)"),
        "the softmax runs over the batch",
    ),
    "softmax over queries": (dot_softmax("softmax(1).nan_to_num(0)"), "over the queries"),
    "exponentials of scores as they are": (
        dot_with(
            "scores.masked_fill(~mask[:, None], -INF).softmax(-1)",
            "scores.exp() * mask[:, None]\n    weights = weights / weights.sum(-1, keepdim=True)",
        ),
        "hide it before the softmax",
    ),
    "hidden scores at -20": (dot_with("-INF", "-20.0"), "DotAttention: a low number such as -20"),
    "hidden scores at -20, then zeroed": (
        dot_softmax("softmax(-1) * mask[:, None]", "-INF", "-20.0"),
        "the weights do not sum to one",
    ),
    "softmax over queries, padding at -1e9": (
        dot_softmax("softmax(1)", "-INF", "-1e9"),
        "so that columns sum to one",
    ),
    "view for transpose": (
        dot_with("memory.mT", "memory.reshape(len(memory), memory.shape[2], memory.shape[1])"),
        "only renames the axes of k",
    ),
    "weights of another shape": (
        mean_with("memory, weights", "memory, mask.float()"),
        "the weights of MeanAttention have shape",
    ),
    "no scale": (dot_with(" / queries.shape[-1] ** 0.5", ""), "not divided by sqrt(d)"),
    "scaled by D": (dot_with(" ** 0.5", ""), "divided by d, the width"),
    "polarity": (
        dot_softmax("softmax(-1).nan_to_num(0)", "~mask", "mask"),
        "wrong way round (True means may look): the weights are off",
    ),
    "zero scores": (dot_with("-INF", "0.0"), "exp(0) = 1"),
    "mask after softmax": (
        dot_with("masked_fill(~mask[:, None], -INF).softmax(-1)", "softmax(-1) * mask[:, None]"),
        "comes after the softmax",
    ),
    "something else": (dot_softmax("softmax(-1) ** 2"), "the weights are off by"),
    "detached": (dot_softmax("softmax(-1).detach()"), "no gradient flows back to the queries"),
    "mean without a gradient": (
        mean_with("@ memory", "@ memory.detach()"),
        "no gradient flows back to the memory",
    ),
    "values detached": (dot_with("@ memory,", "@ memory.detach(),"), "only part of the gradient"),
    "zeros on the CPU": (
        none_with("queries.new_zeros", "torch.zeros"),
        "NoAttention makes a tensor on the CPU",
    ),
    "an identity on the CPU": (
        (NoAttention, MeanAttention, slot(edited(fused, ", device=memory.device", ""))),
        "DotAttention makes a tensor on the CPU",
    ),
    "projections": (
        (NoAttention, MeanAttention, Projected),
        "yours has key.bias, key.weight, query.bias",
    ),
    "a gradient of nan": (
        dot_with("= queries @", "= (queries + (0 * queries).sqrt()) @"),
        "nan and no gradient",
    ),
    "polarity with nan": (
        dot_with("~mask", "mask"),
        "wrong way round (True means may look): the result contains nan",
    ),
    "pads in the context alone": (
        mean_with("weights @ memory,", "memory.mean(1, keepdim=True).expand_as(queries),"),
        "the weights are right, but the context",
    ),
    "places changed": (
        dot_with("return weights @ memory, weights", "return weights, weights @ memory"),
        "the context comes first",
    ),
    "context alone": (mean_with("memory, weights", "memory"), "two tensors"),
}


def of_slots(belongs):
    """Of a call of 9.3 with numbers, not the one on a device without them."""
    return lambda *args: len(args) == 4 and belongs(*args)


SLOTS = {
    "no padding": of_slots(lambda D, queries, memory, mask: mask.all(1).any()),
    "padding": of_slots(lambda D, queries, memory, mask: not mask.all()),
    "one English step": of_slots(lambda D, queries, memory, mask: queries.shape[1] == 1),
    "one sentence": of_slots(lambda D, queries, memory, mask: len(mask) == 1),
    "another device": lambda *args: len(args) == 2,
}
LOW = {"scores near -20000": of_slots(lambda D, q, m, mask: (q @ m.mT).min() / D**0.5 < -1e4)}
INPUT_KINDS["9.3"] = {
    "NoAttention": SLOTS,
    "MeanAttention": SLOTS | LOW,
    "DotAttention": SLOTS | LOW,
}

# 9.4


class Additive(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, queries, memory, mask):
        pairs = (self.query(queries)[:, :, None] + self.key(memory)[:, None]).tanh()
        scores = self.score(pairs).squeeze(-1)
        weights = scores.masked_fill(~mask[:, None], -INF).softmax(-1)
        return weights @ memory, weights


class AdditiveInLoops(Additive):
    """A loop over queries, without a large tensor."""

    def forward(self, queries, memory, mask):
        rows = []
        for query in self.query(queries).unbind(1):
            scores = self.score((query[:, None] + self.key(memory)).tanh())[..., 0]
            rows.append(scores.masked_fill(~mask, -INF).softmax(-1))
        weights = torch.stack(rows, 1)
        return torch.bmm(weights, memory), weights


class AdditiveBySentence(Additive):
    """Sentence by sentence, real words alone."""

    def forward(self, queries, memory, mask):
        weights = queries.new_zeros(*queries.shape[:2], memory.shape[1])
        for b, look in enumerate(mask):
            pairs = self.query(queries[b])[:, None] + self.key(memory[b, look])
            weights[b, :, look] = self.score(pairs.tanh()).squeeze(-1).softmax(-1)
        context = [w[:, look] @ m[look] for w, m, look in zip(weights, memory, mask, strict=True)]
        return torch.stack(context), weights


class AdditiveRepeated(Additive):
    """Repeated tensors, and exponentials that are divided by their sum."""

    def forward(self, queries, memory, mask):
        T, S = queries.shape[1], memory.shape[1]
        q = self.query(queries).unsqueeze(2).repeat(1, 1, S, 1)
        k = self.key(memory).unsqueeze(1).repeat(1, T, 1, 1)
        exponentials = self.score(torch.tanh(q + k)).squeeze(-1).exp() * mask[:, None]
        weights = exponentials / exponentials.sum(-1, keepdim=True)
        return weights @ memory, weights


class Bilinear(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.key = nn.Linear(width, width, bias=False)

    def forward(self, queries, memory, mask):
        scores = queries @ self.key(memory).mT / queries.shape[-1] ** 0.5
        weights = scores.masked_fill(~mask[:, None], -INF).softmax(-1)
        return weights @ memory, weights


SMALL = ("width, width)", "width, 3)", "width, width, bias", "width, 3, bias", "width, 1", "3, 1")
additive_edit = partial(edited, Additive)
bilinear_edit = partial(edited, Bilinear)


def additive(*edits):
    return additive_edit(*edits), Bilinear


def bilinear(*edits):
    return Additive, bilinear_edit(*edits)


ADDED = "(self.query(queries)[:, :, None] + self.key(memory)[:, None]).tanh()"
HIDDEN = "scores.masked_fill(~mask[:, None], -INF).softmax(-1)"
PRODUCT = "queries @ self.key(memory).mT / queries.shape[-1] ** 0.5"
RIGHT["9.4"] = {
    "broadcast": (Additive, Bilinear),
    "A = 3, W on the queries": (
        additive_edit(*SMALL),
        bilinear_edit("queries @ self.key(memory).mT", "self.key(queries) @ memory.mT"),
    ),
    "all biases, einsum": (
        additive_edit(", bias=False", ""),
        bilinear_edit(
            "queries @ self.key(memory).mT",
            "torch.einsum('btd,de,bse->bts', queries, self.key.weight, memory)",
        ),
    ),
    "repeat, bmm": (
        AdditiveRepeated,
        bilinear_edit(
            "queries @ self.key(memory).mT", "torch.bmm(queries, self.key(memory).transpose(1, 2))"
        ),
    ),
    "a loop, scaled first": (
        AdditiveInLoops,
        bilinear_edit(PRODUCT, "(queries / queries.shape[-1] ** 0.5) @ self.key(memory).mT"),
    ),
    "by sentence": (AdditiveBySentence, Bilinear),
}
WRONG["9.4"] = {
    "no tanh": (additive(").tanh()", ")"), "without tanh the query cancels"),
    "tanh of each part": (
        additive(
            ADDED, "self.query(queries).tanh()[:, :, None] + self.key(memory).tanh()[:, None]"
        ),
        "then the query cancels too; add first",
    ),
    "v left out": (
        additive("self.score(pairs).squeeze(-1)", "pairs.sum(-1)"),
        "the layer score is left out",
    ),
    "relu": (additive(".tanh()", ".relu()"), "relu stands where tanh belongs"),
    "sigmoid": (additive(".tanh()", ".sigmoid()"), "a sigmoid stands where tanh belongs"),
    "tanh of the scores": (
        additive(").tanh()", ")", "squeeze(-1)", "squeeze(-1).tanh()"),
        "it belongs before the layer `score`",
    ),
    "a difference": (additive("+ self", "- self"), "the key's part is subtracted"),
    "a matrix for a layer": (
        bilinear(
            "nn.Linear(width, width, bias=False)",
            "nn.Parameter(torch.randn(width, width))",
            "self.key(memory)",
            "(memory @ self.key)",
        ),
        "has no linear layer called key; yours has the parameter key",
    ),
    "layers exchanged": (
        additive(
            "self.query(queries)", "self.key(queries)", "self.key(memory)", "self.query(memory)"
        ),
        "the layers are exchanged",
    ),
    "root of D": (
        additive("squeeze(-1)", "squeeze(-1) / queries.shape[-1] ** 0.5"),
        "need no scale",
    ),
    "a product": (additive("+ self", "* self"), "additive attention adds them"),
    "mask unused": (additive(".masked_fill(~mask[:, None], -INF)", ""), "no key is hidden"),
    "mask inverted": (additive("~mask", "mask"), "wrong way round"),
    "hidden at 0": (additive("-INF", "0.0"), "exp(0) = 1"),
    "scores times mask": (
        additive(HIDDEN, "(scores * mask[:, None]).softmax(-1) + 0 * memory.mean()"),
        "is still a weight",
    ),
    "mask after the softmax": (
        additive(HIDDEN, "scores.softmax(-1) * mask[:, None]"),
        "comes after the softmax",
    ),
    "hidden at -5": (additive("-INF", "-5.0"), "AdditiveAttention, (B, T, S, D) ="),
    "softmax over queries": (
        additive(".softmax(-1)", ".softmax(1).nan_to_num(0)"),
        "over the queries",
    ),
    "softmax over the batch": (
        additive(".softmax(-1)", ".softmax(0).nan_to_num(0)"),
        "over the batch",
    ),
    "projected values": (
        additive("weights @ memory", "weights @ self.key(memory)"),
        "the values are projected",
    ),
    "rows and columns exchanged": (
        additive(
            "squeeze(-1)",
            "squeeze(-1).reshape(len(memory), -1, queries.shape[1]).mT.reshape(scores_shape)".replace(
                "scores_shape", "len(memory), queries.shape[1], -1"
            ),
        ),
        "rows and columns of the scores are exchanged",
    ),
    "weights first": (
        additive("weights @ memory, weights", "weights, weights @ memory"),
        "return (context, weights): Additive",
    ),
    "other names": (
        additive("self.query", "self.W", "self.key", "self.U", "self.score", "self.v"),
        "yours has the parameters U.weight, W.bias, W.weight and v.weight",
    ),
    "detached": (
        additive("self.query(queries)", "self.query(queries).detach()"),
        "no gradient reaches query.weight",
    ),
    "the first weights kept": (
        additive(
            "pairs =",
            "if hasattr(self, 'kept'):\n            return self.kept @ memory, self.kept\n        pairs =",
            "return weights",
            "self.kept = weights.detach() if weights.isfinite().all() else weights\n        return weights",
        ),
        "an earlier call of the same slot",
    ),
    "bilinear without the root": (
        bilinear(" / queries.shape[-1] ** 0.5", ""),
        "not divided by the root of D",
    ),
    "bilinear divided by D": (bilinear(" ** 0.5", ""), "divided by D, not by its root"),
    "key unused": (bilinear("self.key(memory).mT", "memory.mT"), "is not used: that is *dot*"),
    "W twice": (bilinear("queries @ self", "self.key(queries) @ self"), "W is used twice"),
    "bilinear with projected values": (
        bilinear("weights @ memory", "weights @ self.key(memory)"),
        "they are the memory itself",
    ),
    "bilinear with tanh": (
        bilinear(PRODUCT, f"({PRODUCT}).tanh()"),
        "bilinear scores have no tanh",
    ),
    "bilinear without the mask": (
        bilinear(".masked_fill(~mask[:, None], -INF)", ""),
        "the mask is missing or not used",
    ),
    "bilinear times mask": (
        bilinear(HIDDEN, "(scores * mask[:, None]).softmax(-1)"),
        "hidden scores are set to 0",
    ),
    "bilinear along axis 1": (
        bilinear(".softmax(-1)", ".softmax(1).nan_to_num(0)"),
        "so that columns sum to one",
    ),
    "bilinear, weights first": (
        bilinear("weights @ memory, weights", "weights, weights @ memory"),
        "return (context, weights): Bilinear",
    ),
    "bilinear, detached": (
        bilinear("self.key(memory)", "self.key(memory).detach()"),
        "no gradient reaches key.weight",
    ),
    "bilinear with a bias": (bilinear(", bias=False", ""), "without a bias"),
    "a class without layers": ((Additive, DotAttention), "yours has no parameters; that is *dot*"),
}


def of_scores(belongs):
    """Of a call that runs a filled slot."""
    return lambda *args: len(args) == 4 and belongs(*args[2])


SCORES = {
    "a square": of_scores(lambda queries, memory, mask: queries.shape[1:] == memory.shape[1:]),
    "one English step": of_scores(lambda queries, memory, mask: queries.shape[1] == 1),
    "one sentence": of_scores(lambda queries, memory, mask: len(mask) == 1),
    "padding": of_scores(lambda queries, memory, mask: not mask.all()),
    "no padding": of_scores(lambda queries, memory, mask: mask.all(1).any()),
}
INPUT_KINDS["9.4"] = {"AdditiveAttention": SCORES, "BilinearAttention": SCORES}

# 9.5


class Decoder(nn.Module):
    """Luong's order: the new hidden state asks."""

    def __init__(self, num_tokens, width, attention):
        super().__init__()
        self.embed = nn.Embedding(num_tokens, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.norm = nn.LayerNorm(width)
        self.attention = attention
        self.combine = nn.Linear(2 * width, width)
        self.out = nn.Linear(width, num_tokens)
        self.dropout = nn.Dropout(0.1)

    def step(self, tokens, state, memory, mask):
        hidden, fed = state
        hidden = self.cell(torch.cat([self.dropout(self.embed(tokens)), fed], -1), hidden)
        query = self.norm(hidden)
        context, weights = self.attention(query[:, None], memory, mask)
        fed = self.combine(torch.cat([query, context[:, 0]], -1)).tanh()
        return self.out(fed), (hidden, fed), weights[:, 0]

    def forward(self, inputs, state, memory, mask):
        rows = []
        for tokens in inputs.unbind(1):
            logits, state, _ = self.step(tokens, state, memory, mask)
            rows.append(logits)
        return torch.stack(rows, 1)


class BahdanauDecoder(Decoder):
    """The old hidden state asks, and the context goes into the cell."""

    def step(self, tokens, state, memory, mask):
        hidden, fed = state
        query = self.norm(hidden)
        context, weights = self.attention(query[:, None], memory, mask)
        word = self.embed(tokens)
        hidden = self.cell(torch.cat([word, context[:, 0]], -1), hidden)
        fed = self.combine(torch.cat([hidden, context[:, 0]], -1)).tanh()
        return self.out(fed), (hidden, fed), weights[:, 0]


class LSTMDecoder(Decoder):
    """A third tensor in the state."""

    def __init__(self, num_tokens, width, attention):
        super().__init__(num_tokens, width, attention)
        self.cell = nn.LSTMCell(2 * width, width)

    def step(self, tokens, state, memory, mask):
        hidden, fed, *rest = state
        cell = rest[0] if rest else torch.zeros_like(hidden)
        hidden, cell = self.cell(torch.cat([self.embed(tokens), fed], -1), (hidden, cell))
        query = self.norm(hidden)
        context, weights = self.attention(query[:, None], memory, mask)
        fed = self.combine(torch.cat([query, context[:, 0]], -1)).tanh()
        return self.out(fed), (hidden, fed, cell), weights.squeeze(1)


class ContextFed(Decoder):
    """nn.GRU of length 1, and the context fed as it is."""

    def __init__(self, num_tokens, width, attention):
        super().__init__(num_tokens, width, attention)
        self.cell = nn.GRU(2 * width, width, batch_first=True)

    def step(self, tokens, state, memory, mask):
        hidden, fed = state
        x = torch.cat([self.embed(tokens), fed], -1)[:, None]
        query, hidden = self.cell(x, hidden[None].contiguous())
        query = self.norm(query)
        context, weights = self.attention(query, memory, mask)
        features = self.combine(torch.cat([query, context], -1)).tanh()[:, 0]
        return self.out(features), (hidden[0], context[:, 0]), weights[:, 0]


class TiedDecoder(Decoder):
    """Reads out by the embedding; the state is a list."""

    def __init__(self, num_tokens, width, attention):
        super().__init__(num_tokens, width, attention)
        self.out = nn.Linear(width, num_tokens, bias=False)
        self.out.weight = self.embed.weight

    def step(self, tokens, state, memory, mask):
        logits, state, weights = Decoder.step(self, tokens, state, memory, mask)
        return logits, list(state), weights


decoder = partial(edited, Decoder)
FED = "torch.cat([self.dropout(self.embed(tokens)), fed], -1)"
LOOP = "for tokens in inputs.unbind(1):"
RIGHT["9.5"] = {
    "Luong's order": Decoder,
    "Bahdanau's order": BahdanauDecoder,
    "an LSTM": LSTMDecoder,
    "nn.GRU, the context fed": ContextFed,
    "tied read-out, a list as state": TiedDecoder,
}
WRONG["9.5"] = {
    "no feeding": (
        decoder(FED, "torch.cat([self.embed(tokens), 0 * fed], -1)"),
        "does not know what this step has read",
    ),
    "own words": (
        decoder(
            LOOP,
            "tokens = inputs[:, 0]\n        for _ in range(inputs.shape[1]):",
            "rows.append(logits)",
            "rows.append(logits)\n            tokens = logits.argmax(-1)",
        ),
        "with teacher forcing it reads the words of `inputs`",
    ),
    "state not handed on": (
        decoder("logits, state, _ =", "logits, _, _ ="),
        "the state is not handed on",
    ),
    "the old hidden state handed on": (
        decoder("(hidden, fed), weights", "(state[0], fed), weights"),
        "the hidden state that comes back is the one that was given",
    ),
    "a layer in a list": (
        decoder(
            "self.out = nn.Linear(width, num_tokens)",
            "self.outs = [nn.Linear(width, num_tokens)]",
            "self.out(fed)",
            "self.outs[0](fed)",
        ),
        "a layer with a weight of shape (11, 8) is no submodule",
    ),
    "softmax in forward": (
        decoder("torch.stack(rows, 1)", "torch.stack(rows, 1).softmax(-1)"),
        "`forward` takes a softmax",
    ),
    "forward begins with zeros": (
        decoder(
            "rows = []", "rows = []\n        state = tuple(0 * part.detach() for part in state)"
        ),
        "`forward` does not begin with the state that it is given",
    ),
    "weights before the state": (
        decoder("(hidden, fed), weights[:, 0]", "weights[:, 0], (hidden, fed)"),
        "as in (logits, state, weights)",
    ),
    "fed vector not handed on": (
        decoder("(hidden, fed), weights", "(hidden, state[1]), weights"),
        "hand on the new vector that is fed",
    ),
    "inputs one ahead": (
        decoder("inputs.unbind(1)", "inputs.roll(-1, 1).unbind(1)"),
        "the logits of step 0 change with later words",
    ),
    "query is the word": (
        decoder("query = self.norm(hidden)", "query = self.norm(self.embed(tokens))"),
        "the query does not change with the hidden state",
    ),
    "the hidden state reaches the logits through its question alone": (
        decoder("torch.cat([query, context[:, 0]], -1)", "context[:, 0].repeat(1, 2)"),
        "the hidden state itself belongs beside the context",
    ),
    "a query without an axis": (
        decoder("query[:, None]", "query"),
        "it wants (B, T, D), in a step (B, 1, D)",
    ),
    "context unused": (
        decoder("context[:, 0]], -1)", "0 * context[:, 0]], -1)"),
        "what the attention read is not used",
    ),
    "softmax": (
        decoder("return self.out(fed)", "return self.out(fed).softmax(-1)"),
        "leave out the softmax",
    ),
    "old state returned": (
        decoder("(hidden, fed), weights", "state, weights"),
        "the state that comes back is the one that was given",
    ),
    "weights with an axis too many": (
        decoder("weights[:, 0]", "weights"),
        "take away the axis of the one query",
    ),
    "attention not registered": (
        decoder("self.attention = attention", "self.attention = lambda *x: attention(*x)"),
        "the attention that was given is no submodule",
    ),
    "mask lost": (
        decoder("memory, mask)\n        fed", "memory, torch.ones_like(mask))\n        fed"),
        "the mask that the attention is asked with",
    ),
    "two queries": (
        decoder("query[:, None]", "torch.stack([query, query], 1)"),
        "one query for each sentence",
    ),
    "asked twice": (
        decoder(
            "context, weights =",
            "self.attention(query[:, None], memory, mask)\n        context, weights =",
        ),
        "ask once in each step",
    ),
    "last row only": (decoder("torch.stack(rows, 1)", "rows[-1]"), "only the last row came back"),
    "time first": (
        decoder("torch.stack(rows, 1)", "torch.stack(rows)"),
        "the batch comes first, stack along axis 1",
    ),
    "a step short": (
        decoder("inputs.unbind(1)", "inputs[:, :-1].unbind(1)"),
        "the last word is read too",
    ),
    "detached": (
        decoder(
            "logits, state, _ =",
            "state = tuple(part.detach() for part in state)\n            logits, state, _ =",
        ),
        "does not flow back to the first state",
    ),
    "F.dropout": (
        decoder("self.dropout(self.embed(tokens))", "F.dropout(self.embed(tokens), 0.1)"),
        "two runs on the same words in eval() differ",
    ),
    "logits with an axis too many": (
        decoder("return self.out(fed),", "return self.out(fed)[:, None],"),
        "a step is about one word, without an axis T",
    ),
    "all steps ask with the first word": (
        decoder("inputs.unbind(1)", "inputs[:, :1].expand(-1, inputs.shape[1]).unbind(1)"),
        "`forward` does not change with the words after the first",
    ),
    "a context of the sentences pooled": (
        decoder(
            "rows = []",
            "rows = []\n        state = (state[0] + self.embed(inputs).mean(1), state[1])",
        ),
        "a translator does not know them yet",
    ),
}


def of_runs(belongs):
    """Of one of the runs of a decoder."""
    return lambda num_tokens, width, runs: any(map(belongs, runs))


INPUT_KINDS["9.5"] = {
    "Decoder": {
        "one sentence": of_runs(lambda run: len(run["tokens"]) == 1),
        "a sequence": of_runs(lambda run: run["forward"]),
        "padding": of_runs(lambda run: not run["mask"].all(0).all()),
        "a shifted context": of_runs(lambda run: run["shift"] and run["shift"][1]),
        "an empty slot": of_runs(lambda run: run["shift"] and run["shift"][1] is None),
    }
}

# 9.6


def masked_loss(logits, targets, pad, smoothing=0.0):
    log_probs = logits.log_softmax(-1)
    right = log_probs.gather(-1, targets[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * right - smoothing * log_probs.mean(-1)
    real = targets != pad
    return losses[real].sum() / real.sum()


def flat_loss(logits, targets, pad, smoothing=0.0):
    V = logits.shape[-1]
    options = {"ignore_index": pad, "label_smoothing": smoothing}
    return F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), **options)


def transposed_loss(logits, targets, pad, smoothing=0.0):
    return F.cross_entropy(logits.mT, targets, ignore_index=pad, label_smoothing=smoothing)


def indexed_loss(logits, targets, pad, smoothing=0.0):
    real = targets != pad
    return F.cross_entropy(logits[real], targets[real], label_smoothing=smoothing)


def one_hot_loss(logits, targets, pad, smoothing=0.0):
    V = logits.shape[-1]
    shares = (1 - smoothing) * F.one_hot(targets, V) + smoothing / V
    losses = -(shares * logits.log_softmax(-1)).sum(-1)
    return torch.where(targets == pad, 0.0, losses).sum() / (targets != pad).sum()


def loss_by_rows(logits, targets, pad, smoothing=0.0):
    total, count = 0.0, 0
    for rows, words in zip(logits, targets, strict=True):
        for row, word in zip(rows, words, strict=True):
            if word != pad:
                log_probs = row - row.logsumexp(0)
                total = total - (1 - smoothing) * log_probs[word] - smoothing * log_probs.mean()
                count += 1
    return total / count


def logsumexp_loss(logits, targets, pad, smoothing=0.0):
    norm = logits.logsumexp(-1)
    right = logits.gather(-1, targets[..., None])[..., 0]
    losses = norm - (1 - smoothing) * right - smoothing * logits.mean(-1)
    return (losses * (targets != pad)).sum() / (targets != pad).sum()


loss = partial(edited, masked_loss)
flat = partial(edited, flat_loss)
TOTAL = "losses[real].sum() / real.sum()"
RIGHT["9.6"] = {
    "gather": masked_loss,
    "flatten": flat_loss,
    "transpose": transposed_loss,
    "real words indexed": indexed_loss,
    "one-hot": one_hot_loss,
    "by rows": loss_by_rows,
    "logsumexp": logsumexp_loss,
}
WRONG["9.6"] = {
    "padding counted": (loss(TOTAL, "losses.mean()"), "padding is counted as if it were words"),
    "divided by all places": (
        loss("/ real.sum()", "/ targets.numel()"),
        "divide by the number of real words",
    ),
    "mean of means": (
        loss(
            TOTAL,
            "torch.stack([row[look].mean() for row, look in zip(losses, real, strict=True)]).mean()",
        ),
        "a word of a short sentence weighs more",
    ),
    "sum": (loss(" / real.sum()", ""), "the sum over all real words, not their mean"),
    "divided by the steps": (
        loss("/ real.sum()", "/ targets.shape[1]"),
        "divided by the number of steps",
    ),
    "perplexity": (loss(TOTAL, f"({TOTAL}).exp()"), "the exponential of the mean"),
    "per sentence": (loss("/ real.sum()", "/ len(targets)"), "divided by the number of sentences"),
    "smoothing missing": (
        loss("(1 - smoothing) * right - smoothing * log_probs.mean(-1)", "right"),
        "the smoothing is missing",
    ),
    "another default": (loss("smoothing=0.0", "smoothing=0.1"), "is 0, its default"),
    "shares exchanged": (
        loss("-(1 - smoothing) * right - smoothing *", "-smoothing * right - (1 - smoothing) *"),
        "1 - smoothing belongs to the right word",
    ),
    "sign": (loss("return ", "return -"), "minus the logarithm"),
    "base 2": (
        loss(TOTAL, "losses[real].mean() / torch.tensor(2.0).log()"),
        "the logarithm has base 2",
    ),
    "softmax twice": (loss("logits.log", "logits.softmax(-1).log"), "the softmax is taken twice"),
    "V - 1": (
        loss(
            "log_probs.mean(-1)",
            "(log_probs.sum(-1) - right) / (logits.shape[-1] - 1)",
        ),
        "spread over the other subwords alone",
    ),
    "sum for mean": (
        loss("log_probs.mean", "log_probs.sum"),
        "the sum over all subwords where",
    ),
    "pad always 0": (loss("targets != pad", "targets != 0"), "under the number 0"),
    "only padding": (loss("targets != pad", "targets == pad"), "only padding is counted"),
    "item": (loss(TOTAL, "(losses[real].sum() / real.sum()).item()"), "`.item()` leaves nothing"),
    "detached": (loss("logits.log", "logits.detach().log"), "no gradient flows back"),
    "not reduced": (loss(TOTAL, "losses"), "it is not reduced"),
    "log of a softmax": (
        loss("logits.log_softmax(-1)", "logits.softmax(-1).log()"),
        "not the log of a softmax",
    ),
    "reshaped": (
        flat(
            "logits.reshape(-1, V), targets.reshape(-1)",
            "logits.reshape(len(logits), V, -1), targets",
        ),
        "you: ",
    ),
}
INPUT_KINDS["9.6"] = {
    "masked_loss": {
        "no smoothing": lambda arrays, pad, *more: not any(more),
        "smoothing": lambda arrays, pad, *more: any(more),
        "large logits": lambda arrays, pad, *more: np.abs(arrays[0]).max() > 200,
        "padding of another number than 0": lambda arrays, pad, *more: pad != 0,
        "no padding": lambda arrays, pad, *more: not (arrays[1] == pad).any(),
        "rows with padding": lambda arrays, pad, *more: (arrays[1] == pad).any(),
    }
}

# 9.7


def train(model, batches, loss_of, optimiser, clip):
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


def trained_by_autograd(model, batches, loss_of, optimiser, clip):
    model.train()
    losses, parameters = [], list(model.parameters())
    for batch in batches:
        loss = loss_of(model, batch)
        gradients = torch.autograd.grad(loss, parameters)
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient * min(1.0, clip / norm)
        optimiser.step()
        losses.append(float(loss))
    return losses


def trained_by_a_closure(model, batches, loss_of, optimiser, clip):
    model.train()

    def closure(batch):
        optimiser.zero_grad()
        loss = loss_of(model, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        return loss

    return [optimiser.step(partial(closure, batch)).item() for batch in batches]


loop = partial(edited, train)
CLIP = "nn.utils.clip_grad_norm_(model.parameters(), clip)"
CLEAR = "        optimiser.zero_grad()\n"
RIGHT["9.7"] = {
    "the usual loop": train,
    "autograd.grad and own clipping": trained_by_autograd,
    "cleared after the forward": loop(
        CLEAR,
        "",
        "        loss.backward()",
        "        optimiser.zero_grad()\n        loss.backward()",
    ),
    "a closure": trained_by_a_closure,
    "losses in a tensor": loop("return losses", "return torch.tensor(losses)"),
    "grad = None": loop(
        "optimiser.zero_grad()",
        "for parameter in model.parameters():\n            parameter.grad = None",
    ),
    "cleared before the loop and after each step": loop(
        CLEAR,
        "",
        "losses = []",
        "losses = []\n    optimiser.zero_grad()",
        "optimiser.step()",
        "optimiser.step()\n        optimiser.zero_grad()",
    ),
}
WRONG["9.7"] = {
    "never cleared": (loop(CLEAR, ""), "the gradients are never cleared"),
    "cleared once": (
        loop(CLEAR, "", "losses = []", "losses = []\n    optimiser.zero_grad()"),
        "the gradients are cleared once, before the first batch",
    ),
    "cleared after backward": (
        loop(CLEAR, "", "loss.backward()", "loss.backward()\n        optimiser.zero_grad()"),
        "the gradients are cleared between them",
    ),
    "no backward": (loop("        loss.backward()\n", ""), "`backward` or the step is missing"),
    "losses detached": (loop("loss.item()", "loss.detach()"), "where numbers are asked for"),
    "cleared after the step only": (
        loop(CLEAR, "", "optimiser.step()", "optimiser.step()\n        optimiser.zero_grad()"),
        "gradients left over from before the call are used",
    ),
    "not clipped": (loop(f"        {CLIP}\n", ""), "the gradient is not clipped"),
    "by value": (loop("clip_grad_norm_", "clip_grad_value_"), "clipped by value, which turns it"),
    "each alone": (
        loop(CLIP, "[nn.utils.clip_grad_norm_([p], clip) for p in model.parameters()]"),
        "each parameter is clipped alone",
    ),
    "short ones longer": (
        loop(
            CLIP,
            "norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()\n"
            "        for p in model.parameters():\n            p.grad *= clip / norm",
        ),
        "short gradients are made longer",
    ),
    "clipped to 1": (loop("(), clip)", "(), 1.0)"), "the norm is clipped to 1"),
    "no step": (loop("        optimiser.step()\n", ""), "no parameter has changed"),
    "clipped after the step": (
        loop(f"        {CLIP}\n", "", "optimiser.step()", f"optimiser.step()\n        {CLIP}"),
        "not clipped, or only after the step",
    ),
    "step before backward": (
        loop(
            "        optimiser.step()\n",
            "",
            "        loss.backward()",
            "        optimiser.step()\n        loss.backward()",
        ),
        "they stand in the wrong order",
    ),
    "one step at the end": (
        loop(
            "        optimiser.step()\n",
            "",
            "    return losses",
            "    optimiser.step()\n    return losses",
        ),
        "one step is taken at the end, with",
    ),
    "eval mode": (loop("model.train()", "model.eval()"), "dropout stays off there"),
    "graphs kept": (loop("loss.item()", "loss"), "store loss.item()"),
    "a mean": (
        loop("return losses", "return sum(losses) / len(losses)"),
        "return the list of all losses",
    ),
    "len": (loop("losses = []", "losses = [0.0] * len(batches)"), "`batches` is a stream"),
    "first batch only": (
        loop("return losses", "    return losses"),
        "only the first batch is used",
    ),
    "last loss only": (
        loop("return losses", "return losses[-1:]"),
        "1 losses came back for 5 batches",
    ),
    "nothing returned": (loop("    return losses", "    losses"), "no losses came back"),
}
INPUT_KINDS["9.7"] = {
    "train": {
        "SGD": lambda layers, batches, optimiser, rate, clip: optimiser == "SGD",
        "Adam": lambda layers, batches, optimiser, rate, clip: optimiser == "Adam",
        "a clip other than 1": lambda layers, batches, optimiser, rate, clip: clip != 1,
        "batches of different size": lambda layers, batches, optimiser, rate, clip: (
            len({len(x) for x, _ in batches}) > 1
        ),
    }
}

# 9.8


def greedy_search(step, num_sentences, max_length):
    last, state = torch.full((num_sentences,), BOS), None
    done, tokens = torch.zeros(num_sentences, dtype=torch.bool), []
    while len(tokens) < max_length and not done.all():
        logits, state = step(last, state)
        last = logits.argmax(-1).masked_fill(done, PAD)
        done |= last == EOS
        tokens.append(last)
    return torch.stack(tokens, 1)


search = partial(edited, greedy_search)


def in_lists(step, num_sentences, max_length):
    rows, state = [[] for _ in range(num_sentences)], None
    for _ in range(max_length):
        last = torch.tensor([row[-1] if row else BOS for row in rows])
        logits, state = step(last, state)
        for row, chosen in zip(rows, logits.argmax(-1).tolist(), strict=True):
            row.append(PAD if row and row[-1] in (EOS, PAD) else chosen)
        if all(row[-1] in (EOS, PAD) for row in rows):
            break
    return rows


def in_place(step, num_sentences, max_length):
    tokens = torch.full((num_sentences, max_length), PAD)
    last, state = torch.full((num_sentences,), BOS), None
    going = torch.ones(num_sentences, dtype=torch.long)
    for t in range(max_length):
        logits, state = step(last, state)
        last = logits.max(-1).indices * going
        tokens[:, t] = last
        going = going * (last != EOS)
        if not going.any():
            break
    return tokens


def in_columns(step, num_sentences, max_length):
    """Feeds (B, 1), lets finished sentences run on, and cuts at the end."""
    tokens, state = torch.full((num_sentences, 1), BOS), None
    while tokens.shape[1] <= max_length and not (tokens == EOS).any(1).all():
        logits, state = step(tokens[:, -1:], state)
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], 1)
    ended = (tokens == EOS).long()
    return tokens.masked_fill(ended.cumsum(1) > ended, PAD)[:, 1:].numpy()


def one_at_a_time(step, num_sentences, max_length):
    rows = []
    for b in range(num_sentences):
        last, state, row = torch.full((num_sentences,), BOS), None, []
        while len(row) < max_length and EOS not in row:
            logits, state = step(last, state)
            last = logits.argmax(-1)
            row.append(int(last[b]))
        rows.append(row + [PAD] * (max_length - len(row)))
    return torch.tensor(rows)


RIGHT["9.8"] = {
    "masked_fill": greedy_search,
    "lists": in_lists,
    "a table filled in place": in_place,
    "columns, cut at the end": in_columns,
    "floats": search("stack(tokens, 1)", "stack(tokens, 1).double()"),
}
WRONG["9.8"] = {
    "all that was written is fed in": (
        search("step(last,", "step(torch.stack([torch.full((num_sentences,), BOS), *tokens], 1),"),
        "the token written last of each sentence",
    ),
    "nothing fed back": (search("step(last", "step(0 * last + BOS"), "BOS was fed in again"),
    "second best": (
        search("logits.argmax(-1)", "logits.topk(2).indices[:, 1]"),
        "the likeliest after what was written",
    ),
    "starts with the end mark": (search("BOS", "EOS"), "every sentence starts with BOS"),
    "stops with the first": (search("done.all()", "done.any()"), "when the first sentence"),
    "never stops": (search("done.all()", "False"), "all sentences had ended after"),
    "finished rows go on": (search(".masked_fill(done, PAD)", ""), "a finished row gets PAD"),
    "one step too many": (search("< max_length", "<= max_length"), "where max_length is"),
    "one step too few": (search("max_length and", "max_length - 1 and"), "were needed"),
    "state dropped": (search("step(last, state)", "step(last, None)"), "handed to the next step"),
    "end mark cut off": (
        search("stack(tokens, 1)", "stack([t.masked_fill(t == EOS, PAD) for t in tokens], 1)"),
        "the end mark itself",
    ),
    "start mark kept": (
        search("stack(tokens, 1)", "stack([torch.full_like(last, BOS), *tokens], 1)"),
        "no part of the translation",
    ),
    "batch of one squeezed": (
        search("tokens, 1)", "tokens, 1).squeeze()"),
        "it should be (B, T), T <= max_length",
    ),
    "one at a time": (one_at_a_time, "started afresh midway"),
    "ends again and again": (search("PAD", "EOS"), f"and then token {EOS} follows"),
    "nothing returned": (search("return ", ""), "is a `return` missing?"),
    "time first": (search("tokens, 1)", "tokens, 0)"), "has shape"),
}
INPUT_KINDS["9.8"] = {
    "greedy_search": {
        "one sentence": lambda B, max_length, logits: B == 1,
        "several sentences": lambda B, max_length, logits: B > 1,
        "the limit is reached": lambda B, max_length, logits: len(logits) == max_length,
        "all end before the limit": lambda B, max_length, logits: max_length > 2 * len(logits) > 0,
    },
}
