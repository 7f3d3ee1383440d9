//! A machine of QEMU's with the system's own kernel and its modules, in which a test of this program runs once more.
//! Refuses a disk and a network: all that it knows is in memory, and ends with it.

use super::{HELENUS, PATIENCE};
use helenus_cluster::env::Env;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Longest life: the processor is emulated.
const LIFE: std::time::Duration = PATIENCE.saturating_mul(3);

/// Set inside.
const INSIDE: &str = "HELENUS_TEST_MACHINE";

/// What the console says where the test held.
const PASSED: &str = "the test in the machine held";

const CURE: &str =
    "apt-get install qemu-system-x86 busybox-static cpio binutils linux-image-cloud-amd64";

/// Memory of one of several NUMA nodes.
const NODE_MIB: u32 = 768;

/// One at a time: each emulates two processors.
static ALONE: Mutex<()> = Mutex::new(());

/// What is missing for a machine.
#[derive(Debug)]
pub(crate) struct Lacks {
    /// What.
    pub(crate) what: String,
    /// What installs it.
    pub(crate) cure: &'static str,
}

/// How a machine ended.
#[derive(Debug)]
pub(crate) struct End {
    /// Whether the test held.
    pub(crate) passed: bool,
    /// What the console said.
    pub(crate) console: String,
}

/// Whether this is inside such a machine.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the test of that name in a machine whose kernel has loaded these modules; it has so many NUMA nodes.
pub(crate) fn run(test: &str, modules: &[&str], numa: u32) -> Result<End, Lacks> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Lacks {
            what: "machines for tests are x86_64 ones".into(),
            cure: "run the test on x86_64",
        });
    }
    let lacks = |what: String| Lacks { what, cure: CURE };
    let env = Env::of_process();
    let program = |name: &str| {
        let found = env.find_program(name);
        found.ok_or_else(|| lacks(format!("there is no {name}")))
    };
    let (qemu, busybox) = (program("qemu-system-x86_64")?, program("busybox")?);
    for tool in ["cpio", "strip", "ldd", "setpriv"] {
        program(tool)?;
    }
    let (kernel, modules) = kernel(modules)
        .ok_or_else(|| lacks("there is no kernel with these modules in /boot".into()))?;
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    furnish(&root, &busybox, &modules, test);
    let image = folder.path().join("image");
    pack(&root, &image);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let said = folder.path().join("said");
    let file = fs_err::File::create(&said).expect("a file");
    let file = file.into_parts().0;
    // It ends with the test, also where that is killed, and lets tests that measure beside it go first; so it may come late to
    // its own timer, which the kernel must not take for a broken one.
    let child = Command::new("setpriv")
        .args(["--pdeathsig", "KILL", "nice", "-n", "5"])
        .arg(qemu)
        .args(["-accel", "tcg"])
        .args(shape(numa))
        .args(["-nodefaults", "-nographic", "-no-reboot"])
        .args(["-serial", "stdio", "-kernel"])
        .arg(kernel)
        .arg("-initrd")
        .arg(&image)
        .args(["-append", "console=ttyS0 quiet panic=-1 no_timer_check"])
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("the file once more"))
        .stderr(file)
        .spawn();
    let mut child = Ended(child.expect("QEMU"));
    let begin = Instant::now();
    while child.0.try_wait().expect("a state").is_none() && begin.elapsed() < LIFE {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    drop(child);
    let said = fs_err::read(&said).unwrap_or_default();
    let console = String::from_utf8_lossy(&said).into_owned();
    Ok(End {
        // A test that is not there would end well, too.
        passed: console.contains(PASSED) && console.contains("1 passed"),
        console,
    })
}

/// Two processors in one NUMA node, or one in each of several.
fn shape(numa: u32) -> Vec<String> {
    let mut words: Vec<String> = match numa {
        1 => ["-m", "1024", "-smp", "2"].map(str::to_owned).to_vec(),
        _ => vec![
            "-m".into(),
            format!("{}", numa * NODE_MIB),
            "-smp".into(),
            numa.to_string(),
        ],
    };
    for node in (0..numa).filter(|_| numa > 1) {
        words.extend([
            "-object".into(),
            format!("memory-backend-ram,id=m{node},size={NODE_MIB}M"),
            "-numa".into(),
            format!("node,nodeid={node},cpus={node},memdev=m{node}"),
        ]);
    }
    words
}

/// A child that has ended once this is gone.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _already_gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// The newest kernel that has all of these as modules or built in, and the modules' files in the order in which they are
/// to be loaded.
fn kernel(wanted: &[&str]) -> Option<(PathBuf, Vec<PathBuf>)> {
    let boot = fs_err::read_dir("/boot").ok()?.flatten();
    let mut releases: Vec<String> = boot
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_prefix("vmlinuz-").map(str::to_owned)
        })
        .collect();
    let numbers = |release: &String| -> Vec<u32> {
        let parts = release.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|part| part.parse().ok()).collect()
    };
    releases.sort_by_key(numbers);
    releases.into_iter().rev().find_map(|release| {
        let modules = modules(&release, wanted)?;
        Some((format!("/boot/vmlinuz-{release}").into(), modules))
    })
}

fn modules(release: &str, wanted: &[&str]) -> Option<Vec<PathBuf>> {
    let folder = Path::new("/lib/modules").join(release);
    let read = |name: &str| fs_err::read_to_string(folder.join(name)).ok();
    let (depends, built_in) = (read("modules.dep")?, read("modules.builtin")?);
    let is = |path: &str, name: &str| {
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default().replace('-', "_") == name
    };
    let mut files = Vec::new();
    for name in wanted {
        if built_in.lines().any(|path| is(path, name)) {
            continue;
        }
        let line = depends.lines().find(|line| {
            let path = line.split(':').next().unwrap_or_default();
            is(path, name)
        })?;
        let (module, needs) = line.split_once(':')?;
        // What is needed first stands last.
        for file in needs.split_whitespace().rev().chain([module]) {
            let file = folder.join(file);
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    Some(files)
}

/// Lays out the machine's root: programs, what they load, modules, and what runs first.
fn furnish(root: &Path, busybox: &Path, modules: &[PathBuf], test: &str) {
    for folder in ["bin", "dev", "proc", "sys", "tmp", "modules"] {
        fs_err::create_dir_all(root.join(folder)).expect("a folder");
    }
    fs_err::copy(busybox, root.join("bin/busybox")).expect("busybox");
    let own = std::env::current_exe().expect("this program");
    let mut shared = BTreeSet::new();
    for program in [&own, Path::new(HELENUS), &super::fake_node()] {
        let there = place(root, program);
        let mut strip = Command::new("strip");
        let done = strip.arg("-o").arg(&there).arg(program).status();
        assert!(done.expect("strip").success());
        let said = Command::new("ldd").arg(program).output().expect("ldd");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let paths = said.split_whitespace().filter(|w| w.starts_with('/'));
        shared.extend(paths.map(PathBuf::from));
    }
    for library in shared {
        fs_err::copy(&library, place(root, &library)).expect("a library");
    }
    let mut load = String::new();
    for (number, module) in modules.iter().enumerate() {
        let name = module.file_name().expect("a name").to_string_lossy();
        let name = format!("modules/{number}-{name}");
        fs_err::copy(module, root.join(&name)).expect("a module");
        load.push_str(&format!("insmod /{name}\n"));
    }
    let first = format!(
        "#!/bin/busybox sh\n\
         /bin/busybox --install -s /bin\n\
         export PATH=/bin HOME=/tmp {INSIDE}=1\n\
         mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; ip link set lo up\n\
         {load}\
         timeout {} {} --exact {test} && echo {PASSED}\n\
         poweroff -f\n",
        LIFE.as_secs(),
        own.display()
    );
    let init = root.join("init");
    fs_err::write(&init, first).expect("a script");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs_err::set_permissions(&init, executable).expect("an executable file");
}

/// Where a file of that path stands in the machine; its folder is there.
fn place(root: &Path, path: &Path) -> PathBuf {
    let place = root.join(path.strip_prefix("/").expect("a whole path"));
    fs_err::create_dir_all(place.parent().expect("a folder")).expect("folders");
    place
}

fn pack(root: &Path, image: &Path) {
    let done = Command::new("sh")
        .args(["-c", "find . | cpio --quiet -o -H newc > \"$0\""])
        .arg(image)
        .current_dir(root)
        .status()
        .expect("a shell");
    assert!(done.success());
}
