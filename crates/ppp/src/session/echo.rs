//! Echo-Requests: keepalive, MTU probe, and loops.

use machine::Instant;

use super::Session;
use crate::event::Action;
use crate::keepalive::{Expiry, FALLBACK_MTU};
use crate::packet::{CONTROL_HEADER, Control, ECHO_REPLY, ECHO_REQUEST, LCP};
use crate::reason::{DownReason, Fault};

impl Session {
    pub(super) fn receive_echo_request(
        &mut self,
        request: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if !self.lcp.is_open() {
            return out.push(Action::Count(Fault::Phase));
        }
        let magic = self.lcp.options.magic();
        let Some((peer_magic, rest)) = request.data.split_first_chunk::<4>() else {
            return out.push(Action::Count(Fault::Length));
        };
        if magic != 0 && u32::from_be_bytes(*peer_magic) == magic {
            return self.count_loop(now, out);
        }
        let mut reply = request.build(LCP);
        let begin = reply.len() - rest.len() - 4;
        reply[2] = ECHO_REPLY;
        reply[begin..begin + 4].copy_from_slice(&magic.to_be_bytes());
        out.push(Action::Send(reply));
    }

    pub(super) fn receive_echo_reply(
        &mut self,
        reply: Control<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let magic = self.lcp.options.magic();
        let is_own = magic != 0 && reply.data.starts_with(&magic.to_be_bytes());
        if is_own {
            return self.count_loop(now, out);
        }
        self.probe.take_if(|probe| probe.id == reply.id);
    }

    /// A packet of this end came back.
    pub(super) fn count_loop(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.lcp.options.count_loop();
        if let Some(failure) = self.lcp.options.failure().cloned() {
            self.close(failure, now, out);
        }
    }

    pub(super) fn receive_traffic(&mut self, received: bool, now: Instant, out: &mut Vec<Action>) {
        let Some(keepalive) = &mut self.keepalive else {
            return;
        };
        if received {
            keepalive.heard(now);
        } else if keepalive.silent(now) {
            self.send_echo(CONTROL_HEADER + 4, out);
        }
    }

    /// Sends an Echo-Request whose LCP packet has `length` bytes.
    pub(super) fn send_echo(&mut self, length: usize, out: &mut Vec<Action>) {
        self.echo_id = self.echo_id.wrapping_add(1);
        let echo = Control {
            code: ECHO_REQUEST,
            id: self.echo_id,
            data: &self.lcp.options.magic().to_be_bytes(),
        };
        let mut packet = echo.build(LCP);
        let padding = length.saturating_sub(CONTROL_HEADER + 4);
        packet.resize(packet.len() + padding, 0);
        packet[4..6].copy_from_slice(&(length as u16).to_be_bytes());
        out.push(Action::Send(packet));
    }

    pub(super) fn expire_probe(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(probe) = &mut self.probe else {
            return;
        };
        if probe.expire(now) {
            probe.id = self.echo_id.wrapping_add(1);
            let length = usize::from(probe.mtu);
            self.send_echo(length, out);
        } else {
            self.probe = None;
            out.push(Action::MtuReduced(FALLBACK_MTU));
        }
    }

    /// Handles the expiry of the keepalive.
    pub(super) fn expire_keepalive(&mut self, now: Instant, out: &mut Vec<Action>) {
        match { self.keepalive.as_mut() }.map(|keepalive| keepalive.expire(now)) {
            Some(Expiry::QueryTraffic) => out.push(Action::QueryTraffic),
            Some(Expiry::SendEcho) => {
                out.push(Action::QueryTraffic);
                self.send_echo(CONTROL_HEADER + 4, out);
            }
            Some(Expiry::Dead) => self.close(DownReason::NotResponding, now, out),
            None => {}
        }
    }
}
