//! Answers of RADIUS servers.

use wire::radius::{Packet, code, kind, vendor};

use super::authorization::{Authorization, text};
use super::request::Question;
use super::secret;

/// Result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Outcome.
    pub outcome: Outcome,
    /// Item id of the server that answered.
    pub server: Option<u64>,
}

/// Outcome of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Access accept.
    Accept(Box<Accept>),
    /// Access challenge with an EAP message; the next request must repeat its state.
    Challenge {
        /// EAP message.
        eap: Vec<u8>,
        /// State attribute.
        state: Vec<u8>,
    },
    /// Access reject, or a challenge to a password request, which cannot be answered.
    Reject(Reject),
    /// Accounting response.
    Noted,
    /// No server answered.
    Nobody,
}

/// Contents of an access accept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// Attributes of the session.
    pub authorization: Authorization,
    /// Class attributes, to repeat in accounting.
    pub classes: Vec<Vec<u8>>,
    /// EAP message; empty without EAP.
    pub eap: Vec<u8>,
    /// Reply-Message.
    pub message: Option<String>,
    /// MS-CHAP2-Success without its identifier: `S=` and the authenticator response (RFC 2759, 5).
    pub ms_chap2_success: Option<String>,
    /// MS-MPPE-Send-Key and MS-MPPE-Recv-Key.
    pub keys: Option<MppeKeys>,
    /// MS-CHAP-MPPE-Keys (RFC 2548, 2.4.1).
    pub ms_chap_keys: Option<MsChapKeys>,
}

/// Keys of a session that MS-CHAP version 1 authenticated.
#[derive(Clone, PartialEq, Eq)]
pub struct MsChapKeys {
    /// First half of the LM hash.
    pub lm: [u8; 8],
    /// MD4 digest of the NT hash.
    pub nt: [u8; 16],
}

impl core::fmt::Debug for MsChapKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("MsChapKeys(..)")
    }
}

/// Keys of an authenticated session, from the router's point of view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MppeKeys {
    /// Encrypts packets to the user.
    pub send: Key,
    /// Decrypts packets from the user.
    pub receive: Key,
}

impl MppeKeys {
    /// Returns the key of the EAP method: MS-MPPE-Recv-Key followed by MS-MPPE-Send-Key.
    pub fn of_eap(&self) -> Vec<u8> {
        [&self.receive.0[..], &self.send.0].concat()
    }
}

/// Contents of an access reject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reject {
    /// EAP message; empty without EAP.
    pub eap: Vec<u8>,
    /// Reply-Message.
    pub message: Option<String>,
    /// MS-CHAP-Error without its identifier, such as `E=691 R=0` (RFC 2433, 10).
    pub ms_chap_error: Option<String>,
}

/// Key; `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(pub Vec<u8>);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key")
    }
}

/// Inputs to the encryption of attributes in an answer.
#[derive(Clone, Copy)]
pub(super) struct EncryptionInputs<'a> {
    /// Shared secret.
    pub(super) secret: &'a [u8],
    /// Authenticator of the request.
    pub(super) authenticator: &'a [u8; 16],
}

impl Outcome {
    /// Reads an authenticated answer; `None` if it does not fit the request.
    pub(super) fn read(
        packet: &Packet<'_>,
        question: &Question,
        inputs: EncryptionInputs<'_>,
    ) -> Option<Self> {
        let eap = match question {
            Question::Accounting(_) | Question::Router(_) => {
                return (packet.code() == code::ACCOUNTING_RESPONSE).then_some(Self::Noted);
            }
            Question::Eap { .. } => Some(packet.whole(kind::EAP_MESSAGE)),
            _ => None,
        };
        Some(match (packet.code(), eap) {
            (code::ACCESS_ACCEPT, eap) => {
                let eap = eap.unwrap_or_default();
                Self::Accept(Box::new(accept(packet, eap, inputs)))
            }
            (code::ACCESS_CHALLENGE, Some(eap)) => Self::Challenge {
                eap,
                state: packet
                    .get(kind::STATE)
                    .map_or_else(Vec::new, |of| of.value.to_vec()),
            },
            (code::ACCESS_REJECT | code::ACCESS_CHALLENGE, eap) => Self::Reject(Reject {
                eap: eap.unwrap_or_default(),
                message: message(packet),
                ms_chap_error: microsoft_text(packet, vendor::MS_CHAP_ERROR),
            }),
            _ => return None,
        })
    }
}

/// Reads an access accept.
fn accept(packet: &Packet<'_>, eap: Vec<u8>, inputs: EncryptionInputs<'_>) -> Accept {
    let microsoft = |kind| packet.of_vendor(vendor::MICROSOFT, kind);
    let key = |kind| {
        let hidden = microsoft(kind)?;
        secret::reveal(hidden, inputs.secret, inputs.authenticator).map(Key)
    };
    let send = key(vendor::MS_MPPE_SEND_KEY);
    let keys = send.zip(key(vendor::MS_MPPE_RECV_KEY));
    let classes = packet.attributes().filter(|of| of.kind == kind::CLASS);
    let ms_chap_keys = |hidden| {
        let shown = secret::reveal_password(hidden, inputs.secret, inputs.authenticator)?;
        let (lm, rest) = shown.split_first_chunk()?;
        Some(MsChapKeys {
            lm: *lm,
            nt: *rest.first_chunk()?,
        })
    };
    Accept {
        authorization: Authorization::read(packet),
        classes: classes.map(|of| of.value.to_vec()).collect(),
        eap,
        message: message(packet),
        ms_chap2_success: microsoft_text(packet, vendor::MS_CHAP2_SUCCESS),
        keys: keys.map(|(send, receive)| MppeKeys { send, receive }),
        ms_chap_keys: microsoft(vendor::MS_CHAP_MPPE_KEYS).and_then(ms_chap_keys),
    }
}

/// Returns the text of an attribute behind its identifier byte.
fn microsoft_text(packet: &Packet<'_>, kind: u8) -> Option<String> {
    let value = packet.of_vendor(vendor::MICROSOFT, kind)?;
    value.get(1..).and_then(text)
}

/// Returns the Reply-Messages, joined.
fn message(packet: &Packet<'_>) -> Option<String> {
    text(&packet.whole(kind::REPLY_MESSAGE))
}
