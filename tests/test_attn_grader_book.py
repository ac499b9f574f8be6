"""What stands in the gradebook: blanks, bonus, marks that stay true, lateness, files for an LMS."""

import base64
import json
import os
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from classroom import full_record
from course import machine_points

from attn_course import register
from attn_course.errors import UserError
from attn_course.verdict import State
from attn_grader import exports, pages, roster, written_marks
from attn_grader.collect import Collected
from attn_grader.copies import alike_pairs
from attn_grader.gradebook import Gradebook, Sheet
from attn_grader.lms import LMS
from attn_grader.record import Record
from attn_grader.references import Reference
from attn_grader.spreadsheet import FORMULA, csv_text, guarded, read_rows, unguarded
from attn_grader.submissions import File
from attn_grader.written_marks import ManualMark

PROPER = "01_copying"
EXTRA = "02_average_of_two"
BOTH = [PROPER, EXTRA]
ANSWER = "The score leads all others by a clear difference, so that one weight is almost one."

pytestmark = pytest.mark.usefixtures("questions_with_known_points")


def answering(text, texts=()):
    """Records of students who all answer so, or as `texts` has it: {student: answer}."""
    return lambda key: full_record(key, dict(texts).get(key[0], text))


def unread(key):
    return Record(*key, "", problem="it is empty.")


def handed(student, notebook, path=Path("nowhere")):
    return File(student, notebook, path, f"{notebook}.ipynb")


def made(files, notebooks=(PROPER,), record_of=None, students=(), **known):
    students = students or sorted({file.student for file in files})
    record_of = record_of or answering(ANSWER)
    now = datetime(2030, 1, 1).astimezone()
    return Gradebook(students, list(notebooks), files, record_of, now=now, **known)


def row_of(book, student):
    return exports.csv_row(book, book.sheet(student))


def page_of(book, folder, codes=None, page="questions/1.7"):
    """What is written on a page of the batch."""
    pages.write(book, folder, counts={}, codes=codes)
    return (folder / f"{page}.html").read_text("utf-8")


@pytest.fixture
def bonus(monkeypatch):
    monkeypatch.setattr(register, "BONUS", frozenset({EXTRA}))
    return made([handed("Ann", name) for name in BOTH], BOTH)


def test_a_notebook_that_was_not_handed_in_is_blank_and_not_zero():
    book = made([handed("Ann", PROPER), handed("Bob", EXTRA)], BOTH)
    row = row_of(book, "Ann")
    assert row[EXTRA] == row["2.1"] == "" and float(row[PROPER]) == float(row["total"]) > 0
    nobody = made([], students=["Cid"])
    row = row_of(nobody, "Cid")
    assert row["total"] == row["1.1"] == "" and row["problems"] == "nothing was handed in."


def test_a_file_that_could_not_be_graded_awaits_a_person_in_every_part():
    book = made([handed("Ann", PROPER)], record_of=unread)
    entries = book.sheet("Ann").entries
    assert {(entry.status, entry.message) for entry in entries} == {(State.WAITING, "it is empty.")}
    row = row_of(book, "Ann")
    assert row["total"] == row["1.1"] == "" and row["awaiting"] == str(len(entries))
    assert pages.kinds(book.sheet("Ann")) == "problem waiting"


def test_the_page_of_who_handed_in_no_notebook_has_no_points_and_says_nothing_of_code_that_ran():
    files = [replace(handed("Ann", ""), name="answer.html")]
    book = made(files, record_of=unread)
    page = pages.student_page(book, book.sheet("Ann"))
    assert f"<b>– of {register.points_of(PROPER):g}</b>points" in page
    assert "answer.html: it is empty." in page and "No notebook was handed in." in page
    assert "ran without network" not in page and "awaiting a person" not in page


def test_the_batch_counts_the_answers_that_a_page_shows_and_not_those_of_unreadable_files(tmp_path):
    def record_of(key):
        return full_record(key, ANSWER) if key[0] == "Ann" else unread(key)

    book = made([handed("Ann", PROPER), handed("Bob", PROPER)], record_of=record_of)
    assert pages.write(book, tmp_path, counts={}).num_waiting == 1
    assert row_of(book, "Bob")["awaiting"] == str(len(book.sheet("Bob").entries))


def test_an_empty_answer_that_awaits_a_person_has_a_card_with_the_reason(tmp_path):
    def record_of(key):
        first, *others = full_record(key).parts
        waiting = replace(first, status=State.WAITING, message="a twin was handed in too.")
        return replace(full_record(key), parts=(waiting, *others))

    book = made([handed(student, PROPER) for student in ("Ann", "Bob")], record_of=record_of)
    first = book.sheet("Ann").entries[0]
    text = page_of(book, tmp_path, page=f"questions/{first.question.id}-{first.part.kind}")
    assert text.count("a twin was handed in too.") == 2 and "identical answers" not in text


@pytest.mark.parametrize(
    ("number", "title"), [(5, "A, B, C, D, E"), (6, "A, B, C, D, E and 1 other")]
)
def test_a_card_names_the_first_who_gave_an_answer_and_counts_the_others(tmp_path, number, title):
    book = made([handed(student, PROPER) for student in "ABCDEFGH"[:number]])
    assert f"<h3> {title}</h3>" in page_of(book, tmp_path)


def test_the_export_holds_no_sheet_longer_than_its_row(tmp_path, monkeypatch):
    """A sheet has the pictures of its notebook, several megabytes."""
    import gc

    files = [handed(student, PROPER) for student in "ABCDEFGH"]
    book = made(files, roster=rules(tmp_path, "student,id", *(f"{k},{k}" for k in "ABCDEFGH")))
    alive = []

    def row(*args, **options):
        alive.append(sum(isinstance(thing, Sheet) for thing in gc.get_objects()))
        return lms_row(*args, **options)

    lms_row = exports.lms_row
    monkeypatch.setattr(exports, "lms_row", row)
    exports.export(book, tmp_path, ["canvas"], final=True)
    assert len(alive) == 8 and alive[-1] <= alive[0] + 1


def test_many_problems_of_a_student_are_counted():
    files = [replace(handed("Ann", ""), name=f"{k}.ipynb") for k in range(9)]
    problems = made(files, record_of=unread).sheet("Ann").problems
    assert len(problems) == 6 and problems[-1] == "and 4 more problems."


def test_the_gradebook_has_a_column_for_the_bonus_that_the_total_leaves_out(bonus):
    row = row_of(bonus, "Ann")
    assert float(row["total"]) == machine_points(PROPER)
    assert float(row["bonus"]) == machine_points(EXTRA) == float(row[EXTRA])
    results = json.loads(exports.gradescope_json(bonus.sheet("Ann")))
    assert results["score"] == machine_points(PROPER)


def test_without_a_bonus_notebook_there_is_no_such_column():
    book = made([handed("Ann", PROPER)])
    assert "bonus" not in row_of(book, "Ann")
    assert "bonus" not in pages.student_page(book, book.sheet("Ann"))


def test_pages_show_the_bonus_beside_the_points(bonus):
    sheet = bonus.sheet("Ann")
    page = pages.student_page(bonus, sheet)
    assert f"<b>{machine_points(PROPER):g} of {register.points_of(PROPER):g}</b>points" in page
    assert f"<b>{machine_points(EXTRA):g} of {register.points_of(EXTRA):g}</b>bonus" in page
    overview = pages.class_page(bonus, {"ann.html": sheet}, counts={}, parts=[])
    students = overview.partition('class="students"')[2].split("</table>")[0]
    assert students.count("<th ") == students.count("<td") and ">bonus</th>" in students


MARKS = {("Ann", "1.7", "written"): ManualMark(0.5, "neat", "Eve")}


def stamped(**known):
    """A book whose marks are for the answers in it."""
    book = made([handed("Ann", PROPER)], marks=MARKS, **known)
    return book.stamped_marks()


def test_a_mark_holds_for_the_answer_it_was_given_for():
    marks = stamped()
    assert marks["Ann", "1.7", "written"].digest
    book = made([handed("Ann", PROPER)], marks=marks)
    assert (row_of(book, "Ann")["1.7"], row_of(book, "Ann")["awaiting"]) == ("0.5", "0")


def test_a_changed_answer_awaits_a_person_again_and_shows_the_old_mark(tmp_path):
    other = answering("Something else.")
    book = made([handed("Ann", PROPER)], marks=stamped(), record_of=other)
    assert (row_of(book, "Ann")["1.7"], row_of(book, "Ann")["awaiting"]) == ("0", "1")
    text = " ".join(page_of(book, tmp_path).split())
    assert "has changed since 0.5 points were given by Eve: neat" in text
    assert book.stamped_marks() == stamped()  # the old mark is kept as it was


def test_a_changed_rubric_has_a_person_look_again():
    old = {"1.7": Reference("so", "⅓ this")}
    marks = stamped(references=old)
    for references, waiting in ((old, "0"), ({"1.7": Reference("so", "½ this")}, "1")):
        book = made([handed("Ann", PROPER)], marks=marks, references=references)
        assert row_of(book, "Ann")["awaiting"] == waiting


def test_a_mark_that_lifts_a_verdict_is_for_that_judge(monkeypatch):
    lifted = {("Ann", "1.1", "code"): ManualMark(0.25)}
    marks = made([handed("Ann", PROPER)], marks=lifted).stamped_marks()
    book = made([handed("Ann", PROPER)], marks=marks)
    assert row_of(book, "Ann")["1.1"] == "0.25"
    monkeypatch.setattr("attn_grader.gradebook.judge_digest", lambda name: "mended")
    assert row_of(book, "Ann")["1.1"] == "1" and row_of(book, "Ann")["awaiting"] == "2"


def saved(path, *rows):
    columns = "student,question,points,grader,comment"
    path.write_text("\n".join([columns, *rows]) + "\n", "utf-8")
    return written_marks.load(path, {"Ann", "Bob"})


def test_points_may_be_fractions(tmp_path):
    marks = saved(tmp_path / "w.csv", "Ann,1.7,2/3,,", "Bob,1.7,0,,")
    assert [mark.points for mark in marks.values()] == [2 / 3, 0]
    (tmp_path / "again.csv").write_text(written_marks.dump(marks))
    again = written_marks.load(tmp_path / "again.csv", {"Ann", "Bob"})
    assert all(again[key].agrees(marks[key]) for key in marks)
    for bad in ("1/0", "3/2", "1e-1", "-1/3", "1/3/3", "9" * 5000):
        with pytest.raises(UserError, match="is not a number of points from 0 to 1"):
            saved(tmp_path / "w.csv", f"Ann,1.7,{bad},,")


OVERRIDE = "Ann,1.1,code,0.5,agreed by mail"


@pytest.mark.parametrize(
    "text",
    [
        OVERRIDE,
        f"\ufeff{OVERRIDE}\n",
        f"student,question,part,points,remark\n{OVERRIDE}",
        f"Student,Question,Part,Points,Comment\n{OVERRIDE}",
        OVERRIDE.replace(",", ";").replace("0.5", "0,5"),
        "student;question;part;points;remark\n" + OVERRIDE.replace(",", ";"),
        OVERRIDE.replace(",", "\t"),
    ],
)
def test_an_override_is_read_with_and_without_a_header_and_with_any_separator(tmp_path, text):
    (tmp_path / "w.csv").write_text(text, "utf-8")
    marks = written_marks.load(tmp_path / "w.csv", {"Ann"})
    assert marks == {("Ann", "1.1", "code"): ManualMark(0.5, "agreed by mail")}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nobody,1.7,0.5", "line 2: there is no student 'nobody'."),
        ("Ann,1.9,1", "line 2: there is no question 1.9"),
        ("Ann,1.7,7", "line 2: '7' is not a number of points from 0 to 1."),
        ("Ann,1.7,nan", "line 2: 'nan' is not a number of points from 0 to 1."),
        ("Ann,1.1,1", "line 2: question 1.1 has no written part."),
        ("Ann,1.7,0.5\nAnn,1.7,0.25", "line 3: 'Ann' was given other points for 1.7 above."),
        ("Ann,1.7," + "1" * 200_000, "is not a table of cells and lines (field larger than"),
    ],
)
def test_a_bad_line_of_points_is_refused_in_a_sentence(tmp_path, line, sentence):
    with pytest.raises(UserError) as caught:
        saved(tmp_path / "written.csv", line)
    assert sentence in str(caught.value)


def test_graders_who_contradict_each_other_are_listed_and_refused(tmp_path):
    eve = saved(tmp_path / "eve.csv", "Ann,1.7,1,Eve,", "Bob,1.7,1,Eve,")
    dan = saved(tmp_path / "dan.csv", "Ann,1.7,1/2,Dan,", "Bob,1.7,1,Dan,")
    with pytest.raises(UserError) as caught:
        written_marks.merged({}, {"eve.csv": eve, "dan.csv": dan})
    assert "Ann 1.7 written: 1 by Eve in eve.csv, 0.5 by Dan in dan.csv" in str(caught.value)
    assert "Bob" not in str(caught.value)
    with pytest.raises(UserError, match=r"1 by Eve in the written\.csv of --out"):
        written_marks.merged(eve, {"dan.csv": dan})


def test_a_grader_may_change_what_they_gave_before(tmp_path):
    eve = saved(tmp_path / "eve.csv", "Ann,1.7,1,Eve,")
    later = saved(tmp_path / "later.csv", "Ann,1.7,1/2,Eve,")
    assert written_marks.merged(eve, {"later.csv": later}) == later


def test_marks_for_another_answer_contradict_nobody():
    old = {("Ann", "1.7", "written"): ManualMark(1, grader="Eve", digest="old")}
    new = {("Ann", "1.7", "written"): ManualMark(0, grader="Dan", digest="new")}
    assert written_marks.merged(old, {"dan.csv": new}) == new


def test_anonymous_pages_name_nobody_and_their_points_find_the_student(tmp_path):
    book = made([handed("Ann", PROPER)])
    codes = written_marks.codes(7, ["Ann", "Bob"])
    text = page_of(book, tmp_path, codes)
    assert "Ann" not in text and codes["Ann"] in text
    (tmp_path / "w.csv").write_text(f"student,question,points\n{codes['Ann']},1.7,1\n")
    hidden = {code: student for student, code in codes.items()}
    found = written_marks.load(tmp_path / "w.csv", codes.keys(), hidden=hidden)
    assert list(found) == [("Ann", "1.7", "written")]
    assert written_marks.codes(8, ["Ann"]) != written_marks.codes(7, ["Ann"])


def test_answers_of_the_same_words_are_pointed_out_and_trivial_ones_are_not(tmp_path):
    texts = {
        "Ann": ANSWER,
        "Bob": f"  {ANSWER.upper()} !",
        "Cid": "Because.",
        "Dan": "because",
        "Eve": "Reference words, long enough to be no accident at all.",
    }
    files = [handed(student, PROPER) for student in texts]
    known = {"1.7": Reference("reference words: long enough to be *no accident* at all")}
    book = made(files, record_of=answering("", texts), references=known)
    text = page_of(book, tmp_path)
    assert "the same words as Bob." in text and "the same words as Ann." in text
    assert "the same words as the reference." in text
    assert text.count("the same words as") == 3


def test_answers_that_are_pictures_do_not_have_the_same_words(tmp_path):
    pictures = "\n\n".join(
        f"![page {k} of my derivation](attachment:page{k}.png)" for k in range(3)
    )
    texts = {"Ann": f"My derivation.\n\n{pictures}", "Bob": f"My derivation:\n\n{pictures}"}
    book = made([handed(student, PROPER) for student in texts], record_of=answering("", texts))
    assert "the same words" not in page_of(book, tmp_path)


def test_a_rubric_in_parts_becomes_items_to_click():
    rubric = (
        "**Rubric (2 points).** ⅓ the *score* leads ·\n½ hence $\\alpha_j$ ·\n"
        "1 the output. Not needed: 3 proofs."
    )
    labels = ["the *score* leads", "hence $\\alpha_j$", "the output"]
    assert pages.rubric_items(rubric, 2) == list(zip(["1/3", "1/2", "1"], labels, strict=True))
    assert pages.rubric_items("Full points for any answer.", 1) == []
    thirds = pages.rubric_items("⅓ this · ⅓ that · ⅓ more", 0.5)
    assert thirds == [("1/6", "this"), ("1/6", "that"), ("1/6", "more")]


RULES = (
    "student,name,email,id,due,free_days,penalty",
    "*,,,,2026-11-20,1,10% a day",
    "Ann,Ann Lee,ann@x.org,17,,,",
    "Bob,Bob,bob@x.org,18,2026-11-25T12:00,0,0.5",
    "Zoë,,zoe@x.org,19,,,",
)


def rules(tmp_path, *rows):
    (tmp_path / "roster.csv").write_text("\n".join(rows or RULES) + "\n", "utf-8")
    return roster.load(tmp_path / "roster.csv")


def late(tmp_path, student, moment):
    path = tmp_path / student
    path.touch()
    seconds = datetime.fromisoformat(moment).timestamp()
    os.utime(path, (seconds, seconds))
    return handed(student, PROPER, path)


@pytest.mark.parametrize(
    ("student", "moment", "days", "deducted"),
    [
        ("Ann", "2026-11-20T23:00", "0", 0),
        ("Ann", "2026-11-21T23:00", "0", 0),  # a free day
        ("Ann", "2026-11-22T00:30", "1", 0.5),  # a tenth of five points
        ("Ann", "2027-11-22T00:30", "366", 5),  # never more than there is
        ("Bob", "2026-11-25T11:00", "0", 0),  # an extension
        ("Bob", "2026-11-26T13:00", "2", 1),
        ("stranger", "2026-11-22T00:30", "1", 0.5),
    ],
)
def test_lateness_costs_what_the_roster_says(tmp_path, student, moment, days, deducted):
    book = made([late(tmp_path, student, moment)], roster=rules(tmp_path))
    row = row_of(book, student)
    assert (row["days late"], float(row["deducted"])) == (days, deducted)
    points = machine_points(PROPER)
    assert (float(row["total"]), float(row[PROPER])) == (points - deducted, points)
    assert ("the roster does not name" in row["problems"]) == (student == "stranger")


@pytest.mark.parametrize("moment", ["1999-01-01", "2026-10-31T23:00", "2030-01-02", "2099-01-01"])
def test_a_date_that_cannot_be_costs_nothing_and_awaits_a_person(tmp_path, moment):
    known = rules(tmp_path, "student,due,released,penalty", "*,2026-11-20,2026-11-01,10%", "Ann,,,")
    sheet = made([late(tmp_path, "Ann", moment)], roster=known).sheet("Ann")
    assert sheet.total() == machine_points(PROPER) and sheet.days_late == {} == sheet.deductions
    (remark,) = sheet.remarks
    assert remark.startswith(f"{PROPER}.ipynb: its date, {moment[:10]}, cannot be")
    assert sheet.awaits_a_person(PROPER) and sheet.num_waiting == 1 + sum(
        entry.is_waiting for entry in sheet.entries
    )
    known = rules(tmp_path, "student,due,released,handed_in", f"Ann,2026-11-20,2026-11-01,{moment}")
    assert made([late(tmp_path, "Ann", moment)], roster=known).sheet("Ann").remarks == []


def test_the_first_and_the_last_possible_date_are_dates(tmp_path):
    known = rules(tmp_path, "student,due,released", "*,2026-11-20,2026-11-01")
    for moment, days in {"2026-11-01": 0, "2026-11-22": 2, "2030-01-01": 1138}.items():
        sheet = made([late(tmp_path, "Ann", moment)], roster=known).sheet("Ann")
        assert sheet.remarks == [] and sheet.most_days_late == days


def told(moment="", *, late=False):
    """What an LMS tells about the file that Ann handed in."""
    known = datetime.fromisoformat(moment).astimezone() if moment else None
    key = "Ann", f"{PROPER}.ipynb"
    return {key: Collected(*key, known, late, True, *[""] * 7)}


def test_the_time_that_an_lms_tells_counts_and_not_that_of_the_download(tmp_path):
    known = rules(tmp_path, "student,due,penalty", "Ann,2026-11-20,1")
    file = late(tmp_path, "Ann", "2026-11-25T06:00")
    for collected, deducted in (
        ({}, "5"),
        (told("2026-11-20T18:00"), "0"),
        (told("2026-11-21T18:00"), "1"),
        (told(), "0"),
        (told(late=True), "1"),
    ):
        book = made([file], roster=known, collected=collected)
        assert row_of(book, "Ann")["deducted"] == deducted
    (remark,) = book.sheet("Ann").remarks
    assert "the LMS marks it as late and does not say by how much" in remark
    assert book.sheet("Ann").days_late == {PROPER: 1} and "late" in pages.kinds(book.sheet("Ann"))
    free = rules(tmp_path, "student,due,penalty,free_days", "Ann,2026-11-20,1,1")
    book = made([file], roster=free, collected=told(late=True))
    assert row_of(book, "Ann")["deducted"] == "0"
    decided = rules(tmp_path, "student,due,penalty,handed_in", "Ann,2026-11-20,1,2026-11-22")
    book = made([file], roster=decided, collected=told(late=True))
    assert row_of(book, "Ann")["deducted"] == "2" and book.sheet("Ann").remarks == []


def test_work_that_the_lms_calls_late_is_late_without_a_due_date_in_the_roster(tmp_path):
    for rules_of, deducted in (("Ann,1 a day,0", "1"), ("Ann,,0", "0"), ("Ann,1 a day,1", "0")):
        known = rules(tmp_path, "student,penalty,free_days", rules_of)
        book = made([handed("Ann", PROPER)], roster=known, collected=told(late=True))
        row = row_of(book, "Ann")
        assert (row["days late"], row["deducted"]) == (
            "0" if rules_of.endswith("1") else "1",
            deducted,
        )
    assert "days late" not in row_of(made([handed("Ann", PROPER)], collected=told()), "Ann")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (("name", "Ann"), "roster.csv needs the column student; its first line has name."),
        (("student,due", "Ann,soon"), "line 2: due is 'soon', not a date"),
        (("student,due", "Ann,0001-01-01"), "line 2: due is '0001-01-01', a date out of range"),
        (("student,penalty", "Ann,dear"), "line 2: penalty is 'dear', not a rule"),
        (("student,free_days", "Ann,-1"), "line 2: free_days is '-1', not a number"),
        (("student", "Ann", "Ann"), "line 3: 'Ann' is in the roster already."),
        (
            ("student,id", "Ann,17", "Bob,17"),
            "line 2 and roster.csv, line 3: both have the id '17'.",
        ),
        (("student,email", "Ann,A@x.org", "Bob,a@X.org"), "both have the email 'a@X.org'."),
        (("student,lms_id", "Ann,4", "Bob,4"), "both have the lms_id '4'."),
        (("student,id", "*,17", "Bob,18"), "line 2: id is of one student; the row * is of all."),
    ],
)
def test_a_bad_line_of_the_roster_is_refused_in_a_sentence(tmp_path, rows, sentence):
    with pytest.raises(UserError) as caught:
        rules(tmp_path, *rows)
    assert sentence in str(caught.value)


def exported(name, book, *, final=True):
    sheets = [book.sheet(student) for student in book.students]
    return LMS[name].table([exports.lms_row(book, sheet, final=final) for sheet in sheets])


@pytest.fixture
def classbook(tmp_path):
    files = [late(tmp_path, "Ann", "2026-11-22T00:30")]
    return made(files, students=["Ann", "Bob", "Zoë"], roster=rules(tmp_path))


LAYOUTS = {
    "canvas": [
        f"Student,ID,SIS User ID,SIS Login ID,Section,{PROPER}",
        "    Points Possible,,,,,6",
        "Ann Lee,,17,ann@x.org,,4.5",
        "Bob,,18,bob@x.org,,",
        "Zoë,,19,zoe@x.org,,",
    ],
    "moodle": [
        f"ID number,Full name,Email address,{PROPER}",
        "17,Ann Lee,ann@x.org,4.5",
        "18,Bob,bob@x.org,",
        "19,Zoë,zoe@x.org,",
    ],
    "gradescope": [
        f"First Name,Last Name,SID,Email,Sections,{PROPER},{PROPER} - Max Points",
        "Ann,Lee,17,ann@x.org,,4.5,6",
        ",Bob,18,bob@x.org,,,6",
        ",Zoë,19,zoe@x.org,,,6",
    ],
}


def points_in(row):
    """The points of a row of an export, whose column begins with the name of the notebook."""
    return next(points for column, points in row.items() if column.startswith(PROPER))


@pytest.mark.parametrize("name", LMS)
def test_an_export_has_the_columns_of_its_lms_and_points_after_deduction(name, classbook):
    assert csv_text(exported(name, classbook)).splitlines() == LAYOUTS[name]


def test_moodle_gets_no_row_that_it_would_take_for_the_student_above(classbook):
    people = classbook.roster.people
    people["Bob"] = replace(people["Bob"], id="")
    expected = {"Full name": "Ann Lee", "Email address": "ann@x.org", PROPER: "4.5"}
    assert exported("moodle", classbook)[0] == expected
    people["Zoë"] = replace(people["Zoë"], id="", email="")
    assert [row["Full name"] for row in exported("moodle", classbook)] == ["Ann Lee", "Bob"]
    people["Ann"] = replace(people["Ann"], email="")
    with pytest.raises(UserError, match="all have an id, or all have an email"):
        exported("moodle", classbook)


@pytest.mark.parametrize("name", LMS)
def test_an_export_leaves_blank_what_awaits_a_person_unless_it_is_final(name, classbook, tmp_path):
    def so_far(final):
        table = exported(name, classbook, final=final)
        return next(points_in(row) for row in table if "17" in row.values())

    assert (so_far(False), so_far(True)) == ("", "4.5")
    assert exports.export(classbook, tmp_path, [name], final=False) == 1
    classbook.marks[("Ann", "1.7", "written")] = ManualMark(0.5)
    assert (so_far(False), so_far(True)) == ("4.95", "4.95")
    assert exports.export(classbook, tmp_path, [name], final=False) == 0


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("name", LMS)
def test_an_export_leaves_a_file_that_could_not_be_read_blank(name, classbook, final):
    classbook.record_of = unread
    (row,) = [row for row in exported(name, classbook, final=final) if "17" in row.values()]
    assert points_in(row) == ""
    classbook.marks[("Ann", "1.7", "written")] = ManualMark(0.5)  # a person read it all the same
    (row,) = [row for row in exported(name, classbook, final=True) if "17" in row.values()]
    assert points_in(row) == "0.45"


def test_canvas_gets_its_own_numbers_of_users_where_the_roster_has_them(classbook):
    people = classbook.roster.people
    people["Ann"] = replace(people["Ann"], lms_id="4101")
    assert [row["ID"] for row in exported("canvas", classbook)] == ["", "4101", "", ""]


def test_points_are_exact_in_tables_and_have_two_decimals_on_pages(tmp_path):
    marks = {("Ann", "1.7", "written"): ManualMark(2 / 3)}
    book = made([handed("Ann", PROPER)], marks=marks)
    total = machine_points(PROPER) + 2 / 3
    assert float(row_of(book, "Ann")["total"]) == pytest.approx(total, abs=1e-10)
    page = pages.student_page(book, book.sheet("Ann"))
    assert f"<b>{total:.2f} of 6</b>points" in page and "0.67 of 1 points" in page


@pytest.mark.parametrize("text", ["x;=1+1", "x\n=1", "'=1", ";'=1", "a;b", "=1;=2", "''x", "a\t@b"])
def test_no_cell_is_a_formula_for_a_reader_of_semicolons_and_nothing_is_lost(text):
    assert unguarded(guarded(text)) == text
    for cell in re.split("[;\t\n]", guarded(text)):
        assert not cell.startswith(tuple(FORMULA))


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("Ada Lovelace", "Ada", "Lovelace"),
        ("van Dyk, Lee", "Lee", "van Dyk"),
        ("Zoë", "", "Zoë"),
    ],
)
def test_gradescope_gets_first_and_last_names_in_either_order(classbook, name, first, last):
    classbook.roster.people["Ann"] = replace(classbook.roster.people["Ann"], name=name)
    row = exported("gradescope", classbook)[-3]
    assert (row["First Name"], row["Last Name"]) == (first, last)


@pytest.mark.parametrize("name", LMS)
def test_an_export_has_the_ids_that_the_lms_knows_and_no_name_that_is_a_formula(name, classbook):
    ids = {"id": "-17", "email": "+ann@x.org"}
    ann = classbook.roster.people["Ann"]
    classbook.roster.people["Ann"] = replace(ann, name="=1+1 @SUM", **ids)
    cells = set(exported(name, classbook)[-3].values())
    assert cells > set(ids.values())
    assert not any(cell.startswith(tuple(FORMULA)) for cell in cells - set(ids.values()))


LONG = """
def copy_query(keys, j):
    gram = keys @ keys.T
    if abs(np.linalg.det(gram)) < 1e-9:
        raise ValueError("the keys depend on each other")
    dual = np.linalg.solve(gram, keys)[j]
    for k in range(3):
        dual = dual + 0.5 * (k - 1) * (dual - dual)
    return 40.0 * dual / (keys[j] @ dual) + np.zeros(len(dual))
"""
OTHER = """
def copy_query(keys, j):
    wanted = np.full(len(keys), -30.0)
    wanted[j] = 30.0
    query, *rest = np.linalg.lstsq(keys, wanted, rcond=None)
    assert np.isfinite(query).all(), "no query does it"
    while (keys @ query)[j] - np.delete(keys @ query, j).max() < 20:
        query = 2 * query
    return query
"""


def alike(codes):
    return [(found.one, found.other) for found in alike_pairs({"1.4": codes})]


def test_code_with_other_names_and_layout_is_pointed_out():
    renamed = (
        LONG.replace("gram", "g").replace("dual", "row").replace("    for", "    # hm\n\n    for")
    )
    assert alike({"Ann": LONG, "Bob": OTHER, "Cid": renamed}) == [("Ann", "Cid")]


def test_code_that_is_trivial_or_everyones_is_not_pointed_out():
    short = "def copy_query(keys, j):\n    return 30 * np.linalg.pinv(keys)[:, j]"
    assert alike({"Ann": short, "Bob": short}) == []
    assert alike(dict.fromkeys("ABCDEFG", LONG)) == []
    assert alike({"Ann": "def (:\n '''", "Bob": ""}) == []


def test_the_class_page_lists_code_that_is_alike(tmp_path):
    files = [handed("Ann", PROPER), handed("Bob", PROPER)]
    book = made(files, record_of=answering(LONG))
    page = page_of(book, tmp_path, page="index")
    assert "<h2>Copies</h2>" in page and "100%" in page


def test_what_two_students_left_empty_is_no_copy(tmp_path):
    def record_of(key):
        record = answering(LONG)(key)
        empty = [replace(part, status=State.NOT_ATTEMPTED) for part in record.parts]
        return replace(record, parts=tuple(empty))

    book = made([handed("Ann", PROPER), handed("Bob", PROPER)], record_of=record_of)
    assert "<h2>Copies</h2>" not in page_of(book, tmp_path, page="index")


def test_graders_pages_name_the_sandbox_and_students_pages_say_it_in_plain_words(tmp_path):
    tiers = {"Ann": "namespaces", "Bob": "landlock", "Cid": "none"}
    files = [handed(student, PROPER) for student in tiers]
    known = {"1.7": Reference("because", "all of it")}
    book = made(
        files, record_of=lambda key: full_record(key, "so", tier=tiers[key[0]]), references=known
    )
    pages.write(book, tmp_path, counts={})
    texts = {path.stem: path.read_text("utf-8") for path in tmp_path.glob("*/*.html")}
    texts["index"] = (tmp_path / "index.html").read_text("utf-8")
    alone = "1 of the notebooks here ran without a sandbox"
    for student, tier in tiers.items():
        assert "“namespaces”" not in texts[student] and "“landlock”" not in texts[student]
        assert ("ran without network" in texts[student]) == (tier != "none")
        assert (alone in texts[student]) == (tier == "none")
    for name in ("index", "1.7"):
        assert "“namespaces”" in texts[name] and "“landlock”" in texts[name]
        assert alone in texts[name]
    assert '"sandboxes": ["landlock"]' in (tmp_path / "students/Bob.json").read_text()


@pytest.mark.parametrize(("tier", "number"), [("namespaces", 0), ("none", 1)])
def test_a_file_that_could_not_be_read_is_not_counted_as_graded_in_the_sandbox(tier, number):
    book = made([handed("Ann", PROPER)], record_of=lambda key: replace(unread(key), tier=tier))
    assert book.sheet("Ann").tiers[tier] == number


def test_what_kept_a_notebook_from_being_graded_is_said_once_a_notebook():
    book = made([handed("Ann", PROPER)], record_of=unread)
    page = pages.student_page(book, book.sheet("Ann"))
    assert page.count("it is empty.") == 2  # on top, and where the answers would be
    assert "This file was not graded" in page and 'class="card' not in page


def test_the_class_page_has_names_maxima_and_days_late_from_the_roster(tmp_path):
    due = datetime(2026, 11, 1).astimezone()
    ann = roster.RosterRow("ann", "Ann Lee", due=due, handed_in=datetime(2026, 11, 3).astimezone())
    book = made([handed("ann", PROPER)], roster=roster.Roster({"ann": ann}))
    page = page_of(book, tmp_path, page="index")
    assert "Ann Lee" in page and f"01 of {register.points_of(PROPER):g}</th>" in page
    assert ">days late</th>" in page and 'data-label="days late" data-value="2">2</td>' in page
    assert "Feedback for Ann Lee" in (tmp_path / "students/ann.html").read_text("utf-8")


SIGNS = "=+-@\t\r\n＝＋－＠"  # that start a formula


@pytest.mark.parametrize("text", [*SIGNS, "=x", "'=x", "''=x", "'＠x", "'plain", "plain", ""])
def test_what_is_guarded_comes_back_and_no_sign_of_a_formula_stands_first(text):
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(tuple(SIGNS))


@pytest.mark.parametrize("make", ["nothing", "a folder", "another encoding"])
def test_a_table_that_cannot_be_read_gets_a_sentence(tmp_path, make):
    path = tmp_path / "written.csv"
    if make == "a folder":
        path.mkdir()
    if make == "another encoding":
        path.write_bytes("student,points\nZoë,1\n".encode("latin-1"))
    with pytest.raises(UserError, match=r"written\.csv cannot be read"):
        list(read_rows(path, ("student", "points")))


def test_pictures_are_files_beside_the_pages_however_many_there_are(tmp_path):
    """Finding 25: three photographs of each of 120 students made a page of 469 MB."""
    photo = f"data:image/png;base64,{base64.b64encode(bytes(100_000)).decode()}"

    def record_of(key):
        record = full_record(key, "![map](attachment:map.png)")
        images = {"attachment:map.png": photo + base64.b64encode(key[0].encode()).decode()}
        return replace(record, parts=tuple(replace(part, images=images) for part in record.parts))

    files = [handed(f"student {number}", PROPER) for number in range(10)]
    pages.write(made(files, record_of=record_of), tmp_path, counts={})
    assert len(list((tmp_path / "pictures").iterdir())) == len(files)
    for page in tmp_path.rglob("*.html"):
        assert page.stat().st_size < 60_000 and "base64," not in page.read_text("utf-8")
    assert 'src="../pictures/' in (tmp_path / "questions" / "1.7.html").read_text("utf-8")
