//! L2TP as a state machine without I/O: version 2 for PPP (RFC 2661), and version 3 for Ethernet (RFC 3931, RFC 4719).
//!
//! ```text
//! Received, Dial ──▶ ┌──────────┐ ──▶ Send
//! Close, Configure ▶ │ Endpoint │ ──▶ Opened, Packet, Moved
//!                    └──────────┘ ──▶ Closed, Failed, Ignored
//! ```
//! An [`Endpoint`] has all tunnels of a router, as LNS (server) and as LAC client. Layers: `header` and `avp` are the
//! formats; `message` has the fields of a control message; `channel` delivers messages in order, with retransmission;
//! `tunnel` is one control connection with its calls; `half_open` holds what servers know of tunnels whose initiator
//! has not proved its address; `dialect` has the messages of both versions, and `digest` the digests of version 3.
//! Packets of sessions pass beside the machine once a session is open.

#![forbid(unsafe_code)]

mod avp;
mod channel;
mod dialect;
mod digest;
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
    Action, CallIds, Digest, Event, Fault, Opened, OpenedPseudowire, Path, PeerResult, Pseudowire,
    Reason, Server, SessionId,
};
pub use header::{Control, Data, Header, PPP_ADDRESS, Version, data_header};
pub use message::{Message, kind, result};
pub use secret::{Secret, Secrets};
