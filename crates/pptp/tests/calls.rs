//! Two endpoints, and an endpoint with a hostile peer.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant, Machine as _, Rng};
use pptp::{
    Action, ConnectionId, Endpoint, Event, Fault, Message, Opened, Reason, Server, StartFields,
};

const HERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const THERE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const T0: Instant = Instant::from_secs(1_000);

fn server() -> Server {
    Server {
        host_name: "server".into(),
        is_enabled: true,
    }
}

fn handle(endpoint: &mut Endpoint, event: Event<'_>, now: Instant) -> Vec<Action> {
    let mut out = Vec::new();
    endpoint.handle(event, now, &mut out);
    out
}

/// A client and a server, and the TCP connections between them.
struct World {
    client: Endpoint,
    server: Endpoint,
    now: Instant,
    /// Number of a connection at the server by its number at the client.
    accepted: BTreeMap<ConnectionId, ConnectionId>,
    reports: Vec<(&'static str, Action)>,
}

impl World {
    fn new() -> Self {
        Self {
            client: Endpoint::new(Server::default(), Rng::seeded(1)),
            server: Endpoint::new(server(), Rng::seeded(2)),
            now: T0,
            accepted: BTreeMap::new(),
            reports: Vec::new(),
        }
    }

    fn client(&mut self, event: Event<'_>) {
        let actions = handle(&mut self.client, event, self.now);
        self.carry_out(true, actions);
    }

    fn server(&mut self, event: Event<'_>) {
        let actions = handle(&mut self.server, event, self.now);
        self.carry_out(false, actions);
    }

    fn tick(&mut self) {
        let mut out = Vec::new();
        self.client.tick(self.now, &mut out);
        self.carry_out(true, out);
        let mut out = Vec::new();
        self.server.tick(self.now, &mut out);
        self.carry_out(false, out);
    }

    fn other(&self, of_client: bool, id: ConnectionId) -> Option<ConnectionId> {
        match of_client {
            true => self.accepted.get(&id).copied(),
            false => {
                let mut all = self.accepted.iter();
                all.find(|(_, accepted)| **accepted == id)
                    .map(|(id, _)| *id)
            }
        }
    }

    fn carry_out(&mut self, of_client: bool, actions: Vec<Action>) {
        let mut waiting: VecDeque<_> = actions
            .into_iter()
            .map(|action| (of_client, action))
            .collect();
        while let Some((of_client, action)) = waiting.pop_front() {
            let (event, to_client) = match action {
                Action::Connect(id, remote) => {
                    assert_eq!(remote, HERE);
                    let connection = ConnectionId(ConnectionId::ACCEPTED | id.0);
                    self.accepted.insert(id, connection);
                    let accepted = Event::Accepted {
                        connection,
                        local: HERE,
                        remote: THERE,
                    };
                    let more = handle(&mut self.server, accepted, self.now);
                    waiting.extend(more.into_iter().map(|action| (false, action)));
                    let connected = Event::Connected {
                        connection: id,
                        local: THERE,
                    };
                    (connected, true)
                }
                Action::Send(id, ref bytes) => {
                    let Some(connection) = self.other(of_client, id) else {
                        continue;
                    };
                    (Event::Bytes { connection, bytes }, !of_client)
                }
                Action::Disconnect(id) => {
                    let Some(other) = self.other(of_client, id) else {
                        continue;
                    };
                    let of_client_id = if of_client { id } else { other };
                    self.accepted.remove(&of_client_id);
                    (Event::Ended(other), !of_client)
                }
                report => {
                    let name = if of_client { "client" } else { "server" };
                    self.reports.push((name, report));
                    continue;
                }
            };
            let endpoint = if to_client {
                &mut self.client
            } else {
                &mut self.server
            };
            let more = handle(endpoint, event, self.now);
            waiting.extend(more.into_iter().map(|action| (to_client, action)));
        }
    }

    /// Returns what each end reported, and forgets it.
    fn reports(&mut self) -> Vec<(&'static str, Action)> {
        core::mem::take(&mut self.reports)
    }

    /// Opens a call of client 7. Returns its numbers at client and server.
    fn open(&mut self) -> (u16, u16) {
        self.client(Event::Dial {
            client: 7,
            remote: HERE,
        });
        let reports = self.reports();
        let opened = |name: &str| {
            let mut all = reports.iter().filter(|(end, _)| *end == name);
            match all.next() {
                Some((_, Action::Opened(opened))) => *opened,
                other => panic!("{name}: {other:?}"),
            }
        };
        let (client, server): (Opened, Opened) = (opened("client"), opened("server"));
        assert_eq!(
            (client.call, client.remote_call),
            (server.remote_call, server.call)
        );
        assert_eq!((client.local, client.remote), (THERE, HERE));
        assert_eq!((server.local, server.remote), (HERE, THERE));
        assert_eq!((client.client, server.client), (Some(7), None));
        (client.call, server.call)
    }
}

#[test]
fn a_client_opens_a_call_and_either_end_closes_it() {
    let mut world = World::new();
    let (at_client, call) = world.open();
    world.server(Event::Close(call));
    assert_eq!(
        world.reports(),
        [("client", Action::Closed(at_client, Reason::Peer))]
    );
    let (call, at_server) = world.open();
    world.client(Event::Close(call));
    assert_eq!(
        world.reports(),
        [("server", Action::Closed(at_server, Reason::Peer))]
    );
    assert_eq!(world.server.connection_count(), 0);
    assert_eq!(world.client.connection_count(), 0);
}

#[test]
fn a_disabled_server_refuses_and_ends_its_calls() {
    let mut world = World::new();
    let (at_client, call) = world.open();
    world.server(Event::Configure(Server::default()));
    let reports = world.reports();
    assert!(reports.contains(&("server", Action::Closed(call, Reason::Disabled))));
    assert!(reports.contains(&("client", Action::Closed(at_client, Reason::Peer))));
    world.client(Event::Dial {
        client: 7,
        remote: HERE,
    });
    let reports = world.reports();
    assert!(reports.contains(&("server", Action::Ignored(Fault::Disabled))));
    assert!(reports.contains(&("client", Action::Failed(7, Reason::Connection))));
}

#[test]
fn echoes_keep_a_silent_connection_and_a_dead_one_ends() {
    let mut world = World::new();
    world.open();
    for _ in 0..5 {
        world.now += Duration::from_secs(60);
        world.tick();
        assert_eq!(world.reports(), []);
    }
    // The path is gone: no byte arrives.
    world.accepted.clear();
    for _ in 0..2 {
        world.now += Duration::from_secs(60);
        world.tick();
    }
    let ended = world.reports();
    let ended = ended
        .iter()
        .filter(|(_, action)| matches!(action, Action::Closed(_, Reason::Timeout)));
    assert_eq!(ended.count(), 2);
}

#[test]
fn a_client_without_answer_fails_after_its_time() {
    let mut endpoint = Endpoint::new(Server::default(), Rng::seeded(1));
    let dial = Event::Dial {
        client: 3,
        remote: HERE,
    };
    let actions = handle(&mut endpoint, dial, T0);
    assert_eq!(actions, [Action::Connect(ConnectionId(1), HERE)]);
    let (due, _) = endpoint.deadline().expect("a timer");
    let mut out = Vec::new();
    endpoint.tick(due, &mut out);
    let failed = Action::Failed(3, Reason::Timeout);
    assert_eq!(out, [Action::Disconnect(ConnectionId(1)), failed]);
    assert_eq!(endpoint.deadline(), None);
}

/// Returns a server with one accepted connection that has started.
fn started() -> (Endpoint, ConnectionId) {
    let mut endpoint = Endpoint::new(server(), Rng::seeded(5));
    let connection = ConnectionId(ConnectionId::ACCEPTED);
    accept(&mut endpoint, 0);
    let start = Message::StartRequest(StartFields {
        version: 0x0100,
        result: 0,
        error: 0,
    });
    let bytes = start.build("peer");
    let actions = handle(
        &mut endpoint,
        Event::Bytes {
            connection,
            bytes: &bytes,
        },
        T0,
    );
    assert!(matches!(actions[..], [Action::Send(..)]), "{actions:?}");
    (endpoint, connection)
}

fn accept(endpoint: &mut Endpoint, number: u64) -> Vec<Action> {
    let accepted = Event::Accepted {
        connection: ConnectionId(ConnectionId::ACCEPTED + number),
        local: HERE,
        remote: THERE,
    };
    handle(endpoint, accepted, T0)
}

#[test]
fn messages_out_of_state_and_garbage_are_counted_by_name() {
    let (mut endpoint, connection) = started();
    let mut say = |bytes: &[u8]| handle(&mut endpoint, Event::Bytes { connection, bytes }, T0);
    assert_eq!(
        say(&Message::Clear(9).build("")),
        [Action::Ignored(Fault::State)]
    );
    let mut unknown = Message::StopReply.build("");
    unknown[9] = 99;
    assert_eq!(say(&unknown), [Action::Ignored(Fault::Unknown)]);
    let opened = say(&Message::CallRequest { call: 9, serial: 1 }.build(""));
    assert!(
        matches!(opened[..], [Action::Send(..), Action::Opened(_)]),
        "{opened:?}"
    );
    let second = say(&Message::CallRequest {
        call: 10,
        serial: 2,
    }
    .build(""));
    assert!(matches!(
        second[..],
        [Action::Send(..), Action::Ignored(Fault::Full)]
    ));
    assert_eq!(
        say(&Message::Clear(8).build("")),
        [Action::Ignored(Fault::Call)]
    );
    let ended = say(b"GET / HTTP/1.1\r\n");
    let names: Vec<_> = { ended.iter() }
        .filter(|action| {
            matches!(
                action,
                Action::Ignored(Fault::Malformed) | Action::Closed(..)
            )
        })
        .collect();
    assert_eq!(names.len(), 2, "{ended:?}");
    let after = say(&Message::StopReply.build(""));
    assert_eq!(after, [], "the connection has ended");
}

#[test]
fn connections_without_a_call_are_bounded_and_the_oldest_gives_way() {
    let mut endpoint = Endpoint::new(server(), Rng::seeded(5));
    for number in 0..200 {
        let actions = accept(&mut endpoint, number);
        assert_eq!(actions.is_empty(), number < 128, "{number}");
    }
    assert_eq!(endpoint.connection_count(), 128);
    let (due, _) = endpoint.deadline().expect("a timer");
    let mut out = Vec::new();
    endpoint.tick(due, &mut out);
    assert_eq!(endpoint.connection_count(), 0);
}
