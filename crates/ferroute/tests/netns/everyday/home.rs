//! Checks of the household's networks: LAN, guests, provider.

use std::thread;

use super::{Everyday, INTERNET6, LONG};
use crate::world::{Server, binary, shell, until};

const FILTER: &str = "/ip/firewall/filter";
/// A server on the internet.
const SERVER: &str = "198.51.100.80";

/// Returns true if all command lines fail in a host. They run in parallel, since each waits for its own timeout.
fn all_fail(everyday: &Everyday, host: &str, lines: &[String]) -> bool {
    thread::scope(|scope| {
        let mut running = Vec::new();
        for line in lines {
            running.push(scope.spawn(move || everyday.works(host, line)));
        }
        let results = running
            .into_iter()
            .map(|one| one.join().expect("it is run"));
        results.filter(|works| *works).count() == 0
    })
}

/// Downloads the long page completely, or fails.
fn fetch_long(everyday: &Everyday, host: &str, server: &str) {
    let line = format!("curl -sS -g -m 30 -o /dev/null -w %{{size_download}} http://{server}/long");
    assert_eq!(
        everyday.run(host, &line),
        LONG.to_string(),
        "{host}: {server}"
    );
}

pub(super) fn lan_surfs_by_fasttrack(everyday: &Everyday) {
    let router = everyday.router();
    let fasttracked = || router.number("/ip/settings/print", "", "ipv4-fasttrack-packets");
    let masqueraded = || everyday.hits("/ip/firewall/nat", "defconf: masquerade");
    let (packets, connections) = (fasttracked(), masqueraded());

    for host in ["client", "laptop"] {
        fetch_long(everyday, host, SERVER);
    }

    assert!(
        fasttracked() > packets + 500,
        "{} FastTracked",
        fasttracked()
    );
    assert!(masqueraded() > connections);
}

/// A client of a TCP bandwidth test without authentication: receives four megabytes of zeros from the server.
const RECEIVE: &str = r#"
import socket, sys
s = socket.create_connection((sys.argv[1], 2000), 10)
assert s.recv(4, socket.MSG_WAITALL) == bytes([1, 0, 0, 0])
s.sendall(bytes([1, 2, 1, 0, 0, 0x80]) + bytes(10))
assert s.recv(4, socket.MSG_WAITALL) == bytes([1, 0, 0, 0])
left = 4 << 20
while left > 0:
    left -= len(s.recv(65536))
print("received")
"#;

pub(super) fn lan_and_router_test_the_bandwidth_to_the_far_router(everyday: &Everyday) {
    const FAR: &str = "192.0.2.2";
    let router = everyday.router();
    let fasttracked = || router.number("/ip/settings/print", "", "ipv4-fasttrack-packets");
    everyday
        .far
        .exec("/tool/bandwidth-server/set authenticate=no");
    let before = fasttracked();

    let line = format!("python3 - {FAR} <<'END'\n{RECEIVE}\nEND");
    let said = shell(&everyday.lab, "laptop", &line);
    assert_eq!(said.trim(), "received");
    assert!(
        fasttracked() > before + 500,
        "{} FastTracked",
        fasttracked()
    );

    for protocol in ["tcp", "udp"] {
        let page = router.exec(&format!(
            "/tool/bandwidth-test address={FAR} protocol={protocol} direction=both duration=2s once \
             local-tx-speed=5M remote-tx-speed=5M connection-count=2"
        ));
        assert!(page.contains("status: done testing"), "{page}");
        assert!(!page.contains("total-average: 0bps"), "{page}");
    }
    everyday
        .far
        .exec("/tool/bandwidth-server/set authenticate=yes");
}

pub(super) fn lan_uses_the_delegated_prefix(everyday: &Everyday) {
    let shown = everyday.run("client", "ip -6 -o address show dev eth0 scope global");
    assert!(shown.contains("2001:2:0:1"), "{shown}");
    fetch_long(everyday, "client", &format!("[{INTERNET6}]"));
    let used = everyday.router().rows("/ipv6/pool/used/print");
    assert_eq!(used.len(), 2, "LAN and guests: {used:#?}");
}

/// Solicits routers and prints the name servers of the first advertisement (RFC 8106, 5.1).
const SOLICIT: &str = r#"
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("eth0"))
s.settimeout(1)
for _ in range(10):
    s.sendto(bytes([133, 0, 0, 0, 0, 0, 0, 0]), ("ff02::2", 0))
    try:
        message = s.recv(2000)
        while message[0] != 134:
            message = s.recv(2000)
    except TimeoutError:
        continue
    options = message[16:]
    while options:
        kind, length = options[0], options[1] * 8
        if kind == 25:
            for at in range(8, length, 16):
                print(socket.inet_ntop(socket.AF_INET6, options[at:at + 16]))
        options = options[length:]
    break
"#;

pub(super) fn hosts_learn_the_providers_name_server(everyday: &Everyday) {
    let told = shell(
        &everyday.lab,
        "client",
        &format!("python3 - <<'END'\n{SOLICIT}\nEND"),
    );
    assert!(
        told.lines().any(|server| server == "2001:2:0:1::1"),
        "{told}"
    );
}

pub(super) fn router_answers_dns(everyday: &Everyday) {
    for (host, router) in [("client", "192.168.88.1"), ("guest", "192.168.20.1")] {
        for (name, address) in [("router.lan", "192.168.88.1"), ("www.example.net", SERVER)] {
            let line = format!("dig +short +time=5 @{router} {name}");
            assert_eq!(everyday.run(host, &line).trim(), address, "{host}: {name}");
        }
    }
}

pub(super) fn guests_reach_only_the_internet(everyday: &Everyday) {
    let address = everyday.address_of("guest");
    assert!(address.starts_with("192.168.20."), "{address}");
    let page = everyday.run("guest", &format!("curl -sS -m 30 http://{SERVER}/"));
    assert_eq!(page, "a page of the internet\n");
    fetch_long(everyday, "guest", &format!("[{INTERNET6}]"));

    let client = everyday.address_of("client");
    let dropped = everyday.hits(FILTER, "guests: the internet alone");
    assert!(!everyday.works("guest", &format!("ping -q -c 1 -W 1 {client}")));
    assert!(everyday.hits(FILTER, "guests: the internet alone") > dropped);
}

/// Sends 2.5 MB in datagrams at 100 Mbit/s into an upload limit of 2 Mbit/s.
pub(super) fn simple_queue_limits_guests(everyday: &Everyday) {
    let router = everyday.router();
    let upload = |property: &str| {
        let pair = router.value("/queue/simple/print stats", "guests", property);
        let upload = pair
            .split('/')
            .next()
            .and_then(|upload| upload.parse().ok());
        upload.unwrap_or_else(|| panic!("{property}: {pair}"))
    };
    let (bytes, dropped): (u64, u64) = (upload("bytes"), upload("dropped"));
    let program = binary().display().to_string();
    let listen = format!("{program} lab receive {SERVER}:5300");
    let _receiver = Server::start(&everyday.lab, "server", &listen, "ready");

    let line = format!("{program} lab send {SERVER}:5300 2000 100 100");
    let sent = everyday.run("guest", &line);

    let numbers: Vec<u64> = { sent.split_whitespace() }
        .map(|number| number.parse().expect("a count"))
        .collect();
    assert!(
        numbers[1] > 0 && numbers[1] < numbers[0],
        "sent, received: {sent}"
    );
    assert!(upload("bytes") > bytes, "{sent}");
    assert!(upload("dropped") > dropped, "{sent}");
}

pub(super) fn queue_tree_counts_marked_packets(everyday: &Everyday) {
    let router = everyday.router();
    let packets = || router.number("/queue/tree/print stats", "icmp-up", "packets");
    let before = packets();
    everyday.run("client", &format!("ping -q -c 5 -i 0.01 -W 10 {SERVER}"));
    until("the tree has counted the echo requests", || {
        packets() >= before + 5
    });
}

pub(super) fn firewall_drops_what_comes_from_the_wan(everyday: &Everyday) {
    let client = everyday.address_of("client");
    let forwarded = "defconf: drop all from WAN not DSTNATed";
    let received = "defconf: drop all not coming from LAN";
    let (forward, input) = (
        everyday.hits(FILTER, forwarded),
        everyday.hits(FILTER, received),
    );

    everyday.run("server", "ping -q -c 1 -W 10 203.0.113.100");
    let attempts = [
        format!("ping -q -c 1 -W 1 {client}"),
        String::from("curl -sS --connect-timeout 1 http://203.0.113.100/"),
        String::from("dig +time=1 +tries=1 @203.0.113.100 www.example.net"),
    ];
    assert!(all_fail(everyday, "server", &attempts));

    assert!(everyday.hits(FILTER, forwarded) > forward);
    assert!(everyday.hits(FILTER, received) > input + 1);
}
