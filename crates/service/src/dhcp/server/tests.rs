//! One server with its clients, and random clients on a line that loses, duplicates and reorders messages.

use std::collections::BTreeMap;

use machine::Rng;

use super::*;
use crate::dhcp::Options;

mod grants;

const OWN: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 1), 24);
const SERVER: ServerId = 7;

pub(super) struct Rig {
    servers: Servers,
    pools: Pools,
    now: Instant,
    /// Actions of the last event.
    actions: Vec<Action>,
}

fn config() -> Config {
    Config {
        name: "lan".into(),
        pool: Some("lan".into()),
        lease_time: Duration::from_secs(600),
        conflict_detection: false,
        ..Config::default()
    }
}

fn network() -> Network {
    Network {
        prefix: (0x0a00_0000, 24),
        gateways: vec![OWN.0],
        dns: vec![OWN.0, [9, 9, 9, 9].into()],
        domain: "lan".into(),
        ..Network::default()
    }
}

impl Rig {
    fn new(config: Config) -> Self {
        let pools = Pools::default();
        let pool = [([10, 0, 0, 10].into(), [10, 0, 0, 12].into())];
        pools.set("lan", &pool, None);
        let mut rig = Self {
            servers: Servers::new(pools.clone()),
            pools,
            now: Instant::from_secs(1_000),
            actions: Vec::new(),
        };
        rig.event(Event::Server(SERVER, Some(config)));
        rig.event(Event::Networks(vec![network()]));
        rig
    }

    fn event(&mut self, event: Event) {
        self.actions.clear();
        self.servers.handle(event, self.now, &mut self.actions);
    }

    /// Sends a message; returns the answer and its destination.
    fn say(&mut self, message: Message) -> Option<(Message, To)> {
        self.event(Event::Request(Box::new(asked(message))));
        self.answer()
    }

    fn answer(&self) -> Option<(Message, To)> {
        self.actions.iter().find_map(|action| match action {
            Action::Send(reply) => {
                let message = Message::decode(&reply.message).expect("it is well-formed");
                Some((message, reply.to))
            }
            _ => None,
        })
    }

    fn why(&self) -> Option<Why> {
        self.actions.iter().find_map(|action| match action {
            Action::Ignored(why) => Some(*why),
            _ => None,
        })
    }

    fn pass(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        self.actions.clear();
        while let Some(at) = self.servers.deadline().filter(|at| *at <= end) {
            self.servers.tick(at, &mut self.actions);
        }
        self.now = end;
    }

    /// Leases an address for a client.
    fn lease(&mut self, number: u8) -> Option<Ipv4Addr> {
        let (offer, _) = self.say(message(number, MessageType::Discover))?;
        let (ack, _) = self.say(select(number, offer.yiaddr))?;
        (ack.kind() == Some(MessageType::Ack)).then_some(ack.yiaddr)
    }

    /// Next message of a client that has this address, if any; or time passes.
    fn next(
        &mut self,
        number: u8,
        own: Option<Ipv4Addr>,
        rng: &mut Rng,
        held: &mut BTreeMap<u8, (Ipv4Addr, Instant)>,
    ) -> Option<Message> {
        match (rng.below(10), own) {
            (0..4, None) => Some(message(number, MessageType::Discover)),
            (4, None) => {
                let address = [10, 0, 0, 10 + rng.below(4) as u8];
                Some(reboot(number, address.into()))
            }
            (0..5, Some(address)) => Some(renew(number, address)),
            (5, Some(address)) => {
                // The client stops to use its address, whether or not the server receives the release.
                held.remove(&number);
                let mut release = renew(number, address);
                release.options.set(code::MESSAGE_TYPE, [7]);
                // A late release removes a newer lease, because the message does not identify the lease.
                if rng.percent(70) {
                    self.say(release);
                }
                None
            }
            _ => {
                self.pass(rng.below(4_000));
                None
            }
        }
    }

    fn states(&self) -> Vec<&'static str> {
        let leases = self.servers.leases().values();
        leases.map(|lease| lease.state.name()).collect()
    }
}

fn asked(message: Message) -> Request {
    Request {
        server: SERVER,
        src_mac: message.mac().unwrap_or_default(),
        message,
        own: vec![OWN],
        grant: None,
    }
}

fn mac(number: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, number])
}

fn message(number: u8, kind: MessageType) -> Message {
    let mut message = Message {
        xid: number.into(),
        ..Message::default()
    };
    message.chaddr[..6].copy_from_slice(&mac(number).0);
    message.options.set(code::MESSAGE_TYPE, [kind.into()]);
    message
}

fn select(number: u8, address: Ipv4Addr) -> Message {
    let mut message = message(number, MessageType::Request);
    message.options.set(code::REQUESTED, address.octets());
    message.options.set(code::SERVER_ID, OWN.0.octets());
    message
}

fn reboot(number: u8, address: Ipv4Addr) -> Message {
    let mut message = select(number, address);
    message.options.remove(code::SERVER_ID);
    message
}

fn renew(number: u8, address: Ipv4Addr) -> Message {
    Message {
        ciaddr: address,
        ..message(number, MessageType::Request)
    }
}

fn static_lease(number: u8, address: [u8; 4]) -> Static {
    Static {
        address: Assigned::Address(address.into()),
        mac: Some(mac(number)),
        use_src_mac: false,
        client_id: None,
        agent: Default::default(),
        server: None,
        is_blocked: false,
        lease_time: None,
        always_broadcast: None,
        options: Vec::new(),
    }
}

fn kinds(options: &Options) -> Vec<u8> {
    options.iter().map(|(code, _)| code).collect()
}

#[test]
fn a_client_is_offered_an_address_binds_it_renews_it_and_loses_it() {
    let mut rig = Rig::new(config());
    let (offer, to) = { rig.say(message(1, MessageType::Discover)) }.expect("an offer");
    let first = Ipv4Addr::new(10, 0, 0, 12);

    assert_eq!(
        (offer.kind(), offer.yiaddr),
        (Some(MessageType::Offer), first)
    );
    assert_eq!(to, To::Client(mac(1), first));
    assert_eq!(offer.options.address(code::SERVER_ID), Some(OWN.0));
    assert_eq!(offer.options.u32(code::LEASE_TIME), Some(600));
    assert_eq!(kinds(&offer.options), [1, 3, 6, 15, 51, 53, 54, 58, 59]);
    assert_eq!(rig.states(), ["offered"]);

    let (ack, _) = rig.say(select(1, first)).expect("an acknowledgement");
    assert_eq!((ack.kind(), ack.yiaddr), (Some(MessageType::Ack), first));
    let id = *rig.servers.leases().keys().next().expect("a lease");
    let kept = { rig.actions.iter() }.position(|of| matches!(of, Action::Keep(one) if *one == id));
    let sent =
        { rig.actions.iter() }.position(|of| matches!(of, Action::Send(reply) if reply.waits));
    assert!(kept.is_some() && kept < sent, "{:?}", rig.actions);

    rig.pass(500_000);
    let (ack, to) = rig.say(renew(1, first)).expect("an acknowledgement");
    assert_eq!((ack.yiaddr, to), (first, To::Client(mac(1), first)));
    rig.pass(599_000);
    assert_eq!(rig.states(), ["bound"]);
    rig.pass(2_000);
    assert_eq!(rig.states(), [""; 0]);
    assert!(
        rig.actions
            .iter()
            .any(|of| matches!(of, Action::Unbound(lease) if lease.id == id))
    );
    assert_eq!(rig.pools.counts("lan").map(|counts| counts.used), Some(0));
}

#[test]
fn an_offer_without_request_expires_and_an_empty_pool_offers_nothing() {
    let mut rig = Rig::new(config());
    for number in 1..=3 {
        assert!(rig.say(message(number, MessageType::Discover)).is_some());
    }
    assert!(rig.say(message(4, MessageType::Discover)).is_none());
    assert_eq!(rig.why(), Some(Why::NoAddress));
    rig.pass(31_000);
    assert!(rig.say(message(4, MessageType::Discover)).is_some());
}

#[test]
fn a_request_for_a_foreign_address_is_refused_by_an_authoritative_server() {
    let foreign = Ipv4Addr::new(192, 168, 1, 5);
    let mut rig = Rig::new(config());
    let (nak, to) = rig.say(reboot(1, foreign)).expect("a refusal");
    assert_eq!((nak.kind(), to), (Some(MessageType::Nak), To::All));

    for (authoritative, secs, is_refused) in [
        (Authoritative::No, 60, false),
        (Authoritative::After(Duration::from_secs(2)), 1, false),
        (Authoritative::After(Duration::from_secs(2)), 2, true),
    ] {
        let of = Config {
            authoritative,
            ..config()
        };
        rig.event(Event::Server(SERVER, Some(of)));
        let message = Message {
            secs,
            ..reboot(1, foreign)
        };
        assert_eq!(rig.say(message).is_some(), is_refused, "{authoritative:?}");
    }
    // A client that requests a free address of the pool gets it.
    let free = Ipv4Addr::new(10, 0, 0, 11);
    let (ack, _) = rig.say(reboot(1, free)).expect("an answer");
    assert_eq!((ack.kind(), ack.yiaddr), (Some(MessageType::Ack), free));
    // A client with a lease that requests another address is refused.
    let (nak, _) = rig
        .say(reboot(1, [10, 0, 0, 10].into()))
        .expect("an answer");
    assert_eq!(nak.kind(), Some(MessageType::Nak));
}

#[test]
fn a_static_lease_is_assigned_to_its_client_only() {
    let mut rig = Rig::new(config());
    rig.event(Event::Static(3, Some(static_lease(9, [10, 0, 0, 12]))));
    assert_eq!(rig.states(), ["waiting"]);

    assert_eq!(rig.lease(1), Some([10, 0, 0, 11].into()));
    assert_eq!(rig.lease(9), Some([10, 0, 0, 12].into()));
    let mut release = renew(9, [10, 0, 0, 12].into());
    release.options.set(code::MESSAGE_TYPE, [7]);
    assert!(rig.say(release).is_none());
    assert_eq!(
        rig.servers.lease(3).map(|lease| lease.state),
        Some(State::Waiting)
    );
    let (nak, _) = rig
        .say(reboot(2, [10, 0, 0, 12].into()))
        .expect("an answer");
    assert_eq!(nak.kind(), Some(MessageType::Nak));

    let blocked = Static {
        is_blocked: true,
        ..static_lease(9, [10, 0, 0, 12])
    };
    rig.event(Event::Static(3, Some(blocked)));
    assert!(rig.say(message(9, MessageType::Discover)).is_none());
    assert_eq!(rig.why(), Some(Why::Blocked));
}

#[test]
fn a_static_lease_matches_client_id_or_circuit_id() {
    let mut rig = Rig::new(config());
    let by_id = Static {
        client_id: client_id("ff:1:2"),
        ..static_lease(1, [10, 0, 0, 77])
    };
    let by_circuit = Static {
        mac: None,
        agent: (b"ether5".as_slice().into(), Box::default()),
        ..static_lease(1, [10, 0, 0, 78])
    };
    rig.event(Event::Static(3, Some(by_id)));
    rig.event(Event::Static(4, Some(by_circuit)));

    assert_eq!(
        rig.lease(1),
        Some([10, 0, 0, 12].into()),
        "the hardware address alone is not it"
    );
    let mut named = message(2, MessageType::Discover);
    named.options.set(code::CLIENT_ID, [0xff, 1, 2]);
    let (offer, _) = rig.say(named).expect("an offer");
    assert_eq!(offer.yiaddr, Ipv4Addr::new(10, 0, 0, 77));
    assert_eq!(offer.options.get(code::CLIENT_ID), Some(&[0xff, 1, 2][..]));
    let mut relayed = message(5, MessageType::Discover);
    relayed.giaddr = [10, 0, 0, 2].into();
    relayed
        .options
        .set(code::AGENT, *b"\x01\x06ether5\x02\x01x");
    let (offer, to) = rig.say(relayed).expect("an offer");
    assert_eq!(offer.yiaddr, Ipv4Addr::new(10, 0, 0, 78));
    assert_eq!(to, To::Relay([10, 0, 0, 2].into()));
    assert_eq!(
        offer.options.get(code::AGENT),
        Some(&b"\x01\x06ether5\x02\x01x"[..])
    );
}

#[test]
fn a_dynamic_lease_stays_bound_when_made_static() {
    let mut rig = Rig::new(config());
    let address = rig.lease(1).expect("an address");
    rig.event(Event::Static(3, Some(static_lease(1, address.octets()))));

    assert_eq!(rig.states(), ["bound"]);
    assert_eq!(rig.servers.lease_at(address).map(|lease| lease.id), Some(3));
    let (ack, _) = rig.say(renew(1, address)).expect("an answer");
    assert_eq!(ack.yiaddr, address);
    rig.event(Event::Static(3, None));
    assert_eq!(
        (rig.states(), rig.pools.counts("lan").map(|c| c.used)),
        (vec![], Some(0))
    );
}

#[test]
fn an_address_in_use_on_the_link_is_not_offered() {
    let config = Config {
        conflict_detection: true,
        ..config()
    };
    let mut rig = Rig::new(config);
    assert!(rig.say(message(1, MessageType::Discover)).is_none());
    let probed = Ipv4Addr::new(10, 0, 0, 12);
    assert!(matches!(rig.actions[..], [Action::Probe(SERVER, address)] if address == probed));

    rig.event(Event::AddressInUse(probed));
    let second = Ipv4Addr::new(10, 0, 0, 11);
    assert!(
        rig.actions
            .iter()
            .any(|of| matches!(of, Action::Probe(_, to) if *to == second))
    );
    assert_eq!(rig.states(), ["conflict", "testing"]);
    rig.pass(500);
    let (offer, _) = rig.answer().expect("an offer");
    assert_eq!(offer.yiaddr, second);
    rig.pass(600_000);
    assert_eq!(rig.states(), [""; 0]);
}

#[test]
fn a_client_without_answer_loses_its_lease_on_check_status() {
    let mut rig = Rig::new(config());
    let address = rig.lease(1).expect("an address");
    let id = rig.servers.lease_at(address).expect("a lease").id;
    rig.event(Event::Check(id));
    assert!(matches!(rig.actions[..], [Action::Probe(SERVER, to)] if to == address));
    rig.event(Event::AddressInUse(address));
    rig.pass(1_000);
    assert_eq!(rig.states(), ["bound"]);

    rig.event(Event::Check(id));
    rig.pass(1_000);
    assert_eq!(rig.states(), [""; 0]);
}

#[test]
fn a_declined_address_is_not_assigned_for_one_lease_time() {
    let mut rig = Rig::new(config());
    let address = rig.lease(1).expect("an address");
    let mut decline = message(1, MessageType::Decline);
    decline.options.set(code::REQUESTED, address.octets());
    rig.say(decline);

    assert_eq!(rig.states(), ["declined"]);
    assert!(
        rig.actions
            .iter()
            .any(|of| matches!(of, Action::Unbound(_)))
    );
    assert_ne!(rig.lease(1), Some(address));
}

#[test]
fn options_are_taken_from_lease_matcher_server_and_network_in_order() {
    let option = |code: u8, text: &str, force| OptionValue {
        code,
        value: vec![Part::Bytes(text.into())],
        force,
    };
    let mut rig = Rig::new(Config {
        options: [option(66, "server", false), option(67, "server", false)].into(),
        ..config()
    });
    let options = vec![option(66, "network", false), option(200, "always", true)];
    rig.event(Event::Networks(vec![Network {
        options,
        ..network()
    }]));
    rig.event(Event::Matchers(vec![Matcher {
        server: None,
        code: code::CLASS,
        value: b"PXE".to_vec(),
        is_substring: true,
        pool: MatchedPool::StaticOnly,
        options: vec![option(67, "matcher", false)],
    }]));
    let fixed = Static {
        options: vec![OptionValue {
            code: 12,
            value: vec![Part::HostName, Part::Bytes(b"@".to_vec()), Part::Gateway],
            force: true,
        }],
        ..static_lease(1, [10, 0, 0, 50])
    };
    rig.event(Event::Static(3, Some(fixed)));
    let mut discover = message(1, MessageType::Discover);
    discover.options.set(code::CLASS, *b"PXEClient");
    discover.options.set(code::HOST_NAME, *b"pc");
    discover.options.set(code::PARAMETERS, [66, 67]);
    let (offer, _) = rig.say(discover.clone()).expect("an offer");

    let text = |code| offer.options.get(code).unwrap_or_default();
    assert_eq!((text(66), text(67)), (&b"server"[..], &b"matcher"[..]));
    assert_eq!(
        (text(200), text(12)),
        (&b"always"[..], &b"pc@\x0a\0\0\x01"[..])
    );
    assert_eq!(text(3), b"", "it was not asked for");
    // A client that matches and has no static lease gets no address.
    discover.chaddr[5] = 2;
    assert!(rig.say(discover).is_none());
}

#[test]
fn client_mac_limit_bounds_pool_starvation() {
    let mut rig = Rig::new(Config {
        mac_limit: Some(1),
        ..config()
    });
    let with_id = |id: u8| {
        let mut discover = message(1, MessageType::Discover);
        discover.options.set(code::CLIENT_ID, [id]);
        discover
    };
    assert!(rig.say(with_id(1)).is_some() && rig.say(with_id(1)).is_some());
    assert!(rig.say(with_id(2)).is_none());
    assert_eq!(rig.why(), Some(Why::MacLimit));
}

#[test]
fn bootp_clients_get_their_static_address_without_expiry() {
    let mut rig = Rig::new(config());
    rig.event(Event::Static(3, Some(static_lease(1, [10, 0, 0, 50]))));
    let mut request = message(1, MessageType::Discover);
    request.options.remove(code::MESSAGE_TYPE);
    let (reply, _) = rig.say(request.clone()).expect("an answer");

    assert_eq!(reply.yiaddr, Ipv4Addr::new(10, 0, 0, 50));
    assert_eq!(kinds(&reply.options), [1, 3, 6, 15]);
    assert_eq!(rig.servers.lease(3).and_then(|lease| lease.until), None);
    request.chaddr[5] = 2;
    assert!(rig.say(request).is_none());
}

#[test]
fn stored_leases_are_restored() {
    let mut rig = Rig::new(config());
    rig.event(Event::Static(3, Some(static_lease(9, [10, 0, 0, 50]))));
    let addresses = [rig.lease(1), rig.lease(9)];
    let records: Vec<_> = { rig.servers.leases().values() }
        .filter_map(|lease| Record::of(lease, rig.now, 5_000))
        .collect();
    assert_eq!(records.len(), 2);

    let mut again = Rig::new(config());
    again.event(Event::Static(3, Some(static_lease(9, [10, 0, 0, 50]))));
    for record in &records {
        let bytes = record.to_bytes();
        assert_eq!(Record::read(&bytes).as_ref(), Some(record));
        assert!((0..bytes.len()).all(|len| Record::read(&bytes[..len]).is_none()));
        again.event(Event::Recall(Box::new(record.clone()), 5_100));
    }
    assert_eq!(again.states(), ["bound", "bound"]);
    assert_eq!(
        again.lease(2),
        Some([10, 0, 0, 11].into()),
        "what is leased is not given"
    );
    for (number, address) in [1, 9].into_iter().zip(addresses) {
        let (ack, _) = again
            .say(renew(number, address.expect("an address")))
            .expect("an answer");
        assert_eq!(ack.kind(), Some(MessageType::Ack));
    }
    let mut late = Rig::new(config());
    late.event(Event::Recall(Box::new(records[1].clone()), 6_000));
    assert_eq!(late.states(), [""; 0]);
}

/// Clients know only received messages; the line loses, duplicates and reorders them.
#[test]
fn no_address_is_assigned_to_two_clients_on_a_lossy_line() {
    for seed in 0..60 {
        let mut rng = Rng::seeded(seed);
        let mut rig = Rig::new(Config {
            lease_time: Duration::from_secs(20),
            conflict_detection: seed % 2 == 0,
            ..config()
        });
        rig.event(Event::Static(3, Some(static_lease(2, [10, 0, 0, 11]))));
        let mut line: Vec<Message> = Vec::new();
        // By client: its address, and the end of the lease as the client knows it.
        let mut held: BTreeMap<u8, (Ipv4Addr, Instant)> = BTreeMap::new();
        for step in 0..400 {
            let number = 1 + rng.below(6) as u8;
            let own = held
                .get(&number)
                .copied()
                .filter(|(_, until)| *until > rig.now);
            let Some(message) = rig.next(number, own.map(|own| own.0), &mut rng, &mut held) else {
                continue;
            };
            let copies = [0, 1, 1, 1, 2][rng.below(5) as usize];
            line.extend(core::iter::repeat_n(message, copies));
            while !line.is_empty() && rng.percent(70) {
                let at = rng.below(line.len() as u64) as usize;
                let answer = rig.say(line.swap_remove(at));
                let Some((answer, _)) = answer.filter(|_| rng.percent(85)) else {
                    continue;
                };
                let (number, address) = (answer.xid as u8, answer.yiaddr);
                match answer.kind() {
                    Some(MessageType::Offer) => line.push(select(number, address)),
                    Some(MessageType::Ack) => {
                        held.insert(number, (address, rig.now + Duration::from_secs(20)));
                    }
                    _ => drop(held.remove(&number)),
                }
                let until = |number: &u8| held.get(number).filter(|(_, until)| *until > rig.now);
                let mut taken: Vec<_> = (1..=6)
                    .filter_map(|n| until(&n))
                    .map(|(one, _)| one)
                    .collect();
                taken.sort_unstable();
                let count = taken.len();
                taken.dedup();
                assert_eq!(taken.len(), count, "seed {seed}, step {step}: {held:?}");
            }
        }
        // In the end all leases expire and all addresses return to the pool.
        rig.pass(100_000);
        let counts = rig.pools.counts("lan").expect("the pool");
        assert_eq!(
            (counts.used, rig.states()),
            (1, vec!["waiting"]),
            "seed {seed}"
        );
    }
}

#[test]
fn cost_per_client_is_constant_up_to_ten_thousand_clients() {
    let mut rig = Rig::new(config());
    let range = [([10, 1, 0, 0].into(), [10, 1, 255, 255].into())];
    rig.pools.set("lan", &range, None);
    for number in 0..10_000_u32 {
        let mut discover = message(1, MessageType::Discover);
        discover.chaddr[2..6].copy_from_slice(&number.to_be_bytes());
        let (offer, _) = rig.say(discover).expect("an offer");
        let mut request = select(1, offer.yiaddr);
        request.chaddr[2..6].copy_from_slice(&number.to_be_bytes());
        assert!(rig.say(request).is_some());
    }
    assert_eq!(rig.servers.leases().len(), 10_000);
}
