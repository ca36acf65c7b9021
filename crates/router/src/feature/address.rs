//! Configured addresses of interfaces: `/ip/address` and `/ipv6/address`.
//!
//! `compile/address.rs` computes the addresses in use, and `drive/addresses.rs` publishes them.

use std::net::IpAddr;

use ipnet::IpNet;
use menu::{Changes, Item, Value};

use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Address4, Address6, ItemState};
use crate::read::name;

const IPV4: &str = "/ip/address";
const IPV6: &str = "/ipv6/address";

/// Reads the configured addresses.
#[derive(Debug, Default)]
pub(crate) struct Addresses;

impl Feature for Addresses {
    fn menus(&self) -> &'static [&'static str] {
        &[IPV4, IPV6]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        each_item(view, IPV4, changes, |id, item| {
            let wanted = ItemState::Address4(item.and_then(address4));
            out.push(Effect::Item(id, wanted));
        });
        each_item(view, IPV6, changes, |id, item| {
            let wanted = ItemState::Address6(item.and_then(address6));
            out.push(Effect::Item(id, wanted));
        });
    }
}

fn address4(item: &Item) -> Option<Address4> {
    let IpNet::V4(net) = item.get("address")?.as_prefix()? else {
        return None;
    };
    let network = match item.get("network").and_then(Value::as_address) {
        Some(IpAddr::V4(network)) => network,
        _ => net.network(),
    };
    Some(Address4 {
        addr: net.addr(),
        len: net.prefix_len(),
        network,
        interface: name(item, "interface")?,
        disabled: item.is("disabled"),
    })
}

/// Reads an IPv6 address. Returns `None` with `from-pool`: another feature handles such addresses.
fn address6(item: &Item) -> Option<Address6> {
    if name(item, "from-pool").is_some() {
        return None;
    }
    let IpNet::V6(net) = item.get("address")?.as_prefix()? else {
        return None;
    };
    Some(Address6 {
        addr: net.addr(),
        len: net.prefix_len(),
        interface: name(item, "interface")?,
        eui64: item.is("eui-64"),
        advertise: item.is("advertise"),
        no_dad: item.is("no-dad"),
        auto_link_local: item.is("auto-link-local"),
        disabled: item.is("disabled"),
    })
}
