//! `prove hosts guest` and `join`: hosts that are machines of QEMU's, with systemd and kernels whose settings may be changed.
//! Refuses to run without root, QEMU and mmdebstrap, and leaves no guest behind.

use super::{Sheet, scripts};
use helenus_cluster::env::Env;
use helenus_cluster::jdk;
use helenus_model::release::Release;
use std::error::Error;
use std::path::Path;
use std::process::Command;

const GUEST: &str = include_str!("guest.sh");
const CHECKS: &str = include_str!("checks.sh");
const JOIN: &str = include_str!("join.sh");
const NUMA: &str = include_str!("numa.sh");

/// What is looked at on guests.
struct Part {
    /// How many guests.
    guests: usize,
    /// Start of the names of what is theirs on this machine, and their network.
    prefix: &'static str,
    net: &'static str,
    /// Memory of each in MiB, and its NUMA nodes.
    mib: &'static str,
    numa: &'static str,
    /// Each of its lines is a finding.
    script: &'static str,
}

/// `helenus hosts` on one guest.
pub(super) fn life(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let part = Part {
        guests: 1,
        prefix: "hg",
        net: "10.81.0",
        mib: "3072",
        numa: "1",
        script: CHECKS,
    };
    on_guests(sheet, &part, (helenus, home), &[])
}

/// `swarm.yml` on two guests, then the rendered stack.
pub(super) fn join(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let image = folder.path().join("image.tar");
    let made = Command::new(helenus)
        .args(["kube", "image", "--output"])
        .arg(&image)
        .env("HELENUS_HOME", home)
        .output()?;
    if !made.status.success() {
        return Err(String::from_utf8_lossy(&made.stderr).into_owned().into());
    }
    let part = Part {
        guests: 2,
        prefix: "hj",
        net: "10.82.0",
        mib: "2560",
        numa: "1",
        script: JOIN,
    };
    on_guests(sheet, &part, (helenus, home), &[("IMAGE", &image)])
}

/// Instances of real Cassandra on a guest with four NUMA nodes.
pub(super) fn numa(sheet: &mut Sheet, helenus: &Path, home: &Path) -> Result<(), Box<dyn Error>> {
    let cache = home.with_file_name("cache");
    let fetched = Command::new(helenus)
        .args(["releases", "fetch"])
        .env("HELENUS_CACHE", &cache)
        .env("HELENUS_HOME", home)
        .status()?;
    if !fetched.success() {
        return Err(format!("helenus releases fetch: {fetched}").into());
    }
    let found = jdk::find(&Env::of_process());
    let jdk = jdk::choose(Release::newest(), &found, None)?.jdk;
    let part = Part {
        guests: 1,
        prefix: "hn",
        net: "10.83.0",
        mib: "4096",
        numa: "4",
        script: NUMA,
    };
    let more = [("CACHE", cache.as_path()), ("JDK", jdk.home.as_path())];
    on_guests(sheet, &part, (helenus, home), &more)
}

fn on_guests(
    sheet: &mut Sheet,
    part: &Part,
    (helenus, home): (&Path, &Path),
    more: &[(&str, &Path)],
) -> Result<(), Box<dyn Error>> {
    let work = home.with_file_name("guest");
    fs_err::create_dir_all(&work)?;
    let script = |name: &str, text: &str| -> Result<_, Box<dyn Error>> {
        let path = work.join(format!("{}-{name}.sh", part.prefix));
        fs_err::write(&path, text)?;
        scripts::executable(&path)?;
        Ok(path)
    };
    let (guest, checks) = (script("guest", GUEST)?, script("checks", part.script)?);
    let folder = |number: usize| work.join(format!("{}{number}", part.prefix));
    let command = |program: &Path, number: usize| {
        let mut command = Command::new("bash");
        command
            .arg(program)
            .env("GUEST", folder(number))
            .env("GUEST_2", folder(2))
            .env("GUEST_NR", number.to_string())
            .env("GUEST_PREFIX", part.prefix)
            .env("GUEST_NET", part.net)
            .env("GUEST_MIB", part.mib)
            .env("GUEST_BASE", work.join("base"))
            .env("GUEST_SH", &guest)
            .env("HELENUS", helenus)
            .env("HELENUS_HOME", home)
            .env("GUEST_NUMA", part.numa)
            .envs(more.iter().copied())
            .envs((number > 1).then(|| ("GUEST_KEY", folder(1).join("key"))));
        command
    };
    let mut made = true;
    for number in 1..=part.guests {
        made = made && command(&guest, number).arg("up").status()?.success();
    }
    let tried = match made {
        true => scripts::findings(sheet, command(&checks, 1)).map(|_| ()),
        false => Err("guest.sh up failed".into()),
    };
    sheet.ran("the campaign", tried)?;
    let mut gone = true;
    for number in (1..=part.guests).rev() {
        gone &= command(&guest, number).arg("down").status()?.success();
    }
    sheet.found("no guest is left", gone, "", None)
}
