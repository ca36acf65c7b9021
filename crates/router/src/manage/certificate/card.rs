//! `card-verify` and `card-reinstall`: the token of this router (RouterOS: its smart card).

use certificate::import::ImportedFile;
use certificate::{Facts, of_text, token};
use menu::{Call, Id, Item, Preparation, Reason, Reply, Store, Value};

use super::{CommandContext, text};
use crate::feature::certificate::CERTIFICATE;

/// Byte before each id of a certificate whose key is in the token.
const ID_BYTES: usize = 8;

/// Returns the preparation of `card-verify`: the token checks the PIN, by default the stored PIN.
pub(super) fn verifying(call: &Call<'_>) -> Preparation {
    let pin = pin(call);
    Box::new(move || {
        let label = token().and_then(|token| token.verify(pin.as_deref()));
        label.map(String::into_bytes).map_err(Reason::failure)
    })
}

/// Returns the preparation of `card-reinstall`: loads the module again, stores the PIN, and looks for the keys of
/// certificates. Its value: the ids of certificates whose keys are in the token.
pub(super) fn reinstalling(store: &Store, call: &Call<'_>) -> Preparation {
    let pin = pin(call);
    let keys = store
        .items(CERTIFICATE)
        .filter_map(|item| Some((item.id, missing_key(item)?)));
    let (ids, keys): (Vec<Id>, Vec<Vec<u8>>) = keys.unzip();
    Box::new(move || {
        let held = token().and_then(|token| {
            token.reinstall(pin.as_deref())?;
            token.holds(&keys)
        });
        let held = ids.into_iter().zip(held.map_err(Reason::failure)?);
        let held = held.filter(|(_, is_held)| *is_held);
        Ok(held.flat_map(|(id, _)| id.0.to_be_bytes()).collect())
    })
}

/// Notes which certificates of a file without a key have their key in the token. Without a usable token, none:
/// `card-reinstall` finds their keys later.
pub(crate) fn with_token(mut file: ImportedFile) -> ImportedFile {
    let certificates = file.certificates.iter().enumerate();
    let without_key = certificates.filter(|(_, (_, key))| key.is_none());
    let keys = without_key
        .filter_map(|(place, (der, _))| Some((place, Facts::read(der).ok()?.public_key)));
    let (places, keys): (Vec<usize>, Vec<Vec<u8>>) = keys.unzip();
    if !keys.is_empty() {
        let held = token()
            .and_then(|token| token.holds(&keys))
            .unwrap_or_default();
        let held = places.into_iter().zip(held).filter(|(_, is_held)| *is_held);
        file.in_token = held.map(|(place, _)| place).collect();
    }
    file
}

fn pin(call: &Call<'_>) -> Option<String> {
    Some(text(call, "pin")).filter(|pin| !pin.is_empty())
}

/// Returns the public key of a certificate whose private key the router does not have.
fn missing_key(item: &Item) -> Option<Vec<u8>> {
    if !item.text("key").is_empty() || item.is("card-key") {
        return None;
    }
    let der = of_text(item.text("der"))?;
    Some(Facts::read(&der).ok()?.public_key)
}

impl CommandContext<'_> {
    /// Marks the certificates whose keys are in the token.
    pub(super) fn reinstall_card(&mut self) -> Result<Reply, Reason> {
        let (found, _) = self.call.made.unwrap_or_default().as_chunks::<ID_BYTES>();
        let found: Vec<Id> = found.iter().map(|id| Id(u64::from_be_bytes(*id))).collect();
        let menu = self.call.menu;
        self.change_items("smart card installed", |store| {
            for id in found {
                // A certificate may have been removed meanwhile.
                if store
                    .item(CERTIFICATE, id)
                    .is_some_and(|item| missing_key(item).is_some())
                {
                    store.set(menu, id, &[("card-key", Some(Value::Bool(true)))])?;
                }
            }
            Ok(None)
        })?;
        Ok(Reply::default())
    }
}
