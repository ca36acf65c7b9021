//! MikroTik's bandwidth test (`/tool/bandwidth-test`, `/tool/bandwidth-server`): client and server as state
//! machines.
//!
//! ```text
//! wire ◀─ md5, srp ◀─ client, server ─▶ data ─▶ flow      rate of the sender
//!                                            ─▶ finder    status messages among data of TCP
//!                                            ─▶ losses    gaps among datagrams
//!                                            ─▶ figures   measurements
//! ```
//!
//! The state machines own no socket, thread or clock. A driver passes in received bytes as events and
//! carries out their actions in order; it may block, poll or use tasks. Data to send never pass
//! through a machine: the driver sends its own buffers, as much as [`Flow`] allows; received data are
//! inspected in place.
//!
//! Begin reading with [`wire`], then [`Client`]. MikroTik publishes no description of the protocol;
//! comments name the details that are unknown.

#![forbid(unsafe_code)]

pub mod client;
pub mod curve;
mod data;
mod figures;
mod finder;
mod flow;
mod inbox;
mod losses;
pub mod md5;
mod password;
mod reason;
pub mod server;
pub mod srp;
pub mod wire;

pub use client::{Client, Status, Test};
pub use figures::{Figures, Rates};
pub use flow::{Allowance, Flow, buffer};
pub use password::Password;
pub use reason::Reason;
pub use server::{Authentication, Connection, Credential, Server, Settings};
