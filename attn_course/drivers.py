"""What runs beside a student's object: build it, call it, take gradients, hand back raw arrays.

Holds no expected value. torch is imported by the drivers that need it alone.
"""

import copy
import functools
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

Arrays = Sequence[np.ndarray]
Found = dict[str, Any]  # by name, as a driver hands it over
Function = Callable[..., Any]  # what a student wrote: a function, or a class to be made


class Asked(BaseException):
    """Stops an answer that asks for what it has not been given yet."""


def given(thing: Any) -> Any:
    """`thing`, unless the answer is still empty."""
    if thing is None or thing is ...:
        raise NotImplementedError
    return thing


def is_given(thing: Any) -> bool:
    """Whether there is an answer."""
    return given(thing) is not None


def call_each(function: Function, rows: Iterable[Sequence]) -> list:
    """[function(*row) for each row]."""
    given(function)
    return [function(*row) for row in rows]


def call_with_seeds(
    function: Function, rows: Iterable[Sequence], seeds: Iterable[int], *others: Any
) -> list:
    """[function(*row, generator, *others)]: each row with a NumPy generator of its own seed."""
    given(function)
    generators = map(np.random.default_rng, seeds)
    return [function(*row, rng, *others) for row, rng in zip(rows, generators, strict=True)]


def call_with_links(
    function: Function, weights: Iterable[np.ndarray], gold: Iterable[Iterable]
) -> Any:
    """function(weights, gold), where each row of `gold` becomes a set of pairs that cannot change."""
    given(function)
    return function(list(weights), [frozenset(map(tuple, pairs)) for pairs in gold])


_kept: dict[str, Any] = {}  # what stays on this side between two calls, by name


def keep_result(function: Function, name: str, inputs: Iterable[Any]) -> int:
    """Keep function(*inputs) here under a name, whatever it is; return how many numbers it holds.

    inputs: arrays, which become tensors, or names of what has been kept, of which copies are handed over.
    """
    given(function)
    _kept[name] = function(*map(_kept_or_tensor, inputs))
    return count_numbers(_kept[name])


def call_on_kept(function: Function, name: str) -> Any:
    """function(what is kept under this name)."""
    given(function)
    return function(_kept_or_tensor(name))


def _kept_or_tensor(value):
    import torch

    if isinstance(value, str):
        return copy.deepcopy(_kept[value])
    return torch.tensor(value)


def count_numbers(thing: Any) -> int:
    """How many numbers there are in arrays, tensors, containers, objects and closures, each counted once.

    Text counts by letters. What a student hides elsewhere, as in a global variable, is not seen.
    """
    total = 0
    seen: set[int] = set()
    rest = [thing]
    while rest:
        one = rest.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if hasattr(one, "numel"):
            total += int(one.numel())
        elif isinstance(one, np.ndarray | np.generic):
            total += int(one.size)
        elif isinstance(one, str | bytes):
            total += len(one)
        elif isinstance(one, dict):
            rest += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset | deque):
            rest += [*one]
        elif callable(one) and hasattr(one, "__code__"):
            cells = one.__closure__ or ()
            rest += [cell.cell_contents for cell in cells] + [*(one.__defaults__ or ())]
        elif hasattr(one, "__dict__") and not isinstance(one, type):
            rest += [*vars(one).values()]
        else:
            total += 1
    return total


def call_and_keep_inputs(function: Function, inputs: Sequence) -> tuple[Any, bool]:
    """(function(*inputs), whether the inputs are as they were)."""
    given(function)
    before = copy.deepcopy(inputs)
    result = function(*inputs)
    return result, _equal(inputs, before)


def _equal(one, other):
    """Whether two nested lists of arrays and text agree."""
    if isinstance(one, list | tuple):
        return all(map(_equal, one, other))
    return bool(np.array_equal(one, other))


def run_tensors(function: Function, arrays: Arrays, *others: Any) -> Found:
    """function(*tensors, *others), without gradients: {"outputs": arrays} as `run_function` has them.

    Besides, "changed": whether the tensors no longer hold what they were made of. Where no gradients are
    asked for, arrays will do in place of tensors.
    """
    import torch

    given(function)
    tensors = [torch.tensor(values) for values in arrays]
    result = function(*tensors, *others)
    outputs = [
        torch.tensor(output)
        if isinstance(output, np.ndarray) and output.dtype.kind in "fiu"
        else output
        for output in (result if isinstance(result, tuple | list) else [result])
    ]
    is_changed = not all(map(np.array_equal, map(as_array, tensors), arrays))
    return _outputs_of(outputs) | {"changed": is_changed}


def _outputs_of(result):
    """{"outputs": arrays}, or {"outputs": None, "kinds": what came back instead of tensors}."""
    import torch

    outputs = result if isinstance(result, tuple | list) else [result]
    if all(isinstance(output, torch.Tensor) for output in outputs):
        return {"outputs": [as_array(output) for output in outputs]}

    kinds = dict.fromkeys(type(output).__name__ for output in outputs)  # each once
    return {"outputs": None, "kinds": " and ".join(kinds)}


class Watch:
    """Counts the numbers in what torch's functions make, and which functions are called.

    largest: in one tensor; most_held: in all that live at a time; made: in all of them together, the
    scores inside ready-made attention too. What shares its memory with an input counts as nothing.
    """

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.largest = 0
        self.most_held = 0
        self.made = 0
        self._held = 0
        self._inputs: set[int] = set()
        self._living: Counter[int] = Counter()  # tensors by the address of their numbers

    @property
    def left_torch(self) -> bool:
        """Whether numbers were taken out of tensors, to where no operation is seen."""
        return not self.used.isdisjoint(("numpy", "__array__", "tolist"))

    def call(self, function: Function, *args: Any) -> Any:
        """function(*args), watched."""
        import torch
        from torch.overrides import TorchFunctionMode

        watch = self
        self._inputs = {_address(one) for one in args if isinstance(one, torch.Tensor)}

        class Mode(TorchFunctionMode):
            def __torch_function__(self, operation, types, args=(), kwargs=None):
                result = operation(*args, **(kwargs or {}))
                watch._see(operation, args, result)
                return result

        with Mode():
            return function(*args)

    def _see(self, operation, args, result):
        import torch

        name = getattr(operation, "__name__", "")
        self.used.add(name)
        if name == "scaled_dot_product_attention":
            queries, keys = args[:2]
            num_queries = queries[..., 0].numel()
            num_keys = keys.shape[-2]
            self.made += num_queries * num_keys
        results = result if isinstance(result, tuple | list) else [result]
        for made in results:
            if isinstance(made, torch.Tensor):
                self._keep(made)

    def _keep(self, tensor):
        """Count a tensor, and forget it when it dies; a view holds no numbers of its own."""
        address = _address(tensor)
        if address in self._inputs:
            return
        size = tensor.untyped_storage().nbytes() // tensor.element_size()
        if not self._living[address]:
            self._held += size
            self.made += size
        self._living[address] += 1
        self.largest = max(self.largest, size)
        self.most_held = max(self.most_held, self._held)
        weakref.finalize(tensor, self._forget, address, size)

    def _forget(self, address, size):
        self._living[address] -= 1
        if not self._living[address]:
            self._held -= size


def _address(tensor):
    return tensor.untyped_storage().data_ptr()


def run_watched(function: Function, arrays: Arrays, *others: Any) -> Found:
    """As `run_tensors`; besides, "largest", "most_held", "used" and "left_torch", as a `Watch` has them."""
    watch = Watch()
    found = run_tensors(functools.partial(watch.call, given(function)), arrays, *others)
    return found | {
        "largest": watch.largest,
        "most_held": watch.most_held,
        "used": sorted(watch.used),
        "left_torch": watch.left_torch,
    }


def run_without_autograd(
    function: Function, arrays: Arrays, *others: Any, watched: bool = False
) -> Found:
    """As `run_tensors`, or as `run_watched`, with torch's own differentiation switched off."""
    import torch

    with torch.inference_mode():
        run = run_watched if watched else run_tensors
        return run(function, arrays, *others)


def step_caches(
    cache_class: Function, base: float | None, sequences: Sequence[Arrays], cuts: Sequence[int]
) -> list[list]:
    """New caches, one for each sequence, stepped by turns; sequences are cut into pieces.

    base: of the rotation that the caches are given, None for one that changes nothing.
    sequences: of [q, k, v], arrays (B, T, .). cuts: the number of new tokens at each step.
    Returns what came back, [array or the name of its type for each step] for each cache.
    """
    from attn_utils.kernels import rotate

    given(cache_class)
    turn = leave if base is None else functools.partial(rotate, base=base)
    caches = [cache_class(turn) for _ in sequences]
    ends = np.cumsum(cuts)
    return _by_turns(caches, sequences, list(map(slice, ends - cuts, ends)))


def step_rings(
    ring_class: Function, window: int, sinks: int, sequences: Sequence[Arrays]
) -> tuple[list[list], int]:
    """New rings, one for each sequence, stepped by turns, a token at a time.

    Returns what came back, as `step_caches` does, and how many numbers the first ring holds in the end.
    """
    given(ring_class)
    rings = [ring_class(window, sinks) for _ in sequences]
    found = _by_turns(rings, sequences, range(sequences[0][0].shape[1]))
    return found, count_numbers(rings[0])


def _by_turns(stores, sequences, places):
    """What each store's `step` gives for its tokens at each of the places (numbers or slices)."""
    import torch

    found: list[list] = [[] for _ in stores]
    for place in places:
        for store, sequence, kept in zip(stores, sequences, found, strict=True):
            result = store.step(*(torch.tensor(x[:, place]) for x in sequence))
            is_tensor = isinstance(result, torch.Tensor)
            kept.append(as_array(result) if is_tensor else type(result).__name__)
    return found


def work_of_next_step(
    cache_class: Function, sequence: Arrays, num_tokens: int
) -> tuple[Any, int, bool]:
    """What a new cache, fed `num_tokens` at once, gives for one token more, how many numbers torch makes
    for it, and whether the cache left torch.

    sequence: [q, k, v], arrays (B, T, .). Nothing is rotated.
    """
    import torch

    given(cache_class)
    cache = cache_class(leave)
    cache.step(*(torch.tensor(x[:, :num_tokens]) for x in sequence))
    watch = Watch()
    newest = [torch.tensor(x[:, num_tokens : num_tokens + 1]) for x in sequence]
    result = watch.call(cache.step, *newest)
    return result, watch.made, watch.left_torch


def leave(x: Any, positions: Any) -> Any:
    """A rotation that changes nothing."""
    return x


def run_with_features(function: Function, arrays: Arrays, kind: str, shift: float) -> Found:
    """function(q, k, v, phi), phi being one of the positive maps below, without gradients."""
    return run_tensors(function, arrays, functools.partial(positive_features, kind, shift))


def positive_features(kind: str, shift: float, x: Any) -> Any:
    """elu(x) + 1, exp(x) or relu(x), plus a shift: features of x that are above 0 if the shift is."""
    import torch

    if kind == "elu":
        return torch.nn.functional.elu(x) + 1 + shift
    return getattr(torch, kind)(x) + shift


def call_with_outputs(function: Function, x: np.ndarray, inputs: Arrays, outputs: Arrays) -> Found:
    """function(layer, x), where the layer is known only by its output for each of the inputs.

    x: (T, d). Returns {"said": what came back}, or {"asked": the first input that is not among them}.
    """
    given(function)
    known = {(one.shape, one.tobytes()): out for one, out in zip(inputs, outputs, strict=True)}
    asked: list[np.ndarray] = []

    def layer(tokens: Any) -> np.ndarray:
        """The output, where it is known."""
        values = np.asarray(tokens, float)
        key = (values.shape, values.tobytes())
        if key not in known:
            asked.append(values)
            raise Asked
        return known[key].copy()

    try:
        said = function(layer, x)
    except Asked:
        said = None

    return {"asked": asked[0]} if asked else {"said": said}


def call_with_rotation(
    function: Function, one: Any, other: Any, pairs: np.ndarray, base: float, *, last: bool = False
) -> Any:
    """function(one, rotate, other), or with the rotation of these pairs of features as the last argument."""
    given(function)
    rotate = make_rotation(pairs, base)
    return function(one, other, rotate) if last else function(one, rotate, other)


def make_rotation(pairs: np.ndarray, base: float) -> Function:
    """rotate(x, position) for x (..., d): pair i turns by position * base ** (-2i / d).

    pairs: (d / 2, 2), which two features belong together, and thereby in which sense they turn.
    """
    from attn_utils.kernels import rotate

    order = np.ravel(pairs)

    def rotate_pairs(x: np.ndarray, position: Any) -> np.ndarray:
        neighbours = np.asarray(x, float)[..., order]
        return rotate(neighbours, position, base)[..., np.argsort(order)]

    return rotate_pairs


def run_function(function: Function, arrays: Arrays, *others: Any) -> Found:
    """function(*tensors, *others): its outputs, and the gradients of the first of them.

    arrays: NumPy arrays; those of floats become tensors that collect gradients.
    Returns {"outputs": arrays, "gradients": one array for each of floats, or None where none flow},
    or {"outputs": None, "kinds": what came back instead of tensors}.
    """
    given(function)
    tensors = [as_leaf(values) for values in arrays]
    result = function(*tensors, *others)
    found = _outputs_of(result)
    if found["outputs"] is None:
        return found
    first = result[0] if isinstance(result, tuple | list) else result
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    return found | {"gradients": gradients_of(first, leaves)}


def run_layer(
    layer_class: Function,
    sizes: Sequence[int],
    parameters: dict[str, np.ndarray],
    x: np.ndarray,
    *,
    seed: int = 0,
    train: bool = False,
    repeats: int = 1,
    num_outputs: int | None = None,
    **options: Any,
) -> Found:
    """Build layer_class(*sizes, **options), copy `parameters` into it, run it `repeats` times on x.

    parameters: {name: array}. x: (B, T, D). seed: of torch's own generator while it runs.
    num_outputs: of how many tokens, from the first on, gradients are taken; of all if None.
    Returns {"outputs": one array a run, "gradients": {name: array}, that of x among them, or None};
    where the layer cannot be run that way, {"kind": what there is instead of a layer},
    {"own": {name: shape} of other parameters} or {"returned": what came back instead of a tensor}.
    """
    import torch

    given(layer_class)
    if isinstance(layer_class, torch.nn.Module):
        return {"kind": "layer"}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = layer_class(*sizes, **options)
        if not isinstance(layer, torch.nn.Module):
            return {"kind": type(layer).__name__}

        layer = layer.double().train(train)
        own = parameters_by_name(layer)
        shapes = {name: list(tensor.shape) for name, tensor in own.items()}
        for name, values in parameters.items():
            if shapes.get(name) != list(values.shape):
                return {"own": shapes}
            own[name].data.copy_(torch.as_tensor(values))

        inputs = as_leaf(x)
        outputs = [layer(inputs) for _ in range(repeats)]

    first = outputs[0]
    if not isinstance(first, torch.Tensor):
        return {"returned": type(first).__name__}

    leaves = {name: one for name, one in layer.named_parameters() if one.requires_grad}
    found = gradients_of(first[:, :num_outputs], [inputs, *leaves.values()])
    gradients = None
    if found is not None:
        by_name = dict(zip(leaves, found[1:], strict=True))
        gradients = _unstacked(layer, by_name) | {"x": found[0]}
    return {"outputs": [as_array(output) for output in outputs], "gradients": gradients}


def parameters_by_name(layer: Any) -> Found:
    """{name: tensor}; the stacked projections of torch's own module under the names of three."""
    return _unstacked(layer, dict(layer.named_parameters()))


def _unstacked(layer, own):
    """What belongs to a layer's parameters, by name; the stacks of a single nn.MultiheadAttention in three.

    own: {name of a parameter: tensor or array of its shape}.
    """
    import torch

    kind = torch.nn.MultiheadAttention
    fused = [name for name, module in layer.named_modules() if isinstance(module, kind)]
    if len(fused) != 1 or "query.weight" in own:
        return own

    prefix = f"{fused[0]}.".lstrip(".")  # nothing where the layer is one itself
    found = {f"out.{kind}": own.get(f"{prefix}out_proj.{kind}") for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        stack = own.get(f"{prefix}in_proj_{kind}")
        if stack is not None:
            query, key, value = stack.reshape(3, -1, *stack.shape[1:])
            found |= {f"query.{kind}": query, f"key.{kind}": key, f"value.{kind}": value}
    return {name: values for name, values in found.items() if values is not None}


def run_slot(
    slot_class: Function, width: int, queries: np.ndarray, memory: np.ndarray, mask: np.ndarray
) -> Found:
    """Build the slot and run it in float32; `run_function`'s outcome, and its "parameters" by name.

    Parameters that it draws are the same at every run.
    """
    import torch

    given(slot_class)
    inputs = [queries.astype(np.float32), memory.astype(np.float32), mask]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        slot = slot_class(width).eval()
        result = run_function(slot, inputs)
    names = [name for name, _ in slot.named_parameters()]
    return result | {"parameters": names}


def run_slot_elsewhere(slot_class: Function, width: int, shapes: Sequence[tuple]) -> Found:
    """Run the slot on tensors without numbers, which are on another device than new tensors are.

    shapes: of queries, memory and mask. Returns {"wanted": where the inputs were,
    "devices": where each output is} or, if it failed, {"wanted": ..., "error": text}.
    """
    import torch

    wanted = "meta"
    slot = slot_class(width).eval().to(wanted)
    queries, memory, mask = (torch.ones(shape, device=wanted) for shape in shapes)
    try:
        outputs = slot(queries, memory, mask.bool())
    except Exception as error:
        return {"wanted": wanted, "error": str(error)}

    return {"wanted": wanted, "devices": [output.device.type for output in outputs]}


def run_search(
    greedy_search: Function, num_sentences: int, max_length: int, logits: Arrays
) -> Found:
    """Search with the logits known so far, one array (B, V) a step; it is stopped where they end.

    The state that is handed on counts the steps. Returns {"fed": [state, last tokens] of each step,
    "tokens": what came back, or None if it was stopped}.
    """
    import torch

    given(greedy_search)
    fed: list[list] = []

    def step(last: Any, state: Any) -> tuple[Any, int]:
        """The logits of this step, as long as there are any."""
        last = torch.as_tensor(last).reshape(num_sentences)
        count = 0 if state is None else int(state)
        fed.append([count, last.tolist()])
        if len(fed) > len(logits):
            raise Asked
        return torch.as_tensor(logits[len(fed) - 1]), count + 1

    try:
        tokens = greedy_search(step, num_sentences, max_length)
    except Asked:
        tokens = None

    stopped = len(fed) > len(logits)
    return {"fed": fed, "tokens": None if stopped else tokens}


def probe(shape: tuple[int, ...]) -> np.ndarray:
    """Fixed factors of this shape: with them an output becomes the one number that is differentiated."""
    return np.cos(np.arange(np.prod(shape))).reshape(shape)


def gradients_of(output: Any, leaves: list[Any]) -> list[np.ndarray] | None:
    """Gradients of the probed output as arrays, zeros where a leaf plays no part; None if none flow."""
    import torch

    if not output.requires_grad or not output.is_floating_point():
        return None
    factors = torch.as_tensor(probe(output.shape), dtype=output.dtype)
    loss = (output * factors).sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [as_array(gradient) for gradient in found]


def as_leaf(values: np.ndarray) -> Any:
    """A tensor of its own; one of floats collects gradients."""
    import torch

    tensor = torch.as_tensor(values).clone()
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def as_array(tensor: Any) -> np.ndarray:
    """The tensor as an array; NumPy has no bfloat16."""
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.numpy()
