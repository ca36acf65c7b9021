//! Preparation of signatures by an authority: generation of keys, and the signature itself, which a token may make.

use std::sync::Arc;

use certificate::{
    Authority, Digest, Key, KeySize, Template, TokenKey, export, of_text, self_signed, signed,
    signed_request, token,
};
use menu::{Call, Item, Preparation, Reason, Store};

use super::{argument, der_of, pack, read_file, template, text, unsigned};
use crate::drive::Control;
use crate::feature::certificate::CERTIFICATE;
use crate::signer::token_key;
use crate::store::vault::random;

/// An authority of the router, with its key.
struct LocalAuthority {
    item: Arc<Item>,
    der: Vec<u8>,
    key: AuthorityKey,
}

/// Private key of an authority.
enum AuthorityKey {
    Stored(Vec<u8>),
    InToken(TokenKey),
}

impl LocalAuthority {
    /// Returns the authority of this name.
    fn named(store: &Store, name: &str) -> Result<Self, Reason> {
        let item = store
            .named("certificate", name)
            .ok_or_else(|| Reason::no_match("ca"))?;
        let der = der_of(item).ok_or_else(unsigned)?;
        let key = match token_key(item) {
            Some(key) => AuthorityKey::InToken(key.map_err(Reason::failure)?),
            None => {
                let key = of_text(item.text("key")).filter(|key| !key.is_empty());
                let key =
                    key.ok_or_else(|| Reason::failure("the private key of the CA is missing"))?;
                AuthorityKey::Stored(key)
            }
        };
        Ok(Self {
            item: Arc::clone(item),
            der,
            key,
        })
    }

    fn authority(&self, digest: Digest) -> Result<Authority<'_>, String> {
        match &self.key {
            AuthorityKey::Stored(key) => Authority::new(&self.der, key, digest),
            AuthorityKey::InToken(key) => {
                // The token's words are lost within the library that signs: ask first.
                token()?.verify(None)?;
                let key = TokenKey::new(key.public_key(), digest)?;
                Ok(Authority {
                    certificate: &self.der,
                    key: Key::in_token(key),
                })
            }
        }
    }

    /// Returns the URLs of the authority's revocation list, for the certificates that it signs.
    fn lists(&self) -> Vec<String> {
        let hosts = self
            .item
            .get("ca-crl-host")
            .map(ToString::to_string)
            .unwrap_or_default();
        let hosts = hosts.split(',').filter(|host| !host.is_empty());
        hosts
            .map(|host| format!("http://{host}/crl/{}.crl", self.item.id.0))
            .collect()
    }
}

/// A template to sign.
struct SigningJob {
    template: Template,
    name: String,
    size: KeySize,
    digest: Digest,
    /// `None`: the certificate signs itself.
    authority: Option<LocalAuthority>,
    is_in_token: bool,
}

impl SigningJob {
    /// Makes the key and the certificate.
    fn run(self) -> Result<Vec<u8>, String> {
        let key = match self.is_in_token {
            false => Key::new(self.size)?,
            true => {
                let public_key = token()?.generate(self.size, &self.name)?;
                Key::in_token(TokenKey::new(&public_key, self.digest)?)
            }
        };
        // A key of the router signs with the requested hash.
        let key = match key.der() {
            Some(der) => Key::read(der, self.digest)?,
            None => key,
        };
        let made = match &self.authority {
            Some(authority) => signed(&self.template, &key, authority.authority(self.digest)?)?,
            None => self_signed(&self.template, &key)?,
        };
        let stored = key.der().map(<[u8]>::to_vec);
        let file = certificate::import::ImportedFile {
            certificates: vec![(made, stored)],
            in_token: self.is_in_token.then_some(0).into_iter().collect(),
            ..Default::default()
        };
        Ok(pack(&file))
    }
}

impl Control {
    /// Returns the preparation of `sign`.
    pub(super) fn signing(&self, store: &Store, call: &Call<'_>) -> Result<Preparation, Reason> {
        let id = call.items.first().ok_or(Reason::NoItem)?;
        let item = store.item(CERTIFICATE, *id).ok_or(Reason::NoItem)?;
        if item.has_kept() {
            return Err(Reason::failure("the certificate is signed already"));
        }
        let digest = Digest::of(item.text("digest-algorithm")).map_err(Reason::failure)?;
        let mut template = template(item, self.clock.now().unix_seconds)?;
        let authority = match text(call, "ca").as_str() {
            "" => None,
            name => Some(LocalAuthority::named(store, name)?),
        };
        let is_in_token =
            argument(call, "ca-on-smart-card").and_then(menu::Value::as_bool) == Some(true);
        if is_in_token && authority.is_some() {
            return Err(Reason::failure(
                "ca-on-smart-card is for a certificate that signs itself: the key of the CA stays where it was made",
            ));
        }
        if is_in_token && !text(call, "ca-crl-host").is_empty() {
            return Err(Reason::failure(
                "ca-crl-host: a key in a token signs no revocation lists",
            ));
        }
        template.lists = authority
            .as_ref()
            .map(LocalAuthority::lists)
            .unwrap_or_default();
        let size = KeySize::of(item.text("key-size")).map_err(Reason::failure)?;
        let name = item.text("name").to_owned();
        let job = SigningJob {
            template,
            name,
            size,
            digest,
            authority,
            is_in_token,
        };
        Ok(Box::new(move || job.run().map_err(Reason::failure)))
    }

    /// Returns the preparation of `sign-certificate-request`, whose value is the certificate.
    pub(super) fn signing_request(
        &self,
        store: &Store,
        call: &Call<'_>,
    ) -> Result<Preparation, Reason> {
        let (file, ca) = (text(call, "file-name"), text(call, "ca"));
        for (name, given) in [("file-name", &file), ("ca", &ca)] {
            if given.is_empty() {
                return Err(Reason::Missing(vec![name]));
            }
        }
        let request = read_file(&self.manage.files, &file, "")?;
        let request = export::of_pem("CERTIFICATE REQUEST", &request)
            .ok_or_else(|| Reason::failure("there is no request in the file"))?;
        let word = match text(call, "digest-algorithm") {
            word if word.is_empty() => String::from("sha256"),
            word => word,
        };
        let digest = Digest::of(&word).map_err(Reason::failure)?;
        let authority = LocalAuthority::named(store, &ca)?;
        let days = argument(call, "days-valid")
            .and_then(menu::Value::as_number)
            .unwrap_or(365);
        let template = Template {
            not_before: self.clock.now().unix_seconds,
            days_valid: days.clamp(0, 36_500),
            serial: random().map_err(|error| Reason::failure(error.to_string()))?,
            lists: authority.lists(),
            ..Template::default()
        };
        let job = move || signed_request(&request, &template, authority.authority(digest)?);
        Ok(Box::new(move || job().map_err(Reason::failure)))
    }
}
