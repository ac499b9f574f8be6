"""Knows how plain data and raw arrays cross a pipe, within limits; never unpickles, knows no question."""

import contextlib
import itertools
import json
import os
import select
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

MAX_BYTES = 16 << 20  # one message
ENOUGH = 1 << 20  # bytes to send at once where there is more to come
MAX_HEADER = 8 << 20  # the part of it that is parsed as JSON
MAX_ITEMS = 20_000  # numbers, strings and containers in one message
MAX_DEPTH = 64
LENGTH = 4  # bytes that hold the length of the header
MAX_DIMENSION = 1 << 31
DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split())


class ChannelError(Exception):
    """Bytes that are not a message, or a value that cannot be sent; the text is one sentence."""


def encode(value: Any) -> bytes:
    """Return `value` as bytes: the length of a JSON tree, the tree, then every array's bytes."""
    buffers: list[bytes] = []
    tree = _pack(value, buffers, 0)
    header = json.dumps(tree).encode()
    length = struct.pack("<I", len(header))
    return b"".join([length, header, *buffers])


def _pack(value, buffers, depth):
    if depth > MAX_DEPTH:
        raise ChannelError(f"it is nested more than {MAX_DEPTH} levels deep")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, list):
        return ["list", *_pack_all(value, buffers, depth)]
    if isinstance(value, tuple):
        return ["tuple", *_pack_all(value, buffers, depth)]
    if isinstance(value, dict):
        keys_and_values = itertools.chain.from_iterable(value.items())
        return ["dict", *_pack_all(keys_and_values, buffers, depth)]
    if isinstance(value, np.generic):
        is_long = value.dtype.char == "g"
        number = float(value) if is_long else value.item()
        return _pack(number, buffers, depth + 1)
    return _pack_array(value, buffers)


def _pack_all(items, buffers, depth):
    return [_pack(item, buffers, depth + 1) for item in items]


def _pack_array(value, buffers):
    """Return the type and shape of an array or tensor, and add its bytes to the buffers."""
    tag = "array"
    torch = sys.modules.get("torch")  # never imported for the sake of NumPy answers
    if torch is not None and isinstance(value, torch.Tensor):
        tag = "tensor"
        value = value.detach().cpu().numpy()
    if not isinstance(value, np.ndarray):
        raise ChannelError(f"it is a {type(value).__name__}, not numbers, text or arrays")
    array = _numeric(np.asarray(value))
    buffers.append(array.tobytes())
    return [tag, array.dtype.str, *array.shape]


def _numeric(array):
    """Return `array` little-endian and of a type in DTYPES; objects count if they are numbers."""
    if array.dtype.char in "gO":
        with contextlib.suppress(TypeError, ValueError):
            array = array.astype(np.float64)
    little = array.dtype.newbyteorder("<")
    array = array.astype(little, copy=False)
    if array.dtype.str not in DTYPES:
        raise ChannelError(f"it is an array of {array.dtype}, not of numbers")
    return array


def decode(body: bytes | bytearray, *, tensors: bool = False) -> Any:
    """Return the value in `body`, whoever wrote it; a tensor arrives as an array unless `tensors`."""
    end = LENGTH + _size_of_header(body)
    try:
        tree = json.loads(body[LENGTH:end])
    except (ValueError, RecursionError) as error:
        raise ChannelError("the message is not JSON") from error
    arrays = memoryview(body)[end:]
    reader = _Reader(arrays, tensors)
    value = reader.unpack(tree, 0)
    if len(reader.data):
        raise ChannelError("the message is longer than its arrays")
    return value


def _size_of_header(body):
    if len(body) >= LENGTH:
        (size,) = struct.unpack_from("<I", body)
        if size <= min(len(body) - LENGTH, MAX_HEADER):
            return size
    raise ChannelError("the message has no readable header")


class _Reader:
    """Takes a parsed tree back to values, handing out `data` to the arrays in order."""

    def __init__(self, data, tensors):
        self.data = data
        self.tensors = tensors
        self.num_items = 0

    def unpack(self, node: Any, depth: int) -> Any:
        """Return the value of a part of the tree, which lies so deep in it."""
        self.num_items += 1
        if depth > MAX_DEPTH or self.num_items > MAX_ITEMS:
            raise ChannelError(f"it has over {MAX_ITEMS:,} items or {MAX_DEPTH} levels")
        if isinstance(node, str):
            sound = node.encode("utf-8", "replace")  # a lone surrogate breaks every report
            return sound.decode()
        if not isinstance(node, (list, dict)):
            return node
        match node:
            case ["array" | "tensor" as tag, str(dtype), *shape]:
                return self._array(tag, dtype, shape)
            case ["complex", float(real), float(imag)]:
                return complex(real, imag)
            case ["list" | "tuple" | "dict" as tag, *items]:
                values = [self.unpack(item, depth + 1) for item in items]
                return self._container(tag, values)
        raise ChannelError("the message has a part of unknown kind")

    @staticmethod
    def _container(tag, items):
        if tag == "list":
            return items
        if tag == "tuple":
            return tuple(items)
        keys = items[::2]
        values = items[1::2]
        # Text alone: keys of another kind can be chosen so that making the dictionary takes hours.
        is_text = all(isinstance(key, str) for key in keys)
        if not is_text or len(keys) != len(values):
            raise ChannelError("the message has a dictionary with unusable keys")
        return dict(zip(keys, values, strict=True))

    def _array(self, tag, dtype, shape):
        """Take an array of this type and shape from the front of the data."""
        is_known = dtype in DTYPES and len(shape) <= MAX_DEPTH
        if not is_known or not all(map(_is_dimension, shape)):
            raise ChannelError("the message has an array of unknown type or shape")
        num_bytes = np.dtype(dtype).itemsize
        for size in shape:
            num_bytes *= size
        if num_bytes > len(self.data):
            raise ChannelError("the message has an array larger than its bytes")
        own = self.data[:num_bytes]
        try:
            flat = np.frombuffer(own, dtype)
            array = flat.reshape(shape).copy()
        except ValueError as error:  # NumPy's word on many long axes beside an empty one
            raise ChannelError("the message has an array of unusable shape") from error
        self.data = self.data[num_bytes:]
        if tag == "tensor" and self.tensors:
            import torch

            return torch.from_numpy(array)
        return array


def _is_dimension(size):
    return type(size) is int and 0 <= size < MAX_DIMENSION


def send(write: Callable[[memoryview], int], body: bytes) -> None:
    """Write one message through `write(bytes) -> count`."""
    length = struct.pack("<Q", len(body))
    data = memoryview(length + body)
    while data:
        count = write(data)
        data = data[count:]


def receive(read: Callable[[int], bytes], limit: int = MAX_BYTES) -> bytearray:
    """Read one message through `read(count) -> bytes`; EOFError when the other end is gone."""
    length = _exactly(read, 8)
    (size,) = struct.unpack("<Q", length)
    if size > limit:
        raise ChannelError(f"it is larger than {limit >> 20} MB")
    return _exactly(read, size)


def _exactly(read, size):
    """Read so many bytes, in as many pieces as it takes."""
    data = bytearray()
    while len(data) < size:
        missing = size - len(data)
        chunk = read(min(missing, 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return data


class Line:
    """Our end of a two-way pipe: whole messages, each sent or received before a deadline.

    It is closed when nobody holds it any more, for a thread may still wait on it.
    """

    def __init__(self, fd: int):
        self.fd = fd
        os.set_blocking(fd, False)

    def __del__(self) -> None:
        os.close(self.fd)

    def send(self, value: Any, deadline: float) -> None:
        """Send one message; TimeoutError when it is late."""

        def write(data: memoryview) -> int:
            return self._try(os.write, data, select.POLLOUT, deadline)

        body = encode(value)
        send(write, body)

    def receive(self, deadline: float, limit: int = MAX_BYTES) -> Any:
        """Return the next message; EOFError when the other end is gone, TimeoutError when late."""

        def read(count: int) -> bytes:
            return self._try(os.read, count, select.POLLIN, deadline)

        body = receive(read, limit)
        return decode(body)

    def _try(self, call, argument, event, deadline):
        """Read or write as soon as that is possible without waiting."""
        while True:
            with contextlib.suppress(BlockingIOError):
                return call(self.fd, argument)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            poll = select.poll()
            poll.register(self.fd, event)
            poll.poll(1000 * left)
