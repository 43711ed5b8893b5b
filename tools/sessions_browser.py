"""Drives the page of `leno sessions serve` in a real browser, by keyboard alone, over the browser's own protocol.

Called by tools/sessions-browser. Needs nothing but Python's standard library: the browser is spoken to by a WebSocket,
of which this file has as much as is needed.
"""

import base64
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time


class Browser:
    """A headless browser with one page, and the keys that are pressed in it."""

    def __init__(self, program, profile):
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--hide-scrollbars", "--window-size=720,460", "--remote-debugging-port=0",
             "--remote-allow-origins=*", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"ws://127\.0\.0\.1:(\d+)/", line)
            if found:
                break
        else:
            sys.exit("the browser does not start")
        self.number = 0
        port = int(found[1])
        listing = socket.create_connection(("127.0.0.1", port))
        listing.sendall(f"GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while b"]" not in answer.split(b"\r\n\r\n", 1)[-1]:
            part = listing.recv(65536)
            if not part:
                break
            answer += part
        pages = json.loads(answer.split(b"\r\n\r\n", 1)[1])
        path = next(page for page in pages if page["type"] == "page")["webSocketDebuggerUrl"].split(str(port), 1)[1]
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(4096)
        self.buffer = self.buffer.split(b"\r\n\r\n", 1)[1]
        self.call("Page.enable")
        # Nobody looks at this window, but what has the focus is to be seen in the picture.
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def take(self, count):
        while len(self.buffer) < count:
            part = self.socket.recv(1 << 20)
            if not part:
                sys.exit("the browser has gone")
            self.buffer += part
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive(self):
        text = b""
        while True:
            first, length = self.take(2)
            if length == 126:
                length = int.from_bytes(self.take(2), "big")
            elif length == 127:
                length = int.from_bytes(self.take(8), "big")
            text += self.take(length)
            if first & 0x80:
                return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        data = json.dumps({"id": self.number, "method": method, "params": params}).encode()
        mask = os.urandom(4)
        length = bytes([0x80 | len(data)]) if len(data) < 126 else bytes([0xFE]) + len(data).to_bytes(2, "big")
        masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(data))
        self.socket.sendall(b"\x81" + length + mask + masked)
        while True:
            message = self.receive()
            if message.get("id") == self.number:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression)["result"].get("value")

    def until(self, text):
        """Waits until the page shows this."""
        for _ in range(300):
            shown = self.evaluate("document.body ? document.body.innerText : ''") or ""
            if text in shown:
                return shown
            time.sleep(0.1)
        sys.exit(f"the page never shows {text!r}, but {shown!r}")

    def settled(self, what):
        """Waits until the page is there and this has the focus, which it gets by itself."""
        for _ in range(300):
            if self.evaluate("document.readyState + document.activeElement?.tagName") == "complete" + what:
                return
            time.sleep(0.1)
        sys.exit(f"no {what} gets the focus")

    def press_enter(self):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r",
                      windowsVirtualKeyCode=13)

    def answer(self, text):
        """As people do: what is focused takes the keys."""
        self.settled("INPUT")
        self.call("Input.insertText", text=text)
        self.press_enter()

    def picture(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def serve(leno, store, listen):
    server = subprocess.Popen([leno, "sessions", "--store", store, "serve", "--listen", listen],
                              stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline().strip()
    if "listening at" not in line:
        sys.exit(f"the server does not start: {line}")
    return server, line.split("http://", 1)[1]


def main():
    program, leno, picture = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        server, address = serve(leno, store, "127.0.0.1:0")
        browser = None
        try:
            browser = Browser(program, os.path.join(folder, "profile"))
            browser.call("Page.navigate", url=f"http://{address}/")
            browser.until("Begin")
            browser.settled("BUTTON")
            browser.press_enter()
            browser.until("Please enter your name:")
            browser.answer("<b>John</b> Doe")
            browser.until("Please enter your country:")
            server.kill()
            server.wait()
            print("the server was killed in the middle of the dialogue")
            server, address = serve(leno, store, address)
            browser.answer("Genovia")
            browser.until("Please enter your age:")
            browser.answer("twenty-eight")
            browser.until("Please enter a valid number!")
            browser.settled("INPUT")
            browser.picture(picture)
            browser.answer("28")
            browser.until("Please enter your email address:")
            browser.answer("nospam@nospam.at")
            browser.until("Name: <b>John</b> Doe, Country: Genovia, Age: 28, Email: nospam@nospam.at")
            if browser.evaluate("document.querySelectorAll('b, script').length") != 0:
                sys.exit("what was written has become markup")
            print("the dialogue came to its end, by keyboard alone")
            print(picture)
        finally:
            server.kill()
            server.wait()
            if browser:
                browser.process.terminate()
                browser.process.wait()


main()
