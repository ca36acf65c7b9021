//! Round trips of every suite, and packets that must be rejected.

use esp::{
    Authentication, Encryption, Fault, Inbound, Keys, Numbering, Opening, Outbound, Received,
    Refused, Sealing, Suite, open, seal,
};

const SPI: u32 = 0x1000;

fn suites() -> impl Iterator<Item = Suite> {
    let all = Encryption::all().flat_map(|encryption| {
        Authentication::all().map(move |authentication| Suite {
            encryption,
            authentication,
        })
    });
    all.filter(|suite| suite.check().is_ok())
}

fn keys(suite: Suite, salt: u8) -> Keys {
    let key = |len: usize| -> Vec<u8> { (0..len).map(|at| (at * 29) as u8 ^ salt).collect() };
    Keys::new(
        &key(suite.encryption.key_len()),
        &key(suite.authentication.key_len()),
    )
}

fn pair(suite: Suite, numbering: Numbering, salt: u8) -> (Outbound, Inbound) {
    let keys = keys(suite, salt);
    let spi = SPI + u32::from(salt);
    let window = if suite.has_integrity() { 64 } else { 0 };
    let outbound = Outbound::new(spi, suite, &keys, numbering, &[salt; 16]);
    let inbound = Inbound::new(spi, suite, &keys, numbering, window);
    (outbound.expect("is valid"), inbound.expect("is valid"))
}

/// Returns the numberings that a suite supports: without integrity only short numbers.
fn numberings(suite: Suite) -> &'static [Numbering] {
    if suite.has_integrity() {
        &[Numbering::Short, Numbering::Extended]
    } else {
        &[Numbering::Short]
    }
}

fn payload(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + len) as u8).collect()
}

/// Builds a packet with room around the payload.
fn frame(sa: &Outbound, payload: &[u8]) -> Vec<u8> {
    let (front, back) = sa.room(payload.len());
    [&vec![0xee; front], payload, &vec![0xee; back]].concat()
}

fn sealed(sa: &Outbound, payload: &[u8]) -> Vec<u8> {
    let mut bytes = frame(sa, payload);
    let mut batch = [Sealing::new(sa, &mut bytes, payload.len(), 17)];
    seal(&mut batch);
    batch[0].outcome.expect("there is room");
    bytes
}

fn opened(sa: &Inbound, packet: &[u8]) -> Result<(Vec<u8>, u8, u64), Fault> {
    let mut bytes = packet.to_vec();
    let mut batch = [Opening::new(sa, &mut bytes)];
    open(&mut batch);
    let [Opening { outcome, .. }] = batch;
    outcome.map(|opened| {
        let payload = bytes[opened.payload].to_vec();
        (payload, opened.next_header, opened.number)
    })
}

#[test]
fn payloads_of_every_length_round_trip_in_every_suite() {
    for suite in suites() {
        for numbering in numberings(suite) {
            let (out, into) = pair(suite, *numbering, 3);
            let payloads: Vec<_> = (0..=64).chain([1400]).map(payload).collect();
            let mut packets: Vec<_> = payloads
                .iter()
                .map(|payload| frame(&out, payload))
                .collect();
            let batch = packets.iter_mut().zip(&payloads);
            let mut batch: Vec<_> = batch
                .map(|(bytes, payload)| {
                    Sealing::new(&out, bytes, payload.len(), payload.len() as u8)
                })
                .collect();
            seal(&mut batch);
            for (number, packet) in (1..).zip(&batch) {
                assert_eq!(packet.outcome, Ok(number));
            }

            let mut batch: Vec<_> = packets
                .iter_mut()
                .map(|bytes| Opening::new(&into, bytes))
                .collect();
            open(&mut batch);

            for ((number, packet), payload) in (1..).zip(&batch).zip(&payloads) {
                let opened = packet.outcome.as_ref().expect("nothing was changed");
                assert_eq!(&packet.bytes[opened.payload.clone()], payload, "{suite:?}");
                let len = payload.len() as u8;
                assert_eq!((opened.next_header, opened.number), (len, number));
            }
            let bytes = payloads.iter().map(|payload| payload.len() as u64).sum();
            let packets = payloads.len() as u64;
            assert_eq!(
                (out.counters().packets, out.counters().bytes),
                (packets, bytes)
            );
            let received = Received {
                packets,
                bytes,
                ..Received::default()
            };
            assert_eq!(into.counters(), received);
        }
    }
}

#[test]
fn packets_of_a_batch_are_as_if_sealed_and_opened_alone() {
    for (suite, numbering) in suites().flat_map(|suite| {
        numberings(suite)
            .iter()
            .map(move |numbering| (suite, *numbering))
    }) {
        for count in [1, 3, 4, 5, 33, 70] {
            let payloads: Vec<_> = (0..count).map(|at| payload(40 + at * 61 % 700)).collect();
            let (out, _) = pair(suite, numbering, 3);
            let alone: Vec<_> = payloads
                .iter()
                .map(|payload| sealed(&out, payload))
                .collect();

            let (out, into) = pair(suite, numbering, 3);
            let mut packets: Vec<_> = payloads
                .iter()
                .map(|payload| frame(&out, payload))
                .collect();
            let batch = packets.iter_mut().zip(&payloads);
            let batch = batch.map(|(bytes, payload)| Sealing::new(&out, bytes, payload.len(), 17));
            seal(&mut batch.collect::<Vec<_>>());
            assert_eq!(packets, alone, "{suite:?} {count}");

            // A forged packet does not change its neighbours.
            if suite.has_integrity() {
                *packets[count / 2].last_mut().expect("an ICV") ^= 1;
            }
            let mut batch: Vec<_> = { packets.iter_mut() }
                .map(|bytes| Opening::new(&into, bytes))
                .collect();
            open(&mut batch);
            for (at, (packet, payload)) in batch.iter().zip(&payloads).enumerate() {
                if at == count / 2 && suite.has_integrity() {
                    assert_eq!(packet.outcome, Err(Fault::Integrity), "{suite:?} {count}");
                    continue;
                }
                let opened = packet.outcome.as_ref().expect("is not forged");
                assert_eq!(
                    packet.bytes[opened.payload.clone()],
                    payload[..],
                    "{suite:?} {count}"
                );
            }
        }
    }
}

#[test]
fn the_longest_payload_fits_and_a_longer_one_does_not() {
    for suite in suites() {
        let (out, _) = pair(suite, Numbering::Short, 3);
        let size = |payload: usize| {
            let (front, back) = out.room(payload);
            front + payload + back
        };
        for len in 0..200 {
            match out.payload_max(len) {
                Some(payload) => assert!(size(payload) <= len && size(payload + 1) > len),
                None => assert!(size(0) > len, "{suite:?} {len}"),
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_refused() {
    for suite in suites().filter(|suite| suite.has_integrity()) {
        for numbering in numberings(suite) {
            let (out, into) = pair(suite, *numbering, 3);
            let packet = sealed(&out, &payload(20));
            let mut faults = 0;
            for bit in 0..packet.len() * 8 {
                let mut flipped = packet.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let fault = opened(&into, &flipped).expect_err("a bit is another");
                let expected = match bit / 8 {
                    0..4 => Fault::Malformed,
                    _ => Fault::Integrity,
                };
                // Extended numbers far away are negative; zero is never assigned.
                if fault != Fault::Replayed {
                    assert_eq!(fault, expected, "{suite:?} bit {bit}");
                    faults += 1;
                }
            }
            let counters = into.counters();
            assert_eq!(counters.malformed + counters.integrity, faults);
            assert_eq!((counters.packets, into.number()), (0, 0));
            assert!(opened(&into, &packet).is_ok(), "{suite:?}");
        }
    }
}

#[test]
fn truncated_and_extended_packets_are_refused() {
    for suite in suites() {
        let (out, into) = pair(suite, Numbering::Short, 3);
        let packet = sealed(&out, &payload(33));
        for len in 0..packet.len() {
            let result = opened(&into, &packet[..len]);
            // Without integrity only the padding reveals a truncation.
            if suite.has_integrity() || len < 10 {
                assert!(result.is_err(), "{suite:?} {len}");
            }
        }
        let longer = [&packet[..], &[0; 3]].concat();
        assert_eq!(opened(&into, &longer), Err(Fault::Malformed), "{suite:?}");
    }
}

#[test]
fn padding_that_does_not_count_up_is_refused() {
    // Only the HMAC protects the padding of this suite: the test seals a payload that ends like a trailer.
    let suite = Suite {
        encryption: Encryption::AesCbc(esp::Bits::B128),
        authentication: Authentication::None,
    };
    let (out, into) = pair(suite, Numbering::Short, 3);
    let mut packet = sealed(&out, &payload(20));
    let last = packet.len() - 17;
    // CBC: a flipped ciphertext bit flips a bit of the next block, which ends with the pad length.
    packet[last - 1] ^= 0x80;
    assert_eq!(opened(&into, &packet), Err(Fault::Padding));
    packet[last - 1] ^= 0x80 ^ 1;
    assert_eq!(opened(&into, &packet), Err(Fault::Padding));
    assert_eq!(into.counters().padding, 2);
}

#[test]
fn mixed_batches_of_associations_round_trip() {
    let suites: Vec<Suite> = suites().collect();
    let pairs: Vec<_> = (0..=250)
        .map(|salt: u8| {
            pair(
                suites[usize::from(salt) % suites.len()],
                Numbering::Short,
                salt,
            )
        })
        .collect();
    let which: Vec<usize> = (0..1000).map(|at| at * at * 7 % 251).collect();
    let payloads: Vec<_> = (0..1000).map(|at| payload(at * 13 % 97)).collect();
    let mut packets: Vec<_> = which
        .iter()
        .zip(&payloads)
        .map(|(which, payload)| frame(&pairs[*which].0, payload))
        .collect();
    let mut batch: Vec<_> = packets
        .iter_mut()
        .zip(&which)
        .zip(&payloads)
        .map(|((bytes, which), payload)| Sealing::new(&pairs[*which].0, bytes, payload.len(), 4))
        .collect();
    seal(&mut batch);
    let mut next = vec![1; 251];
    for (packet, which) in batch.iter().zip(&which) {
        assert_eq!(
            packet.outcome,
            Ok(next[*which]),
            "numbers follow the batch's order"
        );
        next[*which] += 1;
    }

    let mut batch: Vec<_> = packets
        .iter_mut()
        .zip(&which)
        .map(|(bytes, which)| Opening::new(&pairs[*which].1, bytes))
        .collect();
    open(&mut batch);

    for (packet, payload) in batch.iter().zip(&payloads) {
        let opened = packet.outcome.as_ref().expect("nothing was changed");
        assert_eq!(&packet.bytes[opened.payload.clone()], payload);
    }
}

#[test]
fn a_duplicate_within_a_batch_is_accepted_once() {
    for suite in suites().filter(|suite| suite.has_integrity()) {
        let (out, into) = pair(suite, Numbering::Short, 3);
        let packet = sealed(&out, b"once");
        let mut copies = [packet.clone(), packet.clone(), packet];
        let mut batch: Vec<_> = copies
            .iter_mut()
            .map(|bytes| Opening::new(&into, bytes))
            .collect();
        open(&mut batch);
        assert!(batch[0].outcome.is_ok());
        assert_eq!(batch[1].outcome, Err(Fault::Replayed));
        assert_eq!(batch[2].outcome, Err(Fault::Replayed));
        assert_eq!(into.counters().replayed, 2);
    }
}

#[test]
fn an_association_ends_with_its_last_sequence_number() {
    for suite in suites().filter(|suite| suite.has_integrity()) {
        let (mut out, _) = pair(suite, Numbering::Short, 3);
        out.set_number(u64::from(u32::MAX) - 2);
        let mut packets = [(); 4].map(|()| frame(&out, b"last"));
        let mut batch: Vec<_> = packets
            .iter_mut()
            .map(|bytes| Sealing::new(&out, bytes, 4, 4))
            .collect();
        seal(&mut batch);
        let outcomes: Vec<_> = batch.iter().map(|packet| packet.outcome).collect();
        let (first, last) = (Ok(0xffff_fffe), Ok(0xffff_ffff));
        let exhausted = Err(Fault::Exhausted);
        assert_eq!(outcomes, [first, last, exhausted, exhausted]);
        seal(&mut batch);
        assert!(batch.iter().all(|packet| packet.outcome == exhausted));
        assert_eq!((out.number(), out.counters().packets), (0xffff_ffff, 2));
    }
}

#[test]
fn extended_numbers_continue_past_32_bits() {
    for suite in suites().filter(|suite| suite.has_integrity()) {
        let (mut out, mut into) = pair(suite, Numbering::Extended, 3);
        out.set_number((1 << 32) - 3);
        into.set_number((1 << 32) - 3);
        let packets: Vec<_> = (0..6).map(|at| sealed(&out, &[at; 9])).collect();
        // The middle number first, then those before it, across the edge.
        for at in [3, 5, 0, 1, 4, 2] {
            let number = (1 << 32) - 2 + at as u64;
            let expected = (vec![at as u8; 9], 17, number);
            assert_eq!(opened(&into, &packets[at]), Ok(expected), "{suite:?}");
            assert_eq!(opened(&into, &packets[at]), Err(Fault::Replayed));
        }
    }
}

#[test]
fn threads_with_one_association_never_use_a_number_twice() {
    let suite = Suite {
        encryption: Encryption::AesGcm(esp::Bits::B128),
        authentication: Authentication::None,
    };
    let (out, _) = pair(suite, Numbering::Short, 3);
    let run = || {
        let mut numbers = Vec::new();
        for count in 0..200 {
            let mut packets = vec![frame(&out, b"thread"); count % 9 + 1];
            let mut batch: Vec<_> = packets
                .iter_mut()
                .map(|bytes| Sealing::new(&out, bytes, 6, 4))
                .collect();
            seal(&mut batch);
            numbers.extend(
                batch
                    .iter()
                    .map(|packet| packet.outcome.expect("there are more")),
            );
        }
        numbers
    };
    let mut numbers: Vec<u64> = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(run));
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(1..=out.number()));
}

#[test]
fn a_packet_without_headroom_is_not_encrypted() {
    for suite in suites() {
        let (out, _) = pair(suite, Numbering::Short, 3);
        let len = frame(&out, b"room").len();
        for other in (0..2 * len).filter(|other| *other != len) {
            let mut bytes = vec![0; other];
            let mut batch = [Sealing::new(&out, &mut bytes, 4, 4)];
            seal(&mut batch);
            assert_eq!(batch[0].outcome, Err(Fault::Room));
        }
        let mut bytes = [];
        let mut batch = [Sealing::new(&out, &mut bytes, usize::MAX, 4)];
        seal(&mut batch);
        assert_eq!(batch[0].outcome, Err(Fault::Room));
        assert_eq!(out.number(), 0);
    }
}

#[test]
fn invalid_associations_are_refused() {
    let suite = |encryption, authentication| Suite {
        encryption,
        authentication,
    };
    let gcm = Encryption::AesGcm(esp::Bits::B128);
    let refused = |spi, suite: Suite, keys: &Keys, numbering, window| {
        Inbound::new(spi, suite, keys, numbering, window).err()
    };
    let short = Numbering::Short;
    let both = suite(gcm, Authentication::Sha1);
    let result = refused(SPI, both, &keys(both, 0), short, 64);
    assert_eq!(result, Some(Refused::AuthenticatedTwice(gcm)));
    let none = suite(Encryption::Null, Authentication::None);
    assert_eq!(
        refused(SPI, none, &keys(none, 0), short, 0),
        Some(Refused::Nothing)
    );
    let bare = suite(Encryption::Des, Authentication::None);
    let result = refused(SPI, bare, &keys(bare, 0), short, 64);
    assert_eq!(result, Some(Refused::NumbersWithoutIntegrity));
    let only = suite(gcm, Authentication::None);
    let result = refused(SPI, only, &keys(only, 0), Numbering::Extended, 0);
    assert_eq!(result, Some(Refused::ExtendedWithoutWindow));
    for spi in [0, 1, 255] {
        assert_eq!(
            refused(spi, only, &keys(only, 0), short, 64),
            Some(Refused::Spi(spi))
        );
    }
    let result = refused(SPI, only, &Keys::new(&[0; 16], &[]), short, 64);
    let message = "encryption key has 16 bytes, not 20";
    assert_eq!(
        result.map(|refused| refused.to_string()),
        Some(message.to_owned())
    );
}

#[test]
fn names_of_algorithms_round_trip() {
    for encryption in Encryption::all() {
        assert_eq!(Encryption::from_name(encryption.name()), Some(encryption));
    }
    for authentication in Authentication::all() {
        assert_eq!(
            Authentication::from_name(authentication.name()),
            Some(authentication)
        );
    }
    assert_eq!(
        Encryption::from_name("aes-128-cbc").map(Encryption::key_len),
        Some(16)
    );
}
