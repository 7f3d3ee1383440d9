//! Flags of a production's JVM, by themselves or as options of an operator: which of them a node here can have.
//! Refuses sizes, paths, agents, and flags that some Java in use does not start with.

use super::ManifestError;
use super::draft::{Draft, Jvm};
use super::read::{At, jvm_size};
use crate::cells::rows;
use crate::like::{Class, Difference};

/// Options of both operators, with the flag that each stands for: one that ends in `=`, or is a size, takes the value.
fn known_options() -> Vec<(Vec<&'static str>, &'static str)> {
    let rows = rows::<2>(include_str!("../../../data/like/options.tsv"));
    rows.map(|[flag, names]| (names.split(' ').collect(), flag))
        .collect()
}

/// Options that are lists of flags.
const LISTS: [&str; 4] = [
    "additionalOptions",
    "additionalJvmServerOptions",
    "additionalJvm11ServerOptions",
    "additional-jvm-opts",
];

/// Options that name a collector.
const COLLECTOR: [&str; 2] = ["gc", "garbage_collector"];

/// Flags that begin with `-XX:` and that Java 8, 11 and 17 take, each with any collector.
const KEPT: [&str; 30] = [
    "CrashOnOutOfMemoryError",
    "DisableExplicitGC",
    "ExitOnOutOfMemoryError",
    "ExplicitGCInvokesConcurrent",
    "G1HeapWastePercent",
    "G1MixedGCCountTarget",
    "G1RSetUpdatingPauseTimePercent",
    "G1ReservePercent",
    "InitiatingHeapOccupancyPercent",
    "MaxGCPauseMillis",
    "MaxTenuringThreshold",
    "ParallelRefProcEnabled",
    "PerfDisableSharedMem",
    "PreserveFramePointer",
    "ResizeTLAB",
    "RestrictContended",
    "SoftRefLRUPolicyMSPerMB",
    "SurvivorRatio",
    "TargetSurvivorRatio",
    "UnlockDiagnosticVMOptions",
    "UnlockExperimentalVMOptions",
    "UseG1GC",
    "UseNUMA",
    "UseParallelGC",
    "UseSerialGC",
    "UseShenandoahGC",
    "UseStringDeduplication",
    "UseTLAB",
    "UseThreadPriorities",
    "UseZGC",
];

/// Sizes and numbers of threads of another machine, behind `-XX:`.
const SIZES: [&str; 19] = [
    "ActiveProcessorCount",
    "AlwaysPreTouch",
    "CICompilerCount",
    "ConcGCThreads",
    "G1HeapRegionSize",
    "InitialHeapSize",
    "InitialRAMPercentage",
    "MaxDirectMemorySize",
    "MaxHeapSize",
    "MaxMetaspaceSize",
    "MaxNewSize",
    "MaxRAM",
    "MaxRAMPercentage",
    "MetaspaceSize",
    "MinRAMPercentage",
    "NewSize",
    "ParallelGCThreads",
    "ReservedCodeCacheSize",
    "StringTableSize",
];

/// Beginnings of properties that Helenus decides.
const OURS: [&str; 31] = [
    "cassandra-foreground",
    "cassandra-pidfile",
    "cassandra-rackdc.properties",
    "cassandra.allow_unsafe_join",
    "cassandra.config",
    "cassandra.initial_token",
    "cassandra.jmx.",
    "cassandra.join_ring",
    "cassandra.load_ring_state",
    "cassandra.logdir",
    "cassandra.metricsReporterConfigFile",
    "cassandra.native_transport_port",
    "cassandra.num_tokens",
    "cassandra.partitioner",
    "cassandra.replace_address",
    "cassandra.ring_delay_ms",
    "cassandra.rpc_port",
    "cassandra.seeds",
    "cassandra.skip_wait_for_gossip_to_settle",
    "cassandra.ssl_storage_port",
    "cassandra.start_native_transport",
    "cassandra.storage_port",
    "cassandra.storagedir",
    "cassandra.superuser_setup_delay_ms",
    "cassandra.system_distributed_replication",
    "cassandra.triggers_dir",
    "com.sun.management.jmxremote",
    "java.io.tmpdir",
    "java.library.path",
    "java.rmi.server.hostname",
    "logback.configurationFile",
];

/// Why a heap is not the file's.
pub(super) const HEAP: &str = "memory of another machine: the preset's heap; --heap sets another";
const SIZE: &str = "a size of another machine: the preset's";
const UNPROVEN: &str = "not every Java takes it; --jvm passes it on";
const CMS: &str = "Java 14 removed this collector: the preset's is in its place";

/// What becomes of a flag, and why.
fn judge(flag: &str) -> (Class, &'static str) {
    if flag.contains("$(") || flag.contains("${") {
        return (Class::NotHere, "it names a variable of the pod");
    }
    if let Some(rest) = flag.strip_prefix("-XX:") {
        let rest = rest.trim_start_matches(['+', '-']);
        return judge_xx(rest.split('=').next().unwrap_or(rest));
    }
    if let Some(rest) = flag.strip_prefix("-D") {
        let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
        return judge_property(name, value);
    }
    let begins = |with: &[&str]| with.iter().any(|with| flag.starts_with(with));
    match flag {
        "-ea" | "-da" => (Class::Kept, ""),
        _ if begins(&["-Xms", "-Xmx", "-Xmn"]) => (Class::Shrunk, HEAP),
        _ if begins(&["-Xss"]) => (Class::Shrunk, SIZE),
        _ if begins(&["-Xlog"]) => (Class::Replaced, "the node's own gc.log"),
        _ if begins(&["-javaagent:", "-agentlib:", "-agentpath:"]) => {
            (Class::NotHere, "an agent of another machine")
        }
        _ if begins(&["--add-", "-cp", "-classpath"]) => {
            (Class::Replaced, "the release's own modules and jars")
        }
        _ => (Class::NotHere, UNPROVEN),
    }
}

fn judge_xx(name: &str) -> (Class, &'static str) {
    if KEPT.contains(&name) {
        (Class::Kept, "")
    } else if SIZES.contains(&name) {
        (Class::Shrunk, SIZE)
    } else if name.contains("CMS") || matches!(name, "UseConcMarkSweepGC" | "UseParNewGC") {
        (Class::Refused, CMS)
    } else if name.starts_with("Print") || name.contains("GCLogFile") {
        (Class::Replaced, "the node's own gc.log")
    } else if name.starts_with("HeapDump") || name == "ErrorFile" {
        (Class::Replaced, "no heap is dumped")
    } else {
        (Class::NotHere, UNPROVEN)
    }
}

fn judge_property(name: &str, value: &str) -> (Class, &'static str) {
    if OURS.iter().any(|ours| name.starts_with(ours)) {
        (Class::Replaced, "decided by Helenus")
    } else if name == "cassandra.available_processors" {
        (
            Class::Shrunk,
            "processors of another machine; --cpus sets a limit",
        )
    } else if name.starts_with("javax.net.ssl.") {
        (Class::NotHere, "key stores of another machine")
    } else if value.starts_with(['/', '"']) || value.starts_with("file:") {
        (Class::NotHere, "a file of another machine")
    } else {
        (Class::Kept, "")
    }
}

/// Takes a flag: what passes on is returned, the heap is kept, and its fate is noted under `key`.
fn flag(draft: &mut Draft, key: &str, text: &str, jvm: &mut Jvm) -> Option<String> {
    let (class, why) = judge(text);
    let size = |begin: &str| text.strip_prefix(begin).and_then(jvm_size);
    jvm.heap = size("-Xmx").or(jvm.heap);
    jvm.new_heap = size("-Xmn").or(jvm.new_heap);
    draft.note_flag(key, text, class, why);
    (class == Class::Kept).then(|| text.to_owned())
}

/// Takes several flags in one text, as the option `name`.
pub(super) fn flags(draft: &mut Draft, (name, key): (&str, &str), text: &str, jvm: &mut Jvm) {
    let mut kept = Vec::new();
    for one in parted(text) {
        kept.extend(flag(draft, key, &one, jvm));
    }
    jvm.put(name, kept);
}

/// The flags of a text: each begins with a dash, and its value may have blanks in it.
fn parted(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match all.last_mut() {
            Some(last) if !word.starts_with('-') => {
                last.push(' ');
                last.push_str(word);
            }
            _ => all.push(word.to_owned()),
        }
    }
    all
}

/// Takes the options of an operator; those of the configuration builder have the JVM's own sizes.
pub(super) fn options(
    draft: &mut Draft,
    at: &At<'_>,
    builder: bool,
    jvm: &mut Jvm,
) -> Result<(), ManifestError> {
    let options = known_options();
    let known: Vec<&str> = options
        .iter()
        .flat_map(|(names, _)| names.iter().copied())
        .chain(LISTS)
        .chain(COLLECTOR)
        .collect();
    for (key, value) in at.entries()? {
        let option = options.iter().find(|(names, _)| names.contains(&key));
        if LISTS.contains(&key) {
            let mut kept = Vec::new();
            for item in value.items()? {
                for one in parted(item.text()?) {
                    kept.extend(flag(draft, &item.path, &one, jvm));
                }
            }
            jvm.put(key, kept);
        } else if COLLECTOR.contains(&key) {
            collector(draft, &value, jvm)?;
        } else if let Some((names, form)) = option {
            let kept = self::option(draft, &value, form, builder, jvm)?;
            jvm.put(names[0], kept.into_iter().collect());
        } else {
            draft.unread(key, &value, &known, "jvm");
        }
    }
    Ok(())
}

/// Takes one option by the form of its flag.
fn option(
    draft: &mut Draft,
    value: &At<'_>,
    form: &str,
    builder: bool,
    jvm: &mut Jvm,
) -> Result<Option<String>, ManifestError> {
    let flag = match form {
        "-Xmx" | "-Xms" | "-Xmn" | "-Xss" => {
            let size = value.size(builder)?;
            match form {
                "-Xmx" => jvm.heap = Some(size),
                "-Xmn" => jvm.new_heap = Some(size),
                _ => {}
            }
            format!("{form}{}", size.jvm())
        }
        _ if form.ends_with('=') => format!("{form}{}", value.text()?),
        _ => switched(form, value.yes()?),
    };
    let (class, why) = judge(&flag);
    let kept = (class == Class::Kept).then_some(flag);
    draft.note(value, class, kept.clone(), why);
    Ok(kept)
}

/// A flag that is on or off.
fn switched(form: &str, on: bool) -> String {
    match (form, on) {
        (_, true) => form.to_owned(),
        ("-ea", false) => "-da".to_owned(),
        (_, false) if form.contains(":+") => form.replace(":+", ":-"),
        (_, false) => form.replace(":-", ":+"),
    }
}

/// Java 11 has some collectors behind this lock, which later ones do not mind.
const UNLOCK: &str = "-XX:+UnlockExperimentalVMOptions";

/// Takes the name of a collector.
fn collector(draft: &mut Draft, value: &At<'_>, jvm: &mut Jvm) -> Result<(), ManifestError> {
    let flags: &[&str] = match value.text()? {
        "G1GC" => &["-XX:+UseG1GC"],
        "ZGC" => &[UNLOCK, "-XX:+UseZGC"],
        "Shenandoah" => &[UNLOCK, "-XX:+UseShenandoahGC"],
        _ => &[],
    };
    jvm.put(
        COLLECTOR[0],
        flags.iter().map(|f| (*f).to_owned()).collect(),
    );
    let (class, why) = match value.text()? {
        "Custom" => (Class::Kept, "the flags beside it choose the collector"),
        "CMS" => (Class::Refused, CMS),
        _ if flags.is_empty() => (Class::NotHere, UNPROVEN),
        _ => (Class::Kept, ""),
    };
    let now = flags.last().map(|flag| (*flag).to_owned());
    draft.push(Difference {
        key: value.path.clone(),
        class,
        was: Some(value.shown()),
        now,
        why: why.to_owned(),
    });
    Ok(())
}
