//! Tests VRRP with keepalived: two routers with different implementations share a gateway address.
//!
//! ```text
//! client ── switch ── router (ferroute)
//!              └───── peer (keepalived)
//! ```

use std::fs;

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{Folder, PACKET, Router, Server, Start, have, lab, run, shell, until, works};

const SHARED: [&str; 2] = ["192.0.2.1", "2001:db8:2::1"];

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
        offloads: Offloads::Off,
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
    name: "vrrp",
    summary: "two routers and a client on one segment",
    hosts: &[host("client"), host("router"), host("peer"), host("switch")],
    links: &[
        wire(
            "client",
            "eth0",
            &["192.0.2.50/24", "2001:db8:2::50/64"],
            "to-client",
        ),
        wire("router", "ether1", &[], "to-router"),
        wire(
            "peer",
            "eth0",
            &["192.0.2.12/24", "2001:db8:2::12/64"],
            "to-peer",
        ),
    ],
    config: "",
};

/// Configuration of both routers.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Properties of the virtual router in ferroute.
    vrrp: &'static str,
    /// Lines of the instance in keepalived's configuration.
    keepalived: &'static str,
    /// Index of the family in [`SHARED`].
    family: usize,
}

impl Case {
    fn shared(&self) -> &'static str {
        SHARED[self.family]
    }

    /// Starts ferroute with this priority.
    fn router(&self, lab: &Lab, priority: u8) -> Router {
        let menu = ["/ip address", "/ipv6 address"][self.family];
        let length = [32, 128][self.family];
        let config = format!(
            "/ip address add address=192.0.2.11/24 interface=ether1\n\
             /ipv6 address add address=2001:db8:2::11/64 interface=ether1 advertise=no\n\
             /interface vrrp add name=vrrp1 interface=ether1 vrid=7 priority={priority} {}\n\
             {menu} add address={}/{length} interface=vrrp1\n",
            self.vrrp,
            self.shared(),
        );
        let start = Start {
            ports: vec![format!("ether1={PACKET}:ether1")],
            // A killed router has not restored the devices.
            arguments: &["--take"],
            ..Start::with(PACKET, &config)
        };
        Router::start(lab, &start)
    }

    /// Starts keepalived with priority 100.
    fn peer(&self, lab: &Lab, folder: &Folder) -> Server {
        let own = [SHARED[0], "fe80::7:7"][self.family];
        let more = match self.family {
            0 => "",
            _ => "2001:db8:2::1/128\n",
        };
        let config = format!(
            "vrrp_instance one {{\n state BACKUP\n interface eth0\n virtual_router_id 7\n priority 100\n \
             advert_int 1\n {}\n virtual_ipaddress {{\n {own}\n {more} }}\n}}\n",
            self.keepalived,
        );
        let path = |name: &str| folder.file(name).display().to_string();
        fs::write(folder.file("keepalived.conf"), config).expect("a folder of our own");
        // Without the parent process, the test has to end only one process.
        let line = format!(
            "keepalived -n -P -l -D -R -f {} -p {} -r {}",
            path("keepalived.conf"),
            path("pid"),
            path("vrrp-pid"),
        );
        let script = format!("exec {line} 2>&1");
        let argv = ["sh", "-c", &script].map(str::to_owned);
        let command = lab.command_line("peer", &argv);
        Server::begin(
            command.expect("a host of the layout"),
            "Entering BACKUP STATE",
        )
    }

    /// Returns the MAC address that the client has resolved for the shared address.
    fn known(&self, lab: &Lab) -> String {
        run(
            lab,
            "client",
            &format!("ip neighbour show {}", self.shared()),
        )
    }

    /// Returns true if the client reaches the shared address, and ferroute is the master or not as expected.
    fn is_at_router(&self, lab: &Lab, expected: bool) -> bool {
        let ping = format!("ping -q -c 1 -W 1 {}", self.shared());
        let mac = ["00:00:5e:00:01:07", "00:00:5e:00:02:07"][self.family];
        works(lab, "client", &ping) && self.known(lab).contains(mac) == expected
    }
}

fn is_master(router: &Router) -> bool {
    router.value("/interface/vrrp/print", "vrrp1", "master") == "true"
}

/// Kills keepalived and its child, which runs the protocol.
fn kill_peer(lab: &Lab, folder: &Folder) {
    let pids: Vec<_> = ["pid", "vrrp-pid"]
        .iter()
        .filter_map(|name| fs::read_to_string(folder.file(name)).ok())
        .collect();
    let pids = pids.join(" ").replace('\n', " ");
    shell(lab, "peer", &format!("kill -9 {pids}"));
}

/// Tests the election, and takeovers in both directions.
fn elect(test: &str, case: Case) {
    let Some(lab) = have(test, &["ping", "keepalived"])
        .then(|| lab(test, &SEGMENT))
        .flatten()
    else {
        return;
    };
    shell(
        &lab,
        "switch",
        "ip link add br0 type bridge
         for end in to-client to-router to-peer; do ip link set $end master br0; done
         ip link set br0 up",
    );

    let folder = Folder::new();
    let peer = case.peer(&lab, &folder);
    until("keepalived is master", || case.is_at_router(&lab, false));

    // A router with a higher priority starts.
    let router = case.router(&lab, 200);
    until("ferroute takes over", || case.is_at_router(&lab, true));
    assert!(is_master(&router), "{case:?}");
    let drops = router.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("vrrp-"), "{case:?}: {drops}");

    // It is killed, and starts again.
    router.kill();
    until("keepalived takes over", || case.is_at_router(&lab, false));
    let router = case.router(&lab, 200);
    until("ferroute takes over again", || {
        case.is_at_router(&lab, true)
    });

    // An orderly stop gives up the role of master at once.
    assert!(router.stop().success());
    until("keepalived is told", || case.is_at_router(&lab, false));

    // A router with a lower priority waits, and takes over when the master is killed.
    let router = case.router(&lab, 50);
    until("ferroute waits", || {
        router.value("/interface/vrrp/print", "vrrp1", "backup") == "true"
    });
    kill_peer(&lab, &folder);
    drop(peer);
    shell(
        &lab,
        "peer",
        "ip address flush dev eth0 scope global; ip address flush dev eth0 to fe80::7:7",
    );
    until("ferroute follows", || case.is_at_router(&lab, true));
    assert!(is_master(&router), "{case:?}");
    let addresses = run(&lab, "peer", "ip -o address show dev eth0");
    assert!(!addresses.contains(case.shared()), "{addresses}");
}

#[test]
fn version_3_of_ipv4_takes_over_both_ways() {
    let case = Case {
        vrrp: "version=3",
        keepalived: "version 3",
        family: 0,
    };
    elect("version_3_of_ipv4_takes_over_both_ways", case);
}

#[test]
fn version_3_of_ipv6_takes_over_both_ways() {
    let case = Case {
        vrrp: "version=3 v3-protocol=ipv6",
        keepalived: "version 3",
        family: 1,
    };
    elect("version_3_of_ipv6_takes_over_both_ways", case);
}

#[test]
fn version_2_takes_over_both_ways() {
    let case = Case {
        vrrp: "version=2",
        keepalived: "version 2",
        family: 0,
    };
    elect("version_2_takes_over_both_ways", case);
}

#[test]
fn version_2_with_a_password_takes_over_both_ways() {
    let case = Case {
        vrrp: "version=2 authentication=simple password=secret",
        keepalived: "version 2\n authentication {\n auth_type PASS\n auth_pass secret\n }",
        family: 0,
    };
    elect("version_2_with_a_password_takes_over_both_ways", case);
}

#[test]
fn version_2_with_an_authentication_header_takes_over_both_ways() {
    let case = Case {
        vrrp: "version=2 authentication=ah password=secret",
        keepalived: "version 2\n authentication {\n auth_type AH\n auth_pass secret\n }",
        family: 0,
    };
    let test = "version_2_with_an_authentication_header_takes_over_both_ways";
    elect(test, case);
}
