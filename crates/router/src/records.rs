//! Records of features that survive a restart, apart from the configuration: assignments that servers gave this router,
//! and announcements that it made. Features write records by `Effect::Keep`; control writes the records of a step at
//! once, with the time of day, to a log in the state folder. After a restart control passes each record with its age to
//! the features (`Feature::recall`), before any interface has a port.

use std::collections::BTreeMap;

use machine::{Duration, Instant};

use crate::intent::ItemId;
use crate::store::leases::{Entries, Leases};

/// The name of the log in the state folder.
pub const FILE: &str = "records";
/// Time until a failed write is repeated.
const AGAIN: Duration = Duration::from_secs(30);

/// Kind of a record. The numbers are stored on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// DUID of this router (RFC 8415, 11); its item is 0.
    Duid = 1,
    /// Address of a DHCP client.
    Dhcp4Lease = 2,
    /// Addresses and prefixes of a DHCPv6 client.
    Dhcp6Binding = 3,
    /// Prefixes that were advertised on an interface.
    AdvertisedPrefixes = 4,
    /// Prefix or address that a DHCPv6 server assigned.
    Dhcp6ServerBinding = 5,
    /// End of an accounted session that no RADIUS server has acknowledged; its item is the number of the report.
    AccountingReport = 6,
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Duid,
        Self::Dhcp4Lease,
        Self::Dhcp6Binding,
        Self::AdvertisedPrefixes,
        Self::Dhcp6ServerBinding,
        Self::AccountingReport,
    ];
}

/// Key of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Kind of the record.
    pub kind: Kind,
    /// The configuration item that owns the record.
    pub item: ItemId,
}

impl Key {
    /// Bits of an item's number. Dynamic items have larger numbers, which change with each start.
    const ITEM_BITS: u32 = 56;

    /// Returns the number in the log; `None` for a dynamic item.
    const fn number(self) -> Option<u64> {
        match self.item >> Self::ITEM_BITS {
            0 => Some((self.kind as u64) << Self::ITEM_BITS | self.item),
            _ => None,
        }
    }

    fn of(number: u64) -> Option<Self> {
        let kind = (number >> Self::ITEM_BITS) as u8;
        let kind = { Kind::ALL.into_iter() }.find(|known| *known as u8 == kind)?;
        let item = number & ((1 << Self::ITEM_BITS) - 1);
        Some(Self { kind, item })
    }
}

/// A record from before a restart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recalled<'a> {
    pub(crate) key: Key,
    /// Content, as the feature wrote it.
    pub(crate) bytes: &'a [u8],
    /// Age of the record, by the time of day.
    pub(crate) age: Duration,
}

/// All records of this router.
#[derive(Debug, Default)]
pub(crate) struct Records {
    log: Option<Leases>,
    /// Records on disk by their log number; each begins with the time of day of its write.
    written: BTreeMap<u64, Vec<u8>>,
    /// Records to write, or to remove.
    changed: BTreeMap<u64, Option<Vec<u8>>>,
    /// Time of the next attempt after a failed write.
    again: Option<Instant>,
}

impl Records {
    /// Opens a log with its entries; returns the readable records.
    pub(crate) fn open(
        &mut self,
        log: Leases,
        found: BTreeMap<u64, Vec<u8>>,
        unix_seconds: i64,
    ) -> Vec<(Key, Vec<u8>, Duration)> {
        let read = found.iter().filter_map(|(number, record)| {
            let (written, bytes) = record.split_first_chunk()?;
            let age = unix_seconds.saturating_sub(i64::from_le_bytes(*written));
            let age = Duration::from_secs(u64::try_from(age).unwrap_or(0));
            Some((Key::of(*number)?, bytes.to_vec(), age))
        });
        let read = read.collect();
        self.log = Some(log);
        self.written = found;
        read
    }

    /// Queues a record to be written at the end of this step; `None` removes the record. Does nothing without a log.
    pub(crate) fn keep(&mut self, key: Key, record: Option<Vec<u8>>) {
        if let Some(number) = key.number().filter(|_| self.log.is_some()) {
            self.changed.insert(number, record);
        }
    }

    /// Returns when [`Self::write`] is due next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (!self.changed.is_empty()).then(|| self.again.unwrap_or(Instant::ZERO))
    }

    /// Writes the queued records.
    ///
    /// # Errors
    /// The write failed, and the previous one succeeded; the write is repeated later.
    pub(crate) fn write(&mut self, unix_seconds: i64, now: Instant) -> Result<(), std::io::Error> {
        if self.deadline().is_none_or(|at| at > now) {
            return Ok(());
        }
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        let time = unix_seconds.to_le_bytes();
        let entry = |(number, record): (&u64, &Option<Vec<u8>>)| {
            let timed = record.as_ref().map(|record| [&time[..], record].concat());
            (*number, timed)
        };
        let entries: Entries = self.changed.iter().map(entry).collect();
        let kept = match log.is_stale() {
            true => {
                let mut all = self.written.clone();
                apply(&mut all, &entries);
                log.rewrite(&all)
            }
            false => log.keep(&entries),
        };
        match kept {
            Ok(()) => {
                apply(&mut self.written, &entries);
                self.changed.clear();
                self.again = None;
                Ok(())
            }
            Err(error) => match self.again.replace(now + AGAIN) {
                None => Err(error),
                Some(_) => Ok(()),
            },
        }
    }
}

/// Applies written entries to the records on disk.
fn apply(all: &mut BTreeMap<u64, Vec<u8>>, entries: &Entries) {
    for (number, record) in entries {
        match record {
            Some(record) => _ = all.insert(*number, record.clone()),
            None => _ = all.remove(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Key as StoreKey;

    const LEASE: Key = Key {
        kind: Kind::Dhcp4Lease,
        item: 7,
    };

    fn opened(
        folder: &std::path::Path,
        unix_seconds: i64,
    ) -> (Records, Vec<(Key, Vec<u8>, Duration)>) {
        let key = StoreKey::new([7; 32], "a test");
        let (log, found) = Leases::open_named(folder, FILE, &key).expect("a log");
        let mut records = Records::default();
        let read = records.open(log, found, unix_seconds);
        (records, read)
    }

    #[test]
    fn records_are_read_with_their_age_except_those_of_dynamic_items() {
        let folder = std::env::temp_dir().join(format!("ferroute-records-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (mut records, read) = opened(&folder, 1_000);
        assert!(read.is_empty() && records.deadline().is_none());
        let duid = Key {
            kind: Kind::Duid,
            item: 0,
        };
        let dynamic = Key {
            kind: Kind::AdvertisedPrefixes,
            item: 1 << 63,
        };
        records.keep(LEASE, Some(vec![1, 2, 3]));
        records.keep(duid, Some(vec![9]));
        records.keep(dynamic, Some(vec![4]));
        records.write(1_000, Instant::ZERO).expect("room");
        records.keep(duid, None);
        records.write(1_001, Instant::ZERO).expect("room");
        assert_eq!(records.deadline(), None);
        drop(records);

        let (_, read) = opened(&folder, 1_060);
        assert_eq!(read, [(LEASE, vec![1, 2, 3], Duration::from_secs(60))]);
        // A clock that was set back gives no age.
        let (_, read) = opened(&folder, 10);
        assert_eq!(read[0].2, Duration::ZERO);
        std::fs::remove_dir_all(&folder).expect("it was made here");
    }
}
