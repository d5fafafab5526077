"""Drives headless Chromium by its own protocol, over two pipes; nothing else is needed for it."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
LONGEST = 60.0
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "/": (191, "/"),
    "Escape": (27, ""),
    "ArrowDown": (40, ""),
}


class Tab:
    """One tab: loads a page, presses keys, and tells what the page's code finds in it."""

    def __init__(self, out: int, back: int) -> None:
        self._out = out
        self._back = back
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]

    def open(self, url: str) -> None:
        """Load a page."""
        self._ask("Page.navigate", url=url)

    def size(self, width: int, height: int) -> None:
        """Have a window of this size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("Emulation.setDeviceMetricsOverride", **metrics)

    def press(self, key: str) -> None:
        """Press a key and let it go; one that is not known by name is a letter or a digit."""
        code, text = KEYS.get(key) or (ord(key.upper()), key)
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code, "text": text}
        self._ask("Input.dispatchKeyEvent", **down)
        self._ask("Input.dispatchKeyEvent", **{**down, "type": "keyUp"})

    def point(self, kind: str, element: str) -> None:
        """Do with the mouse at an element what `kind` says, mousePressed or mouseReleased."""
        self.find(f"({element}).scrollIntoView({{block: 'nearest'}})")
        box = f"(({element}).getBoundingClientRect())"
        x, y = self.find(f"[{box}.x + {box}.width / 2, {box}.y + {box}.height / 2]")
        at = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self._ask("Input.dispatchMouseEvent", type=kind, **at)

    def click(self, element: str) -> None:
        """Click on an element."""
        self.point("mousePressed", element)
        self.point("mouseReleased", element)

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self._ask("Input.insertText", text=text)

    def find(self, expression: str) -> Any:
        """The value of an expression in the page."""
        told = self._ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return told["result"].get("value")

    def wait(self, expression: str) -> Any:
        """The value of an expression, once it is true."""
        ends = monotonic() + LONGEST
        while not (found := self.find(expression)):
            assert monotonic() < ends, (
                f"never: {expression}\n{self.find('document.body.innerText')}"
            )
            sleep(0.05)
        return found

    def tab_to(self, expression: str) -> None:
        """Press Tab until the element with the focus is this one."""
        for _ in range(60):
            if self.find(
                f"(() => {{ const at = document.activeElement; return {expression}; }})()"
            ):
                return
            self.press("Tab")
        raise AssertionError(f"Tab leads to no element that is {expression}")

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            asked["sessionId"] = self._session
        os.write(self._out, json.dumps(asked).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, (method, told)
                result: dict[str, Any] = told["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._back, 65536)
            assert read, "the browser ended"
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """A tab of a browser of its own, which keeps what it keeps in a folder."""
    assert PROGRAM is not None
    theirs_in, out = os.pipe()
    back, theirs_out = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (theirs_in, theirs_out)]

    def as_it_expects() -> None:
        os.dup2(high[0], 3)
        os.dup2(high[1], 4)

    process = subprocess.Popen(
        [PROGRAM, *OPTIONS, f"--user-data-dir={folder}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=as_it_expects,
        pass_fds=(3, 4),
    )
    for end in (theirs_in, theirs_out, *high):
        os.close(end)
    try:
        yield Tab(out, back)
    finally:
        process.kill()
        process.wait()
        os.close(out)
        os.close(back)
