//! `layer7-protocol`: patterns that are searched in the first bytes of a connection, in both directions.
//!
//! RouterOS adopted them from l7-filter, with its dialect: Henry Spencer's V8 expressions with `\xHH`; case
//! is ignored, NUL bytes are skipped, and `.` matches every byte. The payload of both directions is read as
//! one text in order of arrival. The patterns of all rules are searched together, each byte once, and after
//! each packet the result is the set of patterns found so far.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use super::CompileMode;
use super::automata::{Automata, Expression, Reading, SearchState, Searches};
use super::dialect;

/// Number of packets per connection that are read.
const PACKETS: u8 = 10;
/// Number of bytes per connection that are read.
const BYTES: usize = 2048;

/// A pattern of `/ip/firewall/layer7-protocol` that compiles.
#[derive(Clone, Debug)]
pub struct Layer7 {
    /// The pattern's name.
    pub name: Arc<str>,
    /// The expression as configured.
    pub regexp: Arc<str>,
    /// The expression in the library's syntax.
    text: Arc<str>,
    /// Hash of the expression: rules with the same expression share one search.
    pub(super) number: u64,
}

impl Layer7 {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns the reason if it is malformed or too large.
    pub fn new(name: &str, regexp: &str) -> Result<Self, String> {
        let text = dialect::translate(regexp)?;
        READING.check(&text)?;
        Ok(Self {
            name: name.into(),
            regexp: regexp.into(),
            number: number(&text),
            text: text.into(),
        })
    }
}

const READING: Reading = Reading { any_case: true };

/// Returns a 64-bit hash that identifies a text; a collision is improbable.
pub(super) fn number(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// A set of patterns, compiled together.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    automata: Automata,
    numbers: Vec<u64>,
}

impl Patterns {
    /// Compiles these patterns without duplicates; returns `before` if it has the same.
    pub(super) fn follow<'a>(
        before: &Arc<Self>,
        patterns: impl Iterator<Item = &'a Layer7>,
        making: CompileMode,
    ) -> Arc<Self> {
        let wanted: BTreeMap<u64, &Layer7> =
            patterns.map(|pattern| (pattern.number, pattern)).collect();
        let numbers: Vec<u64> = wanted.keys().copied().collect();
        if numbers == before.numbers {
            return Arc::clone(before);
        }
        let expressions = wanted
            .values()
            .map(|pattern| Expression {
                text: Arc::clone(&pattern.text),
                number: pattern.number,
            })
            .collect();
        let automata = match making {
            CompileMode::Joined => Automata::new(expressions, READING),
            CompileMode::Apart => Automata::after(&before.automata, expressions, READING),
        };
        Arc::new(Self { automata, numbers })
    }

    /// Returns true if the automata could still be joined.
    pub(super) fn is_apart(&self) -> bool {
        self.automata.is_apart()
    }

    /// Returns the patterns with joined automata, if they could be joined.
    pub(super) fn joined(&self) -> Option<Arc<Self>> {
        let automata = self.automata.joined(READING)?;
        let numbers = self.numbers.clone();
        Some(Arc::new(Self { automata, numbers }))
    }
}

/// Search state of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Text {
    run: SearchState,
    /// The patterns with which the search began. If the rules use other patterns now, the result so far is
    /// kept and the search ends, because the states belong to the old automata. If the patterns are equal,
    /// the search continues with the old automata.
    patterns: Option<Arc<Patterns>>,
    packets: u8,
    len: u16,
}

impl Text {
    /// Starts the search for a connection.
    pub(super) fn begin(&mut self, patterns: &Arc<Patterns>) {
        patterns.automata.begin(&mut self.run);
        self.patterns = Some(Arc::clone(patterns));
        (self.packets, self.len) = (0, 0);
    }

    /// Reads a packet's payload; returns true if further patterns were found.
    pub(super) fn read(
        &mut self,
        patterns: &Arc<Patterns>,
        payload: &[u8],
        searches: &mut Searches,
    ) -> bool {
        let same =
            |own: &&Arc<Patterns>| Arc::ptr_eq(own, patterns) || own.numbers == patterns.numbers;
        let own = self.patterns.as_ref().filter(same);
        let Some(own) = own.filter(|_| self.packets < PACKETS) else {
            self.packets = PACKETS;
            return false;
        };
        if payload.is_empty() {
            return false;
        }
        self.packets += 1;
        let mut copy = [0; BYTES];
        let room = BYTES - usize::from(self.len);
        let text = without_nul(payload, &mut copy[..room]);
        self.len += text.len() as u16;
        own.automata.read(&mut self.run, text, searches)
    }

    /// Returns true if the search limits are reached or no further pattern can be found.
    pub(super) fn is_over(&self) -> bool {
        self.packets >= PACKETS || usize::from(self.len) >= BYTES || { self.patterns.as_ref() }
            .is_none_or(|patterns| patterns.automata.is_over(&self.run))
    }

    /// Returns the numbers of the patterns found.
    pub(super) fn found(&self) -> impl Iterator<Item = u64> + '_ {
        let patterns = self.patterns.iter();
        patterns.flat_map(|patterns| patterns.automata.found(&self.run))
    }

    /// Frees the state's resources.
    pub(super) fn end(&mut self) {
        self.patterns = None;
        self.run.end();
    }
}

/// Returns the first nonzero bytes, as many as fit into `room`.
fn without_nul<'a>(payload: &'a [u8], room: &'a mut [u8]) -> &'a [u8] {
    let front = &payload[..payload.len().min(room.len())];
    if !front.contains(&0) {
        return front;
    }
    let mut len = 0;
    let bytes = payload.iter().filter(|byte| **byte != 0);
    for (place, byte) in room.iter_mut().zip(bytes) {
        *place = *byte;
        len += 1;
    }
    &room[..len]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(regexp: &str, bytes: &[u8]) -> bool {
        let pattern = Layer7::new("x", regexp).expect(regexp);
        let patterns =
            Patterns::follow(&Arc::default(), [&pattern].into_iter(), CompileMode::Joined);
        let mut text = Text::default();
        text.begin(&patterns);
        text.read(&patterns, bytes, &mut Searches::default());
        text.found().count() == 1
    }

    #[test]
    fn the_dialect_is_that_of_l7_filter() {
        assert!(finds("^(get|post) .+ http/1\\.[01]", b"GET / HTTP/1.1"));
        assert!(!finds("^get", b"x get") && finds("get$", b"x GET"));
        assert!(finds("\\x13bittorrent", b"\x13BitTorrent") && !finds("a\\.b", b"axb"));
        assert!(finds("a.b", b"a\nb") && finds("a.b", b"a\xffb"));
        // Braces and escapes of other dialects are literal.
        assert!(finds("a{2}", b"a{2}") && !finds("a{2}", b"aa") && finds("\\d", b"d"));
        assert!(finds("[]x]", b"]") && finds("[^a]", b"b") && finds("[a\\x5d-]", b"]"));
        assert!(finds("[\\x01-\\x03]+q", b"\x02q") && finds("[.]", b".") && !finds("[.]", b"x"));
        assert!(finds("&&", b"&&") && finds("[a&&b]", b"&"));
    }

    #[test]
    fn patterns_that_fail_to_compile_are_reported() {
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
