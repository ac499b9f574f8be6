"""One sentence, its translations, and where each word looked, for a terminal or a page."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from attn_course.errors import UserError
from attn_course.translation.known_words import KnownWords
from attn_course.translation.trained_translator import Run

SHADES = " ░▒▓█"  # of weights from 0 to 1
TEMPLATE = "explanation.html"


class Candidate(NamedTuple):
    """One translation and the log-probability per subword that the model gives it."""

    text: str
    score: float


class Explanation(NamedTuple):
    """A German sentence, its translations, best first, and the weights between words.

    weights: (English words, German words) of the best translation. remark: an honest sentence about a
    text far from the training text, or None.
    """

    sentence: str
    candidates: list[Candidate]
    german: list[str]
    english: list[str]
    weights: np.ndarray
    remark: str | None

    @property
    def translation(self) -> str:
        return self.candidates[0].text


def explain(run: Run, sentence: str, folder: Path, *, beam_size: int) -> Explanation:
    """Translate one sentence and keep what is worth knowing about it.

    folder: of the run, where its known words are.
    beam_size: how many hypotheses are kept and listed.
    """
    hypotheses = run.n_best(sentence, beam_size=beam_size)
    candidates = [Candidate(run.vocabulary.decode(ids), score) for ids, score in hypotheses]
    best = candidates[0].text
    english = run.vocabulary.words(best)
    german = run.vocabulary.words(sentence)
    weights = np.zeros((len(english), len(german)))
    if weights.size:
        weights = run.word_weights([(sentence, best)])[0]
    known_words = KnownWords.load(folder)
    return Explanation(
        sentence=sentence,
        candidates=candidates,
        german=german,
        english=english,
        weights=weights,
        remark=known_words.remark(sentence) if known_words else None,
    )


def draw(explanation: Explanation, width: int = 80) -> str:
    """Return the map as text, in at most `width` columns: English words down, German words across.

    The darker a cell, the more weight. German words that do not fit beside the others follow below.
    """
    longest = max(width // 4, 4)
    english = [_shortened(word, longest) for word in explanation.english]
    german = [_shortened(word, longest) for word in explanation.german]
    margin = max(map(len, english), default=0)
    blocks: list[list[int]] = [[]]
    used = margin
    for column, word in enumerate(german):
        if used + 1 + len(word) > width:
            blocks.append([])
            used = margin
        blocks[-1].append(column)
        used += 1 + len(word)
    return "\n\n".join(
        _block(english, german, explanation.weights, margin, block) for block in blocks
    )


def _shortened(word, longest):
    return word if len(word) <= longest else word[: longest - 1] + "…"


def _block(english, german, weights, margin, columns):
    """Draw some columns of the map; each shade stands for the nearest quarter of the weight."""
    lines = [" ".join(["".rjust(margin), *(german[column] for column in columns)])]
    for word, row in zip(english, weights, strict=True):
        cells = [word.rjust(margin)]
        for column in columns:
            quarters = round(4 * float(row[column]))
            cells.append(SHADES[min(quarters, 4)] * len(german[column]))
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)


def write_page(explanation: Explanation, path: Path) -> None:
    """Write a page with the map and the list of hypotheses."""
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("attn_course.translation", "templates")
    template = Environment(loader=loader, autoescape=True).get_template(TEMPLATE)
    rows = list(zip(explanation.english, explanation.weights.tolist(), strict=True))
    text = template.render(explanation=explanation, rows=rows)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({type(error).__name__}).") from error
