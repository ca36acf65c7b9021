//! Answers as they are kept: what stands behind the question on the wire, and where its times are. To write one
//! needs no allocation.

use core::time::Duration;

use machine::Instant;

use super::question::{CLASS_IN, HEAD, Key, Options, Query, TYPE_OPT, Unfit, name_len};

/// The longest message (RFC 1035, 4.2.2).
pub(super) const MESSAGE_MAX: usize = 65_535;
/// What a client without options takes by UDP (RFC 1035, 4.2.1).
const PLAIN_MAX: usize = 512;
/// The size that this router says that it takes itself (RFC 6891, 6.2.5): what no link cuts.
pub(super) const SIZE: u16 = 1232;
/// Bytes of the options of an answer.
const OPTIONS: usize = 11;
/// The owner of a record that is the name of the question: a pointer to it.
const ASKED: [u8; 2] = [0xc0, HEAD as u8];

/// How a question came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In a datagram; answers have at most this many bytes.
    Datagram(usize),
    /// In a stream: all answers fit.
    Stream,
}

/// Where an answer goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    /// Head and question, as they came.
    pub(super) head: &'a [u8],
    /// What the client said of itself.
    pub(super) options: Option<Options>,
    /// Most bytes of the answer.
    pub(super) limit: usize,
}

impl<'a> Asker<'a> {
    /// Who asked this.
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

/// Counts of records: answers, and those of the authority.
pub(super) type Counts = (u16, u16);

/// An answer that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// What the servers said (RFC 1035, 4.1.1).
    pub(super) code: u8,
    pub(super) counts: Counts,
    /// The records.
    pub(super) body: Box<[u8]>,
    /// Where in the records times are.
    times: Box<[u16]>,
    /// Since when its times run; none if they do not.
    pub(super) made: Option<Instant>,
    /// How long it holds.
    pub(super) until: Instant,
    /// The name on the wire as the client spelled it that was the first to ask; none: in lower case.
    pub(super) spelling: Option<Box<[u8]>>,
}

impl Stored {
    /// An answer of these records, which stand behind the question of `key`. None if they cannot be read.
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

    /// One without records.
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

    /// The same from now on, for as long as it holds.
    pub(super) fn made(self, now: Instant, holds: Duration) -> Self {
        Self {
            made: Some(now),
            until: now + holds,
            ..self
        }
    }

    /// The same, shown with its name in this spelling.
    pub(super) fn spelled(self, spelling: Option<Box<[u8]>>) -> Self {
        Self { spelling, ..self }
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        let spelling = self.spelling.as_deref().map_or(0, <[u8]>::len);
        size_of::<Self>() + self.body.len() + 2 * self.times.len() + spelling
    }

    /// Seconds that its times have run.
    pub(super) fn age(&self, now: Instant) -> u32 {
        let age = self.made.map(|made| now.saturating_since(made).as_secs());
        age.map_or(0, |age| u32::try_from(age).unwrap_or(u32::MAX))
    }

    /// Appends the answer for a client.
    pub(super) fn write(&self, to: &Asker<'_>, now: Instant, out: &mut Vec<u8>) {
        self.write_as(to, self.code, now, out);
    }

    /// The same with another code.
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

/// Appends the answer to a message that is no question which can be answered, if there is one.
pub(super) fn refuse_unread(bytes: &[u8], unfit: Unfit, out: &mut Vec<u8>) {
    let (Some(code), Some(head)) = (unfit.code(), bytes.get(..HEAD)) else {
        return;
    };
    let name = name_len(&bytes[HEAD..]).filter(|_| unfit != Unfit::Malformed);
    let question = name.and_then(|len| bytes.get(..HEAD + len + 4));
    let to = Asker {
        head: question.unwrap_or(head),
        options: (unfit == Unfit::Version).then_some(Options {
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

/// Appends the head of an answer, and the question.
fn put_head(to: &Asker<'_>, code: u16, cut: bool, counts: Counts, out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(to.head);
    let head = &mut out[at..];
    // An answer, with the operation and the wish for recursion of the question.
    head[2] = 0x80 | head[2] & 0x79 | u8::from(cut) << 1;
    // Recursion is to be had. What is checked by others is not said to be checked (RFC 4035, 3.2.3).
    head[3] = 0x80 | head[3] & 0x10 | (code & 0xf) as u8;
    head[6..8].copy_from_slice(&counts.0.to_be_bytes());
    head[8..10].copy_from_slice(&counts.1.to_be_bytes());
    let options = u16::from(to.options.is_some());
    head[10..12].copy_from_slice(&options.to_be_bytes());
}

/// Appends the options of an answer to somebody who has some (RFC 6891, 7).
fn put_options(options: Option<Options>, code: u8, out: &mut Vec<u8>) {
    let Some(options) = options else { return };
    let [high, low] = SIZE.to_be_bytes();
    let signed = u8::from(options.signed) << 7;
    out.extend_from_slice(&[0, 0, TYPE_OPT as u8, high, low, code, 0, signed, 0, 0, 0]);
}

/// Appends a record of the name of the question.
pub(super) fn put_record(kind: u16, ttl: u32, data: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&ASKED);
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&CLASS_IN.to_be_bytes());
    out.extend_from_slice(&ttl.to_be_bytes());
    // Data of static entries is short.
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}

/// Where the times of this many records are; none if they cannot be read.
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

/// Where a name ends that begins at a place: at its empty label, or behind a pointer.
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
