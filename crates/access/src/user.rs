//! Configured users.

use std::net::IpAddr;

use ipnet::IpNet;
use machine::Duration;
use menu::{Id, Item, Policies, Store, Value};
use subtle::ConstantTimeEq as _;

use crate::Service;

/// Hashed password from the configuration.
#[derive(Clone)]
pub(crate) struct Seal(String);

impl Seal {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// True if there is no password.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Seal {
    /// Compares in constant time.
    fn eq(&self, other: &Self) -> bool {
        self.0.as_bytes().ct_eq(other.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seal")
    }
}

/// Configuration of a user who tries to log in.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: Id,
    pub(crate) group: String,
    pub(crate) policies: Policies,
    /// Idle timeout of sessions, if limited.
    pub(crate) idle: Option<Duration>,
    /// Empty without a password.
    pub(crate) seal: Seal,
    /// Type and data of each SSH key.
    pub(crate) keys: Vec<String>,
    /// SSH accepts the password.
    password_by_ssh: bool,
    pub(crate) disabled: bool,
    addresses: Vec<IpNet>,
}

impl User {
    /// Finds a user by name.
    pub(crate) fn find(store: &Store, name: &str) -> Option<Self> {
        store.named("user", name).map(|item| Self::of(store, item))
    }

    /// Reads the user of an item.
    pub(crate) fn of(store: &Store, item: &Item) -> Self {
        let name = item.text("name");
        let keys = keys(store, name);
        let password_by_ssh = password_by_ssh(store, !keys.is_empty());
        let prefixes = item.get("address").map(Value::as_list).unwrap_or_default();
        Self {
            id: item.id,
            group: item.text("group").to_owned(),
            policies: policies(store, item),
            idle: idle(item),
            seal: Seal(item.text("password").to_owned()),
            keys,
            password_by_ssh,
            disabled: item.is("disabled"),
            addresses: prefixes.iter().filter_map(Value::as_prefix).collect(),
        }
    }

    /// True if the user may log in from this address by this service.
    pub(crate) fn may_enter(&self, address: IpAddr, service: Service) -> bool {
        let near = self.addresses.is_empty()
            || self
                .addresses
                .iter()
                .any(|net| net.contains(&address.to_canonical()));
        !self.disabled && near && self.policies.contains(service.policy())
    }

    /// True if the service accepts the user's password.
    pub(crate) fn may_use_password(&self, service: Service) -> bool {
        !self.seal.is_empty() && (service != Service::Ssh || self.password_by_ssh)
    }
}

/// Policies of the user's group; none if the group does not exist.
fn policies(store: &Store, user: &Item) -> Policies {
    of_group(store, user.text("group"))
}

/// Policies of a group; none if the group does not exist.
pub(crate) fn of_group(store: &Store, name: &str) -> Policies {
    let group = store.named("user-group", name);
    let policy = group.and_then(|group| group.get("policy"));
    policy.map(Policies::from_value).unwrap_or_default()
}

/// RouterOS may lock the screen and ask for the password; here the session ends instead.
fn idle(user: &Item) -> Option<Duration> {
    if user.text("inactivity-policy") == "none" {
        return None;
    }
    let nanos = user.get("inactivity-timeout").and_then(Value::as_nanos)?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

fn keys(store: &Store, name: &str) -> Vec<String> {
    let of_user = store
        .items("/user/ssh-keys")
        .filter(|item| item.text("user") == name);
    of_user.map(|item| bare_key(item.text("key"))).collect()
}

/// Type and data of a key, without its comment.
pub(crate) fn bare_key(text: &str) -> String {
    let words: Vec<_> = text.split_ascii_whitespace().take(2).collect();
    words.join(" ")
}

/// RouterOS: a user with keys may log in by password only if `/ip/ssh` allows it.
fn password_by_ssh(store: &Store, has_keys: bool) -> bool {
    let settings = store.settings("/ip/ssh");
    match settings.map(|settings| settings.text("password-authentication")) {
        Some("yes") => true,
        Some("no") => false,
        _ => !has_keys,
    }
}

/// Enabled users with the policies to manage users and the configuration.
pub fn full_users(store: &Store) -> impl Iterator<Item = &str> {
    let needed = Policies::POLICY | Policies::WRITE | Policies::READ;
    let full = move |item: &&std::sync::Arc<Item>| {
        !item.is("disabled") && policies(store, item).contains(needed)
    };
    store.items("/user").filter(full).filter_map(|i| i.name())
}

/// The user `admin`, if no user who may manage users can log in from the network; it then needs a password.
pub fn without_password(store: &Store) -> Option<Id> {
    let able = full_users(store).filter_map(|name| User::find(store, name));
    if able
        .into_iter()
        .any(|user| !user.seal.is_empty() || !user.keys.is_empty())
    {
        return None;
    }
    let admin = store.named("user", "admin")?;
    (!admin.is("disabled")).then_some(admin.id)
}

#[cfg(test)]
mod tests {
    use super::Seal;

    #[test]
    fn password_hashes_are_compared_completely() {
        let seal = |text: &str| Seal(text.to_owned());

        assert!(seal("abc") == seal("abc"));
        assert!(seal("abc") != seal("abd"));
        assert!(seal("abc") != seal("ab"));
        assert!(seal("") == seal(""));
        assert_eq!(format!("{:?}", seal("abc")), "Seal");
    }
}
