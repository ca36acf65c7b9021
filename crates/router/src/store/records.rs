//! Reads ledgers: all intact records, and the known facts about damaged ones.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::ledger::{
    ALIGN, Entry, FIRST, HEADS, LINE, MAGIC, MAGIC_BEFORE, TITLE, TITLE_AND_LINE, base_place,
    before, content_place, line_place, record_len, title_place,
};
use super::vault::{Head, Key, MORE, NAME, Vault};

/// Number of non-zero bytes behind the last readable record that indicate a damaged record. A flipped bit in unused
/// space is no record; of an encrypted title and line nearly all bytes differ from zero.
const TRACES: usize = TITLE_AND_LINE / 2;

/// One record.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) entry: Entry,
    /// Content of the write ([`super::record`]); `None` if it is damaged.
    pub(super) content: Option<Vec<u8>>,
}

/// Result of reading one file.
#[derive(Debug, Default)]
pub(super) struct Reading {
    /// The head, even of a file under a different key.
    pub(super) head: Option<Head>,
    /// Whether the head could be decrypted: otherwise all other fields are empty.
    pub(super) is_open: bool,
    /// Whether an earlier version wrote the file, with records without content.
    pub(super) is_of_before: bool,
    /// Serial number of the latest write before the first record.
    pub(super) base: u64,
    pub(super) records: Vec<Record>,
    /// End of the last readable record.
    pub(super) end: usize,
    /// Whether the file is intact.
    pub(super) is_whole: bool,
    /// Whether a damaged record follows the last readable one.
    pub(super) has_traces: bool,
    /// Whether the file is truncated.
    pub(super) is_cut: bool,
}

impl Reading {
    /// Returns the number of the last known write.
    pub(super) fn last(&self) -> u64 {
        self.records
            .last()
            .map_or(self.base, |record| record.entry.serial)
    }
}

/// The ledger and the previous ledger.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) current: Option<Reading>,
    before: Option<Reading>,
}

impl Records {
    /// Reads both files beside a database.
    pub(super) fn read(path: &Path, key: &Key) -> io::Result<Self> {
        Ok(Self {
            current: read(path, key)?,
            before: read(&before(path), key)?,
        })
    }

    /// Returns the readable heads, of any key.
    pub(super) fn heads(&self) -> impl Iterator<Item = Head> {
        let readings = self.current.iter().chain(&self.before);
        readings.filter_map(|reading| reading.head)
    }

    /// Returns the number of the last acknowledged write in the ledgers.
    pub(super) fn last(&self) -> u64 {
        let readings = self.current.iter().chain(&self.before);
        readings.map(Reading::last).max().unwrap_or_default()
    }

    /// Returns all records by number.
    pub(super) fn by_serial(&self) -> BTreeMap<u64, &Record> {
        let readings = self.before.iter().chain(&self.current);
        let records = readings.flat_map(|reading| &reading.records);
        records
            .map(|record| (record.entry.serial, record))
            .collect()
    }

    /// Whether unreadable writes may have been acknowledged after [`Self::last`].
    pub(super) fn is_in_doubt(&self) -> bool {
        self.current
            .as_ref()
            .is_none_or(|own| !own.is_open || own.has_traces || own.is_cut)
    }
}

/// Returns the key names in the heads of the ledger at a path: none without a ledger or a readable head.
///
/// # Errors
/// The system's error.
pub(super) fn key_names(path: &Path) -> io::Result<Vec<[u8; NAME]>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(FIRST as u64).read_to_end(&mut bytes)?;
    let heads = HEADS.iter().filter_map(|at| Some(head_of(&bytes, *at)?.0));
    Ok(heads.map(|head| head.key).collect())
}

/// Reads the ledger at a path; `None` if it does not exist.
fn read(path: &Path, key: &Key) -> io::Result<Option<Reading>> {
    match super::files::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        bytes => Ok(Some(of_bytes(&bytes?, key))),
    }
}

fn of_bytes(bytes: &[u8], key: &Key) -> Reading {
    let heads = HEADS.map(|at| head_at(bytes, at, key));
    let known = heads.iter().flatten().find(|head| head.base.is_some());
    let is_of_before = bytes.starts_with(MAGIC_BEFORE);
    let Some((head, base)) = known.and_then(|known| Some((known.head, known.base?))) else {
        return Reading {
            head: heads.iter().flatten().map(|known| known.head).next(),
            is_of_before,
            ..Reading::default()
        };
    };
    let reading = Reading {
        head: Some(head),
        is_open: true,
        base,
        end: FIRST,
        is_whole: heads.iter().all(|own| own.as_ref() == known),
        ..Reading::default()
    };
    Scan {
        bytes,
        vault: Vault::of(key, head),
        reading,
    }
    .run()
}

/// One of the two copies of the head.
#[derive(PartialEq, Eq)]
struct KnownHead {
    head: Head,
    /// `None` if the key does not decrypt it.
    base: Option<u64>,
}

fn head_at(bytes: &[u8], at: usize, key: &Key) -> Option<KnownHead> {
    let (head, sealed) = head_of(bytes, at)?;
    let is_own = bytes[at..].starts_with(MAGIC);
    let sealed = sealed.get(..8 + MORE).filter(|_| is_own);
    let base = sealed.and_then(|sealed| Vault::of(key, head).open(&base_place(), sealed));
    let base = base.and_then(|base| base.try_into().ok());
    Some(KnownHead {
        head,
        base: base.map(u64::from_le_bytes),
    })
}

/// Parses the head at an offset; returns it with the bytes behind it.
fn head_of(bytes: &[u8], at: usize) -> Option<(Head, &[u8])> {
    let bytes = bytes.get(at..)?;
    let rest = bytes
        .strip_prefix(MAGIC)
        .or_else(|| bytes.strip_prefix(MAGIC_BEFORE))?;
    let (head, sealed) = rest.split_at_checked(Head::LEN)?;
    Some((Head::read(head)?, sealed))
}

/// A scan through the records of a file.
struct Scan<'a> {
    bytes: &'a [u8],
    vault: Vault,
    reading: Reading,
}

/// Contents of a title.
struct Title {
    serial: u64,
    revision: u64,
    content: usize,
}

impl Scan<'_> {
    fn run(mut self) -> Reading {
        let mut at = FIRST;
        loop {
            if let Some(title) = self.title(at) {
                at = self.take(at, &title);
                self.reading.end = at;
                continue;
            }
            let rest = self.bytes.get(at..).unwrap_or_default();
            let is_end = rest.iter().all(|byte| *byte == 0);
            self.reading.is_whole &= is_end;
            match self.next(at).filter(|_| !is_end) {
                Some(next) => at = next,
                None => {
                    let behind = &rest[..rest.len().min(TITLE_AND_LINE)];
                    let traces = behind.iter().filter(|byte| **byte != 0).count();
                    self.reading.has_traces = traces >= TRACES.min((behind.len() / 2).max(1));
                    self.reading.is_cut = behind.len() < TITLE_AND_LINE;
                    self.reading.is_whole &= !self.reading.is_cut;
                    return self.reading;
                }
            }
        }
    }

    /// Decrypts the title at an offset; `None` without a valid title.
    fn title(&self, at: usize) -> Option<Title> {
        let sealed = self.bytes.get(at..at + TITLE)?;
        if sealed.iter().all(|byte| *byte == 0) {
            return None;
        }
        let open = self.vault.open(&title_place(at), sealed)?;
        let number = |at: usize| Some(u64::from_le_bytes(*open.get(at..)?.first_chunk()?));
        Some(Title {
            serial: number(0)?,
            revision: number(8)?,
            content: usize::try_from(number(16)?).ok()?,
        })
    }

    /// Returns the offset of the next readable title behind an unreadable one.
    fn next(&self, at: usize) -> Option<usize> {
        let places = (at + ALIGN..self.bytes.len()).step_by(ALIGN);
        let mut places = places.skip_while(|place| self.title(*place).is_none());
        places.next()
    }

    /// Reads the record at an offset; returns the offset of its end.
    fn take(&mut self, at: usize, title: &Title) -> usize {
        let line = self.bytes.get(at + TITLE..at + TITLE_AND_LINE);
        let line = line.and_then(|line| self.vault.open(&line_place(title.serial), line));
        let content = at + TITLE_AND_LINE;
        let content = self.bytes.get(content..content + title.content + MORE);
        let content = content.and_then(|c| self.vault.open(&content_place(title.serial), c));
        self.reading.is_whole &= line.is_some() && content.is_some();
        let line = match line {
            Some(line) => {
                let len = line.iter().position(|byte| *byte == 0).unwrap_or(LINE);
                String::from_utf8_lossy(&line[..len]).into_owned()
            }
            None => String::from("(users and commands of these changes are damaged as well)"),
        };
        let entry = Entry {
            serial: title.serial,
            revision: title.revision,
            line,
        };
        self.reading.records.push(Record { entry, content });
        at + record_len(title.content)
    }
}
