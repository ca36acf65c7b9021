//! The firewall on real packets: what somebody on the LAN, and somebody on the internet, gets.
//!
//! `rules.rs` has one rule for each thing there is, `usual.rs` RouterOS's default configuration and
//! what comes on top of it; `each.rs` has a row for each matcher and action that is left, and
//! `beside.rs` sends the same packets through the kernel's own firewall. `helper.rs` has protocols
//! that speak of other connections, `conversation.rs` lets hosts talk over a line that loses and
//! reorders. `names.rs` has lists that follow the names of hosts. `change.rs` changes what is around
//! connections.
//! `peer.py` is what runs in the hosts: servers that say whom they see, clients that say what they
//! got.

mod beside;
mod change;
mod conversation;
mod each;
mod endpoint;
mod fragments;
mod helper;
mod names;
mod rules;
mod usual;

use std::process::Command;

use lab::Lab;

use crate::world::{Router, Server, text};

const PEER: &str = include_str!("peer.py");

/// The server's and the client's own addresses in the lab `home`.
const SERVER: [&str; 2] = ["203.0.113.1", "2001:2:0:1::1"];
const CLIENT: [&str; 2] = ["192.168.88.10", "2001:2:0:88::10"];

/// Servers at these ports of a host, TCP and UDP, of both families.
fn serve(lab: &Lab, host: &str, ports: &[&str]) -> Server {
    let mut command = peer(lab, host, "serve");
    command.args(ports);
    Server::begin(command, "ready")
}

/// What each of these probes leads to. All stay open until the last is done.
fn ask(lab: &Lab, host: &str, probes: &[String]) -> Vec<String> {
    let output = peer(lab, host, "ask").args(probes).output();
    let output = output.expect("nsenter is there: it made the lab");
    let complaint = text(&output.stderr);
    assert!(output.status.success(), "{host}: {probes:?}\n{complaint}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// As [`ask`], for one.
fn ask_one(lab: &Lab, host: &str, probe: &str) -> String {
    ask(lab, host, &[probe.to_owned()]).remove(0)
}

fn peer(lab: &Lab, host: &str, what: &str) -> Command {
    let mut command = lab.command(host, "python3").expect("a host of the layout");
    command.args(["-c", PEER, what]);
    command
}

/// The address that a server said it saw.
fn seen(said: &str) -> &str {
    said.split(' ').next().unwrap_or_default()
}

/// Packets that the rule with this comment has matched.
fn hits(router: &Router, menu: &str, comment: &str) -> u64 {
    let rows = router.rows(&format!("{menu}/print"));
    let row = rows.iter().find(|row| row["comment"] == comment);
    let packets = row.and_then(|row| row["packets"].as_str());
    packets.map_or(0, |packets| packets.parse().expect("a number"))
}
