"""One setting, `repository`: with it every notebook opens anywhere, without it nothing is promised."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
from course import ROOT
from test_building import edit, project  # noqa: F401 - a fixture

from attn_course.building import build, published_links
from attn_course.errors import UserError

ADDRESS = "https://github.com/someone/attention"


def publish(folder, address):
    setting = f'[project.scripts]\n\n[tool.attn]\nrepository = "{address}"\n'
    (folder / "pyproject.toml").write_text(setting, "utf-8")


def head_and_setup(folder, edition="notebooks"):
    """The texts of a notebook's first cell and of its first code cell, which is the set-up cell."""
    text = (folder / edition / "00_start_here.ipynb").read_text("utf-8")
    head, *others = json.loads(text)["cells"]
    setup = next(cell for cell in others if cell["cell_type"] == "code")
    assert setup["id"] == published_links.SETUP_ID and setup["outputs"] == []
    return "".join(head["source"]), "".join(setup["source"])


@pytest.fixture
def published(project, monkeypatch):  # noqa: F811
    """The course in a folder, published; nothing may be executed to get there."""
    publish(project, f"{ADDRESS}.git")
    monkeypatch.setattr(build, "execute", lambda *anything: pytest.fail("a notebook was executed"))
    list(build.build(project))
    return project


@pytest.mark.parametrize("address", ["", None])
def test_unset_no_link_is_added_and_the_first_cell_only_says_what_is_missing(project, address):  # noqa: F811
    if address is not None:
        publish(project, address)
    list(build.build(project))
    head, setup = head_and_setup(project)
    assert "pip" not in setup
    assert "Open in" not in (project / "README.md").read_text("utf-8") + head


@pytest.mark.parametrize("edition", ["notebooks", "solutions"])
def test_set_the_first_code_cell_brings_the_course(published, edition):
    _, setup = head_and_setup(published, edition)
    assert f"attention-course @ git+{ADDRESS}" in setup


def test_set_the_head_and_readme_say_where_it_can_be_opened(published):
    head, _ = head_and_setup(published)
    readme = (published / "README.md").read_text("utf-8")
    place = "someone/attention/blob/main/notebooks/00_start_here.ipynb"
    assert f"[Colab](https://colab.research.google.com/github/{place})" in head
    assert "[Kaggle](" in head and "[Binder](" in head
    assert f"(https://colab.research.google.com/github/{place})" in readme
    assert f"{ADDRESS}/actions/workflows/tests.yml/badge.svg" in readme
    site = "https://someone.github.io/attention"
    assert f"[notebooks 00 to 05]({site}/browser/index.html?notebook=00_start_here)" in readme


def test_set_readme_can_be_read_on_a_package_index_and_unset_it_is_as_before():
    readme = (ROOT / "README.md").read_text("utf-8")
    published = published_links.with_addresses(readme, ADDRESS)
    assert f'src="{ADDRESS}/raw/main/docs/images/plane-light.png"' in published
    assert f'srcset="{ADDRESS}/raw/main/docs/images/plane-dark.png"' in published
    assert f"]({ADDRESS}/blob/main/docs/install.md)" in published
    targets = re.findall(r'(?:\]\(|src="|srcset=")([^)"\s]+)', published)
    assert all(target.startswith("https://") for target in targets)
    elsewhere = published_links.with_addresses(published, "https://git.example.org/a/b")
    assert ADDRESS not in elsewhere
    for text in (readme, published, elsewhere):
        assert published_links.with_addresses(text, "") == readme
        assert published_links.with_addresses(text, ADDRESS) == published
    colab = f"[Colab]({published_links.links(ADDRESS, '00_start_here').partition('[Colab](')[2]}"
    assert published_links.with_addresses(colab, "") == colab


def test_readme_promises_no_way_in_that_does_not_work():
    unset = published_links.ways_in("")
    assert "<" not in unset and "browser" not in unset and unset.count("\n- ") == 1
    assert "download or clone this repository, then `make lab`" in unset
    elsewhere = published_links.ways_in("https://git.example.org/a/b")
    assert "Colab" not in elsewhere and "`git clone https://git.example.org/a/b" in elsewhere
    assert f"@ git+{ADDRESS}" in published_links.ways_in(ADDRESS)


def test_set_the_project_has_its_addresses_and_unset_it_has_none(published):
    declared = published / "pyproject.toml"
    urls = tomllib.loads(declared.read_text("utf-8"))["project"]["urls"]
    assert urls["Issues"] == f"{ADDRESS}/issues"
    publish(published, "")
    list(build.build(published))
    assert "urls" not in tomllib.loads(declared.read_text("utf-8")).get("project", {})


WITHOUT_THE_COURSE = """
import importlib.util, sys
importlib.util.find_spec = lambda name: None
exec(sys.argv[1])
"""


def test_a_notebook_without_the_course_says_in_its_first_cell_how_to_get_it(project):  # noqa: F811
    _, setup = head_and_setup(project)
    command = [sys.executable, "-c", WITHOUT_THE_COURSE, setup]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "make lab" in done.stderr
    assert done.stderr.startswith("This notebook needs the attention course")


def test_a_published_course_is_checked_for_drift_like_any_other(published):
    assert build.problems(published) == []
    edit(published / "notebooks/00_start_here.ipynb", "someone/attention", "someone/else")
    assert build.problems(published)


def test_numpy_notebooks_ask_for_the_core_and_the_others_for_torch():
    core, torch = "05_keys_queries_values", "06_transformer_attention"
    assert published_links.setup_cell(ADDRESS, core).endswith("install_missing()")
    assert published_links.setup_cell(ADDRESS, torch).endswith('install_missing("torch")')
    assert "Binder" in published_links.links(ADDRESS, core)
    assert "Binder" not in published_links.links(ADDRESS, torch)


def test_only_services_that_can_read_the_address_are_linked():
    assert published_links.links("https://git.example.org/a/b", "01_copying") == ""


def test_a_setting_that_is_no_address_is_one_sentence(tmp_path):
    publish(tmp_path, "someone/attention")
    with pytest.raises(UserError, match="is no address"):
        published_links.repository_of(tmp_path)


def run_setup(notebook="06_transformer_attention"):
    exec(published_links.setup_cell(ADDRESS, notebook), {})


def test_where_the_course_is_installed_the_cell_is_silent_and_starts_nothing(monkeypatch, capsys):
    monkeypatch.setattr(subprocess, "run", lambda *anything, **options: pytest.fail("pip ran"))
    run_setup()
    assert capsys.readouterr() == ("", "")


def test_where_nothing_can_be_fetched_the_cell_says_one_sentence(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda *anything, **options: None)
    monkeypatch.setitem(sys.modules, "attn_course.missing_packages", None)
    with pytest.raises(SystemExit, match="could not be fetched"):
        run_setup()


def test_the_course_is_fetched_without_its_dependencies(monkeypatch):
    asked = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(subprocess, "run", lambda command, **options: asked.append(command))
    run_setup("01_copying")
    assert asked[0][-2:] == ["--no-deps", f"attention-course @ git+{ADDRESS}"]
