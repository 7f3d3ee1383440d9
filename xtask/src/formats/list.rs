//! Every format: its name, the type that is written, and where a person meets it; `list.tsv` has one a line.
//! Refuses none in silence: a test holds this list to the marks in the source.

/// How its values reach a person.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// A result on standard output, with an `answer`.
    Printed,
    /// A result whose `answer` is a list of sentences.
    PrintedInSentences,
    /// A file, a pipe, a row of the history, or a value inside another.
    Kept,
}

/// One format.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) way: Way,
    /// File below `crates`, and the type in it.
    pub(super) root: (&'static str, &'static str),
    /// The command that prints it, or what holds it.
    pub(super) place: &'static str,
}

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Entry> {
    let lines = include_str!("list.tsv").lines().enumerate();
    lines.skip(1).map(|(n, line)| {
        entry(line).unwrap_or_else(|| panic!("formats/list.tsv, line {}: {line}", n + 1))
    })
}

fn entry(line: &'static str) -> Option<Entry> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [name, way, file, ty, place] = cells[..] else {
        return None;
    };
    let way = match way {
        "printed" => Way::Printed,
        "sentences" => Way::PrintedInSentences,
        "kept" => Way::Kept,
        _ => return None,
    };
    let root = (file, ty);
    Some(Entry {
        name,
        way,
        root,
        place,
    })
}
