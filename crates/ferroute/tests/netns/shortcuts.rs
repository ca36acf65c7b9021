//! Tests XDP shortcuts: packets that the kernel forwards are counted like others, and a shortcut ends when its
//! conditions change.

use lab::Lab;

use crate::world::{
    Router, Server, Start, XDP_GENERIC, driver_works, have, lab, layout, run, until, works,
};

const SERVERS: [(&str, &str, &str); 2] = [
    ("203.0.113.1", "ip", "ipv4"),
    ("2001:db8:1::1", "ipv6", "ipv6"),
];

/// Returns the number of packets that the kernel forwarded, and of all packets on the fast path.
fn by_itself(router: &Router, menu: &str, family: &str) -> [u64; 2] {
    ["xdp-packets", "packets"].map(|what| {
        let property = format!("{family}-fast-path-{what}");
        router.number(&format!("/{menu}/settings/print"), "", &property)
    })
}

fn ping(lab: &Lab, address: &str) {
    run(
        lab,
        "client",
        &format!("ping -q -c 20 -i 0.002 -W 10 {address}"),
    );
}

fn is_silent(lab: &Lab, address: &str) -> bool {
    !works(
        lab,
        "client",
        &format!("ping -q -c 3 -i 0.01 -W 1 {address}"),
    )
}

fn test(name: &str, body: impl Fn(&Lab, &Router, (&str, &str, &str))) {
    let Some(lab) = have(name, &["ping", "python3"])
        .then(|| lab(name, layout("plain")))
        .flatten()
    else {
        return;
    };
    if !driver_works(name, &lab, XDP_GENERIC) {
        return;
    }
    let router = Router::start(&lab, &Start::with(XDP_GENERIC, layout("plain").config));
    for server in SERVERS {
        // Resolves the neighbours. An IPv6 address is usable only some time after its link came up.
        until("the server answers", || !is_silent(&lab, server.0));
        body(&lab, &router, server);
    }
}

#[test]
fn packets_that_the_kernel_forwards_are_counted() {
    let name = "packets_that_the_kernel_forwards_are_counted";
    test(name, |lab, router, (address, menu, family)| {
        let ports = || {
            ["ether1", "ether2"].map(|port| {
                ["rx-packet", "tx-packet", "fp-rx-packet", "fp-tx-packet"]
                    .map(|counter| router.number("/interface/print stats-detail", port, counter))
            })
        };
        let (before, [xdp, fast]) = (ports(), by_itself(router, menu, family));

        run(
            lab,
            "client",
            &format!("ping -q -c 1000 -i 0.001 -W 10 {address}"),
        );

        let [more_xdp, more_fast] = by_itself(router, menu, family);
        // Neighbour confirmations and advertisements may send a few packets through the worker.
        assert!(
            (1900..=2000).contains(&(more_xdp - xdp)),
            "{}",
            more_xdp - xdp
        );
        assert_eq!(more_fast - fast, 2000);
        for (before, after) in before.iter().zip(ports()) {
            for (before, after) in before.iter().zip(after) {
                assert!((1000..1100).contains(&(after - before)), "{before} {after}");
            }
        }
    });
}

#[test]
fn the_kernel_forwards_no_packets_that_the_router_would_drop() {
    let name = "the_kernel_forwards_no_packets_that_the_router_would_drop";
    test(name, |lab, router, (address, menu, family)| {
        let length = if family == "ipv4" { 32 } else { 128 };
        let changes = [
            (
                format!("/{menu}/firewall/filter/add chain=forward action=drop"),
                format!("/{menu}/firewall/filter/remove [find]"),
            ),
            (
                format!("/{menu}/route/add dst-address={address}/{length} blackhole"),
                format!("/{menu}/route/remove [find blackhole]"),
            ),
            (
                String::from("/interface/disable ether1"),
                String::from("/interface/enable ether1"),
            ),
        ];
        for (breaks, mends) in changes {
            let [before, _] = by_itself(router, menu, family);
            ping(lab, address);
            assert!(by_itself(router, menu, family)[0] > before);

            router.exec(&breaks);

            assert!(is_silent(lab, address), "{breaks}");
            router.exec(&mends);
            until("the way is there again", || !is_silent(lab, address));
        }
    });
}

#[test]
fn without_fast_path_the_kernel_forwards_no_packets() {
    let name = "without_fast_path_the_kernel_forwards_no_packets";
    test(name, |lab, router, (address, menu, family)| {
        router.exec(&format!("/{menu}/settings/set allow-fast-path=no"));
        let before = by_itself(router, menu, family);

        ping(lab, address);

        assert_eq!(by_itself(router, menu, family), before);
        router.exec(&format!("/{menu}/settings/set allow-fast-path=yes"));
        ping(lab, address);
        assert!(by_itself(router, menu, family)[0] > before[0]);
    });
}

/// An echo server at port 7 of UDP and TCP.
const ECHO: &str = r#"
import socket, threading
def at(kind):
    s = socket.socket(socket.AF_INET6, kind)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("::", 7))
    return s
def stream(c):
    while data := c.recv(65536):
        c.sendall(data)
    c.close()
def streams(s):
    s.listen()
    while True:
        threading.Thread(target=stream, args=(s.accept()[0],)).start()
udp, tcp = at(socket.SOCK_DGRAM), at(socket.SOCK_STREAM)
threading.Thread(target=streams, args=(tcp,)).start()
print("ready", flush=True)
while True:
    data, peer = udp.recvfrom(65536)
    udp.sendto(data, peer)
"#;

/// Sends a number of datagrams of all lengths, each after the answer to the previous one.
const DATAGRAMS: &str = r#"
import socket, sys
address, count = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(10)
s.bind(("", 4000))
s.connect((address, 7))
for number in range(count):
    data = number.to_bytes(4, "big") + bytes(number % 1000)
    s.send(data)
    assert s.recv(65536) == data, number
"#;

/// Sends a megabyte, and reads it back.
const STREAM: &str = r#"
import socket, sys, threading
s = socket.create_connection((sys.argv[1], 7), 10)
data = bytes(number * number % 251 for number in range(1 << 20))
threading.Thread(target=s.sendall, args=(data,)).start()
came = b""
while len(came) < len(data):
    part = s.recv(65536)
    assert part
    came += part
assert came == data
"#;

fn echo(lab: &Lab) -> Server {
    let mut command = lab
        .command("server", "python3")
        .expect("a host of the layout");
    command.args(["-c", ECHO]);
    Server::begin(command, "ready")
}

/// Runs a script on the client. Returns true on success.
fn talks(lab: &Lab, script: &str, words: &[&str]) -> bool {
    let mut command = lab
        .command("client", "python3")
        .expect("a host of the layout");
    let output = command.args(["-c", script]).args(words).output();
    output.expect("python3 is there").status.success()
}

/// Returns the number of packets that the rule with this comment has counted.
fn hits(router: &Router, menu: &str, comment: &str) -> u64 {
    let print = format!("/{menu}/firewall/filter/print where comment={comment}");
    router.number(&print, "", "packets")
}

fn counted(router: &Router, menu: &str, property: &str) -> [u64; 2] {
    let print = format!("/{menu}/firewall/connection/print where dst-port=7");
    ["orig", "repl"].map(|way| router.number(&print, "", &format!("{way}-{property}")))
}

#[test]
fn the_kernel_forwards_datagrams_of_accepted_connections() {
    let name = "the_kernel_forwards_datagrams_of_accepted_connections";
    test(name, |lab, router, (address, menu, family)| {
        let by_itself = || {
            let property = format!("{family}-firewall-xdp-packets");
            router.number(&format!("/{menu}/settings/print"), "", &property)
        };
        let _echo = echo(lab);
        for (rule, action) in [
            ("connection-state=established comment=known", "accept"),
            ("comment=new", "accept"),
        ] {
            let add = format!("/{menu}/firewall/filter/add chain=forward action={action} {rule}");
            router.exec(&add);
        }
        router.exec(&format!(
            "/{menu}/firewall/nat/add chain=srcnat out-interface=ether2 action=masquerade"
        ));

        assert!(talks(lab, DATAGRAMS, &[address, "1000"]));

        // Neighbour confirmations may send a few packets through the worker.
        let went = by_itself();
        assert!((1900..2000).contains(&went), "{went}");
        assert_eq!(counted(router, menu, "packets"), [1000, 1000]);
        let lengths: u64 = (0..1000).map(|number| number % 1000 + 4).sum();
        let header = if family == "ipv4" { 28 } else { 48 };
        assert_eq!(counted(router, menu, "bytes"), [lengths + 1000 * header; 2]);
        assert_eq!(
            hits(router, menu, "new") + hits(router, menu, "known"),
            2000
        );
        let print = format!("/{menu}/firewall/connection/print where dst-port=7");
        assert_eq!(router.value(&print, "", "hw-offload"), "true");

        // After its connection was removed, the flow gets a new connection.
        router.exec(&format!(
            "/{menu}/firewall/connection/remove [find dst-port=7]"
        ));
        assert!(talks(lab, DATAGRAMS, &[address, "10"]));
        assert_eq!(counted(router, menu, "packets"), [10, 10]);

        // A new rule that drops the flow ends the shortcut.
        router.exec(&format!(
            "/{menu}/firewall/filter/add chain=forward action=drop protocol=udp place-before=0"
        ));
        let before = by_itself();
        assert!(!talks(lab, DATAGRAMS, &[address, "1"]));
        assert_eq!(by_itself(), before);
        for table in ["filter", "nat"] {
            router.exec(&format!(
                "/{menu}/firewall/{table}/remove [find dynamic=no]"
            ));
        }
    });
}

#[test]
fn the_kernel_forwards_fasttracked_connections() {
    let name = "the_kernel_forwards_fasttracked_connections";
    test(name, |lab, router, (address, menu, family)| {
        let by_itself = || {
            ["xdp-packets", "packets"].map(|what| {
                let property = format!("{family}-fasttrack-{what}");
                router.number(&format!("/{menu}/settings/print"), "", &property)
            })
        };
        let _echo = echo(lab);
        router.exec(&format!(
            "/{menu}/firewall/filter/add chain=forward action=fasttrack-connection connection-state=established"
        ));
        router.exec(&format!(
            "/{menu}/firewall/nat/add chain=srcnat out-interface=ether2 action=masquerade"
        ));

        assert!(talks(lab, STREAM, &[address]));

        let [xdp, all] = by_itself();
        assert!(xdp > 500 && all > xdp, "{xdp} of {all}");
        let packets: u64 = counted(router, menu, "fasttrack-packets").iter().sum();
        assert_eq!(packets, all);
        let bytes = counted(router, menu, "bytes");
        assert!(bytes.iter().all(|bytes| *bytes > 1 << 20), "{bytes:?}");
        for table in ["filter", "nat"] {
            router.exec(&format!(
                "/{menu}/firewall/{table}/remove [find dynamic=no]"
            ));
        }
        router.exec(&format!("/{menu}/firewall/connection/remove [find]"));
    });
}
