//! PPTP between two ferroutes: bindings, queues, and hostile senders.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use crate::carriers::{PPTP, encoding, no_drops, reaches};
use crate::ipsec::SITES;
use crate::world::{Folder, Server, have, lab, until};

#[test]
fn sessions_of_pptp_have_bindings_and_queues() {
    let test = "sessions_of_pptp_have_bindings_and_queues";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let settings = "/interface pptp-server add name=anna-in user=anna\n\
        /ppp profile set home rate-limit=10M/20M change-tcp-mss=yes use-encryption=required\n";
    let server = PPTP.serve(&lab, settings);
    let _client = PPTP.dial(&lab, "profile=default-encryption");
    until("a packet gets through", || reaches(&lab, "", "10.2.0.2"));
    assert_eq!(encoding(&server), "MPPE128 stateless");
    let row = &server.rows("/interface/pptp-server/print")[0];
    assert_eq!(
        (&row["name"], &row["running"]),
        (&"anna-in".into(), &"true".into())
    );
    let queues = server.rows("/queue/simple/print");
    assert_eq!(queues[0]["max-limit"], "10000000/20000000", "{queues:?}");
    assert_eq!(queues[0]["target"], "anna-in", "{queues:?}");
    let log = server.exec("/log/print without-paging");
    assert!(log.contains("its encryption is broken"), "{log}");
}

/// Sends GRE packets to call numbers, and garbage and messages to port 1723: `storm.py SERVER`.
const STORM: &str = r#"
import os, random, socket, struct, sys, time
server = sys.argv[1]
gre = socket.socket(socket.AF_INET, socket.SOCK_RAW, 47)
gre.connect((server, 0))
gre.setblocking(False)
def control(kind, body):
    return struct.pack(">HHIHH", 12 + len(body), 1, 0x1a2b3c4d, kind, 0) + body
def talk():
    with socket.create_connection((server, 1723), 1) as tcp:
        tcp.sendall(random.choice([
            b"GET / HTTP/1.1\r\n\r\n" + os.urandom(200),
            control(12, struct.pack(">HH", random.randrange(65536), 0)),
            control(99, b"\0" * 4),
            control(1, struct.pack(">HBB", 0x100, 0, 0) + b"\0" * 140) + control(7, b"\1" * 156) + control(7, b"\2" * 156),
            os.urandom(300),
        ]))
        tcp.settimeout(0.05)
        try:
            tcp.recv(1000)
        except OSError:
            pass
print("flooding", flush=True)
begin, sent, talked = time.monotonic(), 0, 0
while True:
    now = time.monotonic() - begin
    while sent < now * 2000:
        call = random.randrange(65536)
        packet = random.choice([
            struct.pack(">HHHHI", 0x3001, 0x880b, 8, call, 0) + b"\xff\x03\xc0\x21\x05\x01\x00\x04",
            struct.pack(">HHHHI", 0x3001, 0x880b, 24, call, 1) + b"\xff\x03\x00\x21" + os.urandom(20),
            struct.pack(">HHHH", 0x3001, 0x880b, 900, call) + os.urandom(8),
            struct.pack(">HHHHI", 0x2081, 0x880b, 0, call, 5),
        ])
        try:
            gre.send(packet)
        except OSError:
            pass
        sent += 1
    if talked < now * 20:
        talked += 1
        try:
            talk()
        except OSError:
            pass
    time.sleep(0.002)
"#;

#[test]
fn a_storm_of_forged_packets_and_garbage_ends_no_session_of_pptp() {
    let test = "a_storm_of_forged_packets_and_garbage_ends_no_session_of_pptp";
    let programs = ["ping", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = PPTP.serve(&lab, "");
    let client = PPTP.dial(&lab, "profile=default-encryption");
    let reaches = || reaches(&lab, "", "10.2.0.2");
    until("a packet gets through", reaches);
    let folder = Folder::new();
    std::fs::write(folder.file("storm.py"), STORM).expect("a folder of our own");
    let line = format!("python3 {} 10.2.0.1", folder.file("storm.py").display());
    let _storm = Server::start(&lab, "two", &line, "flooding");
    let drops = || server.exec("/tool/drop/print without-paging");
    let names = [
        "pptp-malformed",
        "pptp-unknown-call",
        "pptp-unknown-message",
        "pptp-state",
    ];
    until("refused messages are counted by name", || {
        let drops = drops();
        names.iter().all(|name| drops.contains(name))
    });
    assert!(reaches(), "{}", client.log());
    assert_eq!(server.rows("/ppp/active/print").len(), 1);
    no_drops(&client, &["pptp"]);
    PPTP.set_client(&client, "disabled=yes");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
    PPTP.set_client(&client, "disabled=no");
    until("a client connects during the storm", reaches);
}
