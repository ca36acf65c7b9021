//! Checks that a worker does not allocate memory when it installs shortcuts and collects their traffic. A
//! separate test binary, because it replaces the allocator.

use std::io;
use std::sync::atomic::AtomicU64;

use frame::InterfaceId;
use frame::shortcut::{
    AddressPair, Connection, FlowOffload, Handler, Rules, Service, Shortcut, ShortcutPath,
    Shortcuts,
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

/// A distinct connection for each number, with one of 3,000 lanes, more than a port may have.
fn shortcut(number: u32) -> Shortcut {
    let mut rules = Rules::default();
    assert!(rules.push(number % 3000));
    Shortcut {
        between: AddressPair {
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
        lane: ShortcutPath {
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
        // The control plane may allocate; it also grants more lanes.
        table.forget();
    }
}
