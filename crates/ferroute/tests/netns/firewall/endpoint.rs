//! Tests `endpoint-independent-nat` with real sockets: a client, two servers, and a third host.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use lab::{End, Host, Lab, Layout, Link, Offloads, Route};

use super::{ask_one, peer, seen, serve};
use crate::world::{PACKET, Router, Start, have, lab, layout, until};

const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
add address=192.0.2.1/24 interface=ether4
/ip route
add dst-address=198.51.100.80/32 gateway=203.0.113.1
/ip firewall connection tracking
set udp-timeout=3s udp-stream-timeout=3s
/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=passthrough connection-nat-state=ein-dnat comment=ein-dnat
add chain=forward action=drop in-interface=!ether2 connection-nat-state=!dstnat
/ip firewall nat
add chain=srcnat action=endpoint-independent-nat protocol=udp out-interface=ether1
add chain=dstnat action=endpoint-independent-nat protocol=udp in-interface=!ether2 disabled=yes
";

/// Returns the lab `home` with a third host on a third port.
fn street() -> Layout {
    const OTHER: Host = Host {
        name: "other",
        forwards: false,
        loopback: &[],
        routes: &[Route {
            destination: "default",
            via: "192.0.2.1",
        }],
    };
    const LINK: Link = Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: "ether4",
                addresses: &[],
            },
            End {
                host: "other",
                device: "eth0",
                addresses: &["192.0.2.9/24"],
            },
        ],
    };
    let home = layout("static");
    Layout {
        name: "street",
        hosts: [home.hosts, &[OTHER]].concat().leak(),
        links: [home.links, &[LINK]].concat().leak(),
        ..*home
    }
}

/// A socket of the client, with the endpoint that each server saw.
struct Socket(Child, Vec<String>);

impl Socket {
    fn open(lab: &Lab, servers: &[&str]) -> Self {
        let mut command = peer(lab, "client", "endpoint");
        command.args(servers).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it is there");
        let output = BufReader::new(child.stdout.take().expect("asked for above"));
        let lines = output.lines().map_while(Result::ok).take(servers.len());
        let seen = lines.map(|line| line.trim_end_matches(" hello").to_owned());
        Self(child, seen.collect())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Fails only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_socket_has_one_endpoint_for_all_servers_and_others_can_send_to_it() {
    let test = "a_socket_has_one_endpoint_for_all_servers_and_others_can_send_to_it";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, &street()))
        .flatten()
    else {
        return;
    };
    for workers in ["1", "2"] {
        let mut start = Start::with(PACKET, CONFIG);
        start.ports.push(format!("ether4={PACKET}:ether4"));
        start.arguments = &["--workers", "2"][..];
        if workers == "1" {
            start.arguments = &[];
        }
        let router = Router::start(&lab, &start);
        let _server = serve(&lab, "server", &["53", "54"]);
        let _other = serve(&lab, "other", &["53"]);
        until("packets pass", || {
            seen(&ask_one(&lab, "client", "udp 203.0.113.1 53 1")) == "203.0.113.2"
        });

        let servers = ["203.0.113.1:53", "198.51.100.80:53", "203.0.113.1:54"];
        let socket = Socket::open(&lab, &servers);
        assert_eq!(socket.1, ["203.0.113.2 5000"; 3], "one endpoint for all");

        others_reach_the_endpoint_with_a_dstnat_rule(&lab, &router);
        the_endpoint_ends_with_its_connections(&lab, &router);
    }
}

/// Sends a datagram from the third host to the client's endpoint. Returns the answer of the next `seconds`.
fn written(lab: &Lab, seconds: &str) -> String {
    ask_one(lab, "other", &format!("udp 203.0.113.2 5000 {seconds}"))
}

fn others_reach_the_endpoint_with_a_dstnat_rule(lab: &Lab, router: &Router) {
    assert_ne!(seen(&written(lab, "0.5")), "192.0.2.9");

    router.exec("/ip firewall nat enable [find chain=dstnat]");

    until("the third host is answered, and seen as itself", || {
        seen(&written(lab, "5")) == "192.0.2.9"
    });
    assert!(super::hits(router, "/ip/firewall/filter", "ein-dnat") > 0);
    // The datagram before the rule was addressed to the router itself.
    let rows = router.rows("/ip/firewall/connection/print where dst-port=5000 and dstnat");
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["reply-src-address"], "192.168.88.10", "{row:#}");
    }
}

fn the_endpoint_ends_with_its_connections(lab: &Lab, router: &Router) {
    until("connections are over", || {
        router
            .rows("/ip/firewall/connection/print where protocol=udp")
            .is_empty()
    });

    assert_ne!(seen(&written(lab, "0.5")), "192.0.2.9");
}
