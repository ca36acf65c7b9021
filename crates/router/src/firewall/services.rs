//! `/ip/firewall/service-port`.

use dataplane::nat::helper::Services;
use menu::{Item, Store, Value};

use super::value::helper;

pub(super) const PATH: &str = "/ip/firewall/service-port";

/// Reads which connection helpers are enabled, and their ports.
pub(super) fn read(store: &Store) -> Services {
    let mut services = Services::default();
    for item in store.items(PATH) {
        if item.get("disabled").and_then(Value::as_bool) == Some(true) {
            continue;
        }
        let Some(helper) = item.name().and_then(helper) else {
            continue;
        };
        services.enable(helper, &ports(item));
        if item.name() == Some("sip") {
            let direct = item.get("sip-direct-media").and_then(Value::as_bool);
            services.sip_direct_media = direct != Some(false);
            if let Some(nanos) = item.get("sip-timeout").and_then(Value::as_nanos) {
                let secs = u32::try_from(nanos / 1_000_000_000).unwrap_or(u32::MAX);
                services.sip_timeout_secs = secs.clamp(1, Services::TIMEOUT_SECS_MAX);
            }
        }
    }
    services
}

fn ports(item: &Item) -> Vec<u16> {
    let ports = item.get("ports").map(Value::as_list).unwrap_or_default();
    let numbers = ports.iter().filter_map(Value::as_number);
    numbers
        .filter_map(|number| u16::try_from(number).ok())
        .collect()
}
