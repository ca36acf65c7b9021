//! Exchanges of IKEv1.

use ike::{
    Auth, Event, Exchange, GeneratePolicy, Group, Hash, Id, Mode, RemoteId, Secret, Side, State,
    Why,
};
use machine::Duration;

use crate::world::{PEER, POLICY, PUBLIC, World, address, identity, peer, policy, psk, selector};

#[test]
fn main_and_quick_mode_give_both_sides_the_same_keys() {
    for mode in [Mode::Transport, Mode::Tunnel] {
        let mut world = World::between(1, Exchange::Main, mode);
        world.until("pairs", 5, World::both_have_pairs);
        let child = world.sides[0].active().expect("a pair");
        assert_eq!(child.suite.encryption.name(), "aes-256-cbc");
        assert_eq!(child.inbound.encryption_key.bytes().len(), 32);
        assert_eq!(child.inbound.authentication_key.bytes().len(), 20);
        assert!(!child.natt);
        assert_eq!(child.selectors.len(), 1);
        let row = world.sides[1].engine.peers().next().expect("a peer");
        assert_eq!(
            (row.side, row.state, row.children),
            (Side::Responder, State::Established, 1)
        );
        assert_eq!(row.remote_id, Some(Id::Address(address("192.0.2.1"))));
    }
}

#[test]
fn every_group_and_cipher_works_for_phase_1() {
    for (group, hash) in [
        (Group::Modp1024, Hash::Md5),
        (Group::Modp2048, Hash::Sha256),
        (Group::Ecp256, Hash::Sha384),
        (Group::Ecp384, Hash::Sha512),
        (Group::Ecp521, Hash::Sha1),
    ] {
        let mut world = World::new(3);
        for (side, own, other) in [
            (0, "192.0.2.1", "198.51.100.2"),
            (1, "198.51.100.2", "192.0.2.1"),
        ] {
            let mut peer = peer(&format!("{other}/32"), Exchange::Main);
            peer.profile.groups = vec![group];
            peer.profile.hash = vec![hash];
            peer.passive = side == 1;
            let mut policy = policy(
                &format!("{own}/32"),
                &format!("{other}/32"),
                Mode::Transport,
            );
            policy.proposal.pfs = None;
            world.policy(side, policy);
            world.peer(side, peer);
        }
        world.until("pairs", 5, World::both_have_pairs);
    }
}

#[test]
fn a_lossy_network_only_delays() {
    for seed in 0..30 {
        let mut world = World::between(seed, Exchange::Main, Mode::Tunnel);
        (world.loss, world.repeat) = (25, 25);
        world.until("pairs", 400, World::both_have_pairs);
    }
}

#[test]
fn rekeying_leaves_no_moment_without_an_sa() {
    for seed in 0..10 {
        let mut world = World::between(seed, Exchange::Main, Mode::Tunnel);
        world.until("pairs", 5, World::both_have_pairs);
        (world.loss, world.repeat) = (15, 15);
        let first = world.sides[0].active().expect("a pair").id;
        // `World::check` verifies after every step that both sides can receive.
        for _ in 0..3600 {
            world.run(1);
            assert!(world.both_have_pairs());
        }
        assert_ne!(world.sides[0].active().expect("a pair").id, first);
        assert!(world.sides[0].removed.contains(&Why::Replaced));
        assert!(world.sides[0].children.len() <= 2);
    }
}

#[test]
fn phase_1_is_renewed_and_keeps_the_pairs() {
    let mut world = World::new(5);
    for (side, own, other) in [
        (0, "192.0.2.1", "198.51.100.2"),
        (1, "198.51.100.2", "192.0.2.1"),
    ] {
        let mut peer = peer(&format!("{other}/32"), Exchange::Main);
        peer.profile.lifetime = Duration::from_secs(600);
        peer.passive = side == 1;
        world.policy(
            side,
            policy(
                &format!("{own}/32"),
                &format!("{other}/32"),
                Mode::Transport,
            ),
        );
        world.peer(side, peer);
    }
    world.until("pairs", 5, World::both_have_pairs);
    let first = world.sides[0].engine.peers().next().expect("a peer").id;
    for _ in 0..3000 {
        world.run(1);
        assert!(world.both_have_pairs());
    }
    let rows: Vec<_> = world.sides[0].engine.peers().collect();
    assert!(rows.iter().all(|row| row.id != first), "{rows:?}");
    let expected = |why: &Why| matches!(why, Why::Replaced | Why::Deleted);
    assert!(world.sides[1].removed.iter().all(expected));
}

#[test]
fn behind_a_translator_it_moves_to_port_4500() {
    let mut world = World::new(7);
    world.translated = true;
    let mut initiator = peer("198.51.100.2/32", Exchange::Main);
    initiator.local = Some(address("192.0.2.1"));
    let mut responder = peer("0.0.0.0/0", Exchange::Main);
    responder.identities[0].remote_id = RemoteId::Ignore;
    responder.identities[0].generate_policy = GeneratePolicy::PortStrict;
    world.policy(
        0,
        policy("192.0.2.1/32", "198.51.100.2/32", Mode::Transport),
    );
    let mut template = policy("0.0.0.0/0", "0.0.0.0/0", Mode::Transport);
    (template.peer, template.template, template.protocol) = (None, Some("default".into()), 0);
    world.policy(1, template);
    world.peer(1, responder);
    world.peer(0, initiator);
    world.until("pairs", 5, World::both_have_pairs);
    let child = world.sides[1].active().expect("a pair");
    assert!(child.natt && child.generated);
    assert_eq!(child.remote.to_string(), format!("{PUBLIC}:44500"));
    assert_eq!(child.selectors[0].1, selector(&format!("{PUBLIC}/32"), 0));
    assert_eq!(
        child.original,
        Some((address("198.51.100.2"), address("192.0.2.1")))
    );
    let child = world.sides[0].active().expect("a pair");
    assert_eq!(
        (child.local.port(), child.remote.port(), child.natt),
        (4500, 4500, true)
    );
    world.run(1700);
    assert!(
        world.both_have_pairs(),
        "generated policies are replaced, too"
    );
}

#[test]
fn aggressive_mode_finds_the_secret_by_identity() {
    let mut world = World::new(8);
    world.translated = true;
    let mut initiator = peer("198.51.100.2/32", Exchange::Aggressive);
    initiator.local = Some(address("192.0.2.1"));
    initiator.identities[0].my_id = Some(Id::Fqdn("two".into()));
    let mut responder = peer("0.0.0.0/0", Exchange::Aggressive);
    let mut other = identity(Auth::Psk(Secret::new(b"another".as_slice())));
    other.remote_id = RemoteId::Is(Id::Fqdn("one".into()));
    let mut right = psk();
    right.remote_id = RemoteId::Is(Id::Fqdn("two".into()));
    responder.identities = vec![other, right];
    world.policy(0, policy("10.1.0.0/16", "10.2.0.0/16", Mode::Tunnel));
    world.policy(1, policy("10.2.0.0/16", "10.1.0.0/16", Mode::Tunnel));
    world.peer(1, responder);
    world.peer(0, initiator);
    world.until("pairs", 5, World::both_have_pairs);
    let row = world.sides[1].engine.peers().next().expect("a peer");
    assert_eq!(row.remote_id, Some(Id::Fqdn("two".into())));
}

#[test]
fn a_different_secret_fails() {
    let mut world = World::between(9, Exchange::Main, Mode::Tunnel);
    let mut wrong = peer("192.0.2.1/32", Exchange::Main);
    wrong.passive = true;
    wrong.identities = vec![identity(Auth::Psk(Secret::new(b"wrong".as_slice())))];
    world.peer(1, wrong);
    world.until("it fails", 200, |world| {
        world.sides[0].failed.contains(&Why::Unreachable)
    });
    assert!(world.sides.iter().all(|side| side.children.is_empty()));
    assert!(world.sides[1].engine.counters()["ike1-undecipherable"] > 0);
}

#[test]
fn an_unsupported_proposal_is_refused_and_logged() {
    let mut world = World::between(10, Exchange::Main, Mode::Tunnel);
    let mut other = peer("192.0.2.1/32", Exchange::Main);
    other.profile.hash = vec![Hash::Sha512];
    other.passive = true;
    world.peer(1, other);
    world.run(5);
    let log = world.sides[0].actions.join("\n");
    assert!(log.contains("NO-PROPOSAL-CHOSEN"), "{log}");

    let mut world = World::between(11, Exchange::Main, Mode::Tunnel);
    let mut other = policy("10.2.0.0/16", "10.1.0.0/16", Mode::Tunnel);
    other.proposal.auth = vec![Hash::Sha512];
    world.policy(1, other);
    world.until("it fails", 20, |world| {
        world.sides[0].failed.contains(&Why::NoProposal)
    });
    world.policy(1, policy("10.3.0.0/16", "10.1.0.0/16", Mode::Tunnel));
    world.until("it fails", 20, |world| {
        world.sides[0].failed.contains(&Why::NoTraffic)
    });
    world.policy(1, policy("10.2.0.0/16", "10.1.0.0/16", Mode::Tunnel));
    world.until("pairs", 20, World::both_have_pairs);
}

#[test]
fn a_dead_peer_is_detected_and_retried() {
    let mut world = World::between(12, Exchange::Main, Mode::Tunnel);
    world.until("pairs", 5, World::both_have_pairs);
    world.cut = true;
    world.checked = false;
    world.until("both notice", 60, |world| {
        world
            .sides
            .iter()
            .all(|side| side.closed.contains(&Why::Unreachable) && side.children.is_empty())
    });
    world.cut = false;
    world.checked = true;
    world.until("pairs", 100, World::both_have_pairs);
}

#[test]
fn an_sa_removed_on_one_side_is_removed_on_the_other() {
    let mut world = World::between(13, Exchange::Main, Mode::Tunnel);
    world.until("pairs", 5, World::both_have_pairs);
    world.checked = false;
    world.event(0, Event::Flush);
    world.until("removed", 1, |world| {
        world.sides[1].removed == [Why::Deleted]
    });
    world.until("made again", 15, World::both_have_pairs);
    let sa = world.sides[1].engine.peers().next().expect("a peer").id;
    world.event(1, Event::Kill(sa));
    world.until("closed", 1, |world| world.sides[0].closed == [Why::Deleted]);
    world.until("made again", 15, World::both_have_pairs);
    assert_eq!(world.sides[0].established(), 1);
    world.event(0, Event::Policy(POLICY, None));
    world.until("removed", 1, |world| world.sides[1].children.is_empty());
    world.event(0, Event::Peer(PEER, None));
    world.until("closed", 1, |world| world.sides[1].established() == 0);
}

#[test]
fn both_sides_may_initiate_simultaneously() {
    for seed in 0..10 {
        let mut world = World::new(seed);
        world.peer(0, peer("198.51.100.2/32", Exchange::Main));
        world.peer(1, peer("192.0.2.1/32", Exchange::Main));
        world.policy(
            0,
            policy("192.0.2.1/32", "198.51.100.2/32", Mode::Transport),
        );
        world.policy(
            1,
            policy("198.51.100.2/32", "192.0.2.1/32", Mode::Transport),
        );
        world.until("pairs", 20, World::both_have_pairs);
        for _ in 0..4000 {
            world.run(1);
            assert!(world.both_have_pairs());
        }
        assert!(world.sides.iter().all(|side| side.children.len() <= 4));
    }
}
