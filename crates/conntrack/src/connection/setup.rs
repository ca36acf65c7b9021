//! The trackers of a router's workers, with what they share.

use std::io;
use std::sync::Arc;

use machine::Rng;

use super::homes::Homes;
use super::settings::{Settings, Tick};
use super::table::Table;
use super::tracker::{Setup, Tracker};

/// Tuples that workers may claim of each other: both of every connection that there is room for by default.
const CLAIMS: usize = 1 << 21;

/// A tracker for each of so many workers, by index, and the table of them all.
///
/// # Errors
/// What the kernel says when there is not enough address space.
pub fn trackers(
    workers: u16,
    settings: &Settings,
    rng: &mut Rng,
) -> io::Result<(Arc<Table>, Vec<Tracker>)> {
    let table = Table::new(workers, settings.entries_max)?;
    let homes = match workers {
        0 | 1 => None,
        _ => Some(Homes::new(CLAIMS, rng)?),
    };
    let trackers = (0..workers).zip(table.boards()).map(|(worker, board)| {
        let setup = Setup {
            table: Arc::clone(&table),
            worker,
            homes: homes.clone(),
            settings,
        };
        let mut tracker = Tracker::new(setup, rng, Tick::default());
        tracker.expectations.show_on(Arc::clone(board));
        tracker
    });
    let trackers = trackers.collect();
    Ok((table, trackers))
}
