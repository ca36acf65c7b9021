//! Packets of IPv4 and IPv6 in packets of IPv4 (RFC 2003, RFC 4213).

use core::net::Ipv4Addr;

use frame::{Frame, Offload};
use wire::{Mac, checksum};

use super::way::{Next, Nexts, direct};
use super::{ETHERNET, descend};
use crate::drop::DropReason;
use crate::interface::{Ends, Ip4Tunnel};
use crate::outlet::Outlet;
use crate::packet::protocol::{IPIP as IPV4, IPV6};
use crate::walk::Context;

/// Bytes of the outer header.
const HEADER: usize = 20;

/// Wraps frames that leave by a tunnel.
pub(super) fn leave(
    cx: &Context<'_>,
    tunnel: &Ip4Tunnel,
    frames: &mut [Frame],
    nexts: &mut Nexts,
    outlet: &mut Outlet,
) {
    let direct = direct(cx, tunnel.remote.into());
    let template = Template::of(tunnel);
    for (at, frame) in frames.iter_mut().enumerate() {
        let id = outlet.memory.rules.random() as u16;
        let wrapped = descend(frame).and_then(|()| wrap(frame, &template, id));
        let next = match wrapped {
            Ok(()) => nexts.by(cx, frame, direct.as_ref(), outlet),
            Err(reason) => Next::Lost(reason),
        };
        nexts.set(at, next);
    }
}

/// Writes an outer header in front of the packet of a frame, behind the room of an Ethernet
/// header.
///
/// # Errors
/// There is no room in front of the packet, or it is longer than a packet can be.
fn wrap(frame: &mut Frame, template: &Template, id: u16) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let protocol = match frame.bytes().get(l3).map(|first| first >> 4) {
        Some(4) => IPV4,
        Some(6) => IPV6,
        _ => return Err(DropReason::TunnelMalformed),
    };
    let total =
        u16::try_from(frame.len() - l3 + HEADER).map_err(|_| DropReason::TunnelMalformed)?;
    let header = template.header(total, id, protocol);
    frame.pull_front(l3);
    if !frame.push_front(HEADER + ETHERNET) {
        return Err(DropReason::NoBuffer);
    }
    frame.l3 = ETHERNET as u16;
    frame.offload = Offload::FINISHED;
    let place = frame.bytes_mut().get_mut(ETHERNET..);
    if let Some(place) = place.and_then(|packet| packet.first_chunk_mut()) {
        *place = header;
    }
    Ok(())
}

/// What is the same in the outer headers of a tunnel.
struct Template {
    header: [u8; HEADER],
    /// The sum of its words, not folded.
    sum: u32,
}

impl Template {
    fn of(tunnel: &Ip4Tunnel) -> Self {
        let mut header = [0; HEADER];
        header[0] = 0x45;
        header[8] = tunnel.ttl;
        header[12..16].copy_from_slice(&tunnel.local.octets());
        header[16..20].copy_from_slice(&tunnel.remote.octets());
        let sum = checksum::sum(&header).into();
        Self { header, sum }
    }

    #[inline(always)]
    fn header(&self, total: u16, id: u16, protocol: u8) -> [u8; HEADER] {
        let mut header = self.header;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        header[4..6].copy_from_slice(&id.to_be_bytes());
        header[9] = protocol;
        let sum = self.sum + u32::from(total) + u32::from(id) + u32::from(protocol);
        let folded = (sum >> 16) + (sum & 0xffff);
        let sum = !((folded >> 16) + folded) as u16;
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        header
    }
}

/// Between whom a packet travels that has another one in it: this router, and who sent it. None for others,
/// and for fragments.
#[inline(always)]
pub(super) fn ends(packet: &[u8]) -> Option<Ends> {
    let header = packet.first_chunk::<HEADER>()?;
    let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
    if header[0] >> 4 != 4 || !matches!(header[9], IPV4 | IPV6) || fragment {
        return None;
    }
    let address = |at: usize| Some(Ipv4Addr::from(*header.get(at..)?.first_chunk::<4>()?));
    Some(Ends::Ip4 {
        local: address(16)?,
        remote: address(12)?,
    })
}

/// Puts the inner packet of a frame behind an Ethernet header to this link address.
///
/// # Errors
/// The inner packet is none, or is cut short.
pub(super) fn unwrap(frame: &mut Frame, mac: Mac) -> Result<(), DropReason> {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes().get(l3..).unwrap_or_default();
    let header = packet.first_chunk::<HEADER>();
    let header = header.ok_or(DropReason::TunnelMalformed)?;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let (inner, protocol) = (usize::from(header[0] & 0xf) * 4, header[9]);
    let version = packet.get(inner..total).and_then(<[u8]>::first);
    let ethertype: [u8; 2] = match (protocol, version.map(|first| first >> 4)) {
        (IPV4, Some(4)) => [0x08, 0x00],
        (IPV6, Some(6)) => [0x86, 0xdd],
        _ => return Err(DropReason::TunnelMalformed),
    };
    if !frame.set_len(l3 + total) {
        return Err(DropReason::TunnelMalformed);
    }
    frame.pull_front(l3 + inner - ETHERNET);
    frame.l3 = ETHERNET as u16;
    frame.offload = Offload::FINISHED;
    if let Some(link) = frame.bytes_mut().first_chunk_mut::<ETHERNET>() {
        link[..6].copy_from_slice(&mac.0);
        link[6..12].fill(0);
        link[12..].copy_from_slice(&ethertype);
    }
    Ok(())
}
