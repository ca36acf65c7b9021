//! The end that demands authentication.

use core::fmt;

use machine::{Duration, Instant, Rng};

use crate::auth::claim::{Claim, Proof, Response};
use crate::auth::{chap, pap};
use crate::event::Action;
use crate::negotiation::RESTART_TIMER;
use crate::packet::{CHAP, Control, PAP, Packet};
use crate::reason::Fault;
use crate::settings::{Method, Password};

/// Transmissions of a challenge.
const MAX_TRIES: u8 = 10;
/// Time for a client of PAP to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for the owner to verify a claim. Clients give up earlier.
const VERIFY_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest user name (RADIUS: 253 bytes; PAP: 255).
const MAX_NAME: usize = 255;
/// Bytes of a message to the client that are sent.
const MAX_MESSAGE: usize = 200;

/// Position of the identifier in a packet of PAP or CHAP.
const IDENTIFIER: usize = 3;

/// Progress of authentication.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// The client has not answered.
    Waiting,
    /// The owner verifies the claim.
    Verifying,
    /// The answer is sent, and sent again when the client repeats its request.
    Answered(Packet),
}

/// State of a server in authentication.
pub(crate) struct Server {
    method: Method,
    /// Identifier of the challenge, or of the client's request (PAP).
    id: u8,
    challenge: [u8; 16],
    tries: u8,
    progress: Progress,
    expires: Option<Instant>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("method", &self.method)
            .field("progress", &self.progress)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Begins: CHAP sends a challenge, PAP waits for a request.
    pub(crate) fn start(
        method: Method,
        name: &str,
        rng: &mut Rng,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Self {
        let mut challenge = [0; 16];
        rng.fill(&mut challenge);
        let mut server = Self {
            method,
            id: rng.next_u32() as u8,
            challenge,
            tries: MAX_TRIES,
            progress: Progress::Waiting,
            expires: Some(now + REQUEST_TIMEOUT),
        };
        if method != Method::Pap {
            server.transmit(name, now, out);
        }
        server
    }

    pub(crate) const fn expires(&self) -> Option<Instant> {
        self.expires
    }

    /// Returns true while the owner verifies the claim.
    pub(crate) fn is_verifying(&self) -> bool {
        self.progress == Progress::Verifying
    }

    /// Repeats the challenge. Returns false if the client does not answer, or the owner does not.
    pub(crate) fn expire(&mut self, name: &str, now: Instant, out: &mut Vec<Action>) -> bool {
        let repeats = self.method != Method::Pap && self.progress == Progress::Waiting;
        if !repeats || self.tries == 0 {
            self.expires = None;
            return false;
        }
        self.transmit(name, now, out);
        true
    }

    /// Handles a packet of PAP or CHAP.
    pub(crate) fn receive(
        &mut self,
        protocol: u16,
        control: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let claim = match (self.method, protocol, control.code) {
            (Method::Pap, PAP, pap::REQUEST) => Self::read_request(control),
            (Method::Chap | Method::MsChap1 | Method::MsChap2, CHAP, chap::RESPONSE) => {
                self.read_response(control)
            }
            _ => Err(Fault::Method),
        };
        match (claim, &self.progress) {
            (Err(fault), _) => out.push(Action::Count(fault)),
            (Ok(claim), Progress::Waiting) => {
                self.id = control.id;
                self.progress = Progress::Verifying;
                self.expires = Some(now + VERIFY_TIMEOUT);
                out.push(Action::Verify(Box::new(claim)));
            }
            // A client repeats its request until it is answered; some clients of PAP change the identifier.
            (Ok(_), Progress::Verifying) => self.id = control.id,
            (Ok(_), Progress::Answered(answer)) => {
                let mut answer = answer.clone();
                answer[IDENTIFIER] = control.id;
                out.push(Action::Send(answer));
            }
        }
    }

    /// Sends the acceptance.
    pub(crate) fn accept(&mut self, proof: &Proof, out: &mut Vec<Action>) {
        let text = "Access granted";
        let answer = match (self.method, proof.authenticator()) {
            (Method::Pap, _) => pap::answer(pap::ACK, self.id, text.as_bytes()),
            (Method::MsChap2, Some(authenticator)) => {
                let text = [authenticator, &b" M="[..], text.as_bytes()].concat();
                self.verdict(chap::SUCCESS, &text)
            }
            _ => self.verdict(chap::SUCCESS, text.as_bytes()),
        };
        self.conclude(answer, out);
    }

    /// Sends the refusal with a text for the client.
    pub(crate) fn refuse(&mut self, text: &str, out: &mut Vec<Action>) {
        let text = &text[..text.floor_char_boundary(MAX_MESSAGE)];
        let answer = match self.method {
            Method::Pap => pap::answer(pap::NAK, self.id, text.as_bytes()),
            Method::Chap => self.verdict(chap::FAILURE, text.as_bytes()),
            _ if text.starts_with("E=") => self.verdict(chap::FAILURE, text.as_bytes()),
            // ERROR_AUTHENTICATION_FAILURE, no retry (RFC 2433, 7; RFC 2759, 6).
            Method::MsChap1 => self.verdict(chap::FAILURE, b"E=691 R=0"),
            Method::MsChap2 => {
                let zeros = "0".repeat(32);
                let text = format!("E=691 R=0 C={zeros} V=3 M={text}");
                self.verdict(chap::FAILURE, text.as_bytes())
            }
        };
        self.conclude(answer, out);
    }

    fn conclude(&mut self, answer: Packet, out: &mut Vec<Action>) {
        self.expires = None;
        out.push(Action::Send(answer.clone()));
        self.progress = Progress::Answered(answer);
    }

    fn verdict(&self, code: u8, data: &[u8]) -> Packet {
        let id = self.id;
        Control { code, id, data }.build(CHAP)
    }

    fn read_request(request: Control<'_>) -> Result<Claim, Fault> {
        let [name, password] = pap::parse_request(request.data)?;
        Ok(Claim {
            name: name.into(),
            response: Response::Pap {
                password: Password::new(password),
            },
        })
    }

    fn read_response(&self, response: Control<'_>) -> Result<Claim, Fault> {
        let [value, name] = chap::parse(response.data)?;
        let id = response.id;
        if id != self.id {
            return Err(Fault::Mismatch);
        }
        if name.len() > MAX_NAME {
            return Err(Fault::Authentication);
        }
        let malformed = Fault::Authentication;
        let response = match self.method {
            Method::Pap => return Err(Fault::Method),
            Method::Chap => Response::Chap {
                id,
                challenge: self.challenge,
                digest: *value.as_array().ok_or(malformed)?,
            },
            Method::MsChap1 => Response::MsChap1 {
                id,
                challenge: *self.challenge.first_chunk().ok_or(malformed)?,
                response: *value.as_array().ok_or(malformed)?,
            },
            Method::MsChap2 => Response::MsChap2 {
                id,
                challenge: self.challenge,
                response: *value.as_array().ok_or(malformed)?,
            },
        };
        let name = name.into();
        Ok(Claim { name, response })
    }

    fn transmit(&mut self, name: &str, now: Instant, out: &mut Vec<Action>) {
        self.tries = self.tries.saturating_sub(1);
        self.expires = Some(now + RESTART_TIMER);
        let challenge = match self.method {
            Method::MsChap1 => &self.challenge[..8],
            _ => &self.challenge[..],
        };
        let packet = chap::build(chap::CHALLENGE, self.id, challenge, name.as_bytes());
        out.push(Action::Send(packet));
    }
}
