//! Router advertisements, by the requirements of the RFCs and with a simulated host.

use wire::ndp::{NdpOption, Options, Router};

use super::*;

const OWN_MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const HOST_MAC: Mac = Mac([2, 0, 0, 0, 0, 2]);
const OWN: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const HOST: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const LAN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 0);

/// An advertisement as a host reads it.
#[derive(Debug)]
struct Advert {
    at: Instant,
    mac: Mac,
    dst: Ipv6Addr,
    router: Router,
    options: Vec<u8>,
}

impl Advert {
    fn options(&self) -> Vec<NdpOption<'_>> {
        Options::new_checked(&self.options)
            .unwrap()
            .iter()
            .collect()
    }

    fn prefix(&self, network: Ipv6Addr) -> Option<wire::ndp::Prefix> {
        self.options().into_iter().find_map(|option| match option {
            NdpOption::Prefix(prefix) if prefix.prefix == network => Some(prefix),
            _ => None,
        })
    }

    fn is_to_all(&self) -> bool {
        self.dst == ALL_NODES
    }
}

struct Fixture {
    machine: Advertiser,
    now: Instant,
}

impl Fixture {
    fn new(config: Config, seed: u64) -> Self {
        Self {
            machine: Advertiser::new(config, seed),
            now: Instant::from_secs(100),
        }
    }

    fn started(config: Config, seed: u64) -> Self {
        let mut fixture = Self::new(config, seed);
        fixture.on(Event::Start { source: OWN });
        fixture
    }

    /// A fixture after its initial advertisements.
    fn settled(seed: u64) -> Self {
        let mut fixture = Self::started(config(), seed);
        fixture.pass(Duration::from_secs(40));
        fixture
    }

    fn on(&mut self, event: Event<'_>) -> Vec<Advert> {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        self.read(out)
    }

    fn ask(&mut self, src: Ipv6Addr, mac: Option<Mac>) {
        let packet = solicit(src, 255, mac);
        let from = HOST_MAC;
        let packet = &packet;
        assert!(self.on(Event::Received { packet, from }).is_empty());
    }

    fn pass(&mut self, span: Duration) -> Vec<Advert> {
        let end = self.now + span;
        let mut adverts = Vec::new();
        while let Some((due, _)) = self.machine.deadline().filter(|&(due, _)| due <= end) {
            self.now = self.now.max(due);
            let mut out = Vec::new();
            self.machine.tick(self.now, &mut out);
            adverts.extend(self.read(out));
        }
        self.now = end;
        adverts
    }

    fn read(&self, actions: Vec<Action>) -> Vec<Advert> {
        let advert = |Action::Send(frame)| {
            assert!(frame.payload.len() <= 1_280);
            let ip = ipv6::Packet::new_checked(&frame.payload).unwrap();
            assert_eq!((ip.hop_limit(), ip.src()), (255, OWN));
            let icmp = icmpv6::Packet::new_verified(ip.payload(), ip.src(), ip.dst()).unwrap();
            let Message::RouterAdvertisement { router, options } = Message::parse(&icmp).unwrap()
            else {
                panic!("no advertisement");
            };
            Advert {
                at: self.now,
                mac: frame.dst,
                dst: ip.dst(),
                router,
                options: options.bytes().to_vec(),
            }
        };
        actions.into_iter().map(advert).collect()
    }
}

fn config() -> Config {
    Config {
        prefixes: vec![Prefix::of_address(LAN, 64)],
        ..Config::new(OWN_MAC)
    }
}

fn solicit(src: Ipv6Addr, hop_limit: u8, mac: Option<Mac>) -> Vec<u8> {
    let mut options = Vec::new();
    if let Some(mac) = mac {
        NdpOption::Source(mac).emit(&mut options);
    }
    let options = Options::new_checked(&options).unwrap();
    let mut upper = Vec::new();
    Message::RouterSolicitation { options }.emit(src, ALL_ROUTERS, &mut upper);
    let header = ipv6::Repr {
        hop_limit,
        ..ipv6::Repr::new(Protocol::ICMPV6, src, ALL_ROUTERS)
    };
    let mut bytes = header.to_bytes(upper.len()).to_vec();
    bytes.append(&mut upper);
    bytes
}

#[test]
fn the_first_three_advertisements_are_quick_and_later_ones_periodic() {
    // RFC 4861, 6.2.4.
    for seed in 0..100 {
        let mut fixture = Fixture::started(config(), seed);

        let adverts = fixture.pass(Duration::from_secs(7_200));

        let gaps: Vec<Duration> = adverts
            .windows(2)
            .map(|pair| pair[1].at - pair[0].at)
            .collect();
        assert_eq!(adverts[0].at, Instant::from_secs(100), "seed {seed}");
        assert!(
            gaps[..2].iter().all(|&gap| gap <= Duration::from_secs(16)),
            "seed {seed}"
        );
        let regular = Duration::from_secs(200)..=Duration::from_secs(600);
        assert!(
            gaps[2..].iter().all(|gap| regular.contains(gap)),
            "seed {seed}: {gaps:?}"
        );
        assert!(gaps.len() >= 12, "seed {seed}");
        assert!(adverts.iter().all(Advert::is_to_all), "seed {seed}");
    }
}

#[test]
fn an_advertisement_contains_the_configured_values() {
    let dns = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x53);
    let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0);
    let config = Config {
        hop_limit: 64,
        managed: true,
        mtu: Some(1_400),
        reachable_ms: 30_000,
        retransmit_ms: 1_000,
        preference: wire::ndp::Preference::High,
        dns: vec![dns],
        nat64: vec![Nat64Prefix::new(nat64, 96).unwrap()],
        ..config()
    };
    let mut fixture = Fixture::started(config, 1);

    let adverts = fixture.pass(Duration::ZERO);

    let expected = Router {
        hop_limit: 64,
        managed: true,
        other: false,
        preference: wire::ndp::Preference::High,
        lifetime_s: 1_800,
        reachable_ms: 30_000,
        retransmit_ms: 1_000,
    };
    assert_eq!(adverts[0].router, expected);
    let mut prefix64 = [0; 12];
    prefix64[..4].copy_from_slice(&[0, 0x64, 0xff, 0x9b]);
    let options = [
        NdpOption::Source(OWN_MAC),
        NdpOption::Mtu(1_400),
        NdpOption::Prefix(wire::ndp::Prefix {
            len: 64,
            on_link: true,
            autonomous: true,
            valid_s: 2_592_000,
            preferred_s: 604_800,
            prefix: LAN,
        }),
        NdpOption::Rdnss(wire::ndp::Rdnss {
            lifetime_s: 1_800,
            servers: &[dns.octets()],
        }),
        NdpOption::Pref64(wire::ndp::Pref64 {
            lifetime_8s: 225,
            code: 0,
            prefix: prefix64,
        }),
    ];
    assert_eq!(adverts[0].options(), options);
}

#[test]
fn an_advertisement_with_lifetime_zero_has_no_preference() {
    // RFC 4191, 2.2.
    let config = Config {
        lifetime_s: 0,
        preference: wire::ndp::Preference::High,
        advertise_mac: false,
        ..Config::new(OWN_MAC)
    };

    let adverts = Fixture::started(config, 1).pass(Duration::ZERO);

    assert_eq!(adverts[0].router, Router::default());
    assert!(adverts[0].options.is_empty());
}

#[test]
fn a_solicitation_is_answered_by_unicast_within_half_a_second() {
    // RFC 4861, 6.2.6; RFC 7772, 5.1.
    for seed in 0..100 {
        let mut fixture = Fixture::settled(seed);
        fixture.ask(HOST, Some(HOST_MAC));
        fixture.ask(HOST, Some(HOST_MAC));

        let adverts = fixture.pass(Duration::from_millis(500));

        assert_eq!(adverts.len(), 1, "seed {seed}");
        assert_eq!(
            (adverts[0].dst, adverts[0].mac),
            (HOST, HOST_MAC),
            "seed {seed}"
        );
    }
}

#[test]
fn unspecified_solicitations_are_answered_by_multicast_every_three_seconds_at_most() {
    for seed in 0..100 {
        let mut fixture = Fixture::settled(seed);
        let mut adverts = Vec::new();
        for _ in 0..100 {
            fixture.ask(Ipv6Addr::UNSPECIFIED, None);
            adverts.extend(fixture.pass(Duration::from_millis(100)));
        }

        assert!(
            (3..=5).contains(&adverts.len()),
            "seed {seed}: {}",
            adverts.len()
        );
        for pair in adverts.windows(2) {
            assert!(
                pair[1].at - pair[0].at >= Duration::from_secs(3),
                "seed {seed}"
            );
        }
        assert!(adverts.iter().all(Advert::is_to_all), "seed {seed}");
    }
}

#[test]
fn a_flood_of_solicitations_is_answered_by_multicast() {
    let mut fixture = Fixture::settled(1);
    for n in 0..10_000u16 {
        fixture.ask(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 1, n), Some(HOST_MAC));
    }

    let adverts = fixture.pass(Duration::from_millis(500));

    assert_eq!(
        adverts.iter().filter(|advert| !advert.is_to_all()).count(),
        TO_ONE_MAX
    );
    assert_eq!(
        adverts.iter().filter(|advert| advert.is_to_all()).count(),
        1
    );
}

#[test]
fn invalid_solicitations_are_not_answered() {
    // RFC 4861, 6.1.1.
    let mut bad_checksum = solicit(HOST, 255, None);
    bad_checksum[43] ^= 1;
    let cases = [
        solicit(HOST, 254, None),
        solicit(Ipv6Addr::UNSPECIFIED, 255, Some(HOST_MAC)),
        bad_checksum,
    ];
    for (n, case) in cases.iter().enumerate() {
        let mut fixture = Fixture::settled(1);
        let (packet, from) = (&case[..], HOST_MAC);
        fixture.on(Event::Received { packet, from });

        assert!(fixture.pass(Duration::from_secs(4)).is_empty(), "case {n}");
        assert_eq!(fixture.machine.counters().invalid, 1, "case {n}");
    }
}

#[test]
fn a_looped_back_solicitation_is_ignored() {
    let mut fixture = Fixture::settled(1);
    let packet = &solicit(HOST, 255, None)[..];
    fixture.on(Event::Received {
        packet,
        from: OWN_MAC,
    });

    assert!(fixture.pass(Duration::from_secs(4)).is_empty());
}

#[test]
fn the_final_advertisement_has_lifetime_zero() {
    // RFC 4861, 6.2.5.
    let mut fixture = Fixture::settled(1);

    let adverts = fixture.on(Event::Stop);

    assert_eq!(adverts.len(), 1);
    assert_eq!(adverts[0].router.lifetime_s, 0);
    assert!(adverts[0].is_to_all());
    assert_eq!(fixture.machine.deadline(), None);
    fixture.ask(HOST, Some(HOST_MAC));
    assert!(fixture.pass(Duration::from_secs(3_600)).is_empty());
    assert!(fixture.on(Event::Stop).is_empty());
}

#[test]
fn a_change_is_advertised_soon_and_a_removed_prefix_is_withdrawn() {
    // RFC 9096, 3.5.
    let mut fixture = Fixture::settled(1);
    let new = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 0);
    fixture.on(Event::Configure(Config {
        prefixes: vec![Prefix::of_address(new, 64)],
        ..Config::new(OWN_MAC)
    }));

    let adverts = fixture.pass(Duration::from_secs(40));
    assert_eq!(adverts.len(), 3);
    let gone = adverts[0].prefix(LAN).unwrap();
    assert_eq!((gone.valid_s, gone.preferred_s), (0, 0));
    assert_eq!(adverts[0].prefix(new).unwrap().preferred_s, 604_800);

    // As long as hosts may use the prefix.
    let during = fixture.pass(Duration::from_secs(2_590_000));
    assert!(during.iter().all(|advert| advert.prefix(LAN).is_some()));
    fixture.pass(Duration::from_secs(2_700));
    let later = fixture.pass(Duration::from_secs(600));
    assert!(later.iter().all(|advert| advert.prefix(LAN).is_none()));

    fixture.on(Event::Configure(config()));
    let back = fixture.pass(Duration::from_secs(4));
    assert_eq!(back[0].prefix(LAN).unwrap().preferred_s, 604_800);
}

#[test]
fn reapplying_the_configuration_changes_nothing() {
    let mut fixture = Fixture::settled(1);
    let before = fixture.machine.deadline();

    fixture.on(Event::Configure(config()));

    assert_eq!(fixture.machine.deadline(), before);
}

#[test]
fn options_that_exceed_one_packet_are_split_over_several() {
    // RFC 4861, 6.2.3.
    let network = |n| Ipv6Addr::new(0x2001, 0xdb8, n, 0, 0, 0, 0, 0);
    let config = Config {
        prefixes: (0..100)
            .map(|n| Prefix::of_address(network(n), 64))
            .collect(),
        dns: (0..40).map(network).collect(),
        ..Config::new(OWN_MAC)
    };

    let adverts = Fixture::started(config, 1).pass(Duration::ZERO);

    assert!(adverts.len() > 3);
    for n in 0..100 {
        let carriers = adverts
            .iter()
            .filter(|advert| advert.prefix(network(n)).is_some());
        assert_eq!(carriers.count(), 1, "prefix {n}");
    }
}

#[test]
fn nat64_prefixes_have_one_of_six_lengths() {
    let lens: Vec<u8> = (0..=128)
        .filter(|&len| Nat64Prefix::new(LAN, len).is_some())
        .collect();

    assert_eq!(lens, [32, 40, 48, 56, 64, 96]);
}

#[test]
fn random_bytes_never_panic() {
    let good = solicit(HOST, 255, Some(HOST_MAC));
    for seed in 0..2_000 {
        let mut rng = Rng::seeded(seed);
        let mut fixture = Fixture::settled(seed);
        for _ in 0..20 {
            let mut packet = good.clone();
            let at = rng.below(packet.len() as u64) as usize;
            packet[at] = rng.next_u32() as u8;
            packet.truncate(rng.below(2 * packet.len() as u64) as usize);
            let packet = &packet[..];
            fixture.on(Event::Received {
                packet,
                from: HOST_MAC,
            });
            fixture.pass(Duration::from_millis(rng.below(1_000)));
        }
    }
}

#[test]
fn repeated_solicitations_do_not_delay_the_answer() {
    for seed in 0..100 {
        let mut fixture = Fixture::settled(seed);
        let mut adverts = Vec::new();
        for _ in 0..500 {
            fixture.ask(Ipv6Addr::UNSPECIFIED, None);
            fixture.ask(HOST, Some(HOST_MAC));
            adverts.extend(fixture.pass(Duration::from_millis(1)));
        }

        let to_all = adverts.iter().filter(|advert| advert.is_to_all()).count();
        assert_eq!(to_all, 1, "seed {seed}");
        assert!(adverts.len() > to_all, "seed {seed}");
    }
}

#[test]
fn prefixes_that_were_never_advertised_are_not_withdrawn() {
    let mut fixture = Fixture::new(config(), 1);
    fixture.on(Event::Configure(Config::new(OWN_MAC)));
    fixture.on(Event::Start { source: OWN });

    let adverts = fixture.pass(Duration::ZERO);

    assert!(adverts[0].prefix(LAN).is_none());
}

#[test]
fn a_withdrawn_prefix_that_returns_is_advertised_once() {
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::Configure(Config::new(OWN_MAC)));
    fixture.pass(Duration::from_secs(4));
    fixture.on(Event::Configure(config()));

    let adverts = fixture.pass(Duration::from_secs(4));

    let prefixes = adverts[0]
        .options()
        .into_iter()
        .filter_map(|option| match option {
            NdpOption::Prefix(prefix) => Some(prefix.valid_s),
            _ => None,
        });
    assert!(prefixes.eq([2_592_000]));
}

fn renumbered() -> (Ipv6Addr, Config) {
    let new = Ipv6Addr::new(0x2001, 0xdb8, 2, 0, 0, 0, 0, 0);
    let config = Config {
        prefixes: vec![Prefix::of_address(new, 64)],
        ..Config::new(OWN_MAC)
    };
    (new, config)
}

#[test]
fn the_last_prefix_is_withdrawn_until_it_expires() {
    // RFC 9096, 3.5.
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::Configure(Config::new(OWN_MAC)));
    fixture.on(Event::Withdraw { source: OWN });

    let adverts = fixture.pass(Duration::from_secs(40));
    assert_eq!(adverts.len(), 3);
    for advert in &adverts {
        let gone = advert.prefix(LAN).unwrap();
        assert_eq!((gone.valid_s, gone.preferred_s), (0, 0));
        assert!(gone.on_link && gone.autonomous);
        assert_eq!(advert.router.lifetime_s, 0);
    }
    fixture.ask(HOST, Some(HOST_MAC));
    let answer = fixture.pass(Duration::from_millis(500));
    assert_eq!(answer[0].prefix(LAN).unwrap().preferred_s, 0);

    fixture.pass(Duration::from_secs(2_593_000));
    assert_eq!(fixture.machine.deadline(), None);
    assert!(!fixture.machine.has_stale());
}

#[test]
fn a_new_prefix_after_a_restart_makes_earlier_ones_stale() {
    // RFC 9096, 3.5: prefixes are stored over a restart.
    let known = Fixture::settled(1).machine.known_prefixes();
    assert_eq!(known, [Prefix::of_address(LAN, 64)]);
    let (new, config) = renumbered();
    let mut fixture = Fixture::new(Config::new(OWN_MAC), 2);
    fixture.on(Event::Recall(known));
    fixture.on(Event::Configure(config));
    fixture.on(Event::Start { source: OWN });

    let adverts = fixture.pass(Duration::ZERO);

    assert_eq!(adverts[0].prefix(LAN).unwrap().preferred_s, 0);
    assert_eq!(adverts[0].prefix(new).unwrap().preferred_s, 604_800);
    // A further restart keeps unexpired prefixes.
    let known = fixture.machine.known_prefixes().into_iter();
    let mut networks: Vec<_> = known.map(|prefix| prefix.network).collect();
    networks.sort();
    assert_eq!(networks, [LAN, new]);
}

#[test]
fn a_prefix_that_returns_after_a_restart_is_never_stale() {
    let ula = Prefix::of_address(Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 0), 64);
    let lan = Prefix::of_address(LAN, 64);
    let with = |prefixes: &[Prefix]| Config {
        prefixes: prefixes.to_vec(),
        ..Config::new(OWN_MAC)
    };
    let mut fixture = Fixture::new(Config::new(OWN_MAC), 2);
    fixture.on(Event::Recall(vec![ula, lan]));
    // The configured prefix is present at once; the other one comes from a server.
    fixture.on(Event::Configure(with(&[ula])));
    fixture.on(Event::Start { source: OWN });
    let mut adverts = fixture.pass(Duration::from_secs(20));
    fixture.on(Event::Configure(with(&[ula, lan])));
    adverts.extend(fixture.pass(Duration::from_secs(3_600)));

    assert!(adverts.len() > 6);
    let gone = |advert: &Advert| advert.prefix(LAN).is_some_and(|lan| lan.preferred_s == 0);
    assert!(!adverts.iter().any(gone));
    assert_eq!(fixture.machine.known_prefixes(), [ula, lan]);
}

#[test]
fn a_prefix_missing_after_a_restart_is_stale_after_a_minute() {
    let ula = Prefix::of_address(Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, 0), 64);
    let mut fixture = Fixture::new(Config::new(OWN_MAC), 2);
    fixture.on(Event::Recall(vec![ula, Prefix::of_address(LAN, 64)]));
    fixture.on(Event::Configure(Config {
        prefixes: vec![ula],
        ..Config::new(OWN_MAC)
    }));
    fixture.on(Event::Start { source: OWN });

    let early = fixture.pass(Duration::from_secs(59));
    assert!(early.iter().all(|advert| advert.prefix(LAN).is_none()));
    let late = fixture.pass(Duration::from_secs(4));
    assert_eq!(late[0].prefix(LAN).unwrap().preferred_s, 0);
}

#[test]
fn a_removed_dns_server_is_advertised_with_lifetime_zero() {
    // RFC 8106, 5.1.
    let server = |last| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last);
    let with = |dns: &[Ipv6Addr]| Config {
        dns: dns.to_vec(),
        ..config()
    };
    let lifetimes = |advert: &Advert| -> Vec<(u32, [u8; 16])> {
        let options = advert.options().into_iter();
        options
            .filter_map(|option| match option {
                NdpOption::Rdnss(told) => Some((told.lifetime_s, told.servers[0])),
                _ => None,
            })
            .collect()
    };
    let mut fixture = Fixture::started(with(&[server(1)]), 1);
    fixture.pass(Duration::from_secs(40));
    fixture.on(Event::Configure(with(&[server(2)])));

    let adverts = fixture.pass(Duration::from_secs(3_600));

    let (new, gone) = ((1_800, server(2).octets()), (0, server(1).octets()));
    assert!(
        adverts[..3]
            .iter()
            .all(|told| lifetimes(told) == [new, gone])
    );
    assert!(adverts[3..].iter().all(|told| lifetimes(told) == [new]));
}
