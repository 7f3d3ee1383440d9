//! Comparisons of made-up runs: pairs, claims, bars, refusals.
//! Refuses real runs: what is compared here is known beforehand.
