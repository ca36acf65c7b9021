//! L2TP endpoint, with foreign peers that know numbers and secret of the tunnel, and others that do not.

use std::collections::BTreeSet;

use l2tp::{
    Action, Builder, CallIds, Control, Digest, Endpoint, Event, Header, Message, Path, Pseudowire,
    Secret, Secrets, Server, SessionId, Version, attribute, data_header, kind,
};
use machine::{Duration, Instant, Machine as _, Rng};

use crate::script::{events, quiet, span};

const SECRET: &str = "secret";

/// What the peer knows of the endpoint.
#[derive(Default)]
struct Peer {
    /// Tunnel and session that the endpoint assigned last.
    ids: (u32, u32),
    /// Numbers of the next message to the endpoint.
    ns: u16,
    nr: u16,
    /// Open sessions.
    open: BTreeSet<SessionId>,
}

impl Peer {
    /// Checks an action of the endpoint, and learns from it.
    fn learn(&mut self, action: Action, secret: &Secret) {
        match action {
            Action::Send(_, datagram) => {
                let Ok(Header::Control(control)) = Header::parse(&datagram) else {
                    panic!("endpoints send control messages");
                };
                self.ns = control.nr;
                self.nr = control.ns;
                if control.body.is_empty() {
                    return;
                }
                let message = Message::parse(control.version, control.body, Some(secret));
                let message = message.expect("endpoints send whole messages");
                if message.kind == kind::ACK {
                    return;
                }
                self.nr = control.ns.wrapping_add(1);
                self.ids.0 = message.assigned_tunnel.unwrap_or(self.ids.0);
                self.ids.1 = message.assigned_session.unwrap_or(self.ids.1);
            }
            Action::Opened(opened) => {
                assert!(self.open.insert(opened.session), "a session opens once");
            }
            Action::Packet(session, _) => assert!(self.open.contains(&session)),
            Action::Closed(session, _) => {
                assert!(self.open.remove(&session), "a session closes once");
            }
            Action::Moved(sessions, _) => {
                assert!(sessions.iter().all(|session| self.open.contains(session)));
            }
            Action::Failed(..) | Action::Ignored(_) => {}
        }
    }
}

fn settings(bits: u8) -> Server {
    let mut secrets = Secrets::default();
    if bits & 4 != 0 {
        secrets.add([0, 0, 0, 0].into(), 0, SECRET.into());
    }
    Server {
        host_name: "lns".into(),
        is_enabled: bits & 1 == 0,
        max_sessions: (bits & 8 != 0).then_some(u32::from(bits >> 4)),
        one_session_per_host: bits & 2 != 0,
        secrets,
        pseudowire: None,
    }
}

/// Settings of version 3.
fn ethernet(bits: u8) -> Server {
    Server {
        pseudowire: Some(Pseudowire {
            digest: (bits & 2 != 0).then_some(Digest::Sha1),
            cookie_bytes: bits & 8,
            circuit_id: "".into(),
            has_sublayer: bits & 1 != 0,
            hello_interval: None,
        }),
        ..settings(bits)
    }
}

/// Runs an endpoint of version 2 as server and as client.
pub fn l2tp(script: &[u8]) {
    run(script, Version::Two, settings);
}

/// Runs an endpoint of version 3 as server and as client.
pub fn l2tp_ethernet(script: &[u8]) {
    run(script, Version::Three, ethernet);
}

fn run(script: &[u8], version: Version, settings: fn(u8) -> Server) {
    let mut now = Instant::from_secs(100);
    let mut endpoint = Endpoint::new(settings(0), Rng::seeded(1));
    let (mut peer, secret) = (Peer::default(), Secret::from(SECRET));
    for (what, data) in events(script) {
        let path = Path {
            local: ([192, 0, 2, 1], 1701).into(),
            remote: (
                [198, 51, 100, 1 + (what >> 6)],
                1701 + u16::from(what >> 5 & 1),
            )
                .into(),
            is_protected: what >> 6 == 3,
        };
        let ids = CallIds {
            tunnel: peer.ids.0,
            session: peer.ids.1,
        };
        let named = with_session(data, ids.session);
        let control = |tunnel: u32, session: u32, ns: u16| Control {
            version,
            tunnel,
            session,
            ns,
            nr: peer.nr,
            body: match (version, session) {
                (Version::Two, _) | (_, 0) => data,
                _ => &named,
            },
        };
        let datagram = match what & 7 {
            1 => control(0, 0, 0).encode(),
            2 => control(ids.tunnel, 0, peer.ns).encode(),
            3 => control(ids.tunnel, ids.session, peer.ns).encode(),
            4 => {
                let ns = (what & 8 != 0).then_some(peer.ns);
                [data_header(ids, ns), data.to_vec()].concat()
            }
            _ => data.to_vec(),
        };
        let event = match what & 7 {
            5 => Event::Dial {
                client: u64::from(what >> 3 & 1),
                path,
                pseudowire: settings(what).pseudowire,
            },
            6 => Event::Configure(settings(data.first().copied().unwrap_or(0))),
            7 if what & 8 == 0 => match peer.open.pop_first() {
                Some(session) => Event::Close(session),
                None => Event::Hangup(0),
            },
            7 => Event::Received {
                path,
                datagram: &datagram[..datagram.len() / 2],
            },
            _ => Event::Received {
                path,
                datagram: &datagram,
            },
        };
        let mut out = Vec::new();
        endpoint.handle(event, now, &mut out);
        out.drain(..).for_each(|action| peer.learn(action, &secret));
        now += span(data) + Duration::from_millis(1);
        endpoint.tick(now, &mut out);
        out.drain(..).for_each(|action| peer.learn(action, &secret));
        quiet(&endpoint, now);
    }
}

/// Returns AVPs with the session number of the receiver, which messages of version 3 have in their body.
fn with_session(avps: &[u8], session: u32) -> Vec<u8> {
    let number = session.to_be_bytes();
    let named = Builder::default().mandatory(attribute::REMOTE_SESSION, &number);
    [avps, &named.finish()].concat()
}
