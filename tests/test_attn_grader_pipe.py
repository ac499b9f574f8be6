"""What crosses the wire between judge and submission, and what is refused there."""

import contextlib
import io
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_grader.notebook import one_line
from attn_grader.sandbox import pipe

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.array(True),
    np.zeros((0, 4), np.float32),
    np.array([1 + 2j]),
    np.arange(3, dtype=">i4"),
    np.arange(8, dtype=np.uint8)[::2],
]


@pytest.mark.parametrize("array", ARRAYS, ids=str)
def test_arrays_cross_the_wire_unchanged(array):
    found = pipe.decode(pipe.encode(array))
    assert found.dtype == array.dtype.newbyteorder("<") and found.shape == array.shape
    assert np.array_equal(found, array) and found.flags.writeable


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
plain = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(plain)
@settings(deadline=None, max_examples=60)
def test_plain_data_crosses_the_wire_unchanged(value):
    assert pipe.decode(pipe.encode(value)) == value


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=200)
def test_random_bytes_are_a_message_or_a_pipe_error(data):
    with contextlib.suppress(pipe.PipeError):
        pipe.decode(data)


HOSTILE_TREES = {
    "objects": (["array", "|O8", 1], 8),
    "records": (["array", "V8", 1], 8),
    "a negative size": (["array", "<f8", -1], 8),
    "a size that overflows": (["array", "<f8", 1 << 30, 1 << 30, 1 << 30], 8),
    "a size that is true": (["array", "<f8", True], 8),
    "a size of 0 beside an endless one": (["array", "<f8", 0, 1 << 62], 0),
    "more than its bytes": (["array", "<f8", 3], 8),
    "less than its bytes": (["array", "<f8", 1], 24),
    "a hundred axes": (["array", "<f8", *[1] * 100], 8),
    "an unknown tag": (["pickle", "gASVDg=="], 0),
    "an object": ({"a": 1}, 0),
    "an empty list": ([], 0),
    "an odd dictionary": (["dict", "a"], 0),
    "a dictionary with numbers for keys": (["dict", 1, 2], 0),
    "long axes beside an empty one": (["array", "<f8", 0, *[(1 << 31) - 1] * 3], 0),
    "a dictionary with a list for a key": (["dict", ["list"], 1], 0),
    "too many items": (["list", *[0] * pipe.MAX_ITEMS], 0),
}


@pytest.mark.parametrize("name", HOSTILE_TREES)
def test_a_hostile_message_is_refused(name):
    tree, num_bytes = HOSTILE_TREES[name]
    header = json.dumps(tree).encode()
    with pytest.raises(pipe.PipeError):
        pipe.decode(struct.pack("<I", len(header)) + header + bytes(num_bytes))


@pytest.mark.parametrize("depth", [pipe.MAX_DEPTH + 1, 100_000])
def test_a_deeply_nested_message_is_refused(depth):
    header = b'["list",' * depth + b"0" + b"]" * depth
    with pytest.raises(pipe.PipeError):
        pipe.decode(struct.pack("<I", len(header)) + header)


@pytest.mark.parametrize("most", [3, 1000, pipe.PIECE])
def test_messages_that_come_together_or_in_pieces_are_told_apart(most):
    bodies = [pipe.encode(value) for value in ("a", np.arange(9_000.0), "", [1, 2])]
    stream = io.BytesIO()
    for body in bodies:
        pipe.send(stream.write, body)
    stream.seek(0)
    inbox = pipe.Inbox(lambda count: stream.read(min(count, most)))
    assert [inbox.receive() for _ in bodies] == bodies
    with pytest.raises(EOFError):
        inbox.receive()


def test_an_announced_size_over_the_limit_is_refused_before_it_is_read():
    chunks = iter([struct.pack("<Q", 1 << 60)])
    with pytest.raises(pipe.PipeError, match="larger than 16 MB"):
        pipe.Inbox(lambda count: next(chunks)).receive()


def test_keys_that_would_take_hours_to_put_into_a_dictionary_are_refused():
    keys = [item for k in range(pipe.MAX_ITEMS // 4) for item in (k * ((1 << 61) - 1), 0)]
    header = json.dumps(["dict", *keys]).encode()
    with pytest.raises(pipe.PipeError, match="unusable keys"):
        pipe.decode(struct.pack("<I", len(header)) + header)


def test_what_a_submission_says_is_told_in_one_line_that_steers_no_terminal():
    assert one_line("a\x1b[2J\r\nb\u202ec\u2028d") == "a [2J b c d"
    assert len(one_line("x" * 10**6)) == 500
