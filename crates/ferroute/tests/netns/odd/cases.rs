//! The unusual packets, with their expected outcomes.

use super::packet::{ICMP6, V4, V6, echo, mark};

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// No packet leaves the router.
    Silent,
    /// The packet reaches the server.
    Forwarded,
    /// The sender gets an ICMP message of this type and code.
    Answered(u8, u8),
    /// The packet reaches the server, and the sender gets an ICMP message of this type and code.
    Both(u8, u8),
}

use Outcome::{Answered, Both, Forwarded, Silent};

/// One kind of unusual packet.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) kernel: Outcome,
    /// Outcome in ferroute if it differs from the kernel's, with the reason why it is correct.
    pub(super) ferroute: Option<(Outcome, &'static str)>,
}

impl Case {
    /// Returns the case with a different outcome in ferroute, and the reason.
    fn but(self, fate: Outcome, why: &'static str) -> Self {
        Self {
            ferroute: Some((fate, why)),
            ..self
        }
    }
}

/// Returns all cases.
pub(super) fn all() -> Vec<Case> {
    [
        headers4(),
        options4(),
        addresses4(),
        fragments4(),
        headers6(),
        hop_by_hop(),
        addresses6(),
    ]
    .concat()
}

fn v4(name: &'static str, kernel: Outcome, spoil: impl Fn(&mut V4)) -> Case {
    let mut packet = V4::new(name);
    spoil(&mut packet);
    Case {
        name,
        frames: vec![packet.frame()],
        kernel,
        ferroute: None,
    }
}

fn v6(name: &'static str, kernel: Outcome, spoil: impl Fn(&mut V6)) -> Case {
    let mut packet = V6::new(name);
    spoil(&mut packet);
    Case {
        name,
        frames: vec![packet.frame()],
        kernel,
        ferroute: None,
    }
}

fn headers4() -> Vec<Case> {
    vec![
        v4("nothing odd", Forwarded, |_| {}),
        v4("trailer", Forwarded, |ip| ip.trailer = true),
        v4("checksum wrong", Silent, |ip| ip.checksum = Some(0x1234)),
        v4("checksum zero", Silent, |ip| ip.checksum = Some(0)),
        v4("version 5", Silent, |ip| ip.version = 5),
        v4("header of 4 words", Silent, |ip| ip.header_words = Some(4)),
        v4("header longer than the packet", Silent, |ip| {
            ip.header_words = Some(15)
        }),
        v4("total length beyond the frame", Silent, |ip| {
            ip.total = Some(900)
        }),
        v4("total length within the header", Silent, |ip| {
            ip.total = Some(19)
        }),
        v4("ttl 1", Answered(11, 0), |ip| ip.ttl = 1),
        v4("ttl 0", Answered(11, 0), |ip| ip.ttl = 0),
        v4("ttl 2", Forwarded, |ip| ip.ttl = 2),
        v4("link broadcast", Silent, |ip| ip.to = [0xff; 6]),
        v4("link group", Silent, |ip| ip.to = [1, 0, 0x5e, 0, 0, 9]),
        v4("another station's", Silent, |ip| ip.to = [2, 0, 0, 0, 9, 9]),
    ]
}

fn options4() -> Vec<Case> {
    let server = [203, 0, 113, 1];
    vec![
        v4("no operation", Forwarded, |ip| {
            ip.options = vec![1, 1, 1, 0]
        }),
        v4("record route", Forwarded, |ip| {
            ip.options = vec![7, 7, 4, 0, 0, 0, 0, 0]
        }),
        v4("timestamp", Forwarded, |ip| {
            ip.options = vec![68, 8, 5, 0, 0, 0, 0, 0]
        }),
        v4("router alert", Forwarded, |ip| {
            ip.options = vec![148, 4, 0, 0]
        }),
        v4("unknown option", Forwarded, |ip| {
            ip.options = vec![30, 4, 0, 0]
        }),
        v4("option of length 1", Answered(12, 0), |ip| {
            ip.options = vec![7, 1, 0, 0]
        }),
        v4("option beyond the header", Answered(12, 0), |ip| {
            ip.options = vec![7, 40, 4, 0]
        }),
        v4("loose source route", Silent, |ip| {
            ip.options = [&[131, 7, 4][..], &server, &[0]].concat();
            ip.destination = [192, 168, 88, 1];
        }),
        v4("strict source route", Silent, |ip| {
            ip.options = [&[137, 7, 4][..], &server, &[0]].concat();
            ip.destination = [192, 168, 88, 1];
        }),
    ]
}

fn addresses4() -> Vec<Case> {
    let from = |name, fate, source| v4(name, fate, move |ip: &mut V4| ip.source = source);
    let to = |name, fate, to| v4(name, fate, move |ip: &mut V4| ip.destination = to);
    vec![
        from("from loopback", Silent, [127, 0, 0, 1]),
        from("from this network", Forwarded, [0, 1, 2, 3]).but(
            Silent,
            "No station has an address of network 0 (RFC 1812, 5.3.7).",
        ),
        from("from nobody", Silent, [0, 0, 0, 0]),
        from("from a group", Silent, [224, 0, 0, 1]),
        from("from broadcast", Silent, [255, 255, 255, 255]),
        from("from class E", Forwarded, [240, 0, 0, 1]).but(
            Silent,
            "No station has an address of class E (RFC 1812, 5.3.7).",
        ),
        from("from our own LAN address", Silent, [192, 168, 88, 1]),
        from("from our own other address", Silent, [203, 0, 113, 2]),
        from("from the LAN's broadcast", Forwarded, [192, 168, 88, 255]),
        from("from another network", Forwarded, [10, 9, 8, 7]),
        to("to loopback", Silent, [127, 0, 0, 1]),
        to("to this network", Forwarded, [0, 1, 2, 3]).but(
            Silent,
            "Network 0 is this network, wherever it is said (RFC 1122, 3.2.1.3).",
        ),
        to("to a group of the link", Silent, [224, 0, 0, 9]),
        to("to a group", Silent, [239, 1, 2, 3]),
        to("to broadcast", Silent, [255, 255, 255, 255]),
        to("to class E", Forwarded, [240, 0, 0, 1]).but(
            Silent,
            "A packet to class E is not to be forwarded (RFC 1812, 5.3.7).",
        ),
        to("to the other link's broadcast", Silent, [203, 0, 113, 255]),
        to("to the LAN's broadcast", Silent, [192, 168, 88, 255]),
    ]
}

fn fragments4() -> Vec<Case> {
    const MORE: u16 = 0x2000;
    let pieces = |name: &'static str, second_at: usize, ours: bool| {
        let mut data = mark(name);
        data.resize(48, b'.');
        let whole = echo(if ours { 8 } else { 0 }, &data);
        let mut packet = V4::new(name);
        if ours {
            packet.destination = [192, 168, 88, 1];
        }
        let mut first = packet.clone();
        first.fragment = MORE;
        first.payload = whole[..32].to_vec();
        let mut second = packet;
        second.fragment = second_at as u16 / 8;
        second.payload = whole[second_at..].to_vec();
        Case {
            name,
            frames: vec![first.frame(), second.frame()],
            kernel: Forwarded,
            ferroute: None,
        }
    };
    vec![
        Case {
            kernel: Answered(0, 0),
            ..pieces("fragments for us", 32, true)
        },
        Case {
            kernel: Silent,
            ..pieces("fragments for us that overlap", 24, true)
        },
        pieces("fragments", 32, false),
        pieces("fragments that overlap", 24, false),
        v4("fragment beyond 64 KB", Forwarded, |ip| {
            ip.fragment = 0x1fff
        }),
    ]
}

fn headers6() -> Vec<Case> {
    vec![
        v6("6: nothing odd", Forwarded, |_| {}),
        v6("6: trailer", Forwarded, |ip| ip.trailer = true),
        v6("6: version 5", Silent, |ip| ip.version = 5),
        v6("6: length beyond the frame", Silent, |ip| {
            ip.length = Some(900)
        }),
        v6("6: hop limit 1", Answered(3, 0), |ip| ip.hop_limit = 1),
        v6("6: hop limit 0", Answered(3, 0), |ip| ip.hop_limit = 0),
        // The server, not the router, sends the error.
        v6(
            "6: destination option to be told",
            Both(4, 2),
            options(60, &[0x9e, 4, 0, 0, 0, 0]),
        ),
        v6("6: routing header in transit", Forwarded, |ip| {
            ip.extensions = Some((43, vec![ICMP6, 0, 4, 1, 0, 0, 0, 0]));
        }),
    ]
}

/// Prepends an extension header with these options.
fn options(first: u8, options: &[u8]) -> impl Fn(&mut V6) {
    let header = [&[ICMP6, (options.len() / 8) as u8][..], options].concat();
    move |ip: &mut V6| ip.extensions = Some((first, header.clone()))
}

/// Cases of the hop-by-hop header, which every router processes (RFC 8200, 4.3).
fn hop_by_hop() -> Vec<Case> {
    const ROUTER: [u16; 8] = [0x2001, 0xdb8, 0x88, 0, 0, 0, 0, 1];
    const GROUP: [u16; 8] = [0xff02, 0, 0, 0, 0, 0, 0, 1];
    let with = |name, fate, of: &[u8]| v6(name, fate, options(0, of));
    let to = |name, destination, fate, of: &[u8]| {
        v6(name, fate, |ip| {
            options(0, of)(ip);
            ip.destination = destination;
        })
    };
    let skipped = |count: usize| {
        let mut options = [0x1e, 0].repeat(count);
        options[2 * count - 1] = 22 - 2 * count as u8;
        options.resize(22, 0);
        options
    };
    let long = [&[1, 6, 0, 0, 0, 0, 0, 0][..], &[0x1e, 4, 0, 0, 0, 0]].concat();
    let jumbo = |name, kernel, length: [u8; 4]| {
        with(name, kernel, &[&[0xc2, 4][..], &length].concat()).but(Answered(4, 2), JUMBO)
    };
    vec![
        with("6: hop-by-hop padding", Forwarded, &[1, 4, 0, 0, 0, 0]),
        with("6: hop-by-hop padding, bytes", Forwarded, &[0; 6]),
        with("6: hop-by-hop padding, spoken", Silent, &[1, 4, 0, 0, 0, 1]),
        with("6: hop-by-hop padding, long", Silent, &long),
        with("6: hop-by-hop router alert", Forwarded, &[5, 2, 0, 0, 1, 0]),
        with("6: hop-by-hop router alert, short", Silent, &[5, 1, 0, 1, 1, 0]),
        with("6: hop-by-hop to be skipped", Forwarded, &[0x1e, 4, 0, 0, 0, 0]),
        with("6: hop-by-hop to be discarded", Silent, &[0x5e, 4, 0, 0, 0, 0]),
        with("6: hop-by-hop to be told", Answered(4, 2), &[0x9e, 4, 0, 0, 0, 0]),
        with("6: hop-by-hop to be told one", Answered(4, 2), &[0xde, 4, 0, 0, 0, 0]),
        with("6: hop-by-hop beyond its header", Silent, &[0x1e, 5, 0, 0, 0, 0]),
        with("6: hop-by-hop of eight", Forwarded, &skipped(8)),
        with("6: hop-by-hop of nine", Silent, &skipped(9)),
        v6("6: hop-by-hop beyond the packet", Silent, |ip| {
            ip.extensions = Some((0, vec![ICMP6, 200, 1, 4, 0, 0, 0, 0]));
        }),
        v6("6: hop-by-hop without a length", Forwarded, |ip| {
            options(0, &[1, 4, 0, 0, 0, 0])(ip);
            ip.length = Some(0);
        })
        .but(
            Silent,
            "A packet without a payload has no options either, and one with the option of jumbograms \
             would be longer than any frame (RFC 2675, 3).",
        ),
        jumbo("6: hop-by-hop jumbo, short", Answered(4, 0), [0, 0, 1, 0]),
        jumbo("6: hop-by-hop jumbo, two lengths", Answered(4, 0), [0, 1, 0, 0]),
        to("6: to us, hop-by-hop to be discarded", ROUTER, Silent, &[0x5e, 4, 0, 0, 0, 0]),
        to("6: to us, hop-by-hop to be told", ROUTER, Answered(4, 2), &[0x9e, 4, 0, 0, 0, 0]),
        to("6: to all, hop-by-hop to be told", GROUP, Answered(4, 2), &[0x9e, 4, 0, 0, 0, 0]),
        to("6: to all, hop-by-hop to be told one", GROUP, Silent, &[0xde, 4, 0, 0, 0, 0]),
    ]
}

const JUMBO: &str = "Who has no link that takes jumbograms need not know their option (RFC 2675, 1), and \
     it asks who does not to say so.";

fn addresses6() -> Vec<Case> {
    let from = |name, fate, source| v6(name, fate, move |ip: &mut V6| ip.source = source);
    let to = |name, fate, to| v6(name, fate, move |ip: &mut V6| ip.destination = to);
    vec![
        from("6: from loopback", Silent, [0, 0, 0, 0, 0, 0, 0, 1]),
        from("6: from nobody", Silent, [0; 8]),
        from("6: from a group", Silent, [0xff02, 0, 0, 0, 0, 0, 0, 1]),
        from(
            "6: from the link",
            Answered(1, 2),
            [0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 0x202],
        ),
        from(
            "6: from our own address",
            Forwarded,
            [0x2001, 0xdb8, 0x88, 0, 0, 0, 0, 1],
        )
        .but(
            Silent,
            "Nobody else has this router's address: it is forged, or it came in a circle. For IPv4 \
             the kernel discards it as well.",
        ),
        from(
            "6: from another network",
            Forwarded,
            [0x2001, 0xdb8, 9, 0, 0, 0, 0, 1],
        ),
        to("6: to loopback", Silent, [0, 0, 0, 0, 0, 0, 0, 1]),
        to("6: to nobody", Forwarded, [0; 8]).but(
            Silent,
            "The unspecified address is no destination (RFC 4291, 2.5.2).",
        ),
        to(
            "6: to a group of the link",
            Silent,
            [0xff02, 0, 0, 0, 0, 0, 0, 0x99],
        ),
        to("6: to a group", Silent, [0xff0e, 0, 0, 0, 0, 0, 0, 0x99]),
        to("6: to the link", Silent, [0xfe80, 0, 0, 0, 0, 0, 0, 0x99]),
        to(
            "6: to an IPv4 address",
            Forwarded,
            [0, 0, 0, 0, 0, 0xffff, 0xcb00, 0x7101],
        ),
    ]
}
