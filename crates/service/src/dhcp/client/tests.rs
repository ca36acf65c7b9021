use super::*;

const MAC: Mac = Mac([2, 0, 0, 0, 0, 9]);
const OTHER: Mac = Mac([2, 0, 0, 0, 0, 1]);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);

/// A client with virtual time, and its actions.
struct Rig {
    client: Client,
    now: Instant,
    lost: Vec<Why>,
    failed: Vec<Why>,
    got: Vec<Lease>,
    probes: usize,
    sent: Vec<Sent>,
}

/// A sent message.
#[derive(Clone, Debug)]
struct Sent {
    from: Ipv4Addr,
    to: Ipv4Addr,
    message: Message,
}

impl Sent {
    fn kind(&self) -> MessageType {
        self.message.kind().expect("a message of DHCP")
    }
}

impl Rig {
    fn new() -> Self {
        let config = Config {
            mac: MAC,
            options: vec![
                (code::HOST_NAME, b"router".to_vec()),
                (code::CLIENT_ID, [&[1], &MAC.0[..]].concat()),
            ],
            ..Config::default()
        };
        Self {
            client: Client::new(config, 7),
            now: Instant::from_secs(1),
            lost: Vec::new(),
            failed: Vec::new(),
            got: Vec::new(),
            probes: 0,
            sent: Vec::new(),
        }
    }

    /// A rig with a bound client.
    fn bound() -> Self {
        let mut rig = Self::new();
        rig.feed(Event::Up);
        rig.answer(MessageType::Offer, |_| {})
            .expect("it waits for one");
        rig.answer(MessageType::Ack, |_| {})
            .expect("it waits for one");
        rig.advance(1);
        assert_eq!(rig.client.status(), Status::Bound);
        rig.sent.clear();
        rig
    }

    fn feed(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.client.handle(event, self.now, &mut out);
        self.note(out);
    }

    fn note(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Broadcast(bytes) | Action::Send(bytes) => {
                    let packet = ipv4::Packet::new_verified(&bytes).expect("a right header");
                    let message = Message::decode(&packet.payload()[8..]).expect("well-formed");
                    let (from, to) = (packet.src(), packet.dst());
                    self.sent.push(Sent { from, to, message });
                }
                Action::Probe(bytes) => {
                    let probe = arp::Repr::parse(&bytes).expect("well-formed");
                    assert_eq!(
                        (probe.sender, probe.sender_mac),
                        (Ipv4Addr::UNSPECIFIED, MAC)
                    );
                    self.probes += 1;
                }
                Action::Got(lease) => self.got.push(*lease),
                Action::Lost(why) => self.lost.push(why),
                Action::Failed(why) => self.failed.push(why),
            }
        }
    }

    /// Advances the time.
    fn advance(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, _)) = self.client.deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.client.tick(self.now, &mut out);
            self.note(out);
        }
        self.now = end;
    }

    fn last(&self) -> &Sent {
        self.sent.last().expect("something was sent")
    }

    /// Answers the last sent message.
    fn answer(&mut self, kind: MessageType, edit: impl Fn(&mut Message)) -> Result<(), Fault> {
        let mut message = Message {
            is_reply: true,
            xid: self.last().message.xid,
            yiaddr: OWN,
            chaddr: self.last().message.chaddr,
            ..Message::default()
        };
        let options = &mut message.options;
        options.set(code::MESSAGE_TYPE, [kind.into()]);
        options.set(code::SERVER_ID, SERVER.octets());
        if kind != MessageType::Nak {
            options.set(code::LEASE_TIME, 1000_u32.to_be_bytes());
            options.set(code::SUBNET_MASK, [255, 255, 255, 0]);
            options.set(code::ROUTER, SERVER.octets());
        }
        edit(&mut message);
        let mut out = Vec::new();
        let taken = self.client.receive(&message, self.now, &mut out);
        self.note(out);
        taken
    }
}

#[test]
fn a_client_gets_an_address_by_four_messages() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    assert_eq!(rig.client.status(), Status::Searching);
    let sent = rig.last().clone();
    assert_eq!(sent.kind(), MessageType::Discover);
    assert_eq!(
        (sent.from, sent.to),
        (Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST)
    );
    assert!(sent.message.broadcast && sent.message.mac() == Some(MAC));
    let options = &sent.message.options;
    assert_eq!(options.get(code::PARAMETERS), Some(&PARAMETERS[..]));
    assert_eq!(options.text(code::HOST_NAME).as_deref(), Some("router"));
    assert_eq!(options.get(code::REQUESTED), None);

    rig.answer(MessageType::Offer, |_| {})
        .expect("it waits for one");
    let sent = rig.last().clone();
    assert_eq!(sent.kind(), MessageType::Request);
    assert_eq!(sent.to, Ipv4Addr::BROADCAST);
    assert_eq!(sent.message.options.address(code::REQUESTED), Some(OWN));
    assert_eq!(sent.message.options.address(code::SERVER_ID), Some(SERVER));
    assert_eq!(sent.message.ciaddr, Ipv4Addr::UNSPECIFIED);
    assert_eq!(rig.client.status(), Status::Requesting);

    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    assert!(rig.client.is_probing() && rig.got.is_empty());
    rig.advance(1);
    assert_eq!((rig.probes, rig.client.status()), (2, Status::Bound));
    let lease = rig.client.lease().expect("it has one");
    assert_eq!((lease.address, lease.len, lease.server), (OWN, 24, SERVER));
    assert_eq!(lease.routers(), [SERVER]);
    assert_eq!(rig.got, core::slice::from_ref(lease));
}

#[test]
fn discovery_retries_with_growing_intervals() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    let mut times = vec![rig.now];
    while rig.sent.len() < 8 {
        let before = rig.sent.len();
        let (at, _) = rig.client.deadline().expect("it goes on");
        rig.advance(at.saturating_since(rig.now).as_secs() + 1);
        assert_eq!(rig.sent.len(), before + 1);
        times.push(at);
    }
    let waits = times
        .windows(2)
        .map(|pair| pair[1].saturating_since(pair[0]).as_millis());
    for (wait, expected) in waits.zip([4, 8, 16, 32, 64, 64, 64]) {
        let expected: u128 = expected * 1000;
        assert!(
            (expected - 1000..=expected + 2000).contains(&wait),
            "{wait}"
        );
    }
    let secs = rig.sent.iter().map(|sent| sent.message.secs);
    assert!(secs.is_sorted() && rig.last().message.secs > 150);
}

#[test]
fn a_server_that_ignores_the_request_is_abandoned() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    rig.answer(MessageType::Offer, |_| {})
        .expect("it waits for one");
    let first = rig.last().message.xid;
    rig.advance(70);
    let requests = rig
        .sent
        .iter()
        .filter(|sent| sent.kind() == MessageType::Request);
    assert_eq!(requests.count(), REQUESTS as usize);
    assert_eq!(rig.last().kind(), MessageType::Discover);
    assert_ne!(rig.last().message.xid, first, "another transaction");
}

#[test]
fn a_lease_is_renewed_then_rebound_then_expires() {
    let mut rig = Rig::bound();
    rig.advance(498);
    assert!(rig.sent.is_empty());
    rig.advance(3);
    assert_eq!(rig.client.status(), Status::Renewing);
    let sent = rig.last().clone();
    assert_eq!(
        (sent.kind(), sent.from, sent.to),
        (MessageType::Request, OWN, SERVER)
    );
    assert_eq!((sent.message.ciaddr, sent.message.broadcast), (OWN, false));
    assert_eq!(sent.message.options.get(code::SERVER_ID), None);
    assert_eq!(sent.message.options.get(code::REQUESTED), None);

    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    assert_eq!(
        (rig.client.status(), rig.got.len(), rig.probes),
        (Status::Bound, 2, 2)
    );
    rig.sent.clear();
    rig.advance(876);
    assert_eq!(rig.client.status(), Status::Rebinding);
    assert!(rig.sent.len() <= 6, "{}", rig.sent.len());
    assert_eq!((rig.last().to, rig.last().from), (Ipv4Addr::BROADCAST, OWN));
    let other = Ipv4Addr::new(10, 0, 0, 2);
    rig.answer(MessageType::Ack, |message| {
        message.options.set(code::SERVER_ID, other.octets());
    })
    .expect("any server may answer");
    assert_eq!(rig.client.lease().expect("it has one").server, other);

    rig.advance(990);
    assert!(rig.lost.is_empty() && rig.client.lease().is_some());
    rig.advance(20);
    assert_eq!(rig.lost, [Why::Expired]);
    assert_eq!(rig.client.status(), Status::Searching);
    assert_eq!(
        rig.last().message.options.address(code::REQUESTED),
        Some(OWN)
    );
}

#[test]
fn an_infinite_lease_never_expires() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    let never = |message: &mut Message| message.options.set(code::LEASE_TIME, [0xff; 4]);
    rig.answer(MessageType::Offer, never)
        .expect("it waits for one");
    rig.answer(MessageType::Ack, never)
        .expect("it waits for one");
    rig.advance(1);
    assert_eq!(rig.client.deadline(), None);
    rig.feed(Event::Renew);
    rig.advance(100);
    assert_eq!(rig.client.status(), Status::Renewing);
    assert!(rig.client.lease().is_some() && rig.sent.len() >= 3);
}

#[test]
fn a_requested_renewal_is_retransmitted_within_seconds() {
    let mut rig = Rig::bound();
    rig.sent.clear();
    rig.feed(Event::Renew);
    rig.advance(6);
    assert_eq!(rig.sent.len(), 2);

    // Renewal retries are at least a minute apart (RFC 2131, 4.4.5).
    let mut rig = Rig::bound();
    rig.advance(400);
    rig.sent.clear();
    rig.advance(150);
    assert_eq!((rig.client.status(), rig.sent.len()), (Status::Renewing, 1));
}

#[test]
fn a_nak_removes_the_address_and_restarts_discovery() {
    let mut rig = Rig::bound();
    rig.advance(500);
    rig.answer(MessageType::Nak, |_| {})
        .expect("it waits for an answer");
    assert_eq!(rig.lost, [Why::Refused(SERVER)]);
    assert_eq!(rig.client.lease(), None);
    rig.advance(2);
    assert_eq!(rig.last().kind(), MessageType::Discover);
    assert_eq!(rig.last().message.options.get(code::REQUESTED), None);

    // A server that refuses every request is not flooded.
    rig.sent.clear();
    for _ in 0..20 {
        let _ = rig.answer_if_any(MessageType::Offer);
        let _ = rig.answer_if_any(MessageType::Nak);
        rig.advance(1);
    }
    assert!(rig.sent.len() <= 42, "{}", rig.sent.len());
}

impl Rig {
    fn answer_if_any(&mut self, kind: MessageType) -> Result<(), Fault> {
        match self.sent.is_empty() {
            true => Ok(()),
            false => self.answer(kind, |_| {}),
        }
    }
}

#[test]
fn an_address_in_use_by_another_host_is_declined() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    rig.answer(MessageType::Offer, |_| {})
        .expect("it waits for one");
    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    let mut heard = arp::Repr {
        operation: arp::Operation::REPLY,
        sender_mac: MAC,
        sender: OWN,
        target_mac: MAC,
        target: Ipv4Addr::UNSPECIFIED,
    };
    rig.feed(Event::Arp(&heard));
    assert!(rig.client.is_probing(), "it hears itself");
    heard.sender_mac = OTHER;
    rig.feed(Event::Arp(&heard));

    assert_eq!(rig.failed, [Why::InUse(OWN, OTHER)]);
    let sent = rig.last().clone();
    assert_eq!(
        (sent.kind(), sent.to),
        (MessageType::Decline, Ipv4Addr::BROADCAST)
    );
    assert_eq!(sent.message.options.address(code::REQUESTED), Some(OWN));
    assert_eq!(sent.message.options.get(code::HOST_NAME), None);
    assert!(sent.message.options.contains(code::CLIENT_ID));
    rig.advance(9);
    assert_eq!(rig.last().kind(), MessageType::Decline);
    rig.advance(2);
    assert_eq!(rig.last().kind(), MessageType::Discover);
    assert!(rig.got.is_empty());
}

#[test]
fn two_clients_probing_the_same_address_both_decline_it() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    rig.answer(MessageType::Offer, |_| {})
        .expect("it waits for one");
    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    rig.feed(Event::Arp(&arp::Repr {
        operation: arp::Operation::REQUEST,
        sender_mac: OTHER,
        sender: Ipv4Addr::UNSPECIFIED,
        target_mac: Mac::ZERO,
        target: OWN,
    }));
    assert_eq!(rig.failed, [Why::InUse(OWN, OTHER)]);
}

#[test]
fn a_link_that_comes_up_requests_its_previous_address() {
    let mut rig = Rig::bound();
    rig.feed(Event::Down);
    assert_eq!(
        (&rig.lost[..], rig.client.deadline()),
        (&[Why::Stopped][..], None)
    );
    assert!(rig.sent.is_empty(), "nothing can be sent");
    rig.feed(Event::Up);
    assert_eq!(rig.client.status(), Status::Rebinding);
    let sent = rig.last().clone();
    assert_eq!(
        (sent.kind(), sent.from),
        (MessageType::Request, Ipv4Addr::UNSPECIFIED)
    );
    assert_eq!(sent.message.options.address(code::REQUESTED), Some(OWN));
    assert_eq!(sent.message.options.get(code::SERVER_ID), None);

    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    rig.advance(1);
    assert_eq!(rig.client.status(), Status::Bound);

    // In another network no server knows the lease, or one refuses it.
    rig.feed(Event::Down);
    rig.feed(Event::Up);
    rig.advance(14);
    assert_eq!(rig.last().kind(), MessageType::Discover);
    rig.feed(Event::Down);
    rig.feed(Event::Up);
    rig.answer(MessageType::Nak, |_| {})
        .expect("it waits for one");
    assert_eq!(rig.failed, [Why::Refused(SERVER)]);
}

#[test]
fn the_remembered_address_is_requested_first() {
    let mut rig = Rig::new();
    rig.feed(Event::Remember(OWN));
    rig.feed(Event::Up);
    assert_eq!(
        rig.last().message.options.address(code::REQUESTED),
        Some(OWN)
    );
    assert_eq!(rig.last().kind(), MessageType::Request);
}

#[test]
fn the_address_is_released_by_command_and_when_disabled() {
    for (event, after) in [
        (Event::Release, Status::Searching),
        (Event::Stop, Status::Stopped),
    ] {
        let mut rig = Rig::bound();
        rig.feed(event);
        let sent = &rig.sent[0];
        assert_eq!(
            (sent.kind(), sent.from, sent.to),
            (MessageType::Release, OWN, SERVER)
        );
        assert_eq!(sent.message.ciaddr, OWN);
        assert_eq!(sent.message.options.get(code::PARAMETERS), None);
        assert_eq!((rig.lost.len(), rig.client.status()), (1, after));
        assert!(rig.client.lease().is_none());
    }
}

#[test]
fn replies_to_other_transactions_are_ignored() {
    let mut rig = Rig::new();
    rig.feed(Event::Up);
    type Edit = fn(&mut Message);
    let foreign: [Edit; 5] = [
        |message| message.xid ^= 1,
        |message| message.chaddr[5] ^= 1,
        |message| message.hlen = 16,
        |message| message.is_reply = false,
        |message| drop(message.options.remove(code::SERVER_ID)),
    ];
    for edit in foreign {
        assert_eq!(rig.answer(MessageType::Offer, edit), Err(Fault::Other));
    }
    let unusable: [Edit; 3] = [
        |message| message.yiaddr = Ipv4Addr::BROADCAST,
        |message| message.options.set(code::SUBNET_MASK, [1, 2, 3, 4]),
        |message| drop(message.options.remove(code::LEASE_TIME)),
    ];
    for edit in unusable {
        assert_eq!(rig.answer(MessageType::Offer, edit), Err(Fault::Unusable));
    }
    for kind in [MessageType::Ack, MessageType::Nak, MessageType::Discover] {
        assert_eq!(rig.answer(kind, |_| {}), Err(Fault::Unexpected));
    }
    assert_eq!(
        (rig.sent.len(), rig.client.status()),
        (1, Status::Searching)
    );

    rig.answer(MessageType::Offer, |_| {})
        .expect("it waits for one");
    assert_eq!(
        rig.answer(MessageType::Offer, |_| {}),
        Err(Fault::Unexpected)
    );
    let rogue = |message: &mut Message| message.options.set(code::SERVER_ID, [10, 0, 0, 66]);
    for kind in [MessageType::Ack, MessageType::Nak] {
        assert_eq!(rig.answer(kind, rogue), Err(Fault::Other));
    }
    rig.answer(MessageType::Ack, |_| {})
        .expect("it waits for one");
    rig.advance(501);
    assert_eq!(rig.answer(MessageType::Nak, rogue), Err(Fault::Other));
    let another = |message: &mut Message| message.yiaddr = [10, 0, 0, 8].into();
    assert_eq!(rig.answer(MessageType::Ack, another), Err(Fault::Unusable));
    assert!(rig.lost.is_empty() && rig.client.lease().is_some());
}

#[test]
fn another_mac_address_is_another_client() {
    let mut rig = Rig::bound();
    let mut config = rig.client.config().clone();
    config.options.clear();
    rig.feed(Event::Configure(config.clone()));
    assert!(
        rig.lost.is_empty(),
        "options are sent with the next request"
    );
    config.mac = OTHER;
    rig.feed(Event::Configure(config));
    assert_eq!(rig.lost, [Why::Stopped]);
    assert_eq!(rig.last().message.mac(), Some(OTHER));
}

#[test]
fn packets_have_the_configured_dscp_and_broadcast_flag() {
    for (broadcast, while_unbound, then) in [
        (Broadcast::Always, true, true),
        (Broadcast::Never, false, false),
        (Broadcast::Unbound, true, false),
    ] {
        let mut rig = Rig::bound();
        let config = Config {
            broadcast,
            dscp: 46,
            ..rig.client.config().clone()
        };
        rig.feed(Event::Configure(config));
        let mut out = Vec::new();
        rig.client.handle(Event::Renew, rig.now, &mut out);
        let [Action::Send(bytes)] = &out[..] else {
            panic!("{out:?}");
        };
        let packet = ipv4::Packet::new_verified(bytes).expect("a right header");
        assert_eq!(packet.tos(), 46 << 2);
        let message = Message::decode(&packet.payload()[8..]).expect("well-formed");
        assert_eq!(message.broadcast, then);
        rig.feed(Event::Down);
        rig.feed(Event::Up);
        assert_eq!(rig.last().message.broadcast, while_unbound);
    }
}

/// A line that loses, repeats and reorders messages, with a server at its end.
#[test]
fn a_client_gets_an_address_on_a_lossy_duplicating_reordering_line() {
    for seed in 0..200 {
        let mut rng = Rng::seeded(seed);
        let mut rig = Rig::new();
        rig.feed(Event::Up);
        let mut seen = 0;
        let mut under_way: Vec<Message> = Vec::new();
        for _ in 0..600 {
            for sent in rig.sent.split_off(seen) {
                let kind = match sent.kind() {
                    MessageType::Discover => MessageType::Offer,
                    _ => MessageType::Ack,
                };
                for _ in 0..=rng.below(2) {
                    let mut message = Message {
                        is_reply: true,
                        xid: sent.message.xid,
                        yiaddr: OWN,
                        chaddr: sent.message.chaddr,
                        ..Message::default()
                    };
                    message.options.set(code::MESSAGE_TYPE, [kind.into()]);
                    message.options.set(code::SERVER_ID, SERVER.octets());
                    message.options.set(code::LEASE_TIME, 60_u32.to_be_bytes());
                    message.options.set(code::SUBNET_MASK, [255, 255, 255, 0]);
                    if !rng.percent(30) {
                        under_way.push(message);
                    }
                }
            }
            seen = rig.sent.len();
            if !under_way.is_empty() && rng.percent(60) {
                let at = rng.below(under_way.len() as u64) as usize;
                let message = under_way.swap_remove(at);
                rig.feed(Event::Received(&message));
            }
            rig.advance(1);
        }
        assert!(!rig.got.is_empty(), "seed {seed}");
        assert!(rig.failed.is_empty(), "seed {seed}");
    }
}
