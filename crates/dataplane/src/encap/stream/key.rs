//! Keys of sessions on byte streams among the tunnels.

use core::net::{IpAddr, Ipv4Addr};

use crate::encap::Form;
use crate::interface::Ends;
use crate::stream::ChannelId;

/// Returns the key of the packets of a session. Packets of the wire have port 0.
pub(crate) const fn ends(channel: ChannelId) -> Ends {
    Ends {
        form: Form::Plain,
        port: channel.protocol,
        number: channel.number,
        local: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        remote: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}
