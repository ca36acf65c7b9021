//! Does the twelve tasks of an administrator in a browser of a client on the LAN; tests clicks during updates, and each
//! view with axe-core.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::page::{browse, page_answers};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout};

const CONFIG: &str = "/user set admin password=Sesamesesame1\n\
    /user add name=other group=full password=Otherother1\n\
    /ip service set www disabled=no\n\
    /interface vlan add name=vlan20 vlan-id=20 interface=bridge comment=guests\n\
    /ip address add address=192.168.20.1/24 interface=vlan20\n\
    /interface wireguard add name=wg1 listen-port=13231\n\
    /ip address add address=10.13.13.1/24 interface=wg1\n\
    /queue simple add name=guests target=192.168.20.0/24 max-limit=20M/20M\n\
    /ip firewall filter add chain=forward action=drop src-address=192.168.88.0/24 dst-address=192.168.20.0/24 \
    comment=\"guests are apart\" place-before=0\n\
    /ip firewall filter add chain=forward action=jump jump-target=customers src-address=10.1.0.0/16\n";

/// Returns 800 rules, one for each customer.
fn customers() -> String {
    let mut text = String::from("/ip firewall filter\n");
    for number in 0..800 {
        let _ = writeln!(
            text,
            "add chain=customers action=drop src-address=10.1.{}.{} comment=\"customer {number}\"",
            number / 256,
            number % 256
        );
    }
    text
}

#[test]
fn a_browser_does_the_twelve_tasks_by_mouse_and_by_keyboard() {
    let test = "a_browser_does_the_twelve_tasks_by_mouse_and_by_keyboard";
    let programs = ["chromium", "chromedriver", "python3", "curl", "iperf3"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let config = format!("{}\n{CONFIG}{}", layout("static").config, customers());
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    page_answers(&lab);
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients-node");
    // Without axe-core the script prints that it skips the views.
    let _ = fs::copy(
        axe.join("node_modules/axe-core/axe.min.js"),
        folder.file("axe.js"),
    );
    let server = Server::start(&lab, "server", "iperf3 -s --forceflush", "listening");
    let traffic = "iperf3 -c 203.0.113.1 -t 600 -b 5M --forceflush";
    let traffic = Server::start(&lab, "client", traffic, "connected");
    let ping = Server::start(&lab, "client", "ping -i 0.2 203.0.113.1", "bytes from");
    // New connections, which a rule of the tasks drops.
    let script = "echo started; while :; do curl -s -m 1 http://198.51.100.80/; done\n";
    fs::write(folder.file("attempts.sh"), script).expect("a folder of our own");
    let attempts = format!("sh {}", folder.file("attempts.sh").display());
    let attempts = Server::start(&lab, "client", &attempts, "started");
    browse(&lab, &folder, &router, include_str!("page_tasks.py"));
    drop((attempts, ping, traffic, server));
    assert!(router.stop().success());
}
