//! Matchers that read what a connection carries: `tls-host` and `layer7-protocol`.

use std::sync::Arc;

/// A pattern with `*`, `?` and `[]` for names. Upper and lower case are alike (RFC 4343).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob(Box<[u8]>);

impl Glob {
    /// The pattern as it is written in the configuration.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.to_ascii_lowercase().into_bytes().into())
    }
}

/// A pattern of `/ip/firewall/layer7-protocol`, compiled.
#[derive(Clone, Debug)]
pub struct Layer7 {
    /// Its name.
    pub name: Arc<str>,
}
