"""netmiko and paramiko, unmodified, against a running router.

Arguments: address, user, password. Prints `ok`, or the error.
"""

import os
import sys
import tempfile

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from netmiko import ConnectHandler
from netmiko.exceptions import NetmikoAuthenticationException

HOST, USER, PASSWORD = sys.argv[1:4]
READER = {"username": "reader", "password": "Only-reads-1"}


def connect(**others):
    """Returns an SSH session of netmiko."""
    device = {
        "device_type": "mikrotik_routeros",
        "host": HOST,
        "username": USER,
        "password": PASSWORD,
        "ssh_strict": False,
        "conn_timeout": 60,
        "auth_timeout": 60,
        "banner_timeout": 60,
        "read_timeout_override": 120,
    }
    return ConnectHandler(**{**device, **others})


def wanted(what, holds, shown):
    """Ends the test with an error unless the condition holds."""
    if not holds:
        sys.exit(f"{what}:\n{shown}")


def by_password():
    """Tests typical commands of scripts in a session by password: print, add, remove, errors, export."""
    session = connect()
    prompt = session.find_prompt()
    wanted("prompt", prompt == f"[{USER}@ferroute] >", repr(prompt))

    shown = session.send_command("/system resource print")
    wanted("resource", "version: 7." in shown and "uptime: " in shown, shown)

    session.send_command("/interface list add name=netmiko comment=x")
    shown = session.send_command("/interface list print terse where name=netmiko")
    wanted("list", "name=netmiko" in shown, shown)
    shown = session.send_command("/foo bar")
    wanted("error", shown.strip().startswith("bad command name foo"), shown)

    shown = session.send_command("/ip address print terse without-paging")
    wanted("addresses", f"address={HOST}/24" in shown, shown)
    shown = session.send_command("/system identity print", use_textfsm=True)
    wanted("identity, parsed", shown == [{"name": "ferroute"}], shown)
    whole = session.send_command("/export verbose")
    wanted("export", whole.count("\n") > 100 and "/interface list" in whole, whole)
    shown = session.send_command("/user active print")
    wanted("active users", USER in shown and "ssh" in shown, shown)
    shown = session.send_config_set(["/interface list", "remove netmiko", "/"])
    shown = session.send_command("/interface list print terse where name=netmiko")
    wanted("removed", "netmiko" not in shown.replace("name=netmiko", "", 1), shown)
    session.disconnect()


def refusals():
    """Tests refused logins, and a user without the policy `write`."""
    for others in ({"password": "wrong"}, {"password": ""}, {"username": "nobody"}):
        try:
            connect(**others)
        except (NetmikoAuthenticationException, ValueError):
            continue
        sys.exit(f"logged in with {others}")
    session = connect(**READER)
    shown = session.send_command("/interface list add name=denied")
    wanted("policy", "not enough permissions (9)" in shown, shown)
    shown = session.send_command("/system identity print")
    wanted("reading", "ferroute" in shown, shown)
    session.disconnect()


def by_key():
    """Adds a key to a user: the key logs in, and the password no longer does."""
    key = Ed25519PrivateKey.generate()
    raw = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    public = key.public_key().public_bytes(*raw).decode()
    session = connect()
    session.send_command(f'/user ssh-keys add user=keyed key="{public} test"')
    shown = session.send_command("/user ssh-keys print")
    wanted("keys", "keyed" in shown and "ed25519" in shown, shown)
    session.disconnect()

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key")
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        with open(path, "wb") as file:
            file.write(private)
        os.chmod(path, 0o600)
        session = connect(username="keyed", password="", use_keys=True, key_file=path)
        shown = session.send_command(":put [/system identity get name]")
        wanted("by key", "ferroute" in shown, shown)
        session.disconnect()
    try:
        connect(username="keyed", password="Has-a-key-1")
    except NetmikoAuthenticationException:
        return
    sys.exit("a user with a key logged in by password")


def exec_channel():
    """Tests single commands and their exit status, several on one connection."""
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    client.connect(
        HOST, username=USER, password=PASSWORD, look_for_keys=False, allow_agent=False, timeout=60
    )
    for command, status, part in (
        ("/system identity print", 0, "name: ferroute"),
        (":put (1 + 2)", 0, "3"),
        ("/foo", 1, "bad command name foo"),
        # In total, more channels than may be open at a time.
        *[(":put again", 0, "again")] * 10,
    ):
        _, out, _ = client.exec_command(command, timeout=60)
        text = out.read().decode()
        got = out.channel.recv_exit_status()
        wanted(command, got == status and part in text, f"{got} {text}")
    client.close()


by_password()
refusals()
exec_channel()
by_key()
print("ok")
