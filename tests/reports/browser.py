"""A real browser, driven by the WebDriver protocol: Debian's chromium and chromedriver, no further package."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-device-scale-factor=1",
]


def missing():
    """What is not installed, in words; None if all is there."""
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


class Browser:
    """One window."""

    def __init__(self, address):
        self.address = address

    def call(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/{path}", data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def run(self, script, *arguments):
        """The value of a script's `return`."""
        return self.call("execute/sync", {"script": script, "args": arguments})

    def wait(self, script):
        """The value of a promise."""
        body = f"const done = arguments[0]; Promise.resolve({script}).then(done, (e) => done({{error: String(e)}}));"
        return self.call("execute/async", {"script": body, "args": []})

    def drag(self, begin, end):
        """Press the mouse, move it in steps, and let go."""
        steps = [[begin[0] + t * (end[0] - begin[0]) / 4, begin[1] + t * (end[1] - begin[1]) / 4] for t in range(1, 5)]
        moves = [{"type": "pointerMove", "duration": 20, "x": round(x), "y": round(y)} for x, y in (begin, *steps)]
        actions = [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}]
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.call("actions", {"actions": [mouse]})

    def requests(self):
        """Addresses of everything that was asked for, since the last time."""
        entries = [json.loads(entry["message"])["message"] for entry in self.call("se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in entries if e["method"] == "Network.requestWillBeSent"]

    def picture(self, path):
        """A screenshot as a PNG."""
        path.write_bytes(base64.b64decode(self.call("screenshot")))


@contextmanager
def browser(folder, size=(1280, 1000), dark=False):
    """A fresh browser whose profile is in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    root = Browser(f"http://127.0.0.1:{port}")
    try:
        for _ in range(300):
            try:
                if root.call("status")["ready"]:
                    break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.2)
        flags = [*FLAGS, f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}"]
        flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
        wanted = {"goog:chromeOptions": {"args": flags}, "goog:loggingPrefs": {"performance": "ALL"}}
        wanted["timeouts"] = {"script": 240_000, "pageLoad": 240_000}
        session = root.call("session", {"capabilities": {"alwaysMatch": wanted}})
        window = Browser(f"{root.address}/session/{session['sessionId']}")
        yield window
        request = urllib.request.Request(window.address, method="DELETE")
        urllib.request.urlopen(request, timeout=60).close()
    finally:
        driver.terminate()
        driver.wait(timeout=60)
