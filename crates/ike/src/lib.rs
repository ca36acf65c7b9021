//! IKEv1 (RFC 2407 to 2409) and IKEv2 (RFC 7296) as one state machine without I/O: negotiates keys with peers,
//! and reports the SAs of ESP and AH that the data plane has to install.
//!
//! ```text
//! peers, policies ──▶ ┌────────┐ ──▶ Send
//! Datagram ─────────▶ │ Engine │ ──▶ Install, Activate, Remove     (pairs of SAs with their keys)
//! Acquire ──────────▶ └────────┘ ──▶ Established, Closed, Log      peers(), phase2(), counters()
//! ```
//!
//! The engine owns no socket, no clock and no thread. Callers pass the time in, and an [`Entropy`] source of
//! keys, nonces, SPIs and cookies.

#![forbid(unsafe_code)]

mod config;
mod crypto;
mod curve;
mod der;
mod describe;
mod dn;
mod eap;
mod engine;
mod event;
mod gate;
mod message;
mod mode_config;
mod mschap;
mod suite;
mod tls_key;
mod v1;
mod v2;

pub use config::{
    Auth, Certified, EapLogin, EapMethod, Exchange, GeneratePolicy, Id, Identity, Level, Mode,
    ModeConfig, NoSignature, Peer, PeerId, Policy, PolicyId, Profile, Proposal, ProposalCheck,
    Protocol, RemoteId, Scheme, Secret, Selector, Signer, Verifier,
};
pub use crypto::Entropy;
pub use eap::EapServer;
pub use engine::{Counters, Engine};
pub use event::{
    Action, Child, ChildId, EapReply, Event, Lease, Level as LogLevel, Log, Phase2, Row, Sa, SaId,
    Settings, Side, State, Timer, Traffic, Why,
};
pub use gate::{CHALLENGE_BYTES, Gate, Sort};
pub use suite::{ChildSuite, Cipher, Encryption, Group, Hash, Kind};
pub use tls_key::tls_signing_key;
