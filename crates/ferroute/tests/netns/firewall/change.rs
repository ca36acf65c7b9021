//! Tests the effect of changed rules, addresses, routes, neighbours and interfaces on existing connections.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use lab::Lab;

use super::{SERVER, peer, seen, serve};
use crate::world::{PACKET, Router, Start, have, lab, layout, run, until, works};

/// Connections from port 5001 are masqueraded; those from 5002 get a fixed address.
const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=203.0.113.9/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip firewall filter
add action=fasttrack-connection chain=forward connection-state=established,related
/ip firewall nat
add action=src-nat chain=srcnat protocol=udp src-port=5002 to-addresses=203.0.113.9
add action=masquerade chain=srcnat out-interface=ether1
";
/// Timeout in seconds of a query; a client that expects an answer queries again.
const BRIEF: &str = "0.3";

#[test]
fn changes_affect_only_the_connections_that_they_concern() {
    let test = "changes_affect_only_the_connections_that_they_concern";
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let _server = serve(&lab, "server", &["53"]);
    let mut client = Client::begin(&lab);
    client.is_fast(&router, 5001, "203.0.113.2");
    client.is_fast(&router, 5002, "203.0.113.9");
    let known = id(&router, 5002);

    rules_leave_them(&router, &mut client);
    removing_an_address_ends_its_masqueraded_connections(&router, &mut client);
    a_route_change_moves_connections(&router, &mut client);
    a_changed_neighbour_is_resolved_again(&lab, &router, &mut client);
    disabling_an_interface_ends_its_masqueraded_connections(&router);

    // The connection that no change concerned is still the same.
    assert_eq!(id(&router, 5002), known);
}

fn rules_leave_them(router: &Router, client: &mut Client) {
    router
        .exec("/ip/firewall/filter/disable [find !dynamic]; /ip/firewall/nat/disable [find action=src-nat]");

    client.sees(5002, "203.0.113.9");
    let rows = rows(router, 5002);
    assert_eq!(rows[0]["fasttrack"], "true", "{rows:#?}");
    // The first packet of another connection is subject to the current rules.
    client.sees(5003, "203.0.113.2");
    router.exec("/ip/firewall/filter/enable [find !dynamic]; /ip/firewall/nat/enable [find]");
}

fn removing_an_address_ends_its_masqueraded_connections(router: &Router, client: &mut Client) {
    router.exec("/ip/address/set [find address=203.0.113.2/24] address=203.0.113.3/24");

    until("what was masqueraded is gone", || {
        rows(router, 5001).is_empty()
    });
    until("it is masqueraded by an address that is there", || {
        client.says(5001) != "nothing"
    });
    let masked = client.says(5001);
    assert!(
        ["203.0.113.3", "203.0.113.9"].contains(&seen(&masked)),
        "{masked}"
    );
    client.sees(5002, "203.0.113.9");
}

fn a_route_change_moves_connections(router: &Router, client: &mut Client) {
    router.exec("/ip/route/add dst-address=203.0.113.1/32 blackhole");
    until("they go where the route leads", || {
        client.says(5002) == "nothing"
    });

    router.exec("/ip/route/remove [find blackhole]");

    until("they come back with the route", || {
        seen(&client.says(5002)) == "203.0.113.9"
    });
}

fn a_changed_neighbour_is_resolved_again(lab: &Lab, router: &Router, client: &mut Client) {
    run(lab, "server", "ip link set eth0 address 02:00:00:00:77:77");
    // The server announces its new address by its own ARP request; other announcements are ignored within a second
    // after a confirmation.
    until("the server reaches the router", || {
        run(lab, "server", "ip neighbour flush dev eth0");
        works(lab, "server", "ping -q -c 1 -W 1 203.0.113.9")
    });

    until("they go to the new address of the link", || {
        seen(&client.says(5002)) == "203.0.113.9"
    });
    let rows = rows(router, 5002);
    assert_eq!(rows[0]["fasttrack"], "true", "{rows:#?}");
    run(lab, "client", "ping -q -c 1 -W 10 203.0.113.1");
}

fn disabling_an_interface_ends_its_masqueraded_connections(router: &Router) {
    assert!(!rows(router, 5001).is_empty());

    router.exec("/interface/disable ether1");

    until("what was masqueraded is gone", || {
        rows(router, 5001).is_empty()
    });
}

/// Returns the rows of the client's connections from this port.
fn rows(router: &Router, port: u16) -> Vec<serde_json::Value> {
    router.rows(&format!(
        "/ip/firewall/connection/print where protocol=udp and src-port={port}"
    ))
}

/// Returns the id of the only connection from this port.
fn id(router: &Router, port: u16) -> String {
    let rows = rows(router, port);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    rows[0][".id"].as_str().unwrap_or_default().to_owned()
}

/// A host of the LAN that keeps its sockets.
struct Client {
    child: Child,
    asks: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Client {
    fn begin(lab: &Lab) -> Self {
        let mut command = peer(lab, "client", "talk");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3 is there");
        let asks = child.stdin.take().expect("asked for above");
        let said = child.stdout.take().expect("as above");
        let said = BufReader::new(said);
        let mut client = Self { child, asks, said };
        assert_eq!(client.line(), "ready");
        client
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it writes text");
        line.trim_end().to_owned()
    }

    /// Queries the server from this port. Returns its answer.
    fn says(&mut self, port: u16) -> String {
        writeln!(self.asks, "{port} {} 53 {BRIEF}", SERVER[0]).expect("it reads");
        self.line()
    }

    /// Checks that the server sees this port at an address, in its first answer.
    fn sees(&mut self, port: u16, address: &str) {
        let said = self.says(port);
        assert_eq!(seen(&said), address, "{port}: {said}");
    }

    /// Waits until a connection takes the fast path.
    fn is_fast(&mut self, router: &Router, port: u16, address: &str) {
        until("a connection takes the fast way", || {
            let fast = |row: &serde_json::Value| row["fasttrack"] == "true";
            seen(&self.says(port)) == address && rows(router, port).iter().any(fast)
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
