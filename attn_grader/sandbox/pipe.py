"""How plain data and raw arrays cross a pipe, within limits."""

import contextlib
import itertools
import json
import math
import socket
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

MAX_BYTES = 16 << 20  # one message
ENOUGH = 1 << 18  # bytes to send at once where there is more to come
ITEM = 64  # bytes that stand for a number or a container; so many items never fill a message
PIECE = 1 << 16  # bytes copied or read at a time: larger pieces take new memory each
MAX_HEADER = 8 << 20  # the part of it that is parsed as JSON
MAX_ITEMS = 30_000  # numbers, strings and containers in one message
MAX_DEPTH = 64
LENGTH = 4  # bytes that hold the length of the header
LENGTH_OF_MESSAGE = 8
MAX_DIMENSION = 1 << 31
NUMBERS = frozenset([int, float, bool, type(None)])  # types that are what JSON has
PLAIN = NUMBERS | {str}
DTYPES = frozenset("|b1 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8 <f2 <f4 <f8 <c8 <c16".split())


class PipeError(Exception):
    """Bytes that are not a message, or a value that cannot be sent; the text is one sentence."""


def encode(value: Any) -> bytes:
    """Return `value` as bytes: the length of a JSON tree, the tree, then every array's bytes."""
    packed = Packed(value)
    header = json.dumps(packed.tree).encode()
    return b"".join([struct.pack("<I", len(header)), header, *packed.buffers])


class Packed:
    """A value as it stands in a message; packed already, it may be a part of another one."""

    def __init__(self, value: Any) -> None:
        self.buffers: list[Any] = []  # of arrays, each in one piece
        self.num_items = 0
        self.tree = self._pack(value, 0)

    @property
    def size(self) -> int:
        """About how many bytes it takes in a message, and no less than ITEM for each part."""
        return ITEM * self.num_items + sum(map(len, self.buffers))

    def _pack(self, value, depth):
        kind = type(value)
        if kind in PLAIN:
            return value
        if depth >= MAX_DEPTH:
            raise PipeError(f"it is nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, tuple):
            return self._pack_all("tuple", value, depth)
        if isinstance(value, list):
            return self._pack_all("list", value, depth)
        if isinstance(value, dict):
            keys_and_values = itertools.chain.from_iterable(value.items())
            return self._pack_all("dict", keys_and_values, depth)
        if isinstance(value, str):  # and below, of a type that only derives from a plain one
            return value
        if isinstance(value, int):
            return int(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, complex):
            return ["complex", value.real, value.imag]
        if isinstance(value, np.generic):
            number = float(value) if value.dtype.char == "g" else value.item()
            return self._pack(number, depth + 1)
        if isinstance(value, Packed):
            self.buffers += value.buffers
            self.num_items += value.num_items
            return value.tree
        return self._pack_array(value)

    def _pack_all(self, tag, items, depth):
        tree = [tag]
        for item in items:
            tree.append(item if type(item) in PLAIN else self._pack(item, depth + 1))
        self.num_items += len(tree)
        return tree

    def _pack_array(self, value):
        """Return the type and shape of an array or tensor, and add its bytes to the buffers.

        They are little-endian and of a type in DTYPES; objects count if they are numbers.
        """
        tag = "array"
        torch = sys.modules.get("torch")  # never imported for the sake of NumPy answers
        if torch is not None and isinstance(value, torch.Tensor):
            tag = "tensor"
            value = value.detach().cpu().numpy()
        if not isinstance(value, np.ndarray):
            raise PipeError(f"it is a {type(value).__name__}, not numbers, text or arrays")
        array = np.asarray(value)
        if array.dtype.char in "gO":
            with contextlib.suppress(TypeError, ValueError):
                array = array.astype(np.float64)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        if array.dtype.str not in DTYPES:
            raise PipeError(f"it is an array of {array.dtype}, not of numbers")
        self.buffers.append(array.tobytes())
        return [tag, array.dtype.str, *array.shape]


def decode(body: bytes | bytearray, *, tensors: bool = False) -> Any:
    """Return the value in `body`, whoever wrote it; a tensor arrives as an array unless `tensors`."""
    size = int.from_bytes(body[:LENGTH], "little")
    if size > min(len(body) - LENGTH, MAX_HEADER):
        raise PipeError("the message has no readable header")
    end = LENGTH + size
    whole = memoryview(body)
    try:
        tree = json.loads(str(whole[LENGTH:end], "utf-8"))
    except (ValueError, RecursionError) as error:
        raise PipeError("the message is not JSON") from error
    reader = _Reader(whole[end:], tensors)
    value = reader.unpack(tree, 0)
    if len(reader.data):
        raise PipeError("the message is longer than its arrays")
    return value


class _Reader:
    """Takes a parsed tree back to values, handing out `data` to the arrays in order."""

    def __init__(self, data, tensors):
        self.data = data
        self.tensors = tensors
        self.num_items = 0

    def unpack(self, node: Any, depth: int) -> Any:
        """Return the value of a part of the tree, which lies so deep in it."""
        kind = type(node)
        if kind is str:
            if node.isascii():
                return node
            return node.encode("utf-8", "replace").decode()  # a lone surrogate breaks reports
        if kind in NUMBERS:
            return node
        self.num_items += len(node)
        if depth >= MAX_DEPTH or self.num_items > MAX_ITEMS:
            raise PipeError(f"it has over {MAX_ITEMS:,} items or {MAX_DEPTH} levels")
        match node:
            case ["array" | "tensor" as tag, str(dtype), *shape]:
                return self._array(tag, dtype, shape)
            case ["complex", float(real), float(imag)]:
                return complex(real, imag)
            case ["list" | "tuple" | "dict" as tag, *items]:
                values = []
                for item in items:
                    is_number = type(item) in NUMBERS
                    values.append(item if is_number else self.unpack(item, depth + 1))
                if tag == "list":
                    return values
                if tag == "tuple":
                    return tuple(values)
                # Text alone: keys of another kind can be chosen so that this takes hours.
                keys = values[::2]
                if len(values) % 2 or not all(isinstance(key, str) for key in keys):
                    raise PipeError("the message has a dictionary with unusable keys")
                return dict(zip(keys, values[1::2], strict=True))
        raise PipeError("the message has a part of unknown kind")

    def _array(self, tag, dtype, shape):
        """Take an array of this type and shape from the front of the data."""
        is_known = dtype in DTYPES and len(shape) <= MAX_DEPTH
        if not is_known or not all(type(n) is int and 0 <= n < MAX_DIMENSION for n in shape):
            raise PipeError("the message has an array of unknown type or shape")
        num_bytes = math.prod(shape, start=np.dtype(dtype).itemsize)
        if num_bytes > len(self.data):
            raise PipeError("the message has an array larger than its bytes")
        try:
            flat = np.frombuffer(self.data[:num_bytes], dtype)
            array = flat.reshape(shape).copy()
        except ValueError as error:  # NumPy's word on many long axes beside an empty one
            raise PipeError("the message has an array of unusable shape") from error
        self.data = self.data[num_bytes:]
        if tag == "tensor" and self.tensors:
            import torch

            return torch.from_numpy(array)
        return array


def send(write: Callable[[memoryview], int], body: bytes) -> None:
    """Write one message through `write(bytes) -> count`."""
    length = struct.pack("<Q", len(body))
    first = length + body[:PIECE]
    rest = memoryview(body)[PIECE:]
    for data in (memoryview(first), rest):
        while data:
            count = write(data)
            data = data[count:]


class Inbox:
    """Takes whole messages out of what `read(count) -> bytes` gives; what is beyond one is kept."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read
        self.ahead = b""

    def receive(self, limit: int = MAX_BYTES) -> bytearray:
        """Return the next message; EOFError when the other end is gone."""
        while len(self.ahead) < LENGTH_OF_MESSAGE:
            self.ahead += self._piece(PIECE)
        (size,) = struct.unpack_from("<Q", self.ahead)
        if size > limit:
            raise PipeError(f"it is larger than {limit >> 20} MB")
        end = LENGTH_OF_MESSAGE + size
        first = self.ahead[LENGTH_OF_MESSAGE:end]
        self.ahead = self.ahead[end:]
        body = bytearray(size)
        body[: len(first)] = first
        done = len(first)
        while done < size:
            piece = self._piece(min(size - done, PIECE))
            end = done + len(piece)
            body[done:end] = piece
            done = end
        return body

    def _piece(self, count):
        piece = self.read(count)
        if not piece:
            raise EOFError
        return piece


class Connection:
    """The worker's end of a socket: whole messages, each sent or received before a deadline."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.deadline = 0.0
        self.inbox = Inbox(self._read)

    def send(self, value: Any, deadline: float) -> None:
        """Send one message; TimeoutError when it is late."""
        self.deadline = deadline
        send(self._write, encode(value))

    def receive(self, deadline: float, limit: int = MAX_BYTES) -> Any:
        """Return the next message; EOFError when the other end is gone, TimeoutError when late."""
        self.deadline = deadline
        return decode(self.inbox.receive(limit))

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()

    def _write(self, data):
        self._set_timeout()
        return self.socket.send(data)

    def _read(self, count):
        self._set_timeout()
        return self.socket.recv(count)

    def _set_timeout(self):
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(left)
