//! The compiled firewall: filter, NAT, mangle and raw tables of both families, filter and NAT of bridges, and what
//! their rules refer to.
//!
//! A built-in chain always has the same place in its table, with or without rules ([`raw`], [`mangle`], [`nat`],
//! [`filter`]); user chains follow. A table without configuration is empty, and its chains accept.
//! What rules are and how they run stands in [`rule`].

#![forbid(unsafe_code)]

pub mod rule;

use std::sync::Arc;

use conntrack::connection::Settings;
use conntrack::nat::Target;
use conntrack::nat::helper::Services;
use packet::Tuple;

use crate::rule::{Joining, Making, Sought, Table};

/// The built-in chains of `raw`, before connections are looked at.
pub mod raw {
    use crate::rule::ChainId;

    /// Packets that arrive.
    pub const PREROUTING: ChainId = ChainId(0);
    /// Packets of this router's own.
    pub const OUTPUT: ChainId = ChainId(1);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["prerouting", "output"];
}

/// The built-in chains of `mangle`.
pub mod mangle {
    use crate::rule::ChainId;

    /// Packets that arrive.
    pub const PREROUTING: ChainId = ChainId(0);
    /// Packets for this router.
    pub const INPUT: ChainId = ChainId(1);
    /// Packets for others.
    pub const FORWARD: ChainId = ChainId(2);
    /// Packets of this router's own.
    pub const OUTPUT: ChainId = ChainId(3);
    /// Packets that leave.
    pub const POSTROUTING: ChainId = ChainId(4);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["prerouting", "input", "forward", "output", "postrouting"];
}

/// The built-in chains of `nat`: for the first packet of a connection.
pub mod nat {
    use crate::rule::ChainId;

    /// Destinations of what arrives.
    pub const DSTNAT: ChainId = ChainId(0);
    /// Sources of what leaves.
    pub const SRCNAT: ChainId = ChainId(1);
    /// Sources of what is for this router.
    pub const INPUT: ChainId = ChainId(2);
    /// Destinations of what is this router's own.
    pub const OUTPUT: ChainId = ChainId(3);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["dstnat", "srcnat", "input", "output"];
}

/// The built-in chains of `filter`.
pub mod filter {
    use crate::rule::ChainId;

    /// Packets for this router.
    pub const INPUT: ChainId = ChainId(0);
    /// Packets for others.
    pub const FORWARD: ChainId = ChainId(1);
    /// Packets of this router's own.
    pub const OUTPUT: ChainId = ChainId(2);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["input", "forward", "output"];
}

/// The built-in chains of bridges' `nat`; those of their `filter` are as in [`filter`].
pub mod bridge_nat {
    use crate::rule::ChainId;

    /// Frames that arrive.
    pub const DSTNAT: ChainId = ChainId(0);
    /// Frames that leave.
    pub const SRCNAT: ChainId = ChainId(1);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["dstnat", "srcnat"];
}

/// The built-in chain of switch chips.
pub mod chip {
    use crate::rule::ChainId;

    /// Frames that arrive by a port.
    pub const INGRESS: ChainId = ChainId(0);
    /// Their names, by place.
    pub const CHAINS: &[&str] = &["ingress"];
}

/// What looks at the frames of bridges.
#[derive(Clone, Debug, Default)]
pub struct BridgeTables {
    /// What switch chips do with frames before the bridge sees them.
    pub chip: Arc<Table>,
    /// Link addresses.
    pub nat: Arc<Table>,
    /// What goes on and what does not.
    pub filter: Arc<Table>,
    /// Which packets pass the tables of IP.
    pub detour: Detour,
    /// RouterOS: `/interface/bridge/settings allow-fast-path=no`.
    pub slow: bool,
}

/// RouterOS: `/interface/bridge/settings use-ip-firewall`: which bridged packets pass the tables of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Detour {
    /// Those without a tag; without it none.
    pub plain: bool,
    /// Those behind a VLAN tag, too.
    pub vlan: bool,
    /// Those in a session of PPPoE, too.
    pub pppoe: bool,
}

impl BridgeTables {
    /// Whether nothing looks at frames.
    #[inline]
    pub fn is_empty(&self) -> bool {
        !self.detour.plain && self.nat.is_empty() && self.filter.is_empty() && self.chip.is_empty()
    }
}

/// The tables of one address family.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Before connections are looked at.
    pub raw: Arc<Table>,
    /// Marks and changes.
    pub mangle: Arc<Table>,
    /// Translations.
    pub nat: Arc<Table>,
    /// What goes on and what does not.
    pub filter: Arc<Table>,
}

/// Everything that the firewall is made of. What rules remember hangs on the rules; connections and
/// counters live elsewhere and outlive it.
#[derive(Clone, Debug, Default)]
pub struct Firewall {
    /// The tables of IPv4.
    pub ipv4: Tables,
    /// The tables of IPv6.
    pub ipv6: Tables,
    /// Those of bridges.
    pub bridge: BridgeTables,
    /// What `Action::Translate` of rules points at, by place. Places are of one snapshot only:
    /// a connection keeps what its first packet chose.
    pub targets: Arc<[Target]>,
    /// Whether connections of IPv4 are tracked.
    pub tracks4: bool,
    /// Whether connections of IPv6 are tracked.
    pub tracks6: bool,
    /// Timeouts and strictness of tracking.
    pub settings: Settings,
    /// Which connections helpers read.
    pub services: Services,
    /// Something behind the walk reads packet marks, as queues do: packets leave with the mark that rules gave them,
    /// though no rule asks for it.
    pub keeps_marks: bool,
    /// What the rules of all tables look for in streams ([`Self::seek`]).
    pub sought: Sought,
}

impl Tables {
    /// Takes a connection out of all `connection-limit`s: it ended, or never began. `original` is the
    /// tuple of its first packet as it came.
    #[inline]
    pub fn leave(&self, original: &Tuple) {
        for table in [&self.mangle, &self.nat, &self.filter] {
            table.leave(original);
        }
    }
}

impl Firewall {
    /// The tables of a family.
    #[inline]
    pub const fn tables(&self, ipv6: bool) -> &Tables {
        if ipv6 { &self.ipv6 } else { &self.ipv4 }
    }

    /// Compiles what the rules look for in streams; what `before` has of it is taken over.
    pub fn seek(&mut self, before: &Self) {
        self.seek_so(before, Making::Joined);
    }

    /// The same at once; gives what is to be compiled once more, without haste.
    pub fn seek_at_once(&mut self, before: &Self) -> Option<Joining> {
        self.seek_so(before, Making::Apart);
        self.sought.to_join(&before.sought)
    }

    fn seek_so(&mut self, before: &Self, making: Making) {
        let families = [&self.ipv4, &self.ipv6].into_iter();
        let tables = families
            .flat_map(|tables| [&tables.raw, &tables.mangle, &tables.nat, &tables.filter])
            .chain([&self.bridge.chip, &self.bridge.nat, &self.bridge.filter])
            .map(|table| &**table);
        self.sought = before.sought.follow(tables, making);
    }

    /// Whether packets of a family have to be looked at: there is a rule, or they are tracked.
    #[inline]
    pub fn guards(&self, ipv6: bool) -> bool {
        self.tracks(ipv6) || self.filters(ipv6)
    }

    /// Whether a family has a rule.
    #[inline]
    pub fn filters(&self, ipv6: bool) -> bool {
        let tables = self.tables(ipv6);
        let tables = [&tables.raw, &tables.mangle, &tables.nat, &tables.filter];
        tables.iter().any(|table| !table.is_empty())
    }

    /// Whether what becomes of a connection's packets stays as it is until something else changes: a rule, a route,
    /// a neighbour, the connection's end.
    #[inline]
    pub fn is_steady(&self, ipv6: bool) -> bool {
        let tables = self.tables(ipv6);
        let tables = [&tables.raw, &tables.mangle, &tables.nat, &tables.filter];
        tables.iter().all(|table| !table.follows)
    }

    /// Whether connections of a family are tracked.
    #[inline]
    pub const fn tracks(&self, ipv6: bool) -> bool {
        if ipv6 { self.tracks6 } else { self.tracks4 }
    }
}
