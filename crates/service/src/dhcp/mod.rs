//! DHCP for IPv4 (RFC 2131): messages, and the machines that speak them.
//!
//! [`server`] gives addresses. [`Message`] is what servers, clients and relay agents have in common.

pub mod client;
mod message;
pub mod relay;
pub mod server;

pub use message::{
    CLIENT_PORT, Malformed, Message, MessageType, Options, SERVER_PORT, code, packet,
};
