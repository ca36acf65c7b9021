//! Passes events to OpenVPN's machines, and carries out their actions.

use dataplane::DropReason;
use machine::{Instant, Machine};
use openvpn::data::{EXIT, PING};
use openvpn::{Action, ClientEvent, Fault, Opened, Path, ServerEvent, Transport};

use super::links::{End, datagram};
use super::{CarrierOutput, Ovpn, TimerId};
use crate::feature::ppp::carrier::LinkEvent;
use crate::feature::{Effect, Effects};
use crate::intent::ItemId;

impl Ovpn {
    /// Passes an event to a server's machine and carries out its actions. Returns the drop of an ignored packet.
    pub(super) fn feed_server(
        &mut self,
        item: ItemId,
        event: ServerEvent<'_>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let entry = self.servers.get_mut(&item)?;
        let mut actions = Vec::new();
        entry.machine.handle(event, now, &mut actions);
        self.of_server(item, actions, now, out)
    }

    /// Passes an event to a client's machine and carries out its actions. Returns the drop of an ignored packet.
    pub(super) fn feed_client(
        &mut self,
        item: ItemId,
        event: ClientEvent<'_>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let attempt = self.attempts.get_mut(&item)?;
        let mut actions = Vec::new();
        attempt.machine.handle(event, now, &mut actions);
        self.of_client(item, actions, now, out)
    }

    /// Runs the due timers of a client, with what its session has carried meanwhile.
    pub(super) fn tick_client(&mut self, item: ItemId, now: Instant, out: &mut CarrierOutput<'_>) {
        let link = self.ends.links.find_mut(End::Client(item));
        if let Some(traffic) = link.map(|(_, link)| link.traffic()) {
            self.feed_client(item, ClientEvent::Traffic(traffic), now, out);
        }
        let mut actions = Vec::new();
        if let Some(attempt) = self.attempts.get_mut(&item) {
            attempt.machine.tick(now, &mut actions);
        }
        self.of_client(item, actions, now, out);
    }

    /// Carries out the actions of a server's machine, and sets its timer.
    pub(super) fn of_server(
        &mut self,
        item: ItemId,
        actions: Vec<Action>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Authenticate(login) => self.begin_user(item, &login, now, out),
                Action::Opened(opened) => log_opened(&opened, out.effects),
                Action::Closed(session, reason) => {
                    let link = self.ends.links.find_mut(End::Server(item, session));
                    if let Some(link) = link.map(|(id, _)| id) {
                        self.lose(link, &reason, now, out);
                    }
                }
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
                Action::Send(path, bytes) => self.send_control(&path, bytes, out.effects),
                other => {
                    if let Some(session) = session_of(&other) {
                        self.of_data_channel(End::Server(item, session), other, out);
                    }
                }
            }
        }
        let deadline = { self.servers.get(&item) }.and_then(|entry| entry.machine.deadline());
        self.timers
            .set(TimerId::Server(item), deadline.map(|(at, _)| at));
        dropped
    }

    /// Carries out the actions of a client's machine, and sets its timer.
    fn of_client(
        &mut self,
        item: ItemId,
        actions: Vec<Action>,
        now: Instant,
        out: &mut CarrierOutput<'_>,
    ) -> Option<DropReason> {
        let mut dropped = None;
        for action in actions {
            match action {
                Action::Opened(opened) => {
                    log_opened(&opened, out.effects);
                    self.begin_client(item, &opened, now, out);
                }
                Action::Closed(_, reason) => self.client_closed(item, &reason, now, out),
                Action::Ignored(fault) => dropped = Some(drop_of(fault)),
                Action::Send(path, bytes) => self.send_control(&path, bytes, out.effects),
                other => self.of_data_channel(End::Client(item), other, out),
            }
        }
        self.settle_client(item);
        dropped
    }

    /// Sets the timer of a client, and forgets an attempt that is over.
    pub(super) fn settle_client(&mut self, item: ItemId) {
        let is_done = |attempt: &super::Attempt| attempt.is_over && !attempt.machine.has_session();
        if self.attempts.get(&item).is_some_and(is_done) {
            self.attempts.remove(&item);
        }
        let attempt = self.attempts.get(&item);
        let deadline = attempt.and_then(|attempt| attempt.machine.deadline());
        self.timers
            .set(TimerId::Client(item), deadline.map(|(at, _)| at));
    }

    /// Sends a control packet.
    fn send_control(&self, path: &Path, packet: Vec<u8>, out: &mut Effects) {
        match path.transport {
            Transport::Udp => out.push(Effect::Datagram(Box::new(datagram(path, packet)))),
            Transport::Tcp => self.connections.send(path, &packet, out),
        }
    }

    /// Carries out an action that concerns keys or data packets of a session.
    fn of_data_channel(&mut self, end: End, action: Action, out: &mut CarrierOutput<'_>) {
        let Some((id, link)) = self.ends.links.find_mut(end) else {
            return;
        };
        let payload = match action {
            Action::Keys(keys) => {
                if !link.install(&keys, &mut self.rng) {
                    let message = "a key of the data channel is refused".to_owned();
                    out.effects.log("ovpn,error", message);
                }
                return;
            }
            Action::UseKey(_, key) => {
                if link.send_with(key) {
                    out.events.push(LinkEvent::Changed(id));
                }
                return;
            }
            Action::RetireKey(_, key) => return link.retire(key),
            Action::Mismatch(_, mismatch) => {
                let message = format!("{}: {mismatch}", link.path.remote);
                return out.effects.log("ovpn,warning", message);
            }
            Action::Ping(_) => &PING[..],
            Action::NotifyExit(_) => &EXIT,
            _ => return,
        };
        match link.path.transport {
            Transport::Udp => {
                if let Some(packet) = link.datagram(payload) {
                    out.effects.push(Effect::Datagram(Box::new(packet)));
                }
            }
            Transport::Tcp => self.connections.signal(&link.path, payload, out.effects),
        }
    }
}

/// Returns the session that an action concerns.
fn session_of(action: &Action) -> Option<u32> {
    match action {
        Action::Keys(keys) => Some(keys.session),
        Action::UseKey(session, _)
        | Action::RetireKey(session, _)
        | Action::Ping(session)
        | Action::NotifyExit(session)
        | Action::Mismatch(session, _) => Some(*session),
        _ => None,
    }
}

fn log_opened(opened: &Opened, out: &mut Effects) {
    let cipher = opened.suite.cipher.name();
    let message = format!("{}: {}, cipher {cipher}", opened.path.remote, opened.tls);
    out.log("ovpn,debug", message);
    if opened.suite.digest == openvpn::Digest::Md5 || opened.suite.cipher == openvpn::Cipher::None {
        let message = format!(
            "{}: packets are protected by cipher {cipher} and auth {}, which is broken or nothing",
            opened.path.remote, opened.suite.digest
        );
        out.log("ovpn,warning", message);
    }
}

/// Returns the drop of a packet that the machine ignores.
const fn drop_of(fault: Fault) -> DropReason {
    match fault {
        Fault::Malformed | Fault::Opcode | Fault::KeyMethod => DropReason::OvpnMalformed,
        Fault::Data | Fault::Session => DropReason::OvpnUnknown,
        Fault::Cookie => DropReason::OvpnCookie,
        Fault::Key => DropReason::OvpnKey,
        Fault::Protection => DropReason::OvpnIntegrity,
        Fault::Replayed => DropReason::OvpnReplayed,
        Fault::Duplicate | Fault::Sequence | Fault::Message => DropReason::OvpnState,
        Fault::Full => DropReason::OvpnFull,
    }
}
