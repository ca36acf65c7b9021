//! Tests the capabilities and system call filters of a running router, and the scheduling of its threads.

use crate::world::{PACKET, Router, Start, lab, layout};

/// The remaining capabilities: NET_BIND_SERVICE, NET_ADMIN, NET_RAW, IPC_LOCK, SYS_NICE, PERFMON, BPF.
const KEPT: u64 = 1 << 10 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 23 | 1 << 38 | 1 << 39;

#[test]
fn every_thread_of_a_running_router_has_dropped_unneeded_privileges() {
    let test = "every_thread_of_a_running_router_has_dropped_unneeded_privileges";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));

    let threads = router.threads("");
    for set in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"] {
        for left in router.statuses(&threads, set) {
            let left = u64::from_str_radix(&left, 16).expect("a set");
            assert_eq!(left & !KEPT, 0, "{set} {left:x}");
        }
    }
    // Value 2 of `Seccomp:` means a filter.
    for (line, value) in [("NoNewPrivs:", "1"), ("Seccomp:", "2")] {
        let values = router.statuses(&threads, line);
        assert!(
            !values.is_empty() && values.iter().all(|found| found == value),
            "{line} {values:?}"
        );
    }
}

#[test]
fn a_waiting_script_does_not_wake_the_control_thread() {
    let test = "a_waiting_script_does_not_wake_the_control_thread";
    let Some(lab) = lab(test, layout("plain")) else {
        return;
    };
    let router = Router::start(&lab, &Start::with(PACKET, layout("plain").config));
    let control = router.threads("router");
    let sleeps = || {
        let counts = router.statuses(&control, "voluntary_ctxt_switches:");
        counts[0].parse::<u64>().expect("a number")
    };
    router.exec("/log/info ready");

    let before = sleeps();
    router.exec(":for i from=1 to=500 do={:delay 1ms}");
    let after = sleeps();

    assert!(after - before < 250, "{before} to {after}");
}
