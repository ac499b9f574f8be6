"""Puts what a process holds into huge pages, so that its forks copy and drop a few entries, not thousands.

Where the kernel has none, everything stays as it was.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from attn_course.grading.sandbox import libc

SIZE = 2 << 20
MADV_COLLAPSE = 25  # Linux 6.1


def collapse() -> None:
    """Have the kernel put the memory of this process into huge pages."""
    with contextlib.suppress(OSError):
        for first, last in own_ranges():
            with contextlib.suppress(OSError):  # a range that another process shares
                libc.call("madvise", first, last - first, MADV_COLLAPSE)


def own_ranges() -> Iterator[tuple[int, int]]:
    """Yield (first, last) of the addresses that this process alone writes to, in whole huge pages."""
    places = Path("/proc/self/maps").read_text()
    for line in places.splitlines():
        addresses, rights, _, _, inode, *_ = line.split()
        if rights == "rw-p" and inode == "0":
            first, last = (int(address, 16) for address in addresses.split("-"))
            first = -(-first // SIZE) * SIZE
            last = last // SIZE * SIZE
            if first < last:
                yield first, last
