//! Results of DHCPv6 clients: addresses, a default route, a pool, learned servers, a script; and
//! the clients' rows.

use core::fmt::Write;
use core::net::{IpAddr, Ipv6Addr};

use machine::Instant;
use menu::{Row, Value, quote_always};
use service::dhcp6::client::{Binding, Delegation, Status6, Why};
use service::dhcp6::{Status, code};

use super::client::Dhcp6Client;
use super::pools::{Source, left, prefix};
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::{Address6, Gateway, ItemId, Refuse, Route};
use crate::learned::Servers;
use crate::object::{Made, Owner};
use crate::rib::{Check, Net, V6};

/// Job type of lease scripts, as `/system/script/job` shows it.
const KIND: &str = "dhcp-client";

/// Returns the owner of a client's objects.
const fn owner(id: ItemId) -> Owner {
    Owner {
        feature: "dhcp6-client",
        number: id,
    }
}

impl Dhcp6Client {
    /// Returns the pool made from the delegated prefix.
    pub(super) fn pool(&self, binding: &Binding) -> Option<Source> {
        let (name, len) = self.wish.pool.clone()?;
        let got = binding.prefixes().next()?;
        Some(Source {
            name,
            prefix: (got.address, got.len),
            // A prefix longer than the pieces forms a single piece.
            len: len.max(got.len),
            until: (got.preferred, got.valid),
        })
    }

    /// Makes the objects of a new or changed binding.
    pub(super) fn tell(&mut self, id: ItemId, binding: Box<Binding>, out: &mut Effects) {
        let before = self.told.replace(binding);
        let Some(binding) = &self.told else { return };
        if before.as_deref().map(Facts::of) == Some(Facts::of(binding)) {
            return;
        }
        let interface = &self.wish.interface;
        for got in &binding.got {
            let what = if got.is_prefix { "prefix" } else { "address" };
            let (address, len) = (got.address, got.len);
            let said = format!("dhcp6-client on {interface} got {what} {address}/{len}");
            out.log("dhcp,info", said);
        }
        out.push(Effect::Gone(owner(id)));
        for made in self.objects(binding) {
            let cells = match made {
                Made::Route6(_) => vec![("dhcp", Value::Bool(true))],
                _ => Vec::new(),
            };
            out.push(Effect::Object(Box::new(NewObject {
                owner: owner(id),
                made,
                cells,
                removable: false,
            })));
        }
        let six = |all: Vec<Ipv6Addr>| all.into_iter().map(IpAddr::V6).collect();
        let dns = match self.wish.dns {
            true => binding.options.addresses(code::DNS),
            false => Vec::new(),
        };
        let servers = Servers {
            interface: interface.clone(),
            dns: six(dns),
            exclusive: false,
            ntp: six(binding.options.time_servers()),
            domain: binding.options.domain(),
        };
        out.push(Effect::Learn(owner(id), Some(servers)));
        self.run_script(Some(binding), out);
    }

    /// Removes the objects of a lost binding.
    pub(super) fn forget(&mut self, id: ItemId, why: Why, out: &mut Effects) {
        if self.told.take().is_none() {
            return;
        }
        let why = match why {
            Why::Stopped => "stopped locally",
            Why::Expired => "expired",
            Why::Released => "released",
            Why::TakenBack => "withdrawn by the server",
        };
        let interface = &self.wish.interface;
        let said = format!("dhcp6-client on {interface} lost its binding - {why}");
        out.log("dhcp,info", said);
        out.push(Effect::Gone(owner(id)));
        out.push(Effect::Learn(owner(id), None));
        self.run_script(None, out);
    }

    /// Logs an error status of a server.
    pub(super) fn warn(&self, status: Status, out: &mut Effects) {
        let interface = &self.wish.interface;
        let said = format!("dhcp6-client on {interface}: the server says {status:?}");
        out.log("dhcp,warning", said);
    }

    fn objects(&self, binding: &Binding) -> Vec<Made> {
        let wish = &self.wish;
        let addresses = binding.addresses().map(|got| {
            Made::Address6(Address6 {
                addr: got.address,
                len: 128,
                interface: wish.interface.clone(),
                eui64: false,
                advertise: false,
                no_dad: false,
                auto_link_local: true,
                disabled: false,
            })
        });
        // An unreachable route keeps packets to unused parts of the prefix from looping back (RFC
        // 7084, 4.3, WPD-5).
        let unused = binding.prefixes().map(|got| {
            let net = Net::new(got.address, got.len);
            Made::Route6(Route {
                refuse: Some(Refuse::Unreachable),
                ..route_without_gateway(net, "main".into(), 1)
            })
        });
        let tables = wish.tables.iter().filter(|_| wish.default_route);
        let routes = tables.map(|(table, distance)| {
            Made::Route6(Route {
                gateways: vec![Gateway {
                    addr: Some(binding.from),
                    interface: Some(wish.interface.clone()),
                    table: None,
                }],
                check: wish.check,
                ..route_without_gateway(
                    Net::new(Ipv6Addr::UNSPECIFIED, 0),
                    table.clone(),
                    *distance,
                )
            })
        });
        addresses.chain(unused).chain(routes).collect()
    }

    fn run_script(&self, binding: Option<&Binding>, out: &mut Effects) {
        if !self.wish.script.is_empty() {
            out.push(Effect::Script {
                kind: KIND,
                source: self.wish.script.clone(),
                before: variables(binding),
            });
        }
    }

    /// Adds the state of the client to its row.
    pub(super) fn annotate(&self, now: Instant, row: &mut Row) {
        row.flag("invalid", self.at.is_none() && !self.wish.disabled);
        if self.wish.disabled || self.at.is_none() {
            return;
        }
        let status = match self.machine.status() {
            Status6::Stopped => "stopped",
            Status6::Searching => "searching...",
            Status6::Requesting => "requesting...",
            Status6::Bound => "bound",
            Status6::Renewing => "renewing...",
            Status6::Rebinding => "rebinding...",
        };
        row.set("status", Value::text(status));
        let mut duid = String::from("0x");
        for byte in &self.machine.config().duid {
            // Writing to a string never fails.
            let _ = write!(duid, "{byte:02x}");
        }
        row.set("duid", Value::text(duid));
        let Some(binding) = self.machine.binding() else {
            return;
        };
        row.set("dhcp-server-v6", Value::Address(IpAddr::V6(binding.from)));
        let all = |is_prefix| {
            let own = binding.got.iter().filter(|got| got.is_prefix == is_prefix);
            own.map(|got| shown(got, now))
                .collect::<Vec<_>>()
                .join(", ")
        };
        for (name, text) in [("prefix", all(true)), ("address", all(false))] {
            if !text.is_empty() {
                row.set(name, Value::text(text));
            }
        }
    }
}

/// The parts of a binding that its objects depend on, without lifetimes.
#[derive(PartialEq, Eq)]
struct Facts<'a> {
    from: Ipv6Addr,
    got: Vec<(bool, Ipv6Addr, u8)>,
    options: Vec<(u16, &'a [u8])>,
}

impl<'a> Facts<'a> {
    fn of(binding: &'a Binding) -> Self {
        let got = binding.got.iter();
        let options = binding.options.iter();
        // These options contain lifetimes, which differ in each answer.
        let told = options.filter(|(code, _)| ![code::IA_NA, code::IA_PD].contains(code));
        Self {
            from: binding.from,
            got: got
                .map(|got| (got.is_prefix, got.address, got.len))
                .collect(),
            options: told.collect(),
        }
    }
}

/// Returns a route without a gateway.
pub(crate) fn route_without_gateway(
    net: Net<V6>,
    table: crate::intent::Name,
    distance: u8,
) -> Route<V6> {
    Route {
        net,
        table,
        gateways: Vec::new(),
        refuse: None,
        check: Check::None,
        distance,
        scope: 30,
        target_scope: 10,
        pref_src: None,
        disabled: false,
    }
}

/// Formats a delegation: `2001:db8::/56, 2d23h`; an address has no length.
fn shown(got: &Delegation, now: Instant) -> String {
    let what = match got.is_prefix {
        true => prefix(got.address, got.len).to_string(),
        false => got.address.to_string(),
    };
    let valid = got.valid.map(|until| left(until, now).to_string());
    format!("{what}, {}", valid.as_deref().unwrap_or("never"))
}

/// Returns the variables of a client's script (RouterOS).
fn variables(binding: Option<&Binding>) -> String {
    let mut text = String::new();
    let mut local = |name: &str, value: &str| {
        let _ = write!(text, ":local \"{name}\" {};", quote_always(value));
    };
    let got = |is_prefix| {
        let mut all = binding.into_iter().flat_map(|binding| &binding.got);
        all.find(|got| got.is_prefix == is_prefix)
    };
    let valid = |is_valid: bool| if is_valid { "1" } else { "0" };
    let (pd, na) = (got(true), got(false));
    local("pd-valid", valid(pd.is_some()));
    local(
        "pd-prefix",
        &pd.map_or_else(String::new, |got| prefix(got.address, got.len).to_string()),
    );
    local("na-valid", valid(na.is_some()));
    local(
        "na-address",
        &na.map_or_else(String::new, |got| got.address.to_string()),
    );
    text
}
