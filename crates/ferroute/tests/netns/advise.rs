//! The commands of `ferroute advise vpn` connect two sites: a router with the rules of the home router, and one without
//! rules.

use std::process::Command;

use lab::Lab;

use crate::ipsec::{SITES, router};
use crate::world::{Router, binary, have, lab, text, until, works};

/// Rules of the home router.
const RULES: &str = "/ip/firewall/filter/add chain=input action=accept connection-state=established,related,untracked
/ip/firewall/filter/add chain=input action=drop connection-state=invalid
/ip/firewall/filter/add chain=input action=accept protocol=icmp
/ip/firewall/filter/add chain=input action=drop in-interface=ether2
/ip/firewall/nat/add chain=srcnat action=masquerade ipsec-policy=out,none out-interface=ether2
";

fn base(site: u8) -> String {
    format!(
        "/ip/address/add address=10.{site}.0.1/24 interface=ether1\n\
         /ip/address/add address=192.0.2.{site}/24 interface=ether2\n\
         /ip/route/add gateway=192.0.2.{}\n",
        3 - site
    )
}

/// Returns the commands of both ends of a candidate.
fn advice(candidate: usize) -> [String; 2] {
    let output = Command::new(binary())
        .args(["advise", "vpn", "--who", "branch", "--json"])
        .args(["--server", "192.0.2.1", "--client", "192.0.2.2"])
        .args([
            "--server-network",
            "10.1.0.0/24",
            "--client-network",
            "10.2.0.0/24",
        ])
        .output()
        .expect("ferroute runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let advice: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let ends = &advice["candidates"][candidate]["ends"];
    [0, 1].map(|end: usize| ends[end]["text"].as_str().unwrap_or_default().to_owned())
}

fn paste(router: &Router, commands: &str) {
    for line in commands.lines() {
        router.exec(line);
    }
}

fn connects(lab: &Lab, candidate: usize, drops: &str) {
    let (left, right) = (
        router(lab, "left", &[&base(1), RULES].concat()),
        router(lab, "right", &base(2)),
    );
    let [first, second] = advice(candidate);
    assert!(first.contains(drops), "{first}");
    paste(&left, &first);
    paste(&right, &second);
    until("the sites reach each other", || {
        works(lab, "one", "ping -q -c 1 -W 1 10.2.0.2")
            && works(lab, "two", "ping -q -c 1 -W 1 10.1.0.2")
    });
}

#[test]
fn advised_wireguard_connects_two_sites() {
    let test = "advised_wireguard_connects_two_sites";
    if let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() {
        connects(&lab, 0, "/interface/wireguard/add");
    }
}

#[test]
fn advised_ikev2_connects_two_sites() {
    let test = "advised_ikev2_connects_two_sites";
    if let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() {
        connects(&lab, 1, "/ip/ipsec/peer/add");
    }
}
