//! Benchmark rows of stacked interfaces: the walk of `routing-fast-path` between VLANs, into and
//! out of tunnels, and out of a bond, with the shortest frames.

use super::keyed;
use super::measure::Bench;
use super::packets::Templates;
use super::rig::Rig;
use super::tunnels::TunnelKind;
use super::{Family, Invalid, Options, Row};
use dataplane::encap::between::Carries;
use dataplane::firewall::Firewall;

/// The names of these rows: frames of one VLAN; of 64 VLANs in random order; of 64 VLANs and
/// untagged; packets into and out of an IP tunnel; frames into and out of VXLAN; packets out of a
/// bond of two.
pub const LAYERED: &[&str] = &[
    "vlan",
    "vlan-64",
    "vlan-mixed",
    "ipip-out",
    "ipip-in",
    "gre-out",
    "gre-in",
    "eoip-out",
    "eoip-in",
    "vxlan-out",
    "vxlan-in",
    "bond",
];

/// Number of flows.
const FLOWS: u32 = 1_000;
/// Bytes of a frame with check sequence: with a VLAN tag, and with an outer IPv4 header.
const TAGGED: u16 = 68;
const WRAPPED: u16 = 84;
const FRAMED: u16 = 114;

/// EoIP with a tunnel id.
const EOIP: TunnelKind = TunnelKind::Between(Carries::Frames(100));

/// The interfaces of a row.
#[derive(Clone, Copy)]
enum Kind {
    /// This number of VLANs; `true`: also untagged frames.
    Vlans(u16, bool),
    Out(TunnelKind),
    In(TunnelKind),
    Bond,
}

/// Measures the rows of these names, for each family of the options.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured.
pub fn layered(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        let (kind, frame) = match name {
            "vlan" => (Kind::Vlans(1, false), TAGGED),
            "vlan-64" => (Kind::Vlans(64, false), TAGGED),
            "vlan-mixed" => (Kind::Vlans(64, true), TAGGED),
            "ipip-out" => (Kind::Out(TunnelKind::Between(Carries::Packets)), 64),
            "ipip-in" => (Kind::In(TunnelKind::Between(Carries::Packets)), WRAPPED),
            "gre-out" => (Kind::Out(TunnelKind::Between(Carries::Gre)), 64),
            "gre-in" => (Kind::In(TunnelKind::Between(Carries::Gre)), WRAPPED + 4),
            "eoip-out" => (Kind::Out(EOIP), 64),
            "eoip-in" => (Kind::In(EOIP), WRAPPED + 22),
            "vxlan-out" => (Kind::Out(TunnelKind::Vxlan), 64),
            "bond" => (Kind::Bond, 64),
            _ => (Kind::In(TunnelKind::Vxlan), FRAMED),
        };
        for &family in &options.families {
            let mut bench =
                Bench::new(options, |workers| rig(family, workers, kind, options.seed))?;
            bench.load(|rig, seed| {
                rig.load_these(|rig, worker| templates(rig, frame, kind, seed + worker));
            });
            emit(Row {
                row: name,
                family: family.name(),
                frame,
                flows: FLOWS,
                routes: 1,
                ..bench.measure()?
            });
        }
    }
    Ok(())
}

fn rig(family: Family, workers: u16, kind: Kind, seed: u64) -> Result<Rig, Invalid> {
    let mut rig = Rig::new(family, 1, workers, Firewall::default(), seed)?;
    match kind {
        Kind::Vlans(vlans, _) => rig.tag(vlans),
        Kind::Out(dug) => rig.add_tunnel(dug, true)?,
        Kind::In(dug) => rig.add_tunnel(dug, false)?,
        Kind::Bond => rig.bond(),
    }
    Ok(rig)
}

fn templates(rig: &Rig, frame: u16, kind: Kind, seed: u64) -> Templates {
    match kind {
        Kind::Vlans(vlans, mixed) => Templates::tagged(rig, FLOWS, frame, vlans, mixed, seed),
        Kind::Out(_) | Kind::Bond => Templates::new(rig, FLOWS, frame, seed),
        Kind::In(TunnelKind::Between(carries)) => {
            Templates::wrapped(rig, carries, FLOWS, frame, seed)
        }
        Kind::In(TunnelKind::Vxlan) => Templates::framed(rig, FLOWS, frame, seed),
        Kind::In(kind @ (TunnelKind::Wireguard | TunnelKind::Ovpn(_))) => {
            keyed::messages(rig, kind, FLOWS, frame, seed)
        }
    }
}
