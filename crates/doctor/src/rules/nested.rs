//! Tunnels inside tunnels: TCP in TCP, packets that outgrow the tunnel below, and chains that are too long.

use std::collections::BTreeMap;
use std::net::IpAddr;

use menu::Item;

use crate::config::{Config, shown};
use crate::routes::{Routes, address};
use crate::rule::{Rule, Severity};

/// Maximum number of tunnels around a packet; the data plane drops what needs more (`tunnel-depth`).
const MAX_DEPTH: usize = 8;

/// A menu of tunnels to a far end.
struct Form {
    menu: &'static str,
    /// Property with the address of the far end.
    end: &'static str,
    /// Property with the largest packet of the tunnel, and its default in bytes.
    unit: (&'static str, i64),
    /// Bytes that the tunnel adds to a packet over IPv4; `None` for a byte stream, whose segments fit any path.
    headers: Option<i64>,
}

/// IPv4, GRE; IPv4; IPv4, UDP, L2TP, PPP; IPv4, GRE, PPP; IPv4, UDP, WireGuard; IPv4, UDP, OpenVPN with AES-GCM.
const FORMS: [Form; 7] = [
    Form::new("/interface/gre", "remote-address", ("mtu", 1476), Some(24)),
    Form::new("/interface/ipip", "remote-address", ("mtu", 1480), Some(20)),
    Form::new(L2TP, "connect-to", ("max-mtu", 1450), Some(40)),
    Form::new(PPTP, "connect-to", ("max-mtu", 1450), Some(40)),
    Form::new(SSTP, "connect-to", ("max-mtu", 1500), None),
    Form::new(OVPN, "connect-to", ("max-mtu", 1500), Some(52)),
    Form::new(WIREGUARD, "endpoint-address", ("mtu", 1420), Some(60)),
];
const L2TP: &str = "/interface/l2tp-client";
const PPTP: &str = "/interface/pptp-client";
const SSTP: &str = "/interface/sstp-client";
const OVPN: &str = "/interface/ovpn-client";
const WIREGUARD: &str = "/interface/wireguard";

impl Form {
    const fn new(
        menu: &'static str,
        end: &'static str,
        unit: (&'static str, i64),
        headers: Option<i64>,
    ) -> Self {
        Self {
            menu,
            end,
            unit,
            headers,
        }
    }
}

/// A tunnel of the configuration.
struct Tunnel<'a> {
    form: &'static Form,
    interface: &'a Item,
    /// Address of the far end, with the item that names it.
    end: (IpAddr, &'a Item),
}

impl Tunnel<'_> {
    fn name(&self) -> &str {
        self.interface.text("name")
    }

    /// Returns true if a TCP connection carries the tunnel.
    fn is_stream(&self) -> bool {
        let form = self.form;
        form.headers.is_none() || form.menu == OVPN && shown(self.interface, "protocol") != "udp"
    }

    /// Returns the largest packet that the tunnel carries whole, in bytes.
    fn unit(&self) -> i64 {
        let (property, default) = self.form.unit;
        self.interface.number(property).unwrap_or(default)
    }
}

/// Returns all tunnels with the address of a far end.
fn tunnels<'a>(config: &Config<'a>) -> Vec<Tunnel<'a>> {
    let mut all = Vec::new();
    for form in &FORMS {
        let items = config.enabled(form.menu).into_iter();
        if form.menu != WIREGUARD {
            all.extend(items.filter_map(|interface| {
                let end = (address(interface, form.end)?, interface);
                Some(Tunnel {
                    form,
                    interface,
                    end,
                })
            }));
            continue;
        }
        let interfaces: BTreeMap<_, _> = items.map(|item| (item.text("name"), item)).collect();
        for peer in config.enabled("/interface/wireguard/peers") {
            let interface = interfaces.get(peer.text("interface"));
            if let (Some(interface), Some(to)) = (interface, address(peer, form.end)) {
                let (interface, end) = (*interface, (to, peer));
                all.push(Tunnel {
                    form,
                    interface,
                    end,
                });
            }
        }
    }
    all
}

/// Calls `each` with every tunnel and the tunnels around its packets, the innermost of these first.
fn chains(config: &Config<'_>, mut each: impl FnMut(&Tunnel<'_>, &[&Tunnel<'_>])) {
    let (all, routes) = (tunnels(config), Routes::of(config));
    // Of the peers of a WireGuard interface the last one stands for all.
    let by_name: BTreeMap<_, _> = all.iter().map(|tunnel| (tunnel.name(), tunnel)).collect();
    let below = |tunnel: &Tunnel<'_>| {
        let interface = routes.interface_towards(tunnel.end.0)?;
        by_name.get(&*interface).copied()
    };
    for tunnel in &all {
        let mut around = Vec::new();
        let mut at = below(tunnel);
        while let Some(outer) = at.filter(|_| around.len() <= MAX_DEPTH) {
            around.push(outer);
            at = below(outer);
        }
        // A tunnel whose packets enter itself is the subject of `tunnel-into-itself`.
        let is_own = around
            .first()
            .is_some_and(|first| first.name() == tunnel.name());
        if !around.is_empty() && !is_own {
            each(tunnel, &around);
        }
    }
}

pub(super) const TCP_IN_TCP: Rule = Rule {
    name: "tcp-in-tcp",
    severity: Severity::Warning,
    cause: "a tunnel on a TCP connection runs inside another one: both retransmit a lost segment, and the inner \
            connection stalls while the outer one recovers",
    mend: "let the inner tunnel leave by the uplink, or use OpenVPN with protocol=udp or WireGuard for one of them",
    find: |config, found| {
        chains(config, |tunnel, around| {
            let outer = around.iter().find(|outer| outer.is_stream());
            if let Some(outer) = outer.filter(|_| tunnel.is_stream()) {
                let said = format!(
                    "{} and {} are TCP connections, and {} runs inside {}",
                    tunnel.name(),
                    outer.name(),
                    tunnel.name(),
                    outer.name()
                );
                found.add(&[tunnel.interface, outer.interface], said);
            }
        });
    },
};

pub(super) const TUNNEL_MTU_CHAIN: Rule = Rule {
    name: "tunnel-mtu-chain",
    severity: Severity::Warning,
    cause: "full packets of a tunnel do not fit the tunnel below with their headers: each leaves in two fragments",
    mend: "lower the MTU of the inner tunnel to that of the outer one without the headers",
    find: |config, found| {
        chains(config, |tunnel, around| {
            let Some((outer, headers)) = around.first().zip(tunnel.form.headers) else {
                return;
            };
            let (unit, carried) = (tunnel.unit(), outer.unit() - headers);
            if tunnel.is_stream() || unit <= carried {
                return;
            }
            let (inner, property) = (tunnel.interface, tunnel.form.unit.0);
            let said = format!(
                "packets of {unit} bytes of {} have {} bytes inside {}, which carries {}",
                tunnel.name(),
                unit + headers,
                outer.name(),
                outer.unit()
            );
            let fix = format!("{}/set {} {property}={carried}", inner.menu.path, inner.id);
            found.fixed(&[inner, outer.interface], said, vec![fix]);
        });
    },
};

pub(super) const TUNNELS_TOO_DEEP: Rule = Rule {
    name: "tunnels-too-deep",
    severity: Severity::Error,
    cause: "a packet enters more than 8 tunnels, or tunnels carry each other in a circle: the router drops it \
            (tunnel-depth)",
    mend: "add a route by the uplink for the far end of one of the tunnels",
    find: |config, found| {
        chains(config, |tunnel, around| {
            if around.len() < MAX_DEPTH {
                return;
            }
            let path: Vec<_> = around.iter().take(3).map(|outer| outer.name()).collect();
            let said = format!(
                "packets of {} to {} enter {} and further tunnels",
                tunnel.name(),
                tunnel.end.0,
                path.join(", ")
            );
            found.add(&[tunnel.end.1], said);
        });
    },
};
