//! Tests neighbour discovery with third-party implementations: lldpd, which implements LLDP and CDP, and MNDP messages
//! as RouterOS sends them.

use lab::{End, Host, Lab, Layout, Link, Offloads};
use serde_json::Value;

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, shell, until, works};

/// Layout with a neighbour at `ether1`.
const LAYOUT: Layout = Layout {
    name: "discovery",
    summary: "a neighbour at a port of the router",
    hosts: &[
        Host {
            name: "router",
            forwards: false,
            loopback: &[],
            routes: &[],
        },
        Host {
            name: "near",
            forwards: false,
            loopback: &[],
            routes: &[],
        },
    ],
    links: &[Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: "ether1",
                addresses: &[],
            },
            End {
                host: "near",
                device: "eth0",
                addresses: &["192.0.2.2/24"],
            },
        ],
    }],
    config: "",
};

const PLAIN: &str = "/system identity set name=gate
/ip neighbor discovery-settings set discover-interval=5s
/ip address add address=192.0.2.1/24 interface=ether1
";
/// The discovery interface list contains the bridge, as on a home router.
const BRIDGED: &str = "/system identity set name=gate
/interface list add name=LAN
/interface bridge add name=bridge protocol-mode=none
/interface bridge port add bridge=bridge interface=ether1
/interface list member add interface=bridge list=LAN
/ip neighbor discovery-settings set discover-interval=5s discover-interface-list=LAN
/ip address add address=192.0.2.1/24 interface=bridge
";

/// An MNDP message of RouterOS 7.18.2, and the request for such a message.
const MNDP: &str = r#"
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'eth0')
s.bind(('', 5678))
s.settimeout(5)
to = ('255.255.255.255', 5678)
t = lambda kind, value: bytes([0, kind, 0, len(value)]) + value
told = bytes([8, 0, 0, 0]) + t(5, b'far') + t(7, b'7.18.2 (stable) 2025-03-11 11:59:04')
told += t(8, b'MikroTik') + t(10, bytes([0x6b, 1, 0, 0])) + t(11, b'HyItztQuxqG') + t(12, b'CHR')
told += t(14, b'\1') + t(16, b'bridge/ether7') + t(17, bytes([192, 0, 2, 2]))
s.sendto(told, to)
s.sendto(bytes(4), to)
while True:
    said, (address, port) = s.recvfrom(2000)
    if len(said) > 4 and said != told:
        print(address, port, said.hex())
        break
"#;

/// lldpd with its own control socket; it sends every second.
struct Lldpd {
    socket: String,
    _daemon: Server,
    _folder: Folder,
}

impl Lldpd {
    fn start(lab: &Lab) -> Self {
        let folder = Folder::new();
        let path = |name: &str| folder.file(name).display().to_string();
        let (socket, settings) = (path("lldpd.sock"), path("lldpd.conf"));
        let text = "configure lldp tx-interval 1\n\
                    configure system hostname switch\n";
        std::fs::write(folder.file("lldpd.conf"), text).expect("a folder of our own");
        std::fs::create_dir_all("/run/lldpd").expect("lldpd needs it, and so does this test");
        let line = format!("exec lldpd -d -c -H 0 -I eth0 -u {socket} -O {settings} 2>&1");
        let argv = ["sh", "-c", &line].map(str::to_owned);
        let command = lab.command_line("near", &argv);
        let daemon = Server::begin(command.expect("a host of the layout"), "resume operations");
        Self {
            socket,
            _daemon: daemon,
            _folder: folder,
        }
    }

    /// Returns lldpd's neighbours: protocol, system name, port and port description of each.
    fn neighbours(&self, lab: &Lab) -> Vec<[String; 4]> {
        let line = format!("lldpcli -u {} -f json0 show neighbors", self.socket);
        let said: Value = serde_json::from_str(&run(lab, "near", &line)).expect("JSON");
        let all = said["lldp"][0]["interface"].as_array().cloned();
        let text = |value: &Value| value[0]["value"].as_str().unwrap_or_default().to_owned();
        let one = |one: &Value| {
            let (chassis, port) = (&one["chassis"][0], &one["port"][0]);
            let via = one["via"].as_str().unwrap_or_default().to_owned();
            [
                via,
                text(&chassis["name"]),
                text(&port["id"]),
                text(&port["descr"]),
            ]
        };
        all.unwrap_or_default().iter().map(one).collect()
    }
}

/// Tests that a router and lldpd find each other, and MNDP in both directions. The router receives on `interface`, and
/// shows the neighbour on `path`.
fn find_each_other(test: &str, config: &str, interface: &str, path: &str) {
    let programs = ["lldpd", "lldpcli", "python3"];
    let Some(lab) = have(test, &programs).then(|| lab(test, &LAYOUT)).flatten() else {
        return;
    };
    if lab.holding() != lab::Holding::Named {
        return lab::testing::skip(test, "lldpd needs root");
    }
    let lldpd = Lldpd::start(&lab);
    let start = Start {
        ports: vec![format!("ether1={PACKET}:ether1")],
        ..Start::with(PACKET, config)
    };
    let router = Router::start(&lab, &start);

    until("lldpd hears the router by both protocols", || {
        let heard = lldpd.neighbours(&lab);
        let has = |via: &str, port: &str, description: &str| {
            let one = [via, "gate", port, description].map(str::to_owned);
            heard.contains(&one)
        };
        has("LLDP", "ether1", path) && has("CDPv1", path, path)
    });
    let row = || {
        let rows = router.rows("/ip/neighbor/print");
        let mut own = rows.into_iter();
        own.find(|row| row["interface"] == interface)
    };
    until("the router hears lldpd by both protocols", || {
        row().is_some_and(|row| row["discovered-by"] == "cdp,lldp")
    });
    let heard = row().expect("it was there");
    assert_eq!(heard["identity"], "switch", "{heard:#}");
    let own = run(&lab, "near", "ip -br link show dev eth0");
    let mac = own.split_whitespace().nth(2).expect("a link address");
    let mac = mac.to_uppercase();
    assert_eq!(heard["mac-address"], mac.as_str(), "{heard:#}");
    let lldp = router.rows("/ip/neighbor/lldp/print");
    assert_eq!(lldp[0]["lldp-port-id"], mac.as_str(), "{lldp:#?}");
    assert_eq!(lldp[0]["lldp-port-id-subtype"], "mac-address", "{lldp:#?}");

    mndp_goes_both_ways(&lab, row, path);

    // With discovery switched off, the router sends nothing and forgets its neighbours.
    router.exec("/ip/neighbor/discovery-settings/set discover-interface-list=none");
    assert_eq!(router.exec("/ip/neighbor/print count-only").trim(), "0");
    until("lldpd has heard that it is over", || {
        lldpd.neighbours(&lab).is_empty()
    });
    assert!(works(&lab, "near", "ping -q -c 1 -W 5 192.0.2.1"));
    assert!(router.stop().success());
}

/// Tests that the router stores RouterOS's MNDP message, and answers an MNDP request.
fn mndp_goes_both_ways(lab: &Lab, row: impl Fn() -> Option<Value>, path: &str) {
    let said = shell(lab, "near", &format!("python3 - <<'END'\n{MNDP}\nEND"));
    let words: Vec<_> = said.split_whitespace().collect();
    assert_eq!(words[..2], ["192.0.2.1", "5678"], "{said}");
    let hex = |text: &str| {
        text.bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    for text in ["gate", path] {
        assert!(words[2].contains(&hex(text)), "{text} in {said}");
    }
    until("the router hears RouterOS", || {
        row().is_some_and(|row| row["discovered-by"] == "cdp,lldp,mndp")
    });
    let heard = row().expect("it was there");
    for (name, value) in [
        ("identity", "far"),
        ("address", "192.0.2.2"),
        ("version", "7.18.2 (stable) 2025-03-11 11:59:04"),
        ("board", "CHR"),
        ("interface-name", "bridge/ether7"),
        ("software-id", "HyItztQuxqG"),
        ("unpack", "none"),
    ] {
        assert_eq!(heard[name], value, "{heard:#}");
    }
}

#[test]
fn the_router_and_foreign_neighbours_discover_each_other() {
    let test = "the_router_and_foreign_neighbours_discover_each_other";
    find_each_other(test, PLAIN, "ether1", "ether1");
}

#[test]
fn the_router_and_neighbours_at_a_bridge_port_discover_each_other() {
    let test = "the_router_and_neighbours_at_a_bridge_port_discover_each_other";
    find_each_other(test, BRIDGED, "ether1,bridge", "bridge/ether1");
}
