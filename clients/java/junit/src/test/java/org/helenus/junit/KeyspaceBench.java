package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * How long a test waits for its keyspace and session, and for a table: {@code mvn test -pl junit -Dtest=KeyspaceBench}.
 * Prints figures and asserts none.
 */
@ExtendWith(KeyspaceBench.Around.class)
@HelenusTest(exclusive = true)
class KeyspaceBench {
  private static final Waits SESSIONS = new Waits();
  private static final Waits TABLES = new Waits();
  private static final Waits WHOLE = new Waits();
  private static long begin;
  private static long ended;

  static final class Around implements BeforeEachCallback, AfterEachCallback {
    @Override
    public void beforeEach(ExtensionContext context) {
      begin = System.nanoTime();
      if (ended != 0) {
        WHOLE.add(begin - ended);
      }
    }

    @Override
    public void afterEach(ExtensionContext context) {
      ended = System.nanoTime();
    }
  }

  @RepeatedTest(101)
  void table(CqlSession session) {
    long opened = System.nanoTime();
    SESSIONS.add(opened - begin);
    session.execute("CREATE TABLE t (id int PRIMARY KEY, name text)");
    TABLES.add(System.nanoTime() - opened);
    for (int i = 0; i < 3; i++) {
      session.execute("INSERT INTO t (id, name) VALUES (" + i + ", 'name')");
    }
  }

  @AfterAll
  static void print() {
    SESSIONS.print("keyspace and session");
    TABLES.print("a table");
    WHOLE.print("closed, and kept for later");
  }
}
