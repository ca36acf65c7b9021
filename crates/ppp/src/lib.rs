//! PPP as a state machine without I/O: LCP (RFC 1661), authentication (RFC 1334, 1994, 2433, 2759), IPCP (RFC 1332,
//! 1877), IPv6CP (RFC 5072), multilink framing on one link (RFC 1990), CCP (RFC 1962) with MPPE (RFC 3078, 3079).
//!
//! ```text
//! LowerUp, Packet ──▶ ┌─────────┐ ──▶ Send
//! Granted, Refused ─▶ │ Session │ ──▶ Verify, LinkUp, Ipv4Up, Ipv6Up
//! Traffic, Close ───▶ └─────────┘ ──▶ QueryTraffic, Down, Count
//! ```
//!
//! A [`Session`] is one end of a link. Its carrier (PPPoE, L2TP …) transports packets from their protocol field on;
//! its owner verifies claims, assigns addresses, and lets data packets pass beside the session. Layers:
//! `automaton` is the table of RFC 1661, 4.1; `negotiation` runs it with timer and packets; `lcp` and `network` are
//! the options; `auth` has both ends of authentication; `session` has the phases.

#![forbid(unsafe_code)]

mod auth;
mod automaton;
mod bridged;
mod ccp;
mod encryption;
mod event;
mod keepalive;
mod lcp;
mod mppe;
mod multilink;
mod negotiation;
mod network;
mod packet;
mod reason;
mod session;
mod settings;

pub use auth::claim::{Claim, Proof, Response};
pub use bridged::{BRIDGED_FRONT, BRIDGED_HEADER, BridgedFrame};
pub use event::{Action, BridgeLink, Event, Grant, Ipv4Grant, Ipv4Link, Ipv6Link, Link, Multilink};
pub use mppe::{
    Decryptor, Encryption, Encryptor, KeyLength, KeyLengths, MPPE_HEADER, Mppe, MppeFault,
    MppeKeys, StartKey,
};
pub use multilink::{Fragment, Reassembled, Reassembly, fragments};
pub use packet::{
    BCP, BRIDGED, CCP, CHAP, ENCRYPTED, IPCP, IPV4, IPV6, IPV6CP, LCP, MULTILINK, PAP, Packet,
    split,
};
pub use reason::{CloseReason, DownReason, Fault, TerminateCause};
pub use session::{Session, Timer};
pub use settings::{
    Credentials, EncryptionPolicy, Keepalive, Method, Methods, Password, Role, Settings,
};
