//! The compiled firewall: filter, NAT, mangle and raw tables of both address families, filter and NAT of
//! bridges, and the objects that their rules refer to.
//!
//! Each built-in chain has a fixed index in its table ([`raw`], [`mangle`], [`nat`], [`filter`]), whether it
//! has rules or not; user chains follow. A table without configuration is empty, and its chains accept. The
//! module [`rule`] defines rules and runs them.

#![forbid(unsafe_code)]

pub mod rule;

use std::sync::Arc;

use conntrack::connection::Settings;
use conntrack::nat::Target;
use conntrack::nat::helper::Services;
use packet::Tuple;

use crate::rule::{CompileMode, Joining, StreamPatterns, Table};

/// Built-in chains of `raw`, which run before connection tracking.
pub mod raw {
    use crate::rule::ChainId;

    /// Packets that arrive at the router.
    pub const PREROUTING: ChainId = ChainId(0);
    /// Packets that the router sends.
    pub const OUTPUT: ChainId = ChainId(1);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["prerouting", "output"];
}

/// Built-in chains of `mangle`.
pub mod mangle {
    use crate::rule::ChainId;

    /// Packets that arrive at the router.
    pub const PREROUTING: ChainId = ChainId(0);
    /// Packets addressed to the router.
    pub const INPUT: ChainId = ChainId(1);
    /// Packets that the router forwards.
    pub const FORWARD: ChainId = ChainId(2);
    /// Packets that the router sends.
    pub const OUTPUT: ChainId = ChainId(3);
    /// Packets that leave the router.
    pub const POSTROUTING: ChainId = ChainId(4);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["prerouting", "input", "forward", "output", "postrouting"];
}

/// Built-in chains of `nat`, for the first packet of a connection.
pub mod nat {
    use crate::rule::ChainId;

    /// Destination NAT of packets that arrive.
    pub const DSTNAT: ChainId = ChainId(0);
    /// Source NAT of packets that leave.
    pub const SRCNAT: ChainId = ChainId(1);
    /// Source NAT of packets addressed to the router.
    pub const INPUT: ChainId = ChainId(2);
    /// Destination NAT of packets that the router sends.
    pub const OUTPUT: ChainId = ChainId(3);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["dstnat", "srcnat", "input", "output"];
}

/// Built-in chains of `filter`.
pub mod filter {
    use crate::rule::ChainId;

    /// Packets addressed to the router.
    pub const INPUT: ChainId = ChainId(0);
    /// Packets that the router forwards.
    pub const FORWARD: ChainId = ChainId(1);
    /// Packets that the router sends.
    pub const OUTPUT: ChainId = ChainId(2);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["input", "forward", "output"];
}

/// Built-in chains of the bridge `nat` table; the bridge `filter` table has those of [`filter`].
pub mod bridge_nat {
    use crate::rule::ChainId;

    /// Destination NAT of frames that arrive.
    pub const DSTNAT: ChainId = ChainId(0);
    /// Source NAT of frames that leave.
    pub const SRCNAT: ChainId = ChainId(1);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["dstnat", "srcnat"];
}

/// Built-in chain of switch chips.
pub mod chip {
    use crate::rule::ChainId;

    /// Frames that arrive at a port.
    pub const INGRESS: ChainId = ChainId(0);
    /// Chain names by index.
    pub const CHAINS: &[&str] = &["ingress"];
}

/// Tables for bridged frames.
#[derive(Clone, Debug, Default)]
pub struct BridgeTables {
    /// Switch chip rules, which run before the bridge.
    pub chip: Arc<Table>,
    /// Translation of MAC addresses.
    pub nat: Arc<Table>,
    /// Filter of bridged frames.
    pub filter: Arc<Table>,
    /// Selects the packets that also pass the IP tables.
    pub detour: Detour,
    /// RouterOS: `/interface/bridge/settings allow-fast-path=no`.
    pub slow: bool,
}

/// RouterOS: `/interface/bridge/settings use-ip-firewall`: selects the bridged packets that pass the IP
/// tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detour {
    /// Untagged packets; if false, no packets.
    pub plain: bool,
    /// Packets with a VLAN tag as well.
    pub vlan: bool,
    /// Packets in PPPoE sessions as well.
    pub pppoe: bool,
}

impl BridgeTables {
    /// Returns true if no table applies to bridged frames.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.detour.plain && self.nat.is_empty() && self.filter.is_empty() && self.chip.is_empty()
    }
}

/// Tables of one address family.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Runs before connection tracking.
    pub raw: Arc<Table>,
    /// Marks and packet changes.
    pub mangle: Arc<Table>,
    /// Address translation.
    pub nat: Arc<Table>,
    /// Accepts or drops packets.
    pub filter: Arc<Table>,
}

/// The whole compiled firewall. State of matchers belongs to their rules; connections and counters are stored
/// elsewhere and survive a replacement of the firewall.
#[derive(Clone, Debug, Default)]
pub struct Firewall {
    /// IPv4 tables.
    pub ipv4: Tables,
    /// IPv6 tables.
    pub ipv6: Tables,
    /// Tables for bridged frames.
    pub bridge: BridgeTables,
    /// NAT targets by the index of `Action::Translate`. An index is valid within one snapshot only: a
    /// connection stores the translation itself.
    pub targets: Arc<[Target]>,
    /// True if IPv4 connections are tracked.
    pub tracks4: bool,
    /// True if IPv6 connections are tracked.
    pub tracks6: bool,
    /// Settings of connection tracking.
    pub settings: Settings,
    /// Ports whose connections helpers read.
    pub services: Services,
    /// True if a later stage such as queues reads packet marks: marks are then kept even if no rule matches
    /// them.
    pub keeps_marks: bool,
    /// Compiled stream patterns of all tables ([`Self::seek`]).
    pub sought: StreamPatterns,
}

impl Tables {
    /// Removes a connection from all `connection-limit` counters because it ended or never entered the table.
    /// `original` is the tuple of its first packet as received.
    #[inline]
    pub fn leave(&self, original: &Tuple) {
        for table in [&self.mangle, &self.nat, &self.filter] {
            table.leave(original);
        }
    }
}

impl Firewall {
    /// Returns the tables of a family.
    #[inline]
    pub const fn tables(&self, ipv6: bool) -> &Tables {
        if ipv6 { &self.ipv6 } else { &self.ipv4 }
    }

    /// Compiles the stream patterns of all rules; reuses those that `before` has compiled.
    pub fn seek(&mut self, before: &Self) {
        self.seek_so(before, CompileMode::Joined);
    }

    /// Compiles the stream patterns separately, which is fast; returns the joint automaton to compile later,
    /// if there is one.
    pub fn seek_at_once(&mut self, before: &Self) -> Option<Joining> {
        self.seek_so(before, CompileMode::Apart);
        self.sought.to_join(&before.sought)
    }

    fn seek_so(&mut self, before: &Self, making: CompileMode) {
        let families = [&self.ipv4, &self.ipv6].into_iter();
        let tables = families
            .flat_map(|tables| [&tables.raw, &tables.mangle, &tables.nat, &tables.filter])
            .chain([&self.bridge.chip, &self.bridge.nat, &self.bridge.filter])
            .map(|table| &**table);
        self.sought = before.sought.follow(tables, making);
    }

    /// Returns true if packets of a family need processing: rules exist, or connections are tracked.
    #[inline]
    pub fn guards(&self, ipv6: bool) -> bool {
        self.tracks(ipv6) || self.filters(ipv6)
    }

    /// Returns true if a family has rules.
    #[inline]
    pub fn filters(&self, ipv6: bool) -> bool {
        let tables = self.tables(ipv6);
        let tables = [&tables.raw, &tables.mangle, &tables.nat, &tables.filter];
        tables.iter().any(|table| !table.is_empty())
    }

    /// Returns true if the treatment of a connection's packets is constant until a rule, a route, a neighbour
    /// or the connection itself changes.
    #[inline]
    pub fn is_steady(&self, ipv6: bool) -> bool {
        let tables = self.tables(ipv6);
        let tables = [&tables.raw, &tables.mangle, &tables.nat, &tables.filter];
        tables.iter().all(|table| !table.follows)
    }

    /// Returns true if connections of a family are tracked.
    #[inline]
    pub const fn tracks(&self, ipv6: bool) -> bool {
        if ipv6 { self.tracks6 } else { self.tracks4 }
    }
}
