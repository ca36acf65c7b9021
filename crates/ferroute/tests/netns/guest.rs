//! A User Mode Linux guest with its own kernel, for peers that the machine's kernel may lack: GRE, IPIP, SIT, ESP and
//! AH. The guest sees the machine's files read-only, except for its own folder, which is `/mnt` in the guest. It runs a
//! shell that executes scripts of the test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use lab::Lab;

use crate::world::{self, Folder};

mod xstate;

const KERNEL: &str = "/usr/bin/linux.uml";
const MODULES: &str = "/usr/lib/uml/modules";
/// Prefix of the guest's line with the exit status of a script.
const END: &str = "script-ended";

/// Interval of empty input lines while a script prints nothing. The guest's kernel learns of console input by SIGIO and
/// misses one signal in thousands; the next input makes it read all.
const NUDGE: Duration = Duration::from_secs(1);

/// Maximum number of consecutive nudges without output.
const PATIENCE: usize = 120;

/// A running guest.
pub(crate) struct Guest {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    pub(crate) folder: Folder,
}

/// Init script of the guest. Since Linux 6.11 `hostfs` takes the folder as a named option, before that without a name.
const INIT: &str = "#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs run /run; mount -t tmpfs tmp /tmp
mkdir -p /run/kernel/lib; ln -s MODULES /run/kernel/lib/modules
printf '#!/bin/sh\\nexec modprobe -d /run/kernel \"$@\"\\n' > /run/kernel/modprobe; chmod 755 /run/kernel/modprobe
echo /run/kernel/modprobe > /proc/sys/kernel/modprobe
mount -t hostfs folder /mnt -o hostfs=FOLDER 2>/dev/null || mount -t hostfs folder /mnt -o FOLDER
stty -echo 2>/dev/null
ip link set lo up
exec env PS1= PS2= sh 2>&1
";

/// Starts a guest on a device of a host. Skips the test and returns `None` if User Mode Linux is missing or fails.
pub(crate) fn guest(
    test: &str,
    lab: &Lab,
    (host, device): (&str, &str),
    folder: Folder,
) -> Option<Guest> {
    let skip = |why: &str| {
        lab::testing::skip(test, why);
        None
    };
    if !Path::new(KERNEL).exists() {
        return skip("user-mode-linux is not installed");
    }
    match Guest::start(lab, host, device, folder) {
        Ok(guest) => Some(guest),
        Err(why) => skip(&format!("the guest's kernel does not start here: {why}")),
    }
}

impl Guest {
    /// Boots a guest and waits for its shell. On failure, returns the last lines of the guest.
    fn start(lab: &Lab, host: &str, device: &str, folder: Folder) -> Result<Self, String> {
        let mut command = Self::command(lab, host, device, &folder)?;
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(String::from("it has no console"));
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            let mut all = BufReader::new(output).lines().map_while(Result::ok);
            all.try_for_each(|line| sender.send(line))
        });
        let mut guest = Self {
            child,
            input,
            lines,
            folder,
        };
        match guest.tell("echo it runs") {
            (says, true) if says.contains("it runs") => Ok(guest),
            (says, _) => Err(says),
        }
    }

    /// Creates the guest's files in its folder, and returns the command that boots the guest.
    fn command(lab: &Lab, host: &str, device: &str, folder: &Folder) -> Result<Command, String> {
        let init = folder.file("init");
        let path = init.with_file_name("").display().to_string();
        let text = INIT.replace("MODULES", MODULES).replace("FOLDER", &path);
        let executable = fs::Permissions::from_mode(0o755);
        fs::write(&init, text)
            .and_then(|()| fs::set_permissions(&init, executable))
            .map_err(|error| format!("{}: {error}", init.display()))?;
        let library = folder.file("xstate.so");
        xstate::compile(&library)?;
        let argv = [
            format!("env LD_PRELOAD={} {KERNEL} mem=192M", library.display()),
            "root=/dev/root rootfstype=hostfs rootflags=/ ro quiet loglevel=1".to_owned(),
            format!("init={} uml_dir={path}", init.display()),
            "con=null con0=fd:0,fd:1".to_owned(),
            format!("vec0:transport=raw,ifname={device},depth=64,gro=0"),
        ]
        .join(" ");
        let argv: Vec<_> = argv.split_whitespace().map(str::to_owned).collect();
        let command = lab.command_line(host, &argv);
        let mut command = command.map_err(|error| error.to_string())?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).env("TMPDIR", &path);
        Ok(command)
    }

    /// Runs a script in the guest. Returns its output, and true if it succeeded.
    pub(crate) fn tell(&mut self, script: &str) -> (String, bool) {
        let told = write!(
            self.input,
            "(set -e\n{script}\n); code=$?; echo; echo {END} $code\n"
        );
        if told.and_then(|()| self.input.flush()).is_err() {
            return (String::from("the guest is gone"), false);
        }
        let mut said = String::new();
        while let Some(line) = self.line() {
            // Input typed before the console's echo is off comes back as output; that line has no exit status.
            let code = line
                .split_once(END)
                .map(|(_, code)| code.trim().parse::<i32>());
            if let Some(Ok(code)) = code {
                return (said, code == 0);
            }
            said.push_str(&line);
            said.push('\n');
        }
        said.push_str("the guest is gone, or silent");
        (said, false)
    }

    /// Returns the next line of the guest's output; `None` if the guest has ended or hangs.
    fn line(&mut self) -> Option<String> {
        for _ in 0..PATIENCE {
            match self.lines.recv_timeout(NUDGE) {
                Ok(line) => return Some(line),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => _ = self.input.write_all(b"\n"),
            }
        }
        None
    }

    /// Runs a script, which must succeed. Returns its output.
    pub(crate) fn run(&mut self, script: &str) -> String {
        let (said, works) = self.tell(script);
        assert!(works, "{script}\n{said}");
        said
    }

    /// Runs a script. Returns true if it succeeded.
    pub(crate) fn works(&mut self, script: &str) -> bool {
        self.tell(script).1
    }

    /// Waits until no process of the programs is left. On failure, shows the guest's processes and log files.
    pub(crate) fn wait_for_end(&mut self, programs: &str) {
        let ended = world::holds_within(world::PATIENCE, || {
            !self.works(&format!("pidof {programs}"))
        });
        if !ended {
            let (state, _) = self.tell("ps -eo pid,ppid,stat,wchan:20,args; tail -n 30 /mnt/*.log");
            panic!(
                "{programs}: still there after {:?}\n{state}",
                world::PATIENCE
            );
        }
    }

    /// Loads modules of the guest's kernel.
    pub(crate) fn load(&mut self, modules: &str) {
        self.run(&format!(
            "for one in {modules}; do modprobe -d /run/kernel $one || exit 1; done"
        ));
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // The guest's kernel shuts down by SysRq; the process is killed if it does not react.
        _ = writeln!(self.input, "echo o > /proc/sysrq-trigger");
        _ = self.input.flush();
        while self.line().is_some() {}
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
