use super::*;
use crate::{Class, Sizes};
use etherparse::{Ipv4Header, Ipv6HeaderSlice, TcpSlice, UdpSlice};
use proptest::collection::vec;
use proptest::prelude::*;

const V4: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 9, 8, 7));
const V6: (Ipv6Addr, Ipv6Addr) = (
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
);
const TIMESTAMPS: [u8; 12] = [1, 1, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8];

/// A merged packet of a test.
#[derive(Clone, Debug)]
struct Whole {
    is_v6: bool,
    is_tcp: bool,
    tags: usize,
    ip_options: bool,
    tcp_options: bool,
    seq: u32,
    id: u16,
    flags: u8,
    segment_bytes: u16,
    payload: Vec<u8>,
}

impl Whole {
    fn tcp4(payload: Vec<u8>) -> Self {
        Self {
            is_v6: false,
            is_tcp: true,
            tags: 0,
            ip_options: false,
            tcp_options: false,
            seq: u32::MAX - 2_000,
            id: u16::MAX,
            flags: 0xff,
            segment_bytes: 1_448,
            payload,
        }
    }

    /// Returns the frame as a local stack passes it: the upper checksum contains only the pseudo header's
    /// sum.
    fn frame(&self, pool: &mut Pool) -> Frame {
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        for vid in 1..=self.tags as u8 {
            bytes.extend_from_slice(&[0x81, 0, 0, vid]);
        }
        bytes.extend_from_slice(if self.is_v6 { &[0x86, 0xdd] } else { &[8, 0] });
        let l3 = bytes.len();
        let upper = self.upper();
        let protocol = if self.is_tcp {
            Protocol::TCP
        } else {
            Protocol::UDP
        };
        if self.is_v6 {
            let options = [protocol.0, 0, 1, 4, 0, 0, 0, 0];
            let options: &[u8] = if self.ip_options { &options } else { &[] };
            let next = if self.ip_options {
                Protocol::DESTINATION
            } else {
                protocol
            };
            let repr = ipv6::Repr::new(next, V6.0, V6.1);
            bytes.extend_from_slice(&repr.to_bytes(options.len() + upper.len()));
            bytes.extend_from_slice(options);
        } else {
            let options: &[u8] = if self.ip_options {
                &[148, 4, 0, 0]
            } else {
                &[]
            };
            let fragment = ipv4::Fragment::DONT;
            let repr = ipv4::Repr {
                id: self.id,
                fragment,
                ..ipv4::Repr::new(protocol, V4.0, V4.1)
            };
            repr.emit(options, upper.len(), &mut bytes);
        }
        let l4 = bytes.len();
        bytes.extend_from_slice(&upper);
        let mut frame = pool.alloc_from(&bytes).expect("a slot");
        frame.l3 = l3 as u16;
        frame.offload = Offload {
            needs_checksum: true,
            segmentation: match (self.is_tcp, self.is_v6) {
                (true, false) => Segmentation::Tcp4,
                (true, true) => Segmentation::Tcp6,
                (false, _) => Segmentation::Udp,
            },
            segment_bytes: self.segment_bytes,
            checksum_start: l4 as u16,
            checksum_offset: if self.is_tcp { 16 } else { 6 },
            ecn: self.flags & Flags::CWR.0 != 0,
        };
        frame
    }

    fn upper(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.is_tcp {
            let repr = tcp::Repr {
                src_port: 5_000,
                dst_port: 80,
                seq: self.seq,
                ack: 77,
                flags: Flags(self.flags),
                window: 1_000,
                urgent: 0,
            };
            let options: &[u8] = if self.tcp_options { &TIMESTAMPS } else { &[] };
            repr.emit(options, &self.payload, 0, &mut bytes);
        } else {
            let len = (self.payload.len() + udp::HEADER_LEN) as u16;
            bytes.extend_from_slice(&[0x13, 0x88, 0, 53]);
            bytes.extend_from_slice(&len.to_be_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(&self.payload);
        }
        bytes
    }

    /// Parses a segment with etherparse and compares the headers; returns the payload.
    fn check(&self, piece: &Frame, index: usize, last: bool) -> Result<Vec<u8>, TestCaseError> {
        prop_assert!(piece.offload.is_finished());
        let packet = &piece.bytes()[usize::from(piece.l3)..];
        let upper = if self.is_v6 {
            let slice = etherparse::Ipv6Slice::from_slice(packet).expect("an IPv6 packet");
            let header = Ipv6HeaderSlice::from_slice(packet).expect("a header");
            prop_assert_eq!(usize::from(header.payload_length()) + 40, packet.len());
            slice.payload().payload
        } else {
            let (header, rest) = Ipv4Header::from_slice(packet).expect("an IPv4 packet");
            prop_assert_eq!(header.calc_header_checksum(), header.header_checksum);
            prop_assert_eq!(usize::from(header.total_len), packet.len());
            prop_assert_eq!(header.identification, self.id.wrapping_add(index as u16));
            prop_assert!(header.dont_fragment);
            prop_assert_eq!(header.options.len(), if self.ip_options { 4 } else { 0 });
            rest
        };
        if self.is_tcp {
            self.check_tcp(upper, index, last)
        } else {
            self.check_udp(upper)
        }
    }

    fn check_tcp(&self, upper: &[u8], index: usize, last: bool) -> Result<Vec<u8>, TestCaseError> {
        let tcp = TcpSlice::from_slice(upper).expect("a segment");
        let sum = if self.is_v6 {
            tcp.calc_checksum_ipv6(V6.0.octets(), V6.1.octets())
                .expect("short enough")
        } else {
            tcp.calc_checksum_ipv4(V4.0.octets(), V4.1.octets())
                .expect("short enough")
        };
        prop_assert_eq!(tcp.checksum(), sum);
        let start = index as u32 * u32::from(self.segment_bytes);
        prop_assert_eq!(tcp.sequence_number(), self.seq.wrapping_add(start));
        prop_assert_eq!(tcp.acknowledgment_number(), 77);
        let flags = Flags(self.flags);
        prop_assert_eq!(tcp.fin(), last && flags.contains(Flags::FIN));
        prop_assert_eq!(tcp.psh(), last && flags.contains(Flags::PSH));
        prop_assert_eq!(tcp.cwr(), index == 0 && flags.contains(Flags::CWR));
        prop_assert_eq!(tcp.ece(), flags.contains(Flags::ECE));
        prop_assert_eq!(tcp.ack(), flags.contains(Flags::ACK));
        let options: &[u8] = if self.tcp_options { &TIMESTAMPS } else { &[] };
        prop_assert_eq!(tcp.options(), options);
        Ok(tcp.payload().to_vec())
    }

    fn check_udp(&self, upper: &[u8]) -> Result<Vec<u8>, TestCaseError> {
        let slice = UdpSlice::from_slice(upper).expect("a datagram");
        let header = slice.to_header();
        let sum = if self.is_v6 {
            header.calc_checksum_ipv6_raw(V6.0.octets(), V6.1.octets(), slice.payload())
        } else {
            header.calc_checksum_ipv4_raw(V4.0.octets(), V4.1.octets(), slice.payload())
        };
        prop_assert_eq!(header.checksum, sum.expect("short enough"));
        prop_assert_eq!(usize::from(header.length), upper.len());
        Ok(slice.payload().to_vec())
    }
}

fn whole() -> impl Strategy<Value = Whole> {
    let shape = (any::<[bool; 4]>(), 0..3usize);
    let numbers = (any::<u32>(), any::<u16>(), any::<u8>(), 48..3_000u16);
    // Random payloads are seldom long, so every third one is long by construction.
    let payload = prop_oneof![
        2 => vec(any::<u8>(), 0..4_000),
        1 => (any::<u8>(), 30_000..65_000usize)
            .prop_map(|(seed, len)| (0..len).map(|at| (at as u8).wrapping_mul(seed) ^ seed).collect()),
    ];
    (shape, numbers, payload).prop_map(
        |((bits, tags), (seq, id, flags, segment_bytes), payload)| {
            let [is_v6, is_tcp, ip_options, tcp_options] = bits;
            Whole {
                is_v6,
                is_tcp,
                tags,
                ip_options,
                tcp_options,
                seq,
                id,
                flags,
                segment_bytes,
                payload,
            }
        },
    )
}

fn pool() -> Pool {
    Pool::new(Sizes {
        small: 1_500,
        medium: 64,
        large: 2,
    })
    .expect("memory")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    #[cfg_attr(miri, ignore = "long packets take Miri minutes")]
    fn segments_are_valid_packets_that_join_to_the_whole(whole in whole()) {
        let mut pool = pool();
        let frame = whole.frame(&mut pool);
        let mut out = Vec::new();

        let count = segment(&mut pool, &frame, &mut out);

        prop_assert_eq!(count, Ok(out.len()));
        let mut together = Vec::new();
        for (index, piece) in out.iter().enumerate() {
            let last = index + 1 == out.len();
            let data = whole.check(piece, index, last)?;
            prop_assert!(last || data.len() == usize::from(whole.segment_bytes));
            prop_assert!(data.len() <= usize::from(whole.segment_bytes));
            prop_assert_eq!(&piece.bytes()[..usize::from(frame.l3)], &frame.bytes()[..usize::from(frame.l3)]);
            together.extend_from_slice(&data);
        }
        prop_assert_eq!(together, whole.payload);
        for piece in out.drain(..).chain([frame]) {
            pool.free(piece);
        }
    }

    #[test]
    fn random_input_never_panics_and_failures_leak_no_slots(
        bytes in vec(any::<u8>(), 0..200),
        l3 in 0..40u16,
        kind in 0..4usize,
        segment_bytes in 0..64u16,
        first in prop_oneof![Just(0x45u8), Just(0x60), any::<u8>()],
    ) {
        let mut pool = pool();
        let mut frame = pool.alloc_from(&bytes).expect("a slot");
        if let Some(byte) = frame.bytes_mut().get_mut(usize::from(l3)) {
            *byte = first;
        }
        frame.l3 = l3;
        let segmentation =
            [Segmentation::None, Segmentation::Tcp4, Segmentation::Tcp6, Segmentation::Udp][kind];
        frame.offload = Offload { segmentation, segment_bytes, ..Offload::FINISHED };
        let mut out = Vec::new();

        let result = segment(&mut pool, &frame, &mut out);

        prop_assert_eq!(result.unwrap_or(0), out.len());
        for piece in out.drain(..).chain([frame]) {
            pool.free(piece);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "long packets take Miri minutes")]
    fn a_partial_checksum_is_completed_as_by_the_oracle(whole in whole()) {
        let whole = Whole { payload: whole.payload.iter().copied().take(1_400).collect(), ..whole };
        let mut pool = pool();
        let mut frame = whole.frame(&mut pool);
        let offload = frame.offload;
        let at = usize::from(offload.checksum_start);
        let field = at + usize::from(offload.checksum_offset);
        let len = frame.len() - at;
        let protocol = if whole.is_tcp { Protocol::TCP } else { Protocol::UDP };
        let pseudo = if whole.is_v6 {
            checksum::pseudo_v6(V6.0, V6.1, protocol, len as u32)
        } else {
            checksum::pseudo_v4(V4.0, V4.1, protocol, len as u16)
        };
        frame.bytes_mut()[field..field + 2].copy_from_slice(&pseudo.to_be_bytes());

        prop_assert_eq!(crate::finish_checksum(frame.bytes_mut(), &offload), Ok(()));

        let upper = &frame.bytes()[at..];
        if whole.is_tcp {
            // The frame was not split, so the flags are unchanged: only the checksum is verified.
            let tcp = tcp::Segment::new_checked(upper).expect("a segment");
            let verdict = if whole.is_v6 { tcp.verify_v6(V6.0, V6.1) } else { tcp.verify_v4(V4.0, V4.1) };
            prop_assert_eq!(verdict, Ok(()));
        } else {
            whole.check_udp(upper)?;
        }
        pool.free(frame);
    }
}

#[test]
fn a_checksum_outside_the_frame_is_refused() {
    let offload = |checksum_start, checksum_offset| Offload {
        needs_checksum: true,
        checksum_start,
        checksum_offset,
        ..Offload::FINISHED
    };
    let mut bytes = [7; 40];

    for (start, offset) in [(41, 0), (40, 0), (20, 19), (20, 20), (u16::MAX, u16::MAX)] {
        let result = crate::finish_checksum(&mut bytes, &offload(start, offset));

        assert_eq!(
            result,
            Err(Unfinishable::ChecksumOutside),
            "{start} {offset}"
        );
    }
    assert_eq!(
        crate::finish_checksum(&mut bytes, &Offload::FINISHED),
        Ok(())
    );
    assert_eq!(bytes, [7; 40]);
    assert_eq!(crate::finish_checksum(&mut bytes, &offload(20, 18)), Ok(()));
}

#[test]
fn a_checksum_of_zero_is_written_as_all_ones() {
    let offload = Offload {
        needs_checksum: true,
        ..Offload::FINISHED
    };
    let mut bytes = [0xff, 0xff, 0, 0];

    assert_eq!(crate::finish_checksum(&mut bytes, &offload), Ok(()));

    assert_eq!(bytes, [0xff, 0xff, 0, 0]);
}

#[test]
fn each_merged_frame_fault_has_its_name() {
    let mut pool = pool();
    let mut refusal = |change: &dyn Fn(&mut Frame)| {
        let mut frame = Whole::tcp4(vec![1; 10_000]).frame(&mut pool);
        change(&mut frame);
        let result = segment(&mut pool, &frame, &mut Vec::new());
        pool.free(frame);
        result.err()
    };

    assert_eq!(
        refusal(&|frame| frame.offload.segment_bytes = 0),
        Some(Unfinishable::NotMerged)
    );
    assert_eq!(
        refusal(&|frame| frame.offload.segment_bytes = 7),
        Some(Unfinishable::TooManySegments)
    );
    let none = |frame: &mut Frame| frame.offload.segmentation = Segmentation::None;
    assert_eq!(refusal(&none), Some(Unfinishable::NotMerged));
    let udp = |frame: &mut Frame| frame.offload.segmentation = Segmentation::Udp;
    assert_eq!(refusal(&udp), Some(Unfinishable::Protocol));
    let v6 = |frame: &mut Frame| frame.offload.segmentation = Segmentation::Tcp6;
    assert_eq!(
        refusal(&v6),
        Some(Unfinishable::Ipv6(ipv6::Malformed::Version))
    );
    assert_eq!(
        refusal(&|frame| frame.bytes_mut()[20] = 0x20),
        Some(Unfinishable::Fragment)
    );
    let short = |frame: &mut Frame| assert!(frame.set_len(9_000));
    assert_eq!(
        refusal(&short),
        Some(Unfinishable::Ipv4(ipv4::Malformed::TotalLengthTooLarge))
    );
    let offset = |frame: &mut Frame| frame.bytes_mut()[46] = 0x40;
    assert_eq!(
        refusal(&offset),
        Some(Unfinishable::Tcp(tcp::Malformed::DataOffset))
    );
}

#[test]
fn an_empty_pool_returns_all_segments() {
    let mut pool = Pool::new(Sizes {
        small: 5,
        medium: 1,
        large: 1,
    })
    .expect("memory");
    let frame = Whole::tcp4(vec![1; 10_000]).frame(&mut pool);
    let earlier = pool.alloc_from(&[1]).expect("a slot");
    let mut out = vec![earlier];

    let result = segment(&mut pool, &frame, &mut out);

    assert_eq!(result, Err(Unfinishable::NoBuffer));
    assert_eq!((out.len(), pool.available(Class::Small)), (1, 4));
    for piece in out.drain(..).chain([frame]) {
        pool.free(piece);
    }
}

#[test]
fn a_datagram_without_checksum_stays_without() {
    let mut pool = pool();
    let whole = Whole {
        is_tcp: false,
        ..Whole::tcp4(vec![1; 3_000])
    };
    let mut frame = whole.frame(&mut pool);
    frame.offload.needs_checksum = false;
    let mut out = Vec::new();

    assert_eq!(segment(&mut pool, &frame, &mut out), Ok(3));

    assert!(out.iter().all(|piece| piece.bytes()[40..42] == [0, 0]));
    for piece in out.drain(..).chain([frame]) {
        pool.free(piece);
    }
}
