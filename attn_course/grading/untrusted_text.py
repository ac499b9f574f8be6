"""Text of strangers, made fit to be shown: cut to size, steering no terminal."""

import hashlib
import re

LONGEST_LINE = 500
LONGEST_ANSWER = 20_000
# Steers a terminal, or has text read in another order than it is run.
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# A picture as Colab keeps it: inside the text, and longer than any text.
PASTED = re.compile(r"data:image/[\w.+-]{1,20};base64,[A-Za-z0-9+/=]*")


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Return a text as one line."""
    begin = text[: 4 * longest]
    letters = [letter if letter.isprintable() else " " for letter in begin]
    return " ".join("".join(letters).split())[:longest]


def as_answer(text: str) -> str:
    """Return a text with its lines, as a person reads an answer; pictures inside it are only named."""
    begin = PASTED.sub(short_address, text)[:LONGEST_ANSWER]
    return UNSEEN.sub("\ufffd", begin)


def short_address(pasted: re.Match[str]) -> str:
    """Return the name that a picture inside a text gets: another for another picture."""
    return f"attachment:{hashlib.sha256(pasted[0].encode()).hexdigest()[:16]}"
