//! IPv4 options: checks them on reception, and records the router's address and time in them when
//! it forwards a packet (RFC 791, 3.1; RFC 1812, 5.2.4).

use core::net::Ipv4Addr;

use frame::{Frame, InterfaceId};
use wire::ipv4::{self, MalformedOption, Options};

use super::{Context, Exit};
use crate::drop::DropReason;
use crate::punt::PuntReason;

/// The longest IPv4 header in bytes.
const HEADER_LEN_MAX: usize = 60;
/// First byte of a header without options: version 4, five words.
const PLAIN: u8 = 0x45;

/// Checks the options of a received packet. `header` is the whole IPv4 header.
///
/// # Errors
/// A drop for a source route (RFC 7126, 4.3 and 4.4), a parameter problem for a malformed option.
#[cold]
#[inline(never)]
pub(super) fn enter(header: &[u8]) -> Result<(), Exit> {
    for option in Options::new(header.get(20..).unwrap_or_default()) {
        if option.map_err(malformed)?.is_source_route() {
            return Err(Exit::Drop(DropReason::Ipv4SourceRoute));
        }
    }
    Ok(())
}

/// Checks that the router can record its address and time in the options of a packet that leaves by
/// `egress`; changes nothing.
///
/// # Errors
/// A parameter problem: an option is full or malformed.
#[inline(always)]
pub(super) fn check(cx: &Context<'_>, packet: &[u8], egress: InterfaceId) -> Result<(), Exit> {
    match packet.first() {
        None | Some(&PLAIN) => Ok(()),
        Some(_) => try_out(cx, packet, egress),
    }
}

#[cold]
#[inline(never)]
fn try_out(cx: &Context<'_>, packet: &[u8], egress: InterfaceId) -> Result<(), Exit> {
    let mut copy = [0; HEADER_LEN_MAX];
    let header = packet.get(..header_len(packet)).unwrap_or_default();
    let Some(copy) = copy.get_mut(..header.len()) else {
        return Ok(());
    };
    copy.copy_from_slice(header);
    record(cx, copy, egress).map_err(malformed)
}

/// Records address and time in the options of a packet that [`check`] accepted, and updates the
/// header checksum.
#[inline(always)]
pub(super) fn commit(cx: &Context<'_>, frame: &mut Frame, egress: InterfaceId) {
    let l3 = usize::from(frame.l3);
    match frame.bytes().get(l3) {
        None | Some(&PLAIN) => {}
        Some(_) => write(cx, frame, egress),
    }
}

#[cold]
#[inline(never)]
fn write(cx: &Context<'_>, frame: &mut Frame, egress: InterfaceId) {
    let l3 = usize::from(frame.l3);
    let packet = frame.bytes_mut().get_mut(l3..).unwrap_or_default();
    let len = header_len(packet);
    if let Some(header) = packet.get_mut(..len) {
        let recorded = record(cx, header, egress);
        debug_assert!(recorded.is_ok(), "options are checked before");
    }
}

/// Records address and time; does nothing if the egress interface has no IPv4 address.
fn record(cx: &Context<'_>, header: &mut [u8], egress: InterfaceId) -> Result<(), MalformedOption> {
    let known_by = cx.interfaces.address(egress, |details| details.address4);
    let Some(address) = known_by else {
        return Ok(());
    };
    let is_ours = |address: Ipv4Addr| cx.interfaces.own().has_ipv4(address.to_bits());
    ipv4::record(header, address, is_ours, cx.midnight_ms).map(|_| ())
}

fn header_len(packet: &[u8]) -> usize {
    packet
        .first()
        .map_or(0, |first| usize::from(first & 0xf) * 4)
}

/// Returns the punt for an ICMP parameter problem, whose pointer names the wrong byte.
fn malformed(option: MalformedOption) -> Exit {
    Exit::Punt(PuntReason::ParameterProblem(option.pointer().into()))
}
