"""A submission as plain data: from bytes to cells, which cells hold each answer, and which ones must run.

Everything here is a stranger's text. Nothing of it runs.
"""

import ast
import base64
import binascii
import builtins
import codecs
import contextlib
import hashlib
import itertools
import json
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attn_course.cell_variables import begun, names_of, with_what_they_use
from attn_course.course_files import released_notebooks
from attn_course.magics import parsed
from attn_course.markers import EMPTY
from attn_course.register import Part, Question, notebook_numbered, questions_of

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


MAX_BYTES = 50 << 20
MAX_CELLS = 2_000
MAX_CODE = 300_000  # letters in all code cells
KINDS = {"code": "code", "markdown": "markdown", "raw": "raw", "heading": "markdown"}
MARKS = ("answer", "check", "written", "rubric")
# A cell of jupytext's or an editor's script, or of one that Jupyter's export made.
# Patterns are tried on foreign text: each takes time in proportion to it.
MARKER = re.compile(r"#[ \t]*(?:%%+(?P<title>[^\n]*)|In\[[ \d]*\]:[ \t]*$)", re.M)
OPTION = re.compile(rf"(?<!\w)({'|'.join(MARKS)}|nbgrader)=")
MAX_MARKER = 1_000  # letters of a marker that are looked at
MAX_OPTIONS = 10
MAX_REMARKS = 20
MAX_NAME = 100  # letters of an id or a mark


class UnreadableFile(Exception):
    """A file that is not a submission; the text is one sentence."""


@dataclass(frozen=True)
class Cell:
    """One cell: its place from 1, "code", "markdown" or "raw", its text, and what it calls itself.

    `id` is nbgrader's `grade_id` or the notebook's cell id; `marks` says for which question a cell
    claims to be the answer, the check or the written part. All of it is the student's word.
    """

    number: int
    kind: str
    source: str
    id: str = ""
    marks: dict[str, str] = field(default_factory=dict)
    attachments: dict[str, Any] = field(default_factory=dict)  # pictures, as Jupyter keeps them


@dataclass(frozen=True)
class Submission:
    """The cells of one file in order, and remarks on what was odd about it."""

    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()


def read_submission(path: Path | str) -> Submission:
    """Return the Submission in the .ipynb or .py file at `path`; raise UnreadableFile."""
    return parse_submission(read_bytes(path), str(path))


def parse_submission(data: bytes, name: str) -> Submission:
    """Return the Submission in the bytes of a file of this `name`; raise UnreadableFile."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableFile("it is UTF-16 text; save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(f"it is not UTF-8 text (byte 0x{byte:02x} in line {line}).") from None
    remarks: list[str] = []
    if data.startswith(codecs.BOM_UTF8):
        remarks.append("it starts with a byte-order mark.")
    if name.lower().endswith(".py"):
        cells = _cells_of_script(text)
    else:
        notebook = _parsed_json(text)
        cells = _cells_of_notebook(notebook)
        kernel = _dictionary(_dictionary(notebook.get("metadata")).get("kernelspec"))
        language = _string(kernel.get("language"))
        if language and language[:6].lower() != "python":
            remarks.append(f"its kernel is for {_sound(language[:40])!r}; it was run as Python.")
    if sum(len(cell.source) for cell in cells if cell.kind == "code") > MAX_CODE:
        raise UnreadableFile(f"it has over {MAX_CODE:,} letters of code.")
    for cell_id, count in Counter(cell.id for cell in cells).items():
        if cell_id and count > 1:
            remarks.append(f"the cell id {cell_id!r} occurs {count} times.")
    return Submission(tuple(cells), tuple(remarks[:MAX_REMARKS]))


def notebook_by_cells(cells: Iterable[Cell]) -> str:
    """Return the notebook to which most cells say they belong, "" where no two cells agree on one.

    A cell says so by its id, by its marks, or by the heading of a question.
    """
    votes: Counter[str] = Counter()
    for cell in cells:
        numbers = set(re.findall(r"^q(\d+)-\d+-", cell.id))
        numbers |= {mark.partition(".")[0] for mark in cell.marks.values()}
        if cell.kind == "markdown":
            numbers |= set(re.findall(r"^#+ +(\d+)\.\d+\b", cell.source, re.M))
        votes.update(notebook_numbered(number) or "" for number in numbers)
    votes.pop("", None)
    (winner, most), (_, second) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    return winner if most > max(second, 1) else ""


@cache
def handed_out(name: str) -> frozenset[str]:
    """Return the texts of a notebook's cells as students get them; none where notebooks are not here."""
    return frozenset(cell.source.strip() for cell in handed_out_cells(name))


def handed_out_cells(name: str) -> tuple[Cell, ...]:
    """Return the cells of a notebook as students get it; none where notebooks are not on this machine."""
    path = released_notebooks().get(name)
    try:
        return read_submission(path).cells if path else ()
    except UnreadableFile:
        return ()


def forget_texts() -> None:
    """Forget the cells that were parsed; they are kept by their text, most of which all students have."""
    names_of.cache_clear()
    parsed.cache_clear()


def own_texts(path: Path, name: str) -> list[str] | None:
    """Return the texts of the cells of a notebook that a student wrote or changed; None if it is damaged."""
    try:
        cells = read_submission(path).cells
    except UnreadableFile:
        return None
    return [cell.source.strip() for cell in cells if is_changed(cell, handed_out(name))]


def read_bytes(path: Path | str) -> bytes:
    """Return what is in a regular file, unless it is empty or too large; raise UnreadableFile."""
    try:
        with open(path, "rb", opener=_open_plainly) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if os.path.islink(path):
            raise UnreadableFile("it is a link, not a file.") from None
        reason = getattr(error, "strerror", None) or error
        raise UnreadableFile(f"it cannot be opened ({reason}).") from None
    if len(data) > MAX_BYTES:
        raise UnreadableFile(f"it is larger than {MAX_BYTES >> 20} MB.")
    if not data.strip():
        raise UnreadableFile("it is empty.")
    return data


def _open_plainly(path, flags):
    """Open a regular file only: a link may lead anywhere, and a pipe would wait for ever."""
    for name in ("O_NOFOLLOW", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)  # Windows has neither
    handle = os.open(path, flags)
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise UnreadableFile("it is not a regular file.")
    return handle


def _parsed_json(text):
    """Return the notebook in a JSON text, of which no more is sure than its version."""
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise UnreadableFile("its JSON is nested too deeply to be a notebook.") from None
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        is_cut = not rest or error.msg.startswith("Unterminated")
        fault = "its JSON breaks off" if is_cut else "it is not valid JSON"
        raise UnreadableFile(f"{fault} (line {error.lineno}, column {error.colno}).") from None
    except ValueError:
        raise UnreadableFile("it is not valid JSON (a number has thousands of digits).") from None
    version = _dictionary(notebook).get("nbformat")
    if not isinstance(version, int):
        raise UnreadableFile("it is JSON, but not a notebook.")
    if version not in (3, 4):
        age = "newer" if version > 4 else "older"
        raise UnreadableFile(
            f"its format, version {version}, is {age} than the versions read here, 3 and 4."
        )
    return notebook


def _cells_of_notebook(notebook):
    """Return the cells of a notebook; those of version 3 are on worksheets."""
    sheets = [notebook] if notebook["nbformat"] == 4 else notebook.get("worksheets")
    if not _is_list_of(sheets, dict):
        raise UnreadableFile("it has no list of worksheets.")
    lists = [sheet.get("cells") for sheet in sheets]
    if not _is_list_of(lists, list):
        raise UnreadableFile("it has no list of cells.")
    entries = list(map(_dictionary, itertools.chain.from_iterable(lists)))
    _refuse_too_many(entries)
    cells = []
    for number, entry in enumerate(entries, 1):
        kind = KINDS.get(_string(entry.get("cell_type")))
        source: Any = entry.get("source", entry.get("input"))  # the latter in version 3
        if _is_list_of(source, str):
            source = "".join(source)
        if kind is None or not isinstance(source, str):
            raise UnreadableFile(f"its cell {number} has no readable text or type.")
        metadata = _dictionary(entry.get("metadata"))
        nbgrader = _dictionary(metadata.get("nbgrader"))
        cell_id = _string(nbgrader.get("grade_id")) or _string(entry.get("id"))
        attachments = _dictionary(entry.get("attachments"))
        cells.append(_cell(number, kind, source, cell_id, metadata, attachments))
    return cells


def _cells_of_script(text):
    """Split a script at its `# %%` or `# In[1]:` markers; one without any is a single code cell.

    A marker has `key=value` options, whose values are JSON, as jupytext writes them.
    """
    parts = re.split(rf"^(?={MARKER.pattern})", text, flags=re.M)
    pieces = parts[:: 1 + MARKER.groups]  # between them are the groups of the pattern
    head = pieces[0].splitlines()
    if len(pieces) > 1 and all(line[:1] in ("#", "") for line in head):
        del pieces[0]  # remarks, as jupytext writes them on top
    _refuse_too_many(pieces)
    decoder = json.JSONDecoder()
    cells = []
    for number, source in enumerate(pieces, 1):
        title = ""
        if marker := MARKER.match(source):
            title = marker["title"] or ""
            source = source[marker.end() :].strip("\n")
        kind = "code"
        for other in ("markdown", "raw"):
            if f"[{other}]" in title:
                kind = other
                source = re.sub(r"^# ?", "", source, flags=re.M)
        title = title[:MAX_MARKER]
        options = {}
        for match in itertools.islice(OPTION.finditer(title), MAX_OPTIONS):
            with contextlib.suppress(ValueError, RecursionError):
                options[match[1]], _ = decoder.raw_decode(title, match.end())
        cell_id = _string(_dictionary(options.get("nbgrader")).get("grade_id"))
        cells.append(_cell(number, kind, source, cell_id, options, {}))
    return cells


def _refuse_too_many(entries):
    if len(entries) > MAX_CELLS:
        raise UnreadableFile(
            f"it has {len(entries):,} cells; no notebook of the course has {MAX_CELLS:,}."
        )


def _cell(number, kind, source, cell_id, metadata, attachments):
    marks = {key: metadata[key] for key in MARKS if isinstance(metadata.get(key), str)}
    marks = {key: _sound(text[:MAX_NAME]) for key, text in marks.items()}
    return Cell(number, kind, _sound(source), _sound(cell_id[:MAX_NAME]), marks, attachments)


def _is_list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _dictionary(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _sound(text):
    """Return `text` without lone surrogates, which JSON can spell but no file can hold."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n")


Cells = Sequence[Cell]

FRONT_END = ("display", "get_ipython", "input", "exit", "quit")  # names it gives
HISTORY = re.compile(r"In|Out|_{1,3}|_i{1,3}|_i?\d+")  # names by which it keeps what ran before
NAMING_MAGIC = re.compile(r"^[ \t]*(%(?:run|pylab|store))\b", re.M)
# A magic whose value gets a name, and one that sets what a program reads.
VALUE_MAGIC = re.compile(r"^[ \t]*\w[\w, ]*=[ \t]*([%!]\w+)", re.M)
ENVIRONMENT_MAGIC = re.compile(r"^[ \t]*(%(?:set_)?env)\b", re.M)
READS_ENVIRONMENT = re.compile(r"environ|getenv")
WORD = re.compile(r"\w+")

HEADING = re.compile(r"^#+ +(.*)$", re.M)
NO_LETTER = re.compile(r"[^a-z0-9]+")
QUESTION = re.compile(r"^#+ +(\d+\.\d+)\b", re.M)


def cells_of(cells: Cells, question: Question, part: Part) -> list[Cell]:
    """Return the cells that say they answer this part, and those that define what it asks for."""
    empty = EMPTY.format(question.id)
    own = []
    for cell in cells:
        is_it = empty in cell.source if part.kind == "written" else _defines(cell, part)
        if is_it or _claims(cell, question, part):
            own.append(cell)
    return own


def _defines(cell, part):
    """Return True if a cell that may run defines what a part asks for."""
    return _may_run(cell) and not names_of(cell.source).given.isdisjoint(part.answers)


def _claims(cell, question, part):
    """Return True if a cell says, by its id or its marks, that it answers this part."""
    dashed = question.id.replace(".", "-")
    role = "written" if part.kind == "written" else "answer"
    claimed = cell.marks.get(role) in (question.id, f"{question.id} {part.kind}")
    return claimed or cell.id == f"q{dashed}-{part.kind}"


def near_code(
    cells: Cells, question: Question, part: Part, handed_out: Collection[str] = ()
) -> list[Cell]:
    """Return the cells that never run and may hold what this part asks for, or what its answer needs.

    These are texts that define such a name, and the answer's own cell where it gives another name
    than the one asked for. handed_out: the texts of the cells as students get them.
    """
    changed = [cell for cell in cells if is_changed(cell, handed_out)]
    own = []
    if not any(_defines(cell, part) for cell in cells):
        own = [cell for cell in changed if _claims(cell, question, part)]
    never_run = [cell for cell in changed if _is_text(cell) and _given(cell)]
    if not never_run:
        return own
    defined: set[str] = set()
    used: set[str] = set()
    for source in cells_to_run(cells, [question]).values():
        names = names_of(source)
        defined |= names.given
        used |= names.used | names.used_later
    missing = used - defined | set(part.answers)
    near = [cell for cell in never_run if not _given(cell).isdisjoint(missing)]
    return own + [cell for cell in near if cell not in own]


def _given(cell):
    """Return the names that a cell gives a meaning; only the beginning of a text is read."""
    if cell.kind == "code":
        return names_of(cell.source).given
    return begun(cell.source[:LONGEST_ANSWER])


def near_words(cells: Cells, question: Question, handed_out: Collection[str] = ()) -> list[Cell]:
    """Return the text that may be the answer to a written question whose own cell is empty.

    It is text of the student's in the section of the question, else anywhere but in the section of
    another written question: cells of their own, our cells with more in them, comments in code.
    """
    written = set()
    for other in questions_of(question.notebook):
        written |= {other.id for part in other.parts if part.kind == "written"}
    lines = {line.strip() for text in handed_out for line in text.splitlines()}
    section = ""
    inside = []
    elsewhere = []
    for cell in cells:
        is_new = is_changed(cell, handed_out)
        if cell.kind != "code":
            titles = QUESTION.findall(cell.source)
            if titles:
                section = titles[-1]
            elif not is_new and HEADING.match(cell.source):
                section = ""
        is_here = section == question.id
        if not is_new or "written" in cell.marks or cell.id.endswith("-written"):
            continue
        if cell.kind == "code" and not _has_words(cell, question, is_here, lines):
            continue
        if is_here:
            inside.append(cell)
        elif section not in written:
            elsewhere.append(cell)
    return inside or elsewhere


def _has_words(cell, question, is_here, lines_of_ours):
    """Return True if a code cell may answer a question in words, by comments that are not ours."""
    is_answer = "answer" in cell.marks or cell.id.endswith(("-code", "-derive"))
    if not is_answer and _is_words(cell.source):
        return True
    lines = [line.strip() for line in cell.source.splitlines()]
    comments = [line for line in lines if line.startswith("#") and line not in lines_of_ours]
    return any(is_here or question.id in comment for comment in comments)


def is_changed(cell, handed_out):
    """Return True if the student changed a cell; an unchanged one has a text of ours.

    Where the notebook as handed out is not at hand, ids that the course makes tell.
    """
    text = cell.source.strip()
    if not text or handed_out:
        return bool(text) and text not in handed_out
    names = [NO_LETTER.sub("-", title.lower()).strip("-")[:40] for title in HEADING.findall(text)]
    return not re.match(r"(markdown|code)-[0-9a-f]{8}", cell.id) and cell.id not in names


def _is_words(source):
    """Return True if a code cell holds only comments and texts, or is not Python and defines nothing."""
    python = parsed(source)
    if python is None:
        return not names_of(source).given
    for nodes in python.statements:
        match nodes[0]:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
        return False
    return True


def text_of(cells: Cells, question: Question) -> str:
    """Return what a person reads as the answer; "" where the cell is as it was handed out."""
    empty = EMPTY.format(question.id)
    texts = [cell.source[:LONGEST_ANSWER].replace(empty, "").strip() for cell in cells]
    return as_answer("\n\n".join(filter(None, texts)))


def is_check(cell: Cell) -> bool:
    """Return True if a cell says it is a check: it runs only where an answer without it is not correct."""
    return "check" in cell.marks or cell.id.endswith("-check")


def cells_to_run(
    cells: Cells,
    questions: Iterable[Question],
    everything: bool = False,
    also: Collection[Cell] = (),
) -> dict[int, str]:
    """Return {number: source} of the cells that the answers need, in their order.

    These are the answer cells, and every cell that defines a name which one of these uses: before
    it, or anywhere if the name is used in a function, which runs later. Figures and training are
    therefore left out unless an answer uses what they make. also: cells, check cells among them, that
    are to run with all that they use.
    """
    code = [cell for cell in cells if _may_run(cell) or cell in also]
    sources = {cell.number: cell.source for cell in code}
    if everything:
        return sources
    names = {number: names_of(source) for number, source in sources.items()}
    chosen = {cell.number for cell in also}
    for question in questions:
        for part in question.parts:
            if part.judge:
                chosen.update(cell.number for cell in cells_of(code, question, part))
    needed = with_what_they_use(chosen, names)
    return {number: source for number, source in sources.items() if number in needed}


def as_it_stood(cells: Cells, question: Question, part: Part) -> dict[int, str]:
    """Return {number: source} of the cells that an answer needs up to its own one, where its check ran.

    Empty unless a cell below gives another meaning to the answer or to a name that its functions use.
    """
    own = [cell for cell in cells_of(cells, question, part) if _may_run(cell)]
    if not own:
        return {}
    end = next((cell for cell in own if _claims(cell, question, part)), own[0]).number
    sources = cells_to_run(cells, [replace(question, parts=(part,))])
    used = set(part.answers)
    below: set[str] = set()
    for number, source in sources.items():
        if number <= end:
            used |= names_of(source).used_later
        else:
            below |= names_of(source).defined
    return {} if used.isdisjoint(below) else {n: sources[n] for n in sources if n <= end}


def left_out(cells: Cells, run: Collection[int], handed_out: Collection[str]) -> list[Cell]:
    """Return the code cells that a student changed, that do something, and that are not among those run."""
    return [
        cell
        for cell in cells
        if not _is_text(cell)
        and cell.number not in run
        and is_changed(cell, handed_out)
        and not _is_words(cell.source)
    ]


def missing_packages(sources: Iterable[str]) -> list[str]:
    """Return the packages that these cells import and use, and that are not installed here."""
    sources = list(sources)
    used: set[str] = set()
    for source in sources:
        names = names_of(source)
        used |= names.used | names.used_later
    missing = set()
    for source in sources:
        cell = parsed(source)
        for nodes in cell.statements if cell else ():
            for index, node in enumerate(nodes):
                for package, name in _imported(node):
                    is_used = (
                        index > 0 or name in used
                    )  # an import in a function is for that function
                    if is_used and not _is_installed(package):
                        missing.add(package)
    return sorted(missing)


def magics_behind(cells: Cells, sources: Iterable[str]) -> list[str]:
    """Return the magics that may give what these sources use and no cell gives; none is run here.

    Such are `%run`, `%pylab`, `%store`, and a cell in another language that has the name in its text; a
    magic whose value gets a name; `%env` where the environment is read. The names by which Jupyter keeps
    what ran before, such as `Out`, are returned too.
    """
    sources = list(sources)
    code = [cell.source for cell in cells if _may_run(cell)]
    magics = {magic for source in sources for magic in VALUE_MAGIC.findall(source)}
    if any(map(READS_ENVIRONMENT.search, sources)):
        magics |= {magic for source in code for magic in ENVIRONMENT_MAGIC.findall(source)}
    if unknown := unknown_names(cells, sources):
        magics |= set(filter(HISTORY.fullmatch, unknown))
        for source in code:
            if not _is_foreign(source):
                magics.update(NAMING_MAGIC.findall(source))
            elif not unknown.isdisjoint(WORD.findall(source)):
                magics.add(source.split(None, 1)[0])
    return sorted(magics)


def unknown_names(cells: Cells, sources: Iterable[str]) -> set[str]:
    """Return the names that these sources use, and that neither Python nor a cell that may run gives."""
    defined = {*vars(builtins), *FRONT_END}
    for cell in cells:
        if _may_run(cell) and not _is_foreign(cell.source):
            defined |= names_of(cell.source).given
    unknown: set[str] = set()
    for source in sources:
        names = names_of(source)
        unknown |= (names.used | names.used_later) - defined
    return unknown


def _is_foreign(source):
    """Return True for a cell in another language, by a magic on top."""
    python = parsed(source)
    return bool(python and not python.statements and source.lstrip().startswith("%%"))


def _imported(node):
    """Return [(package, the name it is given)] of an import, nothing of any other statement."""
    match node:
        case ast.Import():
            names = [(alias.name, alias.asname or alias.name) for alias in node.names]
        case ast.ImportFrom(module=str(module), level=0):
            names = [(module, alias.asname or alias.name) for alias in node.names]
        case _:
            return []
    return [(module.partition(".")[0], name.partition(".")[0]) for module, name in names]


@cache
def _is_installed(package):
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # a module that runs now, such as __main__
        return package in sys.modules


def _may_run(cell):
    return not _is_text(cell) and not is_check(cell)


def _is_text(cell):
    """Return True for a cell that is never run: words, or code that says it is a written answer."""
    return cell.kind != "code" or "written" in cell.marks


MAX_IMAGE = 5 << 20  # bytes, as many as the photo of a phone has
MAX_IMAGES = 4  # in one answer
# How the pictures begin that are shown; what else a file claims to be, a browser is never told.
IMAGE_KINDS = {"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}


def images_of(cells: Iterable[Cell]) -> dict[str, str]:
    """Return {address in the answer: data of a PNG or JPEG} of the cells of a written answer.

    Jupyter keeps pictures beside the text of a cell, Colab inside it. Anything else is left out.
    """
    images: dict[str, str] = {}
    for cell in cells:
        for address, text in _pasted(cell):
            if len(images) == MAX_IMAGES:
                return images
            data = b"" if address in images else _decoded(text)
            kind = _image_kind(data)
            if kind and len(data) <= MAX_IMAGE:
                images[address] = f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    return images


def _pasted(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (address, base64 text) of what a cell holds besides its words."""
    for match in PASTED.finditer(cell.source):
        yield short_address(match), match[0].partition(",")[2]
    for name, kinds in cell.attachments.items():
        for text in kinds.values() if isinstance(kinds, dict) else ():
            if isinstance(text, str):
                yield f"attachment:{name}", text


def _decoded(text):
    """Return the bytes in a base64 text, none where it is no such text or too long for a picture."""
    with contextlib.suppress(binascii.Error, ValueError):
        return base64.b64decode(re.sub(r"\s", "", text[: 2 * MAX_IMAGE]), validate=True)
    return b""


def _image_kind(data):
    """Return "png" or "jpeg" for bytes that begin as such a picture does, else an empty text."""
    return next((kind for kind, begin in IMAGE_KINDS.items() if data.startswith(begin)), "")


def digests_of(images: dict[str, str]) -> list[str]:
    """Return short names of pictures, others as soon as one is another."""
    return [hashlib.sha256(uri.encode()).hexdigest()[:16] for _, uri in sorted(images.items())]
