//! The end that proves who it is.

use core::fmt;

use machine::{Duration, Instant, Rng};
use mschap::{AUTHENTICATOR_BYTES, ChallengeHash, NtHash};

use crate::auth::{chap, claim, pap};
use crate::event::Action;
use crate::mppe::MppeKeys;
use crate::negotiation::RESTART_TIMER;
use crate::packet::{CHAP, Control, PAP, Packet};
use crate::reason::{DownReason, Fault};
use crate::settings::{Credentials, Method, Role};

/// Transmissions of a request or response without an answer.
const MAX_TRIES: u8 = 10;
/// Time to wait for the server's challenge.
const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a server's message that are kept.
const MAX_MESSAGE: usize = 120;

/// What became of a packet or a timeout.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Authentication goes on.
    Pending,
    /// The peer accepts the credentials.
    Accepted,
    /// Authentication failed for good.
    Failed(DownReason),
}

/// State of a client in authentication.
pub(crate) struct Client {
    method: Method,
    /// Identifier of the request or response.
    id: u8,
    /// The challenge that was answered.
    challenge: Box<[u8]>,
    /// The response to it.
    response: Packet,
    /// Authenticator response that a server must know (MS-CHAPv2).
    expected: Option<[u8; AUTHENTICATOR_BYTES]>,
    /// Keys of MPPE that derive from the response (MS-CHAP).
    keys: Option<MppeKeys>,
    /// Transmissions that are left.
    tries: u8,
    expires: Option<Instant>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Begins: PAP sends its request, CHAP waits for a challenge.
    pub(crate) fn start(
        method: Method,
        credentials: &Credentials,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Self {
        let mut client = Self {
            method,
            id: 1,
            challenge: Box::default(),
            response: Packet::new(),
            expected: None,
            keys: None,
            tries: MAX_TRIES,
            expires: Some(now + CHALLENGE_TIMEOUT),
        };
        if method == Method::Pap {
            client.transmit(credentials, now, out);
        }
        client
    }

    /// Returns the keys of MPPE, once.
    pub(crate) fn take_keys(&mut self) -> Option<MppeKeys> {
        self.keys.take()
    }

    pub(crate) const fn expires(&self) -> Option<Instant> {
        self.expires
    }

    /// Repeats the request or response; fails after the last.
    pub(crate) fn expire(
        &mut self,
        credentials: &Credentials,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Outcome {
        let waits_for_challenge = self.method != Method::Pap && self.response.is_empty();
        if waits_for_challenge || self.tries == 0 {
            self.expires = None;
            return Outcome::Failed(DownReason::NotResponding);
        }
        self.transmit(credentials, now, out);
        Outcome::Pending
    }

    /// Handles a packet of PAP or CHAP.
    pub(crate) fn receive(
        &mut self,
        packet: ProtocolPacket<'_>,
        credentials: &Credentials,
        rng: &mut Rng,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Outcome {
        let control = packet.control;
        let is_pap = self.method == Method::Pap;
        let belongs = packet.protocol == if is_pap { PAP } else { CHAP };
        let fault = match (control.code, is_pap) {
            _ if !belongs => Fault::Method,
            (chap::CHALLENGE, false) => match self.answer(control, credentials, rng) {
                Ok(()) => {
                    self.tries = MAX_TRIES;
                    self.transmit(credentials, now, out);
                    return Outcome::Pending;
                }
                Err(fault) => fault,
            },
            (pap::ACK | pap::NAK, true) | (chap::SUCCESS | chap::FAILURE, false) => {
                match control.id == self.id && self.expires.is_some() {
                    true => return self.conclude(control),
                    false => Fault::Mismatch,
                }
            }
            _ => Fault::Method,
        };
        out.push(Action::Count(fault));
        Outcome::Pending
    }

    /// Computes the response to a challenge. A repeated challenge has the same response.
    fn answer(
        &mut self,
        challenge: Control<'_>,
        credentials: &Credentials,
        rng: &mut Rng,
    ) -> Result<(), Fault> {
        let [value, _] = chap::parse(challenge.data)?;
        if challenge.id == self.id && *value == *self.challenge {
            return Ok(());
        }
        let user = credentials.user.as_bytes();
        let user = &user[..user.len().min(255)];
        let password = credentials.password.bytes();
        let malformed = Fault::Authentication;
        let response = match self.method {
            Method::Pap => return Err(Fault::Method),
            Method::Chap => claim::chap_digest(challenge.id, password, value).to_vec(),
            Method::MsChap1 => {
                let value = value.as_array::<8>().ok_or(malformed)?;
                let response = NtHash::new(password).response(value);
                self.keys = Some(MppeKeys::of_version_1(password, value));
                [&[0; 24][..], &response, &[1]].concat()
            }
            Method::MsChap2 => {
                let value = value.as_array::<16>().ok_or(malformed)?;
                let mut own = [0; 16];
                rng.fill(&mut own);
                let hash = NtHash::new(password);
                let challenge = ChallengeHash::new(&own, value, user);
                let response = hash.response_v2(challenge);
                self.expected = Some(hash.authenticator(challenge, &response));
                let master = hash.master_key(&response);
                self.keys = Some(MppeKeys::of_version_2(&master, Role::Client));
                [&own[..], &[0; 8], &response, &[0]].concat()
            }
        };
        self.id = challenge.id;
        self.challenge = value.into();
        self.response = chap::build(chap::RESPONSE, challenge.id, &response, user);
        Ok(())
    }

    /// Handles the server's verdict.
    fn conclude(&mut self, verdict: Control<'_>) -> Outcome {
        self.expires = None;
        let accepted = matches!((self.method, verdict.code), (Method::Pap, pap::ACK))
            || (self.method != Method::Pap && verdict.code == chap::SUCCESS);
        if !accepted {
            let text = match self.method {
                Method::Pap => pap::message(verdict.data),
                Method::Chap => verdict.data,
                Method::MsChap1 | Method::MsChap2 => ms_chap_message(verdict.data),
            };
            return Outcome::Failed(DownReason::CredentialsRefused(readable(text)));
        }
        match &self.expected {
            Some(expected) if !proves(verdict.data, expected) => {
                Outcome::Failed(DownReason::PeerUnproven)
            }
            _ => Outcome::Accepted,
        }
    }

    fn transmit(&mut self, credentials: &Credentials, now: Instant, out: &mut Vec<Action>) {
        self.tries = self.tries.saturating_sub(1);
        self.expires = Some(now + RESTART_TIMER);
        let packet = match self.method {
            Method::Pap => {
                let user = credentials.user.as_bytes();
                pap::request(self.id, user, credentials.password.bytes())
            }
            _ => self.response.clone(),
        };
        out.push(Action::Send(packet));
    }
}

/// A packet of PAP or CHAP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProtocolPacket<'a> {
    pub(crate) protocol: u16,
    pub(crate) control: Control<'a>,
}

/// Returns true if the text of a Success begins with the authenticator response. RFC 2759 writes upper-case digits;
/// some servers write lower-case ones.
fn proves(success: &[u8], expected: &[u8; AUTHENTICATOR_BYTES]) -> bool {
    let Some(proof) = success.first_chunk::<AUTHENTICATOR_BYTES>() else {
        return false;
    };
    claim::equal(&proof.to_ascii_uppercase(), expected)
}

/// Cuts a server's message to printable characters.
/// Returns the message of an MS-CHAP failure, which follows `M=` behind the codes (RFC 2433, 6; RFC 2759, 6).
fn ms_chap_message(data: &[u8]) -> &[u8] {
    let at = data.windows(2).position(|two| two == b"M=");
    at.and_then(|at| data.get(at + 2..)).unwrap_or_default()
}

fn readable(text: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(text);
    let printable = text.chars().filter(|c| !c.is_control());
    printable.take(MAX_MESSAGE).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_ms_chap_stands_behind_its_codes() {
        let text = b"E=691 R=0 C=00 V=3 M=wrong password";
        assert_eq!(ms_chap_message(text), b"wrong password");
        assert_eq!(ms_chap_message(b"E=691 R=0"), b"");
    }

    #[test]
    fn messages_are_printable_and_short() {
        assert_eq!(&*readable(b"no\r\nway\x1b[2J"), "noway[2J");
        assert_eq!(readable(&[b'x'; 1_000]).len(), MAX_MESSAGE);
    }

    #[test]
    fn the_proof_may_be_in_lower_case() {
        let expected = b"S=407A5589115FD0D6209F510FE9C04566932CDA56";
        assert!(proves(
            b"S=407a5589115fd0d6209f510fe9c04566932cda56 M=ok",
            expected
        ));
        assert!(!proves(&expected[..41], expected));
    }
}
