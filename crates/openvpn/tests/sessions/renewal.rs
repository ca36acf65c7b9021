//! Keepalive, renewal of keys, and moves to another address.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use machine::{Duration, Instant};
use openvpn::{
    ClientEvent, Job, Path, Reason, Renegotiation, Runner, ServerEvent, TlsConfig, Traffic,
};

use crate::certificates::Certificates;
use crate::network::{Faults, Network, address, client_settings, path, reversed, server_settings};

fn connected(renegotiation: Renegotiation) -> Network {
    let certificates = Certificates::new();
    let mut server = server_settings(&certificates);
    server.renegotiation = renegotiation;
    let mut network = Network::with(1, server);
    network.connect(client_settings(&certificates));
    network.run(Duration::from_secs(5));
    network.assert_keyed(0);
    network
}

fn every(seconds: u64) -> Renegotiation {
    Renegotiation {
        after: Some(Duration::from_secs(seconds)),
        bytes: None,
    }
}

#[test]
fn keys_are_renewed_by_time_and_their_numbers_cycle() {
    let mut network = connected(every(100));
    let started = network.now;
    for (round, key_id) in [1, 2, 3, 4, 5, 6, 7, 1, 2].into_iter().enumerate() {
        let until = started + Duration::from_secs(100) * (round as u32 + 1);
        network.run(until - network.now);
        network.assert_keyed(key_id);
        // The replaced key still decrypts.
        assert_eq!(network.of_client.keys.len(), 2);
        assert_eq!(network.of_server.keys.len(), 2);
    }
    assert!(network.of_client.closed.is_empty() && network.of_server.closed.is_empty());
    network.run(Duration::from_secs(60));
}

#[test]
fn a_replaced_key_is_retired_after_an_hour() {
    let mut network = connected(every(5000));
    network.run(Duration::from_secs(5100));
    network.assert_keyed(1);
    assert_eq!(network.of_server.keys.len(), 2);
    network.run(Duration::from_secs(3600));
    assert_eq!(network.of_server.keys.len(), 1);
    assert_eq!(network.of_client.keys.len(), 1);
}

#[test]
fn keys_are_renewed_by_bytes_at_either_end() {
    let limited = Renegotiation {
        after: None,
        bytes: Some(1_000_000),
    };
    let mut network = connected(limited);
    let session = network.pair().1.session;
    let traffic = |key_bytes| Traffic {
        key_bytes,
        ..Traffic::default()
    };
    network.run(Duration::from_secs(10));
    network.at_server(ServerEvent::Traffic(session, traffic(999_999)));
    network.run(Duration::from_secs(10));
    network.assert_keyed(0);
    network.at_server(ServerEvent::Traffic(session, traffic(1_000_000)));
    network.run(Duration::from_secs(10));
    network.assert_keyed(1);
    let exhausted = Traffic {
        is_exhausted: true,
        ..Traffic::default()
    };
    network.at_client(ClientEvent::Traffic(exhausted));
    network.run(Duration::from_secs(10));
    network.assert_keyed(2);
}

#[test]
fn renewals_survive_a_disturbed_network_and_both_ends_at_once() {
    let mut network = connected(every(50));
    let session = network.pair().1.session;
    let exhausted = Traffic {
        is_exhausted: true,
        ..Traffic::default()
    };
    network.run(Duration::from_secs(10));
    network.at_server(ServerEvent::Traffic(session, exhausted));
    network.at_client(ClientEvent::Traffic(exhausted));
    network.run(Duration::from_secs(10));
    network.assert_keyed(1);
    network.faults = Faults {
        lost: 15,
        repeated: 20,
        late: 20,
    };
    network.run(Duration::from_secs(400));
    network.faults = Faults::default();
    network.run(Duration::from_secs(45));
    assert!(
        network.of_client.closed.is_empty(),
        "{:?}",
        network.of_client.closed
    );
    let key = network.of_client.sending[&0];
    network.assert_keyed(key);
}

#[test]
fn idle_ends_ping_and_a_dead_end_is_noticed() {
    let mut network = connected(every(100_000));
    network.run(Duration::from_secs(1000));
    assert!(
        (99..=101).contains(&network.of_client.pings),
        "{}",
        network.of_client.pings
    );
    assert!((99..=101).contains(&network.of_server.pings));
    // The client is gone, without a word.
    let before = network.now;
    network.client = openvpn::Client::new(machine::Rng::seeded(9));
    while network.of_server.closed.is_empty() {
        assert!(network.step(Instant::FAR_FUTURE));
    }
    assert_eq!(network.of_server.closed[0].1, Reason::Timeout);
    let after = (network.now - before).as_secs();
    assert!((110..=121).contains(&after), "{after}");
}

#[test]
fn a_session_moves_with_its_data_and_renews_its_keys_at_the_new_address() {
    let mut network = connected(every(100));
    let session = network.pair().1.session;
    let moved = Path {
        remote: address("203.0.113.9:5000"),
        ..reversed(&path())
    };
    network.at_server(ServerEvent::Moved(session, moved));
    network.run(Duration::from_secs(97));
    // The reset leaves for the new address.
    network.flying.clear();
    while network.flying.is_empty() {
        assert!(network.step(Instant::FAR_FUTURE));
    }
    let (_, seen, _) = network.flying.values().next().expect("a packet");
    assert_eq!(seen.local, moved.remote);
}

/// Jobs of handshakes; each waits for so many others before it runs.
type Jobs = Arc<Mutex<VecDeque<Job>>>;

fn elsewhere(config: TlsConfig, jobs: &Jobs) -> TlsConfig {
    let jobs = Arc::clone(jobs);
    let runner = Runner::new(move |job| {
        jobs.lock().expect("no panic").push_back(job);
        Ok(())
    });
    TlsConfig::Elsewhere(Box::new(config), runner)
}

#[test]
fn handshakes_that_run_elsewhere_hold_up_only_their_session() {
    let certificates = Certificates::new();
    let jobs = Jobs::default();
    let mut server = server_settings(&certificates);
    server.renegotiation = every(100);
    server.tls = elsewhere(server.tls, &jobs);
    let mut client = client_settings(&certificates);
    client.tls = elsewhere(client.tls, &jobs);
    let mut network = Network::with(1, server);
    network.connect(client);
    let run = |network: &mut Network, seconds| {
        let mut most = 0;
        // A job runs 30 ms after it was queued at the earliest.
        for _ in 0..seconds * 33 {
            network.run(Duration::from_millis(30));
            let queued = core::mem::take(&mut *jobs.lock().expect("no panic"));
            most = most.max(queued.len());
            queued.into_iter().for_each(|job| job());
        }
        most
    };
    assert!(run(&mut network, 5) > 0, "TLS ran elsewhere");
    network.assert_keyed(0);
    run(&mut network, 110);
    network.assert_keyed(1);
    assert!(network.of_client.closed.is_empty() && network.of_server.closed.is_empty());
}

#[test]
fn a_handshake_that_nobody_runs_ends_the_session_in_words() {
    let certificates = Certificates::new();
    let mut server = server_settings(&certificates);
    let runner = Runner::new(|_| Err(String::from("the token is busy")));
    server.tls = TlsConfig::Elsewhere(Box::new(server.tls), runner);
    let mut network = Network::with(1, server);
    network.connect(client_settings(&certificates));
    network.run(Duration::from_secs(5));
    let closed = network.of_server.closed.first().expect("a reason");
    assert!(
        format!("{closed:?}").contains("the token is busy"),
        "{closed:?}"
    );
}
