//! `/radius/incoming`: requests of RADIUS servers to end or change sessions of features.
//!
//! ```text
//! server ─▶ hear ─▶ Effect::RadiusRequested ─▶ radius_requested of each feature ─▶ respond ─▶ Effect::Datagram
//! ```

use core::net::SocketAddr;

use dataplane::DropReason;
use dataplane::service::{Addressed, Match, Rate, Service};
use frame::InterfaceId;
use machine::Instant;
use menu::{Item, Row};
use service::radius::{ErrorCause, Fault, Incoming, Received, RequestId, Server, SessionRequest};

use crate::feature::hear::Datagram;
use crate::feature::{Effect, Effects};

/// Name of the service that receives requests.
pub(super) const SERVICE: &str = "radius-incoming";
/// Limit of requests that a worker passes to control, per second and as a burst.
const RATE: Rate = Rate {
    per_second: 5_000,
    burst: 1_000,
};

/// Request of a server that features carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingRequest {
    id: RequestId,
    /// Sender and receiver of the request.
    from: SocketAddr,
    to: SocketAddr,
    /// Request.
    pub(crate) request: SessionRequest,
}

/// Settings, requests in progress and counters.
#[derive(Debug, Default)]
pub(super) struct IncomingRequests {
    /// UDP port; `None` if requests are not accepted.
    port: Option<u16>,
    machine: Incoming,
    requests: u64,
    bad: u64,
    acks: u64,
    naks: u64,
}

impl IncomingRequests {
    /// Reads the settings.
    pub(super) fn read(&mut self, settings: Option<&Item>) {
        let settings = settings.filter(|item| item.is("accept"));
        self.port = settings.and_then(|item| u16::try_from(item.number("port")?).ok());
    }

    /// Returns the service that receives requests, if they are accepted.
    pub(super) fn service(&self) -> Option<Service> {
        let port = self.port?;
        let matches = [false, true].map(|ipv6| Match::Udp { ipv6, port });
        Some(Service {
            addressed: Addressed::Own,
            ..Service::new(SERVICE, matches, RATE)
        })
    }

    /// Handles a datagram. Returns the reason to drop it if it is no request of a server.
    pub(super) fn receive(
        &mut self,
        from: SocketAddr,
        to: SocketAddr,
        bytes: &[u8],
        context: &RequestContext<'_>,
        out: &mut Effects,
    ) -> Result<(), DropReason> {
        self.requests += 1;
        let time = u32::try_from(context.unix_seconds).ok();
        let time = time.filter(|seconds| *seconds > 0);
        let received = self
            .machine
            .receive(from, bytes, context.servers, context.now, time);
        let (id, request) = match received {
            Ok(Received::Request(id, request)) => (id, *request),
            Ok(Received::Repeat(response)) => {
                send(from, to, response, out);
                return Ok(());
            }
            Err(Fault::Pending) => return Ok(()),
            Err(fault) => {
                self.bad += 1;
                return Err(match fault {
                    Fault::UnknownServer => DropReason::RadiusUnknown,
                    Fault::Unauthenticated => DropReason::RadiusUnauthenticated,
                    Fault::Stale => DropReason::RadiusStale,
                    Fault::Malformed | Fault::Pending => DropReason::RadiusMalformed,
                });
            }
        };
        let checked = request.check(context.identity);
        let incoming = IncomingRequest {
            id,
            from,
            to,
            request,
        };
        match checked {
            Ok(()) => out.push(Effect::RadiusRequested(Box::new(incoming))),
            Err(cause) => self.respond(&incoming, Err(cause), out),
        }
        Ok(())
    }

    /// Sends the response to a request.
    pub(super) fn respond(
        &mut self,
        incoming: &IncomingRequest,
        result: Result<(), ErrorCause>,
        out: &mut Effects,
    ) {
        match result {
            Ok(()) => self.acks += 1,
            Err(_) => self.naks += 1,
        }
        if let Some(response) = self.machine.respond(incoming.id, result) {
            send(incoming.from, incoming.to, response, out);
        }
    }

    /// Returns the row of `monitor`.
    pub(super) fn row(&self) -> Row {
        let mut row = Row::default();
        for (name, count) in [
            ("requests", self.requests),
            ("bad-requests", self.bad),
            ("acks", self.acks),
            ("naks", self.naks),
        ] {
            row.set(name, crate::live::number(count));
        }
        row
    }

    /// Sets the counters to zero.
    pub(super) fn reset(&mut self) {
        (self.requests, self.bad, self.acks, self.naks) = (0, 0, 0, 0);
    }
}

/// What the handling of a request depends on.
pub(super) struct RequestContext<'a> {
    pub(super) servers: &'a [Server],
    pub(super) identity: &'a str,
    pub(super) unix_seconds: i64,
    pub(super) now: Instant,
}

/// Sends a response from the address and port of the request.
fn send(to: SocketAddr, from: SocketAddr, data: Vec<u8>, out: &mut Effects) {
    out.push(Effect::Datagram(Box::new(Datagram {
        source: Some(from.ip()),
        from: from.port(),
        to,
        interface: InterfaceId::NONE,
        data,
    })));
}
