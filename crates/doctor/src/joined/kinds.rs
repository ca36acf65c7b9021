//! All kinds of tunnels, with what must agree between their ends.

use super::agreement::{Agreement, PropertyPath, Term, addresses_meet};
use super::end::{Aim, End, Pairs, Role, Router};
use super::pairing;
use crate::config::{has, shown};

/// A kind of tunnel.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Finds the ends that belong together.
    pub(super) pair: for<'a> fn(&Router<'a>, &Router<'a>) -> Pairs<'a>,
    /// What must agree; clients are the first ends.
    pub(super) terms: &'static [Term],
}

/// All kinds.
pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "IPsec peer",
        pair: pairing::ipsec::peers,
        terms: PEER,
    },
    Kind {
        name: "IPsec policy",
        pair: pairing::ipsec::policies,
        terms: POLICY,
    },
    Kind {
        name: "WireGuard",
        pair: pairing::wireguard::peers,
        terms: WIREGUARD,
    },
    Kind {
        name: "EoIP",
        pair: pairing::tunnel::eoip,
        terms: EOIP,
    },
    Kind {
        name: "GRE",
        pair: pairing::tunnel::gre,
        terms: PROTOCOL,
    },
    Kind {
        name: "IPIP",
        pair: pairing::tunnel::ipip,
        terms: PROTOCOL,
    },
    Kind {
        name: "VXLAN",
        pair: pairing::tunnel::vxlan,
        terms: VXLAN,
    },
    Kind {
        name: "L2TP",
        pair: pairing::ppp::l2tp,
        terms: L2TP,
    },
    Kind {
        name: "PPTP",
        pair: pairing::ppp::pptp,
        terms: PPTP,
    },
    Kind {
        name: "SSTP",
        pair: pairing::ppp::sstp,
        terms: SSTP,
    },
    Kind {
        name: "OpenVPN",
        pair: pairing::ppp::openvpn,
        terms: OPENVPN,
    },
    Kind {
        name: "PPPoE",
        pair: pairing::ppp::pppoe,
        terms: PPTP,
    },
];

const fn at(role: Role, property: &'static str) -> PropertyPath {
    PropertyPath { role, property }
}

const UNSET: &[&str] = &["0.0.0.0", "::"];

const PEER: &[Term] = &[
    Term::same(
        Role::Tunnel,
        "exchange-mode",
        "IKEv1 and IKEv2, and the modes of IKEv1, do not talk to each other: no answer",
    ),
    Term::same(
        Role::Tunnel,
        "passive",
        "both ends wait: none begins the exchange",
    )
    .agreeing(Agreement::NoneOf(&[("yes", "yes")])),
    Term::same(
        Role::Profile,
        "hash-algorithm",
        "phase 1 ends with no-proposal-chosen",
    ),
    Term::same(
        Role::Profile,
        "enc-algorithm",
        "no common cipher: phase 1 ends with no-proposal-chosen",
    )
    .agreeing(Agreement::Overlap),
    Term::same(
        Role::Profile,
        "dh-group",
        "no common group: phase 1 ends with no-proposal-chosen",
    )
    .agreeing(Agreement::Overlap),
    Term::same(
        Role::Profile,
        "nat-traversal",
        "IKEv1 with NAT between the ends needs NAT traversal at both: ESP does not pass otherwise",
    )
    .warns(),
    Term::same(
        Role::Identity,
        "auth-method",
        "each end proves itself by a method that the other one does not expect: authentication fails",
    )
    .agreeing(Agreement::NoneOf(DIFFERENT_METHODS)),
    Term::same(
        Role::Identity,
        "secret",
        "different pre-shared keys: authentication fails (an export without show-sensitive has none)",
    ),
    Term::between(
        at(Role::Identity, "my-id"),
        at(Role::Identity, "remote-id"),
        Agreement::EqualUnless(&["auto", "ignore", "dn"]),
        "one end expects another identity than the other end has: authentication fails",
    )
    .mirrored(),
    Term::same(
        Role::Tunnel,
        "address",
        "the address is not one of the other router: its requests go elsewhere",
    )
    .agreeing(Agreement::By(is_aimed))
    .mirrored(),
];

/// Methods of authentication that exclude each other. EAP has different names at both ends.
const DIFFERENT_METHODS: &[(&str, &str)] = &[
    ("pre-shared-key", "digital-signature"),
    ("digital-signature", "pre-shared-key"),
    ("pre-shared-key", "eap"),
    ("eap", "pre-shared-key"),
    ("pre-shared-key", "eap-radius"),
    ("eap-radius", "pre-shared-key"),
    ("pre-shared-key", "pre-shared-key-xauth"),
    ("pre-shared-key-xauth", "pre-shared-key"),
    ("pre-shared-key-xauth", "digital-signature"),
    ("digital-signature", "pre-shared-key-xauth"),
    ("rsa-key", "pre-shared-key"),
    ("pre-shared-key", "rsa-key"),
    ("rsa-key", "digital-signature"),
    ("digital-signature", "rsa-key"),
    ("eap", "eap"),
    ("eap-radius", "eap-radius"),
];

const POLICY: &[Term] = &[
    Term::between(
        at(Role::Tunnel, "src-address"),
        at(Role::Tunnel, "dst-address"),
        Agreement::Equal,
        "the selectors are no mirror images: phase 2 fails with ts-unacceptable, or packets of one direction stay \
         outside the tunnel",
    )
    .mirrored(),
    Term::between(
        at(Role::Tunnel, "src-port"),
        at(Role::Tunnel, "dst-port"),
        Agreement::Equal,
        "the ports of the selectors are no mirror images: phase 2 fails",
    )
    .mirrored(),
    Term::same(
        Role::Tunnel,
        "protocol",
        "the selectors name different protocols: phase 2 fails",
    ),
    Term::same(
        Role::Tunnel,
        "tunnel",
        "one end encapsulates whole packets, the other only their content: phase 2 fails",
    ),
    Term::same(
        Role::Tunnel,
        "ipsec-protocols",
        "one end uses ESP and the other AH: phase 2 fails",
    ),
    Term::same(
        Role::Proposal,
        "enc-algorithms",
        "no common cipher: phase 2 ends with no-proposal-chosen",
    )
    .agreeing(Agreement::Overlap),
    Term::same(
        Role::Proposal,
        "auth-algorithms",
        "no common authentication algorithm: phase 2 ends with no-proposal-chosen",
    )
    .agreeing(Agreement::OverlapUnlessAead),
    Term::same(
        Role::Proposal,
        "pfs-group",
        "different groups for perfect forward secrecy: phase 2 fails, in IKEv2 at its first renewal",
    ),
];

const WIREGUARD: &[Term] = &[
    Term::between(
        at(Role::Tunnel, "public-key"),
        at(Role::Interface, "listen-port"),
        Agreement::By(|first, second| {
            let expected = first.item(Role::Tunnel).map(|peer| peer.text("public-key"));
            second.public_key.is_none() || expected == second.public_key.as_deref()
        }),
        "the key is not that of the other end's interface: every handshake is discarded",
    )
    .mirrored(),
    Term::same(
        Role::Tunnel,
        "preshared-key",
        "the preshared keys differ: every handshake is discarded",
    ),
    Term::between(
        at(Role::Tunnel, "endpoint-port"),
        at(Role::Interface, "listen-port"),
        Agreement::By(|first, second| {
            let port = first.item(Role::Tunnel).and_then(|peer| peer.number("endpoint-port"));
            let listens = second.item(Role::Interface).and_then(|own| own.number("listen-port"));
            // NAT may translate the port; without an address the port is unused.
            first.aim != Aim::Hit || port.unwrap_or(0) == 0 || port == listens
        }),
        "handshakes go to a port on which the other end does not listen",
    )
    .mirrored(),
    Term::between(
        at(Role::Tunnel, "allowed-address"),
        at(Role::Tunnel, "interface"),
        Agreement::By(|first, second| {
            let allowed = first.item(Role::Tunnel).map(pairing::wireguard::allowed);
            let allowed = allowed.unwrap_or_default();
            let mut far = second.networks.iter();
            far.all(|net| allowed.iter().any(|own| own.contains(&net.addr())))
        }),
        "allowed-address lacks the other end's address on the tunnel: its packets are discarded, and none go there",
    )
    .mirrored(),
    Term::same(
        Role::Tunnel,
        "endpoint-address",
        "no end knows the address of the other: none begins",
    )
    .agreeing(Agreement::NoneOf(&[("", "")])),
    Term::same(
        Role::Tunnel,
        "responder",
        "both ends wait: none begins the handshake",
    )
    .agreeing(Agreement::NoneOf(&[("yes", "yes")])),
    Term::between(
        at(Role::Tunnel, "persistent-keepalive"),
        at(Role::Tunnel, "endpoint-address"),
        Agreement::By(|first, second| {
            let begins = first.item(Role::Tunnel).is_some_and(|peer| has(peer, "endpoint-address"));
            let keeps = first.item(Role::Tunnel).map(|peer| shown(peer, "persistent-keepalive"));
            let is_called = second.item(Role::Tunnel).is_some_and(|peer| has(peer, "endpoint-address"));
            !begins || is_called || keeps.is_some_and(|time| !matches!(time.as_str(), "" | "0s"))
        }),
        "only one end can begin, and NAT forgets it after some minutes of silence: the other end reaches it no more",
    )
    .mirrored()
    .warns(),
    Term::same(
        Role::Interface,
        "mtu",
        "packets of the larger MTU are lost or fragmented in one direction",
    )
    .warns(),
    ADDRESSES,
];

/// The addresses on the tunnel belong to one network.
const ADDRESSES: Term = Term::same(
    Role::Tunnel,
    "interface",
    "the addresses on the tunnel have no network in common: the ends do not reach each other through it",
)
.agreeing(Agreement::By(addresses_meet));

const TUNNEL_ADDRESSES: Term = Term::same(
    Role::Tunnel,
    "name",
    "the addresses on the tunnel have no network in common: the ends do not reach each other through it",
)
.agreeing(Agreement::By(addresses_meet));

const REMOTE: Term = Term::between(
    at(Role::Tunnel, "remote-address"),
    at(Role::Tunnel, "local-address"),
    Agreement::By(is_aimed),
    "remote-address is not an address of the other router: packets go elsewhere",
)
.mirrored();

/// A local address is the address that the other end sends to, unless NAT translates it.
const LOCAL: Term = Term::between(
    at(Role::Tunnel, "local-address"),
    at(Role::Tunnel, "remote-address"),
    Agreement::By(|first, second| {
        let local = first
            .item(Role::Tunnel)
            .map(|tunnel| shown(tunnel, "local-address"));
        let local = local.unwrap_or_default();
        let is_free = local.is_empty() || UNSET.contains(&local.as_str());
        is_free || second.aim != Aim::Hit || local == second.remote
    }),
    "the other end sends to another address of this router: the tunnel discards its packets",
)
.mirrored();

const SECRET: Term = Term::same(
    Role::Tunnel,
    "ipsec-secret",
    "the secrets differ: IPsec is not established, and packets are dropped (an export without show-sensitive has none)",
);

const MTU: Term = Term::same(
    Role::Tunnel,
    "mtu",
    "packets of the larger MTU are lost or fragmented in one direction",
)
.warns();

const EOIP: &[Term] = &[
    Term::same(
        Role::Tunnel,
        "tunnel-id",
        "a packet names its tunnel by this number: the other end discards all packets",
    ),
    REMOTE,
    LOCAL,
    SECRET,
    MTU,
    TUNNEL_ADDRESSES,
];

const PROTOCOL: &[Term] = &[REMOTE, LOCAL, SECRET, MTU, TUNNEL_ADDRESSES];

const VXLAN: &[Term] = &[
    Term::same(
        Role::Tunnel,
        "vni",
        "a packet names its network by this number: the other end discards all packets",
    ),
    Term::between(
        at(Role::Vtep, "port"),
        at(Role::Tunnel, "port"),
        Agreement::By(|first, second| {
            let vtep = first.item(Role::Vtep).and_then(|vtep| vtep.number("port"));
            let own = first.item(Role::Tunnel).and_then(|own| own.number("port"));
            let listens = second.item(Role::Tunnel).and_then(|far| far.number("port"));
            vtep.or(own) == listens
        }),
        "packets go to a port on which the other end does not listen",
    )
    .mirrored(),
    Term::same(
        Role::Tunnel,
        "vteps-ip-version",
        "one end uses IPv4 and the other IPv6: they do not hear each other",
    ),
    MTU,
    TUNNEL_ADDRESSES,
];

/// Returns true unless an end names an address that the other router does not have.
fn is_aimed(first: &End<'_>, _: &End<'_>) -> bool {
    first.aim != Aim::Miss
}

const PASSWORD: Term = Term::between(
    at(Role::Tunnel, "password"),
    at(Role::Secret, "password"),
    Agreement::Equal,
    "the passwords differ: authentication fails (an export without show-sensitive has none)",
);

const SERVICE: Term = Term::between(
    at(Role::Tunnel, "user"),
    at(Role::Secret, "service"),
    Agreement::By(|client, server| {
        let path = client.tunnel().menu.path;
        let service = server
            .item(Role::Secret)
            .map(|secret| secret.text("service"));
        service.is_none_or(|service| {
            matches!(service, "" | "any") || path.starts_with(&format!("/interface/{service}-"))
        })
    }),
    "the user may use another service only: authentication fails",
);

const ASSIGNED: Term = Term::between(
    at(Role::Tunnel, "user"),
    at(Role::Secret, "remote-address"),
    Agreement::By(|_, server| {
        let items = [Role::Secret, Role::UserProfile].map(|role| server.item(role));
        let mut items = items.into_iter().flatten();
        items.any(|item| has(item, "remote-address"))
    }),
    "neither the user nor the profile has remote-address: the client gets no address",
)
.warns();

const ENCRYPTION: Term = Term::between(
    at(Role::Profile, "use-encryption"),
    at(Role::UserProfile, "use-encryption"),
    Agreement::NoneOf(&[("required", "no"), ("no", "required")]),
    "one end requires encryption that the other refuses: the session ends after authentication",
);

const METHODS: Term = Term::between(
    at(Role::Tunnel, "allow"),
    at(Role::Server, "authentication"),
    Agreement::Overlap,
    "no common method of authentication: the session ends",
);

const PPTP: &[Term] = &[PASSWORD, SERVICE, METHODS, ENCRYPTION, ASSIGNED];

const L2TP: &[Term] = &[
    Term::between(
        at(Role::Tunnel, "use-ipsec"),
        at(Role::Server, "use-ipsec"),
        Agreement::NoneOf(&[("yes", "no"), ("no", "required")]),
        "one end requires IPsec that the other does not use: no session",
    ),
    Term::between(
        at(Role::Tunnel, "ipsec-secret"),
        at(Role::Server, "ipsec-secret"),
        Agreement::By(|client, server| {
            let secret =
                |end: &End<'_>, role| end.item(role).map(|item| shown(item, "ipsec-secret"));
            !client.tunnel().is("use-ipsec")
                || secret(client, Role::Tunnel) == secret(server, Role::Server)
        }),
        "the IPsec secrets differ: authentication of IPsec fails (an export without show-sensitive has none)",
    ),
    PASSWORD,
    SERVICE,
    METHODS,
    ENCRYPTION,
    ASSIGNED,
];

/// Certificate that the peer end requires.
const fn certificate(role: Role, property: &'static str, far: Role) -> Term {
    Term::between(
        at(role, property),
        at(far, "certificate"),
        Agreement::NoneOf(&[("yes", "none"), ("yes", "")]),
        "one end requires a certificate that the other does not have: TLS fails",
    )
}

const SSTP: &[Term] = &[
    Term::between(
        at(Role::Tunnel, "port"),
        at(Role::Server, "port"),
        Agreement::Equal,
        "the server listens on another port: no connection",
    ),
    Term::between(
        at(Role::Tunnel, "authentication"),
        at(Role::Server, "authentication"),
        Agreement::Overlap,
        "no common method of authentication: the session ends",
    ),
    Term::between(
        at(Role::Tunnel, "ciphers"),
        at(Role::Server, "ciphers"),
        Agreement::Overlap,
        "no common cipher: TLS fails",
    ),
    certificate(Role::Tunnel, "verify-server-certificate", Role::Server),
    PASSWORD,
    SERVICE,
    ASSIGNED,
];

const OPENVPN: &[Term] = &[
    Term::between(
        at(Role::Tunnel, "port"),
        at(Role::Server, "port"),
        Agreement::Equal,
        "the server listens on another port: no connection",
    ),
    Term::between(
        at(Role::Tunnel, "protocol"),
        at(Role::Server, "protocol"),
        Agreement::Equal,
        "one end uses TCP and the other UDP: no connection",
    ),
    Term::between(
        at(Role::Tunnel, "mode"),
        at(Role::Server, "mode"),
        Agreement::Equal,
        "one end sends IP packets and the other Ethernet frames: nothing passes",
    ),
    Term::between(
        at(Role::Tunnel, "cipher"),
        at(Role::Server, "cipher"),
        Agreement::Overlap,
        "no common cipher: the session ends",
    ),
    Term::between(
        at(Role::Tunnel, "auth"),
        at(Role::Server, "auth"),
        Agreement::Overlap,
        "no common authentication algorithm: packets are discarded",
    ),
    certificate(Role::Tunnel, "verify-server-certificate", Role::Server),
    Term::between(
        at(Role::Tunnel, "certificate"),
        at(Role::Server, "require-client-certificate"),
        Agreement::NoneOf(&[("none", "yes"), ("", "yes")]),
        "the server requires a certificate that the client does not have: TLS fails",
    ),
    PASSWORD,
    SERVICE,
    ASSIGNED,
];
