use super::*;

const SERVER: &[u8] = &[0, 3, 0, 1, 2, 0, 0, 0, 0, 1];

fn from() -> Ipv6Addr {
    Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)
}

fn prefix() -> Leased {
    Leased {
        address: Ipv6Addr::new(0x2001, 0xdb8, 0x100, 0, 0, 0, 0, 0),
        len: 56,
        preferred: 1000,
        valid: 2000,
    }
}

fn address() -> Leased {
    Leased {
        address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 7),
        len: 128,
        ..prefix()
    }
}

struct Rig {
    client: Client,
    now: Instant,
    sent: Vec<Message>,
    got: Vec<Binding>,
    lost: Vec<Why>,
    refused: Vec<Status>,
}

impl Rig {
    fn new(edit: impl Fn(&mut Config)) -> Self {
        let mut config = Config {
            duid: vec![0, 3, 0, 1, 2, 0, 0, 0, 0, 9],
            prefixes: Some(7),
            ..Config::default()
        };
        edit(&mut config);
        let mut rig = Self {
            client: Client::new(config, 5),
            now: Instant::from_secs(1),
            sent: Vec::new(),
            got: Vec::new(),
            lost: Vec::new(),
            refused: Vec::new(),
        };
        rig.feed(Event::Up);
        rig
    }

    fn bound() -> Self {
        let mut rig = Self::new(|_| {});
        rig.answer(Kind::Advertise, &[prefix()], |options| {
            options.add(code::PREFERENCE, [255])
        })
        .expect("it waits for one");
        rig.answer(Kind::Reply, &[prefix()], |_| {})
            .expect("it waits for one");
        assert_eq!(rig.client.status(), Status6::Bound);
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
                Action::Send(bytes) => self.sent.push(Message::decode(&bytes).expect("its own")),
                Action::Got(binding) => self.got.push(*binding),
                Action::Lost(why) => self.lost.push(why),
                Action::Refused(status) => self.refused.push(status),
            }
        }
    }

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

    fn last(&self) -> &Message {
        self.sent.last().expect("something was sent")
    }

    fn answer(
        &mut self,
        kind: Kind,
        leased: &[Leased],
        edit: impl Fn(&mut Options),
    ) -> Result<(), Fault> {
        let mut message = Message::new(kind, self.last().xid);
        let options = &mut message.options;
        options.add(code::CLIENT_ID, self.client.config().duid.clone());
        options.add(code::SERVER_ID, SERVER);
        options.add(code::DNS, [0xfd; 16]);
        for (is_prefixes, id) in [
            (false, self.client.config().addresses),
            (true, self.client.config().prefixes),
        ] {
            let Some(id) = id else { continue };
            let own = leased
                .iter()
                .filter(|leased| (leased.len < 128) == is_prefixes);
            options.add_association(&Association {
                is_prefixes,
                id,
                t1: 0,
                t2: 0,
                leased: own.copied().collect(),
                status: Status::Success,
            });
        }
        edit(options);
        self.hear(&message)
    }

    fn hear(&mut self, message: &Message) -> Result<(), Fault> {
        let mut out = Vec::new();
        let taken = self.client.receive(message, from(), self.now, &mut out);
        self.note(out);
        taken
    }
}

#[test]
fn a_prefix_is_acquired_by_four_messages() {
    let mut rig = Rig::new(|config| config.hint = Some((Ipv6Addr::UNSPECIFIED, 60)));
    assert_eq!(rig.last().kind, Kind::Solicit);
    let asked = rig
        .last()
        .options
        .associations(code::IA_PD)
        .next()
        .expect("one");
    assert_eq!((asked.id, asked.leased[0].len), (7, 60));
    assert!(!rig.last().options.contains(code::IA_NA));

    // The client waits for the first timeout and takes the best offer.
    rig.answer(Kind::Advertise, &[prefix()], |_| {})
        .expect("it waits for one");
    assert_eq!(rig.sent.len(), 1);
    rig.advance(2);
    assert_eq!(
        (rig.last().kind, rig.client.status()),
        (Kind::Request, Status6::Requesting)
    );
    assert_eq!(rig.last().options.get(code::SERVER_ID), Some(SERVER));
    let asked = rig
        .last()
        .options
        .associations(code::IA_PD)
        .next()
        .expect("one");
    assert_eq!(asked.leased, [prefix()]);
    rig.answer(Kind::Reply, &[prefix()], |_| {})
        .expect("it waits for one");

    assert_eq!(rig.client.status(), Status6::Bound);
    let binding = rig.client.binding().expect("it has one");
    let got = binding.prefixes().next().expect("one");
    assert_eq!((got.address, got.len), (prefix().address, 56));
    assert_eq!(binding.addresses().count(), 0);
    assert_eq!(
        (binding.from, binding.options.addresses(code::DNS).len()),
        (from(), 1)
    );
    assert_eq!(rig.got.len(), 1);
}

#[test]
fn rapid_commit_takes_two_messages_if_both_agree() {
    let mut rig = Rig::new(|config| config.rapid_commit = true);
    assert!(rig.last().options.contains(code::RAPID_COMMIT));
    assert_eq!(
        rig.answer(Kind::Reply, &[prefix()], |_| {}),
        Err(Fault::Unexpected)
    );
    rig.answer(Kind::Reply, &[prefix()], |options| {
        options.add(code::RAPID_COMMIT, [])
    })
    .expect("it waits for one");
    assert_eq!(rig.client.status(), Status6::Bound);
}

#[test]
fn a_prefix_without_address_is_accepted_only_if_configured() {
    for (will_do, taken) in [(false, Err(Fault::Unusable)), (true, Ok(()))] {
        let mut rig = Rig::new(|config| {
            config.addresses = Some(7);
            config.prefix_will_do = will_do;
        });
        assert_eq!(rig.answer(Kind::Advertise, &[prefix()], |_| {}), taken);
        rig.answer(Kind::Advertise, &[prefix(), address()], |_| {})
            .expect("it has both");
    }
}

#[test]
fn a_binding_is_renewed_then_rebound_then_expires() {
    let mut rig = Rig::bound();
    rig.advance(498);
    assert!(rig.sent.is_empty());
    rig.advance(4);
    assert_eq!(
        (rig.last().kind, rig.client.status()),
        (Kind::Renew, Status6::Renewing)
    );
    assert_eq!(rig.last().options.get(code::SERVER_ID), Some(SERVER));
    rig.answer(Kind::Reply, &[prefix()], |_| {})
        .expect("it waits for one");
    assert_eq!((rig.got.len(), rig.client.status()), (2, Status6::Bound));

    rig.advance(802);
    assert_eq!(
        (rig.last().kind, rig.client.status()),
        (Kind::Rebind, Status6::Rebinding)
    );
    assert!(!rig.last().options.contains(code::SERVER_ID));
    assert!(rig.sent.len() < 12, "{}", rig.sent.len());
    rig.advance(1190);
    assert!(rig.lost.is_empty());
    rig.advance(20);
    assert_eq!(
        (&rig.lost[..], rig.last().kind),
        (&[Why::Expired][..], Kind::Solicit)
    );
}

#[test]
fn prefixes_with_lifetime_zero_are_lost_and_unmentioned_ones_stay() {
    let mut rig = Rig::bound();
    rig.feed(Event::Renew);
    rig.answer(Kind::Reply, &[], |_| {})
        .expect("it waits for one");
    assert_eq!(
        rig.client.binding().map(|binding| binding.got.len()),
        Some(1)
    );
    rig.feed(Event::Renew);
    let gone = Leased {
        preferred: 0,
        valid: 0,
        ..prefix()
    };
    rig.answer(Kind::Reply, &[gone], |_| {})
        .expect("it waits for one");
    assert_eq!(
        (&rig.lost[..], rig.client.binding()),
        (&[Why::TakenBack][..], None)
    );
    rig.advance(6);
    assert_eq!(rig.last().kind, Kind::Solicit);
}

#[test]
fn a_prefix_survives_a_link_loss_and_is_confirmed_again() {
    let mut rig = Rig::bound();
    rig.feed(Event::Down);
    assert!(rig.lost.is_empty() && rig.client.binding().is_some());
    assert_eq!(rig.client.status(), Status6::Stopped);
    rig.feed(Event::Up);
    assert_eq!(rig.last().kind, Kind::Rebind);
    rig.answer(Kind::Reply, &[prefix()], |_| {})
        .expect("it waits for one");
    assert_eq!(rig.client.status(), Status6::Bound);

    // On another link no server knows the binding: the client soon starts over.
    rig.feed(Event::Down);
    rig.feed(Event::Up);
    rig.advance(20);
    assert_eq!(
        (&rig.lost[..], rig.last().kind),
        (&[Why::TakenBack][..], Kind::Solicit)
    );

    let mut rig = Rig::bound();
    rig.feed(Event::Down);
    rig.advance(2001);
    assert_eq!(rig.lost, [Why::Expired]);
}

#[test]
fn a_stored_binding_is_confirmed_or_requested_as_a_hint_after_a_restart() {
    // RFC 8415, 18.2.12 and 18.2.1.
    let got = Rig::bound().got[0].got.clone();
    let mut rig = Rig::new(|_| {});
    rig.feed(Event::Down);
    rig.feed(Event::Recall(got.clone()));
    assert!(
        rig.client
            .binding()
            .is_some_and(|binding| binding.got == got)
    );
    rig.feed(Event::Up);
    assert_eq!(rig.last().kind, Kind::Rebind);
    let asked = |rig: &Rig| {
        let asked = rig.last().options.associations(code::IA_PD);
        let mut asked = asked.flat_map(|own| own.leased);
        asked.next().map(|leased| (leased.address, leased.len))
    };
    let own = (prefix().address, prefix().len);
    assert_eq!(asked(&rig), Some(own));
    rig.answer(Kind::Reply, &[prefix()], |_| {})
        .expect("it waits for one");
    assert_eq!(rig.client.status(), Status6::Bound);
    assert_eq!(rig.got[0].server, SERVER);

    // No server knows the binding.
    let mut rig = Rig::new(|_| {});
    rig.feed(Event::Down);
    rig.feed(Event::Recall(got));
    rig.feed(Event::Up);
    rig.advance(20);
    assert_eq!((rig.last().kind, asked(&rig)), (Kind::Solicit, Some(own)));
}

#[test]
fn a_binding_is_released_by_command_and_when_disabled() {
    for (event, after) in [(Event::Release, 2), (Event::Stop, 1)] {
        let mut rig = Rig::bound();
        rig.feed(event);
        assert_eq!((rig.sent[0].kind, rig.sent.len()), (Kind::Release, after));
        let given = rig.sent[0]
            .options
            .associations(code::IA_PD)
            .next()
            .expect("one");
        assert_eq!(given.leased[0].address, prefix().address);
        assert_eq!(rig.lost.len(), 1);
    }
}

#[test]
fn stateless_information_is_refreshed_after_its_lifetime() {
    let mut rig = Rig::new(|config| config.prefixes = None);
    assert_eq!(rig.last().kind, Kind::Information);
    rig.answer(Kind::Reply, &[], |options| {
        options.add(code::REFRESH, 700_u32.to_be_bytes())
    })
    .expect("it waits for one");
    assert_eq!((rig.client.status(), rig.got.len()), (Status6::Bound, 1));
    rig.advance(690);
    assert_eq!(rig.sent.len(), 1);
    rig.advance(20);
    assert!(rig.sent.len() > 1);
}

#[test]
fn a_refusal_is_reported_and_the_request_repeated_later() {
    let mut rig = Rig::new(|_| {});
    rig.answer(Kind::Advertise, &[prefix()], |options| {
        options.add(code::PREFERENCE, [255])
    })
    .expect("it waits for one");
    rig.answer(Kind::Reply, &[], |options| {
        options.add_status(Status::NoPrefix, "none left")
    })
    .expect("it waits for one");
    assert_eq!(
        (&rig.refused[..], rig.got.len()),
        (&[Status::NoPrefix][..], 0)
    );
    let sent = rig.sent.len();
    rig.advance(4);
    assert_eq!(rig.sent.len(), sent);
    rig.advance(2);
    assert_eq!(rig.last().kind, Kind::Solicit);
}

#[test]
fn a_server_that_falls_silent_is_abandoned() {
    let mut rig = Rig::new(|_| {});
    rig.answer(Kind::Advertise, &[prefix()], |options| {
        options.add(code::PREFERENCE, [255])
    })
    .expect("it waits for one");
    rig.advance(400);
    let requests = rig
        .sent
        .iter()
        .filter(|sent| sent.kind == Kind::Request)
        .count();
    assert_eq!((requests, rig.last().kind), (10, Kind::Solicit));
}

#[test]
fn replies_to_other_transactions_are_ignored() {
    let mut rig = Rig::new(|_| {});
    let good = |rig: &Rig| {
        let mut message = Message::new(Kind::Advertise, rig.last().xid);
        message.options.add(code::SERVER_ID, SERVER);
        message
    };
    let mut nameless = good(&rig);
    assert_eq!(rig.hear(&nameless), Err(Fault::Other));
    nameless.options.add(code::CLIENT_ID, *b"somebody else");
    assert_eq!(rig.hear(&nameless), Err(Fault::Other));
    assert_eq!(
        rig.answer(Kind::Advertise, &[], |_| {}),
        Err(Fault::Unusable)
    );
    let local = Leased {
        address: from(),
        ..prefix()
    };
    assert_eq!(
        rig.answer(Kind::Reply, &[local], |_| {}),
        Err(Fault::Unexpected)
    );
    rig.answer(Kind::Advertise, &[prefix()], |options| {
        options.add(code::PREFERENCE, [255])
    })
    .expect("it waits for one");
    assert_eq!(
        rig.answer(Kind::Reply, &[local], |_| {}),
        Err(Fault::Unusable)
    );
    let mut rogue = Message::new(Kind::Reply, rig.last().xid);
    rogue
        .options
        .add(code::CLIENT_ID, rig.client.config().duid.clone());
    rogue.options.add(code::SERVER_ID, *b"another");
    assert_eq!(rig.hear(&rogue), Err(Fault::Other));
    assert!(rig.got.is_empty() && rig.client.status() == Status6::Requesting);
}

#[test]
fn retransmission_times_double_up_to_the_maximum() {
    let mut rig = Rig::new(|_| {});
    rig.advance(20_000);
    assert!((14..=20).contains(&rig.sent.len()), "{}", rig.sent.len());
}

#[test]
fn a_client_gets_a_prefix_on_a_lossy_duplicating_line() {
    for seed in 0..100 {
        let mut rng = Rng::seeded(seed);
        let mut rig = Rig::new(|_| {});
        let mut seen = 0;
        for _ in 0..600 {
            if rig.sent.len() > seen {
                seen = rig.sent.len();
                let kind = match rig.last().kind {
                    Kind::Solicit => Kind::Advertise,
                    _ => Kind::Reply,
                };
                for _ in 0..=rng.below(2) {
                    if !rng.percent(40) {
                        let _ = rig.answer(kind, &[prefix()], |_| {});
                    }
                }
            }
            rig.advance(1);
        }
        assert!(!rig.got.is_empty(), "seed {seed}");
    }
}
