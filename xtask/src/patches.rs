//! `cargo xtask patches SERIES`: which patches of a series are published, and how their keys differ from the known ones.
//! Refuses to guess: each patch's own classes are asked, with the libraries of the patch whose table is committed.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use helenus_model::release::Release;

/// A series has no gap as long as this between two published patches.
const LAST_TRIES: u32 = 3;

pub(crate) fn run(series: &str) -> Result<String, Box<dyn Error>> {
    let known = Release::facts_for(series)?;
    let folder = crate::maven::data_folder(known.version)?;
    let table = fs_err::read_to_string(folder.join("keys.tsv"))?;
    let work = tempfile::tempdir()?;
    let of_known = work.path().join("known");
    fs_err::create_dir_all(&of_known)?;
    let libraries = crate::keys::jars(known.version, &of_known)?;
    let mut text = format!(
        "# helenus.patches/1 cassandra {series}: its other patches beside {}, as cargo xtask patches {series} found them\n\
         # = patch; then - key that it lacks, with what is inside of it; + key that it has otherwise, as in keys.tsv\n",
        known.version
    );
    let (mut patch, mut missing, mut count) = (0, 0, 0);
    while missing < LAST_TRIES {
        let version = format!("{series}.{patch}");
        patch += 1;
        if version == known.version {
            missing = 0;
            continue;
        }
        let folder = work.path().join(&version);
        let Some(jar) = crate::maven::own_jar(&version, &folder)? else {
            missing += 1;
            continue;
        };
        (missing, count) = (0, count + 1);
        let mut class_path = jar.into_os_string();
        class_path.push(":");
        class_path.push(without_own(&libraries)?);
        let lines = crate::keys::lines(&version, class_path, &folder)?;
        writeln!(text, "= {version}\n{}", differences(&table, &lines))?;
    }
    let path = folder.join("patches.tsv");
    fs_err::write(&path, text.replace("\n\n", "\n"))?;
    Ok(format!("{}: {count} patches", path.display()))
}

/// The class path of the libraries, without Cassandra's own jar.
fn without_own(libraries: &Path) -> Result<String, Box<dyn Error>> {
    let mut jars = Vec::new();
    for entry in fs_err::read_dir(libraries)? {
        let path = entry?.path().to_string_lossy().into_owned();
        if path.ends_with(".jar")
            && !path.contains("/cassandra-all-")
            && !path.contains("/apache-cassandra-")
        {
            jars.push(path);
        }
    }
    jars.sort();
    Ok(jars.join(":"))
}

/// What a patch lacks of the known keys, and what it has otherwise.
fn differences(known: &str, patch: &str) -> String {
    let (known, patch) = (by_name(known), by_name(patch));
    let mut lines = Vec::new();
    let mut inside = String::from("\n");
    for name in known.keys().filter(|name| !patch.contains_key(*name)) {
        if !name.starts_with(&inside) {
            lines.push(format!("-\t{name}"));
            inside = format!("{name}.");
        }
    }
    let other = patch
        .iter()
        .filter(|(name, line)| known.get(*name) != Some(*line));
    lines.extend(other.map(|(_, line)| format!("+\t{line}")));
    lines.join("\n")
}

fn by_name(table: &str) -> BTreeMap<&str, &str> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| Some((line.split('\t').next()?, line)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::differences;

    #[test]
    fn what_is_inside_of_a_lacking_key_is_not_said_again() {
        let known = "# table\na\tint\na.b\tint\nab\tint\nc\tint";
        assert_eq!(
            differences(known, "ab\tint\nc\tlong\nd\tint"),
            "-\ta\n+\tc\tlong\n+\td\tint"
        );
        assert_eq!(differences(known, known), "");
    }
}
