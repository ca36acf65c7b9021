"""Tests the router's page in a browser; prints a line for each tested function."""
import os, signal

from browser import *


def dashboard():
    log_in("admin", "wrong")
    until("a wrong password is refused", lambda: "Invalid" in js("return document.querySelector('[role=alert]').textContent"))
    log_in("admin", PASSWORD)
    find("#plots section canvas")
    points = lambda: int(js("return document.querySelector('#plots canvas').dataset.time ?? 0"))
    first = until("a plot has begun", points)
    until("a plot moves", lambda: points() > first + 2)
    print("plots move")


def rules():
    show("/ip/firewall/filter")
    until("rules are there", lambda: len(rows()) >= 2)
    first, second = rows()[:2]
    click(f"#rows a[data-id='{first}']")
    write("#field-comment", "seen in the page")
    click("#save")
    until("the comment is in the table", lambda: "seen in the page" in comments())
    print("a rule is changed")

    drag(f"#rows tr[data-row='{second}'] .handle", f"#rows tr[data-row='{first}']", 0.2)
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


def row_text(row):
    return js("return document.querySelector(`#rows tr[data-row='${arguments[0]}']`)?.innerText ?? ''", row)


def tables():
    """Tests filter, order, and changes within the table; rows are updated in place."""
    show("/ip/firewall/filter")
    until("rules are there", lambda: len(rows()) >= 2)
    first = rows()[0]
    headings = lambda: js("return [...document.querySelectorAll('#rows tr.heading')].map((row) => row.innerText)")
    until("rules stand under their chain", lambda: any(text.startswith("forward") for text in headings()))
    assert "established,related" in row_text(first), row_text(first)
    js("document.querySelector(`#rows tr[data-row='${arguments[0]}']`).mark = 'same element'", first)
    comment = f"#rows tr[data-row='{first}'] td.comment"
    click(comment)
    js("document.activeElement.select()")
    press(f"{comment} input", "written in the table\ue007")
    until("the comment is stored", lambda: stored("/ip/firewall/filter", first, "comment") == "written in the table")
    click(f"#rows tr[data-row='{first}'] [role=switch]")
    until("the rule is disabled", lambda: stored("/ip/firewall/filter", first, "disabled") == "true")
    by_another("/ip/firewall/filter/enable", {"numbers": first})
    by_another("/ip/firewall/filter/set", {"numbers": first, "comment": "by another"})
    until("another user's change is there", lambda: "by another" in row_text(first))
    mark = js("return document.querySelector(`#rows tr[data-row='${arguments[0]}']`).mark", first)
    assert mark == "same element", "the row was made anew"
    write("#filter", "connection-state=invalid")
    until("the filter leaves one rule", lambda: len(rows()) == 1 and first not in rows())
    print("rules are filtered and changed in their table")

    show("/ip/firewall/address-list")
    until("addresses are there", lambda: len(rows()) > 20)
    js("document.querySelector('.scroll').scrollTop = 1e9")
    until("the last address is drawn", lambda: "10.7.207.1" in js("return document.querySelector('#rows').innerText"))
    drawn = len(rows())
    assert drawn < 200, f"{drawn} rows are drawn"
    click("#rows [data-sort=address]")
    click("#rows [data-sort=address]")
    until("the greatest address is first", lambda: js("return document.querySelector('#rows tr[data-row]').innerText").find("10.7.207.1") >= 0)
    print("2,000 rows scroll; drawn:", drawn)


def clicks():
    """Tests that no click is lost while the table is updated."""
    show("/interface")
    until("interfaces are there", lambda: len(rows()) >= 2)
    lost = 0
    for turn in range(40):
        row = rows()[turn % 2]
        box = "return document.querySelector(`#rows input[data-id='c${arguments[0]}']`).checked"
        before = js(box, row)
        click(f"#rows input[data-id='c{row}']")
        lost += js(box, row) == before
    assert lost == 0, f"{lost} of 40 clicks are lost"
    print("clicks lost: 0 of 40")


def forms():
    """Tests that a form shows what fits, names the wrong field, and previews its command."""
    show("/ip/firewall/nat/new?chain=dstnat&action=dst-nat")
    find("#field-chain")
    visible = lambda name: js("return document.querySelector('#field-' + arguments[0])?.checkVisibility() ?? false", name)
    assert visible("to-addresses") and not visible("jump-target") and not visible("dst-port"), "fields that do not fit"
    write("#field-protocol", "tcp")
    until("ports fit TCP", lambda: visible("dst-port"))
    write("#field-dst-port", "443")
    write("#field-to-addresses", "nonsense")
    click("#save")
    fault = lambda: js("return document.querySelector('#field-to-addresses-error').textContent")
    until("the error is at its field", lambda: "address" in fault())
    write("#field-to-addresses", "192.168.88.20")
    click("#field-protocol")
    js("document.querySelector('#field-src-address').closest('.negated').querySelector('.not').click()")
    write("#field-src-address", "10.0.0.0/8")
    wanted = "/ip/firewall/nat/add chain=dstnat action=dst-nat"
    preview = lambda: js("return document.querySelector('#preview').textContent")
    until("the command is shown", lambda: preview().startswith(wanted[:21]) and "src-address=!10.0.0.0/8" in preview())
    picture("form")
    click("#save")
    until("the rule is in the table", lambda: "192.168.88.20" in js("return document.querySelector('#rows')?.innerText ?? ''"))
    click("#undo")
    until("the rule is gone", lambda: "192.168.88.20" not in js("return document.querySelector('#rows')?.innerText ?? ''"))
    print("a form shows what fits, and the error at its field")


def searches():
    found = lambda: js("return document.querySelector('#found').innerText")
    for text, title in [("port forward", "Forward a port"), ("wan ip", "WAN address"), ("reboot", "Reboot"), ("masquerade", "Share the internet")]:
        write("#search", text)
        until(f"{text} is found", lambda: title in found())
    write("#search", "10.7.207.1")
    until("an address is found", lambda: "/ip/firewall/address-list" in found())
    js("document.querySelector('#search').value = ''; document.querySelector('#search').dispatchEvent(new Event('input'))")
    print("tasks and addresses are found by their names")


def absence():
    """Tests that the page notices a router that stops, and its return."""
    show("/interface")
    until("interfaces are there", lambda: len(rows()) >= 2)
    said = lambda: js("return document.querySelector('#gone')?.textContent ?? ''")
    os.kill(int(PROCESS), signal.SIGSTOP)
    try:
        until("the page says that the router is gone", lambda: "does not answer" in said())
        picture("gone")
    finally:
        os.kill(int(PROCESS), signal.SIGCONT)
    until("the router is back", lambda: said() == "" and len(rows()) >= 2)
    print("the page says when the router is gone, and comes back")


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
    resize(400, 800)
    wide = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert js(wide) <= 0, "wider than a phone"
    picture("phone")
    print("a phone is wide enough")


run([dashboard, rules, tables, clicks, forms, searches, whose, absence, walk, why_slow, calculators, others])
