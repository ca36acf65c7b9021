//! Floods of PPPoE discovery, and storms of forged PPP control packets: honest clients connect meanwhile, forwarding
//! goes on, and refused packets are counted by name.
//!
//! ```text
//! one ── left (ten clients; floods) ── right (server) ── two
//! ```

use lab::{Holding, Lab};

use crate::ipsec::SITES;
use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, until, works};

const FLOOD: &str = include_str!("../../../lab/configs/flood.py");

/// Sends 2,000 packets per second with the number of a session that another MAC address has, or with any number: PADT,
/// LCP Terminate-Request and Configure-Request, and discovery with malformed tags: `storm.py DEVICE SERVER`.
const STORM: &str = r#"
import os, random, socket, struct, sys, time
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((sys.argv[1], 0))
server = bytes.fromhex(sys.argv[2].replace(":", ""))
def frame(kind, code, session, payload, length=None):
    source = b"\x02\x00\x00\x00\x77" + os.urandom(1)
    header = struct.pack(">BBHH", 0x11, code, session, len(payload) if length is None else length)
    return server + source + struct.pack(">H", kind) + header + payload
def lcp(code):
    return struct.pack(">HBBH", 0xc021, code, 1, 4)
def frames():
    for session in [random.randrange(1, 0xffff) for _ in range(200)] + [0, 0xffff]:
        yield frame(0x8863, 0xa7, session, b"")
        yield frame(0x8864, 0, session, lcp(5))
        yield frame(0x8864, 0, session, lcp(1))
    yield frame(0x8863, 0x09, 0, struct.pack(">HH", 0x0101, 9) + b"x")
    yield frame(0x8863, 0x19, 0, struct.pack(">HH", 0x0103, 400) + bytes(400))
    yield frame(0x8863, 0x09, 0, b"", 0xffff)
    yield frame(0x8864, 0, 0xffff, lcp(9), 1400)
all_frames = list(frames())
print("flooding", flush=True)
begin, sent = time.monotonic(), 0
while True:
    while sent < (time.monotonic() - begin) * 2000:
        raw.send(all_frames[sent % len(all_frames)])
        sent += 1
    time.sleep(0.002)
"#;

const CLIENTS: u8 = 10;

fn server(lab: &Lab) -> Router {
    let mut config = "/ip address add address=10.2.0.1/24 interface=ether1\n\
        /ip pool add name=subscribers ranges=10.64.0.2-10.64.0.99\n\
        /ppp profile add name=home local-address=10.64.0.1 remote-address=subscribers\n\
        /interface pppoe-server server add service-name=isp interface=ether2 default-profile=home disabled=no\n"
        .to_owned();
    for client in 0..CLIENTS {
        config += &format!("/ppp secret add name=u{client} password=p profile=home\n");
    }
    start(lab, "right", &config)
}

/// Starts a router with ten clients on one interface. The first one has the default route.
fn clients(lab: &Lab) -> Router {
    let mut config = "/ip address add address=10.1.0.1/24 interface=ether1\n".to_owned();
    for client in 0..CLIENTS {
        let route = if client == 0 { "yes" } else { "no" };
        config += &format!(
            "/interface pppoe-client add name=pppoe{client} interface=ether2 user=u{client} password=p \
             add-default-route={route} disabled=no\n"
        );
    }
    config += "/ip firewall nat add chain=srcnat action=masquerade out-interface=pppoe0\n";
    start(lab, "left", &config)
}

fn start(lab: &Lab, host: &str, config: &str) -> Router {
    Router::start(
        lab,
        &Start {
            host,
            ..Start::with(PACKET, config)
        },
    )
}

/// Returns the MAC address of the server.
fn mac(server: &Router) -> String {
    server.value("/interface/ethernet/print", "ether2", "mac-address")
}

fn flood(lab: &Lab, folder: &Folder, script: &str, arguments: &str) -> Server {
    let file = folder.file("flood.py");
    std::fs::write(&file, script).expect("a folder of our own");
    let line = format!("python3 {} ether2 {arguments}", file.display());
    Server::start(lab, "left", &line, "flooding")
}

fn drops(router: &Router, reason: &str) -> u64 {
    let rows = router.rows("/tool/drop/print");
    let row = rows.iter().find(|row| row["reason"] == reason);
    let packets = row.and_then(|row| row["packets"].as_str()?.parse().ok());
    packets.unwrap_or(0)
}

fn connected(server: &Router) -> usize {
    server.rows("/ppp/active/print").len()
}

fn reaches(lab: &Lab) -> bool {
    works(lab, "one", "ping -q -c 1 -W 1 10.2.0.2")
}

/// Returns the lab, if this machine can run it.
fn flooded(test: &str) -> Option<Lab> {
    let lab = have(test, &["ping", "python3"]).then(|| lab(test, &SITES))??;
    if lab.holding() != Holding::Named {
        lab::testing::skip(test, "the flooder's raw socket needs root");
        return None;
    }
    Some(lab)
}

#[test]
fn ten_clients_connect_during_floods_of_one_and_of_forged_senders() {
    let Some(lab) = flooded("ten_clients_connect_during_floods_of_one_and_of_forged_senders")
    else {
        return;
    };
    let server = server(&lab);
    let to = mac(&server);
    let folder = Folder::new();
    let floods = [
        ("10000".to_owned(), "service-sender-limit"),
        (format!("20000 {to}"), "pppoe-cookie"),
    ];
    for (arguments, reason) in floods {
        let flooding = flood(&lab, &folder, FLOOD, &arguments);
        until("the flood is counted", || drops(&server, reason) > 500);
        let clients = clients(&lab);
        until("all clients are connected", || {
            connected(&server) == usize::from(CLIENTS)
        });
        until("a packet gets through", || reaches(&lab));
        drop(flooding);
        clients.exec("/interface/pppoe-client/disable [find]");
        until("the sessions end", || connected(&server) == 0);
    }
}

#[test]
fn forged_terminations_and_malformed_packets_end_no_session() {
    let Some(lab) = flooded("forged_terminations_and_malformed_packets_end_no_session") else {
        return;
    };
    let server = server(&lab);
    let to = mac(&server);
    let _clients = clients(&lab);
    until("all clients are connected", || {
        connected(&server) == usize::from(CLIENTS)
    });
    let ids = |server: &Router| {
        let rows = server.rows("/ppp/active/print");
        let ids = rows.iter().map(|row| row["session-id"].to_string());
        ids.collect::<Vec<_>>()
    };
    let before = ids(&server);
    let folder = Folder::new();
    let _storm = flood(&lab, &folder, STORM, &to);
    for (reason, least) in [
        ("pppoe-session", 5000),
        ("pppoe-tag", 1),
        ("pppoe-length", 1),
    ] {
        until(reason, || drops(&server, reason) > least);
    }
    until("a packet gets through", || reaches(&lab));
    assert_eq!(ids(&server), before, "the sessions are the same");
}
