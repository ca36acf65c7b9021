//! Tests of reassembly settings that change while fragments wait.

use super::*;

#[test]
fn what_other_settings_have_no_room_for_is_given_up_at_once() {
    let mut rig = rig();
    tracked(&mut rig);
    let frames = cut(&datagram(3000).packet(), 1500, 0);
    pass_all(&mut rig, frames[..2].to_vec());
    assert_eq!(rig.workers[0].pool().held(Class::Small).0, 2);

    rig.snapshot.fragments4.memory_max_bytes = 0;
    rig.publish();
    rig.settle();

    assert_eq!(rig.drops(), [(DropReason::FragmentsFull, 2)]);
    assert_eq!(rig.workers[0].pool().held(Class::Small).0, 0);
}
