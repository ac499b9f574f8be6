"""How a submission runs in a sandbox, and how its worker talks to it."""

from dataclasses import dataclass

# What a worker says of a child: end it, or see how it ends, for its socket is closed.
END = b"e"
WAIT = b"w"


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of wall clock (cell, total) and bytes (memory, output)."""

    cell: float = 20.0
    total: float = 120.0
    memory: int = 2 << 30
    output: int = 1 << 20

    @property
    def cpu_seconds(self) -> int:
        """The CPU seconds after which the kernel ends a process that nothing has ended before."""
        return int(self.total) + 2
