//! EAP (RFC 3748): client with EAP-TLS and EAP-MSCHAPv2 (draft-kamath-pppext-eap-mschapv2), and server of
//! EAP-MSCHAPv2.

mod channel;
mod tls;

#[cfg(test)]
mod tests;

use self::tls::Tls;
use crate::config::{EapLogin, EapMethod, Secret};
use crate::crypto::equal;
use crate::mschap;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

const IDENTITY: u8 = 1;
const NOTIFICATION: u8 = 2;
const NAK: u8 = 3;
const TLS: u8 = 13;
const MSCHAP2: u8 = 26;

const CHALLENGE: u8 = 1;
const ANSWER: u8 = 2;
const RIGHT: u8 = 3;
const WRONG: u8 = 4;

/// Result of processing a message.
pub(crate) enum Step {
    /// Response to send.
    Answer(Vec<u8>),
    /// Authentication succeeded, with the session key.
    Success(Secret),
    /// Authentication failed, with the reason.
    Failure(String),
}

/// Encodes an EAP message with its length.
fn message(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u16 + 4).to_be_bytes();
    [&[code, id, len[0], len[1]], data].concat()
}

/// Returns code, identifier and data of a message; `None` if truncated.
fn read(bytes: &[u8]) -> Option<(u8, u8, &[u8])> {
    let (head, _) = bytes.split_first_chunk::<4>()?;
    let [code, id, high, low] = *head;
    let len = usize::from(u16::from_be_bytes([high, low]));
    Some((code, id, bytes.get(4..len)?))
}

/// Returns the Identity request with which an IKEv2 responder starts EAP.
pub(crate) fn identity_request() -> Vec<u8> {
    message(REQUEST, 0, &[IDENTITY])
}

/// EAP client of one login.
pub(crate) struct Client {
    login: EapLogin,
    method: Method,
}

/// Method that the server started.
enum Method {
    None,
    MsChap2 {
        /// Expected authenticator response of the server, and the session key.
        proof: (String, Secret),
        /// True after the server sent that response.
        is_proved: bool,
    },
    Tls(Box<Tls>),
}

impl Client {
    /// Creates a client before the first request.
    pub(crate) fn new(login: &EapLogin) -> Self {
        Self {
            login: login.clone(),
            method: Method::None,
        }
    }

    /// Processes a message of the server. `challenge`: 16 random bytes for MSCHAPv2.
    pub(crate) fn step(&mut self, bytes: &[u8], challenge: &[u8]) -> Step {
        self.answer(bytes, challenge).unwrap_or_else(Step::Failure)
    }

    fn answer(&mut self, bytes: &[u8], challenge: &[u8]) -> Result<Step, String> {
        let (code, id, data) = read(bytes).ok_or("not a message of EAP")?;
        let response = |data: &[u8]| Ok(Step::Answer(message(RESPONSE, id, data)));
        match (code, data.split_first()) {
            (REQUEST, Some((&IDENTITY, _))) => {
                response(&[&[IDENTITY], self.login.user.as_bytes()].concat())
            }
            (REQUEST, Some((&NOTIFICATION, _))) => response(&[NOTIFICATION]),
            (REQUEST, Some((&MSCHAP2, data))) if self.may(EapMethod::MsChap2) => {
                response(&self.mschap(data, challenge)?)
            }
            (REQUEST, Some((&TLS, data))) if self.may(EapMethod::Tls) => {
                let data = self.tls()?.step(data)?;
                response(&[&[TLS], data.as_slice()].concat())
            }
            (REQUEST, Some(_)) => {
                let methods = self.login.methods.iter().map(|method| method.number());
                response(&std::iter::once(NAK).chain(methods).collect::<Vec<_>>())
            }
            (SUCCESS, _) => Ok(Step::Success(self.key().ok_or("success without a proof")?)),
            _ => Err("refused".into()),
        }
    }

    /// Returns true for a configured method, unless another method has started.
    fn may(&self, method: EapMethod) -> bool {
        let is_free = match self.method {
            Method::None => true,
            Method::MsChap2 { .. } => method == EapMethod::MsChap2,
            Method::Tls(_) => method == EapMethod::Tls,
        };
        is_free && self.login.methods.contains(&method)
    }

    /// Takes the session key (MSK) of the method; `None` before user and server are authenticated.
    fn key(&mut self) -> Option<Secret> {
        match std::mem::replace(&mut self.method, Method::None) {
            Method::MsChap2 { proof, is_proved } => is_proved.then_some(proof.1),
            Method::Tls(tls) => tls.key(),
            Method::None => None,
        }
    }

    fn tls(&mut self) -> Result<&mut Tls, String> {
        if !matches!(self.method, Method::Tls(_)) {
            let certified = self.login.certified.as_ref();
            let tls = Tls::new(certified.ok_or("there is no certificate for EAP-TLS")?)?;
            self.method = Method::Tls(Box::new(tls));
        }
        match &mut self.method {
            Method::Tls(tls) => Ok(tls),
            _ => Err("EAP-TLS has not begun".into()),
        }
    }

    /// Processes the data of an EAP-MSCHAPv2 request and returns the data of the response.
    fn mschap(&mut self, data: &[u8], own: &[u8]) -> Result<Vec<u8>, String> {
        let (head, rest) = data
            .split_first_chunk::<4>()
            .ok_or("a message of EAP-MSCHAPv2 is short")?;
        match (head[0], &mut self.method) {
            (CHALLENGE, _) => {
                let challenge = rest.split_first().filter(|(len, _)| **len == 16);
                let theirs = challenge.and_then(|(_, rest)| rest.first_chunk());
                let theirs = theirs.ok_or("a challenge is short")?;
                let own = own.as_array().ok_or("the own challenge is short")?;
                let name = self.login.user.as_bytes();
                let done = mschap::answer(name, self.login.password.bytes(), theirs, own);
                self.method = Method::MsChap2 {
                    proof: (done.proof, done.msk),
                    is_proved: false,
                };
                let len = (4 + 1 + 49 + name.len() as u16).to_be_bytes();
                let front = [MSCHAP2, ANSWER, head[1], len[0], len[1], 49];
                Ok([&front[..], &own[..], &[0; 8], &done.response, &[0], name].concat())
            }
            (RIGHT, Method::MsChap2 { proof, is_proved }) => {
                *is_proved = equal(rest.get(..42).unwrap_or_default(), proof.0.as_bytes());
                match is_proved {
                    true => Ok(vec![MSCHAP2, RIGHT]),
                    false => Err("the other does not know the password".into()),
                }
            }
            (RIGHT, _) => Err("the other does not know the password".into()),
            _ => Err("the password is wrong".into()),
        }
    }
}

/// EAP-MSCHAPv2 server for a user whose password is known locally.
///
/// [`EapServer::step`] takes the messages of [`crate::Action::Eap`] and returns the replies for
/// [`crate::Event::Eap`].
pub struct EapServer {
    user: String,
    password: Secret,
    challenge: [u8; 16],
    done: Option<Secret>,
}

impl EapServer {
    /// Creates a server for one login. `challenge` must be random.
    pub const fn new(user: String, password: Secret, challenge: [u8; 16]) -> Self {
        Self {
            user,
            password,
            challenge,
            done: None,
        }
    }

    /// Processes a message of the user.
    pub fn step(&mut self, bytes: &[u8]) -> crate::EapReply {
        let Some((RESPONSE, id, data)) = read(bytes) else {
            return crate::EapReply::Failure(message(FAILURE, 0, &[]));
        };
        let next = id.wrapping_add(1);
        match data {
            [IDENTITY, ..] => {
                let len = (4 + 1 + 16 + 3_u16).to_be_bytes();
                let front = [MSCHAP2, CHALLENGE, next, len[0], len[1], 16];
                let data = [&front[..], &self.challenge, b"ike"].concat();
                crate::EapReply::Message(message(REQUEST, next, &data))
            }
            [MSCHAP2, ANSWER, rest @ ..] => self.judge(next, rest),
            [MSCHAP2, RIGHT, ..] => match self.done.take() {
                Some(msk) => crate::EapReply::Success(message(SUCCESS, id, &[]), msk),
                None => crate::EapReply::Failure(message(FAILURE, id, &[])),
            },
            _ => crate::EapReply::Failure(message(FAILURE, id, &[])),
        }
    }

    fn judge(&mut self, next: u8, rest: &[u8]) -> crate::EapReply {
        let theirs = rest.get(4..20).and_then(<[u8]>::as_array);
        let fields = theirs.zip(rest.get(28..52)).zip(rest.get(53..));
        let judged = fields.and_then(|((theirs, response), name)| {
            let done = mschap::answer(name, self.password.bytes(), &self.challenge, theirs);
            (name == self.user.as_bytes() && equal(response, &done.response)).then_some(done)
        });
        let (code, text) = match judged {
            Some(done) => {
                self.done = Some(done.msk);
                (RIGHT, done.proof + " M=OK")
            }
            None => (WRONG, "E=691 R=0 M=FAILED".into()),
        };
        let len = (4 + text.len() as u16).to_be_bytes();
        let front = [MSCHAP2, code, next.wrapping_sub(1), len[0], len[1]];
        crate::EapReply::Message(message(
            REQUEST,
            next,
            &[&front[..], text.as_bytes()].concat(),
        ))
    }
}
