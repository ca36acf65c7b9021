//! Hop-by-hop options of an IPv6 packet that arrives (RFC 8200, 4.2 and 4.3): whether the packet may go on. None of
//! the known options asks a router to write, so a packet leaves with the options that it came with.
//!
//! RFC 9673 lets a router skip unknown options. Linux and RouterOS do what the two highest bits of an option's type
//! ask for, and so does this router. Router alert is for listeners to packets of others (RFC 6398), of which there
//! are none. Security labels (CALIPSO, RFC 5570) and traces (IOAM, RFC 9486) may be skipped, and are. Jumbograms
//! are longer than any frame, and their option need not be known (RFC 2675, 1).

use wire::ipv6::{HEADER_LEN, IpOption, Packet, Unknown};

use super::Exit;
use crate::drop::DropReason;
use crate::punt::Why;

/// The header's number, as the fixed header has it.
pub(super) const HOP_BY_HOP: u8 = 0;
/// Options of a packet that are looked at, as Linux has it (RFC 8504, 5.3).
const OPTIONS_MAX: usize = 8;

/// Goes through the options of a packet whose fixed header announces them. `to_group` says that many are to
/// get it.
///
/// # Errors
/// A drop for what is malformed, and what unknown options ask for.
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
        // The sender is told which byte it is.
        (_, Unknown::Problem | Unknown::ProblemIfUnicast) => {
            let at = (HEADER_LEN + option.at) as u16;
            Err(Exit::Punt(Why::UnknownOption(at)))
        }
    }
}
