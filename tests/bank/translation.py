"""Right and wrong answers to 9.1, 9.2 and 9.4, each wrong one with a fragment of the message it must get."""

from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attn_course.translation.vocabulary import BOS, EOS, PAD
from attn_utils.layers import DotAttention, MeanAttention, NoAttention
from bank import edited

INF = torch.inf
# Helpers such as search("a", "b") are edits: the right answer above them, with b in place of a.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 9.1


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

RIGHT["9.1"] = {
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
WRONG["9.1"] = {
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
    """Of a call of 9.1 with numbers, not the one on a device without them."""
    return lambda *args: len(args) == 4 and belongs(*args)


SLOTS = {
    "no padding": of_slots(lambda D, queries, memory, mask: mask.all(1).any()),
    "padding": of_slots(lambda D, queries, memory, mask: not mask.all()),
    "one English step": of_slots(lambda D, queries, memory, mask: queries.shape[1] == 1),
    "one sentence": of_slots(lambda D, queries, memory, mask: len(mask) == 1),
    "another device": lambda *args: len(args) == 2,
}
LOW = {"scores near -20000": of_slots(lambda D, q, m, mask: (q @ m.mT).min() / D**0.5 < -1e4)}
INPUT_KINDS["9.1"] = {
    "NoAttention": SLOTS,
    "MeanAttention": SLOTS | LOW,
    "DotAttention": SLOTS | LOW,
}

# 9.2


def by_loops(weights, gold):
    both = found = wanted = 0
    for w, links in zip(weights, gold, strict=True):
        for t, row in enumerate(w.tolist()):
            if max(row) > 0:
                found += 1
                both += (t, row.index(max(row))) in links
        wanted += len(links)
    return 1 - 2 * both / (found + wanted)


def links_of(w):
    return {(t, int(row.argmax())) for t, row in enumerate(w) if row.sum() > 0}


def by_sets(weights, gold):
    found = [links_of(w) for w in weights]
    both = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    num_found, num_gold = sum(map(len, found)), sum(map(len, gold))
    return 1 - 2 * both / (num_found + num_gold)


rate_with = partial(edited, by_sets)
counts = partial(rate_with, "2 * both / (num_found + num_gold)")
links = partial(rate_with, "links_of(w)")


def by_torch(weights, gold):
    found = []
    for w in map(torch.as_tensor, weights):
        heaviest, place = w.max(-1)
        found.append({(t, s) for t, s in enumerate(place.tolist()) if heaviest[t] > 0})
    common = sum(len(a.intersection(b)) for a, b in zip(found, gold, strict=True))
    f1 = 2 * common / (sum(map(len, found)) + sum(map(len, gold)))
    return torch.tensor(1 - f1, dtype=torch.float64)


def by_matrices(weights, gold):
    both = all_links = 0
    for w, links in zip(weights, gold, strict=True):
        found, wanted = np.zeros((2, *w.shape), bool)
        rows = np.flatnonzero(w.any(1))
        found[rows, w[rows].argmax(1)] = True
        wanted[tuple(np.transpose(sorted(links)))] = True
        both, all_links = both + (found & wanted).sum(), all_links + found.sum() + wanted.sum()
    return [1 - 2 * both / all_links]


def crossed_off(weights, gold):
    """Takes each link that was found out of the caller's gold set."""
    both, all_links = 0, sum(map(len, gold))
    for w, links in zip(weights, gold, strict=True):
        all_links += len(links_of(w))
        for link in links_of(w) & links:
            links.remove(link)
            both += 1
    return 1 - 2 * both / all_links


def last_of_ties(w):
    return {(t, len(row) - 1 - int(row[::-1].argmax())) for t, row in enumerate(w) if row.any()}


RIGHT["9.2"] = {
    "loops and counters": by_loops,
    "sets": by_sets,
    "matrices, in a list": by_matrices,
    "torch, through F1": by_torch,
}
WRONG["9.2"] = {
    "accuracy": (rate_with("1 - 2", "2"), "one minus it"),
    "mean of sentences": (
        lambda w, g: np.mean([by_sets([a], [b]) for a, b in zip(w, g, strict=True)]),
        "the mean over sentences",
    ),
    "precision": (counts("both / num_found"), "one minus precision"),
    "recall": (counts("both / num_gold"), "one minus recall"),
    "union": (counts("both / (num_found + num_gold - both)"), "links in either"),
    "half": (counts("both / (num_found + num_gold)"), "factor 2 of (1) is missing"),
    "silent rows linked": (links("{*enumerate(w.argmax(1).tolist())}"), "linked to the first word"),
    "turned": (links("{(s, t) for t, s in links_of(w)}"), "other way round"),
    "down the columns": (
        links("{(t, s) for s, t in enumerate(w.argmax(0).tolist()) if w[:, s].any()}"),
        "ask each target word",
    ),
    "last of ties": (links("last_of_ties(w)"), "the last was taken"),
    "every tie": (
        links("set(zip(*np.nonzero((w == w.max(1, keepdims=True)) & (w > 0)), strict=True))"),
        "all of them were linked",
    ),
    "percent": (rate_with("1 - 2", "100 - 200"), "a percentage"),
    "nothing found": (
        counts("2 * both / num_found * both / num_gold / (both / num_found + both / num_gold)"),
        "ZeroDivisionError",
    ),
    "gold crossed off": (crossed_off, "no attribute 'remove'"),
    "a constant": (lambda weights, gold: 0.123, "you: 0.123"),
}
INPUT_KINDS["9.2"] = {
    "alignment_error_rate": {
        "one sentence": lambda weights, gold: len(gold) == 1,
        "several sentences": lambda weights, gold: len(gold) > 1,
        "a row without weight": lambda weights, gold: any(not w.any(1).all() for w in weights),
        "no weight at all": lambda weights, gold: not any(w.any() for w in weights),
        "a tie": lambda weights, gold: any(
            ((w == w.max(1, keepdims=True)).sum(1) > 1).any() for w in weights
        ),
        "a word with two links": lambda weights, gold: any(
            len(links) > len({t for t, _ in links}) for links in gold
        ),
    },
}

# 9.4


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


RIGHT["9.4"] = {
    "masked_fill": greedy_search,
    "lists": in_lists,
    "a table filled in place": in_place,
    "columns, cut at the end": in_columns,
}
WRONG["9.4"] = {
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
        "with B = 1 it should be (B, T)",
    ),
    "one at a time": (one_at_a_time, "started afresh midway"),
    "ends again and again": (search("PAD", "EOS"), f"and then token {EOS} follows"),
    "nothing returned": (search("return ", ""), "is a `return` missing?"),
    "time first": (search("tokens, 1)", "tokens, 0)"), "has shape"),
}
INPUT_KINDS["9.4"] = {
    "greedy_search": {
        "one sentence": lambda B, max_length, logits: B == 1,
        "several sentences": lambda B, max_length, logits: B > 1,
        "the limit is reached": lambda B, max_length, logits: len(logits) == max_length,
        "all end before the limit": lambda B, max_length, logits: max_length > 2 * len(logits) > 0,
    },
}
