use std::io::Read;
fn main() {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    let mut store = schema::store();
    let m = store.begin();
    for p in ["ether1", "ether2", "ether3"] {
        store.ensure_port(p, Some([2, 0, 0, 0, 0, 1])).unwrap();
    }
    store.commit(m).unwrap();
    let mut live = menu::Offline;
    let mut s = script::Session::new("admin");
    for line in text.split("\n%\n") {
        println!("[admin@x] {}> {}", s.prompt_path(), line);
        let mut out = String::new();
        let r = script::run(&mut store, &mut live, &mut s, line, &mut out);
        print!("{out}");
        if let Err(e) = r {
            println!("{e}   @{:?}", e.at);
        }
    }
}
