#!/usr/bin/env python3
"""Throughput of TCP through OpenVPN by UDP and by TCP over a link of 20 Mbit/s that loses packets: TCP within TCP.

    tests/vpn/loss.py [SECONDS] [ROUNDS] > docs/pictures/tcp-over-tcp.svg

    left (openvpn, iperf3) -- middle (drops packets at random, both directions) -- right (openvpn, iperf3)

Needs root, iproute2, nftables, iperf3, openvpn and openssl. Prints the medians to standard error.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile

LOSSES = [0, 5, 20]  # of 1,000 packets
RATE = "20mbit"  # of the link: slow enough for any machine
SPACES = ("left", "middle", "right")


class World:
    def __init__(self, folder):
        self.folder = folder
        self.name = f"loss{os.getpid()}"
        self.running = []
        for space in SPACES:
            run("ip", "netns", "add", self.of(space))
        for side, net in (("left", 1), ("right", 2)):
            run("ip", "-n", self.of(side), "link", "add", "eth0", "type", "veth", "peer", "name", side, "netns",
                self.of("middle"))
            for space, device, host in ((side, "eth0", 2), ("middle", side, 1)):
                self.ip(space, "address", "add", f"192.0.{net}.{host}/24", "dev", device)
                self.ip(space, "link", "set", device, "up")
                run(*self.on(space, "ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"))
            run(*self.on("middle", "tc", "qdisc", "add", "dev", side, "root", "tbf", "rate", RATE, "burst", "16kb",
                         "latency", "60ms"))
            self.ip(side, "route", "add", "default", "via", f"192.0.{net}.1")
        run(*self.on("middle", "sysctl", "-qw", "net.ipv4.ip_forward=1"))
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "30", "-subj", "/CN=vpn", "-keyout", f"{folder}/key", "-out", f"{folder}/certificate")

    def of(self, space):
        return f"{self.name}-{space}"

    def on(self, space, *command):
        return ("ip", "netns", "exec", self.of(space), *command)

    def ip(self, space, *words):
        run("ip", "-n", self.of(space), *words)

    def lose(self, of_thousand):
        rules = "flush ruleset\n"
        if of_thousand:
            rules += ("table ip loss { chain forward { type filter hook forward priority 0;\n"
                      f"numgen random mod 1000 < {of_thousand} drop\n}}\n}}\n")
        subprocess.run(self.on("middle", "nft", "-f", "-"), input=rules, text=True, check=True)

    def start(self, space, *command):
        log = open(f"{self.folder}/log", "a", encoding="utf-8")
        self.running.append(subprocess.Popen(self.on(space, *command), stdout=log, stderr=log))

    def stop(self):
        for process in self.running:
            process.terminate()
        for process in self.running:
            process.wait()
        self.running = []

    def throughput(self, transport, seconds):
        """Megabits per second of one TCP connection through a tunnel by `udp` or `tcp`."""
        common = ["openvpn", "--dev", "tun", "--ca", f"{self.folder}/certificate", "--cert",
                  f"{self.folder}/certificate", "--key", f"{self.folder}/key", "--data-ciphers", "AES-256-GCM"]
        protocols = {"udp": ("udp4", "udp4"), "tcp": ("tcp4-server", "tcp4-client")}[transport]
        self.start("right", *common, "--tls-server", "--dh", "none", "--proto", protocols[0],
                   "--ifconfig", "10.8.0.1", "10.8.0.2")
        self.start("left", *common, "--tls-client", "--proto", protocols[1], "--remote", "192.0.2.2",
                   "--ifconfig", "10.8.0.2", "10.8.0.1")
        ping = self.on("left", "ping", "-q", "-c", "1", "-W", "1", "10.8.0.1")
        for _ in range(60):
            if subprocess.run(ping, capture_output=True, check=False).returncode == 0:
                break
        else:
            raise SystemExit(f"{transport}: no packet passes")
        self.start("right", "iperf3", "-s")
        client = self.on("left", "iperf3", "-c", "10.8.0.1", "-t", str(seconds), "-J", "--connect-timeout", "5000")
        for _ in range(5):
            done = subprocess.run(client, capture_output=True, text=True, check=False)
            report = json.loads(done.stdout)
            if "sum_received" in report.get("end", {}):
                break
        self.stop()
        return report["end"]["sum_received"]["bits_per_second"] / 1e6

    def close(self):
        self.stop()
        for space in SPACES:
            run("ip", "netns", "del", self.of(space))


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def svg(rows):
    """Bars: for each loss one of UDP and one of TCP."""
    most = max(max(values) for _, values in rows)
    height = 220
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 320" role="img" font-family="sans-serif" '
           'font-size="12">', "<title>TCP through OpenVPN by UDP and by TCP</title>",
           "<style>text{fill:#222}@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>",
           '<text x="40" y="22" font-size="15">TCP through OpenVPN by UDP and by TCP on 20 Mbit/s, Mbit/s</text>']
    for at, (loss, values) in enumerate(rows):
        left = 60 + at * 160
        for which, (value, colour) in enumerate(zip(values, ("#0072b2", "#d55e00"))):
            tall = value / most * height
            x, y = left + which * 56, 270 - tall
            out.append(f'<rect x="{x}" y="{y:.1f}" width="48" height="{tall:.1f}" fill="{colour}"/>')
            out.append(f'<text x="{x + 24}" y="{y - 5:.1f}" text-anchor="middle">{value:.1f}</text>')
        out.append(f'<text x="{left + 52}" y="288" text-anchor="middle">{loss / 10:g} % loss</text>')
    for x, name, colour in ((60, "by UDP", "#0072b2"), (160, "by TCP", "#d55e00")):
        out.append(f'<rect x="{x}" y="300" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{x + 18}" y="310">{name}</text>')
    return "\n".join(out + ["</svg>"])


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        try:
            rows = []
            for loss in LOSSES:
                world.lose(loss)
                measured = {"udp": [], "tcp": []}
                for _ in range(rounds):
                    for transport, values in measured.items():
                        values.append(world.throughput(transport, seconds))
                medians = [statistics.median(values) for values in measured.values()]
                print(f"{loss / 10:g} % loss: {medians[0]:.1f} Mbit/s by UDP, {medians[1]:.1f} by TCP", file=sys.stderr)
                rows.append((loss, medians))
        finally:
            world.close()
    print(svg(rows))


main()
