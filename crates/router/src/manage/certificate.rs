//! The commands of `/certificate`: signing, importing, exporting, revoking.
//!
//! Slow work, generating keys and decrypting files, is done before the command has the router ([`Control::piece_of`]);
//! each command adds or changes certificates in one transaction.

use std::sync::Arc;

use certificate::{
    Digest, Facts, Key, KeySize, Subject, Template, export, import, issued_by, of_text, request,
    to_text,
};
use menu::{Call, Id, Item, Policies, Preparation, Reason, Reply, Row, Store, Value};

mod card;
mod signing;

pub(super) use card::with_token;

use super::{CommandContext, one, read_file};
use crate::drive::Control;
use crate::feature::certificate::CERTIFICATE;
use crate::store::vault::random;

/// Maximum number of certificates in an exported chain.
const CHAIN: usize = 8;
/// The shortest passphrase of an exported key. RouterOS: shorter ones export no key.
const PASSPHRASE: usize = 8;
/// Maximum number of certificates.
const MOST: usize = 2_000;

fn argument<'a>(call: &'a Call<'_>, name: &str) -> Option<&'a Value> {
    let mut arguments = call.arguments.iter();
    arguments
        .find(|(other, _)| *other == name)
        .map(|(_, value)| value)
}

pub(super) fn text(call: &Call<'_>, name: &str) -> String {
    argument(call, name)
        .map(ToString::to_string)
        .unwrap_or_default()
}

impl Control {
    /// Returns the slow preparation of a `/certificate` command, if it has one.
    pub(crate) fn piece_of(
        &self,
        store: &Store,
        call: &Call<'_>,
    ) -> Result<Option<Preparation>, Reason> {
        let refused = |why: String| Reason::failure(why);
        match call.command {
            "sign" => self.signing(store, call).map(Some),
            "sign-certificate-request" => self.signing_request(store, call).map(Some),
            "card-verify" => Ok(Some(card::verifying(call))),
            "card-reinstall" => Ok(Some(card::reinstalling(store, call))),
            "create-certificate-request" => {
                let item = store.named("certificate", &text(call, "template"));
                let item = item.ok_or(Reason::NoItem)?;
                if item.has_kept() {
                    return Err(refused(String::from("the certificate is signed already")));
                }
                let size = KeySize::of(item.text("key-size")).map_err(refused)?;
                let key = move || Key::new(size).map(|key| key.der().unwrap_or_default().to_vec());
                Ok(Some(Box::new(move || key().map_err(refused))))
            }
            "import" => {
                let name = text(call, "file-name");
                if name.is_empty() {
                    return Err(Reason::Missing(vec!["file-name"]));
                }
                // Importing shows no contents to the user.
                let file = read_file(&self.manage.files, &name, "")?;
                let passphrase = text(call, "passphrase");
                Ok(Some(Box::new(move || {
                    let found = import::read(&file, &passphrase);
                    found
                        .map(|found| pack(&with_token(found)))
                        .map_err(|why| refused(format!("{name}: {why}")))
                })))
            }
            "export-certificate" => self.writing(store, call),
            _ => Ok(None),
        }
    }

    /// Returns the preparation that encrypts a key or PKCS#12 with a passphrase.
    fn writing(&self, store: &Store, call: &Call<'_>) -> Result<Option<Preparation>, Reason> {
        let passphrase = text(call, "export-passphrase");
        let is_pkcs12 = text(call, "type") == "pkcs12";
        let [id] = call.items else {
            return Err(Reason::failure("one certificate can be exported at a time"));
        };
        let item = store.item(CERTIFICATE, *id).ok_or(Reason::NoItem)?;
        let key = match passphrase.len() >= PASSPHRASE {
            true if item.is("key-stays") => {
                return Err(Reason::failure("the key was imported with no-key-export"));
            }
            true if item.is("card-key") => {
                return Err(Reason::failure(
                    "the key is in a token, which does not give it away",
                ));
            }
            true => of_text(item.text("key")).filter(|key| !key.is_empty()),
            false if !passphrase.is_empty() => {
                let why =
                    format!("export-passphrase: at least {PASSPHRASE} characters are required");
                return Err(Reason::failure(why));
            }
            false => None,
        };
        if key.is_none() && !is_pkcs12 {
            return Ok(None);
        }
        let (name, chain) = (item.text("name").to_owned(), chain(store, item)?);
        let random = random().map_err(|error| Reason::failure(error.to_string()))?;
        Ok(Some(Box::new(move || {
            let written = match (is_pkcs12, &key) {
                (false, Some(key)) => {
                    export::key_to_pem(key, &passphrase, &random).map(String::into_bytes)
                }
                _ => {
                    let chain: Vec<_> = chain.iter().map(Vec::as_slice).collect();
                    export::to_pkcs12(&name, &chain, key.as_deref(), &passphrase)
                }
            };
            written.map_err(Reason::failure)
        })))
    }
}

/// Returns the stored certificate of an item: within a transaction it may be newer than the running certificate.
pub(super) fn der_of(item: &Item) -> Option<Vec<u8>> {
    of_text(item.text("der")).filter(|der| !der.is_empty())
}

/// Returns a certificate and its issuers, as far as the router has them.
fn chain(store: &Store, item: &Item) -> Result<Vec<Vec<u8>>, Reason> {
    let others: Vec<_> = store
        .items(CERTIFICATE)
        .filter_map(|item| der_of(item))
        .collect();
    let mut chain = vec![der_of(item).ok_or_else(unsigned)?];
    while let Some(last) = chain.last()
        && chain.len() < CHAIN
    {
        let issues = |der: &&Vec<u8>| !chain.contains(der) && issued_by(last, der);
        let Some(issuer) = others.iter().find(issues) else {
            break;
        };
        chain.push(issuer.clone());
    }
    Ok(chain)
}

fn unsigned() -> Reason {
    Reason::failure("the certificate is not signed")
}

/// Encodes the contents of an imported file as the prepared value of a command: kind and length before each part.
pub(super) fn pack(found: &import::ImportedFile) -> Vec<u8> {
    let mut out = Vec::new();
    let mut push = |kind: u8, piece: &[u8]| {
        out.push(kind);
        out.extend((piece.len() as u32).to_be_bytes());
        out.extend(piece);
    };
    for (number, (certificate, key)) in found.certificates.iter().enumerate() {
        let is_in_token = found.in_token.contains(&number);
        push(if is_in_token { b't' } else { b'c' }, certificate);
        if let Some(key) = key {
            push(b'k', key);
        }
    }
    found.keys.iter().for_each(|key| push(b'a', key));
    let why = found.why.as_deref().unwrap_or_default();
    push(b'w', why.as_bytes());
    push(b'n', &(found.not_opened as u32).to_be_bytes());
    out
}

/// Decodes the prepared value of [`pack`].
pub(super) fn unpack(mut made: &[u8]) -> Option<import::ImportedFile> {
    let mut found = import::ImportedFile::default();
    while let Some((kind, rest)) = made.split_first() {
        let (len, rest) = rest.split_first_chunk()?;
        let (piece, rest) = rest.split_at_checked(u32::from_be_bytes(*len) as usize)?;
        match kind {
            b'c' | b't' => {
                if *kind == b't' {
                    found.in_token.insert(found.certificates.len());
                }
                found.certificates.push((piece.to_vec(), None));
            }
            b'k' => found.certificates.last_mut()?.1 = Some(piece.to_vec()),
            b'a' => found.keys.push(piece.to_vec()),
            b'w' if piece.is_empty() => {}
            b'w' => found.why = Some(String::from_utf8_lossy(piece).into_owned()),
            _ => found.not_opened = u32::from_be_bytes(piece.try_into().ok()?) as usize,
        }
        made = rest;
    }
    Some(found)
}

/// Builds a certificate template from an item.
fn template(item: &Item, now: i64) -> Result<Template, Reason> {
    let text = |name| item.text(name).to_owned();
    let list = |name| {
        let list = item.get(name).map(Value::as_list).unwrap_or_default();
        list.iter().map(ToString::to_string).collect()
    };
    let random: [u8; 16] = random().map_err(|error| Reason::failure(error.to_string()))?;
    let common_name = match item.text("common-name") {
        "" => return Err(Reason::failure("the template has no common-name")),
        name => name.to_owned(),
    };
    Ok(Template {
        subject: Subject {
            common_name,
            organization: text("organization"),
            unit: text("unit"),
            locality: text("locality"),
            state: text("state"),
            country: text("country"),
        },
        names: list("subject-alt-name"),
        usages: list("key-usage"),
        not_before: now,
        days_valid: item.number("days-valid").unwrap_or(365),
        serial: random,
        lists: Vec::new(),
    })
}

type PropertyValues = Vec<(&'static str, Option<Value>)>;

/// Returns the cells of a certificate that was not created from a template.
fn given(facts: &Facts) -> PropertyValues {
    let text = |text: &str| Some(Value::text(text));
    let names = facts
        .names
        .iter()
        .map(|name| Value::text(name.as_str()))
        .collect();
    let usages = facts
        .usages
        .iter()
        .map(|usage| Value::Word(usage))
        .collect();
    let mut given = vec![
        ("common-name", text(&facts.subject.common_name)),
        ("organization", text(&facts.subject.organization)),
        ("unit", text(&facts.subject.unit)),
        ("locality", text(&facts.subject.locality)),
        ("state", text(&facts.subject.state)),
        ("country", text(&facts.subject.country)),
        ("subject-alt-name", Some(Value::List(names))),
        ("key-usage", Some(Value::List(usages))),
        (
            "days-valid",
            Some(Value::Number(facts.days_valid().clamp(0, 36_500))),
        ),
    ];
    given.extend(
        facts
            .digest
            .map(|digest| ("digest-algorithm", Some(Value::Word(digest)))),
    );
    given
}

impl CommandContext<'_> {
    pub(super) fn certificate(&mut self) -> Result<Reply, Reason> {
        match self.call.command {
            "sign" => self.sign(),
            "import" => self.import_certificates(),
            "export-certificate" => self.export_certificate(),
            "create-certificate-request" => self.ask_for_certificate(),
            "sign-certificate-request" => self.sign_request(),
            "card-verify" => Ok(Reply::default()),
            "card-reinstall" => self.reinstall_card(),
            _ => self.revoke(),
        }
    }

    fn now(&self) -> i64 {
        self.control.clock.now().unix_seconds
    }

    /// Returns the only item of the command.
    fn only(&self) -> Result<Arc<Item>, Reason> {
        let id = self.call.items.first().ok_or(Reason::NoItem)?;
        self.store
            .item(CERTIFICATE, *id)
            .cloned()
            .ok_or(Reason::NoItem)
    }

    /// Changes or adds items in one transaction.
    pub(super) fn change_items(
        &mut self,
        action: &str,
        change: impl FnOnce(&mut Store) -> Result<Option<Id>, Reason>,
    ) -> Result<Option<Id>, Reason> {
        let mark = self.store.begin();
        let made = match change(self.store) {
            Ok(made) => made,
            Err(reason) => {
                self.store.rollback(mark);
                return Err(reason);
            }
        };
        let by = self.by(action);
        let changes = self.store.commit_by(mark, by)?;
        self.control.follow(self.store, changes);
        Ok(made)
    }

    fn sign(&mut self) -> Result<Reply, Reason> {
        let item = self.only()?;
        if item.has_kept() {
            return Err(Reason::failure("the certificate is signed already"));
        }
        let made = self.call.made.and_then(unpack).ok_or(Reason::NoItem)?;
        let is_in_token = !made.in_token.is_empty();
        let (made, key) = made.certificates.into_iter().next().ok_or(Reason::NoItem)?;
        let is_self_signed = self.text("ca").is_none_or(|name| name.is_empty());
        let mut given: PropertyValues = vec![
            ("der", Some(Value::text(to_text(&made)))),
            // RouterOS: a self-signed certificate is trusted.
            ("trusted", Some(Value::Bool(is_self_signed))),
        ];
        given.extend(key.map(|key| ("key", Some(Value::text(to_text(&key))))));
        given.extend(is_in_token.then_some(("card-key", Some(Value::Bool(true)))));
        if let Some(name) = self.text("name").filter(|name| !name.is_empty()) {
            given.push(("name", Some(Value::text(name))));
        }
        if let Some(hosts) = self.text("ca-crl-host").filter(|hosts| !hosts.is_empty()) {
            given.push(("ca-crl-host", Some(Value::text(hosts))));
        }
        let menu = self.call.menu;
        self.change_items("certificate signed", |store| {
            store.set(menu, item.id, &given).map(|()| None)
        })?;
        let mut row = Row::default();
        row.set("progress", Value::text("done"));
        Ok(one(row))
    }

    /// RouterOS: certificates get the name of the file with a number appended.
    fn import_certificates(&mut self) -> Result<Reply, Reason> {
        let found = self.call.made.and_then(unpack).ok_or(Reason::NoItem)?;
        let file = self.needed("file-name")?;
        let leaf = file.rsplit('/').next().unwrap_or(&file).to_owned();
        let named = self.text("name").filter(|name| !name.is_empty());
        let (not_opened, why) = (found.not_opened, found.why.clone());
        let trusted = self.argument("trusted").is_none() || self.is("trusted");
        let mut given: PropertyValues = vec![
            ("trusted", Some(Value::Bool(trusted))),
            (
                "key-stays",
                self.is("no-key-export").then_some(Value::Bool(true)),
            ),
        ];
        let uses = self.argument("trust-store").cloned();
        given.extend(uses.map(|uses| ("trust-store", Some(uses))));
        let settings = ImportSettings { leaf, named, given };
        let mut counts = Counts::default();
        let counted = &mut counts;
        self.change_items("certificates imported", |store| {
            *counted = add_certificates(store, found, &settings)?;
            Ok(None)
        })?;
        if let Some(why) = why {
            let text = format!("{file}: {not_opened} not imported: {why}");
            self.control.features.log.add("certificate,error", text);
        }
        Ok(one(counts.row(not_opened)))
    }

    fn export_certificate(&mut self) -> Result<Reply, Reason> {
        let item = self.only()?;
        let pem = export::to_pem("CERTIFICATE", &der_of(&item).ok_or_else(unsigned)?);
        let usual = format!("cert_export_{}", item.text("name"));
        let name = self
            .text("file-name")
            .filter(|name| !name.is_empty())
            .unwrap_or(usual);
        if self.call.made.is_some() && !self.caller.policies.contains(Policies::SENSITIVE) {
            return Err(Reason::Denied);
        }
        match (self.text("type").as_deref(), self.call.made) {
            (Some("pkcs12"), Some(made)) => self.write(&format!("{name}.p12"), made)?,
            (_, made) => {
                let files = &mut self.control.manage.files;
                menu::Files::write_plain(files, &format!("{name}.crt"), pem.as_bytes())?;
                if let Some(made) = made {
                    self.write(&format!("{name}.key"), made)?;
                }
            }
        }
        Ok(Reply::default())
    }

    /// RouterOS: the request and its key are files, and nothing else is stored.
    fn ask_for_certificate(&mut self) -> Result<Reply, Reason> {
        let template_name = self.needed("template")?;
        let passphrase = self.needed("key-passphrase")?;
        if self
            .text("challenge-passphrase")
            .is_some_and(|text| !text.is_empty())
        {
            return Err(Reason::failure("challenge-passphrase is not supported"));
        }
        let item = self.store.named("certificate", &template_name).cloned();
        let item = item.ok_or_else(|| Reason::no_match("template"))?;
        let digest = Digest::of(item.text("digest-algorithm")).map_err(Reason::failure)?;
        let key = Key::read(self.call.made.unwrap_or_default(), digest).map_err(Reason::failure)?;
        let made = request(&template(&item, self.now())?, &key).map_err(Reason::failure)?;
        let random = random().map_err(|error| Reason::failure(error.to_string()))?;
        let sealed = export::key_to_pem(key.der().unwrap_or_default(), &passphrase, &random)
            .map_err(Reason::failure)?;
        let pem = export::to_pem("CERTIFICATE REQUEST", &made);
        let files = &mut self.control.manage.files;
        menu::Files::write_plain(files, "certificate-request.pem", pem.as_bytes())?;
        self.write("certificate-request_key.pem", sealed.as_bytes())?;
        Ok(Reply::default())
    }

    fn sign_request(&mut self) -> Result<Reply, Reason> {
        let file = self.needed("file-name")?;
        let made = self.call.made.ok_or(Reason::NoItem)?;
        let facts = Facts::read(made).map_err(Reason::failure)?;
        let leaf = file.rsplit('/').next().unwrap_or(&file).to_owned();
        let (menu, mut number) = (self.call.menu, 0);
        self.change_items("certificate request signed", |store| {
            let mut given = given(&facts);
            let name = free_name(store, None, &leaf, &mut number);
            given.push(("name", Some(Value::text(name))));
            given.push(("der", Some(Value::text(to_text(made)))));
            store.add(menu, &given, None).map(Some)
        })?;
        let pem = export::to_pem("CERTIFICATE", made);
        let files = &mut self.control.manage.files;
        menu::Files::write_plain(files, "certificate-response.pem", pem.as_bytes())?;
        Ok(Reply::default())
    }

    /// Records each certificate as revoked at its authority; users cannot undo this.
    fn revoke(&mut self) -> Result<Reply, Reason> {
        let now = self.now();
        let mut wanted = Vec::new();
        for id in self.call.items {
            let item = self.store.item(CERTIFICATE, *id).ok_or(Reason::NoItem)?;
            let der = der_of(item).ok_or_else(unsigned)?;
            let serial = Facts::read(&der).map_err(Reason::failure)?.serial;
            let issues = |other: &&Arc<Item>| {
                let is_able = !other.text("key").is_empty() || other.is("card-key");
                other.id != *id && is_able && der_of(other).is_some_and(|ca| issued_by(&der, &ca))
            };
            let by = self.store.items(CERTIFICATE).find(issues);
            let by = by.ok_or_else(|| Reason::failure("the certificate was not issued here"))?;
            if by.is("card-key") {
                return Err(Reason::failure(
                    "a key in a token signs no revocation lists",
                ));
            }
            let mut revoked = by.text("revoked-by").split(',');
            if !revoked.any(|one| one.split(':').next() == Some(&*serial)) {
                wanted.push((by.id, serial));
            }
        }
        let menu = self.call.menu;
        self.change_items("certificates revoked", |store| {
            for (by, serial) in wanted {
                let item = store.item(CERTIFICATE, by).ok_or(Reason::NoItem)?;
                let before = item.text("revoked-by");
                let comma = if before.is_empty() { "" } else { "," };
                let now = format!("{before}{comma}{serial}:{now}");
                store.set(menu, by, &[("revoked-by", Some(Value::text(now)))])?;
            }
            Ok(None)
        })?;
        Ok(Reply::default())
    }
}

/// Settings of imported certificates.
pub(super) struct ImportSettings {
    /// Name of the file without folders: certificates get it with a number appended.
    pub(super) leaf: String,
    /// Name of the first certificate, if the user gave one.
    pub(super) named: Option<String>,
    /// Values that all certificates get.
    pub(super) given: PropertyValues,
}

/// Adds certificates and keys within a transaction, and gives keys to the certificates that they belong to.
///
/// # Errors
/// A certificate or key is malformed, or there are too many certificates.
pub(super) fn add_certificates(
    store: &mut Store,
    found: import::ImportedFile,
    settings: &ImportSettings,
) -> Result<Counts, Reason> {
    if store.count(CERTIFICATE) + found.certificates.len() > MOST {
        return Err(Reason::Limit("certificates"));
    }
    let menu = store.menu(CERTIFICATE).ok_or(Reason::NoItem)?;
    let (mut counts, mut number) = (Counts::default(), 0);
    for (place, (der, key)) in found.certificates.into_iter().enumerate() {
        let facts = Facts::read(&der).map_err(Reason::failure)?;
        if let Some(known) = holder(store, |item| item.text("der") == to_text(&der)) {
            counts.keys += usize::from(key.is_some() && known.text("key").is_empty());
            counts.note_key(key.is_some(), known.text("name"));
            give_key(store, &known, key)?;
            continue;
        }
        let name = free_name(
            store,
            settings.named.as_deref(),
            &settings.leaf,
            &mut number,
        );
        counts.certificates += 1;
        counts.keys += usize::from(key.is_some());
        counts.note_key(key.is_some(), &name);
        let mut given = given(&facts);
        given.extend(settings.given.iter().cloned());
        given.push(("name", Some(Value::text(name))));
        given.push(("der", Some(Value::text(to_text(&der)))));
        given.extend(key.map(|key| ("key", Some(Value::text(to_text(&key))))));
        let is_in_token = found.in_token.contains(&place);
        given.extend(is_in_token.then_some(("card-key", Some(Value::Bool(true)))));
        store.add(menu, &given, None)?;
    }
    for key in found.keys {
        add_key(store, key, &mut counts)?;
    }
    Ok(counts)
}

/// Gives a key without a certificate in its file to the certificate that it belongs to.
fn add_key(store: &mut Store, key: Vec<u8>, counts: &mut Counts) -> Result<(), Reason> {
    let public = Key::read(&key, Digest::default())
        .map_err(Reason::failure)?
        .public_key();
    let is_its = |item: &Item| {
        let facts = of_text(item.text("der")).and_then(|der| Facts::read(&der).ok());
        facts.is_some_and(|facts| facts.public_key == public)
    };
    match holder(store, is_its) {
        Some(known) => {
            counts.keys += usize::from(known.text("key").is_empty());
            give_key(store, &known, Some(key))?;
        }
        None => counts.alone += 1,
    }
    Ok(())
}

/// Numbers of imported objects.
#[derive(Default)]
pub(super) struct Counts {
    certificates: usize,
    keys: usize,
    alone: usize,
    /// Names of the certificates whose keys the file has.
    pub(super) with_key: Vec<String>,
}

impl Counts {
    fn note_key(&mut self, has_key: bool, name: &str) {
        if has_key {
            self.with_key.push(name.to_owned());
        }
    }

    fn row(&self, not_opened: usize) -> Row {
        let mut row = Row::default();
        let files = usize::from(self.certificates + self.keys > 0);
        for (name, count) in [
            ("certificates-imported", self.certificates),
            ("private-keys-imported", self.keys),
            ("files-imported", files),
            ("decryption-failures", not_opened),
            ("keys-with-no-certificate", self.alone),
        ] {
            row.set(name, Value::Number(count as i64));
        }
        row
    }
}

/// Returns the first certificate that fulfils a condition.
fn holder(store: &Store, is: impl Fn(&Item) -> bool) -> Option<Arc<Item>> {
    let mut items = store.items(CERTIFICATE).filter(|item| item.has_kept());
    items.find(|item| is(item)).cloned()
}

fn give_key(store: &mut Store, item: &Item, key: Option<Vec<u8>>) -> Result<(), Reason> {
    let key = key.filter(|_| item.text("key").is_empty());
    let Some(key) = key else { return Ok(()) };
    store.set(
        item.menu,
        item.id,
        &[("key", Some(Value::text(to_text(&key))))],
    )
}

/// Returns a free name: the requested one, otherwise the file's name with a number.
fn free_name(store: &Store, named: Option<&str>, leaf: &str, number: &mut usize) -> String {
    let is_free = |name: &str| store.named("certificate", name).is_none();
    if let Some(name) = named.filter(|name| *number == 0 && is_free(name)) {
        *number += 1;
        return name.to_owned();
    }
    loop {
        let name = format!("{}_{number}", named.unwrap_or(leaf));
        *number += 1;
        if is_free(&name) {
            return name;
        }
    }
}

#[cfg(test)]
mod tests;
