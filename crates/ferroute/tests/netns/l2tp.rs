//! L2TP between two ferroutes.
//!
//! ```text
//! one ── left (client) ── right (server) ── two
//! ```

use lab::Lab;

use crate::carriers;
use crate::ipsec::SITES;
use crate::pppoe::start;
use crate::world::{Folder, Server, have, lab, until};

/// Configuration of the server: pool, profile, secret.
pub(crate) const SERVER: &str = "/system identity set name=lns\n\
    /ip address add address=10.2.0.1/24 interface=ether1\n\
    /ip address add address=192.0.2.2/24 interface=ether2\n\
    /ip pool add name=users ranges=10.64.0.2-10.64.0.99\n\
    /ppp profile add name=home local-address=10.64.0.1 remote-address=users dns-server=10.64.0.53\n\
    /ppp secret add name=anna password=geheim profile=home service=l2tp\n\
    /interface l2tp-server server set enabled=yes default-profile=home\n";
/// Configuration of a client behind which a network is masqueraded.
pub(crate) const CLIENT: &str = "/ip address add address=10.1.0.1/24 interface=ether1\n\
    /ip address add address=192.0.2.1/24 interface=ether2\n\
    /interface l2tp-client add name=l2tp-out1 connect-to=192.0.2.2 user=anna password=geheim keepalive-timeout=2 \
    add-default-route=yes use-peer-dns=yes disabled=no\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=l2tp-out1\n";

fn reaches(lab: &Lab) -> bool {
    carriers::reaches(lab, "", "10.2.0.2")
}

#[test]
fn tunnels_have_secrets_and_sessions_have_bindings_and_queues() {
    let test = "tunnels_have_secrets_and_sessions_have_bindings_and_queues";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let settings = "/interface l2tp-server add name=anna-in user=anna\n\
        /ppp l2tp-secret add address=192.0.2.0/24 secret=tunnel\n\
        /ppp profile set home rate-limit=10M/20M change-tcp-mss=yes\n";
    let server = start(&lab, "right", &[SERVER, settings].concat(), None);
    let client = start(&lab, "left", CLIENT, None);
    let failures = || client.log().matches("tunnel authentication failed").count();
    until("the client is refused without the secret", || {
        failures() > 0
    });
    client.exec("/ppp/l2tp-secret/add secret=wrong");
    let before = failures();
    until("the client refuses a server with another secret", || {
        failures() > before
    });
    let drops = client.exec("/tool/drop/print without-paging");
    assert!(drops.contains("l2tp-authentication"), "{drops}");
    client.exec("/ppp/l2tp-secret/set [find] secret=tunnel");
    until("a packet gets through", || reaches(&lab));
    let row = &server.rows("/interface/l2tp-server/print")[0];
    assert_eq!(
        (&row["name"], &row["running"]),
        (&"anna-in".into(), &"true".into())
    );
    let queues = server.rows("/queue/simple/print");
    assert_eq!(queues[0]["max-limit"], "10000000/20000000", "{queues:?}");
    assert_eq!(queues[0]["target"], "anna-in", "{queues:?}");
    server.exec("/interface/l2tp-server/server/set max-sessions=1 one-session-per-host=yes");
    client.exec("/interface/l2tp-client/disable l2tp-out1");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
    client.exec("/interface/l2tp-client/set l2tp-out1 random-source-port=yes disabled=no");
    until("a packet gets through from another port", || reaches(&lab));
}

/// Sends 2,000 messages per second from random ports: requests for tunnels, truncated and hidden attributes, unknown
/// mandatory ones, data and control of unknown tunnels: `storm.py SERVER`.
const STORM: &str = r#"
import os, random, socket, struct, sys, time
sockets = []
for port in range(64):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("", 20000 + port))
    udp.connect((sys.argv[1], 1701))
    udp.setblocking(False)
    sockets.append(udp)
def avp(kind, value, bits=0x8000, vendor=0):
    return struct.pack(">HHH", bits | 6 + len(value), vendor, kind) + value
def control(tunnel, session, ns, nr, body):
    return struct.pack(">HHHHHH", 0xc802, 12 + len(body), tunnel, session, ns, nr) + body
def request(tunnel):
    return avp(0, b"\0\1") + avp(2, b"\1\0") + avp(7, b"storm") + avp(9, struct.pack(">H", tunnel))
def messages():
    tunnel = random.randrange(1, 0xffff)
    yield control(0, 0, 0, 0, request(tunnel))
    yield control(0, 0, 0, 0, request(tunnel) + avp(99, b"x"))
    yield control(0, 0, 0, 0, request(tunnel) + avp(11, os.urandom(16)))
    yield control(0, 0, 0, 0, request(tunnel)[:-1])
    yield control(0, 0, 0, 0, avp(0, b"\0\1") + avp(9, os.urandom(4), 0xc000))
    yield control(tunnel, 0, 1, 1, avp(0, b"\0\3"))
    yield control(tunnel, 0, 2, 2, avp(0, b"\0\4") + avp(9, b"\0\1") + avp(1, b"\0\1"))
    yield struct.pack(">HHH", 2, tunnel, 1) + b"\xff\x03\xc0\x21\x05\x01\x00\x04"
    yield struct.pack(">HH", 0xc803, 12)
    yield os.urandom(20)
print("flooding", flush=True)
begin, sent = time.monotonic(), 0
while True:
    while sent < (time.monotonic() - begin) * 2000:
        for message in messages():
            try:
                random.choice(sockets).send(message)
            except OSError:
                pass
            sent += 1
    time.sleep(0.002)
"#;

#[test]
fn a_storm_of_forged_messages_ends_no_session_and_is_counted_by_name() {
    let test = "a_storm_of_forged_messages_ends_no_session_and_is_counted_by_name";
    let programs = ["ping", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &SITES)).flatten() else {
        return;
    };
    let server = start(&lab, "right", SERVER, None);
    let client = start(&lab, "left", CLIENT, None);
    until("a packet gets through", || reaches(&lab));
    let folder = Folder::new();
    std::fs::write(folder.file("storm.py"), STORM).expect("a folder of our own");
    let line = format!("python3 {} 10.2.0.1", folder.file("storm.py").display());
    let _storm = Server::start(&lab, "two", &line, "flooding");
    let drops = || server.exec("/tool/drop/print without-paging");
    let names = [
        "l2tp-malformed",
        "l2tp-unknown-attribute",
        "l2tp-unknown-session",
        "l2tp-authentication",
    ];
    until("refused messages are counted by name", || {
        let drops = drops();
        names.iter().all(|name| drops.contains(name))
    });
    assert!(reaches(&lab), "{}", client.log());
    assert_eq!(server.rows("/ppp/active/print").len(), 1);
    client.exec("/interface/l2tp-client/disable l2tp-out1");
    until("the session ends", || {
        server.rows("/ppp/active/print").is_empty()
    });
    client.exec("/interface/l2tp-client/enable l2tp-out1");
    until("a client connects during the storm", || reaches(&lab));
}
