//! Reads `/snmp` and `/snmp/community`: communities and trap targets.

use core::net::IpAddr;

use ipnet::IpNet;
use menu::{Call, Item, Reason, Store, Value};
use service::snmp;
use service::snmp::usm::{Cipher, Hash};
use service::snmp::{Community, Security, Trap, TrapVersion};

use super::{COMMUNITIES, MENU};
use crate::kind;

/// Menus that the feature follows: `/snmp`, communities, and interface menus because of their
/// comments.
pub(super) const MENUS: [&str; 2 + kind::MENUS.len()] = {
    let mut menus = [MENU; 2 + kind::MENUS.len()];
    menus[1] = COMMUNITIES;
    let mut at = 0;
    while at < kind::MENUS.len() {
        menus[2 + at] = kind::MENUS[at];
        at += 1;
    }
    menus
};

/// Prefix of RouterOS engine ids: enterprise 14988, text format (RFC 3411, 5).
const ENGINE: [u8; 5] = [0x80, 0, 0x3a, 0x8c, 4];
/// Maximum length of an engine id in bytes.
const ENGINE_MAX: usize = 32;
/// Maximum number of trap targets.
const TARGETS: usize = 64;

/// Configuration of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) enabled: bool,
    pub(super) contact: String,
    pub(super) location: String,
    pub(super) engine: Vec<u8>,
    pub(super) communities: Vec<Named>,
    pub(super) targets: Vec<IpAddr>,
    pub(super) trap_community: String,
    pub(super) trap_version: TrapVersion,
    pub(super) tells_start: bool,
    /// Interfaces named in `trap-interfaces`; `None` if traps report no interfaces.
    told: Option<Vec<String>>,
    /// `src-address`.
    pub(super) source: Option<IpAddr>,
}

/// A community, and the input of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) name: String,
    passwords: (String, String),
    engine: Vec<u8>,
    pub(super) community: Community,
}

/// Returns the engine id with this suffix.
pub(super) fn engine(suffix: &str) -> Vec<u8> {
    let bytes = ENGINE.iter().chain(suffix.as_bytes());
    bytes.copied().take(ENGINE_MAX).collect()
}

impl Settings {
    /// Reads the configuration. Reuses keys of `before` with equal password and engine, since
    /// deriving a key takes milliseconds.
    pub(super) fn read(store: &Store, before: &Self) -> Self {
        let Some(item) = store.settings(MENU) else {
            return Self::default();
        };
        let engine = engine(item.text("engine-id-suffix"));
        let items = store.items(COMMUNITIES).filter(|item| !item.is("disabled"));
        let communities = items.filter_map(|item| Named::read(item, &engine, before));
        let words = |name: &str| {
            let values = item.get(name).map(Value::as_list).unwrap_or_default();
            values.iter().map(ToString::to_string)
        };
        let tells = |what: &str| words("trap-generators").any(|word| word == what);
        let source: Option<IpAddr> = item.text("src-address").parse().ok();
        Self {
            enabled: item.is("enabled"),
            contact: item.text("contact").to_owned(),
            location: item.text("location").to_owned(),
            communities: communities.collect(),
            engine,
            targets: { words("trap-target") }
                .filter_map(|target| target.parse().ok())
                .take(TARGETS)
                .collect(),
            trap_community: item.text("trap-community").to_owned(),
            trap_version: match &*item
                .get("trap-version")
                .map(ToString::to_string)
                .unwrap_or_default()
            {
                "2" => TrapVersion::V2,
                "3" => TrapVersion::V3,
                _ => TrapVersion::V1,
            },
            tells_start: tells("start-trap"),
            told: tells("interfaces").then(|| words("trap-interfaces").collect()),
            source: source.filter(|source| !source.is_unspecified()),
        }
    }

    /// Whether traps report this interface. RouterOS: without `trap-interfaces` they report none.
    pub(super) fn tells_of(&self, name: &str) -> bool {
        let told = self.told.iter().flatten();
        told.into_iter().any(|told| told == "all" || told == name)
    }
}

impl Named {
    fn read(item: &Item, engine: &[u8], before: &Settings) -> Option<Self> {
        let name = item.name()?.to_owned();
        let passwords = (
            item.text("authentication-password").to_owned(),
            item.text("encryption-password").to_owned(),
        );
        let hash = match item.text("authentication-protocol") {
            "SHA1" => Hash::Sha1,
            _ => Hash::Md5,
        };
        let cipher = match item.text("encryption-protocol") {
            "AES" => Cipher::Aes,
            _ => Cipher::Des,
        };
        let known = before.communities.iter().find(|known| {
            known.passwords == passwords && known.engine == engine && known.community.auth.0 == hash
        });
        let (auth, privacy) = match known {
            Some(known) => (
                known.community.auth.1.clone(),
                known.community.privacy.1.clone(),
            ),
            None => (
                hash.key(&passwords.0, engine),
                hash.key(&passwords.1, engine),
            ),
        };
        let addresses = item
            .get("addresses")
            .map(Value::as_list)
            .unwrap_or_default();
        let addresses = addresses.iter().filter_map(Value::as_prefix);
        let mut addresses: Vec<_> = { addresses }
            .map(|network: IpNet| (network.addr(), network.prefix_len()))
            .collect();
        if addresses.is_empty() {
            addresses.push(("::".parse().ok()?, 0));
        }
        let community = Community {
            addresses,
            security: match item.text("security") {
                "authorized" => Security::Authorized,
                "private" => Security::Private,
                _ => Security::None,
            },
            read: item.is("read-access"),
            write: item.is("write-access"),
            auth: (hash, auth),
            privacy: (cipher, privacy),
        };
        Some(Self {
            name,
            passwords,
            engine: engine.to_vec(),
            community,
        })
    }
}

/// Builds the trap of a `send-trap` command.
pub(super) fn trap(call: &Call<'_>) -> Result<Trap, Reason> {
    let given = |name: &str| {
        let mut arguments = call.arguments.iter();
        let found = arguments.find(|(argument, _)| *argument == name);
        found.map(|(_, value)| value.to_string())
    };
    let numbers = |text: &str| -> Option<Vec<u32>> {
        let numbers = text.trim_start_matches('.').split('.');
        let numbers: Vec<u32> = numbers
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?;
        (2..=snmp::OID_MAX)
            .contains(&numbers.len())
            .then_some(numbers)
    };
    let bad = |name: &str| Reason::BadValue(format!("invalid value for argument {name}"));
    let oid = given("oid").ok_or_else(|| Reason::failure("oid is missing"))?;
    let oid = numbers(&oid).ok_or_else(|| bad("oid"))?;
    let text = given("value").unwrap_or_default();
    let number = || text.parse::<i64>().map_err(|_| bad("value"));
    let word = || u32::try_from(number()?).map_err(|_| bad("value"));
    let value = match given("type").as_deref() {
        None => None,
        Some("integer") => Some(snmp::Value::Integer(
            i32::try_from(number()?).map_err(|_| bad("value"))?,
        )),
        Some("nullobj") => Some(snmp::Value::Null),
        Some("obj-id") => Some(snmp::Value::Oid(
            numbers(&text).ok_or_else(|| bad("value"))?,
        )),
        Some("ip-address") => {
            let address: core::net::Ipv4Addr = text.parse().map_err(|_| bad("value"))?;
            Some(snmp::Value::Address(address.octets()))
        }
        Some("counter32") => Some(snmp::Value::Counter32(word()?)),
        Some("timeticks") => Some(snmp::Value::Ticks(word()?)),
        Some("unsigned") => Some(snmp::Value::Gauge32(word()?)),
        Some(_) => Some(snmp::Value::text(&text)),
    };
    Ok(Trap {
        bindings: value
            .map(|value| (oid.clone(), value))
            .into_iter()
            .collect(),
        oid,
    })
}
