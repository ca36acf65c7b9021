//! The API and the REST API without I/O: no socket, no thread, no clock.
//!
//! - The binary API: bytes become words and sentences (`word.rs`, `sentence.rs`). A [`Connection`] tracks its
//!   state from login to `/quit` and the running commands (`connection.rs`).
//! - REST: HTTP requests become requests of the script crate, and their rows become JSON (`rest.rs`,
//!   `body.rs`). `openapi.rs` generates the API description.
//! - Streams: the rows of a command that goes on, as events (`stream.rs`).
//! - Views: the visible part of a menu's rows, for tables that follow the router (`view/`).
//!
//! The crate knows no menu by name: available requests follow from the menu declarations.

#![forbid(unsafe_code)]

mod body;
mod connection;
pub mod openapi;
pub mod rest;
mod sentence;
pub mod stream;
pub mod view;
mod word;

pub use body::unescape;
pub use connection::{Action, Connection, RUNNING};
pub use sentence::{Reply, Sentence};
pub use word::{DecodeError, Decoder, Limits, encode_word};
