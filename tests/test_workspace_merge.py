"""An update merges by cell: whatever the student and the course did to a notebook, no text is lost."""

import copy
import json
import re
import tempfile
from pathlib import Path

import nbformat
import pytest
from classroom import cell, notebook
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attn_course import atomic_file, course_files
from attn_course.workspace import update
from attn_course.workspace.merge import NotANotebook, merge, merged_lines, name_of

NAME = "01_copying"
ANSWER = "def copy_query(keys, j):\n    return 30 * keys[j]  # mine\n"


def edition():
    """01 as it is released."""
    return notebook(NAME)


def source(found, cell_id):
    return "".join(cell(found, cell_id)["source"])


def sources(found):
    return ["".join(cell["source"]) for cell in found["cells"]]


def ids(found):
    return [cell["id"] for cell in found["cells"]]


def index(found, cell_id):
    return ids(found).index(cell_id)


def markdown(text, cell_id="later"):
    return {"cell_type": "markdown", "id": cell_id, "metadata": {}, "source": text}


def renumbered(found, old, new):
    """The notebook with question `old` called `new`: heading, ids, marks, empty answer."""
    text = nbformat.writes(nbformat.from_dict(found))
    for form in ("{}.{}", "q{}-{}"):
        text = re.sub(rf"(?<![\d.]){re.escape(form.format(*old))}(?!\d)", form.format(*new), text)
    return nbformat.reads(text, 4)


def question_cells(found, number):
    """The cells of the section of a question."""
    cells, inside = [], False
    for each in found["cells"]:
        heading = re.match(r"### (\d+\.\d+)|## ", "".join(each["source"]))
        if heading:
            inside = heading[1] == number
        if inside:
            cells.append(each)
    return cells


def test_an_untouched_notebook_becomes_the_new_edition():
    new = edition()
    cell(new, "notation")["source"] += "\n\nOne more row is coming."
    merged = merge(edition(), new, edition())
    assert sources(merged.notebook) == sources(new) and not merged.kept


def test_answers_are_carried_and_prose_is_renewed():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    cell(mine, "q1-7-written")["source"] = "Because one key wins."
    cell(new, "notation")["source"] = "## Notation\n\nshorter"
    merged = merge(edition(), new, mine)
    assert source(merged.notebook, "q1-4-code") == ANSWER
    assert source(merged.notebook, "q1-7-written") == "Because one key wins."
    assert source(merged.notebook, "notation") == "## Notation\n\nshorter"
    assert merged.kept == ["1.4", "1.7"] and merged.changed == []


def test_own_cells_stay_behind_the_cell_they_followed():
    mine, new = edition(), edition()
    own = markdown("my thoughts", "abc")
    mine["cells"].insert(index(mine, "q1-4-code") + 1, own)
    new["cells"].insert(index(new, "q1-4-code"), markdown("a new remark"))
    merged = merge(edition(), new, mine).notebook
    assert index(merged, "abc") == index(merged, "q1-4-code") + 1
    assert index(merged, "later") == index(merged, "q1-4-code") - 1


def test_prose_of_ours_that_both_changed_is_kept_below_the_new_one():
    mine, new = edition(), edition()
    cell(mine, "notation")["source"] += "\n\nNOTE: t is the size."
    cell(new, "notation")["source"] = "## Notation\n\nshorter"
    merged = merge(edition(), new, mine)
    at = index(merged.notebook, "notation")
    ours, theirs = merged.notebook["cells"][at : at + 2]
    assert ours["source"] == "## Notation\n\nshorter"
    assert theirs["source"].startswith("*Your version of the cell above")
    assert theirs["source"].endswith("NOTE: t is the size.") and merged.num_notes == 1


def test_a_prediction_and_a_change_of_ours_in_one_code_cell_are_merged_line_by_line():
    mine, new = edition(), edition()
    (name,) = [each["id"] for each in mine["cells"] if "for 1, 4, 16" in "".join(each["source"])]
    text = source(mine, name)
    cell(mine, name)["source"] = text.replace("key 0: ...", "key 0: 0.7, 0.9, 1")
    cell(new, name)["source"] = text.replace("(1, 4, 16)", "(1, 4, 16, 64)")
    merged = source(merge(edition(), new, mine).notebook, name)
    assert "0.7, 0.9, 1" in merged and "(1, 4, 16, 64)" in merged


def test_changes_that_touch_are_not_merged_by_lines():
    assert merged_lines("a\nb", "a\nc", "a\nd") is None
    assert merged_lines("a\nb\nc", "x\nb\nc", "a\nb\ny") == "x\nb\ny"
    assert merged_lines("a\nb", "a\nc", "a\nc") == "a\nc"


def test_a_line_ends_at_its_newline_alone_and_other_characters_stay():
    assert (
        merged_lines("a\nb\nc\n", "a\nb\nc\nd\n", "a\x0c1\u2028\nb\nc\n")
        == "a\x0c1\u2028\nb\nc\nd\n"
    )
    assert merged_lines("a\nb\nc\n", "x\nb\nc\n", "a\nb\nc\r\n") == "x\nb\nc\r\n"


def test_a_changed_question_keeps_the_old_answer_and_says_check_it_again():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    stub = source(new, "q1-4-code").replace("keys, j", "keys, j, share")
    cell(new, "q1-4-code")["source"] = stub
    merged = merge(edition(), new, mine)
    at = index(merged.notebook, "q1-4-code")
    assert sources(merged.notebook)[at] == ANSWER and merged.changed == ["1.4"]
    remark = sources(merged.notebook)[at + 1]
    assert "check it again" in remark and stub in remark


def test_a_question_whose_text_changed_is_named_too():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    heading = next(c for c in new["cells"] if "".join(c["source"]).startswith("### 1.4"))
    heading["source"] = "".join(heading["source"]).replace("99%", "95%")
    merged = merge(edition(), new, mine)
    assert source(merged.notebook, "q1-4-code") == ANSWER and merged.changed == ["1.4"]


def test_an_answer_below_another_heading_is_called_by_the_number_it_is_marked_with():
    mine = notebook("06_transformer_attention")
    cell(mine, "q6-7-code")["source"] = "answer = 1"
    at = index(mine, "q6-7-code")
    mine["cells"].insert(at, markdown("## A heading of mine", "mine"))
    new = notebook("06_transformer_attention")
    new["cells"].append(markdown("new"))
    assert merge(notebook("06_transformer_attention"), new, mine).kept == ["6.7"]


def test_a_remark_that_is_added_to_a_question_does_not_change_it():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    new["cells"].insert(index(new, "q1-4-code") + 1, markdown("a remark"))
    assert merge(edition(), new, mine).changed == []


def test_a_renumbered_question_takes_its_answer_along():
    mine = edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    cell(mine, "q1-7-written")["source"] = "Because one key wins."
    moved = edition()
    for old, new in ((7, 8), (6, 7), (5, 6), (4, 5)):
        moved = renumbered(moved, (1, old), (1, new))
    merged = merge(edition(), moved, mine)
    assert source(merged.notebook, "q1-5-code") == ANSWER
    assert source(merged.notebook, "q1-8-written") == "Because one key wins."
    assert {"1.4": "1.5", "1.7": "1.8"}.items() <= merged.renumbered.items()
    assert merged.changed == []


def test_a_text_that_names_other_questions_by_their_new_numbers_has_not_changed():
    mine, old = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    for found in (mine, old):
        heading = next(c for c in found["cells"] if "".join(c["source"]).startswith("### 1.4"))
        heading["source"] = "".join(heading["source"]) + "\n\nCompare 1.3 and 1.5; 0.99 is asked."
    moved = copy.deepcopy(old)
    for before in (7, 6, 5, 4, 3):
        moved = renumbered(moved, (1, before), (1, before + 1))
    assert merge(old, moved, mine).changed == []
    heading = next(c for c in moved["cells"] if "".join(c["source"]).startswith("### 1.5"))
    heading["source"] = heading["source"].replace("0.99 is", "0.95 is")
    assert merge(old, moved, mine).changed == ["1.5"]


def test_the_answer_to_a_question_that_is_gone_stays_in_the_notebook():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    gone = question_cells(new, "1.4")
    new["cells"] = [each for each in new["cells"] if each not in gone]
    merged = merge(edition(), new, mine)
    (text,) = [text for text in sources(merged.notebook) if "# mine" in text]
    assert text.endswith(ANSWER) and text.startswith("# The course no longer has this cell")
    assert merged.removed == ["1.4"]


def test_a_cell_kept_from_a_removed_question_is_not_kept_twice():
    mine, new = edition(), edition()
    heading = next(c for c in mine["cells"] if "".join(c["source"]).startswith("### 1.6"))
    new["cells"] = [each for each in new["cells"] if each["id"] != heading["id"]]
    heading["source"] = "".join(heading["source"]) + "\n\nmy note"
    once = merge(edition(), new, mine).notebook
    assert merge(edition(), new, once).notebook == once


def test_a_number_used_anew_does_not_get_the_answer_to_another_question():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    for each in question_cells(new, "1.4"):
        each["source"] = "".join(each["source"]).replace("copy_query", "longest_key")
        if each["cell_type"] == "markdown":
            each["source"] = "### 1.4 Something else entirely\n\nFind the longest key."
    merged = merge(edition(), new, mine)
    assert "longest_key" in source(merged.notebook, "q1-4-code")
    assert any(text.endswith(ANSWER) for text in sources(merged.notebook))


def test_a_cell_that_the_student_deleted_stays_deleted_and_new_ones_come():
    mine, new = edition(), edition()
    mine["cells"] = [each for each in mine["cells"] if each["id"] != "notation"]
    new["cells"].append(markdown("the end", "the-end"))
    merged = merge(edition(), new, mine).notebook
    assert "notation" not in ids(merged) and ids(merged)[-1] == "the-end"


def test_cells_that_the_student_moved_stay_where_they_are():
    mine, new = edition(), edition()
    mine["cells"].insert(2, mine["cells"].pop(index(mine, "q1-4-code")))
    new["cells"].insert(index(new, "q1-4-code") + 1, markdown("after the stub"))
    merged = merge(edition(), new, mine).notebook
    assert index(merged, "q1-4-code") == 2 and index(merged, "later") == 3


def without_ids(found):
    """As an old editor writes it: no ids, no metadata, sources as lines."""
    for each in found["cells"]:
        del each["id"]
        each["metadata"] = {}
        each["source"] = "".join(each["source"]).splitlines(keepends=True)
    found["nbformat_minor"] = 4
    return found


def as_colab(found):
    """As Colab writes it: the id is in the metadata, with marks of its own."""
    for each in found["cells"]:
        each["metadata"] = {**each["metadata"], "id": each.pop("id"), "colab": {"base_uri": "x"}}
    found["metadata"]["colab"] = {"provenance": []}
    found["nbformat_minor"] = 0
    return found


def as_vs_code(found):
    """As VS Code writes it: a language in each cell, random ids in new cells, other metadata."""
    for each in found["cells"]:
        each["metadata"]["vscode"] = {"languageId": "python"}
    found["metadata"] = {"language_info": {"name": "python", "version": "3.12.1"}}
    return found


@pytest.mark.parametrize("editor", [without_ids, as_colab, as_vs_code])
def test_whatever_editor_wrote_it_answers_find_their_cells(editor):
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    cell(mine, "q1-7-written")["source"] = "Because one key wins."
    mine["cells"].insert(4, {"cell_type": "code", "id": "x1", "metadata": {}, "source": "my = 1"})
    cell(new, "notation")["source"] = "## Notation\n\nshorter"
    merged = merge(edition(), new, editor(mine)).notebook
    assert source(merged, "q1-4-code") == ANSWER
    assert source(merged, "q1-7-written") == "Because one key wins."
    assert source(merged, "notation") == "## Notation\n\nshorter"
    assert len(merged["cells"]) == len(new["cells"]) + 1 and sources(merged)[4] == "my = 1"
    nbformat.validate(nbformat.from_dict(merged))


def test_without_the_released_notebook_every_difference_is_the_students():
    mine, new = edition(), edition()
    cell(mine, "q1-4-code")["source"] = ANSWER
    cell(new, "notation")["source"] = "## Notation\n\nshorter"
    merged = merge(None, new, mine).notebook
    assert source(merged, "q1-4-code") == ANSWER
    assert source(merged, "notation") == source(mine, "notation")


def test_pasted_pictures_and_outputs_stay_with_their_cells():
    mine, new = edition(), edition()
    picture = {"image.png": {"image/png": "AAAA"}}
    cell(mine, "q1-7-written")["attachments"] = picture
    cell(mine, "q1-4-code")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    cell(new, "notation")["source"] = "## Notation\n\nshorter"
    merged = merge(edition(), new, mine).notebook
    assert cell(merged, "q1-7-written")["attachments"] == picture
    assert cell(merged, "q1-4-code")["outputs"]


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        ([], "not a notebook"),
        ({"cells": 3}, "not a notebook"),
        ({"worksheets": []}, "older than version 4"),
        ({"cells": [{"cell_type": "code", "source": 7}]}, "cell 1 cannot be read"),
        ({"cells": ["text"]}, "cell 1 cannot be read"),
    ],
)
def test_what_is_no_notebook_is_refused_with_the_reason(found, reason):
    with pytest.raises(NotANotebook, match=reason):
        merge(edition(), edition(), found)


def test_a_notebook_tells_its_name_whatever_its_file_is_called():
    assert name_of(edition()) == NAME and name_of({"cells": []}) == ""


# Any character that a file can hold: also those that end a line for str.splitlines alone.
WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
EDITS = """append prepend insert-inside replace own-cell delete move copy split join
no-id same-id no-metadata other-type picture""".split()
EDIT = st.tuples(st.sampled_from(EDITS), st.integers(0, 99), WORDS)
CHANGE = st.tuples(
    st.sampled_from("prose stub insert delete move renumber reuse".split()), st.integers(0, 99)
)


def edited(notebook, edits):
    """The notebook after a student's edits."""
    for number, (what, position, word) in enumerate(edits):
        cells = notebook["cells"]
        if not cells:
            break
        at = position % len(cells)
        each = cells[at]
        text = "".join(each["source"])
        middle = position * 7 % (len(text) + 1)
        match what:
            case "append":
                each["source"] = f"{text}\n{word}"
            case "prepend":
                each["source"] = f"{word}\n{text}"
            case "insert-inside":
                each["source"] = text[:middle] + word + text[middle:]
            case "replace":
                each["source"] = word
            case "own-cell":
                cells.insert(at, markdown(word, f"own-cell-{number}"))
            case "delete":
                del cells[at]
            case "move":
                cells.insert((at * 7) % len(cells), cells.pop(at))
            case "copy":
                cells.insert(at, copy.deepcopy(each))
            case "split":  # the first half keeps the id, as in JupyterLab
                each["source"] = text[:middle]
                cells.insert(at + 1, {**copy.deepcopy(each), "id": f"half-{number}"})
                cells[at + 1]["source"] = text[middle:]
            case "join" if at + 1 < len(cells):
                each["source"] = f"{text}\n{''.join(cells.pop(at + 1)['source'])}"
            case "no-id":
                each.pop("id", None)
            case "same-id":
                each["id"] = cells[at - 1].get("id", "x")
            case "no-metadata":
                each["metadata"] = {}
            case "other-type":  # JupyterLab drops these then
                each["cell_type"] = "code" if each["cell_type"] == "markdown" else "markdown"
                for key in ("attachments", "outputs", "execution_count"):
                    each.pop(key, None)
            case "picture" if each["cell_type"] == "markdown":
                each["attachments"] = {"image.png": {"image/png": word}}
    return notebook


def lost(mine, ours, merged):
    """The texts and pictures of `mine` that are not of `ours`, the editions before, and not in `merged`.

    A cell is kept if its whole text stands in one cell of the result. Where the course has changed a code
    cell, too, the student's lines of it must stand in one cell, each of them and in their order.
    """
    released = {text.strip() for found in ours for text in sources(found)}
    released_lines = {line for text in released for line in text.split("\n")}
    results = sources(merged)
    pictures = [each.get("attachments") for each in merged["cells"]]
    for each in mine["cells"]:
        text = "".join(each["source"])
        if each.get("attachments") and each["attachments"] not in pictures:
            yield each["attachments"]
        if text.strip() in released or any(text in result for result in results):
            continue
        own_lines = [line for line in text.split("\n") if line not in released_lines]
        if not any(is_subsequence(own_lines, result.split("\n")) for result in results):
            yield text


def is_subsequence(lines, others):
    """True if `others` has all the lines in this order."""
    rest = iter(others)
    return all(line in rest for line in lines)


def changed(found, changes):
    """The notebook as a later edition has it."""
    for number, (what, place) in enumerate(changes):
        cells = found["cells"]
        at = place % len(cells)
        each = cells[at]
        match what:
            case "prose" | "stub":
                each["source"] = "".join(each["source"]) + f"\nedition {number}"
            case "insert":
                cells.insert(at, markdown(f"new, {number}", f"new-{number}-{len(cells)}"))
            case "delete" if len(cells) > 3:
                del cells[at]
            case "move":
                cells.insert((at * 5) % len(cells), cells.pop(at))
            case "renumber":
                found = renumbered(found, (1, 7), (1, 9))
            case "reuse":
                each["source"] = f"something else {number}"
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(EDIT, max_size=12),
    st.lists(CHANGE, max_size=8),
    st.lists(EDIT, max_size=6),
    st.lists(CHANGE, max_size=5),
)
def test_through_two_updates_no_character_of_the_student_is_lost(edits, changes, later, more):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        released, home = Path(folder, f"{NAME}.ipynb"), Path(folder, "mine")
        patch.setattr(course_files, "released_notebooks", lambda: {NAME: released})
        patch.setattr(atomic_file.os, "fsync", lambda handle: None)  # the power does not fail here
        editions = [edition()]
        released.write_text(json.dumps(editions[0]), "utf-8")
        update.init_folder(home)
        path = home / f"{NAME}.ipynb"
        for student, course in ((edits, changes), (later, more)):
            mine = edited(json.loads(path.read_text("utf-8")), student)
            path.write_text(json.dumps(mine), "utf-8")
            editions.append(changed(copy.deepcopy(editions[-1]), course))
            released.write_text(json.dumps(editions[-1]), "utf-8")
            update.apply_updates(home, update.planned_updates(home))
            merged = json.loads(path.read_text("utf-8"))
            assert not list(lost(mine, editions, merged))
            if editions[-1] != editions[-2]:
                nbformat.validate(nbformat.from_dict(merged))
                assert len(set(ids(merged))) == len(ids(merged))
            # An update that was stopped between its two files merges the merged notebook again.
            resumed = merge(editions[-2], editions[-1], merged).notebook
            assert not list(lost(mine, editions, resumed))
