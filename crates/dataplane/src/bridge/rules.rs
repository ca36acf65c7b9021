//! The rules that look at the frames of a bridge, found once for each vector.

use wire::Mac;

use crate::firewall::BridgeTables;
use crate::rule::Class;

/// The rules of bridges, where there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) tables: &'a BridgeTables,
    /// What rules know the bridge by, and its link address.
    pub(crate) class: Class,
    pub(crate) mac: Mac,
}

/// What looks at the frames of a bridge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Looks<'a> {
    /// Rules of bridges.
    pub(super) rules: Option<Rules<'a>>,
    /// The tables of IP, at what comes by ports.
    pub(super) detours: bool,
    /// Nothing, but they take no fast path: `allow-fast-path=no`.
    pub(super) slow: bool,
}

impl Looks<'_> {
    /// Whether anything does, or could.
    #[inline(always)]
    pub(crate) const fn any(&self) -> bool {
        self.rules.is_some() || self.detours || self.slow
    }
}
