"""Write a file whole or not at all: after a kill, or on a full disk, the old file is as it was."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[Path]:
    """Give a new file to write; it takes the place of `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:200]}.")
    os.close(handle)
    try:
        yield Path(name)
        with contextlib.suppress(OSError):  # mkstemp lets only the owner read
            os.chmod(name, path.stat().st_mode if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write text or bytes to a file, and make its folder if there is none."""
    if isinstance(content, str):
        content = content.encode("utf-8", "backslashreplace")
    with replaced(path) as new, new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
