"""The progress bar of a training, and how Ctrl-C stops it between two steps."""

import signal
import sys
import threading

from tqdm.auto import tqdm

# Seconds between two updates of a bar: JupyterLab may drop messages that come faster.
PAUSE = 2.0


class Bar:
    """A progress bar that is removed at the end; `shown` is False for all but one process."""

    def __init__(self, label: str, total: int, *, done: int, unit: str, shown: bool) -> None:
        self.shown = shown
        self.bar = tqdm(
            desc=label,
            total=total,
            initial=done,
            unit=unit,
            unit_scale=True,
            leave=False,
            mininterval=PAUSE,
            disable=not shown,
        )

    def advance(self, size: int) -> None:
        self.bar.update(size)

    def note(self, **values: float) -> None:
        """Show some numbers beside the bar, next time it is drawn."""
        texts = {name: f"{value:.2f}" for name, value in values.items()}
        self.bar.set_postfix(texts, refresh=False)

    def close(self) -> None:
        """Remove the bar; in a notebook also from the stored output of the cell."""
        self.bar.close()
        if not self.shown or "IPython" not in sys.modules:
            return
        shell = sys.modules["IPython"].get_ipython()
        if hasattr(shell, "kernel"):
            from IPython.display import clear_output

            clear_output()


class Interrupt:
    """While entered, the first Ctrl-C only sets `pressed`, so that no step is cut in half.

    The second one stops at once, as does the first where no handler can be set.
    """

    def __init__(self) -> None:
        self.pressed = False
        self.twice = False

    def __enter__(self) -> "Interrupt":
        self.before = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._press)
        return self

    def _press(self, number, frame):
        if self.pressed:
            self.twice = True
            raise KeyboardInterrupt
        self.pressed = True

    def __exit__(self, *error: object) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
