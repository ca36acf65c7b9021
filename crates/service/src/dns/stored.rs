//! Answers in their cached form: the wire format after the question, and the offsets of its TTLs. Writing an answer
//! needs no allocation.

use core::time::Duration;

use machine::Instant;

use super::question::{CLASS_IN, HEAD, Key, Options, Query, QueryError, TYPE_OPT, name_len};

/// Maximum message length in bytes (RFC 1035, 4.2.2).
pub(super) const MESSAGE_MAX: usize = 65_535;
/// Maximum UDP payload for clients without EDNS (RFC 1035, 4.2.1).
const PLAIN_MAX: usize = 512;
/// UDP payload size that this router announces (RFC 6891, 6.2.5), which avoids fragmentation on every link.
pub(super) const SIZE: u16 = 1232;
/// Length of the OPT record of an answer.
const OPTIONS: usize = 11;
/// Owner name of an answer record: compression pointer to the queried name.
const ASKED: [u8; 2] = [0xc0, HEAD as u8];

/// Transport of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP; answers have at most this many bytes.
    Datagram(usize),
    /// TCP or TLS: answers of any length fit.
    Stream,
}

/// Query data needed to address an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    /// Header and question, as received.
    pub(super) head: &'a [u8],
    /// EDNS options of the client.
    pub(super) options: Option<Options>,
    /// Maximum length of the answer in bytes.
    pub(super) limit: usize,
}

impl<'a> Asker<'a> {
    /// Derives the answer limits from a query and its transport.
    pub(super) fn new(query: &Query<'a>, carrier: Carrier) -> Self {
        let limit = match (carrier, query.options) {
            (Carrier::Stream, _) => MESSAGE_MAX,
            (Carrier::Datagram(most), None) => most.min(PLAIN_MAX),
            (Carrier::Datagram(most), Some(options)) => {
                most.min(usize::from(options.size).max(PLAIN_MAX))
            }
        };
        Self {
            head: query.head,
            options: query.options,
            limit,
        }
    }
}

/// Numbers of answer and authority records.
pub(super) type Counts = (u16, u16);

/// A cached answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// Response code (RFC 1035, 4.1.1).
    pub(super) code: u8,
    pub(super) counts: Counts,
    /// Records in wire format.
    pub(super) body: Box<[u8]>,
    /// Offsets of the TTLs in `body`.
    times: Box<[u16]>,
    /// Time from which the TTLs count down; `None` for fixed TTLs.
    pub(super) made: Option<Instant>,
    /// Expiry.
    pub(super) until: Instant,
    /// Name in wire format as the first client spelled it; `None` is lower case.
    pub(super) spelling: Option<Box<[u8]>>,
}

impl Stored {
    /// Builds an answer from records that follow the question of `key`; `None` if the records are malformed.
    pub(super) fn new(key: &Key, code: u8, counts: Counts, body: &[u8]) -> Option<Self> {
        let count = counts.0.checked_add(counts.1)?;
        let times = times(body, count)?;
        debug_assert!(key.name().len() + body.len() < MESSAGE_MAX);
        Some(Self {
            code,
            counts,
            body: body.into(),
            times: times.into(),
            made: None,
            until: Instant::ZERO,
            spelling: None,
        })
    }

    /// Builds an answer without records.
    pub(super) fn empty(code: u8) -> Self {
        Self {
            code,
            counts: (0, 0),
            body: Box::default(),
            times: Box::default(),
            made: None,
            until: Instant::ZERO,
            spelling: None,
        }
    }

    /// Sets the start time and lifetime.
    pub(super) fn made(self, now: Instant, holds: Duration) -> Self {
        Self {
            made: Some(now),
            until: now + holds,
            ..self
        }
    }

    /// Sets the spelling of the name to display.
    pub(super) fn spelled(self, spelling: Option<Box<[u8]>>) -> Self {
        Self { spelling, ..self }
    }

    /// Memory use in bytes.
    pub(super) fn size(&self) -> usize {
        let spelling = self.spelling.as_deref().map_or(0, <[u8]>::len);
        size_of::<Self>() + self.body.len() + 2 * self.times.len() + spelling
    }

    /// Seconds to subtract from the TTLs.
    pub(super) fn age(&self, now: Instant) -> u32 {
        let age = self.made.map(|made| now.saturating_since(made).as_secs());
        age.map_or(0, |age| u32::try_from(age).unwrap_or(u32::MAX))
    }

    /// Appends the answer for a client.
    pub(super) fn write(&self, to: &Asker<'_>, now: Instant, out: &mut Vec<u8>) {
        self.write_as(to, self.code, now, out);
    }

    /// Appends the answer with another response code.
    pub(super) fn write_as(&self, to: &Asker<'_>, code: u8, now: Instant, out: &mut Vec<u8>) {
        let options = to.options.map_or(0, |_| OPTIONS);
        let fits = to.head.len() + self.body.len() + options <= to.limit;
        let counts = if fits { self.counts } else { (0, 0) };
        put_head(to, code.into(), !fits, counts, out);
        if fits {
            let age = self.age(now);
            let at = out.len();
            out.extend_from_slice(&self.body);
            if age > 0 {
                for time in &self.times {
                    let time = { &mut out[at + usize::from(*time)..] }.first_chunk_mut::<4>();
                    if let Some(time) = time {
                        *time = u32::from_be_bytes(*time).saturating_sub(age).to_be_bytes();
                    }
                }
            }
        }
        put_options(to.options, 0, out);
    }
}

/// Appends an answer without records.
pub(super) fn refuse(to: &Asker<'_>, code: u16, out: &mut Vec<u8>) {
    put_head(to, code, false, (0, 0), out);
    put_options(to.options, (code >> 4) as u8, out);
}

/// Appends the error answer to a message that could not be parsed, if it gets one.
pub(super) fn refuse_unread(bytes: &[u8], unfit: QueryError, out: &mut Vec<u8>) {
    let (Some(code), Some(head)) = (unfit.code(), bytes.get(..HEAD)) else {
        return;
    };
    let name = name_len(&bytes[HEAD..]).filter(|_| unfit != QueryError::Malformed);
    let question = name.and_then(|len| bytes.get(..HEAD + len + 4));
    let to = Asker {
        head: question.unwrap_or(head),
        options: (unfit == QueryError::Version).then_some(Options {
            size: SIZE,
            signed: false,
        }),
        limit: PLAIN_MAX,
    };
    let at = out.len();
    refuse(&to, code, out);
    out[at + 5] = u8::from(question.is_some());
    out[at + 4] = 0;
}

/// Appends header and question.
fn put_head(to: &Asker<'_>, code: u16, cut: bool, counts: Counts, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(to.head);
    let head = &mut out[at..];
    // Sets QR; copies opcode and RD from the query; sets TC if truncated.
    head[2] = 0x80 | head[2] & 0x79 | u8::from(cut) << 1;
    // Sets RA and keeps CD; AD stays clear, because the router does not validate (RFC 4035, 3.2.3).
    head[3] = 0x80 | head[3] & 0x10 | (code & 0xf) as u8;
    head[6..8].copy_from_slice(&counts.0.to_be_bytes());
    head[8..10].copy_from_slice(&counts.1.to_be_bytes());
    let options = u16::from(to.options.is_some());
    head[10..12].copy_from_slice(&options.to_be_bytes());
}

/// Appends an OPT record if the query had one (RFC 6891, 7).
fn put_options(options: Option<Options>, code: u8, out: &mut Vec<u8>) {
    let Some(options) = options else { return };
    let [high, low] = SIZE.to_be_bytes();
    let signed = u8::from(options.signed) << 7;
    out.extend_from_slice(&[0, 0, TYPE_OPT as u8, high, low, code, 0, signed, 0, 0, 0]);
}

/// Appends a record whose owner is the queried name.
pub(super) fn put_record(kind: u16, ttl: u32, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&ASKED);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&CLASS_IN.to_be_bytes());
    out.extend_from_slice(&ttl.to_be_bytes());
    // Data of static entries is below 65,536 bytes.
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}

/// Finds the TTL offsets of `count` records; `None` if the records are malformed.
fn times(body: &[u8], count: u16) -> Option<Vec<u16>> {
    let mut at = 0;
    let mut times = Vec::with_capacity(count.into());
    for _ in 0..count {
        at = skip_name(body, at)?;
        let fixed = body.get(at..)?.first_chunk::<10>()?;
        times.push(u16::try_from(at + 4).ok()?);
        at += 10 + usize::from(u16::from_be_bytes([fixed[8], fixed[9]]));
    }
    (at == body.len()).then_some(times)
}

/// Returns the offset after the name at `at`: after the root label or a compression pointer.
fn skip_name(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *bytes.get(at)? {
            0 => return Some(at + 1),
            len @ 1..=63 => at += 1 + usize::from(len),
            0xc0.. => return Some(at + 2),
            _ => return None,
        }
    }
}
