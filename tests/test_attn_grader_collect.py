"""Downloads of Canvas, Moodle and Gradescope, built by their naming rules, become folders of students."""

import csv
import io
import json
import os
import random
import re
import stat
import struct
import zipfile
from datetime import datetime

import bench.lms
import classroom
import pytest
from chromium import needs_browser
from sandbox_sessions import needs_sandbox

from attn_course import cli
from attn_grader import collect, lms
from attn_grader.collect import COLLECTED
from attn_grader.gradebook import NOTHING, Gradebook
from attn_grader.pages import kinds
from attn_grader.record import Record
from attn_grader.roster import Roster, RosterRow
from attn_grader.submissions import NO_NOTEBOOK, find

ROSTER = (
    "student,name,email,id,lms_id\n"
    "ada,Ada Lovelace,ada@x.edu,S1,1234\n"
    "zoe,Zoë Åberg,zoe@x.edu,S2,1235\n"
    "lee,Lee van Dyk,lee@x.edu,S3,\n"
)
NAME = "01_copying"


def text_of(number):
    """Something to tell copies apart by."""
    return json.dumps({"cells": [], "copy": number})


def zipped(files, path=None):
    """An archive as bytes, or as a file; files: {name: text, or (ZipInfo, bytes)}."""
    target = io.BytesIO() if path is None else path
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path or target.getvalue()


@pytest.fixture
def download(tmp_path, capsys):
    """Collect an archive of these files; return (exit status, what was printed, the folder)."""
    (tmp_path / "roster.csv").write_text(ROSTER, "utf-8")

    def run(files, lms, *options):
        path = tmp_path / "submissions.zip"
        zipped(files, path)
        out = tmp_path / "submissions"
        status = cli.main(
            ["collect", str(path), "--from", lms, "--out", str(out), *map(str, options)]
        )
        said = capsys.readouterr()
        return status, said.out + said.err, out

    run.roster = ("--roster", tmp_path / "roster.csv")
    return run


def held(out):
    """What lies below a folder, and who each file is from."""
    return {
        str(path.relative_to(out)): path.read_text("utf-8", "replace")
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != COLLECTED
    }


def rows(out):
    with open(out / COLLECTED, encoding="utf-8") as file:
        return {row["student"] + "/" + row["file"]: row for row in csv.DictReader(file)}


CANVAS = {
    "lovelaceada_1234_901_01_copying.ipynb": text_of(1),
    "lovelaceada_1234_902_02_average_of_two-1.ipynb": text_of(2),
    "åbergzoë_LATE_1235_903_01_copying-3.ipynb": text_of(3),
    "vandyklee_1236_904_01_copying.py": text_of(4),
}


def test_canvas_names_tell_student_number_lateness_and_notebook(download):
    status, _, out = download(CANVAS, "canvas", *download.roster)
    assert status == 0
    assert held(out) == {
        "ada/01_copying.ipynb": text_of(1),
        "ada/02_average_of_two.ipynb": text_of(2),
        "lee/01_copying.py": text_of(4),
        "zoe/01_copying.ipynb": text_of(3),
    }
    late = {place for place, row in rows(out).items() if row["late"] == "yes"}
    assert late == {"zoe/01_copying.ipynb"}
    assert rows(out)["ada/01_copying.ipynb"]["lms_id"] == "1234"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["lovelaceada_1234_901_", "åbergzoë_LATE_1235_903_"],
            {("lovelaceada", "1234", ""), ("åbergzoë", "1235", "yes")},
        ),
        (["leekim_7_907_", "leekim_8_908_"], {("leekim-7", "7", ""), ("leekim-8", "8", "")}),
        (
            ["leeann5_LATE_105_12345_", "2pac_106_12346_", "lee_ann7_107_12347_"],
            {("leeann5", "105", "yes"), ("2pac", "106", ""), ("lee_ann7", "107", "")},
        ),
        (
            ["anon_aB3x9_905_", "LATE_anon_77777_906_"],
            {("anon_aB3x9", "anon_aB3x9", ""), ("anon_77777", "anon_77777", "yes")},
        ),
    ],
)
def test_without_a_roster_a_student_is_called_as_canvas_does(download, names, expected):
    _, _, out = download({f"{name}01_copying.ipynb": name for name in names}, "canvas")
    assert {(row["student"], row["lms_id"], row["late"]) for row in rows(out).values()} == expected
    assert sorted(held(out).values()) == sorted(names)
    assert set(held(out)) == {f"{student}/01_copying.ipynb" for student, _, _ in expected}


def test_a_number_of_canvas_is_not_taken_for_the_number_of_a_student(download, tmp_path):
    (tmp_path / "roster.csv").write_text("student,id\nbob,1234\n")
    status, said, out = download(CANVAS, "canvas", *download.roster)
    assert status == 1 and "not in the roster: lovelaceada" in said
    assert "bob/01_copying.ipynb" not in held(out)


MOODLE_FOLDERS = {
    "Ada Lovelace_501_assignsubmission_file/01_copying.ipynb": text_of(1),
    "Zoë Åberg_502_assignsubmission_file_/backup/01_copying.ipynb": text_of(2),
    "Zoë Åberg_502_assignsubmission_file_/01_copying.ipynb": text_of(3),
    "Lee van Dyk_503_assignsubmission_file_01_copying.ipynb": text_of(4),
    "Lee van Dyk_503_assignsubmission_onlinetext/onlinetext.html": "<p>hello</p>",
}


def test_moodle_folders_tell_the_student_and_the_copy_nearest_to_the_top_counts(download):
    status, said, out = download(MOODLE_FOLDERS, "moodle", *download.roster)
    found = held(out)
    assert found.pop("ada/01_copying.ipynb") == text_of(1)
    assert found.pop("zoe/01_copying.ipynb") == text_of(3)
    assert found.pop("lee/01_copying.ipynb") == text_of(4)  # without a folder
    assert found.pop("lee/onlinetext.html") == "<p>hello</p>"
    assert list(found.values()) == [text_of(2)] and next(iter(found)).startswith("zoe/copies/")
    assert status == 1 and "new; no notebook of the course" in said


def test_the_worksheet_of_moodle_tells_who_a_participant_is_and_when(download, tmp_path):
    sheet = tmp_path / "grades.csv"
    sheet.write_text(
        "Identifier,Full name,ID number,Email address,Status,Grade,Last modified (submission)\n"
        'Participant 501,Participant 501,,ADA@x.edu,,,"Friday, 20 November 2026, 11:58 PM"\n'
        "Participant 502,Participant 502,S2,,,,-\n"
        'Participant 503,Participant 503,S3,,,,"Freitag, 20. November 2026, 23:58"\n',
        "utf-8-sig",
    )
    files = {
        f"Participant_{number}_assignsubmission_file_/01_copying.ipynb": text_of(number)
        for number in (501, 502, 503)
    }
    status, said, out = download(files, "moodle", *download.roster, "--worksheet", sheet)
    assert list(held(out)) == [f"{who}/01_copying.ipynb" for who in ("ada", "lee", "zoe")]
    moment = datetime.fromisoformat(rows(out)["ada/01_copying.ipynb"]["handed_in"])
    assert moment.replace(tzinfo=None) == datetime(2026, 11, 20, 23, 58)
    assert rows(out)["zoe/01_copying.ipynb"]["handed_in"] == ""
    assert status == 1 and "'Freitag, 20. November 2026, 23:58' is not in Moodle's" in said


METADATA = """submission_11:
  :submitters:
  - :name: Ada Lovelace
    :sid: S1
    :email: ada@x.edu
  :created_at: 2026-11-20 23:58:01.123456 -08:00
  :score: 0.0
submission_12:
  :submitters:
  - :name: Zoë Åberg
    :sid: S2
  - :name: Someone Else
    :sid:
    :email: lee@x.edu
  :created_at: 2026-11-19 12:00:00.000000000 Z
submission_13:
  :submitters: []
"""
TABLE = "assignment_77_export/submission_metadata.yml"
GRADESCOPE = {
    TABLE: METADATA,
    "assignment_77_export/submission_11/01_copying.ipynb": text_of(1),
    "assignment_77_export/submission_12/work/01_copying.ipynb": text_of(2),
    "assignment_77_export/submission_13/01_copying.ipynb": text_of(3),
    "assignment_77_export/.DS_Store": "x",
    "__MACOSX/assignment_77_export/._submission_metadata.yml": "x",
}


def test_gradescope_tells_names_ids_times_and_groups(download):
    status, said, out = download(GRADESCOPE, "gradescope", *download.roster)
    assert held(out) == {
        "ada/01_copying.ipynb": text_of(1),
        "lee/01_copying.ipynb": text_of(2),
        "submission_13/01_copying.ipynb": text_of(3),
        "zoe/01_copying.ipynb": text_of(2),
    }
    moment = datetime.fromisoformat(rows(out)["ada/01_copying.ipynb"]["handed_in"])
    assert moment == datetime.fromisoformat("2026-11-20T23:58:01-08:00")
    assert status == 1 and "not in the roster: submission_13" in said


def test_a_dry_run_prints_the_same_table_and_writes_nothing(download):
    status, told, out = download(CANVAS, "canvas", *download.roster, "--dry-run")
    assert status == 0 and not out.exists()
    assert "ada      01_copying.ipynb         " in told and "Nothing was written" in told
    _, said, _ = download(CANVAS, "canvas", *download.roster)
    assert said == told.replace(" Nothing was written (--dry-run).", "")


def test_the_same_command_again_changes_nothing(download):
    _, _, out = download(MOODLE_FOLDERS, "moodle", *download.roster)
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.ipynb")}
    table = (out / COLLECTED).read_bytes()
    _, said, _ = download(MOODLE_FOLDERS, "moodle", *download.roster)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*.ipynb")} == before
    assert (out / COLLECTED).read_bytes() == table and "already there" in said


def test_a_newer_copy_counts_and_the_older_is_kept_whichever_comes_first(download):
    new = {"lovelaceada_1234_950_01_copying-1.ipynb": text_of(99)}
    old = {"lovelaceada_1234_901_01_copying.ipynb": text_of(1)}
    _, _, out = download(old, "canvas", *download.roster)
    _, said, _ = download(new, "canvas", *download.roster)
    assert "newer; the copy before is earlier/" in said
    found = held(out)
    assert found.pop("ada/01_copying.ipynb") == text_of(99) and list(found.values()) == [text_of(1)]
    _, said, _ = download(old, "canvas", *download.roster)
    assert "older; kept as earlier/" in said and held(out)["ada/01_copying.ipynb"] == text_of(99)
    counts = [place for place, row in rows(out).items() if row["counts"] == "yes"]
    assert counts == ["ada/01_copying.ipynb"] and len(rows(out)) == 2


def rivals(out):
    """Return the other copies of a notebook that call for a person, as `attn grade` sees them."""
    _, files = find(out, ["01_copying"])
    return [place.partition("/")[0] for file in files for place in file.copies]


def answered(text):
    return json.dumps(classroom.filled("01_copying", {("1.7", "written"): text}))


def test_what_a_later_download_replaced_does_not_call_for_a_person(download):
    download({f"{ADA}01_copying.ipynb": answered("first")}, "canvas")
    later = {"lovelaceada_1234_950_01_copying-1.ipynb": answered("second")}
    _, _, out = download(later, "canvas")
    assert len(held(out)) == 2 and rivals(out) == []


def test_two_copies_in_one_download_call_for_a_person_however_often_they_are_collected(download):
    twins = {f"{ADA}01_copying.ipynb": answered("first")}
    twins["lovelaceada_1234_902_01_copying (1).ipynb"] = answered("second")
    for _ in range(2):
        _, _, out = download(twins, "canvas")
        assert rivals(out) == ["copies"] and len(held(out)) == len(rows(out)) == 2


def test_an_empty_copy_that_came_later_gives_way_to_the_earlier_answers(download):
    download({f"{ADA}01_copying.ipynb": answered("first")}, "canvas")
    blank = json.dumps(classroom.notebook("01_copying"))
    _, _, out = download({"lovelaceada_1234_950_01_copying.ipynb": blank}, "canvas")
    _, (file,) = find(out, ["01_copying"])
    assert file.name.startswith("earlier/") and not file.copies


def test_a_copy_that_was_handed_in_twice_has_the_later_time_whichever_comes_first(download):
    def handed_in(moment):
        yml = METADATA.replace("2026-11-20 23:58:01.123456 -08:00", moment)
        _, _, out = download({**GRADESCOPE, TABLE: yml}, "gradescope")
        return rows(out)["ada@x.edu/01_copying.ipynb"]["handed_in"]

    first = handed_in("2026-11-18 10:30:00 +02:00")
    later = handed_in("2026-11-18 10:00:00 +01:00")  # half an hour after the first
    assert first < later == handed_in("2026-11-18 10:30:00 +02:00")


def test_a_file_that_was_not_collected_is_never_overwritten(download, tmp_path):
    target = tmp_path / "submissions" / "ada" / "01_copying.ipynb"
    target.parent.mkdir(parents=True)
    target.write_text("by hand")
    status, said, out = download(CANVAS, "canvas", *download.roster)
    assert status == 1 and "NOT collected: another file is there" in said
    assert target.read_text() == "by hand" and len(held(out)) == 4


def test_a_collection_that_was_stopped_goes_on(download, monkeypatch):
    write = collect.Folder.write
    left = iter([True, True, False])

    def stopped(self, target, data):
        if not next(left):
            raise KeyboardInterrupt
        write(self, target, data)

    with monkeypatch.context() as patched:
        patched.setattr(collect.Folder, "write", stopped)
        status, _, out = download(CANVAS, "canvas", *download.roster)
    assert status == 130 and len(held(out)) == len(rows(out)) == 2
    status, _, _ = download(CANVAS, "canvas", *download.roster)
    assert status == 0 and len(held(out)) == len(rows(out)) == 4


def test_an_archive_that_a_student_handed_in_is_unpacked(download):
    inner = zipped(
        {
            "my work/01_copying.ipynb": text_of(1),
            "picture.png": "x",
            ".ipynb_checkpoints/01_copying.ipynb": "x",
        }
    )
    files = {"lovelaceada_1234_901_homework.zip": inner}
    status, _, out = download(files, "canvas", *download.roster)
    assert status == 0 and held(out) == {"ada/01_copying.ipynb": text_of(1)}
    assert rows(out)["ada/01_copying.ipynb"]["source"].endswith(
        "homework.zip/my work/01_copying.ipynb"
    )


def link():
    info = zipfile.ZipInfo("lovelaceada_1234_901_01_copying.ipynb")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def bomb(size=collect.MAX_FILE + 1):
    return zipped({"01_copying.ipynb": "0" * size})


def many(number):
    return zipped({f"{k}.ipynb": "" for k in range(number)})


ADA = "lovelaceada_1234_901_"  # what Canvas writes in front of her files
HOSTILE = {
    "a path out of the folder": (
        {f"{ADA}..\\..\\x.ipynb": "x", "../../lovelaceada_1234_902_y.ipynb": "y"},
        "",
    ),
    "a path out of an inner archive": (
        {f"{ADA}a.zip": zipped({"../../../01_copying.ipynb": text_of(1)})},
        "",
    ),
    "paths that are not plain in an inner archive": (
        {f"{ADA}a.zip": zipped({"./01_copying.ipynb": text_of(1), "a//b.ipynb": "x"}), **CANVAS},
        "",
    ),
    "a student named ..": ({".._1234_901_01_copying.ipynb": "x", **CANVAS}, "not named as Canvas"),
    "a link": ({link(): "/etc/passwd"}, "NOT collected: it is a link."),
    "a zip bomb": ({f"{ADA}a.zip": bomb()}, "NOT collected: it is larger than 100 MB"),
    "a bomb of many": (
        {f"{ADA}a.zip": zipped({f"{k}.ipynb": "0" * (60 << 20) for k in range(4)})},
        "unpacks to more than 200 MB",
    ),
    "a flood of files": ({f"{ADA}a.zip": many(20_000), **CANVAS}, "too many files"),
    "no archive at all": ({f"{ADA}a.zip": "hello", **CANVAS}, "not a zip archive"),
    "an archive in an archive in an archive": (
        {f"{ADA}a.zip": zipped({"b.zip": zipped({"01_copying.ipynb": "x"})}), **CANVAS},
        "this archive holds no notebook",
    ),
    "a name that clears the screen": (
        {"\x1b[2J\n_1_2_3.ipynb": "x", **CANVAS},
        "passed over: \ufffd[2J",
    ),
    "thousands of stray files": (
        {**{f"stray {k}.txt": "" for k in range(3000)}, **CANVAS},
        "passed over: 2,980 more.",
    ),
    "an odd name": ({f"{ADA}CON:\x07 <script>.ipynb": "x"}, ""),
    "a name that is the number of another": (
        {
            "1235_1234_901_01_copying.ipynb": "x",
            "lee_1235_1234_902_01_copying.ipynb": "x",
            **CANVAS,
        },
        "can be read as the file of one student or of another",
    ),
    "a name that is the number of another, late": (
        {"lee_1235_99999999_LATE_1234_901_01_copying.ipynb": "x", **CANVAS},
        "can be read as the file of one student or of another",
    ),
    "a name that is the number of another, small numbers": (
        {"lee_1235_7_88_901_01_copying.ipynb": "x", **CANVAS},
        "can be read as the file of one student or of another",
    ),
    "a name that is the number of another, typed": (
        {"lee_1235_1234_text.html": "x", "lee_1235_1234_link.html": "x", **CANVAS},
        "can be read as the file of one student or of another",
    ),
    "files named as our folders": (
        {f"{ADA}earlier": "x", f"{ADA}copies": "x", f"{ADA}01_copying-1.ipynb": "x", **CANVAS},
        "earlier_",
    ),
    "a crowd of notebooks": ({f"{ADA}a.zip": many(101), **CANVAS}, "more than 100 notebooks"),
    "a formula": ({"=cmd_1234_901_01_copying.ipynb": "x", **CANVAS}, "is not named as Canvas"),
}


def test_no_name_of_a_file_makes_it_that_of_another_student_of_moodle(download):
    files = {
        "Zoë Åberg_502_assignsubmission_file_01_copying.ipynb": text_of(1),
        f"Ada Lovelace_501_assignsubmission_file_x_502_assignsubmission_file_{NAME}.ipynb": "x",
    }
    status, said, out = download(files, "moodle", *download.roster)
    assert status == 1 and "can be read as the file of one student or of another" in said
    assert held(out) == {"zoe/01_copying.ipynb": text_of(1)}


def test_no_student_of_gradescope_says_whose_the_others_work_is(download):
    turned = METADATA.replace("submission_11", "submission_0").replace("_12", "_11")
    files = {
        **GRADESCOPE,
        "assignment_77_export/submission_12/submission_metadata.yml": turned,
    }
    _, _, out = download(files, "gradescope", *download.roster)
    assert held(out)["ada/01_copying.ipynb"] == text_of(1)
    assert held(out)["zoe/01_copying.ipynb"] == text_of(2)


@pytest.mark.parametrize("name", ["Ann-5", "Ann-6", "collected.csv", "=1+1"])
def test_no_name_leads_to_the_folder_of_another_or_to_our_own_file(download, name):
    who = {5: "Ann", 6: "Ann", 7: name}
    files = {
        f"{who[number]}_{number}_assignsubmission_file/01_copying.ipynb": text_of(number)
        for number in who
    }
    _, _, out = download(files, "moodle")
    found = held(out)
    assert len(found) == 3 and set(found.values()) == set(files.values())
    assert len({path.partition("/")[0] for path in found}) == 3 and (out / COLLECTED).is_file()
    cells = {cell for row in rows(out).values() for cell in row.values()}
    assert not any(cell.startswith("=") for cell in cells)


def test_no_name_makes_a_student_another_whose_number_is_known(download):
    files = {**CANVAS, "lovelaceada_999_905_01_copying.ipynb": text_of(9)}
    status, message, out = download(files, "canvas", *download.roster)
    assert held(out)["ada/01_copying.ipynb"] == text_of(1)
    assert status == 1 and "not in the roster: lovelaceada" in message
    alone = {"lovelaceada_999_905_01_copying.ipynb": text_of(9)}
    _, _, out = download(alone, "canvas", *download.roster)
    assert held(out)["ada/01_copying.ipynb"] == text_of(1)


@pytest.mark.parametrize("submitters", ["ada", "5", "[1, null, ada]", "{}"])
def test_odd_metadata_of_gradescope_costs_nobody_the_collection(download, submitters):
    yml = METADATA.replace("[]", submitters).replace("2026-11-20 23", "0001-01-01 00")
    yml = yml.replace("58:01.123456 -08:00", "00:00 +14:00")
    status, message, out = download({**GRADESCOPE, TABLE: yml}, "gradescope", *download.roster)
    assert status == 1 and "Traceback" not in message
    assert {"ada/01_copying.ipynb", "submission_13/01_copying.ipynb"} <= set(held(out))
    assert rows(out)["ada/01_copying.ipynb"]["handed_in"] == ""


def test_a_file_that_cannot_be_written_costs_nobody_else_the_collection(download):
    _, _, out = download({f"{ADA}x.ipynb": "x"}, "canvas")
    (out / "vandyklee").write_text("a file where a folder should be")
    status, message, _ = download(CANVAS, "canvas")
    assert status == 1 and "NOT collected: it cannot be written" in message
    assert len(held(out)) == len(CANVAS) + 1


def test_two_members_of_one_name_in_a_students_archive_are_both_kept(download):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("01_copying.ipynb", text_of(1))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("01_copying.ipynb", text_of(2))
    _, _, out = download({f"{ADA}work.zip": target.getvalue()}, "canvas", *download.roster)
    assert sorted(held(out).values()) == [text_of(1), text_of(2)]


def test_two_names_of_one_number_are_one_student_and_numbers_alike_are_two():
    lms_ids = ["5", "5", "a/b", "a:b"]
    students = [lms.Student(lms_id, "Ann", f"{k}@x.edu") for k, lms_id in enumerate(lms_ids)]
    known = Roster({"ann": RosterRow("ann", "Ann")})
    one, again, *others = collect.folder_names(students, known).values()
    assert one == again and len({one, *others}) == 3


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_hostile_leaves_the_folder_or_stops_the_others(download, tmp_path, what):
    files, sentence = HOSTILE[what]
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    status, said, out = download(files, "canvas", *download.roster)
    assert sentence in said and status in (0, 1, 2) and "Traceback" not in said
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    made -= {tmp_path / "submissions.zip"}
    assert all(path.is_relative_to(out) and not path.is_symlink() for path in made)
    for path in made - {out / COLLECTED}:
        assert path.relative_to(out).parts[0] in ("ada", "lee", "zoe")
        assert all(letter.isprintable() for letter in path.name)
    if len(files) > 2:
        assert "ada/02_average_of_two.ipynb" in held(out)


def test_an_encrypted_or_damaged_file_is_named(download, tmp_path):
    _, _, _ = download({"lovelaceada_1234_901_01_copying.ipynb": "x" * 1000}, "canvas", "--dry-run")
    path = tmp_path / "submissions.zip"
    data = bytearray(path.read_bytes())
    data[60:70] = b"\xff" * 10
    path.write_bytes(data)
    assert cli.main(["collect", str(path), "--from", "canvas", "--out", str(tmp_path / "o")]) == 1
    data[6] = data[data.index(b"PK\x01\x02") + 8] = 1
    path.write_bytes(data)
    assert cli.main(["collect", str(path), "--from", "canvas", "--out", str(tmp_path / "p")]) == 1
    assert held(tmp_path / "o") == held(tmp_path / "p") == {}


def test_a_folder_that_a_browser_has_unpacked_is_read_too(tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    for name, content in CANVAS.items():
        (folder / name).write_text(content, "utf-8")
    os.symlink(tmp_path, folder / "link")
    out = tmp_path / "out"
    assert cli.main(["collect", str(folder), "--from", "canvas", "--out", str(out)]) == 0
    assert len(held(out)) == 4


def damaged(*, method):
    """An archive in which the packed bytes of the first file are overwritten."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.writestr("01_copying.ipynb", random.Random(0).randbytes(1000))
    data = bytearray(target.getvalue())
    data[46:60] = b"\xff" * 14
    return bytes(data)


METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@pytest.mark.parametrize("method", METHODS)
def test_a_damaged_member_of_any_kind_costs_nobody_else_the_collection(download, method):
    files = {**CANVAS, "damagedann_77_99999_work.zip": damaged(method=method)}
    status, message, out = download(files, "canvas")
    assert status == 1 and "Traceback" not in message
    assert "NOT collected: it is damaged." in message
    assert len(held(out)) == len(CANVAS)


def nameless():
    """An archive with a member that has no name, as `zipfile` itself would never write it."""
    made = zipped({"x": "hello", "01_copying.ipynb": text_of(7)})
    data = bytearray(made)
    for signature, length in ((b"PK\x03\x04", 26), (b"PK\x01\x02", 28)):
        start = data.index(signature)
        name = data.index(b"x", start + length + 2)
        data[start + length : start + length + 2] = b"\0\0"
        # What was the name becomes a field that readers pass over.
        extra = start + length + 2
        data[extra : extra + 2] = b"\x01\0"
        assert data[name : name + 1] == b"x"
    return bytes(data)


def test_a_member_without_a_name_costs_nobody_else_the_collection(download, tmp_path):
    with zipfile.ZipFile(io.BytesIO(nameless())) as archive:
        assert archive.infolist()[0].filename == ""
    files = {**CANVAS, "oddann_77_99999_work.zip": nameless()}
    status, message, out = download(files, "canvas")
    assert status == 0 and "Traceback" not in message
    assert held(out)["oddann/01_copying.ipynb"] == text_of(7)
    path = tmp_path / "outer.zip"
    path.write_bytes(nameless())
    assert cli.main(["collect", str(path), "--from", "canvas", "--out", str(tmp_path / "o")]) == 2


def test_a_user_of_canvas_without_a_word_in_their_name_is_not_taken_for_another(download):
    files = {**CANVAS, "_1236_90121_a_1235_9_01_copying.ipynb": text_of(8)}
    _, _, out = download(files, "canvas", *download.roster)
    sources = {row["source"]: row["lms_id"] for row in rows(out).values()}
    assert sources["_1236_90121_a_1235_9_01_copying.ipynb"] == "1236"
    assert held(out)["zoe/01_copying.ipynb"] == text_of(3)


def test_the_list_of_files_of_a_large_archive_has_the_same_limit(download):
    inner = zipped({f"{number}.ipynb": "" for number in range(20_000)})
    end = inner.rindex(b"PK\x05\x06")
    size, start = struct.unpack("<LL", inner[end + 12 : end + 20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 20_000, 20_000, size, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0, 0, 0, 0, 0)
    evading = inner[:end] + record + locator + tail
    with zipfile.ZipFile(io.BytesIO(evading)) as archive:
        assert len(archive.namelist()) == 20_000  # other programs read all of them
    _, message, _ = download({f"{ADA}a.zip": evading, **CANVAS}, "canvas")
    assert "this archive holds too many files." in message


def test_a_file_of_an_unpacked_download_has_the_same_limit(tmp_path, capsys):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    with open(folder / "lovelaceada_1234_901_01_copying.ipynb", "wb") as file:
        file.truncate(collect.MAX_FILE + 1)
    out = tmp_path / "out"
    assert cli.main(["collect", str(folder), "--from", "canvas", "--out", str(out)]) == 1
    assert "NOT collected: it is larger than 100 MB." in capsys.readouterr().out


def test_another_email_is_another_person_whatever_number_and_name_they_claim(download):
    claimed = METADATA.replace(":email: ada@x.edu", ":email: mallory@y.edu")
    _, message, out = download({**GRADESCOPE, TABLE: claimed}, "gradescope", *download.roster)
    assert "ada/01_copying.ipynb" not in held(out)
    assert "not in the roster: mallory@y.edu" in message


@pytest.mark.parametrize("name", ["HW1_Fatima.ipynb", "Untitled.ipynb", "02 (final).ipynb"])
def test_a_notebook_is_recognised_by_its_cells_whatever_its_name(download, name):
    made = json.dumps(classroom.notebook("01_copying"))
    status, _, out = download({f"lovelaceada_1234_901_{name}": made}, "canvas", *download.roster)
    assert status == 0 and list(held(out)) == ["ada/01_copying.ipynb"]


def test_what_is_no_notebook_is_named_with_its_student_and_kept(download):
    files = {
        "lovelaceada_1234_901_answer.html": "<p>1.1</p>",
        "åbergzoë_LATE_1235_text.html": "typed",
        "vandyklee_1236_904_Untitled.ipynb": text_of(4),
    }
    status, message, out = download(files, "canvas", *download.roster)
    assert set(held(out)) == {"ada/answer.html", "lee/Untitled.ipynb", "zoe/text.html"}
    assert status == 1 and message.count("new; no notebook of the course") == 3
    assert rows(out)["zoe/text.html"]["late"] == "yes"


def test_what_is_no_notebook_is_listed_for_its_student_beside_a_notebook_too(tmp_path):
    for name in ("ada/answer.pdf", "ada/photo.jpeg", "zoe/01_copying.ipynb", "zoe/notes.html"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    _, files = find(tmp_path, ["01_copying", "02_average_of_two"])
    listed = {(file.student, file.name): file for file in files}
    for name in ("answer.pdf", "photo.jpeg"):
        assert "no notebook" in listed["ada", name].problem
        assert "a person" in listed["ada", name].problem
    assert listed["zoe", "notes.html"].problem.startswith("handed in too")
    book = Gradebook(["ada"], ["01_copying"], [listed["ada", "answer.pdf"]], unread)
    sheet = book.sheet("ada")
    assert NOTHING not in sheet.problems and sheet.problems[0].startswith("answer.pdf: ")
    assert sheet.total() is None and "problem" in kinds(sheet)


def unread(key):
    return Record(*key, "", problem=NO_NOTEBOOK)


@needs_browser
@needs_sandbox
@pytest.mark.parametrize(
    ("name", "photo", "above", "place"),
    [("canvas", 0, 2, 2), ("moodle", 1000, 1, 0), ("gradescope", 0, 1, 2)],
)
def test_a_class_goes_from_the_archive_of_an_lms_to_its_file(
    tmp_path, capsys, name, photo, above, place
):
    """above: lines above the students. place: of the institution's number."""
    rows_of, expected, _ = bench.lms.day(tmp_path, 4, name, photo)
    columns = [rows_of[0].index(notebook) for notebook in bench.lms.NOTEBOOKS]
    table = rows_of[above:]
    assert [row[place] for row in table] == [str(9000 + number) for number in range(4)]
    for row, points in zip(table, expected.values(), strict=True):
        assert sum(float(row[column]) for column in columns) >= points
    assert bench.lms.sizes(tmp_path / "graded")["the largest page"] < 0.5
    output = capsys.readouterr().out
    for text in output.split("The most frequent mistakes:\n")[1:]:
        assert 1 <= len(re.findall(r"^ +\d of 4  [12]\.\d: .", text, re.M)) <= 5
    assert output.count("The most frequent mistakes:\n") == 2  # at the first run and with marks


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere.zip", "--from", "canvas"], "there is no file nowhere.zip."),
        (["text", "--from", "canvas"], "text is not a zip archive."),
        (["canvas.zip", "--from", "moodle"], "is not a download of Moodle: "),
        (["canvas.zip", "--from", "gradescope"], "there is no submission_metadata.yml in it."),
        (["canvas.zip", "--from", "canvas", "--worksheet", "text"], "--worksheet is Moodle's"),
        (["canvas.zip", "--from", "blackboard"], "'blackboard' is not one of 'canvas', 'moodle'"),
    ],
)
def test_what_is_no_download_gets_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("hello")
    zipped(CANVAS, tmp_path / "canvas.zip")
    assert cli.main(["collect", *words, "--out", "out"]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1 and not (tmp_path / "out").exists()
