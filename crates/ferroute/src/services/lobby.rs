//! Connections on which nobody has logged in yet: few, for a short time, and the greedy go first.
//!
//! Each service has a lobby. Where it is full, the newcomer stays and the oldest of the address that has
//! most there goes; addresses from which somebody has logged in stay while there are others. Of IPv6 an
//! address is the network that one host may have.

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

/// How long somebody may take to log in, in all.
const GRACE: Duration = Duration::from_secs(30);

/// Connections in a lobby.
const STRANGERS: usize = 64;

/// The same, of one address.
const FROM_ONE: usize = 24;

/// Addresses from which somebody has logged in that are remembered.
const REGULARS: usize = 64;

/// The lobby of a service.
pub(crate) struct Lobby {
    inside: Mutex<Inside>,
    grace: Duration,
}

impl Default for Lobby {
    fn default() -> Self {
        Self {
            inside: Mutex::default(),
            grace: GRACE,
        }
    }
}

#[derive(Default)]
struct Inside {
    arrivals: u64,
    /// By arrival.
    waiting: BTreeMap<u64, Waiting>,
    regulars: VecDeque<IpAddr>,
}

struct Waiting {
    from: IpAddr,
    /// Something sent cuts the connection; dropped, it stays.
    cut: oneshot::Sender<()>,
}

impl Lobby {
    /// Takes in a connection. What is given second cuts it, unless the first is told that somebody has
    /// logged in.
    pub(crate) fn enter(self: &Arc<Self>, from: IpAddr) -> (Stranger, Cut) {
        let from = network(from);
        let (cut, told) = oneshot::channel();
        let mut inside = self.lock();
        let number = inside.arrivals;
        inside.arrivals += 1;
        inside.waiting.insert(number, Waiting { from, cut });
        if let Some(victim) = inside.victim(from) {
            tracing::debug!("{}: too many who have not logged in", victim.from);
            // Who has gone by itself does not hear it.
            let _ = victim.cut.send(());
        }
        drop(inside);
        let stranger = Stranger {
            lobby: Arc::clone(self),
            number,
            from,
        };
        let cut = Cut {
            told,
            late: Box::pin(sleep(self.grace)),
        };
        (stranger, cut)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// Takes out who has to go for a newcomer, if anybody has to. A lobby is small enough to look
    /// through.
    fn victim(&mut self, newcomer: IpAddr) -> Option<Waiting> {
        let mut counts = BTreeMap::new();
        for waiting in self.waiting.values() {
            *counts.entry(waiting.from).or_insert(0_usize) += 1;
        }
        let from = if counts.get(&newcomer).is_some_and(|n| *n > FROM_ONE) {
            newcomer
        } else if self.waiting.len() > STRANGERS {
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

/// A connection's place in the lobby, until this is dropped.
pub(crate) struct Stranger {
    lobby: Arc<Lobby>,
    number: u64,
    from: IpAddr,
}

impl Stranger {
    /// Hears that somebody has logged in on the connection: it stays.
    pub(crate) fn is_known(&self) {
        let mut inside = self.lobby.lock();
        inside.waiting.remove(&self.number);
        inside.regulars.retain(|regular| *regular != self.from);
        inside.regulars.truncate(REGULARS - 1);
        inside.regulars.push_front(self.from);
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.lobby.lock().waiting.remove(&self.number);
    }
}

/// What cuts a connection of the lobby.
pub(crate) struct Cut {
    told: oneshot::Receiver<()>,
    late: Pin<Box<Sleep>>,
}

/// A connection that is cut when it has to leave the lobby: whoever reads or writes gets an error.
pub(crate) struct Guarded<S> {
    stream: S,
    guard: Guard,
}

enum Guard {
    Stranger(Cut),
    Known,
    Gone,
}

impl<S> Guarded<S> {
    /// Guards a connection.
    pub(crate) const fn new(stream: S, cut: Cut) -> Self {
        let guard = Guard::Stranger(cut);
        Self { stream, guard }
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if let Guard::Stranger(cut) = &mut self.guard {
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

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
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
        let lobby = Arc::new(Lobby::default());
        let enter = |number| lobby.enter(address(number));
        let mut single = enter(9);
        let mut greedy: Vec<_> = (0..3).map(|_| enter(1)).collect();
        let _others: Vec<_> = (0..STRANGERS as u8 - 4).map(|n| enter(100 + n)).collect();

        let mut newcomer = enter(8);

        let cut: Vec<_> = greedy.iter_mut().map(|(_, cut)| is_cut(cut)).collect();
        assert_eq!(cut, [true, false, false]);
        assert!(!is_cut(&mut single.1) && !is_cut(&mut newcomer.1));
        assert_eq!(lobby.lock().waiting.len(), STRANGERS);
    }

    #[tokio::test]
    async fn one_address_has_its_share_and_regulars_stay() {
        let lobby = Arc::new(Lobby::default());
        let enter = |number| lobby.enter(address(number));
        let (regular, _cut) = enter(1);
        regular.is_known();
        let mut regulars: Vec<_> = (0..=FROM_ONE).map(|_| enter(1)).collect();
        assert!(is_cut(&mut regulars[0].1), "its own oldest goes");

        let mut strangers: Vec<_> = (0..STRANGERS as u8).map(|n| enter(100 + n)).collect();

        let is_cut = |(_, cut): &mut (Stranger, Cut)| cut.told.try_recv().is_ok();
        let regulars_cut: Vec<_> = regulars.iter_mut().map(is_cut).collect();
        let strangers_cut: Vec<_> = strangers.iter_mut().map(is_cut).collect();
        assert!(!regulars_cut.contains(&true), "strangers go first");
        let cut = strangers_cut.iter().filter(|cut| **cut).count();
        assert_eq!(cut, FROM_ONE);
        drop((regulars, strangers));
        assert_eq!(lobby.lock().waiting.len(), 0);
    }

    #[tokio::test]
    async fn a_stranger_is_cut_in_time_and_a_user_is_not() {
        let lobby = Arc::new(Lobby {
            inside: Mutex::default(),
            grace: Duration::from_millis(1),
        });
        let ((_stranger, late), (user, early)) = (lobby.enter(address(1)), lobby.enter(address(1)));
        let ((left, _left), (right, mut peer)) = (tokio::io::duplex(8), tokio::io::duplex(8));
        let (mut left, mut right) = (Guarded::new(left, late), Guarded::new(right, early));
        user.is_known();

        assert!(left.read_u8().await.is_err(), "nobody said anything");

        tokio::io::AsyncWriteExt::write_u8(&mut peer, 7)
            .await
            .expect("room");
        assert_eq!(right.read_u8().await.ok(), Some(7));
    }
}
