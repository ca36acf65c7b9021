//! What went straight is taught to the port that it came by: the kernel forwards the next such packet by
//! itself, if the port learns (`frame::shortcut`).

use frame::Frame;
use frame::shortcut::{Lane, Straight};

use super::Context;
use super::ingress::{ETHERNET, Entrance};
use crate::outlet::Outlet;

/// Teaches the port of an entrance the way of frames that have just been given the header that they leave
/// with, and lead to these ports.
#[cold]
#[inline(never)]
pub(super) fn teach<const IPV6: bool>(
    cx: &Context<'_>,
    entrance: &Entrance<'_>,
    (frames, ports): (&[Frame], &[u16]),
    outlet: &mut Outlet,
) {
    for (frame, port) in frames.iter().zip(ports) {
        let Some(device) = outlet.device(*port) else {
            continue;
        };
        let Some(egress) = cx.snapshot.interface(frame.egress) else {
            continue;
        };
        let Some((link, source, destination)) = parts::<IPV6>(frame.bytes()) else {
            continue;
        };
        let lane = Lane {
            ingress: entrance.id,
            to: entrance.interface.mac.0,
            egress: frame.egress,
            device,
            link,
            mtu: egress.mtu,
        };
        let straight = Straight {
            source,
            destination,
            ipv6: IPV6,
            lane,
        };
        outlet.learn(entrance.interface.port, &straight);
    }
}

/// The link addresses of a frame, and the addresses of its packet.
fn parts<const IPV6: bool>(bytes: &[u8]) -> Option<([u8; 12], u128, u128)> {
    let packet = bytes.get(ETHERNET..)?;
    let link = bytes.first_chunk()?;
    let (source, destination) = if IPV6 {
        let address = |at: usize| Some(u128::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        (address(8)?, address(24)?)
    } else {
        let address = |at: usize| Some(u32::from_be_bytes(*packet.get(at..)?.first_chunk()?));
        (u128::from(address(12)?), u128::from(address(16)?))
    };
    Some((*link, source, destination))
}
