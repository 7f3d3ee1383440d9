//! Statistics: what may be said of few numbers, and how sure.
//! Refuses clocks and global randomness: whoever resamples gives a seed.
