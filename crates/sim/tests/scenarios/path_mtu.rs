//! Paths with a narrow link in the middle.

use sim::{Line, Received};

use crate::{Chain, SERVERS, chain, errors, seconds};

/// Builds a chain with a middle MTU of 1,400 bytes.
fn narrow(seed: u64) -> Chain {
    let line = Line {
        mtu: 1400,
        ..Line::default()
    };
    let mut chain = chain(seed, line, 1);
    for router in [chain.west, chain.east] {
        chain
            .world
            .run_on(router, "/interface ethernet set ether2 mtu=1400");
    }
    chain
}

#[test]
fn streams_discover_the_path_mtu_in_both_directions() {
    let Chain {
        mut world,
        client,
        server,
        ..
    } = narrow(1);
    for to in SERVERS {
        world.at(client).stream(to, 100_000);
    }
    for to in ["10.1.0.2", "2001:db8:1::2"] {
        world.at(server).stream(to, 100_000);
    }

    let done = world.run_until(seconds(60), |world| {
        let mut hosts = [client, server].into_iter();
        hosts.all(|host| world.at(host).streams().iter().all(|s| s.is_done()))
    });

    assert!(done);
    assert_eq!(world.fault.too_large, 0);
    for to in SERVERS {
        assert_eq!(world.at(client).path_mtu(to), 1400, "{to}");
    }
    let told = errors(&mut world, client);
    assert!(
        told.contains(&("10.1.0.1".to_owned(), 3, 4, 1400)),
        "{told:?}"
    );
    let told_by = "2001:db8:1::1".to_owned();
    assert!(told.contains(&(told_by, 2, 0, 1400)), "{told:?}");
}

#[test]
fn packets_without_df_are_fragmented() {
    let Chain {
        mut world,
        client,
        server,
        ..
    } = narrow(2);

    world.at(client).send_udp("10.2.0.2", 9, 1472);
    world.run(seconds(2));

    let whole = |heard: &Received| matches!(heard, Received::Udp { len: 1472, .. });
    assert!(world.at(server).heard.iter().any(whole));
    assert_eq!(world.at(server).reassembled, 1);
    assert_eq!(world.fault.too_large, 0);
}
