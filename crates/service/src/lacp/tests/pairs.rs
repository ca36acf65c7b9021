//! Two bonds agree, whatever happens to their PDUs.

use machine::Duration;

use super::net::{Net, system};
use crate::lacp::{Event, Link, Mux, Receive, Selected};

const SECOND: Duration = Duration::from_secs(1);

/// Two bonds with this number of cables between them.
fn pair(cables: u16) -> Net {
    let mut net = Net::of(2, |_, _| ());
    for port in 1..=cables {
        net.join((0, port), (1, port + 10));
    }
    net
}

#[test]
fn two_bonds_aggregate_all_links_after_the_wait_time() {
    let mut net = pair(3);
    net.run(SECOND);
    assert_eq!(net.carries(0), [] as [u16; 0], "others may still come");
    net.run(SECOND * 2);

    assert_eq!(net.carries(0), [1, 2, 3]);
    assert_eq!(net.carries(1), [11, 12, 13]);
    assert_eq!(net.into_nothing, Duration::ZERO);
    let aggregate = net.bonds[0].aggregate().expect("one");
    assert_eq!((aggregate.ports, aggregate.partner), (3, Some(system(1))));
    let port = net.port(0, 1);
    assert_eq!((port.partner.system, port.partner.port), (system(1), 11));
    assert_eq!(port.actor.state.0, 0b0011_1101, "all but the time-outs");
}

#[test]
fn bonds_converge_with_loss_duplication_and_reordering() {
    for seed in 0..300 {
        let mut net = Net::new(
            vec![
                crate::lacp::Config::new(system(0)),
                crate::lacp::Config::new(system(1)),
            ],
            seed,
        );
        (net.loss, net.twice, net.slowest) = (30, 20, 1_500);
        for port in 1..=4 {
            net.join((0, port), (1, 5 - port));
        }
        net.run(SECOND * 600);
        net.set_up((0, 2), false);
        net.run(SECOND * 300);
        // A partner expires after three periods and is asked for new data.
        (net.loss, net.twice) = (0, 0);
        net.run(SECOND * 200);

        assert_eq!(net.carries(0), [1, 3, 4], "seed {seed}");
        assert_eq!(net.carries(1), [1, 2, 4], "seed {seed}");
        net.set_up((0, 2), true);
        // The next PDU corrects the effect of a reordered one.
        net.run(SECOND * 60);
        assert_eq!(net.carries(0), [1, 2, 3, 4], "seed {seed}");
    }
}

#[test]
fn a_link_loss_removes_a_port_at_once_and_silence_after_three_periods() {
    for (fast, silent) in [(true, 3), (false, 90)] {
        let mut net = Net::of(2, |_, config| config.fast = fast);
        net.join((0, 1), (1, 1));
        net.join((0, 2), (1, 2));
        net.run(SECOND * 40);
        net.set_up((0, 1), false);
        assert_eq!(net.carries(0), [2]);
        net.set_up((0, 1), true);
        net.run(SECOND * 5);
        assert_eq!(net.carries(0), [1, 2]);

        // Frames of port 1 are lost; the partner notices and announces it.
        net.dead.insert((0, 1));
        net.run(SECOND * (silent + 2));
        assert_eq!((net.carries(0), net.carries(1)), (vec![2], vec![2]));
        assert_ne!(net.port(1, 1).receive, Receive::Current);
    }
}

#[test]
fn the_lacp_rate_sets_the_partners_interval() {
    for (fast, most) in [(true, 2 * 70), (false, 2 * 8)] {
        let mut net = Net::of(2, |_, config| config.fast = fast);
        net.join((0, 1), (1, 1));
        net.run(SECOND * 10);
        let before = net.sent;
        net.run(SECOND * 60);
        let spoken = net.sent - before;
        assert!(
            spoken <= most && spoken >= most / 4,
            "fast {fast}: {spoken}"
        );
    }
}

#[test]
fn two_passive_bonds_stay_silent_and_one_active_end_suffices() {
    let mut net = Net::of(2, |_, config| config.active = false);
    net.join((0, 1), (1, 1));
    net.run(SECOND * 100);
    assert_eq!(net.sent, 0);

    let mut net = Net::of(2, |number, config| config.active = number == 0);
    net.join((0, 1), (1, 1));
    net.join((0, 2), (1, 2));
    net.run(SECOND * 5);
    assert_eq!(net.carries(1), [1, 2]);
}

#[test]
fn ports_of_a_second_partner_stay_inactive_until_the_first_is_gone() {
    let mut net = Net::of(3, |_, _| ());
    net.join((0, 1), (1, 1));
    net.join((0, 2), (1, 2));
    net.join((0, 3), (2, 1));
    net.run(SECOND * 5);
    assert_eq!(net.carries(0), [1, 2]);
    assert_eq!(net.port(0, 3).selected, Selected::Standby);
    assert_eq!(net.carries(2), [] as [u16; 0], "it is told to wait");

    net.set_up((0, 1), false);
    net.set_up((0, 2), false);
    net.run(SECOND / 10);
    assert_eq!((net.carries(0), net.carries(2)), (vec![3], vec![1]));
    net.set_up((0, 1), true);
    net.set_up((0, 2), true);
    net.run(SECOND * 10);
    assert_eq!(net.carries(0), [3], "who serves is not sent away");
}

#[test]
fn links_of_different_speed_are_not_aggregated() {
    let mut net = pair(2);
    net.run(SECOND * 5);
    let slower = Link {
        megabits: 100,
        ..super::net::UP
    };
    net.feed(0, Event::Link(2, slower));
    net.feed(1, Event::Link(12, slower));
    net.run(SECOND * 5);
    assert_eq!(net.carries(0), [1]);
    assert_eq!(net.port(0, 2).selected, Selected::Standby);
    assert_ne!(net.port(0, 1).actor.key, net.port(0, 2).actor.key);

    // A different administrative key on one side has no effect, because all its ports share it.
    let mut net = Net::of(2, |number, config| config.user_key = number as u16 * 7);
    net.join((0, 1), (1, 1));
    net.join((0, 2), (1, 2));
    net.run(SECOND * 5);
    assert_eq!(net.carries(0), [1, 2]);
    assert_eq!(
        net.bonds[0].aggregate().expect("one").partner_key,
        7 << 6 | 9
    );
}

#[test]
fn a_half_duplex_link_is_not_aggregated() {
    let mut net = pair(2);
    let half = Link {
        full_duplex: false,
        ..super::net::UP
    };
    for (bond, ports) in [(0, [1, 2]), (1, [11, 12])] {
        for port in ports {
            net.feed(bond, Event::Link(port, half));
        }
    }
    net.run(SECOND * 10);
    let (one, other) = (net.carries(0), net.carries(1));
    assert_eq!((one.len(), other.len()), (1, 1));
    assert_eq!(net.port(0, one[0]).mux, Mux::Distributing);
}
