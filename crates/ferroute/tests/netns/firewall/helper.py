"""Protocols that announce further connections, for the firewall's tests. A server prints `ready` and the
received commands. A client prints its results, and ends at the end of its standard input.

    ftp-serve                           an FTP server on port 21, active and passive, both families
    ftp ADDRESS PORT [TOLD]             uploads and downloads a file in each mode, prints its digests. With
                                        TOLD, only one active transfer that announces the address TOLD
    tftp-serve | tftp ADDRESS           a file of several blocks from another port
    irc-serve | irc ADDRESS             a file offered by DCC, fetched by the server
    rtsp-serve | rtsp ADDRESS           a stream that was set up, and a report back
    sip-serve OWN | sip ADDRESS         a call, and a stream in both directions
    pptp-serve | pptp ADDRESS           a call, and a GRE packet in each direction
"""

import ftplib
import hashlib
import io
import random
import re
import select
import socket
import struct
import sys
import threading

PATIENCE = 20.0
# Timeout of a server's connection to a client whose firewall may drop it.
BRIEF = 1.0
FILE = random.Random(7).randbytes(300_000)
# Blocks of 512 bytes in the file of TFTP.
BLOCKS = 50


def digest(data):
    return hashlib.sha256(data).hexdigest()


def say(*words):
    print(*words, flush=True)


def own(s):
    return s.getsockname()[0].removeprefix("::ffff:")


class FtpServer:
    """Server side of one control connection (RFC 959, RFC 2428)."""

    def __init__(self, control):
        self.control, self.lines = control, control.makefile("rb")
        self.connect = None
        self.files = {}

    def answer(self, text):
        self.control.sendall(text.encode() + b"\r\n")

    def run(self):
        self.answer("220 Ready.")
        while line := self.lines.readline():
            word, _, rest = line.decode().strip().partition(" ")
            say("told", word, rest)
            if word == "QUIT":
                self.answer("221 Bye.")
                break
            try:
                getattr(self, word.lower(), self.unknown)(rest)
            except OSError:
                self.answer("425 No data connection.")
        self.control.close()

    def unknown(self, _):
        self.answer("502 No.")

    def user(self, _):
        self.answer("230 Come in.")

    def type(self, _):
        self.answer("200 Okay.")

    def listen(self):
        family = self.control.family
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.bind((self.control.getsockname()[0], 0))
        listening.listen(1)
        listening.settimeout(PATIENCE)
        self.connect = lambda: listening.accept()[0]
        return listening.getsockname()[1]

    def pasv(self, _):
        port = self.listen()
        numbers = own(self.control).replace(".", ",")
        self.answer(f"227 Entering Passive Mode ({numbers},{port >> 8},{port & 255}).")

    def epsv(self, _):
        self.answer(f"229 Entering Extended Passive Mode (|||{self.listen()}|)")

    def port(self, rest):
        *numbers, high, low = rest.split(",")
        self.active(".".join(numbers), int(high) << 8 | int(low))

    def eprt(self, rest):
        _, _, address, port, _ = rest.split("|")
        self.active(address, int(port))

    def active(self, address, port):
        def connect():
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            data = socket.socket(family, socket.SOCK_STREAM)
            data.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            data.bind((own(self.control), 20))
            data.settimeout(BRIEF if "brief" in sys.argv else PATIENCE)
            data.connect((address, port))
            return data

        self.connect = connect
        self.answer("200 Okay.")

    def stor(self, name):
        self.answer("150 Go on.")
        with self.connect() as data:
            self.files[name] = data.makefile("rb").read()
        self.answer("226 Done.")

    def retr(self, name):
        self.answer("150 Here it comes.")
        with self.connect() as data:
            data.sendall(self.files.get(name, b""))
        self.answer("226 Done.")


def ftp_serve():
    listening = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("::", 21))
    listening.listen(8)
    say("ready")
    while True:
        control, _ = listening.accept()
        threading.Thread(target=FtpServer(control).run, daemon=True).start()


def transfer(ftp, mode):
    ipv6 = ftp.af == socket.AF_INET6
    ftp.set_pasv(mode in ("pasv", "epsv"))
    # The client must use the address of the server's reply, which NAT may have edited.
    ftp.trust_server_pasv_ipv4_address = True
    peer = ftp.sock.getpeername()
    ftp.makepasv = lambda: (
        ftplib.parse227(ftp.sendcmd("PASV"))
        if mode == "pasv"
        else ftplib.parse229(ftp.sendcmd("EPSV"), peer)
    )
    if mode == "eprt" and not ipv6:
        ftp.sendport = ftp.sendeprt
    else:
        vars(ftp).pop("sendport", None)
    back = io.BytesIO()
    ftp.storbinary(f"STOR {mode}", io.BytesIO(FILE))
    ftp.retrbinary(f"RETR {mode}", back.write)
    return digest(back.getvalue())


def ftp(address, port, told=None):
    ftp = ftplib.FTP(timeout=PATIENCE)
    ftp.connect(address, int(port))
    ftp.sendcmd("USER anonymous")
    if told:
        return refused(ftp, told)
    for mode in ("eprt", "epsv") if ":" in address else ("port", "pasv", "eprt", "epsv") * 2:
        say(mode, transfer(ftp, mode))
    say("wanted", digest(FILE))
    sys.stdin.read()
    ftp.quit()


def refused(ftp, told):
    """Requests an active transfer to the address `told`, prints the server's reply."""
    listening = socket.create_server(("", 0))
    ftp.sendport(told, listening.getsockname()[1])
    try:
        ftp.sendcmd("RETR nothing")
        say(ftp.getmultiline())
    except ftplib.Error as error:
        say(error)


def tftp_serve():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 69))
    say("ready")
    while True:
        _, peer = s.recvfrom(1000)
        data = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        data.settimeout(PATIENCE)
        try:
            for block in range(BLOCKS + 1):
                # The last block is empty and so marks the end.
                piece = FILE[: BLOCKS * 512][block * 512 :][:512]
                data.sendto(struct.pack("!HH", 3, block + 1) + piece, peer)
                data.recvfrom(1000)
        except OSError:
            pass


def tftp(address, patience=PATIENCE):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(float(patience))
    s.sendto(b"\0\1file\0octet\0", (address, 69))
    got = b""
    try:
        while True:
            data, peer = s.recvfrom(1000)
            s.sendto(b"\0\4" + data[2:4], peer)
            got += data[4:]
            if len(data) < 516:
                break
    except TimeoutError:
        return say("nothing")
    say(digest(got) == digest(FILE[: BLOCKS * 512]), peer[1] != 69)
    sys.stdin.read()


def irc_serve():
    listening = socket.create_server(("", 6667))
    say("ready")
    while True:
        talk, _ = listening.accept()
        for line in talk.makefile("rb"):
            offer = re.search(rb"DCC SEND (\S+) (\d+) (\d+)", line)
            if not offer:
                talk.sendall(b"PONG\r\n")
                continue
            host = socket.inet_ntoa(struct.pack("!I", int(offer[2])))
            try:
                data = socket.create_connection((host, int(offer[3])), PATIENCE)
                talk.sendall(f"{host} {digest(data.makefile('rb').read())}\r\n".encode())
            except OSError as error:
                talk.sendall(f"{host} {error}\r\n".encode())


def irc(address):
    talk = socket.create_connection((address, 6667), PATIENCE)
    said = talk.makefile("rb")
    for _ in range(2):
        listening = socket.create_server(("", 0))
        listening.settimeout(PATIENCE)
        number = struct.unpack("!I", socket.inet_aton(own(talk)))[0]
        port = listening.getsockname()[1]
        talk.sendall(f"PRIVMSG friend :\1DCC SEND a.bin {number} {port} 9\1\r\n".encode())
        data, _ = listening.accept()
        data.sendall(FILE)
        data.close()
        say(said.readline().decode().strip())
        # The router has edited the message and now shifts the sequence numbers.
        talk.sendall(b"PING\r\n")
        say(said.readline().decode().strip())
    say("wanted", digest(FILE))


def sdp(host, port):
    lines = ["v=0", f"o=a 1 1 IN IP4 {host}", "s=-", f"c=IN IP4 {host}", "t=0 0"]
    return "\r\n".join([*lines, f"m=audio {port} RTP/AVP 0", ""])


def media(body):
    """Returns the media endpoint of a session description."""
    host = re.search(r"c=IN IP4 (\S+)", body)[1]
    return host, int(re.search(r"m=audio (\d+)", body)[1])


def message(first, host, body):
    head = [first, f"Via: SIP/2.0/UDP {host}:5060", f"Contact: <sip:a@{host}:5060>"]
    head += ["Content-Type: application/sdp", f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(head).encode()


def bodies(data):
    head, _, body = data.decode().partition("\r\n\r\n")
    assert int(re.search(r"Content-Length: (\d+)", head)[1]) == len(body), data
    return head, body


def datagrams(*ports):
    made = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in ports]
    for s, port in zip(made, ports):
        s.bind(("", port))
        s.settimeout(PATIENCE)
    return made


def whole(talk):
    """Reads the next complete SIP message from a TCP connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += talk.recv(4000)
    head, _, body = data.partition(b"\r\n\r\n")
    missing = int(re.search(rb"Content-Length: (\d+)", head)[1]) - len(body)
    return data + (talk.recv(missing, socket.MSG_WAITALL) if missing else b"")


def sip_serve(me, how="udp"):
    signals, stream = datagrams(5060, 8000)
    signals.settimeout(None)
    listening = socket.create_server(("", 5060))
    say("ready")
    while True:
        if how == "tcp":
            talk, _ = listening.accept()
            data, answer = whole(talk), talk.sendall
        else:
            data, peer = signals.recvfrom(4000)
            answer = lambda said: signals.sendto(said, peer)
        head, body = bodies(data)
        caller = media(body)
        host = re.search(r"Contact: <sip:a@([\d.]+)", head)[1]
        # The called side sends its media first.
        stream.sendto(f"{host} {caller[0]}".encode(), caller)
        answer(message("SIP/2.0 200 OK", me, sdp(me, 8000)))
        try:
            said, came = stream.recvfrom(4000)
            stream.sendto(b"heard " + said + b" " + came[0].encode(), came)
        except TimeoutError:
            pass


def sip(address, how="udp"):
    signals, stream = datagrams(5060, 7000)
    if how == "tcp":
        signals = socket.create_connection((address, 5060), PATIENCE)
    else:
        signals.connect((address, 5060))
    me = own(signals)
    signals.sendall(message(f"INVITE sip:b@{address} SIP/2.0", me, sdp(me, 7000)))
    said, came = stream.recvfrom(4000)
    say("first", said.decode(), *came)
    _, body = bodies(whole(signals) if how == "tcp" else signals.recv(4000))
    stream.sendto(b"hello", media(body))
    said, came = stream.recvfrom(4000)
    say(said.decode())
    sys.stdin.read()


def transport(line, name):
    return int(re.search(name + r"=(\d+)", line)[1])


def head(talk):
    data = b""
    while b"\r\n\r\n" not in data:
        data += talk.recv(4000)
    return data.decode()


def rtsp_serve():
    listening = socket.create_server(("", 554))
    stream, reports = datagrams(6256, 6257)
    reports.settimeout(BRIEF)
    say("ready")
    while True:
        talk, peer = listening.accept()
        asked = head(talk)
        own_port = transport(asked, "client_port")
        named = re.search(r"destination=([\d.]+)", asked)[1]
        line = f"Transport: RTP/AVP;unicast;client_port={own_port}-{own_port + 1}"
        answer = f"RTSP/1.0 200 OK\r\nCSeq: 1\r\n{line};server_port=6256-6257\r\n\r\n"
        talk.sendall(answer.encode())
        stream.sendto(f"stream to {named}".encode(), (peer[0], own_port))
        try:
            said, came = reports.recvfrom(4000)
            reports.sendto(b"heard " + said + b" " + came[0].encode(), came)
        except TimeoutError:
            pass


def rtsp(address, wait=PATIENCE):
    talk = socket.create_connection((address, 554), PATIENCE)
    stream, reports = datagrams(5000, 5001)
    line = f"Transport: RTP/AVP;unicast;destination={own(talk)};client_port=5000-5001"
    talk.sendall(f"SETUP rtsp://{address}/a RTSP/1.0\r\nCSeq: 1\r\n{line}\r\n\r\n".encode())
    answer = head(talk)
    stream.settimeout(float(wait))
    try:
        said, came = stream.recvfrom(4000)
    except TimeoutError:
        say("nothing")
        return
    say(said.decode(), *came, transport(answer, "client_port"))
    reports.sendto(b"report", (address, transport(answer, "server_port") + 1))
    said, _ = reports.recvfrom(4000)
    say(said.decode())
    sys.stdin.read()


CALL = 0x1A2B3C4D
# Types of PPTP control requests; the type of the reply is one higher.
START, OUTGOING = 1, 7


def control(kind, body):
    return struct.pack("!HHIHH", 12 + len(body), 1, CALL, kind, 0) + body


def control_from(talk):
    """Reads a control message; returns its type and body."""
    (length,) = struct.unpack("!H", talk.recv(2, socket.MSG_WAITALL))
    rest = talk.recv(length - 2, socket.MSG_WAITALL)
    return struct.unpack_from("!H", rest, 6)[0], rest[10:]


def tunnel(number, text):
    """Returns a GRE packet for a call ID (RFC 2637, 4.1)."""
    return struct.pack("!HHHHI", 0x3001, 0x880B, len(text), number, 0) + text


def tunnel_from(gre):
    """Receives a GRE packet; returns its call ID, text and sender."""
    data, peer = gre.recvfrom(2000)
    data = data[20:]
    return struct.unpack_from("!H", data, 6)[0], data[12:], peer[0]


def raw_gre():
    gre = socket.socket(socket.AF_INET, socket.SOCK_RAW, 47)
    gre.settimeout(PATIENCE)
    return gre


def pptp_serve():
    gre, listening = raw_gre(), socket.create_server(("", 1723))
    say("ready")
    while True:
        talk, _ = listening.accept()
        control_from(talk)
        talk.sendall(control(2, struct.pack("!HBBIIHH", 256, 1, 0, 3, 3, 0, 1) + bytes(128)))
        _, body = control_from(talk)
        (caller,) = struct.unpack_from("!H", body)
        # The server's call ID, the caller's call ID, result 1: connected.
        talk.sendall(control(8, struct.pack("!HHBBHIHHI", 500, caller, 1, 0, 0, 64000, 16, 0, 0)))
        try:
            number, text, peer = tunnel_from(gre)
            heard = f"{number} {text.decode()} {peer}".encode()
            gre.sendto(tunnel(caller, heard), (peer, 0))
        except TimeoutError:
            pass


def pptp(address):
    gre = raw_gre()
    talk = socket.create_connection((address, 1723), PATIENCE)
    talk.sendall(control(START, struct.pack("!HHIIHH", 256, 0, 3, 3, 0, 1) + bytes(128)))
    control_from(talk)
    talk.sendall(control(OUTGOING, struct.pack("!HHIIIIHHHH", 77, 1, 300, 10**8, 3, 3, 16, 0, 0, 0) + bytes(128)))
    _, body = control_from(talk)
    theirs, own_number = struct.unpack_from("!HH", body)
    gre.sendto(tunnel(theirs, b"hello"), (address, 0))
    number, text, _ = tunnel_from(gre)
    say(own_number, number, text.decode())
    sys.stdin.read()


globals()[sys.argv[1].replace("-", "_")](*(w for w in sys.argv[2:] if w != "brief"))
