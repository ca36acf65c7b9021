//! L2TP version 2 as a state machine without I/O (RFC 2661).
//!
//! ```text
//! Received, Dial ──▶ ┌──────────┐ ──▶ Send
//! Close, Configure ▶ │ Endpoint │ ──▶ Opened, Packet, Moved
//!                    └──────────┘ ──▶ Closed, Failed, Ignored
//! ```
//! An [`Endpoint`] has all tunnels of a router, as LNS (server) and as LAC client. Layers: `header` and `avp` are the
//! formats; `message` has the fields of a control message; `channel` delivers messages in order, with retransmission;
//! `tunnel` is one control connection with its calls; `half_open` holds what servers know of tunnels whose initiator
//! has not proved its address. PPP packets pass beside the machine once a session is open.

#![forbid(unsafe_code)]

mod avp;
mod channel;
mod endpoint;
mod event;
mod half_open;
mod header;
mod message;
mod secret;
mod tunnel;

pub use avp::{Avp, Builder, Malformed, attribute, avps};
pub use endpoint::{Endpoint, Timer};
pub use event::{
    Action, CallIds, Event, Fault, Opened, Path, PeerResult, Reason, Server, SessionId,
};
pub use header::{Control, Data, Header, PPP_ADDRESS, data_header};
pub use message::{Message, kind, result};
pub use secret::{Secret, Secrets};
