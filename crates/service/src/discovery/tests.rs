use core::net::{Ipv4Addr, Ipv6Addr};

use wire::{cdp, lldp, mndp};

use super::*;

const START: Instant = Instant::from_secs(100);
const NEAR: Mac = Mac([2, 0, 0, 0, 0, 9]);

fn config() -> Config {
    Config {
        interval: Duration::from_secs(30),
        protocols: Protocols::ALL,
        tells: true,
        listens: true,
        med: true,
        voice_vlan: None,
        phy: false,
        max_frame: false,
        vlan: false,
        system: System {
            identity: "gate".into(),
            version: "7.24".into(),
            platform: "ferroute".into(),
            board: "x86".into(),
            started: Instant::from_secs(40),
        },
    }
}

fn port(number: u8) -> Port {
    Port {
        name: format!("ether{number}"),
        path: format!("bridge/ether{number}"),
        mac: Mac([2, 0, 0, 0, 0, number]),
        ipv4: Some(Ipv4Addr::new(192, 168, 88, 1)),
        link_local: Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1)),
        ipv6: None,
        index: number.into(),
        mtu: 1500,
        speed_mbps: Some(1_000),
        pvid: 7,
    }
}

struct Rig {
    machine: Discovery,
    now: Instant,
}

impl Rig {
    fn new(config: Config, ports: u8) -> Self {
        let mut rig = Self {
            machine: Discovery::default(),
            now: START,
        };
        rig.feed(Event::Configure(Some(config)));
        for number in 1..=ports {
            rig.feed(Event::Port(number.into(), Some(port(number))));
        }
        rig
    }

    fn feed(&mut self, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        out
    }

    fn hear(&mut self, on: PortId, from: Mac, protocol: Protocol, bytes: &[u8]) -> Vec<Action> {
        self.feed(Event::Received {
            on,
            below: None,
            from,
            protocol,
            bytes,
        })
    }

    /// Advances the time; returns sent messages with their times in seconds.
    fn run(&mut self, span: Duration) -> Vec<(u64, PortId, Protocol, Vec<u8>)> {
        let until = self.now + span;
        let mut sent = Vec::new();
        while let Some((at, _)) = self.machine.deadline().filter(|due| due.0 <= until) {
            self.now = self.now.max(at);
            let mut out = Vec::new();
            self.machine.tick(self.now, &mut out);
            let second = self.now.saturating_since(START).as_secs();
            sent.extend(out.into_iter().filter_map(|action| match action {
                Action::Send(port, protocol, bytes) => Some((second, port, protocol, bytes)),
                Action::Discarded(_) => None,
            }));
        }
        self.now = until;
        sent
    }

    fn names(&self) -> Vec<String> {
        let all = self.machine.neighbours();
        all.map(|one| format!("{} {}", one.announcement().identity, one.protocols()))
            .collect()
    }
}

fn by_lldp(name: &'static [u8], ttl: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let named = |subtype, id| lldp::Named { subtype, id };
    lldp::Repr {
        chassis: named(4, &NEAR.0),
        port: named(7, b"swp3"),
        ttl,
        system_name: name,
        system_description: b"a switch",
        med: Some((1, 3)),
        ..lldp::Repr::default()
    }
    .emit(&mut bytes);
    bytes
}

fn by_mndp(name: &[u8], uptime: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    mndp::Repr {
        counter: 4,
        identity: name,
        version: b"7.18.2 (stable)",
        board: b"CHR",
        uptime: Some(uptime),
        ..mndp::Repr::default()
    }
    .emit(&mut bytes);
    bytes
}

fn by_cdp(name: &[u8], ttl: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    cdp::Repr {
        ttl,
        device: name,
        port: b"Gi0/1",
        capabilities: Some(8),
        platform: b"cisco",
        ..cdp::Repr::default()
    }
    .emit(&mut bytes);
    bytes
}

#[test]
fn announcements_are_sent_at_once_and_every_interval_by_all_protocols() {
    let mut rig = Rig::new(config(), 2);

    let sent = rig.run(Duration::from_secs(61));

    let seconds: Vec<_> = { sent.iter() }
        .filter(|(_, port, protocol, _)| (*port, *protocol) == (1, Protocol::Lldp))
        .map(|(second, ..)| *second)
        .collect();
    assert_eq!(seconds, [0, 30, 60]);
    assert_eq!(sent.len(), 3 * 2 * 3);
    let mndp = { sent.iter() }.filter(|sent| (sent.1, sent.2) == (2, Protocol::Mndp));
    for (counter, (second, _, _, bytes)) in (0..).zip(mndp) {
        let message = mndp::Repr::parse(bytes)
            .expect("well formed")
            .expect("it tells");
        assert_eq!(message.counter, counter);
        assert_eq!(message.uptime, Some(60 + *second as u32));
        assert_eq!(message.identity, b"gate");
        assert_eq!(message.interface, b"bridge/ether2");
        assert_eq!(message.mac, Some(port(2).mac));
    }
    let of = |protocol| { sent.iter() }.find(|sent| (sent.1, sent.2) == (2, protocol));
    let cdp = cdp::Repr::parse(&of(Protocol::Cdp).expect("sent").3).expect("well formed");
    assert_eq!((cdp.ttl, cdp.device), (121, &b"gate"[..]));
    let lldp = lldp::Repr::parse(&of(Protocol::Lldp).expect("sent").3).expect("well formed");
    assert_eq!(lldp.ttl, 121);
    assert_eq!(lldp.chassis.id, port(1).mac.0, "one name for the router");
    assert_eq!(lldp.port.id, b"ether2");
    assert_eq!((lldp.phy, lldp.max_frame, lldp.pvid), (None, None, None));
    assert_eq!(lldp.system_description, b"ferroute RouterOS 7.24 x86");
}

#[test]
fn lldp_options_are_sent_where_they_are_enabled() {
    let mut rig = Rig::new(
        Config {
            phy: true,
            max_frame: true,
            vlan: true,
            voice_vlan: Some(30),
            protocols: Protocols::default().and(Protocol::Lldp),
            ..config()
        },
        1,
    );
    let read = |sent: &[(u64, PortId, Protocol, Vec<u8>)]| {
        assert_eq!(sent.len(), 1);
        let lldp = lldp::Repr::parse(&sent[0].3).expect("well formed");
        (
            lldp.phy.map(|phy| phy.mau),
            lldp.max_frame,
            lldp.pvid,
            lldp.policy.map(|policy| policy.vlan),
        )
    };
    let first = read(&rig.run(Duration::ZERO));
    assert_eq!(first, (Some(30), Some(1518), Some(7), None));
    // A telephone gets its VLAN.
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"phone", 120));
    let then = read(&rig.run(Duration::from_secs(30)));
    assert_eq!(then, (Some(30), Some(1518), Some(7), Some(Some(30))));
}

#[test]
fn one_neighbour_has_one_entry_for_all_protocols() {
    let mut rig = Rig::new(config(), 1);
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"switch", 120));
    rig.hear(1, NEAR, Protocol::Cdp, &by_cdp(b"switch.lan", 180));
    assert_eq!(rig.names(), ["switch.lan cdp,lldp"]);
    rig.hear(1, NEAR, Protocol::Mndp, &by_mndp(b"router", 1_000));
    assert_eq!(rig.names(), ["router cdp,lldp,mndp"]);

    rig.run(Duration::from_secs(20));
    let one = rig.machine.neighbours().next().expect("it is there");
    let told = one.announcement();
    assert_eq!((&*told.board, &*told.platform), ("CHR", "cisco"));
    assert_eq!(told.description, "a switch");
    assert_eq!(one.uptime(rig.now), Some(1_020));
    assert_eq!(one.last_received(), START);
    // Each protocol has its own lifetime; MNDP uses the router's own.
    rig.run(Duration::from_secs(100));
    assert_eq!(rig.names(), ["router cdp,mndp"]);
    rig.run(Duration::from_secs(1));
    assert_eq!(rig.names(), ["switch.lan cdp"]);
    rig.run(Duration::from_secs(60));
    assert!(rig.names().is_empty());
}

#[test]
fn neighbours_are_removed_on_goodbye_and_on_loss_of_the_interface() {
    let mut rig = Rig::new(config(), 2);
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"switch", 120));
    rig.hear(2, NEAR, Protocol::Cdp, &by_cdp(b"other", 180));
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"", 0));
    assert_eq!(rig.names(), ["other cdp"]);

    let said = rig.feed(Event::Port(2, None));
    assert!(rig.names().is_empty());
    let ends = |action: &Action| match action {
        Action::Send(2, Protocol::Lldp, bytes) => {
            lldp::Repr::parse(bytes).map(|read| read.ttl) == Ok(0)
        }
        Action::Send(2, Protocol::Cdp, bytes) => {
            cdp::Repr::parse(bytes).map(|read| read.ttl) == Ok(0)
        }
        _ => false,
    };
    assert_eq!(said.len(), 2);
    assert!(said.iter().all(ends), "{said:?}");
    let ports: Vec<_> = rig
        .run(Duration::from_secs(30))
        .iter()
        .map(|sent| sent.1)
        .collect();
    assert!(ports.iter().all(|port| *port == 1));
}

#[test]
fn requests_are_answered_at_once_up_to_a_rate_limit() {
    let mut rig = Rig::new(config(), 1);
    rig.run(Duration::from_secs(5));
    let ask = |rig: &mut Rig| {
        rig.hear(1, NEAR, Protocol::Mndp, &mndp::Repr::REQUEST)
            .len()
    };
    assert_eq!(ask(&mut rig), 1);
    assert_eq!((0..1_000).map(|_| ask(&mut rig)).sum::<usize>(), 0);
    rig.run(Duration::from_secs(1));
    assert_eq!(ask(&mut rig), 1);
    assert!(rig.names().is_empty());
}

#[test]
fn disabled_protocols_neither_send_nor_receive() {
    let mut rig = Rig::new(
        Config {
            tells: false,
            ..config()
        },
        1,
    );
    assert!(rig.run(Duration::from_secs(60)).is_empty());
    assert!(
        rig.hear(1, NEAR, Protocol::Mndp, &mndp::Repr::REQUEST)
            .is_empty()
    );
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"switch", 120));
    assert_eq!(rig.names(), ["switch lldp"]);

    let cdp_only = Protocols::default().and(Protocol::Cdp);
    rig.feed(Event::Configure(Some(Config {
        protocols: cdp_only,
        ..config()
    })));
    assert!(rig.names().is_empty());
    rig.hear(1, NEAR, Protocol::Lldp, &by_lldp(b"switch", 120));
    assert!(rig.names().is_empty());
    let sent = rig.run(Duration::from_secs(1));
    assert!(sent.iter().all(|sent| sent.2 == Protocol::Cdp) && sent.len() == 1);

    let ended = rig.feed(Event::Configure(Some(Config {
        listens: false,
        tells: false,
        ..config()
    })));
    assert!(
        matches!(ended[..], [Action::Send(1, Protocol::Cdp, _)]),
        "{ended:?}"
    );
    rig.hear(1, NEAR, Protocol::Cdp, &by_cdp(b"other", 180));
    assert!(rig.names().is_empty());
    assert_eq!(rig.machine.deadline(), None);
}

#[test]
fn a_flood_of_neighbours_is_bounded_and_known_neighbours_stay() {
    let mut rig = Rig::new(config(), 20);
    rig.hear(1, NEAR, Protocol::Cdp, &by_cdp(b"first", 180));
    let mut lost = 0;
    for on in 1..=20 {
        for number in 0..1_100_u32 {
            let [.., a, b] = number.to_be_bytes();
            let from = Mac([6, 0, 0, 0, a, b]);
            let told = rig.hear(on, from, Protocol::Lldp, &by_lldp(b"spoofed", 60));
            lost += usize::from(told == [Action::Discarded(Fault::Full)]);
        }
    }
    assert_eq!(rig.machine.neighbours().count(), MOST);
    assert_eq!(rig.machine.table.on(1).count(), MOST_ON_PORT);
    assert_eq!(lost, 20 * 1_100 + 1 - MOST);
    assert!(rig.names().contains(&"first cdp".to_owned()));
    // The table has room again after the neighbours expired.
    rig.run(Duration::from_secs(60));
    assert_eq!(rig.names(), ["first cdp"]);
    rig.hear(2, NEAR, Protocol::Cdp, &by_cdp(b"second", 180));
    assert_eq!(rig.names().len(), 2);
}

#[test]
fn announcements_of_many_interfaces_are_spread_over_several_steps() {
    let mut rig = Rig::new(config(), 200);
    let mut out = Vec::new();
    rig.machine.tick(rig.now, &mut out);
    assert_eq!(out.len(), AT_ONCE * 3);
    assert_eq!(rig.machine.deadline(), Some((rig.now, Timer::Tell)));
    rig.machine.tick(rig.now, &mut out);
    assert_eq!(out.len(), 200 * 3);
}

#[test]
fn malformed_messages_are_counted_by_reason() {
    let mut rig = Rig::new(config(), 1);
    let whole = [
        (Protocol::Lldp, by_lldp(b"switch", 120)),
        (Protocol::Cdp, by_cdp(b"other", 180)),
        (Protocol::Mndp, by_mndp(b"router", 5)),
    ];
    for (protocol, bytes) in &whole {
        for cut in 0..bytes.len() {
            rig.hear(1, NEAR, *protocol, &bytes[..cut]);
        }
    }
    let mut wrong = by_cdp(b"other", 180);
    wrong[2] ^= 1;
    let said = rig.hear(1, NEAR, Protocol::Cdp, &wrong);
    assert_eq!(said, [Action::Discarded(Fault::Checksum)]);
    let said = rig.hear(1, NEAR, Protocol::Lldp, &[0xff; 40]);
    assert_eq!(said, [Action::Discarded(Fault::Malformed)]);
    // The router ignores its own messages.
    assert!(
        rig.hear(1, port(1).mac, Protocol::Lldp, &by_lldp(b"self", 9))
            .is_empty()
    );
    assert!(!rig.names().iter().any(|name| name.starts_with("self")));
}
