//! Assembler for BPF instructions (RFC 9669), with labels instead of jump distances.

/// Registers. A call takes its arguments in 1 to 5, returns its result in 0, and preserves 6 to 9; 10 is the
/// end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum R {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    Stack,
}

/// Width of a memory access.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Size {
    Word = 0x00,
    Half = 0x08,
    Byte = 0x10,
    Double = 0x18,
}

/// 64-bit arithmetic.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Xor = 0xa0,
    Move = 0xb0,
}

/// Unsigned conditions.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum If {
    Equal = 0x10,
    Greater = 0x20,
    /// The operands have a bit in common.
    Common = 0x40,
    NotEqual = 0x50,
    Less = 0xa0,
}

/// Kernel functions.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Helper {
    MapLookup = 1,
    Redirect = 23,
    AdjustHead = 44,
    RedirectMap = 51,
    CoarseTime = 160,
}

/// Target of a forward jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Second operand: a register or a number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value {
    Of(R),
    Number(i32),
}

impl From<R> for Value {
    fn from(register: R) -> Self {
        Self::Of(register)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Self::Number(number)
    }
}

const CLASS_LOAD: u8 = 0x61; // LDX | MEM
const CLASS_STORE: u8 = 0x63; // STX | MEM
const CLASS_ATOMIC: u8 = 0xc3; // STX | ATOMIC
const CLASS_ALU: u8 = 0x07;
const CLASS_JUMP: u8 = 0x05;
const FROM_REGISTER: u8 = 0x08;
const LOAD_64: u8 = 0x18;
const SWAP_BIG: u8 = 0xdc; // ALU | END | to big endian
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const JUMP: u8 = 0x05;
/// Kind of a wide immediate: a map, or the address of its first value.
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;

/// A program under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    instructions: Vec<u64>,
    /// Jumps to labels that are not placed yet, by instruction index.
    jumps: Vec<(usize, Label)>,
    /// Instruction index of each placed label.
    places: Vec<Option<usize>>,
}

impl Assembler {
    /// Creates a label.
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label at the current position.
    pub(crate) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.instructions.len());
    }

    /// Returns the instructions.
    ///
    /// # Panics
    /// If a label was not placed after its jumps.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        for (at, label) in &self.jumps {
            let place = self.places[label.0].expect("every label is placed");
            let distance = place.checked_sub(at + 1).expect("jumps lead ahead");
            let distance = i16::try_from(distance).expect("programs are short");
            self.instructions[*at] |= u64::from_ne_bytes(place_offset(distance));
        }
        self.instructions
    }

    fn push(&mut self, code: u8, target: R, source: u8, offset: i16, immediate: i32) {
        let [i0, i1, i2, i3] = immediate.to_ne_bytes();
        let [o0, o1] = offset.to_ne_bytes();
        let registers = source << 4 | target as u8;
        let bytes = [code, registers, o0, o1, i0, i1, i2, i3];
        self.instructions.push(u64::from_ne_bytes(bytes));
    }

    /// `to = *(from + offset)`.
    pub(crate) fn load(&mut self, size: Size, to: R, from: R, offset: i16) {
        self.push(CLASS_LOAD | size as u8, to, from as u8, offset, 0);
    }

    /// `*(to + offset) = from`.
    pub(crate) fn store(&mut self, size: Size, to: R, offset: i16, from: R) {
        self.push(CLASS_STORE | size as u8, to, from as u8, offset, 0);
    }

    /// Atomically adds to 64 bits of memory.
    pub(crate) fn add_shared(&mut self, to: R, offset: i16, from: R) {
        self.push(CLASS_ATOMIC | Size::Double as u8, to, from as u8, offset, 0);
    }

    /// `to = to op value`.
    pub(crate) fn alu(&mut self, op: Alu, to: R, value: impl Into<Value>) {
        match value.into() {
            Value::Of(from) => {
                self.push(CLASS_ALU | FROM_REGISTER | op as u8, to, from as u8, 0, 0);
            }
            Value::Number(number) => self.push(CLASS_ALU | op as u8, to, 0, 0, number),
        }
    }

    /// Converts the low 16 bits between network and native byte order.
    pub(crate) fn swap16(&mut self, to: R) {
        self.push(SWAP_BIG, to, 0, 0, 16);
    }

    /// `to = number`, 64 bits.
    pub(crate) fn set(&mut self, to: R, number: u64) {
        self.wide(to, 0, number as u32 as i32, (number >> 32) as u32 as i32);
    }

    /// `to` = reference to a map.
    pub(crate) fn map(&mut self, to: R, descriptor: i32) {
        self.wide(to, MAP, descriptor, 0);
    }

    /// `to` = address of the first value of a map.
    pub(crate) fn map_value(&mut self, to: R, descriptor: i32) {
        self.map_value_from(to, descriptor, 0);
    }

    /// `to` = address at `offset` in the only value of a map.
    pub(crate) fn map_value_from(&mut self, to: R, descriptor: i32, offset: usize) {
        self.wide(to, MAP_VALUE, descriptor, offset as i32);
    }

    fn wide(&mut self, to: R, kind: u8, low: i32, high: i32) {
        self.push(LOAD_64, to, kind, 0, low);
        self.push(0, R::R0, 0, 0, high);
    }

    /// Jumps to a label if the condition holds.
    pub(crate) fn jump_if(&mut self, is: If, register: R, value: impl Into<Value>, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        match value.into() {
            Value::Of(other) => {
                self.push(
                    CLASS_JUMP | FROM_REGISTER | is as u8,
                    register,
                    other as u8,
                    0,
                    0,
                );
            }
            Value::Number(number) => self.push(CLASS_JUMP | is as u8, register, 0, 0, number),
        }
    }

    /// Jumps to a label.
    pub(crate) fn jump(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(JUMP, R::R0, 0, 0, 0);
    }

    /// Calls a kernel function.
    pub(crate) fn call(&mut self, helper: Helper) {
        self.push(CALL, R::R0, 0, 0, helper as i32);
    }

    /// Returns register 0.
    pub(crate) fn exit(&mut self) {
        self.push(EXIT, R::R0, 0, 0, 0);
    }
}

/// Returns the bytes of a jump distance at its position in an instruction.
const fn place_offset(distance: i16) -> [u8; 8] {
    let [low, high] = distance.to_ne_bytes();
    [0, 0, low, high, 0, 0, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_skips_the_following_instructions() {
        let mut program = Assembler::default();
        let end = program.label();

        program.jump_if(If::Equal, R::R1, 7, end);
        program.set(R::R0, 1 << 40);
        program.place(end);
        program.exit();

        let bytes: Vec<[u8; 8]> = program.finish().iter().map(|i| i.to_ne_bytes()).collect();
        assert_eq!(bytes[0], [0x15, 1, 2, 0, 7, 0, 0, 0]);
        assert_eq!(bytes[1], [0x18, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[2], [0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(bytes[3][0], EXIT);
    }
}
