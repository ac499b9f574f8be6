"""The torch layers against PyTorch's own, against loops, and against the answers of the course."""

import itertools

import pytest
import torch
from course import answers_in
from fake_device import FAR, watched
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import attn_utils
from attn_utils import attend, layers, rotate

SIZES = [(2, 5, 12, 3), (1, 1, 4, 2), (3, 7, 8, 1), (2, 8, 8, 8)]  # B, T, D, H


def make(kind, D, H, length=9, **options):
    """A layer of either kind in float64, and the same one each time."""
    torch.manual_seed(D + H)
    sizes = (D, H, length) if kind.__name__ == "SynthesizerAttention" else (D, H)
    return kind(*sizes, **options).double()


def sequence(B, T, D):
    return torch.randn(B, T, D, generator=torch.Generator().manual_seed(T)).double()


BOTH = pytest.mark.parametrize("kind", [layers.CausalSelfAttention, layers.SynthesizerAttention])


def torch_twin(layer, D, H):
    twin = nn.MultiheadAttention(D, H, batch_first=True).double()
    parts = (layer.query, layer.key, layer.value)
    twin.in_proj_weight.data = torch.cat([part.weight for part in parts]).detach()
    twin.in_proj_bias.data = torch.cat([part.bias for part in parts]).detach()
    twin.out_proj.load_state_dict(layer.out.state_dict())
    return twin


@pytest.mark.parametrize(("B", "T", "D", "H"), SIZES)
def test_causal_attention_equals_torch_under_copied_weights_gradients_included(B, T, D, H):
    layer, x = make(layers.CausalSelfAttention, D, H), sequence(B, T, D).requires_grad_()
    hidden = torch.ones(T, T, dtype=torch.bool).triu(1)
    y = layer(x)
    twin, weights = torch_twin(layer, D, H)(x, x, x, attn_mask=hidden, average_attn_weights=False)
    torch.testing.assert_close(y, twin)
    torch.testing.assert_close(layer.weights(x), weights)
    ours, theirs = (torch.autograd.grad(out.sin().sum(), x)[0] for out in (y, twin))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize(("B", "T", "D", "H"), SIZES)
def test_synthesizer_equals_the_formula_written_as_a_loop(B, T, D, H):
    layer, x, d = make(layers.SynthesizerAttention, D, H), sequence(B, T, D), D // H
    for b, t in itertools.product(range(B), range(T)):
        heads = []
        for h in range(H):
            own = slice(h * d, (h + 1) * d)
            hidden = (layer.A.weight[own] @ x[b, t] + layer.A.bias[own]).clamp(min=0)
            weights = (hidden @ layer.B[h, :, : t + 1] + layer.b2[: t + 1]).softmax(0)
            values = x[b, : t + 1] @ layer.value.weight[own].T + layer.value.bias[own]
            heads.append(weights @ values)
        torch.testing.assert_close(layer(x)[b, t], layer.out(torch.cat(heads)))


@pytest.mark.parametrize("d", [1, 4, 25])
def test_a_new_synthesizer_draws_its_scores_between_plus_and_minus_one_over_the_root_of_d(d):
    layer = make(layers.SynthesizerAttention, 2 * d, 2, length=400)
    largest = layer.B.abs().max() * d**0.5
    assert 0.98 < largest <= 1


@BOTH
@given(B=st.integers(1, 3), T=st.integers(1, 9), H=st.integers(1, 3), d=st.integers(1, 4))
@settings(max_examples=15, deadline=None)
def test_weights_of_each_row_sum_to_one_and_never_reach_the_future(kind, B, T, H, d):
    weights = make(kind, H * d, H).weights(sequence(B, T, H * d))
    assert weights.shape == (B, H, T, T)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, H, T).double())
    assert weights.triu(1).count_nonzero() == 0


@BOTH
def test_gradient_to_the_future_is_exactly_zero(kind):
    layer = make(kind, 6, 2)
    jacobian = torch.autograd.functional.jacobian(layer, sequence(1, 5, 6))[0, :, :, 0]
    size = jacobian.abs().amax((1, 3))  # (T, T)
    assert size.triu(1).count_nonzero() == 0
    assert (size.diagonal() > 0).all()


@BOTH
def test_gradients_agree_with_finite_differences(kind):
    layer = make(kind, 4, 2)
    assert torch.autograd.gradcheck(layer, (sequence(2, 3, 4).requires_grad_(),))


def test_a_row_of_the_synthesizer_depends_on_its_own_token_alone():
    for kind, alone in ((layers.SynthesizerAttention, True), (layers.CausalSelfAttention, False)):
        layer, x = make(kind, 6, 2), sequence(1, 5, 6)
        jacobian = torch.autograd.functional.jacobian(layer.weights, x)[0, :, :, :, 0]
        influence = jacobian.abs().amax((0, 2, 4))  # (rows, tokens)
        beside = influence - influence.diag().diag()
        assert (beside.count_nonzero() == 0) == alone


@BOTH
@pytest.mark.parametrize("where", ["attention_dropout", "residual_dropout"])
def test_each_dropout_acts_in_training_alone(kind, where):
    layer, x = make(kind, 6, 2, **{where: 0.5}), sequence(2, 5, 6)
    still = make(kind, 6, 2)(x)
    torch.testing.assert_close(layer.eval()(x), still)
    assert not torch.allclose(layer.train()(x), still)


@BOTH
def test_attention_dropout_keeps_the_expected_output(kind):
    layer, x = make(kind, 6, 2, attention_dropout=0.3), sequence(1, 4, 6)
    torch.manual_seed(0)
    many = layer.train()(x.expand(20_000, 4, 6))
    standard_error = many.std(0) / len(many) ** 0.5
    assert ((many.mean(0) - layer.eval()(x)[0]).abs() < 5 * standard_error + 1e-12).all()


@BOTH
def test_residual_dropout_zeroes_output_features_or_doubles_them(kind):
    layer, x = make(kind, 6, 2, residual_dropout=0.5), sequence(2, 5, 6)
    y, still = layer.train()(x), make(kind, 6, 2)(x)
    dropped = y == 0
    assert 0 < dropped.sum() < dropped.numel()
    torch.testing.assert_close(y[~dropped], 2 * still[~dropped])


@BOTH
def test_a_width_that_heads_cannot_share_is_refused_by_name(kind):
    with pytest.raises(ValueError, match="width 10 cannot be split evenly into 3 heads"):
        make(kind, 10, 3)


def test_a_sequence_beyond_the_synthesizers_length_is_refused_with_both_sizes():
    with pytest.raises(ValueError, match=r"\(1, 10, 4\) is longer than max_length 9"):
        make(layers.SynthesizerAttention, 4, 2)(sequence(1, 10, 4))


@given(T=st.integers(1, 6), H=st.integers(1, 4), d=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_merging_undoes_splitting_and_a_head_holds_neighbouring_features(T, H, d):
    x = sequence(2, T, H * d)
    heads = layers.split_heads(x, H)
    assert torch.equal(layers.merge_heads(heads), x)
    for h in range(H):
        assert torch.equal(heads[:, h], x[..., h * d : (h + 1) * d])


def test_parameters_are_as_many_as_the_formulas_say():
    D, length = 256, 127
    for kind, expected in (
        (layers.CausalSelfAttention, 4 * D**2 + 4 * D),
        (layers.SynthesizerAttention, 3 * D**2 + 3 * D + (D + 1) * length),
    ):
        for H in (1, 8):
            assert sum(p.numel() for p in make(kind, D, H, length).parameters()) == expected


@pytest.fixture(scope="module")
def reference():
    """The reference answers of notebook 06."""
    return answers_in("solutions", "06_transformer_attention")


def test_public_kernels_agree_with_the_answers_of_the_course(reference):
    x = sequence(2, 5, 6)
    mask = torch.rand(2, 5, 5, generator=torch.Generator().manual_seed(1)) < 0.5
    mask[0, 3] = False  # a row without any key
    for ours, theirs in zip(
        attn_utils.attend(x, x, x, mask=mask), reference["attend"](x, x, x, mask), strict=True
    ):
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        attn_utils.softmax(reference["scores"](x, x)), attn_utils.attend(x, x, x)[1]
    )
    assert torch.equal(attn_utils.causal_mask(7, like=x), reference["causal_mask"](7))
    assert torch.equal(layers.split_heads(x, 3), reference["split_heads"](x, 3))
    heads = layers.split_heads(x, 3)
    assert torch.equal(layers.merge_heads(heads), reference["merge_heads"](heads))


def test_layers_agree_with_the_answers_of_the_course(reference):
    answers = {layers.CausalSelfAttention: reference["CausalSelfAttention"]}
    synthesizer = answers_in("solutions", "07_synthesizer")["SynthesizerAttention"]
    answers[layers.SynthesizerAttention] = synthesizer
    for kind, answer in answers.items():
        layer, twin, x = make(kind, 12, 3), make(answer, 12, 3, 9), sequence(2, 5, 12)
        twin.load_state_dict(layer.state_dict())
        torch.testing.assert_close(layer(x), twin(x))


def bits_and_or():
    bits = list(itertools.product((0, 1), repeat=2))
    x = torch.eye(4).double()[torch.tensor([[a, b, 2] for a, b in bits])]
    return x, torch.tensor([float(a or b) for a, b in bits]).double()


def test_one_head_with_keys_and_queries_computes_or_by_hand():
    x, target = bits_and_or()
    layer, t = make(layers.CausalSelfAttention, 4, 1), 20.0
    for parameter in layer.parameters():
        parameter.data.zero_()
    layer.query.weight.data[0, 2] = 2.0  # sqrt(d), which the scale takes away again
    layer.key.weight.data[0, :2] = torch.tensor([t, 2 * t])
    layer.value.weight.data[0, 1] = layer.out.weight.data[0, 0] = 1
    errors = (layer(x)[:, -1, 0] - target).abs()
    assert errors.max() < 1.01 * torch.exp(torch.tensor(-t))


@pytest.mark.parametrize("H", [1, 2, 4])
def test_no_synthesizer_readout_does_better_at_or_than_a_quarter(H):
    x, target = bits_and_or()
    for seed in range(20):
        torch.manual_seed(seed)
        y = layers.SynthesizerAttention(4, H, 3).double()(x)[:, -1].detach()  # (4, D)
        features = torch.cat([y, torch.ones(4, 1)], 1)
        fit = features @ torch.linalg.pinv(features) @ target
        torch.testing.assert_close(fit[0] + fit[3], fit[1] + fit[2], atol=1e-6, rtol=0)
        assert (fit - target).abs().max() > 0.25 - 1e-6


STEPS = [(6,), (1,) * 6, (4, 1, 1), (2, 3, 1)]
ROTATIONS = pytest.mark.parametrize("turn", [None, rotate], ids=["plain", "rotated"])


def full_pass(q, k, v, turn):
    """Causal attention over all tokens at once, without a cache."""
    if turn is not None:
        positions = torch.arange(q.shape[-2])
        q, k = turn(q, positions), turn(k, positions)
    return attend(q, k, v, causal=True)[0]


@ROTATIONS
@pytest.mark.parametrize("sizes", STEPS)
def test_a_cache_gives_what_the_full_pass_gives_though_another_is_stepped_in_between(turn, sizes):
    q, k, v = (sequence(2, 6, d).roll(i, 0) for i, d in enumerate((4, 4, 3)))
    ours, other = layers.Cache(turn), layers.Cache(turn)
    steps = []
    for new in zip(*(x.split(sizes, dim=1) for x in (q, k, v)), strict=True):
        steps.append(ours.step(*new))
        other.step(*(-x for x in new))
    torch.testing.assert_close(torch.cat(steps, 1), full_pass(q, k, v, turn))
    assert ours.length == 6 and layers.Cache(turn).length == 0


@ROTATIONS
def test_rows_of_a_cache_go_on_by_themselves(turn):
    x = sequence(3, 5, 4)
    cache = layers.Cache(turn)
    assert cache.rows(torch.tensor([0])).length == 0
    cache.step(*[x[:, :4]] * 3)
    index = torch.tensor([2, 0, 2, 1])
    chosen = cache.rows(index)
    last = chosen.step(*[x[index, 4:]] * 3)
    torch.testing.assert_close(last, full_pass(x, x, x, turn)[index, 4:])
    assert chosen.length == 5 and cache.length == 4


@ROTATIONS
@pytest.mark.parametrize("sizes", STEPS)
def test_a_layer_with_a_cache_gives_what_it_gives_without(turn, sizes):
    layer, x = make(layers.CausalSelfAttention, 8, 2), sequence(2, 6, 8)
    whole = layer(x, layers.Cache(turn))
    cache = layers.Cache(turn)
    steps = [layer(new, cache) for new in x.split(sizes, dim=1)]
    torch.testing.assert_close(torch.cat(steps, 1), whole)
    assert torch.equal(whole, layer(x)) == (turn is None)


def test_positions_reach_the_weights_that_are_dropped_from():
    layer, x = make(layers.CausalSelfAttention, 8, 2, attention_dropout=1e-9), sequence(2, 6, 8)
    torch.testing.assert_close(
        layer.train()(x, layers.Cache(rotate)), layer.eval()(x, layers.Cache(rotate))
    )


def slot_inputs():
    """A slot's queries (B, T, D), memory (B, S, D) and mask (B, S) on the current device."""
    return torch.rand(2, 3, 8), torch.rand(2, 5, 8), torch.ones(2, 5, dtype=torch.bool)


BUILDERS = {
    name: lambda slot=slot: (slot(8), *slot_inputs()) for name, slot in layers.SLOTS.items()
}
BUILDERS |= {
    "causal": lambda: (layers.CausalSelfAttention(8, 2), torch.rand(2, 3, 8)),
    "causal, dropping": lambda: (
        layers.CausalSelfAttention(8, 2, attention_dropout=0.5),
        torch.rand(2, 3, 8),
    ),
    "causal, cached": lambda: (
        layers.CausalSelfAttention(8, 2),
        torch.rand(2, 3, 8),
        layers.Cache(rotate),
    ),
    "synthesizer": lambda: (layers.SynthesizerAttention(8, 2, 4), torch.rand(2, 3, 8)),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_no_layer_waits_for_the_device_or_leaves_it(name):
    def forward(layer, *args):
        return layer(*args)

    assert watched(BUILDERS[name], forward) == ([], {FAR.type})


@pytest.mark.parametrize("name", layers.SLOTS)
def test_a_sentence_without_words_leaves_the_gradients_finite(name):
    torch.manual_seed(0)
    slot, (queries, memory, mask) = layers.SLOTS[name](8), slot_inputs()
    mask[1] = False
    parameters = [queries.requires_grad_(), *slot.parameters()]
    context, weights = slot(queries, memory, mask)
    assert (weights[1] == 0).all()
    (context.sin().sum() + 0 * queries.sum()).backward()
    assert all(x.grad is None or x.grad.isfinite().all() for x in parameters)


def test_the_mean_over_one_key_is_that_key():
    memory = sequence(1, 3, 6)
    mask = torch.tensor([[False, True, False]])
    context, weights = layers.MeanAttention(6)(sequence(1, 2, 6), memory, mask)
    torch.testing.assert_close(context, memory[:, 1:2].expand(1, 2, 6))
    assert weights.tolist() == [[[0, 1, 0], [0, 1, 0]]]
