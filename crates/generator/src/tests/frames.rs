//! Every built frame is parsed by `wire` and has the right lengths and checksums.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use machine::Instant;
use proptest::prelude::*;
use wire::{ethernet, ipv4, ipv6, tcp, udp};

use crate::*;

fn sender(template: Template, bytes: (usize, usize)) -> Sender {
    let stream = Stream {
        id: 7,
        bytes,
        rate: Rate::default(),
        count: None,
        template: Arc::new(template),
    };
    let counters = Arc::new(Counters::new(3, &[7], 4, 1_000));
    Sender::new(vec![stream], counters, 1_000_000, 5)
}

fn next(sender: &mut Sender) -> Vec<u8> {
    let now = Instant::from_nanos(12_345);
    let due = sender.due(now).expect("an unlimited stream is always due");
    let mut frame = vec![0; due.bytes];
    sender.write(due, now, &mut frame);
    frame
}

/// Checks all checksums behind an EtherType or IP protocol.
fn check_layers(layers: &[Layer], frame: &[u8]) {
    let mut at = 0;
    let mut addresses = None;
    for layer in layers {
        let rest = &frame[at..];
        at += match layer {
            Layer::Mac => {
                ethernet::Frame::new_checked(rest).expect("Ethernet");
                14
            }
            Layer::Vlan => 4,
            Layer::Ip => {
                let header = ipv4::Packet::new_verified(rest).expect("IPv4 header checksum");
                assert_eq!(usize::from(header.total_len()), rest.len());
                addresses = Some(Ok((header.src(), header.dst())));
                20
            }
            Layer::Ipv6 => {
                let header = ipv6::Packet::new_checked(rest).expect("IPv6");
                assert_eq!(usize::from(header.payload_len()), rest.len() - 40);
                addresses = Some(Err((header.src(), header.dst())));
                40
            }
            Layer::Udp => {
                let datagram = udp::Datagram::new_checked(rest).expect("UDP");
                assert_eq!(usize::from(datagram.len()), rest.len());
                match addresses.expect("an IP header") {
                    Ok((src, dst)) => datagram.verify_v4(src, dst),
                    Err((src, dst)) => datagram.verify_v6(src, dst),
                }
                .expect("UDP checksum");
                8
            }
            Layer::Tcp => {
                let segment = tcp::Segment::new_checked(rest).expect("TCP");
                match addresses.expect("an IP header") {
                    Ok((src, dst)) => segment.verify_v4(src, dst),
                    Err((src, dst)) => segment.verify_v6(src, dst),
                }
                .expect("TCP checksum");
                20
            }
            Layer::Raw => 3,
        };
    }
}

fn stacks() -> impl Strategy<Value = Vec<Layer>> {
    use Layer::*;
    prop::sample::select(vec![
        vec![Mac, Ip, Udp],
        vec![Mac, Ip, Tcp],
        vec![Mac, Ipv6, Udp],
        vec![Mac, Ipv6, Tcp],
        vec![Mac, Vlan, Ip, Udp],
        vec![Mac, Vlan, Vlan, Ipv6, Udp],
        vec![Mac, Ip, Ip, Udp],
        vec![Mac, Ip, Ipv6, Tcp],
        vec![Mac, Ip, Udp, Mac, Ip, Udp],
        vec![Mac, Ip, Udp, Raw, Ip, Udp],
    ])
}

fn fields(random_at: usize, width: usize, words: u64) -> Vec<Field> {
    let field = Field {
        offset: random_at,
        width,
        shift: 0,
        bits: 8 * width as u32,
        values: Values::Random {
            first: 0,
            last: words,
        },
    };
    vec![field]
}

proptest! {
    #[test]
    fn frames_of_every_stack_have_the_right_lengths_and_checksums(
        layers in stacks(),
        extra in 0_usize..1_400,
        random_at in 110_usize..400,
        width in 1_usize..=4,
        fill in prop_oneof![Just(Fill::Byte(0)), Just(Fill::Incrementing), any::<u64>().prop_map(Fill::Random)],
        has_footer: bool,
        checksum_from in prop::option::of(130_usize..300),
    ) {
        let stack = Stack {
            layers: layers.clone(),
            values: vec![
                ("mac-dst", vec![(0x0200_0000_0001, 0x0200_0000_0003)]),
                ("mac-src", vec![(0x0200_0000_0009, 0x0200_0000_0009)]),
            ],
            raw: vec![1, 2, 3],
        };
        let mut stack = stack;
        if layers.contains(&Layer::Ip) {
            stack.values.push(("ip-dst", vec![(0x0a00_0001, 0x0a00_00ff), (0x0b00_0000, 0x0b00_0000)]));
            stack.values.push(("ip-dscp", vec![(0, 63)]));
        }
        if layers.contains(&Layer::Udp) {
            stack.values.push(("udp-dst-port", vec![(1, 65_535)]));
        }
        let (header, layout, mut all) = stack.build().expect("a valid stack");
        all.extend(fields(random_at.max(header.len()), width, 0xffff_ffff >> (32 - 8 * width)));
        let template = Template::new(&header, &layout, all, fill, has_footer, checksum_from)
            .expect("a valid template");
        let first = template.min_bytes() + extra;
        let mut sender = sender(template, (first, first + 3));
        let mut receiver = Receiver::new(
            Arc::clone(sender.counters()),
            &checksum_from.map(|from| (7, from)).into_iter().collect::<Vec<_>>(),
            true,
        );
        for _ in 0..300 {
            let frame = next(&mut sender);
            check_layers(&layers, &frame);
            let verdict = receiver.receive(&frame, Instant::from_nanos(12_445));
            prop_assert_eq!(verdict == Verdict::Counted, has_footer);
        }
        let total = Sample::read([&**receiver.counters()]).total();
        prop_assert_eq!(total.bad_checksum, 0);
        prop_assert_eq!(total.sent, 300);
        prop_assert_eq!(total.missing(), if has_footer { 0 } else { 300 });
        prop_assert_eq!(total.latency_min, has_footer.then_some(100));
    }

    #[test]
    fn raw_headers_get_the_same_lengths_and_checksums_by_their_offsets(extra in 0_usize..300) {
        let stack = Stack { layers: vec![Layer::Mac, Layer::Ip, Layer::Udp], ..Stack::default() };
        let (header, _, _) = stack.build().expect("a valid stack");
        let layout = Layout { ipv4: vec![14], udp: vec![(34, true)], ..Layout::default() };
        let template = Template::new(&header, &layout, vec![], Fill::Incrementing, true, None)
            .expect("a valid template");
        let bytes = template.min_bytes() + extra;
        let frame = next(&mut sender(template, (bytes, bytes)));
        check_layers(&stack.layers, &frame);
    }
}

#[test]
fn ranges_and_lists_count_through_their_values_and_begin_again() {
    let stack = Stack {
        layers: vec![Layer::Mac, Layer::Ip, Layer::Udp],
        values: vec![(
            "ip-dst",
            vec![(0x0a00_0001, 0x0a00_0002), (0x0b00_0009, 0x0b00_0009)],
        )],
        raw: Vec::new(),
    };
    let (header, layout, fields) = stack.build().expect("a valid stack");
    let template = Template::new(&header, &layout, fields, Fill::Byte(0), true, None);
    let mut sender = sender(template.expect("a valid template"), (60, 60));
    let addresses: Vec<Ipv4Addr> = (0..4)
        .map(|_| {
            let frame = next(&mut sender);
            ipv4::Packet::new_checked(&frame[14..]).expect("IPv4").dst()
        })
        .collect();
    let expected = ["10.0.0.1", "10.0.0.2", "11.0.0.9", "10.0.0.1"];
    assert_eq!(
        addresses,
        expected.map(|text| text.parse::<Ipv4Addr>().expect("an address"))
    );
}

#[test]
fn a_prefix_of_ipv6_addresses_counts_from_its_first_address() {
    let first: u128 = "2001:db8::".parse::<Ipv6Addr>().expect("an address").into();
    let stack = Stack {
        layers: vec![Layer::Mac, Layer::Ipv6, Layer::Udp],
        values: vec![("ipv6-dst", vec![(first, first + 1)])],
        raw: Vec::new(),
    };
    let (header, layout, fields) = stack.build().expect("a valid stack");
    let template = Template::new(&header, &layout, fields, Fill::Byte(0), true, None);
    let mut sender = sender(template.expect("a valid template"), (90, 90));
    for last in [0, 1, 0] {
        let frame = next(&mut sender);
        let dst = ipv6::Packet::new_checked(&frame[14..]).expect("IPv6").dst();
        assert_eq!(u128::from(dst), first + last);
    }
}

#[test]
fn stacks_and_templates_that_cannot_be_built_are_refused_with_the_reason() {
    let stack = |layers: &[Layer], name| Stack {
        layers: layers.to_vec(),
        values: vec![(name, vec![(1, 1)])],
        raw: Vec::new(),
    };
    let refused = stack(&[Layer::Mac, Layer::Ip], "udp-dst-port").build();
    assert_eq!(refused.err(), Some(StackError::NoHeader("udp-dst-port")));
    let refused = stack(&[Layer::Ip], "ip-dst").build();
    assert_eq!(refused.err(), Some(StackError::NoMac));
    let (header, layout, _) = stack(&[Layer::Mac, Layer::Udp], "mac-src")
        .build()
        .expect("a stack");
    let build = |layout: &Layout, from| {
        Template::new(&header, layout, vec![], Fill::Byte(0), true, from).err()
    };
    assert_eq!(build(&layout, None), Some(TemplateError::NoAddresses));
    let layout = Layout::default();
    assert_eq!(
        build(&layout, Some(3)),
        Some(TemplateError::ChecksumInHeader)
    );
    let layout = Layout {
        ipv4: vec![10],
        ..Layout::default()
    };
    assert_eq!(build(&layout, None), Some(TemplateError::OutsideHeader));
}
