"""The grader's pages in a real browser: they render, sort, filter, save, and run nothing foreign."""

import base64
import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from chromium import ASKING, Browser, needs_browser
from classroom import full_record, png
from jupyter import wait_for

from attn_course.verdict import State
from attn_grader import pages
from attn_grader.gradebook import Gradebook
from attn_grader.references import references
from attn_grader.spreadsheet import FORMULA, guarded
from attn_grader.submissions import File
from attn_grader.written_marks import ManualMark

NAME = "01_copying"
ATTACK = "<script>document.title = 'pwned'</script><img src=x onerror=\"document.title='pwned'\">"
STUDENTS = ["Ann", "Bob <b>", 'Zoë "q"', "=1+1"]
POINTS = {"Ann": 3, "Bob <b>": 10, 'Zoë "q"': 2, "=1+1": 0}

pytestmark = [needs_browser, pytest.mark.usefixtures("questions_with_known_points")]


def record_of(key):
    """An attack wherever a student may write; the points are those of 1.1."""
    texts = {"answer": f"{key[0]}: {ATTACK}", "message": f"`here`: {ATTACK}"}
    found = full_record(key, **texts, remarks=(f"cell 1: {ATTACK}",), tier="landlock")
    first, *others = found.parts
    others = [replace(part, points=0) for part in others]
    return replace(found, parts=(replace(first, points=POINTS[key[0]]), *others))


def gradebook_of(students, record_of=record_of, **known):
    files = [File(student, NAME, Path("nowhere"), f"{NAME}.ipynb") for student in students]
    made = references([NAME])
    return Gradebook(students, [NAME], files, record_of, references=made, **known)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    pages.write(gradebook_of(STUDENTS), folder, counts={"students": 4})
    return folder


@pytest.fixture
def browser(tmp_path_factory):
    """A new one each time: it has kept nothing yet."""
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


def column(browser, number):
    cells = f"document.querySelectorAll('.students tbody td:nth-child({number})')"
    return browser.run(f"[...{cells}].filter(c => c.checkVisibility()).map(c => c.textContent)")


def test_the_class_page_sorts_by_numbers_and_by_names(browser, out):
    browser.open(out / "index.html")
    total = "document.querySelectorAll('.students th')[2]"
    browser.run(f"{total}.click()")
    assert column(browser, 3) == ["0", "2", "3", "10"]
    browser.run(f"{total}.click()")
    assert column(browser, 3) == ["10", "3", "2", "0"]
    browser.run("document.querySelectorAll('.students th')[0].click()")
    assert sorted(column(browser, 1)) == sorted(STUDENTS) and column(browser, 1)[-1] == 'Zoë "q"'


def test_the_class_page_filters_by_name_and_by_state(browser, out):
    browser.open(out / "index.html")
    browser.run("find.value = 'BOB'; find.dispatchEvent(new Event('input'))")
    assert column(browser, 1) == ["Bob <b>"]
    browser.run("find.value = ''; show.value = 'problem'; show.dispatchEvent(new Event('input'))")
    assert column(browser, 1) == []


def test_every_link_of_the_class_page_leads_to_a_page(browser, out):
    browser.open(out / "index.html")
    links = browser.run("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    assert len(set(links)) == len(STUDENTS) + 1
    for link in links:
        browser.open(out / "index.html")
        browser.run(f"location.href = {link!r}")
        browser.wait("/^(Feedback for|1.7)/.test(document.title)")


@pytest.mark.parametrize("page", ["students/Ann.html", "questions/1.7.html", "index.html"])
def test_nothing_in_an_answer_runs_and_nothing_is_fetched(browser, out, page):
    browser.open(out / page)
    assert browser.run("document.title") != "pwned"
    assert browser.run("document.images.length") == 0
    assert browser.run("document.scripts.length") == 1
    assert browser.run("performance.getEntriesByType('resource').length") == 0
    if page != "index.html":
        assert ATTACK in browser.run("document.body.innerText")


def test_code_in_a_message_is_set_as_code(browser, out):
    browser.open(out / "students" / "Ann.html")
    assert browser.run("document.querySelector('p code').textContent") == "here"


def test_answers_on_a_narrow_screen_stand_below_the_reference_and_not_beside_it(browser, out):
    size = {"height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.ask("Emulation.setDeviceMetricsOverride", width=420, **size)
    browser.open(out / "questions" / "1.7.html")
    width = "document.querySelector('.card').getBoundingClientRect().width"
    is_wider = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    found = browser.run(width), browser.run(is_wider)
    browser.ask("Emulation.clearDeviceMetricsOverride")
    assert found[0] > 300 and not found[1]


def test_even_a_script_that_slipped_in_would_not_run(browser, out):
    text = (out / "index.html").read_text("utf-8")
    (out / "slipped.html").write_text(text.replace("<h1>", f"{ATTACK}<h1>", 1), "utf-8")
    browser.open(out / "slipped.html")
    assert browser.run("document.images.length") == 1
    assert browser.run("document.title") == "Gradebook"


def test_points_can_be_typed_and_downloaded(browser, out):
    browser.open(out / "questions" / "1.7.html")
    assert browser.run("document.getElementById('left').textContent") == "4 of 4 without points"
    type_in = "(c, p, t) => { const f = fields(c); f[0].value = p; f[1].value = t; "
    type_in += "f.forEach(x => x.dispatchEvent(new Event('input'))) }"
    browser.run("grader.value = 'Eve'")
    browser.run(f"({type_in})(cards[1], '1/4', 'good, \"nearly\"')")
    browser.run(f"({type_in})(cards[3], '1/2', '=1')")
    assert browser.run("document.getElementById('left').textContent") == "2 of 4 without points"
    browser.run("show.value = 'waiting'; show.dispatchEvent(new Event('input'))")
    assert browser.run("cards.filter(c => c.checkVisibility()).length") == 2
    browser.run("document.getElementById('save').click()")
    saved = browser.folder / "written-1.7.csv"
    wait_for(saved.exists, "the download")
    with open(saved, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[:6] for row in rows] == [
        ["student", "question", "part", "points", "comment", "grader"],
        ["Bob <b>", "1.7", "written", "1/4", 'good, "nearly"', "Eve"],
        ["'=1+1", "1.7", "written", "1/2", "'=1", "Eve"],
    ]
    sheets = [gradebook_of(STUDENTS).sheet(row[0].lstrip("'")) for row in rows[1:]]
    digests = [entry.digest for sheet in sheets for entry in sheet.entries if not entry.part.judge]
    assert [row[6] for row in rows] == ["digest", *digests]


def test_the_page_guards_the_formulas_that_the_exporter_guards(browser, out):
    browser.open(out / "questions" / "1.7.html")
    browser.run("grader.value = 'Eve'; setPoints(cards[0], '1')")
    for letter in FORMULA:
        remark = json.dumps(f"{letter}1+1")
        browser.run(
            f"cards[0].querySelector('.remark').type = 'hidden', fields(cards[0])[1].value = {remark}"
        )
        (row,) = csv.DictReader(io.StringIO(browser.run("csv()"), newline=""))
        assert row["comment"] == guarded(f"{letter}1+1"), letter


def test_a_pasted_picture_is_seen_by_the_grader_and_by_the_student(browser, tmp_path):
    def record_of(key):
        found = full_record(key, "![map](attachment:map.png)")
        images = {"attachment:map.png": f"data:image/png;base64,{base64.b64encode(png()).decode()}"}
        return replace(found, parts=tuple(replace(part, images=images) for part in found.parts))

    pages.write(gradebook_of(["Ann"], record_of), tmp_path, counts={})
    for page in ("questions/1.7.html", "students/Ann.html"):
        browser.open(tmp_path / page)
        assert browser.run("all('.prose img').map((image) => image.naturalWidth)") == [2], page


def test_points_out_of_range_are_not_downloaded(browser, out):
    browser.open(out / "questions" / "1.7.html")
    browser.run("setPoints(cards[0], '7')")
    assert browser.run("fields(cards[0])[0].checkValidity()") is False


def test_answers_can_be_marked_from_the_keyboard(browser, out):
    browser.open(out / "questions" / "1.7.html")
    for key in "j13jfjk":  # first: two thirds; second: all; third, and back to the second
        browser.press(key, ord(key.upper()))
    assert browser.run("cards.map((card) => typed(card)[0])") == ["2/3", "1", "", ""]
    assert browser.run("cards.indexOf(current)") == 1
    browser.press("0", ord("0"))
    browser.press("p", ord("P"))
    assert browser.run("document.activeElement === fields(cards[1])[0]")
    browser.press("Enter", 13)
    assert browser.run("cards.indexOf(current)") == 2
    assert browser.run("cards.map((card) => typed(card)[0])") == ["2/3", "0", "", ""]


def test_a_closed_browser_loses_nothing(browser, out):
    place = out / "questions" / "1.7.html"
    browser.open(place)
    browser.run("items(cards[0])[1].click(); fields(cards[0])[1].value = 'kept'; changed(cards[0])")
    browser.run("unsaved = false")
    browser.restart()
    browser.open(place)
    assert browser.run("typed(cards[0])") == ["1/3", "kept"]
    assert browser.run("items(cards[0])[1].getAttribute('aria-pressed')") == "true"
    assert browser.run("document.getElementById('left').textContent") == "3 of 4 without points"


def test_a_page_with_marks_that_were_not_downloaded_asks_before_it_is_left(browser, out):
    browser.open(out / "questions" / "1.7.html")
    for key in "j1":  # the first answer has one point
        browser.press(key, ord(key.upper()))
    browser.heard.clear()
    browser.open(out / "index.html")
    assert browser.run("document.title") == "Gradebook"
    assert ASKING in [heard["method"] for heard in browser.heard]


def test_a_mark_that_was_not_touched_keeps_its_grader(browser, tmp_path):
    marks = {("Ann", "1.7", "written"): ManualMark(1 / 3, "neat", "Eve")}
    pages.write(gradebook_of(STUDENTS, marks=marks), tmp_path, counts={})
    browser.open(tmp_path / "questions" / "1.7.html")
    assert "read by Eve" in browser.run("cards[0].innerText")
    browser.run("grader.value = 'Dan'; setPoints(cards[1], '1')")
    rows = list(csv.DictReader(browser.run("csv()").splitlines()))
    assert [row["grader"] for row in rows] == ["Eve", "Dan"]
    assert float(rows[0]["points"]) == pytest.approx(1 / 3, abs=1e-9)


@pytest.mark.parametrize("page", ["students/Ann.html", "questions/1.7.html", "index.html"])
def test_a_page_fits_a_laptop_screen(browser, out, page):
    browser.open(out / page)
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("parseFloat(getComputedStyle(document.body).fontSize)") >= 14


ANSWERS = {"Ann": "It leads.", "Bob": "It leads.", "Cid": "It is aligned.", "Dan": "It leads."}


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alike")
    book = gradebook_of(list(ANSWERS), lambda key: full_record(key, ANSWERS[key[0]]))
    pages.write(book, folder, counts={})
    return folder / "questions" / "1.7.html"


def test_identical_answers_are_one_card_with_one_mark_for_each_student(browser, alike):
    browser.open(alike)
    assert browser.run("cards.map((card) => members(card))") == [["Ann", "Bob", "Dan"], ["Cid"]]
    browser.run("setPoints(cards[0], '1/2')")
    assert browser.run("document.getElementById('left').textContent") == "1 of 4 without points"
    rows = list(csv.DictReader(browser.run("csv()").splitlines()))
    assert [(row["student"], row["points"]) for row in rows] == [
        ("Ann", "1/2"),
        ("Bob", "1/2"),
        ("Dan", "1/2"),
    ]


def test_a_remark_can_be_used_again_by_its_key(browser, alike):
    browser.open(alike)
    browser.run(
        "fields(cards[0])[1].value = 'a length is missing';"
        "fields(cards[0])[1].dispatchEvent(new Event('input'));"
        "fields(cards[0])[1].dispatchEvent(new Event('change'))"
    )
    assert browser.run("document.getElementById('remarks').innerText").split() == [
        *("a", "a", "length", "is", "missing")
    ]
    for key in "jja":
        browser.press(key, ord(key.upper()))
    assert browser.run("typed(cards[1])[1]") == "a length is missing"
    browser.press("a", ord("A"))
    assert browser.run("typed(cards[1])[1]") == "a length is missing"  # not twice


def test_a_download_without_points_is_answered_with_a_sentence(browser, alike):
    browser.open(alike)
    browser.run("localStorage.clear()")
    browser.open(alike)
    assert browser.run("document.getElementById('message').checkVisibility()") is False
    browser.run("document.getElementById('save').click()")
    message = "document.getElementById('message')"
    assert browser.run(f"{message}.checkVisibility() && {message}.textContent").startswith(
        "No answer has points yet"
    )


def test_the_question_stands_above_the_answers_and_its_rubric_buttons_are_typeset(browser, alike):
    browser.open(alike)
    question = browser.run("document.querySelector('.question').textContent")
    assert "must be true of the query and the keys" in question
    assert browser.run("document.querySelectorAll('.item mfrac').length") > 0
    assert (
        browser.run(
            "[...document.querySelectorAll('.item')].some(b => b.textContent.includes('$'))"
        )
        is False
    )


def test_on_a_phone_the_class_is_a_list_of_cards_that_need_no_scrolling_sideways(browser, out):
    size = {"height": 800, "deviceScaleFactor": 1, "mobile": False}
    browser.ask("Emulation.setDeviceMetricsOverride", width=390, **size)
    browser.open(out / "index.html")
    widths = "[...document.querySelectorAll('.wide')].map(w => w.scrollWidth - w.clientWidth)"
    too_wide = browser.run(widths)
    label = browser.run("getComputedStyle(document.querySelector('td.number'), '::before').content")
    browser.ask("Emulation.clearDeviceMetricsOverride")
    assert max(too_wide) <= 0 and label.startswith('"')


def test_a_named_mistake_leads_to_the_answers_of_the_students_who_made_it(browser, tmp_path):
    def record_of(key):
        record = full_record(key, "def f(): ...", "not quite")
        first, *others = record.parts
        wrong = {"status": State.NOT_YET, "points": 0, "mistake": "the query is `too short`"}
        return replace(record, parts=(replace(first, **wrong), *others))

    pages.write(gradebook_of(["Ann", "Bob <b>"], record_of), tmp_path, counts={})
    browser.open(tmp_path / "index.html")
    assert browser.run("document.querySelector('.mistakes summary').textContent") == (
        "2 the query is too short"
    )
    browser.run("document.querySelector('.mistakes details').open = true")
    links = browser.run(
        "[...document.querySelectorAll('.mistakes a')].map(a => a.getAttribute('href'))"
    )
    assert len(links) == 2
    browser.run(f"location.href = {links[1]!r}")
    browser.wait("/^Feedback for Bob/.test(document.title)")
    assert browser.run("document.querySelector(location.hash).textContent").find("not yet") > 0
