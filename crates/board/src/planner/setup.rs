//! What the planner needs of a configuration.

use std::collections::{BTreeMap, BTreeSet};

use crate::rates::Suite;

/// A configuration, as far as it decides about loads. Ports are device names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// Ports that a chip switches.
    pub switched: BTreeSet<String>,
    /// Bridges by port. Traffic between two ports of one bridge is bridged, all other traffic is routed.
    pub bridges: BTreeMap<String, String>,
    /// Number of bridge filter and NAT rules.
    pub bridge_rules: u32,
    /// Number of rules of IPv4 filter, mangle, NAT and raw.
    pub rules: u32,
    /// Number of simple queues and queues of trees.
    pub queues: u32,
    /// True if bridged packets pass the rules of IPv4.
    pub use_ip_firewall: bool,
    /// True if a rule has `action=fasttrack-connection`.
    pub fasttrack: bool,
    /// Cipher and hash of IPsec; `None` without policies.
    pub suite: Option<Suite>,
}

impl Setup {
    /// Returns true if two ports belong to one bridge, or to one switched set without a named bridge.
    pub fn bridged(&self, one: &str, other: &str) -> bool {
        match (self.bridges.get(one), self.bridges.get(other)) {
            (Some(bridge), Some(of_other)) => bridge == of_other,
            (None, None) => self.switched.contains(one) && self.switched.contains(other),
            _ => false,
        }
    }

    /// Returns the configuration with ports renamed by `rename`.
    #[must_use]
    pub fn renamed(&self, rename: &dyn Fn(&str) -> String) -> Self {
        let switched = self.switched.iter().map(|port| rename(port));
        let bridges = self.bridges.iter();
        Self {
            switched: switched.collect(),
            bridges: bridges
                .map(|(port, bridge)| (rename(port), bridge.clone()))
                .collect(),
            ..self.clone()
        }
    }
}
