//! `/routing/bfd`: bidirectional forwarding detection (RFC 5880).

pub(crate) mod configuration;
pub(crate) mod interface;
pub(crate) mod session;
