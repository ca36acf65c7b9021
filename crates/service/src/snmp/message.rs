//! SNMP messages and PDUs (RFC 3416, 3; RFC 3412, 6).

use super::ber::{Reader, Writer, tag};
use super::{Oid, Value};

/// Maximum number of bindings in a message.
pub(super) const BINDINGS: usize = 128;

/// PDU types.
pub(super) mod kind {
    pub(in super::super) const GET: u8 = 0xa0;
    pub(in super::super) const GET_NEXT: u8 = 0xa1;
    pub(in super::super) const RESPONSE: u8 = 0xa2;
    pub(in super::super) const SET: u8 = 0xa3;
    pub(in super::super) const TRAP_V1: u8 = 0xa4;
    pub(in super::super) const GET_BULK: u8 = 0xa5;
    pub(in super::super) const TRAP: u8 = 0xa7;
    pub(in super::super) const REPORT: u8 = 0xa8;
}

/// Error status (RFC 3416, 3).
pub(super) mod status {
    pub(in super::super) const TOO_BIG: u8 = 1;
    pub(in super::super) const NO_SUCH_NAME: u8 = 2;
    pub(in super::super) const NO_ACCESS: u8 = 6;
    pub(in super::super) const WRONG_TYPE: u8 = 7;
    pub(in super::super) const WRONG_LENGTH: u8 = 8;
    pub(in super::super) const NOT_WRITABLE: u8 = 17;
}

/// Request PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pdu {
    pub(super) kind: u8,
    pub(super) id: i64,
    /// GetBulk: `non-repeaters` and `max-repetitions`.
    pub(super) once: i64,
    pub(super) often: i64,
    pub(super) bindings: Vec<(Oid, Value)>,
}

impl Pdu {
    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (kind, content) = reader.element()?;
        if kind == kind::TRAP_V1 || !(kind::GET..=kind::REPORT).contains(&kind) {
            return None;
        }
        let mut reader = Reader::new(content);
        let (id, once, often) = (reader.integer()?, reader.integer()?, reader.integer()?);
        let mut list = reader.sequence()?;
        let mut bindings = Vec::new();
        while !list.is_empty() {
            if bindings.len() == BINDINGS {
                return None;
            }
            let mut binding = list.sequence()?;
            bindings.push((binding.oid()?, binding.value()?));
        }
        Some(Self {
            kind,
            id,
            once,
            often,
            bindings,
        })
    }
}

/// Encoded bindings with a length limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings {
    bytes: Vec<u8>,
    room: usize,
}

impl Bindings {
    pub(super) const fn with_room(bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            room: bytes,
        }
    }

    /// Adds a binding. Returns false, and adds nothing, if it does not fit.
    #[must_use]
    pub(super) fn push(&mut self, oid: &[u32], value: &Value) -> bool {
        let mut writer = Writer::new();
        writer.value(value);
        writer.oid(oid);
        writer.wrap(tag::SEQUENCE, 0);
        if self.bytes.len() + writer.len() > self.room {
            return false;
        }
        self.bytes.extend(writer.finish());
        true
    }
}

impl Bindings {
    pub(super) fn write(&self, writer: &mut Writer) {
        let since = writer.len();
        writer.raw(&self.bytes);
        writer.wrap(tag::SEQUENCE, since);
    }
}

/// Response or notification PDU.
#[derive(Clone, Debug)]
pub(super) struct ResponsePdu {
    pub(super) kind: u8,
    pub(super) id: i64,
    pub(super) status: u8,
    /// Index of the erroneous binding, from 1.
    pub(super) index: usize,
    pub(super) bindings: Bindings,
}

impl ResponsePdu {
    pub(super) fn write(&self, writer: &mut Writer) {
        let since = writer.len();
        self.bindings.write(writer);
        writer.integer(self.index as i64);
        writer.integer(self.status.into());
        writer.integer(self.id);
        writer.wrap(self.kind, since);
    }
}

/// Encodes a message of version 1 (0) or 2c (1).
pub(super) fn write_plain(
    version: i64,
    community: &[u8],
    pdu: impl FnOnce(&mut Writer),
) -> Vec<u8> {
    let mut writer = Writer::new();
    pdu(&mut writer);
    writer.octets(community);
    writer.integer(version);
    writer.wrap(tag::SEQUENCE, 0);
    writer.finish()
}

/// Header of a version 3 message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) id: i64,
    pub(super) max_size: i64,
    pub(super) flags: u8,
    pub(super) engine: &'a [u8],
    pub(super) boots: i64,
    pub(super) time: i64,
    pub(super) user: &'a [u8],
    pub(super) auth: &'a [u8],
    pub(super) privacy: &'a [u8],
    /// Scoped PDU: plain or encrypted.
    pub(super) data: &'a [u8],
}

impl<'a> Head<'a> {
    /// Parses the header after the version.
    pub(super) fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let mut global = reader.sequence()?;
        let (id, max_size) = (global.integer()?, global.integer()?);
        let flags = *global.octets()?.first()?;
        // Security model 3 is USM.
        if global.integer()? != 3 {
            return None;
        }
        let mut security = Reader::new(reader.octets()?).sequence()?;
        let head = Self {
            id,
            max_size,
            flags,
            engine: security.octets()?,
            boots: security.integer()?,
            time: security.integer()?,
            user: security.octets()?,
            auth: security.octets()?,
            privacy: security.octets()?,
            data: &[],
        };
        let (_, data) = reader.element()?;
        Some(Self { data, ..head })
    }
}
