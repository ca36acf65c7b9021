//! Tests floods on the IKE port: honest peers connect meanwhile.

use crate::ipsec::{Swan, reaches, router, with_swan};
use crate::world::{Folder, Server, until};

/// Sends initial IKEv2 messages or random bytes from addresses of 10.1.0.0/16, at four times the rate that a service
/// accepts from strangers: `flood.py KIND`.
const FLOOD: &str = r#"
import os, random, socket, struct, sys, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
nonce = struct.pack(">BBH", 0, 0, 36) + os.urandom(32)
def packet(source, kind):
    if kind == "junk":
        body = os.urandom(120)
    else:
        spi = os.urandom(8)
        body = spi + bytes(8) + bytes([40, 0x20, 34, 8]) + bytes(4) + struct.pack(">I", 28 + len(nonce)) + nonce
    udp = struct.pack(">HHHH", 500, 500, 8 + len(body), 0) + body
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    return head + socket.inet_aton(source) + socket.inet_aton("10.1.0.1") + udp
def source():
    return "10.1.%d.%d" % (random.randrange(1, 255), random.randrange(1, 255))
packets = [packet(source() if sys.argv[1] != "one" else "10.1.0.2", sys.argv[1]) for _ in range(20000)]
print("flooding", flush=True)
begin, sent = time.monotonic(), 0
while True:
    while sent < (time.monotonic() - begin) * 8000:
        try:
            raw.sendto(packets[sent % len(packets)], ("10.1.0.1", 0))
        except OSError:
            pass
        sent += 1
    time.sleep(0.005)
"#;

#[test]
fn road_warriors_connect_during_floods_of_initial_messages_and_junk() {
    let test = "road_warriors_connect_during_floods_of_initial_messages_and_junk";
    let Some(lab) = with_swan(test) else { return };
    let config = "/ip address add address=10.1.0.1/16 interface=ether1\n\
                  /ip address add address=192.0.2.1/24 interface=ether2\n\
                  /ip route add dst-address=10.2.0.0/24 gateway=192.0.2.2\n\
                  /ip ipsec peer add name=any address=0.0.0.0/0 passive=yes exchange-mode=ike2\n\
                  /ip ipsec identity add peer=any secret=\"correct horse\" generate-policy=port-strict\n";
    let left = router(&lab, "left", config);
    let folder = Folder::new();
    std::fs::write(folder.file("flood.py"), FLOOD).expect("a folder of our own");
    let traveller = "connections {\n far {\n version = 2\n local_addrs = 192.0.2.2\n remote_addrs = 192.0.2.1\n \
         encap = yes\n proposals = aes128-sha1-modp2048\n local {\n auth = psk\n id = traveller\n }\n \
         remote {\n auth = psk\n }\n children {\n net {\n local_ts = 10.2.0.0/24\n \
         remote_ts = 10.1.0.0/16\n esp_proposals = aes256-sha1-modp1024\n }\n }\n }\n}\n\
         secrets {\n ike-far {\n secret = \"correct horse\"\n }\n}\n";
    let swan = Swan::start(&lab, traveller);
    for kind in ["spoofed", "one", "junk"] {
        let script = folder.file("flood.py");
        let line = format!("python3 {} {kind}", script.display());
        let flood = Server::start(&lab, "one", &line, "flooding");
        until("the flood is refused", || {
            let drops = left.rows("/tool/drop/print");
            drops.iter().any(|row| {
                let reason = row["reason"].as_str().unwrap_or_default();
                let packets = row["packets"]
                    .as_str()
                    .and_then(|count| count.parse::<u64>().ok());
                [
                    "ike-malformed",
                    "service-stranger-limit",
                    "service-sender-limit",
                ]
                .contains(&reason)
                    && packets.is_some_and(|packets| packets > 2_000)
            })
        });
        for _ in 0..3 {
            until("the traveller gets in", || {
                swan.tells(&lab, "--initiate --child net --timeout 4")
            });
            until("new keys are made", || {
                swan.tells(&lab, "--rekey --ike far")
            });
            // A command that gives up may have its effect later.
            until("it ends", || {
                swan.tells(&lab, "--terminate --ike far --timeout 4")
                    || !swan.says(&lab, "--list-sas").contains("far")
            });
        }
        drop(flood);
    }
    until("the traveller gets in", || {
        swan.tells(&lab, "--initiate --child net --timeout 4")
    });
    until("a packet gets through", || reaches(&lab, ""));
}
