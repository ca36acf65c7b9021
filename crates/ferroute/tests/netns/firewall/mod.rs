//! Tests the firewall with real packets of hosts on the LAN and on the internet.
//!
//! | file | tests |
//! |---|---|
//! | `rules.rs` | one rule for each action and matcher with visible effect |
//! | `usual.rs` | RouterOS's default configuration and usual additions |
//! | `each.rs` | a row for each remaining matcher and action |
//! | `beside.rs` | equal packets through the kernel's own firewall |
//! | `helper.rs` | protocols that announce further connections |
//! | `conversation.rs` | TCP over a link that loses and reorders segments |
//! | `names.rs` | address lists with DNS names |
//! | `change.rs` | changes around existing connections |
//!
//! `peer.py` runs in the hosts: servers that report the client's address, and clients that report the answers.

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

/// Addresses of the server and of the client in the lab `home`.
const SERVER: [&str; 2] = ["203.0.113.1", "2001:2:0:1::1"];
const CLIENT: [&str; 2] = ["192.168.88.10", "2001:2:0:88::10"];

/// Starts servers at these ports of a host, TCP and UDP, in both families.
fn serve(lab: &Lab, host: &str, ports: &[&str]) -> Server {
    let mut command = peer(lab, host, "serve");
    command.args(ports);
    Server::begin(command, "ready")
}

/// Runs these probes in a host. Returns their results. All connections stay open until the last probe ends.
fn ask(lab: &Lab, host: &str, probes: &[String]) -> Vec<String> {
    let output = peer(lab, host, "ask").args(probes).output();
    let output = output.expect("nsenter is there: it made the lab");
    let complaint = text(&output.stderr);
    assert!(output.status.success(), "{host}: {probes:?}\n{complaint}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// Runs one probe. Returns its result.
fn ask_one(lab: &Lab, host: &str, probe: &str) -> String {
    ask(lab, host, &[probe.to_owned()]).remove(0)
}

fn peer(lab: &Lab, host: &str, what: &str) -> Command {
    let mut command = lab.command(host, "python3").expect("a host of the layout");
    command.args(["-c", PEER, what]);
    command
}

/// Returns the client address in a server's answer.
fn seen(said: &str) -> &str {
    said.split(' ').next().unwrap_or_default()
}

/// Returns the number of packets that the rule with this comment has matched.
fn hits(router: &Router, menu: &str, comment: &str) -> u64 {
    let rows = router.rows(&format!("{menu}/print"));
    let row = rows.iter().find(|row| row["comment"] == comment);
    let packets = row.and_then(|row| row["packets"].as_str());
    packets.map_or(0, |packets| packets.parse().expect("a number"))
}
