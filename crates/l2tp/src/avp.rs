//! Attribute value pairs of control messages (RFC 2661, 4.1, 4.3, 4.4; RFC 3931, 5.4).
//!
//! ```text
//! mandatory, hidden (2) | reserved (4) | length (10) | vendor (16) | attribute (16) | value …
//! ```
//! The length counts the header. A hidden value is encrypted with the tunnel's secret and the last Random Vector.

use std::borrow::Cow;

use md5::{Digest as _, Md5};

use crate::secret::Secret;

/// Attribute numbers of vendor 0.
pub mod attribute {
    /// Kind of the message; always first.
    pub const MESSAGE_TYPE: u16 = 0;
    /// Result, error and text of StopCCN and CDN.
    pub const RESULT_CODE: u16 = 1;
    /// Version 1, revision 0.
    pub const PROTOCOL_VERSION: u16 = 2;
    /// Synchronous and asynchronous framing.
    pub const FRAMING_CAPABILITIES: u16 = 3;
    /// Name of the sender.
    pub const HOST_NAME: u16 = 7;
    /// Vendor of the sender.
    pub const VENDOR_NAME: u16 = 8;
    /// Tunnel number that the sender assigned.
    pub const ASSIGNED_TUNNEL: u16 = 9;
    /// Messages that the sender accepts without acknowledgement.
    pub const RECEIVE_WINDOW: u16 = 10;
    /// Challenge of tunnel authentication.
    pub const CHALLENGE: u16 = 11;
    /// Response of tunnel authentication.
    pub const CHALLENGE_RESPONSE: u16 = 13;
    /// Session number that the sender assigned.
    pub const ASSIGNED_SESSION: u16 = 14;
    /// Serial number of a call.
    pub const CALL_SERIAL: u16 = 15;
    /// Framing of the call.
    pub const FRAMING_TYPE: u16 = 19;
    /// Number that was called.
    pub const CALLED_NUMBER: u16 = 21;
    /// Number of the caller.
    pub const CALLING_NUMBER: u16 = 22;
    /// Speed of the call in bits per second.
    pub const CONNECT_SPEED: u16 = 24;
    /// Initial value of the encryption of hidden attributes.
    pub const RANDOM_VECTOR: u16 = 36;
    /// Data messages must be numbered.
    pub const SEQUENCING_REQUIRED: u16 = 39;
    /// Digest of a message of version 3, with its type in front; follows the kind of the message.
    pub const MESSAGE_DIGEST: u16 = 59;
    /// Number of the sending router.
    pub const ROUTER_ID: u16 = 60;
    /// Tunnel number of version 3 that the sender assigned.
    pub const ASSIGNED_CONNECTION: u16 = 61;
    /// Types of pseudowires that the sender accepts.
    pub const PSEUDOWIRES: u16 = 62;
    /// Session number of version 3 that the sender assigned.
    pub const LOCAL_SESSION: u16 = 63;
    /// Session number of version 3 that the receiver assigned; 0 while unknown.
    pub const REMOTE_SESSION: u16 = 64;
    /// Cookie of packets to the sender.
    pub const COOKIE: u16 = 65;
    /// Name of the circuit at the receiver.
    pub const REMOTE_END_ID: u16 = 66;
    /// Type of the session's pseudowire.
    pub const PSEUDOWIRE_TYPE: u16 = 68;
    /// Sublayer in packets to the sender.
    pub const SUBLAYER: u16 = 69;
    /// State of the circuit.
    pub const CIRCUIT_STATUS: u16 = 71;
    /// Random bytes of the sender for digests.
    pub const NONCE: u16 = 73;
    /// Returns true for attributes of RFC 2661, 4.4, and of RFC 3931, 5.4.
    pub(crate) const fn is_known(number: u16) -> bool {
        matches!(number, 0..=19 | 21..=39) || is_of_version_3(number)
    }
    /// Returns true for attributes of RFC 3931 that version 2 does not have.
    pub(crate) const fn is_of_version_3(number: u16) -> bool {
        matches!(number, 58..=66 | 68..=75)
    }
}

const MANDATORY: u16 = 0x8000;
const HIDDEN: u16 = 0x4000;
const RESERVED: u16 = 0x3c00;
const LENGTH: u16 = 0x03ff;
/// Bytes of the header of an AVP.
const HEADER: usize = 6;
/// Maximum number of bytes of a value.
const MAX_VALUE: usize = LENGTH as usize - HEADER;

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Avp<'a> {
    /// The message must be refused if the attribute is unknown.
    pub is_mandatory: bool,
    /// Number of the attribute; `None` for an unknown one: of a vendor, or with reserved bits.
    pub attribute: Option<u16>,
    /// Value, decrypted.
    pub value: Cow<'a, [u8]>,
}

/// Reason why an AVP cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Its length exceeds the message, or is shorter than the header.
    Length,
    /// It is hidden, without Random Vector, or its decrypted length exceeds the value.
    Hidden,
    /// The value is hidden, and the tunnel has no secret.
    NoSecret,
}

/// Iterates over the AVPs of a message. Ends behind the first malformed AVP.
pub fn avps<'a>(
    body: &'a [u8],
    secret: Option<&'a Secret>,
) -> impl Iterator<Item = Result<Avp<'a>, Malformed>> {
    let (mut rest, mut vector) = (body, None);
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let parsed = next(&mut rest, &mut vector, secret);
        if parsed.is_err() {
            rest = &[];
        }
        Some(parsed)
    })
}

fn next<'a>(
    rest: &mut &'a [u8],
    vector: &mut Option<&'a [u8]>,
    secret: Option<&Secret>,
) -> Result<Avp<'a>, Malformed> {
    let header = rest.first_chunk::<HEADER>().ok_or(Malformed::Length)?;
    let [a, b, c, d, e, f] = *header;
    let [bits, vendor, number] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
    let length = usize::from(bits & LENGTH);
    let (whole, behind) = rest.split_at_checked(length).ok_or(Malformed::Length)?;
    let value = whole.get(HEADER..).ok_or(Malformed::Length)?;
    *rest = behind;
    let is_standard = vendor == 0 && bits & RESERVED == 0 && attribute::is_known(number);
    let is_hidden = bits & HIDDEN != 0;
    let value = match is_standard && is_hidden {
        false => Cow::Borrowed(value),
        true => {
            let vector = vector.ok_or(Malformed::Hidden)?;
            let secret = secret.ok_or(Malformed::NoSecret)?;
            let plain = reveal(number, value, secret, vector);
            Cow::Owned(plain.ok_or(Malformed::Hidden)?)
        }
    };
    if is_standard && !is_hidden && number == attribute::RANDOM_VECTOR {
        *vector = whole.get(HEADER..);
    }
    Ok(Avp {
        is_mandatory: bits & MANDATORY != 0,
        attribute: is_standard.then_some(number),
        value,
    })
}

/// Decrypts a hidden value (RFC 2661, 4.3); `None` if its inner length exceeds it.
fn reveal(number: u16, hidden: &[u8], secret: &Secret, vector: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(hidden.len());
    let mut key = Md5::new()
        .chain_update(number.to_be_bytes())
        .chain_update(secret.bytes())
        .chain_update(vector)
        .finalize();
    for block in hidden.chunks(key.len()) {
        plain.extend(block.iter().zip(&key).map(|(a, b)| a ^ b));
        key = Md5::new()
            .chain_update(secret.bytes())
            .chain_update(block)
            .finalize();
    }
    let (length, value) = plain.split_first_chunk()?;
    let length = usize::from(u16::from_be_bytes(*length));
    value.get(..length).map(<[u8]>::to_vec)
}

/// Builds the AVPs of a message.
#[derive(Clone, Debug, Default)]
pub struct Builder(Vec<u8>);

impl Builder {
    /// Begins a message of this kind.
    pub fn new(kind: u16) -> Self {
        Self::default().mandatory(attribute::MESSAGE_TYPE, &kind.to_be_bytes())
    }

    /// Adds a mandatory attribute. A value is cut to 1,017 bytes.
    #[must_use]
    pub fn mandatory(self, number: u16, value: &[u8]) -> Self {
        self.add(MANDATORY, number, value)
    }

    /// Adds an attribute that the other end may ignore. A value is cut to 1,017 bytes.
    #[must_use]
    pub fn optional(self, number: u16, value: &[u8]) -> Self {
        self.add(0, number, value)
    }

    fn add(mut self, bits: u16, number: u16, value: &[u8]) -> Self {
        let value = &value[..value.len().min(MAX_VALUE)];
        let length = (HEADER + value.len()) as u16;
        for word in [bits | length, 0, number] {
            self.0.extend(word.to_be_bytes());
        }
        self.0.extend_from_slice(value);
        self
    }

    /// Returns the AVPs.
    pub fn finish(self) -> Box<[u8]> {
        self.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random vector of the test vectors.
    const VECTOR: [u8; 16] = [
        0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
    ];

    fn hidden(number: u16, hex: &str) -> Vec<u8> {
        let digits = (0..hex.len()).step_by(2);
        let value: Vec<u8> = digits
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal"))
            .collect();
        let vector = Builder::default().mandatory(attribute::RANDOM_VECTOR, &VECTOR);
        vector.add(MANDATORY | HIDDEN, number, &value).0
    }

    fn last<'a>(body: &'a [u8], secret: Option<&'a Secret>) -> Result<Avp<'a>, Malformed> {
        avps(body, secret).last().expect("there is one")
    }

    #[test]
    fn hidden_values_are_decrypted_with_secret_and_vector() {
        let secret = Secret::from("secret");
        let short = hidden(attribute::ASSIGNED_TUNNEL, "7efd2d9a");
        let avp = last(&short, Some(&secret)).expect("it is whole");
        assert_eq!(avp.attribute, Some(attribute::ASSIGNED_TUNNEL));
        assert_eq!(*avp.value, [0x12, 0x34]);
        let long = hidden(
            attribute::HOST_NAME,
            "c4c777486ce416766ee510e77c5a626e3dbcfa1eb593675210f0",
        );
        let avp = last(&long, Some(&secret)).expect("it is whole");
        assert_eq!(&*avp.value, b"router-one-long-hostname");
    }

    #[test]
    fn hidden_values_need_a_vector_and_the_secret() {
        let secret = Secret::from("secret");
        let body = hidden(attribute::ASSIGNED_TUNNEL, "7efd2d9a");
        assert_eq!(last(&body, None), Err(Malformed::NoSecret));
        let without_vector = &body[HEADER + VECTOR.len()..];
        assert_eq!(last(without_vector, Some(&secret)), Err(Malformed::Hidden));
        let other = Secret::from("other");
        assert_ne!(
            last(&body, Some(&other)).map(|avp| avp.value.into_owned()),
            Ok(vec![0x12, 0x34])
        );
    }

    #[test]
    fn every_truncation_is_noticed_and_vendors_are_unknown() {
        let body = Builder::new(6).optional(attribute::HOST_NAME, b"lac").0;
        let whole: Vec<_> = avps(&body, None).collect();
        assert_eq!(whole.len(), 2);
        for length in (1..body.len()).filter(|length| *length != 8) {
            let last = last(&body[..length], None);
            assert_eq!(last, Err(Malformed::Length), "{length}");
        }
        let vendor = [0x80, 6, 1, 2, 0, 7];
        let avp = last(&vendor, None).expect("it is whole");
        assert_eq!((avp.attribute, avp.is_mandatory), (None, true));
        assert_eq!(last(&[0x80, 5, 0, 0, 0, 0], None), Err(Malformed::Length));
    }
}
