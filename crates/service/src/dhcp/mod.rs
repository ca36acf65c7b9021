//! DHCP for IPv4 (RFC 2131): messages, and the machines that speak them.
//!
//! [`Message`] is what servers, clients and relay agents have in common.

mod message;

pub use message::{
    CLIENT_PORT, Malformed, Message, MessageType, Options, SERVER_PORT, code, packet,
};
