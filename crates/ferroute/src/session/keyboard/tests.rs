use std::pin::pin;
use std::task::{Context, Waker};

use menu::{Menu, Offline, Reason, Store};
use script::{Session, Site};
use tool::Router;

use super::*;

/// A router where something happens whenever a command waits.
struct Busy<'a> {
    store: Store,
    happens: &'a mut dyn FnMut(),
}

impl Site for Busy<'_> {
    fn menus(&self) -> &'static [&'static Menu] {
        schema::ALL
    }

    fn lend(&mut self, run: &mut dyn FnMut(&mut Store, &mut dyn Router)) {
        run(&mut self.store, &mut Offline);
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wait(&mut self, _: Duration, _: &Interrupt) -> Result<(), Reason> {
        (self.happens)();
        Ok(())
    }
}

/// Runs a line; calls `happens` while it waits. Returns the reason of its end.
pub(crate) fn run(session: &mut Session, line: &str, happens: &mut dyn FnMut()) -> Option<Reason> {
    let store = schema::store();
    let mut out = String::new();
    let ended = script::run_at(&mut Busy { store, happens }, session, line, &mut out);
    ended.err().map(|refusal| refusal.reason)
}

/// A command that waits once, and one that runs until it is stopped.
pub(crate) const WAITS: &str = ":delay 1h";
const WATCHES: &str = "/interface list print follow";

fn keyboard() -> (Session, Arc<Keyboard>) {
    let session = Session::new("admin");
    let keyboard = Keyboard::new(session.interrupter());
    (session, keyboard)
}

/// Types as many bytes as fit.
fn press(keyboard: &Keyboard, bytes: &[u8]) {
    assert_eq!(keyboard.press_some(bytes), b"", "there is room");
}

fn taken(keyboard: &Keyboard) -> Vec<u8> {
    std::iter::from_fn(|| keyboard.take()).collect()
}

#[test]
fn ctrl_c_that_stops_a_command_forgets_what_was_typed_before_it_and_nothing_behind() {
    let (mut session, keyboard) = keyboard();
    press(&keyboard, b"before");

    let ended = run(&mut session, WAITS, &mut || {
        press(&keyboard, b"\rahead");
        press(&keyboard, b"more\x03behind");
        assert_eq!(
            keyboard.wait(Duration::ZERO, None),
            None,
            "a page ends as well"
        );
        press(&keyboard, b" it");
    });

    assert_eq!(ended, Some(Reason::Interrupted));
    assert_eq!(taken(&keyboard), b"behind it");
}

#[test]
fn ctrl_c_that_finds_nothing_to_stop_is_a_key() {
    let (mut session, keyboard) = keyboard();

    press(&keyboard, b"one\x03two\x03three");

    assert_eq!(taken(&keyboard), b"\x03\x03three");
    let mut waited = 0;
    assert_eq!(run(&mut session, WAITS, &mut || waited += 1), None);
    assert_eq!(waited, 1, "it was read before the command began");
    press(&keyboard, &[INTERRUPT; 1_000]);
    assert_eq!(taken(&keyboard).len(), usize::from(MAX_INTERRUPTS));
}

#[test]
fn ctrl_c_stops_a_command_that_is_about_to_begin() {
    let (mut session, keyboard) = keyboard();
    press(&keyboard, b"\r");
    assert_eq!(keyboard.take(), Some(b'\r'));

    press(&keyboard, b"\x03rest");

    let ended = run(&mut session, WATCHES, &mut || panic!("it has not begun"));
    assert_eq!(ended, Some(Reason::Interrupted));
    assert_eq!(taken(&keyboard), b"\x03rest");
}

#[test]
fn q_stops_continuous_commands_and_is_a_letter_otherwise() {
    let (mut session, keyboard) = keyboard();

    let ended = run(&mut session, WATCHES, &mut || press(&keyboard, b"xyqQueue"));
    assert_eq!(ended, Some(Reason::Interrupted));
    assert_eq!(taken(&keyboard), b"Queue");

    let ended = run(&mut session, WAITS, &mut || press(&keyboard, b"quit"));
    assert_eq!(ended, None);
    assert_eq!(taken(&keyboard), b"quit");
}

#[test]
fn who_types_more_than_there_is_room_for_waits_and_loses_nothing() {
    let (_, keyboard) = keyboard();
    let text: Vec<u8> = (0..3 * MAX_TYPED_AHEAD)
        .map(|n| b'a' + (n % 26) as u8)
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut pressing = pin!(keyboard.press(&text));

    let mut read = Vec::new();
    while pressing.as_mut().poll(&mut context).is_pending() {
        let waiting = keyboard.queue().bytes.len();
        assert_eq!(waiting, MAX_TYPED_AHEAD);
        read.extend((0..waiting / 2).filter_map(|_| keyboard.take()));
    }
    read.extend(taken(&keyboard));

    assert!(read == text);
}

#[test]
fn ctrl_c_needs_no_room() {
    let (mut session, keyboard) = keyboard();
    press(&keyboard, &[b'x'; MAX_TYPED_AHEAD]);

    let ended = run(&mut session, WAITS, &mut || {
        assert_eq!(keyboard.press_some(b"yz"), b"yz");
        press(&keyboard, b"yz\x03behind");
    });

    assert_eq!(ended, Some(Reason::Interrupted));
    assert_eq!(taken(&keyboard), b"behind");
}

#[test]
fn who_types_where_nobody_reads_does_not_wait() {
    let (mut session, keyboard) = keyboard();
    press(&keyboard, &[b'x'; MAX_TYPED_AHEAD]);
    let mut context = Context::from_waker(Waker::noop());
    let mut pressing = pin!(keyboard.press(b"y"));
    assert!(pressing.as_mut().poll(&mut context).is_pending());

    keyboard.deafen();

    assert!(pressing.as_mut().poll(&mut context).is_ready());
    let ended = run(&mut session, WAITS, &mut || press(&keyboard, b"\x03"));
    assert_eq!(ended, Some(Reason::Interrupted), "but Ctrl-C is heard");
    assert_eq!(taken(&keyboard), b"");
}

#[test]
fn events_arrive_in_order_and_only_the_last_size_counts() {
    let (_, keyboard) = keyboard();
    assert_eq!(keyboard.next(Duration::ZERO), Event::Quiet);
    press(&keyboard, b"x");
    keyboard.resize(1, 2);
    keyboard.resize(3, 4);
    keyboard.end();
    keyboard.end();
    keyboard.close();

    assert_eq!(keyboard.next(Duration::ZERO), Event::Resized(3, 4));
    assert_eq!(keyboard.next(Duration::ZERO), Event::Typed);
    assert_eq!(taken(&keyboard), b"x\x04");
    assert_eq!(keyboard.next(Duration::ZERO), Event::Gone);
}

#[test]
fn a_page_waits_until_something_is_typed() {
    let (_, keyboard) = keyboard();
    let other = Arc::clone(&keyboard);
    let page = std::thread::spawn(move || {
        let one = other.wait(Duration::from_secs(3_600), None);
        (one, other.wait(Duration::from_secs(3_600), None))
    });

    keyboard.resize(80, 24);
    press(&keyboard, b"q");
    while keyboard.next(Duration::ZERO) != Event::Quiet {
        std::thread::yield_now();
    }
    keyboard.close();

    assert_eq!(page.join().expect("no panic"), (Some(b'q'), None));
    assert_eq!(keyboard.next(Duration::ZERO), Event::Gone);
}
