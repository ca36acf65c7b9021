use super::*;

fn with(addresses: &[[u8; 4]]) -> Index {
    let mut index = Index::default();
    for address in addresses {
        let of = (InterfaceId(1), 24);
        index.addresses.insert((*address).into(), of);
    }
    index
}

#[test]
fn an_item_gives_its_number_and_a_name_the_same_one_always() {
    let mut index = Index::default();
    assert_eq!(index.number(0x15, "ether1"), 0x15);
    let first = index.number(DYNAMIC | 7, "<pppoe-one>");
    assert!(first >= BY_NAME && first <= i32::MAX as u32);
    // Whatever id it has when it comes again.
    assert_eq!(index.number(DYNAMIC | 99, "<pppoe-one>"), first);
    assert_ne!(index.number(DYNAMIC | 7, "<pppoe-two>"), first);
    // An item beyond the numbers of items, and a number that somebody has.
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
