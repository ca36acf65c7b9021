//! The fields of control messages (RFC 2661, 3.2 and 6; RFC 3931, 6).

use std::borrow::Cow;

use crate::avp::{Avp, Malformed, attribute, avps};
use crate::event::Fault;
use crate::header::Version;
use crate::secret::Secret;

/// Kinds of messages.
pub mod kind {
    /// Start-Control-Connection-Request.
    pub const SCCRQ: u16 = 1;
    /// Start-Control-Connection-Reply.
    pub const SCCRP: u16 = 2;
    /// Start-Control-Connection-Connected.
    pub const SCCCN: u16 = 3;
    /// Stop-Control-Connection-Notification.
    pub const STOP_CCN: u16 = 4;
    /// Hello.
    pub const HELLO: u16 = 6;
    /// Outgoing-Call-Request.
    pub const OCRQ: u16 = 7;
    /// Outgoing-Call-Reply.
    pub const OCRP: u16 = 8;
    /// Outgoing-Call-Connected.
    pub const OCCN: u16 = 9;
    /// Incoming-Call-Request.
    pub const ICRQ: u16 = 10;
    /// Incoming-Call-Reply.
    pub const ICRP: u16 = 11;
    /// Incoming-Call-Connected.
    pub const ICCN: u16 = 12;
    /// Call-Disconnect-Notify.
    pub const CDN: u16 = 14;
    /// WAN-Error-Notify.
    pub const WEN: u16 = 15;
    /// Set-Link-Info.
    pub const SLI: u16 = 16;
    /// Explicit acknowledgement of version 3, which like an empty message takes no number.
    pub const ACK: u16 = 20;
}

/// Results of StopCCN and CDN (RFC 2661, 4.4.2).
pub mod result {
    /// StopCCN: the tunnel is no longer needed.
    pub const CLEARED: u16 = 1;
    /// StopCCN and CDN: an error, which the error code names.
    pub const ERROR: u16 = 2;
    /// StopCCN: the other end is not authorized.
    pub const NOT_AUTHORIZED: u16 = 4;
    /// StopCCN: the protocol version is not supported.
    pub const VERSION: u16 = 5;
    /// StopCCN: the router shuts down.
    pub const SHUTTING_DOWN: u16 = 6;
    /// StopCCN: a message that the state does not admit.
    pub const STATE: u16 = 7;
    /// CDN: an administrator or the end of PPP closed the session.
    pub const ADMINISTRATIVE: u16 = 3;
    /// CDN: no room for another session now.
    pub const NO_FACILITIES: u16 = 4;
    /// CDN: this end places no outgoing calls.
    pub const NO_FACILITIES_EVER: u16 = 5;
    /// CDN of version 3: this end does not support the type of the pseudowire.
    pub const PSEUDOWIRE_TYPE: u16 = 14;
    /// Error code: wrong length.
    pub const ERROR_LENGTH: u16 = 2;
    /// Error code: wrong value.
    pub const ERROR_VALUE: u16 = 3;
    /// Error code: no resources.
    pub const ERROR_RESOURCES: u16 = 4;
    /// Error code: an unknown mandatory attribute.
    pub const ERROR_UNKNOWN: u16 = 8;
}

/// The fields of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// Kind of the message.
    pub kind: u16,
    /// Whether the receiver must refuse an unknown kind.
    pub is_mandatory: bool,
    /// Result code, error code, and text.
    pub result: Option<(u16, u16, Box<str>)>,
    /// Version and revision.
    pub version: Option<u16>,
    /// Name of the sender.
    pub host_name: Option<Cow<'a, [u8]>>,
    /// Tunnel number that the sender assigned.
    pub assigned_tunnel: Option<u32>,
    /// Session number that the sender assigned.
    pub assigned_session: Option<u32>,
    /// Receive window of the sender.
    pub window: Option<u16>,
    /// Challenge of the sender.
    pub challenge: Option<Cow<'a, [u8]>>,
    /// Response to the receiver's challenge.
    pub response: Option<Cow<'a, [u8]>>,
    /// Number of the caller.
    pub calling_number: Option<Cow<'a, [u8]>>,
    /// Number that was called.
    pub called_number: Option<Cow<'a, [u8]>>,
    /// Data messages must be numbered.
    pub requires_sequence: bool,
    /// Version 3: session number that the receiver assigned.
    pub remote_session: Option<u32>,
    /// Version 3: random bytes of the sender.
    pub nonce: Option<Cow<'a, [u8]>>,
    /// Version 3: cookie of packets to the sender, of 4 or 8 bytes.
    pub cookie: Option<Cow<'a, [u8]>>,
    /// Version 3: name of the circuit.
    pub circuit_id: Option<Cow<'a, [u8]>>,
    /// Version 3: type of the pseudowire.
    pub pseudowire_type: Option<u16>,
    /// Version 3: packets to the sender have a sublayer; 1 is the default one.
    pub sublayer: Option<u16>,
}

/// Type of Ethernet pseudowires without VLAN tags of their own (RFC 4719).
pub(crate) const ETHERNET: u16 = 5;

impl<'a> Message<'a> {
    /// Reads the AVPs of a message. Unknown attributes that are not mandatory are ignored.
    ///
    /// # Errors
    /// An AVP is malformed, an unknown one is mandatory, or the first is not the kind of the message.
    pub fn parse(
        version: Version,
        body: &'a [u8],
        secret: Option<&'a Secret>,
    ) -> Result<Self, Fault> {
        let mut avps = avps(body, secret);
        let first = avps.next().ok_or(Fault::Malformed)?.map_err(fault)?;
        if first.attribute != Some(attribute::MESSAGE_TYPE) {
            return Err(Fault::Malformed);
        }
        let mut message = Self {
            kind: number(&first.value)?,
            is_mandatory: first.is_mandatory,
            ..Self::default()
        };
        for avp in avps {
            message.read(version, avp.map_err(fault)?)?;
        }
        Ok(message)
    }

    fn read(&mut self, version: Version, avp: Avp<'a>) -> Result<(), Fault> {
        let has_attribute =
            |number: &u16| version == Version::Three || !attribute::is_of_version_3(*number);
        let Some(attribute) = avp.attribute.filter(has_attribute) else {
            return match avp.is_mandatory {
                true => Err(Fault::UnknownAvp),
                false => Ok(()),
            };
        };
        let value = avp.value;
        match attribute {
            attribute::RESULT_CODE => self.result = Some(result_of(&value)?),
            attribute::PROTOCOL_VERSION => self.version = Some(number(&value)?),
            attribute::HOST_NAME => self.host_name = Some(value),
            attribute::ASSIGNED_TUNNEL => self.assigned_tunnel = Some(number(&value)?.into()),
            attribute::ASSIGNED_SESSION => self.assigned_session = Some(number(&value)?.into()),
            attribute::ASSIGNED_CONNECTION => self.assigned_tunnel = Some(long_number(&value)?),
            attribute::LOCAL_SESSION => self.assigned_session = Some(long_number(&value)?),
            attribute::REMOTE_SESSION => self.remote_session = Some(long_number(&value)?),
            attribute::NONCE => self.nonce = Some(value),
            attribute::COOKIE if !matches!(value.len(), 4 | 8) => return Err(Fault::Malformed),
            attribute::COOKIE => self.cookie = Some(value),
            attribute::REMOTE_END_ID => self.circuit_id = Some(value),
            attribute::PSEUDOWIRE_TYPE => self.pseudowire_type = Some(number(&value)?),
            attribute::SUBLAYER => self.sublayer = Some(number(&value)?),
            attribute::RECEIVE_WINDOW => self.window = Some(number(&value)?),
            attribute::CHALLENGE => self.challenge = Some(value),
            attribute::CHALLENGE_RESPONSE => self.response = Some(value),
            attribute::CALLING_NUMBER => self.calling_number = Some(value),
            attribute::CALLED_NUMBER => self.called_number = Some(value),
            attribute::SEQUENCING_REQUIRED => self.requires_sequence = true,
            _ => {}
        }
        Ok(())
    }
}

const fn fault(malformed: Malformed) -> Fault {
    match malformed {
        Malformed::Length => Fault::Malformed,
        Malformed::Hidden | Malformed::NoSecret => Fault::Hidden,
    }
}

fn number(value: &[u8]) -> Result<u16, Fault> {
    let bytes = value.try_into().map_err(|_| Fault::Malformed)?;
    Ok(u16::from_be_bytes(bytes))
}

fn long_number(value: &[u8]) -> Result<u32, Fault> {
    let bytes = value.try_into().map_err(|_| Fault::Malformed)?;
    Ok(u32::from_be_bytes(bytes))
}

fn result_of(value: &[u8]) -> Result<(u16, u16, Box<str>), Fault> {
    let (result, rest) = value.split_first_chunk().ok_or(Fault::Malformed)?;
    let (error, text) = rest.split_first_chunk().unwrap_or((&[0; 2], &[]));
    let [result, error] = [result, error].map(|word| u16::from_be_bytes(*word));
    Ok((result, error, String::from_utf8_lossy(text).into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avp::Builder;

    #[test]
    fn the_kind_comes_first_and_unknown_mandatory_attributes_are_refused() {
        let body = Builder::new(kind::ICRQ)
            .mandatory(attribute::ASSIGNED_SESSION, &[0, 9])
            .optional(attribute::CALLING_NUMBER, b"+43");
        let body = body.finish();
        let message = Message::parse(Version::Two, &body, None).expect("it is whole");
        assert_eq!(
            (message.kind, message.assigned_session),
            (kind::ICRQ, Some(9))
        );
        assert_eq!(message.calling_number.as_deref(), Some(&b"+43"[..]));
        assert_eq!(
            Message::parse(Version::Two, &body[8..], None),
            Err(Fault::Malformed)
        );
        let unknown = |first: u8| {
            let vendor = [first, 6, 0, 9, 0, 1];
            Message::parse(Version::Two, &[&body[..], &vendor].concat(), None)
                .map(|message| message.kind)
        };
        assert_eq!(unknown(0x80), Err(Fault::UnknownAvp));
        assert_eq!(unknown(0), Ok(kind::ICRQ));
    }

    #[test]
    fn results_have_optional_errors_and_texts() {
        let body = |value: &[u8]| {
            Builder::new(kind::CDN)
                .mandatory(attribute::RESULT_CODE, value)
                .finish()
        };
        let result =
            |value: &[u8]| Message::parse(Version::Two, &body(value), None).map(|of| of.result);
        assert_eq!(result(&[0, 3]), Ok(Some((3, 0, "".into()))));
        assert_eq!(
            result(&[0, 2, 0, 4, b'n', b'o']),
            Ok(Some((2, 4, "no".into())))
        );
        assert_eq!(result(&[3]), Err(Fault::Malformed));
    }
}
