"""What a class misunderstood: mistakes are counted by their name, and nobody is missing."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from classroom import full_record

from attn_course.verdict import State
from attn_grader import insight, pages
from attn_grader.gradebook import Gradebook
from attn_grader.record import Record
from attn_grader.submissions import File

NAME = "01_copying"
SHORT = "the query is too short"
FORMULA = "=1+1; =2"

pytestmark = pytest.mark.usefixtures("questions_with_known_points")


def wrong(record, mistakes):
    """A record in which the first parts are not yet right, each with a mistake of its own or ""."""
    parts = list(record.parts)
    for number, mistake in enumerate(mistakes):
        parts[number] = replace(parts[number], status=State.NOT_YET, points=0, mistake=mistake)
    return replace(record, parts=tuple(parts))


MADE = {"Ann": [SHORT], "Bob": [SHORT, FORMULA], "Cid": ["", FORMULA, ""], "Dan": [SHORT]}


def book_of(record_of=None, students=tuple(MADE)):
    files = [File(student, NAME, Path("nowhere"), f"{NAME}.ipynb") for student in students]
    record_of = record_of or (lambda key: wrong(full_record(key), MADE[key[0]]))
    return Gradebook(list(students), [NAME], files, record_of)


def sheets_of(book):
    return [book.sheet(student) for student in book.students]


def test_mistakes_are_counted_by_part_and_sentence_the_most_frequent_first():
    mistakes = insight.mistakes_of(sheets_of(book_of()))
    assert [(m.sentence, m.count, m.students) for m in mistakes] == [
        (SHORT, 3, ["Ann", "Bob", "Dan"]),
        (FORMULA, 2, ["Bob", "Cid"]),
    ]


def test_a_mistake_is_forgotten_once_a_person_gave_points_for_the_answer():
    book = book_of()
    sheet = book.sheet("Ann")
    sheet.entries[0] = replace(sheet.entries[0], status=State.READ, points=1)
    assert insight.mistakes_of([sheet]) == []


@pytest.mark.parametrize("is_anonymous", [False, True])
def test_mistakes_csv_names_the_students_unless_it_is_anonymous(tmp_path, is_anonymous):
    codes = {student: student[::-1] for student in MADE} if is_anonymous else None
    pages.write(book_of(), tmp_path, counts={}, codes=codes)
    text = (tmp_path / "mistakes.csv").read_text("utf-8")
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["mistake"], first["count"], first["of"]) == (SHORT, "3", "4")
    assert second["mistake"].startswith("'=")
    assert first.get("students") == (None if is_anonymous else "Ann; Bob; Dan")
    assert ("Bob" in text) != is_anonymous


def test_a_class_without_mistakes_has_a_table_without_rows(tmp_path):
    pages.write(book_of(full_record), tmp_path, counts={})
    text = (tmp_path / "mistakes.csv").read_text("utf-8")
    assert text == "question,title,part,mistake,count,of,students\n"


def test_who_made_a_mistake_without_a_name_is_one_click_away_too(tmp_path):
    pages.write(book_of(), tmp_path, counts={})
    page = (tmp_path / "index.html").read_text("utf-8")
    (unnamed,) = re.findall(r"<b>1</b> without a name</summary>(.*?)</details>", page, re.S)[:1]
    assert unnamed.strip() == '<a class="target" href="students/Cid.html#q1-1-code">Cid</a>'


def test_the_histogram_counts_every_student_whose_points_are_known_once():
    def record_of(key):
        return full_record(key) if key[0] != "Dan" else Record(*key, "", problem="it is empty.")

    counts = insight.histogram(sheets_of(book_of(record_of)))
    assert sum(counts) == max(counts) == 3 and len(counts) == 10


def test_the_bars_of_the_histogram_are_as_high_as_the_counts_they_show(tmp_path):
    pages.write(book_of(), tmp_path, counts={})
    page = (tmp_path / "index.html").read_text("utf-8")
    bars = re.findall(r'<b>(\d*)</b><i style="height:(\d+)%"></i><span>(\d+)</span>', page)
    assert [start for *_, start in bars] == [str(10 * k) for k in range(10)]
    counts = insight.histogram(sheets_of(book_of()))
    assert [(count or "0", height) for count, height, _ in bars] == [
        (str(count), f"{100 * count / max(counts):.0f}") for count in counts
    ]


def test_who_handed_in_nothing_or_only_stubs_has_not_begun_and_an_unreadable_file_is_a_beginning():
    def record_of(key):
        if key[0] == "Ann":
            return Record(*key, "", problem="it is empty.")
        record = full_record(key)
        blank = [replace(part, status=State.NOT_ATTEMPTED, points=0) for part in record.parts]
        return replace(record, parts=tuple(blank)) if key[0] == "Bob" else record

    book = book_of(record_of)
    book.students.append("Eve")
    book.files["Eve"] = []
    assert insight.not_begun(sheets_of(book)) == ["Bob", "Eve"]


def test_who_answers_much_and_has_little_right_tries_in_vain(monkeypatch):
    monkeypatch.setattr(insight, "FEWEST_TRIES", 2)  # this notebook has two judged parts
    num_wrong = {"Ann": 2, "Bob": 1}

    def record_of(key):
        return wrong(full_record(key), [""] * num_wrong.get(key[0], 0))

    assert insight.in_vain(sheets_of(book_of(record_of))) == [("Ann", 0, 2)]
