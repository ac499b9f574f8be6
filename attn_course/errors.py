"""Define the error that a user reads as one sentence, never as a traceback."""


class UserError(ValueError):
    """Raised for input that cannot be used; the message is one sentence for the user."""

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython prints in place of a traceback; it looks for this name."""
        return [str(self)]
