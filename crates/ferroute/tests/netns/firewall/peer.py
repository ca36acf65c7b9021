"""A host of the firewall's tests:

    serve PORT...               TCP and UDP servers of both families. They send each client the address
                                and port that they see, and by TCP the segment size
    ask PROBE...                probes `tcp|udp ADDRESS PORT [SECONDS]`; prints the server's line, or
                                `reset`, `icmp TYPE CODE FROM`, or `nothing` after the timeout
    stream ADDRESS PORT         numbered datagrams, 32 of them in flight, until standard input ends;
                                prints the number sent and the number never returned
    endpoint ADDRESS:PORT...    one UDP socket that queries these servers, prints their answers, and
                                then is a server itself
    talk                        reads lines `PORT ADDRESS PORT SECONDS`, queries the server from the
                                first port, and prints the answer or `nothing`
    large ADDRESS PORT SIZE...  random datagrams; prints for each the client address that the server
                                saw, and `same` if the same bytes came back
    storm FROM TO COUNT         fragments of datagrams that never become complete
"""

import os
import socket
import struct
import sys
import threading

PATIENCE = 20.0
V4_ERRORS, V6_ERRORS = (socket.IPPROTO_IP, 11), (socket.IPPROTO_IPV6, 25)
ERROR_QUEUE = 0x2000


def shown(address):
    return address[0].removeprefix("::ffff:") + " " + str(address[1])


def serve_tcp(listening):
    while True:
        talk, peer = listening.accept()
        size = talk.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        talk.sendall(f"{shown(peer)} {size}\n".encode())
        threading.Thread(target=echo, args=(talk,), daemon=True).start()


def echo(talk):
    try:
        while data := talk.recv(65536):
            talk.sendall(data)
    except OSError:
        pass
    talk.close()


def serve_udp(bound):
    while True:
        try:
            data, peer = bound.recvfrom(65536)
            bound.sendto(shown(peer).encode() + b" " + data, peer)
        except OSError:
            pass


def serve(ports):
    threads = []
    for port in map(int, ports):
        for kind, body in (socket.SOCK_STREAM, serve_tcp), (socket.SOCK_DGRAM, serve_udp):
            s = socket.socket(socket.AF_INET6, kind)
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("::", port))
            if kind == socket.SOCK_STREAM:
                s.listen(64)
            threads.append(threading.Thread(target=body, args=(s,)))
    for thread in threads:
        thread.start()
    print("ready", flush=True)


def tcp(s, address):
    s.connect(address)
    return s.makefile().readline().strip()


def udp(s, address):
    s.setsockopt(*(V6_ERRORS if s.family == socket.AF_INET6 else V4_ERRORS), 1)
    s.connect(address)
    s.send(b"hello")
    try:
        return s.recv(65536).decode()
    except TimeoutError:
        raise
    except OSError:
        return queued(s)


def queued(s):
    """Returns type, code and sender of a queued ICMP error (`struct sock_extended_err` in linux/errqueue.h)."""
    _, messages, _, _ = s.recvmsg(512, 512, ERROR_QUEUE)
    for level, kind, data in messages:
        if (level, kind) in (V4_ERRORS, V6_ERRORS):
            _, _, what, code = struct.unpack_from("=IBBB", data)
            if level == socket.IPPROTO_IP:
                sender = socket.inet_ntop(socket.AF_INET, data[20:24])
            else:
                sender = socket.inet_ntop(socket.AF_INET6, data[24:40])
            return f"icmp {what} {code} {sender}"
    return "an error that nobody sent"


def stream(address, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((address, port))
    sent, on_their_way = 0, set()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    print("begun", flush=True)
    try:
        while on_their_way or not ended.is_set():
            while len(on_their_way) < 32 and not ended.is_set():
                s.send(str(sent).encode())
                on_their_way.add(sent)
                sent += 1
            # The timeout restarts with each answer, so a lost datagram delays only the end.
            s.settimeout(5)
            on_their_way.discard(int(s.recv(65536).split()[-1]))
    except TimeoutError:
        pass
    print(sent, len(on_their_way), flush=True)


def endpoint(servers):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 5000))
    s.settimeout(PATIENCE)
    for server in servers:
        address, port = server.split(":")
        s.sendto(b"hello", (address, int(port)))
        print(s.recv(65536).decode(), flush=True)
    s.settimeout(None)
    serve_udp(s)


def talk():
    mine = {}
    print("ready", flush=True)
    for line in sys.stdin:
        own, address, port, patience = line.split()
        if own not in mine:
            mine[own] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            mine[own].bind(("", int(own)))
        mine[own].settimeout(float(patience))
        mine[own].sendto(b"hello", (address, int(port)))
        try:
            print(mine[own].recv(65536).decode(), flush=True)
        except TimeoutError:
            print("nothing", flush=True)


def large(address, port, sizes):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(PATIENCE)
    s.connect((address, int(port)))
    for size in map(int, sizes):
        data = os.urandom(size)
        s.send(data)
        answer = s.recv(65536)
        seen = answer[: len(answer) - size].decode().strip()
        print(seen.split(" ")[0], "same" if answer[-size:] == data else "other", flush=True)


def storm(source, to, count):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    ends = socket.inet_aton(source) + socket.inet_aton(to)
    data = bytes(1400)
    for number in range(count):
        # Alternates between the first fragment and a middle one.
        place = 0x2000 | number % 2 * 175
        word = struct.pack("!BBHHHBBH", 0x45, 0, 1420, 1 + number % 65535, place, 64, 17, 0)
        s.sendto(word + ends + data, (to, 0))
    print("done", flush=True)


def ask(probe, kept):
    how, address, port, *patience = probe.split()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if how == "tcp" else socket.SOCK_DGRAM)
    kept.append(s)
    s.settimeout(float(patience[0]) if patience else PATIENCE)
    try:
        return (tcp if how == "tcp" else udp)(s, (address, int(port)))
    except TimeoutError:
        return "nothing"
    except (ConnectionRefusedError, ConnectionResetError):
        return "reset"
    except OSError as error:
        return f"error {error.errno}"


if sys.argv[1] == "serve":
    serve(sys.argv[2:])
elif sys.argv[1] == "stream":
    stream(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "endpoint":
    endpoint(sys.argv[2:])
elif sys.argv[1] == "talk":
    talk()
elif sys.argv[1] == "large":
    large(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "storm":
    storm(sys.argv[2], sys.argv[3], int(sys.argv[4]))
else:
    kept = []
    for probe in sys.argv[2:]:
        print(ask(probe, kept), flush=True)
