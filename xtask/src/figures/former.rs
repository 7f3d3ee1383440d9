//! Which raw files are of the former generator, whose *start* was the driver's call, and the sentence below their figures.
//! Refuses a list of such files: a field of the file says it, or when it was measured.

use super::Call;
use std::error::Error;
use std::path::Path;

/// When the generator began to count from the socket: 25 November 2026, 15:28:43 UTC.
const SOCKET_SINCE: u64 = 1_795_620_523;

/// The day after. What has only a day in its name was measured before then by the former generator: the experiments of the
/// 25th itself ended in its morning.
const SOCKET_FROM_DAY: &str = "2026-11-26";

/// What stands below figures of the former generator.
const SENTENCE: &str = "Measured with an earlier load generator: operations started at the driver's call, not at the socket.";

/// Blocks whose figures are not of the generator's operations: generators, and templates of `proof`.
const OF_SOMETHING_ELSE: [&str; 19] = [
    "believe-busy",
    "cluster3",
    "count",
    "doubts",
    "idle",
    "like",
    "null",
    "null-live",
    "populate",
    "report",
    "reset",
    "restore",
    "start",
    "wan",
    "wan-before",
    "wan-check",
    "wan-worse",
    "wan15",
    "workloads",
];

/// `former`, `former WHAT`: the sentence alone, of figures that were written by hand from these files; with what they are.
pub(super) fn text(_: &Call<'_>) -> Result<String, Box<dyn Error>> {
    // What stands below every block is all of this one.
    Ok(String::new())
}

/// The block's text with the sentence below it, where the figures are of the former generator.
pub(super) fn below(text: String, name: &str, call: &Call<'_>) -> Result<String, Box<dyn Error>> {
    let subject = match (name, call.words.as_slice()) {
        ("proof", [template]) => *template,
        _ => name,
    };
    if OF_SOMETHING_ELSE.contains(&subject) {
        return Ok(text);
    }
    let mut said = SENTENCE.to_owned();
    if name == "former" && !call.words.is_empty() {
        let behind = SENTENCE.trim_start_matches('M');
        said = format!("{}: m{behind}", call.words.join(" "));
    }
    for file in &call.files {
        if is_former(file)? {
            let text = text.trim_end_matches('\n');
            return Ok(format!("{text}\n\n{said}\n"));
        }
    }
    Ok(text)
}

/// Whether a raw file has a measurement of the former generator.
fn is_former(file: &Path) -> Result<bool, Box<dyn Error>> {
    let text = fs_err::read_to_string(file)?;
    let starts = values(&text, "\"start_means\":");
    let known: Vec<bool> = starts.map(|word| word.starts_with("\"driver")).collect();
    if !known.is_empty() {
        return Ok(known.contains(&true));
    }
    let moments = values(&text, "\"at_unix\":");
    let moments: Vec<u64> = moments.filter_map(whole).collect();
    if !moments.is_empty() {
        return Ok(moments.iter().any(|at| *at < SOCKET_SINCE));
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let day = day(&name).ok_or_else(|| format!("{name} does not say when it was measured"))?;
    Ok(day < SOCKET_FROM_DAY)
}

/// What stands behind each of these keys.
fn values<'t>(text: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(key).skip(1).map(str::trim_start)
}

/// The number that a text begins with.
fn whole(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text[..end.unwrap_or(text.len())].parse().ok()
}

/// The day in a raw file's name: `2026-11-23` of `tiny-2026-11-23-f742b2.csv`.
fn day(name: &str) -> Option<&str> {
    let at = name.find("-20")? + 1;
    let day = name.get(at..at + SOCKET_FROM_DAY.len())?;
    let shape = |(have, wanted): (char, char)| match wanted {
        '-' => have == '-',
        _ => have.is_ascii_digit(),
    };
    let alike = day.chars().zip(SOCKET_FROM_DAY.chars()).all(shape);
    alike.then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(name: &str, words: &[&str], file: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(file);
        fs_err::write(&file, text).unwrap();
        let call = Call {
            root: folder.path(),
            words: words.to_vec(),
            files: vec![file],
        };
        below("figures\n".to_owned(), name, &call).unwrap()
    }

    #[test]
    fn figures_of_the_former_generator_say_so_until_their_raw_file_is_a_newer_one() {
        let said = format!("figures\n\n{SENTENCE}\n");
        let old =
            "{\"line\":\"sitting\",\"at_unix\":1795620522,\"seed\":1}\n{\"at_unix\": 1795700000}\n";
        let new = old.replace("1795620522", "1795620523");
        // Whatever the name says: the moment counts.
        assert_eq!(
            noted("proof", &["pause"], "pause-2026-12-01-x.jsonl", old),
            said
        );
        assert_eq!(
            noted("proof", &["pause"], "pause-2026-11-21-x.jsonl", &new),
            "figures\n"
        );
        let csv = "place,block\n1,1\n";
        assert_eq!(
            noted("experiment", &["answer"], "tiny-2026-11-25-x.csv", csv),
            said
        );
        assert_eq!(
            noted("experiment", &["answer"], "tiny-2026-11-26-x.csv", csv),
            "figures\n"
        );
        let own = "{\"start_means\": \"socket\"}";
        assert_eq!(
            noted("levels", &["distances"], "lv-2026-11-22-x.json", own),
            "figures\n"
        );
        let own = own.replace("socket", "driver-call");
        assert_eq!(
            noted("levels", &["distances"], "lv-2026-12-22-x.json", &own),
            said
        );
        let row = noted(
            "former",
            &["Row", "wan"],
            "kube-wan-2026-11-25-x.jsonl",
            old,
        );
        assert!(row.ends_with(
            "\nRow wan: measured with an earlier load generator: operations started at the driver's call, not at the socket.\n"
        ));
        // Neither is of the generator's operations.
        assert_eq!(
            noted("proof", &["idle"], "idle-2026-11-21-x.jsonl", old),
            "figures\n"
        );
        assert_eq!(noted("null", &[], "null.jsonl", "{}"), "figures\n");
    }

    #[test]
    fn a_file_that_does_not_say_when_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        fs_err::write(&file, "pair 1").unwrap();
        let error = is_former(&file).unwrap_err();
        assert_eq!(
            error.to_string(),
            "notes.txt does not say when it was measured"
        );
        assert_eq!(day("kube-wan-2026-11-25-a354e8.jsonl"), Some("2026-11-25"));
        assert_eq!(day("lv-41-20-wrong"), None);
    }
}
