//! The firewall as control compiles it: the tables of both families, in the order in which a packet
//! meets them. What it asks of the walk is said here; what it does stands in `rule`, `nat` and
//! `connection`, and where its chains are run in `walk`.

use std::sync::Arc;

use crate::connection::Settings;
use crate::nat::Target;
use crate::rule::{ChainId, Table};

/// Everything that the walk obeys besides routing. Swapped with the snapshot; tables that did not
/// change are the same `Arc` as before.
#[derive(Clone, Debug, Default)]
pub struct Firewall {
    /// IPv4 connections are tracked.
    pub tracking4: bool,
    /// IPv6 connections are tracked.
    pub tracking6: bool,
    /// Timeouts and strictness of tracking.
    pub settings: Settings,
    /// The rules of `/ip/firewall`.
    pub ipv4: Tables,
    /// The rules of `/ipv6/firewall`.
    pub ipv6: Tables,
}

impl Firewall {
    /// The tables of a family.
    #[inline(always)]
    pub fn tables(&self, ipv6: bool) -> &Tables {
        if ipv6 { &self.ipv6 } else { &self.ipv4 }
    }

    /// Whether connections of a family are tracked.
    #[inline(always)]
    pub fn tracks(&self, ipv6: bool) -> bool {
        if ipv6 { self.tracking6 } else { self.tracking4 }
    }

    /// Whether packets of a family have to be looked at: there is a rule, or they are tracked.
    pub fn guards(&self, ipv6: bool) -> bool {
        self.tracks(ipv6) || !self.tables(ipv6).is_empty()
    }
}

/// The four menus of one family.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// `raw`: before connections.
    pub raw: Chains,
    /// `mangle`.
    pub mangle: Chains,
    /// `nat`: only the first packet of a connection meets it.
    pub nat: Chains,
    /// `filter`.
    pub filter: Chains,
    /// What `Action::Translate` of `nat` names, by index.
    pub targets: Arc<[Target]>,
}

impl Tables {
    /// Whether no rule can be met.
    pub fn is_empty(&self) -> bool {
        [&self.raw, &self.mangle, &self.nat, &self.filter]
            .iter()
            .all(|chains| chains.is_empty())
    }
}

/// A menu's table, with its built-in chains at hand. One that has no rules is none.
#[derive(Clone, Debug, Default)]
pub struct Chains {
    /// All its chains.
    pub table: Arc<Table>,
    /// `prerouting`; of `nat`: `dstnat`.
    pub prerouting: Option<ChainId>,
    /// `input`.
    pub input: Option<ChainId>,
    /// `forward`.
    pub forward: Option<ChainId>,
    /// `output`.
    pub output: Option<ChainId>,
    /// `postrouting`; of `nat`: `srcnat`.
    pub postrouting: Option<ChainId>,
}

impl Chains {
    /// The built-in chains of a table by their names; those without rules are none.
    pub fn new(table: Arc<Table>) -> Self {
        let find = |name: &str, other: &str| {
            let id = table.find(name).or_else(|| table.find(other))?;
            let has_rules = table
                .chain(id)
                .is_some_and(|chain| !chain.rules().is_empty());
            has_rules.then_some(id)
        };
        Self {
            prerouting: find("prerouting", "dstnat"),
            input: find("input", "input"),
            forward: find("forward", "forward"),
            output: find("output", "output"),
            postrouting: find("postrouting", "srcnat"),
            table,
        }
    }

    fn is_empty(&self) -> bool {
        let built_in = [
            self.prerouting,
            self.input,
            self.forward,
            self.output,
            self.postrouting,
        ];
        built_in.iter().all(Option::is_none)
    }
}
