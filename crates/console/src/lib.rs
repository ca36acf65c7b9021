//! The console without I/O: takes terminal input as bytes and returns terminal output as bytes.
//!
//! It owns no terminal and no socket: the same code serves the local shell, an SSH channel and tests.
//! [`Console`] combines the parts: [`keys`] decodes input, [`editor`] edits a line, [`screen`] draws it,
//! [`pager`] shows output page by page, and a [`Shell`] interprets lines. [`protocol`] carries a console over a
//! local stream socket.

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
pub mod text_editor;

pub use colour::{Colour, Span};
pub use console::{Console, Settings};
pub use pager::{Page, Wire};
pub use shell::{Candidate, Outcome, SafeModeReply, Shell};
