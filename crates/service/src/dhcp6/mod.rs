//! DHCP for IPv6 (RFC 8415): message format, client, and pools of prefixes.

pub mod client;
mod message;
pub mod pool;

pub use message::{
    ALL_SERVERS, Association, CLIENT_PORT, Kind, Leased, Malformed, Message, Options, SERVER_PORT,
    Status, code, packet,
};
