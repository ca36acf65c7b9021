//! Tests of quiet ports: a step makes one check for all of them, and serves those with frames.

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use frame::{Crowd, Frame, Pool, Port, PortCounters, Transmitted, Vector};

use machine::{Duration, Instant};

use super::*;
use crate::rings::Command;
use crate::testing::TestPort;

/// Number of ports.
const COUNT: u16 = 2_000;

/// A crowd whose members the test reports.
#[derive(Default)]
struct Hall {
    ready: Mutex<Vec<u32>>,
    asked: AtomicU32,
}

impl Hall {
    fn call(&self, number: u32) {
        self.ready.lock().expect("no test panics").push(number);
    }
}

impl Crowd for Hall {
    fn ask(&self, ready: &mut dyn FnMut(u32)) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut called = self.ready.lock().expect("no test panics");
        called.drain(..).for_each(ready);
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A member, with the number of calls to any of its functions.
struct Member {
    port: TestPort,
    hall: Arc<Hall>,
    number: u32,
    work: Arc<AtomicU32>,
}

impl Member {
    fn work(&self) {
        self.work.fetch_add(1, Ordering::Relaxed);
    }
}

impl Port for Member {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        self.work();
        self.port.receive(pool, into)
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        self.work();
        self.port.transmit(pool, frames)
    }

    fn flush(&mut self, _: &mut Pool) {
        self.work();
    }

    fn is_sending(&self) -> bool {
        self.work();
        false
    }

    fn crowd(&self) -> Option<(Arc<dyn Crowd>, u32)> {
        Some((Arc::clone(&self.hall) as Arc<dyn Crowd>, self.number))
    }

    fn counters(&self) -> PortCounters {
        self.work();
        self.port.counters()
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn a_step_does_not_touch_ports_that_have_nothing() {
    let mut rig = rig();
    let (hall, work) = (Arc::new(Hall::default()), Arc::new(AtomicU32::new(0)));
    let worked = || work.swap(0, Ordering::Relaxed);
    // Ports 0 and 1 are members, too: packets arrive at one and leave by the other.
    for number in [0, 1].into_iter().chain(10..COUNT) {
        let port = match rig.ports.get(usize::from(number)) {
            Some(port) => port.clone(),
            None => TestPort::default(),
        };
        rig.command(Command::Detach { number });
        rig.command(Command::Attach {
            number,
            port: Box::new(Member {
                port,
                hall: Arc::clone(&hall),
                number: u32::from(number) + 7,
                work: Arc::clone(&work),
            }),
        });
        rig.settle();
    }
    worked();

    let asked = hall.asked.load(Ordering::Relaxed);
    let steps = 50;
    for step in 0..steps {
        let now = at(step * 20);
        rig.workers[0].step(now);
        rig.workers[0].deadline();
    }
    assert_eq!(hall.asked.load(Ordering::Relaxed) - asked, steps as u32);
    assert_eq!(worked(), 0, "nothing happens, and nothing is done");

    rig.arrive(Udp4::default().frame());
    rig.workers[0].step(at(2_000));
    assert_eq!(rig.sent(1).len(), 0, "nobody has called it");
    hall.call(7);
    rig.workers[0].step(at(2_001));
    assert_eq!(rig.sent(1).len(), 1);
    rig.workers[0].step(at(2_100));
    // Reception, transmission, and the counters of both.
    assert_eq!(worked(), 4);

    // The positions have changed.
    rig.now = at(2_100);
    for number in 10..20 {
        rig.command(Command::Detach { number });
    }
    rig.settle();
    worked();
    rig.arrive(Udp4::default().frame());
    (7..30).for_each(|number| hall.call(number));
    rig.workers[0].step(at(2_100));
    assert_eq!(rig.sent(1).len(), 1);
    rig.workers[0].step(at(2_200));
    // Ports 0, 1 and 20 to 22 are served, and their counters are read; port 1 transmits.
    assert_eq!(worked(), 5 + 5 + 1);

    // All members are reported, and then detached.
    (7..=u32::from(COUNT) + 7).for_each(|number| hall.call(number));
    rig.workers[0].step(at(2_300));
    for number in (0..2).chain(20..COUNT) {
        rig.command(Command::Detach { number });
        rig.settle();
    }
    worked();
    rig.workers[0].step(at(2_400));
    assert_eq!(worked(), 0);
}
