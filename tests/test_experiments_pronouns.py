"""The language of two pronouns: what it says, and that a model of one layer learns both."""

import pytest
import torch

from attn_course.experiments import pronouns
from attn_utils.layers import CausalSelfAttention


@pytest.fixture
def model():
    torch.manual_seed(0)
    return pronouns.NextWord(CausalSelfAttention(16, 2), 16)


def test_each_pronoun_follows_the_number_of_its_own_noun():
    found = pronouns.sentences()
    assert len(found) == 192
    assert "the dogs near the cat said they like it".split() in found
    assert "the child with the birds said it likes them".split() in found
    assert {len(sentence) for sentence in found} == {9}
    assert len({" ".join(sentence) for sentence in found}) == 192


def test_position_tells_two_orders_of_the_same_words_apart(model):
    one, other = model.ids(["the dogs near the cat".split(), "the cat near the dogs".split()])
    moved = one[[0, 4, 2, 3, 1]]
    assert torch.equal(moved, other)
    assert not torch.allclose(
        model.embed(one[None])[0, [0, 4, 2, 3, 1]], model.embed(other[None])[0]
    )


def test_chances_are_those_of_the_words_that_come(model):
    ids = model.ids(pronouns.sentences()[:3])  # (3, 9)
    found = model.chances(ids)
    assert found.shape == (3, 8)
    assert found[2, 4] == model(ids[:, :-1])[2, 4, ids[2, 5]]


def test_another_layer_stands_in_for_its_own(model):
    ids = model.ids(pronouns.sentences())
    other = CausalSelfAttention(16, 2)
    assert torch.equal(model(ids, model.attention), model(ids))
    assert not torch.allclose(model(ids, other), model(ids))


def test_it_learns_both_pronouns_in_every_sentence(model):
    ids = model.ids(pronouns.sentences())
    assert model.share_right(ids)[[5, 7]].min() < 0.8
    model.fit(ids, steps=80, rate=0.02)
    assert model.share_right(ids)[[5, 7]].tolist() == [1, 1]
