//! Tests a router with two providers: the source addresses of connections while one provider is unreachable, and after
//! its return.
//!
//! ```text
//!                     ┌── isp1 ──┐
//! client ── router ───┤          ├── server
//!                     └── isp2 ──┘
//! ```
//! The server answers each datagram with the source address that it saw. Links stay up: only routes change.

use std::fs;
use std::time::Duration;

use lab::{End, Host, Lab, Layout, Link, Offloads, Route};

use crate::world::{Folder, PACKET, Router, Server, Start, have, holds_within, lab, run, until};

const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: !routes.is_empty(),
        loopback: &[],
        routes,
    }
}

const fn via(destination: &'static str, via: &'static str) -> Route {
    Route { destination, via }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const fn wire(near: End, far: End) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [near, far],
    }
}

const PROVIDERS: Layout = Layout {
    name: "failover",
    summary: "a router between a client and two providers of one server",
    hosts: &[
        host("client", &[via("default", "192.168.88.1")]),
        host("router", &[]),
        host("isp1", &[via("198.51.100.0/24", "10.1.0.2")]),
        host("isp2", &[via("198.51.100.0/24", "10.2.0.2")]),
        Host {
            name: "server",
            forwards: false,
            loopback: &["198.51.100.1/32"],
            routes: &[
                via("203.0.113.0/24", "10.1.0.1"),
                via("192.0.2.0/24", "10.2.0.1"),
            ],
        },
    ],
    links: &[
        wire(
            end("client", "eth0", &["192.168.88.10/24"]),
            end("router", "ether2", &[]),
        ),
        wire(
            end("router", "ether1", &[]),
            end("isp1", "eth0", &["203.0.113.1/24"]),
        ),
        wire(
            end("router", "ether3", &[]),
            end("isp2", "eth0", &["192.0.2.1/24"]),
        ),
        wire(
            end("isp1", "eth1", &["10.1.0.1/24"]),
            end("server", "eth0", &["10.1.0.2/24"]),
        ),
        wire(
            end("isp2", "eth1", &["10.2.0.1/24"]),
            end("server", "eth1", &["10.2.0.2/24"]),
        ),
    ],
    config: "",
};

/// The router's addresses at its providers.
const FIRST: &str = "203.0.113.2";
const SECOND: &str = "192.0.2.2";

const ADDRESSES: &str = "/ip address add address=192.168.88.1/24 interface=ether2\n\
    /ip address add address=203.0.113.2/24 interface=ether1\n\
    /ip address add address=192.0.2.2/24 interface=ether3\n";

const MASQUERADE: &str = "/ip firewall nat add chain=srcnat action=masquerade out-interface=ether1\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=ether3\n";

const ROUTES: &str = "/ip route add gateway=203.0.113.1 distance=1 comment=first\n\
    /ip route add gateway=192.0.2.1 distance=2 comment=second\n";

/// Rules of RouterOS's default configuration.
const FILTER: &str = "/ip firewall filter add chain=forward action=accept connection-state=established,related,untracked\n\
    /ip firewall filter add chain=forward action=drop connection-state=invalid\n";
const FASTTRACK: &str = "/ip firewall filter add chain=forward action=fasttrack-connection connection-state=established,related\n";

/// The server: answers datagrams, and every line of a TCP connection, with the source address.
const ANSWER: &str = r#"
import socket, threading
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("198.51.100.1", 7000))
tcp = socket.create_server(("198.51.100.1", 7000))
def serve(peer, address):
    try:
        while peer.recv(100):
            peer.sendall(address.encode() + b"\n")
    except OSError:
        pass
def accept():
    while True:
        peer, address = tcp.accept()
        threading.Thread(target=serve, args=(peer, address[0]), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
print("ready", flush=True)
while True:
    data, peer = udp.recvfrom(100)
    udp.sendto(peer[0].encode(), peer)
"#;

/// The client: sends from several UDP ports all the time, and on one TCP connection until it ends. Writes the last
/// answer of each flow to a file.
const ASK: &str = r#"
import os, socket, sys, threading, time
folder, flows = sys.argv[1], int(sys.argv[2])
def note(name, text):
    with open(f"{folder}/{name}.new", "w") as file:
        file.write(text)
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")
def datagrams(number):
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind(("192.168.88.10", 9000 + number))
    asked.connect(("198.51.100.1", 7000))
    asked.settimeout(0.1)
    while True:
        try:
            asked.send(b"?")
            note(f"udp{number}", asked.recv(100).decode())
        except OSError:
            pass
        time.sleep(0.02)
def stream():
    asked = None
    while asked is None:
        try:
            asked = socket.create_connection(("198.51.100.1", 7000), 1)
        except OSError:
            time.sleep(0.02)
    try:
        while True:
            asked.sendall(b"?")
            note("tcp", asked.recv(100).decode().strip())
            time.sleep(0.02)
    except OSError as error:
        note("tcp", type(error).__name__)
for number in range(flows):
    threading.Thread(target=datagrams, args=(number,), daemon=True).start()
print("ready", flush=True)
stream()
while True:
    time.sleep(1)
"#;

/// The lab with its server, a router, and a client with several UDP ports.
struct Scene {
    router: Router,
    folder: Folder,
    flows: usize,
    _servers: [Server; 2],
}

impl Scene {
    fn new(lab: &Lab, config: &str, flows: usize) -> Self {
        let folder = Folder::new();
        let answer = python(lab, "server", ANSWER, &[]);
        let config = format!("{ADDRESSES}{config}");
        let router = Router::start(lab, &Start::with(PACKET, &config));
        let where_ = folder.file("").display().to_string();
        let ask = python(lab, "client", ASK, &[&where_, &flows.to_string()]);
        Self {
            router,
            folder,
            flows,
            _servers: [answer, ask],
        }
    }

    /// Returns the last answer of each UDP flow; empty before the first answer.
    fn answers(&self) -> Vec<String> {
        let read = |number| fs::read_to_string(self.folder.file(&format!("udp{number}")));
        (0..self.flows)
            .map(|number| read(number).unwrap_or_default())
            .collect()
    }

    fn tcp(&self) -> String {
        fs::read_to_string(self.folder.file("tcp")).unwrap_or_default()
    }

    /// Waits until the server sees one source address in all flows.
    fn all_from(&self, address: &str) {
        until(&format!("all come from {address}"), || {
            self.answers().iter().all(|answer| answer == address)
        });
    }
}

fn python(lab: &Lab, host: &str, script: &str, arguments: &[&str]) -> Server {
    let program = ["python3", "-c", script];
    let words = program.iter().chain(arguments);
    let argv: Vec<_> = words.map(|word| (*word).to_owned()).collect();
    let command = lab.command_line(host, &argv);
    Server::begin(command.expect("a host of the layout"), "ready")
}

fn providers(test: &str) -> Option<Lab> {
    have(test, &["python3"])
        .then(|| lab(test, &PROVIDERS))
        .flatten()
}

#[test]
fn masqueraded_connections_restart_at_the_other_provider_and_return() {
    let test = "masqueraded_connections_restart_at_the_other_provider_and_return";
    for fasttrack in [FASTTRACK, ""] {
        let Some(lab) = providers(test) else {
            return;
        };
        let config = format!("{MASQUERADE}{ROUTES}{fasttrack}{FILTER}");
        let scene = Scene::new(&lab, &config, 4);
        scene.all_from(FIRST);
        until("the connection of TCP is there", || scene.tcp() == FIRST);
        until("both ends know of the connections", || {
            let rows = scene.router.rows("/ip/firewall/connection/print");
            let marked = rows.iter().filter(|row| row["fasttrack"] == "true").count();
            rows.iter().filter(|row| row["assured"] == "true").count() == 5
                && (marked == 5 || fasttrack.is_empty())
        });

        scene
            .router
            .exec("/ip/route/set [find comment=first] distance=3");
        scene.all_from(SECOND);
        // The server has no TCP connection with the new address, and resets it.
        until("the connection of TCP has ended", || {
            scene.tcp() == "ConnectionResetError"
        });
        let drops = scene.router.exec("/tool/drop/print detail without-paging");
        assert!(drops.contains("nat-egress"), "{drops}");

        scene
            .router
            .exec("/ip/route/set [find comment=first] distance=1");
        scene.all_from(FIRST);
    }
}

#[test]
fn connections_of_src_nat_keep_their_address_at_the_other_provider() {
    let test = "connections_of_src_nat_keep_their_address_at_the_other_provider";
    for fasttrack in [FASTTRACK, ""] {
        let Some(lab) = providers(test) else {
            return;
        };
        let nat = "/ip firewall nat add chain=srcnat action=src-nat to-addresses=203.0.113.2 \
            src-address=192.168.88.0/24\n";
        let config = format!("{nat}{ROUTES}{fasttrack}{FILTER}");
        let scene = Scene::new(&lab, &config, 2);
        scene.all_from(FIRST);
        until("the connection of TCP is there", || scene.tcp() == FIRST);

        scene
            .router
            .exec("/ip/route/set [find comment=first] distance=3");
        let sent = || {
            scene
                .router
                .number("/interface/print stats", "ether3", "tx-packet")
        };
        let before = sent();
        until("packets leave by the other provider", || {
            sent() > before + 50
        });

        let rows = scene.router.rows("/ip/firewall/connection/print");
        let asked = rows.iter().filter(|row| row["dst-port"] == "7000");
        assert_eq!(asked.count(), 3, "{rows:?}");
        scene.all_from(FIRST);
        assert_eq!(scene.tcp(), FIRST);
        let drops = scene.router.exec("/tool/drop/print detail without-paging");
        assert!(!drops.contains("nat-egress"), "{drops}");
    }
}

#[test]
fn masqueraded_connections_leave_a_gateway_that_no_longer_answers() {
    let test = "masqueraded_connections_leave_a_gateway_that_no_longer_answers";
    let Some(lab) = providers(test) else {
        return;
    };
    let routes = "/ip route add gateway=203.0.113.1 distance=1 check-gateway=ping\n\
        /ip route add gateway=192.0.2.1 distance=2 check-gateway=ping\n";
    let config = format!("{MASQUERADE}{routes}{FASTTRACK}{FILTER}");
    let scene = Scene::new(&lab, &config, 2);
    scene.all_from(FIRST);

    // The link stays up. The router probes a gateway every ten seconds; after two missing answers the gateway is dead.
    run(&lab, "isp1", "ip address del 203.0.113.1/24 dev eth0");
    let is_away = || {
        let rows = scene.router.rows("/ip/route/print");
        let first = rows.iter().find(|row| row["gateway"] == "203.0.113.1");
        first.is_some_and(|row| row["active"] != "true")
    };
    holds_within(Duration::from_secs(60), is_away);
    scene.all_from(SECOND);
}

#[test]
fn connections_balanced_over_providers_move_and_return() {
    let test = "connections_balanced_over_providers_move_and_return";
    let Some(lab) = providers(test) else {
        return;
    };
    // The usual configuration: each connection is classified once, and its packets use the routing table of its mark.
    let share = "/routing table add name=one fib\n/routing table add name=two fib\n\
        /ip route add gateway=203.0.113.1 routing-table=one distance=1 comment=first\n\
        /ip route add gateway=192.0.2.1 routing-table=one distance=2\n\
        /ip route add gateway=192.0.2.1 routing-table=two distance=1\n\
        /ip route add gateway=203.0.113.1 routing-table=two distance=2\n\
        /ip route add gateway=203.0.113.1 distance=1\n\
        /ip firewall mangle add chain=prerouting in-interface=ether2 dst-address-type=!local \
          connection-mark=no-mark action=mark-connection new-connection-mark=one \
          per-connection-classifier=both-addresses-and-ports:2/0\n\
        /ip firewall mangle add chain=prerouting in-interface=ether2 dst-address-type=!local \
          connection-mark=no-mark action=mark-connection new-connection-mark=two \
          per-connection-classifier=both-addresses-and-ports:2/1\n\
        /ip firewall mangle add chain=prerouting in-interface=ether2 connection-mark=one \
          action=mark-routing new-routing-mark=one passthrough=no\n\
        /ip firewall mangle add chain=prerouting in-interface=ether2 connection-mark=two \
          action=mark-routing new-routing-mark=two passthrough=no\n";
    let scene = Scene::new(&lab, &format!("{MASQUERADE}{share}{FILTER}"), 8);
    until("both providers have connections", || {
        let answers = scene.answers();
        let of = |address: &str| answers.iter().filter(|answer| *answer == address).count();
        of(FIRST) > 0 && of(SECOND) > 0 && of(FIRST) + of(SECOND) == 8
    });
    let shared_out = scene.answers();

    scene.router.exec("/ip/route/disable [find comment=first]");
    scene.all_from(SECOND);
    scene.router.exec("/ip/route/enable [find comment=first]");
    until("each is where it was", || scene.answers() == shared_out);
}
