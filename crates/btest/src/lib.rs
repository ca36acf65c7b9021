//! MikroTik's bandwidth test (`/tool/bandwidth-test`, `/tool/bandwidth-server`): its client and its
//! server as machines.
//!
//! ```text
//! wire ◀─ md5, srp ◀─ client, server ─▶ data ─▶ flow      what may be sent
//!                                            ─▶ finder    status messages among data of TCP
//!                                            ─▶ losses    gaps among datagrams
//!                                            ─▶ figures   what is shown
//! ```
//!
//! Machines have no socket, thread or clock. A driver gives them what arrives as events and carries
//! out their actions in order; whether it blocks, polls or waits in tasks is its own affair. Data
//! never cross a machine: what is sent comes from buffers of the driver, as much as [`Flow`] says;
//! what is received is looked at in place.
//!
//! Begin reading with [`wire`], then [`Client`]. MikroTik publishes no description of the protocol;
//! what is not known for sure is said where it matters.

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
