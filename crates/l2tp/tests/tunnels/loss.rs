//! Loss, repetition and reordering end in the state that an undisturbed network reaches.

use l2tp::{Event, Reason};
use machine::Duration;
use proptest::prelude::*;

use crate::network::{Faults, Network, Side};

proptest! {
    #[test]
    fn disturbed_tunnels_open_and_close_like_undisturbed_ones(
        seed: u64,
        lost in 0u8..25,
        repeated in 0u8..40,
        late in 0u8..40,
        server_closes: bool,
    ) {
        let mut network = Network::new(seed);
        network.faults = Faults { lost, repeated, late };
        network.dial();
        network.run(Duration::from_secs(60));
        // With a quarter of all datagrams lost, one tunnel in thousands gives up: it says so.
        if let [(client, reason)] = &network.of_client.failed[..] {
            prop_assert_eq!((client, reason), (&1, &Reason::Timeout));
            return Ok(());
        }
        let (client, server) = network.pair();
        prop_assert_eq!(client.session, server.remote);
        prop_assert_eq!(client.remote, server.session);
        let (side, session) = match server_closes {
            true => (Side::Server, server.session),
            false => (Side::Client, client.session),
        };
        network.handle(side, Event::Close(session));
        network.run(Duration::from_secs(200));
        let (left, right) = (&network.of_client.closed, &network.of_server.closed);
        prop_assert_eq!(left.len() + right.len(), 1, "{:?} {:?}", left, right);
        prop_assert_eq!(network.client.tunnel_count(), 0);
        prop_assert_eq!(network.server.tunnel_count(), 0);
        prop_assert_eq!(network.server.session_count(), 0);
    }
}
