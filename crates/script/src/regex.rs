//! Regular expressions for the operator `~`: POSIX extended syntax, unanchored.
//!
//! The pattern is compiled to instructions for a Thompson NFA, so that matching takes at most pattern length
//! times text length.

/// Maximum number of instructions.
const PROGRAM: usize = 20_000;

/// An instruction.
#[derive(Clone, Debug)]
enum Op {
    Byte(u8),
    Any,
    Set(Box<[bool; 256]>),
    Begin,
    End,
    /// Continues at both targets.
    Split(usize, usize),
    Jump(usize),
    Done,
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex {
    program: Vec<Op>,
}

impl Regex {
    /// Compiles a pattern. Returns `None` if it is invalid or its program is too long.
    pub fn new(pattern: &[u8]) -> Option<Self> {
        let mut compiler = Compiler {
            pattern,
            at: 0,
            program: Vec::new(),
            depth: 0,
        };
        compiler.alternatives()?;
        if compiler.at < pattern.len() {
            return None;
        }
        compiler.program.push(Op::Done);
        Some(Self {
            program: compiler.program,
        })
    }

    /// True if the pattern matches anywhere in the text.
    pub fn matches(&self, text: &[u8]) -> bool {
        let mut now = Threads::new(self.program.len());
        let mut next = Threads::new(self.program.len());
        for at in 0..=text.len() {
            // A match may begin at any byte.
            now.follow(&self.program, 0, at, text.len());
            if now.done {
                return true;
            }
            let Some(byte) = text.get(at) else { break };
            for index in 0..now.list.len() {
                let place = now.list[index];
                let takes = match &self.program[place] {
                    Op::Byte(b) => b == byte,
                    Op::Any => true,
                    Op::Set(set) => set[usize::from(*byte)],
                    _ => false,
                };
                if takes {
                    next.follow(&self.program, place + 1, at + 1, text.len());
                }
            }
            std::mem::swap(&mut now, &mut next);
            next.clear();
        }
        now.done
    }
}

/// The active instructions at one byte of the text.
struct Threads {
    list: Vec<usize>,
    seen: Vec<bool>,
    done: bool,
}

impl Threads {
    fn new(places: usize) -> Self {
        Self {
            list: Vec::new(),
            seen: vec![false; places],
            done: false,
        }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.seen.fill(false);
        self.done = false;
    }

    /// Adds an instruction and all instructions reachable from it without consuming a byte.
    fn follow(&mut self, program: &[Op], place: usize, at: usize, end: usize) {
        let mut stack = vec![place];
        while let Some(place) = stack.pop() {
            if std::mem::replace(&mut self.seen[place], true) {
                continue;
            }
            match &program[place] {
                Op::Split(a, b) => stack.extend([*b, *a]),
                Op::Jump(to) => stack.push(*to),
                Op::Begin if at == 0 => stack.push(place + 1),
                Op::End if at == end => stack.push(place + 1),
                Op::Begin | Op::End => {}
                Op::Done => self.done = true,
                Op::Byte(_) | Op::Any | Op::Set(_) => self.list.push(place),
            }
        }
    }
}

struct Compiler<'a> {
    pattern: &'a [u8],
    at: usize,
    program: Vec<Op>,
    depth: usize,
}

impl Compiler<'_> {
    fn peek(&self) -> Option<u8> {
        self.pattern.get(self.at).copied()
    }

    fn alternatives(&mut self) -> Option<()> {
        let start = self.program.len();
        self.sequence()?;
        let mut ends = Vec::new();
        while self.peek() == Some(b'|') {
            self.at += 1;
            self.program
                .insert(start, Op::Split(start + 1, self.program.len() + 2));
            shift(&mut self.program[start + 1..], start, 1);
            ends.iter_mut().for_each(|end| *end += 1);
            ends.push(self.program.len());
            self.program.push(Op::Jump(0));
            self.sequence()?;
        }
        let end = self.program.len();
        ends.into_iter()
            .for_each(|place| self.program[place] = Op::Jump(end));
        (end < PROGRAM).then_some(())
    }

    fn sequence(&mut self) -> Option<()> {
        while !matches!(self.peek(), None | Some(b'|' | b')')) {
            let start = self.program.len();
            self.atom()?;
            self.repeats(start)?;
        }
        Some(())
    }

    fn atom(&mut self) -> Option<()> {
        let byte = self.peek()?;
        self.at += 1;
        let op = match byte {
            b'.' => Op::Any,
            b'^' => Op::Begin,
            b'$' => Op::End,
            b'(' => {
                self.depth += 1;
                if self.depth > 50 {
                    return None;
                }
                self.alternatives()?;
                self.depth -= 1;
                (self.peek() == Some(b')')).then_some(())?;
                self.at += 1;
                return Some(());
            }
            b'[' => Op::Set(self.set()?),
            b'*' | b'+' | b'?' => return None,
            b'\\' => {
                let byte = self.peek()?;
                self.at += 1;
                escaped(byte)
            }
            other => Op::Byte(other),
        };
        self.program.push(op);
        (self.program.len() < PROGRAM).then_some(())
    }

    /// Compiles `*`, `+`, `?` or `{m,n}` after the operand that begins at `start`.
    fn repeats(&mut self, start: usize) -> Option<()> {
        loop {
            let (least, most) = match self.peek() {
                Some(b'*') => (0, None),
                Some(b'+') => (1, None),
                Some(b'?') => (0, Some(1)),
                Some(b'{') => match self.bounds() {
                    Some(bounds) => bounds,
                    None => return Some(()),
                },
                _ => return Some(()),
            };
            self.at += 1;
            let body = self.program.split_off(start);
            for _ in 0..least {
                self.append(&body, start)?;
            }
            match most {
                None => {
                    let split = self.program.len();
                    self.program
                        .push(Op::Split(split + 1, split + body.len() + 2));
                    self.append(&body, start)?;
                    self.program.push(Op::Jump(split));
                }
                Some(most) => {
                    for _ in least..most {
                        let split = self.program.len();
                        self.program
                            .push(Op::Split(split + 1, split + body.len() + 1));
                        self.append(&body, start)?;
                    }
                }
            }
        }
    }

    /// Appends a copy of instructions that were compiled at index `from`.
    fn append(&mut self, body: &[Op], from: usize) -> Option<()> {
        let by = self.program.len() - from;
        let at = self.program.len();
        self.program.extend_from_slice(body);
        shift(&mut self.program[at..], 0, by);
        (self.program.len() < PROGRAM).then_some(())
    }

    /// Parses `{m}`, `{m,}` or `{m,n}` and leaves `at` on the closing brace. Any other brace is a literal.
    fn bounds(&mut self) -> Option<(u32, Option<u32>)> {
        let rest = &self.pattern[self.at + 1..];
        let close = rest.iter().position(|b| *b == b'}')?;
        let text = std::str::from_utf8(&rest[..close]).ok()?;
        let (least, most) = match text.split_once(',') {
            None => (text.parse().ok()?, Some(text.parse().ok()?)),
            Some((least, "")) => (least.parse().ok()?, None),
            Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
        };
        if least > 255 || most.is_some_and(|most| most > 255 || most < least) {
            return None;
        }
        self.at += close + 1;
        Some((least, most))
    }

    fn set(&mut self) -> Option<Box<[bool; 256]>> {
        let mut set = Box::new([false; 256]);
        let negated = self.peek() == Some(b'^');
        self.at += usize::from(negated);
        let first = self.at;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            if byte == b']' && self.at > first + 1 {
                break;
            }
            if byte == b'[' && self.peek() == Some(b':') {
                self.class(&mut set)?;
                continue;
            }
            let mut last = byte;
            if self.peek() == Some(b'-')
                && self.pattern.get(self.at + 1).is_some_and(|b| *b != b']')
            {
                last = self.pattern[self.at + 1];
                self.at += 2;
            }
            (byte <= last).then_some(())?;
            set[usize::from(byte)..=usize::from(last)].fill(true);
        }
        if negated {
            set.iter_mut().for_each(|member| *member = !*member);
        }
        Some(set)
    }

    /// Parses a character class such as `[:alpha:]` after its opening bracket.
    fn class(&mut self, set: &mut [bool; 256]) -> Option<()> {
        let rest = &self.pattern[self.at + 1..];
        let end = rest.windows(2).position(|pair| pair == b":]")?;
        let belongs: fn(&u8) -> bool = match &rest[..end] {
            b"alpha" => u8::is_ascii_alphabetic,
            b"digit" => u8::is_ascii_digit,
            b"alnum" => u8::is_ascii_alphanumeric,
            b"upper" => u8::is_ascii_uppercase,
            b"lower" => u8::is_ascii_lowercase,
            b"space" => u8::is_ascii_whitespace,
            b"punct" => u8::is_ascii_punctuation,
            b"xdigit" => u8::is_ascii_hexdigit,
            _ => return None,
        };
        (0..=255)
            .filter(belongs)
            .for_each(|byte| set[usize::from(byte)] = true);
        self.at += end + 3;
        Some(())
    }
}

/// Compiles a byte after a backslash.
fn escaped(byte: u8) -> Op {
    let set = |belongs: fn(u8) -> bool| {
        Op::Set(Box::new(std::array::from_fn(|index| belongs(index as u8))))
    };
    match byte {
        b'd' => set(|b| b.is_ascii_digit()),
        b'w' => set(|b| b.is_ascii_alphanumeric() || b == b'_'),
        b's' => set(|b| b.is_ascii_whitespace()),
        b'D' => set(|b| !b.is_ascii_digit()),
        b'W' => set(|b| !(b.is_ascii_alphanumeric() || b == b'_')),
        b'S' => set(|b| !b.is_ascii_whitespace()),
        other => Op::Byte(other),
    }
}

/// Relocates jump targets at or after `from` by `by` instructions.
fn shift(ops: &mut [Op], from: usize, by: usize) {
    for op in ops {
        match op {
            Op::Split(a, b) => {
                *a += if *a >= from { by } else { 0 };
                *b += if *b >= from { by } else { 0 };
            }
            Op::Jump(a) => *a += if *a >= from { by } else { 0 },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(pattern: &str, text: &str) -> bool {
        Regex::new(pattern.as_bytes()).is_some_and(|regex| regex.matches(text.as_bytes()))
    }

    #[test]
    fn patterns_match_as_posix_says() {
        let cases = [
            ("eth", "ether1", true),
            ("^ether[0-9]+$", "ether12", true),
            ("^ether[0-9]+$", "ether12x", false),
            ("^(ether|sfp)[0-9]$", "sfp1", true),
            ("a|b|c", "xxc", true),
            ("^(a|b|c)$", "b", true),
            ("^(a|b|c)$", "d", false),
            ("^(ab?c*|d)+$", "acccabd", true),
            ("[^a-z]", "abc", false),
            ("[]x]", "]", true),
            ("^a{2,3}$", "aaa", true),
            ("^a{2,3}$", "aaaa", false),
            ("[[:digit:]]", "x5", true),
            ("\\.com$", "a.com", true),
            ("\\.com$", "acom", false),
            ("", "anything", true),
            ("^$", "", true),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(is(pattern, text), expected, "{pattern} {text}");
        }
        assert!(Regex::new(b"(a").is_none() && Regex::new(b"*").is_none());
    }

    #[test]
    fn a_pathological_pattern_takes_bounded_time() {
        let text = "a".repeat(5_000);

        assert!(!is("^(a|a|aa)*(a*)*b$", &text));
        assert!(Regex::new("(".repeat(10_000).as_bytes()).is_none());
        assert!(Regex::new("(a{200}){200}".as_bytes()).is_none());
    }
}
