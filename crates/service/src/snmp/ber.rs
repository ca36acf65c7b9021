//! Basic encoding rules, as far as SNMP uses them (RFC 3417, 8): definite lengths and one-byte tags.

use super::Value;

/// Tags (RFC 2578, 7.1; RFC 3416, 3).
pub(super) mod tag {
    pub(in super::super) const INTEGER: u8 = 0x02;
    pub(in super::super) const OCTETS: u8 = 0x04;
    pub(in super::super) const NULL: u8 = 0x05;
    pub(in super::super) const OID: u8 = 0x06;
    pub(in super::super) const SEQUENCE: u8 = 0x30;
    pub(in super::super) const ADDRESS: u8 = 0x40;
    pub(in super::super) const COUNTER32: u8 = 0x41;
    pub(in super::super) const GAUGE32: u8 = 0x42;
    pub(in super::super) const TICKS: u8 = 0x43;
    pub(in super::super) const OPAQUE: u8 = 0x44;
    pub(in super::super) const COUNTER64: u8 = 0x46;
    pub(in super::super) const NO_OBJECT: u8 = 0x80;
    pub(in super::super) const NO_INSTANCE: u8 = 0x81;
    pub(in super::super) const END_OF_VIEW: u8 = 0x82;
}

/// Maximum number of sub-identifiers (RFC 2578, 3.5).
pub const OID_MAX: usize = 128;

/// Reader of consecutive elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(all: &'a [u8]) -> Self {
        Self { all, at: 0 }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.all.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Returns tag and content of the next element.
    pub(super) fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let tag = self.byte()?;
        let len = match self.byte()? {
            len @ 0..=0x7f => usize::from(len),
            // Rejects the indefinite form (RFC 3417, 8) and lengths of more than four bytes.
            0x80 | 0x85.. => return None,
            more => {
                let mut len = 0;
                for _ in 0..more & 0x7f {
                    len = len << 8 | usize::from(self.byte()?);
                }
                len
            }
        };
        let content = self.all.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some((tag, content))
    }

    /// Returns the content of the next element if it has this tag.
    pub(super) fn expect(&mut self, wanted: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (tag, content) = ahead.element()?;
        *self = ahead;
        (tag == wanted).then_some(content)
    }

    pub(super) fn sequence(&mut self) -> Option<Self> {
        self.expect(tag::SEQUENCE).map(Self::new)
    }

    pub(super) fn integer(&mut self) -> Option<i64> {
        integer(self.expect(tag::INTEGER)?)
    }

    pub(super) fn octets(&mut self) -> Option<&'a [u8]> {
        self.expect(tag::OCTETS)
    }

    pub(super) fn oid(&mut self) -> Option<Vec<u32>> {
        oid(self.expect(tag::OID)?)
    }

    /// Parses the value of a binding.
    pub(super) fn value(&mut self) -> Option<Value> {
        let (tag, content) = self.element()?;
        Some(match tag {
            tag::INTEGER => Value::Integer(integer(content)?.try_into().ok()?),
            tag::OCTETS | tag::OPAQUE => Value::Octets(content.to_vec()),
            tag::NULL => Value::Null,
            tag::OID => Value::Oid(oid(content)?),
            tag::ADDRESS => Value::Address(content.try_into().ok()?),
            tag::COUNTER32 => Value::Counter32(unsigned(content)?.try_into().ok()?),
            tag::GAUGE32 => Value::Gauge32(unsigned(content)?.try_into().ok()?),
            tag::TICKS => Value::Ticks(unsigned(content)?.try_into().ok()?),
            tag::COUNTER64 => Value::Counter64(unsigned(content)?),
            tag::NO_OBJECT => Value::NoObject,
            tag::NO_INSTANCE => Value::NoInstance,
            tag::END_OF_VIEW => Value::EndOfView,
            _ => return None,
        })
    }
}

fn integer(content: &[u8]) -> Option<i64> {
    let (first, _) = content.split_first()?;
    if content.len() > 8 {
        return None;
    }
    let start = if first & 0x80 != 0 { -1 } else { 0 };
    Some({ content.iter() }.fold(start, |all: i64, byte| all << 8 | i64::from(*byte)))
}

fn unsigned(content: &[u8]) -> Option<u64> {
    let content = match content {
        [0, rest @ ..] => rest,
        all => all,
    };
    if content.len() > 8 {
        return None;
    }
    Some({ content.iter() }.fold(0, |all, byte| all << 8 | u64::from(*byte)))
}

fn oid(content: &[u8]) -> Option<Vec<u32>> {
    let mut all: Vec<u32> = Vec::new();
    let mut part: u64 = 0;
    let mut open = false;
    for byte in content {
        part = part << 7 | u64::from(byte & 0x7f);
        open = byte & 0x80 != 0;
        if part > u64::from(u32::MAX) {
            return None;
        }
        if open {
            continue;
        }
        let whole = part as u32;
        if all.is_empty() {
            // The first byte encodes two sub-identifiers (X.690, 8.19.4).
            let first = (whole / 40).min(2);
            all.extend([first, whole - 40 * first]);
        } else {
            all.push(whole);
        }
        part = 0;
        if all.len() > OID_MAX {
            return None;
        }
    }
    (!open).then_some(all)
}

/// Writer that fills its buffer from the end, so that lengths are known when they are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    /// Bytes in reverse order.
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Number of bytes written.
    pub(super) const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.bytes.reverse();
        self.bytes
    }

    /// Prepends bytes.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes.iter().rev());
    }

    /// Wraps the bytes written after position `since` in an element.
    pub(super) fn wrap(&mut self, tag: u8, since: usize) {
        let mut len = self.bytes.len() - since;
        if len < 0x80 {
            self.bytes.push(len as u8);
        } else {
            let mut count = 0;
            while len > 0 {
                self.bytes.push(len as u8);
                len >>= 8;
                count += 1;
            }
            self.bytes.push(0x80 | count);
        }
        self.bytes.push(tag);
    }

    fn element(&mut self, tag: u8, content: &[u8]) {
        let since = self.len();
        self.raw(content);
        self.wrap(tag, since);
    }

    pub(super) fn integer(&mut self, value: i64) {
        let bytes = value.to_be_bytes();
        // Minimum length that keeps the sign (X.690, 8.3.2).
        let keeps = |at: usize| bytes[at] as i8 >> 7 == bytes[at + 1] as i8 >> 7;
        let spare = |at: &usize| matches!(bytes[*at], 0 | 0xff) && keeps(*at);
        let first = (0..7).take_while(spare).count();
        self.element(tag::INTEGER, &bytes[first..]);
    }

    pub(super) fn octets(&mut self, bytes: &[u8]) {
        self.element(tag::OCTETS, bytes);
    }

    fn unsigned(&mut self, tag: u8, value: u64) {
        let since = self.len();
        let mut rest = value;
        loop {
            self.bytes.push(rest as u8);
            rest >>= 8;
            if rest == 0 {
                break;
            }
        }
        if self.bytes.last().is_some_and(|first| first & 0x80 != 0) {
            self.bytes.push(0);
        }
        self.wrap(tag, since);
    }

    pub(super) fn oid(&mut self, oid: &[u32]) {
        let since = self.len();
        let (first, rest) = match oid {
            [first, second, rest @ ..] => (u64::from(*first) * 40 + u64::from(*second), rest),
            _ => (0, &[][..]),
        };
        for part in rest.iter().rev() {
            self.part(u64::from(*part));
        }
        self.part(first);
        self.wrap(tag::OID, since);
    }

    fn part(&mut self, part: u64) {
        self.bytes.push(part as u8 & 0x7f);
        let mut rest = part >> 7;
        while rest > 0 {
            self.bytes.push(rest as u8 & 0x7f | 0x80);
            rest >>= 7;
        }
    }

    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Integer(value) => self.integer((*value).into()),
            Value::Octets(bytes) => self.octets(bytes),
            Value::Null => self.element(tag::NULL, &[]),
            Value::Oid(oid) => self.oid(oid),
            Value::Address(address) => self.element(tag::ADDRESS, address),
            Value::Counter32(value) => self.unsigned(tag::COUNTER32, (*value).into()),
            Value::Gauge32(value) => self.unsigned(tag::GAUGE32, (*value).into()),
            Value::Ticks(value) => self.unsigned(tag::TICKS, (*value).into()),
            Value::Counter64(value) => self.unsigned(tag::COUNTER64, *value),
            Value::NoObject => self.element(tag::NO_OBJECT, &[]),
            Value::NoInstance => self.element(tag::NO_INSTANCE, &[]),
            Value::EndOfView => self.element(tag::END_OF_VIEW, &[]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_encoded_in_minimal_length() {
        for (value, bytes) in [
            (0, &[2, 1, 0][..]),
            (127, &[2, 1, 0x7f]),
            (128, &[2, 2, 0, 0x80]),
            (-1, &[2, 1, 0xff]),
            (-128, &[2, 1, 0x80]),
            (-129, &[2, 2, 0xff, 0x7f]),
            (i64::from(i32::MIN), &[2, 4, 0x80, 0, 0, 0]),
            (65_535, &[2, 3, 0, 0xff, 0xff]),
        ] {
            let mut writer = Writer::new();
            writer.integer(value);
            assert_eq!(writer.finish(), bytes, "{value}");
            assert_eq!(Reader::new(bytes).integer(), Some(value));
        }
    }

    #[test]
    fn values_round_trip() {
        for value in [
            Value::Integer(-7),
            Value::Octets(vec![7; 200]),
            Value::Null,
            Value::Oid(vec![1, 3, 6, 1, 4, 1, 14_988, u32::MAX]),
            Value::Oid(vec![2, 100, 3]),
            Value::Address([192, 0, 2, 1]),
            Value::Counter32(u32::MAX),
            Value::Gauge32(0x80),
            Value::Ticks(0),
            Value::Counter64(u64::MAX),
            Value::NoObject,
            Value::NoInstance,
            Value::EndOfView,
        ] {
            let mut writer = Writer::new();
            writer.value(&value);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.value(), Some(value));
            assert!(reader.is_empty());
            for cut in 0..bytes.len() {
                assert_eq!(Reader::new(&bytes[..cut]).value(), None);
            }
        }
    }

    #[test]
    fn invalid_lengths_are_refused() {
        for bytes in [
            &[4, 0x80, 1, 2][..],
            &[4, 0x85, 0, 0, 0, 0, 1, 7],
            &[4, 0x84, 0xff, 0xff, 0xff, 0xff, 7],
            &[4, 2, 7],
            &[6, 1, 0x81],
            &[6, 6, 0x2b, 0x9f, 0xff, 0xff, 0xff, 0x7f],
            &[2, 0],
        ] {
            assert_eq!(Reader::new(bytes).value(), None, "{bytes:x?}");
        }
    }
}
