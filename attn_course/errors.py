"""The error that ends in one sentence for the user, never in a traceback."""


class UserError(ValueError):
    """Something that was given cannot be used; the message is one sentence for the reader."""
