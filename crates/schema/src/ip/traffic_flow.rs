//! `/ip/traffic-flow`: NetFlow and IPFIX export (RFC 3954, RFC 7011).

pub(crate) mod ipfix;
pub(crate) mod target;

use menu::{Item, Kind, Menu, MenuShape, Value};

use crate::declare::{INTERFACE, INTERFACE_LIST, U32, idle_command, no, seconds, with_default};

const FLOWS: Kind = Kind::Words(&[
    "1k", "2k", "4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1M", "2M", "4M", "8M",
    "16M", "32M",
]);
const SPAN: Kind = seconds(1, 4_294_967_295);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        no("enabled", "Enable flow export"),
        with_default(
            "interfaces",
            Kind::List(&Kind::Or(
                &["all"],
                &Kind::Either(&INTERFACE, &INTERFACE_LIST),
            )),
            "all",
            "Interfaces whose flows are exported",
        ),
        with_default(
            "cache-entries",
            FLOWS,
            "32k",
            "Maximum number of concurrent flows",
        ),
        with_default(
            "active-flow-timeout",
            SPAN,
            "30m",
            "Export interval of active flows",
        ),
        with_default(
            "inactive-flow-timeout",
            SPAN,
            "15s",
            "Idle timeout of flows",
        ),
        no("packet-sampling", "Enable packet sampling").inert(),
        with_default(
            "sampling-interval",
            U32,
            "0",
            "Number of successive packets that are sampled",
        )
        .inert(),
        with_default(
            "sampling-space",
            U32,
            "0",
            "Number of successive packets that are skipped",
        )
        .inert(),
    ]],
    commands: &[idle_command("monitor", "Monitor flows", &[crate::interface::ONCE]).repeating()],
    idle: Some(some_only),
    ..Menu::new(
        "/ip/traffic-flow",
        MenuShape::Settings,
        "Flow export (NetFlow and IPFIX)",
    )
};

/// Returns the missing feature: export for selected interfaces only.
fn some_only(item: &Item) -> Option<&'static str> {
    let all = item
        .get("interfaces")
        .map(Value::as_list)
        .unwrap_or_default();
    let is_all = all.iter().any(|one| one.to_string() == "all");
    (!is_all && !all.is_empty()).then_some("interfaces other than all")
}
