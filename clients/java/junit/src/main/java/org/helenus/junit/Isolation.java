package org.helenus.junit;

/** What keeps one test's data from the next one's. */
public enum Isolation {
  /** A keyspace for each test; names are never used twice. The default. */
  KEYSPACE,

  /**
   * The state after start before each test, by {@code helenus reset}: tables of the schema stay and are truncated.
   * Each JVM gets a cluster that no other one uses, and its tests run one at a time.
   */
  RESET,

  /** Nothing: for tests that only read. */
  NONE
}
