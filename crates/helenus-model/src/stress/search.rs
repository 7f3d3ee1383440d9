//! The search for the number of threads: which comes next, and when it has come far enough.
//! Refuses to run anything: it looks at the rates that were reached.

/// Threads of the run after one with so many: twice as many below 16, half as many more from there on.
pub fn next_threads(threads: u32) -> u32 {
    if threads < 16 {
        threads.saturating_mul(2).max(1)
    } else {
        threads.saturating_add(threads / 2)
    }
}

/// The mean growth over the last `count` steps, as a share.
pub fn improvement(rates: &[f64], count: usize) -> f64 {
    let steps = rates.windows(2).rev().take(count);
    let sum: f64 = steps.map(|pair| (pair[1] - pair[0]) / pair[0]).sum();
    sum / count as f64
}

/// Whether one more run is worth it: `auto` ends the search where the last three runs together brought nothing, or the
/// last five less than `target`.
pub fn goes_on(rates: &[f64], auto: bool, target: f64) -> bool {
    let grows =
        |count: usize, least: f64| rates.len() < count + 1 || improvement(rates, count) >= least;
    !auto || (grows(3, 0.0) && grows(5, target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_grow_as_in_cassandra_stress() {
        let mut threads = vec![4];
        while threads.last().is_some_and(|last| *last < 1000) {
            threads.push(next_threads(*threads.last().expect("one")));
        }
        // As 4.0-alpha2 goes from 4 to 81, and on.
        let known = [4, 8, 16, 24, 36, 54, 81, 121, 181, 271, 406, 609, 913, 1369];
        assert_eq!(threads, known);
        assert_eq!(next_threads(0), 1);
    }

    #[test]
    fn a_search_ends_when_nothing_is_gained() {
        let rates = [100.0, 200.0, 190.0, 190.0];
        assert!((improvement(&rates, 1)).abs() < 1e-12);
        assert!(goes_on(&rates, true, 0.02));
        let flat = [100.0, 200.0, 190.0, 190.0, 189.0];
        assert!(!goes_on(&flat, true, 0.02));
        assert!(goes_on(&flat, false, 0.02));
        let slow = [100.0, 101.0, 102.0, 103.0, 104.0, 105.0];
        assert!(!goes_on(&slow, true, 0.02));
    }
}
