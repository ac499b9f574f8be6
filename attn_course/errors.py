"""What is said when something given cannot be used."""


class Refusal(ValueError):
    """Something that was given cannot be used; the message is one sentence for the reader."""


class BadText(Refusal):
    """A file or a sentence that is missing, damaged, empty or too long."""


class BadRun(Refusal):
    """A folder or a checkpoint that holds no usable run."""


class BadOption(Refusal):
    """A setting that does not exist, does not fit the others, or asks for what the machine lacks."""
