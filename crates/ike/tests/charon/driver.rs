//! Runs the engine on UDP sockets in a network namespace.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant as Clock};

use ike::{Action, Child, ChildId, Engine, Event, State};
use machine::{Instant, Machine as _};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::esp;
use crate::peer::{Charon, OURS};

pub(crate) struct Driver<'a> {
    pub(crate) engine: Engine,
    pub(crate) children: BTreeMap<ChildId, Child>,
    pub(crate) used: Vec<ChildId>,
    /// Number of informational messages received.
    pub(crate) asked: usize,
    pub(crate) log: Vec<String>,
    charon: &'a Charon,
    sockets: [UdpSocket; 2],
    start: Clock,
    sequences: BTreeMap<ChildId, u32>,
    replies: usize,
}

impl<'a> Driver<'a> {
    pub(crate) fn new(charon: &'a Charon) -> Self {
        let space = format!("/run/netns/{}", charon.spaces[0]);
        let sockets = std::thread::spawn(move || {
            let space = File::open(space).expect("the namespace");
            move_into_link_name_space(
                std::os::fd::AsFd::as_fd(&space),
                Some(LinkNameSpaceType::Network),
            )
            .expect("the namespace is entered");
            [500, 4500].map(|port| {
                let socket = UdpSocket::bind((OURS, port)).expect("a port");
                socket
                    .set_read_timeout(Some(Duration::from_millis(5)))
                    .expect("a timeout");
                socket
            })
        });
        let random = File::open("/dev/urandom").expect("random bytes");
        Self {
            engine: Engine::new(Box::new(move |bytes| {
                std::io::Read::read_exact(&mut &random, bytes).expect("random bytes");
            })),
            children: BTreeMap::new(),
            used: Vec::new(),
            asked: 0,
            log: Vec::new(),
            charon,
            sockets: sockets.join().expect("sockets"),
            start: Clock::now(),
            sequences: BTreeMap::new(),
            replies: 0,
        }
    }

    fn now(&self) -> Instant {
        Instant::from_secs(1) + self.start.elapsed()
    }

    pub(crate) fn active(&self) -> Option<&Child> {
        self.used.last().and_then(|id| self.children.get(id))
    }

    pub(crate) fn established(&self) -> usize {
        self.engine
            .peers()
            .filter(|row| row.state == State::Established)
            .count()
    }

    pub(crate) fn event(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.engine.handle(event, self.now(), &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, out: Vec<Action>) {
        for action in out {
            match action {
                Action::Send {
                    local,
                    remote,
                    natt,
                    bytes,
                } => {
                    let socket = &self.sockets[usize::from(local.port() == 4500)];
                    let marker: &[u8] = if natt { &[0; 4] } else { &[] };
                    let _ = socket.send_to(&[marker, &bytes].concat(), remote);
                }
                Action::Keepalive { remote, .. } => drop(self.sockets[1].send_to(&[0xff], remote)),
                Action::Install(child) => {
                    if child.active {
                        self.used.push(child.id);
                    }
                    self.children.insert(child.id, *child);
                }
                Action::Activate(id) => self.used.push(id),
                Action::Remove { child, .. } => {
                    self.children.remove(&child);
                    self.used.retain(|id| *id != child);
                }
                Action::Log(log) => self.log.push(log.text),
                _ => {}
            }
        }
    }

    /// Processes what arrives within a few milliseconds, and the timers that are due.
    fn step(&mut self) {
        let mut bytes = [0; 4096];
        for port in 0..2 {
            let Ok((len, remote)) = self.sockets[port].recv_from(&mut bytes) else {
                continue;
            };
            let local = self.sockets[port].local_addr().expect("an address");
            self.take(local, remote, &bytes[..len]);
        }
        let mut out = Vec::new();
        self.engine.tick(self.now(), &mut out);
        self.carry_out(out);
    }

    fn take(&mut self, local: SocketAddr, remote: SocketAddr, bytes: &[u8]) {
        let natt = local.port() == 4500;
        let message = match bytes.strip_prefix(&[0; 4]) {
            Some(message) if natt => message,
            _ if natt => return self.packet(bytes),
            _ => bytes,
        };
        self.asked += usize::from([Some(&5), Some(&37)].contains(&message.get(18)));
        self.event(Event::Datagram {
            local,
            remote,
            natt,
            bytes: message,
        });
    }

    /// Processes an ESP packet.
    fn packet(&mut self, bytes: &[u8]) {
        let spi = bytes.first_chunk::<4>().map(|spi| u32::from_be_bytes(*spi));
        let child = self
            .children
            .values()
            .find(|child| Some(child.inbound.spi) == spi);
        let Some(child) = child else {
            return;
        };
        if esp::open(&child.inbound, bytes).is_some_and(|packet| esp::is_reply(&packet)) {
            self.replies += 1;
            let id = child.id;
            self.event(Event::Heard(id));
        }
    }

    pub(crate) fn until(&mut self, what: &str, so: impl Fn(&Self) -> bool) {
        let end = Clock::now() + Duration::from_secs(25);
        while !so(self) {
            let log = || {
                format!(
                    "{}\n{:#?}\n{:?}",
                    self.charon.log(),
                    self.log,
                    self.engine.counters()
                )
            };
            assert!(Clock::now() < end, "not in time: {what}\n{}", log());
            self.step();
        }
    }

    /// Sends a ping through the newest pair and waits for the reply.
    pub(crate) fn ping(&mut self) {
        let before = self.replies;
        let mut sent = Clock::now() - Duration::from_secs(1);
        let end = Clock::now() + Duration::from_secs(20);
        while self.replies == before {
            let log = || format!("{}\n{:#?}", self.charon.log(), self.log);
            assert!(Clock::now() < end, "no answer to a ping\n{}", log());
            if sent.elapsed() >= Duration::from_millis(200) {
                sent = Clock::now();
                let child = self.active().expect("a pair").clone();
                let sequence = self.sequences.entry(child.id).or_default();
                *sequence += 1;
                let packet = esp::seal(&child.outbound, *sequence, &esp::ping());
                let _ = self.sockets[1].send_to(&packet, child.remote);
            }
            self.step();
        }
    }
}
