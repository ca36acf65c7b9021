//! The switching part of the XDP program. Registers: 6 the context, 7 the frame, 8 the line of the ingress
//! port, 9 the VLAN and later the sender's slot.

use frame::switch::SwitchPort;

use super::{PORT_BITS, VID_BITS, crossed, hosts, member, vlan};
use crate::assemble::{Alu, Assembler, Helper, If, Label, R, Size};
use crate::program::{context, has};
use crate::table::STEP_BITS;

const XDP_DROP: i32 = 1;
/// EtherType of VLAN tags.
const TAG: u16 = 0x8100;

/// References of the program to a switch: map descriptors, the factor of its hash, and the port of the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wiring {
    pub(super) hosts: i32,
    pub(super) members: i32,
    pub(super) vlans: i32,
    pub(super) crossed: i32,
    pub(super) factor: u64,
    pub(super) port: SwitchPort,
}

/// Stack offsets, relative to the end of the stack.
mod kept {
    pub(super) const KEY: i16 = -8;
    /// Permitted egress ports, and those without tag.
    pub(super) const EGRESS: i16 = -16;
    pub(super) const UNTAGGED: i16 = -24;
    /// Whether the frame is tagged.
    pub(super) const TAGGED: i16 = -32;
    pub(super) const FID: i16 = -40;
    /// The change of the tag.
    pub(super) const CHANGE: i16 = -48;
    pub(super) const DEVICE: i16 = -56;
    /// Offset of the counter.
    pub(super) const CROSSED: i16 = -64;
    pub(super) const LEN: i16 = -72;
}

/// Frame offsets.
mod at {
    pub(super) const TO: i16 = 0;
    pub(super) const FROM: i16 = 6;
    pub(super) const TYPE: i16 = 12;
    pub(super) const TCI: i16 = 14;
    pub(super) const HEADER: i16 = 14;
    pub(super) const TAGGED_HEADER: i16 = 18;
}

/// Changes of a frame's tag.
mod change {
    pub(super) const NONE: i32 = 0;
    pub(super) const POP: i32 = 1;
    pub(super) const PUSH: i32 = 2;
}

/// Switches a frame, or jumps: to `routed` if this port does not switch, to `socket` if a worker must handle
/// the frame. Changes nothing before it is certain that the frame is switched.
pub(crate) fn switch(program: &mut Assembler, wiring: &Wiring, routed: Label, socket: Label) {
    let own = wiring.port.number() * member::SIZE;
    program.map_value_from(R::R8, wiring.members, own);
    program.load(Size::Word, R::R9, R::R8, member::GROUP);
    program.jump_if(If::Equal, R::R9, 0, routed);
    has(program, at::HEADER, socket);
    for address in [at::TO, at::FROM] {
        program.load(Size::Byte, R::R1, R::R7, address);
        program.jump_if(If::Common, R::R1, 1, socket);
    }
    parse_vlan(program, socket);
    check_vlan(program, wiring, socket);
    find(program, wiring, at::TO, socket);
    choose(program, wiring, socket);
    check_sender(program, wiring, socket);
    count(program, wiring);
    send(program, socket);
}

/// Adds the VLAN to the group in register 9.
fn parse_vlan(program: &mut Assembler, socket: Label) {
    let (tagged, of_vid, told) = (program.label(), program.label(), program.label());
    program.alu(Alu::Move, R::R2, 0);
    program.load(Size::Word, R::R1, R::R8, member::FILTERS);
    program.jump_if(If::Equal, R::R1, 0, told);
    program.load(Size::Half, R::R1, R::R7, at::TYPE);
    program.jump_if(If::Equal, R::R1, i32::from(TAG.to_be()), tagged);
    program.load(Size::Word, R::R1, R::R8, member::PVID);
    program.jump(of_vid);
    program.place(tagged);
    program.load(Size::Word, R::R1, R::R8, member::ADMITS_TAGGED);
    program.jump_if(If::Equal, R::R1, 0, socket);
    has(program, at::TAGGED_HEADER, socket);
    program.load(Size::Half, R::R1, R::R7, at::TCI);
    program.swap16(R::R1);
    program.alu(Alu::And, R::R1, (1 << VID_BITS) - 1);
    program.alu(Alu::Move, R::R2, 1);
    program.place(of_vid);
    // Priority-tagged frames are rare, and untagged frames are not always admitted.
    program.jump_if(If::Equal, R::R1, 0, socket);
    program.alu(Alu::Add, R::R9, R::R1);
    program.place(told);
    program.store(Size::Double, R::Stack, kept::TAGGED, R::R2);
    program.store(Size::Double, R::Stack, kept::FID, R::R9);
}

/// Checks that the port is an ingress port of the VLAN; stores the egress ports.
fn check_vlan(program: &mut Assembler, wiring: &Wiring, socket: Label) {
    program.map_value(R::R1, wiring.vlans);
    program.alu(Alu::Move, R::R2, R::R9);
    program.alu(Alu::And, R::R2, 0xffff);
    program.alu(Alu::ShiftLeft, R::R2, vlan::BITS as i32);
    program.alu(Alu::Add, R::R1, R::R2);
    program.load(Size::Double, R::R2, R::R1, vlan::INGRESS);
    program.set(R::R3, 1 << wiring.port.number());
    program.alu(Alu::And, R::R2, R::R3);
    program.jump_if(If::Equal, R::R2, 0, socket);
    program.load(Size::Double, R::R2, R::R1, vlan::EGRESS);
    program.load(Size::Double, R::R3, R::R8, member::REACHES);
    program.alu(Alu::And, R::R2, R::R3);
    program.jump_if(If::Equal, R::R2, 0, socket);
    program.store(Size::Double, R::Stack, kept::EGRESS, R::R2);
    program.load(Size::Double, R::R2, R::R1, vlan::UNTAGGED);
    program.store(Size::Double, R::Stack, kept::UNTAGGED, R::R2);
}

/// Finds the slot of the host whose address is at offset `address` in the frame; returns the slot in register
/// 0 and its port in register 1.
fn find(program: &mut Assembler, wiring: &Wiring, address: i16, socket: Label) {
    let found = program.label();
    program.load(Size::Word, R::R3, R::R7, address);
    program.load(Size::Half, R::R1, R::R7, address + 4);
    program.alu(Alu::ShiftLeft, R::R1, 32);
    program.alu(Alu::Add, R::R3, R::R1);
    program.load(Size::Double, R::R1, R::Stack, kept::FID);
    program.alu(Alu::ShiftLeft, R::R1, hosts::MAC_BITS);
    program.alu(Alu::Add, R::R3, R::R1);
    program.store(Size::Double, R::Stack, kept::KEY, R::R3);
    // `Hosts::bucket_of`, in register 1.
    program.alu(Alu::Move, R::R1, R::R3);
    program.set(R::R2, wiring.factor);
    program.alu(Alu::Mul, R::R1, R::R2);
    program.alu(Alu::Move, R::R4, R::R1);
    program.alu(Alu::ShiftRight, R::R4, 32);
    program.alu(Alu::Xor, R::R1, R::R4);
    program.alu(Alu::Mul, R::R1, R::R2);
    program.alu(Alu::ShiftRight, R::R1, 64 - hosts::BUCKET_BITS as i32);
    program.alu(Alu::Mul, R::R1, (hosts::SLOTS * hosts::SLOT) as i32);
    program.map_value(R::R0, wiring.hosts);
    program.alu(Alu::Add, R::R0, R::R1);
    for slot in 0..hosts::SLOTS {
        let (next, offset) = (program.label(), slot * hosts::SLOT);
        program.load(Size::Double, R::R1, R::R0, hosts::KEY + offset as i16);
        program.jump_if(If::NotEqual, R::R1, R::R3, next);
        program.alu(Alu::Add, R::R0, offset as i32);
        program.jump(found);
        program.place(next);
    }
    program.jump(socket);
    program.place(found);
    program.load(Size::Word, R::R1, R::R0, hosts::PLACE);
    // A writer that reuses the slot changes the key first.
    program.load(Size::Double, R::R2, R::R0, hosts::KEY);
    program.jump_if(If::NotEqual, R::R2, R::R3, socket);
}

/// Checks that the receiver's port (register 1) is valid and reachable; decides on the tag and checks the
/// frame's length. Stores all that is needed of the port.
fn choose(program: &mut Assembler, wiring: &Wiring, socket: Label) {
    let ports = (1 << PORT_BITS) - 1;
    program.alu(Alu::Move, R::R2, R::R1);
    program.alu(Alu::And, R::R2, ports);
    program.alu(Alu::Move, R::R3, R::R2);
    program.alu(Alu::Mul, R::R3, member::SIZE as i32);
    program.map_value(R::R0, wiring.members);
    program.alu(Alu::Add, R::R0, R::R3);
    program.load(Size::Word, R::R3, R::R0, member::PLACE);
    program.jump_if(If::NotEqual, R::R1, R::R3, socket);
    // The bit of the port, in register 1.
    program.alu(Alu::Move, R::R1, 1);
    program.alu(Alu::ShiftLeft, R::R1, R::R2);
    program.load(Size::Double, R::R3, R::Stack, kept::EGRESS);
    program.alu(Alu::And, R::R3, R::R1);
    program.jump_if(If::Equal, R::R3, 0, socket);
    program.alu(Alu::ShiftLeft, R::R2, crossed::BITS as i32);
    program.store(Size::Double, R::Stack, kept::CROSSED, R::R2);
    program.load(Size::Word, R::R3, R::R0, member::DEVICE);
    program.store(Size::Double, R::Stack, kept::DEVICE, R::R3);
    // The length of the frame on egress, in register 3.
    program.load(Size::Word, R::R3, R::R6, context::DATA_END);
    program.alu(Alu::Sub, R::R3, R::R7);
    program.store(Size::Double, R::Stack, kept::LEN, R::R3);
    decide_on_tag(program);
    program.load(Size::Word, R::R1, R::R0, member::FRAME_MAX);
    program.jump_if(If::Greater, R::R3, R::R1, socket);
}

/// Stores the change of the tag; register 1 has the bit of the egress port, and the length in register 3 is
/// adjusted.
fn decide_on_tag(program: &mut Assembler) {
    let (without, decided) = (program.label(), program.label());
    program.alu(Alu::Move, R::R4, change::NONE);
    program.load(Size::Word, R::R2, R::R8, member::FILTERS);
    program.jump_if(If::Equal, R::R2, 0, decided);
    program.load(Size::Double, R::R2, R::Stack, kept::UNTAGGED);
    program.alu(Alu::And, R::R1, R::R2);
    program.load(Size::Double, R::R2, R::Stack, kept::TAGGED);
    program.jump_if(If::NotEqual, R::R1, 0, without);
    program.jump_if(If::NotEqual, R::R2, 0, decided);
    program.alu(Alu::Move, R::R4, change::PUSH);
    program.alu(Alu::Add, R::R3, 4);
    program.jump(decided);
    program.place(without);
    program.jump_if(If::Equal, R::R2, 0, decided);
    program.alu(Alu::Move, R::R4, change::POP);
    program.alu(Alu::Sub, R::R3, 4);
    program.place(decided);
    program.store(Size::Double, R::Stack, kept::CHANGE, R::R4);
}

/// Checks that the sender is known at this port and updates its time, unless the port requires no known
/// senders.
fn check_sender(program: &mut Assembler, wiring: &Wiring, socket: Label) {
    let known = program.label();
    program.load(Size::Word, R::R1, R::R8, member::LEARNS);
    program.jump_if(If::Equal, R::R1, 0, known);
    find(program, wiring, at::FROM, socket);
    program.load(Size::Word, R::R2, R::R8, member::PLACE);
    program.jump_if(If::NotEqual, R::R1, R::R2, socket);
    program.alu(Alu::Move, R::R9, R::R0);
    program.call(Helper::CoarseTime);
    program.alu(Alu::ShiftRight, R::R0, STEP_BITS as i32);
    program.load(Size::Word, R::R1, R::R9, hosts::SEEN);
    program.jump_if(If::Equal, R::R0, R::R1, known);
    program.store(Size::Word, R::R9, hosts::SEEN, R::R0);
    program.place(known);
}

fn count(program: &mut Assembler, wiring: &Wiring) {
    let from = (wiring.port.number() * SwitchPort::MOST) << crossed::BITS;
    program.map_value_from(R::R0, wiring.crossed, from);
    program.load(Size::Double, R::R1, R::Stack, kept::CROSSED);
    // Repeated for the kernel's verifier, which may have lost the bound.
    let bits = (SwitchPort::MOST - 1) << crossed::BITS;
    program.alu(Alu::And, R::R1, bits as i32);
    program.alu(Alu::Add, R::R0, R::R1);
    program.alu(Alu::Move, R::R1, 1);
    program.add_shared(R::R0, crossed::FRAMES, R::R1);
    program.load(Size::Double, R::R1, R::Stack, kept::LEN);
    program.add_shared(R::R0, crossed::BYTES, R::R1);
}

/// Changes the tag and sends the frame.
fn send(program: &mut Assembler, socket: Label) {
    let (pop, push, go) = (program.label(), program.label(), program.label());
    program.load(Size::Double, R::R1, R::Stack, kept::CHANGE);
    program.jump_if(If::Equal, R::R1, change::PUSH, push);
    program.jump_if(If::Equal, R::R1, change::POP, pop);
    program.jump(go);
    program.place(push);
    push_tag(program, socket);
    program.jump(go);
    program.place(pop);
    pop_tag(program, socket);
    program.place(go);
    program.load(Size::Double, R::R1, R::Stack, kept::DEVICE);
    program.alu(Alu::Move, R::R2, 0);
    program.call(Helper::Redirect);
    program.exit();
}

/// Moves the beginning of the frame; on failure a worker handles the unchanged frame.
fn adjust_head(program: &mut Assembler, bytes: i32) {
    program.alu(Alu::Move, R::R1, R::R6);
    program.alu(Alu::Move, R::R2, bytes);
    program.call(Helper::AdjustHead);
}

fn push_tag(program: &mut Assembler, socket: Label) {
    let (gone, has_room) = (program.label(), program.label());
    adjust_head(program, -4);
    program.jump_if(If::NotEqual, R::R0, 0, socket);
    program.load(Size::Word, R::R7, R::R6, context::DATA);
    has(program, at::TAGGED_HEADER, gone);
    program.load(Size::Double, R::R1, R::R7, 4);
    program.load(Size::Word, R::R2, R::R7, 12);
    program.store(Size::Double, R::R7, 0, R::R1);
    program.store(Size::Word, R::R7, 8, R::R2);
    program.load(Size::Double, R::R1, R::Stack, kept::FID);
    program.alu(Alu::And, R::R1, (1 << VID_BITS) - 1);
    program.swap16(R::R1);
    program.store(Size::Half, R::R7, at::TCI, R::R1);
    program.alu(Alu::Move, R::R1, i32::from(TAG.to_be()));
    program.store(Size::Half, R::R7, at::TYPE, R::R1);
    program.jump(has_room);
    drop_at(program, gone);
    program.place(has_room);
}

fn pop_tag(program: &mut Assembler, socket: Label) {
    let (gone, popped) = (program.label(), program.label());
    // Repeated for the kernel's verifier, which has lost the earlier check.
    has(program, at::TAGGED_HEADER, socket);
    program.load(Size::Double, R::R1, R::R7, 0);
    program.load(Size::Word, R::R2, R::R7, 8);
    program.store(Size::Double, R::R7, 4, R::R1);
    program.store(Size::Word, R::R7, 12, R::R2);
    adjust_head(program, 4);
    program.jump_if(If::NotEqual, R::R0, 0, gone);
    program.jump(popped);
    drop_at(program, gone);
    program.place(popped);
}

/// Drops a frame that was changed but cannot be sent, which does not happen.
fn drop_at(program: &mut Assembler, gone: Label) {
    program.place(gone);
    program.alu(Alu::Move, R::R0, XDP_DROP);
    program.exit();
}
