//! Profiles of PPP sessions, `/ppp/profile`. A change applies to sessions that begin afterwards (RouterOS).

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use machine::Duration;
use menu::{Item, Value};
use ppp::EncryptionPolicy;

use crate::intent::{ItemId, Name};
use crate::read;

/// Menu of profiles.
pub(super) const MENU: &str = "/ppp/profile";

/// Source of a session's address: a fixed address, or an address pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AddressSource {
    /// A fixed address.
    Address(Ipv4Addr),
    /// Name of a pool.
    Pool(Name),
}

/// Position of the queue of a session among the simple queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// In front of all queues.
    First,
    /// Behind all queues.
    Bottom,
    /// In front of the queue with this name.
    Before(Name),
}

/// A choice of `use-ipv6` or `use-encryption`; `default` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    No,
    Yes,
    Required,
}

/// Settings of a profile. `None` and an empty list leave the setting to the default profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) local: Option<AddressSource>,
    pub(super) remote: Option<AddressSource>,
    pub(super) prefix_pool: Option<Name>,
    pub(super) prefix_reuse: Option<bool>,
    pub(super) delegation_pool: Option<Name>,
    /// Valid lifetime of delegated prefixes.
    pub(super) delegation_lifetime: Option<Duration>,
    pub(super) address_list: Option<Name>,
    pub(super) interface_list: Option<Name>,
    pub(super) incoming_filter: Option<Name>,
    pub(super) outgoing_filter: Option<Name>,
    pub(super) dns: Vec<Ipv4Addr>,
    pub(super) wins: Vec<Ipv4Addr>,
    pub(super) session_timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) rate_limit: Option<Box<str>>,
    pub(super) only_one: Option<bool>,
    pub(super) queue_position: Option<QueuePosition>,
    pub(super) parent_queue: Option<Name>,
    /// Queue types of upload and download.
    pub(super) queue_type: Option<[Name; 2]>,
    pub(super) ipv6: Option<Choice>,
    pub(super) encryption: Option<Choice>,
    pub(super) clamp_mss: Option<bool>,
    /// Bridge of the sessions, and settings of their ports.
    pub(super) bridge: Option<Name>,
    pub(super) bridge_vid: Option<u16>,
    pub(super) bridge_priority: Option<u8>,
    pub(super) bridge_cost: Option<u32>,
    pub(super) bridge_horizon: Option<u32>,
    pub(super) bridge_learning: Option<bool>,
    pub(super) bridge_trusted: Option<bool>,
    pub(super) on_up: Option<Box<str>>,
    pub(super) on_down: Option<Box<str>>,
}

/// All profiles, by item and by name.
#[derive(Debug, Default)]
pub(super) struct Profiles {
    names: BTreeMap<ItemId, Name>,
    all: BTreeMap<Name, Arc<Profile>>,
    /// Profiles over default profiles, until a profile changes.
    merged: BTreeMap<(Name, Name), Arc<Profile>>,
}

impl Profiles {
    /// Sets or removes the profile of an item.
    pub(super) fn put(&mut self, id: ItemId, item: Option<&Item>) {
        self.merged.clear();
        if let Some(before) = self.names.remove(&id) {
            self.all.remove(&before);
        }
        if let Some((item, name)) = item.and_then(|item| Some((item, Name::from(item.name()?)))) {
            self.names.insert(id, name.clone());
            self.all.insert(name, Arc::new(Profile::read(item)));
        }
    }

    /// Returns the settings of a profile over those of the default profile.
    pub(super) fn merged(&mut self, name: &Name, default: &Name) -> Arc<Profile> {
        let key = (name.clone(), default.clone());
        let merged = self.merged.entry(key).or_insert_with(|| {
            let own = self.all.get(name).cloned().unwrap_or_default();
            match self.all.get(default).filter(|_| name != default) {
                Some(default) => Arc::new((*own).clone().over(default)),
                None => own,
            }
        });
        Arc::clone(merged)
    }

    /// Whether a profile exists.
    pub(super) fn has(&self, name: &Name) -> bool {
        self.all.contains_key(name)
    }
}

impl Profile {
    fn read(item: &Item) -> Self {
        let text = |name| Some(item.text(name)).filter(|text| !text.is_empty());
        let word = |name| read::name(item, name).filter(|name| !matches!(&**name, "" | "none"));
        let yes = |name| match item.text(name) {
            "yes" => Some(true),
            "no" => Some(false),
            _ => None,
        };
        Self {
            local: source(item.get("local-address")),
            remote: source(item.get("remote-address")),
            prefix_pool: word("remote-ipv6-prefix-pool"),
            prefix_reuse: yes("remote-ipv6-prefix-reuse"),
            delegation_pool: word("dhcpv6-pd-pool"),
            delegation_lifetime: timeout(item, "dhcpv6-lease-time"),
            address_list: word("address-list"),
            interface_list: word("interface-list"),
            incoming_filter: word("incoming-filter"),
            outgoing_filter: word("outgoing-filter"),
            dns: addresses(item.get("dns-server")),
            wins: addresses(item.get("wins-server")),
            session_timeout: timeout(item, "session-timeout"),
            idle_timeout: timeout(item, "idle-timeout"),
            rate_limit: text("rate-limit").map(Into::into),
            only_one: yes("only-one"),
            queue_position: text("insert-queue-before").map(|name| match name {
                "first" => QueuePosition::First,
                "bottom" => QueuePosition::Bottom,
                name => QueuePosition::Before(name.into()),
            }),
            parent_queue: word("parent-queue"),
            queue_type: item.get("queue-type").and_then(queue_types),
            ipv6: choice(item.text("use-ipv6")),
            encryption: choice(item.text("use-encryption")),
            clamp_mss: yes("change-tcp-mss"),
            bridge: word("bridge"),
            bridge_vid: small(item, "bridge-port-vid"),
            bridge_priority: small(item, "bridge-port-priority"),
            bridge_cost: small(item, "bridge-path-cost"),
            bridge_horizon: small(item, "bridge-horizon"),
            bridge_learning: yes("bridge-learning"),
            bridge_trusted: yes("bridge-port-trusted"),
            on_up: text("on-up").map(Into::into),
            on_down: text("on-down").map(Into::into),
        }
    }

    /// Fills unset settings from the default profile.
    pub(super) fn over(self, default: &Self) -> Self {
        let list = |own: Vec<Ipv4Addr>, default: &Vec<_>| match own.is_empty() {
            true => default.clone(),
            false => own,
        };
        Self {
            local: prefer(self.local, &default.local),
            remote: prefer(self.remote, &default.remote),
            prefix_pool: prefer(self.prefix_pool, &default.prefix_pool),
            prefix_reuse: prefer(self.prefix_reuse, &default.prefix_reuse),
            delegation_pool: prefer(self.delegation_pool, &default.delegation_pool),
            delegation_lifetime: prefer(self.delegation_lifetime, &default.delegation_lifetime),
            address_list: prefer(self.address_list, &default.address_list),
            interface_list: prefer(self.interface_list, &default.interface_list),
            incoming_filter: prefer(self.incoming_filter, &default.incoming_filter),
            outgoing_filter: prefer(self.outgoing_filter, &default.outgoing_filter),
            dns: list(self.dns, &default.dns),
            wins: list(self.wins, &default.wins),
            session_timeout: prefer(self.session_timeout, &default.session_timeout),
            idle_timeout: prefer(self.idle_timeout, &default.idle_timeout),
            rate_limit: prefer(self.rate_limit, &default.rate_limit),
            only_one: prefer(self.only_one, &default.only_one),
            queue_position: prefer(self.queue_position, &default.queue_position),
            parent_queue: prefer(self.parent_queue, &default.parent_queue),
            queue_type: prefer(self.queue_type, &default.queue_type),
            ipv6: prefer(self.ipv6, &default.ipv6),
            encryption: prefer(self.encryption, &default.encryption),
            clamp_mss: prefer(self.clamp_mss, &default.clamp_mss),
            bridge: prefer(self.bridge, &default.bridge),
            bridge_vid: prefer(self.bridge_vid, &default.bridge_vid),
            bridge_priority: prefer(self.bridge_priority, &default.bridge_priority),
            bridge_cost: prefer(self.bridge_cost, &default.bridge_cost),
            bridge_horizon: prefer(self.bridge_horizon, &default.bridge_horizon),
            bridge_learning: prefer(self.bridge_learning, &default.bridge_learning),
            bridge_trusted: prefer(self.bridge_trusted, &default.bridge_trusted),
            on_up: prefer(self.on_up, &default.on_up),
            on_down: prefer(self.on_down, &default.on_down),
        }
    }

    /// Returns the encryption of sessions. RouterOS: the default is no.
    pub(super) const fn encryption_policy(&self) -> EncryptionPolicy {
        match self.encryption {
            None | Some(Choice::No) => EncryptionPolicy::Off,
            Some(Choice::Yes) => EncryptionPolicy::Allowed,
            Some(Choice::Required) => EncryptionPolicy::Required,
        }
    }

    /// Whether sessions carry IPv6. RouterOS: the default is yes.
    pub(super) fn carries_ipv6(&self) -> bool {
        self.ipv6 != Some(Choice::No)
    }
}

fn prefer<T: Clone>(own: Option<T>, default: &Option<T>) -> Option<T> {
    own.or_else(|| default.clone())
}

/// Reads a number, decimal or hexadecimal.
fn small<T: TryFrom<i64>>(item: &Item, property: &str) -> Option<T> {
    match item.get(property)? {
        Value::Hex(number) => T::try_from(i64::try_from(*number).ok()?).ok(),
        Value::Number(number) => T::try_from(*number).ok(),
        _ => None,
    }
}

fn choice(word: &str) -> Option<Choice> {
    match word {
        "no" => Some(Choice::No),
        "yes" => Some(Choice::Yes),
        "required" => Some(Choice::Required),
        _ => None,
    }
}

/// Reads a timeout; zero is none.
fn timeout(item: &Item, property: &str) -> Option<Duration> {
    read::span(item, property).filter(|span| !span.is_zero())
}

/// Reads an address or the name of a pool.
fn source(value: Option<&Value>) -> Option<AddressSource> {
    match (value?.as_address(), value?.as_str()) {
        // RouterOS: 0.0.0.0 is no address.
        (Some(IpAddr::V4(address)), _) => {
            (!address.is_unspecified()).then_some(AddressSource::Address(address))
        }
        (_, Some(pool)) if !matches!(pool, "" | "none") => Some(AddressSource::Pool(pool.into())),
        _ => None,
    }
}

fn addresses(value: Option<&Value>) -> Vec<Ipv4Addr> {
    let list = value.map(Value::as_list).unwrap_or_default();
    let four = |value: &Value| match value.as_address() {
        Some(IpAddr::V4(address)) => Some(address),
        _ => None,
    };
    list.iter().filter_map(four).collect()
}

/// Reads the queue types of upload and download.
fn queue_types(value: &Value) -> Option<[Name; 2]> {
    let text = value.to_string();
    let (up, down) = text.split_once('/').unwrap_or((&text, &text));
    let types: [Name; 2] = [up.into(), down.into()];
    (!text.is_empty()).then_some(types)
}
