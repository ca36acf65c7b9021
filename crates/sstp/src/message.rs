//! Control messages ([MS-SSTP], 2.2.2 to 2.2.13).
//!
//! ```text
//! header of the packet | type u16 | attribute count u16 | { 0 | id u8 | length (12 bits, of all four) | value }
//! ```

use crate::binding::{BindingHash, FIELD, Nonce, SessionKeys};
use crate::fault::Fault;
use crate::packet::{CONTROL, HEADER, header};

const CONNECT_REQUEST: u16 = 1;
const CONNECT_ACK: u16 = 2;
const CONNECT_NAK: u16 = 3;
const CONNECTED: u16 = 4;
const ABORT: u16 = 5;
const DISCONNECT: u16 = 6;
const DISCONNECT_ACK: u16 = 7;
const ECHO_REQUEST: u16 = 8;
const ECHO_RESPONSE: u16 = 9;

/// Numbers of attributes.
const PROTOCOL: u8 = 1;
const STATUS: u8 = 2;
const BINDING: u8 = 3;
const BINDING_REQUEST: u8 = 4;

/// The encapsulated protocol: PPP.
pub(crate) const PPP: u16 = 1;
/// Bytes in front of the value of an attribute.
const ATTRIBUTE: usize = 4;
/// Bytes of a status with its attribute.
const STATUS_BYTES: usize = 8;

/// A status of Status Info (2.2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Status(pub u32);

impl Status {
    /// No error.
    pub const NONE: Self = Self(0);
    /// The value of an attribute is not supported.
    pub const VALUE: Self = Self(4);
    /// A message is not acceptable in this state.
    pub const UNACCEPTED: Self = Self(5);
    /// Too many retries.
    pub const RETRIES: Self = Self(6);
    /// A message is malformed.
    pub const INVALID: Self = Self(7);
    /// The negotiation took too long.
    pub const TIMEOUT: Self = Self(8);
}

impl core::fmt::Display for Status {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self.0 {
            0 => "no error",
            1 => "duplicate attribute",
            2 => "unrecognised attribute",
            3 => "invalid length of an attribute",
            4 => "value not supported",
            5 => "message not accepted",
            6 => "too many retries",
            7 => "invalid message",
            8 => "negotiation timeout",
            9 => "attribute not supported in the message",
            10 => "attribute is missing",
            11 => "status not supported in the message",
            number => return write!(f, "status {number}"),
        })
    }
}

/// A status, with the number of its attribute; 0 for no attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusInfo {
    /// Number of the attribute.
    pub attribute: u8,
    /// The status.
    pub status: Status,
}

impl StatusInfo {
    /// The encapsulated protocol is not PPP.
    pub(crate) const PROTOCOL: Self = Self {
        attribute: PROTOCOL,
        status: Status::VALUE,
    };
    /// The crypto binding is wrong.
    pub(crate) const BINDING: Self = Self {
        attribute: BINDING,
        status: Status::VALUE,
    };

    /// Returns a status about no attribute.
    pub(crate) const fn of(status: Status) -> Self {
        Self {
            attribute: 0,
            status,
        }
    }
}

/// A control message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A client asks for a call with this protocol, which is 1 for PPP.
    ConnectRequest(u16),
    /// The server accepts, and offers hashes (as bits) for the crypto binding.
    ConnectAck {
        /// Bits of the hashes.
        hashes: u8,
        /// Random number of the server.
        nonce: Nonce,
    },
    /// The server refuses.
    ConnectNak(StatusInfo),
    /// The client is authenticated by PPP.
    Connected {
        /// Number of the hash.
        hash: u8,
        /// Random number of the server.
        nonce: Nonce,
        /// Hash of the server's certificate.
        certificate: [u8; FIELD],
        /// Compound MAC of the message.
        mac: [u8; FIELD],
    },
    /// The call ends for an error.
    Abort(Option<StatusInfo>),
    /// The call ends.
    Disconnect(Option<StatusInfo>),
    /// Answer to a disconnect.
    DisconnectAck,
    /// Asks whether the other end is alive.
    EchoRequest,
    /// Answer to an echo request.
    EchoResponse,
}

impl Message {
    /// Reads a whole control packet. Further attributes are ignored.
    ///
    /// # Errors
    /// Lengths contradict each other, an attribute is missing, or the message is unknown.
    pub fn parse(packet: &[u8]) -> Result<Self, Fault> {
        let body = packet.get(HEADER..).ok_or(Fault::Malformed)?;
        let [kind, kind2, count, count2] = *body.first_chunk().ok_or(Fault::Malformed)?;
        let attributes = Attributes::parse(&body[4..], u16::from_be_bytes([count, count2]))?;
        Ok(match u16::from_be_bytes([kind, kind2]) {
            CONNECT_REQUEST => {
                let value = attributes.protocol.ok_or(Fault::Malformed)?;
                let value = value.first_chunk().ok_or(Fault::Malformed)?;
                Self::ConnectRequest(u16::from_be_bytes(*value))
            }
            CONNECT_ACK => {
                let value = attributes.binding_request.ok_or(Fault::Malformed)?;
                let [_, _, _, hashes] = *value.first_chunk().ok_or(Fault::Malformed)?;
                let nonce = field(value, 4)?;
                Self::ConnectAck { hashes, nonce }
            }
            CONNECT_NAK => {
                let info = attributes.status()?;
                Self::ConnectNak(info.ok_or(Fault::Malformed)?)
            }
            CONNECTED => {
                let value = attributes.binding.ok_or(Fault::Malformed)?;
                let [_, _, _, hash] = *value.first_chunk().ok_or(Fault::Malformed)?;
                Self::Connected {
                    hash,
                    nonce: field(value, 4)?,
                    certificate: field(value, 4 + FIELD)?,
                    mac: field(value, 4 + 2 * FIELD)?,
                }
            }
            ABORT => Self::Abort(attributes.status()?),
            DISCONNECT => Self::Disconnect(attributes.status()?),
            DISCONNECT_ACK => Self::DisconnectAck,
            ECHO_REQUEST => Self::EchoRequest,
            ECHO_RESPONSE => Self::EchoResponse,
            _ => return Err(Fault::Unknown),
        })
    }

    /// Returns the whole control packet.
    pub fn build(&self) -> Vec<u8> {
        match self {
            Self::ConnectRequest(protocol) => {
                packet(CONNECT_REQUEST, &[(PROTOCOL, &protocol.to_be_bytes())])
            }
            Self::ConnectAck { hashes, nonce } => {
                let value = [&[0, 0, 0, *hashes][..], nonce].concat();
                packet(CONNECT_ACK, &[(BINDING_REQUEST, &value)])
            }
            Self::ConnectNak(info) => packet(CONNECT_NAK, &[(STATUS, &status(*info))]),
            Self::Connected {
                hash,
                nonce,
                certificate,
                mac,
            } => {
                let value = [&[0, 0, 0, *hash][..], nonce, certificate, mac].concat();
                packet(CONNECTED, &[(BINDING, &value)])
            }
            Self::Abort(info) => with_status(ABORT, *info),
            Self::Disconnect(info) => with_status(DISCONNECT, *info),
            Self::DisconnectAck => packet(DISCONNECT_ACK, &[]),
            Self::EchoRequest => packet(ECHO_REQUEST, &[]),
            Self::EchoResponse => packet(ECHO_RESPONSE, &[]),
        }
    }

    /// Returns the Call Connected message of a client.
    pub(crate) fn connected(
        hash: BindingHash,
        nonce: Nonce,
        certificate: &[u8],
        keys: &SessionKeys,
    ) -> Self {
        let with = |mac| Self::Connected {
            hash: hash as u8,
            nonce,
            certificate: hash.certificate(certificate),
            mac,
        };
        with(hash.mac(keys, &with([0; FIELD]).build()))
    }
}

/// Attribute values of a message: the first attribute of each kind.
#[derive(Default)]
struct Attributes<'a> {
    protocol: Option<&'a [u8]>,
    status: Option<&'a [u8]>,
    binding: Option<&'a [u8]>,
    binding_request: Option<&'a [u8]>,
}

impl<'a> Attributes<'a> {
    fn parse(mut bytes: &'a [u8], count: u16) -> Result<Self, Fault> {
        let mut all = Self::default();
        for _ in 0..count {
            let [_, id, high, low] = *bytes.first_chunk().ok_or(Fault::Malformed)?;
            let length = usize::from(u16::from_be_bytes([high & 0x0f, low]));
            let (attribute, rest) = bytes.split_at_checked(length).ok_or(Fault::Malformed)?;
            let value = attribute.get(ATTRIBUTE..).ok_or(Fault::Malformed)?;
            let slot = match id {
                PROTOCOL => &mut all.protocol,
                STATUS => &mut all.status,
                BINDING => &mut all.binding,
                BINDING_REQUEST => &mut all.binding_request,
                _ => &mut None,
            };
            slot.get_or_insert(value);
            bytes = rest;
        }
        Ok(all)
    }

    fn status(&self) -> Result<Option<StatusInfo>, Fault> {
        let Some(value) = self.status else {
            return Ok(None);
        };
        let value: &[u8; STATUS_BYTES] = value.first_chunk().ok_or(Fault::Malformed)?;
        let [_, _, _, attribute, a, b, c, d] = *value;
        Ok(Some(StatusInfo {
            attribute,
            status: Status(u32::from_be_bytes([a, b, c, d])),
        }))
    }
}

fn field(value: &[u8], at: usize) -> Result<[u8; FIELD], Fault> {
    let field = value.get(at..).and_then(<[u8]>::first_chunk);
    field.copied().ok_or(Fault::Malformed)
}

fn status(info: StatusInfo) -> [u8; STATUS_BYTES] {
    let [a, b, c, d] = info.status.0.to_be_bytes();
    [0, 0, 0, info.attribute, a, b, c, d]
}

fn with_status(kind: u16, info: Option<StatusInfo>) -> Vec<u8> {
    match info {
        Some(info) => packet(kind, &[(STATUS, &status(info))]),
        None => packet(kind, &[]),
    }
}

/// Returns the control packet with these attributes, which are short.
fn packet(kind: u16, attributes: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = kind.to_be_bytes().to_vec();
    body.extend((attributes.len() as u16).to_be_bytes());
    for (id, value) in attributes {
        let [high, low] = ((ATTRIBUTE + value.len()) as u16).to_be_bytes();
        body.extend([0, *id, high, low]);
        body.extend(*value);
    }
    let header = header(CONTROL, body.len()).unwrap_or_default();
    [&header[..], &body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u8; N] {
        let digits: Vec<_> = text
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .collect();
        let bytes: Vec<_> = digits
            .chunks(2)
            .map(|pair| (pair[0] * 16 + pair[1]) as u8)
            .collect();
        bytes.try_into().expect("the length")
    }

    #[test]
    fn messages_of_the_example_are_known() {
        // [MS-SSTP], 4.
        let request = hex::<14>("1001000e 0001 0001 0001 0006 0001");
        assert_eq!(Message::ConnectRequest(PPP).build(), request);
        assert_eq!(Message::parse(&request), Ok(Message::ConnectRequest(1)));
        let nonce = hex("412B489AEBD7ECC7D08966F26BE7CD72B231A0E9210D7C91B308862B0344C435");
        let ack = Message::ConnectAck { hashes: 2, nonce };
        let built = ack.build();
        assert_eq!(
            built[..16],
            hex::<16>("10010030 0002 0001 00040028 00000002")
        );
        assert_eq!(Message::parse(&built), Ok(ack));
        let keys = SessionKeys::new(
            &hex("2A1BB40D55AB0F5EF32F06F2B3CC73C4"),
            &hex("8FD3FAC41D7A1315A19228D9024CA164"),
        );
        let with = |mac| Message::Connected {
            hash: 2,
            nonce,
            certificate: hex("7993EF314C493DACE9F02D60E7E61C84B6690AAFE9D7AEEA92CBBE8AD599422D"),
            mac,
        };
        let zero = with([0; FIELD]).build();
        assert_eq!(
            zero[..16],
            hex::<16>("10010070 0004 0001 00030068 00000002")
        );
        let mac = hex("52A68EFD8CFFBF52770B8F0FE8EC73716583AF6D611EB6D179B3B20840985449");
        assert_eq!(BindingHash::Sha256.mac(&keys, &zero), mac);
        assert_eq!(Message::parse(&with(mac).build()), Ok(with(mac)));
    }

    #[test]
    fn every_message_is_read_as_it_was_built_and_no_part_of_it() {
        let info = StatusInfo::BINDING;
        let keys = SessionKeys::NONE;
        let all = [
            Message::ConnectRequest(1),
            Message::ConnectAck {
                hashes: 3,
                nonce: [7; FIELD],
            },
            Message::ConnectNak(StatusInfo::PROTOCOL),
            Message::connected(BindingHash::Sha1, [1; FIELD], b"certificate", &keys),
            Message::Abort(Some(info)),
            Message::Abort(None),
            Message::Disconnect(Some(StatusInfo::of(Status::NONE))),
            Message::Disconnect(None),
            Message::DisconnectAck,
            Message::EchoRequest,
            Message::EchoResponse,
        ];
        for message in all {
            let built = message.build();
            assert_eq!(
                usize::from(u16::from_be_bytes([built[2], built[3]])),
                built.len()
            );
            assert_eq!(Message::parse(&built), Ok(message));
            for end in 0..built.len() {
                assert_eq!(
                    Message::parse(&built[..end]),
                    Err(Fault::Malformed),
                    "{end}"
                );
            }
        }
        assert_eq!(Message::parse(&packet(77, &[])), Err(Fault::Unknown));
    }

    #[test]
    fn the_mac_of_sha1_is_padded_and_depends_on_everything() {
        let keys = SessionKeys::new(&[1; 16], &[2; 16]);
        let of = |hash: BindingHash, keys: &SessionKeys| hash.mac(keys, b"message");
        let one = of(BindingHash::Sha1, &keys);
        assert_eq!(one[20..], [0; 12]);
        assert_ne!(one, of(BindingHash::Sha256, &keys));
        assert_ne!(one, of(BindingHash::Sha1, &SessionKeys::NONE));
        assert_ne!(
            one,
            of(BindingHash::Sha1, &SessionKeys::new(&[2; 16], &[1; 16]))
        );
    }
}
