//! A line that loses, duplicates, delays and corrupts messages, and an attacker that guesses.

use machine::Rng;

use super::*;

#[test]
fn every_client_gets_one_correct_answer_on_a_lossy_line() {
    for seed in 0..30 {
        let mut rng = Rng::seeded(seed);
        let mut bench = Bench::new(&[1, 2]);
        let mut line: Vec<(Instant, Sent, Vec<u8>)> = Vec::new();
        let mut open = BTreeMap::new();
        let mut good = 0;
        for client in 0..400_u32 {
            let last = rng.below(40) as u8;
            let text = format!("h{last}.example");
            match bench.ask(client, &text, RecordType::A) {
                Some(answer) => good += check(last, &answer, seed),
                None => drop(open.insert(client, last)),
            }
            for step in 0..4 {
                for sent in bench.sent() {
                    let under_way = carry(&sent, bench.now, &mut rng);
                    line.extend(
                        under_way
                            .into_iter()
                            .map(|(at, bytes)| (at, sent.clone(), bytes)),
                    );
                }
                line.sort_by_key(|(at, ..)| *at);
                let due = line.partition_point(|(at, ..)| *at <= bench.now);
                for (_, sent, message) in line.drain(..due) {
                    bench.hear(&sent, &message);
                }
                for (client, answer) in bench.answers() {
                    let last = open.remove(&client).expect("one answer for each");
                    good += check(last, &answer, seed);
                }
                if step == 3 {
                    let millis = rng.below(400);
                    bench.now += Duration::from_millis(millis);
                }
                let now = bench.now;
                bench.dns.tick(now, &mut bench.out);
            }
        }
        bench.pass(30);
        for (client, _) in bench.answers() {
            open.remove(&client).expect("one answer for each");
        }
        assert!(open.is_empty(), "seed {seed}: {open:?} wait for ever");
        assert!(good > 300, "seed {seed}: {good} good answers");
        assert!(bench.dns.flights.is_empty() && bench.dns.by_port.is_empty());
        assert!(bench.dns.due.is_empty() && bench.dns.waiting == 0);
    }
}

/// Deliveries for a query: the server's answers and a forged one, each with its time.
fn carry(sent: &Sent, now: Instant, rng: &mut Rng) -> Vec<(Instant, Vec<u8>)> {
    let asked = Message::from_vec(&sent.message).expect("a question");
    let asked = asked.queries[0].name.to_lowercase().to_ascii();
    let first = asked[1..].split('.').next().expect("a label");
    let last: u8 = first.parse().expect("a number");
    let ttl = 1 + rng.below(30) as u32;
    let records = vec![address(asked.trim_end_matches('.'), last, ttl)];
    let message = reply(&sent.message, ResponseCode::NoError, records, vec![]);
    // An attacker that does not see the query must guess every part.
    let mut forged = message.clone();
    forged[0] ^= 1 << rng.below(8);
    let end = forged.len() - 1;
    forged[end] = 66;
    let mut carried = vec![(now, forged)];
    for _ in 0..[0, 1, 1, 1, 2][rng.below(5) as usize] {
        let mut message = message.clone();
        if rng.percent(5) {
            message.truncate(rng.below(message.len() as u64) as usize);
        }
        carried.push((now + Duration::from_millis(rng.below(3000)), message));
    }
    carried
}

fn check(last: u8, answer: &Message, seed: u64) -> u32 {
    match code(answer) {
        ResponseCode::NoError => {
            let found = found(answer);
            assert!(
                found.len() == 1 && found[0].0 == last,
                "seed {seed}: {answer:?}"
            );
            1
        }
        _ => 0,
    }
}
