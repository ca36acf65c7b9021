//! `/interface/ovpn-client/import-ovpn-configuration` and `/interface/ovpn-server/server/export-client-configuration`:
//! client files of OpenVPN (`.ovpn`).

use certificate::{Facts, export, import, issued_by};
use menu::{Call, Id, Item, Preparation, Reason, Reply, Row, Value};
use openvpn::{ClientFile, Device, Digest, Transport};

use super::certificate::{
    ImportSettings, add_certificates, der_of, pack, text, unpack, with_token,
};
use super::{CommandContext, one, read_file};
use crate::drive::Control;
use crate::feature::certificate::CERTIFICATE;
use crate::kind::ovpn::{CIPHERS, CLIENT_MENU, CONTROL_KEY};

/// Menu of servers.
const SERVER: &str = "/interface/ovpn-server/server";
/// Ending of client files.
const ENDING: &str = ".ovpn";

impl Control {
    /// Returns the preparation that decrypts the private key of an imported file.
    pub(crate) fn openvpn_piece(&self, call: &Call<'_>) -> Result<Option<Preparation>, Reason> {
        if call.command != "import-ovpn-configuration" {
            return Ok(None);
        }
        let name = text(call, "file-name");
        let file = read(&name, read_file(&self.manage.files, &name, ENDING)?)?;
        let pem = [
            file.authorities.as_deref(),
            file.certificate.as_deref(),
            file.key.as_ref().map(|key| key.as_str()),
        ];
        let pem: Vec<&str> = pem.into_iter().flatten().collect();
        let pem = pem.join("\n").into_bytes();
        let skips = text(call, "skip-cert-import") == "yes";
        if skips || pem.is_empty() {
            return Ok(None);
        }
        let passphrase = text(call, "key-passphrase");
        Ok(Some(Box::new(move || {
            let refused = |why: String| Reason::failure(format!("{name}: {why}"));
            let found = import::read(&pem, &passphrase).map_err(refused)?;
            match found.why {
                Some(why) => Err(refused(format!(
                    "the private key is not decrypted: {why}: give key-passphrase"
                ))),
                None => Ok(pack(&with_token(found))),
            }
        })))
    }
}

/// Reads a client file.
fn read(name: &str, contents: Vec<u8>) -> Result<ClientFile, Reason> {
    let parsed = ClientFile::parse(&menu::bytes::from_bytes(&contents));
    parsed.map_err(|fault| Reason::failure(format!("{name}: {fault}")))
}

type PropertyValues = Vec<(&'static str, Option<Value>)>;

impl CommandContext<'_> {
    /// Adds a client as a file describes it, with its certificates. Reports the options that were left out.
    pub(super) fn import_openvpn(&mut self) -> Result<Reply, Reason> {
        let name = self.needed("file-name")?;
        let file = read(&name, self.read(&name, ENDING)?)?;
        let leaf = name.rsplit('/').next().unwrap_or_default().to_owned();
        let found = self.call.made.and_then(unpack);
        let user = self.user_of(&file)?;
        let mut client = self.client(&file, user)?;
        let label = leaf.strip_suffix(ENDING).unwrap_or(&leaf);
        if self.store.named("interface", label).is_none() {
            client.push(self.property("name", label)?);
        }
        let menu = self.store.menu(CLIENT_MENU).ok_or(Reason::NoItem)?;
        let verifies = found.is_some() && file.authorities.is_some();
        client.push(("verify-server-certificate", Some(Value::Bool(verifies))));
        let made = self.change_items("OpenVPN client imported", |store| {
            if let Some(found) = found {
                let settings = ImportSettings {
                    leaf,
                    named: None,
                    given: vec![("trusted", Some(Value::Bool(true)))],
                };
                let counts = add_certificates(store, found, &settings)?;
                if let Some(own) = counts.with_key.into_iter().next() {
                    let own = Value::Reference(own.as_str().into());
                    client.push(("certificate", Some(own)));
                }
            }
            store.add(menu, &client, None).map(Some)
        })?;
        for out in &file.left_out {
            self.say(&format!("left out: line {}, {}", out.line, out.option))?;
        }
        let item = made.and_then(|id: Id| self.store.item(CLIENT_MENU, id));
        let mut row = Row::default();
        let interface = item.map_or("", |item| item.text("name"));
        row.set("interface", Value::text(interface));
        Ok(one(row))
    }

    /// Returns user and password of an imported client.
    fn user_of(&self, file: &ClientFile) -> Result<Option<(String, String)>, Reason> {
        let given = self.text("ovpn-user").filter(|user| !user.is_empty());
        let of_file = file.user.as_ref();
        match (given, of_file) {
            (Some(user), _) => Ok(Some((user, self.text("ovpn-password").unwrap_or_default()))),
            (None, Some((user, password))) => Ok(Some((user.clone(), String::clone(password)))),
            (None, None) if file.needs_user => Err(Reason::failure(
                "the file needs a user (auth-user-pass): give ovpn-user and ovpn-password",
            )),
            (None, None) => Ok(None),
        }
    }

    /// Parses a property value of a client.
    fn property(
        &self,
        name: &'static str,
        text: &str,
    ) -> Result<(&'static str, Option<Value>), Reason> {
        let menu = self.store.menu(CLIENT_MENU).ok_or(Reason::NoItem)?;
        let property = menu.property(name).ok_or(Reason::NoItem)?;
        Ok((name, Some(property.kind.parse(name, text)?)))
    }

    /// Returns the values of a client that a file describes.
    fn client(
        &self,
        file: &ClientFile,
        user: Option<(String, String)>,
    ) -> Result<PropertyValues, Reason> {
        let first = file.ciphers.first();
        let word = CIPHERS.iter().find(|(_, cipher)| Some(cipher) == first);
        let yes = |yes: bool| if yes { "yes" } else { "no" };
        let mut client = vec![
            self.property("connect-to", &file.host)?,
            self.property("port", &file.port.to_string())?,
            self.property("protocol", protocol(file.transport))?,
            self.property("mode", mode(file.device))?,
            self.property("cipher", word.map_or("aes256-gcm", |(word, _)| word))?,
            self.property("auth", file.digest.unwrap_or(Digest::Sha1).name())?,
            self.property("tls-version", only_tls12(file.only_tls12))?,
            self.property("add-default-route", yes(file.redirects))?,
            self.property("route-nopull", yes(file.ignores_routes))?,
            self.property("disconnect-notify", yes(file.notifies_exit))?,
            ("disabled", Some(Value::Bool(false))),
        ];
        if let Some(mtu) = file.mtu {
            client.push(self.property("max-mtu", &mtu.to_string())?);
        }
        if let Some((user, password)) = user {
            client.push(self.property("user", &user)?);
            client.push(self.property("password", &password)?);
        }
        if let Some(key) = &file.control_key {
            client.push((CONTROL_KEY, Some(Value::text(key.as_str()))));
        }
        Ok(client)
    }

    /// Writes the file of a client of a server.
    pub(super) fn export_openvpn(&mut self) -> Result<Reply, Reason> {
        let server = self.needed("server")?;
        let address = self.needed("server-address")?;
        let is_named = |item: &&std::sync::Arc<Item>| item.text("name") == server;
        let item = self.store.items(SERVER).find(is_named).cloned();
        let item = item.ok_or_else(|| Reason::no_match("server"))?;
        let certificate = self.certificate_of(&item)?;
        let authority = match self.text("ca-certificate").filter(|name| !name.is_empty()) {
            Some(name) => self.pem(&name, "CERTIFICATE")?,
            None => self.issuer(&certificate),
        };
        let mut file = file_of(&item, &address);
        file.authorities = Some(authority);
        let facts = Facts::read(&certificate).map_err(Reason::failure)?;
        file.verifies_use = facts.usages.contains(&"tls-server");
        if let Some(name) = { self.text("client-certificate") }.filter(|name| !name.is_empty()) {
            let key = self.text("client-cert-key").filter(|key| !key.is_empty());
            let key = key.ok_or_else(|| {
                Reason::failure(
                    "client-cert-key is missing: export it by /certificate/export-certificate with export-passphrase, \
                     and name the file",
                )
            })?;
            file.certificate = Some(self.pem(&name, "CERTIFICATE")?);
            let key = menu::bytes::from_bytes(&self.read(&key, ".key")?);
            file.key = Some(key.into());
        }
        let seconds = self.control.clock.now().unix_seconds;
        let name = format!("client{seconds}{ENDING}");
        self.write(&name, file.encode().as_bytes())?;
        let mut row = Row::default();
        row.set("file", Value::text(name));
        Ok(one(row))
    }

    /// Returns the certificate of a server in DER.
    fn certificate_of(&self, server: &Item) -> Result<Vec<u8>, Reason> {
        let name = server.text("certificate");
        let item = self.store.named("certificate", name);
        let der = item.and_then(|item| der_of(item));
        der.ok_or_else(|| Reason::failure("the server has no signed certificate: set certificate"))
    }

    /// Returns the issuer of a certificate in PEM, or the certificate itself if this router has no issuer.
    fn issuer(&self, der: &[u8]) -> String {
        let all = self.store.items(CERTIFICATE);
        let mut others = all.filter_map(|item| der_of(item));
        let issuer = others.find(|other| issued_by(der, other));
        export::to_pem("CERTIFICATE", issuer.as_deref().unwrap_or(der))
    }

    /// Returns a certificate of `/certificate`, or of a file, in PEM.
    fn pem(&self, name: &str, kind: &str) -> Result<String, Reason> {
        if let Some(der) = { self.store.named("certificate", name) }.and_then(|item| der_of(item)) {
            return Ok(export::to_pem(kind, &der));
        }
        let contents = self.read(name, ".crt").map_err(|reason| match reason {
            Reason::Denied => reason,
            reason => Reason::failure(format!("{name}: {reason}")),
        })?;
        let found = import::read(&contents, "");
        let found = found.map_err(|why| Reason::failure(format!("{name}: {why}")))?;
        let all = found.certificates.iter();
        Ok(all.map(|(der, _)| export::to_pem(kind, der)).collect())
    }
}

/// Returns the file for clients of a server, without certificates.
fn file_of(server: &Item, address: &str) -> ClientFile {
    let has = |property: &str, word: &str| {
        let words = server.get(property).map(Value::as_list).unwrap_or_default();
        words.iter().any(|other| other.to_string() == word)
    };
    let port = server
        .number("port")
        .and_then(|port| u16::try_from(port).ok());
    let ciphers = CIPHERS.into_iter().filter(|(word, _)| has("cipher", word));
    let digests = [
        Digest::Sha256,
        Digest::Sha512,
        Digest::Sha384,
        Digest::Sha1,
        Digest::Md5,
        Digest::None,
    ];
    let mtu = server
        .number("max-mtu")
        .and_then(|mtu| u16::try_from(mtu).ok());
    ClientFile {
        device: match server.text("mode") {
            "ethernet" => Device::Tap,
            _ => Device::Tun,
        },
        transport: match server.text("protocol") {
            "udp" => Transport::Udp,
            _ => Transport::Tcp,
        },
        ciphers: ciphers.map(|(_, cipher)| cipher).collect(),
        digest: digests
            .into_iter()
            .find(|digest| has("auth", digest.name())),
        mtu: mtu.filter(|mtu| *mtu != 1500),
        only_tls12: server.text("tls-version") == "only-1.2",
        needs_user: true,
        ..ClientFile::new(address, port.unwrap_or(1194))
    }
}

const fn protocol(transport: Transport) -> &'static str {
    match transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
    }
}

const fn mode(device: Device) -> &'static str {
    match device {
        Device::Tun => "ip",
        Device::Tap => "ethernet",
    }
}

const fn only_tls12(only: bool) -> &'static str {
    match only {
        true => "only-1.2",
        false => "any",
    }
}

#[cfg(test)]
mod tests;
