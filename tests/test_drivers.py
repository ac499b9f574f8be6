"""What runs beside a student's object: nothing that could tell an answer, and raw numbers come back."""

import ast

import numpy as np
import pytest
import torch
from course import JUDGED, ROOT, answers_in

from attn_course import drivers
from attn_course.answers import Answer, NotYet
from attn_course.checking import listening
from attn_utils import rotate

BESIDE = {
    "attn_course.drivers",
    "attn_course.calls",
    "attn_course.answers",
    "attn_course.derivation",
}


class Watched(Answer):
    """Keeps the module of every function that is run on the student's object."""

    def __init__(self, thing, caught, sent):
        super().__init__(thing, caught)
        self.sent = sent

    def run_driver(self, driver, *args, **kwargs):
        self.sent.add(driver.__module__)
        return super().run_driver(driver, *args, **kwargs)


@pytest.mark.parametrize(("question", "part"), JUDGED, ids=[f"{q.id} {p.kind}" for q, p in JUDGED])
def test_no_function_of_a_judge_is_run_beside_the_student(question, part):
    space = answers_in("solutions", question.notebook)
    sent = set()
    with listening() as caught:
        answers = [Watched(space[name], caught, sent) for name in part.answers]
        part.judge(np.random.default_rng(0), *answers)
    assert sent and sent <= BESIDE


def test_drivers_import_numpy_torch_kernels_and_calls_alone():
    tree = ast.parse((ROOT / drivers.__name__.replace(".", "/")).with_suffix(".py").read_text())
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    standard = "collections collections.abc contextlib copy functools typing weakref".split()
    ours = "attn_utils.kernels attn_utils.masks attn_utils.layers".split()
    ours += ["attn_course.calls", "attn_course.markers"]
    assert names <= {
        *standard,
        *ours,
        "numpy",
        "torch",
        "torch.overrides",
        "torch.utils._python_dispatch",
    }


class Fused(torch.nn.Module):
    def __init__(self, D, num_heads):
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(D, num_heads, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)[0]


def test_the_stack_of_torchs_own_module_is_loaded_and_its_gradient_cut_in_three():
    rng = np.random.default_rng(0)
    shapes = {"weight": (4, 4), "bias": (4,)}
    parameters = {
        f"{name}.{kind}": rng.normal(size=shape)
        for name in ("query", "key", "value", "out")
        for kind, shape in shapes.items()
    }
    x = rng.normal(size=(2, 3, 4))
    result = drivers.run_layer(Fused, (4, 2), parameters, x)
    assert set(result["gradients"]) == {"x", *parameters}
    moved = parameters | {"key.weight": parameters["key.weight"] + 1e-6 * x[0, 0]}
    outputs = [drivers.run_layer(Fused, (4, 2), p, x)["outputs"][0] for p in (moved, parameters)]
    slope = ((outputs[0] - outputs[1]) * drivers.probe(x.shape)).sum() / 1e-6
    assert slope == pytest.approx((result["gradients"]["key.weight"] * x[0, 0]).sum(), rel=1e-3)


def test_a_search_gets_no_logits_that_the_judge_has_not_handed_out():
    seen = []

    def greedy(step, num_sentences, max_length):
        state, last = None, torch.ones(num_sentences, dtype=torch.long)
        for _ in range(max_length):
            try:
                logits, state = step(last, state)
            except Exception:
                return last
            seen.append(logits.tolist())
        return last

    result = drivers.run_search(greedy, 1, 9, [np.zeros((1, 3)), np.ones((1, 3))])
    assert seen == [[[0, 0, 0]], [[1, 1, 1]]]
    assert result["tokens"] is None and len(result["fed"]) == 3


def test_a_slot_that_makes_tensors_on_the_wrong_device_is_seen_without_one():
    class Zeros(torch.nn.Module):
        def __init__(self, width):
            super().__init__()

        def forward(self, queries, memory, mask):
            return torch.zeros(queries.shape), queries @ memory.mT

    result = drivers.run_slot_elsewhere(Zeros, 4, ((2, 3, 4), (2, 5, 4), (2, 5)))
    assert result == {"wanted": "meta", "devices": ["cpu", "meta"]}


class Forged:
    """An answer whose drivers report what the student likes under one name."""

    def __init__(self, answer, name, change):
        self.answer = answer
        self.name = name
        self.change = change

    def run_driver(self, driver, *args, **kwargs):
        result = self.answer.run_driver(driver, *args, **kwargs)
        if self.name not in result:
            return result
        return result | {self.name: self.change(result[self.name])}


def emptied(gradients):
    return [np.zeros(0)] * 2


@pytest.mark.parametrize(
    ("question_id", "name", "change"),
    [
        ("6.6", "gradients", lambda gradients: {}),
        ("6.2", "gradients", emptied),
        ("9.3", "gradients", emptied),
        ("9.3", "gradients", lambda gradients: [np.full(x.shape, np.nan) for x in gradients]),
        # logits are handed out one step at a time, and tokens are judged outside
        ("9.8", "fed", lambda tokens: tokens[:1]),
    ],
)
def test_a_forged_report_earns_nothing(question_id, name, change):
    question, part = next(pair for pair in JUDGED if pair[0].id == question_id)
    space = answers_in("solutions", question.notebook)
    with listening() as caught:
        *others, last = [Answer(space[name], caught) for name in part.answers]
        with pytest.raises(NotYet, match="gradient" if name == "gradients" else "."):
            part.judge(np.random.default_rng(0), *others, Forged(last, name, change))


def test_the_rotation_that_is_handed_over_is_that_of_the_kernels():
    x = np.random.default_rng(0).normal(size=8)
    pairs = np.arange(8).reshape(-1, 2)
    found = drivers.make_rotation(pairs, 100.0)(x, 7)
    assert np.allclose(found, rotate(x[None], [7], 100.0)[0])
    back = drivers.make_rotation(pairs[:, ::-1], 100.0)(found, 7)  # the other sense
    assert np.allclose(back, x)


def test_a_layer_is_known_by_its_outputs_alone_and_other_inputs_are_asked_for():
    x = np.arange(6.0).reshape(3, 2)
    found = drivers.call_with_outputs(lambda layer, x: layer(x[::-1]).sum(), x, [x[::-1]], [x])
    assert found == {"said": 15.0}
    found = drivers.call_with_outputs(lambda layer, x: layer(2 * x), x, [x], [x])
    assert np.array_equal(found["asked"], 2 * x)


def test_a_state_of_any_kind_stays_beside_the_student_and_only_its_size_comes_back():
    class State:
        def __init__(self, scores):
            self.parts = {"scores": scores, "more": [1.0, np.zeros(4)]}

    def swallow(state):
        state.parts["scores"] += 1
        return state

    numbers = 3 + 1 + 4 + len("scores") + len("more")  # names could carry numbers too
    assert drivers.keep_result(State, "a", [np.zeros(3)]) == numbers
    assert drivers.keep_result(swallow, "b", ["a"]) == numbers
    kept = [drivers.call_on_kept(lambda state: state.parts["scores"].sum(), name) for name in "ab"]
    assert kept == [0, 3]


def test_the_largest_new_tensor_is_seen_and_views_and_inputs_are_not():
    def whole(q, k):
        return (q @ k.mT).softmax(-1)

    def looks(q, k):
        return k.expand(50, 7, 3)[:, :1, 0] + q.new_zeros(2, 1, 1)

    arrays = [np.zeros((5, 3)), np.zeros((7, 3))]
    assert drivers.run_watched(whole, arrays)["largest"] == 5 * 7
    assert drivers.run_watched(looks, arrays)["largest"] == 2 * 50


def test_two_caches_are_stepped_by_turns_and_nothing_else_than_tensors_is_named():
    order = []

    class Log:
        def __init__(self, rotate):
            self.rotate = rotate

        def step(self, q, k, v):
            order.append((q[0, 0, 0].item(), q.shape[1]))
            return self.rotate(q, [0]) if q.shape[1] > 1 else None

    sequences = [[np.full((1, 3, 2), float(value))] * 3 for value in (1, 2)]
    found = drivers.step_caches(Log, None, sequences, [2, 1])
    assert order == [(1, 2), (2, 2), (1, 1), (2, 1)]
    assert [steps[0].shape for steps in found] == [(1, 2, 2)] * 2
    assert [steps[1] for steps in found] == ["NoneType"] * 2


def test_what_is_held_at_a_time_is_more_than_the_largest_tensor():
    def doubled(x, count):
        kept = [2 * x for _ in range(count)]
        views = [row for tensor in kept for row in tensor]
        return sum(views)

    def forgetful(x, count):
        for _ in range(count):
            y = 2 * x
        return y

    x = np.zeros((4, 5))
    many = drivers.run_watched(doubled, [x], 6)
    few = drivers.run_watched(forgetful, [x], 6)
    assert many["largest"] == few["largest"] == 20
    assert many["most_held"] >= 6 * 20
    assert few["most_held"] <= 2 * 20


def test_a_view_keeps_its_tensor_and_an_input_counts_as_nothing():
    def last_rows(x):
        rows = [(x + k)[-1] for k in range(5)]
        return torch.stack(rows), x[:2], x.mT

    seen = drivers.run_watched(last_rows, [np.zeros((4, 5))])
    assert 5 * 20 <= seen["most_held"] <= 5 * 20 + 25
    assert drivers.run_watched(lambda x: x.mT, [np.zeros((4, 5))])["most_held"] == 0
