//! `/ip/ssh`: the host key of the SSH server. The program speaks the protocol; a key that a user had made or brought
//! is kept beside the settings, and stands in place of the one that the program has made at its first start.

use access::HostKey;
use menu::{Changes, Id, Menu, Row, Store, Value};

use super::{Effects, Feature, View};

pub(crate) const SSH: &str = "/ip/ssh";
/// Where the settings keep it.
pub(crate) const KEPT: &str = "host-key";

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Ssh {
    /// What the program shows where the settings have none.
    first: Option<HostKey>,
    fingerprint: Option<String>,
}

/// The host key that the settings have, if they have one.
pub fn kept_host_key(store: &Store) -> Option<HostKey> {
    let pem = store.settings(SSH)?.text(KEPT);
    HostKey::read(pem.as_bytes(), "").ok()
}

impl Ssh {
    /// Takes over the key that the program has made.
    pub(crate) fn set_first(&mut self, key: HostKey, store: &Store) {
        self.first = Some(key);
        self.look(store);
    }

    /// The host key, if there is any.
    pub(crate) fn key(&self, store: &Store) -> Option<HostKey> {
        kept_host_key(store).or_else(|| self.first.clone())
    }

    fn look(&mut self, store: &Store) {
        self.fingerprint = self.key(store).map(|key| key.fingerprint());
    }
}

impl Feature for Ssh {
    fn menus(&self) -> &'static [&'static str] {
        &[SSH]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        self.look(view.store);
    }

    fn annotate(&self, _: &'static Menu, _: Id, row: &mut Row) {
        if let Some(fingerprint) = &self.fingerprint {
            row.set("host-key-fingerprint", Value::text(fingerprint.as_str()));
        }
    }
}
