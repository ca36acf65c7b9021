"""Tests the router's page in a browser, by WebDriver (W3C); prints a line for each tested function."""
import base64, json, subprocess, sys, time, urllib.error, urllib.request

ROUTER, PASSWORD, PICTURES = sys.argv[1:4]
DRIVER = "http://127.0.0.1:9515"
PATIENCE = 30


class Refused(Exception):
    """An error reply of the driver."""


def ask(method, path, body=None):
    data = json.dumps(body or {}).encode() if method == "POST" else None
    request = urllib.request.Request(DRIVER + path, method=method, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
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
            print(f"waited until {what}: {js('return document.body.innerText')[:2000]}", flush=True)
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


def show(place):
    js("location.hash = arguments[0]", place)


def picture(name):
    if PICTURES != "-":
        with open(f"{PICTURES}/{name}.png", "wb") as file:
            file.write(base64.b64decode(ask("GET", f"{session}/screenshot")))


def rows():
    return js("return [...document.querySelectorAll('#rows tr[data-row]')].map((row) => row.dataset.row)")


def comments():
    return js("return [...document.querySelectorAll('#rows tr.comment')].map((row) => row.innerText.trim())")


def log_in(user, password):
    write("#user", user)
    write("#password", password)
    click("#login")


def session_begins():
    options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,900"]}
    wanted = {"alwaysMatch": {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}
    return "/session/" + ask("POST", "/session", {"capabilities": wanted})["sessionId"]


def dashboard():
    log_in("admin", "wrong")
    until("a wrong password is refused", lambda: "Invalid" in js("return document.querySelector('[role=alert]').textContent"))
    log_in("admin", PASSWORD)
    find("#plots section canvas")
    points = lambda: int(js("return document.querySelector('#plots canvas').dataset.points ?? 0"))
    first = until("a plot has begun", points)
    until("a plot moves", lambda: points() > first + 2)
    picture("dashboard")
    print("plots move")


def rules():
    show("/ip/firewall/filter")
    until("rules are there", lambda: len(rows()) >= 2)
    first, second = rows()[:2]
    click(f"#rows a[data-id='{first}']")
    write("#field-comment", "seen in the page")
    click("#save")
    until("the comment is in the table", lambda: ";;; seen in the page" in comments())
    print("a rule is changed")

    drag = """const [from, to] = [...arguments].map((id) => document.querySelector(`#rows tr[data-row="${id}"]`));
        const dataTransfer = new DataTransfer();
        for (const [row, kind] of [[from, "dragstart"], [to, "dragover"], [to, "drop"], [from, "dragend"]]) {
          row.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }));
        }"""
    js(drag, second, first)
    until("the second rule is the first", lambda: rows()[:2] == [second, first])
    picture("rules")
    click("#undo")
    until("undo takes the move back", lambda: rows()[:2] == [first, second])
    print("a rule is dragged, and undone")

    click("#safe")
    until("safe mode is on", lambda: js("return document.querySelector('#safe').getAttribute('aria-pressed')") == "true")
    click(f"#rows input[data-id='c{first}']")
    click("#do-disable")
    disabled = lambda: js("return document.querySelector(`#rows tr[data-row='${arguments[0]}']`).className", first)
    until("the rule is disabled", lambda: "disabled" in disabled())
    click("#unroll")
    until("the rule is enabled again", lambda: "disabled" not in disabled())
    print("safe mode takes changes back")


def by_another(command, values):
    """Runs a REST command as the user `other`."""
    proof = base64.b64encode(b"other:Otherother1").decode()
    headers = {"Authorization": f"Basic {proof}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{ROUTER}rest{command}", data=json.dumps(values).encode(), headers=headers)
    urllib.request.urlopen(request, timeout=60).close()


def whose():
    """Tests that undo shows its effect, and asks before it reverts another user's change."""
    show("/system/identity")
    name = lambda: js("return document.querySelector('#field-name')?.value ?? ''")
    until("the identity is there", lambda: name() == "ferroute")
    by_another("/system/identity/set", {"name": "theirs"})
    title = lambda: js("return document.querySelector('#undo').title")
    until("undo names the change", lambda: "system identity changed, by other" in title())
    click("#undo")
    asked = lambda: js("return document.querySelector('dialog')?.innerText ?? ''")
    until("it asks", lambda: "another user" in asked() and "by other" in asked())
    click("#answer-no")
    until("the question is gone", lambda: asked() == "")
    show("/")
    show("/system/identity")
    until("the change is there", lambda: name() == "theirs")
    click("#undo")
    until("it asks again", asked)
    click("#answer-yes")
    until("the change is taken back", lambda: name() == "ferroute")
    print("undo asks about changes of others")


def walk():
    show("walk")
    find("#walk-ask")
    js("""for (const [name, value] of Object.entries(arguments[0])) document.getElementById("walk-" + name).value = value""",
       {"in-interface": "ether2", "src-address": "192.168.88.10", "dst-address": "203.0.113.1", "dst-port": "443"})
    click("#walk-ask")
    verdict = lambda: js("return document.querySelector('.stage[data-stage=verdict]')?.innerText ?? ''")
    until("the packet's way is drawn", lambda: "sent" in verdict())
    slow = js("return document.querySelector('.stage[data-stage=path]').innerText")
    picture("walk")
    print("a packet's way is drawn:", slow.splitlines()[-1])


def why_slow():
    """Tests that the connection table shows why a connection is slow, and links to the packet walk."""
    show("/ip/firewall/connection")
    write("#filter", "icmp")
    reason = lambda: js("return document.querySelector('td.why')?.innerText ?? ''")
    until("a connection says why it is slow", lambda: "FastTrack carries TCP and UDP" in reason())
    click("td.why a")
    until("its way is drawn", lambda: js("return document.querySelectorAll('#walk .stage').length") > 3)
    print("a connection tells why it is slow")


def calculators():
    show("calculators")
    write("#calc-rates-frame", "1518")
    until("it calculates", lambda: "81274" in js("return document.querySelector('#calc-rates').innerText"))
    write("#calc-rates-frame", "1")
    until("what is wrong is said", lambda: "frame" in js("return document.querySelector('main .error:not(:empty)')?.innerText ?? ''"))
    print("calculators calculate")


def others():
    click("#logout")
    log_in("guest", "Guestguest1")
    find("#nav a")
    show("/ip/firewall/filter")
    until("rules are there", lambda: len(rows()) >= 2)
    for css in ["#undo", "#safe", "#add", "#do-remove"]:
        assert js("return document.querySelectorAll(arguments[0]).length", css) == 0, css
    print("who may only read sees no button to change")
    walk()
    show("doctor")
    find("#findings > *")
    picture("doctor")
    ask("POST", f"{session}/window/rect", {"width": 400, "height": 800})
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert js(wide) <= 0, "wider than a phone"
    picture("phone")
    print("a phone is wide enough")


driver = subprocess.Popen(["chromedriver", "--port=9515", "--silent"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
session = ""
try:
    end = time.monotonic() + PATIENCE
    while not session:
        try:
            session = session_begins()
        except (OSError, Refused):
            assert time.monotonic() < end, "chromedriver does not answer"
            time.sleep(0.05)
    ask("POST", f"{session}/url", {"url": ROUTER})
    for part in [dashboard, rules, whose, walk, why_slow, calculators, others]:
        part()
    noise = [line["message"] for line in ask("POST", f"{session}/se/log", {"type": "browser"})]
    assert not [line for line in noise if "Security Policy" in line or "Uncaught" in line], noise
    print("done")
finally:
    if session:
        ask("DELETE", session)
    driver.terminate()
