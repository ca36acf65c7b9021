//! Incomplete packets of PPP sessions with multilink framing, with bounded memory.

use frame::InterfaceId;
use ppp::Reassembly;

/// Maximum number of sessions whose fragments a worker reassembles at a time.
const SESSIONS: usize = 64;

/// Incomplete packets by session. The session whose entry is replaced loses its incomplete packet.
#[derive(Default)]
pub(crate) struct Incomplete {
    sessions: Vec<(InterfaceId, u16, Reassembly)>,
    /// Position of the next entry to replace.
    next: usize,
}

impl Incomplete {
    /// Returns the reassembly of the session with this interface, for packets of at most `mrru` bytes.
    pub(super) fn of(&mut self, id: InterfaceId, mrru: u16) -> &mut Reassembly {
        let known =
            { self.sessions.iter() }.position(|(own, limit, _)| (*own, *limit) == (id, mrru));
        let at = known.unwrap_or_else(|| {
            let fresh = (id, mrru, Reassembly::new(mrru));
            if self.sessions.len() < SESSIONS {
                self.sessions.push(fresh);
                return self.sessions.len() - 1;
            }
            let at = self.next % SESSIONS;
            self.next = at + 1;
            self.sessions[at] = fresh;
            at
        });
        &mut self.sessions[at].2
    }
}
