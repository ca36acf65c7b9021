//! `/certificate`: the certificates of the router and its trusted authorities.
//!
//! Certificates and keys are items of the menu, in hidden values. The feature parses them when they
//! change; `manage/certificate.rs` creates them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use certificate::{Authority, Digest, Facts, Revoked, Trust, issued_by, of_text, revocation_list};
use menu::{Changes, Clock, Id, Item, Menu, Row, RowFilter, Store, Value};

use super::{Effects, Feature, View, each_item};
use crate::clock::DayClock;
use crate::live::{DYNAMIC, give};

pub(crate) const CERTIFICATE: &str = "/certificate";
const SETTINGS: &str = "/certificate/settings";
const BUILTIN: &str = "/certificate/builtin";
const NANOS: i64 = 1_000_000_000;
/// Validity of a revocation list in days, and the maximum age of a cached list in seconds.
const LIST_DAYS: i64 = 7;
const LIST_AGE: i64 = 3_600;

/// The parsed certificates.
#[derive(Debug)]
pub(crate) struct Certificates {
    all: BTreeMap<Id, CertificateEntry>,
    trust: Arc<ArcSwap<Trust>>,
    clock: DayClock,
    /// Cached revocation lists by authority: revoked certificates, time of creation, DER.
    lists: BTreeMap<Id, (Vec<Revoked>, i64, Vec<u8>)>,
}

/// A certificate of the router.
#[derive(Debug)]
pub(crate) struct CertificateEntry {
    name: String,
    pub(crate) der: Vec<u8>,
    pub(crate) facts: Facts,
    /// The private key is in the store, or in a token.
    pub(crate) has_key: bool,
    is_in_token: bool,
    is_trusted: bool,
    uses: String,
    /// Certificates that it revoked as an authority.
    revoked: Vec<Revoked>,
    /// Item of the issuer, if the router has the issuer's certificate.
    pub(crate) by: Option<Id>,
}

impl CertificateEntry {
    fn read(item: &Item) -> Option<Self> {
        let der = of_text(item.text("der"))?;
        Some(Self {
            name: item.text("name").to_owned(),
            facts: Facts::read(&der).ok()?,
            der,
            has_key: !item.text("key").is_empty() || item.is("card-key"),
            is_in_token: item.is("card-key"),
            is_trusted: item.is("trusted"),
            uses: item
                .get("trust-store")
                .map(ToString::to_string)
                .unwrap_or_default(),
            revoked: read_revoked(item.text("revoked-by")),
            by: None,
        })
    }
}

/// Parses the revoked certificates in an item: `serial:time`, separated by commas.
fn read_revoked(text: &str) -> Vec<Revoked> {
    let one = |text: &str| {
        let (serial, at) = text.split_once(':')?;
        Some(Revoked {
            serial: serial.to_owned(),
            at: at.parse().ok()?,
        })
    };
    text.split(',').filter_map(one).collect()
}

impl Feature for Certificates {
    fn menus(&self) -> &'static [&'static str] {
        &[CERTIFICATE, SETTINGS, BUILTIN]
    }

    /// Passes the rows of built-in authorities to `each`.
    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != BUILTIN {
            return ControlFlow::Continue(());
        }
        for (number, der) in (0..).zip(certificate::builtin()) {
            let Ok(facts) = Facts::read(der) else {
                continue;
            };
            let mut row = Row {
                id: Some(Id(DYNAMIC | number)),
                ..Row::default()
            };
            for (name, text) in [
                ("common-name", &facts.subject.common_name),
                ("organization", &facts.subject.organization),
                ("unit", &facts.subject.unit),
                ("country", &facts.subject.country),
            ] {
                row.set(name, Value::text(text.as_str()));
            }
            let usages = facts.usages.iter().map(|usage| Value::Word(usage));
            row.set("key-usage", Value::List(usages.collect()));
            row.set("days-valid", Value::Number(facts.days_valid()));
            told(&facts, self.clock.now(), &mut row);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        if changes.is_none() {
            self.all.clear();
        }
        let mut others = BTreeSet::new();
        each_item(view, CERTIFICATE, changes, |id, item| {
            let known = item.and_then(CertificateEntry::read);
            let der = |known: Option<&CertificateEntry>| known.map(|known| known.der.clone());
            let before = match known {
                Some(mut known) => {
                    known.by = self.all.get(&Id(id)).and_then(|before| before.by);
                    let new = known.der.clone();
                    let before = self.all.insert(Id(id), known);
                    (der(before.as_ref()).as_ref() != Some(&new)).then_some(())
                }
                None => self.all.remove(&Id(id)).map(|_| ()),
            };
            if before.is_some() {
                others.insert(Id(id));
            }
        });
        if !others.is_empty() {
            self.find_authorities(&others);
        }
        let trust = self.trust_of(view.store, view.clock);
        self.trust.store(Arc::new(trust));
    }
}

impl Certificates {
    /// Returns an instance without certificates.
    pub(crate) fn new(clock: DayClock) -> Self {
        Self {
            all: BTreeMap::new(),
            trust: Arc::default(),
            clock,
            lists: BTreeMap::new(),
        }
    }

    /// Finds the issuers of changed certificates, and of certificates that the changed ones may
    /// have issued.
    fn find_authorities(&mut self, others: &BTreeSet<Id>) {
        let mut authorities = BTreeMap::<_, Vec<_>>::new();
        let able = self
            .all
            .iter()
            .filter(|(_, known)| known.facts.is_authority);
        for (id, known) in able {
            let name = known.facts.subject_der.clone();
            authorities
                .entry(name)
                .or_default()
                .push((*id, known.der.clone()));
        }
        for (id, known) in &mut self.all {
            let stays = known.by.is_some_and(|by| !others.contains(&by));
            if stays && !others.contains(id) {
                continue;
            }
            let named = authorities
                .get(&known.facts.issuer_der)
                .into_iter()
                .flatten();
            let mut named = named.filter(|(by, _)| by != id);
            known.by = named
                .find(|(_, der)| issued_by(&known.der, der))
                .map(|(by, _)| *by);
        }
    }

    fn trust_of(&self, store: &Store, clock: Clock) -> Trust {
        let settings = store.settings(SETTINGS);
        let builtin = settings.and_then(|item| item.get("builtin-trust-store"));
        let builtin = builtin.map_or_else(|| String::from("default"), ToString::to_string);
        let mut trust = Trust::new(&builtin);
        for known in self.all.values().filter(|known| known.is_trusted) {
            trust.add(&known.der, &known.uses);
        }
        if settings.is_some_and(|item| item.is("crl-use")) {
            let revokers = self
                .all
                .iter()
                .filter(|(_, known)| !known.revoked.is_empty());
            for (id, known) in revokers {
                if let Ok(list) = made_list(store, *id, known, clock.unix_seconds) {
                    trust.add_list(list);
                }
            }
        }
        trust
    }

    /// Returns the present trust store.
    pub(crate) fn trust(&self) -> Arc<Trust> {
        self.trust.load_full()
    }

    /// Returns the shared trust store, for frequent readers.
    pub(crate) fn share(&self) -> Arc<ArcSwap<Trust>> {
        Arc::clone(&self.trust)
    }

    /// Whether the issuer revoked this certificate.
    pub(crate) fn is_revoked(&self, known: &CertificateEntry) -> bool {
        let by = known.by.and_then(|by| self.all.get(&by));
        by.is_some_and(|by| by.revoked.iter().any(|of| of.serial == known.facts.serial))
    }

    /// Returns the revocation list of an authority with `ca-crl-host`. Creates a new list if the
    /// cached one is too old or its content changed.
    pub(crate) fn list(&mut self, store: &Store, id: Id, clock: Clock) -> Option<Vec<u8>> {
        let item = store.item(CERTIFICATE, id)?;
        item.get("ca-crl-host").filter(|hosts| !hosts.is_empty())?;
        let (known, now) = (self.all.get(&id)?, clock.unix_seconds);
        if let Some((revoked, since, list)) = self.lists.get(&id)
            && *revoked == known.revoked
            && (0..LIST_AGE).contains(&(now - since))
        {
            return Some(list.clone());
        }
        let list = made_list(store, id, known, now).ok()?;
        self.lists.retain(|id, _| self.all.contains_key(id));
        self.lists
            .insert(id, (known.revoked.clone(), now, list.clone()));
        Some(list)
    }

    /// Adds the properties of a certificate to its row.
    pub(crate) fn annotate(&self, id: Id, clock: Clock, row: &mut Row) {
        let Some(known) = self.all.get(&id) else {
            return;
        };
        let facts = &known.facts;
        told(facts, clock, row);
        row.set("fingerprint", Value::text(facts.fingerprint.as_str()));
        let by = known.by.and_then(|by| self.all.get(&by));
        if let Some(by) = by {
            row.set("ca", Value::text(by.name.as_str()));
        }
        let left = facts.not_after.saturating_sub(clock.unix_seconds);
        if left > 0 {
            row.set("expires-after", Value::Time(left.saturating_mul(NANOS)));
        }
        let own = by.is_some_and(|by| by.has_key);
        row.flag("private-key", known.has_key && !known.is_in_token);
        row.flag("smart-card-key", known.is_in_token);
        row.flag(
            "crl",
            !facts.lists.is_empty() || row.get("ca-crl-host").is_some_and(|of| !of.is_empty()),
        );
        row.flag("authority", facts.is_authority);
        row.flag("issued", own && !self.is_revoked(known));
        row.flag("revoked", self.is_revoked(known));
        row.flag("expired", clock.unix_seconds > facts.not_after);
    }
}

/// Adds the properties that all certificates have.
fn told(facts: &Facts, clock: Clock, row: &mut Row) {
    let moment = |unix_seconds| {
        let clock = Clock {
            unix_seconds,
            ..clock
        };
        clock.date_time()
    };
    for (name, text) in [
        ("key-type", facts.key_type),
        ("key-size", &facts.key_size),
        ("serial-number", &facts.serial.to_uppercase()),
        ("akid", &facts.akid),
        ("skid", &facts.skid),
        ("invalid-before", &moment(facts.not_before)),
        ("invalid-after", &moment(facts.not_after)),
    ] {
        if !text.is_empty() {
            row.set(name, Value::text(text));
        }
    }
    let issuer = facts.issuer.iter().map(|part| Value::text(part.as_str()));
    row.set("issuer", Value::List(issuer.collect()));
}

fn made_list(store: &Store, id: Id, known: &CertificateEntry, now: i64) -> Result<Vec<u8>, String> {
    let item = store.item(CERTIFICATE, id).ok_or("it is gone")?;
    let key = of_text(item.text("key"))
        .filter(|key| !key.is_empty())
        .ok_or("there is no key")?;
    let digest = Digest::of(item.text("digest-algorithm")).unwrap_or_default();
    let authority = Authority::new(&known.der, &key, digest)?;
    // List numbers must grow, as the time does.
    let number = u64::try_from(now).unwrap_or(0);
    revocation_list(authority, &known.revoked, number, now, LIST_DAYS)
}
