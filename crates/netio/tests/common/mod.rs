//! Test environment: a network namespace per test, veth pairs in it, and frames to send.

#![allow(
    dead_code,
    unsafe_code,
    reason = "each test file uses its part; a namespace is entered by a system call"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use frame::{Frame, Pool, Port, Sizes, Vector};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Set for a copy of the test that already runs in a user namespace.
const INSIDE: &str = "NETIO_TEST_INSIDE_USER_NAMESPACE";
/// Maximum time for a frame to pass a veth pair before the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Runs `test` in a network namespace of its own: in this thread, or in a copy of this process in a user namespace.
/// Prints why if neither is permitted.
pub(crate) fn in_namespace(test: impl FnOnce()) {
    match unshare() {
        Ok(()) => {
            ip("link set lo up");
            test();
        }
        Err(reason) if std::env::var_os(INSIDE).is_some() => skip(&reason.to_string()),
        Err(_) => in_user_namespace(),
    }
}

/// Like `in_namespace`, for BPF and XDP, which a user namespace does not permit.
pub(crate) fn in_namespace_as_root(test: impl FnOnce()) {
    match unshare() {
        Ok(()) if !may_use_bpf() => skip("BPF is not permitted"),
        Ok(()) => {
            ip("link set lo up");
            test();
        }
        Err(reason) => skip(&reason.to_string()),
    }
}

/// Like `in_namespace`, for tests that create TAP devices, because the device file may belong to root.
pub(crate) fn in_namespace_with_tun(test: impl FnOnce()) {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/net/tun");
    match file {
        Ok(_) => in_namespace(test),
        Err(reason) => skip(&format!("/dev/net/tun: {reason}")),
    }
}

fn unshare() -> std::io::Result<()> {
    // SAFETY: only this thread's view of the network changes, and no socket was opened in it before.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

fn may_use_bpf() -> bool {
    // SAFETY: an invalid command; the kernel checks privileges first.
    unsafe { libc::syscall(libc::SYS_bpf, -1, 0, 0) };
    std::io::Error::last_os_error().raw_os_error() != Some(libc::EPERM)
}

fn in_user_namespace() {
    let thread = std::thread::current();
    let name = thread.name().expect("the harness names a test's thread");
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net"])
        .arg(program)
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) if output.stderr.starts_with(b"unshare:") => {
            skip(String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => skip(&error.to_string()),
    }
}

pub(crate) fn skip(reason: &str) {
    let thread = std::thread::current();
    lab::testing::skip(thread.name().unwrap_or("?"), reason);
}

/// Runs `ip` with these arguments in the test's namespace.
pub(crate) fn ip(words: &str) {
    let output = run("ip", words);
    assert!(output.0, "ip {words}: {}", output.1);
}

/// Runs a program with these arguments; returns its success and its output.
pub(crate) fn run(program: &str, words: &str) -> (bool, String) {
    let output = Command::new(program)
        .args(words.split_whitespace())
        .output()
        .unwrap_or_else(|error| panic!("{program} {words}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

/// Creates a veth pair `left` and `right`, both up, without IPv6 and its background traffic.
pub(crate) fn cable(left: &str, right: &str, mtu: u32) {
    cable_with(left, right, mtu, 1);
}

/// Like `cable`, with several queues at each end.
pub(crate) fn cable_with(left: &str, right: &str, mtu: u32, queues: u32) {
    let count = format!("numtxqueues {queues} numrxqueues {queues}");
    ip(&format!(
        "link add {left} mtu {mtu} {count} type veth peer name {right} mtu {mtu} {count}"
    ));
    for end in [left, right] {
        quiet(end);
        ip(&format!("link set {end} up"));
    }
}

/// Keeps the kernel from sending packets of its own on a device.
pub(crate) fn quiet(device: &str) {
    let path = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
    // Fails harmlessly on a kernel without IPv6.
    let _ = std::fs::write(path, "1");
}

pub(crate) fn pool() -> Pool {
    let sizes = Sizes {
        small: 8192,
        medium: 64,
        large: 24,
    };
    Pool::new(sizes).expect("address space for a pool")
}

/// An Ethernet frame of `len` bytes with an unused EtherType and contents that depend on `number`.
pub(crate) fn pattern(number: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
    bytes.extend((bytes.len()..len).map(|at| (at * 7 + number * 13) as u8));
    bytes
}

/// Sends copies of these frames, in vectors of up to 64.
pub(crate) fn send(port: &mut dyn Port, pool: &mut Pool, contents: &[Vec<u8>]) {
    for chunk in contents.chunks(64) {
        let mut frames: Vec<Frame> = chunk
            .iter()
            .map(|c| pool.alloc_from(c).expect("a slot"))
            .collect();
        let count = frames.len() as u32;
        let done = port.transmit(pool, &mut frames);
        assert_eq!((done.sent, done.dropped), (count, 0));
        assert!(frames.is_empty());
    }
}

/// Waits for `count` frames and returns them.
pub(crate) fn receive(port: &mut dyn Port, pool: &mut Pool, count: usize) -> Vec<Frame> {
    let deadline = Instant::now() + PATIENCE;
    let mut frames = Vec::new();
    let mut vector = Vector::new();
    loop {
        port.receive(pool, &mut vector);
        frames.extend(vector.drain());
        if frames.len() >= count {
            return frames;
        }
        assert!(
            Instant::now() < deadline,
            "{} of {count} frames came, {:?}",
            frames.len(),
            port.counters()
        );
        wait(port, Duration::from_millis(100));
    }
}

/// Like `receive`, but returns only the bytes and frees the frames.
pub(crate) fn receive_bytes(port: &mut dyn Port, pool: &mut Pool, count: usize) -> Vec<Vec<u8>> {
    let frames = receive(port, pool, count);
    frames
        .into_iter()
        .map(|frame| {
            let bytes = frame.bytes().to_vec();
            pool.free(frame);
            bytes
        })
        .collect()
}

/// Waits until the port is readable or the timeout expires.
pub(crate) fn wait(port: &dyn Port, timeout: Duration) {
    if let Some(fd) = port.wait_fd() {
        let time = Timespec::try_from(timeout).expect("a short time");
        let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time));
    }
}

/// Waits until `condition` holds; the tests' only way to wait for the kernel. Even the close of a descriptor may need
/// a wait: a process forked by another test holds a copy until its exec.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

/// Ones' complement sum of 16-bit words (RFC 1071): 0xffff over data with a correct checksum.
pub(crate) fn sum(bytes: &[u8], start: u32) -> u16 {
    let words = bytes.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        rest => u32::from(rest[0]) << 8,
    });
    let mut sum = start + words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}
