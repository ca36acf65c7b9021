//! A connection of the binary API from login to its end: which commands run, and what is said of
//! them. Whoever owns it carries the bytes, checks passwords and runs the commands.

use std::collections::BTreeMap;

use menu::{Reason, Refusal, bytes};
use script::{Done, Request};

use crate::sentence::{Reply, Sentence};
use crate::word::{Broken, Decoder, Limits};

/// How many commands run at a time on one connection.
pub const RUNNING: usize = 64;

/// How often a connection may try to log in.
const TRIES: u32 = 10;

/// What the owner of a connection is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send these bytes.
    Send(Vec<u8>),
    /// Find out whether this is a user, and call [`Connection::admitted`]; nothing else is read
    /// until then.
    Login {
        /// The user's name.
        name: String,
        /// The password; none where only a digest of it was sent, which proves nothing here.
        password: Option<Vec<u8>>,
    },
    /// Run a command, and call [`Connection::ended`] at its end.
    Run {
        /// The number of the command.
        number: u64,
        /// What its rows are marked with.
        tag: Vec<u8>,
        /// The command.
        request: Request,
    },
    /// Stop a command as soon as possible. It ends as others do.
    Stop(u64),
    /// The peer leaves in order: what it holds in safe mode is kept.
    Leave,
    /// Close, when all is sent.
    Close,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Stranger,
    /// The owner is finding out who it is.
    Asking,
    User,
    Closed,
}

/// A command that runs.
#[derive(Debug)]
struct Running {
    tag: Vec<u8>,
    /// Nothing more is said of it but that it is done.
    cancelled: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    decoder: Decoder,
    state: State,
    challenge: [u8; 16],
    tries: u32,
    /// The tag of the login that the owner is asked about.
    asking: Vec<u8>,
    running: BTreeMap<u64, Running>,
    next: u64,
    says_empty: bool,
}

impl Connection {
    /// A connection of which nothing is known. The challenge is what the login of old versions is
    /// answered; it is random. `says_empty` is whether a `print` without rows is answered `!empty`.
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

    /// Takes bytes from the peer. After a login it is called again, if only with none, for what
    /// came behind it.
    pub fn receive(&mut self, bytes: &[u8], out: &mut Vec<Action>) {
        self.decoder.push(bytes);
        while matches!(self.state, State::Stranger | State::User) {
            match self.decoder.sentence() {
                Ok(Some(words)) => self.sentence(&Sentence::read(&words), out),
                Ok(None) => return,
                Err(Broken::Control) => self.fatal("control byte in sentence", out),
                Err(Broken::TooLong) => self.fatal("too long sentence", out),
            }
        }
    }

    fn sentence(&mut self, sentence: &Sentence, out: &mut Vec<Action>) {
        match (self.state, sentence.request.path.as_str()) {
            (state, "/quit") => {
                // RouterOS: as at the console, unlike a connection that is cut.
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
            // The login of versions before 6.43 begins so.
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

    /// Hears whether the login was right.
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

    /// Stops the commands of a tag, or all.
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

    /// Whether the rows of a command are still wanted.
    pub fn wants(&self, number: u64) -> bool {
        let running = self.running.get(&number);
        self.state == State::User && running.is_some_and(|running| !running.cancelled)
    }

    /// Hears that a command has ended.
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

    /// Whether the peer has proved who it is.
    pub const fn is_user(&self) -> bool {
        matches!(self.state, State::User)
    }
}

/// The text of a refusal as programs are told it.
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

/// The category of a refusal; general ones bear none.
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
