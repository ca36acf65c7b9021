"""Random bytes by SSH: before the handshake, and typed at the console.

Arguments: address, user, password, seed. Prints `ok`, or the error.
"""

import random
import socket
import sys

import paramiko

HOST, USER, PASSWORD, SEED = sys.argv[1:5]
CHANCE = random.Random(int(SEED))

# Keys, escape sequences and words with a meaning at the console, sent between random bytes.
PIECES = [
    b"\r", b"\n", b"\t", b"\x03", b"\x12", b"\x1b", b"\x1b[A", b"\x1b[200~", b"\x1b[1;5D", b"\x1bO",
    b"?", b"{", b"}", b"[", b"]", b"(", b")", b'"', b"\\", b"$", b":", b"/", b";", b"#", b" ", b"=",
    b"/ip address ", b"print ", b"where ", b"add ", b":foreach i in=", b":put ", b"[find ",
    b"\xff\xfe", b"\xc3", b"\xf0\x9f", b"\x00", b"q", b"d",
]


def noise(length):
    """Returns at least `length` bytes of PIECES and random bytes, mixed."""
    out = b""
    while len(out) < length:
        piece = CHANCE.choice(PIECES)
        out += piece if CHANCE.random() < 0.7 else CHANCE.randbytes(CHANCE.randrange(1, 9))
    # Ctrl-D would end the session.
    return out.replace(b"\x04", b"")


def before_the_handshake():
    """Sends invalid identification strings: the server closes each connection."""
    for start in (b"", b"SSH-2.0-x\r\n", b"SSH-2.0-" + b"x" * 300 + b"\r\n"):
        with socket.create_connection((HOST, 22), timeout=60) as line:
            line.settimeout(60)
            try:
                line.sendall(start + CHANCE.randbytes(4_000))
                line.shutdown(socket.SHUT_WR)
                while line.recv(65_536):
                    pass
            except OSError:
                pass


def connect():
    """Returns an SSH connection, logged in by password."""
    client = paramiko.SSHClient()
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
    client.connect(
        HOST, username=USER, password=PASSWORD, look_for_keys=False, allow_agent=False, timeout=60
    )
    return client


def at_the_console(client):
    """Types random input, then a valid command, whose result must appear."""
    width, height = CHANCE.choice([(80, 24), (1, 1), (0, 0), (500, 1_000)])
    shell = client.invoke_shell(term="xterm", width=width, height=height)
    shell.settimeout(60)
    for _ in range(8):
        shell.sendall(noise(CHANCE.randrange(1, 600)))
        shell.resize_pty(CHANCE.randrange(1, 300), CHANCE.randrange(1, 100))
    # Leaves the pager, the history search, an open string or bracket.
    shell.sendall(b"\x03q\x03\x03\r\x03:put (6 * \x20 7000 + 7)\r")
    shown = b""
    while b"42007" not in shown:
        piece = shell.recv(65_536)
        if not piece:
            sys.exit(f"seed {SEED}: the console went away after {shown[-500:]!r}")
        shown = shown[-1_000:] + piece
    shell.close()


before_the_handshake()
for _ in range(4):
    session = connect()
    at_the_console(session)
    session.close()
print("ok")
