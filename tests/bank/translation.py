"""Right and wrong answers to 9.1, 9.2 and 9.4, each wrong one with a fragment of the message it must get."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attn_course.translation.vocabulary import BOS, EOS, PAD
from attn_utils.layers import DotAttention, MeanAttention, NoAttention

INF = torch.inf


def slot(forward):
    """A slot class with this function as its forward."""

    class Slot(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.width = width

        def forward(self, queries, memory, mask):
            return forward(queries, memory, mask)

    return Slot


def weighing(make_weights):
    """A slot from a function that makes weights (B, T, S)."""

    def forward(queries, memory, mask):
        weights = make_weights(queries, memory, mask)
        return weights @ memory, weights

    return slot(forward)


def nothing(queries, memory, mask):
    B, T, D = queries.shape
    return queries.new_zeros(B, T, D), queries.new_zeros(B, T, mask.shape[1])


def nothing_on_the_cpu(queries, memory, mask):
    return torch.zeros(queries.shape), torch.zeros(*queries.shape[:2], mask.shape[1])


def silent(queries, memory, mask):
    return 0 * queries, 0 * (queries @ memory.mT)


def gathered_mean(queries, memory, mask):
    rows = [m[look].mean(0) for m, look in zip(memory, mask, strict=True)]
    context = torch.stack(rows)[:, None].expand_as(queries)
    weights = torch.stack([look / look.sum() for look in mask])
    return context, weights[:, None].repeat(1, queries.shape[1], 1)


def even(queries, mask, weights):
    return weights[:, None].expand(-1, queries.shape[1], -1)


def softmax_mean(queries, memory, mask):
    flat = torch.zeros_like(queries @ memory.mT).masked_fill(~mask[:, None], -INF)
    return flat.softmax(-1)


def scores(queries, memory):
    return queries @ memory.mT / queries.shape[-1] ** 0.5


def hidden(queries, memory, mask, by=-INF):
    return scores(queries, memory).masked_fill(~mask[:, None], by)


def viewed(queries, memory, mask):
    turned = memory.reshape(len(memory), memory.shape[2], memory.shape[1])
    products = queries @ turned / queries.shape[-1] ** 0.5
    return products.masked_fill(~mask[:, None], -INF).softmax(-1)


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


def lowest(queries, memory, mask):
    least = torch.finfo(queries.dtype).min
    weights = hidden(queries, memory, mask, least).softmax(-1)
    return torch.einsum("bts,bsd->btd", weights, memory), weights


def renormalised(queries, memory, mask):
    raised = torch.einsum("btd,bsd->bts", queries, memory).div(queries.shape[-1] ** 0.5).exp()
    weights = raised * mask[:, None] / (raised * mask[:, None]).sum(-1, keepdim=True)
    return torch.einsum("bts,bsd->btd", weights, memory), weights


def summed_mean(queries, memory, mask):
    count = mask.sum(1, keepdim=True)
    context = torch.where(mask[..., None], memory, 0.0).sum(1) / count
    weights = torch.where(mask, 1 / count, 0.0)
    return context[:, None].expand_as(queries), even(queries, mask, weights)


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
        weights = hidden(self.query(queries), self.key(memory), mask).softmax(-1)
        return weights @ memory, weights


class Explodes(torch.autograd.Function):
    """Changes nothing, but hands back nan, or nothing that fits."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * torch.nan


def nan_behind(queries, memory, mask):
    weights = hidden(Explodes.apply(queries), memory, mask).softmax(-1)
    return weights @ memory, weights


def eye_on_the_cpu(queries, memory, mask):
    look = {"attn_mask": mask[:, None]}
    eye = torch.eye(memory.shape[1]).expand(len(memory), -1, -1)
    weights = F.scaled_dot_product_attention(queries, memory, eye, **look)
    return weights @ memory, weights


def values_detached(queries, memory, mask):
    weights = hidden(queries, memory, mask).softmax(-1)
    return weights @ memory.detach(), weights


def last_place(queries, memory, mask):
    context = memory[:, -1:].expand_as(queries)
    return context, queries.new_zeros(len(mask), queries.shape[1], mask.shape[1])


def last_real(queries, memory, mask):
    ends = F.one_hot(mask.sum(1) - 1, mask.shape[1]).float()
    return even(queries, mask, ends)


def with_slots(none=NoAttention, mean=MeanAttention, dot=DotAttention):
    return none, mean, dot


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
    common = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    return 1 - 2 * common / sum(map(len, (*found, *gold)))


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


def through_precision_and_recall(both, found, gold):
    precision, recall = both / found, both / gold
    return 1 - 2 * precision * recall / (precision + recall)


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


def every_tie(w):
    return {
        (t, s) for t, row in enumerate(w.tolist()) for s, x in enumerate(row) if x == max(row) > 0
    }


def rate(combine, links=links_of):
    """An error rate from the counts (both, found, gold) of all sentences."""

    def function(weights, gold):
        found = [links(w) for w in weights]
        both = sum(len(a & b) for a, b in zip(found, gold, strict=True))
        return combine(both, sum(map(len, found)), sum(map(len, gold)))

    return function


def aer(both, found, gold):
    return 1 - 2 * both / (found + gold)


def mean_of_sentences(weights, gold):
    return sum(by_sets([w], [g]) for w, g in zip(weights, gold, strict=True)) / len(gold)


def search(
    *,
    start=BOS,
    choose=lambda logits: logits.argmax(-1),
    keep=lambda chosen, done: chosen.masked_fill(done, PAD),
    stop=lambda done: bool(done.all()),
    extra=0,
    feed=lambda chosen: chosen,
    hand_on=lambda state: state,
    finish=lambda tokens: tokens,
):
    """A right `greedy_search`, any piece of which can be replaced by a wrong one."""

    def greedy_search(step, num_sentences, max_length):
        last, state = torch.full((num_sentences,), start), None
        done, tokens = torch.zeros(num_sentences, dtype=torch.bool), []
        while len(tokens) < max_length + extra and not stop(done):
            logits, state = step(last, hand_on(state))
            chosen = keep(choose(logits), done)
            done |= chosen == EOS
            tokens.append(chosen)
            last = feed(chosen)
        return finish(torch.stack(tokens, 1))

    return greedy_search


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


RIGHT = {
    "9.1": {
        "the course's own": with_slots(),
        "softmax of equal scores": (slot(nothing), weighing(softmax_mean), slot(loop)),
        "boolean indexing, fused kernel": (slot(silent), slot(gathered_mean), slot(fused)),
        "-1e9": with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k, -1e9).softmax(-1))),
        "sums, and what is hidden below all others": (
            slot(nothing),
            slot(summed_mean),
            slot(lowest),
        ),
        "a buffer": with_slots(dot=ScaledByABuffer),
        "mask as numbers": with_slots(
            mean=weighing(lambda q, m, k: even(q, k, k.float() / k.float().sum(-1, keepdim=True)))
        ),
    },
    "9.2": {
        "loops and counters": (by_loops,),
        "sets": (by_sets,),
        "matrices, in a list": (by_matrices,),
        "torch, through F1": (by_torch,),
    },
    "9.4": {
        "masked_fill": (search(),),
        "lists": (in_lists,),
        "a table filled in place": (in_place,),
        "columns, cut at the end": (in_columns,),
    },
}

WRONG = {
    "9.1": {
        "last place of the row": (
            with_slots(none=slot(last_place)),
            "memory[:, -1], which is padding",
        ),
        "last real state": (with_slots(none=weighing(last_real)), "the last real state"),
        "queries handed through": (
            with_slots(none=slot(lambda q, m, k: (q, nothing(q, m, k)[1]))),
            "repeats the queries",
        ),
        "pads averaged": (
            with_slots(mean=weighing(lambda q, m, k: even(q, k, torch.ones_like(k) / k.shape[1]))),
            "padding is averaged in",
        ),
        "pads counted": (
            with_slots(mean=weighing(lambda q, m, k: even(q, k, k / k.shape[1]))),
            "still counted",
        ),
        "only pads": (
            with_slots(
                mean=weighing(
                    lambda q, m, k: even(q, k, ~k / (~k).sum(-1, keepdim=True).clamp(min=1))
                )
            ),
            "only padding is averaged",
        ),
        "a sum": (
            with_slots(mean=weighing(lambda q, m, k: even(q, k, k.float()))),
            "not divided by anything",
        ),
        "mean over the batch": (
            with_slots(mean=weighing(lambda q, m, k: even(q, k, k / k.sum(0).clamp(min=1)))),
            "the average runs over the batch",
        ),
        "no mask": (
            with_slots(dot=weighing(lambda q, m, k: scores(q, m).softmax(-1))),
            "no key is hidden",
        ),
        "softmax over the batch": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k).softmax(0).nan_to_num(0))),
            "the softmax runs over the batch",
        ),
        "softmax over queries": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k).softmax(1).nan_to_num(0))),
            "over the queries",
        ),
        "exponentials of scores as they are": (
            with_slots(dot=slot(renormalised)),
            "hide it before the softmax",
        ),
        "hidden scores at -20": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k, -20.0).softmax(-1))),
            "DotAttention: a low number such as -20",
        ),
        "hidden scores at -20, then zeroed": (
            with_slots(
                dot=weighing(lambda q, m, k: hidden(q, m, k, -20.0).softmax(-1) * k[:, None])
            ),
            "the weights do not sum to one",
        ),
        "softmax over queries, padding at -1e9": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k, -1e9).softmax(1))),
            "so that columns sum to one",
        ),
        "view for transpose": (
            with_slots(dot=weighing(viewed)),
            "only renames the axes of k",
        ),
        "weights of another shape": (
            with_slots(mean=slot(lambda q, m, k: (gathered_mean(q, m, k)[0], k.float()))),
            "the weights of MeanAttention have shape",
        ),
        "no scale": (
            with_slots(
                dot=weighing(lambda q, m, k: (hidden(q, m, k) * q.shape[-1] ** 0.5).softmax(-1))
            ),
            "not divided by sqrt(d)",
        ),
        "scaled by D": (
            with_slots(
                dot=weighing(lambda q, m, k: (hidden(q, m, k) / q.shape[-1] ** 0.5).softmax(-1))
            ),
            "divided by d, the width",
        ),
        "polarity": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, ~k).softmax(-1).nan_to_num(0))),
            "wrong way round (True means may look): the weights are off",
        ),
        "zero scores": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k, 0.0).softmax(-1))),
            "exp(0) = 1",
        ),
        "mask after softmax": (
            with_slots(dot=weighing(lambda q, m, k: scores(q, m).softmax(-1) * k[:, None])),
            "comes after the softmax",
        ),
        "something else": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k).softmax(-1) ** 2)),
            "the weights are off by",
        ),
        "detached": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, k).softmax(-1).detach())),
            "no gradient flows back to the queries",
        ),
        "mean without a gradient": (
            with_slots(mean=slot(lambda q, m, k: gathered_mean(q, m.detach(), k))),
            "no gradient flows back to the memory",
        ),
        "values detached": (
            with_slots(dot=slot(values_detached)),
            "only part of the gradient",
        ),
        "zeros on the CPU": (
            with_slots(none=slot(nothing_on_the_cpu)),
            "NoAttention makes a tensor on the CPU",
        ),
        "an identity on the CPU": (
            with_slots(dot=slot(eye_on_the_cpu)),
            "DotAttention makes a tensor on the CPU",
        ),
        "projections": (with_slots(dot=Projected), "yours has key.bias, key.weight, query.bias"),
        "a gradient of nan": (with_slots(dot=slot(nan_behind)), "nan and no gradient"),
        "polarity with nan": (
            with_slots(dot=weighing(lambda q, m, k: hidden(q, m, ~k).softmax(-1))),
            "wrong way round (True means may look): the result contains nan",
        ),
        "pads in the context alone": (
            with_slots(
                mean=slot(
                    lambda q, m, k: (
                        m.mean(1, keepdim=True).expand_as(q),
                        gathered_mean(q, m, k)[1],
                    )
                )
            ),
            "the weights are right, but the context",
        ),
        "places changed": (
            with_slots(dot=slot(lambda q, m, k: loop(q, m, k)[::-1])),
            "the context comes first",
        ),
        "context alone": (
            with_slots(mean=slot(lambda q, m, k: gathered_mean(q, m, k)[0])),
            "two tensors",
        ),
    },
    "9.2": {
        "accuracy": ((rate(lambda b, f, g: 2 * b / (f + g)),), "one minus it"),
        "mean of sentences": ((mean_of_sentences,), "the mean over sentences"),
        "precision": ((rate(lambda b, f, g: 1 - b / f),), "one minus precision"),
        "recall": ((rate(lambda b, f, g: 1 - b / g),), "one minus recall"),
        "union": ((rate(lambda b, f, g: 1 - b / (f + g - b)),), "links in either"),
        "half": ((rate(lambda b, f, g: 1 - b / (f + g)),), "factor 2 of (1) is missing"),
        "silent rows linked": (
            (rate(aer, lambda w: set(enumerate(w.argmax(1).tolist()))),),
            "linked to the first word",
        ),
        "turned": ((rate(aer, lambda w: {(s, t) for t, s in links_of(w)}),), "other way round"),
        "down the columns": (
            (
                rate(
                    aer,
                    lambda w: {(t, s) for s, t in enumerate(w.argmax(0).tolist()) if w[:, s].any()},
                ),
            ),
            "ask each target word",
        ),
        "last of ties": ((rate(aer, last_of_ties),), "the last was taken"),
        "every tie": ((rate(aer, every_tie),), "all of them were linked"),
        "percent": ((rate(lambda b, f, g: 100 * aer(b, f, g)),), "a percentage"),
        "nothing found": ((rate(through_precision_and_recall),), "ZeroDivisionError"),
        "gold crossed off": ((crossed_off,), "no attribute 'remove'"),
        "a constant": ((lambda weights, gold: 0.123,), "you: 0.123"),
    },
    "9.4": {
        "nothing fed back": (
            (search(feed=lambda c: torch.full_like(c, BOS)),),
            "BOS was fed in again",
        ),
        "second best": (
            (search(choose=lambda logits: logits.topk(2).indices[:, 1]),),
            "the likeliest after what was written",
        ),
        "starts with the end mark": ((search(start=EOS),), "every sentence starts with BOS"),
        "stops with the first": (
            (search(stop=lambda d: bool(d.any())),),
            "when the first sentence",
        ),
        "never stops": ((search(stop=lambda d: False),), "all sentences had ended after"),
        "finished rows go on": ((search(keep=lambda c, d: c),), "a finished row gets PAD"),
        "one step too many": (
            (search(extra=1),),
            "where max_length is",
        ),
        "one step too few": ((search(extra=-1),), "were needed"),
        "state dropped": ((search(hand_on=lambda s: None),), "handed to the next step"),
        "end mark cut off": (
            (search(finish=lambda t: t.masked_fill(t == EOS, PAD)),),
            "the end mark itself",
        ),
        "start mark kept": (
            (search(finish=lambda t: torch.cat([torch.full((len(t), 1), BOS), t], 1)),),
            "no part of the translation",
        ),
        "batch of one squeezed": (
            (search(finish=torch.squeeze),),
            "with B = 1 it should be (B, T)",
        ),
        "one at a time": ((one_at_a_time,), "started afresh midway"),
        "ends again and again": (
            (search(keep=lambda c, d: c.masked_fill(d, EOS)),),
            f"and then token {EOS} follows",
        ),
        "nothing returned": ((search(finish=lambda t: None),), "is a `return` missing?"),
        "time first": ((search(finish=lambda t: t.T),), "has shape"),
    },
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

REGIMES = {
    "9.1": {
        "NoAttention": SLOTS,
        "MeanAttention": SLOTS | LOW,
        "DotAttention": SLOTS | LOW,
    },
    "9.2": {
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
    },
    "9.4": {
        "greedy_search": {
            "one sentence": lambda B, max_length, logits: B == 1,
            "several sentences": lambda B, max_length, logits: B > 1,
            "the limit is reached": lambda B, max_length, logits: len(logits) == max_length,
            "all end before the limit": lambda B, max_length, logits: (
                max_length > 2 * len(logits) > 0
            ),
        },
    },
}
