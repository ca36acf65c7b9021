//! Results of DHCP clients: an address, routes, learned servers, a script; and the clients' rows.

use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};
use machine::Instant;
use menu::{Row, Value, quote_always};
use service::dhcp::client::{Lease, Status, Why};
use service::dhcp::{Options, code};

use super::overlap::Conflict;
use super::read::{Routes, Wish};
use super::{DhcpClient, words};
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address4, Gateway, ItemId, Name, Route};
use crate::learned::Servers;
use crate::object::{Made, Owner};
use crate::rib::{Net, V4};

/// Job type of lease scripts, as `/system/script/job` shows it.
const KIND: &str = "dhcp-client";

/// Returns the owner of a client's address and learned servers.
const fn owner(id: ItemId) -> Owner {
    Owner {
        feature: "dhcp-client",
        number: id,
    }
}

/// Returns the owner of a client's routes.
const fn owner_of_routes(id: ItemId) -> Owner {
    Owner {
        feature: "dhcp-client-route",
        number: id,
    }
}

impl DhcpClient {
    /// Makes the objects of a new or changed lease.
    pub(super) fn tell(
        &mut self,
        id: ItemId,
        lease: Box<Lease>,
        conflict: Option<Conflict>,
        out: &mut Effects,
    ) {
        let used = |lease: Option<&Lease>, conflict: Option<&Conflict>| {
            let lease = lease?;
            let len = Conflict::prefix_len(conflict, lease.len);
            Some((lease.address, len))
        };
        let used_before = used(self.told.as_deref(), self.conflict.as_ref());
        let before = self.told.replace(lease);
        let conflict_before = core::mem::replace(&mut self.conflict, conflict);
        let Some(lease) = &self.told else { return };
        let used_now = used(Some(lease), self.conflict.as_ref());
        let is_moved = used_before != used_now;
        let is_other = before.as_deref().map(|before| &before.options) != Some(&lease.options);
        let (interface, len) = (
            &self.wish.interface,
            used_now.map_or(lease.len, |used| used.1),
        );
        if is_moved {
            out.push(Effect::Gone(owner(id)));
            let made = made_address(interface, lease.address, len);
            out.object(owner(id), Made::Address4(made));
            let address = lease.address;
            let said = format!("dhcp-client on {interface} got IP address {address}");
            out.log("dhcp,info", said);
        }
        if let Some(conflict) = self
            .conflict
            .as_ref()
            .filter(|_| self.conflict != conflict_before)
        {
            let (address, len) = (lease.address, lease.len);
            let said =
                format!("dhcp-client on {interface} got IP address {address}/{len}: {conflict}");
            out.log("dhcp,warning", said);
        }
        if is_moved || is_other {
            out.push(Effect::Gone(owner_of_routes(id)));
            for route in routes(&self.wish, lease, len) {
                out.push(Effect::Object(Box::new(NewObject {
                    owner: owner_of_routes(id),
                    made: Made::Route4(route),
                    cells: vec![("dhcp", Value::Bool(true))],
                    removable: false,
                })));
            }
            let servers = servers(&self.wish, lease);
            out.push(Effect::Learn(owner(id), Some(servers)));
            self.run_script(Some(lease), out);
        }
    }

    /// Removes the objects of a lost lease.
    pub(super) fn forget(&mut self, id: ItemId, why: Why, out: &mut Effects) {
        let Some(lease) = self.told.take() else {
            return;
        };
        self.conflict = None;
        let interface = &self.wish.interface;
        let (address, why) = (lease.address, words(why));
        let said = format!("dhcp-client on {interface} lost IP address {address} - {why}");
        out.log("dhcp,info", said);
        out.push(Effect::Gone(owner_of_routes(id)));
        out.push(Effect::Gone(owner(id)));
        out.push(Effect::Learn(owner(id), None));
        self.run_script(None, out);
    }

    /// Logs why the client got no address.
    pub(super) fn warn(&self, why: Why, out: &mut Effects) {
        let interface = &self.wish.interface;
        let said = format!(
            "dhcp-client on {interface} got no IP address - {}",
            words(why)
        );
        out.log("dhcp,warning", said);
    }

    fn run_script(&self, lease: Option<&Lease>, out: &mut Effects) {
        if self.wish.script.is_empty() {
            return;
        }
        out.push(Effect::Script {
            kind: KIND,
            source: self.wish.script.clone(),
            before: variables(&self.wish.interface, lease),
        });
    }

    /// Adds the state of the client to its row.
    pub(super) fn annotate(&self, now: Instant, row: &mut Row) {
        let wish = &self.wish;
        row.flag("invalid", self.at.is_none() && !wish.disabled);
        if wish.disabled || self.at.is_none() {
            return;
        }
        let status = match self.machine.status() {
            Status::Stopped => "stopped",
            Status::Searching => "searching...",
            Status::Requesting => "requesting...",
            Status::Bound => "bound",
            Status::Renewing => "renewing...",
            Status::Rebinding => "rebinding...",
        };
        row.set("status", Value::text(status));
        let Some(lease) = self.machine.lease() else {
            return;
        };
        if let Ok(net) = Ipv4Net::new(lease.address, lease.len) {
            row.set("address", Value::Prefix(IpNet::V4(net)));
        }
        if let Some(conflict) = &self.conflict {
            row.set(Row::ABOUT, Value::text(conflict.to_string()));
        }
        row.set("dhcp-server", four(lease.server));
        let numbered = |row: &mut Row, names: [&'static str; 2], code| {
            let all = lease.options.addresses(code);
            for (name, address) in names.into_iter().zip(all) {
                row.set(name, four(address));
            }
        };
        if let Some(gateway) = gateway(lease) {
            row.set("gateway", four(gateway));
        }
        numbered(row, ["primary-dns", "secondary-dns"], code::DNS);
        numbered(row, ["primary-ntp", "secondary-ntp"], code::NTP);
        let managers = lease.options.addresses(code::CAPWAP);
        if !managers.is_empty() {
            let managers = managers.into_iter().map(four).collect();
            row.set("caps-managers", Value::List(managers));
        }
        if let Some(times) = lease.times {
            let seconds = times.end.saturating_since(now).as_secs();
            let nanos = i64::try_from(seconds).unwrap_or(i64::MAX / 1_000_000_000);
            row.set("expires-after", Value::Time(nanos * 1_000_000_000));
        }
    }
}

const fn four(address: Ipv4Addr) -> Value {
    Value::Address(IpAddr::V4(address))
}

/// Returns the default gateway: of option 121, otherwise of option 3.
fn gateway(lease: &Lease) -> Option<Ipv4Addr> {
    let routes = lease.routes();
    let mut classless = routes.iter().filter(|route| route.network.1 == 0);
    let by_route = { classless.next() }.filter(|_| lease.is_classless());
    let by_route = by_route.map(|route| route.gateway);
    by_route.or_else(|| lease.routers().first().copied())
}

fn made_address(interface: &Name, address: Ipv4Addr, len: u8) -> Address4 {
    let net = Ipv4Net::new(address, len).ok();
    Address4 {
        addr: address,
        len,
        network: net.map_or(address, |net| net.network()),
        interface: interface.clone(),
        disabled: false,
    }
}

/// Returns the routes of a lease whose address has a prefix of this length. Routes of option 121
/// replace the route of option 3 (RFC 3442).
fn routes(wish: &Wish, lease: &Lease, len: u8) -> Vec<Route<V4>> {
    let mut told = match wish.routes {
        Routes::None => return Vec::new(),
        Routes::Usual | Routes::Both => lease.routes(),
    };
    if (wish.routes == Routes::Both || !lease.is_classless())
        && let Some(router) = lease.routers().first()
    {
        told.push(service::dhcp::client::Route {
            network: (Ipv4Addr::UNSPECIFIED, 0),
            gateway: *router,
        });
    }
    let own = Ipv4Net::new(lease.address, len).ok();
    let near = |gateway| own.is_some_and(|net| net.contains(&gateway));
    let mut routes: Vec<Route<V4>> = Vec::new();
    for (table, distance) in &wish.tables {
        for route in &told {
            let on_link = route.gateway.is_unspecified();
            // A gateway outside the network is reached on the link, too.
            let by = (on_link || !near(route.gateway)).then(|| wish.interface.clone());
            let made = Route {
                net: Net::new(route.network.0, route.network.1),
                table: table.clone(),
                gateways: vec![Gateway {
                    addr: (!on_link).then_some(route.gateway),
                    interface: by,
                    table: None,
                }],
                refuse: None,
                check: wish.check,
                distance: *distance,
                scope: 30,
                target_scope: 10,
                pref_src: None,
                disabled: false,
            };
            if !routes.contains(&made) {
                routes.push(made);
            }
        }
    }
    routes
}

fn servers(wish: &Wish, lease: &Lease) -> Servers {
    let of = |wanted: bool, code| match wanted {
        true => lease.options.addresses(code),
        false => Vec::new(),
    };
    let six = |all: Vec<Ipv4Addr>| all.into_iter().map(IpAddr::V4).collect();
    Servers {
        interface: wish.interface.clone(),
        dns: six(of(wish.dns, code::DNS)),
        exclusive: false,
        ntp: six(of(wish.ntp, code::NTP)),
        domain: lease.options.text(code::DOMAIN),
    }
}

/// Returns the variables of a client's script (RouterOS).
fn variables(interface: &str, lease: Option<&Lease>) -> String {
    let mut text = String::new();
    let mut local = |name: &str, value: &str| {
        // Writing to a string never fails.
        let _ = write!(text, ":local \"{name}\" {value};");
    };
    let address = |address: Option<Ipv4Addr>| {
        quote_always(&address.map_or_else(String::new, |address| address.to_string()))
    };
    local("bound", if lease.is_some() { "\"1\"" } else { "\"0\"" });
    local("interface", &quote_always(interface));
    local("server-address", &address(lease.map(|lease| lease.server)));
    local("lease-address", &address(lease.map(|lease| lease.address)));
    local("gateway-address", &address(lease.and_then(gateway)));
    let vendor = lease.and_then(|lease| lease.options.get(code::VENDOR));
    local(
        "vendor-specific",
        &quote_always(&hex(vendor.unwrap_or_default())),
    );
    let options = lease.map_or_else(
        || "[:toarray \"\"]".to_owned(),
        |lease| array(&lease.options),
    );
    local("lease-options", &options);
    text
}

/// Formats options as an array of the script language: hexadecimal values by option code.
fn array(options: &Options) -> String {
    let pairs = options
        .iter()
        .map(|(code, value)| format!("\"{code}\"=\"{}\"", hex(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(";"))
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
