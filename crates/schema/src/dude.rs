//! `/dude`: a server that watches a network.

pub(crate) mod own;
