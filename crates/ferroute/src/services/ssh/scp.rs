//! SCP server: `scp -t PATH` receives files, `scp -f PATH` sends one. Protocol of OpenSSH's `scp -O`: lines
//! `C0644 SIZE NAME`, then the contents, each acknowledged by a zero byte.

use menu::Reason;

use super::files::{Contents, FileStore, MAX_FILE_BYTES, name_of};

/// Maximum line length.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Arguments of `scp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scp {
    /// True: receives files (`-t`). False: sends one (`-f`).
    takes: bool,
    name: String,
}

impl Scp {
    /// Parses the command of a channel; `None` for other commands.
    pub(super) fn of(command: &str) -> Option<Self> {
        let mut words = command.trim().split(' ').filter(|word| !word.is_empty());
        if words.next()? != "scp" {
            return None;
        }
        let (options, path): (Vec<_>, Vec<_>) =
            words.partition(|word| word.starts_with('-') && *word != "--");
        let has = |letter: char| options.iter().any(|option| option.contains(letter));
        let path: Vec<_> = path.into_iter().filter(|word| *word != "--").collect();
        let path = path.join(" ");
        (has('t') != has('f')).then(|| Self {
            takes: has('t'),
            name: name_of(path.trim_matches(['\'', '"'])),
        })
    }

    /// Transfers the files; returns the exit status: 0 if all succeeded.
    pub(super) fn run(&self, peer: &mut Peer<'_>, store: &mut dyn FileStore) -> u32 {
        let moved = match self.takes {
            true => self.take(peer, store),
            false => self.give(peer, store),
        };
        match moved {
            Some(Ok(())) => 0,
            Some(Err(reason)) => {
                peer.send(format!("\x01scp: {}: {reason}\n", self.name).as_bytes());
                1
            }
            None => 1,
        }
    }

    fn give(&self, peer: &mut Peer<'_>, store: &mut dyn FileStore) -> Option<Result<(), Reason>> {
        peer.confirmed()?;
        let contents = match store.read(&self.name).and_then(Contents::of) {
            Ok(contents) => contents,
            Err(reason) => return Some(Err(reason)),
        };
        let leaf = self.name.rsplit('/').next().unwrap_or_default();
        peer.send(format!("C0644 {} {leaf}\n", contents.bytes().len()).as_bytes());
        peer.confirmed()?;
        contents
            .bytes()
            .chunks(PIECE_BYTES)
            .for_each(|piece| peer.send(piece));
        peer.send(&[0]);
        peer.confirmed()?;
        Some(Ok(()))
    }

    fn take(&self, peer: &mut Peer<'_>, store: &mut dyn FileStore) -> Option<Result<(), Reason>> {
        peer.send(&[0]);
        let into = store.entry(&self.name).is_ok_and(|entry| entry.folder);
        while let Some(line) = peer.line() {
            let Some((size, leaf)) = file_of(&line) else {
                match line.as_bytes().first() {
                    // Times are not stored.
                    Some(b'T') => peer.send(&[0]),
                    _ => {
                        return Some(Err(Reason::failure(
                            "folders are not moved: give the files",
                        )));
                    }
                }
                continue;
            };
            if size > MAX_FILE_BYTES {
                return Some(Err(Reason::failure("file is too large")));
            }
            peer.send(&[0]);
            let contents = match peer.exactly(size)? {
                Ok(contents) => contents,
                Err(reason) => return Some(Err(reason)),
            };
            peer.confirmed()?;
            let name = match into {
                true => name_of(&format!("{}/{leaf}", self.name)),
                false => self.name.clone(),
            };
            if let Err(reason) = store.write(&name, contents.bytes()) {
                return Some(Err(reason));
            }
            peer.send(&[0]);
        }
        Some(Ok(()))
    }
}

/// Parses size and name of a line `C0644 SIZE NAME`.
fn file_of(line: &str) -> Option<(usize, &str)> {
    let (_mode, rest) = line.strip_prefix('C')?.split_once(' ')?;
    let (size, name) = rest.split_once(' ')?;
    let leaf = name.rsplit('/').next()?;
    (!matches!(leaf, "" | "." | "..")).then_some((size.parse().ok()?, leaf))
}

/// Bytes sent at once.
const PIECE_BYTES: usize = 32 << 10;

/// The channel's peer, for a thread.
pub(super) struct Peer<'a> {
    /// Returns the next piece of input; `None` at the end.
    pub(super) next: &'a mut dyn FnMut() -> Option<Vec<u8>>,
    pub(super) write: &'a mut dyn FnMut(&[u8]),
    pub(super) input: Vec<u8>,
}

impl Peer<'_> {
    fn send(&mut self, bytes: &[u8]) {
        (self.write)(bytes);
    }

    fn more(&mut self) -> Option<()> {
        let piece = (self.next)()?;
        self.input.extend(piece);
        Some(())
    }

    /// Reads a line without its end; `None` at the end of the input.
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
                let line: Vec<_> = self.input.drain(..=end).collect();
                return Some(menu::bytes::from_bytes(&line[..end]));
            }
            if self.input.len() > MAX_LINE_BYTES {
                return None;
            }
            self.more()?;
        }
    }

    /// Waits for the client's acknowledgement.
    fn confirmed(&mut self) -> Option<()> {
        while self.input.is_empty() {
            self.more()?;
        }
        (self.input.remove(0) == 0).then_some(())
    }

    fn exactly(&mut self, size: usize) -> Option<Result<Contents, Reason>> {
        let mut contents = Contents::default();
        loop {
            let at = contents.bytes().len();
            let piece: Vec<_> = self
                .input
                .drain(..self.input.len().min(size - at))
                .collect();
            if let Err(reason) = contents.put(at as u64, &piece) {
                return Some(Err(reason));
            }
            if contents.bytes().len() == size {
                return Some(Ok(contents));
            }
            self.more()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::Memory;
    use super::*;

    fn talk(command: &str, store: &mut Memory, sent: &[&[u8]]) -> (u32, Vec<u8>) {
        let mut pieces: std::collections::VecDeque<_> =
            sent.iter().map(|piece| piece.to_vec()).collect();
        let mut out = Vec::new();
        let scp = Scp::of(command).expect("a command of scp");
        let mut peer = Peer {
            next: &mut || pieces.pop_front(),
            write: &mut |bytes| out.extend(bytes),
            input: Vec::new(),
        };
        (scp.run(&mut peer, store), out)
    }

    #[test]
    fn files_are_received_and_sent_completely() {
        let mut store = Memory::default();
        let took = talk(
            "scp -t /a.rsc",
            &mut store,
            &[b"T1 0 1 0\nC0644 5 x.rsc\nhe", b"llo\0"],
        );
        assert_eq!(took, (0, vec![0, 0, 0, 0]));
        assert_eq!(store.0.get("a.rsc"), Some(&Some(b"hello".to_vec())));
        let gave = talk("scp -f a.rsc", &mut store, &[b"\0", b"\0", b"\0"]);
        assert_eq!(gave, (0, b"C0644 5 a.rsc\nhello\0".to_vec()));
        store.0.insert("flash".into(), None);
        talk("scp -v -t flash", &mut store, &[b"C0600 1 ../../b\nx\0"]);
        assert_eq!(store.0.get("flash/b"), Some(&Some(b"x".to_vec())));
    }

    #[test]
    fn what_breaks_off_leaves_nothing_and_refusals_are_told() {
        let mut store = Memory::default();
        assert_eq!(talk("scp -t a", &mut store, &[b"C0644 5 a\nhe"]).0, 1);
        assert!(store.0.is_empty());
        let (status, said) = talk("scp -f none", &mut store, &[b"\0"]);
        assert_eq!((status, said.first()), (1, Some(&1)));
        let (status, _) = talk("scp -t locked", &mut store, &[b"C0644 1 a\nx\0"]);
        assert_eq!(status, 1);
        assert_eq!(Scp::of("/export"), None);
        assert_eq!(Scp::of("scp a b"), None);
    }
}
