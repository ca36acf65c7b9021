use super::*;
use crate::{Class, Sizes};
use core::net::Ipv4Addr;
use etherparse::Ipv4Header;
use proptest::collection::vec;
use proptest::prelude::*;
use wire::Protocol;

const LINK: [u8; 18] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0];

/// Options, some of which are copied into fragments: record route (not copied), router alert (copied), source
/// route (copied), timestamp (not copied), each after padding.
const OPTIONS: [&[u8]; 4] = [
    &[7, 7, 4, 0, 0, 0, 0],
    &[1, 148, 4, 0, 0],
    &[1, 1, 131, 7, 4, 203, 0, 113, 1],
    &[68, 8, 5, 0, 0, 0, 0, 0],
];

fn repr(fragment: Fragment) -> Repr {
    let (src, dst) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(198, 51, 100, 2));
    Repr {
        tos: 0x2e,
        id: 4_711,
        fragment,
        ttl: 9,
        ..Repr::new(Protocol::UDP, src, dst)
    }
}

fn packet(pool: &mut Pool, fragment: Fragment, options: &[u8], payload: &[u8]) -> Frame {
    let mut bytes = LINK.to_vec();
    repr(fragment).emit(options, payload.len(), &mut bytes);
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&[0xee; 5]);
    let mut frame = pool.alloc_from(&bytes).expect("a slot");
    frame.l3 = LINK.len() as u16;
    frame
}

fn pool() -> Pool {
    Pool::new(Sizes {
        small: 3_000,
        medium: 100,
        large: 8,
    })
    .expect("memory")
}

/// The received bytes of a packet, and its length once the last fragment has arrived.
#[derive(Default)]
struct Reassembled {
    bytes: Vec<u8>,
    covered: usize,
    len: Option<usize>,
}

impl Reassembled {
    fn take(&mut self, packet: &Packet<'_>) {
        let (start, data) = (usize::from(packet.fragment().offset()), packet.payload());
        let end = start + data.len();
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[start..end].copy_from_slice(data);
        self.covered += data.len();
        if !packet.fragment().more() {
            self.len = Some(end);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[cfg_attr(miri, ignore = "long packets take Miri minutes")]
    fn the_fragments_of_fragments_together_are_the_packet(
        seed in any::<u8>(),
        len in prop_oneof![0..4_000usize, 60_000..65_400usize],
        chosen in any::<[bool; 4]>(),
        mtus in (576..9_000usize, 68..1_500usize),
    ) {
        let payload: Vec<u8> = (0..len).map(|at| (at / 8) as u8 ^ seed).collect();
        let options: Vec<u8> =
            OPTIONS.iter().zip(chosen).filter(|(_, yes)| *yes).flat_map(|(option, _)| *option).copied().collect();
        let mut pool = pool();
        let frame = packet(&mut pool, Fragment::WHOLE, &options, &payload);
        let (mut first, mut second) = (Vec::new(), Vec::new());

        fragment(&mut pool, &frame, mtus.0, &mut first).expect("fragments");
        for piece in &first {
            fragment(&mut pool, piece, mtus.1, &mut second).expect("fragments of fragments");
        }

        for (pieces, mtu) in [(&first, mtus.0), (&second, mtus.1)] {
            let mut reassembled = Reassembled::default();
            for piece in pieces {
                let bytes = &piece.bytes()[LINK.len()..];
                prop_assert_eq!(&piece.bytes()[..LINK.len()], &LINK[..]);
                prop_assert!(bytes.len() <= mtu, "{} > {mtu}", bytes.len());
                let (theirs, _) = Ipv4Header::from_slice(bytes).expect("a header");
                prop_assert_eq!(theirs.calc_header_checksum(), theirs.header_checksum);
                let packet = Packet::new_verified(bytes).expect("a packet");
                prop_assert_eq!(usize::from(packet.total_len()), bytes.len());
                let expected = Repr { fragment: packet.fragment(), ..repr(Fragment::WHOLE) };
                prop_assert_eq!(Repr::parse(&packet), expected);
                prop_assert!(!packet.fragment().more() || packet.payload().len() % 8 == 0);
                let kinds: Vec<_> = packet.options_iter().map(|option| option.expect("good").kind).collect();
                let is_first = packet.fragment().offset() == 0;
                let wanted: Vec<_> = [7, 148, 131, 68].into_iter().zip(chosen)
                    .filter(|(kind, yes)| *yes && (is_first || *kind >= 128))
                    .map(|(kind, _)| kind)
                    .collect();
                prop_assert_eq!(kinds, wanted);
                reassembled.take(&packet);
            }
            prop_assert_eq!(reassembled.len, Some(payload.len()));
            prop_assert_eq!(reassembled.covered, payload.len(), "nothing twice");
            prop_assert!(reassembled.bytes == payload);
        }
        for piece in first.drain(..).chain(second.drain(..)).chain([frame]) {
            pool.free(piece);
        }
    }

    #[test]
    fn random_input_never_panics_and_failures_leak_no_slots(
        mut bytes in vec(any::<u8>(), 0..200),
        l3 in 0..40u16,
        mtu in 0..200usize,
        ihl in 0x40..0x50u8,
    ) {
        if let Some(byte) = bytes.get_mut(usize::from(l3)) {
            *byte = ihl;
        }
        if let Some(total) = bytes.get_mut(usize::from(l3) + 2..usize::from(l3) + 4) {
            total.copy_from_slice(&[0, 100]);
        }
        let mut pool = pool();
        let mut frame = pool.alloc_from(&bytes).expect("a slot");
        frame.l3 = l3;
        let mut out = Vec::new();

        let result = fragment(&mut pool, &frame, mtu, &mut out);

        prop_assert_eq!(result.unwrap_or(0), out.len());
        for piece in out.drain(..).chain([frame]) {
            pool.free(piece);
        }
    }
}

#[test]
fn refragmented_middle_fragments_keep_their_offsets() {
    let mut pool = pool();
    let whole = packet(&mut pool, Fragment::piece(1_480, true), &[], &[3; 200]);
    let mut out = Vec::new();

    fragment(&mut pool, &whole, 120, &mut out).expect("fragments");

    let places: Vec<_> = out
        .iter()
        .map(|piece| {
            Packet::new_verified(&piece.bytes()[LINK.len()..])
                .expect("a packet")
                .fragment()
        })
        .map(|fragment| (fragment.offset(), fragment.more()))
        .collect();
    assert_eq!(places, [(1_480, true), (1_576, true), (1_672, true)]);
    for piece in out.drain(..).chain([whole]) {
        pool.free(piece);
    }
}

#[test]
fn a_packet_of_exactly_the_mtu_is_not_fragmented() {
    let mut pool = pool();
    for (mtu, count) in [(576, 1), (575, 2)] {
        let whole = packet(&mut pool, Fragment::WHOLE, &[], &[3; 556]);
        let mut out = Vec::new();

        assert_eq!(fragment(&mut pool, &whole, mtu, &mut out), Ok(count));

        for piece in out.drain(..).chain([whole]) {
            pool.free(piece);
        }
    }
}

#[test]
fn each_reason_not_to_fragment_has_its_name() {
    let mut pool = pool();
    let mut refusal = |fragment_word: Fragment, mtu, change: &dyn Fn(&mut Frame)| {
        let mut frame = packet(
            &mut pool,
            fragment_word,
            &[7, 7, 4, 0, 0, 0, 0],
            &[1; 1_000],
        );
        change(&mut frame);
        let result = fragment(&mut pool, &frame, mtu, &mut Vec::new());
        pool.free(frame);
        result.err()
    };
    let whole = Fragment::WHOLE;

    assert_eq!(refusal(whole, 67, &|_| {}), Some(Unfragmentable::Mtu));
    let partial = |frame: &mut Frame| frame.offload.needs_checksum = true;
    assert_eq!(
        refusal(whole, 576, &partial),
        Some(Unfragmentable::Unfinished)
    );
    let version = |frame: &mut Frame| frame.bytes_mut()[LINK.len()] = 0x65;
    let wrong = Some(Unfragmentable::Header(ipv4::Malformed::Version));
    assert_eq!(refusal(whole, 576, &version), wrong);
    let option = |frame: &mut Frame| frame.bytes_mut()[LINK.len() + 21] = 1;
    let wrong = Some(Unfragmentable::Option(ipv4::MalformedOption::Length(20)));
    assert_eq!(refusal(whole, 576, &option), wrong);
    let end = Fragment::piece(65_528, false);
    assert_eq!(refusal(end, 576, &|_| {}), Some(Unfragmentable::BeyondEnd));
    assert_eq!(refusal(whole, 576, &|_| {}), None);
}

#[test]
fn an_empty_pool_returns_all_fragments() {
    let mut pool = Pool::new(Sizes {
        small: 3,
        medium: 1,
        large: 0,
    })
    .expect("memory");
    let frame = packet(&mut pool, Fragment::WHOLE, &[], &[1; 4_000]);
    let mut out = Vec::new();

    let result = fragment(&mut pool, &frame, 576, &mut out);

    assert_eq!(result, Err(Unfragmentable::NoBuffer));
    assert_eq!((out.len(), pool.available(Class::Small)), (0, 3));
    pool.free(frame);
}
