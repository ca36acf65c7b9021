use proptest::prelude::*;

use super::*;

fn command(protocol: Protocol, direction: Direction) -> Command {
    Command {
        protocol,
        direction,
        fill: Fill::Zeros,
        count: 0,
        server_size: TCP_SIZE,
        client_size: 0,
        server_speed_bps: 0,
        client_speed_bps: 0,
    }
}

/// Builds a command from its first bytes; the rest is zero.
fn bytes(head: &[u8]) -> [u8; COMMAND_LEN] {
    let mut bytes = [0; COMMAND_LEN];
    bytes[..head.len()].copy_from_slice(head);
    bytes
}

#[test]
fn captured_commands_read_as_what_they_asked_for() {
    use Direction::{Both, Receive, Transmit};
    use Protocol::{Tcp, Udp};
    let tcp = |direction| command(Tcp, direction);
    let udp = |direction, server_size| Command {
        server_size,
        ..command(Udp, direction)
    };
    let captured: [(&[u8], Command); 12] = [
        (&[1, 1, 1, 0, 0, 0x80], tcp(Transmit)),
        (
            &[1, 1, 0, 0, 0, 0x80],
            Command {
                fill: Fill::Random,
                ..tcp(Transmit)
            },
        ),
        (&[0, 1, 1, 0, 0xdc, 5], udp(Transmit, 1500)),
        (&[0, 2, 1, 0, 0xdc, 5], udp(Receive, 1500)),
        (&[0, 2, 1, 0, 0xd0, 7], udp(Receive, 2000)),
        (&[0, 2, 1, 0, 0, 0xfa], udp(Receive, 64_000)),
        (
            &[1, 2, 1, 0, 0, 0x80, 0, 0, 1],
            Command {
                server_speed_bps: 1,
                ..tcp(Receive)
            },
        ),
        (
            &[1, 2, 1, 0, 0, 0x80, 0, 0, 0xff, 0xff, 0xff, 0xff],
            Command {
                server_speed_bps: u32::MAX,
                ..tcp(Receive)
            },
        ),
        (
            &[1, 2, 1, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 1],
            Command {
                client_speed_bps: 1,
                ..tcp(Receive)
            },
        ),
        (
            &[1, 2, 1, 10, 0, 0x80],
            Command {
                count: 10,
                ..tcp(Receive)
            },
        ),
        (&[1, 3, 1, 0, 0, 0x80], tcp(Both)),
        (&[0, 3, 1, 0, 0xdc, 5], udp(Both, 1500)),
    ];
    for (head, command) in captured {
        let bytes = bytes(head);
        assert_eq!(Command::parse(&bytes), Some(command), "{head:02x?}");
        assert_eq!(command.to_bytes(), bytes, "{head:02x?}");
    }
}

#[test]
fn no_count_is_one_connection_and_only_tcp_has_tokens() {
    let one = command(Protocol::Tcp, Direction::Both);
    let many = Command { count: 20, ..one };
    let datagrams = Command {
        protocol: Protocol::Udp,
        ..many
    };
    assert_eq!((one.connections(), one.has_token()), (1, false));
    assert_eq!((many.connections(), many.has_token()), (20, true));
    assert_eq!(
        (datagrams.connections(), datagrams.has_token()),
        (20, false)
    );
}

#[test]
fn a_captured_token_joins_a_connection() {
    let word = Word::parse([1, 0xbc, 4, 0]);
    let Some(Word::Accepted(Some(token))) = word else {
        panic!("{word:?}");
    };
    assert_eq!(token.join()[..4], [0xbc, 4, 2, 0]);
    assert_eq!(Token::of_join(&token.join()), Some(token));
    assert_eq!(Word::Accepted(Some(token)).to_bytes(), [1, 0xbc, 4, 0]);
}

#[test]
fn no_token_makes_a_join_that_is_a_command() {
    for number in 0..=u16::MAX {
        let token = Token::new(number);
        assert_eq!(Command::parse(&token.join()), None);
        assert_eq!(Token::of_join(&token.join()), Some(token));
        let word = Word::Accepted(Some(token));
        assert_eq!(Word::parse(word.to_bytes()), Some(word));
    }
}

#[test]
fn captured_status_messages_read_as_what_they_told() {
    let old = [7, 0, 0, 0, 1, 0, 0, 0, 0x36, 0x6e, 3, 0];
    let status = Status {
        cpu_percent: None,
        second: 1,
        bytes: 0x36e36,
    };
    assert_eq!(Status::parse(&old), Some(status));
    assert_eq!(status.to_bytes(), old);

    let new = [7, 0xd9, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let status = Status {
        cpu_percent: Some(89),
        second: 1,
        bytes: 0,
    };
    assert_eq!(Status::parse(&new), Some(status));
    assert_eq!(status.to_bytes(), new);
}

#[test]
fn a_datagram_has_its_number_in_front() {
    let mut datagram = [9; 6];
    set_datagram_number(&mut datagram, 0x0102_0304);
    assert_eq!(datagram, [1, 2, 3, 4, 9, 9]);
    assert_eq!(datagram_number(&datagram), Some(0x0102_0304));

    let mut short = [9; 3];
    set_datagram_number(&mut short, 1);
    assert_eq!((short, datagram_number(&short)), ([9; 3], None));
}

proptest! {
    #[test]
    fn a_command_that_reads_writes_the_same_bytes(mut bytes: [u8; COMMAND_LEN]) {
        if let Some(command) = Command::parse(&bytes) {
            // Every value except 0 means zeros.
            bytes[2] = bytes[2].min(1);
            prop_assert_eq!(command.to_bytes(), bytes);
        }
    }

    #[test]
    fn a_command_reads_as_it_was_written(
        (protocol, direction, fill) in (0u8..2, 1u8..4, 0u8..2), tail: [u8; 13],
    ) {
        let mut bytes = [0; COMMAND_LEN];
        bytes[..3].copy_from_slice(&[protocol, direction, fill]);
        bytes[3..].copy_from_slice(&tail);
        let command = Command::parse(&bytes).expect("it is valid");
        prop_assert_eq!(Command::parse(&command.to_bytes()), Some(command));
        prop_assert_eq!(command.to_bytes(), bytes);
    }

    #[test]
    fn a_status_reads_as_it_was_written(cpu in 0u8..=100, says: bool, second: u32, bytes: u32) {
        let status = Status { cpu_percent: says.then_some(cpu), second, bytes };
        prop_assert_eq!(Status::parse(&status.to_bytes()), Some(status));
    }

    #[test]
    fn what_reads_as_a_word_or_a_status_writes_the_same_bytes(word: [u8; 4], status: [u8; 12]) {
        if let Some(read) = Word::parse(word) {
            prop_assert_eq!(read.to_bytes(), word);
        }
        if let Some(read) = Status::parse(&status) {
            prop_assert_eq!(read.to_bytes(), status);
        }
    }
}
