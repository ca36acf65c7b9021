"""Tests the terminal and the tools of the page in a browser; prints a line for each tested function."""
import struct, time

from browser import *

CONTROL, SHIFT, ENTER, TAB, UP = "\ue009", "\ue008", "\ue007", "\ue004", "\ue013"


def keys(text, held=""):
    """Presses keys at the element with the focus, while others are held."""
    presses = [{"type": "keyDown", "value": key} for key in held]
    for key in text:
        presses += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
    presses += [{"type": "keyUp", "value": key} for key in held]
    ask("POST", f"{session_path()}/actions", {"actions": [{"type": "key", "id": "keys", "actions": presses}]})


def resize(width, height):
    ask("POST", f"{session_path()}/window/rect", {"width": width, "height": height})


def theme(name):
    js("if (document.documentElement.dataset.theme !== arguments[0]) document.querySelector('[aria-label^=Switch]').click()", name)


def pictures(name):
    """Takes pictures in light and dark, wide and narrow; the view must not be wider than the window."""
    for width, height in [(1280, 900), (390, 844)]:
        resize(width, height)
        for look in ["light", "dark"]:
            theme(look)
            picture(f"{name}-{width}-{look}")
        wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        until(f"{name} fits into {width} pixels", lambda: js(wide) <= 0)
    theme("light")
    resize(1280, 900)


def screen():
    return js("return document.querySelector('.xterm-rows')?.innerText.replaceAll('\\u00a0', ' ') ?? ''")


def prompt():
    lines = [line.rstrip() for line in screen().split("\n") if line.strip()]
    return lines[-1] if lines else ""


def focused():
    return js("return document.activeElement?.id || document.activeElement?.className || ''")


def logs_in():
    log_in("admin", "Sesamesesame1")
    find("#nav a")


def terminal_by_keyboard():
    show("terminal")
    until("the console greets", lambda: prompt().endswith("] >"))
    assert "xterm-helper-textarea" in focused(), "the terminal has the focus"
    keys("/ip addr" + TAB + "pr" + TAB + ENTER)
    until("completed words run", lambda: "192.168.88.1/24" in screen() and prompt().endswith("] >"))
    keys("/ip address print")
    until("the line has colours", lambda: js("return document.querySelectorAll('.xterm-rows [class*=xterm-fg-]').length") >= 2)
    keys("c", CONTROL)
    keys(UP)
    until("history recalls the line", lambda: prompt().endswith("/ip address print"))
    keys("c", CONTROL)
    until("Ctrl C leaves the line", lambda: prompt().endswith("] >"))
    keys("/interface monitor-traffic ether2" + ENTER)
    until("a monitor runs", lambda: "rx-packets-per-second" in screen())
    keys("c", CONTROL)
    until("Ctrl C stops the monitor", lambda: prompt().endswith("] >"))
    print("the terminal completes, colours, recalls, monitors and stops")
    keys("\t", SHIFT)
    until("Shift Tab leaves the terminal", lambda: "xterm" not in focused())
    click(".xterm-screen")


def terminal_pastes_and_fits():
    paste = """const data = new DataTransfer();
        data.setData("text/plain", arguments[0]);
        document.querySelector(".xterm-helper-textarea").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));"""
    js(paste, ":put first\n:put (1 + 41)\n")
    until("pasted lines run", lambda: "first" in screen() and "42" in screen())
    js(paste, "".join(f":global pasted {number}\n" for number in range(30)) + ":put \"all $pasted\"\n")
    until("30 pasted lines run in order", lambda: "all 29" in screen())
    before = js("return document.querySelector('.xterm-rows').childElementCount")
    resize(390, 600)
    until("the terminal has fewer rows", lambda: js("return document.querySelector('.xterm-rows').childElementCount") < before)
    keys(":put [:len \"narrow\"]" + ENTER)
    until("it works when narrow", lambda: "\n6" in screen())
    pictures("terminal")
    show("/ip/address")
    find("#rows")
    show("terminal")
    until("the console is as it was", lambda: "narrow" in screen())
    print("the terminal pastes, fits its window, and stays while other views are shown")


def terminal_in_safe_mode():
    keys("x", CONTROL)
    until("safe mode is on", lambda: prompt().endswith("<SAFE>"))
    keys("/system identity set name=unsafe" + ENTER)
    until("the name is set", lambda: stored("/system", "identity", "name") == "unsafe")
    click("#terminal-end")
    until("the session has ended", lambda: "ended" in js("return document.querySelector('#terminal-state').textContent"))
    until("its change is undone", lambda: stored("/system", "identity", "name") == "ferroute")
    find("#terminal-again")
    until("the new session is at hand", lambda: not js("return document.querySelector('#terminal-again').hidden"))
    click("#terminal-again")
    until("another session begins", lambda: prompt().endswith("] >"))
    keys("/quit" + ENTER)
    until("a session quits", lambda: focused() == "terminal-again")
    keys(ENTER)
    until("Enter begins another one", lambda: prompt().endswith("] >"))
    keys("x", CONTROL)
    until("safe mode is on again", lambda: prompt().endswith("<SAFE>"))
    keys("/system identity set name=gone" + ENTER)
    until("the name is set again", lambda: stored("/system", "identity", "name") == "gone")
    address = ask("GET", f"{session_path()}/url")
    ask("POST", f"{session_path()}/url", {"url": "about:blank"})
    until("the change ends with the page", lambda: stored("/system", "identity", "name") == "ferroute")
    ask("POST", f"{session_path()}/url", {"url": address.split("#")[0]})
    find("#nav a")
    print("the terminal's safe mode ends with its session and with the page")


def terminals_are_bounded():
    """Tests that a session has at most four consoles, and that a foreign token is refused."""
    begin = """const done = arguments[arguments.length - 1], headers = { "X-Ferroute": "page" };
        window.consoles = [];
        (async () => {
          const statuses = [];
          for (let count = 0; count < 5; count++) {
            const response = await fetch("/terminal?columns=80&rows=24", { method: "POST", headers });
            statuses.push(response.status);
            window.consoles.push(response.headers.get("X-Terminal"));
          }
          for (const path of ["/terminal/0123", "/terminal?columns=0&rows=24"]) statuses.push((await fetch(path, { method: "POST", headers })).status);
          for (const token of window.consoles.filter(Boolean)) await fetch("/terminal/" + token, { method: "DELETE", headers });
          done(statuses);
        })();"""
    statuses = ask("POST", f"{session_path()}/execute/async", {"script": begin, "args": []})
    assert statuses == [200, 200, 200, 200, 503, 404, 400], statuses
    print("a session has at most four consoles")


def lines():
    return js("return [...document.querySelectorAll('#tool-rows tbody tr')].map((row) => row.innerText)")


def text_of(css):
    return js("return document.querySelector(arguments[0])?.innerText ?? ''", css)


def tool_by_mouse():
    show("/")
    click("#nav a[href='#tools']")
    click("a[href='#tools?run=/tool/ping']")
    write("#field-address", "203.0.113.1")
    until("the command is shown", lambda: text_of("#tool-command") == "/tool/ping address=203.0.113.1")
    js("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    js("document.execCommand = (name) => { window.copied = getSelection().toString() || document.activeElement.value; return true; }")
    click(".copy")
    until("the command is copied", lambda: js("return window.copied") == "/tool/ping address=203.0.113.1")
    click("#tool-start")
    until("requests are answered", lambda: len(lines()) >= 3 and "203.0.113.1" in lines()[0])
    assert "0 %" in text_of("#ping-sums"), text_of("#ping-sums")
    assert js("return document.querySelectorAll('#ping-bars span').length") >= 2
    pictures("tool-ping")
    click("#tool-stop")
    until("the ping is stopped", lambda: text_of("#tool-state") == "stopped")
    write("#field-address", "no.such.host.invalid")
    click("#tool-start")
    until("an error is shown", lambda: text_of("#tool-error") != "")
    print("a ping runs by mouse, and its command is copied")


def tool_by_keyboard():
    show("tools?run=/tool/traceroute")
    until("the field has the focus", lambda: focused() == "field-address")
    keys("203.0.113.1" + ENTER)
    until("the route is shown", lambda: any("203.0.113.1" in line for line in lines()))
    until("Stop has the focus", lambda: focused() == "tool-stop")
    keys(" ")
    until("the traceroute is stopped", lambda: text_of("#tool-state") == "stopped" and focused() == "tool-start")
    print("a traceroute runs by keyboard")


def live_tools():
    show("tools?run=/tool/profile&start")
    until("activities are shown", lambda: " %" in text_of("#tool-rows"))
    pictures("tool-profile")
    show("tools?run=/tool/torch&interface=ether2&start")
    until("flows are shown", lambda: any("192.168.88.10" in line for line in lines()))
    pictures("tool-torch")
    show("tools?run=/tool/ip-scan&interface=ether2&address-range=192.168.88.0/28&start")
    until("hosts are found", lambda: any("192.168.88.10" in line for line in lines()))
    print("profile, torch and scan show live rows")


def sniffer():
    show("tools?run=/tool/sniffer/quick&interface=ether2&start")
    until("packets are shown", lambda: len(lines()) > 5)
    click("#tool-stop")
    until("the capture is stopped", lambda: text_of("#tool-state") == "stopped")
    click("#tool-rows tbody tr:last-child")
    until("a packet is shown", lambda: "0000  " in text_of("#packet") and "src-mac" in text_of("#packet"))
    pictures("tool-sniffer")
    js("URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => { window.capture = [...new Uint8Array(bytes)]; }); return 'blob:'; }")
    click("#pcap")
    capture = bytes(until("a capture is saved", lambda: js("return window.capture")))
    magic, version, _, _, _, link = struct.unpack_from("<IIIIII", capture)
    assert (magic, version, link) == (0xA1B2C3D4, 0x00040002, 1), "head"
    at, packets, now = 24, 0, time.time()
    while at < len(capture):
        seconds, micros, stored_length, length = struct.unpack_from("<IIII", capture, at)
        assert abs(seconds - now) < 300 and micros < 1_000_000 and stored_length <= length, "packet"
        at += 16 + stored_length
        packets += 1
    assert at == len(capture) and packets == len(lines()), (packets, len(lines()))
    print("a capture is shown and saved")


def streams_last():
    """Tests that a stream of the page is no pending login: it outlives their time limit of 30 seconds."""
    show("tools?run=/tool/traceroute&address=203.0.113.1&start")
    sent = lambda: int((lines() or ["\t0\t0"])[0].split("\t")[2])
    end = time.monotonic() + 45
    while time.monotonic() < end:
        before = sent()
        until("rounds go on", lambda: sent() > before)
    assert text_of("#tool-error") == "", text_of("#tool-error")
    print("a stream lasts")


def tools_end():
    """Tests that a tool ends on the router with its view: more are started than may run at once."""
    for turn in range(30):
        show(f"tools?run=/tool/torch&interface=ether2&dscp={turn}&start")
        until("torch runs", lambda: text_of("#tool-state") == "running")
    show("tools?run=/tool/ping&address=203.0.113.1&start")
    until("a ping still finds room", lambda: len(lines()) >= 2)
    print("30 tools ended with their views")


def tools_of_readers():
    click("#logout")
    log_in("guest", "Guestguest1")
    find("#nav a")
    show("tools?run=/tool/ping&address=203.0.113.1&start")
    until("a reader pings", lambda: len(lines()) >= 2)
    show("tools?run=/tool/profile&start")
    until("a reader profiles", lambda: " %" in text_of("#tool-rows"))
    click("#logout")
    log_in("viewer", "Viewerviewer1")
    find("#nav a")
    show("tools?run=/tool/ping")
    until("the policy is named", lambda: "needs the policy test" in text_of("#tool-refused"))
    assert js("return document.querySelector('#tool-start').disabled"), "who lacks it can not start"
    show("tools")
    find(".tool")
    pictures("tools")
    click("#logout")
    log_in("admin", "Sesamesesame1")
    find("#nav a")
    print("a reader uses what only looks, and sees what else is needed")


def table(menu, text):
    """Shows a menu, and selects the row that contains a text."""
    show(menu)
    row = until(f"{menu} has {text}", lambda: js("""return [...document.querySelectorAll("#rows tr[data-row]")]
        .find((row) => row.innerText.includes(arguments[0]))?.dataset.row""", text))
    click(f"#rows input[data-id='c{row}']")
    return row


def walked():
    until("the path is drawn", lambda: js("return document.querySelectorAll('#walk .stage').length") > 3)
    return js("return Object.fromEntries([...document.querySelectorAll('#walk-form input, #walk-form select')].map((one) => [one.id.slice(5), one.value]))")


def why():
    """Tests that rules, log lines and connections open the packet walk with its fields filled."""
    by_another("/ip/firewall/mangle/add", {"chain": "forward", "action": "log", "protocol": "icmp", "log-prefix": "passing", "comment": "logs"})
    table("/ip/firewall/filter", "invalid")
    click("#do-why-")
    packet = walked()
    assert packet["in-interface"] == "ether2" and packet["src-address"].startswith("192.168.88.") and packet["connection-state"] == "invalid", packet
    table("/log", "passing")
    click("#do-why-")
    packet = walked()
    ends = {packet["src-address"], packet["dst-address"]}
    assert ends == {"192.168.88.10", "203.0.113.1"} and packet["protocol"] == "icmp", packet
    picture("why")
    row = table("/ip/firewall/mangle", "logs")
    click("#do-remove")
    until("the rule is removed", lambda: row not in js("return document.querySelector('#rows').innerHTML"))
    table("/ip/firewall/connection", "icmp")
    js("document.querySelector('#do-why-').focus()")
    keys(ENTER)
    assert walked()["protocol"] == "icmp"
    print("a rule, a log line and a connection tell why")


def filter_rules():
    return js("""const request = new XMLHttpRequest();
        request.open("GET", "/rest/ip/firewall/filter", false);
        request.setRequestHeader("X-Ferroute", "page");
        request.send();
        return request.responseText;""")


def imports():
    show("changes")
    write("#import-text", "/ip firewall filter add chain=forward action=drop comment=imported\n")
    click("#import-check")
    until("the difference is shown", lambda: "+ /ip firewall filter add" in text_of("#import-result"))
    assert "imported" not in filter_rules(), "a dry run changes nothing"
    pictures("changes")
    click("#import-run")
    until("the commands have run", lambda: "imported" in filter_rules())
    until("the history has it", lambda: "filter" in text_of("#history tbody tr"))
    # Scrolls as the focus does: not below the header, which stays at the top.
    js("document.querySelector('#history tbody tr button').scrollIntoView({ block: 'nearest' })")
    click("#history tbody tr button")
    until("the history undoes it", lambda: "imported" not in filter_rules())
    write("#import-text", "/ip firewall filter add chain=forward action=nonsense\n")
    js("document.querySelector('#import-check').focus()")
    keys(ENTER)
    until("the error is told", lambda: "action" in text_of("#changes-import .error"))
    assert not js("return document.querySelector('#import-run')"), "what is wrong can not be run"
    print("an import is rehearsed, run and undone")


def confirms():
    """Tests that a configuration is applied with a countdown, confirmed by keyboard, and undone by mouse."""
    click("#export-show")
    text = until("the configuration is shown", lambda: text_of("#export-text"))
    assert "/ip firewall filter" in text
    for command, name in [("confirm", "confirmed"), ("cancel", "cancelled")]:
        changed = text + f"\n/ip firewall filter add chain=forward action=drop comment={name}\n"
        js("document.querySelector('#import-text').value = arguments[0]", changed)
        click("#import-compare")
        until("the difference is shown", lambda: name in text_of("#import-result"))
        click("#import-apply")
        until("a countdown is shown", lambda: text_of("#pending .count")[:2] in ("4:", "5:"))
        until("what is pending is shown", lambda: f"comment={name}" in text_of("#changes-pending .plus"))
        before = text_of("#pending .count")
        until("the countdown moves", lambda: text_of("#pending .count") != before)
        picture("confirm")
        assert name in filter_rules()
        js("document.querySelector('#change-' + arguments[0]).focus()", command)
        keys(ENTER)
        until("the question is gone", lambda: js("return document.querySelector('#pending').hidden"))
    assert "confirmed" in filter_rules() and "cancelled" not in filter_rules()
    print("a configuration is applied, confirmed, and undone")


def safe_mode_shows_changes():
    click("#safe")
    until("safe mode is on", lambda: js("return document.querySelector('#safe').getAttribute('aria-pressed')") == "true")
    by_another("/ip/firewall/filter/add", {"chain": "forward", "action": "drop", "comment": "careful"})
    until("the change is shown", lambda: "careful" in text_of("#changes-pending .plus"))
    click("#unroll")
    until("the change is undone", lambda: "careful" not in filter_rules())
    print("safe mode shows its changes")


def backups():
    js("URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => { window.saved = bytes.byteLength; }); return 'blob:'; }")
    write("#backup-password", "Backupbackup1")
    keys(ENTER)
    until("a backup is saved", lambda: (js("return window.saved") or 0) > 500)
    click("#backup-restore")
    until("a file is asked for", lambda: "Choose a backup" in text_of("#changes-backup .error"))
    print("a backup is saved on the user's computer")


def dangers():
    show("/system")
    find("main .bar button")
    js("[...document.querySelectorAll('main .bar button')].find((one) => one.innerText === 'reset-configuration').click()")
    until("the command's form is there", lambda: "reset-configuration" in text_of("main form h2"))
    js("document.querySelector('main form button.main').click()")
    until("it asks", lambda: "reset-configuration" in text_of("dialog"))
    keys("\ue00c")
    until("Escape means no", lambda: text_of("dialog") == "" and text_of("main form pre") == "")
    print("a dangerous command asks")


run([logs_in, terminal_by_keyboard, terminal_pastes_and_fits, terminal_in_safe_mode, terminals_are_bounded, tool_by_mouse, tool_by_keyboard,
     live_tools, sniffer, streams_last, tools_end, why, imports, confirms, safe_mode_shows_changes, backups, dangers, tools_of_readers])
