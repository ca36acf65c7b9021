//! `/routing`: tables of routes and what chooses between them.

pub(crate) mod rule;
pub(crate) mod table;
