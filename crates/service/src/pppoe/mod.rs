//! PPPoE discovery (RFC 2516, 5; RFC 4638): [`client`] and [`server`].
//!
//! ```text
//! client                          server
//!   │ PADI, broadcast               │
//!   ├──────────────────────────────▶│ no state
//!   │               PADO with cookie│
//!   │◀──────────────────────────────┤ no state: the cookie authenticates what it repeats
//!   │ PADR with cookie              │
//!   ├──────────────────────────────▶│ session
//!   │          PADS, session number │
//!   │◀──────────────────────────────┤
//!   │ PPP packets … PADT, either end │
//! ```
//! The machines handle discovery only; PPP packets of an open session are the owner's.

pub mod client;
mod limiter;
pub mod server;
#[cfg(test)]
mod tests;

use wire::pppoe::{Builder, code, tag};
use wire::{EtherType, Mac};

use crate::Frame;

/// Maximum length of a Host-Uniq that a server remembers, and of a cookie that a client repeats.
const TAG_MAX: usize = 256;

/// Returns a discovery frame.
const fn frame(dst: Mac, payload: Vec<u8>) -> Frame {
    Frame {
        dst,
        ether_type: EtherType::PPPOE_DISCOVERY,
        payload,
    }
}

/// Returns the PADT of a session. A router also sends it to the source of a PPP control packet that belongs to no
/// session, so that the other end of a session that this router forgot in a restart ends the session at once.
pub fn termination(peer: Mac, number: u16) -> Frame {
    frame(peer, Builder::new(code::PADT, number).finish())
}

/// Returns a PADI for any service.
pub fn initiation(host_uniq: &[u8]) -> Frame {
    let packet = Builder::new(code::PADI, 0)
        .tag(tag::SERVICE_NAME, b"")
        .tag(tag::HOST_UNIQ, host_uniq);
    frame(Mac::BROADCAST, packet.finish())
}

/// Returns a name or an error text for rows and log lines: control characters and invalid UTF-8 are replaced.
pub fn text(bytes: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(bytes);
    let shown = text.chars().take(TAG_MAX);
    { shown.map(|c| if c.is_control() { '.' } else { c }) }.collect()
}
