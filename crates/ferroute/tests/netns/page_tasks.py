"""Does the twelve tasks of an administrator in a browser: by mouse and by keyboard, wide and narrow, light and dark."""
import time

from browser import *

CONTROL, SHIFT, ENTER, TAB, DOWN, SPACE = "\ue009", "\ue008", "\ue007", "\ue004", "\ue015", " "
ADMIN_TEXT = "192.168.88.10"
text = lambda css: js("return document.querySelector(arguments[0])?.innerText ?? ''", css)
# Distance from the focus to an element in presses of Tab; null if Tab does not lead to it.
DISTANCE = """
    const target = document.querySelector(arguments[0]);
    const root = document.querySelector("dialog[open]") ?? document;
    const all = [...root.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
        .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert]"));
    if (document.activeElement === target) return 0;
    const to = all.indexOf(target);
    if (to < 0) return null;
    let from = all.indexOf(document.activeElement);
    if (from < 0) from = all.findIndex((one) => document.activeElement.compareDocumentPosition(one) & 4) - 1;
    return to - from;
"""


def chord(names, held=()):
    """Presses keys while others are held."""
    presses = [{"type": "keyDown", "value": key} for key in held]
    presses += [{"type": kind, "value": key} for key in names for kind in ("keyDown", "keyUp")]
    presses += [{"type": "keyUp", "value": key} for key in held]
    act({"type": "key", "id": "keyboard", "actions": presses})


def point(css):
    """Clicks an element with the mouse, after scrolling it to the middle of the window as a wheel does."""
    find(css)
    js("document.querySelector(arguments[0])?.scrollIntoView({ block: 'center' })", css)
    click(css)


class Hand:
    """Uses the page by mouse or by keyboard alone, and counts the steps: clicks, keys, and filled fields."""

    def __init__(self, kind):
        self.kind, self.steps = kind, 0

    def reach(self, css):
        """Moves the focus to an element by Tab."""
        find(css)
        def arrived():
            distance = js(DISTANCE, css)
            if distance is None:
                return False
            if distance:
                chord([TAB] * min(abs(distance), 200), [SHIFT] if distance < 0 else [])
            return js("return document.activeElement === document.querySelector(arguments[0])", css)
        until(f"Tab leads to {css}", arrived)

    def choose(self, css, key=ENTER):
        """Activates a link or a button."""
        self.steps += 1
        if self.kind == "mouse":
            return point(css)
        self.reach(css)
        chord([key])

    def write(self, css, value):
        self.steps += 1
        if self.kind == "mouse":
            point(css)
        else:
            self.reach(css)
        chord("a", [CONTROL])
        chord(value)
        until(f"{css} has the text", lambda: js("return document.querySelector(arguments[0]).value", css) == value)

    def pick(self, css, label):
        """Picks an option of a list by its text."""
        self.steps += 1
        if self.kind == "mouse":
            point(css)
            number = until(f"{css} has {label}", lambda: js("return 1 + [...document.querySelector(arguments[0]).options].findIndex((one) => one.text === arguments[1])", css, label))
            point(f"{css} option:nth-child({number})")
        else:
            until(f"{css} has {label}", lambda: js("return [...document.querySelector(arguments[0]).options].some((one) => one.text === arguments[1])", css, label))
            self.reach(css)
            chord(label)
        until(f"{label} is picked", lambda: js("const list = document.querySelector(arguments[0]); return list.options[list.selectedIndex]?.text", css) == label)

    def search(self, words, title):
        """Finds a task by its name, and opens it."""
        if self.kind == "mouse":
            point("#search")
        else:
            chord("k", [CONTROL])
        chord(words)
        self.steps += 2
        number = until(f"{title} is found", lambda: js("return 1 + [...document.querySelectorAll('#found li')].findIndex((line) => line.innerText.includes(arguments[0]))", title))
        if self.kind == "mouse":
            point(f"#found li:nth-child({number}) a")
        else:
            chord([DOWN] * number)
            assert title in js("return document.activeElement.innerText"), "arrows lead to the result"
            chord([ENTER])
        self.steps += 1
        until("the search is closed", lambda: not text("#found"))

    def select(self, words):
        """Selects the only row that has these words."""
        self.write("#filter", words)
        row = until(f"{words} leaves one row", lambda: len(rows()) == 1 and rows()[0])
        self.steps += 1
        if self.kind == "mouse":
            point(f"#rows input[data-id='c{row}']")
        else:
            self.reach(f"#rows tr[data-row='{row}']")
            chord([SPACE])
        until("the row is selected", lambda: js("return document.querySelector(`#rows input[data-id='c${arguments[0]}']`).checked", row))


def listed(menu, **wanted):
    """Returns the router's rows with these values."""
    proof = base64.b64encode(b"other:Otherother1").decode()
    request = urllib.request.Request(f"{ROUTER}rest{menu}", headers={"Authorization": f"Basic {proof}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return [row for row in json.load(answer) if all(row.get(name.replace("_", "-")) == value for name, value in wanted.items())]


def removed(menu, **wanted):
    """Removes what a task added, so that the next one begins as the first did."""
    found = listed(menu, **wanted)
    assert found, (menu, wanted)
    for row in found:
        by_another(f"{menu}/remove", {"numbers": row[".id"]})


def internet_is_up(hand):
    hand.choose(".top a.name")
    until("the internet is up since a time", lambda: "Connected" in text("[data-fact=Internet]") and "since" in text("[data-fact=Internet]"))


def limit_a_device(hand):
    hand.choose(".top a.name")
    limit = f".lists section[aria-label='Top talkers'] a[href*='target={ADMIN_TEXT}/32']"
    until("the talker is shown with its rate", lambda: ADMIN_TEXT in text(".lists section[aria-label='Top talkers']"))
    hand.choose(limit)
    find("#field-max-limit")
    hand.choose("#save")
    queue = until("the queue is there", lambda: listed("/queue/simple", target=f"{ADMIN_TEXT}/32"))[0]
    assert queue["max-limit"] in ("10M/10M", "10000000/10000000"), queue
    removed("/queue/simple", target=f"{ADMIN_TEXT}/32")


def forward_a_port(hand):
    hand.search("port forward", "Forward a port")
    hand.write("#field-dst-port", "443")
    hand.write("#field-to-addresses", "192.168.88.20")
    hand.choose("#save")
    until("the rule is listed", lambda: "192.168.88.20" in text("#rows"))
    hand.select("443")
    hand.choose("#do-why-")
    until("the walk matches the rule", lambda: js("return [...document.querySelectorAll('#walk .rule.met')].some((rule) => rule.innerText.includes('dst-nat'))"))
    until("the packet goes to the server", lambda: "192.168.88.20" in text("#walk"))
    removed("/ip/firewall/nat", dst_port="443")


def why_not_fasttracked(hand):
    hand.search("top talkers", "Connections by traffic")
    hand.select("icmp")
    hand.choose("#do-why-")
    until("the reason is told", lambda: len(text("#walk [data-stage=path]")) > 20)


def why_unreachable(hand):
    hand.search("why blocked", "Why is a packet dropped?")
    hand.pick("#walk-in-interface", "bridge")
    hand.write("#walk-src-address", "192.168.88.10")
    hand.write("#walk-dst-address", "192.168.20.20")
    hand.choose("#walk-ask")
    until("the rule is named", lambda: "guests are apart" in text("#walk .rule.met"))
    assert "drop" in text("#walk .rule.met").lower()


def block_a_site(hand):
    hand.search("block website", "Block traffic")
    hand.write("#field-src-address", "192.168.88.0/24")
    hand.write("#field-dst-address", "198.51.100.80")
    hand.write("#field-comment", "no such site")
    hand.choose("#save")
    count = lambda: int((listed("/ip/firewall/filter", comment="no such site") or [{}])[0].get("packets", 0))
    until("the rule counts", lambda: count() > 0)
    hand.write("#filter", "no such site")
    row = until("the filter leaves the rule", lambda: len(rows()) == 1 and rows()[0])
    shown = "return [...document.querySelectorAll(`#rows tr[data-row='${arguments[0]}'] td.number`)].map((cell) => Number(cell.innerText.replaceAll(',', '')))"
    until("the table shows the count", lambda: any(number and 0 < number <= count() for number in js(shown, row)))
    removed("/ip/firewall/filter", comment="no such site")


def reserve_an_address(hand):
    hand.search("static lease", "Give a device a fixed address")
    hand.write("#field-address", "192.168.88.50")
    hand.write("#field-mac-address", "02:00:00:00:00:50")
    hand.write("#field-comment", "printer")
    hand.choose("#save")
    until("the lease is listed", lambda: "printer" in text("#rows") and listed("/ip/dhcp-server/lease", comment="printer"))
    removed("/ip/dhcp-server/lease", comment="printer")


def add_a_phone(hand):
    hand.search("wireguard phone", "Add a WireGuard phone and show its code")
    hand.write("#quickset-device", "phone-anna")
    hand.write("#quickset-endpoint", "vpn.example.com")
    hand.choose("#quickset-run")
    until("the code is drawn", lambda: js("return document.querySelector('canvas.qr')?.width ?? 0") > 100)
    assert "vpn.example.com:13231" in text("#device pre") and "10.13.13.2/32" in text("#device pre"), text("#device pre")
    removed("/interface/wireguard/peers", name="phone-anna")


def find_the_dropping_rule(hand):
    hand.search("why blocked", "Why is a packet dropped?")
    hand.pick("#walk-in-interface", "bridge")
    hand.write("#walk-src-address", "10.1.2.77")
    hand.write("#walk-dst-address", "203.0.113.1")
    hand.choose("#walk-ask")
    until("the rule is named", lambda: js("return [...document.querySelectorAll('#walk .rule.met')].some((rule) => rule.innerText.includes('customer 589'))"))


def take_back_a_change(hand):
    rule = listed("/ip/firewall/filter", comment="guests are apart")[0][".id"]
    by_another("/ip/firewall/filter/disable", {"numbers": rule})
    hand.choose("#undo")
    until("the change and its user are told", lambda: "other" in text("dialog"))
    hand.choose("#answer-yes")
    until("the rule is enabled again", lambda: listed("/ip/firewall/filter", comment="guests are apart")[0]["disabled"] == "false")
    until("the question is gone", lambda: not text("dialog"))


def watch_a_load(hand):
    hand.search("watch live", "Watch interfaces, queues and the processor")
    for menu, row in [("Interfaces", "ether1"), ("Simple queues", "guests"), ("Processor", None)]:
        hand.pick("#watch-menu", menu)
        if row:
            hand.pick("#watch-row", row)
        count = js("return document.querySelectorAll('#watched section').length")
        hand.choose("#watch-add")
        until(f"{menu} is watched", lambda: js("return document.querySelectorAll('#watched section').length") == count + 1)
    labels = lambda: js("return [...document.querySelectorAll('#watched canvas')].map((canvas) => canvas.getAttribute('aria-label'))")
    until("rates are drawn", lambda: len(labels()) == 3 and "bps" in labels()[0] and "–" not in "".join(labels()))


def back_up_and_restore(hand):
    js("""URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => { window.saved = [...new Uint8Array(bytes)]; }); return 'blob:'; };
        window.saved = null""")
    identity = lambda: stored("/system", "identity", "name")
    name = identity()
    hand.search("backup restore", "Backup, export and import")
    hand.write("#backup-password", "Backupbackup1")
    hand.choose("#backup-save")
    backup = bytes(until("a backup is saved", lambda: js("return window.saved")))
    assert len(backup) > 500
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "saved.backup")
    with open(path, "wb") as file:
        file.write(backup)
    # The operating system's dialog chooses the file.
    press("#backup-file", path)
    hand.choose("#backup-restore")
    until("it asks", lambda: "It replaces the configuration" in text("dialog"))
    by_another("/system/identity/set", {"name": "broken"})
    hand.choose("#answer-yes")
    until("the backup is restored", lambda: "restored" in text("#changes-backup [role=status]"))
    until("the name is as it was", lambda: identity() == name)


TASKS = [internet_is_up, limit_a_device, forward_a_port, why_not_fasttracked, why_unreachable, block_a_site, reserve_an_address, add_a_phone,
         find_the_dropping_rule, take_back_a_change, watch_a_load, back_up_and_restore]
# Input, width, theme: each task is done by both inputs at both widths, in both themes by each input.
WAYS = [("mouse", 1280, "light"), ("keyboard", 1280, "dark"), ("mouse", 390, "dark"), ("keyboard", 390, "light")]


def tasks():
    js("sessionStorage.clear()")
    log_in("admin", PASSWORD)
    find("#facts [data-fact=Internet]")
    for kind, width, theme in WAYS:
        resize(width)
        js("localStorage.setItem('theme', arguments[0]); document.documentElement.dataset.theme = arguments[0]", theme)
        for number, task in enumerate(TASKS, 1):
            hand, began = Hand(kind), time.monotonic()
            task(hand)
            print(f"task {number} {task.__name__} by {kind} at {width} {theme}: {hand.steps} steps, {time.monotonic() - began:.1f} s", flush=True)
            if (kind, width, theme) == WAYS[0]:
                picture(f"task-{task.__name__.replace('_', '-')}")
            wide = js("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{task.__name__} is {wide} pixels wider than {width}"
            show("/tool/drop")
            until("another view is shown", lambda: "/tool/drop" in text("main .title"))
    resize(1280)


def clicks():
    """Counts the clicks on checkboxes that a table under live updates loses."""
    show("/interface")
    until("interfaces are there", lambda: len(rows()) >= 4)
    boxes = [f"#rows input[data-id='c{row}']" for row in rows()[:4]]
    lost = 0
    for turn in range(100):
        css = boxes[turn % len(boxes)]
        before = js("return document.querySelector(arguments[0]).checked", css)
        left, top, width, height = box(css)
        steps = [{"type": "pointerMove", "duration": 0, "x": int(left + width / 2), "y": int(top + height / 2), "origin": "viewport"},
                 {"type": "pointerDown", "button": 0}, {"type": "pause", "duration": 20}, {"type": "pointerUp", "button": 0}]
        act({"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps})
        lost += js("return document.querySelector(arguments[0]).checked", css) == before
    print(f"clicks lost: {lost} of 100")
    assert lost == 0


def shortcuts():
    """Tests that `?` shows the keys in a dialog that keeps the focus, closes with Esc and gives the focus back."""
    show("/interface")
    until("interfaces are there", lambda: len(rows()) >= 4)
    hand = Hand("keyboard")
    hand.reach("#logout")
    chord("?")
    find("#shortcuts")
    for _ in range(3):
        chord([TAB])
        assert js("return document.querySelector('#shortcuts').contains(document.activeElement) || document.activeElement === document.body"), "the focus left the dialog"
    chord("\ue00c")
    until("Esc closes it", lambda: not js("return document.querySelector('#shortcuts')"))
    assert js("return document.activeElement.id") == "logout", "the focus is back"
    chord("/")
    chord("?")
    assert not js("return document.querySelector('#shortcuts')") and js("return document.activeElement.value") == "?", "a question mark can be typed"
    chord("\ue00c")
    print("? shows the shortcuts")


def speed_limit():
    """Tests the speed limit of Quick Set: a queue between the LAN and the internet, and no FastTrack beside it."""
    show("quickset?setup=home")
    find("#quickset-speed")
    commands = lambda: text("#quickset-commands")
    until("there is no queue without a limit", lambda: "masquerade" in commands() and "/queue/simple" not in commands())
    write("#quickset-speed", "fast")
    until("a wrong speed is told", lambda: "such as 50/10" in text("#quickset-speed-error"))
    write("#quickset-speed", "50/10")
    until("the queue is in the commands", lambda: "/queue/simple/add name=internet target=192.168.88.0/24 dst=ether1 max-limit=10000k/50000k" in commands())
    assert "/ip/firewall/filter/disable [find action=fasttrack-connection dynamic=no]" in commands()
    print("Quick Set limits the speed")


def flame():
    """Tests the flame graph: all workers, each worker, and its activities."""
    show("tools?run=/tool/profile&start")
    until("three layers are drawn", lambda: js("return [...document.querySelectorAll('#flame .layer')].map((layer) => layer.childElementCount)")[:2] == [1, 1])
    until("the table has the activities", lambda: js("return document.querySelectorAll('#tool-rows tbody tr').length") >= 2)
    assert "idle" not in text("#tool-rows")
    print("the profile is a flame graph")


VIEWS = ["/", "quickset?setup=home", "quickset?setup=device", "tools", "tools?run=/tool/ping", "tools?run=/tool/profile&start", "watch", "watch?row=cpu&row=/interface%20ether1",
         "changes", "walk?src-address=192.168.88.10&dst-address=192.168.20.20", "doctor", "terminal", "calculators", "/interface", "/ip/firewall/filter",
         "/ip/firewall/nat/new?chain=dstnat&action=dst-nat&protocol=tcp", "/ip/firewall/connection", "/queue/simple", "/ip/dhcp-server/lease", "/log", "/system/identity", "/file"]


def accessible():
    """Tests every view with axe-core, in both themes, and the narrow window in one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "axe.js")
    if not os.path.exists(path):
        return print("axe-core is not installed: views are not checked (make deps)")
    with open(path) as file:
        axe = file.read()
    found = []
    for width, theme in [(1280, "light"), (1280, "dark"), (390, "light")]:
        resize(width)
        js("document.documentElement.dataset.theme = arguments[0]", theme)
        for view in [*VIEWS, "shortcuts"]:
            if view == "shortcuts":
                chord("?")
                find("#shortcuts")
            else:
                show(view)
                until(f"{view} is drawn", lambda: js("return document.querySelector('main h1') && document.querySelector('main').innerText.length > 40"))
            js("if (!window.axe) { " + axe + " }")
            report = ask("POST", f"{session_path()}/execute/async", {"script": """const done = arguments[0];
                axe.run(document, { resultTypes: ["violations"] }).then((report) => done(report.violations.map((one) => [one.id, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + " " + (node.any[0]?.message ?? ""))])), (error) => done([["axe", String(error)]]));""", "args": []})
            found += [(width, theme, view, *one) for one in report]
            if view == "shortcuts":
                chord("\ue00c")
                until("Esc closes the dialog", lambda: not text("#shortcuts"))
    for one in found:
        print(one)
    assert not found, f"{len(found)} findings of axe-core"
    print(f"axe-core: {len(VIEWS) + 1} views without findings, light, dark and narrow")


if __name__ == "__main__":
    run([tasks, clicks, shortcuts, speed_limit, flame, accessible])
