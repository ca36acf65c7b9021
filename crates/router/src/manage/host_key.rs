//! The commands of `/ip/ssh`: generates a host key, imports it from a file, or exports it to files.
//!
//! Keys are generated and decrypted before the command has the router ([`Control::host_key_of`]), because this is slow.

use access::HostKey;
use certificate::{Key, KeySize, export, import};
use menu::{Call, Preparation, Reason, Reply, Store, Value};

use super::{CommandContext, read_file};
use crate::drive::Control;
use crate::feature::ssh::{KEPT, SSH};
use crate::store::vault::random;

/// RouterOS: this text.
const UNREADABLE: &str = "unable to load key, wrong format or bad passphrase";

fn text(call: &Call<'_>, name: &str) -> String {
    let mut arguments = call.arguments.iter();
    let found = arguments.find(|(other, _)| *other == name);
    found
        .map(|(_, value)| value.to_string())
        .unwrap_or_default()
}

impl Control {
    /// Returns the slow preparation of a `/ip/ssh` command, if it has one.
    pub(crate) fn host_key_of(
        &self,
        store: &Store,
        call: &Call<'_>,
    ) -> Result<Option<Preparation>, Reason> {
        let passphrase = text(call, "passphrase");
        match call.command {
            "regenerate-host-key" => making(store).map(Some),
            "import-host-key" => {
                let name = text(call, "private-key-file");
                if name.is_empty() {
                    return Err(Reason::Missing(vec!["private-key-file"]));
                }
                let file = read_file(&self.manage.files, &name, "")?;
                Ok(Some(Box::new(move || {
                    let key = read(&file, &passphrase).map_err(Reason::failure)?;
                    key.to_pem()
                        .map(String::into_bytes)
                        .map_err(Reason::failure)
                })))
            }
            "export-host-key" => {
                let key = self.features.ssh.key(store).ok_or(Reason::NoItem)?;
                let random = random().map_err(|error| Reason::failure(error.to_string()))?;
                Ok(Some(Box::new(move || {
                    let pem = match passphrase.is_empty() {
                        true => key.to_pem(),
                        false => key.sealed(&passphrase, random),
                    };
                    pem.map(String::into_bytes).map_err(Reason::failure)
                })))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the preparation that generates a key of the configured type.
fn making(store: &Store) -> Result<Preparation, Reason> {
    let settings = store.settings(SSH).ok_or(Reason::NoItem)?;
    if settings.text("host-key-type") != "rsa" {
        let seed = random().map_err(|error| Reason::failure(error.to_string()))?;
        return Ok(Box::new(move || {
            let pem = HostKey::ed25519(&seed).to_pem();
            pem.map(String::into_bytes).map_err(Reason::failure)
        }));
    }
    let size = KeySize::of(settings.text("host-key-size")).map_err(Reason::failure)?;
    Ok(Box::new(move || {
        let made = Key::new(size)
            .and_then(|key| HostKey::of_pkcs8(key.der().unwrap_or_default())?.to_pem());
        made.map(String::into_bytes).map_err(Reason::failure)
    }))
}

/// Parses a key in OpenSSH format, or PKCS#8 or PKCS#1 in PEM.
fn read(file: &[u8], passphrase: &str) -> Result<HostKey, String> {
    const OPENSSH: &[u8] = b"-----BEGIN OPENSSH PRIVATE KEY-----";
    if file.windows(OPENSSH.len()).any(|part| part == OPENSSH) {
        return HostKey::read(file, passphrase).map_err(|why| format!("{UNREADABLE}: {why}"));
    }
    let found = import::read(file, passphrase).map_err(|why| format!("{UNREADABLE}: {why}"))?;
    let key = found.keys.first().ok_or(UNREADABLE)?;
    HostKey::of_pkcs8(&export::to_pkcs8(key)?)
}

impl CommandContext<'_> {
    pub(super) fn host_key(&mut self) -> Result<Reply, Reason> {
        let made = self.call.made.ok_or(Reason::NoItem)?;
        let pem = String::from_utf8_lossy(made).into_owned();
        match self.call.command {
            "export-host-key" => self.export_host_key(&pem),
            "import-host-key" => self.keep_host_key(pem, "ssh host key imported"),
            _ => self.keep_host_key(pem, "ssh host key regenerated"),
        }
    }

    /// Existing connections stay; new ones get the new key.
    fn keep_host_key(&mut self, pem: String, action: &str) -> Result<Reply, Reason> {
        let menu = self.call.menu;
        let id = self.store.settings(SSH).ok_or(Reason::NoItem)?.id;
        self.change_items(action, |store| {
            let given = [(KEPT, Some(Value::text(pem)))];
            store.set(menu, id, &given).map(|()| None)
        })?;
        Ok(Reply::default())
    }

    /// RouterOS: the file names contain the type of the key.
    fn export_host_key(&mut self, pem: &str) -> Result<Reply, Reason> {
        let prefix = self.needed("key-file-prefix")?;
        let key = self
            .control
            .features
            .ssh
            .key(self.store)
            .ok_or(Reason::NoItem)?;
        let public = key.public().map_err(Reason::failure)?;
        let name = format!("{prefix}_{}", key.kind());
        self.write(&format!("{name}.pem"), pem.as_bytes())?;
        let files = &mut self.control.manage.files;
        let public = format!("{public}\n");
        menu::Files::write_plain(files, &format!("{name}_pub.pem"), public.as_bytes())?;
        Ok(Reply::default())
    }
}
