"""Headless Chromium, driven over its debugging pipe: no port, no driver, no package."""

import json
import os
import subprocess
import sys
import time
from fcntl import F_DUPFD_CLOEXEC, fcntl
from select import select

from helpers.needs import needs_tool

OTHER_NAMES = "chromium-browser", "google-chrome", "chrome"

# Chromium reads commands from file 3 and answers in file 4.
LAUNCH = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]


def find_chromium():
    """The path of the program."""
    return needs_tool("chromium", "apt-get install chromium", *OTHER_NAMES)


class Chromium:
    """A browser with one tab. `events` are all that it told, as (name, parameters)."""

    def __init__(self, executable, profile, seconds=60):
        self.seconds, self.events = seconds, []
        self.buffer, self.number, self.session = b"", 0, {}
        ends = [*os.pipe(), *os.pipe()]
        # Away from 3 and 4, so that neither is overwritten before it is copied.
        far = [fcntl(end, F_DUPFD_CLOEXEC, 10) for end in ends]
        for end in ends:
            os.close(end)
        commands, self.writer, self.reader, answers = far
        self.process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, str(commands), str(answers), executable]
            + [*FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=tab, flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.writer)
        os.close(self.reader)

    def call(self, method, **parameters):
        """Send a command, return its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        content = json.dumps(message | self.session).encode() + b"\0"
        while content:
            content = content[os.write(self.writer, content) :]
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _receive(self):
        end = time.monotonic() + self.seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select([self.reader], [], [], max(0, end - time.monotonic()))
            chunk = os.read(self.reader, 1 << 16) if ready else b""
            if not chunk:
                raise TimeoutError("Chromium does not answer")
            self.buffer += chunk
        message, self.buffer = self.buffer.split(b"\0", 1)
        answer = json.loads(message)
        if "method" in answer:
            self.events.append((answer["method"], answer["params"]))
        return answer

    def open(self, address, width=1400, height=900, *, dark=False):
        """Show a page in a window of that size."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width, height)
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete'")

    def resize(self, width, height):
        """Give the window another size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression):
        """Wait until an expression is true."""
        end = time.monotonic() + self.seconds
        while not self.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def move(self, x, y):
        """Move the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector):
        """Click in the middle of an element."""
        x, y = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                clickCount=1,
            )

    def press(self, key, code):
        """Press a key, by its name and its number."""
        named = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)
