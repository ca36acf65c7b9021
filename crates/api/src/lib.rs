//! What other programs say to the router and how they are answered, as values: no socket, no
//! thread, no clock.
//!
//! - The binary API: bytes become words and sentences (`word.rs`, `sentence.rs`); a [`Connection`]
//!   holds its state from login to `/quit` and which commands run (`connection.rs`).
//! - REST: a request of HTTP becomes requests of the script crate and their rows JSON (`rest.rs`,
//!   `body.rs`), described by `openapi.rs`.
//!
//! It knows no menu by name: what can be asked for follows from the declarations.

#![forbid(unsafe_code)]

mod body;
mod connection;
pub mod openapi;
pub mod rest;
mod sentence;
mod word;

pub use body::unescape;
pub use connection::{Action, Connection, RUNNING};
pub use sentence::{Reply, Sentence};
pub use word::{Broken, Decoder, Limits, encode_word};
