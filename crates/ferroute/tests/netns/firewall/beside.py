"""The packets of `beside.rs`: `send SET` from the client, `listen` on the server.

A set has the same packets each time, numbered, of ports of its own, so that nothing is known of its
connections. The listener says what came of each until the last one, which every rule set lets pass.
"""

import random
import re
import socket
import struct
import sys

SERVER = socket.inet_aton("203.0.113.1")
LAST = 9
PACKETS = 400


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(source, protocol, body, at, ttl=64, tos=0):
    """An IPv4 packet; the body's checksum, at this place in it, is filled in."""
    pseudo = b"" if protocol == 1 else source + SERVER + struct.pack("!HH", protocol, len(body))
    total = checksum(pseudo + body) or 0xFFFF
    body = body[:at] + struct.pack("!H", total) + body[at + 2 :]
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(body), 1, 0, ttl, protocol, 0)
    head += source + SERVER
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def udp(source, ports, text, **more):
    return packet(source, 17, struct.pack("!HHHH", *ports, 8 + len(text), 0) + text, 6, **more)


def tcp(source, ports, flags, text, **more):
    head = struct.pack("!HHIIBBHHH", *ports, 1000, 77, 6 << 4, flags, 1000, 0, 0)
    # MSS 1460.
    return packet(source, 6, head + b"\2\4\5\xb4" + text, 16, **more)


def echo(source, number, kind, text, **more):
    return packet(source, 1, struct.pack("!BBHHH", kind, 0, 0, number, 1) + text, 2, **more)


def packets(number):
    dice = random.Random(number)
    for n in range(PACKETS):
        source = socket.inet_aton(f"192.168.88.{dice.randrange(10, 20)}")
        ports = 10_000 + 1_000 * number + n, dice.choice([53, 80, 443, 1000, 1500, 1999, 2000, 3000])
        text = f"#{n}#".encode().ljust(dice.choice([10, 60, 100, 150, 300]), b".")
        more = {"ttl": dice.choice([64, 64, 9, 10, 11]), "tos": dice.choice([0, 0, 40, 44, 184])}
        match dice.randrange(8):
            case 0:
                # Answers nobody asked for, timestamps and unknown ones: nobody answers those.
                yield echo(source, 1000 * number + n, dice.choice([0, 8, 13, 42]), text, **more)
            case 1 | 2 | 3:
                yield udp(source, ports, text, **more)
            case _:
                # Not SYN with ACK: RouterOS picks a connection up by it, nftables does not.
                flags = dice.choice([2, 2, 2, 16, 24, 17, 4, 20, 1, 0, 3, 6, 41])
                yield tcp(source, ports, flags, text, **more)
    yield udp(socket.inet_aton("192.168.88.10"), (1, LAST), b"last")


def send(number):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    router = bytes.fromhex(sys.stdin.read())
    for data in packets(number):
        s.sendto(data, ("eth0", 0x0800, 0, 0, router))


def listen():
    s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
    s.bind(("eth0", 0x0800))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    print("ready", flush=True)
    while True:
        data, (_, _, direction, *_) = s.recvfrom(65536)
        if direction == socket.PACKET_OUTGOING:
            continue
        if data.endswith(b"last"):
            break
        mark = re.search(rb"#(\d+)#\.", data)
        if not mark:
            continue
        number = int(mark[1])
        source, ports = socket.inet_ntoa(data[12:16]), struct.unpack_from("!HH", data, 20)
        size = struct.unpack_from("!H", data, 42)[0] if data[9] == 6 else 0
        said = f"ttl {data[8]} tos {data[1]} from {source} {ports if data[9] != 1 else ''} mss {size}"
        print(f"{number:03} protocol {data[9]} {said}", flush=True)


if sys.argv[1] == "listen":
    listen()
else:
    send(int(sys.argv[2]))
