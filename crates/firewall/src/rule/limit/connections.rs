//! `connection-limit`: counts the connections that reached a rule, by address block of their originator.

use core::sync::atomic::Ordering;

use packet::Tuple;

use crate::rule::shared::{Shared, Values};

/// Maximum number of connections counted per rule.
const CONNECTIONS: usize = 1 << 20;
/// Maximum number of address blocks per rule.
const BLOCKS: usize = 1 << 17;
/// Index of the connection count of a block.
const COUNT: usize = 0;

/// `connection-limit`: matches if the originator's block already has that many connections.
///
/// RouterOS, like Linux: a rule counts the connections whose packets reached this matcher, not all
/// connections; `protocol=tcp connection-limit=…` counts TCP only. A connection belongs to its originator's
/// block.
///
/// Exact across workers: a connection enters a shared table once and increments its block's counter before
/// the rule decides; of two simultaneous connections, one sees the other. `Table::leave` removes a connection
/// when it is closed (as in Linux, `time-wait` and `close` do not count), when it ends, or when its first
/// packet is dropped.
#[derive(Debug)]
pub struct ConnectionLimit {
    count: u64,
    len: u8,
    members: Shared<1>,
    blocks: Shared<1>,
}

impl ConnectionLimit {
    /// Creates a limit that matches if the originator's block of `len` bits has `count` other connections.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(count: u32, len: u8) -> std::io::Result<Self> {
        Ok(Self {
            count: u64::from(count),
            len,
            members: Shared::new(CONNECTIONS)?,
            blocks: Shared::new(BLOCKS)?,
        })
    }

    /// Returns the tags of a connection and of its block. `original` is the tuple of its first packet.
    fn tags(&self, original: &Tuple) -> (u64, u64) {
        let width = if original.ipv6 { 128 } else { 32 };
        let host = u32::from(width - self.len.min(width));
        let block = original.source.checked_shr(host).unwrap_or(0);
        let family = u64::from(original.ipv6);
        let block = self.blocks.tag((block >> 64) as u64, block as u64, family);
        let ends = u64::from(original.source_port) << 48
            | u64::from(original.destination_port) << 32
            | u64::from(original.protocol) << 8
            | family;
        let (from, to) = (original.source, original.destination);
        let from = self.members.tag((from >> 64) as u64, from as u64, ends);
        let to = self.members.tag((to >> 64) as u64, to as u64, from);
        (to, block)
    }

    /// Returns true if the block has `count` other connections; with `commit` counts the connection.
    pub(in crate::rule) fn matches(&self, original: &Tuple, commit: bool) -> bool {
        let (member, block) = self.tags(original);
        if !commit {
            let count = self.blocks.find(block);
            let count = count.map_or(0, |values| values[COUNT].load(Ordering::Relaxed));
            let others = count - u64::from(self.members.find(member).is_some()).min(count);
            return others >= self.count;
        }
        let entered = self.members.enter(member, |_| false, |_| None, |_| ());
        let Some(entered) = entered else {
            return self.count == 0;
        };
        let others = match entered.new {
            true => match self.add(block) {
                Some(before) => before,
                None => {
                    self.members.remove(member);
                    0
                }
            },
            false => {
                let count = self.blocks.find(block);
                count.map_or(0, |values| {
                    values[COUNT].load(Ordering::SeqCst).saturating_sub(1)
                })
            }
        };
        others >= self.count
    }

    /// Increments a block's counter; returns its previous value.
    fn add(&self, block: u64) -> Option<u64> {
        loop {
            let empty = |values: &Values<1>| values[COUNT].load(Ordering::SeqCst) == 0;
            let entered = self.blocks.enter(block, empty, |_| None, |_| ())?;
            let before = entered.values[COUNT].fetch_add(1, Ordering::SeqCst);
            if self.blocks.is(block, entered.values) {
                return Some(before);
            }
            // The block was empty, and its slot was reused for another block meanwhile.
            entered.values[COUNT].fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Removes a connection that ended or was never established.
    pub(in crate::rule) fn leave(&self, original: &Tuple) {
        let (member, block) = self.tags(original);
        if self.members.remove(member)
            && let Some(values) = self.blocks.find(block)
        {
            values[COUNT].fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(source: u128, source_port: u16) -> Tuple {
        Tuple {
            source,
            source_port,
            protocol: 6,
            ..Tuple::default()
        }
    }

    #[test]
    fn connection_limit_counts_connections_of_a_network() {
        let limit = ConnectionLimit::new(2, 24).expect("address space");
        assert!(!limit.matches(&tuple(0x0a00_0001, 1), true));
        assert!(!limit.matches(&tuple(0x0a00_0002, 1), true));
        assert!(!limit.matches(&tuple(0x0a00_0002, 1), true));

        assert!(limit.matches(&tuple(0x0a00_0003, 1), false));
        assert!(limit.matches(&tuple(0x0a00_0003, 1), true));
        assert!(!limit.matches(&tuple(0x0a00_0103, 1), true));
        limit.leave(&tuple(0x0a00_0003, 1));
        limit.leave(&tuple(0x0a00_0003, 1));
        limit.leave(&tuple(0x0a00_0001, 1));

        assert!(!limit.matches(&tuple(0x0a00_0009, 1), true));
        assert!(limit.matches(&tuple(0x0a00_0009, 2), true));
    }

    #[test]
    fn concurrent_connections_of_workers_are_counted() {
        let limit = ConnectionLimit::new(100, 0).expect("address space");
        let below = core::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for worker in 0..2 {
                let (limit, below) = (&limit, &below);
                scope.spawn(move || {
                    for port in 0..150 {
                        if !limit.matches(&tuple(worker, port), true) {
                            below.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(below.into_inner(), 100);
        for port in 0..150 {
            limit.leave(&tuple(0, port));
            limit.leave(&tuple(1, port));
        }
        assert!(limit.blocks.rows().all(|row| row[COUNT] == 0));
    }
}
