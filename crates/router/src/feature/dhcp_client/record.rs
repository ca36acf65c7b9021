//! Record of a client's address, stored over restarts. After a restart the client requests the
//! address again (INIT-REBOOT, RFC 2131, 3.2).

use core::net::Ipv4Addr;

use machine::{Duration, Instant};
use service::dhcp::client::Lease;
use wire::Mac;

/// Stored address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Link address of the client, by which servers identify it.
    pub(super) mac: Mac,
    pub(super) address: Ipv4Addr,
    /// End of the lease; `None` is infinite.
    pub(super) end: Option<Instant>,
}

/// Version byte at the start of a record.
const VERSION: u8 = 1;
/// Seconds that stand for an infinite lease.
const INFINITE: u32 = u32::MAX;

impl Record {
    /// Returns the record of a lease.
    pub(super) fn of(mac: Mac, lease: &Lease) -> Self {
        Self {
            mac,
            address: lease.address,
            end: lease.times.map(|times| times.end),
        }
    }

    /// Encodes the record: version, link address, address, remaining seconds.
    pub(super) fn to_bytes(self, now: Instant) -> Vec<u8> {
        let left = self.end.map_or(INFINITE, |end| {
            let seconds = end.saturating_since(now).as_secs();
            u32::try_from(seconds).unwrap_or(INFINITE - 1)
        });
        let address = self.address.octets();
        [&[VERSION][..], &self.mac.0, &address, &left.to_be_bytes()].concat()
    }

    /// Decodes a record of this age. Returns `None` for other versions and if the lease has ended.
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
