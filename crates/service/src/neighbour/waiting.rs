//! Queue of packets that wait for address resolution, bounded per neighbour and in total.

use std::collections::{BTreeMap, VecDeque};

/// Packets in the order of arrival, and per neighbour a queue of packet numbers. If a queue is full, the oldest
/// packet is dropped (RFC 1122, 2.3.2.2: the latest packet should be kept).
#[derive(Debug)]
pub(super) struct Waiting<A, P> {
    next: u64,
    packets: BTreeMap<u64, (A, P)>,
    queues: BTreeMap<A, VecDeque<u64>>,
}

impl<A, P> Default for Waiting<A, P> {
    fn default() -> Self {
        Self {
            next: 0,
            packets: BTreeMap::new(),
            queues: BTreeMap::new(),
        }
    }
}

impl<A: Copy + Ord, P> Waiting<A, P> {
    /// Number of waiting packets.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Queues a packet; returns the packet dropped to make room.
    pub(super) fn push(
        &mut self,
        address: A,
        packet: P,
        queue_max: usize,
        total_max: usize,
    ) -> Option<P> {
        let own = self.queues.get(&address);
        let gone = match own.filter(|queue| queue.len() >= queue_max) {
            Some(queue) => queue.front().copied(),
            None if self.packets.len() >= total_max => {
                self.packets.first_key_value().map(|(&number, _)| number)
            }
            None => None,
        };
        let gone = gone.and_then(|number| self.remove(number));
        self.queues.entry(address).or_default().push_back(self.next);
        self.packets.insert(self.next, (address, packet));
        self.next += 1;
        gone
    }

    /// Removes and returns a neighbour's packets, oldest first.
    pub(super) fn take(&mut self, address: A) -> impl Iterator<Item = P> + '_ {
        let queue = self.queues.remove(&address).unwrap_or_default();
        let packets = &mut self.packets;
        queue
            .into_iter()
            .filter_map(move |number| packets.remove(&number))
            .map(|(_, packet)| packet)
    }

    /// Addresses that packets wait for.
    pub(super) fn awaited(&self) -> Vec<A> {
        self.queues.keys().copied().collect()
    }

    /// True if packets wait for this address.
    pub(super) fn is_awaited(&self, address: A) -> bool {
        self.queues.contains_key(&address)
    }

    /// Removes the packet with this number, the first of its queue.
    fn remove(&mut self, number: u64) -> Option<P> {
        let (address, packet) = self.packets.remove(&number)?;
        if let Some(queue) = self.queues.get_mut(&address) {
            let first = queue.pop_front();
            debug_assert_eq!(
                first,
                Some(number),
                "the oldest of all is the oldest of its own"
            );
            if queue.is_empty() {
                self.queues.remove(&address);
            }
        }
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_its_oldest_packet() {
        let mut waiting = Waiting::default();

        assert_eq!(waiting.push(1, 'a', 2, 9), None);
        assert_eq!(waiting.push(1, 'b', 2, 9), None);
        assert_eq!(waiting.push(1, 'c', 2, 9), Some('a'));
        assert!(waiting.take(1).eq(['b', 'c']));
        assert_eq!(waiting.len(), 0);
    }

    #[test]
    fn a_full_total_drops_the_oldest_packet_of_all() {
        let mut waiting = Waiting::default();
        for (address, packet) in [(1, 'a'), (2, 'b'), (3, 'c')] {
            waiting.push(address, packet, 2, 3);
        }

        assert_eq!(waiting.push(2, 'd', 2, 3), Some('a'));
        assert_eq!(waiting.push(3, 'e', 2, 3), Some('b'));
        assert!(!waiting.is_awaited(1));
        assert!(waiting.take(2).eq(['d']));
        assert!(waiting.take(3).eq(['c', 'e']));
    }
}
