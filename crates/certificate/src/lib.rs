//! X.509 certificates (RFC 5280): creation, signing, parsing, import, export and trust.
//!
//! Libraries implement the formats (rcgen writes, x509-parser reads, p12-keystore handles PKCS#12). This crate adds
//! the router's functions:
//!
//! ```text
//! template + key ──▶ make ──▶ certificate, request, revocation list
//! file ──▶ import ──▶ certificates and keys        certificate, key ──▶ export ──▶ files
//! certificate ──▶ Facts (fields in menus)          trusted authorities ──▶ Trust (verification of peers)
//! key ──▶ Signing ──▶ signature ──▶ verify         chain, Trust ──▶ verify_chain
//! public key ──▶ TokenKey ──▶ dyn Token (a smart card)
//! ```
//! The crate has no clock, files or store: callers pass in time and random serial numbers; keys come from the
//! library's generator. Start reading at `make.rs`.

#![forbid(unsafe_code)]

mod algorithm;
mod chain;
pub mod export;
mod facts;
pub mod import;
mod key;
mod make;
mod pbes1;
mod scheme;
mod sign;
mod token;
mod trust;

pub use algorithm::{Digest, KeySize};
pub use chain::{is_revoked, verify_chain};
pub use facts::{Facts, issued_by, of_text, to_text};
pub use key::Key;
pub use make::{
    Authority, Revoked, Subject, Template, request, revocation_list, self_signed, signed,
    signed_request,
};
pub use scheme::{Hash, SignatureScheme, sha1};
pub use sign::{Signing, verify};
pub use token::{Token, TokenJob, TokenKey, set_token, token};
pub use trust::{Check, Trust, builtin};

#[cfg(test)]
mod tests;
