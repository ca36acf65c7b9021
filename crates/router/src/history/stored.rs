//! History on disk: a record for each minute of the last day, in a log in the state folder.
//!
//! The log's number of a record is its minute modulo [`MINUTES`], so that a record replaces the one of a day before.
//! Record: version, minute since 1970 (u64), shares of the facilities (count, then u16 each), packets (u64 each), and
//! the interfaces (length of the name, name, received and transmitted bits per second as u64). Numbers are little
//! endian.

use core::fmt;
use std::collections::BTreeMap;
use std::io;

use super::{FACILITIES, Load, MAX_INTERFACES, MINUTES, Packets, Rate};
use crate::store::leases::Leases;

/// The name of the log in the state folder.
pub const FILE: &str = "traffic";
/// Version of the format.
const VERSION: u8 = 1;

/// Averages of one minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MinuteRecord {
    /// Minutes from 1970 to the end of the sampled minute.
    pub(crate) minute: u64,
    pub(crate) load: Load,
    pub(crate) packets: Packets,
    /// Rates by interface name, at most [`MAX_INTERFACES`].
    pub(crate) interfaces: Vec<(String, Rate)>,
}

/// Reason why a record is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordError {
    /// Another version of the router wrote the record.
    Version,
    /// The record ends early, is too long, or has a malformed name.
    Malformed,
    /// The record stands under the number of another minute.
    Misplaced,
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Version => "another version of the router wrote it",
            Self::Malformed => "it is malformed",
            Self::Misplaced => "it stands at the place of another minute",
        })
    }
}

impl MinuteRecord {
    /// Returns the number of the record in the log.
    const fn number(&self) -> u64 {
        self.minute % MINUTES as u64
    }

    /// Encodes the record; interfaces with names above 255 bytes are left out.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.minute.to_le_bytes());
        bytes.push(FACILITIES as u8);
        for share in self.load {
            let share = u16::try_from(share).unwrap_or(u16::MAX);
            bytes.extend(share.to_le_bytes());
        }
        for packets in self.packets {
            bytes.extend(packets.to_le_bytes());
        }
        for (name, rate) in &self.interfaces {
            let Ok(length) = u8::try_from(name.len()) else {
                continue;
            };
            bytes.push(length);
            bytes.extend(name.as_bytes());
            for bits in rate {
                bytes.extend(bits.to_le_bytes());
            }
        }
        bytes
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// The version is unknown, or the bytes are malformed.
    fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let (version, rest) = bytes.split_first().ok_or(RecordError::Malformed)?;
        if *version != VERSION {
            return Err(RecordError::Version);
        }
        let mut reader = Reader(rest);
        let mut record = Self {
            minute: reader.number()?,
            ..Self::default()
        };
        if usize::from(reader.byte()?) != FACILITIES {
            return Err(RecordError::Version);
        }
        for share in &mut record.load {
            *share = u64::from(u16::from_le_bytes(reader.array()?));
        }
        for packets in &mut record.packets {
            *packets = reader.number()?;
        }
        while !reader.0.is_empty() {
            let length = reader.byte()?;
            let name = str::from_utf8(reader.bytes(length.into())?);
            let name = name.map_err(|_| RecordError::Malformed)?.to_owned();
            let rate = [reader.number()?, reader.number()?];
            record.interfaces.push((name, rate));
        }
        match record.interfaces.len() {
            0..=MAX_INTERFACES => Ok(record),
            _ => Err(RecordError::Malformed),
        }
    }
}

/// Reads the bytes of a record from front to back.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, length: usize) -> Result<&'a [u8], RecordError> {
        let parts = self.0.split_at_checked(length);
        let (bytes, rest) = parts.ok_or(RecordError::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let bytes = self.bytes(N)?;
        bytes.try_into().map_err(|_| RecordError::Malformed)
    }

    fn byte(&mut self) -> Result<u8, RecordError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn number(&mut self) -> Result<u64, RecordError> {
        self.array().map(u64::from_le_bytes)
    }
}

/// The log of the last day's minutes.
#[derive(Debug, Default)]
pub(crate) struct StoredHistory {
    log: Option<Leases>,
    /// Records on disk by their log number.
    written: BTreeMap<u64, Vec<u8>>,
    /// Number of records that were refused at the start.
    refused: u64,
    /// Whether the last write failed.
    fails: bool,
}

impl StoredHistory {
    /// Takes a log with its entries. Returns the readable records, and the reason why others were refused.
    pub(crate) fn open(
        &mut self,
        log: Leases,
        found: BTreeMap<u64, Vec<u8>>,
    ) -> (Vec<MinuteRecord>, Option<RecordError>) {
        let (mut records, mut reason) = (Vec::new(), None);
        for (number, bytes) in found {
            let record = MinuteRecord::decode(&bytes);
            let record = record.and_then(|record| match record.number() == number {
                true => Ok(record),
                false => Err(RecordError::Misplaced),
            });
            match record {
                Ok(record) => {
                    self.written.insert(number, bytes);
                    records.push(record);
                }
                Err(error) => {
                    self.refused += 1;
                    reason = Some(error);
                }
            }
        }
        self.log = Some(log);
        (records, reason)
    }

    /// Returns the number of records that were refused at the start.
    pub(crate) const fn refused(&self) -> u64 {
        self.refused
    }

    /// Writes the record of a minute; it is on disk when the call returns. Does nothing without a log.
    ///
    /// # Errors
    /// The write failed, and the previous one succeeded.
    pub(crate) fn write(&mut self, record: &MinuteRecord) -> io::Result<()> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let (number, bytes) = (record.number(), record.encode());
        self.written.insert(number, bytes.clone());
        let written = match log.is_stale() {
            true => log.rewrite(&self.written),
            false => log.keep(&vec![(number, Some(bytes))]),
        };
        let failed_before = core::mem::replace(&mut self.fails, written.is_err());
        written.or_else(|error| if failed_before { Ok(()) } else { Err(error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Key;

    fn record(minute: u64) -> MinuteRecord {
        let mut load = [0; FACILITIES];
        load[1] = 250;
        MinuteRecord {
            minute,
            load,
            packets: [10, 7, 2],
            interfaces: vec![("ether1".into(), [1_000, minute]), ("a b".into(), [0, 9])],
        }
    }

    #[test]
    fn records_are_read_as_written_and_every_truncation_is_refused() {
        let bytes = record(28_000_000).encode();
        assert_eq!(MinuteRecord::decode(&bytes), Ok(record(28_000_000)));
        let interfaces = [bytes.len(), bytes.len() - 20, bytes.len() - 20 - 23];
        for length in (0..bytes.len()).filter(|length| !interfaces.contains(length)) {
            let read = MinuteRecord::decode(&bytes[..length]);
            assert_eq!(read, Err(RecordError::Malformed), "{length}");
        }
        let mut other = bytes;
        other[0] = 2;
        assert_eq!(MinuteRecord::decode(&other), Err(RecordError::Version));
        let mut many = record(1);
        many.interfaces = vec![("a".into(), [1, 1]); MAX_INTERFACES + 1];
        let read = MinuteRecord::decode(&many.encode());
        assert_eq!(read, Err(RecordError::Malformed));
    }

    #[test]
    fn changed_bits_never_panic() {
        let bytes = record(28_000_000).encode();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(
                MinuteRecord::decode(&changed),
                Ok(record(28_000_000)),
                "{bit}"
            );
        }
    }

    #[test]
    fn the_log_keeps_a_day_and_broken_records_are_counted() {
        let folder = std::env::temp_dir().join(format!("ferroute-traffic-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let key = Key::new([7; 32], "a test");
        let open = || {
            let (log, found) = Leases::open_named(&folder, FILE, &key).expect("a log");
            let mut stored = StoredHistory::default();
            let read = stored.open(log, found);
            (stored, read)
        };
        let day = MINUTES as u64;
        let (mut stored, (records, reason)) = open();
        assert!(records.is_empty() && reason.is_none());
        for minute in [5, 6, day + 5] {
            stored.write(&record(minute)).expect("room");
        }
        // A record of another version, and one at a wrong place.
        let log = stored.log.as_mut().expect("a log");
        log.keep(&vec![(7, Some(vec![9, 9])), (8, Some(record(9).encode()))])
            .expect("room");
        drop(stored);

        let (stored, (records, reason)) = open();
        let minutes: Vec<_> = records.iter().map(|record| record.minute).collect();
        assert_eq!(minutes, [day + 5, 6]);
        assert_eq!(stored.refused(), 2);
        assert_eq!(reason, Some(RecordError::Misplaced));
        std::fs::remove_dir_all(&folder).expect("it was made here");
    }
}
