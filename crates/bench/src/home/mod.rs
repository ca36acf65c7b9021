//! Benchmark rows of home routers: VLANs, a PPPoE session, tunnels, IPsec, queues and a bridge
//! behind RouterOS's default configuration; `branch` is a small office, with one IPsec site and one
//! simple queue for everything, where a tenth of the connections lead to the site.
//!
//! Clients of the LAN talk to servers behind the far side, 64,000 UDP connections over IPv4, both
//! directions in turn. The default filter, connection tracking and masquerade apply; rows with
//! `-fasttrack` have the default rule `fasttrack-connection`. Connections are made by real packets.
//! Before a row is timed, each connection's packets are recorded once in either direction and
//! compared with the expected ones, and FastTracked packets are counted.

mod path;

use core::cell::RefCell;
use core::net::Ipv4Addr;
use std::collections::HashSet;
use std::sync::Arc;

use frame::{InterfaceId, VECTOR_FRAMES};
use machine::Rng;

use self::path::Path;
use super::guarded::talk;
use super::measure::Bench;
use super::packets::Templates;
use super::rig::{DrivenWorker, EGRESS, INGRESS, OWN4, Rig};
use super::rules::{Build, Lists};
use super::tunnels::TunnelKind;
use super::{Family, Invalid, Options, Row, bridged, protected, queued, traffic};
use crate::ovpn;
use dataplane::encap::between::Carries;
use dataplane::firewall::Firewall;
use dataplane::interface::Details;
use dataplane::packet::{Tuple, protocol};
use dataplane::snapshot::Prefix;

/// The names of these rows, without and with the FastTrack rule.
pub const HOME: &[&str] = &[
    "vlan+home",
    "vlan+home-fasttrack",
    "pppoe+home",
    "pppoe+home-fasttrack",
    "ipip+home",
    "ipip+home-fasttrack",
    "gre+home",
    "gre+home-fasttrack",
    "eoip+home",
    "eoip+home-fasttrack",
    "vxlan+home",
    "vxlan+home-fasttrack",
    "esp+home",
    "esp+home-fasttrack",
    "wireguard+home",
    "wireguard+home-fasttrack",
    "ovpn-udp-gcm+home",
    "ovpn-udp-gcm+home-fasttrack",
    "ovpn-cbc-sha1+home",
    "ovpn-cbc-sha1+home-fasttrack",
    "queues+home",
    "queues+home-fasttrack",
    "bridge+home",
    "bridge+home-fasttrack",
    "branch",
];

/// Number of concurrent connections.
const FLOWS: u32 = 64_000;
/// Size of the connection table: room also for connections inside tunnels and for the source ports
/// of VXLAN.
const ENTRIES: u32 = 1 << 22;
/// Number of simple queues of the row, and the number of bits in which client addresses differ.
const QUEUES: u64 = 25;
const CLIENT_BITS: u8 = 16;
/// The network of the other site of the row `branch`, and the share of connections to it: one of so
/// many.
const SITE: Prefix = Prefix {
    ipv6: false,
    bits: 0xac10_0000,
    len: 12,
};
const SITE_SHARE: u32 = 10;
/// The interface of the near VLAN.
const NEAR_VLAN: InterfaceId = InterfaceId(EGRESS.0 + 1);
/// The interface of the PPPoE session.
const SESSION: InterfaceId = InterfaceId(EGRESS.0 + 1);
/// The interface of the far VLAN.
const FAR_VLAN: InterfaceId = InterfaceId(EGRESS.0 + 2);

/// The layer that packets pass besides the firewall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    /// VLANs on both sides.
    Vlan,
    /// A PPPoE session of this router as WAN.
    Pppoe,
    /// A tunnel to the servers.
    Tunnel(TunnelKind),
    /// An IPsec policy in tunnel mode.
    Esp,
    /// Simple queues that are never full.
    Queues,
    /// A bridge as the LAN.
    Bridge,
    /// An IPsec policy for the network of another site, and a simple queue that is never full.
    Branch,
}

impl Layer {
    fn of(row: &str) -> Self {
        match row.split_once('+').map_or(row, |(layer, _)| layer) {
            "vlan" => Self::Vlan,
            "pppoe" => Self::Pppoe,
            "ipip" => Self::Tunnel(TunnelKind::Between(Carries::Packets)),
            "gre" => Self::Tunnel(TunnelKind::Between(Carries::Gre)),
            "eoip" => Self::Tunnel(TunnelKind::Between(Carries::Frames(100))),
            "vxlan" => Self::Tunnel(TunnelKind::Vxlan),
            "esp" => Self::Esp,
            "wireguard" => Self::Tunnel(TunnelKind::Wireguard),
            "ovpn-udp-gcm" => Self::Tunnel(TunnelKind::Ovpn(ovpn::GCM)),
            "ovpn-cbc-sha1" => Self::Tunnel(TunnelKind::Ovpn(ovpn::CBC_SHA1)),
            "queues" => Self::Queues,
            "branch" => Self::Branch,
            _ => Self::Bridge,
        }
    }

    /// Returns true if packets to this address leave by an interface of the list WAN without IPsec:
    /// the default configuration masquerades them.
    fn masquerades(self, destination: u128) -> bool {
        match self {
            Self::Vlan | Self::Pppoe | Self::Queues | Self::Bridge => true,
            Self::Branch => !is_at_site(destination),
            Self::Tunnel(_) | Self::Esp => false,
        }
    }

    /// Returns true if the FastTrack rule applies to the connections.
    fn may_fasttrack(self) -> bool {
        !matches!(self, Self::Esp | Self::Branch)
    }

    /// Returns the interface lists LAN and WAN.
    fn lists(self) -> Lists {
        match self {
            Self::Vlan => Lists::new(NEAR_VLAN, FAR_VLAN),
            Self::Pppoe => Lists::new(INGRESS, SESSION),
            Self::Bridge => Lists::new(bridged::BRIDGE, EGRESS),
            _ => Lists::new(INGRESS, EGRESS),
        }
    }
}

/// The properties of a row.
#[derive(Clone, Copy)]
struct Kind {
    layer: Layer,
    fasttrack: bool,
}

impl Kind {
    fn of(row: &str) -> Self {
        Self {
            layer: Layer::of(row),
            fasttrack: row.ends_with("-fasttrack"),
        }
    }

    fn firewall(self) -> Firewall {
        let lists = self.layer.lists();
        let tunnel = path::outer_packets(self.layer);
        let build = Build::new(Family::Ipv4).tracked(ENTRIES);
        build.home_router(&lists, self.fasttrack, tunnel).done()
    }

    /// Returns true if the FastTrack rule applies to the connections. The default configuration
    /// accepts IPsec packets before that rule.
    fn fasttracks(self) -> bool {
        self.fasttrack && self.layer.may_fasttrack()
    }
}

/// Measures the rows of these names: with IPv4, the shortest frames, one route, 64,000 connections
/// or the limit of the options, and one worker. Outer packets of a tunnel are one flow, which one
/// worker handles, so nothing is measured with several workers.
///
/// # Errors
/// [`Invalid`]: the first row that could not be measured, a packet at the wrong place or with wrong
/// contents, or wrong packets forwarded by FastTrack.
pub fn home(
    options: &Options,
    rows: &[&'static str],
    emit: &mut dyn FnMut(Row),
) -> Result<(), Invalid> {
    for &name in rows {
        if options.workers > 1 {
            continue;
        }
        let kind = Kind::of(name);
        let flows = FLOWS.min(options.connections_max);
        let mut bench = Bench::new(options, |workers| rig(kind, workers, options.seed))?;
        bench.prepare(|rig, seed| {
            let mut lanes = rig.lanes().iter_mut();
            lanes.try_for_each(|lane| begin(lane, kind, flows, seed))
        })?;
        let tag = if kind.layer == Layer::Vlan { 4 } else { 0 };
        emit(Row {
            row: name,
            family: Family::Ipv4.name(),
            frame: traffic::frame_len(Family::Ipv4) + tag,
            flows,
            routes: 1,
            ..bench.measure()?
        });
    }
    Ok(())
}

fn rig(kind: Kind, workers: u16, seed: u64) -> Result<Rig, Invalid> {
    let mut rig = Rig::new(Family::Ipv4, 1, workers, kind.firewall(), seed)?;
    match kind.layer {
        Layer::Vlan => {
            rig.tag(1);
            give_address(&rig, FAR_VLAN);
        }
        Layer::Pppoe => {
            rig.dial(SESSION, path::SESSION)?;
            give_address(&rig, SESSION);
        }
        Layer::Tunnel(dug) => {
            rig.add_tunnel(dug, true)?;
            rig.route_outer(false)?;
        }
        Layer::Esp => {
            rig.protect(protected::both_directions(), true)?;
            rig.route_outer(false)?;
        }
        Layer::Queues => {
            let queues = queued::simple_queues(Family::Ipv4, QUEUES, CLIENT_BITS, workers);
            rig.queue(&queues);
        }
        Layer::Bridge => bridged::attach_lan(&mut rig, seed)?,
        Layer::Branch => {
            rig.protect(protected::to_site(SITE), true)?;
            rig.route_outer(false)?;
            rig.queue(&queued::simple_queues(
                Family::Ipv4,
                1,
                CLIENT_BITS,
                workers,
            ));
        }
    }
    rig.lead_clients(&path::to_clients(kind.layer));
    Ok(rig)
}

/// Returns true if an address belongs to the other site of the row `branch`.
fn is_at_site(address: u128) -> bool {
    (address ^ SITE.bits) >> (32 - SITE.len) == 0
}

/// Gives the address that masquerade uses to an interface of the far side.
fn give_address(rig: &Rig, interface: InterfaceId) {
    let details = Details {
        address4: Some(Ipv4Addr::from_bits(OWN4)),
        ..Details::default()
    };
    rig.interfaces().set_details(interface, Arc::new(details));
}

/// Loads the packets of a worker, begins their connections, and checks where packets of both
/// directions arrive.
fn begin(lane: &mut DrivenWorker, kind: Kind, flows: u32, seed: u64) -> Result<(), Invalid> {
    let mut rng = Rng::seeded(seed ^ 0xf10c);
    let draw = |number| {
        let mut flow = traffic::flow(Family::Ipv4, protocol::UDP, &mut rng);
        if kind.layer == Layer::Branch && number % SITE_SHARE == 0 {
            flow.destination = SITE.bits | flow.destination & u128::from(u32::MAX >> SITE.len);
        }
        flow
    };
    let flows: HashSet<Tuple> = (0..flows).map(draw).collect();
    let path = Path::new(kind.layer);
    // The iteration order of a hash set differs between processes.
    let mut ordered: Vec<&Tuple> = flows.iter().collect();
    ordered.sort_unstable_by_key(|flow| (flow.source, flow.source_port, flow.destination));
    let frames = ordered.into_iter().map(|flow| path.client_frame(flow));
    let frames: Vec<_> = frames.collect();
    let len = frames.first().map_or(0, Vec::len);
    // The first vectors repeat some packets, and packets into a tunnel leave after others.
    let met = RefCell::new(HashSet::new());
    let answer = |frame: Vec<u8>| match path.flow(&frame) {
        Some(flow) if !met.borrow_mut().insert(flow) => Ok(Vec::new()),
        _ => path.answer(&frame),
    };
    talk(lane, Templates::of(frames, len, seed), &answer, seed)?;

    let packets = 2 * flows.len().next_multiple_of(VECTOR_FRAMES);
    let before = lane.fasttracked();
    lane.meter().record(true);
    lane.run(packets)?;
    lane.meter().record(false);
    path.check(&flows, &lane.meter().recorded())?;
    let fasttracked = lane.fasttracked() - before;
    // One packet per second, connection and direction takes the slow path.
    let most = packets as u64 * 15 / 16;
    let right = match kind.fasttracks() {
        true => fasttracked >= most,
        false => fasttracked == 0,
    };
    match right {
        true => Ok(()),
        false => Err(Invalid::Astray(format!(
            "FastTrack forwarded {fasttracked} of {packets} packets"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_of_every_row_arrive_and_only_those_of_fasttrack_rows_are_fasttracked() {
        let options = Options {
            runs: 1,
            connections_max: 500,
            ..Options::default()
        };
        let mut rows = Vec::new();

        let measured = home(&options, HOME, &mut |row| rows.push((row.row, row.flows)));

        assert_eq!(measured, Ok(()));
        assert_eq!(rows, HOME.iter().map(|row| (*row, 500)).collect::<Vec<_>>());
    }

    #[test]
    fn a_connection_that_the_rules_do_not_fasttrack_is_noticed() {
        let kind = Kind::of("vlan+home");
        let mut rig = rig(kind, 1, 1).expect("a router");
        let expects = Kind::of("vlan+home-fasttrack");

        let begun = begin(&mut rig.lanes()[0], expects, 100, 1);

        let message = String::from("FastTrack forwarded 0 of 512 packets");
        assert_eq!(begun, Err(Invalid::Astray(message)));
    }

    #[test]
    fn a_packet_that_leaves_by_another_path_is_noticed() {
        let mut rig = rig(Kind::of("gre+home"), 1, 1).expect("a router");

        let begun = begin(&mut rig.lanes()[0], Kind::of("ipip+home"), 100, 1);

        assert!(matches!(begun, Err(Invalid::Astray(_))), "{begun:?}");
    }
}
