//! SA payloads: proposals with their transforms (RFC 2408, 3.4 to 3.6; RFC 7296, 3.3).

use super::{Attribute, Fault, Reader, Version, attributes, write_attributes};

/// Maximum number of proposals per payload, and of transforms per proposal.
const MAX_ENTRIES: usize = 128;
/// IPsec DOI, and the situation SIT_IDENTITY_ONLY (RFC 2407, 4.6.1).
const SITUATION: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];

/// A proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Proposal number; in IKEv1 proposals of one number apply together.
    pub(crate) number: u8,
    /// Protocol: 1 IKE, 2 AH, 3 ESP.
    pub(crate) protocol: u8,
    /// SPI of the sender: empty, 4 or 8 bytes.
    pub(crate) spi: Vec<u8>,
    /// IKEv1: alternatives. IKEv2: alternatives per transform type.
    pub(crate) transforms: Vec<Transform>,
}

/// A transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transform {
    /// IKEv1: transform number. IKEv2: transform type.
    pub(crate) kind: u8,
    /// Transform ID.
    pub(crate) id: u16,
    /// Attributes such as the key length.
    pub(crate) attributes: Vec<Attribute>,
}

impl Transform {
    /// Returns the numeric value of an attribute.
    pub(crate) fn value(&self, kind: u16) -> Option<u64> {
        let found = self.attributes.iter().find(|one| one.kind == kind)?;
        found.value.number()
    }
}

impl Offer {
    /// Returns the SPI if it has 4 bytes.
    pub(crate) fn spi32(&self) -> Option<u32> {
        self.spi.as_slice().try_into().ok().map(u32::from_be_bytes)
    }

    /// Returns the SPI if it has 8 bytes.
    pub(crate) fn spi64(&self) -> Option<u64> {
        self.spi.as_slice().try_into().ok().map(u64::from_be_bytes)
    }
}

/// Parses an SA payload.
pub(crate) fn read_offers(version: Version, body: &[u8]) -> Result<Vec<Offer>, Fault> {
    let mut reader = Reader(body);
    if version == Version::One && reader.array()? != SITUATION {
        return Err(Fault::Value);
    }
    let mut offers = Vec::new();
    loop {
        let last = reader.u8()?;
        reader.u8()?;
        let len = reader.u16()?;
        let mut inside = Reader(reader.rest_of(len, 4)?);
        offers.push(read_offer(version, &mut inside)?);
        if last == 0 {
            return Ok(offers);
        }
        if offers.len() == MAX_ENTRIES {
            return Err(Fault::Many);
        }
    }
}

fn read_offer(version: Version, reader: &mut Reader<'_>) -> Result<Offer, Fault> {
    let number = reader.u8()?;
    let protocol = reader.u8()?;
    let spi_len = reader.u8()?;
    let count = usize::from(reader.u8()?);
    let spi = reader.take(usize::from(spi_len))?.to_vec();
    if count > MAX_ENTRIES {
        return Err(Fault::Many);
    }
    let mut transforms = Vec::new();
    for _ in 0..count {
        reader.u8()?;
        reader.u8()?;
        let len = reader.u16()?;
        let mut inside = Reader(reader.rest_of(len, 4)?);
        let kind = inside.u8()?;
        let id = match version {
            Version::One => {
                let id = inside.u8()?;
                inside.u16()?;
                u16::from(id)
            }
            Version::Two => {
                inside.u8()?;
                inside.u16()?
            }
        };
        let attributes = attributes(inside.0)?;
        transforms.push(Transform {
            kind,
            id,
            attributes,
        });
    }
    Ok(Offer {
        number,
        protocol,
        spi,
        transforms,
    })
}

/// Encodes an SA payload.
pub(crate) fn write_offers(version: Version, offers: &[Offer]) -> Vec<u8> {
    let mut out = Vec::new();
    if version == Version::One {
        out.extend_from_slice(&SITUATION);
    }
    for (at, offer) in offers.iter().enumerate() {
        let mut inside = vec![offer.number, offer.protocol, offer.spi.len() as u8];
        inside.push(offer.transforms.len() as u8);
        inside.extend_from_slice(&offer.spi);
        for (at, transform) in offer.transforms.iter().enumerate() {
            let more = at + 1 < offer.transforms.len();
            write_transform(version, transform, more, &mut inside);
        }
        let more = at + 1 < offers.len();
        out.extend_from_slice(&[if more { 2 } else { 0 }, 0]);
        out.extend_from_slice(&(inside.len() as u16 + 4).to_be_bytes());
        out.extend_from_slice(&inside);
    }
    out
}

fn write_transform(version: Version, transform: &Transform, more: bool, out: &mut Vec<u8>) {
    let attributes = write_attributes(&transform.attributes);
    out.extend_from_slice(&[if more { 3 } else { 0 }, 0]);
    out.extend_from_slice(&(attributes.len() as u16 + 8).to_be_bytes());
    match version {
        Version::One => out.extend_from_slice(&[transform.kind, transform.id as u8, 0, 0]),
        Version::Two => {
            out.extend_from_slice(&[transform.kind, 0]);
            out.extend_from_slice(&transform.id.to_be_bytes());
        }
    }
    out.extend_from_slice(&attributes);
}
