//! Configuration of IKE as plain values: peers with profile and identities, policies with their proposal.
//!
//! The router resolves names before: peers carry addresses, identities carry DER certificates and key handles.

use core::fmt;
use core::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use machine::Duration;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroize as _;

use crate::dn;
use crate::suite::{Cipher, Encryption, Group, Hash};

/// Identifies a peer; the owner of the engine chooses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// Identifies a policy; the owner of the engine chooses the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyId(pub u64);

/// Secret bytes: `Debug` hides them, comparison takes constant time, and dropping wipes the memory.
#[derive(Clone, Default)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Copies or moves the bytes into a secret.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Returns the secret bytes.
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

/// Exchange that creates an IKE SA (`exchange-mode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exchange {
    /// IKEv1, identity protection (RFC 2409, 5).
    #[default]
    Main,
    /// IKEv1 aggressive mode: three messages, identities in clear.
    Aggressive,
    /// IKEv1 base mode: four messages (draft-ietf-ipsec-ike-base-mode).
    Base,
    /// IKEv2 (RFC 7296).
    Ike2,
}

/// A remote IKE host (`/ip/ipsec/peer`), with its profile and its identities.
///
/// Address and exchange identify a peer. RouterOS: among matching peers the longest prefix answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Name of the peer, for log messages.
    pub name: String,
    /// Address of the peer. A peer with a prefix shorter than a host's only responds.
    pub address: IpNet,
    /// UDP port of the peer's IKE daemon, 500 by default.
    pub port: u16,
    /// Local address. If `None`, an initiator uses the policy's `sa-src-address`, or the source of a policy in
    /// transport mode; a responder uses the destination address of the request.
    pub local: Option<IpAddr>,
    /// Exchange that creates the IKE SA.
    pub exchange: Exchange,
    /// `passive`: this side only responds and never initiates.
    pub passive: bool,
    /// Sends INITIAL_CONTACT with the first IKE SA (`send-initial-contact`).
    pub send_initial_contact: bool,
    /// Algorithms and timers of the IKE SA.
    pub profile: Profile,
    /// Identities in menu order: an initiator uses the first, a responder the first that matches.
    pub identities: Vec<Identity>,
}

/// Comparison of proposed and configured lifetimes, phases 1 and 2 (`proposal-check`; IKEv1 only).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProposalCheck {
    /// The initiator's lifetimes apply.
    #[default]
    Obey,
    /// The shorter lifetime applies; PFS groups must be equal.
    Strict,
    /// The shorter lifetime applies, and RESPONDER-LIFETIME reports it to the initiator.
    Claim,
    /// Lifetimes and PFS groups must be equal.
    Exact,
}

/// Algorithms, lifetimes and timers of an IKE SA (`/ip/ipsec/profile`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name of the profile, for log messages.
    pub name: String,
    /// `hash-algorithm`, best first.
    pub hash: Vec<Hash>,
    /// `enc-algorithm`, best first.
    pub encryption: Vec<Cipher>,
    /// `dh-group`, best first; an IKEv2 initiator sends a key share of the first.
    pub groups: Vec<Group>,
    /// `prf-algorithm`; `None` is `auto`: the PRF of the hash. IKEv2 only.
    pub prf: Option<Hash>,
    /// `lifetime` of the IKE SA.
    pub lifetime: Duration,
    /// `lifebytes`; 0 means no limit. IKEv1 only.
    pub life_bytes: u64,
    /// `nat-traversal`; always on with IKEv2.
    pub nat_traversal: bool,
    /// `dpd-interval` and `dpd-maximum-failures`; `None` is `disable-dpd`.
    pub dpd: Option<(Duration, u32)>,
    /// `proposal-check`.
    pub proposal_check: ProposalCheck,
}

/// Identity of an IKE host (RFC 7296, 3.5; RFC 2407, 4.6.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// IP address.
    Address(IpAddr),
    /// Host name.
    Fqdn(String),
    /// User name: `user@host`.
    UserFqdn(String),
    /// Distinguished name in DER.
    Dn(Vec<u8>),
    /// Opaque bytes that both hosts agree on.
    KeyId(Vec<u8>),
}

/// Check of the peer's identity by a responder (`remote-id`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RemoteId {
    /// `auto`: with certificates any identity that the certificate contains, with secrets any identity.
    #[default]
    Auto,
    /// `ignore`: any identity; the certificate need not contain it.
    Ignore,
    /// Exactly this identity.
    Is(Id),
    /// `dn`: the subject of the peer's certificate.
    Dn,
    /// `match-by=certificate`: any peer with this certificate (DER), whatever its ID payload contains.
    Certificate(Vec<u8>),
}

impl RemoteId {
    /// Returns true if the setting names exactly this identity or certificate. Such identities take precedence
    /// over wildcards.
    pub(crate) fn names(&self, id: &Id, certificate: Option<&[u8]>) -> bool {
        match self {
            Self::Is(wanted) => wanted == id,
            Self::Certificate(wanted) => certificate == Some(wanted),
            Self::Auto | Self::Ignore | Self::Dn => false,
        }
    }

    /// Returns true for a wildcard that accepts this peer. Peers without a certificate match
    /// `match-by=certificate` here.
    pub(crate) const fn may_be(&self, id: &Id, certificate: Option<&[u8]>) -> bool {
        match self {
            Self::Is(_) => false,
            Self::Dn => matches!(id, Id::Dn(_)),
            Self::Certificate(_) => certificate.is_none(),
            Self::Auto | Self::Ignore => true,
        }
    }

    /// Compares the setting with the peer's ID payload.
    ///
    /// # Errors
    /// The ID payload holds another identity.
    pub(crate) fn check(&self, id: &Id) -> Result<(), String> {
        let fits = match self {
            Self::Is(wanted) => wanted == id,
            Self::Dn => matches!(id, Id::Dn(_)),
            Self::Auto | Self::Ignore | Self::Certificate(_) => true,
        };
        let wrong = || format!("the peer identifies itself as {id}");
        fits.then_some(()).ok_or_else(wrong)
    }

    /// Returns the identity that the peer's certificate must contain, or `None` if any certificate will do.
    pub(crate) const fn of_certificate<'i>(&self, id: &'i Id) -> Option<&'i Id> {
        match self {
            Self::Ignore | Self::Certificate(_) => None,
            Self::Auto | Self::Is(_) | Self::Dn => Some(id),
        }
    }
}

/// Policies that a responder generates from a template (`generate-policy`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GeneratePolicy {
    /// Generates none.
    #[default]
    No,
    /// Generates policies for all ports.
    PortOverride,
    /// Generates policies for the ports in the peer's traffic selectors.
    PortStrict,
}

/// Identities and credentials of both sides (`/ip/ipsec/identity`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Authentication method with its credentials.
    pub auth: Auth,
    /// `my-id`; `None` is `auto`: the local address, or with certificates the subject of the local certificate.
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

/// Authentication method (`auth-method`).
#[derive(Clone)]
pub enum Auth {
    /// Pre-shared key.
    Psk(Secret),
    /// Certificates and signatures on both sides.
    Signature(Certified),
    /// IKEv2 initiator: the peer proves itself by certificate, this side by EAP.
    Eap(EapLogin),
    /// IKEv2 responder: this side proves itself by certificate, the peer by EAP, which a RADIUS server decides
    /// ([`crate::Action::Eap`]).
    EapRadius(Certified),
    /// Pre-shared key followed by XAuth (IKEv1): an initiator sends user and password, a responder compares
    /// them.
    PskXauth {
        /// Pre-shared key.
        secret: Secret,
        /// User name.
        user: String,
        /// Password.
        password: Secret,
    },
}

/// Local certificate chain and key, and the verifier of the peer's certificates.
#[derive(Clone)]
pub struct Certified {
    /// Certificates in DER: the local certificate first, then its issuers.
    pub chain: Vec<Vec<u8>>,
    /// Private key of the local certificate.
    pub signer: Arc<dyn Signer>,
    /// Verifier of the peer's chain and signature.
    pub verifier: Arc<dyn Verifier>,
}

/// EAP credentials of an initiator.
#[derive(Clone)]
pub struct EapLogin {
    /// Permitted methods, in order of preference (`eap-methods`).
    pub methods: Vec<EapMethod>,
    /// User name.
    pub user: String,
    /// Password.
    pub password: Secret,
    /// Client certificate for EAP-TLS.
    pub certified: Option<Certified>,
    /// Verifier of the responder's certificate.
    pub verifier: Arc<dyn Verifier>,
}

/// EAP method that an initiator supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EapMethod {
    /// EAP-MSCHAPv2 (draft-kamath-pppext-eap-mschapv2).
    MsChap2,
    /// EAP-TLS (RFC 5216, RFC 9190).
    Tls,
}

impl EapMethod {
    /// Type number of the method (RFC 3748, 6.2).
    pub(crate) const fn number(self) -> u8 {
        match self {
            Self::MsChap2 => 26,
            Self::Tls => 13,
        }
    }
}

/// Signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// RSASSA-PKCS1-v1_5 with this hash of the message (RFC 8017, 8.2).
    RsaPkcs1(Hash),
    /// RSASSA-PSS with this hash of the message; the salt is as long as the hash (RFC 8017, 8.1).
    RsaPss(Hash),
    /// RSA with PKCS #1 padding over the message itself, without a DigestInfo (RFC 2409, 5.1).
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
    /// Returns true if the key supports the scheme.
    fn can(&self, scheme: Scheme) -> bool;

    /// Signs a message. A key that takes its time begins with the signature and returns [`NoSignature::Pending`]: the
    /// engine asks again with the same scheme and message.
    ///
    /// # Errors
    /// There is no signature, or not yet.
    fn sign(&self, scheme: Scheme, message: &[u8]) -> Result<Vec<u8>, NoSignature>;
}

/// Reason for which a key returns no signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSignature {
    /// The signature is not made yet.
    Pending,
    /// The key cannot sign, for this reason.
    Failed(String),
}

/// Checks certificate chains and the signatures of their keys.
pub trait Verifier: Send + Sync {
    /// SHA-1 hashes of the trusted authorities' public keys, for CERTREQ payloads (RFC 7296, 3.7).
    fn authorities(&self) -> Vec<[u8; 20]>;

    /// Distinguished names of the trusted authorities in DER, for CERTREQ payloads of IKEv1.
    fn names(&self) -> Vec<Vec<u8>>;

    /// Checks that the first certificate of a chain is trusted and contains the identity (skipped for `None`),
    /// and that its key signed the message.
    ///
    /// # Errors
    /// The reason for the log: an untrusted chain, a wrong identity, or a wrong signature.
    fn verify(
        &self,
        chain: &[Vec<u8>],
        id: Option<&Id>,
        scheme: Scheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), String>;
}

/// Addresses and networks configured through the IKE SA (`/ip/ipsec/mode-config`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModeConfig {
    /// Name of the item, for log messages.
    pub name: String,
    /// True: answers requests. False: sends them.
    pub responder: bool,
    /// Responder: fixed address, for one peer.
    pub address: Option<IpAddr>,
    /// Responder: pool of addresses; the engine asks its owner by [`crate::Action::LeaseWanted`].
    pub pool: Option<String>,
    /// Responder: prefix length sent with the address.
    pub prefix_len: u8,
    /// Responder: prefixes reachable through the tunnel (`split-include`).
    pub split_include: Vec<IpNet>,
    /// Responder: name servers.
    pub dns: Vec<IpAddr>,
    /// Responder: also sends the DNS servers of this router ([`crate::Settings::dns`]).
    pub system_dns: bool,
    /// Responder: domains to resolve by these servers (`split-dns`).
    pub split_dns: Vec<String>,
}

/// Address prefix and port of a traffic selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector {
    /// Address prefix.
    pub prefix: IpNet,
    /// Port; 0 matches any.
    pub port: u16,
}

/// Behaviour of a policy without an SA (`level`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// `use`: encrypts if an SA exists, else sends in clear.
    Use,
    /// `require`: encrypts or drops.
    #[default]
    Require,
    /// `unique`: as `Require`, with SAs that no other policy shares.
    Unique,
}

/// Security protocol of the SAs (`ipsec-protocols`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// ESP (RFC 4303).
    #[default]
    Esp,
    /// AH (RFC 4302).
    Ah,
}

/// Encapsulation mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Protects the payload of the packet.
    Transport,
    /// Protects the whole packet inside an outer packet between the two gateways.
    Tunnel,
}

/// Traffic to protect and its SAs (`/ip/ipsec/policy` with action `encrypt`), with the proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Peer to negotiate with; `None` for a template.
    pub peer: Option<PeerId>,
    /// Template group; `None` if the policy is no template.
    pub template: Option<String>,
    /// Position among all policies: the first match wins.
    pub place: u64,
    /// `src-address` and `src-port`.
    pub source: Selector,
    /// `dst-address` and `dst-port`.
    pub destination: Selector,
    /// IP protocol number; 0 matches all.
    pub protocol: u8,
    /// Transport or tunnel mode. Ignored for templates, which accept both.
    pub mode: Mode,
    /// `sa-src-address` and `sa-dst-address`; unspecified addresses while unknown.
    pub ends: (IpAddr, IpAddr),
    /// `level`.
    pub level: Level,
    /// `ipsec-protocols`.
    pub ipsec: Protocol,
    /// `proposal`.
    pub proposal: Proposal,
}

/// Algorithms and lifetime of a policy's SAs (`/ip/ipsec/proposal`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Name of the proposal, for log messages.
    pub name: String,
    /// `auth-algorithms`, best first; empty for `null` alone.
    pub auth: Vec<Hash>,
    /// `enc-algorithms`, best first; ignored with AH.
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

// Keys and verifiers cannot be compared by value: two configurations are equal if they share them.

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
