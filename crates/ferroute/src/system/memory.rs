//! Sizes of the packet pools.

use frame::Sizes;

use crate::cli::Run;
use crate::system::resources::memory_bytes;

/// Maximum share of the pools together in the machine's memory (one in four), unless configured.
const MEMORY_SHARE: usize = 4;

/// Returns the pool sizes of the workers and of control: configured, or derived from ports and memory.
pub(crate) fn sizes(run: &Run) -> Sizes {
    let pools = usize::from(run.workers) + 1;
    let machine = usize::try_from(memory_bytes("MemTotal")).unwrap_or(usize::MAX);
    match run.packet_memory {
        Some(mebibytes) => Sizes::of_bytes(mebibytes as usize * (1 << 20)),
        None => by_default(run.ports.len(), machine / MEMORY_SHARE / pools),
    }
}

/// Returns the default sizes for `ports` ports, limited to `bytes_max` per pool.
fn by_default(ports: usize, bytes_max: usize) -> Sizes {
    let sizes = Sizes::for_ports(ports);
    match sizes.bytes() <= bytes_max {
        true => sizes,
        false => Sizes::of_bytes(bytes_max.max(MIN_POOL_BYTES)),
    }
}

/// Minimum pool size of a router with few ports.
const MIN_POOL_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_get_what_they_need_as_far_as_the_machine_has_it() {
        let few = by_default(1, 1 << 30);
        assert_eq!(few.small, Sizes::WORKER.small);
        let many = by_default(20, 1 << 30);
        assert!(many.small > 20 * 4096);
        let (little, none) = (by_default(20, 40 << 20), by_default(20, 0));
        assert!(little.bytes() <= 40 << 20 && little.small > 9_000);
        assert!(none.small > 1_900);
    }
}
