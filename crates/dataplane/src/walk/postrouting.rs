//! Postrouting without a firewall: empty. Mangle and source NAT of this hook are in `guarded/chains.rs` and
//! `guarded/translation.rs`.

use super::{Context, Exit};
use crate::table::Adjacency;

/// Decides about a packet that is about to leave by this adjacency.
///
/// # Errors
/// The packet's end.
#[inline(always)]
pub(crate) fn run(_cx: &Context<'_>, _adjacency: &Adjacency) -> Result<(), Exit> {
    Ok(())
}
