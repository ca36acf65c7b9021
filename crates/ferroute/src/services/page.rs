//! Sessions of the web page, identified by a cookie.
//!
//! The cookie is 256 random bits. It is valid only with a header that foreign pages cannot send (`crates/page`
//! explains it), which prevents cross-site requests.
//!
//! The number of sessions is limited, but a new session always starts: beyond the user's share or the total
//! limit an older session ends ([`gives_way`]). Administrators have a separate limit.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::header::{COOKIE, HeaderMap, HeaderValue};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::session::access::LoginSession;

/// Maximum number of sessions per user.
const MAX_SESSIONS_PER_USER: usize = 16;
/// Maximum number of sessions of administrators, and of other users.
const MAX_SESSIONS: usize = 64;
/// Maximum idle time and maximum age of a session.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const MAX_AGE: Duration = Duration::from_secs(12 * 60 * 60);
/// Maximum idle time in safe mode. An open page sends requests every few seconds; browsers let a hidden one do so once
/// a minute.
const SAFE_MODE_TIMEOUT: Duration = Duration::from_secs(150);
/// Interval of checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// Name of the cookie.
const COOKIE_NAME: &str = "session";
/// Header of the page's requests.
const PAGE_HEADER: (&str, &str) = ("x-ferroute", "page");

/// Stored session. Looking up the secret by a keyed hash reveals nothing about near misses.
struct StoredSession {
    entered: Arc<LoginSession>,
    began: Instant,
    used: Instant,
}

/// A session that competes for a slot.
struct Contender<'a> {
    user: &'a str,
    is_administrator: bool,
    began: Instant,
}

/// Sessions of the page by their secrets.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<[u8; 32], StoredSession>>);

impl StoredSession {
    fn contender(&self) -> Contender<'_> {
        Contender {
            user: self.entered.user(),
            is_administrator: self.entered.is_administrator(),
            began: self.began,
        }
    }
}

/// Returns the session that ends for a new one; `None` if there is room.
///
/// A user beyond the share loses the oldest own session. If all slots of the user's kind are taken, the user
/// with most sessions loses the oldest: users with few sessions keep them.
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
    let own = by_user
        .get(new.user)
        .filter(|own| own.len() >= MAX_SESSIONS_PER_USER);
    let loser = match own {
        Some(own) => own,
        None if taken < MAX_SESSIONS => return None,
        None => by_user.values().max_by_key(|own| own.len())?,
    };
    let oldest = loser.iter().min_by_key(|(began, _)| *began);
    oldest.map(|(_, key)| *key)
}

/// Parses user and password of a login request: `{"user": …, "password": …}`.
pub(super) fn claim(body: &[u8]) -> Option<(String, Vec<u8>)> {
    let said: serde_json::Value = serde_json::from_slice(body).ok()?;
    let [user, password] = ["user", "password"].map(|name| said.get(name)?.as_str());
    Some((user?.to_owned(), menu::bytes::to_bytes(password?)))
}

impl Sessions {
    /// Starts a session and returns its cookie; another session may end for it. With `tls` browsers send the
    /// cookie over TLS only. `None` if the kernel gives no random bits.
    pub(super) fn begin(
        self: &Arc<Self>,
        entered: Arc<LoginSession>,
        tls: bool,
    ) -> Option<HeaderValue> {
        let secret = crate::session::access::random().ok()?;
        let now = Instant::now();
        self.forget_old(now);
        let mut all = self.lock();
        let new = Contender {
            user: entered.user(),
            is_administrator: entered.is_administrator(),
            began: now,
        };
        let oldest = gives_way(
            all.iter()
                .map(|(secret, stored)| (*secret, stored.contender())),
            &new,
        );
        let ended = oldest.and_then(|secret| all.remove(&secret));
        let stored = StoredSession {
            entered,
            began: now,
            used: now,
        };
        all.insert(secret, stored);
        drop(all);
        leave(ended.into_iter().collect());
        tokio::spawn(watch(Arc::downgrade(self), secret));
        let secure = if tls { "; Secure" } else { "" };
        cookie(&format!("{}{secure}", URL_SAFE_NO_PAD.encode(secret)))
    }

    /// Returns the session of a request.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<Arc<LoginSession>> {
        let secret = secret(headers)?;
        let now = Instant::now();
        self.forget_old(now);
        let mut all = self.lock();
        let stored = all.get_mut(&secret)?;
        stored.used = now;
        Some(Arc::clone(&stored.entered))
    }

    /// Returns true if a session has not ended.
    pub(super) fn contains(&self, entered: &Arc<LoginSession>) -> bool {
        let all = self.lock();
        all.values()
            .any(|stored| Arc::ptr_eq(&stored.entered, entered))
    }

    /// Ends the session of a request; returns the cookie that clears the browser's.
    pub(super) fn end(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let stored = self.lock().remove(&secret(headers)?)?;
        stored.entered.leave();
        leave(vec![stored]);
        cookie("; Max-Age=0")
    }

    fn forget_old(&self, now: Instant) {
        let mut all = self.lock();
        let is_over = |stored: &StoredSession| {
            let idle = now.saturating_duration_since(stored.used);
            idle > IDLE_TIMEOUT
                || now.saturating_duration_since(stored.began) > MAX_AGE
                || stored.entered.is_over(idle)
        };
        let old = all.extract_if(|_, stored| is_over(stored));
        let old: Vec<_> = old.map(|(_, stored)| stored).collect();
        drop(all);
        leave(old);
    }

    /// Returns idle time and login of a session.
    fn idle(&self, secret: &[u8; 32], now: Instant) -> Option<(Duration, Arc<LoginSession>)> {
        let all = self.lock();
        let stored = all.get(secret)?;
        let idle = now.saturating_duration_since(stored.used);
        Some((idle, Arc::clone(&stored.entered)))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], StoredSession>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a session after its idle time, which reverts changes of safe mode.
async fn watch(sessions: Weak<Sessions>, secret: [u8; 32]) {
    loop {
        sleep(CHECK_INTERVAL).await;
        let Some(sessions) = sessions.upgrade() else {
            return;
        };
        let now = Instant::now();
        sessions.forget_old(now);
        let Some((idle, entered)) = sessions.idle(&secret, now) else {
            return;
        };
        // No task may wait for the router's lock.
        let is_safe = idle > SAFE_MODE_TIMEOUT
            && spawn_blocking(move || entered.is_in_safe_mode())
                .await
                .unwrap_or(false);
        if is_safe {
            let stored = sessions.lock().remove(&secret);
            leave(stored.into_iter().collect());
            return;
        }
    }
}

/// Ends sessions in a thread: leaving takes the router's lock, for which no task may wait.
fn leave(stored: Vec<StoredSession>) {
    if stored.is_empty() {
        return;
    }
    drop(spawn_blocking(move || drop(stored)));
}

/// Builds a cookie; attributes may follow.
fn cookie(value: &str) -> Option<HeaderValue> {
    let text = format!("{COOKIE_NAME}={value}; Path=/; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&text).ok()
}

/// Returns true for requests of the page itself.
pub(super) fn is_its(headers: &HeaderMap) -> bool {
    let (name, value) = PAGE_HEADER;
    headers.get(name).is_some_and(|own| own == value)
}

/// Returns the session secret of a page's request.
fn secret(headers: &HeaderMap) -> Option<[u8; 32]> {
    let cookies = is_its(headers).then(|| headers.get_all(COOKIE).iter())?;
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    let coded = pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))?;
    URL_SAFE_NO_PAD.decode(coded).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions of a test, numbered by their start.
    struct TestSessions {
        began: Instant,
        all: Vec<(usize, &'static str, bool)>,
        next: usize,
    }

    impl TestSessions {
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

        /// Starts a session; returns the number of the one that ended for it.
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
        let mut places = TestSessions {
            began: Instant::now(),
            all: Vec::new(),
            next: 0,
        };
        for number in 0..100_usize {
            let ended = places.begin("rita", false);
            assert_eq!(
                ended,
                number.checked_sub(MAX_SESSIONS_PER_USER),
                "the oldest of hers"
            );
        }
        assert_eq!(places.all.len(), MAX_SESSIONS_PER_USER);

        for user in ["rob", "ron", "roy"] {
            for _ in 0..MAX_SESSIONS_PER_USER {
                assert_eq!(places.begin(user, false), None, "{user} has a share");
            }
        }
        assert_eq!(places.all.len(), MAX_SESSIONS);
        assert_eq!(places.begin("admin", true), None);
        let ended = places.begin("new", false).expect("somebody's oldest");
        assert_eq!(places.all.len(), MAX_SESSIONS + 1);
        assert!(!places.all.iter().any(|(number, ..)| *number == ended));
        assert!(places.all.iter().any(|(_, user, _)| *user == "new"));
        for _ in 1..MAX_SESSIONS_PER_USER {
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
    fn a_cookie_is_valid_only_with_the_pages_header() {
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
