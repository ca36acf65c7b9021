//! A client and the server over loopback sockets: data flow, and both ends report equal figures.

use std::cell::RefCell;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU16, Ordering};

use btest::Password;
use btest::server::{Authentication, Credential, Settings};
use btest::srp::Verifier;
use btest::wire::{Direction, Fill, Protocol};
use machine::Duration;
use netio::WaitSet;

use super::server::Query;
use super::*;

/// Slow enough for a small machine that runs all tests at once.
const SPEED_BPS: u32 = 8_000_000;
/// First UDP port of the next server: each has a range of its own, with that of its client.
static PORTS: AtomicU16 = AtomicU16::new(21_000);

struct World {
    server: RunningServer,
    port: u16,
    /// Results of proofs that arrived during a test.
    proofs: RefCell<Vec<bool>>,
}

impl World {
    fn new(authentication: Authentication, max_sessions: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("bound").port();
        let terms = Terms {
            settings: Settings {
                authentication,
                max_sessions,
            },
            allowed: Default::default(),
            ports_from: PORTS.fetch_add(600, Ordering::Relaxed),
        };
        let wake = WaitSet::new().expect("descriptors").waker();
        let server = RunningServer::start(terms, listener, None, wake).expect("a server");
        Self {
            server,
            port,
            proofs: RefCell::default(),
        }
    }

    /// Answers a question with the verifier of the password `secret`, and notes the result of a proof.
    fn answer(&self, query: Query) {
        match query {
            Query::Attempt {
                connection, user, ..
            } => {
                let known = Credential::Verifier(Verifier::of(&user, "secret", [7; 16]));
                self.server.order(Order::Credential(connection, known));
            }
            Query::Proof(_, is_right) => self.proofs.borrow_mut().push(is_right),
            Query::Ended(_) => {}
        }
    }

    /// Runs a test, and answers the server's questions. Returns the last progress, and the sessions of the server at
    /// its last report before.
    fn run(&self, test: &Test) -> (BandwidthProgress, Vec<btest::server::View>) {
        let (mut last, mut seen) = (not_started(), Vec::new());
        let mut report = |progress| {
            last = progress;
            let sessions = self.server.sessions();
            if !sessions.is_empty() {
                seen = sessions;
            }
            for query in self.server.queries.try_iter() {
                self.answer(query);
            }
        };
        let stop = Interrupt::default();
        client::run(test, self.port, None, &stop, &mut report).expect("sockets");
        (last, seen)
    }
}

fn test(protocol: Protocol, direction: Direction, connections: u8) -> Test {
    Test {
        server: Ipv4Addr::LOCALHOST.into(),
        protocol,
        direction,
        fill: Fill::Random,
        local_size: 0,
        remote_size: 0,
        local_speed_bps: SPEED_BPS.into(),
        remote_speed_bps: SPEED_BPS.into(),
        connections,
        user: "admin".to_owned(),
        password: Password::from("secret"),
        duration: Some(Duration::from_millis(2_300)),
    }
}

fn every_direction(protocol: Protocol, authentication: Authentication) {
    let world = World::new(authentication, 100);
    for direction in [Direction::Receive, Direction::Transmit, Direction::Both] {
        for connections in [1, 5] {
            let what = format!("{protocol:?} {authentication:?} {direction:?} {connections}");
            let (end, sessions) = world.run(&test(protocol, direction, connections));

            assert_eq!(end.status, Status::Done, "{what}: {:?}", end.reason);
            let figures = end.figures;
            let limit = u64::from(SPEED_BPS);
            let fits = |bps: u64| bps > 0 && bps < limit * 5 / 4;
            if direction.server_sends() {
                assert!(fits(figures.rx.total_average_bps), "{what}: {figures:?}");
                assert_eq!(figures.lost_packets, 0, "{what}");
            }
            if direction.client_sends() {
                assert!(fits(figures.tx.total_average_bps), "{what}: {figures:?}");
            }
            assert_eq!(sessions.len(), 1, "{what}");
            assert_eq!(sessions[0].command.direction, direction, "{what}");
        }
    }
}

#[test]
fn tcp_tests_carry_data_in_every_direction() {
    every_direction(Protocol::Tcp, Authentication::None);
}

#[test]
fn tcp_tests_authenticate_by_the_verifier() {
    every_direction(Protocol::Tcp, Authentication::EcSrp5);
}

#[test]
fn udp_tests_carry_data_in_every_direction() {
    every_direction(Protocol::Udp, Authentication::None);
}

#[test]
fn udp_tests_authenticate_by_the_verifier() {
    every_direction(Protocol::Udp, Authentication::EcSrp5);
}

#[test]
fn a_wrong_password_is_refused_and_reported() {
    let world = World::new(Authentication::EcSrp5, 100);
    let mut test = test(Protocol::Tcp, Direction::Both, 1);
    test.password = Password::from("other");

    let (end, _) = world.run(&test);

    assert_eq!(end.status, Status::AuthenticationFailed);
    let timeout = Duration::from_secs(60);
    while world.proofs.borrow().is_empty() {
        let query = world.server.queries.recv_timeout(timeout);
        world.answer(query.expect("a report"));
    }
    assert_eq!(world.proofs.take(), [false]);
}

#[test]
fn a_full_server_is_busy_and_no_server_is_no_connection() {
    let busy = World::new(Authentication::None, 0);
    let mut test = test(Protocol::Tcp, Direction::Receive, 1);
    let (end, _) = busy.run(&test);
    assert_eq!(end.status, Status::RemoteBusy);

    test.server = Ipv4Addr::new(127, 1, 2, 3).into();
    let (end, _) = busy.run(&test);
    assert_eq!(end.status, Status::CanNotConnect);
}

#[test]
fn a_client_that_goes_ends_its_session() {
    let world = World::new(Authentication::None, 100);
    let stop = Interrupt::default();
    let mut endless = test(Protocol::Udp, Direction::Both, 2);
    endless.duration = None;
    let mut was_running = false;
    let mut report = |progress: BandwidthProgress| {
        was_running |= progress.status == Status::Running;
        if was_running && progress.figures.duration > Duration::from_secs(1) {
            stop.close();
        }
    };
    client::run(&endless, world.port, None, &stop, &mut report).expect("sockets");

    assert!(was_running);
    let (end, sessions) = world.run(&test(Protocol::Tcp, Direction::Receive, 1));
    assert_eq!(end.status, Status::Done);
    assert_eq!(
        sessions.len(),
        1,
        "the first session has gone: {sessions:?}"
    );
}

/// Returns the processor time of the calling thread in nanoseconds, as the kernel's scheduler counts it (proc(5)).
fn spent_ns() -> u64 {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a thread");
    let first = schedstat.split_whitespace().next().expect("a number");
    first.parse().expect("a number")
}

#[test]
fn the_reported_share_of_a_core_is_that_of_the_scheduler() {
    let world = World::new(Authentication::None, 100);
    let mut fast = test(Protocol::Tcp, Direction::Receive, 1);
    (fast.local_speed_bps, fast.remote_speed_bps) = (0, 0);
    let (begin, before) = (std::time::Instant::now(), spent_ns());
    let (end, _) = world.run(&fast);
    let (nanos, spent) = (begin.elapsed().as_nanos() as f64, spent_ns() - before);
    let percent = spent as f64 / nanos * 100.0;
    assert!(percent > 1.0, "{percent}");
    let difference = (percent - end.test_cpu_percent as f64).abs();
    assert!(difference <= 3.0, "{percent} {}", end.test_cpu_percent);
}

#[test]
fn datagrams_without_a_limit_are_sent_together_and_counted() {
    let world = World::new(Authentication::None, 100);
    let mut fast = test(Protocol::Udp, Direction::Transmit, 1);
    fast.local_speed_bps = 0;
    let (end, sessions) = world.run(&fast);
    assert_eq!(end.status, Status::Done, "{:?}", end.reason);
    assert!(end.figures.tx.total_average_bps > 0, "{end:?}");
    assert_eq!(sessions.len(), 1);
}
