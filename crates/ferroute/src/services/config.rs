//! Configuration of a service in `/ip/service`.

use std::net::IpAddr;

use menu::{Item, Store, Value};

/// A configured service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// Name, such as `api-ssl`.
    pub(crate) name: String,
    /// TCP port.
    pub(crate) port: u16,
    /// True if the service is closed.
    pub(crate) disabled: bool,
    /// Permitted client networks; empty permits all.
    address: Vec<Value>,
    /// Maximum number of sessions.
    pub(crate) max_sessions: usize,
    /// True: TLS 1.2 at most.
    pub(crate) only_tls12: bool,
    /// Name of its certificate; empty for the router's own.
    pub(crate) certificate: String,
}

impl Service {
    /// Returns all services of a configuration.
    pub(crate) fn all(store: &Store) -> Vec<Self> {
        store
            .items("/ip/service")
            .filter_map(|item| Self::of(item))
            .collect()
    }

    fn of(item: &Item) -> Option<Self> {
        let number = |name| item.number(name);
        Some(Self {
            name: item.name()?.to_owned(),
            port: u16::try_from(number("port")?).ok()?,
            disabled: item.is("disabled"),
            address: item
                .get("address")
                .map_or(Vec::new(), |list| list.as_list().to_vec()),
            max_sessions: usize::try_from(number("max-sessions")?).ok()?,
            only_tls12: item.text("tls-version") == "only-1.2",
            certificate: match item.text("certificate") {
                "none" => String::new(),
                name => name.to_owned(),
            },
        })
    }

    /// Returns true if a client address is permitted.
    pub(crate) fn admits(&self, peer: IpAddr) -> bool {
        admits(&self.address, peer)
    }
}

/// Returns true if an address is in one of the networks, or if there are none.
pub(crate) fn admits(networks: &[Value], peer: IpAddr) -> bool {
    let peer = peer.to_canonical();
    let mut networks = networks.iter().filter_map(Value::as_prefix).peekable();
    networks.peek().is_none() || networks.any(|network| network.contains(&peer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use menu::Offline;
    use script::Session;

    #[test]
    fn a_service_accepts_only_its_networks() {
        let mut store = schema::store();
        let text = "/ip/service set api address=10.0.0.0/8,fd00::/8 port=1000 max-sessions=3";
        let mut out = String::new();
        script::run(
            &mut store,
            &mut Offline,
            &mut Session::new("admin"),
            text,
            &mut out,
        )
        .expect("a command");

        let services = Service::all(&store);
        let named = |name: &str| {
            let found = services.iter().find(|service| service.name == name);
            found.expect("a service").clone()
        };
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let api = named("api");
        assert_eq!((api.port, api.max_sessions), (1000, 3));
        assert!(api.admits(address("10.1.2.3")));
        assert!(api.admits(address("::ffff:10.1.2.3")));
        assert!(api.admits(address("fd00::1")));
        assert!(!api.admits(address("192.0.2.1")));
        assert!(named("www").admits(address("192.0.2.1")));
        assert!(named("www-ssl").disabled);
    }
}
