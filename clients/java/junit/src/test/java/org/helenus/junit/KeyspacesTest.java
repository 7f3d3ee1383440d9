package org.helenus.junit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.cql.Row;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Keyspaces wait for the end of the cluster, as long as its heap holds their tables. */
class KeyspacesTest {
  @HelenusTest(heap = "64M", exclusive = true)
  @Execution(ExecutionMode.CONCURRENT)
  static class Many {
    static final AtomicInteger MOST = new AtomicInteger();

    @RepeatedTest(24)
    void uses(CqlSession session, @Keyspace String keyspace) {
      session.execute("CREATE TABLE t (id int PRIMARY KEY)");
      session.execute("INSERT INTO t (id) VALUES (1)");
      assertEquals(1, session.execute("SELECT id FROM t").all().size());
      int count = 0;
      for (Row row : session.execute("SELECT keyspace_name FROM system_schema.tables")) {
        count += String.valueOf(row.getString(0)).startsWith("junit_") ? 1 : 0;
      }
      MOST.accumulateAndGet(count, Math::max);
    }
  }

  @Test
  @RealCassandra
  @Tag("more")
  void theOldestAreDroppedWhereTheHeapIsSmall() {
    Engine.passes(
        Many.class,
        24,
        "junit.jupiter.execution.parallel.enabled", "true",
        "junit.jupiter.execution.parallel.config.strategy", "fixed",
        "junit.jupiter.execution.parallel.config.fixed.parallelism", "3");
    // What the heap holds, and the tables of tests that run.
    assertTrue(Many.MOST.get() >= 16, Many.MOST::toString);
    assertTrue(Many.MOST.get() <= 16 + 4, Many.MOST::toString);
  }

  @Test
  void theHeapIsTheBudget() {
    assertEquals(208, Keyspaces.budget(256 << 20));
    assertEquals(16, Keyspaces.budget(64 << 20));
    assertEquals(0, Keyspaces.budget(32 << 20));
  }
}
