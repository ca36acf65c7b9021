//! `/tool/e-mail`: queued mails and the result of the last one. The owner has the connections: it
//! takes mails ([`crate::Instance::take_letters`]) and reports results.

use core::net::IpAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use menu::{Changes, Id, Item, Menu, Reason, Row, Value};
use service::smtp;

use super::{Effects, Feature, View};
use crate::drive::log::{Log, LogMail};

pub(crate) const MAIL: &str = "/tool/e-mail";
/// Maximum number of queued mails, their total bytes, and the number of mails sent at a time.
const WAITING: usize = 100;
const BYTES: usize = 64 << 20;
const AT_ONCE: usize = 4;

/// Protection of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// None.
    #[default]
    No,
    /// TLS after the server's greeting (RFC 3207).
    StartTls,
    /// TLS from the start (RFC 8314, 3.3).
    Yes,
}

impl Tls {
    /// Parses a word of `tls`.
    pub(crate) fn of(word: &str) -> Self {
        match word {
            "starttls" => Self::StartTls,
            "yes" | "tls-only" => Self::Yes,
            _ => Self::No,
        }
    }
}

/// A mail server, and how to connect to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Address or name.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Protection of the connection.
    pub tls: Tls,
    /// Extent of the certificate check: a word of `certificate-verification`.
    pub check: String,
    /// User and password; `None` skips authentication.
    pub user: Option<(String, String)>,
}

/// A mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    /// Mail server.
    pub server: Server,
    /// Name of this router.
    pub host: String,
    /// Sender.
    pub from: String,
    /// Recipients.
    pub to: Vec<String>,
    /// Recipients of copies.
    pub copies: Vec<String>,
    /// Subject.
    pub subject: String,
    /// Text.
    pub body: String,
    /// Attached files: names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Result of a mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Subject of the mail.
    pub subject: String,
    /// Address of the server, if it was resolved.
    pub address: Option<IpAddr>,
    /// The error, in words.
    pub end: Result<(), String>,
}

/// Queued mails, and the state of the last mail.
#[derive(Debug, Default)]
pub(crate) struct Mails {
    settings: Option<Arc<Item>>,
    waiting: VecDeque<Letter>,
    under_way: usize,
    status: Option<&'static str>,
    address: Option<IpAddr>,
}

/// Returns the bare mail address of a sender or recipient: the text inside angle brackets,
/// otherwise the whole text.
pub fn bare(text: &str) -> &str {
    let inner = text
        .split_once('<')
        .and_then(|(_, rest)| rest.split_once('>'));
    inner.map_or(text, |(inner, _)| inner).trim()
}

impl Letter {
    fn bytes(&self) -> usize {
        self.body.len()
            + self
                .files
                .iter()
                .map(|(_, bytes)| bytes.len())
                .sum::<usize>()
    }

    /// Returns a mail with the values of the settings.
    pub(crate) fn of(settings: &Item) -> Self {
        let text = |name: &str| settings.text(name).to_owned();
        let shown = |name: &str| {
            settings
                .get(name)
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        let port = settings
            .number("port")
            .and_then(|port| u16::try_from(port).ok());
        Self {
            server: Server {
                host: shown("server"),
                port: port.unwrap_or(25),
                tls: Tls::of(settings.text("tls")),
                check: text("certificate-verification"),
                user: Some((text("user"), text("password"))).filter(|(user, _)| !user.is_empty()),
            },
            from: text("from"),
            ..Self::default()
        }
    }

    /// Refuses mails that no server would accept.
    fn check(&self) -> Result<(), Reason> {
        let host = &self.server.host;
        if host.is_empty() || host.parse().is_ok_and(|host: IpAddr| host.is_unspecified()) {
            return Err(Reason::failure("no mail server is set"));
        }
        let from = bare(&self.from);
        if !from.is_empty() && !smtp::is_address(from) {
            return Err(Reason::no_match("from"));
        }
        let wrong = |to: &String| !smtp::is_address(bare(to));
        if self.to.is_empty() || self.to.iter().any(wrong) {
            return Err(Reason::no_match("to"));
        }
        match self.copies.iter().any(wrong) {
            true => Err(Reason::no_match("cc")),
            false => Ok(()),
        }
    }
}

impl Mails {
    /// Queues a mail.
    ///
    /// # Errors
    ///
    /// The mail is invalid, or the queue is full.
    pub(crate) fn send(&mut self, letter: Letter) -> Result<(), Reason> {
        letter.check()?;
        let waiting: usize = self.waiting.iter().map(Letter::bytes).sum();
        if self.waiting.len() >= WAITING || waiting + letter.bytes() > BYTES {
            return Err(Reason::failure("too many mails wait to be sent"));
        }
        self.waiting.push_back(letter);
        self.status = Some("in-progress");
        Ok(())
    }

    /// Returns the mails to send now, including mails of the log.
    pub(crate) fn take(&mut self, log: &mut Log, name: &str) -> Vec<Letter> {
        if self.under_way >= AT_ONCE {
            return Vec::new();
        }
        for mail in log.take_mails() {
            if let Err(why) = self.send_log(mail, name) {
                log.add("e-mail,error", format!("log entries are lost: {why}"));
            }
        }
        let most = AT_ONCE
            .saturating_sub(self.under_way)
            .min(self.waiting.len());
        let mut letters: Vec<_> = self.waiting.drain(..most).collect();
        for letter in &mut letters {
            name.clone_into(&mut letter.host);
        }
        self.under_way += letters.len();
        letters
    }

    fn send_log(&mut self, mail: LogMail, name: &str) -> Result<(), Reason> {
        let settings = self.settings.as_deref();
        let mut letter = Letter::of(settings.ok_or(Reason::NoItem)?);
        if mail.starttls {
            letter.server.tls = Tls::StartTls;
        }
        letter.to = mail.to;
        letter.copies = mail.copies;
        letter.subject = format!("log of {name}");
        letter.body = mail
            .lines
            .iter()
            .map(|line| format!("{line}\r\n"))
            .collect();
        self.send(letter)
    }

    /// Handles the result of a mail.
    pub(crate) fn sent(&mut self, sent: Sent, log: &mut Log) {
        self.under_way = self.under_way.saturating_sub(1);
        self.address = sent.address.or(self.address);
        self.status = Some(match sent.end {
            Ok(()) => "succeeded",
            Err(why) => {
                // RouterOS uses this text.
                let text = format!("Error sending e-mail <{}>: {why}", sent.subject);
                log.add("e-mail,error", text);
                "failed"
            }
        });
    }
}

impl Feature for Mails {
    fn menus(&self) -> &'static [&'static str] {
        &[MAIL]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        self.settings = view.store.settings(MAIL).cloned();
    }

    fn annotate(&self, _: &'static Menu, _: Id, row: &mut Row) {
        row.set("last-status", Value::Word(self.status.unwrap_or("none")));
        if let Some(address) = self.address {
            row.set("last-address", Value::Address(address));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter() -> Letter {
        Letter {
            server: Server {
                host: "mail.example.org".to_owned(),
                port: 25,
                ..Server::default()
            },
            from: "Router <router@example.org>".to_owned(),
            to: vec!["noc@example.org".to_owned()],
            ..Letter::default()
        }
    }

    #[test]
    fn concurrent_and_waiting_mails_are_limited() {
        let clock = crate::DayClock::new(menu::Clock::utc(0));
        let (mut mails, mut log) = (Mails::default(), Log::new(clock));
        for _ in 0..WAITING {
            mails.send(letter()).expect("there is room");
        }
        assert!(mails.send(letter()).is_err());
        assert_eq!(mails.take(&mut log, "router").len(), AT_ONCE);
        assert!(mails.take(&mut log, "router").is_empty());
        let sent = |end| Sent {
            subject: String::new(),
            address: None,
            end,
        };
        mails.sent(sent(Err("no".to_owned())), &mut log);
        assert_eq!(mails.status, Some("failed"));
        mails.sent(sent(Ok(())), &mut log);
        assert_eq!(mails.status, Some("succeeded"));
        assert_eq!(mails.take(&mut log, "router").len(), 2);
    }

    #[test]
    fn mails_with_invalid_addresses_are_refused() {
        type Change = fn(&mut Letter);
        let changes: [Change; 5] = [
            |letter| letter.server.host = "0.0.0.0".to_owned(),
            |letter| letter.to.clear(),
            |letter| letter.to.push("a@b>\r\nRCPT TO:<c@d".to_owned()),
            |letter| letter.copies.push("nobody".to_owned()),
            |letter| letter.from = "a b@c".to_owned(),
        ];
        for change in changes {
            let mut letter = letter();
            change(&mut letter);
            assert!(Mails::default().send(letter).is_err());
        }
        let mut letter = letter();
        letter.from = "<>".to_owned();
        assert!(Mails::default().send(letter).is_ok());
    }
}
