//! Who may log in, and with which policies: users, groups, passwords, keys, and who is logged in.
//!
//! Sans-IO: time and salt are passed in, and what is worth a line in the log goes to the caller's
//! vector. A login has three steps, so that nobody waits for a slow hash behind a lock:
//!
//! ```text
//! Access::attempt, ::turn ──▶ Attempt::password or ::key ──▶ Access::admit ──▶ Login
//!     users, limits              slow, without any lock       sessions, log
//! ```
//!
//! Strangers cannot lock anybody out: a key needs no turn, a user at an address from which that user
//! has logged in before has turns of their own, and everybody else waits, one address behind another
//! ([`Turns`]).
//!
//! An unknown user costs as much time as a known one, and every refusal reads the same.
//!
//! Begin reading at `login.rs`.

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
