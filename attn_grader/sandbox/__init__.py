"""How a submission and its judge run in a sandbox, and how they talk."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one submission may use: seconds of wall clock (cell, total) and bytes (memory, output)."""

    cell: float = 20.0
    total: float = 120.0
    memory: int = 2 << 30
    output: int = 1 << 20

    @property
    def cpu_seconds(self) -> int:
        """After which the kernel ends a process, where a clock on the wall has not."""
        return int(self.total) + 2
