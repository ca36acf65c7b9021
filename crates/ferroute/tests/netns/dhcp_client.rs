//! Tests DHCP clients with dnsmasq, udhcpd and malicious hosts, and a relay agent between udhcpc and dnsmasq.
//!
//! ```text
//! client ── router (ferroute) ── switch ── server
//!                                   └───── other
//! ```

use std::fs;

use lab::{End, Host, Lab, Layout, Link, Offloads, Route};

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, shell, until, works};

const fn host(name: &'static str, routes: &'static [Route]) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes,
    }
}

const fn wire(near: End, far: End) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [near, far],
    }
}

const fn end(host: &'static str, device: &'static str, addresses: &'static [&'static str]) -> End {
    End {
        host,
        device,
        addresses,
    }
}

const SEGMENT: Layout = Layout {
    name: "dhcp",
    summary: "a router between a client and a segment with a DHCP server",
    hosts: &[
        host(
            "client",
            &[Route {
                destination: "default",
                via: "192.168.88.1",
            }],
        ),
        host("router", &[]),
        host("server", &[]),
        host("other", &[]),
        host("switch", &[]),
    ],
    links: &[
        wire(
            end("client", "eth0", &["192.168.88.10/24"]),
            end("router", "ether2", &[]),
        ),
        wire(
            end("router", "ether1", &[]),
            end("switch", "to-router", &[]),
        ),
        wire(
            end("server", "eth0", &["10.9.0.1/24"]),
            end("switch", "to-server", &[]),
        ),
        wire(
            end("other", "eth0", &["10.9.0.66/24"]),
            end("switch", "to-other", &[]),
        ),
    ],
    config: "",
};

pub(crate) const HOME: &str = "/ip address add address=192.168.88.1/24 interface=ether2\n\
    /ip firewall filter add chain=input action=drop in-interface=ether1\n\
    /ip firewall nat add chain=srcnat action=masquerade out-interface=ether1\n";

/// Starts the lab with the segment; `None` if a program is not installed.
pub(crate) fn segment(test: &str, programs: &[&str]) -> Option<Lab> {
    let lab = have(test, programs)
        .then(|| lab(test, &SEGMENT))
        .flatten()?;
    shell(
        &lab,
        "switch",
        "ip link add br0 type bridge
         for end in to-router to-server to-other; do ip link set $end master br0; done
         ip link set br0 up",
    );
    Some(lab)
}

/// Starts dnsmasq on a device of the server; it assigns addresses of this range.
pub(crate) fn dnsmasq(lab: &Lab, folder: &Folder, device: &str, range: &str, more: &str) -> Server {
    let leases = folder.file(&format!("leases-{}", range.len()));
    let leases = leases.display();
    let line = format!(
        "exec dnsmasq --keep-in-foreground --conf-file=/dev/null --port=0 --interface={device} --bind-interfaces \
         --no-ping --dhcp-authoritative --log-dhcp --log-facility=- --dhcp-leasefile={leases} \
         --dhcp-range={range} {more} 2>&1"
    );
    let argv = ["sh", "-c", &line].map(str::to_owned);
    let command = lab.command_line("server", &argv);
    Server::begin(
        command.expect("a host of the layout"),
        "sockets bound exclusively to interface",
    )
}

fn start(lab: &Lab, config: &str) -> Router {
    let config = format!("{HOME}{config}");
    Router::start(lab, &Start::with(PACKET, &config))
}

/// Returns a property of the router's only DHCP client.
pub(crate) fn shows(router: &Router, property: &str) -> String {
    let rows = router.rows("/ip/dhcp-client/print detail");
    rows[0][property].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn bound_to(router: &Router, address: &str) {
    until(&format!("the client has {address}"), || {
        shows(router, "status") == "bound" && shows(router, "address") == address
    });
}

#[test]
fn a_client_gets_address_routes_and_servers_from_dnsmasq() {
    let test = "a_client_gets_address_routes_and_servers_from_dnsmasq";
    let Some(lab) = segment(test, &["dnsmasq", "ping"]) else {
        return;
    };
    let folder = Folder::new();
    let options =
        "--dhcp-option=3,10.9.0.1 --dhcp-option=6,10.9.0.1,9.9.9.9 --dhcp-option=42,10.9.0.1";
    let range = "10.9.0.50,10.9.0.50,255.255.255.0,2m";
    let server = dnsmasq(&lab, &folder, "eth0", range, options);
    let script = r#"script=":log info \"got \$bound \$\"lease-address\" by \$interface of \$\"server-address\"\"""#;
    let router = start(
        &lab,
        &format!("/ip dhcp-client add interface=ether1 {script}\n"),
    );
    bound_to(&router, "10.9.0.50/24");
    assert_eq!(shows(&router, "gateway"), "10.9.0.1");
    assert_eq!(shows(&router, "dhcp-server"), "10.9.0.1");
    assert_eq!(shows(&router, "primary-dns"), "10.9.0.1");
    assert_eq!(shows(&router, "secondary-dns"), "9.9.9.9");
    assert_eq!(shows(&router, "primary-ntp"), "10.9.0.1");
    let left = shows(&router, "expires-after");
    assert!(left.starts_with("1m") || left == "2m", "{left}");

    // Masquerade uses the new address. The rules of `input` drop answers of DHCP servers, and the client still gets
    // them.
    until("the client of the router gets out", || {
        works(&lab, "client", "ping -q -c 1 -W 1 10.9.0.1")
    });
    let routes = router.rows("/ip/route/print");
    let default = routes.iter().find(|row| row["dst-address"] == "0.0.0.0/0");
    let default = default.expect("a default route");
    assert_eq!(default["gateway"], "10.9.0.1");
    assert_eq!(
        (&default["dynamic"], &default["dhcp"]),
        (&"true".into(), &"true".into())
    );
    until("the script has run", || {
        let log = router.exec("/log/print without-paging");
        log.contains("got 1 10.9.0.50 by ether1 of 10.9.0.1")
    });

    // The link goes down and comes up again.
    run(&lab, "switch", "ip link set to-router down");
    until("the address is gone", || {
        router.rows("/ip/address/print").len() == 1
    });
    assert_eq!(shows(&router, "status"), "stopped");
    run(&lab, "switch", "ip link set to-router up");
    bound_to(&router, "10.9.0.50/24");

    router.exec("/ip/dhcp-client/release 0");
    bound_to(&router, "10.9.0.50/24");
    router.exec("/ip/dhcp-client/renew 0");
    bound_to(&router, "10.9.0.50/24");
    router.exec("/ip/dhcp-client/disable 0");
    until("the address is gone", || {
        router.rows("/ip/address/print").len() == 1
    });
    let leases = folder.file(&format!("leases-{}", range.len()));
    until("it was given back", || {
        let leases = fs::read_to_string(&leases).expect("dnsmasq keeps it");
        !leases.contains("10.9.0.50")
    });
    drop(server);
}

/// Returns the remark on the lease of the router's only client.
fn about(router: &Router) -> String {
    shows(router, ".about")
}

#[test]
fn a_lease_in_the_lans_network_warns_and_leaves_the_lan_unchanged() {
    let test = "a_lease_in_the_lans_network_warns_and_leaves_the_lan_unchanged";
    let Some(lab) = segment(test, &["dnsmasq", "ping"]) else {
        return;
    };
    shell(
        &lab,
        "server",
        "ip address add 192.168.88.254/24 dev eth0; ip address add 198.51.100.1/32 dev lo",
    );
    let folder = Folder::new();
    let range = "192.168.88.50,192.168.88.50,255.255.255.0,2m";
    let options = "--dhcp-option=3,192.168.88.254";
    let _server = dnsmasq(&lab, &folder, "eth0", range, options);
    let router = start(&lab, "/ip dhcp-client add interface=ether1\n");
    bound_to(&router, "192.168.88.50/24");

    let why = "network overlaps 192.168.88.0/24 of ether2: address is used as /32";
    assert_eq!(about(&router), why);
    let shown = router.exec("/ip/dhcp-client/print without-paging");
    assert!(shown.contains(&format!(";;; {why}")), "{shown}");
    let log = router.exec("/log/print without-paging");
    let line = format!("dhcp,warning dhcp-client on ether1 got IP address 192.168.88.50/24: {why}");
    assert!(log.contains(&line), "{log}");
    for _ in 0..3 {
        run(&lab, "client", "ping -q -c 1 -W 5 192.168.88.1");
    }
    let routes = router.rows("/ip/route/print where dst-address=192.168.88.0/24");
    assert_eq!(routes.len(), 1, "{routes:#?}");
    until("the client reaches what is behind the server", || {
        works(&lab, "client", "ping -q -c 1 -W 1 198.51.100.1")
    });

    // After the conflicting network is removed, the lease's network is used.
    router.exec("/ip/address/set [find interface=ether2] address=192.168.77.1/24");
    until("nothing is wrong any more", || about(&router).is_empty());
    let addresses = router.rows("/ip/address/print where interface=ether1");
    assert_eq!(
        addresses[0]["address"], "192.168.88.50/24",
        "{addresses:#?}"
    );
    assert!(router.stop().success());
}

#[test]
fn a_lease_with_a_mask_shorter_than_8_warns_and_gets_no_network() {
    let test = "a_lease_with_a_mask_shorter_than_8_warns_and_gets_no_network";
    let Some(lab) = segment(test, &["dnsmasq", "ping"]) else {
        return;
    };
    let folder = Folder::new();
    let range = "10.9.0.50,10.9.0.50,255.255.255.0,2m";
    let options = "--dhcp-option=1,240.0.0.0 --dhcp-option=3,10.9.0.1";
    let _server = dnsmasq(&lab, &folder, "eth0", range, options);
    let router = start(&lab, "/ip dhcp-client add interface=ether1\n");
    bound_to(&router, "10.9.0.50/4");

    let why = "mask of 4 bits is too short: address is used as /32";
    assert_eq!(about(&router), why);
    let log = router.exec("/log/print without-paging");
    assert!(log.contains(&format!("10.9.0.50/4: {why}")), "{log}");
    let routes = router.rows("/ip/route/print where dst-address=0.0.0.0/4");
    assert_eq!(routes.len(), 0, "{routes:#?}");
    run(&lab, "client", "ping -q -c 1 -W 5 192.168.88.1");
    until("the client reaches the server", || {
        works(&lab, "client", "ping -q -c 1 -W 1 10.9.0.1")
    });
    assert!(router.stop().success());
}

#[test]
fn classless_routes_replace_the_default_route() {
    let test = "classless_routes_replace_the_default_route";
    let Some(lab) = segment(test, &["dnsmasq"]) else {
        return;
    };
    let folder = Folder::new();
    let options = "--dhcp-option=3,10.9.0.1 --dhcp-option=121,10.77.0.0/16,10.9.0.66";
    let range = "10.9.0.50,10.9.0.50,255.255.255.0,2m";
    let _server = dnsmasq(&lab, &folder, "eth0", range, options);
    let router = start(
        &lab,
        "/ip dhcp-client add interface=ether1 default-route-distance=7\n",
    );
    bound_to(&router, "10.9.0.50/24");
    let told = |router: &Router| {
        let rows = router.rows("/ip/route/print");
        let told = rows.iter().filter(|row| row["dhcp"] == "true");
        let mut told: Vec<_> = told
            .map(|row| {
                let of = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                format!("{} {} {}", of("dst-address"), of("gateway"), of("distance"))
            })
            .collect();
        told.sort();
        told
    };
    assert_eq!(told(&router), ["10.77.0.0/16 10.9.0.66 7"]);
    router.exec("/ip/dhcp-client/set 0 add-default-route=special-classless");
    let both = ["0.0.0.0/0 10.9.0.1 7", "10.77.0.0/16 10.9.0.66 7"];
    until("both are there", || told(&router) == both);
    router.exec("/ip/dhcp-client/set 0 add-default-route=no");
    until("none is there", || told(&router).is_empty());
    assert_eq!(shows(&router, "status"), "bound");
}

#[test]
fn a_client_takes_another_address_after_a_nak() {
    let test = "a_client_takes_another_address_after_a_nak";
    let Some(lab) = segment(test, &["dnsmasq"]) else {
        return;
    };
    let folder = Folder::new();
    let range = "10.9.0.50,10.9.0.50,255.255.255.0,2m";
    let server = dnsmasq(&lab, &folder, "eth0", range, "");
    let router = start(&lab, "/ip dhcp-client add interface=ether1\n");
    bound_to(&router, "10.9.0.50/24");
    drop(server);
    let range = "10.9.0.161,10.9.0.161,255.255.255.0,2m";
    let _server = dnsmasq(&lab, &folder, "eth0", range, "");
    router.exec("/ip/dhcp-client/renew 0");
    bound_to(&router, "10.9.0.161/24");
    let log = router.exec("/log/print without-paging");
    assert!(
        log.contains("lost IP address 10.9.0.50 - received NAK from dhcp server 10.9.0.1"),
        "{log}"
    );
}

#[test]
fn an_address_in_use_is_declined() {
    let test = "an_address_in_use_is_declined";
    let Some(lab) = segment(test, &["dnsmasq"]) else {
        return;
    };
    let folder = Folder::new();
    let range = "10.9.0.66,10.9.0.67,255.255.255.0,2m";
    let fixed = "--dhcp-sequential-ip";
    let _server = dnsmasq(&lab, &folder, "eth0", range, fixed);
    let router = start(&lab, "/ip dhcp-client add interface=ether1\n");
    bound_to(&router, "10.9.0.67/24");
    let log = router.exec("/log/print without-paging");
    assert!(log.contains("10.9.0.66 is in use by"), "{log}");
}

#[test]
fn clients_work_on_vlans_and_bridges() {
    let test = "clients_work_on_vlans_and_bridges";
    let Some(lab) = segment(test, &["dnsmasq", "udhcpd"]) else {
        return;
    };
    let folder = Folder::new();
    let has_tags = works(
        &lab,
        "server",
        "ip link add link eth0 name v10 type vlan id 10",
    );
    let _tagged = has_tags.then(|| {
        shell(
            &lab,
            "server",
            "ip address add 10.10.0.1/24 dev v10; ip link set v10 up",
        );
        let range = "10.10.0.50,10.10.0.50,255.255.255.0,2m";
        dnsmasq(&lab, &folder, "v10", range, "")
    });
    if !has_tags {
        println!("{test}: the kernel has no VLANs; without that part");
    }
    let config = format!(
        "interface eth0\nstart 10.9.0.50\nend 10.9.0.50\nlease_file {}\noption subnet 255.255.255.0\n\
         option router 10.9.0.1\noption lease 120\n",
        folder.file("udhcpd-leases").display(),
    );
    fs::write(folder.file("udhcpd.conf"), config).expect("a folder of our own");
    fs::write(folder.file("udhcpd-leases"), "").expect("a folder of our own");
    let line = format!(
        "exec udhcpd -f {} 2>&1",
        folder.file("udhcpd.conf").display()
    );
    let argv = ["sh", "-c", &line].map(str::to_owned);
    let command = lab.command_line("server", &argv);
    let _plain = Server::begin(command.expect("a host of the layout"), "started");

    let router = start(
        &lab,
        "/interface bridge add name=bridge1 protocol-mode=none\n\
         /interface bridge port add bridge=bridge1 interface=ether1\n\
         /interface vlan add name=ten interface=bridge1 vlan-id=10\n\
         /ip dhcp-client add interface=bridge1 name=plain\n\
         /ip dhcp-client add interface=ten name=tagged add-default-route=no\n\
         /ip dhcp-client add interface=ether1 name=slave\n",
    );
    let shows = |name: &str, property: &str| {
        let rows = router.rows("/ip/dhcp-client/print detail");
        let row = rows
            .iter()
            .find(|row| row["name"] == name)
            .expect("it is configured");
        row[property].as_str().unwrap_or_default().to_owned()
    };
    until("both have their addresses", || {
        let tagged = !has_tags || shows("tagged", "address") == "10.10.0.50/24";
        tagged && shows("plain", "address") == "10.9.0.50/24"
    });
    assert_eq!(shows("slave", "invalid"), "true");
    assert!(!has_tags || works(&lab, "server", "ping -q -c 1 -W 1 10.10.0.50"));
}

#[test]
fn a_relay_forwards_requests_to_a_server_in_another_network() {
    let test = "a_relay_forwards_requests_to_a_server_in_another_network";
    let Some(lab) = segment(test, &["dnsmasq", "udhcpc"]) else {
        return;
    };
    let folder = Folder::new();
    run(&lab, "server", "ip route add 192.168.88.0/24 via 10.9.0.2");
    let range = "192.168.88.50,192.168.88.50,255.255.255.0,2m";
    let tags = "--dhcp-circuitid=set:near,ether2 --dhcp-option=tag:near,15,by.circuit";
    let _server = dnsmasq(&lab, &folder, "eth0", range, tags);
    let router = Router::start(
        &lab,
        &Start::with(
            PACKET,
            "/ip address add address=192.168.88.1/24 interface=ether2\n\
             /ip address add address=10.9.0.2/24 interface=ether1\n\
             /ip dhcp-relay add name=relay interface=ether2 dhcp-server=10.9.0.1 add-relay-info=yes\n",
        ),
    );
    let (script, told) = (folder.file("told.sh"), folder.file("told"));
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = bound ] && env > {}\nexit 0\n",
        told.display()
    );
    fs::write(&script, text).expect("a folder of our own");
    shell(&lab, "client", &format!("chmod +x {}", script.display()));
    let line = format!("udhcpc -i eth0 -n -q -f -t 10 -T 2 -s {}", script.display());
    run(&lab, "client", &line);
    let told = fs::read_to_string(&told).expect("the script was run");
    assert!(told.contains("ip=192.168.88.50"), "{told}");
    assert!(told.contains("domain=by.circuit"), "{told}");
    let rows = router.rows("/ip/dhcp-relay/print stats");
    let count = |name: &str| {
        rows[0][name]
            .as_str()
            .and_then(|count| count.parse::<u64>().ok())
    };
    assert!(
        count("requests") >= Some(2) && count("responses") >= Some(2),
        "{rows:?}"
    );
    router.exec("/ip/dhcp-relay/reset-counters 0");
    let rows = router.rows("/ip/dhcp-relay/print stats");
    assert_eq!(rows[0]["requests"], "0");
}

/// Sends unsolicited answers: random bytes, other transactions, invalid host addresses, and datagrams of all sizes.
const HARM: &str = r#"
import os, random, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"eth0")
s.bind(("0.0.0.0", 67))
random.seed(7)
def reply(kind, xid, options):
    head = struct.pack("!BBBBIHH", 2, 1, 6, 0, xid, 0, 0x8000)
    head += bytes(4) + bytes([10, 9, 0, 200]) + bytes(8) + bytes.fromhex("020000000001").ljust(16, b"\0") + bytes(192)
    return head + bytes([99, 130, 83, 99, 53, 1, kind]) + options + b"\xff"
lease = bytes([54, 4, 10, 9, 0, 66, 51, 4, 0, 0, 1, 0])
for round in range(300):
    s.sendto(os.urandom(random.choice([0, 1, 239, 240, 300, 1400])), ("255.255.255.255", 68))
    for kind in (2, 5, 6):
        s.sendto(reply(kind, random.getrandbits(32), lease), ("255.255.255.255", 68))
    s.sendto(reply(2, random.getrandbits(32), lease + bytes([12, 255]) + os.urandom(7000)), ("255.255.255.255", 68))
"#;

#[test]
fn forged_answers_neither_bind_nor_unbind_a_client() {
    let test = "forged_answers_neither_bind_nor_unbind_a_client";
    let Some(lab) = segment(test, &["dnsmasq", "python3"]) else {
        return;
    };
    let folder = Folder::new();
    fs::write(folder.file("harm.py"), HARM).expect("a folder of our own");
    let harm = format!("python3 {}", folder.file("harm.py").display());
    let router = start(&lab, "/ip dhcp-client add interface=ether1\n");
    run(&lab, "other", &harm);
    assert_eq!(shows(&router, "status"), "searching...");

    let range = "10.9.0.50,10.9.0.50,255.255.255.0,2m";
    let _server = dnsmasq(&lab, &folder, "eth0", range, "");
    bound_to(&router, "10.9.0.50/24");
    run(&lab, "other", &harm);
    router.exec("/ip/dhcp-client/renew 0");
    run(&lab, "other", &harm);
    bound_to(&router, "10.9.0.50/24");
    let drops = router.exec("/tool/drop/print detail without-paging");
    for name in ["dhcp-client-malformed", "dhcp-client-other"] {
        assert!(drops.contains(name), "{name}: {drops}");
    }
}
