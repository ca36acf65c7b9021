//! Port role and port state transitions: whether a port may learn and forward (13.37, 13.38).

use super::port::{Port, Role, TreePort};
use super::{Bridge, HELLO};

/// Input of the machines from other ports and the bridge.
#[derive(Clone, Copy, Debug)]
struct Around {
    edge: bool,
    /// Bridge and port use RSTP.
    rapid: bool,
    sends_rstp: bool,
    /// `allSynced`: all other ports are synchronized.
    all_synced: bool,
    /// `reRooted`: no other port was a root port recently.
    re_rooted: bool,
    /// `FwdDelay`, `forwardDelay` and `MaxAge`.
    long_delay: u16,
    delay: u16,
    max_age: u16,
}

/// Requests of a step to other ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wants {
    sync_all: bool,
    re_root_all: bool,
    news: bool,
    edge_delay: bool,
}

impl Bridge {
    /// Runs one step of the port role transitions machine.
    pub(super) fn change_role(&mut self, tree: usize, place: usize) -> bool {
        if !self.ports[place].trees[tree].is_settled() {
            return false;
        }
        let around = self.around(tree, place);
        let its = &mut self.ports[place].trees[tree];
        let Some(wants) = its.step(&around) else {
            return false;
        };
        if wants.sync_all {
            self.in_tree(tree, |its| its.sync = true);
            self.stir_all();
        }
        if wants.re_root_all {
            self.in_tree(tree, |its| its.re_root = true);
            self.stir_all();
        }
        let port = &mut self.ports[place];
        if wants.news {
            port.mark_new_info(tree);
        }
        if wants.edge_delay && tree == 0 {
            port.edge_delay_while = match port.is_point_to_point() {
                true => super::MIGRATE,
                false => around.max_age,
            };
        }
        true
    }

    fn in_tree(&mut self, tree: usize, mut each: impl FnMut(&mut TreePort)) {
        for port in &mut self.ports {
            each(&mut port.trees[tree]);
        }
    }

    fn around(&self, tree: usize, place: usize) -> Around {
        let port = &self.ports[place];
        let times = self.trees[0].root_times;
        let role = port.trees[tree].role;
        let others = || {
            let all = self.ports.iter().enumerate();
            all.filter(move |(at, _)| *at != place)
                .map(|(_, port)| &port.trees[tree])
        };
        let settled = |its: &TreePort| its.is_settled() && its.role == its.selected_role;
        // 13.28.3: a root or alternate port checks all except root ports; others check all except themselves.
        let all_synced = || match role {
            Role::Root | Role::Alternate => self.ports.iter().all(|port| {
                let its = &port.trees[tree];
                settled(its) && (its.synced || its.role == Role::Root)
            }),
            _ => others().all(|its| settled(its) && its.synced) && settled(&port.trees[tree]),
        };
        let its = &port.trees[tree];
        Around {
            edge: port.oper_edge,
            rapid: self.is_rapid(),
            sends_rstp: port.send_rstp,
            // Checks all ports only if the result matters.
            all_synced: its.asks_all_synced() && all_synced(),
            re_rooted: its.role == Role::Root && others().all(|its| its.rr_while == 0),
            long_delay: times.forward_delay,
            delay: if port.send_rstp {
                HELLO
            } else {
                times.forward_delay
            },
            max_age: times.max_age,
        }
    }
}

impl TreePort {
    /// True if the next step depends on other ports (`allSynced`, `reRooted`).
    pub(super) fn looks_at_others(&self) -> bool {
        self.role == Role::Root || self.asks_all_synced()
    }

    /// True if the next step depends on `allSynced`.
    fn asks_all_synced(&self) -> bool {
        match self.role {
            Role::Disabled => false,
            Role::Designated => self.proposed || !self.agree,
            Role::Root | Role::Alternate | Role::Backup => !self.agree,
            Role::Master => self.fd_while != 0 || !self.agree,
        }
    }

    /// Runs one step; `None` if no transition applies.
    fn step(&mut self, around: &Around) -> Option<Wants> {
        if self.role != self.selected_role {
            self.take_role(around);
            return Some(Wants::default());
        }
        match self.role {
            Role::Disabled => self.step_disabled(around),
            Role::Root => self.step_root(around),
            Role::Designated => self.step_designated(around),
            Role::Master => self.step_master(around),
            Role::Alternate | Role::Backup => self.step_blocked(around),
        }
    }

    fn take_role(&mut self, around: &Around) {
        self.role = self.selected_role;
        match self.role {
            Role::Disabled | Role::Alternate | Role::Backup => {
                (self.learn, self.forward) = (false, false);
            }
            Role::Root => self.rr_while = around.long_delay,
            Role::Designated | Role::Master => {}
        }
    }

    fn step_disabled(&mut self, around: &Around) -> Option<Wants> {
        let quiet = !self.learning && !self.forwarding;
        let odd = self.fd_while != around.max_age || self.sync || self.re_root || !self.synced;
        (quiet && odd).then(|| {
            self.fd_while = around.max_age;
            self.synced = true;
            self.rr_while = 0;
            (self.sync, self.re_root) = (false, false);
            Wants::default()
        })
    }

    fn step_blocked(&mut self, around: &Around) -> Option<Wants> {
        if self.learning || self.forwarding {
            return None;
        }
        let mut wants = Wants::default();
        if self.role == Role::Backup && self.rb_while != 2 * HELLO {
            self.rb_while = 2 * HELLO;
        } else if self.fd_while != around.delay || self.sync || self.re_root || !self.synced {
            self.fd_while = around.delay;
            self.synced = true;
            self.rr_while = 0;
            (self.sync, self.re_root) = (false, false);
        } else {
            return self.agree(around, &mut wants);
        }
        Some(wants)
    }

    /// States PROPOSED and AGREED of a root, alternate or backup port.
    fn agree(&mut self, around: &Around, wants: &mut Wants) -> Option<Wants> {
        if self.proposed && !self.agree {
            self.proposed = false;
            wants.sync_all = true;
        } else if (around.all_synced && !self.agree) || (self.proposed && self.agree) {
            (self.proposed, self.sync) = (false, false);
            self.agree = true;
            wants.news = true;
        } else {
            return None;
        }
        Some(*wants)
    }

    fn step_root(&mut self, around: &Around) -> Option<Wants> {
        let mut wants = Wants::default();
        let at_once = around.re_rooted && self.rb_while == 0 && around.rapid;
        let may = self.fd_while == 0 || at_once;
        if self.rr_while != around.long_delay {
            self.rr_while = around.long_delay;
        } else if (self.agreed && !self.synced) || (self.sync && self.synced) {
            self.synced = true;
            self.sync = false;
        } else if !self.forward && !self.re_root {
            wants.re_root_all = true;
        } else if self.forward && self.re_root {
            self.re_root = false;
        } else if may && !self.learn {
            self.fd_while = around.delay;
            self.learn = true;
        } else if may && !self.forward {
            self.fd_while = 0;
            self.forward = true;
        } else {
            return self.agree(around, &mut wants);
        }
        Some(wants)
    }

    /// States SYNCED, RETIRED and DISCARD, which designated and master ports share.
    fn step_back(&mut self, around: &Around) -> bool {
        let quiet = !self.learning && !self.forwarding;
        let in_step = (quiet || self.agreed || around.edge) && !self.synced;
        let must_stop =
            (self.sync && !self.synced) || (self.re_root && self.rr_while != 0) || self.disputed;
        if in_step || (self.sync && self.synced) {
            self.rr_while = 0;
            self.synced = true;
            self.sync = false;
        } else if self.re_root && self.rr_while == 0 {
            self.re_root = false;
        } else if must_stop && !around.edge && (self.learn || self.forward) {
            (self.learn, self.forward, self.disputed) = (false, false, false);
            self.fd_while = around.delay;
        } else {
            return false;
        }
        true
    }

    /// States LEARN and FORWARD, if the port may enter them.
    fn step_forward(&mut self, around: &Around, may: bool) -> bool {
        if may && !self.learn {
            self.learn = true;
            self.fd_while = around.delay;
        } else if may && !self.forward {
            self.forward = true;
            self.fd_while = 0;
            self.agreed = around.sends_rstp;
        } else {
            return false;
        }
        true
    }

    fn step_designated(&mut self, around: &Around) -> Option<Wants> {
        let mut wants = Wants::default();
        let rooted = self.rr_while == 0 || !self.re_root;
        let may = (self.fd_while == 0 || self.agreed || around.edge) && rooted && !self.sync;
        if !self.forward && !self.agreed && !self.proposing && !around.edge {
            self.proposing = true;
            (wants.news, wants.edge_delay) = (true, true);
        } else if around.all_synced && (self.proposed || !self.agree) {
            (self.proposed, self.sync) = (false, false);
            self.agree = true;
            wants.news = true;
        } else if !(self.step_back(around) || self.step_forward(around, may)) {
            return None;
        }
        Some(wants)
    }

    fn step_master(&mut self, around: &Around) -> Option<Wants> {
        let mut wants = Wants::default();
        let may = self.fd_while == 0 || around.all_synced;
        if self.step_back(around) || self.step_forward(around, may) {
            return Some(wants);
        }
        self.agree(around, &mut wants)
    }
}

impl Port {
    /// Port state transition machine (13.39): learns and forwards as its role allows.
    pub(super) fn change_state(&mut self, tree: usize) -> bool {
        let its = &mut self.trees[tree];
        let (learning, forwarding) = (its.learn, its.learn && its.forward);
        let changes = (its.learning, its.forwarding) != (learning, forwarding);
        (its.learning, its.forwarding) = (learning, forwarding);
        changes
    }
}
