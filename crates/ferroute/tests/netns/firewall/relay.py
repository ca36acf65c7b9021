"""A bad link and the hosts that communicate over it: `relay SEED`, `serve`, `talk ADDRESS...`, `meet FROM TO`.

The relay forwards each frame to its other device. It drops, duplicates and delays some TCP segments, so that
others overtake them. It holds the first of two SYNs between the ports MEET until the second arrives, so that
both cross.
"""

import random
import select
import socket
import struct
import sys
import threading

TALK, MEET = 7001, 7002
BYTES = 400_000
# The connection tracker treats an acknowledgement as invalid if it is 66,000 bytes behind the sent data. The
# acknowledgements of these hosts stay within that limit: the kernel's window is at most twice ROOM, and no
# acknowledgement is overtaken by one that is more than OVERTAKEN bytes ahead. A busy kernel acknowledges a whole window
# at once.
ROOM, OVERTAKEN = 24_000, 16_000
LOST, TWICE, LATE = 0.02, 0.02, 0.08
PATIENCE = 60.0


def tcp_of(frame):
    """Returns the offset of the TCP header in a frame, or None."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and frame[23] == 6:
        return 14 + 4 * (frame[14] & 15)
    if kind == b"\x86\xdd" and frame[20] == 6:
        return 54
    return None


def acknowledged(frame, at):
    """Returns the flow of a segment, and its acknowledgement number."""
    return (frame[12:14], frame[at : at + 4]), struct.unpack_from("!I", frame, at + 8)[0]


class Line:
    def __init__(self, out, dice):
        self.out, self.dice, self.held, self.meeting = out, dice, [], None

    def take(self, frame):
        at = tcp_of(frame)
        if at is None:
            return self.out.send(frame)
        what = self.dice.random()
        if what < LOST:
            return None
        if what < LOST + LATE:
            self.held.append([self.dice.randrange(1, 6), frame])
            return None
        self.send(frame)
        if what < LOST + LATE + TWICE:
            self.send(frame)
        for late in self.held:
            late[0] -= 1
        self.let(lambda left: left <= 0)

    def let(self, which):
        for late in [late for late in self.held if which(late[0])]:
            if late in self.held:
                self.held.remove(late)
                self.send(late[1])

    def send(self, frame):
        """Sends a segment, after those that it must not overtake."""
        stream, number = acknowledged(frame, tcp_of(frame))
        for late in list(self.held):
            of, old = acknowledged(late[1], tcp_of(late[1]))
            if of == stream and OVERTAKEN < (number - old) & 0xFFFFFFFF < 1 << 31:
                self.held.remove(late)
                self.out.send(late[1])
        self.out.send(frame)


def is_meeting(frame):
    at = tcp_of(frame)
    return at and struct.unpack_from("!HH", frame, at) == (MEET, MEET) and frame[at + 13] & 0x12 == 2


def relay(seed):
    dice = random.Random(seed)
    sockets = []
    for device in "r1", "r2":
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.bind((device, 3))
        sockets.append(s)
    lines = {s: Line(other, dice) for s, other in zip(sockets, reversed(sockets))}
    met = False
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select(sockets, [], [], 0.02)
        if not ready:
            # No traffic: sends the delayed segments.
            for line in lines.values():
                line.let(lambda _: True)
        for s in ready:
            frame, (_, _, direction, *_) = s.recvfrom(65536)
            line = lines[s]
            if direction == socket.PACKET_OUTGOING:
                continue
            if is_meeting(frame) and not met:
                line.meeting = frame
                if met := all(line.meeting for line in lines.values()):
                    for line in lines.values():
                        line.out.send(line.meeting)
                continue
            line.take(frame)


def answer(talk):
    count = 0
    while data := talk.recv(65536):
        count += len(data)
    # The client has closed its sending half, but still receives.
    talk.sendall(struct.pack("!Q", count) + b"a" * BYTES)
    talk.close()


def serve():
    s = socket.create_server(("::", TALK), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    print("ready", flush=True)
    while True:
        talk, _ = s.accept()
        threading.Thread(target=answer, args=(talk,), daemon=True).start()


def talk(address, results):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM)
    s.settimeout(PATIENCE)
    s.connect((address, TALK))
    s.sendall(b"q" * BYTES)
    s.shutdown(socket.SHUT_WR)
    got = b""
    while data := s.recv(65536):
        got += data
    count = struct.unpack("!Q", got[:8])[0]
    results.append((count, len(got) - 8))


def talks(addresses):
    results, threads = [], []
    for address in addresses:
        threads.append(threading.Thread(target=talk, args=(address, results)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [(BYTES, BYTES)] * len(addresses), results
    print("done", flush=True)


def meet(own, other):
    """Connects to a host that connects at the same time."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.settimeout(PATIENCE)
    s.bind((own, MEET))
    s.connect((other, MEET))
    s.sendall(b"hello")
    heard = b""
    while len(heard) < 5:
        heard += s.recv(5)
    print("met", flush=True)
    for line in sys.stdin:
        s.sendall(line.encode())
        print(s.recv(100).decode().strip(), flush=True)
    s.close()


if sys.argv[1] == "relay":
    relay(int(sys.argv[2]))
elif sys.argv[1] == "serve":
    serve()
elif sys.argv[1] == "talk":
    talks(sys.argv[2:])
else:
    meet(*sys.argv[2:])
