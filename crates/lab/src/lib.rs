//! Labs: a few hosts in network namespaces with a router between them, for tests and for people.
//!
//! ```text
//!   client ──── ether2 ┐
//!                      [ router ] ether1 ──── server        the lab `home`
//!   laptop ──── ether3 ┘
//! ```
//!
//! A [`Layout`] says what a lab is: hosts, links, addresses, routes. It is a value; [`LAYOUTS`]
//! lists those that `ferroute lab up NAME` knows. [`plan`] turns one into the commands of `ip`,
//! `ethtool` and `sh` that make it, without running any. [`Lab`] runs them and holds the result.
//! A [`Story`] says what one of them shows, and [`traffic`] measures it. [`daemons`] lists the programs that run in
//! the hosts of a layout, and [`sites`] its further routers.
//!
//! Two ways to hold a lab ([`Holding`]), the same in every other respect:
//! - `Named`, as root: namespaces that `ip netns list` shows as `ferroute-LAB-HOST`.
//! - `Held`, for anybody who may make a user namespace: one waiting process per host.
//!
//! What a crash leaves behind is written down before it is made (`record`), and the next `up`
//! removes it. This crate never touches a device outside its own namespaces, and asks for no
//! `unsafe`: whoever must enter a namespace does so through `nsenter`, or by
//! [`Lab::enter`] for the calling thread. Begin reading at `layout.rs`, then `lab.rs`.

#![forbid(unsafe_code)]

pub mod cli;
mod daemons;
mod error;
mod everyday;
mod holding;
mod lab;
mod layout;
pub mod plan;
mod process;
pub mod program;
mod record;
mod site;
mod story;
pub mod testing;
pub mod traffic;

pub use daemons::{Daemon, File, LEASE, LEASE_SCRIPT, daemons, furnish};
pub use error::Error;
pub use holding::Holding;
pub use lab::{Lab, Life, Listed, Options};
pub use layout::{End, Host, LAYOUTS, Layout, Link, Offloads, Route, layout};
pub use site::{Site, setup, sites};
pub use story::{Flow, STORIES, Story, story};
