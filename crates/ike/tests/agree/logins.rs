//! IKEv1 after phase 1: XAuth logins and mode-config leases.

use ike::{
    Auth, Event, Exchange, GeneratePolicy, Identity, Mode, ModeConfig, PeerId, PolicyId, RemoteId,
    Secret, State, Why,
};
use machine::Duration;

use crate::world::{World, address, identity, peer, policy, selector};

const GIVEN: &str = "10.8.0.7";

fn user(name: &str, password: &str) -> Identity {
    let secret = |text: &str| Secret::new(text.as_bytes());
    let mut identity = identity(Auth::PskXauth {
        secret: secret("secret"),
        user: name.into(),
        password: secret(password),
    });
    identity.remote_id = RemoteId::Ignore;
    identity.generate_policy = GeneratePolicy::PortStrict;
    identity
}

fn gives() -> ModeConfig {
    ModeConfig {
        responder: true,
        pool: Some("pool".into()),
        prefix_len: 32,
        dns: vec![address("10.7.0.1")],
        split_include: vec![
            "10.7.0.0/16".parse().expect("a prefix"),
            "10.9.0.0/16".parse().expect("one"),
        ],
        ..ModeConfig::default()
    }
}

/// Creates a client with this identity, and a responder with these users.
fn travels(seed: u64, exchange: Exchange, traveller: Identity, users: Vec<Identity>) -> World {
    let mut world = World::new(seed);
    let mut initiator = peer("198.51.100.2/32", exchange);
    initiator.local = Some(address("192.0.2.1"));
    initiator.profile.lifetime = Duration::from_secs(600);
    initiator.identities = vec![traveller];
    let mut responder = peer("0.0.0.0/0", exchange);
    responder.passive = true;
    responder.profile.lifetime = Duration::from_secs(600);
    responder.identities = users;
    let mut template = policy("0.0.0.0/0", "0.0.0.0/0", Mode::Transport);
    (template.peer, template.template, template.protocol) = (None, Some("default".into()), 0);
    world.policy(0, template.clone());
    world.policy(1, template);
    world.peer(1, responder);
    world.peer(0, initiator);
    world
}

fn asking(mut identity: Identity) -> Identity {
    identity.mode_config = Some(ModeConfig::default());
    identity
}

fn giving(mut identity: Identity) -> Identity {
    identity.mode_config = Some(gives());
    identity
}

/// Answers lease requests from a pool.
fn give(world: &mut World) {
    world.until("an address is wanted", 300, |world| {
        !world.sides[1].wanted.is_empty()
    });
    let (sa, pool) = world.sides[1].wanted.remove(0);
    assert_eq!(pool, "pool");
    world.event(1, Event::Leased(sa, Some(address(GIVEN))));
}

fn has_all(world: &World) -> bool {
    world.sides.iter().all(|side| {
        let nets = side.children.values().map(|child| child.selectors.clone());
        nets.collect::<std::collections::BTreeSet<_>>().len() == 2
    })
}

#[test]
fn a_user_logs_in_and_gets_a_child_sa_for_each_network() {
    for exchange in [Exchange::Main, Exchange::Aggressive] {
        let users = vec![user("ann", "one"), giving(user("joe", "correct horse"))];
        let mut world = travels(1, exchange, asking(user("joe", "correct horse")), users);
        give(&mut world);
        world.until("pairs", 5, has_all);
        let own = selector("10.8.0.7/32", 0);
        for net in ["10.7.0.0/16", "10.9.0.0/16"] {
            let theirs = selector(net, 0);
            let mut of_traveller = world.sides[0].children.values();
            assert!(of_traveller.any(|child| child.selectors == [(own, theirs)]));
            let mut others = world.sides[1].children.values();
            assert!(others.any(|child| child.generated && child.selectors == [(theirs, own)]));
        }
        let lease = world.sides[0].lease.clone().expect("a lease");
        assert_eq!(lease.dns, [address("10.7.0.1")]);
        let log = world.sides[1].actions.join("\n");
        assert!(log.contains("user \"joe\" logged in"), "{log}");
    }
}

#[test]
fn a_lease_outlives_the_ike_sa_and_pairs_come_back() {
    let users = vec![giving(user("joe", "correct horse"))];
    let mut world = travels(
        2,
        Exchange::Main,
        asking(user("joe", "correct horse")),
        users,
    );
    give(&mut world);
    world.until("pairs", 5, has_all);
    for _ in 0..3000 {
        world.run(1);
        assert!(has_all(&world));
    }
    assert!(world.sides[1].wanted.is_empty(), "it keeps its address");
    for side in &world.sides {
        assert!(side.closed.len() > 3, "{:?}", side.closed);
        let newest = side
            .engine
            .peers()
            .filter(|row| row.state == State::Established);
        let newest = newest.map(|row| (row.id, row.leased)).max();
        let (id, leased) = newest.expect("an IKE SA");
        assert_eq!((side.leased_by, leased), (Some(id), address(GIVEN).into()));
    }
    world.checked = false;
    world.event(1, Event::Flush);
    world.until("they are gone", 5, |world| {
        world.sides[0].children.is_empty()
    });
    world.until("they are asked for again", 30, has_all);
}

#[test]
fn a_lossy_network_only_delays_logins() {
    for seed in 0..30 {
        let users = vec![giving(user("joe", "correct horse"))];
        let mut world = travels(
            seed,
            Exchange::Main,
            asking(user("joe", "correct horse")),
            users,
        );
        (world.loss, world.repeat) = (25, 25);
        // An abandoned IKE SA leaves a lease request without an owner.
        let end = world.now + Duration::from_secs(900);
        while !has_all(&world) {
            assert!(world.now < end, "{:#?}", world.sides[0].actions);
            if let Some((sa, _)) = world.sides[1].wanted.pop() {
                world.event(1, Event::Leased(sa, Some(address(GIVEN))));
            }
            world.run(1);
        }
    }
}

#[test]
fn a_wrong_password_or_user_gets_nothing_and_is_told() {
    for (name, password) in [("joe", "wrong"), ("jo", "correct horse"), ("", "")] {
        let users = vec![giving(user("joe", "correct horse"))];
        let mut world = travels(3, Exchange::Main, asking(user(name, password)), users);
        world.until("it is told", 5, |world| {
            world.sides[0].closed.contains(&Why::Authentication)
                && world.sides[1].closed.contains(&Why::Authentication)
        });
        assert!(world.sides.iter().all(|side| side.children.is_empty()));
        assert!(world.sides[1].wanted.is_empty());
        let log = world.sides[1].actions.join("\n");
        assert!(log.contains("or the password is wrong"), "{log}");
    }
}

#[test]
fn a_pre_shared_key_alone_is_refused_if_a_login_is_required() {
    let users = vec![giving(user("joe", "correct horse"))];
    let mut bare = identity(Auth::Psk(Secret::new(b"secret".as_slice())));
    bare.generate_policy = GeneratePolicy::PortStrict;
    let mut world = travels(4, Exchange::Main, asking(bare), users);
    world.run(60);
    assert!(world.sides.iter().all(|side| side.children.is_empty()));
    let log = world.sides[1].actions.join("\n");
    assert!(log.contains("no suitable proposal found, phase 1"), "{log}");
}

#[test]
fn an_address_is_assigned_without_a_login_as_well() {
    let secret = || {
        let mut identity = identity(Auth::Psk(Secret::new(b"secret".as_slice())));
        identity.generate_policy = GeneratePolicy::PortStrict;
        identity.remote_id = RemoteId::Ignore;
        identity
    };
    let mut fixed = giving(secret());
    fixed.mode_config = Some(ModeConfig {
        address: Some(address(GIVEN)),
        split_include: Vec::new(),
        ..gives()
    });
    let mut world = travels(5, Exchange::Main, asking(secret()), vec![fixed]);
    world.until("pairs", 5, World::both_have_pairs);
    let child = world.sides[0].active().expect("a pair");
    let (own, all) = (selector("10.8.0.7/32", 0), selector("0.0.0.0/0", 0));
    assert_eq!(
        (child.mode, &child.selectors[..]),
        (Mode::Tunnel, &[(own, all)][..])
    );
}

#[test]
fn a_peer_with_an_assigned_address_may_use_no_other() {
    let users = vec![giving(user("joe", "correct horse"))];
    let mut world = travels(
        6,
        Exchange::Main,
        asking(user("joe", "correct horse")),
        users,
    );
    // Besides its lease, the client has a policy for a foreign address.
    let other = policy("10.8.0.66/32", "10.7.0.0/16", Mode::Tunnel);
    world.event(0, Event::Policy(PolicyId(9), Some(Box::new(other))));
    give(&mut world);
    world.until("pairs", 20, has_all);
    world.until("the other is refused", 20, |world| {
        world.sides[0].failed.contains(&Why::NoTraffic)
    });
}

#[test]
fn a_second_user_at_the_same_address_does_not_affect_the_first() {
    let users = vec![
        giving(user("joe", "correct horse")),
        giving(user("ann", "x")),
    ];
    let joe = asking(user("joe", "correct horse"));
    let mut world = travels(7, Exchange::Aggressive, joe, users);
    give(&mut world);
    world.until("pairs", 5, has_all);
    let first: Vec<_> = world.sides[1].children.keys().copied().collect();
    let mut second = peer("198.51.100.2/32", Exchange::Aggressive);
    second.local = Some(address("192.0.2.1"));
    second.identities = vec![asking(user("ann", "x"))];
    world.event(0, Event::Peer(PeerId(7), Some(Box::new(second))));
    world.until("another address is wanted", 20, |world| {
        !world.sides[1].wanted.is_empty()
    });
    world.run(120);
    assert_eq!(world.sides[1].established(), 2);
    assert!(
        world.sides[1].closed.is_empty(),
        "{:?}",
        world.sides[1].closed
    );
    assert!(
        first
            .iter()
            .all(|id| world.sides[1].children.contains_key(id))
    );
}
