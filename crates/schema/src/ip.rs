//! `/ip`: version 4 of the Internet protocol.

pub(crate) mod address;
pub(crate) mod arp;
pub(crate) mod route;
pub(crate) mod service;
pub(crate) mod settings;
