"""A real browser without a screen: Chromium, spoken to by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--remote-debugging-port=0", "--remote-allow-origins=*",
)  # fmt: skip


class Chromium:
    """One page. `picture()` is what it shows: (height, width, 3), 0 to 255."""

    def __init__(self, profile: Path, width: int = 500, height: int = 380) -> None:
        program = next((path for name in _NAMES if (path := shutil.which(name))), None)
        if program is None:
            pytest.skip("needs Chromium (Debian's package `chromium`): it is not installed")
        command = [program, *_OPTIONS, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._number = 0
        try:
            self._socket = self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Any:
        from websockets.sync.client import connect

        assert self._process.stderr is not None
        said = []
        for line in self._process.stderr:
            said.append(line)
            found = re.search(r"DevTools listening on ws://([^/]+)/", line)
            if found:
                break
        else:
            pytest.skip(f"needs Chromium: it does not start here: {''.join(said)[-300:]}")
        # Nobody reads what else it says; a full pipe would stop it.
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        with urlopen(f"http://{found.group(1)}/json", timeout=30) as answer:
            pages = json.load(answer)
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        return connect(address, max_size=None)

    def call(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._number:
                return answer["result"]

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def text(self) -> str:
        """The words on the page."""
        found = self.call("Runtime.evaluate", expression="document.body.innerText", returnByValue=True)
        return str(found["result"].get("value", ""))

    def picture(self, path: Path | None = None) -> np.ndarray:
        import io

        from PIL import Image

        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def close(self) -> None:
        if hasattr(self, "_socket"):
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
