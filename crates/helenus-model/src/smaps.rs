//! The memory of a running JVM by kind, read from the kernel's list of its mappings (`/proc/PID/smaps`).
//! Refuses names that it cannot be sure of: what fits no rule is *native*.

use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Memory of one process by kind, in bytes of proportional size: a page that several share counts in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryByKind {
    /// Java's heap.
    pub heap: Bytes,
    /// Metaspace with the class space.
    pub metaspace: Bytes,
    /// Compiled code.
    pub code: Bytes,
    /// Stacks.
    pub threads: Bytes,
    /// Pages of class archives that were written to when they were mapped.
    pub archive: Bytes,
    /// Other memory of its own: direct buffers, malloc, structures of the collector.
    pub native: Bytes,
    /// Pages of mapped files.
    pub files: Bytes,
}

impl MemoryByKind {
    /// Memory that is the process's alone and that no pressure brings back.
    #[must_use]
    pub fn anonymous(&self) -> Bytes {
        self.heap + self.metaspace + self.code + self.threads + self.archive + self.native
    }
}

/// One mapping.
#[derive(Debug, Clone)]
struct Mapping<'a> {
    begin: u64,
    end: u64,
    access: &'a str,
    /// Path, `[heap]` and the like, or empty.
    name: &'a str,
    /// KiB.
    pss: u64,
    /// KiB that are the process's own.
    anonymous: u64,
}

impl Mapping<'_> {
    /// Neither a file nor one of the kernel's own.
    fn nameless(&self) -> bool {
        self.name.is_empty()
    }

    fn reserved(&self) -> bool {
        self.nameless() && self.access == "---p"
    }

    fn writable(&self) -> bool {
        self.nameless() && self.access == "rw-p"
    }
}

/// Compressed pointers to objects reach this far: a heap below it is the only thing that HotSpot puts there, and a
/// larger heap is known by its size.
const COMPRESSED_REACH: u64 = 32 << 30;

/// Java's guard pages at a stack's end, and glibc's: no more than this.
const GUARD_MOST: u64 = 64 << 10;

/// Metaspace grows in whole pieces of this, reserved as far as they are not used.
const METASPACE_PIECE: u64 = 4 << 20;

/// Reads the text of `/proc/PID/smaps`; `heap` is what was said with `-Xmx`.
#[must_use]
pub fn by_kind(smaps: &str, heap: Bytes) -> MemoryByKind {
    let mappings = mappings(smaps);
    let mut kinds = MemoryByKind::default();
    let mut metaspace_until = 0;
    for (at, mapping) in mappings.iter().enumerate() {
        let before = at.checked_sub(1).map(|b| &mappings[b]);
        let anonymous = Bytes(mapping.anonymous.min(mapping.pss) << 10);
        kinds.files = kinds.files + Bytes((mapping.pss << 10).saturating_sub(anonymous.0));
        if mapping.begin >= metaspace_until {
            metaspace_until = metaspace_end(&mappings[at..]).unwrap_or(metaspace_until);
        }
        let kind = if mapping.name.ends_with(".jsa") {
            &mut kinds.archive
        } else if mapping.nameless() && mapping.access == "rwxp" {
            &mut kinds.code
        } else if mapping.name == "[stack]" || before.is_some_and(|b| is_stack(b, mapping)) {
            &mut kinds.threads
        } else if is_heap(mapping, heap) {
            &mut kinds.heap
        } else if mapping.writable() && mapping.begin < metaspace_until {
            &mut kinds.metaspace
        } else {
            &mut kinds.native
        };
        *kind = *kind + anonymous;
    }
    kinds
}

fn is_heap(mapping: &Mapping<'_>, heap: Bytes) -> bool {
    mapping.writable()
        && (mapping.end <= COMPRESSED_REACH
            || heap.0 >= COMPRESSED_REACH && mapping.end - mapping.begin >= heap.0 / 2)
}

/// A stack lies behind its guard pages.
fn is_stack(before: &Mapping<'_>, mapping: &Mapping<'_>) -> bool {
    mapping.writable()
        && before.reserved()
        && before.end == mapping.begin
        && before.end - before.begin <= GUARD_MOST
        && !mapping.begin.is_multiple_of(METASPACE_PIECE)
        && mapping.end - mapping.begin <= 8 << 20
}

/// Where the piece of metaspace ends that begins with the first of these mappings, if it is one: it begins at a
/// whole piece and ends at one, in pages that are reserved only.
fn metaspace_end(mappings: &[Mapping<'_>]) -> Option<u64> {
    let first = mappings.first()?;
    if !first.writable()
        || !first.begin.is_multiple_of(METASPACE_PIECE)
        || first.end <= COMPRESSED_REACH
    {
        return None;
    }
    let mut end = first.begin;
    for mapping in mappings {
        if mapping.begin != end && end != first.begin {
            return None;
        }
        if !mapping.writable() && !mapping.reserved() {
            return None;
        }
        end = mapping.end;
        if mapping.reserved() && (end - first.begin).is_multiple_of(METASPACE_PIECE) {
            return Some(end);
        }
    }
    None
}

fn mappings(smaps: &str) -> Vec<Mapping<'_>> {
    let mut mappings: Vec<Mapping<'_>> = Vec::new();
    for line in smaps.lines() {
        if let Some(mapping) = head(line) {
            mappings.push(mapping);
        } else if let (Some(mapping), Some((key, rest))) =
            (mappings.last_mut(), line.split_once(':'))
        {
            let figure = match key {
                "Pss" => &mut mapping.pss,
                "Anonymous" => &mut mapping.anonymous,
                _ => continue,
            };
            *figure = rest
                .trim()
                .trim_end_matches("kB")
                .trim_end()
                .parse()
                .unwrap_or_default();
        }
    }
    mappings
}

/// `BEGIN-END ACCESS OFFSET DEVICE INODE NAME`.
fn head(line: &str) -> Option<Mapping<'_>> {
    let (range, rest) = line.split_once(' ')?;
    let (begin, end) = range.split_once('-')?;
    let begin = u64::from_str_radix(begin, 16).ok()?;
    let end = u64::from_str_radix(end, 16).ok()?;
    let access = rest.split_whitespace().next()?;
    let name = rest.splitn(5, ' ').nth(4).unwrap_or_default().trim();
    Some(Mapping {
        begin,
        end,
        access,
        name,
        pss: 0,
        anonymous: 0,
    })
}

#[cfg(test)]
mod tests;
