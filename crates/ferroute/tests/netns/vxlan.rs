//! Tests VXLAN with the kernel's implementation: static VTEPs, a group, both families as underlay, fragmented packets.
//!
//! ```text
//! one (kernel) ── switch ── router (ferroute)
//! two (kernel) ─────┘
//! ```

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{PACKET, Router, Server, Start, have, lab, run, shell, text, until, works};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn wire(
    host: &'static str,
    device: &'static str,
    addresses: &'static [&'static str],
    to: &'static str,
) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::On,
        ends: [
            End {
                host,
                device,
                addresses,
            },
            End {
                host: "switch",
                device: to,
                addresses: &[],
            },
        ],
    }
}

const SEGMENT: Layout = Layout {
    name: "vxlan",
    summary: "three ends of networks on one segment",
    hosts: &[host("one"), host("two"), host("router"), host("switch")],
    links: &[
        wire("router", "ether1", &[], "to-router"),
        wire(
            "one",
            "eth0",
            &["192.0.2.12/24", "2001:db8:2::12/64"],
            "to-one",
        ),
        wire(
            "two",
            "eth0",
            &["192.0.2.13/24", "2001:db8:2::13/64"],
            "to-two",
        ),
    ],
    config: "",
};

const OWN: &str = "/ip address add address=192.0.2.11/24 interface=ether1\n\
                   /ipv6 address add address=2001:db8:2::11/64 interface=ether1 advertise=no\n";
const FDB: &str = "/interface/vxlan/fdb/print";

/// Starts the lab with its switch; `None` if this machine cannot run it or its kernel lacks VXLAN.
fn segment(test: &str) -> Option<Lab> {
    let lab = have(test, &["ping", "ip", "bridge"]).then(|| lab(test, &SEGMENT))??;
    shell(
        &lab,
        "switch",
        "ip link add br0 type bridge mcast_snooping 1
         for end in to-router to-one to-two; do ip link set $end master br0; done
         ip link set br0 up",
    );
    if !works(
        &lab,
        "one",
        "ip link add probe type vxlan id 99 dstport 4790",
    ) {
        lab::testing::skip(test, "the kernel has no VXLAN");
        return None;
    }
    Some(lab)
}

fn start(lab: &Lab, config: &str) -> Router {
    let config = format!("{OWN}{config}");
    let start = Start {
        ports: vec![format!("ether1={PACKET}:ether1")],
        ..Start::with(PACKET, &config)
    };
    Router::start(lab, &start)
}

/// Adds a VXLAN interface on a host.
fn add(lab: &Lab, host: &str, network: &str, address: &str) {
    let script = format!(
        "ip link add vx0 type vxlan {network}
         ip address add {address} dev vx0
         ip link set vx0 up"
    );
    shell(lab, host, &script);
}

/// Adds VTEPs to which a host floods frames.
fn flood_to(lab: &Lab, host: &str, ends: &[&str]) {
    for end in ends {
        let entry = format!("bridge fdb append 00:00:00:00:00:00 dev vx0 dst {end}");
        run(lab, host, &entry);
    }
}

fn reaches(lab: &Lab, host: &str, to: &str, more: &str) -> bool {
    works(lab, host, &format!("ping -q -c 1 -W 2{more} {to}"))
}

/// Sends packets of the inner MTU in both directions; the underlay fragments them. The kernel does not fragment VXLAN
/// datagrams over IPv6.
fn exchange_long_packets(lab: &Lab, router: &Router, version: &str) {
    let (mtu, both) = if version == "ipv4" {
        (1500, true)
    } else {
        (1430, false)
    };
    for (host, address) in [("one", "10.9.0.12"), ("two", "10.9.0.13")] {
        run(lab, host, &format!("ip link set vx0 mtu {mtu}"));
        let long = reaches(lab, host, "10.9.0.1", " -s 1472 -M do");
        assert_eq!(long, both, "{version}");
        let answered = router.exec(&format!("/ping {address} size=1500 count=1"));
        assert!(answered.contains("received=1"), "{version}: {answered}");
    }
}

#[test]
fn static_vteps_of_both_families_reach_each_other() {
    let test = "static_vteps_of_both_families_reach_each_other";
    let Some(lab) = segment(test) else { return };
    for (version, ends, local) in [
        (
            "ipv4",
            ["192.0.2.11", "192.0.2.12", "192.0.2.13"],
            "local 192.0.2.",
        ),
        (
            "ipv6",
            ["2001:db8:2::11", "2001:db8:2::12", "2001:db8:2::13"],
            "local 2001:db8:2::",
        ),
    ] {
        let router = start(
            &lab,
            &format!(
                "/interface vxlan add name=vxlan1 vni=7 vteps-ip-version={version}\n\
                 /interface vxlan vteps add interface=vxlan1 remote-ip={}\n\
                 /interface vxlan vteps add interface=vxlan1 remote-ip={}\n\
                 /ip address add address=10.9.0.1/24 interface=vxlan1\n",
                ends[1], ends[2],
            ),
        );
        for (host, number, others) in [("one", 12, [0, 2]), ("two", 13, [0, 1])] {
            let network = format!("id 7 dstport 8472 {local}{number}");
            add(&lab, host, &network, &format!("10.9.0.{number}/24"));
            flood_to(&lab, host, &others.map(|at| ends[at]));
        }
        until("all reach each other", || {
            reaches(&lab, "one", "10.9.0.1", "") && reaches(&lab, "two", "10.9.0.1", "")
        });
        assert!(reaches(&lab, "one", "10.9.0.13", ""));

        let shown = run(&lab, "one", "ip -o link show vx0");
        let mac = shown.split("link/ether ").nth(1);
        let mac = mac
            .and_then(|rest| rest.split(' ').next())
            .expect("it has one");
        let learned = router.exec(&format!("{FDB} without-paging"));
        let line = learned
            .lines()
            .find(|line| line.to_ascii_lowercase().contains(mac) && line.contains(ends[1]));
        assert!(line.is_some(), "{version}: {learned}");
        assert_eq!(router.rows(FDB).len(), 2, "{learned}");
        let known = run(&lab, "one", "bridge fdb show dev vx0");
        assert!(known.contains(&format!("dst {}", ends[0])), "{known}");

        exchange_long_packets(&lab, &router, version);
        let drops = router.exec("/tool/drop/print without-paging");
        for reason in ["vxlan-unknown", "vxlan-echo", "tunnel-malformed"] {
            assert!(!drops.contains(reason), "{drops}");
        }
        assert_eq!(
            router.value("/interface/vxlan/print", "vxlan1", "running"),
            "true"
        );
        assert!(router.stop().success());
        for host in ["one", "two"] {
            run(&lab, host, "ip link del vx0");
        }
    }
}

#[test]
fn members_of_a_group_find_each_other() {
    let test = "members_of_a_group_find_each_other";
    let Some(lab) = segment(test) else { return };
    for group in ["239.1.2.3", "ff05::1:2:3"] {
        let router = start(
            &lab,
            &format!(
                "/interface vxlan add name=vxlan1 vni=9 port=4789 group={group} interface=ether1\n\
                 /ip address add address=10.9.0.1/24 interface=vxlan1\n"
            ),
        );
        for (host, number) in [("one", 12), ("two", 13)] {
            let network = format!("id 9 dstport 4789 group {group} dev eth0");
            add(&lab, host, &network, &format!("10.9.0.{number}/24"));
        }
        until("the members are heard", || {
            reaches(&lab, "one", "10.9.0.1", "") && reaches(&lab, "two", "10.9.0.1", "")
        });
        assert!(router.rows(FDB).len() >= 2);
        // The switch has learned that the router receives the group.
        let known = run(&lab, "switch", "bridge mdb show");
        let snoops = known.contains(group);
        let there = known
            .lines()
            .any(|line| line.contains(group) && line.contains("to-router"));
        assert!(!snoops || there, "{known}");
        assert!(router.stop().success());
        for host in ["one", "two"] {
            run(&lab, host, "ip link del vx0");
        }
    }
}

#[test]
fn a_tcp_stream_passes_completely_through_a_vxlan() {
    let test = "a_tcp_stream_passes_completely_through_a_vxlan";
    let Some(lab) = have(test, &["python3"]).then(|| segment(test)).flatten() else {
        return;
    };
    // From one VXLAN into another: merged segments of one leave as single segments into the other.
    let router = start(
        &lab,
        "/interface vxlan add name=vxlan1 vni=7\n\
         /interface vxlan add name=vxlan2 vni=8\n\
         /interface vxlan vteps add interface=vxlan1 remote-ip=192.0.2.12\n\
         /interface vxlan vteps add interface=vxlan2 remote-ip=192.0.2.13\n\
         /ip address add address=10.9.0.1/24 interface=vxlan1\n\
         /ip address add address=10.8.0.1/24 interface=vxlan2\n",
    );
    for (host, id, own, other) in [("one", 7, "10.9", "10.8"), ("two", 8, "10.8", "10.9")] {
        let network = format!("id {id} dstport 8472 remote 192.0.2.11 dev eth0");
        add(&lab, host, &network, &format!("{own}.0.12/24"));
        run(
            &lab,
            host,
            &format!("ip route add {other}.0.0/24 via {own}.0.1"),
        );
    }
    until("they reach each other", || {
        reaches(&lab, "one", "10.8.0.12", "")
    });
    let script = "import socket
heard = socket.create_server(('10.8.0.12', 7000))
print('ready', flush=True)
one, _ = heard.accept()
total = 0
while part := one.recv(65536):
    total += len(part)
one.sendall(str(total).encode())";
    let argv = ["python3", "-u", "-c", script].map(str::to_owned);
    let command = lab.command_line("two", &argv);
    let _server = Server::begin(command.expect("a host of the layout"), "ready");
    let script = "import socket
to = socket.create_connection(('10.8.0.12', 7000))
to.sendall(bytes(4 << 20))
to.shutdown(socket.SHUT_WR)
print(to.recv(100).decode())";
    let argv = ["python3", "-c", script].map(str::to_owned);
    let mut command = lab
        .command_line("one", &argv)
        .expect("a host of the layout");
    let told = command.output().expect("python3 is there");
    assert_eq!(text(&told.stdout).trim(), (4 << 20).to_string());
    let drops = router.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("offload-malformed"), "{drops}");
}
