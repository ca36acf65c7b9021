//! Data phase of a test, for both ends: counts what arrives; once a second each receiver reports the amount to
//! the sender.
//!
//! A *line* is a TCP connection: each one that carries data, or the control connection of a UDP test. In a UDP
//! test both ends send status messages on the control connection. In a TCP test the receiver sends them on each
//! line, about that line; their sum is the total.

use std::net::IpAddr;

use machine::{Duration, Instant};

use crate::figures::{Figures, Meter};
use crate::finder::Finder;
use crate::flow::Flow;
use crate::inbox::Inbox;
use crate::losses::Losses;
use crate::reason::Reason;
use crate::wire::{self, Command, Protocol, STATUS_LEN, Status};

const SECOND: Duration = Duration::from_secs(1);
/// Time after which a silent peer is gone. A peer sends data or a message on each second.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// Role in a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Client,
    Server,
}

/// A test in its data phase.
#[derive(Debug)]
pub(crate) struct Data {
    protocol: Protocol,
    flow: Option<Flow>,
    receives: bool,
    /// Header bytes per datagram.
    overhead: u16,
    lines: Vec<Line>,
    losses: Losses,
    /// Datagram bytes received in the current second.
    received: u64,
    reports: Reports,
    rx: Meter,
    cpu_percent: u8,
    remote_cpu_percent: Option<u8>,
    /// True after all connections have joined and data may flow.
    is_open: bool,
    began: Instant,
    /// End of the last second.
    last: Instant,
    /// Time of the last second in which bytes arrived on a connection.
    heard: Instant,
    /// True if bytes arrived on a connection in the current second.
    hears: bool,
    second: u32,
}

/// Line and contents of a status message to send.
pub(crate) type Message = (u64, [u8; STATUS_LEN]);

impl Data {
    /// Creates the data phase of a command on its first line. `limit_bps` limits the local sender, 0 means no
    /// limit; `peer` determines the header length of datagrams.
    pub(crate) fn new(
        end: End,
        command: &Command,
        limit_bps: u64,
        peer: IpAddr,
        line: u64,
        now: Instant,
    ) -> Self {
        let direction = command.direction;
        let (sends, receives, size) = match end {
            End::Client => (
                direction.client_sends(),
                direction.server_sends(),
                command.client_size,
            ),
            End::Server => (
                direction.server_sends(),
                direction.client_sends(),
                command.server_size,
            ),
        };
        let overhead = header_len(peer);
        let size = match (size, command.protocol) {
            (0, Protocol::Udp) => wire::UDP_SIZE,
            _ => size,
        };
        let overhead_sent = match command.protocol {
            Protocol::Udp => overhead,
            Protocol::Tcp => 0,
        };
        Self {
            protocol: command.protocol,
            flow: sends.then(|| {
                Flow::new(
                    command.protocol,
                    command.fill,
                    size,
                    overhead_sent,
                    limit_bps,
                    now,
                )
            }),
            receives,
            overhead,
            lines: vec![Line::new(line)],
            losses: Losses::default(),
            received: 0,
            reports: Reports::default(),
            rx: Meter::default(),
            cpu_percent: 0,
            remote_cpu_percent: None,
            is_open: false,
            began: now,
            last: now,
            heard: now,
            hears: false,
            second: 0,
        }
    }

    /// Adds a further connection.
    pub(crate) fn add(&mut self, line: u64) {
        self.lines.push(Line::new(line));
    }

    /// Removes a connection.
    pub(crate) fn remove(&mut self, line: u64) {
        self.lines.retain(|own| own.id != line);
    }

    /// Iterates over the lines.
    pub(crate) fn lines(&self) -> impl ExactSizeIterator<Item = u64> {
        self.lines.iter().map(|line| line.id)
    }

    /// Starts the data transfer.
    pub(crate) fn open(&mut self, now: Instant) {
        self.is_open = true;
        (self.began, self.last, self.heard) = (now, now, now);
    }

    /// Returns the flow control; `None` while this end may not send.
    pub(crate) fn flow(&mut self) -> Option<&mut Flow> {
        self.flow.as_mut().filter(|_| self.is_open)
    }

    /// Returns the loss counters, with the source ports of datagrams.
    pub(crate) const fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Sets the local CPU load for status messages.
    pub(crate) fn set_cpu_percent(&mut self, percent: u8) {
        self.cpu_percent = percent.min(100);
    }

    /// Processes bytes that arrived on a line.
    ///
    /// # Errors
    ///
    /// The control connection of a UDP test carries anything but status messages.
    pub(crate) fn receive(&mut self, line: u64, mut bytes: &[u8]) -> Result<(), Reason> {
        let Some(line) = self.lines.iter_mut().find(|own| own.id == line) else {
            return Ok(());
        };
        self.hears = true;
        let mut found = Vec::new();
        match self.protocol {
            Protocol::Tcp => line.received += line.finder.feed(bytes, &mut found) as u64,
            Protocol::Udp => {
                while let Some(message) = line.inbox.take::<STATUS_LEN>(&mut bytes) {
                    found.push(Status::parse(&message).ok_or(Reason::BadStatus)?);
                }
            }
        }
        for status in found {
            self.hear(&status);
        }
        Ok(())
    }

    /// Processes a datagram from this port.
    pub(crate) fn receive_datagram(&mut self, port: u16, datagram: &[u8]) {
        // Empty datagrams open firewalls, and are no data.
        if let Some(number) = wire::datagram_number(datagram) {
            self.losses.record(port, number);
            self.received += datagram.len() as u64 + u64::from(self.overhead);
        } else {
            self.losses.add_port(port);
        }
    }

    /// Returns the end of the current second.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.is_open.then_some(self.last + SECOND)
    }

    /// Returns the start of the data transfer.
    pub(crate) fn began(&self) -> Option<Instant> {
        self.is_open.then_some(self.began)
    }

    /// Ends the current second if it is over, and adds its status messages to `out`.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Vec<Message>) {
        if self.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        let span = now - self.last;
        self.last = now;
        if core::mem::take(&mut self.hears) {
            self.heard = now;
        }
        self.second = self.second.wrapping_add(1);
        let datagrams = core::mem::take(&mut self.received);
        let mut total = datagrams;
        for line in &mut self.lines {
            let received = core::mem::take(&mut line.received);
            total += received;
            if self.protocol == Protocol::Tcp && !self.receives {
                continue;
            }
            let status = Status {
                cpu_percent: Some(self.cpu_percent),
                second: self.second,
                // The field wraps at 2^32.
                bytes: (received + datagrams) as u32,
            };
            out.push((line.id, status.to_bytes()));
        }
        self.rx.push(total, span);
    }

    /// Returns true if the other end has been silent for too long.
    pub(crate) fn is_silent(&self, now: Instant) -> bool {
        self.is_open && now.saturating_since(self.heard) >= SILENCE_TIMEOUT
    }

    /// Returns the measurements.
    pub(crate) fn figures(&self, now: Instant) -> Figures {
        Figures {
            duration: self.began().map_or(Duration::ZERO, |began| now - began),
            tx: self.reports.meter.rates(),
            rx: self.rx.rates(),
            lost_packets: self.losses.lost(),
            local_cpu_percent: self.cpu_percent,
            remote_cpu_percent: self.remote_cpu_percent,
        }
    }

    fn hear(&mut self, status: &Status) {
        self.remote_cpu_percent = status.cpu_percent.or(self.remote_cpu_percent);
        if let Some(flow) = &mut self.flow {
            self.reports.hear(status, self.lines.len());
            flow.adapt(u64::from(status.bytes));
        }
    }
}

/// Returns the length of IP and UDP headers, which count with a datagram.
///
/// RouterOS: the size of a UDP test is that of its IPv4 packets. Its behaviour with IPv6 is unknown; here the size
/// counts the whole IPv6 packet.
const fn header_len(peer: IpAddr) -> u16 {
    match peer {
        IpAddr::V4(_) => 28,
        IpAddr::V6(_) => 48,
    }
}

/// A TCP connection of the test.
#[derive(Debug)]
struct Line {
    id: u64,
    finder: Finder,
    inbox: Inbox,
    /// Data bytes received in the current second.
    received: u64,
}

impl Line {
    fn new(id: u64) -> Self {
        Self {
            id,
            finder: Finder::default(),
            inbox: Inbox::default(),
            received: 0,
        }
    }
}

/// Sums the other end's status messages over all lines.
#[derive(Debug, Default)]
struct Reports {
    meter: Meter,
    /// Second of the messages.
    second: u32,
    /// Last complete second.
    complete: u32,
    bytes: u64,
    heard: usize,
}

impl Reports {
    /// Adds the message of one of `lines` lines.
    fn hear(&mut self, status: &Status, lines: usize) {
        let ahead = status.second.wrapping_sub(self.second);
        if ahead != 0 && ahead < u32::MAX / 2 {
            if self.heard > 0 {
                self.end();
            }
            self.second = status.second;
        }
        self.bytes += u64::from(status.bytes);
        self.heard += 1;
        if self.heard >= lines {
            self.end();
        }
    }

    /// Completes the second. Late messages count with the next one.
    fn end(&mut self) {
        self.heard = 0;
        let seconds = match self.complete {
            0 => 1,
            complete => self.second.wrapping_sub(complete),
        };
        if seconds == 0 {
            return;
        }
        self.complete = self.second;
        let bytes = core::mem::take(&mut self.bytes);
        let span = Duration::from_secs(u64::from(seconds));
        self.meter.push(bytes, span);
    }
}

#[cfg(test)]
mod tests;
