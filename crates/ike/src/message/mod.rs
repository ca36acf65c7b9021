//! IKE messages of both versions: header, chain of payloads, payload bodies.
//!
//! Parsing is bounded and fails only with a [`Fault`]; it accepts everything that the writers produce.

mod payload;
mod sa;
#[cfg(test)]
mod tests;

pub(crate) use payload::{
    Attribute, Configuration, Delete, Identification, Notify, Range, address, attributes, id_body,
    octets, read_id, read_ranges, write_attributes, write_ranges,
};
pub(crate) use sa::{Offer, Transform, read_offers, write_offers};

/// Length of a header in bytes.
pub(crate) const HEADER: usize = 28;
/// Maximum length of a received message.
const MAX_MESSAGE_BYTES: usize = 65_000;
/// Maximum number of payloads per message.
const MAX_PAYLOADS: usize = 64;

/// IKE version, which determines the payload formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// IKEv1.
    One,
    /// IKEv2.
    Two,
}

/// Reason for rejecting a message as malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Truncated.
    Short,
    /// Impossible length field.
    Length,
    /// Unsupported version.
    Version,
    /// Too many payloads, proposals or transforms.
    Many,
    /// Impossible value of a field.
    Value,
}

impl Fault {
    /// Returns the name of the counter.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Short => "message-short",
            Self::Length => "message-length",
            Self::Version => "message-version",
            Self::Many => "message-too-many-parts",
            Self::Value => "message-value",
        }
    }
}

/// Message header (RFC 2408, 3.1; RFC 7296, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// SPI (IKEv1: cookie) of the initiator.
    pub(crate) initiator: u64,
    /// SPI (IKEv1: cookie) of the responder; 0 in the first message.
    pub(crate) responder: u64,
    /// Type of the first payload.
    pub(crate) next: u8,
    /// 0x10 or 0x20; the minor version is ignored.
    pub(crate) version: Version,
    /// Exchange type.
    pub(crate) exchange: u8,
    /// Flags.
    pub(crate) flags: u8,
    /// Message ID.
    pub(crate) id: u32,
}

/// A payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Payload<'a> {
    /// Payload type.
    pub(crate) kind: u8,
    /// Critical flag (IKEv2).
    pub(crate) critical: bool,
    /// Body without the generic header.
    pub(crate) body: &'a [u8],
    /// Body with the generic header.
    pub(crate) whole: &'a [u8],
}

/// Cursor over received bytes.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(Fault::Short)?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Fault::Short)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Fault> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Fault> {
        self.array().map(u64::from_be_bytes)
    }

    /// Returns the rest of a structure: `len` bytes in total, of which `read` are consumed.
    pub(crate) fn rest_of(&mut self, len: u16, read: usize) -> Result<&'a [u8], Fault> {
        let rest = usize::from(len).checked_sub(read).ok_or(Fault::Length)?;
        self.take(rest)
    }
}

impl Header {
    /// Parses a header; returns it with the body, cut to the header's length.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), Fault> {
        let mut reader = Reader(bytes);
        let initiator = reader.u64()?;
        let responder = reader.u64()?;
        let next = reader.u8()?;
        let version = match reader.u8()? >> 4 {
            1 => Version::One,
            2 => Version::Two,
            _ => return Err(Fault::Version),
        };
        let exchange = reader.u8()?;
        let flags = reader.u8()?;
        let id = reader.u32()?;
        let len = reader.u32()? as usize;
        if len > MAX_MESSAGE_BYTES {
            return Err(Fault::Length);
        }
        let body = reader.take(len.checked_sub(HEADER).ok_or(Fault::Length)?)?;
        let header = Self {
            initiator,
            responder,
            next,
            version,
            exchange,
            flags,
            id,
        };
        Ok((header, body))
    }

    /// Encodes the header of a message with a body of `len` bytes.
    pub(crate) fn write(&self, len: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER + len);
        out.extend_from_slice(&self.initiator.to_be_bytes());
        out.extend_from_slice(&self.responder.to_be_bytes());
        let version = match self.version {
            Version::One => 0x10,
            Version::Two => 0x20,
        };
        out.extend_from_slice(&[self.next, version, self.exchange, self.flags]);
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&((HEADER + len) as u32).to_be_bytes());
        out
    }
}

/// Parses a chain of payloads that begins with type `first`. Bytes after the last payload are padding and
/// ignored. A payload of a type in `end` contains an inner chain and ends this one (RFC 7296, 3.14).
pub(crate) fn payloads<'a>(
    first: u8,
    bytes: &'a [u8],
    end: &[u8],
) -> Result<Vec<Payload<'a>>, Fault> {
    let mut found = Vec::new();
    let mut reader = Reader(bytes);
    let mut kind = first;
    while kind != 0 {
        if found.len() == MAX_PAYLOADS {
            return Err(Fault::Many);
        }
        let start = reader.0;
        let next = reader.u8()?;
        let flags = reader.u8()?;
        let len = reader.u16()?;
        let body = reader.rest_of(len, 4)?;
        let whole = start.get(..usize::from(len)).ok_or(Fault::Short)?;
        found.push(Payload {
            kind,
            critical: flags & 0x80 != 0,
            body,
            whole,
        });
        if end.contains(&kind) {
            break;
        }
        kind = next;
    }
    Ok(found)
}

/// Builder of a payload chain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    first: u8,
    bytes: Vec<u8>,
    last: Option<usize>,
}

impl Chain {
    /// Appends a payload. Drops payloads beyond 65,531 bytes; ferroute builds none.
    pub(crate) fn push(&mut self, kind: u8, body: &[u8]) {
        let Ok(len) = u16::try_from(body.len() + 4) else {
            return;
        };
        match self.last.and_then(|at| self.bytes.get_mut(at)) {
            Some(next) => *next = kind,
            None => self.first = kind,
        }
        self.last = Some(self.bytes.len());
        self.bytes.extend_from_slice(&[0, 0]);
        self.bytes.extend_from_slice(&len.to_be_bytes());
        self.bytes.extend_from_slice(body);
    }

    /// Appends a payload and returns the chain.
    pub(crate) fn with(mut self, kind: u8, body: &[u8]) -> Self {
        self.push(kind, body);
        self
    }

    /// Returns a copy with a payload in front.
    pub(crate) fn behind(&self, kind: u8, body: &[u8]) -> Self {
        let mut chain = Self::default().with(kind, body);
        if let Some(next) = chain.bytes.first_mut() {
            *next = self.first;
        }
        chain.last = self
            .last
            .map_or(chain.last, |at| Some(at + chain.bytes.len()));
        chain.bytes.extend_from_slice(&self.bytes);
        chain
    }

    /// Returns the type of the first payload.
    pub(crate) const fn first(&self) -> u8 {
        self.first
    }

    /// Returns the encoded payloads.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Encodes the message with this header.
    pub(crate) fn message(&self, header: &Header) -> Vec<u8> {
        let header = Header {
            next: self.first,
            ..*header
        };
        let mut out = header.write(self.bytes.len());
        out.extend_from_slice(&self.bytes);
        out
    }
}
