"""The slots, the translator around them, and the two searches."""

import itertools
from dataclasses import replace

import pytest
import torch
from bench.translation import Forgetful
from course import answers_in

from attn_course.errors import UserError
from attn_course.translation.batches import collate, pad_source
from attn_course.translation.config import Config, transformer
from attn_course.translation.corpora import embedded
from attn_course.translation.decoding import beam, greedy, n_best
from attn_course.translation.models import build
from attn_course.translation.trained_translator import Run
from attn_course.translation.training import Trainer
from attn_course.translation.vocabulary import BOS, EOS, PAD, Vocabulary
from attn_utils import attend
from attn_utils.layers import SLOTS

PAIRS = [([5, 6, 7, 8, 9], [10, 11]), ([6], [12, 13, 14, 5]), ([7, 8, 5], [9])]


@pytest.fixture(params=SLOTS)
def slot(request):
    torch.manual_seed(0)
    return SLOTS[request.param](8)


KINDS = (*SLOTS, "transformer")  # what `tiny` builds


def tiny(kind="dot", num_tokens=16, **changes):
    torch.manual_seed(3)
    config = Config(embedding=8, width=8, **changes)
    if kind == "transformer":
        config = replace(transformer(config), embedding=16, width=16)
    else:
        config = replace(config, attention=kind)
    return build(replace(config, dropout=0.0), num_tokens).eval()


def inputs(B=2, T=3, S=5):
    generator = torch.Generator().manual_seed(1)
    queries, memory = (torch.randn(B, n, 8, generator=generator) for n in (T, S))
    return queries, memory, torch.arange(S) < torch.tensor([[S], [S - 2]])


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


def test_every_slot_gives_context_and_weights_whose_rows_sum_to_one_or_to_nothing():
    for name, make in SLOTS.items():
        context, weights = make(8)(*inputs())
        assert context.shape == (2, 3, 8) and weights.shape == (2, 3, 5)
        sums = torch.zeros(2, 3) if name == "none" else torch.ones(2, 3)
        torch.testing.assert_close(weights.sum(-1), sums)


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


@pytest.mark.parametrize("attention", KINDS)
def test_logits_of_a_pair_do_not_depend_on_its_batch(attention):
    model = tiny(attention)
    together = model(collate(PAIRS))
    for row, pair in enumerate(PAIRS):
        alone = model(collate([pair]))[0]
        torch.testing.assert_close(together[row, : len(alone)], alone)


@pytest.mark.parametrize("attention", KINDS)
def test_one_call_over_the_target_equals_one_call_a_step(attention):
    model, batch = tiny(attention), collate(PAIRS)
    memory, state, steps = model.encode(batch.source, batch.lengths), None, []
    for t in range(batch.inputs.shape[1]):
        logits, _, state = model.decode(batch.inputs[:, t : t + 1], memory, state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, 1), model(batch))


@pytest.mark.parametrize("kind", ["dot", "transformer"])
def test_source_target_and_output_share_one_embedding(kind):
    names = [name for name, p in tiny(kind, num_tokens=17).named_parameters() if len(p) == 17]
    assert sorted(names) == ["bias", "embed.weight"]


@pytest.mark.parametrize("attention", KINDS)
def test_a_beam_of_one_is_greedy_search(attention):
    model = tiny(attention)
    source = pad_source([s for s, _ in PAIRS])
    one, other = greedy(model, *source, max_length=9), beam(model, *source, max_length=9, size=1)
    assert one == other


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
    (found,) = beam(model, *pad_source([source]), max_length=length, size=60, length_penalty=0.0)
    allowed = ended + [c for c in every if EOS not in c and len(c) == length]
    best = max(allowed, key=lambda ids: log_probability(model, source, list(ids)))
    assert found == list(best)


@pytest.mark.parametrize("kind", ["dot", "transformer"])
@pytest.mark.parametrize("search", [greedy, beam])
def test_search_gives_a_sentence_the_same_answer_alone_and_in_a_batch(search, kind):
    model = tiny(kind)
    together = search(model, *pad_source([s for s, _ in PAIRS]), max_length=8)
    for row, (source, _) in enumerate(PAIRS):
        assert search(model, *pad_source([source]), max_length=8) == [together[row]]


@pytest.mark.parametrize("kind", ["dot", "transformer"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_translation_without_an_end_is_cut_by_its_own_source(kind, beam_size):
    vocabulary = Vocabulary.learn([f"{letter} " * 9 for letter in "abcdefgh"], size=30)
    model = tiny(kind, num_tokens=len(vocabulary))
    with torch.no_grad():
        model.bias[EOS] = -100.0  # no translation ever ends
    run = Run(model, vocabulary)
    sentences = ["a b", "c d e f g h a b c d e f", "e"]
    together = run.search(sentences, beam_size=beam_size)
    sizes = [len(vocabulary.encode(sentence)) + 1 for sentence in sentences]
    assert [len(ids) for ids in together] == [2 * size + 10 for size in sizes]
    for sentence, ids in zip(sentences, together, strict=True):
        assert run.search([sentence], beam_size=beam_size) == [ids]


@pytest.mark.parametrize("search", [greedy, beam])
def test_a_search_ends_with_the_end_mark_or_at_the_longest_length(search):
    for ids in search(tiny(), *pad_source([s for s, _ in PAIRS]), max_length=7):
        assert PAD not in ids and EOS not in ids[:-1]
        assert ids[-1] == EOS or len(ids) == 7


@pytest.mark.parametrize("search", [greedy, beam])
def test_a_cache_changes_nothing_but_the_time(search):
    model = tiny("transformer")
    source = pad_source([s for s, _ in PAIRS])
    cached = search(model, *source, max_length=9)
    again = search(Forgetful(model), *source, max_length=9)
    assert cached == again


def test_a_state_is_one_tensor_of_keys_and_values_that_grows_by_a_token():
    model, batch = tiny("transformer"), collate(PAIRS)
    memory = model.encode(batch.source)
    _, _, state = model.decode(batch.inputs[:, :2], memory)
    assert state.shape == (2 * 2, 3, 4, 2, 4)  # (2L, B, H, t, d)
    _, _, longer = model.decode(batch.inputs[:, 2:3], memory, state)
    assert longer.shape == (4, 3, 4, 3, 4) and torch.equal(longer[..., :2, :], state)


def test_a_transformer_sees_the_order_of_its_words():
    model = tiny("transformer")
    one, other = (model(collate([(source, [9, 10])])) for source in ([5, 6, 7], [7, 6, 5]))
    assert not torch.allclose(one, other, atol=1e-4)


def test_the_first_of_the_n_best_is_what_a_beam_returns_and_all_differ():
    model, source = tiny(), pad_source([s for s, _ in PAIRS])
    lists = n_best(model, *source, max_length=6, size=4)
    best = beam(model, *source, max_length=6, size=4)
    for found, ids in zip(lists, best, strict=True):
        assert found[0].tokens == ids and len({tuple(h.tokens) for h in found}) == 4
        scores = [hypothesis.score for hypothesis in found]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in found:
            total = log_probability(model, PAIRS[lists.index(found)][0], hypothesis.tokens)
            assert hypothesis.score == pytest.approx(total / len(hypothesis.tokens), abs=1e-4)


@pytest.mark.parametrize(
    ("config", "slot", "claim"),
    [
        (Config(attention="dots"), None, "'dots'"),
        (Config(architecture="lstm"), None, "'lstm'"),
        (transformer(Config()), SLOTS["mean"](192), "no slot"),
    ],
)
def test_a_model_that_there_is_not_is_refused_in_a_sentence(config, slot, claim):
    with pytest.raises(UserError, match=claim):
        build(config, 16, slot=slot)


@pytest.fixture(scope="module")
def scenes():
    """A quickly trained translator, and the 200 test sentences of the invented corpus."""
    corpus = embedded(num_train=300, num_val=2, num_test=200)
    config = Config(vocabulary=300, embedding=32, width=32, batch_tokens=500, tokens=10_000)
    run = Trainer(corpus, config, progress=False, device="cpu").fit()
    return run, [german for german, _ in corpus.test]


@pytest.mark.parametrize("size", [1, 3])
def test_the_search_of_10_3_writes_what_the_course_s_own_searches_write(scenes, size):
    run, sentences = scenes
    beam_search = answers_in("solutions", "10_translation")["beam_search"]
    tokens = beam_search(*run.start_of_search(sentences), size, 30)
    rows = [row[row != PAD].tolist() for row in tokens]
    assert len(rows) == 200
    assert rows == run.search(sentences, beam_size=size, max_length=30)


def test_the_greedy_search_of_9_8_writes_what_the_course_s_own_search_writes(scenes):
    run, sentences = scenes
    greedy_search = answers_in("solutions", "09_seq2seq")["greedy_search"]
    tokens = greedy_search(run.stepper(sentences), 200, 30)
    rows = [row[row != PAD].tolist() for row in tokens]
    assert rows == run.search(sentences, max_length=30)


@pytest.mark.parametrize("kind", ["dot", "transformer"])
def test_a_state_of_a_search_gives_its_rows_also_repeatedly(kind):
    vocabulary = Vocabulary.learn([f"{letter} " * 9 for letter in "abcdefgh"], size=30)
    run = Run(tiny(kind, num_tokens=len(vocabulary)), vocabulary)
    step, state = run.start_of_search(["a b", "c d e f"])
    _, after = step([BOS, BOS], state)
    assert len(state) == len(after) == 2
    for rows in ([1, 0, 1], torch.tensor([1, 0, 1])):
        chosen, _ = step([3, 4, 3], after[rows])
        both, _ = step([4, 3], after)
        torch.testing.assert_close(chosen, both[[1, 0, 1]])
