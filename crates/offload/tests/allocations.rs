//! A worker that installs shortcuts, and gathers from them, asks for no memory: with an allocator of its own.

use std::io;
use std::sync::atomic::AtomicU64;

use frame::InterfaceId;
use frame::shortcut::{
    Between, Connection, FlowOffload, Handler, Lane, Rules, Service, Shortcut, Shortcuts,
};
use offload::{Map, MapSize, Table};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

#[derive(Debug)]
struct Plain(Vec<AtomicU64>);

impl Map for Plain {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }

    fn descriptor(&self) -> i32 {
        -1
    }
}

/// Another connection for each number, and one of 3,000 lanes: more than a port may have.
fn shortcut(number: u32) -> Shortcut {
    let mut rules = Rules::default();
    assert!(rules.push(number % 3000));
    Shortcut {
        between: Between {
            source: number.into(),
            destination: 2,
            ipv6: number.is_multiple_of(2),
        },
        connection: Some(Connection {
            service: Service {
                protocol: 17,
                ports: [0, 1, 0, 53],
            },
            token: u64::from(number) + 1,
            rewrite: None,
        }),
        lane: Lane {
            ingress: InterfaceId(1),
            to: [2; 6],
            egress: InterfaceId(2),
            device: 7,
            link: [4; 12],
            mtu: 1500,
            handler: Handler::Firewall,
            rules,
        },
    }
}

#[test]
fn installing_and_gathering_allocate_nothing() {
    let map = |size: MapSize| {
        let words = (0..size.value_bytes * size.entries / 8).map(|_| AtomicU64::new(0));
        io::Result::Ok(Plain(words.collect()))
    };
    let table = Table::new(1, map).expect("memory");
    let mut port = table.installer(table.entrance(), 7);
    for generation in 0..20_u32 {
        let before = kernels::CountingAllocator::count();
        port.begin();
        for number in 0..1000 {
            port.install(&shortcut(generation * 1000 + number));
        }
        port.gather(None, &mut |_| true);
        assert_eq!(kernels::CountingAllocator::count(), before);
        assert!(port.gathers() || generation > 0);
        // Control may; and it grants more lanes.
        table.forget();
    }
}
