//! Short texts, and parsing of numbers and addresses from bytes.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;

/// Maximum length in bytes: an IPv6 address in brackets, a colon and a port.
const LEN: usize = 48;

/// A short text on the stack. After a write that does not fit, the text must not be used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; LEN],
    len: u8,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: [0; LEN],
            len: 0,
        }
    }
}

impl Text {
    /// Formats `arguments`; `None` if the result is too long.
    pub fn of(arguments: fmt::Arguments<'_>) -> Option<Self> {
        let mut text = Self::default();
        fmt::write(&mut text, arguments).ok()?;
        Some(text)
    }

    /// Copies bytes; `None` if they are too many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut text = Self::default();
        text.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        text.len = bytes.len() as u8;
        Some(text)
    }

    /// Returns the text's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let end = usize::from(self.len) + more.len();
        let place = self.bytes.get_mut(usize::from(self.len)..end);
        place.ok_or(fmt::Error)?.copy_from_slice(more.as_bytes());
        self.len = end as u8;
        Ok(())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(self.as_bytes()), f)
    }
}

/// An address of a tuple in its text form.
pub(super) enum Host {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

impl Host {
    pub(super) const fn of(address: u128, ipv6: bool) -> Self {
        match ipv6 {
            true => Self::V6(Ipv6Addr::from_bits(address)),
            false => Self::V4(Ipv4Addr::from_bits(address as u32)),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => fmt::Display::fmt(address, f),
            Self::V6(address) => fmt::Display::fmt(address, f),
        }
    }
}

/// The lines of a text, as ranges without line ends.
#[derive(Clone)]
pub(super) struct Lines<'a> {
    payload: &'a [u8],
    /// Offset of the next line.
    pub(super) at: usize,
}

impl<'a> Lines<'a> {
    /// Iterates from `at` on.
    pub(super) const fn of(payload: &'a [u8], at: usize) -> Self {
        Self { payload, at }
    }

    /// Returns the next line if its line end is present.
    pub(super) fn next_whole(&mut self) -> Option<Range<usize>> {
        self.next()
            .filter(|_| self.payload.get(self.at.wrapping_sub(1)) == Some(&b'\n'))
    }
}

impl Iterator for Lines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self
            .payload
            .get(self.at..)
            .filter(|rest| !rest.is_empty())?;
        let len = rest.iter().position(|byte| *byte == b'\n');
        let line = &rest[..len.unwrap_or(rest.len())];
        let text = line.strip_suffix(b"\r").unwrap_or(line);
        let start = self.at;
        self.at += len.map_or(rest.len(), |len| len + 1);
        Some(start..start + text.len())
    }
}

/// Maximum length in bytes of a line whose beginning is kept (RFC 1459, 2.3).
pub(super) const LINE: usize = 512;

/// Stands for the beginning of a line whose rest is to be ignored.
pub(super) const PASSED: &[u8] = b"\0";

/// Returns the incomplete last line of a text; empty if the text ends with a line end.
pub(super) fn unfinished(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| *byte == b'\n');
    &text[last.map_or(0, |last| last + 1)..]
}

/// Parses a leading decimal number; returns it and its number of digits.
pub(super) fn number(bytes: &[u8]) -> Option<(u32, usize)> {
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let text = core::str::from_utf8(&bytes[..digits]).ok()?;
    Some((text.parse().ok()?, digits))
}

/// Parses a leading port number; returns it and its number of digits.
pub(super) fn port(bytes: &[u8]) -> Option<(u16, usize)> {
    let (value, digits) = number(bytes)?;
    Some((u16::try_from(value).ok()?, digits))
}

/// Parses `bytes` as an address of the family, in the low bits of a number.
pub(super) fn address(bytes: &[u8], ipv6: bool) -> Option<u128> {
    let text = core::str::from_utf8(bytes).ok()?;
    match ipv6 {
        true => text.parse().ok().map(Ipv6Addr::to_bits),
        false => text
            .parse()
            .ok()
            .map(|address| u128::from(Ipv4Addr::to_bits(address))),
    }
}
