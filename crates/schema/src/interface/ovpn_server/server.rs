//! `/interface/ovpn-server/server`: OpenVPN servers.

use menu::{Builtin, Family, Kind, Menu, MenuShape, OldProperty, Policies, Property};

use crate::declare::{
    APPEND, AS_VALUE, DO, DURATION, FILE, FREEZE, IN_VRF, INTERVAL, ONCE, WITHOUT_PAGING, argument,
    certificate, command, list, mac, no, number, text, words,
};
use crate::fragment::{COMMENT_WAITING, DISABLED_INVALID};
use crate::interface::dial::{TLS, keepalive, profile};
use crate::interface::ovpn_client::{CIPHERS, DIGESTS, is_blowfish, rename_ciphers};

const ENABLED: OldProperty = OldProperty {
    name: "enabled",
    value: Some("yes"),
    becomes: "disabled",
    with: Some("no"),
    makes: None,
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the server"),
            number("port", 1, 65_535, "Port of the server").default("1194"),
            words("mode", &["ethernet", "ip"], "Mode: ip or ethernet").default("ip"),
            words("protocol", &["tcp", "udp"], "Transport protocol").default("tcp"),
            number("netmask", 0, 32, "Prefix length for clients").default("24"),
            mac(
                "mac-address",
                "Hardware address of sessions (mode=ethernet)",
            ),
            number("max-mtu", 64, 65_535, "Maximum transmit unit").default("1500"),
            keepalive("60"),
            profile("default-profile", "default"),
            certificate("certificate", "The server's certificate"),
            no(
                "require-client-certificate",
                "Accept only clients with a certificate",
            ),
            TLS,
            list("auth", &Kind::Words(DIGESTS), "Message authentication")
                .default("sha1,md5,sha256,sha512"),
            list("cipher", &Kind::Words(CIPHERS), "Cipher")
                .default("blowfish128,aes128-cbc")
                .inert_for(is_blowfish),
            number(
                "reneg-sec",
                0,
                4_294_967_295,
                "Interval of key renegotiation in seconds",
            )
            .default("3600"),
            list(
                "redirect-gateway",
                &Kind::Words(&["def1", "disabled", "ipv6"]),
                "Redirect all client traffic through the tunnel",
            )
            .default("disabled"),
            text("push-routes", "Routes sent to clients"),
            text("push-routes-ipv6", "IPv6 routes sent to clients"),
            no("enable-tun-ipv6", "Carry IPv6"),
            number("ipv6-prefix-len", 1, 128, "Length of clients' IPv6 prefix").default("64"),
            Property::new(
                "tun-server-ipv6",
                Kind::Address(Family::V6),
                "The server's IPv6 address",
            )
            .default("::"),
            words(
                "user-auth-method",
                &["mschap2", "pap"],
                "User authentication method",
            )
            .default("pap"),
            IN_VRF.inert(),
        ],
        COMMENT_WAITING,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "port", "mode", "protocol"],
    commands: &[command(
        "export-client-configuration",
        "Write the OpenVPN file of a client",
        &[
            APPEND,
            AS_VALUE,
            argument("ca-certificate", Kind::Text, "Certificate of the authority"),
            argument("client-cert-key", Kind::Text, "File with the client's key"),
            argument("client-certificate", Kind::Text, "The client's certificate"),
            DO,
            DURATION,
            FILE,
            FREEZE,
            INTERVAL,
            ONCE,
            argument("server", Kind::Text, "Name of the server"),
            argument(
                "server-address",
                Kind::Text,
                "Address or name of the server",
            ),
            WITHOUT_PAGING,
        ],
    )],
    command_policies: &[(
        "export-client-configuration",
        Policies::READ.or(Policies::WRITE).or(Policies::SENSITIVE),
    )],
    key: Some("name"),
    kind: "ovpn-server",
    // RouterOS 6 had a single server.
    supposed: &[Builtin {
        values: &[("name", "ovpn-server1")],
    }],
    old: &[
        ENABLED,
        OldProperty {
            value: Some("no"),
            with: Some("yes"),
            ..ENABLED
        },
    ],
    derive: Some(rename_ciphers),
    ..Menu::new(
        "/interface/ovpn-server/server",
        MenuShape::List,
        "OpenVPN servers",
    )
};
