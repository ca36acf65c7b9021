//! Converts the menus of `/ip/ipsec` to the configuration of the IKE engine and of the workers.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;
use std::sync::Arc;

use certificate::Facts;
use dataplane::ipsec::{Position, Selector};
use ike::{
    Auth, Cipher, Encryption, Exchange, GeneratePolicy, Group, Hash, Id, Identity, Kind, Level,
    Mode, ModeConfig, Peer, PeerId, Policy, PolicyId, Profile, Proposal, ProposalCheck, Protocol,
    RemoteId, Secret,
};
use ipnet::IpNet;
use machine::Duration;
use menu::{Item, Store, Value};

use super::granted_leases::Asks;
use super::proof::{self, Proofs};
use crate::feature::dns;
use crate::firewall::protocol_of as protocol;
use crate::read::prefix;

pub(super) const PROFILE: &str = "/ip/ipsec/profile";
pub(super) const PROPOSAL: &str = "/ip/ipsec/proposal";
pub(super) const PEER: &str = "/ip/ipsec/peer";
pub(super) const IDENTITY: &str = "/ip/ipsec/identity";
pub(super) const POLICY: &str = "/ip/ipsec/policy";
pub(super) const GROUP: &str = "/ip/ipsec/policy/group";
pub(super) const MODE_CONFIG: &str = "/ip/ipsec/mode-config";
pub(super) const DNS: &str = "/ip/dns";
pub(super) const SETTINGS: &str = "/ip/ipsec/settings";

/// Configured action of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Pass,
    Discard,
    Protect { required: bool },
}

/// A policy that packets match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) position: Position,
    pub(super) selector: Selector,
    pub(super) does: Does,
}

/// The configuration read from the menus.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) peers: BTreeMap<PeerId, Peer>,
    /// Policies of the IKE engine, templates included.
    pub(super) policies: BTreeMap<PolicyId, Policy>,
    /// Policies that packets match.
    pub(super) met: BTreeMap<PolicyId, Met>,
    /// Ids of the peers that policies may name, and the proposals, each by name.
    pub(super) peer_ids: BTreeMap<String, PeerId>,
    pub(super) proposals: BTreeMap<String, Proposal>,
    /// Peers that are configured with a DNS name.
    pub(super) named: BTreeMap<PeerId, Arc<str>>,
    /// Peers that are asked for a mode-config lease.
    pub(super) asks: BTreeMap<PeerId, Asks>,
    /// The configured name servers of this router.
    pub(super) dns: Vec<IpAddr>,
    /// Number of open exchanges above which new senders must return a cookie.
    pub(super) cookie_threshold: Option<usize>,
}

/// Sections of the policy table (see [`Position`]): policies of tunnels, and policies of items.
pub(super) const TUNNELS_SECTION: u8 = 1;
const ITEMS_SECTION: u8 = 2;

impl Config {
    /// Replaces a policy; `None` removes it. The caller must have read the policy's peer and
    /// proposal before.
    pub(super) fn put_policy(&mut self, id: PolicyId, item: Option<&Item>) {
        self.met.remove(&id);
        self.policies.remove(&id);
        let Some(item) = item.filter(|item| !item.is("disabled")) else {
            return;
        };
        let Some((source, destination)) = prefixes(item) else {
            return;
        };
        let does = match item.text("action") {
            "none" => Does::Pass,
            "discard" => Does::Discard,
            _ => Does::Protect {
                required: item.text("level") != "use",
            },
        };
        let policy = self.policy(item, source, destination);
        let template = item.is("template");
        if let Some(selector) =
            selector(&source, &destination, protocol_of(item)).filter(|_| !template)
        {
            let position = Position {
                section: ITEMS_SECTION,
                place: item.position(),
                part: 0,
            };
            let met = Met {
                position,
                selector,
                does,
            };
            self.met.insert(id, met);
        }
        if let Some(policy) = policy.filter(|_| template || matches!(does, Does::Protect { .. })) {
            self.policies.insert(id, policy);
        }
    }

    fn policy(
        &self,
        item: &Item,
        source: ike::Selector,
        destination: ike::Selector,
    ) -> Option<Policy> {
        let template = item.is("template");
        let to = item.get("sa-dst-address").and_then(Value::as_address);
        let named = item.get("peer").map(Value::as_list).unwrap_or_default();
        let mut named = named.iter().filter_map(Value::as_str);
        let peer = { named.find_map(|name| self.peer_ids.get(name).copied()) }
            .or_else(|| peer_of(to?, self));
        let ends = peer.and_then(|peer| self.peers.get(&peer));
        let unspecified = unspecified(source.prefix);
        let from = item.get("sa-src-address").and_then(Value::as_address);
        let known = |address: &IpAddr| !address.is_unspecified();
        let from = from
            .filter(known)
            .or_else(|| ends.and_then(|peer| peer.local));
        let to = to.filter(known).or_else(|| ends.and_then(host));
        Some(Policy {
            peer: peer.filter(|_| !template),
            template: template.then(|| item.text("group").to_owned()),
            place: item.position(),
            source,
            destination,
            protocol: protocol_of(item),
            mode: if item.is("tunnel") {
                Mode::Tunnel
            } else {
                Mode::Transport
            },
            ends: (from.unwrap_or(unspecified), to.unwrap_or(unspecified)),
            level: match item.text("level") {
                "use" => Level::Use,
                "unique" => Level::Unique,
                _ => Level::Require,
            },
            ipsec: match item.text("ipsec-protocols") {
                "ah" => Protocol::Ah,
                _ => Protocol::Esp,
            },
            proposal: self.proposals.get(item.text("proposal")).cloned()?,
        })
    }
}

/// Reads the items of a store.
pub(super) struct Reader<'a> {
    store: &'a Store,
    profiles: BTreeMap<String, Profile>,
    proposals: BTreeMap<String, Proposal>,
    modes: BTreeMap<String, ModeConfig>,
    asks: BTreeMap<String, Asks>,
    identities: BTreeMap<String, Vec<Identity>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(store: &'a Store, proofs: &mut Proofs) -> Self {
        let mut reader = Self {
            store,
            profiles: named(store, PROFILE, profile),
            proposals: named(store, PROPOSAL, proposal),
            modes: named(store, MODE_CONFIG, mode_config),
            asks: BTreeMap::new(),
            identities: BTreeMap::new(),
        };
        let modes = store
            .items(MODE_CONFIG)
            .filter(|item| !item.is("responder"));
        let asks = modes.map(|item| (item.text("name").to_owned(), Asks::read(item)));
        reader.asks = asks.collect();
        for item in store.items(IDENTITY).filter(|item| !item.is("disabled")) {
            if let Some(identity) = reader.identity(item, proofs) {
                let of = reader.identities.entry(item.text("peer").to_owned());
                of.or_default().push(identity);
            }
        }
        reader
    }

    /// Returns the configuration of all menus.
    pub(super) fn config(&self) -> Config {
        let threshold = self.store.settings(SETTINGS);
        let threshold = threshold.and_then(|item| item.number("ddos-cookie-threshold"));
        let mut config = Config {
            cookie_threshold: threshold.and_then(|threshold| usize::try_from(threshold).ok()),
            dns: dns::read::servers(self.store.settings(DNS).map(Arc::as_ref)),
            proposals: self.proposals.clone(),
            ..Config::default()
        };
        for item in self.store.items(PEER).filter(|item| !item.is("disabled")) {
            let id = PeerId(item.id.0);
            if let Some(peer) = self.peer(item) {
                config
                    .named
                    .extend(name_of(item).map(|name| (id, name.into())));
                let first = peer.identities.first();
                let mode = first.and_then(|identity| identity.mode_config.as_ref());
                let asks = mode.and_then(|mode| self.asks.get(&mode.name).cloned());
                config.asks.extend(asks.map(|asks| (id, asks)));
                config.peer_ids.entry(peer.name.clone()).or_insert(id);
                config.peers.insert(id, peer);
            }
        }
        for item in self.store.items(POLICY) {
            config.put_policy(PolicyId(item.id.0), Some(item));
        }
        config
    }

    /// Returns the proposal of this name.
    pub(super) fn proposal(&self, name: &str) -> Option<Proposal> {
        self.proposals.get(name).cloned()
    }

    /// Returns the profile of this name.
    pub(super) fn profile(&self, name: &str) -> Option<Profile> {
        self.profiles.get(name).cloned()
    }

    fn peer(&self, item: &Item) -> Option<Peer> {
        let name = item.text("name").to_owned();
        Some(Peer {
            address: match (item.get("address"), name_of(item)) {
                (None, _) => anywhere(item),
                // Matches no address until the name is resolved.
                (_, Some(_)) => unspecified(anywhere(item)).into(),
                (Some(address), None) => address.as_prefix()?,
            },
            port: item
                .number("port")
                .and_then(|port| u16::try_from(port).ok())
                .unwrap_or(500),
            local: item.get("local-address").and_then(Value::as_address),
            exchange: match item.text("exchange-mode") {
                "aggressive" => Exchange::Aggressive,
                "base" => Exchange::Base,
                "ike2" => Exchange::Ike2,
                _ => Exchange::Main,
            },
            passive: item.is("passive"),
            send_initial_contact: item.is("send-initial-contact"),
            profile: self.profile(item.text("profile"))?,
            identities: self.identities.get(&name).cloned().unwrap_or_default(),
            name,
        })
    }

    fn identity(&self, item: &Item, proofs: &mut Proofs) -> Option<Identity> {
        let auth = match item.text("auth-method") {
            "pre-shared-key" => Auth::Psk(secret(item.text("secret"))),
            "pre-shared-key-xauth" => Auth::PskXauth {
                secret: secret(item.text("secret")),
                user: item.text("username").to_owned(),
                password: secret(item.text("password")),
            },
            "digital-signature" => Auth::Signature(proofs.certified(self.store, item)?),
            "eap-radius" => Auth::EapRadius(proofs.certified(self.store, item)?),
            "eap" => Auth::Eap(proofs.login(self.store, item)?),
            _ => return None,
        };
        // An identity with an unreadable `my-id` or `remote-id` is skipped: it must not let anybody
        // in.
        let word = |name| item.get(name).map_or(Some("auto"), Value::as_str);
        Some(Identity {
            my_id: match word("my-id") {
                Some("auto") => own_name(&auth),
                Some("dn") => Some(Id::Dn(own_facts(&auth)?.subject_der)),
                _ => Some(id(item.get("my-id")?)?),
            },
            remote_id: match word("remote-id") {
                _ if item.text("match-by") == "certificate" => {
                    RemoteId::Certificate(proof::remote_certificate(self.store, item)??)
                }
                Some("dn") => RemoteId::Dn,
                Some("ignore") => RemoteId::Ignore,
                Some("auto") => RemoteId::Auto,
                _ => RemoteId::Is(id(item.get("remote-id")?)?),
            },
            generate_policy: match item.text("generate-policy") {
                "port-override" => GeneratePolicy::PortOverride,
                "port-strict" => GeneratePolicy::PortStrict,
                _ => GeneratePolicy::No,
            },
            template_group: item.text("policy-template-group").to_owned(),
            mode_config: self.modes.get(item.text("mode-config")).cloned(),
            auth,
        })
    }
}

/// Reads the enabled items of a menu, by name.
fn named<T>(store: &Store, path: &str, read: fn(&Item) -> T) -> BTreeMap<String, T> {
    let items = store.items(path).filter(|item| !item.is("disabled"));
    items
        .map(|item| (item.text("name").to_owned(), read(item)))
        .collect()
}

/// Returns the DNS name of a peer, or `None` if `address` is a prefix.
fn name_of(item: &Item) -> Option<&str> {
    let address = item.get("address")?;
    address.as_str().filter(|_| address.as_prefix().is_none())
}

/// Returns the prefix of all addresses of the family of `local-address` (IPv4 if unset).
fn anywhere(item: &Item) -> IpNet {
    match item.get("local-address").and_then(Value::as_address) {
        Some(IpAddr::V6(_)) => ipnet::Ipv6Net::default().into(),
        _ => ipnet::Ipv4Net::default().into(),
    }
}

/// Returns the address of a peer with a single address.
pub(super) fn host(peer: &Peer) -> Option<IpAddr> {
    let net = peer.address;
    (net.prefix_len() == net.max_prefix_len()).then(|| net.addr())
}

fn peer_of(address: IpAddr, config: &Config) -> Option<PeerId> {
    let fits = |peer: &Peer| peer.address.contains(&address);
    let peers = config.peers.iter().filter(|(_, peer)| fits(peer));
    let best = peers.max_by_key(|(_, peer)| peer.address.prefix_len());
    best.map(|(id, _)| *id)
}

pub(super) const fn unspecified(like: IpNet) -> IpAddr {
    match like {
        IpNet::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpNet::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

fn prefixes(item: &Item) -> Option<(ike::Selector, ike::Selector)> {
    let of = |address, port| {
        Some(ike::Selector {
            prefix: item.get(address).and_then(Value::as_prefix)?.trunc(),
            port: item
                .number(port)
                .and_then(|port| u16::try_from(port).ok())
                .unwrap_or(0),
        })
    };
    Some((
        of("src-address", "src-port")?,
        of("dst-address", "dst-port")?,
    ))
}

fn protocol_of(item: &Item) -> u8 {
    item.get("protocol").and_then(protocol).unwrap_or(0)
}

/// Returns the selector for the workers, or `None` if source and destination differ in family.
pub(super) fn selector(
    source: &ike::Selector,
    destination: &ike::Selector,
    protocol: u8,
) -> Option<Selector> {
    let (from, to) = (prefix(source.prefix), prefix(destination.prefix));
    (from.ipv6 == to.ipv6).then_some(Selector {
        source: from,
        destination: to,
        protocol,
        source_port: source.port,
        destination_port: destination.port,
    })
}

/// Reads a secret. RouterOS: text that begins with `0x` is hexadecimal.
pub(super) fn secret(text: &str) -> Secret {
    let digits = text
        .strip_prefix("0x")
        .filter(|digits| digits.len().is_multiple_of(2));
    let byte = |at: usize| u8::from_str_radix(digits?.get(at..at + 2)?, 16).ok();
    let hex = digits.and_then(|digits| {
        (0..digits.len())
            .step_by(2)
            .map(byte)
            .collect::<Option<Vec<_>>>()
    });
    Secret::new(hex.unwrap_or_else(|| menu::bytes::to_bytes(text)))
}

/// Returns the facts of this router's certificate.
fn own_facts(auth: &Auth) -> Option<Facts> {
    match auth {
        Auth::Signature(own) | Auth::EapRadius(own) => Facts::read(own.chain.first()?).ok(),
        Auth::Eap(_) | Auth::Psk(_) | Auth::PskXauth { .. } => None,
    }
}

/// Returns the identity for `my-id=auto`: the first alternative name of the certificate (RouterOS).
/// With `None` the IKE engine uses the certificate's subject or an address.
fn own_name(auth: &Auth) -> Option<Id> {
    let facts = own_facts(auth)?;
    let mut names = facts.names.iter().filter_map(|name| name.split_once(':'));
    names.find_map(|(kind, name)| match kind {
        "DNS" => Some(Id::Fqdn(name.to_owned())),
        "email" => Some(Id::UserFqdn(name.to_owned())),
        "IP" => name.parse().ok().map(Id::Address),
        _ => None,
    })
}

fn id(value: &Value) -> Option<Id> {
    let Value::Parts(parts) = value else {
        return None;
    };
    let [(_, kind), (_, name)] = &**parts else {
        return None;
    };
    let name = name.as_str()?.to_owned();
    Some(match kind.as_str()? {
        "address" => Id::Address(name.parse().ok()?),
        "fqdn" => Id::Fqdn(name),
        "user-fqdn" => Id::UserFqdn(name),
        "key-id" => Id::KeyId(name.into_bytes()),
        _ => return None,
    })
}

fn words<'i>(item: &'i Item, name: &str) -> impl Iterator<Item = &'i str> {
    let list = item.get(name).map(Value::as_list).unwrap_or_default();
    list.iter().filter_map(Value::as_str)
}

fn span(item: &Item, name: &str) -> Option<Duration> {
    let nanos = item.get(name).and_then(Value::as_nanos)?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

fn hash(word: &str) -> Option<Hash> {
    let all = [
        Hash::Md5,
        Hash::Sha1,
        Hash::Sha256,
        Hash::Sha384,
        Hash::Sha512,
    ];
    all.into_iter().find(|hash| hash.name() == word)
}

fn cipher(word: &str) -> Option<Cipher> {
    let all = [
        Cipher::Des,
        Cipher::TripleDes,
        Cipher::Blowfish,
        Cipher::Aes128,
        Cipher::Aes192,
        Cipher::Aes256,
        Cipher::Camellia128,
        Cipher::Camellia192,
        Cipher::Camellia256,
    ];
    all.into_iter().find(|cipher| cipher.name() == word)
}

fn group(word: &str) -> Option<Group> {
    let mut all = (0..=31).filter_map(Group::of);
    all.find(|group| group.name() == word)
}

fn encryption(word: &str) -> Option<Encryption> {
    let sized = |kind| [128, 192, 256].map(|bits| Encryption::new(kind, bits));
    let fixed = [
        (Kind::Null, 0),
        (Kind::Des, 64),
        (Kind::TripleDes, 192),
        (Kind::Blowfish, 128),
        (Kind::Twofish, 128),
        (Kind::ChaCha20Poly1305, 256),
    ];
    let fixed = fixed.map(|(kind, bits)| Encryption::new(kind, bits));
    let sized = [Kind::AesCbc, Kind::AesCtr, Kind::AesGcm, Kind::Camellia].map(sized);
    let mut all = fixed.into_iter().chain(sized.into_iter().flatten());
    all.find(|encryption| encryption.name() == word)
}

fn profile(item: &Item) -> Profile {
    let failures = item.number("dpd-maximum-failures").unwrap_or(5);
    Profile {
        name: item.text("name").to_owned(),
        hash: words(item, "hash-algorithm").filter_map(hash).collect(),
        encryption: words(item, "enc-algorithm").filter_map(cipher).collect(),
        groups: words(item, "dh-group").filter_map(group).collect(),
        prf: words(item, "prf-algorithm").find_map(hash),
        lifetime: span(item, "lifetime").unwrap_or(Duration::from_secs(86_400)),
        life_bytes: { item.number("lifebytes") }
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(0),
        nat_traversal: item.is("nat-traversal"),
        dpd: span(item, "dpd-interval")
            .filter(|interval| *interval > Duration::ZERO)
            .map(|interval| (interval, u32::try_from(failures).unwrap_or(5))),
        proposal_check: match item.text("proposal-check") {
            "strict" => ProposalCheck::Strict,
            "claim" => ProposalCheck::Claim,
            "exact" => ProposalCheck::Exact,
            _ => ProposalCheck::Obey,
        },
    }
}

fn proposal(item: &Item) -> Proposal {
    Proposal {
        name: item.text("name").to_owned(),
        auth: words(item, "auth-algorithms").filter_map(hash).collect(),
        encryption: words(item, "enc-algorithms")
            .filter_map(encryption)
            .collect(),
        lifetime: span(item, "lifetime").unwrap_or(Duration::from_secs(1800)),
        pfs: words(item, "pfs-group").find_map(group),
    }
}

fn mode_config(item: &Item) -> ModeConfig {
    let address = |name| item.get(name).and_then(Value::as_address);
    let list = |name| item.get(name).map(Value::as_list).unwrap_or_default();
    ModeConfig {
        name: item.text("name").to_owned(),
        responder: item.is("responder"),
        address: address("address"),
        pool: Some(item.text("address-pool"))
            .filter(|pool| !matches!(*pool, "" | "none"))
            .map(str::to_owned),
        prefix_len: item
            .number("address-prefix-length")
            .and_then(|len| u8::try_from(len).ok())
            .unwrap_or(32),
        split_include: list("split-include")
            .iter()
            .filter_map(Value::as_prefix)
            .collect(),
        dns: list("static-dns")
            .iter()
            .filter_map(Value::as_address)
            .collect(),
        system_dns: item.is("system-dns"),
        split_dns: words(item, "split-dns").map(str::to_owned).collect(),
    }
}
