//! Handshake of a client's first connection, from the hello to the data transfer.

use machine::Instant;

use super::{Action, Client, Join, State};
use crate::curve::Public;
use crate::inbox::{Inbox, framed};
use crate::md5;
use crate::reason::Reason;
use crate::srp::{Challenge, ClientKey, PROOF_LEN};
use crate::wire::{CHALLENGE_LEN, CLIENT_PORT_OFFSET, HELLO, Protocol, Token, WORD_LEN, Word};

/// Longest user name in EC-SRP5.
const NAME_LEN_MAX: usize = 255 - 1 - Public::LEN;

impl Client {
    /// Processes bytes of the first connection.
    pub(super) fn receive(&mut self, mut bytes: &[u8], now: Instant, out: &mut Vec<Action>) {
        loop {
            match self.step(&mut bytes, now, out) {
                Ok(true) => {}
                Ok(false) => break,
                Err(reason) => return self.end(reason, out),
            }
        }
        if let Some(data) = &mut self.data
            && let Err(reason) = data.receive(0, bytes)
        {
            self.end(reason, out);
        }
    }

    /// Processes a message of the handshake. Returns false if it is incomplete.
    fn step(
        &mut self,
        bytes: &mut &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<bool, Reason> {
        let message = match self.state {
            State::Hello | State::Answer | State::Accept => {
                self.inbox.take(bytes).map(ServerMessage::Word)
            }
            State::Challenge => self.inbox.take(bytes).map(ServerMessage::Challenge),
            State::Exchange(_) | State::Proof(_) => {
                self.inbox.take_framed(bytes).map(ServerMessage::Framed)
            }
            State::Port => self.inbox.take(bytes).map(ServerMessage::Port),
            State::Idle | State::Sockets(_) | State::Joining(_) | State::Running | State::Ended => {
                None
            }
        };
        let Some(message) = message else {
            return Ok(false);
        };
        match message {
            ServerMessage::Word(word) => self.receive_word(word, now, out)?,
            ServerMessage::Challenge(challenge) => self.answer(&challenge, now, out)?,
            ServerMessage::Framed(message) => self.exchange(&message, now, out)?,
            // btest-opensource repeats the accepting reply after MD5, in two halves of ports that no server uses.
            ServerMessage::Port([1, 0] | [0, 0]) => {}
            ServerMessage::Port(port) => self.open_sockets(u16::from_be_bytes(port), now, out)?,
        }
        Ok(true)
    }

    fn receive_word(
        &mut self,
        word: [u8; WORD_LEN],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        if let State::Hello = self.state {
            if word != HELLO {
                return Err(Reason::BadHello);
            }
            out.push(Action::Send(0, self.command.to_bytes().to_vec()));
            self.enter(State::Answer, now);
            return Ok(());
        }
        let is_answer = matches!(self.state, State::Answer);
        match Word::parse(word) {
            Some(Word::Accepted(token)) => self.accepted(token, now, out)?,
            Some(Word::Challenge) if is_answer => self.enter(State::Challenge, now),
            Some(Word::Exchange) if is_answer => self.begin_exchange(now, out)?,
            Some(Word::Refused) if is_answer => return Err(Reason::RefusedCommand),
            Some(Word::Refused) => return Err(Reason::RefusedUser),
            _ => return Err(Reason::BadWord),
        }
        Ok(())
    }

    /// Answers an MD5 challenge.
    fn answer(
        &mut self,
        challenge: &[u8; CHALLENGE_LEN],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let answer = md5::Answer::new(&self.test.user, self.test.password.as_str(), challenge);
        let answer = answer.ok_or(Reason::BadUser)?;
        out.push(Action::Send(0, answer.to_bytes().to_vec()));
        self.enter(State::Accept, now);
        Ok(())
    }

    fn begin_exchange(&mut self, now: Instant, out: &mut Vec<Action>) -> Result<(), Reason> {
        let user = self.test.user.as_bytes();
        // A zero terminates the name.
        if user.len() > NAME_LEN_MAX || user.contains(&0) {
            return Err(Reason::BadUser);
        }
        let key = ClientKey::new(self.secret);
        let message = [user, &[0], &key.public().to_bytes()].concat();
        out.push(Action::Send(0, framed(&message)));
        self.enter(State::Exchange(Box::new(key)), now);
        Ok(())
    }

    /// Processes a message of the key exchange. An empty message starts a refusal.
    fn exchange(
        &mut self,
        message: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        if message.is_empty() {
            return Err(Reason::RefusedUser);
        }
        match &self.state {
            State::Exchange(key) => {
                let challenge = <&[u8; Challenge::LEN]>::try_from(message);
                let challenge = Challenge::parse(challenge.map_err(|_| Reason::BadExchange)?);
                let proofs = key.proofs(&self.test.user, self.test.password.as_str(), &challenge);
                let proofs = proofs.map_err(|_| Reason::BadPoint)?;
                out.push(Action::Send(0, framed(&proofs.client)));
                self.enter(State::Proof(Box::new(proofs)), now);
            }
            State::Proof(proofs) => {
                let proof = <&[u8; PROOF_LEN]>::try_from(message);
                // A server without a valid proof does not have the verifier.
                if !proofs.is_server(proof.map_err(|_| Reason::BadExchange)?) {
                    return Err(Reason::BadProof);
                }
                self.enter(State::Accept, now);
            }
            _ => {}
        }
        Ok(())
    }

    fn accepted(
        &mut self,
        token: Option<Token>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        if self.command.protocol == Protocol::Udp {
            self.enter(State::Port, now);
            return Ok(());
        }
        if !self.command.has_token() {
            self.prepare(now);
            self.begin(now, out);
            return Ok(());
        }
        // RouterOS: a server without a token for further connections does not support the test.
        let token = token.ok_or(Reason::NoToken)?;
        self.prepare(now);
        for connection in 1..self.command.connections() {
            self.joins.push(Join {
                connection,
                inbox: Inbox::default(),
                asked: false,
            });
            out.push(Action::Connect(connection));
        }
        self.enter(State::Joining(token), now);
        Ok(())
    }

    fn open_sockets(
        &mut self,
        remote_port: u16,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Reason> {
        let count = self.command.connections();
        let first = remote_port.checked_add(CLIENT_PORT_OFFSET);
        let first = first.filter(|first| first.checked_add(u16::from(count)).is_some());
        let first = first.ok_or(Reason::NoPort)?;
        for socket in 0..count {
            // RouterOS: further sockets use the ports after the first.
            let local_port = first + u16::from(socket);
            out.push(Action::OpenUdp {
                socket,
                local_port,
                remote_port,
            });
        }
        self.enter(State::Sockets(count), now);
        Ok(())
    }
}

/// A message of the handshake.
enum ServerMessage {
    Word([u8; WORD_LEN]),
    Challenge([u8; CHALLENGE_LEN]),
    Framed(Vec<u8>),
    Port([u8; 2]),
}
