//! Bridging of frames between hosts on two ports, compared with the kernel's own bridge; both without spanning tree.
//!
//! In `bridge-offload` XDP switches them; in `bridging-fast-path` a worker does; in `bridge-vlan` a worker filters
//! VLANs and removes the tag of frames. Before the measurement, the bridge has learned all hosts behind the second
//! port, and one frame was sent to each: with XDP a worker sees no further frames. `flows` is the number of those
//! hosts.

use std::fmt::Write as _;

use bench::{Family, Row};
use lab::{Holding, Lab, Life, Options};

use super::cores::{Cores, realtime};
use super::generator::{self, Generator};
use super::napi::Napi;
use super::pair::Pair;
use super::{GENERATOR, KERNEL, LAYOUT, WORKER, headroom};
use crate::bench::process::Router;
use crate::cli::{Bench, Via};

/// A row: bridge settings of both sides.
struct Bridging {
    row: &'static str,
    /// Settings of the router's bridge and of its ports.
    bridge: &'static str,
    ports: [&'static str; 2],
    /// Further commands.
    more: &'static str,
    /// The kernel's bridge: creation options, and further commands.
    kernel: &'static str,
    then: &'static str,
    /// VLAN of received frames, whose tag is removed on transmission.
    vlan: Option<u16>,
}

/// Names of the rows.
pub(in crate::bench) const ROWS: [&str; 3] = [BRIDGINGS[0].row, BRIDGINGS[1].row, BRIDGINGS[2].row];

const BRIDGINGS: [Bridging; 3] = [
    Bridging {
        row: "bridge-offload",
        bridge: "",
        ports: ["", ""],
        more: "",
        kernel: "",
        then: "",
        vlan: None,
    },
    Bridging {
        row: "bridging-fast-path",
        bridge: "",
        ports: ["hw=no", "hw=no"],
        more: "",
        kernel: "",
        then: "",
        vlan: None,
    },
    Bridging {
        row: "bridge-vlan",
        bridge: "vlan-filtering=yes",
        ports: ["hw=no frame-types=admit-only-vlan-tagged", "hw=no pvid=10"],
        more: "/interface bridge vlan
add bridge=bridge1 vlan-ids=10 tagged=ether1 untagged=ether2
",
        kernel: "vlan_filtering 1",
        then: "bridge vlan add dev k1 vid 10
bridge vlan add dev k2 vid 10 pvid untagged
",
        vlan: Some(10),
    },
];

/// Default number of hosts: less than the capacity of the switch.
const MOST: u32 = 64_000;

/// Runs the requested rows. Only XDP offloads.
///
/// # Errors
/// The machine does not permit it, or a run failed; completed rows are printed.
pub(super) fn run(
    bench: &Bench,
    via: &'static str,
    frames: &[u16],
    cores: Cores,
    print: &mut dyn FnMut(&Row),
) -> Result<(), String> {
    let all = bench.rows.is_empty();
    let asked = |row: &str| all || bench.rows.iter().any(|asked| asked == row);
    for bridging in BRIDGINGS.iter().filter(|bridging| asked(bridging.row)) {
        if bridging.row != ROWS[0] || bench.via == Via::Xdp {
            bridging.measure(bench, via, frames, cores, print)?;
        }
    }
    Ok(())
}

impl Bridging {
    fn measure(
        &self,
        bench: &Bench,
        via: &'static str,
        frames: &[u16],
        cores: Cores,
        print: &mut dyn FnMut(&Row),
    ) -> Result<(), String> {
        let text = |error: lab::Error| error.to_string();
        let lab = new_lab().map_err(text)?;
        if let Err(reason) = headroom::leave(&lab) {
            eprintln!("frames are sent without the headroom that XDP needs: {reason}");
        }
        // Some kernels lack VLANs on bridges.
        if let Err(reason) = self.join(&lab) {
            eprintln!("{} is left out: {reason}", self.row);
            return lab.down().map_err(text);
        }
        let kernel = Napi::begin(&lab, KERNEL, "k1", cores)?;
        let ports = LAYOUT.ports().into_iter();
        let ports: Vec<String> = ports.map(|port| format!("{port}={via}:{port}")).collect();
        let router = Router::start(&lab, &self.configuration(), &ports)?;
        for worker in router.workers() {
            realtime(worker, Some(WORKER));
        }
        let shortcuts = match bench.via {
            Via::Xdp => Some(Napi::begin(&lab, "router", "ether1", cores)?),
            _ => None,
        };
        lab.enter(GENERATOR).map_err(text)?;
        let mut back = [
            Generator::new("gb1", lab::plan::mac(1, 1), "ga1", cores)?,
            Generator::new("gb2", lab::plan::mac(3, 1), "ga2", cores)?,
        ];
        let mut pair = Pair {
            ours: Generator::new("ga1", lab::plan::mac(2, 2), "gb1", cores)?,
            theirs: Generator::new("ga2", lab::plan::mac(4, 2), "gb2", cores)?,
            router,
            shortcuts,
            kernel,
            cores,
        };
        let (tsc_hz, core_hz) = kernels::measure_hz();
        for &hosts in bench.flows.iter().filter(|hosts| **hosts <= MOST) {
            for &frame in frames {
                self.introduce(&mut pair, &mut back, hosts)?;
                pair.ours.load_as_they_are(&self.to_hosts(hosts, frame))?;
                pair.theirs.load_as_they_are(&self.to_hosts(hosts, frame))?;
                pair.ours.sweep()?;
                pair.theirs.sweep()?;
                let mut measured = pair.measure(bench.runs)?;
                print(&Row {
                    row: self.row,
                    frame,
                    flows: hosts,
                    hosts,
                    vlans: u16::from(self.vlan.is_some()),
                    via,
                    family: "-",
                    ..measured.row(Family::Ipv4, tsc_hz, core_hz)
                });
            }
        }
        drop(pair);
        lab.down().map_err(text)
    }

    fn configuration(&self) -> String {
        let Self {
            bridge,
            ports: [first, second],
            more,
            ..
        } = self;
        format!(
            "/interface bridge
add name=bridge1 protocol-mode=none {bridge}
/interface bridge port
add bridge=bridge1 interface=ether1 {first}
add bridge=bridge1 interface=ether2 {second}
{more}"
        )
    }

    /// Creates the kernel's bridge.
    fn join(&self, lab: &Lab) -> Result<(), String> {
        let mut script = format!(
            "ip link add bridge1 type bridge mcast_snooping 0 {}\n",
            self.kernel
        );
        for port in ["k1", "k2"] {
            let _ = writeln!(
                script,
                "ip addr flush dev {port}\nip link set {port} master bridge1"
            );
        }
        script.push_str("ip link set bridge1 up\n");
        script.push_str(self.then);
        let command = lab.command(KERNEL, "sh");
        let output = command
            .map_err(|error| error.to_string())?
            .args(["-e", "-c", &script])
            .output()
            .map_err(|error| format!("sh: {error}"))?;
        match output.status.success() {
            true => Ok(()),
            false => {
                let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(format!("the kernel's bridge: {reason}"))
            }
        }
    }

    /// Lets both bridges learn all hosts behind the second ports.
    fn introduce(
        &self,
        pair: &mut Pair,
        back: &mut [Generator; 2],
        hosts: u32,
    ) -> Result<(), String> {
        // The near end is learned first, so that frames to it are not flooded.
        let hello = self.to_hosts(1, 64);
        for (near, far) in [&mut pair.ours, &mut pair.theirs].into_iter().zip(back) {
            near.load_as_they_are(&hello)?;
            near.sweep()?;
            let mut frames = generator::templates(Family::Ipv4, hosts, 64);
            for (host, frame) in (0..).zip(&mut frames) {
                frame[6..12].copy_from_slice(&address(host));
            }
            far.load(&frames)?;
            far.sweep()?;
        }
        Ok(())
    }

    /// Builds a frame to each host.
    fn to_hosts(&self, hosts: u32, frame: u16) -> Vec<Vec<u8>> {
        let mut frames = generator::templates(Family::Ipv4, hosts, frame);
        for (host, frame) in (0..).zip(&mut frames) {
            frame[..6].copy_from_slice(&address(host));
            if let Some(vlan) = self.vlan {
                let [high, low] = vlan.to_be_bytes();
                frame.splice(12..12, [0x81, 0, high, low]);
            }
        }
        frames
    }
}

fn new_lab() -> Result<Lab, lab::Error> {
    let options = Options {
        name: Some(format!("bench-bridge-{}", std::process::id())),
        life: Life::Owned,
        holding: Some(Holding::Named),
        belongings: Vec::new(),
    };
    Lab::up(&LAYOUT, &options)
}

/// Returns the link address of a host behind the second port.
fn address(host: u32) -> [u8; 6] {
    let [a, b, c, d] = host.to_be_bytes();
    [2, 0xb0, a, b, c, d]
}
