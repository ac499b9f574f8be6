"""Reads a submitted notebook or script as plain data, or says in one sentence why it cannot; runs nothing."""

import contextlib
import itertools
import json
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field

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


class Unreadable(Exception):
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
    marks: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Submission:
    """The cells of one file in order, and remarks on what was odd about it."""

    cells: tuple[Cell, ...]
    remarks: tuple[str, ...] = ()


def read_submission(path, max_bytes=MAX_BYTES):
    """Return the Submission in the .ipynb or .py file at `path`; raise Unreadable."""
    return parse_submission(read_bytes(path, max_bytes), str(path))


def parse_submission(data, name):
    """Return the Submission in the bytes of a file of this `name`; raise Unreadable."""
    remarks = ["it starts with a byte-order mark."] if data.startswith(b"\xef\xbb\xbf") else []
    text = _text(data)
    if name.lower().endswith(".py"):
        cells = _script_cells(text)
    else:
        notebook = _parse(text)
        remarks += _kernel_remarks(notebook)
        cells = [_cell(k, cell) for k, cell in enumerate(_raw_cells(notebook), 1)]
    if sum(len(cell.source) for cell in cells if cell.kind == "code") > MAX_CODE:
        raise Unreadable(f"it has over {MAX_CODE:,} letters of code.")
    ids = Counter(cell.id for cell in cells if cell.id)
    remarks += [f"the cell id {name!r} occurs {n} times." for name, n in ids.items() if n > 1]
    return Submission(tuple(cells), tuple(remarks[:MAX_REMARKS]))


def read_bytes(path, max_bytes=MAX_BYTES):
    """Return what is in a regular file, unless it is empty or too large; raise Unreadable."""
    try:
        with open(path, "rb", opener=_open_plainly) as file:
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        link = os.path.islink(path)
        raise Unreadable("it is a link, not a file." if link else _reason(error)) from None
    if len(data) > max_bytes:
        raise Unreadable(f"it is larger than {max_bytes / (1 << 20):g} MB.")
    if not data.strip():
        raise Unreadable("it is empty.")
    return data


def _open_plainly(path, flags):
    """Open a regular file only: a link may lead anywhere, and a pipe would wait for ever."""
    extra = [getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK")]  # Windows has neither
    handle = os.open(path, flags | extra[0] | extra[1])
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Unreadable("it is not a regular file.")
    return handle


def _reason(error):
    return f"it cannot be opened ({getattr(error, 'strerror', None) or error})."


def _text(data):
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("it is UTF-16 text; save it as UTF-8.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        byte, line = data[error.start], data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"it is not UTF-8 text (byte 0x{byte:02x} in line {line}).") from None


def _parse(text):
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise Unreadable("its JSON is nested too deeply to be a notebook.") from None
    except json.JSONDecodeError as error:
        cut = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        what = "its JSON breaks off" if cut else "it is not valid JSON"
        raise Unreadable(f"{what} (line {error.lineno}, column {error.colno}).") from None
    except ValueError:
        raise Unreadable("it is not valid JSON (a number has thousands of digits).") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise Unreadable("it is JSON, but not a notebook.")
    return notebook


def _raw_cells(notebook):
    version = notebook["nbformat"]
    if version not in (3, 4):
        age = "newer" if version > 4 else "older"
        raise Unreadable(
            f"its format, version {version}, is {age} than the versions read here, 3 and 4."
        )
    sheets = [notebook] if version == 4 else notebook.get("worksheets")
    if not isinstance(sheets, list) or not all(isinstance(sheet, dict) for sheet in sheets):
        raise Unreadable("it has no list of worksheets.")
    lists = [sheet.get("cells") for sheet in sheets]
    if not all(isinstance(cells, list) for cells in lists):
        raise Unreadable("it has no list of cells.")
    cells = [cell for some in lists for cell in some]
    if len(cells) > MAX_CELLS:
        raise Unreadable(
            f"it has {len(cells):,} cells; no notebook of the course has {MAX_CELLS:,}."
        )
    return cells


def _cell(number, raw):
    raw = _dictionary(raw)
    kind = KINDS.get(_string(raw.get("cell_type")))
    source = raw.get("source", raw.get("input"))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if kind is None or not isinstance(source, str):
        raise Unreadable(f"its cell {number} has no readable text or type.")
    return _make(number, kind, source, _dictionary(raw.get("metadata")), raw.get("id"))


def _make(number, kind, source, metadata, cell_id=None):
    nbgrader = _dictionary(metadata.get("nbgrader"))
    grade_id = _string(nbgrader.get("grade_id"))
    name = grade_id or _string(cell_id)
    marks = {}
    for key in MARKS:
        if isinstance(metadata.get(key), str):
            marks[key] = _sound(metadata[key][:MAX_NAME])
    return Cell(number, kind, _sound(source), _sound(name[:MAX_NAME]), marks)


def _dictionary(value):
    return value if isinstance(value, dict) else {}


def _string(value):
    return value if isinstance(value, str) else ""


def _sound(text):
    """Return `text` without lone surrogates, which JSON can spell but no file can hold."""
    return text.encode("utf-8", "replace").decode().replace("\r\n", "\n")


def _kernel_remarks(notebook):
    metadata = _dictionary(notebook.get("metadata"))
    kernel = _dictionary(metadata.get("kernelspec"))
    language = _string(kernel.get("language"))
    if not language or language[:6].lower() == "python":
        return []
    return [f"its kernel is for {_sound(language[:40])!r}; it was run as Python."]


def _script_cells(text):
    """Split a script at its `# %%` or `# In[1]:` markers; one without any is a single code cell."""
    pieces = re.split(rf"^(?={MARKER.pattern})", text, flags=re.M)[:: 1 + MARKER.groups]
    if len(pieces) > MAX_CELLS:
        raise Unreadable(
            f"it has {len(pieces):,} cells; no notebook of the course has {MAX_CELLS:,}."
        )
    if len(pieces) > 1 and all(line[:1] in ("#", "") for line in pieces[0].splitlines()):
        del pieces[0]  # jupytext's header
    return [_script_cell(number, piece) for number, piece in enumerate(pieces, 1)]


def _script_cell(number, piece):
    marker = MARKER.match(piece)
    title = marker["title"] or "" if marker else ""
    source = piece[marker.end() :].strip("\n") if marker else piece
    kind = next((kind for kind in ("markdown", "raw") if f"[{kind}]" in title), "code")
    if kind != "code":
        source = re.sub(r"^# ?", "", source, flags=re.M)
    return _make(number, kind, source, dict(_options(title[:MAX_MARKER])))


def _options(title):
    """Yield the `key=value` pairs of a marker that we use; values are JSON, as jupytext writes them."""
    for match in itertools.islice(OPTION.finditer(title), MAX_OPTIONS):
        with contextlib.suppress(ValueError, RecursionError):
            yield match[1], json.JSONDecoder().raw_decode(title, match.end())[0]
