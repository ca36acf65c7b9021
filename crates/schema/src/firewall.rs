//! Matchers, actions and their order, shared by the tables of the IPv4 and the IPv6 firewall.
//!
//! A table's properties are fragments in the order of `print detail`. `!` before a matcher's value negates it;
//! an unset matcher matches every packet.

mod action;
mod check;
mod kind;
mod matcher;
mod names;
mod table;

pub(crate) use action::{LISTS, changes, head};
pub(crate) use kind::{
    ADDRESSES_V4, ADDRESSES_V6, BYTE, LIMIT, PROTOCOL, PROTOCOLS, TIME, TYPES_V4, TYPES_V6,
};
pub(crate) use matcher::{
    ADDRESS_LISTS, COUNTS, FLAGS, HEADERS, HOP_LIMIT, HOTSPOT, INTERFACES, LOG, NAT_STATE, P2P,
    PACKET, PACKET_MARK, STATE, TLS, TRACKED_V4, TRACKED_V6, TTL, V4, address_types, addresses,
};
pub(crate) use names::{LIST_NAMES, chains};
pub(crate) use table::{COMMANDS, HITS, OLD, OLD_MARKS, OLD_NAT, STATS, table};
