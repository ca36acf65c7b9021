//! Network control protocols: IPCP (RFC 1332, 1877) and IPv6CP (RFC 5072).

pub(crate) mod bcp;
pub(crate) mod ipcp;
pub(crate) mod ipv6cp;
