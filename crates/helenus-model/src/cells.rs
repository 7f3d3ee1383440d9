//! Tables that are committed as text: a row a line, its cells apart by tabs; `#` opens a comment.
//! Refuses a row with another number of cells.

/// The rows, of `N` cells each.
///
/// # Panics
/// When a committed table is broken; tests read every one of them.
pub(crate) fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("not {N} cells: {line}"))
    })
}
