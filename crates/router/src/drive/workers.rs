//! The workers, as control sees them: rings, the pool of control, counters.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dataplane::counters::{InterfaceTraffic, Traffic, interface_traffic};
use dataplane::packet::Tuple;
use dataplane::queueing::Change;
use dataplane::rule::RuleCounters;
use dataplane::stream::StreamRings;
use dataplane::tap::Tapped;
use dataplane::{Command, Counters, DropReason, Punt, Remote};
use frame::reassembly::Reassembly;
use frame::shortcut::{Handler, LaneSelector, LaneTraffic, Shortcuts};
use frame::switch::{BridgeOffload, SwitchPort};
use frame::{Frame, InterfaceId, Pool};
use machine::Instant;

/// Commands that wait for room in a worker's ring; packets beyond this number are dropped.
const BACKLOG: usize = 4096;
/// Bytes of the link header of frames on a shortcut.
const ETHERNET: u64 = 14;

/// The workers, as control sees them.
#[derive(Debug)]
pub struct Workers {
    remotes: Vec<Remote>,
    backlog: Vec<VecDeque<Command>>,
    woken: Vec<bool>,
    pool: Pool,
    counters: Vec<Arc<Counters>>,
    own: Arc<Counters>,
    /// Forwarding by devices themselves, and the part that is already counted here.
    shortcuts: Option<Arc<dyn Shortcuts>>,
    learned: Arc<Counters>,
    /// The switch below the workers, and the interfaces of its ports.
    switch: Option<Arc<dyn BridgeOffload>>,
    seats: BTreeMap<SwitchPort, InterfaceId>,
}

impl Workers {
    /// `remotes` are control's ends of the rings, by worker; `pool` belongs to the workers' group.
    pub fn new(remotes: Vec<Remote>, pool: Pool, counters: Vec<Arc<Counters>>) -> Self {
        Self {
            backlog: remotes.iter().map(|_| VecDeque::new()).collect(),
            woken: vec![false; remotes.len()],
            remotes,
            pool,
            counters,
            own: Arc::new(Counters::new()),
            learned: Arc::new(Counters::new()),
            shortcuts: None,
            switch: None,
            seats: BTreeMap::new(),
        }
    }

    /// Sets the shortcuts that ports can learn.
    pub(super) fn set_shortcuts(&mut self, shortcuts: Arc<dyn Shortcuts>) {
        self.shortcuts = Some(shortcuts);
    }

    /// Sets the switch between ports.
    pub(super) fn set_switch(&mut self, switch: Arc<dyn BridgeOffload>) {
        self.switch = Some(switch);
    }

    /// Sets the interface of each switch port. Frames switched so far are counted for the previous interfaces.
    pub(super) fn set_seats(&mut self, seats: BTreeMap<SwitchPort, InterfaceId>) {
        if self.seats != seats {
            self.settle_switched();
            self.seats = seats;
        }
    }

    /// Returns the rings between each worker and the tasks of byte streams, by worker.
    pub fn streams(&self) -> Vec<Arc<StreamRings>> {
        let all = self.remotes.iter();
        all.map(|remote| Arc::clone(&remote.streams)).collect()
    }

    /// Returns the number of workers.
    pub fn len(&self) -> usize {
        self.remotes.len()
    }

    /// Whether there are no workers: then nothing is forwarded.
    pub fn is_empty(&self) -> bool {
        self.remotes.is_empty()
    }

    /// Counts the frames that the switch forwarded. Like frames on a chip, they do not count as fast path.
    fn settle_switched(&self) {
        let Some(switch) = &self.switch else { return };
        let counters = |seat| self.seats.get(&seat).map(|id| self.learned.interface(*id));
        switch.take(&mut |switched| {
            if let Some(from) = counters(switched.from) {
                from.rx.add(switched.frames, switched.bytes);
            }
            if let Some(to) = counters(switched.to) {
                to.tx.add(switched.frames, switched.bytes);
            }
        });
    }

    /// Counts the traffic on shortcuts up to `now` for the selected lanes, and the frames that the switch forwarded.
    pub fn settle(&self, which: LaneSelector, now: Instant) {
        let switches = match &which {
            LaneSelector::Of(id) => self.seats.values().any(|at| at == id),
            LaneSelector::All => !self.seats.is_empty(),
            LaneSelector::CountedBy(_) => false,
        };
        if switches {
            self.settle_switched();
        }
        if let Some(shortcuts) = &self.shortcuts {
            shortcuts.take(which, &mut |went| count(&self.learned, &went, now));
        }
    }

    /// Returns the traffic of an interface up to now.
    pub fn traffic(&self, id: InterfaceId, now: Instant) -> InterfaceTraffic {
        self.settle(LaneSelector::Of(id), now);
        interface_traffic(self.counters(), id)
    }

    /// Returns the traffic of one family that a handler has forwarded up to now, and the part forwarded by devices;
    /// `None` if no port learns shortcuts.
    pub fn forwarded(
        &self,
        handler: Handler,
        ipv6: bool,
        now: Instant,
    ) -> (Traffic, Option<Traffic>) {
        self.settle(LaneSelector::All, now);
        let of = |counters: &Counters| counters.forwarded(handler, ipv6).get();
        let mut all = Traffic::default();
        self.counters().for_each(|counters| all += of(counters));
        let learns = self.shortcuts.is_some();
        (all, learns.then(|| of(&self.learned)))
    }

    /// Returns the traffic on the shortcut of a connection's direction that its worker has not collected yet; `None`
    /// without such a shortcut.
    pub fn waiting(&self, tuple: &Tuple, token: u64) -> Option<Traffic> {
        let shortcuts = self.shortcuts.as_ref()?;
        let waiting = shortcuts.waiting(&tuple.between(), &tuple.service());
        let gathered = waiting.filter(|gathered| gathered.token == token)?;
        Some(Traffic {
            packets: gathered.packets,
            bytes: gathered.bytes,
        })
    }

    /// Returns the counters of all workers and of control, as of the last settlement.
    pub fn counters(&self) -> impl Iterator<Item = &Counters> {
        let workers = self.counters.iter().map(|counters| &**counters);
        workers.chain([&*self.own, &*self.learned])
    }

    /// Returns the rule counters of all workers.
    pub fn rule_counters(&self) -> Vec<Arc<RuleCounters>> {
        let all = self.counters.iter().chain([&self.own, &self.learned]);
        all.map(|counters| Arc::clone(&counters.rules)).collect()
    }

    /// Sends a command to a worker; to the first worker if the number is invalid. A frame in the command is no longer
    /// held.
    pub fn send(&mut self, worker: u16, mut command: Command) {
        if let Command::Transmit(frame) | Command::Resume(frame, _) = &mut command {
            self.pool.let_go(frame);
        }
        let at = usize::from(worker);
        let at = if at < self.remotes.len() { at } else { 0 };
        let Some(backlog) = self.backlog.get_mut(at) else {
            return self.refuse(command);
        };
        let is_packet = matches!(
            command,
            Command::Transmit(_)
                | Command::OnLink(_)
                | Command::Output(_)
                | Command::Probe(..)
                | Command::Resume(..)
        );
        if is_packet && backlog.len() >= BACKLOG {
            return self.refuse(command);
        }
        backlog.push_back(command);
        self.push(at);
    }

    /// Sends a command to every worker.
    pub fn send_all(&mut self, command: impl Fn() -> Command) {
        for worker in 0..self.len() as u16 {
            self.send(worker, command());
        }
    }

    /// Sends a queue change to all workers.
    pub fn tell(&mut self, change: &Change) {
        for (remote, woken) in self.remotes.iter().zip(&mut self.woken) {
            remote.changes.push(change.clone());
            *woken = true;
        }
    }

    /// Moves waiting commands into a worker's ring.
    fn push(&mut self, at: usize) {
        let (ring, backlog) = (&mut self.remotes[at].commands, &mut self.backlog[at]);
        while !ring.is_full()
            && let Some(command) = backlog.pop_front()
        {
            self.woken[at] = true;
            // There is room: this is the ring's only producer.
            let _ = ring.push(command);
        }
    }

    /// Moves all waiting commands; call it regularly.
    pub fn push_all(&mut self) {
        (0..self.remotes.len()).for_each(|at| self.push(at));
    }

    /// Whether commands wait for room.
    pub fn is_backed_up(&self) -> bool {
        self.backlog.iter().any(|backlog| !backlog.is_empty())
    }

    /// Whether the workers have taken all commands.
    pub fn is_heard(&self) -> bool {
        let mut rings = self.remotes.iter().map(|remote| &remote.commands);
        !self.is_backed_up() && rings.all(|ring| ring.slots() == ring.buffer().capacity())
    }

    fn refuse(&mut self, command: Command) {
        match command {
            Command::Transmit(frame)
            | Command::OnLink(frame)
            | Command::Output(frame)
            | Command::Probe(frame, _)
            | Command::Resume(frame, _) => {
                self.discard(frame, DropReason::HandoverFull);
            }
            Command::Attach { mut port, .. } => port.close(&mut self.pool),
            Command::Detach { .. }
            | Command::Forget(_)
            | Command::Purge(_)
            | Command::Generate(_) => {}
        }
    }

    /// Returns the next punted packet of a worker.
    pub fn punt(&mut self, worker: u16) -> Option<Punt> {
        let remote = self.remotes.get_mut(usize::from(worker))?;
        remote.punts.pop().ok()
    }

    /// Returns the next frame copy of a worker's taps.
    pub fn tapped(&mut self, worker: u16) -> Option<Tapped> {
        let remote = self.remotes.get_mut(usize::from(worker))?;
        remote.taps.pop().ok()
    }

    /// Returns the workers that got commands since the last call.
    pub fn take_woken(&mut self) -> impl Iterator<Item = u16> {
        self.woken
            .iter_mut()
            .enumerate()
            .filter_map(|(at, woken)| core::mem::take(woken).then_some(at as u16))
    }

    /// Allocates a frame with these bytes; returns `None`, and counts a drop, if the pool is empty.
    pub fn frame(&mut self, bytes: &[u8]) -> Option<Frame> {
        let frame = self.pool.alloc_from(bytes);
        if frame.is_none() {
            self.own.dropped(DropReason::NoBuffer);
        }
        frame
    }

    /// Adds a fragment; returns the whole packet if it is complete.
    pub fn collect(
        &mut self,
        pieces: &mut Reassembly<u16>,
        fragment: Frame,
        worker: u16,
        now: Instant,
    ) -> Option<(Frame, u16)> {
        pieces.collect(&mut self.pool, fragment, worker, now)
    }

    /// Marks a frame as held for a time; drops the frame if the pool's reserve is exhausted.
    pub fn hold(&mut self, mut frame: Frame) -> Option<Frame> {
        if self.pool.hold(&mut frame) {
            return Some(frame);
        }
        self.discard(frame, DropReason::PoolReserve);
        None
    }

    /// Frees a frame that was handled.
    pub fn free(&mut self, frame: Frame) {
        self.pool.free(frame);
    }

    /// Drops a frame, and counts the reason.
    pub fn discard(&mut self, frame: Frame, reason: DropReason) {
        self.own.dropped(reason);
        self.pool.free(frame);
    }

    /// Counts a packet that control dropped.
    pub fn count(&self, reason: DropReason) {
        self.own.dropped(reason);
    }

    /// Counts packets that control dropped.
    pub fn count_many(&self, reason: DropReason, count: usize) {
        self.own.dropped_many(reason, count as u64);
    }

    /// Grows all counters up to this interface.
    pub fn make_room(&self, interface: InterfaceId) {
        for counters in self.counters() {
            // Interfaces beyond the limit are not counted.
            let _ = counters.make_room(interface);
        }
    }
}

/// Counts traffic on a shortcut, as the worker that learned the shortcut would have.
fn count(counters: &Counters, went: &LaneTraffic, now: Instant) {
    let LaneTraffic {
        lane,
        ipv6,
        packets,
        bytes,
    } = *went;
    let traffic = Traffic {
        packets,
        bytes: bytes.saturating_sub(packets * ETHERNET),
    };
    let (ingress, egress) = (
        counters.interface(lane.ingress),
        counters.interface(lane.egress),
    );
    ingress.rx.add(packets, bytes);
    egress.tx.add(packets, bytes);
    if lane.handler != Handler::Firewall {
        ingress.fp_rx.add(packets, bytes);
        egress.fp_tx.add(packets, bytes);
    }
    let forwarded = counters.forwarded(lane.handler, ipv6);
    forwarded.add(traffic.packets, traffic.bytes);
    for rule in lane.rules.iter() {
        counters.rules.count_all(rule, traffic, now);
    }
}
