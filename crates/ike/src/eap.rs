//! EAP (RFC 3748) with EAP-MSCHAPv2 (draft-kamath-pppext-eap-mschapv2): the user's side, and that of who decides.

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
const MSCHAP2: u8 = 26;

const CHALLENGE: u8 = 1;
const ANSWER: u8 = 2;
const RIGHT: u8 = 3;
const WRONG: u8 = 4;

/// What comes of a message.
pub(crate) enum Step {
    /// This is answered.
    Answer(Vec<u8>),
    /// It is done; the key of the session.
    Success(Secret),
    /// It failed.
    Failure(&'static str),
}

/// A message with its length.
fn message(code: u8, id: u8, data: &[u8]) -> Vec<u8> {
    let len = (data.len() as u16 + 4).to_be_bytes();
    [&[code, id, len[0], len[1]], data].concat()
}

/// The code, the number, and the data of a message.
fn read(bytes: &[u8]) -> Option<(u8, u8, &[u8])> {
    let (head, _) = bytes.split_first_chunk::<4>()?;
    let [code, id, high, low] = *head;
    let len = usize::from(u16::from_be_bytes([high, low]));
    Some((code, id, bytes.get(4..len)?))
}

/// The request with which a responder of IKEv2 begins.
pub(crate) fn identity_request() -> Vec<u8> {
    message(REQUEST, 0, &[IDENTITY])
}

/// The user's side.
pub(crate) struct Client {
    user: String,
    password: Secret,
    allowed: bool,
    /// What the other should prove, and the key, once the challenge was answered.
    proof: Option<(String, Secret)>,
    proved: bool,
}

impl Client {
    /// A user that has not been asked yet.
    pub(crate) fn new(login: &EapLogin) -> Self {
        Self {
            user: login.user.clone(),
            password: login.password.clone(),
            allowed: login.methods.contains(&EapMethod::MsChap2),
            proof: None,
            proved: false,
        }
    }

    /// Takes a message; `challenge` is 16 random bytes, if one is needed.
    pub(crate) fn step(&mut self, bytes: &[u8], challenge: &[u8]) -> Step {
        let Some((code, id, data)) = read(bytes) else {
            return Step::Failure("not a message of EAP");
        };
        match (code, data.split_first()) {
            (REQUEST, Some((&IDENTITY, _))) => {
                let data = [&[IDENTITY], self.user.as_bytes()].concat();
                Step::Answer(message(RESPONSE, id, &data))
            }
            (REQUEST, Some((&NOTIFICATION, _))) => {
                Step::Answer(message(RESPONSE, id, &[NOTIFICATION]))
            }
            (REQUEST, Some((&MSCHAP2, data))) if self.allowed => self.mschap(id, data, challenge),
            (REQUEST, Some(_)) => Step::Answer(message(RESPONSE, id, &[NAK, MSCHAP2])),
            (SUCCESS, _) => match self.proof.take().filter(|_| self.proved) {
                Some((_, msk)) => Step::Success(msk),
                None => Step::Failure("success without a proof"),
            },
            _ => Step::Failure("refused"),
        }
    }

    fn mschap(&mut self, id: u8, data: &[u8], own: &[u8]) -> Step {
        let Some((head, rest)) = data.split_first_chunk::<4>() else {
            return Step::Failure("a message of EAP-MSCHAPv2 is short");
        };
        match head[0] {
            CHALLENGE => {
                let challenge = rest.split_first().filter(|(len, _)| **len == 16);
                let Some((theirs, _)) = challenge.and_then(|(_, rest)| rest.split_at_checked(16))
                else {
                    return Step::Failure("a challenge is short");
                };
                let done = mschap::answer(self.user.as_bytes(), self.password.bytes(), theirs, own);
                self.proof = Some((done.proof, done.msk));
                let name = self.user.as_bytes();
                let len = (4 + 1 + 49 + name.len() as u16).to_be_bytes();
                let front = [MSCHAP2, ANSWER, head[1], len[0], len[1], 49];
                let data = [&front[..], own, &[0; 8], &done.response, &[0], name].concat();
                Step::Answer(message(RESPONSE, id, &data))
            }
            RIGHT => {
                let proof = self.proof.as_ref().map(|(proof, _)| proof.as_bytes());
                self.proved =
                    proof.is_some_and(|proof| equal(rest.get(..42).unwrap_or_default(), proof));
                if !self.proved {
                    return Step::Failure("the other does not know the password");
                }
                Step::Answer(message(RESPONSE, id, &[MSCHAP2, RIGHT]))
            }
            _ => Step::Failure("the password is wrong"),
        }
    }
}

/// Who decides about a user whose password is known here: the other side of EAP-MSCHAPv2.
///
/// It takes the messages of [`crate::Action::Eap`], and gives what [`crate::Event::Eap`] takes.
pub struct EapServer {
    user: String,
    password: Secret,
    challenge: [u8; 16],
    done: Option<Secret>,
}

impl EapServer {
    /// Decides about one user; the challenge is random.
    pub const fn new(user: String, password: Secret, challenge: [u8; 16]) -> Self {
        Self {
            user,
            password,
            challenge,
            done: None,
        }
    }

    /// Takes a message of the user.
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
        let fields = rest.get(4..20).zip(rest.get(28..52)).zip(rest.get(53..));
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
