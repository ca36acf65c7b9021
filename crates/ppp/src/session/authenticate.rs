//! Authentication phase.

use std::sync::Arc;

use machine::Instant;

use super::{Authentication, Phase, Session};
use crate::auth::client::{Client, Outcome, ProtocolPacket};
use crate::auth::server::Server;
use crate::event::{Action, Grant};
use crate::reason::{DownReason, Fault};
use crate::settings::Role;

impl Session {
    pub(super) fn begin_authentication(&mut self, now: Instant, out: &mut Vec<Action>) {
        self.phase = Phase::Authenticate;
        let settings = Arc::clone(&self.settings);
        let method = self.lcp.options.method(settings.role);
        let authentication = match (settings.role, method, &settings.credentials) {
            (Role::Server, Some(method), _) => {
                let name = &settings.local_name;
                let server = Server::start(method, name, &mut self.rng, now, out);
                Authentication::Server(server)
            }
            (Role::Client, Some(method), Some(credentials)) => {
                Authentication::Client(Client::start(method, credentials, now, out))
            }
            (Role::Client, None, _) => return self.enter_network(&Grant::default(), now, out),
            _ => return self.close(DownReason::NoCommonMethod, now, out),
        };
        self.authentication = Some(Box::new(authentication));
    }

    pub(super) fn receive_authentication(
        &mut self,
        packet: ProtocolPacket<'_>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let settings = Arc::clone(&self.settings);
        let outcome = match (self.authentication.as_deref_mut(), &settings.credentials) {
            (Some(Authentication::Server(server)), _) => {
                return server.receive(packet.protocol, packet.control, now, out);
            }
            (Some(Authentication::Client(client)), Some(credentials)) => {
                client.receive(packet, credentials, &mut self.rng, now, out)
            }
            _ => return out.push(Action::Count(Fault::Method)),
        };
        self.follow_client(outcome, now, out);
    }

    pub(super) fn follow_client(&mut self, outcome: Outcome, now: Instant, out: &mut Vec<Action>) {
        match outcome {
            Outcome::Pending => {}
            Outcome::Accepted if self.phase == Phase::Authenticate => {
                self.enter_network(&Grant::default(), now, out);
            }
            Outcome::Accepted => {}
            Outcome::Failed(reason) => self.close(reason, now, out),
        }
    }

    pub(super) fn receive_verdict(
        &mut self,
        verdict: Result<Box<Grant>, Box<str>>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let server = match self.authentication.as_deref_mut() {
            Some(Authentication::Server(server)) if server.is_verifying() => server,
            _ => return out.push(Action::Count(Fault::Unexpected)),
        };
        match verdict {
            Ok(grant) => {
                server.accept(&grant.proof, out);
                self.enter_network(&grant, now, out);
            }
            Err(text) => {
                server.refuse(&text, out);
                self.close(DownReason::AuthenticationFailed, now, out);
            }
        }
    }

    pub(super) fn expire_authentication(&mut self, now: Instant, out: &mut Vec<Action>) {
        let settings = Arc::clone(&self.settings);
        let outcome = match (self.authentication.as_deref_mut(), &settings.credentials) {
            (Some(Authentication::Server(server)), _) => {
                match server.expire(&settings.local_name, now, out) {
                    true => Outcome::Pending,
                    false => Outcome::Failed(DownReason::NotResponding),
                }
            }
            (Some(Authentication::Client(client)), Some(credentials)) => {
                client.expire(credentials, now, out)
            }
            _ => Outcome::Pending,
        };
        self.follow_client(outcome, now, out);
    }
}
