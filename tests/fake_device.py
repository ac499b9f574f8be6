"""Tensors that claim to be on another device while their numbers are on the CPU.

They show without a GPU what a GPU would refuse or wait for: a `FarDevice` raises where an operation
mixes devices, and counts every wait: each number that the CPU asks back, and each copy to the
device that was not told to go on meanwhile.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

FAR = torch.device("lazy", 0)  # a type that torch knows, has no code for, and treats like a GPU
NEAR = torch.device("cpu")
aten = torch.ops.aten
ASKS_BACK = {  # operations whose result is a Python number or a size: the CPU must wait for it
    aten._local_scalar_dense.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.equal.default,
}
PACKED = {aten._pack_padded_sequence.default}  # takes lengths on the CPU, gives sizes there
SHAPES = {
    aten.sym_size.default: torch.Tensor.size,
    aten.size.default: torch.Tensor.size,
    aten.sym_stride.default: torch.Tensor.stride,
    aten.stride.default: torch.Tensor.stride,
    aten.sym_storage_offset.default: torch.Tensor.storage_offset,
    aten.storage_offset.default: torch.Tensor.storage_offset,
    aten.sym_numel.default: torch.Tensor.numel,
    aten.numel.default: torch.Tensor.numel,
    aten.dim.default: torch.Tensor.dim,
    aten.is_contiguous.default: torch.Tensor.is_contiguous,
    aten.is_contiguous.memory_format: torch.Tensor.is_contiguous,
    aten.is_strides_like_format.default: lambda near: False,
    aten.is_non_overlapping_and_dense.default: lambda near: True,
}


class FarTensor(torch.Tensor):
    """A tensor whose device is FAR; `near` holds its numbers."""

    @staticmethod
    def __new__(cls, near):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            near.size(),
            strides=near.stride(),
            storage_offset=near.storage_offset(),
            dtype=near.dtype,
            device=FAR,
            requires_grad=near.requires_grad,
            dispatch_sizes_strides_policy="sizes",  # transpose_ and its kind change them
        )

    def __init__(self, near):
        self.near = near

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function in SHAPES:
            return SHAPES[function](args[0].near)
        raise RuntimeError(f"{function} was called outside the FarDevice")


class FarDevice(TorchDispatchMode):
    """While entered, tensors can be made on FAR and moved there; `waits` lists what asked back."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in SHAPES:
            return SHAPES[function](self._near(args[0]))
        with self:  # in inference mode an operation arrives whole; its parts are what runs
            result = function.decompose(*args, **kwargs)
        if result is not NotImplemented:
            return result
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        far = any(isinstance(tensor, FarTensor) for tensor in tensors)
        device = kwargs.get("device")
        target = torch.device(device).type if device is not None else None
        if far and (function in ASKS_BACK or target == NEAR.type):
            self.waits.append(str(function))
        elif far:
            self._refuse_mixture(function, tensors)
        elif target == FAR.type and _stands_still(function, kwargs):
            self.waits.append(f"{function} to {FAR}")
        to_far = target == FAR.type or (far and target is None and function not in ASKS_BACK)
        if function in (aten.index.Tensor, aten.index_put_.default, aten.index_put.default) and far:
            self._count_boolean_indices(function, args)
        if target is not None:
            kwargs = {**kwargs, "device": NEAR}
        near_args, near_kwargs = tree_map(self._near, (args, kwargs))
        result = function(*near_args, **near_kwargs)
        if far and function._schema.name.endswith("_") and not function._schema.name.endswith("__"):
            return args[0]
        if function in PACKED and far:
            return self._far(result[0]), result[1]
        return tree_map(self._far, result) if to_far else result

    def _refuse_mixture(self, function, tensors):
        """A GPU takes numbers without axes from the CPU, and copies; nothing else."""
        if function in PACKED or function in (aten.copy_.default, aten._to_copy.default):
            if function is aten.copy_.default and not isinstance(tensors[0], FarTensor):
                self.waits.append(str(function))
            return
        for tensor in tensors:
            if not isinstance(tensor, FarTensor) and tensor.ndim:
                raise RuntimeError(f"{function} mixes {FAR} and cpu {tuple(tensor.shape)}")

    def _count_boolean_indices(self, function, args):
        """A boolean index has to be counted before the size of the result is known."""
        for index in args[1]:
            if index is not None and index.dtype is torch.bool:
                self.waits.append(str(function))

    @staticmethod
    def _near(value):
        return value.near if isinstance(value, FarTensor) else value

    @staticmethod
    def _far(value):
        return FarTensor(value) if isinstance(value, torch.Tensor) else value


def _stands_still(function, options):
    """Whether the CPU waits until a copy has arrived."""
    return function is aten._to_copy.default and not options.get("non_blocking")


def watched(build, call):
    """What call(*build()) waited for, and the devices of what it returns, where build() is on FAR."""
    with FarDevice() as device:
        with FAR:
            args = build()
        device.waits.clear()
        results = tree_leaves(call(*args))
    return device.waits, {x.device.type for x in results if isinstance(x, torch.Tensor)}
