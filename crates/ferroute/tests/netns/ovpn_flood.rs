//! Floods and repeated packets on an OpenVPN port: honest clients connect meanwhile, and sessions go on.
//!
//! ```text
//! one ── left (server) ── right ── two
//! ```

use std::time::Instant;

use crate::ovpn::{dial, no_drops, ready, serve};
use crate::world::{Folder, Router, Server, have, run, until, works};

/// Sends 30,000 hard resets per second, each of another session: `flood.py SOURCE`. SOURCE is the source address, or
/// `any` for addresses of 100.64.0.0/16.
const FLOOD: &str = r#"
import os, random, socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
def packet():
    body = b"\x38" + os.urandom(8) + bytes(5)
    udp = struct.pack(">HHHH", random.randrange(1024, 65536), 1194, 8 + len(body), 0) + body
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    source = socket.inet_aton(sys.argv[1]) if sys.argv[1] != "any" else (
        bytes([100, 64, random.randrange(256), random.randrange(1, 255)]))
    return head + source + socket.inet_aton("10.1.0.1") + udp
packets = [packet() for _ in range(20000)]
print("flooding", flush=True)
begin, sent = time.monotonic(), 0
while True:
    due = (time.monotonic() - begin) * 30000
    while sent < due:
        try:
            raw.sendto(packets[sent % len(packets)], ("10.1.0.1", 0))
        except OSError:
            pass
        sent += 1
    time.sleep(0.001)
"#;

/// Sends each data packet to the server again that this host sends, once: `replay.py`.
const REPLAY: &str = r#"
import socket
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
packets.bind(("eth0", 0))
print("replaying", flush=True)
while True:
    frame, (_, _, kind, _, _) = packets.recvfrom(2048)
    is_ours = kind == 4 and frame[23] == 17 and frame[36:38] == b"\x04\xaa"
    if is_ours and frame[42] >> 3 == 9:
        packets.send(frame)
"#;

/// Returns the number of packets that were dropped for one of these reasons.
fn dropped(router: &Router, reasons: &[&str]) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let of_reasons = |row: &&serde_json::Value| {
        let reason = row["reason"].as_str();
        reason.is_some_and(|reason| reasons.contains(&reason))
    };
    let counts = rows.iter().filter(of_reasons);
    counts
        .filter_map(|row| row["packets"].as_str()?.parse::<u64>().ok())
        .sum()
}

#[test]
fn clients_connect_during_floods_of_hard_resets() {
    let test = "clients_connect_during_floods_of_hard_resets";
    if !have(test, &["python3"]) {
        return;
    }
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    let script = folder.file("flood.py");
    std::fs::write(&script, FLOOD).expect("a folder of our own");
    let received = || server.number("/interface/print stats", "ether1", "rx-packet");
    for source in ["any", "10.1.0.99"] {
        let line = format!("python3 {} {source}", script.display());
        let flood = Server::start(&lab, "one", &line, "flooding");
        let (begin, before) = (Instant::now(), received());
        until("the flood arrives", || received() > before + 100_000);
        let client = dial(&lab, &folder, &authority, "");
        assert!(works(&lab, "one", "ping -q -c 20 -i 0.02 -W 2 10.64.0.1"));
        let (count, seconds) = (received() - before, begin.elapsed().as_secs_f64());
        println!(
            "{test}: {source}: {:.0} hard resets/s",
            count as f64 / seconds
        );
        // No session stands for a hard reset.
        assert_eq!(server.rows("/ppp/active/print").len(), 1);
        assert_eq!(dropped(&server, &["ovpn-session-limit"]), 0);
        drop((client, flood));
        server.exec("/ppp/active/remove [find]");
        until("the session ends", || {
            server.rows("/ppp/active/print").is_empty()
        });
    }
}

#[test]
fn repeated_data_packets_are_dropped_under_their_name() {
    let test = "repeated_data_packets_are_dropped_under_their_name";
    if !have(test, &["python3"]) {
        return;
    }
    let Some(lab) = ready(test) else { return };
    let folder = Folder::new();
    let (server, authority) = serve(&lab, &folder, "");
    let client = dial(&lab, &folder, &authority, "");
    assert!(works(&lab, "one", "ping -q -c 20 -i 0.02 -W 2 10.64.0.1"));
    no_drops(&server);
    let script = folder.file("replay.py");
    std::fs::write(&script, REPLAY).expect("a folder of our own");
    let line = format!("python3 {}", script.display());
    let _replay = Server::start(&lab, "one", &line, "replaying");
    let ping = run(&lab, "one", "ping -q -c 100 -i 0.01 -W 2 10.64.0.1");
    assert!(
        ping.contains(" 0% packet loss") && !ping.contains("duplicates"),
        "{ping}"
    );
    until("the copies are dropped", || {
        dropped(&server, &["ovpn-replayed"]) >= 100
    });
    drop(client);
}
