//! The simplest tunnel kind, for tests: items of a menu without another kind. A new kind is such a file and its line in
//! the list.

use dataplane::out::OutId;

use super::{IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::Class;
use crate::read;

const MENU: &str = "/interface/vpls";

pub(super) const KIND: Registration = Registration {
    menus: &[MENU],
    read: |item| read::interface_of(item, Null, Class::Other),
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Null;

impl Kind for Null {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = !entry.disabled;
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Tunnel
    }
}

#[test]
fn its_interfaces_are_laid_out_and_show_their_state() {
    let setup = crate::drive::Setup::offline(menu::Clock::utc(0));
    let made = crate::Instance::new(&setup, schema::store());
    let (mut router, _) = made.expect("memory");
    let mut run = |text: &str| {
        let mut out = String::new();
        let ran = router.run(&mut script::Session::new("admin"), text, &mut out);
        ran.unwrap_or_else(|refusal| panic!("{text}: {refusal}"));
        (out.trim().to_owned(), router.control().layout.clone())
    };

    let (_, layout) = run("/interface/vpls add name=null1 peer=192.0.2.1 disabled=no");
    let (id, entry) = layout.named("null1").expect("it is laid out");
    assert_eq!(entry.link.out, OutId::tunnel(id));
    assert!(entry.link.running && !entry.link.ethernet);
    let (count, _) = run("/interface/print count-only where name=null1 running type=vpls");
    assert_eq!(
        count, "1",
        "it runs, and its menu has the word for its type"
    );

    let (_, layout) = run("/interface/vpls set null1 disabled=yes");
    let (_, entry) = layout.named("null1").expect("it is laid out");
    assert!(!entry.link.running);
    let (_, layout) = run("/interface/vpls remove null1");
    assert!(layout.named("null1").is_none());
}
