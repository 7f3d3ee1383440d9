//! One call of Maven that resolves a release whole, for the chores that write its data.
//! Refuses to name a registry: where artifacts come from is a person's Maven settings.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The plugin that lists and copies, pinned so that its output keeps its form.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1";

/// A release with everything it depends on, in a folder.
pub(crate) struct Resolved {
    /// The folder of the jars.
    pub(crate) jars: PathBuf,
    /// The coordinates: group, artifact, classifier or empty, version.
    pub(crate) coordinates: Vec<[String; 4]>,
}

/// Resolves the release's jars into `folder`.
pub(crate) fn resolve(version: &str, folder: &Path) -> Result<Resolved, Box<dyn Error>> {
    let pom = folder.join("pom.xml");
    let jars = folder.join("jars");
    let list = folder.join("list.txt");
    fs_err::write(&pom, pom_text(version))?;
    let status = Command::new("mvn")
        .args(["--batch-mode", "--quiet", "--file"])
        .arg(&pom)
        .args([
            format!("{PLUGIN}:list"),
            format!("{PLUGIN}:copy-dependencies"),
        ])
        .arg("-DincludeScope=runtime")
        .arg(format!("-DoutputFile={}", list.display()))
        .arg(format!("-DoutputDirectory={}", jars.display()))
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("mvn: {status}").into());
    }
    let text = fs_err::read_to_string(&list)?;
    let coordinates: Vec<_> = text.lines().filter_map(coordinates).collect();
    Ok(Resolved { jars, coordinates })
}

/// Unpacks a distribution's jars into `folder`, for a release that is run from its distribution alone.
pub(crate) fn distribution(version: &str, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let status = Command::new("mvn")
        .args(["--batch-mode", "--quiet"])
        .arg(format!("{PLUGIN}:copy"))
        .arg(format!(
            "-Dartifact=org.apache.cassandra:apache-cassandra:{version}:tar.gz:bin"
        ))
        .arg(format!("-DoutputDirectory={}", folder.display()))
        .stdin(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("mvn: {status}").into());
    }
    let status = Command::new("tar")
        .arg("-xzf")
        .arg(folder.join(format!("apache-cassandra-{version}-bin.tar.gz")))
        .arg("-C")
        .arg(folder)
        .status()?;
    if !status.success() {
        return Err(format!("tar: {status}").into());
    }
    Ok(folder.join(format!("apache-cassandra-{version}/lib")))
}

fn pom_text(version: &str) -> String {
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>helenus</groupId><artifactId>lock</artifactId><version>1</version><dependencies>\
         <dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>\
         <version>{version}</version></dependency></dependencies></project>\n"
    )
}

/// `group:artifact:jar[:classifier]:version:scope`, with colours and module names around it.
fn coordinates(line: &str) -> Option<[String; 4]> {
    let word = line.split_whitespace().next()?;
    let parts: Vec<&str> = word.split(':').collect();
    let (group, artifact, classifier, version) = match parts[..] {
        [group, artifact, "jar", version, _] => (group, artifact, "", version),
        [group, artifact, "jar", classifier, version, _] => (group, artifact, classifier, version),
        _ => return None,
    };
    Some([group, artifact, classifier, version].map(str::to_owned))
}

/// The folder of a release's committed data, made when it is missing.
pub(crate) fn data_folder(version: &str) -> Result<PathBuf, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = root
        .join("crates/helenus-model/data/releases")
        .join(version);
    fs_err::create_dir_all(&folder)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::coordinates;

    #[test]
    fn mavens_list_is_read() {
        let plain = "   g.h:a:jar:1.0:compile -- module a (auto)";
        assert_eq!(coordinates(plain).unwrap(), ["g.h", "a", "", "1.0"]);
        let native = "   g:a:jar:linux-x86_64:1.0:runtime";
        assert_eq!(
            coordinates(native).unwrap(),
            ["g", "a", "linux-x86_64", "1.0"]
        );
        assert_eq!(coordinates("The following files have been resolved:"), None);
    }
}
