//! The compared kinds of tunnels, and their configurations.

use crate::bench::tunnels::CERTIFICATE;

/// A kind of tunnel.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Layers for `calc tunnel`, from the inside to the outside; empty without a tunnel.
    pub(super) layers: &'static str,
    setup: Setup,
    pub(super) talk: Option<Talk>,
}

/// Results of the talk, measured with a hAP ac (MUM Europe 2016).
#[derive(Clone, Copy)]
pub(super) struct Talk {
    pub(super) mbps: f64,
    pub(super) overhead_percent: f64,
    pub(super) cpu_percent: f64,
}

enum Setup {
    /// A route between the sites, with further commands for each site; `{site}` and `{other}` are numbers.
    Routed(&'static str),
    /// An interface `vpn` at each site, with addresses and routes.
    Interface(&'static str),
    /// A PPP session.
    Ppp(Ppp),
    /// WireGuard with fixed keys.
    Wireguard,
}

/// A service of PPP.
struct Ppp {
    service: &'static str,
    /// Properties of the profile.
    profile: &'static str,
    /// Command of the server.
    server: &'static str,
    /// Commands for the running server.
    begin: &'static [&'static str],
    /// Properties of the client.
    client: &'static str,
}

const PPP: Ppp = Ppp {
    service: "",
    profile: "",
    server: "",
    begin: &[],
    client: "connect-to=192.0.2.2",
};

const fn kind(name: &'static str, layers: &'static str, setup: Setup) -> Kind {
    Kind {
        name,
        layers,
        setup,
        talk: None,
    }
}

const fn in_talk(kind: Kind, mbps: f64, overhead_percent: f64, cpu_percent: f64) -> Kind {
    Kind {
        talk: Some(Talk {
            mbps,
            overhead_percent,
            cpu_percent,
        }),
        ..kind
    }
}

const SSTP: &[&str] = &[
    CERTIFICATE[0],
    CERTIFICATE[1],
    "/interface/sstp-server/server/set enabled=yes certificate=vpn",
];
const OVPN: &[&str] = &[
    CERTIFICATE[0],
    CERTIFICATE[1],
    "/interface/ovpn-server/server/set ovpn1 certificate=vpn disabled=no",
];

/// All kinds, in the order of the report.
pub(super) const KINDS: &[Kind] = &[
    in_talk(kind("none", "", Setup::Routed("")), 805.0, 4.3, 35.0),
    kind("ipip", "ipip", Setup::Interface("ipip add {ends}")),
    kind("gre", "gre", Setup::Interface("gre add {ends}")),
    kind(
        "eoip",
        "eoip",
        Setup::Interface("eoip add {ends} tunnel-id=77"),
    ),
    kind(
        "vxlan",
        "vxlan",
        Setup::Interface(
            "vxlan add name=vpn vni=77\n/interface vxlan vteps add interface=vpn remote-ip=192.0.2.{other}",
        ),
    ),
    kind(
        "ipip-ipsec",
        "ipip,esp-transport:aes-cbc-128:sha1",
        Setup::Interface("ipip add {ends} {secret}"),
    ),
    kind(
        "gre-ipsec",
        "gre,esp-transport:aes-cbc-128:sha1",
        Setup::Interface("gre add {ends} {secret}"),
    ),
    kind(
        "eoip-ipsec",
        "eoip,esp-transport:aes-cbc-128:sha1",
        Setup::Interface("eoip add {ends} tunnel-id=77 {secret}"),
    ),
    in_talk(
        kind(
            "ipsec-cbc",
            "esp-tunnel:aes-cbc-128:sha1",
            Setup::Routed(concat!(
                "/ip ipsec proposal set default auth-algorithms=sha1 enc-algorithms=aes-128-cbc pfs-group=modp1024\n",
                "/ip ipsec peer add name=far address=192.0.2.{other}/32 exchange-mode=ike2\n",
                "/ip ipsec identity add peer=far secret=\"correct horse\"\n",
                "/ip ipsec policy add peer=far tunnel=yes src-address=10.{site}.0.0/24 dst-address=10.{other}.0.0/24\n",
            )),
        ),
        47.19,
        8.3,
        99.0,
    ),
    kind(
        "ipsec-gcm",
        "esp-tunnel:aes-gcm-256",
        Setup::Routed(concat!(
            "/ip ipsec proposal set default auth-algorithms=\"\" enc-algorithms=aes-256-gcm\n",
            "/ip ipsec peer add name=far address=192.0.2.{other}/32 exchange-mode=ike2\n",
            "/ip ipsec identity add peer=far secret=\"correct horse\"\n",
            "/ip ipsec policy add peer=far tunnel=yes src-address=10.{site}.0.0/24 dst-address=10.{other}.0.0/24\n",
        )),
    ),
    kind("wireguard", "wireguard", Setup::Wireguard),
    kind(
        "pppoe",
        "pppoe",
        Setup::Ppp(Ppp {
            service: "pppoe",
            server: "/interface pppoe-server server add service-name=isp interface=ether2 default-profile=home disabled=no",
            client: "interface=ether2",
            ..PPP
        }),
    ),
    in_talk(
        kind(
            "pptp",
            "pptp",
            Setup::Ppp(Ppp {
                service: "pptp",
                profile: "use-encryption=required",
                server: "/interface pptp-server server set enabled=yes default-profile=home authentication=mschap2",
                ..PPP
            }),
        ),
        97.5,
        7.2,
        99.0,
    ),
    kind(
        "l2tp",
        "l2tp",
        Setup::Ppp(Ppp {
            service: "l2tp",
            server: "/interface l2tp-server server set enabled=yes default-profile=home",
            ..PPP
        }),
    ),
    kind(
        "l2tp-ipsec",
        "l2tp,esp-transport:aes-cbc-256:sha1",
        Setup::Ppp(Ppp {
            service: "l2tp",
            server: "/interface l2tp-server server set enabled=yes default-profile=home use-ipsec=required ipsec-secret=shared",
            client: "connect-to=192.0.2.2 use-ipsec=yes ipsec-secret=shared",
            ..PPP
        }),
    ),
    in_talk(
        kind(
            "sstp",
            "sstp",
            Setup::Ppp(Ppp {
                service: "sstp",
                server: "/interface sstp-server server set default-profile=home authentication=mschap2",
                begin: SSTP,
                ..PPP
            }),
        ),
        15.0,
        13.0,
        50.0,
    ),
    kind(
        "ovpn-udp",
        "ovpn",
        Setup::Ppp(Ppp {
            service: "ovpn",
            server: "/interface ovpn-server server add name=ovpn1 protocol=udp cipher=aes256-gcm default-profile=home",
            begin: OVPN,
            client: "connect-to=192.0.2.2 protocol=udp cipher=aes256-gcm",
            ..PPP
        }),
    ),
    in_talk(
        kind(
            "ovpn-tcp",
            "ovpn-tcp:aes-cbc-128:sha1",
            Setup::Ppp(Ppp {
                service: "ovpn",
                server: "/interface ovpn-server server add name=ovpn1 protocol=tcp cipher=aes128-cbc auth=sha1 default-profile=home",
                begin: OVPN,
                client: "connect-to=192.0.2.2 protocol=tcp cipher=aes128-cbc auth=sha1",
                ..PPP
            }),
        ),
        24.56,
        15.0,
        65.0,
    ),
];

impl Kind {
    /// Returns the configuration of a site: 1 is the client, 2 the server.
    pub(super) fn configuration(&self, site: u8) -> String {
        let (site_text, other) = (site.to_string(), (3 - site).to_string());
        let filled = |text: &str| {
            text.replace(
                "{ends}",
                "name=vpn local-address=192.0.2.{site} remote-address=192.0.2.{other}",
            )
            .replace(
                "{secret}",
                "ipsec-secret=\"correct horse\" allow-fast-path=no",
            )
            .replace("{site}", &site_text)
            .replace("{other}", &other)
        };
        let specific = match &self.setup {
            Setup::Routed(commands) => format!(
                "/ip route add dst-address=10.{{other}}.0.0/24 gateway=192.0.2.{{other}}\n{commands}"
            ),
            Setup::Interface(command) => format!("/interface {command}\n{INSIDE}"),
            Setup::Wireguard => wireguard(site),
            Setup::Ppp(ppp) => ppp.configuration(site),
        };
        filled(&format!("{BASE}{specific}"))
    }

    /// Returns the commands for the running server.
    pub(super) fn begin(&self) -> &'static [&'static str] {
        match &self.setup {
            Setup::Ppp(ppp) => ppp.begin,
            Setup::Routed(_) | Setup::Interface(_) | Setup::Wireguard => &[],
        }
    }
}

const BASE: &str = "/ip address add address=10.{site}.0.1/24 interface=ether1
/ip address add address=192.0.2.{site}/24 interface=ether2
";

/// Addresses inside a tunnel interface, and the route through it.
const INSIDE: &str = "/ip address add address=172.16.0.{site}/30 interface=vpn
/ip route add dst-address=10.{other}.0.0/24 gateway=172.16.0.{other}
";

impl Ppp {
    fn configuration(&self, site: u8) -> String {
        let Self {
            service,
            profile,
            server,
            client,
            ..
        } = self;
        match site {
            1 => format!(
                "/ppp profile set default-encryption {profile}
/interface {service}-client add name=vpn {client} user=anna password=geheim profile=default-encryption disabled=no
/ip route add dst-address=10.2.0.0/24 gateway=vpn
"
            ),
            _ => format!(
                "/ppp profile add name=home local-address=10.8.0.1 remote-address=10.8.0.2 {profile}
/ppp secret add name=anna password=geheim profile=home service={service} routes=10.1.0.0/24
{server}
"
            ),
        }
    }
}

/// Returns the commands of WireGuard, with the keys of RFC 7748, 6.1.
fn wireguard(site: u8) -> String {
    let (private, public, endpoint) = match site {
        1 => (
            "dwdtCnMYpX08FsFyUbJmRd9ML4frwJkqsXf7pR25LCo=",
            "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=",
            "endpoint-address=192.0.2.2 endpoint-port=13231",
        ),
        _ => (
            "XasIfmJKikt54X+Lg4AO5m87sSkmGLb9HC+LJ/+I4Os=",
            "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=",
            "responder=yes",
        ),
    };
    format!(
        "/interface wireguard add name=vpn listen-port=13231 private-key=\"{private}\"
/interface wireguard peers add interface=vpn name=far public-key=\"{public}\" \
allowed-address=10.{{other}}.0.0/24,172.16.0.{{other}}/32 {endpoint}
{INSIDE}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::measure::Calculated;
    use super::*;

    #[test]
    fn every_kind_has_two_whole_configurations_and_known_layers() {
        for kind in KINDS {
            for site in [1, 2] {
                let text = kind.configuration(site);
                assert!(!text.contains('{'), "{}: {text}", kind.name);
                assert!(text.contains(&format!("10.{site}.0.1/24")), "{text}");
            }
            if !kind.layers.is_empty() {
                let calculated = Calculated::of(kind.layers);
                let fits = calculated.is_ok_and(|calculated| calculated.mtu > 1_300);
                assert!(fits, "{}", kind.name);
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
    }
}
