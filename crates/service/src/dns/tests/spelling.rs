//! Answers use the client's spelling of names, whatever the servers send.

use super::*;

/// An address query for a name in this spelling.
fn question_for(id: u8, labels: &[&str]) -> Vec<u8> {
    let mut message = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        message.push(u8::try_from(label.len()).expect("a label"));
        message.extend_from_slice(label.as_bytes());
    }
    message.extend_from_slice(&[0, 0, 1, 0, 1]);
    message
}

/// Owner name of the first record of an answer, in wire format.
fn owner(message: &[u8]) -> String {
    let message = Message::from_vec(message).expect("a message");
    message.answers[0].name.to_ascii()
}

#[test]
fn answers_have_the_name_in_the_clients_spelling() {
    let mut bench = Bench::new(&[1]);
    let asked = question_for(1, &["WwW", "Example"]);
    bench.event(Event::Asked {
        client: 1,
        carrier: Carrier::Datagram(4096),
        message: &asked,
    });
    // The server writes the name uncompressed, in the random case of the query.
    let sent = bench.sent().pop().expect("a question was sent");
    let end = question::HEAD + 13;
    let name = &sent.message[question::HEAD..end];
    let record = [name, &[0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1]].concat();
    let mut answer = [&sent.message[..end + 4], &record].concat();
    (answer[2], answer[7], answer[11]) = (0x81, 1, 0);
    bench.hear(&sent, &answer);

    let is_answer = |action: &Action<u32>| matches!(action, Action::Answer { .. });
    let answer = bench.out.iter().position(is_answer).expect("an answer");
    let Action::Answer { message, .. } = bench.out.remove(answer) else {
        unreachable!("it was looked for")
    };
    assert_eq!(owner(&message), "WwW.Example.");
    let mut kept = Vec::new();
    let other = question_for(2, &["www", "EXAMPLE"]);
    let carrier = Carrier::Datagram(4096);
    assert!(
        bench
            .dns
            .answer_at_once(&other, carrier, bench.now, &mut kept)
    );
    assert_eq!(owner(&kept), "www.EXAMPLE.");
    let mut names = Vec::new();
    bench.dns.lines(bench.now, |line, _| names.push(line.name));
    assert_eq!(names, ["WwW.Example"]);
}

#[test]
fn negative_answers_have_the_zone_in_the_clients_spelling() {
    let mut bench = Bench::new(&[1]);
    assert!(bench.ask(1, "a.example", RecordType::A).is_none());
    let sent = bench.sent().pop().expect("a question was sent");
    let soa = authority("eXaMpLe", 60, 60);
    let message = reply(&sent.message, ResponseCode::NXDomain, vec![], vec![soa]);
    bench.hear(&sent, &message);
    let (_, answer) = bench.answers().pop().expect("an answer");
    assert_eq!(answer.authorities[0].name.to_ascii(), "example.");
}
