//! Datagram sockets of bandwidth tests.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, UdpSocket};

use btest::wire::{DATAGRAM_HEADER_LEN, Protocol};
use machine::{Duration, Instant};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::addr::SocketAddrArg as _;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg, sockopt};

use super::engine::{Side, SocketKey};
use super::segments;

/// Datagrams per system call if the kernel does not cut a buffer into datagrams.
const BATCH: usize = 64;
/// Maximum number of bytes of prepared datagrams, unless one call sends more.
const LAYOUT_BYTES: usize = 1 << 17;
/// System calls that receive from a socket in a round.
const RECEIVE_CALLS: usize = 16;
/// Kernel buffer of a socket in bytes, for each direction.
const BUFFER_BYTES: usize = 4 << 20;

/// Wait for room in a device's queue.
const QUEUE_PAUSE: Duration = Duration::from_millis(1);

/// Sockets of all sessions.
#[derive(Default)]
pub(super) struct DatagramSockets {
    sessions: BTreeMap<u64, SessionSockets>,
}

/// Sockets of a session.
struct SessionSockets {
    sockets: Vec<DatagramSocket>,
    /// Address from which datagrams are accepted.
    peer: IpAddr,
    /// True if the session may send.
    sends: bool,
    /// Socket that sends next.
    turn: usize,
    /// Datagrams of equal length, one after the other: only their numbers change.
    outgoing: Vec<u8>,
    /// Length of each datagram in `outgoing`.
    unit: usize,
}

struct DatagramSocket {
    socket: UdpSocket,
    /// False once the kernel has refused to cut a buffer into datagrams for this destination.
    cuts: bool,
    is_readable: bool,
    is_writable: bool,
}

/// Enlarges the kernel's buffers of a socket, as far as permitted.
pub(super) fn enlarge(socket: &UdpSocket) {
    if sockopt::set_socket_recv_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, BUFFER_BYTES);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, BUFFER_BYTES);
    }
}

impl DatagramSockets {
    /// Adds a socket to a session; returns its key.
    pub(super) fn add(&mut self, session: u64, socket: UdpSocket, peer: IpAddr) -> SocketKey {
        let sockets = self
            .sessions
            .entry(session)
            .or_insert_with(|| SessionSockets {
                sockets: Vec::new(),
                peer: peer.to_canonical(),
                sends: false,
                turn: 0,
                outgoing: Vec::new(),
                unit: 0,
            });
        let index = sockets.sockets.len() as u8;
        segments::join(&socket);
        sockets.sockets.push(DatagramSocket {
            socket,
            cuts: true,
            is_readable: false,
            is_writable: true,
        });
        SocketKey { session, index }
    }

    /// Returns a socket.
    pub(super) fn get(&self, key: SocketKey) -> Option<&UdpSocket> {
        let session = self.sessions.get(&key.session)?;
        Some(&session.sockets.get(usize::from(key.index))?.socket)
    }

    /// Closes the sockets of a session.
    pub(super) fn close(&mut self, session: u64) {
        self.sessions.remove(&session);
    }

    /// Lets a session send.
    pub(super) fn begin(&mut self, session: u64) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.sends = true;
        }
    }

    /// Returns the sessions that may send.
    pub(super) fn senders(&self) -> Vec<u64> {
        let sending = self.sessions.iter().filter(|(_, session)| session.sends);
        sending.map(|(number, _)| *number).collect()
    }

    /// Marks a socket by its events.
    pub(super) fn mark(&mut self, key: SocketKey, flags: EventFlags) {
        let session = self.sessions.get_mut(&key.session);
        let socket = session.and_then(|own| own.sockets.get_mut(usize::from(key.index)));
        if let Some(socket) = socket {
            socket.is_readable |= flags.intersects(EventFlags::IN | EventFlags::ERR);
            socket.is_writable |= flags.intersects(EventFlags::OUT | EventFlags::ERR);
        }
    }

    /// Receives datagrams of all readable sockets. Returns true if more may wait.
    pub(super) fn receive(
        &mut self,
        buffer: &mut [u8],
        mut each: impl FnMut(SocketKey, u16, &[u8]),
    ) -> bool {
        let mut is_busy = false;
        for (number, session) in &mut self.sessions {
            for (index, socket) in session.sockets.iter_mut().enumerate() {
                let key = SocketKey {
                    session: *number,
                    index: index as u8,
                };
                let mut budget = RECEIVE_CALLS;
                while socket.is_readable && budget > 0 {
                    budget -= 1;
                    match segments::receive(&socket.socket, buffer) {
                        Ok(received) if received.from.ip().to_canonical() == session.peer => {
                            // An empty datagram is a probe.
                            if received.len == 0 {
                                each(key, received.from.port(), &[]);
                            }
                            for datagram in buffer[..received.len].chunks(received.segment) {
                                each(key, received.from.port(), datagram);
                            }
                        }
                        // Datagrams of other hosts are no part of the test.
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            socket.is_readable = false;
                        }
                        // An ICMP error of an earlier datagram.
                        Err(_) => {}
                    }
                }
                is_busy |= socket.is_readable;
            }
        }
        is_busy
    }

    /// Sends the datagrams that the flow of a session allows, at most a batch. Returns the time of the next attempt;
    /// `None` if no socket has room, which epoll reports.
    pub(super) fn send<S: Side>(
        &mut self,
        session: u64,
        machine: &mut S,
        data: &[u8],
        now: Instant,
    ) -> Option<Instant> {
        let sockets = self.sessions.get_mut(&session)?;
        let flow = machine.flow(session)?;
        let allowance = flow.allowance(now);
        if flow.protocol() != Protocol::Udp || allowance.units == 0 {
            return Some(allowance.again);
        }
        // A datagram has room for its number.
        let unit = flow.unit().max(DATAGRAM_HEADER_LEN);
        let destination = machine.destination(session);
        let total = sockets.sockets.len();
        sockets.turn = (sockets.turn + 1) % total.max(1);
        let mut order = (0..total).map(|offset| (sockets.turn + offset) % total);
        let chosen = order.find(|index| sockets.sockets[*index].is_writable)?;
        sockets.lay_out(unit, data);
        let most = match sockets.sockets[chosen].cuts {
            true => segments::capacity(unit),
            false => BATCH,
        };
        let count = allowance.units.min(most).min(sockets.capacity());
        let flow = machine.flow(session)?;
        let outgoing = sockets.outgoing.get_mut(..count * unit)?;
        for (ahead, datagram) in outgoing.chunks_mut(unit.max(1)).enumerate() {
            flow.number(ahead, datagram);
        }
        let socket = &mut sockets.sockets[chosen];
        let to = destination.map(|port| SocketAddr::new(sockets.peer, port));
        let to = to.map(|to| mapped(to, &socket.socket));
        match socket.send(to, outgoing, unit) {
            Ok(sent) => {
                machine.flow(session)?.sent_datagrams(sent, now);
                socket.is_writable = sent == count;
                Some(if sent < allowance.units {
                    now
                } else {
                    allowance.again
                })
            }
            Err(Errno::AGAIN) => {
                socket.is_writable = false;
                Some(now)
            }
            // The device's queue is full, which epoll does not report.
            Err(Errno::NOBUFS) => Some(now + QUEUE_PAUSE),
            // An ICMP error of an earlier datagram, or no route for now: the datagrams count as sent and lost.
            Err(_) => {
                machine.flow(session)?.sent_datagrams(count, now);
                Some(allowance.again)
            }
        }
    }
}

impl SessionSockets {
    /// Prepares datagrams of this length, without numbers.
    fn lay_out(&mut self, unit: usize, data: &[u8]) {
        if self.unit == unit && !self.outgoing.is_empty() {
            return;
        }
        let body = &data[..unit.saturating_sub(DATAGRAM_HEADER_LEN).min(data.len())];
        self.unit = unit;
        self.outgoing.clear();
        let count = segments::capacity(unit).max(BATCH.min(LAYOUT_BYTES / unit.max(1)));
        for _ in 0..count {
            self.outgoing.extend([0; DATAGRAM_HEADER_LEN]);
            self.outgoing.extend(body);
        }
    }

    /// Returns the number of prepared datagrams.
    fn capacity(&self) -> usize {
        self.outgoing.len() / self.unit.max(1)
    }
}

impl DatagramSocket {
    /// Sends datagrams of this length; returns how many were sent.
    fn send(
        &mut self,
        to: Option<SocketAddr>,
        datagrams: &[u8],
        unit: usize,
    ) -> rustix::io::Result<usize> {
        let segment = u16::try_from(unit).map_err(|_| Errno::MSGSIZE)?;
        if self.cuts && segment > 0 {
            match segments::send(&self.socket, to, datagrams, segment) {
                Ok(()) => return Ok(datagrams.len() / unit),
                // Datagrams that need fragments, or a device without checksums.
                Err(nix::Error::EINVAL | nix::Error::EIO | nix::Error::EMSGSIZE) => {
                    self.cuts = false;
                }
                Err(error) => return Err(Errno::from_raw_os_error(error as i32)),
            }
        }
        send_batch(&self.socket, to, datagrams, unit)
    }
}

/// Returns an address in the family of a socket: IPv4 is mapped on IPv6 sockets.
fn mapped(to: SocketAddr, socket: &UdpSocket) -> SocketAddr {
    let is_ipv6 = socket.local_addr().is_ok_and(|own| own.is_ipv6());
    match to.ip() {
        IpAddr::V4(ip) if is_ipv6 => SocketAddr::new(ip.to_ipv6_mapped().into(), to.port()),
        _ => to,
    }
}

/// Sends datagrams of this length one by one, with one system call; returns how many were sent.
fn send_batch(
    socket: &UdpSocket,
    to: Option<SocketAddr>,
    datagrams: &[u8],
    unit: usize,
) -> rustix::io::Result<usize> {
    let to = to.map(|to| to.as_any());
    let parts: Vec<_> = { datagrams.chunks(unit.max(1)) }
        .map(|datagram| [IoSlice::new(datagram)])
        .collect();
    let mut controls: Vec<_> = { parts.iter() }
        .map(|_| SendAncillaryBuffer::default())
        .collect();
    let messages = parts
        .iter()
        .zip(&mut controls)
        .map(|(parts, control)| match &to {
            Some(to) => MMsgHdr::new_with_addr(to, parts, control),
            None => MMsgHdr::new(parts, control),
        });
    let mut messages: Vec<_> = messages.collect();
    sendmmsg(socket, &mut messages, SendFlags::DONTWAIT)
}
