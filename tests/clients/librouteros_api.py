"""librouteros, unmodified, against the binary API of a running router.

Arguments: address, user, password. Prints `ok`, or the error.
"""

import ssl
import sys
import threading

import librouteros
from librouteros.exceptions import TrapError
from librouteros.query import And, Key, Or

HOST, USER, PASSWORD = sys.argv[1:4]
NAME, COMMENT, DISABLED = Key("name"), Key("comment"), Key("disabled")


def connect(**others):
    """Returns an API session of librouteros."""
    wanted = {"host": HOST, "username": USER, "password": PASSWORD, "timeout": 60}
    return librouteros.connect(**{**wanted, **others})


def wanted(what, holds, shown):
    """Ends the test with an error unless the condition holds."""
    if not holds:
        sys.exit(f"{what}: {shown!r}")


def refused(what, message, run):
    """Ends the test unless the router refuses with this message."""
    try:
        shown = run()
    except TrapError as error:
        wanted(what, error.message == message, error.message)
    else:
        wanted(what, False, shown)


def logins():
    """Tests the right password, a wrong password, and the digest login of old versions, which is refused."""
    connect().close()
    message = "invalid user name or password (6)"
    refused("wrong password", message, lambda: connect(password="wrong"))
    refused("old login", message, lambda: connect(login_method=librouteros.login.token))


def encrypted():
    """Tests logins over TLS, without the anonymous ciphers of RouterOS."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    api = connect(port=8729, ssl_wrapper=context.wrap_socket)
    shown = list(api("/system/identity/print"))
    wanted("identity by TLS", shown == [{"name": "ferroute"}], shown)
    api.close()


def items(api):
    """Adds, queries, changes and removes an item."""
    lists = api.path("interface", "list")
    made = lists.add(name="a=b", comment="x" * 4_000)
    wanted("id", made.startswith("*"), made)
    shown = list(lists.select(NAME).where(NAME == "a=b"))
    wanted("proplist and query", shown == [{"name": "a=b"}], shown)
    shown = list(lists.select(COMMENT).where(And(NAME == "a=b", COMMENT > "")))
    wanted("a comment", shown == [{"comment": "x" * 4_000}], len(shown))
    # An API word whose length field has three bytes.
    scripts = api.path("system", "script")
    long = scripts.add(name="long", source="#" * 20_000)
    shown = list(scripts.select(Key("source")).where(Key(".id") == long))
    wanted("a long value", shown == [{"source": "#" * 20_000}], len(shown))
    scripts.remove(long)
    shown = list(lists.select(NAME).where(Or(NAME == "all", NAME == "none")))
    wanted("or", shown == [{"name": "all"}, {"name": "none"}], shown)
    shown = list(lists.select(NAME).where(NAME.In("all", "a=b", "nobody")))
    wanted("in", shown == [{"name": "all"}, {"name": "a=b"}], shown)
    lists.update(**{".id": made, "comment": "short"})
    shown = list(lists.select(COMMENT).where(Key(".id") == made))
    wanted("set", shown == [{"comment": "short"}], shown)
    shown = list(api("/interface/list/print", **{"count-only": ""}))
    wanted("count", shown == [{"ret": len(list(lists))}], shown)
    lists.remove(made)
    wanted("remove", not list(lists.select(NAME).where(NAME == "a=b")), "still there")
    refused("removed twice", "no such item", lambda: lists.remove(made))


def order(api):
    """Moves rules."""
    rules = api.path("routing", "rule")
    first = rules.add(**{"action": "lookup", "table": "main", "comment": "1"})
    second = rules.add(**{"action": "lookup", "table": "main", "comment": "2"})
    tuple(rules("move", numbers=second, destination=first))
    shown = [row["comment"] for row in rules.select(COMMENT)]
    wanted("move", shown == [2, 1], shown)
    rules.remove(first, second)


def errors(api):
    """Tests unknown menus, commands, arguments and values, and a user without the policy `write`."""
    for path, message in [
        ("/no/such/menu/print", "no such command prefix"),
        ("/interface/list/fly", "no such command"),
    ]:
        refused(path, message, lambda path=path: list(api(path)))
    addresses = api.path("ip", "address")
    refused("argument", "unknown parameter colour", lambda: addresses.add(colour="red"))
    refused(
        "value",
        "input does not match any value of interface",
        lambda: addresses.add(address="192.0.2.1/24", interface="nobody"),
    )
    reader = connect(username="reader", password="Only-reads-1")
    shown = list(reader("/system/identity/print"))
    wanted("reading", shown == [{"name": "ferroute"}], shown)
    message = "not enough permissions (9)"
    refused("writing", message, lambda: tuple(reader("/system/identity/set", name="x")))
    reader.close()


def changes(api):
    """Tests that `listen` with a duration returns the changes of another session."""
    listener = connect()
    lists = api.path("interface", "list")
    heard = []

    def listen():
        # librouteros returns the rows after the command has ended.
        heard.extend(listener("/interface/list/listen", duration="3s"))

    thread = threading.Thread(target=listen)
    thread.start()
    # The start of `listen` is unknown, so changes continue until it has ended.
    number = 0
    while thread.is_alive():
        made = lists.add(name=f"heard{number}")
        number += 1
        thread.join(0.3)
        lists.remove(made)
    wanted("listen", any(".id" in row for row in heard), heard)
    listener.close()


def streaming(api):
    """Tests that a running `listen` returns a change at once, and that `/cancel` ends it."""
    listener = connect()
    # librouteros returns rows only after the end of a command, so the test reads the sentences itself.
    line = listener.protocol
    lists = api.path("interface", "list")
    made = lists.add(name="streamed")
    told = threading.Event()

    def change():
        # The start of `listen` is unknown, so changes continue until the first row arrives.
        number = 0
        while not told.is_set():
            lists.update(comment=str(number), **{".id": made})
            number += 1

    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    line.writeSentence("/interface/list/listen", ".tag=listen")
    first, words = line.readSentence()
    told.set()
    thread.join()
    wanted("streamed", first == "!re" and f"=.id={made}" in words, (first, words))
    line.writeSentence("/cancel", "=tag=listen", ".tag=cancel")
    done, trapped = set(), set()
    while len(done) < 2:
        reply, words = line.readSentence()
        tags = {word for word in words if word.startswith(".tag=")}
        done |= tags if reply == "!done" else set()
        trapped |= tags if reply == "!trap" else set()
    wanted("canceled", trapped == {".tag=listen"}, trapped)
    lists.remove(made)
    listener.close()


def main():
    """Runs all tests."""
    logins()
    encrypted()
    api = connect()
    items(api)
    order(api)
    errors(api)
    changes(api)
    streaming(api)
    shown = [row["via"] for row in api("/user/active/print") if row["name"] == USER]
    wanted("active", "api" in shown, shown)
    api.close()
    print("ok")


main()
