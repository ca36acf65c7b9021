//! Datagrams that are longer than the link, through a router that translates.

use lab::Lab;

use super::usual::Stream;
use super::{SERVER, ask_one, peer, seen, serve};
use crate::world::{PACKET, Router, Start, XDP, driver_works, have, lab, layout, run, text, until};

const CONFIG: &str = "\
/ip address
add address=203.0.113.2/24 interface=ether1
add address=192.168.88.1/24 interface=ether2
/ip firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop in-interface=ether1
/ip firewall nat
add chain=srcnat action=masquerade out-interface=ether1
/ipv6 address
add address=2001:2:0:1::2/64 advertise=no interface=ether1
add address=2001:2:0:88::1/64 interface=ether2
/ipv6 firewall filter
add chain=forward action=accept connection-state=established,related
add chain=forward action=drop connection-state=invalid
add chain=forward action=drop in-interface=ether1
/ipv6 firewall nat
add chain=srcnat action=masquerade out-interface=ether1
";

/// What the router is seen as behind its masquerade.
const OUTSIDE: [&str; 2] = ["203.0.113.2", "2001:2:0:1::2"];
const SIZES: [&str; 6] = ["1500", "4000", "9000", "20001", "40000", "60000"];

fn packets_pass(lab: &Lab) {
    for server in SERVER {
        until("packets pass", || {
            ask_one(lab, "client", &format!("udp {server} 53 1")) != "nothing"
        });
    }
}

/// Sends datagrams of these sizes from the client and gets them back.
fn exchanged(lab: &Lab, address: &str) -> Vec<String> {
    let mut command = peer(lab, "client", "large");
    command.args([address, "53"]).args(SIZES);
    let output = command.output().expect("nsenter is there: it made the lab");
    let complaint = text(&output.stderr);
    assert!(output.status.success(), "{address}: {complaint}");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

fn large_datagrams(driver: &str, test: &str) {
    let Some(lab) = have(test, &["python3", "ping"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    if !driver_works(test, &lab, driver) {
        return;
    }
    let _server = serve(&lab, "server", &["53"]);
    for arguments in [&[][..], &["--workers", "2"]] {
        let start = Start {
            arguments,
            ..Start::with(driver, CONFIG)
        };
        let router = Router::start(&lab, &start);
        packets_pass(&lab);

        for (server, outside) in SERVER.into_iter().zip(OUTSIDE) {
            let expected = vec![format!("{outside} same"); SIZES.len()];
            assert_eq!(exchanged(&lab, server), expected, "{arguments:?}");
        }
        // A ping's answer is put together by the router for itself, and for the client.
        for address in [
            "203.0.113.1",
            "192.168.88.1",
            "2001:2:0:1::1",
            "2001:2:0:88::1",
        ] {
            run(
                &lab,
                "client",
                &format!("ping -q -c 2 -i 0.1 -W 10 -s 8000 {address}"),
            );
        }
        for menu in ["/ip", "/ipv6"] {
            // What the router tells its neighbours is none of it.
            let rows = router.rows(&format!(
                "{menu}/firewall/connection/print where protocol=udp dst-port!=5678"
            ));
            // One that asked whether packets pass, or some, and one that sent the large ones.
            assert!((2..=40).contains(&rows.len()), "{rows:#?}");
            assert!(rows.iter().all(|row| row["srcnat"] == "true"), "{rows:#?}");
        }
    }
}

#[test]
fn large_datagrams_pass_a_masquerade_both_ways() {
    large_datagrams(PACKET, "large_datagrams_pass_a_masquerade_both_ways");
}

#[test]
fn large_datagrams_pass_a_masquerade_by_xdp_ports() {
    large_datagrams(XDP, "large_datagrams_pass_a_masquerade_by_xdp_ports");
}

#[test]
fn a_storm_of_fragments_takes_little_memory_and_no_connection() {
    let test = "a_storm_of_fragments_takes_little_memory_and_no_connection";
    let Some(lab) = have(test, &["python3"])
        .then(|| lab(test, layout("static")))
        .flatten()
    else {
        return;
    };
    let _server = serve(&lab, "server", &["53"]);
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    packets_pass(&lab);
    let stream = Stream::begin(&lab);
    until("the stream is answered", || {
        let rows = router.rows("/ip/firewall/connection/print where protocol=udp and assured");
        !rows.is_empty()
    });
    let before = router.resident_kb();

    // From somebody else: among those that wait, some would have the identification of a datagram that the
    // client sends later, and belong to it.
    let output = peer(&lab, "client", "storm")
        .args(["192.168.88.77", SERVER[0], "40000"])
        .output()
        .expect("nsenter is there: it made the lab");

    assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
    // 40,000 fragments of 2 KB would be 80 MB; 4 MB may wait.
    let grown = router.resident_kb().saturating_sub(before);
    assert!(grown < 16_000, "{grown} KB more");
    let rows = router.rows("/ip/firewall/connection/print where protocol=udp");
    assert!(
        rows.len() < 40,
        "fragments begin no connection: {}",
        rows.len()
    );
    assert_eq!(
        seen(&ask_one(&lab, "client", "udp 203.0.113.1 53")),
        OUTSIDE[0]
    );
    assert_eq!(exchanged(&lab, SERVER[0]).len(), SIZES.len());
    let (sent, lost) = stream.end();
    // A full socket buffer of the lab may lose some; a connection that is gone loses all that follow.
    assert!(lost < 32 && sent > 1_000, "{lost} of {sent} lost");
}
