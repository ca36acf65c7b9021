//! PPTP as a state machine without I/O (RFC 2637).
//!
//! ```text
//! Accepted, Bytes ─▶ ┌──────────┐ ──▶ Connect, Send, Disconnect
//! Dial, Close ─────▶ │ Endpoint │ ──▶ Opened, Closed, Failed
//! Ended, Configure ▶ └──────────┘ ──▶ Ignored
//! ```
//! An [`Endpoint`] has all control connections of a router: as server the PAC, which others call, as client the PNS,
//! which calls. A control connection carries one call. Layers: `message` is the format of control messages, `stream`
//! cuts them from the bytes of a TCP connection, `connection` is one control connection with its call. [`gre`] is the
//! format of the call's packets, which pass beside the machine.

#![forbid(unsafe_code)]

mod connection;
mod endpoint;
mod event;
pub mod gre;
mod message;
mod stream;

pub use endpoint::{Endpoint, Timer};
pub use event::{Action, CallId, ConnectionId, Event, Fault, Opened, Reason, Server};
pub use message::{Message, StartFields};
pub use stream::Stream;
