//! DHCP for IPv6 (RFC 8415): message format, client, server, and pools of prefixes.

pub mod client;
mod message;
pub mod pool;
pub mod pools;
pub mod server;

pub use message::{
    ALL_SERVERS, Association, CLIENT_PORT, Kind, Leased, Malformed, Message, Options, SERVER_PORT,
    Status, code, packet,
};
