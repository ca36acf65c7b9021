//! How much memory packets get.

use frame::Sizes;

use crate::cli::Run;
use crate::resources::memory_bytes;

/// The pools together take no more than one in so many bytes of the machine's memory, unless somebody says how much.
const SHARE: usize = 4;

/// The sizes of each worker's pool, and of control's: as said, else by the ports and the machine's memory.
pub(crate) fn sizes(run: &Run) -> Sizes {
    let pools = usize::from(run.workers) + 1;
    let machine = usize::try_from(memory_bytes("MemTotal")).unwrap_or(usize::MAX);
    match run.packet_memory {
        Some(mebibytes) => Sizes::of_bytes(mebibytes as usize * (1 << 20)),
        None => by_default(run.ports.len(), machine / SHARE / pools),
    }
}

/// What so many ports need, where there is so much memory for one pool.
fn by_default(ports: usize, bytes_max: usize) -> Sizes {
    let sizes = Sizes::for_ports(ports);
    match sizes.bytes() <= bytes_max {
        true => sizes,
        false => Sizes::of_bytes(bytes_max.max(LEAST)),
    }
}

/// What a router of few ports runs with.
const LEAST: usize = 8 << 20;

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
