//! Tests datagrams longer than the MTU, through a router with NAT.

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

/// The router's outside addresses after masquerade, and the sizes of datagrams.
const OUTSIDE: [&str; 2] = ["203.0.113.2", "2001:2:0:1::2"];
const SIZES: [&str; 6] = ["1500", "4000", "9000", "20001", "40000", "60000"];

fn packets_pass(lab: &Lab) {
    for server in SERVER {
        until("packets pass", || {
            ask_one(lab, "client", &format!("udp {server} 53 1")) != "nothing"
        });
    }
}

/// Sends datagrams of all sizes from the client, and receives them back.
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
        // The router reassembles fragmented echo replies for itself and for the client.
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
            // Neighbour discovery of the router does not count.
            let rows = router.rows(&format!(
                "{menu}/firewall/connection/print where protocol=udp dst-port!=5678"
            ));
            // One or more connections from the test's reachability checks, and one with the long datagrams.
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
fn a_flood_of_fragments_uses_little_memory_and_breaks_no_connection() {
    let test = "a_flood_of_fragments_uses_little_memory_and_breaks_no_connection";
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

    // From another source address: otherwise a waiting fragment could have the identification of a later datagram of
    // the client and join it.
    let output = peer(&lab, "client", "storm")
        .args(["192.168.88.77", SERVER[0], "40000"])
        .output()
        .expect("nsenter is there: it made the lab");

    assert_eq!(text(&output.stdout), "done\n", "{}", text(&output.stderr));
    // All 40,000 fragments would need 80 MB; at most 4 MB may wait.
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
    // The lab's socket buffers may overflow and lose a few datagrams; a missing connection would lose all.
    assert!(lost < 32 && sent > 1_000, "{lost} of {sent} lost");
}
