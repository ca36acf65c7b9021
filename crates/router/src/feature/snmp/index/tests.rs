use super::*;
use crate::feature::Asking;
use machine::Instant;

fn with(addresses: &[[u8; 4]]) -> Index {
    let mut index = Index::default();
    for address in addresses {
        let of = (InterfaceId(1), 24);
        index.addresses.insert((*address).into(), of);
    }
    index
}

#[test]
fn items_use_their_number_and_dynamic_names_keep_a_stable_one() {
    let mut index = Index::default();
    assert_eq!(index.number(0x15, "ether1"), 0x15);
    let first = index.number(DYNAMIC | 7, "<pppoe-one>");
    assert!(first >= BY_NAME && first <= i32::MAX as u32);
    // The number does not depend on the id that the interface has when it reappears.
    assert_eq!(index.number(DYNAMIC | 99, "<pppoe-one>"), first);
    assert_ne!(index.number(DYNAMIC | 7, "<pppoe-two>"), first);
    // An item id above the range of item numbers, and a derived number that is taken.
    index.interfaces.insert(first, InterfaceId(9));
    let other = index.number(DYNAMIC | 7, "<pppoe-one>");
    assert_ne!(other, first);
    assert!(index.number(u64::from(BY_NAME), "late") >= BY_NAME);
}

#[test]
fn addresses_come_in_order_whatever_the_index_is_cut_to() {
    let index = with(&[
        [10, 0, 0, 1],
        [10, 255, 0, 1],
        [10, 255, 255, 255],
        [192, 0, 2, 1],
    ]);
    let after = |at: &[u32]| index.address_after(at).map(|address| address.octets());
    assert_eq!(after(&[]), Some([10, 0, 0, 1]));
    assert_eq!(after(&[10, 0, 0, 1]), Some([10, 255, 0, 1]));
    assert_eq!(after(&[10, 0, 0, 1, 7]), Some([10, 255, 0, 1]));
    assert_eq!(after(&[10, 255]), Some([10, 255, 0, 1]));
    assert_eq!(after(&[10, 256]), Some([192, 0, 2, 1]));
    assert_eq!(after(&[10, 255, 0, 999]), Some([10, 255, 255, 255]));
    assert_eq!(after(&[192, 0, 2, 1]), None);
    assert_eq!(after(&[u32::MAX]), None);
}

#[test]
fn a_trap_leaves_from_an_address_of_its_targets_network() {
    let index = with(&[[10, 0, 0, 1], [192, 0, 2, 1]]);
    let from = |to: [u8; 4]| index.source(IpAddr::from(to));
    assert_eq!(from([192, 0, 2, 99]), Some(IpAddr::from([192, 0, 2, 1])));
    assert_eq!(from([198, 51, 100, 1]), Some(IpAddr::from([10, 0, 0, 1])));
    assert_eq!(Index::default().source(IpAddr::from([1, 1, 1, 1])), None);
}

#[test]
fn interfaces_of_every_kind_have_their_comments() {
    let setup = crate::drive::Setup::offline(menu::Clock::utc(0));
    let made = crate::Instance::new(&setup, schema::store());
    let (mut router, _) = made.expect("memory");
    for command in [
        "/interface/wireguard add name=one comment=office",
        "/interface/vlan add name=two interface=one comment=office",
        "/interface/vxlan add name=three vni=3 comment=office",
    ] {
        let mut out = String::new();
        let ran = router.run(&mut script::Session::new("admin"), command, &mut out);
        ran.expect("a command");
    }
    let mut index = Index::default();
    let view = View {
        store: router.store(),
        asking: &Asking::default(),
        interfaces: &crate::intent::Items::default(),
        now: Instant::ZERO,
        clock: menu::Clock::utc(0),
    };
    index.follow(&view, None);
    let comments = index.items.values().map(|(_, comment)| comment.as_str());
    assert_eq!(comments.filter(|comment| *comment == "office").count(), 3);
}
