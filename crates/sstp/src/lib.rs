//! SSTP as a state machine without I/O ([MS-SSTP]).
//!
//! ```text
//! Accepted, Bytes ──▶ ┌──────────┐ ──▶ Connect, Send, Disconnect
//! Dial, Close ──────▶ │ Endpoint │ ──▶ Opened, Packet, Bound, Closed, Failed
//! Authenticated ────▶ └──────────┘ ──▶ Ignored
//! ```
//! An [`Endpoint`] has all SSTP connections of a router, as server and as client. A connection carries one call. The
//! owner has its TLS session. Layers: `http` is the preamble, `packet` cuts packets from the bytes of a connection,
//! `message` is the format of control packets, `binding` ties the PPP authentication to the certificate of the TLS
//! session, `connection` is one connection. Data packets of an open call may pass beside the machine: the owner cuts
//! them with [`Cutter`].

#![forbid(unsafe_code)]

mod binding;
mod connection;
mod endpoint;
mod event;
mod fault;
pub mod http;
mod message;
mod packet;

pub use binding::{BindingHash, Nonce, SessionKeys};
pub use endpoint::{Endpoint, Timer};
pub use event::{Action, ConnectionId, Event, Opened, Reason, Server};
pub use fault::Fault;
pub use message::{Message, Status, StatusInfo};
pub use packet::{Cutter, HEADER, MAX_PACKET, Piece, data_header};
