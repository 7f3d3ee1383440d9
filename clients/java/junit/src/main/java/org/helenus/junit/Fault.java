package org.helenus.junit;

import com.fasterxml.jackson.databind.JsonNode;

/** A fault that holds. It heals at the end of its {@code try}, or at the end of the test, whatever the test did. */
public final class Fault implements AutoCloseable {
  private final Cassandra cassandra;
  private final String words;
  private final String target;
  private boolean open = true;

  Fault(Cassandra cassandra, String words, String target) {
    this.cassandra = cassandra;
    this.words = words;
    this.target = target;
  }

  /** The words of {@code helenus fault} that make it, such as {@code pause node2}. */
  public String words() {
    return words;
  }

  /** What it was done to. */
  public String target() {
    return target;
  }

  /**
   * Undoes it; waits for nodes that are started again. A fault that something else undid is no error.
   *
   * @throws HelenusException if a node does not come back
   */
  public synchronized void heal() {
    if (!open) {
      return;
    }
    open = false;
    for (JsonNode fault : cassandra.helenus("fault", cassandra.name()).path("faults")) {
      if (fault.path("words").asText().equals(words)) {
        cassandra.helenus("heal", cassandra.name(), target);
        return;
      }
    }
  }

  /** As {@link #heal()}. */
  @Override
  public void close() {
    heal();
  }

  @Override
  public String toString() {
    return words + (open ? "" : ", healed");
  }
}
