//! Tests file transfers: SFTP and SCP with OpenSSH's commands, REST with curl.

use std::fs;

use lab::Lab;

use crate::bridge::THREE;
use crate::ssh::start;
use crate::world::{Folder, Router, have, lab, output, shell, text, until};

/// Returns binary content that needs more than one part.
fn contents() -> Vec<u8> {
    (0..=255).cycle().take(300_000).collect()
}

#[test]
fn files_are_transferred_by_sftp_scp_and_rest() {
    let test = "files_are_transferred_by_sftp_scp_and_rest";
    let needs = ["sftp", "scp", "ssh", "ssh-keygen", "curl"];
    let Some(lab) = have(test, &needs).then(|| lab(test, &THREE)).flatten() else {
        return;
    };
    let folder = Folder::new();
    let (router, options) = start(&lab, &folder);
    let local = folder.file("local");
    fs::write(&local, contents()).expect("a file");
    let path = |name: &str| folder.file(name).to_str().expect("UTF-8").to_owned();
    let (local, back) = (path("local"), path("back"));
    let batch = path("batch");
    let sftp = |commands: &str| {
        fs::write(&batch, commands).expect("a file");
        output(
            &lab,
            "one",
            &format!("sftp -b {batch} {options} joe@192.0.2.1"),
        )
    };
    until("joe moves files", || sftp("ls\n").status.success());

    let moved = sftp(&format!(
        "mkdir /d\nput {local} /d/up.bin\nrename /d/up.bin /d/b.bin\nls -l /d\nget /d/b.bin {back}\n"
    ));
    assert!(moved.status.success(), "{}", text(&moved.stderr));
    assert!(
        text(&moved.stdout).contains("300000"),
        "{}",
        text(&moved.stdout)
    );
    assert_eq!(fs::read(&back).expect("it came"), contents());
    assert!(sftp("rm /d/b.bin\nrmdir /d\n").status.success());
    assert!(!sftp("get /d/b.bin /tmp/none\n").status.success());

    for old in ["", "-O"] {
        shell(
            &lab,
            "one",
            &format!("scp {old} {options} {local} joe@192.0.2.1:/s.bin"),
        );
        shell(
            &lab,
            "one",
            &format!("scp {old} {options} joe@192.0.2.1:/s.bin {back}"),
        );
        assert_eq!(fs::read(&back).expect("it came"), contents(), "{old}");
        router.exec("/file remove s.bin");
    }
    by_rest(&lab, &router, &local, &back);
    assert!(router.stop().success());
}

fn by_rest(lab: &Lab, router: &Router, local: &str, back: &str) {
    router.exec("/user group add name=mover policy=ftp,read,rest-api,!write,!sensitive");
    router.exec("/user add name=max group=mover password=secret");
    router.exec("/user add name=rita group=read password=secret");
    let status = |user: &str, what: &str| {
        let line = format!("curl -s -o {back} -w %{{http_code}} -u {user}:secret {what}");
        text(&output(lab, "one", &line).stdout)
    };
    let url = "http://192.0.2.1/rest/file";
    let bytes = "application/octet-stream";
    let put = format!("-X PUT -H Content-Type:{bytes} --data-binary @{local} {url}/r.bin");
    let get = format!("-H Accept:{bytes} {url}/r.bin");
    until("curl reaches the router", || status("joe", &get) == "404");
    assert_eq!(status("joe", &put), "201");
    assert_eq!(status("joe", &get), "200");
    assert_eq!(fs::read(back).expect("it came"), contents());
    // Policies: `ftp` for transfers, `write` for creating files, `sensitive` for files that may contain secrets.
    assert_eq!(status("rita", &get), "403");
    assert_eq!(status("max", &put), "403");
    router.exec("/export file=all show-sensitive");
    assert_eq!(
        status("max", &format!("-H Accept:{bytes} {url}/all.rsc")),
        "403"
    );
    assert_eq!(
        status("joe", &format!("-H Accept:{bytes} {url}/all.rsc")),
        "200"
    );
    // Without the binary content type, a request of the path returns the file's row.
    assert_eq!(status("joe", &format!("{url}/r.bin")), "200");
    assert!(
        fs::read_to_string(back)
            .expect("it came")
            .contains("\"size\":\"300000\"")
    );
}
