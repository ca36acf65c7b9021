//! SMTP client that sends one e-mail (RFC 5321), with STARTTLS (RFC 3207) and AUTH (RFC 4954).
//!
//! ```text
//! greeting ─▶ EHLO ─▶ (STARTTLS ─▶ EHLO) ─▶ (AUTH) ─▶ MAIL ─▶ RCPT … ─▶ DATA ─▶ the mail ─▶ QUIT
//! ```
//! The owner holds the connection: it passes each received line to [`Client::handle`] and carries out the result.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Maximum number of lines in a reply.
const LINES: usize = 100;
/// Maximum line length in bytes (RFC 5321, 4.5.3.1.5, and what servers send in practice).
pub const LINE_MAX: usize = 2_048;

/// E-mail with its envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    /// Host name for EHLO.
    pub host: String,
    /// Envelope sender; may be empty.
    pub from: String,
    /// Envelope recipients.
    pub to: Vec<String>,
    /// User and password for AUTH.
    pub user: Option<(String, String)>,
    /// Require STARTTLS.
    pub starttls: bool,
    /// Message with headers; lines end with CR LF.
    pub bytes: Vec<u8>,
}

/// Next step of the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for more lines.
    Wait,
    /// Send these bytes.
    Send(Vec<u8>),
    /// Start TLS; discard received bytes that were not handled yet, because they may be forged. Then send what
    /// [`Client::secured`] returns.
    StartTls,
    /// Send these bytes and close: the server accepted the mail.
    Done(Vec<u8>),
}

/// Awaited reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Greeting,
    Ehlo,
    StartTls,
    Plain,
    User,
    Password,
    From,
    To(usize),
    Data,
    Taken,
    Over,
}

/// SMTP client.
#[derive(Clone, Debug)]
pub struct Client {
    mail: Mail,
    state: State,
    secured: bool,
    /// Extensions in the server's EHLO reply.
    starttls: bool,
    plain: bool,
    login: bool,
    lines: usize,
}

fn line(text: &str) -> Next {
    Next::Send(format!("{text}\r\n").into_bytes())
}

/// True if an address is safe in an envelope command.
pub fn is_address(text: &str) -> bool {
    let bad = |letter: char| letter.is_control() || letter == ' ' || letter == '<' || letter == '>';
    text.len() <= 254 && text.contains('@') && !text.contains(bad)
}

impl Client {
    /// Creates a client that waits for the server's greeting. `is_secured` is true if TLS protects the connection
    /// from the start.
    pub fn new(mail: Mail, is_secured: bool) -> Self {
        Self {
            mail,
            state: State::Greeting,
            secured: is_secured,
            starttls: false,
            plain: false,
            login: false,
            lines: 0,
        }
    }

    /// TLS was established: returns a new EHLO (RFC 3207, 4.2).
    pub fn secured(&mut self) -> Vec<u8> {
        self.secured = true;
        self.ehlo()
    }

    /// Handles a received line, without its line end.
    ///
    /// # Errors
    /// Returns a message for users if the server refuses the mail or violates the protocol.
    pub fn handle(&mut self, bytes: &[u8]) -> Result<Next, String> {
        let text = String::from_utf8_lossy(bytes);
        let malformed = || "the server does not speak SMTP".to_owned();
        let code = bytes
            .get(..3)
            .filter(|code| code.iter().all(u8::is_ascii_digit));
        let code = code.and_then(|code| core::str::from_utf8(code).ok()?.parse::<u16>().ok());
        let code = code.ok_or_else(malformed)?;
        let goes_on = match bytes.get(3) {
            Some(b'-') => true,
            Some(b' ') | None => false,
            Some(_) => return Err(malformed()),
        };
        self.lines += 1;
        if self.lines > LINES {
            return Err(malformed());
        }
        if self.state == State::Ehlo && code == 250 {
            self.learn(text.get(4..).unwrap_or_default());
        }
        if goes_on {
            return Ok(Next::Wait);
        }
        self.lines = 0;
        let wanted = match self.state {
            State::Greeting | State::StartTls => 220..=220,
            State::Ehlo | State::From | State::Taken => 250..=250,
            State::To(_) => 250..=251,
            State::User | State::Password => 334..=334,
            State::Plain => 235..=235,
            State::Data => 354..=354,
            State::Over => return Err(malformed()),
        };
        match wanted.contains(&code) {
            true => self.go_on(),
            false => Err(format!("the server says: {}", text.trim_end())),
        }
    }

    /// Reads one EHLO keyword (RFC 5321, 4.1.1.1).
    fn learn(&mut self, keyword: &str) {
        let mut words = keyword
            .split_ascii_whitespace()
            .map(str::to_ascii_uppercase);
        match words.next().as_deref() {
            Some("STARTTLS") => self.starttls = true,
            Some("AUTH") => {
                let methods: Vec<_> = words.collect();
                let has = |name: &str| methods.iter().any(|method| method == name);
                (self.plain, self.login) = (has("PLAIN"), has("LOGIN"));
            }
            _ => {}
        }
    }

    fn ehlo(&mut self) -> Vec<u8> {
        (self.starttls, self.plain, self.login) = (false, false, false);
        self.state = State::Ehlo;
        format!("EHLO {}\r\n", self.mail.host).into_bytes()
    }

    /// Handles a positive reply.
    fn go_on(&mut self) -> Result<Next, String> {
        let (state, next) = match self.state {
            State::Greeting => return Ok(Next::Send(self.ehlo())),
            State::Ehlo if self.mail.starttls && !self.secured => match self.starttls {
                true => (State::StartTls, line("STARTTLS")),
                false => return Err("the server does not offer STARTTLS".to_owned()),
            },
            State::StartTls => return Ok(Next::StartTls),
            State::Ehlo => return self.log_in(),
            State::User => {
                let user = self.mail.user.as_ref().map_or("", |(user, _)| user);
                (State::Password, line(&base64(user.as_bytes())))
            }
            State::Password => {
                let password = self.mail.user.as_ref().map_or("", |(_, password)| password);
                (State::Plain, line(&base64(password.as_bytes())))
            }
            State::Plain => self.mail_from(),
            State::From => self.rcpt_to(0),
            State::To(at) => self.rcpt_to(at + 1),
            State::Data => (State::Taken, Next::Send(stuffed(&self.mail.bytes))),
            State::Taken | State::Over => (State::Over, Next::Done(b"QUIT\r\n".to_vec())),
        };
        self.state = state;
        Ok(next)
    }

    fn log_in(&mut self) -> Result<Next, String> {
        let (state, next) = match &self.mail.user {
            None => self.mail_from(),
            Some((user, password)) if self.plain => {
                let proof = base64(format!("\0{user}\0{password}").as_bytes());
                (State::Plain, line(&format!("AUTH PLAIN {proof}")))
            }
            Some(_) if self.login => (State::User, line("AUTH LOGIN")),
            Some(_) => return Err("the server takes no user by PLAIN or LOGIN".to_owned()),
        };
        self.state = state;
        Ok(next)
    }

    fn mail_from(&self) -> (State, Next) {
        let from = format!("MAIL FROM:<{}>", self.mail.from);
        (State::From, line(&from))
    }

    fn rcpt_to(&self, at: usize) -> (State, Next) {
        match self.mail.to.get(at) {
            Some(to) => (State::To(at), line(&format!("RCPT TO:<{to}>"))),
            None => (State::Data, line("DATA")),
        }
    }
}

/// Encodes the message for DATA: doubles leading dots and appends the final dot (RFC 5321, 4.5.2).
fn stuffed(mail: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(mail.len() + 64);
    for part in mail.split_inclusive(|byte| *byte == b'\n') {
        if part.starts_with(b".") {
            out.push(b'.');
        }
        match part.strip_suffix(b"\n") {
            // A bare line feed does not end a line (RFC 5321, 2.3.8).
            Some(bare) if !bare.ends_with(b"\r") => {
                out.extend_from_slice(bare);
                out.extend_from_slice(b"\r\n");
            }
            _ => out.extend_from_slice(part),
        }
    }
    if !out.ends_with(b"\r\n") {
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b".\r\n");
    out
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail() -> Mail {
        Mail {
            host: "router".to_owned(),
            from: "router@example.org".to_owned(),
            to: vec!["noc@example.org".to_owned(), "two@example.org".to_owned()],
            user: None,
            starttls: false,
            bytes: b"Subject: x\r\n\r\n.dot\r\nend".to_vec(),
        }
    }

    /// Sent lines for these replies; `TLS` marks the start of TLS.
    fn talk(client: &mut Client, answers: &str) -> Vec<String> {
        let mut said = Vec::new();
        for answer in answers.split('|') {
            match client.handle(answer.as_bytes()) {
                Ok(Next::Wait) => {}
                Ok(Next::Send(bytes)) => said.push(String::from_utf8(bytes).expect("text")),
                Ok(Next::Done(bytes)) => {
                    said.push(String::from_utf8(bytes).expect("text"));
                    said.push("over".to_owned());
                }
                Ok(Next::StartTls) => {
                    said.push("TLS".to_owned());
                    said.push(String::from_utf8(client.secured()).expect("text"));
                }
                Err(why) => said.push(why),
            }
        }
        said.iter().map(|said| said.trim_end().to_owned()).collect()
    }

    #[test]
    fn a_mail_is_sent_with_dot_stuffing() {
        let mut client = Client::new(mail(), false);

        let said = talk(
            &mut client,
            "220-hello|220 there|250-mx|250 SIZE 1000|250 ok|250 ok|251 will forward|354 go|250 taken",
        );

        assert_eq!(
            said,
            [
                "EHLO router",
                "MAIL FROM:<router@example.org>",
                "RCPT TO:<noc@example.org>",
                "RCPT TO:<two@example.org>",
                "DATA",
                "Subject: x\r\n\r\n..dot\r\nend\r\n.",
                "QUIT",
                "over"
            ]
        );
        assert!(client.handle(b"250 more").is_err());
    }

    #[test]
    fn the_password_is_sent_after_starttls_only_and_earlier_capabilities_are_discarded() {
        let mut wanted = mail();
        wanted.starttls = true;
        wanted.user = Some(("joe".to_owned(), "secret".to_owned()));
        let mut client = Client::new(wanted.clone(), false);

        let said = talk(
            &mut client,
            "220 hello|250-mx|250-AUTH PLAIN|250 STARTTLS|220 go|250-mx|250 auth LOGIN|334 x|334 y|235 yes",
        );

        assert_eq!(
            said,
            [
                "EHLO router",
                "STARTTLS",
                "TLS",
                "EHLO router",
                "AUTH LOGIN",
                "am9l",
                "c2VjcmV0",
                "MAIL FROM:<router@example.org>"
            ]
        );
        let mut client = Client::new(wanted.clone(), false);
        let said = talk(&mut client, "220 hello|250-mx|250 AUTH PLAIN");
        assert_eq!(
            said.last().map(String::as_str),
            Some("the server does not offer STARTTLS")
        );
        wanted.starttls = false;
        let mut client = Client::new(wanted, true);
        let said = talk(&mut client, "220 hello|250-mx|250 AUTH PLAIN LOGIN|535 no");
        assert_eq!(
            said[1..],
            ["AUTH PLAIN AGpvZQBzZWNyZXQ=", "the server says: 535 no"]
        );
    }

    #[test]
    fn an_invalid_server_reply_ends_the_session() {
        for answer in ["", "22", "abc hello", "220x", "250 too early", "220\u{e9}"] {
            let mut client = Client::new(mail(), false);
            assert!(client.handle(answer.as_bytes()).is_err(), "{answer}");
        }
        let mut client = Client::new(mail(), false);
        let endless = (0..=LINES).map(|_| client.handle(b"220-again")).last();
        assert!(endless.is_some_and(|last| last.is_err()));
    }

    #[test]
    fn special_characters_in_an_address_are_refused() {
        assert!(is_address("noc@example.org"));
        for bad in ["noc", "a@b>\r\nRCPT TO:<c@d", "a b@c", "<a@b>"] {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
