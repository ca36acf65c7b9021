//! History on disk: a record for each minute of the last day and each hour of the last year, in a log in the state
//! folder.
//!
//! The log's number of a record is its minute modulo [`MINUTES`], or [`MINUTES`] plus its hour modulo [`HOURS`]: a
//! record replaces the one of a day, or a year, before. Record: version, span (0 for a minute, 1 for an hour), minute
//! since 1970 (u64), shares of the facilities (count, then u16 each), packets and resources (u64 each), and the
//! interfaces, then the queues (count, then each: length of the name, name, two rates in bits per second as u64).
//! Numbers are little endian. With all interfaces and queues of the bounds, a record has 3.5 KB and the log 35 MB.

use core::fmt;
use std::collections::BTreeMap;
use std::io;

use super::{
    FACILITIES, HOURS, Load, MAX_INTERFACES, MAX_QUEUES, MINUTES, MINUTES_PER_HOUR, Machine,
    Packets, Rate, Span,
};
use crate::store::leases::Leases;

/// The name of the log in the state folder.
pub const FILE: &str = "traffic";
/// Version of the format.
const VERSION: u8 = 2;

/// Averages of one minute or hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryRecord {
    /// Minutes or hours.
    pub(crate) span: Span,
    /// Minutes from 1970 to the end of the sampled time.
    pub(crate) minute: u64,
    pub(crate) load: Load,
    pub(crate) packets: Packets,
    pub(crate) machine: Machine,
    /// Rates by name of the simple queue, at most [`MAX_QUEUES`].
    pub(crate) queues: Vec<(String, Rate)>,
    /// Rates by interface name, at most [`MAX_INTERFACES`].
    pub(crate) interfaces: Vec<(String, Rate)>,
}

impl Default for HistoryRecord {
    fn default() -> Self {
        Self {
            span: Span::Minutes,
            minute: 0,
            load: [0; FACILITIES],
            packets: [0; 3],
            machine: [0; 3],
            queues: Vec::new(),
            interfaces: Vec::new(),
        }
    }
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

impl HistoryRecord {
    /// Returns the number of the record in the log.
    const fn number(&self) -> u64 {
        match self.span {
            Span::Hours => MINUTES as u64 + self.minute / MINUTES_PER_HOUR % HOURS as u64,
            _ => self.minute % MINUTES as u64,
        }
    }

    /// Encodes the record; interfaces with names above 255 bytes are left out.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, u8::from(self.span == Span::Hours)];
        bytes.extend(self.minute.to_le_bytes());
        bytes.push(FACILITIES as u8);
        for share in self.load {
            let share = u16::try_from(share).unwrap_or(u16::MAX);
            bytes.extend(share.to_le_bytes());
        }
        for number in self.packets.into_iter().chain(self.machine) {
            bytes.extend(number.to_le_bytes());
        }
        for list in [&self.interfaces, &self.queues] {
            let named = list
                .iter()
                .filter(|(name, _)| name.len() <= usize::from(u8::MAX));
            bytes.push(u8::try_from(named.clone().count()).unwrap_or(u8::MAX));
            for (name, rate) in named.take(usize::from(u8::MAX)) {
                bytes.push(name.len() as u8);
                bytes.extend(name.as_bytes());
                for bits in rate {
                    bytes.extend(bits.to_le_bytes());
                }
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
        let span = match reader.byte()? {
            0 => Span::Minutes,
            1 => Span::Hours,
            _ => return Err(RecordError::Malformed),
        };
        let mut record = Self {
            span,
            minute: reader.number()?,
            ..Self::default()
        };
        if usize::from(reader.byte()?) != FACILITIES {
            return Err(RecordError::Version);
        }
        for share in &mut record.load {
            *share = u64::from(u16::from_le_bytes(reader.array()?));
        }
        for number in record.packets.iter_mut().chain(&mut record.machine) {
            *number = reader.number()?;
        }
        record.interfaces = reader.rates(MAX_INTERFACES)?;
        record.queues = reader.rates(MAX_QUEUES)?;
        match reader.0.is_empty() {
            true => Ok(record),
            false => Err(RecordError::Malformed),
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

    /// Reads a list of names with their rates.
    fn rates(&mut self, most: usize) -> Result<Vec<(String, Rate)>, RecordError> {
        let count = usize::from(self.byte()?);
        if count > most {
            return Err(RecordError::Malformed);
        }
        let rate = |_| {
            let length = self.byte()?;
            let name = str::from_utf8(self.bytes(length.into())?);
            let name = name.map_err(|_| RecordError::Malformed)?.to_owned();
            Ok((name, [self.number()?, self.number()?]))
        };
        (0..count).map(rate).collect()
    }
}

/// The log of minutes and hours.
#[derive(Debug, Default)]
pub(crate) struct StoredHistory {
    log: Option<Leases>,
    /// Records on disk by their log number.
    written: BTreeMap<u64, Vec<u8>>,
    /// Number of records that were refused at the start.
    refused: u64,
    /// Whether the last write failed.
    fails: bool,
    /// Number of the last period of `store-every` whose begin led to a write.
    pub(crate) period: u64,
    /// Records that wait for the next write, with their numbers.
    waiting: Vec<(u64, Option<Vec<u8>>)>,
}

impl StoredHistory {
    /// Takes a log with its entries. Returns the readable records, and the reason why others were refused.
    pub(crate) fn open(
        &mut self,
        log: Leases,
        found: BTreeMap<u64, Vec<u8>>,
    ) -> (Vec<HistoryRecord>, Option<RecordError>) {
        let (mut records, mut reason) = (Vec::new(), None);
        for (number, bytes) in found {
            let record = HistoryRecord::decode(&bytes);
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

    /// Adds a record, which the next [`Self::write`] stores. Does nothing without a log.
    pub(crate) fn add(&mut self, record: &HistoryRecord) {
        if self.log.is_some() {
            let (number, bytes) = (record.number(), record.encode());
            self.written.insert(number, bytes.clone());
            self.waiting.push((number, Some(bytes)));
        }
    }

    /// Writes the waiting records; they are on disk when the call returns. Does nothing without records. Records of a
    /// failed write are lost.
    ///
    /// # Errors
    /// The write failed, and the previous one succeeded.
    pub(crate) fn write(&mut self) -> io::Result<()> {
        let waiting = core::mem::take(&mut self.waiting);
        let Some(log) = self.log.as_mut().filter(|_| !waiting.is_empty()) else {
            return Ok(());
        };
        let written = match log.is_stale() {
            true => log.rewrite(&self.written),
            false => log.keep(&waiting),
        };
        let failed_before = core::mem::replace(&mut self.fails, written.is_err());
        written.or_else(|error| if failed_before { Ok(()) } else { Err(error) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Key;

    fn record(minute: u64) -> HistoryRecord {
        let mut load = [0; FACILITIES];
        load[1] = 250;
        HistoryRecord {
            minute,
            load,
            packets: [10, 7, 2],
            machine: [5, 6, 7],
            queues: vec![("q".into(), [3, 4])],
            span: Span::Minutes,
            interfaces: vec![("ether1".into(), [1_000, minute]), ("a b".into(), [0, 9])],
        }
    }

    #[test]
    fn records_are_read_as_written_and_every_truncation_is_refused() {
        let bytes = record(28_000_000).encode();
        assert_eq!(HistoryRecord::decode(&bytes), Ok(record(28_000_000)));
        for length in 0..bytes.len() {
            let read = HistoryRecord::decode(&bytes[..length]);
            assert_eq!(read, Err(RecordError::Malformed), "{length}");
        }
        let mut other = bytes;
        other[0] = VERSION + 1;
        assert_eq!(HistoryRecord::decode(&other), Err(RecordError::Version));
        let mut many = record(1);
        many.interfaces = vec![("a".into(), [1, 1]); MAX_INTERFACES + 1];
        let read = HistoryRecord::decode(&many.encode());
        assert_eq!(read, Err(RecordError::Malformed));
    }

    #[test]
    fn changed_bits_never_panic() {
        let bytes = record(28_000_000).encode();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(
                HistoryRecord::decode(&changed),
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
            stored.add(&record(minute));
        }
        stored.write().expect("room");
        let hour = HistoryRecord {
            span: Span::Hours,
            ..record(day + 60)
        };
        stored.add(&hour);
        stored.write().expect("room");
        // A record of another version, and one at a wrong place.
        let log = stored.log.as_mut().expect("a log");
        log.keep(&vec![(7, Some(vec![9, 9])), (8, Some(record(9).encode()))])
            .expect("room");
        drop(stored);

        let (stored, (records, reason)) = open();
        let minutes: Vec<_> = records.iter().map(|record| record.minute).collect();
        assert_eq!(minutes, [day + 5, 6, day + 60]);
        assert_eq!(stored.refused(), 2);
        assert_eq!(reason, Some(RecordError::Misplaced));
        std::fs::remove_dir_all(&folder).expect("it was made here");
    }
}
