//! A connection of the binary API from login to end: tracks the running commands and builds the replies. The
//! owner transports the bytes, checks passwords and runs the commands.

use std::collections::BTreeMap;

use menu::{Reason, Refusal, bytes};
use script::{Done, Request};

use crate::sentence::{Reply, Sentence};
use crate::word::{DecodeError, Decoder, Limits};

/// Maximum number of commands that run concurrently on a connection.
pub const RUNNING: usize = 64;

/// Maximum number of login attempts per connection.
const TRIES: u32 = 10;

/// An action for the owner of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Check the user's password and call [`Connection::admitted`]. No further input is handled until then.
    Login {
        /// The user's name.
        name: String,
        /// The password; `None` if the client sent only a digest, which cannot be verified.
        password: Option<Vec<u8>>,
    },
    /// Run a command, and call [`Connection::ended`] when it ends.
    Run {
        /// Number of the command.
        number: u64,
        /// The tag for its replies.
        tag: Vec<u8>,
        /// The command.
        request: Request,
    },
    /// Stop a command as soon as possible. The owner still reports its end.
    Stop(u64),
    /// The client logs out properly: keep its changes made in safe mode.
    Leave,
    /// Close the connection after all output is sent.
    Close,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stranger,
    /// Waiting for the owner to check the password.
    Asking,
    User,
    Closed,
}

/// A running command.
#[derive(Debug)]
struct Running {
    tag: Vec<u8>,
    /// True if the client cancelled the command: only its end is still reported.
    cancelled: bool,
}

/// An API connection.
#[derive(Debug)]
pub struct Connection {
    decoder: Decoder,
    state: State,
    challenge: [u8; 16],
    tries: u32,
    /// The tag of the pending login.
    asking: Vec<u8>,
    running: BTreeMap<u64, Running>,
    next: u64,
    says_empty: bool,
}

impl Connection {
    /// Creates a connection before login. `challenge` is a random value for the login of old versions.
    /// `says_empty` selects whether `print` without rows is answered by `!empty`.
    pub const fn new(challenge: [u8; 16], says_empty: bool) -> Self {
        Self {
            decoder: Decoder::new(Limits::STRANGER),
            state: State::Stranger,
            challenge,
            tries: 0,
            asking: Vec::new(),
            running: BTreeMap::new(),
            next: 0,
            says_empty,
        }
    }

    /// Handles received bytes. After a login the owner calls it again, possibly without bytes, to handle input
    /// that arrived after the login.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<Action>) {
        self.decoder.push(bytes);
        while matches!(self.state, State::Stranger | State::User) {
            match self.decoder.sentence() {
                Ok(Some(words)) => self.sentence(&Sentence::read(&words), out),
                Ok(None) => return,
                Err(DecodeError::Control) => self.fatal("control byte in sentence", out),
                Err(DecodeError::TooLong) => self.fatal("too long sentence", out),
            }
        }
    }

    fn sentence(&mut self, sentence: &Sentence, out: &mut Vec<Action>) {
        match (self.state, sentence.request.path.as_str()) {
            (state, "/quit") => {
                // RouterOS: keeps changes made in safe mode, as `/quit` in the console does; a lost connection
                // reverts them.
                if state == State::User {
                    out.push(Action::Leave);
                }
                self.fatal("session terminated on request", out);
            }
            (State::Stranger, "/login") => self.login(sentence, out),
            (State::Stranger, _) => self.fatal("not logged in", out),
            (_, "/login") => {
                trap(Some(5), "already logged in", &sentence.tag, out);
                done(None, &sentence.tag, out);
            }
            (_, "/cancel") => self.cancel(sentence, out),
            _ => self.run(sentence, out),
        }
    }

    fn login(&mut self, sentence: &Sentence, out: &mut Vec<Action>) {
        let name = sentence.attribute("name");
        let Some(name) = name else {
            // The login of versions before 6.43 begins with a request for a challenge.
            let digits: String = self.challenge.iter().map(|b| format!("{b:02x}")).collect();
            return done(Some(&digits), &sentence.tag, out);
        };
        self.tries += 1;
        if self.tries > TRIES {
            return self.fatal("too many login attempts", out);
        }
        self.state = State::Asking;
        self.asking.clone_from(&sentence.tag);
        let digest = sentence.attribute("response").is_some();
        let password = sentence.attribute("password").unwrap_or_default();
        out.push(Action::Login {
            name: name.to_owned(),
            password: (!digest).then(|| bytes::to_bytes(password)),
        });
    }

    /// Reports whether the login was accepted.
    pub fn admitted(&mut self, is_user: bool, out: &mut Vec<Action>) {
        if self.state != State::Asking {
            return;
        }
        let tag = std::mem::take(&mut self.asking);
        if is_user {
            self.state = State::User;
            self.decoder.set_limits(Limits::USER);
        } else {
            self.state = State::Stranger;
            let text = "invalid user name or password (6)";
            trap(None, text, &tag, out);
        }
        done(None, &tag, out);
    }

    fn run(&mut self, sentence: &Sentence, out: &mut Vec<Action>) {
        if self.running.len() >= RUNNING {
            trap(Some(5), "too many commands are running", &sentence.tag, out);
            return done(None, &sentence.tag, out);
        }
        let number = self.next;
        self.next += 1;
        let running = Running {
            tag: sentence.tag.clone(),
            cancelled: false,
        };
        self.running.insert(number, running);
        out.push(Action::Run {
            number,
            tag: sentence.tag.clone(),
            request: sentence.request.clone(),
        });
    }

    /// Cancels the commands with a tag, or all commands.
    fn cancel(&mut self, sentence: &Sentence, out: &mut Vec<Action>) {
        let tag = sentence.attribute("tag").map(bytes::to_bytes);
        for (number, running) in &mut self.running {
            let meant = tag.as_ref().is_none_or(|tag| *tag == running.tag);
            if meant && !running.cancelled {
                running.cancelled = true;
                trap(Some(2), "interrupted", &running.tag, out);
                out.push(Action::Stop(*number));
            }
        }
        done(None, &sentence.tag, out);
    }

    /// True if the rows of a command are still to be sent.
    pub fn wants(&self, number: u64) -> bool {
        let running = self.running.get(&number);
        self.state == State::User && running.is_some_and(|running| !running.cancelled)
    }

    /// Reports the end of a command.
    pub fn ended(&mut self, number: u64, ended: &Result<Done, Refusal>, out: &mut Vec<Action>) {
        let Some(running) = self.running.remove(&number) else {
            return;
        };
        let tag = &running.tag;
        if running.cancelled || self.state == State::Closed {
            return done(None, tag, out);
        }
        match ended {
            Ok(Done::Nothing) => done(None, tag, out),
            Ok(Done::Empty) => {
                if self.says_empty {
                    let mut bytes = Vec::new();
                    Reply::Empty.encode(tag, &mut bytes);
                    out.push(Action::Send(bytes));
                }
                done(None, tag, out);
            }
            Ok(Done::Ret(value)) => done(Some(value), tag, out),
            Err(refusal) => {
                trap(category(&refusal.reason), &message(refusal), tag, out);
                done(None, tag, out);
            }
        }
    }

    fn fatal(&mut self, reason: &str, out: &mut Vec<Action>) {
        self.state = State::Closed;
        let mut bytes = Vec::new();
        Reply::Fatal(reason).encode(b"", &mut bytes);
        out.push(Action::Send(bytes));
        out.extend(self.running.keys().map(|number| Action::Stop(*number)));
        out.push(Action::Close);
    }

    /// True after a successful login.
    pub const fn is_user(&self) -> bool {
        matches!(self.state, State::User)
    }
}

/// Returns the text of a refusal for API clients.
pub(crate) fn message(refusal: &Refusal) -> String {
    match &refusal.reason {
        // RouterOS: `missing =address=`.
        Reason::Missing(names) => {
            let names: Vec<_> = names.iter().map(|name| format!("={name}=")).collect();
            format!("missing {}", names.join(" "))
        }
        Reason::BadCommand(_) => String::from("no such command"),
        _ => refusal.to_string(),
    }
}

/// Returns the error category; `None` for the general category, which is not sent.
fn category(reason: &Reason) -> Option<u8> {
    Some(reason.category()).filter(|category| *category < 4)
}

fn trap(category: Option<u8>, text: &str, tag: &[u8], out: &mut Vec<Action>) {
    let mut bytes = Vec::new();
    Reply::Trap(category, text).encode(tag, &mut bytes);
    out.push(Action::Send(bytes));
}

fn done(value: Option<&str>, tag: &[u8], out: &mut Vec<Action>) {
    let mut bytes = Vec::new();
    Reply::Done(value).encode(tag, &mut bytes);
    out.push(Action::Send(bytes));
}

#[cfg(test)]
mod tests;
