"""Turn text that a student wrote into LaTeX which MathJax and KaTeX both show as it was typed.

A formula between dollars is typeset if it uses the small part of LaTeX below; other text is shown as typed.
"""

import itertools
import re
import unicodedata

_LONGEST = 300  # letters that are shown
_OUTSIDE = {letter: f"\\{letter}" for letter in "%#&_${}"} | {
    "\\": "\\backslash ",
    "~": "\\sim ",
    "<": "\\lt ",
    ">": "\\gt ",
}
_INSIDE = {"^": "ˆ", "`": "ˋ"}  # letters of text that look like these
_INVISIBLE = ("Cc", "Cf", "Cn", "Co", "Cs")  # Unicode categories
_JOINERS = "\u200d\ufe0f"  # of which emoji are made
_FORMULA = re.compile(r"\$(?!\s)([^$]+)(?<!\s)\$(?!\d)")  # two prices are no formula

# Formulas: letters, digits, signs, these commands and scripts; {...} is read as one letter, from inside out.
_COMMANDS = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi "
    "varphi chi psi omega Gamma Delta Theta Lambda Sigma Phi Psi Omega ell infty sum prod int exp log ln sin "
    "cos tan max min cdot times div pm le ge leq geq lt gt ne neq approx equiv sim to mapsto in top dots "
    "ldots cdots quad lVert rVert langle rangle forall exists partial"
)
_COMMAND = rf"\\(?:{'|'.join(_COMMANDS.split())})(?![A-Za-z])"
_ATOM = rf"(?:[A-Za-z0-9□]|{_COMMAND}|\\frac\s*□\s*□|\\sqrt\s*□)"
_SCRIPT = rf"\s*(?:[A-Za-z0-9□]|{_COMMAND})"
_SCRIPTS = rf"(?:\s*(?:\^{_SCRIPT}(?:\s*_{_SCRIPT})?|_{_SCRIPT}(?:\s*\^{_SCRIPT})?))"
_SEQUENCE = re.compile(rf"(?:\s|[-+*/=()\[\]|,.:;!<>]|\\[,;]|{_ATOM}{_SCRIPTS}?)*")
_GROUP = re.compile(r"\{([^{}]*)\}")


def is_formula(text: str) -> bool:
    """Return True if both renderers can typeset this text between two dollars."""
    if "□" in text or not text.strip():
        return False
    while "{" in text or "}" in text:
        group = _GROUP.search(text)
        if not group or not _SEQUENCE.fullmatch(group[1]):
            return False
        text = f"{text[: group.start()]}□{text[group.end() :]}"
    return _SEQUENCE.fullmatch(text) is not None


def latex_of(text: str) -> str:
    """Return the text as LaTeX for a line in mathematics mode."""
    words = " ".join(str(text)[:_LONGEST].split())
    pieces = _FORMULA.split(words)
    latex = ""
    for k, piece in enumerate(pieces):
        if k % 2 and is_formula(piece):
            latex += "{" + piece.replace("<", "\\lt ").replace(">", "\\gt ") + "}"
        else:
            latex += _as_typed(f"${piece}$" if k % 2 else piece)
    return latex


def _as_typed(text):
    """Return plain letters inside \\text{...}; letters with a meaning in LaTeX are commands outside it."""
    latex = ""
    for is_outside, letters in itertools.groupby(text, _OUTSIDE.__contains__):
        if is_outside:
            latex += "".join(_OUTSIDE[letter] for letter in letters)
            continue
        latex += r"\text{"
        for letter in letters:
            if letter in _JOINERS or unicodedata.category(letter) not in _INVISIBLE:
                latex += _INSIDE.get(letter, letter)
        latex += "}"
    return latex
