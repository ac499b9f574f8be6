"""Starts JupyterLab on a folder and speaks to its contents over HTTP."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request

SECONDS = 300  # a machine may do much else
KEPT = ("PATH", "PYTHONPATH", "LANG")


def wait_for(value, what):
    """The first true value of `value()`; a failure names what was waited for."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = value()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {SECONDS} s in vain for {what}")


class Jupyter:
    """A running JupyterLab, with the settings of nobody but those in `home`."""

    def __init__(self, command, folder, home):
        self.folder = folder
        self.log_path = home / "log.txt"
        self.runtime = home / "runtime"
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        settings = {
            "HOME": str(home),
            "JUPYTER_RUNTIME_DIR": str(self.runtime),
            "JUPYTER_PORT": "0",
            "BROWSER": "true",  # nothing is opened, even where there is a screen
        }
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, *command],
                cwd=folder,
                env=kept | settings,
                stdout=log,
                stderr=log,
            )
        server = wait_for(self._server, f"JupyterLab; its log is {self.log_path}")
        self.address = f"http://127.0.0.1:{server['port']}"
        self.token = server["token"]
        wait_for(self._answers, "JupyterLab's first answer")

    def _server(self):
        assert self.process.poll() is None, self.log()
        for path in self.runtime.glob("jpserver-*.json"):
            try:
                return json.loads(path.read_text("utf-8"))
            except ValueError:
                return None  # half written
        return None

    def _answers(self):
        try:
            return self.ask("GET", "api")
        except OSError:
            return None

    def log(self):
        return self.log_path.read_text("utf-8")

    def ask(self, method, path, body=None):
        """The decoded answer to a request; a refusal fails with the server's own words."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(f"{self.address}/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as reply:
                text = reply.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from None
        return json.loads(text) if text else None

    def open(self, path):
        """What JupyterLab shows of a notebook."""
        return self.ask("GET", f"api/contents/{path}?type=notebook&content=1&hash=1")["content"]

    def autosave(self, path, notebook):
        model = {"type": "notebook", "format": "json", "content": notebook}
        self.ask("PUT", f"api/contents/{path}", model)

    def save(self, path, notebook):
        """Save as a student does; that makes a checkpoint too, whose id is returned."""
        self.autosave(path, notebook)
        return self.ask("POST", f"api/contents/{path}/checkpoints")["id"]

    def restore(self, path, checkpoint):
        self.ask("POST", f"api/contents/{path}/checkpoints/{checkpoint}")

    def rename(self, path, new):
        self.ask("PATCH", f"api/contents/{path}", {"path": new})

    def close(self):
        """End the kernels, then the server; a server that still waits for one is not waited for."""
        for session in self.ask("GET", "api/sessions"):
            self.ask("DELETE", f"api/sessions/{session['id']}")
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
