//! Routes of users, as `/ppp/secret routes` and RADIUS `Framed-Route` write them: `destination [gateway [distance]]`,
//! several separated by commas. Without a gateway, or with an unspecified one, the route leads to the user.

use crate::intent::{Gateway, Name, Route};
use crate::rib::{Check, Family, Net};

/// Maximum number of routes of one user.
const MAX_ROUTES: usize = 64;

/// Parses the routes of a user; the route leads over the session's interface. Returns the routes, and the words that
/// are not a route.
pub(super) fn parse<F: Family>(text: &str, interface: &Name) -> (Vec<Route<F>>, Vec<String>)
where
    F::Addr: core::str::FromStr,
{
    let (mut routes, mut faults) = (Vec::new(), Vec::new());
    let parts = text.split(',').map(str::trim);
    for part in parts.filter(|part| !part.is_empty()).take(MAX_ROUTES) {
        match route::<F>(part, interface) {
            Some(route) => routes.push(route),
            None => faults.push(part.to_owned()),
        }
    }
    (routes, faults)
}

fn route<F: Family>(text: &str, interface: &Name) -> Option<Route<F>>
where
    F::Addr: core::str::FromStr,
{
    let mut words = text.split_whitespace();
    let destination = words.next()?;
    let (address, len) = match destination.split_once('/') {
        Some((address, len)) => (address, len.parse().ok()?),
        None => (destination, F::BITS),
    };
    let address: F::Addr = address.parse().ok()?;
    if len > F::BITS {
        return None;
    }
    let gateway: Option<F::Addr> = match words.next() {
        Some(gateway) => Some(gateway.parse().ok()?),
        None => None,
    };
    let gateway = gateway.filter(|gateway| F::bits(*gateway) != 0);
    let distance = match words.next() {
        Some(metric) => metric.parse::<u8>().ok()?.max(1),
        None => 1,
    };
    Some(over(Net::new(address, len), gateway, interface, distance))
}

/// Returns a route over the interface of a session.
pub(super) fn over<F: Family>(
    net: Net<F>,
    gateway: Option<F::Addr>,
    interface: &Name,
    distance: u8,
) -> Route<F> {
    Route {
        net,
        table: "main".into(),
        gateways: vec![Gateway {
            addr: gateway,
            // A gateway behind the user is resolved by other routes.
            interface: gateway.is_none().then(|| interface.clone()),
            table: None,
        }],
        refuse: None,
        check: Check::None,
        distance,
        scope: 30,
        target_scope: 10,
        pref_src: None,
        disabled: false,
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;
    use crate::rib::V4;

    #[test]
    fn routes_have_a_destination_a_gateway_and_a_distance() {
        let on = Name::from("<pppoe-anna>");
        let text = "10.1.0.0/24, 10.2.0.0/16 0.0.0.0 5,10.3.0.1 10.0.0.9, 10.4.0.0/33,wrong 1";
        let (routes, faults) = parse::<V4>(text, &on);
        let read: Vec<_> = { routes.iter() }
            .map(|route| {
                let gateway = &route.gateways[0];
                (route.net.to_string(), gateway.addr, route.distance)
            })
            .collect();
        let by = Some(Ipv4Addr::new(10, 0, 0, 9));
        assert_eq!(
            read,
            [
                ("10.1.0.0/24".to_owned(), None, 1),
                ("10.2.0.0/16".to_owned(), None, 5),
                ("10.3.0.1/32".to_owned(), by, 1),
            ]
        );
        assert_eq!(routes[0].gateways[0].interface.as_ref(), Some(&on));
        assert_eq!(faults, ["10.4.0.0/33", "wrong 1"]);
    }
}
