//! Endpoint-independent NAT of UDP over IPv4: an inside endpoint has the same outside address and port
//! towards all destinations (RFC 4787, 4.1), and where a dstnat rule permits it, any host may send to that
//! endpoint (RFC 4787, 5).
//!
//! A mapping exists while a connection holds it. Each outside address has an array of 65,536 slots, one per
//! port; a slot contains the inside endpoint and the number of holders. So the owner of a port is found by
//! one load, and a port is taken by one compare-and-swap, from any worker. In the other direction, an inside
//! endpoint can only be in its own port's slot or in one of [`WINDOW`] slots that follow from its address and
//! port; these are searched.
//!
//! ```text
//! outside 198.51.100.1:5000 → slot 5000 of the array of 198.51.100.1: 10.0.0.2:5000, 3 holders
//! ```

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use kernels::{Pages, Zeroed};
use packet::Tuple;
use packet::flow::mix64;

use super::target::Ports;

/// Maximum number of outside addresses with mappings.
pub const ADDRESSES: usize = 16;

/// Number of ports, besides its own, that an inside endpoint may get.
const WINDOW: u64 = 64;

const PORTS: usize = 1 << 16;

/// Maximum number of connections that hold one mapping.
const HOLDERS: u64 = 0xffff;

/// An IPv4 address and a UDP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// The address.
    pub address: u32,
    /// The port.
    pub port: u16,
}

impl Endpoint {
    /// Returns a tuple's source. A connection with the bit `ein-snat` holds the mapping from the source of
    /// its original tuple to the destination of its reply tuple.
    pub const fn source(tuple: &Tuple) -> Self {
        Self {
            address: tuple.source as u32,
            port: tuple.source_port,
        }
    }

    /// Returns a tuple's destination. A connection with `ein-dnat` holds the mapping from the source of its
    /// reply tuple to the destination of its original tuple.
    pub const fn destination(tuple: &Tuple) -> Self {
        Self {
            address: tuple.destination as u32,
            port: tuple.destination_port,
        }
    }

    const fn bits(self) -> u64 {
        (self.address as u64) << 16 | self.port as u64
    }
}

/// The mapping cannot be held: its outside endpoint belongs to another inside endpoint, the maximum of
/// holders or addresses is reached, or another worker is just allocating a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

/// All mappings, shared by the workers: 512 KB for each outside address in use.
#[derive(Debug)]
pub struct Mappings {
    /// Per row: the outside address (high half) and the number of connections that hold one of its mappings.
    /// A row without holders is free, and so are its slots.
    rows: [AtomicU64; ADDRESSES],
    /// Locked while a row is assigned to an address, so that no address gets two rows.
    giving: Mutex<()>,
    /// Inside address, inside port, number of holders; 0 is free.
    slots: Zeroed<AtomicU64>,
    secret: u64,
}

impl Mappings {
    /// Creates an empty table. `secret` is a random number from which the ports are derived.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(secret: u64) -> std::io::Result<Self> {
        Ok(Self {
            rows: Default::default(),
            giving: Mutex::new(()),
            slots: Zeroed::new(ADDRESSES * PORTS, Pages::Small)?,
            secret,
        })
    }

    /// Returns the outside port of an inside endpoint: its existing mapping, or a free one of `ports`. Its
    /// own port is preferred unless `draw` requests a random port.
    pub fn find(&self, inside: Endpoint, address: u32, ports: Ports, draw: bool) -> Option<u16> {
        let own = Some(inside.port).filter(|own| ports.contains(*own));
        let preferred = own.filter(|_| !draw);
        let start = mix64(inside.bits() ^ self.secret) >> 16 & !7;
        let window = (0..WINDOW.min(u64::from(ports.count()))).map(|turn| ports.at(start + turn));
        let Some(row) = self.row(address) else {
            return preferred.or(Some(ports.at(start)));
        };
        let slot = |port: u16| self.slots[row * PORTS + usize::from(port)].load(Ordering::Relaxed);
        let is_its = |port: &u16| slot(*port) >> 16 == inside.bits();
        // A mapping from before `draw` was set is used as well.
        own.into_iter()
            .chain(window.clone())
            .find(is_its)
            .or_else(|| {
                let mut choices = preferred.into_iter().chain(window);
                choices.find(|port| slot(*port) == 0)
            })
    }

    /// Returns the inside endpoint of an outside endpoint.
    pub fn inside(&self, outside: Endpoint) -> Option<Endpoint> {
        let row = self.row(outside.address)?;
        let slot = self.slot(row, outside.port).load(Ordering::Relaxed);
        (slot != 0).then_some(Endpoint {
            address: (slot >> 32) as u32,
            port: (slot >> 16) as u16,
        })
    }

    /// Acquires a mapping for a new connection; creates it if necessary. Each success must be released by
    /// [`Self::release`].
    ///
    /// # Errors
    /// Returns [`Unavailable`] without changes.
    pub fn hold(&self, inside: Endpoint, outside: Endpoint) -> Result<(), Unavailable> {
        let row = self.hold_row(outside.address).ok_or(Unavailable)?;
        let slot = self.slot(row, outside.port);
        let held = slot.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |slot| {
            match slot & HOLDERS {
                0 => Some(inside.bits() << 16 | 1),
                HOLDERS => None,
                _ => (slot >> 16 == inside.bits()).then_some(slot + 1),
            }
        });
        if held.is_err() {
            self.rows[row].fetch_sub(1, Ordering::AcqRel);
        }
        held.map(|_| ()).map_err(|_| Unavailable)
    }

    /// Releases a mapping of an ended connection; the last release frees the outside endpoint. Without effect
    /// if the mapping is not held.
    pub fn release(&self, inside: Endpoint, outside: Endpoint) {
        let Some(row) = self.row(outside.address) else {
            return;
        };
        let slot = self.slot(row, outside.port);
        let released = slot.fetch_update(Ordering::AcqRel, Ordering::Relaxed, |slot| {
            match slot & HOLDERS {
                _ if slot >> 16 != inside.bits() => None,
                0 | 1 => Some(0),
                _ => Some(slot - 1),
            }
        });
        if released.is_ok() {
            self.rows[row].fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn slot(&self, row: usize, port: u16) -> &AtomicU64 {
        &self.slots[row * PORTS + usize::from(port)]
    }

    /// Returns the row of an outside address that has holders.
    fn row(&self, address: u32) -> Option<usize> {
        let is_its = |row: &AtomicU64| is_held(row.load(Ordering::Acquire), address);
        self.rows.iter().position(is_its)
    }

    /// Returns the row of an outside address with its count incremented; takes a free row if the address has
    /// none.
    fn hold_row(&self, address: u32) -> Option<usize> {
        if let Some(row) = self.row(address)
            && self.count(row, |now| is_held(now, address).then_some(now + 1))
        {
            return Some(row);
        }
        // The data path does not wait for the lock: the client retransmits.
        let _giving = self.giving.try_lock().ok()?;
        if let Some(row) = self.row(address)
            && self.count(row, |now| is_held(now, address).then_some(now + 1))
        {
            return Some(row);
        }
        let first = u64::from(address) << 32 | 1;
        (0..ADDRESSES).find(|row| self.count(*row, |now| (now as u32 == 0).then_some(first)))
    }

    /// Changes a row's count unless `to` returns `None`.
    fn count(&self, row: usize, to: impl FnMut(u64) -> Option<u64>) -> bool {
        let row = &self.rows[row];
        row.fetch_update(Ordering::AcqRel, Ordering::Acquire, to)
            .is_ok()
    }
}

/// Returns true if a row belongs to this address and has holders.
const fn is_held(row: u64, address: u32) -> bool {
    (row >> 32) as u32 == address && row as u32 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    const HIGH: Ports = Ports::class(5000);

    fn end(address: u32, port: u16) -> Endpoint {
        Endpoint { address, port }
    }

    fn mappings() -> Mappings {
        Mappings::new(0x1234_5678_9abc_def0).expect("address space")
    }

    /// Maps an inside endpoint as a new connection does.
    fn map(mappings: &Mappings, inside: Endpoint, ports: Ports, draw: bool) -> Option<Endpoint> {
        let port = mappings.find(inside, 9, ports, draw)?;
        mappings.hold(inside, end(9, port)).ok()?;
        Some(end(9, port))
    }

    #[test]
    fn the_own_port_is_preferred_and_exclusive() {
        let mappings = mappings();

        let first = map(&mappings, end(1, 5000), HIGH, false).unwrap();
        let second = map(&mappings, end(2, 5000), HIGH, false).unwrap();

        assert_eq!(first, end(9, 5000));
        assert_ne!(second.port, 5000);
        assert_eq!(mappings.inside(first), Some(end(1, 5000)));
        assert_eq!(mappings.inside(second), Some(end(2, 5000)));
        assert_eq!(mappings.hold(end(3, 1), first), Err(Unavailable));
    }

    #[test]
    fn a_mapping_lives_while_a_connection_holds_it() {
        let mappings = mappings();
        let outside = map(&mappings, end(1, 5000), HIGH, true).unwrap();
        assert_eq!(map(&mappings, end(1, 5000), HIGH, true), Some(outside));

        mappings.release(end(1, 5000), outside);
        assert_eq!(mappings.inside(outside), Some(end(1, 5000)));
        mappings.release(end(1, 5000), outside);
        assert_eq!(mappings.inside(outside), None);
        mappings.release(end(1, 5000), outside);
        assert_eq!(mappings.inside(outside), None);
    }

    #[test]
    fn a_seventeenth_outside_address_waits_for_a_free_entry() {
        let mappings = mappings();
        for address in 0..ADDRESSES as u32 {
            assert_eq!(mappings.hold(end(1, 1), end(address, 1)), Ok(()));
        }

        assert_eq!(mappings.hold(end(1, 1), end(99, 1)), Err(Unavailable));
        mappings.release(end(1, 1), end(5, 1));
        assert_eq!(mappings.inside(end(5, 1)), None);
        assert_eq!(mappings.hold(end(1, 1), end(99, 1)), Ok(()));
        // The search for an address goes past a free row to the row that the address has.
        mappings.release(end(1, 1), end(3, 1));
        assert_eq!(mappings.hold(end(2, 2), end(9, 2)), Ok(()));
        assert_eq!(mappings.inside(end(9, 1)), Some(end(1, 1)));
        assert_eq!(mappings.inside(end(9, 2)), Some(end(2, 2)));
        assert_eq!(mappings.inside(end(3, 1)), None);
    }

    #[test]
    fn a_mapping_survives_a_rule_that_starts_to_allocate() {
        let mappings = mappings();
        let outside = map(&mappings, end(1, 5000), HIGH, false);

        assert_eq!(map(&mappings, end(1, 5000), HIGH, true), outside);
    }

    #[test]
    fn concurrent_hold_and_release_lose_no_mapping() {
        let mappings = mappings();
        let ports = Ports::new(5000, 5003).unwrap();
        let work = |worker: u32| {
            for turn in 0..20_000 {
                let inside = end(turn % 3, 5000 + (turn % 2) as u16);
                if let Some(outside) = map(&mappings, inside, ports, worker.is_multiple_of(2)) {
                    // This thread holds the mapping, so no other thread can remove it.
                    assert_eq!(mappings.inside(outside), Some(inside));
                    mappings.release(inside, outside);
                }
            }
        };

        std::thread::scope(|scope| {
            (0..4).for_each(|worker| drop(scope.spawn(move || work(worker))));
        });

        assert!((0..=u16::MAX).all(|port| mappings.inside(end(9, port)).is_none()));
    }

    proptest! {
        #[test]
        fn inside_and_outside_endpoints_are_one_to_one(
            steps in proptest::collection::vec((0..40_u32, 5000..5004_u16, any::<bool>()), 1..400),
            few in any::<bool>(),
            draw in any::<bool>(),
        ) {
            let mappings = mappings();
            let ports = if few { Ports::new(4990, 5020).unwrap() } else { HIGH };
            let mut model: HashMap<Endpoint, (Endpoint, u32)> = HashMap::new();
            for (address, port, adds) in steps {
                let inside = end(address, port);
                match (adds, model.get_mut(&inside)) {
                    (true, Some((outside, holders))) => {
                        prop_assert_eq!(map(&mappings, inside, ports, draw), Some(*outside));
                        *holders += 1;
                    }
                    (true, None) => match map(&mappings, inside, ports, draw) {
                        Some(outside) => {
                            prop_assert!(ports.contains(outside.port));
                            prop_assert!(model.values().all(|(other, _)| *other != outside));
                            model.insert(inside, (outside, 1));
                        }
                        None => prop_assert!(few && model.len() >= 31),
                    },
                    (false, Some((outside, holders))) => {
                        mappings.release(inside, *outside);
                        *holders -= 1;
                        if *holders == 0 {
                            model.remove(&inside);
                        }
                    }
                    (false, None) => {}
                }
                for (inside, (outside, _)) in &model {
                    prop_assert_eq!(mappings.inside(*outside), Some(*inside));
                }
            }
        }
    }
}
