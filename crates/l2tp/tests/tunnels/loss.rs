//! Loss, repetition and reordering end in the state that an undisturbed network reaches.

use l2tp::{Event, Reason};
use machine::Duration;
use proptest::prelude::*;

use crate::ethernet::network;
use crate::network::{Faults, Network, Reports, Side};

/// Opens and closes a tunnel over a disturbed network.
fn open_and_close(mut network: Network, faults: Faults, server_closes: bool) {
    network.faults = faults;
    network.dial();
    network.run(Duration::from_secs(60));
    // With a quarter of all datagrams lost, one tunnel in hundreds gives up: it says so, and the other end notices.
    if has_ended(&network.of_client) || has_ended(&network.of_server) {
        assert_ne!(faults.lost, 0, "{:?}", network.of_client);
        network.run(Duration::from_secs(200));
        return assert_empty(&network);
    }
    let (client, server) = network.pair();
    assert_eq!(client.session, server.remote);
    assert_eq!(client.remote, server.session);
    let (side, session) = match server_closes {
        true => (Side::Server, server.session),
        false => (Side::Client, client.session),
    };
    network.handle(side, Event::Close(session));
    network.run(Duration::from_secs(200));
    let (left, right) = (&network.of_client.closed, &network.of_server.closed);
    assert_eq!(left.len() + right.len(), 1, "{left:?} {right:?}");
    assert_empty(&network);
}

/// Returns true if an end gave up: a message had no acknowledgement, or a call did not open in time.
fn has_ended(reports: &Reports) -> bool {
    let failed = reports.failed.iter().map(|(_, reason)| reason);
    let closed = reports.closed.iter().map(|(_, reason)| reason);
    let mut reasons = failed.chain(closed).peekable();
    let has_ended = reasons.peek().is_some();
    for reason in reasons {
        let is_unanswered = match reason {
            Reason::Timeout => true,
            Reason::Peer(result) => result.code == CALL_ERROR,
            _ => false,
        };
        assert!(is_unanswered, "{reason:?}");
    }
    has_ended
}

/// Result code of a call that an error ended (RFC 2661, 4.4.2).
const CALL_ERROR: u16 = 2;

fn assert_empty(network: &Network) {
    assert_eq!(network.client.tunnel_count(), 0);
    assert_eq!(network.server.tunnel_count(), 0);
    assert_eq!(network.server.session_count(), 0);
}

#[test]
fn a_tunnel_that_opens_and_gives_up_leaves_nothing_behind() {
    let faults = Faults {
        lost: 21,
        repeated: 0,
        late: 0,
    };
    for server_closes in [false, true] {
        let network = Network::new(13_935_099_609_265_921_745);
        open_and_close(network, faults, server_closes);
    }
}

proptest! {
    #[test]
    fn disturbed_tunnels_open_and_close_like_undisturbed_ones(
        seed: u64,
        lost in 0u8..25,
        repeated in 0u8..40,
        late in 0u8..40,
        server_closes: bool,
    ) {
        let faults = Faults { lost, repeated, late };
        open_and_close(Network::new(seed), faults, server_closes);
        open_and_close(network(seed), faults, server_closes);
    }
}
