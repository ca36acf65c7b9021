use wire::{Mac, Protocol, checksum, ipv4};

use super::*;

const OWN: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 3);
const OTHER: Ipv4Addr = Ipv4Addr::new(239, 1, 2, 4);
const V3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);

/// A message as a switch reads it: destination, type, and type and group of each record.
type Said = (Ipv4Addr, u8, Vec<(u8, Ipv4Addr)>);

struct Fixture {
    machine: Host,
    now: Instant,
}

impl Fixture {
    /// A fixture that has reported both groups.
    fn settled(seed: u64) -> Self {
        let mut fixture = Self {
            machine: Host::new(seed),
            now: Instant::from_secs(5),
        };
        fixture.on(Event::LinkUp);
        fixture.on(Event::Source { address: Some(OWN) });
        fixture.on(Event::Join { group: GROUP });
        fixture.on(Event::Join { group: OTHER });
        fixture.pass(Duration::from_secs(5));
        fixture
    }

    fn on(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        assert!(out.is_empty());
    }

    fn ask(&mut self, message: &[u8]) {
        let packet = query(message);
        self.on(Event::Received { packet: &packet });
    }

    /// Messages sent within a time.
    fn pass(&mut self, span: Duration) -> Vec<Said> {
        let (end, mut said) = (self.now + span, Vec::new());
        while let Some((at, _)) = self.machine.deadline().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.machine.tick(self.now, &mut out);
            said.extend(out.iter().map(|Action::Send(frame)| read(frame)));
        }
        self.now = end;
        said
    }
}

fn query(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let to = Ipv4Addr::new(224, 0, 0, 1);
    let header = ipv4::Repr::new(Protocol::IGMP, Ipv4Addr::new(10, 0, 0, 2), to);
    [&header.to_bytes(message.len())[..], &message].concat()
}

fn read(frame: &Frame) -> Said {
    let ip = ipv4::Packet::new_verified(&frame.payload).expect("a packet");
    assert_eq!((ip.ttl(), ip.src()), (1, OWN));
    assert_eq!(ip.options(), [0x94, 4, 0, 0]);
    assert_eq!(frame.dst, Mac::of_ipv4_group(ip.dst()));
    let message = ip.payload();
    assert_eq!(checksum::checksum(message), 0);
    let group = |at: usize| Ipv4Addr::from(*message[at..].first_chunk::<4>().expect("four"));
    let records = match message[0] {
        0x22 => {
            let count = u16::from_be_bytes([message[6], message[7]]);
            assert_eq!(message.len(), 8 + 8 * usize::from(count));
            (0..usize::from(count))
                .map(|at| (message[8 + 8 * at], group(12 + 8 * at)))
                .collect()
        }
        _ => vec![(0, group(4))],
    };
    (ip.dst(), message[0], records)
}

#[test]
fn changes_are_reported_twice() {
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::Leave { group: GROUP });
    let left = (V3_ROUTERS, 0x22, vec![(3, GROUP)]);
    assert_eq!(fixture.pass(Duration::from_secs(2)), [left.clone(), left]);
    fixture.on(Event::Leave { group: GROUP });
    assert_eq!(
        fixture.pass(Duration::from_secs(2)),
        [],
        "it was left before"
    );
    fixture.on(Event::Join { group: GROUP });
    let joined = (V3_ROUTERS, 0x22, vec![(4, GROUP)]);
    assert_eq!(
        fixture.pass(Duration::from_secs(2)),
        [joined.clone(), joined]
    );
    let all_systems = Ipv4Addr::new(224, 0, 0, 1);
    fixture.on(Event::Join { group: all_systems });
    assert_eq!(
        fixture.pass(Duration::from_secs(2)),
        [],
        "that is nobody's news"
    );
}

#[test]
fn queries_are_answered_within_their_response_time() {
    for seed in 0..20 {
        let mut fixture = Fixture::settled(seed);
        fixture.ask(&[0x11, 100, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0]);
        let both = (V3_ROUTERS, 0x22, vec![(2, GROUP), (2, OTHER)]);
        assert_eq!(fixture.pass(Duration::from_secs(10)), [both]);
        fixture.ask(&[0x11, 10, 0, 0, 239, 1, 2, 4, 2, 125, 0, 0]);
        let one = (V3_ROUTERS, 0x22, vec![(2, OTHER)]);
        assert_eq!(fixture.pass(Duration::from_secs(1)), [one]);
        fixture.ask(&[0x11, 10, 0, 0, 239, 9, 9, 9, 2, 125, 0, 0]);
        assert_eq!(fixture.pass(Duration::from_secs(1)), []);
    }
}

#[test]
fn older_queriers_are_answered_in_their_version_until_their_timeout() {
    let mut fixture = Fixture::settled(3);
    fixture.ask(&[0x11, 10, 0, 0, 0, 0, 0, 0]);
    let report = |group| (group, 0x16, vec![(0, group)]);
    assert_eq!(
        fixture.pass(Duration::from_secs(1)),
        [report(GROUP), report(OTHER)]
    );
    fixture.on(Event::Leave { group: GROUP });
    let left = (Ipv4Addr::new(224, 0, 0, 2), 0x17, vec![(0, GROUP)]);
    assert_eq!(fixture.pass(Duration::from_secs(2)), [left.clone(), left]);

    // Version 1 has no leave message.
    fixture.ask(&[0x11, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(
        fixture.pass(Duration::from_secs(10)),
        [(OTHER, 0x12, vec![(0, OTHER)])]
    );
    fixture.on(Event::Leave { group: OTHER });
    assert_eq!(fixture.pass(Duration::from_secs(2)), []);
    fixture.pass(Duration::from_secs(300));
    fixture.on(Event::Join { group: OTHER });
    assert_eq!(fixture.pass(Duration::from_secs(2))[0].1, 0x22);
}

#[test]
fn all_groups_are_reported_on_link_up_and_none_while_down() {
    let mut fixture = Fixture::settled(1);
    fixture.on(Event::LinkDown);
    fixture.on(Event::Leave { group: GROUP });
    fixture.ask(&[0x11, 10, 0, 0, 0, 0, 0, 0]);
    assert_eq!(fixture.pass(Duration::from_secs(5)), []);
    fixture.on(Event::LinkUp);
    let said = fixture.pass(Duration::from_secs(5));
    assert_eq!(said[0], (V3_ROUTERS, 0x22, vec![(4, OTHER)]));
}

#[test]
fn damaged_queries_are_ignored() {
    let mut fixture = Fixture::settled(1);
    let good = query(&[0x11, 10, 0, 0, 0, 0, 0, 0, 2, 125, 0, 0]);
    for at in 0..good.len() {
        let mut packet = good.clone();
        packet[at] ^= 0x5a;
        fixture.on(Event::Received { packet: &packet });
        fixture.on(Event::Received {
            packet: &good[..at],
        });
    }
    assert_eq!(fixture.pass(Duration::from_secs(20)), []);
}
