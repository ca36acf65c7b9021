//! DHCP for IPv6 (RFC 8415): messages, and the machines that speak them.

pub mod client;
mod message;
pub mod pool;

pub use message::{
    ALL_SERVERS, Association, CLIENT_PORT, Kind, Leased, Malformed, Message, Options, SERVER_PORT,
    Status, code, packet,
};
