//! `/ip/ssh`: the host key of the SSH server. A key that a user generated or imported is stored in
//! the settings; it replaces the key that the program generated at its first start. The owner runs
//! the server.

use access::HostKey;
use menu::{Changes, Id, Menu, Row, Store, Value};

use super::{Effects, Feature, View};

pub(crate) const SSH: &str = "/ip/ssh";
/// Property of the settings with the stored key.
pub(crate) const KEPT: &str = "host-key";

/// Host key of the SSH server.
#[derive(Debug, Default)]
pub(crate) struct Ssh {
    /// The generated key, used without a stored one.
    first: Option<HostKey>,
    fingerprint: Option<String>,
}

/// Returns the host key in the settings, if set.
pub fn kept_host_key(store: &Store) -> Option<HostKey> {
    let pem = store.settings(SSH)?.text(KEPT);
    HostKey::read(pem.as_bytes(), "").ok()
}

impl Ssh {
    /// Sets the generated key.
    pub(crate) fn set_first(&mut self, key: HostKey, store: &Store) {
        self.first = Some(key);
        self.look(store);
    }

    /// Returns the host key in use, if any.
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
