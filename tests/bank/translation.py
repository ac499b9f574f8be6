"""Right and wrong answers to 10.1 and 10.3, each wrong one with a fragment of the message it must get."""

import heapq
from functools import partial

import numpy as np
import torch

from attn_course.translation.decoding import beam
from attn_course.translation.vocabulary import BOS, EOS, PAD
from bank import edited

INF = torch.inf

# Helpers such as counts("a") are edits: the right answer above them, with a in place of something else.
RIGHT = {}
WRONG = {}
INPUT_KINDS = {}  # what the judges must draw: {question: {answer: {name: is a call one of these?}}}

# 10.1


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


RIGHT["10.1"] = {
    "loops and counters": by_loops,
    "sets": by_sets,
    "matrices, in a list": by_matrices,
    "torch, through F1": by_torch,
}
WRONG["10.1"] = {
    "accuracy": (rate_with("1 - 2", "2"), "one minus it"),
    "mean of sentences": (
        lambda w, g: np.mean([by_sets([a], [b]) for a, b in zip(w, g, strict=True)]),
        "the mean over sentences",
    ),
    "precision": (counts("both / num_found"), "one minus precision"),
    "recall": (counts("both / num_gold"), "one minus recall"),
    "union": (counts("both / (num_found + num_gold - both)"), "links in either"),
    "half": (counts("both / (num_found + num_gold)"), "factor 2 of (1) is missing"),
    "small weights linked to nothing": (
        links("{(t, s) for t, s in links_of(w) if w[t, s] > 0.1}"),
        "a row of small weights",
    ),
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
INPUT_KINDS["10.1"] = {
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


# 10.3


def beam_search(step, state, size, max_length):
    B, K = len(state), size
    first = K * torch.arange(B)[:, None]
    state = state[torch.arange(B).repeat_interleave(K)]
    last = torch.full((B * K,), BOS)
    tokens = last.new_zeros(B * K, 0)
    totals = torch.full((B, K), -INF)
    totals[:, 0] = 0.0
    lengths = torch.zeros(B, K)
    done = torch.zeros(B, K, dtype=torch.bool)
    while not done.all() and tokens.shape[1] < max_length:
        log_probs, state = step(last, state)
        V = log_probs.shape[-1]
        stay = torch.full((V,), -INF)
        stay[PAD] = 0.0
        steps = torch.where(done[..., None], stay, log_probs.view(B, K, V))
        grown = totals[..., None] + steps
        lengths = lengths + ~done
        best = (grown / lengths[..., None]).flatten(1).topk(K).indices
        parents = best // V
        rows = (first + parents).flatten()
        totals = grown.flatten(1).gather(1, best)
        lengths = lengths.gather(1, parents)
        last = (best % V).flatten()
        done = done.gather(1, parents) | (last.view(B, K) == EOS)
        tokens = torch.cat([tokens[rows], last[:, None]], 1)
        state = state[rows]
    winner = (totals / lengths).argmax(1, keepdim=True)
    return tokens[(first + winner).flatten()]


beam_with = partial(edited, beam_search)
rank = "(grown / lengths[..., None])"
last_rank = "(totals / lengths)"


def filled(rows):
    """Lists of tokens as a tensor."""
    longest = max(map(len, rows))
    return torch.tensor([list(row) + [PAD] * (longest - len(row)) for row in rows])


def in_lists(step, state, size, max_length):
    """One sentence after another, one row a step."""
    results = []
    for b in range(len(state)):
        beam = [((), 0.0, state[b], BOS)]  # tokens, log-probability, state, last token
        for _ in range(max_length):
            candidates = []
            for hypothesis in beam:
                tokens, total, own, last = hypothesis
                if last == EOS:
                    candidates.append(hypothesis)
                    continue
                log_probs, after = step(torch.tensor([last]), own)
                for token, value in enumerate(log_probs[0].tolist()):
                    if value > -INF:
                        candidates.append(((*tokens, token), total + value, after, token))
            candidates.sort(key=lambda h: -h[1] / len(h[0]))
            beam = candidates[:size]
            if all(last == EOS for *_, last in beam):
                break
        results.append(beam[0][0])
    return filled(results)


def from_b_rows(step, state, size, max_length):
    """B rows in the first step, then the best K of each hypothesis, then the best K of these."""
    B = len(state)
    log_probs, state = step([BOS] * B, state)
    totals, tokens = log_probs.topk(min(size, log_probs.shape[1]))
    K = totals.shape[1]
    rows = torch.arange(B).repeat_interleave(K)
    state, written = state[rows], tokens.reshape(B, K, 1)
    lengths, done = torch.ones(B, K), tokens == EOS
    for _ in range(max_length - 1):
        if done.all():
            break
        log_probs, state = step(written[..., -1].flatten(), state)
        values, tokens = log_probs.view(B, K, -1).topk(min(K, log_probs.shape[1]))
        values = torch.where(done[..., None], torch.full_like(values, -INF), values)
        tokens = torch.where(done[..., None], PAD, tokens)
        values[..., 0] = torch.where(done, 0.0, values[..., 0])
        lengths = lengths + ~done
        grown = totals[..., None] + values
        best = (grown / lengths[..., None]).flatten(1).topk(K).indices
        parents = best // tokens.shape[-1]
        totals, lengths = grown.flatten(1).gather(1, best), lengths.gather(1, parents)
        chosen = tokens.flatten(1).gather(1, best)
        written = written.gather(1, parents[..., None].expand(-1, -1, written.shape[-1]))
        written = torch.cat([written, chosen[..., None]], -1)
        done = done.gather(1, parents) | (chosen == EOS)
        state = state[(K * torch.arange(B)[:, None] + parents).flatten()]
    return written[torch.arange(B), (totals / lengths).argmax(1)]


def by_recursion(step, state, size, max_length):
    """The beam of one sentence after so many steps, from that of one step before."""

    def beam_after(num_steps, b):
        if num_steps == 0:
            return [((), 0.0, state[[b]], BOS)]
        grown = []
        for tokens, mean, own, last in beam_after(num_steps - 1, b):
            if last == EOS:
                grown.append((tokens, mean, own, last))
                continue
            log_probs, after = step(torch.tensor([last]), own)
            n = len(tokens)
            for token in torch.isfinite(log_probs[0]).nonzero().flatten().tolist():
                own_mean = (n * mean + float(log_probs[0, token])) / (n + 1)  # a running mean
                grown.append(((*tokens, token), own_mean, after, token))
        return sorted(grown, key=lambda h: h[1], reverse=True)[:size]

    return filled([beam_after(max_length, b)[0][0] for b in range(len(state))])


def by_a_heap(step, state, size, max_length):
    """Stops as soon as no unfinished hypothesis can overtake the best finished one."""
    results = []
    for b in range(len(state)):
        beam = [(0.0, [], state[b : b + 1])]
        for _ in range(max_length):
            open_ones = [h for h in beam if EOS not in h[1]]
            finished = [h for h in beam if EOS in h[1]]
            bound = max((h[0] / max_length for h in open_ones), default=-INF)
            if finished and max(total / len(tokens) for total, tokens, _ in finished) > bound:
                break
            candidates = list(finished)
            for total, tokens, own in open_ones:
                log_probs, after = step([tokens[-1] if tokens else BOS], own)
                candidates += [
                    (total + value, [*tokens, token], after)
                    for token, value in enumerate(log_probs[0].tolist())
                    if value > -INF
                ]
            beam = heapq.nlargest(size, candidates, key=lambda h: h[0] / len(h[1]))
        results.append(max(beam, key=lambda h: h[0] / len(h[1]))[1])
    return filled(results)


class Wrapped:
    """A model of the course whose steps are those of the check."""

    def __init__(self, step, state):
        self.step, self.state = step, state

    def encode(self, source, lengths):
        return self

    def rows(self, index):
        return Wrapped(self.step, self.state[index])

    def decode(self, last, memory, state):
        log_probs, after = self.step(last, memory.state if state is None else state.state)
        return log_probs[:, None], None, Wrapped(self.step, after)

    def __getitem__(self, index):
        return self.rows(index[1])


def the_course_s_own(step, state, size, max_length):
    model, source = Wrapped(step, state), torch.zeros(len(state), 1, dtype=torch.long)
    return filled(beam(model, source, None, max_length=max_length, size=size))


def exhaustive(step, state, size, max_length):
    return in_lists(step, state, 10**9, max_length)


def best_child_each(step, state, size, max_length):
    """K first words, each continued greedily; then the best."""
    B = len(state)
    log_probs, state = step([BOS] * B, state)
    K = min(size, int(torch.isfinite(log_probs).sum(1).min()))
    totals, last = log_probs.topk(K)
    rows = torch.arange(B).repeat_interleave(K)
    state, totals, last = state[rows], totals.flatten(), last.flatten()
    tokens, lengths, done = last[:, None], torch.ones(B * K), last == EOS
    while tokens.shape[1] < max_length and not done.all():
        log_probs, state = step(last, state)
        value, last = log_probs.max(-1)
        last = last.masked_fill(done, PAD)
        totals, lengths = totals + value.masked_fill(done, 0.0), lengths + ~done
        tokens, done = torch.cat([tokens, last[:, None]], 1), done | (last == EOS)
    return tokens.view(B, K, -1)[torch.arange(B), (totals / lengths).view(B, K).argmax(1)]


def best_of_all(step, state, size, max_length):
    """All sentences compete for all places of the batch."""
    B, K = len(state), size
    state = state[torch.arange(B).repeat_interleave(K)]
    last, totals = torch.full((B * K,), BOS), torch.full((B * K,), -INF)
    totals[::K] = 0.0
    tokens, lengths, done = last.new_zeros(B * K, 0), torch.zeros(B * K), totals > 0
    while not done.all() and tokens.shape[1] < max_length:
        log_probs, state = step(last, state)
        stay = torch.full_like(log_probs[0], -INF)
        stay[PAD] = 0.0
        grown = totals[:, None] + torch.where(done[:, None], stay, log_probs)
        lengths = lengths + ~done
        best = (grown / lengths[:, None]).flatten().topk(B * K).indices
        rows, last = best // len(stay), best % len(stay)
        totals, lengths = grown.flatten()[best], lengths[rows]
        done = done[rows] | (last == EOS)
        tokens, state = torch.cat([tokens[rows], last[:, None]], 1), state[rows]
    return tokens.view(B, K, -1)[torch.arange(B), (totals / lengths).view(B, K).argmax(1)]


def finished_leave(step, state, size, max_length):
    results = []
    for b in range(len(state)):
        beam, finished = [((), 0.0, state[b], BOS)], []
        for _ in range(max_length):
            candidates = []
            for tokens, total, own, last in beam:
                log_probs, after = step([last], own)
                for token in torch.isfinite(log_probs[0]).nonzero().flatten().tolist():
                    value = float(log_probs[0, token])
                    candidates.append(((*tokens, token), total + value, after, token))
            candidates.sort(key=lambda h: -h[1] / len(h[0]))
            finished += [h for h in candidates[:size] if h[-1] == EOS]
            beam = [h for h in candidates[:size] if h[-1] != EOS]
        results.append(max(beam + finished, key=lambda h: h[1] / len(h[0]))[0])
    return filled(results)


lists_with = partial(edited, in_lists)
going_on = edited(in_lists, "if last == EOS:", "if False:", "if all(", "if False and all(")


def finished_go_on_and_are_cut(step, state, size, max_length):
    rows = going_on(step, state, size, max_length).tolist()
    return filled([row[: row.index(EOS) + 1] if EOS in row else row for row in rows])


SPLIT = "(lengths[..., None] - (done[..., None] | (torch.arange(V) == EOS)).int()).clamp(1)"
RIGHT["10.3"] = {
    "tensors": beam_search,
    "lists, a sentence at a time": in_lists,
    "B rows first": from_b_rows,
    "recursion and running means": by_recursion,
    "a heap that stops when nothing can overtake": by_a_heap,
    "the course's own": the_course_s_own,
}
WRONG["10.3"] = {
    "size not used": (beam_with("B, K = len(state), size", "B, K = len(state), 1"), "is not used"),
    "copies at the start": (
        beam_with("(B, K), -INF)", "(B, K), 0.0)"),
        "start alive and stay equal",
    ),
    "state not re-ordered": (beam_with("state = state[rows]", "pass"), "its parent, `state[rows]`"),
    "tokens not re-ordered": (
        beam_with("[tokens[rows], l", "[tokens, l"),
        "with the tokens of its",
    ),
    "not divided": (beam_with(rank, "grown", last_rank, "totals"), "not divided by the length of"),
    "divided by the steps": (
        beam_with("lengths = lengths + ~done", "lengths = lengths + 1"),
        "or all by the number of steps",
    ),
    "divided at the end alone": (beam_with(rank, "grown"), "at the end alone"),
    "not divided at the end": (beam_with(last_rank, "totals"), "not taken into account at the end"),
    "end mark not counted": (
        beam_with(
            last_rank, "(totals / (lengths - done.int()).clamp(1))", rank, f"(grown / {SPLIT})"
        ),
        "the end mark does not count",
    ),
    "finished ones lost": (
        lists_with("candidates.append(hypothesis)\n                    ", ""),
        "a finished hypothesis is lost",
    ),
    "finished ones go on": (
        beam_with(
            "torch.where(done[..., None], stay, log_probs.view(B, K, V))",
            "log_probs.view(B, K, V)",
            "not done.all() and ",
            "",
            "lengths + ~done",
            "lengths + 1",
        ),
        "follows; after its end mark it is filled with PAD",
    ),
    "finished ones go on and are cut": (finished_go_on_and_are_cut, "extended by further words"),
    "finished ones end again": (beam_with("stay[PAD]", "stay[EOS]"), f"then token {EOS} follows"),
    "finished ones leave": (finished_leave, "leave the beam and make room"),
    "finished ones go before others": (
        beam_with(last_rank, "(totals / lengths + 99 * done)"),
        "those cut there compete too",
    ),
    "the end mark cut off": (
        beam_with(
            "return tokens[(first + winner).flatten()]",
            "tokens = tokens.masked_fill(tokens == EOS, PAD)\n    return tokens[(first + winner).flatten()]",
        ),
        "the end mark is left out of the result",
    ),
    "divided by a power of the length": (
        beam_with(
            rank, "(grown / lengths[..., None] ** 0.6)", last_rank, "(totals / lengths**0.6)"
        ),
        "divided by a power of the length",
    ),
    "stops at the first": (lists_with("all(last", "any(last"), "stops with the first finished"),
    "stops when the best is finished": (
        lists_with("all(last == EOS for *_, last in beam)", "beam[0][-1] == EOS"),
        "when the best hypothesis is finished",
    ),
    "probabilities added": (
        beam_with("stay, log_probs.view(B, K, V)", "stay, log_probs.view(B, K, V).exp()"),
        "probabilities are added",
    ),
    "longest returned": (
        beam_with("(totals / lengths).argmax", "(lengths + 1e-3 * totals).argmax"),
        "the longest of the hypotheses",
    ),
    "last returned": (
        beam_with("(totals / lengths).argmax(1, keepdim=True)", "K - 1"),
        "the last of the hypotheses",
    ),
    "best child of each": (best_child_each, "keeps its own best child"),
    "best of the whole batch": (best_of_all, "to the best of the whole batch"),
    "exhaustive": (exhaustive, "times, where max_length is 4"),
    "start mark kept": (
        beam_with("last.new_zeros(B * K, 0)", "last[:, None]", "shape[1] <", "shape[1] <="),
        "no part of the translation",
    ),
    "padding fed first": (beam_with("BOS", "PAD"), "every sentence starts with BOS"),
    "one row": (
        beam_with("return tokens[(first + winner).flatten()]", "return tokens[winner[0, 0]]"),
        "a row for each sentence",
    ),
    "state dropped": (beam_with("log_probs, state = step", "log_probs, _ = step"), "not handed to"),
    "one step too many": (
        beam_with("shape[1] < max_length", "shape[1] <= max_length"),
        "tokens came back, where max_length is",
    ),
    "one step too few": (
        beam_with("shape[1] < max_length", "shape[1] < max_length - 1"),
        "log-probability / length of",
    ),
    "nothing returned": (beam_with("return tokens", "tokens"), "is a `return` missing?"),
}
INPUT_KINDS["10.3"] = {
    "beam_search": {
        "one sentence": lambda tables, size, max_length: len(tables) == 1,
        "several sentences": lambda tables, size, max_length: len(tables) > 1,
        "a beam of one": lambda tables, size, max_length: size == 1,
        "a beam that drops nothing": lambda tables, size, max_length: size >= 3**max_length,
        "one step": lambda tables, size, max_length: max_length == 1,
        "no end": lambda tables, size, max_length: (tables[..., EOS] == -INF).all(),
        "fewer hypotheses than places": lambda tables, size, max_length: (
            (tables[:, 0] > -INF).sum(-1).min() < size
        ),
        "words equally likely": lambda tables, size, max_length: (
            len({*tables[tables > -INF].tolist()}) == 1
        ),
    },
}
