"""The error that ends in one sentence for the user, never in a traceback."""


class UserError(ValueError):
    """Something that was given cannot be used; the message is one sentence for the reader."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook prints in place of a traceback: IPython asks for it by this name."""
        return [str(self)]
