"""Functions that run beside a student's object: build it, call it, take gradients, return raw arrays.

Holds no expected value. torch is imported by the drivers that need it alone.
"""

import contextlib
import copy
import functools
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from attn_course.calls import call_unchanged

Arrays = Sequence[np.ndarray]
Record = dict[str, Any]  # plain data by name, as a driver hands it over
Function = Callable[..., Any]  # what a student wrote: a function, or a class to be made


class Asked(BaseException):
    """Stops an answer that asks for what it has not been given yet."""


def do_nothing(thing: Any) -> None:
    """Leave a student's object alone: the last call of an answer that may draw its results at random."""


def call_each(function: Function, rows: Iterable[Sequence]) -> list:
    """Return [function(*row) for each row]."""
    return [call_unchanged(function, *row) for row in rows]


def call_with_seeds(
    function: Function, rows: Iterable[Sequence], seeds: Iterable[int], *others: Any
) -> list:
    """Return [function(*row, generator, *others)], where each row has a NumPy generator of its own seed."""
    generators = map(np.random.default_rng, seeds)
    return [
        call_unchanged(function, *row, rng, *others)
        for row, rng in zip(rows, generators, strict=True)
    ]


def call_with_links(
    function: Function, weights: Iterable[np.ndarray], gold: Iterable[Iterable]
) -> Any:
    """Return function(weights, gold), where each row of `gold` becomes a set of pairs."""
    return call_unchanged(function, list(weights), [frozenset(map(tuple, pairs)) for pairs in gold])


_kept: dict[str, Any] = {}  # what stays on this side between two calls, by name


def keep_result(function: Function, name: str, inputs: Iterable[Any]) -> int:
    """Keep function(*inputs) here under a name, whatever it is; return how many numbers it holds.

    inputs: arrays, which become tensors, floats, or names of what has been kept, of which copies are handed
    over.
    """
    _kept[name] = call_unchanged(function, *map(_kept_or_tensor, inputs))
    return count_numbers(_kept[name])


def call_on_kept(function: Function, name: str) -> Any:
    """Return function(the object that is kept under this name)."""
    return call_unchanged(function, _kept_or_tensor(name))


def read_kept(function: Function, name: str, queries: np.ndarray) -> list:
    """Return [function(the object that is kept under this name, query) for each row of queries]."""
    return [call_unchanged(function, *map(_kept_or_tensor, (name, query))) for query in queries]


def _kept_or_tensor(value):
    import torch

    if isinstance(value, str):
        return copy.deepcopy(_kept[value])
    return value if isinstance(value, float) else torch.tensor(value)


def count_numbers(thing: Any) -> int:
    """Count the numbers in arrays, tensors, containers, objects and closures, each once.

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


def run_tensors(function: Function, arrays: Arrays, *others: Any) -> Record:
    """Return {"outputs": arrays} of function(*tensors, *others), without gradients; it may return arrays."""
    import torch

    tensors = [torch.tensor(values) for values in arrays]

    def as_tensor(output: Any) -> Any:
        is_array = isinstance(output, np.ndarray) and output.dtype.kind in "fiu"
        return torch.tensor(output) if is_array else output

    result = call_unchanged(function, *tensors, *others)
    is_tuple = isinstance(result, tuple | list)
    return _outputs_of(list(map(as_tensor, result)) if is_tuple else as_tensor(result))


def _outputs_of(result):
    """Return {"outputs": arrays, "is_tuple": whether they came as a tuple or list}, or {"outputs": None,
    "kinds": the types that came back instead of tensors}.
    """
    import torch

    is_tuple = isinstance(result, tuple | list)
    outputs = result if is_tuple else [result]
    if all(isinstance(output, torch.Tensor) for output in outputs):
        return {"outputs": [as_array(output) for output in outputs], "is_tuple": is_tuple}

    kinds = dict.fromkeys(type(output).__name__ for output in outputs)  # each once
    return {"outputs": None, "kinds": " and ".join(kinds)}


READY_MADE = "scaled_dot_product_attention"


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
        """Return True if numbers were taken out of tensors, where no operation is seen."""
        return not self.used.isdisjoint(("numpy", "__array__", "tolist"))

    def call(self, function: Function, *args: Any) -> Any:
        """Return function(*args), and watch it."""
        import torch
        from torch.overrides import TorchFunctionMode
        from torch.utils._python_dispatch import TorchDispatchMode

        watch = self
        self._inputs = {_address(one) for one in args if isinstance(one, torch.Tensor)}

        class Mode(TorchFunctionMode):
            def __torch_function__(self, operation, types, args=(), kwargs=None):
                result = operation(*args, **(kwargs or {}))
                watch._see(operation, args, result)
                return result

        class Kernels(TorchDispatchMode):
            """Sees ready-made attention where functions are hidden, as in `DisableTorchFunction`."""

            def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
                if READY_MADE in operation.__name__:
                    watch.used.add(READY_MADE)
                return operation(*args, **(kwargs or {}))

        with Kernels(), Mode():
            return function(*args)

    def _see(self, operation, args, result):
        import torch

        name = getattr(operation, "__name__", "")
        self.used.add(name)
        if name == READY_MADE:
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


def run_watched(function: Function, arrays: Arrays, *others: Any) -> Record:
    """Run `run_tensors`, and add "largest", "most_held", "made", "used" and "left_torch" of a `Watch`."""
    watch = Watch()

    @functools.wraps(function)
    def watched(*args: Any) -> Any:
        return watch.call(function, *args)

    result = run_tensors(watched, arrays, *others)
    return result | {
        "largest": watch.largest,
        "most_held": watch.most_held,
        "made": watch.made,
        "used": sorted(watch.used),
        "left_torch": watch.left_torch,
    }


def run_without_autograd(
    function: Function, arrays: Arrays, *others: Any, watched: bool = False
) -> Record:
    """Run `run_tensors` or `run_watched` with torch's own differentiation switched off."""
    import torch

    with torch.inference_mode(), _no_differentiation():
        run = run_watched if watched else run_tensors
        return run(function, arrays, *others)


@contextlib.contextmanager
def _no_differentiation():
    """Make torch.autograd and torch.func refuse to differentiate, also outside inference mode."""
    import torch

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("autograd is switched off")

    transforms = torch._functorch.eager_transforms
    entries = [
        (torch.autograd, "_engine_run_backward"),
        (torch.autograd.graph, "_engine_run_backward"),
        (torch.autograd.forward_ad, "enter_dual_level"),
        (transforms, "grad_increment_nesting"),
        (transforms, "jvp_increment_nesting"),
    ]
    originals = [(module, name, getattr(module, name)) for module, name in entries]
    try:
        for module, name, _ in originals:
            setattr(module, name, refuse)
        yield
    finally:
        for module, name, original in originals:
            setattr(module, name, original)


def step_caches(
    cache_class: Function, base: float | None, sequences: Sequence[Arrays], cuts: Sequence[int]
) -> list[list]:
    """New caches, one for each sequence, stepped by turns; sequences are cut into pieces.

    base: of the rotation that the caches are given, None for one that changes nothing.
    sequences: of [q, k, v], arrays (B, T, .). cuts: the number of new tokens at each step.
    Returns what came back, [array or the name of its type for each step] for each cache.
    """
    from attn_utils.kernels import rotate

    turn = no_rotation if base is None else functools.partial(rotate, base=base)
    caches = [cache_class(turn) for _ in sequences]
    ends = np.cumsum(cuts)
    return _by_turns(caches, sequences, list(map(slice, ends - cuts, ends)))


def step_rings(
    ring_class: Function, window: int, sinks: int, sequences: Sequence[Arrays]
) -> tuple[list[list], int]:
    """New rings, one for each sequence, stepped by turns, a token at a time.

    Returns what came back, as `step_caches` does, and how many numbers the first ring holds in the end.
    """
    rings = [ring_class(window, sinks) for _ in sequences]
    contexts = _by_turns(rings, sequences, range(sequences[0][0].shape[1]))
    return contexts, count_numbers(rings[0])


def _by_turns(stores, sequences, places):
    """Return what `step` of each store gives for its tokens at each of the places (numbers or slices)."""
    import torch

    contexts: list[list] = [[] for _ in stores]
    for position in places:
        for store, sequence, steps in zip(stores, sequences, contexts, strict=True):
            result = call_unchanged(store.step, *(torch.tensor(x[:, position]) for x in sequence))
            is_tensor = isinstance(result, torch.Tensor)
            steps.append(as_array(result) if is_tensor else type(result).__name__)
    return contexts


def work_of_next_step(
    cache_class: Function, sequence: Arrays, num_tokens: int
) -> tuple[Any, int, bool]:
    """Feed a new cache `num_tokens` at once, then one more; return the result for that token, how many
    numbers torch makes for it, and whether the cache left torch.

    sequence: [q, k, v], arrays (B, T, .). Nothing is rotated.
    """
    import torch

    cache = cache_class(no_rotation)
    cache.step(*(torch.tensor(x[:, :num_tokens]) for x in sequence))
    watch = Watch()
    newest = [torch.tensor(x[:, num_tokens : num_tokens + 1]) for x in sequence]
    result = watch.call(cache.step, *newest)
    return result, watch.made, watch.left_torch


def no_rotation(x: Any, positions: Any) -> Any:
    """Return x as it is: a rotation that changes nothing."""
    return x


def run_with_features(function: Function, arrays: Arrays, kind: str, shift: float) -> Record:
    """Run function(q, k, v, phi) without gradients; phi is one of the positive maps below."""
    return run_tensors(function, arrays, functools.partial(positive_features, kind, shift))


def positive_features(kind: str, shift: float, x: Any) -> Any:
    """Return elu(x) + 1, exp(x) or relu(x), plus a shift: features above 0 if the shift is."""
    import torch

    if kind == "elu":
        return torch.nn.functional.elu(x) + 1 + shift
    return getattr(torch, kind)(x) + shift


def call_with_outputs(function: Function, x: np.ndarray, inputs: Arrays, outputs: Arrays) -> Record:
    """Run function(layer, x), where the layer knows only its output for each of the inputs.

    x: (T, d). Returns {"said": what came back}, or {"asked": the first input that is not among them}.
    """
    outputs_by_input = {
        (one.shape, one.tobytes()): out for one, out in zip(inputs, outputs, strict=True)
    }
    asked: list[np.ndarray] = []

    def layer(tokens: Any) -> np.ndarray:
        """Return the output, where it is known."""
        values = np.asarray(tokens, float)
        key = (values.shape, values.tobytes())
        if key not in outputs_by_input:
            asked.append(values)
            raise Asked
        return outputs_by_input[key].copy()

    try:
        answer = call_unchanged(function, layer, x)
    except Asked:
        answer = None

    return {"asked": asked[0]} if asked else {"said": answer}


def call_with_rotation(
    function: Function, one: Any, other: Any, pairs: np.ndarray, base: float, *, last: bool = False
) -> Any:
    """Return function(one, rotate, other), or function(one, other, rotate) if `last`."""
    rotate = make_rotation(pairs, base)
    others = (other, rotate) if last else (rotate, other)
    return call_unchanged(function, one, *others)


def make_rotation(pairs: np.ndarray, base: float) -> Function:
    """Return rotate(x, position) for x (..., d), in which pair i turns by position * base ** (-2i / d).

    pairs: (d / 2, 2), which two features belong together, and thereby in which sense they turn.
    """
    from attn_utils.kernels import rotate

    order = np.ravel(pairs)

    def rotate_pairs(x: np.ndarray, position: Any) -> np.ndarray:
        neighbours = np.asarray(x, float)[..., order]
        return rotate(neighbours, position, base)[..., np.argsort(order)]

    return rotate_pairs


def run_function(function: Function, arrays: Arrays, *others: Any) -> Record:
    """Run function(*tensors, *others) and take the gradients of its first output.

    arrays: NumPy arrays; those of floats become tensors that collect gradients.
    Returns {"outputs": arrays, "gradients": one array for each of floats, or None where none flow},
    or {"outputs": None, "kinds": what came back instead of tensors}.
    """
    tensors = [as_leaf(values) for values in arrays]
    result = call_unchanged(function, *tensors, *others)
    outcome = _outputs_of(result)
    if outcome["outputs"] is None:
        return outcome
    first = result[0] if isinstance(result, tuple | list) else result
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    return outcome | {"gradients": gradients_of(first, leaves)}


def run_with_cap(function: Function, scores: np.ndarray, t: float, mask: np.ndarray) -> Record:
    """Return what `run_function` returns, for function(scores, t, mask) with tensors for arrays."""
    tensor, mask = as_leaf(scores), as_leaf(mask)
    result = call_unchanged(function, tensor, t, mask)
    record = _outputs_of(result)
    if record["outputs"] is None:
        return record
    return record | {"gradients": gradients_of(result, [tensor])}


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
    later: Arrays = (),
    stub: str = "",
    **options: Any,
) -> Record:
    """Build layer_class(*sizes, **options), copy `parameters` into it, run it `repeats` times on x.

    parameters: {name: array}. x: (B, T, D). seed: of torch's own generator while it runs.
    num_outputs: of how many tokens, from the first on, gradients are taken; of all if None.
    later: further inputs, on which the same layer runs after x. stub: the message of an empty method.
    Returns {"outputs": one array for each run on x, then for each later input, "gradients": {name: array},
    that of x among them, or None}; where the layer cannot be run that way, {"kind": what there is instead of
    a layer}, {"own": {name: shape} of other parameters}, {"empty": the method that is still the stub} or
    {"returned": what came back instead of a tensor}.
    """
    import torch

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
        try:
            outputs = [call_unchanged(layer, inputs) for _ in range(repeats)]
            outputs += [call_unchanged(layer, torch.as_tensor(others)) for others in later]
        except NotImplementedError as error:
            if error.args != (stub,):
                raise
            return {"empty": "forward"}

    first = outputs[0]
    if not isinstance(first, torch.Tensor):
        return {"returned": type(first).__name__}

    leaves = {name: one for name, one in layer.named_parameters() if one.requires_grad}
    in_order = gradients_of(first[:, :num_outputs], [inputs, *leaves.values()])
    gradients = None
    if in_order is not None:
        by_name = dict(zip(leaves, in_order[1:], strict=True))
        gradients = _unstacked(layer, by_name) | {"x": in_order[0]}
    return {"outputs": [as_array(output) for output in outputs], "gradients": gradients}


def parameters_by_name(layer: Any) -> Record:
    """Return {name: tensor}, the stacked projections of torch's own module under the names of three."""
    return _unstacked(layer, dict(layer.named_parameters()))


def _unstacked(layer, own):
    """Return values that belong to a layer's parameters, by name; those of nn.MultiheadAttention in three.

    own: {name of a parameter: tensor or array of its shape}.
    """
    import torch

    kind = torch.nn.MultiheadAttention
    fused = [name for name, module in layer.named_modules() if isinstance(module, kind)]
    if len(fused) != 1 or "query.weight" in own:
        return own

    prefix = f"{fused[0]}.".lstrip(".")  # nothing where the layer is one itself
    projections = {
        f"out.{kind}": own.get(f"{prefix}out_proj.{kind}") for kind in ("weight", "bias")
    }
    for kind in ("weight", "bias"):
        stack = own.get(f"{prefix}in_proj_{kind}")
        if stack is not None:
            query, key, value = stack.reshape(3, -1, *stack.shape[1:])
            projections |= {f"query.{kind}": query, f"key.{kind}": key, f"value.{kind}": value}
    return {name: values for name, values in projections.items() if values is not None}


def run_slot(
    slot_class: Function,
    width: int,
    queries: np.ndarray,
    memory: np.ndarray,
    mask: np.ndarray,
    *,
    before: Arrays | None = None,
) -> Record:
    """Build the slot and run it in float32; `run_function`'s outcome, and its "parameters" by name.

    Parameters that it draws are the same at every run. before: [queries, memory, mask] on which the same
    slot runs first.
    """
    import torch

    inputs = [queries.astype(np.float32), memory.astype(np.float32), mask]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        slot = slot_class(width).eval()
        if before is not None:
            slot(*map(as_leaf, before))
        result = run_function(slot, inputs)
    names = [name for name, _ in slot.named_parameters()]
    return result | {"parameters": names}


def run_slot_elsewhere(slot_class: Function, width: int, shapes: Sequence[tuple]) -> Record:
    """Run the slot on tensors without numbers, which are on another device than new tensors are.

    shapes: of queries, memory and mask. Returns {"wanted": where the inputs were,
    "devices": where each output is} or, if it failed, {"wanted": ..., "names_device": whether the error
    mentions a device}.
    """
    import torch

    other_device = "meta"
    slot = slot_class(width).eval().to(other_device)
    queries, memory, mask = (torch.ones(shape, device=other_device) for shape in shapes)
    try:
        outputs = slot(queries, memory, mask.bool())
    except Exception as error:
        return {"wanted": other_device, "names_device": "device" in str(error)}

    return {"wanted": other_device, "devices": [output.device.type for output in outputs]}


def run_search(
    greedy_search: Function, num_sentences: int, max_length: int, logits: Arrays
) -> Record:
    """Search with the logits known so far, one array (B, V) a step; it is stopped where they end.

    The state that is handed on counts the steps. Returns {"fed": [state, last tokens] of each step,
    "tokens": what came back, or None if it was stopped}, or {"shape"} of last tokens that are not B.
    """
    import torch

    fed: list[list] = []
    shapes: list[list[int]] = []

    def step(last: Any, state: Any) -> tuple[Any, int]:
        """Return the logits of this step, as long as there are any."""
        last = torch.as_tensor(last)
        if last.numel() != num_sentences:
            shapes.append(list(last.shape))
            raise Asked
        last = last.flatten()
        count = 0 if state is None else int(state)
        fed.append([count, last.tolist()])
        if len(fed) > len(logits):
            raise Asked
        return torch.as_tensor(logits[len(fed) - 1]), count + 1

    try:
        tokens = greedy_search(step, num_sentences, max_length)
    except Asked:
        tokens = None

    if shapes:
        return {"shape": shapes[0]}
    stopped = len(fed) > len(logits)
    return {"fed": fed, "tokens": None if stopped else tokens}


class TreeState:
    """Where N hypotheses stand: sentences (N,) and the nodes (N,) of their trees, -1 before the first step.

    state[rows] picks rows, also repeatedly.
    """

    def __init__(self, sentences: Any, nodes: Any) -> None:
        self.sentences = sentences
        self.nodes = nodes

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rows: Any) -> "TreeState":
        import torch

        rows = rows if isinstance(rows, slice) else torch.as_tensor(rows)
        return TreeState(self.sentences[rows].reshape(-1), self.nodes[rows].reshape(-1))


def run_beam_search(
    beam_search: Function, tables: np.ndarray, size: int, max_length: int
) -> Record:
    """Run beam_search(step, state, size, max_length), where `step` reads the log-probabilities of a tree.

    tables: (B, nodes, V), a row for each node. Node 0 has read BOS; token t leads from node m to node
    m * V + t + 1. Returns {"tokens": what came back, "first": tokens that were fed in at the first step,
    "steps": how often `step` was called, "rows": with how many rows in all}.
    """
    import torch

    log_probs = torch.as_tensor(tables, dtype=torch.float32)
    B, num_nodes, V = tables.shape
    most_rows = 100 * B * size * max_length
    first: set[int] = set()
    rows_of_steps: list[int] = []

    def step(last: Any, state: Any) -> tuple[Any, TreeState]:
        """Return the log-probabilities (N, V) of the next token, and the new state."""
        last = torch.as_tensor(last).reshape(-1).long()
        if len(last) != len(state):
            raise ValueError(f"step was given {len(last)} tokens and a state of {len(state)} rows")
        if sum(rows_of_steps) > most_rows:
            raise ValueError("step was called far too often; does the search stop at max_length?")
        rows_of_steps.append(len(last))
        is_new = state.nodes < 0
        first.update(last[is_new].tolist())
        nodes = torch.where(is_new, 0, state.nodes * V + last + 1) % num_nodes
        return log_probs[state.sentences, nodes].clone(), TreeState(state.sentences, nodes)

    start = TreeState(torch.arange(B), torch.full((B,), -1))
    tokens = beam_search(step, start, size, max_length)
    return {
        "tokens": tokens,
        "first": sorted(first),
        "steps": len(rows_of_steps),
        "rows": sum(rows_of_steps),
    }


def probe(shape: tuple[int, ...]) -> np.ndarray:
    """Return fixed factors of this shape; they make an output the one number that is differentiated."""
    return np.cos(np.arange(np.prod(shape))).reshape(shape)


def gradients_of(
    output: Any, leaves: list[Any], *, keep_graph: bool = False
) -> list[np.ndarray] | None:
    """Return gradients of the probed output as arrays, zeros for a leaf without a part; None if none flow."""
    import torch

    if not output.requires_grad or not output.is_floating_point():
        return None
    factors = torch.as_tensor(probe(output.shape), dtype=output.dtype)
    loss = (output * factors).sum()
    gradients = torch.autograd.grad(
        loss, leaves, allow_unused=True, materialize_grads=True, retain_graph=keep_graph
    )
    return [as_array(gradient) for gradient in gradients]


def as_leaf(values: np.ndarray) -> Any:
    """Return a tensor of its own; one of floats collects gradients."""
    import torch

    tensor = torch.as_tensor(values).clone()
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def as_array(tensor: Any) -> np.ndarray:
    """Return the tensor as an array; NumPy has no bfloat16."""
    tensor = tensor.detach().cpu()
    if tensor.is_floating_point():
        tensor = tensor.double()
    return tensor.numpy()


def run_padding(function: Function, sentences: list[list[int]], pad: int) -> Record:
    """Return what `run_function` returns, for function(sentences, pad) and without gradients."""
    return _outputs_of(call_unchanged(function, sentences, pad))


def run_encoder(
    encoder_class: Function, num_tokens: int, width: int, batches: Sequence[Arrays]
) -> Record:
    """Build one encoder, and run it in evaluation mode on each batch of [ids (B, S), mask (B, S)].

    Returns {"outputs": a list of arrays for each batch} and of the first batch {"reached": the names of
    the parameters to which a gradient flows from each output, "names": those of all, "unknown": shapes as
    `unknown_leaves` finds them, "both ways": the parameters of each layer of torch that reads in both
    directions}, or {"kind": what there is instead of a module} or {"kinds": what came back instead of
    tensors}.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        encoder = encoder_class(num_tokens, width)
        if not isinstance(encoder, torch.nn.Module):
            return {"kind": type(encoder).__name__}
        encoder.eval()
        outputs = []
        first = None
        for arrays in batches:
            result = call_unchanged(encoder, *(torch.tensor(values) for values in arrays))
            record = _outputs_of(result)
            if record["outputs"] is None:
                return record
            if first is None:
                first = result if isinstance(result, tuple | list) else [result]
            outputs.append(record["outputs"])
        reached = [reached_parameters(encoder, output) for output in first or ()]
        unknown = [shape for output in first or () for shape in unknown_leaves(encoder, output)]
    return {
        "outputs": outputs,
        "reached": reached,
        "names": sorted(dict(encoder.named_parameters())),
        "unknown": unknown,
        "both ways": [
            [f"{name}.{parameter}" for parameter in dict(layer.named_parameters())]
            for name, layer in encoder.named_modules()
            if isinstance(layer, torch.nn.RNNBase) and layer.bidirectional
        ],
    }


def reached_parameters(module: Any, output: Any) -> list[str]:
    """Return the names of the parameters of a module to which a gradient flows back from an output."""
    named = {name: leaf for name, leaf in module.named_parameters() if leaf.requires_grad}
    gradients = gradients_of(output, list(named.values()), keep_graph=True)
    if gradients is None:
        return []
    return [name for name, gradient in zip(named, gradients, strict=True) if gradient.any()]


def unknown_leaves(module: Any, output: Any, inputs: Sequence[Any] = ()) -> list[list[int]]:
    """Return the shapes of leaves that an output depends on and that are neither parameters nor inputs.

    A layer that is no attribute of its module, but stands in a list or is made in `forward`, has such.
    """
    known = {id(leaf) for leaf in (*module.parameters(), *inputs)}
    left = [output.grad_fn]
    visited = {None}
    shapes = []
    while left:
        node = left.pop()
        if node in visited:
            continue
        visited.add(node)
        left += [before for before, _ in node.next_functions]
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in known:
            shapes.append(list(leaf.shape))
    return shapes


def shapes_of_parameters(slot_class: Function, width: int) -> dict[str, list[int]]:
    """Return {name: shape} of the parameters of slot_class(width)."""
    slot = slot_class(width)
    return {name: list(parameter.shape) for name, parameter in slot.named_parameters()}


def run_filled_slot(
    slot_class: Function,
    width: int,
    parameters: Record,
    arrays: Arrays,
    before: Arrays | None = None,
) -> Record:
    """Build the slot, copy `parameters` into it, and run it in float32 on [queries, memory, mask].

    before: inputs on which the same slot runs first. Returns {"outputs"} as `run_function`, and the
    gradients of the context: "gradients" of queries and memory, "of_parameters" by name.
    """
    import torch

    slot = slot_class(width).eval()
    for name, parameter in slot.named_parameters():
        parameter.data.copy_(torch.as_tensor(parameters[name]))
    if before is not None:
        slot(*(as_leaf(values) for values in before))
    inputs = [as_leaf(values) for values in arrays]
    result = slot(*inputs)
    record = _outputs_of(result)
    if record["outputs"] is None:
        return record
    named = dict(slot.named_parameters())
    context = result[0] if isinstance(result, tuple | list) else result
    gradients = gradients_of(context, [*inputs[:2], *named.values()])
    of_parameters = dict(zip(named, gradients[2:], strict=True)) if gradients else {}
    return record | {"gradients": gradients and gradients[:2], "of_parameters": of_parameters}


def run_decoder(
    decoder_class: Function, num_tokens: int, width: int, runs: Sequence[dict[str, Any]]
) -> Record:
    """Build one decoder around an attention that keeps what it is asked, and run it in evaluation mode.

    A run is {"tokens": (B, T), "hidden": (B, D), "memory": (B, S, D), "mask": (B, S), "forward": whether
    the sequence is read at once, "shift": (number of a call of the attention, what its context is
    shifted by, or None where the context is 0), or None}. Returns {"runs": for each a dict of "logits",
    (B, T, V) or one array a step, "weights" and "state" of each step, and "asked": [queries, memory,
    mask] of each call of the attention}; {"registered": whether the attention is a submodule}; {"unknown"}
    as `run_encoder`, of the first step of all;
    {"reached", "names"} as `run_encoder`, of the last row of the first run with "forward", and {"flows":
    whether a gradient reaches its hidden state and memory}. Or {"kind"}, or {"returned": what a step
    gave instead}.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        attention = _watched_attention(width)
        decoder = decoder_class(num_tokens, width, attention)
        if not isinstance(decoder, torch.nn.Module):
            return {"kind": type(decoder).__name__}
        decoder.eval()
        record: Record = {"runs": [], "registered": attention in list(decoder.modules())}
        for run in runs:
            attention.asked.clear()
            attention.shift = run["shift"]
            tokens, hidden, memory, mask = (
                as_leaf(run[name]) for name in ("tokens", "hidden", "memory", "mask")
            )
            state = (hidden, torch.zeros_like(hidden))
            kept: Record = {"weights": [], "state": []}
            if run["forward"]:
                logits = decoder(tokens, state, memory, mask)
                if not isinstance(logits, torch.Tensor):
                    return {"returned": f"forward gave a {type(logits).__name__}, not one tensor"}
                if "flows" not in record:
                    record |= _reached_by_last_row(decoder, logits, hidden, memory)
                kept["logits"] = as_array(logits)
            else:
                rows = []
                for column in tokens.unbind(1):
                    result = decoder.step(column, state, memory, mask)
                    if not isinstance(result, tuple | list) or len(result) != 3:
                        return {"returned": "step should give three things: logits, state, weights"}
                    row, state, weights = result
                    if not isinstance(state, tuple | list):
                        returned = (
                            "the state that step gives is no tuple of tensors; it comes second, "
                        )
                        return {"returned": returned + "as in (logits, state, weights)"}
                    if "unknown" not in record:
                        record["unknown"] = unknown_leaves(decoder, row, [hidden, memory])
                    rows.append(as_array(row))
                    kept["weights"].append(as_array(weights))
                    kept["state"].append([as_array(part) for part in state])
                kept["logits"] = rows
            record["runs"].append(kept | {"asked": list(attention.asked)})
    return record | {"names": sorted(dict(decoder.named_parameters()))}


def _watched_attention(width):
    """Return a slot that keeps what it is asked, and shifts the context of one call, or is empty."""
    import torch

    from attn_utils.kernels import attend

    class WatchedAttention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[list] = []
            self.shift: tuple[int, float | None] | None = None

        def forward(self, queries: Any, memory: Any, mask: Any) -> tuple[Any, Any]:
            is_mask = isinstance(mask, torch.Tensor) and mask.dtype == torch.bool
            asked = [as_array(queries), as_array(memory), as_array(mask) if is_mask else None]
            if queries.ndim != 3:
                shape = tuple(queries.shape)
                raise ValueError(
                    f"the attention was asked with queries {shape}; it wants (B, T, D), in a step (B, 1, D)"
                )
            number = len(self.asked)
            self.asked.append(asked)
            look = mask[:, None] if is_mask else None
            context, weights = attend(queries, memory, memory, mask=look)
            if self.shift is not None and self.shift[0] == number:
                amount = self.shift[1]
                context = 0 * context if amount is None else context + amount
            return context, weights

    return WatchedAttention()


def _reached_by_last_row(decoder, logits, hidden, memory):
    """Return the parameters and inputs that a gradient of the last row of logits reaches."""
    last = logits[:, -1] if logits.ndim == 3 else logits
    flows = gradients_of(last, [hidden, memory], keep_graph=True)
    return {
        "reached": reached_parameters(decoder, last),
        "flows": [False, False] if flows is None else [bool(gradient.any()) for gradient in flows],
    }


def run_training(
    function: Function,
    layers: Sequence[Arrays],
    batches: Sequence[Arrays],
    optimiser: str,
    rate: float,
    clip: float,
) -> Record:
    """Run function(model, batches, loss_of, optimiser, clip) for a small network.

    The network is in evaluation mode and has old gradients when it is handed over.
    layers: [weight, bias] of two linear layers. batches: of [x, y]. optimiser: "SGD" or "Adam".
    Returns {"losses": what came back, "kinds": of what type each entry is, "parameters": arrays in their
    order, "modes": whether the network was in training mode at each loss}.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        model = small_network(layers).eval()
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)  # left over from something else
    modes: list[bool] = []

    def loss_of(network: Any, batch: Any) -> Any:
        modes.append(network.training)
        return squared_error(network, *batch)

    stream = ((torch.tensor(x), torch.tensor(y)) for x, y in batches)
    steps = getattr(torch.optim, optimiser)(parameters, lr=rate)
    result = function(model, stream, loss_of, steps, clip)
    entries = result if isinstance(result, list | tuple) else []
    return {
        "losses": result,
        "kinds": sorted({type(entry).__name__ for entry in entries}),
        "parameters": [as_array(parameter) for parameter in parameters],
        "modes": modes,
    }


def small_network(layers: Sequence[Arrays]) -> Any:
    """Return two linear layers with tanh between them, of these [weight, bias]."""
    import torch

    modules: list[Any] = []
    for weight, bias in layers:
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0])
        linear.weight.data.copy_(torch.tensor(weight))
        linear.bias.data.copy_(torch.tensor(bias))
        modules += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*modules[:-1])


def squared_error(network: Any, x: Any, y: Any) -> Any:
    """Return the mean squared error of network(x) against y."""
    return ((network(x) - y) ** 2).mean()
