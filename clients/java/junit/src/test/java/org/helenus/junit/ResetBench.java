package org.helenus.junit;

import com.datastax.oss.driver.api.core.CqlSession;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * How long a test waits for the reset before it, through the extension: {@code mvn test -pl junit -Dtest=ResetBench}.
 * Prints figures by what the test before it left; asserts none, because they are those of the machine and of what else
 * it does.
 */
@ExtendWith(ResetBench.Begin.class)
@HelenusTest(isolation = Isolation.RESET, schema = "app.cql")
class ResetBench {
  private static final Map<String, Waits> RESETS = new LinkedHashMap<>();
  private static String left = "nothing: a new cluster";
  private static long begin;

  static final class Begin implements BeforeEachCallback {
    @Override
    public void beforeEach(ExtensionContext context) {
      begin = System.nanoTime();
    }
  }

  /** After the extensions. */
  @BeforeEach
  void reset() {
    RESETS.computeIfAbsent(left, what -> new Waits()).add(System.nanoTime() - begin);
  }

  @RepeatedTest(52)
  void rows(CqlSession session) {
    for (int i = 0; i < 100; i++) {
      session.execute("INSERT INTO app.users (id, name) VALUES (" + i + ", 'name')");
    }
    left = "100 rows in a table of the schema";
  }

  @RepeatedTest(52)
  void table(CqlSession session) {
    rows(session);
    session.execute("CREATE TABLE app.other (id int PRIMARY KEY)");
    left = "the same, and a new table";
  }

  @AfterAll
  static void print() {
    RESETS.forEach((what, waits) -> waits.print("reset after " + what));
  }
}
