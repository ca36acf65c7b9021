//! Gives mails of `/tool/e-mail` to servers, each in a thread for as long as that takes. How many there are, control
//! decides; `service::smtp` knows what is said.

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
use script::{Asked, Interrupt};
use service::smtp::{Client, LINE_MAX, Mail, Next};

use crate::core::Shared;
use crate::host::HostPlane;
use crate::outgoing::Road;
use crate::trust;

/// How long one answer may take (RFC 5321, 4.5.3.2 asks for minutes), and all of it.
const PATIENCE: Duration = Duration::from_secs(120);
const LONGEST: Duration = Duration::from_secs(900);

/// See the module.
pub(crate) struct Mails {
    host: Option<Arc<HostPlane>>,
    tell: Sender<Sent>,
    told: Receiver<Sent>,
    /// Wakes the control thread.
    wake: Waker,
}

impl Mails {
    /// Sends from the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            host,
            tell,
            told,
            wake,
        }
    }

    /// Tells control what came of mails, and begins with those that wait. It waits for nothing.
    pub(crate) fn follow(&self, shared: &Arc<Shared>, instance: &mut Instance) {
        self.told
            .try_iter()
            .for_each(|sent| instance.mail_sent(sent));
        for letter in instance.take_letters() {
            let (shared, host) = (Arc::clone(shared), self.host.clone());
            let (tell, wake, subject) =
                (self.tell.clone(), self.wake.clone(), letter.subject.clone());
            let begun = thread::Builder::new()
                .name("mail".to_owned())
                .spawn(move || {
                    let mut sending = Sending {
                        shared: &shared,
                        host: host.as_deref(),
                        letter: &letter,
                        until: Instant::now() + LONGEST,
                        interrupt: Interrupt::default(),
                        address: None,
                    };
                    let end = sending.send();
                    let (subject, address) = (letter.subject.clone(), sending.address);
                    let _ = tell.send(Sent {
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

/// A mail on its way.
struct Sending<'a> {
    shared: &'a Shared,
    host: Option<&'a HostPlane>,
    letter: &'a Letter,
    until: Instant,
    /// Nobody stops it: it ends by itself.
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
        let road = Road {
            host: self.host,
            source: None,
            until: self.until,
            patience: PATIENCE,
            interrupt: &self.interrupt,
        };
        let stream = road.connect(SocketAddr::new(to, server.port))?;
        let words = |error: std::io::Error| error.to_string();
        let again = stream.try_clone().map_err(words)?;
        let is_secured = server.tls == Tls::Yes;
        let mut client = Client::new(mail(self.letter)?, is_secured);
        let mut wire: Box<dyn Wire + '_> = match is_secured {
            true => Box::new(self.secure(&road, stream)?),
            false => Box::new(road.plain(stream)),
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
                        return Err("the server speaks before TLS has begun".to_owned());
                    }
                    let stream = again.take().ok_or("TLS has begun already")?;
                    wire = Box::new(self.secure(&road, stream)?);
                    say(&mut wire, &client.secured())?;
                }
                Next::Done(bytes) => {
                    // It has the mail: what follows is a courtesy.
                    let _ = say(&mut wire, &bytes);
                    return Ok(());
                }
            }
        }
    }

    fn secure<'r>(
        &self,
        road: &Road<'r>,
        stream: TcpStream,
    ) -> Result<crate::outgoing::Secured<'r>, String> {
        let server = &self.letter.server;
        let trust = self.shared.lock().trust();
        let config = trust::client(&trust, "email", Check::of(&server.check))?;
        road.secured(stream, &server.host, config)
    }

    fn resolve(&self) -> Result<IpAddr, String> {
        let name = &self.letter.server.host;
        if let Ok(address) = name.parse() {
            return Ok(address);
        }
        let asked = Asked {
            name,
            families: &[true, false],
            server: None,
        };
        let found = crate::resolve::resolve(self.shared, self.host, &asked, &self.interrupt);
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

/// A line without its end; what is behind it waits.
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

/// What the server is given.
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

/// The router's name as far as it can be the name of a host.
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
