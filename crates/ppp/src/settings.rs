//! Settings of sessions: methods of authentication, credentials, limits of packet sizes, keepalive.

use core::fmt;
use core::net::Ipv4Addr;
use std::sync::Arc;

use machine::Duration;
use zeroize::Zeroizing;

/// Which end of the session this one is: the client proves who it is, the server assigns the addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Dials, authenticates itself, and requests an address.
    Client,
    /// Demands authentication and assigns addresses.
    Server,
}

/// A method of authentication, from weak to strong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// PAP (RFC 1334): the password in clear text.
    Pap,
    /// CHAP with MD5 (RFC 1994).
    Chap,
    /// MS-CHAP version 1 (RFC 2433).
    MsChap1,
    /// MS-CHAP version 2 (RFC 2759).
    MsChap2,
}

impl Method {
    /// All methods, the strongest first: RouterOS's order of preference.
    pub const ALL: [Self; 4] = [Self::MsChap2, Self::MsChap1, Self::Chap, Self::Pap];

    /// Returns the name in RouterOS's configuration and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pap => "pap",
            Self::Chap => "chap",
            Self::MsChap1 => "mschap1",
            Self::MsChap2 => "mschap2",
        }
    }
}

/// A set of methods of authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Methods(u8);

impl Methods {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// All methods: RouterOS's default.
    pub const ALL: Self = Self(0b1111);

    /// Returns the set with `method` added.
    #[must_use]
    pub const fn with(self, method: Method) -> Self {
        Self(self.0 | 1 << method as u8)
    }

    /// Returns true if the set contains `method`.
    pub const fn contains(self, method: Method) -> bool {
        self.0 & 1 << method as u8 != 0
    }

    /// Returns true if the set contains no method.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the set, the strongest method first.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        let methods = Method::ALL.into_iter();
        methods.filter(move |method| self.contains(*method))
    }

    /// Returns the strongest method of the set.
    pub fn strongest(self) -> Option<Method> {
        self.iter().next()
    }

    /// Returns the strongest method of the set that is weaker than `method`.
    pub fn weaker_than(self, method: Method) -> Option<Method> {
        self.iter().find(|candidate| *candidate < method)
    }
}

impl FromIterator<Method> for Methods {
    fn from_iter<T: IntoIterator<Item = Method>>(methods: T) -> Self {
        methods.into_iter().fold(Self::NONE, Self::with)
    }
}

/// A password. Wiped when dropped; `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Zeroizing<Box<[u8]>>);

impl Password {
    /// Copies the bytes of a password, which are UTF-8 for MS-CHAP.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(Zeroizing::new(bytes.as_ref().into()))
    }

    /// Returns the bytes of the password.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

/// User name and password of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// User name, at most 255 bytes; longer ones are cut.
    pub user: Box<str>,
    /// Password, at most 255 bytes for PAP; longer ones are cut there.
    pub password: Password,
}

/// Detection of a dead peer by LCP Echo-Requests.
///
/// After `timeout` without packets of the peer, the session sends an Echo-Request every second. It ends with
/// [`DownReason::NotResponding`](crate::DownReason::NotResponding) one second after the last of `echoes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// Time without packets of the peer before the first Echo-Request.
    pub timeout: Duration,
    /// Number of unanswered Echo-Requests; at least 1.
    pub echoes: u16,
}

impl Keepalive {
    /// RouterOS: PPPoE declares the peer dead after twice the timeout.
    pub const fn pppoe(timeout: Duration) -> Self {
        let seconds = timeout.as_secs();
        let echoes = match seconds {
            0 => 1,
            1..0xffff => seconds as u16,
            _ => u16::MAX,
        };
        Self { timeout, echoes }
    }

    /// RouterOS: L2TP and PPTP servers drop the peer after five Echo-Requests without a reply.
    pub const fn tunnel(timeout: Duration) -> Self {
        Self { timeout, echoes: 5 }
    }
}

/// Encryption of a session by MPPE. Its keys come from MS-CHAP: other methods of authentication give none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum EncryptionPolicy {
    /// Rejects CCP.
    #[default]
    Off,
    /// Negotiates encryption; a peer that refuses has a session in clear text.
    Allowed,
    /// A session without encryption ends with
    /// [`DownReason::EncryptionRequired`](crate::DownReason::EncryptionRequired).
    Required,
}

/// Settings that many sessions share.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which end of the session this one is.
    pub role: Role,
    /// Largest MRU that this end requests, in bytes of a PPP packet behind its protocol field.
    pub max_mru: u16,
    /// Largest packet that this end sends, in bytes.
    pub max_mtu: u16,
    /// Multilink framing on this one link (RFC 1990): the largest packet that this end reassembles, in bytes.
    pub mrru: Option<u16>,
    /// Methods of authentication that a server accepts, or that a client offers.
    pub methods: Methods,
    /// Detection of a dead peer. Without a keepalive, a client sends no MTU probe.
    pub keepalive: Option<Keepalive>,
    /// Name of this end in CHAP challenges: the identity of a server.
    pub local_name: Arc<str>,
    /// User and password of a client.
    pub credentials: Option<Arc<Credentials>>,
    /// Address that a client requests; without it the server chooses one.
    pub local_address: Option<Ipv4Addr>,
    /// Address that a client suggests to a server which has none.
    pub remote_address: Option<Ipv4Addr>,
    /// A client opens IPv4 with IPCP.
    pub ipv4: bool,
    /// A client opens IPv6 with IPv6CP. A server decides by [`Grant::ipv6`](crate::Grant::ipv6).
    pub ipv6: bool,
    /// A client opens BCP, and no other network protocol. A server decides by
    /// [`Grant::bridging`](crate::Grant::bridging).
    pub bridging: bool,
    /// A client requests the addresses of two DNS servers.
    pub request_dns: bool,
    /// Encryption of a client's session. A server decides by [`Grant::encryption`](crate::Grant::encryption).
    pub encryption: EncryptionPolicy,
    /// The owner can encrypt the data packets of the link; otherwise sessions have no encryption.
    pub can_encrypt: bool,
    /// The carrier encrypts, such as by TLS: sessions have no MPPE, and a policy that requires encryption is fulfilled.
    pub is_encrypted: bool,
    /// The owner can carry frames of a bridge on the link; otherwise sessions do not bridge.
    pub can_bridge: bool,
    /// The carrier carries Ethernet frames, and PPP packets for control alone: BCP opens after IPCP, with or without
    /// addresses, and IPv6CP stays closed.
    pub carries_frames: bool,
    /// Accepts a peer's ACFC, PFC and ACCM. PPPoE rejects them (RFC 2516, 7).
    pub hdlc_options: bool,
    /// Reports the keys of the login to the owner ([`Action::Authenticated`](crate::Action::Authenticated)).
    pub reports_keys: bool,
}

impl Settings {
    /// RouterOS's defaults for PPPoE: MTU and MRU 1480, all methods, keepalive 10 s, no multilink framing, IPv4.
    pub fn pppoe(role: Role) -> Self {
        Self {
            role,
            max_mru: 1480,
            max_mtu: 1480,
            mrru: None,
            methods: Methods::ALL,
            keepalive: Some(Keepalive::pppoe(Duration::from_secs(10))),
            local_name: "".into(),
            credentials: None,
            local_address: None,
            remote_address: None,
            ipv4: true,
            ipv6: false,
            bridging: false,
            request_dns: false,
            encryption: EncryptionPolicy::Off,
            can_encrypt: true,
            is_encrypted: false,
            can_bridge: true,
            carries_frames: false,
            hdlc_options: false,
            reports_keys: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_come_from_strong_to_weak() {
        let methods: Methods = [Method::Pap, Method::MsChap1].into_iter().collect();

        assert_eq!(methods.strongest(), Some(Method::MsChap1));
        assert_eq!(methods.weaker_than(Method::MsChap1), Some(Method::Pap));
        assert_eq!(methods.weaker_than(Method::Pap), None);
        assert!(!methods.contains(Method::Chap));
        assert_eq!(Methods::ALL.iter().count(), 4);
    }

    #[test]
    fn debug_hides_passwords() {
        let credentials = Credentials {
            user: "anna".into(),
            password: Password::new("geheim"),
        };

        assert!(!format!("{credentials:?}").contains("geheim"));
        assert!(!format!("{credentials:?}").contains("103"));
    }
}
