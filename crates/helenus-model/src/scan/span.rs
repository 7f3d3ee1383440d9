//! Parts of the ring that do not wrap, as a statement can ask for them: `token(…) > start AND token(…) <= end`.
//! Refuses the smallest token as an end: no key has it, and CQL reads it as the end of the ring.

use crate::ring::{Ring, TokenRange};
use serde::{Deserialize, Serialize};

/// Tokens that a key can have: all 64-bit numbers but the smallest.
pub const WHOLE_RING: u64 = u64::MAX;

/// Tokens after `start` up to and including `end`, which lies above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Excluded.
    pub start: i64,
    /// Included.
    pub end: i64,
}

impl Span {
    /// The spans of a range of the ring: two where it wraps, each with at least one token.
    pub fn of(range: TokenRange) -> Vec<Self> {
        let TokenRange { start, end } = range;
        if start < end {
            return vec![Self { start, end }];
        }
        let parts = [(start, i64::MAX), (i64::MIN, end)];
        let parts = parts.into_iter().filter(|(start, end)| start < end);
        parts.map(|(start, end)| Self { start, end }).collect()
    }

    /// How many tokens it holds, at least one.
    pub fn width(self) -> u64 {
        self.end
            .cast_unsigned()
            .wrapping_sub(self.start.cast_unsigned())
    }

    /// Its share of the whole ring, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn share(self) -> f64 {
        self.width() as f64 / WHOLE_RING as f64
    }

    /// Whether the token lies in it.
    pub fn contains(self, token: i64) -> bool {
        self.start < token && token <= self.end
    }

    /// The first `width` tokens (at least one), and what is left.
    pub fn cut(self, width: u64) -> (Self, Option<Self>) {
        let width = width.max(1);
        if width >= self.width() {
            return (self, None);
        }
        let at = self.start.wrapping_add_unsigned(width);
        let first = Self { end: at, ..self };
        let left = Self { start: at, ..self };
        (first, Some(left))
    }

    /// Its two halves; none where it is one token.
    pub fn halves(self) -> Option<(Self, Self)> {
        let (first, left) = self.cut(self.width() / 2);
        Some((first, left?))
    }

    /// Equal parts, at most `count` of them.
    pub fn parts(self, count: u64) -> Vec<Self> {
        let each = self.width().div_ceil(count.max(1)).max(1);
        let mut parts = Vec::new();
        let mut left = Some(self);
        while let Some(span) = left {
            let (first, rest) = span.cut(each);
            parts.push(first);
            left = rest;
        }
        parts
    }
}

/// A span and where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The span.
    pub span: Span,
    /// The member of the ring whose primary range it is in.
    pub node: usize,
    /// Its place among the pieces of the whole ring, ascending by token.
    pub place: usize,
}

/// The whole ring in pieces, ascending by token: primary ranges, each cut evenly until there are at least `least`.
pub fn pieces(ring: &Ring, least: usize) -> Vec<Piece> {
    let mut whole: Vec<(Span, usize)> = Vec::new();
    for node in 0..ring.members().len() {
        let ranges = ring.primary_ranges(node).into_iter();
        whole.extend(ranges.flat_map(Span::of).map(|span| (span, node)));
    }
    let each = least.div_ceil(whole.len().max(1)).max(1) as u64;
    let cut =
        |(span, node): (Span, usize)| span.parts(each).into_iter().map(move |span| (span, node));
    let mut spans: Vec<(Span, usize)> = whole.into_iter().flat_map(cut).collect();
    spans.sort_unstable();
    let piece = |(place, (span, node))| Piece { span, node, place };
    spans.into_iter().enumerate().map(piece).collect()
}

/// What of the pieces lies in a span.
pub fn within(pieces: &[Piece], span: Span) -> Vec<Piece> {
    let cut = pieces.iter().map(|piece| {
        let span = Span {
            start: piece.span.start.max(span.start),
            end: piece.span.end.min(span.end),
        };
        Piece { span, ..*piece }
    });
    cut.filter(|piece| piece.span.start < piece.span.end)
        .collect()
}

/// Spans that were finished overlap, or lie in no piece of this ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the tokens after {} up to {} are not of this ring, or appear twice", span.start, span.end)]
pub struct Overlap {
    /// The span that does not fit.
    pub span: Span,
}

/// What is left of the pieces when these spans are done; and for each of those the place of its piece.
///
/// # Errors
/// A span that overlaps another, or reaches out of a piece.
pub fn rest(pieces: &[Piece], done: &[Span]) -> Result<(Vec<Piece>, Vec<usize>), Overlap> {
    let mut order: Vec<usize> = (0..done.len()).collect();
    order.sort_unstable_by_key(|at| done[*at]);
    let mut places = vec![0; done.len()];
    let mut left = Vec::new();
    let mut order = order.into_iter().peekable();
    for piece in pieces {
        let mut from = piece.span.start;
        while let Some(at) = order.next_if(|at| done[*at].start < piece.span.end) {
            let span = done[at];
            if span.start < from || span.end > piece.span.end || span.start >= span.end {
                return Err(Overlap { span });
            }
            if from < span.start {
                let span = Span {
                    start: from,
                    end: span.start,
                };
                left.push(Piece { span, ..*piece });
            }
            from = span.end;
            places[at] = piece.place;
        }
        if from < piece.span.end {
            let span = Span {
                start: from,
                end: piece.span.end,
            };
            left.push(Piece { span, ..*piece });
        }
    }
    match order.next() {
        Some(at) => Err(Overlap { span: done[at] }),
        None => Ok((left, places)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ring::Member;
    use proptest::prelude::*;

    fn ring(tokens: &[Vec<i64>]) -> Ring {
        let member = |tokens: &Vec<i64>| Member {
            data_center: "datacenter1".into(),
            rack: "rack1".into(),
            tokens: tokens.clone(),
        };
        Ring::new(tokens.iter().map(member).collect()).expect("a ring")
    }

    fn width(spans: impl Iterator<Item = Span>) -> u128 {
        spans.map(|span| u128::from(span.width())).sum()
    }

    #[test]
    fn one_token_is_the_whole_ring_in_two_spans() {
        let spans = |start, end| Span::of(TokenRange { start, end });
        assert_eq!(
            spans(5, 5),
            [
                Span {
                    start: 5,
                    end: i64::MAX
                },
                Span {
                    start: i64::MIN,
                    end: 5
                }
            ]
        );
        // A stock first token: nothing lies at or before it.
        let all = Span {
            start: i64::MIN,
            end: i64::MAX,
        };
        assert_eq!(spans(i64::MIN, i64::MIN), [all]);
        assert_eq!(all.width(), WHOLE_RING);
        assert_eq!(
            spans(7, i64::MIN),
            [Span {
                start: 7,
                end: i64::MAX
            }]
        );
        assert_eq!(
            spans(i64::MAX, 3),
            [Span {
                start: i64::MIN,
                end: 3
            }]
        );
        assert_eq!(Span { start: 1, end: 2 }.halves(), None);
    }

    #[test]
    fn journals_of_another_ring_are_refused() {
        let pieces = pieces(&ring(&[vec![0]]), 2);
        let span = |start, end| Span { start, end };
        assert!(rest(&pieces, &[span(-5, 5)]).is_err(), "across two pieces");
        assert!(rest(&pieces, &[span(1, 9), span(5, 12)]).is_err(), "twice");
        assert!(rest(&pieces, &[span(4, 4)]).is_err(), "empty");
        let (left, places) = rest(&pieces, &[span(1, 9), span(-9, -1)]).expect("fits");
        assert_eq!(left.len(), 4);
        assert_eq!(places, [1, 0]);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_ring_once(
            tokens in prop::collection::btree_set(any::<i64>(), 1..9), least in 1_usize..40
        ) {
            let members: Vec<Vec<i64>> = tokens.iter().map(|token| vec![*token]).collect();
            let ring = ring(&members);
            let pieces = pieces(&ring, least);
            prop_assert!(pieces.len() >= least);
            prop_assert_eq!(width(pieces.iter().map(|p| p.span)), u128::from(WHOLE_RING));
            for (place, two) in pieces.windows(2).enumerate() {
                prop_assert_eq!(two[0].span.end, two[1].span.start);
                prop_assert_eq!(two[0].place, place);
            }
            for piece in &pieces {
                prop_assert_eq!(ring.owner_of(piece.span.end), Some(piece.node));
                prop_assert!(piece.span.start < piece.span.end);
            }
        }

        #[test]
        fn equal_parts_of_the_ring_share_the_pieces_out(token: i64, least in 1_usize..20, count in 1_u64..30) {
            let pieces = pieces(&ring(&[vec![token]]), least);
            let whole = Span { start: i64::MIN, end: i64::MAX };
            let parts: Vec<Vec<Piece>> = whole.parts(count).into_iter().map(|part| within(&pieces, part)).collect();
            prop_assert_eq!(parts.len() as u64, count);
            let all: Vec<Span> = parts.iter().flatten().map(|p| p.span).collect();
            prop_assert_eq!(width(all.iter().copied()), u128::from(WHOLE_RING));
            let (left, _) = rest(&pieces, &all).expect("of this ring, once");
            prop_assert!(left.is_empty());
        }

        #[test]
        fn what_is_done_and_what_is_left_are_the_whole(
            seed: u64, least in 1_usize..8, cuts in prop::collection::vec((any::<u64>(), any::<bool>()), 0..40)
        ) {
            let pieces = pieces(&ring(&[vec![seed.cast_signed() | 1]]), least);
            let mut queue: Vec<Span> = pieces.iter().map(|p| p.span).collect();
            let mut done = Vec::new();
            for (cut, keep) in cuts {
                let Some(span) = queue.pop() else { break };
                let (first, left) = span.cut(cut);
                prop_assert_eq!(width([first].into_iter().chain(left)), u128::from(span.width()));
                if keep { done.push(first) }
                queue.extend(left.into_iter().chain(first.halves().filter(|_| !keep).map(|(_, half)| half)));
                if done.len() > 20 { break }
            }
            let (left, places) = rest(&pieces, &done).expect("of this ring, once");
            let whole = width(left.iter().map(|p| p.span).chain(done.iter().copied()));
            prop_assert_eq!(whole, u128::from(WHOLE_RING));
            for (span, place) in done.iter().zip(places) {
                prop_assert!(pieces[place].span.contains(span.end));
            }
        }
    }
}
