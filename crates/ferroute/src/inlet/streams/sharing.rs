//! Ports that a service of `/ip/service` has, and shares with servers of features: the client's first bytes behind the
//! TLS handshake decide.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use router::drive::streams::{StreamEvent, StreamForm, TlsLimits};
use rustls::CipherSuite;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};

use super::{Guest, Reporter};

/// A server of a feature at the port of a service.
#[derive(Clone, Copy)]
struct SharedOffer {
    service: &'static str,
    form: StreamForm,
    limits: TlsLimits,
}

/// Servers of features by the port that they share.
#[derive(Clone)]
pub(crate) struct Sharing {
    offers: Arc<RwLock<BTreeMap<u16, SharedOffer>>>,
    reporter: Reporter,
}

/// A connection whose TLS handshake is done.
pub(crate) struct SecuredConnection<S> {
    /// The session.
    pub(crate) stream: S,
    /// Its cipher suite.
    pub(crate) suite: Option<CipherSuite>,
    /// Address and port of this router, and of the client.
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Certificate of this router, as DER.
    pub(crate) certificate: Arc<[u8]>,
}

/// What a client asks for.
pub(crate) enum Requested<S> {
    /// The service of the port: the stream begins with the bytes that were read.
    Service(S),
    /// A server of a feature.
    Feature(FeatureConnection<S>),
}

/// A connection of a feature's server.
pub(crate) struct FeatureConnection<S> {
    stream: S,
    guest: Guest,
    certificate: Arc<[u8]>,
    reporter: Reporter,
    refusal: Option<&'static str>,
}

impl Sharing {
    pub(super) fn new(reporter: Reporter) -> Self {
        Self {
            offers: Arc::default(),
            reporter,
        }
    }

    /// Adds or removes the server of a feature at a port.
    pub(super) fn set(&self, port: u16, offer: Option<(&'static str, StreamForm, TlsLimits)>) {
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        match offer {
            Some((service, form, limits)) => {
                offers.insert(
                    port,
                    SharedOffer {
                        service,
                        form,
                        limits,
                    },
                );
            }
            None => {
                offers.remove(&port);
            }
        }
    }

    /// Finds out by its first bytes for which server of the port a connection is.
    ///
    /// # Errors
    /// The connection ended before.
    pub(crate) async fn sort<S>(
        &self,
        port: u16,
        connection: SecuredConnection<S>,
    ) -> std::io::Result<Requested<impl AsyncRead + AsyncWrite + Unpin + Send + use<S>>>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let SecuredConnection {
            mut stream,
            suite,
            local,
            remote,
            certificate,
        } = connection;
        let offer = self.offer(port);
        let first_bytes = offer
            .and_then(|offer| offer.form.first_bytes())
            .unwrap_or_default();
        let mut read = Vec::new();
        while read.len() < first_bytes.len() && first_bytes.starts_with(&read) {
            read.push(stream.read_u8().await?);
        }
        let is_for_feature = !read.is_empty() && read == first_bytes;
        let (reader, writer) = tokio::io::split(stream);
        let stream = tokio::io::join(std::io::Cursor::new(read).chain(reader), writer);
        let Some(offer) = offer.filter(|_| is_for_feature) else {
            return Ok(Requested::Service(stream));
        };
        let permit = Arc::clone(&self.reporter.permits).try_acquire_owned();
        let permit = permit.map_err(std::io::Error::other)?;
        let guest = Guest {
            stream: self.reporter.number(offer.service),
            form: offer.form,
            local,
            remote,
            _permit: permit,
        };
        Ok(Requested::Feature(FeatureConnection {
            stream,
            guest,
            certificate,
            reporter: self.reporter.clone(),
            refusal: offer.limits.refusal(suite),
        }))
    }

    fn offer(&self, port: u16) -> Option<SharedOffer> {
        let offers = self.offers.read().unwrap_or_else(PoisonError::into_inner);
        offers.get(&port).copied()
    }
}

/// Checks of a session that another server negotiated.
trait Limits {
    /// Returns why a session with this suite is refused.
    fn refusal(&self, suite: Option<CipherSuite>) -> Option<&'static str>;
}

impl Limits for TlsLimits {
    fn refusal(&self, suite: Option<CipherSuite>) -> Option<&'static str> {
        let is_permitted = !self.only_aes256 || suite.is_some_and(router::tls::is_aes256);
        (!is_permitted)
            .then_some("TLS: the client prefers a cipher that the server does not permit")
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> FeatureConnection<S> {
    /// Serves the connection to its end.
    pub(crate) async fn serve(self) {
        if let Some(why) = self.refusal {
            let rejected = StreamEvent::Rejected {
                stream: self.guest.stream,
                remote: self.guest.remote,
                why: why.into(),
            };
            return self.reporter.report(rejected).await;
        }
        let certificate = Arc::clone(&self.certificate);
        self.guest
            .serve(self.stream, certificate, &self.reporter)
            .await;
    }
}
