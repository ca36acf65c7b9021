//! The address of a client, as it is kept over a restart: the client asks for it again (INIT-REBOOT, RFC 2131, 3.2).

use core::net::Ipv4Addr;

use machine::{Duration, Instant};
use service::dhcp::client::Lease;
use wire::Mac;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// The link address that the client asked with. Servers know clients by it.
    pub(super) mac: Mac,
    pub(super) address: Ipv4Addr,
    /// When the lease ends; none if it never does.
    pub(super) end: Option<Instant>,
}

/// The first byte of a record.
const VERSION: u8 = 1;
/// Seconds of a lease without an end.
const INFINITE: u32 = u32::MAX;

impl Record {
    /// The record of a lease.
    pub(super) fn of(mac: Mac, lease: &Lease) -> Self {
        Self {
            mac,
            address: lease.address,
            end: lease.times.map(|times| times.end),
        }
    }

    /// As bytes: version, link address, address, seconds that are left.
    pub(super) fn to_bytes(self, now: Instant) -> Vec<u8> {
        let left = self.end.map_or(INFINITE, |end| {
            let seconds = end.saturating_since(now).as_secs();
            u32::try_from(seconds).unwrap_or(INFINITE - 1)
        });
        let address = self.address.octets();
        [&[VERSION][..], &self.mac.0, &address, &left.to_be_bytes()].concat()
    }

    /// Reads a record that was written so long ago. None if it is of another version, or if the lease has ended.
    pub(super) fn read(bytes: &[u8], age: Duration, now: Instant) -> Option<Self> {
        let ([VERSION], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (mac, rest) = rest.split_first_chunk()?;
        let (address, left) = rest.split_first_chunk::<4>()?;
        let left = u32::from_be_bytes(left.try_into().ok()?);
        let end = match left {
            INFINITE => None,
            left => {
                let left = Duration::from_secs(left.into()).saturating_sub(age);
                Some(now + left).filter(|end| *end > now).map(Some)?
            }
        };
        Some(Self {
            mac: Mac(*mac),
            address: (*address).into(),
            end,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_loses_the_time_that_passed_and_ends() {
        let now = Instant::from_secs(100);
        let record = Record {
            mac: Mac([2, 0, 0, 0, 0, 9]),
            address: [10, 0, 0, 7].into(),
            end: Some(now + Duration::from_secs(600)),
        };
        let bytes = record.to_bytes(now);
        let start = Instant::from_secs(1);
        let read = |age| Record::read(&bytes, Duration::from_secs(age), start);
        let later = Record {
            end: Some(start + Duration::from_secs(540)),
            ..record
        };
        assert_eq!(read(60), Some(later));
        assert_eq!(read(600), None);
        let endless = Record {
            end: None,
            ..record
        };
        let bytes = endless.to_bytes(now);
        let read = Record::read(&bytes, Duration::from_secs(1 << 32), start);
        assert_eq!(read, Some(endless));
        for len in 0..bytes.len() {
            assert_eq!(
                Record::read(&bytes[..len], Duration::ZERO, start),
                None,
                "{len}"
            );
        }
    }
}
