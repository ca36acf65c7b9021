//! `redirect-gateway` of a server: all packets take the tunnel, except those of the tunnel itself (OpenVPN `route.c`).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use openvpn::Push;

use crate::feature::Effects;
use crate::feature::ppp::route_text;
use crate::intent::{Name, Route};
use crate::object::{Made, Owner};
use crate::rib::{Family, MAIN, Net, Rib, Target, V4, V6};
use crate::running::Running;

/// Routes that win over a default route, which stays (`def1`).
const HALVES: [(Ipv4Addr, u8); 2] = [
    (Ipv4Addr::new(0, 0, 0, 0), 1),
    (Ipv4Addr::new(128, 0, 0, 0), 1),
];
/// First groups and lengths of the IPv6 routes: `::/3`, `2000::/4`, `3000::/4`, `fc00::/7`.
const PARTS: [(u16, u8); 4] = [(0, 3), (0x2000, 4), (0x3000, 4), (0xfc00, 7)];

/// Redirection of a client's packets.
pub(super) struct Redirect {
    /// Owner of the routes.
    owner: Owner,
    interface: Name,
    /// Address of the server outside of the tunnel.
    server: IpAddr,
    /// Address of the server in a tunnel of frames.
    gateway: Option<Ipv4Addr>,
    gateway6: Option<Ipv6Addr>,
    ipv4: bool,
    ipv6: bool,
    /// The server is a neighbour (`local`), and needs no route of its own.
    is_local: bool,
}

impl Redirect {
    /// Reads the options of a server; `None` if the server redirects nothing. `gateway` is the server's address in a
    /// tunnel of frames.
    pub(super) fn read(
        owner: Owner,
        interface: &Name,
        server: IpAddr,
        push: &Push,
        gateway: Option<Ipv4Addr>,
    ) -> Option<Self> {
        let flags = push.redirect.as_ref()?;
        let has = |word: &str| flags.iter().any(|flag| **flag == *word);
        Some(Self {
            owner,
            interface: interface.clone(),
            server,
            gateway,
            gateway6: { push.address6.map(|own| own.remote) }.filter(|_| gateway.is_some()),
            ipv4: !has("!ipv4") && push.address.is_some(),
            ipv6: has("ipv6") && push.address6.is_some(),
            is_local: has("local"),
        })
    }

    /// Adds the route to the server by its present path, then the routes over the tunnel.
    pub(super) fn add_routes(&self, running: &Running<'_>, out: &mut Effects) {
        if !self.is_local {
            let made = match self.server {
                IpAddr::V4(server) => present(running, running.rib4, server, 32).map(Made::Route4),
                IpAddr::V6(server) => present(running, running.rib6, server, 128).map(Made::Route6),
            };
            if let Some(made) = made {
                out.object(self.owner, made);
            }
        }
        for (network, len) in HALVES.into_iter().filter(|_| self.ipv4) {
            let net = Net::new(network, len);
            let route = route_text::over::<V4>(net, self.gateway, &self.interface, 1);
            out.object(self.owner, Made::Route4(route));
        }
        for (first, len) in PARTS.into_iter().filter(|_| self.ipv6) {
            let net = Net::new(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0), len);
            let route = route_text::over::<V6>(net, self.gateway6, &self.interface, 1);
            out.object(self.owner, Made::Route6(route));
        }
    }
}

/// Returns a route to an address by its present next hop.
fn present<F: Family>(
    running: &Running<'_>,
    rib: &Rib<F>,
    to: F::Addr,
    len: u8,
) -> Option<Route<F>> {
    let found = rib.lookup(MAIN, to)?;
    let target = found.paths.first()?;
    let gateway = match target {
        Target::Neighbour(_, gateway) => Some(*gateway),
        _ => None,
    };
    let interface = running.layout.interfaces.get(&target.interface()?)?;
    let net = Net::new(to, len);
    Some(route_text::over::<F>(net, gateway, &interface.name, 1))
}
