//! The texts beside cassandra.yaml that a node is started with, and the command line itself.
//! Refuses to write them anywhere.

use super::NodePlan;

/// logback.xml of a node: one plain file, rolled by size; nothing on the console, nothing asynchronous. The log is named
/// from the node's working directory: logback takes dollar signs, percent signs and backslashes for its own.
pub const LOGBACK: &str = r#"<configuration scan="false">
  <statusListener class="ch.qos.logback.core.status.NopStatusListener"/>
  <appender name="FILE" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>logs/system.log</file>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>logs/system.log.%i</fileNamePattern>
      <minIndex>1</minIndex>
      <maxIndex>3</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>20MB</maxFileSize>
    </triggeringPolicy>
    <encoder>
      <pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern>
    </encoder>
  </appender>
  <root level="INFO"><appender-ref ref="FILE"/></root>
  <logger name="org.apache.cassandra" level="INFO"/>
</configuration>
"#;

/// cassandra-rackdc.properties of a node.
pub fn rackdc(data_center: &str, rack: &str) -> String {
    format!("dc={data_center}\nrack={rack}\n")
}

/// The manifest of the launcher jar: class path, main class, and the module flags.
///
/// Module flags on the command line switch off the JVM's archived module graph; in a manifest they do not.
/// Lines are folded at 72 bytes, as the jar format wants.
pub fn launcher_manifest(main_class: &str, jars: &[String], module_flags: &[String]) -> String {
    let mut text = String::from("Manifest-Version: 1.0\r\n");
    let mut line = |key: &str, value: &str| {
        let whole = format!("{key}: {value}");
        let bytes = whole.as_bytes();
        // Coordinates and paths are ASCII or percent-encoded, so that bytes are characters.
        let mut start = 0;
        while start < bytes.len() {
            let room = if start == 0 { 70 } else { 69 };
            let end = (start + room).min(bytes.len());
            if start > 0 {
                text.push(' ');
            }
            text.push_str(&whole[start..end]);
            text.push_str("\r\n");
            start = end;
        }
    };
    line("Main-Class", main_class);
    line("Class-Path", &jars.join(" "));
    for (key, flag) in [
        ("Add-Opens", "--add-opens="),
        ("Add-Exports", "--add-exports="),
    ] {
        let packages: Vec<&str> = module_flags
            .iter()
            .filter_map(|f| f.strip_prefix(flag)?.strip_suffix("=ALL-UNNAMED"))
            .collect();
        line(key, &packages.join(" "));
    }
    text.push_str("\r\n");
    text
}

/// The URL of an absolute path; whatever is not plain in a URL is percent-encoded.
pub fn file_url(path: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
    let encoded: String = path
        .bytes()
        .map(|b| match b {
            b if plain(b) => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    format!("file://{encoded}")
}

/// Where the files of one launch are.
#[derive(Debug, Clone)]
pub struct LaunchFiles {
    /// The launcher jar.
    pub launcher: String,
    /// Class-data archive to use.
    pub archive: Option<String>,
    /// What a training start writes instead.
    pub train: Option<Training>,
    /// Feature number of the JDK, such as 17.
    pub jdk_feature: u32,
    /// Module flags of the release on this JDK; those that the launcher's manifest carries are left out.
    pub module_flags: Vec<String>,
}

/// The first JDK that writes an archive at exit (JEP 350).
const FIRST_WITH_ARCHIVE_AT_EXIT: u32 = 13;

/// The first JDK that may map an archive elsewhere than it was made for, which many builds of 17 and all from 20 on do
/// by default.
const FIRST_THAT_MOVES_ARCHIVES: u32 = 14;

/// The first JDK with one log for all of the JVM's parts (JEP 158).
const FIRST_WITH_UNIFIED_LOG: u32 = 9;

/// A node's log of collections and safepoints, in its folder (its working directory: a name that begins there needs
/// no escapes, whatever the folder is called). Beside it at most three older ones.
pub const GC_LOG: &str = "logs/gc.log";

/// Stamped with `System.nanoTime`, on Linux the kernel's monotonic clock: the one that a run's intervals use.
fn gc_log_flag() -> String {
    format!("-Xlog:gc*,safepoint:file={GC_LOG}:timenanos,tags:filecount=3,filesize=16m")
}

/// What a training start writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Training {
    /// The class-data archive itself, at exit.
    Archive(String),
    /// The names of the loaded classes, for a dump afterwards: what older JDKs can do.
    ClassList(String),
}

impl Training {
    /// What a JDK of this feature number can write; a class list lies beside the archive.
    pub fn on(jdk_feature: u32, archive: &str) -> Self {
        if jdk_feature >= FIRST_WITH_ARCHIVE_AT_EXIT {
            Self::Archive(archive.to_owned())
        } else {
            Self::ClassList(format!("{archive}.classlist"))
        }
    }
}

/// The arguments of `java` that dump an archive from a class list, with the flags that decide its layout.
pub fn dump_argv(jvm: &[String], list: &str, archive: &str, launcher: &str) -> Vec<String> {
    let mut argv: Vec<String> = jvm.iter().filter(|f| shapes_archive(f)).cloned().collect();
    argv.push("-Xshare:dump".into());
    argv.push(format!("-XX:SharedClassListFile={list}"));
    argv.push(format!("-XX:SharedArchiveFile={archive}"));
    argv.extend(["-cp".into(), launcher.to_owned()]);
    argv
}

/// Whether a JVM flag decides an archive's layout: the collector and compressed pointers do, sizes below 32 GB do not.
pub fn shapes_archive(flag: &str) -> bool {
    flag.contains("GC") || flag.contains("Compressed")
}

/// The whole command line of a node but for the path of `java`.
pub fn java_argv(node: &NodePlan, files: &LaunchFiles) -> Vec<String> {
    let folder = &node.folder;
    let mut argv = Vec::new();
    if let Some(archive) = &files.archive {
        argv.push("-Xshare:auto".into());
        argv.push(format!("-XX:SharedArchiveFile={archive}"));
        if files.jdk_feature >= FIRST_THAT_MOVES_ARCHIVES {
            // Where it was made for: moved elsewhere, each page of it is rewritten and becomes the process's own.
            argv.push("-XX:+UnlockDiagnosticVMOptions".into());
            argv.push("-XX:ArchiveRelocationMode=0".into());
        }
        // A stale archive is left aside without a word on the console; its use is recorded by the caller.
        argv.push("-Xlog:disable".into());
        argv.push("-Xlog:all=error:stderr".into());
    }
    match &files.train {
        Some(Training::Archive(path)) => argv.push(format!("-XX:ArchiveClassesAtExit={path}")),
        Some(Training::ClassList(path)) => {
            argv.push("-Xshare:off".into());
            argv.push(format!("-XX:DumpLoadedClassList={path}"));
        }
        None => {}
    }
    // A training start has nobody who would read it.
    if files.jdk_feature >= FIRST_WITH_UNIFIED_LOG && files.train.is_none() {
        argv.push(gc_log_flag());
    }
    argv.extend(
        files
            .module_flags
            .iter()
            .filter(|f| !f.starts_with("--add-"))
            .cloned(),
    );
    for (key, name) in [
        ("cassandra.config", "cassandra.yaml"),
        ("cassandra-rackdc.properties", "cassandra-rackdc.properties"),
        ("logback.configurationFile", "logback.xml"),
    ] {
        let url = file_url(&format!("{folder}/conf/{name}"));
        argv.push(format!("-D{key}={url}"));
    }
    argv.push(format!("-Dcassandra.logdir={folder}/logs"));
    argv.push(format!("-Dcassandra.storagedir={}", node.storage()));
    // Native libraries that jars unpack lie here, not in /tmp, where one that is killed would leave them.
    argv.push(format!("-Djava.io.tmpdir={folder}/tmp"));
    // A person's own flags end the node's: what is said last holds.
    argv.extend(node.jvm.iter().cloned());
    argv.push("-jar".into());
    argv.push(files.launcher.clone());
    argv
}
