//! Test rig: a router with one port, one worker and a feature of the test.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use dataplane::Worker;
use frame::{Frame, Offloads, Pool, Port, Transmitted, Vector};
use machine::Instant;
use script::Session;
use wire::Mac;

use crate::Instance;
use crate::drive::{Control, PortNews, Setup};
use crate::feature::Feature;

/// The link address of `ether1`.
pub(super) const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

#[derive(Debug, Default)]
struct Ends {
    arriving: VecDeque<Vec<u8>>,
    sent: Vec<Vec<u8>>,
}

#[derive(Clone, Debug, Default)]
struct Line(Arc<Mutex<Ends>>);

impl Line {
    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().expect("no test panics while it holds a line")
    }
}

impl Port for Line {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let mut count = 0;
        while !into.is_full()
            && let Some(bytes) = self.ends().arriving.pop_front()
        {
            let frame = pool.alloc_from(&bytes).expect("the pool is large");
            into.push(frame).expect("there was room");
            count += 1;
        }
        count
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut result = Transmitted::default();
        for frame in frames.drain(..) {
            self.ends().sent.push(frame.bytes().to_vec());
            result.sent += 1;
            pool.free(frame);
        }
        result
    }
}

/// A router with one port, one worker and a feature of the test.
pub(super) struct Rig {
    instance: Instance,
    worker: Worker,
    line: Line,
    now: Instant,
}

impl Rig {
    pub(super) fn new(feature: impl Feature + Send + 'static) -> Self {
        Self::with_mac(feature, MAC, 1)
    }

    /// Returns a router whose port has this link address, and whose random numbers have this seed.
    pub(super) fn with_mac(
        feature: impl Feature + Send + 'static,
        mac: [u8; 6],
        seed: u64,
    ) -> Self {
        let mut store = schema::store();
        store.ensure_port("ether1", None).expect("a port");
        let setup = Setup {
            seed,
            ..Setup::offline(menu::Clock::utc(0))
        };
        let made = Instance::new(&setup, store);
        let (mut instance, mut workers) = made.expect("memory");
        let control = instance.control();
        control.features.added.push(Box::new(feature));
        let line = Line::default();
        let news = PortNews {
            up: true,
            mac: Mac(mac),
            mtu: 0,
        };
        let queue: (u16, Box<dyn Port>) = (0, Box::new(line.clone()));
        let attached = instance.attach_port("ether1", news, Offloads::default(), vec![queue]);
        attached.expect("the port is configured");
        let mut rig = Self {
            instance,
            worker: workers.pop().expect("one worker"),
            line,
            now: Instant::from_secs(1),
        };
        // Every transaction asks the features for their services.
        rig.run("/ipv6/settings/set disable-ipv6=yes");
        rig.settle();
        rig.line.ends().sent.clear();
        rig
    }

    /// Fills the share of the small slots that packet holders may keep. Returns the held frames.
    pub(super) fn fill_holders(&mut self) -> Vec<Frame> {
        let pool = self.worker.pool();
        let mut held = Vec::new();
        while let Some(mut frame) = pool.alloc(60) {
            if !pool.hold(&mut frame) {
                pool.free(frame);
                break;
            }
            held.push(frame);
        }
        held
    }

    pub(super) fn free(&mut self, frames: Vec<Frame>) {
        frames
            .into_iter()
            .for_each(|frame| self.worker.pool().free(frame));
    }

    pub(super) const fn instance(&mut self) -> &mut Instance {
        &mut self.instance
    }

    pub(super) fn control(&mut self) -> &mut Control {
        self.instance.control()
    }

    pub(super) fn run(&mut self, commands: &str) -> String {
        let mut out = String::new();
        let ran = self
            .instance
            .run(&mut Session::new("admin"), commands, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{commands}: {refusal}"));
        out
    }

    /// Runs a command that must be refused; returns the message.
    pub(super) fn refusal(&mut self, command: &str) -> String {
        let mut session = Session::new("admin");
        match self.instance.run(&mut session, command, &mut String::new()) {
            Ok(_) => panic!("{command}: not refused"),
            Err(refusal) => refusal.to_string(),
        }
    }

    /// Returns the frames that the router sends when this frame arrives on `ether1`.
    pub(super) fn pass(&mut self, frame: Vec<u8>) -> Vec<Vec<u8>> {
        self.line.ends().arriving.push_back(frame);
        self.settle();
        core::mem::take(&mut self.line.ends().sent)
    }

    /// Returns the frames that the router sends when these frames arrive on `ether1`.
    pub(super) fn pass_all(&mut self, frames: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        self.line.ends().arriving.extend(frames);
        self.settle();
        core::mem::take(&mut self.line.ends().sent)
    }

    /// Returns the frames that the router sends now.
    pub(super) fn sent(&mut self) -> Vec<Vec<u8>> {
        self.settle();
        core::mem::take(&mut self.line.ends().sent)
    }

    /// Returns the frames that the router sends until this second.
    pub(super) fn go_on_until(&mut self, second: u64) -> Vec<Vec<u8>> {
        let end = Instant::from_secs(second);
        while let Some(due) = self.instance.control().deadline().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.settle();
        }
        self.now = end;
        core::mem::take(&mut self.line.ends().sent)
    }

    fn settle(&mut self) {
        let now = self.now;
        // The frame goes to control, and the answer to the worker.
        for _ in 0..4 {
            while !self.worker.step(now).is_idle() {}
            self.instance.control().poll(now);
        }
    }
}

/// Returns a frame to this address from a station of the link.
pub(super) fn frame(to: [u8; 6], kind: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = to.to_vec();
    bytes.extend(STATION);
    bytes.extend(kind.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Link address of the station.
pub(super) const STATION: [u8; 6] = [2, 0, 0, 0, 0, 9];
