//! The same work for several things at the same time, each in its own thread: who waits for far nodes waits once.
//! Refuses to hide a panic.

use std::thread::{ScopedJoinHandle, scope};

/// What `work` makes of each; in their order.
pub fn at_once<T: Send, R: Send>(
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
