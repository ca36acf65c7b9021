use super::{Crate, Sources};

/// Returns the imports of a crate of these files, as `importer > imported` without folder and endings, and the size of
/// its largest circle.
fn imports(files: &[(&str, &str)]) -> (Vec<String>, usize) {
    let sources: Sources<'_> = files.iter().copied().collect();
    let read = Crate::read(&sources, "src/lib.rs");
    let short = |file: usize| read.files[file]["src/".len()..].replace(".rs", "");
    let imports = read.imports();
    let imports = (0..).zip(&imports).flat_map(|(from, targets)| {
        targets
            .keys()
            .map(move |target| format!("{} > {}", short(from), short(*target)))
    });
    (imports.collect(), read.largest_circle().len())
}

#[test]
fn re_exports_lead_to_the_file_of_the_definition() {
    let (imports, circle) = imports(&[
        ("src/lib.rs", "mod a; mod b;"),
        (
            "src/a/mod.rs",
            "mod c; mod d; pub use c::C; pub(crate) use self::d::D as E; use std::a::B;",
        ),
        (
            "src/a/c.rs",
            "pub struct C; use crate::b::{self, call as run}; fn f() { run(); b::g() }",
        ),
        ("src/a/d.rs", "pub struct D;"),
        (
            "src/b.rs",
            "use crate::a; pub fn call() -> a::C { super::a::E::new() } pub fn g() {}",
        ),
    ]);

    assert_eq!(imports, ["a/c > b", "b > a/c", "b > a/d"]);
    assert_eq!(circle, 2);
}

#[test]
fn a_re_export_that_its_own_file_uses_is_an_import() {
    let (imports, circle) = imports(&[
        ("src/lib.rs", "mod a; pub use a::A; pub type B = A;"),
        ("src/a.rs", "pub struct A(crate::B);"),
    ]);

    assert_eq!(imports, ["lib > a", "a > lib"]);
    assert_eq!(circle, 2);
}

#[test]
fn tests_and_declarations_of_modules_are_no_imports() {
    let (imports, circle) = imports(&[
        (
            "src/lib.rs",
            "mod a; #[cfg(test)] mod tests; #[cfg(test)] mod rig; pub fn f() {}",
        ),
        (
            "src/a.rs",
            "#[cfg(test)]\n#[allow(x)]\nfn g<A, B>() { crate::f() } pub struct A;
            #[cfg(test)] mod tests { use super::*; use crate::rig::R; }",
        ),
        ("src/rig.rs", "pub struct R(crate::a::A);"),
        ("src/tests.rs", "use crate::a::A;"),
    ]);

    assert_eq!((imports, circle), (Vec::new(), 0));
}

#[test]
fn blocks_of_modules_and_globs_are_followed() {
    let (imports, circle) = imports(&[
        (
            "src/lib.rs",
            "mod a; mod d; mod b { pub mod c { pub fn f() {} pub use crate::a::*; } }",
        ),
        ("src/a.rs", "pub struct A; fn g() { crate::b::c::f() }"),
        ("src/d.rs", "use crate::b::c::*; use ::a::B; fn h(a: A) {}"),
        ("src/x.rs", "use crate::a::A;"),
    ]);

    assert_eq!(imports, ["a > lib", "d > a"]);
    assert_eq!(circle, 0);
}

#[test]
fn the_imports_of_a_circle_are_listed_by_name() {
    let sources: Sources<'_> = [
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::{b::B, c::C}; pub struct A;"),
        ("src/b.rs", "pub struct B(super::a::A);"),
        ("src/c.rs", "pub struct C;"),
    ]
    .into();
    let read = Crate::read(&sources, "src/lib.rs");

    assert_eq!(
        read.within(&read.largest_circle()),
        [
            "src/a.rs imports src/b.rs: crate::b::B",
            "src/b.rs imports src/a.rs: super::a::A"
        ]
    );
}
