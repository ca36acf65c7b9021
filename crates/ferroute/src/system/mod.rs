//! The process and its machine: confinement, memory, priorities, resources, local time, systemd.

pub(crate) mod confine;
pub(crate) mod heap;
pub(crate) mod lock_holder;
pub(crate) mod memory;
pub(crate) mod notify;
pub(crate) mod priority;
pub(crate) mod resources;
pub(crate) mod threads;
pub(crate) mod zone;
