//! Reassembly of message fragments (RFC 7383).

use std::collections::BTreeMap;

use super::{RESPONSE, keys};
use crate::message::Header;

/// Maximum number of fragments per message.
const MAX_FRAGMENTS: u16 = 64;

/// Fragments of one message.
#[derive(Default)]
pub(super) struct Gather {
    of: Option<(u32, u8, u16)>,
    first: u8,
    parts: BTreeMap<u16, Vec<u8>>,
}

impl Gather {
    /// Adds a fragment; returns first payload type and payloads once all fragments are there.
    pub(super) fn take(&mut self, header: &Header, opened: keys::Opened) -> Option<(u8, Vec<u8>)> {
        let Some((at, total)) = opened.fragment else {
            return Some((opened.first, opened.plain));
        };
        if at == 0 || at > total || total > MAX_FRAGMENTS {
            return None;
        }
        let of = (header.id, header.flags & RESPONSE, total);
        if self.of != Some(of) {
            *self = Self {
                of: Some(of),
                ..Self::default()
            };
        }
        if at == 1 {
            self.first = opened.first;
        }
        self.parts.insert(at, opened.plain);
        if self.parts.len() < usize::from(total) {
            return None;
        }
        let whole = core::mem::take(self);
        Some((whole.first, whole.parts.into_values().flatten().collect()))
    }
}
