//! Both ends of tunnels, compared: two configurations ─► items that belong together ─► differences.
//!
//! ```text
//!  two routers ─► KINDS, one after the other: pair ends by addresses, keys and users
//!                 ─► terms: what must agree, as data ─► differences with both values and a command for one end
//! ```
//!
//! A configuration without its secrets (RouterOS: `export` without `show-sensitive`) has empty ones: they are compared
//! only if one end has a value.

mod agreement;
mod end;
mod kinds;
mod pairing;
#[cfg(test)]
mod tests;

use menu::Store;

use crate::rule::{ItemId, Severity};
use end::Router;

/// Derives a WireGuard public key from a private key, both in base64; `None` if the private key is not valid.
pub type PublicKey = fn(&str) -> Option<String>;

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
pub fn compare(first: &Store, second: &Store, public: PublicKey) -> Comparison {
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
