//! Tests of the server by its messages.

use super::super::message::{Association, Kind, Leased, Message, Status, code};
use super::super::pools::{Definition, Pools};
use super::*;

const SERVER: ServerId = 5;
const DUID: [u8; 6] = [0, 3, 0, 1, 2, 9];

struct Rig {
    pools: Pools,
    servers: Servers,
    now: Instant,
    out: Vec<Action>,
}

fn address(text: &str) -> Ipv6Addr {
    text.parse().expect("an address")
}

fn pool(prefix: &str, len: u8, piece: u8) -> Definition {
    Definition {
        prefix: (address(prefix), len),
        len: piece,
        until: (None, None),
    }
}

fn config() -> Config {
    Config {
        name: "lan".into(),
        prefix_pool: Some("pd".into()),
        address_pool: Some("na".into()),
        lifetime: Duration::from_secs(1_000),
        rapid_commit: true,
        preference: 255,
        ..Config::default()
    }
}

fn rig() -> Rig {
    let pools = Pools::default();
    pools.set("pd", Some(&pool("2001:db8:100::", 54, 56)));
    pools.set("na", Some(&pool("2001:db8:1::", 64, 128)));
    let mut rig = Rig {
        servers: Servers::new(pools.clone()),
        pools,
        now: Instant::from_secs(100),
        out: Vec::new(),
    };
    rig.event(Event::Server(SERVER, Some(config())));
    rig
}

/// A request for a prefix or an address, with the one that the client has or wishes.
fn association(is_prefixes: bool, id: u32, has: Option<(Ipv6Addr, u8)>) -> Association {
    let leased = has.map(|(address, len)| Leased {
        address,
        len,
        preferred: 0,
        valid: 0,
    });
    Association {
        is_prefixes,
        id,
        t1: 0,
        t2: 0,
        leased: leased.into_iter().collect(),
        status: Status::Success,
    }
}

fn message(kind: Kind, client: u8, associations: &[Association]) -> Message {
    let mut message = Message::new(kind, 0x77);
    message.options.add(code::CLIENT_ID, [0, 3, 0, 1, client]);
    if matches!(
        kind,
        Kind::Request | Kind::Renew | Kind::Release | Kind::Decline
    ) {
        message.options.add(code::SERVER_ID, DUID);
    }
    for association in associations {
        message.options.add_association(association);
    }
    message
}

impl Rig {
    fn event(&mut self, event: Event<'_>) {
        self.servers.handle(event, self.now, &mut self.out);
    }

    fn receive(&mut self, message: Message) -> Result<Message, Fault> {
        self.receive_at(SERVER, message)
    }

    fn receive_at(&mut self, server: ServerId, message: Message) -> Result<Message, Fault> {
        let request = Request {
            server,
            message,
            from: address("fe80::7"),
            mac: Mac([2, 0, 0, 0, 0, 7]),
            local: vec![(address("2001:db8:1::1"), 64)],
            duid: DUID.to_vec(),
            dns: vec![address("2001:db8::53")],
        };
        self.servers.receive(&request, self.now, &mut self.out)?;
        let at = self.out.iter().position(|of| matches!(of, Action::Send(_)));
        let Action::Send(reply) = self.out.remove(at.expect("a reply")) else {
            unreachable!("its position was looked up")
        };
        assert_eq!((reply.to, reply.server), (address("fe80::7"), server));
        Ok(Message::decode(&reply.message).expect("a message"))
    }

    /// Sends a message of a client with one identity association; returns the one of the answer.
    fn exchange(&mut self, kind: Kind, client: u8, of: Association) -> Association {
        let is_prefixes = of.is_prefixes;
        let answer = self
            .receive(message(kind, client, &[of]))
            .expect("an answer");
        let code = if is_prefixes {
            code::IA_PD
        } else {
            code::IA_NA
        };
        let of = answer.options.associations(code).next();
        of.expect("an association")
    }

    fn bound(&self) -> Vec<(Ipv6Addr, u8)> {
        let all = self.servers.bindings().values();
        all.filter(|of| of.is_bound())
            .filter_map(|of| of.subnet)
            .collect()
    }
}

#[test]
fn a_client_gets_the_prefix_that_it_was_offered_and_keeps_it() {
    let mut rig = rig();
    let offer = rig.exchange(Kind::Solicit, 1, association(true, 9, None));
    let prefix = (address("2001:db8:100::"), 56);
    assert_eq!((offer.leased[0].address, offer.leased[0].len), prefix);
    assert!(
        rig.bound().is_empty() && rig.pools.used().is_empty(),
        "an offer stores nothing"
    );

    let reply = rig.exchange(Kind::Request, 1, association(true, 9, Some(prefix)));
    let leased = &reply.leased[0];
    assert_eq!((leased.preferred, leased.valid), (1_000, 1_000));
    assert_eq!((reply.t1, reply.t2), (500, 800));
    assert!(matches!(rig.out[..], [Action::Bound(_)]));
    assert_eq!(rig.pools.used()[0].owner, "DHCP");
    let other = rig.exchange(Kind::Request, 2, association(true, 9, Some(prefix)));
    assert_eq!(other.leased[0].address, address("2001:db8:100:100::"));

    rig.now += Duration::from_secs(600);
    rig.out.clear();
    let reply = rig.exchange(Kind::Renew, 1, association(true, 9, Some(prefix)));
    assert_eq!((reply.leased.len(), reply.leased[0].address), (1, prefix.0));
    assert!(matches!(rig.out[..], [Action::Extended(_)]));
    rig.now += Duration::from_secs(500);
    rig.out.clear();
    rig.servers.tick(rig.now, &mut rig.out);
    assert_eq!(rig.bound(), [prefix], "that of the silent client is free");
    assert!(matches!(rig.out[..], [Action::Unbound(_)]));

    let release = message(Kind::Release, 1, &[association(true, 9, Some(prefix))]);
    let reply = rig.receive(release).expect("a reply");
    assert_eq!(reply.options.status(), Status::Success);
    assert!(rig.bound().is_empty() && rig.pools.used().is_empty());
    let reply = rig.exchange(Kind::Release, 1, association(true, 9, Some(prefix)));
    assert_eq!(reply.status, Status::NoBinding);
}

#[test]
fn rapid_commit_binds_at_once_with_the_dns_servers_that_are_requested() {
    let mut rig = rig();
    let mut solicit = message(Kind::Solicit, 1, &[association(false, 1, None)]);
    solicit.options.add(code::RAPID_COMMIT, []);
    solicit.options.add(code::REQUEST, [0, 23]);
    let reply = rig.receive(solicit).expect("a reply");
    assert_eq!(reply.kind, Kind::Reply);
    assert!(reply.options.contains(code::RAPID_COMMIT));
    assert_eq!(
        reply.options.addresses(code::DNS),
        [address("2001:db8::53")]
    );
    // Not the anycast address of routers, and not the router's own.
    assert_eq!(rig.bound(), [(address("2001:db8:1::2"), 128)]);

    let confirm = |has| message(Kind::Confirm, 1, &[association(false, 1, Some((has, 128)))]);
    let reply = rig
        .receive(confirm(address("2001:db8:1::2")))
        .expect("a reply");
    assert_eq!(reply.options.status(), Status::Success);
    let reply = rig
        .receive(confirm(address("2001:db8:2::2")))
        .expect("a reply");
    assert_eq!(reply.options.status(), Status::NotOnLink);
    let has = Some((address("2001:db8:1::2"), 128));
    let decline = message(Kind::Decline, 1, &[association(false, 1, has)]);
    rig.receive(decline).expect("a reply");
    let other = rig.exchange(Kind::Request, 2, association(false, 1, has));
    assert_eq!(
        other.leased[0].address,
        address("2001:db8:1::3"),
        "the other is in use"
    );
}

#[test]
fn a_pool_without_room_gives_a_status_and_a_rebinding_client_gets_no_answer() {
    let mut rig = rig();
    for client in 1..=4 {
        rig.exchange(Kind::Request, client, association(true, 1, None));
    }
    for kind in [Kind::Solicit, Kind::Request] {
        let answer = rig.exchange(kind, 9, association(true, 1, None));
        assert_eq!((answer.status, answer.leased.len()), (Status::NoPrefix, 0));
    }
    let renew = rig.exchange(Kind::Renew, 9, association(true, 1, None));
    assert_eq!(renew.status, Status::NoBinding);
    let rebind = message(Kind::Rebind, 9, &[association(true, 1, None)]);
    assert_eq!(rig.receive(rebind), Err(Fault::Exhausted));
}

#[test]
fn a_binding_that_is_unknown_is_restored_if_its_prefix_is_free_and_else_replaced() {
    let mut rig = rig();
    let prefix = (address("2001:db8:100:200::"), 56);
    let reply = rig.exchange(Kind::Rebind, 1, association(true, 1, Some(prefix)));
    assert_eq!(reply.leased[0].address, prefix.0);
    let reply = rig.exchange(Kind::Rebind, 2, association(true, 1, Some(prefix)));
    let lifetimes: Vec<_> = reply
        .leased
        .iter()
        .map(|of| (of.address, of.valid))
        .collect();
    assert_eq!(
        lifetimes,
        [(address("2001:db8:100::"), 1_000), (prefix.0, 0)]
    );

    // The upstream prefix of the pool changes.
    rig.pools.set("pd", Some(&pool("2001:db8:200::", 54, 56)));
    rig.out.clear();
    rig.event(Event::PoolsChanged);
    assert_eq!(rig.out.len(), 2, "{:?}", rig.out);
    let reply = rig.exchange(Kind::Renew, 1, association(true, 1, Some(prefix)));
    let lifetimes: Vec<_> = reply
        .leased
        .iter()
        .map(|of| (of.address, of.valid))
        .collect();
    assert_eq!(
        lifetimes,
        [(address("2001:db8:200::"), 1_000), (prefix.0, 0)]
    );
}

#[test]
fn lifetimes_end_with_those_of_the_pool() {
    let mut rig = rig();
    let mut definition = pool("2001:db8:100::", 54, 56);
    let ends = |seconds| Some(rig.now + Duration::from_secs(seconds));
    definition.until = (ends(100), ends(300));
    rig.pools.set("pd", Some(&definition));
    let reply = rig.exchange(Kind::Request, 1, association(true, 1, None));
    assert_eq!(
        (reply.leased[0].preferred, reply.leased[0].valid),
        (100, 300)
    );
    assert_eq!((reply.t1, reply.t2), (50, 80));
}

fn fixed(subnet: Option<(Ipv6Addr, u8)>) -> Static {
    Static {
        server: None,
        duid: Box::new([0, 3, 0, 1, 7]),
        iaid: 1,
        is_prefix: true,
        subnet,
        pool: None,
        lifetime: Duration::from_secs(60),
        options: Vec::new(),
    }
}

#[test]
fn a_static_binding_holds_its_prefix_for_its_client() {
    let mut rig = rig();
    let prefix = (address("2001:db8:100::"), 56);
    rig.event(Event::Static(3, Some(fixed(Some(prefix)))));
    let other = rig.exchange(Kind::Request, 1, association(true, 1, Some(prefix)));
    assert_eq!(other.leased[0].address, address("2001:db8:100:100::"));
    let own = rig.exchange(Kind::Request, 7, association(true, 1, None));
    assert_eq!((own.leased[0].address, own.leased[0].valid), (prefix.0, 60));
    rig.event(Event::PoolsChanged);
    assert!(rig.servers.binding(3).is_some_and(Binding::is_bound));
    rig.now += Duration::from_secs(60);
    rig.servers.tick(rig.now, &mut rig.out);
    assert!(rig.servers.binding(3).is_some_and(|of| !of.is_bound()));
    rig.event(Event::Static(3, None));
    assert!(rig.servers.binding(3).is_none());
    let other = rig.exchange(Kind::Request, 2, association(true, 1, None));
    assert_eq!(other.leased[0].address, prefix.0, "it is free");
}

#[test]
fn a_static_binding_waits_for_the_client_that_has_its_prefix() {
    let mut rig = rig();
    let other = rig.exchange(Kind::Request, 1, association(true, 1, None));
    let prefix = (other.leased[0].address, 56);
    rig.event(Event::Static(3, Some(fixed(Some(prefix)))));
    for kind in [Kind::Solicit, Kind::Request] {
        let refused = rig.exchange(kind, 7, association(true, 1, None));
        assert_eq!(refused.status, Status::NoPrefix, "{kind:?}");
    }
    let renewed = rig.exchange(Kind::Renew, 1, association(true, 1, Some(prefix)));
    assert_eq!(renewed.leased[0].address, prefix.0);
    let release = message(Kind::Release, 1, &[association(true, 1, Some(prefix))]);
    rig.receive(release).expect("an answer");
    let own = rig.exchange(Kind::Request, 7, association(true, 1, None));
    assert_eq!(own.leased[0].address, prefix.0);
}

#[test]
fn the_second_static_binding_of_a_client_counts_once_the_first_is_gone() {
    let mut rig = rig();
    let [first, second] = ["2001:db8:100::", "2001:db8:100:100::"].map(address);
    for (id, prefix) in [(3, first), (4, second), (5, second)] {
        rig.event(Event::Static(id, Some(fixed(Some((prefix, 56))))));
    }
    let request = |rig: &mut Rig| {
        let reply = rig.exchange(Kind::Request, 7, association(true, 1, None));
        reply.leased[0].address
    };
    assert_eq!(request(&mut rig), first);
    rig.event(Event::Static(4, None));
    rig.event(Event::Static(3, None));
    assert_eq!(request(&mut rig), second);
    assert!(rig.servers.binding(5).is_some_and(Binding::is_bound));
    // A changed item keeps its precedence.
    rig.event(Event::Static(6, Some(fixed(Some((first, 56))))));
    let changed = Static {
        lifetime: Duration::from_secs(90),
        ..fixed(Some((second, 56)))
    };
    rig.event(Event::Static(5, Some(changed)));
    assert_eq!(request(&mut rig), second);
    rig.event(Event::Static(5, None));
    assert_eq!(request(&mut rig), first);
    rig.event(Event::Static(6, None));
    assert!(rig.servers.binding(6).is_none());
}

#[test]
fn subnets_within_or_around_those_of_static_bindings_are_withheld() {
    let mut rig = rig();
    let around = fixed(Some((address("2001:db8:100::"), 55)));
    let within = Static {
        iaid: 2,
        ..fixed(Some((address("2001:db8:100:2f0::"), 60)))
    };
    rig.event(Event::Static(3, Some(around)));
    rig.event(Event::Static(4, Some(within)));
    let only = rig.exchange(Kind::Request, 1, association(true, 1, None));
    assert_eq!(only.leased[0].address, address("2001:db8:100:300::"));
    let none = rig.exchange(Kind::Request, 2, association(true, 1, None));
    assert_eq!(none.status, Status::NoPrefix);
    rig.event(Event::Static(4, None));
    let free = rig.exchange(Kind::Request, 2, association(true, 1, None));
    assert_eq!(free.leased[0].address, address("2001:db8:100:200::"));
}

#[test]
fn a_dynamic_binding_continues_as_static() {
    let mut rig = rig();
    let reply = rig.exchange(Kind::Request, 7, association(true, 1, None));
    let subnet = (reply.leased[0].address, 56);
    rig.out.clear();
    rig.event(Event::Static(3, Some(fixed(Some(subnet)))));
    assert!(matches!(
        rig.out[..],
        [Action::Unbound(_), Action::Bound(3)]
    ));
    assert_eq!(rig.servers.bindings().len(), 1);
    let reply = rig.exchange(Kind::Renew, 7, association(true, 1, Some(subnet)));
    assert_eq!((reply.leased.len(), reply.leased[0].valid), (1, 60));
}

#[test]
fn a_record_restores_the_rest_of_a_lifetime() {
    let mut before = rig();
    let reply = before.exchange(Kind::Request, 1, association(true, 1, None));
    before.exchange(Kind::Request, 2, association(true, 1, None));
    let binding = before.servers.bindings().values().next().expect("one");
    let bytes = binding.record(before.now).expect("a record").to_bytes();
    for len in 0..bytes.len() {
        let _ = Record::read(&bytes[..len], Duration::ZERO);
    }
    assert_eq!(Record::read(&bytes, Duration::from_secs(1_000)), None);

    let mut after = rig();
    let record = Record::read(&bytes, Duration::from_secs(400)).expect("a record");
    after.event(Event::Recall(&record));
    let subnet = (reply.leased[0].address, 56);
    assert_eq!(after.bound(), [subnet]);
    let other = after.exchange(Kind::Request, 3, association(true, 1, Some(subnet)));
    assert_ne!(other.leased[0].address, subnet.0);
    assert_eq!(
        after.servers.bindings().len(),
        2,
        "the new one has another number"
    );
    after.now += Duration::from_secs(600);
    after.servers.tick(after.now, &mut after.out);
    assert_eq!(after.bound().len(), 1);
}

#[test]
fn a_server_with_its_own_prefixes_gives_each_to_one_client() {
    let mut rig = rig();
    let prefix = (address("2001:db8:7700::"), 48);
    let config = Config {
        prefix_pool: None,
        prefixes: vec![prefix],
        max_bindings: Some(2),
        ..config()
    };
    rig.event(Event::Server(SERVER, Some(config)));
    let reply = rig.exchange(Kind::Request, 1, association(true, 1, None));
    assert_eq!((reply.leased[0].address, reply.leased[0].len), prefix);
    let reply = rig.exchange(Kind::Request, 2, association(true, 1, None));
    assert_eq!(reply.status, Status::NoPrefix);
    rig.exchange(Kind::Request, 2, association(false, 1, None));
    let reply = rig.exchange(Kind::Request, 3, association(false, 1, None));
    assert_eq!(reply.status, Status::NoAddress, "two are its maximum");
    rig.event(Event::Server(SERVER, None));
    assert!(rig.servers.bindings().is_empty() && rig.servers.deadline().is_none());
}

#[test]
fn a_client_keeps_its_prefix_in_another_session_of_its_user_only() {
    let mut rig = rig();
    let session = |user: &str| Config {
        user: Some(user.into()),
        max_bindings: Some(4),
        ..config()
    };
    for (server, user) in [
        (DYNAMIC | 1, "anna"),
        (DYNAMIC | 2, "anna"),
        (DYNAMIC | 3, "bert"),
    ] {
        rig.event(Event::Server(server, Some(session(user))));
    }
    let prefix = (address("2001:db8:100::"), 56);
    let of = association(true, 1, Some(prefix));
    let mut given = |server| {
        let reply = rig.receive_at(server, message(Kind::Rebind, 1, core::slice::from_ref(&of)));
        let options = reply.expect("a reply").options;
        options
            .associations(code::IA_PD)
            .next()
            .expect("one")
            .leased[0]
            .address
    };
    assert_eq!(given(DYNAMIC | 1), prefix.0);
    assert_eq!(given(DYNAMIC | 2), prefix.0);
    assert_ne!(given(DYNAMIC | 3), prefix.0);
    assert_eq!(rig.bound().len(), 2);
}

#[test]
fn messages_with_wrong_identifiers_are_ignored() {
    let mut rig = rig();
    let mut solicit = message(Kind::Solicit, 1, &[]);
    solicit.options.add(code::SERVER_ID, DUID);
    let mut elsewhere = message(Kind::Information, 1, &[]);
    elsewhere.options.add(code::SERVER_ID, [0, 3, 9, 9]);
    let mut long = Message::new(Kind::Solicit, 1);
    long.options.add(code::CLIENT_ID, [1; 131]);
    let all = [
        (solicit, Fault::Malformed),
        (elsewhere, Fault::OtherServer),
        (long, Fault::Malformed),
        (Message::new(Kind::Solicit, 1), Fault::Malformed),
        (Message::new(Kind::Request, 1), Fault::Malformed),
        (message(Kind::Advertise, 1, &[]), Fault::Type),
        (message(Kind::Confirm, 1, &[]), Fault::Unknown),
    ];
    for (message, fault) in all {
        assert_eq!(rig.receive(message), Err(fault));
    }
    let reply = rig
        .receive(Message::new(Kind::Information, 1))
        .expect("a reply");
    assert!(!reply.options.contains(code::CLIENT_ID));
}

#[test]
fn no_subnet_has_two_clients_whatever_they_send() {
    for seed in 0..40 {
        let mut rng = machine::Rng::seeded(seed);
        let mut rig = rig();
        let kinds = [
            Kind::Solicit,
            Kind::Request,
            Kind::Renew,
            Kind::Rebind,
            Kind::Release,
        ];
        for _ in 0..200 {
            let kind = kinds[rng.below(5) as usize];
            let wish = (rng.below(2) == 0).then(|| {
                let text = format!("2001:db8:100:{:x}00::", rng.below(5));
                (address(&text), 56)
            });
            let of = association(true, rng.below(2) as u32, wish);
            let _ = rig.receive(message(kind, rng.below(4) as u8, &[of]));
            rig.now += Duration::from_secs(rng.below(100));
            rig.servers.tick(rig.now, &mut rig.out);
            let bound = rig.bound();
            let distinct: BTreeSet<_> = bound.iter().collect();
            assert_eq!(distinct.len(), bound.len(), "seed {seed}");
            assert_eq!(rig.pools.used().len(), bound.len(), "seed {seed}");
        }
    }
}
