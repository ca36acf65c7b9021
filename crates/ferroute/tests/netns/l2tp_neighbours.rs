//! Two clients of L2TP/IPsec behind one NAT, with one server: each has an association of its own.
//!
//! ```text
//! one ── left (anna) ─┐
//!                     nat ── right (server) ── two
//! three ── other (berta) ─┘
//! ```

use std::collections::BTreeSet;

use lab::{Lab, Layout};

use crate::ipsec::{default, host, link};
use crate::l2tp::{CLIENT, SERVER};
use crate::pppoe::start;
use crate::world::{Folder, Router, have, lab, shell, until, works};

const NEIGHBOURS: Layout = Layout {
    name: "l2tp",
    summary: "two clients behind a translator of addresses, and a server with a public address",
    hosts: &[
        host("one", &[default("10.1.0.1")]),
        host("two", &[default("10.2.0.1")]),
        host("three", &[default("10.3.0.1")]),
        host("left", &[]),
        host("other", &[]),
        host("nat", &[]),
        host("right", &[]),
    ],
    links: &[
        link(("one", "eth0", &["10.1.0.2/24"]), ("left", "ether1", &[])),
        link(("left", "ether2", &[]), ("nat", "in1", &["192.168.1.1/24"])),
        link(
            ("three", "eth0", &["10.3.0.2/24"]),
            ("other", "ether1", &[]),
        ),
        link(
            ("other", "ether2", &[]),
            ("nat", "in2", &["192.168.3.1/24"]),
        ),
        link(("nat", "out", &["192.0.2.1/24"]), ("right", "ether2", &[])),
        link(("two", "eth0", &["10.2.0.2/24"]), ("right", "ether1", &[])),
    ],
    config: "",
};

/// Host behind each client.
const HOSTS: [&str; 2] = ["one", "three"];

/// Configuration of the client in this site.
fn client(site: u8, user: &str) -> String {
    let protected = "name=l2tp-out1 use-ipsec=yes ipsec-secret=shared";
    CLIENT
        .replace("10.1.0.1/24", &format!("10.{site}.0.1/24"))
        .replace("192.0.2.1/24", &format!("192.168.{site}.2/24"))
        .replace("user=anna", &format!("user={user}"))
        .replace("name=l2tp-out1", protected)
        + &format!("/ip route add dst-address=192.0.2.0/24 gateway=192.168.{site}.1\n")
}

fn server() -> String {
    SERVER.to_owned()
        + "/ppp secret add name=berta password=geheim profile=home service=l2tp\n\
           /interface l2tp-server server set use-ipsec=required ipsec-secret=shared keepalive-timeout=2\n"
}

fn reaches(lab: &Lab, host: &str, more: &str) -> bool {
    works(lab, host, &format!("ping -q -c 1 -W 1 {more} 10.2.0.2"))
}

/// Both clients get packets through, at the same time and both ways.
fn both_work(lab: &Lab, server: &Router) {
    for host in HOSTS {
        until(&format!("{host} gets a packet through"), || {
            reaches(lab, host, "")
        });
    }
    let addresses = || {
        let rows = server.rows("/ppp/active/print");
        let addresses = rows.iter().filter_map(|row| row["address"].as_str());
        addresses.map(str::to_owned).collect::<Vec<_>>()
    };
    until("each client has one session", || addresses().len() == 2);
    let addresses = addresses();
    let inward = HOSTS.map(|host| (host, "10.2.0.2"));
    let outward = addresses.iter().map(|address| ("two", address.as_str()));
    std::thread::scope(|scope| {
        let pings = inward.into_iter().chain(outward).map(|(host, to)| {
            let line = format!("ping -q -c 20 -i 0.05 -W 2 {to}");
            (line.clone(), scope.spawn(move || works(lab, host, &line)))
        });
        for (line, ping) in pings.collect::<Vec<_>>() {
            assert!(ping.join().expect("a result"), "{line}");
        }
    });
    let drops = server.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("l2tp-wrong-association"), "{drops}");
}

/// Numbers of the associations of a router.
fn numbers(router: &Router) -> BTreeSet<String> {
    let rows = router.rows("/ip/ipsec/installed-sa/print");
    let numbers = rows.iter().filter_map(|row| row["spi"].as_str());
    numbers.map(str::to_owned).collect()
}

/// Translates addresses, and keeps the clients' ports where they are free.
fn translate(lab: &Lab) {
    shell(
        lab,
        "nat",
        "echo 1 > /proc/sys/net/ipv4/ip_forward
         nft add table ip t; nft 'add chain ip t p { type nat hook postrouting priority 100; }'
         nft add rule ip t p oifname out masquerade",
    );
}

#[test]
fn two_clients_behind_one_nat_work_at_once_and_each_keeps_its_association() {
    let test = "two_clients_behind_one_nat_work_at_once_and_each_keeps_its_association";
    let Some(lab) = have(test, &["ping", "nft"])
        .then(|| lab(test, &NEIGHBOURS))
        .flatten()
    else {
        return;
    };
    translate(&lab);
    let folders = [Folder::new(), Folder::new()];
    let [of_server, of_client] = folders.each_ref().map(|folder| folder.file("state"));
    let server_router = start(&lab, "right", &server(), Some(&of_server));
    let anna = start(&lab, "left", &client(1, "anna"), None);
    until("anna gets a packet through", || reaches(&lab, "one", ""));
    let berta = start(&lab, "other", &client(3, "berta"), Some(&of_client));
    both_work(&lab, &server_router);
    let ends = server_router.rows("/ip/ipsec/active-peers/print where natt-peer");
    assert_eq!(ends.len(), 2, "{ends:?}");
    for host in HOSTS {
        assert!(reaches(&lab, host, "-s 1422 -M do"), "{host}");
    }

    // A new association of one client changes nothing for the other.
    let before = numbers(&berta);
    let neighbour = numbers(&anna);
    anna.exec("/ip/ipsec/proposal/set default lifetime=10s");
    anna.exec("/ip/ipsec/installed-sa/flush");
    until("anna has other associations", || {
        let now = numbers(&anna);
        now.len() >= 2 && now.is_disjoint(&neighbour)
    });
    both_work(&lab, &server_router);
    let first = numbers(&anna);
    until("anna's associations are renewed", || {
        assert!(reaches(&lab, "three", ""), "the neighbour is not disturbed");
        !first.is_subset(&numbers(&anna))
    });
    both_work(&lab, &server_router);
    assert_eq!(numbers(&berta), before);

    berta.kill();
    until("anna works while berta is gone", || {
        reaches(&lab, "one", "")
    });
    let _berta = start(&lab, "other", "", Some(&of_client));
    both_work(&lab, &server_router);

    server_router.kill();
    let server_router = start(&lab, "right", "", Some(&of_server));
    both_work(&lab, &server_router);
}
