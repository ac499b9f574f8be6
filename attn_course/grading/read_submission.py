"""Reads a submitted notebook or script as plain data, or says in one sentence why it cannot. Runs nothing."""

import codecs
import contextlib
import itertools
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
    remarks: list[str] = []
    if data.startswith(codecs.BOM_UTF8):
        remarks.append("it starts with a byte-order mark.")
    text = _text(data)
    raw: list
    if name.lower().endswith(".py"):
        raw = _script_cells(text)
        read = _script_cell
    else:
        notebook = _parse(text)
        remarks += _kernel_remarks(notebook)
        raw = _raw_cells(notebook)
        read = _cell
    if len(raw) > MAX_CELLS:
        raise UnreadableFile(
            f"it has {len(raw):,} cells; no notebook of the course has {MAX_CELLS:,}."
        )
    cells = [read(number, cell) for number, cell in enumerate(raw, 1)]
    if sum(len(cell.source) for cell in cells if cell.kind == "code") > MAX_CODE:
        raise UnreadableFile(f"it has over {MAX_CODE:,} letters of code.")
    for cell_id, count in Counter(cell.id for cell in cells).items():
        if cell_id and count > 1:
            remarks.append(f"the cell id {cell_id!r} occurs {count} times.")
    return Submission(tuple(cells), tuple(remarks[:MAX_REMARKS]))


def read_bytes(path: Path | str) -> bytes:
    """Return what is in a regular file, unless it is empty or too large; raise UnreadableFile."""
    try:
        with open(path, "rb", opener=_open_plainly) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if os.path.islink(path):
            raise UnreadableFile("it is a link, not a file.") from None
        said = getattr(error, "strerror", None) or error
        raise UnreadableFile(f"it cannot be opened ({said}).") from None
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


def _text(data):
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableFile("it is UTF-16 text; save it as UTF-8.")
    try:
        text = data.decode("utf-8-sig")
        return text.replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(f"it is not UTF-8 text (byte 0x{byte:02x} in line {line}).") from None


def _parse(text):
    """Return the notebook in a JSON text, of which no more is known than its version."""
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise UnreadableFile("its JSON is nested too deeply to be a notebook.") from None
    except json.JSONDecodeError as error:
        rest = text[error.pos :].strip()
        is_cut = not rest or error.msg.startswith("Unterminated")
        what = "its JSON breaks off" if is_cut else "it is not valid JSON"
        raise UnreadableFile(f"{what} (line {error.lineno}, column {error.colno}).") from None
    except ValueError:
        raise UnreadableFile("it is not valid JSON (a number has thousands of digits).") from None
    version = _dictionary(notebook).get("nbformat")
    if not isinstance(version, int):
        raise UnreadableFile("it is JSON, but not a notebook.")
    return notebook


def _raw_cells(notebook):
    """Return the cells of a notebook as JSON has them; those of version 3 are on worksheets."""
    version = notebook["nbformat"]
    if version not in (3, 4):
        age = "newer" if version > 4 else "older"
        raise UnreadableFile(
            f"its format, version {version}, is {age} than the versions read here, 3 and 4."
        )
    sheets = [notebook] if version == 4 else notebook.get("worksheets")
    if not _is_list_of(sheets, dict):
        raise UnreadableFile("it has no list of worksheets.")
    lists = [sheet.get("cells") for sheet in sheets]
    if not _is_list_of(lists, list):
        raise UnreadableFile("it has no list of cells.")
    return list(itertools.chain.from_iterable(lists))


def _is_list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _cell(number, raw):
    raw = _dictionary(raw)
    name = _string(raw.get("cell_type"))
    kind = KINDS.get(name)
    source = raw.get("source", raw.get("input"))  # a code cell of version 3 has the latter
    if _is_list_of(source, str):
        source = "".join(source)
    if kind is None or not isinstance(source, str):
        raise UnreadableFile(f"its cell {number} has no readable text or type.")
    metadata = _dictionary(raw.get("metadata"))
    return _make(number, kind, source, metadata, raw.get("id"), raw.get("attachments"))


def _make(number, kind, source, metadata, cell_id=None, attachments=None):
    nbgrader = _dictionary(metadata.get("nbgrader"))
    name = _string(nbgrader.get("grade_id")) or _string(cell_id)
    marks = {key: _name(metadata[key]) for key in MARKS if isinstance(metadata.get(key), str)}
    return Cell(number, kind, _sound(source), _name(name), marks, _dictionary(attachments))


def _dictionary(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _name(text):
    return _sound(text[:MAX_NAME])


def _sound(text):
    """Return `text` without lone surrogates, which JSON can spell but no file can hold."""
    data = text.encode("utf-8", "replace")
    return data.decode().replace("\r\n", "\n")


def _kernel_remarks(notebook):
    metadata = _dictionary(notebook.get("metadata"))
    kernel = _dictionary(metadata.get("kernelspec"))
    language = _string(kernel.get("language"))
    if not language or language[:6].lower() == "python":
        return []
    shown = _sound(language[:40])
    return [f"its kernel is for {shown!r}; it was run as Python."]


def _script_cells(text):
    """Split a script at its `# %%` or `# In[1]:` markers; one without any is a single code cell."""
    parts = re.split(rf"^(?={MARKER.pattern})", text, flags=re.M)
    pieces = parts[:: 1 + MARKER.groups]  # between them are the groups of the pattern
    head = pieces[0].splitlines()
    if len(pieces) > 1 and all(line[:1] in ("#", "") for line in head):
        del pieces[0]  # remarks, as jupytext writes them on top
    return pieces


def _script_cell(number, piece):
    title = ""
    source = piece
    if marker := MARKER.match(piece):
        title = marker["title"] or ""
        source = piece[marker.end() :].strip("\n")
    kind = "code"
    for other in ("markdown", "raw"):
        if f"[{other}]" in title:
            kind = other
            source = re.sub(r"^# ?", "", source, flags=re.M)
    return _make(number, kind, source, dict(_options(title[:MAX_MARKER])))


def _options(title: str) -> Iterator[tuple[str, Any]]:
    """Yield the `key=value` pairs of a marker that we use; values are JSON, as jupytext writes them."""
    decoder = json.JSONDecoder()
    matches = OPTION.finditer(title)
    for match in itertools.islice(matches, MAX_OPTIONS):
        with contextlib.suppress(ValueError, RecursionError):
            value, _ = decoder.raw_decode(title, match.end())
            yield match[1], value
