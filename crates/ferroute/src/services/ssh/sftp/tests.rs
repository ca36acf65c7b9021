//! SFTP client for tests of the server, with files in memory.

use super::*;
use crate::services::ssh::files::tests::Memory;

fn packet(kind: u8, id: u32, fields: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    answer(&mut out, kind, |body| {
        put_u32(body, id);
        fields.iter().for_each(|field| body.extend(*field));
    });
    out
}

fn string(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_string(&mut out, text);
    out
}

/// Sends a request; returns type and body of the single answer.
fn ask(server: &mut Server, store: &mut Memory, request: &[u8]) -> (u8, Vec<u8>) {
    let mut out = Vec::new();
    assert_eq!(server.receive(request, store, &mut out), Ok(()));
    let length = u32::from_be_bytes(out[..4].try_into().expect("a length")) as usize;
    assert_eq!(out.len(), length + 4, "one answer");
    (out[4], out[9..].to_vec())
}

fn code_of(answer: &(u8, Vec<u8>)) -> u32 {
    assert_eq!(answer.0, kind::STATUS, "{answer:?}");
    u32::from_be_bytes(answer.1[..4].try_into().expect("a code"))
}

fn open(server: &mut Server, store: &mut Memory, name: &[u8], flags: u32) -> Vec<u8> {
    let request = packet(
        kind::OPEN,
        1,
        &[&string(name), &flags.to_be_bytes(), &[0; 4]],
    );
    let (kind, handle) = ask(server, store, &request);
    assert_eq!(kind, kind::HANDLE);
    handle
}

#[test]
fn a_file_exists_after_close_and_reads_as_written() {
    let (mut server, mut store) = (Server::default(), Memory::default());
    let contents: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let handle = open(
        &mut server,
        &mut store,
        b"/a.bin",
        flag::WRITE | flag::CREATE | flag::TRUNCATE,
    );
    for (at, piece) in contents.chunks(32_768).enumerate() {
        let offset = (at as u64 * 32_768).to_be_bytes();
        let write = packet(kind::WRITE, 2, &[&handle, &offset, &string(piece)]);
        assert_eq!(code_of(&ask(&mut server, &mut store, &write)), code::OK);
    }
    assert!(store.0.is_empty(), "nothing is there in part");
    let close = packet(kind::CLOSE, 3, &[&handle]);
    assert_eq!(code_of(&ask(&mut server, &mut store, &close)), code::OK);
    assert_eq!(store.0.get("a.bin"), Some(&Some(contents.clone())));

    let handle = open(&mut server, &mut store, b"a.bin", 1);
    let mut read: Vec<u8> = Vec::new();
    loop {
        let offset = (read.len() as u64).to_be_bytes();
        let request = packet(
            kind::READ,
            4,
            &[&handle, &offset, &40_000_u32.to_be_bytes()],
        );
        let answer = ask(&mut server, &mut store, &request);
        if answer.0 == kind::STATUS {
            assert_eq!(code_of(&answer), code::EOF);
            break;
        }
        read.extend(&answer.1[4..]);
    }
    assert_eq!(read, contents);
}

#[test]
fn refusals_bear_the_code_of_their_reason() {
    let (mut server, mut store) = (Server::default(), Memory::default());
    let missing = packet(kind::STAT, 1, &[&string(b"/none")]);
    assert_eq!(
        code_of(&ask(&mut server, &mut store, &missing)),
        code::NO_SUCH_FILE
    );
    let handle = open(
        &mut server,
        &mut store,
        b"locked",
        flag::WRITE | flag::CREATE,
    );
    let close = packet(kind::CLOSE, 2, &[&handle]);
    assert_eq!(
        code_of(&ask(&mut server, &mut store, &close)),
        code::PERMISSION_DENIED
    );
    let unknown = packet(200, 3, &[&string(b"x@y")]);
    assert_eq!(
        code_of(&ask(&mut server, &mut store, &unknown)),
        code::OP_UNSUPPORTED
    );
    let short = packet(kind::READ, 4, &[&string(&[0; 4])]);
    assert_eq!(
        code_of(&ask(&mut server, &mut store, &short)),
        code::BAD_MESSAGE
    );
}

#[test]
fn folders_are_listed_and_names_are_changed() {
    let (mut server, mut store) = (Server::default(), Memory::default());
    store.0.insert("flash".into(), None);
    store.0.insert("flash/a".into(), Some(b"1".to_vec()));
    let rename = packet(
        kind::RENAME,
        1,
        &[&string(b"/flash/a"), &string(b"/flash/b")],
    );
    assert_eq!(code_of(&ask(&mut server, &mut store, &rename)), code::OK);
    let (_, handle) = ask(
        &mut server,
        &mut store,
        &packet(kind::OPENDIR, 2, &[&string(b"/flash")]),
    );
    let read = packet(kind::READDIR, 3, &[&handle]);
    let (kind, names) = ask(&mut server, &mut store, &read);
    assert_eq!(
        (kind, &names[..9]),
        (kind::NAME, &[0, 0, 0, 1, 0, 0, 0, 1, b'b'][..])
    );
    assert_eq!(code_of(&ask(&mut server, &mut store, &read)), code::EOF);
}

#[test]
fn any_bytes_are_answered_or_end_the_channel() {
    let mut seed = 7_u32;
    for _ in 0..2_000 {
        let (mut server, mut store) = (Server::default(), Memory::default());
        let mut bytes = vec![0, 0, 0];
        for _ in 0..40 {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            bytes.push((seed >> 24) as u8 & 0x1f);
        }
        let _ = server.receive(&bytes, &mut store, &mut Vec::new());
    }
    let mut server = Server::default();
    let huge = u32::MAX.to_be_bytes();
    assert_eq!(
        server.receive(&huge, &mut Memory::default(), &mut Vec::new()),
        Err(Broken)
    );
}
