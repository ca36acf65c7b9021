//! Commands for two sites.

use crate::data::{FarEnd, Need};
use crate::end::{EndText, Keys};
use crate::foreign;

/// Port of WireGuard.
const PORT: u16 = 51820;

/// Returns a command that accepts packets in input before all other rules, if there are any.
pub(crate) fn accept(matchers: &str, comment: &str) -> String {
    format!(
        ":if ([:len [/ip/firewall/filter/find]] > 0) do={{ /ip/firewall/filter/add chain=input action=accept {matchers} \
         comment=\"{comment}\" place-before=[:pick [/ip/firewall/filter/find] 0] }}\n"
    )
}

fn router(name: &str, text: String) -> EndText {
    EndText {
        name: format!("{name} (RouterOS)"),
        text,
    }
}

/// One site of a WireGuard tunnel.
struct Site<'a> {
    private: &'a str,
    far_public: &'a str,
    /// Addresses on the tunnel: of this site, of the other.
    addresses: [&'a str; 2],
    /// Address of the other site; empty if it begins.
    endpoint: &'a str,
    far_network: &'a str,
    keepalive: &'a str,
}

pub(crate) fn wireguard(need: &Need, keys: &Keys) -> Vec<EndText> {
    let site = |site: &Site<'_>| {
        let endpoint = match site.endpoint {
            "" => String::new(),
            address => format!(" endpoint-address={address} endpoint-port={PORT}"),
        };
        let [own, far] = site.addresses;
        format!(
            "/interface/wireguard/add name=wg-site listen-port={PORT} private-key=\"{}\"\n\
             /ip/address/add address={own}/30 interface=wg-site\n\
             /interface/wireguard/peers/add interface=wg-site name=site public-key=\"{}\" preshared-key=\"{}\" \
             allowed-address={far}/32,{}{endpoint}{}\n\
             /ip/route/add dst-address={} gateway={far}\n{}",
            site.private,
            site.far_public,
            keys.preshared,
            site.far_network,
            site.keepalive,
            site.far_network,
            accept(&format!("protocol=udp dst-port={PORT}"), "WireGuard"),
        )
    };
    let keepalive = if need.nat {
        " persistent-keepalive=25s"
    } else {
        ""
    };
    let server = site(&Site {
        private: &keys.server[0],
        far_public: &keys.client[1],
        addresses: ["10.99.99.1", "10.99.99.2"],
        endpoint: if need.nat { "" } else { &need.client },
        far_network: &need.client_network,
        keepalive: "",
    });
    let client = site(&Site {
        private: &keys.client[0],
        far_public: &keys.server[1],
        addresses: ["10.99.99.2", "10.99.99.1"],
        endpoint: &need.server,
        far_network: &need.server_network,
        keepalive,
    });
    vec![router("first site", server), router("second site", client)]
}

/// One site of an IPsec tunnel.
struct Policy<'a> {
    peer: &'a str,
    passive: bool,
    own_network: &'a str,
    far_network: &'a str,
}

pub(crate) fn ike2(need: &Need, keys: &Keys) -> Vec<EndText> {
    let site = |policy: &Policy<'_>| {
        let (own, far) = (policy.own_network, policy.far_network);
        let (address, selector, generates) = match policy.passive {
            true => (
                "0.0.0.0/0 passive=yes".to_owned(),
                format!(
                    "/ip/ipsec/policy/add template=yes group=site src-address={own} dst-address={far} proposal=site\n"
                ),
                " generate-policy=port-strict policy-template-group=site",
            ),
            false => (
                format!("{}/32", policy.peer),
                format!(
                    "/ip/ipsec/policy/add peer=site src-address={own} dst-address={far} tunnel=yes proposal=site\n"
                ),
                "",
            ),
        };
        let group = if policy.passive {
            "/ip/ipsec/policy/group/add name=site\n"
        } else {
            ""
        };
        format!(
            "/ip/ipsec/profile/add name=site hash-algorithm=sha256 enc-algorithm=aes-256 dh-group=ecp256\n\
             /ip/ipsec/proposal/add name=site enc-algorithms=aes-256-gcm auth-algorithms=sha256 pfs-group=ecp256\n\
             {group}/ip/ipsec/peer/add name=site address={address} profile=site exchange-mode=ike2\n\
             /ip/ipsec/identity/add peer=site auth-method=pre-shared-key secret=\"{}\"{generates}\n{selector}{}{}",
            keys.secret,
            accept("protocol=udp dst-port=500,4500", "IKE"),
            accept("protocol=ipsec-esp", "ESP"),
        )
    };
    let first = site(&Policy {
        peer: &need.client,
        passive: need.nat,
        own_network: &need.server_network,
        far_network: &need.client_network,
    });
    let second = site(&Policy {
        peer: &need.server,
        passive: false,
        own_network: &need.client_network,
        far_network: &need.server_network,
    });
    let far = match need.far {
        FarEnd::RouterOs => router("second site", second),
        FarEnd::Azure => foreign::azure(need, keys),
        FarEnd::Aws => foreign::aws(need, keys),
        FarEnd::Cisco => foreign::cisco(need, keys),
    };
    vec![router("first site", first), far]
}
