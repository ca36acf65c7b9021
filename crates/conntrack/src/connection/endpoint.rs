//! The mappings that connections hold: from when one enters until it leaves.
//!
//! A connection with the bit `ein-snat` holds the mapping of its original tuple's source to its reply
//! tuple's destination; one with `ein-dnat` that of its reply tuple's source to its original tuple's
//! destination.

use packet::Tuple;

use super::state::{NatState, Refused};
use super::tracker::Tracker;
use crate::nat::{Endpoint, Mappings};

/// Inside and outside of the mappings that a connection holds: of its source, of its destination.
fn held(nat: NatState, (original, reply): (&Tuple, &Tuple)) -> [Option<(Endpoint, Endpoint)>; 2] {
    let source = (Endpoint::source(original), Endpoint::destination(reply));
    let destination = (Endpoint::source(reply), Endpoint::destination(original));
    let has = |bit| !original.ipv6 && nat.intersects(bit);
    [
        has(NatState::EIN_SNAT).then_some(source),
        has(NatState::EIN_DNAT).then_some(destination),
    ]
}

impl Tracker {
    /// The mappings of all workers, if a rule ever wanted them.
    #[inline]
    pub fn mappings(&self) -> Option<&Mappings> {
        self.table.mappings().map(|mappings| &**mappings)
    }

    /// A connection enters: it holds all of its mappings, or none.
    pub(super) fn hold_endpoints(
        &self,
        nat: NatState,
        ends: (&Tuple, &Tuple),
    ) -> Result<(), Refused> {
        let [source, destination] = held(nat, ends);
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

    /// It leaves.
    pub(super) fn release_endpoints(&self, nat: NatState, ends: (&Tuple, &Tuple)) {
        let Some(mappings) = self.mappings() else {
            return;
        };
        for (inside, outside) in held(nat, ends).into_iter().flatten() {
            mappings.release(inside, outside);
        }
    }
}
