//! Sealing and opening allocate nothing, checked with a counting allocator.

use esp::ah::{Protecting, Verifying, protect, verify};
use esp::{
    Authentication, Encryption, Inbound, Keys, Numbering, Opening, Outbound, Sealing, Suite, open,
    seal,
};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

/// Returns the allocations during `run`.
fn allocated(run: impl FnOnce()) -> u64 {
    let before = kernels::CountingAllocator::count();
    run();
    kernels::CountingAllocator::count() - before
}

#[test]
fn packets_allocate_nothing() {
    let both = |encryption, authentication| Suite {
        encryption,
        authentication,
    };
    let aead = Encryption::all().filter(|own| own.is_aead());
    let others = Encryption::all().filter(|own| !own.is_aead());
    let suites = (aead.map(|own| both(own, Authentication::None)))
        .chain(others.map(|own| both(own, Authentication::Sha1)))
        .chain(
            Authentication::all()
                .skip(1)
                .map(|own| both(Encryption::Null, own)),
        );
    let suites: Vec<Suite> = suites.collect();
    let key = |len: usize| vec![7; len];
    let spi = |at: usize| 0x1000 + at as u32;
    let keys = |suite: &Suite| {
        Keys::new(
            &key(suite.encryption.key_len()),
            &key(suite.authentication.key_len()),
        )
    };
    let short = Numbering::Short;
    let outbound = |(at, suite): (usize, &Suite)| {
        Outbound::new(spi(at), *suite, &keys(suite), short, &[1; 16]).expect("is valid")
    };
    let inbound = |(at, suite): (usize, &Suite)| {
        Inbound::new(spi(at), *suite, &keys(suite), short, 128).expect("is valid")
    };
    let out: Vec<Outbound> = suites.iter().enumerate().map(outbound).collect();
    let into: Vec<Inbound> = suites.iter().enumerate().map(inbound).collect();
    let len = |at: usize| at * 31 % 400;
    let mut packets: Vec<Vec<u8>> = (0..700)
        .map(|at| {
            let (front, back) = out[at % out.len()].room(len(at));
            vec![0; front + len(at) + back]
        })
        .collect();

    let mut batch: Vec<_> = packets
        .iter_mut()
        .enumerate()
        .map(|(at, bytes)| Sealing::new(&out[at % out.len()], bytes, len(at), 4))
        .collect();
    assert_eq!(allocated(|| seal(&mut batch)), 0);
    assert!(batch.iter().all(|packet| packet.outcome.is_ok()));

    let mut batch: Vec<_> = packets
        .iter_mut()
        .enumerate()
        .map(|(at, bytes)| Opening::new(&into[at % into.len()], bytes))
        .collect();
    assert_eq!(allocated(|| open(&mut batch)), 0);
    assert!(batch.iter().all(|packet| packet.outcome.is_ok()));

    let last = suites.len() - 1;
    let mut packet = vec![0; 20 + esp::ah::room(suites[last], false) + 50];
    let total = packet.len() as u16;
    (packet[0], packet[9]) = (0x45, 51);
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    let mut batch = [Protecting::new(&out[last], &mut packet, 4)];
    assert_eq!(allocated(|| protect(&mut batch)), 0);
    assert!(batch[0].outcome.is_ok());
    let mut batch = [Verifying::new(&into[last], &mut packet)];
    assert_eq!(allocated(|| verify(&mut batch)), 0);
    assert!(batch[0].outcome.is_ok());
}
