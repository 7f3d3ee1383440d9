//! The files of a load: those of folders and patterns by name, each looked at before a cluster is asked.
//! Refuses names that stand for nothing.

use super::{failure, usage};
use crate::cli::ingest::LoadFiles;
use crate::error::{CommandError, code};
use helenus_lab::ingest::{Packing, TextEncoding, columns, readable};
use helenus_model::nearest::nearest;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The files, in their order.
pub(super) fn files(given: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut all = Vec::new();
    for path in given {
        match fs_err::metadata(path) {
            _ if path.as_os_str() == "-" => all.push(path.clone()),
            Ok(about) if about.is_dir() => all.extend(inside(path)?),
            Ok(_) => all.push(path.clone()),
            Err(error) if error.kind() == ErrorKind::NotFound => all.extend(matching(path)?),
            Err(error) => return Err(CommandError::of(code::USAGE, &error)),
        }
    }
    for path in &all {
        readable(path).map_err(failure)?;
    }
    Ok(all)
}

/// Whether a file of a folder or a pattern is meant: not what is hidden, or what a load has written.
///
/// # Errors
/// The journal of an unload that was interrupted: rows are missing from its files.
fn meant(path: &Path) -> Result<bool, CommandError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if name.ends_with(".unload") && path.is_file() {
        let text = format!(
            "{} is the journal of an unload that has not ended",
            path.display()
        );
        let hint = "let the same `helenus unload` end it, or name the files to load without it";
        return Err(usage(text, hint));
    }
    let passed = [".rejected", ".part", ".footer"];
    let passed = passed.iter().any(|ending| name.ends_with(ending));
    Ok(path.is_file() && !name.starts_with('.') && !passed)
}

/// The files of a folder, by name.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let unread = |error: std::io::Error| CommandError::of(code::USAGE, &error);
    let mut found = Vec::new();
    for entry in fs_err::read_dir(folder).map_err(unread)? {
        let path = entry.map_err(unread)?.path();
        if meant(&path)? {
            found.push(path);
        }
    }
    found.sort();
    match found.is_empty() {
        true => {
            let text = format!("{} has no files", folder.display());
            Err(usage(text, "name files, or a folder that holds some"))
        }
        false => Ok(found),
    }
}

/// The files that a pattern stands for, by name.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let text = pattern.to_string_lossy();
    if !text.contains(['*', '?', '[']) {
        return Err(missing(pattern));
    }
    let paths = glob::glob(&text).map_err(|error| {
        let text = format!("{} is not a pattern: {}", pattern.display(), error.msg);
        usage(
            text,
            "* stands for any text, ? for a character, [ab] for one of them, ** for folders",
        )
    })?;
    let mut found = Vec::new();
    for path in paths {
        let path = path.map_err(|error| CommandError::of(code::USAGE, &error))?;
        if meant(&path)? {
            found.push(path);
        }
    }
    match found.is_empty() {
        true => {
            let text = format!("no file matches {}", pattern.display());
            Err(usage(text, "quote patterns: 'data/*.csv'"))
        }
        false => Ok(found),
    }
}

/// A file that is not there, with the nearest one of its folder.
fn missing(path: &Path) -> CommandError {
    let folder = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let beside = fs_err::read_dir(folder.unwrap_or(Path::new(".")));
    let beside = beside.into_iter().flatten().flatten();
    let names: Vec<String> = beside
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let near = nearest(&name, names.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
    usage(
        format!("there is no file {}{near}", path.display()),
        "name files, folders, patterns in quotes, or - for standard input",
    )
}

/// The encoding of a name.
pub(super) fn encoding(name: Option<&str>) -> Result<Option<TextEncoding>, CommandError> {
    let found = name.map(TextEncoding::named).transpose();
    found.map_err(|text| {
        let hint = format!(
            "known are {} and the other names of the WHATWG's standard",
            TextEncoding::names()
        );
        usage(text, &hint)
    })
}

/// The columns of Parquet files, which have their names themselves.
pub(super) fn parquet(files: &[PathBuf], flags: &LoadFiles) -> Result<Vec<String>, CommandError> {
    if files.iter().any(|file| file.as_os_str() == "-") {
        let text = "a Parquet file is read from its end, which standard input does not have yet";
        return Err(usage(text.to_owned(), "write it to a file first"));
    }
    let textual = [
        ("--columns", !flags.columns.is_empty()),
        ("--null", !flags.nulls.is_empty()),
        ("--delimiter", flags.delimiter.is_some()),
        ("--encoding", flags.encoding.is_some()),
        ("--decimal-comma", flags.decimal_comma),
    ];
    if let Some((flag, _)) = textual.iter().find(|(_, given)| *given) {
        let text = format!("{flag} is about text, and Parquet is none");
        return Err(usage(
            text,
            "leave it out: the file names its columns and their types",
        ));
    }
    let (names, _) = columns(&files[0]).map_err(failure)?;
    Ok(names)
}

/// The format by a file's name.
pub(crate) fn by_name(path: &Path) -> &'static str {
    let (_, name) = Packing::by_name(path);
    match name.rsplit('.').next() {
        Some("tsv" | "tab") => "tsv",
        Some("jsonl" | "ndjson" | "json") => "jsonl",
        Some("parquet" | "pq") => "parquet",
        _ => "csv",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_folders_are_files_by_name() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| folder.path().join(name);
        for name in [
            "b.csv",
            "a.csv",
            ".hidden.csv",
            "a.csv.rejected",
            "c[1].tsv.zst",
        ] {
            fs_err::write(at(name), "x").expect("writes");
        }
        let names = |given: &str| {
            let found = files(&[at(given)]);
            found.map(|found| {
                let names = found
                    .iter()
                    .map(|path| path.file_name().unwrap_or_default());
                names
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect::<Vec<_>>()
            })
        };
        let said = |given: &str| names(given).expect_err("no files").message().to_owned();
        assert_eq!(names("*.csv").expect("files"), ["a.csv", "b.csv"]);
        assert_eq!(names("a.csv*").expect("files"), ["a.csv"]);
        fs_err::write(at("b.csv.part"), "x").expect("writes");
        assert_eq!(
            names("").expect("files"),
            ["a.csv", "b.csv", "c[1].tsv.zst"]
        );
        // What is there is no pattern.
        assert_eq!(names("c[1].tsv.zst").expect("files"), ["c[1].tsv.zst"]);
        assert!(
            said("*.json").starts_with("no file matches"),
            "{}",
            said("*.json")
        );
        assert!(
            said("[.csv").contains("is not a pattern"),
            "{}",
            said("[.csv")
        );
        fs_err::write(at("d.csv.unload"), "x").expect("writes");
        let text = said("");
        assert!(text.contains("unload that has not ended"), "{text}");
        assert_eq!(names("*.csv").expect("files"), ["a.csv", "b.csv"]);
        let text = said("aa.csv");
        assert!(text.starts_with("there is no file"), "{text}");
        assert!(text.ends_with("; did you mean a.csv?"), "{text}");
        assert_eq!(by_name(Path::new("X.TSV.zst")), "tsv");
        assert_eq!(by_name(Path::new("x.json.lz4")), "jsonl");
    }
}
