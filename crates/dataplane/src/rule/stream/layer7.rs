//! `layer7-protocol`: patterns on the beginning of what a connection carries, in both directions.
//!
//! RouterOS has them from l7-filter, and the dialect is its: Henry Spencer's V8 expressions with
//! `\xHH`; case does not count, NUL bytes are left out, and `.` fits every byte. They are translated
//! and searched by lazily built automata, whose time is bound by the length of what is searched and
//! whose memory by a cache of a fixed size per worker and pattern.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;
use regex_automata::{Input, nfa::thompson};

use super::Packet;

/// How many packets of a connection are looked at.
const PACKETS: u8 = 10;
/// How many bytes of them.
const BYTES: usize = 2048;
/// How much memory an expression's automaton may take, in bytes.
const NFA_MAX: usize = 1 << 20;
/// How much memory a worker keeps of what it has built of an automaton.
const CACHE: usize = 1 << 18;

/// A pattern of `/ip/firewall/layer7-protocol`, compiled.
#[derive(Clone, Debug)]
pub struct Layer7 {
    /// Its name.
    pub name: Arc<str>,
    /// The expression as it is written.
    pub regexp: Arc<str>,
    /// A number of this compiled pattern alone.
    number: u64,
    automaton: Arc<DFA>,
}

impl Layer7 {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Why it cannot be: it is malformed or too large.
    pub fn new(name: &str, regexp: &str) -> Result<Self, String> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let syntax = syntax::Config::new()
            .unicode(false)
            .utf8(false)
            .case_insensitive(true)
            .dot_matches_new_line(true);
        let nfa = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(NFA_MAX));
        let config = DFA::config()
            .cache_capacity(CACHE)
            .skip_cache_capacity_check(true);
        let automaton = DFA::builder()
            .configure(config)
            .syntax(syntax)
            .thompson(nfa)
            .build(&translate(regexp)?)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            name: name.into(),
            regexp: regexp.into(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            automaton: Arc::new(automaton),
        })
    }
}

/// The expression in the words of the library.
fn translate(regexp: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), unescaped(regexp).into_iter().peekable());
    while let Some((byte, quoted)) = rest.next() {
        match byte {
            _ if quoted => out.push_str(&literal(byte)),
            b'[' => {
                out.push('[');
                if rest.next_if(|next| *next == (b'^', false)).is_some() {
                    out.push('^');
                }
                let mut first = true;
                loop {
                    // V8 knows no quoting inside, and a bracket that comes first is a member.
                    match rest.next() {
                        None => return Err("a class has no end".to_owned()),
                        Some((b']', false)) if !first => break,
                        Some((b'-', false))
                            if !first && rest.peek().is_some_and(|next| next.0 != b']') =>
                        {
                            out.push('-');
                        }
                        Some((byte, _)) => out.push_str(&literal(byte)),
                    }
                    first = false;
                }
                out.push(']');
            }
            b'^' | b'$' | b'.' | b'(' | b')' | b'|' | b'*' | b'+' | b'?' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&literal(byte)),
        }
    }
    Ok(out)
}

/// The bytes of an expression, and whether each was quoted: `\xHH`, or a backslash before it.
fn unescaped(regexp: &str) -> Vec<(u8, bool)> {
    let (mut out, mut rest) = (Vec::new(), regexp.as_bytes());
    loop {
        let digit = |byte: &u8| char::from(*byte).to_digit(16);
        rest = match rest {
            [] => return out,
            [b'\\', b'x', high, low, behind @ ..]
                if digit(high).is_some() && digit(low).is_some() =>
            {
                let value = digit(high).unwrap_or(0) << 4 | digit(low).unwrap_or(0);
                out.push((value as u8, true));
                behind
            }
            [b'\\', byte, behind @ ..] => {
                out.push((*byte, true));
                behind
            }
            [byte, behind @ ..] => {
                out.push((*byte, false));
                behind
            }
        };
    }
}

/// A byte that means itself, inside and outside a class.
fn literal(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' => char::from(byte).to_string(),
        other => format!("\\x{other:02x}"),
    }
}

/// What a worker has built of automata.
#[derive(Clone, Debug, Default)]
pub(super) struct Searches(HashMap<u64, Cache>);

impl Searches {
    /// How many patterns are kept; beyond, all are built anew.
    const MOST: usize = 256;

    fn search(&mut self, pattern: &Layer7, bytes: &[u8]) -> bool {
        if self.0.len() >= Self::MOST && !self.0.contains_key(&pattern.number) {
            self.0.clear();
        }
        let automaton = &pattern.automaton;
        let cache = self.0.entry(pattern.number);
        let cache = cache.or_insert_with(|| automaton.create_cache());
        let input = Input::new(bytes).earliest(true);
        automaton
            .try_search_fwd(cache, &input)
            .is_ok_and(|found| found.is_some())
    }
}

/// What a connection has carried so far, and which patterns were found in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    bytes: Vec<u8>,
    packets: u8,
    /// Nothing more is looked at.
    full: bool,
    last: Option<Packet>,
    /// By pattern: found, and else how many packets it was looked for in.
    answers: Vec<(u64, Result<(), u8>)>,
}

impl Collected {
    /// How many patterns' answers are kept for a connection.
    const ANSWERS: usize = 64;

    /// Takes in a packet, once.
    pub(super) fn take(&mut self, packet: Packet, payload: &[u8]) {
        if self.last == Some(packet) || self.full {
            self.full |= self.last != Some(packet);
            return;
        }
        self.last = Some(packet);
        if self.packets >= PACKETS || self.bytes.len() >= BYTES {
            // Not found by now: unknown for ever, and what was collected is given back.
            (self.full, self.bytes) = (true, Vec::new());
            return;
        }
        if !payload.is_empty() {
            self.packets += 1;
            let room = BYTES - self.bytes.len();
            self.bytes
                .extend(payload.iter().filter(|byte| **byte != 0).take(room));
        }
    }

    /// Whether the pattern is or was in what is collected.
    pub(super) fn fits(&mut self, pattern: &Layer7, searches: &mut Searches) -> bool {
        let known = self.answers.iter().position(|one| one.0 == pattern.number);
        match known.map(|at| self.answers[at].1) {
            Some(Ok(())) => return true,
            Some(Err(packets)) if packets == self.packets => return false,
            _ if self.full => return false,
            _ => {}
        }
        let found = match searches.search(pattern, &self.bytes) {
            true => Ok(()),
            false => Err(self.packets),
        };
        match known {
            Some(at) => self.answers[at].1 = found,
            None if self.answers.len() < Self::ANSWERS => {
                self.answers.push((pattern.number, found));
            }
            None => {}
        }
        found.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(regexp: &str, bytes: &[u8]) -> bool {
        let pattern = Layer7::new("x", regexp).expect(regexp);
        Searches::default().search(&pattern, bytes)
    }

    #[test]
    fn the_dialect_is_that_of_l7_filter() {
        assert!(finds("^(get|post) .+ http/1\\.[01]", b"GET / HTTP/1.1"));
        assert!(!finds("^get", b"x get") && finds("get$", b"x GET"));
        assert!(finds("\\x13bittorrent", b"\x13BitTorrent") && !finds("a\\.b", b"axb"));
        assert!(finds("a.b", b"a\nb") && finds("a.b", b"a\xffb"));
        // Braces and words that other dialects know mean themselves.
        assert!(finds("a{2}", b"a{2}") && !finds("a{2}", b"aa") && finds("\\d", b"d"));
        assert!(finds("[]x]", b"]") && finds("[^a]", b"b") && finds("[a\\x5d-]", b"]"));
        assert!(finds("[\\x01-\\x03]+q", b"\x02q") && finds("[.]", b".") && !finds("[.]", b"x"));
        assert!(finds("&&", b"&&") && finds("[a&&b]", b"&"));
    }

    #[test]
    fn what_cannot_be_compiled_is_said_to_be() {
        assert!(Layer7::new("x", "(").is_err() && Layer7::new("x", "[a").is_err());
        assert!(Layer7::new("x", "*").is_err());
    }

    #[test]
    fn published_patterns_compile() {
        for pattern in [
            "^(\\x13bittorrent protocol|azver\\x01$|get /scrape\\?info_hash=get /announce\\?info_hash=|get /client/bitcomet/|GET /data\\?fid=)|d1:ad2:id20:|\\x08'7P\\)[RP]",
            "^ssh-[12]\\.[0-9]",
            "http/(0\\.9|1\\.0|1\\.1) [1-5][0-9][0-9] [\\x09-\\x0d -~]*(connection:|content-type:|content-length:|date:)|post [\\x09-\\x0d -~]* http/[01]\\.[019]",
            "^.+(youtube).*$",
        ] {
            Layer7::new("x", pattern).expect(pattern);
        }
        assert!(finds("^ssh-[12]\\.[0-9]", b"SSH-2.0-x"));
    }
}
