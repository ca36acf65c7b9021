//! Endpoint-independent NAT mappings of a connection: acquired when the connection enters the table, released
//! when it leaves.
//!
//! A connection with the bit `ein-snat` holds the mapping from the source of its original tuple to the
//! destination of its reply tuple. A connection with `ein-dnat` holds the mapping from the source of its
//! reply tuple to the destination of its original tuple.

use packet::Tuple;

use super::state::{NatState, Refused};
use super::tracker::Tracker;
use crate::nat::{Endpoint, Mappings};

/// Returns inside and outside endpoint of the mappings that a connection holds: source NAT first, then
/// destination NAT.
fn held(nat: NatState, original: &Tuple, reply: &Tuple) -> [Option<(Endpoint, Endpoint)>; 2] {
    let source = (Endpoint::source(original), Endpoint::destination(reply));
    let destination = (Endpoint::source(reply), Endpoint::destination(original));
    let has = |bit| !original.ipv6 && nat.intersects(bit);
    [
        has(NatState::EIN_SNAT).then_some(source),
        has(NatState::EIN_DNAT).then_some(destination),
    ]
}

impl Tracker {
    /// Returns the mapping table that all workers share, or `None` if no rule needs one.
    #[inline]
    pub fn mappings(&self) -> Option<&Mappings> {
        self.table.mappings().map(|mappings| &**mappings)
    }

    /// Acquires all mappings of a new connection, or none of them.
    pub(super) fn hold_endpoints(
        &self,
        nat: NatState,
        original: &Tuple,
        reply: &Tuple,
    ) -> Result<(), Refused> {
        let [source, destination] = held(nat, original, reply);
        let hold = |mapping: Option<(Endpoint, Endpoint)>| match (mapping, self.mappings()) {
            (None, _) => Ok(()),
            (Some((inside, outside)), Some(mappings)) => mappings
                .hold(inside, outside)
                .map_err(|_| Refused::Unmapped),
            (Some(_), None) => Err(Refused::Unmapped),
        };
        hold(source)?;
        hold(destination).inspect_err(|_| {
            if let (Some((inside, outside)), Some(mappings)) = (source, self.mappings()) {
                mappings.release(inside, outside);
            }
        })
    }

    /// Releases the mappings of a connection that leaves the table.
    pub(super) fn release_endpoints(&self, nat: NatState, original: &Tuple, reply: &Tuple) {
        let Some(mappings) = self.mappings() else {
            return;
        };
        for (inside, outside) in held(nat, original, reply).into_iter().flatten() {
            mappings.release(inside, outside);
        }
    }
}
