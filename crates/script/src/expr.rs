//! Parses values and expressions.

use std::sync::Arc;

use menu::{Menu, Reason, Refusal};

use crate::ast::{Binary, Expr, Node, Unary};
use crate::builtin::ArgumentKind;
use crate::highlight::Class;
use crate::parser::{Expected, Parser};
use crate::spec;

/// Operators with their precedence, lowest first. A longer operator stands before its prefixes.
const OPERATORS: &[(&str, u8, Binary)] = &[
    ("||", 1, Binary::Or),
    ("or", 1, Binary::Or),
    ("&&", 2, Binary::And),
    ("and", 2, Binary::And),
    ("!=", 3, Binary::Unequal),
    ("<=", 3, Binary::AtMost),
    (">=", 3, Binary::AtLeast),
    ("<%%", 11, Binary::Call),
    ("<<", 8, Binary::ShiftLeft),
    (">>", 8, Binary::ShiftRight),
    ("->", 12, Binary::Index),
    ("=", 3, Binary::Equal),
    ("<", 3, Binary::Less),
    (">", 3, Binary::Greater),
    ("~", 3, Binary::Match),
    ("in", 3, Binary::In),
    (",", 4, Binary::Comma),
    (".", 5, Binary::Concat),
    ("|", 6, Binary::BitOr),
    ("^", 6, Binary::BitXor),
    ("&", 7, Binary::BitAnd),
    ("+", 9, Binary::Add),
    ("-", 9, Binary::Subtract),
    ("*", 10, Binary::Multiply),
    ("/", 10, Binary::Divide),
    ("%", 10, Binary::Modulo),
];

impl Expr {
    /// Builds the call of a function that an expression yields.
    pub(crate) fn call(function: Self, arguments: Vec<(Option<String>, Self)>) -> Self {
        Self {
            at: function.at,
            node: Node::Call(Box::new(function), arguments),
        }
    }
}

impl Parser<'_> {
    /// Parses the value of an argument: a string, an expression, code, or a bare word.
    pub(crate) fn argument_value(&mut self, takes: ArgumentKind) -> Result<Expr, Refusal> {
        let at = self.position(self.at);
        match (self.peek(), takes) {
            // Empty value: the text after the space is the next argument.
            _ if self.at_space() => Ok(Expr {
                at,
                node: Node::Word(String::new()),
            }),
            (Some(b'{'), ArgumentKind::Code) => Ok(Expr {
                at,
                node: Node::Code(self.braces()?),
            }),
            (
                Some(b'"' | b'$' | b'[' | b'(' | b'{' | b'>'),
                ArgumentKind::Value | ArgumentKind::Text | ArgumentKind::Span | ArgumentKind::Code,
            ) => self.value(),
            (Some(b'"' | b'(' | b'$'), ArgumentKind::Name) => self.value(),
            (_, ArgumentKind::Name) => Ok(Expr {
                at,
                node: Node::Variable(self.names()),
            }),
            _ => Ok(Expr {
                at,
                node: Node::Word(self.bare()),
            }),
        }
    }

    /// Parses a value in a list of values; no operator may follow it.
    pub(crate) fn value(&mut self) -> Result<Expr, Refusal> {
        let start = self.at;
        let at = self.position(start);
        match self.peek() {
            Some(b'"') => self.quoted(),
            Some(b'$') => {
                let variable = self.variable()?;
                self.indexes(variable)
            }
            Some(b'[') => {
                let brackets = Expr {
                    at,
                    node: Node::Brackets(self.brackets()?),
                };
                self.indexes(brackets)
            }
            Some(b'(') => self.parentheses(),
            Some(b'{') => self.array(),
            Some(b'>') => {
                self.at += 1;
                self.skip_spaces();
                let inner = self.nested(Self::primary)?;
                Ok(Expr {
                    at,
                    node: Node::Unary(Unary::Quote, Box::new(inner)),
                })
            }
            _ => Ok(Expr {
                at,
                node: Node::Word(self.bare()),
            }),
        }
    }

    /// Parses `->` right after a value: indexes the value.
    fn indexes(&mut self, mut value: Expr) -> Result<Expr, Refusal> {
        let mut height = self.height;
        while self.looking_at("->") {
            self.at += 2;
            self.skip_blank();
            self.height = 0;
            let index = self.nested(Self::index)?;
            height = self.higher(height)?;
            let at = value.at;
            value = Expr {
                at,
                node: Node::Binary(Binary::Index, Box::new(value), Box::new(index)),
            };
        }
        self.height = height;
        Ok(value)
    }

    /// Parses the operand after `->`.
    fn index(&mut self) -> Result<Expr, Refusal> {
        let at = self.position(self.at);
        match self.peek() {
            Some(b'$') => self.variable(),
            Some(b'[') => Ok(Expr {
                at,
                node: Node::Brackets(self.brackets()?),
            }),
            _ => self.primary(),
        }
    }

    fn parentheses(&mut self) -> Result<Expr, Refusal> {
        let start = self.at;
        self.at += 1;
        self.mark(start, Class::Syntax);
        let mut inner = self.nested(|parser| parser.expression(0))?;
        self.skip_blank();
        let mut height = self.height;
        // Two operands without an operator: both conditions must hold.
        while matches!(self.peek(), Some(b'"' | b'$' | b'[' | b'(' | b'{'))
            || self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric())
            || (self.row.is_some() && self.peek() == Some(b'!'))
        {
            let next = self.nested(|parser| parser.expression(0))?;
            height = self.higher(height)?;
            let at = inner.at;
            inner = Expr {
                at,
                node: Node::Binary(Binary::Both, Box::new(inner), Box::new(next)),
            };
            self.skip_blank();
        }
        if self.peek() != Some(b')') {
            let reason = if self.peek().is_none() {
                Reason::MissingClosing("parenthesis")
            } else {
                Reason::Syntax
            };
            return self.refuse(reason, self.at);
        }
        self.at += 1;
        self.mark(self.at - 1, Class::Syntax);
        self.height = height;
        Ok(inner)
    }

    /// Parses operands joined by operators with a precedence above `least`.
    pub(crate) fn expression(&mut self, least: u8) -> Result<Expr, Refusal> {
        self.skip_blank();
        let mut left = self.operand()?;
        let mut height = self.height;
        loop {
            self.skip_blank();
            let tighter = |(_, binding, _): &(_, u8, _)| *binding > least;
            let Some((text, binding, operator)) = self.operator().filter(tighter) else {
                self.height = height;
                return Ok(left);
            };
            let start = self.at;
            self.at += text.len();
            self.mark(start, Class::Operator);
            self.expect_compared(&left, binding);
            let right = self.right(operator, binding)?;
            if self.at < self.bytes.len() {
                self.expected = None;
            }
            height = self.higher(height)?;
            let at = left.at;
            left = Expr {
                at,
                node: Node::Binary(operator, Box::new(left), Box::new(right)),
            };
        }
    }

    /// For completion: records that a value of the property on the left is expected at the cursor.
    fn expect_compared(&mut self, left: &Expr, binding: u8) {
        if let (Some(menu), Node::Property(name), 3) = (self.row, &left.node, binding)
            && let Some(property) = menu.property(name)
        {
            self.skip_blank();
            let parameter = spec::of_property(menu, property);
            self.expected = Some(Expected::Value(self.at, parameter));
        }
    }

    /// Parses the right operand of an operator. In a condition a bare word is a value.
    fn right(&mut self, operator: Binary, binding: u8) -> Result<Expr, Refusal> {
        let compares = binding == 3;
        if self.row.is_none() || !compares {
            return self.nested(|parser| parser.expression(binding));
        }
        self.skip_blank();
        let minus = self.looking_at("-$") || self.looking_at("-(");
        if self.looking_at("!") || minus || operator == Binary::In {
            return self.nested(|parser| parser.expression(binding));
        }
        self.height = 0;
        let value = self.value()?;
        if self.looking_at(" .") || self.looking_at(".") {
            return self.joined_on(value);
        }
        Ok(value)
    }

    /// Parses concatenation to the right of a comparison: `"a" . $b`.
    fn joined_on(&mut self, mut value: Expr) -> Result<Expr, Refusal> {
        let mut height = self.height;
        loop {
            self.skip_blank();
            if self.peek() != Some(b'.') {
                self.height = height;
                return Ok(value);
            }
            self.at += 1;
            self.skip_blank();
            self.height = 0;
            let right = self.value()?;
            height = self.higher(height)?;
            let at = value.at;
            value = Expr {
                at,
                node: Node::Binary(Binary::Concat, Box::new(value), Box::new(right)),
            };
        }
    }

    fn operator(&self) -> Option<(&'static str, u8, Binary)> {
        OPERATORS.iter().copied().find(|(text, ..)| {
            let is_name = text.as_bytes()[0].is_ascii_alphabetic();
            let after = self.bytes.get(self.at + text.len()).copied();
            self.looking_at(text) && !(is_name && after.is_some_and(crate::parser::is_word))
        })
    }

    fn operand(&mut self) -> Result<Expr, Refusal> {
        self.height = 0;
        let start = self.at;
        let at = self.position(start);
        let unary = match self.peek() {
            Some(b'!') => Some((Unary::Not, 3)),
            Some(b'~') => Some((Unary::Complement, 11)),
            Some(b'>') => Some((Unary::Quote, 12)),
            Some(b'-') => Some((Unary::Minus, 11)),
            Some(b'a') if self.is_any() => Some((Unary::Any, 11)),
            _ => None,
        };
        let Some((operator, binding)) = unary else {
            return self.primary();
        };
        self.at += if operator == Unary::Any { 3 } else { 1 };
        self.mark(start, Class::Operator);
        // In a condition `!` negates the whole comparison, elsewhere only the operand.
        let binding = if operator == Unary::Not && self.row.is_none() {
            11
        } else {
            binding
        };
        let inner = self.nested(|parser| parser.expression(binding.min(11)))?;
        Ok(Expr {
            at,
            node: Node::Unary(operator, Box::new(inner)),
        })
    }

    fn is_any(&self) -> bool {
        let after = self.bytes.get(self.at + 3);
        self.looking_at("any") && !after.is_some_and(|byte| crate::parser::is_word(*byte))
    }

    fn primary(&mut self) -> Result<Expr, Refusal> {
        self.skip_blank();
        let start = self.at;
        let at = self.position(start);
        match self.peek() {
            Some(b'"' | b'$' | b'[' | b'(' | b'{') => {
                let value = self.value()?;
                self.arguments_in_parentheses(value)
            }
            Some(b':' | b'/') if !self.looking_at("::") => {
                // A command inside an expression needs brackets.
                self.refuse(Reason::Syntax, start)
            }
            _ => {
                let word = self.literal();
                if self.at == self.bytes.len()
                    && let Some(menu) = self.row
                {
                    self.expected = Some(Expected::Condition(start, menu));
                }
                if word.is_empty() {
                    return self.refuse(Reason::Syntax, start);
                }
                let node = match self.row.and_then(|menu| property(menu, &word)) {
                    Some(name) => {
                        self.mark(start, Class::Property);
                        Node::Property(name)
                    }
                    // RouterOS: a bare name in an expression is a variable.
                    None if is_name(&word) => {
                        self.mark(start, Class::Variable);
                        Node::Variable(word)
                    }
                    None => Node::Word(word),
                };
                self.arguments_in_parentheses(Expr { at, node })
            }
        }
    }

    /// Parses `($f a b=c)`: a function call with arguments in parentheses.
    fn arguments_in_parentheses(&mut self, function: Expr) -> Result<Expr, Refusal> {
        if !matches!(function.node, Node::Variable(_)) {
            return Ok(function);
        }
        let mut arguments = Vec::new();
        let mut tallest = 0;
        loop {
            tallest = self.tallest(tallest);
            let before = self.at;
            self.skip_blank();
            let begins = matches!(self.peek(), Some(b'"' | b'$' | b'[' | b'(' | b'{'))
                || self.peek().is_some_and(|b| b.is_ascii_alphanumeric());
            if before == self.at || !begins || self.operator().is_some() || self.row.is_some() {
                self.at = before;
                break;
            }
            let start = self.at;
            let word = self.word().to_owned();
            let named = !word.is_empty() && self.peek() == Some(b'=');
            self.at = if named { self.at + 1 } else { start };
            if named {
                self.skip_to_value();
            }
            let value = self.argument_value(ArgumentKind::Value)?;
            arguments.push((named.then_some(word), value));
        }
        self.height = tallest + 1;
        Ok(if arguments.is_empty() {
            function
        } else {
            Expr::call(function, arguments)
        })
    }

    /// Parses the conditions on rows; if there are several side by side, all must hold.
    pub(crate) fn condition(&mut self, menu: &'static Menu) -> Result<Expr, Refusal> {
        let outer = self.row.replace(menu);
        let condition = self.conditions();
        self.row = outer;
        condition
    }

    fn conditions(&mut self) -> Result<Expr, Refusal> {
        let mut all = self.nested(|parser| parser.expression(0))?;
        let mut height = self.height;
        loop {
            self.skip_spaces();
            if self.at_end() {
                self.height = height;
                return Ok(all);
            }
            let start = self.at;
            let next = self
                .nested(|parser| parser.expression(0))
                .map_err(|refusal| {
                    // Text that is not a condition ends the command.
                    if refusal.reason == Reason::Syntax {
                        Reason::ExpectedEnd.at(self.source.position(start))
                    } else {
                        refusal
                    }
                })?;
            height = self.higher(height)?;
            let at = all.at;
            all = Expr {
                at,
                node: Node::Binary(Binary::Both, Box::new(all), Box::new(next)),
            };
        }
    }

    /// Parses an array: `{a; b=c}`.
    fn array(&mut self) -> Result<Expr, Refusal> {
        let at = self.position(self.at);
        let start = self.at;
        self.at += 1;
        self.mark(start, Class::Syntax);
        let row = self.row.take();
        let elements = self.nested(Self::elements);
        self.row = row;
        Ok(Expr {
            at,
            node: Node::Array(elements?),
        })
    }

    fn elements(&mut self) -> Result<Vec<(Option<Expr>, Expr)>, Refusal> {
        let mut elements = Vec::new();
        let mut tallest = 0;
        loop {
            tallest = self.tallest(tallest);
            self.skip_blank();
            match self.peek() {
                None => return self.refuse(Reason::MissingClosing("brace"), self.at),
                Some(b'}') => {
                    self.at += 1;
                    self.height = tallest + 1;
                    return Ok(elements);
                }
                Some(b';' | b',') => {
                    self.at += 1;
                    continue;
                }
                _ => {}
            }
            let start = self.at;
            let mut first = self.expression(3)?;
            self.skip_blank();
            if self.peek() == Some(b'=') {
                // A bare name before `=` is a key, not a variable.
                if let Node::Variable(name) = &mut first.node
                    && self.bytes.get(start) != Some(&b'$')
                {
                    first.node = Node::Text(std::mem::take(name));
                }
                self.at += 1;
                tallest = self.tallest(tallest);
                let value = self.expression(3)?;
                elements.push((Some(first), value));
            } else {
                elements.push((None, first));
            }
            self.skip_blank();
            if self.at == start {
                return self.refuse(Reason::ExpectedClosing("brace"), self.at);
            }
        }
    }

    /// Parses a variable: `$name`, `$"any name"`.
    pub(crate) fn variable(&mut self) -> Result<Expr, Refusal> {
        let start = self.at;
        let at = self.position(start);
        self.at += 1;
        let name = match self.peek() {
            Some(b'"') => match self.quoted()?.node {
                Node::Text(name) => name,
                _ => return self.refuse(Reason::Syntax, start),
            },
            // `$[...]` and `$(...)` evaluate to the value inside.
            Some(b'[' | b'(') => return self.value(),
            _ => {
                let from = self.at;
                // In a condition `$dst-address` names the property of the row.
                let row = self.row;
                while self
                    .peek()
                    .is_some_and(|b| b.is_ascii_alphanumeric() || (row.is_some() && b == b'-'))
                    && !self.looking_at("->")
                {
                    self.at += 1;
                }
                self.source.text[from..self.at].to_owned()
            }
        };
        if self.at == self.bytes.len() {
            self.expected = Some(Expected::Variable(start + 1));
        }
        if name.is_empty() {
            return self.refuse(Reason::Syntax, self.at);
        }
        self.mark(start, Class::Variable);
        // RouterOS: reading a variable also declares it, so that it can be set later.
        self.names.declare(&name);
        let node = match self.row.and_then(|menu| property(menu, &name)) {
            Some(name) => Node::Property(name),
            None => Node::Variable(name),
        };
        Ok(Expr { at, node })
    }

    /// Parses a comma-separated list of variable names (letters and digits).
    fn names(&mut self) -> String {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b',')
        {
            self.at += 1;
        }
        self.mark(start, Class::Variable);
        self.source.text[start..self.at].to_owned()
    }

    /// Parses a bare word as a value.
    pub(crate) fn bare(&mut self) -> String {
        let start = self.at;
        let mut text = String::new();
        let mut from = self.at;
        loop {
            let skip = self.continuation();
            if skip > 0 {
                text.push_str(&self.source.text[from..self.at]);
                self.skip_spaces();
                from = self.at;
                // A line continuation is part of the word only after its first character.
                if text.is_empty() {
                    continue;
                }
            }
            match self.peek() {
                Some(b'&') if self.row.is_some() && self.looking_at("&&") => break,
                Some(b'|') if self.row.is_some() && self.looking_at("||") => break,
                Some(byte) if is_bare(byte) => self.at += 1,
                _ => break,
            }
        }
        text.push_str(&self.source.text[from..self.at]);
        self.mark(start, Class::Value);
        text
    }

    /// Parses a bare word in an expression, where operators may follow without a space.
    fn literal(&mut self) -> String {
        let start = self.at;
        if self.row.is_some() && self.peek() == Some(b'.') {
            self.at += 1;
        }
        if self.peek() == Some(b'*') {
            self.at += 1;
        }
        let rest = &self.bytes[self.at..];
        let number = rest.first().is_some_and(u8::is_ascii_digit);
        let in_row = self.row.is_some();
        let length = address_length(rest).unwrap_or_else(|| {
            let ok = |index: usize, b: u8| {
                let next = || rest.get(index + 1).is_some_and(u8::is_ascii_digit);
                let joins = if number {
                    matches!(b, b'.' | b':') && next()
                } else {
                    in_row && matches!(b, b'-' | b'_')
                };
                b.is_ascii_alphanumeric() || joins
            };
            let mut bytes = rest.iter().enumerate();
            bytes
                .position(|(index, b)| !ok(index, *b))
                .unwrap_or(rest.len())
        });
        // `a->b`: the arrow is not part of the word.
        let arrow = rest[..length]
            .iter()
            .position(|b| *b == b'-')
            .filter(|i| rest.get(i + 1) == Some(&b'>'));
        self.at += arrow.unwrap_or(length);
        self.mark(start, Class::Value);
        self.source
            .text
            .get(start..self.at)
            .unwrap_or_default()
            .to_owned()
    }
}

/// Returns the property or flag of the menu that a word names.
fn property(menu: &'static Menu, word: &str) -> Option<&'static str> {
    let property = menu.property(word).map(|property| property.name);
    let flag = || {
        menu.flags
            .iter()
            .find(|flag| flag.name == word)
            .map(|flag| flag.name)
    };
    let id = || (word == ".id").then_some(".id");
    property.or_else(flag).or_else(id)
}

/// Returns the length of an IP address or prefix at the beginning of `bytes`, whose dots, colons and slash are
/// not operators.
fn address_length(bytes: &[u8]) -> Option<usize> {
    let end = bytes
        .iter()
        .position(|b| !(b.is_ascii_hexdigit() || matches!(b, b'.' | b':' | b'/')))
        .unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let (address, length) = text
        .split_once('/')
        .map_or((text, None), |(a, l)| (a, Some(l)));
    if !address.contains(['.', ':']) {
        return None;
    }
    address.parse::<std::net::IpAddr>().ok()?;
    match length {
        Some(length) if !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()) => {
            Some(end)
        }
        Some(_) => Some(address.len()),
        None => Some(end),
    }
}

/// True if a word in an expression can be a variable name rather than a literal.
fn is_name(word: &str) -> bool {
    word.bytes().next().is_some_and(|b| b.is_ascii_alphabetic())
        && !word.contains(':')
        && !matches!(word, "true" | "false" | "yes" | "no")
}

/// True for characters of a bare word.
const fn is_bare(byte: u8) -> bool {
    !matches!(
        byte,
        b' ' | b'\t'
            | b'\n'
            | b'\r'
            | b';'
            | b'"'
            | b'$'
            | b'['
            | b']'
            | b'('
            | b')'
            | b'{'
            | b'}'
            | b'='
            | b'\\'
    )
}

/// Returns an empty code block.
pub(crate) fn no_code() -> Arc<crate::ast::Block> {
    Arc::default()
}
