//! Authentication and authorization: users, groups, passwords, keys, sessions.
//!
//! This crate performs no I/O: callers pass in time and salt, and receive log lines. A login has three steps, so that
//! no lock is held during a slow hash:
//!
//! ```text
//! Access::attempt, ::turn ──▶ Attempt::password or ::key ──▶ Access::admit ──▶ Login
//!     users, limits              slow, without any lock       sessions, log
//! ```
//!
//! Strangers cannot lock users out: a key needs no turn; an address from which the user logged in before has its own
//! rate limit; all other addresses wait in fair order ([`Turns`]).
//!
//! An unknown user costs as much time as a known one, and all refusals have the same text.
//!
//! Start reading at `login.rs`.

#![forbid(unsafe_code)]

mod ending;
mod host_key;
mod limit;
mod login;
pub mod password;
mod rights;
mod service;
mod turns;
mod user;

pub use host_key::HostKey;
pub use login::{Access, Active, Answer, Attempt, Line, Login, Refused, Source, Vouched, network};
pub use service::Service;
pub use turns::Turns;
pub use user::{full_users, without_password};
