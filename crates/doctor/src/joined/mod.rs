//! Both ends of tunnels, compared: two configurations ─► items that belong together ─► differences.
//!
//! ```text
//!  two routers ─► KINDS, one after the other: pair ends by addresses, keys and users
//!                 ─► terms: what must agree, as data ─► differences with both values and a command for one end
//! ```
//!
//! A configuration without its secrets (RouterOS: `export` without `show-sensitive`) has empty ones. A secret that both
//! configurations lack is equal.

mod agreement;
mod difference;
mod end;
mod kinds;
mod pairing;
#[cfg(test)]
mod tests;

use menu::Store;

pub use difference::{Difference, PublicKeys, Value};
use end::Router;

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Tunnels whose both ends were found, each with what is known about their addresses, such as NAT.
    pub tunnels: Vec<String>,
    /// Differences, in the order of the tunnels.
    pub differences: Vec<Difference>,
}

/// Compares the ends of all tunnels between two routers. The cost grows with the number of items, not with the number
/// of their pairs.
pub fn compare(first: &Store, second: &Store, public: &PublicKeys) -> Comparison {
    let routers = [
        Router::new(0, first, public),
        Router::new(1, second, public),
    ];
    let mut comparison = Comparison::default();
    for kind in kinds::KINDS {
        let pairs = (kind.pair)(&routers[0], &routers[1]);
        for pair in &pairs.joined {
            comparison.tunnels.push(pair.describe(kind.name));
            let differences = kind.terms.iter().flat_map(|term| term.check(pair));
            comparison
                .differences
                .extend(differences.map(|found| found.named(kind.name, pair)));
        }
        let alone = pairs
            .alone
            .into_iter()
            .map(|alone| alone.difference(kind.name));
        comparison.differences.extend(alone);
    }
    comparison
}
