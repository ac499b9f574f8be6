"""What runs elsewhere: workflows, Binder, a dev container, Docker. Valid, and naming what is there."""

import json
import re
import tomllib

import check_jsonschema
import pytest
from click.testing import CliRunner
from course import ROOT

GITHUB = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
GITLAB = ROOT / ".gitlab-ci.yml"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("files", "schema"),
    [
        (GITHUB, ("vendor.github-workflows",)),
        ([GITLAB], ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")),
    ],
    ids=["GitHub", "GitLab"],
)
def test_pipelines_follow_their_schema(files, schema):
    """The schemas are part of check-jsonschema; nothing is fetched."""
    arguments = ["--builtin-schema", *schema, *map(str, files)]
    done = CliRunner().invoke(check_jsonschema.main, arguments)
    assert done.exit_code == 0, done.output


PIPELINES = {path.name: path.read_text("utf-8") for path in (*GITHUB, GITLAB)}


@pytest.mark.parametrize("name", ["tests.yml", ".gitlab-ci.yml"])
def test_both_pipelines_test_every_python_from_the_oldest_allowed_and_the_floors(name):
    text = PIPELINES[name]
    assert '["3.11", "3.12", "3.13", "3.14"]' in text
    assert "-c requirements/minimum.txt ." in text
    assert "tests/run_without_kernel.py solutions/0[0-5]_*.ipynb" in text


def test_every_file_and_target_that_is_named_is_there():
    texts = [*PIPELINES.values(), DOCKERFILE, CONTAINER["postCreateCommand"]]
    named = "\n".join(texts)
    files = set(re.findall(r"(?<![\w/.])(?:tests/\w+\.py|requirements/\w+\.txt|\.ci/\w+)", named))
    assert len(files) >= 4
    assert all((ROOT / file).is_file() for file in files), files
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"\bmake (\w+)", named)):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_binder_installs_the_core_and_the_sliders_alone():
    lines = (ROOT / ".binder" / "requirements.txt").read_text("utf-8").splitlines()
    wanted = [line for line in lines if not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lab = project["optional-dependencies"]["lab"]
    (sliders,) = (package for package in lab if package.startswith("ipywidgets"))
    assert wanted == [".", sliders]


def test_a_dev_container_uses_the_environment_that_make_sets_up():
    settings = CONTAINER["customizations"]["vscode"]["settings"]
    assert settings["python.defaultInterpreterPath"].endswith("/.venv/bin/python")
    (opened,) = CONTAINER["customizations"]["codespaces"]["openFiles"]
    assert (ROOT / opened).is_file()


def test_the_image_for_graders_starts_without_privileges():
    users = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.M)
    assert len(users) == 1 and int(users[0]) > 0
    assert DOCKERFILE.index("USER") > DOCKERFILE.rindex("RUN")


def test_the_image_for_graders_has_what_grading_needs_in_the_versions_of_the_lock():
    assert '-c requirements/lock.txt -e ".[torch,grade]"' in DOCKERFILE
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert ".venv*" in ignored and "solutions" not in ignored
