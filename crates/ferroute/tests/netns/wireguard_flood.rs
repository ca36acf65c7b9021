//! Tests floods of forged handshakes on a WireGuard port: an honest peer connects meanwhile, from any address.

use lab::Lab;

use crate::ipsec::{SITES, router};
use crate::wireguard::{base, endpoint, meet, peer, public};
use crate::world::{Folder, Router, Server, have, lab, until, works};

/// Sends 8,000 handshake initiations with a valid MAC1 per second: `flood.py KEY SOURCE`. KEY is the router's public
/// key. SOURCE is the source address, or `any` for addresses of 100.64.0.0/16.
const FLOOD: &str = r#"
import base64, hashlib, os, random, socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
label = hashlib.blake2s(b"mac1----" + base64.b64decode(sys.argv[1])).digest()
def packet():
    body = bytes([1, 0, 0, 0]) + os.urandom(112)
    body += hashlib.blake2s(body, key=label, digest_size=16).digest() + bytes(16)
    udp = struct.pack(">HHHH", 13231, 13231, 8 + len(body), 0) + body
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    source = socket.inet_aton(sys.argv[2]) if sys.argv[2] != "any" else (
        bytes([100, 64, random.randrange(256), random.randrange(1, 255)]))
    return head + source + socket.inet_aton("10.1.0.1") + udp
packets = [packet() for _ in range(20000)]
print("flooding", flush=True)
begin, sent = time.monotonic(), 0
while True:
    while sent < (time.monotonic() - begin) * 8000:
        try:
            raw.sendto(packets[sent % len(packets)], ("10.1.0.1", 0))
        except OSError:
            pass
        sent += 1
    time.sleep(0.002)
"#;

fn dropped(router: &Router) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let limits = rows.iter().filter(|row| {
        row["reason"] == "service-stranger-limit" || row["reason"] == "service-sender-limit"
    });
    limits
        .filter_map(|row| row["packets"].as_str()?.parse::<u64>().ok())
        .sum()
}

/// Moves the right site to an address and restarts it without sessions and cookies; waits until it is connected.
fn moves_to(lab: &Lab, (left, right): (&Router, &Router), address: &str) {
    right.exec(&format!(
        "/ip/address/set [find interface=ether2] address={address}/24"
    ));
    right.exec("/interface/wireguard/disable wg");
    right.exec("/interface/wireguard/enable wg");
    until("the peer is there from its new address", || {
        works(lab, "two", "ping -q -c 1 -W 1 10.9.0.1")
            && peer(left, "current-endpoint-address") == address
    });
}

#[test]
fn a_peer_connects_during_floods_of_forged_handshakes_even_from_its_own_address() {
    let test = "a_peer_connects_during_floods_of_forged_handshakes_even_from_its_own_address";
    let programs = have(test, &["ping", "python3"]);
    let Some(lab) = programs.then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let (left, right) = (
        router(&lab, "left", &base(1, 2)),
        router(&lab, "right", &base(2, 1)),
    );
    meet(&left, 2, &public(&right), "");
    meet(&right, 1, &public(&left), &endpoint(1));
    let folder = Folder::new();
    let script = folder.file("flood.py");
    std::fs::write(&script, FLOOD).expect("a folder of our own");
    for source in ["any", "192.0.2.21"] {
        let before = dropped(&left);
        let line = format!("python3 {} {} {source}", script.display(), public(&left));
        let _flood = Server::start(&lab, "one", &line, "flooding");
        until("the flood is refused", || dropped(&left) > before + 10_000);
        let address = if source == "any" {
            "192.0.2.20"
        } else {
            source
        };
        moves_to(&lab, (&left, &right), address);
    }
}
