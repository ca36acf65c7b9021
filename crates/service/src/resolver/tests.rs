//! Names, servers that answer or fail, and virtual time.

use super::*;

const A: [u8; 4] = [192, 0, 2, 1];
const B: [u8; 4] = [192, 0, 2, 2];

fn key(name: &str) -> Key {
    Key::new(name, Kind::A).expect("a name")
}

/// A resolver with its actions.
struct World {
    resolver: Resolver,
    now: Instant,
    out: Vec<Action>,
}

impl World {
    fn new() -> Self {
        Self {
            resolver: Resolver::default(),
            now: Instant::from_secs(100),
            out: Vec::new(),
        }
    }

    fn configure(&mut self, extra: Duration) {
        let config = Config {
            extra,
            ..Config::default()
        };
        self.feed(Event::Configure(config));
    }

    fn feed(&mut self, event: Event) {
        self.resolver.handle(event, self.now, &mut self.out);
    }

    /// Advances the time, deadline by deadline.
    fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, ())) = self.resolver.deadline()
            && at <= end
        {
            assert!(at >= self.now || at == Instant::ZERO, "time goes on");
            self.now = self.now.max(at);
            let before = self.resolver.deadline();
            self.resolver.tick(self.now, &mut self.out);
            assert_ne!(self.resolver.deadline(), before, "nothing is due twice");
        }
        self.now = end;
    }

    /// Sent queries, oldest first.
    fn asks(&mut self) -> Vec<Ask> {
        let asks = self
            .out
            .extract_if(.., |action| matches!(action, Action::Ask(_)));
        let asks = asks.filter_map(|action| match action {
            Action::Ask(ask) => Some(ask),
            _ => None,
        });
        asks.collect()
    }

    /// The only sent query.
    fn one(&mut self) -> Ask {
        let asks = self.asks();
        assert_eq!(asks.len(), 1, "{asks:?}");
        asks[0].clone()
    }

    fn answer(&mut self, ask: &Ask, addresses: &[([u8; 4], u32)]) {
        let found = addresses.iter().map(|(address, ttl)| ResolvedAddress {
            address: (*address).into(),
            ttl: *ttl,
        });
        let heard = Resolution::Addresses(found.collect());
        let ticket = ask.ticket;
        self.feed(Event::Heard { ticket, heard });
    }

    fn hear(&mut self, ask: &Ask, heard: Resolution) {
        let ticket = ask.ticket;
        self.feed(Event::Heard { ticket, heard });
    }

    /// Added and removed addresses of all names, as `+` and `-`.
    fn changes(&mut self) -> Vec<String> {
        let said = self.out.drain(..).map(|action| match action {
            Action::Ask(ask) => panic!("a question: {ask:?}"),
            Action::Add(_, address) => format!("+{address}"),
            Action::Remove(_, address) => format!("-{address}"),
        });
        said.collect()
    }
}

#[test]
fn a_name_is_resolved_again_when_its_ttl_expires() {
    let mut world = World::new();
    world.feed(Event::Watch(key("a.example")));
    let ask = world.one();
    assert_eq!(ask.key, key("A.Example."));
    assert_eq!(ask.key.name(), Name::new("a.example"));

    world.answer(&ask, &[(A, 60), (B, 90)]);
    assert_eq!(world.changes(), ["+192.0.2.1", "+192.0.2.2"]);
    world.pass(59);
    assert_eq!(world.changes(), [""; 0], "it is not time");
    world.pass(1);
    let again = world.one();

    // While the query is pending both addresses exist; the unexpired one stays until its TTL ends.
    world.pass(2);
    assert_eq!(world.changes(), [""; 0]);
    world.answer(&again, &[(A, 300)]);
    assert_eq!(world.changes(), [""; 0]);
    world.pass(28);
    assert_eq!(world.changes(), ["-192.0.2.2"]);

    // An expired address is removed by an answer that lacks it.
    world.pass(272);
    let third = world.one();
    world.answer(&third, &[(B, 5)]);
    assert_eq!(world.changes(), ["+192.0.2.2", "-192.0.2.1"]);
}

#[test]
fn addresses_stay_for_the_extra_time() {
    let mut world = World::new();
    world.configure(Duration::from_secs(100));
    world.feed(Event::Watch(key("a.example")));
    let ask = world.one();
    world.answer(&ask, &[(A, 60)]);
    world.changes();
    world.pass(60);
    let ask = world.one();

    world.answer(&ask, &[(B, 1_000)]);

    assert_eq!(world.changes(), ["+192.0.2.2"]);
    world.pass(99);
    assert_eq!(world.changes(), [""; 0]);
    world.pass(1);
    assert_eq!(world.changes(), ["-192.0.2.1"]);
}

#[test]
fn retry_delays_grow_for_names_without_answer() {
    let mut world = World::new();
    world.feed(Event::Watch(key("a.example")));
    let first = world.one();
    world.answer(&first, &[(A, 60)]);
    assert_eq!(world.changes(), ["+192.0.2.1"]);

    world.pass(60);
    let ask = world.one();
    world.hear(&ask, Resolution::Silent);
    let mut waits = Vec::new();
    for _ in 0..10 {
        let before = world.now;
        while !world.out.iter().any(|one| matches!(one, Action::Ask(_))) {
            world.pass(1);
        }
        waits.push((world.now - before).as_secs());
        let ask = world.one();
        world.hear(&ask, Resolution::Silent);
    }
    assert_eq!(waits, [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    assert_eq!(world.changes(), ["-192.0.2.1"], "its time is over, once");
}

#[test]
fn a_query_without_answer_times_out() {
    let mut world = World::new();
    world.feed(Event::Watch(key("a.example")));
    let ask = world.one();

    world.pass(20);
    assert!(world.asks().is_empty());
    world.pass(3);
    assert_eq!(world.asks().len(), 1, "it is put once more");

    world.answer(&ask, &[(A, 60)]);
    assert_eq!(world.changes(), [""; 0], "that comes too late");
}

#[test]
fn a_nonexistent_name_loses_its_addresses_and_is_retried_later() {
    let mut world = World::new();
    world.feed(Event::Watch(key("a.example")));
    let ask = world.one();
    world.answer(&ask, &[(A, 60)]);
    world.changes();
    world.pass(60);
    let ask = world.one();

    world.hear(&ask, Resolution::NoName);

    assert_eq!(world.changes(), ["-192.0.2.1"]);
    world.pass(2);
    let ask = world.one();
    world.hear(&ask, Resolution::Addresses(Vec::new()));
    world.pass(3);
    assert!(world.asks().is_empty());
    // The new servers may know the name.
    world.feed(Event::OtherServers);
    world.pass(0);
    assert_eq!(world.one().key, key("a.example"));
}

#[test]
fn a_name_is_queried_once_and_unrequested_answers_are_ignored() {
    let mut world = World::new();
    for name in ["a.example", "b.example", "a.example", "c.example"] {
        world.feed(Event::Watch(key(name)));
    }
    world.feed(Event::Forget(key("c.example")));
    let asks = world.asks();
    assert_eq!(asks.len(), 3);
    world.answer(&asks[2], &[(A, 60)]);
    assert_eq!(world.changes(), [""; 0]);

    // An answer after the name was forgotten is ignored, even if the name is watched again.
    world.feed(Event::Forget(key("a.example")));
    world.feed(Event::Watch(key("a.example")));
    let again = world.one();
    world.answer(&asks[0], &[(A, 60)]);
    assert_eq!(world.changes(), [""; 0]);
    world.answer(&again, &[(B, 60)]);
    assert_eq!(world.changes(), ["+192.0.2.2"]);
    assert_eq!(world.resolver.known(&key("A.example.")).count(), 1);
}

#[test]
fn queries_for_ten_thousand_names_are_limited_in_number() {
    const NAMES: u32 = 10_000;
    let mut world = World::new();
    for number in 0..NAMES {
        world.feed(Event::Watch(key(&format!("h{number}.example"))));
    }
    let (mut put, mut seconds) = (0, 0);
    loop {
        let asks = world.asks();
        assert!(world.resolver.asked.len() <= UNDER_WAY);
        for (number, ask) in (0_u32..).zip(&asks) {
            let address = (0x0a00_0000_u32 + put + number).to_be_bytes();
            world.answer(ask, &[(address, 3_600)]);
        }
        put += asks.len() as u32;
        if put == NAMES {
            break;
        }
        if asks.is_empty() {
            world.pass(1);
            seconds += 1;
        }
    }

    let added = world
        .out
        .iter()
        .filter(|one| matches!(one, Action::Add(..)));
    assert_eq!(added.count(), NAMES as usize);
    // The rate per second is limited.
    assert!((19..=21).contains(&seconds), "{seconds}");
    world.out.clear();
    world.pass(3_500);
    assert!(world.out.is_empty());
}
