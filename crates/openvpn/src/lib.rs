//! OpenVPN as state machines without I/O, by OpenVPN 2.6's `ssl.c`, `ssl_pkt.c`, `reliable.c` and `push.c`; there is no
//! RFC.
//!
//! ```text
//! Received, Accept ──▶ ┌────────┐ ──▶ Send
//! Refuse, Traffic ───▶ │ Server │ ──▶ Authenticate, Opened
//! Moved, Close ──────▶ └────────┘ ──▶ Keys, UseKey, RetireKey, Ping, Closed, Ignored
//!
//! Connect, Received ─▶ ┌────────┐ ──▶ Send, Opened, Keys …
//! Traffic, Close ────▶ │ Client │
//!                      └────────┘
//! ```
//! Layers of the control channel: `packet` and `wrap` (tls-auth, tls-crypt) are the formats, `reliable` delivers
//! messages in order, `tls` is rustls in memory, `record` holds the random numbers and options of key method 2,
//! `negotiation` has all of them for one key, `session` has a peer's negotiations. `cookie` lets a server answer
//! without state. Data packets pass beside the machines, with the keys of [`Action::Keys`], by [`data`].

#![forbid(unsafe_code)]

mod client;
mod client_file;
mod cookie;
pub mod data;
mod event;
mod fault;
mod negotiation;
mod options;
mod packet;
mod path;
mod peer_info;
mod prf;
mod push;
mod record;
mod reliable;
mod server;
mod session;
mod static_key;
pub mod stream;
mod suite;
mod tls;
mod wrap;

pub use client::Client;
pub use client_file::{ClientFile, FileFault, LeftOut, MAX_FILE_BYTES, protection_from_text};
pub use event::{
    Action, ClientEvent, ClientSettings, DataKeys, Grant, Login, Opened, Reason, Renegotiation,
    ServerEvent, ServerSettings, SessionId, Traffic,
};
pub use fault::Fault;
pub use options::{Device, Mismatch, RemoteOptions};
pub use packet::{MAX_CONTROL_BYTES, is_data};
pub use path::{Path, Transport};
pub use peer_info::PeerInfo;
pub use push::{Address6, Framing, Push, Route, Route6, Topology};
pub use server::{Server, Timer};
pub use static_key::StaticKey;
pub use suite::{Bits, Cipher, Digest, DirectionKeys, Keys, Suite, digest_from_name};
pub use tls::{Job, Runner, TlsConfig};
pub use wrap::Protection;
