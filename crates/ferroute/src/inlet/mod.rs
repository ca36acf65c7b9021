//! Sockets for control: DNS, web pages, mail, RADIUS, log servers, host checks, and TCP connections of features.

pub(crate) mod adlists;
pub(crate) mod doh;
pub(crate) mod fetches;
pub(crate) mod mails;
pub(crate) mod names;
pub(crate) mod outgoing;
pub(crate) mod probes;
pub(crate) mod radius;
pub(crate) mod radsec;
pub(crate) mod resolve;
pub(crate) mod streams;
pub(crate) mod syslog;
pub(crate) mod web;
