"""README and docs/: short enough to be read, and every link leads somewhere."""

import re

import pytest
from course import ROOT

from attn_course.building import headings, published_links
from attn_grader.sandbox import Limits

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / ".github").glob("*.md")]
)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def anchors(text):
    """The anchors of a page, as GitHub makes them from its headings."""
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    text = CODE.sub("", page.read_text("utf-8"))
    for found in LINK.findall(text):
        address = found[0] or found[1]
        if re.match(r"https?://|mailto:", address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.relative_to(ROOT)}: {address}"
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), f"{page.name}: {address}"


PUBLISHED = 17  # notebooks; the line of one that is added does not count


def num_words(text):
    """How many words a reader sees."""
    shown = re.sub(r"<!--.*?-->|<[^<>]+>|\]\([^)]*\)", " ", text, flags=re.S)
    return len(re.findall(r"\w[\w'’.-]*", shown))


def test_readme_can_be_read_in_three_minutes():
    text = (ROOT / "README.md").read_text("utf-8")
    lines = re.findall(r"^- \[\d\d .*$", text, re.M)
    assert all(num_words(line) <= 32 for line in lines), "shorten the line behind > in its source"
    for line in lines[PUBLISHED:]:
        text = text.replace(line, "")
    for repository in ("", "https://github.com/owner/attention-course"):
        ways = published_links.ways_in(repository)
        assert num_words(headings.fill_region(text, "start", ways)) <= 700


def test_every_page_of_the_docs_is_linked_from_readme_or_contributing():
    texts = [(ROOT / name).read_text("utf-8") for name in ("README.md", "CONTRIBUTING.md")]
    for page in (ROOT / "docs").glob("*.md"):
        assert any(f"docs/{page.name}" in text for text in texts), page.name


def test_the_guide_to_grading_says_the_limits_that_are_set():
    text = (ROOT / "docs" / "grading.md").read_text("utf-8")
    assert f"`--timeout {Limits.total:g}` `--memory {Limits.memory >> 20}`" in text
