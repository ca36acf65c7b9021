//! PPTP endpoint with foreign peers, and enhanced GRE.

use std::collections::BTreeMap;

use machine::{Duration, Instant, Machine as _, Rng};
use pptp::gre::{MAX_HEADER, Packet, write};
use pptp::{Action, CallId, ConnectionId, Endpoint, Event, Message, Server, StartFields};

use crate::script::{events, quiet, span};

/// Calls and connections that the endpoint reported.
#[derive(Default)]
struct Reports {
    /// Open calls, with the client that dialled.
    open: BTreeMap<CallId, Option<u64>>,
    /// Number of the call at the endpoint, from its last message.
    call: u16,
}

impl Reports {
    fn check(&mut self, action: Action) {
        match action {
            Action::Send(_, bytes) => {
                let message = Message::parse(&bytes).expect("endpoints send whole messages");
                if let Message::CallRequest { call, .. } | Message::CallReply { call, .. } = message
                {
                    self.call = call;
                }
            }
            Action::Opened(opened) => {
                let before = self.open.insert(opened.call, opened.client);
                assert!(before.is_none(), "a call opens once");
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

/// Returns a message with kind and numbers from `data`.
fn message(data: &[u8], call: u16) -> Message {
    let byte = |at: usize| data.get(at).copied().unwrap_or_default();
    let own = u16::from_be_bytes([byte(0), byte(1)]);
    let fields = StartFields {
        version: if byte(2) == 0 { 0x0100 } else { own },
        result: byte(3) % 6,
        error: byte(4),
    };
    match byte(5) % 12 {
        0 => Message::StartRequest(fields),
        1 => Message::StartReply(fields),
        2 => Message::StopRequest(byte(0)),
        3 => Message::StopReply,
        4 => Message::EchoRequest(own.into()),
        5 => Message::EchoReply(own.into()),
        6 => Message::CallRequest {
            call: own,
            serial: 1,
        },
        7 => Message::CallReply {
            call: own,
            peer_call: call,
            result: byte(2) % 8,
            error: 0,
        },
        8 => Message::IncomingRequest { call: own },
        9 => Message::Clear(own),
        10 => Message::Disconnect {
            call: own,
            result: 1,
        },
        _ => Message::LinkInfo(own),
    }
}

/// Runs an endpoint as server and as client, and parses the bytes as GRE packets.
///
/// # Panics
/// An invariant of the endpoint or of the packets does not hold.
pub fn pptp(script: &[u8]) {
    let mut now = Instant::from_secs(100);
    let server = |is_enabled| Server {
        host_name: "pac".into(),
        is_enabled,
    };
    let mut endpoint = Endpoint::new(server(true), Rng::seeded(1));
    let mut reports = Reports::default();
    let ends = [[192, 0, 2, 1].into(), [198, 51, 100, 1].into()];
    for (number, (what, data)) in (0..).zip(events(script)) {
        gre(data);
        let accepted = ConnectionId(ConnectionId::ACCEPTED + u64::from(what >> 6));
        let connection = match what >> 5 & 1 {
            0 => accepted,
            _ => ConnectionId(u64::from(what >> 6)),
        };
        let [local, remote] = ends;
        let built = message(data, reports.call).build("peer");
        let event = match what & 7 {
            0 | 1 => Event::Bytes {
                connection,
                bytes: &built,
            },
            2 => Event::Bytes {
                connection,
                bytes: data,
            },
            3 => Event::Accepted {
                connection: ConnectionId(ConnectionId::ACCEPTED + number),
                local,
                remote,
            },
            4 => {
                let client = u64::from(what >> 6);
                // The owner knows that this ends the client's call.
                reports.open.retain(|_, of| *of != Some(client));
                Event::Dial { client, remote }
            }
            5 => Event::Connected { connection, local },
            6 => match reports.open.pop_first() {
                Some((call, _)) => Event::Close(call),
                None => Event::Hangup(u64::from(what >> 6)),
            },
            _ if what & 8 == 0 => Event::Ended(connection),
            _ => Event::Configure(server(what & 16 == 0)),
        };
        let mut out = Vec::new();
        endpoint.handle(event, now, &mut out);
        now += span(data) + Duration::from_millis(1);
        endpoint.tick(now, &mut out);
        out.drain(..).for_each(|action| reports.check(action));
        quiet(&endpoint, now);
    }
}

/// Parses a GRE packet, and builds it again.
fn gre(bytes: &[u8]) {
    let Some(packet) = Packet::parse(bytes) else {
        return;
    };
    let mut header = [0; MAX_HEADER];
    let payload = (packet.end - packet.start) as u16;
    let length = write(
        &mut header,
        packet.call,
        payload,
        packet.sequence,
        packet.acknowledged,
    );
    let again = [&header[..length], &bytes[packet.start..packet.end]].concat();
    assert_eq!(
        Packet::parse(&again),
        Some(packet),
        "a packet that was built"
    );
}
