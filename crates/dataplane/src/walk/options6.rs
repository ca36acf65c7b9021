//! Checks the hop-by-hop options of a received IPv6 packet (RFC 8200, 4.2 and 4.3). No known option
//! requires a router to write, so options are forwarded unchanged.
//!
//! RFC 9673 lets a router skip unknown options. Linux and RouterOS act on the two highest bits of
//! the option type, and so does this router. Router alert (RFC 6398) is ignored: no service here
//! intercepts forwarded packets. Security labels (CALIPSO, RFC 5570) and traces (IOAM, RFC 9486)
//! may be skipped, and are. Jumbograms are longer than any frame, and their option need not be
//! known (RFC 2675, 1).

use wire::ipv6::{HEADER_LEN, IpOption, Packet, Unknown};

use super::Exit;
use crate::drop::DropReason;
use crate::punt::PuntReason;

/// Protocol number of the hop-by-hop options header.
pub(super) const HOP_BY_HOP: u8 = 0;
/// Maximum number of options per packet, as in Linux (RFC 8504, 5.3).
const OPTIONS_MAX: usize = 8;

/// Checks the hop-by-hop options of a packet. `to_group`: the destination is a multicast address.
///
/// # Errors
/// A drop for malformed options; a drop or a parameter problem for unknown options, by their type.
pub(super) fn enter(packet: &[u8], to_group: bool) -> Result<(), Exit> {
    let packet = Packet::new_checked(packet).ok();
    let header = packet.and_then(|packet| packet.extensions().next()?.ok());
    let Some(header) = header else {
        return Err(Exit::Drop(DropReason::Ipv6ExtensionHeader));
    };
    for (count, option) in header.options().enumerate() {
        match option {
            Ok(option) if count < OPTIONS_MAX => judge(&option, to_group)?,
            _ => return Err(Exit::Drop(DropReason::Ipv6Options)),
        }
    }
    Ok(())
}

fn judge(option: &IpOption<'_>, to_group: bool) -> Result<(), Exit> {
    match (option.kind, option.unknown()) {
        (IpOption::ROUTER_ALERT, _) if option.data.len() != 2 => {
            Err(Exit::Drop(DropReason::Ipv6Options))
        }
        (IpOption::ROUTER_ALERT, _) | (_, Unknown::Skip) => Ok(()),
        (_, Unknown::ProblemIfUnicast) if to_group => {
            Err(Exit::Drop(DropReason::Ipv6UnknownOption))
        }
        (_, Unknown::Drop) => Err(Exit::Drop(DropReason::Ipv6UnknownOption)),
        // The ICMP parameter problem names the offset of the option.
        (_, Unknown::Problem | Unknown::ProblemIfUnicast) => {
            let at = (HEADER_LEN + option.at) as u16;
            Err(Exit::Punt(PuntReason::UnknownOption(at)))
        }
    }
}
