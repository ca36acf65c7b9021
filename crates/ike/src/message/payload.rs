//! Payload bodies other than proposals: identities, traffic selectors, notifications, deletions, configuration.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Fault, Reader, Version};
use crate::config::Id;

/// Maximum number of attributes, selectors or SPIs per payload.
const MAX_ENTRIES: usize = 256;

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Two bytes, in place of the length (TV format).
    Short(u16),
    /// Variable length (TLV format).
    Long(Vec<u8>),
}

/// Data attribute (RFC 2408, 3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Attribute type, 15 bits.
    pub(crate) kind: u16,
    /// Attribute value.
    pub(crate) value: Value,
}

impl Value {
    /// Returns the value as a number, if it has at most 8 bytes.
    pub(crate) fn number(&self) -> Option<u64> {
        match self {
            Self::Short(value) => Some(u64::from(*value)),
            Self::Long(bytes) if bytes.len() <= 8 => Some(
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | u64::from(*byte)),
            ),
            Self::Long(_) => None,
        }
    }

    /// Returns the bytes of a TLV value; empty for TV.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Short(_) => &[],
            Self::Long(bytes) => bytes,
        }
    }
}

impl Attribute {
    /// Creates an attribute in TV format if the value fits, else with four bytes.
    pub(crate) fn number(kind: u16, value: u64) -> Self {
        let value = match u16::try_from(value) {
            Ok(short) => Value::Short(short),
            Err(_) => {
                let value = u32::try_from(value).unwrap_or(u32::MAX);
                Value::Long(value.to_be_bytes().into())
            }
        };
        Self { kind, value }
    }

    /// Creates an attribute in TLV format.
    pub(crate) fn bytes(kind: u16, value: &[u8]) -> Self {
        Self {
            kind,
            value: Value::Long(value.to_vec()),
        }
    }
}

/// Parses a list of attributes.
pub(crate) fn attributes(bytes: &[u8]) -> Result<Vec<Attribute>, Fault> {
    let mut reader = Reader(bytes);
    let mut found = Vec::new();
    while !reader.0.is_empty() {
        if found.len() == MAX_ENTRIES {
            return Err(Fault::Many);
        }
        let kind = reader.u16()?;
        let short = reader.u16()?;
        let value = if kind & 0x8000 == 0 {
            Value::Long(reader.take(usize::from(short))?.to_vec())
        } else {
            Value::Short(short)
        };
        found.push(Attribute {
            kind: kind & 0x7fff,
            value,
        });
    }
    Ok(found)
}

/// Encodes a list of attributes.
pub(crate) fn write_attributes(attributes: &[Attribute]) -> Vec<u8> {
    let mut out = Vec::new();
    for attribute in attributes {
        match &attribute.value {
            Value::Short(value) => {
                out.extend_from_slice(&(attribute.kind | 0x8000).to_be_bytes());
                out.extend_from_slice(&value.to_be_bytes());
            }
            Value::Long(bytes) => {
                out.extend_from_slice(&attribute.kind.to_be_bytes());
                out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
                out.extend_from_slice(bytes);
            }
        }
    }
    out
}

/// Parses an address of 4 or 16 bytes.
pub(crate) fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(four).into());
    }
    let sixteen = <[u8; 16]>::try_from(bytes).ok()?;
    Some(Ipv6Addr::from(sixteen).into())
}

/// Returns the bytes of an address.
pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Contents of an identification payload of either version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Identification {
    /// Identity of a host or user.
    Who(Id),
    /// First and last address of a range, for phase 2 of IKEv1.
    Addresses(IpAddr, IpAddr),
}

/// Parses an identification payload (RFC 2407, 4.6.2; RFC 7296, 3.5). Returns the contents, and protocol and
/// port (IKEv1).
pub(crate) fn read_id(body: &[u8]) -> Result<(Identification, u8, u16), Fault> {
    let mut reader = Reader(body);
    let kind = reader.u8()?;
    let protocol = reader.u8()?;
    let port = reader.u16()?;
    let data = reader.0;
    let text = || String::from_utf8(data.to_vec()).map_err(|_| Fault::Value);
    let halves = |len: usize| {
        let (first, second) = data.split_at_checked(len).ok_or(Fault::Short)?;
        let first = address(first).ok_or(Fault::Value)?;
        Ok::<_, Fault>((first, address(second).ok_or(Fault::Value)?))
    };
    let who = match kind {
        1 | 5 => {
            let four = data.len() == 4;
            let address = address(data).filter(|_| four == (kind == 1));
            Id::Address(address.ok_or(Fault::Value)?)
        }
        2 => Id::Fqdn(text()?),
        3 => Id::UserFqdn(text()?),
        9 => Id::Dn(data.to_vec()),
        11 => Id::KeyId(data.to_vec()),
        4 | 6 => {
            let (first, mask) = halves(if kind == 4 { 4 } else { 16 })?;
            let prefix = ipnet::ip_mask_to_prefix(mask).map_err(|_| Fault::Value)?;
            let net = ipnet::IpNet::new(first, prefix).map_err(|_| Fault::Value)?;
            let last = net.broadcast();
            return Ok((
                Identification::Addresses(net.network(), last),
                protocol,
                port,
            ));
        }
        7 | 8 => {
            let (first, last) = halves(if kind == 7 { 4 } else { 16 })?;
            if first > last {
                return Err(Fault::Value);
            }
            return Ok((Identification::Addresses(first, last), protocol, port));
        }
        _ => return Err(Fault::Value),
    };
    Ok((Identification::Who(who), protocol, port))
}

/// Encodes an identification payload of a host or user.
pub(crate) fn id_body(id: &Id, protocol: u8, port: u16) -> Vec<u8> {
    let (kind, data) = match id {
        Id::Address(address @ IpAddr::V4(_)) => (1, octets(*address)),
        Id::Address(address @ IpAddr::V6(_)) => (5, octets(*address)),
        Id::Fqdn(name) => (2, name.clone().into_bytes()),
        Id::UserFqdn(name) => (3, name.clone().into_bytes()),
        Id::Dn(der) => (9, der.clone()),
        Id::KeyId(bytes) => (11, bytes.clone()),
    };
    let mut out = vec![kind, protocol];
    out.extend_from_slice(&port.to_be_bytes());
    out.extend_from_slice(&data);
    out
}

/// Traffic selector (RFC 7296, 3.13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// IP protocol; 0 is any.
    pub(crate) protocol: u8,
    /// First and last port.
    pub(crate) ports: (u16, u16),
    /// First and last address, of one family.
    pub(crate) addresses: (IpAddr, IpAddr),
}

/// Parses a TS payload; ignores selectors of unknown types.
pub(crate) fn read_ranges(body: &[u8]) -> Result<Vec<Range>, Fault> {
    let mut reader = Reader(body);
    let count = reader.u8()?;
    reader.take(3)?;
    let mut found = Vec::new();
    for _ in 0..count {
        let kind = reader.u8()?;
        let protocol = reader.u8()?;
        let len = reader.u16()?;
        let mut inside = Reader(reader.rest_of(len, 4)?);
        let width = match kind {
            7 => 4,
            8 => 16,
            _ => continue,
        };
        let ports = (inside.u16()?, inside.u16()?);
        let first = address(inside.take(width)?).ok_or(Fault::Value)?;
        let last = address(inside.take(width)?).ok_or(Fault::Value)?;
        if first > last {
            return Err(Fault::Value);
        }
        found.push(Range {
            protocol,
            ports,
            addresses: (first, last),
        });
    }
    Ok(found)
}

/// Encodes a TS payload.
pub(crate) fn write_ranges(ranges: &[Range]) -> Vec<u8> {
    let mut out = vec![ranges.len() as u8, 0, 0, 0];
    for range in ranges {
        let (first, last) = (octets(range.addresses.0), octets(range.addresses.1));
        out.push(if first.len() == 4 { 7 } else { 8 });
        out.push(range.protocol);
        out.extend_from_slice(&(8 + 2 * first.len() as u16).to_be_bytes());
        out.extend_from_slice(&range.ports.0.to_be_bytes());
        out.extend_from_slice(&range.ports.1.to_be_bytes());
        out.extend_from_slice(&first);
        out.extend_from_slice(&last);
    }
    out
}

/// Notification (RFC 2408, 3.14; RFC 7296, 3.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notify<'a> {
    /// Protocol of the SA: 0 none, 1 IKE, 2 AH, 3 ESP.
    pub(crate) protocol: u8,
    /// SPI of the SA.
    pub(crate) spi: &'a [u8],
    /// Notify message type.
    pub(crate) kind: u16,
    /// Notification data.
    pub(crate) data: &'a [u8],
}

impl<'a> Notify<'a> {
    /// Parses a body.
    pub(crate) fn read(version: Version, body: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader(body);
        if version == Version::One {
            reader.u32()?;
        }
        let protocol = reader.u8()?;
        let spi_len = reader.u8()?;
        let kind = reader.u16()?;
        let spi = reader.take(usize::from(spi_len))?;
        Ok(Self {
            protocol,
            spi,
            kind,
            data: reader.0,
        })
    }

    /// Creates an IKEv2 notification that concerns no SA.
    pub(crate) const fn plain(kind: u16, data: &'a [u8]) -> Self {
        Self {
            protocol: 0,
            spi: &[],
            kind,
            data,
        }
    }

    /// Encodes the body.
    pub(crate) fn write(&self, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        if version == Version::One {
            out.extend_from_slice(&1_u32.to_be_bytes());
        }
        out.extend_from_slice(&[self.protocol, self.spi.len() as u8]);
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(self.spi);
        out.extend_from_slice(self.data);
        out
    }
}

/// Delete payload (RFC 2408, 3.15; RFC 7296, 3.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delete {
    /// Protocol: 1 IKE, 2 AH, 3 ESP.
    pub(crate) protocol: u8,
    /// SPIs of 4 bytes; other lengths are ignored.
    pub(crate) spis: Vec<u32>,
    /// IKEv1: cookie pairs of IKE SAs.
    pub(crate) cookies: Vec<(u64, u64)>,
}

impl Delete {
    /// Parses a body.
    pub(crate) fn read(version: Version, body: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader(body);
        if version == Version::One {
            reader.u32()?;
        }
        let protocol = reader.u8()?;
        let spi_len = reader.u8()?;
        let count = usize::from(reader.u16()?);
        if count > MAX_ENTRIES {
            return Err(Fault::Many);
        }
        let (mut spis, mut cookies) = (Vec::new(), Vec::new());
        for _ in 0..count {
            match spi_len {
                4 => spis.push(reader.u32()?),
                16 => cookies.push((reader.u64()?, reader.u64()?)),
                _ => drop(reader.take(usize::from(spi_len))?),
            }
        }
        Ok(Self {
            protocol,
            spis,
            cookies,
        })
    }

    /// Encodes the body.
    pub(crate) fn write(&self, version: Version) -> Vec<u8> {
        let mut out = Vec::new();
        if version == Version::One {
            out.extend_from_slice(&1_u32.to_be_bytes());
        }
        let spi_len = match (self.spis.is_empty(), self.cookies.is_empty()) {
            (false, _) => 4,
            (true, false) => 16,
            (true, true) => 0,
        };
        let count = (self.spis.len() + self.cookies.len()) as u16;
        out.extend_from_slice(&[self.protocol, spi_len]);
        out.extend_from_slice(&count.to_be_bytes());
        for spi in &self.spis {
            out.extend_from_slice(&spi.to_be_bytes());
        }
        for (initiator, responder) in &self.cookies {
            out.extend_from_slice(&initiator.to_be_bytes());
            out.extend_from_slice(&responder.to_be_bytes());
        }
        out
    }
}

/// Configuration payload (RFC 7296, 3.15; IKEv1's mode-config adds the identifier).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// 1 request, 2 reply, 3 set, 4 acknowledgement.
    pub(crate) kind: u8,
    /// IKEv1: identifier of the transaction.
    pub(crate) identifier: u16,
    /// Requested or assigned attributes.
    pub(crate) attributes: Vec<Attribute>,
}

impl Configuration {
    /// Parses a body.
    pub(crate) fn read(body: &[u8]) -> Result<Self, Fault> {
        let mut reader = Reader(body);
        let kind = reader.u8()?;
        reader.u8()?;
        let identifier = reader.u16()?;
        let attributes = attributes(reader.0)?;
        Ok(Self {
            kind,
            identifier,
            attributes,
        })
    }

    /// Encodes the body.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut out = vec![self.kind, 0];
        out.extend_from_slice(&self.identifier.to_be_bytes());
        out.extend_from_slice(&write_attributes(&self.attributes));
        out
    }
}
