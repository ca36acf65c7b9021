//! The ports do not allocate in steady state; a counting allocator checks this.

#![allow(unsafe_code, reason = "an allocator is an unsafe trait")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::*;
use frame::{Frame, Offloads, Pool, Port, Vector};
use netio::{
    Fault, Faults, Handing, Layer, MemoryPort, PacketPort, TapPort, Umem, XdpMode, XdpPort,
};

/// The system's allocator, with a counter for this thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// Sends vectors of frames of all sizes from one port to the other, and counts the allocations of the second half.
fn exchange(from: &mut dyn Port, to: &mut dyn Port, pool: &mut Pool, longest: usize) -> u64 {
    let mut frames: Vec<Frame> = Vec::with_capacity(64);
    let mut vector = Vector::new();
    let mut before = 0;
    for round in 0..40 {
        if round == 20 {
            before = allocations();
        }
        for number in 0..32 {
            let len = if number % 8 == 7 {
                longest
            } else {
                60 + number
            };
            frames.extend(pool.alloc(len));
        }
        for frame in &mut frames {
            // An unused EtherType, so that no one parses the frame further.
            frame.bytes_mut()[..14]
                .copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
        }
        from.transmit(pool, &mut frames);
        let mut arrived = 0;
        eventually("the arrival of a vector", || {
            arrived += to.receive(pool, &mut vector);
            vector.drain().for_each(|frame| pool.free(frame));
            from.flush(pool);
            arrived == 32
        });
    }
    let count = allocations() - before;
    from.close(pool);
    to.close(pool);
    count
}

#[test]
fn memory_and_faults_do_not_allocate() {
    let mut pool = pool();
    let (one, mut other) = MemoryPort::pair(64, Handing::Copy, Offloads::default());
    let mut one = Fault::new(one, Faults::default(), 1);

    assert_eq!(exchange(&mut one, &mut other, &mut pool, 60_000), 0);
}

#[test]
fn af_packet_does_not_allocate() {
    in_namespace(|| {
        cable("left", "right", 9000);
        let mut pool = pool();
        let mut left = PacketPort::open("left", 1).expect("a packet socket");
        let mut right = PacketPort::open("right", 1).expect("a packet socket");

        assert_eq!(exchange(&mut left[0], &mut right[0], &mut pool, 9000), 0);
    });
}

#[test]
fn af_xdp_does_not_allocate() {
    in_namespace_as_root(|| {
        cable("left", "right", 9000);
        let mut pool = pool();
        let umems = [Umem::of(&pool)];
        let open = |device| XdpPort::open(device, XdpMode::Generic, &umems, 256, None);
        let mut left = open("left").expect("AF_XDP sockets");
        let mut right = open("right").expect("AF_XDP sockets");
        right[0].receive(&mut pool, &mut Vector::new());

        assert_eq!(exchange(&mut left[0], &mut right[0], &mut pool, 9000), 0);
    });
}

#[test]
fn tap_does_not_allocate() {
    in_namespace_with_tun(|| {
        let mut pool = pool();
        let mut tap = TapPort::open("tap0", Layer::Tap, 1).expect("a device");
        quiet("tap0");
        ip("link set tap0 up mtu 9000");
        let mut device = PacketPort::open("tap0", 1).expect("a packet socket");

        assert_eq!(exchange(&mut device[0], &mut tap[0], &mut pool, 9000), 0);
    });
}
