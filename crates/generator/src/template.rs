//! Templates: the image of a frame, and the fields, lengths and checksums that each frame gets.
//!
//! The image is built once for the longest frame. A frame is a copy of its first bytes, in which fields, lengths and
//! checksums are written. Sums of the payload come from prefix sums over the image, so that a checksum costs the same
//! for any length.

use core::fmt;

use wire::checksum;

use crate::MAX_FRAME_BYTES;
use crate::field::{Cursor, Field};
use crate::footer::{FOOTER_BYTES, Footer};

/// Bytes behind the headers (`data`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// This byte.
    Byte(u8),
    /// 0, 1, 2, … modulo 256.
    Incrementing,
    /// Random bytes, the same in each frame; the seed of their generator.
    Random(u64),
}

/// Positions of the headers whose lengths and checksums the template computes, as offsets in the frame, outermost
/// first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// IPv4 headers: total length and header checksum.
    pub ipv4: Vec<usize>,
    /// IPv6 headers: payload length.
    pub ipv6: Vec<usize>,
    /// UDP headers: length, and the checksum if the flag is set.
    pub udp: Vec<(usize, bool)>,
    /// TCP headers: checksum.
    pub tcp: Vec<usize>,
}

/// A template.
#[derive(Debug)]
pub struct Template {
    image: Vec<u8>,
    /// Sum of the image's bytes before each offset, as halves of big-endian words.
    prefix: Vec<u32>,
    header_bytes: usize,
    fields: Vec<Field>,
    parts: Vec<Part>,
    has_footer: bool,
    checksum_from: Option<usize>,
}

/// Positions in the fields' values, one set for each sender.
#[derive(Clone, Debug)]
pub struct TemplateState {
    cursors: Vec<Cursor>,
}

/// Reason why a template cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// The headers do not fit into a frame.
    TooLong,
    /// A header that a layout names lies outside the bytes of the headers.
    OutsideHeader,
    /// A UDP or TCP header has no IP header before it.
    NoAddresses,
    /// A field lies outside of the longest frame.
    FieldOutside,
    /// The footer's checksum begins within the headers, which routers change.
    ChecksumInHeader,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the headers do not fit into a frame",
            Self::OutsideHeader => "a header offset lies behind the header's bytes",
            Self::NoAddresses => "the checksum of UDP and TCP needs an IP header before it",
            Self::FieldOutside => "a random field lies outside of the largest packet",
            Self::ChecksumInHeader => {
                "compute-checksum-from-offset must be behind the headers, which routers change"
            }
        })
    }
}

/// A header with a length or a checksum; innermost first, as outer checksums cover inner ones.
#[derive(Clone, Copy, Debug)]
enum Part {
    Ipv4(usize),
    Ipv6(usize),
    Udp {
        at: usize,
        addresses: Option<Addresses>,
    },
    Tcp {
        at: usize,
        addresses: Addresses,
    },
}

/// Position of the addresses of a pseudo header.
#[derive(Clone, Copy, Debug)]
struct Addresses {
    at: usize,
    len: usize,
}

const UDP: u32 = 17;
const TCP: u32 = 6;

impl Template {
    /// Builds a template.
    ///
    /// # Errors
    /// Returns why headers, fields and layout do not fit together.
    pub fn new(
        header: &[u8],
        layout: &Layout,
        fields: Vec<Field>,
        fill: Fill,
        has_footer: bool,
        checksum_from: Option<usize>,
    ) -> Result<Self, TemplateError> {
        if header.len() + FOOTER_BYTES > MAX_FRAME_BYTES {
            return Err(TemplateError::TooLong);
        }
        if checksum_from.is_some_and(|from| from < header.len()) {
            return Err(TemplateError::ChecksumInHeader);
        }
        let outside = |field: &Field| field.offset + field.width > MAX_FRAME_BYTES;
        if fields.iter().any(outside) {
            return Err(TemplateError::FieldOutside);
        }
        let parts = parts(header.len(), layout)?;
        let mut image = header.to_vec();
        fill_up(&mut image, fill);
        let mut sum = 0;
        let mut prefix = vec![0];
        for (at, byte) in image.iter().enumerate() {
            sum += weight(at, *byte);
            prefix.push(sum);
        }
        Ok(Self {
            image,
            prefix,
            header_bytes: header.len(),
            fields,
            parts,
            has_footer,
            checksum_from: checksum_from.filter(|_| has_footer),
        })
    }

    /// Length of the shortest frame that holds headers and footer, in bytes without FCS.
    pub fn min_bytes(&self) -> usize {
        self.header_bytes + if self.has_footer { FOOTER_BYTES } else { 0 }
    }

    /// Start of the footer's checksum.
    pub fn checksum_from(&self) -> Option<usize> {
        self.checksum_from
    }

    /// True if frames carry the footer, without which nothing is measured.
    pub fn has_footer(&self) -> bool {
        self.has_footer
    }

    /// Bytes of the headers before fields are written.
    pub fn header(&self) -> &[u8] {
        &self.image[..self.header_bytes]
    }

    /// Returns the positions of a new sender.
    pub fn state(&self) -> TemplateState {
        TemplateState {
            cursors: vec![Cursor::default(); self.fields.len()],
        }
    }

    /// Writes the next frame. `frame` has its length, from [`Self::min_bytes`] to the maximum; a shorter one stays
    /// unchanged. `random` returns random numbers.
    #[inline]
    pub fn write(
        &self,
        state: &mut TemplateState,
        footer: Footer,
        frame: &mut [u8],
        random: &mut impl FnMut() -> u64,
    ) {
        let len = frame.len();
        if len < self.min_bytes() || len > self.image.len() {
            return;
        }
        frame.copy_from_slice(&self.image[..len]);
        let body_end = self.body_end(len);
        // Sum by which random fields changed the bytes behind the headers.
        let mut changed = 0;
        for (field, cursor) in self.fields.iter().zip(&mut state.cursors) {
            if let Some(value) = field.next(cursor, &mut *random) {
                changed += self.write_field(field, frame, body_end, value);
            }
        }
        if self.has_footer {
            self.write_footer(footer, frame, changed);
        }
        self.finish(frame, changed);
    }

    fn body_end(&self, len: usize) -> usize {
        len - if self.has_footer { FOOTER_BYTES } else { 0 }
    }

    /// Writes a field that lies before the footer; returns the change of the payload's sum.
    #[inline]
    fn write_field(&self, field: &Field, frame: &mut [u8], body_end: usize, value: u128) -> i64 {
        let end = field.offset + field.width;
        if end > body_end {
            return 0;
        }
        if end <= self.header_bytes {
            field.write(frame, value);
            return 0;
        }
        let from = field.offset.max(self.header_bytes);
        let before = direct(frame, from, end);
        field.write(frame, value);
        direct(frame, from, end) - before
    }

    fn write_footer(&self, mut footer: Footer, frame: &mut [u8], changed: i64) {
        let body_end = self.body_end(frame.len());
        if self.checksum_from.is_some() {
            footer.checksum = Some(0);
        }
        frame[body_end..].copy_from_slice(&footer.to_bytes());
        if let Some(from) = self.checksum_from {
            let end = frame.len() - 2;
            let from = from.min(end);
            // Fields before `from` change nothing here.
            let covered = match changed {
                0 if from <= body_end => self.range(from, body_end) + direct(frame, body_end, end),
                _ => direct(frame, from, end),
            };
            let sum = !fold(covered, from);
            frame[end..].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Writes lengths and checksums, innermost header first.
    #[inline]
    fn finish(&self, frame: &mut [u8], changed: i64) {
        let len = frame.len();
        let body_end = self.body_end(len);
        let tail = self.range(self.header_bytes, body_end) + changed;
        let tail = tail + direct(frame, body_end, len);
        for part in &self.parts {
            match *part {
                Part::Ipv4(at) => {
                    put(frame, at + 2, (len - at) as u16);
                    put(frame, at + 10, 0);
                    let end = (at + usize::from(frame[at] & 15) * 4).min(self.header_bytes);
                    let sum = match frame[at..].first_chunk() {
                        Some(header) if end <= at + 20 => !checksum::sum_20(header),
                        _ => checksum::checksum(&frame[at..end]),
                    };
                    put(frame, at + 10, sum);
                }
                Part::Ipv6(at) => put(frame, at + 4, (len - at - 40) as u16),
                Part::Udp { at, addresses } => {
                    put(frame, at + 4, (len - at) as u16);
                    if let Some(addresses) = addresses {
                        let sum = self.transport(frame, at, at + 6, addresses, UDP, tail);
                        // RFC 768: a computed zero is sent as all ones.
                        put(frame, at + 6, if sum == 0 { 0xffff } else { sum });
                    }
                }
                Part::Tcp { at, addresses } => {
                    let sum = self.transport(frame, at, at + 16, addresses, TCP, tail);
                    put(frame, at + 16, sum);
                }
            }
        }
    }

    /// Checksum of a UDP or TCP header, its payload and its pseudo header.
    fn transport(
        &self,
        frame: &mut [u8],
        at: usize,
        checksum_at: usize,
        addresses: Addresses,
        protocol: u32,
        tail: i64,
    ) -> u16 {
        put(frame, checksum_at, 0);
        let covered = direct(frame, at, self.header_bytes) + tail;
        let pseudo = &frame[addresses.at..addresses.at + addresses.len];
        let pseudo = u64::from(checksum::sum(pseudo)) + u64::from(protocol);
        let length = (frame.len() - at) as u64;
        let sum = u64::from(fold(covered, at)) + pseudo + length;
        !fold(sum as i64, 0)
    }

    /// Sum of the image between two offsets.
    #[inline]
    fn range(&self, from: usize, to: usize) -> i64 {
        i64::from(self.prefix[to]) - i64::from(self.prefix[from])
    }
}

/// Headers of the layout, innermost first.
fn parts(header_bytes: usize, layout: &Layout) -> Result<Vec<Part>, TemplateError> {
    let v4 = layout.ipv4.iter().map(|at| (*at, 20, Part::Ipv4(*at)));
    let v6 = layout.ipv6.iter().map(|at| (*at, 40, Part::Ipv6(*at)));
    let addresses = |at: usize| {
        let v4 = layout.ipv4.iter().filter(|ip| **ip < at);
        let v4 = v4.map(|ip| Addresses {
            at: ip + 12,
            len: 8,
        });
        let v6 = layout.ipv6.iter().filter(|ip| **ip < at);
        let v6 = v6.map(|ip| Addresses {
            at: ip + 8,
            len: 32,
        });
        let inner = v4.chain(v6).max_by_key(|addresses| addresses.at);
        inner.ok_or(TemplateError::NoAddresses)
    };
    let mut all: Vec<(usize, usize, Part)> = v4.chain(v6).collect();
    for (at, computes) in &layout.udp {
        let addresses = computes.then(|| addresses(*at)).transpose()?;
        all.push((*at, 8, Part::Udp { at: *at, addresses }));
    }
    for at in &layout.tcp {
        let addresses = addresses(*at)?;
        all.push((*at, 20, Part::Tcp { at: *at, addresses }));
    }
    if all.iter().any(|(at, len, _)| at + len > header_bytes) {
        return Err(TemplateError::OutsideHeader);
    }
    all.sort_by_key(|(at, ..)| core::cmp::Reverse(*at));
    Ok(all.into_iter().map(|(.., part)| part).collect())
}

/// Appends the payload of the longest frame.
fn fill_up(image: &mut Vec<u8>, fill: Fill) {
    let from = image.len();
    let mut state = match fill {
        Fill::Random(seed) => machine::Rng::seeded(seed),
        Fill::Byte(_) | Fill::Incrementing => machine::Rng::seeded(0),
    };
    for at in from..MAX_FRAME_BYTES {
        image.push(match fill {
            Fill::Byte(byte) => byte,
            Fill::Incrementing => (at - from) as u8,
            Fill::Random(_) => state.next_u64() as u8,
        });
    }
}

/// Value of a byte in the big-endian word of its offset.
fn weight(at: usize, byte: u8) -> u32 {
    u32::from(byte) << if at.is_multiple_of(2) { 8 } else { 0 }
}

/// Sum of the frame between two offsets, in words of even offsets.
#[inline]
fn direct(frame: &[u8], from: usize, to: usize) -> i64 {
    let Some(bytes) = frame.get(from..to) else {
        return 0;
    };
    let sum = checksum::sum(bytes);
    i64::from(if from.is_multiple_of(2) {
        sum
    } else {
        sum.swap_bytes()
    })
}

/// Folds a sum in words of even offsets to 16 bits; `from` is the offset at which the covered bytes begin.
#[inline]
fn fold(sum: i64, from: usize) -> u16 {
    // Negative sums are replaced by positive ones that are congruent modulo 65535.
    let mut sum = if sum < 0 { sum + (0xffff << 24) } else { sum } as u64;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let sum = sum as u16;
    if from.is_multiple_of(2) {
        sum
    } else {
        sum.swap_bytes()
    }
}

#[inline]
fn put(frame: &mut [u8], at: usize, value: u16) {
    frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
