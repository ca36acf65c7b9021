//! Tests bridges: hosts on several ports, VLANs with tagged hosts, spanning tree with the kernel's bridge and Open
//! vSwitch.

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, shell, until, works};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn wire(
    port: &'static str,
    host: &'static str,
    device: &'static str,
    addresses: &'static [&'static str],
) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: port,
                addresses: &[],
            },
            End {
                host,
                device,
                addresses,
            },
        ],
    }
}

/// Layout with one host at each of three ports.
pub(crate) const THREE: Layout = Layout {
    name: "bridge",
    summary: "a host at each port of a bridge",
    hosts: &[host("one"), host("two"), host("three"), host("router")],
    links: &[
        wire(
            "ether1",
            "one",
            "eth0",
            &["192.0.2.11/24", "2001:db8:2::11/64"],
        ),
        wire(
            "ether2",
            "two",
            "eth0",
            &["192.0.2.12/24", "2001:db8:2::12/64"],
        ),
        wire("ether3", "three", "eth0", &[]),
    ],
    config: "",
};

/// Layout with a host at `ether3`, and a foreign bridge with two links to the router and a host behind it.
const LOOP: Layout = Layout {
    name: "loop",
    summary: "two bridges with two links between them",
    hosts: &[host("near"), host("peer"), host("far"), host("router")],
    links: &[
        wire("ether1", "peer", "eth0", &[]),
        wire("ether2", "peer", "eth1", &[]),
        wire("ether3", "near", "eth0", &["192.0.2.11/24"]),
        Link {
            ends: [
                End {
                    host: "peer",
                    device: "eth2",
                    addresses: &[],
                },
                End {
                    host: "far",
                    device: "eth0",
                    addresses: &["192.0.2.12/24"],
                },
            ],
            ..wire("", "", "", &[])
        },
    ],
    config: "",
};

pub(crate) fn start(lab: &Lab, config: &str) -> Router {
    let ports = ["ether1", "ether2", "ether3"].map(|port| format!("{port}={PACKET}:{port}"));
    let start = Start {
        ports: ports.into(),
        ..Start::with(PACKET, config)
    };
    Router::start(lab, &start)
}

/// Waits until a host reaches an address; a spanning tree may have to converge first.
pub(crate) fn reaches(lab: &Lab, host: &str, to: &str) {
    until(&format!("{host} reaches {to}"), || {
        works(lab, host, &format!("ping -q -c 1 -W 1 {to}"))
    });
}

#[test]
fn hosts_on_ports_of_a_bridge_reach_each_other_and_the_router() {
    let test = "hosts_on_ports_of_a_bridge_reach_each_other_and_the_router";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let router = start(
        &lab,
        // A bridge of two ports with fast forwarding learns no hosts.
        "/interface bridge add name=bridge1 fast-forward=no\n\
         /interface bridge port add bridge=bridge1 interface=ether1\n\
         /interface bridge port add bridge=bridge1 interface=ether2\n\
         /ip address add address=192.0.2.1/24 interface=bridge1\n\
         /ipv6 address add address=2001:db8:2::1/64 interface=bridge1 advertise=no\n",
    );
    for (host, to) in [
        ("one", "192.0.2.12"),
        ("one", "2001:db8:2::12"),
        ("two", "192.0.2.1"),
        ("two", "2001:db8:2::1"),
    ] {
        reaches(&lab, host, to);
    }
    let hosts = router.rows("/interface/bridge/host/print");
    for port in ["ether1", "ether2"] {
        let learned =
            |row: &&serde_json::Value| row["on-interface"] == port && row["local"] != "true";
        assert_eq!(hosts.iter().filter(learned).count(), 1, "{hosts:#?}");
    }
    // The third port does not belong to the bridge.
    run(&lab, "three", "ip address add 192.0.2.13/24 dev eth0");
    assert!(!works(&lab, "three", "ping -q -c 1 -W 1 192.0.2.1"));
    router.exec("/interface/bridge/port/add bridge=bridge1 interface=ether3 edge=yes");
    reaches(&lab, "three", "192.0.2.1");
    assert!(router.stop().success());
}

#[test]
fn vlans_of_trunk_and_access_ports_are_kept_apart() {
    let test = "vlans_of_trunk_and_access_ports_are_kept_apart";
    let Some(lab) = have(test, &["ping"]).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    if !works(
        &lab,
        "one",
        "ip link add link eth0 name v10 type vlan id 10",
    ) {
        println!("{test}: the kernel has no VLANs");
        return;
    }
    shell(
        &lab,
        "one",
        "ip link add link eth0 name v20 type vlan id 20; ip link set v10 up; ip link set v20 up
         ip address flush dev eth0; ip address add 10.10.0.11/24 dev v10; ip address add 10.20.0.11/24 dev v20",
    );
    shell(
        &lab,
        "two",
        "ip address flush dev eth0; ip address add 10.10.0.12/24 dev eth0",
    );
    shell(
        &lab,
        "three",
        "ip address add 10.20.0.13/24 dev eth0; ip address add 10.10.0.13/24 dev eth0",
    );
    let router = start(
        &lab,
        "/interface bridge add name=bridge1 vlan-filtering=yes\n\
         /interface bridge port add bridge=bridge1 interface=ether1 frame-types=admit-only-vlan-tagged\n\
         /interface bridge port add bridge=bridge1 interface=ether2 pvid=10\n\
         /interface bridge port add bridge=bridge1 interface=ether3 pvid=20\n\
         /interface bridge vlan add bridge=bridge1 vlan-ids=10 tagged=ether1,bridge1\n\
         /interface bridge vlan add bridge=bridge1 vlan-ids=20 tagged=ether1\n\
         /interface vlan add name=vlan10 interface=bridge1 vlan-id=10\n\
         /ip address add address=10.10.0.1/24 interface=vlan10\n",
    );
    for (host, to) in [
        ("one", "10.10.0.12"),
        ("one", "10.20.0.13"),
        ("two", "10.10.0.11"),
        ("one", "10.10.0.1"),
        ("two", "10.10.0.1"),
    ] {
        reaches(&lab, host, to);
    }
    for to in ["10.10.0.12", "10.10.0.1"] {
        let ping = format!("ping -q -c 1 -W 1 {to}");
        assert!(!works(&lab, "three", &ping), "it is in another VLAN: {to}");
    }
    // The access port is no member of the tag's VLAN, so its frames do not reach the trunk.
    shell(
        &lab,
        "three",
        "ip link add link eth0 name v10 type vlan id 10; ip link set v10 up; ip address add 10.10.0.14/24 dev v10",
    );
    assert!(!works(&lab, "three", "ping -q -c 1 -W 1 -I v10 10.10.0.12"));
    let shown = router.exec("/interface/bridge/vlan/print without-paging");
    assert!(shown.contains("ether1"), "{shown}");
    assert!(router.stop().success());
}

#[test]
fn one_of_two_links_to_the_kernels_bridge_is_blocked_until_the_other_fails() {
    let test = "one_of_two_links_to_the_kernels_bridge_is_blocked_until_the_other_fails";
    let Some(lab) = have(test, &["ping", "bridge"])
        .then(|| lab(test, &LOOP))
        .flatten()
    else {
        return;
    };
    shell(
        &lab,
        "peer",
        "ip link add br0 type bridge stp_state 1 forward_delay 400 priority 32768
         for device in eth0 eth1 eth2; do ip link set $device master br0; done
         ip link set br0 up",
    );
    let router = start(
        &lab,
        "/interface bridge add name=bridge1 protocol-mode=stp forward-delay=4s priority=0x1000\n\
         /interface bridge port add bridge=bridge1 interface=ether1\n\
         /interface bridge port add bridge=bridge1 interface=ether2\n\
         /interface bridge port add bridge=bridge1 interface=ether3 edge=yes\n",
    );
    let states = || run(&lab, "peer", "bridge link show");
    let has = |device: &str, state: &str| {
        let shown = states();
        let mut lines = shown.lines();
        lines.any(|line| line.contains(device) && line.contains(&format!("state {state}")))
    };
    until("the kernel blocks one of both", || {
        has("eth0", "forwarding") && has("eth1", "blocking")
    });
    let shown = router.exec("/interface/bridge/monitor bridge1 once");
    assert!(shown.contains("root-bridge: yes"), "{shown}");
    until("near reaches far", || {
        works(&lab, "near", "ping -q -c 1 -W 1 192.0.2.12")
    });
    // No frame circulates: the host does not count a broadcast many times.
    let received = || {
        let shown = run(&lab, "far", "cat /sys/class/net/eth0/statistics/rx_packets");
        shown.trim().parse::<u64>().expect("a number")
    };
    let before = received();
    assert!(!works(&lab, "near", "ping -q -c 1 -W 1 192.0.2.99"));
    let more = received() - before;
    assert!(more < 20, "{more} frames");

    run(&lab, "peer", "ip link set eth0 down");
    until("the other link takes over", || has("eth1", "forwarding"));
    reaches(&lab, "near", "192.0.2.12");
    assert!(router.stop().success());
}

/// Open vSwitch in the host `peer`, with its user-space datapath: a bridge of all devices that speaks RSTP.
struct Switch {
    /// The daemons end before the folder is removed.
    _daemons: [Server; 2],
    folder: Folder,
}

impl Switch {
    fn start(test: &str, lab: &Lab) -> Option<Self> {
        let folder = Folder::new();
        let path = |name: &str| folder.file(name).display().to_string();
        let (db, socket) = (path("conf.db"), path("db.sock"));
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        if !works(lab, "peer", &format!("ovsdb-tool create {db} {schema}")) {
            println!("{test}: no schema of Open vSwitch at {schema}");
            return None;
        }
        let daemon = |line: String, sign: &str| {
            let script = format!("OVS_RUNDIR={} exec {line} 2>&1", path(""));
            let argv = ["sh", "-c", &script].map(str::to_owned);
            let command = lab.command_line("peer", &argv);
            Server::begin(command.expect("a host of the layout"), sign)
        };
        let control = path("ovsdb.ctl");
        let base = daemon(
            format!("ovsdb-server {db} --remote=punix:{socket} --unixctl={control} -vconsole:info"),
            "ovsdb-server",
        );
        let control = path("vswitchd.ctl");
        let switch = daemon(
            format!("ovs-vswitchd unix:{socket} --unixctl={control} -vconsole:info"),
            "connected",
        );
        let ovs = |command: &str| {
            let line = format!("ovs-vsctl --timeout=10 --db=unix:{socket} {command}");
            run(lab, "peer", &line)
        };
        ovs("add-br br0 -- set bridge br0 datapath_type=netdev rstp_enable=true");
        for device in ["eth0", "eth1", "eth2"] {
            ovs(&format!("add-port br0 {device}"));
        }
        Some(Self {
            _daemons: [base, switch],
            folder,
        })
    }

    /// Returns the state of the switch's spanning tree.
    fn state(&self, lab: &Lab) -> String {
        let control = self.folder.file("vswitchd.ctl");
        let line = format!("ovs-appctl -t {} rstp/show br0", control.display());
        run(lab, "peer", &line)
    }
}

#[test]
fn the_second_link_to_open_vswitch_takes_over_at_once() {
    let test = "the_second_link_to_open_vswitch_takes_over_at_once";
    let programs = [
        "ping",
        "ovs-vswitchd",
        "ovsdb-server",
        "ovsdb-tool",
        "ovs-vsctl",
        "ovs-appctl",
    ];
    let Some(lab) = have(test, &programs).then(|| lab(test, &LOOP)).flatten() else {
        return;
    };
    let Some(switch) = Switch::start(test, &lab) else {
        return;
    };
    let router = start(
        &lab,
        "/interface bridge add name=bridge1 priority=0x1000\n\
         /interface bridge port add bridge=bridge1 interface=ether1\n\
         /interface bridge port add bridge=bridge1 interface=ether2\n\
         /interface bridge port add bridge=bridge1 interface=ether3 edge=yes\n",
    );
    let state = || switch.state(&lab);
    until("Open vSwitch has a root port and an alternate one", || {
        let shown = state();
        shown.contains("Root") && shown.contains("Alternate") && shown.contains("Forwarding")
    });
    reaches(&lab, "near", "192.0.2.12");
    run(&lab, "peer", "ip link set eth0 down");
    // RSTP does not wait for timers (IEEE 802.1Q, 13.4): it needs a fraction of STP's 30 seconds.
    let mut tries = 0;
    until("the other link takes over", || {
        tries += 1;
        works(&lab, "near", "ping -q -c 1 -W 1 192.0.2.12")
    });
    assert!(tries < 12, "it took {tries} tries");
    assert!(router.stop().success());
}
