//! Requests and offers of a discovery that the server has not stored.

use wire::Mac;
use wire::pppoe::{Builder, Discovery, MRU, tag};

use super::super::TAG_MAX;
use super::{Fault, Service};

/// What an answer repeats of a request.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) service_name: Option<Box<[u8]>>,
    pub(super) host_uniq: Option<Box<[u8]>>,
    pub(super) relay_session: Option<Box<[u8]>>,
    pub(super) max_payload: Option<u16>,
}

impl Request {
    /// Returns the repeated tags of a packet, unless one is too long.
    pub(super) fn new(fields: &Discovery<'_>) -> Result<Self, Fault> {
        let tags = [fields.service_name, fields.host_uniq, fields.relay_session];
        if tags.into_iter().flatten().any(|tag| tag.len() > TAG_MAX) {
            return Err(Fault::Malformed);
        }
        let [service_name, host_uniq, relay_session] = tags.map(|tag| tag.map(Box::from));
        Ok(Self {
            service_name,
            host_uniq,
            relay_session,
            max_payload: fields.max_payload,
        })
    }

    /// Starts an answer with the tags that it repeats.
    pub(super) fn answer(&self, code: u8, session: u16) -> Builder {
        Builder::new(code, session)
            .optional(tag::SERVICE_NAME, self.service_name.as_deref())
            .optional(tag::HOST_UNIQ, self.host_uniq.as_deref())
            .optional(tag::RELAY_SESSION, self.relay_session.as_deref())
    }

    /// Whether a service serves the request (RFC 2516, 5.1).
    pub(super) fn is_for(&self, service: &Service) -> bool {
        match self.service_name.as_deref().unwrap_or_default() {
            [] => service.accepts_empty || service.name.is_empty(),
            name => name == service.name.as_bytes(),
        }
    }

    /// Returns the largest payload that the client and the service accept (RFC 4638, 3).
    pub(super) fn max_payload(&self, service: &Service) -> Option<u16> {
        let common = self.max_payload?.min(service.max_payload?);
        (common > MRU).then_some(common)
    }
}

/// An offer that waits.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) port: u64,
    pub(super) peer: Mac,
    pub(super) service: u64,
    pub(super) request: Request,
}

impl Offer {
    pub(super) const fn key(&self) -> (u64, Mac, u64) {
        (self.port, self.peer, self.service)
    }
}
