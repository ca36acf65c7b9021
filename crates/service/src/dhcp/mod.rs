//! DHCP for IPv4 (RFC 2131): message format and the state machines of client, server and relay agent.

pub mod client;
mod message;
pub mod relay;
pub mod server;

pub use message::{
    CLIENT_PORT, Malformed, Message, MessageType, Options, SERVER_PORT, code, packet,
};
