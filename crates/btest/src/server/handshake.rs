//! Handshake of a server connection, from the command to the start of the test.

use machine::Instant;

use super::session::{Client, Session};
use super::{Action, Authentication, Connection, Credential, Link, Server, Stage};
use crate::curve::Public;
use crate::inbox::framed;
use crate::md5::{ANSWER_LEN, Answer};
use crate::reason::Reason;
use crate::srp::{PROOF_LEN, ServerKey, Verifier};
use crate::wire::{COMMAND_LEN, Command, Protocol, REFUSED, Token, Word};

/// A message of a client.
enum ClientMessage {
    Command([u8; COMMAND_LEN]),
    Answer(Command, [u8; ANSWER_LEN]),
    Name(Command, Vec<u8>),
    Proof(Vec<u8>),
}

impl Server {
    /// Processes a message of the handshake. Returns false if it is incomplete.
    pub(super) fn step(
        &mut self,
        connection: Connection,
        bytes: &mut &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<bool, Reason> {
        let Some(link) = self.links.get_mut(&connection) else {
            return Ok(false);
        };
        let Link { inbox, stage, .. } = link;
        let message = match stage {
            Stage::Command => inbox.take(bytes).map(ClientMessage::Command),
            Stage::Answer(command) => inbox
                .take(bytes)
                .map(|m| ClientMessage::Answer(*command, m)),
            Stage::Exchange(command) => inbox
                .take_framed(bytes)
                .map(|m| ClientMessage::Name(*command, m)),
            Stage::Proof(..) => inbox.take_framed(bytes).map(ClientMessage::Proof),
            // The client has to wait for the server.
            Stage::AskedPassword(..) | Stage::AskedVerifier(..) if !bytes.is_empty() => {
                return Err(Reason::BadExchange);
            }
            _ => None,
        };
        match message {
            None => return Ok(false),
            Some(ClientMessage::Command(bytes)) => {
                self.receive_command(connection, &bytes, now, out)?
            }
            Some(ClientMessage::Answer(command, bytes)) => {
                let answer = Box::new(Answer::parse(&bytes));
                let user = answer.user().ok_or(Reason::BadExchange)?;
                out.push(Action::Ask(connection, user.to_owned()));
                link.enter(Stage::AskedPassword(command, answer), now);
            }
            Some(ClientMessage::Name(command, message)) => {
                let (user, public) = name_and_point(&message).ok_or(Reason::BadExchange)?;
                out.push(Action::Ask(connection, user.clone()));
                link.enter(Stage::AskedVerifier(command, Box::new((user, public))), now);
            }
            Some(ClientMessage::Proof(proof)) => {
                self.receive_proof(connection, &proof, now, out)?
            }
        }
        Ok(true)
    }

    fn receive_command(
        &mut self,
        connection: Connection,
        bytes: &[u8; COMMAND_LEN],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        if let Some(token) = Token::of_join(bytes) {
            return self.join(connection, token, now, out);
        }
        let command = Command::parse(bytes).ok_or(Reason::BadCommand)?;
        let Some(source) = self.links.get(&connection).map(|link| link.source) else {
            return Ok(());
        };
        if !self.has_room(source) {
            return Err(refuse(connection, Reason::Sessions, out));
        }
        let Some(link) = self.links.get_mut(&connection) else {
            return Ok(());
        };
        match self.settings.authentication {
            Authentication::None => return self.accept(connection, command, "", now, out),
            Authentication::Md5 => {
                let challenge = link.challenge();
                let word = [&Word::Challenge.to_bytes()[..], &challenge].concat();
                out.push(Action::Send(connection, word));
                link.enter(Stage::Answer(command), now);
            }
            Authentication::EcSrp5 => {
                let word = Word::Exchange.to_bytes();
                out.push(Action::Send(connection, word.to_vec()));
                link.enter(Stage::Exchange(command), now);
            }
        }
        Ok(())
    }

    /// Adds a further connection to the session with this token, which replaces authentication.
    fn join(
        &mut self,
        connection: Connection,
        token: Token,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let Some(link) = self.links.get_mut(&connection) else {
            return Ok(());
        };
        let mut sessions = self.sessions.iter_mut();
        let found = sessions.find(|(_, session)| session.takes(token, link.peer));
        let Some((first, session)) = found else {
            return Err(refuse(connection, Reason::BadToken, out));
        };
        link.enter(Stage::Further(*first), now);
        self.handshakes -= 1;
        let word = Word::Accepted(Some(token)).to_bytes();
        out.push(Action::Send(connection, word.to_vec()));
        session.data.add(connection.0);
        if session.is_complete() {
            session.begin(*first, now, out);
        }
        Ok(())
    }

    /// Continues with the credentials of a user.
    pub(super) fn credential(
        &mut self,
        connection: Connection,
        credential: Credential,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let Some(link) = self.links.get_mut(&connection) else {
            return Ok(());
        };
        match &link.stage {
            Stage::AskedPassword(command, answer) => {
                let command = *command;
                let user = answer.user().unwrap_or_default().to_owned();
                let Credential::Password(password) = credential else {
                    return Err(refuse(connection, Reason::BadProof, out));
                };
                if !answer.proves(password.as_str(), &link.challenge()) {
                    return Err(refuse(connection, Reason::BadProof, out));
                }
                out.push(Action::Proved(connection));
                self.accept(connection, command, &user, now, out)
            }
            Stage::AskedVerifier(command, asked) => {
                let (user, public) = &**asked;
                let verifier = match credential {
                    Credential::Verifier(verifier) => verifier,
                    Credential::Password(password) => {
                        // The salt is constant per user, like the salts of unknown users.
                        let salt = Verifier::salt(user, &self.secret);
                        Verifier::of(user, password.as_str(), salt)
                    }
                    // Unknown names are revealed only after a wrong proof.
                    Credential::Unknown => Verifier::decoy(user, &self.secret),
                };
                let key = ServerKey::new(link.secret(), &verifier);
                let key = key.map_err(|_| refuse(connection, Reason::BadPoint, out))?;
                let proofs = key.proofs(public);
                let proofs = proofs.map_err(|_| refuse(connection, Reason::BadPoint, out))?;
                let challenge = framed(&key.challenge().to_bytes());
                out.push(Action::Send(connection, challenge));
                let proof = Stage::Proof(*command, Box::new((user.clone(), proofs)));
                link.enter(proof, now);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn receive_proof(
        &mut self,
        connection: Connection,
        proof: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let Some(link) = self.links.get(&connection) else {
            return Ok(());
        };
        let Stage::Proof(command, waiting) = &link.stage else {
            return Ok(());
        };
        let command = *command;
        let (user, proofs) = &**waiting;
        let proof = <&[u8; PROOF_LEN]>::try_from(proof).map_err(|_| Reason::BadExchange)?;
        if !proofs.is_client(proof) {
            return Err(refuse(connection, Reason::BadProof, out));
        }
        let user = user.clone();
        out.push(Action::Send(connection, framed(&proofs.server)));
        out.push(Action::Proved(connection));
        self.accept(connection, command, &user, now, out)
    }

    /// Starts the test of a command, or waits for further connections or the UDP port.
    fn accept(
        &mut self,
        connection: Connection,
        command: Command,
        user: &str,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let Some(link) = self.links.get(&connection) else {
            return Ok(());
        };
        // Other sessions may have started since the command.
        if !self.has_room(link.source) {
            return Err(refuse(connection, Reason::Sessions, out));
        }
        let token = command.has_token().then(|| self.free_token(link.token()));
        let Some(link) = self.links.get_mut(&connection) else {
            return Ok(());
        };
        let client = Client {
            peer: link.peer,
            source: link.source,
        };
        link.enter(Stage::First, now);
        self.handshakes -= 1;
        let mut session = Session::new(connection, client, user, command, token, now);
        match command.protocol {
            Protocol::Udp => out.push(Action::OpenUdp(connection, client.peer)),
            Protocol::Tcp => {
                let word = Word::Accepted(token).to_bytes();
                out.push(Action::Send(connection, word.to_vec()));
                if session.is_complete() {
                    session.begin(connection, now, out);
                }
            }
        }
        self.sessions.insert(connection, session);
        Ok(())
    }

    /// Returns a token that no other session has.
    fn free_token(&self, random: u16) -> Token {
        let taken = |token| self.sessions.values().any(|own| own.token == Some(token));
        let tokens = (0..=u16::MAX).map(|more| Token::new(random.wrapping_add(more)));
        let mut free = tokens.filter(|token| !taken(*token));
        free.next().unwrap_or(Token::new(random))
    }
}

/// Refuses a client and returns the reason.
fn refuse(connection: Connection, reason: Reason, out: &mut Vec<Action>) -> Reason {
    out.push(Action::Send(connection, REFUSED.to_vec()));
    reason
}

/// Splits a message into the client's name and public point.
fn name_and_point(message: &[u8]) -> Option<(String, Public)> {
    let (name, point) = message.split_last_chunk::<{ Public::LEN }>()?;
    let (0, name) = name.split_last().map(|(end, name)| (*end, name))? else {
        return None;
    };
    let name = core::str::from_utf8(name).ok()?;
    Some((name.to_owned(), Public::parse(point)))
}
