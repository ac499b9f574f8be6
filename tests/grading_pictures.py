"""Makes docs/images/grading-*.png: the grader's pages of a small class, in the light theme.

`python tests/grading_pictures.py`. The class is that of tests/bench/lms.py; it needs Chromium.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))

from bench.lms import archive_of
from chromium import Browser
from course import ROOT

from attn_course import cli

SIZE = 9  # students
PAGES = {  # name: page, width, height
    "grading-class": ("index.html", 900, 620),
    "grading-feedback": ("students/s006.html", 800, 520),
    "grading-written": ("questions/1.7.html", 1000, 760),
}


def graded_class(folder):
    """Grade a class from the archive of an LMS; return the folder of its pages."""
    archive_of(folder, SIZE)
    roster = ["--roster", str(folder / "roster.csv")]
    submissions, graded = str(folder / "submissions"), folder / "graded"
    collect = ["collect", str(folder / "submissions.zip"), "--from", "canvas", "--out", submissions]
    assert cli.main([*collect, *roster]) == 0
    assert cli.main(["grade", submissions, "--out", str(graded), *roster]) in (0, 1)
    return graded


def main():
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        graded = graded_class(folder)
        browser = Browser(folder)
        try:
            for name, (page, width, height) in PAGES.items():
                browser.look("light", width, height)
                browser.open(graded / page)
                if name == "grading-written":  # give the first answer an item of the rubric
                    browser.run("grader.value = 'Eve'; grader.dispatchEvent(new Event('input'))")
                    browser.press("j", ord("J"))
                    browser.press("1", ord("1"))
                browser.picture(folder / "picture.png")
                picture = Image.open(io.BytesIO((folder / "picture.png").read_bytes()))
                colours = picture.convert("RGB").quantize(64)
                colours.save(ROOT / "docs" / "images" / f"{name}.png", optimize=True)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
