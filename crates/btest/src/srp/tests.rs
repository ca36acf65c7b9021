use super::*;

/// Decodes hexadecimal digits.
fn hex<const N: usize>(digits: &str) -> [u8; N] {
    assert_eq!(digits.len(), 2 * N);
    core::array::from_fn(|at| {
        u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).expect("it is hexadecimal")
    })
}

#[test]
fn the_first_vector_comes_out() {
    let salt = core::array::from_fn(|at| at as u8);
    let verifier = Verifier::of("admin", "test", salt);
    let i = identity("admin", "test", &salt);
    assert_eq!(
        i,
        hex("da0b7aee35dc0ce887e44e3f9fde36b229045b6df46578db86744d303f1efeac")
    );
    assert_eq!(
        verifier.gamma.x,
        hex("3fd0025b6105a3f5b1abb8e84067098af3927d9ea76d149c57c11832420b333b")
    );
    assert_eq!(verifier.gamma.parity, 0);

    let client = ClientKey::new([1; 32]);
    let server = ServerKey::new([2; 32], &verifier).expect("the verifier is good");
    let (a, b) = (client.public(), server.challenge().public);
    assert_eq!(
        a.x,
        hex("4bae9c1b86b688901a4ec45b37e30a05e64f5b40d4fc0c3f9c7113b70f24d19d")
    );
    assert_eq!(
        b.x,
        hex("0409f5827675bbf0ca8f6f1013f5a04aa63ad536b325afe1084d49630a580f81")
    );
    assert_eq!((a.parity, b.parity), (0, 0));

    let ours = client
        .proofs("admin", "test", server.challenge())
        .expect("good points");
    let theirs = server.proofs(a).expect("good points");
    for proofs in [ours, theirs] {
        assert_eq!(
            proofs.client,
            hex("45b1fce5e27334f169d16a8d3abf52d06e04bc5a388cd3714cf87dc53470046d")
        );
        assert_eq!(
            proofs.server,
            hex("b7b6287beaf24870c2ccc42f263c09b4072388fa37d5a35ca972018e5bfbfd4d")
        );
    }
}

#[test]
fn the_second_vector_comes_out() {
    let salt = hex("3cec65b834280a16c5480d7b5000e380");
    let verifier = Verifier::of("antar", "password", salt);
    let client = ClientKey::new(core::array::from_fn(|at| at as u8));
    let server = ServerKey::new(core::array::from_fn(|at| 32 + at as u8), &verifier);
    let server = server.expect("the verifier is good");
    let (a, b) = (client.public(), server.challenge().public);
    assert_eq!(
        a.x,
        hex("7b230cbb33a7891c067d6f4f936dddb2996ed6dbcc6ac45260706c1846b7aa2a")
    );
    assert_eq!(
        b.x,
        hex("702a64c4648af3ea0d7b84f2db465fa40c8db37572bdefbb12c29592e6eb2789")
    );
    assert_eq!((a.parity, b.parity), (1, 0));

    let ours = client
        .proofs("antar", "password", server.challenge())
        .expect("good points");
    let theirs = server.proofs(a).expect("good points");
    for proofs in [ours, theirs] {
        assert_eq!(
            proofs.client,
            hex("0a4fc8094433f1f8c85b0cf80ab01caee77a023bfc6023920260aa060fc817fd")
        );
        assert_eq!(
            proofs.server,
            hex("02b83612f24e5a45828286905d359d8bbf21c69e8a25d40574f9918982f434b2")
        );
    }
}

#[test]
fn captured_points_are_points() {
    let points = [
        "388a3736526a32e9874e92f8c3aaa118dacd71b6ab76fd72aac3f66a439bc8a101",
        "6cc9e31a79434a4051defd55cc8d6d3ceccd73191fa6831594625297fe5d891a00",
    ];
    for point in points {
        assert!(Public::parse(&hex(point)).lift().is_some(), "{point}");
    }
}

#[test]
fn both_ends_agree_for_verifiers_of_either_parity() {
    let mut parities = [0; 2];
    for number in 0..16u8 {
        let user = format!("user{number}");
        let verifier = Verifier::of(&user, "secret", [number; 16]);
        parities[usize::from(verifier.gamma.parity)] += 1;
        let client = ClientKey::new([number ^ 0xa5; 32]);
        let server = ServerKey::new([number ^ 0x5a; 32], &verifier).expect("it is good");
        let challenge = Challenge::parse(&server.challenge().to_bytes());

        let ours = client
            .proofs(&user, "secret", &challenge)
            .expect("good points");
        let theirs = server.proofs(client.public()).expect("good points");
        assert!(
            theirs.is_client(&ours.client) && ours.is_server(&theirs.server),
            "{user}"
        );

        let wrong = client
            .proofs(&user, "Secret", &challenge)
            .expect("good points");
        assert!(
            !theirs.is_client(&wrong.client) && !wrong.is_server(&theirs.server),
            "{user}"
        );
    }
    assert!(parities.iter().all(|&count| count > 0), "{parities:?}");
}

#[test]
fn points_of_small_order_and_points_that_are_none_are_refused() {
    let verifier = Verifier::of("admin", "test", [0; 16]);
    let server = ServerKey::new([2; 32], &verifier).expect("it is good");
    let none = (0..=u8::MAX).map(|x| Public {
        x: [x; 32],
        parity: 0,
    });
    let none = none.filter(|public| public.lift().is_none()).take(4);
    for public in none {
        assert_eq!(server.proofs(&public).err(), Some(BadPoint));
        let salt = [0; SALT_LEN];
        let proofs = ClientKey::new([1; 32]).proofs("", "", &Challenge { public, salt });
        assert_eq!(proofs.err(), Some(BadPoint));
    }

    // A malicious server that omits its point: all clients would share one secret.
    let gamma = Verifier::of("admin", "test", [0; 16]).gamma;
    let public = Public::of(&hash_to_point(&gamma.x, 0));
    let challenge = Challenge {
        public,
        salt: [0; SALT_LEN],
    };
    let proofs = ClientKey::new([1; 32]).proofs("admin", "test", &challenge);
    assert_eq!(proofs.err(), Some(BadPoint));
}

#[test]
fn a_decoy_is_the_same_for_the_same_name_and_fits_no_password() {
    let decoy = Verifier::decoy("nobody", &[7; 32]);
    assert_eq!(decoy, Verifier::decoy("nobody", &[7; 32]));
    assert_ne!(decoy, Verifier::decoy("noone", &[7; 32]));
    assert_ne!(decoy, Verifier::decoy("nobody", &[8; 32]));
    assert_ne!(decoy, Verifier::of("nobody", "", decoy.salt));
    assert!(ServerKey::new([1; 32], &decoy).is_ok());
}

#[test]
fn numbers_count_up_and_begin_again() {
    let mut number = [0xff; 32];
    increment(&mut number);
    assert_eq!(number, [0; 32]);
    number[31] = 0xff;
    increment(&mut number);
    assert_eq!(number[30..], [1, 0]);
}

#[test]
fn a_verifier_is_read_as_it_was_written() {
    let verifier = Verifier::of("admin", "test", [0x5a; 16]);
    let text = verifier.to_text();

    assert_eq!(Verifier::from_text(&text), Some(verifier));
    assert_eq!(Verifier::from_text(&text[1..]), None);
    assert_eq!(Verifier::from_text(&text.replace('5', "g")), None);
}
