"""Tests the first view, the tables, the dashboard and Quick Set of the router's page in a browser."""
from browser import *

RULES = "/ip/firewall/filter"
visible = lambda css: js("return document.querySelector(arguments[0])?.checkVisibility() ?? false", css)
text = lambda css: js("return document.querySelector(arguments[0])?.innerText ?? ''", css)


def messages():
    """Returns the messages of the browser's network since the last call."""
    log = ask("POST", f"{session_path()}/se/log", {"type": "performance"})
    return [json.loads(entry["message"])["message"] for entry in log]


def transferred(log):
    """Returns the bytes on the wire, headers included, and the number of answers from the network."""
    finished = {message["params"]["requestId"]: message["params"]["encodedDataLength"] for message in log if message["method"] == "Network.loadingFinished"}
    pieces = {}
    for message in log:
        if message["method"] == "Network.dataReceived":
            name = message["params"]["requestId"]
            pieces[name] = pieces.get(name, 0) + message["params"]["encodedDataLength"]
    # Streams have no end.
    return sum((pieces | finished).values()), len(pieces | finished)


def first_view():
    """Measures the first view with an empty cache at 4 Mbit/s, and the next one."""
    log_in("admin", PASSWORD)
    find("#facts [data-fact=Internet]")
    cdp("Network.enable")
    cdp("Network.emulateNetworkConditions", offline=False, latency=20, downloadThroughput=500_000, uploadThroughput=125_000)
    for name, clear in [("with an empty cache", True), ("again", False)]:
        if clear:
            cdp("Network.clearBrowserCache")
        messages()
        ask("POST", f"{session_path()}/url", {"url": "about:blank"})
        ask("POST", f"{session_path()}/url", {"url": ROUTER})
        mark = until("the dashboard is drawn", lambda: js("return performance.getEntriesByName('first-view')[0]?.startTime"))
        size, answers = transferred(messages())
        print(f"first view {name}: {size / 1000:.1f} kB in {answers} answers, {mark / 1000:.2f} s at 4 Mbit/s")
        assert size < 150_000, size
        if not clear:
            assert size < 60_000, f"{size} bytes although the browser has the files"
    cdp("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)


def lost_requests():
    """Tests that the page begins by itself after a script or a description did not arrive."""
    for lost, says in [("*/app.js", "did not arrive"), ("*/schema.json", "tries again")]:
        cdp("Network.setBlockedURLs", urls=[lost])
        cdp("Network.clearBrowserCache")
        ask("POST", f"{session_path()}/url", {"url": "about:blank"})
        ask("POST", f"{session_path()}/url", {"url": ROUTER})
        until(f"the page tells that {lost} is missing", lambda: says in text("#page"))
        cdp("Network.setBlockedURLs", urls=[])
        until("the page is there", lambda: text("#facts [data-fact=Internet]"))
    print("the page begins although a request was lost")


def board():
    """Tests that the dashboard shows what passes the router."""
    show("/")
    until("WAN and LAN are known", lambda: "ether1" in text("#plots .tile:nth-child(1) .note") and "bridge" in text("#plots .tile:nth-child(2) .note"))
    until("the internet is there", lambda: "Connected" in text("[data-fact=Internet]") and "203.0.113.2" in text("[data-fact=Internet]"))
    until("traffic is drawn", lambda: "Mbps" in js("return document.querySelector('#plots canvas').getAttribute('aria-label')"))
    names = lambda: js("return [...document.querySelectorAll('.topology .name')].map((name) => name.textContent)")
    until("the topology is drawn", lambda: {"ether1", "ether2", "bridge", "vlan20", "wg1"} <= set(names()))
    rates = lambda: js("return [...document.querySelectorAll('.topology .rate')].filter((rate) => rate.textContent).length")
    until("rates are on the lines", lambda: rates() >= 2)
    lists = lambda name: text(f".lists section[aria-label='{name}']")
    until("a talker is named", lambda: "192.168.88.10" in lists("Top talkers"))
    until("drops have a meaning", lambda: "The " in lists("Dropped packets"))
    until("a peer without handshake is listed", lambda: "laptop" in lists("VPN and PPP"))
    points = lambda: int(js("return document.querySelector('#plots canvas').dataset.time"))
    seen = points()
    until("history goes on", lambda: points() > seen)
    shots("dashboard")
    click("[data-span=minutes]")
    until("the day is shown", lambda: js("return document.querySelector('[data-span=minutes]').getAttribute('aria-pressed')") == "true")
    click("[data-span=seconds]")
    print("the dashboard shows traffic, topology, talkers and drops")


def shots(name):
    """Takes pictures at both widths, light and dark."""
    if PICTURES == "-":
        return
    for width, suffix in [(1280, ""), (390, "-phone")]:
        resize(width)
        for theme in ["light", "dark"]:
            js("document.documentElement.dataset.theme = arguments[0]", theme)
            js("dispatchEvent(new Event('resize'))")
            until("it is drawn", lambda: js("return document.readyState") == "complete")
            picture(f"{name}{suffix}{'-dark' if theme == 'dark' else ''}")
    js("document.documentElement.dataset.theme = 'light'")
    resize(1280)


def rule_table():
    """Tests that at 1280 pixels a rule shows its conditions, counters and comment."""
    resize(1280)
    show(RULES)
    until("rules are there", lambda: len(rows()) >= 15)
    edge = lambda: js("const box = document.querySelector('.scroll'); return [box.scrollWidth, box.clientWidth]")
    until("all columns fit", lambda: edge()[0] <= edge()[1])
    heads = js("return [...document.querySelectorAll('#rows th')].map((head) => [head.innerText.trim(), head.getBoundingClientRect().width])")
    widths = dict(heads)
    for name in ["action", "source", "destination", "conditions", "packets", "comment"]:
        assert widths.get(name, 0) >= 50, heads
    shots("rules")
    row = js("return [...document.querySelectorAll('#rows tr[data-row]')].find((row) => row.innerText.includes('web server')).dataset.row")
    js("document.querySelector(`#rows tr[data-row='${arguments[0]}']`).focus()", row)
    keys("\ue015", "\ue013")
    until("the full texts are shown", lambda: "accounting" in text(".full:not([hidden])"))
    assert "198.51.100.80" in row_text(row)
    print("rules fit 1280 pixels:", ", ".join(f"{name} {round(width)}" for name, width in heads if name))


def row_text(row):
    return js("return document.querySelector(`#rows tr[data-row='${arguments[0]}']`)?.innerText ?? ''", row)


def order_of_rules():
    """Tests dragging with a mouse and with a finger, also to the end."""
    show("/ip/firewall/mangle")
    marks = lambda: js("return [...document.querySelectorAll('#rows tr[data-row]')].filter((row) => row.querySelector('.handle')).map((row) => row.dataset.row)")
    until("rules are there", lambda: len(marks()) == 4)
    before = marks()
    drag(f"#rows tr[data-row='{before[0]}'] .handle", f"#rows tr[data-row='{before[3]}']", 0.8)
    until("the first rule is the last", lambda: marks() == before[1:] + before[:1])
    drag(f"#rows tr[data-row='{before[0]}'] .handle", f"#rows tr[data-row='{before[1]}']", 0.2, "touch")
    until("a finger takes it back", lambda: marks() == before)
    print("rules are dragged to the end with a mouse, and back with a finger")


def sorting():
    """Tests sorting by a rate, by a joined column, and columns of a user's choice."""
    show("/interface")
    until("interfaces are there", lambda: len(rows()) >= 4)
    click("#rows [data-sort='~rx-byte']")
    click("#rows [data-sort='~rx-byte']")
    first = lambda: js("return document.querySelector('#rows tr[data-row]')?.innerText ?? ''")
    until("an interface with traffic is first", lambda: "bps" in first())
    click("#rows [data-sort='~rx-byte']")
    show(RULES)
    until("rules are there", lambda: len(rows()) >= 15)
    click("#rows [data-sort='+destination']")
    click("#rows [data-sort='+destination']")
    until("rules are sorted by destination", lambda: "239.255.255.250" in first())
    show("/ip/address")
    until("addresses are there", lambda: len(rows()) >= 2)
    heads = lambda: js("return [...document.querySelectorAll('#rows th')].map((head) => head.innerText.trim())")
    assert "vrf" not in heads()
    click(".chooser summary")
    js("[...document.querySelectorAll('.choices label')].find((label) => label.innerText.trim() === 'vrf').click()")
    until("the column is there", lambda: "vrf" in heads())
    show("/")
    show("/ip/address")
    until("the choice is kept", lambda: "vrf" in heads())
    print("tables are sorted by rates and joined columns, and keep their columns")


def links():
    """Tests links in cells."""
    show("/interface/vlan")
    until("VLANs are there", lambda: len(rows()) >= 2)
    js("[...document.querySelectorAll('#rows td a')].find((link) => link.innerText === 'ether3').click()")
    until("the interface is found", lambda: len(rows()) == 1 and "ether3" in row_text(rows()[0]))
    show("/ip/firewall/connection")
    until("connections are there", lambda: len(rows()) >= 1)
    js("[...document.querySelectorAll('#rows td a')].find((link) => link.hash.includes('filter=192.168.88.10')).click()")
    until("the connections of the host are listed", lambda: js("return document.querySelector('#filter')?.value") == "192.168.88.10")
    print("cells link to interfaces and to the connections of hosts")


def many_rows():
    """Tests that a window of 20,000 rows scrolls to its end."""
    show("/ip/firewall/address-list")
    until("addresses are there", lambda: len(rows()) > 20)
    total = js("return document.querySelector('#count').innerText")
    js("document.querySelector('.scroll').scrollTop = 1e9")
    until("the last address is drawn", lambda: "last of all" in text("#rows"))
    drawn = len(rows())
    assert drawn < 200, drawn
    print(f"{total} scroll; drawn: {drawn}")


def quick_set():
    """Tests Quick Set by keyboard: the commands shown are those that run, and one undo takes them back."""
    show("quickset?setup=vpn")
    find("#quickset")
    commands = lambda: text("#quickset-commands")
    assert js("return document.querySelector('#quickset-run').disabled"), "the form is not filled in"
    js("document.querySelector('#quickset-endpoint').focus()")
    keys(*"vpn.example.com")
    until("the commands are shown", lambda: "/interface/wireguard/add name=wireguard-vpn" in commands() and "client-endpoint=vpn.example.com" in commands())
    shots("quickset")
    click("#quickset-check")
    until("the router accepts them", lambda: "Nothing was changed" in text("#quickset .done"))
    assert not [row for row in listed("/interface/wireguard") if row["name"] == "wireguard-vpn"], "a check changed something"
    js("document.querySelector('#quickset-run').focus()")
    keys("\ue007")
    until("they have run", lambda: text("#quickset .done").startswith("Done"))
    peers = [row for row in listed("/interface/wireguard/peers") if row["interface"] == "wireguard-vpn"]
    assert [peer["client-endpoint"] for peer in peers] == ["vpn.example.com"], peers
    assert not [row for row in listed("/file") if row["name"] == "quick-set.rsc"], "the file stays"
    click("#undo")
    until("it is undone", lambda: not [row for row in listed("/interface/wireguard") if row["name"] == "wireguard-vpn"])
    write("#quickset-vpn", "10.0.0.0/24")
    until("a network is no address", lambda: "such as" in text("#quickset-vpn-error"))
    print("Quick Set shows its commands, checks them, runs them as one, and is undone")


def listed(menu):
    proof = base64.b64encode(b"other:Otherother1").decode()
    request = urllib.request.Request(f"{ROUTER}rest{menu}", headers={"Authorization": f"Basic {proof}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.load(answer)


run([first_view, lost_requests, board, rule_table, order_of_rules, sorting, links, many_rows, quick_set])
