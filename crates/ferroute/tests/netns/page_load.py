"""Measures what the page's streams cost: bytes on the wire, and processor time of the router."""
import base64, http.client, os, socket, sys, threading, time

ROUTER, PASSWORD, _, PROCESS = sys.argv[1:5]
HOST = ROUTER.split("/")[2]
CONNECTIONS, BUSY, SERVER = 20_000, 200, "203.0.113.1"
# Seconds of each measurement, and of the longest wait.
WINDOW, PATIENCE = 15, 120
# As the page asks for them: window of rows, columns, order.
VIEWS = {
    "20,000 connections by rate": "menu=/ip/firewall/connection&columns=protocol,src-address,src-port,dst-address,dst-port,slow-path-reason,tcp-state,timeout,"
                                  "orig-rate,repl-rate,orig-bytes,repl-bytes&sort=-orig-rate&count=90",
    "5,000 rules": "menu=/ip/firewall/filter&group=chain&count=90",
    "30,000 entries with timeouts": "menu=/ip/firewall/address-list&columns=list,address,timeout,creation-time,disabled,dynamic,comment&count=90",
}


def sends(stop):
    """Opens all connections, then sends on some of them, so that their counters and rates change."""
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    turn = 0
    while not stop.is_set():
        ports = range(CONNECTIONS) if turn % 20 == 0 else range(BUSY)
        for number, port in enumerate(ports):
            try:
                sender.sendto(b"load", (SERVER, 10_000 + port))
            except OSError:
                pass  # the server has told that the port is closed
            if number % 100 == 99:
                stop.wait(0.005)
        turn += 1
        stop.wait(0.5)


def spent():
    """Returns the processor time of the router in seconds."""
    with open(f"/proc/{PROCESS}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def headers():
    return {"Authorization": "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()}


class Stream(threading.Thread):
    """Reads a stream of events, and counts its bytes and messages."""

    def __init__(self, query):
        super().__init__(daemon=True)
        self.bytes = self.messages = 0
        self.connection = http.client.HTTPConnection(HOST, timeout=PATIENCE)
        self.connection.request("GET", "/events?" + query, headers=headers())
        self.response = self.connection.getresponse()
        assert self.response.status == 200, self.response.read()
        self.total, self.period = 0, 0.5
        self.first = threading.Event()

    def run(self):
        try:
            while piece := self.response.read1(1 << 16):
                self.bytes += len(piece)
                self.messages += piece.count(b"data: {")
                if b'"total":' in piece:
                    self.total = int(piece.split(b'"total":')[1].split(b",")[0])
                if b"event: period\ndata: " in piece:
                    self.period = int(piece.split(b"event: period\ndata: ")[1].split(b"\n")[0]) / 1000
                self.first.set()
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # the measurement has closed it

    def close(self):
        self.connection.sock.shutdown(socket.SHUT_RDWR)


def measured(seconds):
    """Returns the processor time that the router uses in this time, as a share of a core."""
    before, began = spent(), time.monotonic()
    threading.Event().wait(seconds)
    return (spent() - before) / (time.monotonic() - began)


def main():
    stop = threading.Event()
    sender = threading.Thread(target=sends, args=[stop], daemon=True)
    sender.start()
    end = time.monotonic() + PATIENCE
    total = 0
    while total < CONNECTIONS:
        assert time.monotonic() < end, f"{total} connections are open"
        stream = Stream(VIEWS["20,000 connections by rate"])
        stream.start()
        stream.first.wait(PATIENCE)
        total = stream.total
        stream.close()
    for name, query in VIEWS.items():
        idle = measured(WINDOW / 2)
        stream = Stream(query)
        stream.start()
        assert stream.first.wait(PATIENCE), f"{name}: nothing arrives"
        stream.bytes = stream.messages = 0
        load = measured(WINDOW)
        rate = stream.bytes / WINDOW
        stream.close()
        print(f"{name}: {stream.total:,} rows; {rate / 1000:.2f} kB/s, collected every {stream.period:.1f} s; "
              f"router {100 * load:.1f} % of a core, {100 * idle:.1f} % without the view", flush=True)
        assert rate < 50_000, f"{name}: {rate} bytes a second"
    stop.set()
    print("done")


main()
