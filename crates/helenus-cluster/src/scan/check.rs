//! Reads a whole table back and compares it with what a workload must have written.
//! Refuses to stop at the first difference: it names some and counts all.
