"""A student's notebook taken over into a new edition: a three-way merge by cell that loses nothing.

Three notebooks go in, as plain data: the one that was released when the student began (`base`), the one that
is released now (`new`), and the student's own (`mine`). One comes out. It needs nothing but the standard
library and the names of cells, so that the browser edition merges with the same code.
"""

import copy
import difflib
import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from attn_course.cell_variables import names_of

Notebook = dict[str, Any]
Fits = Callable[["MatchedCell", "MatchedCell"], bool]
ROLES = ("answer", "check", "written")
MADE_HERE = ("kept-", "changed-")  # how the ids of cells begin that a merge has made
QUESTION = re.compile(r"^### +(\d+\.\d+)\b *(.*)$", re.M)
NUMBER = re.compile(r"(?<![\d.])(\d+\.\d+)(?![\d.]*\d)")  # of a question, or any other
OURS = re.compile(r"solutions/(\d\d_\w+)\.py")  # in the first cell of every released notebook
ALIKE = 0.6  # from this similarity on, two texts are versions of one text
KEPT_PROSE = "*Your version of the cell above, from before the update:*"
KEPT_CODE = "# Your version of the cell above, from before the update:"
REMOVED = "*The course no longer has the cell that you had written into. This is your version:*"
REMOVED_CODE = "# The course no longer has this cell. This is your version:"
CHANGED = "*Question {} has changed. Your answer above is as it was: check it again.*"


class NotANotebook(ValueError):
    """The file is no notebook that can be merged; the message says why."""


@dataclass(eq=False)
class MatchedCell:
    """A cell of one of the three notebooks, with what it is matched by."""

    data: dict[str, Any]
    number: int
    id: str
    kind: str  # "code", "markdown" or "raw"
    source: str
    role: str  # "answer", "check", "written" or ""
    question: str  # the number of the question in whose section it stands
    title: str  # of that question
    defined: frozenset[str] = frozenset()

    @property
    def attachments(self) -> Any:
        return self.data.get("attachments") or {}

    def same_as(self, other: "MatchedCell") -> bool:
        """Return True if both hold the same text and the same pasted pictures."""
        return (
            self.source.strip() == other.source.strip()
            and self.kind == other.kind
            and self.attachments == other.attachments
        )


@dataclass
class Merge:
    """A merged notebook, and what was done."""

    notebook: Notebook
    kept: list[str] = field(default_factory=list)  # questions whose answers were carried
    changed: list[str] = field(default_factory=list)  # of these, questions that the course changed
    # questions that are gone; their answers are kept
    removed: list[str] = field(default_factory=list)
    renumbered: dict[str, str] = field(default_factory=dict)  # of answers: old number, new number
    moved: dict[str, str] = field(default_factory=dict)  # of all questions; "" if one is gone
    num_own_cells: int = 0
    num_notes: int = 0  # cells of ours that the student had written into


def cells_of(notebook: Notebook) -> list[MatchedCell]:
    """Return the cells of a notebook; NotANotebook if it has none that can be read."""
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        reason = "it is not a notebook"
        if isinstance(notebook, dict) and "worksheets" in notebook:
            reason = "its format is older than version 4; open and save it in JupyterLab first"
        raise NotANotebook(f"{reason}.")
    cells = []
    question = title = ""
    for number, data in enumerate(notebook["cells"]):
        source = data.get("source", "") if isinstance(data, dict) else None
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise NotANotebook(f"its cell {number + 1} cannot be read.")
        metadata = data.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        kind = str(data.get("cell_type", "code"))
        if kind == "markdown":
            headings = QUESTION.findall(source)
            if headings:
                question, title = headings[-1]
            elif re.match(r"^##? ", source):
                question = title = ""
        # Colab moves the id of a cell into its metadata.
        cell_id = data.get("id") or metadata.get("id") or ""
        role = next((role for role in ROLES if role in metadata), "")
        if not role and (end := re.fullmatch(r"q\d+-\d+-(\w+)", str(cell_id))):
            role = {"check": "check", "written": "written"}.get(end[1], "answer")
        mark = re.match(r"\d+\.\d+", str(metadata.get(role, ""))) if role else None
        defined = names_of(source).given if kind == "code" else ()
        cells.append(
            MatchedCell(
                data,
                number,
                str(cell_id),
                kind,
                source,
                role,
                mark[0] if mark else question,
                title,
                frozenset(defined),
            )
        )
    return cells


def name_of(notebook: Notebook) -> str:
    """Return which notebook of the course this is, by the remark in its first cells; "" if unknown."""
    for cell in cells_of(notebook)[:3]:
        if match := OURS.search(cell.source):
            return match[1]
    return ""


def _match(
    left: list[MatchedCell], right: list[MatchedCell], is_same: Fits | None = None
) -> dict[MatchedCell, MatchedCell]:
    """Return {cell on the left: the same cell on the right}, found by stricter rules first.

    is_same: whether two cells with one id are versions of one cell; always, if it is not given.
    """
    pairs: dict[MatchedCell, MatchedCell] = {}
    taken: set[MatchedCell] = set()

    def pair_by(key: Callable[[MatchedCell], Any], fits: Fits | None = None) -> None:
        waiting: dict[Any, list[MatchedCell]] = {}
        for cell in right:
            if cell not in taken and key(cell):
                waiting.setdefault(key(cell), []).append(cell)
        for cell in left:
            if cell in pairs or not key(cell):
                continue
            for other in waiting.get(key(cell), ()):
                if other not in taken and (fits is None or fits(cell, other)):
                    pairs[cell] = other
                    taken.add(other)
                    break

    pair_by(lambda cell: (cell.id, cell.source) if cell.id else None)
    pair_by(lambda cell: cell.id, is_same)
    pair_by(lambda cell: (cell.kind, cell.source.strip()) if len(cell.source.strip()) > 1 else None)
    pair_by(
        lambda cell: (cell.role, cell.defined) if cell.role == "answer" and cell.defined else None
    )
    pair_by(lambda cell: (cell.role, cell.title) if cell.role and cell.title else None, _is_kindred)
    pair_by(lambda cell: (cell.kind, cell.title) if QUESTION.search(cell.source) else None)
    return pairs


def _is_same_question(one: MatchedCell, other: MatchedCell) -> bool:
    """Return True if two cells with one id may be versions of each other: a number can be used anew."""
    if not one.role and not QUESTION.search(one.source) and not QUESTION.search(other.source):
        return True
    if one.title == other.title or one.defined & other.defined:
        return True
    return _similarity(one.title, other.title) >= ALIKE


def _is_kindred(one: MatchedCell, other: MatchedCell) -> bool:
    return one.role != "answer" or bool(one.defined & other.defined)


def _similarity(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def match_with_released(
    base: list[MatchedCell], mine: list[MatchedCell]
) -> dict[MatchedCell, MatchedCell]:
    """Return {released cell: the student's version of it}, also where an editor has dropped ids."""
    pairs = _match(base, mine)
    _match_by_names(base, mine, pairs)
    return pairs


def _match_by_names(
    base: list[MatchedCell], mine: list[MatchedCell], pairs: dict[MatchedCell, MatchedCell]
) -> None:
    """Add to `pairs` the cells that lost their ids: an answer is recognised by the names it defines."""
    taken = set(pairs.values())
    free = [cell for cell in mine if cell not in taken]
    for cell in base:
        if cell in pairs:
            continue
        best, most = None, 0.0
        for other in free:
            if cell.role == "answer" and other.kind == "code" and cell.defined:
                alike = len(cell.defined & other.defined) / len(cell.defined)
            elif cell.role == "written" and other.kind == "markdown" and not other.id:
                alike = float(other.question == cell.question and not QUESTION.search(other.source))
            elif not cell.role and not other.id and other.kind == cell.kind:
                alike = _similarity(cell.source, other.source)
                alike = alike if alike >= ALIKE else 0.0
            else:
                continue
            if alike > most:
                best, most = other, alike
        if best:
            pairs[cell] = best
            free.remove(best)


def merge(base: Notebook | None, new: Notebook, mine: Notebook) -> Merge:
    """Return the notebook `new` with the answers, notes and own cells of `mine` in it.

    base: the edition that `mine` began with. Without it, every difference counts as the student's.
    """
    return _Merger(new if base is None else base, new, mine, base is not None).run()


class _Merger:
    """One merge. Our cells stand in the order of the new edition, unless the student has moved some."""

    def __init__(self, base: Notebook, new: Notebook, mine: Notebook, is_base_known: bool):
        self.notebook = mine
        self.new_notebook = new
        self.is_base_known = is_base_known
        self.base, self.new, self.mine = cells_of(base), cells_of(new), cells_of(mine)
        self.new_of = _match(self.base, self.new, _is_same_question)
        self.new_numbers = {b.question: new.question for b, new in self.new_of.items() if b.role}
        # Cells that an update which was stopped half way has brought already.
        still_new = [cell for cell in self.new if cell not in set(self.new_of.values())]
        as_new = {(cell.id, cell.source): cell for cell in still_new}
        self.brought = {}
        for cell in self.mine:
            if (cell.id, cell.source) in as_new:
                self.brought[cell] = as_new.pop((cell.id, cell.source))
        rest = [
            cell
            for cell in self.mine
            if cell not in self.brought and not cell.id.startswith(MADE_HERE)
        ]
        mine_of = match_with_released(self.base, rest)
        self.base_of = {cell: ours for ours, cell in mine_of.items()}
        rest = [cell for cell in rest if cell not in self.base_of]
        self.brought |= {cell: ours for ours, cell in _match(list(as_new.values()), rest).items()}
        self.sources = {cell.source for cell in self.mine}
        self.changed = self._changed_questions()
        self.result = Merge({})
        self.taken: Counter[str] = Counter()

    def _changed_questions(self):
        """Return the numbers of the questions whose text or answer cell the course has changed."""
        old_of = {new: base for base, new in self.new_of.items()}
        changed = set()
        for cell in self.new:
            base = old_of.get(cell)
            if cell.question and base and not self._is_only_renumbered(base, cell):
                changed.add(cell.question)
        return changed

    def _is_only_renumbered(self, base, new):
        """Return True if our two versions of a cell differ in the numbers of questions alone."""
        words, new_words = NUMBER.split(base.source.strip()), NUMBER.split(new.source.strip())
        return len(words) == len(new_words) and all(
            new_word in (word, self.new_numbers.get(word))
            for word, new_word in zip(words, new_words, strict=True)
        )

    def run(self) -> Merge:
        """Merge, and make sure that no text of the student's is missing."""
        outputs = list(self._cells())
        notebook = copy.deepcopy(self.notebook)
        metadata = notebook.get("metadata")
        old_metadata = metadata if isinstance(metadata, dict) else {}
        notebook["metadata"] = {
            **old_metadata,
            **copy.deepcopy(self.new_notebook.get("metadata", {})),
        }
        for key in ("kernelspec", "language_info"):  # as the student's own kernel wrote them
            if key in old_metadata:
                notebook["metadata"][key] = old_metadata[key]
        notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
        notebook["cells"] = outputs
        self.result.notebook = notebook
        self.result.moved = self._moved_questions()
        self._add_missing(outputs)
        return self.result

    def _moved_questions(self):
        """Return {old number: new number}, or "" if the question is gone, where the two differ."""
        numbers: dict[str, str] = {}
        for base in self.base:
            if base.role and base.question:
                new = self.new_of.get(base)
                numbers[base.question] = (new.question if new else "") or numbers.get(
                    base.question, ""
                )
        return {old: new for old, new in numbers.items() if old != new}

    def _add_missing(self, outputs):
        """Append every text of the student's that the rules above should have kept and have not."""
        merged = "\n".join(cell.source for cell in cells_of(self.result.notebook))
        released = {line for cell in [*self.base, *self.new] for line in cell.source.split("\n")}
        for cell in self.mine:
            lines = set(cell.source.split("\n")) - released
            if cell.source.strip() not in merged and not all(line in merged for line in lines):
                outputs.append(
                    self._own(cell, KEPT_CODE if cell.kind == "code" else KEPT_PROSE, "kept")
                )

    def _cells(self) -> Iterator[dict[str, Any]]:
        """Yield the cells of the result, in order."""
        ours_of = {}  # cell of mine: the cell of the new edition that it became
        for cell in self.mine:
            if cell in self.base_of:
                ours_of[cell] = self.new_of.get(self.base_of[cell])
            elif cell in self.brought:
                ours_of[cell] = self.brought[cell]
        mine_of = {ours: cell for cell, ours in ours_of.items() if ours}
        self.ids = {cell.id for cell in self.new}
        deleted = {self.new_of[c] for c in self.base if c in self.new_of} - set(mine_of)
        new_cells = [
            c for c in self.new if c not in mine_of and not self._stays_deleted(c, deleted)
        ]

        numbers = [self.base_of[cell].number for cell in self.mine if cell in self.base_of]
        is_moved = numbers != sorted(numbers)
        if is_moved:
            sequence = _woven(self.mine, new_cells, self.new, mine_of)
        else:
            ours = [cell for cell in self.new if cell in mine_of or cell in set(new_cells)]
            theirs = [cell for cell in self.mine if not ours_of.get(cell)]
            anchors = {cell: ours_of.get(cell) for cell in self.mine}
            sequence = _woven(ours, theirs, self.mine, {k: v for k, v in anchors.items() if v})
        for cell in sequence:
            new = cell if cell in set(self.new) else ours_of.get(cell)
            mine = mine_of.get(new) if new else cell
            yield from self._merged(new, mine)

    def _stays_deleted(self, cell, deleted):
        """Return True for a cell of ours that the student had deleted."""
        return self.is_base_known and cell in deleted

    def _merged(
        self, new: MatchedCell | None, mine: MatchedCell | None
    ) -> Iterator[dict[str, Any]]:
        """Yield what a cell becomes: ours, the student's, or both below each other."""
        if mine is None:
            assert new is not None
            yield self._out(new.data, new.id)
            return
        base = self.base_of.get(mine)
        if new is None:
            if base is None:
                self.result.num_own_cells += 1
                yield self._own(mine)
            elif not mine.same_as(base):
                yield from self._of_removed(base, mine)
            return
        if base is None or mine.same_as(new) or mine.same_as(base):
            is_old = base is not None and mine.same_as(base) and not mine.same_as(new)
            yield self._ours(new, None if is_old else mine)
            return
        self._note_renumbered(base, new)
        if base.same_as(new) or not self.is_base_known:
            self._count(new)
            yield self._ours(new, mine)
        elif new.role in ("answer", "written"):
            self._count(new)
            yield self._ours(new, mine)
            remark = self._changed_question(new)
            if not self._is_only_renumbered(base, new) and remark["source"] not in self.sources:
                yield self._out(remark, f"changed-{new.id}")
        else:
            self.result.num_notes += 1
            yield from self._both(base, new, mine)

    def _count(self, new):
        if new.role in ("answer", "written"):
            if new.question not in self.result.kept:
                self.result.kept.append(new.question)
                if new.question in self.changed:
                    self.result.changed.append(new.question)
        else:
            self.result.num_notes += 1

    def _note_renumbered(self, base, new):
        if base.role and base.question and new.question and base.question != new.question:
            self.result.renumbered[base.question] = new.question

    def _both(self, base, new, mine):
        """Yield one cell with the changes of both if they are code and do not touch, else two cells."""
        if new.kind == mine.kind == "code" and not mine.attachments:
            lines = merged_lines(base.source, new.source, mine.source)
            if lines is not None:
                data = {**new.data, "source": lines}
                yield self._out(data, new.id)
                return
        yield self._ours(new, None)
        label = KEPT_CODE if mine.kind == "code" else KEPT_PROSE
        yield self._own(mine, label, f"kept-{new.id}")

    def _of_removed(self, base, mine):
        """Yield the student's version of a cell that the course no longer has."""
        if base.role and base.question:
            self.result.removed.append(base.question)
        else:
            self.result.num_notes += 1
        label = REMOVED_CODE if mine.kind == "code" else REMOVED
        yield self._own(mine, label, f"kept-{base.id}")

    def _changed_question(self, new):
        """Return the remark below an old answer, with the stub that the course now has."""
        text = CHANGED.format(new.question)
        if new.role == "answer":
            text += f" *The course's cell now begins so:*\n\n```python\n{new.source}\n```"
        return {"cell_type": "markdown", "metadata": {}, "source": text}

    def _ours(self, new: MatchedCell, mine: MatchedCell | None) -> dict[str, Any]:
        """Return our cell with the student's text and outputs in it, or as it is released."""
        if mine is None:
            return self._out(new.data, new.id)
        data = copy.deepcopy(mine.data)
        metadata = data.get("metadata")
        data["metadata"] = {**(metadata if isinstance(metadata, dict) else {})}
        data["metadata"].pop("id", None)
        data["metadata"] |= copy.deepcopy(new.data.get("metadata", {}))
        return self._out(data, new.id)

    def _own(self, mine: MatchedCell, label: str = "", cell_id: str = "") -> dict[str, Any]:
        """Return a cell of the student's, below a label if it stood for one of ours."""
        data = copy.deepcopy(mine.data)
        if label:
            gap = "\n" if mine.kind == "code" else "\n\n"
            data["source"] = f"{label}{gap}{mine.source}"
            data["metadata"] = {}  # it no longer says that it is our cell
        else:
            cell_id = mine.id
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", cell_id) or cell_id in self.ids:
            cell_id = f"own-{hashlib.sha256(mine.source.encode()).hexdigest()[:8]}"
        return self._out(data, cell_id)

    def _out(self, data: dict[str, Any], cell_id: str) -> dict[str, Any]:
        """Return a cell of the result with an id that no other cell has."""
        cell = copy.deepcopy(data)
        self.taken[cell_id] += 1
        count = self.taken[cell_id]
        while count > 1 and self.taken[f"{cell_id[:56]}-{count}"]:
            count += 1
        cell["id"] = cell_id if count == 1 else f"{cell_id[:56]}-{count}"
        if count > 1:
            self.taken[cell["id"]] += 1
        if cell.get("cell_type") == "code":
            cell.setdefault("outputs", [])
            cell.setdefault("execution_count", None)
        if not isinstance(cell.get("metadata"), dict):
            cell["metadata"] = {}
        return cell


def _woven(
    main: list[MatchedCell],
    others: Iterable[MatchedCell],
    order: list[MatchedCell],
    main_of: dict[MatchedCell, MatchedCell],
) -> list[MatchedCell]:
    """Return `main` with each of `others` behind the cell that it follows in `order`.

    main_of: {cell of `order`: the cell of `main` that stands for it}.
    """
    waiting = set(others)
    anchors = set(main)
    behind: dict[MatchedCell | None, list[MatchedCell]] = {}
    last: MatchedCell | None = None
    for cell in order:
        if cell in waiting:
            behind.setdefault(last, []).append(cell)
        else:
            anchor = main_of.get(cell)
            last = anchor if anchor in anchors else last
    sequence = list(behind.get(None, ()))
    for cell in main:
        sequence.append(cell)
        sequence += behind.get(cell, ())
    return sequence


def merged_lines(base: str, new: str, mine: str) -> str | None:
    """Return a text with the changes of both sides; None if they touch the same lines."""
    base_lines = base.split("\n")
    changes: list[tuple[int, int, list[str]]] = []
    for text in (new, mine):
        lines = text.split("\n")
        matcher = difflib.SequenceMatcher(None, base_lines, lines, autojunk=False)
        for tag, start, end, left, right in matcher.get_opcodes():
            change = (start, end, lines[left:right])
            if tag != "equal" and change not in changes:
                changes.append(change)
    changes.sort(key=lambda change: change[:2])
    for (_, end, _), (start, _, _) in itertools.pairwise(changes):
        if start <= end:
            return None
    merged = list(base_lines)
    for start, end, lines in reversed(changes):
        merged[start:end] = lines
    return "\n".join(merged)
