//! Reads what the planner needs of a configuration.

use std::path::Path;

use board::planner::Setup;
use board::{Board, Suite};
use menu::{Item, Store, Value};
use router::board::Asks;

/// Tables of IPv4 rules.
const RULES: [&str; 4] = [
    "/ip/firewall/filter",
    "/ip/firewall/mangle",
    "/ip/firewall/nat",
    "/ip/firewall/raw",
];
/// Menus of tunnels that IPsec protects if they have an `ipsec-secret`.
const TUNNELS: [&str; 3] = ["/interface/eoip", "/interface/gre", "/interface/ipip"];

/// Reads a file.
///
/// # Errors
/// The file cannot be imported.
pub(super) fn read(file: &Path, board: &Board) -> Result<Setup, String> {
    let mut store = schema::store();
    crate::run::config::import_file(&mut store, file)?;
    Ok(of(&store, board))
}

/// Returns the configuration as the planner needs it. On a board without chips, the processor forwards all traffic.
fn of(store: &Store, board: &Board) -> Setup {
    let asks = Asks::of(store);
    let plan = asks.plan(board, None);
    let switched = asks.switched(&plan).into_iter().map(str::to_owned);
    let bridges = asks
        .ports()
        .map(|(port, bridge)| (device(store, port), bridge.to_string()));
    let count = |path: &str| enabled(store, path).count() as u32;
    let rules = || RULES.iter().flat_map(|path| enabled(store, path));
    let settings = store.items("/interface/bridge/settings").next();
    Setup {
        switched: switched.collect(),
        bridges: bridges.collect(),
        bridge_rules: count("/interface/bridge/filter") + count("/interface/bridge/nat"),
        rules: rules().count() as u32,
        queues: count("/queue/simple") + count("/queue/tree"),
        use_ip_firewall: settings.is_some_and(|item| item.is("use-ip-firewall")),
        fasttrack: rules().any(|rule| rule.text("action") == "fasttrack-connection"),
        suite: suite(store),
    }
}

fn enabled<'a>(store: &'a Store, path: &str) -> impl Iterator<Item = &'a Item> {
    let items = store.items(path).map(|item| &**item);
    items.filter(|item| !item.is("disabled"))
}

/// Returns the device of an interface; other interfaces keep their names.
fn device(store: &Store, interface: &str) -> String {
    let item = store.named("interface", interface);
    let device = item.map(|item| item.text("default-name"));
    let device = device.filter(|device| !device.is_empty());
    device.unwrap_or(interface).to_owned()
}

/// Returns the suite of IPsec: that of the first policy's proposal, or of the default proposal if a tunnel has an
/// `ipsec-secret`. Returns `None` without IPsec, or if no rates of the suite are published.
fn suite(store: &Store) -> Option<Suite> {
    let policy = enabled(store, "/ip/ipsec/policy").find(|policy| !policy.is("template"));
    let mut tunnels = TUNNELS.iter().flat_map(|path| enabled(store, path));
    let name = match policy {
        Some(policy) => policy.text("proposal"),
        None => tunnels
            .any(|tunnel| !tunnel.text("ipsec-secret").is_empty())
            .then_some("default")?,
    };
    let proposal = enabled(store, "/ip/ipsec/proposal").find(|item| item.name() == Some(name))?;
    let words = |property: &str| {
        let value = proposal.get(property).map(Value::as_list);
        let value = value.unwrap_or_default();
        let words = value.iter().filter_map(Value::as_str);
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    let hashes = words("auth-algorithms");
    let mut pairs = { words("enc-algorithms") }
        .into_iter()
        .flat_map(|cipher| hashes.iter().map(move |hash| (cipher.clone(), hash)));
    pairs.find_map(|(cipher, hash)| Suite::named(&cipher, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bridges_rules_queues_and_ipsec_are_read() {
        let mut store = schema::store();
        let report = script::check(
            &mut store,
            "/interface/bridge add name=lan
/interface/ethernet set [find default-name=ether2] name=office
/interface/bridge/port add bridge=lan interface=office
/interface/bridge/port add bridge=lan interface=ether3 hw=no
/interface/bridge/filter add chain=forward action=accept
/interface/bridge/settings set use-ip-firewall=yes
/ip/firewall/filter add chain=forward action=fasttrack-connection
/ip/firewall/filter add chain=forward action=accept disabled=yes
/ip/firewall/nat add chain=srcnat action=masquerade
/queue/simple add name=one target=10.0.0.0/8 max-limit=1M/1M
/ip/ipsec/proposal add name=strong enc-algorithms=aes-256-cbc auth-algorithms=sha256
/ip/ipsec/policy add src-address=10.0.0.0/8 dst-address=11.0.0.0/8 tunnel=yes proposal=strong \
             sa-src-address=1.1.1.1 sa-dst-address=2.2.2.2
",
        );
        assert!(report.refused.is_empty(), "{:?}", report.refused);
        let hex = Board::named("hEX").expect("known");
        let setup = of(&store, hex);
        let switched: Vec<_> = setup.switched.iter().collect();
        assert_eq!(switched, ["ether2"]);
        assert_eq!(setup.bridges["ether2"], "lan");
        assert_eq!(setup.bridges["ether3"], "lan");
        assert_eq!((setup.rules, setup.bridge_rules, setup.queues), (2, 1, 1));
        assert!(setup.use_ip_firewall && setup.fasttrack);
        assert_eq!(
            setup.suite.map(|suite| suite.to_string()),
            Some(String::from("aes-256-cbc+sha256"))
        );
        assert_eq!(of(&schema::store(), hex).suite, None);
    }
}
