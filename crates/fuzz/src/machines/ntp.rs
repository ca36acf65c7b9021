//! NTP client and server.

use core::net::IpAddr;

use machine::{Duration, Instant, Machine as _};
use service::ntp::{Action, Client, Event, Peer, Server};

use crate::script::{events, quiet, span};

const SERVER: [u8; 4] = [192, 0, 2, 1];

fn peer(data: &[u8]) -> Peer {
    let byte = |at: usize| data.get(at).copied().unwrap_or(0);
    Peer {
        id: u64::from(byte(0) & 3),
        address: (byte(0) & 4 == 0).then_some(IpAddr::from(SERVER)),
        min_poll: 3 + byte(1) % 15,
        max_poll: 3 + byte(2) % 15,
        burst: byte(0) & 8 != 0,
        key: None,
    }
}

/// Runs a client with a jumping clock, and a server that gets the client's answers as requests.
pub fn ntp(script: &[u8]) {
    let mut now = Instant::from_secs(1);
    let (mut client, mut server) = (Client::new(1, 0, now), Server::new(2));
    let mut cookie = [0; 8];
    for (what, data) in events(script) {
        let mut out = Vec::new();
        let mut answer = data.to_vec();
        // Forges the answer of a server that sees the request.
        if what & 8 != 0
            && let Some(origin) = answer.get_mut(24..32)
        {
            origin.copy_from_slice(&cookie);
        }
        let raw = data
            .first_chunk()
            .map_or(0, |bytes| i64::from_be_bytes(*bytes));
        let event = match what % 4 {
            0 => Event::Clock(raw),
            1 => Event::Configure(data.chunks(3).map(peer).collect()),
            _ => Event::Received {
                from: SERVER.into(),
                bytes: &answer,
            },
        };
        client.handle(event, now, &mut out);
        now += span(data) + Duration::from_millis(1);
        client.tick(now, &mut out);
        quiet(&client, now);
        for action in out {
            if let Action::Send { bytes, .. } = action {
                cookie = bytes.last_chunk().copied().unwrap_or_default();
            }
        }
        let time = client.time(now);
        let synchronized = client.synchronized(now);
        if let Ok(said) = server.answer(SERVER.into(), data, synchronized, time, now) {
            assert!(
                said.len() <= data.len(),
                "an answer is never longer than its question"
            );
        }
    }
}
