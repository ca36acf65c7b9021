//! SFTP server, version 3 (draft-ietf-secsh-filexfer-02): a state machine over a [`FileStore`].
//!
//! ```text
//! bytes ─▶ Server::receive ─▶ one packet after the other ─▶ store ─▶ answers
//! ```
//! Files are read completely on open and written completely on close: the router's files are small and never stored
//! in part. An interrupted upload leaves no file.

use std::collections::BTreeMap;

use menu::Reason;
use router::RemoteEntry;

use super::files::{Contents, FileStore, name_of};

/// Maximum number of open files per client.
const MAX_HANDLES: usize = 16;
/// Maximum packet length: clients write up to 256 KiB at once.
const MAX_PACKET_BYTES: usize = 300 << 10;
/// Maximum bytes per READ.
const READ: usize = 64 << 10;
/// Entries per READDIR answer.
const ENTRIES_PER_ANSWER: usize = 64;

/// Packet types.
mod kind {
    pub(super) const INIT: u8 = 1;
    pub(super) const VERSION: u8 = 2;
    pub(super) const OPEN: u8 = 3;
    pub(super) const CLOSE: u8 = 4;
    pub(super) const READ: u8 = 5;
    pub(super) const WRITE: u8 = 6;
    pub(super) const LSTAT: u8 = 7;
    pub(super) const FSTAT: u8 = 8;
    pub(super) const SETSTAT: u8 = 9;
    pub(super) const FSETSTAT: u8 = 10;
    pub(super) const OPENDIR: u8 = 11;
    pub(super) const READDIR: u8 = 12;
    pub(super) const REMOVE: u8 = 13;
    pub(super) const MKDIR: u8 = 14;
    pub(super) const RMDIR: u8 = 15;
    pub(super) const REALPATH: u8 = 16;
    pub(super) const STAT: u8 = 17;
    pub(super) const RENAME: u8 = 18;
    pub(super) const STATUS: u8 = 101;
    pub(super) const HANDLE: u8 = 102;
    pub(super) const DATA: u8 = 103;
    pub(super) const NAME: u8 = 104;
    pub(super) const ATTRS: u8 = 105;
}

/// STATUS codes.
mod code {
    pub(super) const OK: u32 = 0;
    pub(super) const EOF: u32 = 1;
    pub(super) const NO_SUCH_FILE: u32 = 2;
    pub(super) const PERMISSION_DENIED: u32 = 3;
    pub(super) const FAILURE: u32 = 4;
    pub(super) const BAD_MESSAGE: u32 = 5;
    pub(super) const OP_UNSUPPORTED: u32 = 8;
}

/// OPEN flags.
mod flag {
    pub(super) const WRITE: u32 = 2;
    pub(super) const APPEND: u32 = 4;
    pub(super) const CREATE: u32 = 8;
    pub(super) const TRUNCATE: u32 = 16;
    pub(super) const EXCLUSIVE: u32 = 32;
}

const VERSION: u32 = 3;

/// Error: invalid packet, which closes the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// An open file or folder.
#[derive(Debug)]
enum Handle {
    Folder(std::vec::IntoIter<RemoteEntry>),
    Reading(Contents),
    Writing {
        name: String,
        contents: Contents,
        appends: bool,
    },
}

/// A STATUS answer of a failed request.
struct Failure(u32, String);

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        let text = reason.to_string();
        let code = match reason {
            Reason::Denied => code::PERMISSION_DENIED,
            Reason::NoItem => code::NO_SUCH_FILE,
            _ if text.ends_with("no such file") => code::NO_SUCH_FILE,
            _ => code::FAILURE,
        };
        Self(code, text)
    }
}

/// SFTP server of one channel.
#[derive(Debug, Default)]
pub(super) struct Server {
    input: Vec<u8>,
    handles: BTreeMap<u32, Handle>,
    next: u32,
}

impl Server {
    /// Processes bytes of the client, and appends the answers to complete packets.
    pub(super) fn receive(
        &mut self,
        bytes: &[u8],
        store: &mut dyn FileStore,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        self.input.extend_from_slice(bytes);
        let mut input = std::mem::take(&mut self.input);
        let mut at = 0;
        while let Some((length, rest)) = input[at..].split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if length == 0 || length > MAX_PACKET_BYTES {
                return Err(Broken);
            }
            let Some(packet) = rest.get(..length) else {
                break;
            };
            self.packet(packet, store, out)?;
            at += 4 + length;
        }
        input.drain(..at);
        self.input = input;
        Ok(())
    }

    fn packet(
        &mut self,
        packet: &[u8],
        store: &mut dyn FileStore,
        out: &mut Vec<u8>,
    ) -> Result<(), Broken> {
        let mut fields = Fields(packet);
        let kind = fields.byte().ok_or(Broken)?;
        if kind == kind::INIT {
            answer(out, kind::VERSION, |body| put_u32(body, VERSION));
            return Ok(());
        }
        let id = fields.u32().ok_or(Broken)?;
        let done = match self.request(kind, &mut fields, store) {
            Some(done) => done,
            None => Err(Failure(code::BAD_MESSAGE, String::from("bad message"))),
        };
        match done {
            Ok(reply) => reply.encode(id, out),
            Err(Failure(code, text)) => status(id, code, &text, out),
        }
        Ok(())
    }

    /// Carries out a request; `None` if its fields are malformed.
    fn request(
        &mut self,
        kind: u8,
        fields: &mut Fields<'_>,
        store: &mut dyn FileStore,
    ) -> Option<Result<Reply, Failure>> {
        Some(match kind {
            kind::OPEN => {
                let (name, flags) = (fields.name()?, fields.u32()?);
                self.open(name, flags, store)
            }
            kind::OPENDIR => {
                let listed = store.list(&fields.name()?).map_err(Failure::from);
                listed.and_then(|entries| self.keep(Handle::Folder(entries.into_iter())))
            }
            kind::CLOSE => self.close(fields.handle()?, store),
            kind::READ => {
                let (handle, offset, length) = (fields.handle()?, fields.u64()?, fields.u32()?);
                self.read(handle, offset, length as usize)
            }
            kind::WRITE => {
                let (handle, offset, piece) = (fields.handle()?, fields.u64()?, fields.string()?);
                self.write(handle, offset, piece)
            }
            kind::READDIR => self.read_folder(fields.handle()?),
            kind::STAT | kind::LSTAT => {
                let entry = store.entry(&fields.name()?).map_err(Failure::from);
                entry.map(Reply::Attributes)
            }
            kind::FSTAT => self.stat(fields.handle()?),
            // Times and modes are not stored; clients set them after each upload.
            kind::SETSTAT | kind::FSETSTAT => Ok(Reply::Done),
            kind::REMOVE | kind::RMDIR => {
                let name = fields.name()?;
                remove(&name, kind == kind::RMDIR, store)
            }
            kind::MKDIR => done(store.make_folder(&fields.name()?)),
            kind::RENAME => {
                let (from, to) = (fields.name()?, fields.name()?);
                done(store.rename(&from, &to))
            }
            kind::REALPATH => Ok(Reply::Path(format!("/{}", fields.name()?))),
            _ => Err(Failure(code::OP_UNSUPPORTED, String::from("unsupported"))),
        })
    }

    fn keep(&mut self, handle: Handle) -> Result<Reply, Failure> {
        if self.handles.len() >= MAX_HANDLES {
            return Err(Failure(code::FAILURE, String::from("too many open files")));
        }
        self.next = self.next.wrapping_add(1);
        self.handles.insert(self.next, handle);
        Ok(Reply::Handle(self.next))
    }

    fn open(
        &mut self,
        name: String,
        flags: u32,
        store: &mut dyn FileStore,
    ) -> Result<Reply, Failure> {
        if flags & flag::WRITE == 0 {
            let contents = Contents::of(store.read(&name)?)?;
            return self.keep(Handle::Reading(contents));
        }
        let there = store.entry(&name).is_ok_and(|entry| !entry.folder);
        match there {
            true if flags & flag::EXCLUSIVE != 0 => {
                return Err(Failure(code::FAILURE, String::from("file already exists")));
            }
            false if flags & flag::CREATE == 0 => {
                return Err(Failure(code::NO_SUCH_FILE, String::from("no such file")));
            }
            _ => {}
        }
        let before = match there && flags & flag::TRUNCATE == 0 {
            true => store.read(&name)?,
            false => Vec::new(),
        };
        self.keep(Handle::Writing {
            name,
            contents: Contents::of(before)?,
            appends: flags & flag::APPEND != 0,
        })
    }

    fn close(&mut self, handle: u32, store: &mut dyn FileStore) -> Result<Reply, Failure> {
        match self.handles.remove(&handle) {
            Some(Handle::Writing { name, contents, .. }) => {
                done(store.write(&name, contents.bytes()))
            }
            Some(_) => Ok(Reply::Done),
            None => Err(no_handle()),
        }
    }

    fn read(&self, handle: u32, offset: u64, length: usize) -> Result<Reply, Failure> {
        let Some(Handle::Reading(contents)) = self.handles.get(&handle) else {
            return Err(no_handle());
        };
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = contents.bytes().get(from..).unwrap_or_default();
        match rest.get(..length.min(READ).min(rest.len())) {
            Some(piece) if !piece.is_empty() => Ok(Reply::Data(piece.to_vec())),
            _ => Err(Failure(code::EOF, String::from("end of file"))),
        }
    }

    fn write(&mut self, handle: u32, offset: u64, piece: &[u8]) -> Result<Reply, Failure> {
        let Some(Handle::Writing {
            contents, appends, ..
        }) = self.handles.get_mut(&handle)
        else {
            return Err(no_handle());
        };
        let offset = match appends {
            true => contents.bytes().len() as u64,
            false => offset,
        };
        done(contents.put(offset, piece))
    }

    fn read_folder(&mut self, handle: u32) -> Result<Reply, Failure> {
        let Some(Handle::Folder(entries)) = self.handles.get_mut(&handle) else {
            return Err(no_handle());
        };
        let some: Vec<_> = entries.by_ref().take(ENTRIES_PER_ANSWER).collect();
        match some.is_empty() {
            true => Err(Failure(code::EOF, String::from("end of directory"))),
            false => Ok(Reply::Names(some)),
        }
    }

    fn stat(&self, handle: u32) -> Result<Reply, Failure> {
        let bytes = match self.handles.get(&handle) {
            Some(Handle::Reading(contents) | Handle::Writing { contents, .. }) => {
                contents.bytes().len()
            }
            Some(Handle::Folder(_)) => 0,
            None => return Err(no_handle()),
        };
        Ok(Reply::Attributes(RemoteEntry {
            name: String::new(),
            folder: false,
            bytes: bytes as u64,
            modified: 0,
        }))
    }
}

fn remove(name: &str, folder: bool, store: &mut dyn FileStore) -> Result<Reply, Failure> {
    match store.entry(name)?.folder == folder {
        true => done(store.remove(name)),
        false => Err(Failure(code::FAILURE, String::from("not of this type"))),
    }
}

fn done(result: Result<(), Reason>) -> Result<Reply, Failure> {
    result.map(|()| Reply::Done).map_err(Failure::from)
}

fn no_handle() -> Failure {
    Failure(code::FAILURE, String::from("invalid handle"))
}

/// Answer to a successful request.
enum Reply {
    Done,
    Handle(u32),
    Data(Vec<u8>),
    Names(Vec<RemoteEntry>),
    Path(String),
    Attributes(RemoteEntry),
}

impl Reply {
    fn encode(self, id: u32, out: &mut Vec<u8>) {
        match self {
            Self::Done => status(id, code::OK, "", out),
            Self::Handle(handle) => answer(out, kind::HANDLE, |body| {
                put_u32(body, id);
                put_string(body, &handle.to_be_bytes());
            }),
            Self::Data(piece) => answer(out, kind::DATA, |body| {
                put_u32(body, id);
                put_string(body, &piece);
            }),
            Self::Path(path) => answer(out, kind::NAME, |body| {
                put_u32(body, id);
                put_u32(body, 1);
                put_string(body, path.as_bytes());
                put_string(body, path.as_bytes());
                put_u32(body, 0);
            }),
            Self::Names(entries) => answer(out, kind::NAME, |body| {
                put_u32(body, id);
                put_u32(body, entries.len() as u32);
                for entry in &entries {
                    let leaf = entry.name.rsplit('/').next().unwrap_or_default();
                    put_string(body, leaf.as_bytes());
                    put_string(body, long_name(entry, leaf).as_bytes());
                    put_attributes(body, entry);
                }
            }),
            Self::Attributes(entry) => answer(out, kind::ATTRS, |body| {
                put_u32(body, id);
                put_attributes(body, &entry);
            }),
        }
    }
}

/// Formats a line like `ls -l`.
fn long_name(entry: &RemoteEntry, leaf: &str) -> String {
    let (mode, bytes) = (
        if entry.folder {
            "drwxr-xr-x"
        } else {
            "-rw-r--r--"
        },
        entry.bytes,
    );
    let modified = menu::Clock {
        unix_seconds: entry.modified,
        nanos: 0,
        offset_seconds: 0,
        daylight: false,
    };
    format!(
        "{mode} 1 router router {bytes:>10} {} {leaf}",
        modified.date_time()
    )
}

fn status(id: u32, code: u32, text: &str, out: &mut Vec<u8>) {
    answer(out, kind::STATUS, |body| {
        put_u32(body, id);
        put_u32(body, code);
        put_string(body, text.as_bytes());
        put_string(body, b"en");
    });
}

fn answer(out: &mut Vec<u8>, kind: u8, write: impl FnOnce(&mut Vec<u8>)) {
    let mut body = vec![kind];
    write(&mut body);
    put_u32(out, body.len() as u32);
    out.append(&mut body);
}

fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len() as u32);
    out.extend(bytes);
}

/// Appends size, permissions and times of an entry.
fn put_attributes(out: &mut Vec<u8>, entry: &RemoteEntry) {
    const SIZE_MODE_TIMES: u32 = 1 | 4 | 8;
    const FOLDER: u32 = 0o040_755;
    const FILE: u32 = 0o100_644;
    let modified = u32::try_from(entry.modified).unwrap_or(0);
    put_u32(out, SIZE_MODE_TIMES);
    out.extend(entry.bytes.to_be_bytes());
    put_u32(out, if entry.folder { FOLDER } else { FILE });
    put_u32(out, modified);
    put_u32(out, modified);
}

/// Parser of a packet's fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (string, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }

    fn name(&mut self) -> Option<String> {
        let path = self.string()?;
        Some(name_of(&menu::bytes::from_bytes(path)))
    }

    fn handle(&mut self) -> Option<u32> {
        let handle = self.string()?;
        Some(u32::from_be_bytes(handle.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests;
