//! Fuzz targets of packet formats: parses foreign bytes, calls every accessor, and checks that encoding and
//! parsing again gives the same value.
//!
//! One function per format.

use core::net::{Ipv4Addr, Ipv6Addr};

use service::radius::authorization::{Authorization, Prefix6};
use wire::ndp::NdpOption;
use wire::{
    EtherType, Protocol, arp, cdp as cisco, checksum, dns, ethernet, icmpv4, icmpv6, ipv4, ipv6,
    lacp, lldp as beacon, mndp as routeros, ndp, ntp as ntp_packet, pppoe, radius as radius_packet,
    tcp, udp, vlan, vrrp, vxlan as vxlan_header,
};

use super::Target;

/// Fuzz targets with their names, which are the names of their corpora.
pub const TARGETS: [(&str, Target); 18] = [
    ("arp", arp),
    ("cdp", cdp),
    ("dns", dns),
    ("frame", frame),
    ("icmp", icmp),
    ("ipv4", ipv4),
    ("ipv6", ipv6),
    ("lacp", lacp),
    ("lldp", lldp),
    ("mndp", mndp),
    ("ndp", ndp),
    ("ntp", ntp),
    ("pppoe-discovery", pppoe_discovery),
    ("radius", radius),
    ("tcp", tcp),
    ("udp", udp),
    ("vrrp", vrrp),
    ("vxlan", vxlan),
];

/// Passes `bytes` to every parser.
pub fn all(bytes: &[u8]) {
    for (_, target) in TARGETS {
        target(bytes);
    }
}

/// Parses a whole frame: tags, then the payload.
pub fn frame(bytes: &[u8]) {
    let Ok(frame) = ethernet::Frame::new_checked(bytes) else {
        return;
    };
    assert_eq!(
        Some(&ethernet::Repr::parse(&frame).to_bytes()),
        bytes.first_chunk()
    );
    let (mut ethertype, mut payload) = (frame.ethertype(), frame.payload());
    for _ in 0..TAGS_MAX {
        let (true, Ok(tagged)) = (ethertype.is_vlan(), vlan::Tagged::new_checked(payload)) else {
            break;
        };
        assert_eq!(
            Some(&vlan::Repr::parse(&tagged).to_bytes()),
            payload.first_chunk()
        );
        (ethertype, payload) = (tagged.ethertype(), tagged.payload());
    }
    match ethertype {
        EtherType::ARP => arp(payload),
        EtherType::IPV4 => ipv4(payload),
        EtherType::IPV6 => ipv6(payload),
        EtherType::SLOW => lacp(payload),
        EtherType::LLDP => lldp(payload),
        _ => {}
    }
}

/// Parses a PPPoE discovery packet, encodes its tags again, and reads them as fields.
pub fn pppoe_discovery(bytes: &[u8]) {
    let Ok(packet) = pppoe::Packet::new_checked(bytes) else {
        return;
    };
    let tags: Vec<_> = packet.tags().collect();
    let is_whole = tags.iter().all(Result::is_ok);
    let fields = pppoe::Discovery::parse(&packet);
    assert_eq!(fields.is_ok(), is_whole);
    let built = pppoe::Builder::new(packet.code, packet.session);
    let tags = tags.into_iter().flatten();
    let built = tags.fold(built, |built, tag| built.tag(tag.kind, tag.value));
    let built = built.finish();
    let again = pppoe::Packet::new_checked(&built).expect("it was written here");
    assert!(packet.payload.starts_with(again.payload));
    if let Ok(fields) = fields {
        assert_eq!(pppoe::Discovery::parse(&again), Ok(fields));
    }
}

/// Parses a RADIUS packet, encodes its attributes again, and reads the authorization of a session.
pub fn radius(bytes: &[u8]) {
    let Ok(packet) = radius_packet::Packet::new_checked(bytes) else {
        return;
    };
    let head = (packet.code(), packet.id(), packet.authenticator());
    let mut built = radius_packet::Builder::new(head.0, head.1, head.2);
    for attribute in packet.attributes() {
        let end = attribute.at + attribute.value.len();
        assert_eq!(packet.bytes().get(attribute.at..end), Some(attribute.value));
        assert!(packet.get(attribute.kind).is_some());
        built = built.with(attribute.kind, attribute.value);
    }
    let group = packet.of_vendor(
        radius_packet::vendor::MIKROTIK,
        radius_packet::vendor::MIKROTIK_GROUP,
    );
    assert!(group.is_none_or(|group| group.len() < radius_packet::VALUE));
    assert_eq!(built.finish().as_deref(), Some(packet.bytes()));
    let authorization = Authorization::read(&packet);
    let ipv6 = authorization.ipv6;
    for prefix in ipv6.prefixes.iter().chain(&ipv6.delegated_prefixes) {
        assert_eq!(Prefix6::read(&prefix.to_bytes()), Some(*prefix));
    }
    let is_host = |address: Ipv4Addr| !address.is_loopback() && !address.is_multicast();
    assert!(authorization.ipv4.address.is_none_or(is_host));
    if let Some(limit) = authorization.rate_limit {
        _ = schema::RateLimit::parse(&limit);
    }
}

/// Parses a VXLAN header and the inner frame.
pub fn vxlan(bytes: &[u8]) {
    let Some(vni) = vxlan_header::vni(bytes) else {
        return;
    };
    assert!(vni <= vxlan_header::VNI_MAX);
    assert_eq!(vxlan_header::vni(&vxlan_header::to_bytes(vni)), Some(vni));
    if let Some(inner) = bytes.get(vxlan_header::HEADER_LEN..) {
        frame(inner);
    }
}

/// Parses a CDP message.
pub fn cdp(bytes: &[u8]) {
    if let Ok(message) = cisco::Repr::parse(bytes) {
        let [mut once, mut twice] = [Vec::new(), Vec::new()];
        message.emit(&mut once);
        let again = cisco::Repr::parse(&once).expect("it was written here");
        again.emit(&mut twice);
        assert_eq!(once, twice);
    }
}

/// Parses an LLDP message. Long names are truncated, and an end TLV has no contents.
pub fn lldp(bytes: &[u8]) {
    if let Ok(message) = beacon::Repr::parse(bytes) {
        let [mut once, mut twice] = [Vec::new(), Vec::new()];
        message.emit(&mut once);
        let again = beacon::Repr::parse(&once).expect("it was written here");
        again.emit(&mut twice);
        assert_eq!(once, twice);
    }
}

/// Parses an MNDP message.
pub fn mndp(bytes: &[u8]) {
    if let Ok(Some(message)) = routeros::Repr::parse(bytes) {
        let mut written = Vec::new();
        message.emit(&mut written);
        match routeros::Repr::parse(&written) {
            Ok(Some(again)) => assert_eq!(again, message),
            // A message without known fields and with counter zero is a request.
            Ok(None) => assert_eq!(written, routeros::Repr::REQUEST),
            Err(flaw) => panic!("{flaw:?}"),
        }
    }
}

/// Parses a PDU of the slow protocols.
pub fn lacp(bytes: &[u8]) {
    if let Ok(pdu) = lacp::Pdu::parse(bytes) {
        assert_eq!(lacp::Pdu::parse(&pdu.to_bytes()), Ok(pdu));
    }
}

/// Parses an NTP packet.
pub fn ntp(bytes: &[u8]) {
    if let Ok(packet) = ntp_packet::Packet::parse(bytes) {
        assert_eq!(Some(&packet.repr.to_bytes()), bytes.first_chunk());
        assert!(packet.signed.len() >= ntp_packet::HEADER_LEN);
    }
}

/// Parses an ARP packet.
pub fn arp(bytes: &[u8]) {
    let Ok(repr) = arp::Repr::parse(bytes) else {
        return;
    };
    assert_eq!(Some(&repr.to_bytes()), bytes.first_chunk());
}

/// Parses an IPv4 packet and its payload.
pub fn ipv4(bytes: &[u8]) {
    let _ = ipv4::Packet::new_quoted(bytes);
    let Ok(packet) = ipv4::Packet::new_checked(bytes) else {
        assert!(ipv4::Packet::new_verified(bytes).is_err());
        return;
    };
    assert_eq!(
        packet.verify_checksum(),
        ipv4::Packet::new_verified(bytes).is_ok()
    );
    assert_eq!(
        packet.header_len() + packet.payload().len(),
        usize::from(packet.total_len())
    );
    for option in packet.options_iter().flatten() {
        assert!(usize::from(option.at) + 2 + option.data.len() <= packet.header_len());
    }

    let mut again = Vec::new();
    let repr = ipv4::Repr::parse(&packet);
    repr.emit(packet.options(), packet.payload().len(), &mut again);
    let (written, arrived) = (without_word(&again, 10), without_word(bytes, 10));
    assert!(arrived.0 == written.0 && arrived.1.starts_with(written.1));
    assert!(ipv4::Packet::new_quoted(&again).is_ok_and(|again| again.verify_checksum()));

    if again
        .get(..packet.header_len())
        .is_some_and(|header| header.len() > ipv4::HEADER_LEN)
    {
        let recorded = ipv4::record(&mut again, Ipv4Addr::LOCALHOST, |_| true, 0);
        let intact = ipv4::Packet::new_quoted(&again).is_ok_and(|again| again.verify_checksum());
        assert!(recorded.is_err() || intact);
    }

    if packet.fragment().is_later_piece() {
        return;
    }
    match packet.protocol() {
        Protocol::ICMP => icmp(packet.payload()),
        Protocol::TCP => tcp(packet.payload()),
        Protocol::UDP => udp(packet.payload()),
        _ => {}
    }
}

/// Parses an IPv6 packet, its extension headers and its payload.
pub fn ipv6(bytes: &[u8]) {
    let _ = ipv6::Packet::new_quoted(bytes).map(|packet| packet.upper());
    let Ok(packet) = ipv6::Packet::new_checked(bytes) else {
        return;
    };
    assert_eq!(
        Some(&ipv6::Repr::parse(&packet).to_bytes(packet.payload().len())),
        bytes.first_chunk()
    );
    let mut at = 0;
    for extension in packet.extensions().flatten() {
        assert_eq!(extension.at, at, "the headers lie one behind the other");
        at += extension.bytes.len();
        let _ = extension.routing();
        for option in extension.options().flatten() {
            assert!(option.at + 2 + option.data.len() <= extension.bytes.len());
        }
        if let Some(fragment) = extension.fragment() {
            assert_eq!(ipv6::Fragment::parse(&fragment.to_bytes()), fragment);
        }
    }
    let Ok(upper) = packet.upper() else { return };
    assert_eq!(
        (upper.at, upper.at + upper.payload.len()),
        (at, packet.payload().len())
    );
    if upper.is_later_piece() {
        return;
    }
    match upper.protocol {
        Protocol::ICMPV6 => icmp(upper.payload),
        Protocol::TCP => tcp(upper.payload),
        Protocol::UDP => udp(upper.payload),
        _ => {}
    }
}

/// Parses an ICMP message of either version.
pub fn icmp(bytes: &[u8]) {
    if let Ok(packet) = icmpv4::Packet::new_checked(bytes) {
        let message = packet.message();
        let mut again = Vec::new();
        message.emit(&mut again);
        assert_eq!(again.len(), message.len());
        assert_eq!(
            icmpv4::Packet::new_verified(&again).map(|p| p.message()),
            Ok(message)
        );
        let _ = ipv4::Packet::new_quoted(packet.payload());
    }
    if let Ok(packet) = icmpv6::Packet::new_checked(bytes) {
        let message = packet.message();
        let mut again = Vec::new();
        message.emit(SRC, DST, &mut again);
        assert_eq!(again.len(), message.len());
        let read = icmpv6::Packet::new_verified(&again, SRC, DST).map(|p| p.message());
        assert_eq!(read, Ok(message));
        let _ = ipv6::Packet::new_quoted(packet.payload());
        ndp(bytes);
    }
}

/// Parses a neighbour discovery message as ICMPv6.
pub fn ndp(bytes: &[u8]) {
    let Ok(packet) = icmpv6::Packet::new_checked(bytes) else {
        return;
    };
    let Ok(message) = ndp::Message::parse(&packet) else {
        return;
    };
    let mut again = Vec::new();
    message.emit(SRC, DST, &mut again);
    let read = icmpv6::Packet::new_verified(&again, SRC, DST);
    assert_eq!(
        read.map(|packet| ndp::Message::parse(&packet)),
        Ok(Ok(message))
    );

    for option in message.options().iter() {
        let mut again = Vec::new();
        option.emit(&mut again);
        let read = ndp::Options::new_checked(&again).map(|options| options.iter().next());
        match option {
            // Padding becomes part of options without an inner length.
            NdpOption::Redirected(_) | NdpOption::Dnssl(_) => assert!(matches!(read, Ok(Some(_)))),
            option => assert_eq!(read, Ok(Some(option))),
        }
    }
}

/// Parses a TCP segment.
pub fn tcp(bytes: &[u8]) {
    let Ok(segment) = tcp::Segment::new_checked(bytes) else {
        return;
    };
    for option in segment.options_iter().flatten() {
        assert!(option.at + 2 + option.data.len() <= segment.header_len());
    }
    if let Some((mss, at)) = segment.mss() {
        assert_eq!(bytes.get(at..at + 2), Some(&mss.to_be_bytes()[..]));
    }

    let (options, payload) = (segment.options(), segment.payload());
    let len = tcp::Repr::len(options, payload);
    assert_eq!(len, bytes.len());
    let Ok(len) = u16::try_from(len) else { return };
    let (src, dst) = (Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
    let pseudo = checksum::pseudo_v4(src, dst, Protocol::TCP, len);
    let mut again = Vec::new();
    let repr = tcp::Repr::parse(&segment);
    repr.emit(options, payload, pseudo, &mut again);
    let Ok(read) = tcp::Segment::new_checked(&again) else {
        panic!("wrote no segment")
    };
    assert_eq!(tcp::Repr::parse(&read), repr);
    assert_eq!((read.options(), read.payload()), (options, payload));
    assert_eq!(read.verify_v4(src, dst), Ok(()));
}

/// Parses a DNS answer to its own question.
pub fn dns(bytes: &[u8]) {
    let mut again = [0; dns::MESSAGE_LEN_MAX];
    for kind in [dns::Kind::A, dns::Kind::Aaaa] {
        let Some(name) = dns::Name::new("www.example.org") else {
            panic!("a name")
        };
        let id = bytes.first_chunk().map_or(0, |id| u16::from_be_bytes(*id));
        let question = dns::Question { id, name, kind };
        let sent = question.emit(&mut again);
        assert!(question.answer(sent).is_err(), "a question is no answer");
        let Ok(answer) = question.answer(bytes) else {
            continue;
        };
        assert!(answer.addresses.count() <= bytes.len());
    }
}

/// Parses a UDP datagram.
pub fn udp(bytes: &[u8]) {
    let Ok(datagram) = udp::Datagram::new_checked(bytes) else {
        return;
    };
    let repr = udp::Repr::parse(&datagram);
    let mut again = Vec::from(repr.to_bytes_v6(datagram.payload(), SRC, DST));
    again.extend_from_slice(datagram.payload());
    let Ok(read) = udp::Datagram::new_checked(&again) else {
        panic!("wrote no datagram")
    };
    assert_eq!(udp::Repr::parse(&read), repr);
    assert_eq!(read.payload(), datagram.payload());
    assert_eq!(read.verify_v6(SRC, DST), Ok(()));
}

/// Parses a VRRP advertisement, of either family.
pub fn vrrp(bytes: &[u8]) {
    for (ipv6, pseudo) in [
        (false, None),
        (
            false,
            Some((Ipv4Addr::LOCALHOST.into(), vrrp::GROUP4.into())),
        ),
        (true, Some((SRC.into(), vrrp::GROUP6.into()))),
    ] {
        let Ok(packet) = vrrp::Packet::new_checked(bytes, ipv6) else {
            continue;
        };
        let _ = packet.is_intact(pseudo);
        let repr = vrrp::Repr::parse(&packet);
        let again = repr.to_bytes(pseudo);
        let Ok(read) = vrrp::Packet::new_checked(&again, ipv6) else {
            panic!("wrote no advertisement")
        };
        assert_eq!(vrrp::Repr::parse(&read), repr);
        assert!(read.is_intact(pseudo));
    }
}

/// Mutates bytes in one to four positions, like a fuzzer without coverage; `below` returns a random number
/// below its argument. The result has at most 2,048 bytes.
pub fn mutate(bytes: &mut Vec<u8>, mut below: impl FnMut(usize) -> usize) {
    for _ in 0..=below(3) {
        let at = below(bytes.len() + 1);
        let odd = match below(6) {
            0 => 0,
            1 => 1,
            2 => 0x7f,
            3 => 0x80,
            4 => 0xff,
            _ => below(256) as u8,
        };
        match below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, odd),
            2 if at < bytes.len() => drop(bytes.remove(at)),
            3 => bytes.extend_from_within(at..),
            _ => bytes.get_mut(at).into_iter().for_each(|byte| *byte = odd),
        }
        bytes.truncate(2_048);
    }
}

/// Returns the bytes before and after the two bytes at `at`.
fn without_word(bytes: &[u8], at: usize) -> (&[u8], &[u8]) {
    (
        bytes.get(..at).unwrap_or_default(),
        bytes.get(at + 2..).unwrap_or_default(),
    )
}

/// Maximum number of tags that the frame parser follows.
const TAGS_MAX: usize = 2;
const SRC: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const DST: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
