"""Knows how plain data and raw arrays cross a pipe, within limits; never unpickles, knows no question."""

import contextlib
import json
import os
import select
import struct
import sys
import time

import numpy as np

MAX_BYTES = 16 << 20  # one message
ENOUGH = 1 << 20  # bytes to send at once where there is more to come
MAX_HEADER = 8 << 20  # the part of it that is parsed as JSON
MAX_ITEMS = 20_000  # numbers, strings and containers in one message
MAX_DEPTH = 64
MAX_DIMENSION = 1 << 31
DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split())


class ChannelError(Exception):
    """Bytes that are not a message, or a value that cannot be sent; the text is one sentence."""


def encode(value):
    """Return `value` as bytes: the length of a JSON tree, the tree, then every array's bytes."""
    buffers = []
    header = json.dumps(_pack(value, buffers, 0)).encode()
    return b"".join([struct.pack("<I", len(header)), header, *buffers])


def _pack(value, buffers, depth):
    if depth > MAX_DEPTH:
        raise ChannelError(f"it is nested more than {MAX_DEPTH} levels deep")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    if isinstance(value, complex):
        return ["complex", value.real, value.imag]
    if isinstance(value, (list, tuple)):
        tag = "list" if isinstance(value, list) else "tuple"
        return [tag, *(_pack(item, buffers, depth + 1) for item in value)]
    if isinstance(value, dict):
        pairs = (pair for item in value.items() for pair in item)
        return ["dict", *(_pack(item, buffers, depth + 1) for item in pairs)]
    if isinstance(value, np.generic):
        return _pack(float(value) if value.dtype.char == "g" else value.item(), buffers, depth + 1)
    return _pack_array(value, buffers)


def _pack_array(value, buffers):
    tag, torch = "array", sys.modules.get("torch")  # never imported for the sake of NumPy answers
    if torch is not None and isinstance(value, torch.Tensor):
        tag, value = "tensor", value.detach().cpu().numpy()
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
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise ChannelError(f"it is an array of {array.dtype}, not of numbers")
    return array


def decode(body, *, tensors=False):
    """Return the value in `body`, whoever wrote it; a tensor arrives as an array unless `tensors`."""
    if len(body) < 4 or (size := struct.unpack_from("<I", body)[0]) > min(
        len(body) - 4, MAX_HEADER
    ):
        raise ChannelError("the message has no readable header")
    try:
        tree = json.loads(bytes(body[4 : 4 + size]))
    except (ValueError, RecursionError) as error:
        raise ChannelError("the message is not JSON") from error
    reader = _Reader(memoryview(body)[4 + size :], tensors)
    value = reader.unpack(tree, 0)
    if len(reader.data):
        raise ChannelError("the message is longer than its arrays")
    return value


class _Reader:
    """Takes a parsed tree back to values, handing out `data` to the arrays in order."""

    def __init__(self, data, tensors):
        self.data, self.tensors, self.num_items = data, tensors, 0

    def unpack(self, node, depth):
        self.num_items += 1
        if depth > MAX_DEPTH or self.num_items > MAX_ITEMS:
            raise ChannelError(f"it has over {MAX_ITEMS:,} items or {MAX_DEPTH} levels")
        if isinstance(node, str):
            return node.encode("utf-8", "replace").decode()  # a lone surrogate breaks every report
        if not isinstance(node, (list, dict)):
            return node
        match node:
            case ["array" | "tensor" as tag, str(dtype), *shape]:
                return self._array(tag, dtype, shape)
            case ["complex", float(real), float(imag)]:
                return complex(real, imag)
            case ["list" | "tuple" | "dict" as tag, *items]:
                return self._container(tag, [self.unpack(item, depth + 1) for item in items])
        raise ChannelError("the message has a part of unknown kind")

    @staticmethod
    def _container(tag, items):
        if tag != "dict":
            return items if tag == "list" else tuple(items)
        # Text alone: keys of another kind can be chosen so that making the dictionary takes hours.
        if len(items) % 2 or not all(isinstance(key, str) for key in items[::2]):
            raise ChannelError("the message has a dictionary with unusable keys")
        return dict(zip(items[::2], items[1::2], strict=True))

    def _array(self, tag, dtype, shape):
        sound = all(type(size) is int and 0 <= size < MAX_DIMENSION for size in shape)
        if dtype not in DTYPES or not sound or len(shape) > MAX_DEPTH:
            raise ChannelError("the message has an array of unknown type or shape")
        num_bytes = np.dtype(dtype).itemsize
        for size in shape:
            num_bytes *= size
        if num_bytes > len(self.data):
            raise ChannelError("the message has an array larger than its bytes")
        try:
            array = np.frombuffer(self.data[:num_bytes], dtype).reshape(shape).copy()
        except ValueError as error:  # NumPy's word on many long axes beside an empty one
            raise ChannelError("the message has an array of unusable shape") from error
        self.data = self.data[num_bytes:]
        if tag == "tensor" and self.tensors:
            import torch

            return torch.from_numpy(array)
        return array


def send(write, body):
    """Write one message through `write(bytes) -> count`."""
    data = memoryview(struct.pack("<Q", len(body)) + body)
    while data:
        data = data[write(data) :]


def receive(read, limit=MAX_BYTES):
    """Read one message through `read(count) -> bytes`; EOFError when the other end is gone."""
    (size,) = struct.unpack("<Q", _exactly(read, 8))
    if size > limit:
        raise ChannelError(f"it is larger than {limit >> 20} MB")
    return _exactly(read, size)


def _exactly(read, size):
    data = bytearray()
    while len(data) < size:
        chunk = read(min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return data


class Line:
    """Our end of a two-way pipe: whole messages, each sent or received before a deadline.

    It is closed when nobody holds it any more, for a thread may still wait on it.
    """

    def __init__(self, fd):
        self.fd = fd
        os.set_blocking(fd, False)

    def __del__(self):
        os.close(self.fd)

    def send(self, value, deadline):
        send(lambda data: self._try(os.write, data, select.POLLOUT, deadline), encode(value))

    def receive(self, deadline, limit=MAX_BYTES):
        """Return the next message; EOFError when the other end is gone, TimeoutError when late."""
        body = receive(lambda count: self._try(os.read, count, select.POLLIN, deadline), limit)
        return decode(body)

    def _try(self, call, argument, event, deadline):
        while True:
            with contextlib.suppress(BlockingIOError):
                return call(self.fd, argument)
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            poll = select.poll()
            poll.register(self.fd, event)
            poll.poll(1000 * left)
