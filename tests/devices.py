"""Watches what tensors do to a device: waiting for its numbers, or mixing it with another."""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# What cannot return before every number on the device is known.
READS = {
    "_local_scalar_dense",
    "item",
    "is_nonzero",
    "nonzero",
    "masked_select",
    "equal",
    "_unique2",
}


class _Recording(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.reads = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in READS or (name == "index" and _by_a_mask(*args)):
            self.reads.append(name)
        return func(*args, **(kwargs or {}))


def _by_a_mask(x, indices):
    """Whether an index has to be counted first: it picks as many entries as a mask has True."""
    return any(i is not None and i.dtype == torch.bool for i in indices)


def waits_of(call, *args):
    """The names of the operations by which call(*args) reads numbers back from the device."""
    with _Recording() as recording:
        call(*args)
    return recording.reads


def devices_of(build, call):
    """The devices of what call(*build()) returns, where build() is on a device without numbers.

    An operation on tensors of two devices raises there, and so does one that must know a number.
    """
    with FakeTensorMode():
        with torch.device("meta"):
            args = build()
        results = tree_leaves(call(*args))
    return {x.device.type for x in results if isinstance(x, torch.Tensor)}
