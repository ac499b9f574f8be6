"""The slots, the translator around them, and the two searches."""

import itertools

import pytest
import torch

from attn_course.translation.batches import collate, pad_source
from attn_course.translation.config import Config
from attn_course.translation.decoding import beam, greedy
from attn_course.translation.model import build
from attn_course.translation.vocabulary import BOS, EOS, PAD
from attn_utils import attend
from attn_utils.layers import SLOTS

PAIRS = [([5, 6, 7, 8, 9], [10, 11]), ([6], [12, 13, 14, 5]), ([7, 8, 5], [9])]


@pytest.fixture(params=SLOTS)
def slot(request):
    torch.manual_seed(0)
    return SLOTS[request.param](8)


def tiny(attention="dot", num_tokens=16, **changes):
    torch.manual_seed(3)
    config = Config(attention=attention, embedding=8, width=8, dropout=0.0, **changes)
    return build(config, num_tokens).eval()


def inputs(B=2, T=3, S=5):
    generator = torch.Generator().manual_seed(1)
    queries, memory = (torch.randn(B, n, 8, generator=generator) for n in (T, S))
    return queries, memory, torch.arange(S) < torch.tensor([[S], [S - 2]])


def test_all_slots_share_one_signature(slot):
    queries, memory, mask = inputs()
    context, weights = slot(queries, memory, mask)
    assert context.shape == queries.shape and weights.shape == (2, 3, 5)


def test_padding_changes_nothing(slot):
    queries, memory, mask = inputs()
    context, weights = slot(queries, memory, mask)
    noisy = torch.where(mask[..., None], memory, torch.full_like(memory, 1e3))
    torch.testing.assert_close(slot(queries, noisy, mask), (context, weights))
    assert (weights[1, :, 3:] == 0).all()


def test_a_sentence_does_not_notice_its_batch(slot):
    queries, memory, mask = inputs()
    context, weights = slot(queries, memory, mask)
    alone = slot(queries[1:], memory[1:, :3], mask[1:, :3])
    torch.testing.assert_close(alone, (context[1:], weights[1:, :, :3]))


def test_weights_of_each_row_sum_to_one_or_to_nothing():
    for name, make in SLOTS.items():
        _, weights = make(8)(*inputs())
        sums = torch.zeros(2, 3) if name == "none" else torch.ones(2, 3)
        torch.testing.assert_close(weights.sum(-1), sums)


def test_a_sentence_without_words_gets_no_weight(slot):
    queries, memory, mask = inputs()
    _, weights = slot(queries, memory, torch.zeros_like(mask))
    assert (weights == 0).all()


def test_dot_attention_is_the_kernel():
    queries, memory, mask = inputs()
    expected = attend(queries, memory, memory, mask=mask[:, None])
    torch.testing.assert_close(SLOTS["dot"](8)(queries, memory, mask), expected)


def test_multihead_weights_and_context_equal_torch_s_own():
    queries, memory, mask = inputs()
    ours, theirs = SLOTS["multihead"](8), torch.nn.MultiheadAttention(8, 4, batch_first=True)
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.load_state_dict(ours.out.state_dict())
    expected = theirs(queries, memory, memory, key_padding_mask=~mask)
    torch.testing.assert_close(ours(queries, memory, mask), expected)


def test_heads_that_do_not_divide_the_width_are_refused():
    with pytest.raises(ValueError, match=r"width 10 .* 4 heads"):
        SLOTS["multihead"](10)


def test_an_unknown_attention_is_refused_by_name():
    with pytest.raises(ValueError, match="'dots'"):
        tiny("dots")


@pytest.mark.parametrize("attention", SLOTS)
def test_logits_of_a_pair_do_not_depend_on_its_batch(attention):
    model = tiny(attention)
    together = model(collate(PAIRS))
    for row, pair in enumerate(PAIRS):
        alone = model(collate([pair]))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone)


@pytest.mark.parametrize("attention", SLOTS)
def test_one_call_over_the_target_equals_one_call_a_step(attention):
    model, batch = tiny(attention), collate(PAIRS)
    memory, state, steps = model.encode(batch.source, batch.lengths), None, []
    for t in range(batch.inputs.shape[1]):
        logits, _, state = model.decode(batch.inputs[:, t : t + 1], memory, state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), model(batch))


def test_source_target_and_output_share_one_embedding():
    names = [name for name, p in tiny(num_tokens=17).named_parameters() if len(p) == 17]
    assert names == ["bias", "embed.weight"]


@pytest.mark.parametrize("attention", SLOTS)
def test_a_beam_of_one_is_greedy_search(attention):
    model = tiny(attention)
    source = pad_source([s for s, _ in PAIRS])
    one, other = greedy(model, *source, max_length=9), beam(model, *source, max_length=9, size=1)
    assert one.tokens == other.tokens
    torch.testing.assert_close(one.weights, other.weights)


def log_probability(model, source, ids):
    memory = model.encode(*pad_source([source]))
    logits, _, _ = model.decode(torch.tensor([[BOS, *ids[:-1]]]), memory)
    logits[..., [PAD, BOS]] = -torch.inf
    return logits.log_softmax(-1)[0, range(len(ids)), ids].sum().item()


def test_a_wide_beam_finds_the_best_of_all_sequences():
    model, length = tiny(num_tokens=6), 3
    words = [EOS, 3, 4, 5]
    every = [c for n in range(1, length + 1) for c in itertools.product(words, repeat=n)]
    ended = [c for c in every if EOS in c and c.index(EOS) == len(c) - 1]
    source = [3, 4, 5]
    found = beam(
        model, *pad_source([source]), max_length=length, size=60, length_penalty=0.0
    ).tokens[0]
    allowed = ended + [c for c in every if EOS not in c and len(c) == length]
    best = max(allowed, key=lambda ids: log_probability(model, source, list(ids)))
    assert found == list(best)


@pytest.mark.parametrize("search", [greedy, beam])
def test_search_gives_a_sentence_the_same_answer_alone_and_in_a_batch(search):
    model = tiny()
    together = search(model, *pad_source([s for s, _ in PAIRS]), max_length=8)
    for row, (source, _) in enumerate(PAIRS):
        alone = search(model, *pad_source([source]), max_length=8)
        assert alone.tokens[0] == together.tokens[row]
        width = len(source) + 1
        torch.testing.assert_close(alone.weights[0], together.weights[row][:, :width])


@pytest.mark.parametrize("search", [greedy, beam])
def test_search_keeps_one_row_of_weights_for_each_token(search):
    decoded = search(tiny(), *pad_source([s for s, _ in PAIRS]), max_length=7)
    for ids, weights in zip(decoded.tokens, decoded.weights, strict=True):
        assert weights.shape == (len(ids), 6) and PAD not in ids and len(ids) <= 7
        assert EOS not in ids[:-1]


def test_weights_of_a_beam_belong_to_the_hypothesis_it_returns():
    model, source = tiny(), pad_source([PAIRS[0][0]])
    decoded = beam(model, *source, max_length=6, size=4)
    ids = decoded.tokens[0]
    _, weights, _ = model.decode(torch.tensor([[BOS, *ids[:-1]]]), model.encode(*source))
    torch.testing.assert_close(decoded.weights[0], weights[0])
