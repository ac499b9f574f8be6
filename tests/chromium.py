"""Drives a headless Chromium over its DevTools socket: open a page, run a line in it, take a picture."""

import asyncio
import base64
import contextlib
import functools
import http.server
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request

import pytest
from tornado.websocket import websocket_connect

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
REQUIRED = os.environ.get("ATTN_REQUIRE_BROWSER") == "1"
needs_browser = pytest.mark.skipif(
    CHROMIUM is None and not REQUIRED, reason="there is no Chromium on this machine"
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--remote-debugging-port=0", "--window-size=1366,768"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing is fetched from outside
)

# A page with unsaved marks asks before it is left, and waits for the answer.
ASKING = "Page.javascriptDialogOpening"
LEAVE = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
PATIENCE = 600  # seconds: a browser test waits for a thing to be true, however busy the machine is
KEYS = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class FileServer(http.server.SimpleHTTPRequestHandler):
    """Serves a folder without a word; `sent` has the bytes of every answer."""

    def __init__(self, *args, sent, **options):
        self.sent = sent
        super().__init__(*args, **options)

    def log_message(self, *args):
        pass

    def copyfile(self, source, target):
        data = source.read()
        self.sent.append(len(data))
        with contextlib.suppress(ConnectionError):  # the browser may have left the page
            target.write(data)


@contextlib.contextmanager
def serve_files(folder, sent=None):
    """The address under which a folder is served; the size of every answer is added to `sent`."""
    sent = [] if sent is None else sent
    handler = functools.partial(FileServer, directory=str(folder), sent=sent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


class Moving(Exception):
    """The page went away while it was asked."""


class Browser:
    """One browser with one page; every call waits for its answer."""

    def __init__(self, folder):
        assert CHROMIUM, "ATTN_REQUIRE_BROWSER=1, and there is no Chromium on this machine"
        self.folder = folder
        self._start()

    def _start(self):
        folder = self.folder
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, **quiet)
        self.loop, self.number = asyncio.new_event_loop(), 0
        self.heard = []  # what the page told of itself, of the domains that were enabled
        self.line = self.loop.run_until_complete(self._connect())
        self.ask("Page.enable")
        self.ask("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    async def _connect(self):
        return await websocket_connect(self._address())

    def _address(self):
        port = self.folder / "profile" / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE
        while not (port.exists() and "\n" in port.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        with urllib.request.urlopen(
            f"http://localhost:{port.read_text().split()[0]}/json"
        ) as reply:
            pages = json.load(reply)
        return next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")

    def ask(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        return self.loop.run_until_complete(asyncio.wait_for(self._exchange(message), PATIENCE))

    async def _exchange(self, message):
        await self.line.write_message(json.dumps(message))
        while True:
            found = json.loads(await self.line.read_message())
            if found.get("id") == message["id"]:
                if "navigated" in found.get("error", {}).get("message", ""):
                    raise Moving
                assert "error" not in found, found
                return found["result"]
            if "method" not in found:  # the reply to LEAVE
                continue
            self.heard.append(found)
            if found["method"] == ASKING and found["params"]["type"] == "beforeunload":
                await self.line.write_message(json.dumps(LEAVE))

    def open(self, path):
        self.visit(path.as_uri())

    def visit(self, address):
        self.run("window.isLeft = true")
        self.ask("Page.navigate", url=address)
        while self.run("window.isLeft || document.readyState !== 'complete'"):
            time.sleep(0.02)

    def look(self, theme, width=1280, height=800):
        """The theme and the window that pages see from now on; colours change at once, not step by step."""
        wishes = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in wishes.items()]
        self.ask("Emulation.setEmulatedMedia", features=features)
        window = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.ask("Emulation.setDeviceMetricsOverride", **window)

    def run(self, line):
        """The value of a JavaScript expression in the page, which may be on its way to another."""
        try:
            found = self.ask("Runtime.evaluate", expression=line, returnByValue=True)
        except Moving:
            return self.run(line)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def asked_outside(self):
        """The addresses beyond this machine that pages asked for since the domain Network was enabled."""
        told = [heard for heard in self.heard if heard["method"] == "Network.requestWillBeSent"]
        addresses = {heard["params"]["request"]["url"] for heard in told}
        here = ("http://127.0.0.1", "data:", "blob:", "file:")
        return {address for address in addresses if not address.startswith(here)}

    def type(self, text):
        self.ask("Input.insertText", text=text)

    def press(self, key, code=None, control=False, shift=False):
        """One stroke of a key, by its name and its number."""
        modifiers = 2 * control + 8 * shift
        stroke = {"key": key, "windowsVirtualKeyCode": code or KEYS[key], "modifiers": modifiers}
        self.ask("Input.dispatchKeyEvent", type="rawKeyDown", **stroke)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **stroke)

    def drag(self, start, end):
        """Drag the mouse from one point of the window to another."""
        ways = (("mousePressed", start, 1), ("mouseMoved", end, 1), ("mouseReleased", end, 0))
        for kind, (x, y), buttons in ways:
            options = {"button": "left", "buttons": buttons, "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **options)

    def wait(self, line):
        """Return the value of a JavaScript expression as soon as it is true."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.run(line)):
            assert time.monotonic() < deadline, f"never true: {line}"
            time.sleep(0.02)
        return found

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def restart(self):
        """Close the browser as a person does, so that pages' stores are written, and start it again."""
        self.ask("Browser.close")
        self.process.wait()
        self.line.close()
        self.loop.close()
        (self.folder / "profile" / "DevToolsActivePort").unlink()
        self._start()

    def close(self):
        self.line.close()
        self.loop.close()
        self.process.terminate()
        self.process.wait()
