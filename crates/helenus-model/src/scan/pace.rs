//! How much of a table is asked for at once: spans and pages that shrink at the first trouble and grow back.
//! Refuses to hurry a node: an answer is to take about half a second, and whoever is overloaded is left alone first.

/// What an answer is aimed to take, in microseconds: progress moves, an interrupt waits no longer, and the cost of
/// asking is lost in it.
pub const TARGET_US: u64 = 500_000;

/// The first span: one part in 65,536 of the ring. Of a table of a thousand million rows that is 15,000.
const FIRST_WIDTH: u64 = 1 << 48;

/// Most rows a page. More were no quicker on a small node, and are held in its memory.
pub const PAGE_MOST: u32 = 5_000;

/// Spans grow and shrink by at most this at a time.
const STEP: f64 = 8.0;

/// Pages and spans are divided by this at a trouble.
const SHRINK: u64 = 4;

/// A span this narrow holds one partition or none, of any table that there is: halving it further is of no use.
const NARROW: u64 = 1 << 30;

/// Troubles in a row, without an answer between, after which the scan gives up: half a minute of pauses.
pub const TROUBLES_MOST: u32 = 12;

/// The first pause, in milliseconds; doubled up to the longest.
const PAUSE_MS: u64 = 50;
const PAUSE_MOST_MS: u64 = 5_000;

/// What went wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trouble {
    /// No answer in time, here or between the nodes.
    TimedOut,
    /// A node refused to read on: too many tombstones, too much data, no memory.
    Failed,
    /// A node has too much to do.
    Overloaded,
    /// Too few replicas are up.
    Unavailable,
    /// The connection is gone.
    Lost,
}

impl Trouble {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::TimedOut => "timed_out",
            Self::Failed => "read_failed",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Lost => "connection_lost",
        }
    }
}

/// How a span was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In one request: the server adds up.
    Whole,
    /// Page by page.
    Paged,
}

/// What is done about a trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The same again, after so many milliseconds, with the page that the pace has now.
    Again {
        /// Pause.
        after_ms: u64,
    },
    /// The same span page by page: each of its requests is small, whatever the span holds.
    ByPages,
    /// The span's halves, from their beginnings.
    Halves,
    /// Nothing helps.
    GiveUp,
}

/// The pace of one worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Tokens of the next span; at least one.
    pub width: u64,
    /// Rows of the next page, from 1 to [`PAGE_MOST`].
    pub page: u32,
    /// Up to which pages grow quickly: three quarters of the last one that was too large.
    pub ceiling: u32,
    /// Troubles since the last answer.
    pub troubles: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            width: FIRST_WIDTH,
            page: PAGE_MOST,
            ceiling: PAGE_MOST,
            troubles: 0,
        }
    }
}

impl Pace {
    /// After a span that was read to its end: the next one is as wide as would have taken [`TARGET_US`].
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a width need not be exact, and a cast saturates"
    )]
    #[must_use]
    pub fn after_span(mut self, width: u64, took_us: u64) -> Self {
        let factor = TARGET_US as f64 / took_us.max(1) as f64;
        let factor = factor.clamp(1.0 / STEP, STEP);
        let next = (width.max(1) as f64 * factor) as u64;
        // What was narrow because the ring's piece ended there says little of the rest.
        self.width = if factor > 1.0 {
            next.max(self.width)
        } else {
            next
        };
        self.width = self.width.max(1);
        self.after_answer(took_us)
    }

    /// After any answer: pages grow again while answers are fast; slowly from where one was too large.
    #[must_use]
    pub fn after_answer(mut self, took_us: u64) -> Self {
        self.troubles = 0;
        if took_us <= TARGET_US {
            self.page = if self.page < self.ceiling {
                self.page.saturating_mul(2).min(self.ceiling)
            } else {
                (self.page + self.page / 8 + 1).min(PAGE_MOST)
            };
            self.ceiling = self.ceiling.max(self.page);
        }
        self
    }

    /// After a trouble with a span of so many tokens.
    #[must_use]
    pub fn after_trouble(mut self, trouble: Trouble, way: Way, width: u64) -> (Self, Next) {
        self.troubles += 1;
        if self.troubles > TROUBLES_MOST {
            return (self, Next::GiveUp);
        }
        if matches!(trouble, Trouble::Unavailable | Trouble::Lost) {
            return (self, self.pause());
        }
        if self.troubles == 1 {
            // Further ones at the same place say nothing of the rest of the ring.
            self.width = (self.width / SHRINK).max(1);
            self.ceiling = (self.page - self.page / 4).max(1);
        }
        self.page = (self.page / SHRINK as u32).max(1);
        let next = match (trouble, way) {
            (Trouble::Overloaded, _) => self.pause(),
            // Who timed out once in the midst of a span would do so again in each of its parts.
            (Trouble::TimedOut, Way::Whole) => Next::ByPages,
            (_, Way::Whole) if width <= NARROW => Next::ByPages,
            (_, Way::Whole) => Next::Halves,
            // Smaller pages first; where they do not help, tombstones lie between the rows.
            (_, Way::Paged) if self.troubles > 1 && width > NARROW => Next::Halves,
            (_, Way::Paged) => self.pause(),
        };
        (self, next)
    }

    fn pause(&self) -> Next {
        let doubled = PAUSE_MS << (self.troubles - 1).min(16);
        Next::Again {
            after_ms: doubled.min(PAUSE_MOST_MS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Span;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn spans_find_their_width_and_pages_come_back() {
        let mut pace = Pace::default();
        for _ in 0..6 {
            pace = pace.after_span(pace.width, 1_000);
        }
        assert!(pace.width > u64::MAX / 2, "quick answers widen: {pace:?}");
        let (slow, next) = pace.after_trouble(Trouble::TimedOut, Way::Whole, 1 << 40);
        assert_eq!((slow.width, slow.page), (pace.width / 4, 1_250));
        assert_eq!(next, Next::ByPages);
        let back = (0..20).fold(slow, |pace, _| pace.after_answer(1_000));
        assert_eq!((back.page, back.troubles), (5_000, 0));
        assert_eq!(slow.after_answer(TARGET_US + 1).page, 1_250);
        assert_eq!(slow.after_span(800, 4_000_000).width, 100);
    }

    #[test]
    fn who_is_overloaded_is_left_alone_ever_longer_and_not_for_ever() {
        let mut pace = Pace::default();
        let mut pauses = Vec::new();
        loop {
            let (after, next) = pace.after_trouble(Trouble::Overloaded, Way::Paged, 1 << 40);
            pace = after;
            match next {
                Next::Again { after_ms } => pauses.push(after_ms),
                other => break assert_eq!(other, Next::GiveUp),
            }
        }
        assert_eq!(pauses[..4], [50, 100, 200, 400]);
        assert_eq!(pauses.len(), TROUBLES_MOST as usize);
        assert!(pauses.iter().sum::<u64>() > 25_000);
    }

    /// A table on a made-up node: rows by token, and what it can bear.
    struct Node {
        rows: Vec<(i64, u64)>,
        most_rows_whole: u64,
        most_rows_a_page: u32,
        overloaded_every: u32,
        asked: u32,
    }

    impl Node {
        fn inside(&self, span: Span) -> u64 {
            let inside = self.rows.iter().filter(|(token, _)| span.contains(*token));
            inside.map(|(_, rows)| rows).sum()
        }

        fn busy(&mut self) -> bool {
            self.asked += 1;
            self.overloaded_every > 0 && self.asked.is_multiple_of(self.overloaded_every)
        }
    }

    /// The loop that a worker runs, without a clock; the rows that it found, or none where it gave up.
    fn count(node: &mut Node) -> Option<u64> {
        let mut pace = Pace::default();
        let all = Span {
            start: i64::MIN,
            end: i64::MAX,
        };
        let mut queue = VecDeque::from([all]);
        let mut found = 0;
        'spans: while let Some(left) = queue.pop_front() {
            let (span, left) = left.cut(pace.width);
            if let Some(left) = left {
                queue.push_front(left);
            }
            let (mut way, mut at) = (Way::Whole, 0);
            loop {
                let rows = node.inside(span);
                let trouble = match way {
                    _ if node.busy() => Some(Trouble::Overloaded),
                    Way::Whole if rows > node.most_rows_whole => Some(Trouble::TimedOut),
                    Way::Paged if pace.page > node.most_rows_a_page => Some(Trouble::Failed),
                    _ => None,
                };
                let Some(trouble) = trouble else {
                    if way == Way::Whole {
                        found += rows;
                        pace = pace.after_span(span.width(), 1_000 + 1_000 * rows);
                        continue 'spans;
                    }
                    at += u64::from(pace.page);
                    pace = pace.after_answer(100_000);
                    if at >= rows {
                        found += rows;
                        continue 'spans;
                    }
                    continue;
                };
                let (after, next) = pace.after_trouble(trouble, way, span.width());
                pace = after;
                match next {
                    Next::Again { .. } => {}
                    Next::ByPages => way = Way::Paged,
                    Next::Halves => {
                        let (first, second) = span.halves().expect("more than one token");
                        queue.push_front(second);
                        queue.push_front(first);
                        continue 'spans;
                    }
                    Next::GiveUp => return None,
                }
            }
        }
        Some(found)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
        #[test]
        fn whatever_a_node_bears_every_row_is_counted_once(
            rows in prop::collection::btree_map(any::<i64>(), 1_u64..3_000, 0..60),
            most_rows_whole in 0_u64..5_000,
            most_rows_a_page in 1_u32..6_000,
            overloaded_every in prop::sample::select(vec![0_u32, 2, 3, 7]),
        ) {
            let rows: Vec<(i64, u64)> = rows.into_iter().collect();
            let all = rows.iter().map(|(_, rows)| rows).sum();
            let mut node = Node { rows, most_rows_whole, most_rows_a_page, overloaded_every, asked: 0 };
            prop_assert_eq!(count(&mut node), Some(all));
        }

        #[test]
        fn no_history_leads_out_of_bounds(steps in prop::collection::vec((0_u8..7, any::<u64>(), any::<bool>()), 0..60)) {
            let mut pace = Pace::default();
            for (step, number, flag) in steps {
                let trouble = [Trouble::TimedOut, Trouble::Failed, Trouble::Overloaded, Trouble::Unavailable, Trouble::Lost];
                pace = match step {
                    0 => pace.after_span(number, number >> 20),
                    1 => pace.after_answer(number >> 40),
                    other => {
                        let way = if flag { Way::Whole } else { Way::Paged };
                        let (pace, next) = pace.after_trouble(trouble[usize::from(other) - 2], way, number);
                        prop_assert!(!(next == Next::Halves && number <= 1));
                        prop_assert_eq!(next == Next::GiveUp, pace.troubles > TROUBLES_MOST);
                        pace
                    }
                };
                prop_assert!(pace.width >= 1 && (1..=PAGE_MOST).contains(&pace.page));
            }
        }
    }
}
