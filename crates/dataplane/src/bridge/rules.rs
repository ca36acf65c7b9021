//! The rules that apply to the frames of a bridge, looked up once for each vector.

use wire::Mac;

use crate::firewall::BridgeTables;
use crate::rule::Class;

/// The bridge tables, for the frames of one bridge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) tables: &'a BridgeTables,
    /// The class and the MAC address of the bridge.
    pub(crate) class: Class,
    pub(crate) mac: Mac,
}

/// The tables that apply to the frames of a bridge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AppliedTables<'a> {
    /// Rules of bridges.
    pub(super) rules: Option<Rules<'a>>,
    /// The tables of IP apply to frames received by ports.
    pub(super) detours: bool,
    /// No table applies, but the fast path is off: `allow-fast-path=no`.
    pub(super) slow: bool,
}

impl AppliedTables<'_> {
    /// Returns true if frames do not take the fast path.
    #[inline(always)]
    pub(crate) const fn any(&self) -> bool {
        self.rules.is_some() || self.detours || self.slow
    }
}
