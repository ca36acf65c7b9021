//! SSTP endpoint with foreign peers, and pieces of a connection.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{Duration, Instant, Machine as _, Rng};
use sstp::{
    Action, ConnectionId, Cutter, Endpoint, Event, Message, Server, SessionKeys, Status,
    StatusInfo, data_header,
};

use crate::script::{events, quiet, span};

/// Calls that the endpoint reported.
#[derive(Default)]
struct Reports {
    /// Open calls, with the client that dialled, and whether their crypto binding is complete.
    open: BTreeMap<ConnectionId, (Option<u64>, bool)>,
}

impl Reports {
    fn check(&mut self, action: Action) {
        match action {
            Action::Send(_, bytes) => {
                assert!(
                    Message::parse(&bytes).is_ok() || bytes.ends_with(b"\r\n\r\n"),
                    "endpoints send whole messages or heads"
                );
            }
            Action::Opened(opened) => {
                let before = self.open.insert(opened.connection, (opened.client, false));
                assert!(before.is_none(), "a call opens once");
            }
            Action::Bound(call) => {
                let of = self.open.get_mut(&call).expect("an open call");
                assert!(!core::mem::replace(&mut of.1, true), "bound once");
            }
            Action::Packet(call, _) => {
                assert!(self.open.contains_key(&call), "packets of an open call");
            }
            Action::Closed(call, _) => {
                assert!(self.open.remove(&call).is_some(), "a call closes once");
            }
            Action::Connect(..)
            | Action::Disconnect(_)
            | Action::Failed(..)
            | Action::Ignored(_) => {}
        }
    }
}

/// Returns bytes of a peer: a head, a message or a data packet, by `data`.
fn built(data: &[u8]) -> Vec<u8> {
    let byte = |at: usize| data.get(at).copied().unwrap_or_default();
    let info = StatusInfo {
        attribute: byte(1),
        status: Status(byte(2).into()),
    };
    let message = match byte(0) % 13 {
        0 => return sstp::http::request("host", 5),
        1 => return sstp::http::acceptance(),
        2 => {
            let header = data_header(data.len()).unwrap_or_default();
            return [&header[..], data].concat();
        }
        3 => Message::ConnectRequest(byte(1).into()),
        4 => Message::ConnectAck {
            hashes: byte(1),
            nonce: [byte(2); 32],
        },
        5 => Message::ConnectNak(info),
        6 => Message::Connected {
            hash: byte(1),
            nonce: [byte(2); 32],
            certificate: [byte(3); 32],
            mac: [byte(4); 32],
        },
        7 => Message::Abort((byte(1) > 9).then_some(info)),
        8 => Message::Disconnect((byte(1) > 9).then_some(info)),
        9 => Message::DisconnectAck,
        10 => Message::EchoRequest,
        11 => Message::EchoResponse,
        _ => return data.to_vec(),
    };
    message.build()
}

/// Runs an endpoint as server and as client, and cuts the bytes as those of a connection.
///
/// # Panics
/// An invariant of the endpoint or of the pieces does not hold.
pub fn sstp(script: &[u8]) {
    cut(script);
    let mut now = Instant::from_secs(100);
    let mut endpoint = Endpoint::new(Server { is_enabled: true }, Rng::seeded(1));
    let mut reports = Reports::default();
    let remote = IpAddr::from([198, 51, 100, 1]);
    let certificate: Arc<[u8]> = Arc::from(&b"certificate"[..]);
    for (number, (what, data)) in (0..).zip(events(script)) {
        let connection = match what >> 5 & 1 {
            0 => ConnectionId(ConnectionId::ACCEPTED + u64::from(what >> 6)),
            _ => ConnectionId(u64::from(what >> 6)),
        };
        let bytes = built(data);
        let certificate = Arc::clone(&certificate);
        let event = match what & 7 {
            0 | 1 => Event::Bytes {
                connection,
                bytes: &bytes,
            },
            2 => Event::Authenticated(connection, SessionKeys::NONE),
            3 => Event::Accepted {
                connection: ConnectionId(ConnectionId::ACCEPTED + number),
                remote,
                certificate,
            },
            4 => {
                let client = u64::from(what >> 6);
                // The owner knows that this ends the client's call.
                reports.open.retain(|_, (of, _)| *of != Some(client));
                Event::Dial {
                    client,
                    remote,
                    host: "host",
                }
            }
            5 => Event::Connected {
                connection,
                certificate,
            },
            6 => match reports.open.pop_first() {
                Some((call, _)) => Event::Close(call),
                None => Event::Hangup(u64::from(what >> 6)),
            },
            _ if what & 8 == 0 => Event::Ended(connection),
            _ => Event::Configure(Server {
                is_enabled: what & 16 == 0,
            }),
        };
        let mut out = Vec::new();
        endpoint.handle(event, now, &mut out);
        now += span(data) + Duration::from_millis(1);
        endpoint.tick(now, &mut out);
        out.drain(..).for_each(|action| reports.check(action));
        quiet(&endpoint, now);
    }
}

/// Cuts bytes behind an empty head, whole and one by one: the pieces are the same.
fn cut(bytes: &[u8]) {
    let bytes = [b"\r\n\r\n", bytes].concat();
    let pieces = |size: usize| {
        let (mut cutter, mut pieces) = (Cutter::default(), Vec::new());
        for mut chunk in bytes.chunks(size) {
            while let Some(piece) = match cutter.next(&mut chunk) {
                Ok(piece) => piece,
                Err(fault) => return (pieces, Some(fault)),
            } {
                pieces.push(format!("{piece:?}"));
            }
        }
        (pieces, None)
    };
    assert_eq!(pieces(bytes.len()), pieces(1));
}
