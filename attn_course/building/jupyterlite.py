"""The browser edition: notebooks without torch in JupyterLite, with everything they need beside them.

Made are a small wheel of the course, a lock that names every package Pyodide loads (so that nothing is
resolved in the reader's browser), JupyterLite itself, and a page around it that keeps a reader's answers.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attn_course import register
from attn_course.building.published_links import SETUP_ID
from attn_course.errors import UserError

PAGE = Path(__file__).parent / "site" / "browser"
# What `check`, `hint`, `derive` and the figures of notebooks without torch are made of.
COURSE = (
    "attn_utils/*.py",
    "attn_course/*.py",
    "attn_course/answers/*.py",
    "attn_course/figures/**/*",
    "attn_course/proofs/*.py",
    "attn_course/questions/*.py",
    "attn_course/runs/sentence_maps.json",
    "attn_course/training/*.py",
    "attn_course/translation/*.py",
    "attn_course/workspace/*.py",
)
# What is loaded before the first cell runs. matplotlib is in the lock for whoever imports it.
PRELOADED = (
    "attention-course",
    "ipykernel",
    "comm",
    "pyodide-kernel",
    "jedi",
    "ipython",
    "ipywidgets",
)
LAZY = ("matplotlib",)
# The wheels to take from JupyterLite, and the needs of wheels that Pyodide's own lock does not list.
FROM_LITE = ("ipykernel-", "piplite-", "pyodide_kernel-")
NEEDS = {
    "attention-course": ["numpy", "sympy"],
    "ipywidgets": ["comm", "ipython", "jupyterlab-widgets", "traitlets"],
    "piplite": ["micropip"],
    "pyodide-kernel": ["ipython", "comm"],
}
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
INSTALLATION = """\
# Does nothing where the course is installed.
from importlib.util import find_spec

if find_spec("attn_course") is None:
    import piplite

    await piplite.install(["attention-course", "ipywidgets", "numpy", "sympy"])
from attn_course import progress, solution"""
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)


def notebooks() -> list[str]:
    """Return the notebooks that run in a browser."""
    return [name for name in register.NOTEBOOKS if not register.needs_torch(name)]


def make_browser_edition(root: Path, out: Path, lite: Path, pyodide: Path | None) -> None:
    """Write the edition into the folder `out`.

    lite: the command jupyter-lite. pyodide: an unpacked release of Pyodide, with the wheels it lists; None
    leaves JupyterLite to load Pyodide from its public address, and a cell to install the course's wheel.
    """
    if pyodide:
        for name in (*RUNTIME, "pyodide-lock.json"):
            if not (pyodide / name).is_file():
                raise UserError(f"{pyodide} is no release of Pyodide: {name} is missing.")

    shutil.rmtree(out, ignore_errors=True)
    contents = out / "contents"
    contents.mkdir(parents=True)
    for name in notebooks():
        text = (root / "notebooks" / f"{name}.ipynb").read_text("utf-8")
        served = text if pyodide else _with_installation(text)
        (contents / f"{name}.ipynb").write_text(served, "utf-8")
    wheel = write_wheel(root, contents, out)
    _build_lite(lite, out, contents, wheel)
    shutil.rmtree(contents)
    site = out / "lite"
    if pyodide:
        _serve_pyodide(wheel, site, pyodide, lite)
    wheel.unlink()
    _configure(site, is_served=pyodide is not None)
    course = {"notebooks": notebooks(), "installation": "" if pyodide else INSTALLATION}
    # Below api/, which the cache leaves alone.
    (site / "api" / "course.json").write_text(json.dumps(course), "utf-8")
    for path in PAGE.iterdir():
        shutil.copy(path, out)


def _with_installation(notebook: str) -> str:
    """Return a notebook whose set-up cell installs the wheel that JupyterLite serves."""
    document = json.loads(notebook)
    for cell in document["cells"]:
        if cell["id"] == SETUP_ID:
            cell["source"] = INSTALLATION
    return json.dumps(document, indent=1, ensure_ascii=False)


def _build_lite(lite: Path, out: Path, contents: Path, wheel: Path) -> None:
    command = [lite, "build", "--apps", "notebooks", "--contents", contents, "--no-libarchive"]
    command += ["--piplite-wheels", wheel]
    _run([*command, "--output-dir", out / "lite", "--lite-dir", out])
    for path in (out / "lite").rglob("*.map"):  # for debuggers of JupyterLite; half of its size
        path.unlink()
    (out / ".jupyterlite.doit.db").unlink(missing_ok=True)


def _run(command: list[Any]) -> str:
    """Return what a command prints; raise UserError with its last line if it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise UserError(f"{Path(command[0]).name} {command[1]} failed: {lines[-1]}")
    return done.stdout


def _serve_pyodide(wheel: Path, site: Path, pyodide: Path, lite: Path) -> None:
    """Copy the runtime and the wheels that are needed, and write the lock that names them."""
    served = site / "pyodide"
    served.mkdir()
    for name in RUNTIME:
        shutil.copy(pyodide / name, served)
    lock = json.loads((pyodide / "pyodide-lock.json").read_text("utf-8"))
    packages: dict[str, Any] = lock["packages"]
    kernel = site / "extensions/@jupyterlite/pyodide-kernel-extension/static/pypi"
    for path in (wheel, *kernel.glob("*.whl")):
        if path == wheel or path.name.startswith(FROM_LITE):
            shutil.copy(path, served)
    _download_widgets(lite, served)
    for path in served.glob("*.whl"):
        entry = _entry(path)
        packages[entry["name"]] = entry
    needed = _with_dependencies([*PRELOADED, *LAZY, "piplite", "micropip"], packages)
    for name in needed:
        file = packages[name]["file_name"]
        if not (served / file).exists():
            if not (pyodide / file).is_file():
                raise UserError(f"{pyodide} lacks {file}, which the browser edition needs.")
            shutil.copy(pyodide / file, served)
        packages[name]["sha256"] = hashlib.sha256((served / file).read_bytes()).hexdigest()
    lock["packages"] = {name: packages[name] for name in sorted(needed)}
    (served / "pyodide-lock.json").write_text(json.dumps(lock, indent=1), "utf-8")


def _download_widgets(lite: Path, served: Path) -> None:
    """Download the wheels of the sliders, which Pyodide lacks, in the versions beside JupyterLite."""
    python = lite.parent / "python"
    names = ("comm", "ipywidgets", "jupyterlab_widgets")
    script = "import importlib.metadata as m, sys; print(*(f'{n}=={m.version(n)}' for n in sys.argv[1:]))"
    pins = _run([python, "-c", script, *names]).split()
    _run([python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", served, *pins])


def _with_dependencies(names: Iterable[str], packages: dict[str, Any]) -> set[str]:
    closure: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().replace("_", "-").lower()
        if name not in packages:
            raise UserError(f"the lock of Pyodide has no {name}, which the browser edition needs.")
        if name not in closure:
            closure.add(name)
            waiting += packages[name]["depends"]
    return closure


def _entry(wheel: Path) -> dict[str, Any]:
    """Return a wheel as Pyodide's lock lists it."""
    module, version, *_ = wheel.name.split("-")
    name = module.replace("_", "-")
    return {
        "name": name,
        "version": version,
        "file_name": wheel.name,
        "install_dir": "site",
        "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "package_type": "package",
        "imports": ["attn_course", "attn_utils"] if name == "attention-course" else [module],
        "depends": NEEDS.get(name, []),
        "unvendored_tests": False,
    }


def write_wheel(root: Path, contents: Path, folder: Path) -> Path:
    """Return the wheel of what a browser needs of the course, the same bytes for the same files.

    contents: the folder of the notebooks as they are served, which an update is merged with.
    """
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    stem = f"attention_course-{project['version']}"
    files = {}
    for pattern in COURSE:
        for path in sorted(root.glob(pattern)):
            if path.is_file() and "__pycache__" not in path.parts:
                files[path.relative_to(root).as_posix()] = path.read_bytes()
    for name in notebooks():  # for solution(...), where an installed wheel has them too
        path = root / "solutions" / f"{name}.py"
        files[f"attn_course/course/solutions/{name}.py"] = path.read_bytes()
        notebook = contents / f"{name}.ipynb"
        files[f"attn_course/course/notebooks/{name}.ipynb"] = notebook.read_bytes()
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(data)}\n")
    files[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()

    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, OLDEST_DATE), data, zipfile.ZIP_DEFLATED)
    return wheel


def _configure(site: Path, *, is_served: bool) -> None:
    """Write JupyterLite's settings: our Pyodide, our packages, a cache, saving every few seconds."""
    path = site / "jupyter-lite.json"
    settings = json.loads(path.read_text("utf-8"))
    data = settings["jupyter-config-data"]
    data |= {
        "appName": "The attention course",
        "enableServiceWorkerCache": "true",
        "exposeAppInBrowser": True,
        "settingsOverrides": {
            "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": 5},
            "@jupyterlab/apputils-extension:themes": {"adaptive-theme": True},
        },
    }
    kernel = "@jupyterlite/pyodide-kernel-extension:kernel"
    plugin = data.setdefault("litePluginSettings", {}).setdefault(kernel, {})
    if is_served:
        plugin |= {
            "pyodideUrl": "./pyodide/pyodide.mjs",
            "disablePyPIFallback": True,
            "loadPyodideOptions": {"packages": list(PRELOADED)},
        }
    else:  # written down for the page, which says so where Pyodide cannot be reached
        plugin["pyodideUrl"] = _public_address(site)
    path.write_text(json.dumps(settings, indent=1), "utf-8")


def _public_address(site: Path) -> str:
    """Return the address from which JupyterLite's extension loads Pyodide."""
    for path in sorted((site / "extensions").rglob("*.js")):
        if address := re.search(r'https://[^"\s]+/pyodide\.mjs', path.read_text("utf-8")):
            return address[0]
    raise UserError("JupyterLite names no public address of Pyodide; give a folder with --pyodide.")
