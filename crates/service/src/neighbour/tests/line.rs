//! Two machines on a line that loses, delays, duplicates and reorders frames.

use std::collections::BTreeMap;

use machine::Rng;

use super::*;

/// Two machines of one family, and the frames between them.
struct Line<F: Family> {
    sides: [Neighbours<F, u32>; 2],
    macs: [Mac; 2],
    frames: BTreeMap<(Instant, u64), (usize, Frame)>,
    rng: Rng,
    loss_percent: u8,
    now: Instant,
    number: u64,
    /// Actions of each side, without frames.
    said: [Acts<F>; 2],
    in_use: bool,
}

impl<F: Family> Line<F> {
    fn seeded(seed: u64, addresses: [F::Address; 2], loss_percent: u8) -> Self {
        let macs = [OWN_MAC, PEER_MAC];
        let mut line = Self {
            sides: macs.map(|mac| Neighbours::new(Config::new(mac), seed ^ mac.to_u64())),
            macs,
            frames: BTreeMap::new(),
            rng: Rng::seeded(seed),
            loss_percent,
            now: Instant::from_secs(1),
            number: 0,
            said: [Vec::new(), Vec::new()],
            in_use: true,
        };
        for (side, address) in addresses.into_iter().enumerate() {
            line.on(side, Event::LinkUp);
            let detect = DuplicateDetection::Run;
            line.on(
                side,
                Event::AddressAdded {
                    address,
                    prefix_len: 8,
                    detect,
                },
            );
        }
        line
    }

    fn on(&mut self, side: usize, event: Event<'_, F::Address, u32>) {
        let mut out = Vec::new();
        self.sides[side].handle(event, self.now, &mut out);
        self.carry(side, out);
    }

    fn carry(&mut self, side: usize, actions: Acts<F>) {
        for action in actions {
            match action {
                Action::Send(frame) => self.transmit(side, &frame),
                Action::InUse { address } if self.in_use => self.on(side, Event::Used { address }),
                said => self.said[side].push(said),
            }
        }
    }

    fn transmit(&mut self, side: usize, frame: &Frame) {
        let copies = if self.rng.percent(5) { 2 } else { 1 };
        for _ in 0..copies {
            if self.rng.percent(self.loss_percent) {
                continue;
            }
            let delay = Duration::from_micros(self.rng.below(300_000));
            self.number += 1;
            let key = (self.now + delay, self.number);
            self.frames.insert(key, (1 - side, frame.clone()));
        }
    }

    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let frame = self.frames.keys().next().map(|&(at, _)| at);
            let ticks = self.sides.iter().filter_map(Machine::deadline);
            let next = ticks.map(|(at, _)| at).chain(frame).min();
            let Some(next) = next.filter(|&next| next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            for side in 0..2 {
                let mut out = Vec::new();
                self.sides[side].tick(self.now, &mut out);
                self.carry(side, out);
            }
            while let Some(entry) = self.frames.first_entry()
                && entry.key().0 <= self.now
            {
                let (side, frame) = entry.remove();
                let from = self.macs[1 - side];
                let packet = &frame.payload;
                self.on(side, Event::Received { packet, from });
            }
        }
        self.now = end;
    }

    /// Results of the packets of one side: released and failed ones.
    fn settled(&self, side: usize) -> (Vec<u32>, Vec<u32>) {
        let mut released = Vec::new();
        let mut given_up = Vec::new();
        for action in &self.said[side] {
            match *action {
                Action::Release { packet, .. } => released.push(packet),
                Action::Unreachable { packet, .. } | Action::Dropped { packet, .. } => {
                    given_up.push(packet);
                }
                _ => {}
            }
        }
        (released, given_up)
    }
}

fn neighbours_find_each_other<F: Family>(addresses: [F::Address; 2]) {
    for seed in 0..500 {
        let mut line = Line::<F>::seeded(seed, addresses, 20);
        line.run(Duration::from_secs(8));

        for packet in 0..30 {
            let address = addresses[1];
            line.on(
                0,
                Event::Resolve {
                    address,
                    packet: Some(packet),
                },
            );
            line.run(Duration::from_millis(700));
        }
        line.run(Duration::from_secs(4));

        let (released, given_up) = line.settled(0);
        let total = released.len() + given_up.len();
        assert_eq!(
            total, 30,
            "seed {seed}: each packet comes back exactly once"
        );
        assert_eq!(line.sides[0].waiting(), 0, "seed {seed}");
        assert!(!released.is_empty(), "seed {seed}: nothing got through");
        assert!(released.is_sorted(), "seed {seed}: {released:?}");
    }
}

#[test]
fn neighbours_resolve_by_arp_on_a_lossy_line() {
    neighbours_find_each_other::<Arp>([OWN, PEER]);
}

#[test]
fn neighbours_resolve_by_ndp_on_a_lossy_line() {
    neighbours_find_each_other::<Discovery>([OWN6, PEER6]);
}

fn an_hour_in_use_loses_nothing<F: Family>(addresses: [F::Address; 2]) {
    for seed in 0..50 {
        let mut line = Line::<F>::seeded(seed, addresses, 0);
        line.run(Duration::from_secs(8));
        let address = addresses[1];
        let packet = Some(1);
        line.on(0, Event::Resolve { address, packet });

        line.run(Duration::from_secs(3_600));

        let lost = |action: &Action<_, _>| matches!(action, Action::Lost { .. });
        assert!(!line.said[0].iter().any(lost), "seed {seed}");
        assert!(line.sides[0].row(address).is_some(), "seed {seed}");

        line.in_use = false;
        line.run(Duration::from_secs(200));
        assert!(
            line.sides[0].is_empty(),
            "seed {seed}: out of use is forgotten"
        );
    }
}

#[test]
fn no_neighbour_is_lost_in_an_hour_of_traffic() {
    an_hour_in_use_loses_nothing::<Arp>([OWN, PEER]);
    an_hour_in_use_loses_nothing::<Discovery>([OWN6, PEER6]);
}

/// Both sides claim the same address. Without losses, at most one of them may get it.
fn of_two_claims_at_most_one_stands<F: Family>(address: F::Address) {
    for seed in 0..500 {
        let mut line = Line::<F>::seeded(seed, [address, address], 0);
        line.run(Duration::from_secs(20));

        let owners = line.sides.iter().filter(|side| side.is_own(address));
        assert!(owners.count() <= 1, "seed {seed}");
    }
}

#[test]
fn of_two_stations_claiming_an_address_at_most_one_gets_it() {
    of_two_claims_at_most_one_stands::<Arp>(OWN);
    of_two_claims_at_most_one_stands::<Discovery>(OWN6);
}
