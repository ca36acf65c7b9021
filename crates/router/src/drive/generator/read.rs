//! Templates and streams of the traffic generator, read from the configuration and from arguments of a command.

use core::net::IpAddr;
use std::sync::Arc;

use generator::{
    FIELDS, Field, Fill, Layer, Layout, MAX_FRAME_BYTES, MIN_FRAME_BYTES, Rate, Stack, Stream,
    Template, Values,
};
use menu::{Item, Reason, Store, Value};

/// Seed of `data=random`: the bytes are the same in each test.
const DATA_SEED: u64 = 0x7e57;
/// Bits of `tcp-flags`.
const TCP_FLAGS: [(&str, u128); 12] = [
    ("fin", 1),
    ("syn", 2),
    ("rst", 4),
    ("psh", 8),
    ("ack", 16),
    ("urg", 32),
    ("ece", 64),
    ("cwr", 128),
    ("ns", 256),
    ("res0", 512),
    ("res1", 1_024),
    ("res2", 2_048),
];
/// Numbers of the protocol words in the template's menus.
const PROTOCOLS: [(&str, u128); 24] = [
    ("icmp", 1),
    ("igmp", 2),
    ("ipip", 4),
    ("tcp", 6),
    ("udp", 17),
    ("gre", 47),
    ("ipsec-esp", 50),
    ("ipsec-ah", 51),
    ("icmpv6", 58),
    ("ospf", 89),
    ("pim", 103),
    ("vrrp", 112),
    ("l2tp", 115),
    ("sctp", 132),
    ("ip", 0x0800),
    ("arp", 0x0806),
    ("rarp", 0x8035),
    ("vlan", 0x8100),
    ("ipx", 0x8137),
    ("ipv6", 0x86dd),
    ("mpls-unicast", 0x8847),
    ("mpls-multicast", 0x8848),
    ("pppoe", 0x8864),
    ("service-vlan", 0x88a8),
];

/// What the running router adds to templates.
pub(super) trait Links {
    /// MAC address of an Ethernet-like interface.
    fn mac(&self, interface: &str) -> Option<[u8; 6]>;

    /// MAC address of a neighbour, if it is known.
    fn neighbour(&self, interface: &str, address: IpAddr) -> Option<[u8; 6]>;
}

/// A stream with the name of its egress interface, and the worker that sends it.
#[derive(Debug)]
pub(super) struct StreamPlan {
    pub(super) stream: Stream,
    pub(super) interface: String,
    pub(super) worker: u16,
}

/// Arguments of `start` and `quick`.
pub(super) type Arguments<'a> = &'a [(&'static str, Value)];

fn argument<'a>(arguments: Arguments<'a>, name: &str) -> Option<&'a Value> {
    let mut all = arguments.iter();
    all.find_map(|(own, value)| (*own == name).then_some(value))
}

/// Value of a list argument for the stream at a position; the last value counts for all further streams.
fn of_position<'a>(arguments: Arguments<'a>, name: &str, at: usize) -> Option<&'a Value> {
    let value = argument(arguments, name)?;
    match value.as_list() {
        [] => Some(value),
        list => list.get(at).or_else(|| list.last()),
    }
}

/// Parameters of a stream before its template is built.
struct Parameters<'a> {
    id: u8,
    template: &'a str,
    port: Option<&'a str>,
    size: Option<&'a Value>,
    pps: u64,
    mbps: u64,
    count: u64,
    core: Option<&'a Value>,
}

/// Reads the streams to send.
///
/// # Errors
/// Returns what is missing or invalid, by the name of the stream or template.
pub(super) fn streams(
    store: &Store,
    arguments: Arguments<'_>,
    links: &dyn Links,
) -> Result<Vec<StreamPlan>, Reason> {
    let parameters = parameters(store, arguments)?;
    if parameters.is_empty() {
        return Err(Reason::failure(
            "no stream: add one in /tool/traffic-generator/stream, or give tx-template",
        ));
    }
    let mut all = Vec::new();
    for (at, own) in parameters.iter().enumerate() {
        if parameters[..at].iter().any(|other| other.id == own.id) {
            return Err(failure(
                own.template,
                format!("id {} is used by two streams", own.id),
            ));
        }
        let interface = of_position(arguments, "interface", at).and_then(Value::as_str);
        let port = of_position(arguments, "port", at).and_then(Value::as_str);
        all.push(plan(store, own, interface, port.or(own.port), links)?);
    }
    Ok(all)
}

/// Streams of the configuration or of arguments, with the overriding arguments.
fn parameters<'a>(
    store: &'a Store,
    arguments: Arguments<'a>,
) -> Result<Vec<Parameters<'a>>, Reason> {
    let named = argument(arguments, "stream").map(names);
    let configured = |item: &&Arc<Item>| match &named {
        Some(names) => item.name().is_some_and(|name| names.contains(&name)),
        None => !item.is("disabled"),
    };
    let own = |name: &str, at: usize| {
        let value = of_position(arguments, name, at).and_then(Value::as_number);
        value.and_then(|value| u64::try_from(value).ok())
    };
    let from_item = |item: &'a Item, name: &str| {
        item.number(name)
            .and_then(|value| u64::try_from(value).ok())
            .unwrap_or(0)
    };
    let templates = argument(arguments, "tx-template").map(names);
    let bare = templates.as_ref().filter(|_| named.is_none());
    let sources: Vec<(Option<&'a Item>, &'a str)> = match bare {
        Some(templates) => templates.iter().map(|name| (None, *name)).collect(),
        None => {
            let items = store
                .items("/tool/traffic-generator/stream")
                .filter(configured);
            let items = items.enumerate().map(|(at, item)| {
                let given = of_position(arguments, "tx-template", at).and_then(Value::as_str);
                (
                    Some(&**item),
                    given.unwrap_or_else(|| item.text("tx-template")),
                )
            });
            items.collect()
        }
    };
    let read = |(at, (item, template)): (usize, (Option<&'a Item>, &'a str))| {
        let id = own("id", at).or(item.map(|item| from_item(item, "id")));
        let number = |name: &str| own(name, at).or(item.map(|item| from_item(item, name)));
        let value = |name: &str| {
            of_position(arguments, name, at).or_else(|| item.and_then(|item| item.get(name)))
        };
        Ok(Parameters {
            id: u8::try_from(id.unwrap_or(at as u64)).map_err(|_| Reason::no_match("id"))?,
            template,
            port: item
                .map(|item| item.text("port"))
                .filter(|port| !port.is_empty()),
            size: value("packet-size"),
            pps: number("pps").unwrap_or(0),
            mbps: number("mbps").unwrap_or(0),
            count: number("packet-count").unwrap_or(0),
            core: value("cpu-core"),
        })
    };
    sources.into_iter().enumerate().map(read).collect()
}

fn names(value: &Value) -> Vec<&str> {
    match value.as_list() {
        [] => value.as_str().into_iter().collect(),
        list => list.iter().filter_map(Value::as_str).collect(),
    }
}

fn failure(template: &str, text: impl core::fmt::Display) -> Reason {
    Reason::failure(format!("{template}: {text}"))
}

fn plan(
    store: &Store,
    own: &Parameters<'_>,
    interface: Option<&str>,
    port: Option<&str>,
    links: &dyn Links,
) -> Result<StreamPlan, Reason> {
    let item = store.named("packet-template", own.template);
    let item = item.ok_or_else(|| failure(own.template, "there is no such template"))?;
    let port = port.or_else(|| Some(item.text("port")).filter(|port| !port.is_empty()));
    let of_port = |port: &str| {
        let port = store.named("traffic-generator-port", port)?;
        (!port.is("disabled")).then(|| port.text("interface"))
    };
    let set = Some(item.text("interface")).filter(|name| !name.is_empty());
    let interface = interface.or_else(|| port.and_then(of_port)).or(set);
    let interface =
        interface.ok_or_else(|| failure(own.template, "port or interface is missing"))?;
    let mac = links.mac(interface);
    let mac = mac.ok_or_else(|| {
        failure(
            own.template,
            format!("{interface} is no Ethernet interface"),
        )
    })?;
    let template = match item.get("header").is_some() || item.get("header-stack").is_none() {
        true => raw_template(item),
        false => stack_template(item, interface, mac, links),
    }?;
    let (first, last) = own.size.map_or((64, 64), |size| {
        let bounds = ranges(size).first().copied().unwrap_or((64, 64));
        (bounds.0 as usize, bounds.1 as usize)
    });
    let least = template.min_bytes().max(MIN_FRAME_BYTES);
    if first < least || last > MAX_FRAME_BYTES || first > last {
        let text =
            format!("packet-size: {least} to {MAX_FRAME_BYTES} bytes without FCS fit its headers");
        return Err(failure(own.template, text));
    }
    let core = own.core.and_then(|core| ranges(core).first().copied());
    Ok(StreamPlan {
        interface: interface.to_owned(),
        worker: core.map_or(0, |(core, _)| core as u16),
        stream: Stream {
            id: own.id,
            bytes: (first, last),
            rate: Rate {
                pps: own.pps,
                bps: own.mbps.saturating_mul(1_000_000),
            },
            count: (own.count > 0).then_some(own.count),
            template: Arc::new(template),
        },
    })
}

/// Builds a template of `packet-template`.
fn stack_template(
    item: &Item,
    interface: &str,
    mac: [u8; 6],
    links: &dyn Links,
) -> Result<Template, Reason> {
    let name = item.text("name");
    let layers = item.get("header-stack").map(names).unwrap_or_default();
    let mut stack = Stack {
        layers: layers.into_iter().filter_map(Layer::parse).collect(),
        raw: bytes_of(item.get("raw-header")),
        ..Stack::default()
    };
    for spec in FIELDS {
        let Some(value) = item.get(spec.name) else {
            continue;
        };
        if spec.layer == Layer::Mac && has_mask(value) {
            return Err(failure(
                name,
                format!("{}: masks are not supported", spec.name),
            ));
        }
        let values = match spec.name {
            "tcp-flags" => {
                let flags = ranges(value)
                    .into_iter()
                    .fold(0, |all, (flag, _)| all | flag);
                vec![(flags, flags)]
            }
            _ => ranges(value),
        };
        stack.values.push((spec.name, values));
    }
    let mut default = |property: &'static str, mac: [u8; 6]| {
        if stack.layers.contains(&Layer::Mac) && item.get(property).is_none() {
            let mac = number_of(&mac);
            stack.values.push((property, vec![(mac, mac)]));
        }
    };
    default("mac-src", mac);
    if item.get("mac-dst").is_none() {
        let gateway = item.get("ip-gateway").or_else(|| item.get("ipv6-gateway"));
        let gateway = gateway.and_then(Value::as_address);
        let gateway = gateway.ok_or_else(|| failure(name, "mac-dst, or a gateway, is missing"))?;
        let mac = links.neighbour(interface, gateway);
        let missing = || {
            failure(
                name,
                format!("the MAC address of {gateway} is unknown: ping it first"),
            )
        };
        default("mac-dst", mac.ok_or_else(missing)?);
    }
    let (header, layout, fields) = stack.build().map_err(|error| failure(name, error))?;
    finish(item, &header, &layout, fields)
}

/// Builds a template of `raw-packet-template`.
fn raw_template(item: &Item) -> Result<Template, Reason> {
    let offsets = |name: &str| {
        let values = item.get(name).map(ranges).unwrap_or_default();
        values
            .into_iter()
            .map(|(at, _)| at as usize)
            .collect::<Vec<_>>()
    };
    let computes = item.get("udp-compute-checksum");
    let computes = |at: usize| match computes.map(Value::as_list) {
        None => true,
        Some([]) => computes.and_then(Value::as_bool) != Some(false),
        Some(list) => list.get(at).or(list.last()).and_then(Value::as_bool) != Some(false),
    };
    let udp = offsets("udp-header-offset").into_iter().enumerate();
    let layout = Layout {
        ipv4: offsets("ip-header-offset"),
        ipv6: offsets("ipv6-header-offset"),
        udp: udp.map(|(at, offset)| (offset, computes(at))).collect(),
        tcp: offsets("tcp-header-offset"),
    };
    finish(item, &bytes_of(item.get("header")), &layout, Vec::new())
}

/// Adds the properties that both kinds of templates have.
fn finish(
    item: &Item,
    header: &[u8],
    layout: &Layout,
    mut fields: Vec<Field>,
) -> Result<Template, Reason> {
    let name = item.text("name");
    for range in item.get("random-ranges").map(list).unwrap_or_default() {
        fields.push(random_range(range).ok_or_else(|| failure(name, "random-ranges: invalid"))?);
    }
    for mask in item
        .get("random-byte-offsets-and-masks")
        .map(list)
        .unwrap_or_default()
    {
        let wrong = || {
            failure(
                name,
                "random-byte-offsets-and-masks: the bits of a mask must adjoin",
            )
        };
        fields.push(random_byte(mask).ok_or_else(wrong)?);
    }
    let fill = match item.text("data") {
        "random" => Fill::Random(DATA_SEED),
        "incrementing" => Fill::Incrementing,
        "specific-byte" => Fill::Byte(item.number("data-byte").unwrap_or(0) as u8),
        _ => Fill::Byte(0),
    };
    let from = item.number("compute-checksum-from-offset");
    let from = from.and_then(|from| usize::try_from(from).ok());
    let has_footer = item.is("special-footer");
    Template::new(header, layout, fields, fill, has_footer, from)
        .map_err(|error| failure(name, error))
}

fn list(value: &Value) -> Vec<&Value> {
    match value.as_list() {
        [] => vec![value],
        list => list.iter().collect(),
    }
}

/// Field of one value of `random-ranges`: offset, bits, first and last value.
fn random_range(value: &Value) -> Option<Field> {
    let Value::Tuple(_, parts) = value else {
        return None;
    };
    let [offset, bits, range] = &**parts else {
        return None;
    };
    let bits: u32 = bits.to_string().parse().ok()?;
    let (first, last) = ranges(range).first().copied()?;
    (first <= last).then_some(Field {
        offset: usize::try_from(offset.as_number()?).ok()?,
        width: bits as usize / 8,
        shift: 0,
        bits,
        values: Values::Random {
            first: first as u64,
            last: last as u64,
        },
    })
}

/// Field of one value of `random-byte-offsets-and-masks`.
fn random_byte(value: &Value) -> Option<Field> {
    let Value::Tuple(_, parts) = value else {
        return None;
    };
    let [offset, mask] = &**parts else {
        return None;
    };
    let mask = *bytes_of(Some(mask)).first()?;
    let (shift, bits) = (mask.trailing_zeros(), mask.count_ones());
    let adjoin = mask != 0 && u32::from(mask) >> shift == (1 << bits) - 1;
    adjoin.then_some(Field {
        offset: usize::try_from(offset.as_number()?).ok()?,
        width: 1,
        shift,
        bits,
        values: Values::Random {
            first: 0,
            last: (1 << bits) - 1,
        },
    })
}

/// Bytes of a hexadecimal value or of a list of such values.
fn bytes_of(value: Option<&Value>) -> Vec<u8> {
    let texts = value.map(list).unwrap_or_default();
    let texts = texts
        .into_iter()
        .map(|value| value.as_str().unwrap_or_default());
    let digits: String = texts.map(|text| text.trim_start_matches("0x")).collect();
    let pairs = digits.as_bytes().chunks(2);
    let pairs = pairs.filter_map(|pair| core::str::from_utf8(pair).ok());
    pairs
        .filter_map(|pair| u8::from_str_radix(pair, 16).ok())
        .collect()
}

fn number_of(bytes: &[u8]) -> u128 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// Returns true if a MAC address has a mask with zero bits.
fn has_mask(value: &Value) -> bool {
    list(value).into_iter().any(|value| match value {
        Value::Tuple("/", parts) => !matches!(
            &**parts,
            [_] | [_, Value::Mac([255, 255, 255, 255, 255, 255])]
        ),
        _ => false,
    })
}

/// Inclusive ranges of a value.
fn ranges(value: &Value) -> Vec<(u128, u128)> {
    let single = |number: u128| vec![(number, number)];
    match value {
        Value::List(values) => values.iter().flat_map(ranges).collect(),
        Value::Tuple("/", parts) => parts.first().map(ranges).unwrap_or_default(),
        Value::Tuple(_, parts) => {
            let all: Vec<_> = parts.iter().flat_map(ranges).collect();
            let first = all.first().map(|(first, _)| *first);
            let last = all.last().map(|(_, last)| *last);
            first.zip(last).into_iter().collect()
        }
        Value::Address(IpAddr::V4(address)) => single(address.to_bits().into()),
        Value::Address(IpAddr::V6(address)) => single(address.to_bits()),
        Value::Prefix(net) => {
            let bits = |address: IpAddr| match address {
                IpAddr::V4(address) => address.to_bits().into(),
                IpAddr::V6(address) => address.to_bits(),
            };
            let (first, last) = (bits(net.network()), bits(net.broadcast()));
            vec![(first, last)]
        }
        Value::Mac(mac) => single(number_of(mac)),
        Value::Word(word) => {
            let words = TCP_FLAGS.iter().chain(&PROTOCOLS);
            let number = words
                .filter(|(own, _)| own == word)
                .map(|(_, number)| *number);
            number.take(1).map(|number| (number, number)).collect()
        }
        other => {
            let number = other
                .as_number()
                .and_then(|number| u128::try_from(number).ok());
            number.map(single).unwrap_or_default()
        }
    }
}
