//! Labs: a few hosts in network namespaces with a router between them, for tests and for demonstrations.
//!
//! ```text
//!   client ──── ether2 ┐
//!                      [ router ] ether1 ──── server        the lab `home`
//!   laptop ──── ether3 ┘
//! ```
//!
//! A [`Layout`] describes a lab as a value: hosts, links, addresses, routes. [`LAYOUTS`] lists the
//! layouts of `ferroute lab up NAME`. [`plan`] turns a layout into commands of `ip`, `ethtool` and
//! `sh`, without running them. [`Lab`] runs them and owns the result. A [`Story`] explains what a lab
//! shows, and [`traffic`] measures it. [`daemons`] lists the programs that run in the hosts of a
//! layout, and [`sites`] its further routers.
//!
//! Namespaces stay alive by one of two mechanisms ([`Holding`]):
//! - `Named`, as root: namespaces that `ip netns list` shows as `ferroute-LAB-HOST`.
//! - `Held`, without privileges: one waiting process per host in a user namespace.
//!
//! Each lab is recorded before it is created (`record`); after a crash the next `up` removes it. This
//! crate never touches a device outside its own namespaces, and needs no `unsafe`: processes enter a
//! namespace by `nsenter`, threads by [`Lab::enter`]. Begin reading at `layout.rs`, then `lab.rs`.

#![forbid(unsafe_code)]

mod bridge_stories;
mod catalogue;
pub mod cli;
mod daemons;
mod error;
mod everyday;
mod firewall_stories;
mod holding;
mod isp;
mod lab;
mod layout;
pub mod plan;
mod port_stories;
mod process;
pub mod program;
mod record;
mod site;
mod stories;
mod story;
mod subscribers;
pub mod testing;
pub mod traffic;
mod vpn_stories;

pub use catalogue::{LAYOUTS, daemons, furnish, layout, setup, sites};
pub use daemons::{Daemon, File, LEASE, LEASE_SCRIPT};
pub use error::Error;
pub use holding::Holding;
pub use lab::{Lab, Life, Listed, Options};
pub use layout::{End, Host, Layout, Link, Offloads, Route};
pub use site::Site;
pub use stories::{STORIES, story};
pub use story::{Flow, Story};
