//! Clients and servers of PPP sessions, by address and user.

use menu::Item;

use crate::config::{has, shown};
use crate::joined::end::{Aim, Alone, End, Pair, Pairs, Role, Router};

/// Menus of a service.
struct Service {
    client: &'static str,
    server: &'static str,
}

pub(in crate::joined) fn l2tp<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    sessions(
        first,
        second,
        &Service {
            client: "/interface/l2tp-client",
            server: "/interface/l2tp-server/server",
        },
    )
}

pub(in crate::joined) fn pptp<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    sessions(
        first,
        second,
        &Service {
            client: "/interface/pptp-client",
            server: "/interface/pptp-server/server",
        },
    )
}

pub(in crate::joined) fn sstp<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    sessions(
        first,
        second,
        &Service {
            client: "/interface/sstp-client",
            server: "/interface/sstp-server/server",
        },
    )
}

pub(in crate::joined) fn openvpn<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    sessions(
        first,
        second,
        &Service {
            client: "/interface/ovpn-client",
            server: "/interface/ovpn-server/server",
        },
    )
}

pub(in crate::joined) fn pppoe<'a>(first: &Router<'a>, second: &Router<'a>) -> Pairs<'a> {
    sessions(
        first,
        second,
        &Service {
            client: "/interface/pppoe-client",
            server: "/interface/pppoe-server/server",
        },
    )
}

/// Pairs the PPP clients of each router with the PPP server of the peer router.
fn sessions<'a>(first: &Router<'a>, second: &Router<'a>, service: &Service) -> Pairs<'a> {
    let mut pairs = Pairs::default();
    for (clients, servers) in [(first, second), (second, first)] {
        join(clients, servers, service, &mut pairs);
    }
    pairs
}

fn join<'a>(clients: &Router<'a>, servers: &Router<'a>, service: &Service, pairs: &mut Pairs<'a>) {
    let all: Vec<_> = match servers.config.settings(service.server) {
        Some(server) => Some(server)
            .into_iter()
            .filter(|server| server.is("enabled"))
            .collect(),
        None => servers.config.enabled(service.server),
    };
    let asks_radius =
        { servers.config.settings("/ppp/aaa") }.is_some_and(|aaa| aaa.is("use-radius"));
    let dialing = clients.config.enabled(service.client);
    let is_only = dialing.len() == 1;
    for client in dialing {
        let remote = shown(client, "connect-to");
        let end = End::new(clients.index, client, remote, servers);
        let secret = servers.named("/ppp/secret", client.text("user"));
        // An address tells where a client dials; without one its user does. RADIUS may know each user.
        let is_here = match end.aim {
            Aim::Hit => true,
            Aim::Possible => secret.is_some() || asks_radius && is_only && all.len() == 1,
            Aim::Miss => secret.is_some(),
        };
        let Some(server) = choose(&all, client).filter(|_| is_here) else {
            if end.aim == Aim::Hit {
                pairs.alone.push(alone(
                    end,
                    "connect-to",
                    "the other router has no such server, or it is disabled",
                ));
            }
            continue;
        };
        if secret.is_none() && !asks_radius {
            let cause = "the other router has no enabled user of this name in /ppp/secret: authentication fails";
            pairs.alone.push(alone(end.clone(), "user", cause));
        }
        let profile = clients.named("/ppp/profile", client.text("profile"));
        let users = secret.map_or(server.text("default-profile"), |secret| {
            secret.text("profile")
        });
        let mut far = End::new(servers.index, server, String::new(), clients);
        far.aim = Aim::Hit;
        let far = far
            .with(Role::Server, Some(server))
            .with(Role::Secret, secret)
            .with(Role::UserProfile, servers.named("/ppp/profile", users));
        pairs
            .joined
            .push(Pair::new(end.with(Role::Profile, profile), far));
    }
}

/// Chooses the server of a client: port, protocol and service name decide; the first server is the fallback.
fn choose<'a>(servers: &[&'a Item], client: &Item) -> Option<&'a Item> {
    let fits = |server: &&&Item| {
        ["port", "protocol"]
            .iter()
            .all(|property| shown(server, property) == shown(client, property))
            && (!has(client, "service-name")
                || shown(server, "service-name") == shown(client, "service-name"))
    };
    servers
        .iter()
        .find(fits)
        .or_else(|| servers.first())
        .copied()
}

fn alone<'a>(end: End<'a>, property: &'static str, cause: &'static str) -> Alone<'a> {
    Alone {
        end,
        property,
        cause,
    }
}
