//! Network address translation: chooses the translation of a new connection and rewrites its packets
//! (RFC 3022, RFC 4787, RFC 5382, RFC 5508; RouterOS `/ip/firewall/nat`).
//!
//! A rule's action is a [`Target`]. For a connection's first packet the caller passes it to [`choose`], once
//! for the destination (dstnat) and once for the source (srcnat); [`settle`] then makes sure that the replies
//! are distinguishable from those of all other connections. The result is two tuples: the original one, as
//! the packet arrived, and the reply tuple, the reverse of how it leaves. Each direction gets one
//! [`Rewrite`], stored in the connection's entry and applied to each packet: new addresses, new ports, and
//! the precomputed difference of the checksums.
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

pub use apply::{Malformed, PacketLayout};
pub use choose::{Context, Exhausted, PROBES, Unique, choose, is_endpoint_independent, settle};
pub use mapping::{ADDRESSES, Endpoint, Mappings, Unavailable};
pub use rewrite::{Layer, Rewrite};
pub use sequence::{Shift, shift};
pub use target::{Action, Addresses, Ports, Side, Target};
