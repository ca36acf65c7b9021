//! Helpers with random payloads, and edits of packets.

use proptest::prelude::*;

use super::rtsp::SETUP;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn an_edited_packet_equals_a_fresh_packet(
        (tuple, _) in crate::nat::tests::pair_of(vec![6, 17]),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        edits in proptest::collection::vec(
            (0..200_usize, 0..12_usize, proptest::collection::vec(any::<u8>(), 0..20)),
            0..30,
        ),
        options in any::<bool>(),
        checksum in prop::sample::select(
            vec![Checksum::Finished, Checksum::Unfinished, Checksum::None],
        ),
    ) {
        let mut list = Edits::default();
        let mut taken: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        for (at, len, text) in edits {
            let range = at..at + len;
            // Several edits at one position without removed bytes keep their order.
            let clear = |(other, taken, _): &(usize, usize, Vec<u8>)| {
                *other != at || (len > 0 && *taken > 0)
            };
            if range.end <= payload.len()
                && taken.iter().all(clear)
                && list.push(range, Text::from_bytes(&text).unwrap()).is_some()
            {
                taken.push((at, len, text));
            }
        }
        taken.sort_by_key(|(at, ..)| *at);
        let mut expected = payload.clone();
        for (at, len, text) in taken.iter().rev() {
            expected.splice(at..&(at + len), text.iter().copied());
        }
        let built = Built { tuple, payload, options, checksum };
        let mut room = built.packet();
        let shape = built.shape(&room);
        room.extend([0x55; 700]);

        let len = edit(&mut room, shape, &list).unwrap();

        room.truncate(len as usize);
        let fresh = Built { payload: expected, ..built };
        prop_assert_eq!(room, fresh.packet());
    }
}

/// A deterministic random number generator (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

/// Returns a message with some bytes changed, removed, duplicated, or taken from another message.
fn mutated(dice: &mut Dice, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[dice.roll(seeds.len())].clone();
    for _ in 0..dice.roll(6) {
        let at = dice.roll(bytes.len());
        match dice.roll(5) {
            0 if !bytes.is_empty() => bytes[at] = dice.roll(256) as u8,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << dice.roll(8),
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at..(at + dice.roll(40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => {
                let other = &seeds[dice.roll(seeds.len())];
                let from = dice.roll(other.len());
                bytes.splice(at.., other[from..].iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn random_payloads_are_harmless() {
    let mut pptp = vec![
        0, 32, 0, 1, 0x1a, 0x2b, 0x3c, 0x4d, 0, 8, 0, 0, 1, 2, 3, 4, 1,
    ];
    pptp.resize(32, 0);
    let seeds: Vec<Vec<u8>> = [
        &b"PORT 10,0,0,2,19,137\r\n"[..],
        b"EPRT |1|10.0.0.2|5001|\r\n",
        b"227 Entering Passive Mode (198,51,100,1,19,137)\r\n",
        b"229 Extended (|||5001|)\r\n",
        b"PRIVMSG friend :\x01DCC SEND a.png 167772162 5001 77\x01\r\n",
        b"\0\x01file\0octet\0",
        SETUP.as_bytes(),
        b"RTSP/1.0 200 OK\r\nTransport: RTP/AVP;client_port=5000-5001;server_port=6256-6257\r\n\r\n",
        INVITE.as_bytes(),
        &pptp,
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut edited = 0;
    for turn in 0..20_000 {
        let payload = mutated(&mut dice, &seeds);
        let number = [protocol::TCP, protocol::UDP][dice.roll(2)];
        for helper in Helper::ALL {
            let view = view(helper, number, 5060, turn % 2 == 1);
            edited += usize::from(survives(&payload, &view));
        }
    }
    assert!(edited > 1000, "the mutations are all garbage: {edited}");
}

/// Applies all edits that a helper finds in a payload. Returns true if the packet changed.
fn survives(payload: &[u8], view: &View) -> bool {
    let built = Built {
        tuple: view.forth,
        payload: payload.to_vec(),
        options: false,
        checksum: Checksum::Finished,
    };
    let mut room = built.packet();
    let (shape, before) = (shape(&room), room.len());
    room.extend([0; 500]);

    let findings = KnownExpectations::default().read(payload, view);

    for expectation in findings.expectations() {
        assert!(expectation.tuple.destination_port >= 1024 || view.helper == Helper::Pptp);
    }
    let len = edit(&mut room, shape, &findings.edits).expect("room") as usize;
    assert_eq!(
        len,
        before.wrapping_add_signed(findings.edits.growth(0) as isize)
    );
    !findings.edits.is_empty()
}
