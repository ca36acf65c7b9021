//! A difference between both ends of a tunnel.

use std::collections::BTreeMap;

use crate::rule::{ItemId, Severity};

/// Public WireGuard keys by private keys, both in base64. Private keys that the configurations do not state are absent:
/// a router generates them.
pub type PublicKeys = BTreeMap<String, String>;

/// One end of a difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Item that has the value, or lacks it.
    pub item: ItemId,
    /// Property and value, such as `tunnel-id=100`; values of secrets are hidden.
    pub shown: String,
}

/// A difference between the two ends of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Kind and names of the tunnel's ends.
    pub tunnel: String,
    /// Severity.
    pub severity: Severity,
    /// What the router does because of the difference.
    pub cause: &'static str,
    /// Values at both ends, in the order of the configurations; `None` if an end has no counterpart.
    pub values: [Option<Value>; 2],
    /// Command that makes the ends agree, with the index of the configuration to run it on.
    pub fix: Option<(usize, String)>,
}
