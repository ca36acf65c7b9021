//! IP hosts and their traffic (RouterOS: `/tool/sniffer/host`).

use core::net::IpAddr;
use std::collections::HashMap;

use machine::Instant;

use crate::{ObservedFrame, ROWS};

/// Traffic of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Bits per second in the last full second: sent, received.
    pub rate: [u64; 2],
    /// Maximum rates: sent, received.
    pub peak: [u64; 2],
    /// Bytes: sent, received.
    pub total: [u64; 2],
    /// Bytes of the current second.
    part: [u64; 2],
    /// Last second with traffic.
    second: u64,
}

impl Host {
    /// Completes the current second.
    fn turn(&mut self, second: u64) {
        if second == self.second {
            return;
        }
        for way in 0..2 {
            let bits = self.part[way] * 8;
            self.peak[way] = self.peak[way].max(bits);
            // There was no traffic in the skipped seconds.
            self.rate[way] = if second == self.second + 1 { bits } else { 0 };
            self.part[way] = 0;
        }
        self.second = second;
    }
}

/// All observed hosts.
#[derive(Debug, Default)]
pub struct Hosts(HashMap<IpAddr, Host>);

impl Hosts {
    /// Counts a frame for both hosts.
    pub fn see(&mut self, seen: &ObservedFrame) {
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

    /// Returns all hosts with rates as of `now`, ordered by address.
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
