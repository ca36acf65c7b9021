//! `/routing`: routing tables, rules and protocols.

pub(crate) mod bfd;
pub(crate) mod bgp;
pub(crate) mod fantasy;
pub(crate) mod filter;
pub(crate) mod gmp;
pub(crate) mod id;
pub(crate) mod igmp_proxy;
pub(crate) mod isis;
pub(crate) mod mme;
pub(crate) mod nexthop;
pub(crate) mod ospf;
pub(crate) mod ospf_v3;
pub(crate) mod pimsm;
pub(crate) mod rip;
pub(crate) mod route;
pub(crate) mod rpki;
pub(crate) mod rule;
pub(crate) mod settings;
pub(crate) mod stats;
pub(crate) mod table;
