//! Tests TCP connections between kernels over a link that drops, duplicates and reorders segments: the router behind it
//! classifies none of the segments as `invalid`.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab::{End, Host, Lab, Layout, Link, Offloads, Route};

use super::beside::sent;
use super::hits;
use crate::world::{PACKET, Router, Server, Start, have, lab, until, works};

const RELAY: &str = include_str!("relay.py");
const CLIENT: [&str; 2] = ["192.168.88.10", "2001:2:0:88::10"];
const SERVER: [&str; 2] = ["203.0.113.1", "2001:2:0:1::1"];

const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes,
    }
}

const fn by(via: [&'static str; 2]) -> [Route; 2] {
    [
        Route {
            destination: "default",
            via: via[0],
        },
        Route {
            destination: "default",
            via: via[1],
        },
    ]
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const fn link(ends: [End; 2]) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends,
    }
}

const CLIENT_ROUTES: [Route; 2] = by(["192.168.88.1", "2001:2:0:88::1"]);
const SERVER_ROUTES: [Route; 2] = by(["203.0.113.2", "2001:2:0:1::2"]);

/// Layout: a client, the relay, the router, a server.
const BAD_LINE: Layout = Layout {
    name: "bad-line",
    summary: "a client behind a relay that loses and reorders",
    hosts: &[
        host("client", &CLIENT_ROUTES),
        host("relay", &[]),
        host("router", &[]),
        host("server", &SERVER_ROUTES),
    ],
    links: &[
        link([
            end("router", "ether1", &[]),
            end("server", "eth0", &["203.0.113.1/24", "2001:2:0:1::1/64"]),
        ]),
        link([end("router", "ether2", &[]), end("relay", "r1", &[])]),
        link([
            end("relay", "r2", &[]),
            end(
                "client",
                "eth0",
                &["192.168.88.10/24", "2001:2:0:88::10/64"],
            ),
        ]),
    ],
    config: "",
};

/// A host without state of a connection answers late segments with RST, which is out of the window like a forged one.
const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 advertise=no interface=ether2
/ip firewall filter
add chain=forward action=log log-prefix=bad comment=invalid connection-state=invalid protocol=tcp tcp-flags=!rst
add chain=forward action=passthrough comment=established connection-state=established protocol=tcp
add chain=forward action=passthrough comment=reset connection-state=invalid protocol=tcp tcp-flags=rst dst-port=7002
/ipv6 firewall filter
add chain=forward action=log log-prefix=bad comment=invalid connection-state=invalid protocol=tcp tcp-flags=!rst
add chain=forward action=passthrough comment=established connection-state=established protocol=tcp
";

#[test]
fn no_segment_of_an_honest_connection_is_invalid() {
    let test = "no_segment_of_an_honest_connection_is_invalid";
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, &BAD_LINE))
        .flatten()
    else {
        return;
    };
    let _relay = Server::begin(python(&lab, "relay", &["relay", "7"]), "ready");
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let _server = Server::begin(python(&lab, "server", &["serve"]), "ready");
    for server in SERVER {
        until("packets pass", || {
            works(&lab, "client", &format!("ping -q -c 1 -W 1 {server}"))
        });
    }

    // Three connections of each family at a time; each closes one half long before the other.
    let servers = [SERVER[0], SERVER[1]].repeat(3);
    let arguments = [&["talk"], servers.as_slice()].concat();
    let output = python(&lab, "client", &arguments).output();
    let output = output.expect("nsenter is there: it made the lab");
    assert!(output.status.success(), "{output:?}");
    nothing_is_invalid(&router);
    for menu in ["/ip/firewall", "/ipv6/firewall"] {
        assert!(hits(&router, &format!("{menu}/filter"), "established") > 1_000);
    }
    let open = "/ip/firewall/connection/print where dst-port=7001 and tcp-state=established";
    let open = router.rows(open);
    assert!(open.is_empty(), "all closed: {open:#?}");

    a_simultaneous_open_works_and_resists_forged_resets(&lab, &router);
}

fn nothing_is_invalid(router: &Router) {
    for menu in ["/ip/firewall", "/ipv6/firewall"] {
        let count = hits(router, &format!("{menu}/filter"), "invalid");
        assert_eq!(count, 0, "{menu}\n{}", router.exec("/log/print"));
    }
}

/// Tests a simultaneous open (RFC 9293, 3.5); then an attacker without the sequence numbers tries to reset the
/// connection.
fn a_simultaneous_open_works_and_resists_forged_resets(lab: &Lab, router: &Router) {
    let mut sides = [
        Side::begin(lab, "client", &["meet", CLIENT[0], SERVER[0]]),
        Side::begin(lab, "server", &["meet", SERVER[0], CLIENT[0]]),
    ];
    assert_eq!(sides.each_mut().map(Side::hear), ["met", "met"]);
    nothing_is_invalid(router);

    let resets = "4 tcp 7002 from=7002 flags=4 number=1\n".repeat(30);
    sent(lab, &["craft"], &(resets + "4 udp 9 text=last\n"));
    assert!(hits(router, "/ip/firewall/filter", "reset") >= 10);
    let rows = router.rows("/ip/firewall/connection/print where dst-port=7002");
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["tcp-state"], "established", "{rows:#?}");

    // Each side sends a message and receives the other's.
    sides.iter_mut().for_each(Side::say);
    assert_eq!(sides.each_mut().map(Side::hear), ["still here"; 2]);
}

fn python(lab: &Lab, host: &str, arguments: &[&str]) -> Command {
    let mut command = lab.command(host, "python3").expect("a host of the layout");
    command.args(["-c", RELAY]).args(arguments);
    command
}

/// One side of the simultaneous open.
struct Side {
    child: Child,
    said: BufReader<ChildStdout>,
    input: Option<ChildStdin>,
}

impl Side {
    fn begin(lab: &Lab, host: &str, arguments: &[&str]) -> Self {
        let mut command = python(lab, host, arguments);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("nsenter is there: it made the lab");
        Self {
            said: BufReader::new(child.stdout.take().expect("asked for above")),
            input: child.stdin.take(),
            child,
        }
    }

    fn say(&mut self) {
        let input = self.input.as_mut().expect("asked for above");
        writeln!(input, "still here").expect("it listens");
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it writes text");
        line.trim().to_owned()
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        self.input = None;
        // The process ends at the end of its input; its exit status does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
