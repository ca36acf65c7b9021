//! Messages for a log server: RouterOS's own format, and BSD syslog (RFC 3164).

use std::net::IpAddr;
use std::sync::Arc;

use menu::{Clock, visible};

use super::Entry;

/// A log server and the message format.
#[derive(Debug)]
pub(super) struct Remote {
    /// Its address, or the name to resolve.
    pub(super) to: Result<IpAddr, Arc<str>>,
    pub(super) name: Arc<str>,
    pub(super) carrier: Carrier,
    pub(super) port: u16,
    pub(super) source: Option<IpAddr>,
    /// Whether facility, severity, time and name precede a message.
    pub(super) syslog: bool,
    /// Whether the time is written as in ISO 8601.
    pub(super) iso: bool,
    /// Whether the topics precede a syslog message, too.
    pub(super) topics: bool,
    pub(super) facility: String,
    /// The severity, or `auto`.
    pub(super) severity: String,
}

/// Transport of log messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// Each in a datagram (RFC 5426).
    Udp,
    /// Each on a line of a connection (RFC 6587, 3.4.2).
    Tcp,
    /// Each behind its length, by TLS (RFC 5425, 4.3).
    Tls {
        /// Whether the server's certificate is verified.
        check: bool,
    },
}

/// A message to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The server.
    pub to: IpAddr,
    /// Configured name or address of the server: the name to verify in its certificate.
    pub name: Arc<str>,
    /// Its port.
    pub port: u16,
    /// Source address, if configured.
    pub source: Option<IpAddr>,
    /// Transport.
    pub carrier: Carrier,
    /// The message.
    pub bytes: Vec<u8>,
}

/// RFC 3164, 4.1: a message has 1,024 bytes at most.
const LONGEST: usize = 1_024;

/// RFC 3164, 4.1.1, in the order of their numbers.
const FACILITIES: [&str; 24] = [
    "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv",
    "ftp", "ntp", "", "", "", "local0", "local1", "local2", "local3", "local4", "local5", "local6",
    "local7",
];
const SEVERITIES: [&str; 8] = [
    "emergency",
    "alert",
    "critical",
    "error",
    "warning",
    "notice",
    "info",
    "debug",
];

impl Remote {
    /// Formats an entry. RouterOS: topics and text; syslog messages contain topics only if configured.
    pub(super) fn message(&self, entry: &Entry, name: &str) -> Vec<u8> {
        // A line break would allow forged messages.
        let (topics, text) = (visible(&entry.topics), visible(&entry.message));
        let whole = match (self.syslog, self.topics) {
            (false, _) => format!("{topics} {text}"),
            (true, topics_too) => {
                let priority = self.priority(&topics);
                let time = match self.iso {
                    true => iso(entry.at),
                    false => bsd(entry.at),
                };
                // A host name is one word (RFC 3164, 4.1.2).
                let name = visible(name).replace(' ', "_");
                match topics_too {
                    true => format!("<{priority}>{time} {name} {topics} {text}"),
                    false => format!("<{priority}>{time} {name} {text}"),
                }
            }
        };
        let mut bytes = menu::bytes::to_bytes(&whole);
        bytes.truncate(LONGEST);
        bytes
    }

    fn priority(&self, topics: &str) -> usize {
        let place = |all: &[&str], word: &str| all.iter().position(|own| *own == word);
        let facility = place(&FACILITIES, &self.facility).unwrap_or(3);
        let of_topics = || {
            let mut known = topics
                .split(',')
                .filter_map(|topic| place(&SEVERITIES, topic));
            known.next().unwrap_or(5)
        };
        let severity = place(&SEVERITIES, &self.severity).unwrap_or_else(of_topics);
        facility * 8 + severity
    }
}

/// `Nov 22 03:04:05` (RFC 3164, 4.1.2).
fn bsd(at: Clock) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let ((_, month, day), seconds) = at.local();
    let month = usize::try_from(month - 1).ok();
    let month = month.and_then(|month| MONTHS.get(month)).unwrap_or(&"Jan");
    format!(
        "{month} {day:>2} {:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// `2026-11-22T03:04:05.678+02:00`.
fn iso(at: Clock) -> String {
    let date_time = at.date_time().replace(' ', "T");
    format!("{date_time}.{:03}{}", at.nanos / 1_000_000, at.offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote() -> Remote {
        Remote {
            to: Ok(std::net::Ipv4Addr::LOCALHOST.into()),
            name: Arc::from("127.0.0.1"),
            carrier: Carrier::Udp,
            port: 514,
            source: None,
            syslog: true,
            iso: false,
            topics: false,
            facility: String::from("daemon"),
            severity: String::from("auto"),
        }
    }

    fn sent(remote: &Remote, text: &str, name: &str) -> String {
        let entry = Entry {
            number: 1,
            at: Clock {
                unix_seconds: 1_793_588_645,
                nanos: 678_000_000,
                offset_seconds: 7_200,
                daylight: false,
            },
            topics: "system,info".into(),
            message: String::from(text),
        };
        String::from_utf8(remote.message(&entry, name)).expect("it is text")
    }

    fn message(change: impl FnOnce(&mut Remote)) -> String {
        let mut remote = remote();
        change(&mut remote);
        sent(&remote, "here I am", "my router")
    }

    #[test]
    fn a_line_break_begins_no_message_of_its_own() {
        let sent = sent(&remote(), "x\n<0>forged\x1b[2J", "a\nb");

        assert!(sent.ends_with(" a\\nb x\\n<0>forged\\1B[2J"), "{sent}");
    }

    #[test]
    fn messages_look_as_servers_expect_them() {
        assert_eq!(message(|r| r.syslog = false), "system,info here I am");
        assert_eq!(message(|_| {}), "<30>Nov  2 05:04:05 my_router here I am");
        assert_eq!(
            message(|r| (r.iso, r.topics) = (true, true)),
            "<30>2026-11-02T05:04:05.678+02:00 my_router system,info here I am"
        );
        assert_eq!(
            message(|r| {
                r.facility = String::from("local7");
                r.severity = String::from("error");
            }),
            "<187>Nov  2 05:04:05 my_router here I am"
        );
    }
}
