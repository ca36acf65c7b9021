"""Packets of the firewall's tests: `send SET FAMILY` and `craft` on the client, `listen` on the server.

The packets of a set are numbered and the same in each run; each set has its own ports, so that none of
its connections exists before. `craft` reads a description of a packet per line. `listen` prints each
received packet, until the last packet of a set, which every rule set accepts.
"""

import random
import re
import socket
import struct
import sys
import time

LANS = {4: "192.168.88.", 6: "2001:2:0:88::"}
SERVERS = {4: "203.0.113.1", 6: "2001:2:0:1::1"}
TYPES = {4: 0x0800, 6: 0x86DD}
# ICMP types: unsolicited reply, echo request, timestamp or node information request, unknown type.
ICMP = {4: [0, 8, 13, 42], 6: [129, 128, 139, 200]}
LAST = 9
# Destination port of copies with a case number (`sniff-pc`).
CASES = 37009
PACKETS = 400


def binary(address):
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(ends, protocol, body, at, ttl=64, tos=0, options=b"", df=False, headers=b""):
    """Returns a packet. Writes the checksum of the body at offset `at`. `headers` are IPv6 extension
    headers, preceded by one byte with the type of the first."""
    pseudo = b"".join(ends) + struct.pack("!HH", protocol, len(body))
    if protocol == 1:
        pseudo = b""
    total = checksum(pseudo + body) or 0xFFFF
    body = body[:at] + struct.pack("!H", total) + body[at + 2 :]
    if len(ends[0]) == 16:
        first, headers = (headers[0], headers[1:]) if headers else (protocol, b"")
        head = struct.pack("!IHBB", 6 << 28 | tos << 20, len(headers + body), first, ttl)
        return head + b"".join(ends) + headers + body
    words = 5 + len(options) // 4
    long = 4 * words + len(body)
    flags = 0x4000 if df else 0
    head = struct.pack("!BBHHHBBH", 0x40 | words, tos, long, 1, flags, ttl, protocol, 0)
    head += b"".join(ends) + options
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def udp(ends, ports, text, **more):
    return packet(ends, 17, struct.pack("!HHHH", *ports, 8 + len(text), 0) + text, 6, **more)


def tcp(ends, ports, flags, text, number=1000, size=1460, **more):
    head = struct.pack("!HHIIBBHHH", *ports, number, 77, 6 << 4, flags, 1000, 0, 0)
    return packet(ends, 6, head + struct.pack("!BBH", 2, 4, size) + text, 16, **more)


def echo(ends, number, kind, text, **more):
    protocol = 58 if len(ends[0]) == 16 else 1
    return packet(ends, protocol, struct.pack("!BBHHH", kind, 0, 0, number, 1) + text, 2, **more)


def packets(number, family):
    dice = random.Random(number)
    server = binary(SERVERS[family])
    for n in range(PACKETS):
        ends = binary(f"{LANS[family]}{dice.randrange(10, 20)}"), server
        ports = 10_000 + 1_000 * number + n, dice.choice([53, 80, 443, 1000, 1500, 1999, 2000, 3000])
        text = f"#{n}#".encode().ljust(dice.choice([10, 60, 100, 150, 300]), b".")
        more = {"ttl": dice.choice([64, 64, 9, 10, 11]), "tos": dice.choice([0, 0, 40, 44, 184])}
        match dice.randrange(8):
            case 0:
                yield echo(ends, 1000 * number + n, dice.choice(ICMP[family]), text, **more)
            case 1 | 2 | 3:
                yield udp(ends, ports, text, **more)
            case _:
                # Not SYN with ACK: RouterOS creates a connection for it, nftables does not.
                flags = dice.choice([2, 2, 2, 16, 24, 17, 4, 20, 1, 0, 3, 6, 41])
                yield tcp(ends, ports, flags, text, **more)
    yield udp((binary(f"{LANS[family]}10"), server), (1, LAST), b"last")


def crafted(line):
    """Returns the packet of a line `4|6 KIND PORT [NAME=VALUE]...`; with ICMP, PORT is the type."""
    family, kind, port, *said = line.split()
    family, said = int(family), dict(word.split("=", 1) for word in said)
    source = said.pop("src", LANS[family] + "10")
    ends = binary(source), binary(said.pop("dst", SERVERS[family]))
    ports = int(said.pop("from", 5000)), int(port)
    text = bytes.fromhex(said.pop("hex", "")) or said.pop("text", f"#{port}#...").encode()
    more = {name: int(said.pop(name)) for name in ("ttl", "tos", "df") if name in said}
    for name in ("options", "headers"):
        if name in said:
            more[name] = bytes.fromhex(said.pop(name))
    mac = bytes.fromhex(said.pop("mac", ""))
    if kind == "udp":
        data = udp(ends, ports, text, **more)
    elif kind == "tcp":
        for name in ("number", "size"):
            if name in said:
                more[name] = int(said.pop(name))
        data = tcp(ends, ports, int(said.pop("flags", 2)), text, **more)
    else:
        data = echo(ends, ports[0], int(port), text, **more)
    if "part" in said:
        # A later fragment of a datagram.
        head = data[:6] + struct.pack("!H", int(said.pop("part"))) + data[8:10] + b"\0\0" + data[12:20]
        data = head[:10] + struct.pack("!H", checksum(head)) + head[12:] + data[20:]
    assert not said, said
    return family, mac, data


def send(lines):
    """Sends each packet of `lines`: (family, source MAC or empty, packet)."""
    own = open("/sys/class/net/eth0/address").read().strip().replace(":", "")
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind(("eth0", 0))
    router = bytes.fromhex(sys.stdin.readline())
    for family, mac, data in lines:
        s.send(router + (mac or bytes.fromhex(own)) + struct.pack("!H", TYPES[family]) + data)


def shown(data):
    """Describes a received packet: its number, and the fields that a rule may change."""
    mark = re.search(rb"#(\d+)#", data)
    if not mark:
        return None
    if data[0] >> 4 == 6:
        protocol, at, ttl = data[6], 40, data[7]
        tos = (data[0] << 4 | data[1] >> 4) & 0xFF
        ends = [socket.inet_ntop(socket.AF_INET6, data[at : at + 16]) for at in (8, 24)]
        options = ""
    else:
        protocol, at, ttl, tos = data[9], 4 * (data[0] & 15), data[8], data[1]
        ends = [socket.inet_ntop(socket.AF_INET, data[at : at + 4]) for at in (12, 16)]
        options = f" df {data[6] >> 6 & 1} options {data[20:at].hex()}"
    if (protocol, data[at]) in ((1, 3), (58, 1)):
        # An ICMP error about a packet of an earlier set whose neighbour did not answer.
        return None
    ports = struct.unpack_from("!HH", data, at) if protocol in (6, 17) else ""
    size = struct.unpack_from("!H", data, at + 22)[0] if protocol == 6 else 0
    if protocol == 17 and ports[1] == CASES:
        # A copy with the case number and the time before the packet.
        case, seconds = struct.unpack_from("!II", data, at + 8)
        late = abs(seconds - 2208988800 - time.time()) < 60
        options += f" case {case} in time {late} of {data[at + 20]:#x}"
    changed = f"ttl {ttl} tos {tos} from {ends[0]} to {ends[1]} {ports} mss {size}{options}"
    return f"{int(mark[1]):03} protocol {protocol} {changed}"


def listen():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    s.bind(("eth0", 3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    print("ready", flush=True)
    while True:
        data, (_, kind, direction, *_) = s.recvfrom(65536)
        if direction == socket.PACKET_OUTGOING or kind not in TYPES.values():
            continue
        if data.endswith(b"last"):
            break
        if said := shown(data):
            print(said, flush=True)


if sys.argv[1] == "listen":
    listen()
elif sys.argv[1] == "craft":
    send((crafted(line) for line in sys.stdin))
else:
    number, family = map(int, sys.argv[2:])
    send((family, b"", data) for data in packets(number, family))
