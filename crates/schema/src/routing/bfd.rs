//! `/routing/bfd`: finding out fast whether neighbours can be reached (RFC 5880).

pub(crate) mod configuration;
pub(crate) mod interface;
pub(crate) mod session;
