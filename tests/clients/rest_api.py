"""REST by Python's own HTTP, against a running router.

Arguments: address, user, password. Prints `ok`, or the error.
"""

import base64
import http.client
import json
import ssl
import sys

HOST, USER, PASSWORD = sys.argv[1:4]


def authorization(user=USER, password=PASSWORD):
    """Returns the value of the Authorization header (RFC 7617)."""
    proof = base64.b64encode(f"{user}:{password}".encode()).decode()
    return f"Basic {proof}"


def ask(connection, method, path, body=None, user=USER, password=PASSWORD):
    """Sends a request; returns the status and the decoded body of the answer."""
    proof = authorization(user, password)
    headers = {"Authorization": proof, "Content-Type": "application/json"}
    text = None if body is None else json.dumps(body)
    connection.request(method, f"/rest{path}", text, headers)
    answer = connection.getresponse()
    said = answer.read()
    return answer.status, json.loads(said) if said else None


def wanted(what, found, expected):
    """Ends the test with an error unless the values are equal."""
    if found != expected:
        sys.exit(f"{what}: {found!r}, not {expected!r}")


def items(web):
    """Tests an item from PUT to DELETE."""
    status, made = ask(web, "PUT", "/interface/list", {"name": "r", "comment": "x"})
    wanted("PUT", (status, made["name"]), (201, "r"))
    one = f"/interface/list/{made['.id']}"
    status, changed = ask(web, "PATCH", one, {"comment": "y"})
    wanted("PATCH", (status, changed["comment"]), (200, "y"))
    found = ask(web, "GET", "/interface/list?name=r&.proplist=comment")
    wanted("GET with a filter", found, (200, [{"comment": "y"}]))
    wanted("GET by name", ask(web, "GET", "/interface/list/r"), (200, changed))
    query = {".proplist": ["name"], ".query": ["name=r", "name=all", "#|"]}
    found = ask(web, "POST", "/interface/list/print", query)
    wanted("POST print", found, (200, [{"name": "all"}, {"name": "r"}]))
    wanted("DELETE", ask(web, "DELETE", one), (204, None))
    gone = (404, {"error": 404, "message": "Not Found"})
    wanted("DELETE again", ask(web, "DELETE", one), gone)


def refusals(web):
    """Tests errors: a wrong password, an unknown command, a missing value, a user without the policy `write`."""
    nobody = (401, {"error": 401, "message": "Unauthorized"})
    found = ask(web, "GET", "/system/identity", password="wrong")
    wanted("a wrong password", found, nobody)
    status, said = ask(web, "POST", "/interface/list/fly", {})
    wanted("an unknown command", (status, said["detail"]), (404, "no such command"))
    status, said = ask(web, "PUT", "/interface/list", {})
    wanted("a missing value", (status, said["detail"]), (400, "missing =name="))
    change = {"name": "x"}
    status, said = ask(web, "POST", "/system/identity/set", change, "reader", "Only-reads-1")
    denied = (400, "not enough permissions (9)")
    wanted("a reader that writes", (status, said["detail"]), denied)


def announced():
    """Tests that the router refuses a too long Content-Length before the body arrives."""
    web = http.client.HTTPConnection(HOST, 80, timeout=60)
    web.putrequest("POST", "/rest/interface/list/add")
    web.putheader("Authorization", authorization())
    web.putheader("Content-Length", str(10**9))
    web.endheaders()
    wanted("a long body", web.getresponse().status, 413)


def main():
    """Runs all tests."""
    web = http.client.HTTPConnection(HOST, 80, timeout=60)
    identity = (200, {"name": "ferroute"})
    wanted("GET", ask(web, "GET", "/system/identity"), identity)
    items(web)
    refusals(web)
    announced()
    status, described = ask(web, "GET", "/openapi.json")
    wanted("the description", (status, "/ip/address" in described["paths"]), (200, True))

    # A service is opened and closed while the router runs.
    opened = ask(web, "PATCH", "/ip/service/www-ssl", {"disabled": "false"})
    wanted("opening www-ssl", opened[1]["disabled"], "false")
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for _ in range(1000):
        secure = http.client.HTTPSConnection(HOST, 443, timeout=60, context=context)
        try:
            wanted("GET by TLS", ask(secure, "GET", "/system/identity"), identity)
            break
        except ConnectionRefusedError:
            continue
    else:
        sys.exit("www-ssl does not open")
    print("ok")


main()
