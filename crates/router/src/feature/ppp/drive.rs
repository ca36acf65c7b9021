//! Passes the events of links and timers to sessions, and carries out the actions of the sessions.

use dataplane::DropReason;
use machine::{Instant, Machine};
use ppp::{Action, CloseReason, DownReason, Event, Fault};

use super::Ppp;
use super::carrier::{LinkDown, LinkEnd, LinkEvent, LinkId, LinkSetup};
use super::secret::LastSession;
use super::session::Session;
use crate::feature::{Effect, Effects};

impl Ppp {
    /// Handles the events of a carrier's links, in order.
    pub(super) fn handle_links(
        &mut self,
        at: usize,
        events: Vec<LinkEvent>,
        now: Instant,
        out: &mut Effects,
    ) {
        for event in events {
            let link = event.link();
            let serial = self.links.get(&(at, link)).copied();
            match (event, serial) {
                (LinkEvent::Up(_, setup), None) => self.begin(at, link, setup, now, out),
                (LinkEvent::Packet(_, packet), Some(serial)) => {
                    self.feed(serial, Event::Packet(&packet), now, out);
                }
                (LinkEvent::Changed(_), Some(serial)) => self.announce_changed(serial, out),
                (LinkEvent::Close(_), Some(serial)) => {
                    self.close(serial, CloseReason::Administrator, now, out);
                }
                (LinkEvent::Down(_, reason), Some(serial)) => {
                    self.links.remove(&(at, link));
                    match reason {
                        LinkDown::Removed => {
                            let reason = DownReason::Closed(CloseReason::Administrator);
                            self.end(serial, &reason, now, out);
                        }
                        LinkDown::Peer => self.end(serial, &DownReason::PeerRequest, now, out),
                        LinkDown::Interface => self.end(serial, &DownReason::CarrierLost, now, out),
                    }
                }
                (LinkEvent::Packet(..), None) => out.push(Effect::Lost(DropReason::PppLink, 1)),
                (LinkEvent::Up(..), Some(_)) | (_, None) => {}
            }
        }
    }

    /// Begins a session on a new link.
    fn begin(
        &mut self,
        at: usize,
        link: LinkId,
        mut setup: Box<LinkSetup>,
        now: Instant,
        out: &mut Effects,
    ) {
        let is_server = matches!(setup.end, LinkEnd::Server { .. });
        if is_server && self.guesses.exceeds(&setup.caller_id, now) {
            out.push(Effect::Lost(DropReason::PppGuesses, 1));
            return self.carriers[at].close(link, now, out);
        }
        self.serial += 1;
        let serial = self.serial;
        if let LinkEnd::Client(dial) = &setup.end {
            setup.settings = self.client_settings(dial, &setup.settings);
            // Routers with equal seeds choose different magic numbers at the two ends of a link.
            self.rng.next_u64();
        }
        let machine = ppp::Session::new(setup.settings.clone(), setup.payload, self.rng.split());
        let session = Session {
            carrier: at,
            link,
            setup,
            machine,
            login: None,
            pending: None,
            is_closing: false,
        };
        if !session.is_server() {
            let message = format!("{}: connecting...", session.label());
            out.log(self.topics(at, "info"), message);
        }
        self.sessions.insert(serial, Box::new(session));
        self.links.insert((at, link), serial);
        self.feed(serial, Event::LowerUp, now, out);
    }

    /// Closes a session gracefully.
    pub(super) fn close(
        &mut self,
        serial: u64,
        reason: CloseReason,
        now: Instant,
        out: &mut Effects,
    ) {
        if let Some(session) = self.sessions.get_mut(&serial) {
            session.is_closing = true;
        }
        self.feed(serial, Event::Close(reason), now, out);
    }

    /// Handles the due timers of a session.
    pub(super) fn tick_session(&mut self, serial: u64, now: Instant, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let login = session.login.as_mut().filter(|_| !session.is_closing);
        let excess = login.and_then(|login| login.excess(now));
        if let Some(reason) = excess {
            return self.close(serial, reason, now, out);
        }
        self.update_accounting(serial, now, out);
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let mut actions = Vec::new();
        session.machine.tick(now, &mut actions);
        self.perform(serial, actions, now, out);
    }

    /// Passes an event to a session.
    pub(super) fn feed(&mut self, serial: u64, event: Event<'_>, now: Instant, out: &mut Effects) {
        let Some(session) = self.sessions.get_mut(&serial) else {
            return;
        };
        let mut actions = Vec::new();
        session.machine.handle(event, now, &mut actions);
        self.perform(serial, actions, now, out);
    }

    /// Carries out the actions of a session, then answers its questions.
    fn perform(&mut self, serial: u64, actions: Vec<Action>, now: Instant, out: &mut Effects) {
        let mut answers = Vec::new();
        for action in actions {
            let Some(session) = self.sessions.get_mut(&serial) else {
                return;
            };
            match action {
                Action::Send(packet) => {
                    let carrier = &mut self.carriers[session.carrier];
                    carrier.send(session.link, &packet, out);
                }
                Action::Verify(claim) => answers.extend(self.verify(serial, *claim, out)),
                Action::QueryTraffic => {
                    let received = session.has_received();
                    answers.push(Event::Traffic { received });
                }
                Action::Authenticated(keys) => {
                    let (at, link) = (session.carrier, session.link);
                    self.of_carrier(at, now, out, |carrier, out| {
                        carrier.authenticated(link, keys.as_deref(), now, out);
                    });
                }
                Action::LinkUp(link) => {
                    if !self.link_up(serial, link, out) {
                        answers.push(Event::Close(CloseReason::Internal));
                    }
                }
                Action::MtuReduced(mtu) => self.reduce_mtu(serial, mtu, out),
                Action::EncryptionUp(encryption) => self.encryption_up(serial, &encryption, out),
                Action::FlushEncryption => session.reset_encryption(),
                Action::Ipv4Up(ipv4) => self.ipv4_up(serial, ipv4, now, out),
                Action::Ipv4Down => self.ipv4_down(serial, out),
                Action::Ipv6Up(ipv6) => self.ipv6_up(serial, ipv6, now, out),
                Action::Ipv6Down => self.ipv6_down(serial, out),
                Action::BridgeUp(link) => self.bridge_up(serial, link, now, out),
                Action::BridgeDown => self.bridge_down(serial, out),
                Action::Deliver(_) => out.push(Effect::Lost(DropReason::PppEarly, 1)),
                Action::Down(reason) => self.end(serial, &reason, now, out),
                Action::Count(fault) => out.push(Effect::Lost(drop_reason(fault), 1)),
            }
        }
        for answer in answers {
            self.feed(serial, answer, now, out);
        }
        self.set_timer(serial);
    }

    /// Sets when a session has to be looked at next.
    pub(super) fn set_timer(&mut self, serial: u64) {
        let session = self.sessions.get(&serial);
        let deadline = session.and_then(|session| session.deadline());
        self.timers.set(serial, deadline);
    }

    /// Ends a session: its objects and addresses go, and its link closes.
    fn end(&mut self, serial: u64, reason: &DownReason, now: Instant, out: &mut Effects) {
        let Some(mut session) = self.sessions.remove(&serial) else {
            return;
        };
        self.timers.set(serial, None);
        Self::cancel_access(serial, &session, out);
        let topics = self.topics(session.carrier, "info");
        let label = session.label();
        out.log(
            topics.clone(),
            format!("{label}: terminating... - {reason}"),
        );
        if let Some(mut login) = session.login.take() {
            self.log_out(serial, &session, &mut login, reason, now, out);
        }
        out.log(topics, format!("{label}: disconnected"));
        if self
            .links
            .remove(&(session.carrier, session.link))
            .is_some()
        {
            self.carriers[session.carrier].close(session.link, now, out);
        }
    }

    /// Records the end of a session at its secret.
    pub(super) fn note_end(&mut self, session: &Session, item: u64, reason: &DownReason) {
        let last = LastSession {
            ended: self.clock.now().date_time().into(),
            caller_id: session.setup.caller_id.clone(),
            reason: reason.cause().name(),
        };
        self.secrets.ended(item, last);
    }

    /// Returns log topics: `pppoe,ppp,info`.
    pub(super) fn topics(&self, at: usize, severity: &str) -> String {
        format!("{},ppp,{severity}", self.carriers[at].service())
    }
}

/// Returns the drop of a fault.
const fn drop_reason(fault: Fault) -> DropReason {
    match fault {
        Fault::Truncated
        | Fault::Length
        | Fault::Option
        | Fault::Authentication
        | Fault::Fragment => DropReason::PppMalformed,
        Fault::UnknownProtocol | Fault::UnknownCode => DropReason::PppUnknown,
        Fault::FragmentLost | Fault::TooLong => DropReason::PppFragment,
        Fault::Data => DropReason::PppEarly,
        Fault::Phase
        | Fault::Mismatch
        | Fault::Method
        | Fault::Stale
        | Fault::BridgedKind
        | Fault::Unexpected => DropReason::PppUnexpected,
    }
}
