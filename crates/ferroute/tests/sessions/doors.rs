//! Strangers and users who take all they can get: others still come in. The strangers are addresses of
//! the loopback.

use std::net::Ipv4Addr;
use std::thread;

use crate::running::Router;

/// An address of a stranger.
fn stranger(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(127, 200, 0, number)
}

#[test]
fn strangers_who_guess_lock_nobody_out_and_leave_no_memory_behind() {
    const GUESSES: usize = 2;
    let router = Router::start("guess");
    router.exec("/user add name=joe group=full password=secret");
    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    let before = router.status("VmRSS");

    // Beside each other, as hashes in several threads would each keep their memory.
    thread::scope(|scope| {
        for first in [10, 20, 30, 40, 50, 60] {
            let router = &router;
            scope.spawn(move || {
                for number in first..first + 10 {
                    let mut program = router.stranger(stranger(number));
                    for _ in 0..GUESSES {
                        assert!(!program.logs_in("joe", "guess"));
                    }
                }
            });
        }
    });

    assert!(router.stranger(stranger(1)).logs_in("joe", "secret"));
    assert!(
        router.stranger(stranger(2)).logs_in("joe", "secret"),
        "a new address"
    );
    let kept = router.status("VmRSS").saturating_sub(before);
    assert!(kept < 64 << 10, "{kept} kB are kept");
}
