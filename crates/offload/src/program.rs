//! The XDP program of a device: forwards frames that are switched or have a shortcut; passes other frames
//! to the socket of the receive queue.

use frame::switch::SwitchPort;

use super::assemble::{Alu, Assembler, Helper, If, Label, R, Size};
use super::lanes::{ETHERNET, lane};
use super::slot::{self, TAG_SHIFT};
use super::switch::{self, Switch};
use super::table::{BUCKET_BITS, Map, SLOTS, STEP_BITS, Table, VALID_STEPS, family_bit, state};

const XDP_PASS: i32 = 2;

/// References of a program to a table: map descriptors, and the factor of its hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wiring {
    pub(crate) fronts: i32,
    pub(crate) backs: i32,
    pub(crate) lanes: i32,
    pub(crate) state: i32,
    pub(crate) factor: u64,
}

/// Builds the program of a device. `sockets` is the map of the sockets for other frames. The program switches
/// frames that arrive at the given port of a switch, and uses the shortcuts of a table for the given
/// entrance.
pub fn program<M: Map>(
    sockets: i32,
    switching: Option<(&Switch<M>, SwitchPort)>,
    shortcuts: Option<(&Table<M>, u32)>,
) -> Vec<u64> {
    let mut program = Assembler::default();
    let socket = program.label();
    program.alu(Alu::Move, R::R6, R::R1);
    program.load(Size::Word, R::R7, R::R6, context::DATA);
    if let Some((switching, port)) = switching {
        let routed = program.label();
        switch::switch(&mut program, &switching.wiring(port), routed, socket);
        program.place(routed);
    }
    if let Some((table, entrance)) = shortcuts {
        shortcut(&mut program, &table.wiring(), entrance, socket);
    }
    program.place(socket);
    to_socket(&mut program, sockets);
    program.finish()
}

/// Field offsets of `struct xdp_md`.
pub(crate) mod context {
    pub(crate) const DATA: i16 = 0;
    pub(crate) const DATA_END: i16 = 4;
    pub(crate) const RX_QUEUE_INDEX: i16 = 16;
}

/// `return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS)`: without a socket for the queue the
/// kernel handles the frame. The context is in register 6.
fn to_socket(program: &mut Assembler, sockets: i32) {
    program.load(Size::Word, R::R2, R::R6, context::RX_QUEUE_INDEX);
    program.map(R::R1, sockets);
    program.alu(Alu::Move, R::R3, XDP_PASS);
    program.call(Helper::RedirectMap);
    program.exit();
}

/// Stack offsets, relative to the end of the stack.
mod kept {
    pub(super) const NUMBER: i16 = -4;
    /// The bucket, and the offset of the slot in it.
    pub(super) const BUCKET: i16 = -8;
    pub(super) const PLACE: i16 = -112;
    /// The first word of the slot searched for.
    pub(super) const WORD: i16 = -16;
    /// Four words of addresses.
    pub(super) const ADDRESSES: i16 = -48;
    /// Kind and ports.
    pub(super) const KIND: i16 = -56;
    /// Length of the frame.
    pub(super) const LEN: i16 = -64;
    /// Four words of new addresses, and one of ports and sums.
    pub(super) const NEW: i16 = -104;
    pub(super) const NEW_PORTS: i16 = -72;
    pub(super) const NEW_HEADER: i16 = -68;
    pub(super) const NEW_UPPER: i16 = -66;
}

/// Header offsets, relative to the frame's first byte.
mod at {
    pub(super) const TYPE: i16 = 12;
    pub(super) const IP: i16 = 14;
    pub(super) const CHECKSUM4: i16 = 24;

    /// Header offsets that differ between the families.
    pub(super) struct Family {
        pub(super) ipv6: bool,
        /// Offset of the length field, and its difference to the frame's length.
        pub(super) len: i16,
        pub(super) len_more: i32,
        pub(super) lifetime: i16,
        /// Offset of the protocol or next header field.
        pub(super) next: i16,
        pub(super) addresses: i16,
        /// Offset of the upper layer.
        pub(super) end: i16,
    }

    pub(super) const IPV4: Family = Family {
        ipv6: false,
        len: 16,
        len_more: 14,
        lifetime: 22,
        next: 23,
        addresses: 26,
        end: 34,
    };
    pub(super) const IPV6: Family = Family {
        ipv6: true,
        len: 18,
        len_more: 54,
        lifetime: 21,
        next: 20,
        addresses: 22,
        end: 54,
    };
    /// IPv4 fragment field: more-fragments flag and offset.
    pub(super) const FRAGMENT4: i16 = 20;
    pub(super) const IS_FRAGMENT: u16 = 0x3fff;

    /// Offsets relative to the upper layer.
    pub(super) const TCP_FLAGS: i16 = 13;
    pub(super) const TCP_CHECKSUM: i16 = 16;
    pub(super) const TCP_END: i16 = 20;
    pub(super) const UDP_CHECKSUM: i16 = 6;
    pub(super) const UDP_END: i16 = 8;
    /// FIN, SYN, RST.
    pub(super) const SLOW_FLAGS: i32 = 7;
}

use at::Family;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Forwards frames by shortcuts. Registers: 6 the context, 7 the frame, 8 its end and later the slot, 9 its
/// length and later the offset of the slot in its bucket.
///
/// Accepted are frames with a valid header (RFC 1812, 5.2.2) without options or hop-by-hop options, with
/// sufficient TTL, without padding, and within the MTU: these are all decisions of the fast path besides
/// those by address, which the slot contains. If packets are distinguished by connection, the frame must be a
/// whole UDP datagram, or a TCP segment that neither opens nor closes a connection.
fn shortcut(program: &mut Assembler, wiring: &Wiring, entrance: u32, socket: Label) {
    let (ipv6, look) = (program.label(), program.label());
    program.load(Size::Word, R::R8, R::R6, context::DATA_END);
    program.alu(Alu::Move, R::R9, R::R8);
    program.alu(Alu::Sub, R::R9, R::R7);
    program.store(Size::Double, R::Stack, kept::LEN, R::R9);
    has(program, at::IPV4.end, socket);
    program.load(Size::Half, R::R1, R::R7, at::TYPE);
    program.jump_if(If::Equal, R::R1, i32::from(0x86dd_u16.to_be()), ipv6);
    program.jump_if(If::NotEqual, R::R1, i32::from(0x0800_u16.to_be()), socket);
    read4(program, socket);
    store_kind(program, &at::IPV4, wiring, entrance, socket);
    program.jump(look);
    program.place(ipv6);
    has(program, at::IPV6.end, socket);
    read6(program, socket);
    store_kind(program, &at::IPV6, wiring, entrance, socket);
    program.place(look);
    find(program, wiring, socket);
    forward(program, wiring, entrance, socket);
}

/// Checks that the frame has at least `bytes` bytes.
pub(crate) fn has(program: &mut Assembler, bytes: i16, socket: Label) {
    program.load(Size::Word, R::R2, R::R6, context::DATA_END);
    program.alu(Alu::Move, R::R1, R::R7);
    program.alu(Alu::Add, R::R1, i32::from(bytes));
    program.jump_if(If::Greater, R::R1, R::R2, socket);
}

/// Checks that the TTL permits forwarding and that the frame has no padding.
fn is_whole(program: &mut Assembler, family: &Family, socket: Label) {
    program.load(Size::Byte, R::R1, R::R7, family.lifetime);
    program.jump_if(If::Less, R::R1, 2, socket);
    program.load(Size::Half, R::R1, R::R7, family.len);
    program.swap16(R::R1);
    program.alu(Alu::Add, R::R1, family.len_more);
    program.jump_if(If::NotEqual, R::R1, R::R9, socket);
}

/// Stores the kind of the packet: all packets between two addresses at this entrance, or those of a
/// connection.
fn store_kind(
    program: &mut Assembler,
    family: &Family,
    wiring: &Wiring,
    entrance: u32,
    socket: Label,
) {
    let (alone, kept) = (program.label(), program.label());
    program.map_value(R::R1, wiring.state);
    program.load(Size::Word, R::R1, R::R1, state::BY_CONNECTION);
    program.alu(Alu::And, R::R1, family_bit(family.ipv6) as i32);
    program.jump_if(If::Equal, R::R1, 0, alone);
    store_service(program, family, socket);
    program.jump(kept);
    program.place(alone);
    let kind = slot::kind_between(entrance, family.ipv6);
    program.set(R::R1, u64::from(kind));
    program.store(Size::Double, R::Stack, kept::KIND, R::R1);
    program.place(kept);
}

/// Stores protocol and ports.
fn store_service(program: &mut Assembler, family: &Family, socket: Label) {
    let (udp, ports) = (program.label(), program.label());
    if !family.ipv6 {
        program.load(Size::Half, R::R1, R::R7, at::FRAGMENT4);
        program.alu(Alu::And, R::R1, i32::from(at::IS_FRAGMENT.to_be()));
        program.jump_if(If::NotEqual, R::R1, 0, socket);
    }
    program.load(Size::Byte, R::R1, R::R7, family.next);
    program.jump_if(If::Equal, R::R1, i32::from(UDP), udp);
    program.jump_if(If::NotEqual, R::R1, i32::from(TCP), socket);
    has(program, family.end + at::TCP_END, socket);
    program.load(Size::Byte, R::R1, R::R7, family.end + at::TCP_FLAGS);
    program.alu(Alu::And, R::R1, at::SLOW_FLAGS);
    program.jump_if(If::NotEqual, R::R1, 0, socket);
    let kind = |protocol| u64::from(slot::kind_of_connection(protocol, family.ipv6));
    program.set(R::R3, kind(TCP));
    program.jump(ports);
    program.place(udp);
    has(program, family.end + at::UDP_END, socket);
    program.set(R::R3, kind(UDP));
    program.place(ports);
    program.load(Size::Word, R::R1, R::R7, family.end);
    program.alu(Alu::ShiftLeft, R::R1, 32);
    program.alu(Alu::Add, R::R3, R::R1);
    program.store(Size::Double, R::Stack, kept::KIND, R::R3);
}

/// Checks an IPv4 header and stores its addresses.
fn read4(program: &mut Assembler, socket: Label) {
    let family = &at::IPV4;
    program.load(Size::Byte, R::R1, R::R7, at::IP);
    program.jump_if(If::NotEqual, R::R1, 0x45, socket);
    is_whole(program, family, socket);
    // The folded sum of a valid header is all ones (RFC 1071).
    program.alu(Alu::Move, R::R1, 0);
    for word in (at::IP..family.end).step_by(4) {
        program.load(Size::Word, R::R2, R::R7, word);
        program.alu(Alu::Add, R::R1, R::R2);
    }
    for (shift, mask) in [
        (32, u64::from(u32::MAX)),
        (16, 0xffff),
        (16, 0xffff),
        (16, 0xffff),
    ] {
        program.alu(Alu::Move, R::R2, R::R1);
        program.alu(Alu::ShiftRight, R::R2, shift);
        program.set(R::R3, mask);
        program.alu(Alu::And, R::R1, R::R3);
        program.alu(Alu::Add, R::R1, R::R2);
    }
    program.jump_if(If::NotEqual, R::R1, 0xffff, socket);
    program.alu(Alu::Move, R::R1, 0);
    for (word, address) in [(8, 0), (24, 4)] {
        program.store(Size::Double, R::Stack, kept::ADDRESSES + word - 8, R::R1);
        program.load(Size::Word, R::R2, R::R7, family.addresses + address);
        program.store(Size::Double, R::Stack, kept::ADDRESSES + word, R::R2);
    }
}

/// Checks an IPv6 header and stores its addresses.
fn read6(program: &mut Assembler, socket: Label) {
    let family = &at::IPV6;
    program.load(Size::Byte, R::R1, R::R7, at::IP);
    program.alu(Alu::ShiftRight, R::R1, 4);
    program.jump_if(If::NotEqual, R::R1, 6, socket);
    // Every router must process hop-by-hop options.
    program.load(Size::Byte, R::R1, R::R7, family.next);
    program.jump_if(If::Equal, R::R1, 0, socket);
    is_whole(program, family, socket);
    for word in 0..4 {
        program.load(Size::Double, R::R1, R::R7, family.addresses + word * 8);
        program.store(Size::Double, R::Stack, kept::ADDRESSES + word * 8, R::R1);
    }
}

/// Finds the slot of the stored key; returns it in register 8.
fn find(program: &mut Assembler, wiring: &Wiring, socket: Label) {
    let found = program.label();
    // `Hashing::place`, in register 1.
    program.load(Size::Double, R::R1, R::Stack, kept::KIND);
    program.set(R::R2, wiring.factor);
    program.alu(Alu::Add, R::R1, R::R2);
    for word in 0..4 {
        program.alu(Alu::Mul, R::R1, R::R2);
        program.load(Size::Double, R::R3, R::Stack, kept::ADDRESSES + word * 8);
        program.alu(Alu::Xor, R::R1, R::R3);
    }
    program.alu(Alu::Mul, R::R1, R::R2);
    program.alu(Alu::Move, R::R3, R::R1);
    program.alu(Alu::ShiftRight, R::R3, 32);
    program.alu(Alu::Xor, R::R1, R::R3);
    program.alu(Alu::Mul, R::R1, R::R2);
    // The first word of the slot.
    program.map_value(R::R2, wiring.state);
    program.load(Size::Word, R::R2, R::R2, state::GENERATION);
    program.alu(Alu::ShiftLeft, R::R2, 32);
    program.alu(Alu::Move, R::R3, R::R1);
    program.alu(Alu::ShiftLeft, R::R3, 32 - TAG_SHIFT);
    program.alu(Alu::ShiftRight, R::R3, 32);
    program.alu(Alu::Add, R::R2, R::R3);
    program.store(Size::Double, R::Stack, kept::WORD, R::R2);
    // Offset of the first slot in its bucket.
    program.alu(Alu::Move, R::R9, R::R1);
    program.alu(Alu::And, R::R9, SLOTS as i32 - 1);
    program.alu(Alu::Mul, R::R9, slot::SIZE as i32);
    program.alu(Alu::ShiftRight, R::R1, 64 - BUCKET_BITS as i32);
    program.store(Size::Word, R::Stack, kept::BUCKET, R::R1);
    look_up(program, wiring.fronts, socket);
    program.load(Size::Double, R::R2, R::Stack, kept::WORD);
    for _ in 0..SLOTS {
        let next = program.label();
        let differs = |program: &mut Assembler, size, offset: i16, kept: i16| {
            program.load(size, R::R3, R::R8, offset);
            program.load(size, R::R4, R::Stack, kept);
            program.jump_if(If::NotEqual, R::R3, R::R4, next);
        };
        program.alu(Alu::Move, R::R8, R::R0);
        program.alu(Alu::Add, R::R8, R::R9);
        program.load(Size::Double, R::R3, R::R8, slot::WORD);
        program.jump_if(If::NotEqual, R::R3, R::R2, next);
        for word in 0..4 {
            let offset = word * 8;
            differs(
                program,
                Size::Double,
                slot::ADDRESSES + offset,
                kept::ADDRESSES + offset,
            );
        }
        differs(program, Size::Double, slot::KIND, kept::KIND);
        program.jump(found);
        program.place(next);
        program.alu(Alu::Add, R::R9, slot::SIZE as i32);
        program.alu(Alu::And, R::R9, (SLOTS * slot::SIZE - 1) as i32);
    }
    program.jump(socket);
    program.place(found);
    program.store(Size::Double, R::Stack, kept::PLACE, R::R9);
}

/// Looks up the value of a map whose index is in register 1; returns it in register 0.
fn look_up(program: &mut Assembler, map: i32, socket: Label) {
    program.store(Size::Word, R::Stack, kept::NUMBER, R::R1);
    program.alu(Alu::Move, R::R2, R::Stack);
    program.alu(Alu::Add, R::R2, i32::from(kept::NUMBER));
    program.map(R::R1, map);
    program.call(Helper::MapLookup);
    program.jump_if(If::Equal, R::R0, 0, socket);
}

/// Forwards the frame as its slot says.
fn forward(program: &mut Assembler, wiring: &Wiring, entrance: u32, socket: Label) {
    program.call(Helper::CoarseTime);
    program.alu(Alu::ShiftRight, R::R0, STEP_BITS as i32);
    program.load(Size::Word, R::R1, R::R8, slot::UNTIL);
    program.jump_if(If::Greater, R::R0, R::R1, socket);
    let holds = program.label();
    program.alu(Alu::Add, R::R0, VALID_STEPS as i32 / 2);
    program.jump_if(If::Less, R::R0, R::R1, holds);
    program.alu(Alu::Add, R::R0, VALID_STEPS as i32 / 2);
    program.store(Size::Word, R::R8, slot::UNTIL, R::R0);
    program.place(holds);
    program.load(Size::Word, R::R1, R::R8, slot::LANE);
    look_up(program, wiring.lanes, socket);
    program.load(Size::Double, R::R9, R::Stack, kept::LEN);
    program.load(Size::Word, R::R1, R::R0, lane::FRAME_MAX);
    program.jump_if(If::Greater, R::R9, R::R1, socket);
    program.load(Size::Word, R::R1, R::R0, lane::ENTRANCE);
    program.jump_if(If::NotEqual, R::R1, entrance as i32, socket);
    for (size, at) in [(Size::Word, 0), (Size::Half, 4)] {
        program.load(size, R::R1, R::R7, at);
        program.load(size, R::R2, R::R0, lane::TO + at);
        program.jump_if(If::NotEqual, R::R1, R::R2, socket);
    }
    translate(program, wiring, socket);
    count(program);
    age(program);
    for (size, at) in [(Size::Double, 0), (Size::Word, 8)] {
        program.load(size, R::R1, R::R0, lane::LINK + at);
        program.store(size, R::R7, at, R::R1);
    }
    program.load(Size::Word, R::R1, R::R0, lane::DEVICE);
    program.alu(Alu::Move, R::R2, 0);
    program.call(Helper::Redirect);
    program.exit();
}

/// Checks that the slot has not changed; a writer changes this word first.
fn has_not_changed(program: &mut Assembler, socket: Label) {
    program.load(Size::Double, R::R1, R::R8, slot::WORD);
    program.load(Size::Double, R::R2, R::Stack, kept::WORD);
    program.jump_if(If::NotEqual, R::R1, R::R2, socket);
}

/// Counts the packet in its lane, and in its slot if it belongs to a connection.
fn count(program: &mut Assembler) {
    let counted = program.label();
    program.alu(Alu::Move, R::R1, 1);
    program.add_shared(R::R0, lane::PACKETS, R::R1);
    program.add_shared(R::R0, lane::BYTES, R::R9);
    program.load(Size::Word, R::R1, R::Stack, kept::KIND);
    program.alu(Alu::And, R::R1, slot::BY_CONNECTION as i32);
    program.jump_if(If::Equal, R::R1, 0, counted);
    program.set(R::R1, 1 << slot::COUNT_SHIFT);
    program.alu(Alu::Add, R::R1, R::R9);
    program.alu(Alu::Sub, R::R1, ETHERNET as i32);
    program.add_shared(R::R8, slot::COUNT, R::R1);
    program.place(counted);
}

/// Checks the slot for the last time; then writes addresses and ports if the lane translates.
fn translate(program: &mut Assembler, wiring: &Wiring, socket: Label) {
    let (translates, ipv6, done) = (program.label(), program.label(), program.label());
    program.load(Size::Half, R::R1, R::R0, lane::TRANSLATES);
    program.jump_if(If::NotEqual, R::R1, 0, translates);
    has_not_changed(program, socket);
    program.jump(done);
    program.place(translates);
    // The lane, from register 0.
    program.alu(Alu::Move, R::R9, R::R0);
    program.load(Size::Word, R::R1, R::Stack, kept::BUCKET);
    look_up(program, wiring.backs, socket);
    program.load(Size::Double, R::R1, R::Stack, kept::PLACE);
    program.alu(Alu::And, R::R1, ((SLOTS - 1) * slot::SIZE) as i32);
    program.alu(Alu::Add, R::R0, R::R1);
    for word in (0..).take(slot::NEW_WORDS) {
        program.load(Size::Double, R::R1, R::R0, slot::NEW + word * 8);
        program.store(Size::Double, R::Stack, kept::NEW + word * 8, R::R1);
    }
    program.alu(Alu::Move, R::R0, R::R9);
    program.load(Size::Double, R::R9, R::Stack, kept::LEN);
    has_not_changed(program, socket);
    program.load(Size::Word, R::R1, R::Stack, kept::KIND);
    program.alu(Alu::And, R::R1, 1);
    program.jump_if(If::NotEqual, R::R1, 0, ipv6);
    write_upper(program, &at::IPV4, socket);
    for (word, address) in [(8, 0), (24, 4)] {
        program.load(Size::Word, R::R1, R::Stack, kept::NEW + word);
        program.store(Size::Word, R::R7, at::IPV4.addresses + address, R::R1);
    }
    program.load(Size::Half, R::R1, R::R7, at::CHECKSUM4);
    add_to_checksum(program, kept::NEW_HEADER);
    program.store(Size::Half, R::R7, at::CHECKSUM4, R::R1);
    program.jump(done);
    program.place(ipv6);
    write_upper(program, &at::IPV6, socket);
    for word in 0..4 {
        program.load(Size::Double, R::R1, R::Stack, kept::NEW + word * 8);
        program.store(Size::Double, R::R7, at::IPV6.addresses + word * 8, R::R1);
    }
    program.place(done);
}

/// Writes the ports, and updates the checksum over ports and addresses. A UDP checksum of 0 means none
/// (RFC 768).
fn write_upper(program: &mut Assembler, family: &Family, socket: Label) {
    let (udp, not_none, ports) = (program.label(), program.label(), program.label());
    let (tcp_checksum, udp_checksum) =
        (family.end + at::TCP_CHECKSUM, family.end + at::UDP_CHECKSUM);
    program.load(Size::Word, R::R1, R::Stack, kept::KIND);
    let kind = slot::kind_of_connection(UDP, family.ipv6);
    program.jump_if(If::Equal, R::R1, kind as i32, udp);
    // Repeated for the kernel's verifier, which has lost the earlier check.
    has(program, family.end + at::TCP_END, socket);
    program.load(Size::Half, R::R1, R::R7, tcp_checksum);
    add_to_checksum(program, kept::NEW_UPPER);
    program.store(Size::Half, R::R7, tcp_checksum, R::R1);
    program.jump(ports);
    program.place(udp);
    has(program, family.end + at::UDP_END, socket);
    program.load(Size::Half, R::R1, R::R7, udp_checksum);
    program.jump_if(If::Equal, R::R1, 0, ports);
    add_to_checksum(program, kept::NEW_UPPER);
    program.jump_if(If::NotEqual, R::R1, 0, not_none);
    program.alu(Alu::Move, R::R1, 0xffff);
    program.place(not_none);
    program.store(Size::Half, R::R7, udp_checksum, R::R1);
    program.place(ports);
    program.load(Size::Word, R::R1, R::Stack, kept::NEW_PORTS);
    program.store(Size::Word, R::R7, family.end, R::R1);
}

/// Adds a stored difference to the checksum in register 1 (RFC 1624, 3, eqn 3).
fn add_to_checksum(program: &mut Assembler, difference: i16) {
    program.alu(Alu::Xor, R::R1, 0xffff);
    program.load(Size::Half, R::R2, R::Stack, difference);
    program.alu(Alu::Add, R::R1, R::R2);
    program.alu(Alu::Move, R::R2, R::R1);
    program.alu(Alu::ShiftRight, R::R2, 16);
    program.alu(Alu::Add, R::R1, R::R2);
    program.alu(Alu::And, R::R1, 0xffff);
    program.alu(Alu::Xor, R::R1, 0xffff);
}

/// Decrements the TTL or hop limit, and updates the IPv4 checksum (RFC 1624).
fn age(program: &mut Assembler) {
    let (ipv6, folded, aged) = (program.label(), program.label(), program.label());
    program.load(Size::Word, R::R1, R::Stack, kept::KIND);
    program.alu(Alu::And, R::R1, 1);
    program.jump_if(If::NotEqual, R::R1, 0, ipv6);
    one_less(program, at::IPV4.lifetime);
    program.load(Size::Half, R::R1, R::R7, at::CHECKSUM4);
    program.swap16(R::R1);
    program.alu(Alu::Add, R::R1, 0x100);
    program.jump_if(If::Less, R::R1, 0xffff, folded);
    program.alu(Alu::Add, R::R1, 1);
    program.place(folded);
    program.swap16(R::R1);
    program.store(Size::Half, R::R7, at::CHECKSUM4, R::R1);
    program.jump(aged);
    program.place(ipv6);
    one_less(program, at::IPV6.lifetime);
    program.place(aged);
}

/// Decrements a byte of the frame.
fn one_less(program: &mut Assembler, at: i16) {
    program.load(Size::Byte, R::R1, R::R7, at);
    program.alu(Alu::Sub, R::R1, 1);
    program.store(Size::Byte, R::R7, at, R::R1);
}
