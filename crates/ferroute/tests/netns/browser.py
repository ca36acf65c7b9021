"""Drives a browser by WebDriver (W3C), and has the steps that tests of the router's page share."""
import base64, json, os, signal, subprocess, sys, time, urllib.error, urllib.request

ROUTER, PASSWORD, PICTURES, PROCESS = sys.argv[1:5]
DRIVER = "http://127.0.0.1:9515"
# Seconds; no test asserts speed, and a busy machine is slow.
PATIENCE = 120
session = ""


class Refused(Exception):
    """An error reply of the driver."""


def ask(method, path, body=None):
    data = json.dumps(body or {}).encode() if method == "POST" else None
    request = urllib.request.Request(DRIVER + path, method=method, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise Refused(json.load(error)["value"]["message"].split("\n")[0]) from None


def until(what, condition):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            found = condition()
            if found:
                return found
        except Refused:
            pass
        if time.monotonic() > end:
            picture("failed")
            print(f"waited until {what}: {js('return location.href')}: {js('return document.body.innerText')[:2000]}", flush=True)
            for entry in ask("POST", f"{session}/se/log", {"type": "browser"}):
                print(entry["level"], entry["message"], flush=True)
            sys.exit(1)
        time.sleep(0.05)


def js(script, *arguments):
    return ask("POST", f"{session}/execute/sync", {"script": script, "args": list(arguments)})


def find(css):
    found = until(f"{css} is there", lambda: ask("POST", f"{session}/element", {"using": "css selector", "value": css}))
    return next(iter(found.values()))


def click(css):
    until(f"{css} is clicked", lambda: ask("POST", f"{session}/element/{find(css)}/click") is None)


def write(css, text):
    ask("POST", f"{session}/element/{find(css)}/clear")
    ask("POST", f"{session}/element/{find(css)}/value", {"text": text})


def press(css, text):
    """Types into an element, whose text stays."""
    ask("POST", f"{session}/element/{find(css)}/value", {"text": text})


def box(css):
    """Returns left, top, width and height of an element in the window."""
    return js("const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.left, box.top, box.width, box.height]", css)


def drag(handle, target, part, kind="mouse"):
    """Drags a handle with a mouse or a finger to a part of the target's height, in steps as a hand would."""
    left, top, width, height = box(handle)
    start = (int(left + width / 2), int(top + height / 2))
    left, top, width, height = box(target)
    end = (int(left + min(120, width / 2)), int(top + part * height))
    move = lambda x, y: {"type": "pointerMove", "duration": 20, "x": x, "y": y, "origin": "viewport"}
    way = [move(start[0] + (end[0] - start[0]) * step // 8, start[1] + (end[1] - start[1]) * step // 8) for step in range(1, 9)]
    steps = [move(*start), {"type": "pointerDown", "button": 0}, *way, {"type": "pointerUp", "button": 0}]
    act({"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": steps})


def keys(*names):
    """Presses keys one after the other, wherever the focus is."""
    act({"type": "key", "id": "keyboard", "actions": [{"type": kind, "value": name} for name in names for kind in ("keyDown", "keyUp")]})


def act(source):
    ask("POST", f"{session}/actions", {"actions": [source]})
    ask("DELETE", f"{session}/actions")


def show(place):
    js("location.hash = arguments[0]", place)


def picture(name):
    if PICTURES != "-":
        with open(f"{PICTURES}/{name}.png", "wb") as file:
            file.write(base64.b64decode(ask("GET", f"{session}/screenshot")))


def rows():
    return js("return [...document.querySelectorAll('#rows tr[data-row]')].map((row) => row.dataset.row)")


def comments():
    return js("return [...document.querySelectorAll('#rows td.comment')].map((cell) => cell.innerText.trim())")


def log_in(user, password):
    write("#user", user)
    write("#password", password)
    click("#login")


def session_begins():
    options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"]}
    wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}
    return "/session/" + ask("POST", "/session", {"capabilities": wanted})["sessionId"]


def stored(menu, row, name):
    """Returns a value that the router has stored."""
    proof = base64.b64encode(b"other:Otherother1").decode()
    request = urllib.request.Request(f"{ROUTER}rest{menu}/{row}", headers={"Authorization": f"Basic {proof}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer).get(name, "")


def by_another(command, values):
    """Runs a REST command as the user `other`."""
    proof = base64.b64encode(b"other:Otherother1").decode()
    headers = {"Authorization": f"Basic {proof}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{ROUTER}rest{command}", data=json.dumps(values).encode(), headers=headers)
    urllib.request.urlopen(request, timeout=PATIENCE).close()


def session_path():
    return session


def cdp(command, **parameters):
    """Runs a command of the browser's own protocol."""
    return ask("POST", f"{session}/goog/cdp/execute", {"cmd": command, "params": parameters})


def resize(width, height=900):
    ask("POST", f"{session}/window/rect", {"width": width, "height": height})


def run(parts):
    """Runs tests in one session, and prints `done`. Errors of scripts and violations of the page's policy fail."""
    global session
    driver = subprocess.Popen(["chromedriver", "--port=9515", "--silent"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while not session:
            try:
                session = session_begins()
            except (OSError, Refused):
                assert time.monotonic() < end, "chromedriver does not answer"
                time.sleep(0.05)
        ask("POST", f"{session}/url", {"url": ROUTER})
        for part in parts:
            part()
        noise = [line["message"] for line in ask("POST", f"{session}/se/log", {"type": "browser"})]
        assert not [line for line in noise if "Security Policy" in line or "Uncaught" in line], noise
        print("done")
    finally:
        if session:
            ask("DELETE", session)
        driver.terminate()
