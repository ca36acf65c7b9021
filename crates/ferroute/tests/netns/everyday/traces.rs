//! Checks of traces: their verdicts match the results of real pings.

use super::Everyday;
use crate::trace::trace_more;

pub(super) fn traces_match_the_results_of_pings(everyday: &Everyday) {
    let [client, laptop, guest, office] =
        ["client", "laptop", "guest", "office"].map(|host| everyday.address_of(host));
    let internet = "198.51.100.80";
    for (host, port, from, to, words) in [
        ("client", "ether2", &client, internet, "sent by ether1"),
        (
            "client",
            "ether2",
            &client,
            laptop.as_str(),
            "so bridge bridges it",
        ),
        (
            "client",
            "ether2",
            &client,
            office.as_str(),
            "eoip-office carries it in a packet",
        ),
        (
            "client",
            "ether2",
            &client,
            office.as_str(),
            "IPsec protects it: transport to 192.0.2.2",
        ),
        (
            "client",
            "ether2",
            &client,
            "10.20.0.10",
            "IPsec protects it: tunnel to 192.0.2.2",
        ),
        (
            "client",
            "ether2",
            &client,
            "10.9.0.2",
            "wireguard1 carries it in a packet",
        ),
        ("guest", "ether4", &guest, internet, "in VLAN 20"),
    ] {
        let more = ["--proto", "icmp"];
        let (code, said) = trace_more(everyday.router(), port, from, to, &more);
        assert_eq!(code, Some(0), "{host} -> {to}: {said:#}");
        assert!(
            said.to_string().contains(words),
            "{host} -> {to}: {words}: {said:#}"
        );
        everyday.run(host, &format!("ping -q -c 1 -W 5 {to}"));
    }
    // Guests reach only the internet.
    let more = ["--proto", "icmp"];
    let (code, said) = trace_more(everyday.router(), "ether4", &guest, &client, &more);
    assert_eq!(code, Some(10), "{said:#}");
    assert!(
        said["decision"].to_string().contains("(firewall-filter)"),
        "{said:#}"
    );
    assert!(!everyday.works("guest", &format!("ping -q -c 1 -W 1 {client}")));
}
