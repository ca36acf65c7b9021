//! `/mpls`: MPLS (RFC 3031).

pub(crate) mod forwarding_table;
pub(crate) mod interface;
pub(crate) mod ldp;
pub(crate) mod mangle;
pub(crate) mod settings;
pub(crate) mod traffic_eng;
