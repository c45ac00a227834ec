"""Chromium without a window, through its DevTools protocol on two pipes."""

import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAMS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def program():
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)  # children may outlive it
        theirs_in, self.to = os.pipe()
        self.of, theirs_out = os.pipe()

        def pipes():
            """The protocol is on 3 and 4. dup2() of a descriptor onto itself would leave it closed: copies first."""
            copies = os.dup(theirs_in), os.dup(theirs_out)
            os.dup2(copies[0], 3)
            os.dup2(copies[1], 4)

        # The pages are the tree's own, so no sandbox, which root and many containers do not have.
        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.number, self.rest, self.events, self.session = 0, b"", [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.profile.cleanup()

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.of, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (answer := self.message()).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, path, width, scheme):
        """Loads a file as a window of that width shows it."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def complaints(self):
        """What the page wrote to the console as an error, and what could not be loaded."""
        found = []
        for event in self.events:
            method, of = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown" or (method == "Runtime.consoleAPICalled" and of["type"] == "error"):
                found.append("error in the console")
            if method == "Log.entryAdded" and of["entry"]["level"] == "error":
                found.append(f"error in the console: {of['entry']['text']}")
            if method == "Network.loadingFailed":
                found.append(f"not loaded: {of['errorText']}")
        return found

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
