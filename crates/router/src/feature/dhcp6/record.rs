//! Record of a client's binding, stored over restarts. After a restart servers are asked to confirm
//! it (RFC 8415, 18.2.12).

use core::net::Ipv6Addr;

use machine::{Duration, Instant};
use service::dhcp6::client::{Config, Delegation};

/// Stored binding of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    duid: Vec<u8>,
    /// IAIDs of the IA_NA and of the IA_PD.
    numbers: [Option<u32>; 2],
    pub(super) got: Vec<Delegation>,
}

/// Version byte at the start of a record.
const VERSION: u8 = 1;
/// Seconds that stand for an infinite lifetime.
const INFINITE: u32 = u32::MAX;

impl Record {
    /// Returns the record of a binding, or `None` if it is empty.
    pub(super) fn of(config: &Config, got: &[Delegation]) -> Option<Self> {
        (!got.is_empty()).then(|| Self {
            duid: config.duid.clone(),
            numbers: [config.addresses, config.prefixes],
            got: got.to_vec(),
        })
    }

    /// Whether the record belongs to a client of this configuration: servers identify clients by
    /// DUID and IAID.
    pub(super) fn is_of(&self, config: &Config) -> bool {
        self.duid == config.duid && self.numbers == [config.addresses, config.prefixes]
    }

    /// Encodes the record: version, length of the DUID, DUID, IAIDs; then for each address or
    /// prefix a prefix flag, length, address, and the remaining seconds of both lifetimes.
    pub(super) fn to_bytes(&self, now: Instant) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::try_from(self.duid.len()).unwrap_or(u8::MAX)];
        bytes.extend(self.duid.iter().take(usize::from(u8::MAX)));
        for number in self.numbers {
            bytes.push(number.is_some().into());
            bytes.extend(number.unwrap_or(0).to_be_bytes());
        }
        let left = |until: Option<Instant>| {
            let seconds = until.map(|until| until.saturating_since(now).as_secs());
            let seconds = seconds.map(|left| u32::try_from(left).unwrap_or(INFINITE - 1));
            seconds.unwrap_or(INFINITE).to_be_bytes()
        };
        for got in &self.got {
            bytes.extend([got.is_prefix.into(), got.len]);
            bytes.extend(got.address.octets());
            bytes.extend(left(got.preferred));
            bytes.extend(left(got.valid));
        }
        bytes
    }

    /// Decodes a record of this age. Returns `None` for other versions, and if all lifetimes have
    /// expired.
    pub(super) fn read(bytes: &[u8], age: Duration, now: Instant) -> Option<Self> {
        let ([VERSION, len], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (duid, rest) = rest.split_at_checked(usize::from(*len))?;
        let (numbers, mut rest) = rest.split_first_chunk::<10>()?;
        let number = |at: usize| {
            let value = numbers[at + 1..]
                .first_chunk()
                .copied()
                .map(u32::from_be_bytes);
            value.filter(|_| numbers[at] != 0)
        };
        let until = |seconds: u32| {
            (seconds != INFINITE)
                .then(|| now + Duration::from_secs(seconds.into()).saturating_sub(age))
        };
        let mut got = Vec::new();
        while let Some((entry, behind)) = rest.split_first_chunk::<26>() {
            let word = |at: usize| entry[at..].first_chunk().copied().map(u32::from_be_bytes);
            let valid = until(word(22)?);
            if valid.is_none_or(|at| at > now) {
                got.push(Delegation {
                    is_prefix: entry[0] != 0,
                    address: Ipv6Addr::from(*entry[2..].first_chunk::<16>()?),
                    len: entry[1],
                    preferred: until(word(18)?),
                    valid,
                });
            }
            rest = behind;
        }
        let numbers = [number(0), number(5)];
        (!got.is_empty()).then(|| Self {
            duid: duid.to_vec(),
            numbers,
            got,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_restores_remaining_lifetimes_for_its_own_client_only() {
        let now = Instant::from_secs(100);
        let config = Config {
            duid: vec![0, 3, 0, 1, 2, 0, 0, 0, 0, 9],
            addresses: None,
            prefixes: Some(7),
            ..Config::default()
        };
        let prefix = |number: u16, seconds: Option<u64>| Delegation {
            is_prefix: true,
            address: Ipv6Addr::new(0x2001, 0xdb8, number, 0, 0, 0, 0, 0),
            len: 56,
            preferred: seconds.map(|seconds| now + Duration::from_secs(seconds)),
            valid: seconds.map(|seconds| now + Duration::from_secs(seconds * 2)),
        };
        let all = [prefix(1, Some(500)), prefix(2, Some(10)), prefix(3, None)];
        let record = Record::of(&config, &all).expect("it is something");
        let bytes = record.to_bytes(now);

        let start = Instant::from_secs(1);
        let read = Record::read(&bytes, Duration::from_secs(60), start).expect("a record");
        assert!(read.is_of(&config));
        let other = Config {
            prefixes: Some(8),
            ..config.clone()
        };
        assert!(!read.is_of(&other));
        let first = Delegation {
            preferred: Some(start + Duration::from_secs(440)),
            valid: Some(start + Duration::from_secs(940)),
            ..all[0]
        };
        assert_eq!(read.got, [first, all[2]]);
        for len in 0..bytes.len() {
            let cut = Record::read(&bytes[..len], Duration::ZERO, start);
            assert!(cut.is_none_or(|cut| cut.got.len() < 3), "{len}");
        }
        assert_eq!(Record::of(&config, &[]), None);
    }
}
