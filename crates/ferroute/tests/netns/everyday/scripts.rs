//! Checks of scripts written like public libraries: an imported file of settings and functions.

use super::Everyday;

/// Constructs of script libraries. The router has 192.168.88.1 and serves its own page there.
const LIBRARY: &str = r#"
# Settings, with comments between them.
:global LibSources {
  "good"={
#    { url="https://a.example/one" };
    { url="http://192.168.88.1/";
#     # weight of the source
      weight= 7 };
  };
#  "off"={ { url="https://b.example/" } };
};
:global LibShow do={
  :if ([:len $1] = 0) do={ :set $1 "default" } else= {
    :set $2 {a=1;b=2}
  }
  :return "$1 $[:tostr $2]"
}
:local list ( "a", "b", \ 
  "c" )
:put "$[:len $list] $[$LibShow] $[$LibShow x]"
:if ([/ping 192.168.88.1 count=1] = 0) do={ :put lost } else= { :put reached }
:foreach Name,Sources in=$LibSources do={
  :foreach Source in=$Sources do={
    :onerror Err {
      :local Page [/tool/fetch url=($Source->"url") output=user as-value \
        http-header-field=({ "User-Agent: Library/1 (https://lib.example/; a, b)" })]
      :put "$Name $($Source->"weight") $($Page->"status")"
    } do={ :put "failed: $Err" }
  }
}
:do { /disk/add slot=libtmp type=tmpfs tmpfs-max-size=1M } on-error={}
:delay 100ms
/file/add name="libtmp/job" type="directory"
/file/add name="libtmp/job/a.txt" contents="hello"
:put [/file/get "libtmp/job/a.txt" contents]
/file/remove "libtmp/job"
:put [:len [/file/find where name~"^libtmp/"]]
/disk/remove [find where slot=libtmp]
/system/script/environment/remove [find where name~"^Lib"]
"#;

/// Output of the library, without the lines of the echo reply.
const PRINTED: [&str; 6] = [
    "3 default  x a=1;b=2",
    "reached",
    "good 7 finished",
    "hello",
    "0",
    "Script file loaded and executed successfully",
];

pub(super) fn a_script_library_loads_and_runs(everyday: &Everyday) {
    let router = everyday.router();
    let escaped = LIBRARY.replace('\\', "\\\\").replace('"', "\\\"");
    let escaped = escaped.replace('$', "\\$").replace('\n', "\\n");
    router.exec(&format!(
        "/file/add name=library.rsc contents=\"{escaped}\""
    ));

    let printed = router.exec("/import library.rsc");
    router.exec("/file/remove library.rsc");

    let lines: Vec<_> = printed
        .lines()
        .filter(|line| PRINTED.contains(line))
        .collect();
    assert_eq!(lines, PRINTED, "{printed}");
}
