"""Links, badges, project addresses and the set-up cell, all from one setting: where the course is published.

The setting is `repository` under [tool.attn] in pyproject.toml; unset, links and badges are left out, and the
set-up cell of a notebook only says that the course is missing where it is.
"""

import re
import tomllib
from pathlib import Path
from urllib.parse import quote

from attn_course import register
from attn_course.errors import UserError

BRANCH = "main"
GITHUB = "https://github.com/"
SETUP_ID = "set-up"
PROGRESS_ID = "progress"
MADE_BY_BUILD = {SETUP_ID, PROGRESS_ID}  # ids of the cells that no source holds
PROGRESS = "progress()  # how far you are, and what is next"
SETUP = """\
# Does nothing where the course is installed; elsewhere, as on Colab or Kaggle, it fetches what is missing.
import subprocess
import sys
from importlib.util import find_spec

if find_spec("attn_course") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "attention-course @ git+{repository}"], capture_output=True)
try:
    from attn_course.missing_packages import install_missing
except ModuleNotFoundError:
    message = "The course could not be fetched: switch the internet on and run this cell again."
    raise SystemExit(message) from None
from attn_course import progress, solution

install_missing({extra})"""
UNPUBLISHED_SETUP = """\
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    raise SystemExit(
        "This notebook needs the attention course, which is not installed here. Download the whole course, "
        "run `make lab` in its folder, and open this notebook there."
    )
from attn_course import progress, solution"""
FIRST = f"notebooks/{register.NOTEBOOKS[0]}.ipynb"
# A link or picture of README that is a file of the course, whether its address is written out or not.
FILE_LINK = re.compile(
    rf'(\]\(|src="|srcset=")(?:https://(?:[^/\s"]+/){{3}}(?:blob|raw)/{BRANCH}/)?((?!https?:|#)[^)"\s]+)'
)
PROJECT_URLS = re.compile(r"\[project\.urls\].*?\n\n", re.S)


def _project(root):
    """Return what pyproject.toml in this folder says, or nothing where there is none."""
    path = root / "pyproject.toml"
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def version_of(root: Path) -> str:
    """Return the version of the course in this folder, which every notebook carries, or ""."""
    return _project(root).get("project", {}).get("version", "")


def repository_of(root: Path) -> str:
    """Return where the course in this folder is published, as "https://github.com/owner/name", or ""."""
    repository = _project(root).get("tool", {}).get("attn", {}).get("repository", "")
    address = repository.rstrip("/").removesuffix(".git")
    if address and "://" not in address:
        raise UserError(f'repository = "{repository}" in pyproject.toml is no address, https://...')
    return address


def setup_cell(repository: str, notebook: str) -> str:
    """Return the source of the cell that brings the course, with the extra that `notebook` needs."""
    if not repository:
        return UNPUBLISHED_SETUP
    extra = '"torch"' if register.needs_torch(notebook) else ""
    return SETUP.format(repository=repository, extra=extra)


def links(repository: str, notebook: str) -> str:
    """Return a line for a notebook's head: where it can be opened without installing anything."""
    path = f"notebooks/{notebook}.ipynb"
    places = _places(repository, path)
    if register.needs_torch(notebook):
        places.pop("Binder", None)  # the image there has the core only
    if not places:
        return ""
    named = [f"[{name}]({address})" for name, address in places.items()]
    return f"Open in {' · '.join(named)}"


def ways_in(repository: str) -> str:
    """Return README's badges and its ways to start, without one that does not work for this repository."""
    lines = []
    if repository.startswith(GITHUB):
        tests = f"{repository}/actions/workflows/tests.yml"
        first = f"{site_address(repository)}/browser/index.html?notebook={register.NOTEBOOKS[0]}"
        colab = _places(repository, FIRST)["Colab"]
        lines += [
            f"[![tests]({tests}/badge.svg)]({tests})",
            "",
            f"- **In your browser**, nothing to install: [notebooks 00 to 05]({first}), "
            f"or [in Colab]({colab}).",
        ]
    if repository:
        source = f"attention-course[lab,torch] @ git+{repository}"
        clone = f"`git clone {repository} attention-course`, then `make lab` in that folder"
    else:
        source = ".[lab,torch]"
        clone = "download or clone this repository, then `make lab` in its folder"
    with_pip = f'`pip install "{source}"`{"" if repository else " in that folder"}'
    lines += [
        f"- **From a clone** (Python 3.11 to 3.14 and `make`): {clone}.",
        f"- **With pip**: {with_pip}, then `attn init my-course` and `attn lab my-course`.",
        "",
        "`attn update` brings a newer edition and keeps your answers.",
    ]
    return "\n".join(lines)


def with_addresses(readme: str, repository: str) -> str:
    """Return README with the address of each file it links to, which a package index can follow."""

    def linked(match: re.Match[str]) -> str:
        kind = "blob" if match[1] == "](" else "raw"
        return (
            f"{match[1]}{repository}/{kind}/{BRANCH}/{match[2]}"
            if repository
            else match[1] + match[2]
        )

    return FILE_LINK.sub(linked, readme)


def site_address(repository: str) -> str:
    """Return the address at which GitHub publishes the site of a repository."""
    owner, _, name = repository.removeprefix(GITHUB).partition("/")
    return f"https://{owner}.github.io/{name}"


def write_project_urls(text: str, repository: str) -> str:
    """Return pyproject.toml's `text` with its table of addresses, or without one if nothing is published."""
    text = PROJECT_URLS.sub("", text)
    if not repository:
        return text
    table = (
        "[project.urls]  # written by attn build from `repository`\n"
        f'Repository = "{repository}"\n'
        f'Issues = "{repository}/issues"\n'
        f'Changelog = "{repository}/blob/{BRANCH}/CHANGELOG.md"\n\n'
    )
    return text.replace("[project.scripts]", f"{table}[project.scripts]", 1)


def _places(repository: str, path: str) -> dict[str, str]:
    """Return {name of a service: the address that opens the file there}; they read from GitHub alone."""
    if not repository.startswith(GITHUB):
        return {}
    name = repository.removeprefix(GITHUB)
    blob = f"{name}/blob/{BRANCH}/{path}"
    labpath = quote(path, safe="")
    return {
        "Colab": f"https://colab.research.google.com/github/{blob}",
        "Kaggle": f"https://kaggle.com/kernels/welcome?src={GITHUB}{blob}",
        "Binder": f"https://mybinder.org/v2/gh/{name}/{BRANCH}?labpath={labpath}",
    }
