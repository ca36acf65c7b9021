//! `/ip/service`: management services.

pub(crate) mod webserver;

use menu::{Builtin, ExportSelector, Family, Flag, Item, Kind, Menu, MenuShape, Property};

use crate::declare::{between, counter, no, optional, property, shown, with_default};

const CERTIFICATE: Kind = Kind::Or(&["none"], &Kind::Reference("certificate"));

const SERVICE: &[Property] = &[
    shown("container", Kind::Text, "Container of the service"),
    counter("netns", "The network namespace of the service"),
    shown("name", Kind::Name, "Name of the service"),
    property("port", between(1, 65_535), "The port of the service"),
    shown(
        "proto",
        Kind::Words(&["tcp", "udp"]),
        "The protocol of the service",
    ),
    with_default(
        "address",
        Kind::List(&Kind::Prefix(Family::Any)),
        "",
        "Networks with access to the service; all if empty",
    ),
    optional(
        "certificate",
        CERTIFICATE,
        "Certificate of the service; the router's own if none is set",
    ),
    optional(
        "tls-version",
        Kind::Words(&["any", "only-1.2"]),
        "Accepted TLS versions",
    ),
    with_default(
        "vrf",
        Kind::Reference("routing-table"),
        "main",
        "The VRF of the service",
    )
    .inert(),
    with_default(
        "max-sessions",
        between(1, 1_000),
        "20",
        "Maximum number of concurrent sessions",
    ),
    shown("local", Kind::Text, "Local endpoint of the connection"),
    shown("remote", Kind::Text, "Remote endpoint of the connection"),
];

/// A service and its port; the protocol is TCP.
const fn service(values: &'static [(&'static str, &'static str)]) -> Builtin {
    Builtin { values }
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        SERVICE,
        &[no("disabled", "Defines whether item is ignored or used")],
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 0),
        Flag::new('I', "invalid", 0),
        Flag::new('c', "connection", 1),
    ],
    columns: &[
        "name",
        "port",
        "proto",
        "address",
        "certificate",
        "vrf",
        "max-sessions",
    ],
    key: Some("name"),
    pick: ExportSelector::Name,
    builtin: &[
        service(&[("name", "ftp"), ("port", "21"), ("proto", "tcp")]),
        service(&[("name", "ssh"), ("port", "22"), ("proto", "tcp")]),
        service(&[("name", "telnet"), ("port", "23"), ("proto", "tcp")]),
        service(&[("name", "www"), ("port", "80"), ("proto", "tcp")]),
        service(&[
            ("name", "www-ssl"),
            ("port", "443"),
            ("proto", "tcp"),
            ("certificate", "none"),
            ("tls-version", "any"),
            ("disabled", "yes"),
        ]),
        service(&[
            ("name", "reverse-proxy"),
            ("port", "443"),
            ("proto", "tcp"),
            ("certificate", "none"),
            ("tls-version", "any"),
            ("disabled", "yes"),
        ]),
        service(&[("name", "winbox"), ("port", "8291"), ("proto", "tcp")]),
        service(&[("name", "api"), ("port", "8728"), ("proto", "tcp")]),
        service(&[
            ("name", "api-ssl"),
            ("port", "8729"),
            ("proto", "tcp"),
            ("certificate", "none"),
            ("tls-version", "any"),
        ]),
    ],
    idle: Some(missing),
    ..Menu::new("/ip/service", MenuShape::Fixed, "IP services")
};

/// Returns a RouterOS service that is not implemented. A disabled service needs no implementation.
fn missing(item: &Item) -> Option<&'static str> {
    const MISSING: [&str; 4] = ["ftp", "reverse-proxy", "telnet", "winbox"];
    let name = item.text("name");
    let missing = MISSING.into_iter().find(|missing| *missing == name);
    missing.filter(|_| !item.is("disabled"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_enabled_service_without_implementation_is_marked() {
        let mut store = crate::store();
        let marked = |store: &menu::Store, name: &str| {
            let mut items = store.items(super::MENU.path);
            let item = items.find(|item| item.text("name") == name);
            let lack = item.and_then(|item| store.no_effect_reason(item));
            lack.map(|lack| lack.to_string())
        };

        assert_eq!(marked(&store, "telnet").as_deref(), Some("telnet"));
        assert_eq!(marked(&store, "reverse-proxy"), None);
        assert_eq!(marked(&store, "api"), None);
        let telnet = store.items(super::MENU.path);
        let mut telnet = telnet.filter(|item| item.text("name") == "telnet");
        let id = telnet.next().map(|item| item.id).expect("it is built in");
        drop(telnet);
        let closed = [("disabled", Some(menu::Value::Bool(true)))];
        let mark = store.begin();
        store
            .set(&super::MENU, id, &closed)
            .expect("it can be closed");
        store.commit(mark).expect("nothing is journaled");
        assert_eq!(marked(&store, "telnet"), None);
    }
}
