//! Tests LACP with Open vSwitch: a bond of two links between it and ferroute. The switch uses its user-space datapath,
//! so this machine's kernel needs neither its kernel module nor a driver for bonds.
//!
//! ```text
//! router (ferroute) ═══ peer (ovs-vswitchd)
//! ```

use std::process::{Child, Stdio};

use lab::{End, Host, Lab, Layout, Link, Offloads};

use crate::world::{Folder, PACKET, Router, Start, have, lab, run, shell, until, works};

const fn host(name: &'static str) -> Host {
    Host {
        name,
        forwards: false,
        loopback: &[],
        routes: &[],
    }
}

const fn wire(own: &'static str, to: &'static str) -> Link {
    Link {
        mtu: 1500,
        queues: 1,
        offloads: Offloads::Off,
        ends: [
            End {
                host: "router",
                device: own,
                addresses: &[],
            },
            End {
                host: "peer",
                device: to,
                addresses: &[],
            },
        ],
    }
}

const TWO_LINKS: Layout = Layout {
    name: "bonding",
    summary: "two links between a router and a switch",
    hosts: &[host("router"), host("peer")],
    links: &[wire("ether1", "to-router1"), wire("ether2", "to-router2")],
    config: "",
};

const CONFIG: &str = "\
    /interface bonding add name=bond1 slaves=ether1,ether2 mode=802.3ad lacp-rate=1sec \
    transmit-hash-policy=layer-3-and-4\n\
    /ip address add address=192.0.2.1/24 interface=bond1\n";

/// Open vSwitch in the host `peer`; it ends when the value is dropped.
struct Switch<'a> {
    lab: &'a Lab,
    folder: Folder,
    processes: Vec<Child>,
}

impl<'a> Switch<'a> {
    fn start(lab: &'a Lab) -> Self {
        let mut switch = Self {
            lab,
            folder: Folder::new(),
            processes: Vec::new(),
        };
        switch.shell("ovsdb-tool create $OVS_DBDIR/conf.db $SCHEMA");
        switch.begin(
            "ovsdb-server $OVS_DBDIR/conf.db --remote=punix:$DB --unixctl=$OVS_RUNDIR/db.ctl",
        );
        until("the database answers", || {
            switch.tries("ovs-vsctl --db=unix:$DB --no-wait --timeout=5 init")
        });
        switch.begin("ovs-vswitchd unix:$DB --unixctl=$OVS_RUNDIR/switch.ctl");
        switch.shell(
            "ovs-vsctl --db=unix:$DB --timeout=20 add-br br0 -- set bridge br0 datapath_type=netdev
             ovs-vsctl --db=unix:$DB --timeout=20 add-bond br0 bond0 to-router1 to-router2 \
                 lacp=active bond_mode=balance-tcp other_config:lacp-time=fast
             ip address add 192.0.2.2/24 dev br0
             ip link set br0 up",
        );
        switch
    }

    /// Returns the shell variables that precede each script: the paths of Open vSwitch's files.
    fn setting(&self) -> String {
        let folder = self.folder.file("");
        let folder = folder.display().to_string();
        let folder = folder.trim_end_matches('/');
        format!(
            "export OVS_RUNDIR={folder} OVS_LOGDIR={folder} OVS_DBDIR={folder}
             DB={folder}/db.sock SCHEMA=/usr/share/openvswitch/vswitch.ovsschema\n"
        )
    }

    fn shell(&self, script: &str) -> String {
        shell(self.lab, "peer", &(self.setting() + script))
    }

    fn tries(&self, script: &str) -> bool {
        let script = self.setting() + script + " 2>/dev/null";
        let argv = ["sh", "-c", &script].map(str::to_owned);
        let mut command = self
            .lab
            .command_line("peer", &argv)
            .expect("a host of the layout");
        command
            .stdin(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// Starts a program that keeps running; it replaces its shell.
    fn begin(&mut self, line: &str) {
        let script = format!("{}exec {line} 2>/dev/null", self.setting());
        let argv = ["sh", "-c", &script].map(str::to_owned);
        let mut command = self
            .lab
            .command_line("peer", &argv)
            .expect("a host of the layout");
        let child = command.stdin(Stdio::null()).spawn();
        self.processes
            .push(child.expect("nsenter is there: it made the lab"));
    }

    /// Returns the number of links that the switch uses for frames.
    fn links(&self) -> usize {
        let shown = self.shell("ovs-appctl -t $OVS_RUNDIR/switch.ctl lacp/show bond0");
        let members = shown.split("member: ").skip(1);
        members
            .filter(|member| {
                member.contains("current attached") && member.contains("may_enable: true")
            })
            .count()
    }
}

impl Drop for Switch<'_> {
    fn drop(&mut self) {
        for child in self.processes.iter_mut().rev() {
            // Both fail only if the process has already ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn lacp_agrees_with_open_vswitch_and_links_fail_without_loss() {
    let test = "lacp_agrees_with_open_vswitch_and_links_fail_without_loss";
    let programs = [
        "ping",
        "ovs-vswitchd",
        "ovsdb-server",
        "ovs-vsctl",
        "ovs-appctl",
    ];
    let Some(lab) = have(test, &programs)
        .then(|| lab(test, &TWO_LINKS))
        .flatten()
    else {
        return;
    };
    let switch = Switch::start(&lab);
    let router = Router::start(&lab, &Start::with(PACKET, CONFIG));
    let ping = "ping -q -c 1 -W 1 192.0.2.1";
    let active = |names: &str| {
        let shown = router.exec("/interface/bonding/monitor bond1 once");
        shown.contains(&format!(" active-ports: {names}\n"))
    };

    until("both carry frames by both links", || {
        switch.links() == 2 && active("ether1,ether2")
    });
    let slaves = router.exec("/interface/bonding/monitor-slaves bond1 once");
    let both_ends_of_both = slaves.matches("ATGSCD--").count();
    assert_eq!(both_ends_of_both, 4, "{slaves}");
    until("the switch reaches the router", || {
        works(&lab, "peer", ping)
    });

    for (link, left) in [("to-router1", "ether2"), ("to-router2", "ether1")] {
        run(&lab, "peer", &format!("ip link set {link} down"));
        until("one link is left", || switch.links() == 1 && active(left));
        assert!(works(&lab, "peer", ping), "by {left}");
        run(&lab, "peer", &format!("ip link set {link} up"));
        until("both are back", || {
            switch.links() == 2 && active("ether1,ether2")
        });
        assert!(works(&lab, "peer", ping));
    }
    let drops = router.exec("/tool/drop/print without-paging");
    assert!(!drops.contains("bond-no-slave"), "{drops}");
}
