//! Keepalives of tunnels: their timing and bytes, and the timeout of the remote end.
//!
//! An EoIP keepalive is a header without a frame and has no answer. A GRE keepalive contains its
//! own answer as the inner packet, which the remote end routes back (Cisco's scheme, which RouterOS
//! uses).

use core::net::IpAddr;

use dataplane::encap::between::Carries;
use machine::{Duration, Instant};
use menu::{Item, Value};
use wire::checksum;

/// TTL of outer packets (RouterOS: seen in captures of EoIP).
pub(super) const TTL: u8 = 255;

/// Keepalive state of one tunnel.
#[derive(Debug)]
pub(super) struct Watch {
    interval: Duration,
    /// Maximum silence before the tunnel is held down.
    patience: Duration,
    /// Keepalives received so far.
    received: u64,
    /// Time of the next keepalive, and of the timeout.
    next: Option<Instant>,
    until: Instant,
    pub(super) is_held: bool,
}

impl Watch {
    /// Reads `keepalive=10s,10`: the interval, and how many keepalives may be missed. Returns
    /// `None` if keepalives are off.
    pub(super) fn read(item: &Item) -> Option<Self> {
        let Value::Tuple(_, parts) = item.get("keepalive")? else {
            return None;
        };
        let [interval, retries] = &**parts else {
            return None;
        };
        let nanos = interval.as_nanos()?;
        let retries = u32::try_from(retries.as_number()?).ok()?;
        let interval = Duration::from_nanos(u64::try_from(nanos).ok()?);
        (interval > Duration::ZERO && retries > 0).then(|| Self {
            interval,
            patience: interval.saturating_mul(retries),
            received: 0,
            next: None,
            until: Instant::ZERO,
            is_held: false,
        })
    }

    /// Returns the time of the next keepalive; zero before the first one.
    pub(super) fn deadline(&self) -> Instant {
        self.next.unwrap_or(Instant::ZERO)
    }

    /// Restarts for another remote end. Returns whether the tunnel was held down.
    pub(super) fn restart(&mut self) -> bool {
        self.next = None;
        core::mem::take(&mut self.is_held)
    }

    /// Advances to `now`; `received` is the total of received keepalives. Returns `None` before the
    /// deadline. Otherwise a keepalive is due; returns whether `is_held` changed.
    pub(super) fn advance(&mut self, received: u64, now: Instant) -> Option<bool> {
        if self.next.is_some_and(|next| next > now) {
            return None;
        }
        // The first call starts the timeout.
        let first = self.next.replace(now + self.interval).is_none();
        if core::mem::replace(&mut self.received, received) != received || first {
            self.until = now + self.patience;
        }
        let is_silent = self.until <= now;
        Some(core::mem::replace(&mut self.is_held, is_silent) != is_silent)
    }
}

/// Returns a keepalive packet, or `None` if the tunnel type has none or the ends differ in family.
pub(super) fn packet(carries: Carries, local: IpAddr, remote: IpAddr) -> Option<Vec<u8>> {
    let ipv6 = remote.is_ipv6();
    let payload = match (carries, ipv6) {
        (Carries::Frames(number), false) => {
            let [low, high] = number.to_le_bytes();
            vec![0x20, 0x01, 0x64, 0x00, 0, 0, low, high]
        }
        (Carries::Frames(number), true) => {
            let [high, low] = number.to_be_bytes();
            vec![high << 4 | 3, low]
        }
        (Carries::Gre, _) => {
            // RouterOS: the answer has protocol 0 over IPv4, and the protocol of IPv6 over IPv6.
            let (kind, answer) = match ipv6 {
                false => ([0x08, 0x00], [0, 0, 0, 0]),
                true => ([0x86, 0xdd], [0, 0, 0x86, 0xdd]),
            };
            let answer = outer(47, remote, local, &answer)?;
            [&[0, 0], &kind[..], &answer].concat()
        }
        (Carries::Packets, _) => return None,
    };
    let protocol = match (carries, ipv6) {
        (Carries::Frames(_), true) => 97,
        _ => 47,
    };
    outer(protocol, local, remote, &payload)
}

/// Puts an IP header before a payload. Returns `None` if the ends differ in family.
fn outer(protocol: u8, from: IpAddr, to: IpAddr, payload: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, TTL, protocol, 0, 0];
            header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
            header.extend(from.octets());
            header.extend(to.octets());
            let sum = !checksum::sum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let [a, b] = (payload.len() as u16).to_be_bytes();
            let mut header = vec![0x60, 0, 0, 0, a, b, protocol, TTL];
            header.extend(from.octets());
            header.extend(to.octets());
            header
        }
        _ => return None,
    };
    bytes.extend(payload);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn keepalives_are_the_bytes_that_routers_send() {
        let eoip = packet(Carries::Frames(100), v4(1), v4(2)).expect("one family");
        assert_eq!(eoip[20..], [0x20, 0x01, 0x64, 0x00, 0, 0, 0x64, 0]);
        assert_eq!((eoip.len(), eoip[8], eoip[9]), (28, 255, 47));
        let gre = packet(Carries::Gre, v4(1), v4(2)).expect("one family");
        assert_eq!(gre.len(), 48);
        assert_eq!(gre[20..24], [0, 0, 0x08, 0]);
        // The answer has the reverse addresses.
        assert_eq!(gre[36..44], [192, 0, 2, 2, 192, 0, 2, 1]);
        assert_eq!(gre[44..], [0; 4]);
        let [a, b] = [1u16, 2].map(|last| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]));
        let eoip6 = packet(Carries::Frames(1234), a, b).expect("one family");
        assert_eq!(eoip6[40..], [0x43, 0xd2]);
        assert_eq!(packet(Carries::Packets, a, b), None);
        assert_eq!(packet(Carries::Gre, a, v4(1)), None);
    }
}
