//! Exchanges of IKEv2.

use ike::{
    Auth, EapLogin, EapMethod, EapServer, Encryption, Event, Exchange, GeneratePolicy, Group, Id,
    Kind, Mode, ModeConfig, RemoteId, Secret, Settings, Side, State, Why,
};
use machine::Duration;

use crate::keys::{Key, certified, slow};
use crate::world::{POLICY, PUBLIC, World, address, identity, peer, policy, psk, selector};

#[test]
fn a_secret_gives_both_sides_the_same_keys() {
    for mode in [Mode::Transport, Mode::Tunnel] {
        let mut world = World::between(1, Exchange::Ike2, mode);
        world.until("pairs", 5, World::both_have_pairs);
        let child = world.sides[0].active().expect("a pair");
        assert_eq!(
            (child.suite.encryption.name(), child.mode),
            ("aes-256-cbc", mode)
        );
        let row = world.sides[1].engine.peers().next().expect("a peer");
        assert_eq!(
            (row.side, row.state, row.children),
            (Side::Responder, State::Established, 1)
        );
        assert_eq!(world.sent, 4, "two exchanges");
    }
}

#[test]
fn a_lossy_network_only_delays() {
    for seed in 0..30 {
        let mut world = World::between(seed, Exchange::Ike2, Mode::Tunnel);
        (world.loss, world.repeat) = (25, 25);
        world.until("pairs", 400, World::both_have_pairs);
    }
}

/// Runs pairs and IKE SAs with short lifetimes, and checks every second of an hour.
fn short_lives(seed: u64, loss: u8, both_begin: bool) {
    let mut world = World::new(seed);
    for (side, own, other) in [
        (0, "192.0.2.1", "198.51.100.2"),
        (1, "198.51.100.2", "192.0.2.1"),
    ] {
        let mut peer = peer(&format!("{other}/32"), Exchange::Ike2);
        peer.profile.lifetime = Duration::from_secs(600);
        peer.passive = side == 1 && !both_begin;
        let mut policy = policy(
            &format!("{own}/32"),
            &format!("{other}/32"),
            Mode::Transport,
        );
        policy.proposal.lifetime = Duration::from_secs(300);
        world.policy(side, policy);
        world.peer(side, peer);
    }
    world.until("pairs", 60, World::both_have_pairs);
    world.loss = loss;
    world.repeat = loss;
    let first = world.sides[0].engine.peers().next().expect("a peer").id;
    for second in 0..3600 {
        world.run(1);
        assert!(world.both_have_pairs(), "seed {seed}, second {second}");
    }
    world.loss = 0;
    world.run(200);
    assert!(world.sides[0].engine.peers().all(|row| row.id != first));
    for side in &world.sides {
        assert!(
            side.children.len() <= 4,
            "seed {seed}: {} pairs",
            side.children.len()
        );
        assert!(
            side.closed
                .iter()
                .all(|why| [Why::Replaced, Why::Deleted].contains(why)),
            "{:?}",
            side.closed
        );
    }
}

#[test]
fn pairs_and_ike_sas_are_replaced_without_an_instant_without_one() {
    for seed in 0..8 {
        short_lives(seed, 0, false);
        short_lives(seed, 20, false);
        short_lives(seed, 20, true);
    }
}

#[test]
fn both_sides_may_rekey_at_once() {
    for seed in 0..40 {
        let mut world = World::between(seed, Exchange::Ike2, Mode::Tunnel);
        world.until("pairs", 5, World::both_have_pairs);
        if seed % 2 == 1 {
            (world.loss, world.repeat) = (20, 20);
        }
        for _ in 0..5 {
            let active = [0, 1].map(|side| world.sides[side].active().expect("a pair").id);
            world.event(0, Event::Spent(active[0]));
            world.event(1, Event::Spent(active[1]));
            world.run(100);
        }
        world.loss = 0;
        world.run(100);
        for side in &world.sides {
            assert_eq!(side.children.len(), 1, "seed {seed}");
            assert!(side.closed.is_empty(), "{:?}", side.closed);
        }
    }
}

#[test]
fn the_initiator_switches_to_the_responders_group() {
    let mut world = World::between(3, Exchange::Ike2, Mode::Tunnel);
    let mut initiator = peer("198.51.100.2/32", Exchange::Ike2);
    initiator.local = Some(address("192.0.2.1"));
    initiator.profile.groups = vec![Group::Modp2048, Group::Ecp256];
    let mut responder = peer("192.0.2.1/32", Exchange::Ike2);
    responder.passive = true;
    responder.profile.groups = vec![Group::Ecp256];
    world.peer(1, responder);
    world.peer(0, initiator);
    world.until("pairs", 15, World::both_have_pairs);
    let row = world.sides[0].engine.peers().next().expect("a peer");
    assert_eq!(row.suite.expect("agreed").3, Group::Ecp256);
}

#[test]
fn many_half_open_sas_trigger_cookies() {
    let mut world = World::between(4, Exchange::Ike2, Mode::Tunnel);
    let settings = Settings {
        cookie_threshold: 0,
        ..Settings::default()
    };
    world.event(1, Event::Settings(settings));
    world.until("pairs", 5, World::both_have_pairs);
    assert_eq!(world.sides[1].engine.counters()["ike2-cookie"], 1);
    assert_eq!(world.sent, 6);
}

#[test]
fn aead_ciphers_are_negotiated() {
    for encryption in [
        Encryption::new(Kind::AesGcm, 256),
        Encryption::new(Kind::ChaCha20Poly1305, 256),
        Encryption::new(Kind::AesCtr, 128),
        Encryption::new(Kind::TripleDes, 192),
        Encryption::new(Kind::Camellia, 192),
    ] {
        let mut world = World::between(5, Exchange::Ike2, Mode::Tunnel);
        for (side, own, other) in [
            (0, "10.1.0.0/16", "10.2.0.0/16"),
            (1, "10.2.0.0/16", "10.1.0.0/16"),
        ] {
            let mut policy = policy(own, other, Mode::Tunnel);
            policy.proposal.encryption = vec![encryption, Encryption::new(Kind::AesCbc, 256)];
            world.policy(side, policy);
        }
        world.until("pairs", 30, |world| {
            world.both_have_pairs()
                && world.sides[0].active().map(|child| child.suite.encryption) == Some(encryption)
        });
        let child = world.sides[0].active().expect("a pair");
        assert_eq!(
            child.inbound.encryption_key.bytes().len(),
            encryption.key_len()
        );
        assert_eq!(
            child.inbound.authentication_key.bytes().is_empty(),
            encryption.is_aead()
        );
    }
}

#[test]
fn behind_a_translator_transport_mode_is_of_the_ends() {
    let mut world = World::new(7);
    world.translated = true;
    let mut initiator = peer("198.51.100.2/32", Exchange::Ike2);
    initiator.local = Some(address("192.0.2.1"));
    let mut responder = peer("0.0.0.0/0", Exchange::Ike2);
    responder.identities[0].generate_policy = GeneratePolicy::PortStrict;
    world.policy(
        0,
        policy("192.0.2.1/32", "198.51.100.2/32", Mode::Transport),
    );
    let mut template = policy("::/0", "::/0", Mode::Transport);
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
    world.run(4000);
    assert!(world.both_have_pairs());
}

#[test]
fn a_different_secret_fails() {
    let mut world = World::between(9, Exchange::Ike2, Mode::Tunnel);
    let mut wrong = peer("192.0.2.1/32", Exchange::Ike2);
    wrong.passive = true;
    wrong.identities = vec![identity(Auth::Psk(Secret::new(b"wrong".as_slice())))];
    world.peer(1, wrong);
    world.until("it fails", 20, |world| {
        world.sides[0].failed.contains(&Why::Authentication)
    });
    assert!(world.sides.iter().all(|side| side.children.is_empty()));
}

#[test]
fn failed_negotiations_are_reported() {
    let mut world = World::between(10, Exchange::Ike2, Mode::Tunnel);
    let mut other = policy("10.2.0.0/16", "10.1.0.0/16", Mode::Tunnel);
    other.proposal.encryption = vec![Encryption::new(Kind::AesGcm, 128)];
    world.policy(1, other);
    world.until("it fails", 30, |world| {
        world.sides[0].failed.contains(&Why::NoProposal)
    });
    world.policy(1, policy("10.3.0.0/16", "10.1.0.0/16", Mode::Tunnel));
    world.until("it fails", 30, |world| {
        world.sides[0].failed.contains(&Why::NoTraffic)
    });
    world.policy(1, policy("10.2.0.0/17", "10.1.0.0/16", Mode::Tunnel));
    world.until("narrowed", 30, World::both_have_pairs);
    let child = world.sides[0].active().expect("a pair");
    assert_eq!(
        child.selectors,
        [(selector("10.1.0.0/16", 0), selector("10.2.0.0/17", 0))]
    );
}

#[test]
fn a_dead_peer_is_detected_and_retried() {
    let mut world = World::between(12, Exchange::Ike2, Mode::Tunnel);
    world.until("pairs", 5, World::both_have_pairs);
    world.cut = true;
    world.checked = false;
    world.until("both notice", 100, |world| {
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
    let mut world = World::between(13, Exchange::Ike2, Mode::Tunnel);
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
    world.event(0, Event::Policy(POLICY, None));
    world.until("removed", 1, |world| world.sides[1].children.is_empty());
}

#[test]
fn both_sides_authenticate_by_certificates() {
    for known in [true, false] {
        for key in [Key::Rsa, Key::P256] {
            let mut world = World::between(14, Exchange::Ike2, Mode::Tunnel);
            for (side, own, other) in [(0, "one", "two"), (1, "two", "one")] {
                let address = if side == 0 {
                    "198.51.100.2/32"
                } else {
                    "192.0.2.1/32"
                };
                let mut peer = peer(address, Exchange::Ike2);
                peer.local = Some(world.sides[side].address);
                peer.passive = side == 1;
                let trusts = if known || side == 0 {
                    vec![other]
                } else {
                    vec!["nobody"]
                };
                peer.identities = vec![identity(Auth::Signature(certified(own, key, &trusts)))];
                peer.identities[0].my_id = Some(Id::Fqdn(own.into()));
                world.peer(side, peer);
            }
            if known {
                world.until("pairs", 15, World::both_have_pairs);
                let row = world.sides[0].engine.peers().next().expect("a peer");
                assert_eq!(row.remote_id, Some(Id::Fqdn("two".into())));
            } else {
                world.until("refused", 15, |world| {
                    world.sides[0].closed.contains(&Why::Authentication)
                });
                assert!(world.sides.iter().all(|side| side.children.is_empty()));
            }
        }
    }
}

#[test]
fn a_key_that_takes_its_time_delays_only_its_peer() {
    for exchange in [Exchange::Ike2, Exchange::Main, Exchange::Aggressive] {
        for slow_side in [0, 1] {
            let mut world = World::between(16, exchange, Mode::Tunnel);
            for (side, own, other) in [(0, "one", "two"), (1, "two", "one")] {
                let address = ["198.51.100.2/32", "192.0.2.1/32"][side];
                let mut peer = peer(address, exchange);
                peer.local = Some(world.sides[side].address);
                peer.passive = side == 1;
                let delays = if side == slow_side { 7 } else { 0 };
                let certified = slow(own, Key::Rsa, &[other], delays);
                peer.identities = vec![identity(Auth::Signature(certified))];
                peer.identities[0].my_id = Some(Id::Fqdn(own.into()));
                world.peer(side, peer);
            }
            // The signature is asked for again before the other end repeats its message. In aggressive mode, quick
            // mode may overtake message 3, and is repeated.
            let seconds = if exchange == Exchange::Aggressive {
                15
            } else {
                1
            };
            world.until("pairs", seconds, World::both_have_pairs);
        }
    }
}

/// Creates a world where the first side uses EAP, and the server of its password.
fn with_eap(password: &str) -> (World, EapServer) {
    let mut world = World::new(15);
    let mut initiator = peer("198.51.100.2/32", Exchange::Ike2);
    let certified = certified("two", Key::Rsa, &["two"]);
    let login = EapLogin {
        methods: vec![EapMethod::MsChap2],
        user: "user".into(),
        password: Secret::new(b"password".as_slice()),
        certified: None,
        verifier: certified.verifier.clone(),
    };
    initiator.local = Some(address("192.0.2.1"));
    initiator.identities = vec![identity(Auth::Eap(login))];
    let mut responder = peer("0.0.0.0/0", Exchange::Ike2);
    responder.identities = vec![identity(Auth::EapRadius(certified))];
    responder.identities[0].my_id = Some(Id::Fqdn("two".into()));
    world.policy(0, policy("10.1.0.0/16", "10.2.0.0/16", Mode::Tunnel));
    world.policy(1, policy("10.2.0.0/16", "10.1.0.0/16", Mode::Tunnel));
    world.peer(1, responder);
    world.peer(0, initiator);
    let server = EapServer::new("user".into(), Secret::new(password.as_bytes()), [7; 16]);
    (world, server)
}

/// Lets the server answer all EAP requests of the responder.
fn serve(world: &mut World, server: &mut EapServer) {
    for _ in 0..20 {
        world.run(1);
        for (sa, message) in std::mem::take(&mut world.sides[1].eap) {
            let reply = server.step(&message);
            world.event(1, Event::Eap(sa, reply));
        }
    }
}

#[test]
fn a_user_logs_in_by_eap() {
    let (mut world, mut server) = with_eap("password");
    serve(&mut world, &mut server);
    world.until("pairs", 1, World::both_have_pairs);
    let row = world.sides[1].engine.peers().next().expect("a peer");
    assert_eq!(row.remote_id, Some(Id::UserFqdn("user".into())));

    let (mut world, mut server) = with_eap("another");
    serve(&mut world, &mut server);
    assert!(world.sides[0].closed.contains(&Why::Authentication));
    assert!(world.sides.iter().all(|side| side.children.is_empty()));
}

/// Checks that a pair that the responder removes is negotiated again.
fn a_removed_pair_comes_back(world: &mut World) {
    let child = world.sides[1].active().expect("a pair").id;
    world.checked = false;
    world.event(1, Event::Remove(child));
    world.until("the pair is gone", 5, |world| {
        world.sides[0].children.is_empty()
    });
    world.checked = true;
    world.until("pairs", 30, World::both_have_pairs);
}

#[test]
fn a_road_warrior_gets_an_address_and_policies() {
    let mut world = World::new(16);
    let mut initiator = peer("198.51.100.2/32", Exchange::Ike2);
    initiator.local = Some(address("192.0.2.1"));
    initiator.profile.lifetime = Duration::from_secs(600);
    initiator.identities[0].generate_policy = GeneratePolicy::PortStrict;
    initiator.identities[0].mode_config = Some(ModeConfig::default());
    let mut responder = peer("0.0.0.0/0", Exchange::Ike2);
    responder.identities = vec![psk()];
    responder.identities[0].remote_id = RemoteId::Ignore;
    responder.identities[0].generate_policy = GeneratePolicy::PortStrict;
    let split = vec![
        "10.7.0.0/16".parse().expect("a prefix"),
        "10.9.0.0/16".parse().expect("one"),
    ];
    responder.identities[0].mode_config = Some(ModeConfig {
        responder: true,
        pool: Some("pool".into()),
        prefix_len: 32,
        split_include: split.clone(),
        dns: vec![address("10.7.0.1")],
        ..ModeConfig::default()
    });
    let mut template = policy("::/0", "::/0", Mode::Transport);
    (template.peer, template.template, template.protocol) = (None, Some("default".into()), 0);
    world.policy(0, template.clone());
    world.policy(1, template);
    world.peer(1, responder);
    world.peer(0, initiator);
    world.until("an address is wanted", 5, |world| {
        !world.sides[1].wanted.is_empty()
    });
    let (sa, pool) = world.sides[1].wanted.remove(0);
    assert_eq!(pool, "pool");
    world.event(1, Event::Leased(sa, Some(address("10.8.0.7"))));
    world.until("pairs", 5, World::both_have_pairs);
    let lease = world.sides[0].lease.clone().expect("a lease");
    assert_eq!(
        (lease.address, lease.subnets),
        (Some(address("10.8.0.7")), split)
    );
    let own = selector("10.8.0.7/32", 0);
    let child = world.sides[0].active().expect("a pair");
    assert_eq!(
        child.selectors,
        [
            (own, selector("10.7.0.0/16", 0)),
            (own, selector("10.9.0.0/16", 0))
        ]
    );
    let child = world.sides[1].active().expect("a pair");
    assert_eq!(
        child.selectors,
        [
            (selector("10.7.0.0/16", 0), own),
            (selector("10.9.0.0/16", 0), own)
        ]
    );
    a_removed_pair_comes_back(&mut world);
    world.run(4000);
    assert!(world.both_have_pairs());
    assert_eq!(world.sides[0].active().expect("a pair").selectors.len(), 2);
    // The successors of the IKE SA hold the lease.
    for side in &world.sides {
        assert!(side.closed.len() > 3, "{:?}", side.closed);
        let now = side.engine.peers().map(|row| row.id).max();
        assert_eq!(side.leased_by, now);
    }
}
