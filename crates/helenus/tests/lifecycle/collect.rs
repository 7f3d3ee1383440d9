//! The archive of `collect`: what is in it is what was listed, and no secret.
//! Refuses to unpack it by its own code: `tar` does.

use crate::lab::TestLab;
use std::process::Command;

fn unpacked(lab: &TestLab, archive: &std::path::Path) -> String {
    let to = lab.path("unpacked");
    fs_err::create_dir_all(&to).expect("a folder");
    let done = Command::new("tar")
        .arg("-xzf")
        .arg(archive)
        .arg("-C")
        .arg(&to)
        .status();
    assert!(done.expect("tar").success());
    let listed = Command::new("sh")
        .args(["-c", "find . -type f | sort; find . -type f -exec cat {} +"])
        .current_dir(&to)
        .output();
    String::from_utf8_lossy(&listed.expect("a shell").stdout).into_owned()
}

#[test]
fn what_is_listed_is_packed_and_no_secret() {
    let lab = TestLab::fake("ready");
    lab.done(&[
        "up",
        "c",
        "-n",
        "2",
        "--jvm=-Dmy.password=hunter2",
        "--set",
        "concurrent_reads=7",
    ]);
    lab.done(&["up", "d"]);
    let out = lab.path("c.tar.gz");
    let to = out.to_string_lossy().into_owned();
    let dry = lab.json(&["collect", "c", "-o", &to, "--dry-run"]);
    assert!(!out.exists());
    let listed: Vec<&str> = dry["items"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["path"].as_str())
        .collect();
    for wanted in [
        "machine.toml",
        "doctor.json",
        "helenus.log",
        "clusters/c/cluster.json",
        "clusters/c/node2/conf/cassandra.yaml",
        "clusters/c/node1/launch.json",
        "clusters/c/node1/logs/console.log",
    ] {
        assert!(listed.contains(&wanted), "{wanted} in {listed:?}");
    }
    lab.done(&["collect", "c", "-o", &to]);
    let text = unpacked(&lab, &out);
    for path in &listed {
        assert!(text.contains(&format!("./helenus-c/{path}\n")), "{path}");
    }
    assert!(text.contains("concurrent_reads: 7"));
    assert!(text.contains("-Dmy.password=***") && !text.contains("hunter2"));
    assert!(!text.contains("clusters/d/"));
    let again = lab.run(&["collect", "c", "-o", &to]);
    assert_eq!(again.code, "2", "{again}");
    lab.done(&["collect", "c", "-o", &to, "--force"]);
    let all = lab.path("all.tar.gz").to_string_lossy().into_owned();
    // A cluster whose state cannot be read is named in the archive of all.
    fs_err::write(lab.cluster("d").join("cluster.json"), "{").expect("a file");
    let listed = lab.json(&["collect", "-o", &all]);
    let text = listed.to_string();
    assert!(
        text.contains("clusters/d/broken.txt") && text.contains("clusters/c/cluster.json"),
        "{text}"
    );
    let broken = lab.run(&["collect", "d", "-o", &all, "--force"]);
    assert_eq!(broken.code, "2", "{broken}");
}
