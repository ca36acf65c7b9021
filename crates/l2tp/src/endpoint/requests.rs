//! Requests for tunnels: SCCRQ, and the SCCCN that proves the address of its sender.

use machine::Instant;

use super::{Endpoint, MAX_TUNNELS_OF_ADDRESS};
use crate::avp::attribute;
use crate::channel::{DEFAULT_WINDOW, Outgoing};
use crate::dialect::Dialect;
use crate::event::{Action, Fault, Path};
use crate::half_open::HalfOpen;
use crate::header::{Control, Version};
use crate::message::{Message, kind, result};
use crate::tunnel::{Tunnel, challenge, text};

/// Maximum number of tunnels of an address that a new tunnel of the address has checked.
const MAX_PROBES: usize = 16;

impl Endpoint {
    /// Handles SCCRQ: answers, and remembers a small entry.
    pub(super) fn request(
        &mut self,
        path: &Path,
        control: &Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        if !self.settings.is_enabled {
            return Err(Fault::Disabled);
        }
        if (control.session, control.ns) != (0, 0) {
            return Err(Fault::Sequence);
        }
        let secret = self.settings.secrets.of(path.address()).cloned();
        let mut dialect = self.dialect(self.settings.pseudowire.clone(), secret.as_ref());
        let hiding = dialect.hiding_secret(secret.as_ref());
        let request = Message::parse(control.version, control.body, hiding.as_ref())?;
        dialect.check(control, Some(&request))?;
        if request.kind != kind::SCCRQ {
            return Err(Fault::State);
        }
        let remote_id = request.assigned_tunnel.filter(|id| *id != 0);
        let remote_id = remote_id.ok_or(Fault::Malformed)?;
        if let Some(entry) = self.half_open.of(path, remote_id) {
            out.push(Action::Send(*path, entry.reply.to_vec()));
            return Err(Fault::Duplicate);
        }
        let refusal = self.refusal(path, &request, &dialect, secret.is_some());
        if let Some((fault, code)) = refusal {
            out.push(Action::Send(*path, stop(&dialect, remote_id, (0, 1), code)));
            return Err(fault);
        }
        let id = self.free_tunnel(&dialect).ok_or(Fault::Full)?;
        let mut reply = dialect.describe(kind::SCCRP, &self.settings.host_name, id);
        let is_challenged = dialect.version() == Version::Two;
        let of_challenge = secret.as_ref().filter(|_| is_challenged);
        let challenge = of_challenge.map(|_| challenge(&mut self.rng));
        if let Some((secret, challenge)) = of_challenge.zip(challenge.as_ref()) {
            reply = reply.mandatory(attribute::CHALLENGE, challenge);
            if let Some(asked) = &request.challenge {
                let response = secret.response(kind::SCCRP, asked);
                reply = reply.mandatory(attribute::CHALLENGE_RESPONSE, &response);
            }
        }
        let reply = Outgoing {
            session: 0,
            body: reply.finish(),
        };
        let reply = dialect.encode(remote_id, (0, 1), &reply);
        out.push(Action::Send(*path, reply.clone()));
        let entry = HalfOpen {
            path: *path,
            remote_id,
            window: request.window.unwrap_or(DEFAULT_WINDOW),
            host_name: text(request.host_name.as_deref().unwrap_or_default()),
            dialect,
            secret,
            challenge,
            reply: reply.into(),
        };
        self.half_open.add(id, entry, now);
        Ok(())
    }

    /// Returns why a request is refused, with result and error code.
    fn refusal(
        &self,
        path: &Path,
        request: &Message<'_>,
        dialect: &Dialect,
        has_secret: bool,
    ) -> Option<(Fault, (u16, u16))> {
        let is_two = dialect.version() == Version::Two;
        if is_two && request.version.unwrap_or(0) >> 8 != 1 {
            return Some((Fault::Version, (result::VERSION, 0x0100)));
        }
        if request.challenge.is_some() && !has_secret || dialect.lacks_digest() {
            return Some((Fault::Authentication, (result::NOT_AUTHORIZED, 0)));
        }
        let of_address = self
            .addresses
            .get(&path.address())
            .map_or(0, |ids| ids.len());
        (of_address >= MAX_TUNNELS_OF_ADDRESS)
            .then_some((Fault::Full, (result::ERROR, result::ERROR_RESOURCES)))
    }

    /// Handles the answer to SCCRP: SCCCN makes a tunnel of an entry.
    pub(super) fn receive_half_open(
        &mut self,
        path: &Path,
        control: &Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) -> Result<(), Fault> {
        let id = control.tunnel;
        let entry = self.half_open.get(id).ok_or(Fault::Tunnel)?;
        path.check(&entry.path)?;
        let mut dialect = entry.dialect.clone();
        if control.body.is_empty() {
            // The initiator acknowledges the SCCRP before it answers.
            return dialect.check(control, None);
        }
        let secret = dialect.hiding_secret(entry.secret.as_ref());
        let message = Message::parse(control.version, control.body, secret.as_ref())?;
        dialect.check(control, None)?;
        if message.kind == kind::ACK && control.version == Version::Three {
            return Ok(());
        }
        if (control.ns, control.nr) != (1, 1) {
            return Err(Fault::Sequence);
        }
        match message.kind {
            kind::SCCCN => {}
            kind::STOP_CCN => {
                self.half_open.remove(id);
                return Ok(());
            }
            _ => return Err(Fault::State),
        }
        let is_proved = match (&entry.secret, &entry.challenge) {
            (Some(secret), Some(challenge)) => {
                secret.accepts(kind::SCCCN, challenge, message.response.as_deref())
            }
            _ => true,
        };
        let Some(mut entry) = self.half_open.remove(id) else {
            return Err(Fault::Tunnel);
        };
        if !is_proved {
            let code = (result::NOT_AUTHORIZED, 0);
            let bytes = stop(&dialect, entry.remote_id, (1, 2), code);
            out.push(Action::Send(*path, bytes));
            return Err(Fault::Authentication);
        }
        entry.path = *path;
        self.tunnels.insert(id, Tunnel::accept(id, entry, now));
        let of_address = self.addresses.entry(path.address()).or_default();
        // PPP notices the end of a client that was restarted; Ethernet has no keepalive of its own.
        let before = of_address.iter().copied();
        let before = before.filter(|_| control.version == Version::Three);
        let before: Vec<_> = before.take(MAX_PROBES).collect();
        of_address.insert(id);
        for other in before {
            self.run(other, now, out, |tunnel, _| tunnel.probe(now));
        }
        self.run(id, now, out, |_, _| ());
        Ok(())
    }
}

/// Returns a StopCCN of a tunnel that this end does not remember. `numbers` are Ns and Nr.
fn stop(dialect: &Dialect, remote_id: u32, numbers: (u16, u16), code: (u16, u16)) -> Vec<u8> {
    dialect.encode(remote_id, numbers, &dialect.stop(1, code))
}
