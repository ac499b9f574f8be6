"""Runs the steps of Dockerfile in an empty folder, where docker itself cannot run.

    python tests/docker_steps.py   # minutes, needs the network; never part of make test

COPY takes what git tracks. The last words, as the unprivileged user where this is run by root, grade a
notebook, with a copy of this Python that this user may read.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from try_install import ROOT, copy_tracked

UNUSED = shutil.ignore_patterns("site-packages", "test", "idlelib", "config-*", "__pycache__")
STEPS = re.findall(r"^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text("utf-8"), re.M)


def copied_python(top):
    """The folder with a copy of this Python that any user can read, also if this one is in root's home."""
    library = Path(os.__file__).parent
    program = Path(sys.base_prefix) / "bin" / library.name
    shutil.copytree(library, top / "lib" / library.name, ignore=UNUSED)
    (top / "bin").mkdir()
    shutil.copy(program, top / "bin" / library.name)
    (top / "bin" / "python").symlink_to(library.name)
    return top / "bin"


class Image:
    """What the steps so far have made, below a folder that stands for the root of the image."""

    def __init__(self, top):
        self.top = top
        self.workdir = top
        self.user = {}
        path = f"{copied_python(top / 'python')}:/usr/bin:/bin"
        pip = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        home = os.environ["HOME"]  # this machine's settings of pip take the place of the ARG
        self.environment = {"PATH": path, "HOME": home, **pip}

    def WORKDIR(self, path):
        self.workdir = self.top / path.lstrip("/")
        self.workdir.mkdir(parents=True, exist_ok=True)

    def COPY(self, places):
        assert places == ". ."
        copy_tracked(self.workdir)

    def RUN(self, command):
        print(f"RUN {command}", flush=True)
        subprocess.run(command, shell=True, cwd=self.workdir, env=self.environment, check=True)

    def ENV(self, settings):
        for setting in settings.split():
            name, _, value = setting.partition("=")
            value = value.replace("/course", f"{self.top}/course")
            self.environment[name] = value.replace("$PATH", self.environment["PATH"])

    def USER(self, ids):
        """Who starts what comes after the steps; nobody else can be where this is not run by root."""
        user, group = map(int, ids.split(":"))
        if os.geteuid() == 0:
            self.user = {"user": user, "group": group, "extra_groups": []}


def main():
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        top.chmod(0o755)
        image = Image(top)
        for name, rest in STEPS:
            step = getattr(image, name, None)  # FROM, ARG, ENTRYPOINT and CMD need a docker
            if step:
                step(rest)
        data = image.workdir
        data.chmod(0o777)
        answers = data / "submissions" / "ann"
        answers.mkdir(parents=True)
        shutil.copy(ROOT / "notebooks" / "01_copying.ipynb", answers)
        command = ["attn", "grade", "submissions", "--out", "graded"]
        subprocess.run(command, cwd=data, env=image.environment, check=True, **image.user)
        owner = (data / "graded" / "gradebook.csv").stat().st_uid
        assert owner == image.user.get("user", os.geteuid())
        print(f"graded by user {owner}")


if __name__ == "__main__":
    main()
