"""Measures training and search of the translator against a per-step tutorial model; asserts nothing.

    python tests/bench/translation.py [steps]

The tutorial model is our own telling of a well-known design: additive attention inside a Python loop
over target words, the context fed back into the decoder, separate word vocabularies, batches of 128
sentences of any length, 512 units. All models take turns, one batch each, on one thread, whose CPU
time is counted; only real target tokens count, padding does not.
"""

import sys
import time
from dataclasses import replace
from itertools import product

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attn_course.translation.batches import bucket, collate, pad_source
from attn_course.translation.config import PRESETS, transformer
from attn_course.translation.corpora import embedded
from attn_course.translation.decoding import beam, greedy
from attn_course.translation.models import build
from attn_course.translation.training import loss_sum
from attn_course.translation.vocabulary import PAD

SOURCE_WORDS, TARGET_WORDS = 7853, 5893  # Multi30k's words seen twice, the tutorial's vocabularies


class PerStep(nn.Module):
    """Additive attention and one decoder step at a time; memory (B, S, 2 * encoder width)."""

    def __init__(
        self, *, source_words, target_words, embedding=256, encoder=512, decoder=512, dropout=0.5
    ):
        super().__init__()
        self.source, self.target = (
            nn.Embedding(source_words, embedding),
            nn.Embedding(target_words, embedding),
        )
        self.encoder = nn.GRU(embedding, encoder, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * encoder, decoder)
        self.energy = nn.Linear(2 * encoder + decoder, decoder)
        self.score = nn.Linear(decoder, 1, bias=False)
        self.decoder = nn.GRU(2 * encoder + embedding, decoder, batch_first=True)
        self.output = nn.Linear(2 * encoder + decoder + embedding, target_words)
        self.dropout = nn.Dropout(dropout)

    def forward(self, batch):
        x = self.dropout(self.source(batch.source))
        packed = pack_padded_sequence(x, batch.lengths, batch_first=True, enforce_sorted=False)
        memory, last = self.encoder(packed)
        memory, _ = pad_packed_sequence(memory, batch_first=True)
        state = self.bridge(last.transpose(0, 1).flatten(1)).tanh()  # (B, D)
        mask, logits = batch.source != PAD, []
        for t in range(batch.inputs.shape[1]):
            word = self.dropout(self.target(batch.inputs[:, t]))
            context = self.attend(state, memory, mask)
            step, _ = self.decoder(torch.cat([word, context], -1)[:, None], state[None])
            state = step[:, 0]
            logits.append(self.output(torch.cat([state, context, word], -1)))
        return torch.stack(logits, 1)

    def attend(self, state, memory, mask):
        """state (B, D), memory (B, S, M), mask (B, S) -> context (B, M)."""
        pairs = torch.cat([state[:, None].expand(-1, memory.shape[1], -1), memory], -1)
        scores = self.score(self.energy(pairs).tanh()).squeeze(-1).masked_fill(~mask, -torch.inf)
        return (scores.softmax(-1)[:, None] @ memory)[:, 0]


def random_pairs(source_words, target_words):
    """Pairs as long as those of the embedded corpus, of random words."""
    torch.manual_seed(0)
    sizes = [(len(s.split()) + 1, len(t.split()) + 1) for s, t in embedded(num_train=4000).train]
    ranges = (source_words, target_words)
    return [
        tuple(torch.randint(4, high, (n,)).tolist() for high, n in zip(ranges, pair, strict=True))
        for pair in sizes
    ]


def any_length(pairs):
    """Batches of 128 pairs in random order."""
    order = torch.randperm(len(pairs)).tolist()
    return [order[i : i + 128] for i in range(0, len(order), 128)]


def similar_length(pairs):
    return bucket(pairs, max_tokens=1000, generator=torch.Generator().manual_seed(0))


class Contestant:
    """A model with its batches; `step` trains on the next one and keeps the time."""

    def __init__(self, name, model, pairs, groups):
        self.name, self.model, self.pairs, self.groups = name, model, pairs, groups
        self.optimiser = torch.optim.AdamW(model.parameters())
        self.tokens = self.seconds = 0

    def step(self, number):
        group = [self.pairs[i] for i in self.groups[number % len(self.groups)]]
        begin = time.process_time()
        loss = loss_sum(self.model, collate(group))
        self.optimiser.zero_grad()
        (loss / len(group)).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        if number:  # the first step warms up
            self.seconds += time.process_time() - begin
            self.tokens += sum(len(target) + 1 for _, target in group)


def ours(num_tokens, width):
    return build(replace(PRESETS["full"], width=width), num_tokens)


def our_transformer():
    return build(transformer(PRESETS["full"]), 4000)


def contestants():
    words, joint = random_pairs(SOURCE_WORDS, TARGET_WORDS), random_pairs(4000, 4000)
    equal = random_pairs(TARGET_WORDS, TARGET_WORDS)
    tutorial = PerStep(source_words=SOURCE_WORDS, target_words=TARGET_WORDS)
    narrow = PerStep(source_words=TARGET_WORDS, target_words=TARGET_WORDS, encoder=256)
    return [
        Contestant("tutorial, as configured", tutorial, words, any_length(words)),
        Contestant(
            "ours, as configured (full preset)", ours(4000, 384), joint, similar_length(joint)
        ),
        Contestant("tutorial, as configured", tutorial, words, any_length(words)),
        Contestant(
            "our Transformer (full preset)",
            our_transformer(),
            joint,
            similar_length(joint),
        ),
        Contestant("tutorial, widths 256 + 256 / 512", narrow, equal, any_length(equal)),
        Contestant(
            "ours, same widths and vocabulary",
            ours(TARGET_WORDS, 512),
            equal,
            similar_length(equal),
        ),
    ]


class Forgetful(nn.Module):
    """A translator without its cache or state: every step reads all tokens so far again."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.encode = model.encode

    def decode(self, inputs, memory, state=None):
        """The state (1, B, t) is the tokens themselves."""
        tokens = inputs if state is None else torch.cat([state[0], inputs], -1)
        logits, weights, _ = self.model.decode(tokens, memory)
        return logits[:, -1:], weights[:, -1:], tokens[None]


def search_rates(searchers, num_rounds):
    """{(name, search): sentences a CPU second}, all searches taking turns.

    100 sentences at once, 20 steps each: an untrained model does not stop by itself.
    """
    sources = pad_source([source for source, _ in random_pairs(4000, 4000)[:100]])
    seconds = dict.fromkeys(product(searchers, (greedy, beam)), 0.0)
    for number in range(num_rounds + 1):
        for name, search in seconds:
            begin = time.process_time()
            search(searchers[name], *sources, max_length=20)
            if number:  # the first round warms up
                seconds[name, search] += time.process_time() - begin
    return {key: 100 * num_rounds / spent for key, spent in seconds.items()}


def main(num_steps=3):
    torch.set_num_threads(1)
    runners = contestants()
    for number in range(num_steps + 1):
        for runner in runners:
            runner.step(number)
    print(f"{'training':36}{'parameters':>12}{'target tokens/s':>18}{'ratio':>8}")
    for i, runner in enumerate(runners):
        rate, base = (r.tokens / r.seconds for r in (runner, runners[i - i % 2]))
        size = sum(p.numel() for p in runner.model.parameters())
        print(f"{runner.name:36}{size / 1e6:>11.1f}M{rate:>18,.0f}{rate / base:>7.1f}x")
    cached = our_transformer().eval()
    gru = ours(4000, 384).eval()
    searchers = {
        "GRU with its state": gru,
        "GRU without": Forgetful(gru),
        "Transformer with its cache": cached,
        "Transformer without": Forgetful(cached),
    }
    print(f"{'sentences/s':36}{'greedy':>12}{'beam of 5':>18}")
    rates = search_rates(searchers, num_steps)
    for name in searchers:
        print(f"{name:36}{rates[name, greedy]:>12.0f}{rates[name, beam]:>18.0f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
