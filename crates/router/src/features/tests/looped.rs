//! Tests of loop protection on an interface that receives its own frames.

use super::newcomer::Newcomer;
use super::rig::{MAC, Rig, STATION, frame};

const LOOP: u16 = 0x9003;

fn protected() -> Rig {
    let mut rig = Rig::new(Newcomer);
    rig.run("/interface/ethernet/set ether1 loop-protect=on loop-protect-disable-time=20s");
    rig
}

/// Returns a loop-protect frame of this station.
fn from(station: [u8; 6]) -> Vec<u8> {
    let mut bytes = frame([0xff; 6], LOOP, &[0; 46]);
    bytes[6..12].copy_from_slice(&station);
    bytes
}

/// Returns the loop-protect frames that the router sends until this second.
fn told_until(rig: &mut Rig, second: u64) -> Vec<Vec<u8>> {
    let mut sent = rig.go_on_until(second);
    sent.retain(|bytes| bytes[12..14] == LOOP.to_be_bytes());
    sent
}

fn status(rig: &mut Rig) -> (bool, bool) {
    let shown = rig.run("/interface/ethernet/print detail without-paging");
    let is_off = shown.contains("loop-protect-status=disable");
    let said = shown.contains(";;; loop-protect: it is part of a loop");
    assert_eq!(is_off, said, "{shown}");
    let running = rig.run(":put [/interface/ethernet/get ether1 running]");
    (is_off, running.trim() == "true")
}

#[test]
fn a_protected_interface_broadcasts_its_loop_frames() {
    let mut rig = protected();

    let sent = told_until(&mut rig, 12);

    let mut own = frame([0xff; 6], LOOP, &[0; 46]);
    own[6..12].copy_from_slice(&MAC);
    assert_eq!(sent, [own.clone(), own]);
    assert_eq!(status(&mut rig), (false, true));
}

#[test]
fn a_frame_that_comes_back_switches_the_interface_off_for_a_time() {
    let mut rig = protected();
    rig.go_on_until(10);

    rig.pass(from(STATION));
    assert_eq!(status(&mut rig), (false, true), "it is another router's");
    rig.pass(from(MAC));
    assert_eq!(status(&mut rig), (true, false));
    let log = rig.run("/log/print without-paging");
    let said = "ether1 received loop protect packet originated from 02:00:00:00:00:01 (ether1)";
    assert!(log.contains(said), "{log}");

    let silent = rig.go_on_until(29);
    assert_eq!(silent, Vec::<Vec<u8>>::new());
    assert_eq!(status(&mut rig), (true, false));
    let sent = told_until(&mut rig, 36);
    assert_eq!((sent.len(), status(&mut rig)), (1, (false, true)));
}

#[test]
fn other_settings_switch_the_interface_on_again() {
    for change in ["loop-protect-disable-time=0s", "loop-protect=off"] {
        let mut rig = protected();
        rig.go_on_until(10);
        rig.pass(from(MAC));
        assert_eq!(status(&mut rig), (true, false));

        rig.run(&format!("/interface/ethernet/set ether1 {change}"));
        assert_eq!(status(&mut rig), (false, true), "{change}");
    }
}

#[test]
fn without_protection_such_frames_mean_nothing() {
    let mut rig = Rig::new(Newcomer);
    assert_eq!(told_until(&mut rig, 60), Vec::<Vec<u8>>::new());

    rig.pass(from(MAC));
    assert_eq!(status(&mut rig), (false, true));
}
