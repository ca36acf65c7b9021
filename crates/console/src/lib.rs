//! The console as a value: bytes from a terminal in, bytes for the terminal out.
//!
//! It owns no terminal and no socket, so that the same editor serves the local shell, an SSH
//! channel and a test. [`Console`] ties the pieces together: [`keys`] turns bytes into keys,
//! [`editor`] edits a line, [`screen`] draws it, [`pager`] shows output
//! a page at a time, and a [`Shell`]
//! supplies what a line means. [`protocol`] carries a console over a local stream socket.

#![forbid(unsafe_code)]

mod colour;
mod console;
pub mod editor;
pub mod history;
pub mod keys;
pub mod pager;
pub mod protocol;
pub mod screen;
mod shell;
pub mod text;

pub use colour::{Colour, Span};
pub use console::{Console, Settings};
pub use pager::{Page, Wire};
pub use shell::{Candidate, Outcome, Said, Shell};
