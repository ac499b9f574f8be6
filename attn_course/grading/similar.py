"""Which answers are the same, as a hint to a person. Knows not who copied, and takes no points."""

import re
from collections import defaultdict
from collections.abc import Mapping

FEWEST_LETTERS = 60  # shorter answers are alike by chance


def same_answers(answers: Mapping[str, str]) -> dict[str, list[str]]:
    """Return {name: the others whose words are the same} for those who have any."""
    groups = defaultdict(list)
    for name, text in answers.items():
        groups[plain_words(text)].append(name)
    found: dict[str, list[str]] = {}
    for words, names in groups.items():
        if len(words) >= FEWEST_LETTERS and len(names) > 1:
            found |= {name: [other for other in names if other != name] for name in names}
    return found


def plain_words(text: str) -> str:
    """Return a text without capitals, marks and layout."""
    return " ".join(re.findall(r"\w+", text.casefold()))
