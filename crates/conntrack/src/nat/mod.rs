//! Address translation: what a rule's action makes of a new connection, and what that does to every
//! packet of it (RFC 3022, RFC 4787, RFC 5382, RFC 5508; RouterOS `/ip/firewall/nat`).
//!
//! A rule's action is a [`Target`]. The first packet of a connection gives it to [`choose`], once
//! for the destination (dstnat) and once for the source (srcnat); [`settle`] then sees to it that the
//! connection's answers are told from everybody else's. What comes out is two tuples: the original
//! one, as the packet came, and the reply tuple, the reverse of how it leaves. From them follows one
//! [`Rewrite`] per direction, which lies in the connection's line and is applied to each packet
//! without another thought: new addresses, new ports, and the difference that they make to
//! checksums, computed once.
//!
//! ```text
//! original   10.0.0.2:5000 → 192.0.2.9:443        Rewrite::of(original, reply.reversed())
//! reply      192.0.2.9:443 → 198.51.100.1:5000    Rewrite::of(reply, original.reversed())
//! ```

mod apply;
mod choose;
mod crc32c;
pub mod helper;
mod icmp_error;
mod mapping;
mod rewrite;
mod sequence;
mod target;
#[cfg(test)]
mod tests;

pub use apply::{Malformed, Shape};
pub use choose::{Context, Exhausted, PROBES, Unique, choose, is_endpoint_independent, settle};
pub use mapping::{ADDRESSES, Endpoint, Mappings, Unavailable};
pub use rewrite::{Layer, Rewrite};
pub use sequence::{Shift, shift};
pub use target::{Action, Addresses, Ports, Side, Target};
