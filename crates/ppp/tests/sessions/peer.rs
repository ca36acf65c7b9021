//! A foreign peer that speaks in raw packets.

use std::sync::Arc;

use machine::{Duration, Instant, Machine as _, Rng};
use ppp::{Action, DownReason, Event, Fault, Session, Settings, split};

/// Codes of control packets.
pub(crate) const REQUEST: u8 = 1;
pub(crate) const ACK: u8 = 2;
pub(crate) const NAK: u8 = 3;
pub(crate) const REJECT: u8 = 4;

/// A control packet that the session sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) protocol: u16,
    pub(crate) code: u8,
    pub(crate) id: u8,
    pub(crate) data: Vec<u8>,
}

/// A session whose packets are read and written by a test.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) session: Session,
    pub(crate) now: Instant,
    /// Actions of the last event but for packets.
    pub(crate) actions: Vec<Action>,
}

impl Peer {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            session: Session::new(Arc::new(settings), 1492, Rng::seeded(1)),
            now: Instant::from_secs(1),
            actions: Vec::new(),
        }
    }

    /// Starts the session and returns its Configure-Request.
    pub(crate) fn start(settings: Settings) -> (Self, Sent) {
        let mut peer = Self::new(settings);
        let request = peer.handle(Event::LowerUp).remove(0);
        assert_eq!((request.protocol, request.code), (ppp::LCP, REQUEST));
        (peer, request)
    }

    /// Starts a session and negotiates its LCP without options of the peer.
    pub(crate) fn open(settings: Settings) -> Self {
        let (mut peer, request) = Self::start(settings);
        peer.send(ppp::LCP, ACK, request.id, &request.data);
        let answers = peer.send(ppp::LCP, REQUEST, 1, &[]);
        assert_eq!(answers[0].code, ACK);
        peer
    }

    /// Passes a control packet to the session and returns what it sends.
    pub(crate) fn send(&mut self, protocol: u16, code: u8, id: u8, data: &[u8]) -> Vec<Sent> {
        let length = (4 + data.len()) as u16;
        let packet = [
            &protocol.to_be_bytes()[..],
            &[code, id],
            &length.to_be_bytes(),
            data,
        ]
        .concat();
        self.handle(Event::Packet(&packet))
    }

    pub(crate) fn handle(&mut self, event: Event<'_>) -> Vec<Sent> {
        let mut out = Vec::new();
        self.session.handle(event, self.now, &mut out);
        self.sort(out)
    }

    pub(crate) fn wait(&mut self, span: Duration) -> Vec<Sent> {
        self.now += span;
        let mut out = Vec::new();
        self.session.tick(self.now, &mut out);
        self.sort(out)
    }

    fn sort(&mut self, out: Vec<Action>) -> Vec<Sent> {
        let mut sent = Vec::new();
        self.actions.clear();
        for action in out {
            match action {
                Action::Send(packet) => {
                    let (protocol, information) = split(&packet).expect("a whole packet");
                    let length = u16::from_be_bytes([information[2], information[3]]);
                    assert_eq!(usize::from(length), information.len());
                    sent.push(Sent {
                        protocol,
                        code: information[0],
                        id: information[1],
                        data: information[4..].to_vec(),
                    });
                }
                action => self.actions.push(action),
            }
        }
        sent
    }

    pub(crate) fn down(&self) -> Option<&DownReason> {
        self.actions.iter().find_map(|action| match action {
            Action::Down(reason) => Some(reason),
            _ => None,
        })
    }

    pub(crate) fn faults(&self) -> Vec<Fault> {
        let faults = self.actions.iter().filter_map(|action| match action {
            Action::Count(fault) => Some(*fault),
            _ => None,
        });
        faults.collect()
    }
}
