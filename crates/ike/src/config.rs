//! The configuration as values: peers with their profiles and identities, policies with their proposals.
//!
//! The router resolves names: an address list, a pool or a certificate arrives as what it stands for.

use core::fmt;
use core::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use machine::Duration;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

use crate::dn;
use crate::suite::{Cipher, Encryption, Group, Hash};

/// Names a peer, as the owner numbered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// Names a policy, as the owner numbered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub u64);

/// Bytes that nobody should see: they are not printed, are compared in constant time, and are wiped at the end.
#[derive(Clone, Default)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Keeps these bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

/// How an IKE SA is made (`exchange-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exchange {
    /// IKEv1, identity protection (RFC 2409, 5).
    #[default]
    Main,
    /// IKEv1, three messages, identities in clear.
    Aggressive,
    /// IKEv1, four messages (draft-ietf-ipsec-ike-base-mode).
    Base,
    /// IKEv2 (RFC 7296).
    Ike2,
}

/// Whom to talk to (`/ip/ipsec/peer`, with its profile and its identities).
///
/// A peer is unique by address and exchange; of several that match, the longest prefix answers (RouterOS).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name, for logs.
    pub name: String,
    /// Its address; a prefix that is not a host's only answers.
    pub address: IpNet,
    /// Its port, of IKE: 500.
    pub port: u16,
    /// The own address. Where it is none, an initiator takes the policy's: `sa-src-address`, or the source of a
    /// policy in transport mode; a responder the one that was spoken to.
    pub local: Option<IpAddr>,
    /// How the IKE SA is made.
    pub exchange: Exchange,
    /// Whether it only answers.
    pub passive: bool,
    /// Whether INITIAL_CONTACT is said by the first SA.
    pub send_initial_contact: bool,
    /// What is agreed on.
    pub profile: Profile,
    /// Who both are, in the order of the menu: an initiator takes the first, a responder the first that matches.
    pub identities: Vec<Identity>,
}

/// How to compare lifetimes of phase 1 and phase 2 (`proposal-check`; IKEv1 only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProposalCheck {
    /// What the initiator says holds.
    #[default]
    Obey,
    /// The shorter holds; a group of PFS must be the same.
    Strict,
    /// The shorter holds, and RESPONDER-LIFETIME says so to the initiator.
    Claim,
    /// All must be equal.
    Exact,
}

/// What is agreed on for an IKE SA (`/ip/ipsec/profile`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name, for logs.
    pub name: String,
    /// `hash-algorithm`, best first.
    pub hash: Vec<Hash>,
    /// `enc-algorithm`, best first.
    pub encryption: Vec<Cipher>,
    /// `dh-group`, best first; IKEv2 begins with the first.
    pub groups: Vec<Group>,
    /// `prf-algorithm`; none is `auto`: that of the hash. IKEv2 only.
    pub prf: Option<Hash>,
    /// `lifetime` of the IKE SA.
    pub lifetime: Duration,
    /// `lifebytes`; 0 is no limit. IKEv1 only.
    pub life_bytes: u64,
    /// `nat-traversal`; IKEv2 always does it.
    pub nat_traversal: bool,
    /// `dpd-interval` and `dpd-maximum-failures`; none is `disable-dpd`.
    pub dpd: Option<(Duration, u32)>,
    /// `proposal-check`.
    pub proposal_check: ProposalCheck,
}

/// Who somebody is (RFC 7296, 3.5; RFC 2407, 4.6.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// An address.
    Address(IpAddr),
    /// A host's name.
    Fqdn(String),
    /// A user's name: `user@host`.
    UserFqdn(String),
    /// A distinguished name, in DER.
    Dn(Vec<u8>),
    /// Bytes that mean something to the two.
    KeyId(Vec<u8>),
}

/// Whom a responder takes for the peer (`remote-id`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RemoteId {
    /// `auto`: with certificates one that the certificate has, with secrets any whose secret is right.
    #[default]
    Auto,
    /// `ignore`: any, and certificates need not have it.
    Ignore,
    /// This one.
    Is(Id),
    /// `dn`: the name of its certificate.
    Dn,
    /// `match-by=certificate`: whoever has this one, in DER, whatever it says to be.
    Certificate(Vec<u8>),
}

impl RemoteId {
    /// Whether it is for a peer that says to be this one, or that sends this certificate, and for no others.
    pub(crate) fn names(&self, id: &Id, certificate: Option<&[u8]>) -> bool {
        match self {
            Self::Is(wanted) => wanted == id,
            Self::Certificate(wanted) => certificate == Some(wanted),
            Self::Auto | Self::Ignore | Self::Dn => false,
        }
    }

    /// Whether it is for such a peer and others. Who sends no certificate may have any.
    pub(crate) const fn may_be(&self, id: &Id, certificate: Option<&[u8]>) -> bool {
        match self {
            Self::Is(_) => false,
            Self::Dn => matches!(id, Id::Dn(_)),
            Self::Certificate(_) => certificate.is_none(),
            Self::Auto | Self::Ignore => true,
        }
    }

    /// Compares it with what a peer says to be.
    ///
    /// # Errors
    /// The peer is another one.
    pub(crate) fn check(&self, id: &Id) -> Result<(), String> {
        let fits = match self {
            Self::Is(wanted) => wanted == id,
            Self::Dn => matches!(id, Id::Dn(_)),
            Self::Auto | Self::Ignore | Self::Certificate(_) => true,
        };
        let wrong = || format!("the peer says to be {id}");
        fits.then_some(()).ok_or_else(wrong)
    }

    /// Who the peer's certificate must say that it is; none where that is no question.
    pub(crate) const fn of_certificate<'i>(&self, id: &'i Id) -> Option<&'i Id> {
        match self {
            Self::Ignore | Self::Certificate(_) => None,
            Self::Auto | Self::Is(_) | Self::Dn => Some(id),
        }
    }
}

/// Whether a responder makes a policy where it has none (`generate-policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeneratePolicy {
    /// It does not.
    #[default]
    No,
    /// It does, for all ports.
    PortOverride,
    /// It does, for the ports that the peer asked for.
    PortStrict,
}

/// Who both are, and how they prove it (`/ip/ipsec/identity`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// How they prove it.
    pub auth: Auth,
    /// `my-id`; none is `auto`: the own address, with certificates the certificate's name.
    pub my_id: Option<Id>,
    /// `remote-id`.
    pub remote_id: RemoteId,
    /// `generate-policy`.
    pub generate_policy: GeneratePolicy,
    /// `policy-template-group`.
    pub template_group: String,
    /// `mode-config`.
    pub mode_config: Option<ModeConfig>,
}

/// How the two prove who they are (`auth-method`).
#[derive(Clone)]
pub enum Auth {
    /// By a secret that both know.
    Psk(Secret),
    /// By certificates.
    Signature(Certified),
    /// As initiator of IKEv2: the peer by its certificate, this side by EAP.
    Eap(EapLogin),
    /// As responder of IKEv2: this side by its certificate, the peer by EAP, of which another host decides
    /// ([`crate::Action::Eap`]).
    EapRadius(Certified),
    /// By a secret, and then by a user's name (IKEv1): an initiator says them, a responder compares them.
    PskXauth {
        /// The secret.
        secret: Secret,
        /// The user's name.
        user: String,
        /// The user's password.
        password: Secret,
    },
}

/// The own certificates, the key, and who judges those of the peer.
#[derive(Clone)]
pub struct Certified {
    /// In DER: the own one first, then those that signed it.
    pub chain: Vec<Vec<u8>>,
    /// The own key.
    pub signer: Arc<dyn Signer>,
    /// Who judges the peer's.
    pub verifier: Arc<dyn Verifier>,
}

/// A user of EAP, as initiator.
#[derive(Clone)]
pub struct EapLogin {
    /// The methods that may be used (`eap-methods`).
    pub methods: Vec<EapMethod>,
    /// The user's name.
    pub user: String,
    /// The user's password.
    pub password: Secret,
    /// The user's certificate, for EAP-TLS.
    pub certified: Option<Certified>,
    /// Who judges the responder's certificate.
    pub verifier: Arc<dyn Verifier>,
}

/// A method of EAP that an initiator can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EapMethod {
    /// EAP-MSCHAPv2 (draft-kamath-pppext-eap-mschapv2).
    MsChap2,
    /// EAP-TLS (RFC 5216, RFC 9190).
    Tls,
}

impl EapMethod {
    /// Its number (RFC 3748, 6.2).
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::MsChap2 => 26,
            Self::Tls => 13,
        }
    }
}

/// How a signature is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// RSASSA-PKCS1-v1_5 over the message by this hash (RFC 8017, 8.2).
    RsaPkcs1(Hash),
    /// RSASSA-PSS over the message by this hash, with a salt of its size (RFC 8017, 8.1).
    RsaPss(Hash),
    /// RSA with the padding of PKCS #1 but without the name of a hash, over the message as it is (RFC 2409, 5.1).
    RsaRaw,
    /// ECDSA over P-256 with SHA-256; the signature is r and s, 32 bytes each.
    EcdsaP256,
    /// ECDSA over P-384 with SHA-384; the signature is r and s, 48 bytes each.
    EcdsaP384,
    /// ECDSA over P-521 with SHA-512; the signature is r and s, 66 bytes each.
    EcdsaP521,
}

/// A private key.
pub trait Signer: Send + Sync {
    /// Whether it can sign so.
    fn can(&self, scheme: Scheme) -> bool;

    /// The signature of a message; none if it cannot.
    fn sign(&self, scheme: Scheme, message: &[u8]) -> Option<Vec<u8>>;
}

/// Who judges certificates.
pub trait Verifier: Send + Sync {
    /// SHA-1 of the public keys of authorities that are trusted (RFC 7296, 3.7), for requests of certificates.
    fn authorities(&self) -> Vec<[u8; 20]>;

    /// Distinguished names of the same, in DER, for those of IKEv1.
    fn names(&self) -> Vec<Vec<u8>>;

    /// Whether the first certificate of a chain is trusted, has the identity (unless it is none), and its key made
    /// this signature of the message.
    ///
    /// # Errors
    /// It is not, for this reason, which is logged.
    fn verify(
        &self,
        chain: &[Vec<u8>],
        id: Option<&Id>,
        scheme: Scheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), String>;
}

/// What is configured through the SA (`/ip/ipsec/mode-config`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeConfig {
    /// Its name, for logs.
    pub name: String,
    /// Whether it gives; else it asks.
    pub responder: bool,
    /// As responder: this address, to one peer.
    pub address: Option<IpAddr>,
    /// As responder: an address from here; the owner is asked by [`crate::Action::LeaseWanted`].
    pub pool: Option<String>,
    /// As responder: the prefix's length that is said with the address.
    pub prefix_len: u8,
    /// As responder: the prefixes behind it (`split-include`).
    pub split_include: Vec<IpNet>,
    /// As responder: name servers.
    pub dns: Vec<IpAddr>,
    /// As responder: those of this host behind them ([`crate::Settings::dns`]).
    pub system_dns: bool,
    /// As responder: domains that those know (`split-dns`).
    pub split_dns: Vec<String>,
}

/// Addresses and a port that a policy is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    /// The addresses.
    pub prefix: IpNet,
    /// The port; 0 is any.
    pub port: u16,
}

/// How a policy uses SAs (`level`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Encrypt if there is an SA.
    Use,
    /// Encrypt, or drop.
    #[default]
    Require,
    /// As `Require`, by SAs that no other policy uses.
    Unique,
}

/// Header of the SAs (`ipsec-protocols`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// RFC 4303.
    #[default]
    Esp,
    /// RFC 4302.
    Ah,
}

/// What of a packet is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Its payload.
    Transport,
    /// All of it, in a packet between the ends.
    Tunnel,
}

/// What is protected, and how (`/ip/ipsec/policy` with action `encrypt`, with its proposal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// With whom; none for a template.
    pub peer: Option<PeerId>,
    /// The group that it is a template of, and none if it is no template.
    pub template: Option<String>,
    /// Its place among all policies: the first that matches wins.
    pub place: u64,
    /// `src-address` and `src-port`.
    pub source: Selector,
    /// `dst-address` and `dst-port`.
    pub destination: Selector,
    /// `protocol`; 0 is all.
    pub protocol: u8,
    /// Transport or tunnel. A template accepts both, and this is of no account.
    pub mode: Mode,
    /// `sa-src-address` and `sa-dst-address` where they are known, else unspecified addresses.
    pub ends: (IpAddr, IpAddr),
    /// `level`.
    pub level: Level,
    /// `ipsec-protocols`.
    pub ipsec: Protocol,
    /// `proposal`.
    pub proposal: Proposal,
}

/// What is agreed on for the SAs of a policy (`/ip/ipsec/proposal`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Its name, for logs.
    pub name: String,
    /// `auth-algorithms`, best first. With `null` alone, the list is empty.
    pub auth: Vec<Hash>,
    /// `enc-algorithms`, best first; of no account with AH.
    pub encryption: Vec<Encryption>,
    /// `lifetime`.
    pub lifetime: Duration,
    /// `pfs-group`.
    pub pfs: Option<Group>,
}

fn hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Fqdn(name) | Self::UserFqdn(name) => f.write_str(name),
            Self::Dn(bytes) => match dn::text(bytes) {
                Some(name) => f.write_str(&name),
                None => hex(bytes, f),
            },
            Self::KeyId(bytes) => hex(bytes, f),
        }
    }
}

// Keys and judges have no value to print or compare; two configurations are equal if they share them.

impl PartialEq for Certified {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
            && Arc::ptr_eq(&self.signer, &other.signer)
            && Arc::ptr_eq(&self.verifier, &other.verifier)
    }
}

impl Eq for Certified {}

impl PartialEq for EapLogin {
    fn eq(&self, other: &Self) -> bool {
        self.methods == other.methods
            && self.user == other.user
            && self.password == other.password
            && self.certified == other.certified
            && Arc::ptr_eq(&self.verifier, &other.verifier)
    }
}

impl Eq for EapLogin {}

impl PartialEq for Auth {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Psk(one), Self::Psk(two)) => one == two,
            (Self::Signature(one), Self::Signature(two))
            | (Self::EapRadius(one), Self::EapRadius(two)) => one == two,
            (Self::Eap(one), Self::Eap(two)) => one == two,
            (
                Self::PskXauth {
                    secret,
                    user,
                    password,
                },
                Self::PskXauth {
                    secret: secret2,
                    user: user2,
                    password: password2,
                },
            ) => secret == secret2 && user == user2 && password == password2,
            _ => false,
        }
    }
}

impl Eq for Auth {}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Psk(_) => "Psk",
            Self::Signature(_) => "Signature",
            Self::Eap(_) => "Eap",
            Self::EapRadius(_) => "EapRadius",
            Self::PskXauth { .. } => "PskXauth",
        })
    }
}
