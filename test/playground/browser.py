"""A headless Chromium that tests drive: pages are opened, scripts evaluated, keys pressed. It speaks the protocol of
Chromium's developer tools over two pipes, so nothing but the browser is needed."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 120  # seconds; machines differ
FLAGS = ["--headless", "--no-sandbox", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--hide-scrollbars"]


class Browser:
    def __init__(self, dark=False):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        ask_read, self.ask = os.pipe()
        self.answer, answer_write = os.pipe()
        flags = FLAGS + ["--user-data-dir=" + self.profile.name] + (["--force-dark-mode", "--enable-features=WebUIDarkMode"] if dark else [])
        # Chromium reads from descriptor 3 and writes to 4
        command = ["sh", "-c", f'exec "$0" "$@" 3<&{ask_read} 4>&{answer_write}', PROGRAM, *flags, "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(ask_read, answer_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(ask_read)
        os.close(answer_write)
        self.rest, self.number, self.events, self.session, self.target = b"", 0, [], None, None

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.ask)
        os.close(self.answer)
        self.profile.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self, seconds):
        """The next message, or None."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            if not select.select([self.answer], [], [], max(0, end - time.monotonic()))[0]:
                return None
            piece = os.read(self.answer, 1 << 16)
            if not piece:
                raise AssertionError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=True, **parameters):
        self.number += 1
        wish = {"id": self.number, "method": method, "params": parameters}
        if session and self.session:
            wish["sessionId"] = self.session
        os.write(self.ask, json.dumps(wish).encode() + b"\0")
        while True:
            message = self.read(PATIENCE)
            if message is None:
                raise AssertionError(f"no answer to {method}")
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def page(self, width=1400, height=900, dark=False):
        """A new page; all its requests and error messages are recorded."""
        before, self.target = self.target, self.call("Target.createTarget", session=False, url="about:blank")["targetId"]
        if before:
            self.call("Target.closeTarget", session=False, targetId=before)
        self.session = self.call("Target.attachToTarget", session=False, targetId=self.target, flatten=True)["sessionId"]
        self.events = []
        for domain in "Page", "Runtime", "Network", "Log":
            self.call(domain + ".enable")
        self.call("Page.bringToFront")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.until("document.readyState === 'complete'", "loading " + address)

    def evaluate(self, script):
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise AssertionError(f"{script}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def until(self, script, what):
        """Waits until the script yields something; returns that."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = self.evaluate(script)
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError("waited in vain: " + what)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, name, code):
        for kind in "rawKeyDown", "keyUp":
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def drag(self, x, y, across):
        mouse = lambda kind, at: self.call("Input.dispatchMouseEvent", type=kind, x=at, y=y, button="left", buttons=1, clickCount=1)
        mouse("mousePressed", x)
        for part in 0.25, 0.5, 1:
            mouse("mouseMoved", x + part * across)
        mouse("mouseReleased", x + across)

    def asked(self):
        """The requested addresses, apart from the page itself and its embedded data."""
        found = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return [address for address in found if not address.startswith(("file:", "blob:", "data:"))]

    def complaints(self):
        """Exceptions and console errors, which include violations of the security policy."""
        found = [e["params"]["exceptionDetails"].get("exception", {}).get("description", "?") for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        found += [e["params"]["entry"]["text"] for e in self.events if e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]
        return found

    def screenshot(self, path):
        import base64
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
