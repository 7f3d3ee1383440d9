//! JDKs as values: what one is, whether a release runs on it, and the flags it then wants.
//! Refuses to look for one: the cluster crate does, and hands over the text of a JDK's `release` file.

use std::fmt;
use std::path::PathBuf;

use super::{Arch, Release};

/// One Java installation.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Jdk {
    /// The folder that holds `bin/java`.
    pub home: PathBuf,
    /// The feature number: 8, 11, 17 …
    pub feature: u32,
    /// The full version, with the build where it is known: `17.0.15+6-Debian-1deb12u1`.
    pub version: String,
    /// Who built it, where it says so: `Debian`, `Eclipse Adoptium`.
    pub vendor: Option<String>,
    /// The processor it is for; none for another one, or where it does not say.
    pub arch: Option<Arch>,
    /// Whether it lists its modules and [`JMX_CLIENT`] is not among them: nodetool finds no node then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_jmx_client: bool,
    /// Modules of [`NODE`] that are not among those it lists: no node starts on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

/// Modules without which a node dies as it starts; runtimes cut to size may lack them.
pub const NODE: [&str; 4] = [
    "java.desktop",
    "java.management",
    "java.naming",
    "jdk.unsupported",
];

/// The module by which a JMX client finds the node at a given address; runtimes cut to size may lack it.
pub const JMX_CLIENT: &str = "jdk.naming.rmi";

impl fmt::Display for Jdk {
    /// `JDK 17.0.15+6 (Debian) at /usr/lib/jvm/…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JDK {}", self.version)?;
        if let Some(vendor) = &self.vendor {
            write!(f, " ({vendor})")?;
        }
        write!(f, " at {}", self.home.display())
    }
}

/// Whether a release runs on a JDK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The release itself supports it.
    Supported,
    /// It may run, but the release does not support it: a caution on every number.
    Works(String),
    /// It cannot run, and why.
    Refused(String),
}

impl Verdict {
    /// Whether a node may be started at all.
    pub const fn runs(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// The JDK from which setting a security manager needs permission on the command line (JEP 411).
const SECURITY_MANAGER_ASKS: u32 = 18;

/// Packages of java.base that Cassandra and its libraries reach into.
const JAVA_BASE: [&str; 18] = [
    "java.io",
    "java.lang",
    "java.lang.module",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.loader",
    "jdk.internal.math",
    "jdk.internal.misc",
    "jdk.internal.module",
    "jdk.internal.ref",
    "jdk.internal.reflect",
    "jdk.internal.util.jar",
    "sun.nio.ch",
];

/// Packages of other modules that they reach into.
const OTHERS: [&str; 7] = [
    "java.management.rmi/javax.management.remote.rmi",
    "java.rmi/sun.rmi.registry",
    "java.rmi/sun.rmi.server",
    "java.rmi/sun.rmi.transport",
    "java.rmi/sun.rmi.transport.tcp",
    "java.sql/java.sql",
    "jdk.management/com.sun.management.internal",
];

/// The last JDK whose java.base has `jdk.internal.util.jar`; newer ones warn about the name.
const LAST_WITH_UTIL_JAR: u32 = 17;

impl Release {
    /// Whether this release runs on that JDK, by name and version.
    pub fn judge(&self, jdk: &Jdk) -> Verdict {
        let feature = jdk.feature;
        let it = format!("Cassandra {}", self.version);
        if !jdk.lacks.is_empty() {
            let lacks = jdk.lacks.join(", ");
            return Verdict::Refused(format!("{it} needs modules that it does not have: {lacks}"));
        }
        if self.supported_jdks.contains(&feature) {
            return Verdict::Supported;
        }
        let supported = spoken(self.supported_jdks);
        if feature < self.oldest_jdk {
            return Verdict::Refused(format!(
                "{it} needs JDK {} or newer (its class files cannot be loaded by JDK {feature}); \
                 it supports {supported}",
                self.oldest_jdk
            ));
        }
        if feature >= self.broken_from_jdk {
            return Verdict::Refused(format!(
                "{it} cannot run on JDK {feature}: it {}; it supports {supported}",
                self.broken_why
            ));
        }
        let seen = if self.works_jdks.contains(&feature) {
            "has served on it in tests"
        } else {
            "was not tested on it"
        };
        Verdict::Works(format!(
            "{it} does not support JDK {feature} (it supports {supported}); it {seen}"
        ))
    }

    /// The JVM flags about modules that a node or a tool of this release needs on a JDK of that feature number, in a
    /// fixed order; none below JDK 9, which has no modules.
    pub fn module_flags(&self, feature: u32) -> Vec<String> {
        if feature < 9 {
            return Vec::new();
        }
        let base = JAVA_BASE.iter().filter(|p| {
            // The name is gone from newer ones, and naming it prints a warning.
            **p != "jdk.internal.util.jar" || feature <= LAST_WITH_UTIL_JAR
        });
        let packages = base
            .map(|p| format!("java.base/{p}"))
            .chain(OTHERS.iter().map(|p| (*p).to_owned()));
        let mut flags: Vec<String> = packages
            .flat_map(|p| {
                let open = format!("--add-opens={p}=ALL-UNNAMED");
                [open, format!("--add-exports={p}=ALL-UNNAMED")]
            })
            .collect();
        flags.push("-Djdk.attach.allowAttachSelf=true".to_owned());
        flags.push("-Dio.netty.tryReflectionSetAccessible=true".to_owned());
        if feature >= SECURITY_MANAGER_ASKS {
            flags.push("-Djava.security.manager=allow".to_owned());
        }
        flags
    }
}

/// `11 and 17`, `8, 11 and 17`.
pub(super) fn spoken(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match texts.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// Why the text of a JDK did not say which one it is.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JdkParseError {
    /// The `release` file has no `JAVA_VERSION`.
    #[error("the release file names no JAVA_VERSION")]
    NoVersion,
    /// A version without a feature number.
    #[error("{0:?} is not a Java version")]
    Version(String),
}

impl JdkParseError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        "name another JDK with JAVA_HOME".to_owned()
    }
}

/// Reads the text of the `release` file at a JDK's root; its home is left empty.
///
/// # Errors
/// No version in it, or one without a feature number.
pub fn parse_release_file(text: &str) -> Result<Jdk, JdkParseError> {
    let value = |key: &str| {
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let mut found = lines.filter(|(k, _)| k.trim() == key);
        let (_, value) = found.next()?;
        let bare = value.trim().trim_matches('"');
        (!bare.is_empty()).then(|| bare.to_owned())
    };
    let short = value("JAVA_VERSION").ok_or(JdkParseError::NoVersion)?;
    let modules = value("MODULES");
    let lacks = |module: &str| modules.as_ref().is_some_and(|list| !has_word(list, module));
    Ok(Jdk {
        home: PathBuf::new(),
        feature: feature_of(&short)?,
        version: value("JAVA_RUNTIME_VERSION").unwrap_or(short),
        vendor: value("IMPLEMENTOR").filter(|v| v != "N/A"),
        arch: value("OS_ARCH").and_then(|a| Arch::parse(&a)),
        no_jmx_client: lacks(JMX_CLIENT),
        lacks: NODE
            .iter()
            .filter(|module| lacks(module))
            .map(|module| (*module).to_owned())
            .collect(),
    })
}

/// Reads what `java -version` prints; home and processor are left empty.
///
/// # Errors
/// No quoted version in it.
pub fn parse_java_version(printed: &str) -> Result<Jdk, JdkParseError> {
    let no_version = || JdkParseError::Version(printed.lines().next().unwrap_or("").to_owned());
    // A JVM may print warnings and picked-up options first.
    let line = printed.lines().find(|l| l.contains(" version \""));
    let short = line
        .and_then(|l| l.split('"').nth(1))
        .ok_or_else(no_version)?;
    let runtime = printed.lines().find(|l| l.contains("Runtime Environment"));
    let build = runtime.and_then(|l| l.split_once("(build "));
    let full = build.map(|(_, rest)| rest.trim_end().trim_end_matches(')'));
    let vendor = runtime
        .and_then(|l| l.split_once("Environment"))
        .and_then(|(_, rest)| rest.split('(').next())
        .map(str::trim)
        .filter(|v| !v.is_empty());
    Ok(Jdk {
        home: PathBuf::new(),
        feature: feature_of(short)?,
        version: full.unwrap_or(short).to_owned(),
        vendor: vendor.map(str::to_owned),
        arch: None,
        no_jmx_client: false,
        lacks: Vec::new(),
    })
}

fn has_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// The feature number of `17.0.15`, `1.8.0_402`, `25`, `26-ea`.
fn feature_of(version: &str) -> Result<u32, JdkParseError> {
    let modern = version.strip_prefix("1.").unwrap_or(version);
    let digits = modern.split(|c: char| !c.is_ascii_digit()).next();
    digits
        .and_then(|d| d.parse().ok())
        .ok_or_else(|| JdkParseError::Version(version.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "IMPLEMENTOR=\"Debian\"\nJAVA_RUNTIME_VERSION=\"17.0.15+6-Debian-1deb12u1\"\n\
        JAVA_VERSION=\"17.0.15\"\nOS_ARCH=\"x86_64\"\nOS_NAME=\"Linux\"\n";

    fn of(feature: u32) -> Jdk {
        parse_release_file(&format!("JAVA_VERSION=\"{feature}.0.1\"")).unwrap()
    }

    #[test]
    fn reads_release_files_of_several_builders() {
        let jdk = parse_release_file(DEBIAN).unwrap();
        assert_eq!((jdk.feature, jdk.arch), (17, Some(Arch::X86_64)));
        assert_eq!(jdk.version, "17.0.15+6-Debian-1deb12u1");
        assert_eq!(jdk.vendor.as_deref(), Some("Debian"));
        let bare = parse_release_file("JAVA_VERSION=\"21.0.8\"\nMODULES=\"java.base\"").unwrap();
        assert_eq!((bare.feature, bare.version.as_str()), (21, "21.0.8"));
        assert_eq!((bare.vendor, bare.arch), (None, None));
        assert!(bare.no_jmx_client && !jdk.no_jmx_client);
        let whole = "JAVA_VERSION=\"11.0.2\"\nMODULES=\"java.base jdk.naming.rmi\"";
        assert!(!parse_release_file(whole).unwrap().no_jmx_client);
        let old = parse_release_file("JAVA_VERSION=\"1.8.0_402\"\nOS_ARCH=\"amd64\"").unwrap();
        assert_eq!((old.feature, old.arch), (8, Some(Arch::X86_64)));
        assert_eq!(parse_release_file("X=1"), Err(JdkParseError::NoVersion));
        assert!(parse_release_file("JAVA_VERSION=\"new\"").is_err());
    }

    #[test]
    fn a_runtime_without_what_a_node_needs_is_refused_by_the_module_s_name() {
        let of = |modules: &str| {
            let text = format!("JAVA_VERSION=\"17.0.9\"\nMODULES=\"{modules}\"");
            let jdk = parse_release_file(&text).unwrap();
            Release::find("5.0.9").unwrap().judge(&jdk)
        };
        assert_eq!(of(&NODE.join(" ")), Verdict::Supported);
        let Verdict::Refused(why) = of("java.base java.desktop java.naming jdk.unsupported") else {
            panic!("it has no java.management");
        };
        assert_eq!(
            why,
            "Cassandra 5.0.9 needs modules that it does not have: java.management"
        );
    }

    #[test]
    fn reads_what_java_prints() {
        let printed = "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n\
            openjdk version \"21.0.8\" 2025-07-15 LTS\n\
            OpenJDK Runtime Environment Temurin-21.0.8+9 (build 21.0.8+9-LTS)\n\
            OpenJDK 64-Bit Server VM Temurin-21.0.8+9 (build 21.0.8+9-LTS, mixed mode)\n";
        let jdk = parse_java_version(printed).unwrap();
        assert_eq!((jdk.feature, jdk.version.as_str()), (21, "21.0.8+9-LTS"));
        assert_eq!(jdk.vendor.as_deref(), Some("Temurin-21.0.8+9"));
        let eight =
            "java version \"1.8.0_402\"\nJava(TM) SE Runtime Environment (build 1.8.0_402-b08)\n";
        let jdk = parse_java_version(eight).unwrap();
        assert_eq!((jdk.feature, jdk.vendor), (8, None));
        assert!(parse_java_version("command not found").is_err());
    }

    #[test]
    fn judges_by_name_and_version() {
        let release = Release::find("5.0.9").unwrap();
        assert_eq!(release.judge(&of(11)), Verdict::Supported);
        assert_eq!(release.judge(&of(17)), Verdict::Supported);
        let texts = |n| match release.judge(&of(n)) {
            Verdict::Supported => "supported".to_owned(),
            Verdict::Works(t) => format!("works: {t}"),
            Verdict::Refused(t) => format!("refused: {t}"),
        };
        insta::assert_snapshot!(
            [8, 14, 21, 24, 25].map(texts).join("\n"),
            @r"
        refused: Cassandra 5.0.9 needs JDK 11 or newer (its class files cannot be loaded by JDK 8); it supports 11 and 17
        works: Cassandra 5.0.9 does not support JDK 14 (it supports 11 and 17); it was not tested on it
        works: Cassandra 5.0.9 does not support JDK 21 (it supports 11 and 17); it has served on it in tests
        refused: Cassandra 5.0.9 cannot run on JDK 24: it installs a SecurityManager when it starts, which JDK 24 removed; it supports 11 and 17
        refused: Cassandra 5.0.9 cannot run on JDK 25: it installs a SecurityManager when it starts, which JDK 24 removed; it supports 11 and 17
        "
        );
    }

    #[test]
    fn module_flags_follow_the_feature_number() {
        let release = Release::find("5.0.9").unwrap();
        assert!(release.module_flags(8).is_empty());
        let seventeen = release.module_flags(17);
        assert_eq!(release.module_flags(11), seventeen);
        assert_eq!(seventeen.len(), 2 * (JAVA_BASE.len() + OTHERS.len()) + 2);
        assert!(seventeen.contains(&"--add-opens=java.base/java.lang=ALL-UNNAMED".to_owned()));
        let newer = release.module_flags(21);
        assert!(newer.contains(&"-Djava.security.manager=allow".to_owned()));
        assert!(!newer.iter().any(|f| f.contains("util.jar")));
    }
}
