//! `/dude`: the network monitor The Dude.

pub(crate) mod own;
