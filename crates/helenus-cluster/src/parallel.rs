//! The same work for several items in parallel, each in its own thread: waits for distant nodes overlap.
//! Refuses to hide a panic.

use std::thread::{ScopedJoinHandle, scope};

/// The results of `work` for each item, in the order of the items.
pub fn map<T: Send, R: Send>(
    each: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let work = &work;
    scope(|scope| {
        let threads = each.into_iter().map(|one| scope.spawn(move || work(one)));
        let threads: Vec<_> = threads.collect();
        let ends = threads.into_iter().map(ScopedJoinHandle::join);
        ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
