//! Who may log in, and with which policies: users, groups, passwords, keys, and who is logged in.
//!
//! Sans-IO: time and salt are passed in, and what is worth a line in the log goes to the caller's
//! vector. A login has three steps, so that nobody waits for a slow hash behind a lock:
//!
//! ```text
//! Access::attempt ──▶ Attempt::password or ::key ──▶ Access::admit ──▶ Login
//!   users, limits        slow, without any lock        sessions, log
//! ```
//!
//! An unknown user costs as much time as a known one, and every refusal reads the same.
//!
//! Begin reading at `login.rs`.

#![forbid(unsafe_code)]

mod ending;
mod limit;
mod login;
pub mod password;
mod rights;
mod service;
mod user;

pub use login::{Access, Active, Answer, Attempt, Line, Login, Refused};
pub use service::Service;
pub use user::{full_users, without_password};
