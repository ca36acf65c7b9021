//! Authentication: PAP (RFC 1334), CHAP (RFC 1994), MS-CHAP 1 (RFC 2433) and 2 (RFC 2759), of both ends.

pub(crate) mod chap;
pub(crate) mod claim;
pub(crate) mod client;
pub(crate) mod pap;
pub(crate) mod server;
