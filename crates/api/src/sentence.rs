//! Sentences of the binary API: commands with attributes, queries and tags, and replies.

use menu::bytes;
use script::Request;

use crate::word::encode_word;

/// A sentence from a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    /// The request: first word as path, `=name=value` as arguments, `?…` as query.
    pub request: Request,
    /// The tag to repeat in every reply; empty if none.
    pub tag: Vec<u8>,
}

impl Sentence {
    /// Parses the words of a sentence. Unknown kinds of words are ignored.
    pub fn read(words: &[Vec<u8>]) -> Self {
        let mut sentence = Self::default();
        let Some((command, words)) = words.split_first() else {
            return sentence;
        };
        sentence.request.path = bytes::from_bytes(command);
        for word in words {
            match word.split_first() {
                Some((b'=', rest)) => {
                    // The second `=` of a flag may be missing.
                    let at = rest.iter().position(|byte| *byte == b'=');
                    let (name, value) = rest.split_at(at.unwrap_or(rest.len()));
                    let value = value.get(1..).unwrap_or_default();
                    let pair = (bytes::from_bytes(name), bytes::from_bytes(value));
                    sentence.request.arguments.push(pair);
                }
                Some((b'?', rest)) => sentence.request.query.push(bytes::from_bytes(rest)),
                _ => {
                    if let Some(tag) = word.strip_prefix(b".tag=") {
                        sentence.tag = tag.to_vec();
                    }
                }
            }
        }
        sentence
    }

    /// Returns the value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut arguments = self.request.arguments.iter();
        arguments
            .find(|(argument, _)| argument == name)
            .map(|(_, value)| value.as_str())
    }
}

/// A reply sentence of the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A row.
    Row(&'a [(&'a str, String)]),
    /// The end of a command, with an optional return value.
    Done(Option<&'a str>),
    /// There are no rows.
    Empty,
    /// An error: optional category, and text.
    Trap(Option<u8>, &'a str),
    /// The connection ends, for this reason.
    Fatal(&'a str),
}

impl Reply<'_> {
    /// Appends the encoded sentence.
    pub fn encode(&self, tag: &[u8], out: &mut Vec<u8>) {
        let word = match self {
            Self::Row(_) => "!re",
            Self::Done(_) => "!done",
            Self::Empty => "!empty",
            Self::Trap(..) => "!trap",
            Self::Fatal(_) => "!fatal",
        };
        encode_word(word.as_bytes(), out);
        if !tag.is_empty() {
            encode_word(&[b".tag=", tag].concat(), out);
        }
        match self {
            Self::Row(fields) => {
                for (name, value) in *fields {
                    attribute(name, value, out);
                }
            }
            Self::Done(Some(value)) => attribute("ret", value, out),
            Self::Done(None) | Self::Empty => {}
            Self::Trap(category, message) => {
                if let Some(category) = category {
                    attribute("category", &category.to_string(), out);
                }
                attribute("message", message, out);
            }
            // RouterOS: the reason is a separate word without a name.
            Self::Fatal(reason) => encode_word(reason.as_bytes(), out),
        }
        encode_word(b"", out);
    }
}

fn attribute(name: &str, value: &str, out: &mut Vec<u8>) {
    let mut word = Vec::with_capacity(name.len() + value.len() + 2);
    word.push(b'=');
    word.extend_from_slice(name.as_bytes());
    word.push(b'=');
    word.extend(bytes::to_bytes(value));
    encode_word(&word, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&[u8]]) -> Sentence {
        let words: Vec<_> = words.iter().map(|word| word.to_vec()).collect();
        Sentence::read(&words)
    }

    #[test]
    fn words_are_attributes_queries_and_a_tag_in_any_order() {
        let sentence = read(&[
            b"/ip/address/print",
            b".tag=7",
            b"?disabled=no",
            b"=comment=a=b\n\xff",
            b"=detail",
            b"=once=",
            b"nonsense",
        ]);

        assert_eq!(sentence.request.path, "/ip/address/print");
        assert_eq!(sentence.tag, b"7");
        assert_eq!(sentence.request.query, ["disabled=no"]);
        assert_eq!(sentence.attribute("detail"), Some(""));
        assert_eq!(sentence.attribute("once"), Some(""));
        let comment = sentence.attribute("comment").expect("an attribute");
        assert_eq!(bytes::to_bytes(comment), b"a=b\n\xff");
    }

    #[test]
    fn a_reply_has_its_tag_and_raw_bytes() {
        let mut out = Vec::new();
        let fields = [
            (".id", "*1".to_owned()),
            ("comment", bytes::from_bytes(b"\xe9")),
        ];

        Reply::Row(&fields).encode(b"x", &mut out);
        Reply::Done(None).encode(b"", &mut out);
        Reply::Trap(Some(2), "interrupted").encode(b"", &mut out);
        Reply::Fatal("bye").encode(b"", &mut out);

        let expected = b"\x03!re\x06.tag=x\x07=.id=*1\x0a=comment=\xe9\0\x05!done\0\
            \x05!trap\x0b=category=2\x14=message=interrupted\0\x06!fatal\x03bye\0";
        assert_eq!(out, expected);
    }
}
