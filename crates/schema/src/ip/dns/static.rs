//! `/ip/dns/static`: static DNS records.

use menu::{Draft, Family, Flag, Kind, Menu, MenuShape, Property, Unique, Value};

use crate::declare::{PORT, no, optional, with_default};
use crate::fragment::COMMENT_DISABLED;

const NAME: &[Property] = &[
    optional("name", Kind::Name, "The name"),
    optional("regexp", Kind::Filled, "Regular expression for names"),
    optional(
        "type",
        Kind::Words(&[
            "A", "NS", "CNAME", "MX", "TXT", "AAAA", "SRV", "FWD", "NXDOMAIN",
        ]),
        "Type of the record",
    ),
    optional(
        "forward-to",
        Kind::Name,
        "DNS server or forwarder for the queries",
    ),
    optional(
        "address",
        Kind::Address(Family::Any),
        "Address of an A or AAAA record",
    ),
];

const RECORDS: &[Property] = &[
    optional("mx-preference", PORT, "Preference of the mail server"),
    optional("mx-exchange", Kind::Name, "Name of the mail server"),
    optional("cname", Kind::Name, "Target name of a CNAME record"),
    optional("text", Kind::Filled, "Text of a TXT record"),
    optional("ns", Kind::Name, "Name server of an NS record"),
    optional("srv-priority", PORT, "Priority of the service"),
    optional("srv-weight", PORT, "Weight of the service"),
    optional("srv-port", PORT, "Port of the service"),
    optional("srv-target", Kind::Name, "Host of the service"),
    with_default("ttl", Kind::SPAN, "1d", "Time to live of the answer"),
    no("match-subdomain", "Apply the entry to subdomains too"),
    optional(
        "address-list",
        Kind::Name,
        "Address list for resolved addresses",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[NAME, RECORDS, COMMENT_DISABLED],
    flags: &[Flag::new('D', "dynamic", 0), Flag::new('X', "disabled", 0)],
    // Columns that are empty in all rows are left out.
    columns: &[
        "name",
        "regexp",
        "type",
        "forward-to",
        "address",
        "mx-preference",
        "mx-exchange",
        "cname",
        "text",
        "ns",
        "srv-priority",
        "srv-weight",
        "srv-port",
        "srv-target",
        "ttl",
    ],
    distinct: &[Unique {
        properties: &[
            "type",
            "name",
            "regexp",
            "address",
            "cname",
            "forward-to",
            "mx-exchange",
            "mx-preference",
            "ns",
            "srv-target",
            "srv-port",
            "srv-priority",
            "srv-weight",
            "text",
        ],
        failure: "entry already exists",
    }],
    derive: Some(complete),
    ..Menu::new("/ip/dns/static", MenuShape::Ordered, "Static DNS entries")
};

/// Derives the record type from the given properties.
fn complete(draft: &mut Draft<'_>) {
    if draft.get("type").is_some() {
        return;
    }
    let others = [
        ("cname", "CNAME"),
        ("forward-to", "FWD"),
        ("mx-exchange", "MX"),
        ("ns", "NS"),
        ("srv-target", "SRV"),
        ("text", "TXT"),
    ];
    let other = others
        .into_iter()
        .find(|(name, _)| draft.get(name).is_some());
    let address = draft.get("address").and_then(Value::as_address);
    let kind = match (other, address) {
        (Some((_, kind)), None) => kind,
        (_, Some(address)) if address.is_ipv6() => "AAAA",
        _ => "A",
    };
    draft.set("type", Some(Value::Word(kind)));
}
