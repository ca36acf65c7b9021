//! Creates the trackers of all workers and the state that they share.

use std::io;
use std::sync::Arc;

use machine::Rng;

use super::claims::TupleClaims;
use super::settings::{Settings, Tick};
use super::table::Table;
use super::tracker::{Setup, Tracker};

/// Number of tuples that workers may claim: both tuples of the default maximum of connections.
const CLAIMS: usize = 1 << 21;

/// Creates one tracker per worker, by worker index, and the table that they share.
///
/// # Errors
/// Returns the kernel's error if it cannot reserve the address space.
pub fn trackers(
    workers: u16,
    settings: &Settings,
    rng: &mut Rng,
) -> io::Result<(Arc<Table>, Vec<Tracker>)> {
    let table = Table::new(workers, settings.entries_max)?;
    let tuple_claims = match workers {
        0 | 1 => None,
        _ => Some(TupleClaims::new(CLAIMS, rng)?),
    };
    let trackers = (0..workers)
        .zip(table.shared_expectations())
        .map(|(worker, expectations)| {
            let setup = Setup {
                table: Arc::clone(&table),
                worker,
                tuple_claims: tuple_claims.clone(),
                settings,
            };
            let mut tracker = Tracker::new(setup, rng, Tick::default());
            tracker.expectations.publish_in(Arc::clone(expectations));
            tracker
        });
    let trackers = trackers.collect();
    Ok((table, trackers))
}
