//! Hosts of IP and what they send and receive (RouterOS: `/tool/sniffer/host`).

use core::net::IpAddr;
use std::collections::HashMap;

use machine::Instant;

use crate::{ROWS, Seen};

/// What a host sends or receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Bits a second in the last whole second: sent, received.
    pub rate: [u64; 2],
    /// The highest rates.
    pub peak: [u64; 2],
    /// Bytes: sent, received.
    pub total: [u64; 2],
    /// Bytes of the second that is under way.
    part: [u64; 2],
    /// The last second in which it was seen.
    second: u64,
}

impl Host {
    /// Ends the second that was under way.
    fn turn(&mut self, second: u64) {
        if second == self.second {
            return;
        }
        for way in 0..2 {
            let bits = self.part[way] * 8;
            self.peak[way] = self.peak[way].max(bits);
            // In a second without any packet it carried nothing.
            self.rate[way] = if second == self.second + 1 { bits } else { 0 };
            self.part[way] = 0;
        }
        self.second = second;
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Hosts(HashMap<IpAddr, Host>);

impl Hosts {
    /// Counts a frame for both its hosts.
    pub fn see(&mut self, seen: &Seen) {
        let Some(ip) = &seen.head.ip else { return };
        let second = second(seen.at);
        for (way, address) in [ip.src, ip.dst].into_iter().enumerate() {
            if self.0.len() >= ROWS && !self.0.contains_key(&address) {
                continue;
            }
            let host = self.0.entry(address).or_default();
            host.turn(second);
            host.part[way] += seen.len as u64;
            host.total[way] += seen.len as u64;
        }
    }

    /// All of them as they are now, by address.
    pub fn rows(&self, now: Instant) -> Vec<(IpAddr, Host)> {
        let mut rows: Vec<_> = { self.0.iter() }
            .map(|(address, host)| {
                let mut host = *host;
                host.turn(second(now));
                (*address, host)
            })
            .collect();
        rows.sort_by_key(|(address, _)| *address);
        rows
    }
}

fn second(at: Instant) -> u64 {
    at.as_nanos() / 1_000_000_000
}
