//! Limit of unauthenticated connections: few, for a short time, and fair between addresses.
//!
//! Each service has its own limit. When it is reached, the oldest connection of the address with most
//! connections is closed for a new one; addresses with a previous successful login are closed last. IPv6
//! addresses count as the network that one host may control.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use access::network;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

/// Time limit of a login.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of unauthenticated connections.
const MAX_PENDING: usize = 64;

/// Maximum number of unauthenticated connections per address.
const MAX_PER_ADDRESS: usize = 24;

/// Number of remembered addresses with a successful login.
const MAX_KNOWN_ADDRESSES: usize = 64;

/// Unauthenticated connections of a service.
pub(crate) struct PendingLogins {
    inside: Mutex<Inside>,
    grace: Duration,
}

impl Default for PendingLogins {
    fn default() -> Self {
        Self {
            inside: Mutex::default(),
            grace: LOGIN_TIMEOUT,
        }
    }
}

#[derive(Default)]
struct Inside {
    arrivals: u64,
    /// Connections by order of arrival.
    waiting: BTreeMap<u64, Waiting>,
    regulars: VecDeque<IpAddr>,
}

struct Waiting {
    from: IpAddr,
    /// Sending closes the connection; dropping keeps it.
    cut: oneshot::Sender<()>,
}

impl PendingLogins {
    /// Adds a connection. The returned [`Cut`] closes it, unless [`PendingLogin::is_known`] is called first.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> (PendingLogin, Cut) {
        let from = network(from);
        let (cut, told) = oneshot::channel();
        let mut inside = self.lock();
        let number = inside.arrivals;
        inside.arrivals += 1;
        inside.waiting.insert(number, Waiting { from, cut });
        if let Some(victim) = inside.victim(from) {
            tracing::debug!("{}: too many connections without a login", victim.from);
            // The connection has ended by itself.
            let _ = victim.cut.send(());
        }
        drop(inside);
        let login = PendingLogin {
            pending: Arc::clone(self),
            number,
            from,
        };
        let cut = Cut {
            told,
            late: Box::pin(sleep(self.grace)),
        };
        (login, cut)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Removes and returns the connection to close for a new one, if any. A linear search suffices.
    fn victim(&mut self, newcomer: IpAddr) -> Option<Waiting> {
        let mut counts = BTreeMap::new();
        for waiting in self.waiting.values() {
            *counts.entry(waiting.from).or_insert(0_usize) += 1;
        }
        let from = if counts.get(&newcomer).is_some_and(|n| *n > MAX_PER_ADDRESS) {
            newcomer
        } else if self.waiting.len() > MAX_PENDING {
            let greed = |number: u64, waiting: &Waiting| {
                let is_regular = self.regulars.contains(&waiting.from);
                (!is_regular, counts[&waiting.from], u64::MAX - number)
            };
            let all = self.waiting.iter();
            let (_, greediest) = all.max_by_key(|(number, waiting)| greed(**number, waiting))?;
            greediest.from
        } else {
            return None;
        };
        let mut all = self.waiting.iter();
        let (oldest, _) = all.find(|(_, waiting)| waiting.from == from)?;
        let oldest = *oldest;
        self.waiting.remove(&oldest)
    }
}

/// Slot of an unauthenticated connection, until dropped.
pub(crate) struct PendingLogin {
    pending: Arc<PendingLogins>,
    number: u64,
    from: IpAddr,
}

impl PendingLogin {
    /// Records a successful login: the connection stays.
    pub(crate) fn is_known(&self) {
        let mut inside = self.pending.lock();
        inside.waiting.remove(&self.number);
        inside.regulars.retain(|regular| *regular != self.from);
        inside.regulars.truncate(MAX_KNOWN_ADDRESSES - 1);
        inside.regulars.push_front(self.from);
    }
}

impl Drop for PendingLogin {
    fn drop(&mut self) {
        self.pending.lock().waiting.remove(&self.number);
    }
}

/// Signal to close a connection.
pub(crate) struct Cut {
    told: oneshot::Receiver<()>,
    late: Pin<Box<Sleep>>,
}

/// A connection with a close signal: after the signal, reads and writes fail.
pub(crate) struct ClosableStream<S> {
    stream: S,
    guard: Guard,
}

enum Guard {
    Pending(Cut),
    Known,
    Gone,
}

impl<S> ClosableStream<S> {
    /// Wraps a connection.
    pub(crate) const fn new(stream: S, cut: Cut) -> Self {
        let guard = Guard::Pending(cut);
        Self { stream, guard }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Guard::Pending(cut) = &mut self.guard {
            match Pin::new(&mut cut.told).poll(context) {
                Poll::Ready(Ok(())) => self.guard = Guard::Gone,
                Poll::Ready(Err(_)) => self.guard = Guard::Known,
                Poll::Pending if cut.late.as_mut().poll(context).is_ready() => {
                    self.guard = Guard::Gone;
                }
                Poll::Pending => {}
            }
        }
        match self.guard {
            Guard::Gone => Err(io::Error::other("nobody has logged in")),
            _ => Ok(()),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClosableStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClosableStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn address(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn is_cut(cut: &mut Cut) -> bool {
        cut.told.try_recv().is_ok()
    }

    #[tokio::test]
    async fn a_full_lobby_loses_the_oldest_of_the_address_that_has_most() {
        let pending = Arc::new(PendingLogins::default());
        let enter = |number| pending.enter(address(number));
        let mut single = enter(9);
        let mut greedy: Vec<_> = (0..3).map(|_| enter(1)).collect();
        let _others: Vec<_> = (0..MAX_PENDING as u8 - 4).map(|n| enter(100 + n)).collect();

        let mut newcomer = enter(8);

        let cut: Vec<_> = greedy.iter_mut().map(|(_, cut)| is_cut(cut)).collect();
        assert_eq!(cut, [true, false, false]);
        assert!(!is_cut(&mut single.1) && !is_cut(&mut newcomer.1));
        assert_eq!(pending.lock().waiting.len(), MAX_PENDING);
    }

    #[tokio::test]
    async fn one_address_has_its_share_and_regulars_stay() {
        let pending = Arc::new(PendingLogins::default());
        let enter = |number| pending.enter(address(number));
        let (regular, _cut) = enter(1);
        regular.is_known();
        let mut regulars: Vec<_> = (0..=MAX_PER_ADDRESS).map(|_| enter(1)).collect();
        assert!(is_cut(&mut regulars[0].1), "its own oldest goes");

        let mut strangers: Vec<_> = (0..MAX_PENDING as u8).map(|n| enter(100 + n)).collect();

        let is_cut = |(_, cut): &mut (PendingLogin, Cut)| cut.told.try_recv().is_ok();
        let regulars_cut: Vec<_> = regulars.iter_mut().map(is_cut).collect();
        let strangers_cut: Vec<_> = strangers.iter_mut().map(is_cut).collect();
        assert!(!regulars_cut.contains(&true), "strangers go first");
        let cut = strangers_cut.iter().filter(|cut| **cut).count();
        assert_eq!(cut, MAX_PER_ADDRESS);
        drop((regulars, strangers));
        assert_eq!(pending.lock().waiting.len(), 0);
    }

    #[tokio::test]
    async fn a_stranger_is_cut_in_time_and_a_user_is_not() {
        let pending = Arc::new(PendingLogins {
            inside: Mutex::default(),
            grace: Duration::from_millis(1),
        });
        let ((_login, late), (user, early)) =
            (pending.enter(address(1)), pending.enter(address(1)));
        let ((left, _left), (right, mut peer)) = (tokio::io::duplex(8), tokio::io::duplex(8));
        let (mut left, mut right) = (
            ClosableStream::new(left, late),
            ClosableStream::new(right, early),
        );
        user.is_known();

        assert!(left.read_u8().await.is_err(), "nobody said anything");

        tokio::io::AsyncWriteExt::write_u8(&mut peer, 7)
            .await
            .expect("room");
        assert_eq!(right.read_u8().await.ok(), Some(7));
    }
}
