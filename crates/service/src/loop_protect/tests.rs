use super::*;

const CONFIG: Config = Config {
    send_interval: Duration::from_secs(5),
    disable_time: Duration::from_secs(300),
};

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

/// Two interfaces with links; if joined, each receives the other's frames.
struct Rig {
    machine: LoopProtect,
    now: Instant,
}

impl Rig {
    fn new(config: Config) -> Self {
        let mut rig = Self {
            machine: LoopProtect::default(),
            now: Instant::from_secs(1),
        };
        for interface in [1, 2] {
            rig.handle(Event::Protect(interface, config));
            rig.handle(Event::Link(interface, mac(interface as u8), true));
        }
        rig
    }

    fn handle(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.machine.handle(event, self.now, &mut out);
        out
    }

    /// Advances to this time; returns actions with their times in seconds.
    fn run_to(&mut self, seconds: u64) -> Vec<(u64, Action)> {
        let mut all = Vec::new();
        let end = Instant::from_secs(seconds);
        while let Some((at, _)) = self.machine.deadline().filter(|(at, _)| *at <= end) {
            self.now = at;
            let mut out = Vec::new();
            self.machine.tick(at, &mut out);
            all.extend(
                out.into_iter()
                    .map(|of| (at.as_nanos() / 1_000_000_000, of)),
            );
        }
        self.now = end;
        all
    }
}

#[test]
fn interfaces_send_at_their_interval_while_they_have_a_link() {
    let mut rig = Rig::new(CONFIG);
    rig.handle(Event::Link(2, mac(2), false));

    let sent = rig.run_to(16);

    let send = Action::Send(1);
    assert_eq!(sent, [(6, send), (11, send), (16, send)]);
}

#[test]
fn one_end_of_a_loop_is_disabled_and_the_other_is_not() {
    let mut rig = Rig::new(CONFIG);
    rig.run_to(6);

    let off = rig.handle(Event::Received {
        by: 2,
        source: mac(1),
    });
    let late = rig.handle(Event::Received {
        by: 1,
        source: mac(2),
    });

    let wanted = Action::SwitchOff {
        interface: 2,
        sender: 1,
        source: mac(1),
    };
    assert_eq!((off, late), (vec![wanted], vec![]));
    assert!(rig.machine.is_off(2) && !rig.machine.is_off(1));
    assert!(
        rig.run_to(300).iter().all(|(_, of)| *of == Action::Send(1)),
        "who is off sends nothing"
    );
}

#[test]
fn an_interface_that_receives_its_own_frame_is_in_a_loop() {
    let mut rig = Rig::new(CONFIG);

    let off = rig.handle(Event::Received {
        by: 1,
        source: mac(1),
    });

    assert!(matches!(
        off[..],
        [Action::SwitchOff {
            interface: 1,
            sender: 1,
            ..
        }]
    ));
}

#[test]
fn an_interface_is_enabled_after_disable_time_and_the_loop_detected_again() {
    let mut rig = Rig::new(CONFIG);
    rig.handle(Event::Received {
        by: 2,
        source: mac(1),
    });

    let wanted = rig.run_to(301);
    assert!(wanted.contains(&(301, Action::SwitchOn(2))));

    let off = rig.handle(Event::Received {
        by: 2,
        source: mac(1),
    });
    assert_eq!(off.len(), 1);
}

#[test]
fn disable_time_zero_is_permanent_until_the_setting_changes() {
    let mut rig = Rig::new(Config {
        disable_time: Duration::ZERO,
        ..CONFIG
    });
    rig.handle(Event::Received {
        by: 2,
        source: mac(1),
    });
    let wanted = rig.run_to(1_000_000);
    assert!(wanted.iter().all(|(_, of)| *of == Action::Send(1)));

    assert_eq!(rig.handle(Event::Protect(2, CONFIG)), [Action::SwitchOn(2)]);
    rig.handle(Event::Received {
        by: 2,
        source: mac(1),
    });
    assert_eq!(rig.handle(Event::Leave(2)), [Action::SwitchOn(2)]);
    assert!(!rig.machine.is_protected(2));
}

#[test]
fn frames_of_other_devices_and_unprotected_interfaces_are_ignored() {
    let mut rig = Rig::new(CONFIG);
    rig.handle(Event::Leave(2));

    for (by, source) in [(1, mac(9)), (1, mac(2)), (2, mac(1)), (7, mac(1))] {
        assert_eq!(rig.handle(Event::Received { by, source }), []);
    }
}

#[test]
fn loop_detection_follows_a_change_of_the_mac_address() {
    let mut rig = Rig::new(CONFIG);
    rig.handle(Event::Link(1, mac(5), true));

    assert_eq!(
        rig.handle(Event::Received {
            by: 2,
            source: mac(1)
        }),
        []
    );
    assert_eq!(
        rig.handle(Event::Received {
            by: 2,
            source: mac(5)
        })
        .len(),
        1
    );
}
