//! Requests for tunnels: SCCRQ, and the SCCCN that proves the address of its sender.

use machine::Instant;

use super::{Endpoint, MAX_TUNNELS_OF_ADDRESS};
use crate::avp::{Builder, attribute};
use crate::channel::DEFAULT_WINDOW;
use crate::event::{Action, Fault, Path};
use crate::half_open::HalfOpen;
use crate::header::Control;
use crate::message::{Message, kind, result};
use crate::tunnel::{Identity, Tunnel, challenge, text};

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
        let request = Message::parse(control.body, secret.as_ref())?;
        if request.kind != kind::SCCRQ {
            return Err(Fault::State);
        }
        let remote_id = request.assigned_tunnel.filter(|id| *id != 0);
        let remote_id = remote_id.ok_or(Fault::Malformed)?;
        if let Some(entry) = self.half_open.of(path, remote_id) {
            out.push(Action::Send(*path, entry.reply.to_vec()));
            return Err(Fault::Duplicate);
        }
        let refusal = self.refusal(path, &request, secret.is_some());
        if let Some((fault, code)) = refusal {
            out.push(Action::Send(*path, stop(remote_id, (0, 1), code)));
            return Err(fault);
        }
        let id = self.free_tunnel().ok_or(Fault::Full)?;
        let identity = Identity {
            host_name: &self.settings.host_name,
            secret: secret.as_ref(),
        };
        let mut reply = identity.describe(kind::SCCRP, id);
        let authentication = { secret.clone() }.map(|secret| (secret, challenge(&mut self.rng)));
        if let Some((secret, challenge)) = &authentication {
            reply = reply.mandatory(attribute::CHALLENGE, challenge);
            if let Some(asked) = &request.challenge {
                let response = secret.response(kind::SCCRP, asked);
                reply = reply.mandatory(attribute::CHALLENGE_RESPONSE, &response);
            }
        }
        let reply = Control {
            tunnel: remote_id,
            session: 0,
            ns: 0,
            nr: 1,
            body: &reply.finish(),
        };
        let reply = reply.encode();
        out.push(Action::Send(*path, reply.clone()));
        let entry = HalfOpen {
            path: *path,
            remote_id,
            window: request.window.unwrap_or(DEFAULT_WINDOW),
            host_name: text(request.host_name.as_deref().unwrap_or_default()),
            authentication,
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
        has_secret: bool,
    ) -> Option<(Fault, (u16, u16))> {
        if request.version.unwrap_or(0) >> 8 != 1 {
            return Some((Fault::Version, (result::VERSION, 0x0100)));
        }
        if request.challenge.is_some() && !has_secret {
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
        if control.body.is_empty() {
            // The initiator acknowledges the SCCRP before it answers.
            return Ok(());
        }
        if (control.ns, control.nr) != (1, 1) {
            return Err(Fault::Sequence);
        }
        let secret = entry.authentication.as_ref().map(|(secret, _)| secret);
        let message = Message::parse(control.body, secret)?;
        match message.kind {
            kind::SCCCN => {}
            kind::STOP_CCN => {
                self.half_open.remove(id);
                return Ok(());
            }
            _ => return Err(Fault::State),
        }
        let is_proved = match &entry.authentication {
            Some((secret, challenge)) => {
                secret.accepts(kind::SCCCN, challenge, message.response.as_deref())
            }
            None => true,
        };
        let Some(mut entry) = self.half_open.remove(id) else {
            return Err(Fault::Tunnel);
        };
        if !is_proved {
            let code = (result::NOT_AUTHORIZED, 0);
            out.push(Action::Send(*path, stop(entry.remote_id, (1, 2), code)));
            return Err(Fault::Authentication);
        }
        entry.path = *path;
        self.tunnels.insert(id, Tunnel::accept(id, entry, now));
        self.addresses.entry(path.address()).or_default().insert(id);
        self.run(id, now, out, |_, _| ());
        Ok(())
    }
}

/// Returns a StopCCN of a tunnel that this end does not remember. `numbers` are Ns and Nr.
fn stop(remote_id: u16, numbers: (u16, u16), code: (u16, u16)) -> Vec<u8> {
    let [a, b] = code.0.to_be_bytes();
    let [c, d] = code.1.to_be_bytes();
    let body = Builder::new(kind::STOP_CCN)
        .mandatory(attribute::ASSIGNED_TUNNEL, &1u16.to_be_bytes())
        .mandatory(attribute::RESULT_CODE, &[a, b, c, d])
        .finish();
    let control = Control {
        tunnel: remote_id,
        session: 0,
        ns: numbers.0,
        nr: numbers.1,
        body: &body,
    };
    control.encode()
}
