//! TCP forwarding (RFC 4254, 7): the router connects or listens for a logged-in user, and relays bytes. Its
//! side is the host plane, so that the firewall's `output` and `input` rules apply.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use russh::server::{ChannelOpenHandle, Handle, Msg};
use russh::{Channel, ChannelOpenFailure};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use script::{Interrupt, NameQuery};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::run::shared::Shared;

/// Maximum numbers of forwarded connections and listening ports per SSH connection.
const MAX_CONNECTIONS: usize = 32;
const MAX_PORTS: usize = 8;
/// Timeout of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Forwarding of one SSH connection, which ends with it.
#[derive(Default)]
pub(super) struct Relays {
    count: Arc<AtomicUsize>,
    /// Listeners by requested address and port.
    listening: BTreeMap<(String, u32), JoinHandle<()>>,
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.listening.values().for_each(JoinHandle::abort);
    }
}

/// Slot of a forwarded connection.
struct ForwardSlot(Arc<AtomicUsize>);

impl ForwardSlot {
    fn take(count: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |count: usize| (count < MAX_CONNECTIONS).then_some(count + 1);
        let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.ok().map(|_| Self(Arc::clone(count)))
    }
}

impl Drop for ForwardSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Relays {
    /// Connects to a host and relays until both sides have ended; other channels continue meanwhile.
    pub(super) fn connect(
        &self,
        shared: &Arc<Shared>,
        host: &str,
        port: u32,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
    ) {
        let place = ForwardSlot::take(&self.count);
        let (shared, host) = (Arc::clone(shared), host.to_owned());
        tokio::spawn(async move {
            let Some(place) = place else {
                return reply.reject(ChannelOpenFailure::ResourceShortage).await;
            };
            match connect(&shared, &host, port).await {
                Ok(stream) => {
                    reply.accept().await;
                    relay(stream, channel, place).await;
                }
                Err(why) => {
                    tracing::debug!("ssh: {host} port {port}: {why}");
                    reply.reject(ChannelOpenFailure::ConnectFailed).await;
                }
            }
        });
    }

    /// Starts listening; returns the port.
    ///
    /// # Errors
    /// The reason of the failure.
    pub(super) async fn listen(
        &mut self,
        shared: &Arc<Shared>,
        address: &str,
        port: u32,
        handle: Handle,
    ) -> Result<u16, String> {
        self.listening
            .retain(|_, listening| !listening.is_finished());
        if self.listening.len() >= MAX_PORTS {
            return Err("too many forwarded ports".to_owned());
        }
        let wanted = listened(address)?;
        let number = u16::try_from(port).map_err(|_| "there is no such port")?;
        let shared = Arc::clone(shared);
        let opened = spawn_blocking(move || {
            let host = shared.host.as_deref();
            let host = host.ok_or_else(|| io::Error::other("the router has no host plane"))?;
            host.inside(move || open(wanted, number))
        });
        let opened = opened.await.map_err(|error| error.to_string())?;
        let listener = opened
            .and_then(TcpListener::from_std)
            .map_err(|error| error.to_string())?;
        let own = listener.local_addr().map_err(|error| error.to_string())?;
        let accepting = accept(
            listener,
            address.to_owned(),
            handle,
            Arc::clone(&self.count),
        );
        let key = (address.to_owned(), own.port().into());
        self.listening.insert(key, tokio::spawn(accepting));
        Ok(own.port())
    }

    /// Stops listening; returns false if there was no such listener. Accepted connections continue.
    pub(super) fn cancel(&mut self, address: &str, port: u32) -> bool {
        let listening = self.listening.remove(&(address.to_owned(), port));
        listening.inspect(JoinHandle::abort).is_some()
    }
}

/// Returns the addresses to listen on (RFC 4254, 7.1).
fn listened(address: &str) -> Result<Vec<IpAddr>, String> {
    let all = [Ipv6Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()];
    match address {
        "" | "*" => Ok(all.to_vec()),
        "localhost" => Ok(vec![Ipv4Addr::LOCALHOST.into()]),
        one => one
            .parse()
            .map(|one| vec![one])
            .map_err(|_| format!("{one} is no address")),
    }
}

/// Opens the first possible listener; an IPv6 listener covers both families.
fn open(wanted: Vec<IpAddr>, port: u16) -> io::Result<std::net::TcpListener> {
    let mut last = io::Error::other("no address");
    for address in wanted {
        match std::net::TcpListener::bind((address, port)) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                return Ok(listener);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn connect(shared: &Arc<Shared>, host: &str, port: u32) -> Result<TcpStream, String> {
    let words = |error: io::Error| error.to_string();
    let port = u16::try_from(port).map_err(|_| "there is no such port")?;
    let address = resolve(shared, host).await?;
    let family = address.is_ipv4();
    let shared = Arc::clone(shared);
    let opened = spawn_blocking(move || {
        let plane = shared.host.as_deref();
        let plane = plane.ok_or_else(|| io::Error::other("the router has no host plane"))?;
        plane.inside(move || match family {
            true => socket(AddressFamily::INET),
            false => socket(AddressFamily::INET6),
        })
    });
    let opened = opened.await.map_err(|error| error.to_string())?;
    let socket = TcpSocket::from_std_stream(opened.map_err(words)?.into());
    let connected = socket.connect(SocketAddr::new(address, port));
    let connected = tokio::time::timeout(CONNECT_TIMEOUT, connected).await;
    connected.map_err(|_| "timeout")?.map_err(words)
}

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Resolves a host name. Few connections at a time, since each connection occupies a thread.
async fn resolve(shared: &Arc<Shared>, host: &str) -> Result<IpAddr, String> {
    static NAMES: Semaphore = Semaphore::const_new(2);
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return Ok(address);
    }
    if host == "localhost" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let _permit = NAMES.acquire().await.map_err(|error| error.to_string())?;
    let (shared, name) = (Arc::clone(shared), host.to_owned());
    let found = spawn_blocking(move || {
        let asked = NameQuery {
            name: &name,
            families: &[true, false],
            server: None,
        };
        crate::inlet::resolve::resolve(
            &shared,
            shared.host.as_deref(),
            &asked,
            &Interrupt::default(),
        )
    });
    let found = found.await.map_err(|error| error.to_string())?;
    let found = found.map_err(|reason| reason.to_string())?;
    found
        .first()
        .copied()
        .ok_or_else(|| "no address".to_owned())
}

/// Opens a channel for each accepted connection.
async fn accept(listener: TcpListener, address: String, handle: Handle, count: Arc<AtomicUsize>) {
    let port = listener.local_addr().map_or(0, |own| own.port());
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Probably out of descriptors: wait until others close theirs.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Connections beyond the limit are closed.
        let Some(place) = ForwardSlot::take(&count) else {
            continue;
        };
        let (handle, address) = (handle.clone(), address.clone());
        tokio::spawn(async move {
            let ip = crate::services::listen::peer(from)
                .ip()
                .to_canonical()
                .to_string();
            let asked =
                handle.channel_open_forwarded_tcpip(address, port.into(), ip, from.port().into());
            if let Ok(Ok(channel)) = tokio::time::timeout(CONNECT_TIMEOUT, asked).await {
                relay(stream, channel, place).await;
            }
        });
    }
}

async fn relay(mut stream: TcpStream, channel: Channel<Msg>, place: ForwardSlot) {
    let _ = stream.set_nodelay(true);
    let mut other = channel.into_stream();
    let _ = copy_bidirectional(&mut stream, &mut other).await;
    drop(place);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_forwarded_connections_is_limited() {
        let count = Arc::default();
        let places: Vec<_> = (0..MAX_CONNECTIONS)
            .map_while(|_| ForwardSlot::take(&count))
            .collect();

        assert_eq!(places.len(), MAX_CONNECTIONS);
        assert!(ForwardSlot::take(&count).is_none());
        drop(places);
        assert!(ForwardSlot::take(&count).is_some());
    }

    #[test]
    fn users_say_where_to_listen() {
        assert_eq!(listened("").map(|all| all.len()), Ok(2));
        assert_eq!(listened("localhost"), Ok(vec![Ipv4Addr::LOCALHOST.into()]));
        assert_eq!(listened("::1"), Ok(vec![Ipv6Addr::LOCALHOST.into()]));
        assert!(listened("router").is_err());
    }
}
