//! Deliveries of `/tool/e-mail`, one thread each. Control bounds their number; `service::smtp` is the SMTP
//! client.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use certificate::Check;
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;
use netio::Waker;
use router::{Instance, Letter, Sent, Tls, bare_address};
use script::{Interrupt, NameQuery};
use service::smtp::{Client, LINE_MAX, Mail, Next};

use crate::host::HostPlane;
use crate::inlet::outgoing::ConnectionParameters;
use crate::run::shared::Shared;
use router::tls;

/// Timeout of one reply (RFC 5321, 4.5.3.2, asks for minutes), and of a delivery.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_DURATION: Duration = Duration::from_secs(900);

/// Running deliveries.
pub(crate) struct Mails {
    host: Option<Arc<HostPlane>>,
    sender: Sender<Sent>,
    results: Receiver<Sent>,
    /// Wakes the control thread.
    wake: Waker,
}

impl Mails {
    /// Creates the set of deliveries, which use the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (sender, results) = channel();
        Self {
            host,
            sender,
            results,
            wake,
        }
    }

    /// Reports results to control, and starts waiting deliveries without blocking.
    pub(crate) fn follow(&self, shared: &Arc<Shared>, instance: &mut Instance) {
        self.results
            .try_iter()
            .for_each(|sent| instance.mail_sent(sent));
        for letter in instance.take_letters() {
            let (shared, host) = (Arc::clone(shared), self.host.clone());
            let (sender, wake, subject) = (
                self.sender.clone(),
                self.wake.clone(),
                letter.subject.clone(),
            );
            let begun = thread::Builder::new()
                .name("mail".to_owned())
                .spawn(move || {
                    let mut sending = Sending {
                        shared: &shared,
                        host: host.as_deref(),
                        letter: &letter,
                        until: Instant::now() + MAX_DURATION,
                        interrupt: Interrupt::default(),
                        address: None,
                    };
                    let end = sending.send();
                    let (subject, address) = (letter.subject.clone(), sending.address);
                    let _ = sender.send(Sent {
                        subject,
                        address,
                        end,
                    });
                    wake.wake();
                });
            if let Err(error) = begun {
                instance.mail_sent(Sent {
                    subject,
                    address: None,
                    end: Err(error.to_string()),
                });
            }
        }
    }
}

/// A delivery in progress.
struct Sending<'a> {
    shared: &'a Shared,
    host: Option<&'a HostPlane>,
    letter: &'a Letter,
    until: Instant,
    /// Nothing interrupts it: it has a time limit.
    interrupt: Interrupt,
    address: Option<IpAddr>,
}

/// A connection, with or without TLS.
trait Wire: Read + Write {}

impl<T: Read + Write> Wire for T {}

impl Sending<'_> {
    fn send(&mut self) -> Result<(), String> {
        let server = &self.letter.server;
        let to = self.resolve()?;
        self.address = Some(to);
        let parameters = ConnectionParameters {
            host: self.host,
            source: None,
            until: self.until,
            patience: REPLY_TIMEOUT,
            interrupt: &self.interrupt,
        };
        let stream = parameters.connect(SocketAddr::new(to, server.port))?;
        let words = |error: std::io::Error| error.to_string();
        let again = stream.try_clone().map_err(words)?;
        let is_secured = server.tls == Tls::Yes;
        let mut client = Client::new(mail(self.letter)?, is_secured);
        let mut wire: Box<dyn Wire + '_> = match is_secured {
            true => Box::new(self.secure(&parameters, stream)?),
            false => Box::new(parameters.plain(stream)),
        };
        let mut again = Some(again);
        let mut waiting = Vec::new();
        loop {
            let line = read_line(&mut wire, &mut waiting)?;
            match client.handle(&line)? {
                Next::Wait => {}
                Next::Send(bytes) => say(&mut wire, &bytes)?,
                Next::StartTls => {
                    if !waiting.is_empty() {
                        return Err("the server sent data before TLS was established".to_owned());
                    }
                    let stream = again.take().ok_or("TLS has begun already")?;
                    wire = Box::new(self.secure(&parameters, stream)?);
                    say(&mut wire, &client.secured())?;
                }
                Next::Done(bytes) => {
                    // The server has accepted the mail: errors of the farewell do not matter.
                    let _ = say(&mut wire, &bytes);
                    return Ok(());
                }
            }
        }
    }

    fn secure<'r>(
        &self,
        parameters: &ConnectionParameters<'r>,
        stream: TcpStream,
    ) -> Result<crate::inlet::outgoing::Secured<'r>, String> {
        let server = &self.letter.server;
        let trust = self.shared.lock().trust();
        let config = tls::client(&trust, "email", Check::of(&server.check))?;
        parameters.secured(stream, &server.host, config)
    }

    fn resolve(&self) -> Result<IpAddr, String> {
        let name = &self.letter.server.host;
        if let Ok(address) = name.parse() {
            return Ok(address);
        }
        let asked = NameQuery {
            name,
            families: &[true, false],
            server: None,
        };
        let found = crate::inlet::resolve::resolve(self.shared, self.host, &asked, &self.interrupt);
        let found = found.map_err(|reason| reason.to_string())?;
        found
            .first()
            .copied()
            .ok_or_else(|| "no address".to_owned())
    }
}

fn say(wire: &mut dyn Wire, bytes: &[u8]) -> Result<(), String> {
    let said = wire.write_all(bytes).and_then(|()| wire.flush());
    said.map_err(|error| error.to_string())
}

/// Reads a line without its end; keeps further bytes in `waiting`.
fn read_line(wire: &mut dyn Wire, waiting: &mut Vec<u8>) -> Result<Vec<u8>, String> {
    loop {
        if let Some(at) = waiting.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<_> = waiting.drain(..=at).collect();
            line.pop();
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(line);
        }
        if waiting.len() > LINE_MAX {
            return Err("the server does not speak SMTP".to_owned());
        }
        let mut bytes = [0; 512];
        match wire.read(&mut bytes).map_err(|error| error.to_string())? {
            0 => return Err("the server has closed the connection".to_owned()),
            count => waiting.extend(&bytes[..count]),
        }
    }
}

/// Builds the mail for the SMTP client.
fn mail(letter: &Letter) -> Result<Mail, String> {
    let bare = |all: &[String]| {
        all.iter()
            .map(|one| bare_address(one).to_owned())
            .collect::<Vec<_>>()
    };
    let addresses = |all: &[String]| Address::from(bare(all));
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let host = host_of(&letter.host);
    let from = bare_address(&letter.from).to_owned();
    let name = letter
        .from
        .split_once('<')
        .map_or("", |(name, _)| name.trim());
    let mut message = MessageBuilder::new()
        .from((menu::visible(name).into_owned(), from.clone()))
        .to(addresses(&letter.to))
        .subject(menu::visible(&letter.subject).into_owned())
        .date(i64::try_from(now.as_secs()).unwrap_or_default())
        .message_id(format!(
            "{}.{:x}@{host}",
            now.as_nanos(),
            std::process::id()
        ))
        .text_body(letter.body.as_str());
    if !letter.copies.is_empty() {
        message = message.cc(addresses(&letter.copies));
    }
    for (name, bytes) in &letter.files {
        let leaf = name.rsplit('/').next().unwrap_or(name);
        let leaf = menu::visible(leaf).into_owned();
        message = message.attachment("application/octet-stream", leaf, bytes.as_slice());
    }
    let bytes = message.write_to_vec().map_err(|error| error.to_string())?;
    let mut to = bare(&letter.to);
    to.extend(bare(&letter.copies));
    Ok(Mail {
        host,
        from,
        to,
        user: letter.server.user.clone(),
        starttls: letter.server.tls == Tls::StartTls,
        bytes,
    })
}

/// Returns the router's name, restricted to characters of host names.
fn host_of(name: &str) -> String {
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || "-.".contains(*letter);
    let host: String = name.chars().filter(fits).collect();
    match host.is_empty() {
        true => "router".to_owned(),
        false => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_mail_makes_lines_of_its_head() {
        let letter = Letter {
            host: "my router".to_owned(),
            from: "Router\r\nX: y <router@example.org>".to_owned(),
            to: vec!["noc@example.org".to_owned()],
            subject: "all well\r\nBcc: eve@example.org".to_owned(),
            body: "hello".to_owned(),
            files: vec![("dir/a\r\nX: y.txt".to_owned(), b"data".to_vec())],
            ..Letter::default()
        };

        let mail = mail(&letter).expect("a mail");

        let text = String::from_utf8(mail.bytes).expect("it is text");
        let bad = |line: &str| line.starts_with("X:") || line.starts_with("Bcc:");
        assert!(!text.lines().any(bad), "{text}");
        assert!(
            text.contains("hello") && text.contains("ZGF0YQ=="),
            "{text}"
        );
        assert_eq!(
            (&*mail.host, &*mail.from),
            ("myrouter", "router@example.org")
        );
    }
}
