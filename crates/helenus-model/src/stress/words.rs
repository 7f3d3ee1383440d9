//! The words of a stress line: joined and split as cassandra-stress does, and what happens to lines that are copied.
//! Refuses to repair in silence: what a copy broke is reported with the corrected line.

use crate::secret;

/// Hyphens that a copy puts in place of a plain one: hyphen, non-breaking hyphen, figure, en and em dash, bar, minus.
const DASHES: [char; 7] = [
    '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{2212}',
];

/// Quotation marks that a shell does not know.
const QUOTES: [char; 8] = [
    '\u{2018}', '\u{2019}', '\u{201a}', '\u{201b}', '\u{201c}', '\u{201d}', '\u{201e}', '\u{201f}',
];

/// Spaces that a shell takes for letters.
const SPACES: [char; 4] = ['\u{a0}', '\u{2007}', '\u{202f}', '\u{3000}'];

/// Marks without width.
const NOTHING: [char; 4] = ['\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}'];

/// What a copy did to a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    /// What is wrong, in words.
    pub(super) what: Vec<&'static str>,
    /// The words as they were meant.
    pub(super) words: Vec<String>,
}

/// The words joined by blanks, white space around `= , ( )` taken out, split again; the program's name before them is
/// left out.
pub(super) fn words(given: &[String]) -> Vec<String> {
    let joined = given.join(" ");
    let mut tight = String::with_capacity(joined.len());
    let mut letters = joined.chars().peekable();
    while let Some(letter) = letters.next() {
        if !letter.is_ascii_whitespace() {
            tight.push(letter);
            continue;
        }
        while letters.next_if(char::is_ascii_whitespace).is_some() {}
        let before = tight.chars().next_back();
        let after = letters.peek().copied();
        let sticks =
            before.is_some_and(|c| "=,(".contains(c)) || after.is_some_and(|c| "=,()".contains(c));
        if !sticks {
            tight.push(' ');
        }
    }
    let mut words: Vec<String> = tight.split_ascii_whitespace().map(str::to_owned).collect();
    if words.first().is_some_and(|first| is_program(first)) {
        words.remove(0);
    }
    words
}

/// Whether a word names cassandra-stress itself, as a whole line that was copied begins.
fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    matches!(name, "cassandra-stress" | "cassandra-stress.bat")
}

/// What a copy did to these words, if anything.
pub(super) fn copied(words: &[String]) -> Option<Copied> {
    let mut what = Vec::new();
    let mut say = |text| {
        if !what.contains(&text) {
            what.push(text);
        }
    };
    let mut meant = String::new();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            meant.push(' ');
        }
        if word == "\\" {
            say("a backslash that no shell removed");
            continue;
        }
        let mut letters = word.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied();
            if DASHES.contains(&letter) {
                say("a dash instead of a hyphen");
                meant.push('-');
            } else if QUOTES.contains(&letter) {
                say("curly quotation marks");
            } else if SPACES.contains(&letter) {
                say("a space that no shell splits at");
                meant.push(' ');
            } else if NOTHING.contains(&letter) {
                say("a zero-width character");
            } else if letter == '\u{2026}' {
                say("an ellipsis instead of two dots");
                meant.push_str("..");
            } else if letter == '\\' && next.is_some_and(|c| "()<>".contains(c)) {
                say("a backslash that no shell removed");
            } else {
                meant.push(letter);
            }
        }
    }
    (!what.is_empty()).then(|| Copied {
        what,
        words: self::words(&[meant]),
    })
}

/// The first `<place to fill in>` of the words: a letter stands behind its bracket, unlike in `threads<=4`.
pub(super) fn placeholder(words: &[String]) -> Option<String> {
    let line = words.join(" ");
    let starts = line.match_indices('<').map(|(at, _)| at);
    for at in starts {
        let rest = &line[at + 1..];
        let letter = rest.chars().next().is_some_and(char::is_alphabetic);
        if let (true, Some(end)) = (letter, rest.find(['<', '>']))
            && rest[end..].starts_with('>')
        {
            return Some(format!("<{}>", &rest[..end]));
        }
    }
    None
}

/// A whole line that a shell reads back, for a hint; passwords are masked.
pub(super) fn line(words: &[String]) -> String {
    format!("helenus stress {}", secret::command_line(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn white_space_around_signs_goes_and_the_program_goes() {
        let line = "/opt/x/tools/bin/cassandra-stress  write n = 5 ratio ( a=1 , b=2 ) -rate threads= 3 -node a, b";
        let read = words(&of(line));
        assert_eq!(
            read,
            [
                "write",
                "n=5",
                "ratio(a=1,b=2)",
                "-rate",
                "threads=3",
                "-node",
                "a,b"
            ]
        );
        assert_eq!(words(&of("user -?")), ["user", "-?"]);
        assert_eq!(words(&[]), Vec::<String>::new());
    }

    #[test]
    fn what_a_copy_does_is_found() {
        let clean = of("write n=5 err<0.02 -pop seq=1..5");
        assert_eq!(copied(&clean), None);
        let broken = of(
            "write \u{2013}pop seq=1\u{2026}5 keyspace=\u{201c}a\u{201d} ratio\\(a=1\\) \\ n=5\u{a0}cl=ONE",
        );
        let found = copied(&broken).expect("is broken");
        assert_eq!(found.what.len(), 5, "{found:?}");
        assert_eq!(
            found.words,
            [
                "write",
                "-pop",
                "seq=1..5",
                "keyspace=a",
                "ratio(a=1)",
                "n=5",
                "cl=ONE"
            ]
        );
    }

    #[test]
    fn places_to_fill_in_are_distinguished_from_bounds() {
        let none = of("read err<0.02 n>30 n<200 -rate threads>=4 threads<=1000");
        assert_eq!(placeholder(&none), None);
        let one = of("write n=<number of rows> -node <your host>");
        assert_eq!(placeholder(&one), Some("<number of rows>".to_owned()));
    }
}
