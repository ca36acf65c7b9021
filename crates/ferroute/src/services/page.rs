//! Sessions of the page: who logged in there, known by a cookie.
//!
//! The cookie is 256 random bits. It counts together with a header that a page from elsewhere cannot send
//! (`crates/page` says why), so that nobody else's page acts with it.
//!
//! Places for sessions are limited. A new session always finds one: where a user has their share, or all places are
//! taken, an older session ends ([`gives_way`]). Administrators have places of their own.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{COOKIE, HeaderMap, HeaderValue};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::access::Entered;

/// Sessions of one user at a time.
const SHARE: usize = 16;
/// Sessions of all administrators at a time, and as many of all other users.
const MOST: usize = 64;
/// How long one is kept that nobody uses, and at all.
const IDLE: Duration = Duration::from_secs(30 * 60);
const LIFE: Duration = Duration::from_secs(12 * 60 * 60);
/// How long one in safe mode is kept that nobody uses: a page that is open asks every few seconds.
const SAFE: Duration = Duration::from_secs(60);
/// How often that is looked at.
const LOOK: Duration = Duration::from_secs(15);
/// The cookie's name.
const NAME: &str = "session";
/// What the page says of its requests.
const HEADER: (&str, &str) = ("x-ferroute", "page");

/// What is kept of a session. The secret is looked for by a keyed hash, which tells nobody how near a guess is.
struct Kept {
    entered: Arc<Entered>,
    began: Instant,
    used: Instant,
}

/// A session as it competes for a place.
struct Contender<'a> {
    user: &'a str,
    is_administrator: bool,
    began: Instant,
}

/// The sessions of the page, by their secrets.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<[u8; 32], Kept>>);

impl Kept {
    fn contender(&self) -> Contender<'_> {
        Contender {
            user: self.entered.user(),
            is_administrator: self.entered.is_administrator(),
            began: self.began,
        }
    }
}

/// The session that ends so that a new one has a place; `None` if there is room.
///
/// A user who has a share of sessions loses the oldest of them. Where all places of the user's kind are taken, the
/// user with the most sessions loses the oldest: who has few keeps them.
fn gives_way<'a, K: Copy>(
    sessions: impl Iterator<Item = (K, Contender<'a>)>,
    new: &Contender<'_>,
) -> Option<K> {
    let mut by_user: BTreeMap<&str, Vec<(Instant, K)>> = BTreeMap::new();
    let rivals = sessions.filter(|(_, other)| other.is_administrator == new.is_administrator);
    for (key, contender) in rivals {
        let own = by_user.entry(contender.user).or_default();
        own.push((contender.began, key));
    }
    let taken = by_user.values().map(Vec::len).sum::<usize>();
    let own = by_user.get(new.user).filter(|own| own.len() >= SHARE);
    let loser = match own {
        Some(own) => own,
        None if taken < MOST => return None,
        None => by_user.values().max_by_key(|own| own.len())?,
    };
    let oldest = loser.iter().min_by_key(|(began, _)| *began);
    oldest.map(|(_, key)| *key)
}

/// User and password of a request that begins a session: `{"user": …, "password": …}`.
pub(super) fn claim(body: &[u8]) -> Option<(String, Vec<u8>)> {
    let said: serde_json::Value = serde_json::from_slice(body).ok()?;
    let [user, password] = ["user", "password"].map(|name| said.get(name)?.as_str());
    Some((user?.to_owned(), menu::bytes::to_bytes(password?)))
}

impl Sessions {
    /// Begins a session, for which an older one may have to end. Returns its cookie, which browsers send by TLS
    /// alone if `tls` is set; `None` if the kernel gives no random bits.
    pub(super) fn begin(self: &Arc<Self>, entered: Arc<Entered>, tls: bool) -> Option<HeaderValue> {
        let secret = crate::access::random().ok()?;
        let now = Instant::now();
        self.forget_old(now);
        let mut all = self.lock();
        let new = Contender {
            user: entered.user(),
            is_administrator: entered.is_administrator(),
            began: now,
        };
        let oldest = gives_way(
            all.iter().map(|(secret, kept)| (*secret, kept.contender())),
            &new,
        );
        let ended = oldest.and_then(|secret| all.remove(&secret));
        let kept = Kept {
            entered,
            began: now,
            used: now,
        };
        all.insert(secret, kept);
        drop(all);
        leave(ended.into_iter().collect());
        tokio::spawn(watch(Arc::downgrade(self), secret));
        let secure = if tls { "; Secure" } else { "" };
        cookie(&format!("{}{secure}", URL_SAFE_NO_PAD.encode(secret)))
    }

    /// Whose session a request is part of.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Arc<Entered>> {
        let secret = secret(headers)?;
        let now = Instant::now();
        self.forget_old(now);
        let mut all = self.lock();
        let kept = all.get_mut(&secret)?;
        kept.used = now;
        Some(Arc::clone(&kept.entered))
    }

    /// Ends the session of a request; gives the cookie that takes the other one's place.
    pub(super) fn end(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let kept = self.lock().remove(&secret(headers)?)?;
        kept.entered.leave();
        leave(vec![kept]);
        cookie("; Max-Age=0")
    }

    fn forget_old(&self, now: Instant) {
        let mut all = self.lock();
        let is_over = |kept: &Kept| {
            let idle = now.saturating_duration_since(kept.used);
            idle > IDLE
                || now.saturating_duration_since(kept.began) > LIFE
                || kept.entered.is_over(idle)
        };
        let old = all.extract_if(|_, kept| is_over(kept));
        let old: Vec<_> = old.map(|(_, kept)| kept).collect();
        drop(all);
        leave(old);
    }

    /// How long nobody has used a session, and who has it.
    fn idle(&self, secret: &[u8; 32], now: Instant) -> Option<(Duration, Arc<Entered>)> {
        let all = self.lock();
        let kept = all.get(secret)?;
        let idle = now.saturating_duration_since(kept.used);
        Some((idle, Arc::clone(&kept.entered)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session in time that nobody uses any more. Changes of safe mode are taken back with it.
async fn watch(sessions: Weak<Sessions>, secret: [u8; 32]) {
    loop {
        sleep(LOOK).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let now = Instant::now();
        sessions.forget_old(now);
        let Some((idle, entered)) = sessions.idle(&secret, now) else {
            return;
        };
        // The router's lock: no task may wait for it.
        let is_safe = idle > SAFE
            && spawn_blocking(move || entered.is_in_safe_mode())
                .await
                .unwrap_or(false);
        if is_safe {
            let kept = sessions.lock().remove(&secret);
            leave(kept.into_iter().collect());
            return;
        }
    }
}

/// Ends sessions in a thread: to leave takes the router's lock, for which no task may wait.
fn leave(kept: Vec<Kept>) {
    if kept.is_empty() {
        return;
    }
    drop(spawn_blocking(move || drop(kept)));
}

/// A cookie of this value, which attributes may follow.
fn cookie(value: &str) -> Option<HeaderValue> {
    let text = format!("{NAME}={value}; Path=/; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&text).ok()
}

/// Whether a request is one of the page's own.
pub(super) fn is_its(headers: &HeaderMap) -> bool {
    let (name, value) = HEADER;
    headers.get(name).is_some_and(|own| own == value)
}

/// The secret that a request of the page brings.
fn secret(headers: &HeaderMap) -> Option<[u8; 32]> {
    let cookies = is_its(headers).then(|| headers.get_all(COOKIE).iter())?;
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let coded = pairs.find_map(|pair| pair.trim().strip_prefix(NAME)?.strip_prefix('='))?;
    URL_SAFE_NO_PAD.decode(coded).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sessions of a test: a number for each, in the order in which they began.
    struct Places {
        began: Instant,
        all: Vec<(usize, &'static str, bool)>,
        next: usize,
    }

    impl Places {
        fn contender(
            &self,
            number: usize,
            user: &'static str,
            is_administrator: bool,
        ) -> Contender<'static> {
            Contender {
                user,
                is_administrator,
                began: self.began + Duration::from_secs(number as u64),
            }
        }

        /// Begins a session; gives the number of the one that ended for it.
        fn begin(&mut self, user: &'static str, is_administrator: bool) -> Option<usize> {
            let new = self.contender(self.next, user, is_administrator);
            let all = self.all.iter();
            let all = all.map(|(number, user, is)| (*number, self.contender(*number, user, *is)));
            let ended = gives_way(all, &new);
            self.all.retain(|(number, ..)| Some(*number) != ended);
            self.all.push((self.next, user, is_administrator));
            self.next += 1;
            ended
        }
    }

    #[test]
    fn sessions_of_readers_leave_places_to_others_and_to_administrators() {
        let mut places = Places {
            began: Instant::now(),
            all: Vec::new(),
            next: 0,
        };
        for number in 0..100_usize {
            let ended = places.begin("rita", false);
            assert_eq!(ended, number.checked_sub(SHARE), "the oldest of hers");
        }
        assert_eq!(places.all.len(), SHARE);

        for user in ["rob", "ron", "roy"] {
            for _ in 0..SHARE {
                assert_eq!(places.begin(user, false), None, "{user} has a share");
            }
        }
        assert_eq!(places.all.len(), MOST);
        assert_eq!(places.begin("admin", true), None);
        let ended = places.begin("new", false).expect("somebody's oldest");
        assert_eq!(places.all.len(), MOST + 1);
        assert!(!places.all.iter().any(|(number, ..)| *number == ended));
        assert!(places.all.iter().any(|(_, user, _)| *user == "new"));
        for _ in 1..SHARE {
            assert_eq!(places.begin("admin", true), None);
        }
        let admins_first = places
            .all
            .iter()
            .find(|(_, _, is)| *is)
            .map(|(number, ..)| *number);
        assert_eq!(places.begin("admin", true), admins_first);
    }

    #[test]
    fn a_cookie_counts_with_the_header_of_the_page_alone() {
        let coded = URL_SAFE_NO_PAD.encode([7; 32]);
        let mut headers = HeaderMap::new();
        let cookies = format!("other=1; session={coded}");
        headers.insert(COOKIE, HeaderValue::from_str(&cookies).expect("text"));
        assert_eq!(secret(&headers), None);
        headers.insert("x-ferroute", HeaderValue::from_static("page"));
        assert_eq!(secret(&headers), Some([7; 32]));
        headers.insert(COOKIE, HeaderValue::from_static("session=short"));
        assert_eq!(secret(&headers), None);
    }
}
