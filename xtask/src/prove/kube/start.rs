//! `prove kube start`: the same tiny node as a pod and by `helenus up`, from the start of its process to the first reply.
//! Refuses to time kubectl: both clocks are the kernel's, and both knock from this machine.

use super::super::campaign::{Outcome, order};
use super::super::rig::{self, Rig};
use super::super::{QUIET_WITHIN, REPEATS, host, start as by_up};
use super::Tried;
use super::lab::{Lab, left};
use super::running::{Running, Sight};
use super::sheet::{Sheet, Verdict};
use helenus_model::seed::Seed;
use helenus_model::stats::median;
use serde_json::{Value, json};
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// What it shows.
pub(super) const ABOUT: &str = "one tiny node as a pod against helenus up, start of its process to the first reply; size of the image";

const NAME: &str = "prove-start";

/// The image that the release binary makes.
const IMAGE: &str = "localhost/helenus-cassandra:prove";

/// The command that loads an image into the workers; the file is its last word.
const IMPORT: &str = "HELENUS_PROVE_IMPORT";

/// Most a pod may take, in times of `helenus up`.
const RATIO: f64 = 1.5;

/// Most megabytes of the image, compressed.
const MEGABYTES: f64 = 300.0;

/// Patience with one start, and with Kubernetes until a pod has an address.
const WITHIN: Duration = Duration::from_secs(300);

/// Where Cassandra listens in a pod.
const CQL_PORT: u16 = super::wan::CQL_PORT;

/// Both kinds.
const KINDS: [&str; 2] = ["up", "pod"];

/// Image, then rounds of both kinds in random order.
pub(super) fn run(lab: &Lab, sheet: &mut Sheet) -> Tried {
    lab.clear(NAME)?;
    let rig = Rig::open(&lab.root, true)?;
    if rig.helenus != lab.helenus {
        return Err("the release binary is wanted for both kinds".into());
    }
    by_up::prepare(&rig)?;
    let image = image(&rig, lab, sheet)?;
    let seed = Seed(host::now_unix());
    let mut walls: [Vec<f64>; 2] = Default::default();
    for round in 0..REPEATS {
        for kind in order(seed, round, KINDS.len()) {
            rustix::fs::sync();
            host::wait_for_quiet(QUIET_WITHIN)?;
            let what = format!("round {}, {}", round + 1, KINDS[kind]);
            let tried = match kind {
                0 => by_up::ours(&rig).map(|outcome| (outcome, json!({}))),
                _ => pod(lab, &image),
            };
            match tried {
                Ok((outcome, facts)) => {
                    let wall = outcome.measures["wall_s"];
                    walls[kind].push(wall);
                    let facts = json!({"kind": KINDS[kind], "round": round, "measures": outcome.measures, "pressure": outcome.pressure, "more": facts});
                    let said = format!(
                        "{wall:.3} s, load {}, steal {}",
                        outcome.pressure.load, outcome.pressure.steal
                    );
                    sheet.found(&what, Verdict::Noted, &said, &facts, None)?;
                }
                Err(error) => sheet.record(&what, Verdict::Fails, &error.to_string())?,
            }
        }
    }
    rig.clear()?;
    let [up, pod] = walls.map(|walls| median(&walls));
    let ratio = pod.zip(up).map(|(pod, up)| pod / up);
    let said = match (up, pod, ratio) {
        (Some(up), Some(pod), Some(ratio)) => {
            format!("medians: pod {pod:.3} s, up {up:.3} s; {ratio:.2} of at most {RATIO}")
        }
        _ => "one of the kinds was not measured".to_owned(),
    };
    let facts = json!({"up_s": up, "pod_s": pod, "ratio": ratio, "at_most": RATIO, "seed": seed.0, "image": image});
    let holds = ratio.is_some_and(|ratio| ratio <= RATIO);
    sheet.found(
        "a pod against helenus up",
        Verdict::of(holds),
        &said,
        &facts,
        None,
    )
}

/// Makes the image, records its size, and loads it where there is a command for that; answers what pods are to run.
fn image(rig: &Rig, lab: &Lab, sheet: &mut Sheet) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("image.tar");
    let path = file.display().to_string();
    let began = Instant::now();
    let made = rig.json(&["kube", "image", "--name", IMAGE, "-o", &path])?;
    let seconds = began.elapsed().as_secs_f64();
    let megabytes = (fs_err::metadata(&file)?.len() as f64 / 1e5).round() / 10.0;
    let holds = megabytes < MEGABYTES && made["archive"] == true;
    let said = format!("{megabytes} MB of less than {MEGABYTES}, made in {seconds:.1} s");
    let facts = json!({"megabytes": megabytes, "made_in_s": seconds, "made": made});
    sheet.found(
        "size of the image, compressed",
        Verdict::of(holds),
        &said,
        &facts,
        None,
    )?;
    let Ok(import) = std::env::var(IMPORT) else {
        println!("  {IMPORT} is not set: pods run {}", lab.image);
        return Ok(lab.image.clone());
    };
    let mut words = import.split_whitespace();
    let mut command = Command::new(words.next().ok_or_else(|| format!("{IMPORT} is empty"))?);
    command.args(words).arg(&file);
    Running::start(command)?.end(WITHIN)?.well(&import)?;
    Ok(IMAGE.to_owned())
}

/// One start as a pod.
fn pod(lab: &Lab, image: &str) -> Result<(Outcome, Value), Box<dyn Error>> {
    let watch = host::Watch::begin()?;
    let sight = Sight::of(&["pods", "-n", NAME], |pod| {
        pod["status"]["podIP"].is_string()
    })?;
    let began = Instant::now();
    let command = lab.up(NAME, &["--image", image, "--no-wait"]);
    let up = lab.start(&command)?;
    let measured = first_reply(&sight).and_then(|(reply, seen)| {
        let after = began.elapsed().as_secs_f64();
        let uid = seen["metadata"]["uid"].as_str().unwrap_or_default();
        let pid = java_of(Path::new("/proc"), uid).ok_or("no java in the pod on this machine")?;
        let measures = rig::measures_of(pid, reply)?;
        let pressure = watch.end(measures["cpu_s"])?;
        let facts = json!({"image": image, "since_the_command_s": after});
        Ok((Outcome { measures, pressure }, facts))
    });
    // What was applied is known, and can be removed, once the command has ended.
    let applied = up.end(WITHIN)?.well("kube up");
    let id = lab.id(NAME)?;
    lab.json(&["kube", "rm", NAME, "--volumes"])?;
    let remains = left(&id)?;
    applied?;
    match remains.is_empty() {
        true => measured,
        false => Err(format!("left: {}", remains.join(", ")).into()),
    }
}

/// The moment of the first reply, and the pod.
fn first_reply(sight: &Sight) -> Result<(Duration, Value), Box<dyn Error>> {
    let (_, seen) = sight.wait(WITHIN).ok_or("the pod has no address")?;
    let address: IpAddr = seen["status"]["podIP"]
        .as_str()
        .unwrap_or_default()
        .parse()?;
    let reply = rig::first_reply(SocketAddr::from((address, CQL_PORT)), WITHIN, || None)?;
    Ok((reply, seen))
}

/// The JVM among the processes of a pod: its control group has the pod's identity, with dashes or with underscores.
fn java_of(proc: &Path, uid: &str) -> Option<u32> {
    let names = [format!("pod{uid}"), format!("pod{}", uid.replace('-', "_"))];
    let mut processes = fs_err::read_dir(proc).ok()?.flatten();
    processes.find_map(|process| {
        let pid = process.file_name().to_string_lossy().parse().ok()?;
        let comm = fs_err::read_to_string(process.path().join("comm")).ok()?;
        (comm.trim() == "java").then_some(())?;
        let groups = fs_err::read_to_string(process.path().join("cgroup")).ok()?;
        names
            .iter()
            .any(|name| groups.contains(name))
            .then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_jvm_of_a_pod_is_found_by_the_pods_identity() {
        let proc = tempfile::tempdir().unwrap();
        let put = |pid: &str, comm: &str, group: &str| {
            let folder = proc.path().join(pid);
            fs_err::create_dir(&folder).unwrap();
            fs_err::write(folder.join("comm"), format!("{comm}\n")).unwrap();
            fs_err::write(folder.join("cgroup"), format!("0::/kubepods/{group}/x\n")).unwrap();
        };
        put("7", "pause", "burstable/podaa-bb");
        put("8", "java", "burstable/podaa-cc");
        put("9", "java", "burstable/podaa-bb");
        put("10", "java", "kubepods-burstable-poddd_ee.slice");
        put("self", "java", "podaa-bb");
        assert_eq!(java_of(proc.path(), "aa-bb"), Some(9));
        assert_eq!(java_of(proc.path(), "dd-ee"), Some(10));
        assert_eq!(java_of(proc.path(), "ff"), None);
    }
}
