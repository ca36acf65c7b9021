//! Certificates (X.509, RFC 5280) as values: made, signed, read, written to files, trusted.
//!
//! The formats are the libraries' (rcgen writes, x509-parser reads, p12-keystore has PKCS#12); here is what a router
//! makes of them:
//!
//! ```text
//! template + key ──▶ make ──▶ certificate, request, list of revoked ones
//! file ──▶ import ──▶ certificates and keys        certificate, key ──▶ export ──▶ files
//! certificate ──▶ Facts (what menus show)          trusted ones ──▶ Trust (who may prove to be whom)
//! key ──▶ Signing ──▶ signature ──▶ verify         chain, Trust ──▶ judge
//! ```
//! No clock, no file, no store: time and random numbers of certificates are passed in; keys come from the library's
//! generator. Begin reading at `make.rs`.

#![forbid(unsafe_code)]

pub mod export;
mod facts;
pub mod import;
mod judge;
mod key;
mod make;
mod pbes1;
mod sign;
mod trust;

pub use facts::{Facts, issued_by, of_text, to_text};
pub use judge::{is_revoked, judge};
pub use key::{Digest, Key, KeySize};
pub use make::{
    Authority, Revoked, Subject, Template, request, revocation_list, self_signed, signed,
    signed_request,
};
pub use sign::{Hash, Signing, Way, sha1, verify};
pub use trust::{Check, Trust, builtin};

#[cfg(test)]
mod tests;
