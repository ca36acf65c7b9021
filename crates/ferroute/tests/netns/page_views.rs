//! Tests the first view, the tables, the dashboard and Quick Set of the web page in a browser of a client on the LAN.

use std::fmt::Write as _;

use crate::page::{ROUTER, browse};
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, layout, output, text, until};

const CONFIG: &str = "/user set admin password=Sesamesesame1\n\
    /user add name=other group=full password=Otherother1\n\
    /ip service set www disabled=no\n\
    /interface vlan add name=vlan10 vlan-id=10 interface=ether3\n\
    /interface vlan add name=vlan20 vlan-id=20 interface=ether3 comment=guests\n\
    /interface wireguard add name=wg1 listen-port=51820\n\
    /interface wireguard peers add interface=wg1 name=laptop allowed-address=10.9.9.2/32 \
    public-key=\"mN1jB9QZ1xLk3dV0S2oQy4rT5uW6xY7zA8bC9dE0fGk=\"\n\
    /ip address add address=192.168.20.1/24 interface=vlan20\n";

/// Number of entries of the address list.
const ENTRIES: u32 = 20_000;

/// Returns rules whose conditions, counters and comments together are wider than a window.
fn rules() -> String {
    let mut text = String::from("/ip firewall filter\n");
    for number in 1..=12 {
        let _ = writeln!(
            text,
            "add chain=forward action=accept protocol=tcp src-address=192.168.88.{number} \
             dst-address=198.51.100.80 dst-port=80,443,8080-8090 in-interface=bridge \
             out-interface-list=WAN connection-state=new limit=20,50:packet \
             comment=\"customer {number} may reach the web server of accounting in the branch office\""
        );
    }
    text.push_str(
        "add chain=forward action=drop dst-address=239.255.255.250 comment=\"no discovery\"\n\
         /ip firewall mangle\n",
    );
    for mark in ["voice", "video", "bulk", "rest"] {
        let _ = writeln!(
            text,
            "add chain=forward action=mark-packet new-packet-mark={mark} packet-mark=none"
        );
    }
    text
}

fn addresses() -> String {
    let mut text = String::from("/ip firewall address-list\n");
    for number in 1..ENTRIES {
        let (high, low) = (number >> 8, number & 255);
        let _ = writeln!(
            text,
            "add list=many address=10.{}.{}.{low}",
            high >> 8,
            high & 255
        );
    }
    text.push_str("add list=many address=11.0.0.1 comment=\"last of all\"\n");
    text
}

#[test]
fn a_browser_shows_the_router_in_a_small_first_view_and_fitting_tables() {
    let test = "a_browser_shows_the_router_in_a_small_first_view_and_fitting_tables";
    let programs = ["chromium", "chromedriver", "python3", "curl", "iperf3"];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let config = format!(
        "{}\n{CONFIG}{}{}",
        layout("static").config,
        rules(),
        addresses()
    );
    let router = Router::start(&lab, &Start::with(PACKET, &config));
    let folder = Folder::new();
    until("www answers", || {
        let page = output(&lab, "client", &format!("curl -s http://{ROUTER}/")).stdout;
        text(&page).contains("<title>ferroute</title>")
    });
    content_is_compressed_and_kept(&lab);
    let server = Server::start(&lab, "server", "iperf3 -s --forceflush", "listening");
    let traffic = "iperf3 -c 203.0.113.1 -t 600 -b 5M --forceflush";
    let traffic = Server::start(&lab, "client", traffic, "connected");
    browse(&lab, &folder, &router, include_str!("page_views.py"));
    drop((traffic, server));
    assert!(router.stop().success());
}

/// Tests that files are compressed, and that a browser that has them gets 304.
fn content_is_compressed_and_kept(lab: &lab::Lab) {
    let curl = |arguments: &str| {
        let line = format!("curl -s -D - -o /dev/null -w bytes=%{{size_download}} {arguments}");
        text(&output(lab, "client", &line).stdout)
    };
    let bytes = |answer: &str| -> u32 {
        let number = answer.rsplit("bytes=").next().unwrap_or_default();
        number.parse().expect("a number")
    };
    let menus = format!("-u admin:Sesamesesame1 http://{ROUTER}/schema.json");
    let plain = curl(&menus);
    let packed = curl(&format!("-H Accept-Encoding:gzip {menus}"));
    assert!(
        packed.to_lowercase().contains("content-encoding: gzip"),
        "{packed}"
    );
    assert!(bytes(&packed) * 4 < bytes(&plain), "{plain}{packed}");
    let tag = packed
        .lines()
        .find_map(|line| line.strip_prefix("etag: "))
        .expect("a tag");
    let tag = tag.trim();
    let again = curl(&format!("-H If-None-Match:{tag} {menus}"));
    assert!(
        again.starts_with("HTTP/1.1 304") && bytes(&again) == 0,
        "{again}"
    );
    let unknown = curl(&format!("http://{ROUTER}/schema.json"));
    assert!(unknown.starts_with("HTTP/1.1 401"), "{unknown}");
}
