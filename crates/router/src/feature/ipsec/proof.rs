//! Certificate authentication of identities: the signing keys of this router, and the verifiers of
//! peers (`/certificate`).

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use certificate::{Facts, Trust, of_text};
use ike::{Certified, EapLogin, EapMethod, Id, Scheme, Signer, Verifier};
use menu::{Item, Store, Value};

use super::read::secret;
use crate::clock::DayClock;
use crate::feature::certificate::CERTIFICATE;
use crate::signer::{certificate_scheme, signer};

/// Use for which a certificate must be trusted (`trust-store`).
const USE: &str = "ipsec";

/// The trusted certificates and the clock that verifiers use.
#[derive(Debug)]
struct Believed {
    trust: Arc<ArcSwap<Trust>>,
    clock: DayClock,
}

/// Signing keys and peer verifiers of the present identities. An identity keeps its key and
/// verifier objects as long as its certificates are unchanged: the engine restarts a peer whose
/// identity changed.
pub(crate) struct Proofs {
    believed: Arc<Believed>,
    keys: BTreeMap<Vec<u8>, Arc<dyn Signer>>,
    judges: BTreeMap<Option<Vec<u8>>, Arc<Judge>>,
}

impl Proofs {
    /// Trusts the authorities of `trust` as long as their certificates are valid by `clock`.
    pub(crate) fn new(trust: Arc<ArcSwap<Trust>>, clock: DayClock) -> Self {
        Self {
            believed: Arc::new(Believed { trust, clock }),
            keys: BTreeMap::new(),
            judges: BTreeMap::new(),
        }
    }

    /// Drops keys and verifiers that no identity uses.
    pub(super) fn prune(&mut self) {
        self.keys.retain(|_, key| Arc::strong_count(key) > 1);
        self.judges.retain(|_, judge| Arc::strong_count(judge) > 1);
    }

    /// Returns the signer and verifier of an identity with `certificate=`. Returns `None` if the
    /// certificate is missing or has no signing key.
    pub(super) fn certified(&mut self, store: &Store, item: &Item) -> Option<Certified> {
        let names = item.get("certificate").map(Value::as_list)?;
        let mut named = names
            .iter()
            .filter_map(|name| of_name(store, name.as_str()?));
        let own = named.next()?;
        let first = of_text(own.text("der"))?;
        let signer = match self.keys.get(&first) {
            Some(key) => Arc::clone(key),
            None => {
                let key = signer(own).ok()?;
                self.keys.insert(first.clone(), Arc::clone(&key));
                key
            }
        };
        let others = named.filter_map(|item| of_text(item.text("der")));
        Some(Certified {
            chain: std::iter::once(first).chain(others).collect(),
            signer,
            verifier: self.judge(store, item)?,
        })
    }

    /// Returns the EAP login of an identity with `auth-method=eap`. Returns `None` without a
    /// supported method or without credentials.
    pub(super) fn login(&mut self, store: &Store, item: &Item) -> Option<EapLogin> {
        let names = item.get("eap-methods").map(Value::as_list)?;
        let certified = self.certified(store, item);
        let methods = names.iter().filter_map(|name| match name.as_str()? {
            "eap-tls" if certified.is_some() => Some(EapMethod::Tls),
            "eap-mschapv2" => Some(EapMethod::MsChap2),
            _ => None,
        });
        let methods: Vec<_> = methods.collect();
        let user = match (item.text("username"), &certified) {
            ("", Some(own)) => user_of(own.chain.first()?).unwrap_or_default(),
            (name, _) => name.to_owned(),
        };
        (!methods.is_empty()).then_some(())?;
        Some(EapLogin {
            methods,
            user,
            password: secret(item.text("password")),
            certified,
            verifier: self.judge(store, item)?,
        })
    }

    /// Returns the verifier of the peer's certificate, or `None` if `remote-certificate` names a
    /// missing certificate.
    fn judge(&mut self, store: &Store, item: &Item) -> Option<Arc<Judge>> {
        let only = remote_certificate(store, item)?;
        let believed = &self.believed;
        let judge = self.judges.entry(only.clone()).or_insert_with(|| {
            Arc::new(Judge {
                believed: Arc::clone(believed),
                only,
            })
        });
        Some(Arc::clone(judge))
    }
}

/// Returns the user name in a certificate (RFC 5216, 5.2): the first e-mail address or DNS name
/// among the alternative names, otherwise the common name.
fn user_of(certificate: &[u8]) -> Option<String> {
    let facts = Facts::read(certificate).ok()?;
    let named = |kind: &str| {
        let mut names = facts.names.iter().filter_map(|name| name.split_once(':'));
        names
            .find(|(of, _)| *of == kind)
            .map(|(_, name)| name.to_owned())
    };
    named("email")
        .or_else(|| named("DNS"))
        .or(Some(facts.subject.common_name))
}

/// Returns the required certificate of the peer in DER. The inner `None`: none is configured. The
/// outer `None`: the configured certificate is missing.
#[expect(clippy::option_option, reason = "the comment explains both")]
pub(super) fn remote_certificate(store: &Store, item: &Item) -> Option<Option<Vec<u8>>> {
    match item.text("remote-certificate") {
        "" | "none" => Some(None),
        name => of_text(of_name(store, name)?.text("der")).map(Some),
    }
}

/// Returns the certificate of this name.
fn of_name<'s>(store: &'s Store, name: &str) -> Option<&'s Item> {
    let mut all = store.items(CERTIFICATE);
    all.find(|item| item.text("name") == name).map(Arc::as_ref)
}

/// Verifies the certificates of peers.
struct Judge {
    believed: Arc<Believed>,
    /// The only accepted certificate; `None` accepts certificates of trusted authorities.
    only: Option<Vec<u8>>,
}

impl Judge {
    /// Maps the certificate of each trusted authority.
    fn of_authorities<T>(&self, say: impl Fn(Facts) -> T) -> Vec<T> {
        let trust = self.believed.trust.load();
        let facts = trust.own(USE).filter_map(|der| Facts::read(der).ok());
        facts.map(say).collect()
    }
}

impl Verifier for Judge {
    fn authorities(&self) -> Vec<[u8; 20]> {
        self.of_authorities(|facts| certificate::sha1(&facts.public_key))
    }

    fn names(&self) -> Vec<Vec<u8>> {
        self.of_authorities(|facts| facts.subject_der)
    }

    fn verify(
        &self,
        chain: &[Vec<u8>],
        id: Option<&Id>,
        scheme: Scheme,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), String> {
        let now = self.believed.clock.unix_seconds();
        // A peer with a configured certificate need not send it.
        let first = chain.first().or(self.only.as_ref());
        let first = first.ok_or("the peer sent no certificate")?;
        let facts = Facts::read(first)?;
        match &self.only {
            Some(only) if only != first => {
                return Err("the certificate is not the one of remote-certificate".into());
            }
            Some(_) if !facts.is_valid_at(now) => {
                return Err("the certificate has expired or is not valid yet".into());
            }
            Some(_) if certificate::is_revoked(first, &self.believed.trust.load()) => {
                return Err("the certificate is revoked".into());
            }
            Some(_) => {}
            None => certificate::verify_chain(chain, &self.believed.trust.load(), USE, now)?,
        }
        if let Some(id) = id.filter(|id| !has(&facts, id)) {
            return Err(format!("the certificate is not that of {id}"));
        }
        let way = certificate_scheme(scheme).ok_or("the signature scheme is not supported")?;
        certificate::verify(first, way, message, signature)
    }
}

/// Whether a certificate names this identity (RFC 4945, 3.1).
fn has(facts: &Facts, id: &Id) -> bool {
    let named = |kind: &str, name: &str| {
        facts.names.iter().any(|one| {
            one.split_once(':')
                .is_some_and(|(of, own)| of == kind && own.eq_ignore_ascii_case(name))
        })
    };
    match id {
        Id::Address(address) => named("IP", &address.to_string()),
        Id::Fqdn(name) => named("DNS", name),
        Id::UserFqdn(name) => named("email", name),
        Id::Dn(name) => facts.subject_der == *name,
        Id::KeyId(key) => facts.skid.replace(':', "") == certificate::to_text(key),
    }
}
