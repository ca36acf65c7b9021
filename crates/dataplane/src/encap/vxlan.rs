//! VXLAN: Ethernet frames in UDP datagrams (RFC 7348).
//!
//! The learned host selects the peer of a frame. Broadcasts, multicasts and frames to unknown hosts
//! go to each configured peer, and to the multicast group. The headers to a peer are built once per
//! vector (`target.rs`). Decapsulated frames enter the walk as received by the interface, so
//! bridges, stations and VLANs work on it.

mod arrive;
mod path;
mod settings;
mod target;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr};

use frame::{Frame, InterfaceId, Pool};

pub use self::settings::{DontFragment, Peer, Vxlan};
pub(crate) use self::target::Targets;

use self::target::{Path, To};
use super::next::{Next, Nexts};
use super::{Arrival, Batch, Encap, Form, OuterPath, discard_all, mark_encapsulated};
use crate::counters::Traffic;
use crate::drop::DropReason;
use crate::interface::{Ends, Interface};
use crate::outlet::Outlet;
use crate::walk::{Context, Exit};

/// Bytes of the UDP and VXLAN headers.
const INNER: usize = 16;
/// First source port for flows: the start of the dynamic range (RFC 7348, 5; RFC 6335, 6).
const DYNAMIC: u16 = 0xc000;

impl Encap for Vxlan {
    const UNKNOWN: Option<DropReason> = Some(DropReason::VxlanUnknown);

    fn ends(&self) -> [Option<Ends>; 2] {
        let to = |local| key(self.port, self.vni, local);
        [Some(to(self.local)), self.group.map(|(group, _)| to(group))]
    }

    fn encapsulate(
        &self,
        cx: &Context<'_>,
        frames: &mut [Frame],
        batch: &mut Batch<'_>,
        outlet: &mut Outlet,
    ) {
        batch.targets.forget();
        let mut leaving = Leaving {
            cx,
            network: self,
            ids: outlet.memory.rules.random() as u16,
            last: None,
            targets: batch.targets,
        };
        for (at, frame) in frames.iter_mut().enumerate() {
            let next = leaving.one(frame, batch.nexts, outlet);
            batch.nexts.set(at, next);
        }
    }

    /// Encapsulates for the first peer. An outer packet to the multicast group leaves by
    /// `frame.egress`.
    fn encapsulate_unencrypted(
        &self,
        cx: &Context<'_>,
        frame: &mut Frame,
        _: &mut Pool,
    ) -> Result<OuterPath, Exit> {
        let head = frame.bytes().first_chunk::<8>();
        let mac = u64::from_be_bytes(*head.ok_or(Exit::Drop(DropReason::EthernetLength))?) >> 16;
        let mut targets = Targets::new();
        let mut leaving = Leaving {
            cx,
            network: self,
            ids: 0,
            last: None,
            targets: &mut targets,
        };
        let (to, copies) = match leaving.peer_of(mac) {
            Some(address) => (Some(leaving.to(address)), 1),
            None => (all(self).next(), all(self).count()),
        };
        let target = leaving.target(to.ok_or(Exit::Drop(DropReason::VxlanNoPeer))?);
        leaving.write(frame, target).map_err(Exit::Drop)?;
        let direct = match leaving.targets.at(target).path {
            Path::By(adjacency) => Some(adjacency),
            Path::Own(by) => {
                frame.egress = by;
                None
            }
            Path::Lost(reason) => return Err(Exit::Drop(reason)),
        };
        Ok(OuterPath { direct, copies })
    }

    #[inline(always)]
    fn classify(cx: &Context<'_>, packet: &[u8]) -> Option<Arrival> {
        arrive::classify(cx, packet)
    }

    fn decapsulate(
        &self,
        cx: &Context<'_>,
        frames: impl Iterator<Item = Frame>,
        count: usize,
        interface: &Interface,
        outlet: &mut Outlet,
    ) -> Traffic {
        match interface.running {
            true => arrive::decapsulate(cx, frames, count, interface, self, outlet),
            false => discard_all(frames, outlet),
        }
    }
}

/// Returns the key of datagrams with this VNI to this port and address.
#[inline(always)]
const fn key(port: u16, vni: u32, local: IpAddr) -> Ends {
    Ends {
        form: Form::Vxlan,
        port,
        number: vni,
        local,
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// Returns the multicast group and all peers, which receive flooded frames.
fn all(network: &Vxlan) -> impl Iterator<Item = To> + '_ {
    let peers = network.peers.iter().map(|peer| To {
        address: peer.address,
        port: peer.port,
        by: InterfaceId::NONE,
    });
    let group = network.group.map(|(address, by)| To {
        address,
        port: network.port,
        by,
    });
    group.into_iter().chain(peers)
}

/// State of the encapsulation of one vector.
struct Leaving<'a> {
    cx: &'a Context<'a>,
    network: &'a Vxlan,
    /// Identification of the next outer packet.
    ids: u16,
    /// Destination of the last frame, and its target.
    last: Option<(u64, usize)>,
    targets: &'a mut Targets,
}

impl Leaving<'_> {
    /// Encapsulates a frame, and its copies for further peers. Returns the destination of the
    /// frame.
    #[inline(always)]
    fn one(&mut self, frame: &mut Frame, nexts: &mut Nexts, outlet: &mut Outlet) -> Next {
        let Some(head) = frame.bytes().first_chunk::<8>() else {
            return Next::Lost(DropReason::EthernetLength);
        };
        if !frame.offload.is_finished() {
            return Next::of_unfinished(self.network.id, frame);
        }
        let mac = u64::from_be_bytes(*head) >> 16;
        match self.last {
            Some((last, target)) if last == mac => self.encapsulate(frame, target, nexts, outlet),
            _ => self.find(frame, mac, nexts, outlet),
        }
    }

    #[inline(never)]
    fn find(
        &mut self,
        frame: &mut Frame,
        mac: u64,
        nexts: &mut Nexts,
        outlet: &mut Outlet,
    ) -> Next {
        match self.peer_of(mac) {
            Some(address) => {
                let target = self.target(self.to(address));
                self.last = Some((mac, target));
                self.encapsulate(frame, target, nexts, outlet)
            }
            None => self.flood(frame, nexts, outlet),
        }
    }

    /// Returns the address of the peer with this host.
    fn peer_of(&self, mac: u64) -> Option<IpAddr> {
        const GROUP: u64 = 1 << 40;
        if mac & GROUP != 0 {
            return None;
        }
        let (id, ipv6) = (self.network.id, self.network.local.is_ipv6());
        self.cx.interfaces.peers().of(id, ipv6, mac)
    }

    /// Returns a peer by its address, with its configured port or else the port of the network.
    fn to(&self, address: IpAddr) -> To {
        let mut peers = self.network.peers.iter();
        let known = peers.find(|peer| peer.address == address);
        To {
            address,
            port: known.map_or(self.network.port, |peer| peer.port),
            by: InterfaceId::NONE,
        }
    }

    #[inline]
    fn target(&mut self, to: To) -> usize {
        self.targets.get(self.cx, self.network, to)
    }

    /// Floods a frame: sends copies to the peers; the last peer gets the frame itself.
    #[inline(never)]
    fn flood(&mut self, frame: &mut Frame, nexts: &mut Nexts, outlet: &mut Outlet) -> Next {
        let mut all = all(self.network);
        let Some(mut to) = all.next() else {
            return Next::Lost(DropReason::VxlanNoPeer);
        };
        for next in all {
            match outlet.pool.copy(frame) {
                Some(mut copy) => {
                    let target = self.target(to);
                    let next = self.encapsulate(&mut copy, target, nexts, outlet);
                    next.send(self.cx, copy, outlet);
                }
                None => outlet.counters.dropped(DropReason::NoBuffer),
            }
            to = next;
        }
        let target = self.target(to);
        self.encapsulate(frame, target, nexts, outlet)
    }

    /// Writes the headers of a target in front of a frame.
    ///
    /// # Errors
    /// The frame has no headroom, or exceeds the MTU of its link and must not be fragmented.
    #[inline(always)]
    fn write(&mut self, frame: &mut Frame, target: usize) -> Result<(), DropReason> {
        let target = self.targets.at(target);
        mark_encapsulated(frame)?;
        self.ids = self.ids.wrapping_add(1);
        let dont_fragment = match self.network.dont_fragment {
            DontFragment::Never => false,
            DontFragment::Always => true,
            DontFragment::Inherit => target::forbids_fragments(frame.bytes()),
        };
        target.write(frame, self.ids, dont_fragment, self.network.checksum)?;
        match &target.path {
            Path::By(adjacency)
                if dont_fragment
                    && frame.len() > adjacency.mtu as usize + usize::from(frame.l3) =>
            {
                Err(DropReason::TooBig)
            }
            _ => Ok(()),
        }
    }

    /// Encapsulates a frame for a target. Returns the destination of the frame.
    #[inline(always)]
    fn encapsulate(
        &mut self,
        frame: &mut Frame,
        target: usize,
        nexts: &mut Nexts,
        outlet: &mut Outlet,
    ) -> Next {
        if let Err(reason) = self.write(frame, target) {
            return Next::Lost(reason);
        }
        match &self.targets.at(target).path {
            Path::By(adjacency) => {
                frame.egress = adjacency.egress;
                nexts.count(self.cx, frame, adjacency, outlet)
            }
            Path::Own(by) => {
                frame.egress = *by;
                Next::Own
            }
            Path::Lost(reason) => Next::Lost(*reason),
        }
    }
}

/// Returns a source port by flow (RFC 7348, 5): a hash of addresses and ports for a plain packet,
/// else the steering hash of the frame, else a hash of the MAC addresses.
#[inline(always)]
fn entropy(frame: &Frame) -> u16 {
    const WITH: u64 = 0x9e37_79b9_7f4a_7c15;
    let bytes = frame.bytes();
    let hash = match bytes.first_chunk::<38>() {
        _ if frame.flow != 0 => u64::from(frame.flow).wrapping_mul(WITH),
        Some(head) if head[12..15] == [0x08, 0x00, 0x45] && head[20] & 0x3f | head[21] == 0 => {
            let [.., a, b, c, d, e, f, g, h, i, j, k, l] = *head;
            let addresses = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
            let ports = match head[23] {
                6 | 17 | 33 | 132 | 136 => u32::from_be_bytes([i, j, k, l]),
                _ => 0,
            };
            (addresses ^ u64::from(ports) << 16).wrapping_mul(WITH)
        }
        _ => odd_entropy(bytes),
    };
    DYNAMIC | (hash >> 50) as u16
}

#[inline(never)]
fn odd_entropy(bytes: &[u8]) -> u64 {
    match crate::handover::hash(bytes, true) {
        Some(hash) => u64::from(hash) << 32,
        // Frames without an IP packet use the MAC addresses.
        None => bytes.first_chunk::<12>().map_or(0, |head| {
            let [a, b, c, d, e, f, g, h, i, j, k, l] = *head;
            let one = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            let other = u64::from_be_bytes([0, 0, g, h, i, j, k, l]);
            crate::flow::mix64(one ^ other.rotate_left(16))
        }),
    }
}
