"""Run a student's torch functions and layers on arrays, and compare what comes back; knows no question.

`run_function` and `run_layer` are drivers: they run where the student's code runs, take arrays, make
tensors of them and bring arrays back. Everything else here runs in the judge. torch is imported only
when a driver runs, so that the notebooks without torch never load it.
"""

import numpy as np

from attn_course.verdict import NotYet

TOLERANCE = 1e-5  # a softmax taken in float32 on the way, as is common, still passes


def probe(shape):
    """Fixed factors of this shape: with them an output becomes the one number that is differentiated."""
    return np.cos(np.arange(int(np.prod(shape)))).reshape(shape)


def run_function(function, arrays, *others):
    """Driver: function(*tensors, *others); its outputs, and the gradients of the first of them."""
    import torch

    if function is None:
        raise NotImplementedError
    tensors = [_tensor(value) for value in arrays]
    result = function(*tensors, *others)
    several = isinstance(result, tuple | list)
    outputs = list(result) if several else [result]
    if not all(isinstance(output, torch.Tensor) for output in outputs):
        kinds = " and ".join(dict.fromkeys(type(output).__name__ for output in outputs))
        return {"outputs": None, "kinds": kinds}
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    gradients = gradients_of(outputs[0], leaves)
    return {"outputs": [_data(output) for output in outputs], "gradients": gradients}


def run_layer(layer_class, sizes, parameters, x, *, train=False, repeats=1, **options):
    """Driver: build the layer, give it these parameters, run it; outputs and gradients by name."""
    import torch

    if layer_class is None:
        raise NotImplementedError
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(len(parameters))
        layer = _make(layer_class, sizes, options)
        found = layer if isinstance(layer, str) else _load(layer.train(train), parameters)
        if isinstance(found, str):
            return {"problem": found}
        x = _tensor(x)
        outputs = [layer(x) for _ in range(repeats)]
    if not isinstance(outputs[0], torch.Tensor):
        return {"problem": f"forward returned a {type(outputs[0]).__name__}, not one tensor"}
    gradients = gradients_of(outputs[0], [x, *found.values()])
    names = ["x", *found]
    return {
        "outputs": [_data(output) for output in outputs],
        "gradients": gradients and dict(zip(names, gradients, strict=True)),
    }


def _make(layer_class, sizes, options):
    """The layer in float64, or a sentence on why there is none."""
    import torch

    if isinstance(layer_class, torch.nn.Module):
        return "hand over the class itself, not a layer made of it"
    layer = layer_class(*sizes, **options)
    if not isinstance(layer, torch.nn.Module):
        return f"an nn.Module is expected, but this is a {type(layer).__name__}"
    return layer.double()


def _tensor(value):
    """A tensor of its own; one of floats collects gradients."""
    import torch

    tensor = torch.as_tensor(value).clone()
    return tensor.requires_grad_() if tensor.is_floating_point() else tensor


def _data(tensor):
    """As an array; NumPy has no bfloat16."""
    tensor = tensor.detach().cpu()
    return (tensor.double() if tensor.is_floating_point() else tensor).numpy()


def gradients_of(output, leaves):
    """Gradients of the probed output, zeros where a leaf plays no part; None where none flow."""
    import torch

    if not output.requires_grad or not output.is_floating_point():
        return None
    loss = (output * torch.as_tensor(probe(output.shape), dtype=output.dtype)).sum()
    found = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [_data(gradient) for gradient in found]


def _load(layer, parameters):
    """Copy the arrays into the layer's parameters; those by name, or a sentence on what is amiss."""
    import torch

    inner = [m for m in layer.modules() if isinstance(m, torch.nn.MultiheadAttention)]
    own, found = dict(layer.named_parameters()), {}
    if len(inner) == 1 and "query.weight" not in own:
        return _load_fused(inner[0], parameters)
    for name, values in parameters.items():
        if own.get(name) is None:
            return f"the layer has no parameter `{name}`"
        if own[name].shape != values.shape:
            return f"`{name}` has shape {tuple(own[name].shape)}, not {tuple(values.shape)}"
        own[name].data.copy_(torch.as_tensor(values))
        found[name] = own[name]
    return found


def _load_fused(inner, parameters):
    """The same for torch's own module, which stacks three projections in one parameter."""
    import torch

    stacked = [torch.as_tensor(values) for values in parameters.values()]
    for kind, stack in (("weight", inner.in_proj_weight), ("bias", inner.in_proj_bias)):
        if stack is None or len(stack) != 3 * len(parameters["out.bias"]):
            return f"the nn.MultiheadAttention inside has no {kind} for three projections of this width"
        parts = [v for name, v in zip(parameters, stacked, strict=True) if name.endswith(kind)]
        stack.data.copy_(torch.cat(parts[:3]))
        getattr(inner.out_proj, kind).data.copy_(parts[3])
    return {"out.weight": inner.out_proj.weight, "out.bias": inner.out_proj.bias}


def only_tensors(result, name, count):
    """The outputs of `run_function`, exactly `count` of them."""
    outputs = result["outputs"]
    if outputs is None:
        missing = ": is a `return` missing?" if result["kinds"] == "NoneType" else "."
        raise NotYet(f"{name} returned {result['kinds']}, where a tensor is expected{missing}")
    if len(outputs) != count:
        raise NotYet(f"{name} returned {len(outputs)} tensors, where {count} are expected.")
    return outputs


def leaves_of(arrays):
    """{name: array} -> {name: tensor that collects gradients}."""
    return {name: _tensor(value) for name, value in arrays.items()}


def match(found, right, setting, known=dict):
    """Pass if `found` is `right`; else name the first known mistake it equals, or how far off it is.

    known: called only for a wrong answer; -> {sentence: array or tensor}. Where `found` is nan it may
    stand for any number: one and the same mistake gives some people nan and others zero.
    """
    right = _array(right)
    if _same(found, right):
        return
    for sentence, wrong in known().items():
        wrong = _array(wrong)
        if wrong.shape == found.shape and _same(np.where(np.isnan(found), wrong, found), wrong):
            far = np.abs(np.nan_to_num(found) - right).max() if found.shape == right.shape else None
            size = "" if far is None else f"; the largest difference is {far:.2g}"
            raise NotYet(f"{sentence} ({setting}{size}).")
    if found.shape != right.shape:
        raise NotYet(f"the shape is {found.shape}, expected {right.shape} ({setting}).")
    if np.isnan(found).any():
        raise NotYet(f"the result contains nan, not a number ({setting}).")
    raise NotYet(f"it is off by up to {np.abs(found - right).max():.2g} ({setting}).")


def _array(value):
    return value if isinstance(value, np.ndarray) else _data(value)


def _same(one, other):
    shapes_agree = one.shape == other.shape and not np.isnan(one).all()
    return shapes_agree and np.allclose(one, other, atol=TOLERANCE, equal_nan=True)


def match_gradients(found, right, leaves, setting):
    """Pass if the gradients found are those of `right`, a tensor made of `leaves`, {name: tensor}.

    found: a list in the order of the leaves, or arrays by name, that of x among them.
    """
    if found is None or (isinstance(found, dict) and "x" not in found):
        raise NotYet(
            "the numbers are right, but no gradient flows back: something on the way leaves the graph."
        )
    found = found if isinstance(found, dict) else dict(zip(leaves, found, strict=True))
    for name, wanted in zip(leaves, gradients_of(right, list(leaves.values())), strict=True):
        if name not in found or np.allclose(found[name], wanted, atol=TOLERANCE):
            continue
        if np.isnan(found[name]).any():
            raise NotYet(
                f"the output is right, but the gradient of {name} contains nan ({setting})."
            )
        far = np.abs(found[name] - wanted).max()
        raise NotYet(
            f"the output is right, but the gradient of {name} is off by {far:.2g} ({setting})."
        )


def sound(result):
    """The result of `run_layer`, unless the layer could not be run as the question says."""
    if "problem" in result:
        raise NotYet(f"{result['problem']}.")
    return result
