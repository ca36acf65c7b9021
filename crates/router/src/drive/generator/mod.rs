//! `/tool/traffic-generator`: begins a test on the workers, and shows its figures. Workers send and measure
//! (`dataplane::generator`); their counters are read here.

mod read;
mod rows;
pub(super) mod state;

use core::net::IpAddr;
use std::sync::Arc;

use dataplane::Command;
use dataplane::generator::Generation;
use frame::InterfaceId;
use generator::{Counters, Receiver, Sender, Stream};
use machine::Duration;
use menu::{Call, Reason, Reply, Store, Value};
use tool::{GeneratorProgress, TrafficGenerator};

use self::read::{Arguments, Links, StreamPlan};
use self::state::GeneratorTest;
use super::Control;

const MENU: &str = "/tool/traffic-generator";
/// Buckets of the latency distribution. RouterOS: shown as `latency-distribution-samples`.
const BUCKETS: usize = 64;
/// Time that a late worker catches up.
const BURST_NANOS: u64 = 1_000_000;
/// Arguments that have no effect on this router, and are refused.
const REFUSED: [&str; 2] = ["entries-to-show", "priority"];

/// Refuses arguments without effect by their name.
fn refuse(arguments: Arguments<'_>) -> Result<(), Reason> {
    let mut names = arguments.iter().map(|(name, _)| name);
    match names.find(|name| REFUSED.contains(name)) {
        Some(name) => Err(Reason::failure(format!("{name} is not supported"))),
        None => Ok(()),
    }
}

impl Links for Control {
    fn mac(&self, interface: &str) -> Option<[u8; 6]> {
        let (_, entry) = self.layout.named(interface)?;
        entry.link.ethernet.then_some(entry.link.mac.0)
    }

    fn neighbour(&self, interface: &str, address: IpAddr) -> Option<[u8; 6]> {
        let (id, _) = self.layout.named(interface)?;
        let mac = match address {
            IpAddr::V4(address) => {
                let mut rows = self.v4.machines.get(&id)?.rows(None);
                rows.find(|row| row.address == address)?.mac
            }
            IpAddr::V6(address) => {
                let mut rows = self.v6.machines.get(&id)?.rows(None);
                rows.find(|row| row.address == address)?.mac
            }
        };
        Some(mac?.0)
    }
}

impl TrafficGenerator for Control {
    fn begin(&mut self, store: &Store, arguments: Arguments<'_>) -> Result<(), Reason> {
        if self.instruments.generator.running {
            return Err(Reason::failure(
                "the traffic generator is running; stop it first",
            ));
        }
        refuse(arguments)?;
        let plans = read::streams(store, arguments, self)?;
        let workers = self.workers.len() as u16;
        if let Some(plan) = plans.iter().find(|plan| plan.worker >= workers) {
            let text = format!(
                "cpu-core {}: there are {workers} workers, numbered from 0",
                plan.worker
            );
            return Err(Reason::failure(text));
        }
        let settings = store.settings(MENU).ok_or(Reason::NoItem)?;
        let said = |name: &str| {
            let own = arguments.iter().find(|(own, _)| *own == name);
            own.map(|(_, value)| value).or_else(|| settings.get(name))
        };
        let test = said("test-id").and_then(Value::as_number).unwrap_or(0);
        let test = u8::try_from(test).map_err(|_| Reason::no_match("test-id"))?;
        let measures_order = said("measure-out-of-order").and_then(Value::as_bool) != Some(false);
        let longest = said("latency-distribution-max").and_then(Value::as_nanos);
        let longest = longest
            .and_then(|nanos| u64::try_from(nanos).ok())
            .unwrap_or(100_000);
        let bucket_nanos = longest.div_ceil(BUCKETS as u64).max(1);
        self.generate(&plans, test, bucket_nanos, measures_order)
    }

    fn progress(&self) -> Option<GeneratorProgress> {
        let test = self
            .instruments
            .generator
            .running
            .then_some(&self.instruments.generator)?;
        let sample = test.sample();
        let sent = sample.total().sent;
        Some(GeneratorProgress {
            is_sent: test.count.is_some_and(|count| sent >= count),
            sample,
        })
    }

    fn end(&mut self) {
        let now = self.now;
        let test = &mut self.instruments.generator;
        if core::mem::take(&mut test.running) {
            test.ended = Some(now);
            self.workers.send_all(|| Command::Generate(None));
        }
    }
}

impl Control {
    /// Begins a test on all workers: each measures, and sends its streams.
    fn generate(
        &mut self,
        plans: &[StreamPlan],
        test: u8,
        bucket_nanos: u64,
        measures_order: bool,
    ) -> Result<(), Reason> {
        let ids: Vec<u8> = plans.iter().map(|plan| plan.stream.id).collect();
        let checksums: Vec<(u8, usize)> = plans
            .iter()
            .filter_map(|plan| Some((plan.stream.id, plan.stream.template.checksum_from()?)))
            .collect();
        let counts: Option<Vec<u64>> = plans.iter().map(|plan| plan.stream.count).collect();
        let mut all = Vec::new();
        for worker in 0..self.workers.len() as u16 {
            let counters = Arc::new(Counters::new(test, &ids, BUCKETS, bucket_nanos));
            let own = plans.iter().filter(|plan| plan.worker == worker);
            let mut streams: Vec<Stream> = Vec::new();
            let mut egress: Vec<InterfaceId> = Vec::new();
            for plan in own {
                let (id, _) = self
                    .layout
                    .named(&plan.interface)
                    .ok_or_else(|| Reason::no_match("interface"))?;
                streams.push(plan.stream.clone());
                egress.push(id);
            }
            let seed = self.now.as_nanos();
            let sender = Sender::new(streams, Arc::clone(&counters), BURST_NANOS, seed);
            all.push(Generation {
                sender: (!egress.is_empty()).then_some(sender),
                egress,
                receiver: Receiver::new(counters, &checksums, measures_order),
            });
        }
        self.instruments.generator = GeneratorTest {
            running: true,
            workers: all
                .iter()
                .map(|own| Arc::clone(own.receiver.counters()))
                .collect(),
            count: counts.map(|counts| counts.iter().sum()),
            began: self.now,
            ended: None,
        };
        for (worker, generation) in all.into_iter().enumerate() {
            let command = Command::Generate(Some(Box::new(generation)));
            self.workers.send(worker as u16, command);
        }
        Ok(())
    }

    /// Runs `start`, `stop` and `inject`.
    pub(crate) fn act_generator(
        &mut self,
        store: &Store,
        call: &Call<'_>,
    ) -> Result<Reply, Reason> {
        match call.command {
            "start" => self.begin(store, call.arguments)?,
            "stop" => self.end(),
            _ => self.inject(call.arguments)?,
        }
        Ok(Reply::default())
    }

    /// Sends one frame with the bytes of `data` by an interface.
    fn inject(&mut self, arguments: Arguments<'_>) -> Result<(), Reason> {
        refuse(arguments)?;
        let text = |name: &'static str| {
            let own = arguments.iter().find(|(own, _)| *own == name);
            let text = own.and_then(|(_, value)| value.as_str());
            text.ok_or(Reason::Missing(vec![name]))
        };
        let interface = text("interface")?;
        let digits: Vec<u8> = text("data")?
            .bytes()
            .filter(u8::is_ascii_alphanumeric)
            .collect();
        let pair = |pair: &[u8]| {
            let pair = core::str::from_utf8(pair)
                .ok()
                .filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
        let bytes = bytes.filter(|bytes| (14..=generator::MAX_FRAME_BYTES).contains(&bytes.len()));
        let bytes = bytes
            .ok_or_else(|| Reason::failure("data: a frame in hexadecimal digits is expected"))?;
        let (id, _) = self
            .layout
            .named(interface)
            .ok_or_else(|| Reason::no_match("interface"))?;
        let frame = self.workers.frame(&bytes);
        let mut frame = frame.ok_or_else(|| Reason::failure("no buffer is free"))?;
        frame.egress = id;
        self.workers.send(0, Command::Transmit(frame));
        Ok(())
    }

    /// Returns the duration of the latest test; of a running test, the time since its start.
    fn generator_age(&self) -> Duration {
        let test = &self.instruments.generator;
        test.ended.unwrap_or(self.now).saturating_since(test.began)
    }
}
